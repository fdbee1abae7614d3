//! Distributions of sizes and times, common to all sources.

use earlydrop_aqm::random::Generator;

/// A distribution of a non-negative number: bytes, seconds, a count.
///
/// Every draw takes its uniform numbers from the given generator, in a fixed order, and its logarithms and powers from
/// `libm`, so that it gives the same bits on every machine.
#[derive(Clone, Debug, PartialEq)]
pub enum Distribution {
    /// Constant; draws nothing.
    Fixed(f64),
    /// Uniform between two bounds.
    Uniform {
        /// Lower bound.
        low: f64,
        /// Upper bound.
        high: f64,
    },
    /// Exponential (`ExponentialRandomVariable` of ns-2: `-mean ln u`).
    Exponential {
        /// Mean.
        mean: f64,
    },
    /// Pareto of the first kind (`ParetoRandomVariable` of ns-2: scale `mean (shape - 1) / shape`).
    Pareto {
        /// Mean, before truncation at `max`.
        mean: f64,
        /// Shape, above 1; the variance is infinite up to 2.
        shape: f64,
        /// Larger values are set to this; infinity: none are.
        max: f64,
    },
    /// Log-normal.
    Lognormal {
        /// Median: `exp` of the mean of the logarithm.
        median: f64,
        /// Standard deviation of the logarithm.
        sigma: f64,
        /// Larger values are set to this; infinity: none are.
        max: f64,
    },
    /// Geometric on 1, 2, 3...: the number of trials up to the first success.
    Geometric {
        /// Mean, at least 1.
        mean: f64,
    },
    /// One of these values with equal probability. Never empty.
    Sample(Vec<f64>),
    /// One of these values with these weights, which need not sum to 1. Never empty.
    Mix(Vec<(f64, f64)>),
    /// A distribution function through these points (value, probability), linear between them. The first value is a
    /// point mass of its probability; the last probability is 1.
    Cdf(Vec<(f64, f64)>),
}

impl Distribution {
    /// The next value.
    pub fn draw(&self, random: &mut Generator) -> f64 {
        match self {
            Distribution::Fixed(value) => *value,
            Distribution::Uniform { low, high } => low + (high - low) * random.uniform(),
            Distribution::Exponential { mean } => mean * -libm::log(positive(random)),
            Distribution::Pareto { mean, shape, max } => {
                let scale = mean * (shape - 1.0) / shape;
                (scale * (1.0 / libm::pow(positive(random), 1.0 / shape))).min(*max)
            }
            Distribution::Lognormal { median, sigma, max } => (median * libm::exp(sigma * normal(random))).min(*max),
            Distribution::Geometric { mean } if *mean > 1.0 => {
                1.0 + (libm::log(positive(random)) / libm::log(1.0 - 1.0 / mean)).floor()
            }
            Distribution::Geometric { .. } => 1.0,
            Distribution::Sample(values) => values[(random.uniform() * values.len() as f64) as usize % values.len()],
            Distribution::Mix(parts) => {
                let total: f64 = parts.iter().map(|part| part.1).sum();
                let mut left = random.uniform() * total;
                let found = parts.iter().find(|&&(_, weight)| {
                    left -= weight;
                    left < 0.0
                });
                found.unwrap_or(&parts[parts.len() - 1]).0
            }
            Distribution::Cdf(points) => inverse(points, random.uniform()),
        }
    }

    /// The mean; for a truncated distribution, the mean before truncation.
    pub fn mean(&self) -> f64 {
        match self {
            Distribution::Fixed(value) => *value,
            Distribution::Uniform { low, high } => (low + high) / 2.0,
            Distribution::Exponential { mean }
            | Distribution::Pareto { mean, .. }
            | Distribution::Geometric { mean } => *mean,
            Distribution::Lognormal { median, sigma, .. } => median * libm::exp(sigma * sigma / 2.0),
            Distribution::Sample(values) => values.iter().sum::<f64>() / values.len() as f64,
            Distribution::Mix(parts) => {
                let (sum, total) =
                    parts.iter().fold((0.0, 0.0), |(s, t), (value, weight)| (s + value * weight, t + weight));
                sum / total
            }
            Distribution::Cdf(points) => steps(points).map(|(below, value, p)| (below + value) / 2.0 * p).sum(),
        }
    }

    /// The smallest and the largest value that can be drawn.
    pub fn range(&self) -> (f64, f64) {
        match self {
            Distribution::Fixed(value) => (*value, *value),
            Distribution::Uniform { low, high } => (*low, *high),
            Distribution::Exponential { .. } => (0.0, f64::INFINITY),
            Distribution::Pareto { mean, shape, max } => ((mean * (shape - 1.0) / shape).min(*max), *max),
            Distribution::Lognormal { max, .. } => (0.0, *max),
            Distribution::Geometric { mean } => (1.0, if *mean > 1.0 { f64::INFINITY } else { 1.0 }),
            Distribution::Sample(values) => bounds(values.iter().copied()),
            Distribution::Mix(parts) | Distribution::Cdf(parts) => bounds(parts.iter().map(|part| part.0)),
        }
    }

    /// All possible values if there are at most 16; else `None`.
    pub fn values(&self) -> Option<Vec<f64>> {
        const FEW: usize = 16;
        let mut values = match self {
            Distribution::Fixed(value) => vec![*value],
            Distribution::Sample(values) => values.clone(),
            Distribution::Mix(parts) => parts.iter().map(|part| part.0).collect(),
            _ => return None,
        };
        values.sort_unstable_by(f64::total_cmp);
        values.dedup();
        (values.len() <= FEW).then_some(values)
    }
}

fn bounds(values: impl Iterator<Item = f64>) -> (f64, f64) {
    values.fold((f64::INFINITY, 0.0), |(low, high), x| (low.min(x), high.max(x)))
}

/// A uniform number above 0, as logarithms need it: only 0 of the 2^53 values is replaced.
fn positive(random: &mut Generator) -> f64 {
    const SMALLEST: f64 = 1.0 / (1_u64 << 53) as f64;
    random.uniform().max(SMALLEST)
}

/// A normal deviate (Box and Muller 1958); the second of the pair is discarded, so that a draw has no state.
pub(crate) fn normal(random: &mut Generator) -> f64 {
    let radius = (-2.0 * libm::log(positive(random))).sqrt();
    radius * libm::cos(std::f64::consts::TAU * random.uniform())
}

/// Previous value, value, and the probability between the two.
fn steps(parts: &[(f64, f64)]) -> impl Iterator<Item = (f64, f64, f64)> + '_ {
    let before = std::iter::once((parts[0].0, 0.0)).chain(parts.iter().copied());
    before.zip(parts).map(|((below, from), &(value, to))| (below, value, to - from))
}

/// The value at which the distribution function through `points` is `u`.
fn inverse(points: &[(f64, f64)], u: f64) -> f64 {
    let at = points.partition_point(|&(_, p)| p <= u).min(points.len() - 1);
    if at == 0 {
        return points[0].0;
    }
    let ((low, from), (high, to)) = (points[at - 1], points[at]);
    low + (high - low) * ((u - from) / (to - from)).min(1.0)
}

#[cfg(test)]
mod tests {
    use super::*;

    const N: usize = 20_000;

    fn draws(of: &Distribution, name: &str) -> Vec<f64> {
        let mut random = Generator::stream(4, name);
        let mut values: Vec<f64> = (0..N).map(|_| of.draw(&mut random)).collect();
        values.sort_unstable_by(f64::total_cmp);
        values
    }

    /// The Kolmogorov-Smirnov distance from `cdf` is below the 0.1 % point (1.95 / sqrt n): one false alarm in 1,000
    /// seeds, and the seed is fixed.
    fn follows(of: &Distribution, cdf: impl Fn(f64) -> f64) {
        let values = draws(of, "test.distribution");
        let n = N as f64;
        let distance = (values.iter().enumerate())
            .map(|(i, &x)| (cdf(x) - i as f64 / n).abs().max((cdf(x) - (i + 1) as f64 / n).abs()))
            .fold(0.0, f64::max);
        assert!(distance < 1.95 / n.sqrt(), "{of:?}: {distance}");
    }

    /// The mean of the draws is within 3.3 standard errors (false alarm: 0.1 %).
    fn has_its_mean(of: &Distribution) {
        let values = draws(of, "test.mean");
        let n = N as f64;
        let mean = values.iter().sum::<f64>() / n;
        let variance = values.iter().map(|x| (x - mean) * (x - mean)).sum::<f64>() / (n - 1.0);
        assert!((mean - of.mean()).abs() < 3.3 * (variance / n).sqrt() + 1e-12, "{of:?}: {mean}, not {}", of.mean());
    }

    #[test]
    fn continuous_ones_follow_their_laws() {
        follows(&Distribution::Uniform { low: 2.0, high: 6.0 }, |x| (x - 2.0) / 4.0);
        follows(&Distribution::Exponential { mean: 0.5 }, |x| 1.0 - (-x / 0.5).exp());
        let scale: f64 = 12.0 * 0.2 / 1.2;
        follows(&Distribution::Pareto { mean: 12.0, shape: 1.2, max: f64::INFINITY }, |x| 1.0 - (scale / x).powf(1.2));
        // The normal distribution function by a logistic approximation, accurate to 2e-4 (Bowling et al. 2009).
        follows(&Distribution::Lognormal { median: 10.0, sigma: 1.5, max: f64::INFINITY }, |x| {
            let z = (x / 10.0_f64).ln() / 1.5;
            1.0 / (1.0 + (-(0.07056 * z.powi(3) + 1.5976 * z)).exp())
        });
        follows(&Distribution::Cdf(vec![(1.0, 0.0), (10.0, 0.6), (100.0, 1.0)]), |x| {
            if x < 10.0 {
                0.6 * (x - 1.0) / 9.0
            } else {
                0.6 + 0.4 * (x - 10.0) / 90.0
            }
        });
    }

    #[test]
    fn means_are_those_declared() {
        for of in [
            Distribution::Fixed(3.0),
            Distribution::Uniform { low: 2.0, high: 6.0 },
            Distribution::Exponential { mean: 0.5 },
            Distribution::Pareto { mean: 12.0, shape: 3.0, max: f64::INFINITY },
            Distribution::Lognormal { median: 10.0, sigma: 0.7, max: f64::INFINITY },
            Distribution::Geometric { mean: 4.0 },
            Distribution::Geometric { mean: 1.0 },
            Distribution::Sample(vec![1.0, 2.0, 9.0]),
            Distribution::Mix(vec![(40.0, 5.0), (576.0, 3.0), (1500.0, 2.0)]),
            Distribution::Cdf(vec![(1.0, 0.3), (10.0, 0.6), (100.0, 1.0)]),
        ] {
            has_its_mean(&of);
        }
    }

    #[test]
    fn discrete_ones_have_their_chances() {
        // Each count is within 3.9 standard deviations of its expectation: 12 counts, false alarm 0.1 % together.
        let counted = |of: &Distribution, chances: &[(f64, f64)]| {
            let values = draws(of, "test.counts");
            for &(value, chance) in chances {
                let count = values.iter().filter(|&&x| x == value).count() as f64;
                let expected = N as f64 * chance;
                let spread = (expected * (1.0 - chance)).sqrt();
                assert!((count - expected).abs() < 3.9 * spread, "{of:?}: {value} came {count} times, not {expected}");
            }
        };
        counted(
            &Distribution::Mix(vec![(40.0, 5.0), (576.0, 3.0), (1500.0, 2.0)]),
            &[(40.0, 0.5), (576.0, 0.3), (1500.0, 0.2)],
        );
        counted(&Distribution::Sample(vec![1.0, 2.0, 9.0, 9.0]), &[(1.0, 0.25), (2.0, 0.25), (9.0, 0.5)]);
        counted(
            &Distribution::Geometric { mean: 4.0 },
            &[(1.0, 0.25), (2.0, 0.1875), (3.0, 0.140_625), (5.0, 0.079_101_562_5)],
        );
        counted(&Distribution::Cdf(vec![(1.0, 0.3), (10.0, 1.0)]), &[(1.0, 0.3)]);
        counted(&Distribution::Pareto { mean: 2.0, shape: 2.0, max: 10.0 }, &[(10.0, 0.01)]);
    }

    #[test]
    fn a_fixed_value_draws_nothing() {
        let mut random = Generator::custom(|| panic!("drawn"));
        assert_eq!(Distribution::Fixed(1000.0).draw(&mut random), 1000.0);
        assert_eq!(Distribution::Geometric { mean: 1.0 }.draw(&mut random), 1.0);
    }

    #[test]
    fn the_ends_of_the_unit_interval_give_finite_values() {
        for u in [0.0, 1.0 - f64::EPSILON / 2.0, 1.0] {
            for of in [
                Distribution::Exponential { mean: 1.0 },
                Distribution::Pareto { mean: 2.0, shape: 1.1, max: f64::INFINITY },
                Distribution::Lognormal { median: 1.0, sigma: 2.0, max: f64::INFINITY },
                Distribution::Geometric { mean: 1e6 },
                Distribution::Sample(vec![1.0, 2.0]),
                Distribution::Mix(vec![(1.0, 1.0), (2.0, 0.0)]),
                Distribution::Cdf(vec![(1.0, 0.5), (1.0, 0.5), (2.0, 1.0)]),
            ] {
                let x = of.draw(&mut Generator::custom(move || u));
                assert!(x.is_finite() && x >= 0.0, "{of:?} at {u}: {x}");
            }
        }
    }

    #[test]
    fn few_values_are_told_and_ranges_hold() {
        assert_eq!(Distribution::Sample(vec![2.0, 1.0, 2.0]).values(), Some(vec![1.0, 2.0]));
        assert_eq!(Distribution::Uniform { low: 1.0, high: 2.0 }.values(), None);
        for of in [
            Distribution::Pareto { mean: 12.0, shape: 1.2, max: 500.0 },
            Distribution::Cdf(vec![(1.0, 0.3), (10.0, 1.0)]),
            Distribution::Mix(vec![(40.0, 5.0), (576.0, 3.0)]),
        ] {
            let (low, high) = of.range();
            assert!(draws(&of, "test.range").iter().all(|x| (low..=high).contains(x)), "{of:?}");
        }
    }
}
