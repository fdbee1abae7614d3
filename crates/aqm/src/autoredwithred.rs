//! # AutoREDwithRED
//!
//! ## What it does
//! AutoRED's average, RED's line, and an upper threshold of two levels. With `p_t = Q_t/B` and `I` the `max_th` given,
//! at each arrival:
//!
//! | if | then |
//! |---|---|
//! | `p_t < 0.550` and `Q_t < I` | `Cur_maxth := I` |
//! | `0.550 < p_t < 0.880` and `Q_t >= I` and `Cur_maxth = I` | `Cur_maxth` is raised |
//!
//! `p_b = max_p (avg - min_th)/(Cur_maxth - min_th)`; from `Cur_maxth` on everything is dropped.
//!
//! ## Source
//! K. Chitra, G. Padmavathi, papers of about 2010, of which no readable copy was found. The scheme is the baseline
//! of the FLoadAutoRED chapter (2011). **All of it is our reconstruction**: FLoadAutoRED (Table 6.1) without its flow
//! stage and without its load stage. The chapter's figures fit: with a CBR flow of 2 Mbit/s it leaves TCP 1.7 %
//! (Table 6.6), so it has no flow stage, and its average, 190.4 packets with max_th = 200, stands close to the
//! threshold.
//!
//! ## Differences
//! 1. The chapter says "increment" without saying by how much, and its guard allows one only: hence two levels.
//!    `raising = "one"` is one packet. `raising = "band"` goes to 0.88 of the buffer, the upper end of the same test;
//!    the average then stands far above the 190.4 of the chapter's Table 6.3.
//! 2. Nothing happens at p_t = 0.55 exactly, or from 0.88 on, as printed.
//! 3. The average is AutoRED's in our reconstruction, with its options: see `autored`.
//!
//! ## Example
//! ```
//! use earlydrop_aqm::{catalogue, gate::Gate, params::{Value, Values}, policy::Limit, random::Generator};
//! use earlydrop_aqm::{discipline::Fifo, Discipline, Packet, Time};
//!
//! let link = catalogue::Link { rate_bps: 10e6, delay_s: 0.01 };
//! let mut values = Values::new();
//! values.set("min_th", Value::Real(2.0)).set("max_th", Value::Real(6.0));
//! let limit = Limit::Packets(9);
//! let spec = catalogue::find("autoredwithred").unwrap();
//! let catalogue::Built::Policy(policy) = (spec.build)(&values, &link, limit).unwrap() else { unreachable!() };
//! let mut queue = Fifo::new(Gate::new(policy, limit, false, Generator::stream(1, "queue")));
//! let mut levels = Vec::new();
//! for _ in 0..8 {
//!     queue.enqueue(Packet::new(1, 1000), Time::ZERO, &mut |_, _| {});
//!     queue.gauges(&mut |name, value| if name == "cur_max_th" { levels.push(value) });
//! }
//! // The seventh finds 6 of 9 places taken: p_t = 0.67.
//! assert_eq!(levels, [6.0, 6.0, 6.0, 6.0, 6.0, 6.0, 7.0, 7.0]);
//! ```

use crate::catalogue::{AqmSpec, Built, Link};
use crate::default_limit::DefaultLimit;
use crate::params::{ParamError, Values};
use crate::parts::auto_red::{check, curve, red, AutoRed as Core, RED};
use crate::parts::curve::Linear;
use crate::parts::{auto_weight, two_levels};
use crate::policy::Limit;

/// The declaration.
pub const SPEC: AqmSpec = AqmSpec {
    name: "autoredwithred",
    title: "AutoREDwithRED",
    family: "adaptive RED",
    year: 2010,
    summary: "AutoRED's average, RED's line, and an upper threshold that is raised while the queue is long",
    source: "Chitra, Padmavathi, about 2010 (reconstructed from FLoadAutoRED, 2011)",
    file: include_str!("autoredwithred.rs"),
    params: &[&RED, &auto_weight::PARAMS, &two_levels::PARAMS],
    linux: false,
    limit: DefaultLimit::RED,
    check: &check,
    build: &|values, link, limit| Ok(Built::Policy(Box::new(AutoRedWithRed::new(values, link, limit)?))),
    curve: Some(&curve),
};

/// The policy.
pub struct AutoRedWithRed {
    /// RED with the weight of AutoRED and two levels of max_th.
    core: Core<Linear>,
}

impl AutoRedWithRed {
    fn new(values: &Values, link: &Link, limit: Limit) -> Result<Self, ParamError> {
        let (set, line) = red(values, link)?;
        Ok(AutoRedWithRed { core: Core::new(values, set, line, limit)?.with_two_levels(values) })
    }
}

crate::early_detection_policy!(AutoRedWithRed);

#[cfg(test)]
mod tests {
    use super::*;
    use crate::discipline::Fifo;
    use crate::gate::Gate;
    use crate::params::Value;
    use crate::policy::Reason;
    use crate::random::Generator;
    use crate::{Discipline, Packet, Time};

    const LINK: Link = Link { rate_bps: 8e6, delay_s: 0.01 };

    /// The average is the queue found, max_p out of reach: only the upper threshold drops.
    fn queue(raise: &'static str) -> Fifo {
        let mut values = Values::new();
        values.set("min_th", Value::Real(2.0)).set("max_th", Value::Real(6.0)).set("max_p", Value::Real(1e-9));
        values.set("weight", Value::Choice("constant")).set("w_q", Value::Real(1.0));
        values.set("raising", Value::Choice(raise));
        let policy = AutoRedWithRed::new(&values, &LINK, Limit::Packets(10)).unwrap();
        Fifo::new(Gate::new(Box::new(policy), Limit::Packets(10), false, Generator::stream(1, "queue")))
    }

    fn arrive(queue: &mut Fifo) -> Option<Reason> {
        let mut died = None;
        queue.enqueue(Packet::new(1, 1000), Time::ZERO, &mut |_, reason| died = Some(reason));
        died
    }

    #[test]
    fn drops_from_the_raised_threshold_on() {
        // One: at 7. Band: floor(8.8) = 8.
        for (raise, held) in [("one", 7), ("band", 8)] {
            let mut queue = queue(raise);
            for found in 0..held {
                assert_eq!(arrive(&mut queue), None, "{raise}: {found} wait");
            }
            assert_eq!(arrive(&mut queue), Some(Reason::Forced), "{raise}: {held} wait");
            // 6 of 10 wait: not calm yet, and raised already.
            while queue.packets() > 6 {
                queue.dequeue(Time::ZERO, &mut |_, _| {});
            }
            for _ in 6..held {
                assert_eq!(arrive(&mut queue), None);
            }
            assert_eq!(arrive(&mut queue), Some(Reason::Forced), "{raise}");
        }
    }

    #[test]
    fn the_line_ends_at_the_threshold_of_the_day() {
        let mut queue = queue("one");
        let mut p_b = |found: u64| {
            while queue.packets() > found {
                queue.dequeue(Time::ZERO, &mut |_, _| {});
            }
            while queue.packets() < found {
                arrive(&mut queue);
            }
            arrive(&mut queue);
            let mut found = f64::NAN;
            queue.gauges(&mut |name, value| found = if name == "p_b" { value } else { found });
            found
        };
        let near = |found: f64, want: f64| assert!((found - want).abs() < 1e-20, "{found} not {want}");
        near(p_b(4), 0.5e-9);
        near(p_b(6), 0.8e-9);
        near(p_b(5), 0.75e-9);
    }
}
