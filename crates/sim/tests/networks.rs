//! What a network does to packets: times to live, rates that change and end, traces, framing, aggregation, loss, reordering,
//! delays of nothing.

use earlydrop_sim::engine::Outcome;
use earlydrop_sim::result;
use earlydrop_sim::run::{run, Events, Links};
use earlydrop_sim::scenario::{check, Doc, Scenario};
use serde_json::Value as Json;

fn scenario(text: &str) -> Scenario {
    Doc::from_toml(text, None).and_then(|doc| check(&doc, None)).unwrap_or_else(|e| panic!("{e}\n{text}"))
}

fn simulate(text: &str) -> (Scenario, Outcome) {
    let scenario = scenario(text);
    let outcome = run(&scenario, scenario.seed, Links::Auto, Events::Lanes).expect("runs");
    (scenario, outcome)
}

fn document(text: &str) -> Json {
    let (scenario, outcome) = simulate(text);
    result::document(&scenario, scenario.seed, &outcome, 0.0)
}

/// One transfer or stream over one bottleneck whose fields are given.
fn over(bottleneck: &str, traffic: &str) -> String {
    format!(
        "name = \"x\"\nduration = \"20 s\"\n[topology]\nkind = \"dumbbell\"\npairs = 1\n\
         access = {{ rate = \"1 Gbit/s\", delay = \"1 ms\" }}\nbottleneck = {{ {bottleneck}, delay = \"5 ms\" }}\n\
         reverse = {{ rate = \"1 Gbit/s\", delay = \"5 ms\" }}\n\
         [queue.bottleneck]\naqm = \"droptail\"\nlimit = 1000\n[[traffic]]\n{traffic}\n"
    )
}

const STREAM: &str = "kind = \"cbr\"\nrate = \"8 Mbit/s\"\nsegment = 1000";

/// Packets that arrived, and that the queue sent.
fn counts(document: &Json) -> (f64, u64) {
    let arrived = document["flows"][0]["throughput_mbps"].as_f64().expect("a number") * 1e6 * 20.0 / 8000.0;
    (arrived.round(), document["queues"]["bottleneck"]["departures"].as_u64().expect("a number"))
}

#[test]
fn a_schedule_that_ends_keeps_its_last_rate() {
    let found = document(&over("rate = { schedule = [[\"0 s\", \"4 Mbit/s\"], [\"10 s\", \"2 Mbit/s\"]] }", STREAM));
    // 5000 packets of 8000 bit in the first half, 2500 in the second; the last ones are on their way.
    let (arrived, _) = counts(&found);
    assert!((7495.0..=7500.0).contains(&arrived), "{arrived}");
    let used = found["queues"]["bottleneck"]["utilisation"].as_f64().expect("a number");
    assert!((used - 1.0).abs() < 1e-3, "against what the link could have sent: {used}");
}

#[test]
fn a_link_that_goes_down_for_good_keeps_what_waits() {
    let (_, outcome) =
        simulate(&over("rate = { schedule = [[\"0 s\", \"10 Mbit/s\"], [\"5 s\", \"0 bit/s\"]] }", STREAM));
    let port = &outcome.ports[0];
    let counts = &port.counters;
    // One packet is on the link for ever; the others wait or find no room.
    assert!((5000..=5002).contains(&counts.departures), "{}", counts.departures);
    assert_eq!((outcome.flows[0].lost, port.queued_at_end), (0, 1000));
    assert_eq!(counts.arrivals, counts.departures + counts.drops() + port.queued_at_end);
}

#[test]
fn a_link_that_comes_back_sends_what_waited() {
    let rate = "rate = { schedule = [[\"0 s\", \"10 Mbit/s\"], [\"1 s\", \"0 bit/s\"], [\"1.5 s\", \"10 Mbit/s\"]], repeat = \"4 s\" }";
    let found = document(&over(rate, STREAM));
    // 3.5 s of every 4 s at 10 Mbit/s carry more than 8 Mbit/s.
    assert!((19_990.0..=20_000.0).contains(&counts(&found).0), "{}", counts(&found).0);
    let longest = found["queues"]["bottleneck"]["queue_max_packets"].as_u64().expect("a number");
    assert!((495..=500).contains(&longest), "half a second of packets waits: {longest}");
}

#[test]
fn a_trace_carries_its_bytes_and_no_more() {
    // 1500 B every 2 ms: 6 Mbit/s, in packets of 1000 B, of which three share two opportunities.
    let (arrived, _) = counts(&document(&over("rate = { trace = [2] }", STREAM)));
    assert!((14_990.0..=15_000.0).contains(&arrived), "{arrived}");
}

#[test]
fn lost_packets_take_their_time_on_the_link() {
    let found = document(&over("rate = \"4 Mbit/s\", loss = { every = 10 }", STREAM));
    let (arrived, sent) = counts(&found);
    let lost = found["flows"][0]["lost"].as_f64().expect("a number");
    assert!((9_990..=10_000).contains(&sent), "the link is full all the same: {sent}");
    assert!(
        (lost - sent as f64 / 10.0).abs() <= 1.0 && (sent as f64 - lost - arrived).abs() <= 20.0,
        "{lost} {arrived}"
    );
    assert_eq!(found["losses"]["on_links"], found["flows"][0]["lost"]);
    let random = document(&over("rate = \"4 Mbit/s\", loss = 0.1", STREAM));
    let share = random["flows"][0]["lost"].as_f64().expect("a number") / sent as f64;
    // Three standard deviations of 10,000 draws: 0.9 %.
    assert!((share - 0.1).abs() < 0.009, "{share}");
}

#[test]
fn framing_takes_time_on_the_link() {
    let rate = |more: &str| counts(&document(&over(&format!("rate = \"4 Mbit/s\"{more}"), STREAM))).0 * 8.0 / 20e3;
    // 1000 B, 1018 B, 22 cells of 53 B for 1040 B, 1000 B and a byte for each of 16 blocks of 64 B.
    for (framing, bytes) in [
        ("", 1000.0),
        (", framing = { overhead = \"18 B\" }", 1018.0),
        (", framing = { overhead = 40, encoding = \"atm\" }", 22.0 * 53.0),
        (", framing = { encoding = \"ptm\" }", 1016.0),
        (", framing = { mpu = 256 }", 1000.0),
    ] {
        let expected = 4.0 * 1000.0 / bytes;
        assert!((rate(framing) - expected).abs() < 0.003, "{framing}: {} for {expected}", rate(framing));
    }
}

#[test]
fn framing_applies_at_a_changing_rate_too() {
    let schedule = "rate = { schedule = [[\"0 s\", \"4 Mbit/s\"], [\"10 s\", \"2 Mbit/s\"]] }";
    let (arrived, _) = counts(&document(&over(&format!("{schedule}, framing = {{ overhead = 250 }}"), STREAM)));
    // Of 1250 B on the wire: 4000 packets, then 2000.
    assert!((5995.0..=6000.0).contains(&arrived), "{arrived}");
}

#[test]
fn aggregates_wait_for_access() {
    let rate = |more: &str| counts(&document(&over(&format!("rate = \"4 Mbit/s\"{more}"), STREAM))).0 * 8.0 / 20e3;
    // Ten packets take 20 ms, then the link waits for 20 ms.
    for limit in ["packets = 10", "bytes = \"10 kB\"", "time = \"20 ms\"", "packets = 10, bytes = \"1 MB\""] {
        let found = rate(&format!(", aggregation = {{ access = \"20 ms\", {limit} }}"));
        assert!((found - 2.0).abs() < 0.005, "{limit}: {found}");
    }
    let changing = "rate = { schedule = [[\"0 s\", \"4 Mbit/s\"], [\"10 s\", \"8 Mbit/s\"]] }";
    let found =
        counts(&document(&over(&format!("{changing}, aggregation = {{ access = \"20 ms\", packets = 10 }}"), STREAM)))
            .0;
    // 250 aggregates of 40 ms, 333 of 30 ms.
    assert!((5810.0..=5840.0).contains(&found), "{found}");
}

#[test]
fn aggregated_acks_release_bursts() {
    // Ten packets of 0.8 ms in a round trip of 15 ms: they need not queue.
    let text = over("rate = \"10 Mbit/s\"", "kind = \"ftp\"\nwindow = 10");
    let longest = |text: &str| {
        let found = document(&text.replacen("duration", "warmup = \"5 s\"\nduration", 1));
        found["queues"]["bottleneck"]["queue_max_packets"].as_u64().expect("a number")
    };
    let acks = "reverse = { rate = \"1 Gbit/s\", aggregation = { access = \"10 ms\", packets = 64 },";
    let (plain, bursts) = (longest(&text), longest(&text.replace("reverse = { rate = \"1 Gbit/s\",", acks)));
    assert!(plain <= 2 && bursts >= 5, "{plain} {bursts}");
}

#[test]
fn reordering_makes_tcp_send_again_what_was_not_lost() {
    let again = |more: &str| {
        let found = document(&over(&format!("rate = \"10 Mbit/s\"{more}"), "kind = \"ftp\"\nwindow = 20"));
        assert_eq!(found["flows"][0]["lost"], 0);
        found["flows"][0]["retransmits"].as_u64().expect("a number")
    };
    assert_eq!(again(""), 0);
    assert_eq!(again(", jitter = \"10 ms\""), 0);
    assert_eq!(again(", jitter = { uniform = [\"0 s\", \"10 ms\"] }"), 0);
    assert!(again(", jitter = { uniform = [\"0 s\", \"10 ms\"], keep_order = false }") > 100);
    let late = "reorder = { probability = 0.01, delay = \"10 ms\" }";
    for before in ["", ", jitter = \"1 ms\""] {
        let again = again(&format!("{before}, {late}"));
        assert!(again > 50, "{before}: {again}");
    }
}

#[test]
fn jitter_beside_loss_keeps_the_order_of_what_arrives() {
    let again = |jitter: &str| {
        let link = format!("rate = \"10 Mbit/s\", loss = 0.02, jitter = {jitter}");
        let found = document(&over(&link, "kind = \"ftp\"\nwindow = 20\ntcp = \"reno\"\nstack = \"rfc\""));
        let count = |key: &str| found["flows"][0][key].as_u64().expect("a number");
        assert!(count("lost") > 10);
        count("retransmits") - count("lost")
    };
    // A probe for the loss of a tail may repeat what has arrived.
    let (kept, overtaking) = (again("\"10 ms\""), again("{ uniform = [\"0 s\", \"10 ms\"], keep_order = false }"));
    assert!(kept < 5 && overtaking > 50, "{kept} {overtaking}");
}

/// Goodput, mean `alpha`, fraction of packets marked, and how many ACKs arrive after one that acknowledges more.
struct Feedback {
    goodput: f64,
    alpha: f64,
    marked: f64,
    overtaken: usize,
}

/// A flow of Prague whose ACKs pass a link with `more`, then a queue that is traced.
fn prague(more: &str, rules: &str) -> Feedback {
    let found = document(&format!(
        "name = 'x'\nduration = '20 s'\nwarmup = '5 s'\n[topology]\nkind = 'graph'\n\
         [[link]]\nfrom = 'a'\nto = 'r'\nrate = '40 Mbit/s'\ndelay = '5 ms'\nqueue = 'there'\n\
         reverse = {{ rate = '1 Gbit/s', queue = 'back' }}\n\
         [[link]]\nfrom = 'r'\nto = 'b'\nrate = '1 Gbit/s'\ndelay = '5 ms'\nreverse = {{ rate = '1 Gbit/s'{more} }}\n\
         [queue.there]\naqm = 'step'\nlimit = '200 packets'\necn = true\nk = '20 packets'\n\
         [queue.back]\naqm = 'droptail'\n\
         [[traffic]]\nkind = 'ftp'\nfrom = 'a'\nto = 'b'\ntcp = 'prague'\nsegment = 1448\nwindow = 5000\nrules = {{ {rules} }}\n\
         [record]\ntrace = 1000000\ntrace_queues = ['back']\ntrace_flow = 1\n"
    ));
    let number = |value: &Json| value.as_f64().expect("a number");
    let list = |value: &Json| value.as_array().expect("a list").clone();
    let acks: Vec<f64> =
        list(&found["trace"]["events"]).iter().filter(|row| row[1] == "+").map(|row| number(&row[3])).collect();
    assert!(acks.len() > 10_000, "{} ACKs", acks.len());
    let (mut most, mut overtaken) = (0.0, 0);
    for ack in acks {
        overtaken += usize::from(ack < most);
        most = ack.max(most);
    }
    let changes = list(&found["variables"]["changes"]);
    let alphas: Vec<f64> =
        changes.iter().filter(|row| row[1] == "alpha" && number(&row[0]) > 5.0).map(|row| number(&row[2])).collect();
    let flow = &found["flows"][0];
    assert_eq!((&flow["drops"], &flow["lost"]), (&0.into(), &0.into()));
    Feedback {
        goodput: number(&flow["goodput_mbps"]),
        alpha: alphas.iter().sum::<f64>() / alphas.len() as f64,
        marked: number(&flow["marks"]) / number(&flow["received_packets"]),
        overtaken,
    }
}

#[test]
fn acks_overtake_where_jitter_does_not_keep_their_order_and_prague_reads_them_right() {
    const BITS: &str = "feedback = 'by_tcp'";
    const OVERTAKING: &str = ", jitter = { uniform = ['0 s', '5 ms'], keep_order = false }";
    let right = |found: &Feedback| {
        let Feedback { goodput, alpha, marked, overtaken } = *found;
        assert!(goodput > 38.0, "{goodput} Mbit/s");
        assert!(marked > 0.05 && (alpha / marked - 1.0).abs() < 0.06, "alpha {alpha}, marked {marked}");
        overtaken
    };
    for rules in ["", BITS] {
        for more in ["", ", jitter = '5 ms'"] {
            assert_eq!(right(&prague(more, rules)), 0, "{more} {rules}");
        }
    }
    // An ACK comes each 0.6 ms, so most are late by more than the next.
    assert!(right(&prague(OVERTAKING, "")) > 5000);
    // The three bits alone tell of marks that there are none of.
    let mistaken = prague(OVERTAKING, BITS);
    assert!(mistaken.overtaken > 5000 && mistaken.marked < 0.01 && mistaken.alpha > 0.05);
    assert!(mistaken.goodput < 25.0, "{} Mbit/s", mistaken.goodput);
}

#[test]
fn a_cycle_without_delays_takes_the_time_of_its_transmissions() {
    let text = "name = \"x\"\nduration = \"0.1 s\"\n[topology]\nkind = \"graph\"\n\
                [[link]]\nfrom = \"a\"\nto = \"r\"\nrate = \"10 Mbit/s\"\ndelay = \"0 s\"\n\
                [[link]]\nfrom = \"r\"\nto = \"b\"\nrate = \"10 Mbit/s\"\ndelay = \"0 s\"\n\
                [[traffic]]\nkind = \"ftp\"\nfrom = \"a\"\nto = \"b\"\nwindow = 1\n";
    let found = document(text);
    // One segment of 1040 B at a time over two links, and an ACK of 40 B back: 1.728 ms. The SYN takes 0.128 ms.
    let segments = found["flows"][0]["throughput_mbps"].as_f64().expect("a number") * 1e6 * 0.1 / 8000.0;
    assert_eq!(segments.round(), ((0.1 - 0.000_128 - 0.001_664) / 0.001_728_f64).floor() + 1.0);
}

/// Links of 1000 Tbit/s without a delay, there and back, of which a flow waits for ACKs over none alone.
#[test]
fn links_that_take_no_time_beside_one_that_does_are_simulated() {
    let fast = |from: &str, to: &str| {
        format!("[[link]]\nfrom = \"{from}\"\nto = \"{to}\"\nrate = \"1000 Tbit/s\"\ndelay = \"0 s\"\n")
    };
    let network = "name = \"x\"\nduration = \"10 s\"\n[topology]\nkind = \"graph\"\n".to_string()
        + &fast("a", "r")
        + "[[link]]\nfrom = \"r\"\nto = \"s\"\nrate = \"1 Mbit/s\"\ndelay = \"0 s\"\n"
        + &fast("s", "b");
    let ftp = "[[traffic]]\nkind = \"ftp\"\nfrom = \"a\"\nto = \"b\"\nwindow = 1\n";
    let found = document(&(network.clone() + ftp));
    // 1040 B there and 40 B back, 8.64 ms, again and again; the SYN and its ACK take 0.64 ms.
    let segments = found["flows"][0]["throughput_mbps"].as_f64().expect("a number") * 1e6 * 10.0 / 8000.0;
    assert_eq!(segments.round(), ((10.0 - 0.000_64 - 0.008_32) / 0.008_64_f64).floor() + 1.0);
    // Nobody waits for an answer to these: a packet every 8 ms from 0 s on, and what is on its way at the end.
    let cbr =
        "[[traffic]]\nkind = \"cbr\"\nrate = \"1 Mbit/s\"\nsegment = 1000\nheader = 0\nfrom = \"a\"\nto = \"r\"\n";
    let found = document(&(network + cbr));
    let packets = found["flows"][0]["received_packets"].as_u64().expect("a number");
    assert!((1250..=1251).contains(&packets), "{packets}");
}

#[test]
fn a_time_to_live_that_is_used_up_lets_nothing_through() {
    // Four links each way.
    let of = |ttl: u32| {
        let text = format!(
            "name = \"x\"\nduration = \"10 s\"\n[topology]\nkind = \"bus\"\nrouters = 3\n\
             [queue.routers]\naqm = \"droptail\"\n\
             [[traffic]]\nkind = \"ftp\"\nfrom = \"h1\"\nto = \"h3\"\nttl = {ttl}\n"
        );
        let (_, outcome) = simulate(&text);
        (outcome.flows[0].in_order > 0, outcome.flows[0].expired)
    };
    assert_eq!(of(5), (true, 0));
    // The SYN at 0 s, again after 3 s and, with the timer doubled, after 6 s more.
    assert_eq!(of(4), (false, 3));
    assert_eq!(of(1), (false, 3));
}

#[test]
fn losses_are_weighted_by_the_links_behind_them() {
    let text = "name = \"x\"\nduration = \"5 s\"\n[topology]\nkind = \"bus\"\nrouters = 4\n\
                [queue.\"r1>r2\"]\naqm = \"droptail\"\nlimit = 5\n[queue.\"r3>r4\"]\naqm = \"droptail\"\nlimit = 5\n\
                [queue.routers]\naqm = \"droptail\"\nlimit = 1000\n\
                [[traffic]]\nkind = \"cbr\"\nrate = \"12 Mbit/s\"\nfrom = \"h1\"\nto = \"h4\"\n\
                [[traffic]]\nkind = \"cbr\"\nrate = \"2 Mbit/s\"\nfrom = \"h3\"\nto = \"h4\"\n";
    let text = text.replace("kind = \"bus\"", "kind = \"bus\"\naccess = { rate = \"100 Mbit/s\", delay = \"1 ms\" }");
    let found = document(&text);
    let drops = |name: &str| found["queues"][name]["overflow_drops"].as_u64().expect("a number");
    let at = |distance: usize| found["losses"]["by_distance"][distance].as_u64().expect("a number");
    assert!(drops("r1>r2") > 1000 && drops("r3>r4") > 1000);
    // At r3 the packets of h1 have passed three links, those of h3 one.
    let near = found["flows"][1]["drops"].as_u64().expect("a number");
    assert_eq!((at(0), at(1), at(2)), (0, drops("r1>r2") + near, 0));
    assert_eq!(at(3), drops("r3>r4") - near);
    assert_eq!(found["losses"]["weighted"].as_u64(), Some(at(1) + 3 * at(3)));
}

/// Data of eight transfers and ACKs of one that goes the other way: what the queue dropped of each.
fn dropped_of_data_and_acks(option: &str) -> (u64, u64) {
    let found = document(&format!(
        "name = \"x\"\nduration = \"20 s\"\n[topology]\nkind = \"dumbbell\"\npairs = 2\n\
         access = {{ rate = \"1 Gbit/s\", delay = \"1 ms\" }}\nbottleneck = {{ rate = \"2 Mbit/s\", delay = \"5 ms\" }}\n\
         reverse = {{ rate = \"5 Mbit/s\", delay = \"5 ms\" }}\n\
         [queue.bottleneck]\naqm = \"ddtail\"\nlimit = 30\nno_option = \"farthest\"\n\
         [[traffic]]\nkind = \"ftp\"\ncount = 8\nttl_option = {option}\n\
         [[traffic]]\nkind = \"ftp\"\ncount = 1\ndirection = \"reverse\"\nttl_option = {option}\n"
    ));
    let drops = |entry: usize| found["traffic"][entry]["drops"].as_u64().expect("a number");
    (drops(0), drops(1))
}

#[test]
fn acks_may_leave_their_time_to_live_out() {
    let (data, acks) = dropped_of_data_and_acks("true");
    assert!(data > 0 && acks > 0, "all from equally far: {data} and {acks}");
    let (data, spared) = dropped_of_data_and_acks("\"data\"");
    // An ACK still dies in a queue of ACKs alone.
    assert!(data > 0 && spared * 10 < acks, "ACKs count as from farthest away: {spared} against {acks}");
    let (data, acks) = dropped_of_data_and_acks("false");
    assert!(data > 0 && acks > 0, "nobody tells: {data} and {acks}");
}

/// FQ-CoDel in Linux's dialect drops many packets for one that does not fit: in the trace each drop has what is left
/// after the last, and the next arrival finds that.
#[test]
fn the_drops_of_one_arrival_have_what_is_left_after_the_last() {
    let text = "name = 'batch'\nduration = '2 s'\n[topology]\nkind = 'dumbbell'\npairs = 1\n\
        access = { rate = '100 Mbit/s', delay = '1 ms' }\nbottleneck = { rate = '1 Mbit/s', delay = '1 ms' }\n\
        [queue.bottleneck]\naqm = 'fq_codel'\ndialect = 'linux'\nlimit = '100 packets'\n\
        [[traffic]]\nkind = 'cbr'\nrate = '5 Mbit/s'\n[record]\ntrace = 4000\n";
    let document = document(text);
    let rows = document["trace"]["events"].as_array().expect("a trace");
    let events: Vec<(&str, u64)> =
        rows.iter().map(|row| (row[1].as_str().expect("a word"), row[5].as_u64().expect("a number"))).collect();
    let mut seen = 0;
    let mut waiting = 0;
    for batch in events.chunk_by(|one, next| one.0 == "d" && one == next) {
        if batch[0].0 == "d" {
            seen += usize::from(batch.len() > 1);
            let left = waiting - batch.len() as u64;
            assert!(batch.iter().all(|drop| drop.1 == left), "{left} after {batch:?}");
        }
        waiting = batch[0].1;
    }
    assert!(seen > 5, "{seen} batches");
}
