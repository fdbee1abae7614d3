//! The rate at which packets come, estimated from one arrival to the next.

/// An estimate, packets/s.
#[derive(Clone, Debug)]
pub struct ArrivalRate {
    /// The estimate when it last moved, packets/s.
    rate: f64,
    /// How the estimate moves.
    rule: Rule,
}

/// How an estimate moves.
#[derive(Clone, Debug)]
enum Rule {
    /// Packets counted in slots of `seconds`, each averaged in by `weight`; `count` packets in the present slot.
    Slots { weight: f64, seconds: f64, count: f64 },
    /// Exponential average with the time constant `window`, s; the last packet came at `last`, s.
    Exponential { window: f64, last: f64 },
}

/// Rates below this, packets/s, count as 0: nothing has come for a very long time.
const NOTHING: f64 = 1e-9;

impl ArrivalRate {
    /// Counts packets in slots of `seconds`; each slot, an empty one too, moves the estimate by `weight` towards the
    /// slot's own rate.
    pub fn slots(seconds: f64, weight: f64) -> Self {
        ArrivalRate { rate: 0.0, rule: Rule::Slots { weight, seconds, count: 0.0 } }
    }

    /// Forgets with the time constant `window`, s: rate := (1 - e^(-d/K))/d + e^(-d/K) rate after a gap of d.
    pub fn exponential(window: f64) -> Self {
        ArrivalRate { rate: 0.0, rule: Rule::Exponential { window, last: 0.0 } }
    }

    /// Counts a packet at `now`, s.
    #[inline]
    pub fn count(&mut self, now: f64) {
        match &mut self.rule {
            Rule::Slots { count, .. } => *count += 1.0,
            Rule::Exponential { window, last } => {
                let gap = now - *last;
                *last = now;
                // As d = x K goes to 0, (1 - e^-x)/d becomes 1/K.
                let x = gap / *window;
                let one = if x > 1e-9 { -libm::expm1(-x) / gap } else { 1.0 / *window };
                self.rate = one + libm::exp(-x) * self.rate;
            }
        }
    }

    /// A slot has ended at `now`, s; returns the new rate.
    #[inline]
    pub fn end_slot(&mut self, now: f64) -> f64 {
        if let Rule::Slots { weight, seconds, count } = &mut self.rule {
            self.rate += *weight * (*count / *seconds - self.rate);
            *count = 0.0;
            if self.rate < NOTHING {
                self.rate = 0.0;
            }
        }
        self.at(now)
    }

    /// The rate at `now`, s, which is not before the last packet counted.
    #[inline]
    pub fn at(&self, now: f64) -> f64 {
        match self.rule {
            Rule::Slots { .. } => self.rate,
            Rule::Exponential { window, last } => {
                let rate = self.rate * libm::exp(-(now - last) / window);
                if rate < NOTHING {
                    0.0
                } else {
                    rate
                }
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn slots_move_by_their_weight_and_empty_ones_count() {
        let mut rate = ArrivalRate::slots(0.01, 0.3);
        assert_eq!(rate.at(0.005), 0.0);
        for _ in 0..10 {
            rate.count(0.005);
        }
        assert_eq!(rate.at(0.009), 0.0, "not before the slot ends");
        assert!((rate.end_slot(0.01) - 300.0).abs() < 1e-9);
        assert!((rate.end_slot(0.02) - 210.0).abs() < 1e-9);
        for _ in 0..100 {
            rate.end_slot(1.0);
        }
        assert_eq!(rate.at(1.0), 0.0);
    }

    #[test]
    fn exponential_settles_at_the_rate_and_takes_packets_at_once() {
        let mut rate = ArrivalRate::exponential(0.1);
        for i in 1..=4000 {
            rate.count(f64::from(i) * 1e-3);
        }
        assert!((rate.at(4.0) - 1000.0).abs() < 1e-6, "{}", rate.at(4.0));
        rate.count(4.0);
        assert!((rate.at(4.0) - 1010.0).abs() < 1e-6, "1/K more");
        assert!((rate.at(4.1) - 1010.0 * (-1.0_f64).exp()).abs() < 1e-6);
        assert_eq!(rate.at(1e6), 0.0);
    }
}
