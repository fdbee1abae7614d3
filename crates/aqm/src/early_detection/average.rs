//! The averaged queue: an exponentially weighted moving average that decays while the link is idle. How a dialect reads
//! the idle time is in its file; `docs/algorithms/average.md` has worked figures.

use super::{linux, ns2, paper};
use crate::policy::QueueView;
use crate::Time;

/// The averaged queue as one dialect keeps it. Its unit is that of the lengths it is given, packets or bytes.
#[derive(Clone, Debug)]
// With its tag in a byte of its own, as in `Spacing`.
#[repr(u8)]
pub enum Average {
    /// Floyd & Jacobson 1993.
    Paper(paper::Average),
    /// ns-2.35 and ns-3.
    Ns(ns2::Average),
    /// Linux.
    Linux(Box<linux::Average>),
}

impl Average {
    /// The 1993 rule: an arrival at an idle link only decays the average, by (1 - `weight`)^m in closed form, m being
    /// the packets that the link could have sent at `packets_per_second` meanwhile.
    pub fn paper(weight: f64, packets_per_second: f64) -> Self {
        Average::Paper(paper::Average::new(weight, packets_per_second))
    }

    /// The rule of ns-2 and ns-3: m decays, one after the other, and then the update of a busy link.
    pub fn ns(weight: f64, packets_per_second: f64) -> Self {
        Average::Ns(ns2::Average::new(weight, packets_per_second))
    }

    /// Linux's fixed-point average, in bytes.
    pub fn linux(state: linux::Average) -> Self {
        Average::Linux(Box::new(state))
    }

    /// An arrival at `now` finds `length` waiting, at a link that has been idle since `idle_since`. Returns the average
    /// after the arrival as the drop test compares it (Linux: in whole bytes).
    #[inline(always)]
    pub fn observe(&mut self, length: f64, idle_since: Option<Time>, now: Time) -> f64 {
        match self {
            Average::Paper(average) => average.observe(length, idle_since, now),
            Average::Ns(average) => average.observe(length, idle_since, now),
            Average::Linux(average) => average.observe(length, idle_since, now),
        }
    }

    /// The average after the last arrival.
    #[inline]
    pub fn value(&self) -> f64 {
        match self {
            Average::Paper(average) => average.value(),
            Average::Ns(average) => average.value(),
            Average::Linux(average) => average.bytes(),
        }
    }

    /// The average as the drop test of a timer at `now` sees it: decayed by the idle time, which is not stored (Linux:
    /// in whole bytes).
    pub fn seen_at(&self, queue: &QueueView<'_>, now: Time) -> f64 {
        match (self, queue.idle_since) {
            (Average::Paper(average), None) => average.value(),
            (Average::Paper(average), Some(since)) => average.decayed(since, now),
            (Average::Ns(average), None) => average.value(),
            (Average::Ns(average), Some(since)) => average.decayed(since, now),
            (Average::Linux(average), None) => average.whole_bytes() as f64,
            (Average::Linux(average), Some(since)) => average.decayed(since, now),
        }
    }

    /// Takes over the value of `before`, kept with another weight; false if the dialects differ.
    pub fn resume(&mut self, before: &Average) -> bool {
        match (self, before) {
            (Average::Paper(average), Average::Paper(before)) => average.resume(before),
            (Average::Ns(average), Average::Ns(before)) => average.resume(before),
            (Average::Linux(average), Average::Linux(before)) => average.resume(before),
            _ => return false,
        }
        true
    }

    /// The weight of the next sample, for disciplines that change it as they go. Linux's is fixed.
    #[inline]
    pub fn set_weight(&mut self, weight: f64) {
        match self {
            Average::Paper(average) => average.set_weight(weight),
            Average::Ns(average) => average.set_weight(weight),
            Average::Linux(_) => {}
        }
    }
}

#[cfg(test)]
mod tests {
    use super::super::common::{decay_at_once, idle_packets};
    use super::*;

    #[test]
    fn idle_second_on_a_slow_link_decays_as_published() {
        // 1.5 Mbit/s, 1000 B: 187.5 packets/s, so 187 whole packets in one second.
        let m = idle_packets(1.0, 187.5);
        assert_eq!(m, 187);
        assert!((decay_at_once(20.0, 0.002, m) - 13.7544).abs() < 1e-4);
        assert!((ns2::estimator(20.0, 0.002, m, 0.0) - 13.7269).abs() < 1e-4);
    }

    #[test]
    fn a_timer_sees_the_decay_and_leaves_the_average_alone() {
        let view = |idle_since| QueueView { packets: 0, bytes: 0, idle_since, contents: None };
        let linux = linux::Average::new(5, 1000.0, 10e6, linux::Tc::Since615);
        for mut average in [Average::paper(0.002, 187.5), Average::ns(0.002, 187.5), Average::linux(linux)] {
            for _ in 0..5000 {
                average.observe(20_000.0, None, Time::ZERO);
            }
            let before = average.value();
            assert!((average.seen_at(&view(None), Time::from_seconds(9.0)) - before).abs() < 1.0);
            let idle = view(Some(Time::from_seconds(1.0)));
            let seen = average.seen_at(&idle, Time::from_seconds(2.0));
            assert!(seen < 0.7 * before, "{seen} after a second, {before} before");
            assert_eq!(average.value(), before);
        }
    }
}
