//! Slots of a ring: a double-ended list that touches no more of its memory than it needs.
//!
//! A ring that wraps around all the memory it once needed touches all of it again and again, however short it is now:
//! thousands of such queues fit into no cache. Here a short list wraps around in a window at the start, which is
//! doubled when it is full and halved when it is a quarter full.

use crate::Packet;

/// Slots of the narrowest window.
const NARROWEST: u32 = 8;

/// Packets and holes, first to last.
#[derive(Debug, Default)]
#[repr(C)]
pub struct Slots {
    /// The slots' memory; its length is a power of two, or 0.
    memory: Box<[Option<Packet>]>,
    /// Place of the first packet in the window.
    head: u32,
    /// Number of packets and holes.
    len: u32,
    /// Length of the window, a power of two up to that of the memory, less one.
    mask: u32,
}

impl Slots {
    /// An empty list with memory for `slots` slots.
    pub fn with_room(slots: usize) -> Self {
        let room = slots.next_power_of_two().max(NARROWEST as usize);
        Slots { memory: vec![None; room].into(), mask: NARROWEST - 1, ..Self::default() }
    }

    /// Number of packets and holes.
    #[inline]
    pub fn len(&self) -> usize {
        self.len as usize
    }

    /// Where the slot `index` places behind the first lies.
    #[inline]
    fn place(&self, index: u32) -> usize {
        (self.head.wrapping_add(index) & self.mask) as usize
    }

    /// The slot `index` places behind the first.
    #[inline]
    pub fn get(&self, index: usize) -> Option<&Option<Packet>> {
        if index < self.len() {
            self.memory.get(self.place(index as u32))
        } else {
            None
        }
    }

    /// [`Slots::get`], mutable.
    #[inline]
    pub fn get_mut(&mut self, index: usize) -> Option<&mut Option<Packet>> {
        if index < self.len() {
            let place = self.place(index as u32);
            self.memory.get_mut(place)
        } else {
            None
        }
    }

    /// Memory of the first slot, or with `end` of the next to be appended; `None` if there is none yet.
    #[inline]
    pub fn memory(&self, end: bool) -> Option<&Option<Packet>> {
        self.memory.get(self.place(if end { self.len } else { 0 }))
    }

    /// Appends a slot.
    #[inline]
    pub fn push_back(&mut self, slot: Option<Packet>) {
        let place = self.place(self.len);
        match self.memory.get_mut(place) {
            Some(free) if self.len <= self.mask => *free = slot,
            _ => {
                self.widen();
                let place = self.place(self.len);
                self.memory[place] = slot;
            }
        }
        self.len += 1;
    }

    /// Takes the first slot.
    #[inline]
    pub fn pop_front(&mut self) -> Option<Option<Packet>> {
        if self.len == 0 {
            return None;
        }
        let slot = self.memory[self.place(0)].take();
        self.head = (self.head + 1) & self.mask;
        self.len -= 1;
        if self.len == 0 {
            // The next slot then lies where the first has been, which is in the cache.
            (self.head, self.mask) = (0, NARROWEST - 1);
        } else if self.head == 0 && self.mask >= 4 * self.len.max(NARROWEST / 4) {
            self.mask >>= 1;
        }
        Some(slot)
    }

    /// Exchanges two slots.
    pub fn swap(&mut self, a: usize, b: usize) {
        self.memory.swap(self.place(a as u32), self.place(b as u32));
    }

    /// Keeps the first `kept` slots; those behind are holes already.
    pub fn truncate(&mut self, kept: usize) {
        self.len = self.len.min(kept as u32);
    }

    /// Doubles a full window, with more memory if all is in use; or gets the first memory.
    #[inline(never)]
    fn widen(&mut self) {
        if self.memory.is_empty() {
            *self = Slots::with_room(NARROWEST as usize);
            return;
        }
        let window = self.mask as usize + 1;
        if window == self.memory.len() {
            let mut memory = std::mem::take(&mut self.memory).into_vec();
            memory.resize(2 * window, None);
            self.memory = memory.into();
        }
        // What had wrapped around to the start now follows the rest.
        let (low, high) = self.memory.split_at_mut(window);
        for (from, to) in low[..self.head as usize].iter_mut().zip(high) {
            *to = from.take();
        }
        self.mask = 2 * self.mask + 1;
    }

    /// Slots for which there is memory.
    #[cfg(test)]
    pub fn capacity(&self) -> usize {
        self.memory.len()
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::collections::VecDeque;

    fn packet(number: u64) -> Option<Packet> {
        Some(Packet::new(number, 100))
    }

    /// Held against a `VecDeque`, with lists that become long and short again.
    #[test]
    fn slots_are_a_double_ended_list_in_a_window_that_follows_its_length() {
        let mut random = crate::random::Generator::stream(1, "slots");
        let (mut slots, mut list) = (Slots::default(), VecDeque::new());
        let (mut widest, mut narrowed) = (0, 0);
        for step in 0..100_000_u64 {
            let rising = step / 500 % 2 == 0;
            let before = slots.mask;
            if random.uniform() < if rising { 0.6 } else { 0.4 } {
                slots.push_back(packet(step));
                list.push_back(packet(step));
            } else {
                assert_eq!(slots.pop_front(), list.pop_front());
            }
            assert_eq!(slots.len(), list.len());
            assert!(slots.len() <= slots.mask as usize + 1 && slots.mask as usize <= slots.capacity());
            assert_eq!(slots.get(slots.len()), None);
            let index = (random.uniform() * list.len() as f64) as usize;
            assert_eq!(slots.get(index), list.get(index));
            assert_eq!(slots.get_mut(index), list.get_mut(index));
            widest = widest.max(slots.mask);
            narrowed += u32::from(slots.mask < before);
        }
        assert!(widest >= 127 && narrowed > 100, "{widest} {narrowed}");
        while slots.pop_front().is_some() {}
        assert_eq!((slots.mask, slots.memory(true).is_some()), (NARROWEST - 1, true));
    }

    #[test]
    fn a_list_that_stays_short_stays_in_a_window_of_eight() {
        let mut slots = Slots::with_room(64);
        let mut places = std::collections::BTreeSet::new();
        (0..3).for_each(|number| slots.push_back(packet(number)));
        for number in 3..1000 {
            places.insert(std::ptr::from_ref(slots.memory(true).expect("there is memory")).addr());
            slots.push_back(packet(number));
            assert_eq!(slots.pop_front(), Some(packet(number - 3)));
        }
        assert_eq!((places.len(), slots.capacity()), (8, 64));
    }
}
