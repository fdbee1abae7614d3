//! Stacks by name, single options over them, and options without effect refused, one of each group.

use earlydrop_net::tcp::stacks::options;
use earlydrop_sim::scenario::{check, Doc};

fn scenario(entry: &str) -> String {
    format!(
        "name = 's'\nduration = '1 s'\n[topology]\nkind = 'dumbbell'\npairs = 1\n\
         access = {{ rate = '10 Mbit/s', delay = '1 ms' }}\nbottleneck = {{ rate = '1 Mbit/s', delay = '10 ms' }}\n\
         [queue.bottleneck]\naqm = 'red'\nlimit = '50 packets'\n[[traffic]]\nkind = 'ftp'\n{entry}"
    )
}

/// The scenario in full, as stores are keyed by it.
fn full(entry: &str) -> String {
    let doc = Doc::from_toml(&scenario(entry), None).unwrap();
    check(&doc, None).unwrap_or_else(|error| panic!("{entry}\n{error}")).to_json().to_string()
}

fn refusal(entry: &str) -> String {
    let doc = Doc::from_toml(&scenario(entry), None).unwrap();
    check(&doc, None).expect_err(entry).to_string()
}

#[test]
fn without_a_stack_it_is_that_of_ns2_where_that_has_the_tcp() {
    for tcp in ["tahoe", "reno", "newreno", "sack", "vegas"] {
        assert_eq!(full(&format!("tcp = '{tcp}'")), full(&format!("stack = 'ns2-2.35'\ntcp = '{tcp}'")));
    }
    for tcp in ["cubic", "dctcp", "bbr", "bbr3", "ledbat", "ledbatpp", "prague"] {
        assert_eq!(full(&format!("tcp = '{tcp}'")), full(&format!("stack = 'rfc'\ntcp = '{tcp}'")));
    }
}

fn written(entry: &str) -> serde_json::Value {
    let document: serde_json::Value = serde_json::from_str(&full(entry)).unwrap();
    document["traffic"][0].clone()
}

fn keys(table: &serde_json::Value) -> Vec<&str> {
    table.as_object().expect("a table").keys().map(String::as_str).collect()
}

/// What stores are keyed by.
#[test]
fn the_text_in_full_has_every_option_in_the_order_of_the_table() {
    let entry: Vec<&str> =
        "kind count tcp stack segment header window ecn rules start ttl ttl_option".split(' ').collect();
    for (stack, tcp) in [("rfc", "reno"), ("rfc", "prague"), ("linux-6.18", "cubic"), ("quic", "bbr")] {
        let found = written(&format!("stack = '{stack}'\ntcp = '{tcp}'"));
        assert_eq!(keys(&found), entry);
        // No number says what the initial window is by default, and the window stands in the entry.
        let all = options::all().filter(|opt| opt.is_for(tcp)).map(|opt| opt.key);
        let all: Vec<&str> = all.filter(|key| !["initial_window", "window"].contains(key)).collect();
        assert_eq!(keys(&found["rules"]), all, "{stack}, {tcp}");
        assert_eq!(found["stack"], "rfc", "the table, not the stack that the scenario names");
    }
    let found = written("tcp = 'sack'\nrules = { clock_phase = 0.001 }");
    assert_eq!(keys(&found), entry);
    assert_eq!(keys(&found["rules"]), ["delayed_ack", "limited_transmit", "min_rto", "clock_phase"]);
}

#[test]
fn one_tcp_has_one_text_however_it_is_said() {
    // Every rule of Linux by its value, over another stack, in another order.
    for (tcp, ecn) in [("reno", false), ("cubic", true), ("dctcp", true), ("bbr", false)] {
        let named = format!("tcp = '{tcp}'\nstack = 'linux-6.18'\necn = {ecn}");
        let doc = Doc::from_toml(&scenario(&named), None).unwrap();
        let mut document = check(&doc, None).unwrap().to_json();
        let rules = document["traffic"][0]["rules"].as_object_mut().unwrap();
        *rules = std::mem::take(rules).into_iter().rev().collect();
        let one_by_one = check(&Doc::from_json(&document).unwrap(), None).unwrap();
        assert_eq!(one_by_one.to_json().to_string(), full(&named));
        document["traffic"][0]["stack"] = "linux-6.18".into();
        assert_eq!(check(&Doc::from_json(&document).unwrap(), None).unwrap().to_json().to_string(), full(&named));
    }
    assert_eq!(full("tcp = 'reno'"), full("tcp = 'reno'\nwindow = 1000\nrules = { min_rto = '200 ms' }"));
    assert_ne!(full("tcp = 'reno'\nstack = 'rfc'"), full("tcp = 'reno'"));
}

#[test]
fn single_options_override_a_stack() {
    let entry =
        "tcp = 'cubic'\nstack = 'linux-6.18'\nrules = { delayed_ack = false, hystart = true, late_sack = 'at_once' }";
    let rules = &written(entry)["rules"];
    assert_eq!((&rules["delayed_ack"], &rules["hystart"]), (&false.into(), &true.into()));
    assert_eq!((&rules["late_sack"], &rules["rack_timer"]), (&"at_once".into(), &"ticks".into()));
    // A stack's default makes way for what it needs.
    assert_eq!(written("tcp = 'cubic'\nstack = 'linux-6.18'\nrules = { sack = false }")["rules"]["rack"], false);
}

/// The error has the lines to write.
#[test]
fn options_in_an_entry_are_refused() {
    for (entry, message) in [
        ("profile = 'ns2'", "profile: is said by stack; write stack = \"ns2-2.35\"\n  given \"ns2\""),
        ("stack = 'linux-6.18'\nprofile = 'rfc'", "profile: is said by stack; write nothing\n  given \"rfc\""),
        ("rack = true", "rack: stands in rules; write stack = \"rfc\" and rules = { rack = true }\n  given true"),
        ("min_rto = '1 s'", "min_rto: stands in rules; write rules = { min_rto = \"1 s\" }\n  given \"1 s\""),
        (
            "stack = 'rfc'\nmin_rto = '0.2 s'\nrules = { receive_window = { first = 6 } }\nprr = 'off'",
            "min_rto: stands in rules; write rules = { receive_window = { first = 6 }, min_rto = \"0.2 s\", \
             prr = \"off\" }\n  given \"0.2 s\"",
        ),
    ] {
        assert_eq!(refusal(&format!("tcp = 'reno'\n{entry}")), format!("traffic[0].{message}"));
    }
    // What it says to write is taken.
    full("tcp = 'reno'\nstack = 'rfc'\nrules = { receive_window = { first = 6 }, min_rto = \"0.2 s\", prr = \"off\" }");
}

#[test]
fn an_option_that_is_a_table_is_written_as_one() {
    let entry = |rules: &str| format!("tcp = 'reno'\nstack = 'rfc'\nsegment = 1000\nrules = {{ {rules} }}");
    for (rules, key, written) in [
        ("receive_window = 'autotuned'", "receive_window", serde_json::json!("autotuned")),
        // The whole table, and the word where all is as it is by default.
        ("receive_window = { first = 6 }", "receive_window", serde_json::json!({ "first": 6, "share": 0.5 })),
        ("receive_window = { first = '65535 B', share = 0.5 }", "receive_window", serde_json::json!("autotuned")),
        (
            "careful_resume = { saved_rtt = '30 ms', saved_cwnd = 60 }",
            "careful_resume",
            serde_json::json!({ "saved_rtt": "0.03 s", "saved_cwnd": 60 }),
        ),
    ] {
        let text = full(&entry(rules));
        let document: serde_json::Value = serde_json::from_str(&text).unwrap();
        assert_eq!(document["traffic"][0]["rules"][key], written, "{rules}");
        assert_eq!(check(&Doc::from_json(&document).unwrap(), None).unwrap().to_json().to_string(), text);
    }
}

#[test]
fn what_has_no_effect_is_refused() {
    // One of each group: option, what it needs.
    for (entry, message) in [
        (
            "tcp = 'reno'\nstack = 'rfc'\nrules = { timestamps = false, eifel = 'on' }",
            "rules.eifel: has no effect: it needs timestamps = true",
        ),
        (
            "tcp = 'reno'\nstack = 'rfc'\nrules = { rack_timer = 'ticks' }",
            "rules.rack_timer: has no effect: it needs rack = true",
        ),
        (
            "tcp = 'newreno'\nstack = 'rfc'\nrules = { prr_base = 'cwnd' }",
            "rules.prr_base: has no effect: it needs prr and sack",
        ),
        (
            "tcp = 'reno'\nstack = 'rfc'\nrules = { mark_ack = 'at_once' }",
            "rules.mark_ack: has no effect: it needs ecn = true",
        ),
        (
            "tcp = 'reno'\nstack = 'rfc'\nrules = { pair_wait = 'due' }",
            "rules.pair_wait: has no effect: it needs send_pairs = true",
        ),
        (
            "tcp = 'reno'\nstack = 'rfc'\nrules = { growth = 'arrived', abc_limit = 8 }",
            "rules.abc_limit: has no effect: it needs growth = \"acked\"",
        ),
        (
            "tcp = 'reno'\nstack = 'rfc'\nrules = { dctcp_count = 'integers' }",
            "rules.dctcp_count: is for tcp = \"dctcp\"",
        ),
        ("tcp = 'reno'\nstack = 'rfc'\nrules = { ledbat_gain = 2 }", "rules.ledbat_gain: is for tcp = \"ledbat\""),
        (
            "tcp = 'bbr'\nstack = 'rfc'\nrules = { bbr_timers = 'count' }",
            "rules.bbr_timers: unknown key; write bbr = \"linux\" for Linux's rules",
        ),
        ("tcp = 'bbr'\nrules = { bbr_budget = true }", "rules.bbr_budget: unknown key; write bbr = \"linux\""),
        (
            "tcp = 'cubic'\nstack = 'linux-6.18'\nrules = { cubic_clock = 'exact' }",
            "rules.cubic_clock: unknown key; write cubic = \"linux\", which counts ticks",
        ),
        (
            "tcp = 'reno'\nstack = 'rfc'\nrules = { receive_window = 'autotuned', first_window = 6 }",
            "rules.first_window: unknown key; write receive_window = { first = ... }",
        ),
        (
            "tcp = 'reno'\nstack = 'rfc'\nrules = { careful_resume = 'on', saved_rtt = '30 ms' }",
            "rules.saved_rtt: unknown key; write careful_resume = { saved_rtt = ..., saved_cwnd = ... }",
        ),
        (
            "tcp = 'reno'\nstack = 'rfc'\nrules = { careful_resume = { saved_rtt = '30 ms' } }",
            "rules.careful_resume.saved_cwnd: is missing",
        ),
        (
            "tcp = 'reno'\nstack = 'rfc'\nrules = { receive_window = { share = 2 } }",
            "rules.receive_window.share: is out of range",
        ),
        (
            "tcp = 'bbr'\nstack = 'rfc'\nrules = { exit_ack = 'grows' }",
            "rules.exit_ack: has no effect: it needs another tcp than bbr and bbr3",
        ),
        ("tcp = 'reno'\nstack = 'rfc'\nrules = { abe = true }", "rules.abe: has no effect: it needs ecn = true"),
        ("tcp = 'vegas'\nstack = 'rfc'", "stack: does not have this TCP"),
        ("tcp = 'reno'\nstack = 'linux'", "stack: is unknown"),
        ("tcp = 'reno'\nstack = 'ns2-2.35'\nrules = { abe = true }", "rules.abe: is no option of stack = \"ns2-2.35\""),
    ] {
        let found = refusal(entry);
        assert!(found.starts_with(&format!("traffic[0].{message}")), "{entry}\n{found}");
    }
    // What holds anyway may be said.
    full("tcp = 'cubic'\nstack = 'rfc'\nrules = { pair_wait = 'any' }");
}
