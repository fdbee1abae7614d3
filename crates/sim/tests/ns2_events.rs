//! Event by event equality with ns-2.35: every event of the bottleneck and every variable of flow 1, whole runs.
//!
//! The references and how they were made: `validation/reference/README.md`.

use earlydrop_aqm::catalogue;
use earlydrop_aqm::params::{Value, Values};
use earlydrop_aqm::policy::Limit;
use earlydrop_aqm::random::Generator;
use earlydrop_net::tcp::{Flavour, Variable};
use earlydrop_sim::engine::network::{FlowSpec, Network, PortKind, PortSpec};
use earlydrop_sim::engine::plan::Plan;
use earlydrop_sim::engine::trace::{QueueTrace, VariableChange};
use earlydrop_sim::engine::{Engine, Outcome, Settings};
use earlydrop_sim::events::{EventQueue, HeapQueue, LaneQueue};
use serde_json::Value as Json;
use std::io::Read;
use std::path::{Path, PathBuf};

fn folder() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("../../validation/reference/micro")
}

fn cases() -> Vec<Json> {
    let text = std::fs::read_to_string(folder().join("index.json")).expect("the index is there");
    let index: Json = serde_json::from_str(&text).expect("the index is JSON");
    index["cases"].as_array().expect("a list").clone()
}

fn lines(name: &str) -> Vec<String> {
    let file = std::fs::File::open(folder().join(name)).expect("the reference is there");
    let mut text = String::new();
    flate2::read::GzDecoder::new(file).read_to_string(&mut text).expect("gzip");
    text.lines().skip(1).map(str::to_string).collect()
}

fn number(case: &Json, key: &str) -> f64 {
    case[key].as_f64().unwrap_or_else(|| panic!("{key} in {case}"))
}

/// The reference's network: senders and receivers over equal access links.
fn network(case: &Json) -> (Network, Settings) {
    let flows = number(case, "n") as usize;
    // Times go from milliseconds as in ns-2: "20ms" is 20 * 1e-3.
    let access = (number(case, "access_rate_bps"), number(case, "access_delay_ms") * 1e-3);
    let bottleneck = (number(case, "bottleneck_rate_bps"), number(case, "bottleneck_delay_ms") * 1e-3);
    let limit = Limit::Packets(number(case, "buffer") as u64);
    let link = catalogue::Link { rate_bps: bottleneck.0, delay_s: bottleneck.1 };
    let mut values = Values::new();
    let draws = || Generator::ns2(number(case, "red_seed") as u32, number(case, "red_draws_to_skip") as u64);
    let (aqm, random) = if !case["red"].is_null() {
        let red = &case["red"];
        values.set("dialect", Value::Choice("ns2"));
        values.set("min_th", Value::Real(number(red, "min_th"))).set("max_th", Value::Real(number(red, "max_th")));
        values.set("max_p", Value::Real(number(red, "max_p"))).set("w_q", Value::Real(number(red, "w_q")));
        values.set("mean_packet", Value::Real(number(red, "mean_packet_bytes")));
        ("red", draws())
    } else if !case["controlled"].is_null() {
        let controlled = &case["controlled"];
        values.set("dialect", Value::Choice("ns2"));
        values.set("q_ref", Value::Real(number(controlled, "q_ref")));
        values.set("mean_packet", Value::Real(number(controlled, "mean_packet_bytes")));
        (if controlled["aqm"] == "rem" { "rem" } else { "pi" }, draws())
    } else {
        values.set("capacity_rule", Value::Choice("n_minus_1"));
        ("droptail", Generator::stream(1, "none"))
    };
    let built = (catalogue::find(aqm).unwrap().build)(&values, &link, limit).unwrap();
    let kind = PortKind::new(built, limit, false, random);
    let mut network = Network::new();
    let port = network.port(PortSpec { name: "bottleneck".into(), aqm: aqm.into(), kind });
    let ahead = network.link(bottleneck.0, bottleneck.1, Some(port));
    let back = network.link(bottleneck.0, bottleneck.1, None);
    for i in 0..flows {
        let links: Vec<u32> = (0..4).map(|_| network.link(access.0, access.1, None)).collect();
        let wire = number(case, "wire_bytes") as u16;
        let flow = FlowSpec {
            interval: None,
            flavour: Flavour::Reno,
            start: number(case, "stagger_s") * i as f64,
            clock_phase: case["boot_times_s"][i].as_f64().unwrap(),
            window: number(case, "window") as i32,
            payload: wire - 40,
            wire,
        };
        network.flow(flow, &[links[0], ahead, links[1]], &[links[2], back, links[3]]);
    }
    let settings = Settings {
        duration: number(case, "duration_s"),
        trace: Some(2000),
        trace_flow: Some(0),
        ..Settings::default()
    };
    (network, settings)
}

fn run<Q: EventQueue>(case: &Json, stepped: bool) -> Outcome {
    let (network, settings) = network(case);
    let decides: Vec<bool> = network.ports.iter().map(|p| p.kind.decides_at_enqueue()).collect();
    let plan = if stepped { Plan::all_stepped(&network) } else { Plan::from_graph(&network, &decides) };
    Engine::<Q>::new(network, &plan, settings).run()
}

fn check_events(name: &str, case: &Json, trace: &QueueTrace) {
    for (i, (event, want)) in trace.events.iter().zip(lines(&format!("{name}_events.csv.gz"))).enumerate() {
        let microseconds = (event.time * 1e6).round() as u64;
        let got = format!("{microseconds},{},{},{},{},{}", event.kind, event.flow, event.seq, event.size, event.length);
        assert_eq!(got, want, "{name}: event {i}");
    }
    let checkpoints = case["checkpoints"].as_array().unwrap();
    for (i, (got, want)) in trace.checkpoints.iter().zip(checkpoints).enumerate() {
        assert_eq!(
            format!("{got:016x}"),
            want.as_str().unwrap(),
            "{name}: before event {}",
            (i + 1) as u64 * QueueTrace::STRIDE
        );
    }
    assert_eq!(trace.total, case["events"].as_u64().unwrap(), "{name}: number of events");
    assert_eq!(format!("{:016x}", trace.digest()), case["digest"].as_str().unwrap(), "{name}");
}

fn check_variables(name: &str, changes: &[VariableChange]) {
    let written = |change: &VariableChange| {
        let (name, decimals) = match change.variable {
            Variable::Cwnd => ("cwnd_", 3),
            Variable::Srtt => ("srtt_", 3),
            Variable::Rttvar => ("rttvar_", 3),
            Variable::Ssthresh => ("ssthresh_", 0),
            Variable::Ack => ("ack_", 0),
            Variable::Dupacks => ("dupacks_", 0),
            Variable::Backoff => ("backoff_", 0),
        };
        format!("{:.5},{name},{:.decimals$}", change.time, change.value)
    };
    // The rows at time 0 are ns-2's constructor setting its variables.
    let reference = lines(&format!("{name}_flow1.csv.gz"));
    let reference: Vec<&String> = reference.iter().filter(|line| !line.starts_with("0.00000,")).collect();
    for (i, (got, want)) in changes.iter().map(written).zip(&reference).enumerate() {
        assert_eq!(got, **want, "{name}: change {i}");
    }
    assert_eq!(changes.len(), reference.len(), "{name}: number of changes");
}

fn check(case: &Json, outcome: &Outcome) {
    let name = case["name"].as_str().unwrap();
    check_events(name, case, outcome.ports[0].trace.as_ref().unwrap());
    check_variables(name, &outcome.variables);
    let port = &outcome.ports[0];
    assert_eq!(port.counters.arrivals, port.counters.departures + port.counters.drops() + port.queued_at_end);
}

#[test]
fn arithmetic_links_equal_ns2_event_by_event() {
    let cases = cases();
    assert_eq!(cases.len(), 11);
    for case in &cases {
        let outcome = run::<LaneQueue<8>>(case, false);
        assert!(outcome.links.0 > 0, "some links are arithmetic");
        check(case, &outcome);
    }
}

#[test]
fn stepped_links_equal_ns2_event_by_event() {
    for case in &cases() {
        let outcome = run::<LaneQueue<8>>(case, true);
        assert_eq!(outcome.links.0, 0, "no link is arithmetic");
        check(case, &outcome);
    }
}

#[test]
fn the_standard_heap_gives_the_same_events() {
    for case in &cases() {
        check(case, &run::<HeapQueue>(case, false));
    }
}
