//! Boundary tests of CAKE.

use crate::header::TcpHeader;
use crate::prelude::*;
use crate::Header;

const LINK: Link = Link { rate_bps: 1e9, delay_s: 0.0 };

fn build(given: &[(&'static str, Value)], limit: Limit) -> Box<dyn Discipline> {
    let values = Values::of(given);
    let spec = catalogue::find("cake").expect("in the catalogue");
    let built = (spec.build)(&values, &LINK, limit).expect("built");
    built.queue(limit, true, Generator::stream(1, "queue"))
}

fn word(name: &'static str, word: &'static str) -> (&'static str, Value) {
    (name, Value::Choice(word))
}

const UNBOUNDED: Limit = Limit::Packets(10_240);

fn at(seconds: f64) -> Time {
    Time::from_seconds(seconds)
}

fn arrive(queue: &mut dyn Discipline, flow: u64, header: Header, size: u32, now: f64) {
    queue.enqueue_with(Packet::new(flow, size), &header, at(now), &mut |_, _| {});
}

fn hosts(source: u64, destination: u64) -> Header {
    Header { source, destination, ..Header::default() }
}

/// Bytes of each flow among the next `packets` departures.
fn shares(queue: &mut dyn Discipline, packets: usize) -> Vec<f64> {
    let mut bytes = vec![0.0; 64];
    for _ in 0..packets {
        let packet = queue.dequeue(at(0.0), &mut |_, _| {}).expect("a packet");
        bytes[packet.flow as usize] += f64::from(packet.size);
    }
    bytes
}

/// Serves the queue through its shaper until `end`, on a link without a rate: the times and packets that left.
fn serve(queue: &mut dyn Discipline, end: f64) -> Vec<(f64, Packet)> {
    let (mut now, mut seen) = (0.0, Vec::new());
    while now < end {
        match queue.dequeue(at(now), &mut |_, _| {}) {
            Some(packet) => seen.push((now, packet)),
            None => match queue.held_until() {
                Some(until) => {
                    assert!(until.seconds() > now, "a shaper that stands still");
                    now = until.seconds();
                }
                None => break,
            },
        }
    }
    seen
}

fn statistic(queue: &dyn Discipline, group: usize, name: &str) -> f64 {
    let mut found = f64::NAN;
    queue.groups(&mut |at, key, value| {
        if at == group && key == name {
            found = value;
        }
    });
    found
}

#[test]
fn the_shaper_spaces_packets_by_what_they_take_on_the_link() {
    // 1000 B at 8 Mbit/s: with 38 B of overhead; in 22 cells; with 17 B of PTM; as 1500 B; 38 B for Ethernet's 14.
    let rate = ("bandwidth", Value::Real(8e6));
    let overhead = ("overhead", Value::Real(38.0));
    for (given, bytes) in [
        (vec![rate], 1000),
        (vec![rate, overhead], 1038),
        (vec![rate, overhead, word("framing", "atm")], 22 * 53),
        (vec![rate, overhead, word("framing", "ptm")], 1038 + 17),
        (vec![rate, overhead, ("mpu", Value::Real(256.0))], 1038),
        (vec![rate, ("network_offset", Value::Real(14.0))], 1000),
        (vec![rate, overhead, ("network_offset", Value::Real(14.0))], 1024),
    ] {
        let mut queue = build(&given, UNBOUNDED);
        (0..10).for_each(|_| arrive(&mut *queue, 1, Header::default(), 1000, 0.0));
        for (i, (now, _)) in serve(&mut *queue, 1.0).into_iter().enumerate() {
            // Linux counts a byte as 999.99... ns: the shift loses less than a nanosecond a packet.
            assert_eq!((now * 1e9).round(), (i * bytes * 1000) as f64, "{given:?}");
        }
    }
    let mut queue = build(&[rate, ("mpu", Value::Real(64.0))], UNBOUNDED);
    (0..3).for_each(|_| arrive(&mut *queue, 1, Header::default(), 40, 0.0));
    let times: Vec<f64> = serve(&mut *queue, 1.0).iter().map(|&(now, _)| now).collect();
    assert_eq!(times, [0.0, 64e-6, 128e-6]);
}

#[test]
fn an_idle_shaper_saves_nothing_up() {
    let mut queue = build(&[("bandwidth", Value::Real(8e6))], UNBOUNDED);
    arrive(&mut *queue, 1, Header::default(), 1000, 0.0);
    assert!(queue.dequeue(at(0.0), &mut |_, _| {}).is_some());
    assert!(queue.dequeue(at(0.0), &mut |_, _| {}).is_none() && queue.held_until().is_none(), "nothing waits");
    // One arrival before the last packet is through, one long after.
    arrive(&mut *queue, 1, Header::default(), 1000, 0.5e-3);
    assert!(queue.dequeue(at(0.5e-3), &mut |_, _| {}).is_none());
    assert_eq!(queue.held_until(), Some(at(1e-3)));
    assert!(queue.dequeue(at(1e-3), &mut |_, _| {}).is_some());
    (0..2).for_each(|_| arrive(&mut *queue, 1, Header::default(), 1000, 5.0));
    assert!(queue.dequeue(at(5.0), &mut |_, _| {}).is_some());
    assert!(queue.dequeue(at(5.0), &mut |_, _| {}).is_none());
    assert_eq!(queue.held_until(), Some(at(5.001)));
}

#[test]
fn thresholds_and_targets_are_linuxs() {
    let queue = build(&[("bandwidth", Value::Real(10e6)), word("diffserv", "diffserv4")], UNBOUNDED);
    // Target and interval as `tc -s qdisc` prints them at 10 Mbit/s, for bulk, best effort, video and voice.
    for (group, (rate, target_us, interval_us)) in
        [(625e3, 29_068.0, 124_068.0), (10e6, 5000.0, 100_000.0), (5e6, 5000.0, 100_000.0), (2.5e6, 7267.0, 102_267.0)]
            .into_iter()
            .enumerate()
    {
        assert_eq!(statistic(&*queue, group, "threshold_bps"), rate);
        assert_eq!((statistic(&*queue, group, "target_s") * 1e6).floor(), target_us);
        assert_eq!((statistic(&*queue, group, "interval_s") * 1e6).floor(), interval_us);
    }
    let queue = build(&[("bandwidth", Value::Real(1e6)), word("diffserv", "besteffort")], UNBOUNDED);
    assert_eq!(statistic(&*queue, 0, "flow_quantum_bytes"), 300.0);
}

#[test]
fn a_tin_has_priority_up_to_its_threshold() {
    // Voice goes before best effort up to a quarter of 10 Mbit/s; above, the two share by their thresholds.
    let mut queue = build(&[("bandwidth", Value::Real(10e6))], UNBOUNDED);
    for _ in 0..2000 {
        arrive(&mut *queue, 1, Header { dscp: 46, ..Header::default() }, 1000, 0.0);
        arrive(&mut *queue, 2, Header::default(), 1000, 0.0);
        arrive(&mut *queue, 3, Header { dscp: 8, ..Header::default() }, 1000, 0.0);
    }
    // Short enough that COBALT empties no queue.
    let seen = serve(&mut *queue, 0.4);
    let share = |flow| seen.iter().filter(|(_, packet)| packet.flow == flow).count() as f64 / seen.len() as f64;
    let (voice, best, bulk) = (share(1), share(2), share(3));
    assert!((voice - 0.25).abs() < 0.01 && (bulk - 0.0625).abs() < 0.01, "{voice} {best} {bulk}");
    assert_eq!(seen.len(), 500);
}

#[test]
fn hosts_share_fairly_when_they_are_told_to() {
    // Source 1 has six flows to six destinations, source 2 two flows to one more.
    for (mode, of_source_1, of_flow_6) in [
        ("flows", 0.75, 0.125),
        ("dual-srchost", 0.5, 0.25),
        ("srchost", 0.5, 0.25),
        ("dsthost", 0.8571, 0.0714),
        ("hosts", 0.8571, 0.0714),
        ("flowblind", 0.75, 0.125),
    ] {
        let mut queue = build(&[word("flow_mode", mode)], UNBOUNDED);
        for _ in 0..1000 {
            (0..6).for_each(|flow| arrive(&mut *queue, flow, hosts(1, 10 + flow), 1000, 0.0));
            (6..8).for_each(|flow| arrive(&mut *queue, flow, hosts(2, 20), 1000, 0.0));
        }
        let bytes = shares(&mut *queue, 1600);
        let total: f64 = bytes.iter().sum();
        let one = bytes[..6].iter().sum::<f64>() / total;
        assert!((one - of_source_1).abs() < 0.02, "{mode}: {one}");
        assert!((bytes[6] / total - of_flow_6).abs() < 0.02, "{mode}: {}", bytes[6] / total);
    }
}

#[test]
fn destinations_share_fairly_and_triple_isolation_does_both() {
    for (mode, of_destination_1) in
        [("flows", 0.75), ("dual-dsthost", 0.5), ("dual-srchost", 0.75), ("triple-isolate", 0.5)]
    {
        let mut queue = build(&[word("flow_mode", mode)], UNBOUNDED);
        for _ in 0..1000 {
            (0..6).for_each(|flow| arrive(&mut *queue, flow, hosts(30 + flow, 1), 1000, 0.0));
            (6..8).for_each(|flow| arrive(&mut *queue, flow, hosts(30 + flow, 2), 1000, 0.0));
        }
        let bytes = shares(&mut *queue, 1600);
        let one = bytes[..6].iter().sum::<f64>() / bytes.iter().sum::<f64>();
        assert!((one - of_destination_1).abs() < 0.02, "{mode}: {one}");
    }
}

#[test]
fn a_sparse_flow_goes_first_and_the_last_packet_is_never_dropped() {
    let mut queue = build(&[word("diffserv", "besteffort")], UNBOUNDED);
    for _ in 0..100 {
        arrive(&mut *queue, 1, Header::default(), 1500, 0.0);
    }
    assert!((0..5).all(|_| queue.dequeue(at(0.0), &mut |_, _| {}).is_some_and(|packet| packet.flow == 1)));
    arrive(&mut *queue, 2, Header::default(), 100, 0.0);
    assert_eq!(queue.dequeue(at(0.0), &mut |_, _| {}).map(|packet| packet.flow), Some(2));
    // All packets are late: drops and departures drain the queue, and its last packet departs.
    let (mut now, mut dropped, mut left) = (1.0, 0, 0);
    while queue.packets() > 0 {
        left += u32::from(
            queue
                .dequeue(at(now), &mut |_, reason| {
                    assert_eq!(reason, Reason::Forced);
                    dropped += 1;
                })
                .is_some(),
        );
        now += 0.2;
    }
    assert!(dropped > 10 && left >= 5 && dropped + left == 95, "{dropped} and {left}");
}

#[test]
fn marks_where_it_can() {
    let mut queue = build(&[], UNBOUNDED);
    for _ in 0..200 {
        let packet = Packet { ecn: Ecn::Ect0, ..Packet::new(1, 1500) };
        queue.enqueue(packet, at(0.0), &mut |_, _| {});
    }
    for i in 0..200 {
        queue.dequeue(at(1.0 + 0.01 * f64::from(i)), &mut |_, _| panic!("nothing is dropped"));
    }
    assert_eq!(queue.counters().marks as f64, statistic(&*queue, 1, "marks"));
    assert!(queue.counters().marks > 50);
}

#[test]
fn the_longest_queue_loses_its_head_beyond_the_memory() {
    // 2304 B of memory for each packet of 1500 B.
    let mut queue = build(&[], Limit::Bytes(10 * 2304));
    for _ in 0..7 {
        arrive(&mut *queue, 1, hosts(1, 1), 1500, 0.0);
    }
    for _ in 0..3 {
        arrive(&mut *queue, 2, hosts(1, 1), 1500, 0.0);
    }
    assert_eq!(queue.packets(), 10);
    let mut died = Vec::new();
    queue.enqueue(Packet::new(3, 100), at(0.0), &mut |packet, reason| died.push((packet.flow, reason)));
    assert_eq!(died, [(1, Reason::Overflow)]);
    // A limit in packets holds both the packets and their memory.
    let mut queue = build(&[("memory", Value::Choice("wire"))], Limit::Packets(4));
    for tag in 0..6 {
        arrive(&mut *queue, tag, hosts(1, 1), 100, 0.0);
    }
    assert_eq!(queue.packets(), 4);
}

fn ack(number: u32) -> Header {
    let tcp = TcpHeader { plain_ack: true, acknowledges: true, ack: number, ..TcpHeader::default() };
    Header { tcp: Some(tcp), ..Header::default() }
}

/// The ACK numbers that leave after these headers have arrived.
fn filtered(strength: &'static str, headers: &[Header]) -> Vec<u32> {
    let mut queue = build(&[word("ack_filter", strength)], UNBOUNDED);
    for (tag, header) in headers.iter().enumerate() {
        let packet = Packet { tag: tag as u32, ..Packet::new(1, 52) };
        queue.enqueue_with(packet, header, at(0.0), &mut |_, reason| assert_eq!(reason, Reason::Forced));
    }
    let leave = std::iter::from_fn(|| queue.dequeue(at(0.0), &mut |_, _| {}));
    leave.map(|packet| packet.tag).collect()
}

#[test]
fn the_ack_filter_keeps_two_or_one() {
    let plain: Vec<Header> = (1..=5).map(|i| ack(i * 1000)).collect();
    assert_eq!(filtered("off", &plain), [0, 1, 2, 3, 4]);
    assert_eq!(filtered("on", &plain), [3, 4]);
    assert_eq!(filtered("aggressive", &plain), [4]);
}

#[test]
fn the_ack_filter_keeps_what_says_something() {
    let with = |change: fn(&mut TcpHeader)| {
        let mut header = ack(1000);
        change(header.tcp.as_mut().expect("TCP"));
        header
    };
    // The first ACK of three stays: a duplicate, data, SYN or FIN, an unknown option, a newer time stamp or number.
    let later = || [ack(1000), ack(1000)];
    let [a, b] = later();
    assert_eq!(filtered("aggressive", &[ack(1000), a, b]), [0, 1, 2], "duplicate ACKs");
    for (what, first) in [
        ("data", with(|tcp| tcp.data = true)),
        ("flags", with(|tcp| tcp.plain_ack = false)),
        ("options", with(|tcp| tcp.other_options = true)),
        ("stamps", with(|tcp| tcp.stamps = Some((0, 1)))),
        ("number", with(|tcp| tcp.ack = 4000)),
        ("SACK", with(|tcp| (tcp.blocks[0], tcp.block_count) = ((5000, 6000), 1))),
    ] {
        assert_eq!(filtered("aggressive", &[first, ack(3000)]), [0, 1], "{what}");
    }
    // An ACK that SACKs more replaces one of the same number that SACKs less.
    let sack = |end: u32| {
        let mut header = ack(1000);
        let tcp = header.tcp.as_mut().expect("TCP");
        (tcp.blocks[0], tcp.block_count) = ((5000, end), 1);
        header
    };
    assert_eq!(filtered("aggressive", &[sack(6000), sack(7000)]), [1]);
    assert_eq!(filtered("aggressive", &[sack(7000), sack(6000)]), [0, 1]);
    // A DSACK stays.
    assert_eq!(
        filtered("aggressive", &[with(|tcp| (tcp.blocks[0], tcp.block_count) = ((1, 900), 1)), ack(3000)]),
        [0, 1]
    );
    // An ACK with ECE stays if the next has none.
    let ece = with(|tcp| tcp.ecn_flags = 1);
    assert_eq!(filtered("aggressive", &[ece, ack(2000)]), [0, 1]);
    assert_eq!(filtered("on", &[ece, ack(2000), ack(3000)]), [0, 1, 2]);
    assert_eq!(filtered("on", &[ece, ack(2000), ack(3000), ack(4000)]), [0, 2, 3]);
    // ACK numbers wrap around.
    assert_eq!(filtered("aggressive", &[ack(u32::MAX - 10), ack(5)]), [1]);
}

#[test]
fn ingress_counts_what_it_drops() {
    let gone = |ingress| {
        let given =
            [("bandwidth", Value::Real(8e6)), ("ingress", Value::Flag(ingress)), word("diffserv", "besteffort")];
        let mut queue = build(&given, UNBOUNDED);
        (0..2000).for_each(|_| arrive(&mut *queue, 1, Header::default(), 1000, 0.0));
        let left = serve(&mut *queue, 1.0).len() as u64;
        (left, queue.counters().drops())
    };
    let ((left, drops), (with_drops, counted)) = (gone(false), gone(true));
    assert_eq!(left, 1000);
    assert!(drops > 10 && counted > 10 && with_drops + counted <= 1001 && with_drops < left, "{with_drops}, {counted}");
}

#[test]
fn the_rate_follows_arrivals() {
    let mut queue = build(&[("bandwidth", Value::Real(2e6)), ("autorate_ingress", Value::Flag(true))], UNBOUNDED);
    // 8 Mbit/s, in pairs of packets: windows of the estimate end at the longer gaps.
    for i in 0..20_000_u32 {
        let now = 1.0 + f64::from(i / 2) * 2e-3 + f64::from(i % 2) * 0.5e-3;
        arrive(&mut *queue, 1, Header::default(), 1000, now);
        queue.dequeue(at(now), &mut |_, _| {});
    }
    let rate = statistic(&*queue, 1, "threshold_bps");
    assert!((rate / (8e6 * 15.0 / 16.0) - 1.0).abs() < 0.02, "{rate}");
}

#[test]
fn code_points_have_statistics_of_their_own() {
    let mut queue = build(&[word("diffserv", "diffserv4"), ("wash", Value::Flag(true))], UNBOUNDED);
    let packet = Packet { class: 5, ..Packet::new(1, 700) };
    queue.enqueue_with(packet, &Header { dscp: 46, ..Header::default() }, at(0.0), &mut |_, _| {});
    // A packet without a header gets the class selector of its class: CS5 is voice too.
    queue.enqueue(packet, at(0.0), &mut |_, _| {});
    assert_eq!(statistic(&*queue, 3, "packets"), 2.0);
    assert_eq!(statistic(&*queue, 3, "largest_packet_bytes"), 700.0);
    assert_eq!(queue.dequeue(at(0.0), &mut |_, _| {}).map(|packet| packet.class), Some(0), "washed");
    assert!(queue.washes(5) && !build(&[], UNBOUNDED).washes(5));
}
