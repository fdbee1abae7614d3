//! # MRED
//!
//! ## What it does
//! RED that looks at the queue of the moment as well as at the average, so that it does not react to a burst already
//! over. With the queue `q` that the arrival finds:
//!
//! | q | what happens |
//! |---|---|
//! | `q < min_th` | the arrival passes, whatever the average |
//! | `min_th <= q <= max_th` | RED with the average |
//! | `max_th < q` | RED with `max(avg, q)` in place of the average |
//!
//! ## Source
//! G. Feng, A. K. Agarwal, A. Jayaraman, C. K. Siew, "Modified RED gateways under bursty traffic", IEEE Communications
//! Letters 8(5), 2004. Averaging, curve, spacing and byte mode are RED's.
//!
//! ## Differences
//! 1. The paper's text could not be read; a later paper (DDRED, 2007) says that it fits RED to bursty traffic. All
//!    three rows of the table are ours (reconstruction).
//! 2. The third row makes a burst cost more than in RED: any queue above max_th gives p_b = 1. `upper = false` keeps
//!    the first two rows only.
//! 3. An arrival that passes by the first row leaves RED's count alone and draws no number (reconstruction).
//! 4. Another scheme of this name (Song and others, ICOIN 2001) drives its probability from losses and idle times, like
//!    BLUE. It is not meant here.
//!
//! ## Example
//! ```
//! use earlydrop_aqm::{catalogue::{self, Built}, gate::Gate, params::{Value, Values}, policy::Limit, random::Generator};
//! use earlydrop_aqm::{discipline::Fifo, Discipline, Packet, Time};
//!
//! let link = catalogue::Link { rate_bps: 10e6, delay_s: 0.02 };
//! let drops_after_a_burst = |name: &str| {
//!     let mut values = Values::new();
//!     values.set("w_q", Value::Real(0.2)).set("min_th", Value::Real(5.0)).set("max_th", Value::Real(15.0));
//!     let Built::Policy(policy) = (catalogue::find(name).unwrap().build)(&values, &link, Limit::Packets(50)).unwrap()
//!         else { unreachable!() };
//!     let mut queue = Fifo::new(Gate::new(policy, Limit::Packets(50), false, Generator::stream(1, "queue")));
//!     for _ in 0..80 {
//!         queue.enqueue(Packet::new(1, 1000), Time::ZERO, &mut |_, _| {});
//!     }
//!     while queue.packets() > 3 {
//!         queue.dequeue(Time::ZERO, &mut |_, _| {});
//!     }
//!     queue.reset_counters();
//!     queue.enqueue(Packet::new(1, 1000), Time::ZERO, &mut |_, _| {});
//!     queue.counters().drops()
//! };
//! // The burst is served but for three packets; RED's average is still above max_th and drops the next arrival.
//! assert_eq!((drops_after_a_burst("red"), drops_after_a_burst("mred")), (1, 0));
//! ```

use crate::catalogue::{AqmSpec, Built, Link};
use crate::default_limit::DefaultLimit;
use crate::early_detection::{params, Defaults, EarlyDetection, Settings, SHARED};
use crate::params::{Param, ParamError, Values};
use crate::parts::curve::{probability, Linear};
use crate::policy::{Context, QueueView, Verdict};
use crate::Packet;

const COMMON: [Param; SHARED] =
    params(Defaults { min_th: 5.0, max_th: 15.0, max_p: 0.02, source: "Floyd & Jacobson 1993" });

const OWN: [Param; 1] = [Param::flag("upper", true).says(
    "our reading",
    "A queue above max_th replaces a smaller average; off, only drops at a short queue are suppressed.",
)];

/// The declaration.
pub const SPEC: AqmSpec = AqmSpec {
    summary: "Modified RED: no drop while the queue of the moment is short, more when it is long",
    source: "Feng, Agarwal, Jayaraman, Siew: Modified RED gateways under bursty traffic, IEEE Comm. Letters 8(5), 2004",
    params: &[&COMMON, &OWN],
    limit: DefaultLimit::RED,
    check: &|values, link| read(values, link).map(|_| ()),
    build: &|values, link, _| {
        let (set, curve) = read(values, link)?;
        let (min_th, max_th) = (set.min_th, set.max_th);
        let upper = values.flag(&OWN, "upper");
        Ok(Built::Policy(Box::new(Mred { core: EarlyDetection::new(set, curve), min_th, max_th, upper })))
    },
    curve: Some(&|values, link, average| {
        read(values, link).map_or(f64::NAN, |(set, curve)| probability(&curve, set.in_unit(average)))
    }),
    ..AqmSpec::named("mred", "MRED", "RED and its curves", 2004)
};

fn read(values: &Values, link: &Link) -> Result<(Settings, Linear), ParamError> {
    let set = Settings::read(values, &COMMON, link)?;
    Ok((set, Linear::new(set.min_th, set.max_th, set.max_p, false)))
}

/// The policy.
pub struct Mred {
    /// RED: average, spacing and drop curve.
    core: EarlyDetection<Linear>,
    /// Lower threshold, in the unit of the average.
    min_th: f64,
    /// Upper threshold, in the unit of the average.
    max_th: f64,
    /// A queue above max_th replaces a smaller average (the third row of the table).
    upper: bool,
}

crate::early_detection_policy!(Mred, {
    #[inline]
    fn on_enqueue(&mut self, packet: &Packet, queue: &QueueView<'_>, cx: &mut Context<'_>) -> Verdict {
        let average = self.core.observe(queue, cx.now);
        let length = self.core.settings().length(queue);
        if length < self.min_th {
            return Verdict::Pass;
        }
        let judged = if self.upper && length > self.max_th { average.max(length) } else { average };
        self.core.decide(judged, packet, queue, cx)
    }

    fn gauges(&self, out: &mut dyn FnMut(&'static str, f64)) {
        self.core.gauges(out);
    }
});

#[cfg(test)]
mod tests {
    use super::*;
    use crate::prelude::*;

    /// A policy whose average is pinned near `average` packets (the weight is tiny); its draws hit at any p_b.
    fn pinned(average: u64, more: &[(&'static str, Value)]) -> impl FnMut(u64) -> Verdict {
        let link = Link { rate_bps: 10e6, delay_s: 0.02 };
        let mut values =
            Values::of(&[("min_th", Value::Real(10.0)), ("max_th", Value::Real(20.0)), ("w_q", Value::Real(1e-4))]);
        for &(name, value) in more {
            values.set(name, value);
        }
        let Ok(Built::Policy(mut policy)) = (SPEC.build)(&values, &link, Limit::Packets(100)) else { unreachable!() };
        let mut random = Generator::custom(|| 1e-12);
        let mut at = move |packets: u64| {
            let queue = QueueView { packets, bytes: packets * 500, idle_since: None, contents: None };
            let mut victims = Vec::new();
            let (now, random) = (Time::ZERO, &mut random);
            let mut cx = Context { now, ecn: false, has_room: true, random, victims: &mut victims };
            let verdict = policy.on_enqueue(&Packet::new(1, 500), &queue, &mut cx);
            (verdict, policy.average().unwrap())
        };
        while at(average).1 < average as f64 - 1e-3 {}
        move |packets| at(packets).0
    }

    const EARLY: Verdict = Verdict::Signal(Reason::Early);
    const FORCED: Verdict = Verdict::Drop(Reason::Forced);

    #[test]
    fn short_queue_passes_whatever_the_average() {
        for average in [15, 40] {
            let mut at = pinned(average, &[]);
            assert_eq!([at(0), at(1), at(9)], [Verdict::Pass; 3], "average {average}");
        }
        // From min_th on MRED decides as RED.
        assert_eq!(pinned(15, &[])(10), EARLY);
        assert_eq!(pinned(40, &[])(10), FORCED);
        assert_eq!(pinned(5, &[])(10), Verdict::Pass);
    }

    #[test]
    fn long_queue_counts_as_the_average() {
        let mut at = pinned(5, &[]);
        assert_eq!([at(20), at(21), at(20)], [Verdict::Pass, FORCED, Verdict::Pass]);
        assert_eq!(pinned(15, &[])(20), EARLY);
        assert_eq!(pinned(15, &[])(21), FORCED);
        let mut at = pinned(5, &[("upper", Value::Flag(false))]);
        assert_eq!([at(20), at(21), at(100)], [Verdict::Pass; 3]);
        assert_eq!(pinned(15, &[("upper", Value::Flag(false))])(21), EARLY);
    }

    /// An arrival that passes by the first row leaves the count where it was.
    #[test]
    fn short_queue_does_not_count() {
        let link = Link { rate_bps: 10e6, delay_s: 0.02 };
        let values =
            Values::of(&[("min_th", Value::Real(10.0)), ("max_th", Value::Real(20.0)), ("w_q", Value::Real(0.01))]);
        let Ok(Built::Policy(mut policy)) = (SPEC.build)(&values, &link, Limit::Packets(100)) else { unreachable!() };
        let mut random = Generator::custom(|| 1.0);
        let mut count_after = |packets: u64| {
            let queue = QueueView { packets, bytes: packets * 500, idle_since: None, contents: None };
            let mut victims = Vec::new();
            let (now, random) = (Time::ZERO, &mut random);
            let mut cx = Context { now, ecn: false, has_room: true, random, victims: &mut victims };
            policy.on_enqueue(&Packet::new(1, 500), &queue, &mut cx);
            let mut count = f64::NAN;
            policy.gauges(&mut |name, value| {
                if name == "count" {
                    count = value;
                }
            });
            count
        };
        assert!((0..1000).any(|_| count_after(20) == 5.0));
        assert_eq!(count_after(9), 5.0);
        assert_eq!(count_after(12), 6.0);
    }
}
