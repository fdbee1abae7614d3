//! The over-use detector with its adaptive threshold (draft-ietf-rmcat-gcc-02, 5.4).

use super::arrival::Change;

/// First threshold, ms (5.6).
const FIRST_THRESHOLD: f64 = 12.5;
const OVERUSE_TIME: f64 = 10.0;
const K_UP: f64 = 0.01;
const K_DOWN: f64 = 0.00018;
/// Excess over the threshold beyond which it is not adapted, ms (5.4).
const SPIKE: f64 = 15.0;
/// The threshold's range, ms (5.4).
const RANGE: (f64, f64) = (6.0, 600.0);
/// Largest factor of the mean, a number of groups (libwebrtc: `kMinNumDeltas`).
const DELTAS: u32 = 60;
/// Longest step of the adaptation, ms (libwebrtc: `kMaxTimeDeltaMs`).
const LONGEST_STEP: f64 = 100.0;

/// What the detector finds.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Usage {
    Normal,
    Over,
    Under,
}

/// The detector.
#[derive(Clone, Debug)]
pub struct Detector {
    threshold: f64,
    last: f64,
    mean: f64,
    /// When the estimate rose above the threshold, s; `None` below it.
    over_since: Option<f64>,
    usage: Usage,
}

impl Default for Detector {
    fn default() -> Self {
        Detector { threshold: FIRST_THRESHOLD, last: 0.0, mean: 0.0, over_since: None, usage: Usage::Normal }
    }
}

impl Detector {
    /// What the detector found last.
    pub fn usage(&self) -> Usage {
        self.usage
    }

    /// Takes the change that a group shows.
    pub fn update(&mut self, change: Change) -> Usage {
        let trend = change.mean * f64::from(change.number.min(DELTAS));
        if trend > self.threshold {
            let since = *self.over_since.get_or_insert(change.at);
            // "If m(i) < m(i-1), over-use will not be signaled."
            if (change.at - since) * 1e3 >= OVERUSE_TIME && change.mean >= self.mean {
                self.usage = Usage::Over;
            }
        } else {
            self.over_since = None;
            self.usage = if trend < -self.threshold { Usage::Under } else { Usage::Normal };
        }
        self.adapt(trend.abs(), ((change.at - self.last) * 1e3).min(LONGEST_STEP));
        (self.last, self.mean) = (change.at, change.mean);
        self.usage
    }

    fn adapt(&mut self, trend: f64, step: f64) {
        if trend - self.threshold > SPIKE {
            return;
        }
        let k = if trend < self.threshold { K_DOWN } else { K_UP };
        self.threshold = (self.threshold + step * k * (trend - self.threshold)).clamp(RANGE.0, RANGE.1);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn change(at: f64, mean: f64) -> Change {
        Change { at, mean, number: 1 }
    }

    #[test]
    fn over_use_must_last_and_not_ease() {
        let mut detector = Detector::default();
        assert_eq!(detector.update(change(1.0, 13.0)), Usage::Normal);
        assert_eq!(detector.update(change(1.009, 14.0)), Usage::Normal);
        assert_eq!(detector.update(change(1.011, 13.5)), Usage::Normal);
        assert_eq!(detector.update(change(1.02, 14.0)), Usage::Over);
        // An estimate at the threshold is normal, one far below it is under-use.
        assert_eq!(detector.update(change(1.03, 0.0)), Usage::Normal);
        assert_eq!(detector.update(change(1.04, -14.0)), Usage::Under);
    }

    #[test]
    fn the_trend_counts_sixty_groups_at_most() {
        let mut detector = Detector::default();
        let of = |number| Change { at: 1.0, mean: -0.25, number };
        assert_eq!(detector.clone().update(of(40)), Usage::Normal);
        assert_eq!(detector.clone().update(of(60)), Usage::Under);
        detector.threshold = 16.0;
        assert_eq!(detector.update(of(1000)), Usage::Normal);
    }

    #[test]
    fn the_threshold_rises_fast_falls_slowly_and_ignores_spikes() {
        let after = |threshold: f64, mean: f64, step: f64| {
            let mut detector = Detector { threshold, last: 1.0, ..Detector::default() };
            detector.update(change(1.0 + step, mean));
            detector.threshold
        };
        assert!((after(12.5, 22.5, 0.01) - (12.5 + 10.0 * 0.01 * 10.0)).abs() < 1e-9);
        assert!((after(12.5, -22.5, 0.01) - (12.5 + 10.0 * 0.01 * 10.0)).abs() < 1e-9);
        assert!((after(12.5, 2.5, 0.01) - (12.5 - 10.0 * 0.00018 * 10.0)).abs() < 1e-9);
        assert_eq!(after(12.5, 12.5 + 15.1, 0.01), 12.5);
        // The threshold stays within its range, and a step counts 100 ms at most.
        assert_eq!(after(6.0, 0.0, 1.0), 6.0);
        assert!((after(100.0, 0.0, 5.0) - 100.0 * (1.0 - 100.0 * 0.00018)).abs() < 1e-9);
    }
}
