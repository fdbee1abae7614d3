//! What a page can hold: scenarios above these limits are refused before anything of their size is allocated.

use crate::answer::Wrong;
use earlydrop_aqm::params::{Kind, Value as Given};
use earlydrop_sim::scenario::{Scenario, ScenarioError};
use serde_json::{json, Value};

/// Most flows.
pub const FLOWS: u64 = 5_000;
/// Most links, each direction on its own.
pub const LINKS: usize = 20_000;
/// Most queues.
pub const QUEUES: usize = 500;
/// Most entries of the disciplines' tables, all queues together.
pub const TABLES: i64 = 4_000_000;
/// Most numbers that the scenario itself records (`[record]`), and that a host has sampled, each.
pub const RECORDED: f64 = 4e6;
/// Most packet events between two calls of `ed_packets`.
pub const EVENTS: u64 = 1 << 20;
/// Most runs at a time.
pub const RUNS: usize = 64;
/// Most memory of all runs together, bytes: a run that needs more stops with an error.
pub const MEMORY: usize = 1 << 30;

/// The limits by name.
pub fn listed() -> Value {
    json!({
        "flows": FLOWS, "links": LINKS, "queues": QUEUES, "tables": TABLES, "recorded": RECORDED, "events": EVENTS,
        "runs": RUNS, "memory_bytes": MEMORY, "input_bytes": crate::answer::MOST_INPUT,
    })
}

fn above(path: &str, message: &str, given: impl ToString, allowed: impl ToString) -> Wrong {
    let allowed = format!("at most {} here; earlydrop itself has no such limit", allowed.to_string());
    ScenarioError::new(path, message).given(given.to_string()).allowed(allowed).into()
}

/// Refuses a scenario that a page cannot hold.
pub fn check(scenario: &Scenario) -> Result<(), Wrong> {
    let flows = scenario.flows();
    if flows > FLOWS {
        return Err(above("traffic", "too many flows for a page", flows, FLOWS));
    }
    let nodes = 2 * u64::from(scenario.topology.pairs());
    if nodes > LINKS as u64 {
        return Err(above("topology.pairs", "too many hosts for a page", nodes, LINKS));
    }
    let graph = scenario.topology.graph(scenario.seed);
    let links = 2 * graph.edges.len();
    if links > LINKS {
        return Err(above("topology", "too many links for a page", links, LINKS));
    }
    let ports = scenario.ports(&graph);
    if ports.len() > QUEUES {
        return Err(above("queue", "too many queues for a page", ports.len(), QUEUES));
    }
    let mut entries = 0_i64;
    for port in &ports {
        let queue = &scenario.queues[port.queue].spec;
        for param in
            queue.spec.all_params().filter(|param| matches!(param.kind, Kind::Whole { high, .. } if high <= 65_536))
        {
            if let Given::Whole(size) = queue.values.get(param) {
                entries = entries.saturating_add(size);
            }
        }
    }
    if entries > TABLES {
        return Err(above("queue", "the tables of the disciplines are too large for a page", entries, TABLES));
    }
    recorded(scenario, ports.len(), flows)
}

/// Refuses a scenario that records more than a page can hold.
fn recorded(scenario: &Scenario, queues: usize, flows: u64) -> Result<(), Wrong> {
    let record = &scenario.record;
    let samples = |interval: Option<f64>| interval.map_or(0.0, |interval| scenario.duration / interval + 1.0);
    let series = samples(record.series) * (1 + 3 * queues + record.cwnd_flows.len()) as f64;
    let rates = samples(record.rates) * (flows as f64) * (1 + record.rate_queues.len().max(1)) as f64;
    let traces = record.trace as f64 * 6.0 * record.trace_queues.len().max(1) as f64;
    for (path, numbers) in [("record.series", series), ("record.rates", rates), ("record.trace", traces)] {
        if numbers > RECORDED {
            return Err(above(path, "records too much for a page", format!("{numbers:.0} numbers"), RECORDED));
        }
    }
    Ok(())
}

/// Refuses to go on where the runs take too much memory.
pub fn memory() -> Result<(), Wrong> {
    #[cfg(target_arch = "wasm32")]
    if std::arch::wasm32::memory_size::<0>() << 16 > MEMORY {
        return Err(Wrong::new(format!(
            "the runs needed more than {} MiB of memory, which an instance never gives back: start another instance",
            MEMORY >> 20
        )));
    }
    Ok(())
}
