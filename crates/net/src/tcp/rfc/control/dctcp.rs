//! DCTCP (RFC 8257): marks reduce cwnd in proportion to the marked fraction.

use super::slow_start::SlowStart;
use super::{Acked, Avoidance, Control, NewReno, Window, LEAST_SSTHRESH};
use crate::tcp::output::Variable;

/// Weight of a new sample, `g` (RFC 8257, 4.2).
pub const G: f64 = 1.0 / 16.0;
/// Initial estimate (RFC 8257, 3.3: 1 is conservative).
const INITIAL_ALPHA: f64 = 1.0;
/// Linux counts the fraction in 1/1024 (`DCTCP_MAX_ALPHA`).
const UNITS: f64 = 1024.0;

/// The moving average of the marked fraction, window by window (RFC 8257, 3.3, `DCTCP.Alpha`).
#[derive(Clone, Debug)]
pub struct Fraction {
    alpha: f64,
    acked: f64,
    marked: f64,
    window_end: u64,
    /// Whether it is computed in integers, as in Linux (`dctcp_update_alpha`).
    integers: bool,
}

impl Default for Fraction {
    fn default() -> Self {
        Fraction { alpha: INITIAL_ALPHA, acked: 0.0, marked: 0.0, window_end: 0, integers: false }
    }
}

impl Fraction {
    /// The estimate.
    pub fn alpha(&self) -> f64 {
        self.alpha
    }

    /// Takes an ACK.
    pub fn on_ack(&mut self, ack: &Acked) {
        if self.integers && ack.una >= self.window_end {
            // Linux ends the window before this ACK is counted.
            self.end_window_in_integers();
            self.window_end = ack.next;
        }
        self.acked += ack.segments;
        self.marked += ack.marked;
        // 3.3, steps 3 to 8.
        if !self.integers && ack.una > self.window_end && self.acked > 0.0 {
            let fraction = (self.marked / self.acked).min(1.0);
            self.alpha = (1.0 - G) * self.alpha + G * fraction;
            self.window_end = ack.next;
            self.acked = 0.0;
            self.marked = 0.0;
        }
    }

    /// Takes a sixteenth off the estimate, or nothing below 16/1024, and adds the new fraction.
    fn end_window_in_integers(&mut self) {
        let units = self.alpha * UNITS;
        let sixteenth = libm::floor(units * G);
        let left = units - if sixteenth > 0.0 { sixteenth } else { units };
        let new = libm::floor(libm::floor(self.marked) * UNITS * G / libm::floor(self.acked).max(1.0));
        self.alpha = (left + new).min(UNITS) / UNITS;
        self.acked = 0.0;
        self.marked = 0.0;
    }
}

/// RFC 5681 with another reaction to marks.
#[derive(Clone, Debug)]
pub struct Dctcp {
    reno: NewReno,
    fraction: Fraction,
}

impl Dctcp {
    /// DCTCP before any mark.
    pub fn new(slow_start: SlowStart, avoidance: Avoidance) -> Self {
        let reno = NewReno::new(slow_start, avoidance, false);
        Dctcp { reno, fraction: Fraction::default() }
    }

    /// Fraction and cut as Linux computes them.
    pub fn in_integers(mut self, integers: bool) -> Self {
        self.fraction.integers = integers;
        self
    }

    /// The estimate of the marked fraction.
    pub fn alpha(&self) -> f64 {
        self.fraction.alpha()
    }
}

impl Control for Dctcp {
    fn on_any_ack(&mut self, _: &mut Window, ack: &Acked) {
        self.fraction.on_ack(ack);
    }

    fn gauges(&self, note: &mut dyn FnMut(Variable, f64)) {
        note(Variable::Alpha, self.alpha());
    }

    fn grow(&mut self, window: &mut Window, ack: &Acked) {
        self.reno.grow(window, ack);
    }

    fn on_loss(&mut self, window: &Window, flight: f64, now: f64) -> f64 {
        // RFC 8257, 3.5: as RFC 5681.
        self.reno.on_loss(window, flight, now)
    }

    fn on_mark(&mut self, window: &Window, _: f64, _: f64) -> f64 {
        // 3.3, step 9, with the estimate as it stands.
        self.reno.enter_avoidance();
        if self.fraction.integers {
            let cwnd = libm::floor(window.cwnd);
            return (cwnd - libm::floor(cwnd * self.alpha() / 2.0)).max(LEAST_SSTHRESH);
        }
        (window.cwnd * (1.0 - self.alpha() / 2.0)).max(LEAST_SSTHRESH)
    }
}

#[cfg(test)]
mod tests {
    use super::super::tests::acked;
    use super::super::{Counting, HyStart};
    use super::*;

    /// Takes `count` windows of ACKs of 10 segments, `marked` of them marked.
    fn windows(fraction: &mut Fraction, count: u64, marked: f64) {
        let mut una = fraction.window_end;
        for _ in 0..count {
            una += 10;
            fraction.on_ack(&Acked { una: una + 1, next: una + 10, marked, ..acked(10.0) });
            una = fraction.window_end;
        }
    }

    #[test]
    fn the_estimate_by_hand() {
        for (count, alpha) in [(1, 0.9375), (4, 0.77248), (16, 0.35607)] {
            let mut fraction = Fraction::default();
            windows(&mut fraction, count, 0.0);
            assert!((fraction.alpha() - alpha).abs() < 5e-6, "{count}: {}", fraction.alpha());
        }
        let mut fraction = Fraction { alpha: 0.0, ..Fraction::default() };
        windows(&mut fraction, 16, 10.0);
        assert!((fraction.alpha() - 0.64393).abs() < 5e-6);
    }

    #[test]
    fn a_window_in_which_nothing_arrived_says_nothing() {
        let mut fraction = Fraction { alpha: 0.5, ..Fraction::default() };
        fraction.on_ack(&Acked { una: 11, next: 21, ..acked(0.0) });
        assert_eq!(fraction.alpha(), 0.5);
        fraction.on_ack(&Acked { una: 12, next: 22, ..acked(1.0) });
        assert_eq!(fraction.alpha(), 0.46875);
    }

    #[test]
    fn the_estimate_converges_to_the_marked_fraction() {
        let mut fraction = Fraction::default();
        windows(&mut fraction, 200, 3.0);
        assert!((fraction.alpha() - 0.3).abs() < 1e-4, "{}", fraction.alpha());
    }

    #[test]
    fn the_reaction_by_hand() {
        // alpha 0.5 and a quarter marked: 0.484375; 100 segments become 75.78.
        let mut dctcp = Dctcp::new(SlowStart::new(1.0, HyStart::Off), Avoidance::new(Counting::Window));
        dctcp.fraction.alpha = 0.5;
        windows(&mut dctcp.fraction, 1, 2.5);
        assert_eq!(dctcp.alpha(), 0.484375);
        let left = dctcp.on_mark(&Window { cwnd: 100.0, ssthresh: 50.0 }, 100.0, 0.0);
        assert!((left - 75.78125).abs() < 1e-9);
        assert_eq!(dctcp.on_loss(&Window { cwnd: 100.0, ssthresh: 50.0 }, 90.0, 0.0), 45.0);
        let small = Window { cwnd: 2.0, ssthresh: 2.0 };
        assert_eq!(dctcp.on_mark(&small, 2.0, 0.0), 2.0);
    }

    #[test]
    fn integers_by_hand() {
        let dctcp =
            || Dctcp::new(SlowStart::new(1.0, HyStart::Off), Avoidance::new(Counting::Window)).in_integers(true);
        let units = |dctcp: &Dctcp| dctcp.alpha() * UNITS;
        // The first ACK ends a window without data: 1024 - 64 is left of alpha.
        let mut one = dctcp();
        one.fraction.on_ack(&Acked { una: 0, next: 10, ..acked(0.0) });
        assert_eq!(units(&one), 960.0);
        // A window of 37 with 5 marks: 960 - 60 + 5 * 64 / 37, rounded down; the ACK that ends it counts for the next.
        one.fraction.on_ack(&Acked { una: 5, next: 40, marked: 5.0, ..acked(37.0) });
        one.fraction.on_ack(&Acked { una: 10, next: 50, ..acked(1.0) });
        assert_eq!(units(&one), 908.0);
        assert_eq!((one.fraction.acked, one.fraction.window_end), (1.0, 50));
        // An alpha below 1/16 of 16/1024 falls to 0.
        one.fraction.alpha = 15.0 / UNITS;
        one.fraction.on_ack(&Acked { una: 50, next: 60, ..acked(1.0) });
        assert_eq!(units(&one), 0.0);
        // 36 segments, alpha 166/1024: the cut is 2.9, rounded down; the fraction that cwnd has grown by is dropped.
        one.fraction.alpha = 166.0 / UNITS;
        assert_eq!(one.on_mark(&Window { cwnd: 36.7, ssthresh: 20.0 }, 36.0, 0.0), 34.0);
        one.fraction.alpha = 1.0;
        assert_eq!(one.on_mark(&Window { cwnd: 3.0, ssthresh: 2.0 }, 3.0, 0.0), 2.0);
    }
}
