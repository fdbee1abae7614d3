//! The order of events, and of packets on their way to a merge.

use crate::engine::plan::Early;
use crate::events::{Event, EventQueue, Upcoming};

/// Position of an event in the total order.
#[derive(Clone, Copy)]
pub struct Key {
    pub now: f64,
    pub scheduled: f64,
    pub number: u64,
}

/// The start of the run.
pub const START: Key = Key { now: 0.0, scheduled: 0.0, number: 0 };

/// A packet's last hop: its arrival, its start, and when the event that started it was scheduled.
#[derive(Clone, Copy)]
pub struct Hop {
    pub arrival: f64,
    pub start: f64,
    pub cause: f64,
    /// After a slow fold, its chain among the packets that started there simultaneously.
    pub order: u64,
}

/// In the number of an event after a slow fold: this bit, 32 bits of its chain, and the counter.
pub const BEHIND_SLOW_FOLD: u64 = 1 << 63;
pub const COUNTER_BITS: u32 = 31;
/// The group of lanes for held packets: the one with most lanes.
const HELD: u8 = 0;

impl Hop {
    /// The number of the event of its arrival, where `counter` is the next of all numbers.
    #[inline(always)]
    pub fn number(&self, counter: u64) -> u64 {
        match self.order {
            0 => counter,
            order => order | counter & ((1 << COUNTER_BITS) - 1),
        }
    }
}

/// A merge that packets may pass ahead of time.
pub struct AheadMerge<Q> {
    pub early: Early,
    /// Held packets, as the events of their arrivals.
    held: Q,
    /// Arrival of the first of them; infinite if there is none.
    pub first: f64,
    /// Time of the event that will release them, unless another packet does before.
    pub wake: f64,
}

impl<Q: EventQueue> AheadMerge<Q> {
    /// A merge that holds nothing; a packet arrives about every `spacing` seconds.
    pub fn new(early: Early, spacing: f64) -> Self {
        AheadMerge { early, held: Q::new(spacing), first: f64::INFINITY, wake: f64::INFINITY }
    }

    /// Holds a packet whose arrival is this event.
    #[inline(always)]
    pub fn hold(&mut self, arrival: Event) {
        self.first = self.first.min(f64::from_bits(arrival.time));
        self.held.push(arrival, HELD);
    }

    /// A held packet about `ahead` after the one taken last, for prefetching.
    #[inline(always)]
    pub fn upcoming(&self, ahead: usize) -> Option<&Event> {
        self.held.upcoming(ahead)
    }

    /// Takes the first held packet.
    #[inline(always)]
    pub fn release(&mut self, upcoming: &mut impl Upcoming) -> Option<Event> {
        let released = self.held.pop(upcoming);
        self.first = f64::from_bits(self.held.next_time(upcoming).min(f64::INFINITY.to_bits()));
        released
    }
}

/// The event that runs, and the later times at which packets pass links.
pub struct Instant {
    now: u64,
    scheduled: u64,
    cause: u64,
    number: u64,
    /// The event is the first of its time.
    first: bool,
    /// The counter of numbers when it began.
    counter: u64,
    /// Bits of the times of passages, each in the row that its digits say.
    passages: Box<[Row; ROWS]>,
}

/// A cache line of times. A time that has come leaves its place to another.
#[derive(Clone, Copy)]
#[repr(align(64))]
struct Row([u64; 8]);

const ROWS: usize = 256;
/// Numbers that the start of a transmission takes.
const NUMBERS: u64 = 2;
/// In the number of what was scheduled ahead of time.
pub const AHEAD: u64 = 1 << 60;
/// The bits above say which kinds of events come last; within a kind the numbers decide.
const KINDS: u64 = !(2 * AHEAD - 1);

impl Default for Instant {
    fn default() -> Self {
        let passages = Box::new([Row([0; 8]); ROWS]);
        Instant { now: u64::MAX, scheduled: 0, cause: 0, number: 0, first: false, counter: 0, passages }
    }
}

impl Instant {
    /// Bits of the time.
    #[inline(always)]
    pub fn now(&self) -> u64 {
        self.now
    }

    /// An event begins. Whether only numbers order it after the one before, and one of them was scheduled ahead of time.
    #[inline(always)]
    pub fn begins(&mut self, event: &Event, counter: u64) -> bool {
        self.first = event.time != self.now;
        let ties = !self.first
            && (event.scheduled, event.cause) == (self.scheduled, self.cause)
            && (event.number | self.number) & AHEAD != 0
            && (event.number ^ self.number) & KINDS == 0
            && event.number != self.number;
        (self.now, self.scheduled, self.cause, self.number) = (event.time, event.scheduled, event.cause, event.number);
        self.counter = counter;
        ties
    }

    /// Whether a packet that sets out now may pass the link where it will arrive by `hop`: the event of that arrival would
    /// be the first of all that are scheduled now. That takes the first event of this time, the first packet that it
    /// sends, no passage at this time, and a place for the time of this one.
    #[inline(always)]
    pub fn passes(&mut self, hop: Hop, counter: u64) -> bool {
        let (now, time) = (hop.start.to_bits(), hop.arrival.to_bits());
        if !self.first || self.counter + NUMBERS != counter || self.passages[row(now)].0.contains(&now) {
            return false;
        }
        let place = self.passages[row(time)].0.iter_mut().find(|kept| **kept <= now);
        place.map(|kept| *kept = time).is_some()
    }
}

#[inline(always)]
fn row(time: u64) -> usize {
    (time.wrapping_mul(0x9e37_79b9_7f4a_7c15) >> (64 - ROWS.trailing_zeros())) as usize
}
