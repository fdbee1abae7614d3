//! One FIFO for each class of a discipline, with packets and bytes counted for each class and for all.

use crate::policy::Limit;
use crate::Packet;
use std::collections::VecDeque;

/// The end of a FIFO at which a packet is taken.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum End {
    /// The oldest packet.
    Head,
    /// The newest packet.
    Tail,
}

/// The FIFO of one class.
#[derive(Debug, Default)]
struct Class {
    /// The packets of the class, oldest first.
    waiting: VecDeque<Packet>,
    /// The bytes of these packets.
    bytes: u64,
}

/// The packets of all classes. Classes are numbered from 0; their number may grow.
#[derive(Debug, Default)]
pub struct ClassFifos {
    /// The FIFO of each class.
    classes: Vec<Class>,
    /// Packets of all classes.
    packets: u64,
    /// Bytes of all classes.
    bytes: u64,
}

impl ClassFifos {
    /// `classes` empty FIFOs.
    pub fn new(classes: usize) -> Self {
        let mut fifos = ClassFifos::default();
        fifos.classes.resize_with(classes, Class::default);
        fifos
    }

    /// Packets waiting in all classes.
    pub fn packets(&self) -> u64 {
        self.packets
    }

    /// Bytes waiting in all classes.
    pub fn bytes(&self) -> u64 {
        self.bytes
    }

    /// Whether more waits than `limit` allows.
    pub fn exceeds(&self, limit: Limit) -> bool {
        match limit {
            Limit::Packets(n) => self.packets > n,
            Limit::Bytes(n) => self.bytes > n,
        }
    }

    /// Packets waiting in `class`.
    pub fn packets_of(&self, class: usize) -> u64 {
        self.classes[class].waiting.len() as u64
    }

    /// Bytes waiting in `class`.
    pub fn bytes_of(&self, class: usize) -> u64 {
        self.classes[class].bytes
    }

    /// The oldest packet of `class`.
    pub fn head(&self, class: usize) -> Option<&Packet> {
        self.classes[class].waiting.front()
    }

    /// Calls `out` with each packet and its class, the oldest of a class first.
    pub fn each(&self, out: &mut dyn FnMut(usize, &Packet)) {
        for (class, at) in self.classes.iter().enumerate() {
            at.waiting.iter().for_each(|packet| out(class, packet));
        }
    }

    /// Appends `packet` to `class`; the number of classes, as `class`, makes a new one.
    pub fn push(&mut self, class: usize, packet: Packet) {
        if class == self.classes.len() {
            self.classes.push(Class::default());
        }
        let at = &mut self.classes[class];
        at.bytes += u64::from(packet.size);
        self.bytes += u64::from(packet.size);
        self.packets += 1;
        at.waiting.push_back(packet);
    }

    /// Takes a packet of `class`.
    pub fn take(&mut self, class: usize, end: End) -> Option<Packet> {
        let at = &mut self.classes[class];
        let packet = match end {
            End::Head => at.waiting.pop_front(),
            End::Tail => at.waiting.pop_back(),
        }?;
        at.bytes -= u64::from(packet.size);
        self.bytes -= u64::from(packet.size);
        self.packets -= 1;
        Some(packet)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn both_ends_and_the_counts() {
        let mut fifos = ClassFifos::new(2);
        for (class, size) in [(0, 100), (1, 200), (1, 300), (1, 400), (2, 500)] {
            fifos.push(class, Packet::new(class as u64, size));
        }
        assert_eq!((fifos.packets(), fifos.bytes()), (5, 1500));
        assert_eq!((fifos.packets_of(1), fifos.bytes_of(1)), (3, 900));
        assert_eq!(fifos.take(1, End::Tail).map(|p| p.size), Some(400));
        assert_eq!(fifos.take(1, End::Head).map(|p| p.size), Some(200));
        assert_eq!(fifos.head(1).map(|p| p.size), Some(300));
        assert_eq!((fifos.packets_of(1), fifos.bytes_of(1)), (1, 300));
        assert_eq!(fifos.take(2, End::Tail).map(|p| p.size), Some(500));
        assert_eq!(fifos.take(2, End::Head), None);
        assert_eq!((fifos.packets(), fifos.bytes()), (2, 400));
    }

    #[test]
    fn a_limit_of_n_holds_n() {
        let mut fifos = ClassFifos::new(1);
        fifos.push(0, Packet::new(0, 100));
        fifos.push(0, Packet::new(0, 100));
        assert!(!fifos.exceeds(Limit::Packets(2)) && fifos.exceeds(Limit::Packets(1)));
        assert!(!fifos.exceeds(Limit::Bytes(200)) && fifos.exceeds(Limit::Bytes(199)));
    }
}
