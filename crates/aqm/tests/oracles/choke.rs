//! CHOKe against a slow transcription of its published rule, arrival by arrival, with the same random numbers.
//!
//! The transcription shares nothing with the crate but packets and times. That it can tell is tested too: each of its
//! rules is broken in turn, and every broken one must disagree somewhere about a verdict, a victim, a departure or the
//! number of random numbers used. Its averages and counts are not looked at then, only for the unbroken one.
//!
//! What the papers leave open is written down here as `crates/aqm/src/choke.rs` documents it: which packet a number
//! names, when holes are squeezed out, how several draws go together.

use crate::common::{gauge, queue, values};
use earlydrop_aqm::prelude::*;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::Arc;

const LINK: Link = Link { rate_bps: 8e6, delay_s: 0.01 };
const MEAN_PACKET: f64 = 1000.0;
const PACKETS_PER_SECOND: f64 = 1000.0;

/// A rule that is broken on purpose.
#[derive(Clone, Copy, Debug, PartialEq)]
enum Fault {
    None,
    // The average.
    AverageCountsTheArrival,
    AverageAfterTheTests,
    IdleTimeIgnored,
    IdleAddsASample,
    IdleTimeCountedTwice,
    // The ends.
    TestsAtMinTh,
    ForcedAtMaxTh,
    OverMaxByChance,
    // The match.
    NoMatch,
    MatchBelowMinTh,
    MatchSparesTheArrival,
    MatchSparesTheVictim,
    MatchMarksTheVictim,
    MatchIsEarly,
    MatchAddsToCount,
    MatchStartsCountAgain,
    MatchAfterRed,
    EmptyQueueCostsANumber,
    // The draw.
    OldestInsteadOfAny,
    HoleTakesTheNextOlder,
    HolesAreNotCounted,
    HolesAreKept,
    HolesAtTheHeadStay,
    OneDraw,
    OneDrawMore,
    StopsAtTheFirstMatch,
    OneVictim,
    RegionsIgnored,
    RegionFromAbove,
    // RED.
    NoSpacing,
    CountAddedAfterTheTest,
    CountKeptAtDrop,
    CountKeptBelowMinTh,
    CountKeptAboveMaxTh,
    StrictComparison,
    SlopeToMaxThAlone,
    NeverMarks,
    MarksWhatCannotBe,
    OverMaxTheOtherWay,
    // The room.
    LimitHoldsOneMore,
    RoomBeforeTheTests,
    OverflowStartsCountAgain,
    // Linux.
    TwoTries,
    FourTries,
    NewestForWantOfAny,
    FirstPacketIsTested,
    FractionsOfPackets,
    FractionsInTheNumber,
    NoNewNumberAtDrop,
    AverageRoundedDown,
    IdleTableInTicks,
}

const FAULTS: &[Fault] = &[
    Fault::AverageCountsTheArrival,
    Fault::AverageAfterTheTests,
    Fault::IdleTimeIgnored,
    Fault::IdleAddsASample,
    Fault::IdleTimeCountedTwice,
    Fault::TestsAtMinTh,
    Fault::ForcedAtMaxTh,
    Fault::OverMaxByChance,
    Fault::NoMatch,
    Fault::MatchBelowMinTh,
    Fault::MatchSparesTheArrival,
    Fault::MatchSparesTheVictim,
    Fault::MatchMarksTheVictim,
    Fault::MatchIsEarly,
    Fault::MatchAddsToCount,
    Fault::MatchStartsCountAgain,
    Fault::MatchAfterRed,
    Fault::EmptyQueueCostsANumber,
    Fault::OldestInsteadOfAny,
    Fault::HoleTakesTheNextOlder,
    Fault::HolesAreNotCounted,
    Fault::HolesAreKept,
    Fault::HolesAtTheHeadStay,
    Fault::OneDraw,
    Fault::OneDrawMore,
    Fault::StopsAtTheFirstMatch,
    Fault::OneVictim,
    Fault::RegionsIgnored,
    Fault::RegionFromAbove,
    Fault::NoSpacing,
    Fault::CountAddedAfterTheTest,
    Fault::CountKeptAtDrop,
    Fault::CountKeptBelowMinTh,
    Fault::CountKeptAboveMaxTh,
    Fault::StrictComparison,
    Fault::SlopeToMaxThAlone,
    Fault::NeverMarks,
    Fault::MarksWhatCannotBe,
    Fault::OverMaxTheOtherWay,
    Fault::LimitHoldsOneMore,
    Fault::RoomBeforeTheTests,
    Fault::OverflowStartsCountAgain,
    Fault::TwoTries,
    Fault::FourTries,
    Fault::NewestForWantOfAny,
    Fault::FirstPacketIsTested,
    Fault::FractionsOfPackets,
    Fault::FractionsInTheNumber,
    Fault::NoNewNumberAtDrop,
    Fault::AverageRoundedDown,
    Fault::IdleTableInTicks,
];

/// One configuration of CHOKe.
#[derive(Clone, Debug)]
struct Setup {
    linux: bool,
    min_th: f64,
    max_th: f64,
    max_p: f64,
    /// The weight is 2^-`weight_log`.
    weight_log: u32,
    analysis: bool,
    draws: usize,
    regions: usize,
    mark_over_max: bool,
    ecn: bool,
    limit: usize,
}

/// What became of an arrival: the packets that died because of it, in order, and whether it was marked if it lives.
#[derive(Clone, Debug, PartialEq)]
struct Outcome {
    died: Vec<(u32, Reason)>,
    admitted: Option<bool>,
}

#[derive(Clone, Copy, Debug)]
struct Waiting {
    tag: u32,
    flow: u64,
    capable: bool,
    marked: bool,
}

/// The published rule, written down as slowly as it can be.
struct Oracle<'a> {
    setup: &'a Setup,
    fault: Fault,
    numbers: &'a [f64],
    used: usize,
    slots: Vec<Option<Waiting>>,
    idle_from: Option<f64>,
    counted_until: f64,
    /// The last arrival, if it found the link idle. A packet that takes no time leaves it as idle as it was.
    idle_arrival: Option<f64>,
    average: f64,
    /// Linux: the average times 2^weight_log, a whole number.
    scaled: i64,
    count: i64,
    /// Linux: the number that the next drop waits for.
    awaited: f64,
}

impl<'a> Oracle<'a> {
    fn new(setup: &'a Setup, fault: Fault, numbers: &'a [f64]) -> Self {
        let (slots, idle_from) = (Vec::new(), Some(0.0));
        Oracle {
            setup,
            fault,
            numbers,
            used: 0,
            slots,
            idle_from,
            counted_until: 0.0,
            idle_arrival: None,
            average: 0.0,
            scaled: 0,
            count: -1,
            awaited: 0.0,
        }
    }

    fn number(&mut self) -> f64 {
        self.used += 1;
        self.numbers[self.used - 1]
    }

    fn packets(&self) -> usize {
        self.slots.iter().flatten().count()
    }

    fn arrive(&mut self, packet: &Packet, now: f64) -> Outcome {
        let before = self.average;
        self.update_average(now);
        let average = match self.fault {
            Fault::AverageAfterTheTests => before,
            Fault::AverageRoundedDown if self.setup.linux => self.average.floor(),
            _ => self.average,
        };
        let outcome = self.decide(packet, average);
        if outcome.admitted.is_some() {
            self.idle_from = None;
        } else if self.idle_from.is_some() && self.fault != Fault::IdleTimeCountedTwice {
            // The idle time up to now is in the average already, but for what is less than a packet's (not on Linux).
            self.idle_from = Some(self.counted_until);
        }
        outcome
    }

    fn decide(&mut self, packet: &Packet, average: f64) -> Outcome {
        let &Setup { min_th, max_th, ecn, limit, .. } = self.setup;
        let capable = ecn && (packet.ecn != Ecn::NotEct || self.fault == Fault::MarksWhatCannotBe);
        let gone = |reason| Outcome { died: vec![(packet.tag, reason)], admitted: None };
        let limit = if self.fault == Fault::LimitHoldsOneMore { limit + 1 } else { limit };
        if self.fault == Fault::RoomBeforeTheTests && self.packets() >= limit {
            return gone(Reason::Overflow);
        }
        let small = if self.fault == Fault::TestsAtMinTh { average < min_th } else { average <= min_th };
        if (!small || self.fault == Fault::MatchBelowMinTh) && self.fault != Fault::MatchAfterRed {
            if let Some(outcome) = self.match_flows(packet, average) {
                return outcome;
            }
        }
        let mut signal = None;
        let large = if self.fault == Fault::ForcedAtMaxTh { average >= max_th } else { average > max_th };
        if small {
            if self.fault != Fault::CountKeptBelowMinTh {
                self.count = -1;
            }
        } else if large && self.fault != Fault::OverMaxByChance {
            if self.fault != Fault::CountKeptAboveMaxTh {
                self.count = if self.setup.linux || self.setup.analysis { -1 } else { 0 };
            }
            let marks = self.setup.mark_over_max != (self.fault == Fault::OverMaxTheOtherWay);
            if !(marks && capable) {
                return gone(Reason::Forced);
            }
            signal = Some(Reason::Forced);
        } else if self.early_test(average) {
            signal = Some(Reason::Early);
        }
        if let Some(reason) = signal {
            if !capable || self.fault == Fault::NeverMarks {
                return gone(reason);
            }
        }
        if self.fault == Fault::MatchAfterRed && !small {
            if let Some(outcome) = self.match_flows(packet, average) {
                return outcome;
            }
        }
        if self.packets() >= limit {
            if self.fault == Fault::OverflowStartsCountAgain {
                self.count = 0;
            }
            return gone(Reason::Overflow);
        }
        let marked = signal.is_some();
        self.slots.push(Some(Waiting {
            tag: packet.tag,
            flow: packet.flow,
            capable,
            marked: marked || packet.ecn == Ecn::Ce,
        }));
        Outcome { died: Vec::new(), admitted: Some(marked && packet.ecn != Ecn::Ce) }
    }

    fn match_flows(&mut self, packet: &Packet, average: f64) -> Option<Outcome> {
        if self.packets() == 0 {
            if self.fault == Fault::EmptyQueueCostsANumber {
                self.number();
            }
            return None;
        }
        let mut found: Vec<u32> = Vec::new();
        for _ in 0..self.draws(average) {
            let slot = self.draw();
            let drawn = self.slots[slot].expect("a packet was drawn");
            let same = drawn.flow == packet.flow;
            if same && !found.contains(&drawn.tag) {
                found.push(drawn.tag);
            }
            if same && self.fault == Fault::StopsAtTheFirstMatch {
                break;
            }
        }
        if found.is_empty() || self.fault == Fault::NoMatch {
            return None;
        }
        match self.fault {
            Fault::MatchAddsToCount => self.count += 1,
            Fault::MatchStartsCountAgain => self.count = 0,
            Fault::OneVictim => found.truncate(1),
            _ => {}
        }
        let reason = if self.fault == Fault::MatchIsEarly { Reason::Early } else { Reason::Forced };
        let mut died = Vec::new();
        for tag in found {
            let is_it = |slot: &&mut Option<Waiting>| slot.is_some_and(|waiting| waiting.tag == tag);
            let slot = self.slots.iter_mut().find(is_it).expect("it waits");
            match slot {
                Some(victim) if self.fault == Fault::MatchMarksTheVictim && victim.capable => victim.marked = true,
                _ if self.fault == Fault::MatchSparesTheVictim => {}
                _ => {
                    died.push((tag, reason));
                    *slot = None;
                    self.tidy();
                }
            }
        }
        if self.fault == Fault::MatchSparesTheArrival {
            self.slots.push(Some(Waiting { tag: packet.tag, flow: packet.flow, capable: false, marked: false }));
            return Some(Outcome { died, admitted: Some(false) });
        }
        died.push((packet.tag, reason));
        Some(Outcome { died, admitted: None })
    }

    fn draws(&self, average: f64) -> usize {
        let &Setup { min_th, max_th, draws, regions, .. } = self.setup;
        let part = (max_th - min_th) / regions as f64;
        let mut region = 1;
        while region < regions && average >= min_th + region as f64 * part {
            region += 1;
        }
        match self.fault {
            Fault::OneDraw => 1,
            Fault::OneDrawMore => draws * region + 1,
            Fault::RegionsIgnored => draws,
            Fault::RegionFromAbove => draws * (regions + 1 - region),
            _ => draws * region,
        }
    }

    /// The slot of a waiting packet.
    fn draw(&mut self) -> usize {
        if self.fault == Fault::OldestInsteadOfAny {
            self.number();
            return self.oldest();
        }
        if self.fault == Fault::HolesAreNotCounted {
            let rank = ((self.number() * self.packets() as f64) as usize).min(self.packets() - 1);
            return (0..self.slots.len()).filter(|&slot| self.slots[slot].is_some()).nth(rank).expect("a packet waits");
        }
        let tries = match self.fault {
            Fault::TwoTries if self.setup.linux => 2,
            Fault::FourTries if self.setup.linux => 4,
            _ if self.setup.linux => 3,
            _ => usize::MAX,
        };
        for _ in 0..tries {
            let slot = ((self.number() * self.slots.len() as f64) as usize).min(self.slots.len() - 1);
            if self.slots[slot].is_some() {
                return slot;
            }
            if self.fault == Fault::HoleTakesTheNextOlder {
                return (0..slot).rev().find(|&older| self.slots[older].is_some()).unwrap_or_else(|| self.oldest());
            }
        }
        if self.fault == Fault::NewestForWantOfAny {
            return self.slots.iter().rposition(Option::is_some).expect("a packet waits");
        }
        self.oldest()
    }

    fn oldest(&self) -> usize {
        self.slots.iter().position(Option::is_some).expect("a packet waits")
    }

    /// No hole at the head, and at most three holes for each packet.
    fn tidy(&mut self) {
        while self.fault != Fault::HolesAtTheHeadStay && matches!(self.slots.first(), Some(None)) {
            self.slots.remove(0);
        }
        if self.slots.len() > 4 * self.packets() && self.fault != Fault::HolesAreKept {
            self.slots.retain(Option::is_some);
        }
    }

    /// RED's test between the thresholds: whether this packet is hit.
    fn early_test(&mut self, average: f64) -> bool {
        let &Setup { min_th, max_th, max_p, .. } = self.setup;
        let width = if self.fault == Fault::SlopeToMaxThAlone { max_th } else { max_th - min_th };
        if self.setup.linux {
            self.count += 1;
            let whole = average - min_th;
            let whole = if self.fault == Fault::FractionsOfPackets { whole } else { whole.floor() };
            let tested = self.count > 0 || self.fault == Fault::FirstPacketIsTested;
            if tested && whole * (self.count as f64) < self.awaited {
                return false;
            }
            if !(tested && self.fault == Fault::NoNewNumberAtDrop) {
                self.awaited = self.number() * (width / max_p);
                if self.fault != Fault::FractionsInTheNumber {
                    self.awaited = self.awaited.floor();
                }
            }
            if tested && self.fault != Fault::CountKeptAtDrop {
                self.count = 0;
            }
            return tested;
        }
        let late = self.fault == Fault::CountAddedAfterTheTest;
        self.count += i64::from(!late);
        let p_b = (max_p * (average - min_th) / width).min(1.0);
        let spaced = self.count as f64 * p_b;
        let p_a = match self.fault {
            Fault::NoSpacing => p_b,
            _ if spaced >= 1.0 => 1.0,
            _ => (p_b / (1.0 - spaced)).min(1.0),
        };
        self.count += i64::from(late);
        let number = self.number();
        let hit = if self.fault == Fault::StrictComparison { number < p_a } else { number <= p_a };
        if hit && self.fault != Fault::CountKeptAtDrop {
            self.count = if self.setup.analysis { -1 } else { 0 };
        }
        hit
    }

    fn update_average(&mut self, now: f64) {
        let length = self.packets() + usize::from(self.fault == Fault::AverageCountsTheArrival);
        let idle = self.idle_from.filter(|_| self.fault != Fault::IdleTimeIgnored).map(|since| now - since);
        let log = self.setup.weight_log;
        self.counted_until = now;
        self.idle_arrival = idle.map(|_| now);
        if self.setup.linux {
            match idle {
                Some(idle) => self.decay_as_linux(idle),
                None => self.scaled += length as i64 - (self.scaled >> log),
            }
            self.average = self.scaled as f64 / f64::from(1_u32 << log);
            return;
        }
        let keep = 1.0 - 0.5_f64.powi(log as i32);
        if let Some(idle) = idle {
            let missed = (idle * PACKETS_PER_SECOND).floor() as i32;
            self.average *= keep.powi(missed);
            self.counted_until = now - idle + f64::from(missed) / PACKETS_PER_SECOND;
        }
        if idle.is_none() || self.fault == Fault::IdleAddsASample {
            self.average = keep * self.average + (1.0 - keep) * length as f64;
        }
    }

    /// tc's table of shifts, made for ticks of 64 ns and looked up with microseconds.
    fn decay_as_linux(&mut self, idle: f64) {
        let log = self.setup.weight_log;
        let ticks_per_packet = 1.0 / PACKETS_PER_SECOND / 64e-9;
        let per_tick = -(1.0 - 0.5_f64.powi(log as i32)).ln() / ticks_per_packet;
        let mut cell = 0;
        while 31.0 / per_tick / 2.0_f64.powi(cell) >= 512.0 {
            cell += 1;
        }
        let unit = if self.fault == Fault::IdleTableInTicks { 64e-9 } else { 1e-6 };
        let idle = (idle / unit).min(255.0 * 2.0_f64.powi(cell)) as i64;
        let row = idle >> cell;
        let shift = match row {
            0 => 0,
            255 => 31,
            _ => ((row << cell) as f64 * per_tick).min(31.0) as u32,
        };
        if shift > 0 {
            self.scaled >>= shift;
        } else {
            let (lost, half) = ((self.scaled * idle) >> cell, self.scaled >> 1);
            self.scaled = if lost < half { self.scaled - lost } else { half };
        }
    }

    fn depart(&mut self, now: f64) -> Option<(u32, bool)> {
        if self.packets() == 0 {
            let from = if self.idle_arrival == Some(now) { self.counted_until } else { now };
            self.idle_from.get_or_insert(from);
            return None;
        }
        let oldest = self.oldest();
        let packet = self.slots[oldest].take().map(|waiting| (waiting.tag, waiting.marked));
        if self.fault == Fault::HolesAtTheHeadStay {
            self.slots.retain(Option::is_some);
        }
        self.tidy();
        packet
    }
}

/// Small whole numbers and fractions of the test's own: nothing here comes from the crate.
struct Dice(u64);

impl Dice {
    fn roll(&mut self, sides: u64) -> u64 {
        // Marsaglia's xorshift64*.
        self.0 ^= self.0 >> 12;
        self.0 ^= self.0 << 25;
        self.0 ^= self.0 >> 27;
        (self.0.wrapping_mul(0x2545_f491_4f6c_dd1d) >> 32) % sides
    }

    fn of<T: Copy>(&mut self, list: &[T]) -> T {
        list[self.roll(list.len() as u64) as usize]
    }
}

enum Step {
    Arrive(Packet, f64),
    Ask(f64),
}

fn script(dice: &mut Dice) -> Vec<Step> {
    let (flows, busy) = (1 + dice.roll(5), 3 + dice.roll(6));
    let mut now_us = 0;
    (0..400)
        .map(|tag| {
            now_us += match dice.roll(40) {
                0 => dice.roll(3_000_000),
                1..8 => 0,
                _ => dice.roll(1500),
            };
            let now = now_us as f64 * 1e-6;
            if dice.roll(10) >= busy {
                return Step::Ask(now);
            }
            let ecn = dice.of(&[Ecn::NotEct, Ecn::Ect0, Ecn::Ect1, Ecn::Ce]);
            Step::Arrive(Packet { ecn, tag, ..Packet::new(dice.roll(flows), 1000) }, now)
        })
        .collect()
}

fn setup(dice: &mut Dice) -> Setup {
    let linux = dice.roll(2) == 0;
    let min_th = dice.roll(5) as f64 + dice.of(&[0.0, 0.0, 0.5]);
    Setup {
        linux,
        min_th,
        max_th: min_th + 1.0 + dice.roll(8) as f64,
        max_p: dice.of(&[0.02, 0.125, 0.25, 0.5, 1.0]),
        weight_log: u32::from(linux) + dice.roll(4) as u32,
        analysis: !linux && dice.roll(2) == 0,
        draws: dice.of(&[1, 1, 1, 2, 3]),
        regions: dice.of(&[1, 1, 2, 4]),
        mark_over_max: dice.roll(2) == 0,
        ecn: dice.roll(2) == 0,
        limit: 3 + dice.roll(12) as usize,
    }
}

fn in_our_words(setup: &Setup) -> Values {
    values(&[
        ("dialect", Value::Choice(if setup.linux { "linux" } else { "paper" })),
        ("min_th", Value::Real(setup.min_th)),
        ("max_th", Value::Real(setup.max_th)),
        ("max_p", Value::Real(setup.max_p)),
        ("w_q", Value::Real(0.5_f64.powi(setup.weight_log as i32))),
        ("count_base", Value::Choice(if setup.analysis { "analysis" } else { "pseudocode" })),
        ("mean_packet", Value::Real(MEAN_PACKET)),
        ("draws", Value::Whole(setup.draws as i64)),
        ("regions", Value::Whole(setup.regions as i64)),
        ("ecn_over_max", Value::Choice(if setup.mark_over_max { "mark" } else { "drop" })),
    ])
}

/// One run of both; the step at which they disagree. With `inside`, averages and counts are compared too.
fn disagreement(run: u64, fault: Fault, inside: bool, seen: &mut [usize; 6]) -> Option<usize> {
    let mut dice = Dice(run.wrapping_mul(0x9e37_79b9_7f4a_7c15) | 1);
    let (setup, steps) = (setup(&mut dice), script(&mut dice));
    // A third of the runs draw coarse numbers, which can be equal to a probability.
    let coarse = dice.roll(3) == 0;
    let sides = if coarse { 64 } else { 1 << 31 };
    let numbers: Arc<Vec<f64>> = Arc::new((0..200_000).map(|_| dice.roll(sides) as f64 / sides as f64).collect());
    let used = Arc::new(AtomicUsize::new(0));
    let (theirs, counter) = (numbers.clone(), used.clone());
    let random = Generator::custom(move || theirs[counter.fetch_add(1, Ordering::Relaxed)]);
    let limit = Limit::Packets(setup.limit as u64);
    let mut choke: Box<dyn Discipline> = queue("choke", &in_our_words(&setup), &LINK, limit, setup.ecn, random);
    let mut oracle = Oracle::new(&setup, fault, &numbers);
    for (i, step) in steps.iter().enumerate() {
        match step {
            Step::Arrive(packet, now) => {
                let mut died = Vec::new();
                let time = Time::from_seconds(*now);
                let admitted = choke.enqueue(*packet, time, &mut |p, reason| died.push((p.tag, reason)));
                let found = Outcome { died, admitted: admitted.map(|marked| marked.0) };
                let expected = oracle.arrive(packet, *now);
                if found != expected {
                    return Some(i);
                }
                seen[usize::from(found.admitted == Some(true))] += 1;
                for (_, reason) in &found.died {
                    seen[2 + *reason as usize] += 1;
                }
                seen[5] += usize::from(found.died.len() > 2);
            }
            Step::Ask(now) => {
                let found = choke.dequeue(Time::from_seconds(*now), &mut |_, _| {}).map(|p| (p.tag, p.ecn == Ecn::Ce));
                if found != oracle.depart(*now) {
                    return Some(i);
                }
            }
        }
        if used.load(Ordering::Relaxed) != oracle.used {
            return Some(i);
        }
        if inside {
            let (average, count) = (gauge(&*choke, "avg"), gauge(&*choke, "count"));
            if (average - oracle.average).abs() > 1e-9 || count != oracle.count as f64 {
                return Some(i);
            }
        }
    }
    None
}

#[test]
fn choke_does_what_its_rule_says() {
    let mut seen = [0; 6];
    for run in 0..1500 {
        if let Some(step) = disagreement(run, Fault::None, true, &mut seen) {
            let mut dice = Dice(run.wrapping_mul(0x9e37_79b9_7f4a_7c15) | 1);
            panic!("run {run}, step {step}: {:?}", setup(&mut dice));
        }
    }
    // Arrivals that were admitted, and marked; drops by reason; arrivals that met several packets of their own.
    assert!(seen.iter().all(|&n| n > 1000), "{seen:?}");
}

#[test]
fn every_broken_rule_is_noticed() {
    let mut unnoticed = Vec::new();
    for &fault in FAULTS {
        if !(0..1500).any(|run| disagreement(run, fault, false, &mut [0; 6]).is_some()) {
            unnoticed.push(fault);
        }
    }
    assert!(unnoticed.is_empty(), "{unnoticed:?}");
}
