//! # Linux adaptive RED
//!
//! ## What it does
//! The RED of Linux (`sch_red`) with its flag `adaptive`: a strict timer adapts `max_p` every 0.5 s from the start, by
//! the average, idle decay included. With `d = (max_th - min_th)/5`:
//!
//! | average | max_p | becomes |
//! |---|---|---|
//! | `avg > min_th + 3 d` | at most 50 % | `max_p + min(1 %, max_p/4)` |
//! | `avg < min_th + 2 d` | at least 1 % | `max_p/10*9` in integers |
//!
//! All lengths are bytes. Between the thresholds a number R is drawn once for each drop, uniform on
//! `[0, (max_th - min_th)/max_p)`; a packet is hit when `(avg - min_th) count >= R`. From `max_th` on every packet is
//! hit. A hit is a mark where it can be, else a drop.
//!
//! ## Source
//! Linux `net/sched/sch_red.c` and `include/net/red.h` (`red_adaptative_algo`, since 3.3, 2012) (Linux); iproute2
//! `tc/q_red.c` and `tc/tc_red.c` for what tc works out before (Linux). The idea is ARED's.
//!
//! ## Differences
//! 1. Against ARED's paper: the band, 2/5 to 3/5 of the way, is the same; the ends are tested with "at most" and "at
//!    least"; nothing is cut off afterwards, so max_p can reach 51 % and 0.9 %.
//! 2. max_p is a 32-bit fraction, so that /10*9 rounds as in the kernel. The rest is in floating point; the kernel also
//!    rounds the quotient max_p/(max_th - min_th), thresholds in bytes, so a decision differs with a probability of the
//!    order of that quotient.
//! 3. A change of max_p changes the range of the next R; the R that is already drawn stays, as in the kernel.
//! 4. tc wants thresholds in bytes and derives its defaults from the limit (max_th = limit/4, min_th = max_th/3). Here
//!    they are queue lengths, packets of `mean_packet` or bytes, and the defaults are those of the example in
//!    tc-red(8).
//! 5. tc takes 10 Mbit/s for the idle decay unless `bandwidth` says otherwise; `"auto"` here is the rate of the link.
//! 6. The idle decay is the kernel's, 15.6 times slower than tc means it to be, with iproute2 6.15's table; `tc =
//!    "iproute2-6.14"` is the table of older versions: see `red`, item 6.
//! 7. `nodrop` and `harddrop` need ECN in tc. Here they have no effect without ECN.
//!
//! ## Example
//! ```
//! use earlydrop_aqm::{catalogue::{self, Built}, gate::Gate, params::Values, policy::Limit, random::Generator};
//! use earlydrop_aqm::{discipline::Fifo, Discipline, Packet, Time};
//!
//! let link = catalogue::Link { rate_bps: 10e6, delay_s: 0.02 };
//! let limit = Limit::Bytes(400_000);
//! let Built::Policy(red) = (catalogue::find("linux_ared").unwrap().build)(&Values::new(), &link, limit).unwrap()
//!     else { unreachable!() };
//! let mut queue = Fifo::new(Gate::new(red, limit, true, Generator::stream(1, "queue")));
//! assert_eq!(queue.next_timer(), Some(Time::from_seconds(0.5)));
//! queue.on_timer(Time::from_seconds(0.5));
//! // The average is below the band: 2 % becomes 1.8 %.
//! queue.gauges(&mut |name, value| if name == "max_p" { assert!((value - 0.018).abs() < 1e-8) });
//! ```

use crate::catalogue::{AqmSpec, Built, Link};
use crate::default_limit::DefaultLimit;
use crate::early_detection::linux;
use crate::early_detection::{params, Defaults, EarlyDetection, Settings, SHARED};
use crate::params::{Kind, Param, ParamError, Unit, Value, Values};
use crate::parts::curve::{probability, Linear};
use crate::policy::{Context, QueueView, Verdict};
use crate::{Packet, Time};

/// The parameters that early detection needs; those that Linux lacks keep their defaults.
const INNER: [Param; SHARED] = params(Defaults { min_th: 30.0, max_th: 90.0, max_p: 0.02, source: "tc-red(8)" });

const fn length(name: &'static str, symbol: &'static str, open_low: bool, default: f64, doc: &'static str) -> Param {
    let kind = Kind::Real { low: 0.0, high: f64::INFINITY, open_low, open_high: false, auto: false };
    let source = "tc-red(8), the example";
    Param::real(name, Unit::QueueLength, kind, default).symbol(symbol).says(source, doc)
}

const fn flag(name: &'static str, doc: &'static str) -> Param {
    Param::flag(name, false).says("tc-red(8)", doc)
}

const OWN: [Param; 8] = [
    length("min_th", "min_{th}", false, 30.0, "Average queue below which nothing is hit (tc's min)."),
    length("max_th", "max_{th}", true, 90.0, "Average queue from which every packet is hit (tc's max)."),
    Param::real("max_p", Unit::None, Kind::above(0.0, 1.0), 0.02)
        .symbol("max_p")
        .says("iproute2", "Probability of a hit when the average reaches max_th, at the start (tc's probability)."),
    Param::real("mean_packet", Unit::Bytes, Kind::real(1.0, 65535.0), 1000.0).symbol("L_m").says(
        "tc-red(8), the example",
        "Mean packet size (tc's avpkt): sets weight and idle decay, and turns thresholds from packets into bytes.",
    ),
    Param::new("burst", Unit::None, Kind::above(0.0, 1e6).or_auto(), Value::Auto).says(
        "iproute2",
        "Packets of a burst that an idle queue lets pass: sets the weight; \"auto\" is a third of 2 min_th + max_th.",
    ),
    Param::new("bandwidth", Unit::Rate, Kind::real(1.0, 1e15).or_auto(), Value::Auto).says(
        "tc-red(8) asks for the link's; tc takes 10 Mbit/s",
        "Rate that the idle decay counts with; \"auto\" is the rate of the link.",
    ),
    flag("harddrop", "From max_th on packets are dropped, not marked."),
    flag("nodrop", "With ECN, packets that cannot be marked are let pass instead of dropped."),
];

/// The declaration.
pub const SPEC: AqmSpec = AqmSpec {
    summary: "RED as Linux has it, with max_p adapted every 0.5 s (tc's adaptive)",
    source: "Linux net/sched/sch_red.c, include/net/red.h (red_adaptative_algo); iproute2 tc/tc_red.c",
    params: &[&OWN, &linux::TC],
    linux: true,
    limit: DefaultLimit::RED,
    check: &|values, link| read(values, link).map(|_| ()),
    build: &|values, link, _| Ok(Built::Policy(Box::new(read(values, link)?))),
    curve: Some(&|values, link, average| {
        read(values, link).map_or(f64::NAN, |red| probability(red.core.curve(), red.core.settings().in_unit(average)))
    }),
    ..AqmSpec::named("linux_ared", "Linux adaptive RED", "adaptive RED", 2012)
};

/// The number 1 as the kernel writes probabilities.
const ONE: f64 = 4_294_967_296.0;
/// `RED_ONE_PERCENT`: 2^32/100, rounded to the nearest.
const ONE_PERCENT: u32 = 42_949_673;
const INTERVAL: f64 = 0.5;

fn read(values: &Values, link: &Link) -> Result<LinuxAred, ParamError> {
    let mut inner = values.clone();
    let mean_packet = values.real(&OWN, "mean_packet");
    let bandwidth = values.real(&OWN, "bandwidth");
    let link = Link { rate_bps: if bandwidth.is_nan() { link.rate_bps } else { bandwidth }, ..*link };
    for name in ["min_th", "max_th", "max_p", "mean_packet"] {
        let own = OWN.iter().find(|param| param.name == name).expect("declared");
        inner.set(own.name, values.get(own));
    }
    inner
        .set("dialect", Value::Choice("linux"))
        .set("ecn_over_max", Value::Choice(if values.flag(&OWN, "harddrop") { "drop" } else { "mark" }))
        .set("w_q", Value::Auto);
    let burst = values.real(&OWN, "burst");
    if !burst.is_nan() {
        let min_th = Settings::read(&inner, &INNER, &link)?.min_th;
        let wlog = linux::Average::wlog_for_burst(min_th, burst, mean_packet)
            .ok_or_else(|| ParamError::new("burst", burst, "more: no weight lets so few packets reach min_th"))?;
        inner.set("w_q", Value::Real(libm::exp2(-f64::from(wlog))));
    }
    let mut set = Settings::read(&inner, &INNER, &link).map_err(|error| match error.name {
        "w_q" => {
            ParamError::new("burst", "auto", "a number: no weight lets tc's own choice pass with these thresholds")
        }
        _ => error,
    })?;
    // An integer from the start: tc multiplies by 2^32 and cuts off.
    let max_p = ((set.max_p * ONE) as u32).max(1);
    set.max_p = f64::from(max_p) / ONE;
    let delta = ((set.max_th - set.min_th) / 5.0).floor();
    let core = EarlyDetection::new(set, Linear::new(set.min_th, set.max_th, set.max_p, false));
    Ok(LinuxAred {
        core,
        max_p,
        target_min: set.min_th + 2.0 * delta,
        target_max: set.min_th + 3.0 * delta,
        nodrop: values.flag(&OWN, "nodrop"),
        next: Time::ZERO + INTERVAL,
    })
}

/// The policy.
pub struct LinuxAred {
    /// RED: average, spacing and drop curve.
    core: EarlyDetection<Linear>,
    /// max_p in units of 2^-32.
    max_p: u32,
    /// target_min: average below which max_p falls, bytes.
    target_min: f64,
    /// target_max: average above which max_p rises, bytes.
    target_max: f64,
    /// TC_RED_NODROP: packets that cannot be marked pass.
    nodrop: bool,
    /// When max_p is adapted next.
    next: Time,
}

crate::early_detection_policy!(LinuxAred, {
    #[inline]
    fn on_enqueue(&mut self, packet: &Packet, queue: &QueueView<'_>, cx: &mut Context<'_>) -> Verdict {
        match self.core.on_enqueue(packet, queue, cx) {
            Verdict::Signal(_) if self.nodrop && cx.ecn => Verdict::Mark,
            verdict => verdict,
        }
    }

    fn next_timer(&self) -> Option<Time> {
        Some(self.next)
    }

    fn on_timer(&mut self, queue: &QueueView<'_>, cx: &mut Context<'_>) {
        let average = self.core.average_seen_at(queue, cx.now);
        if average > self.target_max && self.max_p <= 50 * ONE_PERCENT {
            self.max_p += ONE_PERCENT.min(self.max_p / 4);
        } else if average < self.target_min && self.max_p >= ONE_PERCENT {
            self.max_p = self.max_p / 10 * 9;
        }
        self.core.set_max_p(f64::from(self.max_p) / ONE);
        self.next = self.next + INTERVAL;
    }

    fn gauges(&self, out: &mut dyn FnMut(&'static str, f64)) {
        self.core.gauges(out);
        out("max_p", self.core.curve().max_p());
    }
});

#[cfg(test)]
mod tests {
    use super::*;
    use crate::policy::Policy as _;
    use crate::prelude::*;

    const LINK: Link = Link { rate_bps: 10e6, delay_s: 0.02 };

    fn policy(pairs: &[(&'static str, Value)]) -> LinuxAred {
        let values = Values::of(pairs);
        read(&values, &LINK).unwrap()
    }

    /// A policy that has found `bytes` waiting until its average moved no more.
    fn settled(pairs: &[(&'static str, Value)], bytes: u64) -> LinuxAred {
        let mut policy = policy(pairs);
        let mut random = Generator::custom(|| 1.0);
        for _ in 0..1000 {
            arrive(&mut policy, bytes, &mut random, false, Ecn::NotEct);
        }
        policy
    }

    fn arrive(policy: &mut LinuxAred, bytes: u64, random: &mut Generator, ecn: bool, marking: Ecn) -> Verdict {
        let queue = QueueView { packets: bytes / 1000, bytes, idle_since: None, contents: None };
        let mut victims = Vec::new();
        let mut cx = Context { now: Time::ZERO, ecn, has_room: true, random, victims: &mut victims };
        policy.on_enqueue(&Packet { ecn: marking, ..Packet::new(1, 1000) }, &queue, &mut cx)
    }

    fn tick(policy: &mut LinuxAred, idle_since: Option<f64>, now: f64) -> u32 {
        let queue = QueueView { packets: 0, bytes: 0, idle_since: idle_since.map(Time::from_seconds), contents: None };
        let (mut victims, random) = (Vec::new(), &mut Generator::custom(|| 1.0));
        let mut cx =
            Context { now: Time::from_seconds(now), ecn: false, has_room: true, random, victims: &mut victims };
        policy.on_timer(&queue, &mut cx);
        policy.max_p
    }

    fn percent(max_p: u32) -> f64 {
        f64::from(max_p) / ONE * 100.0
    }

    /// min 30000, max 90000, avpkt 1000 give burst 50 and Wlog 5.
    #[test]
    fn set_up_is_that_of_tc() {
        let weight = |pairs| {
            let mut policy = policy(pairs);
            arrive(&mut policy, 32_000, &mut Generator::custom(|| 1.0), false, Ecn::NotEct);
            policy.core.average() * 1000.0 / 32_000.0
        };
        assert_eq!(weight(&[]), 1.0 / 32.0);
        assert_eq!(weight(&[("burst", Value::Real(50.0))]), 1.0 / 32.0);
        // tc wants (1 - (1 - w)^60)/w >= 60 + 1 - 30 = 31: it is 27.2 at w = 1/32, 39.1 at 1/64. For burst 200: 171.
        assert_eq!(weight(&[("burst", Value::Real(60.0))]), 1.0 / 64.0);
        assert_eq!(weight(&[("burst", Value::Real(200.0))]), 1.0 / 1024.0);
        let error = |burst| {
            let values = Values::of(&[("burst", Value::Real(burst))]);
            read(&values, &LINK).err().map(|error| error.name)
        };
        assert_eq!((error(29.9), error(31.0)), (Some("burst"), None));
        assert_eq!((policy(&[]).target_min, policy(&[]).target_max), (54_000.0, 66_000.0));
    }

    #[test]
    fn max_p_rises_and_falls_in_the_kernels_integers() {
        let rising = |max_p: f64, n: usize| {
            let mut policy = settled(&[("max_p", Value::Real(max_p))], 80_000);
            (0..n).map(|i| tick(&mut policy, None, i as f64)).collect::<Vec<_>>()
        };
        let found: Vec<f64> = rising(0.02, 5).into_iter().map(percent).collect();
        for (found, want) in found.iter().zip([2.5, 3.125, 3.906_25, 4.882_812_5, 5.882_812_5]) {
            assert!((found - want).abs() < 1e-6, "{found}, not {want}");
        }
        // From just under 50 % max_p rises by one more step, and then stays.
        let top = rising(0.4999, 3);
        assert!((percent(top[0]) - 50.99).abs() < 1e-6 && top[2] == top[0]);
        // From 10 % max_p falls 22 times by /10*9, and stays at 0.985 %.
        let mut policy = settled(&[("max_p", Value::Real(0.1))], 0);
        let mut by_hand = (0.1 * ONE) as u32;
        for i in 0..30 {
            let found = tick(&mut policy, None, f64::from(i));
            if i < 22 {
                by_hand = by_hand / 10 * 9;
            }
            assert_eq!(found, by_hand, "step {i}");
        }
        assert!((percent(by_hand) - 0.984_77).abs() < 1e-5);
    }

    /// Averages are compared as whole bytes; at 54000 and 66000 themselves max_p stays.
    #[test]
    fn band_is_two_to_three_fifths() {
        let moved = |bytes| percent(tick(&mut settled(&[("max_p", Value::Real(0.1))], bytes), None, 0.5));
        for (bytes, want) in [(53_999, 9.0), (54_000, 10.0), (66_000, 10.0), (66_001, 11.0)] {
            assert!((moved(bytes) - want).abs() < 1e-5, "{bytes}: {}", moved(bytes));
        }
    }

    #[test]
    fn ends_of_the_range_are_in_it() {
        let mut policy = settled(&[], 80_000);
        policy.max_p = 50 * ONE_PERCENT;
        assert_eq!(tick(&mut policy, None, 0.5), 51 * ONE_PERCENT);
        let mut policy = settled(&[], 80_000);
        policy.max_p = 50 * ONE_PERCENT + 1;
        assert_eq!(tick(&mut policy, None, 0.5), 50 * ONE_PERCENT + 1);
        let mut policy = settled(&[], 0);
        policy.max_p = ONE_PERCENT;
        assert_eq!(tick(&mut policy, None, 0.5), ONE_PERCENT / 10 * 9);
        policy.max_p = ONE_PERCENT - 1;
        assert_eq!(tick(&mut policy, None, 1.0), ONE_PERCENT - 1);
    }

    #[test]
    fn timer_is_strict() {
        let mut policy = policy(&[]);
        let due: Vec<f64> = (0..4)
            .map(|_| {
                let due = policy.next_timer().unwrap().seconds();
                tick(&mut policy, None, due);
                due
            })
            .collect();
        assert_eq!(due, [0.5, 1.0, 1.5, 2.0]);
    }

    /// The timer sees the average decayed by idle time, but does not store it. A dropped arrival ends an idle time.
    #[test]
    fn idle_time_counts_since_the_last_arrival() {
        let mut policy = settled(&[("max_p", Value::Real(0.1))], 80_000);
        let before = policy.average();
        assert!(percent(tick(&mut policy, Some(0.0), 1e-4)) > 10.9, "a tenth of a millisecond is nothing");
        assert!(percent(tick(&mut policy, Some(0.0), 20.0)) < 10.0, "twenty seconds are");
        assert_eq!(policy.average(), before);

        let (tight, random) = (Limit::Bytes(0), Generator::custom(|| 1.0));
        let mut queue =
            Fifo::new(Gate::new(Box::new(settled(&[("max_p", Value::Real(0.1))], 80_000)), tight, false, random));
        let at = Time::from_seconds;
        queue.dequeue(at(0.0), &mut |_, _| {});
        // The arrival finds no room, and the link stays idle; its decay is stored. One decay leaves 70.2 kB (1 -
        // 4000/2^15 of 80), a second would leave 61.7, inside the band.
        assert!(queue.enqueue(Packet::new(1, 1000), at(0.004), &mut |_, _| {}).is_none());
        queue.on_timer(at(0.004));
        let mut max_p = 0.0;
        queue.gauges(&mut |name, value| {
            if name == "max_p" {
                max_p = value;
            }
        });
        assert!((max_p - 0.11).abs() < 1e-8, "{max_p}");
    }

    /// R is drawn on [0, (max_th - min_th)/max_p) and stays when max_p changes; the next R has the new range.
    #[test]
    fn number_already_drawn_stays() {
        // At 80000 B avg - min_th is 50000. R = 0.49 * 60000/0.1 = 294000: hit at count 6.
        let hit_at = |policy: &mut LinuxAred| {
            let mut random = Generator::custom(|| 0.49);
            (1..).find(|_| arrive(policy, 80_000, &mut random, false, Ecn::NotEct) != Verdict::Pass).unwrap()
        };
        let fresh = |max_p: f64| {
            let mut policy = settled(&[("max_p", Value::Real(max_p))], 80_000);
            // Below min_th the count starts again: the next packet between the thresholds draws R.
            for bytes in [0; 200].into_iter().chain([80_000; 200]) {
                arrive(&mut policy, bytes, &mut Generator::custom(|| 0.49), false, Ecn::NotEct);
            }
            hit_at(&mut policy);
            policy
        };
        assert_eq!(hit_at(&mut fresh(0.1)), 6);
        assert_eq!(hit_at(&mut fresh(0.2)), 3);
        let mut policy = fresh(0.1);
        for i in 0..10 {
            tick(&mut policy, None, f64::from(i));
        }
        assert!((percent(policy.max_p) - 20.0).abs() < 1e-5);
        assert_eq!(hit_at(&mut policy), 6, "the number that was drawn at 10 %");
        assert_eq!(hit_at(&mut policy), 3, "the first at 20 %");
    }

    #[test]
    fn hits_mark_or_drop_by_flag() {
        let verdict = |pairs: &[(&'static str, Value)], bytes, ecn| {
            let mut policy = settled(pairs, bytes);
            // The first random number is small, so that a packet between the thresholds is hit soon.
            let mut random = Generator::custom(|| 0.0);
            for _ in 0..2000 {
                let verdict = arrive(&mut policy, bytes, &mut random, ecn, Ecn::NotEct);
                if verdict != Verdict::Pass {
                    return verdict;
                }
            }
            Verdict::Pass
        };
        let (harddrop, nodrop) = (("harddrop", Value::Flag(true)), ("nodrop", Value::Flag(true)));
        let (early, forced) = (Verdict::Signal(Reason::Early), Verdict::Signal(Reason::Forced));
        for (bytes, hit) in [(29_999, Verdict::Pass), (60_000, early), (89_999, early), (90_000, forced)] {
            assert_eq!(verdict(&[], bytes, true), hit);
            assert_eq!(verdict(&[], bytes, false), hit);
            // Without ECN, nodrop has no effect.
            assert_eq!(verdict(&[nodrop], bytes, false), hit);
            let pass = if hit == Verdict::Pass { hit } else { Verdict::Mark };
            assert_eq!(verdict(&[nodrop], bytes, true), pass);
        }
        assert_eq!(verdict(&[harddrop], 60_000, true), early);
        assert_eq!(verdict(&[harddrop], 90_000, true), Verdict::Drop(Reason::Forced));
        assert_eq!(verdict(&[harddrop, nodrop], 90_000, true), Verdict::Drop(Reason::Forced));
        assert_eq!(verdict(&[harddrop, nodrop], 60_000, true), Verdict::Mark);
    }
}
