//! ECN# against a slow, direct transcription of its authors' ns-3 model, `ecn-sharp-queue-disc.cc`: random arrivals and
//! requests, decision for decision. Each rule of the transcription is then changed, and the change must show.

use crate::common::{queue, values};
use crate::script::{
    agrees_by_every_rule, difference, keeps, run_queue, run_slow, script, Dice, Script, Seen, Slow, Traffic, MIXED,
};
use earlydrop_aqm::prelude::*;
use std::collections::VecDeque;

const LINK: Link = Link { rate_bps: 10e6, delay_s: 0.02 };
/// Time is counted in these, s.
const GRID: f64 = 1.0 / 4096.0;

#[derive(Debug)]
struct Setting {
    instant: f64,
    target: f64,
    interval: f64,
    ecn: bool,
    limit: usize,
}

/// The model; `broken` is the rule that is not kept.
struct Model<'a> {
    set: &'a Setting,
    broken: &'a str,
    waiting: VecDeque<Packet>,
    first_above_time: Option<f64>,
    marking: bool,
    mark_next: f64,
    mark_count: f64,
}

impl<'a> Model<'a> {
    fn new(set: &'a Setting, broken: &'a str) -> Self {
        let waiting = VecDeque::new();
        Model { set, broken, waiting, first_above_time: None, marking: false, mark_next: 0.0, mark_count: 0.0 }
    }

    fn keeps(&self, rule: &'static str) -> bool {
        keeps(self.broken, rule)
    }

    fn ok_to_mark(&mut self, sojourn: f64, now: f64) -> bool {
        let target = self.set.target;
        if sojourn < target || sojourn == target && !self.keeps("below the target") {
            if self.keeps("a short wait forgets") {
                self.first_above_time = None;
            }
            return false;
        }
        match self.first_above_time {
            None => {
                let ahead = if self.keeps("an interval ahead") { 1.0 } else { 0.5 };
                self.first_above_time = Some(now + ahead * self.set.interval);
                false
            }
            Some(time) => now > time || now == time && !self.keeps("after the interval"),
        }
    }

    fn persistent(&mut self, sojourn: f64, now: f64) -> bool {
        let ok = self.ok_to_mark(sojourn, now);
        if self.marking {
            if !ok {
                self.marking = !self.keeps("a short wait ends it");
            } else if now > self.mark_next || now == self.mark_next && self.keeps("due at its time") {
                if self.keeps("count grows") {
                    self.mark_count += 1.0;
                }
                let root = if self.keeps("the square root") { self.mark_count.sqrt() } else { self.mark_count };
                let from = if self.keeps("the next from now") { now } else { self.mark_next };
                self.mark_next = from + self.set.interval / root;
                return true;
            }
        } else if ok {
            self.marking = true;
            self.mark_count = if self.keeps("count starts at 1") { 1.0 } else { 2.0 };
            let later = if self.keeps("the second comes an interval later") { 1.0 } else { 0.5 };
            self.mark_next = now + later * self.set.interval;
            return self.keeps("the first is marked");
        }
        false
    }
}

impl Slow for Model<'_> {
    fn arrive(&mut self, packet: Packet, now: f64, seen: &mut Vec<Seen>) {
        if self.waiting.len() + 1 > self.set.limit {
            seen.extend([Seen::Dropped(packet.tag, Reason::Overflow), Seen::Refused]);
            return;
        }
        seen.push(Seen::Admitted { marked: false });
        self.waiting.push_back(Packet { enqueued: Time::from_seconds(now), ..packet });
    }

    fn ask(&mut self, now: f64, seen: &mut Vec<Seen>) {
        let Some(packet) = self.waiting.pop_front() else {
            seen.push(Seen::Empty);
            return;
        };
        let sojourn = now - packet.enqueued.seconds();
        let over = sojourn > self.set.instant
            || sojourn == self.set.instant && !self.keeps("above the instantaneous threshold");
        let instantaneous = over && self.keeps("instantaneous");
        let skipped = instantaneous && !self.keeps("the law runs under the threshold's marks");
        let persistent = !skipped && self.persistent(sojourn, now);
        let mut ecn = packet.ecn;
        if instantaneous || persistent {
            if self.set.ecn && packet.ecn != Ecn::NotEct {
                ecn = Ecn::Ce;
            } else if !self.keeps("not-ect passes") {
                seen.push(Seen::Dropped(packet.tag, Reason::Forced));
            }
        }
        seen.push(Seen::Left(packet.tag, ecn));
    }
}

fn draw(seed: u64) -> (Setting, Script) {
    let mut dice = Dice(seed);
    let target = GRID * dice.one_of(&[4.0, 20.0]);
    let set = Setting {
        instant: target * dice.one_of(&[1.0, 2.0, 4.0]),
        target,
        interval: GRID * dice.one_of(&[16.0, 64.0, 256.0]),
        ecn: dice.below(5) > 0,
        limit: dice.one_of(&[20, 200]),
    };
    let service = dice.one_of(&[1.0, 2.0, 8.0]);
    let traffic = Traffic { flows: 3, sizes: MIXED, grid: GRID, service, period: 0.0, steps: 5000 };
    let script = script(&mut dice, traffic);
    (set, script)
}

fn compare(seed: u64, broken: &str) -> Option<String> {
    let (set, script) = draw(seed);
    let given = values(&[
        ("instant_threshold", Value::Real(set.instant)),
        ("persistent_target", Value::Real(set.target)),
        ("persistent_interval", Value::Real(set.interval)),
    ]);
    let random = Generator::custom(|| panic!("ECN# draws nothing"));
    let mut sharp = queue("ecn_sharp", &given, &LINK, Limit::Packets(set.limit as u64), set.ecn, random);
    let fast = run_queue(&mut *sharp, &script, "");
    let slow = run_slow(&mut Model::new(&set, broken), &script);
    difference(&fast, &slow)
}

#[test]
fn ecn_sharp_does_what_the_model_does() {
    agrees_by_every_rule(16, 0..200, compare);
}
