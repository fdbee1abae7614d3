//! Rates over time: against hand computation, and their sums against the totals of flows and queues.

use earlydrop_sim::result;
use earlydrop_sim::run::{run, Events, Links};
use earlydrop_sim::scenario::{check, Doc};
use serde_json::Value;

const NETWORK: &str = "name = 'rates'\nduration = '10 s'\n[topology]\nkind = 'dumbbell'\npairs = 4\n\
    access = { rate = '10 Mbit/s', delay = '2 ms' }\nbottleneck = { rate = '5 Mbit/s', delay = '6 ms' }\n\
    [queue.bottleneck]\naqm = 'red'\nlimit = 60\n[queue.reverse]\naqm = 'droptail'\nlimit = 60\n";

fn document(record: &str, traffic: &str) -> Value {
    let text = format!("{NETWORK}[record]\nby_flow = true\n{record}\n{traffic}");
    let checked = Doc::from_toml(&text, None).and_then(|doc| check(&doc, None));
    let scenario = checked.unwrap_or_else(|e| panic!("{e}\n{text}"));
    let outcome = run(&scenario, scenario.seed, Links::Auto, Events::Lanes).expect("runs");
    result::document(&scenario, scenario.seed, &outcome, 0.0)
}

fn numbers(list: &Value) -> Vec<f64> {
    list.as_array().expect("a list").iter().map(|x| x.as_f64().expect("a number")).collect()
}

/// Megabits: rates times the lengths of their intervals, up to 10 s.
fn megabits(rates: &Value, field: &str, interval: f64) -> f64 {
    let values = numbers(&rates[field]);
    let length = |at: usize| interval.min(10.0 - at as f64 * interval);
    values.iter().enumerate().map(|(at, rate)| rate * length(at)).sum()
}

#[test]
fn a_packet_counts_at_its_departure_and_its_arrival() {
    // A packet every 10 ms from 1.005 s on. With its header it takes 0.84 ms at hosts and 1.68 ms at the bottleneck: it
    // leaves the queue after 2.84 ms and arrives after 13.36 ms.
    let traffic = "[[traffic]]\nkind = 'cbr'\nrate = '840 kbit/s'\nsegment = 1000\nheader = 50\nstart = '1.005 s'\nstop = '3 s'\n";
    let document = document("rates = '1 s'\n", traffic);
    let rates = &document["rates"];
    assert_eq!(rates["interval_s"], 1.0);
    assert_eq!(numbers(&rates["time_s"]), (0..10).map(f64::from).collect::<Vec<_>>());
    let sent = document["flows"][0]["packets_sent"].as_f64().expect("a number");
    assert_eq!(sent, 200.0);
    let packets = |list: &Value, bytes: f64| -> Vec<f64> {
        numbers(list).iter().map(|rate| (rate * 1e6 / 8.0 / bytes).round()).collect()
    };
    let [left, arrived] = [
        packets(&rates["queues"]["bottleneck"]["flows"][0]["throughput_mbps"], 1050.0),
        packets(&rates["flows"][0]["goodput_mbps"], 1000.0),
    ];
    // Of packets k = 0..199, sent at 1.005 + 0.01 k, those up to 99 leave and those up to 98 arrive before 2 s.
    assert_eq!(left, [0.0, 100.0, 100.0, 0.0, 0.0, 0.0, 0.0, 0.0, 0.0, 0.0]);
    assert_eq!(arrived, [0.0, 99.0, 100.0, 1.0, 0.0, 0.0, 0.0, 0.0, 0.0, 0.0]);
}

const TRAFFIC: &str = "[[traffic]]\nkind = 'ftp'\ncount = 3\nsegment = 1460\n\
    [[traffic]]\nkind = 'transfers'\ncount = 2\nsize = '30 kB'\nnumber = 'endless'\n\
    [[traffic]]\nkind = 'cbr'\nrate = '500 kbit/s'\nsegment = { mix = [[40, 1], [1000, 1]] }\nheader = 28\n\
    [[traffic]]\nkind = 'ftp'\ncount = 2\ntcp = 'sack'\nrules.delayed_ack = true\ndirection = 'reverse'\n";

#[test]
fn rates_sum_to_the_totals_of_flows_and_queues() {
    for (interval, said) in [(1.0, "1 s"), (0.3, "300 ms"), (4.0, "4 s"), (1000.0, "1000 s")] {
        let document = document(&format!("rates = '{said}'\nrate_queues = 'all'\n"), TRAFFIC);
        let rates = &document["rates"];
        assert_eq!(rates["flows"].as_array().map(Vec::len), Some(8));
        for (at, flow) in document["flows"].as_array().expect("flows").iter().enumerate() {
            let goodput = megabits(&rates["flows"][at], "goodput_mbps", interval);
            let expected = flow["goodput_mbps"].as_f64().expect("a number") * 10.0;
            assert!(expected > 0.1, "{flow}");
            assert!((goodput - expected).abs() < 1e-9 * expected, "{goodput}, not {expected}: {flow}");
            for name in ["bottleneck", "reverse"] {
                let left = megabits(&rates["queues"][name]["flows"][at], "throughput_mbps", interval);
                let bytes = document["queues"][name]["flows"][at]["departed_bytes"].as_f64().expect("a number");
                assert!((left * 1e6 / 8.0 - bytes).abs() < 1e-3, "{left} Mbit, not {bytes} B at {name}: {flow}");
            }
        }
        let all: f64 =
            (0..8).map(|at| megabits(&rates["queues"]["bottleneck"]["flows"][at], "throughput_mbps", interval)).sum();
        let bytes = document["queues"]["bottleneck"]["departed_bytes"].as_f64().expect("a number");
        assert!((all * 1e6 / 8.0 - bytes).abs() < 1e-3, "all flows together");
    }
}

#[test]
fn rates_are_recorded_for_the_chosen_flows_and_queues() {
    let document = document("rates = '2 s'\nrate_flows = [7, 2]\nrate_queues = ['reverse']\n", TRAFFIC);
    let rates = &document["rates"];
    let ids: Vec<&Value> = rates["flows"].as_array().expect("flows").iter().map(|flow| &flow["id"]).collect();
    assert_eq!(ids, [7, 2]);
    assert_eq!(rates["queues"].as_object().expect("queues").keys().collect::<Vec<_>>(), ["reverse"]);
    assert_eq!(rates["queues"]["reverse"]["flows"][0]["id"], 7);
    // Flow 7 sends data through that queue, flow 2 its ACKs.
    let left = |at: usize| megabits(&rates["queues"]["reverse"]["flows"][at], "throughput_mbps", 2.0);
    assert!(left(0) > 10.0 * left(1) && left(1) > 0.0);
}

#[test]
fn the_warm_up_is_recorded_too() {
    let traffic = "[[traffic]]\nkind = 'ftp'\ncount = 4\n";
    let [all, late] = ["0 s", "4 s"].map(|warmup| {
        let text = NETWORK.replace("[topology]", &format!("warmup = '{warmup}'\n[topology]"));
        let text = format!("{text}[record]\nrates = '500 ms'\n{traffic}");
        let scenario = Doc::from_toml(&text, None).and_then(|doc| check(&doc, None)).expect("valid");
        let outcome = run(&scenario, 1, Links::Auto, Events::Lanes).expect("runs");
        result::document(&scenario, 1, &outcome, 0.0)
    });
    assert_eq!(all["rates"], late["rates"]);
    let after = numbers(&late["rates"]["flows"][0]["goodput_mbps"])[8..].iter().sum::<f64>() / 12.0;
    let goodput = late["flows"][0]["goodput_mbps"].as_f64().expect("a number");
    assert!((after - goodput).abs() < 1e-9, "{after}, not {goodput}");
}
