//! Tests of one discipline for what every discipline must hold; the catalogue's own are tested for the same.

use std::cell::Cell;
use std::panic::{catch_unwind, resume_unwind, AssertUnwindSafe};
use std::time::Instant;

use earlydrop_aqm::catalogue::{AqmSpec, Built, Link};
use earlydrop_aqm::discipline::Fifo;
use earlydrop_aqm::fault::Fault;
use earlydrop_aqm::gate::Gate;
use earlydrop_aqm::params::{Kind, Param, Value, Values};
use earlydrop_aqm::policy::{Limit, Reason};
use earlydrop_aqm::random::Generator;
use earlydrop_aqm::{Discipline, Ecn, Packet, Time};

use crate::timers::Timers;

const LINK: Link = Link { rate_bps: 10e6, delay_s: 0.02 };
const LIMIT: Limit = Limit::Packets(60);
/// Seconds a byte takes on the link.
const BYTE: f64 = 8.0 / LINK.rate_bps;

/// The result of testing one property.
#[derive(Clone, Debug, PartialEq)]
pub struct Outcome {
    /// The property, in a few words.
    pub property: &'static str,
    /// What the property means.
    pub about: &'static str,
    /// What failed, and at which packet; `None` if the property holds.
    pub failure: Option<String>,
    /// Nanoseconds for each packet, where it was measured.
    pub ns_per_packet: Option<f64>,
}

/// Tries one property: an error if it fails, or nanoseconds for each packet where it measures them.
type Work<'a> = dyn Fn(&Cell<Option<Seen>>) -> Result<Option<f64>, String> + 'a;

/// Tries `spec` on every property, the last of them with `packets` packets.
pub fn conformance(spec: &'static AqmSpec, packets: u64) -> Vec<Outcome> {
    let defaults = Values::new();
    let mut outcomes = Vec::new();
    let mut hold = |property, about, work: &Work| {
        let last = Cell::new(None);
        let made = catch_unwind(AssertUnwindSafe(|| work(&last))).unwrap_or_else(|payload| {
            match Fault::of(payload.as_ref()) {
                Some(fault) => Err(fault.to_string()),
                None => resume_unwind(payload),
            }
        });
        let (failure, ns_per_packet) = match made {
            Ok(ns) => (None, ns),
            Err(message) => (Some(last.get().map_or(message.clone(), |seen| format!("{message}; {seen}"))), None),
        };
        outcomes.push(Outcome { property, about, failure, ns_per_packet });
    };
    hold(
        "conservation",
        "every packet that arrives leaves, is dropped, or waits; the buffer's limit holds; first in, first out",
        &|last| play(spec, &Trial { ecn: true, ..Trial::of(&defaults) }, last).map(|_| None),
    );
    hold(
        "determinism",
        "the same packets and random numbers give the same decisions, whatever other queues do meanwhile",
        &|last| {
            let trial = Trial { ecn: true, ..Trial::of(&defaults) };
            let once = play(spec, &trial, last)?;
            let (twice, _) = play_two(spec, &trial, &Trial { seed: 2, ..trial.clone() }, last)?;
            same(&once, &twice, "a second queue beside it changes what it decides: it keeps state outside of its own")
        },
    );
    hold(
        "ECN honesty",
        "where no packet is ECN-capable, decisions are the same with marking on and off; nothing is marked then",
        &|last| {
            let off = Trial { plain: true, ..Trial::of(&defaults) };
            let on = Trial { ecn: true, ..off.clone() };
            same(&play(spec, &off, last)?, &play(spec, &on, last)?, "marking that is on changes a decision")
        },
    );
    hold("a light load", "a packet that finds the queue empty and the link idle for long is admitted", &|last| {
        light_load(spec, last).map(|()| None)
    });
    hold(
        "timers",
        "each timer is later than the one before, and there are not too many; also while the link is idle",
        &|last| play(spec, &Trial { steps: 400, gap: 0.5, ..Trial::of(&defaults) }, last).map(|_| None),
    );
    hold("silence", "it works after an hour without a packet as at the start", &|last| {
        play(spec, &Trial { start: 3600.0, ..Trial::of(&defaults) }, last).map(|_| None)
    });
    hold("buffers", "limits of one packet, of a thousand, and in bytes", &|last| {
        for limit in [Limit::Packets(1), Limit::Packets(1000), Limit::Bytes(1500), Limit::Bytes(90_000)] {
            play(spec, &Trial { limit, steps: 2000, ..Trial::of(&defaults) }, last)
                .map_err(|message| format!("limit {limit:?}: {message}"))?;
        }
        Ok(None)
    });
    hold(
        "extreme parameters",
        "every parameter at the ends of its range and between, alone and together; inner values are numbers, and \
         probabilities from 0 to 1",
        &|last| extremes(spec, last).map(|()| None),
    );
    hold("drop curve", "from 0 to 1, and never falling", &|_| curve(spec).map(|()| None));
    hold("many packets", "all of this over a long run; the time is that of one packet's way through", &|last| {
        let trial = Trial { ecn: true, steps: packets, keep: false, ..Trial::of(&defaults) };
        let begin = Instant::now();
        play(spec, &trial, last)?;
        Ok(Some(begin.elapsed().as_secs_f64() * 1e9 / packets as f64))
    });
    outcomes
}

/// The discipline's own check of `values`; it decides even where there is no parameter.
///
/// # Errors
/// What the check allows instead, on the link of all these tests.
pub fn fits(spec: &AqmSpec, values: &Values) -> Result<(), String> {
    (spec.check)(values, &LINK).map_err(|error| {
        let Link { rate_bps, delay_s } = LINK;
        let link = format!("{} Mbit/s and {} ms", rate_bps / 1e6, delay_s * 1e3);
        format!("its own check refuses it on a link of {link}: given {}; allowed {}", error.given, error.allowed)
    })
}

/// The packet that was looked at last.
#[derive(Clone, Copy)]
struct Seen {
    number: u64,
    packet: Packet,
    now: f64,
    waiting: (u64, u64),
}

impl std::fmt::Display for Seen {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        let Packet { flow, size, ecn, .. } = self.packet;
        let (packets, bytes) = self.waiting;
        write!(
            f,
            "the last packet was number {} at {:.6} s (flow {flow}, {size} B, {ecn:?}), with {packets} packets, {bytes} B waiting",
            self.number, self.now
        )
    }
}

/// A script, and the setting it is played in.
#[derive(Clone)]
struct Trial {
    values: Values,
    limit: Limit,
    ecn: bool,
    /// Whether no packet is ECN-capable.
    plain: bool,
    steps: u64,
    /// Mean time between arrivals, in transmission times of a mean packet; 0 goes through several loads.
    gap: f64,
    start: f64,
    seed: u64,
    /// Whether the decisions are kept.
    keep: bool,
}

impl Trial {
    fn of(values: &Values) -> Self {
        let values = values.clone();
        Trial { values, limit: LIMIT, ecn: false, plain: false, steps: 5000, gap: 0.0, start: 0.0, seed: 1, keep: true }
    }
}

/// What became of each packet, by its number.
type Decisions = Vec<(u64, &'static str)>;

fn same(once: &Decisions, twice: &Decisions, otherwise: &str) -> Result<Option<f64>, String> {
    match once.iter().zip(twice).find(|(a, b)| a != b) {
        None if once.len() == twice.len() => Ok(None),
        Some((a, b)) => Err(format!("{otherwise}: packet {}: {}, and then packet {}: {}", a.0, a.1, b.0, b.1)),
        None => Err(otherwise.to_string()),
    }
}

/// A queue, its link, and what has been seen.
struct Player<'a> {
    trial: &'a Trial,
    queue: Box<dyn Discipline>,
    script: Generator,
    now: f64,
    busy_until: f64,
    number: u64,
    arrived: (u64, u64),
    left: (u64, u64),
    last_left: Option<u32>,
    timers: Timers,
    one_queue: bool,
    /// Whether the limit holds as it stands: ns-2 has another rule for bytes, and Linux's fq a limit in each band.
    strict: bool,
    decisions: Decisions,
}

impl<'a> Player<'a> {
    fn new(spec: &'static AqmSpec, trial: &'a Trial) -> Result<Self, String> {
        let random = Generator::stream(trial.seed, "conformance.queue");
        fits(spec, &trial.values)?;
        let built = (spec.build)(&trial.values, &LINK, trial.limit).map_err(|error| error.to_string())?;
        let (queue, one_queue): (Box<dyn Discipline>, _) = match built {
            Built::Policy(policy) => (Box::new(Fifo::new(Gate::new(policy, trial.limit, trial.ecn, random))), true),
            Built::Discipline(finish) => (finish(trial.ecn, random), false),
        };
        let (now, script) = (trial.start, Generator::stream(trial.seed, "conformance.script"));
        Ok(Player {
            trial,
            queue,
            script,
            now,
            busy_until: now,
            number: 0,
            arrived: (0, 0),
            left: (0, 0),
            last_left: None,
            timers: Timers::default(),
            one_queue,
            strict: spec.param("dialect").is_none() && spec.name != "fq_pacing",
            decisions: Vec::new(),
        })
    }

    /// The next packet, and when it arrives: overload, silence, a burst, loads about the capacity, over and over.
    fn arrival(&mut self) -> (f64, Packet) {
        let load = match (self.number / 250) % 5 {
            0 => 2.0,
            1 => 0.1,
            2 => 50.0,
            3 => 0.95,
            _ => 1.3,
        };
        let mean = BYTE * 800.0;
        let gap = if self.trial.gap > 0.0 { self.trial.gap } else { mean / load };
        let at = self.now - libm::log(1.0 - self.script.uniform()) * gap;
        let flow = (self.script.uniform() * 6.0) as u64;
        let size = [40, 576, 1000, 1500][(self.script.uniform() * 4.0) as usize % 4];
        let ecn = match (self.trial.plain, flow) {
            (true, _) | (false, 0 | 1) => Ecn::NotEct,
            (false, 2 | 3) => Ecn::Ect0,
            (false, 4) => Ecn::Ect1,
            _ => Ecn::Ce,
        };
        (at, Packet { ecn, class: (flow % 8) as u8, tag: self.number as u32, ..Packet::new(flow, size) })
    }

    fn keep(&mut self, number: u64, what: &'static str) {
        if self.trial.keep {
            self.decisions.push((number, what));
        }
    }

    /// Plays everything until the next packet has arrived.
    fn step(&mut self, last: &Cell<Option<Seen>>) -> Result<(), String> {
        let (at, packet) = self.arrival();
        self.until(at)?;
        self.now = at;
        let waiting = (self.queue.packets(), self.queue.bytes());
        last.set(Some(Seen { number: self.number, packet, now: at, waiting }));
        self.arrived = (self.arrived.0 + 1, self.arrived.1 + u64::from(packet.size));
        let mut dropped = Vec::new();
        let admitted =
            self.queue.enqueue(packet, Time::from_seconds(at), &mut |packet, reason| dropped.push((*packet, reason)));
        self.drops(&dropped);
        match admitted {
            Some(marked) if marked.0 => {
                if !(self.trial.ecn && packet.ecn.is_capable()) {
                    return Err("a packet that cannot be marked was marked".into());
                }
                self.keep(self.number, "marked");
            }
            Some(_) => self.keep(self.number, "admitted"),
            None => {}
        }
        self.number += 1;
        if self.busy_until <= at {
            self.busy_until = at;
            self.send()?;
        }
        self.check()
    }

    fn drops(&mut self, dropped: &[(Packet, Reason)]) {
        for (packet, reason) in dropped {
            self.left = (self.left.0 + 1, self.left.1 + u64::from(packet.size));
            let what = match reason {
                Reason::Early => "dropped early",
                Reason::Forced => "dropped, forced",
                Reason::Overflow => "dropped by the full buffer",
            };
            self.keep(u64::from(packet.tag), what);
        }
    }

    /// Plays ends of transmissions and timers up to `at`.
    fn until(&mut self, at: f64) -> Result<(), String> {
        loop {
            let timer = self.queue.next_timer().map(Time::seconds).filter(|&due| due <= at);
            let end = Some(self.busy_until).filter(|&end| end > self.now && end <= at);
            match (end, timer) {
                (Some(end), timer) if timer.is_none_or(|due| end <= due) => {
                    self.now = end;
                    self.send()?;
                }
                (_, Some(due)) => {
                    self.timers.count(due)?;
                    self.queue.on_timer(Time::from_seconds(due));
                    if let Some(next) = self.queue.next_timer() {
                        Timers::later(next.seconds(), due)?;
                    }
                }
                _ => return Ok(()),
            }
        }
    }

    /// The link takes a packet, or finds none.
    fn send(&mut self) -> Result<(), String> {
        let mut dropped = Vec::new();
        let now = Time::from_seconds(self.now.max(self.busy_until));
        let packet = self.queue.dequeue(now, &mut |packet, reason| dropped.push((*packet, reason)));
        self.drops(&dropped);
        let Some(packet) = packet else { return Ok(()) };
        self.left = (self.left.0 + 1, self.left.1 + u64::from(packet.size));
        if self.one_queue && self.last_left.is_some_and(|last| packet.tag <= last) {
            return Err(format!("packet {} left after packet {}", packet.tag, self.last_left.unwrap_or(0)));
        }
        self.last_left = Some(packet.tag);
        self.busy_until = now.seconds() + f64::from(packet.size) * BYTE;
        self.keep(u64::from(packet.tag), if packet.ecn == Ecn::Ce { "sent with CE" } else { "sent" });
        Ok(())
    }

    fn check(&mut self) -> Result<(), String> {
        let (packets, bytes) = (self.queue.packets(), self.queue.bytes());
        if self.arrived != (self.left.0 + packets, self.left.1 + bytes) {
            return Err(format!(
                "{} packets arrived, {} left or were dropped, {packets} wait",
                self.arrived.0, self.left.0
            ));
        }
        match self.trial.limit {
            _ if !self.strict => {}
            Limit::Packets(n) if packets > n => return Err(format!("{packets} packets wait under a limit of {n}")),
            Limit::Bytes(n) if bytes > n.saturating_add(1500) => {
                return Err(format!("{bytes} B wait under a limit of {n}"))
            }
            _ => {}
        }
        // Inner values are looked at now and then: a plain Python policy would spend most of its time on them.
        if !self.number.is_multiple_of(50) {
            return Ok(());
        }
        if self.queue.average().is_some_and(f64::is_nan) {
            return Err("the average is no number".into());
        }
        let mut wrong = None;
        self.queue.gauges(&mut |name, value| {
            let probability = name == "p" || name.starts_with("p_");
            if value.is_nan() || probability && !(0.0..=1.0).contains(&value) {
                wrong.get_or_insert(format!("the gauge {name} is {value}"));
            }
        });
        wrong.map_or(Ok(()), Err)
    }
}

fn play(spec: &'static AqmSpec, trial: &Trial, last: &Cell<Option<Seen>>) -> Result<Decisions, String> {
    let mut player = Player::new(spec, trial)?;
    for _ in 0..trial.steps {
        player.step(last)?;
    }
    Ok(player.decisions)
}

/// Plays two queues, a packet for each by turns.
fn play_two(
    spec: &'static AqmSpec,
    first: &Trial,
    second: &Trial,
    last: &Cell<Option<Seen>>,
) -> Result<(Decisions, Decisions), String> {
    let mut players = [Player::new(spec, first)?, Player::new(spec, second)?];
    for _ in 0..first.steps {
        for player in &mut players {
            player.step(last)?;
        }
    }
    let [first, second] = players;
    Ok((first.decisions, second.decisions))
}

/// Sends one packet a second over a link that carries ten thousand.
fn light_load(spec: &'static AqmSpec, last: &Cell<Option<Seen>>) -> Result<(), String> {
    let trial = Trial::of(&Values::new());
    let mut player = Player::new(spec, &trial)?;
    for number in 0..50 {
        let at = f64::from(number) + 1.0;
        player.until(at)?;
        player.now = at;
        let packet = Packet { tag: number, ..Packet::new(1, 1000) };
        last.set(Some(Seen { number: number.into(), packet, now: at, waiting: (0, 0) }));
        let now = Time::from_seconds(at);
        if player.queue.enqueue(packet, now, &mut |_, _| {}).is_none() {
            return Err("a packet was dropped at an empty queue".into());
        }
        let (mut dropped, sent) = (0, player.queue.dequeue(now, &mut |_, _| {}));
        if sent.is_none() {
            dropped += 1;
        }
        if dropped > 0 {
            return Err("a packet that waited for no time was dropped".into());
        }
        player.busy_until = at + 1000.0 * BYTE;
        player.queue.dequeue(Time::from_seconds(player.busy_until), &mut |_, _| {});
    }
    Ok(())
}

fn extremes(spec: &'static AqmSpec, last: &Cell<Option<Seen>>) -> Result<(), String> {
    let try_values = |values: &Values| {
        if fits(spec, values).is_err() {
            return Ok(());
        }
        let said = || {
            let given = spec.all_params().filter_map(|p| values.given(p.name).map(|v| format!("{} = {v}", p.name)));
            let given = given.collect::<Vec<_>>().join(", ");
            if given.is_empty() {
                "the defaults".to_string()
            } else {
                given
            }
        };
        let trial = Trial { steps: 600, ecn: true, ..Trial::of(values) };
        catch_unwind(AssertUnwindSafe(|| play(spec, &trial, last)))
            .unwrap_or_else(|payload| match Fault::of(payload.as_ref()) {
                Some(fault) => Err(fault.to_string()),
                None => resume_unwind(payload),
            })
            .map(|_| ())
            .map_err(|message| format!("with {}: {message}", said()))
    };
    for param in spec.all_params() {
        for value in values_of(param) {
            let values = Values::of(&[(param.name, value)]);
            try_values(&values)?;
        }
    }
    let mut random = Generator::stream(1, "conformance.parameters");
    for _ in 0..50 {
        let mut values = Values::new();
        for param in spec.all_params() {
            let all = values_of(param);
            let pick = (random.uniform() * (all.len() + 1) as f64) as usize;
            if let Some(&value) = all.get(pick) {
                values.set(param.name, value);
            }
        }
        try_values(&values)?;
    }
    Ok(())
}

/// The ends of a parameter's range, and values between.
fn values_of(param: &Param) -> Vec<Value> {
    let found: Vec<Value> = match param.kind {
        Kind::Real { low, high, .. } => {
            let (from, to) = (low.max(1e-6), if high.is_finite() { high } else { low.max(1.0) * 1e6 });
            let between = [0.01, 0.3, 0.7].map(|share| from * libm::pow(to / from, share));
            [low, high, from, to].into_iter().chain(between).map(Value::Real).collect()
        }
        Kind::Whole { low, high } => {
            [low, low.saturating_add(1), low.saturating_add(100), high].into_iter().map(Value::Whole).collect()
        }
        kind => kind.listed(),
    };
    found.into_iter().filter(|&value| param.allows(value)).collect()
}

fn curve(spec: &'static AqmSpec) -> Result<(), String> {
    let Some(curve) = spec.curve else { return Ok(()) };
    let mut last = 0.0;
    for tenth in 0..2000 {
        let average = f64::from(tenth) / 10.0;
        let p = curve(&Values::new(), &LINK, average);
        if !(0.0..=1.0).contains(&p) || p < last - 1e-12 {
            return Err(format!("p = {p} at an averaged queue of {average} packets, {last} before"));
        }
        last = p;
    }
    Ok(())
}
