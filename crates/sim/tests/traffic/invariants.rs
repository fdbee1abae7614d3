//! What holds in every run, whatever the traffic: packets are conserved, Little's law holds to rounding, transfers add up,
//! and the way in which links are run and events are kept changes no result. On networks and traffic drawn at random.

use earlydrop_aqm::random::Generator;
use earlydrop_sim::engine::trace::QueueTrace;
use earlydrop_sim::engine::{Outcome, PortOutcome};
use earlydrop_sim::result;
use earlydrop_sim::run::{run, Events, Links};
use earlydrop_sim::scenario::{check, Doc, Load, Scenario};
use std::collections::VecDeque;

/// Draws from lists.
struct Draw(Generator);

impl Draw {
    fn of<'a>(&mut self, words: &[&'a str]) -> &'a str {
        words[((self.0.uniform() * words.len() as f64) as usize).min(words.len() - 1)]
    }

    fn one_in(&mut self, n: usize) -> bool {
        self.0.uniform() * (n as f64) < 1.0
    }
}

const PACKETS: &[&str] = &["segment = 960", "segment = 460", "segment = 1000\nheader = 0", "segment = 88"];
const SIZES: &[&str] = &[
    "'10 packets'",
    "0",
    "'1 packet'",
    "{ uniform = ['1 kB', '60 kB'] }",
    "{ pareto = '12 kB', shape = 1.2, max = '1 MB' }",
    "{ sample = ['1 kB', 0, '30 kB'] }",
];
const THINKS: &[&str] = &["'0 s'", "'10 ms'", "{ exponential = '50 ms' }"];
const STARTS: &[&str] = &["'0 s'", "['0 s', '100 ms']", "{ uniform = ['0 s', '1 s'] }", "{ poisson = '20 ms' }"];

/// One `[[traffic]]` entry of any kind.
fn traffic(draw: &mut Draw) -> String {
    let mut keys = String::new();
    let mut add = |line: String| keys = format!("{keys}{line}\n");
    match draw.of(&[
        "ftp",
        "transfers",
        "transfers",
        "requests",
        "web",
        "pages",
        "cbr",
        "onoff",
        "poisson",
        "voip",
        "video",
        "media",
    ]) {
        "ftp" => add(format!("kind = 'ftp'\n{}\n{}", draw.of(PACKETS), draw.of(&["", "", "lifetime = '1 s'"]))),
        "transfers" => add(format!(
            "kind = 'transfers'\n{}\nsize = {}\nthink = {}\nnumber = {}\nconnection = '{}'\ncompletion = '{}'",
            draw.of(PACKETS),
            draw.of(SIZES),
            draw.of(THINKS),
            draw.of(&["1", "1", "5", "'endless'"]),
            draw.of(&["new", "same"]),
            draw.of(&["acknowledged", "received"]),
        )),
        "requests" => add(format!(
            "kind = 'requests'\n{}\nsize = {}\nthink = {}\nconnection = '{}'\nretry = '300 ms'\nrequest = {}",
            draw.of(PACKETS),
            draw.of(SIZES),
            draw.of(THINKS),
            draw.of(&["new", "same"]),
            draw.of(&["40", "400"]),
        )),
        "web" => add(format!("kind = 'web'\nsession_gap = '200 ms'\nsize = {}", draw.of(SIZES))),
        "pages" => add(format!(
            "kind = 'pages'\n{}\nconnections = {}\nobjects = {}\nsize = {}\nthink = {}\nconnection = '{}'",
            draw.of(PACKETS),
            draw.of(&["1", "2", "6"]),
            draw.of(&["1", "10", "{ geometric = 5 }"]),
            draw.of(SIZES),
            draw.of(&["'10 ms'", "{ exponential = '50 ms' }"]),
            draw.of(&["new", "same"]),
        )),
        "cbr" => add(format!(
            "kind = 'cbr'\nrate = '{}'\nsegment = {}\njitter = {}",
            draw.of(&["1 Mbit/s", "500 kbit/s"]),
            draw.of(&["1000", "40", "{ mix = [[40, 3], [1000, 1]] }"]),
            draw.of(&["true", "false"]),
        )),
        "onoff" => add(format!("kind = 'onoff'\nrate = '1 Mbit/s'\nlaw = '{}'", draw.of(&["exponential", "pareto"]))),
        "poisson" => add(format!(
            "kind = 'poisson'\nrate = '1 Mbit/s'\nsegment = {}",
            draw.of(&["1000", "{ exponential = '500 B' }", "{ sample = [40, 552, 1500] }"]),
        )),
        "voip" => add("kind = 'voip'".into()),
        "media" => add(format!(
            "kind = 'media'\n{}\nvariation = {}\nkey_interval = {}",
            draw.of(&["ecn = 'l4s'", "ecn = 'classic'", "control = 'gcc'\nstart_rate = '2 Mbit/s'"]),
            draw.of(&["0", "0.2"]),
            draw.of(&["0", "25"]),
        )),
        _ => add("kind = 'video'\nframe = { lognormal = '2 kB', sigma = 0.5 }\ngroup = [3, 1, 1]\nstop = '2 s'".into()),
    }
    let over_tcp =
        ["ftp", "transfers", "requests", "web", "pages"].iter().any(|kind| keys.contains(&format!("'{kind}'")));
    if over_tcp {
        keys += &format!("tcp = '{}'\n", draw.of(&["reno", "reno", "tahoe", "newreno", "sack", "sack", "vegas"]));
        keys += draw.of(&["", "", "rules.delayed_ack = true\n"]);
    }
    let count = draw.of(&["1", "3", "8"]);
    let direction = if draw.one_in(4) { "direction = 'reverse'\n" } else { "" };
    format!("\n[[traffic]]\n{keys}count = {count}\nstart = {}\n{direction}", draw.of(STARTS))
}

/// A dumbbell with up to four kinds of traffic. Rates are in simple ratios, so that events coincide often.
fn scenario(number: u64) -> (String, Scenario) {
    let mut draw = Draw(Generator::stream(number, "test.traffic_laws"));
    let queue = |draw: &mut Draw| {
        let limit = draw.of(&["5", "20", "60", "'30 kB'"]);
        match draw.of(&["droptail", "red", "rem", "pi"]) {
            "red" => format!("aqm = 'red'\nlimit = {limit}\nmin_th = 2\nmax_th = 8\nw_q = 0.02\ndialect = 'ns2'\n"),
            "rem" => format!("aqm = 'rem'\nlimit = {limit}\ngamma = 0.02\nphi = 1.01\nq_ref = 2\n"),
            "pi" => format!("aqm = 'pi'\nlimit = {limit}\na = 0.002\nb = 0.0018\nq_ref = 2\n"),
            _ => format!("aqm = 'droptail'\nlimit = {limit}\n"),
        }
    };
    let mut text = format!(
        "name = 'drawn {number}'\nduration = '3 s'\nwarmup = '{}'\nseed = {number}\n\
         [record]\ntrace = 1000000\ntrace_queues = 'all'\ntransfers = true\nby_flow = true\n\
         [topology]\nkind = 'dumbbell'\npairs = {}\n\
         senders = {{ rate = '{}', delay = {} }}\nreceivers = {{ rate = '{}', delay = {} }}\n\
         bottleneck = {{ rate = '{}', delay = '{}' }}\n[queue.bottleneck]\n{}[queue.reverse]\n{}",
        draw.of(&["0 s", "0 s", "1 s"]),
        draw.of(&["2", "8"]),
        draw.of(&["5 Mbit/s", "10 Mbit/s", "100 Mbit/s"]),
        draw.of(&["'5 ms'", "['1 ms', '2 ms']", "{ uniform = ['1 ms', '20 ms'] }"]),
        draw.of(&["5 Mbit/s", "10 Mbit/s", "100 Mbit/s"]),
        draw.of(&["'5 ms'", "'0 s'"]),
        draw.of(&["1 Mbit/s", "5 Mbit/s", "10 Mbit/s"]),
        draw.of(&["10 ms", "0 s", "1.6 ms"]),
        queue(&mut draw),
        queue(&mut draw),
    );
    for _ in 0..1 + (draw.0.uniform() * 4.0) as usize {
        text += &traffic(&mut draw);
    }
    let doc = Doc::from_toml(&text, None).unwrap_or_else(|e| panic!("{number}: {e}\n{text}"));
    let scenario = check(&doc, None).unwrap_or_else(|e| panic!("{number}: {e}\n{text}"));
    (text, scenario)
}

/// Everything a run tells, without its cost.
fn everything(scenario: &Scenario, outcome: &Outcome) -> String {
    let mut document = result::document(scenario, scenario.seed, outcome, 0.0);
    document.as_object_mut().expect("an object").shift_remove("cost");
    serde_json::to_string(&document).expect("JSON")
}

/// The time that each packet waited, from the events; and of those that still wait at the end, so far.
fn waits(trace: &QueueTrace, end: f64) -> (Vec<f64>, Vec<f64>) {
    let (mut waiting, mut waits) = (VecDeque::new(), Vec::new());
    for event in &trace.events {
        match event.kind {
            '+' => waiting.push_back(event.time),
            'd' => drop(waiting.pop_back()),
            _ => waits.push(event.time - waiting.pop_front().expect("a packet that arrived")),
        }
        assert_eq!(waiting.len() as u64, event.length, "first come first served");
    }
    (waits, waiting.into_iter().map(|arrived| end - arrived).collect())
}

/// Little's law: the integral of the queue's length is the sum of the times that packets spent there.
fn little(port: &PortOutcome, scenario: &Scenario, text: &str) {
    let trace = port.trace.as_ref().expect("traced");
    assert_eq!(trace.events.len() as u64, trace.total, "all events are kept");
    let (left, still) = waits(trace, scenario.duration);
    let (counts, stats) = (&port.counters, &port.stats);
    assert_eq!((left.len(), still.len()), (counts.departures as usize, port.queued_at_end as usize), "{text}");
    let area = stats.mean() * scenario.duration;
    let spent: f64 = left.iter().chain(&still).sum();
    assert!((area - spent).abs() <= 1e-9 * (1.0 + spent), "{}: {area} and {spent}\n{text}", port.name);
    let waited: f64 = left.iter().sum();
    let told = stats.mean_sojourn() * counts.departures as f64;
    assert!((told - waited).abs() <= 1e-9 * (1.0 + waited), "{}: {told} and {waited}\n{text}", port.name);
}

fn laws(scenario: &Scenario, outcome: &Outcome, text: &str) {
    for port in &outcome.ports {
        let counts = &port.counters;
        assert_eq!(
            port.queued_at_start + counts.arrivals,
            counts.departures + counts.drops() + port.queued_at_end,
            "packets at {} of\n{text}",
            port.name
        );
        if scenario.warmup == 0.0 {
            little(port, scenario, text);
        }
    }
    let mut flows = outcome.flows.iter();
    for (entry, traffic) in scenario.traffic.iter().enumerate() {
        let of_entry: Vec<_> = flows.by_ref().take(traffic.flows() as usize).collect();
        for (flow, media) in of_entry.iter().filter_map(|flow| Some((flow, flow.media.as_deref()?))) {
            assert!(media.frames_sent >= media.frames_complete + media.frames_lost, "{media:?}\n{text}");
            // Drops may be of feedback, and at most a window and a queue are in flight.
            let (sent, arrived) = flow.datagrams.map_or((0, 0), |(sent, _)| (sent, u64::from(flow.received)));
            if scenario.warmup == 0.0 {
                assert!(sent >= arrived && sent <= arrived + u64::from(flow.drops) + 700, "{sent} {arrived}\n{text}");
            }
            assert!(media.frozen <= scenario.duration && media.freezes > 0 || media.frozen == 0.0, "{media:?}\n{text}");
        }
        let Some(transfers) = outcome.transfers.get(entry).filter(|_| traffic.is_finite()) else { continue };
        let completed: u64 = of_entry.iter().filter_map(|flow| flow.transfers).map(|of| u64::from(of.completed)).sum();
        let counted = transfers.times.len() as u64;
        if matches!(traffic.load, Load::Pages(_)) {
            // Flows count objects, of which a page has one at least.
            assert!(completed >= counted, "{text}");
        } else {
            assert_eq!(completed, counted, "{text}");
        }
        assert!(transfers.times.iter().all(|time| *time >= 0.0 && time.is_finite()), "{text}");
        if scenario.warmup == 0.0 {
            assert!(transfers.begun >= counted, "{text}");
            // What is complete has been received; headers and the last segment's room apart.
            let received: u64 = of_entry.iter().map(|flow| u64::from(flow.in_order) * u64::from(flow.payload)).sum();
            assert!(received >= transfers.bytes, "{received} B of {} B\n{text}", transfers.bytes);
        }
    }
}

#[test]
fn laws_hold_and_every_way_gives_the_same_result() {
    let rounds = std::env::var("EARLYDROP_NETWORKS").ok().and_then(|n| n.parse().ok()).unwrap_or(60);
    let (mut completed, mut arithmetic, mut stepped) = (0, 0, 0);
    for number in 1..=rounds {
        let (text, scenario) = scenario(number);
        let ways = [
            (Links::Stepped, Events::Lanes),
            (Links::Auto, Events::Lanes),
            (Links::Auto, Events::Large),
            (Links::Auto, Events::Heap),
            (Links::Stepped, Events::Heap),
        ];
        let answers = ways.map(|(links, events)| {
            let outcome = run(&scenario, scenario.seed, links, events).expect("runs");
            laws(&scenario, &outcome, &text);
            completed += outcome.transfers.iter().map(|of| of.times.len()).sum::<usize>();
            if links == Links::Auto {
                arithmetic += usize::from(outcome.links.0 > 0);
                stepped += usize::from(outcome.links.0 == 0);
            }
            everything(&scenario, &outcome)
        });
        for (way, answer) in ways.iter().zip(&answers) {
            if *answer != answers[0] {
                let at = answer.bytes().zip(answers[0].bytes()).take_while(|(a, b)| a == b).count();
                let near = |text: &str| text[at.saturating_sub(80)..(at + 80).min(text.len())].to_string();
                panic!("{way:?} differs: {}\nand {}\n{text}", near(answer), near(&answers[0]));
            }
        }
    }
    assert!(completed > 3_000, "transfers are completed: {completed}");
    assert!(arithmetic >= 6 && stepped >= 6, "both kinds of plans occur: {arithmetic}, {stepped}");
}
