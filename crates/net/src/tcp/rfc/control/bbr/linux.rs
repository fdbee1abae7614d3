//! What Linux's BBR (`tcp_bbr.c`) adds to the draft.

use crate::tcp::rfc::clock::SLOW;
use crate::tcp::rfc::control::Acked;
use crate::tcp::rfc::rate::Sample;

/// Headroom, in TSO bursts, for hosts that process segments in batches (`bbr_quantization_budget`).
const BUDGET_BURSTS: f64 = 3.0;
/// A TSO burst is what leaves in this many seconds, at least one segment below [`SLOW`](crate::tcp::rfc::clock::SLOW),
/// else two, and at most 127 (`bbr_tso_segs_goal`).
const BURST_TIME: f64 = 1.0 / 1024.0;
const MAX_BURST: f64 = 127.0;
/// Segments added in the ProbeBW phase that probes.
const PROBING_BUDGET: f64 = 2.0;

/// Long-term bandwidth (`bbr_lt_*`): round trips in a sampling interval, lost segments for each delivered, how close
/// two intervals must be (as a part of the rate, or in bytes a second), round trips for which the rate is used.
const LT_INTERVAL_ROUNDS: u32 = 4;
const LT_LOSS_THRESH: f64 = 50.0 / 256.0;
const LT_BW_RATIO: f64 = 1.0 / 8.0;
const LT_BW_DIFF: f64 = 500.0;
const LT_BW_MAX_ROUNDS: u32 = 48;
/// Shortest sampling interval, s.
const LT_MIN_INTERVAL: f64 = 1e-3;

/// A windowed maximum by three estimates (`lib/win_minmax.c`): the largest rate, the largest after it, and the largest
/// after that. The first expires after `window` rounds; the second is replaced after a quarter of them, the third after
/// half. Rates between are not kept, so the exact maximum may be larger.
#[derive(Clone, Debug, Default)]
pub struct RunningMax(Option<[(u64, f64); 3]>);

impl RunningMax {
    pub fn get(&self) -> Option<f64> {
        self.0.map(|best| best[0].1)
    }

    /// `minmax_running_max`, `minmax_subwin_update`.
    pub fn update(&mut self, round: u64, rate: f64, window: u64) {
        let new = (round, rate);
        let age = |estimate: (u64, f64)| round - estimate.0;
        let Some(best) = self.0.as_mut().filter(|best| rate < best[0].1 && age(best[2]) <= window) else {
            self.0 = Some([new; 3]);
            return;
        };
        if rate >= best[1].1 {
            (best[1], best[2]) = (new, new);
        } else if rate >= best[2].1 {
            best[2] = new;
        }
        if age(best[0]) > window {
            *best = [best[1], best[2], new];
            if age(best[0]) > window {
                *best = [best[1], best[2], new];
            }
        } else if best[1].1 == best[0].1 && age(best[1]) > window / 4 {
            (best[1], best[2]) = (new, new);
        } else if best[2].1 == best[1].1 && age(best[2]) > window / 2 {
            best[2] = new;
        }
    }
}

/// What an ACK, or a timeout, says about a policer.
#[derive(Clone, Copy, Debug, Default)]
pub struct Evidence {
    /// Time of the last ACK with a sample, s, and segments delivered by then.
    now: f64,
    delivered: f64,
    app_limited: bool,
    lossy: bool,
}

/// Long-term bandwidth sampling, which detects policers.
#[derive(Clone, Debug, Default)]
pub struct LongTermBandwidth {
    mss: f64,
    /// Segments lost so far.
    lost: f64,
    last: Evidence,
    is_sampling: bool,
    use_lt_bw: bool,
    /// Long-term bandwidth, segments/s; 0 before the first interval.
    lt_bw: f64,
    rounds: u32,
    /// Start of the interval, s, and segments delivered and lost by then.
    interval_start: f64,
    delivered_before: f64,
    lost_before: f64,
}

impl LongTermBandwidth {
    pub fn new(mss: f64) -> Self {
        LongTermBandwidth { mss, ..LongTermBandwidth::default() }
    }

    /// The policer's rate, segments/s, while it is used.
    pub fn get(&self) -> Option<f64> {
        self.use_lt_bw.then_some(self.lt_bw)
    }

    /// Notes that segments have been lost.
    pub fn on_loss(&mut self, lost: f64) {
        self.lost += lost;
    }

    /// When the last ACK with a rate sample arrived, s.
    pub fn last_sample(&self) -> f64 {
        self.last.now
    }

    /// Sampling starts anew (`bbr_reset_lt_bw_sampling`).
    pub fn restart(&mut self) {
        self.reset(self.last);
    }

    /// Counts a timeout as a round with losses; returns what [`LongTermBandwidth::on_sample`] returns.
    pub fn on_timeout(&mut self, in_probe_bw: bool) -> bool {
        self.take(Evidence { app_limited: false, lossy: true, ..self.last }, true, in_probe_bw)
    }

    /// Takes an ACK with a sample. Returns whether the rate has been used long enough, so that ProbeBW starts again.
    pub fn on_sample(&mut self, ack: &Acked, sample: &Sample, round_start: bool, in_probe_bw: bool) -> bool {
        let (delivered, app_limited) = (sample.delivered, sample.app_limited);
        self.last = Evidence { now: ack.now, delivered, app_limited, lossy: ack.lost > 0.0 };
        self.take(self.last, round_start, in_probe_bw)
    }

    /// `bbr_lt_bw_sampling`.
    fn take(&mut self, evidence: Evidence, round_start: bool, in_probe_bw: bool) -> bool {
        let Evidence { now, delivered, app_limited, lossy } = evidence;
        if self.use_lt_bw {
            self.rounds += u32::from(in_probe_bw && round_start);
            let over = in_probe_bw && round_start && self.rounds >= LT_BW_MAX_ROUNDS;
            if over {
                self.reset(evidence);
            }
            return over;
        }
        if !self.is_sampling {
            if !lossy {
                return false;
            }
            self.start_interval(evidence);
            self.is_sampling = true;
        }
        if app_limited {
            self.reset(evidence);
            return false;
        }
        self.rounds += u32::from(round_start);
        if self.rounds < LT_INTERVAL_ROUNDS {
            return false;
        }
        if self.rounds > 4 * LT_INTERVAL_ROUNDS {
            self.reset(evidence);
            return false;
        }
        let (acked, lost) = (delivered - self.delivered_before, self.lost - self.lost_before);
        let interval = now - self.interval_start;
        if lossy && acked > 0.0 && lost >= LT_LOSS_THRESH * acked && interval >= LT_MIN_INTERVAL {
            self.end_interval(acked / interval, evidence);
        }
        false
    }

    /// `bbr_lt_bw_interval_done`.
    fn end_interval(&mut self, bw: f64, evidence: Evidence) {
        let diff = (bw - self.lt_bw).abs();
        if self.lt_bw > 0.0 && (diff <= LT_BW_RATIO * self.lt_bw || diff * self.mss <= LT_BW_DIFF) {
            self.lt_bw = 0.5 * (bw + self.lt_bw);
            self.use_lt_bw = true;
            self.rounds = 0;
        } else {
            self.lt_bw = bw;
            self.start_interval(evidence);
        }
    }

    fn start_interval(&mut self, evidence: Evidence) {
        (self.interval_start, self.delivered_before) = (evidence.now, evidence.delivered);
        (self.lost_before, self.rounds) = (self.lost, 0);
    }

    fn reset(&mut self, evidence: Evidence) {
        (self.is_sampling, self.use_lt_bw, self.lt_bw) = (false, false, 0.0);
        self.start_interval(evidence);
    }
}

/// Segments of a TSO burst at a pacing rate of `rate` segments/s of `mss` bytes.
pub fn tso_burst(rate: f64, mss: f64) -> f64 {
    let min = if rate * mss < SLOW { 1.0 } else { 2.0 };
    (rate * BURST_TIME).floor().max(min).min(MAX_BURST)
}

/// A finite cwnd with headroom for TSO bursts of `burst` segments.
pub fn with_quantization_budget(cwnd: f64, burst: f64, probing: bool) -> f64 {
    let even = 2.0 * ((cwnd + BUDGET_BURSTS * burst) / 2.0).ceil();
    even + if probing { PROBING_BUDGET } else { 0.0 }
}

#[cfg(test)]
mod tests {
    use super::super::state::Mode;
    use super::super::testing::{acked, round, started, warm};
    use super::super::{BbrRules, Control};
    use super::*;

    #[test]
    fn in_flight_when_the_next_segment_departs() {
        let rules = BbrRules { in_flight_at_departure: true, quantization_budget: true, ..BbrRules::default() };
        let mut bbr = warm(rules);
        // At 833 segments/s two arrive in 3 ms. While probing a burst of two departs.
        bbr.mode = Mode::ProbeBw { phase: 1, since: 0.0 };
        let found = [(40.0, 0.0), (40.0, 3e-3), (1.0, 3e-3)].map(|(pipe, time)| bbr.in_flight_at_departure(pipe, time));
        assert_eq!(found, [40.0, 38.0, 0.0]);
        bbr.mode = Mode::ProbeBw { phase: 0, since: 0.0 };
        assert_eq!(bbr.in_flight_at_departure(40.0, 3e-3), 40.0);
        // The probing phase ends at a product of 42 segments, a budget of 6, and 2 more, which the burst counts
        // towards.
        for (in_flight_at_departure, expected) in [(false, [0, 1]), (true, [1, 1])] {
            bbr.rules.in_flight_at_departure = in_flight_at_departure;
            let next = [48.0, 50.0].map(|pipe| {
                let mut bbr = bbr.clone();
                bbr.update_cycle_phase(&Acked { now: 1.0, pipe: pipe - 1.0, pipe_before: pipe, ..acked(1.0) });
                let Mode::ProbeBw { phase, .. } = bbr.mode else { panic!("{:?}", bbr.mode) };
                phase
            });
            assert_eq!(next, expected, "{in_flight_at_departure}");
        }
    }

    #[test]
    fn the_running_maximum_forgets_rates_between_its_estimates() {
        // The rate 100 of round 1 counts up to round 11. The 90 of round 3 comes before a quarter of the window is over
        // and is not kept: the second estimate is that of round 4.
        let rates = [100.0, 60.0, 90.0, 70.0, 60.0, 60.0, 60.0, 60.0, 60.0, 60.0, 60.0, 60.0];
        for (running_max, expected) in [(false, [100.0, 90.0, 90.0]), (true, [100.0, 100.0, 70.0])] {
            let bandwidth = [10, 11, 12].map(|rounds| {
                let (mut bbr, mut window) = started(BbrRules { running_max, ..BbrRules::default() });
                for (i, &rate) in rates[..rounds].iter().enumerate() {
                    round(&mut bbr, &mut window, i as f64, rate);
                }
                bbr.bandwidth()
            });
            assert_eq!(bandwidth, expected, "{running_max}");
        }
    }

    #[test]
    fn packet_conservation_may_bring_cwnd_below_four_segments() {
        for (small_conserving_cwnd, cwnd) in [(false, 4.0), (true, 2.0)] {
            let (mut bbr, mut window) = started(BbrRules { small_conserving_cwnd, ..BbrRules::default() });
            bbr.set_cwnd(&mut window, &Acked { recovering: true, pipe: 1.0, ..acked(1.0) });
            assert_eq!((bbr.recovery.packet_conservation, window.cwnd), (true, cwnd));
            bbr.recovery.packet_conservation = false;
            bbr.set_cwnd(&mut window, &Acked { recovering: true, pipe: 1.0, lost: 2.0, ..acked(1.0) });
            assert_eq!(window.cwnd, 4.0);
        }
    }

    #[test]
    fn a_fast_recovery_after_a_timeout_conserves_packets() {
        for (recovers, cwnd) in [(false, 5.0), (true, 6.0)] {
            let (bbr, mut window) = started(BbrRules::default());
            let mut bbr = bbr.recovering_again(recovers);
            bbr.on_timeout(&window, 10.0, 0.0);
            window.cwnd = 1.0;
            bbr.set_cwnd(&mut window, &Acked { recovering: true, timed_out: true, pipe: 5.0, ..acked(1.0) });
            assert!(!bbr.recovery.packet_conservation);
            bbr.set_cwnd(&mut window, &Acked { recovering: true, pipe: 5.0, ..acked(1.0) });
            assert_eq!((bbr.recovery.packet_conservation, window.cwnd), (recovers, cwnd));
            bbr.set_cwnd(&mut window, &acked(1.0));
            assert_eq!((bbr.recovery.packet_conservation, window.cwnd), (false, 11.0), "cwnd is restored");
        }
    }

    #[test]
    fn long_term_bandwidth_counts_losses_found_by_timers() {
        for (timer_losses, rounds, lost) in [(false, 0, 1.0), (true, 2, 6.0)] {
            let rules = BbrRules { long_term_bandwidth: true, timer_losses, ..BbrRules::default() };
            let (mut bbr, mut window) = started(rules);
            round(&mut bbr, &mut window, 0.0, 100.0);
            let sample = Sample { rate: Some(100.0), prior_delivered: 50.0, delivered: 150.0, app_limited: false };
            bbr.on_any_ack(&mut window, &Acked { lost: 1.0, rate: Some(sample), ..acked(1.0) });
            bbr.on_timer_loss(1.0, false);
            for _ in 0..2 {
                bbr.on_timeout(&window, 10.0, 0.0);
                bbr.on_timer_loss(2.0, true);
            }
            let long_term = bbr.long_term.expect("an option");
            assert_eq!((long_term.is_sampling, long_term.rounds, long_term.lost), (true, rounds, lost));
        }
    }

    #[test]
    fn an_equal_rtt_renews_the_min_rtt_by_default() {
        for (equal_rtt_ignored, stamp) in [(false, 0.5), (true, 0.0)] {
            let (mut bbr, mut window) = started(BbrRules { equal_rtt_ignored, ..BbrRules::default() });
            round(&mut bbr, &mut window, 0.0, 100.0);
            round(&mut bbr, &mut window, 5.0, 100.0);
            assert_eq!((bbr.min_rtt.rtt, bbr.min_rtt.stamp), (0.1, stamp));
        }
    }
}
