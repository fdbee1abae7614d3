//! Ten thousand hostile drop probabilities: none panics, those that are taken stay within their bounds, and no run with one
//! takes three times as long as with a plain one.

use earlydrop_aqm::random::Generator;
use earlydrop_fuzz::{hostile_expression, hostile_rule, Input};
use earlydrop_sim::run::{run, Events, Links};
use earlydrop_sim::scenario::{check, Doc, Scenario};
use std::time::Instant;

const RULES: usize = 10_000;

/// The bytes of each rule, always the same.
fn inputs() -> impl Iterator<Item = Vec<u8>> {
    let mut random = Generator::stream(52, "expressions");
    (0..RULES).map(move |rule| (0..20 + rule % 600).map(|_| (random.uniform() * 256.0) as u8).collect())
}

#[test]
fn ten_thousand_hostile_expressions_are_refused_or_computed() {
    let taken = inputs().filter(|bytes| hostile_expression(bytes)).count();
    assert!((2_000..8_000).contains(&taken), "{taken} of {RULES} were taken: the texts are no test of the other kind");
}

const SCENARIO: &str = r#"
name = "rules"
duration = "3 s"
warmup = "0 s"
[topology]
kind = "dumbbell"
pairs = 4
access = { rate = "100 Mbit/s", delay = "5 ms" }
bottleneck = { rate = "10 Mbit/s", delay = "5 ms" }
[queue.bottleneck]
aqm = "expression"
limit = 200
[[traffic]]
kind = "ftp"
count = 3
tcp = "cubic"
segment = 1448
[[traffic]]
kind = "cbr"
rate = "4 Mbit/s"
segment = 1000
"#;

fn with(rule: &str) -> Option<Scenario> {
    let doc = Doc::from_toml(&SCENARIO.replace("limit = 200", &format!("limit = 200\nrule = {rule:?}")), None).ok()?;
    check(&doc, None).ok()
}

/// The least time of some runs of a scenario, s.
fn seconds(scenario: &Scenario, runs: usize) -> f64 {
    let once = |_| {
        let begin = Instant::now();
        run(scenario, 1, Links::Auto, Events::Lanes).expect("it runs");
        begin.elapsed().as_secs_f64()
    };
    (0..runs).map(once).fold(f64::INFINITY, f64::min)
}

/// Prints the slowest: `cargo test --release -p earlydrop-fuzz --test expressions -- --ignored --nocapture`.
#[test]
#[ignore = "measures time: a minute"]
#[allow(clippy::print_stdout)]
fn no_run_takes_three_times_as_long_as_with_a_plain_rule() {
    let plain = seconds(&with("2*(delay - 0.005)").expect("a rule"), 300);
    let drawn = inputs().map(|bytes| hostile_rule(&mut Input::new(&bytes)));
    // The dearest that 200 characters and 64 operations hold.
    let dear = ["exp(-p)+", "q/p/", "1e-75*", "sqrt(q)+", "delay*1e-149/"].map(|piece| {
        let mut rule = piece.repeat(64.min(199 / piece.len()));
        while with(&format!("{rule}0")).is_none() {
            rule.truncate(rule.len() - piece.len());
        }
        rule + "0"
    });
    let (mut slowest, mut tried) = ((0.0, String::new()), 0);
    for rule in dear.into_iter().chain(drawn) {
        let Some(scenario) = with(&rule) else { continue };
        // Other load on the machine makes single runs long: only a rule that stays slow is the slowest.
        let mut ratio = f64::INFINITY;
        for _ in 0..200 {
            ratio = ratio.min(seconds(&scenario, 1) / plain);
            if ratio <= slowest.0 {
                break;
            }
        }
        tried += 1;
        if ratio > slowest.0 {
            slowest = (ratio, rule);
        }
    }
    println!(
        "{tried} rules; a plain one takes {:.2} ms; the slowest {:.2} times that: {}",
        1e3 * plain,
        slowest.0,
        slowest.1
    );
    assert!(slowest.0 < 3.0, "{slowest:?}");
}
