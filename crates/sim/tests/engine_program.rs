//! The engine as a program: a scenario counts the same packets whatever carries its events.

use earlydrop_sim::scenario::template;
use serde_json::Value;
use std::process::Command;

fn run(arguments: &[&str]) -> Result<Value, Option<i32>> {
    let done = Command::new(env!("CARGO_BIN_EXE_earlydrop-engine")).args(arguments).output().expect("runs");
    match done.status.success() {
        true => Ok(serde_json::from_slice(&done.stdout).expect("JSON")),
        false => Err(done.status.code()),
    }
}

#[test]
fn queues_of_events_and_ways_of_links_count_the_same_packets() {
    let first = format!("{}/first.toml", env!("CARGO_TARGET_TMPDIR"));
    std::fs::write(&first, template("first").replace("60 s", "8 s").replace("20 s", "2 s")).expect("written");
    for file in [first, concat!(env!("CARGO_MANIFEST_DIR"), "/tests/golden_run/mixed.toml").to_string()] {
        let counts = |more: &[&str]| {
            let said = run(&[&[file.as_str()], more].concat()).expect("a scenario");
            ["arrivals", "drops"].map(|key| said[key].as_u64().expect("a count"))
        };
        let counted = counts(&[]);
        assert!(counted[0] > 1000, "{file} {counted:?}");
        assert_eq!(counts(&["--events", "heap"]), counted, "{file}");
        assert_eq!(counts(&["--links", "stepped"]), counted, "{file}");
    }
    assert_eq!((run(&["Z"]), run(&["missing.toml"])), (Err(Some(2)), Err(Some(2))));
}
