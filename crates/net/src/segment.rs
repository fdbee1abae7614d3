//! What travels between hosts.

/// A TCP segment or its ACK on the way: a small plain value, copied from hop to hop.
///
/// Two machine words instead of six fields: a copy is then two register moves, where narrow stores followed by a
/// wide load would stall the processor at every hop.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Default)]
pub struct Segment {
    /// Sequence number (high half) and flow (low half).
    who: u64,
    /// Time stamp (32 bits), size (16), hop (8), bits (8).
    what: u64,
}

impl Segment {
    /// Resolution of the time stamp: 2^26 ticks a second, 15 ns, which wraps after 64 s.
    pub const TICKS_PER_SECOND: f64 = 67_108_864.0;

    /// Segment `seq` (0 is the SYN; on the way back: the highest in-order one received) of `flow`, of `size` bytes
    /// on the wire, sent at the time stamp `born`.
    #[inline(always)]
    pub fn new(flow: u32, seq: i32, born: u32, size: u16) -> Self {
        Segment {
            who: u64::from(seq as u32) << 32 | u64::from(flow),
            what: u64::from(born) << 32 | u64::from(size) << 16,
        }
    }

    /// Index of the flow.
    #[inline(always)]
    pub fn flow(&self) -> u32 {
        self.who as u32
    }

    /// Sequence number in segments.
    #[inline(always)]
    pub fn seq(&self) -> i32 {
        (self.who >> 32) as i32
    }

    /// Size on the wire, bytes.
    #[inline(always)]
    pub fn size(&self) -> u16 {
        (self.what >> 16) as u16
    }

    /// Position on the flow's route, from the sender out and back to it.
    #[inline(always)]
    pub fn hop(&self) -> usize {
        (self.what >> 8) as usize & 0xff
    }

    /// ECN field in the low two bits; the run loop uses the upper four.
    #[inline(always)]
    pub fn bits(&self) -> u8 {
        self.what as u8
    }

    /// The segment, one hop on. A route has fewer than 255 hops.
    #[inline(always)]
    pub fn at_next_hop(self) -> Self {
        Segment { what: self.what + (1 << 8), ..self }
    }

    /// The segment with other bits.
    #[inline(always)]
    pub fn with_bits(self, bits: u8) -> Self {
        Segment { what: self.what & !0xff | u64::from(bits), ..self }
    }

    /// The acknowledgement that the receiver sends in answer, one hop on.
    #[inline(always)]
    pub fn answered(self, ack: i32, size: u16) -> Self {
        let kept = self.what & 0xffff_ffff_0000_ff00;
        Segment {
            who: u64::from(ack as u32) << 32 | u64::from(self.flow()),
            what: (kept + (1 << 8)) | (u64::from(size) << 16),
        }
    }

    /// `seconds` as a time stamp.
    #[inline(always)]
    pub fn stamp(seconds: f64) -> u32 {
        (seconds * Self::TICKS_PER_SECOND) as i64 as u32
    }

    /// Ticks between the sending of this segment and `now` (below 64 s).
    #[inline(always)]
    pub fn age_ticks(&self, now: f64) -> u32 {
        Self::stamp(now).wrapping_sub((self.what >> 32) as u32)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn keeps_its_fields_apart() {
        let segment = Segment::new(u32::MAX, -1, 7, u16::MAX).with_bits(0xf3).at_next_hop();
        assert_eq!((segment.flow(), segment.seq(), segment.size()), (u32::MAX, -1, u16::MAX));
        assert_eq!((segment.hop(), segment.bits()), (1, 0xf3));
        let ack = segment.answered(12, 40);
        assert_eq!((ack.flow(), ack.seq(), ack.size(), ack.hop(), ack.bits()), (u32::MAX, 12, 40, 2, 0));
    }

    #[test]
    fn age_survives_the_wrap_of_the_stamp() {
        let sent = 63.999;
        let segment = Segment::new(0, 1, Segment::stamp(sent), 1000);
        let age = f64::from(segment.age_ticks(64.101)) / Segment::TICKS_PER_SECOND;
        assert!((age - 0.102).abs() < 1e-7);
    }
}
