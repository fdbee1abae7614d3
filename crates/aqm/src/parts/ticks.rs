//! A timer of fixed period.

use crate::Time;

/// When a discipline that updates itself at fixed intervals is due.
#[derive(Clone, Copy, Debug)]
pub struct Ticks {
    /// The tick to come.
    next: Time,
    /// Time between two ticks, s.
    period: f64,
}

impl Ticks {
    /// The first tick comes `period` seconds after the start of the run.
    pub fn every(period: f64) -> Self {
        Ticks { next: Time::ZERO + period, period }
    }

    /// The tick to come.
    pub fn next(&self) -> Time {
        self.next
    }

    /// It has come; the one after it is a period later. One addition, as ns-2 schedules it.
    pub fn advance(&mut self) {
        self.next = self.next + self.period;
    }

    /// The tick to come is that of `before`; the period starts with it.
    pub fn resume(&mut self, before: &Ticks) {
        self.next = before.next;
    }

    /// Seconds between two ticks.
    pub fn period(&self) -> f64 {
        self.period
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
}
