//! Random networks: analytic links give the results of event-driven ones, and lanes those of the heap.

use crate::{scenarios, texts, Input};
use earlydrop_sim::run::{Events, Links};
use earlydrop_sim::scenario::{check, Doc};

pub fn run(bytes: &[u8]) {
    let mut input = Input::new(bytes);
    let (seconds, any) = (input.of(&["0.25", "0.5", "1"]), input.one_in(4));
    let text = texts::scenario(&mut input, seconds, any);
    let Ok(scenario) = Doc::from_toml(&text, None).and_then(|doc| check(&doc, None)) else { return };
    let whole = input.one_in(16);
    let oracle = scenarios::outcome(&scenario, Links::Stepped, Events::Heap, whole, &text);
    let other = input.of(&[
        (Links::Auto, Events::Heap),
        (Links::Stepped, Events::Lanes),
        (Links::Auto, Events::Large),
        (Links::Stepped, Events::Large),
    ]);
    for (links, events) in [(Links::Auto, Events::Lanes), other] {
        assert_eq!(scenarios::outcome(&scenario, links, events, whole, &text), oracle, "{links:?} {events:?}\n{text}");
    }
}
