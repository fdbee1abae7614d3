//! # PIE
//!
//! ## What it does
//! Drops arrivals with a probability that a timer moves, so that the queueing delay comes to `qdelay_ref`. Every
//! `tupdate`:
//!
//! | | |
//! |---|---|
//! | change | `alpha (qdelay - qdelay_ref) + beta (qdelay - qdelay_old)`, divided by 2048, 512, 128, 32, 8, 2 while `p` is below 1e-6, 1e-5, ..., 0.1 |
//! | at most | 0.02 per update, from `p = 0.1` on |
//! | two updates without delay | `p` is multiplied by 0.98 |
//!
//! `qdelay` is the wait of the packet that left last. An arrival is dropped with probability `p`, except while a burst
//! allowance of 150 ms lasts, while the delay is below half of `qdelay_ref` and `p < 0.2`, or while only two packets wait.
//! While `p < 0.1`, packets that can be marked are marked instead. `derandomise` spaces drops: none comes until the
//! probabilities since the last drop sum to 0.85, and one is certain at 8.5.
//!
//! ## Source
//! R. Pan, P. Natarajan, F. Baker, G. White, "Proportional Integral Controller Enhanced (PIE)", RFC 8033, 2017; Linux
//! `net/sched/sch_pie.c`; ns-3 `pie-queue-disc.cc`; G. White, R. Pan, DOCSIS-PIE, RFC 8034, 2017.
//!
//! ## Differences
//! 1. `dialect` chooses among rules on which the sources differ:
//!
//!    | | rfc | linux | ns3 | docsis |
//!    |---|---|---|---|---|
//!    | nothing is dropped while | `<= 2 mean_packet` bytes wait | `< 2 mean_packet` | `<= 2` packets, or bytes if the limit is in bytes | as rfc |
//!    | `mean_packet`, auto | 1000 B | 1514 B | 1000 B | 1024 B |
//!    | the delay that must be low | `qdelay_old` | the last sample | `qdelay_old` | `qdelay_old` |
//!    | burst allowance at first | 150 ms | 150 ms | 0; set by the first arrival, which is still decided by PIE | 0; set by the first drop after quiet |
//!    | it shrinks with | the timer | the time between departures | the timer, which holds `p` at 0 meanwhile | the timer, which holds `p` at 0 meanwhile |
//!    | it is renewed | at `p = 0` and low delay, by an arrival | as rfc, by the timer | as rfc for 1.5 s, by the timer | as ns3, after 1 s (`burst_reset`), when it sleeps (`activity`) |
//!    | marked while | `p < 0.1` | `p <= 0.1` | `p < 0.1` | `p < 0.1` |
//!    | `derandomise`, `fast_growth`, auto | off, off | on, on | off, off | on, on from 200 ms |
//!    | two updates without delay | `0.98 p` | `p - p/64`, not while packets wait | `0.98 p` | `0.98 p` |
//!    | sum of `derandomise` restarts at | drops, random marks | drops, random marks | drops | drops, random marks |
//!    | `byte_scaling` by | `size/mean_packet` | as rfc, to `mean_packet` bytes | `size/mean_packet`, auto with a limit in bytes | `size/mean_packet`, to 0.85, and `p` to 13.6 |
//!    | a hit, with the random number U | `U < p` | `U < p` | `U <= p` | `U <= p` |
//!    | first update | after `tupdate` (a reconstruction) | 0.5 s | 0 | after `tupdate` |
//!    | rate of departures | time of 16 KiB, weight 1/4 | rate, weight 1/8 | rate, weight 1/2 | the link's rate |
//!
//! 2. RFC 8033 measures the rate of departures in section 5.2 and allows timestamps. Here timestamps are the default,
//!    as in Linux and ns-3, with their rule that a departure that empties the queue counts as no delay
//!    (`zero_when_empty`): without it the last delay would stand on an idle link and `p` would never fall.
//! 3. The cap on an update is optional in RFC 8033 (5.5). Here it is on, as in Linux and ns-3. Derandomisation, in
//!    appendix B only, is off here unless `linux`. In appendix B `p` decays below half of `qdelay_ref`:
//!    `decay_when = "below_half"`.
//! 4. If the buffer is full, the arrival is dropped before anything is drawn or counted, as in all sources.
//! 5. The sums of `derandomise` are compared with 0.85 and 8.5 less 1e-9, because sums of binary fractions fall short:
//!    with `p = 0.02` the 425th packet is certain, as arithmetic says, and not the 426th.
//! 6. Linux computes with integers (56 bits of probability, ticks of 64 ns). Here doubles, equal to about 1e-9.
//! 7. The packet that starts a measurement of the rate is counted in it, as in Linux and ns-3 (for rfc a
//!    reconstruction); the first result is taken whole.
//! 8. `docsis` has DOCSIS-PIE's rules. Its figures are those of `aqm = "default"` at a link of the model `docsis-up`:
//!    `qdelay_ref` 10 ms, `tupdate` 16 ms, `alpha` 0.25, `beta` 2.5, `max_burst` 142 ms, `burst_reset` 1 s, `latency`
//!    "rate", `decay_when` "below_half", `activity` "backlog". Without token buckets the delay is the backlog over the
//!    link's rate. From `p` = 0.1, 1 and 10 on changes are divided by 0.5, 0.125, 0.03125. The order of the tests is a
//!    reconstruction.
//! 9. `activity`: RFC 8033's appendix B wakes PIE when a third of the buffer is in use, ns-3 at a delay; in both it
//!    rests when probability and delay are gone. The third includes the arrival (a reconstruction). Off here.
//!
//! ## Example
//! ```
//! use earlydrop_aqm::{catalogue, gate::Gate, params::Values, policy::Limit, random::Generator};
//! use earlydrop_aqm::{discipline::Fifo, Discipline, Packet, Time};
//!
//! let link = catalogue::Link { rate_bps: 10e6, delay_s: 0.02 };
//! let catalogue::Built::Policy(policy) = (catalogue::find("pie").unwrap().build)(&Values::new(), &link, Limit::Packets(100)).unwrap()
//!     else { unreachable!() };
//! let mut queue = Fifo::new(Gate::new(policy, Limit::Packets(100), false, Generator::stream(1, "queue")));
//! // A packet waited 30 ms; one update then gives p = (0.125 * 15 ms + 1.25 * 30 ms)/2048.
//! queue.enqueue(Packet::new(1, 1000), Time::ZERO, &mut |_, _| {});
//! queue.enqueue(Packet::new(1, 1000), Time::ZERO, &mut |_, _| {});
//! queue.dequeue(Time::from_seconds(0.03), &mut |_, _| {});
//! let due = queue.next_timer().unwrap();
//! queue.on_timer(due);
//! queue.gauges(&mut |name, value| {
//!     if name == "p" {
//!         assert!((value - 1.922607e-5).abs() < 1e-10);
//!     }
//! });
//! ```

use crate::catalogue::{AqmSpec, Built};
use crate::default_limit::DefaultLimit;
use crate::params::{Param, Values, Word};
use crate::parts::pie::{Dialect, PieState, Settings, PARAMS};
use crate::parts::ticks::{self, Ticks};
use crate::policy::{Context, Limit, Needs, Policy, QueueView, Verdict};
use crate::{Packet, Time};
use std::any::Any;

const OWN: [Param; 1] = [Param::word("dialect", Dialect::WORDS, "rfc").says(
    "RFC 8033",
    "Whose PIE: RFC 8033, Linux, ns-3 or RFC 8034 (DOCSIS); they differ in the burst allowance, safeguards and defaults.",
)];

/// The declaration.
pub const SPEC: AqmSpec = AqmSpec {
    summary: "Drops arrivals with a probability that holds the queueing delay at a reference",
    source: "Pan, Natarajan, Baker, White: Proportional Integral Controller Enhanced, RFC 8033, 2017",
    params: &[&OWN, &PARAMS],
    limit: DefaultLimit::Packets { packets: 1000, source: "Linux sch_pie" },
    build: &|values, link, limit| Ok(Built::Policy(Box::new(Pie::new(values, limit, link.rate_bps)))),
    ..AqmSpec::named("pie", "PIE", "sojourn time", 2013)
};

/// The policy.
pub struct Pie {
    /// The parameters.
    set: Settings,
    /// The state of the queue.
    state: PieState,
    /// When the probability is updated.
    ticks: Ticks,
}

impl Pie {
    fn new(values: &Values, limit: Limit, rate_bps: f64) -> Self {
        let set = Settings::at(values, values.choice(&OWN, "dialect"), limit, rate_bps);
        Pie { state: PieState::new(&set), ticks: Ticks::from(set.first_update, set.tupdate), set }
    }
}

impl Policy for Pie {
    fn needs(&self) -> Needs {
        Needs { dequeue: true, contents: false }
    }

    fn on_enqueue(&mut self, packet: &Packet, queue: &QueueView<'_>, cx: &mut Context<'_>) -> Verdict {
        self.state.arrive(&self.set, packet, queue.packets, queue.bytes, cx)
    }

    fn on_dequeue(&mut self, packet: Option<&Packet>, queue: &QueueView<'_>, cx: &mut Context<'_>) -> Verdict {
        if let Some(packet) = packet {
            self.state.depart(&self.set, packet, queue.bytes, cx.now);
        }
        Verdict::Pass
    }

    fn only_observes_departures(&self) -> bool {
        true
    }

    fn next_timer(&self) -> Option<Time> {
        Some(self.ticks.next())
    }

    fn on_timer(&mut self, queue: &QueueView<'_>, _cx: &mut Context<'_>) {
        self.state.update(&self.set, queue.bytes);
        self.ticks.advance();
    }

    fn on_timers(&mut self, queue: &QueueView<'_>, until: Time, cx: &mut Context<'_>) -> Option<(u64, Time)> {
        let state = |pie: &Self| (pie.state.clone(), pie.state.probability().to_bits());
        ticks::run(self, queue, until, cx, state, |pie| &mut pie.ticks)
    }

    fn gauges(&self, out: &mut dyn FnMut(&'static str, f64)) {
        self.state.gauges(out);
    }

    fn resume(&mut self, before: &dyn Any) -> bool {
        let Some(before) = before.downcast_ref::<Self>() else { return false };
        self.state = before.state.clone();
        self.ticks.resume(&before.ticks);
        self.set.same_states(&before.set)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::prelude::*;

    /// A PIE to which the test shows delays, updates and arrivals.
    struct Bench {
        pie: Pie,
        /// The random number of every draw, and the number of draws.
        u: f64,
        draws: std::sync::Arc<std::sync::atomic::AtomicUsize>,
        now: f64,
        ecn: bool,
    }

    fn bench(given: &[(&'static str, Value)]) -> Bench {
        let values = Values::of(given);
        Bench {
            pie: Pie::new(&values, Limit::Packets(100), 8e6),
            u: 0.5,
            draws: Default::default(),
            now: 100.0,
            ecn: false,
        }
    }

    const QUEUE: QueueView<'static> = QueueView { packets: 50, bytes: 50_000, idle_since: None, contents: None };

    impl Bench {
        fn ask(&mut self, act: impl FnOnce(&mut Pie, &mut Context<'_>) -> Verdict) -> Verdict {
            let (u, draws) = (self.u, self.draws.clone());
            let mut random = Generator::custom(move || {
                draws.fetch_add(1, std::sync::atomic::Ordering::Relaxed);
                u
            });
            let now = Time::from_seconds(self.now);
            let mut cx = Context { now, ecn: self.ecn, has_room: true, random: &mut random, victims: &mut Vec::new() };
            act(&mut self.pie, &mut cx)
        }

        fn delay(&mut self, ms: f64) {
            let packet = Packet { enqueued: Time::from_seconds(self.now - ms * 1e-3), ..Packet::new(1, 1000) };
            self.ask(|pie, cx| pie.on_dequeue(Some(&packet), &QUEUE, cx));
        }

        fn update(&mut self) -> f64 {
            self.ask(|pie, cx| {
                pie.on_timer(&QUEUE, cx);
                Verdict::Pass
            });
            self.gauge("p")
        }

        fn arrive_at(&mut self, queue: QueueView<'static>, ecn: Ecn) -> Verdict {
            let packet = Packet { ecn, ..Packet::new(1, 1000) };
            self.ask(|pie, cx| pie.on_enqueue(&packet, &queue, cx))
        }

        fn arrive(&mut self) -> Verdict {
            self.arrive_at(QUEUE, Ecn::NotEct)
        }

        fn gauge(&self, wanted: &str) -> f64 {
            let mut found = f64::NAN;
            self.pie.gauges(&mut |name, value| found = if name == wanted { value } else { found });
            found
        }

        /// A bench at a constant delay, with `p` or a little more, and no burst allowance.
        fn at(given: &[(&'static str, Value)], p: f64, ms: f64) -> Bench {
            let mut bench = bench(&[given, &[("max_burst", Value::Real(0.0))]].concat());
            bench.delay(ms);
            while bench.gauge("p") < p {
                bench.update();
            }
            bench
        }
    }

    fn dialect(word: &'static str) -> (&'static str, Value) {
        ("dialect", Value::Choice(word))
    }

    #[test]
    fn the_probability_climbs_as_rfc_8033_computes_it() {
        let mut bench = bench(&[]);
        bench.delay(30.0);
        let found: Vec<f64> = (0..638).map(|_| bench.update()).collect();
        let want =
            [1.922607e-5, 3.387451e-5, 4.852295e-5, 6.317139e-5, 7.781982e-5, 9.246826e-5, 1.071167e-4, 1.657104e-4];
        for (p, want) in found.iter().zip(want) {
            assert!((p - want).abs() < 1e-10, "{p} not {want}");
        }
        let first = |p: f64| 1 + found.iter().position(|&found| found >= p).unwrap();
        assert!((found[22] - 1.044617e-3).abs() < 1e-9);
        assert_eq!([0.001, 0.01, 0.1, 0.5, 1.0].map(first), [23, 62, 158, 372, 638]);
    }

    #[test]
    fn the_burst_allowance_runs_out_after_ten_updates() {
        let mut bench = bench(&[]);
        bench.delay(30.0);
        let left: Vec<bool> = (0..11)
            .map(|_| {
                bench.update();
                bench.gauge("burst_allowance") > 0.0
            })
            .collect();
        assert_eq!(left, [true, true, true, true, true, true, true, true, true, false, false]);
    }

    /// p after updates with these delays (ms), from `p` and a delay of `old`.
    fn updates(given: &[(&'static str, Value)], p: f64, old: f64, delays: &[f64]) -> Vec<f64> {
        let mut bench = bench(given);
        bench.pie.state = starting(p, old);
        delays
            .iter()
            .map(|&ms| {
                bench.delay(ms);
                bench.update()
            })
            .collect()
    }

    /// A state from which one update, with alpha = 0 and beta as needed, leads to this p and this delay.
    fn starting(p: f64, old: f64) -> PieState {
        let values = Values::of(&[("alpha", Value::Real(0.0)), ("beta", Value::Real(2048.0 * p / (old * 1e-3)))]);
        let set = Settings::read(&values, Dialect::Rfc, Limit::Packets(100));
        let mut state = PieState::new(&set);
        let packet = Packet::new(1, 1000);
        state.depart(&set, &packet, 1000, Time::from_seconds(old * 1e-3));
        state.update(&set, 1000);
        state
    }

    fn near(found: &[f64], want: &[f64]) {
        assert_eq!(found.len(), want.len());
        for (found, want) in found.iter().zip(want) {
            assert!((found - want).abs() < 1e-9, "{found} not {want}");
        }
    }

    #[test]
    fn one_update_adds_no_more_than_the_cap() {
        near(&updates(&[], 0.1, 15.0, &[100.0; 4]), &[0.12, 0.130625, 0.14125, 0.151875]);
        let off = ("cap_adjustment", Value::Flag(false));
        near(&updates(&[off], 0.1, 15.0, &[100.0; 3]), &[0.216875, 0.2275, 0.238125]);
    }

    #[test]
    fn the_probability_falls_and_decays_without_delay() {
        let want = [0.0465625, 0.0428125, 0.03875, 0.03705625, 0.0353964];
        let found = updates(&[], 0.05, 15.0, &[10.0, 5.0, 0.0, 0.0, 0.0]);
        for (found, want) in found.iter().zip(want) {
            assert!((found - want).abs() < 1e-7, "{found} not {want}");
        }
        // Appendix B: both delays below 7.5 ms.
        let below = ("decay_when", Value::Choice("below_half"));
        let found = updates(&[below], 0.05, 7.0, &[7.0]);
        near(&found, &[(0.05 - 0.125 * 0.008 / 2.0) * 0.98]);
        near(&updates(&[], 0.05, 7.0, &[7.0]), &[0.05 - 0.125 * 0.008 / 2.0]);
    }

    #[test]
    fn linux_grows_fast_above_250_ms_and_decays_by_a_64th() {
        near(&updates(&[dialect("linux")], 0.2, 300.0, &[300.0]), &[0.24]);
        let off = ("fast_growth", Value::Flag(false));
        near(&updates(&[dialect("linux"), off], 0.2, 300.0, &[300.0]), &[0.22]);
        near(&updates(&[dialect("linux"), off], 0.2, 250.0, &[250.0]), &[0.22]);
        // No delay though packets wait: Linux does not let p decay.
        near(&updates(&[dialect("linux")], 0.05, 15.0, &[0.0, 0.0])[1..], &[0.05 - 0.0103125 - 0.0009375]);
    }

    #[test]
    fn derandomised_drops_keep_their_distance() {
        // p = 0.02 stays, as the delay equals qdelay_ref.
        let set = [("derandomise", Value::Flag(true)), ("max_burst", Value::Real(0.0))];
        // The burst allowance of `starting` runs out first.
        let first_hit = |u: f64| {
            let mut bench = bench(&set);
            bench.pie.state = starting(0.02, 15.0);
            (0..10).for_each(|_| {
                bench.update();
            });
            assert!((bench.gauge("p") - 0.02).abs() < 1e-12);
            bench.u = u;
            let first = (1..=1000).find(|_| bench.arrive() != Verdict::Pass);
            (first, bench.draws.load(std::sync::atomic::Ordering::Relaxed), bench.gauge("accu"))
        };
        assert_eq!(first_hit(0.0), (Some(43), 1, 0.0));
        assert_eq!(first_hit(1.0), (Some(425), 425 - 43, 0.0));
    }

    #[test]
    fn nothing_is_dropped_from_a_short_queue_or_at_a_low_delay() {
        for (word, edge, above) in [("rfc", 2000, 2001), ("linux", 3027, 3028)] {
            let mut bench = Bench::at(&[dialect(word), ("derandomise", Value::Flag(false))], 0.3, 100.0);
            bench.u = 0.0;
            for (bytes, passes) in [(edge, true), (above, false)] {
                let verdict = bench.arrive_at(QueueView { packets: 50, bytes, ..QUEUE }, Ecn::NotEct);
                assert_eq!(verdict == Verdict::Pass, passes, "{word} at {bytes} B");
            }
        }
        let mut bench = Bench::at(&[dialect("ns3")], 0.3, 100.0);
        bench.u = 0.0;
        for (packets, passes) in [(2, true), (3, false)] {
            let verdict = bench.arrive_at(QueueView { packets, bytes: 50_000, ..QUEUE }, Ecn::NotEct);
            assert_eq!(verdict == Verdict::Pass, passes, "ns3 at {packets} packets");
        }
        // Below half of qdelay_ref only a p of 0.2 or more drops. The delay is the last update's, in linux the last
        // packet's.
        for (p, drops) in [(0.19, [false, true]), (0.21, [true, true])] {
            for (word, low_first) in [("rfc", false), ("linux", true)] {
                let mut bench = Bench::at(&[dialect(word), ("derandomise", Value::Flag(false))], p, 15.5);
                bench.u = 0.0;
                let old = bench.arrive() != Verdict::Pass;
                bench.delay(1.0);
                let sample = bench.arrive() != Verdict::Pass;
                assert!(old);
                assert_eq!(sample, drops[usize::from(!low_first)], "{word} at {p}");
            }
        }
    }

    #[test]
    fn packets_are_marked_below_a_tenth_only() {
        for (word, p, marks) in [("rfc", 0.09, true), ("rfc", 0.11, false), ("linux", 0.09, true), ("ns3", 0.11, false)]
        {
            let mut bench = Bench::at(&[dialect(word), ("derandomise", Value::Flag(false))], p, 15.5);
            (bench.u, bench.ecn) = (0.0, true);
            let want = if marks { Verdict::Signal(Reason::Early) } else { Verdict::Drop(Reason::Early) };
            assert_eq!(bench.arrive_at(QUEUE, Ecn::Ect0), want, "{word} at {p}");
            assert_eq!(bench.arrive_at(QUEUE, Ecn::NotEct), Verdict::Drop(Reason::Early), "{word} at {p}");
        }
    }

    #[test]
    fn the_random_number_is_compared_as_each_source_does() {
        for (word, at_p) in [("rfc", false), ("linux", false), ("ns3", true)] {
            let mut bench = Bench::at(&[dialect(word), ("derandomise", Value::Flag(false))], 0.3, 100.0);
            bench.u = bench.gauge("p");
            assert_eq!(bench.arrive() != Verdict::Pass, at_p, "{word}");
        }
    }

    /// RFC 8034, appendix A, with its figures.
    #[test]
    fn docsis_acts_from_a_third_of_the_buffer_and_protects_a_burst_after_the_first_drop() {
        let mut bench = bench(&[
            dialect("docsis"),
            ("qdelay_ref", Value::Real(0.01)),
            ("tupdate", Value::Real(0.016)),
            ("alpha", Value::Real(0.25)),
            ("beta", Value::Real(2.5)),
            ("max_burst", Value::Real(0.142)),
            ("burst_reset", Value::Real(1.0)),
            ("latency", Value::Choice("rate")),
            ("decay_when", Value::Choice("below_half")),
            ("activity", Value::Choice("backlog")),
        ]);
        let queue = |packets: u64, bytes| QueueView { packets, bytes, ..QUEUE };
        let update = |bench: &mut Bench, bytes| {
            bench.ask(|pie, cx| {
                pie.on_timer(&queue(bytes / 1000, bytes), cx);
                Verdict::Pass
            });
            bench.gauge("p")
        };
        bench.u = 0.0;
        // 32 packets and an arrival are less than a third of 100: it sleeps, and no timer moves p.
        assert_eq!(bench.arrive_at(queue(32, 32_000), Ecn::NotEct), Verdict::Pass);
        assert_eq!(update(&mut bench, 32_000), 0.0);
        bench.arrive_at(queue(33, 33_000), Ecn::NotEct);
        // 33 kB at 8 Mbit/s take 33 ms: 0.25 * 23 ms + 2.5 * 33 ms, divided by 2048.
        let first = update(&mut bench, 33_000);
        assert!((first - (0.25 * 0.023 + 2.5 * 0.033) / 2048.0).abs() < 1e-12, "{first}");
        let mut drops = 0;
        while drops == 0 {
            update(&mut bench, 33_000);
            drops = i32::from((0..100).any(|_| bench.arrive_at(queue(33, 33_000), Ecn::NotEct) != Verdict::Pass));
        }
        assert_eq!(bench.gauge("burst_allowance"), 0.142);
        // Nothing is dropped for nine updates, and p is held at 0.
        assert_eq!((0..9).map(|_| update(&mut bench, 90_000)).fold(0.0, f64::max), 0.0);
        assert_eq!(bench.gauge("burst_allowance"), 0.0);
        // 90 ms above the target move p up, by 0.02 at most from 0.1 on, and past 1, to 0.85 * 1024 / 64.
        while update(&mut bench, 90_000) < 0.1 {}
        let p = bench.gauge("p");
        assert!((update(&mut bench, 90_000) - p - 0.02).abs() < 1e-12);
        for _ in 0..1000 {
            update(&mut bench, 90_000);
        }
        assert_eq!(bench.gauge("p"), 13.6);
        // Quiet for a second, it sleeps again: a full queue below a third does not wake it.
        for _ in 0..2000 {
            update(&mut bench, 0);
        }
        assert_eq!(bench.gauge("p"), 0.0);
        for _ in 0..100 {
            update(&mut bench, 30_000);
            assert_eq!(bench.arrive_at(queue(30, 30_000), Ecn::NotEct), Verdict::Pass);
        }
        assert_eq!(bench.gauge("p"), 0.0);
    }

    #[test]
    fn ns3_protects_a_burst_after_judging_its_first_packet() {
        let mut bench = bench(&[dialect("ns3")]);
        assert_eq!(bench.gauge("burst_allowance"), 0.0);
        bench.delay(30.0);
        bench.arrive();
        assert_eq!(bench.gauge("burst_allowance"), 0.15);
        assert_eq!((0..10).map(|_| bench.update()).fold(0.0, f64::max), 0.0, "p is held at 0");
        assert!(bench.update() > 0.0);
        // After quiet the allowance is armed only when it has run out and 100 updates more have passed.
        bench.delay(0.0);
        let mut quiet = 0;
        while bench.gauge("burst_allowance") == 0.0 {
            bench.update();
            bench.arrive();
            quiet += 1;
            assert!(quiet < 300);
        }
        assert!((100..120).contains(&quiet), "{quiet}");
    }

    #[test]
    fn large_packets_are_likelier_to_die_with_byte_scaling() {
        for (word, small, large) in [("rfc", 0.5, 1.5), ("linux", 500.0 / 1514.0, 1500.0 / 1514.0), ("ns3", 0.5, 1.5)] {
            let scaling = ("byte_scaling", Value::Flag(true));
            let given =
                [dialect(word), scaling, ("derandomise", Value::Flag(false)), ("fast_growth", Value::Flag(false))];
            for (size, factor) in [(500, small), (1500, large), (9000, if word == "linux" { 1.0 } else { 9.0 })] {
                for (u, hit) in [(0.999, true), (1.001, false)] {
                    let mut bench = Bench::at(&given, 0.09, 15.5);
                    bench.u = bench.gauge("p") * factor * u;
                    let packet = Packet::new(1, size);
                    let verdict = bench.ask(|pie, cx| pie.on_enqueue(&packet, &QUEUE, cx));
                    assert_eq!(verdict != Verdict::Pass, hit, "{word}, {size} B");
                }
            }
        }
    }

    #[test]
    fn the_rate_is_measured_over_16_kib() {
        // 1000 B leave each ms, 20,000 B wait: 17 packets are 17,000 B in 16 ms.
        for (word, want) in [
            ("rfc", 0.016 * 20.0 / 16.384),
            ("linux", 20_000.0 * 0.016 / 17_000.0),
            ("ns3", 20_000.0 * 0.016 / 17_000.0),
        ] {
            let mut bench = bench(&[dialect(word), ("latency", Value::Choice("rate"))]);
            let queue = QueueView { packets: 20, bytes: 20_000, ..QUEUE };
            for _ in 0..17 {
                assert_eq!(bench.gauge("qdelay"), 0.0);
                bench.ask(|pie, cx| pie.on_dequeue(Some(&Packet::new(1, 1000)), &queue, cx));
                bench.now += 0.001;
            }
            bench.ask(|pie, cx| {
                pie.on_timer(&queue, cx);
                Verdict::Pass
            });
            assert!((bench.gauge("qdelay") - want).abs() < 1e-9, "{word}: {} not {want}", bench.gauge("qdelay"));
        }
    }

    #[test]
    fn with_activity_by_backlog_it_sleeps_until_a_third_waits() {
        let mut bench = bench(&[("activity", Value::Choice("backlog")), ("max_burst", Value::Real(0.0))]);
        bench.delay(100.0);
        let short = QueueView { packets: 32, bytes: 32_000, ..QUEUE };
        bench.arrive_at(short, Ecn::NotEct);
        assert_eq!(bench.update(), 0.0, "33 of 100");
        bench.arrive_at(QueueView { packets: 33, ..short }, Ecn::NotEct);
        assert!(bench.update() > 0.0, "34 of 100");
        // Delay and probability are gone: PIE sleeps again.
        bench.delay(0.0);
        (0..400).for_each(|_| {
            bench.update();
        });
        bench.arrive_at(short, Ecn::NotEct);
        bench.delay(100.0);
        assert_eq!(bench.update(), 0.0);
    }
}
