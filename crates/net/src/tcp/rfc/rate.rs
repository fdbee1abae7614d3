//! Delivery rate samples (Linux `tcp_rate.c`; draft-cheng-iccrg-delivery-rate-estimation).

use super::scoreboard::Delivered;
use std::collections::VecDeque;

/// A segment is newly marked lost.
#[derive(Clone, Copy, Debug)]
pub struct LostSegment {
    /// The present time, s.
    pub now: f64,
    /// The segment's number in the connection.
    pub number: u64,
    /// Segments in flight when it was sent, it included.
    pub tx_in_flight: f64,
    /// Segments lost since it was sent, it included.
    pub lost_since_sent: f64,
    /// Whether sending was application-limited when it was sent.
    pub app_limited: bool,
    /// Segments delivered on the connection so far.
    pub delivered: f64,
}

/// State when a segment was sent.
#[derive(Clone, Copy, Debug)]
struct Mark {
    delivered: f64,
    delivered_at: f64,
    first_sent: f64,
    sent: f64,
    app_limited: bool,
    /// Segments in flight then, this one included, and segments lost until then.
    in_flight: f64,
    lost: f64,
}

/// A rate sample.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Sample {
    /// The rate, segments/s; `None` if the interval is too short.
    pub rate: Option<f64>,
    /// Segments delivered when the sampled segment was sent.
    pub prior_delivered: f64,
    /// Segments delivered now.
    pub delivered: f64,
    /// Whether sending was application-limited when the sampled segment was sent.
    pub app_limited: bool,
}

/// The delivery rate estimator.
#[derive(Clone, Debug, Default)]
pub struct Rate {
    delivered: f64,
    delivered_at: f64,
    first_sent: f64,
    /// Number of delivered segments until which sending counts as application-limited; 0 if it does not.
    limited_until: f64,
    /// The mark of each outstanding segment, from number `first` on.
    marks: VecDeque<Mark>,
    first: u64,
    best: Option<Mark>,
    /// Segments marked lost; below, for the last sample's segment: in flight when it was sent, and lost until then.
    lost: f64,
    last: (f64, f64),
}

impl Rate {
    /// Segment `number` of the connection is sent or retransmitted, with `pipe` segments in flight; if that is 0,
    /// sampling restarts.
    pub fn sent(&mut self, number: u64, now: f64, pipe: f64) {
        if pipe <= 0.0 {
            self.first_sent = now;
            self.delivered_at = now;
        }
        let mark = Mark {
            delivered: self.delivered,
            delivered_at: self.delivered_at,
            first_sent: self.first_sent,
            sent: now,
            app_limited: self.limited_until > 0.0,
            in_flight: pipe + 1.0,
            lost: self.lost,
        };
        let at = (number - self.first) as usize;
        match self.marks.get_mut(at) {
            Some(old) => *old = mark,
            None => self.marks.push_back(mark),
        }
    }

    /// The application has no more data to send, while `pipe` segments are in flight.
    pub fn app_limited(&mut self, pipe: f64) {
        self.limited_until = (self.delivered + pipe).max(f64::MIN_POSITIVE);
    }

    /// Whether segments sent now count as application-limited.
    pub fn is_app_limited(&self) -> bool {
        self.limited_until > 0.0
    }

    /// A segment has been delivered that counts as `segments` full segments.
    pub fn arrived(&mut self, delivered: &Delivered, segments: f64, now: f64) {
        self.delivered += segments;
        self.delivered_at = now;
        let Some(&mark) = self.marks.get((delivered.number - self.first) as usize) else { return };
        if self.best.is_none_or(|best| {
            mark.delivered > best.delivered || (mark.delivered == best.delivered && mark.sent > best.sent)
        }) {
            self.best = Some(mark);
        }
    }

    /// Segment `number` is marked lost.
    pub fn lost(&mut self, number: u64, now: f64) -> Option<LostSegment> {
        self.lost += 1.0;
        let mark = self.marks.get(number.checked_sub(self.first)? as usize)?;
        Some(LostSegment {
            now,
            number,
            tx_in_flight: mark.in_flight,
            lost_since_sent: self.lost - mark.lost,
            app_limited: mark.app_limited,
            delivered: self.delivered,
        })
    }

    /// For the segment sampled last: how many were in flight when it was sent, and how many have been lost since.
    pub fn since_sent(&self) -> (f64, f64) {
        let (in_flight, lost) = self.last;
        (in_flight, self.lost - lost)
    }

    /// Forgets the segments before `number`, which are acknowledged.
    pub fn forget_before(&mut self, number: u64) {
        while self.first < number && self.marks.pop_front().is_some() {
            self.first += 1;
        }
    }

    /// The sample of the segments delivered since the last call; `min_rtt` in seconds.
    pub fn sample(&mut self, min_rtt: f64) -> Option<Sample> {
        let mark = self.best.take()?;
        self.first_sent = mark.sent;
        self.last = (mark.in_flight, mark.lost);
        if self.delivered > self.limited_until {
            self.limited_until = 0.0;
        }
        // The longer of send and ACK interval is taken: bursts of ACKs would overestimate the rate.
        let interval = (mark.sent - mark.first_sent).max(self.delivered_at - mark.delivered_at);
        let rate = (interval > 0.0 && interval >= min_rtt * (1.0 - 1e-9))
            .then(|| (self.delivered - mark.delivered) / interval);
        Some(Sample { rate, prior_delivered: mark.delivered, delivered: self.delivered, app_limited: mark.app_limited })
    }
}

#[cfg(test)]
mod tests {
    use super::super::scoreboard::Scoreboard;
    use super::*;

    /// Rates of segments sent every `gap` and delivered every `apart` seconds, the first after 100 ms.
    fn samples(count: u64, gap: f64, apart: f64) -> Vec<f64> {
        let (mut rate, mut board) = (Rate::default(), Scoreboard::new(1));
        for i in 0..count {
            board.sent(1 + i, 1, false, i as f64 * gap);
            rate.sent(i, i as f64 * gap, i as f64);
        }
        let mut found = Vec::new();
        for i in 0..count {
            let now = 0.1 + i as f64 * apart;
            board.acknowledge(2 + i, |delivered| rate.arrived(&delivered, 1.0, now));
            rate.forget_before(i + 1);
            found.extend(rate.sample(0.1).and_then(|sample| sample.rate));
        }
        found
    }

    #[test]
    fn the_longer_of_send_and_ack_interval() {
        // The first flight is sampled from its start.
        let found = samples(50, 1e-3, 2e-3);
        assert!((found[49] - 50.0 / 0.198).abs() < 1.0, "{}", found[49]);
        assert!((found[0] - 10.0).abs() < 1e-9, "one in 100 ms");
        // A burst of ACKs does not exceed the send rate.
        let found = samples(50, 2e-3, 0.0);
        assert!(found.iter().all(|&rate| rate <= 500.0 + 1e-6));
    }

    /// The last rate with one segment in flight at a time, sent `gap` seconds after the previous one's ACK.
    fn alone(gap: f64) -> f64 {
        let (mut rate, mut board, mut now, mut last) = (Rate::default(), Scoreboard::new(1), 1.0, 0.0);
        for i in 0..20 {
            board.sent(1 + i, 1, false, now);
            rate.sent(i, now, 0.0);
            now += 0.1;
            board.acknowledge(2 + i, |delivered| rate.arrived(&delivered, 1.0, now));
            rate.forget_before(i + 1);
            last = rate.sample(0.1).and_then(|sample| sample.rate).unwrap_or(last);
            now += gap;
        }
        last
    }

    #[test]
    fn a_pause_between_segments_does_not_count() {
        // An RTT of 0.1 s gives 10 segments/s.
        for gap in [0.1, 0.3] {
            assert!((alone(gap) - 10.0).abs() < 1e-9);
        }
    }

    /// Two segments sent before anything arrived, and acknowledged together: the sample is of the one sent later.
    #[test]
    fn of_marks_with_equally_much_delivered_the_later_one_counts() {
        let (mut rate, mut board) = (Rate::default(), Scoreboard::new(1));
        for i in 0..2 {
            board.sent(1 + i, 1, false, i as f64);
            rate.sent(i, i as f64, i as f64);
        }
        board.sack(&[(2, 3)], None, |delivered| rate.arrived(&delivered, 1.0, 2.0));
        board.acknowledge(2, |delivered| rate.arrived(&delivered, 1.0, 2.0));
        assert!(rate.sample(0.0).is_some());
        assert_eq!((rate.first_sent, rate.since_sent()), (1.0, (2.0, 0.0)));
    }

    #[test]
    fn a_limit_of_the_application_ends_once_more_arrived_than_was_in_flight() {
        let (mut rate, mut board) = (Rate::default(), Scoreboard::new(1));
        rate.app_limited(1.0);
        let mut limited = Vec::new();
        for i in 0..4 {
            board.sent(1 + i, 1, false, i as f64);
            rate.sent(i, i as f64, 0.0);
            board.acknowledge(2 + i, |delivered| rate.arrived(&delivered, 1.0, i as f64 + 0.1));
            rate.forget_before(i + 1);
            limited.push(rate.sample(0.0).is_some_and(|sample| sample.app_limited));
        }
        assert_eq!(limited, [true, true, false, false]);
    }

    #[test]
    fn samples_of_a_limited_application_are_app_limited() {
        let (mut rate, mut board) = (Rate::default(), Scoreboard::new(1));
        rate.app_limited(0.0);
        board.sent(1, 1, false, 0.0);
        rate.sent(0, 0.0, 0.0);
        board.acknowledge(2, |delivered| rate.arrived(&delivered, 1.0, 0.1));
        assert!(rate.sample(0.0).is_some_and(|sample| sample.app_limited));
    }
}
