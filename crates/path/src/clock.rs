//! Simulated time as an `Instant`, for stacks that want one.

use std::time::{Duration, Instant};

/// Simulated time starts at an [`Instant`].
///
/// The network's time is finer than a nanosecond, so it is rounded up: a stack that is woken at its timer's time is told
/// this time or a later one, never an earlier one, at which it would wait and be woken for ever.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Clock {
    start: Instant,
}

/// Nanoseconds by which a time may be off after a conversion there and back, in runs of up to [`LONGEST`] s.
const SLACK: f64 = 2e-2;
/// Longest simulated time, s.
const LONGEST: f64 = 1e5;

impl Clock {
    /// Time 0 is now. Which instant that is has no influence on anything.
    pub fn new() -> Clock {
        Clock { start: Instant::now() }
    }

    /// The instant of a time in seconds, rounded up to nanoseconds.
    pub fn instant(&self, time: f64) -> Instant {
        self.start + Duration::from_nanos(Clock::ticks(time, 1e9))
    }

    /// The time of an instant, in seconds; 0 for those before the start.
    pub fn time(&self, instant: Instant) -> f64 {
        instant.saturating_duration_since(self.start).as_nanos() as f64 / 1e9
    }

    /// A time in seconds as a whole number of ticks, rounded up, for a stack with a clock of `per_second` ticks a second
    /// of its own: 1e6 with microseconds. `Clock::ticks(n as f64 / per_second, per_second)` is `n`.
    pub fn ticks(time: f64, per_second: f64) -> u64 {
        let slack = SLACK * (per_second / 1e9) * (time / LONGEST).max(1.0);
        (time * per_second - slack).ceil().max(0.0) as u64
    }
}

impl Default for Clock {
    fn default() -> Clock {
        Clock::new()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_time_there_and_back_is_the_same_and_others_are_rounded_up() {
        let clock = Clock::new();
        let mut nanos = 1_u64;
        for step in 1..5_000_u64 {
            nanos = (nanos * 7 + step * 1_000_003) % 100_000_000_000_000;
            let instant = clock.start + Duration::from_nanos(nanos);
            assert_eq!(clock.instant(clock.time(instant)), instant, "{nanos} ns");
            let micros = nanos / 1000;
            assert_eq!(Clock::ticks(micros as f64 / 1e6, 1e6), micros);
        }
        assert_eq!(Clock::ticks(1.000_000_1, 1e6), 1_000_001);
        assert_eq!(Clock::ticks(0.000_000_000_1, 1e9), 1);
        assert_eq!((Clock::ticks(0.0, 1e9), clock.time(clock.start)), (0, 0.0));
    }
}
