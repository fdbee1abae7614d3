//! # FQ-PIE
//!
//! ## What it does
//! Spreads the flows over 1024 queues by a hash, serves them in turn as FQ-CoDel does, and runs PIE in each: every
//! queue has a drop probability of its own, moved by its own delay (see PIE). A flow that sends less than its share
//! keeps a short queue, and so is not dropped whatever the others do.
//!
//! ## Source
//! M. P. Tahiliani, G. Ramakrishnan and others, Linux `net/sched/sch_fq_pie.c` and ns-3 `fq-pie-queue-disc.cc`; there
//! is no paper of its own. The scheduler is that of RFC 8290, the probability that of RFC 8033.
//!
//! ## Differences
//! 1. `dialect` chooses among rules on which the two differ, those of PIE among them:
//!
//!    | | linux | ns3 |
//!    |---|---|---|
//!    | at the limit | the arrival is dropped, and its queue's `accu` is 0 | the fattest queue loses half its bytes from the head |
//!    | a queue that holds the whole limit | as at the limit | the arrival is dropped |
//!    | `quantum`, auto | 1514 B | 1500 B |
//!    | a queue becomes active | when a packet is admitted | when a packet arrives, even if PIE drops it |
//!    | an empty new queue | to the old ones if there are any, else idle | to the old ones |
//!    | `derandomise`, `fast_growth`, auto | on, on | off, off |
//!
//! 2. In ns-3 each queue's timer starts when the queue is first used, in Linux one timer serves all, at most 2048
//!    queues at a time. Here one timer moves all queues at once in both.
//! 3. A queue that is empty and whose probability, delay and burst allowance an update would not change is left out of
//!    the timer's round. Linux updates all its queues. A round's cost grows with the remaining queues, not with the
//!    packet rate: `docs/performance.md` has the figures.
//! 4. Linux marks by its `ecn_prob` of 10 %; here that is PIE's `mark_ecnth`. The port decides whether packets are
//!    marked at all.
//! 5. Linux counts memory against 32 MB, but admits the packet in any case; here it is not counted.
//! 6. Classification, salt and numbering of the queues are as in FQ-CoDel. With `perfect`, a new flow does not inherit
//!    the probability of the flow whose queue it gets.
//!
//! ## Example
//! ```
//! use earlydrop_aqm::{catalogue, params::{Value, Values}, policy::Limit, random::Generator, Packet, Time};
//!
//! let link = catalogue::Link { rate_bps: 10e6, delay_s: 0.02 };
//! let mut values = Values::new();
//! values.set("classify", Value::Choice("perfect"));
//! let catalogue::Built::Discipline(finish) = (catalogue::find("fq_pie").unwrap().build)(&values, &link, Limit::Packets(200)).unwrap()
//!     else { unreachable!() };
//! let mut queue = finish(false, Generator::stream(1, "queue"));
//! let mut dropped = [0, 0];
//! for step in 0..100_000 {
//!     let now = Time::from_seconds(f64::from(step) * 0.2e-3);
//!     // Flow 0 sends 12 Mbit/s, flow 1 one packet in a hundred; the link takes 10 Mbit/s; the timer runs every 15 ms.
//!     if step % 5 == 0 {
//!         queue.enqueue(Packet::new(0, 1500), now, &mut |packet, _| dropped[packet.flow as usize] += 1);
//!     }
//!     if step % 500 == 0 {
//!         queue.enqueue(Packet::new(1, 1500), now, &mut |packet, _| dropped[packet.flow as usize] += 1);
//!     }
//!     if step % 6 == 0 {
//!         queue.dequeue(now, &mut |_, _| {});
//!     }
//!     if step % 75 == 0 {
//!         queue.on_timer(now);
//!     }
//! }
//! assert!(dropped[0] > 2000 && dropped[1] == 0, "{dropped:?}");
//! ```

use crate::catalogue::AqmSpec;
use crate::default_limit::DefaultLimit;
use crate::params::{words, Param, ParamError, Values, Word};
use crate::parts::fair::{self, FairQueues};
use crate::parts::flow_aqm::{FlowAqm, FlowQueues, Queues};
use crate::parts::pie::{self, Dialect, PieState};
use crate::policy::{Context, Limit, Reason, Room, Verdict};
use crate::{Packet, Time};

words! {
    /// Whose FQ-PIE.
    enum Program {
        /// Linux, `sch_fq_pie.c`.
        Linux = "linux",
        /// ns-3, `fq-pie-queue-disc.cc`.
        Ns3 = "ns3",
    }
}

const OWN: [Param; 1] = [Param::word("dialect", Program::WORDS, "linux").says(
    "Linux sch_fq_pie",
    "Whose FQ-PIE: Linux's or ns-3's; they differ in PIE, and in which packets are dropped at the limit.",
)];

/// The declaration.
pub const SPEC: AqmSpec = AqmSpec {
    summary: "A queue for each flow, new flows first, PIE in every queue",
    source: "Linux net/sched/sch_fq_pie.c, 2020; ns-3 fq-pie-queue-disc.cc",
    params: &[&OWN, &pie::PARAMS, &fair::PARAMS],
    limit: DefaultLimit::Packets { packets: 10_240, source: "Linux sch_fq_pie" },
    check: &|values, _| read(values, Limit::Packets(1)).map(|_| ()),
    build: &|values, _, limit| {
        let (aqm, fair) = read(values, limit)?;
        Ok(FlowQueues::built(aqm, fair, limit))
    },
    ..AqmSpec::named("fq_pie", "FQ-PIE", "several queues", 2020)
};

fn read(values: &Values, limit: Limit) -> Result<(PieInEach, fair::Settings), ParamError> {
    let (dialect, rules) = match values.choice(&OWN, "dialect") {
        Program::Linux => (Dialect::Linux, fair::Rules::LINUX),
        Program::Ns3 => (Dialect::Ns3, fair::Rules::NS3),
    };
    let (pie, fair) = (pie::Settings::read(values, dialect, limit), fair::Settings::read(values, rules)?);
    let is_awake = vec![false; fair.queues()];
    Ok((PieInEach { awake: Vec::with_capacity(is_awake.len()), is_awake, next: pie.first_update, pie }, fair))
}

/// PIE in every queue.
struct PieInEach {
    pie: pie::Settings,
    /// The queues whose state an update may change.
    awake: Vec<u32>,
    /// Whether a queue is in `awake`.
    is_awake: Vec<bool>,
    /// When the probabilities are updated next.
    next: Time,
}

impl FlowAqm for PieInEach {
    type State = PieState;

    fn fresh(&self) -> PieState {
        PieState::new(&self.pie)
    }

    fn arrive(
        &mut self,
        state: &mut PieState,
        queue: usize,
        packet: &mut Packet,
        _dscp: u8,
        now: Time,
        queues: &mut Queues,
    ) -> Result<bool, Reason> {
        if !std::mem::replace(&mut self.is_awake[queue], true) {
            self.awake.push(queue as u32);
        }
        let (packets, bytes) = (queues.fair.packets_in(queue), queues.fair.bytes_in(queue));
        let has_room = if self.pie.dialect() == Dialect::Ns3 {
            queues.activates_and_fits(queue, packet)
        } else {
            Room::holding(queues.limit).admits(packet, queues.fair.packets(), queues.fair.bytes())
        };
        let (random, victims) = (&mut queues.random, &mut Vec::new());
        let mut cx = Context { now, ecn: queues.ecn, has_room, random, victims };
        match state.arrive(&self.pie, packet, packets, bytes, &mut cx) {
            Verdict::Drop(reason) => return Err(reason),
            Verdict::Signal(_) => {
                queues.counters.mark(packet, queues.ecn);
            }
            _ => {}
        }
        Ok(false)
    }

    fn leave(
        &mut self,
        state: &mut PieState,
        queue: usize,
        now: Time,
        queues: &mut Queues,
    ) -> Option<(Packet, Option<Reason>)> {
        let packet = queues.fair.pop(queue)?;
        state.depart(&self.pie, &packet, queues.fair.bytes_in(queue), now);
        Some((packet, None))
    }

    fn next_timer(&self) -> Option<Time> {
        Some(self.next)
    }

    fn on_timer(&mut self, states: &mut [PieState], fair: &FairQueues) {
        let PieInEach { pie, awake, is_awake, .. } = self;
        awake.retain(|&queue| {
            let queue = queue as usize;
            let (state, bytes) = (&mut states[queue], fair.bytes_in(queue));
            let before = (bytes == 0).then(|| state.clone());
            state.update(pie, bytes);
            is_awake[queue] = before.is_none_or(|before| *state != before);
            is_awake[queue]
        });
        self.next = self.next + self.pie.tupdate;
    }

    fn gauges(&self, states: &[PieState], out: &mut dyn FnMut(&'static str, f64)) {
        let largest = self.awake.iter().map(|&queue| states[queue as usize].probability()).fold(0.0, f64::max);
        out("p_max", largest);
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::discipline::Admitted;
    use crate::prelude::*;

    fn build(given: &[(&'static str, Value)], limit: Limit, ecn: bool) -> FlowQueues<PieInEach> {
        let mut values = Values::of(&[("classify", Value::Choice("perfect"))]);
        for &(name, value) in given {
            values.set(name, value);
        }
        let (aqm, fair) = read(&values, limit).unwrap();
        FlowQueues::new(aqm, fair, limit, ecn, Generator::stream(1, "queue"))
    }

    fn dialect(word: &'static str) -> (&'static str, Value) {
        ("dialect", Value::Choice(word))
    }

    fn at(seconds: f64) -> Time {
        Time::from_seconds(seconds)
    }

    fn fill(queue: &mut FlowQueues<PieInEach>, flow: u64, packets: u32, size: u32) -> Vec<(u64, u32, Reason)> {
        let mut died = Vec::new();
        for tag in 0..packets {
            let packet = Packet { tag, ..Packet::new(flow, size) };
            queue.enqueue(packet, Time::ZERO, &mut |p, reason| died.push((p.flow, p.tag, reason)));
        }
        died
    }

    fn p(queue: &FlowQueues<PieInEach>) -> f64 {
        let mut found = f64::NAN;
        queue.gauges(&mut |name, value| found = if name == "p_max" { value } else { found });
        found
    }

    #[test]
    fn queues_take_turns_as_in_fq_codel() {
        for word in ["linux", "ns3"] {
            let mut queue = build(&[dialect(word), ("quantum", Value::Real(1514.0))], Limit::Packets(100), false);
            fill(&mut queue, 0, 4, 1500);
            fill(&mut queue, 1, 6, 500);
            fill(&mut queue, 2, 2, 100);
            let order: Vec<u64> =
                std::iter::from_fn(|| queue.dequeue(at(0.0), &mut |_, _| {})).map(|p| p.flow).collect();
            assert_eq!(order, [0, 0, 1, 1, 1, 1, 2, 2, 0, 1, 1, 0], "{word}");
        }
    }

    #[test]
    fn at_the_limit_linux_refuses_and_ns3_halves_the_fattest() {
        let mut queue = build(&[], Limit::Packets(20), false);
        fill(&mut queue, 0, 18, 1500);
        assert_eq!(fill(&mut queue, 1, 3, 100), [(1, 2, Reason::Overflow)]);
        let mut queue = build(&[dialect("ns3")], Limit::Packets(20), false);
        fill(&mut queue, 0, 18, 1500);
        let died = fill(&mut queue, 1, 3, 100);
        assert_eq!(died, (0..9).map(|tag| (0, tag, Reason::Overflow)).collect::<Vec<_>>());
        let mut queue = build(&[dialect("ns3")], Limit::Packets(20), false);
        assert_eq!(fill(&mut queue, 0, 21, 1500), [(0, 20, Reason::Overflow)], "it holds the whole limit");
    }

    #[test]
    fn each_queue_has_a_probability_of_its_own() {
        let mut queue =
            build(&[("max_burst", Value::Real(0.0)), ("fast_growth", Value::Flag(false))], Limit::Packets(1000), false);
        // A packet of flow 0 waited 30 ms, with more behind it; one of flow 1 left at once.
        fill(&mut queue, 0, 5, 1000);
        queue.dequeue(at(0.03), &mut |_, _| {});
        let want =
            [1.922607e-5, 3.387451e-5, 4.852295e-5, 6.317139e-5, 7.781982e-5, 9.246826e-5, 1.071167e-4, 1.657104e-4];
        queue.enqueue(Packet::new(1, 100), at(0.03), &mut |_, _| {});
        for want in want {
            queue.on_timer(at(0.5));
            assert!((p(&queue) - want).abs() < 1e-10, "{} not {want}", p(&queue));
        }
        let second = queue.queues.fair.classify(1).0;
        assert_eq!(queue.states[second].probability(), 0.0);
    }

    #[test]
    fn queues_at_rest_leave_the_timer_alone() {
        for word in ["linux", "ns3"] {
            let mut queue = build(&[dialect(word)], Limit::Packets(1000), false);
            for flow in 0..50 {
                queue.enqueue(Packet::new(flow, 100), at(0.0), &mut |_, _| {});
            }
            while queue.dequeue(at(0.2), &mut |_, _| {}).is_some() {}
            assert_eq!(queue.aqm.awake.len(), 50);
            (0..200).for_each(|_| queue.on_timer(at(1.0)));
            assert_eq!(queue.aqm.awake.len(), 0, "{word}");
            queue.enqueue(Packet::new(7, 100), at(2.0), &mut |_, _| {});
            assert_eq!(queue.aqm.awake.len(), 1);
        }
    }

    #[test]
    fn an_empty_queue_with_a_probability_is_not_at_rest() {
        let mut queue = build(&[("max_burst", Value::Real(0.0))], Limit::Packets(1000), false);
        fill(&mut queue, 1, 2, 1000);
        queue.dequeue(at(0.03), &mut |_, _| {});
        (0..150).for_each(|_| queue.on_timer(at(0.5)));
        let high = p(&queue);
        queue.dequeue(at(0.6), &mut |_, _| {});
        (0..5).for_each(|_| queue.on_timer(at(0.7)));
        assert!(0.0 < p(&queue) && p(&queue) < high, "{} after {high}", p(&queue));
        (0..5000).for_each(|_| queue.on_timer(at(0.7)));
        assert_eq!((queue.states[0].probability(), queue.aqm.awake.len()), (0.0, 0));
    }

    #[test]
    fn a_new_flow_does_not_inherit_a_probability() {
        let one = ("queues", Value::Whole(1));
        let mut queue = build(&[one, ("max_burst", Value::Real(0.0))], Limit::Packets(1000), false);
        fill(&mut queue, 1, 2, 1000);
        queue.dequeue(at(0.3), &mut |_, _| {});
        (0..10).for_each(|_| queue.on_timer(at(0.5)));
        while queue.dequeue(at(0.6), &mut |_, _| {}).is_some() {}
        for (flow, inherits) in [(1, true), (2, false)] {
            queue.enqueue(Packet::new(flow, 1000), at(0.6), &mut |_, _| {});
            assert_eq!(p(&queue) > 0.0, inherits);
            while queue.dequeue(at(0.6), &mut |_, _| {}).is_some() {}
        }
    }

    #[test]
    fn the_timer_is_the_dialects() {
        let times = |word| {
            let mut queue = build(&[dialect(word)], Limit::Packets(10), false);
            let first = queue.next_timer().unwrap();
            queue.on_timer(first);
            (first.seconds(), queue.next_timer().unwrap() - first)
        };
        assert_eq!(times("linux"), (0.5, 0.515 - 0.5));
        assert_eq!(times("ns3"), (0.0, 0.015));
    }

    #[test]
    fn a_refused_arrival_activates_its_queue_in_ns3_only() {
        for (word, active) in [("linux", 0), ("ns3", 1)] {
            let mut queue = build(&[dialect(word)], Limit::Bytes(100), false);
            assert_eq!(queue.enqueue(Packet::new(3, 1500), at(0.0), &mut |_, _| {}), None);
            assert_eq!(queue.queues.fair.new_and_old().0, active, "{word}");
        }
    }

    #[test]
    fn ect_packets_are_marked_on_the_way_in() {
        let given =
            [("max_burst", Value::Real(0.0)), ("derandomise", Value::Flag(false)), ("mark_ecnth", Value::Real(1.0))];
        let mut queue = build(&given, Limit::Packets(1000), true);
        fill(&mut queue, 1, 100, 1500);
        queue.dequeue(at(5.0), &mut |_, _| {});
        (0..500).for_each(|_| queue.on_timer(at(5.0)));
        let packet = Packet { ecn: Ecn::Ect0, ..Packet::new(1, 1500) };
        assert_eq!(queue.enqueue(packet, at(5.0), &mut |_, _| {}), Some(Admitted(true)));
        assert_eq!(queue.enqueue(Packet::new(1, 1500), at(5.0), &mut |_, _| {}), None);
        assert_eq!((queue.queues.counters.marks, queue.queues.counters.forced_drops), (1, 1));
    }
}
