//! Data both ways in one connection, in whole runs.

use earlydrop_sim::result;
use earlydrop_sim::run::{run, Events, Links};
use earlydrop_sim::scenario::{check, Doc};
use serde_json::Value;

/// 10 Mbit/s each way, 40 ms there and back.
const NETWORK: &str = "name = 'both'\nduration = '20 s'\n[topology]\nkind = 'dumbbell'\npairs = 3\n\
    access = { rate = '100 Mbit/s', delay = '5 ms' }\nbottleneck = { rate = '10 Mbit/s', delay = '10 ms' }\n\
    reverse = { rate = '10 Mbit/s', delay = '10 ms' }\n";

fn document(text: &str) -> Value {
    document_by(text, Events::Lanes)
}

fn document_by(text: &str, events: Events) -> Value {
    let scenario =
        Doc::from_toml(text, None).and_then(|doc| check(&doc, None)).unwrap_or_else(|e| panic!("{e}\n{text}"));
    let outcome = run(&scenario, scenario.seed, Links::Auto, events).expect("runs");
    let mut document = result::document(&scenario, scenario.seed, &outcome, 0.0);
    document.as_object_mut().expect("a table").remove("cost");
    document
}

fn number(value: &Value) -> f64 {
    value.as_f64().unwrap_or_else(|| panic!("a number, not {value}"))
}

/// Senders of several kinds, and the queue that goes with them.
const SENDERS: [(&str, &str); 9] = [
    ("aqm = 'droptail'\nlimit = '40 packets'", "tcp = 'reno'\nstack = 'rfc'"),
    ("aqm = 'droptail'\nlimit = '40 packets'", "tcp = 'newreno'\nstack = 'rfc'\nrules = { delayed_ack = '0.2 s' }"),
    ("aqm = 'droptail'\nlimit = '40 packets'", "tcp = 'cubic'\nstack = 'linux-6.18'"),
    ("aqm = 'fq_codel'\nlimit = '1000 packets'", "tcp = 'reno'\nstack = 'linux-6.18'"),
    ("aqm = 'droptail'\nlimit = '90 packets'", "tcp = 'bbr'\nstack = 'linux-6.18'"),
    ("aqm = 'codel'\nlimit = '90 packets'\necn = true", "tcp = 'dctcp'\nstack = 'linux-6.18'"),
    ("aqm = 'dualpi2'\nlimit = '400 packets'\necn = true", "tcp = 'prague'"),
    (
        "aqm = 'pie'\nlimit = '90 packets'\necn = true",
        "tcp = 'cubic'\nstack = 'rfc'\necn = true\nrules = { feedback = 'accecn' }",
    ),
    ("aqm = 'droptail'\nlimit = '40 packets'", "tcp = 'cubic'\nstack = 'linux-6.18'\nreading = { rate = '4 Mbit/s' }"),
];

#[test]
fn both_directions_fill_their_link() {
    for (queue, tcp) in SENDERS {
        let document = document(&format!(
            "{NETWORK}[queue.bottleneck]\n{queue}\n[queue.reverse]\n{queue}\n\
             [[traffic]]\nkind = 'ftp'\nname = 'up'\ncount = 1\n{tcp}\n\
             [[traffic]]\nkind = 'ftp'\nname = 'down'\nstart = '0.5 s'\nreverse_of = 'up'\n"
        ));
        for (flow, place) in [(0, "bottleneck"), (1, "reverse")] {
            let (flow, queue) = (&document["flows"][flow], &document["queues"][place]);
            let out: f64 = ["departures", "early_drops", "forced_drops", "overflow_drops", "queued_at_end"]
                .iter()
                .map(|key| number(&queue[*key]))
                .sum();
            assert_eq!(number(&queue["queued_at_start"]) + number(&queue["arrivals"]), out, "{tcp}: {place}");
            let goodput = number(&flow["goodput_mbps"]);
            // Data that meet ACKs both ways leave a link idle now and then.
            let least = if tcp.contains("newreno") { 6.0 } else { 7.0 };
            let (least, most) = if tcp.contains("reading") { (4.0, 9.7) } else { (least, 9.7) };
            assert!(goodput > least && goodput < most, "{tcp}, {place}: {goodput} Mbit/s");
            let (arrivals, data) = (number(&queue["arrivals"]), number(&flow["received_packets"]));
            // Delayed ACKs apart from the data would be 1.5, ACKs at once 2.
            assert!(arrivals < 1.48 * data, "{tcp}, {place}: most ACKs are carried by data");
            assert!(number(&flow["retransmits"]) >= 0.9 * number(&flow["drops"]) - 3.0, "{tcp}: losses are repaired");
        }
    }
}

#[test]
fn without_data_the_other_way_a_connection_is_as_ever() {
    for (queue, tcp) in SENDERS {
        let text = format!(
            "{NETWORK}[queue.bottleneck]\n{queue}\n[queue.reverse]\naqm = 'droptail'\nlimit = '1000 packets'\n\
             [[traffic]]\nkind = 'ftp'\nname = 'up'\ncount = 3\nstart = {{ uniform = ['0 s', '1 s'] }}\n{tcp}\n"
        );
        let one = document(&text);
        let two = document(&format!("{text}[[traffic]]\nkind = 'ftp'\nreverse_of = 'up'\nstart = '30 s'\n"));
        for place in ["bottleneck", "reverse"] {
            for key in ["arrivals", "early_drops", "forced_drops", "overflow_drops", "marks", "queue_mean_packets"] {
                assert_eq!(one["queues"][place][key], two["queues"][place][key], "{tcp}: {key} at {place}");
            }
        }
        for flow in 0..3 {
            for key in ["goodput_mbps", "delay_mean_ms", "retransmits", "timeouts"] {
                assert_eq!(one["flows"][flow][key], two["flows"][flow][key], "{tcp}: {key} of {flow}");
            }
            assert_eq!(number(&two["flows"][3 + flow]["goodput_mbps"]), 0.0);
        }
    }
}

/// Packets are lost and overtake each other on the links, an application lags, and flows start and end at their times.
const ROUGH: &str = "name = 'rough'\nduration = '20 s'\n[topology]\nkind = 'dumbbell'\npairs = 2\n\
    access = { rate = '100 Mbit/s', delay = '5 ms', loss = 0.01, jitter = { uniform = ['0 s', '1 ms'], keep_order = false }, reorder = { probability = 0.01, delay = '3 ms' } }\n\
    bottleneck = { rate = '10 Mbit/s', delay = '10 ms' }\nreverse = { rate = '5 Mbit/s', delay = '10 ms' }\n\
    [queue.bottleneck]\naqm = 'cake'\nlimit = '100 packets'\n[queue.reverse]\naqm = 'droptail'\nlimit = '30 packets'\n";

#[test]
fn losses_both_ways_are_repaired_and_flows_end() {
    for (_, tcp) in SENDERS {
        let text = format!(
            "{ROUGH}[[traffic]]\nkind = 'ftp'\nname = 'up'\ncount = 2\nlifetime = '8 s'\n{tcp}\n\
             [[traffic]]\nkind = 'ftp'\nstart = {{ uniform = ['0.5 s', '2 s'] }}\nlifetime = '6 s'\nreverse_of = 'up'\n\
             [record]\nlosses = true\nby_flow = true\nrates = '1 s'\n"
        );
        let first = document(&text);
        assert_eq!(first, document_by(&text, Events::Heap), "{tcp}");
        for flow in first["flows"].as_array().expect("a list") {
            assert!(number(&flow["goodput_mbps"]) > 0.02, "{tcp}: {flow}");
            assert!(number(&flow["lost"]) > 0.0 && number(&flow["retransmits"]) > 0.0, "{tcp}: {flow}");
        }
        for flow in first["rates"]["flows"].as_array().expect("a list") {
            let last = flow["goodput_mbps"].as_array().expect("a list").last().expect("a rate");
            assert_eq!(number(last), 0.0, "{tcp}: a flow has not ended");
        }
    }
}

/// CAKE's filter drops pure ACKs behind which newer ones wait, and never data that carry an ACK.
#[test]
fn an_ack_filter_leaves_data_alone() {
    let queue = "aqm = 'cake'\nlimit = '1000 packets'\nack_filter = 'aggressive'";
    let document = document(&format!(
        "{NETWORK}[queue.bottleneck]\n{queue}\n[queue.reverse]\n{queue}\n\
         [[traffic]]\nkind = 'ftp'\nname = 'up'\ncount = 1\ntcp = 'reno'\nstack = 'rfc'\nwindow = 40\n\
         [[traffic]]\nkind = 'ftp'\nreverse_of = 'up'\n"
    ));
    for flow in document["flows"].as_array().expect("a list") {
        // If data were filtered too, every drop would be repaired.
        let (drops, retransmits) = (number(&flow["drops"]), number(&flow["retransmits"]));
        assert!(drops > 10.0 && retransmits < 0.2 * drops, "only pure ACKs are filtered: {flow}");
        assert_eq!(number(&flow["timeouts"]), 0.0, "{flow}");
    }
}
