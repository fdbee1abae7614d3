//! Scenario files, damaged at will, and texts of queues: the checker accepts them or refuses with a message, and never panics.

use crate::Input;
use earlydrop_aqm::random::Generator;
use earlydrop_aqm::Link;
use earlydrop_sim::run;
use earlydrop_sim::scenario::{check, template, Doc, ScenarioError};

/// What replaces a piece of a document.
const PIECES: &[&str] = &[
    "0",
    "-1",
    "1e308",
    "nan",
    "-inf",
    "\"\"",
    "\"0 s\"",
    "\"1e300 Gbit/s\"",
    "\"1e-320 s\"",
    "[]",
    "{}",
    "[[traffic]]",
    "9223372036854775807",
    "true",
    "\"endless\"",
    "{ uniform = [\"0 s\", \"1 s\"] }",
    "{ pareto = \"1 kB\", shape = 1.0 }",
    "\"auto\"",
    "=",
    "\n",
    "#",
    "'''",
    "[topology]",
    "kind = \"random\"",
    "kind = \"graph\"",
    "count = 200000",
    "routers = 3",
    "rate = \"1 Mbit/s\"",
    "[queue.routers]",
    "stack = \"linux-6.18\"",
    "tcp = \"bbr\"",
    "\u{fffd}",
    "kind = \"web\"",
    "session_gap = \"1 us\"",
    "[[link]]",
    "from = \"a\"",
    "to = \"b\"",
    "[record]",
    "series = \"1 ms\"",
];

/// Most flows of a scenario that is also built.
const FLOWS: u64 = 200;

fn text(input: &mut Input<'_>) -> String {
    let mut text = template(input.of(&["first", "", "a \"b\" \\ c"]));
    for _ in 0..input.below(12) {
        let places: Vec<usize> = text.char_indices().map(|(at, _)| at).collect();
        let (from, length) = (input.below(places.len().max(1)), input.of(&[0, 1, 5, 20, 200]));
        let at = |place: usize| places.get(place).copied().unwrap_or(text.len());
        let range = at(from)..at(from + length);
        let piece = match input.below(8) {
            0 => String::from_utf8_lossy(input.bytes(20)).into_owned(),
            1 => text[range.clone()].repeat(2),
            2 => String::new(),
            _ => input.of(PIECES).to_string(),
        };
        text.replace_range(range, &piece);
    }
    text
}

fn accepted(doc: &Doc) -> Result<(), ScenarioError> {
    let scenario = check(doc, None)?;
    let json = scenario.to_json();
    let again = Doc::from_json(&json).and_then(|doc| check(&doc, None)).unwrap_or_else(|e| panic!("{e}\n{json}"));
    assert_eq!(again.to_json(), json, "the scenario in full is the same scenario");
    scenario.warnings();
    if scenario.flows() <= FLOWS {
        run::build(&scenario, scenario.seed)?;
    }
    Ok(())
}

pub fn run(bytes: &[u8]) {
    let mut input = Input::new(bytes);
    let doc = match input.below(4) {
        0 => {
            let text = String::from_utf8_lossy(input.rest());
            let link = Link { rate_bps: 1e6, delay_s: 0.01 };
            if let Err(error) = run::queue_of_text(&text, &link, &|stream| Generator::stream(1, stream)) {
                assert!(!error.to_string().trim().is_empty(), "a refusal without a word");
            }
            Doc::from_toml(&text, None)
        }
        1 => match serde_json::from_slice(input.rest()) {
            Ok(json) => Doc::from_json(&json),
            Err(_) => return,
        },
        _ => Doc::from_toml(&text(&mut input), Some("file.toml")),
    };
    if let Err(error) = doc.and_then(|doc| accepted(&doc)) {
        assert!(!error.to_string().trim().is_empty(), "a refusal without a word");
    }
}
