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
/// Times of the heads of empty lanes start here, one for each lane, so that no two are equal.
const NEVER: u64 = u64::MAX - 0xff;
/// A key before all others.
const FIRST: (u64, Tie) = (0, (0, 0, 0));
/// How far ahead of its first event the memory of a lane is prefetched.
const AHEAD: usize = 32;

/// `LANES` lanes, a power of two, and a wheel. In each half of the lanes, group 0 has a half, groups 1 and 2 a quarter
/// each; higher groups go to the wheel. A group fills its lanes of the first half first.
pub struct LaneQueue<const LANES: usize> {
    head_time: [u64; LANES],
    last: [(u64, Tie); LANES],
    lanes: [Fifo<Event>; LANES],
    /// A knock-out among the heads: place 1 has the lane whose head comes first of all, places 2n and 2n + 1 the ones that
    /// met for place n; the places from `LANES` on, the lanes themselves, are left out. When a head changes, only the
    /// matches of its lane are played again.
    winners: [u8; LANES],
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
                self.lanes[i].push_back(*event);
                if self.head_time[i] >= NEVER {
                    self.set_head(i, event.time);
                }
                return true;
            }
        }
        false
    }

    #[inline(always)]
    fn push_into_group(&mut self, start: usize, end: usize, event: &Event) -> bool {
        self.push_into(start..end, event) || self.push_into(LANES / 2 + start..LANES / 2 + end, event)
    }

    /// The lane whose head comes first.
    #[inline(always)]
    fn first(&self) -> usize {
        usize::from(self.winners[1]) % LANES
    }

    /// The head of `lane` is now at `time`: plays its matches again.
    ///
    /// Branch-free but for equal times: which lane comes first is unpredictable, and mispredictions would cost more than
    /// the comparisons.
    #[inline(always)]
    fn set_head(&mut self, lane: usize, time: u64) {
        self.head_time[lane] = time;
        let (mut winner, mut first) = (lane, time);
        let (mut place, mut rival) = ((LANES + lane) / 2, lane ^ 1);
        for _ in 0..LANES.ilog2() {
            let other = self.head_time[rival % LANES];
            let loses = if other == first { self.comes_before(rival, winner) } else { other < first };
            (winner, first) = if loses { (rival, other) } else { (winner, first) };
            self.winners[place % LANES] = winner as u8;
            rival = usize::from(self.winners[(place ^ 1) % LANES]);
            place /= 2;
        }
    }

    /// Whether the head of one lane comes before that of another of the same time.
    #[inline(never)]
    fn comes_before(&self, lane: usize, other: usize) -> bool {
        self.lanes[lane].front().tie() < self.lanes[other].front().tie()
    }

    #[inline(always)]
    fn pop_lane(&mut self, lane: usize) -> Event {
        self.popped_from = lane;
        let fifo = &mut self.lanes[lane];
        let event = fifo.pop_front();
        let mut time = fifo.front().time;
        if fifo.len() == 0 {
            time = NEVER + lane as u64;
            self.last[lane] = FIRST;
        }
        self.set_head(lane, time);
        event
    }
}

impl<const LANES: usize> EventQueue for LaneQueue<LANES> {
    fn new(spacing: f64) -> Self {
        LaneQueue {
            head_time: std::array::from_fn(|lane| NEVER + lane as u64),
            last: [FIRST; LANES],
            lanes: std::array::from_fn(|_| Fifo::new()),
            // Of empty lanes the first of each pair wins.
            winners: std::array::from_fn(|place| ((place << (LANES.ilog2() - place.max(1).ilog2())) % LANES) as u8),
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
        let first = self.head_time[self.first()];
        if first < self.wheel.quiet_until() {
            return first;
        }
        self.wheel.first_until(first, upcoming).map_or(first, |event| event.time.min(first))
    }

    #[inline(always)]
    fn pop(&mut self, upcoming: &mut impl Upcoming) -> Option<Event> {
        let lane = self.first();
        let first = self.head_time[lane];
        if first >= self.wheel.quiet_until().min(NEVER) {
            if let Some(event) = self.wheel.first_until(first, upcoming) {
                if event.time < first || (event.time == first && event.tie() < self.lanes[lane].front().tie()) {
                    self.popped_from = LANES;
                    return self.wheel.pop_first();
                }
            }
            if first >= NEVER {
                return None;
            }
        }
        Some(self.pop_lane(lane))
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
