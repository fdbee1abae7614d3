//! The results of scenarios with every kind of traffic, every TCP with its options, every discipline and every network
//! against stored digests (`digests.rs`): those of `golden_run/drawn.txt` were drawn once at random, those of
//! `golden_run/stacks.txt` have every TCP of every stack by its name. With `EARLYDROP_BLESS=1` in the environment the
//! digests are written anew; the changelog must then say what changed and why. `EARLYDROP_BLESS=add` only adds what is new: a
//! scenario of each discipline and of each model of a link that has none, and columns. `make test-web` compares them with the engine in WebAssembly.

use crate::digests::{file, Columns, Stored, RUNS};
use earlydrop_aqm::prelude::*;
use earlydrop_net::model::{ModelSpec, MODELS};
use earlydrop_sim::result;
use earlydrop_sim::run::{run, Events, Links};
use earlydrop_sim::scenario::{check, Doc, Scenario};
use earlydrop_sim::simulation::Simulation;
use serde_json::json;

/// The scenario in `text`, which is JSON.
fn checked(text: &str) -> Scenario {
    Doc::from_json(&serde_json::from_str(text).expect("JSON"))
        .and_then(|doc| check(&doc, None))
        .unwrap_or_else(|e| panic!("{e}"))
}

/// The columns of a scenario's result.
fn columns_of(scenario: &str) -> Columns {
    let scenario = checked(scenario);
    let outcome = run(&scenario, scenario.seed, Links::Auto, Events::Lanes).expect("runs");
    Columns::of(&result::document(&scenario, scenario.seed, &outcome, 0.0))
}

fn blesses() -> bool {
    std::env::var_os("EARLYDROP_BLESS").is_some()
}

fn adds() -> bool {
    std::env::var_os("EARLYDROP_BLESS").is_some_and(|word| word == "add")
}

/// In the place of the digest of a run that was never stored.
const NEW: &str = "0";

/// The text of a file of runs.
fn stored(name: &str) -> String {
    std::fs::read_to_string(file(name)).expect("the stored digests")
}

/// Digest and scenario of each line.
fn lines(text: &str) -> Vec<(&str, &str)> {
    text.lines().map(|line| line.split_once('\t').expect("two columns")).collect()
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

/// A scenario with links by the name of a model, and the queues that it has by default.
fn of_model(spec: &ModelSpec) -> String {
    let start = json!({ "uniform": ["0 s", "1 s"] });
    let mut bottleneck = json!({ "model": spec.name });
    if !spec.has_rate {
        bottleneck["rate"] = json!("20 Mbit/s");
    }
    let scenario = json!({
        "name": spec.name, "duration": "6 s", "warmup": "1 s", "seed": 55,
        "topology": {
            "kind": "dumbbell", "pairs": 3,
            "access": { "rate": "1 Gbit/s", "delay": "5 ms" },
            "bottleneck": bottleneck,
        },
        "queue": { "bottleneck": { "aqm": "default" }, "reverse": { "aqm": "default" } },
        "traffic": [
            { "kind": "ftp", "tcp": "cubic", "stack": "linux-6.18", "count": 1, "start": start },
            { "kind": "ftp", "tcp": "cubic", "direction": "reverse", "count": 1, "start": start },
            { "kind": "cbr", "rate": "100 kbit/s", "segment": "200 B", "start": "0.5 s" },
        ],
        "record": { "series": "100 ms" },
    });
    scenario.to_string()
}

/// The lines of `drawn.txt`, with scenarios of the disciplines and of the models of links that it lacks.
fn with_all(stored: &str) -> String {
    let lacking = |spec: &&&catalogue::AqmSpec| !stored.contains(&format!("\"aqm\":\"{}\"", spec.name));
    let added = catalogue::all().iter().filter(lacking).map(|spec| format!("{NEW}\t{}\n", of_discipline(spec.name)));
    let unseen = |spec: &&ModelSpec| !stored.contains(&format!("\"name\":\"{}\"", spec.name));
    let models = MODELS.iter().filter(unseen).map(|spec| format!("{NEW}\t{}\n", of_model(spec)));
    stored.to_string() + &added.chain(models).collect::<String>()
}

#[test]
fn every_discipline_and_every_model_of_a_link_is_drawn() {
    let stored = stored("drawn.txt");
    let added = with_all(&stored).split_off(stored.len());
    assert!(blesses() || added.is_empty(), "EARLYDROP_BLESS=1 adds:\n{added}");
}

#[test]
fn drawn_runs_reproduce_their_digests() {
    let texts = RUNS.map(|name| if blesses() && name == RUNS[0] { with_all(&stored(name)) } else { stored(name) });
    let rows: Vec<(&str, &str)> = texts.iter().flat_map(|text| lines(text)).collect();
    assert!(rows.len() >= 360);
    let workers = std::thread::available_parallelism().map_or(1, usize::from).min(8);
    let found: Vec<Columns> = std::thread::scope(|scope| {
        let parts = rows.chunks(rows.len().div_ceil(workers));
        let threads: Vec<_> =
            parts.map(|part| scope.spawn(|| part.iter().map(|row| columns_of(row.1)).collect::<Vec<_>>())).collect();
        threads.into_iter().flat_map(|thread| thread.join().expect("runs")).collect()
    });
    let columns = Stored::read();
    if !blesses() || adds() {
        let known = || rows.iter().zip(&found).filter(|((was, _), _)| *was != NEW);
        let other = known().filter(|((was, _), run)| *was != format!("{:016x}", columns.digest(run)));
        let other: Vec<&str> = other.map(|((_, scenario), _)| *scenario).collect();
        let mut differing = columns.differing(known().map(|((_, scenario), run)| (*scenario, run)));
        differing.retain(|name| !adds() || columns.has(name));
        let first = other.first().unwrap_or(&"");
        assert!(differing.is_empty() && other.is_empty(), "{} runs, columns {differing:?}\n{first}", other.len());
    }
    if blesses() {
        let columns = columns.renewed(rows.iter().map(|row| row.1).zip(&found));
        columns.write();
        let mut found = found.iter();
        for (name, text) in RUNS.iter().zip(&texts) {
            let line =
                |((_, scenario), run): ((&str, &str), &Columns)| format!("{:016x}\t{scenario}\n", columns.digest(run));
            let renewed: String = lines(text).into_iter().zip(found.by_ref()).map(line).collect();
            std::fs::write(file(name), renewed).expect("written");
        }
    }
}

/// Cut at arbitrary times and read there, each run ends in the stored result.
#[test]
fn runs_in_steps_reproduce_the_digests_of_whole_runs() {
    if blesses() {
        return;
    }
    let (stored, columns) = (stored("drawn.txt"), Stored::read());
    let mut random = Generator::stream(25, "cuts");
    let (mut cuts, mut waiting, mut gauges) = (0, 0, 0);
    for (number, (digest, text)) in lines(&stored).into_iter().enumerate() {
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
        let found = format!("{:016x}", columns.digest(&Columns::of(&simulation.finish(0.0))));
        assert_eq!(found, digest, "{links:?}\n{text}");
    }
    assert!(cuts > 3000 && waiting > 500 && gauges > 2000, "{cuts} cuts, {waiting} queues, {gauges} gauges");
}
