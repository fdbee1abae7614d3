//! Groups of packets, and how their delay changes (draft-ietf-rmcat-gcc-02, 5.1 to 5.3).

use std::collections::VecDeque;

/// Packets sent within this time are a group, s (5.6).
pub const BURST_TIME: f64 = 0.005;
/// State noise variance, ms^2, and the first error covariance (5.6).
const Q: f64 = 1e-3;
const FIRST_E: f64 = 0.1;
/// Coefficient of the noise variance, within [0.001, 0.1] (5.6).
const CHI: f64 = 0.01;
/// First noise variance, ms^2 (libwebrtc).
const FIRST_VARIANCE: f64 = 50.0;
/// K: number of groups whose highest rate counts; the draft has no value.
const GROUPS: usize = 60;

/// How the delay changes, known at the end of a group.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Change {
    /// When the group's last packet arrived, s.
    pub at: f64,
    /// m(i), the estimated change of the delay, ms.
    pub mean: f64,
    /// i, the group's number, from 1.
    pub number: u32,
}

/// A group: its first and last departure, and its last arrival, s.
#[derive(Clone, Copy, Debug)]
struct Group {
    first_sent: f64,
    sent: f64,
    arrived: f64,
}

/// The groups and the Kalman filter.
#[derive(Clone, Debug)]
pub struct Arrivals {
    current: Option<Group>,
    before: Option<Group>,
    number: u32,
    m: f64,
    e: f64,
    variance: f64,
    /// Inter-departure times of the last groups, ms.
    departures: VecDeque<f64>,
}

impl Default for Arrivals {
    fn default() -> Self {
        let departures = VecDeque::new();
        Arrivals { current: None, before: None, number: 0, m: 0.0, e: FIRST_E, variance: FIRST_VARIANCE, departures }
    }
}

impl Arrivals {
    /// Takes a packet; if it ends a group, returns what that group shows.
    pub fn take(&mut self, sent: f64, arrived: f64) -> Option<Change> {
        let Some(group) = &mut self.current else {
            self.current = Some(Group { first_sent: sent, sent, arrived });
            return None;
        };
        if sent < group.first_sent {
            // "Any packets received out of order are ignored."
            return None;
        }
        let (apart, delay) = (arrived - group.arrived, (arrived - group.arrived) - (sent - group.sent));
        if sent - group.first_sent <= BURST_TIME || (apart < BURST_TIME && delay < 0.0) {
            group.sent = group.sent.max(sent);
            group.arrived = group.arrived.max(arrived);
            return None;
        }
        let ended = *group;
        self.current = Some(Group { first_sent: sent, sent, arrived });
        let before = self.before.replace(ended)?;
        let departure = (ended.sent - before.sent) * 1e3;
        self.filter((ended.arrived - before.arrived) * 1e3 - departure, departure);
        self.number += 1;
        Some(Change { at: ended.arrived, mean: self.m, number: self.number })
    }

    /// Feeds d(i), ms, to the Kalman filter of 5.3.
    fn filter(&mut self, d: f64, departure: f64) {
        self.departures.push_back(departure);
        if self.departures.len() > GROUPS {
            self.departures.pop_front();
        }
        let shortest = self.departures.iter().copied().fold(f64::INFINITY, f64::min);
        let alpha = libm::pow(1.0 - CHI, 30.0 * shortest / 1000.0);
        let z = d - self.m;
        let limit = 3.0 * self.variance.sqrt();
        let kept = z.clamp(-limit, limit);
        self.variance = (alpha * self.variance + (1.0 - alpha) * kept * kept).max(1.0);
        let e = self.e + Q;
        let gain = e / (self.variance + e);
        self.m += z * gain;
        self.e = (1.0 - gain) * e;
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn packets_sent_together_or_arriving_in_a_burst_are_a_group() {
        let mut arrivals = Arrivals::default();
        // The packets within 5 ms of the first are its group.
        assert!([0.0, 0.002, 0.005].iter().all(|&sent| arrivals.take(sent, sent + 0.05).is_none()));
        // The first packet of the second group ends the first.
        assert_eq!(arrivals.take(0.03, 0.08), None);
        // After an outage: sent 20 ms later, the packet arrives 1 ms later.
        assert_eq!(arrivals.take(0.05, 0.081), None);
        let change = arrivals.take(0.09, 0.14).expect("the second group ends");
        assert_eq!((change.number, change.at), (1, 0.081));
        // d = (81 - 55) - (50 - 5) = -19 ms.
        assert!(change.mean < 0.0);
        // A packet out of order is ignored.
        assert_eq!(arrivals.take(0.08, 0.2), None);
    }

    #[test]
    fn the_filter_is_the_scalar_kalman_filter_of_the_draft() {
        let mut arrivals = Arrivals::default();
        arrivals.filter(2.0, 40.0);
        // Worked by hand: alpha = 0.99^(30*40/1000); z = 2.
        let alpha = 0.99_f64.powf(1.2);
        let variance = alpha * 50.0 + (1.0 - alpha) * 4.0;
        let gain = 0.101 / (variance + 0.101);
        assert!((arrivals.m - 2.0 * gain).abs() < 1e-12);
        assert!((arrivals.e - (1.0 - gain) * 0.101).abs() < 1e-12);
        assert!((arrivals.variance - variance).abs() < 1e-9);
        // An outlier counts as three standard deviations in the variance.
        arrivals.filter(1000.0, 40.0);
        let next = alpha * variance + (1.0 - alpha) * 9.0 * variance;
        assert!((arrivals.variance - next).abs() < 1e-9);
    }
}
