//! # FLoadAutoRED
//!
//! ## What it does
//! RED with four stages, each built on the one before; `stage` names the last in use.
//!
//! | `stage` | scheme | adds |
//! |---|---|---|
//! | `"auto"` | AutoRED | the weight of a sample in the average is computed at each arrival |
//! | `"two_levels"` | AutoREDwithRED | an upper threshold of two levels |
//! | `"match"` | FAutoREDwithRED | CHOKe's test before RED's |
//! | `"load"` (default) | FLoadAutoRED | the load of the link raises or lowers `p_a` |
//!
//! Parameters of stages after the last in use have no effect.
//!
//! **Weight.** With the queue Q_t and `p_t = Q_t/B`, its part of the buffer, `avg := (1 - w_t) avg + w_t Q_t`.
//!
//! | `weight` | `w_t`, before it is kept within `w_lo` and `w_hi` |
//! |---|---|
//! | `"traffic"` (default) | `p_t (1 - p_t) min(1, abs(ln((Q_t + 1)/(Q_{t-1} + 1))))/2` |
//! | `"scaled"` | `4 w_0 p_t (1 - p_t)` |
//! | `"plain"` | `p_t (1 - p_t)` |
//! | `"constant"` | `w_q`: RED |
//!
//! **Two levels.** With `I` the `max_th` given, at each arrival:
//!
//! | if | then |
//! |---|---|
//! | `p_t < 0.550` and `Q_t < I` | `Cur_maxth := I` |
//! | `0.550 < p_t < 0.880` and `Q_t >= I` and `Cur_maxth = I` | `Cur_maxth` is raised |
//!
//! `p_b = max_p (avg - min_th)/(Cur_maxth - min_th)`; from `Cur_maxth` on everything is dropped.
//!
//! **Match.** From `min_th` on, an arrival is compared with a packet drawn at random from the queue; if both are of one
//! flow, both are dropped. Else RED decides.
//!
//! **Load.** RED's `p_a` is raised or lowered before the draw. With lambda the rate at which packets arrive and C the
//! link's, both in packets/s,
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
//! increase the overall performance in Internet routers", IJCSI 8(4), 2011. For the stages before `load` no full text
//! was found; **each is our reconstruction**, from Table 6.1 without the stages that come after it:
//!
//! - AutoRED: S. Suthaharan, "Reduction of queue oscillation in the next generation Internet routers", Computer
//!   Communications 30, 2007. Its abstract says that RED's slow average makes the queue oscillate, and that a weighting
//!   function replaces the constant; that it has three factors (congestion, traffic, normalisation) is from memory.
//! - AutoREDwithRED: K. Chitra, G. Padmavathi, about 2010, the baseline of the chapter. Its figures fit: with a CBR flow
//!   of 2 Mbit/s it leaves TCP 1.7 % (Table 6.6), so it has no flow stage, and its average, 190.4 packets with
//!   max_th = 200, stands close to the threshold.
//! - FAutoREDwithRED: K. Chitra, G. Padmavathi, "FAutoREDwithRED: an algorithm to reduce queue oscillation in Internet
//!   routers", about 2010. Its abstract has queue-based management with flow information.
//!
//! ## Differences
//! 1. The z of Table 6.1 never comes into the band it is meant to be held in, and reverses the load stage below
//!    capacity: the lower the load, the more drops. `reading = "literal"` runs it. The intended reading is **our
//!    reconstruction**: the chapter's words (z is the utilisation, the virtual capacity is adapted to the arrivals)
//!    with AVQ's virtual capacity, whose derivative is the printed formula with its sign changed, and YELLOW's load
//!    factor.
//! 2. Literal: lambda = C counts as z = +infinity (a certain drop), lambda = 0 leaves p_a alone.
//! 3. The chapter prints both Delta/zC and Delta/z C; here Delta/(z C) in both readings, as in YELLOW.
//! 4. Delta/C is 0.003 at 3750 packets/s, the link for which Delta = 11.25 was made, and 0.09 at 125 packets/s.
//!    `delta_norm` takes Delta/3750 at any rate. "auto" is on for the intended reading, off for the literal one.
//! 5. How lambda is measured is not said: see `estimator`, `slot`, `rate_weight`, `rate_window`, `measured`. In the
//!    intended reading z is at least 0.05.
//! 6. The intended reading has variants: by `load`, z is that of the link itself, or YELLOW's with its queue control
//!    function; with `accumulate`, as in YELLOW, the load moves the last probability instead of p_a.
//! 7. After a silence of more than 4096 slots (41 s by default) the later slots are skipped; by then nothing changes
//!    any more, unless the weights are very small.
//! 8. `p_t` is read as the part of the buffer in use: with the chapter's B = 300, 0.55 and 0.88 are 165 and 264
//!    packets, on both sides of its max_th = 200. A drop probability with max_p = 0.02 would never reach 0.55.
//! 9. `p_t (1 - p_t)` stands for congestion, the change of the queue for traffic, 1/2 for normalisation. The other
//!    weights leave factors out. Before the first arrival Q is 0.
//! 10. `w_lo` is ours: without it the average would never move again at a queue that is empty, full or unchanged. After
//!     an idle time the average decays as RED's, with the weight of an arrival at an empty queue, `w_lo`.
//! 11. The drop rule is RED's without gentle. The dialects ns2 and ns3 are there because papers of those years ran RED
//!     as ns-2 has it; linux is not, as its weight is a fixed power of two. The default thresholds are those of the
//!     chapter's experiment.
//! 12. The chapter does not say how large its "increment" is; its test `Cur_maxth = I` allows only one: hence two
//!     levels. `raising = "one"` adds one packet. `raising = "band"` raises to 0.88 of the buffer, the upper end of the
//!     test; the average then stands far above the 190.4 of the chapter's Table 6.3. Nothing happens at p_t = 0.55
//!     exactly, or from 0.88 on, as printed.
//! 13. At the ends, Table 6.1 differs from CHOKe by an equals sign: it draws at `min_th` too, and drops from
//!     `Cur_maxth` on, as RED does.
//! 14. A match leaves RED's count alone, as in Linux' CHOKe; the chapter does not say. It is counted as a forced drop,
//!     and is never a mark. The gauge `matched` counts matches. An empty queue costs no random number, and which packet
//!     a number names is as in `choke`.
//!
//! Why the printed z cannot work, with figures, and what each option does: `docs/algorithms/floadautored.md`.
//!
//! ## Example
//! ```
//! use earlydrop_aqm::{catalogue, gate::Gate, params::{Value, Values}, policy::Limit, random::Generator};
//! use earlydrop_aqm::{discipline::Fifo, Discipline, Packet, Time};
//!
//! let link = catalogue::Link { rate_bps: 8e6, delay_s: 0.01 };
//! let queue = |pairs: &[(&'static str, Value)]| {
//!     let mut values = Values::new();
//!     for &(name, value) in pairs {
//!         values.set(name, value);
//!     }
//!     let limit = Limit::Packets(300);
//!     let spec = catalogue::find("floadautored").unwrap();
//!     let catalogue::Built::Policy(policy) = (spec.build)(&values, &link, limit).unwrap() else { unreachable!() };
//!     Fifo::new(Gate::new(policy, limit, false, Generator::stream(1, "queue")))
//! };
//! // z after ten seconds of 900 packets/s on a link of 1000 packets/s.
//! let z = |reading| {
//!     let mean_packet = ("mean_packet", Value::Real(1000.0));
//!     let estimator = ("estimator", Value::Choice("exponential"));
//!     let mut queue = queue(&[("reading", Value::Choice(reading)), mean_packet, estimator]);
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
//!
//! // AutoRED's average after a burst of 100 packets, with two weights.
//! let average = |weight| {
//!     let mut queue = queue(&[("stage", Value::Choice("auto")), ("weight", Value::Choice(weight))]);
//!     for _ in 0..100 {
//!         queue.enqueue(Packet::new(1, 1000), Time::ZERO, &mut |_, _| {});
//!     }
//!     queue.average().unwrap()
//! };
//! assert!(average("plain") > 90.0 && average("constant") < 10.0);
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
use std::any::Any;

const OURS: &str = "our reconstruction";

const fn real(
    name: &'static str,
    symbol: &'static str,
    default: f64,
    source: &'static str,
    doc: &'static str,
) -> Param {
    Param::real(name, Unit::None, Kind::above(0.0, f64::INFINITY), default).symbol(symbol).says(source, doc)
}

const fn word(name: &'static str, words: &'static [&'static str], doc: &'static str) -> Param {
    Param::word(name, words, words[0]).says(OURS, doc)
}

const fn up_to_one(param: Param) -> Param {
    Param { kind: Kind::above(0.0, 1.0), ..param }
}

const fn seconds(param: Param, low: f64, auto: bool) -> Param {
    let kind = Kind::Real { low, high: f64::INFINITY, open_low: false, open_high: false, auto };
    Param { unit: Unit::Seconds, kind, default: if auto { Value::Auto } else { param.default }, ..param }
}

words! {
    /// The last stage in use.
    enum Stage {
        /// The moving weight, the moving threshold, CHOKe's test and the load.
        Load = "load",
        /// All but the load: FAutoREDwithRED.
        Match = "match",
        /// The moving weight and the moving threshold: AutoREDwithRED.
        TwoLevels = "two_levels",
        /// The moving weight alone: AutoRED.
        Auto = "auto",
    }
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
    /// What lambda is divided by in the intended reading.
    enum LoadOver {
        /// AVQ's virtual capacity.
        Avq = "avq",
        /// C, the link's capacity.
        Capacity = "capacity",
        /// C times YELLOW's function of the queue.
        Yellow = "yellow",
    }
}

words! {
    /// How lambda is measured.
    enum Estimator {
        /// Counted in slots; the counts are averaged.
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
        /// All packets that arrive.
        Offered = "offered",
        /// The packets that are admitted.
        Accepted = "accepted",
    }
}

const OWN: [Param; 16] = [
    word(
        "stage",
        Stage::WORDS,
        "The last stage in use: the load, CHOKe's test, the two levels of max_th, or the moving weight alone.",
    ),
    word(
        "reading",
        Reading::WORDS,
        "The load factor z: lambda over a virtual capacity, as meant, or lambda/(gamma (lambda - C)), as printed.",
    ),
    word(
        "load",
        LoadOver::WORDS,
        "Intended reading: z is lambda over AVQ's virtual capacity, C, or C times YELLOW's function of the queue.",
    ),
    Param::flag("accumulate", false).says(
        "FLoadAutoRED, Table 6.1; on: YELLOW",
        "The load moves the last probability at the end of each slot, as in YELLOW, not p_a at each arrival.",
    ),
    real(
        "gamma",
        "\\gamma",
        0.2,
        "FLoadAutoRED, Table 6.2",
        "Gain of the virtual capacity, 1/s (intended), or the factor of lambda - C (literal).",
    ),
    real("rho", "\\rho", 0.98, "AVQ", "Utilisation at which AVQ's virtual capacity stands still."),
    up_to_one(real("kappa", "\\kappa", 0.5, OURS, "AVQ's virtual capacity is at least this part of C.")),
    real("delta", "\\Delta", 11.25, "FLoadAutoRED, Table 6.2", "How strongly the load acts, packets/s."),
    Param::switch("delta_norm").says(
        OURS,
        "Delta/C as at 3750 packets/s whatever C is; auto: yes for the intended reading, no for the literal one.",
    ),
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
    up_to_one(real("rate_weight", "", 0.3, OURS, "Weight of a new slot in lambda (slots).")),
    seconds(real("rate_window", "K", 0.1, OURS, "Time constant of lambda (exponential)."), 1e-6, false),
    word(
        "measured",
        Measured::WORDS,
        "What lambda counts: all that arrive, or those admitted; auto: offered, or accepted with accumulate.",
    ),
    two_levels::PARAMS[0],
];

/// The declaration.
pub const SPEC: AqmSpec = AqmSpec {
    summary:
        "RED with a moving weight, a moving max_th, CHOKe's test, and a probability that the load of the link moves",
    source: "Chitra, Padmavathi: FLoadAutoRED, IJCSI 8(4), 2011, and the thesis chapter of that name",
    params: &[&RED, &auto_weight::PARAMS, &OWN],
    limit: DefaultLimit::RED,
    check: &check,
    build: &|values, link, limit| Ok(Built::Policy(Box::new(FLoadAutoRed::new(values, link, limit)?))),
    curve: Some(&curve),
    ..AqmSpec::named("floadautored", "FLoadAutoRED", "flow-aware RED", 2011)
};

/// The policy.
pub struct FLoadAutoRed {
    /// AutoRED with the load on its curve.
    red: AutoRed<Loaded>,
    /// Arrivals that met a packet of their own flow; `None` without that stage.
    matched: Option<u64>,
    /// The load of the link; `None` without that stage.
    load: Option<Load>,
    /// What the load did to p_a at the last arrival.
    change: Change,
    /// Whether lambda counts admitted packets only.
    accepted_only: bool,
    /// Time of the last arrival, s.
    now: f64,
}

impl FLoadAutoRed {
    fn new(values: &Values, link: &Link, limit: Limit) -> Result<Self, ParamError> {
        let (set, line) = red(values, link)?;
        let packets_per_second = link.rate_bps / (8.0 * values.real(&RED, "mean_packet"));
        let middle = 0.5 * (set.min_th + set.max_th);
        let stage = values.choice(&OWN, "stage");
        let load = (stage == Stage::Load).then(|| Load::new(values, packets_per_second, middle));
        let accepted_only = match values.choice(&OWN, "measured") {
            Measured::Auto => load.as_ref().is_some_and(|load| load.accumulated.is_some()),
            Measured::Offered => false,
            Measured::Accepted => true,
        };
        let change = Change::By(0.0);
        let red = AutoRed::new(values, set, Loaded { line, change }, limit)?;
        let red = if stage == Stage::Auto { red } else { red.with_two_levels(values) };
        let matched = matches!(stage, Stage::Load | Stage::Match).then_some(0);
        Ok(FLoadAutoRed { red, matched, load, change, accepted_only, now: 0.0 })
    }
}

impl Policy for FLoadAutoRed {
    fn needs(&self) -> Needs {
        Needs { dequeue: false, contents: self.matched.is_some() || self.red.needs_contents() }
    }

    fn room(&self, limit: Limit) -> Room {
        self.red.room(limit)
    }

    fn on_enqueue(&mut self, packet: &Packet, queue: &QueueView<'_>, cx: &mut Context<'_>) -> Verdict {
        let average = self.red.observe(queue, cx.now);
        if let Some(load) = &mut self.load {
            let length = self.red.settings().length(queue);
            self.now = cx.now.seconds();
            load.end_slots(self.now, length);
            if !self.accepted_only {
                load.rate.count(self.now);
            }
            let change = load.change(self.now, length);
            self.red.curve_mut().change = change;
            self.change = change;
        }
        match &mut self.matched {
            Some(matched) => self.red.decide_behind_match(average, packet, queue, cx, matched),
            None => self.red.decide(average, packet, queue, cx),
        }
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
        if let Some(load) = self.load.as_mut().filter(|_| self.accepted_only) {
            load.rate.count(self.now);
        }
    }

    fn average(&self) -> Option<f64> {
        Some(self.red.average())
    }

    fn gauges(&self, out: &mut dyn FnMut(&'static str, f64)) {
        self.red.gauges(out);
        if let Some(load) = &self.load {
            out("lambda", load.rate.at(self.now));
            out("virtual_capacity", load.virtual_capacity);
            out("z", load.z);
            match self.change {
                Change::By(change) => out("load_change", change),
                Change::To(p) => out("p", p),
            }
        }
        if let Some(matched) = self.matched {
            out("matched", matched as f64);
        }
    }

    /// Only a discipline with no stage but the first can take over a state.
    fn resume(&mut self, before: &dyn Any) -> bool {
        before.downcast_ref::<Self>().is_some_and(|before| self.red.resume(&before.red))
    }
}

/// RED's line, and what the load does to p_a.
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
    /// C times YELLOW's function of the queue; the queue length at which that function is 1.
    Yellow(f64),
}

/// The load stage.
struct Load {
    /// lambda, packets/s.
    rate: ArrivalRate,
    /// C, packets/s.
    capacity: f64,
    /// The virtual capacity, packets/s.
    virtual_capacity: f64,
    /// kappa C, the least virtual capacity, packets/s.
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
    /// With `accumulate`, the probability that the load moves at the end of each slot.
    accumulated: Option<f64>,
    /// z, the load factor at the last arrival.
    z: f64,
}

/// Packets/s for which Delta = 11.25 is a step of 0.003: 15 Mbit/s of 500 B, the link of control-theoretic papers.
const REFERENCE_RATE: f64 = 3750.0;
/// Least z, as YELLOW divides by z, which is 0 while nothing arrives.
const LEAST_Z: f64 = 0.05;
/// Stands for z = infinity at lambda = C.
const LARGEST_Z: f64 = 1e9;
/// Rates below this, packets/s, count as no arrivals.
const NOTHING: f64 = 1e-9;
/// Most slots that are gone through after a silence.
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

    /// Goes through the slots that have ended by `now`, for a queue of `length`.
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

    /// What the load adds to p_a (section 6.3).
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

/// YELLOW's queue control function (Long, Zhao, Guan, Yang 2005): it falls from 1.05 at an empty queue over 1 at
/// `reference` to 0.5. Its constants are our choice.
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
mod tests;
