//! State of flows of real-time media: sender, receiver, feedback in flight, and what is measured of their frames.

use super::link::NONE;
use crate::engine::network::MediaSpec;
use crate::engine::outcome::MediaOutcome;
use earlydrop_aqm::random::Generator;
use earlydrop_net::media::{Feedback, Receiver, Sender};
use earlydrop_net::sojourns::Sojourns;
use std::collections::VecDeque;

/// All flows of media, and the feedback in flight.
#[derive(Default)]
pub struct RtpFlows {
    pub all: Vec<RtpFlow>,
    of_flow: Vec<u32>,
    pub feedback: Vec<Feedback>,
    pub free: Vec<u32>,
}

/// A flow.
pub struct RtpFlow {
    pub sender: Sender,
    pub receiver: Receiver,
    pub random: Generator,
    /// When the encoder stops, s.
    pub stop: f64,
    /// Hop of the receiver, once it is known.
    pub receiver_hop: Option<u8>,
    /// When the pacer and the receiver's timer are scheduled, s.
    pub pace_at: f64,
    pub report_at: f64,
    pub measured: Measured,
}

impl RtpFlows {
    pub fn new(specs: Vec<(u32, MediaSpec)>, flows: usize) -> Self {
        let mut of_flow = if specs.is_empty() { Vec::new() } else { vec![NONE; flows] };
        let all = specs.into_iter().enumerate().map(|(index, (flow, spec))| {
            of_flow[flow as usize] = index as u32;
            RtpFlow {
                sender: Sender::new(spec.settings),
                receiver: Receiver::default(),
                random: spec.random,
                stop: spec.stop,
                receiver_hop: None,
                pace_at: f64::INFINITY,
                report_at: f64::INFINITY,
                measured: Measured::new(spec.settings.encoding.interval),
            }
        });
        RtpFlows { all: all.collect(), of_flow, feedback: Vec::new(), free: Vec::new() }
    }

    /// Whether a flow is one of media.
    pub fn has(&self, flow: u32) -> bool {
        self.of_flow.get(flow as usize).is_some_and(|&index| index != NONE)
    }

    pub fn find(&self, flow: usize) -> Option<&RtpFlow> {
        self.all.get(*self.of_flow.get(flow)? as usize)
    }

    pub fn of(&mut self, flow: u32) -> &mut RtpFlow {
        &mut self.all[self.of_flow[flow as usize] as usize]
    }

    /// A flow, and all feedback in flight.
    pub fn with_feedback(&mut self, flow: u32) -> (&mut RtpFlow, &[Feedback]) {
        (&mut self.all[self.of_flow[flow as usize] as usize], &self.feedback)
    }

    /// A flow's receiver makes a report; returns its place.
    pub fn report(&mut self, flow: u32, now: f64) -> u32 {
        let place = self.free.pop().unwrap_or_else(|| {
            self.feedback.push(Feedback::default());
            self.feedback.len() as u32 - 1
        });
        let one = &mut self.all[self.of_flow[flow as usize] as usize];
        one.receiver.report(now, &mut self.feedback[place as usize]);
        one.report_at = f64::INFINITY;
        place
    }

    /// Packets that a flow's sender has sent, and payload received, bytes, within the window.
    pub fn counted(&self, flow: usize) -> Option<(u64, u64)> {
        self.find(flow).map(|one| (one.measured.sent, one.measured.received_bytes))
    }
}

/// A frame that is not complete, and has lost no packet.
struct Frame {
    /// Numbers of its first packet, and of the one behind its last.
    first: u32,
    behind: u32,
    /// Packets not received.
    missing: u32,
    captured: f64,
    /// It is complete or lost.
    done: bool,
}

/// Intervals between shown frames over which the mean is taken (W3C, Identifiers for WebRTC's Statistics API,
/// `freezeCount`).
const INTERVALS: usize = 30;
/// A freeze lasts so much longer than the mean, s (the same).
const FREEZE: f64 = 0.15;

/// What is measured of a flow.
pub struct Measured {
    frames: VecDeque<Frame>,
    /// Number of the first of `frames`, and of the last frame shown.
    number: u64,
    shown: Option<u64>,
    /// When a frame was shown last, or the first one captured, s.
    last: Option<f64>,
    intervals: VecDeque<f64>,
    interval: f64,
    /// Within the window.
    pub sent: u64,
    pub received_bytes: u64,
    captured: u32,
    complete: u32,
    lost: u32,
    encoded_bytes: u64,
    targets: f64,
    frame_time: f64,
    packet_delays: Sojourns,
    frame_delays: Sojourns,
    freezes: u32,
    frozen: f64,
}

fn microseconds(seconds: f64) -> u32 {
    (seconds * 1e6 + 0.5) as u32
}

impl Measured {
    fn new(interval: f64) -> Self {
        Measured {
            frames: VecDeque::new(),
            number: 0,
            shown: None,
            last: None,
            intervals: VecDeque::new(),
            interval,
            sent: 0,
            received_bytes: 0,
            captured: 0,
            complete: 0,
            lost: 0,
            encoded_bytes: 0,
            targets: 0.0,
            frame_time: 0.0,
            packet_delays: Sojourns::default(),
            frame_delays: Sojourns::default(),
            freezes: 0,
            frozen: 0.0,
        }
    }

    /// A frame of `packets` packets from number `first` on is captured.
    pub fn captured(&mut self, now: f64, (first, packets, payload): (u32, u32, u64), target: f64, warmup: f64) {
        self.frames.push_back(Frame { first, behind: first + packets, missing: packets, captured: now, done: false });
        self.last.get_or_insert(now);
        if now >= warmup {
            self.captured += 1;
            self.encoded_bytes += payload;
            self.targets += target;
        }
    }

    /// The place of the frame with packet `number`, if it is still open.
    fn frame(&self, number: u32) -> Option<usize> {
        let at = self.frames.partition_point(|frame| frame.behind <= number);
        self.frames.get(at).is_some_and(|frame| frame.first <= number && !frame.done).then_some(at)
    }

    /// Packet `number` arrives at `now`, `age` s after it was sent.
    pub fn received(&mut self, number: u32, payload: u64, age: f64, now: f64, warmup: f64) {
        if now >= warmup {
            self.received_bytes += payload;
            self.packet_delays.push(microseconds(age));
        }
        let Some(at) = self.frame(number) else { return };
        let frame = &mut self.frames[at];
        frame.missing -= 1;
        if frame.missing > 0 {
            return;
        }
        frame.done = true;
        let (delay, number) = (now - frame.captured, self.number + at as u64);
        if frame.captured >= warmup {
            self.complete += 1;
            self.frame_time += delay;
            self.frame_delays.push(microseconds(delay));
        }
        if self.shown.is_none_or(|shown| number > shown) {
            self.show(number, now, warmup);
        }
        self.forget_done();
    }

    /// Packet `number` is lost.
    pub fn lost(&mut self, number: u32, warmup: f64) {
        let Some(at) = self.frame(number) else { return };
        self.frames[at].done = true;
        self.lost += u32::from(self.frames[at].captured >= warmup);
        self.forget_done();
    }

    fn forget_done(&mut self) {
        while self.frames.front().is_some_and(|frame| frame.done) {
            self.frames.pop_front();
            self.number += 1;
        }
    }

    /// Frame `number` is shown, as soon as it is complete.
    fn show(&mut self, number: u64, now: f64, warmup: f64) {
        let before = self.last.replace(now);
        if self.shown.replace(number).is_none() {
            return;
        }
        let interval = now - before.unwrap_or(now);
        if self.is_freeze(interval) && now >= warmup {
            self.freezes += 1;
            self.frozen += interval;
        }
        if self.intervals.len() == INTERVALS {
            self.intervals.pop_front();
        }
        self.intervals.push_back(interval);
    }

    fn is_freeze(&self, interval: f64) -> bool {
        let mean = match self.intervals.len() {
            0 => self.interval,
            count => self.intervals.iter().sum::<f64>() / count as f64,
        };
        interval >= (3.0 * mean).max(mean + FREEZE)
    }

    /// The results of the window from `warmup` to `end`, of a source that stops at `stop`, s.
    pub fn finish(&self, warmup: f64, end: f64, stop: f64) -> MediaOutcome {
        let end = end.min(stop);
        let still = self.last.map_or(0.0, |last| end - last);
        let frozen = end > warmup && self.is_freeze(still);
        let [packet_p95, packet_p99] = self.packet_delays.quantiles([0.95, 0.99]).map(|time| time as f64 / 1e6);
        let [frame_p95, frame_p99] = self.frame_delays.quantiles([0.95, 0.99]).map(|time| time as f64 / 1e6);
        MediaOutcome {
            target: self.targets / f64::from(self.captured),
            encoded_bytes: self.encoded_bytes,
            packet_delays: (packet_p95, packet_p99),
            packet_times: self.packet_delays.buckets(),
            frames_sent: self.captured,
            frames_complete: self.complete,
            frames_lost: self.lost,
            frame_delays: (self.frame_time / f64::from(self.complete), frame_p95, frame_p99),
            frame_times: self.frame_delays.buckets(),
            freezes: self.freezes + u32::from(frozen),
            frozen: self.frozen + if frozen { still } else { 0.0 },
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// A flow with 25 frames a second of two packets each; frame i is complete `delays[i]` after its capture.
    fn shown(delays: &[Option<f64>]) -> Measured {
        let mut measured = Measured::new(0.04);
        let mut arrivals = Vec::new();
        for (i, delay) in (0_u32..).zip(delays) {
            let at = f64::from(i) * 0.04;
            measured.captured(at, (2 * i, 2, 1000), 1e6, 0.0);
            match delay {
                Some(delay) => arrivals.push((at + delay, 2 * i)),
                None => measured.lost(2 * i + 1, 0.0),
            }
        }
        arrivals.sort_by(|a, b| a.0.total_cmp(&b.0));
        for (at, first) in arrivals {
            measured.received(first, 500, 0.02, at, 0.0);
            measured.received(first + 1, 500, 0.02, at, 0.0);
        }
        measured
    }

    #[test]
    fn a_freeze_is_an_interval_of_150_ms_more_than_the_mean() {
        let regular = [Some(0.05); 30];
        assert_eq!(shown(&regular).finish(0.0, 1.25, f64::INFINITY).freezes, 0);
        // Four frames are lost: an interval of 200 ms, where 190 ms are a freeze; three lost are none.
        let gap = |lost: usize| [&regular[..], &vec![None; lost], &[Some(0.05)]].concat();
        let found = shown(&gap(4)).finish(0.0, 1.5, f64::INFINITY);
        assert_eq!((found.freezes, found.frames_lost, found.frames_complete), (1, 4, 31));
        assert!((found.frozen - 0.2).abs() < 1e-9);
        assert_eq!(shown(&gap(3)).finish(0.0, 1.5, f64::INFINITY).freezes, 0);
    }

    #[test]
    fn what_is_never_shown_freezes_to_the_end() {
        let found = shown(&[Some(0.05), Some(0.05), None]).finish(0.0, 1.09, f64::INFINITY);
        assert_eq!(found.freezes, 1);
        assert!((found.frozen - 1.0).abs() < 1e-9);
        assert_eq!(shown(&[Some(0.05), Some(0.05), None]).finish(0.0, 1.09, 0.12).freezes, 0);
        let nothing = shown(&[None, None]).finish(0.0, 1.0, f64::INFINITY);
        assert_eq!((nothing.freezes, nothing.frozen, nothing.frames_lost), (1, 1.0, 2));
    }

    #[test]
    fn a_frame_that_comes_after_a_later_one_is_complete_but_not_shown() {
        let found = shown(&[Some(0.05), Some(0.3), Some(0.05), Some(0.05)]);
        assert_eq!(found.shown, Some(3));
        let found = found.finish(0.0, 0.3, f64::INFINITY);
        assert_eq!((found.frames_complete, found.freezes), (4, 0));
        assert!((found.frame_delays.0 - 0.45 / 4.0).abs() < 1e-9);
        assert!((found.frame_delays.2 - 0.3).abs() < 1e-3 && (found.packet_delays.0 - 0.02).abs() < 1e-4);
    }
}
