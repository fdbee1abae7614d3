//! Fuzz targets: each is a function of bytes that panics if a promise is broken.
//!
//! Three drivers run them: libFuzzer (`fuzz/`, `make fuzz`), the program `earlydrop-fuzz` with random bytes where that is
//! missing, and `tests/corpus.rs` on a short deterministic corpus with every test run. The program prints the targets.

mod controls;
mod disciplines;
mod documents;
mod events;
mod expressions;
mod headers;
mod hostile;
mod input;
mod networks;
mod paths;
mod scenarios;
mod texts;

pub use expressions::{run_one as hostile_expression, text as hostile_rule};
pub use headers::examine;
pub use input::Input;

/// A target.
pub struct Target {
    /// Its name.
    pub name: &'static str,
    /// What it checks.
    pub about: &'static str,
    /// Runs it on some bytes. Panics if a promise is broken.
    pub run: fn(&[u8]),
    /// The scenario that it makes of them, if it makes one.
    pub text: Option<fn(&[u8]) -> String>,
}

/// All targets.
pub const TARGETS: &[Target] = &[
    Target {
        name: "documents",
        about: "TOML and JSON documents, damaged at will, are checked or refused with the path of a field",
        run: documents::run,
        text: None,
    },
    Target {
        name: "scenarios",
        about: "scenarios of all disciplines, traffic and stacks: packets are conserved, runs repeat to the byte",
        run: scenarios::run,
        text: Some(scenarios::text),
    },
    Target {
        name: "hostile",
        about: "scenarios with other numbers in them: refused, or in full the same scenario, which runs the same",
        run: hostile::run,
        text: Some(hostile::text),
    },
    Target {
        name: "networks",
        about: "random networks: analytic links give the results of event-driven ones, lanes those of the heap",
        run: networks::run,
        text: None,
    },
    Target { name: "events", about: "the event queue of lanes pops what the heap pops", run: events::run, text: None },
    Target {
        name: "disciplines",
        about: "every discipline with any parameters, under any arrivals: conservation, no NaN",
        run: disciplines::run,
        text: None,
    },
    Target {
        name: "expressions",
        about: "a drop probability of any characters: refused with a place, or from 0 to 1 within its operations",
        run: expressions::run,
        text: None,
    },
    Target {
        name: "controls",
        about: "lines that change a running link: refused, or within bounds",
        run: controls::run,
        text: None,
    },
    Target { name: "headers", about: "IP headers and fragments of any bytes; marking", run: headers::run, text: None },
    Target {
        name: "paths",
        about: "a real link's path, from bytes and times to deliveries: conservation, order, no NaN",
        run: paths::run,
        text: None,
    },
];

/// The target of that name.
pub fn find(name: &str) -> Option<&'static Target> {
    TARGETS.iter().find(|target| target.name == name)
}

/// Runs the target of that name.
///
/// # Panics
/// If there is none, or a promise is broken.
pub fn run(name: &str, bytes: &[u8]) {
    let target = find(name).unwrap_or_else(|| panic!("no target {name}"));
    (target.run)(bytes);
}
