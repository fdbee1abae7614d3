//! Whatever it is given, the checker answers; it never panics.

use earlydrop_sim::scenario::{apply_sets, check, retain_known, template, Doc};
use proptest::collection::vec;
use proptest::prelude::*;

/// Words that lead deep into the checker, and some that do not.
const WORDS: &[&str] = &[
    "name",
    "duration",
    "warmup",
    "seed",
    "topology",
    "queue",
    "traffic",
    "record",
    "kind",
    "dumbbell",
    "pairs",
    "access",
    "senders",
    "receivers",
    "bottleneck",
    "reverse",
    "rate",
    "delay",
    "uniform",
    "aqm",
    "red",
    "tred",
    "nlred",
    "droptail",
    "limit",
    "ecn",
    "random",
    "generator",
    "mrg32k3a",
    "skip",
    "min_th",
    "max_th",
    "max_p",
    "w_q",
    "dialect",
    "ns2",
    "wait",
    "gentle",
    "unit",
    "mean_packet",
    "ftp",
    "transfers",
    "requests",
    "web",
    "pages",
    "lifetime",
    "cbr",
    "onoff",
    "poisson",
    "voip",
    "video",
    "media",
    "outside",
    "size",
    "number",
    "think",
    "pareto",
    "shape",
    "mix",
    "cdf",
    "every",
    "direction",
    "reverse",
    "pairs",
    "class",
    "session_gap",
    "count",
    "tcp",
    "reno",
    "stack",
    "rules",
    "segment",
    "header",
    "window",
    "start",
    "clock_phase",
    "series",
    "gauges",
    "cwnd_flows",
    "trace",
    "trace_flow",
    "rates",
    "rate_flows",
    "rate_queues",
    "jitter",
    "losses",
    "loss_rtt",
    "auto",
    "20 ms",
    "-1 s",
    "1e308 Gbit/s",
    "5 Mbit/s",
    "120 packets",
    "1e-320 s",
    "15 kB",
    "0.5p",
    "nan",
    "µs",
    "0",
    "",
];

fn word() -> impl Strategy<Value = String> {
    prop_oneof![4 => prop::sample::select(WORDS).prop_map(str::to_string), 1 => any::<String>()]
}

fn number() -> impl Strategy<Value = f64> {
    let special = [0.0, -0.0, 1.0, 1e30, f64::MAX, f64::MIN_POSITIVE, f64::NAN, f64::INFINITY, f64::NEG_INFINITY];
    prop_oneof![any::<f64>(), -1.0..100.0, prop::sample::select(special.to_vec())]
}

fn leaf() -> impl Strategy<Value = Doc> {
    let whole = prop_oneof![any::<i64>(), -2_i64..1000, Just(i64::MIN), Just(i64::MAX)];
    prop_oneof![
        word().prop_map(Doc::String),
        number().prop_map(Doc::Float),
        whole.prop_map(Doc::Integer),
        any::<bool>().prop_map(Doc::Bool),
    ]
}

fn document() -> impl Strategy<Value = Doc> {
    leaf().prop_recursive(5, 60, 8, |inner| {
        prop_oneof![vec((word(), inner.clone()), 0..8).prop_map(Doc::Table), vec(inner, 0..4).prop_map(Doc::Array),]
    })
}

/// The template with every optional part in it.
fn sound() -> Doc {
    let reverse = "[queue.reverse]\naqm = \"fq_codel\"\nlimit = \"1 bdp\"\n";
    let other = "[queue.reverse]\naqm = 'droptail'\nrandom = { generator = 'mrg32k3a', seed = 1, skip = 2 }\n";
    let text = template("sound").replace(reverse, other)
        + "[record]\nseries = '10 ms'\ngauges = true\ncwnd_flows = [1, 2]\ntrace = 10\ntrace_headers = true\ntrace_flow = 1\n\
           rates = '1 s'\nrate_flows = [1, 2]\nrate_queues = ['reverse']\njitter = true\nlosses = true\n\
           delay_flows = [1]\nloss_rtt = '50 ms'\n";
    assert!(text.contains(other));
    Doc::from_toml(&text, None).expect("TOML")
}

/// All places of a document, counted in the order a reader meets them.
fn places(doc: &Doc) -> usize {
    1 + match doc {
        Doc::Table(entries) => entries.iter().map(|(_, value)| places(value)).sum(),
        Doc::Array(items) => items.iter().map(places).sum(),
        _ => 0,
    }
}

fn place(doc: &mut Doc, mut number: usize) -> Option<&mut Doc> {
    if number == 0 {
        return Some(doc);
    }
    number -= 1;
    let inner: Vec<&mut Doc> = match doc {
        Doc::Table(entries) => entries.iter_mut().map(|(_, value)| value).collect(),
        Doc::Array(items) => items.iter_mut().collect(),
        _ => Vec::new(),
    };
    for value in inner {
        let size = places(value);
        if number < size {
            return place(value, number);
        }
        number -= size;
    }
    None
}

/// Checks without a panic, and what passes survives normalisation.
fn answers(doc: &Doc) {
    let mut other = doc.clone();
    retain_known(&mut other, "bottleneck");
    for doc in [doc, &other] {
        match check(doc, Some("x.toml")) {
            Ok(scenario) => {
                let json = scenario.to_json();
                let again = Doc::from_json(&json).and_then(|doc| check(&doc, None));
                assert_eq!(again.map(|scenario| scenario.to_json()), Ok(json));
            }
            Err(error) => {
                let text = error.to_string();
                assert!(text.starts_with("x.toml: ") && text.lines().count() <= 3, "{text}");
            }
        }
    }
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 1000, failure_persistence: None, ..ProptestConfig::default() })]

    #[test]
    fn arbitrary_documents(doc in document()) {
        answers(&doc);
    }

    #[test]
    fn sound_documents_with_places_replaced(changes in vec((any::<prop::sample::Index>(), document()), 1..4)) {
        let mut doc = sound();
        for (index, value) in changes {
            let number = index.index(places(&doc));
            *place(&mut doc, number).expect("a place") = value;
        }
        answers(&doc);
    }

    #[test]
    fn sound_documents_with_plain_values_replaced(changes in vec((any::<prop::sample::Index>(), leaf()), 1..3)) {
        let mut doc = sound();
        for (index, value) in changes {
            let number = index.index(places(&doc));
            let place = place(&mut doc, number).expect("a place");
            if !matches!(place, Doc::Table(_) | Doc::Array(_)) {
                *place = value;
            }
        }
        answers(&doc);
    }

    #[test]
    fn sound_documents_with_sets(sets in vec((vec(word(), 1..5), word()), 1..4)) {
        let sets: Vec<_> = sets.into_iter().map(|(path, value)| (path.join("."), value)).collect();
        let mut doc = sound();
        if apply_sets(&mut doc, &sets).is_ok() {
            answers(&doc);
        }
    }

    #[test]
    fn texts_with_bytes_changed(changes in vec((any::<prop::sample::Index>(), any::<u8>()), 1..6)) {
        let mut bytes = template("text").into_bytes();
        for (index, byte) in changes {
            let at = index.index(bytes.len());
            bytes[at] = byte;
        }
        if let Ok(doc) = Doc::from_toml(&String::from_utf8_lossy(&bytes), Some("x.toml")) {
            answers(&doc);
        }
    }

    #[test]
    fn texts_with_pieces_cut_out(from in any::<prop::sample::Index>(), length in 0_usize..200) {
        let text = template("text");
        let start = from.index(text.len());
        let end = (start + length).min(text.len());
        let bytes = [&text.as_bytes()[..start], &text.as_bytes()[end..]].concat();
        if let Ok(doc) = Doc::from_toml(&String::from_utf8_lossy(&bytes), Some("x.toml")) {
            answers(&doc);
        }
    }

    #[test]
    fn arbitrary_texts(text in "[\\[\\]{}=.,'\"#\\\\a-c0-9\n -]{0,200}") {
        if let Ok(doc) = Doc::from_toml(&text, Some("x.toml")) {
            answers(&doc);
        }
    }
}
