//! A heap of numbered slots in which any slot can be moved or removed; it finds, say, the longest queue.

const ABSENT: u32 = u32::MAX;

/// Slots ordered by key, smallest first, each at most once. Every change costs O(log n).
#[derive(Debug)]
pub struct SlotHeap<K> {
    /// A binary heap of keys and slots.
    heap: Vec<(K, u32)>,
    /// Where each slot stands in the heap.
    place: Vec<u32>,
}

impl<K> Default for SlotHeap<K> {
    fn default() -> Self {
        SlotHeap { heap: Vec::new(), place: Vec::new() }
    }
}

impl<K: Ord + Copy> SlotHeap<K> {
    /// No slots.
    pub fn new() -> Self {
        Self::default()
    }

    /// Number of slots in the heap.
    pub fn len(&self) -> usize {
        self.heap.len()
    }

    /// Whether the heap is empty.
    pub fn is_empty(&self) -> bool {
        self.heap.is_empty()
    }

    /// The smallest key and its slot. Keys that are equal come in no particular order: make them differ.
    pub fn first(&self) -> Option<(K, usize)> {
        self.heap.first().map(|&(key, slot)| (key, slot as usize))
    }

    /// The second smallest key.
    pub fn second_key(&self) -> Option<K> {
        self.heap.iter().skip(1).take(2).map(|&(key, _)| key).min()
    }

    /// Whether `slot` is in the heap.
    pub fn contains(&self, slot: usize) -> bool {
        self.place.get(slot).is_some_and(|&place| place != ABSENT)
    }

    /// Puts `slot` into the heap with `key`, or changes its key.
    pub fn set(&mut self, slot: usize, key: K) {
        if slot >= self.place.len() {
            self.place.resize(slot + 1, ABSENT);
        }
        let place = self.place[slot];
        if place == ABSENT {
            self.place[slot] = self.heap.len() as u32;
            self.heap.push((key, slot as u32));
            self.up(self.heap.len() - 1);
        } else {
            let place = place as usize;
            let old = std::mem::replace(&mut self.heap[place].0, key);
            if key < old {
                self.up(place);
            } else {
                self.down(place);
            }
        }
    }

    /// Takes `slot` out of the heap, if it is there.
    pub fn remove(&mut self, slot: usize) {
        let Some(place) = self.place.get_mut(slot).filter(|place| **place != ABSENT) else { return };
        let hole = std::mem::replace(place, ABSENT) as usize;
        self.heap.swap_remove(hole);
        if hole < self.heap.len() {
            self.place[self.heap[hole].1 as usize] = hole as u32;
            self.down(hole);
            self.up(hole);
        }
    }

    fn swap(&mut self, a: usize, b: usize) {
        self.heap.swap(a, b);
        self.place[self.heap[a].1 as usize] = a as u32;
        self.place[self.heap[b].1 as usize] = b as u32;
    }

    fn up(&mut self, mut at: usize) {
        while at > 0 && self.heap[at].0 < self.heap[(at - 1) / 2].0 {
            self.swap(at, (at - 1) / 2);
            at = (at - 1) / 2;
        }
    }

    fn down(&mut self, mut at: usize) {
        loop {
            let left = 2 * at + 1;
            let Some(children) = self.heap.get(left..).filter(|children| !children.is_empty()) else { return };
            let right_is_less = children.len() > 1 && children[1].0 < children[0].0;
            let child = left + usize::from(right_is_less);
            if self.heap[at].0 <= self.heap[child].0 {
                return;
            }
            self.swap(at, child);
            at = child;
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::random::Generator;
    use std::collections::BTreeMap;

    #[test]
    fn agrees_with_a_sorted_list() {
        let mut random = Generator::stream(1, "heap");
        let mut heap = SlotHeap::new();
        let mut list: BTreeMap<usize, (u32, usize)> = BTreeMap::new();
        for _ in 0..20_000 {
            let slot = (random.uniform() * 40.0) as usize;
            if random.uniform() < 0.4 {
                heap.remove(slot);
                list.remove(&slot);
            } else {
                let key = ((random.uniform() * 1000.0) as u32, slot);
                heap.set(slot, key);
                list.insert(slot, key);
            }
            let mut sorted: Vec<_> = list.iter().map(|(&slot, &key)| (key, slot)).collect();
            sorted.sort_unstable();
            assert_eq!(heap.first(), sorted.first().copied());
            assert_eq!(heap.second_key(), sorted.get(1).map(|&(key, _)| key));
            assert_eq!(heap.len(), list.len());
            assert_eq!(heap.contains(slot), list.contains_key(&slot));
        }
    }
}
