use super::*;
use crate::catalogue::find;
use crate::prelude::*;

const LINK: Link = Link { rate_bps: 8e6, delay_s: 0.01 };

fn queue(aqm: &str, pairs: &[(&'static str, Value)], limit: u64) -> Fifo {
    let values = Values::of(pairs);
    let limit = Limit::Packets(limit);
    let Ok(Built::Policy(policy)) = (find(aqm).unwrap().build)(&values, &LINK, limit) else { panic!("{aqm}") };
    Fifo::new(Gate::new(policy, limit, false, Generator::stream(4, "queue")))
}

fn arrive(queue: &mut Fifo, flow: u64) -> Vec<Reason> {
    let mut died = Vec::new();
    queue.enqueue(Packet::new(flow, 1000), Time::ZERO, &mut |_, reason| died.push(reason));
    died
}

fn gauge(queue: &Fifo, wanted: &str) -> f64 {
    let mut found = f64::NAN;
    queue.gauges(&mut |name, value| found = if name == wanted { value } else { found });
    found
}

fn load(pairs: &[(&'static str, Value)], capacity: f64) -> Load {
    let values = Values::of(pairs);
    Load::new(&values, capacity, 150.0)
}

const LITERAL: (&str, Value) = ("reading", Value::Choice("literal"));

#[test]
fn the_three_cases_at_their_ends() {
    let load = load(&[], 1000.0);
    let near = |z: f64, want: f64| {
        let found = load.shift(z, 1000.0);
        assert!((found - want).abs() < 1e-15, "{found} at {z}");
    };
    near(0.5, -0.006);
    near(1.0_f64.next_down(), -0.003);
    near(1.0, 0.0);
    near(1.06_f64.next_down(), 0.0);
    near(1.06, 0.003 * 1.06);
    near(2.0, 0.006);
}

#[test]
fn delta_is_a_step_of_0_003_at_the_rate_it_was_made_for() {
    assert!((load(&[LITERAL], 3750.0).step - 0.003).abs() < 1e-15);
    // 125 and 1250 packets/s: 1 and 10 Mbit/s of 1000 B.
    assert!((load(&[LITERAL], 125.0).step - 0.09).abs() < 1e-15);
    assert!((load(&[LITERAL], 1250.0).step - 0.009).abs() < 1e-15);
    for capacity in [125.0, 1250.0] {
        assert!((load(&[], capacity).step - 0.003).abs() < 1e-15);
        assert!((load(&[LITERAL, ("delta_norm", Value::Flag(true))], capacity).step - 0.003).abs() < 1e-15);
    }
    assert!((load(&[("delta_norm", Value::Flag(false))], 125.0).step - 0.09).abs() < 1e-15);
}

#[test]
fn literal_reading_at_the_rates_where_it_has_no_value() {
    let literal = load(&[LITERAL], 1000.0);
    assert_eq!(literal.load_factor(1000.0, 0.0), LARGEST_Z);
    assert!(literal.shift(LARGEST_Z, 1000.0) > 1.0, "a certain drop");
    assert_eq!(literal.shift(literal.load_factor(0.0, 0.0), 0.0), 0.0, "p_a is left alone");
    // Where nothing arrives, the intended reading takes z = 0.05.
    let intended = load(&[], 1000.0);
    assert!((intended.shift(intended.load_factor(0.0, 0.0), 0.0) + 0.06).abs() < 1e-15);
}

#[test]
fn a_changed_probability_stays_one() {
    let mut curve = Loaded { line: Linear::new(0.0, 1.0, 1.0, false), change: Change::By(0.01) };
    assert_eq!(curve.final_probability(0.5), 0.51);
    assert_eq!(curve.final_probability(0.995), 1.0);
    curve.change = Change::By(-0.6);
    assert_eq!(curve.final_probability(0.5), 0.0);
    curve.change = Change::To(0.25);
    assert_eq!(curve.final_probability(0.5), 0.25);
}

/// 1000 packets/s, gamma = 0.2/s, slots of 10 ms: at lambda = 1100 the virtual capacity loses 0.2 * 120 * 0.01 a slot.
#[test]
fn virtual_capacity_moves_towards_rho_of_the_load() {
    let mut load = load(&[("rate_weight", Value::Real(1.0))], 1000.0);
    let slot = |load: &mut Load, n: u32| {
        for _ in 0..11 {
            load.rate.count(0.0);
        }
        load.end_slots(f64::from(n) * 0.01 + 0.001, 0.0);
        load.virtual_capacity
    };
    assert!((slot(&mut load, 1) - 999.76).abs() < 1e-9);
    assert!((slot(&mut load, 2) - 999.52).abs() < 1e-9);
    for n in 3..3000 {
        slot(&mut load, n);
    }
    assert_eq!(load.virtual_capacity, 500.0, "kappa C");
    // In a second of silence it gains 1.96 a slot.
    load.end_slots(30.991, 0.0);
    assert!((load.virtual_capacity - 696.0).abs() < 1e-6, "{}", load.virtual_capacity);
    load.end_slots(1e6, 0.0);
    assert_eq!((load.virtual_capacity, load.rate.at(1e6)), (1000.0, 0.0));
}

#[test]
fn slots_last_ten_packets_on_a_slow_link() {
    assert_eq!(load(&[], 1250.0).slot, 0.01);
    assert!((load(&[], 125.0).slot - 0.08).abs() < 1e-15);
    assert_eq!(load(&[("slot", Value::Real(0.5))], 125.0).slot, 0.5);
}

#[test]
fn yellow_asks_for_less_as_the_queue_grows() {
    for (length, want) in [(0.0, 1.05), (150.0, 1.0), (150.0_f64.next_up(), 1.0), (300.0, 0.75), (1e4, 0.5)] {
        assert!((queue_control(length, 150.0) - want).abs() < 1e-12, "{length}");
    }
    let yellow = load(&[("load", Value::Choice("yellow"))], 1000.0);
    assert!((yellow.load_factor(900.0, 300.0) - 1.2).abs() < 1e-12);
    let capacity = load(&[("load", Value::Choice("capacity"))], 1000.0);
    assert!((capacity.load_factor(900.0, 300.0) - 0.9).abs() < 1e-12);
}

/// Three slots at 1.2 C add 1.2 * 0.003 each, two at 0.5 C take off 0.003/0.5 each.
#[test]
fn accumulated_probability_moves_once_a_slot() {
    let pairs =
        [("accumulate", Value::Flag(true)), ("rate_weight", Value::Real(1.0)), ("load", Value::Choice("capacity"))];
    let mut load = load(&pairs, 1000.0);
    let mut seen = Vec::new();
    for (n, packets) in [12, 12, 12, 5, 5].into_iter().enumerate() {
        for _ in 0..packets {
            load.rate.count(0.0);
        }
        load.end_slots((n as f64 + 1.5) * 0.01, 0.0);
        assert_eq!(load.change(0.0, 0.0), load.change(0.0, 0.0), "an arrival does not move it");
        seen.push(load.accumulated.unwrap());
    }
    for (p, want) in seen.iter().zip([0.0036, 0.0072, 0.0108, 0.0048, 0.0]) {
        assert!((p - want).abs() < 1e-12, "{seen:?}");
    }
}

/// AutoRED with thresholds of 5 and 15.
fn auto(more: &[(&'static str, Value)], limit: u64) -> Fifo {
    queue("floadautored", &[&[("stage", Value::Choice("auto"))], &SET[..], more].concat(), limit)
}

const SET: [(&str, Value); 4] = [
    ("min_th", Value::Real(5.0)),
    ("max_th", Value::Real(15.0)),
    ("max_p", Value::Real(0.1)),
    ("mean_packet", Value::Real(1000.0)),
];

/// Averages and verdicts of 5000 arrivals whose rate swings about the link's, with pauses.
fn run(queue: &mut Fifo) -> Vec<(u64, bool)> {
    let mut random = Generator::stream(9, "arrivals");
    let (mut now, mut free) = (0.0, 0.0);
    (0..5000)
        .map(|i| {
            now += -(1.0 - random.uniform()).ln() * 1e-3 * if i % 1000 < 700 { 0.8 } else { 1.5 };
            now += if i % 1000 == 0 { 0.5 } else { 0.0 };
            while free <= now && queue.dequeue(Time::from_seconds(free), &mut |_, _| {}).is_some() {
                free += 1e-3;
            }
            free = free.max(now);
            let admitted = queue.enqueue(Packet::new(1, 1000), Time::from_seconds(now), &mut |_, _| {}).is_some();
            (queue.average().unwrap().to_bits(), admitted)
        })
        .collect()
}

#[test]
fn constant_weight_is_red_to_the_bit() {
    for dialect in ["paper", "ns2", "ns3"] {
        let (w_q, dialect_of) = (("w_q", Value::Real(0.01)), ("dialect", Value::Choice(dialect)));
        let red = run(&mut queue("red", &[&SET[..], &[w_q, dialect_of]].concat(), 30));
        assert_eq!(red, run(&mut auto(&[w_q, dialect_of, ("weight", Value::Choice("constant"))], 30)), "{dialect}");
        let auto = run(&mut auto(&[dialect_of], 30));
        assert!(red != auto && auto.iter().any(|&(_, admitted)| !admitted), "{dialect}");
    }
}

/// Four arrivals by hand, B = 10: Q = 0, 1, 2, 3 have p_t = 0, 0.1, 0.2, 0.3.
#[test]
fn average_of_the_first_arrivals() {
    let mut queue = auto(&[], 10);
    let mut average = 0.0;
    for (found, weight) in
        [(0.0, 0.0005), (1.0, 0.045 * 2.0_f64.ln()), (2.0, 0.08 * 1.5_f64.ln()), (3.0, 0.105 * (4.0_f64 / 3.0).ln())]
    {
        arrive(&mut queue, 1);
        average = if found == 0.0 { 0.0 } else { (1.0 - weight) * average + weight * found };
        assert!((queue.average().unwrap() - average).abs() < 1e-12, "after {found}");
    }
}

#[test]
fn an_idle_time_decays_with_the_smallest_weight() {
    let mut queue = auto(&[("w_lo", Value::Real(0.01))], 10);
    for _ in 0..6 {
        arrive(&mut queue, 1);
    }
    let before = queue.average().unwrap();
    while queue.dequeue(Time::from_seconds(0.006), &mut |_, _| {}).is_some() {}
    // Idle for 100 whole packets' times of a millisecond.
    queue.enqueue(Packet::new(1, 1000), Time::from_seconds(0.1065), &mut |_, _| {});
    assert!(before > 0.3);
    assert!((queue.average().unwrap() - before * 0.99_f64.powi(100)).abs() < 1e-12);
}

#[test]
fn linux_is_no_dialect_of_it() {
    let dialect = SPEC.param("dialect").unwrap();
    assert!(!dialect.allows(Value::Choice("linux")) && dialect.allows(Value::Choice("ns2")));
}

/// A queue with stages up to `stage` and thresholds `min_th` and 6; the average is the queue found, RED never drops.
fn threshold(stage: &'static str, raise: &'static str, min_th: f64, limit: u64) -> Fifo {
    let pairs = [
        ("stage", Value::Choice(stage)),
        ("raising", Value::Choice(raise)),
        ("min_th", Value::Real(min_th)),
        ("max_th", Value::Real(6.0)),
        ("max_p", Value::Real(1e-9)),
        ("weight", Value::Choice("constant")),
        ("w_q", Value::Real(1.0)),
    ];
    queue("floadautored", &pairs, limit)
}

#[test]
fn drops_from_the_raised_threshold_on() {
    // `"one"` raises the threshold to 7, `"band"` to floor(8.8) = 8.
    for (raise, held) in [("one", 7), ("band", 8)] {
        let mut queue = threshold("two_levels", raise, 2.0, 10);
        for found in 0..held {
            assert_eq!(arrive(&mut queue, 1), [], "{raise}: {found} wait");
        }
        assert_eq!(arrive(&mut queue, 1), [Reason::Forced], "{raise}: {held} wait");
        // 6 of 10 wait, too many for the lower level: the threshold stays raised.
        while queue.packets() > 6 {
            queue.dequeue(Time::ZERO, &mut |_, _| {});
        }
        for _ in 6..held {
            assert_eq!(arrive(&mut queue, 1), []);
        }
        assert_eq!(arrive(&mut queue, 1), [Reason::Forced], "{raise}");
    }
}

#[test]
fn the_line_ends_at_the_threshold_of_the_day() {
    let mut queue = threshold("two_levels", "one", 2.0, 10);
    let mut p_b = |found: u64| {
        while queue.packets() > found {
            queue.dequeue(Time::ZERO, &mut |_, _| {});
        }
        while queue.packets() < found {
            arrive(&mut queue, 1);
        }
        arrive(&mut queue, 1);
        gauge(&queue, "p_b")
    };
    let near = |found: f64, want: f64| assert!((found - want).abs() < 1e-20, "{found} not {want}");
    near(p_b(4), 0.5e-9);
    near(p_b(6), 0.8e-9);
    near(p_b(5), 0.75e-9);
}

#[test]
fn one_flow_meets_itself_from_min_th_on() {
    let mut queue = threshold("match", "one", 3.0, 100);
    for found in 0..3 {
        assert_eq!(arrive(&mut queue, 1), [], "{found} wait");
    }
    assert_eq!(arrive(&mut queue, 1), [Reason::Forced, Reason::Forced], "3 wait");
    assert_eq!(queue.packets(), 2);
}

/// In a buffer of 100 the threshold stays at 6; in a buffer of 10 it is raised to 7.
#[test]
fn strangers_are_dropped_from_the_upper_threshold_on() {
    for (limit, held) in [(100, 6), (10, 7)] {
        let mut queue = threshold("match", "one", 3.0, limit);
        for flow in 0..held {
            assert_eq!(arrive(&mut queue, flow), [], "{flow} wait");
        }
        assert_eq!(arrive(&mut queue, 99), [Reason::Forced]);
        assert_eq!(queue.packets(), held);
    }
}

#[test]
fn a_match_leaves_the_count_alone() {
    let mut queue = threshold("match", "one", 3.0, 100);
    for flow in [1, 1, 1, 2] {
        arrive(&mut queue, flow);
    }
    assert_eq!(gauge(&queue, "count"), 0.0, "the fourth was the first at min_th");
    while arrive(&mut queue, 1).is_empty() {}
    let before = gauge(&queue, "count");
    assert_eq!(queue.counters().forced_drops, 2);
    assert!(before >= 0.0);
    arrive(&mut queue, 7);
    assert_eq!(gauge(&queue, "count"), before + 1.0);
}

/// Each stage shows its own gauges and those of the stages before it.
#[test]
fn a_stage_shows_what_it_has() {
    for (stage, has) in [("auto", [false; 3]), ("two_levels", [true, false, false]), ("match", [true, true, false])] {
        let queue = threshold(stage, "one", 3.0, 100);
        assert_eq!(["cur_max_th", "matched", "z"].map(|name| !gauge(&queue, name).is_nan()), has, "{stage}");
    }
    let whole = threshold("load", "one", 3.0, 100);
    assert!(["cur_max_th", "matched", "z"].iter().all(|name| !gauge(&whole, name).is_nan()));
}
