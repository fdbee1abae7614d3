//! The stack `quic` in whole runs: throughput and losses beside TCP's NewReno, and the same result however a run is
//! executed.

use earlydrop_sim::result;
use earlydrop_sim::run::{run, Events, Links};
use earlydrop_sim::scenario::{check, Doc, Scenario};
use serde_json::Value;

/// 10 Mbit/s, 40 ms there and back; a packet of 1488 B takes 1.19 ms at the bottleneck.
const NETWORK: &str = "name = 'quic'\nduration = '30 s'\n[topology]\nkind = 'dumbbell'\npairs = 8\n\
    access = { rate = '100 Mbit/s', delay = '5 ms' }\nbottleneck = { rate = '10 Mbit/s', delay = '10 ms'LOSS }\n";
const DROPTAIL: &str = "aqm = 'droptail'\nlimit = '40 packets'";
const CODEL: &str = "aqm = 'codel'\nlimit = '200 packets'";
const TCPS: [&str; 4] = ["reno", "cubic", "bbr", "bbr3"];

fn scenario(text: &str) -> Scenario {
    Doc::from_toml(text, None).and_then(|doc| check(&doc, None)).unwrap_or_else(|e| panic!("{e}\n{text}"))
}

fn text(loss: &str, queue: &str, traffic: &str) -> String {
    format!("{}[queue.bottleneck]\n{queue}\n[[traffic]]\nkind = 'ftp'\n{traffic}\n", NETWORK.replace("LOSS", loss))
}

fn document(text: &str, links: Links, events: Events) -> Value {
    let scenario = scenario(text);
    let outcome = run(&scenario, 3, links, events).expect("runs");
    let mut document = result::document(&scenario, 3, &outcome, 0.0);
    document.as_object_mut().expect("a table").remove("cost");
    document
}

fn number(value: &Value) -> f64 {
    value.as_f64().unwrap_or_else(|| panic!("a number, not {value}"))
}

/// Goodput of one flow, Mbit/s; its retransmissions, drops and PTOs.
fn one_flow(loss: &str, queue: &str, stack: &str, tcp: &str) -> (f64, f64, f64, f64) {
    let traffic = format!("count = 1\ntcp = '{tcp}'\nstack = '{stack}'\nsegment = 1448");
    let document = document(&text(loss, queue, &traffic), Links::Auto, Events::Lanes);
    let flow = &document["flows"][0];
    let of = |key: &str| number(&flow[key]);
    (of("goodput_mbps"), of("retransmits"), of("drops"), of("timeouts"))
}

#[test]
fn one_flow_fills_the_link() {
    for tcp in TCPS {
        for queue in [DROPTAIL, CODEL] {
            let (goodput, again, drops, timeouts) = one_flow("", queue, "quic", tcp);
            let most = 10.0 * 1448.0 / 1488.0;
            // CoDel holds less than the bandwidth-delay product that half a window needs.
            let least = if queue == CODEL { 0.8 } else { 0.94 };
            assert!(goodput > least * most && goodput <= most, "{tcp}: {goodput} of {most}");
            assert!(again <= drops + 3.0 + 2.0 * timeouts, "{tcp}: {again} for {drops}");
            assert!(timeouts <= 2.0, "{tcp}: {timeouts}");
        }
    }
}

/// Beside `reno` of the RFCs, with SACK and time stamps.
#[test]
fn newreno_is_as_fast_as_in_tcp() {
    for (loss, queue) in [
        ("", DROPTAIL),
        ("", CODEL),
        (", loss = 0.002", DROPTAIL),
        (", loss = 0.002", CODEL),
        (", loss = 0.02", DROPTAIL),
    ] {
        let quic = one_flow(loss, queue, "quic", "reno");
        let tcp = one_flow(loss, queue, "rfc", "reno");
        assert!((quic.0 / tcp.0 - 1.0).abs() < 0.1, "{loss} {queue}: {} and {} Mbit/s", quic.0, tcp.0);
    }
}

#[test]
fn runs_are_the_same_in_every_way() {
    let rules = [
        "",
        "ecn = true",
        "rules = { ack_threshold = 9, reordering_threshold = 3 }",
        "rules = { delayed_ack = '100 ms' }",
        "reading = { rate = '1 Mbit/s' }",
    ];
    for (at, tcp) in TCPS.iter().cycle().take(2 * TCPS.len()).enumerate() {
        let queue = ["aqm = 'red'\nlimit = '60 packets'\necn = true", CODEL][at % 2];
        let traffic = format!(
            "count = 3\ntcp = '{tcp}'\nstack = 'quic'\nstart = {{ uniform = ['0 s', '1 s'] }}\n{}\n\
             [[traffic]]\nkind = 'web'\ncount = 2\nstack = 'quic'\nsession_gap = '0.5 s'\n\
             [[traffic]]\nkind = 'ftp'\ncount = 1\nstack = 'rfc'",
            rules[at % rules.len()]
        );
        let text = text(", loss = 0.001", queue, &traffic).replace("30 s", "8 s");
        let first = document(&text, Links::Auto, Events::Lanes);
        assert!(number(&first["queues"]["bottleneck"]["departures"]) > 3000.0);
        assert_eq!(first, document(&text, Links::Auto, Events::Lanes), "again: {text}");
        assert_eq!(first, document(&text, Links::Auto, Events::Heap), "{text}");
        assert_eq!(first, document(&text, Links::Stepped, Events::Lanes), "{text}");
        assert_eq!(first, document(&text, Links::Stepped, Events::Heap), "{text}");
    }
}

/// An ACK for ten packets where nine may wait.
#[test]
fn fewer_acks_by_ack_frequency() {
    let acks = |rules: &str| {
        let traffic = format!("count = 1\ntcp = 'cubic'\nstack = 'quic'\nsegment = 1448\n{rules}");
        let both = "[queue.reverse]\naqm = 'droptail'\nlimit = 1000\n";
        let text = text("", DROPTAIL, &traffic).replace("[[traffic]]", &format!("{both}[[traffic]]"));
        let document = document(&text, Links::Auto, Events::Lanes);
        (number(&document["queues"]["reverse"]["arrivals"]), number(&document["flows"][0]["goodput_mbps"]))
    };
    let (usual, few) = (acks(""), acks("rules = { ack_threshold = 9 }"));
    assert!(few.0 < 0.4 * usual.0, "{few:?} of {usual:?}");
    assert!(few.1 > 0.95 * usual.1, "{few:?} of {usual:?}");
}

#[test]
fn options_of_tcp_are_refused() {
    for key in ["timestamps = true", "rack = true", "sack = false", "prr = true", "frto = 'on'"] {
        let text = text("", DROPTAIL, &format!("stack = 'quic'\nrules = {{ {key} }}"));
        let error = Doc::from_toml(&text, None).and_then(|doc| check(&doc, None)).expect_err(key);
        assert!(error.to_string().contains("loss_recovery = \"tcp\""), "{key}: {error}");
    }
}
