//! A random process in steps: a Gaussian process, mapped through quantiles.
//!
//! The Gaussian is a sum of first-order autoregressions and white noise, so that its autocorrelation at a lag t is the
//! sum of `weight exp(-t/time constant)`. The value is linear in the Gaussian between two quantiles. Beyond the first
//! and the last quantile the slope next to it continues, down to 0 and up to [`MOST`] standard deviations (our choice).
//!
//! Logarithms and exponentials come from `libm`, so that a seed gives the same bits on every machine.

use crate::source::normal;
use earlydrop_aqm::random::Generator;

/// The mapping ends at this many standard deviations: 3 in 100,000 steps are above.
const MOST: f64 = 4.0;

/// Steps after which a process has no further ones; no run gets there.
pub(crate) const LAST: f64 = 1e9;

/// A process whose value is constant in each step.
#[derive(Clone, Debug, PartialEq)]
pub struct Process {
    /// Length of a step, s.
    pub step: f64,
    /// Probabilities, within (0, 1) and rising, and the values at them, which do not fall. At least two.
    pub quantiles: Vec<(f64, f64)>,
    /// Time constants (s) and weights of the autoregressions; the weights sum to 1 at most, what is missing is white.
    pub memory: Vec<(f64, f64)>,
}

impl Process {
    /// The process of constants of a declaration.
    pub(crate) fn of(step: f64, quantiles: &[(f64, f64)], memory: &[(f64, f64)]) -> Process {
        Process { step, quantiles: quantiles.to_vec(), memory: memory.to_vec() }
    }

    /// The mean of the values.
    pub fn mean(&self) -> f64 {
        let curve = Curve::new(&self.quantiles);
        let part = |low: f64, high: f64, line: &dyn Fn(f64) -> f64| {
            // A line through its values at two places.
            let slope = line(1.0) - line(0.0);
            line(0.0) * (below(high) - below(low)) + slope * (density(low) - density(high))
        };
        let ends: Vec<f64> =
            std::iter::once(curve.zero()).chain(curve.points.iter().map(|point| point.0)).chain([MOST]).collect();
        let inner = ends.windows(2).filter(|pair| pair[0] < pair[1]).map(|pair| {
            let segment = curve.segment(0.5 * (pair[0] + pair[1]));
            part(pair[0], pair[1], &|z| curve.line(segment, z))
        });
        inner.sum::<f64>() + curve.at(MOST) * (1.0 - below(MOST))
    }

    /// The largest value.
    pub fn largest(&self) -> f64 {
        Curve::new(&self.quantiles).at(MOST)
    }

    /// The share of steps in which the value is 0.
    pub fn zero_share(&self) -> f64 {
        let curve = Curve::new(&self.quantiles);
        if curve.zero() == f64::NEG_INFINITY {
            0.0
        } else {
            below(curve.zero())
        }
    }
}

/// The values by the Gaussian.
#[derive(Clone, Debug)]
struct Curve {
    /// The Gaussian and the value at each quantile.
    points: Vec<(f64, f64)>,
}

impl Curve {
    fn new(quantiles: &[(f64, f64)]) -> Curve {
        Curve { points: quantiles.iter().map(|&(p, value)| (normal_quantile(p), value)).collect() }
    }

    /// The segment of `z`, from 0 on; those at the ends go on beyond them.
    fn segment(&self, z: f64) -> usize {
        let inner = &self.points[1..self.points.len() - 1];
        inner.partition_point(|point| point.0 <= z)
    }

    fn line(&self, segment: usize, z: f64) -> f64 {
        let (from, to) = (self.points[segment], self.points[segment + 1]);
        from.1 + (to.1 - from.1) / (to.0 - from.0) * (z - from.0)
    }

    fn at(&self, z: f64) -> f64 {
        let z = z.min(MOST);
        self.line(self.segment(z), z).max(0.0)
    }

    /// Up to where the value is 0; minus infinity if it is nowhere.
    fn zero(&self) -> f64 {
        let (from, to) = (self.points[0], self.points[1]);
        match (to.1 - from.1) / (to.0 - from.0) {
            slope if slope > 0.0 => from.0 - from.1 / slope,
            _ if from.1 > 0.0 => f64::NEG_INFINITY,
            _ => self.points.iter().take_while(|point| point.1 == 0.0).last().map_or(from.0, |point| point.0),
        }
    }
}

/// The distribution function of the standard normal distribution.
fn below(z: f64) -> f64 {
    0.5 * libm::erfc(-z * std::f64::consts::FRAC_1_SQRT_2)
}

fn density(z: f64) -> f64 {
    if z.is_infinite() {
        0.0
    } else {
        libm::exp(-0.5 * z * z) / std::f64::consts::TAU.sqrt()
    }
}

/// The quantile of the standard normal distribution at `p`, by halving: only [`below`] is needed, and its bits.
fn normal_quantile(p: f64) -> f64 {
    let (mut low, mut high) = (-40.0, 40.0);
    loop {
        let middle = 0.5 * (low + high);
        if middle <= low || middle >= high {
            return middle;
        }
        if below(middle) < p {
            low = middle;
        } else {
            high = middle;
        }
    }
}

/// One part of the Gaussian.
#[derive(Clone, Copy, Debug)]
struct Part {
    /// What remains after a step.
    kept: f64,
    /// Standard deviation of what a step adds.
    added: f64,
    /// The square root of the weight.
    scale: f64,
    state: f64,
}

/// A process on its way: its value at times that do not fall.
pub(crate) struct Walk {
    curve: Curve,
    step: f64,
    parts: Vec<Part>,
    white: f64,
    seed: u64,
    name: String,
    random: Generator,
    /// The current step, and its value.
    index: u64,
    value: f64,
}

impl Walk {
    /// At time 0, with the random stream `name` of the run with `seed`.
    pub fn new(process: &Process, seed: u64, name: String) -> Walk {
        let mut random = Generator::stream(seed, &name);
        let parts = process.memory.iter().map(|&(time, weight)| {
            let kept = libm::exp(-process.step / time);
            Part { kept, added: (1.0 - kept * kept).sqrt(), scale: weight.sqrt(), state: normal(&mut random) }
        });
        let parts: Vec<Part> = parts.collect();
        let white = (1.0 - process.memory.iter().map(|&(_, weight)| weight).sum::<f64>()).max(0.0).sqrt();
        let curve = Curve::new(&process.quantiles);
        let mut walk = Walk { curve, step: process.step, parts, white, seed, name, random, index: 0, value: 0.0 };
        walk.map();
        walk
    }

    /// The same from the start.
    pub fn again(&self) -> Walk {
        let parts = self.parts.clone();
        let mut random = Generator::stream(self.seed, &self.name);
        let parts = parts.into_iter().map(|part| Part { state: normal(&mut random), ..part }).collect();
        let (curve, name) = (self.curve.clone(), self.name.clone());
        let mut walk = Walk { curve, parts, random, name, index: 0, value: 0.0, ..*self };
        walk.map();
        walk
    }

    /// The value of the current step from the parts and the white noise.
    fn map(&mut self) {
        let own = match self.white {
            0.0 => 0.0,
            // Each step has a stream of its own, so that a process without memory is not walked.
            white if self.parts.is_empty() => {
                let seed = self.seed ^ (self.index + 1).wrapping_mul(0xd134_2543_de82_ef95);
                white * normal(&mut Generator::stream(seed, &self.name))
            }
            white => white * normal(&mut self.random),
        };
        self.value = self.curve.at(self.parts.iter().map(|part| part.scale * part.state).sum::<f64>() + own);
    }

    /// The step of a time, which is not below 0; the last one for a time too late for any.
    pub fn step_of(&self, time: f64) -> u64 {
        if time >= LAST * self.step {
            return LAST as u64;
        }
        let index = (time / self.step).floor() as u64;
        // The quotient is rounded.
        if self.start(index + 1) <= time {
            index + 1
        } else if self.start(index) > time {
            index - 1
        } else {
            index
        }
    }

    /// Start of a step, s.
    pub fn start(&self, index: u64) -> f64 {
        index as f64 * self.step
    }

    /// The value in a step, not before the one of the last call.
    pub fn value(&mut self, index: u64) -> f64 {
        if self.parts.is_empty() && index > self.index {
            self.index = index;
            self.map();
        }
        while self.index < index {
            self.index += 1;
            for part in &mut self.parts {
                part.state = part.kept * part.state + part.added * normal(&mut self.random);
            }
            self.map();
        }
        self.value
    }

    /// The value at a time, not before that of the last call.
    pub fn at(&mut self, time: f64) -> f64 {
        self.value(self.step_of(time).max(self.index))
    }
}

/// A rate that is a process: transmissions continue through its steps.
pub(crate) struct Rates {
    walk: Walk,
    index: u64,
}

impl Rates {
    pub fn new(walk: Walk) -> Rates {
        Rates { walk, index: 0 }
    }

    /// End of a transmission of `bits` that starts at `start`, not before any earlier one; infinite after [`LAST`] steps.
    pub fn end(&mut self, start: f64, mut bits: f64) -> f64 {
        self.index = self.walk.step_of(start).max(self.index);
        let mut now = start;
        while self.index < LAST as u64 {
            let (rate, end) = (self.walk.value(self.index), self.walk.start(self.index + 1));
            if rate > 0.0 && now + bits / rate <= end {
                return now + bits / rate;
            }
            bits -= rate * (end - now).max(0.0);
            (self.index, now) = (self.index + 1, end.max(now));
        }
        f64::INFINITY
    }

    /// Bits that the link can send between two times.
    pub fn bits(&self, from: f64, to: f64) -> f64 {
        let mut walk = self.walk.again();
        let last = walk.step_of(to);
        let part = |index: u64| {
            let (begin, end) = (walk.start(index), walk.start(index + 1));
            walk.value(index) * (end.min(to) - begin.max(from)).max(0.0)
        };
        (0..=last).map(part).sum()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn process(quantiles: &[(f64, f64)], memory: &[(f64, f64)]) -> Process {
        Process::of(0.1, quantiles, memory)
    }

    #[test]
    fn quantiles_of_the_normal_distribution_are_the_tables() {
        for (p, z) in [(0.5, 0.0), (0.95, 1.644_853_627), (0.05, -1.644_853_627), (0.975, 1.959_963_985)] {
            assert!((normal_quantile(p) - z).abs() < 1e-9, "{p}");
        }
    }

    #[test]
    fn the_value_goes_through_the_quantiles_and_ends() {
        let curve = Curve::new(&[(0.05, 1.0), (0.5, 5.0), (0.95, 7.0)]);
        let z = normal_quantile(0.95);
        for (at, value) in [(-z, 1.0), (0.0, 5.0), (z, 7.0), (2.0 * z, 9.0), (-z / 2.0, 3.0)] {
            assert!((curve.at(at) - value).abs() < 1e-12, "{at}");
        }
        assert_eq!(curve.at(-10.0), 0.0);
        assert_eq!(curve.at(10.0), curve.at(MOST));
        let flat = Curve::new(&[(0.1, 0.0), (0.2, 0.0), (0.5, 1.0)]);
        assert_eq!((flat.at(-3.0), flat.at(normal_quantile(0.15))), (0.0, 0.0));
    }

    #[test]
    fn mean_share_and_largest_are_those_of_the_mapping() {
        for quantiles in [vec![(0.051, 0.0), (0.5, 5.28), (0.95, 10.1)], vec![(0.1, 0.0), (0.2, 0.0), (0.9, 3.0)]] {
            let process = process(&quantiles, &[]);
            let curve = Curve::new(&quantiles);
            let steps = 50_000;
            let values = (0..steps).map(|i| curve.at(normal_quantile((f64::from(i) + 0.5) / f64::from(steps))));
            let (mut sum, mut zeros, mut most) = (0.0, 0, 0.0_f64);
            for value in values {
                sum += value;
                zeros += i32::from(value == 0.0);
                most = most.max(value);
            }
            assert!((process.mean() - sum / f64::from(steps)).abs() < 1e-3, "{} {}", process.mean(), sum);
            assert!((process.zero_share() - f64::from(zeros) / f64::from(steps)).abs() < 1e-4);
            assert!(most <= process.largest());
        }
    }

    #[test]
    fn a_process_without_memory_is_not_walked_and_repeats() {
        let mut walk = Walk::new(&process(&[(0.05, 1.0), (0.95, 2.0)], &[]), 7, "x".into());
        let late = walk.value(999_999_999);
        let mut other = Walk::new(&process(&[(0.05, 1.0), (0.95, 2.0)], &[]), 7, "x".into());
        let first: Vec<u64> = (0..5).map(|i| other.value(i).to_bits()).collect();
        assert_eq!(other.value(999_999_999).to_bits(), late.to_bits());
        let mut again = walk.again();
        assert_eq!((0..5).map(|i| again.value(i).to_bits()).collect::<Vec<_>>(), first);
    }

    #[test]
    fn a_transmission_goes_on_through_the_steps_and_the_sum_of_bits_agrees() {
        let process = process(&[(0.2, 0.0), (0.5, 1e6), (0.95, 3e6)], &[(1.0, 0.7)]);
        let mut rates = Rates::new(Walk::new(&process, 3, "r".into()));
        let (mut now, mut sent) = (0.0, 0.0);
        while now < 100.0 {
            now = rates.end(now, 12_000.0);
            sent += 12_000.0;
        }
        assert!((rates.bits(0.0, now) - sent).abs() < 1.0, "{} {sent}", rates.bits(0.0, now));
        assert!((rates.bits(20.0, now) + rates.bits(0.0, 20.0) - sent).abs() < 1.0);
        assert_eq!(rates.end(1e300, 1.0), f64::INFINITY);
        // Three times 0.1 is above 0.3.
        let walk = Walk::new(&process, 3, "r".into());
        for (time, step) in [(0.0, 0), (0.1, 1), (0.25, 2), (0.3, 2), (0.31, 3), (1e12, LAST as u64)] {
            assert_eq!(walk.step_of(time), step, "{time}");
        }
    }
}
