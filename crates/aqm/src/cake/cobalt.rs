//! COBALT as CAKE runs it in each queue: in whole nanoseconds and 32 bits, with the rule for many flows.

use crate::cobalt::{newton_step, TABLE};

/// COBALT's parameters of a tin (`struct cobalt_params`), ns.
#[derive(Clone, Copy, Debug, Default)]
pub(super) struct Times {
    pub interval: u64,
    pub target: u64,
    /// Transmission time of the largest packet.
    pub mtu_time: u64,
}

/// What an overflow adds to p_drop, and an empty queue takes off (`p_inc`, `p_dec`), as 32-bit fractions.
const INCREMENT: u32 = 1 << 24;
const DECREMENT: u32 = 1 << 20;

/// COBALT's state of a queue (`struct cobalt_vars`); all zero at first, 1/sqrt(count) too.
#[derive(Clone, Copy, Debug, Default)]
pub(super) struct Cobalt {
    pub drop_next: i64,
    blue_timer: i64,
    pub count: u32,
    root: u32,
    pub p_drop: u32,
    dropping: bool,
}

/// What becomes of a packet at the head.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(super) struct Verdict {
    /// CoDel signals.
    pub signal: bool,
    /// BLUE drops.
    pub chance: bool,
}

impl Cobalt {
    /// cobalt_control: `from` + interval/sqrt(count).
    fn control(&self, from: i64, interval: u64) -> i64 {
        // reciprocal_scale takes 32 bits of the interval: it wraps at 4.29 s.
        from + ((u64::from(interval as u32) * u64::from(self.root)) >> 32) as i64
    }

    /// cobalt_invsqrt; then moves drop_next on by interval/sqrt(count).
    fn reschedule(&mut self, interval: u64) {
        self.root = match TABLE.get(self.count as usize) {
            Some(&root) => root,
            None => newton_step(self.root, self.count),
        };
        self.drop_next = self.control(self.drop_next, interval);
    }

    /// cobalt_queue_full: true if BLUE became active.
    pub fn full(&mut self, times: &Times, now: i64) -> bool {
        let mut began = false;
        if now - self.blue_timer > times.target as i64 {
            began = self.p_drop == 0;
            self.p_drop = self.p_drop.saturating_add(INCREMENT);
            self.blue_timer = now;
        }
        self.dropping = true;
        self.drop_next = now;
        self.count = self.count.max(1);
        began
    }

    /// cobalt_queue_empty: true if BLUE became inactive.
    pub fn empty(&mut self, times: &Times, now: i64) -> bool {
        let mut ended = false;
        if self.p_drop > 0 && now - self.blue_timer > times.target as i64 {
            self.p_drop = self.p_drop.saturating_sub(DECREMENT);
            self.blue_timer = now;
            ended = self.p_drop == 0;
        }
        self.dropping = false;
        if self.count > 0 && now >= self.drop_next {
            self.count -= 1;
            self.reschedule(times.interval);
        }
        ended
    }

    /// cobalt_should_drop for a packet `enqueued` at that time, while `bulk_flows` queues (0 but for ingress) have a
    /// backlog. With `can_mark` a signal is a mark. `draw` gives 32 random bits.
    pub fn step(
        &mut self,
        times: &Times,
        now: i64,
        enqueued: i64,
        bulk_flows: u32,
        can_mark: bool,
        draw: impl FnOnce() -> u32,
    ) -> Verdict {
        let sojourn = (now - enqueued) as u64;
        let mut late_by = now - self.drop_next;
        let late = sojourn > times.target
            && sojourn > times.mtu_time * u64::from(bulk_flows) * 2
            && sojourn > times.mtu_time * 4;
        let mut due = self.count > 0 && late_by >= 0;
        if late {
            if !self.dropping {
                self.dropping = true;
                self.drop_next = self.control(now, times.interval);
            }
            self.count = self.count.max(1);
        } else {
            self.dropping = false;
        }
        let mut verdict = Verdict::default();
        if due && self.dropping {
            verdict.signal = true;
            self.count = self.count.saturating_add(1);
            self.reschedule(times.interval);
            late_by = now - self.drop_next;
        } else {
            while due {
                self.count -= 1;
                self.reschedule(times.interval);
                late_by = now - self.drop_next;
                due = self.count > 0 && late_by >= 0;
            }
        }
        if self.p_drop > 0 {
            verdict.chance = draw() < self.p_drop;
        }
        let dropped = verdict.chance || verdict.signal && !can_mark;
        if self.count == 0 {
            self.drop_next = now + times.interval as i64;
        } else if late_by > 0 && !dropped {
            self.drop_next = now;
        }
        verdict
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const TIMES: Times = Times { interval: 1000, target: 50, mtu_time: 10 };

    /// BLUE's probability moves only if more than a target has passed since it last moved.
    #[test]
    fn blue_moves_after_more_than_the_target() {
        let mut cobalt = Cobalt::default();
        assert_eq!([50, 51, 101, 102].map(|now| cobalt.full(&TIMES, now)), [false, true, false, false]);
        assert_eq!((cobalt.p_drop, cobalt.blue_timer, cobalt.drop_next), (2 * INCREMENT, 102, 102));
        cobalt.p_drop = 2 * DECREMENT;
        assert_eq!([152, 153, 203, 204].map(|now| cobalt.empty(&TIMES, now)), [false, false, false, true]);
    }

    /// A packet is late if it waited longer than the target, than two packets of each bulk flow and than four packets.
    #[test]
    fn lateness_has_three_bounds() {
        let late = |times: &Times, sojourn: i64, bulk_flows: u32| {
            let mut cobalt = Cobalt::default();
            cobalt.step(times, 10_000, 10_000 - sojourn, bulk_flows, true, || 0);
            cobalt.count == 1
        };
        assert_eq!([50, 51].map(|sojourn| late(&TIMES, sojourn, 1)), [false, true]);
        assert_eq!([100, 101].map(|sojourn| late(&TIMES, sojourn, 5)), [false, true]);
        let large = Times { mtu_time: 20, ..TIMES };
        assert_eq!([80, 81].map(|sojourn| late(&large, sojourn, 1)), [false, true]);
    }

    #[test]
    fn blue_drops_below_its_probability() {
        let chance = |draw: u32| {
            let mut cobalt = Cobalt { p_drop: 7, ..Cobalt::default() };
            cobalt.step(&TIMES, 100, 90, 1, true, || draw).chance
        };
        assert_eq!([6, 7, 8].map(chance), [true, false, false]);
    }

    /// Packets in time make CoDel forget the signals that are due, one by one; a late packet gets the signal.
    #[test]
    fn signals_are_due_from_their_time_on() {
        let at = |now: i64, sojourn: i64| {
            let mut cobalt = Cobalt { drop_next: 5000, count: 1, dropping: true, ..Cobalt::default() };
            let verdict = cobalt.step(&TIMES, now, now - sojourn, 1, true, || 0);
            (verdict.signal, cobalt.count)
        };
        assert_eq!([4999, 5000, 5001].map(|now| at(now, 60)), [(false, 1), (true, 2), (true, 2)]);
        assert_eq!([4999, 5000, 5001].map(|now| at(now, 10)), [(false, 1), (false, 0), (false, 0)]);
    }
}
