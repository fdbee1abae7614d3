//! Reactions to losses and marks: fast recovery, reductions of cwnd, and growth otherwise.

use super::Connection;
use crate::tcp::output::Output;
use crate::tcp::rfc::control::{Acked, Window, LEAST_SSTHRESH};
use crate::tcp::rfc::prr::{Bound, Prr};
use crate::tcp::rfc::recovery::Phase;
use crate::tcp::rfc::rules::Base;
use crate::tcp::rfc::scoreboard::{Record, DUP_THRESH};

impl Connection {
    /// Whether losses that are known now start a recovery.
    pub(super) fn may_enter_recovery(&self) -> bool {
        if !self.recovery.is_open() || self.scoreboard.is_empty() {
            return false;
        }
        if self.detection.by_time().is_some() {
            return self.scoreboard.lost() > 0;
        }
        let dupacks = self.recovery.dupacks;
        if self.settings.sack {
            // RFC 6675, section 5 (1) and (2).
            return self.scoreboard.sacked() > 0
                && (dupacks >= DUP_THRESH || self.scoreboard.front().is_some_and(Record::is_lost));
        }
        // RFC 6582, 3.2 (1): not for segments sent before the last recovery point.
        let point = self.recovery.point;
        dupacks == DUP_THRESH && (self.una > point || point == 0)
    }

    /// A model of the path that asks for it is notified of each segment newly marked lost.
    pub(super) fn tell_losses(&mut self, now: f64) {
        let Some(rate) = &mut self.rate else { return };
        let window = self.vars.window();
        for number in self.scoreboard.take_newly_lost() {
            if let Some(lost) = rate.lost(number, now) {
                self.control.control().on_lost(&window, &lost);
            }
        }
    }

    /// Whether cwnd may be reduced: once per flight.
    fn may_reduce(&self) -> bool {
        self.una >= self.recovery.reduced
    }

    /// Whether a loss detected in the recovery after a timeout starts a fast recovery.
    pub(super) fn reenters_recovery(&self) -> bool {
        self.settings.recovery.lost_retransmission_recovers && self.recovery.is_loss()
    }

    /// A recovery is over.
    fn leave_recovery(&mut self) {
        if let Some(time) = self.detection.by_time_mut() {
            time.rack.recovered();
        }
        self.recovery.phase = Phase::Open;
    }

    /// For a model of the path a recovery is over as soon as the recovery point is acknowledged.
    pub(super) fn end_recovery_of_model(&mut self) {
        if self.una >= self.recovery.point && !self.recovery.is_open() {
            self.leave_recovery();
        }
    }

    /// The flight that a loss reduces, segments.
    pub(super) fn flight(&self) -> f64 {
        match self.settings.recovery.ssthresh {
            // RFC 5681, 3.2 (2): without segments of limited transmit.
            Base::Flight => self.segments(self.scoreboard.outstanding() - self.recovery.limited),
            Base::Cwnd => self.vars.cwnd,
        }
    }

    /// The same with so many bytes outstanding before the ACK.
    fn flight_before(&self, flight: u64) -> f64 {
        match self.settings.recovery.ssthresh {
            Base::Cwnd => self.vars.cwnd,
            _ => self.segments(flight),
        }
    }

    /// A proportional rate reduction that starts now, with an ACK that newly delivers `arrived` bytes, of a `cwnd` in
    /// Linux.
    fn reduction(&self, bound: Bound, arrived: u64, cwnd: f64) -> Prr {
        let outstanding = self.scoreboard.outstanding();
        // RFC 9937: what could be delivered before this ACK (`RecoverFS`). RFC 6937: FlightSize.
        let flight = match bound {
            _ if self.settings.recovery.prr_base_cwnd => cwnd,
            Bound::SafeAck => self.segments(outstanding - self.scoreboard.sacked() + arrived),
            _ => self.segments(outstanding),
        };
        Prr::new(flight, bound)
    }

    /// cwnd has been reduced for a loss.
    fn note_reduction_for_loss(&mut self) {
        self.recovery.note_reduction(self.next);
        self.ecn.reduced_for_loss();
    }

    /// A fast recovery starts, with an ACK that newly delivers `arrived` bytes.
    pub(super) fn enter_recovery(&mut self, now: f64, arrived: u64, out: &mut Output) {
        let flight = self.flight();
        let (reduces, mut retreats) = (self.may_reduce() || self.reenters_recovery(), None);
        self.start_episode(reduces && self.ecn.reduction.is_none());
        if reduces {
            let (window, flight) = self.congested(flight);
            let ssthresh = self.control.control().on_loss(&window, flight, now);
            self.vars.set_ssthresh(ssthresh, out);
            self.note_reduction_for_loss();
            retreats = self.note_retreat(ssthresh);
        }
        self.recovery.point = self.next;
        self.ecn.reduction = None;
        let prr =
            self.settings.recovery.prr.filter(|_| self.settings.sack && !self.owns_window() && retreats.is_none());
        let prr = prr.map(|bound| self.reduction(bound, arrived, self.vars.cwnd));
        self.recovery.enter_fast(prr, self.una);
        if let Some(time) = self.detection.by_time_mut() {
            time.tlp.reset();
        }
        if self.settings.sack {
            // RFC 6675, section 5 (4.1) to (4.3): the first retransmission is sent whatever cwnd is.
            if self.detection.by_time().is_none() {
                self.scoreboard.mark_lost(0);
            }
            self.recovery.forced = 1;
            if !self.owns_window() {
                self.vars.set_cwnd(retreats.unwrap_or(self.vars.ssthresh), out);
            }
        } else {
            // RFC 6582, 3.2 (2) and (3).
            self.vars.set_cwnd(self.vars.ssthresh + f64::from(DUP_THRESH), out);
            self.retransmit(now, 0, false, out);
        }
    }

    /// RFC 5681, 4.3: a lost retransmission is a second sign of congestion, if it was sent since the last reduction, so
    /// once in a round trip. The recovery restarts with a new recovery point. The reduction is of ssthresh, as
    /// FlightSize includes SACKed segments, and less is in flight during a recovery. The ACK newly delivers `arrived`
    /// bytes. Whether cwnd was reduced.
    pub(super) fn reduce_for_lost_retransmission(&mut self, now: f64, arrived: u64, out: &mut Output) -> bool {
        let since = self.detection.by_time().and_then(|time| time.lost_retransmission);
        if since != Some(self.recovery.reductions)
            || self.settings.recovery.lost_retransmit_cut_none
            || self.owns_window()
        {
            return false;
        }
        let recovering = self.recovery.is_fast();
        if !recovering && !self.recovery.is_loss() {
            return false;
        }
        let ssthresh = self.vars.ssthresh;
        // Slow start after a timeout may not have come so far.
        let cwnd = if recovering { ssthresh } else { self.vars.cwnd.min(ssthresh) };
        let reduced = self.control.control().on_loss(&Window { cwnd, ssthresh }, cwnd, now);
        self.vars.set_ssthresh(reduced.min(ssthresh), out);
        self.note_reduction_for_loss();
        if recovering {
            self.recovery.point = self.next;
            // FlightSize includes segments that were SACKed before.
            let left = self.segments(self.scoreboard.outstanding() - self.scoreboard.sacked() + arrived);
            let of = if self.settings.recovery.prr_base_cwnd { cwnd } else { left };
            let prr = self.settings.recovery.prr.map(|bound| Prr::new(of, bound));
            self.recovery.enter_fast(prr, self.una);
            self.recovery.forced = 1;
            self.vars.set_cwnd(self.vars.ssthresh, out);
        } else {
            self.vars.set_cwnd(self.vars.cwnd.min(self.vars.ssthresh), out);
        }
        true
    }

    /// A probe has repaired a loss, which reduces cwnd as any loss does.
    pub(super) fn react_to_probe(&mut self, now: f64, flight: u64, out: &mut Output) {
        if !self.may_reduce() || self.owns_window() {
            return;
        }
        let (window, flight) = self.congested(self.flight_before(flight));
        let ssthresh = self.control.control().on_loss(&window, flight, now);
        self.vars.set_ssthresh(ssthresh, out);
        self.note_reduction_for_loss();
        let left = self.note_retreat(ssthresh).unwrap_or(ssthresh);
        self.vars.set_cwnd(left.min(self.vars.cwnd), out);
    }

    /// A CE mark is echoed. RFC 3168, 6.1.2: once in a window of data. `flight` bytes were outstanding before the ACK,
    /// which newly delivers `arrived`.
    pub(super) fn on_echo(&mut self, now: f64, flight: u64, arrived: u64, out: &mut Output) {
        let reduced = self.recovery.reduced;
        let deaf = self.owns_window() && !self.control.view().answers_marks();
        if !self.recovery.is_open() || (self.una <= reduced && reduced > 0) || deaf {
            return;
        }
        self.end_reduction_for_mark(out);
        self.recovery.note_reduction(self.next);
        self.ecn.reduced_for_mark();
        if self.vars.cwnd <= 1.0 {
            self.ecn.halted = true;
            self.rto_at = now + self.rtt.rto.value();
            return;
        }
        let (window, flight) = self.congested(self.flight_before(flight));
        let control = self.control.control();
        let left = match self.ecn.fell_back() {
            true => control.on_loss(&window, flight, now),
            false => control.on_mark(&window, flight, now),
        };
        if self.owns_window() {
            return;
        }
        let ssthresh = left.max(LEAST_SSTHRESH);
        self.vars.set_ssthresh(ssthresh, out);
        if let Some(half) = self.note_retreat(ssthresh) {
            self.vars.set_cwnd(half.min(self.vars.cwnd), out);
        } else if self.settings.ecn.mark_cut_round_trip {
            let bound = self.settings.recovery.prr.unwrap_or(Bound::SafeAck);
            self.ecn.reduction = Some(self.reduction(bound, arrived, self.vars.cwnd));
        } else {
            self.vars.set_cwnd(left.min(self.vars.cwnd), out);
        }
    }

    /// The CWR state is over.
    fn end_reduction_for_mark(&mut self, out: &mut Output) {
        if self.ecn.reduction.take().is_some() {
            self.vars.set_cwnd(self.vars.ssthresh, out);
        }
    }

    /// Adjusts cwnd in a recovery, at its end, or outside of one. `entered`: a reaction to a loss starts now; `echo`:
    /// the ACK echoes a mark.
    #[allow(clippy::too_many_arguments)]
    pub(super) fn recover_or_grow(
        &mut self,
        now: f64,
        advanced: u64,
        arrived: u64,
        entered: bool,
        echo: bool,
        info: &Acked,
        out: &mut Output,
    ) {
        let done = self.una >= self.recovery.point && !entered;
        if self.owns_window() {
            if !entered {
                self.end_recovery_of_model();
            }
            return;
        }
        if done && !self.recovery.is_open() {
            if let Some(time) = self.detection.by_time_mut() {
                time.rack.recovered();
            }
        }
        match &self.recovery.phase {
            Phase::Fast(_) if done => self.end_fast_recovery(advanced, info, out),
            Phase::Fast(_) if self.settings.sack => self.reduce_proportionally(advanced, arrived, info, out),
            Phase::Fast(_) if entered => {}
            Phase::Fast(_) => self.recover_without_sack(now, advanced, info, out),
            Phase::Open | Phase::Loss => self.grow_or_reduce_for_mark(advanced, arrived, entered, echo, info, out),
        }
    }

    fn end_fast_recovery(&mut self, advanced: u64, info: &Acked, out: &mut Output) {
        let cwnd = if self.settings.sack {
            // RFC 9937, 6: cwnd ends at ssthresh.
            self.vars.ssthresh
        } else {
            // RFC 6582, 3.2 (3), the first choice.
            let flight = self.segments(self.scoreboard.outstanding());
            self.vars.ssthresh.min(flight.max(1.0) + 1.0)
        };
        self.vars.set_cwnd(cwnd, out);
        self.recovery.phase = Phase::Open;
        if self.settings.recovery.exit_ack_grows && advanced > 0 {
            self.grow(info, out);
        }
    }

    /// An ACK within a recovery with SACK.
    fn reduce_proportionally(&mut self, advanced: u64, arrived: u64, info: &Acked, out: &mut Output) {
        let (pipe, delivered) = (self.segments(self.scoreboard.pipe()), self.segments(arrived));
        let safe = advanced > 0 && info.lost == 0.0;
        let ssthresh = self.vars.ssthresh;
        if let Some(prr) = self.recovery.prr() {
            let count = prr.on_ack(delivered, pipe, ssthresh, safe);
            self.vars.set_cwnd(pipe + count, out);
        }
    }

    /// An ACK within a recovery without SACK.
    fn recover_without_sack(&mut self, now: f64, advanced: u64, info: &Acked, out: &mut Output) {
        if advanced > 0 {
            // RFC 6582, 3.2 (3): a partial ACK.
            self.retransmit(now, 0, false, out);
            let mut cwnd = self.vars.cwnd - self.segments(advanced);
            if advanced >= u64::from(self.settings.mss) {
                cwnd += 1.0;
            }
            self.vars.set_cwnd(cwnd.max(1.0), out);
        } else if info.segments == 0.0 {
            // RFC 6582, 3.2 (2): further duplicates inflate the window.
            self.vars.set_cwnd(self.vars.cwnd + 1.0, out);
        }
    }

    /// Whether ACKs that only SACK segments grow cwnd.
    fn grows_with_sacks(&self) -> bool {
        self.settings.growth.arrived && self.detection.by_time().is_some_and(|time| time.rack.is_reordering_high())
    }

    /// An ACK outside of fast recoveries.
    #[allow(clippy::too_many_arguments)]
    #[inline(always)]
    fn grow_or_reduce_for_mark(
        &mut self,
        advanced: u64,
        arrived: u64,
        entered: bool,
        echo: bool,
        info: &Acked,
        out: &mut Output,
    ) {
        let after_timeout = self.recovery.is_loss();
        if after_timeout && self.una >= self.recovery.point {
            self.recovery.phase = Phase::Open;
        }
        if let Some(prr) = &mut self.ecn.reduction {
            if self.una > self.recovery.reduced {
                self.end_reduction_for_mark(out);
            } else if advanced > 0 {
                let mss = f64::from(self.settings.mss);
                let pipe = self.scoreboard.pipe() as f64 / mss;
                let count = prr.on_ack(arrived as f64 / mss, pipe, self.vars.ssthresh, false);
                self.vars.set_cwnd(pipe + count.max(prr.least()), out);
                return;
            }
        }
        let reduced = entered && after_timeout;
        let counts = !reduced && (!echo || self.control.view().grows_with_marks());
        let moves = advanced > 0 || (arrived > 0 && self.grows_with_sacks());
        if moves && info.segments > 0.0 && counts && info.window_limited {
            self.grow(info, out);
        }
    }
}
