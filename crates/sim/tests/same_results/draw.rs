//! Scenarios drawn at random: dumbbells with every discipline, traffic and TCP.

use earlydrop_aqm::random::Generator;
use earlydrop_sim::scenario::{check, Doc, Scenario};

/// Random choices.
pub struct Draw(pub Generator);

impl Draw {
    pub fn index(&mut self, n: usize) -> usize {
        (self.0.uniform() * n as f64) as usize
    }

    pub fn of<'a>(&mut self, words: &[&'a str]) -> &'a str {
        words[self.index(words.len())]
    }

    pub fn more_of_the_first<'a>(&mut self, words: &[&'a str]) -> &'a str {
        words[self.index(words.len() + 4).saturating_sub(4)]
    }
}

/// The values from which a network is drawn.
pub struct Choices {
    pub rates: &'static [&'static str],
    pub bottlenecks: &'static [&'static str],
    pub reverse_rates: &'static [&'static str],
    /// Of access links; the first is the most probable.
    pub delays: &'static [&'static str],
    pub bottleneck_delays: &'static [&'static str],
    pub reverse_delays: &'static [&'static str],
    pub starts: &'static [&'static str],
    /// Payload and header, bytes.
    pub sizes: &'static [(&'static str, &'static str)],
    pub tupdates: &'static [&'static str],
}

/// Rates in simple ratios, and delays in whole milliseconds or equal to transmission times, so that events often
/// coincide.
pub const DECIMAL: Choices = Choices {
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

/// Every time is a small multiple of a power of two: no sum is rounded, and whatever can coincide does, to the last
/// bit, also with the updates of a discipline. 1024 B take 2^-7 s at the slowest rate, an ACK 5 * 2^-14 s.
pub const BINARY: Choices = Choices {
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

/// A random dumbbell, with packets of several sizes, whose ACKs overtake each other.
pub fn scenario(number: u64) -> (String, Scenario) {
    checked(number, drawn(number))
}

/// The same with all TCPs: up to three share the flows of an entry, with options of their own.
pub fn scenario_of_tcps(number: u64) -> (String, Scenario) {
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
            text += &format!("rules.limited_transmit = {}\n", draw.of(&["true", "true", "false"]));
            text += draw.of(&["", "", "rules.min_rto = \"1 s\"\n"]);
            // Also equal to delays of links.
            text +=
                &format!("rules.delayed_ack = {}\n", draw.of(&["false", "false", "true", "\"5 ms\"", "\"0.25 s\""]));
            text += &format!("window = {}\n", draw.of(&["1000", "1000", "6"]));
        }
    }
    checked(number, text)
}

/// The same with the stack `rfc`: every congestion control, with options of all kinds, and some flows of ns-2's TCP.
pub fn scenario_of_rfc(number: u64) -> (String, Scenario) {
    let mut draw = Draw(Generator::stream(number, "test.same_results.rfc"));
    let drawn = drawn(number);
    let mut entries = drawn.split("\n[[traffic]]\n");
    let mut text = entries.next().expect("the network").to_string();
    if draw.index(2) == 0 {
        text = text.replace("\nlimit = ", "\necn = true\nlimit = ");
    }
    // In half of the networks all flows of an entry are equal: in the others there are more packet sizes.
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

/// Keys of a traffic entry, nine in ten of the stack `rfc`.
pub fn rfc_keys(draw: &mut Draw) -> String {
    if draw.index(10) == 0 {
        return format!("tcp = \"{}\"\nstack = \"ns2-2.35\"\n", draw.of(&["reno", "sack"]));
    }
    let tcp = draw.of(&["reno", "reno", "newreno", "sack", "cubic", "cubic", "dctcp", "bbr", "ledbat", "prague"]);
    let mut text = format!("tcp = \"{tcp}\"\nstack = \"rfc\"\n");
    // Also equal to delays of links.
    text += &format!("rules.delayed_ack = {}\n", draw.more_of_the_first(&["false", "true", "\"5 ms\"", "\"0.25 s\""]));
    text += &format!("window = {}\n", draw.of(&["1000", "1000", "6", "\"5000 B\""]));
    text += &format!("rules.min_rto = \"{}\"\n", draw.of(&["1 s", "0.2 s", "5 ms"]));
    if tcp != "ledbat" {
        text += &format!("rules.timestamps = {}\n", draw.of(&["true", "false"]));
    }
    if !matches!(tcp, "bbr" | "prague") {
        text += &format!("rules.pacing = {}\n", draw.of(&["true", "false", "false"]));
    }
    if tcp != "newreno" {
        text += &format!("rules.rack = {}\n", draw.of(&["true", "false", "false"]));
    }
    text += &format!("ecn = {}\n", draw.of(&["true", "false"]));
    text += draw.of(&["", "", "rules.initial_window = 1\n", "rules.pacing_burst = 4\n", "rules.send_pairs = true\n"]);
    text += draw.of(&["", "", "rules.growth = \"arrived\"\nrules.ssthresh = \"cwnd\"\nrules.prr = \"safe_ack\"\n"]);
    text += draw.of(&[
        "",
        "",
        "rules.hystart = true\n",
        "rules.avoidance = \"per_ack\"\n",
        "rules.limited_transmit = false\n",
    ]);
    text += draw.of(&[
        "",
        "",
        "rules.late_sack = \"compressed\"\nrules.feedback = \"accecn\"\n",
        "rules.push_ack = \"at_once\"\nrules.repair_timer = \"restarts\"\nrules.frto = \"on\"\n",
    ]);
    text
}

pub fn drawn(number: u64) -> String {
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
    // Another packet size on the same hosts in a quarter of the networks, a late flow in another quarter.
    match transfer(flows, start) {
        0 => transfer(flows, "\"0 s\""),
        1 => transfer(1, "\"2 s\""),
        _ => 0,
    };
    // A flow without congestion control in a third, with intervals equal to transmission times.
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

/// PI has two kinds: as in ns-2, and with a derivative.
pub const AQMS: [&str; 9] = ["droptail", "red", "nlred", "tred", "rem", "pi", "pi", "avq", "yellow"];

/// Parameters with which a discipline acts within seconds.
pub fn parameters(draw: &mut Draw, of: &Choices, aqm: &str) -> String {
    // Updates at intervals equal to transmission times or delays, so that they coincide with arrivals.
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
        "pi" => format!(
            "a = 0.002\nb = 0.0018\nkd = {}\nq_ref = {q_ref}\ntupdate = \"{tupdate}\"\ndialect = \"{dialect}\"\n",
            if dialect == "ns2" { "0" } else { "0.002" }
        ),
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

pub fn checked(number: u64, mut text: String) -> (String, Scenario) {
    if number % 2 == 1 {
        // Intervals that contain many starts and ends of transmissions, and others.
        let interval = ["0.125 s", "100 ms", "130 ms"][number as usize / 2 % 3];
        let rates = format!("[record]\nrates = \"{interval}\"\nrate_flows = [1]\nrate_queues = \"all\"\n");
        text = text.replace("[record]\n", &rates);
    }
    // Receivers with recorded delays use other code than plain ones.
    if number % 3 == 2 {
        text = text.replace("[record]\n", "[record]\njitter = true\ndelay_flows = [1]\nlosses = true\n");
    }
    effective(number, text)
}

/// The scenario without drawn rules that have no effect.
pub fn effective(number: u64, mut text: String) -> (String, Scenario) {
    loop {
        let error = match Doc::from_toml(&text, None).and_then(|doc| check(&doc, None)) {
            Ok(scenario) => return (text, scenario),
            Err(error) => error,
        };
        let rule = error.path.strip_prefix("traffic[").and_then(|rest| rest.split_once("]."));
        let (entry, rule) = rule
            .filter(|_| error.message.starts_with("has no effect"))
            .unwrap_or_else(|| panic!("{number}: {error}\n{text}"));
        let (entry, mut at) = (entry.parse::<usize>().expect("a number") + 1, 0);
        let lines = text.lines().filter(|line| {
            at += usize::from(*line == "[[traffic]]");
            at != entry || !line.starts_with(&format!("{rule} = "))
        });
        text = lines.fold(String::new(), |all, line| all + line + "\n");
    }
}
