//! BBR, version 3 (draft-ietf-ccwg-bbr, "BBR Congestion Control", as of August 2026; its section titles are named).
//!
//! A model of the path: the bandwidth that it delivers, its min RTT, and bounds of what may be in flight: a long-term
//! bound, above which losses were too many, and a short-term bound after losses while not probing. Functions have the
//! draft's names; windows are in segments, rates in segments/s. The parts: [`state`] (parameters, states and gains),
//! [`signals`] (round trips, bandwidth, aggregation, full pipe), [`bounds`] (reactions to losses and marks),
//! [`probe_bw`] and [`probe_rtt`] (the state machine), [`undo`], and this file (order of the steps, pacing rate, cwnd).
//!
//! Left open by the draft: the times between probes are drawn from the simulated time. A segment is a
//! quantum; the offload budget is three of them, and one under QUIC. A mark (RFC 3168) counts as a loss above the threshold.

mod bounds;
mod probe_bw;
mod probe_rtt;
mod signals;
mod state;
#[cfg(test)]
mod tests;
mod undo;

use super::{Acked, Control, Idle, LostSegment, Window};
use crate::tcp::output::Variable;
pub use state::Bbr3;
use state::{State, INITIAL_RTT, MIN_PIPE_CWND, PACING_MARGIN};

impl Bbr3 {
    /// `UpdateModelAndState`.
    fn update_model_and_state(&mut self, window: &mut Window, ack: &Acked) {
        self.update_latest_delivery_signals(ack);
        self.update_congestion_signals(window, ack);
        self.update_ack_aggregation(window, ack);
        self.check_full_bw_reached(ack);
        self.check_startup_done(ack);
        self.check_drain_done(ack);
        self.update_probe_bw_cycle_phase(window, ack);
        self.update_min_rtt(ack);
        self.check_probe_rtt(window, ack);
        self.advance_latest_delivery_signals(ack);
    }

    /// `SetPacingRateWithGain`.
    fn set_pacing_rate_with_gain(&mut self, gain: f64) {
        let rate = gain * self.bw() * PACING_MARGIN;
        if rate > 0.0 && (self.full_bw_reached || self.pacing_rate.is_none_or(|known| rate > known)) {
            self.pacing_rate = Some(rate);
        }
    }

    /// `BDPMultiple`.
    fn bdp_multiple(&self, gain: f64) -> f64 {
        if self.min_rtt == f64::INFINITY {
            self.initial_cwnd
        } else {
            gain * self.bw() * self.min_rtt
        }
    }

    /// `QuantizationBudget`.
    fn quantization_budget(&self, inflight: f64) -> f64 {
        let more = if self.state == State::ProbeBwUp { 2.0 } else { 0.0 };
        inflight.max(self.offload_budget).max(MIN_PIPE_CWND) + more
    }

    /// `Inflight`.
    fn inflight(&self, gain: f64) -> f64 {
        self.quantization_budget(self.bdp_multiple(gain))
    }

    /// `SetCwnd`.
    fn set_cwnd(&mut self, window: &mut Window, ack: &Acked) {
        let max_inflight = self.quantization_budget(self.bdp_multiple(self.cwnd_gain()) + self.extra_acked.get());
        let grown = window.cwnd + ack.delivered;
        if self.full_bw_reached {
            window.cwnd = grown.min(max_inflight);
        } else if window.cwnd < max_inflight || self.delivered < self.initial_cwnd {
            window.cwnd = grown;
        }
        window.cwnd = window.cwnd.max(MIN_PIPE_CWND);
        if self.state == State::ProbeRtt {
            window.cwnd = window.cwnd.min(self.probe_rtt_cwnd());
        }
        self.bound_cwnd_for_model(window);
    }

    /// `BoundCwndForModel`.
    fn bound_cwnd_for_model(&self, window: &mut Window) {
        let cap = match self.state {
            State::ProbeBwCruise | State::ProbeRtt => self.inflight_with_headroom(),
            State::ProbeBwDown | State::ProbeBwRefill | State::ProbeBwUp => self.inflight_longterm,
            State::Startup | State::Drain => f64::INFINITY,
        };
        window.cwnd = window.cwnd.min(cap.min(self.inflight_shortterm).max(MIN_PIPE_CWND));
    }

    /// `SaveCwnd`.
    fn save_cwnd(&mut self, window: &Window) {
        let modulated = self.recovering || self.state == State::ProbeRtt;
        self.prior_cwnd = if modulated { self.prior_cwnd.max(window.cwnd) } else { window.cwnd };
    }

    /// `RestoreCwnd`.
    fn restore_cwnd(&self, window: &mut Window) {
        window.cwnd = window.cwnd.max(self.prior_cwnd);
    }
}

impl Control for Bbr3 {
    fn owns_window(&self) -> bool {
        true
    }

    fn answers_marks(&self) -> bool {
        true
    }

    fn is_app_limited(&self) -> bool {
        // `HandleProbeRTT`: low rate samples do not count.
        self.state == State::ProbeRtt
    }

    fn pacing_rate(&self) -> Option<f64> {
        self.pacing_rate
    }

    fn gauges(&self, note: &mut dyn FnMut(Variable, f64)) {
        note(Variable::Bandwidth, self.bw());
        note(Variable::MinRtt, self.min_rtt);
    }

    fn inner(&self, out: &mut dyn FnMut(&'static str, f64)) {
        out("state", f64::from(self.state as u8));
        out("pacing_gain", self.pacing_gain());
        out("cwnd_gain", self.cwnd_gain());
        out("round_count", self.round_count as f64);
        out("full_bw_now", f64::from(u8::from(self.full_bw_now)));
        out("full_bw_reached", f64::from(u8::from(self.full_bw_reached)));
        out("max_bw", self.max_bandwidth());
        out("bw", self.bw());
        out("min_rtt", self.min_rtt);
        out("bw_shortterm", self.bw_shortterm);
        out("inflight_shortterm", self.inflight_shortterm);
        out("inflight_longterm", self.inflight_longterm);
        out("extra_acked", self.extra_acked.get());
        out("probe_up_acked_per_inc", self.probe_up_acked_per_inc);
        out("bw_probe_wait", self.bw_probe_wait);
        out("idle_restart", f64::from(u8::from(self.idle_restart)));
        out("undo_state", self.saved.state.map_or(f64::NAN, |state| f64::from(state as u8)));
    }

    fn on_open(&mut self, window: f64, rtt: f64, now: f64) {
        self.initial_cwnd = window;
        (self.min_rtt, self.min_rtt_stamp, self.probe_rtt_min_stamp) = (rtt, now, now);
        self.extra_acked_start = now;
        self.pacing_rate = Some(self.pacing_gain() * window / if rtt > 0.0 { rtt } else { INITIAL_RTT });
    }

    fn on_lost(&mut self, window: &Window, lost: &LostSegment) {
        self.handle_lost_packet(window, lost);
    }

    fn on_any_ack(&mut self, window: &mut Window, ack: &Acked) {
        if self.recovering && !ack.recovering {
            self.recovering = false;
            self.restore_cwnd(window);
        }
        if ack.rate.is_none() {
            return;
        }
        self.now = ack.now;
        self.update_model_and_state(window, ack);
        self.set_pacing_rate_with_gain(self.pacing_gain());
        self.set_cwnd(window, ack);
    }

    fn grow(&mut self, _: &mut Window, _: &Acked) {}

    fn on_loss(&mut self, window: &Window, _: f64, _: f64) -> f64 {
        self.save_cwnd(window);
        if !self.is_loss_in_round {
            self.save_state_upon_loss();
        }
        self.recovering = true;
        window.ssthresh
    }

    fn on_undo(&mut self, window: &mut Window, _: &Window) {
        self.handle_spurious_loss_detection(window);
    }

    fn on_mark(&mut self, window: &Window, _: f64, now: f64) -> f64 {
        self.handle_mark(window, now);
        window.ssthresh
    }

    fn on_idle_send(&mut self, window: &mut Window, idle: &Idle) {
        // `HandleRestartFromIdle`.
        if !idle.app_limited {
            return;
        }
        self.now = idle.now;
        self.idle_restart = true;
        self.extra_acked_start = idle.now;
        if self.state.is_probe_bw() {
            self.set_pacing_rate_with_gain(1.0);
        } else if self.state == State::ProbeRtt {
            self.check_probe_rtt_done(window);
        }
    }
}
