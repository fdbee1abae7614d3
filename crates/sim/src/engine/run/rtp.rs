//! Real-time media: frames, paced packets, arrivals, and feedback on the reverse path.

use super::Engine;
use crate::engine::state::order::Key;
use crate::events::{Event, EventQueue, Kind};
use earlydrop_net::media::Ecn;
use earlydrop_net::segment::{CE, ECT0, ECT1, PSH, RTCP};
use earlydrop_net::Segment;

/// What the event of a flow is for: its next frame, its pacer, its receiver's report.
const FRAME: i32 = 0;
const PACE: i32 = 1;
const REPORT: i32 = 2;

impl<Q: EventQueue> Engine<Q> {
    /// An event of a flow of media.
    pub(super) fn on_rtp(&mut self, event: Segment, key: Key) {
        let flow = event.flow();
        match event.seq() {
            FRAME => self.capture(flow, key),
            PACE => {
                self.rtp.of(flow).pace_at = f64::INFINITY;
                self.pace(flow, key);
            }
            _ => {
                // A report may have been sent since.
                if self.rtp.of(flow).report_at == key.now {
                    self.send_report(flow, key);
                }
            }
        }
    }

    fn push_rtp(&mut self, flow: u32, what: i32, time: f64, key: Key) {
        self.counter += 1;
        let (cause, event) = (key.scheduled.to_bits(), Segment::new(flow, what, 0, 0));
        self.queue.push(Event::new(time, key.now, cause, self.counter, Kind::Start, event), 3);
    }

    /// A frame is captured.
    fn capture(&mut self, flow: u32, key: Key) {
        let one = self.rtp.of(flow);
        if key.now >= one.stop {
            return;
        }
        let target = one.sender.target();
        let frame = one.sender.capture(key.now, &mut one.random);
        let next = key.now + one.sender.settings().encoding.interval;
        one.measured.captured(key.now, frame, target, self.settings.warmup);
        self.push_rtp(flow, FRAME, next, key);
        self.pace(flow, key);
    }

    /// Sends what may leave, and schedules the next packet.
    fn pace(&mut self, flow: u32, key: Key) {
        while let Some(packet) = self.rtp.of(flow).sender.send(key.now) {
            let one = self.rtp.of(flow);
            one.measured.sent += u64::from(key.now >= self.settings.warmup);
            let ecn = match one.sender.settings().ecn {
                Ecn::Off => 0,
                Ecn::Classic => ECT0,
                Ecn::L4s => ECT1,
            };
            let bits = ecn | if packet.last { PSH } else { 0 };
            let born = Segment::stamp(key.now, self.ticks_per_second);
            let size = packet.size.min(u32::from(u16::MAX)) as u16;
            self.set_out(Segment::with(flow, packet.number as i32, born, size, bits), key);
        }
        let one = self.rtp.of(flow);
        if let Some(time) = one.sender.next_send().filter(|&time| time < one.pace_at) {
            one.pace_at = time;
            self.push_rtp(flow, PACE, time, key);
        }
    }

    /// A packet reaches its receiver.
    pub(super) fn receive_rtp(&mut self, segment: Segment, key: Key) {
        let (flow, now) = (segment.flow(), key.now);
        let ticks = segment.age_ticks(Segment::stamp(now, self.ticks_per_second));
        let warmup = self.settings.warmup;
        let one = self.rtp.of(flow);
        let payload = u32::from(segment.size()).saturating_sub(one.sender.settings().header);
        let age = f64::from(ticks) / self.ticks_per_second;
        one.measured.received(segment.seq() as u32, payload.into(), age, now, warmup);
        let marked = segment.bits() & CE == CE;
        let at_once = one.receiver.take(segment.seq() as u32, now, marked, segment.bits() & PSH != 0);
        let due = one.receiver.due();
        let timer = due < one.report_at;
        if timer {
            one.report_at = due;
        }
        if now >= warmup {
            let arrivals = &mut self.net.arrivals[flow as usize];
            arrivals.received += 1;
            arrivals.in_order += 1;
            arrivals.delay_ticks += u64::from(ticks);
        }
        if let Some(rates) = &mut self.rates {
            rates.add(flow, now, payload.into());
        }
        if self.notes_delays() {
            self.note_delay(segment, now);
        }
        if at_once {
            self.send_report(flow, key);
        } else if timer {
            self.push_rtp(flow, REPORT, due, key);
        }
    }

    /// The receiver reports what has arrived.
    fn send_report(&mut self, flow: u32, key: Key) {
        let hop = self.rtp.of(flow).receiver_hop.or_else(|| self.hop_of_receiver(flow));
        let Some(hop) = hop else { return };
        self.rtp.of(flow).receiver_hop = Some(hop);
        let place = self.rtp.report(flow, key.now);
        let size = self.rtp.feedback[place as usize].size();
        self.set_out(Segment::with(flow, 0, place, size, RTCP).at_hop(hop + 1), key);
    }

    /// Feedback reaches its sender.
    pub(super) fn on_feedback(&mut self, segment: Segment, key: Key) {
        let (one, feedback) = self.rtp.with_feedback(segment.flow());
        one.sender.on_feedback(key.now, &feedback[segment.note() as usize]);
        self.rtp.free.push(segment.note());
        self.pace(segment.flow(), key);
    }

    /// A packet or feedback is lost.
    pub(super) fn lost_rtp(&mut self, segment: &Segment) {
        if segment.bits() & RTCP != 0 {
            self.rtp.free.push(segment.note());
        } else {
            let warmup = self.settings.warmup;
            self.rtp.of(segment.flow()).measured.lost(segment.seq() as u32, warmup);
        }
    }
}
