//! Queues with Poisson arrivals against queueing theory: M/D/1, M/M/1 and M/M/1/K.
//!
//! Each value is a mean over 20 seeds, which must be within 3.88 standard errors of the formula (Student's t with 19
//! degrees of freedom: a false alarm in one of 1,000 sets of seeds; the seeds are fixed). The standard error itself
//! must be small, so that the comparison is meaningful.

use earlydrop_sim::engine::PortOutcome;
use earlydrop_sim::run::{run, Events, Links};
use earlydrop_sim::scenario::{check, Doc};

const SEEDS: u64 = 20;
const T: f64 = 3.88;

/// A Poisson source in front of a link on which a packet of 1000 B takes 1 ms. Access links take negligible time.
fn ports(load: f64, segment: &str, limit: &str, seconds: u32) -> Vec<PortOutcome> {
    let text = format!(
        "name = 'theory'\nduration = '{seconds} s'\nwarmup = '10 s'\n[topology]\nkind = 'dumbbell'\npairs = 1\n\
         access = {{ rate = '100 Tbit/s', delay = '1 ms' }}\nbottleneck = {{ rate = '8 Mbit/s', delay = '1 ms' }}\n\
         [queue.bottleneck]\naqm = 'droptail'\nlimit = {limit}\n\
         [[traffic]]\nkind = 'poisson'\nrate = '{} bit/s'\nsegment = {segment}\n",
        load * 8e6
    );
    let doc = Doc::from_toml(&text, None).expect("TOML");
    let scenario = check(&doc, None).expect("sound");
    let one = |seed| run(&scenario, seed, Links::Auto, Events::Lanes).expect("runs").ports.remove(0);
    (1..=SEEDS).map(one).collect()
}

/// Compares a measure of `ports` with `expected`; its standard error may be a fraction `power` of that.
fn check_mean(what: &str, ports: &[PortOutcome], measure: impl Fn(&PortOutcome) -> f64, expected: f64, power: f64) {
    let values: Vec<f64> = ports.iter().map(measure).collect();
    let n = values.len() as f64;
    let mean = values.iter().sum::<f64>() / n;
    let variance = values.iter().map(|x| (x - mean) * (x - mean)).sum::<f64>() / (n - 1.0);
    let error = (variance / n).sqrt();
    assert!(error < power * expected, "{what}: {mean} +- {error} is too uncertain for {expected}");
    assert!((mean - expected).abs() < T * error, "{what}: {mean} +- {error}, not {expected}");
}

#[test]
fn constant_sizes_follow_m_d_1() {
    for load in [0.3, 0.6, 0.85] {
        let ports = ports(load, "1000", "100000", 200);
        let wait = 1e-3 * load / (2.0 * (1.0 - load));
        check_mean("wait", &ports, |port| port.stats.mean_sojourn(), wait, 0.02);
        check_mean("length", &ports, |port| port.stats.mean(), load * load / (2.0 * (1.0 - load)), 0.02);
        assert!(ports.iter().all(|port| port.counters.drops() == 0));
    }
}

#[test]
fn exponential_sizes_follow_m_m_1() {
    for load in [0.3, 0.6, 0.85] {
        let ports = ports(load, "{ exponential = '1000 B' }", "100000", 300);
        check_mean("wait", &ports, |port| port.stats.mean_sojourn(), 1e-3 * load / (1.0 - load), 0.03);
        check_mean("length", &ports, |port| port.stats.mean(), load * load / (1.0 - load), 0.03);
        // The wait is 0 with probability 1 - load, else exponential with the mean of the sojourn: its 95 % point.
        let tail = 1e-3 / (1.0 - load) * (load / 0.05).ln();
        check_mean("95 % point", &ports, |port| port.stats.sojourn_quantiles([0.95])[0], tail, 0.03);
    }
}

#[test]
fn a_finite_buffer_follows_m_m_1_k() {
    for (load, limit) in [(0.8_f64, 4), (0.8, 9), (1.0, 9), (1.3, 9)] {
        let ports = ports(load, "{ exponential = '1000 B' }", &limit.to_string(), 100);
        // Probability of k packets in the system, including the one in transmission: load^k over the sum of all.
        let capacity = limit + 1;
        let total: f64 = (0..=capacity).map(|k| load.powi(k)).sum();
        let chance = |k: i32| load.powi(k) / total;
        let waiting: f64 = (1..=capacity).map(|k| f64::from(k - 1) * chance(k)).sum();
        let lost = chance(capacity);
        let loss = |port: &PortOutcome| port.counters.drops() as f64 / port.counters.arrivals as f64;
        check_mean("loss", &ports, loss, lost, 0.02);
        check_mean("length", &ports, |port| port.stats.mean(), waiting, 0.02);
        let accepted = load * 1e3 * (1.0 - lost);
        check_mean("wait", &ports, |port| port.stats.mean_sojourn(), waiting / accepted, 0.02);
        let busy = |port: &PortOutcome| 8.0 * port.counters.departed_bytes as f64 / 90.0 / port.rate_bps;
        check_mean("utilisation", &ports, busy, 1.0 - chance(0), 0.01);
    }
}
