//! Stacks by name, single options over them, and options without effect refused, one of each group.

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
fn the_other_two_are_the_profiles() {
    for tcp in ["reno", "newreno", "sack", "cubic", "dctcp", "bbr", "bbr3", "ledbat", "ledbatpp", "prague"] {
        assert_eq!(full(&format!("stack = 'rfc'\ntcp = '{tcp}'")), full(&format!("profile = 'rfc'\ntcp = '{tcp}'")));
    }
    for tcp in ["tahoe", "reno", "newreno", "sack", "vegas"] {
        assert_eq!(
            full(&format!("stack = 'ns2-2.35'\ntcp = '{tcp}'")),
            full(&format!("profile = 'ns2'\ntcp = '{tcp}'"))
        );
    }
}

#[test]
fn single_options_override_a_stack() {
    let entry =
        "tcp = 'cubic'\nstack = 'linux-6.18'\nrules = { delayed_ack = false, hystart = true, late_sack = 'at_once' }";
    let found: serde_json::Value = serde_json::from_str(&full(entry)).unwrap();
    let traffic = &found["traffic"][0];
    assert_eq!((&traffic["delayed_ack"], &traffic["hystart"]), (&false.into(), &true.into()));
    assert!(traffic["rules"].get("late_sack").is_none(), "as the RFCs have it");
    assert_eq!(traffic["rules"]["rack_timer"], "ticks");
    // A stack's default makes way for what it needs.
    let found: serde_json::Value =
        serde_json::from_str(&full("tcp = 'cubic'\nstack = 'linux-6.18'\nrules = { sack = false }")).unwrap();
    assert_eq!(found["traffic"][0]["rack"], false);
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
        ("tcp = 'bbr'\nprofile = 'rfc'\nbbr_budget = true", "bbr_budget: unknown key; write bbr = \"linux\""),
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
        ("tcp = 'reno'\nstack = 'rfc'\nabe = true", "abe: has no effect: it needs ecn = true"),
        ("tcp = 'reno'\nstack = 'linux-6.18'\nprofile = 'rfc'", "profile: stands beside stack"),
        ("tcp = 'vegas'\nstack = 'rfc'", "stack: does not have this TCP"),
        ("tcp = 'reno'\nstack = 'linux'", "stack: is unknown"),
        ("tcp = 'reno'\nstack = 'ns2-2.35'\nrules = { window = 9 }", "rules: is for another stack"),
        ("tcp = 'reno'\nstack = 'rfc'\nabe = true\nrules = { abe = true }", "rules.abe: is given twice"),
        ("tcp = 'reno'\nprofile = 'rfc'\nrules = { abe = true }", "rules.abe: unknown key"),
    ] {
        let found = refusal(entry);
        assert!(found.starts_with(&format!("traffic[0].{message}")), "{entry}\n{found}");
    }
    // What holds anyway may be said.
    full("tcp = 'cubic'\nstack = 'rfc'\nrules = { pair_wait = 'any' }");
}

/// `earlydrop check --json` writes the scenario in full and names the stack.
#[test]
fn a_scenario_in_full_may_name_its_stack() {
    for (stack, tcps) in [
        ("ns2-2.35", ["reno", "sack", "vegas"]),
        ("rfc", ["reno", "bbr", "prague"]),
        ("linux-6.18", ["cubic", "bbr", "dctcp"]),
        ("quic", ["reno", "cubic", "bbr3"]),
    ] {
        for tcp in tcps {
            let written = full(&format!("tcp = '{tcp}'\nstack = '{stack}'"));
            let mut document: serde_json::Value = serde_json::from_str(&written).unwrap();
            document["traffic"][0]["stack"] = stack.into();
            let doc = Doc::from_json(&document).unwrap();
            let found = check(&doc, None).unwrap_or_else(|error| panic!("{tcp}, {stack}: {error}"));
            assert_eq!(found.to_json().to_string(), written, "{tcp}, {stack}");
        }
    }
}
