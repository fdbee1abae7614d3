//! Ageing: counts that are halved at fixed intervals, so that what has ended is forgotten.

use crate::Time;

/// By how much all counts have shrunk since the last arrival. Between two arrivals the counts are not read, so no timer
/// is needed: halvings that fell due in between are applied together, with the bits of single ones.
#[derive(Clone, Copy, Debug)]
pub struct Halving {
    /// Time between two halvings, s.
    interval: f64,
    /// When the next halving is due.
    next: Time,
}

impl Halving {
    /// Halvings every `interval` s; the first is due at `interval`.
    pub fn every(interval: f64) -> Self {
        Halving { interval, next: Time::ZERO + interval }
    }

    /// What all counts must be multiplied by at `now`; `None` while no halving is due.
    #[inline]
    pub fn due(&mut self, now: Time) -> Option<f64> {
        (now >= self.next).then(|| self.catch_up(now))
    }

    fn catch_up(&mut self, now: Time) -> f64 {
        let passed = ((now - self.next) / self.interval).floor() + 1.0;
        self.next = self.next + passed * self.interval;
        // Where an interval is lost in the rounding of a late time.
        if self.next <= now {
            self.next = now + self.interval;
        }
        // No more than 2^-1000: to any count that is nothing, and the result is still a number.
        libm::exp2(-passed.min(1000.0))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn is_due_at_each_multiple_of_the_interval_and_made_up_for_later() {
        let mut halving = Halving::every(2.0);
        let mut due = |now| halving.due(Time::from_seconds(now));
        assert_eq!([0.0, 1.999, 2.0, 2.0, 3.9].map(&mut due), [None, None, Some(0.5), None, None]);
        assert_eq!([9.0, 9.9, 10.0].map(&mut due), [Some(0.125), None, Some(0.5)]);
        assert_eq!(due(1e12), Some(libm::exp2(-1000.0)));
        assert_eq!(due(1e12), None);
    }

    #[test]
    fn an_interval_below_the_resolution_of_time_does_not_stick() {
        let mut halving = Halving::every(0.1);
        assert!(halving.due(Time::from_seconds(1e17)).is_some());
        assert!(halving.due(Time::from_seconds(1e17)).is_some(), "0.1 s later is the same instant there");
    }
}
