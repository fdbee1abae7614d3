//! # NLRED
//!
//! ## What it does
//! RED with a quadratic drop curve: `p_b = 1.5 max_p x^2` with `x = (avg - min_th)/(max_th - min_th)` between the
//! thresholds. It drops less than RED up to two thirds of the way and more after; the areas under both curves are
//! equal.
//!
//! ## Source
//! K. Zhou, K. L. Yeung, V. O. K. Li, "Nonlinear RED: a simple yet efficient active queue management scheme",
//! Computer Networks 50, 2006. Averaging, spacing and byte mode are RED's.
//!
//! ## Differences
//! 1. Formula (3) is lost in the 2009 text that we follow. By its words the areas agree: the integral of m x^2 is m/3,
//!    that of max_p x is max_p/2, so m = 1.5 max_p. ns-3's NLRED has the same factor.
//! 2. ns-3 leaves gentle on by default, which makes the probability jump down from 1.5 max_p to max_p at max_th. The
//!    paper has no gentle form, so there is none here.
//! 3. 1.5 max_p is at most 1, so max_p at most 2/3.
//!
//! ## Example
//! ```
//! use earlydrop_aqm::{catalogue, params::{Value, Values}};
//!
//! let link = catalogue::Link { rate_bps: 10e6, delay_s: 0.01 };
//! let mut values = Values::new();
//! values.set("min_th", Value::Real(24.0)).set("max_th", Value::Real(72.0)).set("max_p", Value::Real(0.1));
//! let p_b = (catalogue::find("nlred").unwrap().curve.unwrap())(&values, &link, 56.0);
//! assert!((p_b - 0.1 * 2.0 / 3.0).abs() < 1e-12, "NLRED and RED cross at x = 2/3");
//! ```

use crate::catalogue::{AqmSpec, Built, Link};
use crate::default_limit::DefaultLimit;
use crate::early_detection::{params, Defaults, EarlyDetection, Settings, SHARED};
use crate::params::{Param, ParamError, Values};
use crate::parts::curve::{probability, Shaped};

const COMMON: [Param; SHARED] = params(Defaults {
    min_th: 20.0,
    max_th: 60.0,
    max_p: 0.1,
    source: "our choice for the paper's B = 120 (its values are lost)",
});

/// The declaration.
pub const SPEC: AqmSpec = AqmSpec {
    summary: "Nonlinear RED: drop probability quadratic in the averaged queue",
    source: "Zhou, Yeung, Li: Nonlinear RED, Computer Networks 50, 2006",
    params: &[&COMMON],
    limit: DefaultLimit::RED,
    check: &|values, link| read(values, link).map(|_| ()),
    build: &|values, link, _| {
        let (set, curve) = read(values, link)?;
        Ok(Built::Policy(Box::new(Nlred { core: EarlyDetection::new(set, curve) })))
    },
    curve: Some(&|values, link, average| {
        read(values, link).map_or(f64::NAN, |(set, curve)| probability(&curve, set.in_unit(average)))
    }),
    ..AqmSpec::named("nlred", "NLRED", "RED and its curves", 2006)
};

/// The quadratic curve.
type Quadratic = Shaped<Square>;
/// NLRED's curve, as a function of x.
type Square = Box<dyn Fn(f64) -> f64 + Send>;

fn read(values: &Values, link: &Link) -> Result<(Settings, Quadratic), ParamError> {
    let set = Settings::read(values, &COMMON, link)?;
    if set.max_p > 2.0 / 3.0 {
        return Err(ParamError::new("max_p", set.max_p, "at most 2/3: NLRED drops with 1.5 max_p at max_th"));
    }
    let top = 1.5 * set.max_p;
    Ok((set, Shaped::new(set.min_th, set.max_th, Box::new(move |x| top * x * x))))
}

/// The policy.
pub struct Nlred {
    /// RED: average, spacing and drop curve.
    core: EarlyDetection<Quadratic>,
}

crate::early_detection_policy!(Nlred);

#[cfg(test)]
mod tests {
    use super::*;
    use crate::parts::curve::Curve as _;
    use crate::prelude::*;

    const LINK: Link = Link { rate_bps: 10e6, delay_s: 0.01 };

    /// Gauges after each of 60 arrivals in bursts; none is dropped by chance.
    fn gauges(aqm: &str, dialect: &'static str) -> Vec<Vec<(&'static str, f64)>> {
        let mut values =
            Values::of(&[("min_th", Value::Real(2.0)), ("max_th", Value::Real(40.0)), ("max_p", Value::Real(0.01))]);
        values.set("w_q", Value::Real(0.2)).set("dialect", Value::Choice(dialect));
        let limit = Limit::Packets(100);
        let built = (catalogue::find(aqm).unwrap().build)(&values, &LINK, limit).unwrap();
        let Built::Policy(policy) = built else { unreachable!() };
        let mut queue = Fifo::new(Gate::new(policy, limit, false, Generator::custom(|| 1.0)));
        let mut found = Vec::new();
        for k in 0..60_u64 {
            let now = Time::from_seconds(k as f64 / 1000.0);
            queue.enqueue(Packet::new(1, 1000), now, &mut |_, _| panic!("dropped"));
            if k % 20 > 14 {
                while queue.dequeue(now, &mut |_, _| {}).is_some() {}
            }
            let mut one = Vec::new();
            queue.gauges(&mut |name, value| one.push((name, value)));
            found.push(one);
        }
        found
    }

    #[test]
    fn it_is_red_but_for_the_curve() {
        for dialect in ["paper", "ns2", "ns3"] {
            let mut above = 0;
            for (own, red) in gauges("nlred", dialect).iter().zip(gauges("red", dialect)) {
                for (&(name, value), (_, of_red)) in own.iter().zip(red) {
                    // RED's p_b is max_p x, NLRED's 1.5 max_p x^2.
                    let expected = if name == "p_b" { 1.5 * of_red * of_red / 0.01 } else { of_red };
                    assert!((value - expected).abs() <= 1e-12 * expected.abs(), "{dialect}: {name} {value} {of_red}");
                    above += usize::from(name == "p_b" && value > 0.0);
                }
            }
            assert!(above > 10, "{dialect}: the average passed min_th {above} times");
        }
    }

    #[test]
    fn it_takes_every_parameter_of_red_but_gentle() {
        let names = |aqm: &str| -> Vec<_> {
            catalogue::find(aqm).unwrap().params.iter().flat_map(|some| some.iter().map(|p| p.name)).collect()
        };
        let (own, red) = (names("nlred"), names("red"));
        // RED has two parameters that NLRED lacks: `gentle`, and tc's for the dialect linux.
        let tc: Vec<_> = crate::early_detection::linux::TC.iter().map(|p| p.name).collect();
        let lacking: Vec<_> = red.iter().filter(|name| !own.contains(name) && !tc.contains(name)).copied().collect();
        assert_eq!(lacking, ["gentle"]);
        assert!(own.iter().all(|name| red.contains(name)), "{own:?}");
    }

    #[test]
    fn with_red_s_top_it_is_below_red_and_with_its_own_above_from_two_thirds_on() {
        let p = |aqm: &str, max_p: f64, average: f64| {
            let mut values = Values::of(&[("max_p", Value::Real(max_p))]);
            values.set("min_th", Value::Real(20.0)).set("max_th", Value::Real(60.0));
            (catalogue::find(aqm).unwrap().curve.unwrap())(&values, &LINK, average)
        };
        for step in 1..400 {
            let average = 20.0 + f64::from(step) / 10.0;
            let red = p("red", 0.1, average);
            assert!(p("nlred", 0.1 / 1.5, average) < red, "the same top, at {average}");
            let own = p("nlred", 0.1, average);
            assert_eq!(own > red, average > 20.0 + 40.0 * 2.0 / 3.0, "{own} {red} at {average}");
        }
    }

    #[test]
    fn area_under_the_curve_equals_that_of_red() {
        let link = Link { rate_bps: 10e6, delay_s: 0.01 };
        let values = Values::of(&[("max_p", Value::Real(0.1))]);
        let (set, curve) = read(&values, &link).unwrap();
        let steps = 100_000;
        let width = (set.max_th - set.min_th) / f64::from(steps);
        let area: f64 =
            (0..steps).map(|i| curve.base_probability(set.min_th + (f64::from(i) + 0.5) * width) * width).sum();
        let red = 0.1 * (set.max_th - set.min_th) / 2.0;
        assert!((area - red).abs() < 1e-6 * red, "{area} against {red}");
    }

    #[test]
    fn max_p_above_two_thirds_is_refused() {
        let values = Values::of(&[("max_p", Value::Real(0.7))]);
        assert_eq!(read(&values, &Link { rate_bps: 1e6, delay_s: 0.0 }).err().unwrap().name, "max_p");
    }
}
