//! SEARCH (draft-chung-ccwg-search): slow start ends when much less is delivered than was sent a round trip earlier.

use super::Acked;
use std::collections::VecDeque;

/// Length of a window in round trips of the start, and its number of bins (the draft's `WINDOW_SIZE`, `W`).
const WINDOW: f64 = 3.5;
const BINS: usize = 10;
/// Bins kept beyond a window, so that it can be compared with the window a round trip earlier (`EXTRA_BINS`; 35 in the
/// authors' code).
const EXTRA: usize = 35;
/// The missing share of a window that ends slow start (`THRESH`; 0.26 in the authors' code, 0.35 in early versions).
const THRESHOLD: f64 = 0.26;

/// Sequence numbers acknowledged and sent by the end of a bin.
#[derive(Clone, Copy, Debug)]
struct Bin {
    acked: u64,
    sent: u64,
}

/// The state of SEARCH. While `duration` is 0, nothing has been acknowledged.
#[derive(Clone, Debug, Default)]
pub struct Search {
    /// Length of a bin, s.
    duration: f64,
    /// When the current bin ends, s.
    end: f64,
    /// The bins, the newest last.
    bins: VecDeque<Bin>,
    last_rtt: f64,
}

impl Search {
    /// Takes an ACK in slow start. Returns whether slow start ends.
    pub fn is_over(&mut self, ack: &Acked) -> bool {
        self.last_rtt = ack.rtt.unwrap_or(self.last_rtt);
        let rtt = self.last_rtt;
        if rtt == 0.0 {
            return false;
        }
        let bin = Bin { acked: ack.una, sent: ack.next };
        if self.bins.is_empty() {
            self.begin(rtt, ack.now, bin);
            return false;
        }
        if ack.now < self.end {
            return false;
        }
        let passed = ((ack.now - self.end) / self.duration).floor() + 1.0;
        if passed > BINS as f64 {
            // A whole window without an ACK says nothing.
            self.bins.clear();
            self.begin(rtt, ack.now, bin);
            return false;
        }
        self.end += passed * self.duration;
        let last = *self.bins.back().expect("not empty");
        for _ in 1..passed as usize {
            self.push(last);
        }
        self.push(bin);
        self.missing(rtt).is_some_and(|share| share >= THRESHOLD)
    }

    /// Starts anew with the next ACK.
    pub fn restart(&mut self) {
        *self = Search::default();
    }

    fn begin(&mut self, rtt: f64, now: f64, bin: Bin) {
        self.duration = WINDOW * rtt / BINS as f64;
        self.end = now + self.duration;
        self.bins.push_back(bin);
    }

    fn push(&mut self, bin: Bin) {
        self.bins.push_back(bin);
        if self.bins.len() > BINS + EXTRA + 1 {
            self.bins.pop_front();
        }
    }

    /// The share of what was sent in the window that ended `rtt` ago and not delivered in the last window.
    fn missing(&self, rtt: f64) -> Option<f64> {
        let newest = self.bins.len() - 1;
        let (back, fraction) = ((rtt / self.duration).floor(), rtt / self.duration % 1.0);
        if back > (newest as f64 - BINS as f64 - 1.0) {
            return None;
        }
        // Interpolates between two bins.
        let sent = |back: usize| {
            let [older, newer] = [back + 1, back].map(|back| self.bins[newest - back].sent as f64);
            newer - fraction * (newer - older)
        };
        let sent = sent(back as usize) - sent(back as usize + BINS);
        let delivered = (self.bins[newest].acked - self.bins[newest - BINS].acked) as f64;
        (sent > 0.0).then(|| (sent - delivered) / sent)
    }
}

#[cfg(test)]
mod tests {
    use super::super::tests::acked;
    use super::*;

    const RTT: f64 = 0.1;

    /// When slow start ends, in round trips, with an ACK each millisecond; `sent` and `delivered` are numbers as
    /// functions of time in round trips.
    fn end(sent: impl Fn(f64) -> f64, delivered: impl Fn(f64) -> f64, rtt: impl Fn(f64) -> f64) -> Option<f64> {
        let mut search = Search::default();
        (1..=3000).map(|n| f64::from(n) / 100.0).find(|&t| {
            let (una, next) = (delivered(t) as u64, sent(t) as u64);
            search.is_over(&Acked { now: RTT * t, rtt: Some(rtt(t)), una, next, ..acked(1.0) })
        })
    }

    #[test]
    fn what_is_delivered_a_round_trip_later_ends_nothing() {
        let sent = |t: f64| 1e4 * t.exp2();
        assert_eq!(end(sent, |t| sent(t - 1.0), |_| RTT), None);
    }

    #[test]
    fn a_rate_that_is_reached_ends_it_once_a_quarter_of_a_window_is_missing() {
        // Sent doubles each round trip; from the eighth on the rate of delivery stays. What is missing follows by hand:
        // with x = t - 8 round trips at the limit, delivered in 3.5 of them is 2^7 (1 - 2^(x - 3.5)) + 2^7 ln 2 x, sent
        // 2^(t - 1) (1 - 2^-3.5).
        let sent = |t: f64| 1e6 * t.exp2();
        let limited = |t: f64| if t < 8.0 { sent(t - 1.0) } else { sent(7.0) * (1.0 + (t - 8.0) * 2f64.ln()) };
        let share = |x: f64| {
            let delivered = 1.0 - (x - 3.5).exp2() + 2f64.ln() * x;
            1.0 - delivered / (x.exp2() * (1.0 - (-3.5f64).exp2()))
        };
        let by_hand = (0..3500).map(|n| f64::from(n) / 1000.0).find(|&x| share(x) >= THRESHOLD).unwrap();
        let found = end(sent, limited, |_| RTT).unwrap() - 8.0;
        // One decision for each bin of 0.35 round trips.
        assert!(found >= by_hand && found < by_hand + 0.36, "{found}, by hand {by_hand}");
    }

    #[test]
    fn a_growing_round_trip_compares_with_what_was_sent_earlier() {
        // The queue grows: what arrives was sent two round trips ago, but all of it arrives.
        let sent = |t: f64| 1e4 * (1.0 + t);
        assert_eq!(end(sent, |t| sent(t - 1.0 - t / 30.0), |t| RTT * (1.0 + t / 30.0)), None);
    }

    /// A round trip of two and a half bins: sent is read between bins 2 and 3, and 12 and 13 back.
    #[test]
    fn what_is_missing_by_hand() {
        let bins = (0..20).map(|n| Bin { acked: 7 * n, sent: n * n }).collect();
        let search = Search { duration: 0.04, bins, ..Search::default() };
        let sent = (17.0 * 17.0 + 16.0 * 16.0) / 2.0 - (7.0 * 7.0 + 6.0 * 6.0) / 2.0;
        assert_eq!(search.missing(0.1), Some((sent - 70.0) / sent));
        assert_eq!(
            [0.36, 0.32].map(|rtt| search.missing(rtt).is_some()),
            [false, true],
            "eight bins back, of nineteen"
        );
    }

    #[test]
    fn a_window_without_an_ack_begins_anew() {
        let mut search = Search::default();
        for n in 0..40 {
            let now = 0.035 * f64::from(n);
            search.is_over(&Acked { now, rtt: Some(RTT), una: n as u64, next: n as u64 + 10, ..acked(1.0) });
        }
        assert!(search.bins.len() > BINS);
        let late = 0.035 * 39.0 + 0.35 + 0.036;
        search.is_over(&Acked { now: late, rtt: Some(2.0 * RTT), una: 50, next: 60, ..acked(1.0) });
        assert_eq!((search.bins.len(), search.duration), (1, 0.07));
    }

    #[test]
    fn bins_are_bounded_and_long_round_trips_are_not_judged() {
        let mut search = Search::default();
        for n in 0..500u32 {
            let rtt = if n == 0 { RTT } else { 100.0 * RTT };
            let ack = Acked { now: 0.0351 * f64::from(n), rtt: Some(rtt), una: 0, next: u64::from(n), ..acked(1.0) };
            assert!(!search.is_over(&ack));
        }
        assert_eq!(search.bins.len(), BINS + EXTRA + 1);
    }
}
