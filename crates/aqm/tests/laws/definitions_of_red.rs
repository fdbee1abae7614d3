//! What papers say that DropTail, RED and TRED are, each sentence held against the queues of the catalogue, in every
//! dialect of RED that has it: when they drop, by what, and what marking changes. `statements.toml` of the studies
//! `tred` and `aqm-qos` name these tests.

use crate::common::{gauge, queue, values};
use crate::script::Dice;
use earlydrop_aqm::prelude::*;

const LINK: Link = Link { rate_bps: 10e6, delay_s: 0.01 };
const SIZE: u32 = 1000;
const DIALECTS: [&str; 3] = ["paper", "ns2", "ns3"];

type Settings<'a> = &'a [(&'static str, Value)];

/// Thresholds 24 and 72, max_p 0.1, w_q 0.002, and what `more` says.
fn red(aqm: &str, more: Settings, limit: Limit, seed: u64) -> Box<dyn Discipline> {
    let common = [
        ("min_th", Value::Real(24.0)),
        ("max_th", Value::Real(72.0)),
        ("max_p", Value::Real(0.1)),
        ("w_q", Value::Real(0.002)),
        ("mean_packet", Value::Real(f64::from(SIZE))),
    ];
    queue(aqm, &values(&[&common[..], more].concat()), &LINK, limit, true, Generator::stream(seed, "queue"))
}

#[derive(Clone, Copy, Debug, PartialEq)]
enum Fate {
    Queued,
    Marked,
    Dropped(Reason),
}

/// An arrival, and what becomes of it. No time passes, so that no average decays.
fn arrive(queue: &mut dyn Discipline, packet: Packet) -> Fate {
    let (marks, mut reason) = (queue.counters().marks, None);
    queue.enqueue(packet, Time::ZERO, &mut |_, why| reason = Some(why));
    match reason {
        Some(why) => Fate::Dropped(why),
        None if queue.counters().marks > marks => Fate::Marked,
        None => Fate::Queued,
    }
}

fn take(queue: &mut dyn Discipline) -> Option<Packet> {
    queue.dequeue(Time::ZERO, &mut |_, _| {})
}

/// The fates of `n` arrivals, each of which finds `length` packets waiting. They come to wait by capable packets, which
/// are marked and not lost on the way.
fn held(queue: &mut dyn Discipline, length: u64, n: usize, packet: &mut dyn FnMut() -> Packet) -> Vec<Fate> {
    while queue.packets() > length {
        take(queue);
    }
    let mut fill = 0;
    while queue.packets() < length {
        arrive(queue, Packet { ecn: Ecn::Ect0, ..plain() });
        fill += 1;
        assert!(fill < 100_000, "no queue of {length} comes about");
    }
    let fates = (0..n).map(|_| {
        let fate = arrive(queue, packet());
        if !matches!(fate, Fate::Dropped(_)) {
            take(queue);
        }
        fate
    });
    fates.collect()
}

fn plain() -> Packet {
    Packet::new(1, SIZE)
}

fn drops(fates: &[Fate]) -> usize {
    fates.iter().filter(|fate| matches!(fate, Fate::Dropped(_))).count()
}

// ---- DropTail ------------------------------------------------------------------------------------------------------

/// Whatever arrives and leaves: an arrival is dropped if and only if the buffer is full; those that wait stay, and
/// leave in their order.
#[test]
fn droptail_drops_an_arrival_at_a_full_buffer_and_nothing_else() {
    for (rule, holds) in [("n", 20), ("n_minus_1", 19)] {
        let set = values(&[("capacity_rule", Value::Choice(rule))]);
        let mut queue = queue("droptail", &set, &LINK, Limit::Packets(20), false, Generator::stream(1, "queue"));
        let (mut dice, mut waiting, mut full) = (Dice(7), std::collections::VecDeque::new(), 0);
        for tag in 0..20_000 {
            if dice.uniform() < 0.45 {
                assert_eq!(take(&mut *queue).map(|packet| packet.tag), waiting.pop_front());
                continue;
            }
            let fate = arrive(&mut *queue, Packet { tag, ..plain() });
            if waiting.len() == holds {
                assert_eq!(fate, Fate::Dropped(Reason::Overflow));
                full += 1;
            } else {
                assert_eq!(fate, Fate::Queued);
                waiting.push_back(tag);
            }
        }
        assert!(full > 1000, "{full} arrivals found a full buffer");
    }
}

/// 30 packets of 50 B are one of 1500 B in one memory of bytes, and 30 places of one in fixed buffers.
#[test]
fn a_limit_in_packets_counts_all_alike_and_one_in_bytes_by_size() {
    let fit = |limit, size| {
        let none = values(&[]);
        let mut queue = queue("droptail", &none, &LINK, limit, false, Generator::stream(1, "queue"));
        (0..10_000).take_while(|_| arrive(&mut *queue, Packet::new(1, size)) == Fate::Queued).count()
    };
    assert_eq!((fit(Limit::Packets(60), 50), fit(Limit::Packets(60), 1500)), (60, 60));
    assert_eq!((fit(Limit::Bytes(90_000), 50), fit(Limit::Bytes(90_000), 1500)), (1800, 60));
    assert_eq!((fit(Limit::Bytes(9_000), 50), fit(Limit::Bytes(9_000), 1500)), (180, 6));
}

// ---- RED -----------------------------------------------------------------------------------------------------------

/// Equation 2: zero, a line from zero to max_p, one.
#[test]
fn the_drop_curve_of_red_is_a_line_between_its_thresholds() {
    for dialect in DIALECTS {
        let set = values(&[
            ("min_th", Value::Real(24.0)),
            ("max_th", Value::Real(72.0)),
            ("max_p", Value::Real(0.1)),
            ("dialect", Value::Choice(dialect)),
        ]);
        let curve = catalogue::find("red").unwrap().curve.unwrap();
        for i in 0..15_000 {
            let average = 0.01 * f64::from(i);
            let want = if average < 24.0 {
                0.0
            } else if average < 72.0 {
                0.1 * (average - 24.0) / (72.0 - 24.0)
            } else {
                1.0
            };
            let p = curve(&set, &LINK, average);
            assert!((p - want).abs() < 1e-12, "{dialect}: p({average}) = {p}, not {want}");
        }
    }
}

/// With weight 1 the average is the queue found. Of 20,000 arrivals at each length: none below min_th; from there on
/// some, the more the longer it is; from max_th on all, in a buffer that is nowhere near full.
#[test]
fn red_drops_nothing_below_min_th_some_beyond_and_everything_from_max_th_on() {
    for dialect in DIALECTS {
        let set = [("w_q", Value::Real(1.0)), ("dialect", Value::Choice(dialect))];
        let dropped =
            |length| drops(&held(&mut *red("red", &set, Limit::Packets(1000), 5), length, 20_000, &mut plain));
        assert_eq!((dropped(5), dropped(23)), (0, 0), "{dialect}");
        let between = [30, 40, 50, 60, 71].map(dropped);
        assert!(between[0] > 100 && between.is_sorted_by(|a, b| a < b), "{dialect}: {between:?}");
        assert!(between[4] < 5000, "{dialect}: {between:?}");
        assert_eq!(dropped(72), 20_000, "{dialect}");
    }
}

/// The queue of the moment decides nothing: a short burst far beyond max_th loses nothing while the average is low, and
/// a queue of three loses while the average is high.
#[test]
fn red_acts_on_its_average_and_not_on_the_queue() {
    for dialect in DIALECTS {
        let mut queue = red("red", &[("dialect", Value::Choice(dialect))], Limit::Packets(1000), 5);
        let burst: Vec<_> = (0..110).map(|_| arrive(&mut *queue, plain())).collect();
        assert!(queue.packets() > 72 && gauge(&*queue, "avg") < 24.0);
        assert_eq!(drops(&burst), 0, "{dialect}");
        while gauge(&*queue, "avg") < 60.0 {
            held(&mut *queue, 100, 1, &mut plain);
        }
        let short = held(&mut *queue, 3, 100, &mut plain);
        assert!(gauge(&*queue, "avg") > 24.0);
        assert!(drops(&short) > 2, "{dialect}: {short:?}");
    }
}

/// Equation 1, in packets and in bytes: every length that was ever found counts, the older the less.
#[test]
fn the_average_of_red_is_an_exponentially_weighted_one_in_packets_or_in_bytes() {
    for dialect in DIALECTS {
        for unit in ["packet", "byte"] {
            let set = [("dialect", Value::Choice(dialect)), ("unit", Value::Choice(unit)), ("w_q", Value::Real(0.01))];
            let mut queue = red("red", &set, Limit::Packets(1000), 5);
            let (mut dice, mut average) = (Dice(3), 0.0);
            arrive(&mut *queue, plain());
            let mut found = gauge(&*queue, "avg");
            for i in 0..2_000 {
                let size = dice.one_of(&[40, 500, 1500]);
                while queue.packets() > 1 && dice.uniform() < 0.48 {
                    take(&mut *queue);
                }
                let q = if unit == "byte" { queue.bytes() } else { queue.packets() } as f64;
                average = found * (1.0 - 0.01) + 0.01 * q;
                arrive(&mut *queue, Packet::new(1, size));
                found = gauge(&*queue, "avg");
                assert!(
                    (found - average).abs() <= 1e-9 * average.max(1.0),
                    "{dialect}, {unit}, {i}: {found}, {average}"
                );
            }
            assert!(average > 1.0);
        }
    }
}

#[test]
fn each_of_the_four_parameters_of_red_changes_what_it_drops() {
    for dialect in DIALECTS {
        let dropped = |own: (&'static str, f64)| {
            let set = [("dialect", Value::Choice(dialect)), (own.0, Value::Real(own.1))];
            let mut queue = red("red", &set, Limit::Packets(1000), 5);
            drops(&held(&mut *queue, 60, 5_000, &mut plain))
        };
        let base = dropped(("max_p", 0.1));
        assert!(dropped(("max_p", 0.2)) > base && dropped(("min_th", 48.0)) < base, "{dialect}");
        assert!(dropped(("max_th", 144.0)) < base && dropped(("w_q", 0.0002)) < base, "{dialect}");
    }
}

/// At an average far below min_th: only the buffer can drop, and it does, in RED and in gentle RED.
#[test]
fn a_full_buffer_drops_every_arrival_of_red_and_of_gentle_red() {
    for dialect in DIALECTS {
        for gentle in [false, true] {
            let set =
                [("dialect", Value::Choice(dialect)), ("gentle", Value::Flag(gentle)), ("w_q", Value::Real(1e-6))];
            let mut queue = red("red", &set, Limit::Packets(50), 5);
            while queue.packets() < 50 {
                assert_eq!(arrive(&mut *queue, plain()), Fate::Queued);
            }
            let fates: Vec<_> = (0..500).map(|_| arrive(&mut *queue, plain())).collect();
            assert!(gauge(&*queue, "avg") < 1.0);
            assert!(fates.iter().all(|&fate| fate == Fate::Dropped(Reason::Overflow)), "{dialect}, gentle {gentle}");
        }
    }
}

// ---- ECN -----------------------------------------------------------------------------------------------------------

/// Two queues with the same random numbers, the one of capable packets, the other of such as are not: what the one
/// marks is what the other drops, packet by packet, from min_th on, and nothing else.
#[test]
fn what_red_marks_is_what_it_would_have_dropped() {
    for dialect in DIALECTS {
        let set = [("dialect", Value::Choice(dialect)), ("w_q", Value::Real(1.0))];
        for length in [10, 40, 60] {
            let mut capable = || Packet { ecn: Ecn::Ect0, ..plain() };
            let marked = held(&mut *red("red", &set, Limit::Packets(200), 5), length, 5_000, &mut capable);
            let dropped = held(&mut *red("red", &set, Limit::Packets(200), 5), length, 5_000, &mut plain);
            for (a, b) in marked.iter().zip(&dropped) {
                assert_eq!(*a == Fate::Marked, matches!(b, Fate::Dropped(_)), "{dialect} at {length}: {a:?}, {b:?}");
            }
            assert_eq!(drops(&marked), 0);
            assert_eq!(drops(&dropped) > 0, length > 24, "{dialect} at {length}");
        }
    }
}

#[test]
fn red_marks_the_packets_of_capable_flows_and_drops_those_of_others() {
    for dialect in DIALECTS {
        let set = [("dialect", Value::Choice(dialect)), ("w_q", Value::Real(1.0))];
        let mut queue = red("red", &set, Limit::Packets(200), 5);
        let (mut dice, mut ecns) = (Dice(9), Vec::new());
        let fates = held(&mut *queue, 60, 20_000, &mut || {
            let ecn = dice.one_of(&[Ecn::NotEct, Ecn::Ect0, Ecn::Ect1]);
            ecns.push(ecn);
            Packet { ecn, ..plain() }
        });
        let (mut marks, mut losses) = (0, 0);
        for (fate, ecn) in fates.iter().zip(&ecns) {
            match fate {
                Fate::Queued => {}
                Fate::Marked => {
                    assert_ne!(*ecn, Ecn::NotEct);
                    marks += 1;
                }
                Fate::Dropped(_) => {
                    assert_eq!(*ecn, Ecn::NotEct);
                    losses += 1;
                }
            }
        }
        assert!(marks > losses && losses > 100, "{dialect}: {marks} marks, {losses} drops");
    }
}

// ---- TRED ----------------------------------------------------------------------------------------------------------

fn curve(aqm: &str, average: f64) -> f64 {
    let set = values(&[("min_th", Value::Real(24.0)), ("max_th", Value::Real(72.0)), ("max_p", Value::Real(0.1))]);
    (catalogue::find(aqm).unwrap().curve.unwrap())(&set, &LINK, average)
}

#[test]
fn tred_is_below_red_in_the_lowest_third_on_it_in_the_middle_and_above_in_the_highest() {
    for i in 1..4800_i32 {
        let average = 24.0 + 0.01 * f64::from(i);
        let difference = curve("tred", average) - curve("red", average);
        if (i - 1600).abs() < 2 || (i - 3200).abs() < 2 {
            assert!(difference.abs() < 1e-4, "at the seam, {average}: {difference}");
        } else if i < 1600 {
            assert!(difference < 0.0, "{average}: {difference}");
        } else if i < 3200 {
            assert!(difference.abs() < 1e-15, "{average}: {difference}");
        } else {
            assert!(difference > 0.0, "{average}: {difference}");
        }
    }
}

/// Equation 6, with powers written out.
#[test]
fn the_first_section_of_tred_is_nine_max_p_times_the_cube_of_the_place() {
    for i in 1..1600 {
        let place = 0.01 * f64::from(i) / 48.0;
        assert!((curve("tred", 24.0 + 0.01 * f64::from(i)) - 9.0 * 0.1 * place * place * place).abs() < 1e-12);
    }
}

/// The slope over a thousandth of a packet is a millionth of that of RED, at min_th and just below max_th.
#[test]
fn the_curve_of_tred_is_flat_at_both_thresholds() {
    let slope = |aqm, from| (curve(aqm, from + 0.001) - curve(aqm, from)) / 0.001;
    for from in [24.0, 72.0 - 0.001 - 1e-9] {
        assert!(slope("tred", from).abs() < 1e-6 * slope("red", 40.0), "at {from}: {}", slope("tred", from));
    }
    assert!((slope("red", 40.0) - 0.1 / 48.0).abs() < 1e-9);
}

/// RED and TRED keep the same average, bit by bit, whatever arrives and leaves; held in the middle third or below min_th
/// they drop alike, in the outer thirds not. Marked packets stay, so that both queues are the same.
#[test]
fn only_the_curve_differs_between_red_and_tred() {
    for dialect in DIALECTS {
        let dialect = ("dialect", Value::Choice(dialect));
        let averages = ["red", "tred"].map(|aqm| {
            let mut queue = red(aqm, &[dialect, ("w_q", Value::Real(0.02))], Limit::Packets(200), 5);
            let mut dice = Dice(3);
            let averages = (0..20_000).map(|_| {
                if queue.packets() > 60 || (queue.packets() > 1 && dice.uniform() < 0.49) {
                    take(&mut *queue);
                }
                arrive(&mut *queue, Packet { ecn: Ecn::Ect0, ..plain() });
                gauge(&*queue, "avg")
            });
            let averages: Vec<_> = averages.collect();
            assert!(queue.counters().marks > 100);
            averages
        });
        assert!(averages[0] == averages[1] && averages[0].iter().any(|&average| average > 56.0), "{dialect:?}");
        for (length, alike) in [(10, true), (30, false), (48, true), (60, false)] {
            let [red, tred] = ["red", "tred"].map(|aqm| {
                let mut queue = red(aqm, &[dialect, ("w_q", Value::Real(1.0))], Limit::Packets(200), 5);
                drops(&held(&mut *queue, length, 20_000, &mut plain)) as f64
            });
            assert_eq!((red - tred).abs() <= 0.05 * red, alike, "{dialect:?} at {length}: {red}, {tred}");
        }
    }
}
