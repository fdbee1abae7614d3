//! Random networks of several queues: data and ACKs in one queue, links with varying rate, loss, jitter and reordering,
//! times to live that expire.

use super::{agree, checked, parameters, rfc_keys, rounds, Choices, Draw, AQMS, BINARY, DECIMAL};
use earlydrop_aqm::random::Generator;
use earlydrop_sim::scenario::Scenario;

/// Kinds of networks, with the key of the queues and whether there is another one for the reverse direction.
const KINDS: [(&str, &str, bool); 9] = [
    ("dumbbell", "bottleneck", true),
    ("parking_lot", "bottleneck", true),
    ("star", "bottleneck", false),
    ("sfred", "bottleneck", true),
    ("bus", "routers", false),
    ("flower", "routers", false),
    ("two_flow", "bottleneck", true),
    ("random", "routers", false),
    ("graph", "q", false),
];

/// A network and its traffic.
fn scenario(number: u64) -> (String, Scenario, &'static str) {
    let mut draw = Draw(Generator::stream(number, "test.same_results.graphs"));
    let of = if draw.index(3) == 0 { &BINARY } else { &DECIMAL };
    let (kind, key, both) = KINDS[draw.index(KINDS.len())];
    let mut text = format!(
        "name = \"graph {number}\"\nduration = \"3 s\"\nwarmup = \"{}\"\nseed = {number}\n\n[record]\ntrace = 2000\n\
         trace_queues = \"all\"\nseries = \"100 ms\"\n\n[topology]\nkind = \"{kind}\"\n",
        draw.of(&["0 s", "1 s"]),
    );
    text += &topology(&mut draw, of, kind);
    let aqm = draw.of(&[&AQMS[..], &["ddred", "codel", "fq_codel"]].concat());
    let limit = [4, 8, 20, 60][draw.index(4)];
    text += &format!("\n[queue.{key}]\naqm = \"{aqm}\"\nlimit = \"{limit} packets\"\n{}", queue(&mut draw, of, aqm));
    if both && draw.index(2) == 0 {
        let aqm = draw.of(&["droptail", "droptail", "rem", "pi"]);
        text += &format!("\n[queue.reverse]\naqm = \"{aqm}\"\nlimit = \"10 packets\"\n{}", queue(&mut draw, of, aqm));
    }
    // Half of the networks have TCPs of the stack `rfc`.
    let mut tcp = Draw(Generator::stream(number, "test.same_results.graphs.rfc"));
    let rfc = tcp.index(2) == 0;
    text += &traffic(&mut draw, of, kind, &mut || if rfc { rfc_keys(&mut tcp) } else { String::new() });
    let (text, scenario) = checked(number, text);
    (text, scenario, kind)
}

fn queue(draw: &mut Draw, of: &Choices, aqm: &str) -> String {
    match aqm {
        "ddred" => format!("min_th = 2\nmax_th = 6\nmethod = {}\n", 1 + draw.index(2)),
        "codel" | "fq_codel" => "target = \"2 ms\"\ninterval = \"30 ms\"\n".to_string(),
        _ => parameters(draw, of, aqm),
    }
}

/// Fields of a link. `odd`: it may have a medium.
fn link(draw: &mut Draw, rates: &[&str], delays: &[&str], odd: bool) -> String {
    let delay = draw.of(delays);
    // The first of delays that are listed or drawn.
    let delay = delay.split('"').nth(1).unwrap_or(delay).to_string();
    if !odd || draw.index(3) > 0 {
        return format!("rate = \"{}\", delay = \"{delay}\"", draw.of(rates));
    }
    let rate = match draw.index(5) {
        0 => {
            let (first, second) = (draw.of(rates), draw.of(rates));
            format!("{{ schedule = [[\"0 s\", \"{first}\"], [\"0.5 s\", \"{second}\"], [\"0.625 s\", \"0 bit/s\"], [\"0.75 s\", \"1 Mbit/s\"]], repeat = \"1 s\" }}")
        }
        1 => format!("{{ schedule = [[\"0 s\", \"{}\"], [\"2 s\", \"0 bit/s\"]] }}", draw.of(rates)),
        2 => "{ trace = [1, 1, 2, 5, 7, 12] }".to_string(),
        _ => format!("\"{}\"", draw.of(rates)),
    };
    if draw.index(6) == 0 {
        return format!("model = \"lte-drive\", delay = \"{delay}\"");
    }
    let trace = rate.contains("trace");
    let mut fields = format!("rate = {rate}, delay = \"{delay}\"");
    fields += draw.of(&["", ", loss = 0.02", ", loss = { every = 30 }"]);
    fields += draw.of(&[
        "",
        "",
        ", jitter = { uniform = [\"0 s\", \"3 ms\"], keep_order = false }",
        ", jitter = { uniform = [\"1 ms\", \"8 ms\"] }",
    ]);
    fields += draw.of(&["", "", ", reorder = { probability = 0.1, delay = \"5 ms\" }"]);
    let aggregates = ", aggregation = { access = \"1 ms\", packets = 8, time = \"4 ms\" }";
    fields + if trace { "" } else { draw.of(&["", "", aggregates]) }
}

fn topology(draw: &mut Draw, of: &Choices, kind: &str) -> String {
    // Half of the networks have constant links only.
    let odd = draw.index(2) == 0;
    let mut one = |key: &str, core: bool| {
        let (rates, delays) = if core { (of.bottlenecks, of.bottleneck_delays) } else { (of.rates, of.delays) };
        format!("{key} = {{ {} }}\n", link(draw, rates, delays, odd))
    };
    let ends = |one: &mut dyn FnMut(&str, bool) -> String| one("access", false) + &one("bottleneck", true);
    match kind {
        "dumbbell" => ends(&mut one) + &format!("pairs = {}\n", [1, 2, 5, 20][draw.index(4)]),
        "parking_lot" => {
            let text = ends(&mut one);
            let (bottlenecks, pairs, cross) = (1 + draw.index(3), draw.index(4), 1 + draw.index(3));
            text + &format!("bottlenecks = {bottlenecks}\npairs = {pairs}\ncross = {cross}\n")
        }
        "star" => one("access", false) + &format!("hosts = {}\n", 2 + draw.index(7)),
        "sfred" => {
            let text = one("senders", false) + &one("bottleneck", true) + &one("receiver", false);
            text + &format!("pairs = {}\n", 1 + draw.index(6))
        }
        "bus" => one("core", true) + &one("access", false) + &format!("routers = {}\n", 2 + draw.index(4)),
        "flower" => {
            one("core", true)
                + &one("access", false)
                + &format!("petals = {}\npetal = {}\n", 2 + draw.index(2), draw.index(4))
        }
        "two_flow" => one("first", false) + &one("link", true),
        "random" => {
            let text = one("core", true) + &one("access", false);
            text + &format!("routers = {}\ngraph_seed = {}\ndegree = 3\n", 2 + draw.index(7), draw.index(1000))
        }
        // A ring of one-way links with a host at each router.
        _ => {
            let mut text = "pairs = \"random\"\n".to_string();
            let routers = 3 + draw.index(3);
            for at in 0..routers {
                let fields = link(draw, of.bottlenecks, of.bottleneck_delays, odd).replace(", ", "\n");
                // Keeps commas within a nested table.
                let fields = rejoined(&fields);
                let next = (at + 1) % routers;
                text += &format!(
                    "\n[[link]]\nfrom = \"r{at}\"\nto = \"r{next}\"\nqueue = \"q\"\nreverse = false\n{fields}\n"
                );
                let fields = rejoined(&link(draw, of.rates, of.delays, false).replace(", ", "\n"));
                text +=
                    &format!("\n[[link]]\nfrom = \"h{at}\"\nto = \"r{at}\"\nreverse = {{ queue = \"q\" }}\n{fields}\n");
            }
            text
        }
    }
}

/// Joins lines that end within a bracket with the next one.
fn rejoined(lines: &str) -> String {
    let mut text = String::new();
    let mut depth = 0_i32;
    for line in lines.lines() {
        text += line;
        depth += line.chars().map(|c| i32::from("[{".contains(c)) - i32::from("]}".contains(c))).sum::<i32>();
        text += if depth > 0 { ", " } else { "\n" };
    }
    text
}

fn traffic(draw: &mut Draw, of: &Choices, kind: &str, tcp: &mut dyn FnMut() -> String) -> String {
    let mut text = String::new();
    let senders = match kind {
        "dumbbell" | "parking_lot" => Some(("s*", "d*")),
        "sfred" | "two_flow" => Some(("s*", "d")),
        _ => None,
    };
    // A parking lot may have no long flows.
    let senders = senders.filter(|_| kind != "parking_lot");
    for entry in 0..1 + draw.index(3) {
        let (segment, header) = of.sizes[draw.index(of.sizes.len())];
        let ends = match senders {
            Some((from, to)) if entry == 1 || draw.index(4) == 0 => format!("from = \"{to}\"\nto = \"{from}\"\n"),
            _ => String::new(),
        };
        let ttl = if draw.index(6) == 0 { format!("ttl = {}\n", 1 + draw.index(6)) } else { String::new() };
        let (count, start) = (1 + draw.index(6), draw.of(of.starts));
        let what = match draw.index(4) {
            0 => format!("kind = \"cbr\"\nrate = \"{}\"\n", draw.of(&["1 Mbit/s", "500 kbit/s", "5 Mbit/s"])),
            _ => "kind = \"ftp\"\n".to_string() + &tcp(),
        };
        text += &format!(
            "\n[[traffic]]\n{what}count = {count}\nsegment = {segment}\nheader = {header}\nstart = {start}\n{ends}{ttl}"
        );
    }
    text
}

#[test]
fn every_way_to_run_a_graph_gives_the_same_result() {
    let (mut kinds, mut planned, mut rfc, mut packets) = (std::collections::BTreeSet::new(), 0, 0, 0);
    for number in 1..=rounds(40) {
        let (text, scenario, kind) = scenario(number);
        let (plan, arrived) = agree(&text, &scenario);
        kinds.insert(kind);
        planned += usize::from(plan.count().0 > 0);
        rfc += usize::from(text.contains("stack = \"rfc\""));
        packets += arrived;
    }
    assert_eq!(kinds.len(), KINDS.len(), "{kinds:?}");
    assert!(packets > 50_000, "the networks are alive: {packets}");
    assert!(planned > 3, "some have links without events: {planned}");
    assert!(rfc > 10, "some have the stack rfc: {rfc}");
}
