//! What RED-PD knows of a flow, and how the flow's pre-filter probability moves.

use super::parameters::EPOCHS;
use crate::Time;

/// How many rates and losses of a flow the test for unresponsive flows compares (ns-2's `Hist_Max_`).
pub(super) const HISTORY: usize = 5;

/// What is known of a flow.
#[derive(Clone, Copy, Debug, Default)]
pub(super) struct Flow {
    /// Bytes that arrived in this epoch.
    pub arrived: f64,
    /// Bytes that RED or a full buffer dropped in this epoch.
    pub lost: f64,
    /// Bytes that the pre-filter dropped in this epoch.
    pub filtered: f64,
    /// Bytes dropped in each remembered epoch, the present one first; 0 where the flow was not noted.
    pub noted: [f64; EPOCHS],
    /// Pre-filter probability; 0 if the flow is not monitored.
    pub p: f64,
    /// Packets of the flow since the pre-filter last dropped one.
    pub count: u32,
    /// Whether the flow was found not to respond to drops.
    pub unresponsive: bool,
    /// The epoch at whose end the probability last changed, and the time.
    pub last_change: Option<(u64, Time)>,
    /// Rate (bytes/s) and loss when the probability was raised, the latest first.
    pub history: [(f64, f64); HISTORY],
    /// How many entries of `history` are in use.
    pub remembered: usize,
}

impl Flow {
    /// Whether the probability may change at the end of `epoch`: `epochs` epochs and `interval` seconds must have
    /// passed since its last change.
    pub fn may_change(&self, epoch: u64, now: Time, epochs: u64, interval: f64) -> bool {
        // Five epochs of 80 ms must be 0.4 s, whatever the rounding of their sum.
        self.last_change.is_none_or(|(then, at)| epoch - then >= epochs && now - at > interval - 1e-9)
    }

    /// Number of remembered epochs in which the flow was noted.
    pub fn times_noted(&self) -> usize {
        self.noted.iter().filter(|&&bytes| bytes > 0.0).count()
    }

    /// ns-2's `check-unresponsive`: of all pairs in the history whose losses differ, but less than tenfold, does the
    /// rate fall with the root of the loss?
    pub fn does_not_respond(&self) -> bool {
        let history = &self.history[..self.remembered];
        let (mut good, mut bad) = (0, 0);
        for &(rate_at_less, less) in history {
            for &(rate_at_more, more) in history {
                if less < more && less > 0.1 * more && rate_at_less > 0.0 {
                    if rate_at_more / rate_at_less > (less / more).sqrt() {
                        bad += 1;
                    } else {
                        good += 1;
                    }
                }
            }
        }
        match good {
            0 => bad >= 3,
            _ => bad >= 4 * good,
        }
    }

    /// The probability after one more step up; `share` is the flow's part of the drop rate.
    pub fn raised(&self, share: f64) -> f64 {
        let times = if self.unresponsive { 3.0 } else { 2.0 };
        let p = if share > self.p { times * self.p } else { self.p + (times - 1.0) * share };
        // Past 1, the part that passes is divided by two or three instead.
        if p > 1.0 {
            1.0 - (1.0 - self.p) / times
        } else {
            p
        }
    }

    /// The probability after one more step down; `None` if the flow is released.
    pub fn lowered(&self, release_at: f64, most: f64) -> Option<f64> {
        let (release_at, by) = if self.unresponsive { (release_at / 2.0, 1.5) } else { (release_at, 2.0) };
        if self.p <= release_at {
            None
        } else if self.p > by * most {
            Some(self.p - most)
        } else {
            Some(self.p / by)
        }
    }
}
