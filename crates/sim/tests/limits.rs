//! Limits of which one can starve another: every pair lets data through, or is refused, and then the error has the place
//! of one key and the name of the other.

use earlydrop_aqm::catalogue;
use earlydrop_aqm::markers;
use earlydrop_aqm::params::{Kind, Param, Unit, Value};
use earlydrop_aqm::parents;
use earlydrop_net::tcp::stacks::options::{self, Values};
use earlydrop_sim::flow_table::goodput;
use earlydrop_sim::run::{run, Events, Links};
use earlydrop_sim::scenario::{check, Doc};

/// Segments of a byte, of Ethernet, of jumbo frames and of all that IP can carry.
const SEGMENTS: [u32; 4] = [1, 1448, 8948, 65_000];
const STACKS: &[&str] = &[
    "stack = 'ns2-2.35'\ntcp = 'reno'",
    "stack = 'rfc'\ntcp = 'reno'",
    "stack = 'rfc'\ntcp = 'prague'",
    "stack = 'rfc'\ntcp = 'ledbat'",
    "stack = 'linux-6.18'\ntcp = 'cubic'",
    "stack = 'linux-6.18'\ntcp = 'bbr'",
    "stack = 'quic'\ntcp = 'reno'",
    "stack = 'quic'\ntcp = 'bbr3'",
];
const FIFO: &str = "[queue.bottleneck]\naqm = 'droptail'\nlimit = 100\n";

/// A flow with these keys over a link with these and a queue.
fn scenario(link: &str, queue: &str, flow: &str) -> String {
    format!(
        "name = 'limits'\nduration = '10 s'\n[topology]\nkind = 'dumbbell'\npairs = 1\n\
         access = {{ rate = '100 Mbit/s', delay = '1 ms' }}\n\
         bottleneck = {{ delay = '4 ms', {link} }}\n{queue}\n[[traffic]]\nkind = 'ftp'\n{flow}\n"
    )
}

/// Nothing is refused.
const NEVER: &[&str] = &[];
/// A refusal names a key of the queue, and the segments, or it is about the value itself.
const QUEUE: &[&str] = &["traffic[0].segment", "does not fit", "is out of range"];
/// An option that the stack or its TCP does not have.
const OPTION: &[&str] = &["traffic[0].rules."];
const LINK: &str = "rate = '2 Mbit/s'";

/// What the flow brings, Mbit/s, or why it is refused.
fn brings(text: &str) -> Result<f64, String> {
    let doc = Doc::from_toml(text, None).unwrap_or_else(|error| panic!("{error}\n{text}"));
    let scenario = check(&doc, None).map_err(|error| error.to_string())?;
    let outcome = run(&scenario, 1, Links::Auto, Events::Lanes).unwrap_or_else(|error| panic!("{error}\n{text}"));
    Ok(goodput(&outcome.flows[0], scenario.duration))
}

/// The keys of the cases that bring nothing, or are refused without these words.
fn starved(cases: impl IntoIterator<Item = (String, String, &'static [&'static str])>) -> Vec<String> {
    let fault = |(case, text, words): (String, String, &'static [&'static str])| match brings(&text) {
        Ok(rate) if rate > 0.0 => None,
        Ok(_) => Some(format!("{case}: nothing comes through")),
        Err(error) => words.iter().all(|word| !error.contains(word)).then(|| format!("{case}: {error}")),
    };
    cases.into_iter().filter_map(fault).collect()
}

#[test]
fn a_window_lets_segments_through() {
    let mut cases = Vec::new();
    for stack in STACKS {
        for segment in SEGMENTS {
            for window in
                ["1", "2", "'1 B'", "'1400 B'", "'2 kB'", "'64 kB'", "'64 kB'\nreading = { rate = '1 Mbit/s' }"]
            {
                if stack.contains("ns2") && window.contains('B') {
                    continue;
                }
                let flow = format!("{stack}\nsegment = {segment}\nwindow = {window}");
                cases.push((flow.clone(), scenario(LINK, FIFO, &flow), NEVER));
            }
        }
    }
    let all = starved(cases);
    assert!(all.is_empty(), "{}", all.join("\n"));
}

fn ends_of_option(values: &Values) -> Vec<String> {
    let words = values.words().iter().map(|word| format!("'{word}'"));
    match values {
        Values::Whole(low, high, ..) => vec![low.to_string(), high.to_string()],
        Values::Seconds(low, high, ..) => vec![format!("'{low:?} s'"), format!("'{high:?} s'")],
        Values::Number(low, high, ..) => vec![format!("{low:?}"), format!("{high:?}")],
        Values::Wait(high, ..) => vec!["'1 ns'".into(), format!("'{high:?} s'"), "false".into()],
        Values::Window(segments, ..) => vec!["1".into(), "'1 B'".into(), segments.to_string()],
        Values::Flag(_) => vec!["true".into(), "false".into()],
        Values::Table(_, _, [one, other]) => {
            let mut all: Vec<String> = words.collect();
            for first in ends_of_option(&one.values) {
                for second in ends_of_option(&other.values) {
                    all.push(format!("{{ {} = {first}, {} = {second} }}", one.key, other.key));
                }
            }
            all
        }
        _ => words.collect(),
    }
}

/// Each option of TCP at the ends of its range, with a window of one segment of Ethernet too.
#[test]
fn an_option_lets_segments_through() {
    let mut cases = Vec::new();
    for stack in STACKS.iter().filter(|stack| !stack.contains("ns2")) {
        for opt in options::all().filter(|opt| opt.key != "window") {
            for end in ends_of_option(&opt.values) {
                for window in ["", "window = '1400 B'\n"] {
                    let flow = format!("{stack}\nsegment = 1448\n{window}rules = {{ {} = {end} }}", opt.key);
                    cases.push((flow.clone(), scenario(LINK, FIFO, &flow), OPTION));
                }
            }
        }
    }
    let all = starved(cases);
    assert!(all.is_empty(), "{}", all.join("\n"));
}

/// Values at and near the ends of a parameter's range. Rates are not so low that a packet takes longer than the run, and
/// lengths not so short that an average stays above them for as long.
fn ends(param: &Param) -> Vec<String> {
    let written = |x: f64| match param.unit {
        Unit::Seconds => format!("'{x:?} s'"),
        Unit::Bytes => format!("'{x:?} B'"),
        Unit::Rate => format!("'{:?} bit/s'", x.max(1e6)),
        Unit::None | Unit::QueueLength => format!("{x:?}"),
    };
    match param.kind {
        Kind::Real { low, high, .. } => {
            let all = [low, low + 0.01, low + 1.0, high].into_iter();
            all.filter(|&x| x.is_finite() && param.allows(Value::Real(x))).map(written).collect()
        }
        Kind::Whole { low, high } => [low, low + 1, high].map(|n| n.to_string()).to_vec(),
        Kind::Flag { .. } => vec!["true".into(), "false".into()],
        Kind::Choice(words) => words.iter().map(|word| format!("'{word}'")).collect(),
        Kind::Text => vec!["'p'".into(), "'0.1/(1 + q)'".into()],
    }
}

#[test]
fn a_discipline_lets_segments_through() {
    let mut cases = Vec::new();
    let tcp = |segment: u32| format!("stack = 'rfc'\ntcp = 'reno'\nsegment = {segment}");
    for spec in catalogue::all() {
        for segment in [1448, 65_000] {
            let mut add = |keys: String| {
                let queue = format!("[queue.bottleneck]\naqm = '{}'\n{keys}", spec.name);
                let case = format!("{} with segments of {segment} B, {keys}", spec.name);
                cases.push((case, scenario(LINK, &queue, &tcp(segment)), QUEUE));
            };
            for limit in ["1", "2", "'1 B'", "'2 kB'", "'80 kB'", "'0.01 bdp'"] {
                add(format!("limit = {limit}"));
            }
            for param in spec.all_params() {
                for end in ends(param) {
                    add(format!("{} = {end}", param.name));
                }
            }
        }
    }
    let all = starved(cases);
    assert!(all.is_empty(), "{}", all.join("\n"));
}

#[test]
fn parents_and_markers_let_segments_through() {
    let mut cases = Vec::new();
    for segment in [1448, 65_000] {
        let flow = format!("stack = 'rfc'\ntcp = 'reno'\nsegment = {segment}");
        for spec in parents::all() {
            for param in spec.params {
                for end in ends(param) {
                    let keys = format!("parent = '{}'\n{} = {end}", spec.name, param.name);
                    let queue =
                        format!("[queue.bottleneck]\n{keys}\n[queue.bottleneck.child]\naqm = 'droptail'\nlimit = 100");
                    cases.push((format!("{keys}, {segment} B"), scenario(LINK, &queue, &flow), QUEUE));
                }
            }
        }
        for spec in markers::all() {
            for param in spec.all_params() {
                for end in ends(param) {
                    for aqm in ["rio", "wred"] {
                        let keys = format!("marker = {{ kind = '{}', {} = {end} }}", spec.name, param.name);
                        let queue = format!("[queue.bottleneck]\naqm = '{aqm}'\nlimit = 100\n{keys}");
                        cases.push((format!("{aqm}, {keys}, {segment} B"), scenario(LINK, &queue, &flow), QUEUE));
                    }
                }
            }
        }
    }
    let all = starved(cases);
    assert!(all.is_empty(), "{}", all.join("\n"));
}

#[test]
fn a_link_lets_segments_through() {
    let mut cases = Vec::new();
    for segment in SEGMENTS {
        for link in [
            "rate = '2 Mbit/s', aggregation = { access = '1 ms', bytes = 1 }",
            "rate = '2 Mbit/s', aggregation = { access = '1 ms', packets = 1 }",
            "rate = '2 Mbit/s', aggregation = { access = '1 ms', time = '1 ns' }",
            "rate = { trace = [20] }",
            "rate = { schedule = [['0 s', '0 bit/s'], ['1 us', '1 Gbit/s']], repeat = '2 us' }",
            "rate = '2 Mbit/s', framing = { overhead = '256 B', mpu = '256 B', encoding = 'atm' }",
        ] {
            let flow = format!("stack = 'rfc'\ntcp = 'reno'\nsegment = {segment}");
            cases.push((format!("{link}, {segment} B"), scenario(link, FIFO, &flow), QUEUE));
        }
    }
    let all = starved(cases);
    assert!(all.is_empty(), "{}", all.join("\n"));
}
