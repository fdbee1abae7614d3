//! # SCReAMv2: self-clocked rate adaptation for multimedia
//!
//! ## What it does
//! Keeps a reference window of bytes in flight, from which the encoder's target rate follows. Marks reduce the window
//! in proportion to their fraction (L4S) or by a fifth (classic ECN), a loss by 30 %, and a queueing delay above half
//! of its target as marks would. The window grows by a segment a round trip, and faster the longer congestion is past.
//!
//! ## Source
//! draft-ietf-ccwg-rfc8298bis-screamv2-01, sections 4.1 to 4.4, with the recommended constants. "Code" is
//! github.com/EricssonResearch/scream, ScreamV2Tx.cpp.
//!
//! ## Differences
//! 1. The options are left out: REDUCE_JITTER (so `ref_wnd_delay_scale` is 1), 4.5.1 to 4.5.4 (clock drift, losses of
//!    links and policers, undershoot, competing flows: beside loss-based TCP in a deep FIFO SCReAM yields).
//! 2. The draft starts at 3000 B; here the window starts at what the first target rate needs, as the code's parameter
//!    `cwnd` allows. Until the first is measured, the round-trip time is taken to be 50 ms, as in the code.
//! 3. The queueing delay is that of the last packet reported; its base is the minimum of ten minutes (RFC 6817).
//! 4. Sizes include all headers, so PACKET_OVERHEAD counts them again: the target is 2 % lower than needed.
//! 5. The reordering window starts at 0 (the draft has no value), and MSS is the largest packet of the flow.

use super::settings::{Ecn, News, Settings};
use crate::tcp::rfc::control::Delays;

/// VIRTUAL_RTT, s (4.2.2).
const VIRTUAL_RTT: f64 = 0.025;
const QDELAY_TARGET: f64 = 0.06;
/// Smallest reference window, bytes.
const MIN_REF_WND: f64 = 3000.0;
const BYTES_IN_FLIGHT_HEAD_ROOM: f64 = 1.5;
const BETA_LOSS: f64 = 0.7;
const BETA_ECN: f64 = 0.8;
const POST_CONGESTION_DELAY_RTTS: f64 = 100.0;
const MUL_INCREASE_FACTOR: f64 = 0.02;
/// Gain of `l4s_alpha` when it rises (4.2.1.3).
const L4S_AVG_G_UP: f64 = 1.0 / 8.0;
const L4S_AVG_G_DOWN: f64 = 1.0 / 128.0;
/// Gain of `qdelay_avg` when it rises (4.2.1.4).
const QDELAY_AVG_G: f64 = 1.0 / 4.0;
/// 4.3.1: `ref_wnd_overhead` where `ref_wnd_delay_scale` is 1.
const REF_WND_OVERHEAD_MAX: f64 = 3.0;
/// Least pacing rate, bit/s (4.3.2).
const RATE_PACE_MIN: f64 = 50_000.0;
const PACKET_PACING_HEADROOM: f64 = 1.5;
const MAX_RELAXED_PACING_FACTOR: f64 = 4.0;
const RELAXED_PACING_LIMIT_LOW: f64 = 0.8;
/// Overhead of a packet, bytes (4.4).
const PACKET_OVERHEAD: f64 = 20.0;
const RATE_ADJUST_GAIN: f64 = 1.0 / 16.0;
const FRAME_SIZE_DEV_ALPHA: f64 = 1.0 / 64.0;
const TARGET_MARGIN: f64 = 1.2;
/// Round-trip time before one is measured, s (code: `sRtt`).
const FIRST_RTT: f64 = 0.05;

/// Its state, with the draft's names.
#[derive(Clone, Debug)]
pub struct Scream {
    l4s: bool,
    mss: f64,
    min_rate: f64,
    max_rate: f64,
    frame_period: f64,
    ref_wnd: f64,
    ref_wnd_i: f64,
    ref_wnd_i_update_allowed: bool,
    max_bytes_in_flight: u64,
    max_bytes_in_flight_prev: u64,
    last_round: f64,
    delays: Delays,
    qdelay: f64,
    qdelay_avg: f64,
    last_update_qdelay_avg: f64,
    l4s_alpha: f64,
    last_update_l4s_alpha: f64,
    delivered: u32,
    marked: u32,
    last_congestion_detected: f64,
    last_reaction: f64,
    /// Whether a loss was detected since the last reaction.
    loss_detected: bool,
    units_marked: bool,
    rate_adjust_factor: f64,
    frame_size_dev: f64,
    target: f64,
    measured: bool,
}

impl Scream {
    /// A control that has had no feedback.
    pub(super) fn new(settings: &Settings) -> Self {
        let mut scream = Scream {
            l4s: settings.ecn == Ecn::L4s,
            mss: settings.mss(),
            min_rate: settings.min_rate,
            max_rate: settings.max_rate,
            frame_period: settings.encoding.interval,
            ref_wnd: MIN_REF_WND,
            ref_wnd_i: 1.0,
            ref_wnd_i_update_allowed: true,
            max_bytes_in_flight: 0,
            max_bytes_in_flight_prev: 0,
            last_round: 0.0,
            delays: Delays::default(),
            qdelay: 0.0,
            qdelay_avg: 0.0,
            last_update_qdelay_avg: 0.0,
            l4s_alpha: 0.0,
            last_update_l4s_alpha: 0.0,
            delivered: 0,
            marked: 0,
            // The code's times start at 0, which its wall clock has long passed.
            last_congestion_detected: f64::NEG_INFINITY,
            last_reaction: f64::NEG_INFINITY,
            loss_detected: false,
            units_marked: false,
            rate_adjust_factor: 0.0,
            frame_size_dev: 0.0,
            target: settings.start_rate,
            measured: false,
        };
        scream.open_for(FIRST_RTT);
        scream
    }

    /// The window that the current target rate needs with this round-trip time.
    fn open_for(&mut self, srtt: f64) {
        let needed = self.target * srtt / 8.0 * TARGET_MARGIN * (self.mss + PACKET_OVERHEAD) / self.mss;
        self.ref_wnd = needed.max(MIN_REF_WND);
    }

    pub(super) fn target(&self) -> f64 {
        self.target
    }

    /// Bytes that may be in flight (4.3.1).
    pub(super) fn window(&self) -> f64 {
        self.ref_wnd * REF_WND_OVERHEAD_MAX
    }

    /// Rate at which packets leave, bit/s (4.3.2).
    pub(super) fn pacing_rate(&self) -> f64 {
        let nominal = self.target / self.max_rate;
        let relaxed = ((nominal - RELAXED_PACING_LIMIT_LOW) / (1.0 - RELAXED_PACING_LIMIT_LOW)).min(1.0);
        let scale = (1.0 - relaxed).clamp(1.0 / MAX_RELAXED_PACING_FACTOR, 1.0);
        self.target.max(RATE_PACE_MIN) * PACKET_PACING_HEADROOM / scale
    }

    /// Adapts to a frame's size (4.4).
    pub(super) fn on_frame(&mut self, bytes: f64, waited: f64) {
        let error = (waited - self.frame_period / 4.0) / self.frame_period;
        self.rate_adjust_factor = (self.rate_adjust_factor + error * RATE_ADJUST_GAIN).clamp(0.0, 0.5);
        let nominal = self.target * self.frame_period / 8.0;
        let deviation = ((bytes - nominal) / nominal).max(0.0);
        let averaged = (1.0 - FRAME_SIZE_DEV_ALPHA) * self.frame_size_dev + FRAME_SIZE_DEV_ALPHA * deviation;
        self.frame_size_dev = averaged.min(0.2);
    }

    pub(super) fn on_sent(&mut self, in_flight: u64) {
        self.max_bytes_in_flight = self.max_bytes_in_flight.max(in_flight);
    }

    pub(super) fn on_feedback(&mut self, news: &News<'_>) {
        let &News { now, srtt, .. } = news;
        if !self.measured {
            self.measured = true;
            self.open_for(srtt);
        }
        if now - self.last_round >= srtt {
            self.last_round = now;
            self.max_bytes_in_flight_prev = self.max_bytes_in_flight;
            self.max_bytes_in_flight = news.in_flight;
        }
        self.average_marks(news);
        self.average_delay(news);
        // Before any reduction: how far the window is from its last known maximum.
        let scl = 8.0 * (self.ref_wnd - self.ref_wnd_i) / self.ref_wnd_i;
        let scl = (scl * scl).clamp(0.1, 1.0);
        self.loss_detected |= news.lost > 0;
        self.units_marked |= news.acked.iter().any(|acked| acked.ce);
        if self.loss_detected || self.units_marked {
            self.last_congestion_detected = now;
        }
        if now - self.last_reaction >= VIRTUAL_RTT.min(srtt) {
            self.reduce(now, srtt, scl);
        }
        self.increase(news, scl);
        self.update_target(srtt);
    }

    /// 4.2.1.3: the fraction of marks, up fast and down slowly.
    fn average_marks(&mut self, news: &News<'_>) {
        self.delivered += news.acked.len() as u32;
        self.marked += news.acked.iter().filter(|acked| acked.ce).count() as u32;
        if news.now - self.last_update_l4s_alpha < news.srtt.min(0.01) || self.delivered == 0 {
            return;
        }
        let fraction = f64::from(self.marked) / f64::from(self.delivered);
        self.l4s_alpha = if fraction >= self.l4s_alpha {
            L4S_AVG_G_UP * fraction + (1.0 - L4S_AVG_G_UP) * self.l4s_alpha
        } else {
            (1.0 - L4S_AVG_G_DOWN) * self.l4s_alpha
        };
        self.last_update_l4s_alpha = news.now;
        (self.delivered, self.marked) = (0, 0);
    }

    /// 4.2.1.4: the queueing delay, up slowly and down fast.
    fn average_delay(&mut self, news: &News<'_>) {
        for acked in news.acked {
            let delay = acked.arrived - acked.sent;
            self.delays.note(delay, news.now);
            self.qdelay = delay - self.delays.base();
        }
        if news.now - self.last_update_qdelay_avg < VIRTUAL_RTT.min(news.srtt) {
            return;
        }
        self.qdelay_avg = if self.qdelay < self.qdelay_avg {
            self.qdelay
        } else {
            QDELAY_AVG_G * self.qdelay + (1.0 - QDELAY_AVG_G) * self.qdelay_avg
        };
        self.last_update_qdelay_avg = news.now;
    }

    /// Reduces the window (4.2.2.1).
    fn reduce(&mut self, now: f64, srtt: f64, scl: f64) {
        let (loss, ce) = (self.loss_detected, self.units_marked && !self.loss_detected);
        let virtual_ce = !loss && !ce && self.qdelay_avg > QDELAY_TARGET / 2.0;
        if !loss && !ce && !virtual_ce {
            return;
        }
        if self.ref_wnd_i_update_allowed {
            self.ref_wnd_i = self.ref_wnd;
            self.ref_wnd_i_update_allowed = false;
        }
        let several_a_round = (srtt / VIRTUAL_RTT).max(1.0);
        if loss {
            self.ref_wnd *= BETA_LOSS;
        } else if ce && self.l4s {
            let mut backoff = self.l4s_alpha / 2.0 / several_a_round;
            if self.qdelay < QDELAY_TARGET / 4.0 {
                backoff *= scl.max(0.25);
            }
            if now - self.last_reaction > 100.0 * srtt.max(VIRTUAL_RTT) {
                self.ref_wnd = self.ref_wnd.min(self.max_bytes_in_flight_prev as f64);
            }
            self.ref_wnd *= 1.0 - backoff;
        } else if ce {
            self.ref_wnd *= BETA_ECN;
        } else {
            let alpha = ((self.qdelay_avg - QDELAY_TARGET / 2.0) / (QDELAY_TARGET / 2.0)).min(1.0);
            self.ref_wnd *= 1.0 - alpha / 2.0 / several_a_round;
        }
        self.ref_wnd = self.ref_wnd.max(MIN_REF_WND);
        self.last_reaction = now;
        (self.loss_detected, self.units_marked) = (false, false);
    }

    /// Increases the window (4.2.2.2).
    fn increase(&mut self, news: &News<'_>, scl: f64) {
        let since = news.now - self.last_congestion_detected;
        let past = (since / (POST_CONGESTION_DELAY_RTTS * news.srtt.max(VIRTUAL_RTT))).clamp(0.0, 1.0);
        let unmarked = news.advanced.saturating_sub(news.advanced_ce) as f64;
        let mut increment = unmarked * self.ref_wnd_ratio();
        increment *= (news.srtt / VIRTUAL_RTT).min(1.0);
        increment *= scl.max(0.25);
        increment *= 1.0 + MUL_INCREASE_FACTOR * self.ref_wnd / self.mss * past * scl;
        let in_flight = self.max_bytes_in_flight.max(self.max_bytes_in_flight_prev);
        let allowed = self.mss + in_flight as f64 * BYTES_IN_FLIGHT_HEAD_ROOM;
        if increment > 0.0 && self.ref_wnd + increment <= allowed && self.target < self.max_rate {
            self.ref_wnd += increment;
            self.ref_wnd_i_update_allowed = true;
        }
    }

    fn ref_wnd_ratio(&self) -> f64 {
        (self.mss / self.ref_wnd).min(1.0)
    }

    /// Sets the target rate (4.4).
    fn update_target(&mut self, srtt: f64) {
        let mut factor = 1.0 - (self.ref_wnd_ratio() - 0.1).clamp(0.0, 0.2);
        factor *= self.mss / (self.mss + PACKET_OVERHEAD);
        factor /= TARGET_MARGIN + self.rate_adjust_factor + self.frame_size_dev;
        let target = factor * 8.0 * self.ref_wnd / srtt;
        self.target = target.max(self.min_rate).min(self.max_rate);
    }
}

#[cfg(test)]
mod tests;
