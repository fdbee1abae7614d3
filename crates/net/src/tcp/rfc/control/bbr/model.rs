//! BBR's model of the path: round trips, bandwidth (BtlBw), min RTT (RTprop), and whether the pipe is full.

use super::linux;
use super::rules::BbrRules;
use crate::tcp::rfc::control::Acked;
use crate::tcp::rfc::rate::Sample;
use std::collections::VecDeque;

/// Round trips over which the maximum of the bandwidth is taken.
pub const BW_WINDOW: u64 = 10;
/// How long a min RTT is valid, s.
const MIN_RTT_WINDOW: f64 = 10.0;
/// The pipe is full if the bandwidth has not grown by this factor in `FULL_PIPE_ROUNDS` round trips.
const FULL_PIPE_GROWTH: f64 = 1.25;
const FULL_PIPE_ROUNDS: u32 = 3;

/// Packet-timed round trips.
#[derive(Clone, Debug)]
pub struct Rounds {
    pub count: u64,
    /// The round ends with the ACK of a segment sent after this many segments had been delivered.
    pub next_round_delivered: f64,
    pub round_start: bool,
    /// Whether this ACK has started the round; a timeout may start one too.
    pub started_by_ack: bool,
    by_rate_samples: bool,
}

impl Rounds {
    pub fn new(rules: &BbrRules) -> Self {
        Rounds {
            count: 0,
            next_round_delivered: 0.0,
            round_start: false,
            started_by_ack: false,
            by_rate_samples: rules.rounds_by_rate_samples,
        }
    }

    /// The ACK's rate sample, if the ACK counts for rounds.
    pub fn on_ack(&mut self, ack: &Acked) -> Option<Sample> {
        (self.round_start, self.started_by_ack) = (false, false);
        let sample = ack.rate.filter(|sample| !self.by_rate_samples || sample.rate.is_some())?;
        self.started_by_ack = sample.prior_delivered >= self.next_round_delivered;
        self.round_start = self.started_by_ack;
        if self.started_by_ack {
            self.next_round_delivered = sample.delivered;
            self.count += 1;
        }
        Some(sample)
    }

    /// Starts a round with the segments that are sent from now on.
    pub fn restart(&mut self, ack: &Acked) {
        self.next_round_delivered = ack.rate.map_or(self.next_round_delivered, |sample| sample.delivered);
    }
}

/// How the maximum of the rate samples is kept.
#[derive(Clone, Debug)]
enum MaxFilter {
    /// The exact maximum: rounds and rates of samples larger than all later ones.
    Exact(VecDeque<(u64, f64)>),
    /// Linux's approximation.
    Running(linux::RunningMax),
}

/// The bottleneck's bandwidth, segments/s: max-filtered rate samples.
#[derive(Clone, Debug)]
pub struct BtlBw {
    filter: MaxFilter,
}

impl BtlBw {
    pub fn new(running: bool) -> Self {
        let filter = if running { MaxFilter::Running(Default::default()) } else { MaxFilter::Exact(VecDeque::new()) };
        BtlBw { filter }
    }

    /// The maximum; 0 before the first sample.
    pub fn get(&self) -> f64 {
        let max = match &self.filter {
            MaxFilter::Exact(rates) => rates.front().map(|&(_, rate)| rate),
            MaxFilter::Running(max) => max.get(),
        };
        max.unwrap_or(0.0)
    }

    pub fn update(&mut self, round: u64, rate: f64) {
        let rates = match &mut self.filter {
            MaxFilter::Running(max) => return max.update(round, rate, BW_WINDOW),
            MaxFilter::Exact(rates) => rates,
        };
        while rates.back().is_some_and(|&(_, known)| known <= rate) {
            rates.pop_back();
        }
        rates.push_back((round, rate));
        while rates.front().is_some_and(|&(known, _)| known + BW_WINDOW <= round) {
            rates.pop_front();
        }
    }
}

/// The min RTT (RTprop).
#[derive(Clone, Debug)]
pub struct MinRtt {
    /// The min RTT, s; infinite before the first sample.
    pub rtt: f64,
    /// When the min RTT was measured, s.
    pub stamp: f64,
    equal_renews: bool,
}

impl MinRtt {
    pub fn new(rules: &BbrRules) -> Self {
        MinRtt { rtt: f64::INFINITY, stamp: 0.0, equal_renews: !rules.equal_rtt_ignored }
    }

    /// Takes in an ACK's RTT. Returns whether the min RTT known before has expired.
    pub fn update(&mut self, ack: &Acked) -> bool {
        let expired = ack.now > self.stamp + MIN_RTT_WINDOW;
        if let Some(rtt) = ack.rtt {
            if rtt < self.rtt || (rtt == self.rtt && self.equal_renews) || expired {
                (self.rtt, self.stamp) = (rtt, ack.now);
            }
        }
        expired
    }
}

/// Whether Startup has filled the pipe.
#[derive(Clone, Debug, Default)]
pub struct FullPipe {
    pub filled: bool,
    /// The bandwidth when it last grew, segments/s, and round trips since.
    pub full_bw: f64,
    full_bw_count: u32,
}

impl FullPipe {
    /// Starts to count the growth of the bandwidth anew.
    pub fn restart(&mut self) {
        (self.full_bw, self.full_bw_count) = (0.0, 0);
    }

    /// Takes the bandwidth at the end of a round trip.
    pub fn on_round(&mut self, btl_bw: f64) {
        if btl_bw >= FULL_PIPE_GROWTH * self.full_bw {
            (self.full_bw, self.full_bw_count) = (btl_bw, 0);
            return;
        }
        self.full_bw_count += 1;
        self.filled = self.full_bw_count >= FULL_PIPE_ROUNDS;
    }
}

#[cfg(test)]
mod tests {
    use super::super::state::Mode;
    use super::super::testing::{acked, round, started};
    use super::super::Control;
    use super::*;

    #[test]
    fn the_bandwidth_is_the_maximum_over_ten_rounds() {
        let (mut bbr, mut window) = started(BbrRules::default());
        round(&mut bbr, &mut window, 0.0, 100.0);
        for i in 1..10 {
            round(&mut bbr, &mut window, f64::from(i), 50.0);
            assert_eq!(bbr.bandwidth(), 100.0, "round {i}");
        }
        round(&mut bbr, &mut window, 10.0, 50.0);
        assert_eq!(bbr.bandwidth(), 50.0);
    }

    #[test]
    fn acks_without_a_rate_sample_count_rounds_by_default() {
        for (rounds_by_rate_samples, bandwidth) in [(false, 50.0), (true, 100.0)] {
            let (mut bbr, mut window) = started(BbrRules { rounds_by_rate_samples, ..BbrRules::default() });
            round(&mut bbr, &mut window, 0.0, 100.0);
            for i in 1..10 {
                let (prior_delivered, delivered) = (100.0 * f64::from(i), 100.0 * f64::from(i + 1));
                let sample = Sample { rate: None, prior_delivered, delivered, app_limited: false };
                bbr.on_any_ack(&mut window, &Acked { rate: Some(sample), ..acked(1.0) });
            }
            round(&mut bbr, &mut window, 10.0, 50.0);
            assert_eq!(bbr.bandwidth(), bandwidth);
        }
    }

    #[test]
    fn three_rounds_without_growth_by_a_quarter_fill_the_pipe() {
        let (mut bbr, mut window) = started(BbrRules::default());
        for (i, rate) in [1.0, 2.0, 4.0, 8.0, 9.0, 9.0].into_iter().enumerate() {
            round(&mut bbr, &mut window, i as f64, rate);
            assert_eq!(bbr.mode, Mode::Startup);
        }
        round(&mut bbr, &mut window, 6.0, 9.0);
        assert_eq!((bbr.mode, bbr.full_pipe.full_bw), (Mode::Drain, 8.0));
    }

    #[test]
    fn the_rtt_of_the_handshake_is_an_optional_first_sample() {
        for (handshake_rtt, expected) in [(true, 0.04), (false, 0.1)] {
            let (mut bbr, mut window) = started(BbrRules { handshake_rtt, ..BbrRules::default() });
            bbr.on_open(10.0, 0.04, 0.0);
            round(&mut bbr, &mut window, 1.0, 50.0);
            assert_eq!(bbr.min_rtt(), expected);
            // The min RTT expires after ten seconds.
            round(&mut bbr, &mut window, 101.5, 50.0);
            assert_eq!(bbr.min_rtt(), 0.1);
        }
    }
}
