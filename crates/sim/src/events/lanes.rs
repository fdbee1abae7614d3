//! The event queue of FIFO lanes in front of a timing wheel.
//!
//! Most events of a kind are scheduled a constant time ahead, so each is later than the one before. A lane is a FIFO
//! that accepts an event if it is not before the lane's last; the head of each lane is a candidate for the next event.
//! Events that fit into no lane of their group go into the timing wheel. Pushing and popping then cost a few
//! comparisons instead of O(log n) steps of a heap.

use super::wheel::Wheel;
use super::{Event, EventQueue, Tie, Upcoming};
use crate::fifo::Fifo;
use crate::prefetch::prefetch;

/// Capacity of a lane; more events are better kept in the wheel, which shares memory.
const LONGEST: usize = 1 << 14;
const NEVER: u64 = u64::MAX;
/// A key before all others.
const FIRST: (u64, Tie) = (0, (0, 0, 0));
/// How far ahead of its first event the memory of a lane is prefetched.
const AHEAD: usize = 32;

/// `LANES` lanes and a wheel. In each half of the lanes, group 0 has a half, groups 1 and 2 a quarter each; higher
/// groups go to the wheel. A group fills its lanes of the first half first; the second half is searched only while it
/// holds events.
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
    fn push_into_group(&mut self, start: usize, end: usize, event: &Event) -> bool {
        self.push_into(start..end, event) || self.push_into(LANES / 2 + start..LANES / 2 + end, event)
    }

    /// The first among the heads of the first `n` lanes: its time and lane, and whether others have the same time.
    ///
    /// Branch-free: which lane comes first is unpredictable, and mispredictions would cost more than the comparisons.
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

    /// The lane whose head comes first among those with the time `first`.
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

    fn next_time(&mut self, upcoming: &mut impl Upcoming) -> u64 {
        let (first, ..) = self.first_head(LANES);
        if first < self.wheel.quiet_until() {
            return first;
        }
        self.wheel.first_until(first, upcoming).map_or(first, |event| event.time.min(first))
    }

    #[inline(always)]
    fn pop(&mut self, upcoming: &mut impl Upcoming) -> Option<Event> {
        let (first, mut choice, equals) =
            if self.second_half == 0 { self.first_head(LANES / 2) } else { self.first_head(LANES) };
        if first >= self.wheel.quiet_until() {
            if let Some(event) = self.wheel.first_until(first, upcoming) {
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
