//! PIE against a slow, direct transcription of RFC 8033 and of what Linux and ns-3 do differently: random arrivals,
//! requests and updates with the same random numbers, verdict for verdict, and the probability to the last bit. Each
//! rule of the transcription is then changed, and the change must show.

use crate::common::{queue, values};
use crate::script::{agrees_by_every_rule, difference, keeps, run_queue, run_slow, script, Dice, Seen, Slow, Traffic};
use earlydrop_aqm::prelude::*;
use std::collections::VecDeque;

const LINK: Link = Link { rate_bps: 10e6, delay_s: 0.02 };

struct Setting {
    dialect: &'static str,
    limit_packets: Option<u64>,
    limit_bytes: u64,
    alpha: f64,
    beta: f64,
    reference: f64,
    max_burst: f64,
    mark: f64,
    mean: f64,
    by_rate: bool,
    derandomise: bool,
    cap: bool,
    fast: bool,
    half: bool,
    scaling: bool,
    activity: &'static str,
    dq_threshold: f64,
    ecn: bool,
}

struct Transcription<'a> {
    set: &'a Setting,
    broken: &'a str,
    random: Dice,
    waiting: VecDeque<Packet>,
    drop_prob: f64,
    qdelay: f64,
    qdelay_old: f64,
    burst_allowance: f64,
    /// ns-3: 0 NO_BURST, 1 IN_BURST_PROTECTING, 2 IN_BURST.
    burst_state: u8,
    burst_reset: u32,
    accu_prob: f64,
    active: bool,
    dq_tstamp: Option<f64>,
    in_measurement: bool,
    dq_count: f64,
    start: f64,
    average: f64,
}

const T_UPDATE: f64 = 0.015;

impl<'a> Transcription<'a> {
    fn new(set: &'a Setting, broken: &'a str, seed: u64) -> Self {
        Transcription {
            set,
            broken,
            random: Dice(seed),
            waiting: VecDeque::new(),
            drop_prob: 0.0,
            qdelay: 0.0,
            qdelay_old: 0.0,
            burst_allowance: if set.dialect == "ns3" { 0.0 } else { set.max_burst },
            burst_state: 0,
            burst_reset: 0,
            accu_prob: 0.0,
            active: set.activity == "always",
            dq_tstamp: None,
            in_measurement: false,
            dq_count: 0.0,
            start: 0.0,
            average: 0.0,
        }
    }

    fn keeps(&self, rule: &'static str) -> bool {
        keeps(self.broken, rule)
    }

    fn linux(&self) -> bool {
        self.set.dialect == "linux"
    }

    fn ns3(&self) -> bool {
        self.set.dialect == "ns3"
    }

    fn rfc(&self) -> bool {
        self.set.dialect == "rfc"
    }

    fn bytes(&self) -> f64 {
        self.waiting.iter().map(|p| f64::from(p.size)).sum()
    }

    fn half_ref(&self) -> f64 {
        self.set.reference / 2.0
    }

    /// calculate_drop_prob.
    fn calculate(&mut self) {
        if self.set.by_rate {
            self.qdelay = if self.average == 0.0 {
                0.0
            } else if self.rfc() {
                self.bytes() * self.average / self.set.dq_threshold
            } else {
                self.bytes() / self.average
            };
        }
        if !self.active && self.set.activity == "backlog" {
            return;
        }
        let protected = self.ns3() && self.burst_allowance > 0.0;
        if protected && self.keeps("p at 0 while protected (ns3)") {
            self.drop_prob = 0.0;
        } else {
            let mut p = 0.0;
            if self.keeps("alpha on the deviation") {
                p += self.set.alpha * (self.qdelay - self.set.reference);
            }
            if self.keeps("beta on the change") {
                p += self.set.beta * (self.qdelay - self.qdelay_old);
            }
            let now = self.drop_prob;
            if self.keeps("tuned by the present p") {
                if now < 0.000001 {
                    p /= 2048.0;
                } else if now < 0.00001 {
                    p /= 512.0;
                } else if now < 0.0001 {
                    p /= 128.0;
                } else if now < 0.001 {
                    p /= 32.0;
                } else if now < 0.01 {
                    p /= 8.0;
                } else if now < 0.1 && self.keeps("half as large below 0.1") {
                    p /= 2.0;
                }
            }
            let big = now >= 0.1 || !self.keeps("the cap from 0.1 on");
            if self.set.cap && self.keeps("the cap") && big && p > 0.02 {
                p = 0.02;
            }
            if self.set.fast && self.qdelay > 0.25 && self.keeps("0.02 more above 250 ms") {
                p += 0.02;
            }
            self.drop_prob += p;
        }
        let quiet = |delay: f64| delay == 0.0 || self.set.half && delay < self.half_ref();
        let both = quiet(self.qdelay) && (quiet(self.qdelay_old) || !self.keeps("decay only after two"));
        let few = self.linux() && self.qdelay == 0.0 && !self.waiting.is_empty();
        if both && self.keeps("decay without delay") && !(few && self.keeps("no decay while packets wait (linux)")) {
            if !self.keeps("decay by 0.98") {
                self.drop_prob *= 0.97;
            } else if self.linux() {
                self.drop_prob -= self.drop_prob / 64.0;
            } else {
                self.drop_prob *= 0.98;
            }
        }
        if self.drop_prob < 0.0 && self.keeps("never negative") {
            self.drop_prob = 0.0;
        }
        if self.drop_prob > 1.0 && self.keeps("at most 1") {
            self.drop_prob = 1.0;
        }
        let rest = self.drop_prob == 0.0 || !self.keeps("renewed at p = 0 only");
        let quiet = rest && self.qdelay < self.half_ref() && self.qdelay_old < self.half_ref();
        if self.linux() {
            let known = !self.set.by_rate || self.average > 0.0;
            if quiet && known && self.keeps("the allowance is renewed") {
                self.burst_allowance = self.set.max_burst;
                self.accu_prob = 0.0;
                self.dq_tstamp = None;
                self.in_measurement = false;
                self.average = 0.0;
            }
        } else if self.keeps("the allowance runs out") {
            self.burst_allowance -= T_UPDATE;
            if self.burst_allowance < 1e-9 {
                self.burst_allowance = 0.0;
            }
        }
        if self.ns3() {
            if quiet && (!self.set.by_rate || self.average > 0.0) {
                self.in_measurement = false;
                self.average = 0.0;
            }
            if quiet && self.burst_allowance == 0.0 {
                if self.burst_state == 1 {
                    self.burst_state = 2;
                    self.burst_reset = 0;
                } else if self.burst_state == 2 {
                    self.burst_reset += 1;
                    let limit = if self.keeps("quiet for 1.5 s (ns3)") { 1.5 } else { 0.5 };
                    if self.burst_reset > (limit / T_UPDATE) as u32 {
                        self.burst_reset = 0;
                        self.burst_state = 0;
                    }
                }
            } else if self.burst_state == 2 {
                self.burst_reset = 0;
            }
        }
        if self.keeps("the old delay is kept") {
            self.qdelay_old = self.qdelay;
        }
    }

    /// Whether the arrival is hit, and for what reason.
    fn drop_early(&mut self, packet: &Packet) -> Option<Reason> {
        if self.rfc()
            && (self.drop_prob == 0.0 || !self.keeps("renewed at p = 0 only"))
            && self.keeps("the allowance is renewed")
            && self.qdelay < self.half_ref()
            && self.qdelay_old < self.half_ref()
        {
            self.burst_allowance = self.set.max_burst;
        }
        if self.burst_allowance > 0.0 && self.keeps("the allowance admits") {
            return None;
        }
        if self.ns3() && self.burst_state == 0 {
            self.burst_state = 1;
            self.burst_allowance = self.set.max_burst;
            if !self.keeps("the first of a burst is judged (ns3)") {
                return None;
            }
        }
        let by_old = self.linux() != self.keeps("low delay by the old sample");
        let delay = if by_old { self.qdelay_old } else { self.qdelay };
        let below = self.drop_prob < 0.2 || !self.keeps("low delay admits below 0.2 only");
        if delay < self.half_ref() && below && self.keeps("low delay admits") {
            return None;
        }
        let two = if self.linux() {
            self.bytes() < 2.0 * self.set.mean
        } else if self.ns3() && self.set.limit_packets.is_some() {
            self.waiting.len() <= 2
        } else {
            self.bytes() <= 2.0 * self.set.mean
        };
        if two && self.keeps("two packets admit") {
            return None;
        }
        let mut p = self.drop_prob;
        if self.set.scaling && self.keeps("size scales p") && !(self.linux() && f64::from(packet.size) > self.set.mean)
        {
            p *= f64::from(packet.size) / self.set.mean;
        }
        let mut forced = false;
        if self.set.derandomise {
            let more = if self.linux() { p } else { self.drop_prob };
            if more == 0.0 {
                self.accu_prob = 0.0;
            }
            if self.keeps("accu grows") {
                self.accu_prob += more;
            }
            if self.accu_prob < 0.85 - 1e-9 && self.keeps("0.85") {
                return None;
            }
            forced = self.accu_prob >= 8.5 - 1e-9 && self.keeps("8.5");
        }
        if forced && !self.keeps("no number when forced") {
            self.random.uniform();
        }
        if !forced {
            let u = self.random.uniform();
            if !self.keeps("one number each") {
                self.random.uniform();
            }
            if self.ns3() && (u > p || p == 0.0) || !self.ns3() && u >= p {
                return None;
            }
            if !self.ns3() && self.keeps("accu after a random mark") {
                self.accu_prob = 0.0;
            }
        } else if !self.keeps("accu after a forced mark") {
            self.accu_prob = 0.0;
        }
        Some(if forced || p >= 1.0 { Reason::Forced } else { Reason::Early })
    }

    fn enqueue(&mut self, mut packet: Packet, now: f64, seen: &mut Vec<Seen>) {
        let full = match self.set.limit_packets {
            Some(n) => self.waiting.len() as u64 >= n,
            None => self.bytes() + f64::from(packet.size) > self.set.limit_bytes as f64,
        };
        if full && !self.keeps("room comes first") {
            self.drop_early(&packet);
        }
        if full {
            if self.keeps("accu after an overflow") {
                self.accu_prob = 0.0;
            }
            seen.push(Seen::Dropped(packet.tag, Reason::Overflow));
            seen.push(Seen::Refused);
            return;
        }
        let was = packet.ecn;
        let mut dropped = None;
        if self.active {
            if let Some(reason) = self.drop_early(&packet) {
                let equal = self.linux() == self.keeps("marked at the threshold");
                let low = self.drop_prob < self.set.mark || equal && self.drop_prob == self.set.mark;
                let low = low || !self.keeps("marked below the threshold");
                if self.set.ecn && packet.ecn != Ecn::NotEct && low {
                    packet.ecn = Ecn::Ce;
                } else {
                    if self.keeps("accu after a drop") {
                        self.accu_prob = 0.0;
                    }
                    dropped = Some(reason);
                }
            }
        }
        match dropped {
            Some(reason) => {
                seen.push(Seen::Dropped(packet.tag, reason));
                seen.push(Seen::Refused);
            }
            None => {
                seen.push(Seen::Admitted { marked: packet.ecn != was });
                self.waiting.push_back(Packet { enqueued: Time::from_seconds(now), ..packet });
            }
        }
        self.activity(dropped.is_some(), now);
    }

    fn activity(&mut self, dropped: bool, now: f64) {
        let share = if self.keeps("a third wakes it") { 3 } else { 2 };
        let wake = match self.set.activity {
            "backlog" => match self.set.limit_packets {
                Some(n) => share * self.waiting.len() as u64 >= n,
                None => share as f64 * self.bytes() >= self.set.limit_bytes as f64,
            },
            "delay" if !dropped => self.qdelay >= 0.015,
            _ => return,
        };
        if wake && !self.active {
            self.active = true;
            self.qdelay_old = 0.0;
            self.drop_prob = 0.0;
            self.in_measurement = true;
            self.dq_count = 0.0;
            self.average = 0.0;
            self.burst_allowance = self.set.max_burst;
            self.accu_prob = 0.0;
            self.start = now;
        }
        let none = |delay: f64| if self.set.activity == "delay" { (delay * 1e3) as u64 == 0 } else { delay == 0.0 };
        if self.drop_prob == 0.0 && none(self.qdelay_old) && none(self.qdelay) {
            self.active = false;
            self.in_measurement = false;
        }
    }

    fn dequeued(&mut self, p: &Packet, now: f64) {
        let mut dtime = 0.0;
        if !self.set.by_rate {
            if self.keeps("the sample is the sojourn time") {
                self.qdelay = now - p.enqueued.seconds();
            } else {
                self.qdelay = self.bytes() * 8.0 / LINK.rate_bps;
            }
            if let Some(last) = self.dq_tstamp {
                dtime = now - last;
            }
            self.dq_tstamp = Some(now);
            if self.waiting.is_empty() && self.keeps("an emptied queue has no delay") {
                self.qdelay = 0.0;
            }
        } else {
            let bytes = self.bytes();
            if bytes >= self.set.dq_threshold && !self.in_measurement {
                self.start = now;
                self.dq_count = 0.0;
                self.in_measurement = true;
            }
            if self.in_measurement {
                self.dq_count += f64::from(p.size);
                if self.dq_count >= self.set.dq_threshold {
                    let time = now - self.start;
                    let rate = self.dq_count / time;
                    let first = self.average == 0.0 || !self.keeps("the rate is averaged");
                    if self.rfc() {
                        let weight = self.set.dq_threshold / 65536.0;
                        self.average = if first { time } else { weight * time + (1.0 - weight) * self.average };
                        self.in_measurement = false;
                    } else if self.linux() {
                        if time == 0.0 {
                            return;
                        }
                        self.average = if first { rate } else { self.average - self.average / 8.0 + rate / 8.0 };
                        dtime = time;
                        self.in_measurement = bytes >= self.set.dq_threshold;
                        self.start = now;
                        self.dq_count = 0.0;
                    } else {
                        if time > 0.0 {
                            self.average = if first { rate } else { 0.5 * self.average + 0.5 * rate };
                        }
                        self.in_measurement = bytes > self.set.dq_threshold
                            || bytes == self.set.dq_threshold && !self.keeps("measured again above the threshold");
                        self.start = now;
                        self.dq_count = 0.0;
                    }
                }
            }
        }
        if self.linux() && dtime > 0.0 && self.keeps("the allowance runs out") {
            self.burst_allowance -= dtime;
            if self.burst_allowance < 1e-9 {
                self.burst_allowance = 0.0;
            }
        }
    }
}

impl Slow for Transcription<'_> {
    fn arrive(&mut self, packet: Packet, now: f64, seen: &mut Vec<Seen>) {
        self.enqueue(packet, now, seen);
    }

    fn ask(&mut self, now: f64, seen: &mut Vec<Seen>) {
        let Some(p) = self.waiting.pop_front() else {
            seen.push(Seen::Empty);
            return;
        };
        self.dequeued(&p, now);
        seen.push(Seen::Left(p.tag, p.ecn));
    }

    fn timer(&mut self, _now: f64, seen: &mut Vec<Seen>) {
        self.calculate();
        seen.push(Seen::Probability(self.drop_prob.to_bits()));
    }
}

fn draw(seed: u64) -> (Setting, crate::script::Script) {
    let mut dice = Dice(seed ^ 0x81e);
    let dialect = dice.one_of(&["rfc", "linux", "ns3"]);
    let by_packets = dice.below(2) == 0;
    let limit = dice.one_of(&[40, 150, 600]);
    let linux = dialect == "linux";
    // A probability can stand exactly at the threshold only if that is where it is cut off.
    let mark = dice.one_of(&[0.1, 0.3, 1.0, 1.0]);
    let set = Setting {
        dialect,
        limit_packets: by_packets.then_some(limit),
        limit_bytes: limit * 1000,
        alpha: dice.one_of(&[0.125, 2.0]),
        beta: dice.one_of(&[1.25, 20.0]),
        reference: dice.one_of(&[0.015, 0.005, 0.05]),
        max_burst: dice.one_of(&[0.15, 0.0, 0.03]),
        mark,
        mean: if linux { 1514.0 } else { 1000.0 },
        by_rate: dice.below(3) == 0,
        derandomise: dice.below(2) == 0,
        cap: dice.below(2) == 0,
        fast: linux && dice.below(2) == 0,
        half: dice.below(3) == 0,
        scaling: dice.below(3) == 0,
        activity: dice.one_of(&["always", "always", "backlog", "delay"]),
        dq_threshold: dice.one_of(&[16384.0, 6000.0]),
        ecn: dice.below(2) == 0,
    };
    let service = dice.one_of(&[4.0, 20.0]);
    let sizes = dice.one_of(&[crate::script::MIXED, crate::script::ROUND]);
    let traffic = Traffic { flows: 3, sizes, grid: 50e-6, service, period: T_UPDATE, steps: 12_000 };
    let script = script(&mut dice, traffic);
    (set, script)
}

fn compare(seed: u64, broken: &str) -> Option<String> {
    let (set, script) = draw(seed);
    let flag = Value::Flag;
    let given = values(&[
        ("dialect", Value::Choice(set.dialect)),
        ("alpha", Value::Real(set.alpha)),
        ("beta", Value::Real(set.beta)),
        ("qdelay_ref", Value::Real(set.reference)),
        ("max_burst", Value::Real(set.max_burst)),
        ("mark_ecnth", Value::Real(set.mark)),
        ("dq_threshold", Value::Real(set.dq_threshold)),
        ("latency", Value::Choice(if set.by_rate { "rate" } else { "timestamp" })),
        ("derandomise", flag(set.derandomise)),
        ("cap_adjustment", flag(set.cap)),
        ("fast_growth", flag(set.fast)),
        ("decay_when", Value::Choice(if set.half { "below_half" } else { "zero" })),
        ("byte_scaling", flag(set.scaling)),
        ("activity", Value::Choice(set.activity)),
    ]);
    let mut numbers = Dice(seed);
    let random = Generator::custom(move || numbers.uniform());
    let limit = set.limit_packets.map_or(Limit::Bytes(set.limit_bytes), Limit::Packets);
    let mut pie = queue("pie", &given, &LINK, limit, set.ecn, random);
    let fast = run_queue(&mut *pie, &script, "p");
    difference(&fast, &run_slow(&mut Transcription::new(&set, broken, seed), &script))
}

#[test]
fn pie_does_what_the_transcription_does() {
    let (mut early, mut forced, mut marks) = (0, 0, 0);
    for seed in 0..200 {
        let (set, script) = draw(seed);
        for entry in run_slow(&mut Transcription::new(&set, "", seed), &script) {
            early += u32::from(matches!(entry, Seen::Dropped(_, Reason::Early)));
            forced += u32::from(matches!(entry, Seen::Dropped(_, Reason::Forced)));
            marks += u32::from(entry == Seen::Admitted { marked: true });
        }
    }
    assert!(early > 5000 && forced > 100 && marks > 1000, "the scripts ask for little: {early}, {forced}, {marks}");
    agrees_by_every_rule(43, 0..400, compare);
}
