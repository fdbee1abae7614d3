//! CoDel against a slow, direct transcription of RFC 8289's pseudo-code and of what Linux and ns-3 do differently:
//! random arrivals and requests, verdict for verdict. Each rule of the transcription is then changed, and the change
//! must show.

use crate::common::{queue, values};
use crate::script::{agrees_by_every_rule, difference, keeps, run_queue, run_slow, script, Dice, Seen, Slow, Traffic};
use earlydrop_aqm::prelude::*;
use std::collections::VecDeque;

const LINK: Link = Link { rate_bps: 10e6, delay_s: 0.02 };

struct Setting {
    dialect: &'static str,
    exact: bool,
    target: f64,
    interval: f64,
    max_packet: u64,
    ce_threshold: Option<f64>,
    l4s: bool,
    ecn: bool,
    limit: usize,
}

/// RFC 8289, section 5, as one reads it; `broken` is the rule that is not kept.
struct Transcription<'a> {
    set: &'a Setting,
    broken: &'a str,
    waiting: VecDeque<Packet>,
    first_above_time: Option<f64>,
    drop_next: f64,
    count: i64,
    lastcount: i64,
    dropping: bool,
    rec_inv_sqrt: u64,
}

impl<'a> Transcription<'a> {
    fn new(set: &'a Setting, broken: &'a str) -> Self {
        Transcription {
            set,
            broken,
            waiting: VecDeque::new(),
            first_above_time: None,
            drop_next: 0.0,
            count: 0,
            lastcount: 0,
            dropping: false,
            rec_inv_sqrt: 65535,
        }
    }

    fn keeps(&self, rule: &'static str) -> bool {
        keeps(self.broken, rule)
    }

    fn rfc(&self) -> bool {
        self.set.dialect == "rfc"
    }

    /// codel_get_time: nanoseconds >> 10.
    fn units(&self, seconds: f64) -> f64 {
        if self.rfc() {
            seconds
        } else {
            ((seconds * 1e9).round() as u64 / 1024) as f64
        }
    }

    fn sojourn(&self, p: &Packet, now: f64) -> f64 {
        let then = p.enqueued.seconds();
        match self.set.dialect {
            "rfc" => now - then,
            "linux" => self.units(now) - self.units(then),
            _ => self.units(now - then),
        }
    }

    fn bytes(&self) -> u64 {
        self.waiting.iter().map(|p| u64::from(p.size)).sum()
    }

    fn newton(&mut self) {
        if self.set.exact {
            return;
        }
        // Q0.16, computed in Q0.32.
        let inv = self.rec_inv_sqrt * 65536;
        let inv2 = ((u128::from(inv) * u128::from(inv)) >> 32) as u64;
        let val = (3_u64 * (1 << 32)).wrapping_sub((self.count as u64).wrapping_mul(inv2)) / 4;
        self.rec_inv_sqrt = (val.wrapping_mul(inv) >> 31) % (1 << 32) / 65536;
    }

    fn control_law(&self, t: f64) -> f64 {
        let interval = self.units(self.set.interval);
        let root = if self.keeps("the square root") { (self.count as f64).sqrt() } else { self.count as f64 };
        let step = if self.set.exact { interval / root } else { interval * self.rec_inv_sqrt as f64 / 65536.0 };
        t + if self.rfc() { step } else { step.floor() }
    }

    /// dodequeue: the head and whether it is ok to drop.
    fn dodequeue(&mut self, now: f64) -> (Option<Packet>, bool) {
        let Some(p) = self.waiting.pop_front() else {
            if self.keeps("an empty queue unsets first_above") {
                self.first_above_time = None;
            }
            return (None, false);
        };
        let sojourn = self.sojourn(&p, now);
        let target = self.units(self.set.target);
        let below = if self.keeps("late at target exactly") { sojourn < target } else { sojourn <= target };
        let edge = (self.set.dialect != "ns3") == self.keeps("small backlog, edge included");
        let small = if edge { self.bytes() <= self.set.max_packet } else { self.bytes() < self.set.max_packet };
        if below || small {
            let unset =
                if below { "a packet below target unsets first_above" } else { "a small backlog unsets first_above" };
            if self.keeps(unset) {
                self.first_above_time = None;
            }
            return (Some(p), false);
        }
        let clock = self.units(now);
        match self.first_above_time {
            None => {
                let ahead = if self.keeps("first_above is one interval ahead") { 1.0 } else { 0.5 };
                self.first_above_time = Some(clock + ahead * self.units(self.set.interval));
                (Some(p), false)
            }
            Some(since) if self.rfc() == self.keeps("late from first_above on") => (Some(p), clock >= since),
            Some(since) => (Some(p), clock > since),
        }
    }

    fn mark(&self, p: &mut Packet) -> bool {
        let can = self.set.ecn && p.ecn != Ecn::NotEct;
        if can {
            p.ecn = Ecn::Ce;
        }
        can
    }

    fn dequeue(&mut self, now: f64, seen: &mut Vec<Seen>) -> Option<Packet> {
        let clock = self.units(now);
        if !self.rfc() {
            match self.waiting.front().copied() {
                None => {
                    if self.keeps("an empty queue ends dropping") {
                        self.dropping = false;
                    }
                    // Its last packet had no backlog, so that this changes nothing where there is one queue.
                    if self.set.dialect == "linux" {
                        self.first_above_time = None;
                    }
                    return None;
                }
                Some(mut p) if self.set.l4s && matches!(p.ecn, Ecn::Ect1 | Ecn::Ce) => {
                    self.waiting.pop_front();
                    if self.sojourn(&p, now) > self.units(self.set.ce_threshold.unwrap()) {
                        self.mark(&mut p);
                    }
                    return Some(p);
                }
                Some(_) => {}
            }
        }
        let (mut r, mut ok) = self.dodequeue(now);
        if self.dropping {
            if !ok
                && (r.is_some() || self.keeps("an empty queue ends dropping"))
                && (r.is_none() || self.keeps("a packet that is not late ends dropping"))
            {
                self.dropping = false;
                if !self.keeps("leaving keeps the count") {
                    self.count = 1;
                }
            }
            while ok && clock >= self.drop_next && self.dropping {
                let mut p = r.take().unwrap();
                if self.keeps("count grows with each drop") {
                    self.count += 1;
                }
                self.newton();
                if self.mark(&mut p) {
                    if self.keeps("a mark moves drop_next") {
                        let from = if self.set.dialect == "ns3" { clock } else { self.drop_next };
                        self.drop_next = self.control_law(from);
                    }
                    r = Some(p);
                    if self.keeps("a mark ends the loop") || clock < self.drop_next {
                        return r;
                    }
                    self.count += 1;
                    return r;
                }
                seen.push(Seen::Dropped(p.tag, Reason::Forced));
                (r, ok) = self.dodequeue(now);
                if !ok {
                    self.dropping = false;
                    if !self.keeps("count grows even if the next packet is not late") {
                        self.count -= 1;
                    }
                } else {
                    let on = self.keeps("drop_next goes on from drop_next");
                    self.drop_next = self.control_law(if on { self.drop_next } else { clock });
                }
                if !self.keeps("drops go on in one dequeue") {
                    break;
                }
            }
        } else if ok {
            let mut p = r.take().unwrap();
            if self.mark(&mut p) {
                r = Some(p);
                if !self.keeps("a mark enters") {
                    return r;
                }
            } else {
                seen.push(Seen::Dropped(p.tag, Reason::Forced));
                (r, _) = self.dodequeue(now);
            }
            self.dropping = true;
            let delta =
                if self.keeps("delta is what the last time added") { self.count - self.lastcount } else { self.count };
            let memory = if self.keeps("memory of 16 intervals") { 16.0 } else { 8.0 };
            if delta > 1 && clock - self.drop_next < memory * self.units(self.set.interval) {
                self.count = delta;
                self.newton();
            } else {
                self.count = 1;
                self.rec_inv_sqrt = 65535;
            }
            self.drop_next =
                self.control_law(if self.keeps("drop_next starts from now") { clock } else { self.drop_next });
            if self.keeps("lastcount is kept") {
                self.lastcount = self.count;
            }
        }
        let threshold = self.set.ce_threshold.filter(|_| !self.set.l4s).map(|t| self.units(t));
        if let (Some(mut p), Some(threshold)) = (r, threshold) {
            let sojourn = self.sojourn(&p, now);
            if sojourn > threshold || !self.keeps("ce_threshold exactly") && sojourn == threshold {
                self.mark(&mut p);
                r = Some(p);
            }
        }
        r
    }
}

impl Slow for Transcription<'_> {
    fn arrive(&mut self, packet: Packet, now: f64, seen: &mut Vec<Seen>) {
        if self.waiting.len() >= self.set.limit {
            let victim =
                if self.keeps("overflow drops the arrival") { packet } else { self.waiting.pop_front().unwrap() };
            seen.push(Seen::Dropped(victim.tag, Reason::Overflow));
            if victim == packet {
                seen.push(Seen::Refused);
                return;
            }
        }
        self.waiting.push_back(Packet { enqueued: Time::from_seconds(now), ..packet });
        seen.push(Seen::Admitted { marked: false });
    }

    fn ask(&mut self, now: f64, seen: &mut Vec<Seen>) {
        let left = self.dequeue(now, seen);
        seen.push(left.map_or(Seen::Empty, |p| Seen::Left(p.tag, p.ecn)));
    }
}

/// A setting and a script from a seed. Times lie on a coarse grid (halves and quarters of one another for rfc, whole
/// ticks for the others), so that thresholds are met exactly.
fn draw(seed: u64) -> (Setting, crate::script::Script) {
    let mut dice = Dice(seed);
    let dialect = dice.one_of(&["rfc", "linux", "ns3"]);
    let grid = if dialect == "rfc" { 1.0 / 4096.0 } else { 256e-6 };
    let target = grid * dice.one_of(&[4.0, 20.0, 64.0]);
    let set = Setting {
        dialect,
        exact: dialect == "rfc" || dice.below(2) == 0,
        target,
        interval: grid * dice.one_of(&[64.0, 400.0]),
        max_packet: dice.one_of(&[0, 1000, 1500, 3000]),
        ce_threshold: dice.one_of(&[None, Some(target / 2.0)]),
        l4s: dialect == "ns3" && dice.below(2) == 0,
        ecn: dice.below(2) == 0,
        limit: dice.one_of(&[20, 200, 1000]),
    };
    let set = Setting { l4s: set.l4s && set.ce_threshold.is_some(), ..set };
    let sizes = dice.one_of(&[crate::script::MIXED, crate::script::ROUND]);
    let traffic = Traffic { flows: 3, sizes, grid, service: dice.one_of(&[2.0, 4.0, 40.0]), period: 0.0, steps: 6000 };
    let script = script(&mut dice, traffic);
    (set, script)
}

fn compare(seed: u64, broken: &str) -> Option<String> {
    let (set, script) = draw(seed);
    let mut given = values(&[
        ("dialect", Value::Choice(set.dialect)),
        ("invsqrt", Value::Choice(if set.exact { "exact" } else { "newton16" })),
        ("target", Value::Real(set.target)),
        ("interval", Value::Real(set.interval)),
        ("max_packet", Value::Real(set.max_packet as f64)),
        ("l4s", Value::Flag(set.l4s)),
    ]);
    if let Some(threshold) = set.ce_threshold {
        given.set("ce_threshold", Value::Real(threshold));
    }
    let random = Generator::custom(|| panic!("CoDel draws nothing"));
    let mut codel = queue("codel", &given, &LINK, Limit::Packets(set.limit as u64), set.ecn, random);
    let fast = run_queue(&mut *codel, &script, "");
    let slow = run_slow(&mut Transcription::new(&set, broken), &script);
    difference(&fast, &slow)
}

#[test]
fn codel_does_what_the_transcription_does() {
    let mut signals = 0;
    for seed in 0..300 {
        let (set, script) = draw(seed);
        let seen = run_slow(&mut Transcription::new(&set, ""), &script);
        signals += seen.iter().filter(|s| matches!(s, Seen::Dropped(_, Reason::Forced))).count();
    }
    assert!(signals > 10_000, "the scripts ask for few drops: {signals}");
    agrees_by_every_rule(24, 0..300, compare);
}
