//! Slow start, and HyStart++ (RFC 9406), which leaves it before queues are full.

use super::search::Search;
use super::{Acked, Window};

/// RTT samples that a round needs (RFC 9406, 4.3: `N_RTT_SAMPLE`).
const SAMPLES: u32 = 8;
/// RTT increase that ends slow start: bounds, s, and divisor of the RTT (4.3: `MIN_RTT_THRESH`, `MAX_RTT_THRESH`,
/// `MIN_RTT_DIVISOR`).
const LEAST_RISE: f64 = 4e-3;
const LARGEST_RISE: f64 = 16e-3;
const RISE_DIVISOR: f64 = 8.0;
/// Conservative slow start: divisor of growth, and rounds (4.3: `CSS_GROWTH_DIVISOR`, `CSS_ROUNDS`).
const GROWTH_DIVISOR: f64 = 4.0;
const ROUNDS: u32 = 5;
/// Most segments that an ACK adds without pacing (4.3: `L`).
const LIMIT: f64 = 8.0;

/// Classic HyStart (Ha and Rhee 2011; Linux, `hystart_update`): the smallest cwnd, samples that a round needs, the
/// largest gap between ACKs of a train, s, and bounds of the delay increase, s.
const LEAST_WINDOW: f64 = 16.0;
const CLASSIC_SAMPLES: u32 = 8;
const TRAIN_GAP: f64 = 2e-3;
/// ACKs may be late by this many of the largest bursts at the pacing rate, but at most by the time below, s
/// (`hystart_ack_delay`).
const LATE_BURSTS: f64 = 4.0;
const MOST_ACK_DELAY: f64 = 1e-3;

/// How slow start ends before a loss.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Kind {
    /// Only a loss ends it.
    Off,
    /// HyStart++ (RFC 9406).
    PlusPlus,
    /// Classic HyStart as in Linux: ends slow start at once, by delay or by the length of an ACK train, even after a
    /// timeout.
    Classic,
    /// SEARCH (draft-chung-ccwg-search).
    Search,
}

/// Slow start of a congestion control.
#[derive(Clone, Debug)]
pub struct SlowStart {
    most: f64,
    largest_burst: f64,
    hystart: Option<HyStart>,
    classic: Option<Classic>,
    search: Option<Box<Search>>,
}

impl SlowStart {
    /// Slow start in which an ACK adds up to `most` segments (RFC 5681: 1; RFC 3465's `L`), or HyStart++'s limit.
    pub fn new(most: f64, hystart: Kind) -> Self {
        SlowStart {
            most,
            largest_burst: f64::INFINITY,
            hystart: (hystart == Kind::PlusPlus).then(HyStart::default),
            classic: (hystart == Kind::Classic).then(Classic::default),
            search: (hystart == Kind::Search).then(Box::default),
        }
    }

    /// Sets the size of the largest bursts, which ACKs may wait for, segments.
    pub fn in_bursts_of(self, largest_burst: f64) -> Self {
        SlowStart { largest_burst, ..self }
    }

    /// Grows cwnd, which is below ssthresh, by an ACK; returns its segments that are left when ssthresh is reached.
    pub fn grow(&mut self, window: &mut Window, ack: &Acked) -> f64 {
        if self.classic.as_mut().is_some_and(|classic| classic.is_over(window, ack, self.largest_burst))
            || self.search.as_mut().is_some_and(|search| search.is_over(ack))
        {
            window.ssthresh = window.cwnd;
            return ack.segments;
        }
        let Some(hystart) = &mut self.hystart else {
            return super::slow_start(window, ack.segments, self.most);
        };
        let conservative = hystart.on_ack(ack);
        let most = if ack.paced { f64::INFINITY } else { LIMIT };
        if hystart.is_over() {
            window.ssthresh = window.cwnd;
            self.hystart = None;
            return 0.0;
        }
        if conservative {
            super::slow_start(window, ack.segments.min(most) / GROWTH_DIVISOR, most);
            return 0.0;
        }
        super::slow_start(window, ack.segments, most)
    }

    /// After a loss or mark SEARCH starts anew; HyStart++, for the first slow start only (4.3), ends.
    pub fn end(&mut self) {
        self.hystart = None;
        if let Some(search) = &mut self.search {
            search.restart();
        }
    }

    /// A timeout resets classic HyStart.
    pub fn restart(&mut self) {
        self.end();
        self.classic = self.classic.as_ref().map(|_| Classic::default());
    }
}

/// State of classic HyStart.
#[derive(Clone, Debug)]
struct Classic {
    round_end: u64,
    begun: f64,
    last: f64,
    /// Min RTT of this round, and of all rounds, s.
    current: f64,
    least: f64,
    samples: u32,
    found: bool,
}

impl Default for Classic {
    fn default() -> Self {
        let (current, least) = (f64::INFINITY, f64::INFINITY);
        Classic { round_end: 0, begun: 0.0, last: 0.0, current, least, samples: 0, found: false }
    }
}

impl Classic {
    /// Takes an ACK in slow start. Returns whether slow start ends.
    fn is_over(&mut self, window: &Window, ack: &Acked, largest_burst: f64) -> bool {
        let Some(rtt) = ack.rtt.filter(|_| !self.found) else { return false };
        self.least = self.least.min(rtt);
        if ack.una > self.round_end {
            (self.begun, self.last) = (ack.now, ack.now);
            self.round_end = ack.next;
            self.current = f64::INFINITY;
            self.samples = 0;
        }
        if window.cwnd < LEAST_WINDOW {
            return false;
        }
        if ack.now - self.last <= TRAIN_GAP {
            self.last = ack.now;
            let ack_delay = (LATE_BURSTS * largest_burst / window.pacing_rate(ack.srtt)).min(MOST_ACK_DELAY);
            let wait = (self.least + ack_delay) / if ack.paced { 1.0 } else { 2.0 };
            self.found = ack.now - self.begun > wait;
        }
        self.current = self.current.min(rtt);
        if self.samples < CLASSIC_SAMPLES {
            self.samples += 1;
        } else {
            self.found |= self.current > self.least + (self.least / RISE_DIVISOR).clamp(LEAST_RISE, LARGEST_RISE);
        }
        self.found
    }
}

/// State of HyStart++.
#[derive(Clone, Debug)]
struct HyStart {
    window_end: u64,
    /// Min RTT of the last round, and of this round, s.
    last: f64,
    current: f64,
    samples: u32,
    /// In conservative slow start: min RTT when it started, and rounds since.
    baseline: Option<f64>,
    rounds: u32,
}

impl Default for HyStart {
    fn default() -> Self {
        HyStart { window_end: 0, last: f64::INFINITY, current: f64::INFINITY, samples: 0, baseline: None, rounds: 0 }
    }
}

impl HyStart {
    /// Takes an ACK in slow start. Returns whether growth is conservative.
    fn on_ack(&mut self, ack: &Acked) -> bool {
        if let Some(rtt) = ack.rtt {
            self.current = self.current.min(rtt);
            self.samples += 1;
        }
        if self.samples >= SAMPLES && self.current < f64::INFINITY {
            match self.baseline {
                None if self.last < f64::INFINITY => {
                    let rise = (self.last / RISE_DIVISOR).clamp(LEAST_RISE, LARGEST_RISE);
                    if self.current >= self.last + rise {
                        self.baseline = Some(self.current);
                        self.rounds = 0;
                    }
                }
                Some(baseline) if self.current < baseline => self.baseline = None,
                _ => {}
            }
        }
        let conservative = self.baseline.is_some();
        if ack.una >= self.window_end {
            self.last = self.current;
            self.current = f64::INFINITY;
            self.samples = 0;
            self.window_end = ack.next;
            // The round in which conservative slow start began counts.
            self.rounds += u32::from(conservative);
        }
        conservative
    }

    fn is_over(&self) -> bool {
        self.baseline.is_some() && self.rounds >= ROUNDS
    }
}

#[cfg(test)]
mod tests {
    use super::super::tests::acked;
    use super::*;

    /// cwnd after each round of `acks` one-segment ACKs, with these RTTs in ms.
    fn rounds(times: &[f64], acks: u64) -> (Vec<f64>, Window) {
        let (mut start, mut window) =
            (SlowStart::new(1.0, Kind::PlusPlus), Window { cwnd: 10.0, ssthresh: f64::INFINITY });
        let mut una = 0;
        let after = times.iter().map(|ms| {
            for _ in 0..acks {
                una += 1;
                if window.slow_start() {
                    let ack = Acked { rtt: Some(ms / 1e3), una, next: una + acks, ..acked(1.0) };
                    start.grow(&mut window, &ack);
                }
            }
            window.cwnd
        });
        (after.collect(), window)
    }

    #[test]
    fn the_rtt_increase_that_ends_slow_start() {
        // An eighth of the last round's min RTT, from 4 to 16 ms: 20, 100 and 200 ms end at 24, 112.5 and 216 ms.
        for (last, exit) in [(20.0, 24.0), (100.0, 112.5), (200.0, 216.0)] {
            let (below, _) = rounds(&[last, last, exit - 0.1], 16);
            let (at, _) = rounds(&[last, last, exit + 1e-9], 16);
            assert_eq!(below[2], 10.0 + 48.0, "{last}");
            assert!(
                at[2] <= 10.0 + 32.0 + 8.0 + 2.0,
                "{last}: growth is a quarter from the eighth sample on: {}",
                at[2]
            );
        }
    }

    #[test]
    fn five_conservative_rounds_end_slow_start() {
        let (after, window) = rounds(&[100.0, 100.0, 120.0, 120.0, 120.0, 120.0, 120.0, 120.0, 120.0], 16);
        assert!(window.ssthresh < f64::INFINITY && window.ssthresh == window.cwnd, "{window:?}");
        assert_eq!(after[7], after[8], "over");
        let growth = after[4] - after[3];
        assert_eq!(growth, 4.0, "16 segments, a quarter of them");
    }

    #[test]
    fn an_rtt_below_the_baseline_resumes_slow_start() {
        let (after, window) = rounds(&[100.0, 100.0, 120.0, 110.0, 110.0], 16);
        assert_eq!(after[4] - after[3], 16.0, "as before");
        assert_eq!(window.ssthresh, f64::INFINITY);
    }

    #[test]
    fn the_last_ack_may_pass_ssthresh() {
        let mut window = Window { cwnd: 3.0, ssthresh: 4.5 };
        assert_eq!(SlowStart::new(8.0, Kind::Off).grow(&mut window, &acked(5.0)), 3.5);
        assert_eq!(window.cwnd, 4.5);
    }

    #[test]
    fn up_to_eight_segments_an_ack() {
        let (mut start, mut window) =
            (SlowStart::new(1.0, Kind::PlusPlus), Window { cwnd: 40.0, ssthresh: f64::INFINITY });
        start.grow(&mut window, &Acked { rtt: Some(0.1), ..acked(12.0) });
        assert_eq!(window.cwnd, 48.0);
        start.grow(&mut window, &Acked { rtt: Some(0.1), paced: true, ..acked(12.0) });
        assert_eq!(window.cwnd, 60.0, "all of them if sending is paced");
    }

    /// cwnd at which slow start ended, if it did, in a round of ACKs of one segment from `from` on, `gap` seconds apart
    /// with this RTT, s.
    fn classic(start: &mut SlowStart, window: &mut Window, round: u64, from: f64, gap: f64, rtt: f64) -> Option<f64> {
        for i in 0..20 {
            let now = from + gap * i as f64;
            let una = 1 + 20 * round + i;
            start.grow(window, &Acked { now, rtt: Some(rtt), srtt: rtt, una, next: 20 * (round + 1), ..acked(1.0) });
            if !window.slow_start() {
                return Some(window.cwnd);
            }
        }
        None
    }

    #[test]
    fn a_train_of_half_the_round_trip_ends_classic_slow_start() {
        let mut window = Window { cwnd: 20.0, ssthresh: f64::INFINITY };
        let mut start = SlowStart::new(1.0, Kind::Classic);
        // ACKs 1 ms apart, with an RTT of 20 ms: over once 10.5 ms have passed.
        assert_eq!(classic(&mut start, &mut window, 0, 1.0, 1e-3, 0.02), Some(31.0));
        let mut window = Window { cwnd: 20.0, ssthresh: f64::INFINITY };
        let mut start = SlowStart::new(1.0, Kind::Classic);
        assert_eq!(classic(&mut start, &mut window, 0, 1.0, 2.1e-3, 0.02), None, "no train");
        let mut window = Window { cwnd: 5.0, ssthresh: f64::INFINITY };
        let mut start = SlowStart::new(1.0, Kind::Classic);
        assert_eq!(classic(&mut start, &mut window, 0, 1.0, 1e-3, 0.02), None, "trains of 16 segments on");
        assert_eq!(classic(&mut start, &mut window, 1, 1.02, 1e-3, 0.02), Some(36.0));
    }

    #[test]
    fn at_a_high_rate_acks_are_less_late() {
        // Four bursts of 45 segments at 400 a millisecond take 0.45 ms, so the train is over after 0.725 ms.
        let mut window = Window { cwnd: 200.0, ssthresh: f64::INFINITY };
        let mut start = SlowStart::new(0.0, Kind::Classic).in_bursts_of(45.0);
        assert_eq!(classic(&mut start, &mut window, 0, 1.0, 0.72e-3 / 19.0, 1e-3), None);
        let mut start = SlowStart::new(0.0, Kind::Classic).in_bursts_of(45.0);
        assert_eq!(classic(&mut start, &mut window, 0, 1.0, 0.73e-3 / 19.0, 1e-3), Some(200.0));
    }

    #[test]
    fn a_rise_of_an_eighth_ends_classic_slow_start() {
        for (rtt, over) in [(0.1124, None), (0.1126, Some(40.0 + 8.0))] {
            let mut window = Window { cwnd: 20.0, ssthresh: f64::INFINITY };
            let mut start = SlowStart::new(1.0, Kind::Classic);
            assert_eq!(classic(&mut start, &mut window, 0, 1.0, 4e-3, 0.1), None);
            assert_eq!(classic(&mut start, &mut window, 1, 1.1, 4e-3, rtt), over, "{rtt}");
            start.end();
            start.restart();
            let mut window = Window { cwnd: 20.0, ssthresh: f64::INFINITY };
            classic(&mut start, &mut window, 2, 2.0, 4e-3, 0.1);
            assert_eq!(classic(&mut start, &mut window, 3, 2.1, 4e-3, rtt), over, "after a timeout too");
        }
    }
}
