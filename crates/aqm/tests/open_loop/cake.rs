//! Against Linux's CAKE: the same arrivals, with their headers, through the kernel's queue under QEMU and ours.
//!
//! What chance does not decide must be equal: which packets are dropped and marked, in which order a queue's packets
//! leave, and when. Chance decides the hash (which has no effect while flows find places of their own) and a byte of each
//! turn (`get_random_u16`), so that queues may swap turns; and the kernel's machine hands packets over some microseconds
//! after the recorded time, and wakes its shaper as late.
//!
//! The figures and how they were made: `validation/reference/README.md`.

use crate::common::queue;
use earlydrop_aqm::header::TcpHeader;
use earlydrop_aqm::params::Kind;
use earlydrop_aqm::prelude::*;
use earlydrop_aqm::Header;
use std::collections::{BTreeMap, BTreeSet};
use std::io::Read;
use std::path::Path;

const CASES: [&str; 20] = [
    "flowblind",
    "srchost",
    "dsthost",
    "hosts",
    "flows",
    "dual-srchost",
    "dual-dsthost",
    "triple-isolate",
    "precedence",
    "diffserv3",
    "diffserv4",
    "diffserv8",
    "overhead",
    "atm",
    "ptm",
    "ingress",
    "memlimit",
    "rtt",
    "ack-filter",
    "ack-filter-aggressive",
];

/// A packet of a case, and when it left the kernel's queue, s; `None`: dropped.
struct Line {
    at: f64,
    packet: Packet,
    header: Header,
    left: Option<f64>,
    marked: bool,
}

struct Case {
    queue: Box<dyn Discipline>,
    lines: Vec<Line>,
}

fn value(name: &str, text: &str) -> (&'static str, Value) {
    let param = catalogue::find("cake").and_then(|spec| spec.param(name)).unwrap_or_else(|| panic!("no {name}"));
    let value = match param.kind {
        Kind::Choice(words) => Value::Choice(words.iter().find(|&&word| word == text).expect("a word")),
        Kind::Flag { .. } => Value::Flag(text == "true"),
        _ => Value::Real(text.parse().expect("a number")),
    };
    (param.name, value)
}

fn case(name: &str, seed: u64) -> Case {
    let file = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../validation/reference/cake_openloop");
    let file = file.join(format!("{name}.csv.gz"));
    let bytes = std::fs::read(&file).unwrap_or_else(|e| panic!("{}: {e}", file.display()));
    let mut text = String::new();
    flate2::read::GzDecoder::new(&bytes[..]).read_to_string(&mut text).expect("gzip");
    let ours = text.lines().find_map(|line| line.strip_prefix("# ours: ")).expect("our parameters");
    let (mut values, mut limit) = (Values::new(), Limit::Packets(10_240));
    for (name, text) in ours.split(' ').filter_map(|pair| pair.split_once('=')) {
        if name == "limit" {
            limit = Limit::Bytes(text.parse().expect("bytes"));
        } else {
            let (name, value) = value(name, text);
            values.set(name, value);
        }
    }
    let link = Link { rate_bps: 1e10, delay_s: 0.0 };
    let queue = queue("cake", &values, &link, limit, true, Generator::stream(seed, "queue"));
    let rows = text.lines().filter(|line| !line.starts_with('#')).skip(1).enumerate();
    Case { queue, lines: rows.map(|(tag, row)| line(tag as u32, row)).collect() }
}

fn line(tag: u32, row: &str) -> Line {
    let cells: Vec<Option<i64>> = row.split(',').map(|cell| cell.parse().ok()).collect();
    let number = |i: usize| cells[i].expect("a number");
    let (source, destination, protocol, tos) = (number(1) as u64, number(2) as u64, number(3), number(4));
    let tcp = (protocol == 6).then(|| TcpHeader {
        plain_ack: true,
        acknowledges: true,
        ack: number(7) as u32,
        ..TcpHeader::default()
    });
    // Ethernet's header is a part of the recorded sizes.
    let header = Header { dscp: (tos >> 2) as u8, offset: 14, source, destination, tcp };
    let ecn = if tos & 3 == 2 { Ecn::Ect0 } else { Ecn::NotEct };
    let flow = number(6) as u64;
    Line {
        at: number(0) as f64 * 1e-9,
        packet: Packet { ecn, tag, ..Packet::new(flow, number(5) as u32) },
        header,
        left: cells[8].map(|ns| ns as f64 * 1e-9),
        marked: cells[9].is_some_and(|tos| tos & 3 == 3),
    }
}

/// What ours does: when each packet left, and whether it was marked; the others were dropped.
fn run(case: &mut Case) -> BTreeMap<u32, (f64, bool)> {
    let mut left = BTreeMap::new();
    let queue = &mut *case.queue;
    let mut release: Option<f64> = None;
    let mut take = |queue: &mut dyn Discipline, now: f64| {
        while let Some(packet) = queue.dequeue(Time::from_seconds(now), &mut |_, _| {}) {
            left.insert(packet.tag, (now, packet.ecn == Ecn::Ce));
        }
        queue.held_until().map(Time::seconds)
    };
    for line in &case.lines {
        while let Some(now) = release.filter(|&now| now <= line.at) {
            release = take(queue, now);
        }
        queue.enqueue_with(line.packet, &line.header, Time::from_seconds(line.at), &mut |_, _| {});
        release = take(queue, line.at);
    }
    while let Some(now) = release {
        release = take(queue, now);
    }
    left
}

/// Both sides of a case.
struct Compared {
    packets: usize,
    /// Packets that left theirs and ours, and those among them that were marked.
    left: [BTreeSet<u32>; 2],
    marked: [BTreeSet<u32>; 2],
    /// By how much theirs left later, s, in rising order.
    later: Vec<f64>,
    /// Bytes of each flow that left in the two seconds of overload.
    shares: [BTreeMap<u64, f64>; 2],
}

fn compared(name: &str, seed: u64) -> Compared {
    let mut case = case(name, seed);
    let ours = run(&mut case);
    let of = |keep: &dyn Fn(&Line) -> bool| -> BTreeSet<u32> {
        case.lines.iter().filter(|line| keep(line)).map(|line| line.packet.tag).collect()
    };
    let mut later: Vec<f64> =
        (case.lines.iter()).filter_map(|line| Some(line.left? - ours.get(&line.packet.tag)?.0)).collect();
    later.sort_by(f64::total_cmp);
    let mut shares = [BTreeMap::new(), BTreeMap::new()];
    for line in &case.lines {
        let bytes = f64::from(line.packet.size);
        for (side, left) in [line.left, ours.get(&line.packet.tag).map(|seen| seen.0)].into_iter().enumerate() {
            if left.is_some_and(|left| left < 2.0) {
                *shares[side].entry(line.packet.flow).or_default() += bytes;
            }
        }
    }
    Compared {
        packets: case.lines.len(),
        left: [of(&|line| line.left.is_some()), ours.keys().copied().collect()],
        marked: [of(&|line| line.marked), ours.iter().filter(|(_, seen)| seen.1).map(|(&tag, _)| tag).collect()],
        later,
        shares,
    }
}

#[test]
fn without_chance_every_drop_mark_and_time_is_linuxs() {
    // One queue; and one queue for each flow of ACKs, none of which has the other's turn.
    for name in ["flowblind", "ack-filter"] {
        let Compared { left, marked, later, .. } = compared(name, 1);
        assert_eq!(left[0], left[1], "{name}: what leaves");
        assert_eq!(marked[0], marked[1], "{name}: what is marked");
        let at = |share: f64| later[(share * (later.len() - 1) as f64) as usize];
        assert!(at(0.0) > 5e-6 && at(0.99) < 60e-6, "{name}: {} to {} later", at(0.0), at(0.99));
    }
}

#[test]
fn the_shaper_lets_packets_go_when_linuxs_does() {
    for name in CASES {
        let Compared { later, .. } = compared(name, 1);
        // Swapped turns cancel out: the middle is what the kernel's timer is late.
        let middle = later[later.len() / 2];
        assert!((10e-6..30e-6).contains(&middle), "{name}: {middle}");
    }
}

#[test]
fn drops_marks_and_shares_are_linuxs_but_for_chance() {
    for name in CASES {
        let Compared { packets, left, marked, shares, .. } = compared(name, 1);
        let one_percent = packets as f64 * 0.01;
        for (what, [theirs, ours]) in [("left", &left), ("marked", &marked)] {
            let difference = theirs.len().abs_diff(ours.len()) as f64;
            assert!(difference <= one_percent, "{name}: {} and {} packets {what}", theirs.len(), ours.len());
        }
        let total: f64 = shares[0].values().sum();
        for (flow, bytes) in &shares[0] {
            let ours = shares[1].get(flow).copied().unwrap_or(0.0);
            assert!((ours - bytes).abs() <= 0.02 * total, "{name}: flow {flow} has {bytes} and {ours} B of {total}");
        }
    }
}
