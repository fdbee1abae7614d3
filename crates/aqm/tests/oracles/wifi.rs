//! Wi-Fi against a slow, direct transcription of mac80211's scheduler of stations (`ieee80211_next_txq`,
//! `__ieee80211_schedule_txq`, `ieee80211_register_airtime`) and of ath9k's aggregates (`ath_tx_form_aggr`), over plain
//! FIFOs and in whole ticks: random arrivals and requests, decision for decision. Each rule of the transcription is then
//! changed, and the change must show.

use crate::common::queue;
use crate::script::{
    agrees_by_every_rule, difference, keeps, run_queue, run_slow, script, Dice, Seen, Slow, Step, Traffic, MIXED,
};
use earlydrop_aqm::parents;
use earlydrop_aqm::prelude::*;
use std::collections::VecDeque;

const LINK: Link = Link { rate_bps: 1e9, delay_s: 0.0 };
/// A tick is 2^-30 s, and rates are powers of two: every time is exact in binary, too.
const TICKS: f64 = (1_u64 << 30) as f64;

#[derive(Debug)]
struct Setting {
    /// Ticks that a byte takes, of each station.
    byte: Vec<u64>,
    access: u64,
    packets: usize,
    bytes: u64,
    time: u64,
    weight: i64,
    airtime: bool,
    shared: bool,
    limit: usize,
}

#[derive(Default)]
struct Txq {
    frames: VecDeque<Packet>,
    /// Taken for an aggregate into which it did not fit; the FIFO has its place free.
    put_back: Option<Packet>,
    scheduled: bool,
    deficit: i64,
}

struct Mac80211<'a> {
    set: &'a Setting,
    broken: &'a str,
    txq: Vec<Txq>,
    active_txqs: VecDeque<usize>,
    /// On air: packets, and when each has been sent.
    air: VecDeque<(Packet, u64)>,
}

impl<'a> Mac80211<'a> {
    fn new(set: &'a Setting, broken: &'a str) -> Self {
        let mut one = Mac80211 { set, broken, txq: Vec::new(), active_txqs: VecDeque::new(), air: VecDeque::new() };
        let deficit = if one.keeps("a weight to begin with") { set.weight } else { 0 };
        one.txq.resize_with(set.byte.len(), || Txq { deficit, ..Txq::default() });
        one
    }

    fn keeps(&self, rule: &'static str) -> bool {
        keeps(self.broken, rule)
    }

    fn station(&self, packet: &Packet) -> usize {
        usize::from(packet.class).min(self.set.byte.len() - 1)
    }

    fn schedule(&mut self, txq: usize) {
        if std::mem::replace(&mut self.txq[txq].scheduled, true) {
            return;
        }
        if self.set.airtime && self.keeps("a new station is first") {
            self.active_txqs.push_front(txq);
        } else {
            self.active_txqs.push_back(txq);
        }
    }

    fn next_txq(&mut self) -> Option<usize> {
        for _ in 0..1_000_000 {
            let txq = *self.active_txqs.front()?;
            let has = self.txq[txq].put_back.is_some() || !self.txq[txq].frames.is_empty();
            if !has {
                self.active_txqs.pop_front();
                self.txq[txq].scheduled = false;
                continue;
            }
            let fair = self.set.airtime && !self.set.shared;
            if fair && self.txq[txq].deficit < 0 && self.keeps("a debtor waits") {
                self.txq[txq].deficit +=
                    if self.keeps("a debtor earns its weight") { self.set.weight } else { self.set.weight / 2 + 1 };
                if self.keeps("a debtor goes to the tail") {
                    self.active_txqs.rotate_left(1);
                }
                continue;
            }
            return Some(txq);
        }
        panic!("nobody's turn")
    }

    fn transmit(&mut self, now: u64) {
        let Some(txq) = self.next_txq() else { return };
        let set = self.set;
        let (mut al, mut airtime, mut station) = (0, 0, None);
        while self.air.len() < set.packets || !self.keeps("so many packets") {
            let (first, next) = (self.txq[txq].put_back.take(), self.txq[txq].frames.front().copied());
            let Some(packet) = first.or(next) else { break };
            if first.is_none() {
                self.txq[txq].frames.pop_front();
            }
            let of = *station.get_or_insert(self.station(&packet));
            let total = al + u64::from(packet.size);
            let other = self.station(&packet) != of && self.keeps("one station in an aggregate");
            let full = (total > set.bytes && self.keeps("so many bytes"))
                || (total * set.byte[of] > set.time && self.keeps("so much time"));
            if al > 0 && (other || full) {
                if self.keeps("what did not fit is first") {
                    self.txq[txq].put_back = Some(packet);
                } else {
                    self.txq[txq].frames.push_back(packet);
                }
                break;
            }
            al = total;
            airtime = set.access + al * set.byte[of];
            self.air.push_back((packet, now + airtime));
        }
        let charged = if self.keeps("access is airtime") { airtime } else { airtime - set.access };
        if self.keeps("airtime is charged") {
            self.txq[station.unwrap_or(txq)].deficit -= charged as i64;
        }
        let fair = set.airtime && !set.shared;
        let turn = if fair { !self.keeps("it stays first until it has a debt") } else { self.keeps("turns") };
        if turn {
            self.active_txqs.rotate_left(1);
        }
    }
}

impl Slow for Mac80211<'_> {
    fn arrive(&mut self, packet: Packet, _now: f64, seen: &mut Vec<Seen>) {
        let txq = if self.set.shared { 0 } else { self.station(&packet) };
        if self.txq[txq].frames.len() >= self.set.limit {
            seen.extend([Seen::Dropped(packet.tag, Reason::Overflow), Seen::Refused]);
            return;
        }
        self.txq[txq].frames.push_back(packet);
        seen.push(Seen::Admitted { marked: false });
        self.schedule(txq);
    }

    fn ask(&mut self, now: f64, seen: &mut Vec<Seen>) {
        let now = (now * TICKS) as u64;
        if self.air.is_empty() {
            self.transmit(now);
        }
        if self.air.front().is_none_or(|&(_, sent)| sent > now) {
            seen.push(Seen::Empty);
            return;
        }
        let (packet, _) = self.air.pop_front().expect("just seen");
        seen.push(Seen::Left(packet.tag, packet.ecn));
        if self.air.is_empty() {
            self.transmit(now);
        }
    }
}

fn setting(dice: &mut Dice) -> Setting {
    // 2^(3 - k) s a byte at 2^k bit/s.
    let byte = |dice: &mut Dice| 1 << (33 - dice.one_of(&[18, 20, 22, 23]));
    let shared = dice.below(4) == 0;
    Setting {
        byte: (0..1 + dice.below(8)).map(|_| byte(dice)).collect(),
        access: dice.one_of(&[0, 1 << 17, 1 << 20]),
        packets: dice.one_of(&[1, 3, 64]),
        bytes: dice.one_of(&[1000, 4000, 65_535]),
        time: dice.one_of(&[1 << 20, 1 << 22, 1 << 24]),
        weight: dice.one_of(&[1 << 18, 1 << 21, 1 << 23]),
        airtime: dice.below(3) > 0,
        shared,
        limit: dice.one_of(&[3, 30]),
    }
}

const NAMES: [&str; 8] = ["rate_0", "rate_1", "rate_2", "rate_3", "rate_4", "rate_5", "rate_6", "rate_7"];

fn values_of(set: &Setting) -> Values {
    let seconds = |ticks: u64| Value::Real(ticks as f64 / TICKS);
    let mut values = Values::of(&[("stations", Value::Whole(set.byte.len() as i64)), ("access", seconds(set.access))]);
    values.set("packets", Value::Whole(set.packets as i64)).set("bytes", Value::Whole(set.bytes as i64));
    values.set("time", seconds(set.time)).set("quantum", seconds(set.weight as u64));
    values.set("fair", Value::Choice(if set.airtime { "airtime" } else { "turns" }));
    values.set("queues", Value::Choice(if set.shared { "shared" } else { "station" }));
    for (name, &ticks) in NAMES.iter().zip(&set.byte) {
        values.set(name, Value::Real(8.0 * TICKS / ticks as f64));
    }
    values
}

fn compare(seed: u64, broken: &str) -> Option<String> {
    let dice = &mut Dice(seed);
    let set = setting(dice);
    let grid = (1 << 15) as f64 / TICKS;
    let traffic = Traffic { flows: 8, sizes: MIXED, grid, service: 40.0, period: 0.0, steps: 500 };
    let mut steps = script(dice, traffic);
    for (_, step) in &mut steps {
        if let Step::Arrive(packet) = step {
            packet.class = packet.flow as u8;
        }
    }
    let spec = parents::find("wifi").unwrap();
    let values = values_of(&set);
    (spec.check)(&values, &LINK).unwrap_or_else(|error| panic!("{set:?}: {error:?}"));
    let limit = Limit::Packets(set.limit as u64);
    let child = |_| queue("droptail", &Values::new(), &LINK, limit, false, Generator::stream(1, "queue"));
    let mut wifi = (spec.build)(&values, &LINK, (0..(spec.children)(&values)).map(child).collect());
    let slow = run_slow(&mut Mac80211::new(&set, broken), &steps);
    difference(&run_queue(&mut *wifi, &steps, ""), &slow).map(|found| format!("seed {seed}, {set:?}: {found}"))
}

#[test]
fn it_decides_as_the_transcription_of_mac80211() {
    agrees_by_every_rule(14, 0..600, compare);
}
