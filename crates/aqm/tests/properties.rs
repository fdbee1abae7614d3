//! Properties that hold for every discipline of the catalogue, whatever arrives and leaves.

mod common;

use common::{gauge, queue, values};
use earlydrop_aqm::catalogue::{AqmSpec, Built};
use earlydrop_aqm::params::{Kind, Param, Text};
use earlydrop_aqm::prelude::*;
use proptest::prelude::*;
use proptest::test_runner::RngSeed;
use std::collections::{BTreeMap, BTreeSet};

const LINK: Link = Link { rate_bps: 10e6, delay_s: 0.02 };
const SIZES: [u32; 5] = [40, 296, 500, 1000, 1500];
const MARKINGS: [Ecn; 4] = [Ecn::NotEct, Ecn::Ect0, Ecn::Ect1, Ecn::Ce];

/// What happens to a queue.
#[derive(Clone, Copy, Debug)]
enum Step {
    Arrive {
        gap_us: u32,
        size: u32,
        ecn: Ecn,
        flow: u64,
    },
    /// The link asks for a packet, whether there is one or not.
    Ask {
        gap_us: u32,
    },
    Restart,
}

/// A queue in one of the settings its discipline has.
#[derive(Clone, Debug)]
struct Setting {
    aqm: &'static str,
    values: Values,
    limit: Limit,
    ecn: bool,
    seed: u64,
}

impl Setting {
    fn queue(&self) -> Box<dyn Discipline> {
        queue(self.aqm, &self.values, &LINK, self.limit, self.ecn, Generator::stream(self.seed, "queue"))
    }

    fn is(&self, name: &str, word: &str) -> bool {
        matches!(self.values.given(name), Some(Value::Choice(given)) if given == word)
    }

    /// Linux's RED, whose average adds up whole bytes.
    fn is_linux(&self) -> bool {
        self.is("dialect", "linux") || self.aqm == "linux_ared"
    }

    /// Bytes of the mean packet, where there is one.
    fn mean_packet(&self) -> f64 {
        let declared = catalogue::find(self.aqm).and_then(|spec| spec.param("mean_packet"));
        match declared.map(|param| self.values.get(param)) {
            Some(Value::Real(bytes)) => bytes,
            _ => 500.0,
        }
    }
}

fn steps() -> impl Strategy<Value = Vec<Step>> {
    let gap = prop_oneof![5 => 0_u32..1200, 2 => Just(0), 1 => 0_u32..200_000];
    let size = prop::sample::select(&SIZES[..]);
    let ecn = prop::sample::select(&MARKINGS[..]);
    let arrive = (gap.clone(), size, ecn, 0_u64..4).prop_map(|(gap_us, size, ecn, flow)| Step::Arrive {
        gap_us,
        size,
        ecn,
        flow,
    });
    let ask = gap.prop_map(|gap_us| Step::Ask { gap_us });
    prop::collection::vec(prop_oneof![60 => arrive, 35 => ask, 1 => Just(Step::Restart)], 1..400)
}

fn limits() -> impl Strategy<Value = Limit> {
    prop_oneof![(1_u64..60).prop_map(Limit::Packets), (40_u64..60_000).prop_map(Limit::Bytes)]
}

/// Random words and switches for every parameter that has a few values, small thresholds and quick averages for the
/// rest. Combinations that the discipline refuses are drawn again.
fn settings() -> impl Strategy<Value = Setting> {
    let spec = (0..catalogue::all().len()).prop_map(|i| catalogue::all()[i].name);
    let picks = prop::collection::vec(any::<u32>(), 40);
    let numbers = (0.0..12.0_f64, 0.5..20.0_f64, 0.01..0.66_f64, prop_oneof![0.001..0.5_f64, Just(1.0)]);
    (spec, picks, numbers, limits(), any::<bool>(), any::<u64>()).prop_filter_map(
        "values that do not fit together",
        |(name, picks, (min_th, width, max_p, w_q), limit, ecn, seed)| {
            let spec = catalogue::find(name)?;
            let mut values = Values::new();
            for (param, pick) in spec.all_params().zip(picks) {
                if let Some(value) = pick_of(param, pick) {
                    values.set(param.name, value);
                }
            }
            for (name, value) in [("min_th", min_th), ("max_th", min_th + width), ("max_p", max_p), ("w_q", w_q)] {
                if spec.param(name).is_some() {
                    values.set(name, Value::Real(value));
                }
            }
            (spec.check)(&values, &LINK).ok()?;
            Some(Setting { aqm: spec.name, values, limit, ecn, seed })
        },
    )
}

fn pick_of(param: &Param, pick: u32) -> Option<Value> {
    match param.kind {
        Kind::Choice(words) => Some(Value::Choice(words[pick as usize % words.len()])),
        Kind::Flag { auto: true } => {
            [Value::Auto, Value::Flag(true), Value::Flag(false)].get(pick as usize % 3).copied()
        }
        Kind::Flag { auto: false } => Some(Value::Flag(pick % 2 == 1)),
        Kind::Text => {
            let rules = ["q/40", "0.01*(5 < avg) + p/2", "sqrt(delay)", "dt*rate/1e6 - delay"];
            Some(Value::Text(Text::new(rules[pick as usize % rules.len()])))
        }
        _ => None,
    }
}

fn is_policy(setting: &Setting) -> bool {
    let spec = catalogue::find(setting.aqm).unwrap();
    matches!((spec.build)(&setting.values, &LINK, setting.limit), Ok(Built::Policy(_)))
}

/// Runs the timers that are due at `now`; each names a later time than the one before.
fn run_timers(queue: &mut dyn Discipline, now: Time) {
    let mut last = None;
    while let Some(due) = queue.next_timer().filter(|&due| due <= now) {
        assert!(last < Some(due), "a timer that stands still");
        last = Some(due);
        queue.on_timer(due);
    }
}

/// Everything that can be seen of a run.
#[derive(Debug, Default, PartialEq)]
struct Seen {
    verdicts: Vec<Option<bool>>,
    departed: Vec<(u64, u64)>,
    dropped: Vec<(u64, Reason)>,
    average_bits: Vec<u64>,
}

/// Runs `steps`, checking after each one what must hold at any time.
fn run(setting: &Setting, steps: &[Step]) -> Seen {
    let mut queue = setting.queue();
    let mut seen = Seen::default();
    let mut now_us = 0_u64;
    let mut tag = 0_u32;
    let (mut at_start, mut bytes_at_start) = (0, 0);
    let (mut early, mut forced, mut overflow, mut dropped_bytes, mut changed) = (0, 0, 0, 0, 0);
    let mut sent: Vec<Ecn> = Vec::new();
    let one_queue = is_policy(setting);
    let mut last_departed: BTreeMap<(u64, Ecn), u32> = BTreeMap::new();
    let mut longest_found = 0.0_f64;
    for step in steps {
        let at = |us: u64| Time::from_seconds(us as f64 * 1e-6);
        let mut victims: Vec<(Packet, Reason)> = Vec::new();
        match *step {
            Step::Arrive { gap_us, size, ecn, flow } => {
                now_us += u64::from(gap_us);
                run_timers(&mut *queue, at(now_us));
                let mut packet = Packet::new(flow, size);
                packet.ecn = ecn;
                packet.tag = tag;
                sent.push(ecn);
                tag += 1;
                let (found, before) = (queue.packets() as f64, queue.average());
                let found_bytes = queue.bytes() as f64;
                let verdict = queue.enqueue(packet, at(now_us), &mut |p, reason| victims.push((*p, reason)));
                seen.verdicts.push(verdict.map(|marked| marked.0));
                changed += u64::from(verdict.is_some_and(|marked| marked.0));
                if verdict.is_none() {
                    assert!(victims.iter().any(|(p, _)| p.tag == tag - 1), "a refused arrival is reported");
                }
                if let (Some(old), Some(new)) = (before, queue.average()) {
                    seen.average_bits.push(new.to_bits());
                    // In byte mode the average counts mean packets; linux adds up whole bytes, but counts packets in
                    // CHOKe.
                    let in_bytes = setting.is("unit", "byte") || (setting.is_linux() && setting.aqm != "choke");
                    let mut length = if in_bytes { found_bytes / setting.mean_packet() } else { found };
                    // FRED averages the queue with the arrival in it.
                    length += f64::from(u8::from(setting.aqm == "fred"));
                    longest_found = longest_found.max(length);
                    let slack = if setting.is_linux() { 1.0 / setting.mean_packet() } else { 1e-9 };
                    assert!(new <= old.max(length) + slack, "{new} above both {old} and {length}");
                    assert!(new >= -1e-12 && new <= longest_found + slack);
                }
            }
            Step::Ask { gap_us } => {
                now_us += u64::from(gap_us);
                run_timers(&mut *queue, at(now_us));
                let packet = queue.dequeue(at(now_us), &mut |p, reason| victims.push((*p, reason)));
                if let Some(packet) = packet {
                    let original = sent[packet.tag as usize];
                    // A discipline with several queues keeps the order of what looks alike.
                    let stream = if one_queue { (0, Ecn::NotEct) } else { (packet.flow, original) };
                    let last = last_departed.insert(stream, packet.tag);
                    // SP-PIFO's bounds let a flow's packet overtake another one (its page says when).
                    assert!(last < Some(packet.tag) || setting.aqm == "sp_pifo", "first in, first out");
                    assert!(packet.enqueued <= at(now_us));
                    seen.departed.push((u64::from(packet.tag), packet.ecn as u64));
                    if packet.ecn != original {
                        assert_eq!(packet.ecn, Ecn::Ce, "the only change a queue makes is to CE");
                        assert!(setting.ecn && original.is_capable(), "{original:?} was marked");
                    }
                }
            }
            Step::Restart => {
                queue.reset_counters();
                (at_start, bytes_at_start) = (queue.packets(), queue.bytes());
                (early, forced, overflow, dropped_bytes, changed) = (0, 0, 0, 0, 0);
            }
        }
        for (packet, reason) in victims {
            seen.dropped.push((u64::from(packet.tag), reason));
            dropped_bytes += u64::from(packet.size);
            match reason {
                Reason::Early => early += 1,
                Reason::Forced => forced += 1,
                Reason::Overflow => overflow += 1,
            }
        }
        let counters = *queue.counters();
        assert_eq!((counters.early_drops, counters.forced_drops, counters.overflow_drops), (early, forced, overflow));
        assert_eq!(
            at_start + counters.arrivals,
            counters.departures + counters.drops() + queue.packets(),
            "packets are conserved"
        );
        assert_eq!(
            bytes_at_start + counters.arrived_bytes,
            counters.departed_bytes + dropped_bytes + queue.bytes(),
            "bytes are conserved"
        );
        assert!(counters.marks >= changed, "every packet that was changed was counted");
        assert!(setting.ecn || counters.marks == 0, "marking is off");
        let (mut waiting, mut waiting_bytes, mut queues) = (0, 0, BTreeSet::new());
        queue.waiting(&mut |number, packet| {
            (waiting, waiting_bytes) = (waiting + 1, waiting_bytes + u64::from(packet.size));
            queues.insert(number);
        });
        assert_eq!((waiting, waiting_bytes), (queue.packets(), queue.bytes()), "what waits is all shown");
        assert!(queues.is_empty() || !one_queue || queues == BTreeSet::from([0]));
        check_limit(setting, &*queue);
    }
    seen
}

/// The limit of the whole queue. Linux's fq has it in each of three bands, and does not count the fast path.
fn whole_limit(setting: &Setting) -> Limit {
    match setting.limit {
        Limit::Packets(n) if setting.aqm == "fq_pacing" => Limit::Packets(3 * n + 8),
        Limit::Bytes(n) if setting.aqm == "fq_pacing" => Limit::Bytes(3 * n + 8 * 1500),
        limit => limit,
    }
}

/// Never more than the limit, by the rule of the discipline: ns-2's RED tests a byte limit before it adds.
fn check_limit(setting: &Setting, queue: &dyn Discipline) {
    let tested_before_adding = setting.is("dialect", "ns2");
    match whole_limit(setting) {
        Limit::Packets(n) if tested_before_adding && setting.is("unit", "byte") => {
            let mean = setting.mean_packet();
            let allowed = n * mean as u64 + 1500;
            assert!(queue.bytes() < allowed, "{} B under a limit of {n} packets of {mean} B", queue.bytes());
        }
        Limit::Packets(n) => assert!(queue.packets() <= n, "{} packets under a limit of {n}", queue.packets()),
        Limit::Bytes(n) if tested_before_adding => assert!(queue.bytes() < n + 1500),
        Limit::Bytes(n) => assert!(queue.bytes() <= n, "{} B under a limit of {n}", queue.bytes()),
    }
}

/// Any discipline with any parameters inside their declared ranges: ends of the range, the default, and anything
/// between, several at once.
fn wild_settings() -> impl Strategy<Value = Setting> {
    let picks = prop::collection::vec((0_u32..12, any::<u32>()), 80);
    (0..catalogue::all().len(), picks, limits(), any::<bool>(), any::<u64>()).prop_filter_map(
        "values that do not fit together",
        |(index, picks, limit, ecn, seed)| {
            let spec = catalogue::all()[index];
            let mut values = Values::new();
            for (param, (what, pick)) in spec.all_params().zip(picks) {
                let value = wild_value(param, what, pick);
                assert!(param.allows(value), "{}: {value} for {}", spec.name, param.name);
                values.set(param.name, value);
            }
            (spec.check)(&values, &LINK).ok()?;
            Some(Setting { aqm: spec.name, values, limit, ecn, seed })
        },
    )
}

fn wild_value(param: &Param, what: u32, pick: u32) -> Value {
    let share = f64::from(pick) / f64::from(u32::MAX);
    match param.kind {
        Kind::Real { low, high, open_low, open_high, .. } => {
            let (from, to) = (low.max(1e-9), if high.is_finite() { high } else { low.max(1.0) * 1e6 });
            let value = match what {
                0 if !open_low => low,
                1 if !open_high && high.is_finite() => high,
                // As many small values as large ones.
                2..=5 if from < to => from * (to / from).powf(0.999 * share + 0.0005),
                _ => return param.default,
            };
            Value::Real(value.clamp(low, high))
        }
        Kind::Whole { low, high } => match what {
            0 => Value::Whole(low),
            1 if high < 100_000 => Value::Whole(high),
            2..=5 => Value::Whole(low + (pick as i64 % high.saturating_sub(low).clamp(1, 2000))),
            _ => param.default,
        },
        _ => pick_of(param, pick).unwrap_or(param.default),
    }
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 4000, failure_persistence: None, rng_seed: RngSeed::Fixed(5), ..ProptestConfig::default() })]

    /// Whatever the parameters: no panic, packets are conserved, the limit holds, no inner value is NaN, probabilities
    /// lie in [0, 1].
    #[test]
    fn every_discipline_survives_its_ranges(setting in wild_settings(), steps in steps()) {
        let mut queue = setting.queue();
        let (mut now_us, mut dropped) = (0_u64, 0_u64);
        let (mut arrived, mut departed) = (0, 0);
        for step in steps {
            match step {
                Step::Arrive { gap_us, size, ecn, flow } => {
                    now_us += u64::from(gap_us);
                    let now = Time::from_seconds(now_us as f64 * 1e-6);
                    run_timers(&mut *queue, now);
                    let packet = Packet { ecn, class: (flow % 8) as u8, ..Packet::new(flow, size) };
                    queue.enqueue(packet, now, &mut |_, _| dropped += 1);
                    arrived += 1;
                }
                Step::Ask { gap_us } => {
                    now_us += u64::from(gap_us);
                    let now = Time::from_seconds(now_us as f64 * 1e-6);
                    run_timers(&mut *queue, now);
                    departed += u64::from(queue.dequeue(now, &mut |_, _| dropped += 1).is_some());
                }
                Step::Restart => {}
            }
            prop_assert_eq!(arrived, departed + dropped + queue.packets(), "packets are conserved");
            if let Limit::Packets(n) = whole_limit(&setting) {
                let by_bytes = setting.is("dialect", "ns2") && setting.is("unit", "byte");
                prop_assert!(by_bytes || queue.packets() <= n, "{} packets under a limit of {n}", queue.packets());
            }
            prop_assert!(!queue.average().is_some_and(f64::is_nan));
            // RFC 8034's p may be above 1: that of a small packet is a part of it.
            let most = if setting.is("dialect", "docsis") { f64::INFINITY } else { 1.0 };
            let mut wrong = None;
            queue.gauges(&mut |name, value| {
                let probability = name == "p" || name.starts_with("p_");
                if value.is_nan() || probability && !(0.0..=most).contains(&value) {
                    wrong = Some((name, value));
                }
            });
            prop_assert!(wrong.is_none(), "{:?}", wrong);
        }
    }
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 2000, failure_persistence: None, rng_seed: RngSeed::Fixed(2), ..ProptestConfig::default() })]

    /// Conservation by packets, bytes and reason, first in first out, the limit, marks, and the bounds of the
    /// average: all checked after every step by `run`. And the same seed gives the same run.
    #[test]
    fn every_discipline_conserves_and_repeats(setting in settings(), steps in steps()) {
        let once = run(&setting, &steps);
        prop_assert_eq!(once, run(&setting, &steps));
    }

    /// The drop curve lies in [0, 1] and never falls, for every discipline that has one.
    #[test]
    fn drop_curves_are_probabilities_and_never_fall(
        setting in settings(),
        averages in prop::collection::vec(0.0..100.0_f64, 2..50),
    ) {
        let spec = catalogue::find(setting.aqm).unwrap();
        if let Some(curve) = spec.curve {
            let mut averages = averages;
            averages.sort_by(f64::total_cmp);
            let mut last = 0.0;
            for average in averages {
                let p = curve(&setting.values, &LINK, average);
                prop_assert!((0.0..=1.0).contains(&p), "p({average}) = {p}");
                prop_assert!(p >= last - 1e-12, "p({average}) = {p} after {last}");
                last = p;
            }
            // Gentle RED has no switch for what it is.
            let gentle = setting.aqm == "gentle_red" || setting.values.given("gentle") == Some(Value::Flag(true));
            let end = if gentle { 2.0 } else { 1.0 };
            let (min_th, max_th) = (number(&setting, "min_th"), number(&setting, "max_th"));
            prop_assert_eq!(curve(&setting.values, &LINK, min_th * (1.0 - 1e-9) - 1e-9), 0.0);
            prop_assert!(curve(&setting.values, &LINK, end * max_th * (1.0 + 1e-9)) > 1.0 - 1e-9);
        }
    }

    /// Packets and everything that is measured in bytes, scaled together, change nothing (the RED family and CoDel; PIE
    /// counts its room in whole packets; not linux).
    #[test]
    fn scaling_packets_and_thresholds_together_changes_nothing(
        mut setting in settings().prop_filter("paper", |s| {
            let by_sojourn = ["codel", "fq_codel", "cobalt"].contains(&s.aqm);
            let of_red = s.values.given("dialect").is_some() && s.values.given("min_th").is_some();
            // ns-2's lowest max_p for ARED is worked out from the rate in bits.
            let scales = s.aqm != "ared" || !s.is("dialect", "ns2");
            (by_sojourn || of_red) && !s.is_linux() && scales && matches!(s.limit, Limit::Packets(_))
        }),
        steps in steps(),
    ) {
        let mut scaled = setting.clone();
        if catalogue::find(setting.aqm).unwrap().param("quantum").is_some() {
            setting.values.set("quantum", Value::Real(1500.0));
            scaled.values.set("quantum", Value::Real(8.0 * 1500.0));
        }
        // Eight times the bytes and eight times the mean packet: powers of two leave the mantissas alone.
        let mean = setting.mean_packet();
        setting.values.set("mean_packet", Value::Real(mean));
        scaled.values.set("mean_packet", Value::Real(8.0 * mean)).set("max_packet", Value::Real(8.0 * 1500.0));
        let larger: Vec<Step> = steps
            .iter()
            .map(|step| match *step {
                Step::Arrive { gap_us, size, ecn, flow } => Step::Arrive { gap_us, size: 8 * size, ecn, flow },
                other => other,
            })
            .collect();
        let (small, large) = (verdicts(&setting, &steps, 1.0), verdicts(&scaled, &larger, 8.0));
        prop_assert_eq!(small, large);
    }
}

fn number(setting: &Setting, name: &str) -> f64 {
    match setting.values.given(name) {
        Some(Value::Real(x)) => x,
        other => panic!("{name} = {other:?}"),
    }
}

/// Verdicts on a link `faster` times as fast.
fn verdicts(setting: &Setting, steps: &[Step], faster: f64) -> Vec<Option<bool>> {
    let link = Link { rate_bps: LINK.rate_bps * faster, ..LINK };
    let random = Generator::stream(setting.seed, "queue");
    let mut queue = queue(setting.aqm, &setting.values, &link, setting.limit, setting.ecn, random);
    let mut now_us = 0_u64;
    let mut verdicts = Vec::new();
    for step in steps {
        match *step {
            Step::Arrive { gap_us, size, ecn, flow } => {
                now_us += u64::from(gap_us);
                let packet = Packet { ecn, ..Packet::new(flow, size) };
                let now = Time::from_seconds(now_us as f64 * 1e-6);
                run_timers(&mut *queue, now);
                verdicts.push(queue.enqueue(packet, now, &mut |_, _| {}).map(|marked| marked.0));
            }
            Step::Ask { gap_us } => {
                now_us += u64::from(gap_us);
                let now = Time::from_seconds(now_us as f64 * 1e-6);
                run_timers(&mut *queue, now);
                queue.dequeue(now, &mut |_, _| {});
            }
            Step::Restart => {}
        }
    }
    verdicts
}

/// The RED family with its average pinned: weight 1, so that it is the queue found.
fn pinned(aqm: &'static str, dialect: &'static str, more: &[(&'static str, Value)]) -> Values {
    let mut values = values(&[
        ("dialect", Value::Choice(dialect)),
        ("min_th", Value::Real(5.0)),
        ("max_th", Value::Real(205.0)),
        ("max_p", Value::Real(0.1)),
        ("w_q", Value::Real(1.0)),
        ("mean_packet", Value::Real(1000.0)),
    ]);
    assert!(catalogue::find(aqm).is_some_and(|spec: &AqmSpec| spec.param("dialect").is_some()));
    for &(name, value) in more {
        values.set(name, value);
    }
    values
}

/// Fills a queue of ECN-capable packets without a departure; early drops, forced drops, marks.
fn flood(values: &Values, aqm: &str, ecn: Ecn, ecn_on: bool) -> (u64, u64, u64) {
    let mut queue = queue(aqm, values, &LINK, Limit::Packets(1000), ecn_on, Generator::stream(3, "flood"));
    for i in 0..900_u32 {
        let packet = Packet { ecn, ..Packet::new(1, 1000) };
        queue.enqueue(packet, Time::from_seconds(f64::from(i) * 1e-4), &mut |_, _| {});
    }
    let seen = queue.counters();
    assert_eq!(seen.overflow_drops, 0);
    (seen.early_drops, seen.forced_drops, seen.marks)
}

#[test]
fn forced_drops_are_marks_in_linux_only() {
    for aqm in ["red", "nlred", "tred"] {
        for dialect in ["paper", "ns3"] {
            let (early, forced, marks) = flood(&pinned(aqm, dialect, &[]), aqm, Ecn::Ect0, true);
            assert!(early == 0 && marks > 0 && forced > 100, "{aqm} {dialect}: {early} {forced} {marks}");
        }
        // ns-2: every drop goes through the spacing, and marks only while p_b < mark_p.
        let (_, forced, marks) = flood(&pinned(aqm, "ns2", &[("max_p", Value::Real(0.05))]), aqm, Ecn::Ect0, true);
        assert!(marks > 0 && forced > 100, "{aqm} ns2: {forced} {marks}");
        let (early, forced, marks) = flood(&pinned(aqm, "linux", &[]), aqm, Ecn::Ect0, true);
        assert!((early, forced) == (0, 0) && marks > 100, "{aqm} linux: {early} {forced} {marks}");
    }
}

#[test]
fn what_is_not_ect_is_dropped_and_marking_must_be_on() {
    for dialect in ["paper", "ns2", "ns3", "linux"] {
        for (ecn, on) in [(Ecn::NotEct, true), (Ecn::Ect0, false), (Ecn::NotEct, false)] {
            let (early, forced, marks) = flood(&pinned("red", dialect, &[]), "red", ecn, on);
            assert!(early > 0 && forced > 100 && marks == 0, "{dialect} {ecn:?} {on}: {early} {forced} {marks}");
        }
    }
}

/// ECT(0), ECT(1) and CE can be marked; a packet that carries CE already counts as marked again.
#[test]
fn every_ecn_capable_codepoint_is_marked() {
    for ecn in [Ecn::Ect0, Ecn::Ect1, Ecn::Ce] {
        let (early, forced, marks) = flood(&pinned("red", "linux", &[]), "red", ecn, true);
        assert!((early, forced) == (0, 0) && marks > 100, "{ecn:?}: {early} {forced} {marks}");
    }
}

/// ns-2's comparison with mark_p is strict: at p_b = 1 a mark_p of 1 drops, one just above marks.
#[test]
fn mark_p_is_compared_strictly() {
    let with = |mark_p| flood(&pinned("red", "ns2", &[("mark_p", Value::Real(mark_p))]), "red", Ecn::Ect0, true);
    let (_, forced, _) = with(1.0);
    assert!(forced > 100, "{forced}");
    let (early, forced, marks) = with(1.000_000_1);
    assert!((early, forced) == (0, 0) && marks > 100, "{early} {forced} {marks}");
}

/// A small victim does not make room for a large arrival in a queue bounded in bytes: more victims die, or the arrival.
#[test]
fn a_byte_limit_holds_when_queued_packets_give_way() {
    for victim in ["front", "random"] {
        let values = values(&[
            ("overflow_victim", Value::Choice(victim)),
            ("min_th", Value::Real(900.0)),
            ("max_th", Value::Real(1000.0)),
        ]);
        let mut queue = queue("red", &values, &LINK, Limit::Bytes(3000), false, Generator::stream(1, "queue"));
        for i in 0..75 {
            let packet = Packet { tag: i, ..Packet::new(1, 40) };
            assert!(queue.enqueue(packet, Time::ZERO, &mut |_, _| {}).is_some());
        }
        let mut victims = 0;
        let large = Packet { tag: 75, ..Packet::new(1, 1500) };
        assert!(queue
            .enqueue(large, Time::ZERO, &mut |packet, reason| {
                assert_eq!((packet.size, reason), (40, Reason::Overflow));
                victims += 1;
            })
            .is_some());
        assert_eq!(victims, 38, "38 * 40 B >= 1500 B");
        assert_eq!((queue.packets(), queue.bytes()), (38, 37 * 40 + 1500));
        let too_large = Packet { tag: 76, ..Packet::new(1, 3001) };
        assert!(queue.enqueue(too_large, Time::ZERO, &mut |_, _| {}).is_none());
        assert_eq!(queue.packets(), 0, "everything gave way, and still there was no room");
        assert_eq!(queue.counters().overflow_drops, 38 + 38 + 1);
    }
}

/// An arrival that is dropped at an idle link has used up the idle time: the next one decays from there on, whether
/// or not the driver asks for a packet in between (a driver of arithmetic departures does not).
#[test]
fn idle_time_is_counted_once() {
    let values = values(&[
        ("min_th", Value::Real(1.0)),
        ("max_th", Value::Real(1.5)),
        ("w_q", Value::Real(0.1)),
        ("mean_packet", Value::Real(1000.0)),
    ]);
    // 10 packets/s.
    let link = Link { rate_bps: 80e3, delay_s: 0.0 };
    let averages = |asks: bool| {
        let mut queue = queue("red", &values, &link, Limit::Packets(50), false, Generator::stream(1, "queue"));
        let at = Time::from_seconds;
        // The average passes max_th after a few, and goes on to what is queued then.
        for _ in 0..100 {
            queue.enqueue(Packet::new(1, 1000), at(0.0), &mut |_, _| {});
        }
        while queue.dequeue(at(0.1), &mut |_, _| {}).is_some() {}
        [0.1, 0.37, 0.64, 0.91].map(|now| {
            assert!(queue.enqueue(Packet::new(1, 1000), at(now), &mut |_, _| {}).is_none(), "forced, at {now}");
            if asks {
                assert!(queue.dequeue(at(now), &mut |_, _| {}).is_none());
            }
            gauge(&*queue, "avg")
        })
    };
    let asked = averages(true);
    assert_eq!(asked, averages(false));
    // 2.7 packets each time, of which whole ones count: 2, then 3 of 3.4, 3 of 3.1. From the beginning there would be
    // 2, 5, 8; without what was left over 2, 2, 2.
    for (pair, packets) in asked.windows(2).zip([2, 3, 3]) {
        assert!((pair[1] / pair[0] - 0.9_f64.powi(packets)).abs() < 1e-12, "{asked:?}");
    }
}

/// Packets that come faster than the link could send them find it idle, since all are dropped: RED has to open again.
#[test]
fn an_average_above_max_th_does_not_stay_there_over_an_idle_link() {
    let link = Link { rate_bps: 1.5e6, delay_s: 0.0 };
    let stages = ["auto", "two_levels"].map(|stage| ("floadautored", Some(stage)));
    for (aqm, stage) in ["red", "nlred", "tred", "fred"].map(|aqm| (aqm, None)).into_iter().chain(stages) {
        let mut values = values(&[("min_th", Value::Real(5.0)), ("max_th", Value::Real(15.0))]);
        if let Some(stage) = stage {
            values.set("stage", Value::Choice(stage));
        }
        let mut queue = queue(aqm, &values, &link, Limit::Packets(50), false, Generator::stream(1, "queue"));
        let mut free = 0.0;
        let (mut sent, mut time) = (0, 0.0);
        while time < 60.0 {
            while free <= time && queue.dequeue(Time::from_seconds(free), &mut |_, _| {}).is_some() {
                free += 8.0 * 500.0 / 1.5e6;
                sent += usize::from(time >= 50.0);
            }
            queue.enqueue(Packet::new(1, 500), Time::from_seconds(time), &mut |_, _| {});
            if free <= time && queue.dequeue(Time::from_seconds(time), &mut |_, _| {}).is_some() {
                free = time + 8.0 * 500.0 / 1.5e6;
                sent += usize::from(time >= 50.0);
            }
            time += 8.0 * 500.0 / 3e6;
        }
        // 3,750 packets fit into the last ten seconds.
        assert!(sent > 1000, "{aqm} {stage:?} sends {sent}");
    }
}

/// A curve is asked in packets whatever the unit of the thresholds.
#[test]
fn drop_curves_take_packets_in_byte_mode_too() {
    for aqm in ["red", "nlred", "tred"] {
        let curve = catalogue::find(aqm).unwrap().curve.unwrap();
        let packet = values(&[("min_th", Value::Real(24.0)), ("max_th", Value::Real(72.0))]);
        let mut byte = packet.clone();
        byte.set("unit", Value::Choice("byte")).set("mean_packet", Value::Real(1000.0));
        for average in [10.0, 24.0, 37.5, 48.0, 60.0, 71.0, 72.0, 100.0] {
            let (in_packets, in_bytes) = (curve(&packet, &LINK, average), curve(&byte, &LINK, average));
            assert!((in_packets - in_bytes).abs() < 1e-12, "{aqm} at {average}: {in_packets} and {in_bytes}");
        }
    }
}
