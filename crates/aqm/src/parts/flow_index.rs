//! From flow keys to slots: each known flow has a small number; numbers of forgotten flows are used again.

use crate::parts::hash;

const FREE: u32 = u32::MAX;

/// The known flows. Finding, adding and forgetting one costs O(1) on average, and no result depends on the table's
/// order.
#[derive(Debug)]
pub struct FlowIndex {
    /// Open addressing with linear probing; the length is a power of two, at most half of it in use.
    table: Vec<(u64, u32)>,
    /// The flow of each slot.
    keys: Vec<u64>,
    /// Slots without a flow, the next one last.
    free: Vec<u32>,
    /// Flows that have a slot.
    known: usize,
}

impl Default for FlowIndex {
    fn default() -> Self {
        FlowIndex { table: vec![(0, FREE); 16], keys: Vec::new(), free: Vec::new(), known: 0 }
    }
}

impl FlowIndex {
    /// An index of no flows.
    pub fn new() -> Self {
        Self::default()
    }

    /// Known flows.
    pub fn len(&self) -> usize {
        self.known
    }

    /// Whether no flow is known.
    pub fn is_empty(&self) -> bool {
        self.known == 0
    }

    /// The slot of `flow`, and whether the flow is new. A new flow gets the slot of a forgotten one, if any, else the
    /// next number.
    pub fn slot(&mut self, flow: u64) -> (usize, bool) {
        let place = self.place(flow);
        if self.table[place].1 != FREE {
            return (self.table[place].1 as usize, false);
        }
        let slot = self.free.pop().unwrap_or(self.keys.len() as u32);
        if slot as usize == self.keys.len() {
            self.keys.push(flow);
        } else {
            self.keys[slot as usize] = flow;
        }
        self.table[place] = (flow, slot);
        self.known += 1;
        if 2 * self.known > self.table.len() {
            self.grow();
        }
        (slot as usize, true)
    }

    /// Forgets the flow of `slot`, which must be known.
    pub fn forget(&mut self, slot: usize) {
        let mut hole = self.place(self.keys[slot]);
        self.free.push(slot as u32);
        self.known -= 1;
        // Entries behind the hole that a search would no longer find move up.
        let mask = self.table.len() - 1;
        let mut at = hole;
        loop {
            at = (at + 1) & mask;
            let (key, slot) = self.table[at];
            if slot == FREE {
                break;
            }
            let home = self.home(key);
            if (at.wrapping_sub(home) & mask) >= (at.wrapping_sub(hole) & mask) {
                self.table[hole] = (key, slot);
                hole = at;
            }
        }
        self.table[hole].1 = FREE;
    }

    fn home(&self, flow: u64) -> usize {
        hash::mix(flow, 0) as usize & (self.table.len() - 1)
    }

    /// Where `flow` is in the table, or would be put.
    fn place(&self, flow: u64) -> usize {
        let mut at = self.home(flow);
        while self.table[at].1 != FREE && self.table[at].0 != flow {
            at = (at + 1) & (self.table.len() - 1);
        }
        at
    }

    fn grow(&mut self) {
        let larger = vec![(0, FREE); 2 * self.table.len()];
        for (flow, slot) in std::mem::replace(&mut self.table, larger) {
            if slot != FREE {
                let place = self.place(flow);
                self.table[place] = (flow, slot);
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::random::Generator;
    use std::collections::BTreeMap;

    #[test]
    fn agrees_with_a_map() {
        let mut random = Generator::stream(1, "flows");
        let (mut index, mut map) = (FlowIndex::new(), BTreeMap::new());
        for _ in 0..50_000 {
            let flow = (random.uniform() * 60.0) as u64;
            if random.uniform() < 0.45 {
                if let Some(slot) = map.remove(&flow) {
                    index.forget(slot);
                }
            } else {
                let (slot, new) = index.slot(flow);
                assert_eq!(new, map.insert(flow, slot).is_none_or(|before| before != slot));
            }
            assert_eq!(index.len(), map.len());
            let slots: std::collections::BTreeSet<_> = map.values().collect();
            assert_eq!(slots.len(), map.len(), "no slot twice");
            for (&flow, &slot) in &map {
                assert_eq!(index.slot(flow), (slot, false));
            }
        }
        assert!(index.keys.len() <= 60);
    }
}
