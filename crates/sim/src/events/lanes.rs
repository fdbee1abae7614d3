//! The event queue of FIFO lanes in front of a timing wheel.
//!
//! Most events of a kind are scheduled a constant time ahead, so each is later than the one before. A lane is a FIFO
//! that accepts an event if it is not before the lane's last; the head of each lane is a candidate for the next event.
//! Events that fit into no lane of their group go into the timing wheel. Pushing and popping then cost a few
//! comparisons instead of O(log n) steps of a heap.

use super::wheel::Wheel;
use super::{Event, EventQueue, Upcoming, NEVER};
use crate::fifo::Fifo;
use crate::prefetch::prefetch;

/// The queue for most networks.
pub type Lanes = LaneQueue<8>;
/// The queue for large ones; in the browser, where code is loaded, the same.
pub type LargeLanes = LaneQueue<8, { !cfg!(target_family = "wasm") }>;

/// Capacity of a lane; more events are better kept in the wheel, which shares memory.
const LONGEST: usize = 1 << 14;
/// How far ahead of its first event the memory of a lane is prefetched.
const AHEAD: usize = 32;

/// A lane: its events, and the time of the last, 0 if there is none.
#[repr(align(64))]
struct Lane {
    events: Fifo<Event>,
    last: u64,
}

impl Lane {
    /// Whether `event` may follow the last.
    #[inline(always)]
    fn may_end_with(&self, event: &Event) -> bool {
        event.time > self.last
            || (event.time == self.last && self.events.back().is_none_or(|last| last.tie() <= event.tie()))
    }
}

/// `LANES` lanes, a power of two, and a wheel. In each half of the lanes, group 0 has a half, groups 1 and 2 a quarter
/// each; higher groups go to the wheel. A group fills its lanes of the first half first.
pub struct LaneQueue<const LANES: usize, const LARGE: bool = false> {
    /// Times of the first events; of an empty lane [`NEVER`] plus its number, so that no two are equal.
    head_time: [u64; LANES],
    lanes: [Lane; LANES],
    /// A knock-out among the heads: place 1 has the lane whose head comes first of all, places 2n and 2n + 1 the ones that
    /// met for place n; the places from `LANES` on, the lanes themselves, are left out. When a head changes, only the
    /// matches of its lane are played again.
    winners: [u8; LANES],
    wheel: Wheel<LARGE>,
    popped_from: usize,
}

impl<const LANES: usize, const LARGE: bool> LaneQueue<LANES, LARGE> {
    /// The first lane that is tried for each group; `LANES` is the wheel.
    const FIRST: [u8; 4] = [0, LANES as u8 / 4, LANES as u8 / 8 * 3, LANES as u8];

    /// The lane that is tried after another.
    const NEXT: [u8; LANES] = {
        let (half, mut next, mut lane) = (LANES / 2, [LANES as u8; LANES], 0);
        while lane < LANES {
            let (start, end) = match lane % half {
                0.. if lane % half < half / 2 => (0, half / 2),
                0.. if lane % half < half / 4 * 3 => (half / 2, half / 4 * 3),
                _ => (half / 4 * 3, half),
            };
            next[lane] = if lane % half + 1 < end {
                lane as u8 + 1
            } else if lane < half {
                (half + start) as u8
            } else {
                LANES as u8
            };
            lane += 1;
        }
        next
    };

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
        let ties = self.play(lane, |_, _, _| false);
        if ties {
            self.play_ties(lane);
        }
    }

    /// The same where times are equal: their ties decide.
    #[inline(never)]
    fn play_ties(&mut self, lane: usize) {
        self.play(lane, |lanes, lane, other| lanes[lane].events.front().tie() < lanes[other].events.front().tie());
    }

    /// The matches of `lane`; whether there were equal times, of which `comes_before` says which lane is first.
    #[inline(always)]
    fn play(&mut self, lane: usize, comes_before: impl Fn(&[Lane; LANES], usize, usize) -> bool) -> bool {
        let (mut winner, mut first) = (lane, self.head_time[lane]);
        let (mut place, mut rival) = ((LANES + lane) / 2, lane ^ 1);
        let mut ties = false;
        for _ in 0..LANES.ilog2() {
            let other = self.head_time[rival % LANES];
            ties |= other == first;
            let loses = other < first || (other == first && comes_before(&self.lanes, rival, winner));
            (winner, first) = if loses { (rival, other) } else { (winner, first) };
            self.winners[place % LANES] = winner as u8;
            rival = usize::from(self.winners[(place ^ 1) % LANES]);
            place /= 2;
        }
        ties
    }

    #[inline(always)]
    fn pop_lane(&mut self, lane: usize) -> Event {
        self.popped_from = lane;
        let at = &mut self.lanes[lane];
        let event = at.events.pop_front();
        let mut time = at.events.front().time;
        if at.events.len() == 0 {
            time = NEVER + lane as u64;
            at.last = 0;
        }
        self.set_head(lane, time);
        event
    }
}

impl<const LANES: usize, const LARGE: bool> EventQueue for LaneQueue<LANES, LARGE> {
    const LARGE: bool = LARGE;

    fn new(spacing: f64) -> Self {
        LaneQueue {
            head_time: std::array::from_fn(|lane| NEVER + lane as u64),
            lanes: std::array::from_fn(|_| Lane { events: Fifo::new(), last: 0 }),
            // Of empty lanes the first of each pair wins.
            winners: std::array::from_fn(|place| ((place << (LANES.ilog2() - place.max(1).ilog2())) % LANES) as u8),
            wheel: Wheel::new(spacing),
            popped_from: LANES,
        }
    }

    #[inline(always)]
    fn push(&mut self, event: Event, lane: u8) {
        let mut lane = usize::from(Self::FIRST[usize::from(lane & 3)]);
        while lane < LANES {
            let at = &mut self.lanes[lane];
            if at.may_end_with(&event) && at.events.push_within(LONGEST, event) {
                at.last = event.time;
                if at.events.len() == 1 {
                    self.set_head(lane, event.time);
                }
                return;
            }
            lane = usize::from(Self::NEXT[lane]);
        }
        self.wheel.push(event);
    }

    fn next_time(&mut self, upcoming: &mut impl Upcoming) -> u64 {
        let first = self.head_time[self.first()];
        if first < self.wheel.quiet_until() {
            return first;
        }
        self.wheel.first_until(first, upcoming).map_or(first, |event| event.time.min(first))
    }

    #[inline(always)]
    fn pop_before(&mut self, until: u64, upcoming: &mut impl Upcoming) -> Option<Event> {
        let lane = self.first();
        let first = self.head_time[lane];
        if first >= self.wheel.quiet_until().min(until) {
            let limit = first.min(until);
            if let Some(event) = self.wheel.first_until(limit, upcoming) {
                let ties = event.time == first && event.tie() < self.lanes[lane].events.front().tie();
                if event.time < limit || (ties && first < until) {
                    self.popped_from = LANES;
                    return self.wheel.pop_first(upcoming);
                }
            }
            if first >= until {
                return None;
            }
        }
        Some(self.pop_lane(lane))
    }

    #[inline(always)]
    fn prefetch(&self) {
        if let Some(lane) = self.lanes.get(self.popped_from) {
            let (ring, place) = lane.events.place(AHEAD);
            prefetch(ring, place);
        }
    }

    #[inline(always)]
    fn upcoming(&self, ahead: usize) -> Option<&Event> {
        self.lanes.get(self.popped_from)?.events.get(ahead)
    }
}
