//! The wire format: 32-bit sequence numbers, segments and ACKs.

use super::accecn_option::AccecnOption;
use super::header::block_bytes;

/// A range of sequence numbers: the first, and the number after the last.
pub type Range = (u64, u64);

/// Sequence number `wire` of a connection that started with `first`, counted from the SYN (0): the number closest to
/// `near`; `None` if it is from before the connection (RFC 9293, 3.4: arithmetic modulo 2^32).
pub fn unwrap(wire: u32, first: u32, near: u64) -> Option<u64> {
    let distance = wire.wrapping_sub(first).wrapping_sub(near as u32) as i32;
    near.checked_add_signed(i64::from(distance))
}

/// The 32 bits of `number` on the wire.
pub fn wrap(number: u64, first: u32) -> u32 {
    first.wrapping_add(number as u32)
}

/// A segment that arrives at a receiver.
#[derive(Clone, Copy, Debug)]
pub struct Arrived {
    /// Sequence number on the wire.
    pub seq: u32,
    /// Payload, bytes.
    pub payload: u32,
    /// The segment's [`Segment::bits`](crate::Segment::bits).
    pub bits: u8,
    /// When it was sent, s: its time stamp (RFC 7323, `TSval`).
    pub stamp: f64,
    /// When it arrives, s.
    pub now: f64,
    /// The number that it acknowledges, on the wire; 0 with data one way only.
    pub ack: u32,
}

/// Most SACK blocks in an ACK: four fit into the options, three beside time stamps (RFC 2018, section 3).
pub const MOST_BLOCKS: usize = 4;

/// A segment's time of sending is rounded to a tick, by less than this, s.
pub(super) const ROUNDED: f64 = 1e-6;

/// Stands for the bytes of a window that never changes: the connection's.
pub const SAME_WINDOW: u32 = u32::MAX;

/// An ACK.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Feedback {
    /// The next sequence number expected, on the wire.
    pub ack: u32,
    /// Whether it acknowledges a SYN (SYN-ACK).
    pub syn: bool,
    /// Bytes of data in the same segment.
    pub carried: u16,
    /// Whether the first block is a DSACK (RFC 2883).
    pub duplicate: bool,
    /// ECE: a marked segment has arrived (RFC 3168); in the SYN-ACK agreement on ECN.
    pub echo: bool,
    /// Accurate ECN: the counter of marked packets modulo 8 (ACE); in a SYN-ACK its flags, AE being 4, CWR 2, ECE 1.
    pub ace: u8,
    /// The option of accurate ECN.
    pub accecn: AccecnOption,
    /// Number of SACK blocks.
    pub count: u8,
    /// SACK blocks on the wire, the newest first.
    pub blocks: [(u32, u32); MOST_BLOCKS],
    /// Bytes from [`ack`](Self::ack) on that the receiver has room for, or [`SAME_WINDOW`].
    pub window: u32,
    /// `TSval`: when the ACK was sent, s, if the receiver's window is autotuned.
    pub sent: f64,
    /// `TSecr`: when the segment that it echoes was sent, s; in QUIC the largest packet that it acknowledges.
    pub stamp: f64,
    /// One-way delay of the acknowledged segment, s; in QUIC how long the ACK was delayed.
    pub one_way: f64,
}

impl Feedback {
    /// A plain ACK.
    pub fn new(ack: u32, stamp: f64) -> Self {
        Feedback {
            ack,
            syn: false,
            carried: 0,
            duplicate: false,
            echo: false,
            ace: 0,
            accecn: AccecnOption::NONE,
            count: 0,
            blocks: [(0, 0); MOST_BLOCKS],
            window: SAME_WINDOW,
            sent: 0.0,
            stamp,
            one_way: 0.0,
        }
    }

    /// The blocks, as numbers of a connection that started with `first`, close to `near`.
    pub fn ranges(&self, first: u32, near: u64) -> ([Range; MOST_BLOCKS], usize) {
        let mut ranges = [(0, 0); MOST_BLOCKS];
        let mut count = 0;
        for &(start, end) in &self.blocks[..usize::from(self.count)] {
            if let (Some(start), Some(end)) = (unwrap(start, first, near), unwrap(end, first, near)) {
                ranges[count] = (start, end);
                count += 1;
            }
        }
        (ranges, count)
    }

    /// Bytes of the ACK's options beside time stamps, padded; not for a SYN-ACK.
    pub fn option_bytes(&self) -> u16 {
        block_bytes(self.count) + self.accecn.bytes(self.count > 0)
    }

    /// The ACK for the next segment: what is told once is not told again.
    pub fn again(mut self) -> Self {
        if self.duplicate {
            self.duplicate = false;
            self.blocks.rotate_left(1);
            self.count -= 1;
        }
        self.accecn = AccecnOption::NONE;
        self
    }

    /// The ACK with options that fit into `bytes`: SACK blocks give way from the last on, after the option of accurate
    /// ECN.
    pub fn within(mut self, bytes: u16) -> Self {
        if self.option_bytes() > bytes {
            self.accecn = AccecnOption::NONE;
        }
        while self.option_bytes() > bytes {
            self.count -= 1;
            self.duplicate &= self.count > 0;
        }
        self
    }

    /// Adds a block if there are fewer than `most`.
    pub fn push(&mut self, range: Range, first: u32, most: usize) {
        if usize::from(self.count) < most.min(MOST_BLOCKS) {
            self.blocks[usize::from(self.count)] = (wrap(range.0, first), wrap(range.1, first));
            self.count += 1;
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn numbers_go_on_beyond_32_bits() {
        let first = 0xffff_fff0;
        for number in [0_u64, 5, 100, 1 << 31, (1 << 32) + 7, 5 << 32] {
            for near in [number, number + 1_000_000, number.saturating_sub(2_000_000)] {
                assert_eq!(unwrap(wrap(number, first), first, near), Some(number));
            }
        }
        assert_eq!(unwrap(first.wrapping_sub(1), first, 10), None, "a connection before");
    }

    #[test]
    fn no_more_blocks_than_fit() {
        let mut feedback = Feedback::new(1, 0.0);
        for i in 0..5 {
            feedback.push((10 * i, 10 * i + 5), 7, 3);
        }
        let (ranges, count) = feedback.ranges(7, 20);
        assert_eq!(&ranges[..count], [(0, 5), (10, 15), (20, 25)]);
        assert_eq!(feedback.option_bytes(), 28);
        // The padding of blocks has space for two of accurate ECN's five bytes; alone the five are padded.
        feedback.accecn = AccecnOption::new(0, &[1]);
        let alone = Feedback { count: 0, ..feedback };
        assert_eq!([feedback.option_bytes(), alone.option_bytes()], [32, 8]);
    }
}
