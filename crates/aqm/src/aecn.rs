//! # AECN
//!
//! ## What it does
//! Adaptive ECN. Senders write their round-trip time into their packets, and the router sorts packets by it into three
//! groups. All groups share one average, but each has its own `max_p`. A mark goes to the front: to the group's oldest
//! waiting packet without a mark. Every `interval` seconds
//!
//! `max_p_g := max_p_g share_g/fair_g`, kept between `bottom` and `top`,
//!
//! where `share_g` is the group's share of the arrived bytes and `fair_g` its share of the flows: a group that takes
//! more than its flows' part is marked more.
//!
//! | group | round-trip time |
//! |---|---|
//! | robust | below `rtt_low` |
//! | average | `rtt_low` to `rtt_high` |
//! | fragile | above `rtt_high` |
//!
//! ## Source
//! Z. Zheng, R. Kinicki, "Adaptive explicit congestion notification (AECN)", ISCC 2002. Only the abstract was read:
//! hints of the round-trip time from the sources, groups by ranges of it, a drop probability for each, marks at the
//! front. Dedu, Linck and Spies (2007) describe it in two sentences.
//!
//! ## Differences
//! 1. The number of groups, their names and their bounds, 50 and 150 ms, are ours. (reconstruction)
//! 2. The rule for `max_p` is ours: it is ARED's idea, with fairness in place of a target queue. A group without
//!    arrivals in the interval keeps its value (its rule would be 0/0). The bounds 0.01 and 0.5 are ARED's.
//!    (reconstruction)
//! 3. Flows are counted by how many of 1024 hashed bits stay 0: thousands of flows cost as much as ten. The count is
//!    off by about 2 with 100 flows, and ends at 7100. (reconstruction)
//! 4. Dedu, Linck and Spies speak of "flow sub-queues". Here all packets wait in one queue, first in, first out, and a
//!    group's sub-queue is the order of its packets in it. (reconstruction)
//! 5. Each group has its own RED count, so its drops are spread evenly over its own packets. (reconstruction)
//! 6. The scheme is made for ECN: where a mark is due, an arrival that is not ECN-capable is dropped. An ECN-capable
//!    arrival is itself marked only if no waiting packet of its group can be; `mark_from = "tail"` always marks it.
//! 7. A packet without a round-trip time belongs to the group that `no_hint` names. (reconstruction)
//! 8. Thresholds are RED's of 1993, `max_p` at the start is 0.1: the paper's were not readable.
//!
//! ## Example
//! ```
//! use earlydrop_aqm::{catalogue, gate::Gate, params::{Value, Values}, policy::Limit, random::Generator};
//! use earlydrop_aqm::{discipline::Fifo, Discipline, Ecn, Packet, Time};
//!
//! let link = catalogue::Link { rate_bps: 10e6, delay_s: 0.01 };
//! let mut values = Values::new();
//! values.set("w_q", Value::Real(1.0));
//! let limit = Limit::Packets(100);
//! let catalogue::Built::Policy(policy) = (catalogue::find("aecn").unwrap().build)(&values, &link, limit).unwrap()
//!     else { unreachable!() };
//! let mut queue = Fifo::new(Gate::new(policy, limit, true, Generator::custom(|| 0.0)));
//! // Six wait, and the seventh, of 200 ms, causes a mark: on the oldest packet of 200 ms.
//! for rtt_hint_ms in [20, 200, 20, 20, 20, 20, 200] {
//!     let packet = Packet { ecn: Ecn::Ect0, rtt_hint_ms, ..Packet::new(1, 1000) };
//!     queue.enqueue(packet, Time::ZERO, &mut |_, _| {});
//! }
//! let marked: Vec<bool> =
//!     std::iter::from_fn(|| queue.dequeue(Time::ZERO, &mut |_, _| {})).map(|p| p.ecn == Ecn::Ce).collect();
//! assert_eq!(marked, [false, true, false, false, false, false, false]);
//! ```

use crate::catalogue::{AqmSpec, Built, Link};
use crate::default_limit::DefaultLimit;
use crate::early_detection::average::Average;
use crate::early_detection::{params, Defaults, Settings, Spacing, SHARED};
use crate::params::{words, Kind, Param, ParamError, Unit, Values, Word};
use crate::parts::curve::Linear;
use crate::parts::hash;
use crate::policy::{Context, Limit, Needs, Policy, QueueView, Room, Verdict};
use crate::{Ecn, Packet, Time};
use std::collections::VecDeque;

const COMMON: [Param; SHARED] = params(Defaults {
    min_th: 5.0,
    max_th: 15.0,
    max_p: 0.1,
    source: "Floyd & Jacobson 1993 and ns-2.35; the paper's own were not readable",
});

/// Without the last one, `overflow_victim`.
const SHOWN: &[Param] = COMMON.split_at(SHARED - 1).0;

const OURS: &str = "our choice; the paper's was not readable";
const ARED: &str = "Floyd, Gummadi & Shenker 2001, for ARED";

words! {
    /// Which packet is marked.
    enum MarkFrom {
        /// The oldest of the arrival's group that can still be marked.
        Front = "front",
        /// The arrival.
        Tail = "tail",
    }
}

words! {
    /// A group of flows, by round-trip time.
    enum Range {
        /// From `rtt_low` to `rtt_high`.
        Average = "average",
        /// Below `rtt_low`.
        Robust = "robust",
        /// Above `rtt_high`.
        Fragile = "fragile",
    }
}

const OWN: [Param; 7] = [
    Param::real("rtt_low", Unit::Seconds, Kind::real(0.0, 100.0), 0.05)
        .says(OURS, "Round-trip time below which a flow is robust."),
    Param::real("rtt_high", Unit::Seconds, Kind::real(0.0, 100.0), 0.15)
        .says(OURS, "Round-trip time above which a flow is fragile."),
    Param::real("interval", Unit::Seconds, Kind::real(0.001, 1000.0), 0.5)
        .says(ARED, "Time between two changes of the groups' max_p."),
    Param::real("bottom", Unit::None, Kind::real(0.0, 1.0), 0.01).says(ARED, "Least max_p of a group."),
    Param::real("top", Unit::None, Kind::real(0.0, 1.0), 0.5).says(ARED, "Largest max_p of a group."),
    Param::word("mark_from", MarkFrom::WORDS, "front").says(
        "Zheng & Kinicki 2002, abstract: a mark front scheme",
        "Which packet is marked: the oldest unmarked one of the arrival's group, or the arrival.",
    ),
    Param::word("no_hint", Range::WORDS, "average")
        .says(OURS, "The group of packets whose sender wrote no round-trip time."),
];

/// The declaration.
pub const SPEC: AqmSpec = AqmSpec {
    summary: "Adaptive ECN: flows grouped by round-trip time, a max_p for each group, marks at the front of the queue",
    source: "Zheng, Kinicki: Adaptive explicit congestion notification (AECN), ISCC 2002 (abstract)",
    params: &[SHOWN, &OWN],
    limit: DefaultLimit::RED,
    check: &|values, link| Rules::read(values, link).map(|_| ()),
    build: &|values, link, _| Ok(Built::Policy(Box::new(Aecn::new(Rules::read(values, link)?)))),
    ..AqmSpec::named("aecn", "AECN", "flow-aware RED", 2002)
};

/// How many groups there are.
const GROUPS: usize = 3;
/// Gauges of the groups' `max_p`, in the order of [`Range::place`].
const NAMES: [&str; GROUPS] = ["max_p_robust", "max_p_average", "max_p_fragile"];
/// Words of 64 bits into which flows are hashed to count them.
const HASHED_WORDS: usize = 16;

impl Range {
    /// The group's place in [`Aecn::groups`].
    fn place(self) -> usize {
        match self {
            Range::Robust => 0,
            Range::Average => 1,
            Range::Fragile => 2,
        }
    }
}

/// What a group of flows remembers.
struct Group {
    /// The probability at `max_th`.
    max_p: f64,
    /// RED's line with that `max_p`.
    curve: Linear,
    /// What RED remembers between the group's arrivals.
    spacing: Spacing,
    /// Serial numbers of its waiting packets that can still be marked, oldest first; the first may have left.
    unmarked: VecDeque<u64>,
    /// Bytes that arrived in this interval.
    bytes: u64,
    /// Hashed bits of the flows that sent packets in this interval.
    flows: [u64; HASHED_WORDS],
}

impl Group {
    /// How many flows sent packets in this interval, estimated from the bits that stayed 0.
    fn flows(&self) -> f64 {
        let bits = (64 * HASHED_WORDS) as f64;
        let zeros: u32 = self.flows.iter().map(|word| word.count_zeros()).sum();
        bits * libm::log(bits / f64::from(zeros.max(1)))
    }
}

/// The policy.
pub struct Aecn {
    /// The parameters.
    rules: Rules,
    average: Average,
    /// What each group remembers.
    groups: [Group; GROUPS],
    /// Place of the group of the last arrival.
    last: usize,
    /// When every `max_p` changes next.
    next: Time,
}

/// The parameters after checking.
#[derive(Clone, Copy, Debug)]
struct Rules {
    /// RED's parameters.
    set: Settings,
    /// Round-trip time below which a flow is robust, ms.
    rtt_low_ms: f64,
    /// Round-trip time above which a flow is fragile, ms.
    rtt_high_ms: f64,
    /// Time between two changes of `max_p`, s.
    interval: f64,
    /// Least `max_p`.
    bottom: f64,
    /// Largest `max_p`.
    top: f64,
    /// The oldest packet of the arrival's group is marked, not the arrival.
    from_front: bool,
    /// Place of the group of packets without a hint.
    no_hint: usize,
}

impl Rules {
    fn read(values: &Values, link: &Link) -> Result<Rules, ParamError> {
        let set = Settings::read(values, &COMMON, link)?;
        let real = |name| values.real(&OWN, name);
        for (low, high) in [("rtt_low", "rtt_high"), ("bottom", "top")] {
            if real(high) < real(low) {
                return Err(ParamError::new(high, real(high), format!("at least {low} ({})", real(low))));
            }
        }
        Ok(Rules {
            set,
            rtt_low_ms: 1000.0 * real("rtt_low"),
            rtt_high_ms: 1000.0 * real("rtt_high"),
            interval: real("interval"),
            bottom: real("bottom"),
            top: real("top"),
            from_front: values.choice::<MarkFrom>(&OWN, "mark_from") == MarkFrom::Front,
            no_hint: values.choice::<Range>(&OWN, "no_hint").place(),
        })
    }

    /// Place of the group of `packet`, by the round-trip time that its sender wrote into it.
    fn place(&self, packet: &Packet) -> usize {
        let rtt_ms = f64::from(packet.rtt_hint_ms);
        if packet.rtt_hint_ms == 0 {
            self.no_hint
        } else if rtt_ms < self.rtt_low_ms {
            Range::Robust.place()
        } else if rtt_ms <= self.rtt_high_ms {
            Range::Average.place()
        } else {
            Range::Fragile.place()
        }
    }
}

impl Aecn {
    fn new(rules: Rules) -> Self {
        let set = rules.set;
        let group = || Group {
            max_p: set.max_p,
            curve: curve(&set, set.max_p),
            spacing: Spacing::new(&set),
            unmarked: VecDeque::new(),
            bytes: 0,
            flows: [0; HASHED_WORDS],
        };
        let groups = [group(), group(), group()];
        Aecn { average: set.average(), groups, last: 0, next: Time::ZERO + rules.interval, rules }
    }
}

fn curve(set: &Settings, max_p: f64) -> Linear {
    Linear::new(set.min_th, set.max_th, max_p, false)
}

impl Policy for Aecn {
    fn needs(&self) -> Needs {
        Needs { dequeue: false, contents: true }
    }

    fn room(&self, limit: Limit) -> Room {
        self.rules.set.room(limit)
    }

    fn on_enqueue(&mut self, packet: &Packet, queue: &QueueView<'_>, cx: &mut Context<'_>) -> Verdict {
        let length = self.rules.set.length(queue);
        let average = self.average.observe(length, queue.idle_since, cx.now);
        self.last = self.rules.place(packet);
        if let Some(ring) = queue.contents.filter(|_| self.rules.from_front && cx.ecn) {
            let oldest = ring.serials().start;
            for group in &mut self.groups {
                while group.unmarked.front().is_some_and(|&serial| serial < oldest) {
                    group.unmarked.pop_front();
                }
            }
        }
        let group = &mut self.groups[self.last];
        group.bytes += u64::from(packet.size);
        let bit = hash::bucket(packet.flow, 0, 64 * HASHED_WORDS);
        group.flows[bit / 64] |= 1 << (bit % 64);
        let verdict = group.spacing.decide(&group.curve, average, packet.size, length, cx.random);
        match verdict {
            Verdict::Signal(reason) if cx.has_room && cx.can_mark(packet) => match group.unmarked.pop_front() {
                Some(serial) => {
                    cx.victims.push(serial);
                    Verdict::Victims { reason, with_arrival: false, signal: true }
                }
                None => verdict,
            },
            _ => verdict,
        }
    }

    fn on_overflow(&mut self, earlier: Verdict, packet: &Packet, _: &QueueView<'_>, cx: &mut Context<'_>) -> Verdict {
        let spacing = &mut self.groups[self.last].spacing;
        Verdict::Drop(spacing.on_overflow(earlier, packet, cx))
    }

    fn on_admitted(&mut self, packet: &Packet, serial: u64) {
        if self.rules.from_front && matches!(packet.ecn, Ecn::Ect0 | Ecn::Ect1) {
            self.groups[self.last].unmarked.push_back(serial);
        }
    }

    fn next_timer(&self) -> Option<Time> {
        Some(self.next)
    }

    fn on_timer(&mut self, _queue: &QueueView<'_>, _cx: &mut Context<'_>) {
        let bytes: u64 = self.groups.iter().map(|group| group.bytes).sum();
        let flows: f64 = self.groups.iter().map(Group::flows).sum();
        for group in self.groups.iter_mut().filter(|group| group.bytes > 0) {
            let (share, fair) = (group.bytes as f64 / bytes as f64, group.flows() / flows);
            group.max_p = (group.max_p * share / fair).clamp(self.rules.bottom, self.rules.top);
            group.curve = curve(&self.rules.set, group.max_p);
            group.bytes = 0;
            group.flows = [0; HASHED_WORDS];
        }
        self.next = self.next + self.rules.interval;
    }

    fn average(&self) -> Option<f64> {
        Some(self.rules.set.in_packets(self.average.value()))
    }

    fn gauges(&self, out: &mut dyn FnMut(&'static str, f64)) {
        out("avg", self.average.value());
        out("p_b", self.groups[self.last].spacing.p_b());
        for (name, group) in NAMES.into_iter().zip(&self.groups) {
            out(name, group.max_p);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::prelude::*;

    const LINK: Link = Link { rate_bps: 10e6, delay_s: 0.01 };

    fn aecn(pairs: &[(&'static str, Value)]) -> Result<Aecn, ParamError> {
        let values = Values::of(pairs);
        Rules::read(&values, &LINK).map(Aecn::new)
    }

    fn packet(rtt_hint_ms: u16, ecn: Ecn) -> Packet {
        Packet { rtt_hint_ms, ecn, ..Packet::new(1, 1000) }
    }

    #[test]
    fn groups_by_round_trip_time() {
        let policy = aecn(&[]).unwrap();
        let groups = [1, 49, 50, 150, 151, 65535, 0].map(|rtt| policy.rules.place(&packet(rtt, Ecn::Ect0)));
        assert_eq!(groups, [0, 0, 1, 1, 2, 2, 1]);
        for (word, group) in [("robust", 0), ("average", 1), ("fragile", 2)] {
            let policy = aecn(&[("no_hint", Value::Choice(word))]).unwrap();
            assert_eq!(policy.rules.place(&packet(0, Ecn::Ect0)), group);
        }
    }

    /// Seven packets wait, with these hints and ECN fields; an eighth of 10 ms is signalled. The places of the packets
    /// marked, and of the one dropped.
    fn signalled(waiting: [(u16, Ecn); 7], arrival: Ecn, from: &'static str) -> (Vec<usize>, u64) {
        let given = [("w_q", Value::Real(1.0)), ("min_th", Value::Real(6.0)), ("mark_from", Value::Choice(from))];
        let policy = Box::new(aecn(&given).unwrap());
        let mut queue = Fifo::new(Gate::new(policy, Limit::Packets(100), true, Generator::custom(|| 0.0)));
        for (rtt, ecn) in waiting.into_iter().chain([(10, arrival)]) {
            queue.enqueue(packet(rtt, ecn), Time::ZERO, &mut |_, reason| assert_eq!(reason, Reason::Early));
        }
        let seen = *queue.counters();
        let left: Vec<Ecn> = std::iter::from_fn(|| queue.dequeue(Time::ZERO, &mut |_, _| {})).map(|p| p.ecn).collect();
        let before: Vec<Ecn> = waiting.iter().map(|w| w.1).chain([arrival]).collect();
        ((0..left.len()).filter(|&i| left[i] != before[i]).collect(), seen.drops())
    }

    #[test]
    fn the_oldest_of_the_group_that_can_be_marked_is() {
        use Ecn::{Ce, Ect0, Ect1, NotEct};
        let waiting = [(200, Ect0), (10, NotEct), (10, Ce), (100, Ect0), (20, Ect1), (10, Ect0), (10, NotEct)];
        assert_eq!(signalled(waiting, Ect0, "front"), (vec![4], 0));
        assert_eq!(signalled(waiting, Ce, "front"), (vec![4], 0));
        assert_eq!(signalled(waiting, NotEct, "front"), (vec![], 1), "it cannot be marked itself");
        assert_eq!(signalled(waiting, Ect0, "tail"), (vec![7], 0));
        let others = [(200, Ect0), (200, Ect0), (100, Ect0), (10, NotEct), (10, NotEct), (10, Ce), (10, Ce)];
        assert_eq!(signalled(others, Ect0, "front"), (vec![7], 0), "nobody else is left");
    }

    #[test]
    fn packets_that_have_left_are_not_marked() {
        let given = [("w_q", Value::Real(1.0)), ("min_th", Value::Real(2.0))];
        let policy = Box::new(aecn(&given).unwrap());
        let mut queue = Fifo::new(Gate::new(policy, Limit::Packets(100), true, Generator::custom(|| 0.0)));
        for _ in 0..3 {
            queue.enqueue(packet(10, Ecn::Ect0), Time::ZERO, &mut |_, _| {});
        }
        assert_eq!(queue.dequeue(Time::ZERO, &mut |_, _| {}).unwrap().ecn, Ecn::Ect0);
        queue.enqueue(packet(10, Ecn::Ect0), Time::ZERO, &mut |_, _| {});
        assert_eq!(queue.counters().marks, 0, "an average of 2 is not above min_th");
        queue.enqueue(packet(10, Ecn::Ect0), Time::ZERO, &mut |_, _| {});
        assert_eq!(queue.counters().marks, 1);
        assert_eq!(queue.dequeue(Time::ZERO, &mut |_, _| {}).unwrap().ecn, Ecn::Ce, "the front of those that wait");
    }

    /// max_p of the three groups after an interval in which these packets of 1000 B came: (rtt, flows, packets each).
    fn adapted(sent: &[(u16, u64, u64)], times: u32) -> [f64; 3] {
        let policy = Box::new(aecn(&[]).unwrap());
        let mut queue = Fifo::new(Gate::new(policy, Limit::Packets(1), true, Generator::custom(|| 1.0)));
        for _ in 0..times {
            for &(rtt, flows, packets) in sent {
                for flow in 0..flows {
                    let packet = Packet { flow: flow + 1000 * u64::from(rtt), ..packet(rtt, Ecn::Ect0) };
                    for _ in 0..packets {
                        queue.enqueue(packet, Time::ZERO, &mut |_, _| {});
                    }
                }
            }
            let due = queue.next_timer().unwrap();
            queue.on_timer(due);
        }
        NAMES.map(|name| {
            let mut found = f64::NAN;
            queue.gauges(&mut |key, value| found = if key == name { value } else { found });
            found
        })
    }

    #[test]
    fn a_group_that_takes_more_than_its_flows_part_is_marked_more() {
        let near = |found: [f64; 3], want: [f64; 3]| {
            assert!(found.iter().zip(want).all(|(f, w)| (f - w).abs() < 0.03 * w), "{found:?}, not {want:?}")
        };
        // One flow each, 3/4, 1/4 and none of the bytes: `max_p` times 3/2, times 1/2, and as it was.
        near(adapted(&[(10, 1, 30), (100, 1, 10)], 1), [0.15, 0.05, 0.1]);
        // Three of four flows send a tenth of the bytes and one the rest.
        near(adapted(&[(10, 1, 90), (300, 3, 10)], 1), [0.3, 0.1, 0.1 / 3.0]);
        near(adapted(&[(10, 10, 10), (100, 10, 10), (300, 10, 10)], 5), [0.1; 3]);
        assert_eq!(adapted(&[(10, 1, 90), (300, 3, 10)], 9), [0.5, 0.1, 0.01], "within bottom and top");
        assert_eq!(adapted(&[], 3), [0.1; 3], "nothing arrived");
    }

    #[test]
    fn flows_of_an_earlier_interval_are_forgotten() {
        let policy = Box::new(aecn(&[]).unwrap());
        let mut queue = Fifo::new(Gate::new(policy, Limit::Packets(1), true, Generator::custom(|| 1.0)));
        let mut interval = |robust_flows: u64| {
            for i in 0..100 {
                let robust = Packet { flow: i % robust_flows, ..packet(10, Ecn::Ect0) };
                queue.enqueue(robust, Time::ZERO, &mut |_, _| {});
                queue.enqueue(Packet { flow: 1000, ..packet(300, Ecn::Ect0) }, Time::ZERO, &mut |_, _| {});
            }
            let due = queue.next_timer().unwrap();
            queue.on_timer(due);
            let mut found = f64::NAN;
            queue.gauges(&mut |key, value| found = if key == "max_p_fragile" { value } else { found });
            found
        };
        // Half of the bytes for one flow of two, then of four (twice its part), then of two again.
        let found = [interval(1), interval(3), interval(1)];
        assert!(found.iter().zip([0.1, 0.2, 0.2]).all(|(f, w)| (f - w).abs() < 0.02 * w), "{found:?}");
    }

    #[test]
    fn flows_are_counted_about_right() {
        let mut policy = aecn(&[]).unwrap();
        for flows in [1_u64, 10, 100, 1000] {
            let group = &mut policy.groups[0];
            group.flows = [0; HASHED_WORDS];
            for flow in 0..flows {
                let bit = hash::bucket(flow, 0, 64 * HASHED_WORDS);
                group.flows[bit / 64] |= 1 << (bit % 64);
            }
            let found = group.flows();
            // Standard deviation of linear counting: sqrt(m (e^t - t - 1)) with t = n/m, or 28 for n = 1000 in m = 1024
            // bits. Three of them are allowed.
            let t = flows as f64 / 1024.0;
            let sd = (1024.0 * (t.exp() - t - 1.0)).sqrt();
            assert!((found - flows as f64).abs() < 3.0 * sd + 0.1, "{found} of {flows}");
        }
        policy.groups[0].flows = [u64::MAX; HASHED_WORDS];
        assert!((7000.0..7200.0).contains(&policy.groups[0].flows()));
    }

    #[test]
    fn bounds_that_cross_are_refused() {
        let fault = |pairs: &[_]| aecn(pairs).err().map(|error| error.name);
        assert_eq!(fault(&[("rtt_low", Value::Real(0.2))]), Some("rtt_high"));
        assert_eq!(fault(&[("bottom", Value::Real(0.6))]), Some("top"));
    }
}
