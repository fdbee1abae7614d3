//! How links are run and how events are kept changes no result: every run equals the all-stepped one, byte for byte,
//! packet for packet, on networks drawn at random; and in every run packets are conserved.

use earlydrop_aqm::random::Generator;
use earlydrop_sim::engine::plan::{Mode, Plan};
use earlydrop_sim::engine::trace::QueueEvent;
use earlydrop_sim::engine::Outcome;
use earlydrop_sim::result;
use earlydrop_sim::run::{build, run, Events, Links};
use earlydrop_sim::scenario::{check, Doc, Scenario};

/// Draws from lists.
struct Draw(Generator);

impl Draw {
    fn index(&mut self, n: usize) -> usize {
        (self.0.uniform() * n as f64) as usize
    }

    fn of<'a>(&mut self, words: &[&'a str]) -> &'a str {
        words[self.index(words.len())]
    }
}

/// A dumbbell drawn at random: rates in simple ratios, delays in whole milliseconds or as long as transmissions take,
/// so that events coincide often; packets of several sizes, which overtake each other's acknowledgements.
fn scenario(number: u64) -> (String, Scenario) {
    let mut draw = Draw(Generator::stream(number, "test.same_results"));
    let flows = [1, 2, 3, 7, 20, 45][draw.index(6)];
    let (aqm, limit) = (draw.of(&["droptail", "red", "nlred", "tred"]), [5, 20, 60][draw.index(3)]);
    let bottleneck = draw.of(&["1 Mbit/s", "5 Mbit/s", "10 Mbit/s"]);
    let access = ["1 Mbit/s", "5 Mbit/s", "10 Mbit/s", "100 Mbit/s"];
    let mut text = format!(
        "name = \"drawn {number}\"\nduration = \"3 s\"\nwarmup = \"{}\"\nseed = {number}\n\n[record]\ntrace = 1000000\n\
         series = \"100 ms\"\n\n[topology]\nkind = \"dumbbell\"\npairs = {}\n\
         senders = {{ rate = \"{}\", delay = {} }}\nreceivers = {{ rate = \"{}\", delay = {} }}\n\
         bottleneck = {{ rate = \"{bottleneck}\", delay = \"{}\" }}\n",
        draw.of(&["0 s", "1 s"]),
        if draw.index(4) == 0 { 1.max(flows / 2) } else { flows },
        draw.of(&access),
        delay(&mut draw),
        draw.of(&access),
        delay(&mut draw),
        draw.of(&["10 ms", "1 ms", "0 s", "0.8 ms", "32 us", "7.2 ms"]),
    );
    if draw.index(4) == 0 {
        let rate = draw.of(&["1 Mbit/s", "10 Mbit/s", "1 Gbit/s"]);
        text += &format!("reverse = {{ rate = \"{rate}\", delay = \"{}\" }}\n", draw.of(&["0 s", "1 ms", "32 us"]));
    }
    text += &format!("\n[queue.bottleneck]\naqm = \"{aqm}\"\nlimit = \"{limit} packets\"\n");
    if aqm != "droptail" {
        let (low, high) = [(2, 6), (5, 15), (20, 50)][draw.index(3)];
        let dialect = draw.of(&["paper", "ns2", "ns3", "linux"]);
        text += &format!(
            "min_th = {low}\nmax_th = {high}\ndialect = \"{dialect}\"\nw_q = {}\n",
            draw.of(&["0.002", "0.05"])
        );
    }
    if draw.index(4) == 0 {
        text += &format!("\n[queue.reverse]\naqm = \"{}\"\nlimit = \"20 packets\"\n", draw.of(&["droptail", "red"]));
    }
    let start = draw.of(&["\"0 s\"", "{ uniform = [\"0 s\", \"1 s\"] }", "[\"0 s\", \"100 ms\"]"]);
    let sizes = [("1000", "40"), ("960", "40"), ("40", "40"), ("1460", "40"), ("40", "0"), ("20", "0")];
    let mut transfer = |count: usize, start: &str| {
        let (segment, header) = sizes[draw.index(sizes.len())];
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
    checked(number, text)
}

/// A delay of access links: the same for all in most networks.
fn delay(draw: &mut Draw) -> &'static str {
    let delays = [
        "\"5 ms\"",
        "[\"1 ms\", \"2 ms\", \"5 ms\"]",
        "{ uniform = [\"1 ms\", \"20 ms\"] }",
        "\"0 s\"",
        "\"210 ms\"",
        "\"32 us\"",
        "\"1.6 ms\"",
    ];
    delays[draw.index(11).saturating_sub(4)]
}

fn checked(number: u64, text: String) -> (String, Scenario) {
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
    for port in &outcome.ports {
        let counts = &port.counters;
        assert_eq!(
            port.queued_at_start + counts.arrivals,
            counts.departures + counts.drops() + port.queued_at_end,
            "packets at {} of\n{text}",
            port.name
        );
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
    for (links, events, answer) in &answers[1..] {
        let oracle = &answers[0].2;
        let first = oracle.1.iter().zip(&answer.1).find(|(a, b)| a != b);
        assert!(first.is_none(), "{links:?} {events:?} differs from all-stepped, first in {first:?}\n{text}");
        assert_eq!(oracle.1.len(), answer.1.len(), "{links:?} {events:?}\n{text}");
        assert_eq!(oracle.0, answer.0, "{links:?} {events:?}\n{text}");
    }
    (plan, packets)
}

fn rounds(usual: u64) -> u64 {
    std::env::var("EARLYDROP_NETWORKS").ok().and_then(|n| n.parse().ok()).unwrap_or(usual)
}

#[test]
fn every_way_to_run_a_network_gives_the_same_result() {
    let (mut arithmetic_ports, mut folds, mut early, mut fallen_back, mut mixed) = (0, 0, 0, 0, 0);
    let (mut ahead, mut packets) = (0, 0);
    for number in 1..=rounds(80) {
        let (text, scenario) = scenario(number);
        let (plan, arrived) = agree(&text, &scenario);
        let count = |mode: Mode| plan.modes.iter().filter(|&&m| m == mode).count();
        arithmetic_ports += count(Mode::ArithmeticPort);
        folds += usize::from(count(Mode::Fold) > 0);
        early += usize::from(!plan.early.is_empty());
        fallen_back += usize::from(count(Mode::SteppedPort) > 0);
        mixed += usize::from(plan.count().0 > 0 && plan.count().1 > 0);
        ahead += usize::from(plan.answers_ahead);
        packets += arrived;
    }
    assert!(packets > 100_000, "the networks are alive: {packets}");
    let seen = (arithmetic_ports, folds, early, fallen_back, mixed, ahead);
    assert!(
        arithmetic_ports > 20 && folds > 20 && early > 10 && fallen_back >= 2 && mixed > 50 && ahead > 10,
        "all kinds of plans occur: {seen:?}"
    );
}

/// A dumbbell of hosts that are alike, slower than the bottleneck in a simple ratio: their transmissions are often in
/// step, and stay so across powers of two, where doubles become coarser.
fn in_step(number: u64) -> (String, Scenario) {
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
    checked(number, text)
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
        let (text, scenario) = in_step(number);
        let (plan, _) = agree(&text, &scenario);
        slow += usize::from(plan.modes.contains(&Mode::SlowFold));
        ahead += usize::from(plan.answers_ahead);
    }
    assert!(slow > 20 && ahead > 10, "links with no events and packets that wait: {slow}, {ahead}");
}
