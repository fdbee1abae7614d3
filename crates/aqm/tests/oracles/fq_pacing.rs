//! FQ with pacing against a slow, direct transcription of Linux 6.18's `sch_fq.c`: flows in a plain list, lines and
//! throttled flows searched from end to end, every count taken anew. Random arrivals in eight classes and requests,
//! decision for decision; each rule of the transcription is then changed, and the change must show.

use crate::common::{queue, values};
use crate::script::{
    agrees_by_every_rule, difference, keeps, run_queue, run_slow, script, Dice, Script, Seen, Slow, Step, Traffic,
    MIXED,
};
use earlydrop_aqm::prelude::*;
use std::collections::VecDeque;

const LINK: Link = Link { rate_bps: 10e6, delay_s: 0.02 };

#[derive(Debug)]
struct Setting {
    limit: usize,
    flow_plimit: usize,
    quantum: i64,
    initial_quantum: i64,
    /// B/s.
    rate: Option<u64>,
    low: u64,
    refill_us: u64,
    ce_us: Option<u64>,
    weights: [i64; 3],
    ecn: bool,
}

const PRIO2BAND: [usize; 8] = [1, 2, 2, 2, 1, 2, 0, 0];

#[derive(Clone, Copy, PartialEq, Debug)]
enum Where {
    Detached,
    New,
    Old,
    Delayed,
}

struct Flow {
    key: u64,
    skbs: VecDeque<(u64, Packet)>,
    credit: i64,
    band: usize,
    time_next_packet: u64,
    at: Where,
    /// ns.
    age: u64,
}

struct Model<'a> {
    set: &'a Setting,
    broken: &'a str,
    flows: Vec<Flow>,
    /// New and old flows of each band.
    lines: [[VecDeque<usize>; 2]; 3],
    credits: [i64; 3],
    band_nr: usize,
    internal: VecDeque<Packet>,
    delayed: Vec<usize>,
}

fn ns(now: f64) -> u64 {
    3_600_000_000_000 + (now * 1e9).round() as u64
}

impl<'a> Model<'a> {
    fn new(set: &'a Setting, broken: &'a str) -> Self {
        Model {
            set,
            broken,
            flows: Vec::new(),
            lines: Default::default(),
            credits: [0; 3],
            band_nr: 0,
            internal: VecDeque::new(),
            delayed: Vec::new(),
        }
    }

    fn keeps(&self, rule: &'static str) -> bool {
        keeps(self.broken, rule)
    }

    fn qlen(&self) -> usize {
        self.internal.len() + self.flows.iter().map(|flow| flow.skbs.len()).sum::<usize>()
    }

    fn band_pkt_count(&self, band: usize) -> usize {
        let of = |packet: &Packet| PRIO2BAND[usize::from(packet.class)] == band;
        let fast = if self.keeps("the fast path counts for no band") { 0 } else { self.internal.len() };
        fast + self.flows.iter().flat_map(|flow| &flow.skbs).filter(|(_, packet)| of(packet)).count()
    }

    fn add_tail(&mut self, at: usize, new: bool) {
        let band = self.flows[at].band;
        self.flows[at].at = if new { Where::New } else { Where::Old };
        self.lines[band][usize::from(!new)].push_back(at);
    }

    fn fastpath_check(&self, now: u64) -> bool {
        if self.qlen() != 0 {
            if !self.keeps("the fast path while all are throttled") {
                return false;
            }
            let ready = |flow: &Flow| !flow.skbs.is_empty() && flow.at != Where::Delayed;
            if self.flows.iter().any(ready) {
                return false;
            }
            if self.internal.len() >= 8 && self.keeps("eight on the fast path") {
                return false;
            }
            if self.delayed.iter().any(|&at| self.flows[at].time_next_packet <= now) {
                return false;
            }
        } else if !self.keeps("the fast path when nothing waits") {
            return false;
        }
        self.set.rate.is_none() || !self.keeps("no fast path with a rate")
    }

    fn check_throttled(&mut self, now: u64) {
        loop {
            let due = |model: &Self, at: usize| model.flows[at].time_next_packet;
            // The first of the earliest.
            let Some(place) = (0..self.delayed.len()).min_by_key(|&place| due(self, self.delayed[place])) else {
                return;
            };
            if due(self, self.delayed[place]) > now {
                return;
            }
            let at = self.delayed.remove(place);
            let new = !self.keeps("comes back as an old flow");
            self.add_tail(at, new);
        }
    }

    fn head_select(&self) -> Option<usize> {
        if self.credits[self.band_nr] <= 0 {
            return None;
        }
        let order = if self.keeps("new flows before old ones") { [0, 1] } else { [1, 0] };
        order.into_iter().find(|&line| !self.lines[self.band_nr][line].is_empty())
    }

    fn dequeue(&mut self, now: u64) -> Option<Packet> {
        if self.qlen() == 0 {
            return None;
        }
        if self.keeps("the fast path first") || self.flows.iter().all(|flow| flow.skbs.is_empty()) {
            if let Some(packet) = self.internal.pop_front() {
                return Some(packet);
            }
        }
        self.check_throttled(now);
        if !self.keeps("a band goes on while it has credit") {
            self.credits[self.band_nr] = 0;
        }
        let mut retry = 0;
        // Broken rules may never find a packet.
        for _ in 0..2000 {
            let Some(line) = self.head_select() else {
                retry += 1;
                if retry > 3 {
                    return None;
                }
                self.band_nr = (self.band_nr + 1) % 3;
                let weight = self.set.weights[self.band_nr];
                let credit = self.credits[self.band_nr] + weight;
                self.credits[self.band_nr] =
                    if self.keeps("a band saves one weight") { credit.min(weight) } else { credit };
                if self.credits[self.band_nr] <= 0 {
                    retry = 0;
                }
                continue;
            };
            retry = 0;
            let band = self.band_nr;
            let at = self.lines[band][line][0];
            let credit = self.flows[at].credit;
            if credit < 0 || credit == 0 && self.keeps("no credit is no credit") {
                let earned = if self.keeps("a flow earns a quantum") { self.set.quantum } else { 1 - credit };
                self.flows[at].credit += earned;
                self.lines[band][line].pop_front();
                self.add_tail(at, line == 0 && !self.keeps("a flow without credit goes behind the old"));
                continue;
            }
            let Some(&(time_to_send, _)) = self.flows[at].skbs.front() else {
                self.lines[band][line].pop_front();
                if (line == 0) == self.keeps("an empty new flow goes behind the old") {
                    self.add_tail(at, false);
                } else {
                    self.flows[at].at = Where::Detached;
                    self.flows[at].age = now;
                }
                continue;
            };
            let mut time_next_packet = self.flows[at].time_next_packet;
            if time_to_send > time_next_packet {
                time_next_packet = time_to_send;
            }
            if now < time_next_packet && self.keeps("throttled until its time") {
                self.lines[band][line].pop_front();
                self.flows[at].time_next_packet = time_next_packet;
                self.flows[at].at = Where::Delayed;
                self.delayed.push(at);
                continue;
            }
            return self.sent(at, band, time_next_packet, now);
        }
        None
    }

    fn sent(&mut self, at: usize, band: usize, time_next_packet: u64, now: u64) -> Option<Packet> {
        let (_, mut packet) = self.flows[at].skbs.pop_front()?;
        let late = now as i64 - time_next_packet as i64;
        if self.set.ce_us.is_some_and(|us| late > us as i64 * 1000) && self.set.ecn && packet.ecn != Ecn::NotEct {
            packet.ecn = Ecn::Ce;
        }
        let mut plen = i64::from(packet.size);
        self.flows[at].credit -= plen;
        self.credits[band] -= if self.keeps("bands pay in bytes") { plen } else { 1000 };
        let Some(rate) = self.set.rate else { return Some(packet) };
        if rate <= self.set.low && self.keeps("packet by packet at a low rate") {
            if self.keeps("no credit at a low rate") {
                self.flows[at].credit = 0;
            }
        } else {
            if self.keeps("a quantum at least") {
                plen = plen.max(self.set.quantum);
            }
            if self.flows[at].credit > 0 && self.keeps("bursts of a credit") {
                return Some(packet);
            }
        }
        let mut len = plen as u64 * 1_000_000_000;
        // The lowest rate is 1 B/s.
        len /= rate;
        if len > 1_000_000_000 && self.keeps("one second at most") {
            len = 1_000_000_000;
        }
        if self.flows[at].time_next_packet > 0 && self.keeps("late is made up for") {
            let most = if self.keeps("half of it at most") { len / 2 } else { len };
            len -= most.min(now.saturating_sub(self.flows[at].time_next_packet));
        }
        self.flows[at].time_next_packet = now + len;
        Some(packet)
    }
}

impl Slow for Model<'_> {
    fn arrive(&mut self, packet: Packet, now: f64, seen: &mut Vec<Seen>) {
        let band = PRIO2BAND[usize::from(packet.class)];
        let refused = [Seen::Dropped(packet.tag, Reason::Overflow), Seen::Refused];
        if self.band_pkt_count(band) >= self.set.limit && self.keeps("a band's limit") {
            return seen.extend(refused);
        }
        let now = ns(now);
        if self.fastpath_check(now) {
            self.internal.push_back(packet);
            return seen.push(Seen::Admitted { marked: false });
        }
        let at = self.flows.iter().position(|flow| flow.key == packet.flow).unwrap_or_else(|| {
            let credit = if self.keeps("a new flow's quantum") { self.set.initial_quantum } else { self.set.quantum };
            let (key, skbs) = (packet.flow, VecDeque::new());
            self.flows.push(Flow { key, skbs, credit, band: 0, time_next_packet: 0, at: Where::Detached, age: now });
            self.flows.len() - 1
        });
        if self.flows[at].skbs.len() >= self.set.flow_plimit && self.keeps("a flow's limit") {
            return seen.extend(refused);
        }
        if !self.keeps("joins the line of the last band") {
            self.flows[at].band = band;
        }
        if self.flows[at].at == Where::Detached {
            self.add_tail(at, true);
            let flow = &self.flows[at];
            if now > flow.age + self.set.refill_us * 1000 && self.keeps("refilled after a while") {
                self.flows[at].credit = flow.credit.max(self.set.quantum);
            }
        }
        if self.keeps("goes on in the band of its packet") {
            self.flows[at].band = band;
        }
        self.flows[at].skbs.push_back((now, packet));
        seen.push(Seen::Admitted { marked: false });
    }

    fn ask(&mut self, now: f64, seen: &mut Vec<Seen>) {
        seen.push(match self.dequeue(ns(now)) {
            Some(packet) => Seen::Left(packet.tag, packet.ecn),
            None => Seen::Empty,
        });
    }
}

fn setting(seed: u64) -> Setting {
    let dice = &mut Dice(seed);
    let low = dice.one_of(&[0, 68_750, 400_000]);
    Setting {
        limit: dice.one_of(&[12, 40, 1000]),
        flow_plimit: dice.one_of(&[4, 10, 100]),
        quantum: dice.one_of(&[300, 1514, 3028]),
        initial_quantum: dice.one_of(&[0, 3028, 15_140]),
        rate: dice.one_of(&[None, None, Some(100), Some(60_000), Some(300_000), Some(2_000_000)]),
        low,
        refill_us: dice.one_of(&[0, 1000, 40_000]),
        ce_us: dice.one_of(&[None, Some(0), Some(5000)]),
        weights: dice.one_of(&[[589_824, 196_608, 65_536], [16_384; 3], [16_384, 40_000, 20_000]]),
        ecn: dice.below(2) == 0,
    }
}

fn compare(seed: u64, broken: &str) -> Option<String> {
    let set = setting(seed);
    let dice = &mut Dice(seed ^ 0x5eed);
    let traffic = Traffic { flows: 6, sizes: MIXED, grid: 1.0 / 2048.0, service: 8.0, period: 0.0, steps: 700 };
    let mut steps: Script = script(dice, traffic);
    for (_, step) in &mut steps {
        if let Step::Arrive(packet) = step {
            packet.class = if dice.below(5) == 0 { dice.below(8) as u8 } else { packet.flow as u8 };
        }
    }
    let mut given = values(&[
        ("quantum", Value::Whole(set.quantum)),
        ("initial_quantum", Value::Whole(set.initial_quantum)),
        ("flow_plimit", Value::Whole(set.flow_plimit as i64)),
        ("low_rate_threshold", Value::Real(8.0 * set.low as f64)),
        ("refill_delay", Value::Real(set.refill_us as f64 / 1e6)),
        // With a salt of 0 no two of the six flows share a place.
        ("orphan_mask", Value::Whole(1023)),
        ("weight_0", Value::Whole(set.weights[0])),
        ("weight_1", Value::Whole(set.weights[1])),
        ("weight_2", Value::Whole(set.weights[2])),
    ]);
    if let Some(rate) = set.rate {
        given.set("maxrate", Value::Real(8.0 * rate as f64));
    }
    if let Some(us) = set.ce_us {
        given.set("ce_threshold", Value::Real(us as f64 / 1e6));
    }
    let limit = Limit::Packets(set.limit as u64);
    let mut crates = queue("fq_pacing", &given, &LINK, limit, set.ecn, Generator::custom(|| 0.0));
    let fast = run_queue(&mut *crates, &steps, "");
    let slow = run_slow(&mut Model::new(&set, broken), &steps);
    difference(&fast, &slow).map(|text| format!("seed {seed}, {set:?}: {text}"))
}

#[test]
fn it_decides_as_the_transcription_of_sch_fq() {
    agrees_by_every_rule(29, 0..400, compare);
}
