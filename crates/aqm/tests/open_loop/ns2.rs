//! RED, its adaptive forms, REM, PI, AVQ and DropTail against ns-2.35, arrival by arrival: the average and p_b or the
//! probability, max_p where it moves, the verdict, the random numbers used and the queue after each of 1200 fixed
//! arrivals, in 11 settings of RED, one each of ARED and of Feng's self-configuring RED, and 2 of each other.
//!
//! The references and how they were made: `validation/reference/README.md`. They hold 10 digits of the average and 9
//! of probabilities; ours, rounded to as many, must be the same number. Verdicts, draws and lengths must be equal. What
//! ns-2 stores with all its digits lies in a closed loop, where `crates/sim/tests/ns2/events.rs` compares whole runs.

use crate::common::{gauge, queue, OpenLoop};
use earlydrop_aqm::prelude::*;
use std::collections::BTreeMap;
use std::io::Read;
use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::Arc;

const LINK: Link = Link { rate_bps: 1.5e6, delay_s: 0.01 };

fn folder() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("../../validation/reference/red_openloop")
}

/// Rows of a CSV file, by heading.
fn rows(text: &str) -> Vec<BTreeMap<&str, &str>> {
    let mut lines = text.lines();
    let heading: Vec<&str> = lines.next().expect("a heading row").split(',').collect();
    lines.map(|line| heading.iter().copied().zip(line.split(',')).collect()).collect()
}

fn unpacked(name: &str) -> String {
    let file = std::fs::File::open(folder().join(name)).unwrap_or_else(|error| panic!("{name}: {error}"));
    let mut text = String::new();
    flate2::read::GzDecoder::new(file).read_to_string(&mut text).expect("gzip");
    text
}

fn index() -> String {
    std::fs::read_to_string(folder().join("index.csv")).expect("the index is there")
}

/// ns-2's settings of a case in our words.
fn settings(case: &BTreeMap<&str, &str>) -> (&'static str, Values, Limit, bool) {
    let given: BTreeMap<&str, &str> =
        case["parameters_other_than_default"].split_whitespace().filter_map(|pair| pair.split_once('=')).collect();
    let flag = |name: &str, default: bool| given.get(name).map_or(default, |&text| text == "true");
    let number = |name: &str, default: f64| given.get(name).map_or(default, |text| text.parse().expect("a number"));
    let limit = case["limit"].parse().expect("a whole number");
    let in_bytes = match case["class"] {
        "Queue/REM" => flag("qib_", false),
        "Queue/PI" | "Queue/DropTail" => flag("queue_in_bytes_", false),
        _ => flag("queue_in_bytes_", true),
    };
    let mut values = Values::new();
    if case["class"] == "Queue/DropTail" {
        values.set("capacity_rule", Value::Choice("n_minus_1"));
        let bytes = limit * number("mean_pktsize_", 500.0) as u64;
        return ("droptail", values, if in_bytes { Limit::Bytes(bytes) } else { Limit::Packets(limit) }, in_bytes);
    }
    values.set("dialect", Value::Choice("ns2")).set("unit", Value::Choice(if in_bytes { "byte" } else { "packet" }));
    let mut set = |name, value| {
        values.set(name, value);
    };
    let aqm = match case["class"] {
        "Queue/REM" => {
            set("gamma", Value::Real(number("gamma_", 0.001)));
            set("phi", Value::Real(number("phi_", 1.001)));
            set("mean_packet", Value::Real(number("mean_pktsize_", 1000.0)));
            "rem"
        }
        "Queue/PI" => {
            set("a", Value::Real(number("a_", 1.822e-5)));
            set("b", Value::Real(number("b_", 1.816e-5)));
            set("q_ref", Value::Real(number("qref_", 50.0)));
            set("byte_scaling", Value::Flag(flag("bytes_", false)));
            "pi"
        }
        "Queue/Vq" => "avq",
        _ => {
            let auto_unless_positive = |x: f64| if x > 0.0 { Value::Real(x) } else { Value::Auto };
            set("min_th", auto_unless_positive(number("thresh_", 0.0)));
            set("max_th", auto_unless_positive(number("maxthresh_", 0.0)));
            set("w_q", auto_unless_positive(number("q_weight_", -1.0)));
            set("max_p", Value::Real(1.0 / number("linterm_", 10.0)));
            set("mean_packet", Value::Real(number("mean_pktsize_", 500.0)));
            set("byte_scaling", Value::Flag(flag("bytes_", true)));
            set("gentle", Value::Flag(flag("gentle_", true)));
            set("wait", Value::Flag(flag("wait_", true)));
            let over = if flag("use_mark_p_", true) { "mark_below_mark_p" } else { "drop" };
            set("ecn_over_max", Value::Choice(over));
            match (given.get("adaptive_"), given.get("feng_adaptive_")) {
                (Some(_), Some(_)) => {
                    set("alpha", Value::Real(number("alpha_", 0.01)));
                    set("beta", Value::Real(number("beta_", 0.9)));
                    "feng_red"
                }
                (Some(_), None) => {
                    set("interval", Value::Real(number("interval_", 0.5)));
                    "ared"
                }
                _ => "red",
            }
        }
    };
    (aqm, values, Limit::Packets(limit), in_bytes)
}

/// `value` rounded to so many significant digits.
fn rounded(value: f64, digits: usize) -> f64 {
    format!("{value:.*e}", digits - 1).parse().expect("a number")
}

/// How a case went.
struct Replay {
    arrivals: usize,
    /// Arrivals after which everything that is compared was equal.
    equal: usize,
    first_difference: String,
    drops: u64,
    draws: u64,
}

fn replay(case: &BTreeMap<&str, &str>) -> Replay {
    let (aqm, values, limit, in_bytes) = settings(case);
    let draws = Arc::new(AtomicU64::new(0));
    let mut stream = Generator::ns2(case["seed"].parse().expect("a seed"), 0);
    let counted = {
        let draws = Arc::clone(&draws);
        Generator::custom(move || {
            draws.fetch_add(1, Ordering::Relaxed);
            stream.uniform()
        })
    };
    let mut bench = OpenLoop::new(queue(aqm, &values, &LINK, limit, false, counted), LINK.rate_bps);
    let (arrivals, expected) =
        (unpacked(&format!("arrivals_{}.csv.gz", case["arrivals"])), unpacked(&format!("{}.csv.gz", case["case"])));
    let (arrivals, expected) = (rows(&arrivals), rows(&expected));
    assert_eq!(arrivals.len(), expected.len());
    let (mut equal, mut first) = (0, None);
    for (arrival, want) in arrivals.iter().zip(&expected) {
        let now: f64 = arrival["time_s"].parse().expect("a time");
        let size: u32 = arrival["bytes"].parse().expect("bytes");
        bench.run_to(now);
        let found = if in_bytes { bench.queue.bytes() } else { bench.queue.packets() };
        let admitted = bench.arrive(Packet::new(1, size), now);
        let mut same = want["q_found"] == found.to_string()
            && want["drop"] == u8::from(!admitted).to_string()
            && want["q_after"] == bench.queue.packets().to_string();
        for (column, gauge_name, digits) in
            [("avg", "avg", 10), ("pb", "p_b", 9), ("max_p", "max_p", 9), ("prob", "p", 9)]
        {
            if let Some(stored) = want.get(column) {
                let stored: f64 = stored.parse().expect("a number");
                same &= rounded(gauge(&*bench.queue, gauge_name), digits) == stored;
            }
        }
        if let Some(&stored) = want.get("draws") {
            same &= stored == draws.load(Ordering::Relaxed).to_string();
        }
        equal += usize::from(same);
        if !same && first.is_none() {
            let mut inner = String::new();
            bench.queue.gauges(&mut |name, value| inner += &format!(", {name} {value}"));
            first = Some(format!("{want:?}: ours found {found}, dropped {}, {draws:?} draws{inner}", !admitted));
        }
    }
    Replay {
        arrivals: arrivals.len(),
        equal,
        first_difference: first.unwrap_or_default(),
        drops: bench.queue.counters().drops(),
        draws: draws.load(Ordering::Relaxed),
    }
}

#[test]
fn every_step_of_every_case_equals_ns2() {
    let index = index();
    let cases = rows(&index);
    let of = |class: &str| cases.iter().filter(|case| case["class"] == class).count();
    let classes = ["Queue/RED", "Queue/REM", "Queue/PI", "Queue/Vq", "Queue/DropTail"];
    assert_eq!(classes.map(of), [13, 2, 2, 2, 2]);
    assert_eq!(cases.len(), 21);
    assert_eq!(cases.iter().filter(|case| case["parameters_other_than_default"].contains("adaptive_")).count(), 2);
    for case in &cases {
        let ours = replay(case);
        let name = case["case"];
        assert_eq!((ours.equal, ours.arrivals), (1200, 1200), "{name}: first difference at {}", ours.first_difference);
        assert_eq!((ours.drops.to_string(), ours.draws.to_string()), (case["drops"].into(), case["draws"].into()));
    }
}

/// The comparison can fail: each rule of the ns2 dialect, turned, breaks the cases that exercise it, and so does the
/// slightest change of a number.
#[test]
fn a_turned_rule_is_noticed() {
    let index = index();
    let cases = rows(&index);
    let with = |name: &str, from: &str, to: &str| {
        let mut case = cases.iter().find(|case| case["case"] == name).expect("a case").clone();
        let text = case["parameters_other_than_default"].replace(from, to);
        assert_ne!(text, case["parameters_other_than_default"], "nothing was turned in {name}");
        case.insert("parameters_other_than_default", Box::leak(text.into_boxed_str()));
        replay(&case).equal
    };
    assert!(with("red_nowait", "wait_=false", "wait_=true") < 1200);
    assert!(with("red_gentle", "gentle_=true", "gentle_=false") < 1200);
    assert!(with("red_forced", "use_mark_p_=false", "use_mark_p_=true") < 1200);
    assert!(with("red_bytes_size_only", "queue_in_bytes_=false", "queue_in_bytes_=true") < 1200);
    assert!(with("red_bytes_queue_only", "bytes_=false queue", "bytes_=true queue") < 1200);
    assert!(with("ared", "interval_=0.2", "interval_=0.21") < 1200);
    assert!(with("ared", "adaptive_=1 ", "") < 1200);
    assert!(with("feng", "beta_=2", "beta_=2.1") < 1200);
    assert!(with("feng", "alpha_=3", "alpha_=3.1") < 1200);
    assert!(with("feng", " feng_adaptive_=1", "") < 1200);
    assert!(with("red_packet", "q_weight_=0.002", "q_weight_=0.0020000001") < 1200);
    assert!(with("rem_packet", "phi_=1.01", "phi_=1.0100000001") < 1200);
    assert!(with("rem_byte", "mean_pktsize_=500", "mean_pktsize_=500.000001") < 1200);
    assert!(with("pi_packet", "qref_=15", "qref_=15.0000001") < 1200);
    assert!(with("pi_byte", "bytes_=true queue", "bytes_=false queue") < 1200);
    assert!(with("avq_packet", "queue_in_bytes_=false", "queue_in_bytes_=true") < 1200);
}
