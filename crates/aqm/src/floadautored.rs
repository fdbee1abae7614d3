//! # FLoadAutoRED
//!
//! ## What it does
//! FAutoREDwithRED with a second stage: RED's `p_a` is raised or lowered by the load before the draw. With lambda the
//! rate at which packets arrive and C the link's, both in packets/s,
//!
//! | load factor z | probability of the drop |
//! |---|---|
//! | `z >= 1 + delta` | `p_a + z Delta/C` |
//! | `1 <= z < 1 + delta` | `p_a` |
//! | `z < 1` | `p_a - Delta/(z C)` |
//!
//! kept in [0, 1]. `reading` says what z is. Intended (default): `z = lambda/C'`, C' a virtual capacity that moves by
//! `gamma (rho C - lambda) dt` within `kappa C` and C. Literal: `z = lambda/(gamma (lambda - C))`, as printed.
//!
//! ## Source
//! "FLoadAutoRED: an active queue management scheme to prevent congestion in a dynamically varying traffic in IP
//! networks", chapter 6 of a thesis, Table 6.1. As a paper: K. Chitra, G. Padmavathi, "FLoadAutoRED: an AQM scheme to
//! increase the overall performance in Internet routers", IJCSI 8(4), 2011.
//!
//! ## Differences
//! 1. The z of Table 6.1 never comes into the band it is meant to be held in, and turns the second stage round below
//!    capacity: more drops, the less there is to do. `reading = "literal"` runs it. The intended reading is **our
//!    reconstruction**: the chapter's words (z is the utilisation, the virtual capacity is adapted to the arrivals)
//!    with AVQ's virtual capacity, of whose derivative the printed formula is the negative, and YELLOW's load factor.
//! 2. Literal: lambda = C counts as z = +infinity (a certain drop), lambda = 0 leaves p_a alone.
//! 3. The chapter prints both Delta/zC and Delta/z C; here Delta/(z C) in both readings, as in YELLOW.
//! 4. Delta/C is 0.003 at 3750 packets/s, the link for which Delta = 11.25 was made, and 0.09 at 125 packets/s.
//!    `delta_norm` takes Delta/3750 at any rate. "auto" is on for the intended reading, off for the literal one.
//! 5. How lambda is measured is not said: see `estimator`, `slot`, `rate_weight`, `rate_window`, `measured`. z is not
//!    taken below 0.05 in the intended reading.
//! 6. `load` and `accumulate` are other ways to take the intended reading: z of the link itself, z of YELLOW with its
//!    queue control function, and YELLOW's own way to go on from the last probability instead of from p_a.
//! 7. After a silence of more than 4096 slots (41 s by default) the slots beyond are left out; nothing moves any more
//!    by then, unless the weights are very small.
//! 8. Weight, threshold and flow stage are those of `autored`, `autoredwithred`, `fautoredwithred`, and as much ours.
//!
//! Why the printed z cannot work, with figures, and what each option does: `docs/algorithms/floadautored.md`.
//!
//! ## Example
//! ```
//! use earlydrop_aqm::{catalogue, gate::Gate, params::{Value, Values}, policy::Limit, random::Generator};
//! use earlydrop_aqm::{discipline::Fifo, Discipline, Packet, Time};
//!
//! let link = catalogue::Link { rate_bps: 8e6, delay_s: 0.01 };
//! // z after ten seconds of 900 packets/s on a link of 1000.
//! let z = |reading| {
//!     let mut values = Values::new();
//!     values.set("reading", Value::Choice(reading)).set("mean_packet", Value::Real(1000.0));
//!     values.set("estimator", Value::Choice("exponential"));
//!     let limit = Limit::Packets(300);
//!     let spec = catalogue::find("floadautored").unwrap();
//!     let catalogue::Built::Policy(policy) = (spec.build)(&values, &link, limit).unwrap() else { unreachable!() };
//!     let mut queue = Fifo::new(Gate::new(policy, limit, false, Generator::stream(1, "queue")));
//!     for i in 1..9000_u64 {
//!         let now = Time::from_seconds(i as f64 / 900.0);
//!         queue.enqueue(Packet::new(i, 1000), now, &mut |_, _| {});
//!         queue.dequeue(now, &mut |_, _| {});
//!     }
//!     let mut z = f64::NAN;
//!     queue.gauges(&mut |name, value| if name == "z" { z = value });
//!     z
//! };
//! assert!((z("intended") - 0.9).abs() < 1e-6);
//! assert!((z("literal") + 45.0).abs() < 1e-3);
//! ```

use crate::catalogue::{AqmSpec, Built, Link};
use crate::default_limit::DefaultLimit;
use crate::params::{words, Kind, Param, ParamError, Unit, Value, Values, Word};
use crate::parts::arrival_rate::ArrivalRate;
use crate::parts::auto_red::{check, curve, red, AutoRed, RED};
use crate::parts::curve::{Curve, Linear, Movable};
use crate::parts::{auto_weight, two_levels};
use crate::policy::{Context, Limit, Needs, Policy, QueueView, Room, Verdict};
use crate::Packet;

const OURS: &str = "our reconstruction";

const fn real(
    name: &'static str,
    symbol: &'static str,
    default: f64,
    source: &'static str,
    doc: &'static str,
) -> Param {
    Param {
        name,
        symbol,
        unit: Unit::None,
        kind: Kind::Real { low: 0.0, high: f64::INFINITY, open_low: true, open_high: false, auto: false },
        default: Value::Real(default),
        source,
        doc,
    }
}

const fn word(name: &'static str, words: &'static [&'static str], doc: &'static str) -> Param {
    let (kind, default) = (Kind::Choice(words), Value::Choice(words[0]));
    Param { name, symbol: "", unit: Unit::None, kind, default, source: OURS, doc }
}

const fn up_to_one(param: Param) -> Param {
    Param { kind: Kind::Real { low: 0.0, high: 1.0, open_low: true, open_high: false, auto: false }, ..param }
}

const fn seconds(param: Param, low: f64, auto: bool) -> Param {
    let kind = Kind::Real { low, high: f64::INFINITY, open_low: false, open_high: false, auto };
    Param { unit: Unit::Seconds, kind, default: if auto { Value::Auto } else { param.default }, ..param }
}

words! {
    /// How section 6.3 defines the load factor z.
    enum Reading {
        /// lambda over a virtual capacity, as meant.
        Intended = "intended",
        /// lambda/(gamma (lambda - C)), as printed in Table 6.1.
        Literal = "literal",
    }
}

words! {
    /// What lambda is divided by, as intended.
    enum LoadOver {
        /// AVQ's virtual capacity.
        Avq = "avq",
        /// C.
        Capacity = "capacity",
        /// C times YELLOW's function of the queue.
        Yellow = "yellow",
    }
}

words! {
    /// How lambda is measured.
    enum Estimator {
        /// Counted in slots, each averaged in.
        Slots = "slots",
        /// Averaged exponentially at each packet.
        Exponential = "exponential",
    }
}

words! {
    /// Which packets lambda counts.
    enum Measured {
        /// `Offered`, and `Accepted` with `accumulate`.
        Auto = "auto",
        /// All that arrive.
        Offered = "offered",
        /// Those admitted.
        Accepted = "accepted",
    }
}

const OWN: [Param; 15] = [
    word(
        "reading",
        Reading::WORDS,
        "The load factor z: lambda over a virtual capacity, as meant, or lambda/(gamma (lambda - C)), as printed.",
    ),
    word(
        "load",
        LoadOver::WORDS,
        "Intended reading, z is lambda over: AVQ's virtual capacity, C, or C times YELLOW's function of the queue.",
    ),
    Param {
        name: "accumulate",
        symbol: "",
        unit: Unit::None,
        kind: Kind::Flag { auto: false },
        default: Value::Flag(false),
        source: "FLoadAutoRED, Table 6.1; on: YELLOW",
        doc: "The load moves the last probability at the end of each slot, as in YELLOW, not p_a at each arrival.",
    },
    real(
        "gamma",
        "\\gamma",
        0.2,
        "FLoadAutoRED, Table 6.2",
        "Gain of the virtual capacity, 1/s (intended), or the factor of lambda - C (literal).",
    ),
    real("rho", "\\rho", 0.98, "AVQ", "Load avq: utilisation for which the virtual capacity stands still."),
    up_to_one(real("kappa", "\\kappa", 0.5, OURS, "Load avq: the virtual capacity is at least this part of C.")),
    real("delta", "\\Delta", 11.25, "FLoadAutoRED, Table 6.2", "How strongly the load acts, packets/s."),
    Param {
        name: "delta_norm",
        symbol: "",
        unit: Unit::None,
        kind: Kind::Flag { auto: true },
        default: Value::Auto,
        source: OURS,
        doc: "Delta/C as at 3750 packets/s whatever C is; auto: yes for the intended reading, no for the literal one.",
    },
    real(
        "stable_interval",
        "\\delta",
        0.06,
        "FLoadAutoRED, Table 6.2",
        "Width of the band of z above 1 in which p_a is left alone.",
    ),
    word(
        "estimator",
        Estimator::WORDS,
        "How lambda is measured: counted in slots, each averaged in, or averaged exponentially at each packet.",
    ),
    seconds(
        real("slot", "T_s", 0.01, OURS, "Length of a slot; \"auto\" is 10 ms, or ten packets' time if that is longer."),
        1e-3,
        true,
    ),
    up_to_one(real("rate_weight", "", 0.3, OURS, "Estimator slots: weight of a new slot in lambda.")),
    seconds(real("rate_window", "K", 0.1, OURS, "Estimator exponential: its time constant."), 1e-6, false),
    word(
        "measured",
        Measured::WORDS,
        "What lambda counts: all that arrive, or those admitted; auto is offered, and accepted with accumulate.",
    ),
    two_levels::PARAMS[0],
];

/// The declaration.
pub const SPEC: AqmSpec = AqmSpec {
    name: "floadautored",
    title: "FLoadAutoRED",
    family: "flow-aware RED",
    year: 2011,
    summary: "FAutoREDwithRED whose drop probability is moved by the load of the link",
    source: "Chitra, Padmavathi: FLoadAutoRED, IJCSI 8(4), 2011, and the thesis chapter of that name",
    file: include_str!("floadautored.rs"),
    params: &[&RED, &auto_weight::PARAMS, &OWN],
    linux: false,
    limit: DefaultLimit::RED,
    check: &check,
    build: &|values, link, limit| Ok(Built::Policy(Box::new(FLoadAutoRed::new(values, link, limit)?))),
    curve: Some(&curve),
};

/// The policy.
pub struct FLoadAutoRed {
    /// AutoRED with the load on its curve.
    red: AutoRed<Loaded>,
    /// The load of the link.
    load: Load,
    /// What the load did to p_a of the last arrival.
    change: Change,
    /// lambda counts admitted packets only.
    accepted_only: bool,
    /// Time of the last arrival, s.
    now: f64,
    /// Arrivals that met a packet of their own flow.
    matched: u64,
}

impl FLoadAutoRed {
    fn new(values: &Values, link: &Link, limit: Limit) -> Result<Self, ParamError> {
        let (set, line) = red(values, link)?;
        let packets_per_second = link.rate_bps / (8.0 * values.real(&RED, "mean_packet"));
        let load = Load::new(values, packets_per_second, 0.5 * (set.min_th + set.max_th));
        let accepted_only = match values.choice(&OWN, "measured") {
            Measured::Auto => load.accumulated.is_some(),
            Measured::Offered => false,
            Measured::Accepted => true,
        };
        let change = Change::By(0.0);
        let red = AutoRed::new(values, set, Loaded { line, change }, limit)?.with_two_levels(values);
        Ok(FLoadAutoRed { red, load, change, accepted_only, now: 0.0, matched: 0 })
    }
}

impl Policy for FLoadAutoRed {
    fn needs(&self) -> Needs {
        Needs { dequeue: false, contents: true }
    }

    fn room(&self, limit: Limit) -> Room {
        self.red.room(limit)
    }

    fn on_enqueue(&mut self, packet: &Packet, queue: &QueueView<'_>, cx: &mut Context<'_>) -> Verdict {
        let average = self.red.observe(queue, cx.now);
        let length = self.red.settings().length(queue);
        self.now = cx.now.seconds();
        self.load.end_slots(self.now, length);
        if !self.accepted_only {
            self.load.rate.count(self.now);
        }
        let change = self.load.change(self.now, length);
        self.red.curve_mut().change = change;
        self.change = change;
        self.red.decide_behind_match(average, packet, queue, cx, &mut self.matched)
    }

    fn on_overflow(
        &mut self,
        earlier: Verdict,
        packet: &Packet,
        queue: &QueueView<'_>,
        cx: &mut Context<'_>,
    ) -> Verdict {
        self.red.on_overflow(earlier, packet, queue, cx)
    }

    fn on_admitted(&mut self, _packet: &Packet, _serial: u64) {
        if self.accepted_only {
            self.load.rate.count(self.now);
        }
    }

    fn average(&self) -> Option<f64> {
        Some(self.red.average())
    }

    fn gauges(&self, out: &mut dyn FnMut(&'static str, f64)) {
        self.red.gauges(out);
        out("lambda", self.load.rate.at(self.now));
        out("virtual_capacity", self.load.virtual_capacity);
        out("z", self.load.z);
        match self.change {
            Change::By(change) => out("load_change", change),
            Change::To(p) => out("p", p),
        }
        out("matched", self.matched as f64);
    }
}

/// RED's line, with what the load does to p_a.
struct Loaded {
    /// RED's line.
    line: Linear,
    /// What the load does to p_a.
    change: Change,
}

/// What the load does to p_a.
#[derive(Clone, Copy, Debug, PartialEq)]
enum Change {
    /// Added to p_a.
    By(f64),
    /// In place of p_a.
    To(f64),
}

impl Curve for Loaded {
    #[inline]
    fn start(&self) -> f64 {
        self.line.start()
    }

    #[inline]
    fn base_probability(&self, average: f64) -> f64 {
        self.line.base_probability(average)
    }

    #[inline]
    fn end(&self) -> f64 {
        self.line.end()
    }

    #[inline]
    fn final_probability(&self, p_a: f64) -> f64 {
        match self.change {
            Change::By(change) => (p_a + change).clamp(0.0, 1.0),
            Change::To(p) => p,
        }
    }
}

impl Movable for Loaded {
    fn set_max_th(&mut self, max_th: f64) {
        self.line.set_max_th(max_th);
    }
}

/// What lambda is divided by.
#[derive(Clone, Copy, Debug)]
enum Divisor {
    /// Table 6.1: gamma (lambda - C).
    Printed,
    /// AVQ's virtual capacity.
    VirtualCapacity,
    /// C.
    Capacity,
    /// C times a function of the queue; the queue length at which it is 1.
    Yellow(f64),
}

/// The second stage.
struct Load {
    /// lambda, packets/s.
    rate: ArrivalRate,
    /// C, packets/s.
    capacity: f64,
    /// The virtual capacity, packets/s.
    virtual_capacity: f64,
    /// kappa C, which it does not fall below, packets/s.
    least_capacity: f64,
    /// What lambda is divided by.
    divisor: Divisor,
    /// gamma: gain of the virtual capacity, 1/s, or (as printed) a factor.
    gamma: f64,
    /// rho, the utilisation at which the virtual capacity stands still.
    rho: f64,
    /// Delta/C, a probability.
    step: f64,
    /// delta, the width of the band of z above 1 in which p_a is left alone.
    stable: f64,
    /// T_s, the length of a slot, s.
    slot: f64,
    /// Slots that have ended.
    slots: u64,
    /// The probability that the load moves at the end of each slot, with `accumulate`.
    accumulated: Option<f64>,
    /// z, the load factor at the last arrival.
    z: f64,
}

/// Packets/s for which Delta = 11.25 is a step of 0.003: 15 Mbit/s of 500 B, the link of control-theoretic papers.
const REFERENCE_RATE: f64 = 3750.0;
/// YELLOW divides by z, which is 0 while nothing arrives.
const LEAST_Z: f64 = 0.05;
/// Stands for the infinite z at lambda = C.
const LARGEST_Z: f64 = 1e9;
/// Below this rate, packets/s, nothing arrives.
const NOTHING: f64 = 1e-9;
/// Slots that are gone through after a silence.
const MOST_SLOTS: u64 = 4096;

impl Load {
    fn new(values: &Values, capacity: f64, middle: f64) -> Self {
        let real = |name| values.real(&OWN, name);
        let reading = values.choice(&OWN, "reading");
        let divisor = match (reading, values.choice(&OWN, "load")) {
            (Reading::Literal, _) => Divisor::Printed,
            (Reading::Intended, LoadOver::Avq) => Divisor::VirtualCapacity,
            (Reading::Intended, LoadOver::Capacity) => Divisor::Capacity,
            (Reading::Intended, LoadOver::Yellow) => Divisor::Yellow(middle),
        };
        let norm = values.switch(&OWN, "delta_norm").unwrap_or(reading == Reading::Intended);
        let slot = values.number(&OWN, "slot").unwrap_or((10.0 / capacity).max(0.01));
        let rate = match values.choice(&OWN, "estimator") {
            Estimator::Slots => ArrivalRate::slots(slot, real("rate_weight")),
            Estimator::Exponential => ArrivalRate::exponential(real("rate_window")),
        };
        Load {
            rate,
            capacity,
            virtual_capacity: capacity,
            least_capacity: real("kappa") * capacity,
            divisor,
            gamma: real("gamma"),
            rho: real("rho"),
            step: real("delta") / if norm { REFERENCE_RATE } else { capacity },
            stable: real("stable_interval"),
            slot,
            slots: 0,
            accumulated: values.flag(&OWN, "accumulate").then_some(0.0),
            z: LEAST_Z,
        }
    }

    /// Goes through the slots that have ended before `now` or at it, for a queue of `length`.
    #[inline]
    fn end_slots(&mut self, now: f64, length: f64) {
        let ended = (now / self.slot) as u64;
        let first = self.slots.max(ended.saturating_sub(MOST_SLOTS));
        for slot in first..ended {
            let end = ((slot + 1) as f64 * self.slot).min(now);
            let rate = self.rate.end_slot(end);
            let next = self.virtual_capacity + self.gamma * (self.rho * self.capacity - rate) * self.slot;
            self.virtual_capacity = next.clamp(self.least_capacity, self.capacity);
            if let Some(p) = self.accumulated {
                let z = self.load_factor(rate, length);
                self.accumulated = Some((p + self.shift(z, rate)).clamp(0.0, 1.0));
            }
        }
        self.slots = self.slots.max(ended);
    }

    /// What the load does to p_a at `now`.
    #[inline]
    fn change(&mut self, now: f64, length: f64) -> Change {
        let rate = self.rate.at(now);
        self.z = self.load_factor(rate, length);
        match self.accumulated {
            Some(p) => Change::To(p),
            None => Change::By(self.shift(self.z, rate).clamp(-1.0, 1.0)),
        }
    }

    #[inline]
    fn load_factor(&self, rate: f64, length: f64) -> f64 {
        let divisor = match self.divisor {
            Divisor::Printed if rate < NOTHING => return 0.0,
            Divisor::Printed if rate == self.capacity => return LARGEST_Z,
            Divisor::Printed => {
                return (rate / (self.gamma * (rate - self.capacity))).clamp(-LARGEST_Z, LARGEST_Z);
            }
            Divisor::VirtualCapacity => self.virtual_capacity,
            Divisor::Capacity => self.capacity,
            Divisor::Yellow(reference) => self.capacity * queue_control(length, reference),
        };
        (rate / divisor).clamp(LEAST_Z, LARGEST_Z)
    }

    /// The second stage of section 6.3.
    #[inline]
    fn shift(&self, z: f64, rate: f64) -> f64 {
        if z >= 1.0 + self.stable {
            z * self.step
        } else if z >= 1.0 || rate < NOTHING && matches!(self.divisor, Divisor::Printed) {
            0.0
        } else {
            -self.step / z
        }
    }
}

/// YELLOW's queue control function (Long, Zhao, Guan, Yang 2005): 1.05 at an empty queue, 1 at `reference`, down to
/// 0.5. Its constants are our choice.
fn queue_control(length: f64, reference: f64) -> f64 {
    const ALPHA: f64 = 1.05;
    const BETA: f64 = 1.5;
    const LEAST: f64 = 0.5;
    let hyperbola = |a: f64| a * reference / ((a - 1.0) * length + reference);
    if length <= reference {
        hyperbola(ALPHA)
    } else {
        hyperbola(BETA).max(LEAST)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn load(pairs: &[(&'static str, Value)], capacity: f64) -> Load {
        let mut values = Values::new();
        for &(name, value) in pairs {
            values.set(name, value);
        }
        Load::new(&values, capacity, 150.0)
    }

    const LITERAL: (&str, Value) = ("reading", Value::Choice("literal"));

    #[test]
    fn the_three_cases_at_their_ends() {
        let load = load(&[], 1000.0);
        let near = |z: f64, want: f64| {
            let found = load.shift(z, 1000.0);
            assert!((found - want).abs() < 1e-15, "{found} at {z}");
        };
        near(0.5, -0.006);
        near(1.0_f64.next_down(), -0.003);
        near(1.0, 0.0);
        near(1.06_f64.next_down(), 0.0);
        near(1.06, 0.003 * 1.06);
        near(2.0, 0.006);
    }

    #[test]
    fn delta_is_a_step_of_0_003_at_the_rate_it_was_made_for() {
        assert!((load(&[LITERAL], 3750.0).step - 0.003).abs() < 1e-15);
        // 1 Mbit/s and 10 Mbit/s with 1000 B.
        assert!((load(&[LITERAL], 125.0).step - 0.09).abs() < 1e-15);
        assert!((load(&[LITERAL], 1250.0).step - 0.009).abs() < 1e-15);
        for capacity in [125.0, 1250.0] {
            assert!((load(&[], capacity).step - 0.003).abs() < 1e-15);
            assert!((load(&[LITERAL, ("delta_norm", Value::Flag(true))], capacity).step - 0.003).abs() < 1e-15);
        }
        assert!((load(&[("delta_norm", Value::Flag(false))], 125.0).step - 0.09).abs() < 1e-15);
    }

    #[test]
    fn literal_reading_at_the_rates_where_it_has_no_value() {
        let literal = load(&[LITERAL], 1000.0);
        assert_eq!(literal.load_factor(1000.0, 0.0), LARGEST_Z);
        assert!(literal.shift(LARGEST_Z, 1000.0) > 1.0, "a certain drop");
        assert_eq!(literal.shift(literal.load_factor(0.0, 0.0), 0.0), 0.0, "p_a is left alone");
        // The intended reading takes z = 0.05 then.
        let intended = load(&[], 1000.0);
        assert!((intended.shift(intended.load_factor(0.0, 0.0), 0.0) + 0.06).abs() < 1e-15);
    }

    #[test]
    fn a_changed_probability_stays_one() {
        let mut curve = Loaded { line: Linear::new(0.0, 1.0, 1.0, false), change: Change::By(0.01) };
        assert_eq!(curve.final_probability(0.5), 0.51);
        assert_eq!(curve.final_probability(0.995), 1.0);
        curve.change = Change::By(-0.6);
        assert_eq!(curve.final_probability(0.5), 0.0);
        curve.change = Change::To(0.25);
        assert_eq!(curve.final_probability(0.5), 0.25);
    }

    /// 1000 packets/s, gamma = 0.2/s, slots of 10 ms: at lambda = 1100 the virtual capacity loses 0.2 * 120 * 0.01.
    #[test]
    fn virtual_capacity_moves_towards_rho_of_the_load() {
        let mut load = load(&[("rate_weight", Value::Real(1.0))], 1000.0);
        let slot = |load: &mut Load, n: u32| {
            for _ in 0..11 {
                load.rate.count(0.0);
            }
            load.end_slots(f64::from(n) * 0.01 + 0.001, 0.0);
            load.virtual_capacity
        };
        assert!((slot(&mut load, 1) - 999.76).abs() < 1e-9);
        assert!((slot(&mut load, 2) - 999.52).abs() < 1e-9);
        for n in 3..3000 {
            slot(&mut load, n);
        }
        assert_eq!(load.virtual_capacity, 500.0, "kappa C");
        // A second of silence: 1.96 a slot.
        load.end_slots(30.991, 0.0);
        assert!((load.virtual_capacity - 696.0).abs() < 1e-6, "{}", load.virtual_capacity);
        load.end_slots(1e6, 0.0);
        assert_eq!((load.virtual_capacity, load.rate.at(1e6)), (1000.0, 0.0));
    }

    #[test]
    fn slots_last_ten_packets_on_a_slow_link() {
        assert_eq!(load(&[], 1250.0).slot, 0.01);
        assert!((load(&[], 125.0).slot - 0.08).abs() < 1e-15);
        assert_eq!(load(&[("slot", Value::Real(0.5))], 125.0).slot, 0.5);
    }

    #[test]
    fn yellow_asks_for_less_as_the_queue_grows() {
        for (length, want) in [(0.0, 1.05), (150.0, 1.0), (150.0_f64.next_up(), 1.0), (300.0, 0.75), (1e4, 0.5)] {
            assert!((queue_control(length, 150.0) - want).abs() < 1e-12, "{length}");
        }
        let yellow = load(&[("load", Value::Choice("yellow"))], 1000.0);
        assert!((yellow.load_factor(900.0, 300.0) - 1.2).abs() < 1e-12);
        let capacity = load(&[("load", Value::Choice("capacity"))], 1000.0);
        assert!((capacity.load_factor(900.0, 300.0) - 0.9).abs() < 1e-12);
    }

    /// Three slots at 1.2 C, then two at 0.5 C: 3 * 1.2 * 0.003, and 2 * 0.003/0.5 less.
    #[test]
    fn accumulated_probability_moves_once_a_slot() {
        let pairs =
            [("accumulate", Value::Flag(true)), ("rate_weight", Value::Real(1.0)), ("load", Value::Choice("capacity"))];
        let mut load = load(&pairs, 1000.0);
        let mut seen = Vec::new();
        for (n, packets) in [12, 12, 12, 5, 5].into_iter().enumerate() {
            for _ in 0..packets {
                load.rate.count(0.0);
            }
            load.end_slots((n as f64 + 1.5) * 0.01, 0.0);
            assert_eq!(load.change(0.0, 0.0), load.change(0.0, 0.0), "an arrival does not move it");
            seen.push(load.accumulated.unwrap());
        }
        for (p, want) in seen.iter().zip([0.0036, 0.0072, 0.0108, 0.0048, 0.0]) {
            assert!((p - want).abs() < 1e-12, "{seen:?}");
        }
    }
}
