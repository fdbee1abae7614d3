//! ACK aggregation: segments that ACKs deliver beyond the bandwidth, for which cwnd has headroom
//! (Linux, `bbr_update_ack_aggregation`).

use super::rules::BbrRules;
use crate::tcp::rfc::control::Acked;

/// The largest excess of the last five to ten round trips counts (`bbr_extra_acked_win_rtts`), up to what the bandwidth
/// delivers in this many seconds (`bbr_extra_acked_max_us`).
const WINDOW_ROUNDS: u32 = 5;
const MAX_TIME: f64 = 0.1;

/// The estimate of ACK aggregation.
#[derive(Clone, Debug)]
pub struct AckAggregation {
    on: bool,
    /// Start of the ACK epoch, s, and segments acknowledged in it.
    epoch_start: f64,
    epoch_acked: f64,
    /// The largest excess in the current window and in the one before, segments.
    extra_acked: [f64; 2],
    current: usize,
    rounds: u32,
}

impl AckAggregation {
    pub fn new(rules: &BbrRules) -> Self {
        AckAggregation {
            on: rules.ack_aggregation,
            epoch_start: 0.0,
            epoch_acked: 0.0,
            extra_acked: [0.0; 2],
            current: 0,
            rounds: 0,
        }
    }

    /// Takes in an ACK.
    pub fn update(&mut self, ack: &Acked, round_start: bool, bandwidth: f64, cwnd: f64) {
        if !self.on || ack.delivered <= 0.0 || ack.rate.is_none() {
            return;
        }
        if round_start {
            self.rounds += 1;
            if self.rounds >= WINDOW_ROUNDS {
                self.rounds = 0;
                self.current = 1 - self.current;
                self.extra_acked[self.current] = 0.0;
            }
        }
        let epoch = ack.now - self.epoch_start;
        let mut expected = (bandwidth * epoch).floor();
        if self.epoch_acked <= expected {
            self.restart(ack.now);
            expected = 0.0;
        }
        self.epoch_acked += ack.delivered;
        let extra = (self.epoch_acked - expected).min(cwnd);
        self.extra_acked[self.current] = self.extra_acked[self.current].max(extra);
    }

    /// Starts an ACK epoch.
    pub fn restart(&mut self, now: f64) {
        (self.epoch_start, self.epoch_acked) = (now, 0.0);
    }

    /// Headroom of cwnd once the pipe is full, segments.
    pub fn headroom(&self, bandwidth: f64) -> f64 {
        if !self.on {
            return 0.0;
        }
        let max = (bandwidth * MAX_TIME).floor();
        self.extra_acked[0].max(self.extra_acked[1]).min(max)
    }
}
