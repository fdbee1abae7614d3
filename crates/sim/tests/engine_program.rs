//! The engine as a program: the benchmark cases count the same packets whatever carries their events.

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
    let cases: [&[&str]; 3] =
        [&["A", "--duration", "3"], &["A", "--spread", "--duration", "2"], &["N10", "--duration", "1"]];
    for case in cases {
        let counts = |more: &[&str]| {
            let said = run(&[case, more].concat()).expect("a case");
            assert_eq!(said["case"], case[0]);
            ["arrivals", "drops"].map(|key| said[key].as_u64().expect("a count"))
        };
        let counted = counts(&[]);
        assert!(counted[0] > 1000, "{case:?} {counted:?}");
        assert_eq!(counts(&["--events", "heap"]), counted, "{case:?}");
        assert_eq!(counts(&["--links", "stepped"]), counted, "{case:?}");
    }
}

#[test]
fn other_tcps_and_scenarios_run_and_the_rest_is_refused() {
    let reno = run(&["A", "--duration", "3"]).expect("a case");
    for other in [["--tcp", "sack"], ["--rfc", "yes"], ["--rfc", "plain"], ["--rfc", "paced"]] {
        let said = run(&[&["A", "--duration", "3"][..], &other].concat()).expect("a case");
        assert_ne!(said["arrivals"], reno["arrivals"], "{other:?}");
    }
    let file = concat!(env!("CARGO_MANIFEST_DIR"), "/tests/golden_run/mixed.toml");
    assert!(run(&[file]).expect("a scenario")["arrivals"].as_u64() > Some(1000));
    assert_eq!((run(&["Z"]), run(&["missing.toml"])), (Err(Some(2)), Err(Some(2))));
}
