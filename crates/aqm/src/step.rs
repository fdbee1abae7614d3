//! # Step marking
//!
//! ## What it does
//! Marks exactly the packets that meet a queue above one threshold: no average, no probability, no random number. The
//! threshold is a length K, tested when a packet arrives, or a time, tested against the sojourn time of a packet that
//! leaves.
//!
//! | | marks if |
//! |---|---|
//! | `rule = "dctcp"` | length found > K, or sojourn > threshold |
//! | `rule = "red"` | length found >= K, or sojourn >= threshold |
//!
//! Packets that are not ECN-capable pass until the queue overflows. At a full buffer arrivals are dropped, ECN-capable
//! or not.
//!
//! ## Source
//! M. Alizadeh et al., "Data center TCP (DCTCP)", ACM SIGCOMM 2010; RFC 8257, 3.1. Sojourn time: the step of Linux
//! `sch_dualpi2` and `ce_threshold` of its CoDel. RFC 8257 quotes K > C RTT/7 packets for a link of C packets/s; the
//! paper takes 20 at 1 Gbit/s and 65 at 10 Gbit/s (as quoted; no copy was at hand).
//!
//! ## Differences
//! 1. The length found has neither the arrival nor the packet in transmission. RFC 8257 speaks of the queue length an
//!    arrival finds; `measure = "after"` counts the arrival.
//! 2. Many set RED up as a step (min_th = max_th = K, w_q = 1). RED marks from K on, so `rule = "red"` is one packet
//!    earlier than `dctcp`. Linux's RED cannot have w_q = 1 (tc's least is 1/2), and ns-2's needs its first packet
//!    above min_th and its rule for queues of 0 or 1 switched off: neither is an exact step.
//! 3. Packets that are not ECN-capable: `non_ect = "drop_at_k"` drops them where others are marked. By default they
//!    pass (ours), as in a RED that marks only.
//! 4. With marking off (`ecn = false`) nothing can be marked: what is left is DropTail, or a queue cut off at K.
//!
//! ## Example
//! ```
//! use earlydrop_aqm::{catalogue, gate::Gate, params::{Value, Values}, policy::Limit, random::Generator};
//! use earlydrop_aqm::{discipline::Fifo, Discipline, Ecn, Packet, Time};
//!
//! let link = catalogue::Link { rate_bps: 1e9, delay_s: 50e-6 };
//! let mut values = Values::new();
//! values.set("k", Value::Real(20.0));
//! let catalogue::Built::Policy(policy) = (catalogue::find("step").unwrap().build)(&values, &link, Limit::Packets(100)).unwrap()
//!     else { unreachable!() };
//! let mut queue = Fifo::new(Gate::new(policy, Limit::Packets(100), true, Generator::stream(1, "queue")));
//! let packet = Packet { ecn: Ecn::Ect0, ..Packet::new(1, 1500) };
//! let marked: Vec<bool> = (0..23).map(|_| queue.enqueue(packet, Time::ZERO, &mut |_, _| {}).unwrap().0).collect();
//! assert_eq!(marked.iter().position(|&m| m), Some(21), "the first to find more than 20");
//! ```

use crate::catalogue::{AqmSpec, Built};
use crate::params::{words, Kind, Param, Unit, Value, Values, Word};
use crate::policy::{Context, Needs, Policy, QueueView, Reason, Verdict};
use crate::Packet;

words! {
    /// What is compared with the threshold.
    enum MeasureAt {
        /// The queue that an arrival finds.
        Before = "before",
        /// The queue that an arrival finds, and the arrival.
        After = "after",
        /// The sojourn time of a packet that leaves.
        Sojourn = "sojourn",
    }
}

words! {
    /// Whether a packet exactly at the threshold is marked.
    enum Rule {
        /// No: only above the threshold (RFC 8257, 3.1).
        Dctcp = "dctcp",
        /// Yes: from the threshold on, as RED with min_th = max_th.
        Red = "red",
    }
}

words! {
    /// What becomes of packets that cannot be marked.
    enum NonEct {
        /// Such packets pass until the queue is full.
        OverflowOnly = "overflow_only",
        /// Such packets are dropped where others are marked.
        DropAtK = "drop_at_k",
    }
}

const PARAMS: [Param; 5] = [
    Param::real("k", Unit::QueueLength, Kind::real(0.0, f64::INFINITY), 20.0)
        .symbol("K")
        .says("Alizadeh et al. 2010, for 1 Gbit/s", "Queue length above which packets are marked."),
    Param::real("threshold", Unit::Seconds, Kind::real(0.0, f64::INFINITY), 1e-3)
        .says("Linux sch_dualpi2", "Sojourn time above which packets are marked (measure = \"sojourn\")."),
    Param::word("measure", MeasureAt::WORDS, "before").says(
        "RFC 8257, 3.1",
        "The queue an arrival finds, the same with the arrival, or the sojourn time of a packet that leaves.",
    ),
    Param::word("rule", Rule::WORDS, "dctcp")
        .says("RFC 8257, 3.1; red: RED with min_th = max_th", "Mark above the threshold, or from it on."),
    Param::word("non_ect", NonEct::WORDS, "overflow_only").says(
        "ours: neither RFC 8257 nor the paper says",
        "Packets that cannot be marked: dropped only when the queue is full, or wherever others are marked.",
    ),
];

/// The declaration.
pub const SPEC: AqmSpec = AqmSpec {
    summary: "Marks everything above one threshold (DCTCP, L4S)",
    source: "Alizadeh et al.: Data center TCP (DCTCP), SIGCOMM 2010; RFC 8257",
    params: &[&PARAMS],
    build: &|values, _, _| Ok(Built::Policy(Box::new(Step::new(values)))),
    ..AqmSpec::named("step", "Step marking", "sojourn time", 2010)
};

/// The threshold, and what is compared with it.
#[derive(Clone, Copy, Debug, PartialEq)]
enum Measure {
    /// Packets in the queue.
    Packets { threshold: f64, with_arrival: bool },
    /// Bytes in the queue.
    Bytes { threshold: f64, with_arrival: bool },
    /// Seconds in the queue.
    Sojourn { threshold: f64 },
}

/// The policy.
pub struct Step {
    /// The threshold K, in packets, bytes or s.
    measure: Measure,
    /// Whether a measurement equal to the threshold counts as above it.
    rule: Rule,
    /// The verdict above the threshold.
    above: Verdict,
}

impl Step {
    fn new(values: &Values) -> Self {
        let length = |with_arrival| match values.get(&PARAMS[0]) {
            Value::QueueBytes(threshold) => Measure::Bytes { threshold, with_arrival },
            _ => Measure::Packets { threshold: values.real(&PARAMS, "k"), with_arrival },
        };
        let measure = match values.choice(&PARAMS, "measure") {
            MeasureAt::Before => length(false),
            MeasureAt::After => length(true),
            MeasureAt::Sojourn => Measure::Sojourn { threshold: values.real(&PARAMS, "threshold") },
        };
        let above = match values.choice(&PARAMS, "non_ect") {
            NonEct::OverflowOnly => Verdict::Mark,
            NonEct::DropAtK => Verdict::Signal(Reason::Forced),
        };
        Step { measure, rule: values.choice(&PARAMS, "rule"), above }
    }

    #[inline]
    fn verdict(&self, measured: f64, threshold: f64) -> Verdict {
        if measured > threshold || self.rule == Rule::Red && measured == threshold {
            self.above
        } else {
            Verdict::Pass
        }
    }
}

impl Policy for Step {
    fn needs(&self) -> Needs {
        Needs { dequeue: matches!(self.measure, Measure::Sojourn { .. }), contents: false }
    }

    fn on_enqueue(&mut self, packet: &Packet, queue: &QueueView<'_>, _cx: &mut Context<'_>) -> Verdict {
        match self.measure {
            Measure::Packets { threshold, with_arrival } => {
                self.verdict((queue.packets + u64::from(with_arrival)) as f64, threshold)
            }
            Measure::Bytes { threshold, with_arrival } => {
                let arrival = if with_arrival { packet.size } else { 0 };
                self.verdict((queue.bytes + u64::from(arrival)) as f64, threshold)
            }
            Measure::Sojourn { .. } => Verdict::Pass,
        }
    }

    fn on_dequeue(&mut self, packet: Option<&Packet>, _queue: &QueueView<'_>, cx: &mut Context<'_>) -> Verdict {
        match (self.measure, packet) {
            (Measure::Sojourn { threshold }, Some(packet)) => self.verdict(cx.now - packet.enqueued, threshold),
            _ => Verdict::Pass,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::prelude::*;

    fn queue(pairs: &[(&'static str, Value)], limit: u64) -> Fifo {
        let values = Values::of(pairs);
        Fifo::new(Gate::new(Box::new(Step::new(&values)), Limit::Packets(limit), true, Generator::stream(1, "step")))
    }

    fn packet(ecn: Ecn) -> Packet {
        Packet { ecn, ..Packet::new(1, 100) }
    }

    /// The queue length found by the first packet that is marked, when nothing departs.
    fn first_marked(pairs: &[(&'static str, Value)]) -> u64 {
        let mut queue = queue(pairs, 1000);
        loop {
            let found = queue.packets();
            if queue.enqueue(packet(Ecn::Ect0), Time::ZERO, &mut |_, _| panic!("no drops")).unwrap().0 {
                return found;
            }
        }
    }

    #[test]
    fn dctcp_marks_above_k_and_red_from_k_on() {
        let rule = |word| ("rule", Value::Choice(word));
        let after = ("measure", Value::Choice("after"));
        assert_eq!(first_marked(&[rule("dctcp")]), 21, "finding 20 is not marked");
        assert_eq!(first_marked(&[rule("red")]), 20, "finding 19 is not marked");
        assert_eq!(first_marked(&[rule("dctcp"), after]), 20);
        assert_eq!(first_marked(&[rule("red"), after]), 19);
        assert_eq!(first_marked(&[rule("red"), ("k", Value::Real(0.0))]), 0);
        assert_eq!(first_marked(&[("k", Value::Real(0.0))]), 1, "an empty queue is not above 0");
        let bytes = ("k", Value::QueueBytes(1500.0));
        assert_eq!(first_marked(&[bytes]), 16, "15 packets of 100 B are 1500 B");
        assert_eq!(first_marked(&[bytes, rule("red")]), 15);
        assert_eq!(first_marked(&[bytes, after]), 15);
        assert_eq!(first_marked(&[("k", Value::QueueBytes(1499.0)), after]), 14);
    }

    #[test]
    fn sojourn_time_at_just_below_and_just_above_the_threshold() {
        // A power of two: sums are exact.
        let threshold = 1.0 / 1024.0;
        for (rule, at_threshold) in [("dctcp", false), ("red", true)] {
            let pairs = [
                ("measure", Value::Choice("sojourn")),
                ("threshold", Value::Real(threshold)),
                ("rule", Value::Choice(rule)),
                ("k", Value::Real(0.0)),
            ];
            for (sojourn, marked) in
                [(threshold * 0.999, false), (threshold, at_threshold), (threshold * 1.001, true), (0.0, false)]
            {
                let mut queue = queue(&pairs, 9);
                let admitted = queue.enqueue(packet(Ecn::Ect1), Time::from_seconds(1.0), &mut |_, _| {});
                assert_eq!(admitted.map(|m| m.0), Some(false), "nothing is decided on the way in");
                let left = queue.dequeue(Time::from_seconds(1.0) + sojourn, &mut |_, _| {}).unwrap();
                assert_eq!(left.ecn == Ecn::Ce, marked, "{rule}: {sojourn}");
            }
        }
    }

    #[test]
    fn what_cannot_be_marked_passes_or_is_dropped() {
        for (word, dropped) in [("overflow_only", 0), ("drop_at_k", 4)] {
            let mut queue = queue(&[("non_ect", Value::Choice(word)), ("k", Value::Real(5.0))], 100);
            for _ in 0..10 {
                queue.enqueue(packet(Ecn::NotEct), Time::ZERO, &mut |_, _| {});
            }
            assert_eq!((queue.counters().forced_drops, queue.counters().marks), (dropped, 0), "{word}");
        }
        let pairs = [("non_ect", Value::Choice("drop_at_k")), ("measure", Value::Choice("sojourn"))];
        let mut queue = queue(&pairs, 100);
        for ecn in [Ecn::NotEct, Ecn::Ect0, Ecn::NotEct] {
            queue.enqueue(packet(ecn), Time::ZERO, &mut |_, _| {});
        }
        let late = Time::from_seconds(0.002);
        assert_eq!(queue.dequeue(late, &mut |_, _| {}).map(|p| p.ecn), Some(Ecn::Ce));
        assert_eq!(queue.dequeue(late, &mut |_, _| {}), None);
        assert_eq!(queue.counters().forced_drops, 2);
    }

    #[test]
    fn overflow_drops_also_what_could_be_marked() {
        let mut queue = queue(&[("k", Value::Real(2.0))], 5);
        let mut reasons = Vec::new();
        for _ in 0..7 {
            queue.enqueue(packet(Ecn::Ect0), Time::ZERO, &mut |_, reason| reasons.push(reason));
        }
        assert_eq!(reasons, [Reason::Overflow; 2]);
        assert_eq!(queue.counters().marks, 2, "those that found 3 and 4");
    }
}
