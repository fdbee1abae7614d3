//! # BLUE
//!
//! ## What it does
//! One probability `p`, moved by two events instead of by a queue length, and no more often than every `freeze`
//! seconds:
//!
//! | event | then, if the last change is longer ago than `freeze` |
//! |---|---|
//! | an arrival finds the buffer full, or more than `threshold` waiting | `p := min(1, p + d1)` |
//! | the link asks and no packet waits | `p := max(0, p - d2)` |
//!
//! An arrival that finds room is marked or dropped with probability `p`. `d1` is much larger than `d2`, for losses are
//! rarer than idle periods.
//!
//! ## Source
//! W. Feng, K. G. Shin, D. D. Kandlur, D. Saha, "The BLUE active queue management algorithms", IEEE/ACM Transactions on
//! Networking 10(4), 2002 (report of 1999). The text was not at hand: rule and values are those known from the
//! literature, checked against two ports to ns-3. [paper?]
//!
//! ## Differences
//! 1. `threshold`: in the paper `p` rises at a full buffer, in a variant above a queue length `L`. Here too `p` rises
//!    at a full buffer unless `threshold` gives a length; no arrival is dropped for that length.
//! 2. Long idle periods: to the letter, an idle period is one event, however long (`idle = "once"`). With
//!    `idle = "per_freeze"`, the default, the next arrival, before its draw, lowers `p` by `d2` for each whole `freeze`
//!    that the link was idle since the last change. Each ns-3 port has one of the rules; the port with `per_freeze`
//!    measures in whole milliseconds and forgets the last change. (reconstruction)
//! 3. Early drops do not move `p`. One public port counts them as losses, so that `p` feeds itself.
//! 4. The comparison with `freeze` is strict: an event exactly `freeze` after the last change does nothing. The first
//!    event always counts.
//! 5. Each arrival that finds room draws one random number, also while `p` is 0, as in the ns-3 ports; `p` = 0 never
//!    hits.
//! 6. With ECN, packets are marked at any `p`, but a full buffer drops. At `p` = 1 a drop is counted as forced.
//!
//! ## Example
//! ```
//! use earlydrop_aqm::{catalogue, gate::Gate, params::Values, policy::Limit, random::Generator};
//! use earlydrop_aqm::{discipline::Fifo, Discipline, Packet, Time};
//!
//! let link = catalogue::Link { rate_bps: 10e6, delay_s: 0.01 };
//! let spec = catalogue::find("blue").unwrap();
//! let catalogue::Built::Policy(policy) = (spec.build)(&Values::new(), &link, Limit::Packets(1)).unwrap()
//!     else { unreachable!() };
//! let mut queue = Fifo::new(Gate::new(policy, Limit::Packets(1), false, Generator::stream(1, "queue")));
//! // The first packet stays; those that find the buffer full at 1.0, 1.05 and 1.2 s count as two losses.
//! for now in [0.9, 1.0, 1.05, 1.2] {
//!     queue.enqueue(Packet::new(1, 1000), Time::from_seconds(now), &mut |_, _| {});
//! }
//! queue.gauges(&mut |name, value| assert!(name != "p" || value == 0.005));
//! ```

use crate::catalogue::{AqmSpec, Built};
use crate::params::{words, Kind, Param, Unit, Value, Values, Word};
use crate::policy::{Context, Needs, Policy, QueueView, Reason, Verdict};
use crate::{Packet, Time};
use std::any::Any;

words! {
    /// How often a long idle period lowers the probability.
    enum Idle {
        /// By d2 for each freeze time in the idle period.
        PerFreeze = "per_freeze",
        /// By d2 once per idle period.
        Once = "once",
    }
}

const PARAMS: [Param; 5] = [
    Param::real("d1", Unit::None, Kind::real(0.0, 1.0), 0.0025).symbol("\\delta_1").says(
        "Feng et al. 2002, with freeze 100 ms (the other pair: 0.02, 0.002)",
        "What a loss adds to the probability.",
    ),
    Param::real("d2", Unit::None, Kind::real(0.0, 1.0), 0.00025)
        .symbol("\\delta_2")
        .says("Feng et al. 2002, with freeze 100 ms", "What an idle link takes off the probability."),
    Param::real("freeze", Unit::Seconds, Kind::above(0.0, 1000.0), 0.1).says(
        "Feng et al. 2002 (10 or 100 ms)",
        "The probability changes only if its last change is longer ago than this.",
    ),
    Param::new("threshold", Unit::QueueLength, Kind::real(0.0, f64::INFINITY).or_auto(), Value::Auto).symbol("L").says(
        "Feng et al. 2002: the buffer, or a length L",
        "An arrival that finds more than this waiting counts as a loss too; \"auto\": only a full buffer does.",
    ),
    Param::word("idle", Idle::WORDS, "per_freeze").says(
        "our choice, after a port to ns-3; once: the literal reading",
        "Whether a long idle period takes d2 off for each freeze time in it, or once.",
    ),
];

/// The declaration.
pub const SPEC: AqmSpec = AqmSpec {
    summary: "A drop probability that rises with overflows and falls when the link is idle",
    source: "Feng, Shin, Kandlur, Saha: The BLUE active queue management algorithms, ToN 10(4), 2002",
    params: &[&PARAMS],
    build: &|values, _, _| Ok(Built::Policy(Box::new(Blue::new(values)))),
    ..AqmSpec::named("blue", "BLUE", "load and queue control", 1999)
};

/// The policy.
pub struct Blue {
    /// p_m, the probability of a drop or mark.
    p: f64,
    /// When `p` was last changed.
    changed: Option<Time>,
    /// What a loss adds to `p`.
    d1: f64,
    /// What an idle link takes off `p`.
    d2: f64,
    /// freeze_time, s.
    freeze: f64,
    /// L, packets or bytes; `Auto` where only a full buffer counts.
    threshold: Value,
    /// How often a long idle period lowers `p`.
    idle: Idle,
}

impl Blue {
    fn new(values: &Values) -> Self {
        Blue {
            p: 0.0,
            changed: None,
            d1: values.real(&PARAMS, "d1"),
            d2: values.real(&PARAMS, "d2"),
            freeze: values.real(&PARAMS, "freeze"),
            threshold: values.get(&PARAMS[3]),
            idle: values.choice(&PARAMS, "idle"),
        }
    }

    fn is_long(&self, queue: &QueueView<'_>) -> bool {
        match self.threshold {
            Value::Real(packets) => queue.packets as f64 > packets,
            Value::QueueBytes(bytes) => queue.bytes as f64 > bytes,
            _ => false,
        }
    }

    /// A loss or an idle link: adds `change` to `p` unless `p` is frozen.
    fn event(&mut self, change: f64, now: Time) {
        if self.changed.is_none_or(|last| now - last > self.freeze) {
            self.p = (self.p + change).clamp(0.0, 1.0);
            self.changed = Some(now);
        }
    }

    /// Lowers `p` for a link that has been idle since `since`.
    fn long_idle(&mut self, since: Time, now: Time) {
        let from = self.changed.map_or(since, |last| last.max(since));
        let times = libm::floor((now - from) / self.freeze);
        if times >= 1.0 {
            self.p = (self.p - self.d2 * times).max(0.0);
            self.changed = Some(now);
        }
    }
}

impl Policy for Blue {
    fn needs(&self) -> Needs {
        Needs { dequeue: true, contents: false }
    }

    fn on_enqueue(&mut self, _packet: &Packet, queue: &QueueView<'_>, cx: &mut Context<'_>) -> Verdict {
        if let Some(since) = queue.idle_since.filter(|_| self.idle == Idle::PerFreeze) {
            self.long_idle(since, cx.now);
        }
        if !cx.has_room || self.is_long(queue) {
            self.event(self.d1, cx.now);
        }
        if !cx.has_room {
            return Verdict::Drop(Reason::Overflow);
        }
        let uniform = cx.random.uniform();
        if self.p > 0.0 && uniform <= self.p {
            Verdict::Signal(if self.p < 1.0 { Reason::Early } else { Reason::Forced })
        } else {
            Verdict::Pass
        }
    }

    fn on_dequeue(&mut self, packet: Option<&Packet>, _queue: &QueueView<'_>, cx: &mut Context<'_>) -> Verdict {
        if packet.is_none() {
            self.event(-self.d2, cx.now);
        }
        Verdict::Pass
    }

    fn gauges(&self, out: &mut dyn FnMut(&'static str, f64)) {
        out("p", self.p);
    }

    fn resume(&mut self, before: &dyn Any) -> bool {
        let Some(before) = before.downcast_ref::<Self>() else { return false };
        (self.p, self.changed) = (before.p, before.changed);
        true
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::prelude::*;

    fn blue(pairs: &[(&'static str, Value)]) -> Blue {
        let values = Values::of(pairs);
        Blue::new(&values)
    }

    fn queue(policy: Blue, limit: u64, ecn: bool, random: Generator) -> Fifo {
        Fifo::new(Gate::new(Box::new(policy), Limit::Packets(limit), ecn, random))
    }

    fn p(queue: &Fifo) -> f64 {
        let mut found = f64::NAN;
        queue.gauges(&mut |_, value| found = value);
        found
    }

    /// p after each of these losses and idle requests, in a queue of one packet.
    #[test]
    fn events_move_p_unless_it_is_frozen() {
        let once = blue(&[("idle", Value::Choice("once"))]);
        let mut queue = queue(once, 1, false, Generator::custom(|| 1.0));
        for (loss, now, want) in [
            (true, 0.0, 0.0025),
            (true, 0.05, 0.0025),
            (true, 0.1, 0.0025),
            (true, 0.101, 0.005),
            (false, 0.15, 0.005),
            (false, 0.202, 0.00475),
            (false, 0.31, 0.0045),
            (true, 0.5, 0.007),
        ] {
            let time = Time::from_seconds(now);
            if loss {
                while queue.enqueue(Packet::new(1, 1000), time, &mut |_, _| {}).is_some() {}
            } else {
                while queue.dequeue(time, &mut |_, _| {}).is_some() {}
            }
            assert!((p(&queue) - want).abs() < 1e-12, "{now}: {} instead of {want}", p(&queue));
        }
    }

    /// p after an idle period from 1 s to `now`, with p 0.1 before it and the last change at 0.95 s.
    fn after_idle(word: &'static str, now: f64) -> f64 {
        let mut policy = blue(&[("idle", Value::Choice(word)), ("d2", Value::Real(0.001))]);
        policy.p = 0.1;
        policy.changed = Some(Time::from_seconds(0.95));
        let mut queue = queue(policy, 10, false, Generator::custom(|| 1.0));
        queue.enqueue(Packet::new(1, 1000), Time::from_seconds(0.95), &mut |_, _| {});
        while queue.dequeue(Time::from_seconds(1.0), &mut |_, _| {}).is_some() {}
        assert_eq!(p(&queue), 0.1, "the first request is too early");
        queue.enqueue(Packet::new(1, 1000), Time::from_seconds(now), &mut |_, _| {});
        p(&queue)
    }

    #[test]
    fn a_long_idle_period_counts_by_freeze_times_or_once() {
        let close = |found: f64, want: f64| assert!((found - want).abs() < 1e-12, "{found} instead of {want}");
        close(after_idle("per_freeze", 1.099), 0.1);
        close(after_idle("per_freeze", 1.101), 0.099);
        close(after_idle("per_freeze", 1.75), 0.093);
        close(after_idle("per_freeze", 1000.0), 0.0);
        close(after_idle("once", 1000.0), 0.1);
    }

    #[test]
    fn a_threshold_counts_as_a_loss_only_when_it_is_passed() {
        for (threshold, lengths) in
            [(Value::Real(2.0), 3), (Value::QueueBytes(2000.0), 3), (Value::QueueBytes(1999.0), 2)]
        {
            let mut queue = queue(blue(&[("threshold", threshold)]), 10, false, Generator::custom(|| 1.0));
            let now = Time::from_seconds(1e-3);
            for found in 0..5 {
                queue.enqueue(Packet::new(1, 1000), now, &mut |_, _| panic!("nobody dies"));
                assert_eq!(p(&queue) > 0.0, found >= lengths, "{threshold:?}, {found} waiting");
            }
        }
    }

    #[test]
    fn a_full_buffer_drops_and_the_rest_is_marked() {
        let mut policy = blue(&[]);
        policy.p = 0.5;
        let mut queue = queue(policy, 2, true, Generator::custom(|| 0.5));
        let ect = Packet { ecn: Ecn::Ect0, ..Packet::new(1, 1000) };
        for _ in 0..3 {
            queue.enqueue(ect, Time::ZERO, &mut |_, reason| assert_eq!(reason, Reason::Overflow));
        }
        assert_eq!((queue.counters().marks, queue.counters().overflow_drops), (2, 1));
        assert_eq!(p(&queue), 0.5025, "the early marks did not move it");
        queue.dequeue(Time::ZERO, &mut |_, _| {});
        let mut early = 0;
        queue.enqueue(Packet::new(1, 1000), Time::ZERO, &mut |_, reason| early += i32::from(reason == Reason::Early));
        assert_eq!(early, 1);
    }

    /// Five packets arrive for every four that the link takes, whatever is dropped: p settles where a fifth is dropped.
    #[test]
    fn settles_where_losses_and_idle_periods_balance() {
        let mut queue = queue(blue(&[]), 20, false, Generator::stream(1, "queue"));
        let (mut busy_until, mut sum) = (None, 0.0);
        for i in 0..400_000 {
            let now = f64::from(i) * 0.8e-3;
            let take =
                |queue: &mut Fifo, at: f64| queue.dequeue(Time::from_seconds(at), &mut |_, _| {}).map(|_| at + 1e-3);
            while let Some(end) = busy_until.filter(|&end| end <= now) {
                busy_until = take(&mut queue, end);
            }
            queue.enqueue(Packet::new(1, 1000), Time::from_seconds(now), &mut |_, _| {});
            busy_until = busy_until.or_else(|| take(&mut queue, now));
            if i >= 200_000 {
                sum += p(&queue);
            }
        }
        let mean = sum / 200_000.0;
        assert!((0.16..0.24).contains(&mean), "{mean}");
    }
}
