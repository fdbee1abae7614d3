//! The sender's counts held against the receiver's, whatever happens to ACKs.

use super::super::Counters;
use super::*;
use crate::segment::ECT1;
use crate::tcp::rfc::wire::Feedback;
use earlydrop_aqm::random::Generator;

const MSS: u32 = 1000;

/// Marked packets and marked bytes.
type Marks = (u64, u64);

/// What a path does to packets and their ACKs: chances for each packet or ACK.
#[derive(Clone, Copy, Debug)]
struct Path {
    marked: f64,
    acks_lost: f64,
    acks_late: f64,
    options: bool,
    /// Most packets that an ACK acknowledges.
    together: u64,
}

/// An ACK on its way, with the receiver's counts when it was sent.
struct Sent {
    packets: u64,
    ace: u8,
    option: AccecnOption,
    marks: Marks,
}

/// Compares counts after every ACK of 3000 packets: `check(reading, the receiver's counts at the ACK, and now)`. ACKs
/// that were overtaken are left out.
fn run(seed: u64, path: Path, check: &mut dyn FnMut(&Reading, Marks, Marks)) {
    let mut random = Generator::stream(seed, "accecn");
    let mut chance = |p: f64| random.uniform() < p;
    let (mut counters, mut reading) = (Counters::new(), Reading::new(None, &AccecnOption::NONE));
    let (mut late, mut delivered, mut unacknowledged) = (Vec::<Sent>::new(), 0, 0);
    for packet in 1..=3000_u64 {
        let at_once = counters.count(if chance(path.marked) { CE } else { ECT1 }, MSS);
        unacknowledged += 1;
        if !at_once && unacknowledged < path.together {
            continue;
        }
        unacknowledged = 0;
        let mut ack = Feedback { ace: counters.ace(), ..Feedback::new(1, 0.0) };
        if path.options {
            counters.add_option(&mut ack, true);
        }
        let sent = Sent { packets: packet, ace: ack.ace, option: ack.accecn, marks: counters.marks() };
        if chance(path.acks_lost) {
            continue;
        }
        if chance(path.acks_late) {
            late.push(sent);
            continue;
        }
        let mut arrivals = vec![sent];
        while chance(0.3) && !late.is_empty() {
            arrivals.push(late.swap_remove(0));
        }
        for sent in arrivals {
            let packets = sent.packets.saturating_sub(delivered);
            let newly = Newly { packets, bytes: packets * u64::from(MSS), old: sent.packets < delivered, stamp: 0.0 };
            reading.on_ack(sent.ace, &sent.option, &newly, MSS);
            if packets > 0 {
                delivered = sent.packets;
                check(&reading, sent.marks, counters.marks());
            } else {
                assert!(reading.marks().0 <= counters.marks().0 || !path.options, "an overtaken ACK counts nothing");
            }
        }
    }
    assert!(delivered > 500, "{path:?}");
}

fn paths(options: bool) -> impl Iterator<Item = (u64, Path)> {
    (0..200).map(move |seed| {
        let chances = [0.0, 0.02, 0.3, 0.8];
        let pick = |by: u64| chances[(seed / by) as usize % chances.len()];
        let path = Path { marked: pick(1), acks_lost: pick(4), acks_late: pick(16), options, together: 1 + seed % 3 };
        (seed, path)
    })
}

#[test]
fn with_options_the_counts_are_exact_at_each_ack_and_never_more_than_arrived() {
    for (seed, path) in paths(true) {
        run(seed, path, &mut |reading, at_the_ack, now| {
            assert_eq!(reading.marks(), at_the_ack, "{seed} {path:?}");
            assert!(reading.marks().0 <= now.0 && reading.sends_capable);
        });
    }
}

#[test]
fn without_options_counts_are_exact_while_acks_deliver_seven_packets_at_most() {
    for (seed, path) in paths(false) {
        let mut known = FIRST_CEP;
        let mut before = 0;
        let path = Path { acks_lost: 0.0, acks_late: 0.0, ..path };
        run(seed, path, &mut |reading, at_the_ack, _| {
            assert_eq!(reading.marks().0, at_the_ack.0, "{seed} {path:?}");
            assert!(reading.marks().0 >= known);
            (known, before) = (reading.marks().0, before + 1);
        });
        assert!(before > 500);
    }
}

#[test]
fn without_options_lost_acks_never_hide_marks_unless_acks_are_thinned_out() {
    let mut more = 0;
    for (seed, path) in paths(false) {
        run(seed, Path { acks_late: 0.0, ..path }, &mut |reading, at_the_ack, _| {
            let count = reading.marks().0;
            assert_eq!(count % 8, at_the_ack.0 % 8, "the bits agree: {seed} {path:?}");
            if path.acks_lost < 0.5 && path.together < 3 {
                assert!(count >= at_the_ack.0, "{seed} {path:?}");
            }
            more += u64::from(count > at_the_ack.0);
        });
    }
    assert!(more > 0, "the bits alone are ambiguous");
}

#[test]
fn an_option_ends_what_lost_acks_have_left_open() {
    // ACKs without options are lost, then one with an option comes.
    for seed in 0..50 {
        let mut random = Generator::stream(seed, "accecn");
        let (mut counters, mut reading) = (Counters::new(), Reading::new(None, &AccecnOption::new(0, &[1, 0, 1])));
        for round in 0..20 {
            let packets = 1 + (random.uniform() * 40.0) as u64;
            for _ in 0..packets {
                counters.count(if random.uniform() < 0.4 { CE } else { ECT1 }, MSS);
            }
            let mut ack = Feedback { ace: counters.ace(), ..Feedback::new(1, 0.0) };
            if round % 4 == 3 {
                counters.add_option(&mut ack, true);
            }
            let newly = Newly { packets, bytes: packets * u64::from(MSS), old: false, stamp: 0.0 };
            reading.on_ack(ack.ace, &ack.accecn, &newly, MSS);
            if ack.accecn.is_present() {
                assert_eq!(reading.marks(), counters.marks(), "{seed}");
            }
        }
    }
}

#[test]
fn fields_wrap_around_24_bits() {
    let mut reading = Reading::new(None, &AccecnOption::new(0, &[1, 0, 1]));
    let newly = Newly { packets: 7, bytes: 7000, old: false, stamp: 0.0 };
    // 20 MB in packets of 1000 B, all marked, 7 to an ACK.
    for k in 1..=20_000_u64 / 7 {
        let ace = ((FIRST_CEP + 7 * k) % 8) as u8;
        assert_eq!(reading.on_ack(ace, &AccecnOption::new(1, &[1, 7000 * k]), &newly, MSS), 7);
    }
    assert_eq!(reading.marks(), (FIRST_CEP + 7 * (20_000 / 7), 7000 * (20_000 / 7)));
    assert_eq!([difference(5, 0xff_ffff), difference(0xff_ffff, 5), difference(7, 0x1_0000_0007)], [6, -6, 0]);
}

#[test]
fn a_time_stamp_tells_a_new_ack_without_new_data() {
    let mut reading = Reading::new(None, &AccecnOption::NONE);
    let newly = |packets, stamp| Newly { packets, bytes: 0, old: false, stamp };
    assert_eq!(reading.on_ack(6, &AccecnOption::NONE, &newly(1, 1.0), MSS), 1);
    assert_eq!(reading.on_ack(7, &AccecnOption::NONE, &newly(0, 1.0), MSS), 0, "perhaps overtaken");
    assert_eq!(reading.on_ack(7, &AccecnOption::NONE, &newly(0, 1.1), MSS), 1);
}
