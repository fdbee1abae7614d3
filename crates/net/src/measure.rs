//! Statistics of a queue, exact over time and kept without storing packets; fairness indices.

use crate::sojourns::Sojourns;

/// Time-weighted length and sojourn times of one queue over the measured window. The fields that every packet changes
/// come first, so that they share as few cache lines as possible.
#[derive(Default)]
#[repr(C)]
pub struct QueueStats {
    last: f64,
    area: f64,
    area_of_square: f64,
    average_area: f64,
    average_since: f64,
    longest: u64,
    sojourn_sum: f64,
    departures: u64,
    sojourns: Sojourns,
    since: f64,
}

impl QueueStats {
    /// Statistics from time zero.
    pub fn new() -> Self {
        Self::default()
    }

    /// Starts a new window at `now`, with `length` packets in the queue.
    pub fn restart(&mut self, now: f64, length: u64) {
        let mut sojourns = std::mem::take(&mut self.sojourns);
        sojourns.clear();
        *self = QueueStats {
            since: now,
            last: now,
            longest: length,
            average_since: now,
            sojourns,
            ..QueueStats::default()
        };
    }

    /// The queue held `length` packets since the last call, and changes at `now`.
    #[inline(always)]
    pub fn advance(&mut self, now: f64, length: u64) {
        if cfg!(no_statistics) {
            return;
        }
        // As a signed integer: one instruction, where converting an unsigned one takes six.
        let length = length as i64 as f64;
        let weighted = length * (now - self.last);
        self.area += weighted;
        self.area_of_square += length * weighted;
        self.last = now;
    }

    /// [`QueueStats::advance`], with the policy's averaged queue too, if it has one.
    #[inline(always)]
    pub fn observe(&mut self, now: f64, length: u64, average: Option<f64>) {
        if cfg!(no_statistics) {
            return;
        }
        self.advance(now, length);
        if let Some(average) = average {
            self.average_area += average * (now - self.average_since);
            self.average_since = now;
        }
    }

    /// The queue grew to `length` packets.
    #[inline(always)]
    pub fn grown(&mut self, length: u64) {
        if length > self.longest {
            self.longest = length;
        }
    }

    /// A packet departed after a sojourn of `seconds`.
    #[inline(always)]
    pub fn departed(&mut self, seconds: f64) {
        if cfg!(no_statistics) {
            return;
        }
        self.departed_of_band(seconds);
        self.sojourns.add(seconds);
    }

    /// [`QueueStats::departed`] of a packet whose band has its sojourn time; [`QueueStats::absorb`] adds these.
    #[inline(always)]
    pub fn departed_of_band(&mut self, seconds: f64) {
        if cfg!(no_statistics) {
            return;
        }
        self.departures += 1;
        self.sojourn_sum += seconds;
    }

    /// Adds the sojourn times of a band to the histogram.
    pub fn absorb(&mut self, sojourns: &Sojourns) {
        self.sojourns.absorb(sojourns);
    }

    fn width(&self) -> f64 {
        (self.last - self.since).max(f64::MIN_POSITIVE)
    }

    /// Mean length, packets.
    pub fn mean(&self) -> f64 {
        self.area / self.width()
    }

    /// Mean length up to `now`, packets, if `length` packets are in the queue since the last call.
    pub fn mean_at(&self, now: f64, length: u64) -> f64 {
        (self.area + length as f64 * (now - self.last)) / (now - self.since).max(f64::MIN_POSITIVE)
    }

    /// Standard deviation of the length over time, packets.
    pub fn standard_deviation(&self) -> f64 {
        let mean = self.mean();
        (self.area_of_square / self.width() - mean * mean).max(0.0).sqrt()
    }

    /// Maximum length, packets.
    pub fn longest(&self) -> u64 {
        self.longest
    }

    /// Time average of the policy's averaged queue, packets.
    pub fn mean_average(&self) -> f64 {
        self.average_area / (self.average_since - self.since).max(f64::MIN_POSITIVE)
    }

    /// Mean sojourn time of the departed packets, s.
    pub fn mean_sojourn(&self) -> f64 {
        self.sojourn_sum / self.departures.max(1) as f64
    }

    /// Quantiles of the sojourn times, s (to 0.1 % or 1 us), at `fractions`, which rise.
    pub fn sojourn_quantiles<const N: usize>(&self, fractions: [f64; N]) -> [f64; N] {
        self.sojourns.quantiles(fractions).map(|microseconds| microseconds as f64 * 1e-6)
    }

    /// Histogram of the sojourn times: the longest time in each bucket (1 us or 0.1 % wide), microseconds, and its
    /// packets. Empty buckets are left out.
    pub fn sojourn_histogram(&self) -> Vec<(u64, u64)> {
        self.sojourns.buckets()
    }
}

/// What a part of the packets had of a queue, such as a flow or a band, over the measured window.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub struct Share {
    /// Packets that arrived, including dropped ones.
    pub arrivals: u64,
    /// Bytes of these arrivals.
    pub arrived_bytes: u64,
    /// Packets departed.
    pub departures: u64,
    /// Bytes of these departures.
    pub departed_bytes: u64,
    /// Packets dropped.
    pub drops: u64,
    /// Bytes of these drops.
    pub dropped_bytes: u64,
    /// Packets marked.
    pub marks: u64,
    /// Sum of the sojourn times, s.
    pub sojourn_sum: f64,
    /// Longest sojourn time, s.
    pub sojourn_max: f64,
}

impl Share {
    /// A packet arrived.
    #[inline]
    pub fn arrived(&mut self, bytes: u32) {
        self.arrivals += 1;
        self.arrived_bytes += u64::from(bytes);
    }

    /// A packet was dropped.
    #[inline]
    pub fn dropped(&mut self, bytes: u32) {
        self.drops += 1;
        self.dropped_bytes += u64::from(bytes);
    }

    /// A packet departed after a sojourn of `seconds`.
    #[inline]
    pub fn departed(&mut self, bytes: u32, seconds: f64) {
        self.departures += 1;
        self.departed_bytes += u64::from(bytes);
        self.sojourn_sum += seconds;
        self.sojourn_max = self.sojourn_max.max(seconds);
    }

    /// Mean sojourn time, s; `None` without departures.
    pub fn mean_sojourn(&self) -> Option<f64> {
        (self.departures > 0).then(|| self.sojourn_sum / self.departures as f64)
    }

    /// The sum of this share and another.
    pub fn and(self, other: &Share) -> Share {
        Share {
            arrivals: self.arrivals + other.arrivals,
            arrived_bytes: self.arrived_bytes + other.arrived_bytes,
            departures: self.departures + other.departures,
            departed_bytes: self.departed_bytes + other.departed_bytes,
            drops: self.drops + other.drops,
            dropped_bytes: self.dropped_bytes + other.dropped_bytes,
            marks: self.marks + other.marks,
            sojourn_sum: self.sojourn_sum + other.sojourn_sum,
            sojourn_max: self.sojourn_max.max(other.sojourn_max),
        }
    }
}

/// Jain's fairness index of `shares`: 1 if all are equal, 1/n if one of n has everything; 0 if all are 0.
pub fn jain(shares: impl Iterator<Item = f64>) -> f64 {
    let (n, sum, squares) = shares.fold((0.0, 0.0, 0.0), |(n, s, q), x| (n + 1.0, s + x, q + x * x));
    if squares > 0.0 {
        sum * sum / (n * squares)
    } else {
        0.0
    }
}

/// Population standard deviation of `values` divided by their mean: 0 if all are equal, sqrt(n - 1) if one of n has
/// everything; `None` if all are 0. Jain's index is 1 / (1 + its square).
pub fn coefficient_of_variation(values: impl Iterator<Item = f64>) -> Option<f64> {
    let values: Vec<f64> = values.collect();
    let mean = values.iter().sum::<f64>() / values.len() as f64;
    (mean > 0.0).then(|| variance(&values).sqrt() / mean)
}

/// Population variance of `values`; 0 if there are none.
pub fn variance(values: &[f64]) -> f64 {
    let n = values.len().max(1) as f64;
    let mean = values.iter().sum::<f64>() / n;
    values.iter().map(|x| (x - mean) * (x - mean)).sum::<f64>() / n
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn time_weighted_moments_of_a_step() {
        let mut stats = QueueStats::new();
        stats.advance(1.0, 0);
        stats.grown(4);
        stats.advance(3.0, 4);
        stats.advance(4.0, 0);
        assert_eq!((stats.mean(), stats.longest()), (2.0, 4));
        assert_eq!(stats.standard_deviation(), 2.0);
        assert_eq!((stats.mean_at(4.0, 0), stats.mean_at(6.0, 1), stats.mean()), (2.0, 10.0 / 6.0, 2.0));
    }

    /// The FLoadAutoRED paper's "variation" of the utilisation of CBR and TCP: 0.22 with AutoREDwithRED as printed.
    #[test]
    fn variance_of_two_classes() {
        assert!((variance(&[0.9729, 0.0170]) - 0.2284).abs() < 5e-5);
        assert!((variance(&[0.1825, 0.8152]) - 0.1001).abs() < 5e-5);
        assert_eq!(variance(&[]), 0.0);
    }

    /// 1, 2, 3 and 6: mean 3, variance (4 + 1 + 0 + 9) / 4 = 3.5.
    #[test]
    fn coefficient_of_variation_by_hand_and_by_jain() {
        let shares = [1.0, 2.0, 3.0, 6.0];
        let found = coefficient_of_variation(shares.into_iter()).expect("a mean");
        assert_eq!(found, 3.5_f64.sqrt() / 3.0);
        assert!((jain(shares.into_iter()) - 1.0 / (1.0 + found * found)).abs() < 1e-15);
        assert_eq!(coefficient_of_variation([2.0; 5].into_iter()), Some(0.0));
        assert!((coefficient_of_variation([4.0, 0.0, 0.0, 0.0, 0.0].into_iter()).unwrap() - 2.0).abs() < 1e-15);
        assert_eq!(coefficient_of_variation([0.0, 0.0].into_iter()), None);
        assert_eq!(coefficient_of_variation([].into_iter()), None);
    }

    #[test]
    fn jain_of_equal_and_of_one() {
        assert_eq!(jain([2.0; 5].into_iter()), 1.0);
        assert_eq!(jain([1.0, 0.0, 0.0, 0.0].into_iter()), 0.25);
        assert_eq!(jain([0.0].into_iter()), 0.0);
    }
}
