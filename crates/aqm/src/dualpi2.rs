//! # DualPI2
//!
//! ## What it does
//! Two queues on one link: L for traffic of scalable congestion controls (ECN field ECT(1) or CE), C for the rest. A PI
//! controller moves one probability `p'` every `tupdate`, by the age q of the older of the two heads:
//!
//! ```text
//! p' = p' + alpha (q - target) + beta (q - q before), cut off to [0, 1]
//! ```
//!
//! C packets are dropped (ECT(0): marked) with `p_C = p'^2`, L packets marked with `p_CL = k p'`: a classic flow's rate
//! goes with the root of its loss, a scalable one's with its marks, so both get equal shares. L has a shallow threshold
//! of its own beside that. Past saturation (`k p'` reaches 1) L packets are dropped with `p_C` too, and ECT does not
//! save C packets. A scheduler that prefers L takes the packets.
//!
//! ## Source
//! K. De Schepper, B. Briscoe, G. White, "Dual-queue coupled active queue management (AQM) for low latency, low loss,
//! and scalable throughput (L4S)", RFC 9332, appendix A. Linux `net/sched/sch_dualpi2.c` (6.17).
//!
//! ## Differences
//! The dialects, and the parameter that chooses where it is not part of the dialect alone:
//!
//! | | linux (default) | rfc | parameter |
//! |---|---|---|---|
//! | `tupdate` | 16 ms | min(`target`, `rtt_max`/3) = 15 ms | `tupdate` |
//! | alpha | 41/256 in integers: 0.160071 Hz | 0.1 `tupdate`/`rtt_max`^2 = 0.15 Hz | `alpha` |
//! | beta | 819/256 in integers: 3.197783 Hz | 0.3/`rtt_max` = 3 Hz | `beta` |
//! | L's own AQM | step: sojourn > 1 ms | ramp: 0 at 0.8 ms to 1 at 1.2 ms | `l_aqm` |
//! | with `p_CL` | a decision of its own, after the coupled one | one decision with the larger | `l_combine` |
//! | chance | random | recur(): a counter for each queue | `derandomise` |
//! | weight of C | 10 % | 1/16 (suggested) | `classic_protection` |
//! | no PI action | below 2 MTU of backlog | - | `min_backlog` |
//! | overload | `k p' > 1` | C: `p_C >= min(1/k^2, 1)`, L: `p_CL >= 1` | - |
//! | limit in bytes | packets fit | backlog and one MTU fit | - |
//!
//! 1. recur() adds the probability to a counter and hits when the counter exceeds 1, which it then loses. So the first
//!    packet of a saturated ramp is not hit, and binary rounding decides where a sum is exactly 1 (0.4: packets 3, 5, 8
//!    where exact arithmetic gives 3, 6, 8).
//! 2. Random: p_C is two draws against `p'`, the second only if the first hits, as in Linux; p_CL and p_L are one.
//!    Linux draws integers and tests `<=`, so that it hits once in 2^32 at probability 0; here 0 never hits.
//! 3. The ramp sees the sojourn time of the packet taken. The RFC asks for L's time after the packet has left it, which
//!    to the letter would be the next one's. That L holds more than `th_len` packets is tested after the packet has
//!    left, as there.
//! 4. Overload in L: what is not dropped is marked for certain, with recur() too. `p_CL` is cut off at 1.
//! 5. Where a mark is due and the packet cannot be marked, it is dropped, as Linux does with Not-ECT in L. In L that
//!    happens only with marking off (`ecn = false`): what is not ECN-capable is in C.
//! 6. The RFC leaves the scheduler open. `wrr` is Linux', for both dialects; the RFC recommends weighted round robin
//!    with about 1/16 for C and mentions `tsfifo`. The credit counts bytes times per cent, so that whole weights are
//!    exact.
//! 7. `drop_early` (Linux) moves the coupled decision to the arrival, before admission; L's own stays at departure,
//!    alone.
//! 8. `drop_overload = false` (Linux) holds `p'` at 1/k and drops nothing that can be marked.
//! 9. A limit in packets holds in both dialects; the RFC wants 250 ms at the link's highest rate. Linux' memory limit,
//!    its classes by filter, and GSO splitting are left out.
//! 10. A packet that both decisions mark counts once.
//! 11. `tupdate` is at least 0.1 ms, also where rfc makes it from a small `target`. Ours.
//!
//! ## Example
//! ```
//! use earlydrop_aqm::{catalogue, params::Values, policy::Limit, random::Generator, Ecn, Packet, Time};
//!
//! let link = catalogue::Link { rate_bps: 10e6, delay_s: 0.01 };
//! let catalogue::Built::Discipline(finish) = (catalogue::find("dualpi2").unwrap().build)(&Values::new(), &link, Limit::Packets(100)).unwrap()
//!     else { unreachable!() };
//! let mut queue = finish(true, Generator::stream(1, "queue"));
//! for i in 0..40 {
//!     let ecn = if i % 2 == 0 { Ecn::Ect1 } else { Ecn::NotEct };
//!     queue.enqueue(Packet { ecn, ..Packet::new(1, 1500) }, Time::ZERO, &mut |_, _| {});
//! }
//! // 2 ms later: L first, and marked, since it has waited for more than 1 ms.
//! let first = queue.dequeue(Time::from_seconds(0.002), &mut |_, _| {}).unwrap();
//! assert_eq!(first.ecn, Ecn::Ce);
//! let rest: Vec<_> = (0..10).filter_map(|_| queue.dequeue(Time::from_seconds(0.002), &mut |_, _| {})).collect();
//! assert_eq!(rest.iter().filter(|p| p.ecn == Ecn::NotEct).count(), 1, "C has one in ten");
//! ```

use crate::catalogue::{AqmSpec, Built};
use crate::discipline::{Admitted, OnDrop};
use crate::gate::Counters;
use crate::params::{Kind, Param, ParamError, Unit, Value, Values};
use crate::policy::{Limit, Reason};
use crate::random::Generator;
use crate::ring::Ring;
use crate::{Discipline, Packet, Time};
use std::collections::VecDeque;

const fn real(low: f64, high: f64, open_low: bool, auto: bool) -> Kind {
    Kind::Real { low, high, open_low, open_high: false, auto }
}

/// The shortest time between two updates, s.
const LEAST_TUPDATE: f64 = 1e-4;

const PARAMS: [Param; 23] = [
    Param {
        name: "dialect",
        symbol: "",
        unit: Unit::None,
        kind: Kind::Choice(&["linux", "rfc"]),
        default: Value::Choice("linux"),
        source: "Linux sch_dualpi2; rfc: RFC 9332, appendix A",
        doc: "Whose DualPI2: it gives every parameter that is \"auto\" its value.",
    },
    Param {
        name: "target",
        symbol: "",
        unit: Unit::Seconds,
        kind: real(0.0, 100.0, false, false),
        default: Value::Real(0.015),
        source: "RFC 9332, Linux",
        doc: "Queueing delay that the controller steers towards.",
    },
    Param {
        name: "tupdate",
        symbol: "T_{update}",
        unit: Unit::Seconds,
        kind: real(LEAST_TUPDATE, 100.0, false, true),
        default: Value::Auto,
        source: "Linux: 16 ms; RFC 9332: min(target, rtt_max/3)",
        doc: "Time between two updates of the probability.",
    },
    Param {
        name: "rtt_max",
        symbol: "RTT_{max}",
        unit: Unit::Seconds,
        kind: real(1e-3, 100.0, false, false),
        default: Value::Real(0.1),
        source: "RFC 9332",
        doc: "Largest round-trip time the controller is tuned for (rfc: sets tupdate and the gains).",
    },
    Param {
        name: "alpha",
        symbol: "\\alpha",
        unit: Unit::None,
        kind: real(0.0, 1e6, false, true),
        default: Value::Auto,
        source: "Linux: 0.160071; RFC 9332: 0.1 tupdate/rtt_max^2",
        doc: "Integral gain, Hz.",
    },
    Param {
        name: "beta",
        symbol: "\\beta",
        unit: Unit::None,
        kind: real(0.0, 1e6, false, true),
        default: Value::Auto,
        source: "Linux: 3.197783; RFC 9332: 0.3/rtt_max",
        doc: "Proportional gain, Hz.",
    },
    Param {
        name: "k",
        symbol: "k",
        unit: Unit::None,
        kind: real(0.0, 255.0, true, false),
        default: Value::Real(2.0),
        source: "RFC 9332, Linux",
        doc: "Coupling factor: p_CL = k p'.",
    },
    Param {
        name: "l_aqm",
        symbol: "",
        unit: Unit::None,
        kind: Kind::Choice(&["auto", "step", "step_packets", "ramp", "none"]),
        default: Value::Choice("auto"),
        source: "Linux: step; RFC 9332: ramp",
        doc: "L's own AQM: a step in sojourn time or packets, a ramp in sojourn time, or none.",
    },
    Param {
        name: "l_combine",
        symbol: "",
        unit: Unit::None,
        kind: Kind::Choice(&["auto", "separate", "max"]),
        default: Value::Choice("auto"),
        source: "Linux: separate; RFC 9332: max",
        doc: "L's own AQM decides apart from the coupled probability, or the larger of both decides.",
    },
    Param {
        name: "step_threshold",
        symbol: "",
        unit: Unit::Seconds,
        kind: real(0.0, 100.0, false, false),
        default: Value::Real(0.001),
        source: "Linux",
        doc: "Sojourn time above which the step marks.",
    },
    Param {
        name: "step_length",
        symbol: "",
        unit: Unit::None,
        kind: Kind::Whole { low: 0, high: 1_000_000 },
        default: Value::Whole(1),
        source: "ours: Linux has no default",
        doc: "Packets left in L above which the step marks (step_packets).",
    },
    Param {
        name: "min_qlen_step",
        symbol: "",
        unit: Unit::None,
        kind: Kind::Whole { low: 0, high: 1_000_000 },
        default: Value::Whole(0),
        source: "Linux",
        doc: "The step spares packets that found fewer than this in L when they arrived.",
    },
    Param {
        name: "ramp_start",
        symbol: "minTh",
        unit: Unit::Seconds,
        kind: real(0.0, 100.0, false, false),
        default: Value::Real(0.0008),
        source: "RFC 9332",
        doc: "Sojourn time at which the ramp begins.",
    },
    Param {
        name: "ramp_range",
        symbol: "range",
        unit: Unit::Seconds,
        kind: real(0.0, 100.0, true, false),
        default: Value::Real(0.0004),
        source: "RFC 9332",
        doc: "Sojourn time over which the ramp rises from 0 to 1.",
    },
    Param {
        name: "th_len",
        symbol: "Th_{len}",
        unit: Unit::None,
        kind: Kind::Whole { low: 0, high: 1_000_000 },
        default: Value::Whole(1),
        source: "RFC 9332",
        doc: "Packets left in L up to which the ramp marks nothing.",
    },
    Param {
        name: "derandomise",
        symbol: "",
        unit: Unit::None,
        kind: Kind::Flag { auto: true },
        default: Value::Auto,
        source: "Linux: off; RFC 9332: on (recur)",
        doc: "Spread hits evenly by a counter for each queue instead of drawing random numbers.",
    },
    Param {
        name: "scheduler",
        symbol: "",
        unit: Unit::None,
        kind: Kind::Choice(&["wrr", "tsfifo"]),
        default: Value::Choice("wrr"),
        source: "Linux; RFC 9332 recommends it",
        doc: "Weighted round robin, or the queue whose head is older, L's age counted up by tshift.",
    },
    Param {
        name: "classic_protection",
        symbol: "w_C",
        unit: Unit::None,
        kind: real(0.0, 100.0, false, true),
        default: Value::Auto,
        source: "Linux: 10; RFC 9332: about 1/16, 6.25",
        doc: "Weight of C in per cent (wrr).",
    },
    Param {
        name: "tshift",
        symbol: "tshift",
        unit: Unit::Seconds,
        kind: real(0.0, 100.0, false, false),
        default: Value::Real(0.05),
        source: "RFC 9332",
        doc: "L packets count as so much older (tsfifo).",
    },
    Param {
        name: "min_backlog",
        symbol: "",
        unit: Unit::Bytes,
        kind: real(0.0, 1e9, false, true),
        default: Value::Auto,
        source: "Linux: 2 mtu; RFC 9332: 0",
        doc: "No coupled drop or mark while fewer bytes than this wait beside the packet.",
    },
    Param {
        name: "mtu",
        symbol: "MTU",
        unit: Unit::Bytes,
        kind: Kind::Whole { low: 64, high: 65_535 },
        default: Value::Whole(1514),
        source: "Linux: Ethernet with its header",
        doc: "Largest packet: sets the credit at the start, min_backlog, and rfc's room.",
    },
    Param {
        name: "drop_early",
        symbol: "",
        unit: Unit::None,
        kind: Kind::Flag { auto: false },
        default: Value::Flag(false),
        source: "Linux, RFC 9332",
        doc: "The coupled decision is taken when a packet arrives, not when it leaves.",
    },
    Param {
        name: "drop_overload",
        symbol: "",
        unit: Unit::None,
        kind: Kind::Flag { auto: false },
        default: Value::Flag(true),
        source: "Linux, RFC 9332",
        doc: "Past saturation ECN-capable packets are dropped too; else p' stops at 1/k.",
    },
];

/// The declaration.
pub const SPEC: AqmSpec = AqmSpec {
    name: "dualpi2",
    title: "DualPI2",
    family: "several queues",
    year: 2023,
    summary: "Coupled dual queue for L4S and classic traffic with a PI2 controller",
    source:
        "De Schepper, Briscoe, White: Dual-queue coupled AQM for L4S, RFC 9332, 2023; Linux net/sched/sch_dualpi2.c",
    file: include_str!("dualpi2.rs"),
    params: &[&PARAMS],
    check: &|values, _| {
        if values.flag(&PARAMS, "drop_early") && values.word(&PARAMS, "l_combine") == "max" {
            return Err(ParamError::new(
                "l_combine",
                "max",
                "\"separate\" or \"auto\" with drop_early: the decisions are taken at different times",
            ));
        }
        Ok(())
    },
    build: &|values, link, limit| {
        (SPEC.check)(values, link)?;
        let set = Settings::read(values, limit);
        Ok(Built::Discipline(Box::new(move |ecn, random| Box::new(DualPi2::new(set, ecn, random)))))
    },
    curve: None,
};

#[derive(Clone, Copy, Debug, PartialEq)]
enum LAqm {
    Step { threshold: f64 },
    StepPackets { threshold: u64 },
    Ramp { start: f64, range: f64, th_len: u64 },
    None,
}

#[derive(Clone, Copy, Debug)]
struct Settings {
    rfc: bool,
    target: f64,
    tupdate: f64,
    alpha: f64,
    beta: f64,
    k: f64,
    l_aqm: LAqm,
    /// One decision with the larger probability.
    combined: bool,
    min_qlen_step: u64,
    derandomise: bool,
    /// None: weighted round robin.
    tshift: Option<f64>,
    w_c: f64,
    min_backlog: f64,
    mtu: u32,
    drop_early: bool,
    drop_overload: bool,
    limit: Limit,
}

/// A gain that Linux takes in 1/256 Hz and rounds to its integers: nanoseconds of delay times this, by 64, are
/// probability in units of 1/(2^32 - 1).
fn linux_gain(per_256_hz: f64) -> f64 {
    const ONE: f64 = u32::MAX as f64;
    ((per_256_hz * ONE / 4.0).floor() / 1e9).floor() / 64.0 * 1e9 / ONE
}

impl Settings {
    fn read(values: &Values, limit: Limit) -> Self {
        let real = |name| values.real(&PARAMS, name);
        let rfc = values.word(&PARAMS, "dialect") == "rfc";
        // "auto" reads as NaN.
        let auto = |name, linux: f64, in_rfc: f64| match real(name) {
            given if given.is_nan() && rfc => in_rfc,
            given if given.is_nan() => linux,
            given => given,
        };
        let (target, rtt_max) = (real("target"), real("rtt_max"));
        let tupdate = auto("tupdate", 0.016, target.min(rtt_max / 3.0).max(LEAST_TUPDATE));
        let word = |name, linux, in_rfc| match values.word(&PARAMS, name) {
            "auto" if rfc => in_rfc,
            "auto" => linux,
            word => word,
        };
        let whole = |name| values.whole(&PARAMS, name) as u64;
        let drop_early = values.flag(&PARAMS, "drop_early");
        let mtu = whole("mtu") as u32;
        Settings {
            rfc,
            target,
            tupdate,
            alpha: auto("alpha", linux_gain(41.0), 0.1 * tupdate / (rtt_max * rtt_max)),
            beta: auto("beta", linux_gain(819.0), 0.3 / rtt_max),
            k: real("k"),
            l_aqm: match word("l_aqm", "step", "ramp") {
                "step" => LAqm::Step { threshold: real("step_threshold") },
                "step_packets" => LAqm::StepPackets { threshold: whole("step_length") },
                "ramp" => LAqm::Ramp { start: real("ramp_start"), range: real("ramp_range"), th_len: whole("th_len") },
                _ => LAqm::None,
            },
            combined: word("l_combine", "separate", "max") == "max" && !drop_early,
            min_qlen_step: whole("min_qlen_step"),
            derandomise: match values.given("derandomise") {
                Some(Value::Flag(given)) => given,
                _ => rfc,
            },
            tshift: (values.word(&PARAMS, "scheduler") == "tsfifo").then(|| real("tshift")),
            w_c: auto("classic_protection", 10.0, 6.25),
            min_backlog: auto("min_backlog", 2.0 * f64::from(mtu), 0.0),
            mtu,
            drop_early,
            drop_overload: values.flag(&PARAMS, "drop_overload"),
            limit,
        }
    }
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Queue {
    L,
    C,
}

/// What is remembered of a packet in L.
#[derive(Clone, Copy, Debug)]
struct Note {
    /// The step applies to it.
    step: bool,
    /// Marked here already.
    marked: bool,
}

/// The two queues and their controller.
pub struct DualPi2 {
    set: Settings,
    l: Ring,
    c: Ring,
    notes: VecDeque<Note>,
    p: f64,
    last_delay: f64,
    next_update: Time,
    /// Bytes times per cent; L's turn while it is not positive.
    credit: f64,
    /// recur()'s counters.
    l_count: f64,
    c_count: f64,
    ecn: bool,
    random: Generator,
    counters: Counters,
}

/// What a decision says about a packet.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Fate {
    Pass,
    Mark(Reason),
    Drop(Reason),
}

impl DualPi2 {
    fn new(set: Settings, ecn: bool, random: Generator) -> Self {
        let mut new = DualPi2 {
            set,
            l: Ring::new(),
            c: Ring::new(),
            notes: VecDeque::new(),
            p: 0.0,
            last_delay: 0.0,
            next_update: Time::from_seconds(set.tupdate),
            credit: 0.0,
            l_count: 0.0,
            c_count: 0.0,
            ecn,
            random,
            counters: Counters::default(),
        };
        new.reset_credit();
        new
    }

    fn p_c(&self) -> f64 {
        self.p * self.p
    }

    fn p_cl(&self) -> f64 {
        (self.set.k * self.p).min(1.0)
    }

    fn overloaded(&self, queue: Queue) -> bool {
        let k = self.set.k;
        self.set.drop_overload
            && match (self.set.rfc, queue) {
                (true, Queue::C) => self.p_c() >= (1.0 / (k * k)).min(1.0),
                (true, Queue::L) => self.p_cl() >= 1.0,
                (false, _) => k * self.p > 1.0,
            }
    }

    /// Whether enough waits for the coupled decision.
    fn acts(&self) -> bool {
        self.bytes() as f64 >= self.set.min_backlog
    }

    /// A hit with `probability`.
    fn hit(&mut self, queue: Queue, probability: f64) -> bool {
        if self.set.derandomise {
            let count = if queue == Queue::L { &mut self.l_count } else { &mut self.c_count };
            *count += probability;
            if *count > 1.0 {
                *count -= 1.0;
                return true;
            }
            return false;
        }
        let uniform = self.random.uniform();
        probability > 0.0 && uniform <= probability
    }

    /// A hit with p_C.
    fn hit_squared(&mut self, queue: Queue) -> bool {
        if self.set.derandomise {
            self.hit(queue, self.p_c())
        } else {
            self.hit(queue, self.p) && self.hit(queue, self.p)
        }
    }

    /// The coupled decision over a packet of `queue`, and in L the ramp's or step's if they are combined.
    fn coupled(&mut self, queue: Queue, native: f64) -> Fate {
        let overloaded = self.overloaded(queue);
        if queue == Queue::C {
            let (hit, reason) = (self.hit_squared(Queue::C), reason(self.p));
            return match (hit, overloaded) {
                (false, _) => Fate::Pass,
                (true, false) => Fate::Mark(reason),
                (true, true) => Fate::Drop(reason),
            };
        }
        if overloaded {
            let (hit, reason) = (self.hit_squared(Queue::L), reason(self.p));
            return if hit { Fate::Drop(reason) } else { Fate::Mark(Reason::Forced) };
        }
        let p_l = self.p_cl().max(native);
        if self.hit(Queue::L, p_l) {
            Fate::Mark(reason(p_l))
        } else {
            Fate::Pass
        }
    }

    /// The probability of L's own AQM for a packet that has just left L.
    fn native(&self, packet: &Packet, note: Note, now: Time) -> f64 {
        let sojourn = now - packet.enqueued;
        match self.set.l_aqm {
            LAqm::Step { threshold } => f64::from(note.step && sojourn > threshold),
            LAqm::StepPackets { threshold } => f64::from(note.step && self.l.packets() > threshold),
            LAqm::Ramp { th_len, .. } if self.l.packets() <= th_len => 0.0,
            LAqm::Ramp { start, range, .. } => ((sojourn - start) / range).clamp(0.0, 1.0),
            LAqm::None => 0.0,
        }
    }

    /// The decision of L's own AQM alone.
    fn native_alone(&mut self, native: f64) -> Fate {
        let certain = matches!(self.set.l_aqm, LAqm::Step { .. } | LAqm::StepPackets { .. });
        let hit = match self.set.l_aqm {
            LAqm::None => false,
            _ if certain => native > 0.0,
            _ => self.hit(Queue::L, native),
        };
        if hit {
            Fate::Mark(reason(native))
        } else {
            Fate::Pass
        }
    }

    /// Carries `fate` out on `packet`: the reason if it is dropped.
    fn carry_out(&mut self, fate: Fate, packet: &mut Packet, marked: &mut bool) -> Option<Reason> {
        match fate {
            Fate::Pass => None,
            Fate::Mark(_) if *marked => None,
            Fate::Mark(reason) => {
                *marked = self.counters.mark(packet, self.ecn);
                (!*marked).then_some(reason)
            }
            Fate::Drop(reason) => Some(reason),
        }
    }

    /// Whose turn it is, and what the credit changes by if the packet is sent.
    fn schedule(&self, now: Time) -> Option<(Queue, f64)> {
        let (l, c) = match (head(&self.l), head(&self.c)) {
            (None, None) => return None,
            (Some(_), None) => return Some((Queue::L, 0.0)),
            (None, Some(_)) => return Some((Queue::C, 0.0)),
            (Some(l), Some(c)) => (l, c),
        };
        let l_first = match self.set.tshift {
            Some(tshift) => (now - l.enqueued) + tshift >= now - c.enqueued,
            None => self.credit <= 0.0,
        };
        Some(if l_first {
            (Queue::L, self.set.w_c * f64::from(l.size))
        } else {
            (Queue::C, -(100.0 - self.set.w_c) * f64::from(c.size))
        })
    }

    fn reset_credit(&mut self) {
        self.credit = f64::from(self.set.mtu) * (self.set.w_c - (100.0 - self.set.w_c));
    }

    fn has_room(&self, packet: &Packet) -> bool {
        let (packets, bytes) = (self.packets(), self.bytes());
        match self.set.limit {
            Limit::Packets(n) => packets < n,
            // A packet that is larger than the MTU must fit all the same.
            Limit::Bytes(n) if self.set.rfc => bytes + u64::from(self.set.mtu.max(packet.size)) <= n,
            Limit::Bytes(n) => bytes + u64::from(packet.size) <= n,
        }
    }
}

fn reason(probability: f64) -> Reason {
    if probability < 1.0 {
        Reason::Early
    } else {
        Reason::Forced
    }
}

fn head(ring: &Ring) -> Option<&Packet> {
    ring.get(ring.serials().start)
}

impl Discipline for DualPi2 {
    fn enqueue(&mut self, mut packet: Packet, now: Time, on_drop: &mut OnDrop<'_>) -> Option<Admitted> {
        self.counters.arrivals += 1;
        self.counters.arrived_bytes += u64::from(packet.size);
        let queue = if packet.ecn as u8 & 1 == 1 { Queue::L } else { Queue::C };
        let before = packet.ecn;
        let mut marked = false;
        let mut refused = (!self.has_room(&packet)).then_some(Reason::Overflow);
        if refused.is_none() && self.set.drop_early && self.acts() {
            let fate = self.coupled(queue, 0.0);
            refused = self.carry_out(fate, &mut packet, &mut marked);
        }
        if let Some(reason) = refused {
            self.counters.drop(reason);
            on_drop(&packet, reason);
            return None;
        }
        packet.admit(now);
        if queue == Queue::L {
            self.notes.push_back(Note { step: self.l.packets() >= self.set.min_qlen_step, marked });
            self.l.push(packet);
        } else {
            self.c.push(packet);
        }
        Some(Admitted(packet.ecn != before))
    }

    fn dequeue(&mut self, now: Time, on_drop: &mut OnDrop<'_>) -> Option<Packet> {
        loop {
            let Some((queue, credit)) = self.schedule(now) else {
                self.reset_credit();
                return None;
            };
            let (mut packet, mut note) = match queue {
                Queue::L => (self.l.pop()?, self.notes.pop_front()?),
                Queue::C => (self.c.pop()?, Note { step: false, marked: false }),
            };
            let native = if queue == Queue::L { self.native(&packet, note, now) } else { 0.0 };
            let mut dropped = None;
            let coupled = !self.set.drop_early && self.acts();
            if coupled {
                let fate = self.coupled(queue, if self.set.combined { native } else { 0.0 });
                dropped = self.carry_out(fate, &mut packet, &mut note.marked);
            }
            if dropped.is_none() && queue == Queue::L && !(coupled && self.set.combined) {
                let fate = self.native_alone(native);
                dropped = self.carry_out(fate, &mut packet, &mut note.marked);
            }
            if let Some(reason) = dropped {
                self.counters.drop(reason);
                on_drop(&packet, reason);
                continue;
            }
            self.credit += credit;
            self.counters.depart(&packet);
            return Some(packet);
        }
    }

    fn packets(&self) -> u64 {
        self.l.packets() + self.c.packets()
    }

    fn bytes(&self) -> u64 {
        self.l.bytes() + self.c.bytes()
    }

    fn counters(&self) -> &Counters {
        &self.counters
    }

    fn reset_counters(&mut self) {
        self.counters = Counters::default();
    }

    fn next_timer(&self) -> Option<Time> {
        Some(self.next_update)
    }

    fn on_timer(&mut self, now: Time) {
        let age = |ring: &Ring| head(ring).map_or(0.0, |packet| now - packet.enqueued);
        let delay = age(&self.c).max(age(&self.l));
        let change = self.set.alpha * (delay - self.set.target) + self.set.beta * (delay - self.last_delay);
        let most = if self.set.drop_overload { 1.0 } else { (1.0 / self.set.k).min(1.0) };
        self.p = (self.p + change).clamp(0.0, most);
        self.last_delay = delay;
        self.next_update = self.next_update + self.set.tupdate;
    }

    /// p' as `p`, p_C, p_CL, the packets in each queue, and the credit (bytes times per cent).
    fn gauges(&self, out: &mut dyn FnMut(&'static str, f64)) {
        out("p", self.p);
        out("p_c", self.p_c());
        out("p_cl", self.p_cl());
        out("l_packets", self.l.packets() as f64);
        out("c_packets", self.c.packets() as f64);
        out("credit", self.credit);
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::Ecn;

    const RFC: (&str, Value) = ("dialect", Value::Choice("rfc"));

    fn at(seconds: f64) -> Time {
        Time::from_seconds(seconds)
    }

    fn dual(pairs: &[(&'static str, Value)], limit: Limit) -> DualPi2 {
        let mut values = Values::new();
        for &(name, value) in pairs {
            assert!(PARAMS.iter().any(|p| p.name == name && p.allows(value)), "{name} = {value}");
            values.set(name, value);
        }
        assert_eq!((SPEC.check)(&values, &crate::Link { rate_bps: 1e7, delay_s: 0.0 }), Ok(()));
        DualPi2::new(Settings::read(&values, limit), true, Generator::stream(1, "dualpi2"))
    }

    /// Random numbers from a script.
    fn scripted(queue: &mut DualPi2, numbers: &[f64]) {
        let mut numbers = VecDeque::from(numbers.to_vec());
        queue.random = Generator::custom(move || numbers.pop_front().expect("a draw that the rule does not make"));
    }

    fn packet(ecn: Ecn, size: u32) -> Packet {
        Packet { ecn, ..Packet::new(1, size) }
    }

    fn fill(queue: &mut DualPi2, ecn: Ecn, size: u32, packets: u32, now: f64) {
        for _ in 0..packets {
            assert!(queue.enqueue(packet(ecn, size), at(now), &mut |_, _| panic!("there is room")).is_some());
        }
    }

    /// 'L', 'C'; in lower case if marked. Drops are '-'.
    fn served(queue: &mut DualPi2, packets: usize, now: f64) -> String {
        let mut order = String::new();
        for _ in 0..packets {
            let mut lost = 0;
            let packet = queue.dequeue(at(now), &mut |_, _| lost += 1);
            order.extend(std::iter::repeat_n('-', lost));
            order.extend(packet.map(|p| match (p.tag, p.ecn) {
                (0, Ecn::Ce) => 'l',
                (0, Ecn::Ect1) => 'L',
                (_, Ecn::Ce) => 'c',
                _ => 'C',
            }));
        }
        order
    }

    #[test]
    fn coupling() {
        for (p, p_c, p_cl, overloaded) in
            [(0.1, 0.01, 0.2, false), (0.5, 0.25, 1.0, true), (0.499, 0.249001, 0.998, false)]
        {
            let mut rfc = dual(&[RFC], Limit::Packets(100));
            let mut linux = dual(&[], Limit::Packets(100));
            (rfc.p, linux.p) = (p, p);
            assert!((rfc.p_c() - p_c).abs() < 1e-15 && (rfc.p_cl() - p_cl).abs() < 1e-15);
            assert_eq!([Queue::L, Queue::C].map(|queue| rfc.overloaded(queue)), [overloaded; 2]);
            assert!(!linux.overloaded(Queue::C), "Linux: above the point, not at it");
            linux.p = 0.500_001;
            assert!(linux.overloaded(Queue::C) && linux.overloaded(Queue::L));
        }
    }

    /// Ages of the older head 20, 20, 25, 15, 10 ms.
    #[test]
    fn timer() {
        let gains = [("alpha", Value::Real(0.16)), ("beta", Value::Real(3.2))];
        for (pairs, want, error) in [
            (&[RFC][..], [0.06075, 0.0615, 0.078, 0.048, 0.03225], 1e-12),
            (&gains[..], [0.0648, 0.0656, 0.0832, 0.0512, 0.0344], 1e-12),
            (&[][..], [0.064756, 0.065556, 0.083146, 0.051168, 0.034379], 6e-7),
        ] {
            let mut queue = dual(pairs, Limit::Packets(100));
            for (i, (age, want)) in [0.02, 0.02, 0.025, 0.015, 0.01].into_iter().zip(want).enumerate() {
                let now = 1.0 + i as f64;
                (queue.l, queue.c) = (Ring::new(), Ring::new());
                // The older head is in the one queue and then in the other.
                let (older, younger) =
                    if i % 2 == 0 { (&mut queue.c, &mut queue.l) } else { (&mut queue.l, &mut queue.c) };
                older.push(Packet { enqueued: at(now - age), ..Packet::new(1, 100) });
                older.push(Packet { enqueued: at(now), ..Packet::new(1, 100) });
                younger.push(Packet { enqueued: at(now - 0.5 * age), ..Packet::new(1, 100) });
                queue.on_timer(at(now));
                assert!((queue.p - want).abs() < error, "{pairs:?} update {i}: {} not {want}", queue.p);
            }
            (queue.l, queue.c) = (Ring::new(), Ring::new());
            queue.on_timer(at(9.0));
            assert_eq!((queue.p, queue.last_delay), (0.0, 0.0), "an empty queue has no delay");
        }
    }

    #[test]
    fn timer_period_and_gains_of_the_dialects() {
        let rfc = dual(&[RFC], Limit::Packets(9)).set;
        assert!(
            (rfc.tupdate - 0.015).abs() < 1e-15 && (rfc.alpha - 0.15).abs() < 1e-12 && (rfc.beta - 3.0).abs() < 1e-12
        );
        let short = dual(&[RFC, ("rtt_max", Value::Real(0.03))], Limit::Packets(9)).set;
        assert!((short.tupdate - 0.01).abs() < 1e-15);
        assert_eq!(dual(&[RFC, ("target", Value::Real(0.0))], Limit::Packets(9)).set.tupdate, LEAST_TUPDATE);
        let linux = dual(&[], Limit::Packets(9)).set;
        assert!((linux.alpha - 0.160071).abs() < 5e-7 && (linux.beta - 3.197783).abs() < 5e-7, "{linux:?}");
        let mut queue = dual(&[], Limit::Packets(9));
        assert_eq!(queue.next_timer(), Some(at(0.016)));
        queue.on_timer(at(0.016));
        assert_eq!(queue.next_timer(), Some(at(0.016) + 0.016));
    }

    #[test]
    fn the_probability_stays_between_0_and_1_or_1_over_k() {
        for (drop_overload, most) in [(true, 1.0), (false, 0.5)] {
            let mut queue = dual(&[("drop_overload", Value::Flag(drop_overload))], Limit::Packets(9));
            fill(&mut queue, Ecn::NotEct, 100, 1, 0.0);
            for i in 1..100 {
                queue.on_timer(at(f64::from(i)));
            }
            assert_eq!(queue.p, most);
        }
    }

    #[test]
    fn recur_hits_where_it_should() {
        let hits = |x: f64, packets: usize| {
            let mut queue = dual(&[RFC], Limit::Packets(9));
            (1..=packets).filter(|_| queue.hit(Queue::C, x)).collect::<Vec<_>>()
        };
        assert_eq!(hits(0.25, 19), [5, 9, 13, 17]);
        assert_eq!(hits(0.75, 11), [2, 3, 5, 6, 7, 9, 10, 11]);
        assert_eq!(hits(0.4, 18), [3, 5, 8, 10, 13, 15, 18]);
        assert_eq!(hits(1.0, 4), [2, 3, 4]);
        assert!(hits(0.0, 100).is_empty());
        let mut queue = dual(&[RFC], Limit::Packets(9));
        for _ in 0..3 {
            queue.hit(Queue::C, 0.25);
            assert!(!queue.hit(Queue::L, 0.25), "each queue has its own counter");
        }
    }

    #[test]
    fn ramp() {
        let mut queue = dual(&[RFC], Limit::Packets(99));
        fill(&mut queue, Ecn::Ect1, 100, 2, 0.0);
        let note = Note { step: true, marked: false };
        for (ms, want) in [(0.0, 0.0), (0.8, 0.0), (0.9, 0.25), (1.0, 0.5), (1.1, 0.75), (1.2, 1.0), (5.0, 1.0)] {
            let native = queue.native(&packet(Ecn::Ect1, 100), note, at(ms * 1e-3));
            assert!((native - want).abs() < 1e-9, "{ms} ms: {native}");
        }
        queue.l.pop();
        assert_eq!(
            queue.native(&packet(Ecn::Ect1, 100), note, at(5e-3)),
            0.0,
            "one packet left is not more than th_len"
        );
    }

    #[test]
    fn step_in_time_and_in_packets() {
        let threshold = 1.0 / 1024.0;
        for (sojourn, marked) in [(threshold * 0.999, "L"), (threshold, "L"), (threshold * 1.001, "l")] {
            let mut queue = dual(&[("step_threshold", Value::Real(threshold))], Limit::Packets(99));
            fill(&mut queue, Ecn::Ect1, 100, 1, 0.0);
            assert_eq!(served(&mut queue, 1, sojourn), marked, "{sojourn}");
        }
        let packets = [("l_aqm", Value::Choice("step_packets")), ("step_length", Value::Whole(2))];
        let mut queue = dual(&packets, Limit::Packets(99));
        fill(&mut queue, Ecn::Ect1, 100, 5, 0.0);
        assert_eq!(served(&mut queue, 5, 0.0), "llLLL", "those that leave more than 2 behind");
        let spared = [packets[0], packets[1], ("min_qlen_step", Value::Whole(1))];
        let mut queue = dual(&spared, Limit::Packets(99));
        fill(&mut queue, Ecn::Ect1, 100, 5, 0.0);
        assert_eq!(served(&mut queue, 5, 0.0), "LlLLL", "the first found none");
    }

    /// MTU 1514, weights 10 and 90.
    #[test]
    fn weighted_round_robin() {
        let backlogged = |c_size: u32| {
            let mut queue = dual(&[("l_aqm", Value::Choice("none"))], Limit::Packets(10_000));
            for _ in 0..200 {
                queue.enqueue(packet(Ecn::Ect1, 1500), at(0.0), &mut |_, _| {});
                queue.enqueue(Packet { tag: 1, ..packet(Ecn::NotEct, c_size) }, at(0.0), &mut |_, _| {});
            }
            queue
        };
        let mut equal = backlogged(1500);
        // The credit starts at -80 MTU, and L is served while it is not positive: 80*1514/(10*1500) = 8.07 packets.
        assert_eq!(served(&mut equal, 30, 0.0), "LLLLLLLLLCLLLLLLLLLCLLLLLLLLLC");
        let mut small = backlogged(500);
        assert_eq!(served(&mut small, 22, 0.0), "LLLLLLLLLCLLLCLLLCLLLC");
        let mut alone = dual(&[], Limit::Packets(10_000));
        fill(&mut alone, Ecn::Ect1, 1500, 5, 0.0);
        let credit = alone.credit;
        assert_eq!(credit, -80.0 * 1514.0);
        served(&mut alone, 5, 0.0);
        assert_eq!(alone.credit, credit, "nobody pays while the other queue is empty");
        small.credit = 7.0;
        served(&mut small, 1000, 0.0);
        assert_eq!(small.credit, credit, "an empty link starts anew");
        let rfc = dual(&[RFC], Limit::Packets(9));
        assert_eq!(rfc.credit, 1514.0 * (6.25 - 93.75));
    }

    #[test]
    fn time_shifted_fifo() {
        let pairs =
            [("scheduler", Value::Choice("tsfifo")), ("tshift", Value::Real(0.0625)), ("l_aqm", Value::Choice("none"))];
        for (l_arrives, order) in [(1.0625, "LC"), (1.0626, "CL"), (1.0, "LC")] {
            let mut queue = dual(&pairs, Limit::Packets(9));
            queue.enqueue(Packet { tag: 1, ..packet(Ecn::NotEct, 100) }, at(1.0), &mut |_, _| {});
            fill(&mut queue, Ecn::Ect1, 100, 1, l_arrives);
            assert_eq!(served(&mut queue, 2, 2.0), order, "L at {l_arrives}");
        }
    }

    /// What becomes of one C packet and one L packet with given draws, in Linux' dialect.
    #[test]
    fn draws_in_order() {
        let enough = ("min_backlog", Value::Real(0.0));
        let (c, l) = (packet(Ecn::NotEct, 100), packet(Ecn::Ect1, 100));
        let ect0 = packet(Ecn::Ect0, 100);
        for (p, arrival, numbers, left, dropped) in [
            (0.3, c, &[0.31][..], Some(Ecn::NotEct), None),
            (0.3, c, &[0.30, 0.31], Some(Ecn::NotEct), None),
            (0.3, c, &[0.29, 0.30], None, Some(Reason::Early)),
            (0.3, ect0, &[0.29, 0.30], Some(Ecn::Ce), None),
            (0.3, l, &[0.61], Some(Ecn::Ect1), None),
            (0.3, l, &[0.60], Some(Ecn::Ce), None),
            (0.5, ect0, &[0.5, 0.5], Some(Ecn::Ce), None),
            (0.6, ect0, &[0.5, 0.5], None, Some(Reason::Early)),
            (0.6, l, &[0.5, 0.5], None, Some(Reason::Early)),
            (0.6, l, &[0.61], Some(Ecn::Ce), None),
            (1.0, l, &[0.99, 1.0], None, Some(Reason::Forced)),
            (0.0, c, &[0.0], Some(Ecn::NotEct), None),
        ] {
            for drop_early in [false, true] {
                let mut queue = dual(&[enough, ("drop_early", Value::Flag(drop_early))], Limit::Packets(9));
                queue.p = p;
                scripted(&mut queue, numbers);
                let mut lost = None;
                queue.enqueue(arrival, at(0.0), &mut |_, reason| lost = Some(reason));
                assert_eq!(queue.packets() == 0, drop_early && dropped.is_some());
                let packet = queue.dequeue(at(0.0), &mut |_, reason| lost = Some(reason));
                assert_eq!((packet.map(|p| p.ecn), lost), (left, dropped), "p' = {p}, {:?}, {drop_early}", arrival.ecn);
            }
        }
    }

    #[test]
    fn nothing_happens_to_a_short_queue_but_the_step() {
        // Two packets of 1514 B behind it are enough for linux, a byte less is not.
        for (behind, order) in [(3028, "-C"), (3027, "C")] {
            let mut queue = dual(&[], Limit::Packets(9));
            queue.p = 1.0;
            for size in [100, behind - 1000, 1000] {
                queue.enqueue(Packet { tag: 1, ..packet(Ecn::NotEct, size) }, at(0.0), &mut |_, _| {});
            }
            assert_eq!(served(&mut queue, 1, 0.0), order, "{behind} B");
        }
        for pairs in [&[][..], &[("l_combine", Value::Choice("max"))], &[("drop_early", Value::Flag(true))]] {
            let mut queue = dual(pairs, Limit::Packets(9));
            queue.p = 1.0;
            fill(&mut queue, Ecn::Ect1, 100, 2, 0.0);
            scripted(&mut queue, &[]);
            assert_eq!(served(&mut queue, 2, 0.0005) + &served(&mut queue, 1, 0.0), "LL");
            fill(&mut queue, Ecn::Ect1, 100, 1, 1.0);
            assert_eq!(served(&mut queue, 1, 1.002), "l", "{pairs:?}");
        }
    }

    #[test]
    fn rfc_combines_both_probabilities_in_one_decision() {
        let mut queue = dual(&[RFC, ("derandomise", Value::Flag(false))], Limit::Packets(99));
        queue.p = 0.3;
        fill(&mut queue, Ecn::Ect1, 100, 6, 0.0);
        // 1 ms: the ramp says 0.5, the coupling 0.6. 1.1 ms: 0.75.
        scripted(&mut queue, &[0.61, 0.59, 0.74, 0.76]);
        assert_eq!(served(&mut queue, 2, 0.001) + &served(&mut queue, 2, 0.0011), "LllL");
        queue.p = 0.5;
        scripted(&mut queue, &[0.51, 0.5, 0.51, 0.5, 0.5]);
        assert_eq!(served(&mut queue, 2, 0.0011), "ll", "overloaded: marked unless dropped");
    }

    #[test]
    fn without_marking_signals_are_drops() {
        let mut queue = dual(&[], Limit::Packets(9));
        queue.ecn = false;
        fill(&mut queue, Ecn::Ect1, 100, 2, 0.0);
        assert_eq!(served(&mut queue, 1, 0.002), "--");
        assert_eq!((queue.counters.forced_drops, queue.counters.marks), (2, 0));
    }

    #[test]
    fn a_packet_that_both_mark_counts_once() {
        let mut queue = dual(&[("min_backlog", Value::Real(0.0))], Limit::Packets(9));
        queue.p = 0.5;
        scripted(&mut queue, &[0.5]);
        fill(&mut queue, Ecn::Ect1, 100, 1, 0.0);
        assert_eq!(served(&mut queue, 1, 0.002), "l");
        assert_eq!(queue.counters.marks, 1);
    }

    #[test]
    fn room() {
        // rfc keeps an MTU of 1514 B free: the last of eleven finds 1500 B of 3120 B. A larger packet must fit all the same.
        for (pairs, held) in [(&[][..], 20), (&[RFC][..], 11), (&[RFC, ("mtu", Value::Whole(100))][..], 20)] {
            let mut queue = dual(pairs, Limit::Bytes(3120));
            let mut lost = 0;
            for i in 0..40 {
                let ecn = if i % 2 == 0 { Ecn::Ect1 } else { Ecn::NotEct };
                queue
                    .enqueue(packet(ecn, 150), at(0.0), &mut |_, reason| lost += u64::from(reason == Reason::Overflow));
            }
            assert_eq!((queue.packets(), lost), (held, 40 - held), "{pairs:?}");
        }
        let mut queue = dual(&[RFC], Limit::Packets(3));
        fill(&mut queue, Ecn::Ect1, 1500, 2, 0.0);
        fill(&mut queue, Ecn::NotEct, 1500, 1, 0.0);
        assert_eq!(queue.enqueue(packet(Ecn::Ect1, 40), at(0.0), &mut |_, _| {}), None, "both share it");
    }
}
