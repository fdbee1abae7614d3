//! The state of a link, and where packets that wait without events stand among one another.

use super::order::Key;
use crate::engine::plan::Mode;
use earlydrop_net::segment::SYN;
use earlydrop_net::tcp::sizes::ACK_BYTES;
use earlydrop_net::{Segment, Wire};

/// No port, no slot, no application.
pub const NONE: u32 = u32::MAX;

/// A link in one direction.
#[repr(align(64))]
pub struct Link {
    pub wire: Wire,
    /// When the event that began the present transmission was scheduled; for a sender's own link that needs no events,
    /// the first transmission since it was idle.
    pub cause: f64,
    /// Number of the end of the present transmission, taken when it began.
    pub reserved: u64,
    /// Packets that wait at a plain stepped link: a list in the pool. At a slow fold or a sender's own link `head` is
    /// the chain of the next packet, if it waits, and `tail` the size of a full segment (0: ACKs of several sizes pass).
    pub head: u32,
    pub tail: u32,
    pub mode: Mode,
    /// Whether it has a place in `Engine::media`.
    pub varies: bool,
    /// The port, or for a merge that packets may pass ahead of time its place in `Engine::merges`.
    pub port: u32,
}

/// Where a packet stands among those that started at the same time on links that are alike (`docs/engine.md`, rules 7
/// and 8): 0 if it has not waited, else the number of transmissions before it without a pause (23 bits), above them
/// whether a short segment was among these (a bit; then those since are counted, downwards), and what rounding has made
/// equal (8 bits). Where ACKs of several sizes pass, the sizes of the last six stand in place of a number, the last first and
/// the largest least. Less comes first.
pub type Chain = u32;
const AFTER_SHORT: Chain = 1 << 23;
const COUNT: Chain = AFTER_SHORT - 1;
const ROUNDING_SHIFT: u32 = 24;
const ORDER: Chain = (1 << ROUNDING_SHIFT) - 1;
/// Of a size: bits, and bytes from one to the next.
const SIZE_BITS: u32 = 4;
const SIZE_STEP: u32 = 4;
const SIZES: u32 = (1 << SIZE_BITS) - 1;

impl Link {
    /// Whether the last transmission has ended before the event `key`.
    #[inline(always)]
    pub fn is_free(&self, key: Key) -> bool {
        (self.wire.free, self.wire.started, self.reserved) < (key.now, key.scheduled, key.number)
    }

    /// A packet is ready for a slow fold or a sender's own link at `ready`, by an event that was scheduled at
    /// `scheduled`: its start, arrival and chain.
    ///
    /// `one_size`: all that pass have one size, but SYNs.
    #[inline(always)]
    pub fn pass(&mut self, segment: &Segment, ready: f64, scheduled: f64, one_size: bool) -> (f64, f64, Chain) {
        let (start, chain) = if self.wire.waits(ready, scheduled) { (self.wire.free, self.head) } else { (ready, 0) };
        let arrival = self.wire.send(start, segment.size());
        let next = chain + u32::from(chain & COUNT != COUNT);
        self.head = if one_size {
            if segment.bits() & SYN != 0 {
                next | AFTER_SHORT
            } else {
                next
            }
        } else if (u32::from(segment.size()) ^ self.tail) | (chain & AFTER_SHORT) == 0 {
            next
        } else {
            behind(chain, segment.size(), self.tail)
        };
        if (self.wire.free.to_bits() ^ start.to_bits()) >> 52 != 0 {
            self.note_rounding(segment.size());
        }
        (start, arrival, chain)
    }

    /// Doubles become coarser at every power of two, so that two packets that started one step apart can have
    /// followers that start at one time. The error of the sum tells which was the first.
    #[inline(never)]
    fn note_rounding(&mut self, bytes: u16) {
        let error = self.wire.transmission(bytes) - (self.wire.free - self.wire.started);
        let side = if error < 0.0 {
            0
        } else if error == 0.0 {
            1
        } else {
            2
        };
        let before = self.head >> ROUNDING_SHIFT;
        let rest = self.head & ((1 << ROUNDING_SHIFT) - 1);
        self.head = (side << 6 | before >> 2) << ROUNDING_SHIFT | rest;
    }
}

/// The chain of what waits behind a segment of so many bytes, which had the place `chain`, at a link where full segments
/// have `full` bytes (0: ACKs of several sizes pass), if that segment was not full or others before were not.
#[inline(never)]
fn behind(chain: Chain, bytes: u16, full: u32) -> Chain {
    if full == 0 {
        let size = SIZES - (u32::from(bytes.saturating_sub(ACK_BYTES)) / SIZE_STEP).min(SIZES - 1);
        chain & !ORDER | size << (ROUNDING_SHIFT - SIZE_BITS) | (chain & ORDER) >> SIZE_BITS
    } else if u32::from(bytes) < full {
        chain & !ORDER | AFTER_SHORT | COUNT
    } else {
        chain - u32::from(chain & COUNT != 0)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_waits_behind_packets_of_several_sizes() {
        // In the order in which the transmissions before them began: none, then by the last, the larger first, then by those
        // before it.
        let behind_acks = |sizes: &[u16]| sizes.iter().fold(0, |chain, &bytes| behind(chain, bytes, 0));
        let order: [&[u16]; 9] =
            [&[], &[76], &[76, 76], &[40, 76], &[68], &[76, 52], &[40], &[76, 40], &[40, 40, 40, 40, 40, 40]];
        assert!(order.is_sorted_by(|first, next| behind_acks(first) < behind_acks(next)));
        assert_eq!(behind(5 << ROUNDING_SHIFT, 40, 0) >> ROUNDING_SHIFT, 5, "what rounding has made equal goes before");
        // Behind a short segment last, and of these the longer chain first.
        let full = 1000;
        let first = behind(3, 40, full);
        let second = behind(first, 1000, full);
        assert!(COUNT < second && second < first && first <= ORDER);
    }
}
