//! BBRv3's reactions to losses and marks: the long-term bound moves while it probes, else the short-term ones do
//! ("Updating the Model Upon Packet Loss", "Exiting Startup Based on Packet Loss").

use super::state::{State, MIN_PIPE_CWND};
use super::{Acked, Bbr3, LostSegment, Window};

/// Loss rate above which too much was in flight.
const LOSS_THRESH: f64 = 0.02;
/// Largest multiplicative decrease.
const BETA: f64 = 0.7;
/// Part of the long-term bound that is left to others.
const HEADROOM: f64 = 0.15;
/// Number of separate losses in a round trip that end Startup.
const STARTUP_FULL_LOSSES: u32 = 6;

impl Bbr3 {
    /// `UpdateLatestDeliverySignals`.
    pub(super) fn update_latest_delivery_signals(&mut self, ack: &Acked) {
        let Some(sample) = ack.rate else { return };
        self.delivered = sample.delivered;
        self.bw_latest = self.bw_latest.max(sample.rate.unwrap_or(0.0));
        self.inflight_latest = self.inflight_latest.max(sample.delivered - sample.prior_delivered);
        self.loss_round_start = sample.prior_delivered >= self.loss_round_delivered;
        if self.loss_round_start {
            self.loss_round_delivered = sample.delivered;
        }
    }

    /// `AdvanceLatestDeliverySignals`.
    pub(super) fn advance_latest_delivery_signals(&mut self, ack: &Acked) {
        let Some(sample) = ack.rate.filter(|_| self.loss_round_start) else { return };
        self.bw_latest = sample.rate.unwrap_or(0.0);
        self.inflight_latest = sample.delivered - sample.prior_delivered;
    }

    /// `ResetCongestionSignals`.
    pub(super) fn reset_congestion_signals(&mut self) {
        (self.is_loss_in_round, self.bw_latest, self.inflight_latest) = (false, 0.0, 0.0);
    }

    /// `UpdateCongestionSignals`, and `CheckStartupHighLoss`, which needs the round's losses.
    pub(super) fn update_congestion_signals(&mut self, window: &Window, ack: &Acked) {
        self.update_max_bw(window, ack);
        if !self.loss_round_start {
            return;
        }
        self.check_startup_high_loss(ack);
        if self.is_loss_in_round && !self.state.probes() {
            self.adapt_lower_bounds(window);
        }
        (self.is_loss_in_round, self.lost_ranges) = (false, 0);
    }

    /// `InitLowerBounds` and `LossLowerBounds`.
    fn adapt_lower_bounds(&mut self, window: &Window) {
        if self.bw_shortterm == f64::INFINITY {
            self.bw_shortterm = self.max_bandwidth();
        }
        if self.inflight_shortterm == f64::INFINITY {
            self.inflight_shortterm = window.cwnd;
        }
        self.bw_shortterm = self.bw_latest.max(BETA * self.bw_shortterm);
        self.inflight_shortterm = self.inflight_latest.max(BETA * self.inflight_shortterm);
    }

    /// `ResetShortTermModel`.
    pub(super) fn reset_short_term_model(&mut self) {
        (self.bw_shortterm, self.inflight_shortterm) = (f64::INFINITY, f64::INFINITY);
    }

    /// `IsInflightTooHigh`, with `lost` segments lost since one was sent with `in_flight` in flight.
    fn is_inflight_too_high(&self, lost: f64, in_flight: f64) -> bool {
        lost > in_flight * LOSS_THRESH || (lost > 0.0 && !self.has_sack)
    }

    /// `IsInflightTooHigh` for the segment that an ACK delivers.
    pub(super) fn is_inflight_of_ack_too_high(&self, ack: &Acked) -> bool {
        self.is_inflight_too_high(ack.lost_since_sent, ack.tx_in_flight)
    }

    /// `CheckStartupHighLoss`.
    fn check_startup_high_loss(&mut self, ack: &Acked) {
        let lossy = if self.has_sack {
            self.lost_ranges >= STARTUP_FULL_LOSSES && self.is_inflight_of_ack_too_high(ack)
        } else {
            self.is_loss_in_round
        };
        if self.state == State::Startup && !self.full_bw_reached && ack.recovering && lossy {
            self.leave_startup_for_congestion();
        }
    }

    fn leave_startup_for_congestion(&mut self) {
        self.saved.state = Some(State::Startup);
        self.full_bw_reached = true;
        self.inflight_longterm = self.bdp_multiple(1.0).max(self.inflight_latest);
    }

    /// `NoteLoss`.
    fn note_loss(&mut self) {
        if !self.is_loss_in_round {
            self.save_state_upon_loss();
            self.loss_round_delivered = self.delivered;
        }
        self.is_loss_in_round = true;
    }

    /// `HandleLostPacket`.
    pub(super) fn handle_lost_packet(&mut self, window: &Window, lost: &LostSegment) {
        self.delivered = lost.delivered;
        self.note_loss();
        self.lost_ranges += u32::from(self.last_lost.is_none_or(|last| lost.number != last + 1));
        self.last_lost = Some(lost.number);
        if self.is_bw_probe_sample && self.is_inflight_too_high(lost.lost_since_sent, lost.tx_in_flight) {
            let at_loss = inflight_at_loss(lost.tx_in_flight, lost.lost_since_sent);
            self.handle_inflight_too_high(window, at_loss, lost.app_limited, lost.now);
        }
    }

    /// A mark, once in a window of data (RFC 3168, 6.1.2), acts as losses above the threshold.
    pub(super) fn handle_mark(&mut self, window: &Window, now: f64) {
        self.note_loss();
        if self.state == State::Startup && !self.full_bw_reached {
            self.leave_startup_for_congestion();
        } else if self.is_bw_probe_sample {
            self.handle_inflight_too_high(window, self.inflight_latest, false, now);
        }
    }

    /// `HandleInflightTooHigh`.
    fn handle_inflight_too_high(&mut self, window: &Window, in_flight: f64, app_limited: bool, now: f64) {
        self.prev_probe_too_high = true;
        self.is_bw_probe_sample = false;
        if !app_limited {
            self.inflight_longterm = in_flight.max(BETA * self.target_inflight(window));
        }
        if self.state == State::ProbeBwUp {
            self.now = now;
            self.saved.state = Some(State::ProbeBwUp);
            self.start_probe_bw_down();
        }
    }

    /// `TargetInflight`.
    pub(super) fn target_inflight(&self, window: &Window) -> f64 {
        self.bdp_multiple(1.0).min(window.cwnd)
    }

    /// `InflightWithHeadroom`.
    pub(super) fn inflight_with_headroom(&self) -> f64 {
        if self.inflight_longterm == f64::INFINITY {
            return f64::INFINITY;
        }
        let headroom = (HEADROOM * self.inflight_longterm).max(1.0);
        (self.inflight_longterm - headroom).max(MIN_PIPE_CWND)
    }
}

/// `InflightAtLoss`: what was in flight when losses exceeded the threshold, for a segment sent with `tx_in_flight`.
fn inflight_at_loss(tx_in_flight: f64, lost: f64) -> f64 {
    let (before, lost_before) = (tx_in_flight - 1.0, lost - 1.0);
    let prefix = (LOSS_THRESH * before - lost_before) / (1.0 - LOSS_THRESH);
    before + prefix
}
