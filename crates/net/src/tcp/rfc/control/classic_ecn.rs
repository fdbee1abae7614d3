//! TCP Prague's detection of a classic AQM, which marks where it would drop: its queue is longer and varies more than
//! that of an L4S queue (`prague_classic_ecn_detection`, `prague_classic_ecn_fallback`; Briscoe and Ahmed, TCP Prague
//! Fall-back on Detection of a Classic ECN AQM, 2019).

/// Weights of the RTT's deviation and of the queue's depth.
const DEVIATION_WEIGHT: f64 = 0.5;
const DEPTH_WEIGHT: f64 = 0.5;
/// Deviation and depth that point neither to a classic nor to an L4S queue, s.
const DEVIATION: f64 = 750e-6;
const DEPTH: f64 = 2e-3;
/// The score below which the queue is an L4S one, and above which it is classic; its largest value.
const L4S: f64 = 8.0;
const CLASSIC: f64 = L4S + 1.0;
const MOST: f64 = CLASSIC + L4S;
/// The fraction of marks that a mark of a classic queue counts as: a reduction to 0.69, near CUBIC's.
const CLASSIC_ALPHA: f64 = 0.625;
/// The deviation before the first RTT, s.
const FIRST_DEVIATION: f64 = 1e-6;

/// State of the detection: slow averages of the RTT and its deviation, s, and the score.
#[derive(Clone, Debug, Default)]
pub struct ClassicEcn {
    srtt: f64,
    mdev: f64,
    score: f64,
}

impl ClassicEcn {
    /// Takes an RTT sample. Its gain falls with the window of the last reduction, to see past one round trip's swing.
    pub fn on_rtt(&mut self, rtt: f64, ssthresh: f64) {
        let shift = if ssthresh < 1e5 { libm::floor(libm::log2(ssthresh.max(1.0))) } else { 11.0 };
        let gain = libm::exp2(-(shift + libm::floor(shift / 2.0) + 1.0).min(18.0));
        if self.srtt == 0.0 {
            (self.srtt, self.mdev) = (rtt, FIRST_DEVIATION);
            return;
        }
        let error = rtt - self.srtt;
        self.srtt += gain * error;
        self.mdev += gain / 2.0 * (error.abs() - self.mdev);
    }

    /// Moves the score at the end of a round trip.
    pub fn on_round(&mut self, min_rtt: f64) {
        if self.srtt == 0.0 || min_rtt == f64::INFINITY {
            return;
        }
        self.score += DEVIATION_WEIGHT * libm::log2(self.mdev.max(FIRST_DEVIATION) / DEVIATION);
        let depth = self.srtt - min_rtt;
        if depth > DEPTH {
            self.score += DEPTH_WEIGHT * libm::log2(depth / DEPTH);
        }
        self.score = self.score.clamp(0.0, MOST);
    }

    /// The fraction of marks that reduces cwnd, if the average is `alpha`.
    pub fn at_least(&self, alpha: f64) -> f64 {
        alpha.max(CLASSIC_ALPHA * (self.score.min(CLASSIC) - L4S))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// That fraction with an average of 0.05, after `rounds` of ten RTTs that swing by `swing` seconds above 20 ms.
    fn after(rounds: u32, swing: f64) -> f64 {
        let mut classic = ClassicEcn::default();
        for round in 0..rounds {
            for k in 0..10 {
                let part = f64::from((round + k) % 10) / 10.0;
                classic.on_rtt(0.02 + swing * part, 16.0);
            }
            classic.on_round(0.02);
        }
        classic.at_least(0.05)
    }

    #[test]
    fn a_long_queue_that_varies_is_classic_and_a_short_one_is_not() {
        assert_eq!(after(2000, 0.03), CLASSIC_ALPHA);
        assert_eq!(after(2000, 0.0005), 0.05);
    }

    /// The gain for the RTT is 2^-(s + floor(s/2) + 1) at a ssthresh of 2^s, for the deviation half of it.
    #[test]
    fn averages_by_hand() {
        for (ssthresh, shift) in [(1.0, 1), (16.0, 7), (31.0, 7), (32.0, 8), (1e6, 17)] {
            let mut classic = ClassicEcn { srtt: 0.02, mdev: 0.002, score: 0.0 };
            classic.on_rtt(0.03, ssthresh);
            let gain = 0.5_f64.powi(shift);
            assert!((classic.srtt - (0.02 + gain * 0.01)).abs() < 1e-15, "{ssthresh}");
            assert!((classic.mdev - (0.002 + gain / 2.0 * 0.008)).abs() < 1e-15, "{ssthresh}");
        }
    }

    /// The score moves by half the logarithms of deviation and depth over neutral values: 4 and 2 times these here.
    #[test]
    fn a_round_by_hand() {
        let score = |srtt: f64, mdev: f64| {
            let mut classic = ClassicEcn { srtt, mdev, score: 5.0 };
            classic.on_round(0.02);
            classic.score
        };
        assert_eq!(score(0.02, 4.0 * DEVIATION), 6.0);
        assert!((score(0.02 + 2.0 * DEPTH, DEVIATION) - 5.5).abs() < 1e-9);
        assert_eq!(score(0.02 + DEPTH / 2.0, DEVIATION), 5.0, "a short queue takes nothing away");
        assert_eq!(score(0.0, 4.0 * DEVIATION), 5.0, "no round trip is known");
    }

    #[test]
    fn it_takes_rounds_to_be_sure() {
        assert_eq!(after(5, 0.03), 0.05);
    }
}
