//! Scenarios in which other numbers stand: what is accepted is complete when written in full, and then the same scenario,
//! which runs the same. A run ends after some events: what it costs in all is for its author to say.

use crate::{texts, Input};
use earlydrop_sim::run::Links;
use earlydrop_sim::scenario::{check, Doc, Scenario};
use earlydrop_sim::simulation::Simulation;

/// Most flows of a scenario that also runs.
const FLOWS: u64 = 200;
/// Most of what makes a network large: ways through tens of thousands of routers take a minute to find.
const SIZE: i64 = 1000;
/// Most events of a run, about.
const EVENTS: u64 = 20_000;

/// The scenario of an input.
pub fn text(bytes: &[u8]) -> String {
    made(bytes).0
}

/// The same, and whether it also runs: with the largest numbers it may have as many packets as memory holds.
fn made(bytes: &[u8]) -> (String, bool) {
    let mut input = Input::new(bytes);
    let runs = input.one_in(2);
    (texts::hostile(&mut input, !runs), runs)
}

pub fn run(bytes: &[u8]) {
    let (text, runs) = made(bytes);
    let Ok(doc) = Doc::from_toml(&text, None) else { return };
    if is_large(&doc) {
        return;
    }
    let scenario = match check(&doc, None) {
        Ok(scenario) => scenario,
        Err(error) => return assert!(!error.to_string().is_empty()),
    };
    let json = scenario.to_json();
    let again =
        Doc::from_json(&json).and_then(|doc| check(&doc, None)).unwrap_or_else(|e| panic!("{e}\n{json}\n{text}"));
    assert_eq!(again.to_json(), json, "the scenario in full is the same scenario\n{text}");
    if runs && scenario.flows() <= FLOWS {
        assert_eq!(begun(&scenario, &text), begun(&again, &text), "{text}");
    }
}

fn is_large(doc: &Doc) -> bool {
    let keys = ["pairs", "hosts", "routers", "bottlenecks", "cross", "petals", "petal"];
    let size = |key: &&str| doc.get("topology").and_then(|topology| topology.get(key));
    keys.iter().filter_map(size).any(|size| match size {
        Doc::Integer(size) => *size > SIZE,
        Doc::Float(size) => *size > SIZE as f64,
        _ => false,
    })
}

/// How far a run is after some events, and what its queues have counted then; or why it cannot run.
fn begun(scenario: &Scenario, text: &str) -> Result<Vec<u64>, String> {
    let mut simulation = Simulation::new(scenario, scenario.seed, Links::Stepped).map_err(|error| error.to_string())?;
    simulation.run_some(scenario.duration, EVENTS);
    let mut numbers = vec![simulation.now().to_bits(), simulation.events()];
    let names: Vec<String> = simulation.queues().map(str::to_string).collect();
    for name in names {
        let queue = simulation.queue(&name).unwrap_or_else(|| panic!("{name} of\n{text}"));
        let counts = &queue.counters;
        numbers.extend([counts.arrivals, counts.departed_bytes, counts.drops(), counts.marks]);
    }
    Ok(numbers)
}
