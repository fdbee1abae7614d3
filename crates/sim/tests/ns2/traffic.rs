//! Finite transfers and sources without feedback, alone and beside TCP: every event of the bottleneck.

use super::{cases, lines};
use earlydrop_sim::engine::trace::QueueTrace;
use earlydrop_sim::engine::Outcome;
use earlydrop_sim::run::{run, Events, Links};
use earlydrop_sim::scenario::{check, load};
use serde_json::Value as Json;
use std::path::{Path, PathBuf};

fn folder() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("../../validation/reference/traffic")
}

fn check_trace(case: &str, reference: &Json, trace: &QueueTrace) {
    for (i, (event, want)) in
        trace.events.iter().zip(lines(&folder().join(format!("{case}_events.csv.gz")))).enumerate()
    {
        let microseconds = (event.time * 1e6).round() as u64;
        let got = format!("{microseconds},{},{},{},{},{}", event.kind, event.flow, event.seq, event.size, event.length);
        assert_eq!(got, want, "{case}: event {i}");
    }
    let checkpoints = reference["checkpoints"].as_array().expect("a list");
    for (i, (got, want)) in trace.checkpoints.iter().zip(checkpoints).enumerate() {
        let before = (i + 1) as u64 * QueueTrace::STRIDE;
        assert_eq!(format!("{got:016x}"), want.as_str().expect("a text"), "{case}: before event {before}");
    }
    assert_eq!(Some(trace.total), reference["events"].as_u64(), "{case}: number of events");
    assert_eq!(Some(&*format!("{:016x}", trace.digest())), reference["digest"].as_str(), "{case}");
}

fn simulate(name: &str, links: Links, events: Events) -> Outcome {
    let path = folder().join(format!("{name}.toml"));
    let scenario = load(&path).and_then(|doc| check(&doc, None)).unwrap_or_else(|e| panic!("{name}: {e}"));
    run(&scenario, scenario.seed, links, events).expect("runs")
}

fn compare(links: Links, events: Events) -> usize {
    let mut arithmetic = 0;
    for case in &cases(&folder()) {
        let name = case["name"].as_str().expect("a name");
        let outcome = simulate(name, links, events);
        check_trace(name, case, outcome.ports[0].trace.as_ref().expect("traced"));
        arithmetic += usize::from(outcome.links.0 > 0);
    }
    arithmetic
}

#[test]
fn traffic_equals_ns2_event_by_event() {
    assert_eq!(cases(&folder()).len(), 13);
    assert!(compare(Links::Auto, Events::Lanes) >= 7, "links without events are put to the test too");
}

#[test]
fn stepped_links_equal_ns2_event_by_event() {
    assert_eq!(compare(Links::Stepped, Events::Lanes), 0);
}

#[test]
fn the_standard_heap_gives_the_same_events() {
    compare(Links::Auto, Events::Heap);
}
