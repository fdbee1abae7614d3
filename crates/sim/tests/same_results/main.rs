//! Neither analytic links nor the event queue change a result: every run equals the all-stepped one, byte for byte and
//! packet for packet, on networks drawn at random; and in every run packets are conserved.

mod ahead;
mod draw;
mod graphs;
mod in_step;

use earlydrop_aqm::random::Generator;
use earlydrop_sim::engine::plan::{Mode, Plan};
use earlydrop_sim::engine::trace::QueueEvent;
use earlydrop_sim::engine::Outcome;
use earlydrop_sim::result;
use earlydrop_sim::run::{build, run, Events, Links};
use earlydrop_sim::scenario::{check, Doc, Record, Scenario};
use earlydrop_sim::shares::Share;
use earlydrop_sim::variation::Spread;
use serde_json::Value;

use draw::*;

/// The complete outcome without its cost: the document, and every event at the ports.
fn everything(scenario: &Scenario, mut outcome: Outcome) -> (String, Vec<QueueEvent>) {
    let events = events(&mut outcome);
    let mut document = result::document(scenario, scenario.seed, &outcome, 0.0);
    document.as_object_mut().expect("an object").shift_remove("cost");
    (serde_json::to_string(&document).expect("JSON"), events)
}

/// The events at the ports, taken out of the outcome: as text they take longer than the run.
fn events(outcome: &mut Outcome) -> Vec<QueueEvent> {
    let traces = outcome.ports.iter_mut().filter_map(|port| port.trace.as_mut());
    traces.flat_map(|trace| std::mem::take(&mut trace.events)).collect()
}

fn conserved(outcome: &Outcome, text: &str) {
    let sum = |row: &Vec<u64>| row.iter().sum::<u64>();
    // Rates include the warm-up.
    let measured_from_0 = text.contains("warmup = \"0 s\"");
    if let Some(rates) = outcome.rates.as_ref().filter(|_| measured_from_0) {
        let flow = &outcome.flows[0];
        let payload = flow.datagrams.map_or(u64::from(flow.in_order) * u64::from(flow.payload), |(_, bytes)| bytes);
        assert_eq!(sum(&rates.bytes()[0]), payload, "payload of the first flow of\n{text}");
    }
    for (flow, variation) in outcome.flows.iter().zip(&outcome.variations) {
        assert_eq!(variation.count(), u64::from(flow.received), "packets with a delay of\n{text}");
        let Some(spread) = Spread::of(std::iter::once(variation)) else { continue };
        assert!((spread.least + spread.pdv_mean - flow.delay_mean).abs() < 1e-9, "mean delay of\n{text}");
        // Delays have a resolution of 0.1 %.
        let cell = 1e-3 * (spread.least + spread.pdv.max() as f64 * 1e-6);
        assert!(spread.deviation <= spread.pdv.max() as f64 * 1e-6 + cell + 1e-6, "delays of\n{text}");
    }
    for (flow, losses) in outcome.flows.iter().zip(&outcome.flow_losses) {
        let (lost, all) = (losses.gaps.count(), u64::from(flow.drops + flow.lost));
        let without_feedback = flow.datagrams.is_some();
        assert!(lost == all || (lost < all && !without_feedback), "{lost} of {all} losses are of data, in\n{text}");
        let arrived = i64::from(flow.received) + lost as i64;
        assert!(
            losses.sent >= arrived || !measured_from_0,
            "{} sent, {arrived} arrived or lost, in\n{text}",
            losses.sent
        );
    }
    for port in &outcome.ports {
        let counts = &port.counters;
        assert_eq!(
            port.queued_at_start + counts.arrivals,
            counts.departures + counts.drops() + port.queued_at_end,
            "packets at {} of\n{text}",
            port.name
        );
        let Some(shares) = &port.shares else { continue };
        if let Some(rates) = port.rates.as_ref().filter(|_| measured_from_0) {
            assert_eq!(sum(&rates.bytes()[0]), shares.flows[0].departed_bytes, "rates at {} of\n{text}", port.name);
        }
        let all = shares.flows.iter().fold(Share::default(), Share::and);
        let counted = (counts.arrivals, counts.arrived_bytes, counts.departures, counts.departed_bytes, counts.drops());
        let shared = (all.arrivals, all.arrived_bytes, all.departures, all.departed_bytes, all.drops);
        assert_eq!(counted, shared, "shares of the flows at {} of\n{text}", port.name);
        assert!(all.marks <= counts.marks, "marks at {} of\n{text}", port.name);
        let waited = all.sojourn_sum / all.departures.max(1) as f64;
        assert!((waited - port.stats.mean_sojourn()).abs() < 1e-9, "sojourn times at {} of\n{text}", port.name);
    }
}

/// Runs a network in every way and compares the results. Returns its plan, and the number of packets.
fn agree(text: &str, scenario: &Scenario) -> (Plan, u64) {
    let network = build(scenario, scenario.seed).expect("a network");
    let decides: Vec<bool> = network.ports.iter().map(|port| port.kind.decides_at_enqueue()).collect();
    let plan = Plan::from_graph(&network, &decides);
    let mut packets = 0;
    let mut answers = Vec::new();
    for (links, events) in [
        (Links::Stepped, Events::Lanes),
        (Links::Auto, Events::Lanes),
        (Links::Auto, Events::Large),
        (Links::Auto, Events::Heap),
        (Links::Stepped, Events::Heap),
    ] {
        let outcome = run(scenario, scenario.seed, links, events).expect("runs");
        conserved(&outcome, text);
        packets += outcome.ports[0].counters.arrivals;
        answers.push((links, events, everything(scenario, outcome)));
    }
    recording_changes_nothing(text, scenario);
    for (links, events, answer) in &answers[1..] {
        let oracle = &answers[0].2;
        let first = oracle.1.iter().zip(&answer.1).find(|(a, b)| a != b);
        assert!(first.is_none(), "{links:?} {events:?} differs from all-stepped, first in {first:?}\n{text}");
        assert_eq!(oracle.1.len(), answer.1.len(), "{links:?} {events:?}\n{text}");
        assert_eq!(oracle.0, answer.0, "{links:?} {events:?}\n{text}");
    }
    (plan, packets)
}

/// Delay and loss measures from end to end, of flows and traffic entries, and at queues.
const END_TO_END: [&str; 18] = [
    "delay_min_ms",
    "delay_std_ms",
    "pdv_mean_ms",
    "pdv_p50_ms",
    "pdv_p95_ms",
    "pdv_p99_ms",
    "interarrival_jitter_ms",
    "interarrival_jitter_mean_ms",
    "data_sent",
    "data_lost",
    "loss_ratio",
    "loss_gap_mean_ms",
    "loss_gap_p50_ms",
    "loss_gap_p95_ms",
    "loss_gap_p99_ms",
    "loss_events",
    "loss_synchronisation",
    "flows_losing_mean",
];

fn remove_end_to_end(of: &mut Value) {
    let Value::Object(fields) = of else { panic!("{of} is an object") };
    fields.retain(|name, _| !END_TO_END.contains(&name.as_str()) && name != "loss_rtt_ms");
}

/// The same with and without recorded rates, delays and losses.
fn recording_changes_nothing(text: &str, scenario: &Scenario) {
    let without = Record { rates: None, jitter: false, delay_flows: vec![], losses: false, ..scenario.record.clone() };
    let (rates, rate_flows) = (Some(0.1), vec![1]);
    let with =
        Record { rates, rate_flows, jitter: true, delay_flows: vec![1], losses: true, ..scenario.record.clone() };
    let [without, with] = [without, with].map(|record| {
        let scenario = Scenario { record, ..scenario.clone() };
        let mut outcome = run(&scenario, scenario.seed, Links::Auto, Events::Lanes).expect("runs");
        let events = events(&mut outcome);
        let mut document = result::document(&scenario, scenario.seed, &outcome, 0.0);
        let document = document.as_object_mut().expect("an object");
        let rates = document.shift_remove("rates");
        document.shift_remove("delays");
        // Packets that may have been reordered arrive by events.
        document.shift_remove("cost");
        for list in ["flows", "traffic"] {
            document[list].as_array_mut().expect("a list").iter_mut().for_each(remove_end_to_end);
        }
        let queues = document["queues"].as_object_mut().expect("an object");
        queues.values_mut().for_each(remove_end_to_end);
        (rates.is_some(), serde_json::to_string(&document).expect("JSON"), events)
    });
    assert!(!without.0 && with.0);
    assert_eq!(without.1, with.1, "what is recorded of\n{text}");
    assert!(without.2 == with.2, "events of\n{text}");
}

fn rounds(usual: u64) -> u64 {
    std::env::var("EARLYDROP_NETWORKS").ok().and_then(|n| n.parse().ok()).unwrap_or(usual)
}

#[test]
fn every_way_to_run_a_network_gives_the_same_result() {
    let (mut analytic_ports, mut folds, mut early, mut fallen_back, mut mixed) = (0, 0, 0, 0, 0);
    let (mut ahead, mut packets, mut recorded) = (0, 0, 0);
    for number in 1..=rounds(40) {
        let (text, scenario) = scenario(number);
        let (plan, arrived) = agree(&text, &scenario);
        recorded += usize::from(scenario.record.jitter && scenario.record.losses && plan.count().0 > 0);
        let count = |mode: Mode| plan.modes.iter().filter(|&&m| m == mode).count();
        analytic_ports += count(Mode::AnalyticPort);
        folds += usize::from(count(Mode::Fold) > 0);
        early += usize::from(!plan.early.is_empty());
        fallen_back += usize::from(count(Mode::SteppedPort) > 0);
        mixed += usize::from(plan.count().0 > 0 && plan.count().1 > 0);
        ahead += usize::from(plan.answers_ahead);
        packets += arrived;
    }
    assert!(packets > 100_000, "the networks are alive: {packets}");
    let seen = (analytic_ports, folds, early, fallen_back, mixed, ahead, recorded);
    assert!(
        recorded > 7 && analytic_ports > 10 && folds > 10 && early > 5 && fallen_back >= 2 && mixed > 25 && ahead >= 1,
        "all kinds of plans occur: {seen:?}"
    );
}

#[test]
fn tcps_of_all_kinds_give_the_same_result_in_every_way() {
    let (mut folds, mut sack_folds, mut delayed, mut packets) = (0, 0, 0, 0);
    for number in 1..=rounds(30) {
        let (text, scenario) = scenario_of_tcps(number);
        let (plan, arrived) = agree(&text, &scenario);
        let folded = plan.modes.contains(&Mode::Fold);
        folds += usize::from(folded);
        sack_folds += usize::from(folded && text.contains("sack"));
        delayed += usize::from(text.contains("delayed_ack = true"));
        packets += arrived;
    }
    assert!(packets > 50_000, "the networks are alive: {packets}");
    let seen = (folds, sack_folds, delayed);
    assert!(folds > 10 && sack_folds > 5 && delayed > 5, "all kinds of plans occur: {seen:?}");
}

/// ACKs of many sizes, segments without payload when connections open, pacing and probe timers.
#[test]
fn the_stack_rfc_gives_the_same_result_in_every_way() {
    let (mut folds, mut ports, mut early, mut paced, mut delayed, mut packets) = (0, 0, 0, 0, 0, 0);
    for number in 1..=rounds(40) {
        let (text, scenario) = scenario_of_rfc(number);
        let (plan, arrived) = agree(&text, &scenario);
        let folded = plan.modes.contains(&Mode::Fold);
        folds += usize::from(folded);
        ports += usize::from(plan.modes.contains(&Mode::AnalyticPort));
        early += usize::from(!plan.early.is_empty());
        paced += usize::from(folded && (text.contains("pacing = true") || text.contains("bbr")));
        delayed += usize::from(folded && text.contains("delayed_ack = true"));
        packets += arrived;
    }
    assert!(packets > 100_000, "the networks are alive: {packets}");
    let seen = (folds, ports, early, paced, delayed);
    let planned = folds > 8 && ports > 5 && early > 0;
    assert!(planned && paced > 4 && delayed > 0, "all kinds of plans occur: {seen:?}");
}

/// The text without these rules.
fn without(text: &str, rules: &[&str]) -> String {
    let is_one = |line: &&str| rules.iter().any(|rule| line.starts_with(&format!("rules.{rule} = ")));
    text.lines().filter(|line| !is_one(line)).fold(String::new(), |all, line| all + line + "\n")
}

/// Receive offload, ACKs whose delay changes, bursts of other sizes, receive windows that move.
#[test]
fn rules_of_bursts_give_the_same_result_in_every_way() {
    let rules = [
        "rules.gro = \"1 ms\"\nrules.first_ack = \"at_once\"\nrules.ack_wait = \"adapts\"\n",
        "rules.gro = \"5 ms\"\nrules.late_sack = \"compressed\"\nrules.burst_size = \"autosized\"\n",
        "rules.burst_size = \"autosized\"\nrules.push_ack = \"at_once\"\nrules.ack_wait = \"adapts\"\n",
    ];
    let mut packets = 0;
    for number in 101..=100 + rounds(6) {
        let (text, _) = scenario_of_rfc(number);
        let text = without(&text, &["late_sack", "push_ack"]);
        let more =
            ["", "reading = { rate = \"1 Mbit/s\", pause = \"0.25 s\", every = \"1 s\" }\n"][number as usize % 2];
        let rules = format!("stack = \"rfc\"\n{more}{}", rules[number as usize % rules.len()]);
        let (text, scenario) = effective(number, text.replace("stack = \"rfc\"\n", &rules));
        packets += agree(&text, &scenario).1;
    }
    assert!(packets > 10_000, "the networks are alive: {packets}");
}

/// Receive windows that are autotuned, bounded queues at the senders' links, jumps to a saved window.
#[test]
fn rules_of_hosts_give_the_same_result_in_every_way() {
    let rules = [
        "rules.receive_window = { first = 6 }\n",
        "rules.small_queue = \"on\"\n",
        "rules.small_queue = \"on\"\nrules.receive_window = { share = 0.7 }\nrules.burst_size = \"autosized\"\n",
    ];
    let resume = "rules.careful_resume = { saved_rtt = \"30 ms\", saved_cwnd = 60 }\n";
    let (mut packets, mut planned) = (0, 0);
    for number in 201..=200 + rounds(12) {
        let (text, _) = scenario_of_rfc(number);
        let own = format!("stack = \"rfc\"\n{}", rules[number as usize % rules.len()]);
        let text = text.replace("stack = \"rfc\"\n", &own);
        // Slow start up to ssthresh is not for all TCPs.
        let entries = text.split("[[traffic]]").map(|entry| {
            let jumps = ["reno", "cubic", "dctcp"].iter().any(|tcp| entry.contains(&format!("tcp = \"{tcp}\"")));
            if jumps {
                entry.replace(&own, &format!("{own}{resume}"))
            } else {
                entry.to_string()
            }
        });
        let (text, scenario) = effective(number, entries.collect::<Vec<_>>().join("[[traffic]]"));
        let (plan, arrived) = agree(&text, &scenario);
        planned += usize::from(plan.count().0 > 0);
        packets += arrived;
    }
    assert!(packets > 20_000 && planned > 3, "the networks are alive: {packets}, and not all stepped: {planned}");
}

/// QUIC in networks drawn for the stack `rfc`.
#[test]
fn quic_gives_the_same_result_in_every_way() {
    let rules = [
        "",
        "rules = { ack_threshold = 5, reordering_threshold = 3 }\n",
        "rules = { initial_window = 4, delayed_ack = false }\n",
    ];
    let mut packets = 0;
    for number in 201..=200 + rounds(8) {
        let (text, _) = scenario_of_rfc(number);
        let mut kept = String::new();
        let mut skips = false;
        for line in text.lines() {
            skips &= !(line.is_empty() || line.starts_with('['));
            if line == "stack = \"rfc\"" {
                kept = kept.rsplit_once("tcp = ").map_or(kept.clone(), |(before, _)| before.to_string());
                let tcp = ["reno", "cubic", "bbr", "bbr3"][number as usize % 4];
                kept += &format!("tcp = \"{tcp}\"\nstack = \"quic\"\n{}", rules[number as usize % rules.len()]);
                skips = true;
            } else if !skips || line.starts_with("ecn = ") {
                kept += &format!("{line}\n");
            }
        }
        let scenario = Doc::from_toml(&kept, None).and_then(|doc| check(&doc, None));
        let scenario = scenario.unwrap_or_else(|e| panic!("{number}: {e}\n{kept}"));
        packets += agree(&kept, &scenario).1;
    }
    assert!(packets > 10_000, "the networks are alive: {packets}");
}

/// ACKs that reach a queue over folds exactly at its updates, and were sent when the updates were scheduled. Every time
/// is a multiple of 5 * 2^-14 s, so that all of them coincide to the last bit.
#[test]
fn updates_come_before_simultaneous_arrivals_in_every_way() {
    let mut folds = 0;
    for (receivers, bottleneck, aqm) in
        [(1, "0 s", "pi"), (1, "0.0003051757812500 s", "rem"), (2, "0 s", "rem"), (3, "0.00030517578125 s", "pi")]
    {
        let gains = if aqm == "pi" { "a = 0.9\nb = 0.5" } else { "gamma = 1\nphi = 3" };
        let (delay, tupdate) = (f64::from(receivers) * 5.0 / 16384.0, f64::from(1 + receivers) * 5.0 / 16384.0);
        let text = format!(
            "name = \"updates\"\nduration = \"3 s\"\nwarmup = \"0 s\"\n[record]\ntrace = 1000000\n\
             [topology]\nkind = \"dumbbell\"\npairs = 5\n\
             senders = {{ rate = \"1048576 bit/s\", delay = \"0.00244140625 s\" }}\n\
             receivers = {{ rate = \"1048576 bit/s\", delay = \"{delay} s\" }}\n\
             bottleneck = {{ rate = \"1048576 bit/s\", delay = \"{bottleneck}\" }}\n\
             reverse = {{ rate = \"262144 bit/s\", delay = \"0 s\" }}\n\
             [queue.bottleneck]\naqm = \"droptail\"\nlimit = 20\n\
             [queue.reverse]\naqm = \"{aqm}\"\nlimit = 20\ntupdate = \"{tupdate} s\"\nq_ref = 0.5\n{gains}\n\
             [[traffic]]\nkind = \"ftp\"\ncount = 5\nsegment = 40\nheader = 0\nstart = \"0 s\"\n"
        );
        let (text, scenario) = checked(0, text);
        let (plan, _) = agree(&text, &scenario);
        folds += usize::from(plan.modes.contains(&Mode::Fold));
    }
    assert_eq!(folds, 4);
}

/// A short packet that waited behind a long one, and one of another flow that did not wait, can reach their receivers
/// simultaneously. Their ACKs then meet in the order in which the packets were sent.
#[test]
fn a_short_packet_behind_a_long_one_keeps_its_place() {
    let text = "name = \"behind\"\nduration = \"3 s\"\nwarmup = \"1 s\"\nseed = 208\n[record]\ntrace = 1000000\n\
                [topology]\nkind = \"dumbbell\"\npairs = 45\n\
                access = { rate = \"4194304 bit/s\", delay = \"0.00390625 s\" }\n\
                bottleneck = { rate = \"1048576 bit/s\", delay = \"0.0003662109375 s\" }\n\
                reverse = { rate = \"134217728 bit/s\", delay = \"0.00164794921875 s\" }\n\
                [queue.bottleneck]\naqm = \"red\"\nlimit = \"60 packets\"\n\
                [[traffic]]\nkind = \"ftp\"\ncount = 45\nsegment = 88\nheader = 40\nstart = [\"0 s\", \"0.125 s\"]\n\
                [[traffic]]\nkind = \"ftp\"\ncount = 1\nsegment = 984\nheader = 40\nstart = \"2 s\"\n";
    let (text, scenario) = checked(0, text.to_string());
    agree(&text, &scenario);
}

/// ACKs at least as long as data wait at the links to their senders, so that two senders can answer in step after a
/// common instant; and a SYN may be the longest packet.
#[test]
fn long_acknowledgements_keep_their_order() {
    let mut ahead = 0;
    for segment in [20, 40, 41, 60, 80] {
        let text = format!(
            "name = \"long ACKs\"\nduration = \"3 s\"\nwarmup = \"0 s\"\nseed = 1278\n[record]\ntrace = 1000000\n\
             [topology]\nkind = \"dumbbell\"\npairs = 20\n\
             senders = {{ rate = \"8388608 bit/s\", delay = \"0.00390625 s\" }}\n\
             receivers = {{ rate = \"134217728 bit/s\", delay = \"0.00390625 s\" }}\n\
             bottleneck = {{ rate = \"8388608 bit/s\", delay = \"0 s\" }}\n\
             reverse = {{ rate = \"134217728 bit/s\", delay = \"0.0009765625 s\" }}\n\
             [queue.bottleneck]\naqm = \"nlred\"\nlimit = \"60 packets\"\nmin_th = 5\nmax_th = 15\n\
             dialect = \"linux\"\nw_q = 0.05\n\
             [[traffic]]\nkind = \"ftp\"\ncount = 20\nsegment = {segment}\nheader = 0\nstart = \"0 s\"\n"
        );
        let (text, scenario) = checked(0, text);
        let (plan, _) = agree(&text, &scenario);
        ahead += usize::from(plan.answers_ahead);
    }
    assert!(ahead >= 2, "some senders answer ahead of the time: {ahead}");
}
