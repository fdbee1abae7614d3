//! SACK blocks.

use super::{Delivered, Scoreboard, FIN, IN_FLIGHT_AGAIN, LOST, RETRANSMITTED, SACKED};
use crate::tcp::rfc::wire::{Feedback, Range, MOST_BLOCKS};

/// Most sequence numbers by which a block may have grown since the last ACK.
const MOST_MORE: u64 = 1 << 30;

impl Scoreboard {
    /// Whether the blocks of an ACK are those of the last one.
    pub fn knows(&self, feedback: &Feedback) -> bool {
        let count = usize::from(feedback.count);
        !feedback.duplicate && feedback.count == self.blocks && feedback.blocks[..count] == self.on_wire[..count]
    }

    /// The fast path of [`sack`](Self::sack): the blocks of the last ACK, but for a later end of the first one. `None`
    /// if the blocks differ otherwise.
    #[inline]
    pub fn sack_more(&mut self, feedback: &Feedback, mut delivered: impl FnMut(Delivered)) -> Option<u64> {
        let (now, before) = (&feedback.blocks, &self.on_wire);
        let more = u64::from(now[0].1.wrapping_sub(before[0].1));
        let (from, end) = (self.known[0].1, self.known[0].1 + more);
        if feedback.duplicate
            || feedback.count != self.blocks
            || now[0].0 != before[0].0
            || (feedback.count > 1 && now[1..] != before[1..])
            || more > MOST_MORE
            || self.records.is_empty()
        {
            return None;
        }
        self.on_wire[0].1 = now[0].1;
        self.known[0].1 = end;
        self.highest_sacked = self.highest_sacked.max(end);
        let index = self.index_near(from, self.last_sacked + 1);
        Some(self.sack_from(index, from, end, &mut delivered))
    }

    /// Takes in the blocks of an ACK; newly SACKed segments go to `delivered`; returns how many sequence numbers they
    /// have. `on_wire` has the blocks for comparison with the next ACK's ([`sack_more`](Self::sack_more)).
    pub fn sack(&mut self, blocks: &[Range], on_wire: Option<&Feedback>, mut delivered: impl FnMut(Delivered)) -> u64 {
        self.blocks = 0;
        let Some(front) = self.records.front().map(|record| record.start) else {
            self.known = [(0, 0); MOST_BLOCKS];
            return 0;
        };
        if let Some(feedback) = on_wire {
            (self.on_wire, self.blocks) = (feedback.blocks, feedback.count);
        }
        let mut fresh = 0;
        let known = self.known;
        for &(start, end) in blocks {
            let start = start.max(front);
            if start >= end {
                continue;
            }
            // The last ACK may have SACKed most of the block.
            let inside = known.into_iter().find(|&(from, to)| start <= from.max(front) && to <= end && from < to);
            match inside {
                Some((from, to)) => {
                    fresh += self.sack_range(start, from.max(front), &mut delivered);
                    fresh += self.sack_range(to.max(front), end, &mut delivered);
                }
                None => fresh += self.sack_range(start, end, &mut delivered),
            }
            self.highest_sacked = self.highest_sacked.max(end);
        }
        self.known = [(0, 0); MOST_BLOCKS];
        self.known.iter_mut().zip(blocks).for_each(|(known, &block)| *known = block);
        fresh
    }

    fn sack_range(&mut self, start: u64, end: u64, delivered: &mut impl FnMut(Delivered)) -> u64 {
        if start >= end {
            return 0;
        }
        self.sack_from(self.index_of(start), start, end, delivered)
    }

    #[inline(always)]
    fn sack_from(&mut self, mut index: usize, start: u64, end: u64, delivered: &mut impl FnMut(Delivered)) -> u64 {
        let mut fresh = 0;
        while let Some(record) = self.records.get_mut(index) {
            if record.end() > end {
                break;
            }
            if !record.is_sacked() && record.start >= start {
                let before = *record;
                let len = u64::from(record.len);
                record.flags |= SACKED;
                self.sacked += len;
                self.sacked_segments += 1;
                fresh += len;
                if before.flags & (LOST | IN_FLIGHT_AGAIN) != 0 {
                    record.flags &= FIN | RETRANSMITTED | SACKED;
                    if before.is_lost() {
                        self.lost -= len;
                    }
                    if before.is_in_flight_again() {
                        self.in_flight_again -= len;
                    }
                }
                self.last_sacked = self.first + index as u64;
                self.highest = self.highest.max(self.last_sacked);
                delivered(Delivered { record: before, number: self.last_sacked, by_sack: true });
            }
            index += 1;
        }
        fresh
    }
}
