use super::*;
use crate::prelude::*;

const LINK: Link = Link { rate_bps: 1e9, delay_s: 0.0 };

fn wifi(given: &[(&'static str, Value)], aqm: &str, limit: u64) -> Wifi {
    let values = Values::of(given);
    check(&values, &LINK).unwrap();
    let limit = Limit::Packets(limit);
    let child = |number| {
        let built = (catalogue::find(aqm).unwrap().build)(&Values::new(), &LINK, limit).unwrap();
        built.queue(limit, true, Generator::stream(1, &format!("queue{number}")))
    };
    Wifi::new(&values, &LINK, (0..(SPEC.children)(&values)).map(child).collect())
}

fn arrive(queue: &mut Wifi, class: u8, size: u32, now: f64) -> bool {
    let packet = Packet { class, ..Packet::new(class.into(), size) };
    queue.enqueue(packet, Time::from_seconds(now), &mut |_, _| {}).is_some()
}

/// Classes and times (us) of packets that leave until `until`, on a link that asks as soon as the queue allows.
fn leaves(queue: &mut Wifi, mut now: f64, until: f64) -> Vec<(u8, f64)> {
    let mut left = Vec::new();
    while now <= until {
        match queue.dequeue(Time::from_seconds(now), &mut |_, _| {}) {
            Some(packet) => left.push((packet.class, (now * 1e7_f64).round() / 1e1)),
            None => match queue.held_until() {
                Some(next) => now = next.seconds(),
                None => break,
            },
        }
    }
    left
}

/// Rates of 100 and 10 Mbit/s: a packet of 1250 B takes 0.1 or 1 ms.
fn two(more: &[(&'static str, Value)]) -> Vec<(&'static str, Value)> {
    let rates = [("rate_0", Value::Real(100e6)), ("rate_1", Value::Real(10e6)), ("access", Value::Real(0.001))];
    [&[("stations", Value::Whole(2))], &rates[..], more].concat()
}

#[test]
fn packets_of_one_station_follow_each_other_after_one_access() {
    let mut queue = wifi(&two(&[("packets", Value::Whole(3))]), "droptail", 100);
    for class in [0, 0, 0, 0, 1] {
        assert!(arrive(&mut queue, class, 1250, 0.0));
    }
    // Station 1 arrived last and is first; then station 0 sends aggregates of three and one.
    let times = [(1, 2000.0), (0, 3100.0), (0, 3200.0), (0, 3300.0), (0, 4400.0)];
    assert_eq!(leaves(&mut queue, 0.0, 1.0), times);
    assert_eq!((queue.packets(), queue.bytes(), queue.held_until()), (0, 0, None));
}

#[test]
fn an_aggregate_ends_at_each_limit() {
    for (limit, value, packets) in [
        ("packets", Value::Whole(4), 4),
        ("bytes", Value::Whole(6249), 4),
        ("time", Value::Real(0.000_41), 4),
        ("time", Value::Real(1e-6), 1),
        ("bytes", Value::Whole(10), 1),
    ] {
        let mut queue = wifi(&two(&[(limit, value)]), "droptail", 100);
        (0..10).for_each(|_| assert!(arrive(&mut queue, 0, 1250, 0.0)));
        assert!(leaves(&mut queue, 0.0, 0.0).is_empty());
        assert_eq!((queue.aggregate.len(), queue.packets()), (packets, 10), "{limit}");
        assert_eq!(leaves(&mut queue, 0.0, 1.0).len(), 10);
    }
}

/// Two fast stations and a slow one, all with packets for a second: airtime shares in per cent, packets sent.
fn saturated(more: &[(&'static str, Value)]) -> ([f64; 3], [u64; 3]) {
    let rates = [("rate_0", Value::Real(144.4e6)), ("rate_1", Value::Real(144.4e6)), ("rate_2", Value::Real(7.2e6))];
    let mut queue = wifi(&[&[("stations", Value::Whole(3))], &rates[..], more].concat(), "droptail", 100_000);
    (0..15_000_u32).for_each(|k| assert!(arrive(&mut queue, (k % 3) as u8, 1500, 0.0)));
    leaves(&mut queue, 0.0, 1.0);
    let total: f64 = queue.stations.iter().map(|station| station.airtime).sum();
    let all = [0, 1, 2].map(|number| queue.stations[number]);
    (all.map(|station| 100.0 * station.airtime / total), all.map(|station| station.sent))
}

#[test]
fn the_anomaly_and_its_end() {
    // Aggregates: 43 packets (65,535 B) in 3.77 ms of 144.4 Mbit/s, and 2 in 3.33 ms of 7.2 Mbit/s; with access.
    let (fast, slow) = (43.0 * 12e3 / 144.4e6 + 200e-6, 2.0 * 12e3 / 7.2e6 + 200e-6);
    let (shares, sent) = saturated(&[("fair", Value::Choice("turns"))]);
    let share = 100.0 * slow / (2.0 * fast + slow);
    assert!((shares[2] - share).abs() < 1.0, "{shares:?} {share}");
    assert!((sent[0] as f64 / 43.0 - 1.0 / (2.0 * fast + slow)).abs() < 2.0);
    // In one queue, packets of the stations alternate: the slow one takes nearly all of the time.
    let (shares, mixed) = saturated(&[("queues", Value::Choice("shared"))]);
    let each = [144.4e6, 144.4e6, 7.2e6].map(|rate| 12e3 / rate + 200e-6);
    assert!((shares[2] - 100.0 * each[2] / each.iter().sum::<f64>()).abs() < 1.0, "{shares:?}");
    // Each has a third of the time, up to one aggregate in a second.
    let (shares, fair) = saturated(&[]);
    assert!(shares.iter().all(|share| (share - 100.0 / 3.0).abs() < 1.0), "{shares:?}");
    let ideal = 43.0 / fast / 3.0;
    assert!((fair[0] as f64 - ideal).abs() < 0.02 * ideal && fair[0] > 8 * mixed[0], "{fair:?} {mixed:?}");
}

#[test]
fn a_station_that_was_silent_does_not_save_its_time() {
    let mut queue = wifi(&two(&[]), "droptail", 100_000);
    (0..6000).for_each(|_| assert!(arrive(&mut queue, 0, 1250, 0.0)));
    leaves(&mut queue, 0.0, 0.3);
    (0..3000).for_each(|_| assert!(arrive(&mut queue, 1, 1250, 0.3)));
    let before = queue.stations[0].airtime;
    leaves(&mut queue, 0.3, 0.5);
    let (one, other) = (queue.stations[0].airtime - before, queue.stations[1].airtime);
    assert!((one - other).abs() < 0.012, "{one} {other}");
}

#[test]
fn values_fit_together() {
    let refused = |given: &[(&'static str, Value)]| {
        let values = Values::of(given);
        check(&values, &LINK).unwrap_err().name
    };
    assert_eq!(refused(&[("rate_3", Value::Real(2e9))]), "rate_3");
    assert_eq!(refused(&[("stations", Value::Whole(2)), ("rate_2", Value::Real(2e6))]), "rate_2");
}

#[test]
fn every_discipline_can_be_a_child() {
    let mut random = Generator::stream(1, "arrivals");
    for spec in catalogue::all() {
        for queues in ["station", "shared"] {
            let mut queue = wifi(&two(&[("queues", Value::Choice(queues))]), spec.name, 100);
            let (mut now, mut arrived, mut dropped, mut left) = (0.0, 0, 0, 0);
            for k in 0..600_u64 {
                now += random.uniform() * 2e-3;
                while let Some(due) = queue.next_timer().filter(|due| due.seconds() <= now) {
                    queue.on_timer(due);
                }
                let size = 40 + (random.uniform() * 1400.0) as u32;
                let packet = Packet { ecn: crate::Ecn::Ect0, class: (k % 2) as u8, ..Packet::new(k % 5, size) };
                arrived += 1;
                queue.enqueue(packet, Time::from_seconds(now), &mut |_, _| dropped += 1);
                while queue.dequeue(Time::from_seconds(now), &mut |_, _| dropped += 1).is_some() {
                    left += 1;
                }
                assert_eq!(arrived, left + dropped + queue.packets(), "{}", spec.name);
                let counters = *queue.counters();
                assert_eq!((counters.departures, counters.drops(), counters.arrivals), (left, dropped, arrived));
            }
            assert!(left > 200, "{} {queues}: {left}", spec.name);
        }
    }
}

/// A child that clears the class does not change its packets' station.
#[test]
fn a_washing_child_keeps_its_station() {
    let values =
        Values::of(&[("stations", Value::Whole(2)), ("rate_0", Value::Real(8e6)), ("rate_1", Value::Real(1e6))]);
    let child = |_| {
        let washing = (catalogue::find("cake").unwrap().build)(
            Values::new().set("wash", Value::Flag(true)),
            &LINK,
            Limit::Packets(100),
        );
        washing.unwrap().queue(Limit::Packets(100), true, Generator::stream(1, "queue"))
    };
    let mut queue = Wifi::new(&values, &LINK, (0..2).map(child).collect());
    assert!(queue.washes(1) && arrive(&mut queue, 1, 1000, 0.0));
    leaves(&mut queue, 0.0, 1.0);
    let mut stations = [(0.0, 0.0); 2];
    queue.parent(&mut |station, name, value| match (station, name) {
        (Some(station), "airtime_ms") => stations[station].0 = value,
        (Some(station), "sent_packets") => stations[station].1 = value,
        _ => {}
    });
    assert!(stations[0] == (0.0, 0.0) && stations[1].0 >= 8.0 && stations[1].1 == 1.0, "{stations:?}");
}
