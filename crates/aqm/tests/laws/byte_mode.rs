//! RED in packet mode and in byte mode, all packets as large as the mean: the two then say the same of every queue, and
//! with the same random numbers they must drop the same packets, as far as the rules allow it.
//!
//! The 1993 rules and ns-2's without its exception for short queues do. That exception (no early drop while there is no
//! more than *one* in the queue, in whatever unit) is one packet in packet mode and one byte in byte mode: an arrival
//! that finds one packet is let through without a draw in the first and tested with one in the second, and from there
//! on the two are on different random numbers. Up to such an arrival they agree.

use crate::common::{gauge, queue, values, OpenLoop};
use crate::script::Dice;
use earlydrop_aqm::prelude::*;

const SIZE: u32 = 500;
const LINK: Link = Link { rate_bps: 10e6, delay_s: 0.001 };
const ARRIVALS: usize = 1500;

type Settings<'a> = &'a [(&'static str, Value)];

const PAPER: Settings = &[("dialect", Value::Choice("paper"))];
const NS2: Settings = &[("dialect", Value::Choice("ns2"))];
const NS2_FORCED: Settings = &[("dialect", Value::Choice("ns2")), ("ecn_over_max", Value::Choice("drop"))];
const NS2_NO_WAIT: Settings = &[("dialect", Value::Choice("ns2")), ("wait", Value::Flag(false))];
const NS3: Settings = &[("dialect", Value::Choice("ns3"))];

fn red(rules: Settings, gentle: bool, bytes: bool, limit: u64, seed: u64) -> Box<dyn Discipline> {
    let common = [
        ("min_th", Value::Real(5.0)),
        ("max_th", Value::Real(15.0)),
        ("max_p", Value::Real(0.1)),
        ("w_q", Value::Real(0.02)),
        ("mean_packet", Value::Real(f64::from(SIZE))),
        ("max_packet", Value::Real(f64::from(SIZE))),
        ("gentle", Value::Flag(gentle)),
    ];
    let mut set = values(&[&common[..], rules].concat());
    if bytes {
        set.set("unit", Value::Choice("byte")).set("byte_scaling", Value::Flag(true));
    }
    queue("red", &set, &LINK, Limit::Packets(limit), false, Generator::stream(seed, "queue"))
}

/// Where both modes stand after the same arrivals, at `load` times what the link carries.
struct Outcome {
    /// Arrivals after which the two had said the same of each.
    agreed: usize,
    /// The first arrival that found the average above min_th and one packet waiting.
    first_exception: Option<usize>,
    drops: usize,
}

fn both(rules: Settings, gentle: bool, limit: u64, load: f64, seed: u64) -> Outcome {
    let mut dice = Dice(seed);
    let mut packets = OpenLoop::new(red(rules, gentle, false, limit, seed), LINK.rate_bps);
    let mut bytes = OpenLoop::new(red(rules, gentle, true, limit, seed), LINK.rate_bps);
    let service = 8.0 * f64::from(SIZE) / LINK.rate_bps;
    let mut now = 0.0;
    let (mut first_exception, mut agreed) = (None, 0);
    for i in 0..ARRIVALS {
        now += -f64::ln(1.0 - dice.uniform()) * service / load;
        packets.run_to(now);
        let one_waits = packets.queue.packets() == 1;
        let packet = Packet { tag: i as u32, ..Packet::new(1, SIZE) };
        let same = packets.arrive(packet, now) == bytes.arrive(packet, now);
        if first_exception.is_none() && one_waits && gauge(&*packets.queue, "avg") >= 5.0 {
            first_exception = Some(i);
        }
        if !same {
            break;
        }
        let (a, b) = (gauge(&*packets.queue, "avg"), gauge(&*bytes.queue, "avg") / f64::from(SIZE));
        assert!((a - b).abs() <= 1e-9 * a.max(1.0), "averages {a} and {b} at arrival {i}");
        agreed = i + 1;
    }
    Outcome { agreed, first_exception, drops: packets.dropped.len() }
}

const SEEDS: std::ops::Range<u64> = 1..41;

/// The 1993 rules have no exception: the same drops, whatever the load.
#[test]
fn modes_agree_at_every_arrival_by_the_rules_of_1993() {
    for (gentle, limit, load) in [(false, 50, 1.0), (true, 50, 1.2), (false, 12, 1.5), (true, 20, 3.0)] {
        let mut drops = 0;
        for seed in SEEDS {
            let outcome = both(PAPER, gentle, limit, load, seed);
            assert_eq!(outcome.agreed, ARRIVALS, "gentle {gentle}, limit {limit}, load {load}, seed {seed}");
            drops += outcome.drops;
        }
        assert!(drops > 40 * 10, "{drops} drops are too few to tell");
    }
}

/// Where the queue never falls to one packet with the average above min_th, ns-2's and ns-3's agree to the end.
#[test]
fn modes_of_ns_agree_while_more_than_one_packet_waits() {
    for rules in [NS2, NS2_FORCED, NS2_NO_WAIT, NS3] {
        let mut to_the_end = 0;
        for seed in SEEDS {
            let outcome = both(rules, true, 50, 3.0, seed);
            assert!(outcome.drops > 10);
            if outcome.first_exception.is_none() {
                assert_eq!(outcome.agreed, ARRIVALS, "{rules:?}, seed {seed}");
                to_the_end += 1;
            }
        }
        assert!(to_the_end >= 20, "{rules:?}: {to_the_end} of 40");
    }
}

/// At a load about what the link carries there are such arrivals, and the modes part there and never before.
#[test]
fn modes_of_ns_part_at_the_exception_for_short_queues() {
    for rules in [NS2, NS2_FORCED, NS2_NO_WAIT, NS3] {
        let mut parted = 0;
        for seed in SEEDS {
            let outcome = both(rules, true, 50, 1.0, seed);
            let free_of_it = outcome.first_exception.unwrap_or(ARRIVALS);
            assert!(
                outcome.agreed >= free_of_it,
                "{rules:?}, seed {seed}: parted at {} of {free_of_it}",
                outcome.agreed
            );
            parted += usize::from(outcome.agreed < ARRIVALS);
        }
        assert!(parted >= 10, "{rules:?}: {parted} of 40 parted");
    }
}
