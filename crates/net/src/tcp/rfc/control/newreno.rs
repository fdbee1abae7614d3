//! RFC 5681: slow start, congestion avoidance by one segment a round trip, half the flight after a loss.

use super::slow_start::SlowStart;
use super::{Acked, Avoidance, Control, Window, LEAST_SSTHRESH};

/// Multiplicative decrease for a mark with ABE (RFC 8511, section 3).
const ABE_BETA: f64 = 0.8;

/// The state of NewReno.
#[derive(Clone, Debug)]
pub struct NewReno {
    slow_start: SlowStart,
    avoidance: Avoidance,
    abe: bool,
}

impl NewReno {
    /// NewReno; with `abe` a mark reduces cwnd less than a loss (RFC 8511).
    pub fn new(slow_start: SlowStart, avoidance: Avoidance, abe: bool) -> Self {
        NewReno { slow_start, avoidance, abe }
    }

    /// Ends slow start and resets avoidance's count: cwnd has been reduced.
    pub(super) fn enter_avoidance(&mut self) {
        self.slow_start.end();
        self.avoidance.reset();
    }
}

impl Control for NewReno {
    fn grow(&mut self, window: &mut Window, ack: &Acked) {
        let mut segments = ack.segments;
        if window.slow_start() {
            segments = self.slow_start.grow(window, ack);
        }
        if segments > 0.0 {
            self.avoidance.grow(window, segments);
        }
    }

    fn on_loss(&mut self, _: &Window, flight: f64, _: f64) -> f64 {
        self.enter_avoidance();
        (flight / 2.0).max(LEAST_SSTHRESH)
    }

    fn on_mark(&mut self, window: &Window, flight: f64, now: f64) -> f64 {
        // RFC 8511: ABE is for congestion avoidance only.
        if self.abe && !window.slow_start() {
            self.avoidance.reset();
            return (ABE_BETA * flight).max(LEAST_SSTHRESH);
        }
        self.on_loss(window, flight, now)
    }
}

#[cfg(test)]
mod tests {
    use super::super::{Counting, HyStart};
    use super::*;

    fn reno(abe: bool) -> NewReno {
        NewReno::new(SlowStart::new(1.0, HyStart::Off), Avoidance::new(Counting::Window), abe)
    }

    #[test]
    fn half_the_flight_not_half_of_cwnd() {
        // RFC 5681, equation 4.
        let mut reno = reno(false);
        let window = Window { cwnd: 40.0, ssthresh: 30.0 };
        assert_eq!(reno.on_loss(&window, 20.0, 0.0), 10.0);
        assert_eq!(reno.on_loss(&window, 3.0, 0.0), 2.0);
        assert_eq!(reno.on_mark(&window, 20.0, 0.0), 10.0);
    }

    #[test]
    fn abe_leaves_four_fifths() {
        let mut reno = reno(true);
        assert_eq!(reno.on_mark(&Window { cwnd: 20.0, ssthresh: 10.0 }, 20.0, 0.0), 16.0);
        assert_eq!(reno.on_mark(&Window { cwnd: 20.0, ssthresh: 100.0 }, 20.0, 0.0), 10.0, "not in slow start");
        assert_eq!(reno.on_loss(&Window { cwnd: 20.0, ssthresh: 10.0 }, 20.0, 0.0), 10.0, "a loss as ever");
    }
}
