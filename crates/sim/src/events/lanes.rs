//! Lanes in front of a wheel.
//!
//! Most events of a kind are scheduled a constant time ahead, so that each comes later than the one before. A lane
//! is a plain FIFO that accepts an event if it is not before the lane's last; the head of each lane is a candidate
//! for the next event. What fits into no lane of its group goes into the timing wheel. Pushing and popping then cost
//! a few comparisons instead of a walk through a heap.

use super::wheel::Wheel;
use super::{Event, EventQueue, Kind};
use crate::prefetch::prefetch;
use earlydrop_net::Segment;

const NEVER: u64 = u64::MAX;
/// How far ahead of its first event the memory of a lane is fetched.
const AHEAD: usize = 32;

/// A ring whose length is a power of two.
struct Fifo {
    slots: Vec<Event>,
    head: usize,
    len: usize,
}

impl Fifo {
    fn new() -> Self {
        Fifo { slots: vec![Event::new(0.0, 0.0, 0, Kind::Arrival, Segment::default()); 16], head: 0, len: 0 }
    }

    #[inline(always)]
    fn get(&self, index: usize) -> Option<&Event> {
        if index >= self.len {
            return None;
        }
        self.slots.get((self.head + index) & (self.slots.len() - 1))
    }

    #[inline(always)]
    fn push_back(&mut self, event: Event) {
        if self.len == self.slots.len() {
            self.grow();
        }
        let at = (self.head + self.len) & (self.slots.len() - 1);
        self.slots[at] = event;
        self.len += 1;
    }

    #[inline(always)]
    fn pop_front(&mut self) -> Option<Event> {
        let event = self.get(0).copied();
        self.head += 1;
        self.len = self.len.wrapping_sub(usize::from(event.is_some()));
        event
    }

    #[inline(never)]
    fn grow(&mut self) {
        let mask = self.slots.len() - 1;
        let mut slots: Vec<Event> = (0..self.len).map(|i| self.slots[(self.head + i) & mask]).collect();
        let filler = slots[0];
        slots.resize(2 * self.slots.len(), filler);
        (self.slots, self.head) = (slots, 0);
    }
}

/// `LANES` lanes and a wheel. Groups of lanes: group 0 has the first half of the lanes, groups 1 and 2 a quarter
/// each; a higher group goes to the wheel at once.
pub struct LaneQueue<const LANES: usize> {
    head_time: [u64; LANES],
    head_tie: [(u64, u64); LANES],
    last: [(u64, u64, u64); LANES],
    lanes: [Fifo; LANES],
    wheel: Wheel,
    popped_from: usize,
}

impl<const LANES: usize> LaneQueue<LANES> {
    #[inline(always)]
    fn group(lane: u8) -> std::ops::Range<usize> {
        match lane {
            0 => 0..LANES / 2,
            1 => LANES / 2..LANES * 3 / 4,
            2 => LANES * 3 / 4..LANES,
            _ => LANES..LANES,
        }
    }

    /// The first key among the lanes whose heads have the time `first`.
    #[inline(always)]
    fn first_tie(&self, first: u64) -> (u64, u64, u64) {
        let mut tie = (NEVER, NEVER);
        for i in 0..LANES {
            if self.head_time[i] == first && self.head_tie[i] < tie {
                tie = self.head_tie[i];
            }
        }
        (first, tie.0, tie.1)
    }

    #[inline(always)]
    fn pop_lane(&mut self, lane: usize) -> Option<Event> {
        self.popped_from = lane;
        let event = self.lanes[lane].pop_front();
        match self.lanes[lane].get(0) {
            Some(head) => {
                self.head_time[lane] = head.time;
                self.head_tie[lane] = (head.scheduled, head.number);
            }
            None => {
                self.head_time[lane] = NEVER;
                self.last[lane] = (0, 0, 0);
            }
        }
        event
    }
}

impl<const LANES: usize> EventQueue for LaneQueue<LANES> {
    fn new() -> Self {
        LaneQueue {
            head_time: [NEVER; LANES],
            head_tie: [(NEVER, NEVER); LANES],
            last: [(0, 0, 0); LANES],
            lanes: std::array::from_fn(|_| Fifo::new()),
            wheel: Wheel::new(),
            popped_from: LANES,
        }
    }

    #[inline(always)]
    fn push(&mut self, event: Event, lane: u8) {
        let key = event.key();
        for i in Self::group(lane) {
            if key >= self.last[i] {
                self.last[i] = key;
                if self.head_time[i] == NEVER {
                    self.head_time[i] = event.time;
                    self.head_tie[i] = (event.scheduled, event.number);
                }
                self.lanes[i].push_back(event);
                return;
            }
        }
        self.wheel.push(event);
    }

    #[inline(always)]
    fn pop(&mut self) -> Option<Event> {
        // Without branches: which lane comes first cannot be predicted.
        let (mut first, mut choice) = (self.head_time[0], 0);
        for (i, &time) in self.head_time.iter().enumerate().skip(1) {
            choice = if time < first { i } else { choice };
            first = first.min(time);
        }
        if first >= self.wheel.quiet_until() {
            if let Some(event) = self.wheel.first_until(first) {
                if (event.time, event.scheduled, event.number) < self.first_tie(first) {
                    self.popped_from = LANES;
                    return self.wheel.pop_first();
                }
            }
            if first == NEVER {
                return None;
            }
        }
        let equal: usize = self.head_time.iter().map(|&time| usize::from(time == first)).sum();
        if equal > 1 {
            for i in choice + 1..LANES {
                if self.head_time[i] == first && self.head_tie[i] < self.head_tie[choice] {
                    choice = i;
                }
            }
        }
        self.pop_lane(choice)
    }

    #[inline(always)]
    fn prefetch(&self) {
        if let Some(lane) = self.lanes.get(self.popped_from) {
            prefetch(&lane.slots, (lane.head + AHEAD) & (lane.slots.len() - 1));
        }
    }

    #[inline(always)]
    fn upcoming(&self, ahead: usize) -> Option<&Event> {
        self.lanes.get(self.popped_from)?.get(ahead)
    }
}
