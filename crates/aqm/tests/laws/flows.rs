//! What flow-aware schemes promise: an estimate of the number of flows that is right, and more equal shares.

use crate::common::{gauge, queue, values, OpenLoop};
use earlydrop_aqm::prelude::*;
use std::path::Path;

const LINK: Link = Link { rate_bps: 1.5e6, delay_s: 0.01 };

/// SRED's share of hits after each of `packets` arrivals, whose flows `pick` draws; the first `skip` are left out.
/// Mean and variance.
fn hit_share(pick: impl Fn(&mut Generator) -> u64, skip: usize, packets: usize) -> (f64, f64) {
    let mut sred = queue("sred", &Values::new(), &LINK, Limit::Packets(100), false, Generator::stream(3, "sred"));
    let mut flows = Generator::stream(4, "flows");
    let (mut sum, mut squares) = (0.0, 0.0);
    for i in 0..skip + packets {
        let flow = pick(&mut flows);
        sred.enqueue(Packet::new(flow, 1000), Time::ZERO, &mut |_, _| {});
        sred.dequeue(Time::ZERO, &mut |_, _| {});
        if i >= skip {
            let p = gauge(&*sred, "p_hit");
            sum += p;
            squares += p * p;
        }
    }
    let mean = sum / packets as f64;
    (mean, squares / packets as f64 - mean * mean)
}

/// A zombie is drawn without looking at the arrival, so with N equal flows each arrival hits with probability 1/N
/// exactly, independently of all others: P is the average of independent trials.
#[test]
fn sred_counts_equal_flows() {
    const PACKETS: usize = 600_000;
    for (flows, known) in [(10.0, 9.99), (100.0, 98.1), (500.0, 488.0)] {
        let (mean, variance) = hit_share(|random| (random.uniform() * flows) as u64, 10_000, PACKETS);
        let (p, trials) = (1.0 / flows, PACKETS as f64);
        // Four and a half standard deviations of the mean of the trials: false alarm once in 150,000 seeds.
        let strays = 4.5 * (p * (1.0 - p) / trials).sqrt();
        assert!((mean - p).abs() < strays, "{flows} flows: P = {mean}, 1/P = {}", 1.0 / mean);
        assert!((1.0 / known - p).abs() < 3.0 * strays, "the figures of an earlier simulation, over fewer packets");
        // The average with weight a has the variance a/(2 - a) of a trial's. Its own estimate is of 2/a = 2000 packets'
        // memory, 300 of them.
        let want = 0.001 / 1.999 * p * (1.0 - p);
        assert!((variance / want - 1.0).abs() < 0.4, "{flows} flows: variance {variance}, not {want}");
    }
}

/// With unequal flows P is the sum of the squares of their shares: half of the packets of one flow and fifty with a
/// hundredth each give 0.255, an effective number of four.
#[test]
fn sred_counts_unequal_flows_by_the_squares_of_their_shares() {
    let pick = |random: &mut Generator| {
        let at = random.uniform() * 100.0;
        if at < 50.0 {
            0
        } else {
            at as u64
        }
    };
    let (mean, _) = hit_share(pick, 20_000, 400_000);
    // The list of 1000 remembers some 4000 packets: 100 independent ones, in each of which the share of flow 0 strays
    // by 0.016 and P by half of that.
    assert!((mean - 0.255).abs() < 4.5 * 0.008 / 10.0, "{mean}");
}

/// Poisson arrivals of flows 0, 1, 2, ... with these rates (packets/s of 1000 B) at a link of 187.5 packets/s; what
/// each flow gets through, packets/s. The first part of 100 s is not counted, the second, of 400 s, is.
fn shares(aqm: &str, values: &Values, first: &[f64], second: &[f64]) -> Vec<f64> {
    let random = Generator::stream(1, "queue");
    let mut bench = OpenLoop::new(queue(aqm, values, &LINK, Limit::Packets(50), false, random), LINK.rate_bps);
    let mut numbers = Generator::stream(1, "arrivals");
    let mut now = 0.0;
    let mut through = vec![0_u32; second.len()];
    while now < 500.0 {
        let rates = if now < 100.0 { first } else { second };
        let total: f64 = rates.iter().sum();
        now -= (1.0 - numbers.uniform()).ln() / total;
        let mut at = numbers.uniform() * total;
        let flow = rates.iter().position(|rate| {
            at -= rate;
            at < 0.0
        });
        let flow = flow.unwrap_or(0);
        while let Some(due) = bench.queue.next_timer().filter(|due| due.seconds() <= now) {
            bench.run_to(due.seconds());
            bench.queue.on_timer(due);
        }
        if bench.arrive(Packet::new(flow as u64, 1000), now) && now > 100.0 {
            through[flow] += 1;
        }
    }
    through.into_iter().map(|packets| f64::from(packets) / 400.0).collect()
}

/// Jain's index.
fn fairness(shares: &[f64]) -> f64 {
    let (sum, squares): (f64, f64) = (shares.iter().sum(), shares.iter().map(|x| x * x).sum());
    sum * sum / (shares.len() as f64 * squares)
}

/// A flood of twice the link beside eight flows of a ninth each: RED lets it have most of the link.
#[test]
fn flow_aware_schemes_hold_a_flood_back() {
    let mut rates = vec![187.5 / 9.0; 9];
    rates[0] = 375.0;
    let flood = |aqm: &str, values: &Values| {
        let got = shares(aqm, values, &rates, &rates);
        got[0] / got.iter().sum::<f64>()
    };
    let red = values(&[("min_th", Value::Real(5.0)), ("max_th", Value::Real(15.0)), ("max_p", Value::Real(0.1))]);
    let red = flood("red", &red);
    assert!((red - 375.0 / (375.0 + 8.0 * 187.5 / 9.0)).abs() < 0.02, "RED drops from all alike: {red}");
    for (aqm, most) in [("sfred", 0.02), ("fred", 0.40), ("red_pd", 0.30), ("lru_red", 0.695)] {
        let share = flood(aqm, &Values::new());
        assert!(share < most, "{aqm}: {share}");
    }
}

type Row = (&'static str, &'static str, &'static [(&'static str, Value)]);

/// Checks that each row stands on the page, computed anew.
fn check_table(rows: &[Row], first: &[f64], second: &[f64]) {
    let computed: Vec<String> = rows
        .iter()
        .map(|&(title, aqm, pairs)| {
            let got = shares(aqm, &values(pairs), first, second);
            let cells: Vec<String> = got.iter().map(|x| format!("{x:.0}")).collect();
            format!("| {title} | {} | {:.0} | {:.2} |", cells.join(" | "), got.iter().sum::<f64>(), fairness(&got))
        })
        .collect();
    let page = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../docs/algorithms/sfred.md");
    let text = std::fs::read_to_string(page).expect("the page");
    let missing: Vec<&String> = computed.iter().filter(|line| !text.contains(line.as_str())).collect();
    assert!(missing.is_empty(), "not on the page:\n{}", computed.join("\n"));
}

/// The first table of `docs/algorithms/sfred.md`: what six flows that do not respond get in each reading.
#[test]
fn the_table_of_readings_is_what_the_catalogue_does() {
    const fn word(name: &'static str, word: &'static str) -> (&'static str, Value) {
        (name, Value::Choice(word))
    }
    const ROWS: &[Row] = &[
        ("RED", "red", &[("max_p", Value::Real(0.1))]),
        ("SFRED", "sfred", &[]),
        ("`boost = \"squared\"`", "sfred", &[word("boost", "squared")]),
        ("`boost = \"one_plus\"`", "sfred", &[word("boost", "one_plus")]),
        ("`fair_rate = \"accepted\"`", "sfred", &[word("fair_rate", "accepted")]),
        ("`throughput = \"accepted\"`", "sfred", &[word("throughput", "accepted")]),
        ("both accepted", "sfred", &[word("fair_rate", "accepted"), word("throughput", "accepted")]),
        ("`fast_test = \"share\"`", "sfred", &[word("fast_test", "share")]),
        ("`fast_test = \"absolute\"`", "sfred", &[word("fast_test", "absolute")]),
        ("`loss_test = \"absolute\"`", "sfred", &[word("loss_test", "absolute")]),
        ("`slow_count = \"own\"`", "sfred", &[word("slow_count", "own")]),
        ("`ageing = \"never\"`", "sfred", &[word("ageing", "never")]),
        ("`list_size = 3`", "sfred", &[("list_size", Value::Whole(3))]),
        (
            "`list_size = 3`, `fair_rate = \"list\"`",
            "sfred",
            &[("list_size", Value::Whole(3)), word("fair_rate", "list")],
        ),
    ];
    let rates = [70.0, 50.0, 45.0, 30.0, 15.0, 5.0];
    check_table(ROWS, &rates, &rates);
}

/// The second table: flow 0 sends four times its share at first and keeps to it afterwards; what is counted then.
#[test]
fn the_table_of_releases_is_what_the_catalogue_does() {
    const fn release(word: &'static str) -> (&'static str, Value) {
        ("release", Value::Choice(word))
    }
    const ROWS: &[Row] = &[
        ("RED", "red", &[("max_p", Value::Real(0.1))]),
        ("`each_arrival`", "sfred", &[release("each_arrival")]),
        ("`on_ageing`", "sfred", &[release("on_ageing")]),
        ("`on_eviction`", "sfred", &[release("on_eviction")]),
        ("`never`", "sfred", &[release("never")]),
        (
            "`each_arrival`, `ageing = \"never\"`",
            "sfred",
            &[release("each_arrival"), ("ageing", Value::Choice("never"))],
        ),
    ];
    check_table(ROWS, &[200.0, 50.0, 50.0, 50.0], &[45.0, 70.0, 50.0, 50.0]);
}
