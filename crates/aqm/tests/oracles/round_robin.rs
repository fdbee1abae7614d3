//! DRR and SFQ against slow transcriptions of the programs they follow: ns-2.35 `drr.cc` and `sfq.cc`, Linux
//! `sch_sfq.c`. Nothing is shared but packets and times; lists are searched from end to end where the disciplines keep
//! heaps and rings.
//!
//! Every admission, drop and departure must agree. Then each rule is broken in turn, and they must disagree.

use crate::common::{queue, values};
use crate::script::{keeps, rules};
use earlydrop_aqm::prelude::*;

#[derive(Clone, Copy, Debug, PartialEq)]
enum Seen {
    Admitted(u32),
    Dropped(u32),
    Left(u32),
    NothingLeft,
}

trait Oracle {
    fn enqueue(&mut self, packet: Packet, now: f64, seen: &mut Vec<Seen>);
    fn dequeue(&mut self, now: f64, seen: &mut Vec<Seen>);
}

/// ns-2's DRR: flow numbers modulo the buckets.
struct Drr<'a> {
    broken: &'a str,
    buckets: Vec<Vec<Packet>>,
    deficit: Vec<u32>,
    turn: Vec<bool>,
    /// Active buckets; the first is `curr`.
    active: Vec<usize>,
    quantum: u32,
    limit: Limit,
    tail: bool,
}

impl Drr<'_> {
    fn is(&self, rule: &'static str) -> bool {
        !keeps(self.broken, rule)
    }

    fn bytes(&self, bucket: usize) -> u32 {
        self.buckets[bucket].iter().map(|packet| packet.size).sum()
    }

    fn too_much(&self) -> bool {
        match self.limit {
            Limit::Packets(n) => self.buckets.iter().map(Vec::len).sum::<usize>() as u64 > n,
            Limit::Bytes(n) => {
                let bytes: u32 = (0..self.buckets.len()).map(|bucket| self.bytes(bucket)).sum();
                u64::from(bytes) > if self.is("limit") { n - 1 } else { n }
            }
        }
    }

    fn next(&mut self) {
        let first = self.active.remove(0);
        self.active.push(first);
    }

    fn idle(&mut self, bucket: usize) {
        self.active.retain(|&other| other != bucket);
    }
}

impl Oracle for Drr<'_> {
    fn enqueue(&mut self, packet: Packet, _now: f64, seen: &mut Vec<Seen>) {
        let bucket = packet.flow as usize % self.buckets.len();
        self.buckets[bucket].push(packet);
        if self.buckets[bucket].len() == 1 {
            let place = if self.is("new comes last") { 0 } else { self.active.len() };
            self.active.insert(place, bucket);
            if !self.is("deficit starts at 0") {
                self.deficit[bucket] = 0;
            }
        }
        let mut dropped = Vec::new();
        while self.too_much() {
            let mut longest = self.active[0];
            for &other in &self.active {
                let longer = match (self.is("longest"), self.is("first of equals")) {
                    (true, _) => self.buckets[other].len() > self.buckets[longest].len(),
                    (_, true) => self.bytes(other) >= self.bytes(longest),
                    _ => self.bytes(other) > self.bytes(longest),
                };
                if longer {
                    longest = other;
                }
            }
            let queue = &mut self.buckets[longest];
            let at = if self.tail == keeps(self.broken, "end") { queue.len() - 1 } else { 0 };
            dropped.push(queue.remove(at).tag);
            if self.buckets[longest].is_empty() {
                if self.is("idle in a drop") && self.active[0] == longest && self.active.len() > 1 {
                    self.next();
                    self.next();
                }
                self.idle(longest);
                self.turn[longest] &= !self.is("turn is kept");
            }
        }
        seen.extend(dropped.iter().map(|&tag| Seen::Dropped(tag)));
        if !dropped.contains(&packet.tag) {
            seen.push(Seen::Admitted(packet.tag));
        }
    }

    fn dequeue(&mut self, _now: f64, seen: &mut Vec<Seen>) {
        if self.active.is_empty() {
            seen.push(Seen::NothingLeft);
            return;
        }
        // Broken rules may never find a packet.
        for _ in 0..10_000 {
            let bucket = self.active[0];
            if !self.turn[bucket] || self.is("credit once a turn") {
                self.deficit[bucket] += self.quantum;
                self.turn[bucket] = true;
            }
            let size = self.buckets[bucket][0].size;
            let enough = if self.is("deficit >=") { self.deficit[bucket] > size } else { self.deficit[bucket] >= size };
            if enough {
                if !self.is("pay") {
                    self.deficit[bucket] -= size;
                }
                seen.push(Seen::Left(self.buckets[bucket].remove(0).tag));
                if self.buckets[bucket].is_empty() {
                    self.turn[bucket] = self.is("empty loses its deficit");
                    self.deficit[bucket] = 0;
                    self.idle(bucket);
                }
                return;
            }
            self.turn[bucket] = self.is("turn ends when it fails");
            self.next();
        }
        seen.push(Seen::NothingLeft);
    }
}

/// ns-2's SFQ. Few flows in many buckets: each has its own.
struct Ns2Sfq<'a> {
    broken: &'a str,
    /// Flow and packets; the first is served next.
    active: Vec<(u64, Vec<Packet>)>,
    buckets: usize,
    limit: usize,
}

impl Ns2Sfq<'_> {
    fn is(&self, rule: &'static str) -> bool {
        !keeps(self.broken, rule)
    }
}

impl Oracle for Ns2Sfq<'_> {
    fn enqueue(&mut self, packet: Packet, _now: f64, seen: &mut Vec<Seen>) {
        let place = self.active.iter().position(|&(flow, _)| flow == packet.flow);
        let used = place.map_or(0, |i| self.active[i].1.len());
        let waiting: usize = self.active.iter().map(|(_, packets)| packets.len()).sum();
        let left = self.limit - waiting + usize::from(self.is("left"));
        let half = if self.is("half of what is left") { left.div_ceil(2) } else { left / 2 };
        let scarce = if self.is("scarce") { left <= self.buckets } else { left < self.buckets };
        let share = self.limit / self.buckets;
        let above = if self.is("share") { used >= share } else { used > share };
        if used >= half || scarce && above || left == 0 {
            seen.push(Seen::Dropped(packet.tag));
            return;
        }
        match place {
            Some(i) => self.active[i].1.push(packet),
            None if self.is("new comes last") => self.active.insert(0, (packet.flow, vec![packet])),
            None => self.active.push((packet.flow, vec![packet])),
        }
        seen.push(Seen::Admitted(packet.tag));
    }

    fn dequeue(&mut self, _now: f64, seen: &mut Vec<Seen>) {
        let stays = self.is("one packet a turn");
        let Some((_, packets)) = self.active.first_mut() else {
            seen.push(Seen::NothingLeft);
            return;
        };
        seen.push(Seen::Left(packets.remove(0).tag));
        if packets.is_empty() {
            self.active.remove(0);
        } else if !stays {
            let first = self.active.remove(0);
            self.active.push(first);
        }
    }
}

/// A slot of Linux' SFQ.
#[derive(Clone, Default)]
struct Slot {
    flow: u64,
    packets: Vec<Packet>,
    allot: i64,
}

/// Linux' SFQ. Few flows in a large table: each has its own entry under any salt.
struct LinuxSfq<'a> {
    broken: &'a str,
    slots: Vec<Slot>,
    /// Slots by length: `dep[n]` holds those with n packets, the one that came last in front.
    dep: Vec<Vec<usize>>,
    /// Slots with packets; the first is served next.
    round: Vec<usize>,
    limit: usize,
    depth: usize,
    quantum: i64,
    unit: i64,
    headdrop: bool,
    perturb: f64,
    due: f64,
}

impl LinuxSfq<'_> {
    fn is(&self, rule: &'static str) -> bool {
        !keeps(self.broken, rule)
    }

    /// `sfq_unlink` and `sfq_link`.
    fn relink(&mut self, slot: usize) {
        for list in &mut self.dep {
            list.retain(|&other| other != slot);
        }
        let length = self.slots[slot].packets.len();
        let place = if self.is("latest of equals") && length > 0 { self.dep[length].len() } else { 0 };
        self.dep[length].insert(place, slot);
    }

    fn slot(&mut self, flow: u64) -> Option<usize> {
        let used = self.slots.iter().position(|slot| slot.flow == flow && !slot.packets.is_empty());
        let free = if self.is("free slots") { self.dep[0].last() } else { self.dep[0].first() };
        used.or(free.copied())
    }

    fn append(&mut self, slot: usize, packet: Packet) {
        self.slots[slot].flow = packet.flow;
        self.slots[slot].packets.push(packet);
        self.relink(slot);
        if self.slots[slot].packets.len() == 1 {
            let place = if self.is("new comes last") { 0 } else { self.round.len() };
            self.round.insert(place, slot);
            self.slots[slot].allot = if self.is("allot starts") { 1 } else { self.quantum };
        }
    }

    fn remove(&mut self, slot: usize, head: bool) -> Packet {
        let packets = &mut self.slots[slot].packets;
        let packet = if head { packets.remove(0) } else { packets.pop().expect("a packet") };
        self.relink(slot);
        if self.slots[slot].packets.is_empty() {
            self.round.retain(|&other| other != slot);
        }
        packet
    }

    /// `sfq_rehash`, at the first call after it was due.
    fn rehash(&mut self, now: f64) {
        if self.perturb == 0.0 || now < self.due || self.is("perturb") {
            return;
        }
        while self.due <= now {
            self.due += self.perturb;
        }
        let mut all = Vec::new();
        let order: Vec<usize> =
            if self.is("rehash by slot") { self.round.clone() } else { (0..self.slots.len()).collect() };
        for slot in order {
            while !self.slots[slot].packets.is_empty() {
                all.push(self.remove(slot, true));
            }
        }
        for packet in all {
            let slot = self.slot(packet.flow).expect("as many slots as before");
            self.append(slot, packet);
        }
    }
}

impl Oracle for LinuxSfq<'_> {
    fn enqueue(&mut self, packet: Packet, now: f64, seen: &mut Vec<Seen>) {
        self.rehash(now);
        let Some(slot) = self.slot(packet.flow) else {
            seen.push(Seen::Dropped(packet.tag));
            return;
        };
        let depth = self.depth + usize::from(self.is("depth"));
        let mut dropped = Vec::new();
        if self.slots[slot].packets.len() >= depth {
            if !self.headdrop || self.is("head at depth") {
                seen.push(Seen::Dropped(packet.tag));
                return;
            }
            dropped.push(self.slots[slot].packets.remove(0).tag);
            self.slots[slot].packets.push(packet);
        } else {
            self.append(slot, packet);
            let waiting: usize = self.slots.iter().map(|slot| slot.packets.len()).sum();
            if waiting > self.limit - usize::from(self.is("limit")) {
                let by_bytes = |slot: &usize| self.slots[*slot].packets.iter().map(|p| p.size).sum::<u32>();
                let longest = match self.dep.iter().rposition(|list| !list.is_empty()) {
                    _ if self.is("longest") => *self.round.iter().max_by_key(|slot| by_bytes(slot)).expect("packets"),
                    Some(1) => self.round[0],
                    Some(length) => self.dep[length][0],
                    None => unreachable!("packets wait"),
                };
                dropped.push(self.remove(longest, self.headdrop != self.is("head or tail")).tag);
            }
        }
        seen.extend(dropped.iter().map(|&tag| Seen::Dropped(tag)));
        if !dropped.contains(&packet.tag) {
            seen.push(Seen::Admitted(packet.tag));
        }
    }

    fn dequeue(&mut self, now: f64, seen: &mut Vec<Seen>) {
        self.rehash(now);
        if self.round.is_empty() {
            seen.push(Seen::NothingLeft);
            return;
        }
        loop {
            let slot = self.round[0];
            let spent = if self.is("allot <= 0") { self.slots[slot].allot < 0 } else { self.slots[slot].allot <= 0 };
            if spent {
                self.round.remove(0);
                self.round.push(slot);
                self.slots[slot].allot =
                    if self.is("allot adds") { self.quantum } else { self.slots[slot].allot + self.quantum };
                continue;
            }
            let packet = self.remove(slot, true);
            seen.push(Seen::Left(packet.tag));
            let size = i64::from(packet.size);
            let price = if self.is("rounded up") { size / self.unit } else { (size + self.unit - 1) / self.unit };
            if !self.slots[slot].packets.is_empty() && !self.is("pays") {
                self.slots[slot].allot -= price;
            }
            return;
        }
    }
}

/// The discipline of the catalogue.
struct Ours(Box<dyn Discipline>);

impl Oracle for Ours {
    fn enqueue(&mut self, packet: Packet, now: f64, seen: &mut Vec<Seen>) {
        let mut report = |victim: &Packet, _| seen.push(Seen::Dropped(victim.tag));
        if self.0.enqueue(packet, Time::from_seconds(now), &mut report).is_some() {
            seen.push(Seen::Admitted(packet.tag));
        }
    }

    fn dequeue(&mut self, now: f64, seen: &mut Vec<Seen>) {
        let mut report = |victim: &Packet, _| seen.push(Seen::Dropped(victim.tag));
        let packet = self.0.dequeue(Time::from_seconds(now), &mut report);
        seen.push(packet.map_or(Seen::NothingLeft, |packet| Seen::Left(packet.tag)));
    }
}

/// Arrivals and departures at random, the load now above and now below what leaves; some flows send more than others.
fn run(seed: u64, flows: f64, oracle: &mut dyn Oracle) -> Vec<Seen> {
    let mut random = Generator::stream(seed, "round robin");
    let mut seen = Vec::new();
    let mut now = 0.0;
    for tag in 0..3000 {
        now += random.uniform() * 1e-3;
        let arriving = [0.7, 0.35, 0.55][(tag / 200) as usize % 3];
        if random.uniform() < arriving {
            let flow = (random.uniform() * random.uniform() * flows) as u64;
            let size = [40, 100, 250, 500, 800, 1500][(random.uniform() * 6.0) as usize];
            oracle.enqueue(Packet { tag, ..Packet::new(flow, size) }, now, &mut seen);
        } else {
            oracle.dequeue(now, &mut seen);
        }
    }
    seen
}

fn ours(aqm: &str, given: &Values, limit: Limit, seed: u64, flows: f64) -> Vec<Seen> {
    let link = Link { rate_bps: 10e6, delay_s: 0.0 };
    run(seed, flows, &mut Ours(queue(aqm, given, &link, limit, false, Generator::stream(seed, "salt"))))
}

/// Compares run by run, and finds a run in which each broken rule shows. `pair(run, rule)` gives both sides.
fn agrees_and_sees_every_rule(count: usize, runs: u64, pair: impl Fn(u64, &str) -> [Vec<Seen>; 2]) {
    let rules = rules(|| {
        for i in 0..runs {
            let [ours, oracle] = pair(i, "");
            let at = (0..ours.len().max(oracle.len())).find(|&i| ours.get(i) != oracle.get(i));
            assert_eq!(at.map(|at| (&ours[at], &oracle[at])), None, "run {i}, event {at:?}");
            assert!(ours.iter().any(|seen| matches!(seen, Seen::Dropped(_))), "run {i} fills the queue");
        }
    });
    assert_eq!(rules.len(), count, "{rules:?}");
    for rule in rules {
        let shows = (0..runs).any(|i| {
            let [ours, oracle] = pair(i, rule);
            ours != oracle
        });
        assert!(shows, "nothing shows that the rule \"{rule}\" is broken");
    }
}

#[test]
fn drr_agrees_with_ns2() {
    agrees_and_sees_every_rule(13, 12, |i, broken| {
        let (buckets, quantum) = ([10, 3, 16][i as usize % 3], [250, 1500, 30][i as usize / 3 % 3]);
        let limit = if i % 2 == 0 { Limit::Bytes(5_000) } else { Limit::Packets(20) };
        let tail = i % 4 == 3;
        let given = values(&[
            ("buckets", Value::Whole(buckets)),
            ("quantum", Value::Whole(quantum)),
            ("classify", Value::Choice("modulo")),
            ("victim", Value::Choice(if tail { "longest_tail" } else { "longest_head" })),
        ]);
        let n = buckets as usize;
        let mut drr = Drr {
            broken,
            buckets: vec![Vec::new(); n],
            deficit: vec![0; n],
            turn: vec![false; n],
            active: Vec::new(),
            quantum: quantum as u32,
            limit,
            tail,
        };
        [ours("drr", &given, limit, i, 12.0), run(i, 12.0, &mut drr)]
    });
}

#[test]
fn sfq_agrees_with_ns2() {
    agrees_and_sees_every_rule(6, 6, |i, broken| {
        // With 8 flows in buckets of their own: the hash is fixed, so their keys can be chosen.
        let (buckets, limit) = ([16, 64][i as usize % 2], [40, 37, 100][i as usize % 3]);
        let given = values(&[("dialect", Value::Choice("ns2")), ("buckets", Value::Whole(buckets))]);
        let mut sfq = Ns2Sfq { broken, active: Vec::new(), buckets: buckets as usize, limit: limit as usize };
        let flows = if buckets == 16 { 3.0 } else { 8.0 };
        [ours("sfq", &given, Limit::Packets(limit), i, flows), run(i, flows, &mut sfq)]
    });
}

#[test]
fn sfq_agrees_with_linux() {
    agrees_and_sees_every_rule(15, 12, |i, broken| {
        let (depth, limit, slots) =
            ([127, 8][i as usize % 2], [30, 60][i as usize / 2 % 2], [20, 6][i as usize / 4 % 2]);
        let (headdrop, unit) = (i % 3 == 0, if i % 5 == 4 { 1 } else { 8 });
        let perturb = if i % 3 == 1 { 0.05 } else { 0.0 };
        let given = values(&[
            ("divisor", Value::Whole(65_536)),
            ("flows", Value::Whole(slots)),
            ("depth", Value::Whole(depth)),
            ("quantum", Value::Whole(600)),
            ("allot_unit", Value::Whole(unit)),
            ("headdrop", Value::Flag(headdrop)),
            ("perturb", Value::Real(perturb)),
        ]);
        let mut sfq = LinuxSfq {
            broken,
            slots: vec![Slot::default(); slots as usize],
            dep: vec![Vec::new(); limit as usize + 2],
            round: Vec::new(),
            limit: limit.min((depth * slots) as u64) as usize,
            depth: depth as usize,
            quantum: (600 + unit - 1) / unit,
            unit,
            headdrop,
            perturb,
            due: perturb,
        };
        sfq.dep[0] = (0..slots as usize).rev().collect();
        [ours("sfq", &given, Limit::Packets(limit), i, 12.0), run(i, 12.0, &mut sfq)]
    });
}
