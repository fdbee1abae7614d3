//! # Expression
//!
//! ## What it does
//! The drop probability is an expression that its user writes, `rule`. It is computed for each arrival that finds room,
//! and the arrival is signalled with that probability, independently.
//!
//! | name | is |
//! |---|---|
//! | `q` | packets that wait |
//! | `avg` | `q`, averaged with the time constant `window` |
//! | `delay` | how long the packet that left last has waited, s; 0 while the link is idle |
//! | `rate` | what the link sends while packets wait, averaged with the time constant `window`, bit/s; at first its rate |
//! | `dt` | time since the last arrival that found room, s; at first 0 |
//! | `p` | the last probability; at first 0 |
//!
//! A rule has these names, numbers, brackets, `+ - * /`, `min(a, b)`, `max(a, b)`, `exp(x)`, `sqrt(x)`, and `a < b`,
//! which is 1 or 0 and binds least. It has at most 200 characters, 64 operations and 32 levels of brackets. What it
//! gives is cut to [0, 1]. Magnitudes below 1e-150 are 0, those above 1e150 are 1e150; what is no number, as 0/0 or the
//! root of a negative number, is 0.
//!
//! The default signals 2 % of arrivals for each 10 ms that packets wait longer than 5 ms.
//!
//! ## Source
//! Ours. The 5 ms of the default are CoDel's target (RFC 8289).
//!
//! ## Differences
//! None known.
//!
//! ## Example
//! ```
//! use earlydrop_aqm::params::{Text, Value};
//! use earlydrop_aqm::prelude::*;
//!
//! let (link, limit) = (Link { rate_bps: 10e6, delay_s: 0.01 }, Limit::Packets(10));
//! let values = Values::of(&[("rule", Value::Text(Text::new("2 < q")))]);
//! let built = (catalogue::find("expression").unwrap().build)(&values, &link, limit).unwrap();
//! let mut queue = built.queue(limit, false, Generator::stream(1, "queue"));
//! for _ in 0..9 {
//!     queue.enqueue(Packet::new(1, 1000), Time::ZERO, &mut |_, _| {});
//! }
//! assert_eq!(queue.packets(), 3);
//! ```

use crate::catalogue::{AqmSpec, Built, Link};
use crate::params::{Kind, Param, ParamError, Unit, Values};
use crate::parts::arithmetic::{Program, LANGUAGE};
use crate::parts::independent;
use crate::policy::{Context, Needs, Policy, QueueView, Verdict};
use crate::{Packet, Time};
use std::any::Any;

/// What a rule can name, in the order in which [`Expression`] hands them over.
const NAMES: [&str; 6] = ["q", "avg", "delay", "rate", "dt", "p"];

const PARAMS: [Param; 2] = [
    Param::text("rule", "2*(delay - 0.005)").says(
        "ours; 5 ms: CoDel's target, RFC 8289",
        "Drop probability, an expression of q, avg (packets), delay, dt (s), rate (bit/s) and p.",
    ),
    Param::real("window", Unit::Seconds, Kind::above(0.0, 60.0), 0.1)
        .symbol("\\tau")
        .says("ours: CoDel's interval, the usual round trip", "Time constant of avg and rate."),
];

/// The declaration.
pub const SPEC: AqmSpec = AqmSpec {
    summary: "A drop probability of one's own, written as an expression",
    source: "Ours",
    params: &[&PARAMS],
    check: &|values, link| read(values, link).map(|_| ()),
    build: &|values, link, _| Ok(Built::Policy(Box::new(read(values, link)?))),
    ..AqmSpec::named("expression", "Expression", "load and queue control", 2026)
};

fn read(values: &Values, link: &Link) -> Result<Expression, ParamError> {
    let rule = values.text(&PARAMS, "rule");
    let rule = Program::parse(rule.as_str(), &NAMES).map_err(|fault| {
        let allowed = format!("an expression of {} with {LANGUAGE}; {fault}", NAMES.join(", "));
        ParamError::new("rule", format!("{:?}", rule.as_str()), allowed)
    })?;
    Ok(Expression {
        rule,
        window: values.real(&PARAMS, "window"),
        arrived: None,
        avg: 0.0,
        delay: 0.0,
        rate: link.rate_bps,
        taken: None,
        p: 0.0,
    })
}

/// The policy.
pub struct Expression {
    /// The rule, parsed.
    rule: Program,
    /// Time constant of `avg` and `rate`, s.
    window: f64,
    /// The last arrival that found room.
    arrived: Option<Time>,
    /// Averaged queue, packets.
    avg: f64,
    /// How long the packet that left last has waited, s.
    delay: f64,
    /// Averaged rate of the link while packets wait, bit/s.
    rate: f64,
    /// When the link took a packet last, and the bits that it has taken then.
    taken: Option<(Time, f64)>,
    /// The last probability.
    p: f64,
}

impl Expression {
    /// `average` after `time`, s, in which its input was `x`.
    fn averaged(&self, average: f64, x: f64, time: f64) -> f64 {
        x + (average - x) * libm::exp(-time / self.window)
    }
}

impl Policy for Expression {
    fn needs(&self) -> Needs {
        Needs { dequeue: true, contents: false }
    }

    fn only_observes_departures(&self) -> bool {
        true
    }

    fn on_enqueue(&mut self, _packet: &Packet, queue: &QueueView<'_>, cx: &mut Context<'_>) -> Verdict {
        if !cx.has_room {
            return Verdict::Pass;
        }
        let dt = self.arrived.map_or(0.0, |last| cx.now - last);
        let q = queue.packets as f64;
        self.arrived = Some(cx.now);
        self.avg = self.averaged(self.avg, q, dt);
        let delay = if queue.idle_since.is_some() { 0.0 } else { self.delay };
        self.p = self.rule.run(&[q, self.avg, delay, self.rate, dt, self.p]).clamp(0.0, 1.0);
        independent::draw(self.p, cx)
    }

    fn on_dequeue(&mut self, packet: Option<&Packet>, _queue: &QueueView<'_>, cx: &mut Context<'_>) -> Verdict {
        let Some(packet) = packet else { return Verdict::Pass };
        self.delay = cx.now - packet.enqueued;
        let size = 8.0 * f64::from(packet.size);
        self.taken = match self.taken {
            // Frames of several packets leave at one time.
            Some((last, bits)) if cx.now <= last => Some((last, bits + size)),
            Some((last, bits)) => {
                // What arrived at an idle link says nothing of its rate.
                if self.delay > 0.0 {
                    let time = cx.now - last;
                    self.rate = self.averaged(self.rate, bits / time, time);
                }
                Some((cx.now, size))
            }
            None => Some((cx.now, size)),
        };
        Verdict::Pass
    }

    fn gauges(&self, out: &mut dyn FnMut(&'static str, f64)) {
        out("p", self.p);
        out("avg", self.avg);
        out("delay", self.delay);
        out("rate", self.rate);
    }

    fn average(&self) -> Option<f64> {
        Some(self.avg)
    }

    fn resume(&mut self, before: &dyn Any) -> bool {
        let Some(before) = before.downcast_ref::<Self>() else { return false };
        (self.arrived, self.avg, self.p) = (before.arrived, before.avg, before.p);
        (self.delay, self.rate, self.taken) = (before.delay, before.rate, before.taken);
        true
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::params::{Text, Value};
    use crate::prelude::*;

    /// A packet of 1250 B takes 1 ms.
    const LINK: Link = Link { rate_bps: 10e6, delay_s: 0.01 };

    fn of(rule: &str) -> Values {
        Values::of(&[("rule", Value::Text(Text::read(rule).unwrap()))])
    }

    fn queue(rule: &str, ecn: bool) -> Fifo {
        let policy = read(&of(rule), &LINK).unwrap();
        Fifo::new(Gate::new(Box::new(policy), Limit::Packets(4), ecn, Generator::custom(|| 0.5)))
    }

    fn arrive(queue: &mut Fifo, now: f64) -> bool {
        let packet = Packet { ecn: Ecn::Ect0, ..Packet::new(1, 1250) };
        queue.enqueue(packet, Time::from_seconds(now), &mut |_, _| {}).is_some_and(|admitted| !admitted.0)
    }

    fn gauge(queue: &Fifo, wanted: &str) -> f64 {
        let mut found = f64::NAN;
        queue.gauges(&mut |name, value| {
            if name == wanted {
                found = value
            }
        });
        found
    }

    #[test]
    fn a_rule_decides_at_arrival_and_is_cut_to_a_probability() {
        for (rule, p) in [("0.25", 0.25), ("7", 1.0), ("-1", 0.0), ("0/0", 0.0), ("1/0", 1.0), ("sqrt(0 - q)", 0.0)] {
            let mut queue = queue(rule, false);
            let passed = arrive(&mut queue, 0.0);
            assert_eq!((gauge(&queue, "p"), passed), (p, p < 0.5), "{rule}");
        }
        let mut forced = queue("1", false);
        arrive(&mut forced, 0.0);
        assert_eq!((forced.counters().forced_drops, forced.counters().early_drops), (1, 0));
        let mut early = queue("0.5", true);
        assert!(!arrive(&mut early, 0.0));
        assert_eq!((early.counters().marks, early.packets()), (1, 1));
    }

    #[test]
    fn names_have_the_values_that_an_arrival_finds() {
        let mut queue = queue("p + 0.001", false);
        arrive(&mut queue, 0.0);
        arrive(&mut queue, 0.5);
        assert_eq!(gauge(&queue, "p"), 0.002);
        // What finds no room changes nothing.
        for now in [0.5, 0.5, 0.6, 0.7] {
            arrive(&mut queue, now);
        }
        assert_eq!((queue.packets(), gauge(&queue, "p")), (4, 0.004));
        let average = gauge(&queue, "avg");
        let mut by_hand = 0.0;
        for (q, dt) in [(0.0, 0.0), (1.0, 0.5), (2.0, 0.0), (3.0, 0.0)] {
            by_hand = q + (by_hand - q) * libm::exp(-dt / 0.1);
        }
        assert_eq!(average, by_hand);
    }

    /// The last probability, with `rule` and the arrivals at `arrivals`, after departures at `departures`.
    fn p(rule: &str, arrivals: &[f64], departures: &[f64], last: f64) -> f64 {
        let mut queue = queue(rule, false);
        arrivals.iter().for_each(|&now| assert!(arrive(&mut queue, now)));
        for &now in departures {
            queue.dequeue(Time::from_seconds(now), &mut |_, _| {});
        }
        arrive(&mut queue, last);
        gauge(&queue, "p")
    }

    #[test]
    fn delay_and_rate_are_of_packets_that_left() {
        let departures = [0.0, 0.002, 0.004];
        assert_eq!(p("delay", &[0.0; 4], &departures, 0.005), 0.004);
        assert_eq!(p("q/10", &[0.0; 4], &departures, 0.005), 0.1);
        assert_eq!(p("dt", &[0.0; 4], &departures, 0.005), 0.005);
        // The link has 10 Mbit/s and sends 5: the average moves from the one to the other.
        let rate = 5e6 + 5e6 * libm::exp(-0.004 / 0.1);
        assert!((p("rate/1e8", &[0.0; 4], &departures, 0.005) * 1e8 - rate).abs() < 1e-3);
        // Of a link that was idle nothing is known, and what waits at it has no delay.
        assert_eq!(p("rate/1e8", &[0.0], &[0.0, 0.5], 1.0), 0.1);
        assert_eq!(p("delay", &[0.0; 2], &[0.0, 0.25, 0.5], 1.0), 0.0);
        // Two packets in one frame count as its bits.
        let rate = 2e5 + 9.8e6 * libm::exp(-0.1 / 0.1);
        assert!((p("rate/1e8", &[0.0; 4], &[0.0, 0.0, 0.1], 0.1) * 1e8 - rate).abs() < 1e-3);
    }

    #[test]
    fn a_bad_rule_is_refused_with_place_and_what_is_allowed() {
        let error = read(&of("q + delay2"), &LINK).err().unwrap().to_string();
        assert_eq!(
            error,
            "rule = \"q + delay2\": an expression of q, avg, delay, rate, dt, p with + - * / <, min(a, b), max(a, b), \
             exp(x), sqrt(x), numbers and brackets; character 5: delay2 is unknown"
        );
        assert!((SPEC.check)(&Values::new(), &LINK).is_ok());
    }

    #[test]
    fn both_parameters_change_while_it_runs() {
        assert_eq!(crate::changeable::changeable(&SPEC, &Values::new(), &LINK, Limit::Packets(9)), ["rule", "window"]);
        let mut before = read(&of("0.25"), &LINK).unwrap();
        before.p = 0.125;
        let mut after = read(&of("p"), &LINK).unwrap();
        assert!(after.resume(&before) && after.p == 0.125);
    }
}
