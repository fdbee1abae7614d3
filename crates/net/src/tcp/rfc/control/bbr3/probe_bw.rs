//! BBRv3's states Drain and ProbeBW: DOWN, CRUISE, REFILL, UP ("Drain", "ProbeBW Algorithm Details", "Time Scale for
//! Bandwidth Probing").

use super::state::{AckPhase, State};
use super::{Acked, Bbr3, Window};

/// Largest number of round trips of Drain.
const DRAIN_ROUNDS: u64 = 3;
/// Least time between probes, s, to which up to a second is added; and the most round trips.
const PROBE_WAIT: f64 = 2.0;
const MOST_PROBE_ROUNDS: f64 = 63.0;
/// The growth of the long-term bound doubles with each round trip up to this power of two.
const MOST_UP_ROUNDS: u32 = 30;

impl Bbr3 {
    /// `CheckStartupDone`.
    pub(super) fn check_startup_done(&mut self, _: &Acked) {
        if self.state == State::Startup && self.full_bw_reached {
            self.state = State::Drain;
            self.drain_start_round = self.round_count;
        }
    }

    /// `CheckDrainDone`.
    pub(super) fn check_drain_done(&mut self, ack: &Acked) {
        let drained = ack.pipe <= self.inflight(1.0) || self.round_count > self.drain_start_round + DRAIN_ROUNDS;
        if self.state == State::Drain && drained {
            self.start_probe_bw_down();
        }
    }

    /// `StartProbeBW_DOWN`, with `PickProbeWait`.
    pub(super) fn start_probe_bw_down(&mut self) {
        self.reset_congestion_signals();
        self.probe_up_acked_per_inc = f64::INFINITY;
        let draw = self.now.to_bits().wrapping_mul(0x9e37_79b9_7f4a_7c15) >> 32;
        self.rounds_since_probe_up = draw & 1;
        self.bw_probe_wait = PROBE_WAIT + (draw >> 1) as f64 / f64::from(1_u32 << 31);
        self.cycle_stamp = self.now;
        self.ack_phase = AckPhase::ProbeStopping;
        self.start_round();
        self.state = State::ProbeBwDown;
    }

    /// `StartProbeBW_REFILL`.
    pub(super) fn start_probe_bw_refill(&mut self) {
        self.reset_short_term_model();
        (self.bw_probe_up_rounds, self.bw_probe_up_acked) = (0, 0.0);
        self.prev_probe_precautionary = false;
        self.ack_phase = AckPhase::Refilling;
        self.start_round();
        self.state = State::ProbeBwRefill;
    }

    /// `StartProbeBW_UP`.
    fn start_probe_bw_up(&mut self, window: &Window, rate: f64) {
        self.ack_phase = AckPhase::ProbeStarting;
        self.start_round();
        self.reset_full_bw(rate);
        self.state = State::ProbeBwUp;
        self.raise_inflight_longterm_slope(window);
    }

    /// `UpdateProbeBWCyclePhase`.
    pub(super) fn update_probe_bw_cycle_phase(&mut self, window: &Window, ack: &Acked) {
        if !self.full_bw_reached || self.adapt_long_term_model(window, ack) {
            return;
        }
        let rate = ack.rate.and_then(|sample| sample.rate).unwrap_or(0.0);
        let state = self.state;
        match state {
            State::ProbeBwDown | State::ProbeBwCruise if self.is_time_to_probe_bw(window) => {
                self.start_probe_bw_refill();
            }
            State::ProbeBwDown if self.is_time_to_cruise(ack) => self.state = State::ProbeBwCruise,
            State::ProbeBwRefill if self.round_start => {
                self.is_bw_probe_sample = true;
                self.start_probe_bw_up(window, rate);
            }
            State::ProbeBwUp if self.is_time_to_go_down(window, ack, rate) => {
                self.prev_probe_too_high = false;
                self.start_probe_bw_down();
            }
            _ => {}
        }
    }

    /// `IsTimeToProbeBW`.
    fn is_time_to_probe_bw(&self, window: &Window) -> bool {
        let rounds = self.target_inflight(window).min(MOST_PROBE_ROUNDS);
        self.now > self.cycle_stamp + self.bw_probe_wait || self.rounds_since_probe_up as f64 >= rounds
    }

    /// `IsTimeToCruise`.
    fn is_time_to_cruise(&self, ack: &Acked) -> bool {
        ack.pipe <= self.inflight_with_headroom() && ack.pipe <= self.quantization_budget(self.max_bdp())
    }

    /// The bandwidth-delay product without the short-term bound.
    fn max_bdp(&self) -> f64 {
        if self.min_rtt == f64::INFINITY {
            self.initial_cwnd
        } else {
            self.max_bandwidth() * self.min_rtt
        }
    }

    /// `IsTimeToGoDown`.
    fn is_time_to_go_down(&mut self, window: &Window, ack: &Acked, rate: f64) -> bool {
        if self.prev_probe_too_high && ack.pipe >= self.inflight_longterm {
            self.prev_probe_precautionary = true;
            return true;
        }
        if self.is_cwnd_limited() && window.cwnd >= self.inflight_longterm {
            // The bandwidth is limited by the long-term bound.
            self.reset_full_bw(rate);
            return false;
        }
        self.full_bw_now
    }

    /// `RaiseInflightLongtermSlope`.
    fn raise_inflight_longterm_slope(&mut self, window: &Window) {
        let growth = f64::from(1_u32 << self.bw_probe_up_rounds);
        self.bw_probe_up_rounds = (self.bw_probe_up_rounds + 1).min(MOST_UP_ROUNDS);
        self.probe_up_acked_per_inc = (window.cwnd / growth).max(1.0);
    }

    /// `ProbeInflightLongtermUpward`.
    fn probe_inflight_longterm_upward(&mut self, window: &Window, ack: &Acked) {
        if !self.is_cwnd_limited() || window.cwnd < self.inflight_longterm {
            return;
        }
        self.bw_probe_up_acked += ack.delivered;
        if self.bw_probe_up_acked >= self.probe_up_acked_per_inc {
            let delta = (self.bw_probe_up_acked / self.probe_up_acked_per_inc).floor();
            self.bw_probe_up_acked -= delta * self.probe_up_acked_per_inc;
            self.inflight_longterm += delta;
        }
        if self.round_start {
            self.raise_inflight_longterm_slope(window);
        }
    }

    /// `AdaptLongTermModel`: whether it decided a state transition.
    pub(super) fn adapt_long_term_model(&mut self, window: &Window, ack: &Acked) -> bool {
        if self.ack_phase == AckPhase::ProbeStarting && self.round_start {
            self.ack_phase = AckPhase::ProbeFeedback;
        }
        if self.ack_phase == AckPhase::ProbeStopping && self.round_start {
            self.is_bw_probe_sample = false;
            self.ack_phase = AckPhase::Init;
            let app_limited = ack.rate.is_some_and(|sample| sample.app_limited);
            if self.state.is_probe_bw() && !app_limited {
                self.advance_max_bw_filter();
            }
            if self.state.is_probe_bw() && self.prev_probe_precautionary && !self.prev_probe_too_high {
                self.start_probe_bw_refill();
                return true;
            }
        }
        if !self.is_inflight_of_ack_too_high(ack) && self.inflight_longterm < f64::INFINITY {
            self.inflight_longterm = self.inflight_longterm.max(ack.tx_in_flight);
            if self.state == State::ProbeBwUp {
                self.probe_inflight_longterm_upward(window, ack);
            }
        }
        false
    }
}
