//! # SRED
//!
//! ## What it does
//! Estimates how many flows are active without keeping a list of them. M "zombies" are flows seen before; each arrival
//! is compared with a random zombie. A hit is a packet of the zombie's own flow; after a miss the arrival's flow
//! takes the zombie's place with probability `overwrite`. The share of hits, `P := (1 - alpha) P + alpha Hit`, is 1/N
//! with N equal flows. An arrival that finds q waiting in a buffer of B is dropped with probability
//!
//! | q | p_sred |
//! |---|---|
//! | q < B/6 | 0 |
//! | B/6 <= q < B/3 | max_p/4 |
//! | B/3 <= q | max_p |
//!
//! times `min(1, 1/(256 P)^2)`, and in full SRED times `1 + Hit/P`. There is no average and no spacing.
//!
//! ## Source
//! T. J. Ott, T. V. Lakshman, L. H. Wong, "SRED: stabilized RED", IEEE INFOCOM 1999; the text was read.
//!
//! ## Differences
//! 1. q and B are bytes in the paper. Here they are what the limit counts, packets or bytes.
//! 2. The paper suggests alpha = p/M (`weight = "auto"`; p is `overwrite`), and in its runs uses 1/1000, the default
//!    here.
//! 3. While the list is filling, packets join it and pass without a test, as in the paper.
//! 4. A zombie's count and time stamp are left out: no decision uses them.
//! 5. P = 0 means no hit so far: the factor is 1, as with very many flows.
//! 6. A public ns-3 port draws the zombie's index from a variable on 0..1, so that it is always the first. The paper's
//!    list is drawn from evenly.
//! 7. Random numbers: for the zombie; after a miss, for overwriting it; for the drop, if its probability is above 0.
//!
//! ## Example
//! ```
//! use earlydrop_aqm::{catalogue, discipline::Fifo, gate::Gate, params::Values, policy::Limit, random::Generator};
//! use earlydrop_aqm::{Discipline, Packet, Time};
//!
//! let link = catalogue::Link { rate_bps: 10e6, delay_s: 0.01 };
//! let limit = Limit::Packets(60);
//! let catalogue::Built::Policy(sred) = (catalogue::find("sred").unwrap().build)(&Values::new(), &link, limit).unwrap()
//!     else { unreachable!() };
//! let mut queue = Fifo::new(Gate::new(sred, limit, false, Generator::stream(1, "queue")));
//! let mut flows = Generator::stream(1, "flows");
//! for _ in 0..20_000 {
//!     queue.enqueue(Packet::new((flows.uniform() * 20.0) as u64, 1000), Time::ZERO, &mut |_, _| {});
//!     queue.dequeue(Time::ZERO, &mut |_, _| {});
//! }
//! queue.gauges(&mut |name, value| assert!(name != "flows" || (15.0..27.0).contains(&value), "20 flows look like {value}"));
//! ```

use crate::catalogue::{AqmSpec, Built};
use crate::early_detection::hit;
use crate::params::{words, Kind, Param, Unit, Values, Word};
use crate::policy::{Context, Limit, Policy, QueueView, Reason, Verdict};
use crate::Packet;

const PAPER: &str = "Ott, Lakshman, Wong 1999";

words! {
    /// Which of the paper's two algorithms.
    enum Mode {
        /// A hit raises the packet's own probability.
        Full = "full",
        /// A hit does not raise it.
        Simple = "simple",
    }
}

const OWN: [Param; 6] = [
    Param::word("mode", Mode::WORDS, "full")
        .says(PAPER, "Full SRED raises the probability for packets that hit, simple SRED does not."),
    Param::whole("zombies", Unit::None, (1, 65_536), 1000).symbol("M").says(PAPER, "Length of the list."),
    Param::real("overwrite", Unit::None, Kind::above(0.0, 1.0), 0.25)
        .symbol("p")
        .says(PAPER, "Probability that a packet without a hit overwrites the zombie."),
    Param::real("weight", Unit::None, Kind::above(0.0, 1.0).or_auto(), 0.001)
        .symbol("\\alpha")
        .says(PAPER, "Weight of an arrival in the share of hits; \"auto\" is overwrite/zombies."),
    Param::real("max_p", Unit::None, Kind::above(0.0, 1.0), 0.15)
        .symbol("p_{max}")
        .says(PAPER, "Drop probability with a third of the buffer filled and many flows."),
    Param::real("many_flows", Unit::None, Kind::above(0.0, f64::INFINITY).open_high(), 256.0).says(
        PAPER,
        "Flows from which the drop probability depends on the buffer alone; below, it falls with their square.",
    ),
];

/// The declaration.
pub const SPEC: AqmSpec = AqmSpec {
    summary: "Stabilized RED: drop probability from the buffer and an estimate of the number of flows",
    source: "Ott, Lakshman, Wong: SRED: stabilized RED, INFOCOM 1999",
    params: &[&OWN],
    build: &|values, _, limit| Ok(Built::Policy(Box::new(Sred::new(values, limit)))),
    ..AqmSpec::named("sred", "SRED", "flow-aware RED", 1999)
};

/// The policy.
pub struct Sred {
    /// Full or simple SRED.
    mode: Mode,
    /// M, the length of the zombie list.
    most: usize,
    /// p, the probability that a packet without a hit overwrites the zombie it met.
    overwrite: f64,
    /// alpha, the weight of an arrival in the hit frequency.
    weight: f64,
    /// p_max, a probability.
    max_p: f64,
    /// Flows from which p_zap depends on the buffer alone (256 in the paper).
    many_flows: f64,
    /// B, the buffer, packets or bytes.
    limit: Limit,
    /// The flows in the zombie list.
    zombies: Vec<u64>,
    /// P(t), the averaged share of arrivals that hit.
    hit_share: f64,
    /// p_zap of the last arrival, a probability.
    p: f64,
}

impl Sred {
    fn new(values: &Values, limit: Limit) -> Self {
        let real = |name| values.real(&OWN, name);
        let (most, overwrite) = (values.whole(&OWN, "zombies") as usize, real("overwrite"));
        let weight = real("weight");
        Sred {
            mode: values.choice(&OWN, "mode"),
            most,
            overwrite,
            weight: if weight.is_nan() { overwrite / most as f64 } else { weight },
            max_p: real("max_p"),
            many_flows: real("many_flows"),
            limit,
            zombies: Vec::with_capacity(most),
            hit_share: 0.0,
            p: 0.0,
        }
    }

    /// Compares `flow` with a zombie drawn at random and updates the hit frequency; true if it was a hit.
    #[inline]
    fn compare(&mut self, flow: u64, cx: &mut Context<'_>) -> bool {
        let met = ((cx.random.uniform() * self.most as f64) as usize).min(self.most - 1);
        let same = self.zombies[met] == flow;
        if !same && hit(cx.random.uniform(), self.overwrite) {
            self.zombies[met] = flow;
        }
        self.hit_share = (1.0 - self.weight) * self.hit_share + if same { self.weight } else { 0.0 };
        same
    }

    /// p_sred, by the part of the buffer that is in use.
    #[inline]
    fn by_buffer(&self, queue: &QueueView<'_>) -> f64 {
        let (filled, buffer) = match self.limit {
            Limit::Packets(n) => (queue.packets as f64, n as f64),
            Limit::Bytes(n) => (queue.bytes as f64, n as f64),
        };
        if 3.0 * filled >= buffer {
            self.max_p
        } else if 6.0 * filled >= buffer {
            self.max_p / 4.0
        } else {
            0.0
        }
    }

    #[inline]
    fn probability(&self, same: bool, queue: &QueueView<'_>) -> f64 {
        let base = self.by_buffer(queue);
        if base == 0.0 || self.hit_share == 0.0 {
            return base;
        }
        let flows = 1.0 / (self.many_flows * self.hit_share);
        let simple = base * (flows * flows).min(1.0);
        if self.mode == Mode::Full && same && simple > 0.0 {
            (simple * (1.0 + 1.0 / self.hit_share)).min(1.0)
        } else {
            simple
        }
    }
}

impl Policy for Sred {
    fn on_enqueue(&mut self, packet: &Packet, queue: &QueueView<'_>, cx: &mut Context<'_>) -> Verdict {
        if self.zombies.len() < self.most {
            self.zombies.push(packet.flow);
            return Verdict::Pass;
        }
        let same = self.compare(packet.flow, cx);
        self.p = self.probability(same, queue);
        if self.p == 0.0 || !hit(cx.random.uniform(), self.p) {
            Verdict::Pass
        } else if self.p < 1.0 {
            Verdict::Signal(Reason::Early)
        } else {
            Verdict::Signal(Reason::Forced)
        }
    }

    fn gauges(&self, out: &mut dyn FnMut(&'static str, f64)) {
        out("p", self.p);
        out("p_hit", self.hit_share);
        out("flows", if self.hit_share > 0.0 { 1.0 / self.hit_share } else { 0.0 });
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::prelude::*;

    fn sred(pairs: &[(&'static str, Value)], limit: Limit) -> Sred {
        let mut values = Values::new();
        for &(name, value) in pairs {
            assert!(SPEC.param(name).is_some_and(|param| param.allows(value)), "{name}");
            values.set(name, value);
        }
        Sred::new(&values, limit)
    }

    fn view(packets: u64, bytes: u64) -> QueueView<'static> {
        QueueView { packets, bytes, idle_since: None, contents: None }
    }

    /// The verdict on an arrival of `flow` that draws exactly these numbers.
    fn arrive(sred: &mut Sred, flow: u64, packets: u64, draws: &[f64]) -> Verdict {
        let mut left: std::collections::VecDeque<f64> = draws.iter().copied().collect();
        let mut random = Generator::custom(move || left.pop_front().expect("no more draws than that"));
        let mut victims = Vec::new();
        let mut cx =
            Context { now: Time::ZERO, ecn: false, has_room: true, random: &mut random, victims: &mut victims };
        sred.on_enqueue(&Packet::new(flow, 1000), &view(packets, packets * 1000), &mut cx)
    }

    #[test]
    fn sixths_and_thirds_of_the_buffer() {
        let queue = sred(&[], Limit::Packets(60));
        for (packets, p) in [(0, 0.0), (9, 0.0), (10, 0.0375), (19, 0.0375), (20, 0.15), (59, 0.15), (60, 0.15)] {
            assert_eq!(queue.by_buffer(&view(packets, 0)), p, "{packets} packets");
        }
        let queue = sred(&[], Limit::Bytes(60_000));
        for (bytes, p) in [(9_999, 0.0), (10_000, 0.0375), (19_999, 0.0375), (20_000, 0.15)] {
            assert_eq!(queue.by_buffer(&view(0, bytes)), p, "{bytes} B");
        }
    }

    #[test]
    fn packets_pass_while_the_list_fills() {
        let mut queue = sred(&[("zombies", Value::Whole(3)), ("max_p", Value::Real(1.0))], Limit::Packets(6));
        for flow in 0..3 {
            assert_eq!(arrive(&mut queue, flow, 5, &[]), Verdict::Pass, "no draw either");
        }
        assert_eq!(queue.zombies, [0, 1, 2]);
        // The third zombie is drawn and overwritten; P = 0, so p = max_p = 1.
        assert_eq!(arrive(&mut queue, 7, 5, &[0.7, 0.25, 0.5]), Verdict::Signal(Reason::Forced));
        assert_eq!(queue.zombies, [0, 1, 7]);
        arrive(&mut queue, 8, 0, &[0.7, 0.251]);
        assert_eq!(queue.zombies, [0, 1, 7], "0.251 > 0.25, and no draw where p = 0");
        arrive(&mut queue, 7, 0, &[1.0]);
        assert!((queue.hit_share - 0.001).abs() < 1e-18, "a hit overwrites nothing; a draw of 1 is the last zombie");
    }

    #[test]
    fn few_flows_are_dropped_less_and_hits_more() {
        for (mode, same, p) in [
            ("simple", false, 0.15 / 6.5536),
            ("simple", true, 0.15 / 6.5536),
            ("full", false, 0.15 / 6.5536),
            ("full", true, 1.0),
        ] {
            let mut queue = sred(&[("mode", Value::Choice(mode))], Limit::Packets(60));
            queue.hit_share = 0.01;
            assert!((queue.probability(same, &view(30, 0)) - p).abs() < 1e-12, "{mode} {same}");
            queue.hit_share = 1.0 / 256.0;
            assert!((queue.probability(false, &view(30, 0)) - 0.15).abs() < 1e-12, "256 flows are many");
            queue.hit_share = 0.001;
            assert_eq!(queue.probability(false, &view(30, 0)), 0.15, "more are no more");
            queue.hit_share = 1.0;
            assert!((queue.probability(false, &view(30, 0)) - 0.15 / 65_536.0).abs() < 1e-18);
            assert!(
                (queue.probability(same, &view(30, 0))
                    - 0.15 / 65_536.0 * if mode == "full" && same { 2.0 } else { 1.0 })
                .abs()
                    < 1e-18
            );
            assert_eq!(queue.probability(same, &view(9, 0)), 0.0);
        }
    }

    #[test]
    fn weight_auto_is_overwrite_by_zombies() {
        let queue = sred(&[("weight", Value::Auto), ("zombies", Value::Whole(500))], Limit::Packets(60));
        assert_eq!(queue.weight, 0.0005);
    }
}
