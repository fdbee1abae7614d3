//! The averaged queue: an exponentially weighted moving average that decays while the link is idle. How each dialect
//! reads the idle time, with worked figures: `docs/algorithms/average.md`.

use crate::policy::QueueView;
use crate::Time;

/// The averaged queue as one dialect keeps it. Its unit is that of the lengths it is given, packets or bytes.
#[derive(Clone, Debug)]
#[repr(C)]
pub struct Average {
    value: f64,
    weight: f64,
    packets_per_second: f64,
    rule: Rule,
}

#[derive(Clone, Debug)]
enum Rule {
    Paper(Counted),
    Ns,
    Linux(Box<LinuxAverage>),
}

/// Idle time of which the packets have been counted.
///
/// An arrival that is dropped at an idle link leaves it idle. What it has not counted, less than a packet's time, the
/// next one counts: else arrivals that come faster than packets could be sent would never count any, and an average
/// above max_th would stay there for ever.
#[derive(Clone, Copy, Debug, Default)]
struct Counted {
    /// The last arrival, if it found the link idle.
    last: Option<Time>,
    /// Until when it counted, s.
    until: f64,
}

impl Counted {
    /// From when on the idle time since `since` has not been counted, s.
    fn from(&self, since: Time) -> f64 {
        if self.last == Some(since) {
            self.until
        } else {
            since.seconds()
        }
    }
}

impl Average {
    /// The 1993 rule: an arrival at an idle link only decays the average, by (1 - `weight`)^m in closed form, m being
    /// the packets that the link could have sent at `packets_per_second` meanwhile.
    pub fn paper(weight: f64, packets_per_second: f64) -> Self {
        Average { value: 0.0, weight, packets_per_second, rule: Rule::Paper(Counted::default()) }
    }

    /// The rule of ns-2 and ns-3: m decays, one after the other, and then the update of a busy link.
    pub fn ns(weight: f64, packets_per_second: f64) -> Self {
        Average { value: 0.0, weight, packets_per_second, rule: Rule::Ns }
    }

    /// Linux's fixed-point average, in bytes.
    pub fn linux(state: LinuxAverage) -> Self {
        Average { value: 0.0, weight: 0.0, packets_per_second: 0.0, rule: Rule::Linux(Box::new(state)) }
    }

    /// An arrival at `now` finds `length` waiting in `queue`. The average after it, as the drop test compares it:
    /// Linux compares whole bytes.
    #[inline]
    pub fn observe(&mut self, length: f64, queue: &QueueView<'_>, now: Time) -> f64 {
        match (&mut self.rule, queue.idle_since) {
            (Rule::Ns, None) => self.value = update_ns2(self.value, self.weight, 0, length),
            (Rule::Ns, Some(since)) => {
                let missed = idle_packets(now - since, self.packets_per_second);
                self.value = update_ns2(self.value, self.weight, missed, length);
            }
            (Rule::Paper(counted), None) => {
                counted.last = None;
                self.value = (1.0 - self.weight) * self.value + self.weight * length;
            }
            (Rule::Paper(counted), Some(since)) => {
                let from = counted.from(since);
                let missed = idle_packets(now.seconds() - from, self.packets_per_second);
                *counted = Counted { last: Some(now), until: from + missed as f64 / self.packets_per_second };
                self.value = decay_at_once(self.value, self.weight, missed);
            }
            (Rule::Linux(state), idle) => {
                match idle {
                    Some(since) => state.decay(now - since),
                    None => state.update(length as i64),
                }
                self.value = state.bytes();
                return state.whole_bytes() as f64;
            }
        }
        self.value
    }

    /// The average after the last arrival.
    #[inline]
    pub fn value(&self) -> f64 {
        self.value
    }

    /// The average as a timer at `now` sees it: decayed for as long as the link has been idle, but not remembered so.
    /// Like [`Average::observe`], as it is compared.
    pub fn seen_at(&self, queue: &QueueView<'_>, now: Time) -> f64 {
        match (&self.rule, queue.idle_since) {
            (Rule::Linux(state), None) => state.whole_bytes() as f64,
            (Rule::Linux(state), Some(since)) => {
                let mut state = (**state).clone();
                state.decay(now - since);
                state.whole_bytes() as f64
            }
            (_, None) => self.value,
            (rule, Some(since)) => {
                let from = if let Rule::Paper(counted) = rule { counted.from(since) } else { since.seconds() };
                let missed = idle_packets(now.seconds() - from, self.packets_per_second);
                decay_at_once(self.value, self.weight, missed)
            }
        }
    }

    /// The weight of the next sample, for disciplines that change it as they go. Linux's is fixed.
    pub fn set_weight(&mut self, weight: f64) {
        self.weight = weight;
    }
}

/// Multiplies `average` by (1 - `weight`) `times` times, one multiplication after the other.
///
/// ns-2 does it so (`red.cc`, `estimator`), and a closed power differs from it in the last bits. It stops where
/// multiplying changes nothing any more: at 0, or at the smallest number there is, which never becomes 0.
pub fn decay_repeatedly(mut average: f64, weight: f64, times: u64) -> f64 {
    let keep = 1.0 - weight;
    for _ in 0..times {
        let next = average * keep;
        if next == average {
            break;
        }
        average = next;
    }
    average
}

/// `average` times (1 - `weight`)^`times` in closed form, with the same bits on every platform.
pub fn decay_at_once(average: f64, weight: f64, times: u64) -> f64 {
    // Weight 1 gives log 0 = -inf, and 0 times that is not a number.
    if times == 0 {
        return average;
    }
    average * libm::exp(times as f64 * libm::log1p(-weight))
}

/// How many packets the link could have sent in `idle` seconds, rounded down; every reference rounds down.
pub fn idle_packets(idle: f64, packets_per_second: f64) -> u64 {
    (packets_per_second * idle) as u64
}

/// ns-2's and ns-3's update: `missed` decays for the idle time and one more for this arrival, then the new sample.
#[inline]
pub fn update_ns2(average: f64, weight: f64, missed: u64, queue: f64) -> f64 {
    let decayed = if missed == 0 { average } else { decay_repeatedly(average, weight, missed) };
    decayed * (1.0 - weight) + weight * queue
}

/// Linux's fixed-point average (`include/net/red.h`): 2^-`wlog` as weight, bytes, kept scaled by 2^`wlog`, with the
/// decay during idle time read from a table of shifts.
///
/// tc makes the table for idle times in ticks of 64 ns. The kernel has looked it up with microseconds since it keeps
/// idle times as `ktime`, so the average decays 15.625 times slower than tc meant. This is the kernel as it runs.
#[derive(Clone, Debug)]
pub struct LinuxAverage {
    scaled: i64,
    wlog: u32,
    cell_log: u32,
    shifts: [u8; 256],
}

impl LinuxAverage {
    /// Seconds in a tick of the packet scheduler's clock, for which tc makes the table.
    const TICK: f64 = 64e-9;

    /// Seconds in the unit with which the kernel looks it up.
    const MICROSECOND: f64 = 1e-6;

    /// An empty average for packets of `mean_packet` bytes on a link of `rate_bps` (iproute2, `tc_red_eval_idle_damping`).
    pub fn new(wlog: u32, mean_packet: f64, rate_bps: f64) -> Self {
        let ticks = mean_packet * 8.0 / rate_bps / Self::TICK;
        let per_tick = -libm::log1p(-libm::exp2(-f64::from(wlog))) / ticks;
        let longest = 31.0 / per_tick;
        let mut cell_log = 0;
        while cell_log < 32 && longest / f64::from(1_u32 << cell_log.min(31)) >= 512.0 {
            cell_log += 1;
        }
        let mut shifts = [0_u8; 256];
        for (i, shift) in shifts.iter_mut().enumerate().skip(1) {
            let value = (i as f64 * libm::exp2(f64::from(cell_log)) * per_tick) as u64;
            *shift = value.min(31) as u8;
        }
        shifts[255] = 31;
        LinuxAverage { scaled: 0, wlog, cell_log, shifts }
    }

    /// iproute2's choice of the weight (`tc_red_eval_ewma`): the smallest wlog >= 1 that lets `burst` packets pass.
    /// `None` if no weight does.
    pub fn wlog_for_burst(min_bytes: f64, burst: f64, mean_packet: f64) -> Option<u32> {
        let excess = burst + 1.0 - min_bytes / mean_packet;
        if excess < 1.0 {
            return None;
        }
        (1..32).find(|&n| {
            let w = libm::exp2(-f64::from(n));
            excess <= (1.0 - libm::pow(1.0 - w, burst)) / w
        })
    }

    /// The average, bytes.
    pub fn bytes(&self) -> f64 {
        self.scaled as f64 * libm::exp2(-f64::from(self.wlog))
    }

    /// The integer part of the average, bytes, as the kernel compares it.
    pub fn whole_bytes(&self) -> i64 {
        self.scaled >> self.wlog
    }

    /// An arrival that found `backlog` bytes on a busy link.
    pub fn update(&mut self, backlog: i64) {
        self.scaled += backlog - (self.scaled >> self.wlog);
    }

    /// An arrival after `idle` seconds of idle link: decay only.
    pub fn decay(&mut self, idle: f64) {
        let idle = (idle / Self::MICROSECOND).min(255.0 * libm::exp2(f64::from(self.cell_log))) as u64;
        let shift = self.shifts[((idle >> self.cell_log) as usize).min(255)];
        let half = self.scaled >> 1;
        if shift > 0 {
            self.scaled >>= shift;
        } else {
            let step = ((i128::from(self.scaled) * i128::from(idle)) >> self.cell_log) as i64;
            self.scaled = if step < half { self.scaled - step } else { half };
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn idle_second_on_a_slow_link_decays_as_published() {
        // 1.5 Mbit/s, 1000 B: 187.5 packets/s, so 187 whole packets in one second.
        let m = idle_packets(1.0, 187.5);
        assert_eq!(m, 187);
        assert!((decay_at_once(20.0, 0.002, m) - 13.7544).abs() < 1e-4);
        assert!((update_ns2(20.0, 0.002, m, 0.0) - 13.7269).abs() < 1e-4);
    }

    #[test]
    fn a_timer_sees_the_decay_and_leaves_the_average_alone() {
        let view = |idle_since| QueueView { packets: 0, bytes: 0, idle_since, contents: None };
        let linux = LinuxAverage::new(5, 1000.0, 10e6);
        for mut average in [Average::paper(0.002, 187.5), Average::ns(0.002, 187.5), Average::linux(linux)] {
            for _ in 0..5000 {
                average.observe(20_000.0, &view(None), Time::ZERO);
            }
            let before = average.value();
            assert!((average.seen_at(&view(None), Time::from_seconds(9.0)) - before).abs() < 1.0);
            let idle = view(Some(Time::from_seconds(1.0)));
            let seen = average.seen_at(&idle, Time::from_seconds(2.0));
            assert!(seen < 0.7 * before, "{seen} after a second, {before} before");
            assert_eq!(average.value(), before);
        }
    }

    #[test]
    fn linux_set_up_gives_the_numbers_of_tc() {
        assert_eq!(LinuxAverage::wlog_for_burst(30000.0, 50.0, 1000.0), Some(5));
        let average = LinuxAverage::new(5, 1000.0, 10e6);
        assert_eq!(average.cell_log, 15);
        assert_eq!(average.shifts[254], 21);
        assert_eq!((average.shifts[0], average.shifts[255]), (0, 31));
    }

    #[test]
    fn linux_average_settles_at_the_backlog() {
        let mut average = LinuxAverage::new(9, 1000.0, 10e6);
        for _ in 0..20_000 {
            average.update(30_000);
        }
        assert!((average.bytes() - 30_000.0).abs() < 2.0);
        average.decay(1e4);
        assert!(average.bytes() < 1.0, "hours of silence empty it");
    }
}
