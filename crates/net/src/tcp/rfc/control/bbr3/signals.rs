//! What BBRv3 takes from ACKs: round trips, the bandwidth, ACK aggregation, and whether the pipe is full ("Updating
//! Network Path Model Parameters", "Exiting Acceleration Based on Bandwidth Plateau").

use super::{Acked, Bbr3, Window};
use std::collections::VecDeque;

/// Round trips over which aggregation counts, once the pipe is full.
const EXTRA_ACKED_FILTER: u64 = 10;
/// The pipe is full unless the delivery rate grows by this factor in `FULL_BW_COUNT` rounds.
const FULL_BW_GROWTH: f64 = 1.25;
const FULL_BW_COUNT: u32 = 3;

/// The maximum over a window of round trips.
#[derive(Clone, Debug, Default)]
pub struct WindowedMax(VecDeque<(u64, f64)>);

impl WindowedMax {
    /// The maximum; 0 without values.
    pub fn get(&self) -> f64 {
        self.0.front().map_or(0.0, |&(_, value)| value)
    }

    fn update(&mut self, round: u64, value: f64, length: u64) {
        while self.0.back().is_some_and(|&(_, known)| known <= value) {
            self.0.pop_back();
        }
        self.0.push_back((round, value));
        while self.0.front().is_some_and(|&(known, _)| known + length <= round) {
            self.0.pop_front();
        }
    }
}

impl Bbr3 {
    /// `StartRound`.
    pub(super) fn start_round(&mut self) {
        self.next_round_delivered = self.delivered;
    }

    /// `UpdateRound`.
    fn update_round(&mut self, prior_delivered: f64) {
        self.round_start = prior_delivered >= self.next_round_delivered;
        if self.round_start {
            self.start_round();
            self.round_count += 1;
            self.rounds_since_probe_up += 1;
            self.limited = [false, self.limited[0]];
        }
    }

    /// `UpdateMaxBw`, with the state of cwnd before this ACK.
    pub(super) fn update_max_bw(&mut self, window: &Window, ack: &Acked) {
        let Some(sample) = ack.rate else { return };
        self.update_round(sample.prior_delivered);
        self.limited[0] |= ack.pipe_before + 1.0 > window.cwnd;
        if let Some(rate) = sample.rate {
            if rate >= self.max_bandwidth() || !sample.app_limited {
                self.max_bw[1] = self.max_bw[1].max(rate);
            }
        }
    }

    /// `AdvanceMaxBwFilter`. A cycle without a sample does not make the filter forget.
    pub(super) fn advance_max_bw_filter(&mut self) {
        if self.max_bw[1] > 0.0 {
            self.max_bw = [self.max_bw[1], 0.0];
        }
    }

    /// `UpdateACKAggregation`.
    pub(super) fn update_ack_aggregation(&mut self, window: &Window, ack: &Acked) {
        let mut expected = self.bw() * (ack.now - self.extra_acked_start);
        if self.extra_acked_delivered <= expected {
            (self.extra_acked_delivered, self.extra_acked_start, expected) = (0.0, ack.now, 0.0);
        }
        self.extra_acked_delivered += ack.delivered;
        let extra = (self.extra_acked_delivered - expected).min(window.cwnd);
        let length = if self.full_bw_reached { EXTRA_ACKED_FILTER } else { 1 };
        self.extra_acked.update(self.round_count, extra, length);
    }

    /// `ResetFullBW`, with a new baseline.
    pub(super) fn reset_full_bw(&mut self, baseline: f64) {
        (self.full_bw, self.full_bw_count, self.full_bw_now) = (baseline, 0, false);
    }

    /// `CheckFullBWReached`.
    pub(super) fn check_full_bw_reached(&mut self, ack: &Acked) {
        let Some(sample) = ack.rate else { return };
        let Some(rate) = sample.rate else { return };
        if self.full_bw_now || !self.round_start || sample.app_limited {
            return;
        }
        if rate >= FULL_BW_GROWTH * self.full_bw {
            return self.reset_full_bw(rate);
        }
        self.full_bw_count += 1;
        self.full_bw_now = self.full_bw_count >= FULL_BW_COUNT;
        self.full_bw_reached |= self.full_bw_now;
    }
}
