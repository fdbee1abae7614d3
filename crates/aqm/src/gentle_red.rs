//! # Gentle RED
//!
//! ## What it does
//! RED whose drop probability does not jump at `max_th`: it continues on a second, steeper line to 1 at twice
//! `max_th`.
//!
//! | average | p_b |
//! |---|---|
//! | `min_th <= avg < max_th` | `max_p (avg - min_th)/(max_th - min_th)`, as RED |
//! | `max_th <= avg < 2 max_th` | `max_p + (1 - max_p)(avg - max_th)/max_th` |
//! | `2 max_th <= avg` | 1 |
//!
//! It is `red` with `gentle` on, under a name of its own. Averaging, spacing and byte mode are RED's.
//!
//! ## Source
//! S. Floyd, "Recommendation on using the gentle variant of RED", note, March 2000 [paper, as quoted by ns-2.35
//! `queue/red.cc` and by the DDRED paper of 2007, which runs everything gentle].
//!
//! ## Differences
//! 1. Keerthi's TRED text gives the second line the slope (1 - max_p)/max_th but lets it end at the buffer size. With
//!    that slope it is 1 at 2 max_th, wherever the buffer ends. Here it ends at 2 max_th, as in ns-2.
//! 2. ns-2 and ns-3 keep the second line as slope and offset, (1 - max_p)/max_th and 2 max_p - 1. The values are those
//!    above; the form, used here too, gives ns-2's last bit.
//! 3. Linux has no gentle RED, so there are three dialects. Each does past 2 max_th what its RED does past max_th.
//! 4. Where max_p moves (ARED, Feng), `gentle_tracks_maxp` says whether the second line follows.
//!
//! ## Example
//! ```
//! use earlydrop_aqm::{catalogue, params::{Value, Values}};
//!
//! let link = catalogue::Link { rate_bps: 10e6, delay_s: 0.01 };
//! let mut values = Values::new();
//! values.set("min_th", Value::Real(24.0)).set("max_th", Value::Real(72.0)).set("max_p", Value::Real(0.1));
//! let p_b = |average| (catalogue::find("gentle_red").unwrap().curve.unwrap())(&values, &link, average);
//! assert!((p_b(72.0) - 0.1).abs() < 1e-12);
//! assert!((p_b(108.0) - 0.55).abs() < 1e-12);
//! assert!((p_b(144.0) - 1.0).abs() < 1e-12);
//! ```

use crate::catalogue::{AqmSpec, Built, Link};
use crate::default_limit::DefaultLimit;
use crate::early_detection::{params, without_linux, Defaults, EarlyDetection, Settings, SHARED};
use crate::params::{Param, ParamError, Values};
use crate::parts::curve::{probability, Linear};

const COMMON: [Param; SHARED] =
    without_linux(params(Defaults { min_th: 5.0, max_th: 15.0, max_p: 0.02, source: "Floyd & Jacobson 1993" }));

/// The declaration.
pub const SPEC: AqmSpec = AqmSpec {
    summary: "RED whose drop probability rises to 1 at twice max_th instead of jumping at max_th",
    source: "Floyd: Recommendation on using the gentle variant of RED, 2000",
    params: &[&COMMON],
    limit: DefaultLimit::RED,
    check: &|values, link| read(values, link).map(|_| ()),
    build: &|values, link, _| {
        let (set, curve) = read(values, link)?;
        Ok(Built::Policy(Box::new(GentleRed { core: EarlyDetection::new(set, curve) })))
    },
    curve: Some(&|values, link, average| {
        read(values, link).map_or(f64::NAN, |(set, curve)| probability(&curve, set.in_unit(average)))
    }),
    ..AqmSpec::named("gentle_red", "Gentle RED", "RED and its curves", 2000)
};

fn read(values: &Values, link: &Link) -> Result<(Settings, Linear), ParamError> {
    let set = Settings::read(values, &COMMON, link)?;
    Ok((set, Linear::new(set.min_th, set.max_th, set.max_p, true)))
}

/// The policy.
pub struct GentleRed {
    /// RED: average, spacing and drop curve.
    core: EarlyDetection<Linear>,
}

crate::early_detection_policy!(GentleRed);

#[cfg(test)]
mod tests {
    use super::*;
    use crate::gate::Fate;
    use crate::policy::QueueView;
    use crate::prelude::*;

    const LINK: Link = Link { rate_bps: 10e6, delay_s: 0.01 };

    fn curve() -> impl Fn(f64) -> f64 {
        let values =
            Values::of(&[("min_th", Value::Real(24.0)), ("max_th", Value::Real(72.0)), ("max_p", Value::Real(0.1))]);
        move |average| (SPEC.curve.unwrap())(&values, &LINK, average)
    }

    #[test]
    fn passes_through_its_points_without_a_jump() {
        let p_b = curve();
        let points =
            [(23.999_999, 0.0), (24.0, 0.0), (48.0, 0.05), (71.999_999, 0.1), (72.0, 0.1), (90.0, 0.325), (144.0, 1.0)];
        for (average, want) in points {
            assert!((p_b(average) - want).abs() < 1e-6, "p({average}) = {} not {want}", p_b(average));
        }
        assert_eq!(p_b(1e6), 1.0);
        for i in 0..14_400 {
            let (here, next) = (p_b(f64::from(i) * 0.01), p_b(f64::from(i + 1) * 0.01));
            assert!(next >= here && next - here < 2e-4, "a jump at {}", f64::from(i) * 0.01);
        }
    }

    /// Weight 1: the average is the queue found. In the dialects paper and ns3 certain drops begin at 2 max_th.
    #[test]
    fn drops_for_certain_from_twice_max_th_on() {
        for dialect in ["paper", "ns3"] {
            let values = Values::of(&[("dialect", Value::Choice(dialect)), ("w_q", Value::Real(1.0))]);
            let Ok(Built::Policy(policy)) = (SPEC.build)(&values, &LINK, Limit::Packets(100)) else { unreachable!() };
            // A random number that hits nothing below p = 1.
            let never = Generator::custom(|| 0.999_999_9);
            let mut gate = Gate::new(policy, Limit::Packets(100), false, never);
            let mut at = |packets: u64| {
                let queue = QueueView { packets, bytes: packets * 500, idle_since: None, contents: None };
                gate.offer(&mut Packet::new(1, 500), queue, Time::ZERO)
            };
            assert_eq!([at(15), at(16)], [Fate::Admitted; 2]);
            assert_eq!(at(30), Fate::Dropped(Reason::Forced));
            assert_eq!(at(31), Fate::Dropped(Reason::Forced));
        }
    }

    #[test]
    fn linux_is_not_among_its_dialects() {
        assert!(!SPEC.param("dialect").unwrap().allows(Value::Choice("linux")));
    }
}
