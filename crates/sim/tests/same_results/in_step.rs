//! Networks whose transmissions are in step, so that events coincide over long times.

use super::*;

/// Disciplines that decide at arrivals, and others.
const AT_ARRIVALS: [&str; 8] = ["droptail", "red", "nlred", "ared", "rem", "pi", "pie", "pi2"];
const BY_EVENTS: [&str; 15] = [
    "codel",
    "fq_codel",
    "cobalt",
    "fq_pie",
    "cake",
    "dualpi2",
    "drop_front",
    "choke",
    "sfq",
    "drr",
    "hhf",
    "sfb",
    "fq",
    "blue",
    "fred",
];

/// A dumbbell of equal hosts, slower than the bottleneck in a simple ratio: their transmissions are often in step, and
/// stay so across powers of two, where doubles become coarser.
fn in_step(number: u64, rfc: bool, aqms: &[&str]) -> (String, Scenario) {
    let mut draw = Draw(Generator::stream(number, "test.in_step"));
    let hosts = ["1 Mbit/s", "2 Mbit/s", "5 Mbit/s"];
    let delays = ["\"5 ms\"", "\"10 ms\"", "\"8 ms\"", "[\"5 ms\", \"10 ms\"]", "{ uniform = [\"5 ms\", \"20 ms\"] }"];
    let (senders, receivers) = (draw.of(&hosts), draw.of(&hosts));
    let (near, far) = (delays[draw.index(9).saturating_sub(4)], delays[draw.index(9).saturating_sub(4)]);
    let aqm = draw.of(aqms);
    let mut text = format!(
        "name = \"in step {number}\"\nduration = \"4.2 s\"\nwarmup = \"{}\"\nseed = {number}\n\n[record]\ntrace = 1000000\n\
         series = \"100 ms\"\n{}\n[topology]\nkind = \"dumbbell\"\npairs = {flows}\n\
         senders = {{ rate = \"{senders}\", delay = {near} }}\nreceivers = {{ rate = \"{receivers}\", delay = {far} }}\n\
         bottleneck = {{ rate = \"{}\", delay = \"{}\" }}\n\n[queue.bottleneck]\naqm = \"{aqm}\"\nlimit = \"{} packets\"\n",
        draw.of(&["0 s", "1 s"]),
        draw.of(&["", "gauges = true\ncwnd_flows = [1, 2]\n"]),
        draw.of(&["10 Mbit/s", "20 Mbit/s", "40 Mbit/s"]),
        draw.of(&["10 ms", "20 ms", "8 ms"]),
        draw.of(&["60", "400"]),
        flows = [10, 30, 100][draw.index(3)],
    );
    if matches!(aqm, "red" | "nlred") {
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
        text += &format!("rules.delayed_ack = {}\n", draw.of(&["false", "true", "\"10 ms\""]));
    }
    checked(number, text)
}

/// Keys of a traffic entry of the stack `rfc` whose senders may process ACKs ahead of time.
fn rfc_keys_without_short_timers(draw: &mut Draw) -> String {
    let tcp = draw.of(&["reno", "newreno", "sack", "sack", "cubic", "dctcp", "ledbat"]);
    let mut text = format!("tcp = \"{tcp}\"\nstack = \"rfc\"\n");
    text += &format!("rules.delayed_ack = {}\n", draw.of(&["false", "false", "false", "\"10 ms\""]));
    text += &format!("window = {}\n", draw.of(&["1000", "1000", "20", "4"]));
    text += &format!("rules.min_rto = \"{}\"\n", draw.of(&["1 s", "0.2 s", "0.2 s"]));
    if tcp != "ledbat" {
        text += &format!("rules.timestamps = {}\n", draw.of(&["true", "false"]));
    }
    text += &format!("ecn = {}\n", draw.of(&["true", "false"]));
    text +=
        draw.of(&["", "", "rules.initial_window = 1\n", "rules.initial_window = 30\n", "rules.send_pairs = true\n"]);
    text += draw.of(&["", "", "rules.growth = \"arrived\"\nrules.ssthresh = \"cwnd\"\nrules.prr = \"safe_ack\"\n"]);
    text
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
    for number in 1..=rounds(20) {
        let (text, scenario) = in_step(number, false, &AT_ARRIVALS);
        let (plan, _) = agree(&text, &scenario);
        slow += usize::from(plan.modes.contains(&Mode::SlowFold));
        ahead += usize::from(plan.answers_ahead);
    }
    assert!(slow > 10 && ahead > 5, "links with no events and packets that wait: {slow}, {ahead}");
}

/// Segments without payload and ACKs of several sizes may wait behind others of their kind, which would leave the order
/// open: where packets of the RFC TCP may wait, they do so by events.
#[test]
fn transmissions_in_step_keep_their_order_in_the_rfc_profile() {
    let mut packets = 0;
    for number in 1..=rounds(20) {
        let (text, scenario) = in_step(number, true, &AT_ARRIVALS);
        let (plan, arrived) = agree(&text, &scenario);
        assert!(!plan.answers_ahead && !plan.modes.contains(&Mode::SlowFold), "{text}");
        packets += arrived;
    }
    assert!(packets > 50_000, "the networks are alive: {packets}");
}

/// The same with queues by events, half of them in binary fractions: whatever can coincide does, to the last bit.
#[test]
fn transmissions_in_step_keep_their_order_at_queues_by_events() {
    let binary = [
        ("\"1 Mbit/s", "\"1.048576 Mbit/s"),
        ("\"2 Mbit/s", "\"2.097152 Mbit/s"),
        ("\"5 Mbit/s", "\"8.388608 Mbit/s"),
        ("\"10 Mbit/s", "\"10.48576 Mbit/s"),
        ("\"20 Mbit/s", "\"20.97152 Mbit/s"),
        ("\"40 Mbit/s", "\"33.554432 Mbit/s"),
        ("\"5 ms\"", "\"0.00390625 s\""),
        ("\"8 ms\"", "\"0.015625 s\""),
        ("\"10 ms\"", "\"0.0078125 s\""),
        ("\"20 ms\"", "\"0.03125 s\""),
        ("segment = 960", "segment = 984"),
    ];
    let (mut ahead, mut packets) = (0, 0);
    for number in 1..=rounds(36) {
        let (mut text, mut scenario) = in_step(number, number % 3 == 0, &BY_EVENTS);
        if number % 2 == 0 {
            text = binary.iter().fold(text, |text, (from, to)| text.replace(from, to));
            (text, scenario) = checked(0, text);
        }
        let (plan, arrived) = agree(&text, &scenario);
        ahead += usize::from(plan.answers_ahead && plan.modes.contains(&Mode::SteppedPort));
        packets += arrived;
    }
    assert!(ahead > 5 && packets > 100_000, "senders that answer ahead of time: {ahead}, {packets}");
}

/// Senders right in front of the queue, whose ACKs take as long over the last link as a packet at the queue, or not.
#[test]
fn senders_in_front_of_the_queue_keep_their_order() {
    let (mut analytic, mut packets) = (0, 0);
    for number in 1..=rounds(40) {
        let mut draw = Draw(Generator::stream(number, "test.in_front"));
        let rate = draw.of(&["1 Mbit/s", "8 Mbit/s", "10 Mbit/s", "1.048576 Mbit/s", "8.388608 Mbit/s"]);
        let delay = draw.of(&["30 ms", "0 s", "1 ms", "0.96 ms", "7.68 ms", "0.03125 s", "0.00390625 s"]);
        let back = draw.of(&["10 Mbit/s", "1 Mbit/s", "8.388608 Mbit/s", "100 Mbit/s"]);
        let back_delay = draw.of(&["30 ms", "0.968 ms", "7.68 ms", "0.5 ms", "0.03125 s", "0.007568359375 s"]);
        let (aqm, limit) = (draw.of(&AT_ARRIVALS), draw.of(&["10", "60", "400"]));
        let early = matches!(aqm, "red" | "nlred");
        let more = if early { "min_th = 4\nmax_th = 9\ndialect = \"ns2\"\n" } else { "" };
        let mut text = format!(
            "name = \"in front {number}\"\nduration = \"3 s\"\nwarmup = \"{}\"\nseed = {number}\n\n[record]\n\
             trace = 1000000\nseries = \"100 ms\"\n\n[topology]\nkind = \"graph\"\n\n[[link]]\nfrom = \"a\"\nto = \"b\"\n\
             rate = \"{rate}\"\ndelay = \"{delay}\"\nqueue = \"bottleneck\"\nreverse = false\n\n[[link]]\nfrom = \"b\"\n\
             to = \"a\"\nrate = \"{back}\"\ndelay = \"{back_delay}\"\nreverse = false\n\n[queue.bottleneck]\naqm = \"{aqm}\"\n\
             limit = \"{limit} packets\"\n{more}",
            draw.of(&["0 s", "1 s"]),
        );
        for _ in 0..1 + draw.index(2) {
            let (segment, header) = [(960, 40), (984, 40), (40, 40), (1460, 40)][draw.index(4)];
            text += &format!(
                "\n[[traffic]]\nkind = \"ftp\"\ncount = {}\nfrom = \"a\"\nto = \"b\"\nsegment = {segment}\nheader = {header}\n\
                 start = {}\n",
                draw.of(&["1", "3", "20"]),
                draw.of(&["\"0 s\"", "{ uniform = [\"0 s\", \"1 s\"] }", "[\"0 s\", \"8 ms\", \"0.0078125 s\"]"]),
            );
            if draw.index(2) == 0 {
                text += &rfc_keys_without_short_timers(&mut draw);
            }
        }
        let (text, scenario) = checked(number, text);
        let (plan, arrived) = agree(&text, &scenario);
        analytic += usize::from(plan.modes.contains(&Mode::AnalyticPort));
        packets += arrived;
    }
    assert!(analytic > 10 && packets > 50_000, "queues without events: {analytic}, {packets}");
}
