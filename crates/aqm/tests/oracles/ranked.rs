//! SP-PIFO, AIFO and AFQ against slow, direct transcriptions of their authors' simulators (AFQ: of SP-PIFO's), with the
//! differences that their pages name. Lists are searched from end to end, and no flow is ever forgotten.
//!
//! Every admission, drop with its reason and departure must agree. Then each rule is broken in turn, and they must
//! disagree.

use crate::common::{queue, values};
use crate::script::{
    agrees_by_every_rule, difference, keeps, run_queue, run_slow, script, Dice, Script, Seen, Slow, Step, Traffic,
    MIXED,
};
use earlydrop_aqm::prelude::*;
use std::collections::BTreeMap;

const LINK: Link = Link { rate_bps: 10e6, delay_s: 0.02 };

#[derive(Debug)]
struct Setting {
    limit: Limit,
    class_ranks: bool,
    queues: usize,
    each: bool,
    k: f64,
    window: usize,
    sampling: usize,
    bytes_per_round: u64,
}

/// computeRank and updateRound: start-time fair queueing.
struct Ranks<'a> {
    class: bool,
    broken: &'a str,
    round: u64,
    last_finish: BTreeMap<u64, u64>,
}

impl<'a> Ranks<'a> {
    fn new(class: bool, broken: &'a str) -> Self {
        Ranks { class, broken, round: 0, last_finish: BTreeMap::new() }
    }

    fn keeps(&self, rule: &'static str) -> bool {
        keeps(self.broken, rule)
    }

    fn of(&self, packet: &Packet) -> u64 {
        if self.class {
            return u64::from(packet.class);
        }
        match self.last_finish.get(&packet.flow) {
            Some(&finish) if !self.keeps("not before the round") => finish,
            Some(&finish) if finish > self.round && self.keeps("not before the last packet") => finish,
            _ => self.round,
        }
    }

    fn admitted(&mut self, packet: &Packet, rank: u64) {
        let size = if self.keeps("a finish a packet") { u64::from(packet.size) } else { 1000 };
        self.last_finish.insert(packet.flow, rank + size);
    }

    fn served(&mut self, rank: u64, empty: bool) {
        if self.keeps("the round follows") && (rank > self.round || !self.keeps("the round does not run back")) {
            self.round = rank;
        }
        if empty && self.keeps("a busy period ends") {
            self.round = self.last_finish.values().copied().max().unwrap_or(0).max(self.round);
        }
    }
}

fn fits(limit: Limit, waiting: &[(u64, Packet)], packet: &Packet) -> bool {
    match limit {
        Limit::Packets(n) => (waiting.len() as u64) < n,
        Limit::Bytes(n) => {
            waiting.iter().map(|(_, packet)| u64::from(packet.size)).sum::<u64>() + u64::from(packet.size) <= n
        }
    }
}

fn share(limit: Limit, parts: u64) -> Limit {
    let of = |n: u64| n.div_ceil(parts);
    match limit {
        Limit::Packets(n) => Limit::Packets(of(n)),
        Limit::Bytes(n) => Limit::Bytes(of(n)),
    }
}

/// A full buffer refuses `packet`.
fn overflow(packet: &Packet, seen: &mut Vec<Seen>) {
    seen.extend([Seen::Dropped(packet.tag, Reason::Overflow), Seen::Refused]);
}

struct SpPifo<'a> {
    set: &'a Setting,
    broken: &'a str,
    ranks: Ranks<'a>,
    queue_list: Vec<Vec<(u64, Packet)>>,
    queue_bounds: Vec<i64>,
}

impl<'a> SpPifo<'a> {
    fn new(set: &'a Setting, broken: &'a str) -> Self {
        let (queue_list, queue_bounds) = (vec![Vec::new(); set.queues], vec![0; set.queues]);
        SpPifo { set, broken, ranks: Ranks::new(set.class_ranks, broken), queue_list, queue_bounds }
    }

    fn keeps(&self, rule: &'static str) -> bool {
        keeps(self.broken, rule)
    }
}

impl Slow for SpPifo<'_> {
    fn arrive(&mut self, packet: Packet, _now: f64, seen: &mut Vec<Seen>) {
        let rank = self.ranks.of(&packet) as i64;
        let mut order: Vec<usize> = (0..self.set.queues).rev().collect();
        if !self.keeps("from the last") {
            order.reverse();
        }
        let end = order[order.len() - 1];
        let reached =
            |bound: i64| if self.keeps("a bound is reached by its rank") { bound <= rank } else { bound < rank };
        let Some(&q) = order.iter().find(|&&q| reached(self.queue_bounds[q]) || q == end) else { return };
        let own = if self.set.each { share(self.set.limit, self.set.queues as u64) } else { self.set.limit };
        let all: Vec<(u64, Packet)> = self.queue_list.concat();
        if !fits(own, &self.queue_list[q], &packet) || !fits(self.set.limit, &all, &packet) {
            if !self.keeps("a full queue moves nothing") {
                self.queue_bounds[q] = rank;
            }
            return overflow(&packet, seen);
        }
        let cost = self.queue_bounds[q] - rank;
        if cost <= 0 || self.keeps("up") {
            self.queue_bounds[q] = rank;
        }
        if cost > 0 {
            let cost = if self.keeps("down by the cost") { cost } else { 1 };
            let most = if self.keeps("down in all others") { self.set.queues } else { (q + 2).min(self.set.queues) };
            for w in q + 1..most {
                self.queue_bounds[w] -= cost;
            }
        }
        self.ranks.admitted(&packet, rank as u64);
        self.queue_list[q].push((rank as u64, packet));
        seen.push(Seen::Admitted { marked: false });
    }

    fn ask(&mut self, _now: f64, seen: &mut Vec<Seen>) {
        let mut order: Vec<usize> = (0..self.set.queues).collect();
        if !self.keeps("the first is served") {
            order.reverse();
        }
        let Some(q) = order.into_iter().find(|&q| !self.queue_list[q].is_empty()) else {
            return seen.push(Seen::Empty);
        };
        let (rank, packet) = self.queue_list[q].remove(0);
        self.ranks.served(rank, self.queue_list.iter().all(Vec::is_empty));
        seen.push(Seen::Left(packet.tag, packet.ecn));
    }
}

struct Aifo<'a> {
    set: &'a Setting,
    broken: &'a str,
    ranks: Ranks<'a>,
    waiting: Vec<(u64, Packet)>,
    /// Ranks, oldest first.
    window: Vec<u64>,
    arrivals: usize,
}

impl<'a> Aifo<'a> {
    fn new(set: &'a Setting, broken: &'a str) -> Self {
        let ranks = Ranks::new(set.class_ranks, broken);
        Aifo { set, broken, ranks, waiting: Vec::new(), window: Vec::new(), arrivals: 0 }
    }

    fn keeps(&self, rule: &'static str) -> bool {
        keeps(self.broken, rule)
    }

    fn enter(&mut self, rank: u64) {
        self.arrivals += 1;
        if self.arrivals.is_multiple_of(self.set.sampling) || !self.keeps("every so many") {
            self.window.push(rank);
            if self.window.len() > self.set.window {
                let at = if self.keeps("the window slides") { 0 } else { self.set.window };
                self.window.remove(at);
            }
        }
    }
}

impl Slow for Aifo<'_> {
    fn arrive(&mut self, packet: Packet, _now: f64, seen: &mut Vec<Seen>) {
        let rank = self.ranks.of(&packet);
        if !self.keeps("the quantile before it enters") {
            self.enter(rank);
        }
        let equal = !self.keeps("below, not equal");
        let below = self.window.iter().filter(|&&other| rank > other || equal && rank == other).count();
        let quantile = if self.window.is_empty() { 0.0 } else { below as f64 / self.window.len() as f64 };
        let (queue_length, occupied) = match self.set.limit {
            Limit::Packets(n) => (n as f64, self.waiting.len() as f64),
            Limit::Bytes(n) => (n as f64, self.waiting.iter().map(|(_, packet)| f64::from(packet.size)).sum()),
        };
        let k = self.set.k;
        let share = if self.keeps("the threshold") { (1.0 - k) * queue_length } else { queue_length };
        let threshold = (queue_length - occupied) / share;
        let below = quantile < threshold || quantile == threshold && self.keeps("at the threshold");
        let admit = occupied <= k * queue_length || below;
        if self.keeps("the quantile before it enters") && (admit || self.keeps("drops enter the window")) {
            self.enter(rank);
        }
        if !admit {
            seen.extend([Seen::Dropped(packet.tag, Reason::Forced), Seen::Refused]);
        } else if !fits(self.set.limit, &self.waiting, &packet) {
            overflow(&packet, seen);
        } else {
            self.ranks.admitted(&packet, rank);
            self.waiting.push((rank, packet));
            seen.push(Seen::Admitted { marked: false });
        }
    }

    fn ask(&mut self, _now: f64, seen: &mut Vec<Seen>) {
        if self.waiting.is_empty() {
            return seen.push(Seen::Empty);
        }
        let (rank, packet) = self.waiting.remove(0);
        self.ranks.served(rank, self.waiting.is_empty());
        seen.push(Seen::Left(packet.tag, packet.ecn));
    }
}

struct Afq<'a> {
    set: &'a Setting,
    broken: &'a str,
    /// Round and packet, in the order of arrival.
    waiting: Vec<(u64, Packet)>,
    flow_bids: BTreeMap<u64, u64>,
    current_round: u64,
}

impl<'a> Afq<'a> {
    fn new(set: &'a Setting, broken: &'a str) -> Self {
        Afq { set, broken, waiting: Vec::new(), flow_bids: BTreeMap::new(), current_round: 0 }
    }

    fn keeps(&self, rule: &'static str) -> bool {
        keeps(self.broken, rule)
    }
}

impl Slow for Afq<'_> {
    fn arrive(&mut self, packet: Packet, _now: f64, seen: &mut Vec<Seen>) {
        let per_round = self.set.bytes_per_round;
        let mut bid = if self.keeps("bids start with the round") { self.current_round * per_round } else { 0 };
        if let Some(&last) = self.flow_bids.get(&packet.flow) {
            if bid < last && self.keeps("bids go on") {
                bid = last;
            }
        }
        bid += if self.keeps("a bid has its packet") { u64::from(packet.size) } else { 1000 };
        let packet_round =
            if self.keeps("rounds are rounded down") { bid / per_round } else { bid.div_ceil(per_round) };
        let packet_round = packet_round.max(self.current_round);
        let last = if self.keeps("the last round") { self.set.queues as u64 - 1 } else { self.set.queues as u64 };
        let far = packet_round - self.current_round > last;
        if far || !fits(self.set.limit, &self.waiting, &packet) {
            if !self.keeps("drops cost no bid") {
                self.flow_bids.insert(packet.flow, bid);
            }
            let reason = if far { Reason::Forced } else { Reason::Overflow };
            return seen.extend([Seen::Dropped(packet.tag, reason), Seen::Refused]);
        }
        self.flow_bids.insert(packet.flow, bid);
        self.waiting.push((packet_round, packet));
        seen.push(Seen::Admitted { marked: false });
    }

    fn ask(&mut self, _now: f64, seen: &mut Vec<Seen>) {
        let Some(round) = self.waiting.iter().map(|&(round, _)| round).min() else { return seen.push(Seen::Empty) };
        if self.keeps("the round goes on") {
            self.current_round = round;
        }
        let at = self.waiting.iter().position(|&(other, _)| other == round).unwrap();
        let (_, packet) = self.waiting.remove(at);
        seen.push(Seen::Left(packet.tag, packet.ecn));
    }
}

fn draw(seed: u64) -> (Setting, Script) {
    let mut dice = Dice(seed);
    let set = Setting {
        limit: dice.one_of(&[Limit::Packets(12), Limit::Packets(60), Limit::Bytes(30_000)]),
        class_ranks: dice.below(3) == 0,
        queues: dice.one_of(&[2, 3, 8]),
        each: dice.below(2) == 0,
        k: dice.one_of(&[0.0, 0.1, 0.5]),
        window: dice.one_of(&[2, 8, 20]),
        sampling: dice.one_of(&[1, 1, 3]),
        bytes_per_round: dice.one_of(&[1000, 1500, 6000]),
    };
    let flows = dice.one_of(&[2, 5, 30]);
    let traffic = Traffic { flows, sizes: MIXED, grid: 1.0 / 4096.0, service: 3.0, period: 0.0, steps: 3000 };
    let mut script = script(&mut dice, traffic);
    for (_, step) in &mut script {
        if let Step::Arrive(packet) = step {
            packet.class = dice.below(8) as u8;
        }
    }
    (set, script)
}

fn compare(aqm: &str, seed: u64, broken: &str) -> Option<String> {
    let (set, script) = draw(seed);
    let rank = ("rank", Value::Choice(if set.class_ranks { "class" } else { "start_time" }));
    let queues = ("queues", Value::Whole(set.queues as i64));
    let given = match aqm {
        "sp_pifo" => vec![rank, queues, ("buffer", Value::Choice(if set.each { "each" } else { "shared" }))],
        "aifo" => vec![
            rank,
            ("k", Value::Real(set.k)),
            ("window", Value::Whole(set.window as i64)),
            ("sampling", Value::Whole(set.sampling as i64)),
        ],
        _ => vec![queues, ("bytes_per_round", Value::Whole(set.bytes_per_round as i64))],
    };
    let random = Generator::custom(|| panic!("they draw nothing"));
    let mut fast = queue(aqm, &values(&given), &LINK, set.limit, true, random);
    let mut slow: Box<dyn Slow> = match aqm {
        "sp_pifo" => Box::new(SpPifo::new(&set, broken)),
        "aifo" => Box::new(Aifo::new(&set, broken)),
        _ => Box::new(Afq::new(&set, broken)),
    };
    difference(&run_queue(&mut *fast, &script, ""), &run_slow(&mut *slow, &script))
}

const SEEDS: std::ops::Range<u64> = 0..200;

#[test]
fn they_do_what_the_simulators_do() {
    for (aqm, count) in [("sp_pifo", 13), ("aifo", 13), ("afq", 7)] {
        agrees_by_every_rule(count, SEEDS, |seed, rule| compare(aqm, seed, rule));
    }
}
