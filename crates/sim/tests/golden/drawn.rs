//! Digests of the results of scenarios with every kind of traffic, every TCP with its options, every discipline and
//! every network: each line of `golden_run/drawn.txt` has a digest and a scenario, drawn once at random; those of
//! `golden_run/stacks.txt` have every TCP of every stack by its name. With `EARLYDROP_BLESS=1` in the environment the
//! digests are written anew, and a scenario of each discipline that has none is added; the changelog must then say what
//! changed and why. `make test-web` compares them with the engine in WebAssembly.

use earlydrop_aqm::catalogue;
use earlydrop_aqm::random::Generator;
use earlydrop_sim::result;
use earlydrop_sim::run::{run, Events, Links};
use earlydrop_sim::scenario::{check, Doc, Scenario};
use earlydrop_sim::simulation::Simulation;
use serde_json::{json, Value};
use std::path::Path;

/// FNV-1a.
fn digest(text: &str) -> u64 {
    text.bytes().fold(0xcbf2_9ce4_8422_2325, |hash, byte| (hash ^ u64::from(byte)).wrapping_mul(0x0000_0100_0000_01b3))
}

/// The scenario in `text`, which is JSON.
fn checked(text: &str) -> Scenario {
    Doc::from_json(&serde_json::from_str(text).expect("JSON"))
        .and_then(|doc| check(&doc, None))
        .unwrap_or_else(|e| panic!("{e}"))
}

/// The digest of a scenario's result, without its cost and the engine's version.
fn digest_of(scenario: &str) -> u64 {
    let scenario = checked(scenario);
    let outcome = run(&scenario, scenario.seed, Links::Auto, Events::Lanes).expect("runs");
    digest_of_result(result::document(&scenario, scenario.seed, &outcome, 0.0))
}

fn digest_of_result(mut document: Value) -> u64 {
    for key in ["cost", "version"] {
        document.as_object_mut().expect("an object").shift_remove(key);
    }
    digest(&document.to_string())
}

#[test]
fn drawn_scenarios_reproduce_their_digests() {
    reproduce("drawn.txt", 200);
}

/// A scenario of the discipline `name`, with flows of two stacks and unresponsive ones.
fn of_discipline(name: &str) -> String {
    let start = json!({ "uniform": ["0 s", "1 s"] });
    let scenario = json!({
        "name": name, "duration": "3 s", "warmup": "1 s", "seed": 28,
        "topology": {
            "kind": "dumbbell", "pairs": 5,
            "access": { "rate": "50 Mbit/s", "delay": "5 ms" },
            "bottleneck": { "rate": "5 Mbit/s", "delay": "10 ms" },
        },
        "queue": { "bottleneck": { "aqm": name, "limit": 50, "ecn": true } },
        "traffic": [
            {
                "kind": "ftp", "tcp": "cubic", "stack": "linux-6.18", "count": 2, "class": 3, "ecn": true,
                "start": start,
            },
            { "kind": "ftp", "tcp": "sack", "stack": "ns2-2.35", "count": 2, "start": start },
            { "kind": "cbr", "rate": "2 Mbit/s", "class": 1, "start": "0.5 s" },
        ],
        "record": { "series": "100 ms" },
    });
    scenario.to_string()
}

/// The lines of `drawn.txt`, with scenarios of the disciplines that it lacks.
fn with_every_discipline(stored: &str) -> String {
    let lacking = |spec: &&&catalogue::AqmSpec| !stored.contains(&format!("\"aqm\":\"{}\"", spec.name));
    let added = catalogue::all().iter().filter(lacking).map(|spec| format!("0\t{}\n", of_discipline(spec.name)));
    stored.to_string() + &added.collect::<String>()
}

#[test]
fn every_discipline_is_drawn() {
    let path = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/golden_run/drawn.txt");
    let stored = std::fs::read_to_string(&path).expect("the stored digests");
    let added = with_every_discipline(&stored).split_off(stored.len());
    assert!(std::env::var_os("EARLYDROP_BLESS").is_some() || added.is_empty(), "EARLYDROP_BLESS=1 adds:\n{added}");
}

#[test]
fn named_stacks_reproduce_their_digests() {
    reproduce("stacks.txt", 160);
}

/// Runs the scenarios of a file with `least` lines or more.
fn reproduce(file: &str, least: usize) {
    let path = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/golden_run").join(file);
    let mut stored = std::fs::read_to_string(&path).expect("the stored digests");
    if file == "drawn.txt" && std::env::var_os("EARLYDROP_BLESS").is_some() {
        stored = with_every_discipline(&stored);
    }
    let lines: Vec<(&str, &str)> = stored.lines().map(|line| line.split_once('\t').expect("two columns")).collect();
    assert!(lines.len() >= least);
    let found: Vec<String> = lines.iter().map(|(_, scenario)| format!("{:016x}", digest_of(scenario))).collect();
    if std::env::var_os("EARLYDROP_BLESS").is_some() {
        let text: String =
            found.iter().zip(&lines).map(|(digest, (_, scenario))| format!("{digest}\t{scenario}\n")).collect();
        std::fs::write(&path, text).expect("written");
        return;
    }
    let other: Vec<&str> = lines.iter().zip(&found).filter(|((was, _), is)| was != is).map(|((_, s), _)| *s).collect();
    assert!(other.is_empty(), "{} of {} results are others, the first that of\n{}", other.len(), lines.len(), other[0]);
}

/// Cut at arbitrary times and read there, each run ends in the stored result.
#[test]
fn runs_in_steps_reproduce_the_digests_of_whole_runs() {
    let path = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/golden_run/drawn.txt");
    let stored = std::fs::read_to_string(&path).expect("the stored digests");
    let mut random = Generator::stream(25, "cuts");
    let (mut cuts, mut waiting, mut gauges) = (0, 0, 0);
    for (number, line) in stored.lines().enumerate() {
        let (digest, text) = line.split_once('\t').expect("two columns");
        let scenario = checked(text);
        let links = if number % 2 == 0 { Links::Stepped } else { Links::Auto };
        let mut simulation = Simulation::new(&scenario, scenario.seed, links).expect("builds");
        let names: Vec<String> = simulation.queues().map(str::to_string).collect();
        // Some cuts fall on a sample or the start of the window, some follow each other closely.
        let mut times = vec![0.0, scenario.warmup, scenario.record.series.unwrap_or(0.25)];
        times.extend((0..8).map(|_| random.uniform() * scenario.duration));
        times.extend((0..4).map(|step| 0.4 * scenario.duration + f64::from(step) * 1e-4));
        times.sort_by(f64::total_cmp);
        for time in times {
            simulation.run_until(time);
            assert_eq!(simulation.now(), time);
            for name in &names {
                let state = simulation.queue(name).expect("a queue");
                (cuts, waiting, gauges) =
                    (cuts + 1, waiting + usize::from(state.packets > 0), gauges + state.gauges.len());
            }
        }
        let found = format!("{:016x}", digest_of_result(simulation.finish(0.0)));
        assert_eq!(found, digest, "{links:?}\n{text}");
    }
    assert!(cuts > 3000 && waiting > 500 && gauges > 2000, "{cuts} cuts, {waiting} queues, {gauges} gauges");
}
