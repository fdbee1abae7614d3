//! Lanes in front of a wheel.
//!
//! Most events of a kind are scheduled a constant time ahead, so that each comes later than the one before. A lane
//! is a plain FIFO that accepts an event if it is not before the lane's last; the head of each lane is a candidate
//! for the next event. What fits into no lane of its group goes into the timing wheel. Pushing and popping then cost
//! a few comparisons instead of a walk through a heap.

use super::wheel::Wheel;
use super::{Event, EventQueue, Tie, Watch};
use crate::fifo::Fifo;
use crate::prefetch::prefetch;

/// As many events as a lane may hold; more are as well off in the wheel, where memory is shared.
const LONGEST: usize = 1 << 14;
const NEVER: u64 = u64::MAX;
/// A key before every other.
const FIRST: (u64, Tie) = (0, (0, 0, 0));
/// How far ahead of its first event the memory of a lane is fetched.
const AHEAD: usize = 32;

/// `LANES` lanes and a wheel. Of either half of the lanes, group 0 has a half, groups 1 and 2 a quarter each; a higher
/// group goes to the wheel at once. A group fills its lanes of the first half before those of the second, which is
/// looked at only while something is there.
pub struct LaneQueue<const LANES: usize> {
    head_time: [u64; LANES],
    last: [(u64, Tie); LANES],
    lanes: [Fifo<Event>; LANES],
    /// Lanes of the second half that are not empty.
    second_half: usize,
    wheel: Wheel,
    popped_from: usize,
}

impl<const LANES: usize> LaneQueue<LANES> {
    #[inline(always)]
    fn push_into(&mut self, lanes: std::ops::Range<usize>, event: &Event) -> bool {
        let key = event.key();
        for i in lanes {
            if key >= self.last[i] && self.lanes[i].len() < LONGEST {
                self.last[i] = key;
                if self.head_time[i] == NEVER {
                    self.head_time[i] = event.time;
                    self.second_half += usize::from(i >= LANES / 2);
                }
                self.lanes[i].push_back(*event);
                return true;
            }
        }
        false
    }

    #[inline(always)]
    fn push_into_group(&mut self, begin: usize, end: usize, event: &Event) -> bool {
        self.push_into(begin..end, event) || self.push_into(LANES / 2 + begin..LANES / 2 + end, event)
    }

    /// The first among the heads of the first `n` lanes: its time and lane, and whether others have this time.
    ///
    /// Without branches: which lane comes first cannot be predicted.
    #[inline(always)]
    fn first_head(&self, n: usize) -> (u64, usize, bool) {
        let heads = &self.head_time[..n];
        let (mut first, mut choice) = (heads[0], 0);
        for (i, &time) in heads.iter().enumerate().skip(1) {
            choice = if time < first { i } else { choice };
            first = first.min(time);
        }
        let equal: usize = heads.iter().map(|&time| usize::from(time == first)).sum();
        (first, choice, equal > 1)
    }

    /// The lane whose head comes first among those of the time `first`.
    #[inline(never)]
    fn first_of_equals(&self, first: u64) -> usize {
        let equals = (0..LANES).filter(|&i| self.head_time[i] == first);
        equals.min_by_key(|&i| self.lanes[i].front().tie()).unwrap_or(0)
    }

    #[inline(always)]
    fn pop_lane(&mut self, lane: usize) -> Event {
        self.popped_from = lane;
        let fifo = &mut self.lanes[lane];
        let event = fifo.pop_front();
        self.head_time[lane] = fifo.front().time;
        if fifo.len() == 0 {
            self.head_time[lane] = NEVER;
            self.last[lane] = FIRST;
            self.second_half -= usize::from(lane >= LANES / 2);
        }
        event
    }
}

impl<const LANES: usize> EventQueue for LaneQueue<LANES> {
    fn new(spacing: f64) -> Self {
        LaneQueue {
            head_time: [NEVER; LANES],
            last: [FIRST; LANES],
            lanes: std::array::from_fn(|_| Fifo::new()),
            second_half: 0,
            wheel: Wheel::new(spacing),
            popped_from: LANES,
        }
    }

    #[inline(always)]
    fn push(&mut self, event: Event, lane: u8) {
        let taken = match lane {
            0 => self.push_into_group(0, LANES / 4, &event),
            1 => self.push_into_group(LANES / 4, LANES * 3 / 8, &event),
            2 => self.push_into_group(LANES * 3 / 8, LANES / 2, &event),
            _ => false,
        };
        if !taken {
            self.wheel.push(event);
        }
    }

    #[inline(always)]
    fn pop(&mut self, watch: &mut impl Watch) -> Option<Event> {
        let (first, mut choice, equals) =
            if self.second_half == 0 { self.first_head(LANES / 2) } else { self.first_head(LANES) };
        if first >= self.wheel.quiet_until() {
            if let Some(event) = self.wheel.first_until(first, watch) {
                let before = event.time < first
                    || (event.time == first && event.tie() < self.lanes[self.first_of_equals(first)].front().tie());
                if before {
                    self.popped_from = LANES;
                    return self.wheel.pop_first();
                }
            }
            if first == NEVER {
                return None;
            }
        }
        if equals {
            choice = self.first_of_equals(first);
        }
        Some(self.pop_lane(choice))
    }

    #[inline(always)]
    fn prefetch(&self) {
        if let Some(lane) = self.lanes.get(self.popped_from) {
            let (ring, place) = lane.place(AHEAD);
            prefetch(ring, place);
        }
    }

    #[inline(always)]
    fn upcoming(&self, ahead: usize) -> Option<&Event> {
        self.lanes.get(self.popped_from)?.get(ahead)
    }
}
