//! Networks of today, whose hosts run ahead of time: unlike delays, modern stacks, queues that decide at departures. Where
//! delays are in simple ratios events tie, and the run starts again without.

use super::{agree, build, check, rounds, run, Doc, Draw, Events, Links, Plan};
use earlydrop_aqm::random::Generator;

const QUEUES: [&str; 12] = [
    "aqm = \"fq_codel\"\necn = true",
    "aqm = \"fq_codel\"\nlimit = \"30 packets\"",
    "aqm = \"codel\"",
    "aqm = \"cake\"",
    "aqm = \"dualpi2\"\necn = true",
    "aqm = \"pie\"\necn = true",
    "aqm = \"red\"\nmin_th = 5\nmax_th = 20\nlimit = \"60 packets\"",
    "aqm = \"droptail\"\nlimit = \"20 packets\"",
    "aqm = \"droptail\"\nlimit = \"500 packets\"",
    "aqm = \"fq_pie\"",
    "aqm = \"cobalt\"",
    "parent = \"tbf\"\nrate = \"4 Mbit/s\"\nchild = { aqm = \"fq_codel\" }",
];

const TCPS: [&str; 12] = [
    "tcp = \"cubic\"\nstack = \"linux-6.18\"",
    "tcp = \"cubic\"\nstack = \"linux-6.18\"\necn = true",
    "tcp = \"reno\"\nstack = \"linux-6.18\"",
    "tcp = \"bbr\"\nstack = \"linux-6.18\"",
    "tcp = \"prague\"\nstack = \"rfc\"\necn = true",
    "tcp = \"dctcp\"\nstack = \"rfc\"\necn = true",
    "tcp = \"bbr3\"\nstack = \"rfc\"",
    "tcp = \"cubic\"\nstack = \"quic\"",
    "tcp = \"reno\"\nstack = \"rfc\"\nrules.pacing = true",
    "tcp = \"newreno\"",
    "tcp = \"sack\"",
    "tcp = \"vegas\"",
];

fn network(number: u64, in_step: bool) -> String {
    let mut draw = Draw(Generator::stream(number, "test.same_results.ahead"));
    let pairs = 1 + draw.index(8);
    let drawn = ["{ uniform = [\"1 ms\", \"40 ms\"] }", "{ uniform = [\"1 ms\", \"5 ms\"] }"];
    let equal = (1..=pairs).map(|pair| format!("\"{pair} ms\"")).collect::<Vec<_>>().join(", ");
    let equal = format!("[{equal}]");
    let senders = if in_step { &equal } else { draw.of(&drawn) };
    let mut text = format!(
        "name = \"ahead {number}\"\nduration = \"4 s\"\nwarmup = \"{}\"\nseed = {number}\n\n[record]\ntrace = 1000000\n\
         trace_queues = \"all\"\n{}{}\n[topology]\nkind = \"dumbbell\"\npairs = {pairs}\n\
         senders = {{ rate = \"{}\", delay = {senders} }}\nreceivers = {{ rate = \"{}\", delay = {} }}\n\
         bottleneck = {{ rate = \"{}\", delay = \"{}\"{} }}\nreverse = {{ rate = \"{}\", delay = \"4 ms\" }}\n",
        draw.of(&["0 s", "1 s", "2.5 s"]),
        draw.of(&["", "series = \"50 ms\"\n", "cwnd_flows = [1]\nseries = \"50 ms\"\n", "by_flow = true\n", "rates = \"0.5 s\"\njitter = true\n"]),
        draw.of(&["", "trace_flow = 1\n", "delay_flows = [1]\n"]),
        draw.of(&["10 Mbit/s", "100 Mbit/s", "1 Gbit/s"]),
        draw.of(&["10 Mbit/s", "1 Gbit/s"]),
        draw.of(&["\"1 ms\"", "\"1 ms\"", "{ uniform = [\"1 ms\", \"5 ms\"] }"]),
        draw.of(&["5 Mbit/s", "10 Mbit/s", "20 Mbit/s"]),
        draw.of(&["1 ms", "5 ms"]),
        draw.of(&["", "", "", ", loss = 0.01", ", jitter = { uniform = [\"0 s\", \"2 ms\"], keep_order = false }", ", jitter = \"3 ms\""]),
        draw.of(&["1 Mbit/s", "10 Mbit/s", "20 Mbit/s"]),
    );
    text += &format!("\n[queue.bottleneck]\n{}\n", draw.of(&QUEUES));
    if draw.index(2) == 0 {
        text += &format!("\n[queue.reverse]\n{}\n", draw.of(&QUEUES[..11]));
    }
    for _ in 0..1 + draw.index(3) {
        let window = draw.of(&["", "", "window = 8\n"]);
        text += &format!(
            "\n[[traffic]]\nkind = \"ftp\"\ncount = {}\n{}\nsegment = \"1448 B\"\n{window}direction = \"{}\"\nstart = {}\n",
            1 + draw.index(pairs),
            draw.of(&TCPS),
            draw.of(&["forward", "forward", "forward", "reverse"]),
            draw.of(&["{ uniform = [\"0 s\", \"1 s\"] }", "\"0 s\""]),
        );
    }
    text + draw.of(&[
        "",
        "",
        "\n[[traffic]]\nkind = \"cbr\"\nrate = \"500 kbit/s\"\nsegment = \"200 B\"\nstart = \"0.3 s\"\n",
        "\n[[traffic]]\nkind = \"transfers\"\nsize = \"40 kB\"\nnumber = \"endless\"\nthink = { exponential = \"0.1 s\" }\ncount = 2\n",
        "\n[[traffic]]\nkind = \"media\"\ncontrol = \"scream\"\ncount = 1\n",
    ])
}

#[test]
fn hosts_ahead_of_time_give_the_same_result() {
    for (in_step, least) in [(false, 0.3), (true, 0.0)] {
        let (mut tried, mut held, mut packets) = (0, 0, 0);
        let numbers = 1..=rounds(60);
        let all = numbers.clone().count();
        for number in numbers {
            let text = network(number, in_step);
            let scenario = Doc::from_toml(&text, None).and_then(|doc| check(&doc, None));
            let scenario = scenario.unwrap_or_else(|e| panic!("{number}: {e}\n{text}"));
            let (plan, arrived) = agree(&text, &scenario);
            packets += arrived;
            let network = build(&scenario, scenario.seed).expect("a network");
            let Some(ahead) = Plan::with_hosts_ahead(&plan, &network) else { continue };
            let outcome = run(&scenario, scenario.seed, Links::Auto, Events::Lanes).expect("runs");
            tried += 1;
            held += usize::from(outcome.links == ahead.count());
        }
        assert!(packets > 100_000, "the networks are alive: {packets}");
        assert!(held as f64 >= least * all as f64, "{held} of {tried} runs ahead of time were not contradicted");
        assert!(!in_step || held < tried, "some are contradicted: {held} of {tried}");
    }
}
