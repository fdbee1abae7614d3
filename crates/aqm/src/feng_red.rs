//! # Self-configuring RED
//!
//! ## What it does
//! RED whose `max_p` is divided by `alpha` when the average falls below `min_th` and multiplied by `beta` when it rises
//! above `max_th`: once per excursion, so again the same way only after the average has been between the thresholds or
//! on the other side.
//!
//! | average | status | max_p |
//! |---|---|---|
//! | `min_th < avg < max_th` | becomes between | stays |
//! | `avg < min_th` | becomes below | divided by `alpha` if the status was another |
//! | `avg > max_th` | becomes above | multiplied by `beta` if the status was another |
//!
//! The rule runs at every arrival, after the average and before the drop test.
//!
//! ## Source
//! W. Feng, D. Kandlur, D. Saha, K. Shin, "A self-configuring RED gateway", INFOCOM 1999 [ns-2] [ns-3: as ns-2.35
//! `queue/red.cc` (`feng_adaptive_`) and ns-3 `red-queue-disc.cc` have it].
//!
//! ## Differences
//! 1. In ns-2 and ns-3 the status starts as above, because above is the zero of the enumeration: the first arrival, at
//!    an average of 0, divides max_p by alpha. Here too; if it matters, set max_p to 3 times the value wanted.
//! 2. Neither bounds max_p. Here it stays within `bottom` and `top`, 1e-6 and 1 (reconstruction).
//! 3. ns-2's defaults `alpha_` 0.01 and `beta_` 0.9 belong to ARED; with `feng_adaptive_` they make max_p explode and
//!    have to be set to 3 and 2 by hand. Factors below 1 are refused here.
//! 4. The 1999 paper has no gentle part. `gentle` adds it; `gentle_tracks_maxp` lets it move with max_p.
//! 5. Linux has no such RED, so there are three dialects. The rows of ns2 agree with ns-2.35 in every bit, see
//!    `tests/open_loop/ns2.rs`.
//!
//! ## Example
//! ```
//! use earlydrop_aqm::{catalogue::{self, Built}, gate::Gate, params::{Value, Values}, policy::Limit, random::Generator};
//! use earlydrop_aqm::{discipline::Fifo, Discipline, Packet, Time};
//!
//! let link = catalogue::Link { rate_bps: 10e6, delay_s: 0.02 };
//! let mut values = Values::new();
//! values.set("max_p", Value::Real(0.03)).set("w_q", Value::Real(1.0)).set("gentle", Value::Flag(true));
//! let Built::Policy(red) = (catalogue::find("feng_red").unwrap().build)(&values, &link, Limit::Packets(100)).unwrap()
//!     else { unreachable!() };
//! let mut queue = Fifo::new(Gate::new(red, Limit::Packets(100), false, Generator::custom(|| 1.0)));
//! let mut max_p = [0.0; 20];
//! for max_p in &mut max_p {
//!     queue.enqueue(Packet::new(1, 1000), Time::ZERO, &mut |_, _| {});
//!     queue.gauges(&mut |name, value| if name == "max_p" { *max_p = value });
//! }
//! assert!((max_p[0] - 0.01).abs() < 1e-12 && max_p[15] == max_p[0], "below min_th: divided by 3, once");
//! assert!((max_p[16] - 0.02).abs() < 1e-12 && max_p[19] == max_p[16], "above max_th: doubled, once");
//! ```

use crate::catalogue::{AqmSpec, Built, Link};
use crate::default_limit::DefaultLimit;
use crate::early_detection::{params, without_linux, Defaults, EarlyDetection, Settings, SHARED};
use crate::params::{Kind, Param, ParamError, Unit, Values};
use crate::parts::curve::{probability, Linear};
use crate::parts::moving_max_p::{gentle_params, line};
use crate::policy::{Context, QueueView, Verdict};
use crate::Packet;

const COMMON: [Param; SHARED] =
    without_linux(params(Defaults { min_th: 5.0, max_th: 15.0, max_p: 0.1, source: "ns-2.35 before 2002" }));

const fn number(
    name: &'static str,
    symbol: &'static str,
    (low, high): (f64, f64),
    default: f64,
    source: &'static str,
    doc: &'static str,
) -> Param {
    Param::real(
        name,
        Unit::None,
        Kind::Real { low, high, open_low: low == 0.0, open_high: false, auto: false },
        default,
    )
    .symbol(symbol)
    .says(source, doc)
}

const OWN: [Param; 4] = [
    number("alpha", "\\alpha", (1.0, 1e6), 3.0, "Feng and others 1999", "Divisor of max_p below min_th."),
    number("beta", "\\beta", (1.0, 1e6), 2.0, "Feng and others 1999", "Factor of max_p above max_th."),
    number("bottom", "", (0.0, 1.0), 1e-6, "our choice", "Least max_p."),
    number("top", "", (0.0, 1.0), 1.0, "our choice", "Greatest max_p."),
];

const GENTLE: [Param; 2] = gentle_params(false, "the paper is of 1999, gentle RED of 2000");

/// The declaration.
pub const SPEC: AqmSpec = AqmSpec {
    summary: "RED that divides or multiplies max_p when the average leaves the thresholds",
    source: "Feng, Kandlur, Saha, Shin: A self-configuring RED gateway, INFOCOM 1999",
    params: &[&COMMON, &OWN, &GENTLE],
    limit: DefaultLimit::RED,
    check: &|values, link| read(values, link).map(|_| ()),
    build: &|values, link, _| Ok(Built::Policy(Box::new(read(values, link)?))),
    curve: Some(&|values, link, average| {
        read(values, link).map_or(f64::NAN, |red| probability(red.core.curve(), red.core.settings().in_unit(average)))
    }),
    ..AqmSpec::named("feng_red", "Self-configuring RED", "adaptive RED", 1999)
};

fn read(values: &Values, link: &Link) -> Result<FengRed, ParamError> {
    let set = Settings::read(values, &COMMON, link)?;
    let [alpha, beta, bottom, top] = ["alpha", "beta", "bottom", "top"].map(|name| values.real(&OWN, name));
    if bottom > top {
        return Err(ParamError::new("bottom", bottom, format!("at most top ({top})")));
    }
    let (min_th, max_th) = (set.min_th, set.max_th);
    let core = EarlyDetection::new(set, line(&set, values, &GENTLE));
    Ok(FengRed { core, status: Status::Above, min_th, max_th, alpha, beta, bottom, top })
}

/// Where the average last was: below, between or above the thresholds.
#[derive(Clone, Copy, PartialEq)]
enum Status {
    Below,
    Between,
    Above,
}

/// The policy.
pub struct FengRed {
    /// RED: average, spacing and drop curve.
    core: EarlyDetection<Linear>,
    status: Status,
    /// Lower threshold, in the unit of the average.
    min_th: f64,
    /// Upper threshold, in the unit of the average.
    max_th: f64,
    /// alpha, what a decrease divides max_p by.
    alpha: f64,
    /// beta, what an increase multiplies max_p by.
    beta: f64,
    /// Least max_p.
    bottom: f64,
    /// Largest max_p.
    top: f64,
}

impl FengRed {
    #[inline]
    fn adapt(&mut self, average: f64) {
        if average < self.min_th {
            if self.status != Status::Below {
                self.status = Status::Below;
                self.move_to(self.core.curve().max_p() / self.alpha);
            }
        } else if average > self.max_th {
            if self.status != Status::Above {
                self.status = Status::Above;
                self.move_to(self.core.curve().max_p() * self.beta);
            }
        } else if self.min_th < average && average < self.max_th {
            self.status = Status::Between;
        }
    }

    fn move_to(&mut self, max_p: f64) {
        self.core.set_max_p(max_p.clamp(self.bottom, self.top));
    }
}

crate::early_detection_policy!(FengRed, {
    #[inline]
    fn on_enqueue(&mut self, packet: &Packet, queue: &QueueView<'_>, cx: &mut Context<'_>) -> Verdict {
        let average = self.core.observe(queue, cx.now);
        self.adapt(average);
        self.core.decide(average, packet, queue, cx)
    }

    fn gauges(&self, out: &mut dyn FnMut(&'static str, f64)) {
        self.core.gauges(out);
        out("max_p", self.core.curve().max_p());
    }
});

#[cfg(test)]
mod tests {
    use super::*;
    use crate::prelude::*;

    /// max_p after each arrival; the average is the queue found, the thresholds are 5 and 15.
    fn max_ps(pairs: &[(&'static str, Value)], found: &[u64]) -> Vec<f64> {
        let link = Link { rate_bps: 10e6, delay_s: 0.02 };
        let mut values = Values::of(&[("w_q", Value::Real(1.0)), ("max_p", Value::Real(0.3))]);
        for &(name, value) in pairs {
            values.set(name, value);
        }
        let Ok(Built::Policy(mut policy)) = (SPEC.build)(&values, &link, Limit::Packets(100)) else { unreachable!() };
        let mut random = Generator::stream(1, "feng");
        found
            .iter()
            .map(|&packets| {
                let queue = QueueView { packets, bytes: packets * 500, idle_since: None, contents: None };
                let mut victims = Vec::new();
                let (now, random) = (Time::ZERO, &mut random);
                let mut cx = Context { now, ecn: false, has_room: true, random, victims: &mut victims };
                policy.on_enqueue(&Packet::new(1, 500), &queue, &mut cx);
                let mut max_p = f64::NAN;
                policy.gauges(&mut |name, value| {
                    if name == "max_p" {
                        max_p = value;
                    }
                });
                max_p
            })
            .collect()
    }

    fn near(found: &[f64], want: &[f64]) {
        assert_eq!(found.len(), want.len());
        for (i, (found, want)) in found.iter().zip(want).enumerate() {
            assert!((found / want - 1.0).abs() < 1e-9, "{i}: {found}, not {want}");
        }
    }

    #[test]
    fn moves_once_for_each_excursion() {
        for dialect in ["paper", "ns2", "ns3"] {
            let dialect = ("dialect", Value::Choice(dialect));
            // Below from the start, twice; between; below; above at once; still above; between; above.
            near(
                &max_ps(&[dialect], &[0, 4, 10, 4, 16, 40, 6, 16]),
                &[0.1, 0.1, 0.1, 0.1 / 3.0, 0.2 / 3.0, 0.2 / 3.0, 0.2 / 3.0, 0.4 / 3.0],
            );
            // The status starts as above, so a first average above max_th changes nothing.
            near(&max_ps(&[dialect], &[16, 3]), &[0.3, 0.1]);
        }
    }

    /// An average equal to a threshold changes neither max_p nor the status.
    #[test]
    fn thresholds_themselves_are_nowhere() {
        near(&max_ps(&[], &[5, 15, 4, 5, 4, 15, 4]), &[0.3, 0.3, 0.1, 0.1, 0.1, 0.1, 0.1]);
        near(&max_ps(&[], &[10, 16, 15, 16, 5, 16]), &[0.3, 0.6, 0.6, 0.6, 0.6, 0.6]);
    }

    #[test]
    fn bounds_hold() {
        let swings: Vec<u64> = (0..60).map(|i| if i % 2 == 0 { 10 } else { 20 }).collect();
        assert_eq!(max_ps(&[], &swings)[59], 1.0);
        assert_eq!(max_ps(&[("top", Value::Real(0.4))], &swings)[59], 0.4);
        let dips: Vec<u64> = (0..60).map(|i| if i % 2 == 0 { 10 } else { 1 }).collect();
        assert_eq!(max_ps(&[], &dips)[59], 1e-6);
        assert_eq!(max_ps(&[("bottom", Value::Real(0.01))], &dips)[59], 0.01);
    }

    #[test]
    fn factors_are_parameters_and_bounds_must_fit() {
        near(&max_ps(&[("alpha", Value::Real(5.0)), ("beta", Value::Real(4.0))], &[0, 16]), &[0.06, 0.24]);
        assert!(!SPEC.param("beta").unwrap().allows(Value::Real(0.9)));
        let values = Values::of(&[("bottom", Value::Real(0.5)), ("top", Value::Real(0.4))]);
        assert_eq!(read(&values, &Link { rate_bps: 1e6, delay_s: 0.0 }).err().unwrap().name, "bottom");
    }
}
