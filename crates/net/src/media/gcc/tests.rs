use super::super::settings::{Acked, News};
use super::super::tests::{acked, settings};
use super::super::Algorithm;
use super::*;

fn news(now: f64, acked: &[Acked], lost: u32) -> News<'_> {
    News { now, acked, lost, advanced: 0, advanced_ce: 0, in_flight: 0, srtt: 0.05 }
}

/// The loss-based rate after a report with `lost` of a hundred packets lost.
fn after_losses(lost: u32) -> f64 {
    let mut gcc = Gcc::new(&settings(Algorithm::Gcc));
    let received = vec![acked(0.0, 0.05, false); 100 - lost as usize];
    gcc.on_losses(&news(1.0, &received, lost));
    gcc.loss_based
}

#[test]
fn losses_below_two_percent_let_it_grow_up_to_ten_hold_it_and_more_reduce_it() {
    assert_eq!(after_losses(0), 1.05e6);
    assert_eq!(after_losses(1), 1.05e6);
    assert_eq!(after_losses(2), 1e6);
    assert_eq!(after_losses(10), 1e6);
    assert!((after_losses(11) - 1e6 * (1.0 - 0.055)).abs() < 1e-6);
}

#[test]
fn losses_count_over_a_fifth_of_a_second() {
    let mut gcc = Gcc::new(&settings(Algorithm::Gcc));
    gcc.last_losses = 1.0;
    gcc.on_losses(&news(1.19, &[], 50));
    assert_eq!(gcc.loss_based, 1e6);
    gcc.on_losses(&news(1.201, &[acked(0.0, 0.05, false); 50], 0));
    assert_eq!(gcc.loss_based, 0.75e6);
}

#[test]
fn the_smaller_rate_is_the_target_within_its_limits() {
    let mut gcc = Gcc::new(&settings(Algorithm::Gcc));
    assert_eq!((gcc.target(), gcc.pacing_rate()), (1e6, 2.5e6));
    gcc.loss_based = 5e5;
    assert_eq!(gcc.target(), 5e5);
    gcc.loss_based = 1.0;
    assert_eq!(gcc.target(), 1e5);
}

/// A queue that grows by 2 ms a frame is over-use within a second, and 85 % of the received rate remain.
#[test]
fn a_growing_queue_is_over_use() {
    let mut gcc = Gcc::new(&settings(Algorithm::Gcc));
    let mut found = None;
    for frame in 0..100 {
        let sent = f64::from(frame) * 0.04;
        let delay = 0.05 + (f64::from(frame) - 30.0).max(0.0) * 0.002;
        gcc.on_feedback(&news(sent + delay + 0.05, &[acked(sent, sent + delay, false)], 0));
        if gcc.detector.usage() == Usage::Over {
            found = Some((frame, gcc.target()));
            break;
        }
    }
    let (frame, target) = found.expect("over-use");
    assert!((31..56).contains(&frame), "{frame}");
    // A packet of 1200 B every 42 ms: half a second has 11 to 13 of them.
    let packets = target / (0.85 * 8.0 * 1200.0 * 2.0);
    assert!((11.0..=13.0).contains(&packets), "{packets}");
}
