//! Delay variation: standard deviation of the one-way delay, packet delay variation (RFC 5481), interarrival jitter
//! (RFC 3550).

use hdrhistogram::Histogram;

/// Gain of the interarrival jitter (RFC 3550, 6.4.1).
const GAIN: f64 = 1.0 / 16.0;
/// Upper bound of the histograms, microseconds (one hour).
const LONGEST_US: f64 = 3.6e9;

/// A histogram of times in microseconds, to 0.1 %, that grows up to the longest of them.
pub fn histogram() -> Histogram<u32> {
    Histogram::new(3).expect("three digits are valid")
}

/// Adds a time in seconds to a histogram of microseconds.
pub fn record(histogram: &mut Histogram<u32>, seconds: f64) {
    // A growing histogram of 64-bit values accepts every value.
    let counted = histogram.record(microseconds(seconds));
    debug_assert!(counted.is_ok());
}

fn microseconds(seconds: f64) -> u64 {
    (seconds * 1e6 + 0.5).min(LONGEST_US) as u64
}

/// One-way delays of a flow's packets, in the order of arrival.
#[derive(Clone, Debug)]
pub struct Variation {
    ticks_per_second: f64,
    /// Lower bound of the delays: the histogram starts there, so that its resolution is fine where delays differ.
    floor: u32,
    count: u64,
    least: u32,
    most: u32,
    sum: u128,
    squares: u128,
    last: u32,
    /// The interarrival jitter, and the sum of its values, ticks.
    jitter: f64,
    jitter_sum: f64,
    above: Histogram<u32>,
}

impl Variation {
    /// No packet yet. Delays are in ticks; none is below `floor` seconds.
    pub fn new(floor: f64, ticks_per_second: f64) -> Self {
        Variation {
            ticks_per_second,
            floor: (floor * ticks_per_second) as u32,
            count: 0,
            least: u32::MAX,
            most: 0,
            sum: 0,
            squares: 0,
            last: 0,
            jitter: 0.0,
            jitter_sum: 0.0,
            above: histogram(),
        }
    }

    /// Adds the next packet, which arrived `ticks` ticks after it was sent.
    pub fn record(&mut self, ticks: u32) {
        if self.count > 0 {
            // The change of transit time is the difference between receiver and sender spacing.
            let difference = f64::from(ticks) - f64::from(self.last);
            self.jitter += (difference.abs() - self.jitter) * GAIN;
            self.jitter_sum += self.jitter;
        }
        self.last = ticks;
        self.count += 1;
        self.least = self.least.min(ticks);
        self.most = self.most.max(ticks);
        self.sum += u128::from(ticks);
        self.squares += u128::from(ticks) * u128::from(ticks);
        record(&mut self.above, f64::from(ticks.saturating_sub(self.floor)) / self.ticks_per_second);
    }

    /// The interarrival jitter after the last packet, s; `None` before the second.
    pub fn interarrival_jitter(&self) -> Option<f64> {
        (self.count > 1).then_some(self.jitter / self.ticks_per_second)
    }

    /// Number of packets.
    pub fn count(&self) -> u64 {
        self.count
    }

    /// Sum of the squared distances from the mean, ticks squared.
    fn deviations(&self) -> f64 {
        // The wrapping difference is exact, as it is below 2^128.
        let times_count =
            u128::from(self.count).wrapping_mul(self.squares).wrapping_sub(self.sum.wrapping_mul(self.sum));
        times_count as f64 / self.count as f64
    }

    fn above_floor(&self, ticks: u32) -> u64 {
        microseconds(f64::from(ticks.saturating_sub(self.floor)) / self.ticks_per_second)
    }
}

/// Delay variation of some flows, each relative to its own delays.
pub struct Spread {
    /// Minimum delay, s.
    pub least: f64,
    /// Root mean squared distance of the delays from their flow's mean, s.
    pub deviation: f64,
    /// Mean packet delay variation, s: delay minus the minimum of the flow.
    pub pdv_mean: f64,
    /// Distribution of the packet delay variation, microseconds.
    pub pdv: Histogram<u32>,
    /// Mean of the interarrival jitter over all packets but the first of a flow, s; `None` without any.
    pub jitter_mean: Option<f64>,
}

impl Spread {
    /// The variation over all packets of these flows; `None` without packets.
    pub fn of<'a>(flows: impl Iterator<Item = &'a Variation>) -> Option<Spread> {
        let mut pdv = histogram();
        let (mut packets, mut pairs, mut least, mut ticks_per_second) = (0, 0, u32::MAX, 1.0);
        let (mut deviations, mut above, mut jitter) = (0.0, 0.0, 0.0);
        for flow in flows.filter(|flow| flow.count > 0) {
            ticks_per_second = flow.ticks_per_second;
            packets += flow.count;
            pairs += flow.count - 1;
            least = least.min(flow.least);
            deviations += flow.deviations();
            above += (flow.sum - u128::from(flow.count) * u128::from(flow.least)) as f64;
            jitter += flow.jitter_sum;
            let (low, high) = (flow.above_floor(flow.least), flow.above_floor(flow.most));
            // Measured between upper ends of cells, so that delays in the cell of the minimum count as 0.
            let origin = flow.above.highest_equivalent(low);
            for cell in flow.above.iter_recorded() {
                let value = cell.value_iterated_to().saturating_sub(origin).min(high - low);
                let counted = pdv.record_n(value, cell.count_at_value());
                debug_assert!(counted.is_ok());
            }
        }
        (packets > 0).then(|| Spread {
            least: f64::from(least) / ticks_per_second,
            deviation: (deviations / packets as f64).sqrt() / ticks_per_second,
            pdv_mean: above / packets as f64 / ticks_per_second,
            pdv,
            jitter_mean: (pairs > 0).then(|| jitter / pairs as f64 / ticks_per_second),
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn of(floor: f64, ticks_per_second: f64, ticks: &[u32]) -> Variation {
        let mut variation = Variation::new(floor, ticks_per_second);
        ticks.iter().for_each(|&ticks| variation.record(ticks));
        variation
    }

    /// Delays of 20, 24, 21 and 35 ms. Mean 25 ms; squared distances 25 + 1 + 16 + 100 = 142, of which a quarter is
    /// 35.5. Above the minimum the delays are 0, 4, 1, 15, mean 5 ms.
    #[test]
    fn four_packets_by_hand() {
        let flow = of(0.01, 1000.0, &[20, 24, 21, 35]);
        let spread = Spread::of(std::iter::once(&flow)).expect("packets");
        assert_eq!(spread.least, 0.020);
        assert!((spread.deviation - 35.5_f64.sqrt() * 1e-3).abs() < 1e-15);
        assert!((spread.pdv_mean - 0.005).abs() < 1e-15);
        // J: 4/16 = 0.25; 0.25 + (3 - 0.25)/16 = 0.421875; 0.421875 + (14 - 0.421875)/16 = 1.2705078125 ms.
        let last = flow.interarrival_jitter().expect("more than one packet");
        assert!((last - 1.270_507_812_5e-3).abs() < 1e-15, "{last}");
        let mean = spread.jitter_mean.expect("more than one packet");
        assert!((mean - (0.25 + 0.421_875 + 1.270_507_812_5) / 3.0 * 1e-3).abs() < 1e-15, "{mean}");
        for (q, ms) in [(0.25, 0), (0.5, 1), (0.75, 4), (0.99, 15)] {
            let found = spread.pdv.value_at_quantile(q);
            // To 0.1 % of the part above the lower bound, 25 ms at most.
            assert!(found.abs_diff(ms * 1000) <= 25, "{found} for {ms} ms");
        }
    }

    #[test]
    fn the_same_delay_always_does_not_vary() {
        let flow = of(0.0, 67_108_864.0, &[7_000_001; 50]);
        let spread = Spread::of(std::iter::once(&flow)).expect("packets");
        assert_eq!((spread.deviation, spread.pdv_mean, spread.jitter_mean), (0.0, 0.0, Some(0.0)));
        assert_eq!(spread.pdv.value_at_quantile(0.99), 0);
        assert_eq!(flow.interarrival_jitter(), Some(0.0));
    }

    /// Flows with delays of 10 and 14 ms, and of 100, 100 and 103: each relative to its own mean and minimum.
    #[test]
    fn flows_together_are_each_held_against_themselves() {
        let flows = [of(0.0, 1000.0, &[10, 14]), of(0.0, 1000.0, &[]), of(0.0, 1000.0, &[100, 100, 103])];
        let spread = Spread::of(flows.iter()).expect("packets");
        // Squared distances: 4 + 4, and 1 + 1 + 4.
        assert!((spread.deviation - (14.0_f64 / 5.0).sqrt() * 1e-3).abs() < 1e-15);
        assert!((spread.pdv_mean - 7.0 / 5.0 * 1e-3).abs() < 1e-15);
        assert_eq!(spread.least, 0.010);
        // J: 4/16 in the first, 0 and 3/16 in the second.
        let mean = spread.jitter_mean.expect("pairs");
        assert!((mean - (0.25 + 0.0 + 0.1875) / 3.0 * 1e-3).abs() < 1e-15, "{mean}");
        assert_eq!(spread.pdv.len(), 5);
        assert!(spread.pdv.value_at_quantile(0.6) == 0 && spread.pdv.value_at_quantile(0.61) > 2900);
    }

    #[test]
    fn one_packet_has_no_jitter_and_none_has_nothing() {
        let flow = of(0.0, 1000.0, &[5]);
        assert_eq!((flow.interarrival_jitter(), Spread::of(std::iter::once(&flow)).unwrap().jitter_mean), (None, None));
        assert!(Spread::of(std::iter::once(&of(0.0, 1000.0, &[]))).is_none());
    }

    #[test]
    fn sums_beyond_64_bits_stay_exact() {
        let (low, high) = (u32::MAX - 1, u32::MAX);
        let flow = of(0.0, 1000.0, &[low, high, low, high]);
        let spread = Spread::of(std::iter::once(&flow)).expect("packets");
        assert_eq!(spread.deviation, 0.5e-3);
    }
}
