//! LEDBAT++ (draft-irtf-iccrg-ledbat-plus-plus): LEDBAT by round-trip times, with slower growth, multiplicative decrease
//! and slowdowns that show the empty path.

use super::ledbat::Delays;
use super::{Acked, Control, Window, LEAST_SSTHRESH};

/// Bounds and scale of the gain, 1/16 to 1 (4.2).
const LARGEST_DIVISOR: f64 = 16.0;
/// Share of the target at which the first slow start ends (4.1).
const FIRST_EXIT: f64 = 0.75;
/// Segments in flight during a slowdown, and its length in round trips, which is also the time from slow start to the
/// first slowdown (4.4).
const LEAST: f64 = 2.0;
const ROUND_TRIPS: f64 = 2.0;
/// Time between slowdowns, in lengths of the last one (4.4).
const PERIOD: f64 = 9.0;

/// The phase in the cycle of slowdowns.
#[derive(Clone, Copy, Debug, PartialEq)]
enum Phase {
    /// In the first slow start.
    First,
    /// Normal operation until the next slowdown, at this time, s.
    Usual(f64),
    /// A slowdown, in which cwnd is two segments: when it has begun, and when it ends, s.
    Slow(f64, f64),
    /// The slow start back to the window before the slowdown; when the slowdown has begun, s.
    Return(f64),
}

/// The state of LEDBAT++.
#[derive(Clone, Debug)]
pub struct LedbatPlusPlus {
    target: f64,
    delays: Delays,
    phase: Phase,
}

impl LedbatPlusPlus {
    /// LEDBAT++ with at most `target` seconds of queueing delay (the draft: 0.06).
    pub fn new(target: f64) -> Self {
        LedbatPlusPlus { target, delays: Delays::default(), phase: Phase::First }
    }

    /// Growth in segments a round trip; in slow start as a part of NewReno's (4.2).
    fn gain(&self) -> f64 {
        1.0 / (2.0 * self.target / self.delays.base()).ceil().clamp(1.0, LARGEST_DIVISOR)
    }

    /// Starts the next phase, if its time has come.
    fn turn(&mut self, window: &mut Window, ack: &Acked) {
        match self.phase {
            Phase::First => {
                if window.slow_start() && self.delays.queueing() > FIRST_EXIT * self.target {
                    window.ssthresh = window.cwnd;
                }
                if !window.slow_start() {
                    self.phase = Phase::Usual(ack.now + ROUND_TRIPS * ack.srtt);
                }
            }
            Phase::Usual(at) if ack.now >= at && !window.slow_start() => {
                window.ssthresh = window.cwnd;
                window.cwnd = window.cwnd.min(LEAST);
                self.phase = Phase::Slow(ack.now, ack.now + ROUND_TRIPS * ack.srtt);
            }
            Phase::Slow(begun, end) if ack.now >= end => self.phase = Phase::Return(begun),
            Phase::Return(begun) if !window.slow_start() => {
                self.phase = Phase::Usual(ack.now + PERIOD * (ack.now - begun));
            }
            _ => {}
        }
    }
}

impl Control for LedbatPlusPlus {
    fn on_any_ack(&mut self, window: &mut Window, ack: &Acked) {
        if let Some(rtt) = ack.rtt {
            self.delays.note(rtt, ack.now);
        }
        if ack.recovering || ack.segments == 0.0 || !self.delays.known() {
            return;
        }
        self.turn(window, ack);
        // 4.3: an excess shrinks the window in proportion, by half in a round trip at most.
        let excess = self.delays.queueing() / self.target - 1.0;
        if excess > 0.0 && !window.slow_start() {
            let change = (self.gain() - window.cwnd * excess).max(-window.cwnd / 2.0);
            window.cwnd = (window.cwnd + change * ack.segments / window.cwnd).max(LEAST);
            window.ssthresh = window.ssthresh.min(window.cwnd);
        }
    }

    fn grow(&mut self, window: &mut Window, ack: &Acked) {
        if !self.delays.known() || matches!(self.phase, Phase::Slow(..)) {
            return;
        }
        if window.slow_start() {
            super::slow_start(window, self.gain() * ack.segments, f64::INFINITY);
        } else if self.delays.queueing() <= self.target {
            window.cwnd += self.gain() * ack.segments / window.cwnd;
        }
    }

    fn on_loss(&mut self, window: &Window, _: f64, now: f64) -> f64 {
        // A loss ends a slowdown, and shrinks the window of before.
        if let Phase::Slow(begun, _) | Phase::Return(begun) = self.phase {
            self.phase = Phase::Usual(now + PERIOD * (now - begun));
            return (window.ssthresh / 2.0).max(LEAST_SSTHRESH);
        }
        (window.cwnd / 2.0).max(LEAST_SSTHRESH)
    }
}

#[cfg(test)]
mod tests {
    use super::super::tests::acked;
    use super::*;

    const TARGET: f64 = 0.06;
    const BASE: f64 = 0.02;

    fn ack(now: f64, queueing: f64, segments: f64) -> Acked {
        Acked { now, rtt: Some(BASE + queueing), srtt: BASE, ..acked(segments) }
    }

    /// A control after slow start at time 0, with the base delay known, and this window.
    fn usual(cwnd: f64) -> (LedbatPlusPlus, Window) {
        let mut control = LedbatPlusPlus::new(TARGET);
        let mut window = Window { cwnd, ssthresh: cwnd };
        control.on_any_ack(&mut window, &ack(0.0, 0.0, 1.0));
        assert_eq!(control.phase, Phase::Usual(2.0 * BASE));
        (control, window)
    }

    #[test]
    fn the_gain_by_hand() {
        // Base RTT in ms, and the divisor: ceil(120 / base), at most 16.
        for (ms, divisor) in
            [(1.0, 16.0), (7.5, 16.0), (8.0, 15.0), (20.0, 6.0), (60.0, 2.0), (120.0, 1.0), (300.0, 1.0)]
        {
            let mut control = LedbatPlusPlus::new(TARGET);
            control.delays.note(ms / 1e3, 0.0);
            assert_eq!(control.gain(), 1.0 / divisor, "{ms}");
        }
    }

    #[test]
    fn slow_start_grows_by_the_gain_and_ends_at_three_quarters_of_the_target() {
        let mut control = LedbatPlusPlus::new(TARGET);
        let mut window = Window { cwnd: 2.0, ssthresh: f64::INFINITY };
        let mut step = |queueing: f64| {
            for _ in 0..4 {
                let ack = ack(0.0, queueing, 3.0);
                control.on_any_ack(&mut window, &ack);
                control.grow(&mut window, &ack);
            }
            (window.cwnd, window.slow_start())
        };
        assert_eq!(step(0.0), (4.0, true), "a sixth of twelve segments");
        assert_eq!(step(0.045), (6.0, true));
        // From the fourth sample on the smallest of four is above.
        assert!(!step(0.0451).1);
        assert_eq!(control.phase, Phase::Usual(2.0 * BASE));
    }

    #[test]
    fn changes_in_a_round_trip_by_hand() {
        // 100 segments: growth by 1/6 up to the target; at a tenth above it a decrease by a tenth, at most by half.
        for (queueing, expected) in [(0.0, 1.0 / 6.0), (0.06, 1.0 / 6.0), (0.066, 1.0 / 6.0 - 10.0), (0.6, -50.0)] {
            let (mut control, mut window) = usual(100.0);
            for _ in 0..4 {
                control.delays.note(BASE + queueing, 0.0);
            }
            let ack = ack(0.001, queueing, 1.0);
            control.on_any_ack(&mut window, &ack);
            control.grow(&mut window, &ack);
            assert!((window.cwnd - 100.0 - expected / 100.0).abs() < 1e-9, "{queueing}: {}", window.cwnd);
        }
    }

    #[test]
    fn a_slowdown_lasts_two_round_trips_and_the_next_comes_after_nine_lengths() {
        let (mut control, mut window) = usual(14.0);
        let mut at = |ms: f64, segments: f64| {
            let ack = ack(ms / 1e3, 0.0, segments);
            control.on_any_ack(&mut window, &ack);
            control.grow(&mut window, &ack);
            (window.cwnd, control.phase)
        };
        assert!(at(39.0, 1.0).0 > 14.0);
        let (cwnd, phase) = at(40.0, 1.0);
        assert_eq!((cwnd, phase), (2.0, Phase::Slow(0.04, 0.08)));
        assert_eq!(at(79.0, 2.0).0, 2.0);
        assert_eq!(at(80.0, 6.0), (3.0, Phase::Return(0.04)));
        let (cwnd, _) = at(140.0, 600.0);
        assert!(cwnd > 14.0, "back at the window of before: {cwnd}");
        let (_, phase) = at(140.0, 1.0);
        assert_eq!(phase, Phase::Usual(0.14 + 9.0 * (0.14 - 0.04)));
    }

    #[test]
    fn a_loss_halves_and_in_a_slowdown_the_window_of_before() {
        let (mut control, mut window) = usual(20.0);
        assert_eq!(control.on_loss(&window, 20.0, 0.01), 10.0);
        assert_eq!(control.on_loss(&Window { cwnd: 3.0, ssthresh: 3.0 }, 3.0, 0.01), 2.0);
        control.on_any_ack(&mut window, &ack(0.04, 0.0, 1.0));
        assert_eq!((window.cwnd, window.ssthresh), (2.0, 20.0));
        assert_eq!(control.on_loss(&window, 2.0, 0.05), 10.0);
        assert!(matches!(control.phase, Phase::Usual(at) if (at - 0.14).abs() < 1e-12));
    }
}
