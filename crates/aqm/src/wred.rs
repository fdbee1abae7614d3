//! # WRED
//!
//! ## What it does
//! Weighted RED: one average for all packets, a drop curve for each precedence `i` (the packet's class, 0 to 7):
//!
//! | average | arrival of precedence i |
//! |---|---|
//! | `avg < min_th_i` | admitted |
//! | `min_th_i <= avg < max_th_i` | dropped with probability `max_p_i (avg - min_th_i)/(max_th_i - min_th_i)` |
//! | `max_th_i <= avg` | dropped |
//!
//! The average is `avg := avg (1 - w_q) + q w_q` at every arrival. With ECN, drops between the thresholds are marks.
//! A precedence with a weight of its own, `w_q_i`, has an average of its own over the same queue.
//!
//! ## Source
//! Cisco Systems, "Weighted random early detection on the Cisco 12000 series router" and IOS quality-of-service guides.
//! The thresholds of precedence 0 (20, 40, mark probability denominator 10) are from the vendor's pages, those of the
//! others known from the literature. [paper?]
//!
//! ## Differences
//! 1. Cisco gives the exponential weighting constant n, 9 by default: `w_q` = 2^-n. Cisco's mark probability
//!    denominator is 10: `max_p_i` is its reciprocal.
//! 2. The vendor documents no spacing of drops, so every packet is drawn independently; `spacing = "uniform"` is RED's,
//!    with a count for each precedence. (reconstruction)
//! 3. The vendor does not say how the average decays while the link is idle. Here, as in ns-2's RED, once per packet of
//!    `mean_packet` bytes that the link could have sent, and then the update with the queue found. (reconstruction)
//! 4. Routers have a ninth row, min 37, for packets of an RSVP reservation. A packet here carries precedences 0 to 7
//!    only.
//! 5. There is no gentle part, and lengths are packets.
//! 6. The weight of a precedence: routers that keep groups of thresholds (`random-detect-group`, `cos-queue-group`)
//!    give each group its own constant n. There a group is a queue; here the precedences share one queue, and each
//!    average with its own weight sees the whole queue. (reconstruction)
//! 7. One random number is drawn for each arrival between its thresholds.
//!
//! ## Example
//! ```
//! use earlydrop_aqm::{catalogue, gate::Gate, params::{Value, Values}, policy::Limit, random::Generator};
//! use earlydrop_aqm::{discipline::Fifo, Discipline, Packet, Time};
//!
//! let link = catalogue::Link { rate_bps: 10e6, delay_s: 0.01 };
//! let mut values = Values::new();
//! values.set("w_q", Value::Real(1.0));
//! let limit = Limit::Packets(100);
//! let catalogue::Built::Policy(policy) = (catalogue::find("wred").unwrap().build)(&values, &link, limit).unwrap()
//!     else { unreachable!() };
//! let mut queue = Fifo::new(Gate::new(policy, limit, false, Generator::custom(|| 0.05)));
//! let mut admitted = |class| {
//!     let packet = Packet { class, ..Packet::new(1, 1000) };
//!     queue.enqueue(packet, Time::ZERO, &mut |_, _| {}).is_some()
//! };
//! // p reaches the random number 0.05 half-way between the thresholds: at 30 packets for precedence 0, 38 for 7.
//! assert_eq!((0..40).filter(|_| admitted(0)).count(), 30);
//! assert_eq!((0..40).filter(|_| admitted(7)).count(), 8);
//! ```

use crate::catalogue::{AqmSpec, Built, Link};
use crate::default_limit::DefaultLimit;
use crate::early_detection::ns2::Average;
use crate::params::{words, Kind, Param, ParamError, Unit, Value, Values, Word};
use crate::parts::spacing;
use crate::policy::{Context, Policy, QueueView, Reason, Verdict};
use crate::Packet;

const CLASSES: usize = 8;

const LOWER: &str = "Average queue from which arrivals of this precedence are dropped by chance, packets.";
const UPPER: &str = "Average queue from which all arrivals of this precedence are dropped, packets.";

const fn threshold(name: &'static str, packets: f64, source: &'static str, doc: &'static str) -> Param {
    Param::real(name, Unit::QueueLength, Kind::real(0.0, f64::INFINITY), packets).says(source, doc)
}

const fn max_p(name: &'static str) -> Param {
    Param::real(name, Unit::None, Kind::real(0.0, 1.0), 0.1).symbol("max_p").says(
        "Cisco: mark probability denominator 10",
        "Drop probability of this precedence just below its upper threshold.",
    )
}

/// Three parameters for each precedence, from the table of lower thresholds.
macro_rules! precedences {
    ($($min_th:literal, $max_th:literal, $max_p:literal: $packets:literal, $source:literal;)*) => {
        [$(
            Param { symbol: "min_{th}", ..threshold($min_th, $packets, $source, LOWER) },
            Param { symbol: "max_{th}", ..threshold($max_th, 40.0, "Cisco IOS", UPPER) },
            max_p($max_p),
        )*]
    };
}

const fn weight(name: &'static str) -> Param {
    Param::new(name, Unit::None, Kind::above(0.0, 1.0).or_auto(), Value::Auto).symbol("w_q").says(
        "our choice; Cisco: one for each group of thresholds",
        "Weight of a new sample in this precedence's own average; \"auto\": the common one.",
    )
}

/// The weight of each precedence.
const WEIGHTS: [Param; CLASSES] = [
    weight("w_q_0"),
    weight("w_q_1"),
    weight("w_q_2"),
    weight("w_q_3"),
    weight("w_q_4"),
    weight("w_q_5"),
    weight("w_q_6"),
    weight("w_q_7"),
];

const PRECEDENCES: [Param; 3 * CLASSES] = precedences! {
    "min_th_0", "max_th_0", "max_p_0": 20.0, "Cisco IOS";
    "min_th_1", "max_th_1", "max_p_1": 22.0, "Cisco IOS, from the literature";
    "min_th_2", "max_th_2", "max_p_2": 24.0, "Cisco IOS, from the literature";
    "min_th_3", "max_th_3", "max_p_3": 26.0, "Cisco IOS, from the literature";
    "min_th_4", "max_th_4", "max_p_4": 28.0, "Cisco IOS, from the literature";
    "min_th_5", "max_th_5", "max_p_5": 31.0, "Cisco IOS, from the literature";
    "min_th_6", "max_th_6", "max_p_6": 33.0, "Cisco IOS, from the literature";
    "min_th_7", "max_th_7", "max_p_7": 35.0, "Cisco IOS, from the literature";
};

words! {
    /// How a probability becomes drops.
    enum Spacing {
        /// Each packet is drawn independently.
        Independent = "independent",
        /// By RED's count of packets since the last drop.
        Uniform = "uniform",
    }
}

const COMMON: [Param; 3] = [
    Param::real("w_q", Unit::None, Kind::above(0.0, 1.0), 1.0 / 512.0)
        .symbol("w_q")
        .says("Cisco: exponential weighting constant 9, which is 2^-9", "Weight of a new sample in the average."),
    Param::word("spacing", Spacing::WORDS, "independent").says(
        "our choice; the vendor documents none",
        "Each packet drawn independently, or RED's count of packets since the last drop, one for each precedence.",
    ),
    Param::real("mean_packet", Unit::Bytes, Kind::real(1.0, 65535.0), 500.0)
        .symbol("L_m")
        .says("ns-2.35, ns-3", "Mean packet size: sets the decay of the average while the link is idle."),
];

/// The declaration.
pub const SPEC: AqmSpec = AqmSpec {
    summary: "Weighted RED: one average, and thresholds of its own for each precedence",
    source: "Cisco Systems: Weighted random early detection on the Cisco 12000 series router",
    params: &[&COMMON, &PRECEDENCES, &WEIGHTS],
    limit: DefaultLimit::RED,
    check: &|values, link| Rules::read(values, link).map(|_| ()),
    build: &|values, link, _| Ok(Built::Policy(Box::new(Wred::new(&Rules::read(values, link)?)))),
    ..AqmSpec::named("wred", "WRED", "classes", 1998)
};

/// The curve of one precedence.
#[derive(Clone, Copy, Debug, Default)]
struct Line {
    /// Lower threshold, packets.
    min_th: f64,
    /// Upper threshold, packets.
    max_th: f64,
    /// Probability just below the upper threshold.
    max_p: f64,
}

impl Line {
    fn base_probability(&self, average: f64) -> f64 {
        if average < self.min_th {
            0.0
        } else if average < self.max_th {
            (average - self.min_th) / (self.max_th - self.min_th) * self.max_p
        } else {
            1.0
        }
    }
}

/// A precedence.
#[derive(Clone, Copy, Debug)]
struct Class {
    /// The precedence's curve.
    line: Line,
    /// Packets of the precedence since its last drop; -1 below its lower threshold.
    count: i64,
}

/// The policy.
pub struct Wred {
    /// The precedences.
    classes: [Class; CLASSES],
    /// The average that precedences without their own share, packets.
    average: Average,
    /// Averages of precedences with a weight of their own.
    own: Vec<(u8, Average)>,
    /// How a probability becomes drops.
    spacing: Spacing,
    /// p_b of the last arrival.
    p_b: f64,
}

/// The parameters after checking.
struct Rules {
    /// The curve of each precedence.
    lines: [Line; CLASSES],
    /// Weight of a new sample in the average.
    w_q: f64,
    /// Precedences with a weight of their own.
    weights: Vec<(u8, f64)>,
    /// What the link can send, packets/s: the average's decay while idle.
    packets_per_second: f64,
    /// How a probability becomes drops.
    spacing: Spacing,
}

impl Rules {
    fn read(values: &Values, link: &Link) -> Result<Rules, ParamError> {
        let mut lines = [Line::default(); CLASSES];
        for (line, declared) in lines.iter_mut().zip(PRECEDENCES.chunks_exact(3)) {
            for param in declared {
                if let Value::QueueBytes(bytes) = values.get(param) {
                    return Err(ParamError::new(
                        param.name,
                        format!("{bytes} B"),
                        "packets: WRED does not count bytes",
                    ));
                }
            }
            let real = |param: &Param| values.real(declared, param.name);
            (line.min_th, line.max_th, line.max_p) = (real(&declared[0]), real(&declared[1]), real(&declared[2]));
            if line.max_th < line.min_th {
                let allowed = format!("at least {} ({})", declared[0].name, line.min_th);
                return Err(ParamError::new(declared[1].name, line.max_th, allowed));
            }
        }
        Ok(Rules {
            lines,
            w_q: values.real(&COMMON, "w_q"),
            weights: (0_u8..)
                .zip(&WEIGHTS)
                .filter_map(|(class, param)| Some((class, values.number(&WEIGHTS, param.name)?)))
                .collect(),
            packets_per_second: link.rate_bps / (8.0 * values.real(&COMMON, "mean_packet")),
            spacing: values.choice(&COMMON, "spacing"),
        })
    }
}

impl Wred {
    fn new(rules: &Rules) -> Self {
        let classes = rules.lines.map(|line| Class { line, count: -1 });
        let average = Average::new(rules.w_q, rules.packets_per_second);
        let own = rules.weights.iter().map(|&(class, w_q)| (class, Average::new(w_q, rules.packets_per_second)));
        Wred { classes, average, own: own.collect(), spacing: rules.spacing, p_b: 0.0 }
    }
}

impl Policy for Wred {
    fn on_enqueue(&mut self, packet: &Packet, queue: &QueueView<'_>, cx: &mut Context<'_>) -> Verdict {
        let mut average = self.average.observe(queue.packets as f64, queue.idle_since, cx.now);
        for (class, own) in &mut self.own {
            let seen = own.observe(queue.packets as f64, queue.idle_since, cx.now);
            if *class == packet.class % CLASSES as u8 {
                average = seen;
            }
        }
        let class = &mut self.classes[usize::from(packet.class) % CLASSES];
        self.p_b = class.line.base_probability(average);
        if average < class.line.min_th {
            class.count = -1;
            return Verdict::Pass;
        }
        if average >= class.line.max_th {
            class.count = 0;
            return Verdict::Drop(Reason::Forced);
        }
        class.count += 1;
        let p = match self.spacing {
            Spacing::Independent => self.p_b,
            Spacing::Uniform => spacing::uniform(self.p_b, class.count as f64),
        };
        let uniform = cx.random.uniform();
        if p > 0.0 && uniform <= p {
            class.count = 0;
            return Verdict::Signal(Reason::Early);
        }
        Verdict::Pass
    }

    fn average(&self) -> Option<f64> {
        Some(self.average.value())
    }

    fn gauges(&self, out: &mut dyn FnMut(&'static str, f64)) {
        out("avg", self.average.value());
        out("p_b", self.p_b);
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::prelude::*;

    const LINK: Link = Link { rate_bps: 10e6, delay_s: 0.01 };

    fn wred(pairs: &[(&'static str, Value)]) -> Result<Wred, ParamError> {
        let values = Values::of(pairs);
        Rules::read(&values, &LINK).map(|rules| Wred::new(&rules))
    }

    /// The verdict on a packet of `class` that finds `packets`, with the random number `uniform`.
    fn arrive(policy: &mut Wred, class: u8, packets: u64, uniform: f64) -> Verdict {
        let (mut random, mut victims) = (Generator::custom(move || uniform), Vec::new());
        let mut cx = Context { now: Time::ZERO, ecn: true, has_room: true, random: &mut random, victims: &mut victims };
        let queue = QueueView { packets, bytes: 1000 * packets, idle_since: None, contents: None };
        policy.on_enqueue(&Packet { class, ..Packet::new(1, 1000) }, &queue, &mut cx)
    }

    #[test]
    fn average_of_512_arrivals_that_find_40() {
        let mut policy = wred(&[]).unwrap();
        for _ in 0..512 {
            arrive(&mut policy, 0, 40, 1.0);
        }
        assert!((policy.average.value() - 25.299).abs() < 5e-4, "{}", policy.average.value());
    }

    #[test]
    fn a_precedence_with_a_weight_of_its_own_has_its_own_average() {
        let mut policy = wred(&[("w_q_3", Value::Real(1.0))]).unwrap();
        assert_eq!(arrive(&mut policy, 0, 40, 1.0), Verdict::Pass, "the common average is 40/512");
        assert_eq!(arrive(&mut policy, 3, 40, 1.0), Verdict::Drop(Reason::Forced), "the other is 40");
        assert_eq!(arrive(&mut policy, 0, 40, 1.0), Verdict::Pass);
        assert_eq!(arrive(&mut policy, 3, 0, 1.0), Verdict::Pass, "it sees every arrival");
    }

    #[test]
    fn probabilities_at_36_by_precedence() {
        let policy = wred(&[]).unwrap();
        for (class, want) in [(0, 0.08), (3, 0.071_428_6), (7, 0.02)] {
            let p = policy.classes[class].line.base_probability(36.0);
            assert!((p - want).abs() < 1e-7, "precedence {class}: {p}");
        }
        let lower = policy.classes.map(|class| class.line.min_th);
        assert_eq!(lower, [20.0, 22.0, 24.0, 26.0, 28.0, 31.0, 33.0, 35.0]);
    }

    #[test]
    fn each_precedence_has_thresholds_of_its_own() {
        let mut policy = wred(&[("w_q", Value::Real(1.0))]).unwrap();
        for (class, min_th) in [(0, 20), (4, 28), (7, 35)] {
            assert_eq!(arrive(&mut policy, class, min_th, 0.0), Verdict::Pass, "p is 0 at the threshold");
            assert_eq!(arrive(&mut policy, class, min_th + 1, 0.0), Verdict::Signal(Reason::Early));
            assert_eq!(arrive(&mut policy, class, 39, 0.1), Verdict::Pass, "p is below max_p");
            assert_eq!(arrive(&mut policy, class, 40, 1.0), Verdict::Drop(Reason::Forced));
        }
        assert_eq!(arrive(&mut policy, 12, 29, 0.0), Verdict::Signal(Reason::Early), "12 is 4");
    }

    #[test]
    fn uniform_spacing_counts_by_precedence() {
        let given = [("w_q", Value::Real(1.0)), ("spacing", Value::Choice("uniform"))];
        let mut policy = wred(&given).unwrap();
        // At 30 packets p_b is 0.05 for precedence 0: u = 0.09 hits the tenth packet, p_a = 0.05/(1 - 9 * 0.05).
        let hit = |policy: &mut Wred| (1..30).find(|_| arrive(policy, 0, 30, 0.09) != Verdict::Pass).unwrap();
        assert_eq!(hit(&mut policy), 10);
        assert_eq!(hit(&mut policy), 9, "the count begins at 0 after a drop and at -1 before the first");
        for _ in 0..5 {
            assert_eq!(arrive(&mut policy, 0, 30, 0.09), Verdict::Pass);
            assert_eq!(arrive(&mut policy, 1, 31, 0.99), Verdict::Pass);
        }
        assert_eq!(hit(&mut policy), 4);
        arrive(&mut policy, 0, 10, 0.09);
        assert_eq!(hit(&mut policy), 10, "below the threshold it forgets");
    }

    #[test]
    fn thresholds_that_do_not_fit_together_are_refused() {
        let fault = |pairs: &[_]| wred(pairs).err().map(|error| error.name);
        assert_eq!(fault(&[("max_th_3", Value::Real(25.9))]), Some("max_th_3"));
        assert_eq!(fault(&[("min_th_2", Value::QueueBytes(9000.0))]), Some("min_th_2"));
        // A curve that is a step: certain drops from 26 on.
        let mut step = wred(&[("max_th_3", Value::Real(26.0)), ("w_q", Value::Real(1.0))]).unwrap();
        assert_eq!(arrive(&mut step, 3, 25, 0.0), Verdict::Pass);
        assert_eq!(arrive(&mut step, 3, 26, 1.0), Verdict::Drop(Reason::Forced));
    }

    /// Independent draws: with p = 0.05 the number of drops in 100,000 arrivals is binomial, mean 5000, standard
    /// deviation 69. Five of these are a false alarm once in a million.
    #[test]
    fn independent_drops_come_at_their_rate() {
        let mut policy = wred(&[("w_q", Value::Real(1.0))]).unwrap();
        let mut random = Generator::stream(1, "wred");
        let drops = (0..100_000).filter(|_| arrive(&mut policy, 0, 30, random.uniform()) != Verdict::Pass).count();
        assert!((4655..5345).contains(&drops), "{drops}");
    }
}
