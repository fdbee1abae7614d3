//! Links by name against the figures of their sources, over a hundred hours of the process alone. With `--nocapture` it
//! prints each figure beside its source's.

#![allow(clippy::print_stdout)]

use earlydrop_aqm::params::{Value, Values};
use earlydrop_net::model::{find, Model, Process};

const HOURS: f64 = 100.0 * 3600.0;

fn named(name: &str, given: &[(&'static str, Value)]) -> Model {
    Model::Named { spec: find(name).expect("a model"), values: Values::of(given) }
}

fn word(name: &'static str, word: &'static str) -> (&'static str, Value) {
    (name, Value::Choice(word))
}

fn quantile(sorted: &[f64], p: f64) -> f64 {
    sorted[(p * sorted.len() as f64) as usize]
}

fn mean(values: &[f64]) -> f64 {
    values.iter().sum::<f64>() / values.len() as f64
}

fn autocorrelation(values: &[f64], lag: usize) -> f64 {
    let m = mean(values);
    let variance = values.iter().map(|x| (x - m) * (x - m)).sum::<f64>() / values.len() as f64;
    let together: f64 = values.iter().zip(&values[lag..]).map(|(a, b)| (a - m) * (b - m)).sum();
    together / (values.len() - lag) as f64 / variance
}

/// The figures of a rate, Mbit/s, shares and seconds.
struct Rate {
    quantiles: &'static [(f64, f64)],
    mean: Option<f64>,
    empty: Option<f64>,
    correlations: &'static [(f64, f64)],
}

fn check_rate(what: &str, model: &Model, step: f64, want: &Rate) {
    let (length, rates) = model.rates("bottleneck", 1, HOURS).expect("a rate");
    assert_eq!(length, step, "{what}");
    let rates: Vec<f64> = rates.iter().map(|rate| rate * 1e-6).collect();
    let mut sorted = rates.clone();
    sorted.sort_unstable_by(f64::total_cmp);
    let mut wrong = Vec::new();
    let mut check = |what: String, found: f64, want: f64, most: f64| {
        println!("  {what}: {found:.3}, source {want}, allowed {most:.3} off");
        if (found - want).abs() > most {
            wrong.push(what);
        }
    };
    println!("{what}");
    for &(p, value) in want.quantiles {
        let most = if value == 0.0 { 0.5 } else { 0.1 * value };
        check(format!("quantile {p}"), quantile(&sorted, p), value, most);
    }
    if let Some(value) = want.mean {
        check("mean".into(), mean(&rates), value, 0.1 * value);
    }
    if let Some(share) = want.empty {
        let empty = rates.iter().filter(|&&rate| rate == 0.0).count() as f64 / rates.len() as f64;
        check("empty steps".into(), empty, share, 0.02);
    }
    for &(lag, value) in want.correlations {
        check(
            format!("autocorrelation at {lag} s"),
            autocorrelation(&rates, (lag / step).round() as usize),
            value,
            0.1,
        );
    }
    assert!(wrong.is_empty(), "{what}: {wrong:?}");
}

#[test]
fn rates_have_the_quantiles_means_shares_and_autocorrelations_of_their_sources() {
    let att = Rate {
        quantiles: &[(0.05, 0.0), (0.5, 5.28), (0.95, 10.1)],
        mean: Some(5.17),
        empty: Some(0.051),
        correlations: &[(0.1, 0.86), (1.0, 0.79), (5.0, 0.60), (15.0, 0.44)],
    };
    check_rate("lte-drive, AT&T down", &named("lte-drive", &[]), 0.1, &att);
    let tmobile = Rate {
        quantiles: &[(0.05, 0.0), (0.5, 10.1), (0.95, 33.0)],
        mean: Some(12.8),
        empty: Some(0.080),
        correlations: &[(0.1, 0.83), (1.0, 0.62), (5.0, 0.38), (15.0, 0.16)],
    };
    check_rate("lte-drive, T-Mobile down", &named("lte-drive", &[word("operator", "tmobile")]), 0.1, &tmobile);
    let up = Rate {
        quantiles: &[(0.05, 0.0), (0.5, 0.96), (0.95, 1.56)],
        mean: Some(0.90),
        empty: Some(0.076),
        correlations: &[(0.1, 0.52), (1.0, 0.43), (5.0, 0.18), (15.0, 0.08)],
    };
    check_rate("lte-drive, AT&T up", &named("lte-drive", &[word("direction", "up")]), 0.1, &up);
    let starlink = Rate {
        quantiles: &[(0.05, 0.0), (0.25, 51.0), (0.5, 134.0), (0.75, 197.0), (0.95, 265.0)],
        mean: None,
        empty: Some(0.16),
        correlations: &[(1.0, 0.88), (5.0, 0.75), (15.0, 0.59), (30.0, 0.54)],
    };
    check_rate("starlink-drive, down", &named("starlink-drive", &[]), 1.0, &starlink);
    let up = Rate {
        quantiles: &[(0.05, 6.4), (0.25, 9.3), (0.5, 18.0), (0.75, 28.0), (0.95, 48.0)],
        mean: None,
        empty: None,
        correlations: &[],
    };
    check_rate("starlink-drive, up", &named("starlink-drive", &[word("direction", "up")]), 1.0, &up);
}

/// A round trip of an idle link each second: the delays of both directions, drawn apart.
#[test]
fn starlinks_round_trips_change_each_15_s_and_have_their_sources_quantiles() {
    let model = |direction| named("starlink-drive", &[word("direction", direction)]);
    let (down, up) = (model("down"), model("up"));
    assert_eq!(down.delay_step(), Some(0.02));
    let round_trips = |times: &[f64]| -> Vec<f64> {
        let (there, back) =
            (down.delays("bottleneck", 1, times.iter().copied()), up.delays("reverse", 1, times.iter().copied()));
        there.iter().zip(&back).map(|(there, back)| (there + back) * 1e3).collect()
    };
    // At all places of a slot.
    let pings = round_trips(&(0..HOURS as u32).map(|second| f64::from(second) * 1.003).collect::<Vec<_>>());
    let mut sorted = pings.clone();
    sorted.sort_unstable_by(f64::total_cmp);
    let (median, high) = (quantile(&sorted, 0.5), quantile(&sorted, 0.99));
    let apart = mean(&pings.windows(2).map(|pair| (pair[1] - pair[0]).abs()).collect::<Vec<_>>());
    println!("round trip: median {median:.2} ms, 99 % {high:.2} ms; successive ones differ by {apart:.2} ms");
    assert!((median / 33.0 - 1.0).abs() < 0.1, "{median}");
    assert!(high < 65.0, "{high}");
    assert!((apart / 6.7 - 1.0).abs() < 0.1, "{apart}");

    // The least of each 15 s differs from one to the next, and is nearly that of each half.
    let least = |steps: &[f64]| steps.iter().copied().fold(f64::INFINITY, f64::min);
    let each_step = round_trips(&(0..400 * 750).map(|step| (f64::from(step) + 0.5) * 0.02).collect::<Vec<_>>());
    let slots: Vec<&[f64]> = each_step.chunks(750).collect();
    let floors: Vec<f64> = slots.iter().map(|slot| least(slot)).collect();
    let between = mean(&floors.windows(2).map(|pair| (pair[1] - pair[0]).abs()).collect::<Vec<_>>());
    let within = mean(&slots.iter().map(|slot| (least(&slot[..375]) - least(&slot[375..])).abs()).collect::<Vec<_>>());
    println!(
        "smallest round trip: from one 15 s to the next {between:.2} ms, between the halves of one {within:.2} ms"
    );
    assert!(between > 5.0 * within, "{between} {within}");

    // Just after a change round trips are 30 ms longer.
    let of = |step: usize| mean(&slots[1..].iter().map(|slot| slot[step]).collect::<Vec<_>>());
    assert!((of(2) - of(100) - 30.0).abs() < 1.5, "{} {}", of(2), of(100));
}

/// The same bits on every machine, for ever: a change here changes results.
#[test]
fn first_values_of_a_seed_never_change() {
    let bits = |model: &Model| {
        let series = model.series("bottleneck", 1, 10.0);
        let both = |values: &[f64]| values.iter().take(3).map(|x| x.to_bits()).collect::<Vec<_>>();
        (both(&series.rate), both(&series.delay))
    };
    let lte = bits(&named("lte-drive", &[]));
    let starlink = bits(&named("starlink-drive", &[]));
    assert_eq!(lte.0, LTE);
    assert_eq!(starlink, (STARLINK.0.to_vec(), STARLINK.1.to_vec()));
    let fitted = Process { step: 0.1, quantiles: vec![(0.2, 1e6), (0.8, 2e6)], memory: vec![] };
    let own = Model::Process { rate: fitted, delay: None };
    assert_ne!(
        bits(&own),
        bits(&Model::Process {
            rate: Process { step: 0.1, quantiles: vec![(0.2, 1e6), (0.8, 2e6)], memory: vec![(1.0, 0.5)] },
            delay: None
        })
    );
    let seeds = |seed| named("lte-drive", &[]).series("bottleneck", seed, 1.0);
    assert_ne!(seeds(1), seeds(2));
    assert_ne!(seeds(1), named("lte-drive", &[]).series("reverse", 1, 1.0));
}
const LTE: [u64; 3] = [0x415e_8deb_96bb_815a, 0x4156_75b6_32e9_1569, 0x4158_b51c_3600_89c9];
const STARLINK: ([u64; 3], [u64; 3]) = (
    [0x41a9_3175_cdef_eb17, 0x419f_278c_9479_8529, 0x41a3_66e2_e10e_3219],
    [0x3f97_76ae_277a_a750, 0x3f8b_8541_97aa_4f56, 0x3f89_51dc_fd8c_a65f],
);
