//! Each rule of draft-ietf-ccwg-rfc8298bis-screamv2-01, with its section.

use super::super::settings::{Acked, News};
use super::super::tests::{acked, settings};
use super::super::Algorithm;
use super::*;

const RTT: f64 = 0.05;

/// A control long after its start, with this window.
fn scream(ecn: Ecn, ref_wnd: f64) -> Scream {
    let mut scream = Scream::new(&Settings { ecn, ..settings(Algorithm::Scream) });
    scream.measured = true;
    scream.ref_wnd = ref_wnd;
    (scream.max_bytes_in_flight, scream.max_bytes_in_flight_prev) = (100_000, 100_000);
    // The last reaction was in another round trip.
    scream.last_round = 10.0;
    scream.last_reaction = 9.0;
    scream.last_congestion_detected = 9.0;
    scream.last_update_l4s_alpha = 9.0;
    scream.last_update_qdelay_avg = 9.0;
    scream
}

fn news(now: f64, acked: &[Acked], lost: u32) -> News<'_> {
    let size = |acked: &Acked| u64::from(acked.size);
    let advanced = acked.iter().map(size).sum();
    let advanced_ce = acked.iter().filter(|acked| acked.ce).map(size).sum();
    News { now, acked, lost, advanced, advanced_ce, in_flight: 0, srtt: RTT }
}

fn marked(of: usize, marks: usize) -> Vec<Acked> {
    (0..of).map(|i| acked(9.9, 9.925, i < marks)).collect()
}

#[test]
fn alpha_rises_by_an_eighth_and_falls_by_a_128th() {
    // 4.2.1.3.
    let mut scream = scream(Ecn::L4s, 50_000.0);
    scream.average_marks(&news(10.0, &marked(4, 2), 0));
    assert_eq!(scream.l4s_alpha, 0.5 / 8.0);
    // Nothing moves before 10 ms are over; then both reports count.
    scream.average_marks(&news(10.009, &marked(4, 4), 0));
    assert_eq!(scream.l4s_alpha, 0.5 / 8.0);
    scream.average_marks(&news(10.011, &marked(4, 0), 0));
    assert_eq!(scream.l4s_alpha, 0.5 / 8.0 + 0.5 / 8.0 * 7.0 / 8.0);
    let before = scream.l4s_alpha;
    scream.average_marks(&news(10.022, &marked(4, 0), 0));
    assert_eq!(scream.l4s_alpha, before * 127.0 / 128.0);
}

#[test]
fn the_average_delay_rises_slowly_and_falls_at_once() {
    // 4.2.1.4.
    let mut scream = scream(Ecn::Off, 50_000.0);
    scream.average_delay(&news(10.0, &[acked(9.9, 9.92, false)], 0));
    assert_eq!((scream.qdelay, scream.qdelay_avg), (0.0, 0.0));
    scream.average_delay(&news(10.03, &[acked(9.9, 9.96, false)], 0));
    assert!((scream.qdelay_avg - 0.01).abs() < 1e-12);
    scream.average_delay(&news(10.06, &[acked(9.95, 9.975, false)], 0));
    assert!((scream.qdelay_avg - 0.005).abs() < 1e-12, "{}", scream.qdelay_avg);
}

#[test]
fn a_loss_leaves_seventy_percent_and_only_once_a_virtual_round_trip() {
    // 4.2.2.1: BETA_LOSS; min(VIRTUAL_RTT, s_rtt) is 25 ms.
    let mut scream = scream(Ecn::L4s, 50_000.0);
    scream.on_feedback(&news(10.0, &[], 1));
    assert_eq!(scream.ref_wnd, 35_000.0);
    assert_eq!((scream.ref_wnd_i, scream.last_congestion_detected), (50_000.0, 10.0));
    scream.on_feedback(&news(10.024, &[], 1));
    assert_eq!(scream.ref_wnd, 35_000.0);
    // The loss is remembered until a round trip is over.
    scream.on_feedback(&news(10.025, &[], 0));
    assert_eq!(scream.ref_wnd, 24_500.0);
    // Without an increase between two reductions, the inflection point stays.
    assert_eq!(scream.ref_wnd_i, 50_000.0);
}

#[test]
fn a_classic_mark_leaves_eighty_percent_and_a_loss_beside_it_counts_alone() {
    let mut scream = scream(Ecn::Classic, 50_000.0);
    scream.on_feedback(&news(10.0, &marked(1, 1), 0));
    assert_eq!(scream.ref_wnd, 40_000.0);
    let mut scream = super::tests::scream(Ecn::Classic, 50_000.0);
    scream.on_feedback(&news(10.0, &marked(1, 1), 1));
    assert_eq!(scream.ref_wnd, 35_000.0);
}

#[test]
fn l4s_marks_reduce_by_half_of_alpha() {
    // 4.2.2.1: l4s_alpha/2, over s_rtt/VIRTUAL_RTT = 2.
    let reduced = |change: fn(&mut Scream)| {
        let mut scream = scream(Ecn::L4s, 50_000.0);
        scream.l4s_alpha = 0.4;
        scream.last_update_l4s_alpha = 10.0;
        change(&mut scream);
        scream.on_feedback(&news(10.0, &marked(1, 1), 0));
        scream.ref_wnd
    };
    assert!((reduced(|_| {}) - 50_000.0 * 0.9).abs() < 1e-9);
    // At the last known maximum the reduction is a quarter of that.
    assert!((reduced(|scream| scream.ref_wnd_i = 50_000.0) - 50_000.0 * 0.975).abs() < 1e-9);
    // It is not, if the queue is long: more than a quarter of its target.
    let long = reduced(|scream| {
        scream.ref_wnd_i = 50_000.0;
        scream.delays.note(0.0, 10.0);
    });
    assert!((long - 50_000.0 * 0.9).abs() < 1e-9);
    // After a hundred round trips without congestion the window first falls to what was in flight.
    let old = reduced(|scream| {
        scream.last_reaction = 4.9;
        scream.max_bytes_in_flight_prev = 20_000;
    });
    assert!((old - 20_000.0 * 0.9).abs() < 1e-9);
    // The window never falls below 3000 B.
    assert_eq!(reduced(|scream| scream.ref_wnd = 3000.0), 3000.0);
}

#[test]
fn a_delay_above_half_of_its_target_reduces_as_marks_would() {
    // 4.2.1.4: l4s_alpha_v is 0 at 30 ms, 1 at 60 ms; the reduction is half of that, and another half for the RTT.
    let reduced = |qdelay_avg: f64| {
        let mut scream = scream(Ecn::Off, 50_000.0);
        (scream.qdelay_avg, scream.last_update_qdelay_avg) = (qdelay_avg, 10.0);
        scream.on_feedback(&news(10.0, &[], 0));
        scream.ref_wnd
    };
    assert_eq!(reduced(0.03), 50_000.0);
    assert!((reduced(0.045) - 50_000.0 * 0.875).abs() < 1e-9);
    assert!((reduced(0.06) - 50_000.0 * 0.75).abs() < 1e-9);
    assert_eq!(reduced(0.2), reduced(0.06));
}

#[test]
fn the_window_grows_by_a_segment_a_round_trip_and_faster_with_time() {
    // 4.2.2.2: a window of bytes acknowledged, just after congestion.
    let grown = |change: fn(&mut Scream)| {
        let mut scream = scream(Ecn::Off, 12_000.0);
        scream.last_congestion_detected = 10.0;
        change(&mut scream);
        scream.increase(&news(10.0, &vec![acked(9.9, 9.925, false); 10], 0), 1.0);
        scream.ref_wnd - 12_000.0
    };
    assert!((grown(|_| {}) - 1200.0).abs() < 1e-9);
    // A hundred round trips (5 s) later: 1 + 0.02 ref_wnd/MSS times as much.
    assert!((grown(|scream| scream.last_congestion_detected = 5.0) - 1200.0 * 1.2).abs() < 1e-9);
    assert!((grown(|scream| scream.last_congestion_detected = 7.5) - 1200.0 * 1.1).abs() < 1e-9);
    // At most a segment, 1.5 times the bytes in flight, and what the largest rate needs.
    let in_flight = |scream: &mut Scream, bytes| {
        (scream.max_bytes_in_flight, scream.max_bytes_in_flight_prev) = (bytes, 0);
    };
    let mut limited = scream(Ecn::Off, 12_000.0);
    in_flight(&mut limited, 7999);
    limited.increase(&news(10.0, &vec![acked(9.9, 9.925, false); 10], 0), 1.0);
    assert_eq!(limited.ref_wnd, 12_000.0);
    in_flight(&mut limited, 9000);
    limited.increase(&news(10.0, &vec![acked(9.9, 9.925, false); 10], 0), 1.0);
    assert!(limited.ref_wnd > 13_000.0);
    assert_eq!(grown(|scream| scream.target = scream.max_rate), 0.0);
}

#[test]
fn growth_is_slow_near_the_last_maximum_and_with_short_round_trips_and_leaves_out_marked_bytes() {
    let grown = |scl: f64, srtt: f64, marks: usize| {
        let mut scream = scream(Ecn::L4s, 12_000.0);
        scream.last_congestion_detected = 10.0;
        scream.increase(&News { srtt, ..news(10.0, &marked(10, marks), 0) }, scl);
        scream.ref_wnd - 12_000.0
    };
    assert!((grown(0.1, RTT, 0) - 300.0).abs() < 1e-9);
    assert!((grown(1.0, 0.005, 0) - 240.0).abs() < 1e-9);
    assert!((grown(1.0, RTT, 4) - 720.0).abs() < 1e-9);
}

#[test]
fn the_target_follows_from_window_and_round_trip_time() {
    // 4.4.
    let target = |change: fn(&mut Scream)| {
        let mut scream = scream(Ecn::Off, 30_000.0);
        change(&mut scream);
        scream.update_target(RTT);
        scream.target
    };
    let whole = 8.0 * 30_000.0 / RTT * 1200.0 / 1220.0;
    assert!((target(|_| {}) - whole / 1.2).abs() < 1e-6);
    assert!((target(|scream| scream.rate_adjust_factor = 0.3) - whole / 1.5).abs() < 1e-6);
    // A window of 4000 B is 3.3 segments: the target is 20 % less.
    let small = 8.0 * 4000.0 / RTT * 1200.0 / 1220.0;
    assert!((target(|scream| scream.ref_wnd = 4000.0) - small * 0.8 / 1.2).abs() < 1e-6);
    assert_eq!(target(|scream| scream.ref_wnd = 1e7), 1e7);
    assert_eq!(target(|scream| scream.ref_wnd = 100.0), 1e5);
}

#[test]
fn a_queue_at_the_sender_and_large_frames_lower_the_target() {
    // 4.4: rate_adjust_factor is integrated, frame_size_dev averaged.
    let mut scream = scream(Ecn::Off, 30_000.0);
    scream.on_frame(5000.0, 0.03);
    assert!((scream.rate_adjust_factor - 0.5 / 16.0).abs() < 1e-12);
    scream.on_frame(5000.0, 0.0);
    assert!((scream.rate_adjust_factor - 0.25 / 16.0).abs() < 1e-12);
    (0..100).for_each(|_| scream.on_frame(5000.0, 1.0));
    assert_eq!((scream.rate_adjust_factor, scream.frame_size_dev), (0.5, 0.0));
    // The nominal frame at 1 Mbit/s is 5000 B.
    scream.on_frame(10_000.0, 0.0);
    assert_eq!(scream.frame_size_dev, 1.0 / 64.0);
}

#[test]
fn pacing_is_relaxed_near_the_largest_rate() {
    // 4.3.2.
    let paced = |target: f64| Scream { target, ..scream(Ecn::Off, 30_000.0) }.pacing_rate();
    assert_eq!(paced(1e6), 1.5e6);
    assert_eq!(paced(8e6), 1.2e7);
    assert!((paced(9e6) - 2.7e7).abs() < 1e-6);
    assert_eq!(paced(1e7), 6e7);
    assert_eq!(paced(1e4), 7.5e4);
}

#[test]
fn the_window_may_be_exceeded_threefold() {
    // 4.3.1, where ref_wnd_delay_scale is 1.
    assert_eq!(scream(Ecn::Off, 30_000.0).window(), 90_000.0);
}
