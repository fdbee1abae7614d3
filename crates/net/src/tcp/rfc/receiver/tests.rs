//! Receivers by hand: SACK and DSACK blocks, delayed ACKs, echoed time stamps and marks.

use super::super::rules::{EcnRules, ReceiverRules};
use super::*;
use crate::segment::{ECE, ECT0};

fn receiver(blocks: u8, delay: Option<f64>) -> Receiver {
    let settings = Settings {
        ecn: EcnRules { feedback: Feedbacks::Classic, ..EcnRules::default() },
        receiver: ReceiverRules { delay, ..ReceiverRules::default() },
        ..Settings::default()
    };
    let mut receiver = Receiver::new(ReceiverSettings { blocks, ..settings.receiver_settings(0) });
    assert!(matches!(send(&mut receiver, 0, 0, SYN), Reply::Now(Feedback { ack: 1, syn: true, echo: false, .. })));
    receiver
}

fn send(receiver: &mut Receiver, seq: u32, payload: u32, bits: u8) -> Reply {
    receiver.take(&Arrived { seq, payload, bits, stamp: 0.0, now: 0.05, ack: 0 })
}

/// The immediate ACK, in segments, of segment `n` (from 1) of 100 bytes.
fn now(receiver: &mut Receiver, n: u32) -> (u32, Vec<(u32, u32)>) {
    let Reply::Now(ack) = send(receiver, 1 + 100 * (n - 1), 100, 0) else { panic!("{n} waits") };
    let segment = |seq: u32| (seq - 1) / 100;
    let blocks = &ack.blocks[..usize::from(ack.count)];
    (segment(ack.ack), blocks.iter().map(|&(start, end)| (segment(start) + 1, segment(end))).collect())
}

#[test]
fn blocks_as_in_rfc_2018() {
    // RFC 2018, section 4: the newest block first, then earlier blocks.
    let mut receiver = receiver(3, None);
    assert_eq!(now(&mut receiver, 1), (1, vec![]));
    assert_eq!(now(&mut receiver, 3), (1, vec![(3, 3)]));
    assert_eq!(now(&mut receiver, 4), (1, vec![(3, 4)]));
    assert_eq!(now(&mut receiver, 6), (1, vec![(6, 6), (3, 4)]));
    assert_eq!(now(&mut receiver, 8), (1, vec![(8, 8), (6, 6), (3, 4)]));
    assert_eq!(now(&mut receiver, 10), (1, vec![(10, 10), (8, 8), (6, 6)]), "three at most");
    assert_eq!(now(&mut receiver, 5), (1, vec![(3, 6), (10, 10), (8, 8)]));
    assert_eq!(now(&mut receiver, 2), (6, vec![(10, 10), (8, 8)]));
    assert_eq!(now(&mut receiver, 7), (8, vec![(10, 10)]));
    assert_eq!(now(&mut receiver, 9), (10, vec![]));
}

#[test]
fn duplicates_as_in_rfc_2883() {
    let mut receiver = receiver(3, None);
    for n in [1, 2, 4, 5] {
        now(&mut receiver, n);
    }
    assert_eq!(now(&mut receiver, 2), (2, vec![(2, 2), (4, 5)]), "4.1.1: below the ACK");
    assert_eq!(now(&mut receiver, 5), (2, vec![(5, 5), (4, 5)]), "4.1.2: above it, then the block around");
}

#[test]
fn a_fin_and_segments_before_the_syn_are_not_plain_data() {
    let segment = |seq, bits| Arrived { seq, payload: 100, bits, stamp: 0.0, now: 0.05, ack: 0 };
    let mut open = receiver(3, None);
    assert_eq!(open.take_next(&segment(1, FIN)), None);
    now(&mut open, 3);
    assert_eq!(open.take_beyond(&segment(301, FIN)), None);
    assert!(open.take_beyond(&segment(301, 0)).is_some_and(|ack| ack.ack == 1 && ack.blocks[0] == (201, 401)));
    let mut closed = Receiver::new(open.settings);
    assert_eq!((closed.take_next(&segment(0, 0)), closed.next()), (None, 0));
}

#[test]
fn every_second_segment_is_acknowledged() {
    let mut receiver = receiver(3, Some(0.2));
    assert_eq!(send(&mut receiver, 1, 100, 0), Reply::Later(0.2));
    assert_eq!(now(&mut receiver, 2), (2, vec![]));
    assert_eq!(receiver.on_timer(0.1), Reply::Nothing);
    assert_eq!(send(&mut receiver, 201, 100, 0), Reply::Later(0.2));
    assert!(matches!(receiver.on_timer(0.3), Reply::Now(Feedback { ack: 301, .. })));
    // ACKs are immediate (RFC 5681, 4.2): out of order, part of a gap, the rest of it, duplicate.
    assert_eq!(now(&mut receiver, 6), (3, vec![(6, 6)]));
    assert_eq!(now(&mut receiver, 4), (4, vec![(6, 6)]));
    assert_eq!(now(&mut receiver, 5), (6, vec![]));
    assert_eq!(now(&mut receiver, 5), (6, vec![(5, 5)]));
    assert_eq!(send(&mut receiver, 601, 100, 0), Reply::Later(0.2));
    assert!(matches!(send(&mut receiver, 701, 50, FIN), Reply::Now(Feedback { ack: 752, .. })));
}

#[test]
fn an_empty_segment_gets_no_ack() {
    let mut receiver = receiver(3, Some(0.2));
    assert_eq!(send(&mut receiver, 1, 0, 0), Reply::Nothing);
    assert!(matches!(send(&mut receiver, 1, 0, FIN), Reply::Now(Feedback { ack: 2, .. })));
}

#[test]
fn the_earliest_time_stamp_is_echoed() {
    // RFC 7323, 4.3: echoed are (A) by delayed ACKs the first segment, (B) at a hole the last in order, (C) at a filled
    // hole the filling one.
    let mut receiver = receiver(3, Some(0.2));
    let mut take = |n: u32, stamp: f64| {
        let arrived = Arrived { seq: 1 + 100 * (n - 1), payload: 100, bits: 0, stamp, now: 9.0, ack: 0 };
        match receiver.take(&arrived) {
            Reply::Now(ack) => Some(ack.stamp),
            _ => None,
        }
    };
    assert_eq!(take(1, 1.0), None);
    assert_eq!(take(2, 2.0), Some(1.0));
    assert_eq!(take(4, 4.0), Some(1.0), "the last that advanced the window");
    assert_eq!(take(5, 5.0), Some(1.0));
    assert_eq!(take(3, 6.0), Some(6.0));
}

#[test]
fn marks_on_segments_without_data_are_counted() {
    // RFC 9768, 3.2: the counter starts at 5.
    let mut receiver = Settings {
        ecn: EcnRules { feedback: Feedbacks::Counter, ..EcnRules::default() },
        receiver: ReceiverRules { delay: None, ..ReceiverRules::default() },
        ..Settings::default()
    }
    .receiver(0);
    assert!(matches!(send(&mut receiver, 0, 0, SYN | ECE | CWR), Reply::Now(_)));
    let mut ace = |seq, payload, bits| match send(&mut receiver, seq, payload, bits) {
        Reply::Now(answer) => Some(answer.ace),
        _ => None,
    };
    assert_eq!(ace(1, 100, ECT0), Some(5));
    assert_eq!(ace(101, 0, CE), None, "nothing to acknowledge");
    assert_eq!(ace(101, 0, ECT0), None);
    assert_eq!(ace(101, 100, ECT0), Some(6));
}

#[test]
fn marks_are_echoed_until_cwr() {
    let feedback = Feedbacks::Classic;
    let mut receiver = Settings {
        sack: false,
        ecn: EcnRules { feedback, ..EcnRules::default() },
        receiver: ReceiverRules { delay: None, ..ReceiverRules::default() },
        ..Settings::default()
    }
    .receiver(0);
    let Reply::Now(answer) = send(&mut receiver, 0, 0, SYN | ECE | CWR) else { panic!() };
    assert!(answer.echo, "yes to ECN");
    let mut echo = |n: u32, bits| match send(&mut receiver, 1 + 100 * (n - 1), 100, bits) {
        Reply::Now(answer) => answer.echo,
        other => panic!("{other:?}"),
    };
    assert!(!echo(1, ECT0));
    assert!(echo(2, CE));
    assert!(echo(3, ECT0));
    assert!(!echo(4, ECT0 | CWR));
    assert!(echo(5, CE | CWR), "a new mark in the segment that tells of the cut");
    assert!(echo(6, 0), "also in answer to a retransmission, which is not ECN-capable");
}
