//! The share of the link that CHOKe leaves to a flow that does not respond, and how often it meets itself, against the
//! laws derived in `docs/algorithms/choke.md`. Nothing responds here: both loads are Poisson streams.
//!
//! Figures are means of 40 batches of one run with a fixed seed, after a start that is left out. A law is accepted
//! within five standard errors: the batches being nearly normal, a right one would be rejected for one seed in 80,000
//! (Student's t, 39 degrees of freedom); the seeds are fixed and pass. The law is that of an endless buffer; with 1000
//! packets it is off by less than a standard error. The same figures must lie more than 20 standard errors from what a
//! plain queue would give, from the flow's part of the queue, and from the law of another m.

use crate::common::{gauge, queue, values, OpenLoop};
use earlydrop_aqm::prelude::*;

/// 1000 packets/s of 1000 B.
const LINK: Link = Link { rate_bps: 8e6, delay_s: 0.01 };
const SERVICE_S: f64 = 1e-3;
const BUFFER: u64 = 1000;
const BATCHES: usize = 40;
const UNRESPONSIVE: u64 = 0;

/// Two Poisson streams, in units of the link's rate, and CHOKe's m.
#[derive(Clone, Copy, Debug)]
struct Load {
    others: f64,
    unresponsive: f64,
    draws: i64,
}

/// What the unresponsive flow meets and gets.
#[derive(Clone, Copy, Debug)]
struct Figures {
    /// Part of its arrivals that meet their own flow.
    matched: f64,
    /// Part of its admitted packets that leave on the link.
    survive: f64,
    /// Its part of the link.
    share: f64,
}

/// Zero of a function that rises from below zero to above it on [low, high].
fn zero(mut low: f64, mut high: f64, f: impl Fn(f64) -> f64) -> f64 {
    for _ in 0..200 {
        let middle = 0.5 * (low + high);
        if f(middle) < 0.0 {
            low = middle;
        } else {
            high = middle;
        }
    }
    0.5 * (low + high)
}

/// The page's equations (1) and (2): h is the flow's part of the queue, b the chance that an arrival which met nothing
/// finds room, a the mean number of times that a packet would be drawn by its own flow on its way to the head.
fn law(load: Load) -> Figures {
    let (m, ratio) = (load.draws as f64, load.unresponsive / load.others);
    let passes = |h: f64| (1.0 - h).powi(load.draws as i32);
    let drawn = |h: f64, b: f64| m * ratio * (1.0 - h) / b;
    let part = |b: f64| zero(0.0, 1.0, |h| h - passes(h) * b * (1.0 - (-drawn(h, b)).exp()) / m);
    let through = |b: f64| load.unresponsive * passes(part(b)) * b * (-drawn(part(b), b)).exp();
    let b = zero(1e-6, 1.0, |b| load.others * b + through(b) - 1.0);
    assert!(b < 0.999, "the link must be overloaded: {load:?}");
    let h = part(b);
    Figures { matched: 1.0 - passes(h), survive: (-drawn(h, b)).exp(), share: through(b) }
}

/// Means over the batches, and their standard errors.
fn measured(load: Load) -> [(f64, f64); 3] {
    // Nothing but the match and the full buffer drops: the average is the queue, and RED's line is out of reach.
    let values = values(&[
        ("min_th", Value::Real(0.0)),
        ("max_th", Value::Real(1e6)),
        ("max_p", Value::Real(1e-9)),
        ("w_q", Value::Real(1.0)),
        ("draws", Value::Whole(load.draws)),
    ]);
    let choke = queue("choke", &values, &LINK, Limit::Packets(BUFFER), false, Generator::stream(5, "choke"));
    let mut bench = OpenLoop::new(choke, LINK.rate_bps);
    let mut random = Generator::stream(6, "arrivals");
    let rate = (load.others + load.unresponsive) / SERVICE_S;
    let mut batches = [const { Vec::new() }; 3];
    let (mut now, mut next_flow) = (0.0, 1);
    for batch in 0..5 + BATCHES {
        bench.departed.clear();
        bench.dropped.clear();
        let (mut arrived, mut admitted, matches) = (0.0, 0.0, gauge(&*bench.queue, "matched"));
        for _ in 0..25_000 {
            now -= (1.0 - random.uniform()).ln() / rate;
            let own = random.uniform() * (load.others + load.unresponsive) < load.unresponsive;
            // The others are so many that no two packets are of one flow.
            next_flow += 1;
            let inside = bench.arrive(Packet::new(if own { UNRESPONSIVE } else { next_flow }, 1000), now);
            arrived += f64::from(u8::from(own));
            admitted += f64::from(u8::from(own && inside));
        }
        assert!(bench.dropped.iter().all(|&(_, reason)| reason != Reason::Early));
        if batch >= 5 {
            let left = bench.departed.iter().filter(|p| p.flow == UNRESPONSIVE).count() as f64;
            batches[0].push((gauge(&*bench.queue, "matched") - matches) / arrived);
            batches[1].push(left / admitted);
            batches[2].push(left / bench.departed.len() as f64);
        }
    }
    batches.map(|batch| mean_and_error(&batch))
}

fn mean_and_error(batch: &[f64]) -> (f64, f64) {
    let n = batch.len() as f64;
    let mean = batch.iter().sum::<f64>() / n;
    let variance = batch.iter().map(|x| (x - mean) * (x - mean)).sum::<f64>() / (n - 1.0);
    (mean, (variance / n).sqrt())
}

const LOADS: [Load; 6] = [
    Load { others: 0.78, unresponsive: 1.2, draws: 1 },
    Load { others: 0.95, unresponsive: 0.3, draws: 1 },
    Load { others: 0.95, unresponsive: 2.0, draws: 1 },
    Load { others: 0.97, unresponsive: 4.0, draws: 1 },
    Load { others: 1.5, unresponsive: 1.0, draws: 1 },
    Load { others: 1.05, unresponsive: 1.0, draws: 3 },
];

#[test]
fn an_unresponsive_flow_gets_what_the_law_gives_it() {
    for load in LOADS {
        let Figures { matched, survive, share } = law(load);
        let found = measured(load);
        for ((mean, error), expected) in found.into_iter().zip([matched, survive, share]) {
            assert!((mean - expected).abs() < 5.0 * error, "{load:?}: {mean} +- {error}, by the law {expected}");
        }
        // What it would get from a plain queue; what its part of the queue is; what another m would leave it.
        let (mean, error) = found[2];
        let plain = load.unresponsive / (load.unresponsive + load.others);
        let part_of_queue = 1.0 - (1.0 - matched).powf(1.0 / load.draws as f64);
        let one_more_draw = law(Load { others: load.others.max(1.05), draws: load.draws + 1, ..load }).share;
        for other in [plain, part_of_queue, one_more_draw] {
            assert!((mean - other).abs() > 20.0 * error, "{load:?}: {mean} +- {error} could be {other} too");
        }
    }
}

/// With hardly any other loss the law is that of Tang, Wang and Low: the share is a e^-a/(1 + a e^-a), which is largest
/// at a = 1, where it is 1/(e + 1), with 1.19 times the link's rate offered.
#[test]
fn without_other_losses_the_share_peaks_at_one_over_e_plus_one() {
    let peak = 1.0 / (1.0 + 1.0_f64.exp());
    let mut largest = (0.0, 0.0);
    for step in 1..60 {
        let a = 0.1 * f64::from(step);
        let others = 1.0 / (1.0 + a * (-a).exp());
        let unresponsive = others * a * (2.0 - (-a).exp());
        let share = law(Load { others: 1.003 * others, unresponsive, draws: 1 }).share;
        assert!((share - a * (-a).exp() * others).abs() < 2e-3, "{a}: {share}");
        assert!(share < peak);
        if share > largest.0 {
            largest = (share, unresponsive);
        }
    }
    assert!((largest.0 - peak).abs() < 1e-3 && (largest.1 - 1.19).abs() < 0.15, "{largest:?}");
}

/// Of n flows alike, each has 1/n of the queue in the mean, so every n-th arrival meets its own: exactly, whatever the
/// buffer, as long as the queue is not empty.
#[test]
fn of_n_flows_alike_every_nth_arrival_meets_its_own() {
    let all = [("min_th", Value::Real(0.0)), ("max_th", Value::Real(1e6)), ("max_p", Value::Real(1e-9))];
    for flows in [3, 8, 30] {
        let random = Generator::stream(7, "choke");
        let choke = queue("choke", &values(&all), &LINK, Limit::Packets(50), false, random);
        let mut bench = OpenLoop::new(choke, LINK.rate_bps);
        let mut random = Generator::stream(8, "arrivals");
        let (mut now, mut batches) = (0.0, Vec::new());
        for batch in 0..1 + BATCHES {
            let before = gauge(&*bench.queue, "matched");
            for _ in 0..5000 {
                // Six times what the link takes. Two flows would not fill the queue: every pair that arrives kills a
                // pair.
                now -= (1.0 - random.uniform()).ln() * SERVICE_S / 6.0;
                bench.arrive(Packet::new((random.uniform() * f64::from(flows)) as u64, 1000), now);
            }
            if batch > 0 {
                batches.push((gauge(&*bench.queue, "matched") - before) / 5000.0);
            }
        }
        let (mean, error) = mean_and_error(&batches);
        assert!((mean - 1.0 / f64::from(flows)).abs() < 5.0 * error, "{flows} flows: {mean} +- {error}");
        assert!(error < 0.02 * mean);
    }
}

#[test]
fn the_page_prints_the_law() {
    let page = std::path::Path::new(env!("CARGO_MANIFEST_DIR")).join("../../docs/algorithms/choke.md");
    let text = std::fs::read_to_string(page).expect("the page");
    let table = text.split("| v | u | m |").nth(1).expect("the table");
    let rows: Vec<Vec<f64>> = table
        .lines()
        .skip(2)
        .take_while(|line| line.starts_with('|'))
        .map(|line| line.trim_matches('|').split('|').map(|cell| cell.trim().parse().expect("a number")).collect())
        .collect();
    assert_eq!(rows.len(), LOADS.len());
    for (row, load) in rows.iter().zip(LOADS) {
        assert_eq!(row[..3], [load.others, load.unresponsive, load.draws as f64]);
        let Figures { matched, survive, share } = law(load);
        let plain = load.unresponsive / (load.unresponsive + load.others);
        for (printed, computed) in row[3..].iter().zip([matched, survive, share, plain]) {
            assert!((printed - computed).abs() < 6e-5, "{load:?}: {printed} is printed, {computed} computed");
        }
    }
}
