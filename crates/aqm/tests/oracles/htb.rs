//! HTB against a slow, direct transcription of Linux's `sch_htb.c`, with its trees, pointers and event queues, over
//! plain FIFOs: random arrivals and requests, decision for decision. Each rule of the transcription is then changed, and
//! the change must show.

use crate::common::queue;
use crate::script::{
    agrees_by_every_rule, difference, keeps, run_queue, run_slow, script, Dice, Seen, Slow, Step, Traffic, MIXED,
};
use earlydrop_aqm::parents;
use earlydrop_aqm::prelude::*;
use std::collections::{BTreeSet, VecDeque};

const LINK: Link = Link { rate_bps: 10e6, delay_s: 0.0 };
const MBUFFER: i64 = 60_000_000_000;
const SEC: i64 = 1_000_000_000;

#[derive(Clone, Copy, Debug, PartialEq)]
enum Cmode {
    CantSend,
    MayBorrow,
    CanSend,
}
use Cmode::{CanSend, CantSend, MayBorrow};

#[derive(Debug)]
struct Setting {
    /// B/s.
    root: u64,
    /// Rate and ceil in B/s, and priority.
    classes: Vec<(u64, u64, usize)>,
    burst: u64,
    cburst: u64,
    quantum: i64,
    limit: usize,
}

struct HtbClass {
    classid: u32,
    level: usize,
    parent: Option<usize>,
    prio: usize,
    deficit: [i64; 2],
    q: VecDeque<Packet>,
    feed: [BTreeSet<u32>; 8],
    ptr: [Option<u32>; 8],
    last_ptr_id: [u32; 8],
    prio_activity: u32,
    cmode: Cmode,
    pq_key: i64,
    rate: u64,
    ceil: u64,
    buffer: i64,
    cbuffer: i64,
    tokens: i64,
    ctokens: i64,
    t_c: i64,
}

struct HtbSched<'a> {
    set: &'a Setting,
    broken: &'a str,
    cl: Vec<HtbClass>,
    row: [[BTreeSet<u32>; 8]; 2],
    ptr: [[Option<u32>; 8]; 2],
    /// Classes that wait, in the order in which they came.
    wait_pq: [Vec<usize>; 2],
    near_ev_cache: [i64; 2],
    now: i64,
}

fn l2t_ns(rate: u64, len: u64) -> i64 {
    let (mut factor, mut shift) = (1_000_000_000_u64, 0_u8);
    loop {
        let mult = (factor / rate) as u32;
        if mult & (1 << 31) != 0 || factor & (1 << 63) != 0 {
            return ((len * u64::from(mult)) >> shift) as i64;
        }
        factor <<= 1;
        shift += 1;
    }
}

fn after(set: &BTreeSet<u32>, id: u32) -> Option<u32> {
    set.range(id + 1..).next().copied()
}

impl<'a> HtbSched<'a> {
    fn new(set: &'a Setting, broken: &'a str) -> Self {
        let class = |classid: u32, level, rate, ceil, prio| HtbClass {
            classid,
            level,
            parent: (level == 0).then_some(0),
            prio,
            deficit: [0; 2],
            q: VecDeque::new(),
            feed: Default::default(),
            ptr: [None; 8],
            last_ptr_id: [0; 8],
            prio_activity: 0,
            cmode: CanSend,
            pq_key: 0,
            rate,
            ceil,
            buffer: l2t_ns(rate, set.burst),
            cbuffer: l2t_ns(ceil, set.cburst),
            tokens: l2t_ns(rate, set.burst),
            ctokens: l2t_ns(ceil, set.cburst),
            t_c: 3600 * SEC,
        };
        let mut cl = vec![class(1, 1, set.root, set.root, 0)];
        cl.extend((2..).zip(&set.classes).map(|(id, &(rate, ceil, prio))| class(id, 0, rate, ceil, prio)));
        HtbSched {
            set,
            broken,
            cl,
            row: Default::default(),
            ptr: [[None; 8]; 2],
            wait_pq: [Vec::new(), Vec::new()],
            near_ev_cache: [0; 2],
            now: 0,
        }
    }

    fn keeps(&self, rule: &'static str) -> bool {
        keeps(self.broken, rule)
    }

    fn activate_prios(&mut self, cl: usize) {
        let (mut cl, mut mask) = (cl, self.cl[cl].prio_activity);
        while let (MayBorrow, Some(p), true) = (self.cl[cl].cmode, self.cl[cl].parent, mask != 0) {
            for prio in (0..8).filter(|prio| mask >> prio & 1 != 0).collect::<Vec<_>>() {
                if !self.cl[p].feed[prio].is_empty() {
                    mask &= !(1 << prio);
                }
                let id = self.cl[cl].classid;
                self.cl[p].feed[prio].insert(id);
            }
            self.cl[p].prio_activity |= mask;
            cl = p;
        }
        if self.cl[cl].cmode == CanSend {
            for prio in (0..8).filter(|prio| mask >> prio & 1 != 0) {
                self.row[self.cl[cl].level][prio].insert(self.cl[cl].classid);
            }
        }
    }

    fn deactivate_prios(&mut self, cl: usize) {
        let (mut cl, mut mask) = (cl, self.cl[cl].prio_activity);
        while let (MayBorrow, Some(p), true) = (self.cl[cl].cmode, self.cl[cl].parent, mask != 0) {
            let m = std::mem::take(&mut mask);
            let id = self.cl[cl].classid;
            for prio in (0..8).filter(|prio| m >> prio & 1 != 0) {
                if self.cl[p].ptr[prio] == Some(id) {
                    self.cl[p].last_ptr_id[prio] = if self.keeps("the place is remembered") { id } else { 0 };
                    self.cl[p].ptr[prio] = None;
                }
                self.cl[p].feed[prio].remove(&id);
                if self.cl[p].feed[prio].is_empty() {
                    mask |= 1 << prio;
                }
            }
            self.cl[p].prio_activity &= !mask;
            cl = p;
        }
        if self.cl[cl].cmode == CanSend {
            let (level, id) = (self.cl[cl].level, self.cl[cl].classid);
            for prio in (0..8).filter(|prio| mask >> prio & 1 != 0) {
                if self.ptr[level][prio] == Some(id) {
                    let next = after(&self.row[level][prio], id);
                    self.ptr[level][prio] = next.filter(|_| self.keeps("the next of the row goes on"));
                }
                self.row[level][prio].remove(&id);
            }
        }
    }

    fn class_mode(&self, cl: usize, diff: &mut i64) -> Cmode {
        let class = &self.cl[cl];
        let root = class.level == 1;
        let toks = class.ctokens + *diff;
        if toks < 0 && self.keeps("the ceil holds") && (!root || self.keeps("the root holds")) {
            *diff = -toks;
            return CantSend;
        }
        let toks = class.tokens + *diff;
        if toks >= 0 || !self.keeps("the rate holds") || (root && !self.keeps("the root holds")) {
            return CanSend;
        }
        *diff = -toks;
        if self.keeps("classes borrow") {
            MayBorrow
        } else {
            CantSend
        }
    }

    fn change_class_mode(&mut self, cl: usize, diff: &mut i64) {
        let new_mode = self.class_mode(cl, diff);
        if new_mode == self.cl[cl].cmode {
            return;
        }
        if self.cl[cl].prio_activity != 0 {
            if self.cl[cl].cmode != CantSend {
                self.deactivate_prios(cl);
            }
            self.cl[cl].cmode = new_mode;
            if new_mode != CantSend {
                self.activate_prios(cl);
            }
        } else {
            self.cl[cl].cmode = new_mode;
        }
    }

    fn add_to_wait_tree(&mut self, cl: usize, delay: i64) {
        let level = self.cl[cl].level;
        self.cl[cl].pq_key = self.now + delay;
        if self.cl[cl].pq_key == self.now {
            self.cl[cl].pq_key += 1;
        }
        self.near_ev_cache[level] = self.near_ev_cache[level].min(self.cl[cl].pq_key);
        self.wait_pq[level].push(cl);
    }

    fn accnt(&self, toks: i64, size: i64, rate: u64, bytes: u32, capped: bool) -> i64 {
        let toks = if capped { toks.min(size) } else { toks } - l2t_ns(rate, bytes.into());
        if toks <= -MBUFFER && self.keeps("debts are bounded") {
            1 - MBUFFER
        } else {
            toks
        }
    }

    fn charge_class(&mut self, cl: usize, level: usize, bytes: u32) {
        let mut next = Some(cl);
        while let Some(cl) = next {
            if self.cl[cl].level == 1 && !self.keeps("the root pays") {
                return;
            }
            let class = &self.cl[cl];
            let diff = (self.now - class.t_c).min(MBUFFER);
            let pays = class.level >= level || !self.keeps("a borrower's rate does not pay");
            let tokens = if pays {
                let capped = self.keeps("no more than the bucket");
                self.accnt(class.tokens + diff, class.buffer, class.rate, bytes, capped)
            } else {
                class.tokens + if self.keeps("a borrower's rate fills up") { diff } else { 0 }
            };
            let ctokens = if class.level >= level || self.keeps("a borrower's ceil pays") {
                let capped = self.keeps("no more than the ceil's bucket");
                self.accnt(class.ctokens + diff, class.cbuffer, class.ceil, bytes, capped)
            } else {
                class.ctokens + diff
            };
            let class = &mut self.cl[cl];
            (class.tokens, class.ctokens, class.t_c) = (tokens, ctokens, self.now);
            let old_mode = class.cmode;
            let mut diff = 0;
            self.change_class_mode(cl, &mut diff);
            if old_mode != self.cl[cl].cmode {
                if old_mode != CanSend {
                    self.wait_pq[self.cl[cl].level].retain(|&one| one != cl);
                }
                if self.cl[cl].cmode != CanSend {
                    self.add_to_wait_tree(cl, diff);
                }
            }
            next = self.cl[cl].parent;
        }
    }

    fn do_events(&mut self, level: usize) -> i64 {
        for _ in 0..500 {
            let Some(&cl) = self.wait_pq[level].iter().min_by_key(|&&cl| self.cl[cl].pq_key) else { return 0 };
            if self.cl[cl].pq_key > self.now {
                return self.cl[cl].pq_key;
            }
            self.wait_pq[level].retain(|&one| one != cl);
            let mut diff = (self.now - self.cl[cl].t_c).min(MBUFFER);
            self.change_class_mode(cl, &mut diff);
            if self.cl[cl].cmode != CanSend {
                self.add_to_wait_tree(cl, diff);
            }
        }
        panic!("too many events");
    }

    /// The leaf at which the pointers of a row point. `None` as a feed is the row itself.
    fn lookup_leaf(&mut self, level: usize, prio: usize) -> usize {
        let mut stack: Vec<Option<usize>> = vec![None];
        for _ in 0..65535 {
            let top = stack[stack.len() - 1];
            let tree = top.map_or(&self.row[level][prio], |cl| &self.cl[cl].feed[prio]).clone();
            let (mut ptr, id) = match top {
                None => (self.ptr[level][prio], 0),
                Some(cl) => (self.cl[cl].ptr[prio], std::mem::take(&mut self.cl[cl].last_ptr_id[prio])),
            };
            if ptr.is_none() && id != 0 {
                ptr = tree.range(id..).next().copied();
            }
            let rewinds = ptr.is_none();
            let found = ptr.or(tree.first().copied()).expect("a class is active");
            match top {
                None => self.ptr[level][prio] = Some(found),
                Some(cl) => self.cl[cl].ptr[prio] = Some(found),
            }
            if !rewinds {
                let cl = found as usize - 1;
                if self.cl[cl].level == 0 {
                    return cl;
                }
                stack.push(Some(cl));
            } else if stack.len() > 1 {
                stack.pop();
                assert_eq!(stack.len(), 1, "two levels");
                self.ptr[level][prio] = after(&self.row[level][prio], self.ptr[level][prio].expect("set above"));
            }
        }
        unreachable!("no leaf")
    }

    fn next_node(&mut self, level: usize, prio: usize, cl: usize) {
        match self.cl[cl].parent.filter(|_| level > 0) {
            Some(p) => {
                let ptr = self.cl[p].ptr[prio];
                self.cl[p].ptr[prio] = ptr.and_then(|id| after(&self.cl[p].feed[prio], id));
            }
            None => {
                self.ptr[0][prio] = self.ptr[0][prio].and_then(|id| after(&self.row[0][prio], id));
            }
        }
    }

    fn dequeue_tree(&mut self, prio: usize, level: usize) -> Packet {
        let cl = self.lookup_leaf(level, prio);
        let skb = self.cl[cl].q.pop_front().expect("an active leaf has packets");
        let at = if self.keeps("deficits by level") { level } else { 0 };
        self.cl[cl].deficit[at] -= i64::from(skb.size);
        if self.cl[cl].deficit[at] < 0 || !self.keeps("a quantum at a time") {
            self.cl[cl].deficit[at] += self.set.quantum;
            self.next_node(level, prio, cl);
        }
        if self.cl[cl].q.is_empty() {
            self.deactivate_prios(cl);
            self.cl[cl].prio_activity = 0;
        }
        self.charge_class(cl, level, skb.size);
        skb
    }
}

impl Slow for HtbSched<'_> {
    fn arrive(&mut self, packet: Packet, _now: f64, seen: &mut Vec<Seen>) {
        let cl = 1 + usize::from(packet.class).min(self.set.classes.len() - 1);
        if self.cl[cl].q.len() >= self.set.limit {
            seen.extend([Seen::Dropped(packet.tag, Reason::Overflow), Seen::Refused]);
            return;
        }
        self.cl[cl].q.push_back(packet);
        seen.push(Seen::Admitted { marked: false });
        if self.cl[cl].prio_activity == 0 {
            self.cl[cl].prio_activity = 1 << self.cl[cl].prio;
            self.activate_prios(cl);
        }
    }

    fn ask(&mut self, now: f64, seen: &mut Vec<Seen>) {
        if self.cl.iter().all(|cl| cl.q.is_empty()) {
            seen.push(Seen::Empty);
            return;
        }
        self.now = 3600 * SEC + (now * 1e9).round() as i64;
        for level in 0..2 {
            let early = i64::from(!self.keeps("modes change at events")) * SEC / 100;
            if self.now >= self.near_ev_cache[level] + early {
                let event = self.do_events(level);
                self.near_ev_cache[level] = if event != 0 { event } else { self.now + SEC };
            }
            let mut prios: Vec<usize> = (0..8).filter(|&prio| !self.row[level][prio].is_empty()).collect();
            if !self.keeps("the lowest priority first") {
                prios.reverse();
            }
            if let Some(&prio) = prios.first() {
                let skb = self.dequeue_tree(prio, level);
                seen.push(Seen::Left(skb.tag, skb.ecn));
                return;
            }
        }
        seen.push(Seen::Empty);
    }
}

fn setting(dice: &mut Dice) -> Setting {
    let root = dice.one_of(&[2_000, 125_000, 1_000_000, 12_345_678]);
    let count = 1 + dice.below(8);
    let slow = dice.below(8) == 0;
    let class = |dice: &mut Dice| {
        let rate = if slow { 20 } else { (root * (1 + dice.below(12)) / 10 / count).max(20) };
        (rate, rate + dice.below(3) * root / 3, dice.below(3) as usize)
    };
    Setting {
        root,
        classes: (0..count).map(|_| class(dice)).collect(),
        burst: dice.one_of(&[1600, 5000, 20_000]),
        cburst: dice.one_of(&[1600, 3000, 9_000]),
        quantum: dice.one_of(&[1000, 1500, 6_000]),
        limit: dice.one_of(&[3, 20]) as usize,
    }
}

const NAMES: [[&str; 3]; 8] = [
    ["rate_0", "ceil_0", "prio_0"],
    ["rate_1", "ceil_1", "prio_1"],
    ["rate_2", "ceil_2", "prio_2"],
    ["rate_3", "ceil_3", "prio_3"],
    ["rate_4", "ceil_4", "prio_4"],
    ["rate_5", "ceil_5", "prio_5"],
    ["rate_6", "ceil_6", "prio_6"],
    ["rate_7", "ceil_7", "prio_7"],
];

fn values_of(set: &Setting) -> Values {
    let real = |bytes: u64| Value::Real(bytes as f64);
    let mut values = Values::of(&[("rate", real(8 * set.root)), ("classes", Value::Whole(set.classes.len() as i64))]);
    values.set("burst", real(set.burst)).set("cburst", real(set.cburst)).set("quantum", real(set.quantum as u64));
    for (names, &(rate, ceil, prio)) in NAMES.iter().zip(&set.classes) {
        values.set(names[0], real(8 * rate)).set(names[1], real(8 * ceil)).set(names[2], Value::Whole(prio as i64));
    }
    values
}

fn compare(seed: u64, broken: &str) -> Option<String> {
    let dice = &mut Dice(seed);
    let set = setting(dice);
    let grid = 500.0 / set.root as f64 / 8.0;
    let traffic = Traffic { flows: 8, sizes: MIXED, grid, service: 16.0, period: 0.0, steps: 600 };
    let mut steps = script(dice, traffic);
    for (_, step) in &mut steps {
        if let Step::Arrive(packet) = step {
            packet.class = packet.flow as u8;
        }
    }
    let spec = parents::find("htb").unwrap();
    let values = values_of(&set);
    (spec.check)(&values, &LINK).unwrap_or_else(|error| panic!("{set:?}: {error:?}"));
    let limit = Limit::Packets(set.limit as u64);
    let child = |_| queue("droptail", &Values::new(), &LINK, limit, false, Generator::stream(1, "queue"));
    let mut htb = (spec.build)(&values, &LINK, (0..(spec.children)(&values)).map(child).collect());
    let slow = run_slow(&mut HtbSched::new(&set, broken), &steps);
    difference(&run_queue(&mut *htb, &steps, ""), &slow).map(|found| format!("seed {seed}, {set:?}: {found}"))
}

#[test]
fn it_decides_as_the_transcription_of_sch_htb() {
    agrees_by_every_rule(17, 0..600, compare);
}
