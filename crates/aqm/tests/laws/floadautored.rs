//! What `docs/algorithms/floadautored.md` says of FLoadAutoRED's load stage, worked out by the discipline itself.

use crate::common::{gauge, queue, values, OpenLoop};
use earlydrop_aqm::prelude::*;

/// 3750 packets/s of 500 B, where Delta/C = 0.003.
const LINK: Link = Link { rate_bps: 15e6, delay_s: 0.01 };
const CAPACITY: f64 = 3750.0;

fn floadautored(more: &[(&'static str, Value)]) -> Box<dyn Discipline> {
    let mut all = values(&[("mean_packet", Value::Real(500.0))]);
    for &(name, value) in more {
        all.set(name, value);
    }
    queue("floadautored", &all, &LINK, Limit::Packets(300), false, Generator::stream(1, "queue"))
}

/// z and the change of p_a after `seconds` in which `load` times C packets came each second, evenly.
fn settled(load: f64, seconds: u32, more: &[(&'static str, Value)]) -> (f64, f64) {
    // A slot of 4 s holds a whole number of packets for every load of the table, and counts alone.
    let slot = 4.0;
    let mut all = vec![("slot", Value::Real(slot)), ("rate_weight", Value::Real(1.0))];
    all.extend_from_slice(more);
    let mut queue = floadautored(&all);
    let packets = (load * CAPACITY * slot).round() as u64;
    let mut flow = 0;
    for n in 0..seconds / 4 {
        // One beyond the last: the next slot's first packet, which sees z.
        for i in 0..packets + u64::from(n + 1 == seconds / 4) {
            let now = Time::from_seconds((f64::from(n) + i as f64 / packets as f64) * slot);
            flow += 1;
            queue.enqueue(Packet::new(flow, 500), now, &mut |_, _| {});
            queue.dequeue(now, &mut |_, _| {});
        }
    }
    (gauge(&*queue, "z"), gauge(&*queue, "load_change"))
}

const LITERAL: (&str, Value) = ("reading", Value::Choice("literal"));
const CAPACITY_ALONE: (&str, Value) = ("load", Value::Choice("capacity"));

fn page() -> String {
    let page = std::path::Path::new(env!("CARGO_MANIFEST_DIR")).join("../../docs/algorithms/floadautored.md");
    std::fs::read_to_string(page).expect("the page")
}

/// The cells of the table that begins with `heading`; "inf" is what stands for the infinite z.
fn table(heading: &str) -> Vec<Vec<f64>> {
    let text = page();
    let table = text.split(heading).nth(1).unwrap_or_else(|| panic!("no table {heading}"));
    let rows = table.lines().skip(2).take_while(|line| line.starts_with('|'));
    let number = |cell: &str| match cell.trim() {
        "inf" => 1e9,
        text => text.parse().expect("a number"),
    };
    rows.map(|line| line.trim_matches('|').split('|').map(number).collect()).collect()
}

#[test]
fn the_table_of_z_is_what_the_queue_works_out() {
    let rows = table("| lambda/C | z, printed |");
    assert_eq!(rows.len(), 10);
    for row in rows {
        let load = row[0];
        let (printed, change) = settled(load, 8, &[LITERAL]);
        let (ratio, intended) = settled(load, 8, &[CAPACITY_ALONE]);
        // Until it has moved from one end to the other: 0.5 C at 0.2 (lambda - 0.98 C) a second.
        let long = if load > 0.9 && load < 1.05 { 300 } else { 40 };
        let (virtual_, _) = settled(load, long, &[]);
        for (column, found) in [printed, change, ratio, intended, virtual_].into_iter().enumerate() {
            let shown = row[column + 1];
            assert!((found - shown).abs() <= 5.1e-4 * shown.abs(), "{load}, column {column}: {found}, printed {shown}");
        }
    }
}

/// At no load does the printed z lie in the band, and below capacity it always adds.
#[test]
fn the_printed_z_never_comes_into_its_band() {
    let mut last_change = f64::INFINITY;
    for percent in [1_u32, 2, 5, 10, 20, 40, 60, 80, 90, 95, 98, 99] {
        let load = f64::from(percent) / 100.0;
        let (z, change) = settled(load, 8, &[LITERAL]);
        let formula = 0.003 * 0.2 * (1.0 - load) / load;
        assert!(z < 0.0 && (change - formula).abs() < 1e-9 * formula, "{load}: {z} {change}");
        assert!(change < last_change, "the less arrives, the more it drops");
        last_change = change;
    }
    for percent in [101_u32, 102, 104, 106, 110, 150, 200, 400, 1000] {
        let (z, change) = settled(f64::from(percent) / 100.0, 8, &[LITERAL]);
        assert!(z > 5.0 && change > 0.015, "{percent} %: {z} {change}");
    }
    // The intended z is in the band where it should be.
    let (z, change) = settled(1.04, 8, &[CAPACITY_ALONE]);
    assert!((z - 1.04).abs() < 1e-9 && change == 0.0);
}

/// Poisson arrivals of `load` times C, no two of one flow, through the link; the discipline after `seconds`, and the
/// part of the link that was used in the last quarter.
fn overload(load: f64, seconds: f64, more: &[(&'static str, Value)]) -> (Box<dyn Discipline>, f64) {
    let mut bench = OpenLoop::new(floadautored(more), LINK.rate_bps);
    let mut random = Generator::stream(2, "arrivals");
    let (mut now, mut flow, mut before) = (0.0, 0, None);
    while now < seconds {
        now -= (1.0 - random.uniform()).ln() / (load * CAPACITY);
        flow += 1;
        bench.arrive(Packet::new(flow, 500), now);
        if now > 0.75 * seconds && before.is_none() {
            before = Some(bench.departed.len());
        }
    }
    let used = (bench.departed.len() - before.unwrap_or(0)) as f64 / (0.25 * seconds * CAPACITY);
    (bench.queue, used)
}

/// Counting what arrives, an overload that does not respond drives p to 1 for good; counting what is admitted, p stays
/// small and the average goes to max_th.
#[test]
fn accumulated_probability_must_be_measured_behind_the_drop() {
    let accumulate = ("accumulate", Value::Flag(true));
    let offered = ("measured", Value::Choice("offered"));
    // Below min_th everything is admitted whatever p is, and hides it.
    let no_min_th = ("min_th", Value::Real(0.0));
    let (shut, used) = overload(2.0, 40.0, &[accumulate, CAPACITY_ALONE, offered, no_min_th]);
    assert_eq!((gauge(&*shut, "p"), used), (1.0, 0.0));
    let (open, used) = overload(2.0, 40.0, &[accumulate, CAPACITY_ALONE, no_min_th]);
    assert!(gauge(&*open, "p") < 0.1 && used > 0.99, "{} {used}", gauge(&*open, "p"));
    let seen = open.counters();
    assert!(seen.early_drops < seen.forced_drops / 20, "max_th drops instead: {seen:?}");
    let (held, used) = overload(2.0, 40.0, &[accumulate, CAPACITY_ALONE, offered]);
    assert_eq!(gauge(&*held, "p"), 1.0);
    assert!(used > 0.99 && (held.average().unwrap() - 100.0).abs() < 10.0, "{used}");
}

/// Without an effect of the load it is the stage before it, random number for random number.
#[test]
fn without_an_effect_of_the_load_it_is_the_stage_before() {
    let run = |more: &[(&'static str, Value)]| {
        let mut all = values(&[
            ("min_th", Value::Real(5.0)),
            ("max_th", Value::Real(20.0)),
            ("max_p", Value::Real(0.1)),
            ("mean_packet", Value::Real(500.0)),
        ]);
        for &(name, value) in more {
            all.set(name, value);
        }
        let random = Generator::stream(3, "queue");
        let mut bench =
            OpenLoop::new(queue("floadautored", &all, &LINK, Limit::Packets(30), false, random), LINK.rate_bps);
        let mut random = Generator::stream(4, "arrivals");
        let mut now = 0.0;
        for tag in 0..20_000 {
            now -= (1.0 - random.uniform()).ln() / (1.2 * CAPACITY);
            let flow = (random.uniform() * 6.0) as u64;
            bench.arrive(Packet { tag, ..Packet::new(flow, 500) }, now);
        }
        bench.dropped.iter().map(|(packet, reason)| (packet.tag, *reason)).collect::<Vec<_>>()
    };
    let without = run(&[("stage", Value::Choice("match"))]);
    assert!(without.len() > 2000);
    assert_eq!(without, run(&[("delta", Value::Real(1e-300))]));
    assert_ne!(without, run(&[]));
}

/// Both estimators find the rate of a Poisson stream; the slots' steps are coarser.
#[test]
fn both_estimators_find_the_rate() {
    for (estimator, spread) in [("slots", 0.25), ("exponential", 0.2)] {
        let mut queue = floadautored(&[("estimator", Value::Choice(estimator))]);
        let mut random = Generator::stream(5, "arrivals");
        let (mut now, mut sum, mut n) = (0.0, 0.0, 0.0);
        for i in 0..100_000_u64 {
            now -= (1.0 - random.uniform()).ln() / (0.8 * CAPACITY);
            queue.enqueue(Packet::new(i, 500), Time::from_seconds(now), &mut |_, _| {});
            queue.dequeue(Time::from_seconds(now), &mut |_, _| {});
            if i > 5000 {
                let lambda = gauge(&*queue, "lambda") / CAPACITY;
                assert!((lambda - 0.8).abs() < 4.0 * spread, "{estimator}: {lambda}");
                sum += lambda;
                n += 1.0;
            }
        }
        // 95,000 packets: a standard error of 0.3 %. Arrivals see the exponential estimate right after their own part
        // of it, 1/(2 K) above its mean.
        let bias = if estimator == "exponential" { 0.5 / 0.1 / CAPACITY } else { 0.0 };
        assert!((sum / n - 0.8 - bias).abs() < 0.012, "{estimator}: {}", sum / n);
    }
}
