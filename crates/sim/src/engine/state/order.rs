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
