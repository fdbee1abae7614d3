//! Scenarios as TOML, made of an input's choices. Rates are low, so that a run has at most some thousand packets.

use crate::{disciplines, Input};
use earlydrop_aqm::params::{Param, Unit, Value, Values};
use earlydrop_aqm::{catalogue, markers, parents};

/// Rates in simple ratios, so that events coincide.
const RATES: &[&str] = &["1 Mbit/s", "500 kbit/s", "64 kbit/s", "2 Mbit/s", "1048576 bit/s", "5 Mbit/s", "9600 bit/s"];
const ACCESS: &[&str] = &["10 Mbit/s", "1 Mbit/s", "5 Mbit/s", "100 Mbit/s", "4194304 bit/s"];
const DELAYS: &[&str] = &["5 ms", "0 s", "1 ms", "0.8 ms", "40 ms", "0.00390625 s", "300 ms", "32 us"];
const SIZES: &[&str] = &["1000", "960", "500", "1460", "100", "536"];
const DATA: &[&str] = &["'10 packets'", "0", "{ uniform = ['1 kB', '30 kB'] }", "{ sample = ['1 kB', 0, '9 kB'] }"];
const TIMES: &[&str] = &["'10 ms'", "'0 s'", "{ exponential = '50 ms' }", "'300 ms'"];
const TCPS: &[&str] = &[
    "tcp = 'reno'",
    "tcp = 'sack'",
    "tcp = 'newreno'",
    "tcp = 'tahoe'",
    "tcp = 'vegas'",
    "tcp = 'cubic'",
    "tcp = 'dctcp'\necn = true",
    "tcp = 'bbr'",
    "tcp = 'ledbat'",
    "stack = 'rfc'\ntcp = 'ledbatpp'",
    "stack = 'rfc'\ntcp = 'cubic'\nrules = { hystart = 'search' }",
    "tcp = 'prague'\necn = true",
    "stack = 'linux-6.18'\ntcp = 'cubic'",
    "stack = 'linux-6.18'\ntcp = 'reno'\necn = true",
    "stack = 'linux-6.18'\ntcp = 'bbr'",
    "stack = 'quic'\ntcp = 'reno'\necn = true",
    "stack = 'quic'\ntcp = 'bbr3'\nrules = { ack_threshold = 9, reordering_threshold = 3 }",
    "stack = 'rfc'\ntcp = 'reno'\nrules = { rack = true, pacing = true }",
    "stack = 'rfc'\ntcp = 'sack'\nrules = { fin = true }",
    "tcp = 'reno'\nrules = { delayed_ack = true }\necn = true",
    "stack = 'rfc'\ntcp = 'reno'\necn = true\nrules = { feedback = 'accecn' }",
    "stack = 'linux-6.18'\ntcp = 'cubic'\necn = true\nrules = { feedback = 'accecn', ecn_plus = 'on' }",
    "stack = 'rfc'\ntcp = 'dctcp'\nrules = { feedback = 'accecn', server_ecn = 'classic' }",
    "stack = 'rfc'\ntcp = 'prague'\nrules = { server_ecn = 'none' }",
    "stack = 'linux-6.18'\ntcp = 'cubic'\nwindow = '1400 B'\nrules = { receive_window = 'fixed' }",
    "stack = 'linux-6.18'\ntcp = 'bbr'\nwindow = '2500 B'",
    "stack = 'rfc'\ntcp = 'cubic'\nwindow = '1 B'",
    "stack = 'rfc'\ntcp = 'reno'\nreading = { rate = '200 kbit/s' }\nwindow = '1300 B'",
    "stack = 'rfc'\ntcp = 'reno'\nreading = { pause = '100 ms', every = '300 ms' }\nwindow = 4",
];
/// Numbers that stand where others stood, and the largest.
const HOSTILE: &[&str] =
    &["0", "1", "-1", "2", "7", "40", "1e-9", "1e-300", "2e-17", "0.001", "0.5", "1400", "9000", "nan"];
const LARGEST: &[&str] =
    &["65535", "65536", "1e300", "1e9", "1000000", "999999999", "9223372036854775807", "1e5", "100000"];
/// Kinds of networks, and the keys of their queues.
const KINDS: &[(&str, &[&str])] = &[
    ("dumbbell", &["bottleneck", "reverse"]),
    ("parking_lot", &["bottleneck", "reverse"]),
    ("star", &["bottleneck"]),
    ("bus", &["routers"]),
    ("flower", &["routers"]),
    ("two_flow", &["bottleneck", "reverse"]),
    ("random", &["routers"]),
    ("graph", &["q"]),
];

/// The text of a scenario; not all of them pass the checker. `any`: also disciplines whose parameters are far from
/// useful ones, and links with loss, jitter or varying rates.
pub fn scenario(input: &mut Input<'_>, seconds: &str, any: bool) -> String {
    let (kind, queues) = input.of(KINDS);
    let warmup = input.of(&["0 s", "0 s", "0.1 s"]);
    let mut text = format!(
        "name = 'fuzz'\nduration = '{seconds} s'\nwarmup = '{warmup}'\nseed = {}\n\
         [record]\ntrace = 100\ntrace_queues = 'all'\n{}[topology]\nkind = '{kind}'\n",
        input.below(1000),
        input.of(&[
            "",
            "",
            "jitter = true\nlosses = true\n",
            "by_flow = true\n",
            "series = '50 ms'\ngauges = true\n",
            "transfers = true\n"
        ]),
    );
    topology(input, kind, any, &mut text);
    for (number, key) in queues.iter().enumerate() {
        if number == 0 || input.one_in(3) {
            text += &queue(input, key, any);
        }
    }
    let mut named = Vec::new();
    for number in 0..=input.below(3) {
        text += &traffic(input, kind == "graph", number, &mut named);
    }
    text
}

/// The text of a scenario in which other numbers stand, hostile ones, and with `large` large ones too.
pub fn hostile(input: &mut Input<'_>, large: bool) -> String {
    let mut text = scenario(input, "2", true);
    for _ in 0..1 + input.below(4) {
        let digit = |at: usize| text.as_bytes().get(at).is_some_and(|byte| byte.is_ascii_digit() || *byte == b'.');
        let starts: Vec<usize> = (1..text.len()).filter(|&at| digit(at) && !digit(at - 1)).collect();
        let from = input.of(&starts);
        let to = (from..text.len()).find(|&at| !digit(at)).unwrap_or(text.len());
        let number = if large && input.one_in(2) { input.of(LARGEST) } else { input.of(HOSTILE) };
        text.replace_range(from..to, number);
    }
    text
}

fn link(input: &mut Input<'_>, rates: &[&str], any: bool) -> String {
    let (rate, delay) = (input.of(rates), input.of(DELAYS));
    if !any || !input.one_in(4) {
        return format!("{{ rate = '{rate}', delay = '{delay}' }}");
    }
    let rate = match input.below(4) {
        0 => {
            format!("{{ schedule = [['0 s', '{rate}'], ['0.5 s', '0 bit/s'], ['0.6 s', '1 Mbit/s']], repeat = '1 s' }}")
        }
        1 => "{ trace = [1, 1, 2, 5, 7, 12] }".to_string(),
        _ => format!("'{rate}'"),
    };
    let more = input.of(&[
        "",
        ", link_layer = 'ip'",
        ", loss = 0.05",
        ", loss = { every = 7 }",
        ", jitter = { uniform = ['0 s', '3 ms'], keep_order = false }",
        ", jitter = { uniform = ['1 ms', '8 ms'] }",
        ", reorder = { probability = 0.1, delay = '5 ms' }",
        ", aggregation = { access = '1 ms', packets = 8, time = '2 ms' }",
        ", framing = { overhead = '40 B', mpu = '64 B', encoding = 'atm' }",
        ", framing = { overhead = 22, encoding = 'ptm' }",
    ]);
    let by_name = input.of(&[
        "",
        "",
        "",
        "model = 'lte-drive', ",
        "model = 'starlink-drive direction=up change_loss=0.5', ",
        "rate = '20 Mbit/s', model = 'docsis-up map=1ms', ",
        "rate = '20 Mbit/s', model = { name = 'geo', elevation = 0 }, ",
        "rate = '20 Mbit/s', model = 'wifi', ",
        "model = { name = 'process', step = '10 ms', rate = [[0.1, '0 bit/s'], [0.9, '9 Mbit/s']], memory = [['1 s', 1]] }, ",
    ]);
    if any && !by_name.is_empty() {
        return format!("{{ {by_name}delay = '{delay}' }}");
    }
    format!("{{ rate = {rate}, delay = '{delay}'{more} }}")
}

fn topology(input: &mut Input<'_>, kind: &str, any: bool, text: &mut String) {
    let mut one = |input: &mut Input<'_>, key: &str, core: bool| {
        let of = link(input, if core { RATES } else { ACCESS }, any);
        *text += &format!("{key} = {of}\n");
    };
    match kind {
        "dumbbell" => ["access", "bottleneck"].map(|key| one(input, key, key == "bottleneck")).len(),
        "parking_lot" => ["access", "bottleneck"].map(|key| one(input, key, key == "bottleneck")).len(),
        "two_flow" => ["first", "link"].map(|key| one(input, key, key == "link")).len(),
        "star" => ["access"].map(|key| one(input, key, true)).len(),
        "graph" => 0,
        _ => ["core", "access"].map(|key| one(input, key, key == "core")).len(),
    };
    let few = input.below(5);
    *text += &match kind {
        "dumbbell" => format!("pairs = {}\n", 1 + few),
        "parking_lot" => format!("bottlenecks = {}\npairs = {few}\ncross = {}\n", 1 + few % 3, 1 + input.below(2)),
        "star" => format!("hosts = {}\n", 2 + few),
        "bus" => format!("routers = {}\n", 2 + few % 4),
        "flower" => format!("petals = {}\npetal = {}\n", 2 + few % 2, few),
        "random" => format!("routers = {}\ngraph_seed = {}\ndegree = 3\n", 2 + few, input.below(100)),
        "graph" => "pairs = 'random'\n".to_string(),
        _ => String::new(),
    };
    if kind == "graph" {
        // A ring of one-way links with a host at each router.
        let routers = 3 + few % 3;
        for at in 0..routers {
            let (core, access) = (input.of(RATES), input.of(ACCESS));
            let (delay, next) = (input.of(DELAYS), (at + 1) % routers);
            *text += &format!(
                "[[link]]\nfrom = 'r{at}'\nto = 'r{next}'\nqueue = 'q'\nreverse = false\nrate = '{core}'\n\
                 delay = '{delay}'\n[[link]]\nfrom = 'h{at}'\nto = 'r{at}'\nreverse = {{ queue = 'q' }}\n\
                 rate = '{access}'\ndelay = '1 ms'\n"
            );
        }
    }
}

fn queue(input: &mut Input<'_>, key: &str, any: bool) -> String {
    let spec = input.of(catalogue::all());
    let limit = input.of(&["20", "5", "'30 kB'", "60", "1000", "1"]);
    let ecn = if input.one_in(2) { "ecn = true\n" } else { "" };
    let (mut text, mut place) = (String::new(), key.to_string());
    if any && input.one_in(8) {
        let spec = &parents::all()[input.below(parents::all().len())];
        text += &format!("[queue.{key}]\nparent = '{}'\n", spec.name);
        text += &lines(&disciplines::values(input, spec.params.iter()), spec.params.iter());
        place += ".child";
    }
    text += &format!("[queue.{place}]\naqm = '{}'\nlimit = {limit}\n{ecn}", spec.name);
    if !any {
        let quick = [("min_th", "2"), ("max_th", "8"), ("w_q", "0.05"), ("q_ref", "2")];
        let known = quick.iter().filter(|(name, _)| spec.param(name).is_some() && !spec.name.contains("floadautored"));
        known.for_each(|(name, value)| text += &format!("{name} = {value}\n"));
        return text;
    }
    let values = disciplines::values(input, spec.all_params());
    text += &lines(&values, spec.all_params());
    if input.one_in(8) {
        let spec = &markers::all()[input.below(markers::all().len())];
        let values = disciplines::values(input, spec.all_params());
        text += &format!("[queue.{place}.marker]\nkind = '{}'\n{}", spec.name, lines(&values, spec.all_params()));
    }
    text
}

/// The values given of these parameters, as a scenario has them.
fn lines(values: &Values, params: impl Iterator<Item = &'static Param>) -> String {
    let line = |param: &'static Param| {
        let written = match values.given(param.name)? {
            Value::Real(x) => match param.unit {
                Unit::Seconds => format!("'{x:?} s'"),
                Unit::Bytes => format!("'{x:?} B'"),
                Unit::Rate => format!("'{x:?} bit/s'"),
                Unit::None | Unit::QueueLength => format!("{x:?}"),
            },
            Value::Choice(word) => format!("'{word}'"),
            Value::Text(text) => format!("{:?}", text.as_str()),
            Value::Auto => "'auto'".to_string(),
            Value::QueueBytes(x) => format!("'{x} B'"),
            value @ (Value::Whole(_) | Value::Flag(_)) => value.to_string(),
        };
        Some(format!("{} = {written}\n", param.name))
    };
    params.filter_map(line).collect()
}

/// `named`: the entries before that `reverse_of` can name.
fn traffic(input: &mut Input<'_>, drawn_pairs: bool, at: usize, named: &mut Vec<String>) -> String {
    let kind = input.of(&[
        "ftp",
        "transfers",
        "cbr",
        "requests",
        "web",
        "pages",
        "onoff",
        "poisson",
        "voip",
        "video",
        "media",
        "outside",
    ]);
    if !named.is_empty() && input.one_in(2) {
        let name = named.swap_remove(input.below(named.len()));
        return format!(
            "[[traffic]]\nkind = 'ftp'\nreverse_of = '{name}'\nstart = '{} ms'\n{}",
            input.of(&[0, 20, 700]),
            input.of(&["", "lifetime = '0.6 s'\n", "class = 2\n"])
        );
    }
    let (size, data, think) = (input.of(SIZES), input.of(DATA), input.of(TIMES));
    let number = input.of(&["5", "1", "'endless'"]);
    let mut text = format!("[[traffic]]\nkind = '{kind}'\n");
    if kind == "ftp" && input.one_in(2) {
        text += &format!("name = 'e{at}'\n");
        named.push(format!("e{at}"));
    }
    text += &match kind {
        "ftp" => format!(
            "segment = {size}\n{}",
            input.of(&[
                "",
                "lifetime = '0.5 s'\n",
                "window = 6\n",
                "rate = '2 Mbit/s'\non = '0.1 s'\noff = '0.2 s'\n",
                "rate = '300 kbit/s'\n"
            ])
        ),
        "transfers" => format!("segment = {size}\nsize = {data}\nthink = {think}\nnumber = {number}\n"),
        "requests" => format!("segment = {size}\nsize = {data}\nthink = {think}\nretry = '300 ms'\n"),
        "web" => format!("session_gap = '200 ms'\nsize = {data}\n"),
        "pages" => format!("connections = {}\nobjects = {}\nsize = {data}\n", 1 + input.below(4), 1 + input.below(5)),
        "cbr" => format!("rate = '{}'\nsegment = {size}\njitter = {}\n", input.of(RATES), input.one_in(2)),
        "onoff" => {
            format!("rate = '{}'\nlaw = '{}'\n", input.of(RATES), input.of(&["exponential", "pareto", "constant"]))
        }
        "poisson" => format!("rate = '{}'\nsegment = {size}\n", input.of(RATES)),
        "video" => "frame = { lognormal = '2 kB', sigma = 0.5 }\ngroup = [3, 1, 1]\nstop = '1 s'\n".to_string(),
        "media" => format!(
            "{}\nframe_rate = {}\nkey_interval = {}\n",
            input.of(&["control = 'gcc'", "ecn = 'off'", "ecn = 'l4s'", "ecn = 'classic'\nstart_rate = '2 Mbit/s'"]),
            input.of(&["30", "1", "240"]),
            input.of(&["0", "1", "10"])
        ),
        _ => String::new(),
    };
    if ["ftp", "transfers", "requests", "web", "pages"].contains(&kind) {
        let tcp = input.of(TCPS);
        if tcp.contains("window") {
            text = text.replace("window = 6\n", "");
        }
        text += &format!("{tcp}\n");
    }
    let start = input.of(&["'0 s'", "['0 s', '10 ms']", "{ uniform = ['0 s', '0.1 s'] }", "{ poisson = '20 ms' }"]);
    let direction = if !drawn_pairs && input.one_in(4) { "direction = 'reverse'\n" } else { "" };
    text + &format!("count = {}\nstart = {start}\n{direction}", input.of(&[1, 2, 5, 12]))
}
