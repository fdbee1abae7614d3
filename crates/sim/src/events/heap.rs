//! The standard library's heap: slower, and the oracle for the fast queue.

use super::{Event, EventQueue, Watch};
use std::cmp::{Ordering, Reverse};
use std::collections::BinaryHeap;

struct Ordered(Event);

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

    fn pop(&mut self, _watch: &mut impl Watch) -> Option<Event> {
        self.0.pop().map(|Reverse(Ordered(event))| event)
    }
}
