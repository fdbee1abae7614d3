//! A table of flows: from a flow's key to a small record, in flat arrays.

use crate::parts::hash;

/// Stands for no slot.
pub(crate) const NONE: u32 = u32::MAX;

/// Records of flows, found by key in constant expected time.
///
/// A record stays in its slot until it is removed, so that a list over the slots can stand beside the table. The table
/// grows with what it holds and never shrinks; freed slots are used again, the last one first. The hash has a fixed
/// salt: the same packets give the same run on every machine.
#[derive(Clone, Debug)]
pub struct FlowTable<T> {
    /// First slot of each bucket; the number of buckets is a power of two.
    buckets: Vec<u32>,
    /// The records, with free slots among them.
    slots: Vec<Slot<T>>,
    /// First of the freed slots.
    free: u32,
    /// Flows in the table.
    len: usize,
}

/// A place for a flow.
#[derive(Clone, Debug)]
struct Slot<T> {
    /// The flow.
    flow: u64,
    /// Next slot of the bucket, or next freed slot.
    next: u32,
    /// What is kept of the flow.
    record: T,
}

impl<T: Copy> FlowTable<T> {
    /// An empty table.
    pub fn new() -> Self {
        FlowTable { buckets: vec![NONE; 16], slots: Vec::new(), free: NONE, len: 0 }
    }

    /// How many flows the table holds.
    pub fn len(&self) -> usize {
        self.len
    }

    /// Whether the table holds no flow.
    pub fn is_empty(&self) -> bool {
        self.len == 0
    }

    #[inline]
    fn bucket(&self, flow: u64) -> usize {
        hash::mix(flow, 0) as usize & (self.buckets.len() - 1)
    }

    /// The slot of `flow`.
    #[inline]
    pub fn find(&self, flow: u64) -> Option<u32> {
        let mut slot = self.buckets[self.bucket(flow)];
        while slot != NONE {
            let entry = &self.slots[slot as usize];
            if entry.flow == flow {
                return Some(slot);
            }
            slot = entry.next;
        }
        None
    }

    /// Puts in `flow`, which must not be there yet; returns its slot.
    pub fn insert(&mut self, flow: u64, record: T) -> u32 {
        if self.len == self.buckets.len() {
            self.grow();
        }
        let bucket = self.bucket(flow);
        let entry = Slot { flow, next: self.buckets[bucket], record };
        let slot = self.free;
        let slot = if slot == NONE {
            self.slots.push(entry);
            (self.slots.len() - 1) as u32
        } else {
            self.free = self.slots[slot as usize].next;
            self.slots[slot as usize] = entry;
            slot
        };
        self.buckets[bucket] = slot;
        self.len += 1;
        slot
    }

    /// Takes out the flow in `slot`; returns its record.
    pub fn remove(&mut self, slot: u32) -> T {
        let Slot { flow, next, record } = self.slots[slot as usize];
        let bucket = self.bucket(flow);
        if self.buckets[bucket] == slot {
            self.buckets[bucket] = next;
        } else {
            let mut before = self.buckets[bucket];
            while self.slots[before as usize].next != slot {
                before = self.slots[before as usize].next;
            }
            self.slots[before as usize].next = next;
        }
        self.slots[slot as usize].next = self.free;
        self.free = slot;
        self.len -= 1;
        record
    }

    /// The key of the flow in `slot`.
    #[inline]
    pub fn flow(&self, slot: u32) -> u64 {
        self.slots[slot as usize].flow
    }

    /// The record in `slot`.
    #[inline]
    pub fn record(&self, slot: u32) -> &T {
        &self.slots[slot as usize].record
    }

    /// The record in `slot`, to change it.
    #[inline]
    pub fn record_mut(&mut self, slot: u32) -> &mut T {
        &mut self.slots[slot as usize].record
    }

    /// Doubles the number of buckets. The table is full then: no slot is free.
    fn grow(&mut self) {
        let buckets = self.buckets.len() * 2;
        self.buckets.clear();
        self.buckets.resize(buckets, NONE);
        for slot in 0..self.slots.len() {
            let bucket = self.bucket(self.slots[slot].flow);
            self.slots[slot].next = self.buckets[bucket];
            self.buckets[bucket] = slot as u32;
        }
    }
}

impl<T: Copy> Default for FlowTable<T> {
    fn default() -> Self {
        Self::new()
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::collections::BTreeMap;

    /// Random insertions, look-ups and removals, held against a map of the standard library.
    #[test]
    fn does_what_a_map_does() {
        let mut table = FlowTable::new();
        let mut map = BTreeMap::new();
        for step in 0..200_000_u64 {
            let flow = hash::mix(step, 1) % 300;
            assert_eq!(table.find(flow).map(|slot| *table.record(slot)), map.get(&flow).copied());
            match (table.find(flow), hash::mix(step, 2) % 3) {
                (Some(slot), 0) => assert_eq!(Some(table.remove(slot)), map.remove(&flow)),
                (Some(slot), _) => {
                    *table.record_mut(slot) = step;
                    map.insert(flow, step);
                }
                (None, _) => {
                    let slot = table.insert(flow, step);
                    assert_eq!(table.flow(slot), flow);
                    map.insert(flow, step);
                }
            }
            assert_eq!(table.len(), map.len());
        }
        assert!(table.slots.len() <= 300, "freed slots are used again");
    }

    #[test]
    fn chains_stay_short() {
        let mut table = FlowTable::new();
        for flow in 0..4096_u64 {
            table.insert(flow, ());
        }
        assert_eq!(table.buckets.len(), 4096);
        let longest = (0..4096)
            .map(|bucket| {
                let mut slot = table.buckets[bucket];
                std::iter::from_fn(|| (slot != NONE).then(|| slot = table.slots[slot as usize].next)).count()
            })
            .max();
        // 4096 balls in 4096 urns: some urn has more than 9 with a probability of 5e-4.
        assert!(longest <= Some(9), "{longest:?}");
    }
}
