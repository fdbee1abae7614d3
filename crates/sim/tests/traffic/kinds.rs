//! What flows do, kind by kind: when they send, how much, and when they are done.

use earlydrop_sim::engine::Outcome;
use earlydrop_sim::result;
use earlydrop_sim::run::{run, Events, Links};
use earlydrop_sim::scenario::{check, Doc, Scenario};
use serde_json::Value;

/// An ample dumbbell: a packet of 1000 B takes 0.8 ms at hosts and 1.6 ms at the bottleneck, 20 ms there and back.
const AMPLE: &str = "name = 'traffic'\nduration = '20 s'\n[topology]\nkind = 'dumbbell'\npairs = 4\n\
    access = { rate = '10 Mbit/s', delay = '2 ms' }\nbottleneck = { rate = '5 Mbit/s', delay = '6 ms' }\n\
    [queue.bottleneck]\naqm = 'droptail'\nlimit = 1000\n[record]\ntransfers = true\ntrace = 100000\n";

fn scenario(text: &str) -> Scenario {
    Doc::from_toml(text, None).and_then(|doc| check(&doc, None)).unwrap_or_else(|e| panic!("{e}\n{text}"))
}

fn outcome(scenario: &Scenario) -> Outcome {
    run(scenario, scenario.seed, Links::Auto, Events::Lanes).expect("runs")
}

/// The result of an ample dumbbell with this traffic.
fn ample(traffic: &str) -> Value {
    let scenario = scenario(&format!("{AMPLE}[[traffic]]\n{traffic}"));
    result::document(&scenario, scenario.seed, &outcome(&scenario), 0.0)
}

fn number(value: &Value) -> f64 {
    value.as_f64().unwrap_or_else(|| panic!("a number, not {value}"))
}

/// Data of `flow` that arrived at the bottleneck: time, sequence number, size.
fn arrivals(document: &Value, flow: u64) -> Vec<(f64, i64, u64)> {
    let rows = document["trace"]["events"].as_array().expect("a trace").iter();
    rows.filter(|row| row[1] == "+" && row[2] == flow)
        .map(|row| (number(&row[0]), row[3].as_i64().unwrap(), row[4].as_u64().unwrap()))
        .collect()
}

#[test]
fn a_transfer_ends_with_its_last_ack() {
    // The SYN (40 B) takes 2 * 0.032 + 0.064 ms, its ACK the same way back: 20.256 ms with 20 ms of delay. Then two segments
    // of 1000 B: the second waits 0.8 ms at the sender, both 1.6 ms at the bottleneck and 0.8 ms at the receiver.
    let document = ample("kind = 'transfers'\ncount = 1\nsegment = 960\nsize = '2 packets'\n");
    let entry = &document["traffic"][0]["transfers"];
    assert_eq!((&entry["begun"], &entry["completed"], &entry["completed_bytes"]), (&1.into(), &1.into(), &1920.into()));
    let ack = 3.0 * 0.032e-3 + 0.032e-3;
    let data = 0.8e-3 + 2.0 * 1.6e-3 + 0.8e-3 + 0.010 + ack + 0.010;
    let expected = 2.0 * ack + 0.020 + data;
    let time = number(&entry["time_mean_s"]);
    assert!((time - expected).abs() < 1e-9, "{time}, not {expected}");
    assert_eq!(number(&document["flows"][0]["completion_s"]), time);
    assert!((number(&entry["start_up_mean_s"]) - (2.0 * ack + 0.020)).abs() < 1e-9);
    assert_eq!(arrivals(&document, 1).iter().map(|row| row.1).collect::<Vec<_>>(), [0, 1, 2]);
}

#[test]
fn a_transfer_is_received_before_it_is_acknowledged() {
    let of = |completion: &str| {
        let document = ample(&format!("kind = 'transfers'\ncount = 1\nsize = '20 kB'\ncompletion = '{completion}'\n"));
        number(&document["traffic"][0]["transfers"]["time_mean_s"])
    };
    let ack = 0.010 + 3.0 * 0.032e-3 + 0.032e-3;
    assert!((of("acknowledged") - of("received") - ack).abs() < 1e-9);
}

#[test]
fn a_transfer_of_nothing_opens_the_connection() {
    let document = ample("kind = 'transfers'\ncount = 1\nsize = 0\n");
    let ack = 4.0 * 0.032e-3;
    assert!((number(&document["traffic"][0]["transfers"]["time_mean_s"]) - (2.0 * ack + 0.020)).abs() < 1e-9);
    assert_eq!(document["queues"]["bottleneck"]["arrivals"], 1);
    assert_eq!(document["traffic"][0]["transfers"]["start_up_mean_s"], Value::Null, "no data were ever sent");
}

#[test]
fn each_new_connection_starts_slowly_and_counts_from_zero() {
    let document = ample("kind = 'transfers'\ncount = 1\nsize = '10 packets'\nnumber = 3\nthink = '500 ms'\n");
    let arrivals = arrivals(&document, 1);
    let numbers: Vec<i64> = arrivals.iter().map(|row| row.1).collect();
    let one: Vec<i64> = (0..=10).collect();
    assert_eq!(numbers, [one.clone(), one.clone(), one].concat());
    let times = document["traffic"][0]["transfers"]["times_s"].as_array().expect("times");
    assert_eq!(times.len(), 3);
    for time in times {
        assert!((number(time) - number(&times[0])).abs() < 1e-9, "alike: {times:?}");
    }
    let gap = arrivals[11].0 - arrivals[0].0;
    assert!((gap - (number(&times[0]) + 0.5)).abs() < 1e-9, "the next begins after half a second: {gap}");
    assert_eq!(document["flows"][0]["completion_s"], Value::Null, "three times are no completion time");
}

#[test]
fn the_same_connection_keeps_its_window_and_its_numbers() {
    let document = ample("kind = 'transfers'\ncount = 1\nsize = '10 packets'\nnumber = 3\nconnection = 'same'\n");
    let numbers: Vec<i64> = arrivals(&document, 1).iter().map(|row| row.1).collect();
    assert_eq!(numbers, (0..=30).collect::<Vec<_>>());
    let times = document["traffic"][0]["transfers"]["times_s"].as_array().expect("times");
    assert!(number(&times[0]) < 0.6 * number(&times[2]), "the first had to open the window: {times:?}");
}

#[test]
fn a_server_sends_when_the_request_has_arrived() {
    let document = ample("kind = 'requests'\ncount = 1\nsize = '5 kB'\nrequest = '400 B'\nnumber = 2\nthink = '1 s'\n");
    let entry = &document["traffic"][0]["transfers"];
    assert_eq!((&entry["begun"], &entry["completed"]), (&2.into(), &2.into()));
    // 400 B on the way back: 0.32 ms at either host, 0.64 ms between; then the SYN goes the other way.
    let request = 0.010 + 2.0 * 0.32e-3 + 0.64e-3;
    let first = arrivals(&document, 1)[0];
    assert!((first.0 - (request + 0.002 + 0.032e-3)).abs() < 1e-9, "{first:?}");
    let times = entry["times_s"].as_array().expect("times");
    assert!(number(&times[0]) < number(&times[1]), "the second connection is open already: {times:?}");
    let begins = arrivals(&document, 1)[6].0 - first.0;
    // A segment takes 0.8 ms longer than the SYN at its sender.
    assert!((begins - (number(&times[0]) + 1.0 + 0.8e-3)).abs() < 1e-9, "a second after the answer: {begins}");
}

#[test]
fn a_lost_request_is_sent_again() {
    // Twelve clients ask at once over a slow way back that holds three packets.
    let text = AMPLE.replace("[record]", "[queue.reverse]\naqm = 'droptail'\nlimit = 3\n[record]");
    let text = text.replace("pairs = 4", "pairs = 12") + "[[traffic]]\nkind = 'requests'\nsize = '1 kB'\nnumber = 1\n";
    let scenario = scenario(&text);
    let document = result::document(&scenario, 1, &outcome(&scenario), 0.0);
    assert!(number(&document["queues"]["reverse"]["overflow_drops"]) > 5.0);
    let entry = &document["traffic"][0]["transfers"];
    assert_eq!((&entry["begun"], &entry["completed"]), (&12.into(), &12.into()));
    assert!(number(&entry["time_max_s"]) > 3.0 && number(&entry["time_min_s"]) < 1.0, "asked three times: {entry}");
}

#[test]
fn late_segments_of_a_closed_connection_are_not_taken_for_new_ones() {
    // Heavy loss, short transfers: retransmissions that were needless arrive after the connection was closed.
    let text = "name = 'late'\nduration = '60 s'\n[topology]\nkind = 'dumbbell'\npairs = 30\n\
        access = { rate = '10 Mbit/s', delay = '100 ms' }\nbottleneck = { rate = '1 Mbit/s', delay = '10 ms' }\n\
        [queue.bottleneck]\naqm = 'droptail'\nlimit = 60\n[[traffic]]\nkind = 'transfers'\nsize = '7 packets'\nnumber = 'endless'\n";
    let scenario = scenario(text);
    let outcome = outcome(&scenario);
    let completed = outcome.transfers[0].times.len() as u64;
    let in_order: u64 = outcome.flows.iter().map(|flow| u64::from(flow.in_order)).sum();
    let unfinished = outcome.transfers[0].begun - completed;
    assert!(completed > 500 && outcome.flows.iter().any(|flow| flow.timeouts > 0), "{completed}");
    // Every transfer has delivered its seven segments, each once, and those at hand no more.
    assert!(
        (7 * completed..=7 * (completed + unfinished)).contains(&in_order),
        "{in_order} segments, {completed} transfers"
    );
}

#[test]
fn a_late_syn_is_no_duplicate_ack_for_the_next_connection() {
    // A round trip takes 4 s and a SYN is sent again after 3: when the first has been answered, the second is on its way.
    let text = AMPLE.replace("delay = '2 ms'", "delay = '994 ms'").replace("duration = '20 s'", "duration = '400 s'");
    let scenario = scenario(&format!(
        "{text}[[traffic]]\nkind = 'transfers'\ncount = 1\nsize = {{ sample = [0, '3 kB'] }}\nnumber = 'endless'\n"
    ));
    let document = result::document(&scenario, 1, &outcome(&scenario), 0.0);
    let rows = arrivals(&document, 1);
    let (mut opened, mut with_data) = (rows[0].0, 0);
    for two in rows.windows(2) {
        let (before, row) = (two[0], two[1]);
        if row.1 == 0 && (before.1 > 0 || row.0 - opened > 3.5) {
            opened = row.0;
        }
        if row.1 == 1 {
            with_data += 1;
            assert!(row.0 - opened > 3.9, "data {} s after the SYN, which cannot have been answered", row.0 - opened);
        }
    }
    assert!(with_data > 15, "{with_data}");
}

#[test]
fn a_crowd_waits_for_its_connections() {
    let web = "kind = 'web'\nsession_gap = '1 s'\nsize = { pareto = '12 kB', shape = 1.2, max = '200 kB' }\n";
    let few = ample(&format!("{web}count = 4\n"));
    let many = ample(&format!("{web}count = 400\n"));
    let (few, many) = (&few["traffic"][0]["transfers"], &many["traffic"][0]["transfers"]);
    assert!(number(&few["waited"]) > 10.0, "{few}");
    assert_eq!(many["waited"], 0);
    assert!(number(&few["time_mean_s"]) > number(&many["time_mean_s"]), "{few}\n{many}");
    assert!(number(&many["begun"]) > 100.0, "a session a second, twenty objects each, twenty seconds: {many}");
}

#[test]
fn the_other_direction_loads_the_other_queue() {
    let text = AMPLE.replace("[record]", "[queue.reverse]\naqm = 'droptail'\nlimit = 20\n[record]");
    let of = |direction: &str| {
        let scenario = scenario(&format!("{text}[[traffic]]\nkind = 'ftp'\ndirection = '{direction}'\n"));
        let document = result::document(&scenario, 1, &outcome(&scenario), 0.0);
        ["bottleneck", "reverse"].map(|name| number(&document["queues"][name]["arrived_bytes"]))
    };
    let ([ahead, acks], [other_acks, back]) = (of("forward"), of("reverse"));
    assert!(ahead > 20.0 * acks && back > 20.0 * other_acks);
}

#[test]
fn chosen_pairs_carry_the_flows() {
    let text = AMPLE.replace("delay = '2 ms'", "delay = ['2 ms', '3 ms', '50 ms', '2 ms']");
    let scenario = scenario(&format!("{text}[[traffic]]\nkind = 'transfers'\nsize = 0\ncount = 3\npairs = [3, 1]\n"));
    let document = result::document(&scenario, 1, &outcome(&scenario), 0.0);
    let time = |i: usize| number(&document["flows"][i]["completion_s"]);
    assert!(time(0) > 0.2 && time(1) < 0.1);
    assert!((time(0) - time(2)).abs() < 1e-3, "the same pair");
}

#[test]
fn sources_without_feedback_send_at_their_rates_and_in_their_sizes() {
    let cbr = ample("kind = 'cbr'\nrate = '800 kbit/s'\nsegment = { mix = [['40 B', 1], ['1472 B', 1]] }\nheader = 28\nstop = '10 s'\n");
    assert!((number(&cbr["flows"][0]["throughput_mbps"]) - 0.4).abs() < 0.02, "half of the time: {}", cbr["flows"]);
    let sizes: std::collections::BTreeSet<u64> = arrivals(&cbr, 1).iter().map(|row| row.2).collect();
    assert_eq!(sizes.into_iter().collect::<Vec<_>>(), [68, 1500]);
    assert!(arrivals(&cbr, 1).last().is_some_and(|row| row.0 < 10.1));

    let video = ample("kind = 'video'\n");
    let rows = arrivals(&video, 1);
    assert_eq!(rows[..7].iter().map(|row| row.2).collect::<Vec<_>>(), [1344, 1344, 1344, 1344, 1344, 948, 1344]);
    assert!((rows[6].0 - rows[0].0 - 0.04).abs() < 1e-9);
    assert!(
        (3000.0..=3006.0).contains(&number(&video["flows"][0]["packets_sent"])),
        "25 frames a second, 6 packets each"
    );

    let voip = ample("kind = 'voip'\noff = '0 s'\n");
    assert!((number(&voip["flows"][0]["throughput_mbps"]) - 0.064).abs() < 0.001);
    assert!(arrivals(&voip, 1).windows(2).all(|two| (two[1].0 - two[0].0 - 0.02).abs() < 1e-9));

    let onoff = ample("kind = 'onoff'\nrate = '1 Mbit/s'\nsegment = 1000\non = '50 ms'\noff = '50 ms'\ncount = 20\n");
    let total = number(&onoff["throughput_total_mbps"]);
    assert!(total > 3.5 && total <= 5.0, "ten of twenty at a time: {total}");
}

#[test]
fn starts_follow_their_law() {
    let starts = |start: &str| -> Vec<f64> {
        let document = ample(&format!("kind = 'transfers'\nsize = 0\ncount = 200\nstart = {start}\n"));
        document["flows"].as_array().unwrap().iter().map(|flow| number(&flow["start_s"])).collect()
    };
    assert_eq!(starts("{ every = '100 ms', from = '1 s' }")[..3], [1.0, 1.1, 1.2]);
    let poisson = starts("{ poisson = '50 ms' }");
    assert!(poisson.windows(2).all(|two| two[0] < two[1]));
    // 200 exponential gaps: the last lies within 3.3 standard errors (0.7 s each) of 10 s.
    assert!((poisson[199] - 10.0).abs() < 2.4, "{}", poisson[199]);
    let drawn = starts("{ exponential = '1 s' }");
    assert!(drawn.windows(2).any(|two| two[0] > two[1]), "each by itself");
}

#[test]
fn packets_have_their_class() {
    // Weighted round robin gives the classes their weights.
    let text = AMPLE.replace("aqm = 'droptail'", "aqm = 'wrr'\nweight_0 = 1\nweight_1 = 3");
    let traffic = ["", "class = 1\n"].map(|class| format!("[[traffic]]\nkind = 'cbr'\nrate = '5 Mbit/s'\n{class}"));
    let scenario = scenario(&format!("{text}{}", traffic.concat()));
    let document = result::document(&scenario, 1, &outcome(&scenario), 0.0);
    let ratio = number(&document["flows"][1]["goodput_mbps"]) / number(&document["flows"][0]["goodput_mbps"]);
    assert!((ratio - 3.0).abs() < 0.05, "{ratio}");
}

#[test]
fn sixty_five_thousand_flows_share_one_path() {
    let text = AMPLE.replace("pairs = 4", "pairs = 1").replace("duration = '20 s'", "duration = '2 s'");
    let text =
        text.replace("'5 Mbit/s', delay = '6 ms'", "'1 Gbit/s', delay = '6 ms'").replace("'10 Mbit/s'", "'10 Gbit/s'");
    let text = text.replace("trace = 100000\n", "").replace("limit = 1000", "limit = 100000");
    let scenario = scenario(&format!("{text}[[traffic]]\nkind = 'transfers'\nsize = '1 packet'\ncount = 65536\nstart = {{ uniform = ['0 s', '500 ms'] }}\n"));
    let outcome = outcome(&scenario);
    assert_eq!((outcome.transfers[0].begun, outcome.transfers[0].times.len()), (65_536, 65_536));
    assert!(outcome.flows.iter().all(|flow| flow.in_order == 1), "each has its own");
}

#[test]
fn a_packet_larger_than_a_queue_in_bytes_is_refused_or_dropped() {
    let text = AMPLE.replace("limit = 1000", "limit = '1200 B'");
    let refused = |traffic: &str| {
        let doc = Doc::from_toml(&format!("{text}[[traffic]]\n{traffic}"), None).expect("TOML");
        check(&doc, None).expect_err(traffic).to_string()
    };
    let expected = "queue.bottleneck.limit: holds no packet of this scenario\n  given 1200 B; allowed at least 1500 B, traffic[0].segment and its header";
    assert_eq!(refused("kind = 'ftp'\nsegment = 1460\n"), expected);
    assert_eq!(refused("kind = 'cbr'\nrate = '1 Mbit/s'\nsegment = { mix = [[40, 9], [1500, 1]] }\n"), expected);
    // Sizes without a bound: what is too large is dropped, the rest passes.
    let scenario = scenario(&format!(
        "{text}[[traffic]]\nkind = 'poisson'\nrate = '1 Mbit/s'\nsegment = {{ exponential = '600 B' }}\n"
    ));
    let document = result::document(&scenario, 1, &outcome(&scenario), 0.0);
    let queue = &document["queues"]["bottleneck"];
    assert!(number(&queue["overflow_drops"]) > 0.1 * number(&queue["arrivals"]));
    assert!(number(&queue["departures"]) > 0.5 * number(&queue["arrivals"]));
    assert!(arrivals(&document, 1).iter().any(|row| row.2 > 1200));
}

#[test]
fn a_warm_up_cuts_counts_and_not_transfers() {
    let text = AMPLE.replace("duration = '20 s'", "duration = '20 s'\nwarmup = '10 s'");
    let scenario =
        scenario(&format!("{text}[[traffic]]\nkind = 'transfers'\nsize = '30 packets'\nnumber = 'endless'\n"));
    let outcome = outcome(&scenario);
    let completed: u32 =
        outcome.flows.iter().filter_map(|flow| flow.transfers).map(|transfers| transfers.completed).sum();
    assert_eq!(completed as usize, outcome.transfers[0].times.len());
    let rate = 8000.0 * f64::from(outcome.flows.iter().map(|flow| flow.in_order).sum::<u32>()) / 10.0;
    let bytes = 8.0 * outcome.transfers[0].bytes as f64 / 10.0;
    assert!((rate / bytes - 1.0).abs() < 0.05, "{rate} and {bytes} bit/s");
}
