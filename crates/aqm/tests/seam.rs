//! Whether the traits carry the disciplines to come: sketches of CHOKe, DDRED, REM and an SFRED-like variant of RED,
//! each as short as it can be, run through the crate's own FIFO. `docs/decisions/0001-traits-of-the-queue-floor.md`
//! refers to them.
//!
//! They are not the catalogue's disciplines, which need parameters, dialects and documentation; they show which hook
//! each one stands on.

mod common;

use common::OpenLoop;
use earlydrop_aqm::early_detection::average::Average;
use earlydrop_aqm::early_detection::{Settings, Spacing};
use earlydrop_aqm::params::Param;
use earlydrop_aqm::parts::curve::{Curve, Linear};
use earlydrop_aqm::parts::pick;
use earlydrop_aqm::policy::{Context, Needs, Policy, QueueView, Room, Verdict};
use earlydrop_aqm::prelude::*;

const LINK: Link = Link { rate_bps: 10e6, delay_s: 0.02 };

fn fifo(policy: impl Policy + 'static, limit: u64, ecn: bool) -> Fifo {
    Fifo::new(Gate::new(Box::new(policy), Limit::Packets(limit), ecn, Generator::stream(1, "seam")))
}

fn at(seconds: f64) -> Time {
    Time::from_seconds(seconds)
}

fn conserved(queue: &dyn Discipline) {
    let seen = queue.counters();
    assert_eq!(seen.arrivals, seen.departures + seen.drops() + queue.packets());
}

/// CHOKe: a random queued packet of the same flow dies with the arrival.
struct Choke {
    average: Average,
    spacing: Spacing,
    set: Settings,
    curve: Linear,
}

fn settings(pairs: &[(&'static str, Value)]) -> Settings {
    let values = Values::of(pairs);
    let declared: Vec<Param> = catalogue::find("red").unwrap().all_params().copied().collect();
    Settings::read(&values, &declared, &LINK).unwrap()
}

impl Policy for Choke {
    fn needs(&self) -> Needs {
        Needs { dequeue: false, contents: true }
    }

    fn on_enqueue(&mut self, packet: &Packet, queue: &QueueView<'_>, cx: &mut Context<'_>) -> Verdict {
        let average = self.average.observe(self.set.length(queue), queue.idle_since, cx.now);
        if average > self.set.min_th {
            let match_ = queue
                .contents
                .and_then(|ring| pick::any(ring, cx.random).filter(|(_, drawn)| drawn.flow == packet.flow));
            if let Some((serial, _)) = match_ {
                cx.victims.push(serial);
                return Verdict::Victims { reason: Reason::Forced, with_arrival: true, signal: false };
            }
        }
        self.spacing.decide(&self.curve, average, packet.size, self.set.length(queue), cx.random)
    }
}

#[test]
fn choke_drops_pairs_of_the_flow_that_fills_the_queue() {
    let set = settings(&[("min_th", Value::Real(10.0)), ("max_th", Value::Real(40.0)), ("w_q", Value::Real(0.02))]);
    let curve = Linear::new(set.min_th, set.max_th, set.max_p, false);
    let choke = Choke { average: set.average(), spacing: Spacing::new(&set), set, curve };
    let mut bench = OpenLoop::new(Box::new(fifo(choke, 100, false)), LINK.rate_bps);
    // Flow 0 sends nine packets of ten, together twice what the link takes.
    for i in 0..20_000_u64 {
        let flow = u64::from(i % 10 == 0);
        bench.arrive(Packet { tag: i as u32, ..Packet::new(flow, 1000) }, i as f64 * 0.4e-3);
    }
    conserved(&*bench.queue);
    let share = |flow| bench.dropped.iter().filter(|(p, _)| p.flow == flow).count();
    let arrived = |flow| if flow == 0 { 18_000 } else { 2_000 };
    let rate = |flow| share(flow) as f64 / f64::from(arrived(flow));
    assert!(rate(0) > 0.5 && rate(1) < 0.4, "{} and {}", rate(0), rate(1));
    let order: Vec<u32> = bench.departed.iter().map(|p| p.tag).collect();
    assert!(order.windows(2).all(|w| w[0] < w[1]), "holes do not disturb the order");
}

/// DDRED: RED decides whether, the packet that has come the shortest way dies; ties fall on the newest.
struct Ddred;

impl Policy for Ddred {
    fn needs(&self) -> Needs {
        Needs { dequeue: false, contents: true }
    }

    fn on_enqueue(&mut self, _: &Packet, _: &QueueView<'_>, _: &mut Context<'_>) -> Verdict {
        Verdict::Pass
    }

    fn on_overflow(&mut self, _: Verdict, packet: &Packet, queue: &QueueView<'_>, cx: &mut Context<'_>) -> Verdict {
        let hops = |p: &Packet| p.initial_ttl - p.ttl;
        let nearest = queue.contents.and_then(|ring| {
            let waiting = ring.iter().rev().map(|(serial, p)| (hops(p), serial));
            waiting.min_by_key(|&(hops, serial)| (hops, std::cmp::Reverse(serial)))
        });
        match nearest {
            Some((distance, serial)) if distance < hops(packet) => {
                cx.victims.push(serial);
                Verdict::Victims { reason: Reason::Overflow, with_arrival: false, signal: false }
            }
            _ => Verdict::Drop(Reason::Overflow),
        }
    }
}

#[test]
fn ddred_drops_the_nearest_source() {
    let mut queue = fifo(Ddred, 5, false);
    let mut died = Vec::new();
    for (tag, hops) in [7, 3, 9, 3, 8, 5, 2, 4, 6].into_iter().enumerate() {
        let packet = Packet { initial_ttl: 32, ttl: 32 - hops, tag: tag as u32, ..Packet::new(1, 1000) };
        queue.enqueue(packet, at(0.0), &mut |p, _| died.push(p.tag));
    }
    // 5 hops push out the newer of the two with 3; 2 hops die themselves; 4 push out the other 3; 6 push out the 4.
    assert_eq!(died, [3, 6, 1, 7]);
    conserved(&queue);
}

/// REM in ns-2's mark mode: the price moves on a timer, marks are set at dequeue, and what is not ECT passes.
struct Rem {
    arrived: f64,
    price: f64,
    next: Time,
}

impl Policy for Rem {
    fn needs(&self) -> Needs {
        Needs { dequeue: true, contents: false }
    }

    /// ns-2 tests after adding, so a limit of N holds N - 1.
    fn room(&self, limit: Limit) -> Room {
        match limit {
            Limit::Packets(n) => Room::PacketsBelow(n - 1),
            Limit::Bytes(n) => Room::BytesWithArrivalBelow(n),
        }
    }

    fn on_enqueue(&mut self, _: &Packet, _: &QueueView<'_>, _: &mut Context<'_>) -> Verdict {
        self.arrived += 1.0;
        Verdict::Pass
    }

    fn on_dequeue(&mut self, _: Option<&Packet>, _: &QueueView<'_>, cx: &mut Context<'_>) -> Verdict {
        // One number a request, also when nothing waits.
        let hit = cx.random.uniform() <= 1.0 - (-self.price * 1.001_f64.ln()).exp();
        if hit {
            Verdict::Mark
        } else {
            Verdict::Pass
        }
    }

    fn next_timer(&self) -> Option<Time> {
        Some(self.next)
    }

    fn on_timer(&mut self, queue: &QueueView<'_>, _: &mut Context<'_>) {
        let capacity = 0.002 * 1250.0;
        self.price = (self.price + 0.001 * (self.arrived + 0.1 * (queue.packets as f64 - 20.0) - capacity)).max(0.0);
        self.arrived = 0.0;
        self.next = self.next + 0.002;
    }

    fn gauges(&self, out: &mut dyn FnMut(&'static str, f64)) {
        out("price", self.price);
    }
}

#[test]
fn rem_marks_at_dequeue_and_lets_the_rest_pass() {
    let mut queue = fifo(Rem { arrived: 0.0, price: 500.0, next: at(0.002) }, 50, true);
    let mut marked = 0;
    for i in 0..1000_u64 {
        let ecn = if i % 2 == 0 { Ecn::Ect0 } else { Ecn::NotEct };
        let now = at(i as f64 * 0.8e-3);
        while queue.next_timer().is_some_and(|due| due <= now) {
            queue.on_timer(now);
        }
        queue.enqueue(Packet { ecn, ..Packet::new(1, 1000) }, now, &mut |_, _| panic!("nothing is dropped"));
        let packet = queue.dequeue(now, &mut |_, _| panic!("nothing is dropped")).expect("a packet");
        assert!(ecn == Ecn::Ect0 || packet.ecn == Ecn::NotEct);
        marked += u64::from(packet.ecn == Ecn::Ce);
    }
    assert_eq!(queue.counters().marks, marked);
    // 1 - 1.001^-500 = 0.39 of 500, falling slowly with the price.
    assert!((100..250).contains(&marked), "{marked}");
    // A limit of N holds N - 1, and an arrival for each packet the link could send, one above the reference, adds 1e-4.
    let mut full = fifo(Rem { arrived: 0.0, price: 0.0, next: at(0.002) }, 50, true);
    let held = (0..60).filter(|_| full.enqueue(Packet::new(1, 1000), at(0.0), &mut |_, _| {}).is_some()).count();
    assert_eq!(held, 49);
    let mut rem = Rem { arrived: 2.5, price: 0.0, next: at(0.002) };
    let (mut random, mut victims) = (Generator::stream(1, "rem"), Vec::new());
    let mut cx = Context { now: at(0.002), ecn: true, has_room: true, random: &mut random, victims: &mut victims };
    rem.on_timer(&QueueView { packets: 21, bytes: 21_000, idle_since: None, contents: None }, &mut cx);
    assert!((rem.price - 1e-4).abs() < 1e-15);
}

/// As SFRED and ARED need it: one average, one count, and a curve that differs from packet to packet.
struct Boosted {
    average: Average,
    spacing: Spacing,
    set: Settings,
}

impl Policy for Boosted {
    fn on_enqueue(&mut self, packet: &Packet, queue: &QueueView<'_>, cx: &mut Context<'_>) -> Verdict {
        let length = self.set.length(queue);
        let average = self.average.observe(length, queue.idle_since, cx.now);
        // Flow 0 is fast: four times the probability. Flow 2 is slow: thresholds higher by 10. Flow 3 does not respond.
        let (shift, factor) = match packet.flow {
            0 => (0.0, 4.0),
            2 => (10.0, 1.0),
            3 => return Verdict::Drop(Reason::Forced),
            _ => (0.0, 1.0),
        };
        let curve = Linear::new(self.set.min_th + shift, self.set.max_th + shift, self.set.max_p * factor, false);
        assert_eq!(curve.start(), self.set.min_th + shift);
        self.spacing.decide(&curve, average, packet.size, length, cx.random)
    }
}

#[test]
fn one_average_and_count_serve_curves_that_differ_by_flow() {
    let set = settings(&[("min_th", Value::Real(5.0)), ("max_th", Value::Real(45.0)), ("max_p", Value::Real(0.1))]);
    let boosted = Boosted { average: set.average(), spacing: Spacing::new(&set), set };
    let mut bench = OpenLoop::new(Box::new(fifo(boosted, 50, false)), LINK.rate_bps);
    for i in 0..40_000_u64 {
        bench.arrive(Packet::new(i % 4, 1000), i as f64 * 0.58e-3);
    }
    let drops = |flow| bench.dropped.iter().filter(|(p, reason)| p.flow == flow && *reason != Reason::Overflow).count();
    assert_eq!(drops(3), 10_000);
    assert!(drops(0) > 2 * drops(1) && drops(1) > 2 * drops(2), "{} {} {}", drops(0), drops(1), drops(2));
    conserved(&*bench.queue);
}

/// Signals every arrival.
struct Always;

impl Policy for Always {
    fn on_enqueue(&mut self, _: &Packet, _: &QueueView<'_>, _: &mut Context<'_>) -> Verdict {
        Verdict::Signal(Reason::Early)
    }
}

/// Without room, a signal on a packet that cannot be marked is the drop it would have been anyway; one that would only
/// have been marked is an overflow, and is not marked on its way out.
#[test]
fn signal_at_a_full_queue() {
    let mut queue = fifo(Always, 1, true);
    let ect = Packet { ecn: Ecn::Ect0, ..Packet::new(1, 1000) };
    assert!(queue.enqueue(ect, at(0.0), &mut |_, _| {}).is_some());
    let mut died = Vec::new();
    queue.enqueue(ect, at(0.0), &mut |p, reason| died.push((p.ecn, reason)));
    queue.enqueue(Packet::new(1, 1000), at(0.0), &mut |p, reason| died.push((p.ecn, reason)));
    assert_eq!(died, [(Ecn::Ect0, Reason::Overflow), (Ecn::NotEct, Reason::Early)]);
    assert_eq!(queue.counters().marks, 1);
    conserved(&queue);
}
