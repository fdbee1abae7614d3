//! # ECN-Sharp
//!
//! ## What it does
//! ECN#, as its authors write it, marks packets that leave, on two grounds: a queue that is long now, and one that
//! never drains.
//!
//! | | marks |
//! |---|---|
//! | instantaneous | every packet that has waited longer than `instant_threshold` |
//! | persistent | one packet once all of a `persistent_interval` have waited `persistent_target`, then more |
//!
//! The next marks of a persistent queue follow at distances of `persistent_interval/sqrt(count)`, until a packet has
//! waited less than `persistent_target`.
//!
//! The instantaneous rule, set for the largest round-trip time, lets bursts pass and keeps the link busy. The
//! persistent rule, CoDel's with marks for drops, is set for usual round-trip times, and takes away the queue that
//! flows with shorter times leave standing below `instant_threshold`. Nothing is dropped before the buffer is full, so
//! ECN# needs `ecn`.
//!
//! ## Source
//! J. Zhang, W. Bai, K. Chen, "Enabling ECN for datacenter networks with RTT variations", ACM CoNEXT 2019. Its text was
//! not at hand; the rules are those of the authors' ns-3 model, `ecn-sharp-queue-disc.cc`
//! (<https://github.com/snowzjx/ns3-ecn-sharp>). Without the persistent rule it is TCN (Bai, Chen, Chen, Kim, Wu,
//! CoNEXT 2016), which is `step` with `measure = "sojourn"`.
//!
//! ## Differences
//! 1. The model marks ECT(1) only, which its DCTCP sets. Here all ECN-capable packets can be marked.
//! 2. The model takes the time 0 for "not above the target yet". Here that is a state.
//! 3. A packet that is marked on both grounds counts once. A packet that cannot be marked passes, but moves the state.
//! 4. The defaults are the model's, for a data centre: 10 to 100 us. At 10 Mbit/s a packet of 1500 B takes 1.2 ms: all
//!    three should be longer there than a few packets' times.
//!
//! ## Example
//! ```
//! use earlydrop_aqm::{catalogue, discipline::Fifo, gate::Gate, params::Values, policy::Limit, random::Generator};
//! use earlydrop_aqm::{Discipline, Ecn, Packet, Time};
//!
//! let link = catalogue::Link { rate_bps: 10e9, delay_s: 1e-6 };
//! let limit = Limit::Packets(1000);
//! let build = catalogue::find("ecn_sharp").unwrap().build;
//! let catalogue::Built::Policy(policy) = build(&Values::new(), &link, limit).unwrap() else { unreachable!() };
//! let mut queue = Fifo::new(Gate::new(policy, limit, true, Generator::stream(1, "queue")));
//! // A packet every 3 us, each of which waits for 15 us: less than 20 us, more than 10 us.
//! let mut marked = Vec::new();
//! for us in (0..400).step_by(3) {
//!     let [arrives, leaves] = [us, us + 15].map(|us| Time::from_seconds(f64::from(us) * 1e-6));
//!     queue.enqueue(Packet { ecn: Ecn::Ect0, ..Packet::new(1, 1500) }, arrives, &mut |_, _| {});
//!     let left = queue.dequeue(leaves, &mut |_, _| {}).unwrap();
//!     if left.ecn == Ecn::Ce {
//!         marked.push(us);
//!     }
//! }
//! // The first after 100 us, the next 100 us later, then 100/sqrt(2), 100/sqrt(3) us.
//! assert_eq!(marked, [102, 204, 276, 336, 387]);
//! ```

use crate::catalogue::{AqmSpec, Built};
use crate::default_limit::DefaultLimit;
use crate::params::{Kind, Param, Unit, Values};
use crate::policy::{Context, Needs, Policy, QueueView, Verdict};
use crate::{Packet, Time};
use std::any::Any;

const fn time(name: &'static str, default: f64, source: &'static str, doc: &'static str) -> Param {
    Param::real(name, Unit::Seconds, Kind::real(0.0, 1e6), default).says(source, doc)
}

const PARAMS: [Param; 3] = [
    time(
        "instant_threshold",
        20e-6,
        "ns3-ecn-sharp: InstantaneousMarkingThreshold",
        "Sojourn time above which every packet is marked.",
    ),
    time(
        "persistent_target",
        10e-6,
        "ns3-ecn-sharp: PersistentMarkingTarget",
        "Sojourn time from which on a packet counts for a queue that does not drain.",
    ),
    time(
        "persistent_interval",
        100e-6,
        "ns3-ecn-sharp: PersistentMarkingInterval",
        "How long all packets must have waited for persistent_target before the first is marked.",
    ),
];

/// The declaration.
pub const SPEC: AqmSpec = AqmSpec {
    summary: "Marks above a sojourn time, and by CoDel's law while the queue does not drain",
    source: "Zhang, Bai, Chen: Enabling ECN for datacenter networks with RTT variations, CoNEXT 2019",
    params: &[&PARAMS],
    limit: DefaultLimit::Packets { packets: 100, source: "ns3-ecn-sharp" },
    build: &|values, _, _| Ok(Built::Policy(Box::new(EcnSharp::new(values)))),
    ..AqmSpec::named("ecn_sharp", "ECN-Sharp", "sojourn time", 2019)
};

/// What the persistent rule remembers.
#[derive(Clone, Copy, Debug, Default)]
struct State {
    /// first_above_time: when packets will have been above the target for an interval.
    first_above: Option<Time>,
    /// Whether the queue is held to be persistent, so that packets are marked by the law.
    marking: bool,
    /// When the next packet is marked in a persistent queue.
    mark_next: Time,
    /// Packets marked since the queue became persistent.
    count: u32,
}

/// The policy.
pub struct EcnSharp {
    /// Sojourn time above which every packet is marked, s.
    instant_threshold: f64,
    /// persistent_target: sojourn time that all packets must have in a persistent queue, s.
    target: f64,
    /// persistent_interval: how long they must have had it, s.
    interval: f64,
    state: State,
}

impl EcnSharp {
    fn new(values: &Values) -> Self {
        let number = |name| values.real(&PARAMS, name);
        EcnSharp {
            instant_threshold: number("instant_threshold"),
            target: number("persistent_target"),
            interval: number("persistent_interval"),
            state: State::default(),
        }
    }

    /// OkToMark: whether all packets of the last interval have waited for the target or longer.
    fn is_persistent(&mut self, sojourn: f64, now: Time) -> bool {
        if sojourn < self.target {
            self.state.first_above = None;
            return false;
        }
        match self.state.first_above {
            Some(since) => now > since,
            None => {
                self.state.first_above = Some(now + self.interval);
                false
            }
        }
    }

    /// Whether the persistent rule marks a packet that leaves now after `sojourn`.
    fn by_law(&mut self, sojourn: f64, now: Time) -> bool {
        let persistent = self.is_persistent(sojourn, now);
        let state = &mut self.state;
        if !persistent {
            state.marking = false;
            return false;
        }
        if !state.marking {
            (state.marking, state.count, state.mark_next) = (true, 1, now + self.interval);
            return true;
        }
        if now < state.mark_next {
            return false;
        }
        state.count = state.count.saturating_add(1);
        state.mark_next = now + self.interval / f64::from(state.count).sqrt();
        true
    }
}

impl Policy for EcnSharp {
    fn needs(&self) -> Needs {
        Needs { dequeue: true, contents: false }
    }

    fn on_enqueue(&mut self, _packet: &Packet, _queue: &QueueView<'_>, _cx: &mut Context<'_>) -> Verdict {
        Verdict::Pass
    }

    fn on_dequeue(&mut self, packet: Option<&Packet>, _queue: &QueueView<'_>, cx: &mut Context<'_>) -> Verdict {
        let Some(packet) = packet else { return Verdict::Pass };
        let sojourn = cx.now - packet.enqueued;
        // The state moves on even if the packet is marked anyway.
        let by_law = self.by_law(sojourn, cx.now);
        if by_law || sojourn > self.instant_threshold {
            Verdict::Mark
        } else {
            Verdict::Pass
        }
    }

    fn gauges(&self, out: &mut dyn FnMut(&'static str, f64)) {
        out("marking", f64::from(u8::from(self.state.marking)));
        out("count", f64::from(self.state.count));
        out("drop_next", self.state.mark_next.seconds());
    }

    fn resume(&mut self, before: &dyn Any) -> bool {
        let Some(before) = before.downcast_ref::<Self>() else { return false };
        self.state = before.state;
        true
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::prelude::*;

    /// 1/1024 s. Thresholds are 16 (instantaneous) and 4 ticks (persistent), the interval 64: all sums are exact.
    const TICK: f64 = 1.0 / 1024.0;

    fn bench() -> EcnSharp {
        let values = Values::of(&[
            ("instant_threshold", Value::Real(16.0 * TICK)),
            ("persistent_target", Value::Real(4.0 * TICK)),
            ("persistent_interval", Value::Real(64.0 * TICK)),
        ]);
        EcnSharp::new(&values)
    }

    /// Whether a packet is marked that leaves at tick `at` after `waited` ticks.
    fn leave(policy: &mut EcnSharp, at: f64, waited: f64) -> bool {
        let now = Time::from_seconds(1.0 + at * TICK);
        let enqueued = Time::from_seconds(1.0 + (at - waited) * TICK);
        let packet = Packet { enqueued, ecn: Ecn::Ect0, ..Packet::new(1, 1000) };
        let queue = QueueView { packets: 9, bytes: 9000, idle_since: None, contents: None };
        let mut random = Generator::custom(|| panic!("ECN# draws no random number"));
        let mut cx = Context { now, ecn: true, has_room: true, random: &mut random, victims: &mut Vec::new() };
        policy.on_dequeue(Some(&packet), &queue, &mut cx) == Verdict::Mark
    }

    fn marks(policy: &mut EcnSharp, ticks: std::ops::Range<u32>, waited: f64) -> Vec<u32> {
        ticks.filter(|&tick| leave(policy, f64::from(tick), waited)).collect()
    }

    #[test]
    fn above_the_threshold_every_packet_is_marked() {
        for (waited, marked) in [(15.999, false), (16.0, false), (16.001, true), (40.0, true)] {
            assert_eq!(leave(&mut bench(), 0.0, waited), marked, "{waited}");
        }
    }

    #[test]
    fn a_persistent_queue_is_marked_ever_more_often() {
        // Above the target from tick 0 on. Gaps: more than 64, then 64, 64/sqrt(2) = 45.3, 64/sqrt(3) = 37.0, 32.
        assert_eq!(marks(&mut bench(), 0..320, 5.0), [65, 129, 175, 212, 244, 273, 300]);
    }

    #[test]
    fn target_and_interval_are_compared_as_the_model_does() {
        assert_eq!(marks(&mut bench(), 0..100, 3.999), [0; 0], "below the target");
        assert_eq!(marks(&mut bench(), 0..100, 4.0), [65], "at it");
        let mut policy = bench();
        leave(&mut policy, 0.0, 5.0);
        assert!(!leave(&mut policy, 64.0, 5.0), "a whole interval is not enough");
        assert!(leave(&mut policy, 64.001, 5.0));
        assert!(!leave(&mut policy, 128.0, 5.0) && leave(&mut policy, 128.001, 5.0), "the next is due at 128.001");
    }

    #[test]
    fn one_short_wait_starts_anew() {
        let mut policy = bench();
        assert_eq!(marks(&mut policy, 0..140, 5.0), [65, 129]);
        assert!(!leave(&mut policy, 140.0, 1.0));
        assert_eq!(marks(&mut policy, 141..290, 5.0), [206, 270], "a new count");
    }

    #[test]
    fn the_law_goes_on_while_packets_are_marked_for_their_wait() {
        let mut policy = bench();
        assert_eq!(marks(&mut policy, 0..70, 20.0).len(), 70);
        assert_eq!((policy.state.marking, policy.state.count), (true, 1));
        assert_eq!(marks(&mut policy, 70..130, 5.0), [129]);
    }

    #[test]
    fn an_empty_queue_changes_nothing() {
        let mut policy = bench();
        marks(&mut policy, 0..70, 5.0);
        let mut random = Generator::custom(|| panic!("none"));
        let queue = QueueView { packets: 0, bytes: 0, idle_since: None, contents: None };
        let now = Time::from_seconds(1.1);
        let mut cx = Context { now, ecn: true, has_room: true, random: &mut random, victims: &mut Vec::new() };
        assert_eq!(policy.on_dequeue(None, &queue, &mut cx), Verdict::Pass);
        assert!(policy.state.marking && policy.state.first_above.is_some());
    }
}
