//! What a queue sees of a packet.

use crate::Time;

/// The ECN field of the IP header (RFC 3168, section 5).
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Default)]
#[repr(u8)]
pub enum Ecn {
    /// Not ECN-capable: a congestion signal can only be a drop.
    #[default]
    NotEct = 0b00,
    /// ECN-capable, ECT(1).
    Ect1 = 0b01,
    /// ECN-capable, ECT(0).
    Ect0 = 0b10,
    /// Congestion experienced.
    Ce = 0b11,
}

impl Ecn {
    /// The code point that the lower two bits of `bits` are.
    #[inline]
    pub fn from_bits(bits: u8) -> Ecn {
        match bits & 0b11 {
            0b00 => Ecn::NotEct,
            0b01 => Ecn::Ect1,
            0b10 => Ecn::Ect0,
            _ => Ecn::Ce,
        }
    }

    /// Whether a queue may set CE on this packet (it is ECT, or CE already).
    #[inline]
    pub fn is_capable(self) -> bool {
        self != Ecn::NotEct
    }
}

/// A packet as a router sees it, without what a router cannot see.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Packet {
    /// Size on the wire, bytes.
    pub size: u32,
    /// ECN field.
    pub ecn: Ecn,
    /// Traffic class or precedence, 0..=7.
    pub class: u8,
    /// Time to live when the packet arrived.
    pub ttl: u8,
    /// Time to live as the sender set it, where the sender wrote it into an option (DDRED); 0 if not written.
    pub initial_ttl: u8,
    /// Time to live at the destination, as the sender learned it from the receiver and wrote into an option (DDRED's
    /// method 2); 0 if not written. While the packet waits in a discipline with bands, the byte has its band: none of
    /// these disciplines reads it.
    pub final_ttl: u8,
    /// Round-trip time as the sender wrote it into the packet (AECN's hint), ms; 0 if not written.
    pub rtt_hint_ms: u16,
    /// ECN field when the packet was admitted to the queue, see [`Packet::admit`].
    pub admitted_ecn: Ecn,
    /// The driver's own handle (a buffer slot, a sequence number); queues never read it.
    pub tag: u32,
    /// Another handle of the driver's own; queues never read it.
    pub note: u64,
    /// Flow key: equal for packets of one flow.
    pub flow: u64,
    /// When the packet was admitted to the queue, see [`Packet::admit`].
    pub enqueued: Time,
}

impl Packet {
    /// A packet of `size` bytes of `flow`, not ECN-capable, class 0.
    pub fn new(flow: u64, size: u32) -> Self {
        Packet {
            size,
            ecn: Ecn::NotEct,
            class: 0,
            ttl: 32,
            initial_ttl: 0,
            final_ttl: 0,
            rtt_hint_ms: 0,
            admitted_ecn: Ecn::NotEct,
            tag: 0,
            note: 0,
            flow,
            enqueued: Time::ZERO,
        }
    }

    /// The band of a packet that waits, see [`Discipline::bands`](crate::Discipline::bands).
    #[inline(always)]
    pub fn band(&self) -> usize {
        self.final_ttl.into()
    }

    /// A driver that measures bands sets that of an arrival.
    #[inline(always)]
    pub fn set_band(&mut self, band: usize) {
        self.final_ttl = band as u8;
    }

    /// A queue admits the packet at `now`, perhaps with a mark; a driver can later see whether a mark was added since.
    #[inline(always)]
    pub fn admit(&mut self, now: Time) {
        self.enqueued = now;
        self.admitted_ecn = self.ecn;
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_packet_is_small() {
        assert_eq!(std::mem::size_of::<Packet>(), 40);
    }
}
