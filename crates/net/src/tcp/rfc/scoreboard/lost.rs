//! Which segments are lost, and which are retransmitted next.

use super::{Record, Scoreboard, DUP_THRESH, IN_FLIGHT_AGAIN, LOST, SACKED};
use crate::tcp::rfc::wire::MOST_BLOCKS;

impl Scoreboard {
    /// Marks lost segments by `IsLost` (RFC 6675, section 4): three discontiguous SACKed ranges are above, or more than
    /// two full segments. Returns how many sequence numbers are newly lost.
    #[inline]
    pub fn find_losses(&mut self) -> u64 {
        let mut index = self.index_near(self.highest_sacked.saturating_sub(1), self.highest);
        let (mut bytes, mut ranges, mut in_range) = (0, 0, false);
        loop {
            let Some(record) = self.records.get(index) else { return 0 };
            if record.is_sacked() {
                bytes += u64::from(record.len);
                ranges += u32::from(!in_range);
            }
            in_range = record.is_sacked();
            if bytes > u64::from(DUP_THRESH - 1) * self.mss || ranges >= DUP_THRESH {
                break;
            }
            if index == 0 {
                return 0;
            }
            index -= 1;
        }
        let edge = self.records[index].start;
        if edge <= self.loss_edge {
            return 0;
        }
        let mut newly = 0;
        for at in self.index_near(self.loss_edge, self.edge)..index {
            newly += self.mark_lost(at);
        }
        self.loss_edge = edge;
        self.edge = self.first + index as u64;
        newly
    }

    /// Marks the segment at `index` lost unless it is SACKed. Returns its length if it is newly lost, else 0.
    pub fn mark_lost(&mut self, index: usize) -> u64 {
        let record = &mut self.records[index];
        if record.flags & (SACKED | LOST) != 0 {
            return 0;
        }
        record.flags |= LOST;
        self.lost += u64::from(record.len);
        self.waiting_from = self.waiting_from.min(record.start);
        let len = u64::from(record.len);
        self.note_lost(index);
        len
    }

    fn note_lost(&mut self, index: usize) {
        if let Some(numbers) = &mut self.newly_lost {
            numbers.push(self.first + index as u64);
        }
    }

    /// Marks the segment at `index`, or its retransmission, lost. Returns its length if it is newly lost, else 0.
    pub fn mark_retransmission_lost(&mut self, index: usize) -> u64 {
        let record = &mut self.records[index];
        if record.flags & (SACKED | IN_FLIGHT_AGAIN) != IN_FLIGHT_AGAIN {
            return self.mark_lost(index);
        }
        let (len, start, was_lost) = (u64::from(record.len), record.start, record.is_lost());
        record.flags = record.flags & !IN_FLIGHT_AGAIN | LOST;
        self.in_flight_again -= len;
        if !was_lost {
            self.lost += len;
        }
        self.waiting_from = self.waiting_from.min(start);
        self.note_lost(index);
        len
    }

    /// Makes no segment count as lost any more. With `timed_out` SACKs decide again on all segments; else not on those
    /// that were lost before.
    pub fn forget_losses(&mut self, timed_out: bool) {
        self.records.iter_mut().for_each(|record| record.flags &= !LOST);
        self.lost = 0;
        if timed_out {
            self.loss_edge = 0;
        }
    }

    /// The retransmission timer has expired: the first segment is lost, and every segment not SACKed that was last sent
    /// at `since` or before. SACKs are kept unless the receiver has reneged: then the first segment is SACKed and not
    /// acknowledged (RFC 2018, section 8).
    pub fn mark_all_lost(&mut self, since: f64) {
        if self.records.front().is_some_and(Record::is_sacked) {
            self.records.iter_mut().for_each(|record| record.flags &= !SACKED);
            self.sacked = 0;
            self.sacked_segments = 0;
            self.highest_sacked = 0;
            self.known = [(0, 0); MOST_BLOCKS];
            self.blocks = 0;
        }
        (self.lost, self.in_flight_again) = (0, 0);
        for (index, record) in self.records.iter_mut().enumerate() {
            if record.flags & SACKED == 0 && (index == 0 || record.sent <= since) {
                if let Some(numbers) =
                    self.newly_lost.as_mut().filter(|_| record.flags & (LOST | IN_FLIGHT_AGAIN) != LOST)
                {
                    numbers.push(self.first + index as u64);
                }
                record.flags = record.flags & !IN_FLIGHT_AGAIN | LOST;
            } else if record.flags & SACKED != 0 {
                record.flags &= !IN_FLIGHT_AGAIN;
            }
            let len = u64::from(record.len);
            self.lost += if record.flags & LOST != 0 { len } else { 0 };
            self.in_flight_again += if record.flags & IN_FLIGHT_AGAIN != 0 { len } else { 0 };
        }
        self.waiting_from = 0;
        if since == f64::INFINITY {
            self.loss_edge = self.records.back().map_or(0, Record::end);
        }
    }

    /// The first lost segment that has not been retransmitted (RFC 6675, `NextSeg` rule 1).
    #[inline(always)]
    pub fn next_lost(&mut self) -> Option<usize> {
        if self.lost == 0 {
            return None;
        }
        let mut index = self.index_near(self.waiting_from, self.waiting);
        while let Some(record) = self.records.get(index) {
            if record.flags & (LOST | IN_FLIGHT_AGAIN) == LOST {
                self.waiting_from = record.start;
                self.waiting = self.first + index as u64;
                return Some(index);
            }
            index += 1;
        }
        self.waiting_from = self.records.back().map_or(self.waiting_from, Record::end);
        self.waiting = self.first + index as u64;
        None
    }

    /// The first segment below the highest SACKed that is neither SACKed nor in flight again (`NextSeg` rule 3).
    pub fn next_hole(&self) -> Option<usize> {
        (0..self.records.len())
            .take_while(|&index| self.records[index].start < self.highest_sacked)
            .find(|&index| self.records[index].flags & (SACKED | IN_FLIGHT_AGAIN) == 0)
    }

    /// The highest segment that is not SACKed (`NextSeg` rule 4).
    pub fn last_hole(&self) -> Option<usize> {
        self.records.iter().rposition(|record| !record.is_sacked())
    }
}
