//! The scoreboard: what is outstanding, segment by segment: when it was sent, how often, whether it is SACKed or lost.
//!
//! The rules are those of RFC 6675: `IsLost` (section 4) becomes a mark that is set once, since more SACKed data above a
//! segment cannot take it back; `pipe` is kept as it changes and not counted anew.

use super::wire::{Feedback, MOST_BLOCKS};
use std::collections::VecDeque;

/// A range of sequence numbers: the first, and one behind the last.
pub type Range = (u64, u64);

/// SACKed.
const SACKED: u8 = 1;
/// Marked lost.
const LOST: u8 = 2;
/// Retransmitted since it was marked lost (or by rule 3 of `NextSeg`), and the retransmission is not known to be lost.
const IN_FLIGHT_AGAIN: u8 = 4;
/// Sent more than once.
const RETRANSMITTED: u8 = 8;
/// Its last sequence number is the FIN.
const FIN: u8 = 16;

/// By how many sequence numbers a block may have grown and still be the one of the ACK before.
const MOST_MORE: u64 = 1 << 30;

/// Duplicate ACKs, or discontiguous ranges, that say that a segment is lost (RFC 6675, `DupThresh`).
pub const DUP_THRESH: u32 = 3;

/// A segment that has been sent.
#[derive(Clone, Copy, Debug)]
pub struct Record {
    /// Its first sequence number.
    pub start: u64,
    /// When it was sent last, s.
    pub sent: f64,
    /// Sequence numbers that it takes.
    pub len: u32,
    flags: u8,
}

impl Record {
    /// One behind its last sequence number.
    pub fn end(&self) -> u64 {
        self.start + u64::from(self.len)
    }

    /// Whether it is SACKed.
    pub fn is_sacked(&self) -> bool {
        self.flags & SACKED != 0
    }

    /// Whether it is marked lost.
    pub fn is_lost(&self) -> bool {
        self.flags & LOST != 0
    }

    /// The marks of this segment, added to those of others.
    pub fn add_marks(&self, others: &mut u8) {
        *others |= self.flags;
    }

    /// Whether one of the segments whose marks have been added is [`Record::is_in_flight_again`].
    pub fn any_in_flight_again(marks: u8) -> bool {
        marks & IN_FLIGHT_AGAIN != 0
    }

    /// Whether it was retransmitted since it was marked lost, and counts as in flight for that.
    pub fn is_in_flight_again(&self) -> bool {
        self.flags & IN_FLIGHT_AGAIN != 0
    }

    /// Whether it was sent more than once.
    pub fn is_retransmitted(&self) -> bool {
        self.flags & RETRANSMITTED != 0
    }

    /// Whether it ends the connection.
    pub fn is_fin(&self) -> bool {
        self.flags & FIN != 0
    }

    /// Payload, bytes.
    pub fn payload(&self) -> u32 {
        self.len - u32::from(self.is_fin())
    }
}

/// A segment that an ACK says has arrived.
#[derive(Clone, Copy, Debug)]
pub struct Delivered {
    /// Its record as it was.
    pub record: Record,
    /// How many segments had been sent before it in the connection, to find what else is kept of it.
    pub number: u64,
    /// By a SACK block, not by the cumulative ACK.
    pub by_sack: bool,
}

/// The segments between the highest cumulative ACK and the highest sent.
#[derive(Clone, Debug)]
pub struct Scoreboard {
    records: VecDeque<Record>,
    /// Number of the first record, counted over the connection.
    first: u64,
    mss: u64,
    /// Sequence numbers that are SACKed, lost, and in flight again.
    sacked: u64,
    lost: u64,
    in_flight_again: u64,
    outstanding: u64,
    /// Segments that are SACKed, and that were sent more than once.
    sacked_segments: usize,
    retransmitted_segments: usize,
    /// Without SACK: segments behind the first that duplicate ACKs count as arrived, and their length.
    emulated_sacks: usize,
    emulated: u64,
    /// One behind the highest SACKed number.
    highest_sacked: u64,
    /// Below this every segment is SACKed or marked lost.
    loss_edge: u64,
    /// Below this no lost segment waits for its retransmission; number of the first segment that may.
    waiting_from: u64,
    waiting: u64,
    /// The blocks of the ACK before, and as they were on the wire; how many there were, 0 if they say nothing any more.
    known: [Range; MOST_BLOCKS],
    on_wire: [(u32, u32); MOST_BLOCKS],
    blocks: u8,
    /// Number of the segment SACKed last, of the highest of those, and of the one that starts at `loss_edge`: where to
    /// look first.
    last_sacked: u64,
    highest: u64,
    edge: u64,
    /// What a SACK leaves of the flags of a retransmitted segment: nothing, or [`IN_FLIGHT_AGAIN`].
    kept: u8,
}

impl Scoreboard {
    /// Nothing outstanding. Segments have `mss` bytes of payload, most of them.
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
            emulated_sacks: 0,
            emulated: 0,
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
            kept: 0,
        }
    }

    /// A retransmitted segment that is SACKed still counts as in flight, until a cumulative ACK covers it or a timeout
    /// forgets it (ns-3, whose `TcpTxBuffer::Update` leaves it in the count of retransmissions).
    pub fn counting_sacked_retransmissions(self) -> Self {
        Scoreboard { kept: IN_FLIGHT_AGAIN, ..self }
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

    /// What is in flight (RFC 6675, `pipe`): neither SACKed nor lost, and retransmissions.
    pub fn pipe(&self) -> u64 {
        self.outstanding - self.sacked - self.emulated - self.lost + self.in_flight_again
    }

    /// Without SACK, a duplicate ACK: one more segment counts as arrived, the first behind those that do, never the first of
    /// all (Linux, `tcp_add_reno_sack`; ns-3).
    pub fn emulate_sack(&mut self) {
        if let Some(record) = self.records.get(1 + self.emulated_sacks) {
            self.emulated_sacks += 1;
            self.emulated += u64::from(record.len);
        }
    }

    /// No segment counts as arrived by duplicate ACKs any more.
    pub fn forget_emulated_sacks(&mut self) {
        (self.emulated_sacks, self.emulated) = (0, 0);
    }

    /// After a cumulative ACK, with `before` records outstanding before it: the segments that count as arrived and are not
    /// covered. The first segment has not arrived, so if it was one of these, another must have: one more counts, and the
    /// first is lost. Whether that is so.
    pub fn move_emulated_sacks(&mut self, before: usize) -> bool {
        let gone = before - self.records.len();
        if self.emulated_sacks == 0 || gone == 0 {
            return false;
        }
        let left = (self.emulated_sacks + 1).saturating_sub(gone);
        self.emulated_sacks = left.saturating_sub(1);
        self.emulated = self.records.iter().skip(1).take(self.emulated_sacks).map(|record| u64::from(record.len)).sum();
        if left > 0 {
            self.emulate_sack();
        }
        left > 0
    }

    /// Marks the first segment lost, retransmitted or not.
    pub fn mark_first_lost(&mut self) {
        if !self.records.is_empty() {
            self.mark_retransmission_lost(0);
        }
    }

    /// Whether nothing is lost, retransmitted and in flight, or arrived by duplicate ACKs alone.
    pub fn is_whole(&self) -> bool {
        self.lost == 0 && self.in_flight_again == 0 && self.emulated_sacks == 0
    }

    /// Whether in addition nothing is SACKed, and everything was sent once.
    pub fn is_plain(&self) -> bool {
        self.is_whole() && self.sacked_segments == 0 && self.retransmitted_segments == 0
    }

    /// The first segment outstanding.
    pub fn front(&self) -> Option<&Record> {
        self.records.front()
    }

    /// How many segments are outstanding.
    pub fn len(&self) -> usize {
        self.records.len()
    }

    /// Whether none is.
    pub fn is_empty(&self) -> bool {
        self.records.is_empty()
    }

    /// The record at a place from the first outstanding.
    pub fn get(&self, index: usize) -> Option<&Record> {
        self.records.get(index)
    }

    /// How many segments had been sent before the one at `index`.
    pub fn number(&self, index: usize) -> u64 {
        self.first + index as u64
    }

    /// A new segment has been sent.
    pub fn sent(&mut self, start: u64, len: u32, fin: bool, now: f64) {
        self.records.push_back(Record { start, sent: now, len, flags: if fin { FIN } else { 0 } });
        self.outstanding += u64::from(len);
    }

    /// The segment at `index` has been retransmitted. `counts`: as one more in flight.
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

    /// Takes out what a cumulative ACK covers; each segment goes to `delivered` unless it was SACKed before. How many
    /// sequence numbers were not.
    pub fn acknowledge(&mut self, ack: u64, mut delivered: impl FnMut(Delivered)) -> u64 {
        let mut fresh = 0;
        while let Some(&record) = self.records.front() {
            if record.start >= ack {
                break;
            }
            if record.end() > ack {
                // Not by receivers that keep segments whole.
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

    /// Place of the segment that `seq` begins or lies in; the next one's if it is in none.
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

    /// The same, if it may be the segment with this number.
    #[inline]
    fn index_near(&self, seq: u64, number: u64) -> usize {
        let index = number.wrapping_sub(self.first) as usize;
        match self.records.get(index) {
            Some(record) if record.start <= seq && seq < record.end() => index,
            _ => self.index_of(seq),
        }
    }

    /// Takes in the blocks of an ACK, if they are those of the ACK before but for the end of the first, where more has
    /// arrived: as [`sack`](Self::sack).
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

    /// Takes in the blocks of an ACK; each segment that is new goes to `delivered`. How many sequence numbers are new.
    /// `on_wire` are the blocks of the next ACK's that may be compared with them ([`sack_more`](Self::sack_more)).
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
            // The ACK before may have SACKed most of it.
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
                    record.flags &= FIN | RETRANSMITTED | SACKED | self.kept;
                    if before.is_lost() {
                        self.lost -= len;
                    }
                    if before.is_in_flight_again() && self.kept == 0 {
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

    /// Marks what `IsLost` (RFC 6675, section 4) says is lost: above it are three ranges with gaps between them, or more
    /// than two full segments. How many sequence numbers are newly lost.
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

    /// Marks the segment at `index` lost, unless it is SACKed or lost already. Its length if it is newly lost.
    pub fn mark_lost(&mut self, index: usize) -> u64 {
        let record = &mut self.records[index];
        if record.flags & (SACKED | LOST) != 0 {
            return 0;
        }
        record.flags |= LOST;
        self.lost += u64::from(record.len);
        self.waiting_from = self.waiting_from.min(record.start);
        u64::from(record.len)
    }

    /// Marks the retransmission of the segment at `index` lost too. Its length if it is newly lost.
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
        len
    }

    /// The retransmission timer has expired: the first segment is lost, and everything that is not SACKed and was last sent
    /// at `since` or before. What is SACKed stays so, unless the receiver has reneged: the first segment is SACKed and not
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
        self.forget_emulated_sacks();
        for (index, record) in self.records.iter_mut().enumerate() {
            if record.flags & SACKED == 0 && (index == 0 || record.sent <= since) {
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

#[cfg(test)]
mod tests {
    use super::super::{Arrived, Feedbacks, Receiver, ReceiverSettings, Reply};
    use super::*;
    use crate::segment::SYN;
    use earlydrop_aqm::random::Generator;

    /// Segments of 100 bytes from 1 on.
    fn board(count: u64) -> Scoreboard {
        let mut board = Scoreboard::new(100);
        for i in 0..count {
            board.sent(1 + 100 * i, 100, false, i as f64);
        }
        board
    }

    fn segments(from: u64, to: u64) -> Range {
        (1 + 100 * (from - 1), 1 + 100 * to)
    }

    fn lost(board: &Scoreboard) -> Vec<u64> {
        (0..board.len()).filter(|&i| board.get(i).unwrap().is_lost()).map(|i| board.number(i) + 1).collect()
    }

    #[test]
    fn three_full_segments_above_say_that_one_is_lost() {
        // RFC 6675, IsLost: more than (DupThresh - 1) * SMSS bytes.
        let mut board = board(10);
        assert_eq!(board.sack(&[segments(2, 3)], None, |_| {}), 200);
        assert_eq!((board.find_losses(), board.pipe()), (0, 800));
        assert_eq!(board.sack(&[segments(2, 4)], None, |_| {}), 100, "the rest was known");
        assert_eq!((board.find_losses(), lost(&board)), (100, vec![1]));
        assert_eq!(board.pipe(), 600, "10 out, 3 reported, 1 lost");
        let index = board.next_lost().unwrap();
        board.retransmitted(index, 20.0, true);
        assert_eq!((board.pipe(), board.next_lost()), (700, None));
    }

    /// What a board knows, whatever way it was told.
    fn knowledge(board: &Scoreboard) -> String {
        let Scoreboard {
            records,
            sacked,
            lost,
            in_flight_again,
            outstanding,
            sacked_segments,
            retransmitted_segments,
            highest_sacked,
            known,
            ..
        } = board;
        format!("{records:?} {sacked} {lost} {in_flight_again} {outstanding} {sacked_segments} {retransmitted_segments} {highest_sacked} {known:?}")
    }

    #[test]
    fn a_first_block_that_has_grown_is_told_apart_from_all_else() {
        let mut grown = 0;
        for seed in 0..60 {
            let mut random = Generator::stream(seed, "test.blocks");
            let settings = ReceiverSettings {
                first: 0,
                blocks: 1 + (seed % 4) as u8,
                delay: None,
                feedback: Feedbacks::None,
                mark_ack_at_once: false,
                compressed: false,
            };
            let mut receiver = Receiver::new(settings);
            receiver.take(&Arrived { seq: 0, payload: 0, bits: SYN, stamp: 0.0, now: 0.0 });
            let (mut short, mut long, mut next) = (Scoreboard::new(100), Scoreboard::new(100), 1);
            for step in 0..400 {
                let now = f64::from(step);
                // New data, or something that is outstanding once more.
                let start = if short.is_empty() || (random.uniform() < 0.8 && short.len() < 40) {
                    let len = if random.uniform() < 0.1 { 60 } else { 100 };
                    short.sent(next, len, false, now);
                    long.sent(next, len, false, now);
                    next += u64::from(len);
                    next - u64::from(len)
                } else {
                    let index = (random.uniform() * short.len() as f64 * random.uniform()) as usize;
                    short.retransmitted(index, now, false);
                    long.retransmitted(index, now, false);
                    short.get(index).unwrap().start
                };
                let (losses, ack_losses) = if seed % 3 == 0 { (0.2, 0.3) } else { (0.2, 0.0) };
                if random.uniform() < losses {
                    continue;
                }
                let record = short.get(short.index_of(start)).unwrap();
                let arrived = Arrived { seq: start as u32, payload: record.len, bits: 0, stamp: now, now };
                let Reply::Now(feedback) = receiver.take(&arrived) else { panic!("{arrived:?} waits") };
                if random.uniform() < ack_losses {
                    continue;
                }
                let ack = u64::from(feedback.ack);
                let (mut told, mut all) = (Vec::new(), Vec::new());
                short.acknowledge(ack, |delivered| told.push(delivered.number));
                long.acknowledge(ack, |delivered| all.push(delivered.number));
                if feedback.count > 0 {
                    let (ranges, count) = feedback.ranges(0, ack);
                    let blocks = &ranges[usize::from(feedback.duplicate)..count];
                    let quick = short.sack_more(&feedback, |delivered| told.push(delivered.number));
                    grown += u32::from(quick.is_some());
                    let fresh = quick.unwrap_or_else(|| {
                        let whole = (!feedback.duplicate).then_some(&feedback);
                        short.sack(blocks, whole, |delivered| told.push(delivered.number))
                    });
                    let expected = long.sack(blocks, None, |delivered| all.push(delivered.number));
                    assert_eq!(fresh, expected, "{feedback:?}");
                }
                if !feedback.duplicate {
                    assert_eq!(short.find_losses(), long.find_losses());
                    assert_eq!(short.next_lost(), long.next_lost());
                }
                if random.uniform() < 0.01 {
                    short.mark_all_lost(f64::INFINITY);
                    long.mark_all_lost(f64::INFINITY);
                }
                assert_eq!((told, knowledge(&short)), (all, knowledge(&long)), "{feedback:?}");
            }
        }
        assert!(grown > 1000, "{grown}");
    }

    #[test]
    fn what_only_looks_like_a_first_block_that_has_grown() {
        let ack = |end: u32| {
            let mut feedback = Feedback::new(1, 0.0);
            feedback.push((201, u64::from(end)), 0, 4);
            feedback
        };
        let told = |end: u32| {
            let mut board = board(8);
            board.sack(&[segments(3, 4)], Some(&ack(401)), |_| {});
            assert_eq!(board.sack_more(&ack(end), |_| {}), (end > 401).then(|| u64::from(end) - 401), "{end}");
            board
        };
        let mut board = told(601);
        assert_eq!(board.sack_more(&ack(401), |_| {}), None, "an ACK that others have overtaken");
        assert_eq!(board.sack_more(&Feedback { duplicate: true, ..ack(801) }, |_| {}), None, "what came twice");
        board.acknowledge(801, |_| {});
        assert_eq!(board.sack_more(&ack(801), |_| {}), None, "nothing is outstanding");
        let mut board = told(601);
        board.acknowledge(201, |_| {});
        board.mark_all_lost(f64::INFINITY);
        assert_eq!(board.sack_more(&ack(701), |_| {}), None, "what was reported has been taken back");
    }

    #[test]
    fn three_ranges_above_say_so_too() {
        // Small segments: 10 bytes each, far below two full ones.
        let mut board = Scoreboard::new(100);
        for i in 0..10 {
            board.sent(1 + 10 * i, 10, false, 0.0);
        }
        let at = |i: u64| (1 + 10 * (i - 1), 1 + 10 * i);
        board.sack(&[at(4), at(2)], None, |_| {});
        assert_eq!(board.find_losses(), 0);
        board.sack(&[at(6), at(4), at(2)], None, |_| {});
        assert_eq!((board.find_losses(), lost(&board)), (10, vec![1]), "3 and 5 have two and one above");
        board.sack(&[at(8), at(6), at(4)], None, |_| {});
        assert_eq!((board.find_losses(), lost(&board)), (10, vec![1, 3]));
    }

    #[test]
    fn what_is_acknowledged_leaves_and_is_told_once() {
        let mut board = board(6);
        let mut seen = Vec::new();
        board.sack(&[segments(3, 4)], None, |d| seen.push(d.number));
        assert_eq!(seen, [2, 3]);
        seen.clear();
        assert_eq!(board.acknowledge(401, |d| seen.push(d.number)), 200);
        assert_eq!((seen, board.outstanding(), board.sacked(), board.len()), (vec![0, 1], 200, 0, 2));
        assert_eq!((board.number(0), board.index_of(401), board.index_of(501), board.index_of(601)), (4, 0, 1, 2));
    }

    #[test]
    fn a_timeout_loses_all_that_is_not_reported() {
        let mut board = board(6);
        board.sack(&[segments(3, 3)], None, |_| {});
        board.mark_all_lost(f64::INFINITY);
        assert_eq!((board.pipe(), board.lost(), lost(&board)), (0, 500, vec![1, 2, 4, 5, 6]));
        for expected in [0, 1, 3] {
            let index = board.next_lost().unwrap();
            assert_eq!(index, expected);
            board.retransmitted(index, 9.0, true);
        }
        assert_eq!(board.pipe(), 300);
        board.acknowledge(201, |_| {});
        assert_eq!((board.pipe(), board.next_lost()), (100, Some(2)));
    }

    #[test]
    fn a_receiver_may_take_its_report_back() {
        let mut board = board(4);
        board.sack(&[segments(2, 4)], None, |_| {});
        board.acknowledge(101, |_| {});
        board.mark_all_lost(f64::INFINITY);
        assert_eq!((board.sacked(), board.lost(), board.pipe()), (0, 300, 0));
    }

    #[test]
    fn guesses_move_on_when_the_first_segment_was_one() {
        let mut board = board(8);
        (0..3).for_each(|_| board.emulate_sack());
        assert_eq!((board.pipe(), board.is_whole()), (500, false), "2 to 4 have arrived, it seems");
        // 1 and 2 have: 3 has not, so that 5 must have.
        board.acknowledge(201, |_| {});
        assert!(board.move_emulated_sacks(8));
        board.mark_first_lost();
        assert_eq!((board.pipe(), lost(&board), board.next_lost()), (300, vec![3], Some(0)), "6 less 4, 5 and 3");
        // 3 to 6: no guess is left.
        board.acknowledge(601, |_| {});
        assert!(!board.move_emulated_sacks(6) && board.is_whole());
        // Never more than there are, and none once a timeout has lost all.
        (0..3).for_each(|_| board.emulate_sack());
        assert_eq!(board.pipe(), 100);
        board.mark_all_lost(f64::INFINITY);
        assert_eq!((board.pipe(), board.lost()), (0, 200));
    }

    #[test]
    fn a_repetition_can_be_lost_as_well() {
        let mut board = board(8);
        board.sack(&[segments(2, 4)], None, |_| {});
        board.find_losses();
        let index = board.next_lost().unwrap();
        board.retransmitted(index, 10.0, true);
        let pipe = board.pipe();
        assert_eq!(board.mark_retransmission_lost(0), 100);
        assert_eq!((board.pipe(), board.lost(), board.next_lost()), (pipe - 100, 100, Some(0)));
    }

    #[test]
    fn holes_for_the_other_rules() {
        let mut board = board(6);
        board.sack(&[segments(2, 2), segments(5, 5)], None, |_| {});
        assert_eq!((board.next_hole(), board.last_hole()), (Some(0), Some(5)));
        board.retransmitted(0, 7.0, true);
        assert_eq!(board.next_hole(), Some(2));
        assert_eq!(board.pipe(), 500, "what is not lost and sent again is there twice");
    }
}
