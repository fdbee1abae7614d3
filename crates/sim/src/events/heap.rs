//! The event queue on the standard library's heap: slower, and the reference of the tests.

use super::{Event, EventQueue, Upcoming};
use std::cmp::{Ordering, Reverse};
use std::collections::BinaryHeap;

/// An event in the order of its key.
pub(super) struct Ordered(pub Event);

impl PartialEq for Ordered {
    fn eq(&self, other: &Self) -> bool {
        self.0.key() == other.0.key()
    }
}

impl Eq for Ordered {}

impl PartialOrd for Ordered {
    fn partial_cmp(&self, other: &Self) -> Option<Ordering> {
        Some(self.cmp(other))
    }
}

impl Ord for Ordered {
    fn cmp(&self, other: &Self) -> Ordering {
        self.0.key().cmp(&other.0.key())
    }
}

/// `BinaryHeap` of events.
pub struct HeapQueue(BinaryHeap<Reverse<Ordered>>);

impl EventQueue for HeapQueue {
    fn new(_spacing: f64) -> Self {
        HeapQueue(BinaryHeap::new())
    }

    fn push(&mut self, event: Event, _lane: u8) {
        self.0.push(Reverse(Ordered(event)));
    }

    fn next_time(&mut self, _upcoming: &mut impl Upcoming) -> u64 {
        self.0.peek().map_or(u64::MAX, |Reverse(Ordered(event))| event.time)
    }

    fn pop_before(&mut self, until: u64, upcoming: &mut impl Upcoming) -> Option<Event> {
        if self.next_time(upcoming) >= until {
            return None;
        }
        self.0.pop().map(|Reverse(Ordered(event))| event)
    }
}
