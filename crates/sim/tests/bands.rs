//! Bands of a queue: each has what the flows had that it serves, and all together what the queue had.

use earlydrop_sim::result::{self, Json};
use earlydrop_sim::run::{run, Events, Links};
use earlydrop_sim::scenario::{check, Doc, Scenario};
use earlydrop_sim::simulation::Simulation;
use serde_json::{json, Value};

/// A dumbbell in which `traffic` passes the discipline `queue`, with a warm-up.
fn scenario(queue: &Value, traffic: &[Value]) -> Scenario {
    let scenario = json!({
        "name": "bands", "duration": "6 s", "warmup": "1 s", "seed": 3,
        "topology": {
            "kind": "dumbbell", "pairs": traffic.len(),
            "access": { "rate": "100 Mbit/s", "delay": "2 ms" },
            "bottleneck": { "rate": "10 Mbit/s", "delay": "8 ms" },
        },
        "queue": { "bottleneck": queue },
        "traffic": traffic,
        "record": { "by_flow": true, "delay_histogram": true },
    });
    let doc = Doc::from_json(&scenario).expect("a document");
    check(&doc, None).unwrap_or_else(|e| panic!("{e}"))
}

/// The queue of that scenario's result.
fn queue(queue: &Value, traffic: &[Value]) -> Json {
    let scenario = scenario(queue, traffic);
    let outcome = run(&scenario, 3, Links::Auto, Events::Lanes).expect("runs");
    result::document(&scenario, 3, &outcome, 0.0)["queues"]["bottleneck"].clone()
}

/// Entries of these DSCPs, each as fast as the link.
fn by_dscp(points: &[u8]) -> Vec<Value> {
    let entry = |dscp: &u8| json!({ "kind": "cbr", "rate": "6 Mbit/s", "class": dscp >> 3, "dscp": dscp });
    points.iter().map(entry).collect()
}

/// Every field of `band` is that of traffic entry number `entry`, from 0.
fn assert_has(queue: &Json, band: &str, entry: usize) {
    let mut of = queue["traffic"][entry].clone();
    for other in ["entry", "name", "kind"] {
        of.as_object_mut().expect("an object").shift_remove(other);
    }
    assert_eq!(queue["bands"][band], of, "{band}");
}

/// The bands together have what the queue has.
fn assert_whole(queue: &Json) {
    let bands = queue["bands"].as_object().expect("bands");
    let sum = |field: &str| bands.values().map(|band| band[field].as_u64().expect("a count")).sum::<u64>();
    for field in ["arrivals", "arrived_bytes", "departures", "departed_bytes", "marks"] {
        assert_eq!(sum(field), queue[field].as_u64().expect("a count"), "{field}");
    }
    let drops = ["early_drops", "forced_drops", "overflow_drops"].map(|of| queue[of].as_u64().expect("a count"));
    assert_eq!(sum("drops"), drops.iter().sum::<u64>());
    let weighted = |band: &Value| Some(band["departures"].as_f64()? * band["delay_mean_ms"].as_f64()?);
    let mean = bands.values().filter_map(weighted).sum::<f64>() / sum("departures") as f64;
    assert!((mean / queue["delay_mean_ms"].as_f64().expect("a delay") - 1.0).abs() < 1e-9);
}

#[test]
fn a_band_has_what_its_class_has() {
    let points = [0, 8, 16, 48];
    for (settings, bands) in [
        (json!({ "aqm": "prio", "limit": 60 }), ["class_0", "class_1", "class_2", "class_6"]),
        (json!({ "aqm": "prio", "limit": 60, "victim": "last" }), ["class_0", "class_1", "class_2", "class_6"]),
        (json!({ "aqm": "wrr", "limit": 60, "weight_1": 3 }), ["class_0", "class_1", "class_2", "class_6"]),
        (json!({ "aqm": "cake", "diffserv": "precedence", "limit": 100 }), ["tin_0", "tin_1", "tin_2", "tin_6"]),
        (
            json!({ "aqm": "cake", "diffserv": "diffserv4", "limit": 100, "wash": true, "bandwidth": "8 Mbit/s" }),
            ["best_effort", "bulk", "video", "voice"],
        ),
    ] {
        let found = queue(&settings, &by_dscp(&points));
        assert_whole(&found);
        let lost: u64 = (0..4).map(|entry| found["traffic"][entry]["drops"].as_u64().expect("a count")).sum();
        assert!(lost > 1000, "{settings}: {lost}");
        for (entry, band) in bands.into_iter().enumerate() {
            assert_has(&found, band, entry);
        }
    }
}

#[test]
fn fq_pacing_has_the_bands_of_its_priomap() {
    let settings = json!({ "aqm": "fq_pacing", "limit": 40, "maxrate": "3 Mbit/s", "flow_plimit": 30 });
    let found = queue(&settings, &by_dscp(&[0, 8, 48]));
    assert_whole(&found);
    for (band, entry) in [("band_1", 0), ("band_2", 1), ("band_0", 2)] {
        assert_has(&found, band, entry);
    }
}

/// Prague is in L and CUBIC in C, whether the coupled decision is at the arrival or at the departure.
#[test]
fn dualpi2_has_l_and_c() {
    for early in [false, true] {
        let traffic = [
            json!({ "kind": "ftp", "tcp": "prague", "stack": "rfc", "ecn": true, "count": 1 }),
            json!({ "kind": "ftp", "tcp": "cubic", "stack": "rfc", "ecn": true, "count": 1 }),
            json!({ "kind": "cbr", "rate": "1 Mbit/s" }),
        ];
        let found = queue(&json!({ "aqm": "dualpi2", "ecn": true, "drop_early": early }), &traffic);
        assert_whole(&found);
        assert_has(&found, "L", 0);
        let (l, c) = (&found["bands"]["L"], &found["bands"]["C"]);
        let two = |field: &str| [1, 2].map(|entry| found["traffic"][entry][field].as_u64().expect("a count"));
        for field in ["arrivals", "departures", "drops", "marks"] {
            assert_eq!(c[field].as_u64(), Some(two(field).iter().sum()), "{field}");
        }
        assert!(two("marks")[0] > 0 && two("drops")[1] > 0 && l["marks"].as_u64() > Some(100), "{found}");
        let p99 = |of: &Value| of["delay_p99_ms"].as_f64().expect("a delay");
        assert!(p99(l) < 0.3 * p99(c), "{l} {c}");
    }
}

#[test]
fn a_parent_has_the_bands_of_its_child() {
    let settings = json!({
        "parent": "tbf", "rate": "5 Mbit/s", "burst": "15 kB", "child": { "aqm": "prio", "limit": 60 },
    });
    let found = queue(&settings, &by_dscp(&[0, 8]));
    assert_whole(&found);
    assert_has(&found, "class_0", 0);
    assert_has(&found, "class_1", 1);
}

#[test]
fn queues_of_flows_are_no_bands_and_those_behind_a_marker_are_not_told() {
    for settings in [
        json!({ "aqm": "droptail" }),
        json!({ "aqm": "fq_codel" }),
        json!({ "aqm": "drr" }),
        json!({ "aqm": "cake", "diffserv": "besteffort" }),
        // A marker chooses the class, so an arrival does not tell its band.
        json!({ "aqm": "prio", "marker": { "kind": "srtcm", "cir": "3 Mbit/s", "cbs": 15_000, "ebs": 15_000 } }),
    ] {
        assert!(queue(&settings, &by_dscp(&[0, 8])).get("bands").is_none(), "{settings}");
    }
}

/// The queue's own histogram is that of all bands, at the end and before.
#[test]
fn the_queue_has_the_sojourn_times_of_its_bands() {
    let settings = json!({ "aqm": "prio", "limit": 60 });
    let scenario = scenario(&settings, &by_dscp(&[0, 8]));
    let mut simulation = Simulation::new(&scenario, 3, Links::Auto).expect("builds");
    for until in [2.0, 5.0] {
        simulation.run_until(until);
        let seen = simulation.sojourns("bottleneck").expect("a queue");
        let departures = simulation.queue("bottleneck").expect("a queue").counters.departures;
        assert_eq!(seen.iter().map(|(_, packets)| packets).sum::<u64>(), departures);
        assert!(departures > 500 && seen.len() > 4, "{departures} {}", seen.len());
    }
    let found = queue(&settings, &by_dscp(&[0, 8]));
    let packets = found["delay_histogram"]["packets"].as_array().expect("a list").iter().filter_map(Value::as_u64);
    assert_eq!(Some(packets.sum()), found["departures"].as_u64());
}
