//! # RED
//!
//! ## What it does
//! Keeps an exponentially weighted average `avg` of the queue and drops an arrival with a probability that rises
//! with it: `p_b = max_p (avg - min_th)/(max_th - min_th)` between the thresholds, nothing below, everything above.
//! `p_a = p_b/(1 - count p_b)`, with the packets `count` since the last drop, spreads the drops evenly. With
//! `gentle`, `p_b` continues from `max_p` at `max_th` to 1 at `2 max_th`.
//!
//! ## Source
//! S. Floyd, V. Jacobson, "Random early detection gateways for congestion avoidance", IEEE/ACM Transactions on
//! Networking 1(4), 1993. Gentle: S. Floyd, "Recommendation on using the gentle variant of RED", 2000. Dialects:
//! ns-2.35 `queue/red.cc`, ns-3 `red-queue-disc.cc`, Linux `include/net/red.h` and `net/sched/sch_red.c`.
//!
//! ## Differences
//! 1. The paper's analysis has gaps between drops uniform on 1..1/p_b, its pseudo-code on 1..1/p_b - 1 (it counts
//!    before it tests). Here it is as in the pseudo-code; `count_base = "analysis"` follows the analysis.
//! 2. ns-2 and ns-3 by default `wait`: no drop before 1/p_b packets have passed. That triples the mean gap of the
//!    paper's rule. It is off in the paper dialect.
//! 3. ns-2 since 2005 (`use_mark_p_`) has no certain drop at `max_th`: p_b = 1 goes through the spacing. Setting
//!    `ecn_over_max = "drop"` brings the certain drop back.
//! 4. p_b may grow between drops so that count p_b passes 1; p_a is then 1 (two public tools stop dropping there).
//! 5. linux: the weight is rounded to a power of two, lengths are bytes, and the curve is evaluated in floating
//!    point where the kernel compares integers: a decision differs with probability max_p/(max_th - min_th in bytes).
//! 6. linux: tc makes the table for the idle decay in ticks of 64 ns, the kernel reads it with microseconds, so its
//!    average decays 15.6 times slower than tc means it to. Here too. tc is that of iproute2 6.15 (2025), which rounds
//!    a packet's time up to whole ticks; older versions cut it off to whole microseconds first (`tc =
//!    "iproute2-6.14"`): 1500 B at 10 Gbit/s take 19 ticks, in older versions 15.
//! 7. The packet in transmission is not part of the queue. An arrival dropped at an idle link ends the idle time; to
//!    the letter of the 1993 figure the next arrival would count that time again.
//! 8. ns2, ns3: an idle time of more than 2^18 packets decays the average by 2^18 multiplications, as ns-2 does, and by
//!    one power for the rest, which differs in the last bits. With 500 B and 10 Gbit/s that is 0.1 s.
//! 9. With ECN and `max_th <= avg` the 1993 figure marks. Here the paper dialect drops, by the advice of RFC 3168,
//!    section 7; `ecn_over_max = "mark"` marks as the figure does.
//!
//! Each dialect's rules beside one another, with their tests: `docs/algorithms/dialects.md`.
//!
//! ## Example
//! ```
//! use earlydrop_aqm::{catalogue, params::{Value, Values}};
//!
//! let red = catalogue::find("red").unwrap();
//! let link = catalogue::Link { rate_bps: 10e6, delay_s: 0.01 };
//! let mut values = Values::new();
//! values.set("min_th", Value::Real(24.0)).set("max_th", Value::Real(72.0)).set("max_p", Value::Real(0.1));
//! let p_b = (red.curve.unwrap())(&values, &link, 48.0);
//! assert!((p_b - 0.05).abs() < 1e-12);
//! ```

use crate::catalogue::{AqmSpec, Built, Link};
use crate::default_limit::DefaultLimit;
use crate::early_detection::linux::TC;
use crate::early_detection::{params, Defaults, Dialect, EarlyDetection, Red, Settings, SHARED};
use crate::params::{Param, ParamError, Values};
use crate::parts::curve::{probability, Linear};

const COMMON: [Param; SHARED] =
    params(Defaults { min_th: 5.0, max_th: 15.0, max_p: 0.02, source: "Floyd & Jacobson 1993" });

/// The switch `gentle`, for disciplines that are RED with something more.
pub(crate) const GENTLE: [Param; 1] = [Param::flag("gentle", false).says(
    "Floyd & Jacobson 1993; on by default in ns-2 since 2001",
    "Between max_th and twice max_th the probability rises from max_p to 1 instead of jumping (not in linux).",
)];

/// The declaration.
pub const SPEC: AqmSpec = AqmSpec {
    summary: "Random early detection: drop probability linear in the averaged queue",
    source: "Floyd, Jacobson: Random early detection gateways for congestion avoidance, ToN 1(4), 1993",
    params: &[&COMMON, &GENTLE, &TC],
    limit: DefaultLimit::RED,
    check: &|values, link| read(values, &COMMON, link).map(|_| ()),
    build: &|values, link, _| {
        let (set, curve) = read(values, &COMMON, link)?;
        Ok(Built::Policy(Box::new(Red { core: EarlyDetection::new(set, curve) })))
    },
    curve: Some(&|values, link, average| {
        read(values, &COMMON, link).map_or(f64::NAN, |(set, curve)| probability(&curve, set.in_unit(average)))
    }),
    ..AqmSpec::named("red", "RED", "RED and its curves", 1993)
};

/// RED's settings and curve; `common` are the shared parameters, with the discipline's own defaults.
pub(crate) fn read(values: &Values, common: &[Param], link: &Link) -> Result<(Settings, Linear), ParamError> {
    let set = Settings::read(values, common, link)?;
    let gentle = values.flag(&GENTLE, "gentle");
    if gentle && set.dialect() == Dialect::Linux {
        return Err(ParamError::new("gentle", true, "false: linux has no gentle RED"));
    }
    Ok((set, Linear::new(set.min_th, set.max_th, set.max_p, gentle)))
}
