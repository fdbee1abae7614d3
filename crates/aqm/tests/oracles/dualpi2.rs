//! DualPI2 against two slow transcriptions that share nothing with it but packets and times: the pseudo-code of RFC
//! 9332, appendix A, with its list of parameters, and the functions of Linux `sch_dualpi2` in the kernel's integers.
//!
//! Random arrivals meet a link; every admission, drop with its reason, departure with its ECN field, and value of p'
//! must agree, with the same random numbers given to both. Then each rule of the transcriptions is broken in turn, and
//! each time the two must disagree: a rule that could be wrong unseen would not be checked.

use crate::common::{gauge, queue, values};
use crate::script::{keeps, rules};
use earlydrop_aqm::prelude::*;

const MTU: u64 = 1514;
const RATE_BPS: f64 = 10e6;

/// What can be seen.
#[derive(Clone, Debug, PartialEq)]
enum Seen {
    Admitted { tag: u32, ecn: Ecn },
    Dropped { tag: u32, reason: Reason },
    Left { tag: u32, ecn: Ecn },
    NothingLeft,
    Updated { at: f64, p: f64 },
}

impl Seen {
    /// Times and probabilities agree to rounding: the kernel's are multiples of 2^-32 and of a nanosecond.
    fn agrees(&self, other: &Seen) -> bool {
        match (self, other) {
            (Seen::Updated { at: a, p }, Seen::Updated { at: b, p: q }) => (a - b).abs() < 1e-9 && (p - q).abs() < 1e-6,
            _ => self == other,
        }
    }
}

/// A generator of one's own, so that a seed means the same numbers on both sides.
struct Numbers(u64);

impl Numbers {
    fn next(&mut self) -> f64 {
        self.0 = self.0.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
        (self.0 >> 11) as f64 / (1_u64 << 53) as f64
    }
}

/// One run's settings.
#[derive(Clone, Debug)]
struct Setting {
    seed: u64,
    limit: Limit,
    ecn: bool,
    /// rfc: recur() or chance; linux: always chance.
    recur: bool,
    tsfifo: bool,
    k: u8,
    drop_early: bool,
    drop_overload: bool,
    step_packets: Option<u64>,
    min_qlen_step: u64,
}

/// A transcription, perhaps with one rule broken.
trait Oracle {
    fn enqueue(&mut self, packet: Packet, now: f64, seen: &mut Vec<Seen>);
    fn dequeue(&mut self, now: f64, seen: &mut Vec<Seen>) -> Option<Packet>;
    fn next_update(&self) -> f64;
    fn update(&mut self) -> f64;
}

/// Marks: the reason to drop it if it cannot be marked.
fn mark(packet: &mut Packet, ecn: bool, likelihood: f64) -> Option<Reason> {
    if ecn && packet.ecn != Ecn::NotEct {
        packet.ecn = Ecn::Ce;
        return None;
    }
    Some(if likelihood < 1.0 { Reason::Early } else { Reason::Forced })
}

// RFC 9332, appendix A: dualpi2_params_init, _enqueue, _dequeue, recur, laqm, _update; overload as in A.2.

struct Rfc<'a> {
    set: &'a Setting,
    broken: &'a str,
    random: Numbers,
    lq: Vec<Packet>,
    cq: Vec<Packet>,
    lq_count: f64,
    cq_count: f64,
    p: f64,
    prevq: f64,
    next: f64,
    credit: f64,
}

impl<'a> Rfc<'a> {
    const TARGET: f64 = 0.015;
    const RTT_MAX: f64 = 0.1;
    const MIN_TH: f64 = 800e-6;
    const RANGE: f64 = 400e-6;

    fn new(set: &'a Setting, broken: &'a str) -> Self {
        let random = Numbers(set.seed);
        let (lq, cq) = (Vec::new(), Vec::new());
        let (lq_count, cq_count) = (0.0, 0.0);
        let mut rfc =
            Rfc { set, broken, random, lq, cq, lq_count, cq_count, p: 0.0, prevq: 0.0, next: 0.0, credit: 0.0 };
        rfc.next = rfc.t_update();
        rfc.start_credit();
        rfc
    }

    fn is(&self, rule: &'static str) -> bool {
        !keeps(self.broken, rule)
    }

    fn t_update(&self) -> f64 {
        let t_update = f64::min(Self::TARGET, Self::RTT_MAX / 3.0);
        if self.is("t_update") {
            1.1 * t_update
        } else {
            t_update
        }
    }

    fn start_credit(&mut self) {
        // Weights 1/16 and 15/16.
        self.credit = if self.is("credit start") { 0.0 } else { MTU as f64 * (1.0 / 16.0 - 15.0 / 16.0) };
    }

    fn k(&self) -> f64 {
        f64::from(self.set.k)
    }

    fn p_cl(&self) -> f64 {
        let p_cl = if self.is("p_cl") { (self.k() + 1.0) * self.p } else { self.k() * self.p };
        if self.is("p_cl cut") {
            0.9 * p_cl.min(1.0)
        } else {
            p_cl.min(1.0)
        }
    }

    fn bytes(&self) -> u64 {
        self.lq.iter().chain(&self.cq).map(|packet| u64::from(packet.size)).sum()
    }

    fn laqm(&self, qdelay: f64) -> f64 {
        let min_th = if self.is("laqm min") { 0.7e-3 } else { Self::MIN_TH };
        let max_th = if self.is("laqm max") { 1.1e-3 } else { Self::MIN_TH + Self::RANGE };
        let th_len = if self.is("th_len") { 0 } else { 1 };
        if self.lq.len() <= th_len {
            0.0
        } else if qdelay >= max_th {
            1.0
        } else if qdelay > min_th {
            let p = ((qdelay - min_th) / Self::RANGE).min(1.0);
            if self.is("laqm slope") {
                p * p
            } else {
                p
            }
        } else {
            0.0
        }
    }

    fn recur(&mut self, l: bool, likelihood: f64, squared: bool) -> bool {
        if !self.set.recur {
            // The probability p' twice for its square.
            let each = if squared { likelihood.sqrt() } else { likelihood };
            return self.random.next() <= each && each > 0.0 && (!squared || self.random.next() <= each);
        }
        let (over, keeps) = (self.is("recur >"), self.is("recur keeps"));
        let l = l && !self.is("recur counters");
        let count = if l { &mut self.lq_count } else { &mut self.cq_count };
        *count += likelihood;
        if *count > 1.0 || (over && *count > 0.999) {
            *count = if keeps { 0.0 } else { *count - 1.0 };
            return true;
        }
        false
    }

    fn scheduler(&self, now: f64) -> &'static str {
        if self.set.tsfifo && !self.lq.is_empty() && !self.cq.is_empty() {
            let (l, c) = (now - self.lq[0].enqueued.seconds(), now - self.cq[0].enqueued.seconds());
            return if l + 0.05 >= c { "lq" } else { "cq" };
        }
        if !self.lq.is_empty() && (self.cq.is_empty() || self.credit <= 0.0) {
            "lq"
        } else {
            "cq"
        }
    }
}

impl Oracle for Rfc<'_> {
    fn enqueue(&mut self, mut packet: Packet, now: f64, seen: &mut Vec<Seen>) {
        let full = match self.set.limit {
            Limit::Packets(n) => (self.lq.len() + self.cq.len()) as u64 >= if self.is("limit") { n - 1 } else { n },
            Limit::Bytes(n) if self.is("room without the mtu") => self.bytes() + u64::from(packet.size) > n,
            Limit::Bytes(n) => self.bytes() + MTU > n,
        };
        if full {
            seen.push(Seen::Dropped { tag: packet.tag, reason: Reason::Overflow });
            return;
        }
        packet.enqueued = Time::from_seconds(if self.is("stamp") { (now - 0.001).max(0.0) } else { now });
        seen.push(Seen::Admitted { tag: packet.tag, ecn: packet.ecn });
        let l = match packet.ecn {
            Ecn::Ect1 => !self.is("classifier"),
            Ecn::Ce => !self.is("ce is l"),
            Ecn::Ect0 | Ecn::NotEct => false,
        };
        if l {
            self.lq.push(packet);
        } else {
            self.cq.push(packet);
        }
    }

    fn dequeue(&mut self, now: f64, seen: &mut Vec<Seen>) -> Option<Packet> {
        while self.bytes() > 0 {
            let from_l = self.scheduler(now) == "lq";
            let newest = self.is(if from_l { "l taken from head" } else { "c taken from head" });
            let others = if from_l { !self.cq.is_empty() } else { !self.lq.is_empty() };
            let from = if from_l { &mut self.lq } else { &mut self.cq };
            let mut packet = if newest { from.pop()? } else { from.remove(0) };
            let mut drop = None;
            let (p_c, p_cl) = (self.p * self.p, self.p_cl());
            if from_l {
                if p_cl < 1.0 || self.is("overload l") {
                    let p_native = self.laqm(now - packet.enqueued.seconds());
                    let p_l = if self.is("combine") { p_native.min(p_cl) } else { p_native.max(p_cl) };
                    if self.recur(true, p_l, false) && !self.is("p_l") {
                        drop = mark(&mut packet, self.set.ecn, p_l);
                    }
                } else {
                    let p_c = if self.is("overload p_c") { 0.0 } else { p_c };
                    if self.recur(true, p_c, true) {
                        drop = Some(if p_c < 1.0 { Reason::Early } else { Reason::Forced });
                    } else if !self.is("overload mark") {
                        drop = mark(&mut packet, self.set.ecn, 1.0);
                    }
                }
            } else if self.recur(false, if self.is("p_c") { self.p } else { p_c }, true) {
                let p_cmax = f64::min(1.0 / (self.k() * self.k()), 1.0);
                let overload = p_c >= p_cmax && !self.is("overload c");
                if packet.ecn == Ecn::NotEct || overload || self.is("ect0 is marked") {
                    drop = Some(if p_c < 1.0 { Reason::Early } else { Reason::Forced });
                } else {
                    drop = mark(&mut packet, self.set.ecn, p_c);
                }
            }
            if let Some(reason) = drop {
                seen.push(Seen::Dropped { tag: packet.tag, reason });
                continue;
            }
            if others && from_l && !self.is("credit l") {
                self.credit += f64::from(packet.size) / 16.0;
            } else if others && !from_l && !self.is("credit c") {
                self.credit -= f64::from(packet.size) * 15.0 / 16.0;
            }
            seen.push(Seen::Left { tag: packet.tag, ecn: packet.ecn });
            return Some(packet);
        }
        self.start_credit();
        seen.push(Seen::NothingLeft);
        None
    }

    fn next_update(&self) -> f64 {
        self.next
    }

    fn update(&mut self) -> f64 {
        let time = |queue: &[Packet]| queue.first().map_or(0.0, |packet| self.next - packet.enqueued.seconds());
        let curq = if self.is("older head") { time(&self.cq) } else { f64::max(time(&self.cq), time(&self.lq)) };
        let target = if self.is("target") { 0.016 } else { Self::TARGET };
        let t_update = f64::min(Self::TARGET, Self::RTT_MAX / 3.0);
        let alpha = if self.is("alpha") { 0.16 } else { 0.1 * t_update / (Self::RTT_MAX * Self::RTT_MAX) };
        let beta = if self.is("beta") { 3.2 } else { 0.3 / Self::RTT_MAX };
        self.p = self.p + alpha * (curq - target) + beta * (curq - self.prevq);
        self.p = if self.is("clamp") { self.p.clamp(-0.01, 1.0) } else { self.p.clamp(0.0, 1.0) };
        self.prevq = if self.is("prevq") { 0.0 } else { curq };
        self.next += self.t_update();
        self.p
    }
}

// Linux: dualpi2_enqueue_skb, dequeue_packet, must_drop, classic and scalable marking, do_step_aqm,
// calculate_probability. Probabilities are fractions of 2^32 - 1, times nanoseconds.

const MAX_PROB: u64 = u32::MAX as u64;

struct Linux<'a> {
    set: &'a Setting,
    broken: &'a str,
    random: Numbers,
    /// Packets with their times of arrival (ns) and whether the step applies to them.
    l_queue: Vec<(Packet, u64, bool)>,
    c_queue: Vec<(Packet, u64, bool)>,
    pi2_prob: u64,
    last_qdelay: u64,
    next: u64,
    credit: i64,
}

impl<'a> Linux<'a> {
    fn new(set: &'a Setting, broken: &'a str) -> Self {
        let (l_queue, c_queue) = (Vec::new(), Vec::new());
        let random = Numbers(set.seed);
        let mut linux =
            Linux { set, broken, random, l_queue, c_queue, pi2_prob: 0, last_qdelay: 0, next: 16_000_000, credit: 0 };
        linux.reset_c_protection();
        linux
    }

    fn is(&self, rule: &'static str) -> bool {
        !keeps(self.broken, rule)
    }

    fn reset_c_protection(&mut self) {
        self.credit = if self.is("credit start") { 0 } else { MTU as i64 * (10 - 90) };
    }

    fn ns(seconds: f64) -> u64 {
        (seconds * 1e9).round() as u64
    }

    fn bytes(&self) -> u64 {
        self.l_queue.iter().chain(&self.c_queue).map(|(packet, _, _)| u64::from(packet.size)).sum()
    }

    fn roll(&mut self, prob: u64) -> bool {
        prob > 0 && self.random.next() <= prob as f64 / MAX_PROB as f64
    }

    /// A roll draws also at probability 0.
    fn draw(&mut self, prob: u64) -> bool {
        if prob == 0 {
            self.random.next();
        }
        self.roll(prob)
    }

    fn reason(prob: u64) -> Reason {
        if prob < MAX_PROB {
            Reason::Early
        } else {
            Reason::Forced
        }
    }

    fn both(&mut self, prob: u64) -> bool {
        if self.is("both rolls") {
            return self.draw(prob);
        }
        if self.is("second roll") {
            let first = self.draw(prob);
            return self.draw(prob) && first;
        }
        self.draw(prob) && self.draw(prob)
    }

    fn must_drop(&mut self, packet: &mut Packet, l4s: bool, bytes_without: u64) -> Option<Reason> {
        let waiting = bytes_without + if self.is("2 mtu without it") { u64::from(packet.size) } else { 0 };
        if waiting < 2 * MTU && !self.is("2 mtu") {
            return None;
        }
        let prob = self.pi2_prob;
        let local_l_prob = prob * u64::from(self.set.k);
        let overload = local_l_prob > if self.is("overload") { MAX_PROB / 2 } else { MAX_PROB };
        if !l4s {
            if self.both(prob) {
                let spared = packet.ecn == Ecn::Ect0 && (!overload || self.is("overload drops ect"));
                if !spared || self.is("ect0 is marked") {
                    return Some(Self::reason(prob));
                }
                return mark(packet, self.set.ecn, prob as f64 / MAX_PROB as f64);
            }
            return None;
        }
        if overload && !self.is("overload l") {
            if self.set.drop_overload && (!self.is("overload l rolls") && self.both(prob)) {
                return Some(Self::reason(prob));
            }
            return mark(packet, self.set.ecn, 1.0);
        }
        let l_prob = if self.is("l roll") { prob } else { local_l_prob.min(MAX_PROB) };
        if self.draw(l_prob) {
            return mark(packet, self.set.ecn, l_prob as f64 / MAX_PROB as f64);
        }
        None
    }

    fn step(&self, waited: u64, apply: bool) -> bool {
        let above = match self.set.step_packets {
            Some(length) => {
                let left = self.l_queue.len() as u64 + u64::from(self.is("step in packets"));
                left > length
            }
            None => waited > if self.is("step threshold") { 1_100_000 } else { 1_000_000 },
        };
        above && (apply || self.is("min_qlen_step")) && !self.is("step")
    }
}

impl Oracle for Linux<'_> {
    fn enqueue(&mut self, mut packet: Packet, now: f64, seen: &mut Vec<Seen>) {
        let waiting = (self.l_queue.len() + self.c_queue.len()) as u64;
        let full = match self.set.limit {
            Limit::Packets(n) => waiting >= if self.is("limit") { n + 1 } else { n },
            Limit::Bytes(n) => self.bytes() + u64::from(packet.size) > if self.is("limit") { n + 500 } else { n },
        };
        if full {
            seen.push(Seen::Dropped { tag: packet.tag, reason: Reason::Overflow });
            return;
        }
        let l4s = match packet.ecn {
            Ecn::Ect1 => !self.is("classifier"),
            Ecn::Ce => !self.is("ce is l"),
            Ecn::Ect0 | Ecn::NotEct => false,
        };
        if self.set.drop_early && !self.is("drop_early") {
            let bytes = self.bytes();
            if let Some(reason) = self.must_drop(&mut packet, l4s, bytes) {
                seen.push(Seen::Dropped { tag: packet.tag, reason });
                return;
            }
        }
        seen.push(Seen::Admitted { tag: packet.tag, ecn: packet.ecn });
        let apply = self.l_queue.len() as u64 >= self.set.min_qlen_step;
        let queue = if l4s { &mut self.l_queue } else { &mut self.c_queue };
        queue.push((packet, Self::ns(now), apply));
    }

    fn dequeue(&mut self, now: f64, seen: &mut Vec<Seen>) -> Option<Packet> {
        loop {
            let (l, c) = (self.l_queue.len(), self.c_queue.len());
            if l + c == 0 {
                self.reset_c_protection();
                seen.push(Seen::NothingLeft);
                return None;
            }
            let negative = if self.is("credit sign") { self.credit < 0 } else { self.credit <= 0 };
            let l4s = l > 0 && (c == 0 || negative);
            let (mut packet, arrived, apply) = if l4s { self.l_queue.remove(0) } else { self.c_queue.remove(0) };
            let both = l > 0 && c > 0 || self.is("credit of the only");
            let change = match (both, l4s) {
                (true, true) if !self.is("credit l") => 10 * i64::from(packet.size),
                (true, false) if !self.is("credit c") => -90 * i64::from(packet.size),
                _ => 0,
            };
            let mut drop = None;
            if !self.set.drop_early || self.is("drop_early") {
                let bytes = self.bytes();
                drop = self.must_drop(&mut packet, l4s, bytes);
            }
            let step = drop.is_none() && l4s && self.step(Self::ns(now) - arrived, apply);
            if step && !(self.is("step after coupling") && self.pi2_prob > 0) {
                drop = mark(&mut packet, self.set.ecn, 1.0);
            }
            if let Some(reason) = drop {
                if self.is("credit of a drop") {
                    self.credit += change;
                }
                seen.push(Seen::Dropped { tag: packet.tag, reason });
                continue;
            }
            self.credit += change;
            seen.push(Seen::Left { tag: packet.tag, ecn: packet.ecn });
            return Some(packet);
        }
    }

    fn next_update(&self) -> f64 {
        self.next as f64 * 1e-9
    }

    fn update(&mut self) -> f64 {
        // 41 and 819 in units of 1/256 Hz; gains are per 64 ns.
        let scale = |param: u64| (((param * MAX_PROB) >> 2) / 1_000_000_000) as i64;
        let alpha = scale(if self.is("alpha") { 38 } else { 41 });
        let beta = scale(if self.is("beta") { 768 } else { 819 });
        let target = if self.is("target") { 16_000_000 } else { 15_000_000 };
        let age = |queue: &[(Packet, u64, bool)]| queue.first().map_or(0, |&(_, arrived, _)| self.next - arrived);
        let qdelay =
            if self.is("older head") { age(&self.c_queue) } else { age(&self.c_queue).max(age(&self.l_queue)) };
        let delta = (qdelay as i64 - target) * alpha + (qdelay as i64 - self.last_qdelay as i64) * beta;
        self.last_qdelay = if self.is("last_qdelay") { 0 } else { qdelay };
        let new_prob = if delta > 0 {
            (delta as u64 / 64 + self.pi2_prob).min(MAX_PROB)
        } else {
            let least = if self.is("below zero") { MAX_PROB / 100 } else { 0 };
            self.pi2_prob.saturating_sub(delta.unsigned_abs() / 64).max(least)
        };
        let capped = !self.set.drop_overload && !self.is("cap");
        self.pi2_prob = if capped { new_prob.min(MAX_PROB / u64::from(self.set.k)) } else { new_prob };
        self.next += if self.is("t_update") { 15_000_000 } else { 16_000_000 };
        self.pi2_prob as f64 / MAX_PROB as f64
    }
}

const PACKETS: u32 = 2500;

/// Drives `oracle` and collects what it does. The load swings between idle and twice the link, in bursts.
fn run_oracle(seed: u64, oracle: &mut dyn Oracle) -> Vec<Seen> {
    let mut seen = Vec::new();
    let mut free: Option<f64> = None;
    for (packet, now) in arrivals(seed) {
        while let Some(end) = free.filter(|&end| end <= now) {
            catch_up(oracle, end, &mut seen);
            free = oracle.dequeue(end, &mut seen).map(|left| end + 8.0 * f64::from(left.size) / RATE_BPS);
        }
        catch_up(oracle, now, &mut seen);
        oracle.enqueue(packet, now, &mut seen);
        if free.is_none() {
            free = oracle.dequeue(now, &mut seen).map(|left| now + 8.0 * f64::from(left.size) / RATE_BPS);
        }
    }
    seen
}

fn catch_up(oracle: &mut dyn Oracle, now: f64, seen: &mut Vec<Seen>) {
    while oracle.next_update() <= now {
        let at = oracle.next_update();
        seen.push(Seen::Updated { at, p: oracle.update() });
    }
}

fn arrivals(seed: u64) -> Vec<(Packet, f64)> {
    let mut random = Numbers(seed ^ 0x5eed);
    let mut now = 0.001;
    let mut packets = Vec::new();
    for tag in 0..PACKETS {
        let load = [0.4, 1.2, 2.0, 0.9][(tag / 150) as usize % 4];
        let size = [40, 576, 1000, 1500, 1514][(random.next() * 5.0) as usize];
        // Bursts of a few, then a gap.
        if random.next() < 0.5 {
            now -= (1.0 - random.next()).ln() * 2.0 * 8.0 * 926.0 / RATE_BPS / load;
        }
        let ecn = [Ecn::NotEct, Ecn::Ect0, Ecn::Ect1, Ecn::Ect1, Ecn::Ce][(random.next() * 5.0) as usize];
        packets.push((Packet { tag, ecn, ..Packet::new(1, size) }, now));
    }
    packets
}

/// The discipline of the catalogue behind the same driver.
struct Ours {
    queue: Box<dyn Discipline>,
}

impl Oracle for Ours {
    fn enqueue(&mut self, packet: Packet, now: f64, seen: &mut Vec<Seen>) {
        let mut report = |victim: &Packet, reason| seen.push(Seen::Dropped { tag: victim.tag, reason });
        if let Some(marked) = self.queue.enqueue(packet, Time::from_seconds(now), &mut report) {
            let ecn = if marked.0 { Ecn::Ce } else { packet.ecn };
            seen.push(Seen::Admitted { tag: packet.tag, ecn });
        }
    }

    fn dequeue(&mut self, now: f64, seen: &mut Vec<Seen>) -> Option<Packet> {
        let mut report = |victim: &Packet, reason| seen.push(Seen::Dropped { tag: victim.tag, reason });
        let packet = self.queue.dequeue(Time::from_seconds(now), &mut report);
        seen.push(packet.map_or(Seen::NothingLeft, |packet| Seen::Left { tag: packet.tag, ecn: packet.ecn }));
        packet
    }

    fn next_update(&self) -> f64 {
        self.queue.next_timer().expect("a timer").seconds()
    }

    fn update(&mut self) -> f64 {
        let due = self.queue.next_timer().expect("a timer");
        self.queue.on_timer(due);
        gauge(&*self.queue, "p")
    }
}

fn ours(dialect: &'static str, set: &Setting) -> Vec<Seen> {
    let mut given = values(&[
        ("dialect", Value::Choice(dialect)),
        ("k", Value::Real(f64::from(set.k))),
        ("scheduler", Value::Choice(if set.tsfifo { "tsfifo" } else { "wrr" })),
        ("drop_early", Value::Flag(set.drop_early)),
        ("drop_overload", Value::Flag(set.drop_overload)),
        ("min_qlen_step", Value::Whole(set.min_qlen_step as i64)),
    ]);
    if dialect == "rfc" {
        given.set("derandomise", Value::Flag(set.recur));
    }
    if let Some(length) = set.step_packets {
        given.set("l_aqm", Value::Choice("step_packets")).set("step_length", Value::Whole(length as i64));
    }
    let mut numbers = Numbers(set.seed);
    let random = Generator::custom(move || numbers.next());
    let link = Link { rate_bps: RATE_BPS, delay_s: 0.01 };
    let mut ours = Ours { queue: queue("dualpi2", &given, &link, set.limit, set.ecn, random) };
    let seen = run_oracle(set.seed, &mut ours);
    let counters = ours.queue.counters();
    assert_eq!(counters.arrivals, counters.departures + counters.drops() + ours.queue.packets());
    seen
}

fn settings(dialect: &str) -> Vec<Setting> {
    (0..24_u64)
        .map(|i| {
            let rfc = dialect == "rfc";
            Setting {
                seed: 1000 + i,
                limit: [Limit::Packets(1000), Limit::Packets(60), Limit::Bytes(40_000)][i as usize % 3],
                ecn: i % 8 != 7,
                recur: i % 2 == 0,
                tsfifo: rfc && i % 4 == 1,
                k: [2, 2, 2, 3, 1][i as usize % 5],
                drop_early: !rfc && i % 4 == 2,
                drop_overload: rfc || i % 4 != 3,
                step_packets: (!rfc && i % 6 == 4).then_some(3),
                min_qlen_step: if !rfc && i % 5 == 0 { 2 } else { 0 },
            }
        })
        .collect()
}

/// The first place at which the two differ.
fn difference(a: &[Seen], b: &[Seen]) -> Option<usize> {
    (0..a.len().max(b.len())).find(|&i| !matches!((a.get(i), b.get(i)), (Some(x), Some(y)) if x.agrees(y)))
}

fn oracle(dialect: &str, set: &Setting, broken: &str) -> Vec<Seen> {
    match dialect {
        "rfc" => run_oracle(set.seed, &mut Rfc::new(set, broken)),
        _ => run_oracle(set.seed, &mut Linux::new(set, broken)),
    }
}

fn agrees_and_sees_every_rule(dialect: &'static str, count: usize) {
    let runs: Vec<(Setting, Vec<Seen>)> =
        settings(dialect).into_iter().map(|set| (set.clone(), ours(dialect, &set))).collect();
    let (mut reasons, mut marked, mut overloaded) = ([0; 3], 0, 0);
    let rules = rules(|| {
        for (set, seen) in &runs {
            let want = oracle(dialect, set, "");
            if let Some(i) = difference(seen, &want) {
                panic!("{set:?}\nevent {i}: {:?}, the oracle says {:?}", seen.get(i), want.get(i));
            }
            for event in seen {
                match event {
                    Seen::Dropped { reason, .. } => reasons[*reason as usize] += 1,
                    Seen::Left { ecn: Ecn::Ce, .. } => marked += 1,
                    Seen::Updated { p, .. } if *p > 0.5 => overloaded += 1,
                    _ => {}
                }
            }
        }
    });
    assert_eq!(rules.len(), count, "{rules:?}");
    assert!(reasons.iter().all(|&n| n > 100) && marked > 1000 && overloaded > 50, "{reasons:?} {marked} {overloaded}");
    for rule in rules {
        assert!(
            runs.iter().any(|(set, seen)| difference(seen, &oracle(dialect, set, rule)).is_some()),
            "{dialect}: nothing shows that the rule \"{rule}\" is broken"
        );
    }
}

#[test]
fn agrees_with_rfc_9332_and_sees_every_rule() {
    agrees_and_sees_every_rule("rfc", 34);
}

#[test]
fn agrees_with_linux_and_sees_every_rule() {
    agrees_and_sees_every_rule("linux", 33);
}
