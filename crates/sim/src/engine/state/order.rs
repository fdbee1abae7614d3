//! The order of events, and of packets on their way to a merge.

use crate::engine::plan::Early;
use earlydrop_net::Segment;
use std::cmp::Ordering;
use std::collections::BinaryHeap;

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

/// A merge that packets may pass ahead of time.
pub struct AheadMerge {
    pub early: Early,
    /// Held packets; the first is on top.
    pub pending: BinaryHeap<Pending>,
    /// Time of the event that will release them, unless another packet does before.
    pub wake: f64,
}

/// A packet on its way to a merge; the number breaks ties.
pub struct Pending {
    pub hop: Hop,
    pub number: u64,
    pub segment: Segment,
}

impl Pending {
    fn key(&self) -> (u64, u64, u64, u64, u64) {
        let Hop { arrival, start, cause, order } = self.hop;
        (arrival.to_bits(), start.to_bits(), cause.to_bits(), order, self.number)
    }
}

impl PartialEq for Pending {
    fn eq(&self, other: &Self) -> bool {
        self.key() == other.key()
    }
}

impl Eq for Pending {}

impl PartialOrd for Pending {
    fn partial_cmp(&self, other: &Self) -> Option<Ordering> {
        Some(self.cmp(other))
    }
}

impl Ord for Pending {
    fn cmp(&self, other: &Self) -> Ordering {
        other.key().cmp(&self.key())
    }
}
