//! TCP Vegas (ns-2.35 `tcp-vegas.cc`; Brakmo and Peterson 1995).
//!
//! Once per RTT the sender compares the expected rate, without queues, with the actual rate: the difference, in
//! segments, should be between 1 and 3. Slow start doubles the window in every other RTT. A fine-grained timeout per
//! segment detects losses too.
//!
//! ns-2's choices: the initial window comes one ACK late; reductions are in whole segments; the send times are kept in
//! a ring as long as the receiver's window, and an ACK whose range wraps around the ring clears nothing; a timeout
//! backs off even with nothing in flight; segments carry no ECN, and all have `packetSize_` bytes on the wire, the
//! first one too.

use super::ack::Ack;
use super::core::{Action, Core};
use crate::tcp::output::Output;

/// With fewer segments than this in the queue the window grows (`v_alpha_`).
const ALPHA: i32 = 1;
/// With more segments than this in the queue the window shrinks (`v_beta_`).
const BETA: i32 = 3;
/// With more segments than this in the queue slow start ends (`v_gamma_`).
const GAMMA: i32 = 1;
/// cwnd after a timeout (`v_slowstart_`).
const AFTER_TIMEOUT: f64 = 2.0;

/// Send time of a segment, s on the sender's own clock (-1 once acknowledged), and number of transmissions.
#[derive(Clone, Copy, Debug)]
struct Record {
    time: f64,
    times: u32,
}

const NO_RECORD: Record = Record { time: -1.0, times: 0 };

/// State of Vegas. Times are seconds since the first segment.
#[derive(Clone, Debug)]
pub(super) struct Vegas {
    /// Start of the sender's own clock, s.
    began: f64,
    answered: bool,
    /// The records by sequence number modulo the receiver's window.
    records: Vec<Record>,
    /// Min RTT (BaseRTT).
    base_rtt: f64,
    /// Smoothed RTT, times eight, and its deviation, times four.
    smooth: f64,
    deviation: f64,
    fine_timeout: f64,
    /// The current RTT interval: its first segment, start, samples.
    round: i32,
    round_began: f64,
    samples: u32,
    sum: f64,
    /// Increment of cwnd per ACK in this interval.
    increment: f64,
    /// Whether slow start grows the window in this interval.
    grows: bool,
    /// cwnd without the inflation by duplicate ACKs.
    saved: f64,
    cut_at: f64,
    /// Number of new ACKs that still check for a second loss.
    worried: i32,
}

impl Vegas {
    pub(super) fn new() -> Self {
        Vegas {
            began: 0.0,
            answered: false,
            records: Vec::new(),
            base_rtt: 1e9,
            smooth: 0.0,
            deviation: 0.0,
            fine_timeout: 1000.0,
            round: 0,
            round_began: 0.0,
            samples: 0,
            sum: 0.0,
            increment: 0.0,
            grows: true,
            saved: 0.0,
            cut_at: 0.0,
            worried: 0,
        }
    }

    fn record(&mut self, seq: i32) -> &mut Record {
        let length = self.records.len();
        &mut self.records[seq as usize % length]
    }

    /// Sends one segment. Arms the timer only if it is not running.
    fn send(&mut self, core: &mut Core, now: f64, seq: i32, out: &mut Output) {
        if seq == 0 {
            self.records = vec![NO_RECORD; core.window as usize];
        }
        let time = now - self.began;
        let record = self.record(seq);
        *record = Record { time, times: record.times + 1 };
        core.put(now, seq, 0, out);
        if !core.timer_pending {
            core.arm_timer(out);
        }
    }

    pub(super) fn send_much(&mut self, core: &mut Core, now: f64, out: &mut Output) {
        if core.next == 0 {
            self.began = now;
        }
        let last = core.ack.saturating_add(core.usable_window()).min(core.limit);
        while core.next <= last {
            self.send(core, now, core.next, out);
            core.next += 1;
        }
    }

    pub(super) fn on_ack(&mut self, core: &mut Core, now: f64, ack: Ack, out: &mut Output) {
        let time = now - self.began;
        if !self.answered {
            self.answered = true;
            self.base_rtt = time;
            self.smooth = time * 8.0;
            self.deviation = time;
            self.fine_timeout = (self.smooth / 4.0 + self.deviation) / 2.0;
        }
        if ack.number > core.last_ack {
            self.on_new_ack(core, now, ack, out);
        } else if ack.number == core.last_ack {
            self.on_duplicate(core, now, out);
        }
        if core.dupacks == 0 || core.dupacks > 2 {
            self.send_much(core, now, out);
        }
    }

    fn on_new_ack(&mut self, core: &mut Core, now: f64, ack: Ack, out: &mut Output) {
        let time = now - self.began;
        if core.last_ack == 0 {
            core.set_initial_window(out);
        }
        if core.dupacks > 3 && core.cwnd > self.saved {
            core.set_cwnd(self.saved, out);
            core.set_ssthresh(2, out);
        }
        let before = core.last_ack;
        core.acknowledge(now, ack, out);
        if ack.number >= self.round {
            self.end_round(core, time, out);
        }
        // Slow start may end before the interval does.
        if self.increment == 1.0 && core.cwnd >= f64::from(core.ssthresh) {
            self.increment = 0.0;
        }
        // Not if the window is largely unused.
        if self.increment > 0.0 && core.cwnd - f64::from(core.next - core.last_ack) <= 2.0 {
            core.set_cwnd(core.cwnd + self.increment, out);
        }
        let record = *self.record(ack.number);
        self.clear(before, ack.number);
        if record.times == 1 && record.time != 0.0 {
            self.sample(time - record.time);
        }
        if self.worried > 0 {
            self.worried -= 1;
            if self.is_late(time, ack.number + 1) {
                core.set_dupacks(3, out);
                self.send(core, now, ack.number + 1, out);
            } else {
                self.worried = 0;
            }
        }
    }

    /// Once per RTT: compares the rates and chooses the increment for the next interval.
    fn end_round(&mut self, core: &mut Core, time: f64, out: &mut Output) {
        let rtt = if self.samples > 0 { self.sum / f64::from(self.samples) } else { time - self.round_began };
        (self.sum, self.samples) = (0.0, 0);
        let sent = core.next - self.round;
        if rtt > 0.0 {
            if rtt < self.base_rtt || sent <= 1 {
                self.base_rtt = rtt;
            }
            let actual = f64::from(sent) / rtt;
            let expected = f64::from(core.next - core.last_ack) / self.base_rtt;
            let queued = ((expected - actual) * self.base_rtt + 0.5) as i32;
            if core.cwnd < f64::from(core.ssthresh) {
                self.choose_in_slow_start(core, queued, out);
            } else if queued > BETA {
                core.set_cwnd(core.cwnd - 1.0, out);
                at_least_two(core, out);
                self.increment = 0.0;
            } else {
                self.increment = if queued < ALPHA { 1.0 / core.cwnd } else { 0.0 };
            }
        }
        self.round = core.next;
        self.round_began = time;
    }

    fn choose_in_slow_start(&mut self, core: &mut Core, queued: i32, out: &mut Output) {
        self.grows = !self.grows;
        self.increment = 0.0;
        if !self.grows {
            return;
        }
        if queued > GAMMA {
            core.set_ssthresh(2, out);
            core.set_cwnd(core.cwnd - core.cwnd / 8.0, out);
            at_least_two(core, out);
        } else {
            self.increment = 1.0;
        }
    }

    /// Clears the segments after `before` up to `ack`, unless they wrap around the ring.
    fn clear(&mut self, before: i32, ack: i32) {
        let length = self.records.len();
        let end = ack as usize % length;
        let mut at = (before + 1) as usize % length;
        for _ in before..ack {
            if at > end {
                break;
            }
            self.records[at] = NO_RECORD;
            at = (at + 1) % length;
        }
    }

    fn sample(&mut self, rtt: f64) {
        self.sum += rtt;
        self.samples += 1;
        if rtt > 0.0 {
            self.base_rtt = self.base_rtt.min(rtt);
            let error = rtt - self.smooth / 8.0;
            self.smooth += error;
            self.deviation += error.abs() - self.deviation / 4.0;
            let timeout = (self.smooth / 4.0 + self.deviation) / 2.0;
            self.fine_timeout = timeout + timeout / 16.0;
        }
    }

    fn is_late(&mut self, time: f64, seq: i32) -> bool {
        time - self.record(seq).time >= self.fine_timeout
    }

    fn on_duplicate(&mut self, core: &mut Core, now: f64, out: &mut Output) {
        let time = now - self.began;
        core.set_dupacks(core.dupacks + 1, out);
        let lost = core.last_ack + 1;
        if !self.is_late(time, lost) && core.dupacks != 3 {
            if core.dupacks > 3 {
                core.set_cwnd(core.cwnd + 1.0, out);
            }
            return;
        }
        if core.ack <= core.recover && core.action == Action::Timeout {
            return;
        }
        let record = *self.record(lost);
        core.action = Action::Dupack;
        core.recover = core.max_sent;
        self.worried = (core.next - core.last_ack).min(2);
        if record.times > 1 {
            self.fine_timeout *= 2.0;
        } else {
            self.fine_timeout += self.fine_timeout / 8.0;
        }
        if self.cut_at < record.time {
            let window = core.usable_window();
            let cut = match window {
                ..=3 => 2,
                _ if record.times > 1 => window >> 1,
                _ => window - (window >> 2),
            };
            self.saved = f64::from(cut);
            core.set_cwnd(self.saved + f64::from(core.dupacks), out);
            self.cut_at = time;
        }
        core.back_off(out);
        core.arm_timer(out);
        core.stop_timing();
        self.send(core, now, lost, out);
        if record.times == 1 {
            core.set_dupacks(3, out);
        }
    }

    pub(super) fn on_timeout(&mut self, core: &mut Core, now: f64, out: &mut Output) {
        core.timer_pending = false;
        core.timeouts += u32::from(core.ack != core.max_sent);
        core.set_dupacks(0, out);
        core.recover = core.max_sent;
        core.action = Action::Timeout;
        core.back_off(out);
        core.arm_timer(out);
        core.stop_timing();
        core.next = core.ack + 1;
        core.reduce(false, out);
        core.set_cwnd(AFTER_TIMEOUT, out);
        self.saved = 0.0;
        self.cut_at = now - self.began;
        self.send_much(core, now, out);
    }
}

fn at_least_two(core: &mut Core, out: &mut Output) {
    if core.cwnd < 2.0 {
        core.set_cwnd(2.0, out);
    }
}

#[cfg(test)]
mod tests {
    use super::super::testing::acks;
    use super::super::Sender;
    use super::*;
    use crate::tcp::flavour::Flavour;

    /// cwnd after each of `count` RTTs of 0.1 s in which every segment of the window is acknowledged.
    fn rounds(sender: &mut Sender, out: &mut Output, count: i32, rtt: f64) -> Vec<f64> {
        let mut now = 0.0;
        sender.start(now, out);
        (0..count)
            .map(|_| {
                now += rtt;
                for sent in std::mem::take(&mut out.segments) {
                    sender.on_ack(now, Ack::plain(sent.seq as i32), out);
                }
                sender.core.cwnd
            })
            .collect()
    }

    #[test]
    fn slow_start_doubles_in_every_other_round_after_a_late_initial_window() {
        let mut sender = Sender::new(Flavour::Vegas, 1000, 0.0);
        let windows = rounds(&mut sender, &mut Output::default(), 9, 0.1);
        assert_eq!(windows, [1.0, 3.0, 3.0, 6.0, 6.0, 12.0, 12.0, 24.0, 24.0]);
    }

    #[test]
    fn a_longer_round_trip_is_taken_as_a_queue() {
        let mut sender = Sender::new(Flavour::Vegas, 1000, 0.0);
        let mut out = Output::default();
        rounds(&mut sender, &mut out, 7, 0.1);
        sender.core.set_ssthresh(2, &mut out);
        // At four times the min RTT three quarters of the segments count as queued.
        for sent in std::mem::take(&mut out.segments) {
            sender.on_ack(1.1, Ack::plain(sent.seq as i32), &mut out);
        }
        let before = sender.core.cwnd;
        for sent in std::mem::take(&mut out.segments) {
            sender.on_ack(1.5, Ack::plain(sent.seq as i32), &mut out);
        }
        assert_eq!(sender.core.cwnd, before - 1.0);
    }

    #[test]
    fn one_duplicate_is_enough_for_a_late_segment() {
        let mut sender = Sender::new(Flavour::Vegas, 1000, 0.0);
        let mut out = Output::default();
        rounds(&mut sender, &mut out, 7, 0.1);
        let (ack, window) = (sender.core.ack, sender.core.cwnd);
        assert_eq!(acks(&mut sender, &mut out, 0.75, &[ack]), [], "not late yet");
        assert_eq!(acks(&mut sender, &mut out, 1.4, &[ack])[0], ack + 1);
        assert_eq!((sender.core.dupacks, sender.core.cwnd), (3, window - window / 4.0 + 2.0), "a quarter less");
    }

    #[test]
    fn a_range_past_the_rings_end_clears_nothing() {
        let mut vegas = Vegas::new();
        vegas.records = vec![Record { time: 1.0, times: 1 }; 8];
        vegas.clear(4, 9);
        assert_eq!(vegas.records.iter().filter(|record| record.times == 0).count(), 0);
        vegas.clear(9, 12);
        assert_eq!(vegas.records.iter().map(|record| record.times).collect::<Vec<_>>(), [1, 1, 0, 0, 0, 1, 1, 1]);
    }
}
