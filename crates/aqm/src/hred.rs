//! # HRED
//!
//! ## What it does
//! Hyperbola RED: between the thresholds the drop probability follows a rectangular hyperbola that is flat for most of
//! the way and steep near `max_th`, so that the average settles near one length at any load. With
//! `x = (avg - min_th)/(max_th - min_th)`:
//!
//! `p_b = max_p epsilon x/(1 + epsilon - x)`
//!
//! which is 0 at `min_th`, `max_p` at `max_th`, and has its asymptote at `A = max_th + epsilon (max_th - min_th)`. Half
//! of `max_p` is reached at `x = (1 + epsilon)/(1 + 2 epsilon)`. From `max_th` on everything is dropped, as in RED.
//!
//! ## Source
//! L. Hu, A. D. Kshemkalyani, "HRED: a simple and efficient active queue management algorithm", ICCCN 2004 [paper,
//! abstract: a hyperbola replaces RED's line, nothing else changes, the queue is held near a reference the user sets].
//!
//! ## Differences
//! 1. The paper's formula could not be read. The hyperbola through (min_th, 0) and (max_th, max_p) with a vertical
//!    asymptote just above max_th is ours (reconstruction): kappa (avg - min_th)/(A - avg) with kappa = max_p (A -
//!    max_th)/(max_th - min_th). `epsilon` says how far above; large values give RED's line back.
//! 2. The reference queue is not a parameter here: it is where the hyperbola bends, a little below max_th. To set a
//!    reference q, move max_th (reconstruction).
//! 3. The paper's thresholds could not be read: 24, 72 and 0.1 are our choice, those of the study `tred`.
//! 4. A public ns-2 port multiplies p by 1/p, which drops with max_p everywhere. That is no hyperbola.
//!
//! ## Example
//! ```
//! use earlydrop_aqm::{catalogue, params::Values};
//!
//! let link = catalogue::Link { rate_bps: 10e6, delay_s: 0.01 };
//! let p_b = |name: &str, average| (catalogue::find(name).unwrap().curve.unwrap())(&Values::new(), &link, average);
//! // Half-way between the thresholds RED's line is at max_p/2, the hyperbola with epsilon 0.1 at max_p/12.
//! assert!((p_b("hred", 48.0) - 0.1 / 12.0).abs() < 1e-12);
//! assert!((p_b("tred", 48.0) - 0.05).abs() < 1e-12);
//! ```

use crate::catalogue::{AqmSpec, Built, Link};
use crate::default_limit::DefaultLimit;
use crate::early_detection::{params, Defaults, EarlyDetection, Settings, SHARED};
use crate::params::{Kind, Param, ParamError, Unit, Values};
use crate::parts::curve::{probability, Shaped};

const COMMON: [Param; SHARED] = params(Defaults {
    min_th: 24.0,
    max_th: 72.0,
    max_p: 0.1,
    source: "our choice: the study tred (the paper's are not known)",
});

const OWN: [Param; 1] = [Param::real("epsilon", Unit::None, Kind::above(0.0, 1e6), 0.1).symbol("\\epsilon").says(
    "our choice",
    "How far above max_th the asymptote lies, as a share of max_th - min_th; small is sharp, large is RED's line.",
)];

/// The declaration.
pub const SPEC: AqmSpec = AqmSpec {
    summary: "Hyperbola RED: drop probability flat below a reference queue and steep at it",
    source: "Hu, Kshemkalyani: HRED, a simple and efficient active queue management algorithm, ICCCN 2004",
    params: &[&COMMON, &OWN],
    limit: DefaultLimit::RED,
    check: &|values, link| read(values, link).map(|_| ()),
    build: &|values, link, _| {
        let (set, curve) = read(values, link)?;
        Ok(Built::Policy(Box::new(Hred { core: EarlyDetection::new(set, curve) })))
    },
    curve: Some(&|values, link, average| {
        read(values, link).map_or(f64::NAN, |(set, curve)| probability(&curve, set.in_unit(average)))
    }),
    ..AqmSpec::named("hred", "HRED", "RED and its curves", 2004)
};

/// HRED's curve.
type Hyperbola = Shaped<Box<dyn Fn(f64) -> f64 + Send>>;

fn read(values: &Values, link: &Link) -> Result<(Settings, Hyperbola), ParamError> {
    let set = Settings::read(values, &COMMON, link)?;
    let (max_p, epsilon) = (set.max_p, values.real(&OWN, "epsilon"));
    // As x < 1, the denominator is more than epsilon.
    let shape = move |x: f64| max_p * epsilon * x / (1.0 + epsilon - x);
    Ok((set, Shaped::new(set.min_th, set.max_th, Box::new(shape))))
}

/// The policy.
pub struct Hred {
    /// RED: average, spacing and drop curve.
    core: EarlyDetection<Hyperbola>,
}

crate::early_detection_policy!(Hred);

#[cfg(test)]
mod tests {
    use super::*;
    use crate::params::Value;

    const LINK: Link = Link { rate_bps: 10e6, delay_s: 0.01 };

    fn curve(epsilon: f64) -> impl Fn(f64) -> f64 {
        let values = Values::of(&[
            ("min_th", Value::Real(10.0)),
            ("max_th", Value::Real(30.0)),
            ("epsilon", Value::Real(epsilon)),
        ]);
        move |average| (SPEC.curve.unwrap())(&values, &LINK, average)
    }

    /// kappa (avg - min_th)/(A - avg), with A and kappa written out.
    #[test]
    fn is_the_hyperbola_with_its_asymptote_at_a() {
        let p_b = curve(0.1);
        let (a, kappa) = (32.0, 0.1 * 2.0 / 20.0);
        for i in 0..200 {
            let average = 10.0 + 0.1 * f64::from(i);
            assert!((p_b(average) - kappa * (average - 10.0) / (a - average)).abs() < 1e-12);
        }
    }

    #[test]
    fn passes_through_both_ends_and_half_of_max_p() {
        let p_b = curve(0.1);
        for (average, want) in
            [(9.999_999, 0.0), (10.0, 0.0), (10.0 + 20.0 * 1.1 / 1.2, 0.05), (29.999_999_9, 0.1), (30.0, 1.0)]
        {
            assert!((p_b(average) - want).abs() < 1e-7, "p({average}) = {} not {want}", p_b(average));
        }
    }

    #[test]
    fn is_convex_and_below_the_line_of_red() {
        for epsilon in [0.001, 0.1, 3.0] {
            let p_b = curve(epsilon);
            for i in 1..199 {
                let average = 10.0 + 0.1 * f64::from(i);
                assert!(p_b(average) < 0.1 * (average - 10.0) / 20.0, "{epsilon}: not below RED at {average}");
                let middle = (p_b(average - 0.1) + p_b(average + 0.1)) / 2.0;
                assert!(p_b(average) < middle, "{epsilon}: not convex at {average}");
            }
        }
    }

    #[test]
    fn far_asymptote_gives_red() {
        let p_b = curve(1e6);
        for average in [12.0, 20.0, 29.0] {
            assert!((p_b(average) - 0.1 * (average - 10.0) / 20.0).abs() < 1e-7);
        }
    }
}
