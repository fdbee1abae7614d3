//! Scenarios of two simulated seconds: what is accepted runs, conserves packets, and repeats to the byte, from TOML and
//! from JSON, however links and events are run.

use crate::{texts, Input};
use earlydrop_sim::engine::Outcome;
use earlydrop_sim::result;
use earlydrop_sim::run::{run as simulate, Events, Links};
use earlydrop_sim::scenario::{check, Doc, Scenario};

/// The scenario of an input.
pub fn text(bytes: &[u8]) -> String {
    made(&mut Input::new(bytes))
}

fn made(input: &mut Input<'_>) -> String {
    texts::scenario(input, "2", true)
}

pub fn run(bytes: &[u8]) {
    let mut input = Input::new(bytes);
    let text = made(&mut input);
    let doc = Doc::from_toml(&text, None).unwrap_or_else(|error| panic!("{error}\n{text}"));
    let scenario = match check(&doc, None) {
        Ok(scenario) => scenario,
        Err(error) => return assert!(!error.to_string().is_empty()),
    };
    let whole = input.one_in(16);
    let first = outcome(&scenario, Links::Auto, Events::Lanes, whole, &text);
    let json = scenario.to_json();
    let again = Doc::from_json(&json).and_then(|doc| check(&doc, None)).unwrap_or_else(|e| panic!("{e}\n{json}"));
    let (links, events) = input.of(&[(Links::Auto, Events::Lanes), (Links::Stepped, Events::Heap)]);
    assert_eq!(again.to_json(), json, "the scenario in full is the same scenario");
    assert_eq!(first, outcome(&again, links, events, whole, &text), "{links:?} {events:?}\n{text}");
}

/// What two runs of a scenario have in common: their numbers, and where `whole` the result document without its cost.
pub fn outcome(scenario: &Scenario, links: Links, events: Events, whole: bool, text: &str) -> (Vec<u64>, String) {
    let outcome = simulate(scenario, scenario.seed, links, events).unwrap_or_else(|error| panic!("{error}\n{text}"));
    conserved(&outcome, text);
    let mut numbers = Vec::new();
    for port in &outcome.ports {
        let (counts, stats) = (&port.counters, &port.stats);
        numbers.extend([counts.arrivals, counts.departed_bytes, counts.drops(), counts.marks, port.queued_at_end]);
        numbers.extend([stats.mean(), stats.mean_sojourn(), stats.mean_average()].map(f64::to_bits));
        numbers.push(port.trace.as_ref().map_or(0, |trace| trace.digest()));
    }
    for flow in &outcome.flows {
        numbers.extend([flow.in_order, flow.received, flow.retransmits, flow.timeouts, flow.marks].map(u64::from));
        numbers.push(flow.delay_mean.to_bits());
    }
    numbers.extend(outcome.transfers.iter().flat_map(|of| of.times.iter().map(|time| time.to_bits())));
    if !whole {
        return (numbers, String::new());
    }
    let mut document = result::document(scenario, scenario.seed, &outcome, 0.0);
    document.as_object_mut().expect("an object").shift_remove("cost");
    (numbers, document.to_string())
}

fn conserved(outcome: &Outcome, text: &str) {
    for port in &outcome.ports {
        let counts = &port.counters;
        assert_eq!(
            port.queued_at_start + counts.arrivals,
            counts.departures + counts.drops() + port.queued_at_end,
            "packets at {} of\n{text}",
            port.name
        );
        assert!(port.stats.mean().is_finite() && port.stats.mean_sojourn().is_finite(), "{}\n{text}", port.name);
    }
}
