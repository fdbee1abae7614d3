//! # GCC: Google congestion control
//!
//! ## What it does
//! A filter estimates how the delay of groups of packets changes, and a detector with an adaptive threshold takes a
//! steady growth for over-use. Then the rate falls to 85 % of the rate received; otherwise it grows, by 8 % a second
//! far from the last over-use, and by half a packet in a response time near it. Losses above 10 % reduce the rate, too.
//!
//! ## Source
//! draft-ietf-rmcat-gcc-02, sections 4 to 6, with all of it at the sender. "Code" is libwebrtc's goog_cc.
//!
//! ## Differences
//! 1. The draft compares m(i) with the threshold, in milliseconds; the code, from which the threshold's values come,
//!    compares min(i, 60) m(i) (`kMinNumDeltas`). By the draft's words a queue could grow by 12.5 ms a group without a
//!    response, so this follows the code.
//! 2. Packets leave at 2.5 times the target rate, as in the code (`kDefaultPaceMultiplier`), in the draft's groups of
//!    5 ms: at the target rate itself the sender's queue would never drain.
//! 3. The loss ratio is taken over at least 200 ms, since feedback is as frequent as frames, and each step of `As_hat`
//!    starts from the delay-based rate if that is less.
//! 4. The variance of the rate at over-use is normalised and kept within [0.4, 2.5] kbit/s, the first noise variance is
//!    50 ms^2, and a step of the threshold counts at most 100 ms, all as in the code; the draft has no values.
//! 5. There are no bandwidth probes, so the start rate matters: at 8 % a second the rate doubles in 9 s.

mod arrival;
mod detector;
mod rate;

use super::settings::{News, Settings};
use arrival::Arrivals;
pub(super) use arrival::BURST_TIME;
use detector::{Detector, Usage};
use rate::Rate;

/// Pacing rate over target rate (code).
const PACE_MULTIPLIER: f64 = 2.5;
/// Shortest time over which a loss ratio is taken, s.
const LOSS_INTERVAL: f64 = 0.2;
/// 6.
const FEW_LOSSES: f64 = 0.02;
const MANY_LOSSES: f64 = 0.1;

/// Its state.
#[derive(Clone, Debug)]
pub struct Gcc {
    min_rate: f64,
    max_rate: f64,
    arrivals: Arrivals,
    detector: Detector,
    delay_based: Rate,
    /// `As_hat`, bit/s.
    loss_based: f64,
    received: u32,
    lost: u32,
    last_losses: f64,
}

impl Gcc {
    /// One that has no feedback.
    pub(super) fn new(settings: &Settings) -> Self {
        Gcc {
            min_rate: settings.min_rate,
            max_rate: settings.max_rate,
            arrivals: Arrivals::default(),
            detector: Detector::default(),
            delay_based: Rate::new(settings.start_rate),
            loss_based: settings.start_rate,
            received: 0,
            lost: 0,
            last_losses: 0.0,
        }
    }

    pub(super) fn target(&self) -> f64 {
        self.delay_based.estimate().min(self.loss_based).max(self.min_rate).min(self.max_rate)
    }

    pub(super) fn pacing_rate(&self) -> f64 {
        PACE_MULTIPLIER * self.target()
    }

    pub(super) fn on_feedback(&mut self, news: &News<'_>) {
        let mut usage = None;
        for acked in news.acked {
            self.delay_based.received(acked.arrived, acked.size);
            if let Some(change) = self.arrivals.take(acked.sent, acked.arrived) {
                let found = self.detector.update(change);
                usage = if usage == Some(Usage::Over) { usage } else { Some(found) };
            }
        }
        self.delay_based.update(news.now, usage.unwrap_or(self.detector.usage()), news.srtt);
        self.delay_based.limit(self.min_rate, self.max_rate);
        self.on_losses(news);
    }

    /// 6.
    fn on_losses(&mut self, news: &News<'_>) {
        self.received += news.acked.len() as u32;
        self.lost += news.lost;
        if news.now - self.last_losses < LOSS_INTERVAL {
            return;
        }
        let ratio = f64::from(self.lost) / f64::from((self.received + self.lost).max(1));
        let from = self.loss_based.min(self.delay_based.estimate());
        self.loss_based = if ratio < FEW_LOSSES {
            1.05 * from
        } else if ratio > MANY_LOSSES {
            from * (1.0 - 0.5 * ratio)
        } else {
            from
        };
        self.loss_based = self.loss_based.max(self.min_rate).min(self.max_rate);
        (self.received, self.lost, self.last_losses) = (0, 0, news.now);
    }
}

#[cfg(test)]
mod tests;
