//! How links are run and how events are kept changes no result: every run equals the all-stepped one, byte for byte,
//! packet for packet, on networks drawn at random; and in every run packets are conserved.

#[path = "same_results/graphs.rs"]
mod graphs;

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

/// Draws from lists.
struct Draw(Generator);

impl Draw {
    fn index(&mut self, n: usize) -> usize {
        (self.0.uniform() * n as f64) as usize
    }

    fn of<'a>(&mut self, words: &[&'a str]) -> &'a str {
        words[self.index(words.len())]
    }

    fn more_of_the_first<'a>(&mut self, words: &[&'a str]) -> &'a str {
        words[self.index(words.len() + 4).saturating_sub(4)]
    }
}

/// What a network is drawn from.
struct Choices {
    rates: &'static [&'static str],
    bottlenecks: &'static [&'static str],
    reverse_rates: &'static [&'static str],
    /// Of access links; the first is drawn more often than the others.
    delays: &'static [&'static str],
    bottleneck_delays: &'static [&'static str],
    reverse_delays: &'static [&'static str],
    starts: &'static [&'static str],
    /// Payload and header, bytes.
    sizes: &'static [(&'static str, &'static str)],
    tupdates: &'static [&'static str],
}

/// Rates in simple ratios, delays in whole milliseconds or as long as transmissions take, so that events coincide often.
const DECIMAL: Choices = Choices {
    rates: &["1 Mbit/s", "5 Mbit/s", "10 Mbit/s", "100 Mbit/s"],
    bottlenecks: &["1 Mbit/s", "5 Mbit/s", "10 Mbit/s"],
    reverse_rates: &["1 Mbit/s", "10 Mbit/s", "1 Gbit/s"],
    delays: &[
        "\"5 ms\"",
        "[\"1 ms\", \"2 ms\", \"5 ms\"]",
        "{ uniform = [\"1 ms\", \"20 ms\"] }",
        "\"0 s\"",
        "\"210 ms\"",
        "\"32 us\"",
        "\"1.6 ms\"",
    ],
    bottleneck_delays: &["10 ms", "1 ms", "0 s", "0.8 ms", "32 us", "7.2 ms"],
    reverse_delays: &["0 s", "1 ms", "32 us"],
    starts: &["\"0 s\"", "{ uniform = [\"0 s\", \"1 s\"] }", "[\"0 s\", \"100 ms\"]"],
    sizes: &[("1000", "40"), ("960", "40"), ("40", "40"), ("1460", "40"), ("40", "0"), ("20", "0")],
    tupdates: &["2 ms", "0.8 ms", "1.6 ms", "8 ms", "9.6 ms", "5 ms", "5.882352941176471 ms"],
};

/// Every time a small multiple of a power of two: no sum is ever rounded, and what can coincide does, to the last bit, also
/// with the updates of a discipline. 1024 B take 2^-7 s at the slowest rate, an acknowledgement 5 * 2^-14 s.
const BINARY: Choices = Choices {
    rates: &["1048576 bit/s", "4194304 bit/s", "8388608 bit/s", "134217728 bit/s"],
    bottlenecks: &["1048576 bit/s", "4194304 bit/s", "8388608 bit/s"],
    reverse_rates: &["1048576 bit/s", "8388608 bit/s", "134217728 bit/s"],
    delays: &[
        "\"0.00390625 s\"",
        "[\"0.0009765625 s\", \"0.001953125 s\"]",
        "\"0 s\"",
        "\"0.00030517578125 s\"",
        "\"0.25 s\"",
    ],
    bottleneck_delays: &["0.0078125 s", "0 s", "0.0009765625 s", "0.0003662109375 s"],
    reverse_delays: &["0 s", "0.0009765625 s", "0.00164794921875 s"],
    starts: &["\"0 s\"", "[\"0 s\", \"0.125 s\"]"],
    sizes: &[("984", "40"), ("472", "40"), ("88", "40"), ("40", "0"), ("20", "0")],
    tupdates: &[
        "0.001953125 s",
        "0.0009765625 s",
        "0.0078125 s",
        "0.00030517578125 s",
        "0.00390625 s",
        "0.0048828125 s",
    ],
};

/// A dumbbell drawn at random, with packets of several sizes, which overtake each other's acknowledgements.
fn scenario(number: u64) -> (String, Scenario) {
    checked(number, drawn(number))
}

/// The same with TCPs of all kinds: up to three share the flows of an entry, with options of their own.
fn scenario_of_tcps(number: u64) -> (String, Scenario) {
    let mut draw = Draw(Generator::stream(number, "test.same_results.tcps"));
    let drawn = drawn(number);
    let mut entries = drawn.split("\n[[traffic]]\n");
    let mut text = entries.next().expect("the network").to_string();
    if draw.index(2) == 0 {
        text = text.replace("\nlimit = ", "\necn = true\nlimit = ");
    }
    for entry in entries {
        let Some(count) = entry.strip_prefix("kind = \"ftp\"\ncount = ") else {
            text += &format!("\n[[traffic]]\n{entry}");
            continue;
        };
        let (count, rest) = count.split_once('\n').expect("more keys");
        let mut left: usize = count.parse().expect("a number");
        while left > 0 {
            let count = if left < 3 { left } else { 1 + draw.index(left) };
            left -= count;
            let tcp = draw.of(&["tahoe", "reno", "newreno", "sack", "sack", "vegas"]);
            text += &format!("\n[[traffic]]\nkind = \"ftp\"\ncount = {count}\ntcp = \"{tcp}\"\n{rest}\n");
            if tcp != "vegas" {
                text += &format!("ecn = {}\n", draw.of(&["true", "false"]));
            }
            text += &format!("limited_transmit = {}\n", draw.of(&["true", "true", "false"]));
            text += draw.of(&["", "", "min_rto = \"1 s\"\n"]);
            // Also as long as links' delays.
            text += &format!("delayed_ack = {}\n", draw.of(&["false", "false", "true", "\"5 ms\"", "\"0.25 s\""]));
            text += &format!("window = {}\n", draw.of(&["1000", "1000", "6"]));
        }
    }
    checked(number, text)
}

/// The same with TCP's `rfc` profile: every congestion control, with options of all kinds, and some flows of ns-2's beside
/// them.
fn scenario_of_rfc(number: u64) -> (String, Scenario) {
    let mut draw = Draw(Generator::stream(number, "test.same_results.rfc"));
    let drawn = drawn(number);
    let mut entries = drawn.split("\n[[traffic]]\n");
    let mut text = entries.next().expect("the network").to_string();
    if draw.index(2) == 0 {
        text = text.replace("\nlimit = ", "\necn = true\nlimit = ");
    }
    // All flows of an entry are alike in half of the networks: the others have more sizes of packets.
    let alike = draw.index(2) == 0;
    for entry in entries {
        let Some(count) = entry.strip_prefix("kind = \"ftp\"\ncount = ") else {
            text += &format!("\n[[traffic]]\n{entry}");
            continue;
        };
        let (count, rest) = count.split_once('\n').expect("more keys");
        let mut left: usize = count.parse().expect("a number");
        while left > 0 {
            let count = if left < 3 || alike { left } else { 1 + draw.index(left) };
            left -= count;
            text += &format!("\n[[traffic]]\nkind = \"ftp\"\ncount = {count}\n{rest}\n{}", rfc_keys(&mut draw));
        }
    }
    checked(number, text)
}

/// Keys of a traffic entry, of the profile `rfc` but for one in ten.
fn rfc_keys(draw: &mut Draw) -> String {
    if draw.index(10) == 0 {
        return format!("tcp = \"{}\"\nprofile = \"ns2\"\n", draw.of(&["reno", "sack"]));
    }
    let tcp = draw.of(&["reno", "reno", "newreno", "sack", "cubic", "cubic", "dctcp", "bbr", "ledbat", "prague"]);
    let mut text = format!("tcp = \"{tcp}\"\nprofile = \"rfc\"\n");
    // Also as long as links' delays.
    text += &format!("delayed_ack = {}\n", draw.more_of_the_first(&["false", "true", "\"5 ms\"", "\"0.25 s\""]));
    text += &format!("window = {}\n", draw.of(&["1000", "1000", "6", "\"5000 B\""]));
    text += &format!("min_rto = \"{}\"\n", draw.of(&["1 s", "0.2 s", "5 ms"]));
    if tcp != "ledbat" {
        text += &format!("timestamps = {}\n", draw.of(&["true", "false"]));
    }
    if !matches!(tcp, "bbr" | "prague") {
        text += &format!("pacing = {}\n", draw.of(&["true", "false", "false"]));
    }
    if tcp != "newreno" {
        text += &format!("rack = {}\n", draw.of(&["true", "false", "false"]));
    }
    text += &format!("ecn = {}\n", draw.of(&["true", "false"]));
    text += draw.of(&["", "", "initial_window = 1\n", "pacing_burst = 4\n", "send_pairs = true\n"]);
    text += draw.of(&["", "", "growth = \"arrived\"\nssthresh = \"cwnd\"\nprr = \"safe_ack\"\n"]);
    text += draw.of(&["", "", "hystart = true\n", "backoff_until = \"ack\"\n", "limited_transmit = false\n"]);
    text += draw.of(&[
        "",
        "",
        "rules = { late_sack = \"compressed\" }\n",
        "rules = { push_ack = \"at_once\", idle_timer = \"runs\", recovery_start = \"second\" }\n",
    ]);
    text
}

fn drawn(number: u64) -> String {
    let mut draw = Draw(Generator::stream(number, "test.same_results"));
    let of = if draw.index(3) == 0 { &BINARY } else { &DECIMAL };
    let flows = [1, 2, 3, 7, 20, 45][draw.index(6)];
    let (aqm, limit) = (draw.of(&AQMS), [5, 20, 60][draw.index(3)]);
    let mut text = format!(
        "name = \"drawn {number}\"\nduration = \"3 s\"\nwarmup = \"{}\"\nseed = {number}\n\n[record]\ntrace = 1000000\nby_flow = true\n\
         series = \"100 ms\"\n\n[topology]\nkind = \"dumbbell\"\npairs = {}\n\
         senders = {{ rate = \"{}\", delay = {} }}\nreceivers = {{ rate = \"{}\", delay = {} }}\n\
         bottleneck = {{ rate = \"{}\", delay = \"{}\" }}\n",
        draw.of(&["0 s", "1 s"]),
        if draw.index(4) == 0 { 1.max(flows / 2) } else { flows },
        draw.of(of.rates),
        draw.more_of_the_first(of.delays),
        draw.of(of.rates),
        draw.more_of_the_first(of.delays),
        draw.of(of.bottlenecks),
        draw.of(of.bottleneck_delays),
    );
    if draw.index(4) == 0 {
        let (rate, delay) = (draw.of(of.reverse_rates), draw.of(of.reverse_delays));
        text += &format!("reverse = {{ rate = \"{rate}\", delay = \"{delay}\" }}\n");
    }
    text += &format!("\n[queue.bottleneck]\naqm = \"{aqm}\"\nlimit = \"{limit} packets\"\n");
    text += &parameters(&mut draw, of, aqm);
    if draw.index(4) == 0 {
        let aqm = draw.of(&["droptail", "red", "rem", "pi"]);
        text += &format!("\n[queue.reverse]\naqm = \"{aqm}\"\nlimit = \"20 packets\"\n");
        if aqm != "red" {
            text += &parameters(&mut draw, of, aqm);
        }
    }
    let start = draw.of(of.starts);
    let mut transfer = |count: usize, start: &str| {
        let (segment, header) = of.sizes[draw.index(of.sizes.len())];
        text += &format!(
            "\n[[traffic]]\nkind = \"ftp\"\ncount = {count}\nsegment = {segment}\nheader = {header}\nstart = {start}\n"
        );
        draw.index(4)
    };
    // A second kind of packet on the same hosts in a quarter of the networks, one late flow in another.
    match transfer(flows, start) {
        0 => transfer(flows, "\"0 s\""),
        1 => transfer(1, "\"2 s\""),
        _ => 0,
    };
    // And one that does not slow down in a third, at intervals as long as transmissions take.
    if draw.index(3) == 0 {
        text += &format!(
            "\n[[traffic]]\nkind = \"cbr\"\ncount = {}\nrate = \"{}\"\nsegment = {}\nstart = {start}\n",
            1 + draw.index(2),
            draw.of(&["1 Mbit/s", "500 kbit/s", "5 Mbit/s"]),
            draw.of(&["1000", "1040", "40"]),
        );
    }
    text
}

const AQMS: [&str; 9] = ["droptail", "red", "nlred", "tred", "rem", "pi", "pid", "avq", "yellow"];

/// Parameters of a queue, such that its discipline has something to do within seconds.
fn parameters(draw: &mut Draw, of: &Choices, aqm: &str) -> String {
    // Updates as often as packets take to be sent or a link to be passed, so that they coincide with arrivals.
    let tupdate = draw.of(of.tupdates);
    let dialect = draw.of(&["paper", "ns2"]);
    let q_ref = draw.of(&["2", "8", "25"]);
    match aqm {
        "droptail" => String::new(),
        "rem" => {
            let (mode, unit) = (draw.of(&["drop", "drop", "mark"]), draw.of(&["packet", "byte"]));
            format!(
                "gamma = 0.02\nphi = 1.01\nq_ref = {q_ref}\ntupdate = \"{tupdate}\"\nmode = \"{mode}\"\n\
                 unit = \"{unit}\"\ndialect = \"{dialect}\"\n"
            )
        }
        "pi" => format!("a = 0.002\nb = 0.0018\nq_ref = {q_ref}\ntupdate = \"{tupdate}\"\ndialect = \"{dialect}\"\n"),
        "pid" => format!("k_p = 0.001\nt_i = \"50 ms\"\nt_d = \"10 ms\"\nq_ref = {q_ref}\ntupdate = \"{tupdate}\"\n"),
        "avq" => format!("victim = \"{}\"\ndialect = \"{dialect}\"\n", draw.of(&["arrival", "arrival", "front"])),
        "yellow" => format!("step = 0.01\nq_ref = {q_ref}\ntupdate = \"{tupdate}\"\n"),
        _ => {
            let (low, high) = [(2, 6), (5, 15), (20, 50)][draw.index(3)];
            let dialect = draw.of(&["paper", "ns2", "ns3", "linux"]);
            let w_q = draw.of(&["0.002", "0.05"]);
            format!("min_th = {low}\nmax_th = {high}\ndialect = \"{dialect}\"\nw_q = {w_q}\n")
        }
    }
}

fn checked(number: u64, mut text: String) -> (String, Scenario) {
    if number % 2 == 1 {
        // Intervals of many begins and ends of transmissions, and others.
        let interval = ["0.125 s", "100 ms", "130 ms"][number as usize / 2 % 3];
        let rates = format!("[record]\nrates = \"{interval}\"\nrate_flows = [1]\nrate_queues = \"all\"\n");
        text = text.replace("[record]\n", &rates);
    }
    // Receivers whose delays are recorded are run in another way than plain ones.
    if number % 3 == 2 {
        text = text.replace("[record]\n", "[record]\njitter = true\nlosses = true\n");
    }
    let doc = Doc::from_toml(&text, None).unwrap_or_else(|e| panic!("{number}: {e}\n{text}"));
    let scenario = check(&doc, None).unwrap_or_else(|e| panic!("{number}: {e}\n{text}"));
    (text, scenario)
}

/// Everything a run tells, without its cost: the document, and every event at the ports.
fn everything(scenario: &Scenario, outcome: &Outcome) -> (String, Vec<QueueEvent>) {
    let mut document = result::document(scenario, scenario.seed, outcome, 0.0);
    document.as_object_mut().expect("an object").shift_remove("cost");
    let events = outcome.ports.iter().filter_map(|port| port.trace.as_ref()).flat_map(|trace| trace.events.clone());
    (serde_json::to_string(&document).expect("JSON"), events.collect())
}

fn conserved(outcome: &Outcome, text: &str) {
    let sum = |row: &Vec<u64>| row.iter().sum::<u64>();
    // Rates count the warm-up too.
    let measured_from_0 = text.contains("warmup = \"0 s\"");
    if let Some(rates) = outcome.rates.as_ref().filter(|_| measured_from_0) {
        let flow = &outcome.flows[0];
        let payload = flow.unasked.map_or(u64::from(flow.in_order) * u64::from(flow.spec.payload), |(_, bytes)| bytes);
        assert_eq!(sum(&rates.bytes()[0]), payload, "payload of the first flow of\n{text}");
    }
    for (flow, variation) in outcome.flows.iter().zip(&outcome.variations) {
        assert_eq!(variation.count(), u64::from(flow.received), "packets with a delay of\n{text}");
        let Some(spread) = Spread::of(std::iter::once(variation)) else { continue };
        assert!((spread.least + spread.pdv_mean - flow.delay_mean).abs() < 1e-9, "mean delay of\n{text}");
        // Delays are told apart to 0.1 %.
        let cell = 1e-3 * (spread.least + spread.pdv.max() as f64 * 1e-6);
        assert!(spread.deviation <= spread.pdv.max() as f64 * 1e-6 + cell + 1e-6, "delays of\n{text}");
    }
    for (flow, losses) in outcome.flows.iter().zip(&outcome.flow_losses) {
        let (lost, all) = (losses.gaps.count(), u64::from(flow.drops + flow.lost));
        let unasked = flow.unasked.is_some();
        assert!(lost == all || (lost < all && !unasked), "{lost} of {all} losses are of data, in\n{text}");
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

/// Runs a network in every way and holds the results to one another. How it was planned, and how many packets came.
fn agree(text: &str, scenario: &Scenario) -> (Plan, u64) {
    let network = build(scenario, scenario.seed).expect("a network");
    let decides: Vec<bool> = network.ports.iter().map(|port| port.kind.decides_at_enqueue()).collect();
    let plan = Plan::from_graph(&network, &decides);
    let mut packets = 0;
    let mut answers = Vec::new();
    for (links, events) in [
        (Links::Stepped, Events::Lanes),
        (Links::Auto, Events::Lanes),
        (Links::Auto, Events::Heap),
        (Links::Stepped, Events::Heap),
    ] {
        let outcome = run(scenario, scenario.seed, links, events).expect("runs");
        conserved(&outcome, text);
        packets += outcome.ports[0].counters.arrivals;
        answers.push((links, events, everything(scenario, &outcome)));
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

/// What is measured of delays and losses from end to end, of flows or traffic entries, and at queues.
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

/// The same with rates, delays and losses recorded and without.
fn recording_changes_nothing(text: &str, scenario: &Scenario) {
    let without = Record { rates: None, jitter: false, losses: false, ..scenario.record.clone() };
    let (rates, rate_flows) = (Some(0.1), vec![1]);
    let with = Record { rates, rate_flows, jitter: true, losses: true, ..scenario.record.clone() };
    let [without, with] = [without, with].map(|record| {
        let scenario = Scenario { record, ..scenario.clone() };
        let outcome = run(&scenario, scenario.seed, Links::Auto, Events::Lanes).expect("runs");
        let mut document = result::document(&scenario, scenario.seed, &outcome, 0.0);
        let document = document.as_object_mut().expect("an object");
        let rates = document.shift_remove("rates");
        // Packets that may have overtaken one another arrive at events.
        document.shift_remove("cost");
        for list in ["flows", "traffic"] {
            document[list].as_array_mut().expect("a list").iter_mut().for_each(remove_end_to_end);
        }
        let queues = document["queues"].as_object_mut().expect("an object");
        queues.values_mut().for_each(remove_end_to_end);
        (rates.is_some(), serde_json::to_string(&document).expect("JSON"))
    });
    assert!(!without.0 && with.0);
    assert_eq!(without.1, with.1, "what is recorded of\n{text}");
}

fn rounds(usual: u64) -> u64 {
    std::env::var("EARLYDROP_NETWORKS").ok().and_then(|n| n.parse().ok()).unwrap_or(usual)
}

#[test]
fn every_way_to_run_a_network_gives_the_same_result() {
    let (mut analytic_ports, mut folds, mut early, mut fallen_back, mut mixed) = (0, 0, 0, 0, 0);
    let (mut ahead, mut packets, mut recorded) = (0, 0, 0);
    for number in 1..=rounds(80) {
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
        recorded > 15
            && analytic_ports > 20
            && folds > 20
            && early > 10
            && fallen_back >= 2
            && mixed > 50
            && ahead >= 2,
        "all kinds of plans occur: {seen:?}"
    );
}

#[test]
fn tcps_of_all_kinds_give_the_same_result_in_every_way() {
    let (mut folds, mut sack_folds, mut delayed, mut packets) = (0, 0, 0, 0);
    for number in 1..=rounds(60) {
        let (text, scenario) = scenario_of_tcps(number);
        let (plan, arrived) = agree(&text, &scenario);
        let folded = plan.modes.contains(&Mode::Fold);
        folds += usize::from(folded);
        sack_folds += usize::from(folded && text.contains("sack"));
        delayed += usize::from(text.contains("delayed_ack = true"));
        packets += arrived;
    }
    assert!(packets > 100_000, "the networks are alive: {packets}");
    let seen = (folds, sack_folds, delayed);
    assert!(folds > 20 && sack_folds > 10 && delayed > 10, "all kinds of plans occur: {seen:?}");
}

/// ACKs of many sizes, segments without payload when connections open, timers that pace and probe.
#[test]
fn the_rfc_profile_gives_the_same_result_in_every_way() {
    let (mut folds, mut ports, mut early, mut paced, mut delayed, mut packets) = (0, 0, 0, 0, 0, 0);
    let (mut slow, mut ahead) = (0, 0);
    for number in 1..=rounds(80) {
        let (text, scenario) = scenario_of_rfc(number);
        let (plan, arrived) = agree(&text, &scenario);
        slow += usize::from(plan.modes.contains(&Mode::SlowFold));
        ahead += usize::from(plan.answers_ahead);
        let folded = plan.modes.contains(&Mode::Fold);
        folds += usize::from(folded);
        ports += usize::from(plan.modes.contains(&Mode::AnalyticPort));
        early += usize::from(!plan.early.is_empty());
        paced += usize::from(folded && (text.contains("pacing = true") || text.contains("bbr")));
        delayed += usize::from(folded && text.contains("delayed_ack = true"));
        packets += arrived;
    }
    assert!(packets > 100_000, "the networks are alive: {packets}");
    let seen = (folds, ports, early, paced, delayed, slow, ahead);
    let planned = folds > 20 && ports > 10 && early > 0 && slow > 0 && ahead > 0;
    assert!(planned && paced > 10 && delayed > 2, "all kinds of plans occur: {seen:?}");
}

/// Acknowledgements that reach a queue through folds at the very instants of its updates, sent when the updates were
/// scheduled. Every time is a multiple of 2^-14 s times 5, so that all of them coincide to the last bit.
#[test]
fn updates_at_the_instant_of_an_arrival_come_first_in_every_way() {
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

/// A short packet that waited behind a long one on its way to the receiver, and one of another flow that did not wait, can
/// reach their receivers together. Their acknowledgements then meet in the order in which those packets were sent.
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

/// ACKs that are as long as data or longer wait at the links to their senders, so that two senders can answer in step
/// from a common instant on; and a SYN may be the longest packet.
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

/// A dumbbell of hosts that are alike, slower than the bottleneck in a simple ratio: their transmissions are often in
/// step, and stay so across powers of two, where doubles become coarser.
fn in_step(number: u64, rfc: bool) -> (String, Scenario) {
    let mut draw = Draw(Generator::stream(number, "test.in_step"));
    let hosts = ["1 Mbit/s", "2 Mbit/s", "5 Mbit/s"];
    let delays = ["\"5 ms\"", "\"10 ms\"", "\"8 ms\"", "[\"5 ms\", \"10 ms\"]", "{ uniform = [\"5 ms\", \"20 ms\"] }"];
    let (senders, receivers) = (draw.of(&hosts), draw.of(&hosts));
    let (near, far) = (delays[draw.index(9).saturating_sub(4)], delays[draw.index(9).saturating_sub(4)]);
    let aqm = draw.of(&["droptail", "red", "nlred"]);
    let mut text = format!(
        "name = \"in step {number}\"\nduration = \"4.2 s\"\nwarmup = \"{}\"\nseed = {number}\n\n[record]\ntrace = 1000000\n\
         series = \"100 ms\"\n{}\n[topology]\nkind = \"dumbbell\"\npairs = {flows}\n\
         senders = {{ rate = \"{senders}\", delay = {near} }}\nreceivers = {{ rate = \"{receivers}\", delay = {far} }}\n\
         bottleneck = {{ rate = \"{}\", delay = \"{}\" }}\n\n[queue.bottleneck]\naqm = \"{aqm}\"\nlimit = \"{} packets\"\n",
        draw.of(&["0 s", "1 s"]),
        draw.of(&["", "cwnd_flows = [1, 2]\n"]),
        draw.of(&["10 Mbit/s", "20 Mbit/s", "40 Mbit/s"]),
        draw.of(&["10 ms", "20 ms", "8 ms"]),
        draw.of(&["60", "400"]),
        flows = [10, 30, 100][draw.index(3)],
    );
    if aqm != "droptail" {
        text += "min_th = 20\nmax_th = 50\ndialect = \"ns2\"\n";
    }
    if draw.index(4) == 0 {
        text += "\n[queue.reverse]\naqm = \"droptail\"\nlimit = \"20 packets\"\n";
    }
    let start = draw.of(&["\"0 s\"", "{ uniform = [\"0 s\", \"1 s\"] }", "[\"0 s\", \"100 ms\"]"]);
    text += &format!("\n[[traffic]]\nkind = \"ftp\"\nsegment = 960\nheader = 40\nstart = {start}\n");
    if rfc {
        let mut draw = Draw(Generator::stream(number, "test.in_step.rfc"));
        if draw.index(2) == 0 {
            text = text.replace("\nlimit = ", "\necn = true\nlimit = ");
        }
        return checked(number, text + &rfc_keys_without_short_timers(&mut draw));
    }
    let mut draw = Draw(Generator::stream(number, "test.in_step.tcp"));
    if draw.index(2) == 0 {
        text += &format!("tcp = \"{}\"\n", draw.of(&["tahoe", "newreno", "sack", "sack", "vegas"]));
        text += &format!("delayed_ack = {}\n", draw.of(&["false", "true", "\"10 ms\""]));
    }
    checked(number, text)
}

/// Keys of a traffic entry of the profile `rfc` whose senders may take ACKs ahead of their time.
fn rfc_keys_without_short_timers(draw: &mut Draw) -> String {
    let tcp = draw.of(&["reno", "newreno", "sack", "sack", "cubic", "dctcp", "ledbat"]);
    let mut text = format!("tcp = \"{tcp}\"\nprofile = \"rfc\"\n");
    text += &format!("delayed_ack = {}\n", draw.of(&["false", "false", "false", "\"10 ms\""]));
    text += &format!("window = {}\n", draw.of(&["1000", "1000", "20", "4"]));
    text += &format!("min_rto = \"{}\"\n", draw.of(&["1 s", "0.2 s", "0.2 s"]));
    if tcp != "ledbat" {
        text += &format!("timestamps = {}\n", draw.of(&["true", "false"]));
    }
    text += &format!("ecn = {}\n", draw.of(&["true", "false"]));
    text += draw.of(&["", "", "initial_window = 1\n", "initial_window = 30\n", "send_pairs = true\n"]);
    text += draw.of(&["", "", "growth = \"arrived\"\nssthresh = \"cwnd\"\nprr = \"safe_ack\"\n"]);
    text
}

/// Answers to SYNs that come one after the other at the bottleneck's rate, as far apart as full segments on the senders' own
/// links: so windows begin in step, each behind a segment without payload.
#[test]
fn windows_that_begin_in_step_keep_their_order() {
    for (tcp, delay) in [("sack", "0.03125 s"), ("newreno", "0.0625 s")] {
        let text = format!(
            "name = \"in step\"\nduration = \"2 s\"\nwarmup = \"0 s\"\nseed = 1\n[record]\ntrace = 1000000\n\
             [topology]\nkind = \"dumbbell\"\npairs = 12\naccess = {{ rate = \"20971520 bit/s\", delay = \"{delay}\" }}\n\
             bottleneck = {{ rate = \"1048576 bit/s\", delay = \"0.015625 s\" }}\n\
             [queue.bottleneck]\naqm = \"droptail\"\nlimit = \"60 packets\"\n\
             [[traffic]]\nkind = \"ftp\"\ncount = 12\nsegment = 1000\nheader = 40\nstart = \"0 s\"\ntcp = \"{tcp}\"\n\
             profile = \"rfc\"\ntimestamps = false\ndelayed_ack = false\nmin_rto = \"1 s\"\n"
        );
        let (text, scenario) = checked(0, text);
        let (plan, packets) = agree(&text, &scenario);
        assert!(plan.answers_ahead && packets > 500, "{packets}");
    }
}

/// A thousand flows, ten times slower than the bottleneck, over half a second and one.
const MANY_IN_STEP: &str = r#"
name = "many in step"
duration = "1.1 s"
seed = 1

[record]
trace = 1000000

[topology]
kind = "dumbbell"
pairs = 1000
senders = { rate = "100 Mbit/s", delay = "5 ms" }
receivers = { rate = "100 Mbit/s", delay = "5 ms" }
bottleneck = { rate = "1 Gbit/s", delay = "20 ms" }

[queue.bottleneck]
aqm = "red"
limit = "12000 packets"
min_th = 3000
max_th = 9000
dialect = "ns2"

[[traffic]]
kind = "ftp"
count = 1000
segment = 960
header = 40
window = 1000
start = { uniform = ["0 s", "1 s"] }
"#;

#[test]
fn many_transmissions_in_step_keep_their_order() {
    let (text, scenario) = checked(0, MANY_IN_STEP.to_string());
    let (plan, packets) = agree(&text, &scenario);
    assert!(plan.answers_ahead && plan.count().1 == 0, "no event but arrivals at the port: {:?}", plan.count());
    assert!(packets > 100_000, "the network is alive: {packets}");
}

#[test]
fn transmissions_in_step_keep_their_order() {
    let (mut slow, mut ahead) = (0, 0);
    for number in 1..=rounds(40) {
        let (text, scenario) = in_step(number, false);
        let (plan, _) = agree(&text, &scenario);
        slow += usize::from(plan.modes.contains(&Mode::SlowFold));
        ahead += usize::from(plan.answers_ahead);
    }
    assert!(slow > 20 && ahead > 10, "links with no events and packets that wait: {slow}, {ahead}");
}

/// The same with segments without payload among the others, and ACKs of several sizes.
#[test]
fn transmissions_in_step_keep_their_order_in_the_rfc_profile() {
    let (mut slow, mut ahead, mut blocks) = (0, 0, 0);
    for number in 1..=rounds(40) {
        let (text, scenario) = in_step(number, true);
        let (plan, _) = agree(&text, &scenario);
        slow += usize::from(plan.modes.contains(&Mode::SlowFold));
        ahead += usize::from(plan.answers_ahead);
        blocks += usize::from(plan.answers_ahead && plan.modes.contains(&Mode::SlowFold) && !text.contains("newreno"));
    }
    let seen = (slow, ahead, blocks);
    assert!(slow > 20 && ahead > 4 && blocks > 4, "links with no events and packets that wait: {seen:?}");
}
