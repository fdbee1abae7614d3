//! # RIO
//!
//! ## What it does
//! RED with In and Out: packets inside their sender's contract (class above 0) and outside it (class 0) share a queue,
//! but each kind has a RED of its own:
//!
//! | arrival | average that is tested | thresholds |
//! |---|---|---|
//! | In | of the In packets that wait | `min_th_in`, `max_th_in`, `max_p_in` |
//! | Out | of all packets that wait | `min_th_out`, `max_th_out`, `max_p_out` |
//!
//! Out packets are dropped first, for their thresholds are lower and their average is higher. Which packets are In is
//! decided upstream.
//!
//! ## Source
//! D. D. Clark, W. Fang, "Explicit allocation of best-effort packet delivery service", IEEE/ACM Transactions on
//! Networking 6(4), 1998 (its text was not at hand; its example of 40, 70, 0.02 and 10, 30, 0.2 is known from the
//! literature [paper?]). Defaults and details: ns-2.35 `queue/rio.cc`. [ns-2]
//!
//! ## Differences
//! 1. The paper updates the total average at every arrival. ns-2 updates both averages at In arrivals and none at Out
//!    arrivals, so with few In packets Out is tested with an old average: `rio_ns2_bug`.
//! 2. After an idle time the average of In packets decays from when the link became idle, also if an Out packet came
//!    between; of several idle periods the first counts. ns-2 counts the last. (reconstruction)
//! 3. The rule of ns2 and ns3 that two packets must wait for an early drop counts In for In, all packets for Out.
//! 4. ns-2 has no `use_mark_p` in RIO: past the end of a curve it drops. So does the dialect ns2, unless `ecn_over_max`
//!    says otherwise. ns-2 does not restart Out's count after a certain drop or an overflow; here the count restarts,
//!    as in RED.
//! 5. ns-2 names In by a priority bit or by a flow number other than 0. Here any class above 0 is In.
//! 6. ns-2 binds `max_p` of Out to `linterm_`, 10, while the variable meant for it, 5, is never read: hence 1/10.
//! 7. A full buffer only ever drops the arrival.
//!
//! ## Example
//! ```
//! use earlydrop_aqm::{catalogue, gate::Gate, params::{Value, Values}, policy::Limit, random::Generator};
//! use earlydrop_aqm::{discipline::Fifo, Discipline, Packet, Time};
//!
//! let link = catalogue::Link { rate_bps: 10e6, delay_s: 0.01 };
//! let mut values = Values::new();
//! values.set("w_q", Value::Real(1.0));
//! let limit = Limit::Packets(100);
//! let catalogue::Built::Policy(policy) = (catalogue::find("rio").unwrap().build)(&values, &link, limit).unwrap()
//!     else { unreachable!() };
//! let mut queue = Fifo::new(Gate::new(policy, limit, false, Generator::custom(|| 1.0)));
//! // With the average pinned to the queue: no Out packet beyond 15 packets, no In packet beyond 30 of its kind.
//! let mut admitted = |class| {
//!     let packet = Packet { class, ..Packet::new(1, 1000) };
//!     (0..50).filter(|_| queue.enqueue(packet, Time::ZERO, &mut |_, _| {}).is_some()).count()
//! };
//! assert_eq!((admitted(0), admitted(1), admitted(0)), (15, 30, 0));
//! ```

use crate::catalogue::{AqmSpec, Built, Link};
use crate::default_limit::DefaultLimit;
use crate::early_detection::{params, Defaults, Dialect, EarlyDetection, OverMax, Settings, SHARED};
use crate::params::{Kind, Param, ParamError, Value, Values};
use crate::parts::curve::Linear;
use crate::policy::{Context, Limit, Needs, Policy, QueueView, Room, Verdict};
use crate::{Packet, Time};

const COMMON: [Param; SHARED] = params(Defaults { min_th: 5.0, max_th: 15.0, max_p: 0.1, source: "" });

/// The shared parameters without the first three, which each kind has of its own, and the last, `overflow_victim`.
const SHOWN: &[Param] = COMMON.split_at(3).1.split_at(SHARED - 4).0;

const fn like(common: usize, name: &'static str, default: f64, source: &'static str, doc: &'static str) -> Param {
    let kind = Kind::Real {
        low: 0.0,
        high: if common == 2 { 1.0 } else { f64::INFINITY },
        open_low: common > 0,
        open_high: false,
        auto: false,
    };
    Param { name, kind, default: Value::Real(default), source, doc, ..COMMON[common] }
}

const IN: [Param; 3] = [
    like(0, "min_th_in", 15.0, "ns-2.35 (paper: 40)", "Average of In packets below which no In packet is dropped."),
    like(1, "max_th_in", 30.0, "ns-2.35 (paper: 70)", "Average of In packets at which their probability is max_p_in."),
    like(2, "max_p_in", 0.02, "ns-2.35 (paper: 0.02)", "Drop probability of In packets at their upper threshold."),
];

const OUT: [Param; 3] = [
    like(0, "min_th_out", 5.0, "ns-2.35 (paper: 10)", "Average of all packets below which no Out packet is dropped."),
    like(1, "max_th_out", 15.0, "ns-2.35 (paper: 30)", "Average of all at which the probability of Out is max_p_out."),
    like(2, "max_p_out", 0.1, "ns-2.35 (paper: 0.2)", "Drop probability of Out packets at their upper threshold."),
];

const OWN: [Param; 2] = [
    Param::flag("gentle", false).says(
        "ns-2.35 (in_gentle_, out_gentle_)",
        "Beyond max_th the probability rises from max_p to 1 instead of jumping, for both kinds (not in linux).",
    ),
    Param::flag("rio_ns2_bug", false)
        .says("off: the paper; on: ns-2.35", "Out arrivals update no average, as in ns-2."),
];

/// The declaration.
pub const SPEC: AqmSpec = AqmSpec {
    summary: "RED with In and Out: packets outside their contract are tested with the whole queue, and dropped first",
    source:
        "Clark, Fang: Explicit allocation of best-effort packet delivery service, ToN 6(4), 1998; ns-2.35 queue/rio.cc",
    params: &[&IN, &OUT, SHOWN, &OWN],
    limit: DefaultLimit::RED,
    check: &|values, link| half(values, &IN, link).and(half(values, &OUT, link)).map(|_| ()),
    build: &|values, link, _| Ok(Built::Policy(Box::new(Rio::new(values, link)?))),
    ..AqmSpec::named("rio", "RIO", "classes", 1998)
};

/// The RED of one kind.
fn half(values: &Values, own: &[Param; 3], link: &Link) -> Result<(Settings, Linear), ParamError> {
    let mut shared = values.clone();
    for (own, common) in own.iter().zip(&COMMON) {
        shared.set(common.name, values.get(own));
    }
    // RIO drops past the end of the curve, which every dialect can do; the dialect linux keeps its rule, which marks.
    let automatic = values.choice::<OverMax>(&COMMON, "ecn_over_max") == OverMax::Auto;
    if automatic && values.choice::<Dialect>(&COMMON, "dialect") != Dialect::Linux {
        shared.set("ecn_over_max", Value::Choice("drop"));
    }
    let own_name = |mut error: ParamError| {
        if let Some(at) = COMMON[..3].iter().position(|common| common.name == error.name) {
            error.name = own[at].name;
        }
        error
    };
    let set = Settings::read(&shared, &COMMON, link).map_err(own_name)?;
    let gentle = values.flag(&OWN, "gentle");
    if gentle && set.dialect() == Dialect::Linux {
        return Err(ParamError::new("gentle", true, "false: linux has no gentle RED"));
    }
    Ok((set, Linear::new(set.min_th, set.max_th, set.max_p, gentle)))
}

/// The policy.
pub struct Rio {
    /// RED of In packets, by the average of In packets.
    inside: EarlyDetection<Linear>,
    /// RED of Out packets, by the average of all packets.
    outside: EarlyDetection<Linear>,
    /// Average of all packets, in the unit of the thresholds.
    total: f64,
    /// In packets that wait, and their bytes.
    waiting: (u64, u64),
    /// The first idle period that the average of In packets has not seen.
    idle_since: Option<Time>,
    /// Whether Out packets do not move the average of all packets (an error of ns-2.35).
    keep_bug: bool,
}

impl Rio {
    fn new(values: &Values, link: &Link) -> Result<Self, ParamError> {
        let (set, curve) = half(values, &IN, link)?;
        let inside = EarlyDetection::new(set, curve);
        let (set, curve) = half(values, &OUT, link)?;
        let outside = EarlyDetection::new(set, curve);
        let keep_bug = values.flag(&OWN, "rio_ns2_bug");
        Ok(Rio { inside, outside, total: 0.0, waiting: (0, 0), idle_since: None, keep_bug })
    }
}

impl Policy for Rio {
    fn needs(&self) -> Needs {
        Needs { dequeue: true, contents: true }
    }

    fn room(&self, limit: Limit) -> Room {
        self.outside.room(limit)
    }

    fn on_enqueue(&mut self, packet: &Packet, queue: &QueueView<'_>, cx: &mut Context<'_>) -> Verdict {
        let idle_since = self.idle_since.or(queue.idle_since);
        if packet.class == 0 {
            self.idle_since = idle_since;
            if !self.keep_bug {
                self.total = self.outside.observe(queue, cx.now);
            }
            return self.outside.decide(self.total, packet, queue, cx);
        }
        self.total = self.outside.observe(queue, cx.now);
        self.idle_since = None;
        let inside = QueueView { packets: self.waiting.0, bytes: self.waiting.1, idle_since, contents: None };
        self.inside.on_enqueue(packet, &inside, cx)
    }

    fn on_overflow(
        &mut self,
        earlier: Verdict,
        packet: &Packet,
        queue: &QueueView<'_>,
        cx: &mut Context<'_>,
    ) -> Verdict {
        let red = if packet.class == 0 { &mut self.outside } else { &mut self.inside };
        red.on_overflow(earlier, packet, queue, cx)
    }

    fn on_admitted(&mut self, packet: &Packet, _serial: u64) {
        if packet.class > 0 {
            self.waiting.0 += 1;
            self.waiting.1 += u64::from(packet.size);
        }
    }

    fn on_dequeue(&mut self, packet: Option<&Packet>, _queue: &QueueView<'_>, _cx: &mut Context<'_>) -> Verdict {
        if let Some(packet) = packet.filter(|packet| packet.class > 0) {
            self.waiting.0 -= 1;
            self.waiting.1 -= u64::from(packet.size);
        }
        Verdict::Pass
    }

    fn average(&self) -> Option<f64> {
        Some(self.outside.average())
    }

    fn gauges(&self, out: &mut dyn FnMut(&'static str, f64)) {
        out("avg", self.total);
        self.inside.gauges(&mut |name, value| {
            let name = match name {
                "avg" => "avg_in",
                "p_b" => "p_b_in",
                _ => "count_in",
            };
            out(name, value);
        });
        self.outside.gauges(&mut |name, value| match name {
            "p_b" => out("p_b_out", value),
            "count" => out("count_out", value),
            _ => {}
        });
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::prelude::*;

    const LINK: Link = Link { rate_bps: 10e6, delay_s: 0.01 };

    fn rio(pairs: &[(&'static str, Value)]) -> Result<Rio, ParamError> {
        let values = Values::of(pairs);
        Rio::new(&values, &LINK)
    }

    fn queue(pairs: &[(&'static str, Value)], limit: u64, uniform: f64) -> Fifo {
        let policy = Box::new(rio(pairs).unwrap());
        Fifo::new(Gate::new(policy, Limit::Packets(limit), false, Generator::custom(move || uniform)))
    }

    fn arrive(queue: &mut Fifo, class: u8, now: f64) -> Option<Reason> {
        let mut reason = None;
        let packet = Packet { class, ..Packet::new(1, 1000) };
        queue.enqueue(packet, Time::from_seconds(now), &mut |_, why| reason = Some(why));
        reason
    }

    fn gauge(queue: &Fifo, name: &str) -> f64 {
        let mut found = f64::NAN;
        queue.gauges(&mut |key, value| {
            if key == name {
                found = value;
            }
        });
        found
    }

    const PINNED: (&str, Value) = ("w_q", Value::Real(1.0));

    #[test]
    fn base_probabilities_of_both_kinds() {
        let mut queue = queue(&[PINNED], 100, 1.0);
        for _ in 0..10 {
            arrive(&mut queue, 0, 0.0);
        }
        assert_eq!(arrive(&mut queue, 0, 0.0), None);
        assert!((gauge(&queue, "p_b_out") - 0.05).abs() < 1e-12, "Out at 10 packets");
        for _ in 0..20 {
            arrive(&mut queue, 3, 0.0);
        }
        assert_eq!(arrive(&mut queue, 7, 0.0), None);
        assert_eq!((gauge(&queue, "avg"), gauge(&queue, "avg_in")), (31.0, 20.0));
        assert!((gauge(&queue, "p_b_in") - 1.0 / 150.0).abs() < 1e-12, "In at 20 In packets");
    }

    #[test]
    fn each_kind_is_dropped_from_its_own_threshold_on() {
        // The random number 0 hits as soon as the probability is above 0.
        let mut queue = queue(&[PINNED], 100, 0.0);
        for found in 0..6 {
            assert_eq!(arrive(&mut queue, 0, 0.0), None, "Out finds {found}");
        }
        assert_eq!(arrive(&mut queue, 0, 0.0), Some(Reason::Early), "Out finds 6");
        for found in 0..16 {
            assert_eq!(arrive(&mut queue, 1, 0.0), None, "In finds {found} In packets and 6 others");
        }
        assert_eq!(arrive(&mut queue, 1, 0.0), Some(Reason::Early), "In finds 16 In packets");
        assert_eq!(arrive(&mut queue, 0, 0.0), Some(Reason::Forced), "Out finds 22 packets");
        for _ in 0..7 {
            queue.dequeue(Time::ZERO, &mut |_, _| {});
        }
        assert_eq!(arrive(&mut queue, 1, 0.0), None, "one In packet has left, and six of Out");
    }

    #[test]
    fn with_the_defect_of_ns2_out_arrivals_update_nothing() {
        for (keep, avg) in [(false, 9.0), (true, 0.0)] {
            let mut queue = queue(&[PINNED, ("rio_ns2_bug", Value::Flag(keep))], 100, 1.0);
            for _ in 0..10 {
                arrive(&mut queue, 0, 0.0);
            }
            assert_eq!(gauge(&queue, "avg"), avg);
            arrive(&mut queue, 1, 0.0);
            assert_eq!(gauge(&queue, "avg"), 10.0, "an In arrival updates both");
        }
    }

    #[test]
    fn averages_decay_while_the_link_is_idle() {
        // 2500 packets/s of 500 B. Three In packets raise both averages; the following 1 ms of silence is two packets.
        let idle = |out_between: bool| {
            let given = [("w_q", Value::Real(0.25)), ("min_th_in", Value::Real(20.0))];
            let mut queue = queue(&given, 100, 1.0);
            for _ in 0..3 {
                arrive(&mut queue, 1, 0.0);
            }
            let before = (gauge(&queue, "avg"), gauge(&queue, "avg_in"));
            while queue.dequeue(Time::from_seconds(1.0), &mut |_, _| {}).is_some() {}
            if out_between {
                arrive(&mut queue, 0, 1.001);
                while queue.dequeue(Time::from_seconds(1.001), &mut |_, _| {}).is_some() {}
            }
            arrive(&mut queue, 1, 1.001);
            (before, gauge(&queue, "avg"), gauge(&queue, "avg_in"))
        };
        // The first arrival finds an idle link, the next two find one and two packets: 0.25, then 0.75 * 0.25 + 0.5.
        let before = (0.6875, 0.6875);
        assert_eq!(idle(false), (before, 0.6875 * 0.5625, 0.6875 * 0.5625));
        assert_eq!(idle(true), (before, 0.6875 * 0.5625, 0.6875 * 0.5625), "an Out packet does not use it up");
    }

    /// ns-2's RED would mark past the end while p_b < mark_p; its RIO has a certain drop there.
    #[test]
    fn past_the_end_of_a_curve_the_dialect_of_ns2_drops() {
        let marks = |more: &[(&'static str, Value)]| {
            let mut given = vec![PINNED, ("dialect", Value::Choice("ns2")), ("mark_p", Value::Real(2.0))];
            given.extend(more);
            let policy = Box::new(rio(&given).unwrap());
            let mut queue = Fifo::new(Gate::new(policy, Limit::Packets(100), true, Generator::custom(|| 0.0)));
            let packet = Packet { ecn: crate::Ecn::Ect0, ..Packet::new(1, 1000) };
            (0..40).for_each(|_| {
                queue.enqueue(packet, Time::ZERO, &mut |_, _| {});
            });
            (queue.counters().marks, queue.counters().forced_drops)
        };
        let (found, dropped) = marks(&[]);
        assert!(found < 10 && dropped == 25, "{found} marks and {dropped} drops: 15 packets, and then no more");
        assert!(marks(&[("ecn_over_max", Value::Choice("mark_below_mark_p"))]).0 > 10);
    }

    #[test]
    fn thresholds_are_refused_by_their_own_names() {
        let fault = |pairs: &[_]| rio(pairs).err().map(|error| error.name);
        assert_eq!(fault(&[("min_th_in", Value::Real(30.0))]), Some("max_th_in"));
        assert_eq!(fault(&[("max_th_out", Value::Real(5.0))]), Some("max_th_out"));
        assert_eq!(fault(&[("min_th_out", Value::QueueBytes(9.0))]), Some("min_th_out"));
        assert_eq!(fault(&[("dialect", Value::Choice("linux")), ("gentle", Value::Flag(true))]), Some("gentle"));
        assert_eq!(fault(&[("dialect", Value::Choice("linux"))]), None);
        assert!(SPEC.all_params().all(|p| !["min_th", "max_th", "max_p", "overflow_victim"].contains(&p.name)));
        assert!(SPEC.param("dialect").is_some() && SPEC.param("max_packet").is_some());
    }
}
