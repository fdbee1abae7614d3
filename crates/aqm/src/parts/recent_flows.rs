//! The most recently seen flows: a list of bounded length with a record for each flow, the latest first.

use crate::parts::flow_table::{FlowTable, NONE};

/// A bounded number of flows, each with a record, ordered by when they were last seen. SFRED calls it the most recently
/// used list (MRUL), LRU-RED a cache.
///
/// A hash table finds a flow, a doubly linked list over the same slots keeps the order: the cost of a packet does not
/// depend on the length. (The papers' linear search costs as many steps as there are flows.)
#[derive(Clone, Debug)]
pub struct RecentFlows<T> {
    /// The records of the flows.
    table: FlowTable<T>,
    /// The neighbours of each slot in the list.
    links: Vec<Link>,
    /// Slot of the flow seen last, or `NONE`.
    newest: u32,
    /// Slot of the flow not seen for longest, or `NONE`.
    oldest: u32,
    /// How many flows the list may hold.
    most: usize,
}

/// The neighbours of a flow in the list.
#[derive(Clone, Copy, Debug)]
struct Link {
    /// Slot of the flow seen next after this one, or `NONE`.
    newer: u32,
    /// Slot of the flow seen right before this one, or `NONE`.
    older: u32,
}

/// What [`RecentFlows::see`] found.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Seen<T> {
    /// The flow's slot, valid until it is evicted or removed.
    pub slot: u32,
    /// Whether it was in the list before.
    pub known: bool,
    /// The record of the evicted flow.
    pub evicted: Option<T>,
}

impl<T: Copy> RecentFlows<T> {
    /// An empty list for at most `most` flows, at least one.
    pub fn new(most: usize) -> Self {
        RecentFlows { table: FlowTable::new(), links: Vec::new(), newest: NONE, oldest: NONE, most: most.max(1) }
    }

    /// How many flows are in the list.
    #[inline]
    pub fn len(&self) -> usize {
        self.table.len()
    }

    /// Whether the list is empty.
    pub fn is_empty(&self) -> bool {
        self.table.is_empty()
    }

    /// A packet of `flow`: moves the flow to the front. A flow that is not in the list is put there with the record
    /// `fresh`, and if the list is full the flow at its end is evicted first.
    #[inline]
    pub fn see(&mut self, flow: u64, fresh: T) -> Seen<T> {
        if let Some(slot) = self.table.find(flow) {
            if slot != self.newest {
                self.unlink(slot);
                self.link(slot);
            }
            return Seen { slot, known: true, evicted: None };
        }
        let evicted = (self.table.len() == self.most).then(|| self.remove(self.oldest));
        let slot = self.table.insert(flow, fresh);
        if slot as usize == self.links.len() {
            self.links.push(Link { newer: NONE, older: NONE });
        }
        self.link(slot);
        Seen { slot, known: false, evicted }
    }

    /// The slot of `flow`; its place in the list stays.
    #[inline]
    pub fn find(&self, flow: u64) -> Option<u32> {
        self.table.find(flow)
    }

    /// The record in `slot`.
    #[inline]
    pub fn record(&self, slot: u32) -> &T {
        self.table.record(slot)
    }

    /// The record in `slot`, to change it.
    #[inline]
    pub fn record_mut(&mut self, slot: u32) -> &mut T {
        self.table.record_mut(slot)
    }

    /// Takes out the flow in `slot`; returns its record.
    pub fn remove(&mut self, slot: u32) -> T {
        self.unlink(slot);
        self.table.remove(slot)
    }

    /// Goes through the flows, the latest first, and takes out those for which `keep` returns false.
    pub fn retain(&mut self, mut keep: impl FnMut(u64, &mut T) -> bool) {
        let mut slot = self.newest;
        while slot != NONE {
            let older = self.links[slot as usize].older;
            let flow = self.table.flow(slot);
            if !keep(flow, self.table.record_mut(slot)) {
                self.remove(slot);
            }
            slot = older;
        }
    }

    fn unlink(&mut self, slot: u32) {
        let Link { newer, older } = self.links[slot as usize];
        match newer {
            NONE => self.newest = older,
            _ => self.links[newer as usize].older = older,
        }
        match older {
            NONE => self.oldest = newer,
            _ => self.links[older as usize].newer = newer,
        }
    }

    fn link(&mut self, slot: u32) {
        self.links[slot as usize] = Link { newer: NONE, older: self.newest };
        match self.newest {
            NONE => self.oldest = slot,
            newest => self.links[newest as usize].newer = slot,
        }
        self.newest = slot;
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::parts::hash;

    fn order(list: &mut RecentFlows<u64>) -> Vec<(u64, u64)> {
        let mut order = Vec::new();
        list.retain(|flow, &mut record| {
            order.push((flow, record));
            true
        });
        order
    }

    #[test]
    fn the_latest_is_first_and_the_last_gives_way() {
        let mut list = RecentFlows::new(3);
        for flow in [1, 2, 3] {
            assert_eq!(list.see(flow, flow * 10).evicted, None);
        }
        assert!(list.see(1, 0).known);
        assert_eq!(order(&mut list), [(1, 10), (3, 30), (2, 20)]);
        let seen = list.see(4, 40);
        assert_eq!((seen.known, seen.evicted), (false, Some(20)), "flow 2 was at the end");
        assert_eq!(order(&mut list), [(4, 40), (1, 10), (3, 30)]);
        assert_eq!(list.find(2), None);
        assert_eq!(list.see(2, 21).evicted, Some(30));
    }

    #[test]
    fn a_list_of_one_holds_the_last_flow() {
        let mut list = RecentFlows::new(1);
        assert_eq!(list.see(1, 10).evicted, None);
        assert_eq!(list.see(2, 20).evicted, Some(10));
        assert!(list.see(2, 0).known);
        let slot = list.find(2).unwrap();
        assert_eq!(list.remove(slot), 20);
        assert!(list.is_empty() && order(&mut list).is_empty());
        assert_eq!(list.see(3, 30).evicted, None);
        assert_eq!(order(&mut list), [(3, 30)]);
    }

    /// Held against a plain vector that is searched from its front.
    #[test]
    fn does_what_a_linear_list_does() {
        for most in [1, 2, 7, 40] {
            let mut list = RecentFlows::new(most);
            let mut plain: Vec<(u64, u64)> = Vec::new();
            for step in 0..20_000_u64 {
                let flow = hash::mix(step, 3) % 50;
                let seen = list.see(flow, step);
                let at = plain.iter().position(|&(f, _)| f == flow);
                let entry = at.map_or((flow, step), |at| plain.remove(at));
                assert_eq!(seen.known, at.is_some());
                assert_eq!(seen.evicted, (plain.len() == most).then(|| plain.pop().unwrap().1));
                plain.insert(0, entry);
                if step % 97 == 0 {
                    list.retain(|_, record| *record % 3 != 0);
                    plain.retain(|&(_, record)| record % 3 != 0);
                }
                assert_eq!(order(&mut list), plain);
            }
        }
    }
}
