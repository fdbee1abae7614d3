//! One bottleneck: every event of the queue and every variable of flow 1.

use super::{cases, lines};
use earlydrop_aqm::prelude::*;
use earlydrop_net::tcp::{Flavour, Variable};
use earlydrop_sim::engine::network::{FlowSpec, Network, PortKind, PortSpec, TcpOptions};
use earlydrop_sim::engine::plan::Plan;
use earlydrop_sim::engine::trace::{QueueTrace, VariableChange};
use earlydrop_sim::engine::{Engine, Outcome, Settings};
use earlydrop_sim::events::{EventQueue, HeapQueue, LaneQueue};
use serde_json::Value as Json;
use std::path::{Path, PathBuf};

fn folder() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("../../validation/reference/micro")
}

fn number(case: &Json, key: &str) -> f64 {
    case[key].as_f64().unwrap_or_else(|| panic!("{key} in {case}"))
}

/// The network of the reference: senders and receivers behind equal access links.
fn network(case: &Json) -> (Network, Settings) {
    let flows = number(case, "n") as usize;
    // Times are computed from milliseconds as in ns-2: "20ms" is 20 * 1e-3.
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
        values.set("mean_packet", Value::Real(number(controlled, "mean_packet_bytes")));
        let aqm = ["rem", "pi", "gk"].into_iter().find(|&aqm| controlled["aqm"] == aqm).expect("a known discipline");
        if aqm != "gk" {
            values.set("q_ref", Value::Real(number(controlled, "q_ref")));
        }
        (aqm, draws())
    } else {
        values.set("capacity_rule", Value::Choice("n_minus_1"));
        ("droptail", Generator::stream(1, "none"))
    };
    let built = (catalogue::find(aqm).unwrap().build)(&values, &link, limit).unwrap();
    let ecn = case["ecn"].as_bool().unwrap();
    let kind = PortKind::new(built, limit, ecn, random);
    let mut network = Network::new();
    let port = network.port(PortSpec { name: "bottleneck".into(), aqm: aqm.into(), kind });
    let ahead = network.link(bottleneck.0, bottleneck.1, Some(port));
    let back = network.link(bottleneck.0, bottleneck.1, None);
    let options = TcpOptions {
        ecn,
        delayed_ack: case["delayed_ack"].as_bool().unwrap().then_some(0.1),
        limited_transmit: case["limited_transmit"].as_bool().unwrap(),
        min_rto_ms: (1000.0 * number(case, "min_rto_s")).round() as u16,
        rfc: None,
    };
    let (tcps, delays) = (case["tcp"].as_array().unwrap(), case["sender_delays_ms"].as_array().unwrap());
    for i in 0..flows {
        let delay = if delays.is_empty() { access.1 } else { delays[i % delays.len()].as_f64().unwrap() * 1e-3 };
        let [up, back_down] = [(); 2].map(|()| network.link(access.0, delay, None));
        let [down, back_up] = [(); 2].map(|()| network.link(access.0, access.1, None));
        let flavour = Flavour::find(tcps[i % tcps.len()].as_str().unwrap()).expect("a known TCP");
        let wire = number(case, "wire_bytes") as u16;
        let flow = FlowSpec {
            interval: None,
            flavour,
            start: number(case, "stagger_s") * i as f64,
            clock_phase: case["boot_times_s"][i].as_f64().unwrap(),
            window: number(case, "window") as i32,
            payload: wire - if flavour == Flavour::Vegas { 0 } else { 40 },
            wire,
            options: options.clone(),
        };
        network.flow(flow, &[up, ahead, down], &[back_up, back, back_down]);
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
    Engine::<Q>::new(network, plan, settings).run()
}

fn check_events(name: &str, case: &Json, trace: &QueueTrace) {
    for (i, (event, want)) in
        trace.events.iter().zip(lines(&folder().join(format!("{name}_events.csv.gz")))).enumerate()
    {
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

fn check_variables(name: &str, case: &Json, changes: &[VariableChange]) {
    let written = |change: &VariableChange| {
        let (name, decimals) = match change.variable {
            Variable::Cwnd => ("cwnd_", 3),
            Variable::Srtt => ("srtt_", 3),
            Variable::Alpha | Variable::Bandwidth | Variable::MinRtt => unreachable!("not of this profile"),
            Variable::Rttvar => ("rttvar_", 3),
            Variable::Ssthresh => ("ssthresh_", 0),
            Variable::Ack => ("ack_", 0),
            Variable::Dupacks => ("dupacks_", 0),
            Variable::Backoff => ("backoff_", 0),
        };
        format!("{:.5},{name},{:.decimals$}", change.time, change.value)
    };
    // The rows at time 0 are written by ns-2's constructor.
    let reference = lines(&folder().join(format!("{name}_flow1.csv.gz")));
    let begin = reference.iter().take_while(|line| line.starts_with("0.00000,")).count();
    for (i, (got, want)) in changes.iter().map(written).zip(&reference[begin..]).enumerate() {
        assert_eq!(got, *want, "{name}: change {i}");
    }
    let mut digest = Fnv::new();
    let checkpoints = case["flow1_checkpoints"].as_array().unwrap();
    let all = reference[..begin].iter().cloned().chain(changes.iter().map(written));
    for (i, line) in all.enumerate() {
        digest.line(&line);
        if let Some(want) = checkpoints.get(i / STRIDE).filter(|_| i % STRIDE == STRIDE - 1) {
            assert_eq!(digest.text(), want.as_str().unwrap(), "{name}: before change {}", i + 1);
        }
    }
    assert_eq!((begin + changes.len()) as u64, case["flow1_changes"].as_u64().unwrap(), "{name}: number of changes");
    assert_eq!(digest.text(), case["flow1_digest"].as_str().unwrap(), "{name}: changes");
}

/// Changes between two checkpoints.
const STRIDE: usize = 10_000;

/// FNV-1a, 64 bits, over lines.
struct Fnv(u64);

impl Fnv {
    fn new() -> Self {
        Fnv(0xcbf2_9ce4_8422_2325)
    }

    fn line(&mut self, line: &str) {
        for byte in line.bytes().chain([b'\n']) {
            self.0 = (self.0 ^ u64::from(byte)).wrapping_mul(0x100_0000_01b3);
        }
    }

    fn text(&self) -> String {
        format!("{:016x}", self.0)
    }
}

fn check(case: &Json, outcome: &Outcome) {
    let name = case["name"].as_str().unwrap();
    check_events(name, case, outcome.ports[0].trace.as_ref().unwrap());
    check_variables(name, case, &outcome.variables);
    let port = &outcome.ports[0];
    assert_eq!(port.counters.arrivals, port.counters.departures + port.counters.drops() + port.queued_at_end);
}

#[test]
fn analytic_links_equal_ns2_event_by_event() {
    let cases = cases(&folder());
    assert_eq!(cases.len(), 59);
    for case in &cases {
        let outcome = run::<LaneQueue<8>>(case, false);
        assert!(outcome.links.0 > 0, "some links are arithmetic");
        check(case, &outcome);
    }
}

#[test]
fn stepped_links_equal_ns2_event_by_event() {
    for case in &cases(&folder()) {
        let outcome = run::<LaneQueue<8>>(case, true);
        assert_eq!(outcome.links.0, 0, "no link is arithmetic");
        check(case, &outcome);
    }
}

#[test]
fn the_standard_heap_gives_the_same_events() {
    for case in &cases(&folder()) {
        check(case, &run::<HeapQueue>(case, false));
    }
}
