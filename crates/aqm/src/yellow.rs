//! # YELLOW
//!
//! ## What it does
//! Compares the load with a capacity that the queue makes smaller: every `tupdate`, with the load `x` (packets/s) since
//! the last update and the queue `q`,
//!
//! | load factor `z = x/(f(q) C)` | p |
//! |---|---|
//! | `z >= 1 + delta` | `p = p + z step` |
//! | `1 <= z < 1 + delta` | unchanged |
//! | `z < 1` | `p = p - step/z` |
//!
//! kept in [0, 1]. The queue control function is hyperbolic: `f = gamma alpha q_ref/((alpha - 1) q + q_ref)` up to
//! `q_ref`, `f = max(qdlf, gamma beta q_ref/((beta - 1) q + q_ref))` above. `f` is `gamma alpha` for an empty queue,
//! `gamma` at `q_ref`, and falls further beyond. Every arrival that finds room is signalled with probability `p`,
//! independently.
//!
//! ## Source
//! C. Long, B. Zhao, X. Guan, J. Yang, "The Yellow active queue management algorithm", Computer Networks 47(4), 2005.
//! Only the abstract was at hand. The rules for `p` and `f` are as the literature quotes them; what is marked below is
//! ours.
//!
//! ## Differences
//! 1. (reconstruction) `gamma = 1`, `alpha = 1.05`, `beta = 1.5`, `qdlf = 0.5`, `step = 0.003`, `tupdate = 10 ms`.
//!    `delta` is 0.05, from a range of 0.02 to 0.06. `q_ref` is 10, the middle of RED's usual thresholds 5 and 15.
//!    `step` is the paper's `Delta/C`.
//! 2. (reconstruction) `tupdate = "auto"` is 10 ms or the time of ten packets, whichever is longer; else, on a slow
//!    link, the load would move in steps of half the capacity.
//! 3. (reconstruction) `load = "accepted"` counts what joins the queue. With `"offered"`, which counts every arrival, a
//!    sender above the link's rate that ignores drops takes `p` to 1, and no packet passes any more.
//! 4. (reconstruction) `z` is at least 0.05: without arrivals it would be 0, and `step/z` infinite.
//!
//! ## Example
//! ```
//! use earlydrop_aqm::{catalogue, discipline::Fifo, gate::Gate, params::Values, policy::Limit, random::Generator};
//! use earlydrop_aqm::{Discipline, Packet, Time};
//!
//! // 12.5 packets of 1000 B in 10 ms.
//! let link = catalogue::Link { rate_bps: 10e6, delay_s: 0.01 };
//! let limit = Limit::Packets(50);
//! let catalogue::Built::Policy(yellow) = (catalogue::find("yellow").unwrap().build)(&Values::new(), &link, limit).unwrap()
//!     else { unreachable!() };
//! let mut queue = Fifo::new(Gate::new(yellow, limit, false, Generator::stream(1, "queue")));
//! for _ in 0..25 {
//!     queue.enqueue(Packet::new(1, 1000), Time::ZERO, &mut |_, _| {});
//! }
//! queue.on_timer(queue.next_timer().unwrap());
//! let (mut p, mut z) = (0.0, 0.0);
//! queue.gauges(&mut |name, value| match name { "p" => p = value, "z" => z = value, _ => {} });
//! // The load is twice the capacity; 25 waiting packets leave 1.5 * 10/(0.5 * 25 + 10) of the capacity.
//! assert!((z - 2.0 * 22.5 / 15.0).abs() < 1e-12 && (p - 0.003 * z).abs() < 1e-12);
//! ```

use crate::catalogue::{AqmSpec, Built, Link};
use crate::params::{words, Kind, Param, ParamError, Unit, Value, Values, Word};
use crate::parts::independent;
use crate::parts::measure::{self, Measure};
use crate::parts::ticks::{self, Ticks};
use crate::policy::{Context, Policy, QueueView, Verdict};
use crate::{Packet, Time};

const OURS: &str = "our choice";

const fn real(name: &'static str, symbol: &'static str, range: (f64, f64), default: f64, doc: &'static str) -> Param {
    Param::real(name, Unit::None, Kind::real(range.0, range.1), default).symbol(symbol).says(OURS, doc)
}

words! {
    /// Which packets the load factor counts.
    enum CountedLoad {
        /// The packets admitted.
        Accepted = "accepted",
        /// All packets that arrive.
        Offered = "offered",
    }
}

const PARAMS: [Param; 11] = [
    measure::q_ref("q_{ref}", 10.0, "our choice: the middle of RED's 5 and 15"),
    real("gamma", "\\gamma", (0.01, 2.0), 1.0, "Share of the capacity aimed at when the queue is at q_ref."),
    real("alpha", "\\alpha", (1.0, 10.0), 1.05, "Factor by which an empty queue raises the capacity."),
    real("beta", "\\beta", (1.0, 10.0), 1.5, "How steeply capacity falls with the queue above q_ref."),
    real("qdlf", "QDLF", (0.01, 1.0), 0.5, "Least share of the capacity that a long queue leaves."),
    real("delta", "\\delta", (0.0, 1.0), 0.05, "Load above the capacity, as a share, up to which p does not grow."),
    real("step", "\\Delta/C", (1e-6, 1.0), 0.003, "Change of p in one update, before the load factor."),
    measure::tupdate("T", Value::Auto, true, "our choice: 10 ms, or ten packets where that is longer"),
    Param::word("load", CountedLoad::WORDS, "accepted")
        .says(OURS, "Which arrivals count as load: those admitted, or all."),
    measure::unit("packet", OURS),
    measure::mean_packet(1000.0, OURS),
];

/// The declaration.
pub const SPEC: AqmSpec = AqmSpec {
    summary: "A probability from the load against a capacity that the queue makes smaller",
    source: "Long, Zhao, Guan, Yang: The Yellow active queue management algorithm, Computer Networks 47(4), 2005",
    params: &[&PARAMS],
    check: &|values, link| read(values, link).map(|_| ()),
    build: &|values, link, _| Ok(Built::Policy(Box::new(read(values, link)?))),
    ..AqmSpec::named("yellow", "YELLOW", "load and queue control", 2005)
};

/// The least load factor.
const LEAST_LOAD: f64 = 0.05;

fn read(values: &Values, link: &Link) -> Result<Yellow, ParamError> {
    let real = |name| values.real(&PARAMS, name);
    let measure = Measure::read(values, &PARAMS);
    let capacity = measure.capacity(link);
    let period = match real("tupdate") {
        auto if auto.is_nan() => (10.0 / capacity).max(0.01),
        given => given,
    };
    Ok(Yellow {
        control: QueueControl {
            q_ref: measure.queue_length(values, &PARAMS, "q_ref")?,
            gamma: real("gamma"),
            alpha: real("alpha"),
            beta: real("beta"),
            qdlf: real("qdlf"),
        },
        delta: real("delta"),
        step: real("step"),
        sendable: capacity * period,
        counted_load: values.choice(&PARAMS, "load"),
        measure,
        ticks: Ticks::every(period),
        counted: 0,
        z: 0.0,
        p: 0.0,
    })
}

/// The queue control function: the share of the capacity that a queue leaves.
struct QueueControl {
    /// The queue at which the share is gamma, packets.
    q_ref: f64,
    /// gamma, the utilisation aimed at.
    gamma: f64,
    /// alpha, of the hyperbola below `q_ref`.
    alpha: f64,
    /// beta, of the hyperbola above `q_ref`.
    beta: f64,
    /// QDLF, the least share.
    qdlf: f64,
}

impl QueueControl {
    /// The share left when `queue` packets wait.
    fn share(&self, queue: f64) -> f64 {
        let hyperbola = |k: f64| self.gamma * k * self.q_ref / ((k - 1.0) * queue + self.q_ref);
        if queue <= self.q_ref {
            hyperbola(self.alpha)
        } else {
            hyperbola(self.beta).max(self.qdlf)
        }
    }
}

/// The policy.
pub struct Yellow {
    /// The queue control function.
    control: QueueControl,
    /// delta, the width of the band above z = 1 in which p stays.
    delta: f64,
    /// Delta, the step of p.
    step: f64,
    /// Packets that the link can send between two updates.
    sendable: f64,
    /// Which packets count as load.
    counted_load: CountedLoad,
    /// Packets or bytes.
    measure: Measure,
    /// When p is updated.
    ticks: Ticks,
    /// Packets or bytes since the last update.
    counted: u64,
    /// z, the load factor at the last update.
    z: f64,
    /// The probability of a drop or mark.
    p: f64,
}

impl Policy for Yellow {
    fn on_enqueue(&mut self, packet: &Packet, _queue: &QueueView<'_>, cx: &mut Context<'_>) -> Verdict {
        let verdict = if cx.has_room { independent::draw(self.p, cx) } else { Verdict::Pass };
        let joins = cx.has_room && (verdict == Verdict::Pass || cx.can_mark(packet));
        if joins || self.counted_load == CountedLoad::Offered {
            self.counted += self.measure.amount(packet);
        }
        verdict
    }

    fn next_timer(&self) -> Option<Time> {
        Some(self.ticks.next())
    }

    fn on_timer(&mut self, queue: &QueueView<'_>, _cx: &mut Context<'_>) {
        let load = self.measure.in_packets(self.counted as f64) / self.sendable;
        self.z = (load / self.control.share(self.measure.length(queue))).max(LEAST_LOAD);
        if self.z >= 1.0 + self.delta {
            self.p = (self.p + self.z * self.step).min(1.0);
        } else if self.z < 1.0 {
            self.p = (self.p - self.step / self.z).max(0.0);
        }
        self.counted = 0;
        self.ticks.advance();
    }

    fn on_timers(&mut self, queue: &QueueView<'_>, until: Time, cx: &mut Context<'_>) -> Option<(u64, Time)> {
        let state = |yellow: &Self| (yellow.z.to_bits(), yellow.p.to_bits(), yellow.counted);
        ticks::run(self, queue, until, cx, state, |yellow| &mut yellow.ticks)
    }

    fn gauges(&self, out: &mut dyn FnMut(&'static str, f64)) {
        out("p", self.p);
        out("z", self.z);
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::prelude::*;

    /// The link sends 1250 packets of 1000 B a second, 12.5 in 10 ms.
    const LINK: Link = Link { rate_bps: 10e6, delay_s: 0.01 };

    fn yellow(pairs: &[(&'static str, Value)]) -> Yellow {
        let values = Values::of(pairs);
        read(&values, &LINK).unwrap()
    }

    fn holding(packets: u64) -> QueueView<'static> {
        QueueView { packets, bytes: 1000 * packets, idle_since: None, contents: None }
    }

    fn arrive(yellow: &mut Yellow, u: f64, has_room: bool) -> Verdict {
        let (mut random, mut victims) = (Generator::custom(move || u), Vec::new());
        let mut cx = Context { now: Time::ZERO, ecn: false, has_room, random: &mut random, victims: &mut victims };
        yellow.on_enqueue(&Packet::new(1, 1000), &holding(0), &mut cx)
    }

    /// An interval with `arrivals` that pass, and the update at its end.
    fn interval(yellow: &mut Yellow, arrivals: u32, queue: u64) {
        for _ in 0..arrivals {
            arrive(yellow, 1.0, true);
        }
        let (mut random, mut victims) = (Generator::custom(|| panic!("an update draws nothing")), Vec::new());
        let now = yellow.next_timer().unwrap();
        let mut cx = Context { now, ecn: false, has_room: true, random: &mut random, victims: &mut victims };
        yellow.on_timer(&holding(queue), &mut cx);
    }

    #[test]
    fn the_queue_control_function_passes_through_its_points() {
        let control = yellow(&[("q_ref", Value::Real(20.0)), ("gamma", Value::Real(0.9))]).control;
        assert!((control.share(0.0) - 0.9 * 1.05).abs() < 1e-12);
        assert!((control.share(20.0) - 0.9).abs() < 1e-12);
        assert!((control.share(20.0 + 1e-9) - 0.9).abs() < 1e-9, "no jump at q_ref");
        assert!((control.share(40.0) - 0.9 * 1.5 / 2.0).abs() < 1e-12);
        assert_eq!(control.share(1000.0), 0.5);
        let mut last = f64::INFINITY;
        for q in 0..200 {
            assert!(control.share(f64::from(q)) <= last);
            last = control.share(f64::from(q));
        }
    }

    /// At `q_ref` f is 1, so z is the load in units of 12.5 packets.
    #[test]
    fn p_moves_only_outside_the_band() {
        let mut yellow = yellow(&[("delta", Value::Real(0.04))]);
        interval(&mut yellow, 25, 10);
        assert!((yellow.p - 0.006).abs() < 1e-15, "2 * 0.003");
        interval(&mut yellow, 13, 10);
        assert!((yellow.p - 0.006 - 0.003 * 1.04).abs() < 1e-15, "13/12.5 = 1 + delta is overload");
        let before = yellow.p;
        yellow.delta = 0.04 + 1e-9;
        interval(&mut yellow, 13, 10);
        assert_eq!(yellow.p, before, "just below it is not");
        interval(&mut yellow, 12, 10);
        assert!((before - yellow.p - 0.003 / 0.96).abs() < 1e-15);
        yellow.sendable = 13.0;
        let before = yellow.p;
        interval(&mut yellow, 13, 10);
        assert_eq!((yellow.p, yellow.z), (before, 1.0), "at z = 1 it stands still");
    }

    #[test]
    fn without_arrivals_p_falls_by_20_steps_at_once_and_stays_at_0() {
        let mut yellow = yellow(&[]);
        for _ in 0..50 {
            interval(&mut yellow, 25, 10);
        }
        let before = yellow.p;
        interval(&mut yellow, 0, 0);
        assert!((before - yellow.p - 0.003 / 0.05).abs() < 1e-12);
        for _ in 0..50 {
            interval(&mut yellow, 0, 0);
        }
        assert_eq!(yellow.p, 0.0);
    }

    #[test]
    fn a_long_queue_is_overload_at_any_load_above_half() {
        let mut yellow = yellow(&[]);
        interval(&mut yellow, 8, 1000);
        assert!((yellow.z - 8.0 / 12.5 / 0.5).abs() < 1e-12 && yellow.p > 0.0);
    }

    #[test]
    fn accepted_load_leaves_out_what_is_dropped() {
        for (load, counted) in [("accepted", 1), ("offered", 3)] {
            let mut yellow = yellow(&[("load", Value::Choice(load))]);
            yellow.p = 0.5;
            assert_eq!(arrive(&mut yellow, 0.5, true), Verdict::Signal(Reason::Early));
            assert_eq!(arrive(&mut yellow, 0.6, true), Verdict::Pass);
            assert_eq!(arrive(&mut yellow, 0.0, false), Verdict::Pass, "no room, no draw");
            assert_eq!(yellow.counted, counted, "{load}");
        }
    }

    /// A sender at 1.5 times the link's rate that ignores drops: with the offered load nothing passes in the end.
    #[test]
    fn an_unresponsive_sender_is_cut_back_and_not_off() {
        for (load, least, most) in [("accepted", 0.85, 1.1), ("offered", 0.0, 0.001)] {
            let mut yellow = yellow(&[("load", Value::Choice(load))]);
            let mut random = Generator::stream(4, "yellow");
            let (mut passed, mut seconds) = (0, 0.0);
            for update in 0..20_000 {
                for _ in 0..(18 + update % 2) {
                    let verdict = arrive(&mut yellow, random.uniform(), true);
                    passed += u32::from(update >= 10_000 && verdict == Verdict::Pass);
                }
                interval(&mut yellow, 0, 10);
                seconds += if update >= 10_000 { 0.01 } else { 0.0 };
            }
            let share = f64::from(passed) / seconds / 1250.0;
            assert!((least..=most).contains(&share), "{load}: {share}");
        }
    }

    #[test]
    fn auto_is_10_ms_or_ten_packets() {
        assert_eq!(yellow(&[]).ticks.period(), 0.01);
        let slow = read(&Values::new(), &Link { rate_bps: 1e6, delay_s: 0.0 }).unwrap();
        assert_eq!(slow.ticks.period(), 0.08);
        assert_eq!(yellow(&[("tupdate", Value::Real(0.5))]).ticks.period(), 0.5);
    }
}
