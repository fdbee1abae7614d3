//! Tins: which code points lead where, and what each tin may send.

use super::cobalt::Times;
use super::parameters::{Diffserv, Settings};

/// Nanoseconds in a second.
const SECOND: u64 = 1_000_000_000;
/// The slowest rate of a tin, B/s (cake_set_rate).
const SLOWEST: u64 = 64;

/// Where the code points lead (`diffserv8`, `diffserv4`, `diffserv3`): unnamed ones go to the first tin, with eight
/// tins to the third. A row is a tin and its code points.
const EIGHT: (u8, &[(u8, &[u8])]) = (
    2,
    &[
        (0, &[1]),
        (1, &[2, 8, 10, 12, 14]),
        (4, &[4, 18, 20, 22]),
        (5, &[16]),
        (3, &[24, 26, 28, 30, 34, 36, 38]),
        (6, &[32, 40, 44, 46]),
        (7, &[48, 56]),
    ],
);
const FOUR: (u8, &[(u8, &[u8])]) =
    (0, &[(1, &[1, 8]), (2, &[4, 16, 18, 20, 22, 24, 26, 28, 30, 34, 36, 38]), (3, &[32, 40, 44, 46, 48, 56])]);
const THREE: (u8, &[(u8, &[u8])]) = (0, &[(1, &[1, 8]), (2, &[4, 44, 46, 48, 56])]);

/// The tin of each code point.
pub(super) fn tin_of_dscp(diffserv: Diffserv) -> [u8; 64] {
    let (other, rows) = match diffserv {
        Diffserv::Besteffort => return [0; 64],
        Diffserv::Precedence => return std::array::from_fn(|dscp| dscp as u8 >> 3),
        Diffserv::Diffserv8 => EIGHT,
        Diffserv::Diffserv4 => FOUR,
        Diffserv::Diffserv3 => THREE,
    };
    let mut tins = [other; 64];
    for (tin, points) in rows {
        for &dscp in *points {
            tins[usize::from(dscp)] = *tin;
        }
    }
    tins
}

/// Number of tins.
pub(super) fn count(diffserv: Diffserv) -> usize {
    match diffserv {
        Diffserv::Besteffort => 1,
        Diffserv::Diffserv3 => 3,
        Diffserv::Diffserv4 => 4,
        Diffserv::Precedence | Diffserv::Diffserv8 => 8,
    }
}

/// The tins in the order in which statistics show them (`tin_order`): with three and four, the bulk tin first.
pub(super) fn shown(diffserv: Diffserv) -> &'static [usize] {
    match diffserv {
        Diffserv::Diffserv3 | Diffserv::Diffserv4 => &[1, 0, 2, 3][..count(diffserv)],
        _ => &[0, 1, 2, 3, 4, 5, 6, 7][..count(diffserv)],
    }
}

/// The names of the tins in this order, as `tc -s qdisc` has them; none of a single tin.
pub(super) fn names(diffserv: Diffserv) -> &'static [&'static str] {
    match diffserv {
        Diffserv::Besteffort => &[],
        Diffserv::Diffserv3 => &["bulk", "best_effort", "voice"],
        Diffserv::Diffserv4 => &["bulk", "best_effort", "video", "voice"],
        Diffserv::Precedence | Diffserv::Diffserv8 => {
            &["tin_0", "tin_1", "tin_2", "tin_3", "tin_4", "tin_5", "tin_6", "tin_7"]
        }
    }
}

/// What a tin may send.
#[derive(Clone, Copy, Debug, Default)]
pub(super) struct Share {
    /// The tin's threshold, B/s; 0 is unlimited.
    pub rate: u64,
    /// Nanoseconds per byte, shifted left by `shift`; 0 is unlimited.
    pub rate_ns: u64,
    pub shift: u32,
    /// Bytes that a flow of the tin may send in a turn.
    pub flow_quantum: u32,
    /// Bytes that the tin may send in a turn, in the unlimited mode.
    pub quantum: i32,
    pub times: Times,
}

impl Share {
    /// cake_set_rate.
    fn new(rate: u64, quantum: i32, set: &Settings) -> Self {
        let (mut rate_ns, mut shift, mut flow_quantum) = (0, 0, 1514);
        if rate > 0 {
            flow_quantum = (rate >> 12).clamp(300, 1514) as u32;
            shift = 34;
            rate_ns = (SECOND << shift) / rate.max(SLOWEST);
            while rate_ns >> 34 > 0 {
                rate_ns >>= 1;
                shift -= 1;
            }
        }
        let mtu_time = (u64::from(set.mtu) * rate_ns) >> shift;
        let (given_target, given_interval) = (set.target_us * 1000, set.interval_us * 1000);
        let target = (mtu_time * 3 / 2).max(given_target);
        // Linux subtracts without a sign; the result is right all the same.
        let interval = given_interval.wrapping_add(target).wrapping_sub(given_target).max(target * 2);
        Share { rate, rate_ns, shift, flow_quantum, quantum, times: Times { interval, target, mtu_time } }
    }

    /// Transmission time of `bytes`, ns.
    #[inline]
    pub fn duration(&self, bytes: u32) -> i64 {
        ((u64::from(bytes) * self.rate_ns) >> self.shift) as i64
    }
}

/// The shares of all tins at the shaper's `rate`, B/s (cake_config_*). The first tin's is the shaper's.
pub(super) fn shares(set: &Settings, rate: u64) -> Vec<Share> {
    let shifted = |shifts: &[u32]| shifts.iter().map(|&by| Share::new(rate >> by, 1024 >> by, set)).collect();
    match set.diffserv {
        Diffserv::Besteffort => vec![Share::new(rate, 65_535, set)],
        Diffserv::Diffserv3 => shifted(&[0, 4, 2]),
        Diffserv::Diffserv4 => shifted(&[0, 4, 1, 2]),
        Diffserv::Precedence | Diffserv::Diffserv8 => {
            let (mut rate, mut quantum) = (rate, 256);
            (0..8)
                .map(|_| {
                    let share = Share::new(rate, quantum.max(1), set);
                    (rate, quantum) = ((rate * 7) >> 3, (quantum * 7) >> 3);
                    share
                })
                .collect()
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::prelude::*;

    fn named(diffserv: Diffserv, dscp: u8) -> u8 {
        tin_of_dscp(diffserv)[usize::from(dscp)]
    }

    #[test]
    fn eight_tins_have_seven_eighths_of_one_another_rounded_down() {
        let mut set = Settings::read(&Values::new(), Limit::Packets(100)).unwrap();
        set.diffserv = Diffserv::Diffserv8;
        let found = shares(&set, 1001);
        assert_eq!(Vec::from_iter(found.iter().map(|share| share.rate)), [1001, 875, 765, 669, 585, 511, 447, 391]);
        assert_eq!(Vec::from_iter(found.iter().map(|share| share.quantum)), [256, 224, 196, 171, 149, 130, 113, 98]);
    }

    /// At 10 kB/s a packet of 1514 B takes 151.4 ms: the target is 1.5 times as long, the interval two targets.
    #[test]
    fn slow_tins_have_times_of_their_packets() {
        let set = Settings::read(&Values::new(), Limit::Packets(100)).unwrap();
        let mut odd = 0;
        for rate in [10_000, 9999, 9998, 9000, 7000, 3000] {
            let Times { target, interval, mtu_time } = shares(&set, rate).remove(0).times;
            assert!((1_513_999_000_000 / rate..=1_514_000_000_000 / rate).contains(&mtu_time), "{mtu_time}");
            assert_eq!((target, interval), (mtu_time * 3 / 2, 2 * target));
            odd += mtu_time % 2;
        }
        assert!(odd > 0, "of which the half is rounded");
        let fast = shares(&set, 100_000_000).remove(0).times;
        assert_eq!((fast.target, fast.interval), (5_000_000, 100_000_000));
    }

    /// CS1, LE, CS0, AF11, AF21, AF41, CS4, VA, EF, CS6, CS7 and a code point that has no meaning.
    const POINTS: [u8; 12] = [8, 1, 0, 10, 18, 34, 32, 44, 46, 48, 56, 63];

    #[test]
    fn code_points_lead_where_linux_says() {
        for (diffserv, tins) in [
            (Diffserv::Besteffort, [0; 12]),
            (Diffserv::Precedence, [1, 0, 0, 1, 2, 4, 4, 5, 5, 6, 7, 7]),
            (Diffserv::Diffserv3, [1, 1, 0, 0, 0, 0, 0, 2, 2, 2, 2, 0]),
            (Diffserv::Diffserv4, [1, 1, 0, 0, 2, 2, 3, 3, 3, 3, 3, 0]),
            (Diffserv::Diffserv8, [1, 0, 2, 1, 4, 3, 6, 6, 6, 7, 7, 2]),
        ] {
            assert_eq!(POINTS.map(|dscp| named(diffserv, dscp)), tins, "{diffserv:?}");
        }
    }
}
