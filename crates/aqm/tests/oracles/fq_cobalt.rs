//! FQ-COBALT against a slow, direct transcription of ns-3's `fq-cobalt-queue-disc.cc` and `cobalt-queue-disc.cc`: two
//! lists, plain queues, a scan for the fattest. Random arrivals and requests, decision for decision, with the same
//! random numbers given to both; each rule of the transcription is then changed, and the change must show.

use crate::common::{queue, values};
use crate::script::{
    agrees_by_every_rule, difference, keeps, run_queue, run_slow, script, Dice, Script, Seen, Slow, Traffic, MIXED,
};
use earlydrop_aqm::prelude::*;
use std::collections::{BTreeMap, VecDeque};

const LINK: Link = Link { rate_bps: 10e6, delay_s: 0.02 };
/// Time is counted in these, s.
const GRID: f64 = 1.0 / 4096.0;

#[derive(Debug)]
struct Setting {
    seed: u64,
    quantum: i64,
    batch: usize,
    limit: usize,
    ecn: bool,
    target: f64,
    interval: f64,
    increment: f64,
    decrement: f64,
    blue_threshold: f64,
    ce_threshold: Option<f64>,
    l4s: bool,
}

#[derive(Clone, Copy, PartialEq)]
enum Status {
    New,
    Old,
    Inactive,
}

/// One flow with its CobaltQueueDisc.
struct Flow {
    waiting: VecDeque<Packet>,
    deficit: i64,
    status: Status,
    count: u32,
    rec_inv_sqrt: u32,
    dropping: bool,
    drop_next: f64,
    p_drop: f64,
    last_update_time_blue: f64,
}

fn newton_step(count: u32, invsqrt: u32) -> u32 {
    let invsqrt2 = (u64::from(invsqrt) * u64::from(invsqrt)) >> 32;
    let val = (3_u64 << 32).wrapping_sub(u64::from(count) * invsqrt2) >> 2;
    (val.wrapping_mul(u64::from(invsqrt)) >> 31) as u32
}

fn numbers(seed: u64) -> impl FnMut() -> f64 {
    let mut dice = Dice(seed);
    move || dice.uniform()
}

struct Model<'a> {
    set: &'a Setting,
    broken: &'a str,
    random: Box<dyn FnMut() -> f64>,
    /// In the order of their first packets.
    flows: Vec<Flow>,
    index: BTreeMap<u64, usize>,
    new_flows: VecDeque<usize>,
    old_flows: VecDeque<usize>,
    cache: [u32; 16],
}

impl<'a> Model<'a> {
    fn new(set: &'a Setting, broken: &'a str) -> Self {
        let mut random = numbers(set.seed);
        // The salt of the hash.
        random();
        let mut cache = [u32::MAX; 16];
        let mut root = u32::MAX;
        for (count, entry) in cache.iter_mut().enumerate().skip(1) {
            (0..4).for_each(|_| root = newton_step(count as u32, root));
            *entry = root;
        }
        Model {
            set,
            broken,
            random: Box::new(random),
            flows: Vec::new(),
            index: BTreeMap::new(),
            new_flows: VecDeque::new(),
            old_flows: VecDeque::new(),
            cache,
        }
    }

    fn keeps(&self, rule: &'static str) -> bool {
        keeps(self.broken, rule)
    }

    fn bytes(&self, at: usize) -> u64 {
        self.flows[at].waiting.iter().map(|packet| u64::from(packet.size)).sum()
    }

    fn inv_sqrt(&mut self, at: usize) {
        let flow = &mut self.flows[at];
        flow.rec_inv_sqrt = match self.cache.get(flow.count as usize) {
            Some(&root) => root,
            None => newton_step(flow.count, flow.rec_inv_sqrt),
        };
    }

    fn control_law(&self, at: usize, t: f64) -> f64 {
        let root = f64::from(self.flows[at].rec_inv_sqrt);
        let root = if self.keeps("the square root") { root } else { root / 2.0 };
        t + self.set.interval * root / 4_294_967_296.0
    }

    /// Whether BLUE may move, and then that it has.
    fn blue(&mut self, at: usize, now: f64) -> bool {
        let once = self.keeps("blue once per target");
        let may = now - self.flows[at].last_update_time_blue > self.set.target || !once;
        if may {
            self.flows[at].last_update_time_blue = now;
        }
        may
    }

    fn queue_full(&mut self, at: usize, now: f64) {
        if self.keeps("full tells blue") && self.blue(at, now) {
            self.flows[at].p_drop = f64::min(self.flows[at].p_drop + self.set.increment, 1.0);
        }
        self.flows[at].dropping |= self.keeps("full makes it drop");
        if self.keeps("full makes it due") {
            self.flows[at].drop_next = now;
        }
        if self.flows[at].count == 0 && self.keeps("full counts") {
            self.flows[at].count = 1;
        }
    }

    fn queue_empty(&mut self, at: usize, now: f64) {
        if self.flows[at].p_drop > 0.0 && self.keeps("empty lets blue fall") && self.blue(at, now) {
            self.flows[at].p_drop = f64::max(self.flows[at].p_drop - self.set.decrement, 0.0);
        }
        self.flows[at].dropping &= !self.keeps("empty ends dropping");
        if self.flows[at].count > 0 && now >= self.flows[at].drop_next && self.keeps("empty counts down") {
            self.flows[at].count -= 1;
            self.inv_sqrt(at);
            self.flows[at].drop_next = self.control_law(at, self.flows[at].drop_next);
        }
    }

    fn mark(&self, packet: &mut Packet) -> bool {
        let can = self.set.ecn && packet.ecn != Ecn::NotEct;
        if can {
            packet.ecn = Ecn::Ce;
        }
        can
    }

    /// CobaltShouldDrop.
    fn should_drop(&mut self, at: usize, packet: &mut Packet, now: f64) -> Option<Reason> {
        let sojourn = now - packet.enqueued.seconds();
        let mut schedule = now - self.flows[at].drop_next;
        let over_target = sojourn > self.set.target || sojourn == self.set.target && !self.keeps("above the target");
        let mut next_due = self.flows[at].count > 0 && schedule >= 0.0;
        let ce_threshold = self.set.ce_threshold.unwrap_or(f64::INFINITY);
        if self.set.l4s && matches!(packet.ecn, Ecn::Ect1 | Ecn::Ce) && self.keeps("l4s sees the threshold only") {
            if sojourn > ce_threshold {
                self.mark(packet);
            }
            return None;
        }
        if over_target {
            if !self.flows[at].dropping {
                self.flows[at].dropping = true;
                self.flows[at].drop_next =
                    if self.keeps("starts an interval ahead") { self.control_law(at, now) } else { now };
            }
            self.flows[at].count = self.flows[at].count.max(1);
        } else if self.keeps("a short wait ends dropping") {
            self.flows[at].dropping = false;
        }
        if !self.keeps("due before the state moves") {
            next_due = self.flows[at].count > 0 && now >= self.flows[at].drop_next;
        }
        let (mut drop, mut marked, mut signal) = (false, false, false);
        if next_due && self.flows[at].dropping {
            signal = true;
            marked = self.mark(packet);
            drop = !marked;
            if self.keeps("count grows") {
                self.flows[at].count += 1;
            }
            self.inv_sqrt(at);
            self.flows[at].drop_next = self.control_law(at, self.flows[at].drop_next);
            schedule = now - self.flows[at].drop_next;
        } else {
            while next_due {
                self.flows[at].count -= 1;
                self.inv_sqrt(at);
                self.flows[at].drop_next = self.control_law(at, self.flows[at].drop_next);
                schedule = now - self.flows[at].drop_next;
                next_due = self.flows[at].count > 0 && schedule >= 0.0 && self.keeps("count fades step by step");
            }
        }
        let above_ce = sojourn > ce_threshold && self.keeps("ce threshold");
        if sojourn > self.set.blue_threshold && self.keeps("blue threshold") && self.blue(at, now) {
            self.flows[at].p_drop = f64::min(self.flows[at].p_drop + self.set.increment, 1.0);
        }
        let p_drop = self.flows[at].p_drop;
        if p_drop > 0.0 {
            let hit = (self.random)() < p_drop;
            drop |= hit && self.keeps("blue drops") && (!marked || self.keeps("blue drops what is marked"));
        }
        if self.flows[at].count == 0 {
            if self.keeps("rest without count") {
                self.flows[at].drop_next = now + self.set.interval;
            }
        } else if schedule > 0.0 && !drop && self.keeps("due now if behind") {
            self.flows[at].drop_next = now;
        }
        if !drop && !marked && !self.set.l4s && above_ce {
            self.mark(packet);
        }
        let reason = if signal || p_drop >= 1.0 { Reason::Forced } else { Reason::Early };
        drop.then_some(reason)
    }

    /// FqCobaltDrop.
    fn overload(&mut self, seen: &mut Vec<Seen>) {
        let mut fat = 0;
        for at in 1..self.flows.len() {
            let more = if self.keeps("the most bytes lose") {
                self.bytes(at) > self.bytes(fat)
            } else {
                self.flows[at].waiting.len() > self.flows[fat].waiting.len()
            };
            fat = if more { at } else { fat };
        }
        let threshold = if self.keeps("half of it") { self.bytes(fat) / 2 } else { self.bytes(fat) };
        let batch = if self.keeps("a batch at most") { self.set.batch } else { usize::MAX };
        let (mut count, mut len) = (0, 0);
        loop {
            let head = self.keeps("from the head");
            let waiting = &mut self.flows[fat].waiting;
            let Some(packet) = (if head { waiting.pop_front() } else { waiting.pop_back() }) else { return };
            seen.push(Seen::Dropped(packet.tag, Reason::Overflow));
            len += u64::from(packet.size);
            count += 1;
            if count >= batch || len >= threshold {
                return;
            }
        }
    }
}

impl Slow for Model<'_> {
    fn arrive(&mut self, packet: Packet, now: f64, seen: &mut Vec<Seen>) {
        let next = self.flows.len();
        let at = *self.index.entry(packet.flow).or_insert(next);
        if at == next {
            self.flows.push(Flow {
                waiting: VecDeque::new(),
                deficit: 0,
                status: Status::Inactive,
                count: 0,
                rec_inv_sqrt: u32::MAX,
                dropping: false,
                drop_next: 0.0,
                p_drop: 0.0,
                last_update_time_blue: 0.0,
            });
        }
        let full = self.flows[at].waiting.len() >= self.set.limit && self.keeps("full by itself");
        if self.flows[at].status == Status::Inactive {
            self.flows[at].status = Status::New;
            if self.keeps("a fresh quantum") {
                self.flows[at].deficit = self.set.quantum;
            }
            self.new_flows.push_back(at);
        }
        if full {
            self.queue_full(at, now);
            seen.extend([Seen::Dropped(packet.tag, Reason::Overflow), Seen::Refused]);
            return;
        }
        self.flows[at].waiting.push_back(Packet { enqueued: Time::from_seconds(now), ..packet });
        let before = seen.len();
        if self.flows.iter().map(|flow| flow.waiting.len()).sum::<usize>() > self.set.limit {
            self.overload(seen);
        }
        let gone = seen[before..].contains(&Seen::Dropped(packet.tag, Reason::Overflow));
        seen.push(if gone { Seen::Refused } else { Seen::Admitted { marked: false } });
    }

    fn ask(&mut self, now: f64, seen: &mut Vec<Seen>) {
        // Broken rules may never find a packet.
        for _ in 0..10_000 {
            let new_first = self.keeps("new before old") || self.old_flows.is_empty();
            let from_new = !self.new_flows.is_empty() && new_first;
            let first = if from_new { self.new_flows.front() } else { self.old_flows.front() };
            let Some(&at) = first else { break };
            let used =
                self.flows[at].deficit < 0 || self.flows[at].deficit == 0 && self.keeps("a deficit of 0 is used up");
            let list = if from_new { &mut self.new_flows } else { &mut self.old_flows };
            if used {
                list.pop_front();
                self.flows[at].deficit += self.set.quantum;
                self.flows[at].status = Status::Old;
                self.old_flows.push_back(at);
                continue;
            }
            let mut found = None;
            while let Some(mut packet) = self.flows[at].waiting.pop_front() {
                match self.should_drop(at, &mut packet, now) {
                    Some(reason) => seen.push(Seen::Dropped(packet.tag, reason)),
                    None => {
                        found = Some(packet);
                        break;
                    }
                }
            }
            if let Some(packet) = found {
                if self.keeps("bytes are charged") {
                    self.flows[at].deficit -= i64::from(packet.size);
                }
                seen.push(Seen::Left(packet.tag, packet.ecn));
                return;
            }
            self.queue_empty(at, now);
            let list = if from_new { &mut self.new_flows } else { &mut self.old_flows };
            list.pop_front();
            let rule = if from_new { "an empty new one goes to the old ones" } else { "an empty old one becomes idle" };
            if from_new == self.keeps(rule) {
                self.flows[at].status = Status::Old;
                self.old_flows.push_back(at);
                // A broken rule must not turn for ever.
                if !from_new {
                    break;
                }
            } else {
                self.flows[at].status = Status::Inactive;
            }
        }
        seen.push(Seen::Empty);
    }
}

fn draw(seed: u64) -> (Setting, Script) {
    let mut dice = Dice(seed);
    let target = GRID * dice.one_of(&[8.0, 20.0]);
    let set = Setting {
        seed,
        quantum: dice.one_of(&[300, 1500]),
        batch: dice.one_of(&[3, 64]),
        limit: dice.one_of(&[15, 60, 400]),
        ecn: dice.below(2) == 0,
        target,
        interval: GRID * dice.one_of(&[64.0, 400.0]),
        increment: dice.one_of(&[0.01, 0.1, 0.5]),
        decrement: dice.one_of(&[0.001, 0.05]),
        blue_threshold: dice.one_of(&[4.0 * target, 1e6]),
        ce_threshold: dice.one_of(&[None, Some(target / 2.0)]),
        l4s: dice.below(2) == 0,
    };
    let set = Setting { l4s: set.l4s && set.ce_threshold.is_some(), ..set };
    let flows = dice.one_of(&[1, 2, 6]);
    let service = dice.one_of(&[2.0, 6.0]);
    let traffic = Traffic { flows, sizes: MIXED, grid: GRID, service, period: 0.0, steps: 4000 };
    let script = script(&mut dice, traffic);
    (set, script)
}

fn compare(seed: u64, broken: &str) -> Option<String> {
    let (set, script) = draw(seed);
    let mut given = values(&[
        ("classify", Value::Choice("perfect")),
        ("quantum", Value::Real(set.quantum as f64)),
        ("drop_batch", Value::Whole(set.batch as i64)),
        ("target", Value::Real(set.target)),
        ("interval", Value::Real(set.interval)),
        ("increment", Value::Real(set.increment)),
        ("decrement", Value::Real(set.decrement)),
        ("blue_threshold", Value::Real(set.blue_threshold)),
        ("l4s", Value::Flag(set.l4s)),
    ]);
    if let Some(threshold) = set.ce_threshold {
        given.set("ce_threshold", Value::Real(threshold));
    }
    let random = Generator::custom(numbers(set.seed));
    let mut fair = queue("fq_cobalt", &given, &LINK, Limit::Packets(set.limit as u64), set.ecn, random);
    let fast = run_queue(&mut *fair, &script, "");
    let slow = run_slow(&mut Model::new(&set, broken), &script);
    difference(&fast, &slow)
}

#[test]
fn fq_cobalt_does_what_the_transcription_does() {
    let mut early = 0;
    for seed in 0..200 {
        let (set, script) = draw(seed);
        let seen = run_slow(&mut Model::new(&set, ""), &script);
        early += seen.iter().filter(|seen| matches!(seen, Seen::Dropped(_, Reason::Early))).count();
    }
    assert!(early > 1000, "BLUE drops little: {early}");
    agrees_by_every_rule(33, 0..200, compare);
}
