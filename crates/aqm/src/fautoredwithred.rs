//! # FAutoREDwithRED
//!
//! ## What it does
//! AutoREDwithRED with CHOKe's test before RED's: from `min_th` on, an arrival is compared with a packet drawn at
//! random from the queue; if both are of one flow, both are dropped. Else from `Cur_maxth` on it is dropped, and below
//! it RED decides.
//!
//! ## Source
//! K. Chitra, G. Padmavathi, "FAutoREDwithRED: an algorithm to reduce queue oscillation in Internet routers", about
//! 2010. Only the abstract was readable: queue-based management with flow information, to reduce oscillation and
//! improve fairness. **The scheme is our reconstruction**: FLoadAutoRED (2011, Table 6.1) without its load stage.
//!
//! ## Differences
//! 1. At the ends, Table 6.1 differs from CHOKe by an equals sign: it draws from `min_th` on, not above it, and drops
//!    from `Cur_maxth` on, as RED does.
//! 2. A match leaves RED's count alone, as in Linux' CHOKe; the chapter does not say. It is counted as a forced drop,
//!    and is never a mark. The gauge `matched` counts matches.
//! 3. An empty queue costs no random number, and which packet a number names is as in `choke`.
//! 4. The average and the threshold are ours: see `autored` and `autoredwithred`.
//!
//! ## Example
//! ```
//! use earlydrop_aqm::{catalogue, gate::Gate, params::{Value, Values}, policy::Limit, random::Generator};
//! use earlydrop_aqm::{discipline::Fifo, Discipline, Packet, Time};
//!
//! let link = catalogue::Link { rate_bps: 10e6, delay_s: 0.01 };
//! let mut values = Values::new();
//! values.set("min_th", Value::Real(2.0)).set("max_th", Value::Real(20.0));
//! values.set("weight", Value::Choice("constant")).set("w_q", Value::Real(1.0));
//! let limit = Limit::Packets(50);
//! let spec = catalogue::find("fautoredwithred").unwrap();
//! let catalogue::Built::Policy(policy) = (spec.build)(&values, &link, limit).unwrap() else { unreachable!() };
//! let mut queue = Fifo::new(Gate::new(policy, limit, false, Generator::stream(1, "queue")));
//! let mut arrive = |flow| queue.enqueue(Packet::new(flow, 1000), Time::ZERO, &mut |_, _| {}).is_some();
//! assert!(arrive(1) && arrive(1));
//! assert!(!arrive(1), "two wait, min_th is reached, and the packet drawn is its own");
//! assert!(arrive(2));
//! ```

use crate::catalogue::{AqmSpec, Built, Link};
use crate::default_limit::DefaultLimit;
use crate::params::{ParamError, Values};
use crate::parts::auto_red::{check, curve, red, AutoRed, RED};
use crate::parts::curve::Linear;
use crate::parts::{auto_weight, two_levels};
use crate::policy::{Context, Limit, Needs, Policy, QueueView, Room, Verdict};
use crate::Packet;

/// The declaration.
pub const SPEC: AqmSpec = AqmSpec {
    name: "fautoredwithred",
    title: "FAutoREDwithRED",
    family: "flow-aware RED",
    year: 2010,
    summary: "AutoREDwithRED behind CHOKe's test: an arrival that meets its own flow is dropped with the packet it met",
    source: "Chitra, Padmavathi, about 2010 (reconstructed from FLoadAutoRED, 2011)",
    file: include_str!("fautoredwithred.rs"),
    params: &[&RED, &auto_weight::PARAMS, &two_levels::PARAMS],
    linux: false,
    limit: DefaultLimit::RED,
    check: &check,
    build: &|values, link, limit| Ok(Built::Policy(Box::new(FAutoRedWithRed::new(values, link, limit)?))),
    curve: Some(&curve),
};

/// The policy.
pub struct FAutoRedWithRed {
    /// RED with the weight of AutoRED and two levels of max_th.
    red: AutoRed<Linear>,
    /// Arrivals that met a packet of their own flow.
    matched: u64,
}

impl FAutoRedWithRed {
    fn new(values: &Values, link: &Link, limit: Limit) -> Result<Self, ParamError> {
        let (set, line) = red(values, link)?;
        Ok(FAutoRedWithRed { red: AutoRed::new(values, set, line, limit)?.with_two_levels(values), matched: 0 })
    }
}

impl Policy for FAutoRedWithRed {
    fn needs(&self) -> Needs {
        Needs { dequeue: false, contents: true }
    }

    fn room(&self, limit: Limit) -> Room {
        self.red.room(limit)
    }

    fn on_enqueue(&mut self, packet: &Packet, queue: &QueueView<'_>, cx: &mut Context<'_>) -> Verdict {
        let average = self.red.observe(queue, cx.now);
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

    fn average(&self) -> Option<f64> {
        Some(self.red.average())
    }

    fn gauges(&self, out: &mut dyn FnMut(&'static str, f64)) {
        self.red.gauges(out);
        out("matched", self.matched as f64);
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::discipline::Fifo;
    use crate::gate::Gate;
    use crate::params::Value;
    use crate::policy::Reason;
    use crate::random::Generator;
    use crate::{Discipline, Time};

    /// The average is the queue found, RED's own drops out of reach.
    fn queue(limit: u64) -> Fifo {
        let mut values = Values::new();
        values.set("min_th", Value::Real(3.0)).set("max_th", Value::Real(6.0)).set("max_p", Value::Real(1e-9));
        values.set("weight", Value::Choice("constant")).set("w_q", Value::Real(1.0));
        let link = Link { rate_bps: 8e6, delay_s: 0.01 };
        let policy = FAutoRedWithRed::new(&values, &link, Limit::Packets(limit)).unwrap();
        Fifo::new(Gate::new(Box::new(policy), Limit::Packets(limit), false, Generator::stream(1, "queue")))
    }

    fn arrive(queue: &mut Fifo, flow: u64) -> Vec<Reason> {
        let mut died = Vec::new();
        queue.enqueue(Packet::new(flow, 1000), Time::ZERO, &mut |_, reason| died.push(reason));
        died
    }

    #[test]
    fn one_flow_meets_itself_from_min_th_on() {
        let mut queue = queue(100);
        for found in 0..3 {
            assert_eq!(arrive(&mut queue, 1), [], "{found} wait");
        }
        assert_eq!(arrive(&mut queue, 1), [Reason::Forced, Reason::Forced], "3 wait");
        assert_eq!(queue.packets(), 2);
    }

    /// In a buffer of 100 the threshold stays at 6; in one of 10, it is raised to 7.
    #[test]
    fn strangers_are_dropped_from_the_upper_threshold_on() {
        for (limit, held) in [(100, 6), (10, 7)] {
            let mut queue = queue(limit);
            for flow in 0..held {
                assert_eq!(arrive(&mut queue, flow), [], "{flow} wait");
            }
            assert_eq!(arrive(&mut queue, 99), [Reason::Forced]);
            assert_eq!(queue.packets(), held);
        }
    }

    #[test]
    fn a_match_leaves_the_count_alone() {
        let mut queue = queue(100);
        for flow in [1, 1, 1, 2] {
            arrive(&mut queue, flow);
        }
        let count = |queue: &Fifo| {
            let mut found = f64::NAN;
            queue.gauges(&mut |name, value| found = if name == "count" { value } else { found });
            found
        };
        assert_eq!(count(&queue), 0.0, "the fourth was the first at min_th");
        while arrive(&mut queue, 1).is_empty() {}
        let before = count(&queue);
        assert_eq!(queue.counters().forced_drops, 2);
        assert!(before >= 0.0);
        arrive(&mut queue, 7);
        assert_eq!(count(&queue), before + 1.0);
    }
}
