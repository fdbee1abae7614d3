use super::*;
use crate::segment::SYN;
use crate::tcp::rfc::wire::Feedback;
use crate::tcp::rfc::{Arrived, Receiver, ReceiverRules, ReceiverSettings, Reply, Settings};
use earlydrop_aqm::random::Generator;

/// A scoreboard of segments of 100 bytes from 1 on.
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
fn a_segment_below_three_sacked_ones_is_lost() {
    // RFC 6675, IsLost: more than (DupThresh - 1) * SMSS bytes.
    let mut board = board(10);
    assert_eq!(board.sack(&[segments(2, 3)], None, |_| {}), 200);
    assert_eq!((board.find_losses(), board.pipe()), (0, 800));
    assert_eq!(board.sack(&[segments(2, 4)], None, |_| {}), 100, "the rest was SACKed before");
    assert_eq!((board.find_losses(), lost(&board)), (100, vec![1]));
    assert_eq!(board.pipe(), 600, "10 outstanding, 3 SACKed, 1 lost");
    let index = board.next_lost().unwrap();
    board.retransmitted(index, 20.0, true);
    assert_eq!((board.pipe(), board.next_lost()), (700, None));
}

#[test]
fn a_byte_more_than_two_segments_makes_the_first_lost() {
    for (last, expected) in [(0, vec![]), (1, vec![1])] {
        let mut board = board(3);
        board.sent(301, 1, false, 3.0);
        board.sack(&[(101, 301 + last)], None, |_| {});
        board.find_losses();
        assert_eq!(lost(&board), expected, "{last} bytes more");
    }
}

#[test]
fn a_timeout_takes_note_of_what_was_not_lost_before() {
    let mut board = board(6).noting_losses();
    board.sack(&[segments(3, 5)], None, |_| {});
    board.find_losses();
    assert_eq!(board.take_newly_lost(), [0, 1]);
    let first = board.next_lost().unwrap();
    board.retransmitted(first, 20.0, true);
    board.mark_all_lost(f64::INFINITY);
    assert_eq!(board.take_newly_lost(), [0, 5], "the retransmission and the last");
}

/// What of a scoreboard's state does not depend on the path taken.
fn state(board: &Scoreboard) -> String {
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
fn the_fast_path_for_a_grown_first_block_equals_the_slow_path() {
    let mut grown = 0;
    for seed in 0..60 {
        let mut random = Generator::stream(seed, "test.blocks");
        let plain =
            Settings { receiver: ReceiverRules { delay: None, ..ReceiverRules::default() }, ..Settings::default() }
                .receiver_settings(0);
        let mut receiver = Receiver::new(ReceiverSettings { blocks: 1 + (seed % 4) as u8, ..plain });
        receiver.take(&Arrived { seq: 0, payload: 0, bits: SYN, stamp: 0.0, now: 0.0, ack: 0 });
        let (mut short, mut long, mut next) = (Scoreboard::new(100), Scoreboard::new(100), 1);
        for step in 0..400 {
            let now = f64::from(step);
            // Sends new data, or a retransmission.
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
            let arrived = Arrived { seq: start as u32, payload: record.len, bits: 0, stamp: now, now, ack: 0 };
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
            assert_eq!((told, state(&short)), (all, state(&long)), "{feedback:?}");
        }
    }
    assert!(grown > 1000, "{grown}");
}

#[test]
fn blocks_that_the_fast_path_refuses() {
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
    assert_eq!(board.sack_more(&ack(401), |_| {}), None, "an overtaken ACK");
    assert_eq!(board.sack_more(&Feedback { duplicate: true, ..ack(801) }, |_| {}), None, "DSACK");
    board.acknowledge(801, |_| {});
    assert_eq!(board.sack_more(&ack(801), |_| {}), None, "nothing is outstanding");
    let mut board = told(601);
    board.acknowledge(201, |_| {});
    board.mark_all_lost(f64::INFINITY);
    assert_eq!(board.sack_more(&ack(701), |_| {}), None, "SACKs were revoked");
}

#[test]
fn a_segment_below_three_sacked_ranges_is_lost() {
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
fn a_segment_is_delivered_once() {
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
fn a_timeout_loses_all_but_sacked_segments() {
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
fn a_receiver_may_renege() {
    let mut board = board(4);
    board.sack(&[segments(2, 4)], None, |_| {});
    board.acknowledge(101, |_| {});
    board.mark_all_lost(f64::INFINITY);
    assert_eq!((board.sacked(), board.lost(), board.pipe()), (0, 300, 0));
}

#[test]
fn a_retransmission_can_be_lost() {
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
fn holes_for_rules_3_and_4() {
    let mut board = board(6);
    board.sack(&[segments(2, 2), segments(5, 5)], None, |_| {});
    assert_eq!((board.next_hole(), board.last_hole()), (Some(0), Some(5)));
    board.retransmitted(0, 7.0, true);
    assert_eq!(board.next_hole(), Some(2));
    assert_eq!(board.pipe(), 500, "a retransmission of a segment not lost counts twice");
}
