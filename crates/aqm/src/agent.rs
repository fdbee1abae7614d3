//! # Agent
//!
//! ## What it does
//! Signals each arrival that finds space with probability `p`, independently. Whoever runs the simulation changes `p`
//! during the run ([`Discipline::change`](crate::Discipline::change)): a learning agent, or a controller under test.
//!
//! ## Source
//! None: it decides nothing. It is no part of the catalogue; `earlydrop.gym` puts it in front of a link.
//!
//! ## Differences
//! None known.
//!
//! ## Example
//! ```
//! use earlydrop_aqm::{agent, catalogue, gate::Gate, params::{Value, Values}, policy::Limit, random::Generator};
//! use earlydrop_aqm::{discipline::Fifo, Discipline, Packet, Time};
//!
//! let link = catalogue::Link { rate_bps: 10e6, delay_s: 0.01 };
//! let built = |p| (agent::SPEC.build)(Values::new().set("p", Value::Real(p)), &link, Limit::Packets(9)).unwrap();
//! let catalogue::Built::Policy(policy) = built(0.0) else { unreachable!() };
//! let mut queue = Fifo::new(Gate::new(policy, Limit::Packets(9), false, Generator::stream(1, "queue")));
//! queue.enqueue(Packet::new(1, 1000), Time::ZERO, &mut |_, _| {});
//! assert!(queue.change(built(1.0)));
//! queue.enqueue(Packet::new(1, 1000), Time::ZERO, &mut |_, _| {});
//! assert_eq!((queue.packets(), queue.counters().drops()), (1, 1));
//! ```

use crate::catalogue::{AqmSpec, Built};
use crate::params::{Kind, Param, Unit};
use crate::parts::independent;
use crate::policy::{Context, Policy, QueueView, Verdict};
use crate::Packet;
use std::any::Any;

const PARAMS: [Param; 1] = [Param::real("p", Unit::None, Kind::real(0.0, 1.0), 0.0)
    .symbol("p")
    .says("nothing is dropped until it is set", "Probability of a drop or mark.")];

/// The declaration.
pub const SPEC: AqmSpec = AqmSpec {
    summary: "A drop probability that is set from outside while the simulation runs",
    source: "None",
    file: include_str!("agent.rs"),
    params: &[&PARAMS],
    build: &|values, _, _| Ok(Built::Policy(Box::new(Agent { p: values.real(&PARAMS, "p") }))),
    ..AqmSpec::named("agent", "Agent", "load and queue control", 2026)
};

/// The policy.
pub struct Agent {
    /// Probability of a signal.
    p: f64,
}

impl Policy for Agent {
    fn on_enqueue(&mut self, _packet: &Packet, _queue: &QueueView<'_>, cx: &mut Context<'_>) -> Verdict {
        if !cx.has_room {
            return Verdict::Pass;
        }
        independent::draw(self.p, cx)
    }

    fn gauges(&self, out: &mut dyn FnMut(&'static str, f64)) {
        out("p", self.p);
    }

    fn resume(&mut self, before: &dyn Any) -> bool {
        before.is::<Agent>()
    }
}
