//! Several queues in both directions over different links, with loss and with times to live that expire: every event of
//! every traced queue.

use super::{cases, lines};
use earlydrop_sim::engine::trace::QueueTrace;
use earlydrop_sim::engine::Outcome;
use earlydrop_sim::run::{run, Events, Links};
use earlydrop_sim::scenario::{check, load};
use serde_json::Value as Json;
use std::path::{Path, PathBuf};

fn folder() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("../../validation/reference/networks")
}

fn check_queue(case: &str, queue: &str, reference: &Json, trace: &QueueTrace) {
    let kept = lines(&folder().join(reference["file"].as_str().expect("a name")));
    assert_eq!(trace.events.len(), kept.len(), "{case}: {queue}");
    for (i, (event, want)) in trace.events.iter().zip(kept).enumerate() {
        let microseconds = (event.time * 1e6).round() as u64;
        let got = format!("{microseconds},{},{},{},{},{}", event.kind, event.flow, event.seq, event.size, event.length);
        assert_eq!(got, want, "{case}: {queue}: event {i}");
    }
    let checkpoints = reference["checkpoints"].as_array().expect("a list");
    for (i, (got, want)) in trace.checkpoints.iter().zip(checkpoints).enumerate() {
        let before = (i + 1) as u64 * QueueTrace::STRIDE;
        assert_eq!(format!("{got:016x}"), want.as_str().expect("a text"), "{case}: {queue}: before event {before}");
    }
    assert_eq!(Some(trace.total), reference["events"].as_u64(), "{case}: {queue}: number of events");
    assert_eq!(Some(&*format!("{:016x}", trace.digest())), reference["digest"].as_str(), "{case}: {queue}");
}

fn simulate(name: &str, links: Links, events: Events) -> Outcome {
    let path = folder().join(format!("{name}.toml"));
    let scenario = load(&path).and_then(|doc| check(&doc, None)).unwrap_or_else(|e| panic!("{name}: {e}"));
    run(&scenario, scenario.seed, links, events).expect("runs")
}

fn compare(links: Links, events: Events) {
    for case in &cases(&folder()) {
        let name = case["name"].as_str().expect("a name");
        let outcome = simulate(name, links, events);
        let queues = case["queues"].as_object().expect("a table");
        assert_eq!(outcome.ports.len(), queues.len(), "{name}");
        for port in &outcome.ports {
            let reference = queues.get(&port.name).unwrap_or_else(|| panic!("{name}: {}", port.name));
            check_queue(name, &port.name, reference, port.trace.as_ref().expect("traced"));
        }
        // ns-2 traces losses in front of a queue as drops, and also packets whose time to live expires behind it.
        let gone: u64 = queues.values().filter_map(|queue| queue["gone"].as_u64()).sum();
        let expired: Vec<u32> = outcome.flows.iter().map(|flow| flow.expired).collect();
        match name {
            "lossy" => assert!(gone > 0 && outcome.lost.iter().any(|&(_, lost)| lost == gone), "{:?}", outcome.lost),
            // Three links, one more, and the last of four, which is not traced.
            "expiring" => assert!(u64::from(expired[0]) == gone && expired[1] == 0 && expired[2] > 0, "{expired:?}"),
            _ => assert!(gone == 0 && expired.iter().all(|&packets| packets == 0), "{name}: {expired:?}"),
        }
    }
}

#[test]
fn networks_equal_ns2_event_by_event() {
    assert_eq!(cases(&folder()).len(), 8);
    compare(Links::Auto, Events::Lanes);
}

#[test]
fn stepped_networks_equal_ns2_event_by_event() {
    compare(Links::Stepped, Events::Lanes);
}

#[test]
fn the_standard_heap_gives_the_same_events() {
    compare(Links::Auto, Events::Heap);
}
