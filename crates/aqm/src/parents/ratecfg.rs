//! What bytes cost in Linux's shapers (`psched_ratecfg`, `net/sched/sch_generic.c`), in nanoseconds.

use crate::Time;

/// Where the clock starts, ns: a machine has been up for an hour when its queue is set up.
pub(super) const START: i64 = 3_600_000_000_000;

/// `now` in Linux's whole nanoseconds, rounded to the nearest.
pub(super) fn clock(now: Time) -> i64 {
    START + (now.seconds() * 1e9 + 0.5) as i64
}

/// The time at which [`clock`] shows `ns`.
pub(super) fn time(ns: i64) -> Time {
    Time::from_seconds((ns - START) as f64 / 1e9)
}

/// psched_ratecfg: what a byte costs at a rate.
#[derive(Clone, Copy, Debug)]
pub(super) struct Cost {
    mult: u64,
    shift: u32,
}

impl Cost {
    /// psched_ratecfg_precompute: the cost at `rate_bps`, cut off to whole bytes a second.
    pub(super) fn at(rate_bps: f64) -> Self {
        let rate = ((rate_bps / 8.0) as u64).max(1);
        let (mut factor, mut shift) = (1_000_000_000_u64, 0);
        loop {
            let mult = factor / rate;
            if mult & (1 << 31) != 0 || factor & (1 << 63) != 0 {
                return Cost { mult, shift };
            }
            factor <<= 1;
            shift += 1;
        }
    }

    /// psched_l2t_ns: the time of `bytes`, ns.
    pub(super) fn of(self, bytes: u32) -> i64 {
        ((u64::from(bytes) * self.mult) >> self.shift) as i64
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_byte_costs_what_linux_computes() {
        // psched_ratecfg_precompute: 2^31 <= mult < 2^32.
        for (rate_bps, mult, shift) in [(8e6, 4_194_304_000, 22), (8e9, 2_147_483_648, 31), (1e9, 2_147_483_648, 28)] {
            let cost = Cost::at(rate_bps);
            assert_eq!((cost.mult, cost.shift), (mult, shift), "{rate_bps}");
        }
        assert_eq!([Cost::at(8e6).of(1500), Cost::at(1e9).of(1), Cost::at(1e9).of(1500)], [1_500_000, 8, 12_000]);
        assert_eq!([1, 2, 8].map(|bytes| Cost { mult: 7, shift: 3 }.of(bytes)), [0, 1, 7], "rounded down");
        // 41,666 B/s: exactly 23,999.2 ns a byte.
        assert_eq!(Cost::at(333_333.0).of(1500), 36_000_576);
        assert_eq!(Cost::at(64.0).of(1500), 187_500_000_000);
    }
}
