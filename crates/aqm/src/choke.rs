//! # CHOKe
//!
//! ## What it does
//! Each arrival is compared with a packet drawn at random from the queue, once the average is above `min_th`. If both
//! are of one flow, both are dropped: a flow that fills the queue meets itself. It keeps no state for flows.
//!
//! | average | rule |
//! |---|---|
//! | `avg <= min_th` | admit |
//! | `avg > min_th` | draw `m` waiting packets; those of the arrival's flow are dropped, and the arrival with them |
//! | then `min_th < avg <= max_th` | RED: `p_b = max_p (avg - min_th)/(max_th - min_th)`, spaced |
//! | then `avg > max_th` | drop |
//!
//! ## Source
//! R. Pan, B. Prabhakar, K. Psounis, "CHOKe: a stateless active queue management scheme for approximating fair
//! bandwidth allocation", INFOCOM 2000. Theory: A. Tang, J. Wang, S. H. Low, "Understanding CHOKe", INFOCOM 2003.
//! Dialect linux: `net/sched/sch_choke.c`. We had no readable copy of the first paper: its rule is taken from the
//! kernel's commit message and code and from the FLoadAutoRED chapter, which agree but for the ends (item 1).
//!
//! ## Differences
//! 1. At the thresholds: the kernel's commit message admits below `min_th` and drops above `max_th`; its code, and both
//!    dialects here, admit at `min_th` too. RED tests from `min_th` on and drops at `max_th`.
//! 2. linux: the average is the kernel's fixed-point one, in packets; its whole packets above `min_th`, times the
//!    count, are compared with a random number drawn once per drop, as in the kernel. Above `max_th` a packet that can
//!    be marked is marked (`ecn_over_max = "drop"` is the kernel's `harddrop`). The range of that random number,
//!    (max_th - min_th)/max_p, is a division of integers in the kernel and one of reals here: the two differ by less
//!    than one in 10^5.
//! 3. Drawing: a random number names a slot of the ring; if an earlier match has emptied it, another number is drawn.
//!    After three empty slots Linux and the dialect linux take the oldest packet, which is thus likelier than others.
//!    The kernel never removes empty slots; here there are at most three per packet, so three draws in a row meet only
//!    empty slots at most 42 % of the time.
//! 4. `draws` (m) above 1 and `regions` above 1 are the paper's multi-drop and self-adjusting forms as the literature
//!    describes them; how they draw is our reading. Each draw is among all waiting packets, so one can be drawn twice.
//!    With k regions between the thresholds an arrival makes m i draws in region i, and m k above.
//!    `draws = 2, regions = 8` is, from memory, the paper's m = 2 i. Linux draws one packet.
//! 5. A match is counted as a forced drop, so that it can be told from RED's early ones; it is never a mark, and leaves
//!    RED's count alone (Linux). The gauge `matched` counts the arrivals that met their own flow.
//! 6. The default thresholds are those of the FLoadAutoRED chapter's experiment, said to be the paper's.
//!
//! What share of the link a flow that does not respond gets, derived and tested: `docs/algorithms/choke.md`.
//!
//! ## Example
//! ```
//! use earlydrop_aqm::{catalogue, gate::Gate, params::{Value, Values}, policy::Limit, random::Generator};
//! use earlydrop_aqm::{discipline::Fifo, Discipline, Packet, Time};
//!
//! let link = catalogue::Link { rate_bps: 10e6, delay_s: 0.01 };
//! let mut values = Values::new();
//! values.set("min_th", Value::Real(2.0)).set("max_th", Value::Real(9.0)).set("w_q", Value::Real(1.0));
//! let spec = catalogue::find("choke").unwrap();
//! let limit = Limit::Packets(50);
//! let catalogue::Built::Policy(choke) = (spec.build)(&values, &link, limit).unwrap() else { unreachable!() };
//! let mut queue = Fifo::new(Gate::new(choke, limit, false, Generator::stream(1, "queue")));
//! let mut arrive = |flow| queue.enqueue(Packet::new(flow, 1000), Time::ZERO, &mut |_, _| {}).is_some();
//! assert!(arrive(1) && arrive(1) && arrive(1));
//! assert!(!arrive(1), "three packets of its own wait: it meets one of them");
//! assert_eq!((queue.packets(), queue.counters().forced_drops), (2, 2));
//! ```

use crate::catalogue::{AqmSpec, Built, Link};
use crate::default_limit::DefaultLimit;
use crate::early_detection::average::Average;
use crate::early_detection::{only, params, Defaults, Settings, Spacing, SHARED};
use crate::params::{words, Param, ParamError, Unit, Value, Values, Word};
use crate::parts::curve::{probability, Curve};
use crate::parts::flow_match::{drop_pair, Draw};
use crate::policy::{Context, Needs, Policy, QueueView, Reason, Verdict};
use crate::random::Generator;
use crate::Packet;

const ALL: [Param; SHARED] = params(Defaults {
    min_th: 100.0,
    max_th: 200.0,
    max_p: 0.02,
    source: "FLoadAutoRED, Table 6.2; said to be the CHOKe paper's",
});

const RED: [Param; 6] = only(&ALL, ["min_th", "max_th", "max_p", "w_q", "count_base", "mean_packet"]);

words! {
    /// Whose CHOKe.
    enum Dialect {
        /// Pan, Prabhakar and Psounis 2000, on the RED of 1993.
        Paper = "paper",
        /// Linux, `sch_choke.c`.
        Linux = "linux",
    }
}

words! {
    /// What happens above `max_th`.
    enum OverMax {
        /// As in the dialect.
        Auto = "auto",
        /// The arrival is dropped.
        Drop = "drop",
        /// The arrival is marked if possible, else dropped.
        Mark = "mark",
    }
}

const OWN: [Param; 4] = [
    Param::word("dialect", Dialect::WORDS, "paper").says(
        "Pan, Prabhakar, Psounis 2000",
        "The paper's rule on the RED of 1993, or Linux sch_choke with its average, spacing and way to draw.",
    ),
    Param::whole("draws", Unit::None, (1, 16), 1)
        .symbol("m")
        .says("Pan, Prabhakar, Psounis 2000; Linux", "Waiting packets that are compared with an arrival."),
    Param::whole("regions", Unit::None, (1, 16), 1).symbol("k").says(
        "basic CHOKe; more: its self-adjusting form",
        "Equal parts between the thresholds: in part i an arrival draws i times as many, above max_th k times.",
    ),
    Param::word("ecn_over_max", OverMax::WORDS, "auto")
        .says("auto: paper drop; linux mark", "Above max_th: drop, or mark if possible."),
];

/// The declaration.
pub const SPEC: AqmSpec = AqmSpec {
    summary: "An arrival that meets its own flow in the queue is dropped together with the packet it met",
    source: "Pan, Prabhakar, Psounis: CHOKe, INFOCOM 2000; Linux sch_choke",
    params: &[&RED, &OWN],
    limit: DefaultLimit::RED,
    check: &|values, link| Rules::read(values, link).map(|_| ()),
    build: &|values, link, _| Ok(Built::Policy(Box::new(Choke::new(&Rules::read(values, link)?)))),
    curve: Some(&|values, link, average| {
        Rules::read(values, link).map_or(f64::NAN, |rules| probability(&rules.curve, average))
    }),
    ..AqmSpec::named("choke", "CHOKe", "flow-aware RED", 2000)
};

/// The policy. Its average is in packets in both dialects.
pub struct Choke {
    /// The averaged queue, packets.
    average: Average,
    /// RED's drop curve.
    curve: Closed,
    /// RED, applied to arrivals that met no packet of their flow.
    stage: Stage,
    /// m, the packets that an arrival is compared with in the first region.
    draws: u32,
    /// k, the regions between the thresholds.
    regions: f64,
    /// Arrivals that met a packet of their own flow.
    matched: u64,
}

/// RED, applied to arrivals that met no packet of their flow.
enum Stage {
    /// RED of 1993.
    Paper(Spacing),
    /// Linux: its spacing, and whether packets above `max_th` are marked if possible.
    Linux { spacing: WholePackets, mark_over_max: bool },
}

/// The parameters after checking.
struct Rules {
    /// RED's parameters, in the paper dialect.
    red: Settings,
    /// RED's line.
    curve: Closed,
    /// What the dialect adds.
    dialect: DialectRules,
    /// m, packets.
    draws: u32,
    /// k.
    regions: f64,
}

/// What only one dialect has.
enum DialectRules {
    Paper,
    /// RED's parameters as `sch_red` takes them, for the average.
    Linux {
        red: Settings,
        mark_over_max: bool,
    },
}

impl Rules {
    fn read(values: &Values, link: &Link) -> Result<Rules, ParamError> {
        for threshold in [RED[0].name, RED[1].name] {
            if let Some(bytes @ Value::QueueBytes(_)) = values.given(threshold) {
                return Err(ParamError::new(threshold, bytes, "packets: CHOKe counts packets"));
            }
        }
        // This queue is in packets, `sch_red`'s in bytes: only the average is taken from `sch_red`'s settings.
        let read = |dialect| {
            let mut values = values.clone();
            Settings::read(values.set("dialect", Value::Choice(dialect)), &ALL, link)
        };
        let red = read("paper")?;
        let dialect = match values.choice(&OWN, "dialect") {
            Dialect::Paper => DialectRules::Paper,
            Dialect::Linux => DialectRules::Linux {
                red: read("linux")?,
                mark_over_max: match values.choice(&OWN, "ecn_over_max") {
                    OverMax::Auto | OverMax::Mark => true,
                    OverMax::Drop => false,
                },
            },
        };
        Ok(Rules {
            red,
            curve: Closed { min_th: red.min_th, max_th: red.max_th, max_p: red.max_p },
            dialect,
            draws: values.whole(&OWN, "draws") as u32,
            regions: values.whole(&OWN, "regions") as f64,
        })
    }
}

impl Choke {
    fn new(rules: &Rules) -> Self {
        let (average, stage) = match rules.dialect {
            DialectRules::Paper => (rules.red.average(), Stage::Paper(Spacing::new(&rules.red))),
            DialectRules::Linux { red, mark_over_max } => {
                (red.average(), Stage::Linux { spacing: WholePackets { count: -1, random: 0.0 }, mark_over_max })
            }
        };
        Choke { average, curve: rules.curve, stage, draws: rules.draws, regions: rules.regions, matched: 0 }
    }

    /// Packets that an arrival is compared with at `average`: m times the region's number, above `max_th` times k.
    fn draws_at(&self, average: f64) -> u32 {
        let Closed { min_th, max_th, .. } = self.curve;
        let region = 1.0 + self.regions * (average - min_th) / (max_th - min_th);
        self.draws * region.clamp(1.0, self.regions) as u32
    }
}

impl Policy for Choke {
    fn needs(&self) -> Needs {
        Needs { dequeue: false, contents: true }
    }

    fn on_enqueue(&mut self, packet: &Packet, queue: &QueueView<'_>, cx: &mut Context<'_>) -> Verdict {
        self.average.observe(queue.packets as f64, queue.idle_since, cx.now);
        // The value that `observe` returns is rounded down for linux.
        let average = self.average.value();
        if average > self.curve.min_th {
            let draw = if let Stage::Paper(_) = self.stage { Draw::Even } else { Draw::Linux };
            if let Some(verdict) = drop_pair(packet, queue, draw, self.draws_at(average), cx) {
                self.matched += 1;
                return verdict;
            }
        }
        match &mut self.stage {
            Stage::Paper(spacing) => spacing.decide(&self.curve, average, packet.size, queue.packets as f64, cx.random),
            Stage::Linux { spacing, mark_over_max } => spacing.decide(&self.curve, average, *mark_over_max, cx.random),
        }
    }

    fn average(&self) -> Option<f64> {
        Some(self.average.value())
    }

    fn gauges(&self, out: &mut dyn FnMut(&'static str, f64)) {
        let average = self.average.value();
        let (p_b, count) = match &self.stage {
            Stage::Paper(spacing) => (spacing.p_b(), spacing.count()),
            Stage::Linux { spacing, .. } => (probability(&self.curve, average), spacing.count),
        };
        out("avg", average);
        out("p_b", p_b);
        out("count", count as f64);
        out("matched", self.matched as f64);
    }
}

/// RED's line, but 0 at `min_th` itself and `max_p` at `max_th` itself, as in CHOKe.
#[derive(Clone, Copy, Debug)]
struct Closed {
    /// Lower threshold, packets.
    min_th: f64,
    /// Upper threshold, packets.
    max_th: f64,
    /// Probability at the upper threshold.
    max_p: f64,
}

impl Curve for Closed {
    fn start(&self) -> f64 {
        self.min_th.next_up()
    }

    fn base_probability(&self, average: f64) -> f64 {
        if average > self.max_th {
            return 1.0;
        }
        self.max_p * (average - self.min_th) / (self.max_th - self.min_th)
    }

    fn end(&self) -> f64 {
        self.max_th.next_up()
    }
}

/// `sch_choke`'s spacing: whole packets above min_th, times the count, against a whole number drawn at the last drop.
#[derive(Clone, Debug)]
struct WholePackets {
    /// `qcount`: packets since the last drop or mark; -1 outside the thresholds.
    count: i64,
    /// `qR`: what was drawn at the last drop, packets.
    random: f64,
}

impl WholePackets {
    fn decide(&mut self, curve: &Closed, average: f64, mark_over_max: bool, random: &mut Generator) -> Verdict {
        let Closed { min_th, max_th, max_p } = *curve;
        if average <= min_th {
            self.count = -1;
            return Verdict::Pass;
        }
        if average > max_th {
            self.count = -1;
            return if mark_over_max { Verdict::Signal(Reason::Forced) } else { Verdict::Drop(Reason::Forced) };
        }
        self.count += 1;
        if self.count > 0 && (average - min_th).floor() * (self.count as f64) < self.random {
            return Verdict::Pass;
        }
        self.random = (random.uniform() * (max_th - min_th) / max_p).floor();
        if self.count == 0 {
            return Verdict::Pass;
        }
        self.count = 0;
        Verdict::Signal(Reason::Early)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::prelude::*;

    const LINK: Link = Link { rate_bps: 8e6, delay_s: 0.01 };

    fn with(more: &[(&'static str, Value)]) -> Values {
        let mut values = Values::new();
        // The average is the queue found; RED's own drops never happen.
        values.set("min_th", Value::Real(3.0)).set("max_th", Value::Real(6.0)).set("w_q", Value::Real(1.0));
        values.set("max_p", Value::Real(1e-9)).set("mean_packet", Value::Real(1000.0));
        for &(name, value) in more {
            values.set(name, value);
        }
        values
    }

    /// A queue whose random numbers are all 0.5, and a channel that receives one message per number drawn.
    fn queue(values: &Values, limit: u64, ecn: bool) -> (Fifo, std::sync::mpsc::Receiver<()>) {
        let (told, drawn) = std::sync::mpsc::channel();
        let random = Generator::custom(move || told.send(()).map_or(0.5, |()| 0.5));
        let choke = Choke::new(&Rules::read(values, &LINK).unwrap());
        (Fifo::new(Gate::new(Box::new(choke), Limit::Packets(limit), ecn, random)), drawn)
    }

    fn arrive(queue: &mut Fifo, flow: u64, ecn: Ecn) -> Result<bool, Vec<Reason>> {
        let mut died = Vec::new();
        let packet = Packet { ecn, ..Packet::new(flow, 1000) };
        let admitted = queue.enqueue(packet, Time::ZERO, &mut |_, reason| died.push(reason));
        admitted.map(|marked| marked.0).ok_or(died)
    }

    #[test]
    fn draws_above_min_th_and_forces_above_max_th() {
        let (mut queue, drawn) = queue(&with(&[]), 50, false);
        for (found, numbers) in [(0, 0), (1, 0), (2, 0), (3, 0), (4, 2), (5, 2), (6, 2)] {
            assert_eq!(arrive(&mut queue, found, Ecn::NotEct), Ok(false), "with {found} in the queue");
            // One number for the match, one for RED.
            assert_eq!(drawn.try_iter().count(), numbers, "with {found} in the queue");
        }
        assert_eq!(arrive(&mut queue, 7, Ecn::Ect0), Err(vec![Reason::Forced]), "7 wait");
        assert_eq!(drawn.try_iter().count(), 1);
        assert_eq!(arrive(&mut queue, 3, Ecn::Ect0), Err(vec![Reason::Forced, Reason::Forced]), "it meets itself");
        assert_eq!(queue.packets(), 6);
    }

    /// The average may be above min_th though nothing waits.
    #[test]
    fn an_empty_queue_has_nobody_to_meet() {
        let (mut queue, drawn) = queue(&with(&[("w_q", Value::Real(0.5)), ("min_th", Value::Real(0.5))]), 50, false);
        for flow in 0..4 {
            assert!(arrive(&mut queue, flow, Ecn::NotEct).is_ok());
        }
        for _ in 0..4 {
            queue.dequeue(Time::ZERO, &mut |_, _| {});
        }
        drawn.try_iter().count();
        assert_eq!(arrive(&mut queue, 9, Ecn::NotEct), Ok(false));
        assert!(queue.average().unwrap() > 0.5);
        assert_eq!(drawn.try_iter().count(), 1, "RED's");
    }

    #[test]
    fn a_match_at_a_full_queue_is_no_overflow() {
        let (mut queue, _) = queue(&with(&[]), 5, false);
        for _ in 0..4 {
            assert!(arrive(&mut queue, 1, Ecn::NotEct).is_ok());
        }
        assert_eq!(arrive(&mut queue, 2, Ecn::NotEct), Ok(false));
        assert_eq!(arrive(&mut queue, 3, Ecn::NotEct), Err(vec![Reason::Overflow]));
        assert_eq!(arrive(&mut queue, 1, Ecn::NotEct), Err(vec![Reason::Forced, Reason::Forced]));
        let mut matched = 0.0;
        queue.gauges(&mut |name, value| matched += if name == "matched" { value } else { 0.0 });
        assert_eq!(matched, 1.0);
    }

    /// `sch_choke` marks above max_th and never at a match; the paper drops at both.
    #[test]
    fn only_linux_marks_above_max_th() {
        for (dialect, over_max) in
            [("paper", Err(vec![Reason::Forced])), ("linux", Ok(true)), ("linux drop", Err(vec![Reason::Forced]))]
        {
            let mut values = with(&[("dialect", Value::Choice(if dialect == "paper" { "paper" } else { "linux" }))]);
            if dialect == "linux drop" {
                values.set("ecn_over_max", Value::Choice("drop"));
            }
            let (mut queue, _) = queue(&values, 50, true);
            let mut found = Ok(false);
            for flow in 0..30 {
                // Linux's smallest weight is one half: its average lags behind the queue.
                found = arrive(&mut queue, flow, Ecn::Ect0);
                if found != Ok(false) {
                    break;
                }
            }
            assert!(queue.average().unwrap() > 6.0);
            assert_eq!(found, over_max, "{dialect}");
        }
    }

    #[test]
    fn draws_grow_from_region_to_region() {
        let values = with(&[("draws", Value::Whole(2)), ("regions", Value::Whole(3))]);
        let choke = Choke::new(&Rules::read(&values, &LINK).unwrap());
        let draws = [3.0_f64.next_up(), 3.999, 4.0, 4.999, 5.0, 5.999, 6.0, 600.0].map(|avg| choke.draws_at(avg));
        assert_eq!(draws, [2, 2, 4, 4, 6, 6, 6, 6]);
    }

    #[test]
    fn thresholds_in_bytes_are_refused() {
        let values = Values::of(&[("max_th", Value::QueueBytes(30_000.0))]);
        assert_eq!(Rules::read(&values, &LINK).err().unwrap().name, "max_th");
    }
}
