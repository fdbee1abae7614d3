//! The engine alone on a scenario: the cost of a run without Python.
//!
//! `earlydrop-engine FILE.toml [--links auto|stepped] [--events lanes|heap]` prints one JSON document: the processor time of
//! the run and of its set-up, packets at all queues, events, memory.
#![allow(clippy::print_stdout, clippy::print_stderr)]

use earlydrop_aqm::gate::Counters;
use earlydrop_sim::engine::network::Network;
use earlydrop_sim::engine::plan::Plan;
use earlydrop_sim::engine::{is_large, Engine, Outcome, Settings};
use earlydrop_sim::events::{EventQueue, HeapQueue, Lanes, LargeLanes};
use earlydrop_sim::run::build;
use earlydrop_sim::scenario::{check, load, Scenario};
use std::path::Path;

fn main() {
    let arguments: Vec<String> = std::env::args().skip(1).collect();
    let has = |name: &str, value: &str| arguments.windows(2).any(|pair| pair[0] == name && pair[1] == value);
    let Some(file) = arguments.first().filter(|file| file.ends_with(".toml")) else {
        eprintln!("usage: earlydrop-engine FILE.toml [--links auto|stepped] [--events lanes|heap]");
        std::process::exit(2);
    };
    let before = user_seconds();
    let scenario = load(Path::new(file)).and_then(|doc| check(&doc, Some(file))).unwrap_or_else(|error| {
        eprintln!("{error}");
        std::process::exit(2);
    });
    let network = made(&scenario);
    let decides: Vec<bool> = network.ports.iter().map(|port| port.kind.decides_at_enqueue()).collect();
    let stepped = has("--links", "stepped");
    let plan = if stepped { Plan::all_stepped(&network) } else { Plan::from_graph(&network, &decides) };
    let settings = Settings { duration: scenario.duration, warmup: scenario.warmup, ..Settings::default() };
    let go = |network: Network, plan: Plan| match has("--events", "heap") {
        true => go::<HeapQueue>(network, plan, &settings),
        false if is_large(&network) => go::<LargeLanes>(network, plan, &settings),
        false => go::<Lanes>(network, plan, &settings),
    };
    // As `earlydrop_sim::run::run` does.
    let ahead = plan.with_hosts_ahead(&network).filter(|_| !stepped);
    let (mut setup, mut run, mut outcome) = go(network, ahead.unwrap_or_else(|| plan.clone()));
    if outcome.is_none() {
        let contradicted = run;
        (setup, run, outcome) = go(made(&scenario), plan);
        run += contradicted;
    }
    let outcome = outcome.expect("a plan that nothing contradicts");
    let sum = |count: fn(&Counters) -> u64| outcome.ports.iter().map(|port| count(&port.counters)).sum::<u64>();
    println!(
        "{{\"case\": \"{}\", \"user_s\": {run:.4}, \"setup_user_s\": {:.4}, \"queues\": {}, \"flows\": {}, \
         \"arrivals\": {}, \"drops\": {}, \"events\": {}, \"peak_rss_mb\": {:.1}}}",
        scenario.name,
        setup - before,
        outcome.ports.len(),
        outcome.flows.len(),
        sum(|counters| counters.arrivals),
        sum(Counters::drops),
        outcome.events,
        peak_mb(),
    );
}

fn made(scenario: &Scenario) -> Network {
    build(scenario, scenario.seed).expect("a network of a checked scenario")
}

/// CPU time at which the run begins, s, its own, and its outcome; none if it contradicts the plan.
fn go<Q: EventQueue>(network: Network, plan: Plan, settings: &Settings) -> (f64, f64, Option<Outcome>) {
    let engine = Engine::<Q>::new(network, plan, settings.clone());
    let start = user_seconds();
    let outcome = engine.try_run();
    (start, user_seconds() - start, outcome)
}

/// CPU time of this process, s.
fn user_seconds() -> f64 {
    let text = std::fs::read_to_string("/proc/self/schedstat").unwrap_or_default();
    text.split_whitespace().next().and_then(|n| n.parse::<f64>().ok()).unwrap_or(0.0) / 1e9
}

fn peak_mb() -> f64 {
    let text = std::fs::read_to_string("/proc/self/status").unwrap_or_default();
    let line = text.lines().find(|line| line.starts_with("VmHWM")).unwrap_or("");
    line.split_whitespace().nth(1).and_then(|n| n.parse::<f64>().ok()).unwrap_or(0.0) / 1024.0
}
