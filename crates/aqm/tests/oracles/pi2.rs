//! PI2 against a slow, direct transcription of its authors' Linux module, `sch_pi2.c`: random arrivals, departures and
//! updates, decision for decision, with the same random numbers given to both. Each rule of the transcription is then
//! changed, and the change must show.

use crate::common::{queue, values};
use crate::script::{
    agrees_by_every_rule, difference, keeps, run_queue, run_slow, script, Dice, Script, Seen, Slow, Traffic, MIXED,
};
use earlydrop_aqm::prelude::*;
use std::collections::VecDeque;

const LINK: Link = Link { rate_bps: 10e6, delay_s: 0.02 };
const TUPDATE: f64 = 1.0 / 32.0;

#[derive(Debug)]
struct Setting {
    seed: u64,
    scalable: &'static str,
    timestamp: bool,
    bytemode: bool,
    k: f64,
    mtu: u32,
    ecn: bool,
    limit: usize,
}

/// A generator of one's own, so that a seed means the same numbers on both sides.
fn numbers(seed: u64) -> impl FnMut() -> f64 {
    let mut dice = Dice(seed);
    move || dice.uniform()
}

/// `sch_pi2.c` in doubles; `broken` is the rule that is not kept.
struct Module<'a> {
    set: &'a Setting,
    broken: &'a str,
    random: Box<dyn FnMut() -> f64>,
    waiting: VecDeque<Packet>,
    prob: f64,
    qdelay: f64,
    dq_count: Option<f64>,
    dq_tstamp: f64,
    avg_dq_rate: f64,
    /// Of the variant with timestamps.
    sojourn: f64,
}

impl<'a> Module<'a> {
    fn new(set: &'a Setting, broken: &'a str) -> Self {
        let random = Box::new(numbers(set.seed));
        let (prob, qdelay, avg_dq_rate, sojourn) = (0.0, 0.0, 0.0, 0.0);
        let (waiting, dq_count, dq_tstamp) = (VecDeque::new(), None, 0.0);
        Module { set, broken, random, waiting, prob, qdelay, dq_count, dq_tstamp, avg_dq_rate, sojourn }
    }

    fn keeps(&self, rule: &'static str) -> bool {
        keeps(self.broken, rule)
    }

    fn backlog(&self) -> u32 {
        self.waiting.iter().map(|packet| packet.size).sum()
    }

    fn is_scalable(&self, ecn: Ecn) -> bool {
        let mask = match self.set.scalable {
            "none" => 0,
            "ect1" => 1,
            _ => 3,
        };
        let mask = if ecn == Ecn::Ce && !self.keeps("ce is scalable") { 0 } else { mask };
        self.set.ecn && ecn as u8 & mask != 0
    }

    /// drop_early: whether the packet is dropped, or else its new ECN field.
    fn drop_early(&mut self, packet: &Packet) -> (bool, Ecn) {
        let (size, mtu) = (packet.size, self.set.mtu);
        let twice = if self.keeps("two mtu must wait") { 2 * mtu } else { mtu };
        let little = if self.keeps("the edge of two mtu") { self.backlog() < twice } else { self.backlog() <= twice };
        if little {
            return (false, packet.ecn);
        }
        let small = size <= mtu || !self.keeps("bytemode up to the mtu");
        let local_prob = if self.set.bytemode && small && self.keeps("bytemode") {
            self.prob * (f64::from(size) / f64::from(mtu))
        } else {
            self.prob
        };
        let k = if self.keeps("k") { self.set.k } else { 1.0 };
        let rnd = (self.random)();
        if self.is_scalable(packet.ecn) {
            let hit = rnd < local_prob && (self.keeps("scalable by one number") || (self.random)() < local_prob);
            return (false, if hit && self.keeps("scalable marks") { Ecn::Ce } else { packet.ecn });
        }
        if rnd < local_prob / k {
            let again = !self.keeps("the second number") || (self.random)() < local_prob / k;
            if again {
                let can = self.set.ecn && packet.ecn != Ecn::NotEct && self.keeps("classic marks");
                return if can { (false, Ecn::Ce) } else { (true, packet.ecn) };
            }
        } else if !self.keeps("no second number for nothing") {
            (self.random)();
        }
        (false, packet.ecn)
    }

    fn process_dequeue(&mut self, packet: &Packet, now: f64) {
        let qlen = f64::from(self.backlog());
        let start = if self.keeps("threshold to start") { 10_000.0 } else { 3000.0 };
        let mut counted = true;
        if qlen >= start && self.dq_count.is_none() {
            self.dq_tstamp = now;
            self.dq_count = Some(0.0);
            counted = self.keeps("the starting packet counts");
        }
        let Some(mut count) = self.dq_count else { return };
        count += if counted { f64::from(packet.size) } else { 0.0 };
        self.dq_count = Some(count);
        let end = if self.keeps("threshold to end") { 10_000.0 } else { 16_384.0 };
        if count < end {
            return;
        }
        let dtime = now - self.dq_tstamp;
        if dtime == 0.0 {
            if !self.keeps("no time, no rate") {
                self.dq_count = None;
            }
            return;
        }
        let rate = count / dtime;
        let weight = if self.keeps("weight of an eighth") { 8.0 } else { 2.0 };
        let first = self.avg_dq_rate == 0.0 && self.keeps("the first rate whole");
        self.avg_dq_rate = if first { rate } else { self.avg_dq_rate - self.avg_dq_rate / weight + rate / weight };
        let goes_on = qlen >= 10_000.0 || !self.keeps("stops below the threshold");
        self.dq_count = (goes_on && self.keeps("goes on after the end")).then_some(0.0);
        self.dq_tstamp = now;
    }
}

impl Slow for Module<'_> {
    fn arrive(&mut self, packet: Packet, now: f64, seen: &mut Vec<Seen>) {
        let full = self.waiting.len() >= self.set.limit;
        if full && self.keeps("limit before chance") {
            seen.extend([Seen::Dropped(packet.tag, Reason::Overflow), Seen::Refused]);
            return;
        }
        let (dropped, ecn) = self.drop_early(&packet);
        if dropped || full {
            let reason = if full { Reason::Overflow } else { Reason::Early };
            seen.extend([Seen::Dropped(packet.tag, reason), Seen::Refused]);
            return;
        }
        seen.push(Seen::Admitted { marked: ecn != packet.ecn });
        self.waiting.push_back(Packet { ecn, enqueued: Time::from_seconds(now), ..packet });
    }

    fn ask(&mut self, now: f64, seen: &mut Vec<Seen>) {
        let Some(packet) = self.waiting.pop_front() else {
            seen.push(Seen::Empty);
            return;
        };
        if self.set.timestamp {
            self.sojourn = if self.waiting.is_empty() { 0.0 } else { now - packet.enqueued.seconds() };
        } else {
            self.process_dequeue(&packet, now);
        }
        seen.push(Seen::Left(packet.tag, packet.ecn));
    }

    /// calculate_probability.
    fn timer(&mut self, _now: f64, seen: &mut Vec<Seen>) {
        let qlen = self.backlog();
        let (mut qdelay, old) = (0.0, self.qdelay);
        if self.set.timestamp {
            qdelay = self.sojourn;
        } else if self.avg_dq_rate > 0.0 {
            qdelay = f64::from(qlen) / self.avg_dq_rate;
        }
        let unknown = qdelay == 0.0 && qlen != 0 && self.keeps("decay with an empty queue only");
        let target = if self.keeps("target") { 0.02 } else { 0.015 };
        let mut delta = (qdelay - target) * 0.625;
        if self.keeps("change of the delay") {
            delta += (qdelay - old) * 6.25;
        }
        self.prob = (self.prob + delta).clamp(0.0, 1.0);
        let twice = old == 0.0 || !self.keeps("decay after two");
        if qdelay == 0.0 && twice && !unknown && self.keeps("decay") {
            self.prob *= 0.98;
        }
        self.qdelay = qdelay;
        seen.push(Seen::Probability(self.prob.to_bits()));
    }
}

fn draw(seed: u64) -> (Setting, Script) {
    let mut dice = Dice(seed);
    let set = Setting {
        seed,
        scalable: dice.one_of(&["none", "ect1", "all"]),
        timestamp: dice.below(3) == 0,
        bytemode: dice.below(2) == 0,
        k: dice.one_of(&[2.0, 1.5]),
        mtu: dice.one_of(&[1514, 1000]),
        ecn: dice.below(4) > 0,
        limit: dice.one_of(&[30, 100]),
    };
    // Several departures at the same time happen too, and a link that is slower than the updates.
    let service = dice.one_of(&[0.3, 1.0, 3.0, 12.0]);
    let traffic = Traffic { flows: 3, sizes: MIXED, grid: 1.0 / 4096.0, service, period: TUPDATE, steps: 4000 };
    let script = script(&mut dice, traffic);
    (set, script)
}

fn compare(seed: u64, broken: &str) -> Option<String> {
    let (set, script) = draw(seed);
    let given = values(&[
        ("scalable", Value::Choice(set.scalable)),
        ("latency", Value::Choice(if set.timestamp { "timestamp" } else { "rate" })),
        ("byte_scaling", Value::Flag(set.bytemode)),
        ("k", Value::Real(set.k)),
        ("mtu", Value::Whole(i64::from(set.mtu))),
        ("tupdate", Value::Real(TUPDATE)),
    ]);
    let random = Generator::custom(numbers(set.seed));
    let mut pi2 = queue("pi2", &given, &LINK, Limit::Packets(set.limit as u64), set.ecn, random);
    let fast = run_queue(&mut *pi2, &script, "p");
    let slow = run_slow(&mut Module::new(&set, broken), &script);
    difference(&fast, &slow)
}

#[test]
fn pi2_does_what_the_module_does() {
    let (mut drops, mut marks) = (0, 0);
    for seed in 0..200 {
        let (set, script) = draw(seed);
        let seen = run_slow(&mut Module::new(&set, ""), &script);
        drops += seen.iter().filter(|seen| matches!(seen, Seen::Dropped(_, Reason::Early))).count();
        marks += seen.iter().filter(|seen| matches!(seen, Seen::Admitted { marked: true })).count();
    }
    assert!(drops > 5000 && marks > 5000, "the scripts ask for little: {drops} drops, {marks} marks");
    agrees_by_every_rule(25, 0..200, compare);
}
