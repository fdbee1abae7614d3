//! Digests of the results of scenarios with every kind of traffic, every TCP with its options, every discipline and
//! every network: each line of `golden_run/drawn.txt` has a digest and a scenario, drawn once at random. With
//! `EARLYDROP_BLESS=1` in the environment the digests are written anew; the changelog must then say what changed and
//! why.

use earlydrop_sim::result;
use earlydrop_sim::run::{run, Events, Links};
use earlydrop_sim::scenario::{check, Doc};
use std::path::Path;

/// FNV-1a.
fn digest(text: &str) -> u64 {
    text.bytes().fold(0xcbf2_9ce4_8422_2325, |hash, byte| (hash ^ u64::from(byte)).wrapping_mul(0x0000_0100_0000_01b3))
}

/// The digest of a scenario's result, without its cost and the engine's version. The scenario is JSON.
fn digest_of(scenario: &str) -> u64 {
    let scenario = Doc::from_json(&serde_json::from_str(scenario).expect("JSON"))
        .and_then(|doc| check(&doc, None))
        .unwrap_or_else(|e| panic!("{e}"));
    let outcome = run(&scenario, scenario.seed, Links::Auto, Events::Lanes).expect("runs");
    let mut document = result::document(&scenario, scenario.seed, &outcome, 0.0);
    for key in ["cost", "version"] {
        document.as_object_mut().expect("an object").shift_remove(key);
    }
    digest(&document.to_string())
}

#[test]
fn drawn_scenarios_reproduce_their_digests() {
    let path = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/golden_run/drawn.txt");
    let stored = std::fs::read_to_string(&path).expect("the stored digests");
    let lines: Vec<(&str, &str)> = stored.lines().map(|line| line.split_once('\t').expect("two columns")).collect();
    assert!(lines.len() >= 200);
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
