//! Against Linux's CAKE: the same arrivals, with their headers, through the kernel's queue under QEMU and ours.
//!
//! What chance does not decide must be equal: which packets are dropped and marked, in which order a queue's packets
//! leave, and when. Chance decides the hash (which has no effect while flows find places of their own) and a byte of each
//! turn (`get_random_u16`), so that queues may swap turns; and the kernel's machine hands packets over some microseconds
//! after the recorded time, and wakes its shaper as late.
//!
//! The figures and how they were made: `validation/reference/README.md`.

use crate::common::queue;
use earlydrop_aqm::catalogue::{self, Link};
use earlydrop_aqm::header::TcpHeader;
use earlydrop_aqm::params::{Kind, Value, Values};
use earlydrop_aqm::policy::Limit;
use earlydrop_aqm::random::Generator;
use earlydrop_aqm::{Discipline, Ecn, Header, Packet, Time};
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
    // Ethernet's header is a part of the recorded sizes.
    values.set("network_offset", Value::Real(14.0));
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
    let header = Header { dscp: (tos >> 2) as u8, source, destination, tcp };
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

#[test]
fn compare_all() {
    for name in CASES {
        let mut case = case(name, 1);
        let ours = run(&mut case);
        let theirs: BTreeMap<u32, f64> =
            case.lines.iter().filter_map(|line| line.left.map(|left| (line.packet.tag, left))).collect();
        let drops = |left: &BTreeSet<u32>| case.lines.len() - left.len();
        let (a, b): (BTreeSet<u32>, BTreeSet<u32>) = (theirs.keys().copied().collect(), ours.keys().copied().collect());
        let marks: BTreeSet<u32> = case.lines.iter().filter(|line| line.marked).map(|line| line.packet.tag).collect();
        let our_marks: BTreeSet<u32> = ours.iter().filter(|(_, seen)| seen.1).map(|(&tag, _)| tag).collect();
        let late: Vec<f64> =
            ours.iter().filter_map(|(tag, seen)| theirs.get(tag).map(|left| (left - seen.0) * 1e6)).collect();
        let mut sorted = late.clone();
        sorted.sort_by(f64::total_cmp);
        let at = |share: f64| sorted[((sorted.len() - 1) as f64 * share) as usize];
        eprintln!(
            "{name}: {} packets, drops {} and {}, only one of them {}; marks {} and {}, differ {}; us {:.0} {:.0} {:.0} {:.0} {:.0}",
            case.lines.len(),
            drops(&a),
            drops(&b),
            a.symmetric_difference(&b).count(),
            marks.len(),
            our_marks.len(),
            marks.symmetric_difference(&our_marks).count(),
            at(0.0), at(0.05), at(0.5), at(0.95), at(1.0),
        );
    }
}
