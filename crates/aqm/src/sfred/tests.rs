//! SFRED packet by packet: each test and each alternative at its boundary.

use super::*;
use crate::prelude::*;
use crate::ring::Ring;
use Kinds::{Fast, Plain, Slow, Unresponsive};

const LINK: Link = Link { rate_bps: 1.5e6, delay_s: 0.01 };

fn chosen(pairs: &[(&'static str, Value)]) -> Values {
    let mut values = Values::new();
    for &(name, value) in pairs {
        assert!(SPEC.param(name).is_some_and(|param| param.allows(value)), "{name}");
        values.set(name, value);
    }
    values
}

fn word(name: &'static str, word: &'static str) -> (&'static str, Value) {
    (name, Value::Choice(word))
}

fn sfred(pairs: &[(&'static str, Value)]) -> Sfred {
    built(&chosen(pairs))
}

fn built(values: &Values) -> Sfred {
    let (rules, curve) = Rules::read(values, &LINK).unwrap();
    Sfred::new(rules, curve)
}

/// The last verdict on `times` packets of `flow` at a busy link with `waiting` packets; all random numbers are `draw`.
fn arrive(sfred: &mut Sfred, now: f64, flow: u64, times: u32, waiting: u64, draw: f64) -> Verdict {
    let mut random = Generator::custom(move || draw);
    let queue = QueueView { packets: waiting, bytes: waiting * 1000, idle_since: None, contents: None };
    let mut verdict = Verdict::Pass;
    for _ in 0..times {
        let mut victims = Vec::new();
        let now = Time::from_seconds(now);
        let mut cx = Context { now, ecn: false, has_room: waiting < 50, random: &mut random, victims: &mut victims };
        verdict = sfred.on_enqueue(&Packet::new(flow, 1000), &queue, &mut cx);
        if waiting >= 50 {
            verdict = sfred.on_overflow(verdict, &Packet::new(flow, 1000), &queue, &mut cx);
        }
    }
    verdict
}

fn flow(sfred: &Sfred, flow: u64) -> Option<(f64, f64)> {
    sfred.list.find(flow).map(|slot| (sfred.list.record(slot).received, sfred.list.record(slot).dropped))
}

#[test]
fn ten_packets_without_a_drop_are_slow_and_eleven_are_not() {
    for (rule, last_slow) in [("at_most", 10), ("below", 9)] {
        let mut queue = sfred(&[word("slow_test", rule)]);
        for i in 1..=12 {
            // One flow alone has exactly the fair share.
            arrive(&mut queue, 0.0, 1, 1, 0, 1.0);
            assert_eq!(queue.last, if i <= last_slow { Slow } else { Plain }, "{rule}, packet {i}");
        }
    }
    let mut queue = sfred(&[]);
    arrive(&mut queue, 0.0, 1, 2, 0, 1.0);
    arrive(&mut queue, 0.0, 2, 3, 50, 1.0);
    arrive(&mut queue, 0.0, 3, 4, 0, 1.0);
    arrive(&mut queue, 0.0, 2, 1, 0, 1.0);
    assert_ne!(queue.last, Slow, "it has lost three packets");
}

#[test]
fn fast_begins_above_eleven_tenths_of_the_fair_share() {
    // A list of two flows: with r packets of flow 1 and s of flow 2, F = (r + s)/2.
    let last = |alpha: f64, r: u32, s: u32, test: &'static str| {
        let mut queue = sfred(&[("fast_margin", Value::Real(alpha)), word("fast_test", test)]);
        arrive(&mut queue, 0.0, 2, s, 0, 1.0);
        arrive(&mut queue, 0.0, 1, r, 0, 1.0);
        queue.last
    };
    // alpha 0.25 is exact in binary: r = 5, s = 3 give F = 4 and a limit of exactly 5.
    assert_eq!(last(0.25, 5, 3, "relative"), Slow, "exactly at the limit");
    assert_eq!(last(0.25, 6, 3, "relative"), Fast(6.0 / 4.5));
    assert_eq!(last(0.25, 50, 31, "relative"), Plain, "50 < 50.6");
    assert_eq!(last(0.25, 50, 30, "relative"), Plain, "exactly 50");
    assert_eq!(last(0.25, 51, 30, "relative"), Fast(51.0 / 40.5));
    // By default the limit is 55 of 100; 1.1 * 50 is rounded to a little above.
    assert_eq!(last(0.1, 55, 45, "relative"), Plain);
    assert_eq!(last(0.1, 56, 45, "relative"), Fast(56.0 / 50.5));
    // T - F > alpha R: 0.25 of 80 is 20.
    assert_eq!(last(0.25, 60, 20, "share"), Plain);
    assert_eq!(last(0.25, 61, 20, "share"), Fast(61.0 / 40.5));
    // T > F + alpha.
    assert_eq!(last(0.5, 41, 40, "absolute"), Plain, "41 = 40.5 + 0.5");
    assert_eq!(last(0.5, 42, 40, "absolute"), Fast(42.0 / 41.0));
}

#[test]
fn boosts_are_linear_squared_and_one_more() {
    for (boost, factor) in [("linear", 1.5), ("squared", 2.25), ("one_plus", 2.5)] {
        let mut queue = sfred(&[word("boost", boost)]);
        arrive(&mut queue, 0.0, 2, 10, 0, 1.0);
        arrive(&mut queue, 0.0, 1, 30, 0, 1.0);
        assert_eq!(queue.last, Fast(factor));
        // The average 10 is half-way between 5 and 15 with w_q 1: half of max_p, on the raised line.
        let mut values = chosen(&[word("boost", boost), ("w_q", Value::Real(1.0))]);
        for (max_p, p_b) in [(0.1, 0.05 * factor), (0.9, 0.5)] {
            values.set("max_p", Value::Real(max_p));
            let mut queue = built(&values);
            arrive(&mut queue, 0.0, 2, 10, 0, 1.0);
            arrive(&mut queue, 0.0, 1, 29, 0, 1.0);
            assert_eq!(arrive(&mut queue, 0.0, 1, 1, 10, 1.0), Verdict::Pass);
            let mut found = 0.0;
            queue.gauges(&mut |name, value| found = if name == "p_b" { value } else { found });
            assert!((found - p_b).abs() < 1e-12, "{boost}: {found} not {p_b}; max_p is at most 1");
        }
    }
}

/// Both sides of each limit of the unresponsive test.
#[test]
fn unresponsive_is_a_fast_flow_that_loses_more_than_the_average() {
    let with = |more: &[(&'static str, Value)], lost: [f64; 2]| {
        let mut pairs = vec![("loss_margin", Value::Real(0.25))];
        pairs.extend_from_slice(more);
        let mut queue = sfred(&pairs);
        for (flow, received, dropped) in [(2, 20.0, lost[1]), (1, 59.0, lost[0])] {
            queue.list.see(flow, Flow { received, dropped, condemned: false });
            queue.all.received += received;
            queue.all.dropped += dropped;
        }
        arrive(&mut queue, 0.0, 1, 1, 0, 1.0);
        queue.last
    };
    // 60 and 20 packets, of which 15 and 1 are lost: 15/60 = 0.25 equals 1.25 * 16/80.
    assert_eq!(with(&[], [15.0, 1.0]), Fast(1.5), "exactly at the limit");
    assert_eq!(with(&[], [15.0, 0.0]), Unresponsive, "0.25 > 1.25 * 0.1875");
    assert_eq!(with(&[], [15.0, 2.0]), Fast(1.5));
    assert_eq!(with(&[], [0.0, 0.0]), Fast(1.5), "no loss at all");
    // 30/60 = 0.5 is not above 0.375 + 0.25, but above 1.25 * 0.375.
    assert_eq!(with(&[], [30.0, 0.0]), Unresponsive);
    assert_eq!(with(&[word("loss_test", "absolute")], [30.0, 0.0]), Fast(1.5));
    let strict = [word("loss_test", "absolute"), ("loss_margin", Value::Real(0.125))];
    assert_eq!(with(&strict, [30.0, 0.0]), Fast(1.5), "exactly at the limit, 0.5 = 0.375 + 0.125");
    assert_eq!(with(&strict, [31.0, 0.0]), Unresponsive);
}

#[test]
fn the_flow_at_the_end_gives_way_and_is_new_when_it_returns() {
    let mut queue = sfred(&[("list_size", Value::Whole(2))]);
    arrive(&mut queue, 0.0, 1, 20, 0, 1.0);
    arrive(&mut queue, 0.0, 2, 3, 0, 1.0);
    assert_eq!((flow(&queue, 1), flow(&queue, 2)), (Some((20.0, 0.0)), Some((3.0, 0.0))));
    arrive(&mut queue, 0.0, 3, 1, 0, 1.0);
    assert_eq!(flow(&queue, 1), None);
    assert_eq!((queue.all.received, queue.listed.received, queue.active_flows()), (24.0, 4.0, 2.0));
    arrive(&mut queue, 0.0, 1, 1, 50, 1.0);
    assert_eq!(flow(&queue, 1), Some((1.0, 1.0)));
    assert_eq!((queue.all.dropped, queue.listed.dropped), (1.0, 1.0));
}

#[test]
fn counts_are_halved_every_interval_and_flows_below_one_packet_leave() {
    let mut queue = sfred(&[("ageing_interval", Value::Real(2.0))]);
    arrive(&mut queue, 0.0, 1, 8, 0, 1.0);
    arrive(&mut queue, 0.0, 1, 4, 50, 1.0);
    arrive(&mut queue, 1.999, 2, 1, 0, 1.0);
    assert_eq!((flow(&queue, 1), flow(&queue, 2)), (Some((12.0, 4.0)), Some((1.0, 0.0))));
    arrive(&mut queue, 2.0, 3, 1, 0, 1.0);
    assert_eq!((flow(&queue, 1), flow(&queue, 2), flow(&queue, 3)), (Some((6.0, 2.0)), None, Some((1.0, 0.0))));
    assert_eq!((queue.all.received, queue.all.dropped, queue.listed.received), (7.5, 2.0, 7.0));
    // Nothing arrives at 4, 6 and 8 s: three halvings in one step, from 6 to 0.75.
    arrive(&mut queue, 9.0, 4, 1, 0, 1.0);
    assert_eq!((flow(&queue, 1), flow(&queue, 3), queue.all.received), (None, None, 7.5 / 8.0 + 1.0));
    arrive(&mut queue, 10.0, 4, 1, 0, 1.0);
    assert_eq!(flow(&queue, 4), Some((1.0, 0.0)), "the next one is due at 10 s: 1 to 0.5, and it was new again");
    let mut never = sfred(&[word("ageing", "never")]);
    arrive(&mut never, 0.0, 1, 8, 0, 1.0);
    arrive(&mut never, 1e6, 1, 1, 0, 1.0);
    assert_eq!(flow(&never, 1), Some((9.0, 0.0)));
}

#[test]
fn a_long_silence_empties_the_list_and_leaves_no_nan() {
    let mut queue = sfred(&[]);
    arrive(&mut queue, 0.0, 1, 30, 50, 1.0);
    arrive(&mut queue, 1e12, 1, 1, 0, 1.0);
    assert_eq!((flow(&queue, 1), queue.last), (Some((1.0, 0.0)), Slow));
    let mut seen = 0;
    queue.gauges(&mut |name, value| {
        assert!(value.is_finite(), "{name} = {value}");
        seen += 1;
    });
    assert_eq!(seen, 10);
}

/// A fast flow that has lost much is condemned; then another flow catches up, so that the first is fast no more.
#[test]
fn releases_come_when_they_are_said_to() {
    let after = |release: &'static str| {
        let mut queue = sfred(&[word("release", release), ("list_size", Value::Whole(2))]);
        arrive(&mut queue, 0.0, 2, 20, 0, 1.0);
        arrive(&mut queue, 0.0, 1, 30, 0, 1.0);
        assert_eq!(queue.last, Fast(1.2));
        // The first packet is dropped for want of room, the second because of that loss.
        arrive(&mut queue, 0.0, 1, 1, 50, 1.0);
        assert_eq!(arrive(&mut queue, 0.0, 1, 1, 0, 1.0), Verdict::Drop(Reason::Forced));
        assert_eq!(flow(&queue, 1), Some((32.0, 2.0)));
        arrive(&mut queue, 0.0, 2, 40, 0, 1.0);
        let mut condemned = Vec::new();
        arrive(&mut queue, 0.0, 1, 1, 0, 1.0);
        condemned.push(queue.last == Unresponsive);
        arrive(&mut queue, 5.0, 1, 1, 0, 1.0);
        condemned.push(queue.last == Unresponsive);
        arrive(&mut queue, 5.0, 3, 1, 0, 1.0);
        arrive(&mut queue, 5.0, 4, 1, 0, 1.0);
        arrive(&mut queue, 5.0, 1, 1, 0, 1.0);
        condemned.push(queue.last == Unresponsive);
        condemned
    };
    assert_eq!(after("each_arrival"), [false, false, false]);
    assert_eq!(after("on_ageing"), [true, false, false]);
    assert_eq!(after("on_eviction"), [true, true, false]);
    assert_eq!(after("never"), [true, true, true]);
}

#[test]
fn slow_flows_meet_thresholds_higher_by_the_bonus() {
    // w_q = 1: the average is the queue found. The number 1e-9 hits any probability but a rounding error.
    let pairs = [("w_q", Value::Real(1.0)), ("slow_bonus", Value::Real(7.0))];
    for (waiting, slow, plain) in [
        (5, Verdict::Pass, Verdict::Pass),
        (6, Verdict::Pass, Verdict::Signal(Reason::Early)),
        (12, Verdict::Pass, Verdict::Signal(Reason::Early)),
        (13, Verdict::Signal(Reason::Early), Verdict::Signal(Reason::Early)),
        (15, Verdict::Signal(Reason::Early), Verdict::Drop(Reason::Forced)),
        (21, Verdict::Signal(Reason::Early), Verdict::Drop(Reason::Forced)),
        (22, Verdict::Drop(Reason::Forced), Verdict::Drop(Reason::Forced)),
    ] {
        let mut queue = sfred(&pairs);
        assert_eq!(arrive(&mut queue, 0.0, 1, 1, waiting, 1e-9), slow, "{waiting}, slow");
        let mut queue = sfred(&pairs);
        arrive(&mut queue, 0.0, 1, 11, 0, 1.0);
        assert_eq!(arrive(&mut queue, 0.0, 1, 1, waiting, 1e-9), plain, "{waiting}, plain");
    }
}

/// A slow flow's packet below its own min_th starts the shared count again, but leaves RED's alone if it has its own.
#[test]
fn slow_flows_share_the_count_unless_they_have_their_own() {
    for (rule, count) in [("shared", 0), ("own", 3)] {
        let mut queue = sfred(&[word("slow_count", rule), ("w_q", Value::Real(1.0))]);
        for (other, times) in [(1, 11), (2, 11)] {
            arrive(&mut queue, 0.0, other, times, 0, 1.0);
        }
        let mut random = Vec::new();
        for flow in [1, 2, 1, 3, 2] {
            arrive(&mut queue, 0.0, flow, 1, 8, 1.0);
            queue.gauges(&mut |name, value| {
                if name == "count" {
                    random.push(value);
                }
            });
        }
        assert_eq!(random, [0.0, 1.0, 2.0, if rule == "own" { 2.0 } else { -1.0 }, f64::from(count)], "{rule}");
    }
}

#[test]
fn fair_rates_follow_their_definitions() {
    let fair = |pairs: &[(&'static str, Value)]| {
        let mut all = vec![("list_size", Value::Whole(2))];
        all.extend_from_slice(pairs);
        let mut queue = sfred(&all);
        for flow in [1, 2, 3] {
            arrive(&mut queue, 0.0, flow, 8 * flow as u32, 0, 1.0);
            arrive(&mut queue, 0.0, flow, 2, 50, 1.0);
        }
        (queue.fair_rate(), queue.average_loss())
    };
    // The flows have 10, 18 and 26 packets, of which 2 each are lost; flow 1 has left the list.
    assert_eq!(fair(&[word("fair_rate", "received")]), (27.0, 6.0 / 54.0));
    assert_eq!(fair(&[]), (27.0, 6.0 / 54.0));
    assert_eq!(fair(&[word("fair_rate", "accepted")]), (24.0, 6.0 / 54.0));
    assert_eq!(fair(&[word("fair_rate", "list"), word("average_loss", "list")]), (22.0, 4.0 / 44.0));
    assert_eq!(fair(&[word("ageing", "never")]), (22.0, 6.0 / 54.0));
}

/// Forty equal flows, a list of ten: the list holds ten, the share of hits says forty.
#[test]
fn hits_count_more_flows_than_the_list_holds() {
    let mut queue = sfred(&[("list_size", Value::Whole(10)), word("active_flows", "hits")]);
    assert_eq!(queue.active_flows(), 0.0, "before the first hit the flows of the list");
    let mut numbers = Generator::stream(1, "flows");
    let mut sum = 0.0;
    for i in 0..60_000 {
        arrive(&mut queue, 0.0, (numbers.uniform() * 40.0) as u64, 1, 0, 1.0);
        if i >= 20_000 {
            sum += queue.hit_rate;
        }
    }
    // The share is 0.25; its mean over 40,000 arrivals has a standard deviation of sqrt(0.25 * 0.75/40,000) = 0.0022.
    // 4.5 of them are a false alarm once in 150,000 seeds.
    let active = 10.0 / (sum / 40_000.0);
    assert!((active - 40.0).abs() < 1.6, "{active}");
    assert_eq!(queue.list.len(), 10);
}

#[test]
fn marks_count_as_drops_unless_told_otherwise() {
    for (marks, dropped) in [(true, 1.0), (false, 0.0)] {
        let mut queue = sfred(&[("w_q", Value::Real(1.0)), ("count_marks", Value::Flag(marks))]);
        let (mut random, mut victims) = (Generator::custom(|| 0.0), Vec::new());
        let mut cx = Context { now: Time::ZERO, ecn: true, has_room: true, random: &mut random, victims: &mut victims };
        let view = QueueView { packets: 20, bytes: 20_000, idle_since: None, contents: None };
        let ect = Packet { ecn: Ecn::Ect0, ..Packet::new(1, 1000) };
        assert_eq!(queue.on_enqueue(&ect, &view, &mut cx), Verdict::Signal(Reason::Early));
        assert_eq!(flow(&queue, 1), Some((1.0, dropped)));
    }
}

/// A full queue drops a queued packet for the arrival: the queued packet's flow is charged, not the arrival's. A
/// condemned flow gets no place that way.
#[test]
fn the_victim_of_an_overflow_is_charged() {
    let mut queue = sfred(&[word("overflow_victim", "front"), word("dialect", "ns2")]);
    let mut ring = Ring::new();
    for flow in [7, 8] {
        ring.push(Packet::new(flow, 1000));
        arrive(&mut queue, 0.0, flow, 1, 0, 1.0);
    }
    let offer = |queue: &mut Sfred, flow| {
        let (mut random, mut victims) = (Generator::custom(|| 1.0), Vec::new());
        let mut cx =
            Context { now: Time::ZERO, ecn: false, has_room: false, random: &mut random, victims: &mut victims };
        let view = QueueView { packets: 2, bytes: 2000, idle_since: None, contents: Some(&ring) };
        let earlier = queue.on_enqueue(&Packet::new(flow, 1000), &view, &mut cx);
        queue.on_overflow(earlier, &Packet::new(flow, 1000), &view, &mut cx)
    };
    assert!(matches!(offer(&mut queue, 9), Verdict::Victims { with_arrival: false, .. }));
    assert_eq!(
        (flow(&queue, 7), flow(&queue, 8), flow(&queue, 9)),
        (Some((1.0, 1.0)), Some((1.0, 0.0)), Some((1.0, 0.0)))
    );
    assert_eq!(queue.all.dropped, 1.0);
    for _ in 0..20 {
        offer(&mut queue, 9);
    }
    queue.list.record_mut(queue.list.find(9).unwrap()).condemned = true;
    let before = flow(&queue, 7).unwrap().1;
    assert_eq!(offer(&mut queue, 9), Verdict::Drop(Reason::Forced));
    assert_eq!((flow(&queue, 7).unwrap().1, flow(&queue, 9).unwrap().1), (before, 1.0));
}

#[test]
fn values_that_do_not_fit_are_refused() {
    let error = |pairs: &[(&'static str, Value)]| Rules::read(&chosen(pairs), &LINK).err().map(|e| e.name);
    assert_eq!(error(&[word("release", "on_ageing"), word("ageing", "never")]), Some("release"));
    assert_eq!(error(&[("slow_bonus", Value::QueueBytes(1000.0))]), Some("slow_bonus"));
    assert_eq!(error(&[word("dialect", "linux"), ("gentle", Value::Flag(true))]), Some("gentle"));
    assert_eq!(error(&[]), None);
}

/// A flow of 1500 B and one of 40 B send as many packets. Counted in packets, neither exceeds the fair share; in bits,
/// the first has nearly twice the share.
#[test]
fn in_bits_a_flow_of_large_packets_is_fast() {
    for (counts, fast) in [("packets", false), ("bits", true)] {
        let mut sfred = sfred(&[("counts", Value::Choice(counts))]);
        for i in 0..40 {
            let packet = if i % 2 == 0 { Packet::new(1, 1500) } else { Packet::new(2, 40) };
            let slot = sfred.count(&packet);
            if i >= 30 {
                let found = matches!(sfred.classify(packet.flow, slot), Kinds::Fast(_));
                assert_eq!(found, fast && packet.flow == 1, "{counts}, packet {i}");
            }
        }
        let total = 20.0 * if fast { 1540.0 / 500.0 } else { 2.0 };
        assert!((sfred.all.received - total).abs() < 1e-9, "{counts}: {}", sfred.all.received);
    }
}

/// Gauges name the flow of the last arrival beside the class that it was taken for.
#[test]
fn gauges_name_the_flow_of_the_class() {
    let mut queue = sfred(&[]);
    arrive(&mut queue, 0.0, 2, 10, 0, 1.0);
    for (flow, times, class) in [(1, 30, 2.0), (2, 1, 0.0), (3, 1, 1.0)] {
        arrive(&mut queue, 0.0, flow, times, 0, 1.0);
        let mut found = [f64::NAN; 2];
        queue.gauges(&mut |name, value| match name {
            "flow" => found[0] = value,
            "class" => found[1] = value,
            _ => {}
        });
        assert_eq!(found, [flow as f64, class]);
    }
}
