//! SFQ packet by packet, in both dialects.

use super::*;
use crate::parts::classful::Schedule;
use crate::parts::hash;
use crate::prelude::*;

fn values(pairs: &[(&'static str, Value)]) -> Values {
    Values::of(pairs)
}

fn linux(pairs: &[(&'static str, Value)], limit: u64) -> Linux {
    Linux::new(&linux::Rules::read(&values(pairs)), Limit::Packets(limit), Generator::stream(1, "sfq"))
}

fn ns2(pairs: &[(&'static str, Value)], limit: Limit) -> Ns2 {
    Ns2::new(&ns2::Rules::read(&values(pairs)), limit)
}

/// Sends packets of `flow` with these tags; the tags of the packets dropped.
fn arrive(queue: &mut impl Schedule, flow: u64, size: u32, tags: std::ops::Range<u32>) -> Vec<u32> {
    let mut lost = Vec::new();
    for tag in tags {
        let mut at_this = Vec::new();
        let packet = Packet { tag, ..Packet::new(flow, size) };
        let admitted = queue.arrive(packet, Time::ZERO, &mut |victim| at_this.push(victim.tag));
        assert_eq!(admitted, !at_this.contains(&tag));
        lost.extend(at_this);
    }
    lost
}

fn served(queue: &mut impl Schedule) -> Vec<u64> {
    std::iter::from_fn(|| queue.take(Time::ZERO, &mut |_| {})).map(|p| p.flow).collect()
}

fn tags(queue: &mut impl Schedule) -> Vec<u32> {
    std::iter::from_fn(|| queue.take(Time::ZERO, &mut |_| {})).map(|p| p.tag).collect()
}

/// Two flows with buckets of their own.
fn apart(buckets: usize) -> (u64, u64) {
    let other = (1..).find(|&flow| hash::bucket(flow, 0, buckets) != hash::bucket(0, 0, buckets));
    (0, other.unwrap())
}

/// ns-2's rule with its defaults, no departures: one flow alone gets 13 packets in, two flows by turns 10 each.
#[test]
fn ns2_admits_13_of_one_flow_and_10_each_of_two() {
    let mut queue = ns2(&[], Limit::Packets(40));
    assert_eq!(arrive(&mut queue, 1, 1000, 0..40), (13..40).collect::<Vec<_>>());
    let mut queue = ns2(&[], Limit::Packets(40));
    let (a, b) = apart(16);
    let lost: Vec<u32> =
        (0..40).flat_map(|i| arrive(&mut queue, if i % 2 == 0 { a } else { b }, 1000, i..i + 1)).collect();
    assert_eq!(lost, (20..40).collect::<Vec<_>>());
}

/// With fewer places left than buckets, a bucket with more than its share of the buffer is refused.
#[test]
fn ns2_when_places_are_scarce() {
    // 16 buckets share 40 places, 2 each. 24 packets of other flows leave 16 places, 25 leave 15.
    for (others, admitted) in [(24, 4), (25, 3)] {
        let mut queue = ns2(&[], Limit::Packets(40));
        let mine = (0..).find(|&flow| hash::bucket(flow, 0, 16) == 3).unwrap();
        let mut filled = 0;
        for flow in (0..).filter(|&flow| hash::bucket(flow, 0, 16) > 3).take(others) {
            filled += 1 - arrive(&mut queue, flow, 100, 0..1).len();
        }
        assert_eq!(filled, others, "they are spread over their buckets");
        let lost = arrive(&mut queue, mine, 100, 0..9);
        assert!(9 - lost.len() <= admitted, "{others}: {lost:?}");
    }
    let mut queue = ns2(&[], Limit::Packets(40));
    for bucket in 4..16 {
        let flow = (0..).find(|&flow| hash::bucket(flow, 0, 16) == bucket).unwrap();
        assert!(arrive(&mut queue, flow, 100, 0..2).is_empty());
    }
    // 24 wait and 16 places are left: three packets find used = 0, 1, 2; then 13 are left, and 3 is more than 2.
    let mine = (0..).find(|&flow| hash::bucket(flow, 0, 16) == 0).unwrap();
    assert_eq!(arrive(&mut queue, mine, 100, 0..5), [3, 4]);
}

#[test]
fn ns2_serves_one_packet_a_turn_and_the_newest_flow_last() {
    let mut queue = ns2(&[], Limit::Packets(100));
    let (a, b) = apart(16);
    arrive(&mut queue, a, 1500, 0..3);
    arrive(&mut queue, b, 40, 3..6);
    assert_eq!(queue.take(Time::ZERO, &mut |_| {}).map(|p| p.flow), Some(a));
    assert_eq!(served(&mut queue), [b, a, b, a, b]);
}

#[test]
fn ns2_with_a_limit_in_bytes() {
    // With mean_packet 1000 and packets of 1000 B bytes decide as packets do.
    let in_bytes = [("mean_packet", Value::Real(1000.0))];
    let mut queue = ns2(&in_bytes, Limit::Bytes(40_000));
    assert_eq!(arrive(&mut queue, 1, 1000, 0..40).len(), 40 - 14, "14 kB of 40 still find more than 13 kB free");
    let mut full = ns2(&in_bytes, Limit::Bytes(1000));
    assert_eq!(arrive(&mut full, 1, 1001, 0..1), [0]);
    assert!(arrive(&mut full, 1, 1000, 1..2).is_empty());
    assert_eq!(arrive(&mut full, 1, 1, 2..3), [2]);
}

#[test]
fn linux_drops_from_the_flow_with_the_most_packets() {
    let mut queue = linux(&[], 10);
    assert!(arrive(&mut queue, 1, 40, 0..7).is_empty());
    assert!(arrive(&mut queue, 2, 1500, 7..10).is_empty());
    assert_eq!(arrive(&mut queue, 2, 1500, 10..11), [6], "the newest of 7 small packets");
    assert_eq!(arrive(&mut queue, 1, 40, 11..12), [11], "the arrival, which is the newest there");
    let mut queue = linux(&[("headdrop", Value::Flag(true))], 10);
    arrive(&mut queue, 1, 40, 0..7);
    arrive(&mut queue, 2, 1500, 7..10);
    assert_eq!(arrive(&mut queue, 2, 1500, 10..13), [0, 1, 7], "at 5 and 5, the flow that has just grown loses");
}

#[test]
fn linux_if_all_flows_have_one_packet_the_one_whose_turn_it_is_loses_it() {
    let mut queue = Linux::new(&linux::Rules::read(&Values::new()), Limit::Bytes(300), Generator::stream(1, "sfq"));
    for flow in 0..3 {
        arrive(&mut queue, flow, 100, flow as u32..flow as u32 + 1);
    }
    assert_eq!(arrive(&mut queue, 3, 100, 3..4), [0]);
    assert_eq!(tags(&mut queue), [1, 2, 3]);
}

#[test]
fn linux_bounds_the_depth_of_a_flow() {
    let depth = ("depth", Value::Whole(3));
    let mut queue = linux(&[depth], 10);
    assert_eq!(arrive(&mut queue, 1, 100, 0..5), [3, 4]);
    let mut queue = linux(&[depth, ("headdrop", Value::Flag(true))], 10);
    assert_eq!(arrive(&mut queue, 1, 100, 0..5), [0, 1]);
    assert_eq!(tags(&mut queue), [2, 3, 4]);
}

#[test]
fn linux_has_so_many_flows() {
    let mut few_places = linux(&[], 2);
    assert!(arrive(&mut few_places, 0, 100, 0..1).is_empty() && arrive(&mut few_places, 1, 100, 1..2).is_empty());
    assert_eq!(arrive(&mut few_places, 2, 100, 2..3), [2], "two places are two flows");
    let mut queue = linux(&[("flows", Value::Whole(2)), ("divisor", Value::Whole(65_536))], 10);
    for flow in 0..2 {
        assert!(arrive(&mut queue, flow, 100, 0..1).is_empty());
    }
    assert_eq!(arrive(&mut queue, 2, 100, 7..8), [7]);
    queue.take(Time::ZERO, &mut |_| {});
    assert!(arrive(&mut queue, 2, 100, 8..9).is_empty(), "an empty flow gives its place up");
    let limited = linux(&[("flows", Value::Whole(2)), ("depth", Value::Whole(3))], 1000);
    assert_eq!(limited.limit, Limit::Packets(6));
}

/// Of 1514 B for a turn, a packet of 1500 B leaves 14 B (2 units of 8 B): a second packet leaves in the first turn.
#[test]
fn linux_spends_an_allotment() {
    let mut queue = linux(&[], 100);
    arrive(&mut queue, 1, 1500, 0..4);
    arrive(&mut queue, 2, 500, 4..10);
    // 190 units a turn. A: 190, 2, -186 | B: 190, 127, 64, 1, -62 | A: -186 + 190 = 4, -184 | B: 128, 65, 0 | A: 6.
    assert_eq!(served(&mut queue), [1, 1, 2, 2, 2, 2, 1, 2, 2, 1]);
}

#[test]
fn linux_adds_many_small_quanta_at_once() {
    let pairs = [("allot_unit", Value::Whole(1)), ("quantum", Value::Whole(7))];
    let mut queue = linux(&pairs, 100);
    for (flow, size, packets) in [(1, 600, 5), (2, 1200, 3), (3, 300, 9)] {
        arrive(&mut queue, flow, size, 0..packets);
    }
    // The order by hand, in bytes, 7 B a turn.
    let mut left = [(1, 600, 5, 7_i64), (2, 1200, 3, 7), (3, 300, 9, 7)];
    let mut by_hand = Vec::new();
    while left.iter().any(|&(_, _, packets, _)| packets > 0) {
        for (flow, size, packets, allotment) in &mut left {
            while *packets > 0 && *allotment > 0 {
                by_hand.push(*flow);
                (*packets, *allotment) = (*packets - 1, *allotment - *size);
            }
            *allotment += 7;
        }
    }
    assert_eq!(served(&mut queue), by_hand);
}

#[test]
fn linux_perturbs_when_it_is_due_and_keeps_what_waits() {
    let pairs = [("perturb", Value::Real(0.5)), ("divisor", Value::Whole(4)), ("allot_unit", Value::Whole(1))];
    let mut queue = linux(&pairs, 100);
    let groups = |queue: &Linux| (0..16).map(|flow| hash::bucket(flow, queue.salt, 4)).collect::<Vec<_>>();
    let first = groups(&queue);
    for flow in 0..16 {
        arrive(&mut queue, flow, 100, 0..2);
    }
    let mut lost = 0;
    let mut at = |queue: &mut Linux, seconds: f64| {
        queue.take(Time::from_seconds(seconds), &mut |_| lost += 1);
        groups(queue)
    };
    assert_eq!(at(&mut queue, 0.499), first);
    let second = at(&mut queue, 0.5);
    assert_ne!(second, first);
    assert_eq!(at(&mut queue, 0.999), second);
    let third = at(&mut queue, 2.3);
    assert_ne!(third, second);
    assert_eq!(at(&mut queue, 2.499), third, "several in one");
    assert_ne!(at(&mut queue, 2.5), third);
    assert_eq!((lost, queue.packets()), (0, 32 - 6));
    // Every FIFO holds the flows of its entry, each in order.
    for slot in 0..queue.entry.len() {
        if let Some(head) = queue.fifos.head(slot) {
            assert_eq!(queue.table[hash::bucket(head.flow, queue.salt, 4)], slot as u32);
        }
    }
    assert_eq!(served(&mut queue).len(), 26);
}

#[test]
fn linux_drops_what_a_new_hash_puts_above_the_depth() {
    let pairs = [("perturb", Value::Real(1.0)), ("divisor", Value::Whole(2)), ("depth", Value::Whole(8))];
    let mut queue = linux(&pairs, 16);
    for flow in 0..16 {
        arrive(&mut queue, flow, 100, 0..1);
    }
    let before = queue.packets();
    let mut lost = 0;
    for i in 1..200_u32 {
        queue.perturb(Time::from_seconds(f64::from(i)), &mut |_| lost += 1);
    }
    assert!(lost > 0 && queue.packets() + lost == before);
    assert_eq!((0..queue.entry.len()).map(|slot| queue.fifos.packets_of(slot)).sum::<u64>(), queue.packets());
}
