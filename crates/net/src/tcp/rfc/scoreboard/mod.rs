//! The scoreboard of RFC 6675: the outstanding segments, when each was sent, whether it is SACKed, lost or
//! retransmitted.
//!
//! `IsLost` (section 4) is a mark that is set once, as further SACKs cannot revoke it; `pipe` is updated, not
//! recounted.

mod lost;
mod sack;

use super::wire::{Range, MOST_BLOCKS};
use std::collections::VecDeque;

/// The segment is SACKed.
const SACKED: u8 = 1;
/// The segment is marked lost.
const LOST: u8 = 2;
/// Retransmitted since it was marked lost (or by rule 3 of `NextSeg`), and the retransmission not known to be lost.
const IN_FLIGHT_AGAIN: u8 = 4;
/// The segment was sent more than once.
const RETRANSMITTED: u8 = 8;
/// The segment's last sequence number is the FIN.
const FIN: u8 = 16;

/// Number of duplicate ACKs, or discontiguous ranges, that make a segment count as lost (RFC 6675, `DupThresh`).
pub const DUP_THRESH: u32 = 3;

/// A segment that has been sent.
#[derive(Clone, Copy, Debug)]
pub struct Record {
    /// First sequence number.
    pub start: u64,
    /// When it was sent last, s.
    pub sent: f64,
    /// Number of sequence numbers.
    pub len: u32,
    flags: u8,
}

impl Record {
    /// The number after the segment's last.
    pub fn end(&self) -> u64 {
        self.start + u64::from(self.len)
    }

    /// Whether the segment is SACKed.
    pub fn is_sacked(&self) -> bool {
        self.flags & SACKED != 0
    }

    /// Whether the segment is marked lost.
    pub fn is_lost(&self) -> bool {
        self.flags & LOST != 0
    }

    /// Whether the segment was retransmitted since it was marked lost, so that it is in flight.
    pub fn is_in_flight_again(&self) -> bool {
        self.flags & IN_FLIGHT_AGAIN != 0
    }

    /// Whether the segment was sent more than once.
    pub fn is_retransmitted(&self) -> bool {
        self.flags & RETRANSMITTED != 0
    }

    /// Whether the segment ends the connection.
    pub fn is_fin(&self) -> bool {
        self.flags & FIN != 0
    }

    /// Payload, bytes.
    pub fn payload(&self) -> u32 {
        self.len - u32::from(self.is_fin())
    }
}

/// A newly delivered segment.
#[derive(Clone, Copy, Debug)]
pub struct Delivered {
    /// The segment's record before the delivery.
    pub record: Record,
    /// The segment's number in the connection, from 0 on.
    pub number: u64,
    /// Whether a SACK block delivers it, not the cumulative ACK.
    pub by_sack: bool,
}

/// The segments between the highest cumulative ACK and the highest sent.
#[derive(Clone, Debug)]
pub struct Scoreboard {
    records: VecDeque<Record>,
    /// Number of the first record, counted over the connection.
    first: u64,
    mss: u64,
    /// Numbers of sequence numbers that are SACKed, lost, and in flight again.
    sacked: u64,
    lost: u64,
    in_flight_again: u64,
    outstanding: u64,
    /// Number of segments that are SACKed; below, of those sent more than once.
    sacked_segments: usize,
    retransmitted_segments: usize,
    /// The number after the highest SACKed.
    highest_sacked: u64,
    /// Below this number every segment is SACKed or marked lost.
    loss_edge: u64,
    /// Below this number all lost segments are retransmitted; below, the number of the first segment that may not be.
    waiting_from: u64,
    waiting: u64,
    /// The SACK blocks of the last ACK, as ranges and as on the wire, and their number (0 if they are obsolete).
    known: [Range; MOST_BLOCKS],
    on_wire: [(u32, u32); MOST_BLOCKS],
    blocks: u8,
    /// Numbers of the segment SACKed last, of the highest SACKed, and of the segment at `loss_edge`: searches start
    /// there.
    last_sacked: u64,
    highest: u64,
    edge: u64,
    /// Numbers of the segments newly marked lost, if the caller asks for them.
    newly_lost: Option<Vec<u64>>,
}

impl Scoreboard {
    /// A scoreboard without segments. Most segments will have `mss` bytes of payload.
    pub fn new(mss: u32) -> Self {
        Scoreboard {
            records: VecDeque::new(),
            first: 0,
            mss: u64::from(mss),
            sacked: 0,
            lost: 0,
            in_flight_again: 0,
            outstanding: 0,
            sacked_segments: 0,
            retransmitted_segments: 0,
            highest_sacked: 0,
            loss_edge: 0,
            waiting_from: 0,
            waiting: 0,
            known: [(0, 0); MOST_BLOCKS],
            on_wire: [(0, 0); MOST_BLOCKS],
            blocks: 0,
            last_sacked: 0,
            highest: 0,
            edge: 0,
            newly_lost: None,
        }
    }

    /// Keeps the numbers of segments newly marked lost for [`Scoreboard::take_newly_lost`].
    pub fn noting_losses(self) -> Self {
        Scoreboard { newly_lost: Some(Vec::new()), ..self }
    }

    /// The numbers of segments marked lost since the last call.
    pub fn take_newly_lost(&mut self) -> Vec<u64> {
        self.newly_lost.as_mut().map(std::mem::take).unwrap_or_default()
    }

    /// Sequence numbers sent and not cumulatively acknowledged (RFC 5681, FlightSize).
    pub fn outstanding(&self) -> u64 {
        self.outstanding
    }

    /// SACKed sequence numbers above the cumulative ACK.
    pub fn sacked(&self) -> u64 {
        self.sacked
    }

    /// SACKed segments above the cumulative ACK.
    pub fn sacked_segments(&self) -> usize {
        self.sacked_segments
    }

    /// Sequence numbers marked lost and not SACKed since.
    pub fn lost(&self) -> u64 {
        self.lost
    }

    /// Number of sequence numbers in flight again.
    pub fn in_flight_again(&self) -> u64 {
        self.in_flight_again
    }

    /// In flight (RFC 6675, `pipe`): segments neither SACKed nor lost, and retransmissions.
    pub fn pipe(&self) -> u64 {
        self.outstanding - self.sacked - self.lost + self.in_flight_again
    }

    /// Whether no segment is lost or in flight again.
    pub fn is_whole(&self) -> bool {
        self.lost == 0 && self.in_flight_again == 0
    }

    /// Whether, in addition, no segment is SACKed or retransmitted.
    pub fn is_plain(&self) -> bool {
        self.is_whole() && self.sacked_segments == 0 && self.retransmitted_segments == 0
    }

    /// The first outstanding segment.
    pub fn front(&self) -> Option<&Record> {
        self.records.front()
    }

    /// How many segments are outstanding.
    pub fn len(&self) -> usize {
        self.records.len()
    }

    /// Whether no segment is outstanding.
    pub fn is_empty(&self) -> bool {
        self.records.is_empty()
    }

    /// The record of the outstanding segment at `index`.
    pub fn get(&self, index: usize) -> Option<&Record> {
        self.records.get(index)
    }

    /// Number of the segment at `index`.
    pub fn number(&self, index: usize) -> u64 {
        self.first + index as u64
    }

    /// Adds a new segment that has been sent.
    pub fn sent(&mut self, start: u64, len: u32, fin: bool, now: f64) {
        self.records.push_back(Record { start, sent: now, len, flags: if fin { FIN } else { 0 } });
        self.outstanding += u64::from(len);
    }

    /// Notes that the segment at `index` has been retransmitted; `counts`: it counts as one more in flight.
    pub fn retransmitted(&mut self, index: usize, now: f64, counts: bool) {
        let record = &mut self.records[index];
        record.sent = now;
        self.retransmitted_segments += usize::from(!record.is_retransmitted());
        record.flags |= RETRANSMITTED;
        if counts && record.flags & IN_FLIGHT_AGAIN == 0 {
            record.flags |= IN_FLIGHT_AGAIN;
            self.in_flight_again += u64::from(record.len);
        }
    }

    /// Removes the segments that a cumulative ACK covers; those not SACKed before go to `delivered`. Returns how many
    /// sequence numbers those have.
    pub fn acknowledge(&mut self, ack: u64, mut delivered: impl FnMut(Delivered)) -> u64 {
        let mut fresh = 0;
        while let Some(&record) = self.records.front() {
            if record.start >= ack {
                break;
            }
            if record.end() > ack {
                // Does not occur with receivers that keep segments whole.
                fresh += self.trim_front((ack - record.start) as u32);
                break;
            }
            self.records.pop_front();
            let number = self.first;
            self.first += 1;
            if record.flags & !FIN == 0 {
                self.outstanding -= u64::from(record.len);
                fresh += u64::from(record.len);
                delivered(Delivered { record, number, by_sack: false });
                continue;
            }
            self.sacked_segments -= usize::from(record.is_sacked());
            self.retransmitted_segments -= usize::from(record.is_retransmitted());
            self.take_out(&record, u64::from(record.len));
            if !record.is_sacked() {
                fresh += u64::from(record.len);
                delivered(Delivered { record, number, by_sack: false });
            }
        }
        fresh
    }

    fn take_out(&mut self, record: &Record, len: u64) {
        self.outstanding -= len;
        if record.is_sacked() {
            self.sacked -= len;
        }
        if record.is_lost() {
            self.lost -= len;
        }
        if record.is_in_flight_again() {
            self.in_flight_again -= len;
        }
    }

    fn trim_front(&mut self, by: u32) -> u64 {
        let record = self.records[0];
        self.take_out(&record, u64::from(by));
        let front = &mut self.records[0];
        front.start += u64::from(by);
        front.len -= by;
        if record.is_sacked() {
            0
        } else {
            u64::from(by)
        }
    }

    /// Index of the segment that contains `seq`, or of the next one.
    pub fn index_of(&self, seq: u64) -> usize {
        let Some(front) = self.records.front() else { return 0 };
        if seq <= front.start {
            return 0;
        }
        let guess = (seq.saturating_sub(front.start) / self.mss.max(1)) as usize;
        match self.records.get(guess) {
            Some(record) if record.start <= seq && seq < record.end() => guess,
            _ if self.records.back().is_none_or(|last| last.end() <= seq) => self.records.len(),
            _ => self.records.partition_point(|record| record.end() <= seq),
        }
    }

    /// [`Scoreboard::index_of`], with the likely number of that segment.
    #[inline]
    fn index_near(&self, seq: u64, number: u64) -> usize {
        let index = number.wrapping_sub(self.first) as usize;
        match self.records.get(index) {
            Some(record) if record.start <= seq && seq < record.end() => index,
            _ => self.index_of(seq),
        }
    }
}

#[cfg(test)]
mod tests;
