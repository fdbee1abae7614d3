use super::*;
use crate::prelude::*;

const LINK: Link = Link { rate_bps: 100e6, delay_s: 0.0 };

/// 8 Mbit/s: a byte takes 1 us.
const RATE: (&str, Value) = ("rate", Value::Real(8e6));

fn values(given: &[(&'static str, Value)]) -> Values {
    Values::of(given)
}

fn htb(given: &[(&'static str, Value)], aqm: &str, limit: u64) -> Htb {
    let (values, limit) = (values(given), Limit::Packets(limit));
    check(&values, &LINK).unwrap();
    let child = |number| {
        let built = (catalogue::find(aqm).unwrap().build)(&Values::new(), &LINK, limit).unwrap();
        built.queue(limit, true, Generator::stream(1, &format!("queue{number}")))
    };
    Htb::new(&values, &LINK, (0..classes(&values)).map(child).collect())
}

fn arrive(queue: &mut Htb, class: u8, packets: u32, now: f64) {
    let packet = Packet { class, ..Packet::new(class.into(), 1000) };
    (0..packets).for_each(|_| assert!(queue.enqueue(packet, Time::from_seconds(now), &mut |_, _| {}).is_some()));
}

/// Classes and times (ms) of packets that leave until `until`, on a link that asks as soon as the queue allows.
fn leaves(queue: &mut Htb, mut now: f64, until: f64) -> Vec<(u8, f64)> {
    let mut left = Vec::new();
    while now <= until {
        match queue.dequeue(Time::from_seconds(now), &mut |_, _| {}) {
            Some(packet) => left.push((packet.class, (now * 1e6_f64).round() / 1e3)),
            None => match queue.held_until() {
                Some(next) => now = next.seconds(),
                None => break,
            },
        }
    }
    left
}

fn share(left: &[(u8, f64)], class: u8, since: f64) -> usize {
    left.iter().filter(|&&(of, at)| of == class && at >= since).count()
}

#[test]
fn a_class_has_its_rate_and_borrows_what_others_leave() {
    let given = [RATE, ("classes", Value::Whole(3)), ("rate_0", Value::Real(4e6)), ("rate_1", Value::Real(2e6))];
    let given = [given.as_slice(), &[("rate_2", Value::Real(2e6)), ("quantum", Value::Real(1000.0))]].concat();
    let mut queue = htb(&given, "droptail", 10_000);
    [0, 1, 2].into_iter().for_each(|class| arrive(&mut queue, class, 1000, 0.0));
    let left = leaves(&mut queue, 0.0, 1.0);
    // 1000 packets in all, half of them of class 0. Each class may be ahead by its burst and a packet.
    assert!(left.len().abs_diff(1000) <= 8, "{}", left.len());
    let shares = [0, 1, 2].map(|class| share(&left, class, 0.0));
    assert!(shares.iter().zip([500, 250, 250]).all(|(&one, other)| one.abs_diff(other) <= 3), "{shares:?}");
    // Class 1 alone borrows all there is, unless its ceil is lower.
    for (ceil, packets) in [(8e6, 1000), (3e6, 375)] {
        let mut queue = htb(&[&given[..], &[("ceil_1", Value::Real(ceil))]].concat(), "droptail", 10_000);
        arrive(&mut queue, 1, 2000, 0.0);
        let left = leaves(&mut queue, 0.0, 1.0).len();
        assert!(left.abs_diff(packets) <= 3, "{ceil}: {left}");
        let mut found = std::collections::BTreeMap::new();
        queue.parent(&mut |class, name, value| {
            found.insert((class, name), value as usize);
        });
        assert_eq!(found[&(Some(1), "sent_packets")], left);
        assert_eq!(found[&(Some(1), "lends")] + found[&(Some(1), "borrows")], left);
        assert!(found[&(Some(1), "lends")].abs_diff(250) <= 3, "{found:?}");
        assert_eq!((found[&(None, "sent_packets")], found[&(Some(2), "sent_packets")]), (left, 0));
    }
}

#[test]
fn the_lowest_priority_takes_what_is_left() {
    let given = [RATE, ("classes", Value::Whole(2)), ("rate_0", Value::Real(1e6)), ("rate_1", Value::Real(1e6))];
    let mut queue = htb(&[&given[..], &[("prio_0", Value::Whole(1))]].concat(), "droptail", 10_000);
    [0, 1].into_iter().for_each(|class| arrive(&mut queue, class, 2000, 0.0));
    let left = leaves(&mut queue, 0.0, 1.0);
    // An eighth for class 0, which is its own rate, and seven eighths for class 1.
    assert!(share(&left, 0, 0.0).abs_diff(125) <= 3 && share(&left, 1, 0.0).abs_diff(875) <= 3);
}

#[test]
fn a_debt_is_waited_off_to_the_nanosecond() {
    let given = [RATE, ("classes", Value::Whole(1)), ("burst", Value::Real(1000.0)), ("cburst", Value::Real(1000.0))];
    let mut queue = htb(&given, "droptail", 100);
    arrive(&mut queue, 0, 4, 0.0);
    // The first packet empties the bucket, the second leaves a debt of 1000 B, which takes 1 ms; and so on.
    assert_eq!(leaves(&mut queue, 0.0, 1.0), [(0, 0.0), (0, 0.0), (0, 1.0), (0, 2.0)]);
    assert_eq!((queue.packets(), queue.held_until()), (0, None));
    arrive(&mut queue, 0, 3, 10.0);
    assert_eq!(leaves(&mut queue, 10.0, 11.0).last(), Some(&(0, 10_001.0)));
}

/// RED's average falls while its class is idle, so that a later burst meets no drops for an earlier one.
#[test]
fn a_child_learns_that_it_is_idle() {
    let mut queue = htb(&[RATE, ("classes", Value::Whole(2))], "red", 1000);
    let average = |queue: &Htb| queue.classes[0].child.average().unwrap();
    for k in 0..3000 {
        let packet = Packet::new(1, 1000);
        queue.enqueue(packet, Time::from_seconds(f64::from(k) * 0.5e-3), &mut |_, _| {});
        leaves(&mut queue, f64::from(k) * 0.5e-3, f64::from(k) * 0.5e-3);
    }
    assert!(average(&queue) > 5.0);
    leaves(&mut queue, 1.5, 10.0);
    assert_eq!(queue.packets(), 0);
    arrive(&mut queue, 0, 1, 100.0);
    assert!(average(&queue) < 0.01, "{}", average(&queue));
}

#[test]
fn unknown_classes_are_the_last() {
    let mut queue = htb(&[RATE, ("classes", Value::Whole(2))], "droptail", 100);
    arrive(&mut queue, 7, 1, 0.0);
    assert_eq!(queue.classes[1].child.packets(), 1);
}

#[test]
fn values_fit_together() {
    let refused = |given: &[(&'static str, Value)]| check(&values(given), &LINK).unwrap_err().name;
    assert_eq!(refused(&[("ceil_3", Value::Real(1e3)), ("rate_3", Value::Real(2e3))]), "ceil_3");
    assert_eq!(refused(&[("classes", Value::Whole(2)), ("rate_2", Value::Real(2e3))]), "rate_2");
    assert_eq!(refused(&[("classes", Value::Whole(2)), ("prio_7", Value::Whole(2))]), "prio_7");
    assert!(check(&values(&[("classes", Value::Whole(2)), ("rate_2", Value::Auto)]), &LINK).is_ok());
    // The rate in equal shares, tc's burst, and Linux's quantum.
    let queue = htb(&[RATE, ("classes", Value::Whole(4))], "droptail", 100);
    let class = &queue.classes[3];
    assert_eq!(
        (class.quantum, class.buckets.mode(0), queue.root.mode(-1_600_001)),
        (25_000, (Mode::Can, 0), (Mode::Cannot, 1))
    );
    assert_eq!(class.buckets.mode(-6_400_000).0, Mode::Cannot, "the ceil's 1600 B are 1.6 ms");
    assert_eq!(class.buckets.mode(-1_600_000), (Mode::Can, 0));
}

#[test]
fn every_discipline_can_be_a_child() {
    let mut random = Generator::stream(1, "arrivals");
    for spec in catalogue::all() {
        let mut queue = htb(&[RATE, ("classes", Value::Whole(3))], spec.name, 100);
        let (mut now, mut arrived, mut dropped, mut left, mut bytes) = (0.0, 0, 0, 0, 0);
        for k in 0..600_u64 {
            now += random.uniform() * 2e-3;
            while let Some(due) = queue.next_timer().filter(|due| due.seconds() <= now) {
                queue.on_timer(due);
            }
            let size = 40 + (random.uniform() * 1400.0) as u32;
            let packet = Packet { ecn: crate::Ecn::Ect0, class: (k % 3) as u8, ..Packet::new(k % 5, size) };
            arrived += 1;
            queue.enqueue(packet, Time::from_seconds(now), &mut |_, _| dropped += 1);
            if let Some(packet) = queue.dequeue(Time::from_seconds(now), &mut |_, _| dropped += 1) {
                left += 1;
                bytes += packet.size;
            }
            assert_eq!(arrived, left + dropped + queue.packets(), "{}", spec.name);
            let counters = *queue.counters();
            assert_eq!((counters.departures, counters.drops(), counters.arrivals), (left, dropped, arrived));
            assert!(f64::from(bytes) <= 4600.0 + 1e6 * now, "{}: {bytes} B by {now} s", spec.name);
        }
        assert!(left > 200, "{}: {left}", spec.name);
    }
}

/// A class washes only if its child does.
#[test]
fn a_class_washes_as_its_child_does() {
    let values = values(&[RATE, ("classes", Value::Whole(2))]);
    let child = |wash| {
        let built = (catalogue::find("cake").unwrap().build)(
            Values::new().set("wash", Value::Flag(wash)),
            &LINK,
            Limit::Packets(100),
        );
        built.unwrap().queue(Limit::Packets(100), true, Generator::stream(1, "queue"))
    };
    let queue = Htb::new(&values, &LINK, vec![child(false), child(true)]);
    assert!(queue.reads_headers());
    assert_eq!([0, 1, 7].map(|class| queue.washes(class)), [false, true, true]);
}
