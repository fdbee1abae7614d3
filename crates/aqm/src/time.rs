//! Simulated or monotonic time: seconds in an `f64`, totally ordered, never NaN.

use std::cmp::Ordering;
use std::ops::{Add, Sub};

/// An instant, in seconds since the start of the run. Never negative, never NaN, so that the bits of two instants
/// compare like the instants.
///
/// A double holds seconds, not an integer nanoseconds: ns-2 keeps time this way, window-clocked arrivals meet
/// departures exactly, and the rounding of the sums decides which of two packets finds the last place in a queue.
#[derive(Clone, Copy, Debug, PartialEq, PartialOrd, Default)]
pub struct Time(f64);

impl Time {
    /// The start of the run.
    pub const ZERO: Time = Time(0.0);

    /// An instant `seconds` after the start.
    ///
    /// # Panics
    /// In debug builds, if `seconds` is negative or NaN.
    #[inline(always)]
    pub fn from_seconds(seconds: f64) -> Self {
        debug_assert!(seconds >= 0.0, "time must be a non-negative number, not {seconds}");
        Time(seconds)
    }

    /// Seconds since the start.
    #[inline(always)]
    pub fn seconds(self) -> f64 {
        self.0
    }
}

impl Eq for Time {}

#[allow(clippy::derive_ord_xor_partial_ord)]
impl Ord for Time {
    #[inline(always)]
    fn cmp(&self, other: &Self) -> Ordering {
        self.0.to_bits().cmp(&other.0.to_bits())
    }
}

/// Seconds between two instants.
impl Sub for Time {
    type Output = f64;
    #[inline(always)]
    fn sub(self, earlier: Time) -> f64 {
        self.0 - earlier.0
    }
}

/// The instant so many seconds later: one addition in double precision.
impl Add<f64> for Time {
    type Output = Time;
    #[inline(always)]
    fn add(self, seconds: f64) -> Time {
        Time::from_seconds(self.0 + seconds)
    }
}
