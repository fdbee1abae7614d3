//! # TRED
//!
//! ## What it does
//! Three-section RED. With `D = (max_th - min_th)/3` and `x = (avg - min_th)/(max_th - min_th)`:
//!
//! | section | average | p_b |
//! |---|---|---|
//! | light load | `min_th <= avg < min_th + D` | `9 max_p x^3` |
//! | moderate | `min_th + D <= avg < min_th + 2 D` | `max_p x`, as RED |
//! | high | `min_th + 2 D <= avg < max_th` | `9 max_p (x - 1)^3 + max_p` |
//!
//! It drops less than RED at light load, as RED at moderate load and more at high load.
//!
//! ## Source
//! C. Feng, L. Huang, C. Xu, Y. Chang, "Congestion control scheme performance analysis based on nonlinear RED", IEEE
//! Systems Journal, 2015; re-presented by M. Keerthi, "Three-section random early detection (TRED)", whose network
//! and tables the study `tred` follows. Averaging, spacing and byte mode are RED's.
//!
//! ## Differences
//! 1. Keerthi's eq. 8 and her summary print `(avg - min_th)` in the third section. Her own eqs. 4 and 7 make it `(avg -
//!    max_th)`: p2 = a2 (avg - max_th)^3 + c2 through (max_th, max_p) gives c2 = max_p, and through (min_th + 2 D, 2
//!    max_p/3) gives a2 = 9 max_p/(max_th - min_th)^3. As printed the curve would jump from 2/3 to 11/3 of max_p. Here
//!    the derived form is used; `reading = "printed"` runs eq. 8 as it stands, cut off at 1.
//! 2. Her summary gives the second section the interval [min_th, max_th), which would swallow the others; the text
//!    before it says [min_th + D, min_th + 2 D).
//!
//! ## Example
//! ```
//! use earlydrop_aqm::{catalogue, params::{Value, Values}};
//!
//! let tred = catalogue::find("tred").unwrap();
//! let link = catalogue::Link { rate_bps: 10e6, delay_s: 0.01 };
//! let p_b = |average| (tred.curve.unwrap())(&Values::new(), &link, average);
//! assert!((p_b(40.0) - 0.1 / 3.0).abs() < 1e-12);
//! assert!((p_b(48.0) - 0.05).abs() < 1e-12);
//! assert!((p_b(56.0) - 0.1 * 2.0 / 3.0).abs() < 1e-12);
//! ```

use crate::catalogue::{AqmSpec, Built, Link};
use crate::default_limit::DefaultLimit;
use crate::early_detection::{params, Defaults, EarlyDetection, Settings, SHARED};
use crate::params::{words, Param, ParamError, Values, Word};
use crate::parts::curve::{probability, Shaped};

const COMMON: [Param; SHARED] =
    params(Defaults { min_th: 24.0, max_th: 72.0, max_p: 0.1, source: "Keerthi, Analysis by simulation" });

words! {
    /// How the third section of the curve is read.
    enum Reading {
        /// As derived from eqs. 4 and 7.
        Corrected = "corrected",
        /// As printed in eq. 8.
        Printed = "printed",
    }
}

const OWN: [Param; 1] = [Param::word("reading", Reading::WORDS, "corrected").says(
    "derived from eqs. 4 and 7",
    "The third section as derived, or with the misprint of eq. 8 (avg - min_th in the bracket).",
)];

/// The declaration.
pub const SPEC: AqmSpec = AqmSpec {
    summary: "Three-section RED: gentler than RED at light load, firmer at high load",
    source: "Feng, Huang, Xu, Chang, IEEE Systems Journal, 2015; Keerthi: Three-section random early detection (TRED)",
    params: &[&COMMON, &OWN],
    limit: DefaultLimit::RED,
    check: &|values, link| read(values, link).map(|_| ()),
    build: &|values, link, _| {
        let (set, curve) = read(values, link)?;
        Ok(Built::Policy(Box::new(Tred { core: EarlyDetection::new(set, curve) })))
    },
    curve: Some(&|values, link, average| {
        read(values, link).map_or(f64::NAN, |(set, curve)| probability(&curve, set.in_unit(average)))
    }),
    ..AqmSpec::named("tred", "TRED", "RED and its curves", 2015)
};

/// TRED's three sections.
type Sections = Shaped<Box<dyn Fn(f64) -> f64 + Send>>;

fn read(values: &Values, link: &Link) -> Result<(Settings, Sections), ParamError> {
    let set = Settings::read(values, &COMMON, link)?;
    let max_p = set.max_p;
    let reading = values.choice(&OWN, "reading");
    let shape = move |x: f64| {
        if x < 1.0 / 3.0 {
            9.0 * max_p * x * x * x
        } else if x < 2.0 / 3.0 {
            max_p * x
        } else {
            let bracket = match reading {
                Reading::Corrected => x - 1.0,
                Reading::Printed => x,
            };
            9.0 * max_p * bracket * bracket * bracket + max_p
        }
    };
    Ok((set, Shaped::new(set.min_th, set.max_th, Box::new(shape))))
}

/// The policy.
pub struct Tred {
    /// RED: average, spacing and drop curve.
    core: EarlyDetection<Sections>,
}

crate::early_detection_policy!(Tred);

#[cfg(test)]
mod tests {
    use super::*;
    use crate::params::Value;
    use crate::parts::curve::Curve as _;

    fn curve(reading: &'static str) -> impl Fn(f64) -> f64 {
        let values = Values::of(&[("reading", Value::Choice(reading))]);
        let (_, curve) = read(&values, &Link { rate_bps: 5e6, delay_s: 0.01 }).unwrap();
        move |average| curve.base_probability(average)
    }

    #[test]
    fn passes_through_the_four_points_of_the_paper() {
        let p = curve("corrected");
        for (average, want) in
            [(24.0, 0.0), (40.0, 1.0 / 30.0), (48.0, 0.05), (56.0, 1.0 / 15.0), (71.999_999, 0.1), (72.0, 1.0)]
        {
            assert!((p(average) - want).abs() < 1e-6, "p({average}) = {} not {want}", p(average));
        }
    }

    #[test]
    fn is_continuous_and_ordered_against_red() {
        let p = curve("corrected");
        let mut last = 0.0;
        for i in 0..4800 {
            let average = 24.0 + f64::from(i) * 0.01;
            let red = 0.1 * (average - 24.0) / 48.0;
            assert!(p(average) >= last - 1e-12 && p(average) - last < 1e-3, "a jump at {average}");
            last = p(average);
            if average < 40.0 {
                assert!(p(average) <= red + 1e-12);
            } else if average > 56.0 {
                assert!(p(average) >= red - 1e-12);
            }
        }
    }

    #[test]
    fn as_printed_it_jumps_to_11_thirds_of_max_p() {
        let p = curve("printed");
        assert!((p(56.0) - 0.366_666_666_666).abs() < 1e-9);
        assert!((p(71.999_999_9) - 1.0).abs() < 1e-6);
    }
}
