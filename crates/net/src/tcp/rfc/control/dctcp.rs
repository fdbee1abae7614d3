//! DCTCP (RFC 8257): marks reduce cwnd in proportion to the marked fraction.

use super::slow_start::SlowStart;
use super::{Acked, Avoidance, Control, NewReno, Window, LEAST_SSTHRESH};
use crate::tcp::Variable;

/// Weight of a new sample, `g` (RFC 8257, 4.2).
pub const G: f64 = 1.0 / 16.0;
/// Initial estimate (RFC 8257, 3.3: 1 is conservative).
const INITIAL_ALPHA: f64 = 1.0;

/// The moving average of the marked fraction, window by window (RFC 8257, 3.3, `DCTCP.Alpha`).
#[derive(Clone, Debug)]
pub struct Fraction {
    alpha: f64,
    acked: f64,
    marked: f64,
    window_end: u64,
}

impl Default for Fraction {
    fn default() -> Self {
        Fraction { alpha: INITIAL_ALPHA, acked: 0.0, marked: 0.0, window_end: 0 }
    }
}

impl Fraction {
    /// The estimate.
    pub fn alpha(&self) -> f64 {
        self.alpha
    }

    /// An ACK.
    pub fn on_ack(&mut self, ack: &Acked) {
        self.acked += ack.segments;
        self.marked += ack.marked;
        // 3.3, steps 3 to 8.
        if ack.una > self.window_end && self.acked > 0.0 {
            let fraction = (self.marked / self.acked).min(1.0);
            self.alpha = (1.0 - G) * self.alpha + G * fraction;
            self.window_end = ack.next;
            self.acked = 0.0;
            self.marked = 0.0;
        }
    }
}

/// RFC 5681 with another reaction to marks.
#[derive(Clone, Debug)]
pub struct Dctcp {
    reno: NewReno,
    fraction: Fraction,
    least: f64,
}

impl Dctcp {
    /// Nothing marked yet.
    pub fn new(slow_start: SlowStart, avoidance: Avoidance) -> Self {
        let reno = NewReno::new(slow_start, avoidance, false);
        Dctcp { reno, fraction: Fraction::default(), least: LEAST_SSTHRESH }
    }

    /// `any`: a mark may reduce cwnd below two segments (ns-3).
    pub fn leaving(self, any: bool) -> Self {
        Dctcp { least: if any { 0.0 } else { LEAST_SSTHRESH }, ..self }
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
        (window.cwnd * (1.0 - self.alpha() / 2.0)).max(self.least)
    }
}

#[cfg(test)]
mod tests {
    use super::super::tests::acked;
    use super::super::{Counting, HyStart};
    use super::*;

    /// ACKs of so many windows of 10 segments, `marked` of them marked.
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
        assert_eq!(dctcp.leaving(true).on_mark(&small, 2.0, 0.0), 2.0 * (1.0 - 0.484375 / 2.0));
    }
}
