//! How a number is read, and between which bounds.

use super::units::Complaint;
use std::fmt;

/// An interval of real numbers, for checks and for their messages.
#[derive(Clone, Copy)]
pub(super) struct Interval {
    pub low: f64,
    pub high: f64,
    /// Whether `low` itself is excluded.
    pub open_low: bool,
    /// Whether `high` itself is excluded.
    pub open_high: bool,
    /// Unit of both ends.
    pub unit: &'static str,
}

impl Interval {
    pub fn contains(&self, x: f64) -> bool {
        let above = if self.open_low { x > self.low } else { x >= self.low };
        let below = if self.open_high { x < self.high } else { x <= self.high };
        above && below
    }
}

impl fmt::Display for Interval {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let left = if self.open_low { "(" } else { "[" };
        let right = if self.open_high { ")" } else { "]" };
        let gap = if self.unit.is_empty() { "" } else { " " };
        write!(f, "{left}{}, {}{right}{gap}{}", short(self.low), short(self.high), self.unit)
    }
}

/// A bound as people write it: `1e15`, not fifteen zeros.
fn short(x: f64) -> String {
    if x != 0.0 && !(1e-3..1e5).contains(&x.abs()) {
        format!("{x:e}")
    } else {
        x.to_string()
    }
}

/// How texts of one kind are read.
pub(super) struct Measure {
    /// Reads a text.
    pub read: fn(&str) -> Result<f64, Complaint>,
    /// What such a text looks like.
    pub form: &'static str,
    /// Whether a number without a unit is allowed too; it counts the base unit.
    pub bare: bool,
}
