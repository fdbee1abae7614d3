//! # FQ-CoDel
//!
//! ## What it does
//! Spreads the flows over 1024 queues by a hash, serves the queues in turn, and runs CoDel in each. A flow that just
//! begins, or sends less than its share, finds its queue empty and is served before queues with a backlog:
//!
//! | | |
//! |---|---|
//! | arrival at an idle queue | the queue goes to the end of the new ones and may send `quantum` bytes |
//! | whose turn | the first of the new queues, else the first of the old |
//! | quantum used up | the queue gets another quantum and goes to the end of the old ones |
//! | queue empty | a new queue goes to the end of the old ones, an old one becomes idle |
//! | departure | the queue's head, unless CoDel drops it |
//! | more than the limit waits | the queue with the most bytes loses half of itself from its head, 64 packets at most |
//!
//! One random number is drawn, at the start: the salt of the hash.
//!
//! ## Source
//! T. Hoeiland-Joergensen, P. McKenney, D. Taht, J. Gettys, E. Dumazet, "The Flow Queue CoDel Packet Scheduler and
//! Active Queue Management Algorithm", RFC 8290, 2018; Linux `net/sched/sch_fq_codel.c`; ns-3 `fq-codel-queue-disc.cc`.
//!
//! ## Differences
//! 1. `dialect` chooses among rules on which the sources differ, those of CoDel among them:
//!
//!    | | rfc | linux | ns3 |
//!    |---|---|---|---|
//!    | `quantum`, auto | 1514 B | 1514 B | 1500 B |
//!    | half of the fattest queue | its packets | its bytes | its bytes |
//!    | `count` after that | stays | grows by the packets dropped | stays |
//!    | small backlog, at which CoDel does not act | of the queue | of all queues | of the queue |
//!    | an empty new queue joins | the old ones | the old ones if there are any, else becomes idle | the old ones |
//!    | one queue holds the whole limit | as any overflow | as any overflow | the arrival is dropped |
//!    | `memory_limit`, auto | none | 32 MiB | none |
//!
//! 2. In RFC 8290 a queue's turn ends at a negative deficit; in Linux, ns-3 and here at 0 too (a reconstruction).
//! 3. Half of an odd number of packets or bytes is rounded down, as the sources do with bytes; at least one packet,
//!    perhaps the arrival, is dropped.
//! 4. RFC 8290 hashes the five-tuple. Here the flow key is hashed (`classify = "hash"`). `set_associative` is ns-3's
//!    option, with sets of 8; ns-3 takes the first queue of the set that is the flow's own or idle, and so may send a
//!    flow past its own backlog; here, as in CAKE, a flow keeps its own queue. With `perfect`, each flow has a queue of
//!    its own (our reading of "one queue per flow"): a new flow gets the queue that has been idle longest, without its
//!    CoDel history; only when no queue is idle do flows share, and then one may overtake itself.
//! 5. Linux counts the memory of its buffers against `memory_limit`; here the bytes on the wire count.
//! 6. Linux, ns-3 and RFC 8290 count the limit in packets, 10240 by default. Here it is the port's, packets or bytes.
//! 7. `ce_threshold` marks for scalable congestion controls (L4S), and the sources restrict it in two ways:
//!
//!    | | Linux: `ce_threshold_selector`, `ce_threshold_mask` | ns-3: `l4s` (`UseL4s`) |
//!    |---|---|---|
//!    | `ce_threshold` marks | packets whose DSCP and ECN field, one byte under the mask, are the selector | those with ECT(1) or CE |
//!    | CoDel acts on them too | yes | no |
//!    | on the others | CoDel alone | CoDel alone |
//!
//!    `ce_threshold_selector 0x1/0x3` of `tc` is a selector of 1 and a mask of 3: ECT(1). DSCP 46 (EF) with any ECN
//!    field: 184, mask 252. The two ways exclude each other. With `ecn = false` nothing is marked; in Linux
//!    `ce_threshold` still marks. Real links pass only the upper three bits of the DSCP.
//! 8. ns-3 numbers its queues in the order of first use, which decides between queues of equal size. Here, as in Linux,
//!    the lowest number loses.
//!
//! ## Example
//! ```
//! use earlydrop_aqm::{catalogue, params::{Value, Values}, policy::Limit, random::Generator, Packet, Time};
//!
//! let link = catalogue::Link { rate_bps: 10e6, delay_s: 0.02 };
//! let mut values = Values::new();
//! values.set("classify", Value::Choice("perfect"));
//! let catalogue::Built::Discipline(finish) = (catalogue::find("fq_codel").unwrap().build)(&values, &link, Limit::Packets(10240)).unwrap()
//!     else { unreachable!() };
//! let mut queue = finish(false, Generator::stream(1, "queue"));
//! // Flow 1 fills the queue; then a packet of flow 2 arrives, and is the next to leave.
//! for _ in 0..100 {
//!     queue.enqueue(Packet::new(1, 1500), Time::ZERO, &mut |_, _| {});
//! }
//! let first = [queue.dequeue(Time::ZERO, &mut |_, _| {}), queue.dequeue(Time::ZERO, &mut |_, _| {})];
//! assert!(first.iter().all(|packet| packet.unwrap().flow == 1));
//! queue.enqueue(Packet::new(2, 100), Time::ZERO, &mut |_, _| {});
//! assert_eq!(queue.dequeue(Time::ZERO, &mut |_, _| {}).unwrap().flow, 2);
//! ```

use crate::catalogue::AqmSpec;
use crate::default_limit::DefaultLimit;
use crate::params::{Kind, Param, ParamError, Unit, Value, Values};
use crate::parts::codel::{self, CodelState, Dialect};
use crate::parts::fair;
use crate::parts::flow_aqm::{FlowAqm, FlowQueues, Queues};
use crate::parts::selector::{self, Selector};
use crate::policy::{Reason, Verdict};
use crate::{Packet, Time};

const OWN: [Param; 1] =
    [Param::new("memory_limit", Unit::Bytes, Kind::real(1.0, f64::INFINITY).or_auto(), Value::Auto).says(
        "Linux: 32 MiB",
        "Limit of the memory, tested beside the limit of packets; auto is 32 MiB for linux, else none.",
    )];

/// The declaration.
pub const SPEC: AqmSpec = AqmSpec {
    summary: "A queue for each flow, new flows first, CoDel in every queue",
    source: "Hoeiland-Joergensen, McKenney, Taht, Gettys, Dumazet: FlowQueue-CoDel, RFC 8290, 2018",
    params: &[&codel::PARAMS, &fair::PARAMS, &OWN, &selector::PARAMS],
    limit: DefaultLimit::Packets { packets: 10_240, source: "RFC 8290, 5.2.3; Linux sch_fq_codel" },
    check: &|values, _| read(values).map(|_| ()),
    build: &|values, _, limit| {
        let (aqm, fair) = read(values)?;
        Ok(FlowQueues::built(aqm, fair, limit))
    },
    ..AqmSpec::named("fq_codel", "FQ-CoDel", "several queues", 2018)
};

fn read(values: &Values) -> Result<(CoDelInEach, fair::Settings), ParamError> {
    let codel = codel::Settings::read(values)?;
    let (rules, automatic) = match codel.dialect() {
        Dialect::Rfc => (fair::Rules::RFC, u64::MAX),
        Dialect::Linux => (fair::Rules::LINUX, 32 << 20),
        Dialect::Ns3 => (fair::Rules::NS3, u64::MAX),
    };
    let memory = values.number(&OWN, "memory_limit").map_or(automatic, |bytes| bytes as u64);
    let fair = fair::Settings::read(values, rules)?;
    Ok((CoDelInEach { codel, selector: Selector::read(values)?, memory }, fair))
}

/// CoDel in every queue.
struct CoDelInEach {
    codel: codel::Settings,
    /// Which packets ce_threshold marks.
    selector: Selector,
    /// memory_limit, bytes of all queues.
    memory: u64,
}

impl FlowAqm for CoDelInEach {
    type State = CodelState;

    fn fresh(&self) -> CodelState {
        CodelState::default()
    }

    #[inline(always)]
    fn arrive(
        &mut self,
        _state: &mut CodelState,
        queue: usize,
        packet: &mut Packet,
        dscp: u8,
        _now: Time,
        queues: &mut Queues,
    ) -> Result<bool, Reason> {
        if self.codel.dialect() == Dialect::Ns3 && !queues.activates_and_fits(queue, packet) {
            return Err(Reason::Overflow);
        }
        Ok(self.selector.selects(packet, dscp))
    }

    #[inline(always)]
    fn leave(
        &mut self,
        state: &mut CodelState,
        queue: usize,
        now: Time,
        queues: &mut Queues,
    ) -> Option<(Packet, Option<Reason>)> {
        let selected = self.selector.selects_all() || queues.fair.note(queue);
        let packet = queues.fair.pop(queue);
        // Linux's backlog is that of all queues (`sch->qstats.backlog`).
        let linux = self.codel.dialect() == Dialect::Linux;
        let backlog = if linux { queues.fair.bytes() } else { queues.fair.bytes_in(queue) };
        let can_mark = queues.ecn && packet.is_some_and(|packet| packet.ecn.is_capable());
        let verdict = state.step(&self.codel, packet.as_ref(), backlog, now, can_mark);
        let mut packet = packet?;
        // Only ce_threshold gives the verdict `Mark`: CoDel's own is `Signal`.
        let passes = verdict == Verdict::Pass || (verdict == Verdict::Mark && !selected);
        let dropped = match verdict {
            _ if passes || queues.counters.mark(&mut packet, queues.ecn) => None,
            Verdict::Signal(reason) => Some(reason),
            _ => None,
        };
        Some((packet, dropped))
    }

    fn over(&self, queues: &Queues) -> bool {
        queues.fair.exceeds(queues.limit) || queues.fair.bytes() > self.memory
    }

    fn overflowed(&self, state: &mut CodelState, dropped: u32) {
        if self.codel.dialect() == Dialect::Linux {
            state.overflowed(dropped);
        }
    }

    fn reads_dscp(&self) -> bool {
        self.selector.reads_dscp()
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::discipline::Built;
    use crate::prelude::*;
    use crate::Header;

    fn build(given: &[(&'static str, Value)], limit: Limit, ecn: bool) -> Box<dyn Discipline> {
        let mut values = Values::of(&[("classify", Value::Choice("perfect"))]);
        for &(name, value) in given {
            values.set(name, value);
        }
        let link = crate::Link { rate_bps: 10e6, delay_s: 0.0 };
        match (SPEC.build)(&values, &link, limit) {
            Ok(Built::Discipline(finish)) => finish(ecn, Generator::stream(1, "salt")),
            _ => panic!("not built"),
        }
    }

    fn dialect(word: &'static str) -> (&'static str, Value) {
        ("dialect", Value::Choice(word))
    }

    fn fill(queue: &mut dyn Discipline, flow: u64, packets: u32) -> Vec<u32> {
        let mut died = Vec::new();
        for tag in 0..packets {
            let packet = Packet { tag, ..Packet::new(flow, 1500) };
            queue.enqueue(packet, Time::ZERO, &mut |p, _| died.push(p.tag));
        }
        died
    }

    #[test]
    fn one_packet_more_than_the_limit_costs_the_fattest_flow_half() {
        for (word, dead) in [("rfc", 50), ("linux", 50)] {
            let mut queue = build(&[dialect(word)], Limit::Packets(110), false);
            assert!(fill(&mut *queue, 1, 100).is_empty());
            assert!(fill(&mut *queue, 2, 10).is_empty());
            let mut died = Vec::new();
            let fate =
                queue.enqueue(Packet::new(3, 100), Time::ZERO, &mut |p, reason| died.push((p.flow, p.tag, reason)));
            assert!(fate.is_some());
            assert_eq!(died.len(), dead);
            assert!(died.iter().enumerate().all(|(i, &d)| d == (1, i as u32, Reason::Overflow)), "from the head");
        }
    }

    #[test]
    fn a_lone_flow_at_the_limit_loses_its_head_and_in_ns3_the_arrival() {
        assert_eq!(fill(&mut *build(&[dialect("rfc")], Limit::Packets(10), false), 1, 11), [0, 1, 2, 3, 4]);
        assert_eq!(fill(&mut *build(&[dialect("linux")], Limit::Packets(10), false), 1, 11), [0, 1, 2, 3, 4, 5]);
        assert_eq!(fill(&mut *build(&[dialect("ns3")], Limit::Packets(10), false), 1, 11), [10]);
    }

    #[test]
    fn an_arrival_that_is_alone_and_too_much_dies_itself() {
        let mut queue = build(&[], Limit::Bytes(1000), false);
        let mut died = 0;
        assert_eq!(queue.enqueue(Packet::new(1, 1500), Time::ZERO, &mut |_, _| died += 1), None);
        assert_eq!((died, queue.packets()), (1, 0));
        let mut queue = build(&[dialect("linux"), ("memory_limit", Value::Real(3000.0))], Limit::Packets(100), false);
        assert_eq!(fill(&mut *queue, 1, 2), [0; 0]);
        assert_eq!(fill(&mut *queue, 2, 1), [0], "the memory limit counts too");
    }

    /// Flow 1 sends so much that its packets are always late; flow 2 sends one packet in between.
    fn late(word: &'static str) -> (u64, u64) {
        let mut queue = build(&[dialect(word), ("invsqrt", Value::Choice("exact"))], Limit::Packets(10_000), false);
        fill(&mut *queue, 1, 1000);
        let mut dropped = [0; 3];
        for ms in 0..500 {
            let now = Time::from_seconds(1.0 + f64::from(ms) * 1.000_001e-3);
            if ms % 10 == 0 {
                queue.enqueue(Packet::new(2, 100), now, &mut |_, _| {});
            }
            queue.dequeue(now, &mut |p, _| dropped[p.flow as usize] += 1);
        }
        (dropped[1], dropped[2])
    }

    #[test]
    fn codel_drops_from_the_flow_that_queues_only() {
        // A packet of flow 2 waits for two turns of flow 1: 2 ms at most.
        for word in ["rfc", "linux", "ns3"] {
            let (one, two) = late(word);
            assert!((7..=9).contains(&one) && two == 0, "{word}: {one} and {two}");
        }
    }

    #[test]
    fn in_linux_the_small_backlog_is_that_of_all_queues() {
        // Flow 1 has one or two packets at a time, which are late; flow 2 has a large backlog.
        let drops = |word| {
            let mut queue = build(&[dialect(word)], Limit::Packets(10_000), false);
            fill(&mut *queue, 2, 1000);
            queue.enqueue(Packet::new(1, 1500), Time::ZERO, &mut |_, _| {});
            let mut died = 0;
            let mut now = 0.0;
            for _ in 0..100 {
                queue.enqueue(Packet::new(1, 1500), Time::from_seconds(now), &mut |_, _| {});
                now += 0.02;
                for _ in 0..2 {
                    queue.dequeue(Time::from_seconds(now), &mut |p, _| died += u32::from(p.flow == 1));
                }
            }
            died
        };
        assert_eq!(drops("rfc"), 0);
        assert!(drops("linux") > 0);
    }

    /// A flow with one packet at a time, late because of other flows, loses none (`codel_dequeue`).
    #[test]
    fn a_sparse_flow_loses_nothing_behind_a_large_backlog() {
        for word in ["rfc", "linux", "ns3"] {
            let mut queue = build(&[dialect(word)], Limit::Packets(10_000), false);
            fill(&mut *queue, 2, 1000);
            let (mut died, mut now) = (0, 0.0);
            for _ in 0..100 {
                queue.enqueue(Packet::new(1, 84), Time::from_seconds(now), &mut |_, _| {});
                now += 0.02;
                for _ in 0..3 {
                    queue.dequeue(Time::from_seconds(now), &mut |p, _| died += u32::from(p.flow == 1));
                }
            }
            assert_eq!(died, 0, "{word}");
        }
    }

    /// ECN fields of packets that leave after 3 ms, for each DSCP and ECN field on arrival.
    fn after_3_ms(given: &[(&'static str, Value)]) -> Vec<Ecn> {
        let threshold = ("ce_threshold", Value::Real(0.001));
        let mut queue = build(&[&[threshold], given].concat(), Limit::Packets(100), true);
        for (flow, (dscp, ecn)) in [(0, Ecn::Ect0), (0, Ecn::Ect1), (46, Ecn::Ect0)].into_iter().enumerate() {
            let (packet, header) =
                (Packet { ecn, ..Packet::new(flow as u64, 1500) }, Header { dscp, ..Header::default() });
            queue.enqueue_with(packet, &header, Time::ZERO, &mut |_, _| {});
        }
        let now = Time::from_seconds(0.003);
        (0..3).map(|_| queue.dequeue(now, &mut |_, _| panic!("dropped")).unwrap().ecn).collect()
    }

    #[test]
    fn a_selector_restricts_ce_threshold() {
        let select = |value, mask| {
            after_3_ms(&[("ce_threshold_selector", Value::Whole(value)), ("ce_threshold_mask", Value::Whole(mask))])
        };
        assert_eq!(after_3_ms(&[]), [Ecn::Ce, Ecn::Ce, Ecn::Ce]);
        assert_eq!(select(1, 3), [Ecn::Ect0, Ecn::Ce, Ecn::Ect0], "0x1/0x3: ECT(1)");
        assert_eq!(select(184, 252), [Ecn::Ect0, Ecn::Ect1, Ecn::Ce], "DSCP 46");
    }

    /// Marks of a queue of ECT(1) packets in 300 ms.
    fn marks_of_ect1(given: &[(&'static str, Value)]) -> usize {
        let mut queue = build(given, Limit::Packets(1000), true);
        for _ in 0..400 {
            queue.enqueue(Packet { ecn: Ecn::Ect1, ..Packet::new(1, 1500) }, Time::ZERO, &mut |_, _| {});
        }
        let leaves = |ms| queue.dequeue(Time::from_seconds(f64::from(ms) * 1.000_001e-3), &mut |_, _| {}).unwrap();
        (0..300).map(leaves).filter(|packet| packet.ecn == Ecn::Ce).count()
    }

    #[test]
    fn codel_acts_on_selected_packets_in_linux_and_not_with_ns3s_l4s() {
        // A threshold that no packet reaches, so that all marks are CoDel's.
        let high = ("ce_threshold", Value::Real(1.0));
        let linux = [
            dialect("linux"),
            high,
            ("ce_threshold_selector", Value::Whole(1)),
            ("ce_threshold_mask", Value::Whole(3)),
        ];
        assert_eq!(marks_of_ect1(&linux), marks_of_ect1(&[dialect("linux")]));
        assert!(marks_of_ect1(&linux) > 0);
        assert_eq!(marks_of_ect1(&[dialect("ns3"), high, ("l4s", Value::Flag(true))]), 0);
    }

    /// One queue with everything in it, so that its state can be looked at.
    fn single(word: &'static str) -> FlowQueues<CoDelInEach> {
        let values = Values::of(&[
            ("dialect", Value::Choice(word)),
            ("queues", Value::Whole(1)),
            ("classify", Value::Choice("perfect")),
        ]);
        let (aqm, fair) = read(&values).unwrap();
        FlowQueues::new(aqm, fair, Limit::Packets(10), false, Generator::stream(1, "salt"))
    }

    fn count(queue: &FlowQueues<CoDelInEach>) -> u32 {
        let mut count = f64::NAN;
        let codel = &queue.aqm.codel;
        queue.states[0].gauges(codel, &mut |name, value| count = if name == "count" { value } else { count });
        count as u32
    }

    #[test]
    fn an_overflow_raises_the_count_in_linux_only() {
        for (word, want) in [("rfc", 0), ("linux", 6), ("ns3", 0)] {
            let mut queue = single(word);
            fill(&mut queue, 1, 11);
            assert_eq!(count(&queue), want, "{word}");
        }
    }

    #[test]
    fn a_flow_keeps_its_history_and_a_new_one_gets_none() {
        let mut queue = single("linux");
        fill(&mut queue, 1, 11);
        for (flow, want) in [(1, 6), (2, 0)] {
            while queue.dequeue(Time::ZERO, &mut |_, _| {}).is_some() {}
            queue.enqueue(Packet::new(flow, 100), Time::ZERO, &mut |_, _| {});
            assert_eq!(count(&queue), want, "flow {flow}");
        }
    }

    #[test]
    fn ect_packets_are_marked_and_delivered() {
        let mut queue = build(&[], Limit::Packets(1000), true);
        for _ in 0..300 {
            queue.enqueue(Packet { ecn: Ecn::Ect0, ..Packet::new(1, 1500) }, Time::ZERO, &mut |_, _| {});
        }
        let marked = (0..250).filter(|&ms| {
            let now = Time::from_seconds(f64::from(ms) * 1.000_001e-3);
            queue.dequeue(now, &mut |_, _| panic!("dropped")).unwrap().ecn == Ecn::Ce
        });
        assert_eq!(marked.collect::<Vec<_>>(), [105, 205]);
        assert_eq!(queue.counters().marks, 2);
    }
}
