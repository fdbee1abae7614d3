//! # AutoRED
//!
//! ## What it does
//! RED whose average follows the queue faster or slower by the state of the queue: the weight of a sample is computed
//! at each arrival. With `p_t = Q_t/B`, the part of the buffer taken,
//!
//! | `weight` | `w_t`, before it is kept within `w_lo` and `w_hi` |
//! |---|---|
//! | `"traffic"` (default) | `p_t (1 - p_t) min(1, abs(ln((Q_t + 1)/(Q_{t-1} + 1))))/2` |
//! | `"scaled"` | `4 w_0 p_t (1 - p_t)` |
//! | `"plain"` | `p_t (1 - p_t)` |
//! | `"constant"` | `w_q`: RED |
//!
//! and `avg := (1 - w_t) avg + w_t Q_t`. The rest is RED, with fixed thresholds.
//!
//! ## Source
//! S. Suthaharan, "Reduction of queue oscillation in the next generation Internet routers", Computer Communications
//! 30, 2007. **The weights are our reconstruction.** We could read the abstract only: RED's slow average makes the
//! queue oscillate, and a weighting function replaces the constant. That it has three factors (congestion, traffic,
//! normalisation) is from memory. The FLoadAutoRED chapter (Table 6.1) adds that a `p_t` and then a `w_q` are worked
//! out at each arrival, and compares `p_t` with 0.550 and 0.880.
//!
//! ## Differences
//! 1. `p_t` is read as the part of the buffer taken. With the chapter's B = 300 and max_th = 200, 0.55 and 0.88 are 165
//!    and 264 packets, on both sides of max_th; as a drop probability 0.55 would never be reached with max_p = 0.02.
//! 2. `p_t (1 - p_t)` stands for congestion, the change of the queue for traffic, 1/2 for normalisation. The other
//!    weights leave factors out. Before the first arrival Q is 0.
//! 3. `w_lo` is ours: at an empty queue, a full one, or one that stands still, the average would never move again.
//! 4. After an idle time the average decays as RED's, with the weight of an arrival at an empty queue, `w_lo`.
//! 5. The drop rule is RED's without gentle. The dialects ns2 and ns3 are there because papers of those years ran RED
//!    as ns-2 has it; linux is not, as its weight is a fixed power of two.
//! 6. The default thresholds are those of the chapter's experiment.
//!
//! ## Example
//! ```
//! use earlydrop_aqm::{catalogue, gate::Gate, params::{Value, Values}, policy::Limit, random::Generator};
//! use earlydrop_aqm::{discipline::Fifo, Discipline, Packet, Time};
//!
//! let link = catalogue::Link { rate_bps: 10e6, delay_s: 0.01 };
//! let averages = |weight| {
//!     let mut values = Values::new();
//!     values.set("weight", Value::Choice(weight));
//!     let limit = Limit::Packets(300);
//!     let spec = catalogue::find("autored").unwrap();
//!     let catalogue::Built::Policy(autored) = (spec.build)(&values, &link, limit).unwrap() else { unreachable!() };
//!     let mut queue = Fifo::new(Gate::new(autored, limit, false, Generator::stream(1, "queue")));
//!     for _ in 0..100 {
//!         queue.enqueue(Packet::new(1, 1000), Time::ZERO, &mut |_, _| {});
//!     }
//!     queue.average().unwrap()
//! };
//! // After a burst of 100 packets.
//! assert!(averages("plain") > 90.0 && averages("constant") < 10.0);
//! ```

use crate::catalogue::{AqmSpec, Built, Link};
use crate::default_limit::DefaultLimit;
use crate::params::{ParamError, Values};
use crate::parts::auto_red::{check, curve, red, AutoRed as Core, RED};
use crate::parts::auto_weight;
use crate::parts::curve::Linear;
use crate::policy::Limit;

/// The declaration.
pub const SPEC: AqmSpec = AqmSpec {
    name: "autored",
    title: "AutoRED",
    family: "adaptive RED",
    year: 2007,
    summary: "RED whose averaging weight is computed at each arrival",
    source: "Suthaharan: Reduction of queue oscillation, Computer Communications 30, 2007 (weights reconstructed)",
    file: include_str!("autored.rs"),
    params: &[&RED, &auto_weight::PARAMS],
    linux: false,
    limit: DefaultLimit::RED,
    check: &check,
    build: &|values, link, limit| Ok(Built::Policy(Box::new(AutoRed::new(values, link, limit)?))),
    curve: Some(&curve),
};

/// The policy.
pub struct AutoRed {
    /// RED with the weight of AutoRED.
    core: Core<Linear>,
}

impl AutoRed {
    fn new(values: &Values, link: &Link, limit: Limit) -> Result<Self, ParamError> {
        let (set, line) = red(values, link)?;
        Ok(AutoRed { core: Core::new(values, set, line, limit)? })
    }
}

crate::early_detection_policy!(AutoRed);

#[cfg(test)]
mod tests {
    use crate::catalogue::{find, Built, Link};
    use crate::discipline::Fifo;
    use crate::gate::Gate;
    use crate::params::{Value, Values};
    use crate::policy::Limit;
    use crate::random::Generator;
    use crate::{Discipline, Packet, Time};

    const LINK: Link = Link { rate_bps: 8e6, delay_s: 0.01 };

    fn queue(aqm: &str, more: &[(&'static str, Value)], limit: Limit) -> Fifo {
        let mut values = Values::new();
        values.set("min_th", Value::Real(5.0)).set("max_th", Value::Real(15.0)).set("max_p", Value::Real(0.1));
        values.set("mean_packet", Value::Real(1000.0));
        for &(name, value) in more {
            values.set(name, value);
        }
        let Ok(Built::Policy(policy)) = (find(aqm).unwrap().build)(&values, &LINK, limit) else { panic!("{aqm}") };
        Fifo::new(Gate::new(policy, limit, false, Generator::stream(4, "queue")))
    }

    /// Averages and verdicts of 5000 arrivals that swing about the link's rate, with pauses.
    fn run(queue: &mut Fifo) -> Vec<(u64, bool)> {
        let mut random = Generator::stream(9, "arrivals");
        let (mut now, mut free) = (0.0, 0.0);
        (0..5000)
            .map(|i| {
                now += -(1.0 - random.uniform()).ln() * 1e-3 * if i % 1000 < 700 { 0.8 } else { 1.5 };
                now += if i % 1000 == 0 { 0.5 } else { 0.0 };
                while free <= now && queue.dequeue(Time::from_seconds(free), &mut |_, _| {}).is_some() {
                    free += 1e-3;
                }
                free = free.max(now);
                let admitted = queue.enqueue(Packet::new(1, 1000), Time::from_seconds(now), &mut |_, _| {}).is_some();
                (queue.average().unwrap().to_bits(), admitted)
            })
            .collect()
    }

    #[test]
    fn constant_weight_is_red_to_the_bit() {
        for dialect in ["paper", "ns2", "ns3"] {
            let w_q = ("w_q", Value::Real(0.01));
            let red = run(&mut queue("red", &[w_q, ("dialect", Value::Choice(dialect))], Limit::Packets(30)));
            let constant = [w_q, ("dialect", Value::Choice(dialect)), ("weight", Value::Choice("constant"))];
            assert_eq!(red, run(&mut queue("autored", &constant, Limit::Packets(30))), "{dialect}");
            let auto = run(&mut queue("autored", &[("dialect", Value::Choice(dialect))], Limit::Packets(30)));
            assert!(red != auto && auto.iter().any(|&(_, admitted)| !admitted), "{dialect}");
        }
    }

    /// Four arrivals by hand, B = 10: Q = 0, 1, 2, 3 have p_t = 0, 0.1, 0.2, 0.3.
    #[test]
    fn average_of_the_first_arrivals() {
        let mut queue = queue("autored", &[], Limit::Packets(10));
        let mut average = 0.0;
        for (found, weight) in [
            (0.0, 0.0005),
            (1.0, 0.045 * 2.0_f64.ln()),
            (2.0, 0.08 * 1.5_f64.ln()),
            (3.0, 0.105 * (4.0_f64 / 3.0).ln()),
        ] {
            queue.enqueue(Packet::new(1, 1000), Time::ZERO, &mut |_, _| {});
            average = if found == 0.0 { 0.0 } else { (1.0 - weight) * average + weight * found };
            assert!((queue.average().unwrap() - average).abs() < 1e-12, "after {found}");
        }
    }

    #[test]
    fn an_idle_time_decays_with_the_smallest_weight() {
        let mut queue = queue("autored", &[("w_lo", Value::Real(0.01))], Limit::Packets(10));
        for _ in 0..6 {
            queue.enqueue(Packet::new(1, 1000), Time::ZERO, &mut |_, _| {});
        }
        let before = queue.average().unwrap();
        while queue.dequeue(Time::from_seconds(0.006), &mut |_, _| {}).is_some() {}
        // 100 whole packets of a millisecond.
        queue.enqueue(Packet::new(1, 1000), Time::from_seconds(0.1065), &mut |_, _| {});
        assert!(before > 0.3);
        assert!((queue.average().unwrap() - before * 0.99_f64.powi(100)).abs() < 1e-12);
    }

    #[test]
    fn linux_is_no_dialect_of_it() {
        let dialect = find("autored").unwrap().param("dialect").unwrap();
        assert!(!dialect.allows(Value::Choice("linux")) && dialect.allows(Value::Choice("ns2")));
    }
}
