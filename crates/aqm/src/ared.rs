//! # ARED
//!
//! ## What it does
//! Adaptive RED: gentle RED whose `max_p` follows the average, so that the average stays half-way between the
//! thresholds at any load. At most once an `interval`:
//!
//! | average | max_p becomes |
//! |---|---|
//! | above `min_th + 0.6 (max_th - min_th)` | `max_p + min(alpha, max_p/4)` |
//! | below `min_th + 0.4 (max_th - min_th)` | `beta max_p` |
//!
//! The thresholds and the weight are worked out from the link unless they are given: `min_th = max(5, target_delay
//! C/2)` with the rate C in packets/s, `max_th = 3 min_th`, `w_q = 1 - exp(-1/C)`.
//!
//! ## Source
//! S. Floyd, R. Gummadi, S. Shenker, "Adaptive RED: an algorithm for increasing the robustness of RED's active queue
//! management", technical report, 2001 [paper?: no copy was at hand; the rule as it is known from ns-2 and ns-3].
//! Dialects: ns-2.35 `queue/red.cc` [ns-2], ns-3 `red-queue-disc.cc` [ns-3]. Linux's version is `linux_ared`.
//!
//! ## Differences
//! 1. By dialect, beside what RED has (the rows of ns2 agree with ns-2.35 in every bit, see `tests/open_loop/ns2.rs`):
//!
//!    | | paper [paper?] | ns2 | ns3 |
//!    |---|---|---|---|
//!    | when | every interval, on a timer | at an arrival, more than an interval after max_p last changed | as ns2 |
//!    | max_p rises while | `max_p <= top` | `max_p < top` | as ns2 |
//!    | max_p falls while | `max_p >= bottom` | `max_p > bottom` | as ns2 |
//!    | bottom | 0.01 | min(0.01, 80000/rate) | min(0.01, 0.8 mean_packet/rate) |
//!    | line above max_th | moves with max_p | stays | stays |
//!
//!    So ns-2 and ns-3 answer the first excursion after a quiet time at once, the timer within an interval. ns-3's
//!    `bottom` is meant as 1/W, W the window in packets of a 100 ms connection, but is a hundred times too low.
//! 2. The paper tests the upper side of the band first, ns-2 the lower. The order has no effect: `band_low > band_high`
//!    is refused, so only one side can apply.
//! 3. A change can take max_p past top or bottom, up to top + alpha or down to beta bottom. `clamp` stops it there.
//! 4. The average that the timer sees on an idle link is not said [paper?]. Here, as in Linux, it is decayed by the
//!    idle time, and that decay is not stored. Otherwise max_p could rise on an idle link.
//! 5. ns-2 and ns-3 form the line above max_th once, from the first max_p, so the curve jumps at max_th once max_p has
//!    moved. `gentle_tracks_maxp` is on in the paper dialect (reconstruction) and off in the others.
//! 6. max_p starts at 0.1 as in ns-2; in ns-3 at 1/50. ns-2's own automatic weight forgets in 10 round-trip times;
//!    `auto_w_q` offers it.
//!
//! ## Example
//! ```
//! use earlydrop_aqm::{catalogue::{self, Built}, gate::Gate, params::Values, policy::Limit, random::Generator};
//! use earlydrop_aqm::{discipline::Fifo, Discipline, Packet, Time};
//!
//! let link = catalogue::Link { rate_bps: 10e6, delay_s: 0.02 };
//! let Built::Policy(ared) = (catalogue::find("ared").unwrap().build)(&Values::new(), &link, Limit::Packets(100)).unwrap()
//!     else { unreachable!() };
//! let mut queue = Fifo::new(Gate::new(ared, Limit::Packets(100), false, Generator::stream(1, "queue")));
//! let mut max_ps = Vec::new();
//! // Nothing arrives, and every half second max_p shrinks by a tenth.
//! while let Some(due) = queue.next_timer().filter(|&due| due <= Time::from_seconds(1.0)) {
//!     queue.on_timer(due);
//!     queue.gauges(&mut |name, value| if name == "max_p" { max_ps.push(value) });
//! }
//! assert!((max_ps[0] - 0.09).abs() < 1e-12 && (max_ps[1] - 0.081).abs() < 1e-12 && max_ps.len() == 2);
//! ```

use crate::catalogue::{AqmSpec, Built, Link};
use crate::default_limit::{self, DefaultLimit};
use crate::early_detection::{params, replacing, without_linux};
use crate::early_detection::{Defaults, Dialect, EarlyDetection, Settings, SHARED};
use crate::params::{words, Kind, Param, ParamError, Unit, Value, Values, Word};
use crate::parts::curve::{probability, Linear};
use crate::parts::moving_max_p::{gentle_params, line};
use crate::policy::{Context, Limit, QueueView, Verdict};
use crate::{Packet, Time};

const fn automatic(param: Param, source: &'static str, doc: &'static str) -> Param {
    Param { default: Value::Auto, source, doc, ..param }
}

const RED: [Param; SHARED] =
    without_linux(params(Defaults { min_th: 5.0, max_th: 15.0, max_p: 0.1, source: "ns-2.35; ns-3: 1/50" }));

const COMMON: [Param; SHARED] = replacing(
    replacing(
        replacing(
            RED,
            "min_th",
            automatic(
                RED[0],
                "Floyd, Gummadi & Shenker 2001",
                "Average queue below which nothing is dropped; \"auto\" is max(5, target_delay * packets/s / 2).",
            ),
        ),
        "max_th",
        automatic(
            RED[1],
            "Floyd, Gummadi & Shenker 2001",
            "Average queue at which the drop probability reaches max_p; \"auto\" is three times min_th.",
        ),
    ),
    "w_q",
    automatic(
        RED[3],
        "Floyd, Gummadi & Shenker 2001",
        "Weight of a new sample in the average; \"auto\" follows auto_w_q.",
    ),
);

const fn share(
    name: &'static str,
    symbol: &'static str,
    default: f64,
    source: &'static str,
    doc: &'static str,
) -> Param {
    Param::real(name, Unit::None, Kind::real(0.0, 1.0), default).symbol(symbol).says(source, doc)
}

const PAPER: &str = "Floyd, Gummadi & Shenker 2001";

const OWN: [Param; 10] = [
    Param::real("interval", Unit::Seconds, Kind::real(0.001, 1e6), 0.5)
        .says(PAPER, "Time between two changes of max_p."),
    share("alpha", "\\alpha", 0.01, PAPER, "Step by which max_p rises, unless a quarter of max_p is less."),
    share("beta", "\\beta", 0.9, PAPER, "Factor by which max_p falls."),
    share("top", "", 0.5, PAPER, "max_p does not rise from here on."),
    Param::new("bottom", Unit::None, Kind::real(0.0, 1.0).or_auto(), Value::Auto)
        .says("paper 0.01; ns-2, ns-3: less on fast links", "max_p does not fall from here on."),
    share("band_low", "", 0.4, PAPER, "Lower end of the band in which max_p stays, as a share of max_th - min_th."),
    share("band_high", "", 0.6, PAPER, "Upper end of the band in which max_p stays, as a share of max_th - min_th."),
    Param::flag("clamp", false).says("none of the references does", "Cut max_p off at bottom and top after a change."),
    Param::real("target_delay", Unit::Seconds, Kind::real(0.0, 1000.0), 0.005)
        .says("ns-2.35 (targetdelay_)", "Queueing delay that the automatic min_th aims at."),
    Param::word("auto_w_q", Forgetting::WORDS, "one_second").says(
        "Floyd, Gummadi & Shenker 2001; ns-2.35: q_weight_ 0, -1, -2",
        "Time over which the average with the automatic weight forgets; a round trip is max(100 ms, 3 delays).",
    ),
];

const GENTLE: [Param; 2] = gentle_params(true, "Floyd, Gummadi & Shenker 2001; ns-2.35");

/// The declaration.
pub const SPEC: AqmSpec = AqmSpec {
    summary: "Adaptive RED: max_p follows the average queue, thresholds and weight follow the link",
    source: "Floyd, Gummadi, Shenker: Adaptive RED, technical report, 2001",
    params: &[&COMMON, &OWN, &GENTLE],
    limit: DefaultLimit::Rule {
        rule: "4 max_th",
        source: "as RED",
        of: |_, values, link| {
            read(values, link).map_or(Limit::Packets(1), |(red, _)| {
                let set = red.settings();
                match values.given("max_th") {
                    Some(Value::QueueBytes(max_th)) => default_limit::bytes(4.0 * max_th),
                    _ => default_limit::packets(4.0 * set.in_packets(set.max_th)),
                }
            })
        },
    },
    check: &|values, link| read(values, link).map(|_| ()),
    build: &|values, link, _| {
        let (core, rule) = read(values, link)?;
        let next = rule.on_timer.then(|| Time::ZERO + rule.interval);
        Ok(Built::Policy(Box::new(Ared { core, rule, next, last_set: 0.0 })))
    },
    curve: Some(&|values, link, average| {
        read(values, link).map_or(f64::NAN, |(core, _)| probability(core.curve(), core.settings().in_unit(average)))
    }),
    ..AqmSpec::named("ared", "ARED", "adaptive RED", 2001)
};

/// How max_p moves.
struct Rule {
    /// Moves on a timer (paper), not at arrivals (ns-2, ns-3).
    on_timer: bool,
    /// Least time between two changes, s.
    interval: f64,
    /// What an increase adds, at most.
    alpha: f64,
    /// What a decrease multiplies by.
    beta: f64,
    /// Whether max_p may still change when it equals top or bottom.
    ends_too: bool,
    /// Largest max_p.
    top: f64,
    /// Least max_p.
    bottom: f64,
    /// Average below which max_p falls, in the unit of the thresholds.
    low: f64,
    /// Average above which max_p rises, in the unit of the thresholds.
    high: f64,
    /// Whether max_p stops at `bottom` and `top`.
    clamp: bool,
}

impl Rule {
    /// What `max_p` becomes at this `average`.
    fn next(&self, max_p: f64, average: f64) -> f64 {
        let (below_top, above_bottom) = if self.ends_too {
            (max_p <= self.top, max_p >= self.bottom)
        } else {
            (max_p < self.top, max_p > self.bottom)
        };
        let next = if average < self.low && above_bottom {
            max_p * self.beta
        } else if average > self.high && below_top {
            (max_p + self.alpha.min(0.25 * max_p)).min(1.0)
        } else {
            return max_p;
        };
        if self.clamp {
            next.clamp(self.bottom, self.top)
        } else {
            next
        }
    }
}

words! {
    /// Over what time the automatic weight forgets.
    enum Forgetting {
        OneSecond = "one_second",
        TenRtts = "ten_rtts",
        TenthSecond = "tenth_second",
    }
}

fn read(values: &Values, link: &Link) -> Result<(EarlyDetection<Linear>, Rule), ParamError> {
    let own = |name: &str| values.real(&OWN, name);
    let packets_per_second = link.rate_bps / (8.0 * values.real(&COMMON, "mean_packet"));
    let auto = |name: &str| values.given(name).unwrap_or(Value::Auto) == Value::Auto;
    let mut filled = values.clone();
    for name in ["min_th", "max_th", "w_q"] {
        // RED's defaults for these are numbers.
        if auto(name) {
            filled.set(name, Value::Auto);
        }
    }
    if auto("min_th") {
        filled.set("min_th", Value::Real((own("target_delay") * packets_per_second / 2.0).max(5.0)));
    }
    if auto("w_q") {
        let exponent = match values.choice(&OWN, "auto_w_q") {
            Forgetting::OneSecond => Some(-1.0),
            Forgetting::TenRtts => None,
            Forgetting::TenthSecond => Some(-10.0),
        };
        if let Some(exponent) = exponent {
            filled.set("w_q", Value::Real(1.0 - libm::exp(exponent / packets_per_second)));
        }
    }
    let set = Settings::read(&filled, &COMMON, link)?;
    let bottom = match (values.given("bottom"), set.dialect()) {
        (Some(Value::Real(given)), _) => given,
        (_, Dialect::Ns2) => (80_000.0 / link.rate_bps).min(0.01),
        (_, Dialect::Ns3) => (0.8 * values.real(&COMMON, "mean_packet") / link.rate_bps).min(0.01),
        (_, Dialect::Paper | Dialect::Linux) => 0.01,
    };
    let (top, band_low, band_high) = (own("top"), own("band_low"), own("band_high"));
    if bottom > top {
        return Err(ParamError::new("bottom", bottom, format!("at most top ({top})")));
    }
    if band_low > band_high {
        return Err(ParamError::new("band_low", band_low, format!("at most band_high ({band_high})")));
    }
    let width = set.max_th - set.min_th;
    let like_ns = set.dialect() != Dialect::Paper;
    let rule = Rule {
        on_timer: !like_ns,
        interval: own("interval"),
        alpha: own("alpha"),
        beta: own("beta"),
        ends_too: !like_ns,
        top,
        bottom,
        low: set.min_th + band_low * width,
        // From above, as in ns-2.
        high: set.max_th - (1.0 - band_high) * width,
        clamp: values.flag(&OWN, "clamp"),
    };
    let curve = line(&set, values, &GENTLE);
    Ok((EarlyDetection::new(set, curve), rule))
}

/// The policy.
pub struct Ared {
    /// RED: average, spacing and drop curve.
    core: EarlyDetection<Linear>,
    /// How max_p moves.
    rule: Rule,
    /// When the timer runs next; `None` where max_p moves at arrivals.
    next: Option<Time>,
    /// When max_p last changed at an arrival, s.
    last_set: f64,
}

impl Ared {
    /// Moves max_p by `average`; true if it changed.
    fn adapt(&mut self, average: f64) -> bool {
        let max_p = self.core.curve().max_p();
        let next = self.rule.next(max_p, average);
        if next != max_p {
            self.core.set_max_p(next);
        }
        next != max_p
    }
}

crate::early_detection_policy!(Ared, {
    #[inline]
    fn on_enqueue(&mut self, packet: &Packet, queue: &QueueView<'_>, cx: &mut Context<'_>) -> Verdict {
        let average = self.core.observe(queue, cx.now);
        let now = cx.now.seconds();
        if !self.rule.on_timer && now > self.last_set + self.rule.interval && self.adapt(average) {
            self.last_set = now;
        }
        self.core.decide(average, packet, queue, cx)
    }

    fn next_timer(&self) -> Option<Time> {
        self.next
    }

    fn on_timer(&mut self, queue: &QueueView<'_>, cx: &mut Context<'_>) {
        let average = self.core.average_seen_at(queue, cx.now);
        self.adapt(average);
        self.next = self.next.map(|due| due + self.rule.interval);
    }

    fn gauges(&self, out: &mut dyn FnMut(&'static str, f64)) {
        self.core.gauges(out);
        out("max_p", self.core.curve().max_p());
    }
});

#[cfg(test)]
mod tests {
    use super::*;
    use crate::policy::{Limit, Policy};
    use crate::random::Generator;

    const LINK: Link = Link { rate_bps: 10e6, delay_s: 0.02 };

    /// A policy with weight 1, so that the average is the queue found: thresholds 10 and 20, band 14..16.
    struct Bench {
        policy: Box<dyn Policy>,
        random: Generator,
    }

    impl Bench {
        fn new(pairs: &[(&'static str, Value)]) -> Bench {
            let mut values =
                Values::of(&[("min_th", Value::Real(10.0)), ("max_th", Value::Real(20.0)), ("w_q", Value::Real(1.0))]);
            for &(name, value) in pairs {
                values.set(name, value);
            }
            let Ok(Built::Policy(policy)) = (SPEC.build)(&values, &LINK, Limit::Packets(100)) else { unreachable!() };
            Bench { policy, random: Generator::stream(1, "ared") }
        }

        fn call(&mut self, packets: u64, now: f64, timer: bool) -> f64 {
            let queue = QueueView { packets, bytes: packets * 500, idle_since: None, contents: None };
            let (mut victims, now, random) = (Vec::new(), Time::from_seconds(now), &mut self.random);
            let mut cx = Context { now, ecn: false, has_room: true, random, victims: &mut victims };
            if timer {
                self.policy.on_timer(&queue, &mut cx);
            } else {
                self.policy.on_enqueue(&Packet::new(1, 500), &queue, &mut cx);
            }
            self.gauge("max_p")
        }

        /// max_p after an arrival that finds `packets`.
        fn arrive(&mut self, packets: u64, now: f64) -> f64 {
            self.call(packets, now, false)
        }

        fn gauge(&self, wanted: &str) -> f64 {
            let mut found = f64::NAN;
            self.policy.gauges(&mut |name, value| {
                if name == wanted {
                    found = value;
                }
            });
            found
        }

        /// max_p after each of `n` changes, `packets` waiting: by the timer, or by one arrival a second.
        fn steps(&mut self, packets: u64, n: usize) -> Vec<f64> {
            let timer = self.policy.next_timer().is_some();
            if timer {
                self.arrive(packets, 0.0);
            }
            (1..=n).map(|i| self.call(packets, i as f64, timer)).collect()
        }
    }

    const NS2: (&str, Value) = ("dialect", Value::Choice("ns2"));
    const NS3: (&str, Value) = ("dialect", Value::Choice("ns3"));
    const PAPER: (&str, Value) = ("dialect", Value::Choice("paper"));

    fn start(max_p: f64) -> (&'static str, Value) {
        ("max_p", Value::Real(max_p))
    }

    fn near(found: &[f64], want: &[f64]) {
        assert_eq!(found.len(), want.len());
        for (found, want) in found.iter().zip(want) {
            assert!((found - want).abs() < 1e-6, "{found}, not {want}");
        }
    }

    #[test]
    fn max_p_rises_by_a_quarter_and_by_alpha_at_most() {
        for dialect in [PAPER, NS2, NS3] {
            near(
                &Bench::new(&[dialect, start(0.02)]).steps(30, 5),
                &[0.025, 0.03125, 0.039_062_5, 0.048_828_125, 0.058_828_125],
            );
            near(&Bench::new(&[dialect, start(0.1)]).steps(30, 2), &[0.11, 0.12]);
            near(&Bench::new(&[dialect, start(0.4999)]).steps(30, 3), &[0.5099, 0.5099, 0.5099]);
        }
    }

    #[test]
    fn max_p_falls_22_times_and_stays_under_the_bottom() {
        for dialect in [PAPER, NS2, NS3] {
            let bottom = ("bottom", Value::Real(0.01));
            let max_p = Bench::new(&[dialect, bottom, start(0.1)]).steps(0, 30);
            assert!((max_p[21] - 0.009_847_7).abs() < 1e-7, "{}", max_p[21]);
            assert!(max_p[20] > 0.01 && max_p[22..].iter().all(|p| *p == max_p[21]));
            let clamped = Bench::new(&[dialect, bottom, start(0.1), ("clamp", Value::Flag(true))]).steps(0, 30);
            assert_eq!(clamped[29], 0.01);
        }
    }

    /// max_p equal to top or bottom may change in the paper's dialect, but not in ns-2's and ns-3's.
    #[test]
    fn ends_of_the_range_by_dialect() {
        let bottom = ("bottom", Value::Real(0.01));
        for (dialect, up, down) in [(PAPER, 0.51, 0.009), (NS2, 0.5, 0.01), (NS3, 0.5, 0.01)] {
            near(&Bench::new(&[dialect, start(0.5)]).steps(30, 1), &[up]);
            near(&Bench::new(&[dialect, bottom, start(0.01)]).steps(0, 1), &[down]);
        }
    }

    #[test]
    fn bottom_by_dialect() {
        let lowest = |dialect, rate_bps| {
            let values = Values::of(&[("dialect", Value::Choice(dialect))]);
            read(&values, &Link { rate_bps, delay_s: 0.01 }).unwrap().1.bottom
        };
        assert_eq!((lowest("paper", 10e6), lowest("paper", 1e9)), (0.01, 0.01));
        assert_eq!((lowest("ns2", 1.5e6), lowest("ns2", 10e6), lowest("ns2", 1e9)), (0.01, 0.008, 0.000_08));
        assert_eq!((lowest("ns3", 10e3), lowest("ns3", 10e6)), (0.01, 0.000_04));
    }

    /// No change at 14 and 16 packets, the ends of the band; a change just outside it.
    #[test]
    fn band_is_open() {
        for dialect in [PAPER, NS2, NS3] {
            for (packets, want) in [(13, 0.09), (14, 0.1), (15, 0.1), (16, 0.1), (17, 0.11)] {
                near(&Bench::new(&[dialect, start(0.1)]).steps(packets, 1), &[want]);
            }
            let wide = &[dialect, start(0.1), ("band_low", Value::Real(0.2)), ("band_high", Value::Real(0.8))];
            for (packets, want) in [(11, 0.09), (12, 0.1), (18, 0.1), (19, 0.11)] {
                near(&Bench::new(wide).steps(packets, 1), &[want]);
            }
        }
    }

    /// An interval must have passed since the last change, strictly; time in the band does not count against the next.
    #[test]
    fn ns_waits_an_interval_from_the_last_change() {
        let mut bench = Bench::new(&[NS2, start(0.1), ("interval", Value::Real(0.25))]);
        assert_eq!(bench.policy.next_timer(), None);
        near(&[bench.arrive(30, 0.25), bench.arrive(30, 0.26), bench.arrive(30, 0.5)], &[0.1, 0.11, 0.11]);
        near(&[bench.arrive(15, 0.52), bench.arrive(15, 3.0), bench.arrive(30, 3.001)], &[0.11, 0.11, 0.12]);
        near(&[bench.arrive(30, 3.25), bench.arrive(30, 3.252)], &[0.12, 0.13]);
    }

    #[test]
    fn paper_has_a_timer_every_interval() {
        let mut bench = Bench::new(&[PAPER, start(0.1)]);
        near(&[bench.arrive(30, 0.1), bench.arrive(30, 0.49)], &[0.1, 0.1]);
        assert_eq!(bench.policy.next_timer(), Some(Time::from_seconds(0.5)));
        near(&[bench.call(30, 0.5, true)], &[0.11]);
        assert_eq!(bench.policy.next_timer(), Some(Time::from_seconds(1.0)));
        near(&[bench.call(15, 1.0, true)], &[0.12]);
        // An arrival in the band comes before the arrival that changes max_p.
        near(&[bench.arrive(15, 1.2), bench.call(15, 1.5, true)], &[0.12, 0.12]);
    }

    /// On an idle link the timer sees the average decayed by the idle time, but does not store it.
    #[test]
    fn idle_link_lets_max_p_fall() {
        let mut bench = Bench::new(&[PAPER, start(0.1), ("w_q", Value::Real(0.01))]);
        while bench.arrive(40, 0.0) > 0.0 && bench.policy.average().unwrap() < 30.0 {}
        let idle = QueueView { packets: 0, bytes: 0, idle_since: Some(Time::ZERO), contents: None };
        let mut victims = Vec::new();
        let before = bench.policy.average();
        for (now, want) in [(0.5, 0.09), (1.0, 0.081)] {
            let (now, random) = (Time::from_seconds(now), &mut bench.random);
            let mut cx = Context { now, ecn: false, has_room: true, random, victims: &mut victims };
            bench.policy.on_timer(&idle, &mut cx);
            near(&[bench.gauge("max_p")], &[want]);
        }
        assert_eq!(bench.policy.average(), before);
    }

    /// A new max_p changes p_b at once between the thresholds, above max_th only if the gentle line follows.
    #[test]
    fn changed_max_p_changes_p_b() {
        let p_b = |pairs: &[(&'static str, Value)], packets| {
            let mut bench = Bench::new(&[pairs, &[start(0.4)]].concat());
            bench.steps(0, 3);
            bench.arrive(packets, 4.2);
            bench.arrive(packets, 4.3);
            (bench.gauge("max_p"), bench.gauge("p_b"))
        };
        for dialect in [PAPER, NS2] {
            let (max_p, p_b) = p_b(&[dialect], 15);
            assert!(max_p < 0.3 && (p_b - max_p / 2.0).abs() < 1e-12, "{max_p} {p_b}");
        }
        let gentle = |max_p: f64| max_p + (1.0 - max_p) * 0.5;
        let (max_p, followed) = p_b(&[PAPER], 30);
        near(&[max_p, followed], &[0.4 * 0.9 * 0.9 * 0.9, gentle(max_p)]);
        near(&[p_b(&[NS2], 30).1, p_b(&[NS3], 30).1], &[gentle(0.4), gentle(0.4)]);
        let (max_p, followed) = p_b(&[NS2, ("gentle_tracks_maxp", Value::Flag(true))], 30);
        near(&[followed], &[gentle(max_p)]);
        near(&[p_b(&[PAPER, ("gentle_tracks_maxp", Value::Flag(false))], 30).1], &[gentle(0.4)]);
    }

    /// 100 Mbit/s are 25,000 packets of 500 B a second: min_th is half of the 125 in 5 ms, or of the 250 in 10 ms.
    #[test]
    fn automatic_settings() {
        let link = Link { rate_bps: 100e6, delay_s: 0.01 };
        let read_with = |pairs: &[(&'static str, Value)]| {
            let values = Values::of(pairs);
            let core = read(&values, &link).unwrap().0;
            (core.settings().min_th, core.settings().max_th)
        };
        assert_eq!(read_with(&[]), (62.5, 187.5));
        assert_eq!(read_with(&[("target_delay", Value::Real(0.01))]), (125.0, 375.0));
        assert_eq!(read_with(&[("target_delay", Value::Real(0.0))]), (5.0, 15.0));
        assert_eq!(read_with(&[("unit", Value::Choice("byte"))]), (31_250.0, 93_750.0));
        assert_eq!(read_with(&[("max_th", Value::Real(100.0))]), (62.5, 100.0));
        // The average after one sample of 100 packets gives the weight.
        let weight = |rule: &'static str| {
            let values = Values::of(&[("auto_w_q", Value::Choice(rule)), ("dialect", Value::Choice("ns2"))]);
            let mut core = read(&values, &link).unwrap().0;
            core.observe(&QueueView { packets: 100, bytes: 0, idle_since: None, contents: None }, Time::ZERO) / 100.0
        };
        near(&[weight("one_second")], &[1.0 - (-1.0 / 25_000.0_f64).exp()]);
        near(&[weight("tenth_second")], &[1.0 - (-10.0 / 25_000.0_f64).exp()]);
        assert!((weight("ten_rtts") / 4e-5 - 1.0).abs() < 1e-4, "a round trip of 100 ms: 25,000 packets in ten");
    }

    #[test]
    fn values_that_do_not_fit_are_refused() {
        let refused = |pairs: &[(&'static str, Value)]| {
            let values = Values::of(pairs);
            read(&values, &LINK).err().map(|error| error.name)
        };
        assert_eq!(refused(&[("bottom", Value::Real(0.6))]), Some("bottom"));
        assert_eq!(refused(&[("top", Value::Real(0.001))]), Some("bottom"));
        assert_eq!(refused(&[("band_low", Value::Real(0.7))]), Some("band_low"));
        assert_eq!(refused(&[("band_low", Value::Real(0.6))]), None);
    }
}
