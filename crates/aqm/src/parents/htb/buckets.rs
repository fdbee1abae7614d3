//! Buckets of a class of HTB: whether it may send.

use super::parameters::PARAMS;
use crate::params::Values;
use crate::parents::ratecfg::{clock, Cost};
use crate::Time;

/// Largest debt or pause that counts, ns (`mbuffer`).
const MOST: i64 = 60_000_000_000;

/// A bucket: what a byte costs, the bucket's size and what is in it, ns.
#[derive(Clone, Copy, Debug)]
struct Bucket {
    cost: Cost,
    size: i64,
    tokens: i64,
}

impl Bucket {
    fn full(rate_bps: f64, bytes: Option<f64>) -> Self {
        let cost = Cost::at(rate_bps);
        let size = cost.of(bytes.unwrap_or_else(|| 1600.0 + (rate_bps / 8e9).floor()) as u32);
        Bucket { cost, size, tokens: size }
    }

    /// Fills up for `passed` ns and pays for a packet (`htb_accnt_tokens`).
    fn pay(&mut self, passed: i64, bytes: u32) {
        let left = (self.tokens + passed).min(self.size) - self.cost.of(bytes);
        self.tokens = left.max(1 - MOST);
    }
}

/// Whether a class may send (`htb_cmode`).
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Mode {
    Cannot,
    Borrows,
    Can,
}

/// Buckets of a class or of the root.
#[derive(Debug)]
pub(super) struct Buckets {
    rate: Bucket,
    ceil: Bucket,
    /// When the buckets were last filled, ns.
    filled: i64,
    pub(super) mode: Mode,
    /// When the mode is to change, ns; `None` for a class that can send.
    pub(super) due: Option<i64>,
}

impl Buckets {
    pub(super) fn new(values: &Values, rate: f64, ceil: f64) -> Self {
        let bucket = |rate, name| Bucket::full(rate, values.number(PARAMS, name));
        let (rate, ceil) = (bucket(rate, "burst"), bucket(ceil, "cburst"));
        Buckets { rate, ceil, filled: clock(Time::ZERO), mode: Mode::Can, due: None }
    }

    pub(super) fn passed(&self, now: i64) -> i64 {
        (now - self.filled).min(MOST)
    }

    /// The mode after `passed` ns, and how long it lasts (`htb_class_mode`).
    pub(super) fn mode(&self, passed: i64) -> (Mode, i64) {
        let (rate, ceil) = (self.rate.tokens + passed, self.ceil.tokens + passed);
        match (ceil < 0, rate < 0) {
            (true, _) => (Mode::Cannot, -ceil),
            (false, true) => (Mode::Borrows, -rate),
            (false, false) => (Mode::Can, 0),
        }
    }

    /// Pays for a packet; if the class `borrows`, only from the ceil's bucket.
    pub(super) fn pay(&mut self, now: i64, bytes: u32, borrows: bool) {
        let passed = self.passed(now);
        if borrows {
            self.rate.tokens += passed;
        } else {
            self.rate.pay(passed, bytes);
        }
        self.ceil.pay(passed, bytes);
        self.filled = now;
    }

    /// Notes when the mode ends, `wait` from now on but later than now (`htb_add_to_wait_tree`).
    pub(super) fn wait(&mut self, now: i64, wait: i64) {
        self.due = (self.mode != Mode::Can).then(|| now + wait.max(1));
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn buckets(rate: i64, ceil: i64) -> Buckets {
        let bucket = |tokens| Bucket { tokens, ..Bucket::full(8e6, Some(1e6)) };
        Buckets { rate: bucket(rate), ceil: bucket(ceil), filled: 0, mode: Mode::Can, due: None }
    }

    #[test]
    fn a_class_may_send_with_nothing_left_but_not_with_a_nanosecond_of_debt() {
        assert_eq!(buckets(-10, -10).mode(10), (Mode::Can, 0));
        assert_eq!(buckets(-10, -9).mode(9), (Mode::Borrows, 1));
        assert_eq!(buckets(-9, -10).mode(9), (Mode::Cannot, 1));
    }

    #[test]
    fn a_debt_is_a_minute_at_most() {
        let mut one = Bucket::full(8.0, Some(10.0));
        one.pay(0, 1000);
        assert_eq!(one.tokens, 1 - MOST);
    }
}
