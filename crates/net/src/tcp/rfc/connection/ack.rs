//! Processing of an ACK.
//!
//! The order is fixed: newly delivered segments, RTT, losses, marks, recovery or growth, timers, sending.

use super::Connection;
use crate::tcp::output::{Output, Variable};
use crate::tcp::rfc::accecn::Newly;
use crate::tcp::rfc::control::Acked;
use crate::tcp::rfc::losses::LossDetection;
use crate::tcp::rfc::rack::Rack;
use crate::tcp::rfc::rate::Rate;
use crate::tcp::rfc::rtt::Measured;
use crate::tcp::rfc::scoreboard::Delivered;
use crate::tcp::rfc::tlp::Verdict;
use crate::tcp::rfc::undo::Sends;
use crate::tcp::rfc::wire::Range;
use crate::tcp::rfc::wire::{unwrap, Feedback};

/// What an ACK newly delivers.
pub(super) struct Arrived {
    /// Sequence numbers, and those of them by SACK.
    numbers: u64,
    pub sacked: u64,
    /// Segments.
    packets: u64,
    /// The DSACK (RFC 2883).
    pub duplicate: Option<Range>,
    /// A segment that was sent once, before the recovery point.
    pub original: bool,
    measured: Measured,
}

/// Notes each newly delivered segment.
struct Notes<'a> {
    /// The recovery point.
    point: u64,
    rack: Option<&'a mut Rack>,
    rate: Option<&'a mut Rate>,
    echo: Option<f64>,
    min_rtt: f64,
    mss: f64,
    now: f64,
}

impl Notes<'_> {
    #[inline(always)]
    fn add(&mut self, delivered: &Delivered, arrived: &mut Arrived) {
        arrived.packets += 1;
        arrived.measured.add(delivered);
        arrived.original |= !delivered.record.is_retransmitted() && delivered.record.end() <= self.point;
        if let Some(rack) = &mut self.rack {
            rack.delivered(delivered, self.now, self.echo, self.min_rtt);
        }
        if let Some(rate) = &mut self.rate {
            rate.arrived(delivered, f64::from(delivered.record.len) / self.mss, self.now);
        }
    }
}

impl Connection {
    /// The time stamp echoed by the segment that was sent at `time`: when that ACK left the receiver, s.
    pub fn echo_at(&self, time: f64) -> Option<f64> {
        self.echoes.as_ref()?.at(time)
    }

    /// Notes the time stamp of an ACK.
    pub(super) fn note_ack_stamp(&mut self, now: f64, feedback: &Feedback) {
        let oldest = self.scoreboard.get(0).map_or(now, |first| first.sent);
        if let Some(echoes) = &mut self.echoes {
            echoes.came(now, feedback.sent, oldest);
        }
    }

    pub(super) fn on_ack(&mut self, now: f64, feedback: &Feedback, out: &mut Output) {
        let Some(ack) = unwrap(feedback.ack, self.first, self.una) else { return };
        if ack > self.next {
            return;
        }
        if self.settings.window_moves() {
            self.note_ack_stamp(now, feedback);
            if self.take_window(now, ack, feedback, out) {
                return;
            }
        }
        if self.is_old_news(ack, feedback) {
            return;
        }
        if ack > self.una && self.may_take_fast_path(feedback) {
            self.on_expected_ack(now, ack, feedback, out);
        } else {
            self.on_any_ack(now, ack, feedback, out);
        }
    }

    /// The slow path: any ACK.
    #[inline(never)]
    fn on_any_ack(&mut self, now: f64, ack: u64, feedback: &Feedback, out: &mut Output) {
        if self.quic.is_some() {
            return self.on_quic_ack(now, ack, feedback, out);
        }
        let flight_before = self.scoreboard.outstanding();
        let pipe_before = if self.rate.is_some() { self.scoreboard.pipe() } else { 0 };
        let advanced = ack.saturating_sub(self.una);
        let arrived = self.take_in(now, ack, advanced, feedback);
        let rtt = self.rtt.of_ack(&arrived.measured, advanced > 0, now, feedback);
        if let Some(rtt) = rtt {
            self.sample(rtt, out);
        }
        self.count_duplicates(advanced, arrived.sacked, ack, feedback.carried > 0, out);
        let latest = self.rtt.of_last_segment(&arrived.measured, rtt, now, feedback);
        self.rtt.latest(latest);
        let mut info = self.acked(now, latest, advanced, arrived.numbers, flight_before, feedback);
        if self.ecn.accurate() {
            let stamp = if self.settings.timestamps { feedback.stamp } else { 0.0 };
            let newly = Newly { packets: arrived.packets, bytes: arrived.numbers, old: ack < self.una, stamp };
            info.marked = self.ecn.count(feedback, &newly, self.settings.mss);
        }
        if let Some(rate) = &mut self.rate {
            rate.forget_before(self.scoreboard.number(0));
            info.rate = rate.sample(self.rtt.min);
        }
        if self.resume.is_some() {
            self.resume_before(now, arrived.numbers, &mut info, out);
        }
        let echo = self.ecn.agreed && if self.ecn.accurate() { info.marked > 0.0 } else { feedback.echo };
        let sends = match self.undo {
            Some(_) => self.undo_spurious(advanced, &arrived, feedback, echo, out),
            None => Sends::All,
        };
        if self.owns_window() && self.settings.controls.bbr.immediate_recovery_end {
            self.end_recovery_of_model();
        }
        let entered = sends != Sends::NewOnly
            && self.find_losses_and_react(now, ack, advanced, flight_before, &arrived, feedback, &mut info, out);
        self.tell_control(now, pipe_before, &mut info, out);
        // Marks, unless a reaction to a loss starts now.
        if echo && !entered {
            self.on_echo(now, flight_before, arrived.numbers, out);
        }
        if feedback.carried == 0 || advanced + arrived.numbers > 0 {
            // Linux, `tcp_cwnd_reduction`: not if nothing is delivered.
            self.recover_or_grow(now, advanced, arrived.numbers, entered, echo, &info, out);
        }
        if self.resume.is_some() {
            self.resume_after(now, out);
        }
        self.set_timer_after_ack(now, advanced > 0);
        self.send_after_ack(now, sends, echo, out);
        self.plan_probe(now, advanced > 0);
    }

    /// Sends what this ACK allows. `echo`: it echoes a mark.
    #[inline(always)]
    fn send_after_ack(&mut self, now: f64, sends: Sends, echo: bool, out: &mut Output) {
        let Some(undo) = self.undo.as_mut() else { return self.transmit(now, out) };
        if echo {
            undo.prohibit();
        }
        let next = self.next;
        self.recovery.new_only = sends != Sends::All;
        self.transmit(now, out);
        self.recovery.new_only = false;
        if sends == Sends::Probe && self.next == next {
            // Nothing new: the recovery goes on (RFC 5682, 3.1, step 2b).
            if let Some(undo) = &mut self.undo {
                undo.frto = false;
            }
            self.transmit(now, out);
        }
    }

    /// Takes in what has arrived: the cumulative ACK first, then the SACK blocks.
    #[inline(always)]
    fn take_in(&mut self, now: f64, ack: u64, advanced: u64, feedback: &Feedback) -> Arrived {
        let mut arrived = Arrived {
            numbers: 0,
            sacked: 0,
            packets: 0,
            duplicate: None,
            original: false,
            measured: self.rtt.measure(),
        };
        let mut notes = Notes {
            point: self.recovery.point,
            rack: self.detection.by_time_mut().map(|time| &mut time.rack),
            rate: self.rate.as_deref_mut(),
            echo: self.settings.timestamps.then_some(feedback.stamp),
            min_rtt: self.rtt.min,
            mss: f64::from(self.settings.mss),
            now,
        };
        if advanced > 0 {
            arrived.numbers += self.scoreboard.acknowledge(ack, |delivered| notes.add(&delivered, &mut arrived));
            self.una = ack;
        }
        if self.settings.sack && feedback.count > 0 {
            let mut note = |delivered: Delivered| notes.add(&delivered, &mut arrived);
            let mut duplicate = None;
            let sacked = match self.scoreboard.sack_more(feedback, &mut note) {
                Some(sacked) => sacked,
                None => {
                    let (ranges, count) = feedback.ranges(self.first, self.una);
                    let skip = usize::from(feedback.duplicate);
                    duplicate = feedback.duplicate.then_some(ranges[0]);
                    let whole = (!feedback.duplicate).then_some(feedback);
                    self.scoreboard.sack(&ranges[skip..count.max(skip)], whole, &mut note)
                }
            };
            (arrived.sacked, arrived.duplicate) = (sacked, duplicate);
            arrived.numbers += sacked;
        }
        arrived
    }

    /// Losses, and the reaction to them. Whether cwnd is reduced for one now.
    #[allow(clippy::too_many_arguments)]
    #[inline(always)]
    fn find_losses_and_react(
        &mut self,
        now: f64,
        ack: u64,
        advanced: u64,
        flight_before: u64,
        arrived: &Arrived,
        feedback: &Feedback,
        info: &mut Acked,
        out: &mut Output,
    ) -> bool {
        let lost = self.find_losses(now, advanced, arrived);
        self.tell_losses(now);
        info.lost = if lost > 0 { self.segments(lost) } else { 0.0 };
        let bare = advanced == 0 && feedback.count == 0 && feedback.carried == 0;
        let probe = arrived.duplicate.is_some_and(|(_, end)| end == self.next);
        let repaired =
            self.detection.by_time_mut().is_some_and(|time| time.tlp.on_ack(ack, probe, bare) == Verdict::Repaired);
        let retransmission_lost = self.detection.by_time().is_some_and(|time| time.lost_retransmission.is_some());
        let mut entered = if self.may_enter_recovery() || (retransmission_lost && self.reenters_recovery()) {
            self.enter_recovery(now, arrived.numbers, out);
            true
        } else {
            self.reduce_for_lost_retransmission(now, arrived.numbers, out)
        };
        if repaired && !entered && self.recovery.is_open() {
            // RFC 8985, 7.4.2: what the probe has repaired was a loss.
            self.react_to_probe(now, flight_before, out);
            entered = true;
        }
        entered
    }

    /// Newly lost sequence numbers.
    #[inline(always)]
    fn find_losses(&mut self, now: f64, advanced: u64, arrived: &Arrived) -> u64 {
        let recovering = !self.recovery.is_open();
        match &mut self.detection {
            LossDetection::Time(time) => {
                time.lost_retransmission = None;
                if let Some((_, end)) = arrived.duplicate {
                    let probe = time.tlp.ends_at(end);
                    time.rack.duplicate(self.una, self.next, probe);
                }
                if arrived.sacked == 0 && advanced == 0 {
                    return 0;
                }
                time.find(&mut self.scoreboard, now, recovering, &self.rtt)
            }
            _ => LossDetection::find_by_sack(&mut self.scoreboard, arrived.sacked),
        }
    }

    /// The congestion control sees every ACK, once its losses are known.
    #[inline(always)]
    fn tell_control(&mut self, now: f64, pipe_before: u64, info: &mut Acked, out: &mut Output) {
        info.recovering = !self.recovery.is_open();
        info.pipe = self.segments(self.scoreboard.pipe());
        if let Some(rate) = &self.rate {
            // For models of the path only.
            (info.tx_in_flight, info.lost_since_sent) = rate.since_sent();
            info.timed_out = self.recovery.is_loss();
            info.pipe_before = self.segments(pipe_before);
            info.departs_in = (self.pacer.released - now).max(0.0);
        }
        self.show_control(info, out);
    }

    /// The congestion control sees this ACK.
    #[inline(always)]
    pub(super) fn show_control(&mut self, info: &Acked, out: &mut Output) {
        let mut window = self.window();
        self.control.on_any_ack(&mut window, info);
        self.vars.set_window(window, out);
        if let Some(rate) = self.rate.as_mut().filter(|_| self.control.view().is_app_limited()) {
            rate.app_limited(info.pipe);
        }
        if self.vars.traced {
            self.trace_gauges(out);
        }
    }

    #[cold]
    fn trace_gauges(&mut self, out: &mut Output) {
        let bits = 8.0 * self.mss();
        let vars = &self.vars;
        self.control.control().gauges(&mut |variable, value| {
            // Congestion controls count segments.
            let unit = if variable == Variable::Bandwidth { bits } else { 1.0 };
            vars.note(out, variable, value * unit);
        });
    }

    /// Whether an ACK that advances the window reports nothing else, while no segment is SACKed, lost or retransmitted,
    /// no loss can be detected, and cwnd is not being reduced.
    #[inline(always)]
    fn may_take_fast_path(&self, feedback: &Feedback) -> bool {
        self.recovery.is_open()
            && feedback.count == 0
            && self.ecn.allows_fast_path(feedback.echo)
            && self.scoreboard.is_plain()
            && self.fast_acks
            && !self.vars.traced
            && self.detection.allows_fast_path(&self.scoreboard)
    }

    /// The fast path of [`on_any_ack`](Self::on_any_ack): RTT, growth, timers and sending, in the same order.
    fn on_expected_ack(&mut self, now: f64, ack: u64, feedback: &Feedback, out: &mut Output) {
        let flight_before = self.scoreboard.outstanding();
        let advanced = ack - self.una;
        let timestamps = self.settings.timestamps;
        let echo = timestamps.then_some(feedback.stamp);
        let (min_rtt, mut newest) = (self.rtt.min, f64::NEG_INFINITY);
        let mut rack = self.detection.by_time_mut().map(|time| {
            time.reorder_at = f64::INFINITY;
            &mut time.rack
        });
        let arrived = self.scoreboard.acknowledge(ack, |delivered| {
            // In the order of sending.
            newest = delivered.record.sent;
            if let Some(rack) = &mut rack {
                rack.delivered(&delivered, now, echo, min_rtt);
            }
        });
        self.una = ack;
        let newest = (newest > f64::NEG_INFINITY).then_some(newest);
        let rtt = if timestamps { Some(now - feedback.stamp) } else { newest.map(|sent| now - sent) };
        if let Some(rtt) = rtt {
            self.sample(rtt, out);
        }
        self.recovery.clear_duplicates();
        self.vars.set_dupacks(0, out);
        let latest = newest.map(|sent| now - sent).or(rtt);
        self.rtt.latest(latest);
        let mut info = self.acked(now, latest, advanced, arrived, flight_before, feedback);
        info.pipe = self.segments(self.scoreboard.outstanding());
        let mut window = self.window();
        self.control.on_any_ack(&mut window, &info);
        self.vars.set_window(window, out);
        if info.segments > 0.0 && info.window_limited {
            self.grow(&info, out);
        }
        self.rto_at = if self.scoreboard.is_empty() { f64::INFINITY } else { now + self.rtt.rto.value() };
        self.restart_when_idle(now, out);
        let new_only = self.fast_sending && self.recovery.forced == 0 && !self.closing;
        if !new_only || !self.transmit_new(now, out) {
            self.transmit(now, out);
        }
        self.plan_probe(now, true);
    }

    /// An RTT sample, s.
    #[inline(always)]
    pub(super) fn sample(&mut self, rtt: f64, out: &mut Output) {
        self.rtt.sample(rtt);
        if let Some(time) = self.detection.by_time_mut() {
            time.tlp.sampled();
        }
        if self.vars.traced {
            self.vars.note(out, Variable::Srtt, self.rtt.smoothed());
            self.vars.note(out, Variable::Rttvar, self.rtt.rto.rttvar());
        }
    }

    #[inline(always)]
    pub(super) fn acked(
        &self,
        now: f64,
        rtt: Option<f64>,
        advanced: u64,
        arrived: u64,
        flight_before: u64,
        feedback: &Feedback,
    ) -> Acked {
        Acked {
            now,
            segments: self.segments(if self.settings.growth.arrived { arrived } else { advanced }),
            delivered: self.segments(arrived),
            rtt,
            srtt: self.rtt.smoothed(),
            min_rtt: self.rtt.min,
            flight_before: self.segments(flight_before),
            pipe: 0.0,
            una: self.una,
            next: self.next,
            // RFC 8257, 3.3: segments that an ACK with ECE acknowledges count as marked.
            marked: if feedback.echo && self.ecn.agreed { self.segments(advanced) } else { 0.0 },
            window_limited: self.usage.as_ref().map_or(self.window_limited, |usage| usage.limits(&self.vars.window())),
            recovering: false,
            timed_out: false,
            paced: self.settings.pacing.on,
            lost: 0.0,
            pipe_before: 0.0,
            departs_in: 0.0,
            rate: None,
            tx_in_flight: 0.0,
            lost_since_sent: 0.0,
            one_way: self.settings.timestamps.then_some(feedback.one_way),
        }
    }

    /// RFC 5681, section 2: a duplicate ACK, which carries no data; with SACK one that newly SACKs a segment (RFC 6675,
    /// section 2).
    fn count_duplicates(&mut self, advanced: u64, sacked: u64, ack: u64, carried: bool, out: &mut Output) {
        if advanced > 0 {
            self.recovery.clear_duplicates();
        } else if self.settings.sack {
            self.recovery.dupacks += u32::from(sacked > 0);
        } else if ack == self.una && !carried && !self.scoreboard.is_empty() {
            self.recovery.dupacks += 1;
        }
        self.vars.set_dupacks(self.recovery.dupacks, out);
    }

    #[inline]
    pub(super) fn grow(&mut self, info: &Acked, out: &mut Output) {
        let mut window = self.window();
        self.control.grow(&mut window, info);
        self.vars.set_window(window, out);
    }
}
