//! Figures worked out by hand from the published formulas, for the averages, the curves, and the rules at the edges.
//! `docs/algorithms/` refers to these tests by name.

mod common;

use common::{gauge, queue, values};
use earlydrop_aqm::early_detection::{average::Average, linux, ns2::decay_repeatedly};
use earlydrop_aqm::prelude::*;
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::Arc;

const LINK: Link = Link { rate_bps: 5e6, delay_s: 0.01 };

fn near(found: f64, want: f64, tolerance: f64) {
    assert!((found - want).abs() <= tolerance, "{found} instead of {want}");
}

/// An average of 20 with weight 0.002 on a link of 187.5 packets/s.
fn twenty(mut average: Average) -> Average {
    average.set_weight(1.0);
    assert_eq!(average.observe(20.0, None, Time::ZERO), 20.0);
    average.set_weight(0.002);
    average
}

#[test]
fn average_of_a_busy_link() {
    for mut average in [Average::paper(0.25, 100.0), Average::ns(0.25, 100.0)] {
        let seen = [4.0, 8.0, 0.0, 3.0].map(|q| average.observe(q, None, Time::ZERO));
        assert_eq!(seen, [1.0, 2.75, 2.0625, 2.296_875]);
    }
}

/// 1.5 Mbit/s and 1000 B: 187 whole packets in one idle second.
#[test]
fn average_after_an_idle_second() {
    let after = |average: Average, idle: f64| {
        twenty(average).observe(0.0, Some(Time::from_seconds(1.0)), Time::from_seconds(1.0 + idle))
    };
    // 20 * 0.998^187 and 20 * 0.998^188.
    near(after(Average::paper(0.002, 187.5), 1.0), 13.754_4, 5e-5);
    near(after(Average::ns(0.002, 187.5), 1.0), 13.726_9, 5e-5);
    // Less than a packet's time: the paper leaves the average alone, ns-2 adds a sample of 0.
    near(after(Average::paper(0.002, 187.5), 0.005), 20.0, 0.0);
    near(after(Average::ns(0.002, 187.5), 0.005), 19.96, 1e-12);
}

#[test]
fn average_with_weight_one_forgets_and_stays_a_number() {
    for mut average in [Average::paper(1.0, 100.0), Average::ns(1.0, 100.0)] {
        average.observe(7.0, None, Time::ZERO);
        assert!(average.observe(0.0, Some(Time::from_seconds(1.0)), Time::from_seconds(1.0)).is_finite());
        assert_eq!(average.observe(0.0, Some(Time::from_seconds(1.0)), Time::from_seconds(2.0)), 0.0);
    }
}

/// Days of silence on a fast link must not cost a multiplication for each packet that was not sent: these would be
/// 2.5e15. Multiplying stops at the smallest number there is, which 0.998 does not make any smaller.
#[test]
fn average_after_days_of_silence_stops_multiplying() {
    let mut average = twenty(Average::ns(0.002, 2.5e6));
    let after = average.observe(0.0, Some(Time::from_seconds(0.0)), Time::from_seconds(1e9));
    assert!((0.0..1e-300).contains(&after));
}

/// With a small weight nothing stops it: these would be 1.25e14 and 2.5e9 multiplications. At 2^18 the power begins; up
/// to there every bit is that of multiplying.
#[test]
fn average_after_a_pause_of_any_length_is_a_power() {
    for (weight, packets_per_second) in [(1e-15, 1.25e14), (1e-9, 2.5e9)] {
        let mut average = twenty(Average::ns(weight, packets_per_second));
        average.set_weight(weight);
        let after = average.observe(0.0, Some(Time::from_seconds(0.0)), Time::from_seconds(1.0));
        near(after, 20.0 * f64::exp(-weight * packets_per_second), 1e-6);
    }
    let multiplied = |times: u32| (0..times).fold(20.0, |average: f64, _| average * (1.0 - 1e-6));
    for times in [1000, (1 << 18) - 1, 1 << 18] {
        assert_eq!(decay_repeatedly(20.0, 1e-6, times.into()).to_bits(), multiplied(times).to_bits());
    }
    near(decay_repeatedly(20.0, 1e-6, 3 << 18), multiplied(3 << 18), 1e-9);
}

/// limit free, avpkt 1000, 10 Mbit/s, min 30000, max 90000: burst 50, W = 2^-5, cells of 2^15.
#[test]
fn linux_average_decays_by_table() {
    let at_30000 = || {
        let mut state = linux::Average::new(5, 1000.0, 10e6, linux::Tc::Since615);
        for _ in 0..2000 {
            state.update(30_000);
        }
        near(state.bytes(), 30_000.0, 1.0);
        state
    };
    let after = |idle_s: f64| {
        let mut state = at_30000();
        state.decay(idle_s);
        state.bytes()
    };
    // 10 ms are 10000 us, in the first cell: 1 - 10000/32768 of it.
    near(after(0.01), 30_000.0 * (1.0 - 10_000.0 / 32_768.0), 2.0);
    // 30 ms are 30000 us: by the line 0.084 of it, but never below half.
    near(after(0.03), 15_000.0, 2.0);
    // 200 ms are cell 6, whose shift is still 0, where in ticks it would be cell 95 and 7.
    near(after(0.2), 15_000.0, 2.0);
    // One second is cell 30, whose shift is floor(30 * 2^15 * 2.54e-6) = 2.
    near(after(1.0), 7_500.0, 2.0);
    // In ticks of 64 ns, for which tc made the table, one second would be past its end.
    assert!(after(1.0) > 1000.0);
    // The longest that is looked up is cell 255: a shift of 31, however long the silence.
    assert_eq!(after(8.4), after(1e6));
    near(after(1e6), 0.0, 0.04);
}

fn curve(aqm: &str, more: &[(&'static str, Value)]) -> impl Fn(f64) -> f64 {
    let mut values =
        values(&[("min_th", Value::Real(24.0)), ("max_th", Value::Real(72.0)), ("max_p", Value::Real(0.1))]);
    for &(name, value) in more {
        values.set(name, value);
    }
    let curve = catalogue::find(aqm).unwrap().curve.unwrap();
    move |average| curve(&values, &LINK, average)
}

fn passes_through(curve: impl Fn(f64) -> f64, points: &[(f64, f64)]) {
    for &(average, want) in points {
        near(curve(average), want, 1e-12);
    }
}

#[test]
fn points_of_red() {
    passes_through(
        curve("red", &[]),
        &[
            (0.0, 0.0),
            (23.999, 0.0),
            (24.0, 0.0),
            (36.0, 0.025),
            (48.0, 0.05),
            (60.0, 0.075),
            (72.0, 1.0),
            (500.0, 1.0),
        ],
    );
    near(curve("red", &[])(72.0 - 1e-9), 0.1, 1e-10);
}

#[test]
fn points_of_gentle_red() {
    let gentle = curve("red", &[("gentle", Value::Flag(true))]);
    passes_through(gentle, &[(48.0, 0.05), (72.0, 0.1), (90.0, 0.325), (108.0, 0.55), (144.0, 1.0), (1000.0, 1.0)]);
}

#[test]
fn points_of_nlred() {
    // 0.15 x^2 at x = 1/4, 1/2, 2/3 (where it crosses RED), 3/4.
    let nlred = curve("nlred", &[]);
    passes_through(&nlred, &[(24.0, 0.0), (36.0, 0.009_375), (48.0, 0.0375), (56.0, 0.2 / 3.0), (60.0, 0.084_375)]);
    near(nlred(72.0 - 1e-9), 0.15, 1e-10);
    assert_eq!(nlred(72.0), 1.0);
}

#[test]
fn points_of_tred() {
    // 0.9 (1/6)^3 = 1/240 at 32; 1/30 at B = 40; 0.05 at 48; 1/15 at C = 56; 0.1 - 1/240 at 64.
    let tred = curve("tred", &[]);
    passes_through(
        &tred,
        &[(24.0, 0.0), (32.0, 1.0 / 240.0), (40.0, 1.0 / 30.0), (48.0, 0.05), (56.0, 1.0 / 15.0), (64.0, 23.0 / 240.0)],
    );
    near(tred(72.0 - 1e-9), 0.1, 1e-10);
    assert_eq!(tred(72.0), 1.0);
    // Continuous at B and C, and on the right side of RED in each section.
    near(tred(40.0 - 1e-9), tred(40.0), 1e-9);
    near(tred(56.0 - 1e-9), tred(56.0), 1e-9);
    let red = curve("red", &[]);
    assert!(tred(32.0) < red(32.0) && (tred(50.0) - red(50.0)).abs() < 1e-12 && tred(64.0) > red(64.0));
}

/// Eq. 8 as printed: 0.9 x^3 + 0.1 in the third section, 11/3 of max_p at C and 10 max_p at D.
#[test]
fn points_of_tred_as_printed() {
    let printed = curve("tred", &[("reading", Value::Choice("printed"))]);
    passes_through(
        &printed,
        &[(32.0, 1.0 / 240.0), (48.0, 0.05), (56.0, 11.0 / 30.0), (64.0, 0.1 + 0.9 * 125.0 / 216.0), (72.0, 1.0)],
    );
    near(printed(56.0 - 1e-9), 1.0 / 15.0, 1e-9);
    near(printed(72.0 - 1e-9), 1.0, 1e-9);
}

/// Arrivals at time 0 until the queue refuses one.
fn holds(aqm: &str, values: &Values, limit: Limit, size: u32) -> u64 {
    let mut queue = queue(aqm, values, &LINK, limit, false, Generator::stream(1, "queue"));
    (0..).take_while(|_| queue.enqueue(Packet::new(1, size), Time::ZERO, &mut |_, _| {}).is_some()).count() as u64
}

#[test]
fn capacity_by_tool() {
    let n = Values::new();
    let n_minus_1 = values(&[("capacity_rule", Value::Choice("n_minus_1"))]);
    assert_eq!(holds("droptail", &n, Limit::Packets(20), 1000), 20);
    assert_eq!(holds("droptail", &n_minus_1, Limit::Packets(20), 1000), 19);
    assert_eq!(holds("droptail", &n, Limit::Bytes(10_000), 500), 20);
    assert_eq!(holds("droptail", &n_minus_1, Limit::Bytes(10_000), 500), 19);
    // 10000 B and 300 B packets: 33 fit with the arrival.
    assert_eq!(holds("droptail", &n, Limit::Bytes(10_000), 300), 33);
    // RED of ns-2 tests before it adds: N packets, and in bytes one packet beyond.
    let high = [("min_th", Value::Real(900.0)), ("max_th", Value::Real(1000.0)), ("dialect", Value::Choice("ns2"))];
    let mut red = values(&high);
    assert_eq!(holds("red", &red, Limit::Packets(20), 1000), 20);
    red.set("unit", Value::Choice("byte"));
    assert_eq!(holds("red", &red, Limit::Packets(20), 300), 34, "20 * 500 B: 33 * 300 = 9900 < 10000");
    red.set("dialect", Value::Choice("paper"));
    assert_eq!(holds("red", &red, Limit::Bytes(10_000), 300), 33);
}

/// RED with weight 1, so that the average is the queue found, and a count of the random numbers it used.
struct Pinned {
    queue: Box<dyn Discipline>,
    draws: Arc<AtomicU64>,
}

impl Pinned {
    /// `numbers` one after the other, then 1 for ever (which never hits unless p is 1).
    fn new(more: &[(&'static str, Value)], limit: u64, ecn: bool, numbers: &[f64]) -> Self {
        let mut values = values(&[
            ("min_th", Value::Real(3.0)),
            ("max_th", Value::Real(8.0)),
            ("max_p", Value::Real(0.5)),
            ("w_q", Value::Real(1.0)),
            ("mean_packet", Value::Real(1000.0)),
        ]);
        for &(name, value) in more {
            values.set(name, value);
        }
        let draws = Arc::new(AtomicU64::new(0));
        let counter = Arc::clone(&draws);
        let mut numbers = std::collections::VecDeque::from(numbers.to_vec());
        let random = Generator::custom(move || {
            counter.fetch_add(1, Ordering::Relaxed);
            numbers.pop_front().unwrap_or(1.0)
        });
        Pinned { queue: queue("red", &values, &LINK, Limit::Packets(limit), ecn, random), draws }
    }

    /// An arrival: what became of it, and how many numbers it used.
    fn arrive(&mut self, packet: Packet) -> (Option<Reason>, u64) {
        let before = self.draws.load(Ordering::Relaxed);
        let mut reason = None;
        self.queue.enqueue(packet, Time::ZERO, &mut |_, why| reason = Some(why));
        (reason, self.draws.load(Ordering::Relaxed) - before)
    }

    fn arrivals<const N: usize>(&mut self) -> [(Option<Reason>, u64); N] {
        std::array::from_fn(|_| self.arrive(Packet::new(1, 1000)))
    }
}

const PASS: (Option<Reason>, u64) = (None, 0);
const DRAWN: (Option<Reason>, u64) = (None, 1);

#[test]
fn paper_draws_between_the_thresholds_and_drops_above() {
    let mut red = Pinned::new(&[], 50, false, &[]);
    let (forced, early) = ((Some(Reason::Forced), 0), (Some(Reason::Early), 1));
    // Found 0, 1, 2: below. Found 3, 4, 5: counts 0, 1, 2, p_b 0, 0.1, 0.2, and u = 1 passes. Found 6: count 3 and
    // p_b 0.3 make p_a = 0.3/0.1, that is 1, and it drops even at u = 1.
    assert_eq!(red.arrivals::<7>(), [PASS, PASS, PASS, DRAWN, DRAWN, DRAWN, early]);
    // Found 6 again: count 1. Found 7: count 2, p_b 0.4, p_a = 0.4/0.2. Found 7: count 1. Found 8: past the end.
    assert_eq!(red.arrivals::<5>(), [DRAWN, early, DRAWN, forced, forced]);
}

#[test]
fn ns2_admits_the_crossing_packet_without_a_draw_and_waits() {
    let ns2 = ("dialect", Value::Choice("ns2"));
    let mut red = Pinned::new(&[ns2, ("ecn_over_max", Value::Choice("drop"))], 50, false, &[]);
    let early = (Some(Reason::Early), 1);
    // Found 3: it crosses, count 1. Found 4, 5: count p_b is 0.2 and 0.6, a draw for nothing. Found 6: 1.2, and
    // p_a = 0.3/0.8. Found 7: 2, and p_a is 1.
    assert_eq!(red.arrivals::<8>(), [PASS, PASS, PASS, PASS, DRAWN, DRAWN, DRAWN, early]);
    // Found 7: count 1. Found 8 with use_mark_p off: certain, without a draw.
    assert_eq!(red.arrivals::<3>(), [DRAWN, (Some(Reason::Forced), 0), (Some(Reason::Forced), 0)]);
    // With use_mark_p, as by default since 2005, p_b = 1 goes through the spacing, draw and all.
    let mut red = Pinned::new(&[ns2], 50, false, &[]);
    red.arrivals::<9>();
    assert_eq!(red.arrivals::<2>(), [(Some(Reason::Forced), 1); 2]);
}

/// A drop means u <= p, but a probability of 0 drops nothing, even at u = 0.
#[test]
fn probability_zero_never_drops() {
    let four = ("min_th", Value::Real(4.0));
    for (dialect, draws) in [("paper", 1), ("ns2", 0), ("ns3", 0)] {
        // Found 4: the average is min_th exactly, and with 4 and 8 the line is exactly 0 there.
        let mut red = Pinned::new(&[four, ("dialect", Value::Choice(dialect))], 50, false, &[0.0; 50]);
        assert_eq!(red.arrivals::<5>(), [PASS, PASS, PASS, PASS, (None, draws)], "{dialect}");
    }
    // ns-2 waits: count p_b is 2/8 and 6/8, so p_a is 0 and u = 0 passes; then 12/8, and it does not.
    let mut red = Pinned::new(&[four, ("dialect", Value::Choice("ns2"))], 50, false, &[0.0; 50]);
    red.arrivals::<5>();
    assert_eq!(red.arrivals::<3>(), [DRAWN, DRAWN, (Some(Reason::Early), 1)]);
}

/// Weight 1/2, so that the average is above min_th when a queue of one packet is found.
#[test]
fn ns2_drops_nothing_early_from_a_queue_of_one() {
    for (dialect, dropped) in [("ns2", 0), ("ns3", 0), ("paper", 1)] {
        let more = [
            ("dialect", Value::Choice(dialect)),
            ("w_q", Value::Real(0.5)),
            ("min_th", Value::Real(0.5)),
            ("max_th", Value::Real(1.2)),
            ("max_p", Value::Real(1.0)),
        ];
        let mut red = Pinned::new(&more, 50, false, &[0.0; 50]);
        // Averages 0, 0.5 (at a queue of 1 each time from here: one goes out for each that comes in).
        let mut drops = 0;
        for i in 0..40 {
            drops += u64::from(red.arrive(Packet::new(1, 1000)).0.is_some());
            if i > 0 && red.queue.packets() > 1 {
                red.queue.dequeue(Time::ZERO, &mut |_, _| {});
            }
        }
        assert_eq!(u64::from(drops > 0), dropped, "{dialect}: {drops} drops");
    }
}

/// Past the end of the curve: the figure of 1993 marks, RFC 3168, section 7, has packets dropped.
#[test]
fn ecn_past_the_end_drops_by_rfc_3168_or_marks_by_the_figure() {
    for (word, drops, marks) in [("auto", 5, 0), ("drop", 5, 0), ("mark", 0, 5)] {
        let mut red = Pinned::new(&[("ecn_over_max", Value::Choice(word))], 50, true, &[]);
        let ect = Packet { ecn: Ecn::Ect0, ..Packet::new(1, 1000) };
        while red.queue.packets() < 8 {
            red.arrive(ect);
        }
        red.queue.reset_counters();
        (0..5).for_each(|_| assert_eq!(red.arrive(ect).1, 0, "nothing is drawn"));
        assert_eq!((red.queue.counters().forced_drops, red.queue.counters().marks), (drops, marks), "{word}");
    }
    let source = catalogue::find("red").unwrap().param("ecn_over_max").unwrap().source;
    assert!(source.contains("RFC 3168, section 7; the 1993 figure: mark"), "{source}");
}

/// ns-2 in byte mode with wait: after a drop the count is 0 whole mean packets until 500 B have come, and 0 * p_b = 0,
/// so twelve acknowledgements of 40 B pass although p_b is 1; the thirteenth makes it 520 B.
#[test]
fn ns2_lets_twelve_small_packets_pass_after_a_drop_at_p_b_one() {
    let more = [
        ("dialect", Value::Choice("ns2")),
        ("unit", Value::Choice("byte")),
        ("byte_scaling", Value::Flag(true)),
        ("mean_packet", Value::Real(500.0)),
    ];
    let mut red = Pinned::new(&more, 1000, false, &[]);
    for _ in 0..30 {
        red.arrive(Packet::new(1, 1000));
    }
    assert_eq!(red.arrive(Packet::new(1, 1000)).0, Some(Reason::Forced), "the average is past the end");
    for round in 0..3 {
        for i in 1..=12 {
            assert_eq!(red.arrive(Packet::new(1, 40)).0, None, "round {round}, packet {i}");
        }
        assert_eq!(red.arrive(Packet::new(1, 40)).0, Some(Reason::Forced), "round {round}");
    }
}

/// Linux draws when the average passes min_th, and again at each drop; past the end it marks what it can.
#[test]
fn linux_draws_once_for_each_drop() {
    let more = [("dialect", Value::Choice("linux"))];
    let mut red = Pinned::new(&more, 500, true, &[0.9, 0.4]);
    let ect = Packet { ecn: Ecn::Ect0, ..Packet::new(1, 1000) };
    let mut drawn = 0;
    let mut marked_at = Vec::new();
    for i in 0..14 {
        let marks = red.queue.counters().marks;
        let (reason, draws) = red.arrive(ect);
        assert_eq!(reason, None, "everything can be marked");
        drawn += draws;
        if red.queue.counters().marks > marks {
            marked_at.push((i, gauge(&*red.queue, "p_b")));
        }
    }
    // The first draw at the crossing, one at each mark between the thresholds, none past the end.
    let between = marked_at.iter().filter(|&&(_, p_b)| p_b < 1.0).count() as u64;
    assert!(between >= 1 && (marked_at.len() as u64) > between, "{marked_at:?}");
    assert_eq!(drawn, 1 + between);
}

/// Where RED drops an arrival that would not have found room either: ns-2 calls it an overflow and starts its count
/// again; in the others it never came to the question of room.
#[test]
fn early_drop_at_a_full_queue_by_dialect() {
    for (dialect, want) in [("paper", Reason::Early), ("ns3", Reason::Early), ("ns2", Reason::Overflow)] {
        // Found: 0 .. 5, then 6 every time, of which there is no room for a seventh.
        let more = [
            ("dialect", Value::Choice(dialect)),
            ("wait", if dialect == "paper" { Value::Auto } else { Value::Flag(false) }),
        ];
        let mut red = Pinned::new(&more, 6, false, &[]);
        let mut dropped = red.arrivals::<6>();
        assert_eq!(dropped.map(|d| d.0), [None; 6]);
        // p_b 0.3, count rising: an overflow until p_a is 1, and then the dialects part.
        dropped = red.arrivals::<6>();
        let early = dropped.iter().filter(|d| d.0 == Some(Reason::Early)).count();
        assert_eq!(early > 0, want == Reason::Early, "{dialect}: {dropped:?}");
        assert!(dropped.iter().all(|d| d.0.is_some()));
    }
}

/// ns-2's automatic settings at 10 Mbit/s, 500 B, 10 ms: 2500 packets/s, 5 ms of them are 12.5, half of it 6.25.
#[test]
fn automatic_settings_of_ns2() {
    let link = Link { rate_bps: 10e6, delay_s: 0.01 };
    let auto = values(&[("min_th", Value::Auto), ("max_th", Value::Auto), ("max_p", Value::Real(0.1))]);
    let curve = catalogue::find("red").unwrap().curve.unwrap();
    near(curve(&auto, &link, 6.25), 0.0, 1e-15);
    near(curve(&auto, &link, 12.5), 0.05, 1e-12);
    near(curve(&auto, &link, 18.75 - 1e-9), 0.1, 1e-9);
    assert_eq!(curve(&auto, &link, 18.75), 1.0);
    // A slow link: never below 5 and 15.
    near(curve(&auto, &Link { rate_bps: 1e6, delay_s: 0.01 }, 10.0), 0.05, 1e-12);
    // The automatic weight: rtt = max(0.1, 3 (0.01 + 0.0004)) = 0.1 s, so 1 - exp(-1/2500).
    let mut queue =
        queue("red", &values(&[("w_q", Value::Auto)]), &link, Limit::Packets(50), false, Generator::stream(1, "q"));
    for _ in 0..2 {
        queue.enqueue(Packet::new(1, 500), Time::ZERO, &mut |_, _| {});
    }
    near(gauge(&*queue, "avg"), 1.0 - (-1.0_f64 / 2500.0).exp(), 1e-15);
}
