//! ## TBF
//!
//! A token bucket in front of the link. Time fills it at `rate` up to `burst`; a packet leaves when the bucket holds
//! the packet's bytes, and takes them out. With `peakrate` a second bucket, of `mtu` bytes, must hold them too: that
//! spaces a burst's packets. Packets wait in the child, which marks, drops and chooses the next.
//!
//! | event | rule (`net/sched/sch_tbf.c`) |
//! |---|---|
//! | start | both buckets are full (`tbf_change`) |
//! | arrival larger than a bucket | dropped (`tbf_enqueue`) |
//! | other arrival | goes to the child (`tbf_enqueue`) |
//! | departure | the child's next packet is taken and kept until both buckets have its bytes, whatever arrives (`tbf_dequeue`) |
//! | a bucket lacks bytes | the queue is held until the bucket has them (`tbf_dequeue`) |
//!
//! Buckets count nanoseconds: a packet costs `bytes * mult >> shift`, with the largest `mult` of 32 bits for the rate
//! in whole bytes a second (`psched_ratecfg_precompute`).
//!
//! ### Source
//! Linux 6.1, `net/sched/sch_tbf.c` (A. Kuznetsov, D. Torokhov, 2001).
//!
//! ### Differences
//! 1. `overhead`, `mpu` and `linklayer` are not here, nor are packets larger than the link's MTU (GSO).
//! 2. The child has its own `limit`. In Linux the parent's `limit` is that of its first child, a FIFO.
//! 3. Unless given, `rate` is the link's, `burst` ten packets of 1514 B. Linux wants both given.

use super::ratecfg::{clock, time, Cost, START};
use super::spec::{counted, ParentSpec, CHILD};
use crate::discipline::{Admitted, Built, Discipline, OnDrop};
use crate::gate::Counters;
use crate::header::Header;
use crate::params::{Kind, Link, Param, ParamError, Unit, Value, Values};
use crate::policy::Reason;
use crate::{Packet, Time};

const fn rate(name: &'static str, source: &'static str, doc: &'static str) -> Param {
    Param::new(name, Unit::Rate, Kind::real(64.0, 1e12).or_auto(), Value::Auto).says(source, doc)
}

const fn bytes(name: &'static str, default: i64, source: &'static str, doc: &'static str) -> Param {
    Param::whole(name, Unit::Bytes, (1, (1 << 32) - 1), default).says(source, doc)
}

const PARAMS: &[Param] = &[
    rate("rate", "ours", "Rate in the long run; auto is the link's."),
    bytes("burst", 15_140, "ours: ten packets", "Size of the bucket: what leaves at once after a pause."),
    rate("peakrate", "Linux: none", "Rate within a burst; auto is unlimited."),
    bytes("mtu", 1514, "Linux: a packet of Ethernet", "Size of the second bucket, with `peakrate`."),
];

/// The declaration.
pub(super) const SPEC: ParentSpec = ParentSpec {
    name: "tbf",
    title: "TBF",
    year: 2001,
    summary: "Token bucket: a rate, a burst, and a rate within the burst",
    source: "Kuznetsov, Torokhov: Linux net/sched/sch_tbf.c, 2001",
    params: PARAMS,
    linux: true,
    check: |values, link| {
        let Some(peak) = values.number(PARAMS, "peakrate") else { return Ok(()) };
        let rate = rate_of(values, link);
        if (peak / 8.0) as u64 > (rate / 8.0) as u64 {
            return Ok(());
        }
        Err(ParamError::new("peakrate", peak, format!("above rate, {rate} bit/s")))
    },
    rate: rate_of,
    largest,
    children: |_| 1,
    build: |values, link, mut children| Box::new(Tbf::new(values, link, children.remove(0))),
};

/// A packet must fit into each bucket.
fn largest(values: &Values) -> u32 {
    let size = |name| values.whole(PARAMS, name) as u32;
    values.number(PARAMS, "peakrate").map_or(size("burst"), |_| size("burst").min(size("mtu")))
}

fn rate_of(values: &Values, link: &Link) -> f64 {
    values.number(PARAMS, "rate").unwrap_or(link.rate_bps)
}

/// A bucket: its size and what is in it, ns of transmission.
#[derive(Clone, Copy, Debug)]
struct Bucket {
    cost: Cost,
    size: i64,
    tokens: i64,
}

impl Bucket {
    fn full(rate_bps: f64, bytes: u32) -> Self {
        let cost = Cost::at(rate_bps);
        let size = cost.of(bytes);
        Bucket { cost, size, tokens: size }
    }

    /// What is left after `passed` ns and a packet of `bytes`; negative for a debt.
    fn after(&self, passed: i64, bytes: u32) -> i64 {
        (passed + self.tokens).min(self.size) - self.cost.of(bytes)
    }
}

/// A token bucket filter and its child.
struct Tbf {
    child: Box<dyn Discipline>,
    bucket: Bucket,
    peak: Option<Bucket>,
    /// Largest packet, bytes.
    largest: u32,
    /// When the buckets were last filled, ns.
    filled: i64,
    /// The child's packet that leaves next.
    next: Option<Packet>,
    /// Until when `next` waits, or the child's packets.
    held: Option<Time>,
    /// Counts of the whole: the child's, and packets that were too large.
    counters: Counters,
    too_large: u64,
    /// How often a packet could not leave.
    overlimits: u64,
}

impl Tbf {
    fn new(values: &Values, link: &Link, child: Box<dyn Discipline>) -> Self {
        let size = |name| values.whole(PARAMS, name) as u32;
        let peak = values.number(PARAMS, "peakrate").map(|rate| Bucket::full(rate, size("mtu")));
        Tbf {
            child,
            bucket: Bucket::full(rate_of(values, link), size("burst")),
            largest: largest(values),
            peak,
            filled: START,
            next: None,
            held: None,
            counters: Counters::default(),
            too_large: 0,
            overlimits: 0,
        }
    }

    /// An arrival; `enter` offers it to the child.
    fn arrive(
        &mut self,
        packet: Packet,
        on_drop: &mut OnDrop<'_>,
        enter: impl FnOnce(&mut dyn Discipline, Packet, &mut OnDrop<'_>) -> Option<Admitted>,
    ) -> Option<Admitted> {
        self.counters.arrivals += 1;
        self.counters.arrived_bytes += u64::from(packet.size);
        let admitted = if packet.size > self.largest {
            self.too_large += 1;
            self.counters.drop(Reason::Forced);
            on_drop(&packet, Reason::Forced);
            None
        } else {
            let enter = |child: &mut dyn Discipline, on_drop: &mut OnDrop<'_>| enter(child, packet, on_drop);
            counted(&mut self.counters, &mut *self.child, on_drop, enter)
        };
        if self.next.is_some() {
            // Linux tries at each arrival whether `next` may leave.
            self.overlimits += u64::from(self.held.is_some() && admitted.is_some());
        } else {
            // The child may hold its packets too; an arrival may leave before they do.
            self.held = self.held.and(self.child.held_until());
        }
        admitted
    }
}

impl Discipline for Tbf {
    fn inside(&self) -> Option<&dyn Discipline> {
        Some(&*self.child)
    }

    fn enqueue(&mut self, packet: Packet, now: Time, on_drop: &mut OnDrop<'_>) -> Option<Admitted> {
        self.arrive(packet, on_drop, |child, packet, on_drop| child.enqueue(packet, now, on_drop))
    }

    fn enqueue_with(
        &mut self,
        packet: Packet,
        header: &Header,
        now: Time,
        on_drop: &mut OnDrop<'_>,
    ) -> Option<Admitted> {
        self.arrive(packet, on_drop, |child, packet, on_drop| child.enqueue_with(packet, header, now, on_drop))
    }

    /// tbf_dequeue.
    fn dequeue(&mut self, now: Time, on_drop: &mut OnDrop<'_>) -> Option<Packet> {
        if self.next.is_none() {
            let take = |child: &mut dyn Discipline, on_drop: &mut OnDrop<'_>| child.dequeue(now, on_drop);
            self.next = counted(&mut self.counters, &mut *self.child, on_drop, take);
        }
        let Some(packet) = self.next else {
            self.held = self.child.held_until();
            return None;
        };
        let ns = clock(now);
        let passed = (ns - self.filled).min(self.bucket.size);
        let left = self.bucket.after(passed, packet.size);
        let peak_left = self.peak.map_or(0, |peak| peak.after(passed, packet.size));
        let lacks = -left.min(peak_left);
        if lacks > 0 {
            self.overlimits += 1;
            self.held = Some(time(ns + lacks));
            return None;
        }
        self.filled = ns;
        self.bucket.tokens = left;
        if let Some(peak) = &mut self.peak {
            peak.tokens = peak_left;
        }
        (self.next, self.held) = (None, None);
        self.counters.depart(&packet);
        Some(packet)
    }

    fn held_until(&self) -> Option<Time> {
        self.held
    }

    fn waiting(&self, out: &mut dyn FnMut(usize, &Packet)) {
        self.next.iter().for_each(|packet| out(1 << CHILD, packet));
        self.child.waiting(out);
    }

    fn packets(&self) -> u64 {
        self.child.packets() + u64::from(self.next.is_some())
    }

    fn bytes(&self) -> u64 {
        self.child.bytes() + self.next.map_or(0, |packet| packet.size.into())
    }

    fn counters(&self) -> &Counters {
        &self.counters
    }

    fn reset_counters(&mut self) {
        self.child.reset_counters();
        self.counters = Counters::default();
        (self.too_large, self.overlimits) = (0, 0);
    }

    fn on_timer(&mut self, now: Time) {
        self.child.on_timer(now);
    }

    fn on_timers(&mut self, until: Time) -> Option<(u64, Time)> {
        self.child.on_timers(until)
    }

    fn parent(&self, out: &mut dyn FnMut(Option<usize>, &'static str, f64)) {
        let mut out = |name, value| out(None, name, value);
        out("sent_packets", self.counters.departures as f64);
        out("sent_bytes", self.counters.departed_bytes as f64);
        out("too_large", self.too_large as f64);
        out("overlimits", self.overlimits as f64);
        out("child_sent_packets", self.child.counters().departures as f64);
        out("child_sent_bytes", self.child.counters().departed_bytes as f64);
        out("child_drops", self.child.counters().drops() as f64);
        out("child_marks", self.child.counters().marks as f64);
    }

    fn change(&mut self, built: Built) -> bool {
        self.child.change(built)
    }

    fn memory(&self, leaving: bool, out: &mut dyn FnMut(*const u8, usize)) {
        self.child.memory(leaving, out);
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::parents::find;
    use crate::prelude::*;

    const LINK: Link = Link { rate_bps: 100e6, delay_s: 0.0 };

    fn child(aqm: &str, values: &Values) -> Box<dyn Discipline> {
        let limit = Limit::Packets(100);
        let built = (catalogue::find(aqm).unwrap().build)(values, &LINK, limit).unwrap();
        built.queue(limit, true, Generator::stream(1, "queue"))
    }

    fn tbf(given: &[(&'static str, Value)], aqm: &str) -> Tbf {
        let values = Values::of(given);
        Tbf::new(&values, &LINK, child(aqm, &Values::new()))
    }

    fn arrive(queue: &mut Tbf, packets: u32, size: u32, now: f64) -> usize {
        let packet = Packet::new(1, size);
        (0..packets).filter(|_| queue.enqueue(packet, Time::from_seconds(now), &mut |_, _| {}).is_some()).count()
    }

    fn leaves(queue: &mut Tbf, now: f64) -> bool {
        queue.dequeue(Time::from_seconds(now), &mut |_, _| {}).is_some()
    }

    /// 8 Mbit/s: a byte takes 1 us.
    const RATE: (&str, Value) = ("rate", Value::Real(8e6));

    #[test]
    fn a_burst_leaves_at_once_and_the_rest_at_the_rate() {
        let mut queue = tbf(&[RATE, ("burst", Value::Whole(3000))], "droptail");
        assert_eq!(arrive(&mut queue, 6, 1000, 0.0), 6);
        assert_eq!((0..6).filter(|_| leaves(&mut queue, 0.0)).count(), 3);
        for k in 1..=3 {
            let due = f64::from(k) * 1e-3;
            assert_eq!(queue.held_until(), Some(Time::from_seconds(due)), "to the nanosecond");
            assert!(!leaves(&mut queue, due - 1e-9) && leaves(&mut queue, due));
            assert!(!leaves(&mut queue, due));
        }
        assert_eq!((queue.packets(), queue.held_until()), (0, None));
        // After 3 ms the bucket is full again, and fills no further.
        arrive(&mut queue, 6, 1000, 10.0);
        assert_eq!((0..6).filter(|_| leaves(&mut queue, 10.0)).count(), 3);
    }

    #[test]
    fn a_peak_rate_spaces_the_burst() {
        let peak = [RATE, ("burst", Value::Whole(3000)), ("peakrate", Value::Real(16e6)), ("mtu", Value::Whole(1000))];
        let mut queue = tbf(&peak, "droptail");
        arrive(&mut queue, 6, 1000, 0.0);
        let mut now = 0.0;
        let mut left = Vec::new();
        for _ in 0..6 {
            while leaves(&mut queue, now) {
                left.push((now * 1e6_f64).round());
            }
            now = queue.held_until().map_or(now, Time::seconds);
        }
        // Packets leave 0.5 ms apart while the bucket of 3000 B has enough, then 1 ms apart.
        assert_eq!(left, [0.0, 500.0, 1000.0, 1500.0, 2000.0, 3000.0]);
    }

    #[test]
    fn what_fits_into_no_bucket_is_dropped() {
        let mut queue = tbf(&[RATE, ("burst", Value::Whole(1000))], "droptail");
        assert_eq!([arrive(&mut queue, 1, 1001, 0.0), arrive(&mut queue, 1, 1000, 0.0)], [0, 1]);
        assert_eq!((queue.counters().forced_drops, queue.too_large, queue.packets()), (1, 1, 1));
        let mut queue = tbf(&[RATE, ("peakrate", Value::Real(16e6)), ("mtu", Value::Whole(500))], "droptail");
        assert_eq!([arrive(&mut queue, 1, 501, 0.0), arrive(&mut queue, 1, 500, 0.0)], [0, 1]);
    }

    #[test]
    fn the_packet_that_waits_is_not_overtaken() {
        let values = Values::of(&[("first", Value::Choice("high"))]);
        let mut queue = Tbf::new(
            Values::new().set("rate", Value::Real(8e6)).set("burst", Value::Whole(1000)),
            &LINK,
            child("prio", &values),
        );
        let arrive = |queue: &mut Tbf, class, now| {
            let packet = Packet { class, ..Packet::new(1, 1000) };
            queue.enqueue(packet, Time::from_seconds(now), &mut |_, _| {});
        };
        (0..3).for_each(|_| arrive(&mut queue, 0, 0.0));
        assert!(leaves(&mut queue, 0.0) && !leaves(&mut queue, 0.0));
        arrive(&mut queue, 7, 0.0005);
        assert!(queue.held_until().is_some());
        let classes = [1, 2, 3].map(|ms| queue.dequeue(Time::from_seconds(f64::from(ms) * 1e-3), &mut |_, _| {}));
        assert_eq!(classes.map(|packet| packet.unwrap().class), [0, 7, 0]);
        let mut found = std::collections::BTreeMap::new();
        queue.parent(&mut |_, name, value| {
            found.insert(name, value);
        });
        assert_eq!([found["overlimits"], found["sent_packets"], found["child_sent_packets"]], [2.0, 4.0, 4.0]);
    }

    /// The child CAKE holds its own packets, at half the rate; in `fq_pacing` an arrival of another flow goes first.
    #[test]
    fn a_child_may_hold_packets_too() {
        let mut cake = Values::new();
        cake.set("bandwidth", Value::Real(4e6)).set("wash", Value::Flag(true));
        let mut queue = Tbf::new(Values::new().set("rate", Value::Real(8e6)), &LINK, child("cake", &cake));
        assert!(queue.reads_headers() && queue.washes(0));
        arrive(&mut queue, 2, 1000, 0.0);
        assert!(leaves(&mut queue, 0.0) && !leaves(&mut queue, 0.0));
        assert_eq!(queue.held_until(), Some(Time::from_seconds(2e-3)));
        let mut paced = Values::new();
        paced.set("maxrate", Value::Real(8e6)).set("initial_quantum", Value::Whole(1000));
        let mut queue = Tbf::new(&Values::new(), &LINK, child("fq_pacing", &paced));
        arrive(&mut queue, 2, 1000, 0.0);
        assert!(leaves(&mut queue, 0.0) && !leaves(&mut queue, 0.0) && queue.held_until().is_some());
        queue.enqueue(Packet::new(2, 1000), Time::ZERO, &mut |_, _| {});
        assert_eq!(queue.held_until(), None);
        assert!(leaves(&mut queue, 0.0));
    }

    #[test]
    fn every_discipline_can_be_a_child() {
        let mut random = Generator::stream(1, "arrivals");
        for spec in catalogue::all() {
            let mut queue = tbf(&[RATE, ("burst", Value::Whole(4000))], spec.name);
            let (mut now, mut arrived, mut dropped, mut left, mut bytes) = (0.0, 0, 0, 0, 0);
            for k in 0..600_u64 {
                now += random.uniform() * 2e-3;
                while let Some(due) = queue.next_timer().filter(|due| due.seconds() <= now) {
                    queue.on_timer(due);
                }
                let packet =
                    Packet { ecn: crate::Ecn::Ect0, ..Packet::new(k % 5, 40 + (random.uniform() * 1400.0) as u32) };
                arrived += 1;
                queue.enqueue(packet, Time::from_seconds(now), &mut |_, _| dropped += 1);
                if let Some(packet) = queue.dequeue(Time::from_seconds(now), &mut |_, _| dropped += 1) {
                    left += 1;
                    bytes += packet.size;
                }
                assert_eq!(arrived, left + dropped + queue.packets(), "{}", spec.name);
                let counters = *queue.counters();
                assert_eq!((counters.departures, counters.drops(), counters.arrivals), (left, dropped, arrived));
                assert!(f64::from(bytes) <= 4000.0 + 1e6 * now, "{}: {bytes} B by {now} s", spec.name);
            }
            assert!(left > 200, "{}: {left}", spec.name);
        }
    }

    #[test]
    fn a_peak_rate_is_above_the_rate() {
        let check = find("tbf").unwrap().check;
        let at = |rate: f64, peak: f64| {
            let values = Values::of(&[("rate", Value::Real(rate)), ("peakrate", Value::Real(peak))]);
            check(&values, &LINK)
        };
        assert!(at(8e6, 8_000_008.0).is_ok() && at(8e6, 8e6).is_err() && at(8e6, 8_000_007.0).is_err());
        let mut peak = Values::new();
        peak.set("peakrate", Value::Real(100e6));
        assert_eq!(check(&peak, &LINK).unwrap_err().name, "peakrate");
    }
}
