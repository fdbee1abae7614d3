//! What is outstanding, segment by segment: sent when, how often, reported by SACK, taken for lost.
//!
//! The rules are those of RFC 6675: `IsLost` (section 4) becomes a mark that is set once, since more SACKed data above a
//! segment cannot take it back; `pipe` is kept as it changes and not counted anew.

use super::wire::{Feedback, MOST_BLOCKS};
use std::collections::VecDeque;

/// A range of sequence numbers: the first, and one behind the last.
pub type Range = (u64, u64);

/// Reported by SACK.
const SACKED: u8 = 1;
/// Taken for lost.
const LOST: u8 = 2;
/// Sent again since it was taken for lost (or by rule 3 of `NextSeg`), and not known to be lost again.
const RESENT: u8 = 4;
/// Sent more than once.
const REPEATED: u8 = 8;
/// Its last sequence number is the FIN.
const FIN: u8 = 16;

/// By how many sequence numbers a block may have grown to be taken for the one of the ACK before.
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

    /// Whether SACK has reported it.
    pub fn is_sacked(&self) -> bool {
        self.flags & SACKED != 0
    }

    /// Whether it is taken for lost.
    pub fn is_lost(&self) -> bool {
        self.flags & LOST != 0
    }

    /// The marks of this segment, added to those of others.
    pub fn add_marks(&self, others: &mut u8) {
        *others |= self.flags;
    }

    /// Whether one of the segments whose marks have been added is [`Record::is_resent`].
    pub fn any_resent(marks: u8) -> bool {
        marks & RESENT != 0
    }

    /// Whether it was sent again since.
    pub fn is_resent(&self) -> bool {
        self.flags & RESENT != 0
    }

    /// Whether it was sent more than once.
    pub fn is_repeated(&self) -> bool {
        self.flags & REPEATED != 0
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
    /// It is a report of SACK's that says so.
    pub reported: bool,
}

/// The segments between the highest cumulative ACK and the highest sent.
#[derive(Clone, Debug)]
pub struct Board {
    records: VecDeque<Record>,
    /// Number of the first record, counted over the connection.
    first: u64,
    mss: u64,
    /// Sequence numbers that are reported, lost, and sent again.
    sacked: u64,
    lost: u64,
    resent: u64,
    outstanding: u64,
    /// Segments that are reported, and that were sent more than once.
    reports: usize,
    repeated: usize,
    /// Segments behind the first that duplicate ACKs without SACK let one guess to have arrived, and their length.
    guesses: usize,
    guessed: u64,
    /// One behind the highest that is reported.
    highest_sacked: u64,
    /// Below this every segment without a report is marked lost.
    loss_edge: u64,
    /// Below this no lost segment waits to be sent again; number of the first segment that may.
    waiting_from: u64,
    waiting: u64,
    /// The blocks of the ACK before, and as they were on the wire; how many there were, 0 if they say nothing any more.
    known: [Range; MOST_BLOCKS],
    on_wire: [(u32, u32); MOST_BLOCKS],
    blocks: u8,
    /// Number of the segment reported last, of the highest of those, and of the one that begins at `loss_edge`: where to
    /// look first.
    last_report: u64,
    highest: u64,
    edge: u64,
    /// What a report leaves of the marks of a segment that was sent again: nothing, or [`RESENT`].
    kept: u8,
}

impl Board {
    /// Nothing outstanding. Segments have `mss` bytes of payload, most of them.
    pub fn new(mss: u32) -> Self {
        Board {
            records: VecDeque::new(),
            first: 0,
            mss: u64::from(mss),
            sacked: 0,
            lost: 0,
            resent: 0,
            outstanding: 0,
            reports: 0,
            repeated: 0,
            guesses: 0,
            guessed: 0,
            highest_sacked: 0,
            loss_edge: 0,
            waiting_from: 0,
            waiting: 0,
            known: [(0, 0); MOST_BLOCKS],
            on_wire: [(0, 0); MOST_BLOCKS],
            blocks: 0,
            last_report: 0,
            highest: 0,
            edge: 0,
            kept: 0,
        }
    }

    /// A segment that was sent again and is reported counts as in the network on top, until a cumulative ACK covers it or a timeout
    /// forgets it (ns-3, whose `TcpTxBuffer::Update` leaves it in the count of retransmissions).
    pub fn counting_repairs(self) -> Self {
        Board { kept: RESENT, ..self }
    }

    /// Sequence numbers sent and not cumulatively acknowledged (RFC 5681, FlightSize).
    pub fn outstanding(&self) -> u64 {
        self.outstanding
    }

    /// Sequence numbers reported by SACK above the cumulative ACK.
    pub fn sacked(&self) -> u64 {
        self.sacked
    }

    /// Segments reported by SACK above the cumulative ACK.
    pub fn reports(&self) -> usize {
        self.reports
    }

    /// Sequence numbers taken for lost and not reported since.
    pub fn lost(&self) -> u64 {
        self.lost
    }

    /// What is in the network (RFC 6675, `pipe`): neither reported nor lost, and what was sent again.
    pub fn pipe(&self) -> u64 {
        self.outstanding - self.sacked - self.guessed - self.lost + self.resent
    }

    /// One more segment is guessed to have arrived: the first behind those that are, and never the first of all.
    pub fn guess(&mut self) {
        if let Some(record) = self.records.get(1 + self.guesses) {
            self.guesses += 1;
            self.guessed += u64::from(record.len);
        }
    }

    /// Nothing is guessed any more.
    pub fn forget_guesses(&mut self) {
        (self.guesses, self.guessed) = (0, 0);
    }

    /// After an ACK: how many guesses are still outstanding, of `before` records that were so. The one that is first now
    /// has not arrived, so that another must have: the guess moves on, and the first is lost. Whether it was one.
    pub fn move_guesses(&mut self, before: usize) -> bool {
        let gone = before - self.records.len();
        if self.guesses == 0 || gone == 0 {
            return false;
        }
        let left = (self.guesses + 1).saturating_sub(gone);
        self.guesses = left.saturating_sub(1);
        self.guessed = self.records.iter().skip(1).take(self.guesses).map(|record| u64::from(record.len)).sum();
        if left > 0 {
            self.guess();
        }
        left > 0
    }

    /// Takes the first segment for lost, whether it was sent again or not.
    pub fn lose_first(&mut self) {
        if !self.records.is_empty() {
            self.mark_lost_again(0);
        }
    }

    /// Whether nothing is lost, counts twice or is guessed.
    pub fn is_whole(&self) -> bool {
        self.lost == 0 && self.resent == 0 && self.guesses == 0
    }

    /// Whether in addition nothing is reported, and everything was sent once.
    pub fn is_plain(&self) -> bool {
        self.is_whole() && self.reports == 0 && self.repeated == 0
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

    /// The segment at `index` has been sent again. `counts`: as one more in the network.
    pub fn sent_again(&mut self, index: usize, now: f64, counts: bool) {
        let record = &mut self.records[index];
        record.sent = now;
        self.repeated += usize::from(!record.is_repeated());
        record.flags |= REPEATED;
        if counts && record.flags & RESENT == 0 {
            record.flags |= RESENT;
            self.resent += u64::from(record.len);
        }
    }

    /// Takes out what a cumulative ACK covers; each segment goes to `delivered` unless SACK had reported it before. How many
    /// sequence numbers had not been reported.
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
                delivered(Delivered { record, number, reported: false });
                continue;
            }
            self.reports -= usize::from(record.is_sacked());
            self.repeated -= usize::from(record.is_repeated());
            self.take_out(&record, u64::from(record.len));
            if !record.is_sacked() {
                fresh += u64::from(record.len);
                delivered(Delivered { record, number, reported: false });
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
        if record.is_resent() {
            self.resent -= len;
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
    /// arrived: as [`report`](Self::report).
    #[inline]
    pub fn report_more(&mut self, feedback: &Feedback, mut delivered: impl FnMut(Delivered)) -> Option<u64> {
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
        let index = self.index_near(from, self.last_report + 1);
        Some(self.report_from(index, from, end, &mut delivered))
    }

    /// Takes in the blocks of an ACK; each segment that is new goes to `delivered`. How many sequence numbers are new.
    /// `on_wire` are the blocks of the next ACK's that may be compared with them ([`report_more`](Self::report_more)).
    pub fn report(
        &mut self,
        blocks: &[Range],
        on_wire: Option<&Feedback>,
        mut delivered: impl FnMut(Delivered),
    ) -> u64 {
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
            // The ACK before may have reported most of it.
            let inside = known.into_iter().find(|&(from, to)| start <= from.max(front) && to <= end && from < to);
            match inside {
                Some((from, to)) => {
                    fresh += self.report_range(start, from.max(front), &mut delivered);
                    fresh += self.report_range(to.max(front), end, &mut delivered);
                }
                None => fresh += self.report_range(start, end, &mut delivered),
            }
            self.highest_sacked = self.highest_sacked.max(end);
        }
        self.known = [(0, 0); MOST_BLOCKS];
        self.known.iter_mut().zip(blocks).for_each(|(known, &block)| *known = block);
        fresh
    }

    fn report_range(&mut self, start: u64, end: u64, delivered: &mut impl FnMut(Delivered)) -> u64 {
        if start >= end {
            return 0;
        }
        self.report_from(self.index_of(start), start, end, delivered)
    }

    #[inline(always)]
    fn report_from(&mut self, mut index: usize, start: u64, end: u64, delivered: &mut impl FnMut(Delivered)) -> u64 {
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
                self.reports += 1;
                fresh += len;
                if before.flags & (LOST | RESENT) != 0 {
                    record.flags &= FIN | REPEATED | SACKED | self.kept;
                    if before.is_lost() {
                        self.lost -= len;
                    }
                    if before.is_resent() && self.kept == 0 {
                        self.resent -= len;
                    }
                }
                self.last_report = self.first + index as u64;
                self.highest = self.highest.max(self.last_report);
                delivered(Delivered { record: before, number: self.last_report, reported: true });
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

    /// Takes the segment at `index` for lost, unless it is reported or known to be lost already. Its length if it is news.
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

    /// Takes the repetition of the segment at `index` for lost too. Its length if it is news.
    pub fn mark_lost_again(&mut self, index: usize) -> u64 {
        let record = &mut self.records[index];
        if record.flags & (SACKED | RESENT) != RESENT {
            return self.mark_lost(index);
        }
        let (len, start, was_lost) = (u64::from(record.len), record.start, record.is_lost());
        record.flags = record.flags & !RESENT | LOST;
        self.resent -= len;
        if !was_lost {
            self.lost += len;
        }
        self.waiting_from = self.waiting_from.min(start);
        len
    }

    /// The retransmission timer has expired: the first segment is lost, and everything that is not reported and was last sent
    /// at `since` or before. What is reported stays so, unless the receiver has taken it back: the first segment is reported
    /// and not acknowledged (RFC 2018, section 8).
    pub fn lose_all(&mut self, since: f64) {
        if self.records.front().is_some_and(Record::is_sacked) {
            self.records.iter_mut().for_each(|record| record.flags &= !SACKED);
            self.sacked = 0;
            self.reports = 0;
            self.highest_sacked = 0;
            self.known = [(0, 0); MOST_BLOCKS];
            self.blocks = 0;
        }
        (self.lost, self.resent) = (0, 0);
        self.forget_guesses();
        for (index, record) in self.records.iter_mut().enumerate() {
            if record.flags & SACKED == 0 && (index == 0 || record.sent <= since) {
                record.flags = record.flags & !RESENT | LOST;
            } else if record.flags & SACKED != 0 {
                record.flags &= !RESENT;
            }
            let len = u64::from(record.len);
            self.lost += if record.flags & LOST != 0 { len } else { 0 };
            self.resent += if record.flags & RESENT != 0 { len } else { 0 };
        }
        self.waiting_from = 0;
        if since == f64::INFINITY {
            self.loss_edge = self.records.back().map_or(0, Record::end);
        }
    }

    /// The first lost segment that has not been sent again (RFC 6675, `NextSeg` rule 1).
    pub fn next_lost(&mut self) -> Option<usize> {
        if self.lost == 0 {
            return None;
        }
        let mut index = self.index_near(self.waiting_from, self.waiting);
        while let Some(record) = self.records.get(index) {
            if record.flags & (LOST | RESENT) == LOST {
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

    /// The first segment below the highest report that is neither reported nor sent again (`NextSeg` rule 3), from the
    /// place `from` on.
    pub fn next_hole(&self) -> Option<usize> {
        (0..self.records.len())
            .take_while(|&index| self.records[index].start < self.highest_sacked)
            .find(|&index| self.records[index].flags & (SACKED | RESENT) == 0)
    }

    /// The highest segment that is not reported (`NextSeg` rule 4).
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
    fn board(count: u64) -> Board {
        let mut board = Board::new(100);
        for i in 0..count {
            board.sent(1 + 100 * i, 100, false, i as f64);
        }
        board
    }

    fn segments(from: u64, to: u64) -> Range {
        (1 + 100 * (from - 1), 1 + 100 * to)
    }

    fn lost(board: &Board) -> Vec<u64> {
        (0..board.len()).filter(|&i| board.get(i).unwrap().is_lost()).map(|i| board.number(i) + 1).collect()
    }

    #[test]
    fn three_full_segments_above_say_that_one_is_lost() {
        // RFC 6675, IsLost: more than (DupThresh - 1) * SMSS bytes.
        let mut board = board(10);
        assert_eq!(board.report(&[segments(2, 3)], None, |_| {}), 200);
        assert_eq!((board.find_losses(), board.pipe()), (0, 800));
        assert_eq!(board.report(&[segments(2, 4)], None, |_| {}), 100, "the rest was known");
        assert_eq!((board.find_losses(), lost(&board)), (100, vec![1]));
        assert_eq!(board.pipe(), 600, "10 out, 3 reported, 1 lost");
        let index = board.next_lost().unwrap();
        board.sent_again(index, 20.0, true);
        assert_eq!((board.pipe(), board.next_lost()), (700, None));
    }

    /// What a board knows, whatever way it was told.
    fn knowledge(board: &Board) -> String {
        let Board { records, sacked, lost, resent, outstanding, reports, repeated, highest_sacked, known, .. } = board;
        format!("{records:?} {sacked} {lost} {resent} {outstanding} {reports} {repeated} {highest_sacked} {known:?}")
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
            let (mut short, mut long, mut next) = (Board::new(100), Board::new(100), 1);
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
                    short.sent_again(index, now, false);
                    long.sent_again(index, now, false);
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
                    let quick = short.report_more(&feedback, |delivered| told.push(delivered.number));
                    grown += u32::from(quick.is_some());
                    let fresh = quick.unwrap_or_else(|| {
                        let whole = (!feedback.duplicate).then_some(&feedback);
                        short.report(blocks, whole, |delivered| told.push(delivered.number))
                    });
                    let expected = long.report(blocks, None, |delivered| all.push(delivered.number));
                    assert_eq!(fresh, expected, "{feedback:?}");
                }
                if !feedback.duplicate {
                    assert_eq!(short.find_losses(), long.find_losses());
                    assert_eq!(short.next_lost(), long.next_lost());
                }
                if random.uniform() < 0.01 {
                    short.lose_all(f64::INFINITY);
                    long.lose_all(f64::INFINITY);
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
            board.report(&[segments(3, 4)], Some(&ack(401)), |_| {});
            assert_eq!(board.report_more(&ack(end), |_| {}), (end > 401).then(|| u64::from(end) - 401), "{end}");
            board
        };
        let mut board = told(601);
        assert_eq!(board.report_more(&ack(401), |_| {}), None, "an ACK that others have overtaken");
        assert_eq!(board.report_more(&Feedback { duplicate: true, ..ack(801) }, |_| {}), None, "what came twice");
        board.acknowledge(801, |_| {});
        assert_eq!(board.report_more(&ack(801), |_| {}), None, "nothing is outstanding");
        let mut board = told(601);
        board.acknowledge(201, |_| {});
        board.lose_all(f64::INFINITY);
        assert_eq!(board.report_more(&ack(701), |_| {}), None, "what was reported has been taken back");
    }

    #[test]
    fn three_ranges_above_say_so_too() {
        // Small segments: 10 bytes each, far below two full ones.
        let mut board = Board::new(100);
        for i in 0..10 {
            board.sent(1 + 10 * i, 10, false, 0.0);
        }
        let at = |i: u64| (1 + 10 * (i - 1), 1 + 10 * i);
        board.report(&[at(4), at(2)], None, |_| {});
        assert_eq!(board.find_losses(), 0);
        board.report(&[at(6), at(4), at(2)], None, |_| {});
        assert_eq!((board.find_losses(), lost(&board)), (10, vec![1]), "3 and 5 have two and one above");
        board.report(&[at(8), at(6), at(4)], None, |_| {});
        assert_eq!((board.find_losses(), lost(&board)), (10, vec![1, 3]));
    }

    #[test]
    fn what_is_acknowledged_leaves_and_is_told_once() {
        let mut board = board(6);
        let mut seen = Vec::new();
        board.report(&[segments(3, 4)], None, |d| seen.push(d.number));
        assert_eq!(seen, [2, 3]);
        seen.clear();
        assert_eq!(board.acknowledge(401, |d| seen.push(d.number)), 200);
        assert_eq!((seen, board.outstanding(), board.sacked(), board.len()), (vec![0, 1], 200, 0, 2));
        assert_eq!((board.number(0), board.index_of(401), board.index_of(501), board.index_of(601)), (4, 0, 1, 2));
    }

    #[test]
    fn a_timeout_loses_all_that_is_not_reported() {
        let mut board = board(6);
        board.report(&[segments(3, 3)], None, |_| {});
        board.lose_all(f64::INFINITY);
        assert_eq!((board.pipe(), board.lost(), lost(&board)), (0, 500, vec![1, 2, 4, 5, 6]));
        for expected in [0, 1, 3] {
            let index = board.next_lost().unwrap();
            assert_eq!(index, expected);
            board.sent_again(index, 9.0, true);
        }
        assert_eq!(board.pipe(), 300);
        board.acknowledge(201, |_| {});
        assert_eq!((board.pipe(), board.next_lost()), (100, Some(2)));
    }

    #[test]
    fn a_receiver_may_take_its_report_back() {
        let mut board = board(4);
        board.report(&[segments(2, 4)], None, |_| {});
        board.acknowledge(101, |_| {});
        board.lose_all(f64::INFINITY);
        assert_eq!((board.sacked(), board.lost(), board.pipe()), (0, 300, 0));
    }

    #[test]
    fn guesses_move_on_when_the_first_segment_was_one() {
        let mut board = board(8);
        (0..3).for_each(|_| board.guess());
        assert_eq!((board.pipe(), board.is_whole()), (500, false), "2 to 4 have arrived, it seems");
        // 1 and 2 have: 3 has not, so that 5 must have.
        board.acknowledge(201, |_| {});
        assert!(board.move_guesses(8));
        board.lose_first();
        assert_eq!((board.pipe(), lost(&board), board.next_lost()), (300, vec![3], Some(0)), "6 less 4, 5 and 3");
        // 3 to 6: no guess is left.
        board.acknowledge(601, |_| {});
        assert!(!board.move_guesses(6) && board.is_whole());
        // Never more than there are, and none once a timeout has lost all.
        (0..3).for_each(|_| board.guess());
        assert_eq!(board.pipe(), 100);
        board.lose_all(f64::INFINITY);
        assert_eq!((board.pipe(), board.lost()), (0, 200));
    }

    #[test]
    fn a_repetition_can_be_lost_as_well() {
        let mut board = board(8);
        board.report(&[segments(2, 4)], None, |_| {});
        board.find_losses();
        let index = board.next_lost().unwrap();
        board.sent_again(index, 10.0, true);
        let pipe = board.pipe();
        assert_eq!(board.mark_lost_again(0), 100);
        assert_eq!((board.pipe(), board.lost(), board.next_lost()), (pipe - 100, 100, Some(0)));
    }

    #[test]
    fn holes_for_the_other_rules() {
        let mut board = board(6);
        board.report(&[segments(2, 2), segments(5, 5)], None, |_| {});
        assert_eq!((board.next_hole(), board.last_hole()), (Some(0), Some(5)));
        board.sent_again(0, 7.0, true);
        assert_eq!(board.next_hole(), Some(2));
        assert_eq!(board.pipe(), 500, "what is not lost and sent again is there twice");
    }
}
