//! The packets of a FIFO, addressable by serial number.

use crate::Packet;
use std::collections::VecDeque;

/// A FIFO of packets in which any one can be looked at or removed in constant time.
///
/// Each packet has a serial number, one higher than the packet admitted before it. Removing from the middle leaves
/// a hole that is passed over at the head, so that a victim (CHOKe, DDRED) costs the same in a long queue as in a
/// short one.
#[derive(Debug, Default)]
pub struct Ring {
    slots: VecDeque<Option<Packet>>,
    first: u64,
    packets: u64,
    bytes: u64,
}

impl Ring {
    /// An empty queue.
    pub fn new() -> Self {
        Self::default()
    }

    /// Packets waiting.
    pub fn packets(&self) -> u64 {
        self.packets
    }

    /// Bytes waiting.
    pub fn bytes(&self) -> u64 {
        self.bytes
    }

    /// Serial numbers in use, from the oldest packet to one past the newest. Some between may be holes.
    pub fn serials(&self) -> std::ops::Range<u64> {
        self.first..self.first + self.slots.len() as u64
    }

    /// The packet with this serial number, if it still waits.
    pub fn get(&self, serial: u64) -> Option<&Packet> {
        self.slots.get(serial.checked_sub(self.first)? as usize)?.as_ref()
    }

    /// The packet with this serial number, to mark it.
    pub fn get_mut(&mut self, serial: u64) -> Option<&mut Packet> {
        self.slots.get_mut(serial.checked_sub(self.first)? as usize)?.as_mut()
    }

    /// Appends a packet; its serial number.
    pub fn push(&mut self, packet: Packet) -> u64 {
        self.packets += 1;
        self.bytes += u64::from(packet.size);
        self.slots.push_back(Some(packet));
        self.first + self.slots.len() as u64 - 1
    }

    /// Takes the oldest packet.
    pub fn pop(&mut self) -> Option<Packet> {
        let packet = self.slots.pop_front()??;
        self.first += 1;
        self.packets -= 1;
        self.bytes -= u64::from(packet.size);
        self.trim();
        Some(packet)
    }

    /// Takes the packet with this serial number out of the middle.
    pub fn remove(&mut self, serial: u64) -> Option<Packet> {
        let index = serial.checked_sub(self.first)? as usize;
        let packet = self.slots.get_mut(index)?.take()?;
        self.packets -= 1;
        self.bytes -= u64::from(packet.size);
        self.trim();
        Some(packet)
    }

    /// Keeps the invariant that neither end is a hole.
    fn trim(&mut self) {
        while let Some(None) = self.slots.front() {
            self.slots.pop_front();
            self.first += 1;
        }
        while let Some(None) = self.slots.back() {
            self.slots.pop_back();
        }
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
        assert_eq!(ring.serials(), 0..4, "a hole at the tail is trimmed");
        let order: Vec<u64> = std::iter::from_fn(|| ring.pop()).map(|p| p.flow).collect();
        assert_eq!(order, [0, 2, 3]);
        assert_eq!((ring.packets(), ring.bytes()), (0, 0));
    }
}
