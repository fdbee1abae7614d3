//! RED-PD epoch by epoch: each rule at its boundary.

use super::*;
use crate::prelude::*;

const LINK: Link = Link { rate_bps: 10e6, delay_s: 0.01 };

fn red_pd(pairs: &[(&'static str, Value)]) -> RedPd {
    let mut values = Values::new();
    for &(name, value) in pairs {
        assert!(SPEC.param(name).is_some_and(|param| param.allows(value)), "{name}");
        values.set(name, value);
    }
    RedPd::new(&values, &LINK).unwrap()
}

/// A packet of `flow` that finds `waiting` packets, with or without room; every random number is `draw`.
fn arrive(pd: &mut RedPd, flow: u64, waiting: u64, has_room: bool, draw: f64) -> Verdict {
    let (mut random, mut victims) = (Generator::custom(move || draw), Vec::new());
    let queue = QueueView { packets: waiting, bytes: waiting * 1000, idle_since: None, contents: None };
    let mut cx = Context { now: Time::ZERO, ecn: false, has_room, random: &mut random, victims: &mut victims };
    let packet = Packet::new(flow, 1000);
    let verdict = pd.on_enqueue(&packet, &queue, &mut cx);
    if has_room {
        verdict
    } else {
        pd.on_overflow(verdict, &packet, &queue, &mut cx)
    }
}

fn flow(pd: &RedPd, flow: u64) -> Flow {
    pd.flows.find(flow).map_or(Flow::default(), |slot| *pd.flows.record(slot))
}

/// One epoch with these (flow, packets that pass, packets that find no room), up to its end.
fn epoch(pd: &mut RedPd, flows: &[(u64, u32, u32)]) {
    for &(flow, passed, lost) in flows {
        for i in 0..passed + lost {
            arrive(pd, flow, 0, i < passed, 1.0);
        }
    }
    let now = pd.next;
    let (mut random, mut victims) = (Generator::custom(|| 1.0), Vec::new());
    let mut cx = Context { now, ecn: false, has_room: true, random: &mut random, victims: &mut victims };
    pd.on_timer(&QueueView { packets: 0, bytes: 0, idle_since: None, contents: None }, &mut cx);
    assert!(pd.next > now);
}

#[test]
fn epochs_last_as_long_as_a_tcp_flow_between_two_losses() {
    let pd = red_pd(&[]);
    // 0.6 * 40 ms / sqrt(1.5 p)
    assert!((pd.epoch_length(0.01) - 0.024 / 0.015_f64.sqrt()).abs() < 1e-12);
    assert_eq!(pd.epoch_length(0.06), 0.08, "0.08 s is 0.6 R/sqrt(0.09), and the shortest");
    assert_eq!((pd.epoch_length(0.0601), pd.epoch_length(1.0)), (0.08, 0.08));
    assert_eq!((pd.epoch_length(1e-9), pd.epoch_length(0.0)), (0.4, 0.4));
    assert_eq!(pd.next.seconds(), 0.4);
    assert_eq!(red_pd(&[("first_epoch", Value::Real(10.1))]).next.seconds(), 10.1);
}

/// Every second flow loses packets in each epoch; it is monitored after the third.
#[test]
fn three_epochs_with_drops_make_a_flow_high_bandwidth() {
    let mut pd = red_pd(&[]);
    let mut length = 0.0;
    for round in 1..=3 {
        length = pd.next - pd.began;
        epoch(&mut pd, &[(1, 90, 10), (2, 100, 0)]);
        assert_eq!(pd.drop_rate, Some(0.05));
        assert_eq!((flow(&pd, 1).times_noted(), flow(&pd, 2).times_noted()), (round, 0));
    }
    // The flow is the only one: its share is the whole drop rate.
    assert!((flow(&pd, 1).p - 0.05).abs() < 1e-12 && pd.monitored == 1);
    assert_eq!((flow(&pd, 1).history[0], flow(&pd, 1).remembered), ((100_000.0 / length, 0.1), 1));
    let mut gaps = red_pd(&[]);
    for lost in [1, 0, 1, 0, 1] {
        assert_eq!(flow(&gaps, 1).p, 0.0);
        epoch(&mut gaps, &[(1, 100, lost), (2, 100, 1)]);
    }
    assert_ne!(flow(&gaps, 1).p, 0.0, "1, 3 and 5 of the last five");
    let mut rare = red_pd(&[]);
    for lost in [1, 0, 0, 1, 0, 0, 1, 0, 0] {
        epoch(&mut rare, &[(1, 100, lost)]);
        assert_eq!(flow(&rare, 1).p, 0.0);
    }
}

#[test]
fn shares_are_in_proportion_to_drops_and_at_most_double() {
    let mut pd = red_pd(&[]);
    for _ in 0..3 {
        epoch(&mut pd, &[(1, 24, 6), (2, 39, 1), (3, 29, 1)]);
    }
    // p = 8/100; 8/3 drops a flow on average, 6 and 1 for these two; at most twice p.
    assert!((flow(&pd, 1).p - 0.16).abs() < 1e-12, "0.18 is more than 2 p: {}", flow(&pd, 1).p);
    assert!((flow(&pd, 2).p - 0.03).abs() < 1e-12);
    let mut calm = red_pd(&[("min_drop_rate", Value::Real(0.08))]);
    for _ in 0..6 {
        epoch(&mut calm, &[(1, 24, 6), (2, 39, 1), (3, 29, 1)]);
    }
    assert_eq!(calm.monitored, 0, "a rate of exactly the least is not above it");
    let mut heavy = red_pd(&[]);
    for _ in 0..3 {
        epoch(&mut heavy, &[(1, 10, 90)]);
    }
    assert_eq!(flow(&heavy, 1).p, 0.5, "half at first");
}

/// The lower of the epoch's rate and the average counts.
#[test]
fn drop_rate_is_averaged_by_halves() {
    let mut pd = red_pd(&[]);
    for (lost, want) in [(10, 0.1), (0, 0.05), (20, 0.125), (20, 0.1625)] {
        epoch(&mut pd, &[(1, 100 - lost, lost)]);
        assert!((pd.drop_rate.unwrap() - want).abs() < 1e-12, "{:?}", pd.drop_rate);
    }
    // In the fourth epoch the flow is noted for the third time.
    assert!((flow(&pd, 1).p - 0.1625).abs() < 1e-12, "{}", flow(&pd, 1).p);
}

#[test]
fn steps_up_add_or_multiply_and_never_reach_one() {
    let responsive = Flow { p: 0.2, ..Flow::default() };
    let unresponsive = Flow { p: 0.2, unresponsive: true, ..Flow::default() };
    let close = |found: f64, want: f64| assert!((found - want).abs() < 1e-12, "{found} not {want}");
    close(responsive.raised(0.05), 0.25);
    close(responsive.raised(0.2), 0.4);
    close(responsive.raised(0.3), 0.4);
    close(unresponsive.raised(0.05), 0.3);
    close(unresponsive.raised(0.3), 0.6);
    close(Flow { p: 0.7, ..responsive }.raised(0.8), 0.85);
    close(Flow { p: 0.7, ..unresponsive }.raised(0.8), 0.9);
}

#[test]
fn steps_down_halve_or_subtract_and_end() {
    let at = |p, unresponsive| Flow { p, unresponsive, ..Flow::default() }.lowered(0.005, 0.05);
    let close = |found: Option<f64>, want: f64| assert!((found.unwrap() - want).abs() < 1e-12, "{found:?}");
    close(at(0.3, false), 0.25);
    close(at(0.1, false), 0.05);
    close(at(0.08, false), 0.04);
    close(at(0.006, false), 0.003);
    assert_eq!(at(0.005, false), None);
    close(at(0.3, true), 0.25);
    close(at(0.06, true), 0.04);
    close(at(0.003, true), 0.002);
    assert_eq!(at(0.0025, true), None);
}

#[test]
fn changes_wait_for_four_epochs_and_releases_for_silence() {
    let mut pd = red_pd(&[]);
    let lossy = [(1, 80, 20), (2, 100, 0)];
    let mut changes = Vec::new();
    for round in 1..=12 {
        let before = flow(&pd, 1).p;
        epoch(&mut pd, &lossy);
        if flow(&pd, 1).p != before {
            changes.push(round);
        }
    }
    // Epochs of 80 ms: five are 0.4 s.
    assert_eq!(changes, [3, 8]);
    let mut short = red_pd(&[("change_interval", Value::Real(0.0))]);
    let mut changes = Vec::new();
    for round in 1..=12 {
        let before = flow(&short, 1).p;
        epoch(&mut short, &lossy);
        if flow(&short, 1).p != before {
            changes.push(round);
        }
    }
    assert_eq!(changes, [3, 7, 11]);
    // After five silent epochs the flow is noted in none; then its p falls every 0.4 s until it is released.
    let mut released = 0;
    while pd.monitored > 0 {
        epoch(&mut pd, &[(2, 100, 0)]);
        released += 1;
        assert!(released < 60);
    }
    assert!(released > 8, "{released}");
    // The flow's last change counts for 0.4 s more: an epoch of 0.4 s and the next.
    (0..4).for_each(|_| epoch(&mut pd, &[(2, 100, 0)]));
    assert!(pd.flows.is_empty(), "nothing is left of it");
}

#[test]
fn a_flow_without_losses_in_the_epoch_is_not_punished() {
    let mut pd = red_pd(&[("change_interval", Value::Real(0.0))]);
    let mut changes = Vec::new();
    for (round, lost) in [10, 10, 10, 10, 10, 10, 0, 10].into_iter().enumerate() {
        let before = flow(&pd, 1).p;
        epoch(&mut pd, &[(1, 90, lost), (2, 90, 10)]);
        if flow(&pd, 1).p != before {
            changes.push(round + 1);
        }
    }
    assert_eq!(changes, [3, 8], "four epochs later, in the seventh, it is noted four times but loses nothing");
}

#[test]
fn rates_that_do_not_fall_with_the_root_of_the_loss_are_unresponsive() {
    let with = |pairs: &[(f64, f64)]| {
        let mut flow = Flow { remembered: pairs.len(), ..Flow::default() };
        flow.history[..pairs.len()].copy_from_slice(pairs);
        flow.does_not_respond()
    };
    // A constant rate at three losses: three bad pairs.
    assert!(with(&[(1e5, 0.1), (1e5, 0.2), (1e5, 0.4)]));
    assert!(!with(&[(1e5, 0.1), (1e5, 0.2)]), "one pair is not enough");
    // A rate a little below proportion to 1/sqrt(loss).
    assert!(!with(&[(1e5, 0.1), (0.7e5, 0.2), (0.49e5, 0.4)]));
    assert!(!with(&[(1e5, 0.01), (1e5, 0.2), (1e5, 0.4)]), "differences of tenfold and more do not count");
    assert!(!with(&[]));
    assert!(!with(&[(0.0, 0.1), (1e5, 0.2), (1e5, 0.4)]), "nothing arrived at the least loss");
    // Four bad pairs for each good pair: at 0.5 the roots are 0.447, 0.632 and 0.894.
    let constant = [(1e5, 0.1), (1e5, 0.2), (1e5, 0.4)];
    let and = |rate: f64| [constant[0], constant[1], constant[2], (rate, 0.5)];
    assert!(with(&and(0.95e5)), "six bad");
    assert!(with(&and(0.7e5)), "five bad, one good");
    assert!(!with(&and(0.6e5)), "four bad, two good");
}

#[test]
fn the_pre_filter_spares_short_queues_unless_the_flow_is_unresponsive() {
    let monitored = |unresponsive, noidle| {
        let mut pd =
            red_pd(&[("w_q", Value::Real(1.0)), ("min_th", Value::Real(3.0)), ("noidle", Value::Flag(noidle))]);
        pd.flows.see(1, Flow { p: 0.25, unresponsive, ..Flow::default() });
        pd
    };
    let filtered = Verdict::Drop(Reason::Early);
    // The average is that of the arrival before: 3 is enough for the pre-filter, 2 is not.
    for (before, waiting, responsive, unresponsive, spared) in [
        (3, 2, filtered, filtered, filtered),
        (2, 2, Verdict::Pass, filtered, filtered),
        (3, 1, Verdict::Pass, filtered, Verdict::Pass),
        (3, 0, Verdict::Pass, filtered, Verdict::Pass),
    ] {
        for (mut pd, want) in [
            (monitored(false, false), responsive),
            (monitored(true, false), unresponsive),
            (monitored(true, true), spared),
        ] {
            arrive(&mut pd, 9, before, true, 1.0);
            assert_eq!(arrive(&mut pd, 1, waiting, true, 0.25), want, "{before} {waiting}");
            assert_eq!(flow(&pd, 1).filtered, if want == filtered { 1000.0 } else { 0.0 });
            assert_eq!(pd.core.average(), if want == filtered { before } else { waiting } as f64);
        }
    }
}

/// Gaps of a pre-filter with p = 1/4 are uniform on 1..4, as the count begins at 0.
#[test]
fn pre_filter_gaps_are_uniform() {
    let mut pd = red_pd(&[]);
    pd.flows.see(1, Flow { p: 0.25, unresponsive: true, ..Flow::default() });
    let mut numbers = Generator::stream(1, "gaps");
    let (mut gap, mut gaps) = (0, [0_u32; 4]);
    for _ in 0..100_000 {
        let draw = numbers.uniform();
        if arrive(&mut pd, 1, 0, true, draw) == Verdict::Pass {
            gap += 1;
        } else {
            gaps[gap] += 1;
            gap = 0;
        }
    }
    let drops: u32 = gaps.iter().sum();
    // A mean gap of 2.5. Five standard deviations of a quarter of 40,000 are 433.
    assert!((39_500..40_500).contains(&drops), "{gaps:?}");
    assert!(gaps.iter().all(|&n| n.abs_diff(drops / 4) < 433), "{gaps:?}");
}

#[test]
fn pre_filtered_packets_are_not_in_the_history() {
    let mut pd = red_pd(&[]);
    pd.flows.see(1, Flow { p: 1.0, unresponsive: true, ..Flow::default() });
    for has_room in [true, false] {
        assert_eq!(arrive(&mut pd, 1, 20, has_room, 0.5), Verdict::Drop(Reason::Forced));
    }
    assert_eq!((pd.arrived, pd.lost, flow(&pd, 1).lost, flow(&pd, 1).filtered), (0.0, 0.0, 0.0, 2000.0));
    arrive(&mut pd, 2, 20, false, 0.5);
    assert_eq!((pd.arrived, pd.lost, flow(&pd, 2).lost), (1000.0, 1000.0, 1000.0));
}

#[test]
fn an_epoch_notes_the_flows_with_the_most_drops() {
    let mut pd = red_pd(&[("list_size", Value::Whole(3))]);
    epoch(&mut pd, &[(1, 0, 1), (2, 0, 5), (3, 0, 2), (4, 0, 2), (5, 0, 2), (6, 0, 1)]);
    let noted: Vec<u64> = (1..=6).filter(|&id| flow(&pd, id).times_noted() == 1).collect();
    assert_eq!(noted, [2, 4, 5], "of those with two the later ones");
    let mut most_last = red_pd(&[("list_size", Value::Whole(3))]);
    epoch(&mut most_last, &[(1, 0, 2), (2, 0, 2), (3, 0, 2), (4, 0, 5)]);
    let noted: Vec<u64> = (1..=4).filter(|&id| flow(&most_last, id).times_noted() == 1).collect();
    assert_eq!(noted, [2, 3, 4], "the one with most takes no place of those with two");
    let mut few = red_pd(&[("flows", Value::Whole(2))]);
    epoch(&mut few, &[(1, 0, 9), (2, 0, 1), (3, 0, 1)]);
    assert_eq!((flow(&few, 1).times_noted(), few.flows.len()), (0, 2), "flow 1 had to make room");
}

#[test]
fn three_of_two_epochs_are_refused() {
    let values = Values::of(&[("regular", Value::Whole(3)), ("epochs", Value::Whole(2))]);
    assert_eq!(RedPd::new(&values, &LINK).err().unwrap().name, "regular");
}

/// As in ns-2, one packet is more than one byte: with `unit = "byte"` the pre-filter needs one waiting packet only.
#[test]
fn in_bytes_one_waiting_packet_is_enough_for_the_pre_filter() {
    for (unit, fate) in [("packet", Verdict::Pass), ("byte", Verdict::Drop(Reason::Early))] {
        let mut pd = red_pd(&[("unit", Value::Choice(unit)), ("noidle", Value::Flag(true))]);
        let slot = pd.flows.see(7, Flow { p: 0.5, unresponsive: true, ..Flow::default() }).slot;
        pd.monitored = 1;
        assert_eq!(arrive(&mut pd, 7, 1, true, 0.0), fate, "{unit}");
        assert_eq!(pd.flows.record(slot).count, u32::from(fate == Verdict::Pass), "{unit}");
    }
}

/// A released flow keeps its last change, so that four epochs and 0.4 s pass until it is monitored again; until then
/// its record stays.
#[test]
fn a_released_flow_waits_before_it_is_monitored_again() {
    let drops = [(7, 4, 4), (8, 4, 1)];
    let mut pd = red_pd(&[("regular", Value::Whole(1)), ("epochs", Value::Whole(1))]);
    let seen = Flow { p: 0.004, unresponsive: false, remembered: 3, ..Flow::default() };
    pd.flows.see(7, seen);
    pd.monitored = 1;
    epoch(&mut pd, &[]);
    let released = flow(&pd, 7);
    assert_eq!((pd.monitored, released.p, released.remembered), (0, 0.0, 0));
    assert_eq!(released.last_change.map(|(epoch, _)| epoch), Some(1));
    let monitored_at: Vec<u64> = (2..8)
        .filter(|_| {
            epoch(&mut pd, &drops);
            flow(&pd, 7).p > 0.0
        })
        .collect();
    assert_eq!(monitored_at, [5, 6, 7], "released at the end of epoch 1");
    // A flow that stays away is forgotten when it may be monitored again.
    let mut pd = red_pd(&[]);
    pd.flows.see(7, seen);
    pd.monitored = 1;
    let known: Vec<bool> = (0..6)
        .map(|_| {
            epoch(&mut pd, &[]);
            pd.flows.find(7).is_some()
        })
        .collect();
    assert_eq!(known, [true, true, true, true, false, false]);
}
