//! # FQ with pacing
//!
//! ## What it does
//! Linux's `fq`: a FIFO for each flow, served by deficit round robin with new flows before old ones, in three bands
//! that share the link by weights. With `maxrate` no flow sends faster: after a burst of its credit its next packet
//! waits until the rate allows it; while all flows wait, the link is idle. Without `maxrate` packets wait for the link
//! only. A full band or a flow with `flow_plimit` packets drops its arrival.
//!
//! The discipline `fq` is that of Demers, Keshav and Shenker.
//!
//! | event | rule (`net/sched/sch_fq.c`) |
//! |---|---|
//! | arrival | dropped if its band holds `limit` packets, or its flow `flow_plimit` (`fq_enqueue`) |
//! | arrival when no packet waits in a flow that may send | the fast path: a FIFO of up to 8 packets, served first and counted by no limit; not with `maxrate` (`fq_fastpath_check`) |
//! | arrival of a flow that is not in line | last of the new flows; if it left longer than `refill_delay` ago, with a quantum at least (`fq_enqueue`) |
//! | departure | the band served last while it has credit and flows in line, else the next; a band's credit grows by its weight, not above it (`fq_dequeue`) |
//! | a flow has no credit at its turn | it earns a quantum and goes last among the old (`fq_dequeue`) |
//! | a flow has no packet at its turn | a new one goes last among the old, an old one leaves the line (`fq_dequeue`) |
//! | a flow's packet is before its time | the flow leaves the line until then, and returns last among the old (`fq_flow_set_throttled`, `fq_check_throttled`) |
//! | a packet leaves, `maxrate` above `low_rate_threshold` | if credit is left, nothing; else the next packet's time is later by the time of the larger of packet and quantum at `maxrate` (`fq_dequeue`) |
//! | a packet leaves, `maxrate` up to `low_rate_threshold` | the next packet's time is later by the packet's time at `maxrate`; credit is gone (`fq_dequeue`) |
//! | how much later | 1 s at most; less by what the flow's last packet was late, at most by half (`fq_dequeue`) |
//! | a packet leaves more than `ce_threshold` after its time | CE (`fq_dequeue`) |
//!
//! ## Source
//! Linux 6.18, `net/sched/sch_fq.c` (E. Dumazet, 2013; the bands and the fast path 2023).
//!
//! ## Differences
//! 1. A forwarded packet has neither a socket nor a departure time, and simulated senders pace themselves. So pacing at
//!    a socket's rate, `horizon` and `horizon_drop`, and packets out of order are left out. `nopacing` is a queue
//!    without `maxrate`.
//! 2. `skb->priority` is the packet's class. Linux takes it from the lower bits of the DSCP when it forwards a packet.
//! 3. A packet's flow is its hash under `orphan_mask`, as for forwarded packets. No flow is forgotten. Linux forgets a
//!    flow that left the line 3 s ago if a search for another flow meets it in the tree; the flow then starts with
//!    `initial_quantum` again.
//! 4. Linux counts `refill_delay` in jiffies, and its timers may be 10 us late (`timer_slack`); here both are exact.
//!    Times of packets are whole nanoseconds, as in Linux.
//! 5. `offload_horizon` is not here: it needs a network card that paces.
//! 6. A limit in bytes bounds the bytes of each band.
//! 7. A flow joins the line of its last packet's band. A new flow joins the line of band 0, whatever its packet's band,
//!    as in Linux, which sets the band later; from its second turn on it is in its own band's.
//!
//! ## Example
//! ```
//! use earlydrop_aqm::{catalogue, params::{Value, Values}, policy::Limit, random::Generator, Packet, Time};
//!
//! let link = catalogue::Link { rate_bps: 1e9, delay_s: 0.0 };
//! let mut values = Values::new();
//! values.set("maxrate", Value::Real(8e6)).set("initial_quantum", Value::Whole(1500));
//! let built = (catalogue::find("fq_pacing").unwrap().build)(&values, &link, Limit::Packets(10_000)).unwrap();
//! let mut queue = built.queue(Limit::Packets(10_000), false, Generator::stream(1, "queue"));
//! for _ in 0..2 {
//!     queue.enqueue(Packet::new(1, 1500), Time::ZERO, &mut |_, _| {});
//! }
//! assert!(queue.dequeue(Time::ZERO, &mut |_, _| {}).is_some());
//! // The credit is used up: the next packet waits for a quantum of 3028 B at 8 Mbit/s.
//! assert!(queue.dequeue(Time::ZERO, &mut |_, _| {}).is_none());
//! assert_eq!(queue.held_until().unwrap().seconds(), 3028e-6);
//! ```

use crate::catalogue::{AqmSpec, Built};
use crate::default_limit::DefaultLimit;
use crate::discipline::{Admitted, OnDrop};
use crate::gate::Counters;
use crate::params::{Kind, Param, Unit, Value, Values};
use crate::parts::class_weights::{class_of, CLASSES};
use crate::parts::hash;
use crate::policy::{Limit, Reason, Room};
use crate::random::Generator;
use crate::{Discipline, Packet, Time};
use std::cmp::Reverse;
use std::collections::{BinaryHeap, VecDeque};

const fn real(name: &'static str, unit: Unit, (low, high): (f64, f64), default: Value, doc: &'static str) -> Param {
    let auto = matches!(default, Value::Auto);
    Param::new(name, unit, Kind::Real { low, high, open_low: false, open_high: false, auto }, default)
        .says("Linux fq_init", doc)
}

const fn band(name: &'static str, default: i64, doc: &'static str) -> Param {
    Param::whole(name, Unit::None, (0, 2), default).says("Linux sch_default_prio2band", doc)
}

const fn weight(name: &'static str, default: i64, doc: &'static str) -> Param {
    Param::whole(name, Unit::Bytes, (16_384, 1 << 30), default).says("Linux fq_init", doc)
}

/// The largest rate that fits in 32 bits as bytes a second, bit/s.
const FASTEST: f64 = 8.0 * 4_294_967_294.0;

const PARAMS: [Param; 19] = [
    Param::whole("quantum", Unit::Bytes, (1, 1 << 20), 3028)
        .says("Linux, Ethernet", "Bytes that a flow earns in a round."),
    Param::whole("initial_quantum", Unit::Bytes, (0, (1 << 31) - 1), 15_140)
        .says("Linux, Ethernet", "Bytes that a flow may send in its first turn."),
    Param::whole("flow_plimit", Unit::None, (1, (1 << 32) - 1), 100)
        .says("Linux fq_init", "Packets of a flow that wait; more are dropped."),
    real("maxrate", Unit::Rate, (8.0, FASTEST), Value::Auto, "Largest rate of a flow; auto is unlimited."),
    real(
        "low_rate_threshold",
        Unit::Rate,
        (0.0, FASTEST),
        Value::Real(550_000.0),
        "With a `maxrate` up to this, packets leave one by one, without bursts of a quantum.",
    ),
    real(
        "refill_delay",
        Unit::Seconds,
        (0.0, 4294.0),
        Value::Real(0.04),
        "A flow that has left the line for longer returns with a quantum at least.",
    ),
    real(
        "ce_threshold",
        Unit::Seconds,
        (0.0, 4294.0),
        Value::Auto,
        "Packets that leave later than this after they could have left are marked; auto is off.",
    ),
    Param::whole("orphan_mask", Unit::None, (0, 65_535), 1023)
        .says("Linux fq_init", "Bits of the hash that tell flows apart: flows that agree in them share a FIFO."),
    weight("weight_0", 9 << 16, "Bytes that band 0 earns in a round."),
    weight("weight_1", 3 << 16, "Bytes that band 1 earns in a round."),
    weight("weight_2", 1 << 16, "Bytes that band 2 earns in a round."),
    band("band_0", 1, "Band of class 0 (`priomap`)."),
    band("band_1", 2, "Band of class 1."),
    band("band_2", 2, "Band of class 2."),
    band("band_3", 2, "Band of class 3."),
    band("band_4", 1, "Band of class 4."),
    band("band_5", 2, "Band of class 5."),
    band("band_6", 0, "Band of class 6."),
    band("band_7", 0, "Band of class 7."),
];

/// The declaration.
pub const SPEC: AqmSpec = AqmSpec {
    summary: "Linux's fq: a queue for each flow in three weighted bands, none faster than a rate",
    source: "Dumazet: Linux net/sched/sch_fq.c, 2013",
    params: &[&PARAMS],
    linux: true,
    limit: DefaultLimit::Packets { packets: 10_000, source: "Linux fq_init" },
    build: &|values, _, limit| {
        let settings = Settings::read(values, limit);
        Ok(Built::Discipline(Box::new(move |ecn, random| Box::new(FqPacing::new(settings, ecn, random)))))
    },
    ..AqmSpec::named("fq_pacing", "FQ with pacing", "several queues", 2013)
};

const BANDS: usize = 3;
/// Where the clock starts, ns: a machine has been up for an hour when its queue is set up.
const START: u64 = 3_600_000_000_000;
const SECOND: u64 = 1_000_000_000;
/// Packets that the fast path holds while flows are throttled.
const FAST_PACKETS: usize = 8;

/// `now` in Linux's whole nanoseconds, rounded to the nearest.
fn clock(now: Time) -> u64 {
    START + (now.seconds() * 1e9 + 0.5) as u64
}

#[derive(Clone)]
struct Settings {
    quantum: i32,
    initial_quantum: i32,
    flow_plimit: usize,
    /// maxrate, B/s, if there is one.
    max_rate: Option<u64>,
    /// low_rate_threshold, B/s.
    low_rate: u64,
    refill_delay: f64,
    /// Threshold of marks, ns.
    ce_threshold: u64,
    mask: u64,
    weights: [i64; BANDS],
    band_of_class: [usize; CLASSES],
    /// The buffer of each band.
    room: Room,
}

impl Settings {
    fn read(values: &Values, limit: Limit) -> Self {
        let whole = |name| values.whole(&PARAMS, name);
        Settings {
            quantum: whole("quantum") as i32,
            initial_quantum: whole("initial_quantum") as i32,
            flow_plimit: whole("flow_plimit") as usize,
            max_rate: values.number(&PARAMS, "maxrate").map(|bits| (bits / 8.0) as u64),
            low_rate: (values.real(&PARAMS, "low_rate_threshold") / 8.0) as u64,
            refill_delay: values.real(&PARAMS, "refill_delay"),
            ce_threshold: values.number(&PARAMS, "ce_threshold").map_or(u64::MAX, |x| (x * 1e9 + 0.5) as u64),
            mask: whole("orphan_mask") as u64,
            weights: ["weight_0", "weight_1", "weight_2"].map(whole),
            band_of_class: ["band_0", "band_1", "band_2", "band_3", "band_4", "band_5", "band_6", "band_7"]
                .map(|name| whole(name) as usize),
            room: Room::holding(limit),
        }
    }
}

/// Where a flow waits.
#[derive(Clone, Copy, Debug, PartialEq)]
enum Place {
    /// It has left the line, at this time.
    Away(Time),
    /// In the line of a band.
    Line,
    /// Among the throttled.
    Throttled,
}

/// A flow: the packets whose hashes agree in the bits of the mask.
#[derive(Clone)]
struct Flow {
    waiting: VecDeque<Packet>,
    /// Bytes that the flow may send before its next round.
    credit: i32,
    /// Band of its last packet.
    band: usize,
    /// time_next_packet: when the flow's next packet may leave, ns.
    next: u64,
    place: Place,
}

/// A band: the lines of its flows, what it may send, and what waits.
#[derive(Default)]
struct Band {
    /// Lines of new and of old flows.
    lines: [VecDeque<u32>; 2],
    credit: i64,
    packets: u64,
    bytes: u64,
}

const NEW: usize = 0;
const OLD: usize = 1;

/// The discipline.
struct FqPacing {
    set: Settings,
    flows: Vec<Flow>,
    bands: [Band; BANDS],
    /// The band that is served.
    band: usize,
    /// The fast path.
    fast: VecDeque<Packet>,
    /// Throttled flows by time, ns, and order.
    throttled: BinaryHeap<Reverse<(u64, u64, u32)>>,
    /// How many times flows have been throttled.
    throttles: u64,
    /// Flows with packets, throttled ones among them.
    active: usize,
    /// When the first throttled flow may send, if the link found no flow that may.
    held: Option<Time>,
    packets: u64,
    bytes: u64,
    salt: u64,
    ecn: bool,
    counters: Counters,
}

impl FqPacing {
    fn new(set: Settings, ecn: bool, mut random: Generator) -> Self {
        let credit = set.initial_quantum;
        // A new flow must not get another quantum: it counts as one that has just left, with its initial quantum.
        let place = Place::Away(Time::from_seconds(f64::INFINITY));
        let flow = Flow { waiting: VecDeque::new(), credit, band: 0, next: 0, place };
        FqPacing {
            flows: vec![flow; set.mask as usize + 1],
            set,
            bands: Default::default(),
            band: 0,
            fast: VecDeque::new(),
            throttled: BinaryHeap::new(),
            throttles: 0,
            active: 0,
            held: None,
            packets: 0,
            bytes: 0,
            salt: (random.uniform() * (1_u64 << 53) as f64) as u64,
            ecn,
            counters: Counters::default(),
        }
    }

    /// When the first throttled flow may send (time_next_delayed_flow).
    fn first_due(&self) -> u64 {
        self.throttled.peek().map_or(u64::MAX, |Reverse((due, ..))| *due)
    }

    /// fq_fastpath_check: whether a packet may take the fast path.
    fn may_pass(&self, now: u64) -> bool {
        let none_ready =
            self.active == self.throttled.len() && self.fast.len() < FAST_PACKETS && self.first_due() > now;
        (self.packets == 0 || none_ready) && self.set.max_rate.is_none()
    }

    /// fq_enqueue after the tests of band and fast path; true if the packet joins its flow.
    fn join(&mut self, packet: Packet, band: usize, now: Time) -> bool {
        let place = (hash::mix(packet.flow, self.salt) >> 32) & self.set.mask;
        let flow = &mut self.flows[place as usize];
        if flow.waiting.len() >= self.set.flow_plimit {
            return false;
        }
        if let Place::Away(since) = flow.place {
            flow.place = Place::Line;
            self.bands[flow.band].lines[NEW].push_back(place as u32);
            if now.seconds() > since.seconds() + self.set.refill_delay {
                flow.credit = flow.credit.max(self.set.quantum);
            }
        }
        flow.band = band;
        self.active += usize::from(flow.waiting.is_empty());
        self.bands[band].packets += 1;
        self.bands[band].bytes += u64::from(packet.size);
        flow.waiting.push_back(packet);
        true
    }

    /// fq_check_throttled: returns flows whose time has come to their lines.
    fn release(&mut self, now: u64) {
        while self.first_due() <= now {
            let Some(Reverse((.., at))) = self.throttled.pop() else { return };
            let flow = &mut self.flows[at as usize];
            flow.place = Place::Line;
            self.bands[flow.band].lines[OLD].push_back(at);
        }
    }

    /// The line whose first flow has its turn, in the band that is served next.
    fn turn(&mut self) -> Option<usize> {
        let mut tried = 0;
        loop {
            let band = &self.bands[self.band];
            if let Some(line) = (0..2).find(|&line| band.credit > 0 && !band.lines[line].is_empty()) {
                return Some(line);
            }
            loop {
                tried += 1;
                if tried > BANDS {
                    return None;
                }
                self.band = (self.band + 1) % BANDS;
                let (band, weight) = (&mut self.bands[self.band], self.set.weights[self.band]);
                band.credit = (band.credit + weight).min(weight);
                if band.credit > 0 {
                    break;
                }
                tried = 0;
            }
        }
    }

    /// fq_dequeue after the fast path.
    fn serve(&mut self, now: Time) -> Option<Packet> {
        let ns = clock(now);
        self.release(ns);
        while let Some(line) = self.turn() {
            let lines = &mut self.bands[self.band].lines;
            let at = *lines[line].front()?;
            let flow = &mut self.flows[at as usize];
            let head = flow.waiting.front();
            let due = head.map(|head| clock(head.enqueued).max(flow.next));
            if let Some(due) = due.filter(|&due| due <= ns && flow.credit > 0) {
                return self.send(at, due, ns);
            }
            lines[line].pop_front();
            if flow.credit <= 0 {
                flow.credit += self.set.quantum;
                self.bands[flow.band].lines[OLD].push_back(at);
            } else if let Some(due) = due {
                flow.next = due;
                flow.place = Place::Throttled;
                self.throttles += 1;
                self.throttled.push(Reverse((due, self.throttles, at)));
            } else if line == NEW {
                self.bands[flow.band].lines[OLD].push_back(at);
            } else {
                flow.place = Place::Away(now);
            }
        }
        let due = self.first_due();
        self.held = (due < u64::MAX).then(|| Time::from_seconds((due - START) as f64 / 1e9));
        None
    }

    /// Sends the first packet of a flow, which could have left at `due`.
    fn send(&mut self, at: u32, due: u64, now: u64) -> Option<Packet> {
        let flow = &mut self.flows[at as usize];
        let mut packet = flow.waiting.pop_front()?;
        if now - due > self.set.ce_threshold {
            self.counters.mark(&mut packet, self.ecn);
        }
        self.active -= usize::from(flow.waiting.is_empty());
        let band = &mut self.bands[self.set.band_of_class[class_of(&packet)]];
        band.packets -= 1;
        band.bytes -= u64::from(packet.size);
        flow.credit -= packet.size as i32;
        self.bands[self.band].credit -= i64::from(packet.size);
        let Some(rate) = self.set.max_rate else { return Some(packet) };
        let mut bytes = packet.size;
        if rate <= self.set.low_rate {
            flow.credit = 0;
        } else if flow.credit > 0 {
            return Some(packet);
        } else {
            bytes = bytes.max(self.set.quantum as u32);
        }
        let wait = (u64::from(bytes) * SECOND / rate.max(1)).min(SECOND);
        let late = if flow.next > 0 { (now - flow.next).min(wait / 2) } else { 0 };
        flow.next = now + wait - late;
        Some(packet)
    }
}

impl Discipline for FqPacing {
    fn enqueue(&mut self, mut packet: Packet, now: Time, on_drop: &mut OnDrop<'_>) -> Option<Admitted> {
        self.counters.arrivals += 1;
        self.counters.arrived_bytes += u64::from(packet.size);
        let band = self.set.band_of_class[class_of(&packet)];
        let of = &self.bands[band];
        let fits = self.set.room.admits(&packet, of.packets, of.bytes);
        packet.admit(now);
        let fast = fits && self.may_pass(clock(now));
        if fast {
            self.fast.push_back(packet);
        } else if !fits || !self.join(packet, band, now) {
            self.counters.drop(Reason::Overflow);
            on_drop(&packet, Reason::Overflow);
            return None;
        }
        self.packets += 1;
        self.bytes += u64::from(packet.size);
        // The arrival may leave before the packets that are held.
        self.held = None;
        Some(Admitted(false))
    }

    fn dequeue(&mut self, now: Time, _on_drop: &mut OnDrop<'_>) -> Option<Packet> {
        self.held = None;
        if self.packets == 0 {
            return None;
        }
        let packet = match self.fast.pop_front() {
            Some(packet) => packet,
            None => self.serve(now)?,
        };
        self.packets -= 1;
        self.bytes -= u64::from(packet.size);
        self.counters.depart(&packet);
        Some(packet)
    }

    fn held_until(&self) -> Option<Time> {
        self.held
    }

    fn packets(&self) -> u64 {
        self.packets
    }

    fn bytes(&self) -> u64 {
        self.bytes
    }

    fn counters(&self) -> &Counters {
        &self.counters
    }

    fn reset_counters(&mut self) {
        self.counters = Counters::default();
    }

    fn bands(&self) -> &'static [&'static str] {
        &["band_0", "band_1", "band_2"]
    }

    fn band_of(&self, packet: &Packet, _dscp: u8) -> usize {
        self.set.band_of_class[class_of(packet)]
    }

    /// When the link finds an empty queue, nothing changes.
    fn watches_departures(&self) -> bool {
        false
    }

    fn gauges(&self, out: &mut dyn FnMut(&'static str, f64)) {
        out("active", self.active as f64);
        out("throttled", self.throttled.len() as f64);
        out("fast_packets", self.fast.len() as f64);
    }

    /// 0 is the fast path, the flows are from 1.
    fn waiting(&self, out: &mut dyn FnMut(usize, &Packet)) {
        let flows = self.flows.iter().map(|flow| &flow.waiting);
        for (number, queue) in std::iter::once(&self.fast).chain(flows).enumerate() {
            queue.iter().for_each(|packet| out(number, packet));
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::Ecn;

    #[test]
    fn rates_are_read_as_bytes() {
        let values = Values::of(&[("low_rate_threshold", Value::Real(800e3))]);
        assert_eq!(Settings::read(&values, Limit::Packets(10)).low_rate, 100_000);
    }

    fn build(given: &[(&'static str, Value)], limit: Limit) -> FqPacing {
        let values = Values::of(given);
        FqPacing::new(Settings::read(&values, limit), true, Generator::stream(1, "queue"))
    }

    fn at(ms: f64) -> Time {
        Time::from_seconds(ms / 1e3)
    }

    /// How many of these packets of a flow and class are dropped on arrival.
    fn arrive(queue: &mut FqPacing, flow: u64, class: u8, packets: u32, now: Time) -> u32 {
        let mut dropped = 0;
        for _ in 0..packets {
            let packet = Packet { class, ecn: Ecn::Ect0, ..Packet::new(flow, 1000) };
            queue.enqueue(packet, now, &mut |_, _| dropped += 1);
        }
        dropped
    }

    /// The flows that leave, one after the other.
    fn order(queue: &mut FqPacing, now: Time) -> Vec<u64> {
        std::iter::from_fn(|| queue.dequeue(now, &mut |_, _| {})).map(|packet| packet.flow).collect()
    }

    /// A rate, with which no packet takes the fast path.
    const RATE: (&str, Value) = ("maxrate", Value::Real(8e6));

    #[test]
    fn eight_packets_take_the_fast_path_that_no_limit_counts() {
        let mut queue = build(&[("flow_plimit", Value::Whole(2))], Limit::Packets(5));
        assert_eq!(arrive(&mut queue, 1, 0, 11, Time::ZERO), 1, "8 fast, 2 of the flow");
        assert_eq!((queue.fast.len(), queue.packets(), queue.active), (8, 10, 1));
        // Even when it is empty, a flow that may send keeps packets off the fast path.
        queue.fast.clear();
        assert!(!queue.may_pass(clock(Time::ZERO)));
        assert!(!build(&[RATE], Limit::Packets(5)).may_pass(START));
    }

    #[test]
    fn a_band_holds_its_limit_and_a_flow_its_own() {
        let mut queue = build(&[RATE], Limit::Packets(5));
        assert_eq!(arrive(&mut queue, 1, 0, 6, Time::ZERO), 1);
        assert_eq!(arrive(&mut queue, 2, 4, 1, Time::ZERO), 1, "class 4 is in the same band");
        assert_eq!(arrive(&mut queue, 2, 6, 6, Time::ZERO), 1, "class 6 is not");
        let mut queue = build(&[RATE, ("flow_plimit", Value::Whole(3))], Limit::Packets(100));
        assert_eq!([arrive(&mut queue, 1, 0, 4, Time::ZERO), arrive(&mut queue, 2, 0, 3, Time::ZERO)], [1, 0]);
        let mut queue = build(&[RATE], Limit::Bytes(3500));
        assert_eq!([arrive(&mut queue, 1, 0, 4, Time::ZERO), arrive(&mut queue, 2, 1, 4, Time::ZERO)], [1, 1]);
    }

    #[test]
    fn bands_share_by_their_weights() {
        let small = [("weight_0", 40_000), ("weight_1", 20_000), ("weight_2", 20_000)];
        let mut given: Vec<_> = small.map(|(name, weight)| (name, Value::Whole(weight))).to_vec();
        given.extend([("flow_plimit", Value::Whole(1000)), ("initial_quantum", Value::Whole(1))]);
        let mut queue = build(&given, Limit::Packets(1000));
        arrive(&mut queue, 0, 0, 8, Time::ZERO);
        for (flow, class) in [(1, 6), (2, 0), (3, 1)] {
            arrive(&mut queue, flow, class, 150, Time::ZERO);
        }
        let left = order(&mut queue, Time::ZERO);
        let share = |flow: u64| left[40..280].iter().filter(|&&other| other == flow).count();
        assert!((115..=125).contains(&share(1)) && (55..=65).contains(&share(2)), "{} {}", share(1), share(2));
        assert_eq!(left.len(), 458, "8 on the fast path");
    }

    #[test]
    fn above_the_threshold_a_flow_sends_its_credit_and_then_quanta_at_the_rate() {
        let given = [RATE, ("quantum", Value::Whole(2000)), ("initial_quantum", Value::Whole(3000))];
        let mut queue = build(&given, Limit::Packets(100));
        arrive(&mut queue, 1, 0, 8, Time::ZERO);
        assert_eq!(order(&mut queue, Time::ZERO).len(), 3);
        assert_eq!(queue.held_until(), Some(at(2.0)), "a quantum at 1 MB/s");
        assert_eq!(order(&mut queue, at(1.999)).len(), 0);
        assert_eq!(order(&mut queue, at(2.0)).len(), 2);
        assert_eq!(queue.held_until(), Some(at(4.0)));
        // Sent 0.6 ms late, a packet shortens the next wait of 2 ms by 0.6 ms; sent 3 ms late, by half of it.
        assert_eq!(order(&mut queue, at(4.6)).len(), 2);
        assert_eq!(queue.held_until(), Some(at(6.0)));
        assert_eq!(order(&mut queue, at(9.0)).len(), 1);
        arrive(&mut queue, 1, 0, 3, at(9.0));
        assert_eq!(order(&mut queue, at(9.0)).len(), 1, "credit for one more");
        assert_eq!(queue.held_until(), Some(at(10.0)));
    }

    #[test]
    fn up_to_the_threshold_packets_leave_one_by_one() {
        let given = [RATE, ("low_rate_threshold", Value::Real(8e6))];
        let mut queue = build(&given, Limit::Packets(100));
        arrive(&mut queue, 1, 0, 3, Time::ZERO);
        assert_eq!(order(&mut queue, Time::ZERO).len(), 1);
        assert_eq!(queue.held_until(), Some(at(1.0)), "a packet at 1 MB/s");
        let mut slow = build(&[("maxrate", Value::Real(80.0))], Limit::Packets(100));
        arrive(&mut slow, 1, 0, 3, Time::ZERO);
        assert_eq!(order(&mut slow, Time::ZERO).len(), 1);
        assert_eq!(slow.held_until(), Some(at(1000.0)), "not 100 s");
    }

    #[test]
    fn an_arrival_of_another_flow_need_not_wait() {
        let mut queue = build(&[RATE, ("initial_quantum", Value::Whole(1000))], Limit::Packets(100));
        arrive(&mut queue, 1, 0, 2, Time::ZERO);
        assert_eq!(order(&mut queue, Time::ZERO), [1]);
        assert!(queue.held_until().is_some());
        arrive(&mut queue, 2, 0, 1, at(1.0));
        assert_eq!(queue.held_until(), None);
        assert_eq!(order(&mut queue, at(1.0)), [2]);
        assert_eq!(queue.held_until().map(|until| (until.seconds() * 1e6).round()), Some(3028.0));
    }

    #[test]
    fn a_flow_that_was_away_has_a_quantum_again() {
        for (away, credit) in [(40.0, 500), (40.001, 3028)] {
            let mut queue = build(&[RATE, ("initial_quantum", Value::Whole(1500))], Limit::Packets(100));
            arrive(&mut queue, 1, 0, 1, Time::ZERO);
            // A packet of another flow, 2 ms later, makes the link find flow 1 empty twice.
            arrive(&mut queue, 2, 0, 2, Time::ZERO);
            assert_eq!(order(&mut queue, Time::ZERO), [1, 2, 2]);
            arrive(&mut queue, 2, 0, 1, Time::ZERO);
            order(&mut queue, Time::ZERO);
            arrive(&mut queue, 1, 0, 1, at(away));
            let mix = (hash::mix(1, queue.salt) >> 32) & 1023;
            assert_eq!(queue.flows[mix as usize].credit, credit, "{away} ms");
        }
    }

    #[test]
    fn what_leaves_late_is_marked() {
        for (late, marks) in [(5.0, 0), (5.001, 1)] {
            let mut queue = build(&[RATE, ("ce_threshold", Value::Real(0.005))], Limit::Packets(100));
            arrive(&mut queue, 1, 0, 1, at(1.0));
            assert_eq!(order(&mut queue, at(1.0 + late)).len(), 1);
            assert_eq!(queue.counters().marks, marks, "{late} ms");
        }
    }
}
