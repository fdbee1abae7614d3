//! RED as published, written down slowly a second time and held against the catalogue's, arrival by arrival.
//!
//! The oracle follows the detailed algorithm of Floyd & Jacobson 1993 (Fig. 2) line by line, with the curves of Gentle
//! RED, NLRED and TRED in the form in which their papers give them. It shares no code with the crate: it has its own
//! random numbers, its own queue (a list of all transmissions there ever were) and its own arithmetic (powers by
//! repeated multiplication). Where the 1993 text leaves something open, it says here what was chosen:
//!
//! - The packet in transmission is not part of the queue, and the queue counts as empty when the link is idle.
//! - q_time also moves when an arrival is dropped at an idle link, by the whole packets that it has counted, or its
//!   idle time would be counted twice.
//! - A p_a whose denominator is used up is 1.

use crate::common::{gauge, queue, OpenLoop};
use earlydrop_aqm::prelude::*;
use proptest::prelude::*;
use proptest::test_runner::RngSeed;

/// Knuth's MMIX generator: for both sides the same numbers, and nobody else's.
#[derive(Clone)]
struct Numbers(u64);

impl Numbers {
    fn next(&mut self) -> f64 {
        self.0 = self.0.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
        (self.0 >> 11) as f64 / 9_007_199_254_740_992.0
    }
}

#[derive(Clone, Copy, Debug, PartialEq)]
enum Shape {
    Red,
    Gentle,
    Nlred,
    Tred,
    TredPrinted,
}

#[derive(Clone, Debug)]
struct Published {
    shape: Shape,
    min_th: f64,
    max_th: f64,
    max_p: f64,
    w_q: f64,
    bytes: bool,
    scaled: bool,
    analysis: bool,
    mean_packet: f64,
    max_packet: f64,
    limit: u64,
    rate_bps: f64,
}

struct Oracle {
    rule: Published,
    numbers: Numbers,
    avg: f64,
    count: i64,
    q_time: f64,
    /// Start, end and size of every transmission, past and to come.
    transmissions: Vec<(f64, f64, u32)>,
}

#[derive(Clone, Copy, Debug, PartialEq)]
enum Outcome {
    Queued,
    Early,
    Forced,
    Overflow,
}

impl Oracle {
    fn new(rule: Published, numbers: Numbers) -> Self {
        Oracle { rule, numbers, avg: 0.0, count: -1, q_time: 0.0, transmissions: Vec::new() }
    }

    fn p_b(&self) -> f64 {
        let Published { shape, min_th, max_th, max_p, .. } = self.rule;
        let avg = self.avg;
        let third = (max_th - min_th) / 3.0;
        match shape {
            Shape::Gentle if avg >= max_th => max_p + (1.0 - max_p) * (avg - max_th) / max_th,
            Shape::Red | Shape::Gentle => max_p * (avg - min_th) / (max_th - min_th),
            Shape::Nlred => 1.5 * max_p * ((avg - min_th) / (max_th - min_th)).powi(2),
            Shape::Tred | Shape::TredPrinted if avg < min_th + third => {
                9.0 * max_p / (max_th - min_th).powi(3) * (avg - min_th).powi(3)
            }
            Shape::Tred | Shape::TredPrinted if avg < min_th + 2.0 * third => {
                max_p / (max_th - min_th) * (avg - min_th)
            }
            Shape::Tred => 9.0 * max_p / (max_th - min_th).powi(3) * (avg - max_th).powi(3) + max_p,
            Shape::TredPrinted => (9.0 * max_p / (max_th - min_th).powi(3) * (avg - min_th).powi(3) + max_p).min(1.0),
        }
    }

    fn arrival(&mut self, time: f64, size: u32) -> Outcome {
        let waiting: Vec<u32> = self.transmissions.iter().filter(|t| t.0 > time).map(|t| t.2).collect();
        let link_free_at = self.transmissions.iter().map(|t| t.1).fold(0.0, f64::max);
        let q = if self.rule.bytes { f64::from(waiting.iter().sum::<u32>()) } else { waiting.len() as f64 };
        // calculate the new average queue size avg
        if link_free_at > time {
            self.avg = (1.0 - self.rule.w_q) * self.avg + self.rule.w_q * q;
        } else {
            let m =
                ((time - self.q_time.max(link_free_at)) * self.rule.rate_bps / (8.0 * self.rule.mean_packet)).floor();
            for _ in 0..m as u64 {
                self.avg *= 1.0 - self.rule.w_q;
            }
            self.q_time = self.q_time.max(link_free_at) + m * 8.0 * self.rule.mean_packet / self.rule.rate_bps;
        }
        let end = if self.rule.shape == Shape::Gentle { 2.0 * self.rule.max_th } else { self.rule.max_th };
        let restart = if self.rule.analysis { -1 } else { 0 };
        if self.rule.min_th <= self.avg && self.avg < end {
            self.count += 1;
            let mut p_b = self.p_b();
            if self.rule.scaled {
                p_b = (p_b * f64::from(size) / self.rule.max_packet).min(1.0);
            }
            let room = 1.0 - self.count as f64 * p_b;
            let p_a = if room > 0.0 { p_b / room } else { 1.0 };
            if self.numbers.next() <= p_a && p_b > 0.0 {
                self.count = restart;
                return Outcome::Early;
            }
        } else if end <= self.avg {
            self.count = restart;
            return Outcome::Forced;
        } else {
            self.count = -1;
        }
        if waiting.len() as u64 >= self.rule.limit {
            return Outcome::Overflow;
        }
        let start = time.max(link_free_at);
        self.transmissions.push((start, start + 8.0 * f64::from(size) / self.rule.rate_bps, size));
        // Those that have long ended only make it slower still.
        if self.transmissions.len() > 400 {
            self.transmissions.drain(..200);
        }
        Outcome::Queued
    }
}

fn in_catalogue(rule: &Published, numbers: Numbers) -> OpenLoop {
    let mut values = Values::new();
    let (aqm, own) = match rule.shape {
        Shape::Red => ("red", ("gentle", Value::Flag(false))),
        Shape::Gentle => ("red", ("gentle", Value::Flag(true))),
        Shape::Nlred => ("nlred", ("dialect", Value::Choice("paper"))),
        Shape::Tred => ("tred", ("reading", Value::Choice("corrected"))),
        Shape::TredPrinted => ("tred", ("reading", Value::Choice("printed"))),
    };
    let threshold = |x: f64| if rule.bytes { Value::QueueBytes(x) } else { Value::Real(x) };
    values
        .set(own.0, own.1)
        .set("min_th", threshold(rule.min_th))
        .set("max_th", threshold(rule.max_th))
        .set("max_p", Value::Real(rule.max_p))
        .set("w_q", Value::Real(rule.w_q))
        .set("unit", Value::Choice(if rule.bytes { "byte" } else { "packet" }))
        .set("byte_scaling", Value::Flag(rule.scaled))
        .set("count_base", Value::Choice(if rule.analysis { "analysis" } else { "pseudocode" }))
        .set("mean_packet", Value::Real(rule.mean_packet))
        .set("max_packet", Value::Real(rule.max_packet));
    let link = Link { rate_bps: rule.rate_bps, delay_s: 0.0 };
    let mut numbers = numbers;
    let random = Generator::custom(move || numbers.next());
    OpenLoop::new(queue(aqm, &values, &link, Limit::Packets(rule.limit), false, random), rule.rate_bps)
}

fn rules() -> impl Strategy<Value = Published> {
    let shape = prop::sample::select(vec![Shape::Red, Shape::Gentle, Shape::Nlred, Shape::Tred, Shape::TredPrinted]);
    let thresholds = (1.0..20.0_f64, 2.0..30.0_f64);
    let numbers = (0.005..0.6_f64, prop_oneof![0.0005..0.02_f64, 0.02..0.9_f64]);
    let switches = (any::<bool>(), any::<bool>(), any::<bool>());
    (shape, thresholds, numbers, switches, 10_u64..80).prop_map(
        |(shape, (min_th, width), (max_p, w_q), (bytes, scaled, analysis), limit)| {
            let unit = if bytes { 700.0 } else { 1.0 };
            Published {
                shape,
                min_th: min_th * unit,
                max_th: (min_th + width) * unit,
                max_p,
                w_q,
                bytes,
                scaled,
                analysis,
                mean_packet: 700.0,
                max_packet: 1500.0,
                limit,
                rate_bps: 5e6,
            }
        },
    )
}

/// 3000 arrivals, exponential gaps, at a load that steps through 0.3 .. 1.9; now and then a pause.
fn arrivals(seed: u64) -> Vec<(f64, u32)> {
    let mut numbers = Numbers(seed);
    let mut time = 0.0;
    (0..3000)
        .map(|i| {
            let load = [0.3, 0.9, 1.2, 1.9, 1.0, 0.6][(i / 125) % 6];
            let size = [40, 576, 576, 1000, 1500][(numbers.next() * 5.0) as usize];
            time += -(1.0 - numbers.next()).ln() * 8.0 * 740.0 / 5e6 / load;
            if numbers.next() < 0.002 {
                time += 0.3 * numbers.next();
            }
            (time, size)
        })
        .collect()
}

/// The first arrival at which both differ.
fn first_difference(rule: &Published, seed: u64) -> Option<String> {
    let numbers = Numbers(seed ^ 0x5555);
    let mut oracle = Oracle::new(rule.clone(), numbers.clone());
    let mut ours = in_catalogue(rule, numbers);
    for (i, (time, size)) in arrivals(seed).into_iter().enumerate() {
        let want = oracle.arrival(time, size);
        let dropped = ours.dropped.len();
        let admitted = ours.arrive(Packet::new(1, size), time);
        let found = match (admitted, ours.dropped.get(dropped).map(|d| d.1)) {
            (true, _) => Outcome::Queued,
            (false, Some(Reason::Early)) => Outcome::Early,
            (false, Some(Reason::Forced)) => Outcome::Forced,
            _ => Outcome::Overflow,
        };
        let average = gauge(&*ours.queue, "avg");
        if want != found || (average - oracle.avg).abs() > 1e-11 * oracle.avg + 1e-100 {
            return Some(format!("arrival {i}: {want:?} at {}, ours {found:?} at {average}", oracle.avg));
        }
    }
    None
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 150, failure_persistence: None, rng_seed: RngSeed::Fixed(2), ..ProptestConfig::default() })]

    #[test]
    fn every_verdict_and_average_equals_the_published_algorithm(rule in rules(), seed in any::<u64>()) {
        prop_assert_eq!(first_difference(&rule, seed), None);
    }
}

/// The comparison sees a wrong weight in the tenth digit, a count that starts at 0, and the misprint of TRED.
#[test]
fn a_wrong_rule_is_noticed() {
    let rule = Published {
        shape: Shape::Tred,
        min_th: 5.0,
        max_th: 25.0,
        max_p: 0.1,
        w_q: 0.01,
        bytes: false,
        scaled: false,
        analysis: false,
        mean_packet: 700.0,
        max_packet: 1500.0,
        limit: 60,
        rate_bps: 5e6,
    };
    assert_eq!(first_difference(&rule, 1), None);
    for wrong in [
        Published { w_q: 0.010_000_000_1, ..rule.clone() },
        Published { analysis: true, ..rule.clone() },
        Published { shape: Shape::TredPrinted, ..rule.clone() },
        Published { shape: Shape::Red, ..rule.clone() },
        Published { limit: 10, ..rule.clone() },
    ] {
        let numbers = Numbers(1 ^ 0x5555);
        let mut oracle = Oracle::new(wrong.clone(), numbers.clone());
        let mut ours = in_catalogue(&rule, numbers);
        let noticed = arrivals(1).into_iter().any(|(time, size)| {
            let queued = oracle.arrival(time, size) == Outcome::Queued;
            let admitted = ours.arrive(Packet::new(1, size), time);
            queued != admitted || (gauge(&*ours.queue, "avg") - oracle.avg).abs() > 1e-11 * oracle.avg
        });
        assert!(noticed, "{wrong:?}");
    }
}
