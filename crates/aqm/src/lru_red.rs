//! # LRU-RED
//!
//! ## What it does
//! RED with a small cache of flows, the most recently seen first. A packet of a cached flow adds 1 to the flow's count
//! and moves it to the front; a packet of any other flow puts the flow into the cache with probability `insert_p`, with
//! a count of 1, and the flow at the end is evicted. Fast flows are seen often, so they get in and stay in. A flow
//! whose count has reached `threshold` is a high-bandwidth flow, and its packets meet RED with `factor` p_b, at most 1.
//!
//! ## Source
//! Smitha, A. L. N. Reddy, "LRU-RED: an active queue management scheme to contain high bandwidth flows at congested
//! routers", IEEE GLOBECOM 2001. The text was not at hand: the rule is taken from the literature about it.
//!
//! ## Differences
//! 1. The factor by which the probability of high-bandwidth flows is raised could not be read: here `factor` = 2, our
//!    reconstruction, or count/threshold (`raising = "count"`).
//! 2. Cache of 20 flows, threshold 125, insertion by chance 1/50: our choices, of the order the authors' LRU-FQ uses.
//! 3. By the paper's rule counts never fall: if the cache has a place for every long flow, each ends above the
//!    threshold: RED with `factor` p_b for all. `ageing = "halve"` halves the counts every `ageing_interval` and lets
//!    flows below one packet go; this is ours, and off by default.
//! 4. LRU-RED cannot tell unresponsive flows (Wang et al. 2009, section 2): see `sfred`.
//! 5. At every miss a number for the insertion is drawn before RED's, also where `insert_p` is 1.
//!
//! ## Example
//! ```
//! use earlydrop_aqm::{catalogue, discipline::Fifo, gate::Gate, params::Values, policy::Limit, random::Generator};
//! use earlydrop_aqm::{Discipline, Packet, Time};
//!
//! let link = catalogue::Link { rate_bps: 10e6, delay_s: 0.01 };
//! let limit = Limit::Packets(100);
//! let catalogue::Built::Policy(lru) = (catalogue::find("lru_red").unwrap().build)(&Values::new(), &link, limit).unwrap()
//!     else { unreachable!() };
//! let mut queue = Fifo::new(Gate::new(lru, limit, false, Generator::stream(1, "queue")));
//! // Half of the packets are flow 1's, the others are of a new flow each; the link takes 19 of 20.
//! let mut lost = [0, 0];
//! for i in 0..40_000_u64 {
//!     let now = Time::from_seconds(i as f64 * 1e-3);
//!     let flow = if i % 2 == 0 { 1 } else { 1000 + i };
//!     queue.enqueue(Packet::new(flow, 1000), now, &mut |p, _| lost[usize::from(p.flow != 1)] += 1);
//!     if i % 20 != 0 {
//!         queue.dequeue(now, &mut |_, _| {});
//!     }
//! }
//! assert!(lost[0] > 3 * lost[1] / 2, "flow 1 pays: {lost:?}");
//! ```

use crate::catalogue::{AqmSpec, Built, Link};
use crate::default_limit::DefaultLimit;
use crate::early_detection::{hit, params, Defaults, EarlyDetection, SHARED};
use crate::params::{words, Kind, Param, ParamError, Unit, Values, Word};
use crate::parts::curve::{probability, Curve, Linear};
use crate::parts::halving::Halving;
use crate::parts::recent_flows::RecentFlows;
use crate::policy::{Context, Limit, Needs, Policy, QueueView, Room, Verdict};
use crate::red::{self, GENTLE};
use crate::Packet;

const COMMON: [Param; SHARED] =
    params(Defaults { min_th: 5.0, max_th: 15.0, max_p: 0.1, source: "as SFRED (Wang et al. 2009)" });

const OURS: &str = "our reconstruction";

words! {
    /// What p_b of a high-bandwidth flow is multiplied by.
    enum Raising {
        /// `factor`.
        Factor = "factor",
        /// The flow's count over `threshold`.
        Count = "count",
    }
}

words! {
    /// What becomes of the counts with time.
    enum Ageing {
        /// They only grow.
        Never = "never",
        /// They are halved every `ageing_interval`.
        Halve = "halve",
    }
}

const OWN: [Param; 7] = [
    Param::whole("cache_size", Unit::None, (1, 65_536), 20).says(OURS, "Flows in the cache."),
    Param::real("insert_p", Unit::None, Kind::real(0.0, 1.0), 0.02)
        .symbol("p")
        .says(OURS, "Probability that a packet of an unknown flow puts the flow into the cache."),
    Param::real("threshold", Unit::None, Kind::real(1.0, f64::INFINITY).open_high(), 125.0)
        .says(OURS, "Packets in the cache from which a flow is a high-bandwidth flow."),
    Param::word("raising", Raising::WORDS, "factor")
        .says(OURS, "Whether p_b of a high-bandwidth flow is multiplied by factor, or by its count over threshold."),
    Param::real("factor", Unit::None, Kind::real(1.0, f64::INFINITY).open_high(), 2.0)
        .symbol("k")
        .says(OURS, "What p_b of a high-bandwidth flow is multiplied by."),
    Param::word("ageing", Ageing::WORDS, "never")
        .says("Smitha & Reddy 2001", "Whether all counts are halved every ageing_interval."),
    Param::real("ageing_interval", Unit::Seconds, Kind::real(0.1, 1e9), 5.0)
        .symbol("W")
        .says(OURS, "Time between two halvings."),
];

/// The declaration.
pub const SPEC: AqmSpec = AqmSpec {
    summary: "RED with a higher probability for flows that stay in a small cache of recent ones",
    source: "Smitha, Reddy: LRU-RED, GLOBECOM 2001",
    params: &[&COMMON, &GENTLE, &OWN],
    limit: DefaultLimit::RED,
    check: &|values, link| red::read(values, &COMMON, link).map(|_| ()),
    build: &|values, link, _| Ok(Built::Policy(Box::new(LruRed::new(values, link)?))),
    curve: Some(&|values, link, average| {
        red::read(values, &COMMON, link).map_or(f64::NAN, |(set, curve)| probability(&curve, set.in_unit(average)))
    }),
    ..AqmSpec::named("lru_red", "LRU-RED", "flow-aware RED", 2001)
};

/// RED's line, `factor` times as high, at most 1.
struct Raised<'a> {
    /// RED's line.
    curve: &'a Linear,
    /// What p_b is multiplied by.
    factor: f64,
}

impl Curve for Raised<'_> {
    fn start(&self) -> f64 {
        self.curve.start()
    }

    fn base_probability(&self, average: f64) -> f64 {
        (self.factor * self.curve.base_probability(average)).min(1.0)
    }

    fn end(&self) -> f64 {
        self.curve.end()
    }
}

/// The policy.
pub struct LruRed {
    /// RED: average, spacing and drop curve.
    core: EarlyDetection<Linear>,
    /// RED's line, to be raised.
    curve: Linear,
    /// Packets of each cached flow since it entered the cache.
    cache: RecentFlows<f64>,
    /// Probability that a packet of an unknown flow puts the flow into the cache.
    insert_p: f64,
    /// Packets from which a flow is a high-bandwidth flow.
    threshold: f64,
    /// What p_b of a high-bandwidth flow is multiplied by; `None`: count over threshold.
    factor: Option<f64>,
    /// When the counts are halved; `None` if never.
    halving: Option<Halving>,
}

impl LruRed {
    fn new(values: &Values, link: &Link) -> Result<Self, ParamError> {
        let (set, curve) = red::read(values, &COMMON, link)?;
        let real = |name| values.real(&OWN, name);
        Ok(LruRed {
            core: EarlyDetection::new(set, curve.clone()),
            curve,
            cache: RecentFlows::new(values.whole(&OWN, "cache_size") as usize),
            insert_p: real("insert_p"),
            threshold: real("threshold"),
            factor: match values.choice(&OWN, "raising") {
                Raising::Factor => Some(real("factor")),
                Raising::Count => None,
            },
            halving: match values.choice(&OWN, "ageing") {
                Ageing::Never => None,
                Ageing::Halve => Some(Halving::every(real("ageing_interval"))),
            },
        })
    }

    /// Counts a packet of `flow`; returns the factor on its p_b if the flow is a high-bandwidth flow.
    #[inline]
    fn count(&mut self, flow: u64, cx: &mut Context<'_>) -> Option<f64> {
        if let Some(keep) = self.halving.as_mut().and_then(|halving| halving.due(cx.now)) {
            self.cache.retain(|_, count| {
                *count *= keep;
                *count >= 1.0
            });
        }
        if self.cache.find(flow).is_none() && !hit(cx.random.uniform(), self.insert_p) {
            return None;
        }
        let slot = self.cache.see(flow, 0.0).slot;
        let count = self.cache.record_mut(slot);
        *count += 1.0;
        (*count >= self.threshold).then(|| self.factor.unwrap_or(*count / self.threshold))
    }
}

impl Policy for LruRed {
    fn needs(&self) -> Needs {
        Needs { dequeue: false, contents: self.core.needs_contents() }
    }

    fn room(&self, limit: Limit) -> Room {
        self.core.room(limit)
    }

    fn on_enqueue(&mut self, packet: &Packet, queue: &QueueView<'_>, cx: &mut Context<'_>) -> Verdict {
        let raised = self.count(packet.flow, cx);
        let average = self.core.observe(queue, cx.now);
        match raised {
            Some(factor) => self.core.decide_on(&Raised { curve: &self.curve, factor }, average, packet, queue, cx),
            None => self.core.decide(average, packet, queue, cx),
        }
    }

    fn on_overflow(
        &mut self,
        earlier: Verdict,
        packet: &Packet,
        queue: &QueueView<'_>,
        cx: &mut Context<'_>,
    ) -> Verdict {
        self.core.on_overflow(earlier, packet, queue, cx)
    }

    fn average(&self) -> Option<f64> {
        Some(self.core.average())
    }

    fn gauges(&self, out: &mut dyn FnMut(&'static str, f64)) {
        self.core.gauges(out);
        out("cached_flows", self.cache.len() as f64);
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::prelude::*;

    const LINK: Link = Link { rate_bps: 10e6, delay_s: 0.01 };

    fn lru(pairs: &[(&'static str, Value)]) -> LruRed {
        let mut values = Values::new();
        for &(name, value) in pairs {
            assert!(SPEC.param(name).is_some_and(|param| param.allows(value)), "{name}");
            values.set(name, value);
        }
        LruRed::new(&values, &LINK).unwrap()
    }

    /// The last verdict on `times` packets of `flow` that find `waiting` packets, if every random number is `draw`.
    fn arrive(lru: &mut LruRed, now: f64, flow: u64, times: u32, waiting: u64, draw: f64) -> Verdict {
        let (mut random, mut victims) = (Generator::custom(move || draw), Vec::new());
        let queue = QueueView { packets: waiting, bytes: waiting * 1000, idle_since: None, contents: None };
        let now = Time::from_seconds(now);
        let mut cx = Context { now, ecn: false, has_room: true, random: &mut random, victims: &mut victims };
        (0..times).map(|_| lru.on_enqueue(&Packet::new(flow, 1000), &queue, &mut cx)).last().unwrap()
    }

    fn count(lru: &LruRed, flow: u64) -> Option<f64> {
        lru.cache.find(flow).map(|slot| *lru.cache.record(slot))
    }

    #[test]
    fn unknown_flows_get_in_by_luck_and_known_ones_count() {
        let mut queue = lru(&[("cache_size", Value::Whole(2))]);
        arrive(&mut queue, 0.0, 1, 50, 0, 0.021);
        assert_eq!(count(&queue, 1), None, "0.021 > 0.02");
        arrive(&mut queue, 0.0, 1, 1, 0, 0.02);
        arrive(&mut queue, 0.0, 1, 9, 0, 1.0);
        assert_eq!(count(&queue, 1), Some(10.0), "known flows need no luck");
        arrive(&mut queue, 0.0, 2, 1, 0, 0.0);
        arrive(&mut queue, 0.0, 1, 1, 0, 0.0);
        arrive(&mut queue, 0.0, 3, 1, 0, 0.0);
        assert_eq!((count(&queue, 1), count(&queue, 2), count(&queue, 3)), (Some(11.0), None, Some(1.0)));
        let mut closed = lru(&[("insert_p", Value::Real(0.0))]);
        arrive(&mut closed, 0.0, 1, 50, 0, 0.0);
        assert_eq!(count(&closed, 1), None, "probability 0 never hits");
    }

    #[test]
    fn high_bandwidth_begins_at_the_threshold() {
        // w_q = 1 and 10 packets waiting: RED's p_b is 0.05, twice that 0.1.
        for (raise, at_threshold, at_double) in [("factor", 0.1, 0.1), ("count", 0.05, 0.1)] {
            let mut queue =
                lru(&[("w_q", Value::Real(1.0)), ("insert_p", Value::Real(1.0)), ("raising", Value::Choice(raise))]);
            let mut p_b = |times| {
                arrive(&mut queue, 0.0, 1, times, 10, 1.0);
                let mut found = f64::NAN;
                queue.core.gauges(&mut |name, value| found = if name == "p_b" { value } else { found });
                (found * 1e9).round() / 1e9
            };
            assert_eq!([p_b(124), p_b(1), p_b(125)], [0.05, at_threshold, at_double], "{raise}");
        }
    }

    #[test]
    fn the_raised_probability_is_at_most_one() {
        let mut queue = lru(&[
            ("w_q", Value::Real(1.0)),
            ("insert_p", Value::Real(1.0)),
            ("threshold", Value::Real(1.0)),
            ("factor", Value::Real(1e6)),
        ]);
        assert_eq!(arrive(&mut queue, 0.0, 1, 1, 10, 1.0), Verdict::Signal(Reason::Early));
        queue.gauges(&mut |name, value| assert!(name != "p_b" || value == 1.0, "{value}"));
        assert_eq!(arrive(&mut queue, 0.0, 1, 1, 4, 0.0), Verdict::Pass, "below min_th there is nothing to raise");
    }

    #[test]
    fn counts_never_fall_unless_they_age() {
        for (ageing, after) in [("never", Some(41.0)), ("halve", Some(21.0))] {
            let mut queue = lru(&[("ageing", Value::Choice(ageing))]);
            arrive(&mut queue, 0.0, 1, 1, 0, 0.0);
            arrive(&mut queue, 4.999, 1, 39, 0, 0.0);
            arrive(&mut queue, 5.0, 1, 1, 0, 0.0);
            assert_eq!(count(&queue, 1), after, "{ageing}");
        }
    }

    /// LRU-RED counts packets, not losses: a flow that loses much is treated as one that loses nothing.
    #[test]
    fn losses_of_a_flow_change_nothing() {
        let counted = |draw| {
            let mut queue = lru(&[("w_q", Value::Real(1.0)), ("insert_p", Value::Real(1.0))]);
            let lost = (0..300).filter(|_| arrive(&mut queue, 0.0, 1, 1, 10, draw) != Verdict::Pass).count();
            (lost, count(&queue, 1), arrive(&mut queue, 0.0, 1, 1, 4, 0.0))
        };
        // Numbers near 0 signal every packet that can be; numbers of 1 only where the count makes it certain.
        let (many, few) = (counted(1e-9), counted(1.0));
        assert!(many.0 > 10 * few.0, "{many:?} and {few:?}");
        assert_eq!((many.1, many.2), (few.1, few.2));
    }

    /// With random numbers of 1 no flow is inserted, and what is left is RED to the bit.
    #[test]
    fn without_high_bandwidth_flows_it_is_red() {
        let mut plain = EarlyDetection::new(
            crate::early_detection::Settings::read(&Values::new(), &COMMON, &LINK).unwrap(),
            Linear::new(5.0, 15.0, 0.1, false),
        );
        let mut queue = lru(&[("insert_p", Value::Real(0.0))]);
        let mut numbers = Generator::stream(1, "numbers");
        for i in 0..20_000_u64 {
            let draw = numbers.uniform();
            let waiting = (numbers.uniform() * 30.0) as u64;
            let view = QueueView { packets: waiting, bytes: waiting * 1000, idle_since: None, contents: None };
            let (mut random, mut victims) = (Generator::custom(move || draw), Vec::new());
            let mut cx = Context {
                now: Time::from_seconds(i as f64),
                ecn: false,
                has_room: true,
                random: &mut random,
                victims: &mut victims,
            };
            let want = plain.on_enqueue(&Packet::new(i % 5, 1000), &view, &mut cx);
            assert_eq!(queue.on_enqueue(&Packet::new(i % 5, 1000), &view, &mut cx), want);
        }
    }
}
