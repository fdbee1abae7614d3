//! # DSRED
//!
//! ## What it does
//! Double-slope RED: two straight lines that meet half-way between the thresholds. With `K_l = min_th`, `K_h = max_th`
//! and `K_m = (K_l + K_h)/2`:
//!
//! | average | p |
//! |---|---|
//! | `avg < K_l` | 0 |
//! | `K_l <= avg < K_m` | `a (avg - K_l)`, `a = 2 (1 - gamma)/(K_h - K_l)` |
//! | `K_m <= avg < K_h` | `1 - gamma + b (avg - K_m)`, `b = 2 gamma/(K_h - K_l)` |
//! | `K_h <= avg` | 1 |
//!
//! p is `1 - gamma` at `K_m` and 1 at `K_h`, without a jump and without a `max_p`. Each packet is dropped with
//! probability p, independently.
//!
//! ## Source
//! B. Zheng, M. Atiquzzaman, "DSRED: an active queue management scheme for next generation networks", LCN 2000 [paper?:
//! the curve is known from two student ports, to ns-2 and ns-3, which agree]. The average is RED's.
//!
//! ## Differences
//! 1. Whether the paper spreads drops by a count since the last drop is not known [paper?]. Here each packet is drawn
//!    independently with p_b; `count_spacing` turns RED's spacing on, by the dialect's rule.
//! 2. The thresholds of the paper's runs are not known: 24 and 72 are our choice, those of the study `tred`.
//! 3. The dialects (idle decay, the rule for short queues, byte mode) are RED's, not the paper's. Without spacing linux
//!    draws a number for each packet, where RED draws one for each drop.
//!
//! ## Example
//! ```
//! use earlydrop_aqm::{catalogue, params::{Value, Values}};
//!
//! let link = catalogue::Link { rate_bps: 10e6, delay_s: 0.01 };
//! let p = |average| (catalogue::find("dsred").unwrap().curve.unwrap())(&Values::new(), &link, average);
//! // gamma = 0.96: 4 % of the way up in the first half, 96 % in the second.
//! assert!((p(48.0) - 0.04).abs() < 1e-12);
//! assert!((p(60.0) - 0.52).abs() < 1e-12);
//! ```

use crate::catalogue::{AqmSpec, Built, Link};
use crate::default_limit::DefaultLimit;
use crate::early_detection::{params, replacing, Defaults, EarlyDetection, Settings, SHARED};
use crate::params::{Kind, Param, ParamError, Unit, Values};
use crate::parts::curve::{probability, Shaped};

const GAMMA: Param = Param::real("gamma", Unit::None, Kind::real(0.0, 1.0), 0.96).symbol("\\gamma").says(
    "Zheng & Atiquzzaman 2000, as two ports have it",
    "Bend of the curve: the probability half-way between the thresholds is 1 - gamma.",
);

const COMMON: [Param; SHARED] = replacing(
    params(Defaults {
        min_th: 24.0,
        max_th: 72.0,
        max_p: 0.0,
        source: "our choice: the study tred (the paper's are not known)",
    }),
    "max_p",
    GAMMA,
);

const OWN: [Param; 1] = [Param::flag("count_spacing", false).says(
    "our reading: the paper is not known to have it",
    "RED's spacing of drops by the count since the last one; off: each packet is drawn independently with p_b.",
)];

/// The declaration.
pub const SPEC: AqmSpec = AqmSpec {
    summary: "Double-slope RED: two lines that meet half-way between the thresholds and end at 1",
    source: "Zheng, Atiquzzaman: DSRED, an active queue management scheme for next generation networks, LCN 2000",
    params: &[&COMMON, &OWN],
    limit: DefaultLimit::RED,
    check: &|values, link| read(values, link).map(|_| ()),
    build: &|values, link, _| {
        let (set, curve) = read(values, link)?;
        Ok(Built::Policy(Box::new(Dsred { core: EarlyDetection::new(set, curve) })))
    },
    curve: Some(&|values, link, average| {
        read(values, link).map_or(f64::NAN, |(set, curve)| probability(&curve, set.in_unit(average)))
    }),
    ..AqmSpec::named("dsred", "DSRED", "RED and its curves", 2000)
};

/// Two lines of different slope.
type TwoSlopes = Shaped<Box<dyn Fn(f64) -> f64 + Send>>;

fn read(values: &Values, link: &Link) -> Result<(Settings, TwoSlopes), ParamError> {
    let set = Settings::read(values, &COMMON, link)?;
    let spaced = values.flag(&OWN, "count_spacing");
    if !spaced && values.switch(&COMMON, "wait") == Some(true) {
        return Err(ParamError::new("wait", true, "false or \"auto\" unless count_spacing is on"));
    }
    let gamma = values.real(&COMMON, "gamma");
    let shape = move |x: f64| {
        if x < 0.5 {
            2.0 * (1.0 - gamma) * x
        } else {
            1.0 - gamma + gamma * (2.0 * x - 1.0)
        }
    };
    let curve = Shaped::new(set.min_th, set.max_th, Box::new(shape) as Box<dyn Fn(f64) -> f64 + Send>);
    Ok((if spaced { set } else { set.without_spacing() }, curve))
}

/// The policy.
pub struct Dsred {
    /// RED: average, spacing and drop curve.
    core: EarlyDetection<TwoSlopes>,
}

crate::early_detection_policy!(Dsred);

#[cfg(test)]
mod tests {
    use super::*;
    use crate::gate::Fate;
    use crate::policy::QueueView;
    use crate::prelude::*;

    const LINK: Link = Link { rate_bps: 10e6, delay_s: 0.01 };

    fn curve(gamma: f64) -> impl Fn(f64) -> f64 {
        let values =
            Values::of(&[("min_th", Value::Real(10.0)), ("max_th", Value::Real(30.0)), ("gamma", Value::Real(gamma))]);
        move |average| (SPEC.curve.unwrap())(&values, &LINK, average)
    }

    #[test]
    fn passes_through_its_points_without_a_jump() {
        let p = curve(0.96);
        for (average, want) in [
            (9.999_999, 0.0),
            (10.0, 0.0),
            (15.0, 0.02),
            (19.999_999, 0.04),
            (20.0, 0.04),
            (25.0, 0.52),
            (29.999_999, 1.0),
            (30.0, 1.0),
        ] {
            assert!((p(average) - want).abs() < 1e-6, "p({average}) = {} not {want}", p(average));
        }
    }

    /// a and b as the ports write them.
    #[test]
    fn slopes_are_those_of_the_ports() {
        for gamma in [0.1, 0.5, 0.9] {
            let p = curve(gamma);
            let (a, b) = (2.0 * (1.0 - gamma) / 20.0, 2.0 * gamma / 20.0);
            assert!(((p(18.0) - p(12.0)) / 6.0 - a).abs() < 1e-12);
            assert!(((p(28.0) - p(22.0)) / 6.0 - b).abs() < 1e-12);
        }
        // At gamma 1/2 both slopes are equal.
        assert!((curve(0.5)(13.0) - 0.15).abs() < 1e-12 && (curve(0.5)(27.0) - 0.85).abs() < 1e-12);
    }

    /// Drops in `arrivals` arrivals at an average of `packets` packets.
    fn drops(values: &mut Values, packets: u64, arrivals: u32) -> Vec<u32> {
        values.set("w_q", Value::Real(1.0));
        let Ok(Built::Policy(policy)) = (SPEC.build)(values, &LINK, Limit::Packets(100)) else { unreachable!() };
        let mut gate = Gate::new(policy, Limit::Packets(100), false, Generator::stream(1, "dsred"));
        let queue = QueueView { packets, bytes: packets * 500, idle_since: None, contents: None };
        (0..arrivals)
            .filter(|_| gate.offer(&mut Packet::new(1, 500), queue, Time::ZERO) == Fate::Dropped(Reason::Early))
            .collect()
    }

    /// 200,000 draws with p = 0.04 at K_m: the number of drops is binomial, and so is that of drops right after a drop.
    /// The test allows 4.5 standard deviations for each: about one false alarm in 1e5 seeds; the seed is fixed.
    #[test]
    fn each_packet_is_drawn_on_its_own() {
        // With spacing the gaps are uniform on 1..24 (paper), 25..49 (ns-2 and ns-3, which wait), 1..25 (linux).
        for (dialect, longest) in [("paper", 24), ("ns2", 49), ("ns3", 49), ("linux", 25)] {
            let mut values = Values::of(&[("dialect", Value::Choice(dialect)), ("mean_packet", Value::Real(500.0))]);
            let at = drops(&mut values, 48, 200_000);
            let pairs = at.windows(2).filter(|pair| pair[1] == pair[0] + 1).count() as f64;
            let n = at.len() as f64;
            assert!((n - 8000.0).abs() < 4.5 * (8000.0_f64 * 0.96).sqrt(), "{dialect}: {n} drops");
            assert!((pairs - 0.04 * n).abs() < 4.5 * (0.04 * 0.96 * n).sqrt(), "{dialect}: {pairs} pairs in {n}");
            values.set("count_spacing", Value::Flag(true));
            let at = drops(&mut values, 48, 20_000);
            assert_eq!(at.windows(2).map(|pair| pair[1] - pair[0]).max(), Some(longest), "{dialect}");
        }
    }

    #[test]
    fn waiting_needs_spacing() {
        let mut values = Values::of(&[("dialect", Value::Choice("ns2")), ("wait", Value::Flag(true))]);
        assert_eq!(read(&values, &LINK).err().unwrap().name, "wait");
        values.set("count_spacing", Value::Flag(true));
        assert!(read(&values, &LINK).is_ok());
    }
}
