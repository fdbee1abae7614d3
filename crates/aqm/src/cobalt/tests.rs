//! COBALT packet by packet: each rule of both dialects at its boundary.

use super::*;
use crate::catalogue::Link;
use crate::params::{Value, Values};
use crate::random::Generator;
use crate::Time;

const FAST: Link = Link { rate_bps: 1e9, delay_s: 0.0 };
const MS: f64 = 1e-3;

struct Bench {
    cobalt: Cobalt,
    u: f64,
    ecn: bool,
}

fn bench(given: &[(&'static str, Value)]) -> Bench {
    let values = Values::of(given);
    Bench { cobalt: Cobalt::new(Settings::read(&values, &FAST).unwrap()), u: 0.999, ecn: false }
}

impl Bench {
    fn with<T>(&mut self, ms: f64, act: impl FnOnce(&mut Cobalt, &mut Context<'_>) -> T) -> T {
        let u = self.u;
        let now = Time::from_seconds(1.0 + ms * MS);
        let mut random = Generator::custom(move || u);
        let mut cx = Context { now, ecn: self.ecn, has_room: true, random: &mut random, victims: &mut Vec::new() };
        act(&mut self.cobalt, &mut cx)
    }

    fn leave(&mut self, ms: f64, sojourn: f64, packets: u64, ecn: Ecn) -> Verdict {
        let queue = QueueView { packets, bytes: 1500 * packets, idle_since: None, contents: None };
        self.with(ms, |cobalt, cx| {
            let enqueued = Time::from_seconds(cx.now.seconds() - sojourn * MS);
            cobalt.on_dequeue(Some(&Packet { enqueued, ecn, ..Packet::new(1, 1500) }), &queue, cx)
        })
    }

    /// Whether a packet that departs from a long queue is hit.
    fn hit(&mut self, ms: f64, sojourn: f64) -> bool {
        self.leave(ms, sojourn, 100, Ecn::NotEct) != Verdict::Pass
    }

    fn full(&mut self, ms: f64) {
        let queue = QueueView { packets: 100, bytes: 150_000, idle_since: None, contents: None };
        self.with(ms, |cobalt, cx| cobalt.on_overflow(Verdict::Pass, &Packet::new(1, 1500), &queue, cx));
    }

    fn empty(&mut self, ms: f64) {
        let queue = QueueView { packets: 0, bytes: 0, idle_since: None, contents: None };
        self.with(ms, |cobalt, cx| cobalt.on_dequeue(None, &queue, cx));
    }
}

fn dialect(word: &'static str) -> (&'static str, Value) {
    ("dialect", Value::Choice(word))
}

#[test]
fn signals_come_after_an_interval_over_the_root_of_the_count() {
    for word in ["linux", "ns3"] {
        let mut bench = bench(&[dialect(word)]);
        bench.hit(-1.0, 1.0);
        let mut signals = Vec::new();
        let mut counts = Vec::new();
        // Each millisecond is a little too long, so that rounding decides nothing.
        for ms in 0..=1500 {
            let sojourn = if ms <= 600 { 20.0 } else { 1.0 };
            if bench.hit(f64::from(ms) * 1.000_001, sojourn) {
                signals.push((ms, bench.cobalt.count));
            }
            if [700, 800, 1000, 1500].contains(&ms) {
                counts.push(bench.cobalt.count);
            }
        }
        let want = [100, 171, 229, 279, 324, 364, 402, 438, 471, 503, 533, 562, 589];
        assert_eq!(signals, want.iter().copied().zip(2..).collect::<Vec<_>>(), "{word}");
        assert_eq!(counts, [11, 8, 3, 0], "{word}: it fades");
    }
}

#[test]
fn with_linux_r0_a_fresh_queue_signals_its_second_late_packet() {
    let mut bench = bench(&[("linux_r0", Value::Flag(true))]);
    bench.hit(-1.0, 1.0);
    let signals: Vec<i32> = (0..=340).filter(|&ms| bench.hit(f64::from(ms) * 1.000_001, 20.0)).collect();
    assert_eq!(signals, [1, 71, 129, 179, 224, 264, 302, 338]);
}

#[test]
fn blue_moves_once_per_target() {
    let mut bench = bench(&[]);
    (0..=100).for_each(|ms| bench.full(f64::from(ms)));
    assert_eq!(bench.cobalt.p_blue, 17.0 / 256.0);
    // BLUE last moved at 96 ms.
    bench.empty(100.5);
    assert_eq!(bench.cobalt.p_blue, 17.0 / 256.0);
    bench.empty(101.5);
    assert_eq!(bench.cobalt.p_blue, 17.0 / 256.0 - 1.0 / 4096.0);
    assert!(!bench.cobalt.dropping);
}

#[test]
fn after_an_overflow_the_next_late_packet_is_due_at_once() {
    let mut bench = bench(&[]);
    bench.hit(-1.0, 1.0);
    assert!(!bench.hit(0.0, 20.0), "due at 100 ms");
    bench.full(10.0);
    assert!(bench.hit(10.0, 20.0), "due at 10 ms exactly");
    assert!(!bench.hit(11.0, 20.0));
}

#[test]
fn a_signal_long_overdue_does_not_bring_others() {
    let mut bench = bench(&[]);
    bench.ecn = true;
    bench.hit(-1.0, 1.0);
    let marks = [0.0, 400.0, 401.0, 402.0, 403.0].map(|ms| bench.leave(ms, 20.0, 100, Ecn::Ect0) != Verdict::Pass);
    // Due at 100 ms, then at 170.7 ms, which has passed: so now, at 400 ms. The next comes 57.7 ms after 400 ms.
    assert_eq!(marks, [false, true, true, false, false]);
}

#[test]
fn an_empty_queue_takes_one_from_the_count_when_due() {
    let mut bench = bench(&[]);
    bench.hit(-1.0, 1.0);
    bench.hit(0.0, 20.0);
    bench.empty(50.0);
    assert_eq!((bench.cobalt.count, bench.cobalt.dropping), (1, false));
    bench.empty(150.0);
    assert_eq!(bench.cobalt.count, 0);
}

#[test]
fn the_roots_are_good_to_three_places() {
    for count in 1..16_u32 {
        let root = f64::from(TABLE[count as usize]) / 4_294_967_296.0;
        assert!((root - 1.0 / f64::from(count).sqrt()).abs() < 5e-4, "{count}: {root}");
    }
    let mut root = TABLE[15];
    for count in 16..2000 {
        root = newton_step(root, count);
        let found = f64::from(root) / 4_294_967_296.0 * f64::from(count).sqrt();
        assert!((found - 1.0).abs() < 2e-3, "{count}: {found}");
    }
}

#[test]
fn at_target_exactly_a_packet_is_not_late() {
    // Powers of two are not rounded.
    let mut bench = bench(&[("target", Value::Real(0.0078125))]);
    bench.hit(0.0, 7.8125);
    assert!(!bench.cobalt.dropping);
    bench.hit(0.0, 7.9);
    assert!(bench.cobalt.dropping);
}

#[test]
fn linux_counts_in_packets_of_the_link_too() {
    let slow = Link { rate_bps: 1514.0 * 8.0 * 100.0, delay_s: 0.0 };
    let set = Settings::read(&Values::new(), &slow).unwrap();
    // A packet takes 10 ms: target 15 ms, interval 110 ms, late above 40 ms.
    assert!((set.target - 0.015).abs() < 1e-12 && (set.interval - 0.11).abs() < 1e-12);
    assert!((set.floor - 0.04).abs() < 1e-12);
    let set = Settings::read(Values::new().set("dialect", Value::Choice("ns3")), &slow).unwrap();
    assert_eq!((set.target, set.interval, set.floor), (0.005, 0.1, 0.0));
}

#[test]
fn a_signal_is_a_mark_where_it_can_be_and_blue_never_is() {
    for (p_blue, want) in [(0.0, Verdict::Signal(Reason::Forced)), (0.5, Verdict::Drop(Reason::Forced))] {
        let mut bench = bench(&[]);
        bench.ecn = true;
        bench.leave(0.0, 1.0, 100, Ecn::Ect0);
        bench.leave(1.0, 20.0, 100, Ecn::Ect0);
        (bench.cobalt.p_blue, bench.u) = (p_blue, 0.1);
        assert_eq!(bench.leave(102.0, 20.0, 100, Ecn::Ect0), want);
        // No signal is due: only BLUE can drop, by chance.
        let alone = if p_blue > 0.0 { Verdict::Drop(Reason::Early) } else { Verdict::Pass };
        assert_eq!(bench.leave(103.0, 20.0, 100, Ecn::Ect0), alone);
    }
}

#[test]
fn linux_spares_the_last_packet() {
    for (word, want) in [("linux", Verdict::Pass), ("ns3", Verdict::Drop(Reason::Early))] {
        let mut bench = bench(&[dialect(word)]);
        (bench.cobalt.p_blue, bench.u) = (0.5, 0.1);
        assert_eq!(bench.leave(0.0, 1.0, 0, Ecn::NotEct), want, "{word}");
        assert_eq!(bench.leave(0.0, 1.0, 1, Ecn::NotEct), Verdict::Drop(Reason::Early), "{word}");
    }
}

#[test]
fn in_ns3_a_long_wait_raises_blue() {
    let mut bench = bench(&[dialect("ns3")]);
    bench.hit(0.0, 400.5);
    assert_eq!(bench.cobalt.p_blue, 1.0 / 256.0);
    bench.hit(4.0, 400.5);
    assert_eq!(bench.cobalt.p_blue, 1.0 / 256.0, "once per target");
    bench.hit(6.0, 399.5);
    assert_eq!(bench.cobalt.p_blue, 1.0 / 256.0);
    bench.hit(7.0, 400.5);
    assert_eq!(bench.cobalt.p_blue, 2.0 / 256.0);
}

#[test]
fn a_full_queue_loses_its_head_in_linux_and_the_arrival_in_ns3() {
    use crate::{discipline::Fifo, gate::Gate, policy::Limit, Discipline};
    for (word, dead) in [("linux", 0), ("ns3", 3)] {
        let values = Values::of(&[("dialect", Value::Choice(word))]);
        let cobalt = Cobalt::new(Settings::read(&values, &FAST).unwrap());
        let random = Generator::stream(1, "none");
        let mut queue = Fifo::new(Gate::new(Box::new(cobalt), Limit::Packets(3), false, random));
        let mut died = Vec::new();
        for tag in 0..4 {
            let packet = Packet { tag, ..Packet::new(1, 1500) };
            queue.enqueue(packet, Time::ZERO, &mut |p, reason| died.push((p.tag, reason)));
        }
        assert_eq!(died, [(dead, Reason::Overflow)], "{word}");
    }
}

#[test]
fn thresholds_mark_without_the_state() {
    let ce = ("ce_threshold", Value::Real(0.001));
    let mut plain = bench(&[dialect("ns3"), ce]);
    assert_eq!(plain.leave(0.0, 1.5, 100, Ecn::Ect0), Verdict::Mark);
    let mut l4s = bench(&[dialect("ns3"), ce, ("l4s", Value::Flag(true))]);
    assert_eq!(l4s.leave(0.0, 1.5, 100, Ecn::Ect0), Verdict::Pass);
    assert_eq!(l4s.leave(0.0, 20.0, 100, Ecn::Ect1), Verdict::Mark);
    assert!(!l4s.cobalt.dropping);
}
