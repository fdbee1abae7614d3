//! DualPI2 packet by packet: each rule of both dialects at its boundary.

use super::parameters::LEAST_TUPDATE;
use super::*;
use crate::prelude::*;

const RFC: (&str, Value) = ("dialect", Value::Choice("rfc"));

fn at(seconds: f64) -> Time {
    Time::from_seconds(seconds)
}

fn dual(pairs: &[(&'static str, Value)], limit: Limit) -> DualPi2 {
    let mut values = Values::new();
    for &(name, value) in pairs {
        assert!(PARAMS.iter().any(|p| p.name == name && p.allows(value)), "{name} = {value}");
        values.set(name, value);
    }
    assert_eq!((SPEC.check)(&values, &crate::Link { rate_bps: 1e7, delay_s: 0.0 }), Ok(()));
    DualPi2::new(Settings::read(&values, limit).unwrap(), true, Generator::stream(1, "dualpi2"))
}

/// Random numbers from a script.
fn scripted(queue: &mut DualPi2, numbers: &[f64]) {
    let mut numbers = VecDeque::from(numbers.to_vec());
    queue.random = Generator::custom(move || numbers.pop_front().expect("a draw that the rule does not make"));
}

fn packet(ecn: Ecn, size: u32) -> Packet {
    Packet { ecn, ..Packet::new(1, size) }
}

fn fill(queue: &mut DualPi2, ecn: Ecn, size: u32, packets: u32, now: f64) {
    for _ in 0..packets {
        assert!(queue.enqueue(packet(ecn, size), at(now), &mut |_, _| panic!("there is room")).is_some());
    }
}

/// Queues of the packets served, 'L' or 'C', in lower case if marked; '-' for a drop.
fn served(queue: &mut DualPi2, packets: usize, now: f64) -> String {
    let mut order = String::new();
    for _ in 0..packets {
        let mut lost = 0;
        let packet = queue.dequeue(at(now), &mut |_, _| lost += 1);
        order.extend(std::iter::repeat_n('-', lost));
        order.extend(packet.map(|p| match (p.tag, p.ecn) {
            (0, Ecn::Ce) => 'l',
            (0, Ecn::Ect1) => 'L',
            (_, Ecn::Ce) => 'c',
            _ => 'C',
        }));
    }
    order
}

#[test]
fn coupling() {
    for (p, p_c, p_cl, overloaded) in [(0.1, 0.01, 0.2, false), (0.5, 0.25, 1.0, true), (0.499, 0.249001, 0.998, false)]
    {
        let mut rfc = dual(&[RFC], Limit::Packets(100));
        let mut linux = dual(&[], Limit::Packets(100));
        (rfc.p, linux.p) = (p, p);
        assert!((rfc.p_c() - p_c).abs() < 1e-15 && (rfc.p_cl() - p_cl).abs() < 1e-15);
        assert_eq!([Queue::L, Queue::C].map(|queue| rfc.overloaded(queue)), [overloaded; 2]);
        assert!(!linux.overloaded(Queue::C), "Linux: above the point, not at it");
        linux.p = 0.500_001;
        assert!(linux.overloaded(Queue::C) && linux.overloaded(Queue::L));
    }
}

/// p' after updates at which the older head's age is 20, 20, 25, 15, 10 ms.
#[test]
fn timer() {
    let gains = [("alpha", Value::Real(0.16)), ("beta", Value::Real(3.2))];
    for (pairs, want, error) in [
        (&[RFC][..], [0.06075, 0.0615, 0.078, 0.048, 0.03225], 1e-12),
        (&gains[..], [0.0648, 0.0656, 0.0832, 0.0512, 0.0344], 1e-12),
        (&[][..], [0.064756, 0.065556, 0.083146, 0.051168, 0.034379], 6e-7),
    ] {
        let mut queue = dual(pairs, Limit::Packets(100));
        for (i, (age, want)) in [0.02, 0.02, 0.025, 0.015, 0.01].into_iter().zip(want).enumerate() {
            let now = 1.0 + i as f64;
            (queue.l, queue.c) = (Ring::new(), Ring::new());
            // C and L have the older head by turns.
            let (older, younger) = if i % 2 == 0 { (&mut queue.c, &mut queue.l) } else { (&mut queue.l, &mut queue.c) };
            older.push(Packet { enqueued: at(now - age), ..Packet::new(1, 100) });
            older.push(Packet { enqueued: at(now), ..Packet::new(1, 100) });
            younger.push(Packet { enqueued: at(now - 0.5 * age), ..Packet::new(1, 100) });
            queue.on_timer(at(now));
            assert!((queue.p - want).abs() < error, "{pairs:?} update {i}: {} not {want}", queue.p);
        }
        (queue.l, queue.c) = (Ring::new(), Ring::new());
        queue.on_timer(at(9.0));
        assert_eq!((queue.p, queue.last_delay), (0.0, 0.0), "an empty queue has no delay");
    }
}

#[test]
fn timer_period_and_gains_of_the_dialects() {
    let rfc = dual(&[RFC], Limit::Packets(9)).set;
    assert!((rfc.tupdate - 0.015).abs() < 1e-15 && (rfc.alpha - 0.15).abs() < 1e-12 && (rfc.beta - 3.0).abs() < 1e-12);
    let short = dual(&[RFC, ("rtt_max", Value::Real(0.03))], Limit::Packets(9)).set;
    assert!((short.tupdate - 0.01).abs() < 1e-15);
    assert_eq!(dual(&[RFC, ("target", Value::Real(0.0))], Limit::Packets(9)).set.tupdate, LEAST_TUPDATE);
    let linux = dual(&[], Limit::Packets(9)).set;
    assert!((linux.alpha - 0.160071).abs() < 5e-7 && (linux.beta - 3.197783).abs() < 5e-7, "{linux:?}");
    let mut queue = dual(&[], Limit::Packets(9));
    assert_eq!(queue.next_timer(), Some(at(0.016)));
    queue.on_timer(at(0.016));
    assert_eq!(queue.next_timer(), Some(at(0.016) + 0.016));
}

#[test]
fn the_probability_stays_between_0_and_1_or_1_over_k() {
    for (drop_overload, most) in [(true, 1.0), (false, 0.5)] {
        let mut queue = dual(&[("drop_overload", Value::Flag(drop_overload))], Limit::Packets(9));
        fill(&mut queue, Ecn::NotEct, 100, 1, 0.0);
        for i in 1..100 {
            queue.on_timer(at(f64::from(i)));
        }
        assert_eq!(queue.p, most);
    }
}

#[test]
fn recur_hits_where_it_should() {
    let hits = |x: f64, packets: usize| {
        let mut queue = dual(&[RFC], Limit::Packets(9));
        (1..=packets).filter(|_| queue.hit(Queue::C, x)).collect::<Vec<_>>()
    };
    assert_eq!(hits(0.25, 19), [5, 9, 13, 17]);
    assert_eq!(hits(0.75, 11), [2, 3, 5, 6, 7, 9, 10, 11]);
    assert_eq!(hits(0.4, 18), [3, 5, 8, 10, 13, 15, 18]);
    assert_eq!(hits(1.0, 4), [2, 3, 4]);
    assert!(hits(0.0, 100).is_empty());
    let mut queue = dual(&[RFC], Limit::Packets(9));
    for _ in 0..3 {
        queue.hit(Queue::C, 0.25);
        assert!(!queue.hit(Queue::L, 0.25), "each queue has its own counter");
    }
}

#[test]
fn ramp() {
    let mut queue = dual(&[RFC], Limit::Packets(99));
    fill(&mut queue, Ecn::Ect1, 100, 2, 0.0);
    let note = Note { step: true, marked: false };
    for (ms, want) in [(0.0, 0.0), (0.8, 0.0), (0.9, 0.25), (1.0, 0.5), (1.1, 0.75), (1.2, 1.0), (5.0, 1.0)] {
        let native = queue.native(&packet(Ecn::Ect1, 100), note, at(ms * 1e-3));
        assert!((native - want).abs() < 1e-9, "{ms} ms: {native}");
    }
    queue.l.pop();
    assert_eq!(queue.native(&packet(Ecn::Ect1, 100), note, at(5e-3)), 0.0, "one packet left is not more than th_len");
}

#[test]
fn step_in_time_and_in_packets() {
    let threshold = 1.0 / 1024.0;
    for (sojourn, marked) in [(threshold * 0.999, "L"), (threshold, "L"), (threshold * 1.001, "l")] {
        let mut queue = dual(&[("step_threshold", Value::Real(threshold))], Limit::Packets(99));
        fill(&mut queue, Ecn::Ect1, 100, 1, 0.0);
        assert_eq!(served(&mut queue, 1, sojourn), marked, "{sojourn}");
    }
    let packets = [("l_aqm", Value::Choice("step_packets")), ("step_length", Value::Whole(2))];
    let mut queue = dual(&packets, Limit::Packets(99));
    fill(&mut queue, Ecn::Ect1, 100, 5, 0.0);
    assert_eq!(served(&mut queue, 5, 0.0), "llLLL", "those that leave more than 2 behind");
    let spared = [packets[0], packets[1], ("min_qlen_step", Value::Whole(1))];
    let mut queue = dual(&spared, Limit::Packets(99));
    fill(&mut queue, Ecn::Ect1, 100, 5, 0.0);
    assert_eq!(served(&mut queue, 5, 0.0), "LlLLL", "the first found none");
}

/// MTU 1514, weights 10 and 90.
#[test]
fn weighted_round_robin() {
    let backlogged = |c_size: u32| {
        let mut queue = dual(&[("l_aqm", Value::Choice("none"))], Limit::Packets(10_000));
        for _ in 0..200 {
            queue.enqueue(packet(Ecn::Ect1, 1500), at(0.0), &mut |_, _| {});
            queue.enqueue(Packet { tag: 1, ..packet(Ecn::NotEct, c_size) }, at(0.0), &mut |_, _| {});
        }
        queue
    };
    let mut equal = backlogged(1500);
    // The credit starts at -80 MTU; L is served while it is not positive: 80*1514/(10*1500) = 8.07 packets.
    assert_eq!(served(&mut equal, 30, 0.0), "LLLLLLLLLCLLLLLLLLLCLLLLLLLLLC");
    let mut small = backlogged(500);
    assert_eq!(served(&mut small, 22, 0.0), "LLLLLLLLLCLLLCLLLCLLLC");
    let mut alone = dual(&[], Limit::Packets(10_000));
    fill(&mut alone, Ecn::Ect1, 1500, 5, 0.0);
    let credit = alone.credit;
    assert_eq!(credit, -80.0 * 1514.0);
    served(&mut alone, 5, 0.0);
    assert_eq!(alone.credit, credit, "nobody pays while the other queue is empty");
    small.credit = 7.0;
    served(&mut small, 1000, 0.0);
    assert_eq!(small.credit, credit, "an empty link starts anew");
    let rfc = dual(&[RFC], Limit::Packets(9));
    assert_eq!(rfc.credit, 1514.0 * (6.25 - 93.75));
}

#[test]
fn time_shifted_fifo() {
    let pairs =
        [("scheduler", Value::Choice("tsfifo")), ("tshift", Value::Real(0.0625)), ("l_aqm", Value::Choice("none"))];
    for (l_arrives, order) in [(1.0625, "LC"), (1.0626, "CL"), (1.0, "LC")] {
        let mut queue = dual(&pairs, Limit::Packets(9));
        queue.enqueue(Packet { tag: 1, ..packet(Ecn::NotEct, 100) }, at(1.0), &mut |_, _| {});
        fill(&mut queue, Ecn::Ect1, 100, 1, l_arrives);
        assert_eq!(served(&mut queue, 2, 2.0), order, "L at {l_arrives}");
    }
}

/// What becomes of one C packet and one L packet with given random numbers, in Linux's dialect.
#[test]
fn draws_in_order() {
    let enough = ("min_backlog", Value::Real(0.0));
    let (c, l) = (packet(Ecn::NotEct, 100), packet(Ecn::Ect1, 100));
    let ect0 = packet(Ecn::Ect0, 100);
    for (p, arrival, numbers, left, dropped) in [
        (0.3, c, &[0.31][..], Some(Ecn::NotEct), None),
        (0.3, c, &[0.30, 0.31], Some(Ecn::NotEct), None),
        (0.3, c, &[0.29, 0.30], None, Some(Reason::Early)),
        (0.3, ect0, &[0.29, 0.30], Some(Ecn::Ce), None),
        (0.3, l, &[0.61], Some(Ecn::Ect1), None),
        (0.3, l, &[0.60], Some(Ecn::Ce), None),
        (0.5, ect0, &[0.5, 0.5], Some(Ecn::Ce), None),
        (0.6, ect0, &[0.5, 0.5], None, Some(Reason::Early)),
        (0.6, l, &[0.5, 0.5], None, Some(Reason::Early)),
        (0.6, l, &[0.61], Some(Ecn::Ce), None),
        (1.0, l, &[0.99, 1.0], None, Some(Reason::Forced)),
        (0.0, c, &[0.0], Some(Ecn::NotEct), None),
    ] {
        for drop_early in [false, true] {
            let mut queue = dual(&[enough, ("drop_early", Value::Flag(drop_early))], Limit::Packets(9));
            queue.p = p;
            scripted(&mut queue, numbers);
            let mut lost = None;
            queue.enqueue(arrival, at(0.0), &mut |_, reason| lost = Some(reason));
            assert_eq!(queue.packets() == 0, drop_early && dropped.is_some());
            let packet = queue.dequeue(at(0.0), &mut |_, reason| lost = Some(reason));
            assert_eq!((packet.map(|p| p.ecn), lost), (left, dropped), "p' = {p}, {:?}, {drop_early}", arrival.ecn);
        }
    }
}

#[test]
fn nothing_happens_to_a_short_queue_but_the_step() {
    // Two MTUs of 1514 B behind a packet are enough for a coupled drop in linux, a byte less is not.
    for (behind, order) in [(3028, "-C"), (3027, "C")] {
        let mut queue = dual(&[], Limit::Packets(9));
        queue.p = 1.0;
        for size in [100, behind - 1000, 1000] {
            queue.enqueue(Packet { tag: 1, ..packet(Ecn::NotEct, size) }, at(0.0), &mut |_, _| {});
        }
        assert_eq!(served(&mut queue, 1, 0.0), order, "{behind} B");
    }
    for pairs in [&[][..], &[("l_combine", Value::Choice("max"))], &[("drop_early", Value::Flag(true))]] {
        let mut queue = dual(pairs, Limit::Packets(9));
        queue.p = 1.0;
        fill(&mut queue, Ecn::Ect1, 100, 2, 0.0);
        scripted(&mut queue, &[]);
        assert_eq!(served(&mut queue, 2, 0.0005) + &served(&mut queue, 1, 0.0), "LL");
        fill(&mut queue, Ecn::Ect1, 100, 1, 1.0);
        assert_eq!(served(&mut queue, 1, 1.002), "l", "{pairs:?}");
    }
}

#[test]
fn rfc_combines_both_probabilities_in_one_decision() {
    let mut queue = dual(&[RFC, ("derandomise", Value::Flag(false))], Limit::Packets(99));
    queue.p = 0.3;
    fill(&mut queue, Ecn::Ect1, 100, 6, 0.0);
    // After 1 ms the ramp says 0.5, the coupling 0.6; after 1.1 ms the ramp says 0.75.
    scripted(&mut queue, &[0.61, 0.59, 0.74, 0.76]);
    assert_eq!(served(&mut queue, 2, 0.001) + &served(&mut queue, 2, 0.0011), "LllL");
    queue.p = 0.5;
    scripted(&mut queue, &[0.51, 0.5, 0.51, 0.5, 0.5]);
    assert_eq!(served(&mut queue, 2, 0.0011), "ll", "overloaded: marked unless dropped");
}

#[test]
fn without_marking_signals_are_drops() {
    let mut queue = dual(&[], Limit::Packets(9));
    queue.ecn = false;
    fill(&mut queue, Ecn::Ect1, 100, 2, 0.0);
    assert_eq!(served(&mut queue, 1, 0.002), "--");
    assert_eq!((queue.counters.forced_drops, queue.counters.marks), (2, 0));
}

#[test]
fn a_packet_that_both_mark_counts_once() {
    let mut queue = dual(&[("min_backlog", Value::Real(0.0))], Limit::Packets(9));
    queue.p = 0.5;
    scripted(&mut queue, &[0.5]);
    fill(&mut queue, Ecn::Ect1, 100, 1, 0.0);
    assert_eq!(served(&mut queue, 1, 0.002), "l");
    assert_eq!(queue.counters.marks, 1);
}

#[test]
fn room() {
    // rfc keeps an MTU of 1514 B free: the last of eleven packets finds 1500 B of 3120 B. A packet larger than the MTU
    // must fit too.
    for (pairs, held) in [(&[][..], 20), (&[RFC][..], 11), (&[RFC, ("mtu", Value::Whole(100))][..], 20)] {
        let mut queue = dual(pairs, Limit::Bytes(3120));
        let mut lost = 0;
        for i in 0..40 {
            let ecn = if i % 2 == 0 { Ecn::Ect1 } else { Ecn::NotEct };
            queue.enqueue(packet(ecn, 150), at(0.0), &mut |_, reason| lost += u64::from(reason == Reason::Overflow));
        }
        assert_eq!((queue.packets(), lost), (held, 40 - held), "{pairs:?}");
    }
    let mut queue = dual(&[RFC], Limit::Packets(3));
    fill(&mut queue, Ecn::Ect1, 1500, 2, 0.0);
    fill(&mut queue, Ecn::NotEct, 1500, 1, 0.0);
    assert_eq!(queue.enqueue(packet(Ecn::Ect1, 40), at(0.0), &mut |_, _| {}), None, "both share it");
}
