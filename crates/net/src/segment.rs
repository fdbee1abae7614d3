//! What travels between hosts.

/// A TCP segment or its ACK on the way: a small plain value, copied from hop to hop.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Default)]
pub struct Segment {
    /// Index of the flow.
    pub flow: u32,
    /// Sequence number in segments (0 is the SYN), or on the way back the highest in-order one received.
    pub seq: i32,
    /// When the sender sent it, in [`Segment::TICKS_PER_SECOND`], modulo 2^32.
    pub born: u32,
    /// Size on the wire, bytes.
    pub size: u16,
    /// Position on the flow's route, from the sender out and back to it.
    pub hop: u8,
    /// ECN field in the low two bits; the run loop uses the upper four.
    pub bits: u8,
}

impl Segment {
    /// Resolution of `born`: 2^26 ticks a second, 15 ns, which wraps after 64 s.
    pub const TICKS_PER_SECOND: f64 = 67_108_864.0;

    /// `seconds` as a time stamp.
    #[inline(always)]
    pub fn stamp(seconds: f64) -> u32 {
        (seconds * Self::TICKS_PER_SECOND) as u64 as u32
    }

    /// Ticks between the sending of this segment and `now` (below 64 s).
    #[inline(always)]
    pub fn age_ticks(&self, now: f64) -> u32 {
        Self::stamp(now).wrapping_sub(self.born)
    }
}
