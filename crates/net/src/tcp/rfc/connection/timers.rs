//! The timers: retransmission, RACK's reordering timer, tail loss probes, pacing.

use super::handshake::LOSS_WINDOW;
use super::state::State;
use super::Connection;
use crate::tcp::output::Output;
use crate::tcp::rfc::recovery::Phase;
use crate::tcp::rfc::rtt::earlier;
use crate::tcp::rfc::rules::{Base, Restart};
use crate::tcp::rfc::tlp;

impl Connection {
    /// The time of [`Timer::At`](crate::tcp::Timer::At) has come.
    pub fn on_wake(&mut self, now: f64, out: &mut Output) {
        let (reorder_at, probe_at) =
            self.detection.by_time().map_or((f64::INFINITY, f64::INFINITY), |time| (time.reorder_at, time.probe_at));
        if now >= self.rto_at && now < probe_at {
            self.on_timeout(now, out);
        } else if now >= probe_at {
            self.probe(now, out);
        } else if now >= reorder_at {
            self.on_reorder_timer(now, out);
        } else if now >= self.pacer.next_at {
            self.pacer.next_at = f64::INFINITY;
            self.transmit(now, out);
            self.plan_probe(now, false);
        } else if self.small_queue.as_mut().is_some_and(|queue| queue.take_release(now)) {
            self.transmit(now, out);
            self.plan_probe(now, false);
        }
        self.end_event(out);
    }

    /// The retransmission timer expires.
    pub(super) fn on_timeout(&mut self, now: f64, out: &mut Output) {
        if matches!(self.handshake.state, State::SynSent | State::SynReceived) {
            return self.on_syn_timeout(now, out);
        }
        if self.ecn.halted {
            self.ecn.halted = false;
            self.rto_at = f64::INFINITY;
            self.recovery.forced = 1;
            if !self.scoreboard.is_empty() {
                self.rto_at = now + self.rtt.rto.value();
            }
            return self.transmit(now, out);
        }
        if self.scoreboard.is_empty() && self.settings.window_moves() && self.next < self.limit() {
            return self.probe_window(now, out);
        }
        if self.quic.is_some() {
            return self.on_quic_timeout(now, out);
        }
        if self.scoreboard.is_empty() {
            self.rto_at = f64::INFINITY;
            return;
        }
        self.vars.timeouts += 1;
        // RFC 5681, 3.1 (4): not when a retransmission of the same segment is lost.
        let again = self.recovery.is_loss() && self.recovery.timed_out_at == self.una;
        let recovering = self.recovery.is_fast();
        if !again && !recovering {
            self.start_episode(self.ecn.reduction.is_none());
        }
        let open = self.recovery.is_open();
        if let Some(time) = self.detection.by_time_mut().filter(|_| open) {
            time.rack.timed_out(self.scoreboard.sacked_segments());
        }
        if let Some(undo) = &mut self.undo {
            undo.timed_out(open || again);
        }
        if !again {
            let (window, flight) = self.congested(self.flight());
            let mut ssthresh = self.control.control().on_timeout(&window, flight, now);
            self.note_retreat(ssthresh);
            if recovering {
                // "No more than" half the flight (RFC 5681, equation 4), which duplicate ACKs have inflated. Linux has
                // reduced cwnd for this loss.
                let keeps = self.settings.recovery.ssthresh == Base::Cwnd;
                ssthresh = if keeps { self.vars.ssthresh } else { ssthresh.min(self.vars.ssthresh) };
            }
            self.vars.set_ssthresh(ssthresh, out);
        }
        self.recovery.timed_out_at = self.una;
        self.vars.set_cwnd(LOSS_WINDOW, out);
        self.recovery.clear_duplicates();
        self.recovery.phase = Phase::Loss;
        self.ecn.reduction = None;
        self.recovery.point = self.next;
        self.rtt.timed_out(self.next);
        self.recovery.note_reduction(self.next);
        self.ecn.reduced_for_loss();
        let before = self.scoreboard.pipe();
        let mut since = f64::INFINITY;
        if let Some(time) = self.detection.by_time_mut() {
            // RFC 8985, 6.3: only the first, and those outside of RACK's reordering window.
            let waits = !self.settings.recovery.timeout_window_in_flight;
            since = now - if waits { time.late_after(&self.scoreboard, &self.rtt) } else { time.rack.rtt() };
            time.reset();
        }
        self.scoreboard.mark_all_lost(since);
        self.tell_losses(now);
        let lost = self.segments(before.saturating_sub(self.scoreboard.pipe()));
        if self.settings.recovery.timeout_window_in_flight {
            self.vars.set_cwnd(self.segments(self.scoreboard.pipe()) + LOSS_WINDOW, out);
        }
        self.control.control().on_timer_loss(lost, true);
        self.rtt.rto.back_off();
        self.rto_at = now + self.rtt.rto.value();
        self.recovery.forced = 1;
        self.transmit(now, out);
    }

    /// After an ACK that has `advanced` the window, or not (RFC 6298, 5.2 and 5.3).
    #[inline(always)]
    pub(super) fn set_timer_after_ack(&mut self, now: f64, advanced: bool) {
        if self.ecn.halted {
            // Only the timer lets the next segment go, also with nothing outstanding.
        } else if self.scoreboard.is_empty() {
            self.rto_at = f64::INFINITY;
        } else if advanced && self.ack_restarts_timer() {
            self.rto_at = now + self.rtt.rto.value();
        }
    }

    /// A segment has been sent (RFC 6298, 5.1).
    #[inline(always)]
    pub(super) fn set_timer_after_send(&mut self, now: f64) {
        if self.rto_at == f64::INFINITY {
            self.rto_at = now + self.rtt.rto.value();
        }
    }

    /// Whether an ACK that advances the window restarts the timer: in a recovery of NewReno's only the first
    /// (RFC 6582, section 4, the impatient variant).
    fn ack_restarts_timer(&mut self) -> bool {
        let default = if self.settings.sack { Restart::Every } else { Restart::First };
        match &mut self.recovery.phase {
            Phase::Fast(recovery) if self.settings.rto.restart.unwrap_or(default) == Restart::First => {
                !std::mem::replace(&mut recovery.partial, true)
            }
            _ => true,
        }
    }

    /// RACK's timer: late segments are lost.
    fn on_reorder_timer(&mut self, now: f64, out: &mut Output) {
        let recovering = !self.recovery.is_open();
        let Some(time) = self.detection.by_time_mut() else { return };
        let lost = time.find(&mut self.scoreboard, now, recovering, &self.rtt);
        let segments = self.segments(lost);
        self.tell_losses(now);
        self.control.control().on_timer_loss(segments, false);
        let reduced = if self.may_enter_recovery() || (lost > 0 && self.reenters_recovery()) {
            self.enter_recovery(now, 0, out);
            true
        } else {
            self.reduce_for_lost_retransmission(now, 0, out)
        };
        if reduced {
            let (pipe, ssthresh) = (self.segments(self.scoreboard.pipe()), self.vars.ssthresh);
            if let Some(prr) = self.recovery.prr() {
                let count = prr.on_ack(0.0, pipe, ssthresh, false);
                self.vars.set_cwnd(pipe + count, out);
            }
        }
        self.transmit(now, out);
    }

    /// Sets the time of a probe (RFC 8985, 7.2) after an ACK that `advanced` the window, or when new data have been
    /// sent.
    #[inline]
    pub(super) fn plan_probe(&mut self, now: f64, advanced: bool) {
        let sent_new = std::mem::take(&mut self.sent_new);
        let Some(time) = self.detection.by_time_mut() else { return };
        let open = self.recovery.is_open() && self.scoreboard.sacked() == 0;
        if self.scoreboard.is_empty() || !open || !time.tlp.may_probe() {
            time.probe_at = f64::INFINITY;
        } else if advanced || sent_new {
            let alone = self.scoreboard.len() == 1;
            let margin = match (self.settings.rack.probe_waits_min_rto, alone) {
                (true, true) => self.settings.rto.min,
                (true, false) => tlp::LEAST_MARGIN,
                (false, true) => self.settings.receiver.delay.unwrap_or(0.0),
                (false, false) => 0.0,
            };
            let timeout = tlp::timeout(self.rtt.rto.srtt(), margin);
            time.probe_at = earlier(now + timeout, self.rto_at);
        }
    }

    /// RFC 8985, 7.3: sends new data if there are any, else retransmits the last segment; restarts the timer.
    fn probe(&mut self, now: f64, out: &mut Output) {
        let Some(time) = self.detection.by_time_mut() else { return };
        time.probe_at = f64::INFINITY;
        if self.scoreboard.is_empty() || !time.tlp.may_probe() {
            return;
        }
        let new = self.send_new(now, out);
        if !new {
            self.retransmit(now, self.scoreboard.len() - 1, false, out);
        }
        if let Some(time) = self.detection.by_time_mut() {
            time.tlp.sent(self.next, !new);
        }
        self.rto_at = now + self.rtt.rto.value();
        self.sent_new = false;
    }
}
