//! # FQ-COBALT
//!
//! ## What it does
//! Spreads the flows over 1024 queues by a hash, serves them in turn as FQ-CoDel does, and runs COBALT in each (see
//! COBALT): CoDel whose count decays automatically, and BLUE for a flow that does not respond. A flow that sends less
//! than its share keeps a short queue, and so is neither marked nor dropped whatever the others do.
//!
//! `cake` has such queues in each tin, and also Linux's COBALT, a shaper, and fairness between hosts.
//!
//! ## Source
//! ns-3 `fq-cobalt-queue-disc.cc` (B. Kataria, T. Henderson, M. P. Tahiliani, 2020); there is no paper of its own. The
//! scheduler is that of RFC 8290, COBALT that of ns-3 `cobalt-queue-disc.cc`.
//!
//! ## Differences
//! 1. When more than the limit waits, the queue with the most bytes loses half of itself from its head, and its COBALT
//!    is not told, as in ns-3. A queue that holds the whole limit drops its arrival, and its BLUE is told.
//! 2. Classification, salt and numbering of the queues are as in FQ-CoDel. With `perfect`, a new flow does not inherit
//!    the state of the flow whose queue it gets.
//! 3. ns-3 marks unless told otherwise. Here as everywhere the port decides.
//! 4. The differences that `cobalt` lists for its dialect ns3: the clocks, `ns3_clock`, and 1/sqrt(count) in 32 bits.
//!
//! ## Example
//! ```
//! use earlydrop_aqm::{catalogue, params::{Value, Values}, policy::Limit, random::Generator, Packet, Time};
//!
//! let link = catalogue::Link { rate_bps: 12e6, delay_s: 0.02 };
//! let mut values = Values::new();
//! values.set("classify", Value::Choice("perfect"));
//! let build = catalogue::find("fq_cobalt").unwrap().build;
//! let limit = Limit::Packets(10_240);
//! let catalogue::Built::Discipline(finish) = build(&values, &link, limit).unwrap() else { unreachable!() };
//! let mut queue = finish(false, Generator::stream(1, "queue"));
//! let mut dropped = [Vec::new(), Vec::new()];
//! for _ in 0..500 {
//!     queue.enqueue(Packet::new(0, 1500), Time::ZERO, &mut |_, _| {});
//! }
//! for ms in 0..320 {
//!     // Flow 1 has one packet at a time.
//!     let now = Time::from_seconds(f64::from(ms) * 1e-3);
//!     if ms % 4 == 0 {
//!         queue.enqueue(Packet::new(1, 1500), now, &mut |_, _| {});
//!     }
//!     queue.dequeue(now, &mut |packet, _| dropped[packet.flow as usize].push(ms));
//! }
//! assert!(dropped[0].len() == 4 && dropped[1].is_empty(), "{dropped:?}");
//! ```

use crate::catalogue::AqmSpec;
use crate::cobalt::{Cobalt, Settings, NS3_PARAMS};
use crate::default_limit::DefaultLimit;
use crate::params::{ParamError, Values};
use crate::parts::fair;
use crate::parts::flow_aqm::{FlowAqm, FlowQueues, Queues};
use crate::policy::{Context, Reason, Verdict};
use crate::{Link, Packet, Time};

/// The declaration.
pub const SPEC: AqmSpec = AqmSpec {
    summary: "A queue for each flow, new flows first, COBALT in every queue",
    source: "ns-3 fq-cobalt-queue-disc; COBALT: Hoeiland-Joergensen, Taht, Morton: Piece of CAKE, IEEE LANMAN, 2018",
    params: &[&NS3_PARAMS, &fair::PARAMS],
    limit: DefaultLimit::Packets { packets: 10_240, source: "ns-3 FqCobaltQueueDisc" },
    check: &|values, link| read(values, link).map(|_| ()),
    build: &|values, link, limit| {
        let (aqm, fair) = read(values, link)?;
        Ok(FlowQueues::built(aqm, fair, limit))
    },
    ..AqmSpec::named("fq_cobalt", "FQ-COBALT", "several queues", 2020)
};

fn read(values: &Values, link: &Link) -> Result<(CobaltInEach, fair::Settings), ParamError> {
    let cobalt = Cobalt::new(Settings::of_ns3(values, link)?);
    Ok((CobaltInEach(cobalt), fair::Settings::read(values, fair::Rules::NS3)?))
}

/// COBALT for every queue; the value is its state at the start.
struct CobaltInEach(Cobalt);

impl FlowAqm for CobaltInEach {
    type State = Cobalt;

    fn fresh(&self) -> Cobalt {
        self.0.clone()
    }

    fn arrive(
        &mut self,
        cobalt: &mut Cobalt,
        queue: usize,
        packet: &mut Packet,
        _dscp: u8,
        now: Time,
        queues: &mut Queues,
    ) -> Result<bool, Reason> {
        if queues.activates_and_fits(queue, packet) {
            return Ok(false);
        }
        cobalt.full(now.seconds());
        Err(Reason::Overflow)
    }

    fn leave(
        &mut self,
        cobalt: &mut Cobalt,
        queue: usize,
        now: Time,
        queues: &mut Queues,
    ) -> Option<(Packet, Option<Reason>)> {
        let Some(mut packet) = queues.fair.pop(queue) else {
            cobalt.empty(now.seconds());
            return None;
        };
        let (ecn, victims) = (queues.ecn, &mut Vec::new());
        let mut cx = Context { now, ecn, has_room: true, random: &mut queues.random, victims };
        let dropped = match cobalt.decide(&packet, queues.fair.packets_in(queue) == 0, &mut cx) {
            Verdict::Drop(reason) => Some(reason),
            Verdict::Signal(reason) => (!queues.counters.mark(&mut packet, ecn)).then_some(reason),
            Verdict::Mark => {
                queues.counters.mark(&mut packet, ecn);
                None
            }
            Verdict::Pass | Verdict::Victims { .. } => None,
        };
        Some((packet, dropped))
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::prelude::*;

    fn build(given: &[(&'static str, Value)], limit: Limit, ecn: bool) -> FlowQueues<CobaltInEach> {
        let mut values = Values::of(&[("classify", Value::Choice("perfect"))]);
        for &(name, value) in given {
            values.set(name, value);
        }
        let (aqm, fair) = read(&values, &Link { rate_bps: 10e6, delay_s: 0.0 }).unwrap();
        FlowQueues::new(aqm, fair, limit, ecn, Generator::stream(1, "queue"))
    }

    fn fill(queue: &mut FlowQueues<CobaltInEach>, flow: u64, packets: u32, ecn: Ecn) -> Vec<(u64, u32)> {
        let mut died = Vec::new();
        for tag in 0..packets {
            let packet = Packet { tag, ecn, ..Packet::new(flow, 1500) };
            queue.enqueue(packet, Time::ZERO, &mut |p, _| died.push((p.flow, p.tag)));
        }
        died
    }

    fn p_blue(queue: &FlowQueues<CobaltInEach>, of: usize) -> f64 {
        use crate::policy::Policy;
        let mut found = f64::NAN;
        queue.states[of].gauges(&mut |name, value| found = if name == "p_blue" { value } else { found });
        found
    }

    #[test]
    fn the_parameters_are_those_of_one_queue_of_ns3() {
        let names: Vec<&str> = NS3_PARAMS.iter().map(|param| param.name).collect();
        let ns3 =
            ["target", "interval", "increment", "decrement", "blue_threshold", "ns3_clock", "ce_threshold", "l4s"];
        assert_eq!(names, ns3);
        let values = Values::of(&[("l4s", Value::Flag(true))]);
        assert_eq!(read(&values, &Link { rate_bps: 1e6, delay_s: 0.0 }).err().unwrap().name, "l4s");
    }

    #[test]
    fn one_packet_more_than_the_limit_costs_the_fattest_flow_half_and_its_blue_nothing() {
        let mut queue = build(&[], Limit::Packets(110), false);
        assert!(fill(&mut queue, 1, 100, Ecn::NotEct).is_empty() && fill(&mut queue, 2, 10, Ecn::NotEct).is_empty());
        let died = fill(&mut queue, 3, 1, Ecn::NotEct);
        assert_eq!(died, (0..50).map(|tag| (1, tag)).collect::<Vec<_>>(), "from the head");
        assert_eq!(p_blue(&queue, 0), 0.0);
    }

    #[test]
    fn a_flow_that_has_the_whole_limit_loses_its_arrival_and_its_blue_learns() {
        let mut queue = build(&[], Limit::Packets(10), false);
        let arrive = |queue: &mut FlowQueues<CobaltInEach>, ms: f64| {
            queue.enqueue(Packet::new(1, 1500), Time::from_seconds(ms * 1e-3), &mut |_, _| {}).is_some()
        };
        assert_eq!((0..10).filter(|_| arrive(&mut queue, 1.0)).count(), 10);
        assert!(!arrive(&mut queue, 6.0) && !arrive(&mut queue, 7.0), "once per target");
        assert_eq!(p_blue(&queue, 0), 1.0 / 256.0);
        let mut bytes = build(&[], Limit::Bytes(4000), false);
        assert_eq!((0..5).filter(|_| arrive(&mut bytes, 1.0)).count(), 2);
    }

    #[test]
    fn an_empty_queue_lets_its_blue_fall() {
        let mut queue = build(&[], Limit::Packets(1), false);
        for ms in [1.0, 10.0] {
            queue.enqueue(Packet::new(1, 1500), Time::from_seconds(ms * 1e-3), &mut |_, _| {});
        }
        assert_eq!(p_blue(&queue, 0), 1.0 / 256.0);
        let mut died = 0;
        assert_eq!(queue.dequeue(Time::from_seconds(0.02), &mut |_, _| died += 1), None);
        assert_eq!((died, p_blue(&queue, 0)), (1, 1.0 / 256.0 - 1.0 / 4096.0), "late, and nothing behind it");
    }

    #[test]
    fn late_packets_are_marked_if_they_can_be() {
        for (ecn, drops) in [(Ecn::Ect0, 0), (Ecn::NotEct, 4)] {
            let mut queue = build(&[], Limit::Packets(1000), true);
            fill(&mut queue, 1, 400, ecn);
            (0..320).for_each(|ms| {
                queue.dequeue(Time::from_seconds(f64::from(ms) * 1e-3), &mut |_, _| {});
            });
            assert_eq!((queue.counters().drops(), queue.counters().marks), (drops, 4 - drops), "{ecn:?}");
        }
    }

    #[test]
    fn a_new_flow_does_not_inherit_the_state_of_its_queue() {
        let mut queue = build(&[("queues", Value::Whole(1))], Limit::Packets(1), false);
        for (flow, ms) in [(1, 1.0), (1, 10.0)] {
            queue.enqueue(Packet::new(flow, 1500), Time::from_seconds(ms * 1e-3), &mut |_, _| {});
        }
        assert!(p_blue(&queue, 0) > 0.0);
        while queue.dequeue(Time::from_seconds(0.011), &mut |_, _| {}).is_some() {}
        queue.enqueue(Packet::new(2, 1500), Time::from_seconds(0.012), &mut |_, _| {});
        assert_eq!(p_blue(&queue, 0), 0.0);
    }
}
