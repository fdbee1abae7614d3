//! # PD-RED
//!
//! ## What it does
//! RED whose `max_p` a proportional-derivative controller moves on a timer, to hold the average at `q_target`. Every
//! `interval`, with the buffer B and the error `e_k = (avg - q_target)/B`:
//!
//! `max_p := max_p + k_p e_k + k_d (e_k - e_{k-1})`, held within `bottom` and `top`.
//!
//! ## Source
//! J. Sun, K. T. Ko, G. Chen, S. Chan, M. Zukerman, "PD-RED: to improve the performance of RED", IEEE Communications
//! Letters 7(8), 2003 [paper?: only the abstract could be read, which says that a PD controller moves RED's maximal
//! drop rate and that nothing else changes]. Averaging, curve, spacing and byte mode are RED's.
//!
//! ## Differences
//! 1. k_p = 0.001, k_d = 0.05, the 10 ms between two steps and the bounds 0.01 and 0.5 are as recalled in the
//!    literature [paper?]. So is the division by the buffer.
//! 2. The target is half-way between the thresholds [paper?]; `q_target` sets another.
//! 3. Before the first error counts an equal one, so that the first step has no derivative (reconstruction).
//! 4. The controller too sees the average decayed by the idle time, as RED does (reconstruction).
//! 5. max_p starts at 0.1 as in ns-2's ARED (reconstruction). A start outside the bounds is drawn in by the first step.
//! 6. No gentle part is mentioned. `gentle` adds one; see `gentle_tracks_maxp`.
//!
//! ## Example
//! ```
//! use earlydrop_aqm::{catalogue::{self, Built}, gate::Gate, params::{Value, Values}, policy::Limit, random::Generator};
//! use earlydrop_aqm::{discipline::Fifo, Discipline, Packet, Time};
//!
//! let link = catalogue::Link { rate_bps: 10e6, delay_s: 0.02 };
//! let Built::Policy(red) = (catalogue::find("pd_red").unwrap().build)(&Values::new(), &link, Limit::Packets(50)).unwrap()
//!     else { unreachable!() };
//! let mut queue = Fifo::new(Gate::new(red, Limit::Packets(50), false, Generator::stream(1, "queue")));
//! queue.on_timer(Time::from_seconds(0.01));
//! // The queue is empty: e = (0 - 10)/50, so max_p falls by 0.001 * 0.2.
//! queue.gauges(&mut |name, value| if name == "max_p" { assert!((value - 0.0998).abs() < 1e-12) });
//! ```

use crate::catalogue::{AqmSpec, Built, Link};
use crate::default_limit::DefaultLimit;
use crate::early_detection::{params, without_linux, Defaults, EarlyDetection, Settings, SHARED};
use crate::params::{Kind, Param, ParamError, Unit, Value, Values};
use crate::parts::curve::{probability, Linear};
use crate::parts::moving_max_p::{gentle_params, line};
use crate::policy::{Context, Limit, QueueView, Verdict};
use crate::{Packet, Time};

const COMMON: [Param; SHARED] = without_linux(params(Defaults {
    min_th: 5.0,
    max_th: 15.0,
    max_p: 0.1,
    source: "our choice: Floyd & Jacobson 1993, max_p as ns-2's ARED",
}));

const RECALLED: &str = "Sun and others 2003, as recalled";

const fn number(
    name: &'static str,
    symbol: &'static str,
    (low, high): (f64, f64),
    default: f64,
    doc: &'static str,
) -> Param {
    Param::real(name, Unit::None, Kind::real(low, high), default).symbol(symbol).says(RECALLED, doc)
}

const OWN: [Param; 6] = [
    Param::new("q_target", Unit::QueueLength, Kind::real(0.0, f64::INFINITY).or_auto(), Value::Auto)
        .symbol("q_T")
        .says(RECALLED, "Average queue to be held; \"auto\" is half-way between the thresholds."),
    number("k_p", "k_p", (0.0, 1e6), 0.001, "Gain of the error."),
    number("k_d", "k_d", (0.0, 1e6), 0.05, "Gain of the error's change."),
    Param {
        unit: Unit::Seconds,
        ..number("interval", "\\delta t", (0.001, 1e6), 0.01, "Time between two steps of the controller.")
    },
    number("bottom", "", (0.0, 1.0), 0.01, "Least max_p."),
    number("top", "", (0.0, 1.0), 0.5, "Greatest max_p."),
];

const GENTLE: [Param; 2] = gentle_params(false, "the abstract says that RED is changed little");

/// The declaration.
pub const SPEC: AqmSpec = AqmSpec {
    summary: "RED whose max_p a proportional-derivative controller moves to hold the average at a target",
    source: "Sun, Ko, Chen, Chan, Zukerman: PD-RED, to improve the performance of RED, IEEE Comm. Letters 7(8), 2003",
    params: &[&COMMON, &OWN, &GENTLE],
    limit: DefaultLimit::RED,
    check: &|values, link| read(values, link, Limit::Packets(1)).map(|_| ()),
    build: &|values, link, limit| Ok(Built::Policy(Box::new(read(values, link, limit)?))),
    curve: Some(&|values, link, average| {
        read(values, link, Limit::Packets(1))
            .map_or(f64::NAN, |red| probability(red.core.curve(), red.core.settings().in_unit(average)))
    }),
    ..AqmSpec::named("pd_red", "PD-RED", "adaptive RED", 2003)
};

fn read(values: &Values, link: &Link, limit: Limit) -> Result<PdRed, ParamError> {
    let set = Settings::read(values, &COMMON, link)?;
    let target = set.queue_length("q_target", values.get(&OWN[0]), (set.min_th + set.max_th) / 2.0)?;
    let [k_p, k_d, interval, bottom, top] =
        ["k_p", "k_d", "interval", "bottom", "top"].map(|name| values.real(&OWN, name));
    if bottom > top {
        return Err(ParamError::new("bottom", bottom, format!("at most top ({top})")));
    }
    let buffer = set.limit_in_unit(limit).max(1.0);
    let core = EarlyDetection::new(set, line(&set, values, &GENTLE));
    let next = Time::ZERO + interval;
    Ok(PdRed { core, target, buffer, k_p, k_d, interval, bottom, top, last_error: None, next })
}

/// The policy.
pub struct PdRed {
    /// RED: average, spacing and drop curve.
    core: EarlyDetection<Linear>,
    /// The average aimed at, in the unit of the average.
    target: f64,
    /// The buffer, in the unit of the average.
    buffer: f64,
    /// Proportional gain.
    k_p: f64,
    /// Derivative gain.
    k_d: f64,
    /// Time between two changes of max_p, s.
    interval: f64,
    /// Least max_p.
    bottom: f64,
    /// Largest max_p.
    top: f64,
    /// The error at the last change, as a part of the buffer; `None` before the first.
    last_error: Option<f64>,
    /// When max_p moves next.
    next: Time,
}

crate::early_detection_policy!(PdRed, {
    #[inline]
    fn on_enqueue(&mut self, packet: &Packet, queue: &QueueView<'_>, cx: &mut Context<'_>) -> Verdict {
        self.core.on_enqueue(packet, queue, cx)
    }

    fn next_timer(&self) -> Option<Time> {
        Some(self.next)
    }

    fn on_timer(&mut self, queue: &QueueView<'_>, cx: &mut Context<'_>) {
        let error = (self.core.average_seen_at(queue, cx.now) - self.target) / self.buffer;
        let change = error - self.last_error.unwrap_or(error);
        let max_p = self.core.curve().max_p() + self.k_p * error + self.k_d * change;
        self.core.set_max_p(max_p.clamp(self.bottom, self.top));
        self.last_error = Some(error);
        self.next = self.next + self.interval;
    }

    fn gauges(&self, out: &mut dyn FnMut(&'static str, f64)) {
        self.core.gauges(out);
        out("max_p", self.core.curve().max_p());
        out("error", self.last_error.unwrap_or(0.0));
    }
});

#[cfg(test)]
mod tests {
    use super::*;
    use crate::policy::Policy as _;
    use crate::random::Generator;

    const LINK: Link = Link { rate_bps: 10e6, delay_s: 0.02 };

    /// Weight 1: the average is the queue found. Thresholds 10 and 30, a buffer of 100 packets of 500 B.
    fn controller(pairs: &[(&'static str, Value)], limit: Limit) -> PdRed {
        let mut values =
            Values::of(&[("w_q", Value::Real(1.0)), ("min_th", Value::Real(10.0)), ("max_th", Value::Real(30.0))]);
        for &(name, value) in pairs {
            values.set(name, value);
        }
        read(&values, &LINK, limit).unwrap()
    }

    /// max_p after an arrival that finds `packets` and one step.
    fn step(policy: &mut PdRed, packets: u64) -> f64 {
        let queue = QueueView { packets, bytes: packets * 500, idle_since: None, contents: None };
        let (mut victims, now, random) = (Vec::new(), Time::ZERO, &mut Generator::stream(1, "pd"));
        let mut cx = Context { now, ecn: false, has_room: true, random, victims: &mut victims };
        policy.on_enqueue(&Packet::new(1, 500), &queue, &mut cx);
        policy.on_timer(&queue, &mut cx);
        policy.core.curve().max_p()
    }

    fn near(found: f64, want: f64) {
        assert!((found - want).abs() < 1e-12, "{found}, not {want}");
    }

    /// Steps worked by hand for e = 0.2, 0.3, 0.3, -0.1, 0.
    #[test]
    fn steps_by_error_and_change_of_error() {
        for limit in [Limit::Packets(100), Limit::Bytes(50_000)] {
            for unit in ["packet", "byte"] {
                let mut policy = controller(&[("unit", Value::Choice(unit))], limit);
                near(step(&mut policy, 40), 0.1 + 0.0002);
                near(step(&mut policy, 50), 0.1002 + 0.0003 + 0.05 * 0.1);
                near(step(&mut policy, 50), 0.1055 + 0.0003);
                near(step(&mut policy, 10), 0.1058 - 0.0001 - 0.05 * 0.4);
                near(step(&mut policy, 20), 0.0857 + 0.05 * 0.1);
            }
        }
    }

    #[test]
    fn target_is_half_way_unless_it_is_given() {
        near(step(&mut controller(&[], Limit::Packets(100)), 20), 0.1);
        near(step(&mut controller(&[("q_target", Value::Real(50.0))], Limit::Packets(100)), 20), 0.1 - 0.0003);
        let bytes = [("q_target", Value::QueueBytes(10_000.0)), ("unit", Value::Choice("byte"))];
        near(step(&mut controller(&bytes, Limit::Packets(100)), 30), 0.1 + 0.0001);
        let values = Values::of(&[("q_target", Value::QueueBytes(10_000.0))]);
        assert_eq!(read(&values, &LINK, Limit::Packets(1)).err().unwrap().name, "q_target");
    }

    #[test]
    fn bounds_hold_from_the_first_step_on() {
        near(step(&mut controller(&[("max_p", Value::Real(0.9))], Limit::Packets(100)), 20), 0.5);
        near(step(&mut controller(&[("max_p", Value::Real(0.001))], Limit::Packets(100)), 20), 0.01);
        let eager = [("k_p", Value::Real(10.0))];
        near(step(&mut controller(&eager, Limit::Packets(100)), 100), 0.5);
        near(step(&mut controller(&eager, Limit::Packets(100)), 0), 0.01);
        let crossed = [("bottom", Value::Real(0.6))];
        let values = Values::of(&[(crossed[0].0, crossed[0].1)]);
        assert_eq!(read(&values, &LINK, Limit::Packets(1)).err().unwrap().name, "bottom");
    }

    #[test]
    fn runs_every_interval() {
        let mut policy = controller(&[("interval", Value::Real(0.25))], Limit::Packets(100));
        let mut due = Vec::new();
        for _ in 0..3 {
            due.push(policy.next_timer().unwrap().seconds());
            step(&mut policy, 20);
        }
        assert_eq!(due, [0.25, 0.5, 0.75]);
        assert_eq!(controller(&[], Limit::Packets(100)).next, Time::from_seconds(0.01));
    }

    /// On an idle link the average decays for the 2500 packets/s of 500 B that could have been sent.
    #[test]
    fn idle_time_counts() {
        let mut policy = controller(&[("w_q", Value::Real(0.002)), ("k_p", Value::Real(0.01))], Limit::Packets(100));
        while policy.average().unwrap() < 40.0 {
            step(&mut policy, 60);
        }
        policy.last_error = None;
        policy.core.set_max_p(0.1);
        let idle = QueueView { packets: 0, bytes: 0, idle_since: Some(Time::ZERO), contents: None };
        let (mut victims, now) = (Vec::new(), Time::from_seconds(1.0));
        let random = &mut Generator::stream(1, "pd");
        let mut cx = Context { now, ecn: false, has_room: true, random, victims: &mut victims };
        let before = policy.average().unwrap();
        policy.on_timer(&idle, &mut cx);
        near(policy.core.curve().max_p(), 0.1 + 0.01 * (before * (2500.0 * (-0.002_f64).ln_1p()).exp() - 20.0) / 100.0);
        near(policy.average().unwrap(), before);
    }
}
