//! ACK aggregation: segments that ACKs deliver beyond the bandwidth, for which cwnd has headroom. Linux
//! has its estimate (`bbr_update_ack_aggregation`), ns-3 a coarser one.

use super::ns3;
use super::rules::BbrRules;
use crate::tcp::rfc::control::Acked;

/// The largest excess of the last five to ten round trips counts (`bbr_extra_acked_win_rtts`), up to what the bandwidth
/// delivers in so many seconds (`bbr_extra_acked_max_us`).
const WINDOW_ROUNDS: u32 = 5;
const MAX_TIME: f64 = 0.1;

/// Whose estimate.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Estimate {
    None,
    Linux,
    Ns3,
}

/// The estimate of ACK aggregation.
#[derive(Clone, Debug)]
pub struct AckAggregation {
    estimate: Estimate,
    mss: f64,
    /// Start of the ACK epoch, s, and segments acknowledged in it.
    epoch_start: f64,
    epoch_acked: f64,
    /// The largest excess in the current window and in the one before, segments.
    extra_acked: [f64; 2],
    current: usize,
    rounds: u32,
}

impl AckAggregation {
    pub fn new(rules: &BbrRules, mss: f64) -> Self {
        let estimate = match rules {
            _ if rules.ns3.ack_aggregation => Estimate::Ns3,
            _ if rules.linux.ack_aggregation => Estimate::Linux,
            _ => Estimate::None,
        };
        AckAggregation {
            estimate,
            mss,
            epoch_start: 0.0,
            epoch_acked: 0.0,
            extra_acked: [0.0; 2],
            current: 0,
            rounds: 0,
        }
    }

    /// Takes in an ACK.
    pub fn update(&mut self, ack: &Acked, round_start: bool, bandwidth: f64, cwnd: f64) {
        if self.estimate == Estimate::None || ack.delivered <= 0.0 || ack.rate.is_none() {
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
        let by_ns3 = self.estimate == Estimate::Ns3;
        let mut expected = (bandwidth * if by_ns3 { ns3::expected_time(epoch) } else { epoch }).floor();
        let full = by_ns3 && ns3::ends_ack_epoch((self.epoch_acked + ack.delivered) * self.mss);
        if self.epoch_acked <= expected || full {
            self.restart(ack.now);
            expected = 0.0;
        }
        self.epoch_acked += ack.delivered;
        let extra = (self.epoch_acked - expected).min(cwnd);
        self.extra_acked[self.current] = self.extra_acked[self.current].max(extra);
    }

    /// An ACK epoch starts.
    pub fn restart(&mut self, now: f64) {
        (self.epoch_start, self.epoch_acked) = (now, 0.0);
    }

    /// Headroom of cwnd once the pipe is full, segments.
    pub fn headroom(&self, bandwidth: f64) -> f64 {
        let max = bandwidth * MAX_TIME;
        let max = match self.estimate {
            Estimate::None => return 0.0,
            Estimate::Linux => max.floor(),
            Estimate::Ns3 => max,
        };
        self.extra_acked[0].max(self.extra_acked[1]).min(max)
    }
}

#[cfg(test)]
mod tests {
    use super::super::testing::{acked, ns3};
    use super::super::{Ns3Rules, Sample};
    use super::AckAggregation;
    use crate::tcp::rfc::control::Acked;

    #[test]
    fn headroom_of_ns3_by_hand() {
        // ACKs of one segment of 960 B: 4 before 4096 B are reached. Of three segments: the first three. At most what
        // the bandwidth delivers in a tenth of a second.
        for (segments, bandwidth, headroom) in [(1.0, 100.0, 4.0), (3.0, 100.0, 3.0), (1.0, 16.0, 1.6)] {
            let rules = ns3(Ns3Rules { ack_aggregation: true, ..Ns3Rules::default() });
            let mut aggregation = AckAggregation::new(&rules, 960.0);
            let sample = Sample { rate: None, prior_delivered: 0.0, delivered: 0.0, app_limited: false };
            for i in 0..20 {
                let now = 5.0 + 0.01 * f64::from(i);
                let ack = Acked { now, rate: Some(sample), ..acked(segments) };
                aggregation.update(&ack, false, bandwidth, 30.0);
            }
            let found = aggregation.headroom(bandwidth);
            assert!((found - headroom).abs() < 1e-9, "{segments} {bandwidth}: {found}");
        }
    }
}
