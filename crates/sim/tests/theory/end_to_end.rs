//! End-to-end measures against hand computation: delay variation, distances between losses, flows that lose packets at
//! once, durations of transfers relative to the shortest possible.

use earlydrop_sim::result;
use earlydrop_sim::run::{run, Events, Links};
use earlydrop_sim::scenario::{check, Doc};
use serde_json::Value;

/// A packet of 1000 B takes 0.8 ms at hosts and 1.6 ms at the bottleneck; an ACK of 40 B 0.032 and 0.064 ms; the
/// propagation delay is 10 ms each way.
const DUMBBELL: &str = "name = 'end to end'\nduration = '10 s'\n[topology]\nkind = 'dumbbell'\npairs = 4\n\
    access = { rate = '10 Mbit/s', delay = '2 ms' }\nbottleneck = { rate = '5 Mbit/s', delay = '6 ms' }\n\
    [queue.bottleneck]\naqm = 'droptail'\nlimit = 1000\n";

fn document(text: &str) -> Value {
    let checked = Doc::from_toml(text, None).and_then(|doc| check(&doc, None));
    let scenario = checked.unwrap_or_else(|e| panic!("{e}\n{text}"));
    let outcome = run(&scenario, scenario.seed, Links::Auto, Events::Lanes).expect("runs");
    result::document(&scenario, scenario.seed, &outcome, 0.0)
}

fn dumbbell(record: &str, traffic: &str) -> Value {
    document(&format!("{DUMBBELL}[record]\n{record}{traffic}"))
}

/// A packet of 1000 B every `every_ms` milliseconds.
fn stream(every_ms: f64, start: &str) -> String {
    let rate = 8000.0 / every_ms;
    format!("[[traffic]]\nkind = 'cbr'\nrate = '{rate} kbit/s'\nsegment = 1000\nheader = 0\nstart = '{start}'\n")
}

fn number(value: &Value) -> f64 {
    value.as_f64().unwrap_or_else(|| panic!("a number, not {value}"))
}

fn near(value: &Value, wanted: f64, within: f64) {
    assert!((number(value) - wanted).abs() <= within, "{value}, not {wanted}");
}

/// Resolution of time stamps, ms.
const TICK: f64 = 3e-5;

#[test]
fn delays_alternate_between_two_values() {
    // Every second packet of the first flow meets one of the other that arrived at the bottleneck 0.4 ms before, and
    // waits 1.2 ms. Without that its delay is 0.8 + 1.6 + 0.8 + 10 ms. The last of a thousand packets, sent after 9.99
    // s, is still in flight at the end.
    let found = dumbbell("jitter = true\n", &(stream(10.0, "0 s") + &stream(20.0, "9.6 ms")));
    let flow = &found["flows"][0];
    assert_eq!(flow["received_packets"], 999);
    near(&flow["delay_min_ms"], 13.2, TICK);
    let late: f64 = 499.0 / 999.0;
    near(&flow["delay_std_ms"], 1.2 * (late * (1.0 - late)).sqrt(), TICK);
    near(&flow["pdv_mean_ms"], 1.2 * late, TICK);
    near(&flow["pdv_p50_ms"], 0.0, 0.004);
    near(&flow["pdv_p95_ms"], 1.2, 0.004);
    near(&flow["pdv_p99_ms"], 1.2, 0.004);
    // Each difference is 1.2 ms: after k of them J is 1.2 (1 - (15/16)^k); 998 values sum to (998 - 15) times 1.2.
    near(&flow["interarrival_jitter_ms"], 1.2, TICK);
    near(&flow["interarrival_jitter_mean_ms"], 1.2 * (1.0 - 15.0 / 998.0), TICK);
    let other = &found["flows"][1];
    near(&other["delay_std_ms"], 0.0, TICK);
    near(&other["pdv_p99_ms"], 0.0, 0.004);
    // A traffic entry of one flow has the same values; both entries are present.
    for field in ["delay_std_ms", "pdv_mean_ms", "pdv_p95_ms", "interarrival_jitter_mean_ms"] {
        assert_eq!(found["traffic"][0][field], flow[field], "{field}");
        assert_eq!(found["traffic"][1][field], other[field], "{field}");
    }
    assert_eq!(found["traffic"][0].get("interarrival_jitter_ms"), None);
}

#[test]
fn packets_never_received_have_no_delay() {
    let found = dumbbell("jitter = true\nlosses = true\n", &stream(10.0, "9.995 s"));
    for field in ["delay_min_ms", "delay_std_ms", "pdv_mean_ms", "pdv_p99_ms", "interarrival_jitter_ms"] {
        assert_eq!(found["flows"][0][field], Value::Null, "{field}");
    }
    assert_eq!(found["flows"][0]["loss_ratio"], 0.0);
    assert_eq!(found["flows"][0]["loss_gap_mean_ms"], Value::Null);
    assert_eq!(found["queues"]["bottleneck"]["loss_synchronisation"], Value::Null);
}

/// Packets are reordered on a link with jitter. That it is the last link must not hide that.
#[test]
fn jitter_goes_by_the_order_of_arrival() {
    let over = |to: &str, then: &str| {
        let text = format!(
            "name = 'x'\nduration = '100 s'\n[topology]\nkind = 'graph'\n\
             [[link]]\nname = 'x'\nfrom = 'a'\nto = '{to}'\nrate = '100 Mbit/s'\ndelay = '10 ms'\njitter = {{ uniform = ['0 s', '50 ms'], keep_order = false }}\n{then}\
             [record]\njitter = true\n{}from = 'a'\nto = 'b'\n",
            stream(10.0, "0 s")
        );
        number(&document(&text)["flows"][0]["interarrival_jitter_mean_ms"])
    };
    let last = over("b", "");
    let not_last = over("r", "[[link]]\nfrom = 'r'\nto = 'b'\nrate = '100 Gbit/s'\ndelay = '0 s'\n");
    assert!((last / not_last - 1.0).abs() < 1e-3, "{last} and {not_last}");
    // In the order of sending the mean difference of two delays is 50 / 3 ms, with a standard error of 0.2.
    assert!(last > 17.5, "{last}");
}

#[test]
fn every_tenth_packet_is_lost() {
    // 1000 packets, of which those sent at 95, 195, ... ms are lost.
    let text = "name = 'x'\nduration = '10 s'\n[topology]\nkind = 'graph'\n\
                [[link]]\nfrom = 'a'\nto = 'b'\nrate = '100 Mbit/s'\ndelay = '10 ms'\nloss = { every = 10 }\n\
                [record]\nlosses = true\n";
    let found = document(&format!("{text}{}from = 'a'\nto = 'b'\n", stream(10.0, "5 ms")));
    for of in [&found["flows"][0], &found["traffic"][0]] {
        assert_eq!((&of["data_sent"], &of["data_lost"], &of["loss_ratio"]), (&1000.into(), &100.into(), &0.1.into()));
        near(&of["loss_gap_mean_ms"], 100.0, 1e-9);
        near(&of["loss_gap_p50_ms"], 100.0, 0.1);
        near(&of["loss_gap_p99_ms"], 100.0, 0.1);
    }
}

/// All packets that a sender of finite transfers sends arrive at the queue, and all losses are counted, over several
/// connections and with a window that starts in the middle of one.
#[test]
fn packets_sent_and_lost_add_up() {
    for (tcp, connection) in [("reno", "new"), ("sack", "new"), ("newreno", "same")] {
        for warmup in ["0 s", "1 s"] {
            let text = DUMBBELL.replace("duration = '10 s'\n", &format!("duration = '60 s'\nwarmup = '{warmup}'\n"));
            let text = text.replace("limit = 1000", "limit = 6");
            let found = document(&format!(
                "{text}[record]\nlosses = true\nby_flow = true\n[[traffic]]\nkind = 'transfers'\ncount = 3\n\
                 size = '600 kB'\nnumber = 4\ntcp = '{tcp}'\nconnection = '{connection}'\n"
            ));
            assert_eq!(found["traffic"][0]["transfers"]["completed"], 12);
            for (flow, share) in (0..3).map(|i| (&found["flows"][i], &found["queues"]["bottleneck"]["flows"][i])) {
                let (sent, arrived) = (number(&flow["data_sent"]), number(&share["arrivals"]));
                // Packets between the sender and the queue when the window started.
                let tolerance = if warmup == "0 s" { 0.0 } else { 6.0 };
                assert!(
                    (0.0..=tolerance).contains(&(arrived - sent)),
                    "{tcp} {connection}: {sent} sent, {arrived} arrived"
                );
                assert_eq!(flow["data_lost"], share["drops"]);
                assert!(number(&flow["data_lost"]) > 0.0 && sent > 1000.0);
                assert_eq!(number(&flow["loss_ratio"]), number(&flow["data_lost"]) / sent);
            }
        }
    }
}

/// Every second, three packets arrive where one can wait: the third is dropped. A fourth flow's packet arrives 50 ms
/// later.
fn one_of_three_is_dropped(record: &str) -> Value {
    let text = DUMBBELL.replace("limit = 1000", "limit = 1");
    let streams = ["0 s", "0.1 ms", "0.2 ms", "50.2 ms"].map(|start| stream(1000.0, start)).concat();
    document(&format!("{text}[record]\nlosses = true\n{record}{streams}"))["queues"]["bottleneck"].clone()
}

#[test]
fn flows_that_lose_at_once_by_hand() {
    let queue = one_of_three_is_dropped("");
    assert_eq!((&queue["loss_events"], &queue["overflow_drops"]), (&10.into(), &10.into()));
    // No flow has feedback.
    assert_eq!(queue["loss_rtt_ms"], 100.0);
    assert_eq!((&queue["loss_synchronisation"], &queue["flows_losing_mean"]), (&0.5.into(), &1.0.into()));
    let queue = one_of_three_is_dropped("loss_rtt = '20 ms'\n");
    assert_eq!((&queue["loss_rtt_ms"], &queue["loss_events"]), (&20.0.into(), &10.into()));
    assert_eq!(queue["loss_synchronisation"], 1.0, "the fourth flow's packet comes after the event");
    let queue = one_of_three_is_dropped("loss_rtt = '2.5 s'\n");
    // Loss events start in the seconds 0, 3, 6 and 9; in each but the last all four flows have packets.
    assert_eq!(queue["loss_events"], 4);
    near(&queue["loss_synchronisation"], (0.25 + 0.25 + 0.25 + 0.5) / 4.0, 1e-12);
}

#[test]
fn a_loss_event_lasts_the_base_rtt_of_the_flows() {
    let tcp = "[[traffic]]\nkind = 'ftp'\ncount = 1\nsegment = 960\nheader = 40\n";
    let found = dumbbell("losses = true\n", &(tcp.to_string() + &stream(1000.0, "0 s")));
    near(&found["queues"]["bottleneck"]["loss_rtt_ms"], 0.8 + 1.6 + 0.8 + 10.0 + 0.032 + 0.064 + 0.032 + 10.0, 1e-9);
    // With a flow whose segments have half the transmission time.
    let short = "[[traffic]]\nkind = 'ftp'\ncount = 1\nsegment = 460\nheader = 40\n";
    let found = dumbbell("losses = true\n", &(tcp.to_string() + short));
    near(&found["queues"]["bottleneck"]["loss_rtt_ms"], 23.328 - 1.6 / 2.0, 1e-9);
}

#[test]
fn a_transfer_is_compared_with_the_empty_path() {
    let of = |more: &str| {
        dumbbell("", &format!("[[traffic]]\nkind = 'transfers'\ncount = 1\nsegment = 960\nheader = 40\n{more}"))
    };
    // Base RTT, and a second segment at the bottleneck. The connection opens in the time of two small packets.
    let (ideal, opening) = (23.328 + 1.6, 20.256);
    let found = of("size = '2 packets'\n");
    near(&found["flows"][0]["slowdown"], (opening + ideal) / ideal, 1e-9);
    let entry = &found["traffic"][0]["transfers"];
    for field in ["slowdown_mean", "slowdown_p50", "slowdown_p99", "slowdown_max"] {
        assert_eq!(entry[field], found["flows"][0]["slowdown"], "{field}");
    }
    // Completed at the receiver, it does not wait for the last ACK.
    let found = of("size = '2 packets'\ncompletion = 'received'\n");
    near(&found["flows"][0]["slowdown"], (opening + 13.2 + 1.6) / (13.2 + 1.6), 1e-9);
    // Over an open connection, with a window for all of it, no time is lost.
    let found = of("size = '2 packets'\nconnection = 'same'\nnumber = 3\n");
    let entry = &found["traffic"][0]["transfers"];
    near(&entry["slowdown_p50"], 1.0, 1e-9);
    near(&entry["slowdown_mean"], (2.0 + (opening + ideal) / ideal) / 3.0, 1e-9);
    assert_eq!(found["flows"][0]["slowdown"], Value::Null, "three are not one");
    // A transfer without data has no shortest duration.
    let found = of("size = 0\n");
    assert_eq!(found["traffic"][0]["transfers"]["completed"], 1);
    assert_eq!(
        (&found["flows"][0]["slowdown"], &found["traffic"][0]["transfers"]["slowdown_mean"]),
        (&Value::Null, &Value::Null)
    );
}

#[test]
fn a_request_is_part_of_the_ideal() {
    // 400 B take 0.32 + 0.64 + 0.32 + 10 ms on the reverse path, the first segment of the answer 13.2 ms, the second
    // 1.6 ms more. In the run the connection opens in between.
    let traffic = "[[traffic]]\nkind = 'requests'\ncount = 1\nsegment = 960\nheader = 40\nsize = '2 packets'\n\
                   request = '400 B'\nnumber = 1\n";
    let ideal = 11.28 + 13.2 + 1.6;
    near(&dumbbell("", traffic)["flows"][0]["slowdown"], (ideal + 20.256) / ideal, 1e-9);
}

#[test]
fn unequal_flows_have_a_coefficient_of_variation() {
    // 100 and 300 packets per second that all arrive: mean 200, deviation 100. Each entry has one flow.
    let network = DUMBBELL.replace("5 Mbit/s", "50 Mbit/s");
    let streams = stream(10.0, "0 s") + &stream(10.0 / 3.0, "0 s");
    let found = document(&format!("{network}{streams}"));
    near(&found["cov"], 0.5, 0.002);
    let jain = number(&found["jain"]);
    near(&found["cov"], (1.0 / jain - 1.0).sqrt(), 1e-9);
    assert_eq!(found["traffic"][0]["cov"], 0.0);
    let silent = document(&format!("{network}{}", stream(1000.0, "9.999 s")));
    assert_eq!(silent["cov"], Value::Null);
}
