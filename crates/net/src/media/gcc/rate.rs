//! The delay-based rate (draft-ietf-rmcat-gcc-02, 5.5).

use super::detector::Usage;
use std::collections::VecDeque;

/// Decrease factor (5.6).
const BETA: f64 = 0.85;
/// T: window of the received rate, s (5.6: 0.5 to 1).
const WINDOW: f64 = 0.5;
/// Of the moving averages at over-use.
const SMOOTHING: f64 = 0.95;
/// Range of the normalised variance, kbit/s (libwebrtc).
const VARIANCE: (f64, f64) = (0.4, 2.5);

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum State {
    Increase,
    Hold,
    Decrease,
}

/// The rate and what it follows.
#[derive(Clone, Debug)]
pub struct Rate {
    /// `A_hat`, bit/s.
    estimate: f64,
    state: State,
    last_update: Option<f64>,
    /// Arrivals and bytes of the packets in the window, their sum, and the first arrival of all.
    window: VecDeque<(f64, u32)>,
    bytes: u64,
    first: Option<f64>,
    /// Mean of the received rates at over-use, kbit/s, and their variance over the mean.
    at_overuse: Option<(f64, f64)>,
}

impl Rate {
    /// One that starts at this rate, bit/s.
    pub fn new(start: f64) -> Self {
        Rate {
            estimate: start,
            state: State::Increase,
            last_update: None,
            window: VecDeque::new(),
            bytes: 0,
            first: None,
            at_overuse: None,
        }
    }

    /// bit/s.
    pub fn estimate(&self) -> f64 {
        self.estimate
    }

    pub fn limit(&mut self, low: f64, high: f64) {
        self.estimate = self.estimate.max(low).min(high);
    }

    /// A packet of so many bytes arrived, s.
    pub fn received(&mut self, arrived: f64, bytes: u32) {
        self.first.get_or_insert(arrived);
        self.window.push_back((arrived, bytes));
        self.bytes += u64::from(bytes);
        while let Some(&(oldest, bytes)) = self.window.front() {
            if arrived - oldest < WINDOW {
                break;
            }
            self.window.pop_front();
            self.bytes -= u64::from(bytes);
        }
    }

    /// `R_hat`, bit/s, once the window is full.
    fn received_rate(&self) -> Option<f64> {
        let &(last, _) = self.window.back()?;
        (last - self.first? >= WINDOW).then(|| 8.0 * self.bytes as f64 / WINDOW)
    }

    /// Feedback has come, and this is what it shows.
    pub fn update(&mut self, now: f64, usage: Usage, rtt: f64) {
        self.state = match (usage, self.state) {
            (Usage::Over, _) => State::Decrease,
            (Usage::Normal, State::Hold | State::Increase) => State::Increase,
            (Usage::Normal | Usage::Under, State::Decrease) | (Usage::Under, _) => State::Hold,
        };
        let since = now - self.last_update.replace(now).unwrap_or(now);
        let received = self.received_rate();
        match self.state {
            State::Hold => {}
            State::Increase => self.increase(since, received, rtt),
            State::Decrease => self.decrease(received),
        }
    }

    fn increase(&mut self, since: f64, received: Option<f64>, rtt: f64) {
        let near = received.is_some_and(|received| self.is_near(received / 1e3));
        let increased = if near {
            let frame = self.estimate / 30.0;
            let packet = frame / (frame / (1200.0 * 8.0)).ceil();
            let alpha = 0.5 * (since / (0.1 + rtt)).min(1.0);
            // "max(1000, ...)" is for a whole response time.
            self.estimate + (alpha * packet).max(1000.0 * (since / (0.1 + rtt)).min(1.0))
        } else {
            self.estimate * libm::pow(1.08, since.min(1.0))
        };
        // The estimate stays near what is sent.
        let most = received.map_or(f64::INFINITY, |received| (1.5 * received).max(self.estimate));
        self.estimate = increased.min(most);
    }

    /// Whether the received rate, kbit/s, is within three standard deviations of those at over-use.
    fn is_near(&mut self, received: f64) -> bool {
        let Some((mean, variance)) = self.at_overuse else { return false };
        let deviation = (variance * mean).sqrt();
        if received > mean + 3.0 * deviation {
            // "We assume that the current congestion level has changed."
            self.at_overuse = None;
        }
        (received - mean).abs() <= 3.0 * deviation
    }

    fn decrease(&mut self, received: Option<f64>) {
        // Before the window is full, the rate in use.
        let rate = received.unwrap_or(self.estimate);
        self.estimate = self.estimate.min(BETA * rate);
        let rate = rate / 1e3;
        let (mean, variance) = self.at_overuse.unwrap_or((rate, VARIANCE.0));
        let mean = SMOOTHING * mean + (1.0 - SMOOTHING) * rate;
        let error = mean - rate;
        let variance = SMOOTHING * variance + (1.0 - SMOOTHING) * error * error / mean.max(1.0);
        self.at_overuse = Some((mean, variance.clamp(VARIANCE.0, VARIANCE.1)));
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// A rate of 1 Mbit/s that receives as much, from 0 to 1 s.
    fn steady() -> Rate {
        let mut rate = Rate::new(1e6);
        (0..=100).for_each(|i| rate.received(f64::from(i) * 0.01, 1250));
        rate.last_update = Some(1.0);
        rate
    }

    #[test]
    fn the_received_rate_is_that_of_half_a_second() {
        let mut rate = Rate::new(1e6);
        (0..50).for_each(|i| rate.received(f64::from(i) * 0.01, 1250));
        assert_eq!(rate.received_rate(), None);
        assert_eq!(steady().received_rate(), Some(1e6));
    }

    #[test]
    fn states_follow_the_table() {
        use State::{Decrease, Hold, Increase};
        use Usage::{Normal, Over, Under};
        let after = |state: State, usage: Usage| {
            let mut rate = Rate { state, ..steady() };
            rate.update(1.1, usage, 0.05);
            rate.state
        };
        let table = [
            (Hold, [Decrease, Increase, Hold]),
            (Increase, [Decrease, Increase, Hold]),
            (Decrease, [Decrease, Hold, Hold]),
        ];
        for (state, expected) in table {
            assert_eq!([Over, Normal, Under].map(|usage| after(state, usage)), expected, "{state:?}");
        }
    }

    #[test]
    fn far_from_over_use_it_grows_eight_percent_a_second() {
        let mut rate = steady();
        rate.update(1.5, Usage::Normal, 0.05);
        assert!((rate.estimate - 1e6 * 1.08_f64.sqrt()).abs() < 1e-3);
        // Not above 1.5 times what is received, and not down to it.
        rate.estimate = 1.499e6;
        rate.update(2.5, Usage::Normal, 0.05);
        assert_eq!(rate.estimate, 1.5e6);
        rate.estimate = 2e6;
        rate.update(3.5, Usage::Normal, 0.05);
        assert_eq!(rate.estimate, 2e6);
    }

    #[test]
    fn over_use_leaves_85_percent_of_the_received_rate_and_near_it_growth_is_additive() {
        let mut rate = steady();
        rate.update(1.1, Usage::Over, 0.05);
        assert_eq!(rate.estimate, 0.85e6);
        rate.update(1.2, Usage::Normal, 0.05);
        assert_eq!((rate.estimate, rate.state), (0.85e6, State::Hold));
        // Half a packet in a response time of 150 ms: 28.3 kbit a frame are three packets.
        rate.update(1.35, Usage::Normal, 0.05);
        assert!((rate.estimate - (0.85e6 + 0.5 * 0.85e6 / 30.0 / 3.0)).abs() < 1e-6, "{}", rate.estimate);
        // A received rate far above starts anew.
        assert!(rate.is_near(1000.0 + 3.0 * 400_f64.sqrt()) && !rate.is_near(1061.0));
        assert_eq!(rate.at_overuse, None);
    }
}
