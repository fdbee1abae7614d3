//! FQ-CoDel against a slow, direct transcription of RFC 8290 and of what Linux and ns-3 do differently: two lists,
//! plain queues, a scan for the fattest. Random arrivals and requests, verdict for verdict; each rule of the
//! transcription is then changed, and the change must show.

use crate::common::{queue, values};
use crate::script::{agrees_by_every_rule, difference, keeps, run_queue, run_slow, script, Dice, Seen, Slow, Traffic};
use earlydrop_aqm::prelude::*;
use std::collections::{BTreeMap, VecDeque};

const LINK: Link = Link { rate_bps: 10e6, delay_s: 0.02 };

struct Setting {
    dialect: &'static str,
    quantum: i64,
    batch: u64,
    limit: usize,
    ecn: bool,
    target: f64,
    interval: f64,
}

#[derive(Default)]
struct Codel {
    above: Option<f64>,
    next: f64,
    count: i64,
    last: i64,
    dropping: bool,
}

#[derive(Default)]
struct Flow {
    waiting: VecDeque<Packet>,
    deficit: i64,
    codel: Codel,
}

impl Flow {
    fn bytes(&self) -> u64 {
        self.waiting.iter().map(|p| u64::from(p.size)).sum()
    }
}

struct Transcription<'a> {
    set: &'a Setting,
    broken: &'a str,
    index: BTreeMap<u64, usize>,
    flows: Vec<Flow>,
    new: VecDeque<usize>,
    old: VecDeque<usize>,
}

impl<'a> Transcription<'a> {
    fn new(set: &'a Setting, broken: &'a str) -> Self {
        let (index, flows) = (BTreeMap::new(), Vec::new());
        Transcription { set, broken, index, flows, new: VecDeque::new(), old: VecDeque::new() }
    }

    fn keeps(&self, rule: &'static str) -> bool {
        keeps(self.broken, rule)
    }

    fn linux(&self) -> bool {
        self.set.dialect == "linux"
    }

    fn units(&self, seconds: f64) -> f64 {
        if self.set.dialect == "rfc" {
            seconds
        } else {
            ((seconds * 1e9).round() as u64 / 1024) as f64
        }
    }

    fn packets(&self) -> usize {
        self.flows.iter().map(|f| f.waiting.len()).sum()
    }

    fn law(&self, from: f64, count: i64) -> f64 {
        let gap = self.units(self.set.interval) / (count.max(1) as f64).sqrt();
        from + if self.set.dialect == "rfc" { gap } else { gap.floor() }
    }

    /// The head of queue `f` and whether CoDel may drop it.
    fn head(&mut self, f: usize, now: f64) -> (Option<Packet>, bool) {
        let Some(p) = self.flows[f].waiting.pop_front() else {
            self.flows[f].codel.above = None;
            return (None, false);
        };
        let whole = self.linux() == self.keeps("whose backlog is small");
        let backlog: u64 = if whole { self.flows.iter().map(Flow::bytes).sum() } else { self.flows[f].bytes() };
        let then = p.enqueued.seconds();
        let sojourn = match self.set.dialect {
            "linux" => self.units(now) - self.units(then),
            _ => self.units(now - then),
        };
        let small = match self.set.dialect {
            "rfc" => backlog <= 1500,
            "linux" => backlog <= 1514,
            _ => backlog < 1500,
        };
        let early = sojourn < self.units(self.set.target);
        let (clock, interval, rfc) = (self.units(now), self.units(self.set.interval), self.set.dialect == "rfc");
        let codel = &mut self.flows[f].codel;
        if early || small {
            codel.above = None;
            return (Some(p), false);
        }
        let ok = codel.above.is_some_and(|t| clock > t || rfc && clock == t);
        codel.above.get_or_insert(clock + interval);
        (Some(p), ok)
    }

    fn mark(&self, p: &mut Packet) -> bool {
        let can = self.set.ecn && p.ecn != Ecn::NotEct;
        if can {
            p.ecn = Ecn::Ce;
        }
        can
    }

    fn kill(&mut self, f: usize, p: &Packet, seen: &mut Vec<Seen>) {
        seen.push(Seen::Dropped(p.tag, Reason::Forced));
        if !self.keeps("drops are not charged") {
            self.flows[f].deficit -= i64::from(p.size);
        }
    }

    fn codel_dequeue(&mut self, f: usize, now: f64, seen: &mut Vec<Seen>) -> Option<Packet> {
        let clock = self.units(now);
        if self.set.dialect != "rfc" && self.flows[f].waiting.is_empty() {
            self.flows[f].codel.dropping = false;
            if self.set.dialect == "linux" && self.keeps("in Linux an empty queue forgets since when packets are late")
            {
                self.flows[f].codel.above = None;
            }
            return None;
        }
        let (mut p, mut ok) = self.head(f, now);
        if self.flows[f].codel.dropping {
            self.flows[f].codel.dropping = ok;
            while self.flows[f].codel.dropping && clock >= self.flows[f].codel.next {
                self.flows[f].codel.count += 1;
                let count = self.flows[f].codel.count;
                let mut packet = p.expect("late packets only");
                if self.mark(&mut packet) {
                    let from = if self.set.dialect == "ns3" { clock } else { self.flows[f].codel.next };
                    self.flows[f].codel.next = self.law(from, count);
                    return Some(packet);
                }
                self.kill(f, &packet, seen);
                (p, ok) = self.head(f, now);
                if ok {
                    self.flows[f].codel.next = self.law(self.flows[f].codel.next, count);
                } else {
                    self.flows[f].codel.dropping = false;
                }
            }
        } else if ok {
            let mut packet = p.expect("late packets only");
            if self.mark(&mut packet) {
                p = Some(packet);
            } else {
                self.kill(f, &packet, seen);
                (p, _) = self.head(f, now);
            }
            let interval = self.units(self.set.interval);
            let codel = &mut self.flows[f].codel;
            let delta = codel.count - codel.last;
            codel.dropping = true;
            codel.count = if delta > 1 && clock - codel.next < 16.0 * interval { delta } else { 1 };
            codel.last = codel.count;
            let count = codel.count;
            self.flows[f].codel.next = self.law(clock, count);
        }
        p
    }

    fn overflow(&mut self, seen: &mut Vec<Seen>) {
        let mut fattest = 0;
        let by_bytes = self.keeps("the most bytes lose");
        let weight = |f: &Flow| if by_bytes { f.bytes() } else { f.waiting.len() as u64 };
        for f in 1..self.flows.len() {
            let (this, most) = (weight(&self.flows[f]), weight(&self.flows[fattest]));
            if this > most || this == most && !self.keeps("the first of several") {
                fattest = f;
            }
        }
        let divisor = if self.keeps("half of it") { 2 } else { 3 };
        let half_packets = self.flows[fattest].waiting.len() as u64 / divisor;
        let half_bytes = self.flows[fattest].bytes() / divisor;
        let (mut n, mut bytes) = (0, 0);
        loop {
            let waiting = &mut self.flows[fattest].waiting;
            let from_head = keeps(self.broken, "from the head");
            let p = if from_head { waiting.pop_front() } else { waiting.pop_back() }.expect("the fattest is not empty");
            seen.push(Seen::Dropped(p.tag, Reason::Overflow));
            n += 1;
            bytes += u64::from(p.size);
            let done = if self.set.dialect == "rfc" { n >= half_packets } else { bytes >= half_bytes };
            if done || n >= self.set.batch && self.keeps("a batch at most") {
                break;
            }
        }
        if self.linux() == self.keeps("count after an overflow") {
            self.flows[fattest].codel.count += n as i64;
        }
        if self.flows[fattest].waiting.is_empty() && !self.keeps("the queue stays on its list") {
            self.new.retain(|&f| f != fattest);
            self.old.retain(|&f| f != fattest);
        }
    }

    fn active(&self, f: usize) -> bool {
        self.new.contains(&f) || self.old.contains(&f)
    }
}

impl Slow for Transcription<'_> {
    fn arrive(&mut self, packet: Packet, now: f64, seen: &mut Vec<Seen>) {
        let next = self.index.len();
        let f = *self.index.entry(packet.flow).or_insert(next);
        if f == self.flows.len() {
            self.flows.push(Flow::default());
        }
        if !self.active(f) {
            if self.keeps("to the end of the new ones") {
                self.new.push_back(f);
            } else {
                self.new.push_front(f);
            }
            if self.keeps("a fresh quantum") {
                self.flows[f].deficit = self.set.quantum;
            }
            if !self.keeps("an idle queue keeps its CoDel state") {
                self.flows[f].codel = Codel::default();
            }
        }
        let ns3 = self.set.dialect == "ns3";
        if ns3 && self.flows[f].waiting.len() >= self.set.limit && self.keeps("a full queue") {
            seen.push(Seen::Dropped(packet.tag, Reason::Overflow));
            seen.push(Seen::Refused);
            return;
        }
        self.flows[f].waiting.push_back(Packet { enqueued: Time::from_seconds(now), ..packet });
        let before = seen.len();
        if self.packets() > self.set.limit {
            self.overflow(seen);
        }
        let gone = seen[before..].contains(&Seen::Dropped(packet.tag, Reason::Overflow));
        seen.push(if gone { Seen::Refused } else { Seen::Admitted { marked: false } });
    }

    fn ask(&mut self, now: f64, seen: &mut Vec<Seen>) {
        loop {
            let new_first = self.keeps("new queues before old ones");
            let from_new = if new_first { !self.new.is_empty() } else { self.old.is_empty() };
            let list = if from_new { &mut self.new } else { &mut self.old };
            let Some(&f) = list.front() else {
                seen.push(Seen::Empty);
                return;
            };
            let deficit = self.flows[f].deficit;
            if deficit < 0 || deficit == 0 && keeps(self.broken, "a deficit of 0 is used up") {
                let more = if keeps(self.broken, "another quantum each time") {
                    self.set.quantum
                } else {
                    self.set.quantum - deficit
                };
                self.flows[f].deficit += more;
                list.pop_front();
                if self.keeps("a used-up queue goes to the end of the old ones") {
                    self.old.push_back(f);
                } else {
                    self.old.push_front(f);
                }
                continue;
            }
            let Some(p) = self.codel_dequeue(f, now, seen) else {
                let list = if from_new { &mut self.new } else { &mut self.old };
                list.pop_front();
                let through = self.set.dialect != "linux" || !self.old.is_empty();
                if from_new && (through == self.keeps("an empty new queue goes to the old ones")) {
                    self.old.push_back(f);
                } else if !from_new && !self.keeps("an empty old queue becomes idle") && self.packets() > 0 {
                    self.flows[f].deficit -= 100;
                    self.old.push_back(f);
                }
                continue;
            };
            self.flows[f].deficit -= if self.keeps("bytes are charged") { i64::from(p.size) } else { 500 };
            if !self.keeps("a queue keeps its turn") {
                let list = if from_new { &mut self.new } else { &mut self.old };
                list.pop_front();
                self.old.push_back(f);
            }
            seen.push(Seen::Left(p.tag, p.ecn));
            return;
        }
    }
}

fn draw(seed: u64) -> (Setting, crate::script::Script) {
    let mut dice = Dice(seed ^ 0xf00d);
    let dialect = dice.one_of(&["rfc", "linux", "ns3"]);
    let grid = if dialect == "rfc" { 1.0 / 4096.0 } else { 256e-6 };
    let set = Setting {
        dialect,
        quantum: dice.one_of(&[300, 500, 1500, 1514, 4000]),
        batch: dice.one_of(&[2, 8, 64]),
        limit: dice.one_of(&[10, 60, 400]),
        ecn: dice.below(2) == 0,
        target: grid * dice.one_of(&[4.0, 20.0, 64.0]),
        interval: grid * dice.one_of(&[64.0, 400.0]),
    };
    let flows = dice.one_of(&[1, 3, 12, 40]);
    let sizes = dice.one_of(&[crate::script::MIXED, crate::script::ROUND]);
    let traffic = Traffic { flows, sizes, grid, service: dice.one_of(&[2.0, 4.0, 40.0]), period: 0.0, steps: 4000 };
    let script = script(&mut dice, traffic);
    (set, script)
}

fn compare(seed: u64, broken: &str) -> Option<String> {
    let (set, script) = draw(seed);
    let given = values(&[
        ("dialect", Value::Choice(set.dialect)),
        ("invsqrt", Value::Choice("exact")),
        ("classify", Value::Choice("perfect")),
        ("quantum", Value::Real(set.quantum as f64)),
        ("drop_batch", Value::Whole(set.batch as i64)),
        ("target", Value::Real(set.target)),
        ("interval", Value::Real(set.interval)),
    ]);
    let mut salt = Some(0.5);
    let random = Generator::custom(move || salt.take().expect("FQ-CoDel draws its salt and nothing else"));
    let mut fast = queue("fq_codel", &given, &LINK, Limit::Packets(set.limit as u64), set.ecn, random);
    let fast = run_queue(&mut *fast, &script, "");
    difference(&fast, &run_slow(&mut Transcription::new(&set, broken), &script))
}

#[test]
fn fq_codel_does_what_the_transcription_does() {
    let (mut signals, mut overflows) = (0, 0);
    for seed in 0..300 {
        let (set, script) = draw(seed);
        for entry in run_slow(&mut Transcription::new(&set, ""), &script) {
            signals += u32::from(matches!(entry, Seen::Dropped(_, Reason::Forced)));
            overflows += u32::from(matches!(entry, Seen::Dropped(_, Reason::Overflow)));
        }
    }
    assert!(signals > 5000 && overflows > 5000, "the scripts ask for little: {signals} and {overflows}");
    agrees_by_every_rule(22, 0..300, compare);
}
