//! The cost of a packet does not grow with the number of flows, whatever the traffic: counted in events and in
//! comparisons of events, which are the same on every machine. `benches/complexity.py` counts instructions instead.

use crate::events::comparisons;
use crate::run::{run, Events, Links};
use crate::scenario::{check, Doc};

const SCENARIOS: &str = include_str!("../../../benches/complexity.toml");
/// The two numbers of flows that are compared.
const FLOWS: [u64; 2] = [300, 1200];
/// Largest slope of the cost per packet against flows, both as logarithms.
const SLOPE: f64 = 0.15;
/// What an event costs beside its comparisons, in comparisons.
const EVENT: u64 = 16;

fn text<'a>(doc: &'a Doc, key: &str) -> &'a str {
    match doc.get(key) {
        Some(Doc::String(text)) => text,
        _ => panic!("no text {key}"),
    }
}

/// Comparisons per packet, events counted as comparisons, of an entry with `flows` flows.
fn cost(network: &str, entry: &str, flows: u64, at_once: bool, events: Events) -> f64 {
    let (start, duration) = if at_once { ("'0 s'", "1 s") } else { ("{ uniform = ['0 s', '1 s'] }", "2 s") };
    let values = [
        ("{flows}", flows.to_string()),
        ("{rate}", format!("{} kbit/s", 80 * flows)),
        ("{limit}", (4 * flows).to_string()),
        ("{gap}", format!("{} s", 10.0 / flows as f64)),
        ("{start}", start.to_string()),
        ("{duration}", duration.to_string()),
    ];
    let text = values.iter().fold(format!("{network}{entry}"), |text, (key, value)| text.replace(key, value));
    let doc = Doc::from_toml(&text, None).unwrap_or_else(|error| panic!("{error}\n{text}"));
    let scenario = check(&doc, None).unwrap_or_else(|error| panic!("{error}\n{text}"));
    let before = comparisons();
    let outcome = run(&scenario, 1, Links::Auto, events).expect("runs");
    let packets = outcome.ports[0].counters.arrivals;
    assert!(packets >= flows, "{packets} packets\n{text}");
    (EVENT * outcome.events + comparisons() - before) as f64 / packets as f64
}

#[test]
fn the_cost_of_a_packet_does_not_grow_with_the_flows() {
    let doc = Doc::from_toml(SCENARIOS, None).expect("TOML");
    let Some(Doc::Table(entries)) = doc.get("entries") else { panic!("no entries") };
    let network = text(&doc, "network");
    let mut steep = Vec::new();
    for (name, entry) in entries {
        let Doc::String(entry) = entry else { panic!("{name} is a text") };
        for at_once in [true, false] {
            let [few, many] = FLOWS.map(|flows| cost(network, entry, flows, at_once, Events::Lanes));
            let slope = (many / few).ln() / (FLOWS[1] as f64 / FLOWS[0] as f64).ln();
            if slope > SLOPE {
                steep.push(format!("{name} (at once: {at_once}): {few:.1} to {many:.1}, slope {slope:.2}"));
            }
        }
        let [lanes, heap] = [Events::Lanes, Events::Heap].map(|events| cost(network, entry, FLOWS[0], true, events));
        if lanes > heap {
            steep.push(format!("{name}: {lanes:.1} with lanes, {heap:.1} with the heap"));
        }
    }
    assert!(steep.is_empty(), "{}", steep.join("\n"));
}
