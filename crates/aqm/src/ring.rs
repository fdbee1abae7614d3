//! The packets of a FIFO, addressable by serial number.

use crate::slots::Slots;
use crate::Packet;
use std::collections::VecDeque;

/// A FIFO of packets in which any one can be looked at or removed in constant time.
///
/// Each packet has a serial number, one higher than the packet admitted before it, and unique. Removing from the middle
/// leaves a hole, so that a victim (CHOKe, DDRED) costs the same in a long queue as
/// in a short one. Holes are passed over at the head, and squeezed out when there are more than three for each packet:
/// memory stays in proportion to what waits, however long the head waits while others come and are removed, and a slot
/// drawn at random holds a packet at least once in four times. Squeezing costs a constant for each removal, in the
/// mean; until the packets it moved have left, a packet is found by its number in O(log n).
#[derive(Debug, Default)]
#[repr(C)]
pub struct Ring {
    /// The packets, and holes where some were removed.
    slots: Slots,
    /// Packets in the ring.
    packets: u64,
    /// Bytes of these packets.
    bytes: u64,
    /// Serial number of the next packet.
    next: u64,
    /// Serial number of the first slot.
    first: u64,
    /// Serial numbers of the slots, while they are not consecutive.
    // Boxed: that keeps the ring small, and hardly any ring needs them.
    #[allow(clippy::box_collection)]
    names: Option<Box<VecDeque<u64>>>,
}

/// With more slots than this per packet, holes are squeezed out.
const SLOTS_PER_PACKET: usize = 4;

impl Ring {
    /// An empty queue.
    pub fn new() -> Self {
        Self::default()
    }

    /// An empty queue with memory for `packets` packets.
    pub fn with_room(packets: usize) -> Self {
        Ring { slots: Slots::with_room(packets), ..Self::default() }
    }

    /// Packets waiting.
    pub fn packets(&self) -> u64 {
        self.packets
    }

    /// Bytes waiting.
    pub fn bytes(&self) -> u64 {
        self.bytes
    }

    /// Serial numbers from the oldest packet to one past the newest that was admitted. Many of them may belong to
    /// removed packets: [`Ring::iter`] goes over those that wait, [`Ring::at`] draws among them.
    pub fn serials(&self) -> std::ops::Range<u64> {
        self.first..self.next
    }

    /// Slots in use: packets, and holes between them and after them. At most four for each packet.
    pub fn slots(&self) -> usize {
        self.slots.len()
    }

    /// The packet in a slot and its serial number, `None` for a hole. Slot 0 holds the oldest packet.
    pub fn at(&self, slot: usize) -> Option<(u64, &Packet)> {
        let packet = self.slots.get(slot)?.as_ref()?;
        let name = self.names.as_ref().and_then(|names| names.get(slot).copied());
        Some((name.unwrap_or(self.first + slot as u64), packet))
    }

    /// The packets that wait, each with its serial number, oldest first.
    pub fn iter(&self) -> impl DoubleEndedIterator<Item = (u64, &Packet)> {
        (0..self.slots.len()).filter_map(|slot| self.at(slot))
    }

    /// The packet with this serial number, if it still waits.
    pub fn get(&self, serial: u64) -> Option<&Packet> {
        self.slots.get(self.slot_of(serial)?)?.as_ref()
    }

    /// The packet with this serial number, to mark it.
    pub fn get_mut(&mut self, serial: u64) -> Option<&mut Packet> {
        let slot = self.slot_of(serial)?;
        self.slots.get_mut(slot)?.as_mut()
    }

    /// Where the oldest packet lies (`leaving`), or where the next may come to lie: first byte and length in bytes.
    pub fn memory(&self, leaving: bool, out: &mut dyn FnMut(*const u8, usize)) {
        if let Some(place) = self.slots.memory(!leaving) {
            out(std::ptr::from_ref(place).cast(), size_of::<Option<Packet>>());
        }
    }

    /// Appends a packet; returns its serial number.
    #[inline]
    pub fn push(&mut self, packet: Packet) -> u64 {
        let serial = self.next;
        self.next += 1;
        self.packets += 1;
        self.bytes += u64::from(packet.size);
        self.slots.push_back(Some(packet));
        if let Some(names) = &mut self.names {
            names.push_back(serial);
        }
        serial
    }

    /// Takes the oldest packet.
    #[inline]
    pub fn pop(&mut self) -> Option<Packet> {
        let packet = self.slots.pop_front()??;
        self.packets -= 1;
        self.bytes -= u64::from(packet.size);
        self.first_slot_is_gone();
        if self.slots.len() as u64 != self.packets {
            self.tidy();
        }
        Some(packet)
    }

    /// Takes the packet with this serial number out of the middle.
    pub fn remove(&mut self, serial: u64) -> Option<Packet> {
        let slot = self.slot_of(serial)?;
        let packet = self.slots.get_mut(slot)?.take()?;
        self.packets -= 1;
        self.bytes -= u64::from(packet.size);
        self.tidy();
        Some(packet)
    }

    #[inline]
    fn slot_of(&self, serial: u64) -> Option<usize> {
        match &self.names {
            None => usize::try_from(serial.checked_sub(self.first)?).ok(),
            Some(names) => names.binary_search(&serial).ok(),
        }
    }

    /// Restores the invariants: the first slot is no hole, and there are not too many others.
    fn tidy(&mut self) {
        while let Some(None) = self.slots.get(0) {
            self.slots.pop_front();
            self.first_slot_is_gone();
        }
        if self.slots.len() > SLOTS_PER_PACKET * self.packets as usize {
            self.squeeze();
        }
    }

    #[inline]
    fn first_slot_is_gone(&mut self) {
        let Some(names) = &mut self.names else {
            self.first += 1;
            return;
        };
        names.pop_front();
        self.first = names.front().copied().unwrap_or(self.next);
        if self.next - self.first == self.slots.len() as u64 {
            self.names = None;
        }
    }

    /// Takes all holes out.
    fn squeeze(&mut self) {
        let names = self.names.get_or_insert_with(|| Box::new((self.first..self.next).collect()));
        let mut kept = 0;
        for slot in 0..self.slots.len() {
            if self.slots.get(slot).is_some_and(Option::is_some) {
                self.slots.swap(kept, slot);
                names.swap(kept, slot);
                kept += 1;
            }
        }
        self.slots.truncate(kept);
        names.truncate(kept);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn removal_from_the_middle_keeps_order_and_counts() {
        let mut ring = Ring::new();
        let serials: Vec<u64> = (0..5).map(|i| ring.push(Packet::new(i, 100 + i as u32))).collect();
        assert_eq!(ring.remove(serials[1]).unwrap().flow, 1);
        assert_eq!(ring.remove(serials[1]), None);
        assert_eq!(ring.remove(serials[4]).unwrap().flow, 4);
        assert_eq!(ring.packets(), 3);
        assert_eq!(ring.bytes(), 100 + 102 + 103);
        assert_eq!(ring.push(Packet::new(5, 100)), 5, "no number is given twice");
        let order: Vec<u64> = std::iter::from_fn(|| ring.pop()).map(|p| p.flow).collect();
        assert_eq!(order, [0, 2, 3, 5]);
        assert_eq!((ring.packets(), ring.bytes()), (0, 0));
    }

    /// Held against a list of (number, flow): any mix of arrivals, departures and removals, many of them removals.
    #[test]
    fn a_ring_full_of_holes_is_a_list() {
        let mut random = crate::random::Generator::stream(1, "ring");
        let mut draw = |n: usize| (random.uniform() * n as f64) as usize;
        let (mut ring, mut list) = (Ring::new(), Vec::<(u64, u64)>::new());
        let (mut squeezed, mut longest) = (0, 0);
        for step in 0..200_000_u64 {
            // Phases in which nothing leaves at the head, as behind a link that stands still.
            let stalled = step / 1000 % 2 == 1;
            match draw(if stalled { 9 } else { 12 }) {
                0..5 => {
                    let serial = ring.push(Packet::new(step, 40 + (step % 100) as u32));
                    assert!(list.last().is_none_or(|&(last, _)| serial > last));
                    list.push((serial, step));
                }
                5..9 if !list.is_empty() => {
                    let (serial, flow) = list.remove(list.len() - 1 - draw(list.len().min(5)));
                    assert_eq!(ring.remove(serial).map(|p| p.flow), Some(flow));
                    assert_eq!(ring.remove(serial), None);
                    assert_eq!(ring.get(serial), None);
                }
                _ => {
                    let oldest = if list.is_empty() { None } else { Some(list.remove(0).1) };
                    assert_eq!(ring.pop().map(|p| p.flow), oldest);
                }
            }
            assert_eq!(ring.packets(), list.len() as u64);
            assert!(ring.slots() <= SLOTS_PER_PACKET * list.len(), "{} slots", ring.slots());
            squeezed += u32::from(ring.names.is_some());
            longest = longest.max(ring.serials().end - ring.serials().start);
            if step % 50 == 0 {
                assert!(ring.iter().map(|(serial, p)| (serial, p.flow)).eq(list.iter().copied()));
                assert!(list.iter().all(|&(serial, flow)| ring.get(serial).is_some_and(|p| p.flow == flow)));
                assert_eq!(ring.bytes(), list.iter().map(|&(_, flow)| 40 + flow % 100).sum::<u64>());
            }
        }
        assert!(squeezed > 10_000 && squeezed < 190_000, "both ways to number the slots: {squeezed}");
        assert!(longest > 500, "{longest}");
    }

    #[test]
    fn memory_does_not_grow_behind_a_link_that_stands_still() {
        let mut ring = Ring::new();
        ring.push(Packet::new(0, 100));
        for flow in 1..100_000 {
            let serial = ring.push(Packet::new(flow, 100));
            ring.remove(serial);
        }
        assert!(ring.slots.capacity() < 64 && ring.names.as_ref().is_none_or(|names| names.capacity() < 64));
        assert_eq!(ring.pop().map(|p| p.flow), Some(0));
        assert_eq!(ring.push(Packet::new(7, 100)), 100_000);
        assert!(ring.names.is_none() && ring.get(100_000).is_some());
    }
}
