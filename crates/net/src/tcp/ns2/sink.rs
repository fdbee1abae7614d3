//! SACK blocks, delayed ACKs and ECN echoes of a receiver (ns-2.35 `tcp-sink.cc`: `Sacker`, `DelAckSink`,
//! `TcpSink::ack`).

use super::ack::{Answer, Block, Blocks, Reply, MOST_BLOCKS};
use super::receiver::{Extra, Receiver};
use crate::segment::{CE, CWR, ECE, SYN};

impl Receiver {
    /// Receives segment `seq` with its [`bits`](crate::Segment::bits); returns the reaction.
    pub fn take(&mut self, seq: i32, bits: u8) -> Reply {
        let Some(mut extra) = self.extra.take() else {
            let number = self.receive(seq);
            return Reply::Now(Answer { number, echo: self.echo(bits), blocks: Blocks::default() });
        };
        let known = self.has(seq) && seq <= extra.highest && (seq, self.next()) != (0, 0);
        let number = self.receive(seq);
        extra.highest = extra.highest.max(seq);
        // A delayed ACK acknowledges two in-order segments; never while a gap is being filled (RFC 5681), nor for the
        // SYN.
        let may_wait = extra.held.is_none() && seq == number && seq >= extra.highest && seq != 0;
        let reply = match extra.delay.filter(|_| may_wait) {
            Some(delay) => {
                extra.held = Some((seq, bits));
                Reply::Later(delay)
            }
            None => {
                let held = extra.held.take().map_or(0, |(_, bits)| bits);
                Reply::Now(self.answer(&mut extra, seq, known, bits | held))
            }
        };
        self.extra = Some(extra);
        reply
    }

    /// The delayed ACK whose timer expires; `None` if it has been sent since.
    pub fn on_timer(&mut self) -> Option<Answer> {
        let mut extra = self.extra.take()?;
        let held = extra.held.take();
        let answer = held.map(|(seq, bits)| self.answer(&mut extra, seq, false, bits));
        self.extra = Some(extra);
        answer
    }

    /// Whether an ACK is delayed.
    pub fn holds_an_ack(&self) -> bool {
        self.extra.as_ref().is_some_and(|extra| extra.held.is_some())
    }

    fn answer(&mut self, extra: &mut Extra, seq: i32, known: bool, bits: u8) -> Answer {
        let blocks = if extra.sack { self.report(extra, seq, known) } else { Blocks::default() };
        Answer { number: self.next() - 1, echo: self.echo(bits), blocks }
    }

    /// Whether the ACK of segments with these bits, combined, echoes a mark: from a mark until a CWR arrives (RFC 3168,
    /// 6.1.3). A SYN that asks for ECN is answered with an echo.
    #[inline(always)]
    pub fn echo(&mut self, bits: u8) -> bool {
        if bits == 0 {
            // Segments that are not ECN-capable get no echo.
            return false;
        }
        if bits & CWR != 0 {
            self.unanswered_mark = false;
        }
        if bits & CE == CE {
            self.unanswered_mark = true;
        }
        (bits & CE != 0 && self.unanswered_mark) || bits & (SYN | ECE) == SYN | ECE
    }

    /// SACK blocks for the ACK of `seq`: the block around it, then recent blocks that it does not cover.
    fn report(&self, extra: &mut Extra, seq: i32, known: bool) -> Blocks {
        let number = self.next() - 1;
        let mut report = Blocks::default();
        if number >= extra.highest && !extra.recent.is_empty() {
            extra.recent.clear();
            return report;
        }
        if number >= extra.highest && !known {
            return report;
        }
        let mut around = Block { start: 0, end: seq };
        while around.end <= extra.highest && self.has(around.end) {
            around.end += 1;
        }
        let above = seq > number;
        if above {
            around.start = seq;
            while self.has(around.start - 1) {
                around.start -= 1;
            }
            report.push(around);
        }
        let mut at = 0;
        while usize::from(report.count) < MOST_BLOCKS {
            let Some(&block) = extra.recent.get(at).filter(|block| block.end <= extra.highest + 1) else { break };
            if around.start <= block.start && around.end >= block.end {
                extra.recent.remove(at);
                continue;
            }
            report.push(block);
            at += 1;
        }
        if above {
            extra.recent.truncate(MOST_BLOCKS - 1);
            extra.recent.insert(0, around);
        }
        report
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::segment::ECT0;

    fn now(receiver: &mut Receiver, seq: i32) -> (i32, Vec<(i32, i32)>) {
        let Reply::Now(answer) = receiver.take(seq, 0) else { panic!("{seq} waits") };
        (answer.number, answer.blocks.as_slice().iter().map(|block| (block.start, block.end)).collect())
    }

    #[test]
    fn sack_blocks_start_with_the_newest() {
        let mut receiver = Receiver::with(true, None);
        for seq in 0..3 {
            assert_eq!(now(&mut receiver, seq), (seq, vec![]));
        }
        assert_eq!(now(&mut receiver, 4), (2, vec![(4, 5)]));
        assert_eq!(now(&mut receiver, 6), (2, vec![(6, 7), (4, 5)]));
        assert_eq!(now(&mut receiver, 8), (2, vec![(8, 9), (6, 7), (4, 5)]));
        assert_eq!(now(&mut receiver, 10), (2, vec![(10, 11), (8, 9), (6, 7)]), "three at most");
        assert_eq!(now(&mut receiver, 9), (2, vec![(8, 11), (6, 7)]), "it covers two and 4 is forgotten");
        assert_eq!(now(&mut receiver, 9), (2, vec![(8, 11), (6, 7)]), "again");
        assert_eq!(now(&mut receiver, 1), (2, vec![(8, 11), (6, 7)]), "an old one has no block of its own");
        assert_eq!(now(&mut receiver, 3), (4, vec![(8, 11), (6, 7)]));
        assert_eq!(now(&mut receiver, 5), (6, vec![(8, 11)]), "what is acknowledged is covered");
        assert_eq!(now(&mut receiver, 7), (10, vec![]));
        assert_eq!(now(&mut receiver, 12), (10, vec![(12, 13)]));
    }

    #[test]
    fn every_second_segment_is_acknowledged() {
        let mut receiver = Receiver::with(false, Some(0.1));
        assert!(matches!(receiver.take(0, SYN), Reply::Now(_)), "the SYN at once");
        assert_eq!(receiver.take(1, 0), Reply::Later(0.1));
        assert_eq!(now(&mut receiver, 2), (2, vec![]));
        assert_eq!(receiver.on_timer(), None, "it has been sent");
        assert_eq!(receiver.take(3, 0), Reply::Later(0.1));
        assert_eq!(receiver.on_timer().map(|answer| answer.number), Some(3));
        assert!(!receiver.holds_an_ack());
        // A segment out of order, one that fills part of the gap, and one that fills the rest: immediate ACKs.
        assert_eq!(now(&mut receiver, 6), (3, vec![]));
        assert_eq!(now(&mut receiver, 4), (4, vec![]));
        assert_eq!(now(&mut receiver, 5), (6, vec![]));
        assert_eq!(receiver.take(7, 0), Reply::Later(0.1));
        assert_eq!(now(&mut receiver, 9), (7, vec![]));
    }

    #[test]
    fn marks_are_echoed_until_cwr_arrives() {
        let mut receiver = Receiver::new();
        let mut echo = |seq, bits| match receiver.take(seq, bits) {
            Reply::Now(answer) => answer.echo,
            Reply::Later(_) => panic!("a plain receiver waits"),
        };
        assert!(echo(0, SYN | ECE), "yes to ECN");
        assert!(!echo(1, ECT0));
        assert!(echo(2, CE));
        assert!(echo(3, ECT0));
        assert!(!echo(4, ECT0 | CWR));
        assert!(echo(5, CE | CWR), "a new mark in the segment with CWR");
        assert!(!echo(6, 0), "no echo to segments without ECN");
        assert!(echo(7, ECT0));
    }

    #[test]
    fn a_delayed_ack_echoes_marks_of_both_segments() {
        let mut receiver = Receiver::with(false, Some(0.1));
        receiver.take(0, SYN | ECE);
        receiver.take(1, CE);
        assert!(matches!(receiver.take(2, ECT0), Reply::Now(Answer { number: 2, echo: true, .. })));
        receiver.take(3, ECT0 | CWR);
        assert!(receiver.on_timer().is_some_and(|answer| !answer.echo));
    }
}
