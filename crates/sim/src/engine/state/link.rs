//! State of a link, and the order of packets that wait without events.

use super::order::Key;
use crate::engine::plan::Mode;
use earlydrop_aqm::Time;
use earlydrop_net::segment::SYN;
use earlydrop_net::tcp::sizes::ACK_BYTES;
use earlydrop_net::{Segment, Wire};

/// Index of no port, slot or application.
pub const NONE: u32 = u32::MAX;

/// State of one direction of a link.
#[repr(align(64))]
pub struct Link {
    pub wire: Wire,
    /// When the event that started the current transmission was scheduled; for a sender's own analytic link that of the
    /// first transmission since it was idle.
    pub cause: f64,
    /// Number of the end of the current transmission, taken at its start.
    pub reserved: u64,
    /// Waiting packets of a stepped link without a port: a list in the pool. At a slow fold or own link `head` is the
    /// chain of the next packet, if it waits, and `tail` the size of a full segment (0: ACKs of several sizes pass).
    pub head: u32,
    pub tail: u32,
    pub mode: Mode,
    /// Whether it has an entry in `Engine::media`.
    pub varies: bool,
    /// The port, or for a merge that packets may pass ahead of time its index in `Engine::merges`.
    pub port: u32,
}

/// The chain: the order of a packet among those that start simultaneously on links that are alike (`docs/engine.md`,
/// rules 7 and 8), lower first. It is 0 if the packet has not waited. Else it is the number of transmissions before it
/// without a pause (23 bits); above these a bit if a short segment was among them, after which the number counts down
/// the ones since; and above it 8 bits for what rounding has made equal. Where ACKs of several sizes pass, the sizes of
/// the last six replace the number: the last in the highest bits, and larger sizes as lower values.
pub type Chain = u32;
const AFTER_SHORT: Chain = 1 << 23;
const COUNT: Chain = AFTER_SHORT - 1;
const ROUNDING_SHIFT: u32 = 24;
const ORDER: Chain = (1 << ROUNDING_SHIFT) - 1;
/// Of a size: bits, and bytes per step.
const SIZE_BITS: u32 = 4;
const SIZE_STEP: u32 = 4;
const SIZES: u32 = (1 << SIZE_BITS) - 1;

impl Link {
    /// Whether the last transmission has ended before the event `key`.
    #[inline(always)]
    pub fn is_free(&self, key: Key) -> bool {
        (self.wire.free, self.wire.started, self.reserved) < (key.now, key.scheduled, key.number)
    }

    /// End of the last transmission, if it is before the event `key`.
    #[inline(always)]
    pub fn free_since(&self, key: Key) -> Option<Time> {
        self.is_free(key).then(|| Time::from_seconds(self.wire.free))
    }

    /// A packet is ready for a slow fold or own link at `ready`, by an event scheduled at `scheduled`; returns its
    /// start, arrival and chain.
    ///
    /// `one_size`: all packets but SYNs have one size.
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

    /// Records rounding. Doubles become coarser at every power of two, so the followers of two packets that started one
    /// step apart may start simultaneously. The rounding error of the sum tells which was first.
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

/// The chain of the packet behind a segment of `bytes` with the chain `chain`, at a link whose full segments have
/// `full` bytes (0: ACKs of several sizes pass), if that segment or one before it was not full.
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
        // In the order of the transmissions before them: none; then by the last one, larger first; then by earlier
        // ones.
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
