//! A scalable control for L4S (RFC 9331, section 4; like TCP Prague): DCTCP's reaction to exact counts of marks.
//!
//! Beyond DCTCP: its segments are ECT(1), marks are counted by accurate ECN, sending is paced, an ACK grows cwnd by its
//! unmarked segments, and a loss reduces cwnd to 0.7 as CUBIC's would. RTTs below 25 ms count as 25 ms for growth and
//! reduction, so that a short queue is no advantage over flows in a long one
//! (draft-briscoe-iccrg-prague-congestion-control, 2.4.4).

use super::dctcp::Fraction;
use super::slow_start::SlowStart;
use super::{Acked, Control, Window, LEAST_SSTHRESH};
use crate::tcp::Variable;

/// Multiplicative decrease for a loss, RFC 9438's, to share classic queues with CUBIC.
const LOSS_BETA: f64 = 0.7;
/// The virtual RTT: shorter RTTs count as this, s.
const VIRTUAL_RTT: f64 = 0.025;

/// Its state.
#[derive(Clone, Debug)]
pub struct Prague {
    slow_start: SlowStart,
    fraction: Fraction,
    srtt: f64,
    last_cut: f64,
}

impl Prague {
    /// Nothing marked yet.
    pub fn new(most: f64, hystart: super::HyStart) -> Self {
        Prague {
            slow_start: SlowStart::new(most, hystart),
            fraction: Fraction::default(),
            srtt: 0.0,
            last_cut: f64::NEG_INFINITY,
        }
    }
}

impl Control for Prague {
    fn on_any_ack(&mut self, _: &mut Window, ack: &Acked) {
        self.fraction.on_ack(ack);
        self.srtt = ack.srtt;
    }

    fn gauges(&self, note: &mut dyn FnMut(Variable, f64)) {
        note(Variable::Alpha, self.fraction.alpha());
    }

    fn grows_with_marks(&self) -> bool {
        true
    }

    fn grow(&mut self, window: &mut Window, ack: &Acked) {
        let mut segments = (ack.segments - ack.marked).max(0.0);
        if window.slow_start() {
            if ack.marked > 0.0 {
                return;
            }
            segments = self.slow_start.grow(window, ack);
        }
        // A segment per virtual RTT, squared.
        let ratio = if ack.srtt > 0.0 { (ack.srtt / VIRTUAL_RTT).min(1.0) } else { 1.0 };
        window.cwnd += ratio * ratio * segments / window.cwnd;
    }

    fn on_loss(&mut self, _: &Window, flight: f64, _: f64) -> f64 {
        self.slow_start.end();
        (LOSS_BETA * flight).max(LEAST_SSTHRESH)
    }

    fn on_mark(&mut self, window: &Window, _: f64, now: f64) -> f64 {
        self.slow_start.end();
        if now - self.last_cut < VIRTUAL_RTT && self.srtt < VIRTUAL_RTT {
            return window.cwnd;
        }
        self.last_cut = now;
        (window.cwnd * (1.0 - self.fraction.alpha() / 2.0)).max(LEAST_SSTHRESH)
    }
}

#[cfg(test)]
mod tests {
    use super::super::tests::acked;
    use super::*;

    #[test]
    fn unmarked_segments_grow_cwnd() {
        let mut prague = Prague::new(1.0, super::super::HyStart::Off);
        let mut window = Window { cwnd: 20.0, ssthresh: 10.0 };
        prague.grow(&mut window, &Acked { marked: 1.0, ..acked(3.0) });
        assert_eq!(window.cwnd, 20.1);
    }

    #[test]
    fn a_short_round_trip_counts_as_25_ms() {
        let mut prague = Prague::new(1.0, super::super::HyStart::Off);
        let mut window = Window { cwnd: 20.0, ssthresh: 10.0 };
        let ack = Acked { srtt: 0.0125, ..acked(1.0) };
        prague.on_any_ack(&mut window, &ack);
        prague.grow(&mut window, &ack);
        assert_eq!(window.cwnd, 20.0 + 0.25 / 20.0);
        let first = prague.on_mark(&window, 20.0, 1.0);
        assert!(first < window.cwnd);
        assert_eq!(prague.on_mark(&window, 20.0, 1.02), window.cwnd, "not twice in 25 ms");
        assert!(prague.on_mark(&window, 20.0, 1.026) < window.cwnd);
    }

    #[test]
    fn the_balance_of_growth_and_marks() {
        // Two marks a round trip balance growth by one segment: alpha W / 2 (RFC 9331, B.1, with 2/p).
        let mut prague = Prague::new(1.0, super::super::HyStart::Off);
        let mut window = Window { cwnd: 40.0, ssthresh: 10.0 };
        let (mut una, mut sum) = (1_u64, 0.0);
        for round in 0..400 {
            for i in 0..40 {
                una += 1;
                let marked = if i < 2 { 1.0 } else { 0.0 };
                let ack = Acked { una, next: una + 40, marked, ..acked(1.0) };
                prague.on_any_ack(&mut window, &ack);
                if i == 0 {
                    window.cwnd = prague.on_mark(&window, window.cwnd, f64::from(round));
                }
                prague.grow(&mut window, &ack);
            }
            if round >= 200 {
                sum += window.cwnd;
            }
        }
        let mean = sum / 200.0;
        assert!((mean - 39.0).abs() < 2.5, "{mean}");
    }
}
