//! The columns of a batch hold what the result documents hold, and a failed run does not stop the others.

use earlydrop_sim::batch::{flows, guarded, run as run_batch, Column, Values, NO_WHOLE};
use earlydrop_sim::flow_table::FlowTable;
use earlydrop_sim::scenario::{self, Doc, Scenario};
use earlydrop_sim::{result, run};
use serde_json::{json, Value};

fn checked(document: &Value) -> Scenario {
    scenario::check(&Doc::from_json(document).unwrap(), None).unwrap()
}

fn mixed(record: &Value) -> Scenario {
    let link = json!({ "rate": "10 Mbit/s", "delay": "5 ms" });
    checked(&json!({
        "name": "mixed", "duration": "4 s", "warmup": "1 s",
        "topology": { "kind": "dumbbell", "pairs": 3, "access": link, "bottleneck": { "rate": "1 Mbit/s", "delay": "5 ms" } },
        "queue": { "bottleneck": { "aqm": "red", "limit": "20 packets" } },
        "traffic": [
            { "kind": "ftp", "count": 2 },
            { "kind": "cbr", "name": "noise", "rate": "200 kbit/s", "segment": "500 B" },
            { "kind": "transfers", "size": "20 kB", "count": 1 },
        ],
        "record": record,
    }))
}

/// A line of routers whose routes are too long; the run fails at its start.
fn too_long() -> Scenario {
    let hosts: Vec<String> = (0..201).map(|n| format!("n{n}")).collect();
    let links: Vec<Value> = (hosts.windows(2))
        .map(|two| json!({ "from": two[0], "to": two[1], "rate": "1 Mbit/s", "delay": "1 ms" }))
        .collect();
    checked(&json!({
        "name": "long", "duration": "1 s",
        "topology": { "kind": "graph" }, "link": links,
        "traffic": [{ "kind": "ftp", "from": "n0", "to": "n200" }],
    }))
}

fn value_at(column: &Column, k: usize) -> Value {
    let begin: u32 = column.lengths.as_ref().map_or(k as u32, |lengths| lengths[..k].iter().sum());
    let at = |i: usize| match &column.values {
        Values::Whole(v) => (v[i] != NO_WHOLE).then(|| json!(v[i])),
        Values::Real(v) => (!v[i].is_nan()).then(|| json!(v[i])),
        Values::Text(codes, texts) => (codes[i] != NO_WHOLE).then(|| json!(texts[codes[i] as usize])),
    };
    match &column.lengths {
        None => json!(at(begin as usize)),
        Some(lengths) => (begin..begin + lengths[k]).map(|i| json!(at(i as usize))).collect(),
    }
}

#[test]
fn columns_hold_every_field_of_every_document() {
    let scenario = mixed(&json!({ "by_flow": true }));
    let batch = run_batch(&[(&scenario, 1), (&scenario, 2)]);
    assert!(batch.failures.is_empty());
    for (k, seed) in [1, 2].into_iter().enumerate() {
        let outcome = run::run(&scenario, seed, run::Links::Auto, run::Events::Lanes).unwrap();
        let document = result::document(&scenario, seed, &outcome, 0.0);
        let mut seen = 0;
        compare("", &document, &mut |path, value| {
            if ["scenario", "seed", "version"].contains(&path) || path.starts_with("cost.") {
                assert!(!batch.columns.contains_key(path));
                return;
            }
            seen += 1;
            let column = batch.columns.get(path).unwrap_or_else(|| panic!("{path} is no column"));
            assert_eq!(column.runs, [0, 1], "{path}");
            assert_eq!(&value_at(column, k), value, "{path}");
        });
        assert!(seen > 60);
    }
    assert_eq!(batch.wall_s.len(), 2);
    assert!(batch.wall_s.iter().all(|&s| s > 0.0));
}

/// Calls `see` for each plain field, with the tables of flows turned into lists.
fn compare(path: &str, value: &Value, see: &mut impl FnMut(&str, &Value)) {
    let join = |key: &str| if path.is_empty() { key.to_owned() } else { format!("{path}.{key}") };
    match value {
        Value::Object(table) => table.iter().for_each(|(key, inner)| compare(&join(key), inner, see)),
        Value::Array(items) if path == "flows" || path.ends_with(".flows") => {
            for key in items.iter().flat_map(|flow| flow.as_object().unwrap().keys()) {
                let list: Value = items.iter().map(|flow| flow.get(key).cloned().unwrap_or(Value::Null)).collect();
                see(&join(key), &list);
            }
        }
        Value::Array(items) if items.iter().any(Value::is_object) => {
            items.iter().enumerate().for_each(|(k, item)| compare(&join(&k.to_string()), item, see));
        }
        plain => see(path, plain),
    }
}

#[test]
fn equal_results_have_equal_digests_and_others_do_not() {
    let digests = |scenario: &Scenario, seeds: &[u64]| -> Vec<i64> {
        let jobs: Vec<_> = seeds.iter().map(|&seed| (scenario, seed)).collect();
        let Values::Whole(found) = &run_batch(&jobs).columns["digest"].values else { panic!("no whole numbers") };
        found.clone()
    };
    let exact = |digest: &i64| (0..1 << 53).contains(digest);
    // RED draws random numbers; DropTail without random starts does not.
    let random = digests(&mixed(&json!({})), &[1, 2, 3, 1]);
    assert_eq!(random[0], random[3]);
    assert!(random[0] != random[1] && random[1] != random[2] && random[0] != random[2]);
    assert!(random.iter().all(exact));
    let mut document = json!({
        "name": "fixed", "duration": "4 s",
        "topology": { "kind": "dumbbell", "pairs": 2, "access": { "rate": "10 Mbit/s", "delay": "5 ms" },
            "bottleneck": { "rate": "1 Mbit/s", "delay": "5 ms" } },
        "queue": { "bottleneck": { "aqm": "droptail", "limit": "20 packets" } },
        "traffic": [{ "kind": "ftp", "count": 2, "stack": "rfc" }],
    });
    let fixed = digests(&checked(&document), &[1, 2, 3]);
    assert!(fixed.iter().all(|&digest| digest == fixed[0]));
    // The last field changes the digest, and so does everything recorded.
    document["record"] = json!({ "series": "1 s" });
    assert_ne!(digests(&checked(&document), &[1])[0], fixed[0]);
    document["record"] = json!({});
    document["duration"] = json!("4.000001 s");
    assert_ne!(digests(&checked(&document), &[1])[0], fixed[0]);
}

/// A document as JSON is that of its tree of values, whatever it says of flows; columns and digest follow it.
#[test]
fn flows_are_listed_summarised_or_left_out() {
    let record =
        |flows: Value, more: bool| mixed(&json!({ "flows": flows, "by_flow": true, "jitter": more, "losses": more }));
    for more in [false, true] {
        let listed = record(json!(true), more);
        let outcome = run::run(&listed, 1, run::Links::Auto, run::Events::Lanes).unwrap();
        let whole = result::document(&listed, 1, &outcome, 0.0);
        assert_eq!(whole["flows"].as_array().unwrap().len(), 4);
        let mut digests = Vec::new();
        for flows in [json!(true), json!("summary"), json!(false)] {
            let scenario = record(flows.clone(), more);
            assert_eq!(scenario.to_json()["record"].get("flows"), (flows != true).then_some(&flows));
            let document = result::document(&scenario, 1, &outcome, 0.0);
            let parts = result::parts(&scenario, 1, &outcome, 0.0, scenario.record.flows);
            assert_eq!(parts.to_text(), document.to_string());
            let batch = run_batch(&[(&scenario, 1)]);
            assert_eq!(batch.columns.contains_key("flows.goodput_mbps"), flows == true);
            assert_eq!(batch.columns.contains_key("queues.bottleneck.flows.drops"), flows == true);
            digests.push(batch.columns["digest"].clone());
            // All the rest is the same.
            let mut rest = document.clone();
            let summaries: Vec<Value> = (rest["traffic"].as_array_mut().unwrap().iter_mut())
                .filter_map(|entry| entry.as_object_mut().unwrap().shift_remove("flow_summary"))
                .collect();
            assert_eq!(summaries.len(), if flows == "summary" { 3 } else { 0 });
            let mut expected = whole.clone();
            if flows != true {
                expected.as_object_mut().unwrap().shift_remove("flows");
                expected["queues"]["bottleneck"].as_object_mut().unwrap().shift_remove("flows");
            }
            assert_eq!(rest, expected);
            for (entry, summary) in summaries.iter().enumerate() {
                let ids = [0..2, 2..3, 3..4][entry].clone();
                let goodputs = ids.map(|id| whole["flows"][id]["goodput_mbps"].as_f64().unwrap());
                let sum: f64 = goodputs.clone().sum();
                assert_eq!(summary["goodput_mbps"]["flows"], goodputs.len());
                assert_eq!(summary["goodput_mbps"]["mean"], sum / goodputs.len() as f64);
                assert_eq!(summary["goodput_mbps"]["max"], goodputs.fold(0.0, f64::max));
                assert_eq!(summary.get("slowdown").is_some(), entry == 2, "of finite transfers alone");
            }
        }
        assert!(digests[0] != digests[1] && digests[1] != digests[2], "they say different things");
    }
}

/// The table of flows in columns is that of the document.
#[test]
fn the_table_of_flows_is_that_of_the_document() {
    let scenario = mixed(&json!({}));
    let outcome = run::run(&scenario, 1, run::Links::Auto, run::Events::Lanes).unwrap();
    let document = result::document(&scenario, 1, &outcome, 0.0);
    let columns = flows(FlowTable::new(&scenario, &outcome));
    let names: Vec<&str> = columns.iter().map(|(name, _)| *name).collect();
    assert_eq!(names[..3], ["id", "kind", "tcp"]);
    // The third flow is without feedback, the fourth a transfer.
    assert_eq!(names[16..], ["packets_sent", "packets_received", "transfers_completed", "slowdown"]);
    for (name, column) in &columns {
        for (at, flow) in document["flows"].as_array().unwrap().iter().enumerate() {
            let given = flow.get(*name).cloned().unwrap_or(Value::Null);
            let packed = &value_at(column, 0)[at];
            assert_eq!((packed.as_f64(), packed.as_str()), (given.as_f64(), given.as_str()), "{name}");
        }
    }
}

#[test]
fn recorded_series_stay_one_text() {
    let scenario = mixed(&json!({ "series": "100 ms", "trace": 3 }));
    let batch = run_batch(&[(&scenario, 1)]);
    let Value::String(text) = value_at(&batch.columns["recorded"], 0) else { panic!("no text") };
    let recorded: Value = serde_json::from_str(&text).unwrap();
    assert_eq!(recorded["series"]["time_s"].as_array().unwrap().len(), 40);
    assert_eq!(recorded["trace"]["events"].as_array().unwrap().len(), 3);
    assert!(!batch.columns.keys().any(|path| path.starts_with("series") || path.starts_with("trace")));
}

#[test]
fn a_failed_run_is_reported_and_the_others_are_made() {
    let (good, bad) = (mixed(&json!({})), too_long());
    let batch = run_batch(&[(&good, 1), (&bad, 1), (&good, 2)]);
    assert_eq!(batch.failures.len(), 1);
    assert_eq!(batch.failures[0].0, 1);
    assert!(batch.failures[0].1.contains("too long a way"), "{}", batch.failures[0].1);
    assert_eq!(batch.columns["jain"].runs, [0, 2]);
    assert_eq!(batch.wall_s[1], 0.0);
}

#[test]
fn a_panic_is_a_failure() {
    assert_eq!(guarded(|| Ok(1)), Ok(1));
    assert_eq!(guarded::<()>(|| Err("no".into())), Err("no".into()));
    assert_eq!(guarded::<()>(|| panic!("seed {}", 7)), Err("the engine panicked: seed 7".into()));
}
