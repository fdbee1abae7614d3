//! Against ns-3.37, without transport: the same 27,661 arrivals through its queue discs and ours. What chance does not
//! decide (CoDel, FQ-CoDel) must be equal in every drop and mark, with its time. Where random numbers decide, the means
//! over 20 or 200 seeds must lie within three standard errors: of binomial counts, or, where runs differ more than that
//! (COBALT under overload falls into one of two courses), of the runs.
//!
//! The figures and how they were made: `validation/reference/README.md`.

use crate::common::{queue, values};
use earlydrop_aqm::prelude::*;
use std::io::Read;
use std::path::Path;

/// 0.8 us a byte.
const LINK: Link = Link { rate_bps: 10e6, delay_s: 0.01 };

fn stored(file: &str) -> String {
    let path = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../validation/reference/ns3_openloop").join(file);
    let bytes = std::fs::read(&path).unwrap_or_else(|e| panic!("{}: {e}", path.display()));
    let mut text = String::new();
    if file.ends_with(".gz") {
        flate2::read::GzDecoder::new(&bytes[..]).read_to_string(&mut text).expect("gzip");
        return text;
    }
    String::from_utf8(bytes).expect("text")
}

/// Time in microseconds, and the packet.
fn arrivals() -> Vec<(u64, Packet)> {
    let text = stored("arrivals.csv.gz");
    let number = |cell: &str| cell.parse::<u64>().expect("a number");
    (text.lines().skip(1).enumerate())
        .map(|(id, line)| {
            let cells: Vec<u64> = line.split(',').map(number).collect();
            let ecn = if cells[3] == 1 { Ecn::Ect0 } else { Ecn::NotEct };
            (cells[0], Packet { ecn, tag: id as u32, ..Packet::new(cells[2], cells[1] as u32) })
        })
        .collect()
}

/// A drop (`false`) or a mark (`true`): when, and of which arrival.
type Signal = (u64, u32, bool);

/// Everything that is dropped or marked. ns-3 runs first what was scheduled first: at equal times arrivals come before
/// ends of transmission and timers.
fn signals(mut queue: Box<dyn Discipline>, arrivals: &[(u64, Packet)]) -> Vec<Signal> {
    let at = |us: u64| Time::from_seconds(us as f64 / 1e6);
    let mut found = Vec::new();
    let mut busy_until: Option<u64> = None;
    let take = |queue: &mut dyn Discipline, us: u64, found: &mut Vec<Signal>| {
        let packet = queue.dequeue(at(us), &mut |packet, _| found.push((us, packet.tag, false)));
        packet.map(|packet| {
            if packet.ecn == Ecn::Ce && !found.iter().rev().take(2000).any(|&(_, id, mark)| mark && id == packet.tag) {
                found.push((us, packet.tag, true));
            }
            us + u64::from(packet.size) * 4 / 5
        })
    };
    for &(us, packet) in arrivals {
        loop {
            let timer = queue.next_timer().filter(|&due| due < at(us));
            match (busy_until.filter(|&end| end < us), timer) {
                (Some(end), timer) if timer.is_none_or(|due| at(end) <= due) => {
                    busy_until = take(&mut *queue, end, &mut found);
                }
                (_, Some(due)) => queue.on_timer(due),
                _ => break,
            }
        }
        let admitted = queue.enqueue(packet, at(us), &mut |packet, _| found.push((us, packet.tag, false)));
        if admitted.is_some_and(|marked| marked.0) {
            found.push((us, packet.tag, true));
        }
        if busy_until.is_none() {
            busy_until = take(&mut *queue, us, &mut found);
        }
    }
    found
}

/// The discipline, its parameters and its limit, as the reference had them.
fn setting(case: &str) -> (&'static str, Values, u64) {
    let word = Value::Choice;
    let red = [
        ("min_th", Value::Real(10.0)),
        ("max_th", Value::Real(30.0)),
        ("max_p", Value::Real(0.1)),
        ("dialect", word("ns3")),
    ];
    let ns3 = ("dialect", word("ns3"));
    let perfect = ("classify", word("perfect"));
    let quantum = ("quantum", Value::Real(1514.0));
    match case.trim_end_matches("_ecn") {
        "red" => ("red", values(&red), 100),
        "gentle" => ("gentle_red", values(&red), 100),
        "nlred" => ("nlred", values(&red), 100),
        "feng" => ("feng_red", values(&red), 100),
        "ared" => ("ared", values(&[ns3, ("max_p", Value::Real(0.1))]), 100),
        "codel" => ("codel", values(&[ns3]), 1000),
        "cobalt" => ("cobalt", values(&[ns3, ("ns3_clock", Value::Flag(true))]), 1000),
        "pie" => ("pie", values(&[ns3]), 1000),
        "fq_codel" => ("fq_codel", values(&[ns3, perfect, quantum]), 1000),
        "fq_pie" => ("fq_pie", values(&[ns3, perfect, quantum]), 1000),
        other => panic!("no case {other}"),
    }
}

fn run(case: &str, seed: u64, arrivals: &[(u64, Packet)]) -> Vec<Signal> {
    let (aqm, values, limit) = setting(case);
    let random = Generator::stream(seed, "queue");
    signals(queue(aqm, &values, &LINK, Limit::Packets(limit), case.ends_with("_ecn"), random), arrivals)
}

#[test]
fn codel_and_fq_codel_drop_and_mark_when_ns3_does() {
    let arrivals = arrivals();
    let mut told = Vec::new();
    for case in ["codel", "codel_ecn", "fq_codel", "fq_codel_ecn"] {
        let text = stored(&format!("{case}.csv.gz"));
        let mut theirs: Vec<Signal> = (text.lines().skip(1))
            .map(|line| {
                let cells: Vec<&str> = line.split(',').collect();
                (cells[0].parse().expect("a time"), cells[2].parse().expect("a number"), cells[1] == "m")
            })
            .collect();
        let mut ours = run(case, 1, &arrivals);
        theirs.sort_unstable();
        ours.sort_unstable();
        let first = theirs.iter().zip(&ours).position(|(a, b)| a != b);
        if ours != theirs {
            let at = first.unwrap_or(0);
            told.push(format!(
                "{case}: {} signals against {}, first difference at {first:?}: {:?} against {:?}",
                ours.len(),
                theirs.len(),
                ours.get(at),
                theirs.get(at)
            ));
        }
        assert!(theirs.len() > 4000);
    }
    assert!(told.is_empty(), "{}", told.join("\n"));
}

/// Mean and variance.
fn moments(counts: &[f64]) -> (f64, f64) {
    let n = counts.len() as f64;
    let mean = counts.iter().sum::<f64>() / n;
    (mean, counts.iter().map(|x| (x - mean) * (x - mean)).sum::<f64>() / (n - 1.0))
}

#[test]
fn counts_by_chance_agree_with_ns3() {
    let arrivals = arrivals();
    let n = arrivals.len() as f64;
    let text = stored("counts.csv");
    let mut told = Vec::new();
    let cases = [
        "red",
        "red_ecn",
        "gentle",
        "nlred",
        "feng",
        "ared",
        "pie",
        "pie_ecn",
        "fq_pie",
        "fq_pie_ecn",
        "cobalt",
        "cobalt_ecn",
    ];
    for case in cases {
        let rows: Vec<Vec<&str>> =
            text.lines().map(|line| line.split(',').collect()).filter(|row: &Vec<&str>| row[0] == case).collect();
        assert!(rows.len() >= 20, "{case}");
        let counts = |columns: &[usize]| -> Vec<f64> {
            let count = |row: &Vec<&str>| columns.iter().map(|&k| row[k].parse::<f64>().expect("a count")).sum();
            rows.iter().map(count).collect()
        };
        let mut ours = [Vec::new(), Vec::new()];
        for seed in 1..=rows.len() as u64 {
            let signals = run(case, seed, &arrivals);
            let marks = signals.iter().filter(|&&(_, _, mark)| mark).count();
            ours[0].push((signals.len() - marks) as f64);
            ours[1].push(marks as f64);
        }
        for (what, ours, theirs) in [("drops", &ours[0], counts(&[2, 3])), ("marks", &ours[1], counts(&[4]))] {
            let seeds = rows.len() as f64;
            let ((ours, own_variance), (theirs, variance)) = (moments(ours), moments(&theirs));
            let p = theirs / n;
            let binomial = 2.0 * n * p * (1.0 - p);
            let bound = 3.0 * (binomial.max(own_variance + variance) / seeds).sqrt();
            let line = format!("{case}: {what} {ours:.1}, ns-3 {theirs:.1}, bound {bound:.1}");
            if (ours - theirs).abs() > bound {
                told.push(line);
            }
        }
    }
    assert!(told.is_empty(), "{}", told.join("\n"));
}
