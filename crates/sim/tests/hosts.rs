//! Buffers and queues in the hosts, and what hosts remember, in whole runs: receive window autotuning, TCP small queues,
//! Careful Resume.

use earlydrop_sim::result;
use earlydrop_sim::run::{run, Events, Links};
use earlydrop_sim::scenario::{check, Doc};
use serde_json::Value;

fn document(text: &str) -> Value {
    let scenario =
        Doc::from_toml(text, None).and_then(|doc| check(&doc, None)).unwrap_or_else(|e| panic!("{e}\n{text}"));
    let outcome = run(&scenario, scenario.seed, Links::Auto, Events::Lanes).expect("runs");
    result::document(&scenario, scenario.seed, &outcome, 0.0)
}

fn number(value: &Value) -> f64 {
    value.as_f64().unwrap_or_else(|| panic!("a number, not {value}"))
}

/// Transfers over a round-trip time of 0.1 s: their times, s, and the flow.
fn transfers(path: &str, traffic: &str, rules: &str) -> (Vec<f64>, Value) {
    let window = if traffic.contains("\nwindow") { "" } else { "window = 4000\n" };
    let found = document(&format!(
        "name = 'hosts'\nduration = '60 s'\nwarmup = '0 s'\n[record]\ntransfers = true\n[topology]\nkind = 'dumbbell'\n\
         pairs = 1\naccess = {{ rate = '100 Gbit/s', delay = '0 s' }}\nbottleneck = {{ {path}, delay = '50 ms' }}\n\
         [queue.bottleneck]\naqm = 'droptail'\nlimit = '100000 packets'\n[[traffic]]\nkind = 'transfers'\nstack = 'rfc'\n\
         segment = 1448\n{window}rules.delayed_ack = false\nstart = '0 s'\n{traffic}{rules}\n"
    ));
    let times = found["traffic"][0]["transfers"]["times_s"].as_array().expect("times").iter().map(number).collect();
    (times, found["flows"][0].clone())
}

/// The first window is 65,535 B, 45 segments. With a cwnd that never limits the second round trip still brings 45: the
/// first measures the RTT. Then each brings three times as many, one and two more for each segment
/// (`tcp_grow_window`), as the buffer grows faster: 45, 90, 225, 630, 1845, 5490 in all.
#[test]
fn an_autotuned_window_opens_threefold_in_a_round_trip() {
    let rounds = |bytes: u64, rules: &str, more: &str| {
        let traffic = format!("tcp = 'reno'\nsize = '{bytes} B'\nrules.initial_window = 1000\n{more}");
        let (times, _) = transfers("rate = '100 Gbit/s'", &traffic, rules);
        // One for the handshake.
        (times[0] / 0.1 - 1.0).round()
    };
    for (segments, expected) in
        [(45, 1), (46, 2), (90, 2), (91, 3), (220, 3), (230, 4), (580, 4), (640, 5), (1700, 5), (1900, 6)]
    {
        for stamps in ["", "rules.timestamps = false\n"] {
            let found = rounds(1448 * segments, "rules.receive_window = 'autotuned'", stamps);
            assert_eq!(found, f64::from(expected), "{segments} segments {stamps}");
        }
    }
    assert_eq!(rounds(1448 * 640, "", ""), 1.0, "a window of 4000 segments");
    assert_eq!(rounds(1448 * 450, "rules.receive_window = 'autotuned'", "window = 45\n"), 10.0, "tcp_rmem[2]");
}

/// As a sender in slow start doubles its window, the receiver's is never in its way.
#[test]
fn an_autotuned_window_does_not_slow_down_slow_start() {
    for tcp in ["reno", "cubic"] {
        let traffic = format!("tcp = '{tcp}'\nsize = '20 MB'\n");
        let path = "rate = '200 Mbit/s'";
        let [tuned, fixed] =
            ["rules.receive_window = 'autotuned'", ""].map(|rules| transfers(path, &traffic, rules).0[0]);
        assert!((tuned / fixed - 1.0).abs() < 0.01, "{tcp}: {tuned} and {fixed} s");
    }
}

/// A sender whose own link is the bottleneck.
fn own_link(tcp: &str, rate: &str, keys: &str, rules: &str) -> Value {
    document(&format!(
        "name = 'hosts'\nduration = '20 s'\nwarmup = '10 s'\n[topology]\nkind = 'graph'\n[[link]]\nfrom = 'a'\nto = 'b'\n\
         rate = '{rate}'\ndelay = '20 ms'\nqueue = 'own'\nreverse = {{ rate = '1 Gbit/s', delay = '20 ms' }}\n\
         [queue.own]\naqm = 'droptail'\nlimit = '5000 packets'\n[[traffic]]\nkind = 'ftp'\nfrom = 'a'\nto = 'b'\n\
         tcp = '{tcp}'\nstack = 'rfc'\nsegment = 1448\n{keys}{rules}\n"
    ))
}

/// At 10 Mbit/s less than two packets leave in 1/1024 s: two wait, or are sent, and the next one. At 100 Mbit/s, with
/// 1.2 cwnd/SRTT as the pacing rate, it is some ten.
#[test]
fn a_small_queue_holds_two_packets_or_a_millisecond() {
    for tcp in ["reno", "newreno", "sack", "cubic", "dctcp"] {
        for (rate, mbit, keys, most) in [
            ("10 Mbit/s", 10.0, "", 3.0),
            ("10 Mbit/s", 10.0, "rules.send_pairs = true\n", 5.0),
            ("100 Mbit/s", 100.0, "", 25.0),
        ] {
            let found = own_link(tcp, rate, keys, "rules.small_queue = 'on'");
            let (queue, flow) = (&found["queues"]["own"], &found["flows"][0]);
            // The queue does not count the packet that is being sent.
            let longest = number(&queue["queue_max_packets"]) + 1.0;
            assert!(longest <= most, "{tcp}, {rate}, {keys}: {longest} packets");
            let goodput = number(&flow["goodput_mbps"]);
            assert!(goodput > 0.95 * mbit, "{tcp}, {rate}, {keys}: {goodput} Mbit/s");
        }
    }
    let found = own_link("cubic", "10 Mbit/s", "", "rules.small_queue = 'off'");
    assert!(number(&found["queues"]["own"]["queue_max_packets"]) > 500.0);
}

/// Where the sender's link drops packets, their memory is free as well.
#[test]
fn a_small_queue_forgets_what_its_link_drops() {
    let text = "name = 'hosts'\nduration = '20 s'\nwarmup = '0 s'\n[topology]\nkind = 'graph'\n[[link]]\nfrom = 'a'\nto = 'b'\n\
                rate = '10 Mbit/s'\ndelay = '20 ms'\nqueue = 'own'\nreverse = { rate = '1 Gbit/s', delay = '20 ms' }\n\
                [queue.own]\naqm = 'droptail'\nlimit = 4\n[[traffic]]\nkind = 'ftp'\ncount = 5\nfrom = 'a'\nto = 'b'\n\
                tcp = 'cubic'\nstack = 'rfc'\nsegment = 1448\nrules.small_queue = 'on'\n";
    let found = document(text);
    assert!(number(&found["queues"]["own"]["drop_rate"]) > 0.01);
    let sum: f64 = found["flows"].as_array().expect("flows").iter().map(|flow| number(&flow["goodput_mbps"])).sum();
    assert!(sum > 8.0, "{sum}");
}

const SAVED: &str = "rules.careful_resume = { saved_rtt = '100 ms', saved_cwnd = 833 }";

/// 10 MB over 100 Mbit/s and 0.1 s take 0.8 s at the link's rate.
#[test]
fn careful_resume_shortens_a_transfer() {
    for tcp in ["reno", "cubic", "dctcp"] {
        let traffic = format!("tcp = '{tcp}'\nrules.rack = true\nsize = '10 MB'\n");
        let go = |rules: &str| transfers("rate = '100 Mbit/s'", &traffic, rules).0[0];
        let [before, after] = ["rules.frto = 'off'", SAVED].map(go);
        assert!(after < 0.75 * before && after > 1.0, "{tcp}: {before} s, then {after} s");
    }
}

/// Each connection of a flow knows the one before.
#[test]
fn careful_resume_remembers_the_last_connection() {
    let traffic = "tcp = 'cubic'\nsize = '10 MB'\nnumber = 4\nthink = '1 s'\n";
    let (times, _) = transfers("rate = '100 Mbit/s'", traffic, "rules.careful_resume = 'on'");
    let (plain, _) = transfers("rate = '100 Mbit/s'", traffic, "rules.careful_resume = 'off'");
    let (first, later) = (times[3], times[2]);
    assert!((first - plain[3]).abs() < 1e-9, "sorted: the first is the longest, and no other than without");
    assert!(later < 0.8 * first, "{times:?}");
    let (same, _) =
        transfers("rate = '100 Mbit/s'", &format!("{traffic}connection = 'same'\n"), "rules.careful_resume = 'on'");
    let (kept, _) =
        transfers("rate = '100 Mbit/s'", &format!("{traffic}connection = 'same'\n"), "rules.careful_resume = 'off'");
    assert_eq!(same, kept, "no new connection, no jump");
}

/// A path with a fifth and a twentieth of the rate, and a buffer of its bandwidth-delay product: the jump loses segments,
/// the retreat gives way, no timeout follows, and the transfer takes no longer.
#[test]
fn careful_resume_retreats_from_a_smaller_path() {
    for tcp in ["reno", "cubic"] {
        for (rate, limit) in [(20, 166), (5, 41)] {
            let go = |rules: &str| {
                let found = document(&format!(
                    "name = 'hosts'\nduration = '60 s'\nwarmup = '0 s'\n[record]\ntransfers = true\n[topology]\n\
                     kind = 'dumbbell'\npairs = 1\naccess = {{ rate = '1 Gbit/s', delay = '0 s' }}\n\
                     bottleneck = {{ rate = '{rate} Mbit/s', delay = '50 ms' }}\n[queue.bottleneck]\naqm = 'droptail'\n\
                     limit = '{limit} packets'\n[[traffic]]\nkind = 'transfers'\nstack = 'rfc'\nsegment = 1448\n\
                     window = 4000\nstart = '0 s'\ntcp = '{tcp}'\nrules.rack = true\nsize = '10 MB'\n{rules}\n"
                ));
                let time = number(&found["traffic"][0]["transfers"]["times_s"][0]);
                (time, number(&found["flows"][0]["timeouts"]), number(&found["queues"]["bottleneck"]["drop_rate"]))
            };
            let ((plain, _, _), (time, timeouts, drops)) = (go("rules.frto = 'off'"), go(SAVED));
            assert!(drops > 0.0, "{tcp}, {rate} Mbit/s: the jump was too far");
            assert!(
                time < 1.02 * plain && timeouts == 0.0,
                "{tcp}, {rate} Mbit/s: {plain} s, {time} s, {timeouts} timeouts"
            );
        }
    }
}
