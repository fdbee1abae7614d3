//! A timer of fixed period.

use crate::policy::{Context, Policy, QueueView};
use crate::Time;

/// When the next update is due of a discipline that updates itself at fixed intervals.
#[derive(Clone, Copy, Debug)]
pub struct Ticks {
    /// The next tick.
    next: Time,
    /// Time between two ticks, s.
    period: f64,
}

impl Ticks {
    /// Ticks `period` seconds apart; the first is a period after the start of the run.
    pub fn every(period: f64) -> Self {
        Ticks::from(Time::ZERO + period, period)
    }

    /// Ticks `period` seconds apart; the first is at `first`.
    pub fn from(first: Time, period: f64) -> Self {
        Ticks { next: first, period }
    }

    /// The time of the next tick.
    pub fn next(&self) -> Time {
        self.next
    }

    /// The tick has come: the next is a period later, by one addition, as in ns-2.
    pub fn advance(&mut self) {
        self.next = self.next + self.period;
    }

    /// Advances past all ticks before `until`, to the same bits as single [`Ticks::advance`] calls; the number of ticks
    /// passed, and the last.
    pub fn skip(&mut self, until: Time) -> (u64, Time) {
        let (mut count, mut last) = (0, self.next);
        while self.next < until {
            let [one, two] = [self.next + self.period, self.next + self.period + self.period].map(Time::seconds);
            let step = one - self.next.seconds();
            // Up to the next power of two all sums are rounded to multiples of one number: once two steps are equal,
            // all are, and products with the step are exact.
            let end = until.seconds().min(2.0 * power_of_two(self.next.seconds()));
            let steps = ((end - self.next.seconds()) / step) - 2.0;
            if step == two - one && steps >= 1.0 {
                let steps = steps.min(MOST_STEPS).floor();
                count += steps as u64;
                self.next = self.next + steps * step;
            } else {
                (count, last) = (count + 1, self.next);
                self.advance();
            }
        }
        (count, last)
    }

    /// Takes over the next tick of `before`; from there on its own period counts.
    pub fn resume(&mut self, before: &Ticks) {
        self.next = before.next;
    }

    /// Seconds between two ticks.
    pub fn period(&self) -> f64 {
        self.period
    }
}

/// Most ticks in one step: their number is exact as a double and as an integer.
const MOST_STEPS: f64 = 4_503_599_627_370_496.0;

/// The largest power of two up to `x`, which is a normal number.
fn power_of_two(x: f64) -> f64 {
    f64::from_bits(x.to_bits() & 0x7ff0_0000_0000_0000)
}

/// Runs the timers of a policy with `ticks` that are due before `until`, while nothing arrives or leaves, to the same
/// bits as single [`Policy::on_timer`] calls: once a timer leaves `state` as it was, all later ones do. For policies
/// whose timers depend on the queue and `state` only. The number of timers and the time of the last; `None` if none is
/// due.
pub fn run<P: Policy, S: PartialEq>(
    policy: &mut P,
    queue: &QueueView<'_>,
    until: Time,
    cx: &mut Context<'_>,
    state: fn(&P) -> S,
    ticks: fn(&mut P) -> &mut Ticks,
) -> Option<(u64, Time)> {
    let mut ran = None;
    loop {
        let next = ticks(policy).next();
        if next >= until {
            return ran;
        }
        let (count, before) = (ran.map_or(0, |(count, _)| count), state(policy));
        cx.now = next;
        policy.on_timer(queue, cx);
        ran = Some((count + 1, next));
        if state(policy) == before && ticks(policy).next() < until {
            let (skipped, last) = ticks(policy).skip(until);
            return Some((count + 1 + skipped, last));
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn ticks_are_sums_not_products() {
        let mut ticks = Ticks::every(0.1);
        assert_eq!(ticks.next().seconds(), 0.1);
        for _ in 1..10 {
            ticks.advance();
        }
        assert_eq!(ticks.next().seconds(), 0.999_999_999_999_999_9, "ten times 0.1 would be 1");
        assert_eq!(ticks.period(), 0.1);
    }

    #[test]
    fn skipped_ticks_are_the_same_sums() {
        let mut random = crate::random::Generator::stream(28, "ticks");
        // Among them periods whose sums are ties of rounding, in some binades or in all.
        let ties = [0.5, 0.75, 1.0 + f64::EPSILON, 2.0 + 3.0 * f64::EPSILON, 0.1, 0.002, 3.0, 1e-4, 1e6];
        for round in 0..200 {
            let period = ties.get(round).copied().unwrap_or_else(|| 10.0_f64.powf(6.0 * random.uniform() - 4.0));
            let mut skipped = Ticks::every(period);
            let mut stepped = skipped;
            for _ in 0..20 {
                let until = skipped.next() + period * 10.0_f64.powf(4.0 * random.uniform());
                let (count, last) = skipped.skip(until);
                let mut steps = 0;
                let mut before = stepped.next();
                while stepped.next() < until {
                    (steps, before) = (steps + 1, stepped.next());
                    stepped.advance();
                }
                assert_eq!(skipped.next().seconds().to_bits(), stepped.next().seconds().to_bits(), "{period}");
                assert_eq!((count, last), (steps, before), "{period} until {}", until.seconds());
            }
        }
    }
}
