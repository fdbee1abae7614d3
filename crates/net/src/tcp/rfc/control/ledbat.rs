//! LEDBAT (RFC 6817): yields to others by keeping its queueing delay near a target.

use super::{Acked, Control, Window, LEAST_SSTHRESH};
use std::collections::VecDeque;

/// Number of minutes whose minima count (RFC 6817, 2.5: `BASE_HISTORY`).
const BASE_HISTORY: usize = 10;
/// Number of samples of which the smallest is the current delay (`CURRENT_FILTER`).
const CURRENT_FILTER: usize = 4;
/// Segments by which cwnd may exceed FlightSize (`ALLOWED_INCREASE`).
const ALLOWED_INCREASE: f64 = 1.0;
/// Smallest cwnd, segments (`MIN_CWND`).
const MIN_CWND: f64 = 2.0;

/// One-way delays of the last minutes, which give the queueing delay.
#[derive(Clone, Debug, Default)]
pub struct Delays {
    /// The smallest delay of each minute, s, the newest last; and the number of the newest minute.
    minutes: VecDeque<f64>,
    minute: f64,
    current: VecDeque<f64>,
}

/// The state of LEDBAT.
#[derive(Clone, Debug)]
pub struct Ledbat {
    target: f64,
    gain: f64,
    delays: Delays,
}

impl Ledbat {
    /// LEDBAT with a queueing delay of `target` seconds (RFC 6817: at most 0.1) and this gain (at most 1).
    pub fn new(target: f64, gain: f64) -> Self {
        Ledbat { target, gain, delays: Delays::default() }
    }
}

fn least(delays: &VecDeque<f64>) -> f64 {
    delays.iter().copied().fold(f64::INFINITY, f64::min)
}

impl Delays {
    /// Notes a delay at this time, s.
    pub fn note(&mut self, delay: f64, now: f64) {
        let minute = (now / 60.0).floor();
        match self.minutes.back_mut() {
            Some(base) if minute == self.minute => *base = base.min(delay),
            _ => {
                self.minute = minute;
                self.minutes.push_back(delay);
                if self.minutes.len() > BASE_HISTORY {
                    self.minutes.pop_front();
                }
            }
        }
        self.current.push_back(delay);
        if self.current.len() > CURRENT_FILTER {
            self.current.pop_front();
        }
    }

    /// Whether a delay is known.
    pub fn known(&self) -> bool {
        !self.current.is_empty()
    }

    /// The smallest delay, s.
    pub fn base(&self) -> f64 {
        least(&self.minutes)
    }

    /// Queueing delay, s.
    pub fn queueing(&self) -> f64 {
        least(&self.current) - self.base()
    }
}

impl Control for Ledbat {
    fn on_any_ack(&mut self, window: &mut Window, ack: &Acked) {
        let Some(delay) = ack.one_way else { return };
        self.delays.note(delay, ack.now);
        if ack.recovering || ack.segments == 0.0 {
            return;
        }
        // RFC 6817, 2.4.2.
        let off_target = (self.target - self.delays.queueing()) / self.target;
        let cwnd = window.cwnd + self.gain * off_target * ack.segments / window.cwnd;
        window.cwnd = cwnd.min(ack.flight_before + ALLOWED_INCREASE).max(MIN_CWND);
    }

    fn grow(&mut self, _: &mut Window, _: &Acked) {}

    fn on_loss(&mut self, window: &Window, _: f64, _: f64) -> f64 {
        (window.cwnd / 2.0).max(LEAST_SSTHRESH)
    }
}

#[cfg(test)]
mod tests {
    use super::super::tests::acked;
    use super::*;

    fn change(queueing: f64) -> f64 {
        let mut ledbat = Ledbat::new(0.1, 1.0);
        ledbat.delays.note(0.02, 1.0);
        for _ in 0..CURRENT_FILTER {
            ledbat.delays.note(0.02 + queueing, 2.0);
        }
        let mut window = Window { cwnd: 10.0, ssthresh: f64::INFINITY };
        let ack = Acked { now: 2.0, one_way: Some(0.02 + queueing), flight_before: 10.0, ..acked(1.0) };
        ledbat.on_any_ack(&mut window, &ack);
        window.cwnd - 10.0
    }

    #[test]
    fn cwnd_by_hand() {
        // A target of 100 ms, ten segments, one of them acknowledged.
        for (queueing, expected) in [(0.0, 0.1), (0.1, 0.0), (0.15, -0.05)] {
            assert!((change(queueing) - expected).abs() < 1e-9, "{queueing}: {}", change(queueing));
        }
    }

    #[test]
    fn cwnd_exceeds_the_flight_by_one_at_most() {
        let mut ledbat = Ledbat::new(0.1, 1.0);
        let mut window = Window { cwnd: 10.0, ssthresh: f64::INFINITY };
        ledbat.on_any_ack(&mut window, &Acked { one_way: Some(0.02), flight_before: 4.0, ..acked(1.0) });
        assert_eq!(window.cwnd, 5.0);
        assert_eq!(ledbat.on_loss(&Window { cwnd: 3.0, ssthresh: 9.0 }, 3.0, 0.0), 2.0);
    }

    #[test]
    fn cwnd_stays_in_a_recovery_and_with_acks_of_no_data() {
        let mut ledbat = Ledbat::new(0.1, 1.0);
        let mut window = Window { cwnd: 10.0, ssthresh: f64::INFINITY };
        let ack = |segments: f64| Acked { one_way: Some(0.02), flight_before: 4.0, ..acked(segments) };
        ledbat.on_any_ack(&mut window, &ack(0.0));
        ledbat.on_any_ack(&mut window, &Acked { recovering: true, ..ack(1.0) });
        assert_eq!(window.cwnd, 10.0);
    }

    #[test]
    fn the_base_delay_expires_after_ten_minutes() {
        let mut ledbat = Ledbat::new(0.1, 1.0);
        ledbat.delays.note(0.01, 0.0);
        for minute in 1..=9 {
            ledbat.delays.note(0.05, 60.0 * f64::from(minute));
        }
        assert!((ledbat.delays.queueing() - 0.04).abs() < 1e-12);
        ledbat.delays.note(0.05, 600.0);
        assert!(ledbat.delays.queueing().abs() < 1e-12);
    }
}
