//! # SFQ
//!
//! ## What it does
//! Stochastic fairness queueing. Flows are hashed into FIFOs that are served in turn, so that a flow gets its share as
//! long as few others have the same hash. Two dialects:
//!
//! | | linux | ns2 |
//! |---|---|---|
//! | FIFOs | `flows`, found by a hash table of `divisor` entries | `buckets` |
//! | turn | while its allotment is positive; a turn adds `quantum` bytes | one packet |
//! | bound for a flow | `depth` packets | see below |
//! | no room | a packet of the flow with the most packets goes | the arrival goes |
//! | hash | salted, changed every `perturb` seconds | fixed |
//!
//! In ns2 an arrival that finds `used` packets in its bucket and `left` places in the buffer of `limit` is dropped if
//! `used >= floor(left/2)`, or if `left < buckets` and `used > floor(limit/buckets)`, or if `left <= 0`.
//!
//! ## Source
//! P. E. McKenney, "Stochastic fairness queueing", IEEE INFOCOM 1990 (no copy was at hand: rules by the two programs).
//! Linux `net/sched/sch_sfq.c`; ns-2.35 `queue/sfq.cc`.
//!
//! ## Differences
//! 1. The default is linux: it has the paper's perturbed hash and drops from the longest queue, ns-2 does neither.
//! 2. Kernels before 6.13 count what a packet pays in units of 8 B, rounded up, and the quantum likewise; later ones
//!    count bytes. `allot_unit` is 8 or 1.
//! 3. linux: RED inside each flow (`redflowlimit`) is left out. It is off there unless it is asked for, neither the paper
//!    nor ns-2 has it, and it is no rule of fairness: a flow's queue has an average and a curve of its own, in bytes.
//! 4. linux: of flows with equally many packets, the one whose number changed last loses a packet; if all have one, the
//!    one whose turn it is. As in the kernel, the tail goes, or the head with `headdrop`.
//! 5. linux: the limit is at most `depth * flows`, and `flows` at most the limit and `divisor`, as in the kernel. It
//!    needs a `divisor` that is a power of two; here any number does.
//! 6. linux: a new salt moves the packets to their new queues in the kernel's order, and drops those that find their
//!    queue at `depth`. Here that happens at the first arrival or departure after it is due, and once if it was due
//!    several times. `perturb` has any length here, whole seconds there.
//! 7. ns2 hashes source and destination address, here the flow key. Without a salt, the same flows collide in every
//!    run.
//! 8. A limit in bytes is ours. linux: while more waits, a packet of the flow with the most packets goes. ns2: `used`,
//!    `left` and the limit are bytes, the number of buckets counts as so many packets of `mean_packet`, and `left`
//!    without the arrival must not be negative.
//!
//! ## Example
//! ```
//! use earlydrop_aqm::{catalogue, params::{Value, Values}, policy::Limit, random::Generator, Packet, Time};
//!
//! let link = catalogue::Link { rate_bps: 10e6, delay_s: 0.01 };
//! let mut values = Values::new();
//! values.set("dialect", Value::Choice("ns2"));
//! let catalogue::Built::Discipline(finish) = (catalogue::find("sfq").unwrap().build)(&values, &link, Limit::Packets(40)).unwrap()
//!     else { unreachable!() };
//! let mut queue = finish(false, Generator::stream(1, "queue"));
//! // One flow alone gets a third of the buffer: it stops where it has half of what is left.
//! let admitted = (0..40).filter(|_| queue.enqueue(Packet::new(1, 1000), Time::ZERO, &mut |_, _| {}).is_some()).count();
//! assert_eq!(admitted, 13);
//! ```

use crate::catalogue::{AqmSpec, Built};
use crate::params::{Kind, Param, ParamError, Unit, Value, Values};
use crate::parts::class_fifos::{ClassFifos, End};
use crate::parts::classful::{Classful, Schedule};
use crate::parts::hash;
use crate::parts::round::Round;
use crate::parts::slot_heap::SlotHeap;
use crate::policy::Limit;
use crate::random::Generator;
use crate::{Discipline, Packet, Time};
use std::cmp::Reverse;

const PARAMS: [Param; 10] = [
    Param {
        name: "dialect",
        symbol: "",
        unit: Unit::None,
        kind: Kind::Choice(&["linux", "ns2"]),
        default: Value::Choice("linux"),
        source: "Linux sch_sfq: the nearer to McKenney 1990",
        doc: "Whose SFQ: Linux sch_sfq or ns-2.35.",
    },
    Param {
        name: "flows",
        symbol: "",
        unit: Unit::None,
        kind: Kind::Whole { low: 1, high: 65_408 },
        default: Value::Whole(128),
        source: "Linux sch_sfq",
        doc: "FIFOs (linux): an arrival of one flow more is dropped.",
    },
    Param {
        name: "divisor",
        symbol: "",
        unit: Unit::None,
        kind: Kind::Whole { low: 1, high: 65_536 },
        default: Value::Whole(1024),
        source: "Linux sch_sfq",
        doc: "Entries of the hash table (linux).",
    },
    Param {
        name: "depth",
        symbol: "",
        unit: Unit::None,
        kind: Kind::Whole { low: 1, high: 65_535 },
        default: Value::Whole(127),
        source: "Linux sch_sfq, where it is also the most",
        doc: "Most packets of one flow (linux).",
    },
    Param {
        name: "quantum",
        symbol: "",
        unit: Unit::Bytes,
        kind: Kind::Whole { low: 1, high: 1_000_000 },
        default: Value::Whole(1514),
        source: "Linux sch_sfq: the MTU with its Ethernet header",
        doc: "Bytes that a flow may send in a turn, about (linux).",
    },
    Param {
        name: "allot_unit",
        symbol: "",
        unit: Unit::Bytes,
        kind: Kind::Whole { low: 1, high: 64 },
        default: Value::Whole(8),
        source: "Linux sch_sfq before 6.13; 1 since",
        doc: "Packets and the quantum are counted in units of this, rounded up (linux).",
    },
    Param {
        name: "perturb",
        symbol: "",
        unit: Unit::Seconds,
        kind: Kind::Real { low: 0.0, high: 1e6, open_low: false, open_high: false, auto: false },
        default: Value::Real(0.0),
        source: "Linux sch_sfq",
        doc: "Time between changes of the hash (linux): 0 for never, else at least 1 ms.",
    },
    Param {
        name: "headdrop",
        symbol: "",
        unit: Unit::None,
        kind: Kind::Flag { auto: false },
        default: Value::Flag(false),
        source: "Linux sch_sfq",
        doc: "Drop the oldest packet of a flow, not the newest (linux).",
    },
    Param {
        name: "buckets",
        symbol: "",
        unit: Unit::None,
        kind: Kind::Whole { low: 1, high: 65_536 },
        default: Value::Whole(16),
        source: "ns-2.35",
        doc: "FIFOs (ns2).",
    },
    Param {
        name: "mean_packet",
        symbol: "L_m",
        unit: Unit::Bytes,
        kind: Kind::Real { low: 1.0, high: 65535.0, open_low: false, open_high: false, auto: false },
        default: Value::Real(500.0),
        source: "ours, as RED's in ns-2.35",
        doc: "Size of a packet where ns2's rule for packets meets a limit in bytes.",
    },
];

/// The declaration.
pub const SPEC: AqmSpec = AqmSpec {
    name: "sfq",
    title: "SFQ",
    family: "several queues",
    year: 1990,
    summary: "Stochastic fairness queueing: hashed flows in turn, drops from the longest",
    source: "McKenney: Stochastic fairness queueing, INFOCOM 1990; Linux net/sched/sch_sfq.c; ns-2.35 queue/sfq.cc",
    file: include_str!("sfq.rs"),
    params: &[&PARAMS],
    check: &|values, _| {
        let perturb = values.real(&PARAMS, "perturb");
        if perturb > 0.0 && perturb < 1e-3 {
            return Err(ParamError::new("perturb", perturb, "0 (never) or at least 0.001 s"));
        }
        Ok(())
    },
    build: &|values, link, limit| {
        (SPEC.check)(values, link)?;
        let values = values.clone();
        Ok(Built::Discipline(Box::new(move |_, random| -> Box<dyn Discipline> {
            if values.word(&PARAMS, "dialect") == "ns2" {
                Box::new(Classful::new(Ns2::new(&values, limit)))
            } else {
                Box::new(Classful::new(Linux::new(&values, limit, random)))
            }
        })))
    },
    curve: None,
};

/// The rules of ns-2.
pub struct Ns2 {
    fifos: ClassFifos,
    round: Round,
    buckets: usize,
    limit: Limit,
    mean_packet: f64,
}

impl Ns2 {
    fn new(values: &Values, limit: Limit) -> Self {
        let buckets = values.whole(&PARAMS, "buckets") as usize;
        let mean_packet = values.real(&PARAMS, "mean_packet");
        Ns2 { fifos: ClassFifos::new(buckets), round: Round::new(buckets), buckets, limit, mean_packet }
    }

    fn admits(&self, bucket: usize, size: u32) -> bool {
        let (limit, waiting, used, packet) = match self.limit {
            Limit::Packets(n) => (n, self.fifos.packets(), self.fifos.packets_of(bucket), 1.0),
            Limit::Bytes(n) => (n, self.fifos.bytes(), self.fifos.bytes_of(bucket), self.mean_packet),
        };
        let left = limit.saturating_sub(waiting);
        let scarce = (left as f64) < self.buckets as f64 * packet;
        let room = match self.limit {
            Limit::Packets(_) => left > 0,
            Limit::Bytes(_) => left >= u64::from(size),
        };
        used < left / 2 && !(scarce && used > limit / self.buckets as u64) && room
    }
}

impl Schedule for Ns2 {
    fn arrive(&mut self, packet: Packet, _now: Time, dropped: &mut dyn FnMut(&Packet)) -> bool {
        let bucket = hash::bucket(packet.flow, 0, self.buckets);
        if !self.admits(bucket, packet.size) {
            dropped(&packet);
            return false;
        }
        self.fifos.push(bucket, packet);
        if self.fifos.packets_of(bucket) == 1 {
            self.round.join(bucket);
        }
        true
    }

    fn take(&mut self, _now: Time, _dropped: &mut dyn FnMut(&Packet)) -> Option<Packet> {
        let bucket = self.round.current()?;
        let packet = self.fifos.take(bucket, End::Head);
        if self.fifos.packets_of(bucket) == 0 {
            self.round.leave(bucket);
        } else {
            self.round.advance();
        }
        packet
    }

    fn packets(&self) -> u64 {
        self.fifos.packets()
    }

    fn bytes(&self) -> u64 {
        self.fifos.bytes()
    }

    fn gauges(&self, out: &mut dyn FnMut(&'static str, f64)) {
        out("active", self.round.len() as f64);
    }
}

const NONE: u32 = u32::MAX;

/// The rules of Linux.
pub struct Linux {
    fifos: ClassFifos,
    round: Round,
    /// The longest first, and of equally long ones the one that changed last.
    longest: SlotHeap<(Reverse<u64>, Reverse<u64>)>,
    changes: u64,
    /// Which FIFO each entry of the hash table has.
    table: Vec<u32>,
    /// Which entry each FIFO belongs to.
    entry: Vec<u32>,
    allotment: Vec<i64>,
    free: Vec<u32>,
    limit: Limit,
    depth: u64,
    quantum: i64,
    unit: u32,
    end: End,
    salt: u64,
    perturb: f64,
    next_salt: Time,
    random: Generator,
    moving: Vec<Packet>,
}

impl Linux {
    fn new(values: &Values, limit: Limit, mut random: Generator) -> Self {
        let whole = |name| values.whole(&PARAMS, name) as u64;
        let (depth, unit, perturb) = (whole("depth"), whole("allot_unit"), values.real(&PARAMS, "perturb"));
        let mut flows = whole("flows").min(whole("divisor"));
        let limit = match limit {
            Limit::Packets(n) => {
                let n = n.min(depth * flows);
                flows = flows.min(n);
                Limit::Packets(n)
            }
            bytes => bytes,
        };
        let slots = flows as usize;
        Linux {
            fifos: ClassFifos::new(slots),
            round: Round::new(slots),
            longest: SlotHeap::new(),
            changes: 0,
            table: vec![NONE; whole("divisor") as usize],
            entry: vec![NONE; slots],
            allotment: vec![0; slots],
            // The kernel puts each free FIFO in front of the others, so that it starts with the last.
            free: (0..slots as u32).collect(),
            limit,
            depth,
            quantum: whole("quantum").div_ceil(unit) as i64,
            unit: unit as u32,
            end: if values.flag(&PARAMS, "headdrop") { End::Head } else { End::Tail },
            salt: random.uniform().to_bits(),
            perturb,
            next_salt: Time::from_seconds(perturb),
            random,
            moving: Vec::new(),
        }
    }

    /// The FIFO of `flow`, a free one if it has none yet; nothing if there is none.
    fn slot(&mut self, flow: u64) -> Option<usize> {
        let entry = hash::bucket(flow, self.salt, self.table.len());
        if self.table[entry] == NONE {
            let slot = self.free.pop()?;
            self.table[entry] = slot;
            self.entry[slot as usize] = entry as u32;
        }
        Some(self.table[entry] as usize)
    }

    fn append(&mut self, slot: usize, packet: Packet) {
        self.fifos.push(slot, packet);
        if self.fifos.packets_of(slot) == 1 {
            self.round.join(slot);
            self.allotment[slot] = self.quantum;
        }
        self.changed(slot);
    }

    fn remove(&mut self, slot: usize, end: End) -> Option<Packet> {
        let packet = self.fifos.take(slot, end);
        self.changed(slot);
        if self.fifos.packets_of(slot) == 0 {
            self.round.leave(slot);
            self.table[self.entry[slot] as usize] = NONE;
            self.free.push(slot as u32);
        }
        packet
    }

    fn changed(&mut self, slot: usize) {
        self.changes += 1;
        match self.fifos.packets_of(slot) {
            0 => self.longest.remove(slot),
            packets => self.longest.set(slot, (Reverse(packets), Reverse(self.changes))),
        }
    }

    /// A new salt if it is time, and every packet goes to the FIFO it has now.
    fn perturb(&mut self, now: Time, dropped: &mut dyn FnMut(&Packet)) {
        if self.perturb == 0.0 || now < self.next_salt {
            return;
        }
        let missed = ((now - self.next_salt) / self.perturb).floor();
        self.next_salt = self.next_salt + (missed + 1.0) * self.perturb;
        self.salt = self.random.uniform().to_bits();
        let mut moving = std::mem::take(&mut self.moving);
        for slot in 0..self.entry.len() {
            while self.fifos.packets_of(slot) > 0 {
                moving.extend(self.remove(slot, End::Head));
            }
        }
        for packet in moving.drain(..) {
            match self.slot(packet.flow).filter(|&slot| self.fifos.packets_of(slot) < self.depth) {
                Some(slot) => self.append(slot, packet),
                None => dropped(&packet),
            }
        }
        self.moving = moving;
    }
}

impl Schedule for Linux {
    fn arrive(&mut self, packet: Packet, now: Time, dropped: &mut dyn FnMut(&Packet)) -> bool {
        self.perturb(now, dropped);
        let slot = match self.slot(packet.flow) {
            Some(slot) if self.fifos.packets_of(slot) < self.depth || self.end == End::Head => slot,
            _ => {
                dropped(&packet);
                return false;
            }
        };
        if self.fifos.packets_of(slot) >= self.depth {
            // The flow keeps its place in the round and its length.
            if let Some(oldest) = self.fifos.take(slot, End::Head) {
                dropped(&oldest);
            }
            self.fifos.push(slot, packet);
        } else {
            self.append(slot, packet);
        }
        let mut admitted = true;
        while self.fifos.exceeds(self.limit) {
            let Some(((Reverse(packets), _), longest)) = self.longest.first() else { break };
            let loser = if packets == 1 { self.round.current().unwrap_or(longest) } else { longest };
            let Some(victim) = self.remove(loser, self.end) else { break };
            dropped(&victim);
            // The arrival is the newest packet of its flow: the first to go from the tail, the last from the head.
            admitted &= loser != slot || (self.end == End::Head && self.fifos.packets_of(slot) > 0);
        }
        admitted
    }

    fn take(&mut self, now: Time, dropped: &mut dyn FnMut(&Packet)) -> Option<Packet> {
        self.perturb(now, dropped);
        let mut passed = 0;
        let slot = loop {
            let slot = self.round.current()?;
            if self.allotment[slot] > 0 {
                break slot;
            }
            self.allotment[slot] += self.quantum;
            self.round.advance();
            passed += 1;
            if passed == self.round.len() {
                self.skip_rounds();
                passed = 0;
            }
        };
        let packet = self.remove(slot, End::Head)?;
        if self.fifos.packets_of(slot) > 0 {
            self.allotment[slot] -= i64::from(packet.size.div_ceil(self.unit));
        }
        Some(packet)
    }

    fn packets(&self) -> u64 {
        self.fifos.packets()
    }

    fn bytes(&self) -> u64 {
        self.fifos.bytes()
    }

    fn gauges(&self, out: &mut dyn FnMut(&'static str, f64)) {
        out("active", self.round.len() as f64);
    }
}

impl Linux {
    /// A whole round has passed without a packet. Adds at once what all the rounds would add that end so too.
    fn skip_rounds(&mut self) {
        // A FIFO passes until its allotment is at least 1.
        let rounds = |slot: usize| ((1 - self.allotment[slot]).max(0) + self.quantum - 1) / self.quantum;
        let idle = self.round.in_order().map(rounds).min().unwrap_or(0);
        for slot in self.round.in_order() {
            self.allotment[slot] += idle * self.quantum;
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn values(pairs: &[(&'static str, Value)]) -> Values {
        let mut values = Values::new();
        for &(name, value) in pairs {
            values.set(name, value);
        }
        values
    }

    fn linux(pairs: &[(&'static str, Value)], limit: u64) -> Linux {
        Linux::new(&values(pairs), Limit::Packets(limit), Generator::stream(1, "sfq"))
    }

    fn ns2(pairs: &[(&'static str, Value)], limit: Limit) -> Ns2 {
        Ns2::new(&values(pairs), limit)
    }

    /// Arrivals of `flow`, numbered on; the tags of what is dropped.
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

    /// ns-2's rule with its defaults, nothing departs: one flow is admitted 13 times, two in turn 10 times each.
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
        // 16 buckets share 40 places: 2 each. 24 taken by others leave 16, 25 leave 15.
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
        // 24 wait and 16 places are left: three find used = 0, 1, 2; then 13 are left, and 3 is more than 2.
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
        // 1000 B of a packet of 1000 B each: the same as packets.
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
        let mut queue = Linux::new(&Values::new(), Limit::Bytes(300), Generator::stream(1, "sfq"));
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

    /// With 1514 B a turn, 1500 B leave 14 B (2 units of 8 B), so that a second packet goes out in the first turn.
    #[test]
    fn linux_spends_an_allotment() {
        let mut queue = linux(&[], 100);
        arrive(&mut queue, 1, 1500, 0..4);
        arrive(&mut queue, 2, 500, 4..10);
        // 190 units. A: 190, 2, -186 | B: 190, 127, 64, 1, -62 | A: -186 + 190 = 4, -184 | B: 128, 65, 0 | A: 6.
        assert_eq!(served(&mut queue), [1, 1, 2, 2, 2, 2, 1, 2, 2, 1]);
    }

    #[test]
    fn linux_adds_many_small_quanta_at_once() {
        let pairs = [("allot_unit", Value::Whole(1)), ("quantum", Value::Whole(7))];
        let mut queue = linux(&pairs, 100);
        for (flow, size, packets) in [(1, 600, 5), (2, 1200, 3), (3, 300, 9)] {
            arrive(&mut queue, flow, size, 0..packets);
        }
        // By hand in bytes, 7 a turn.
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
}
