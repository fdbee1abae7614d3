//! RTT samples: which an ACK gives, and the estimates from them.

use super::rto::Rto;
use super::scoreboard::Delivered;
use super::settings::{ControlKind, Settings};
use super::wire::Feedback;

/// Time from `then` to `now` by time stamps in whole milliseconds, at least 1 ms, s.
fn whole_milliseconds(then: f64, now: f64) -> f64 {
    1e-3 * ((1e3 * now).floor() - (1e3 * then).floor()).max(1.0)
}

/// The earlier of two times, neither NaN (`f64::min` would test for that).
#[inline(always)]
pub(super) fn earlier(one: f64, other: f64) -> f64 {
    if other < one {
        other
    } else {
        one
    }
}

/// Estimates of the RTT.
#[derive(Clone, Debug)]
pub(super) struct Rtt {
    /// SRTT, RTTVAR and the timeout.
    pub rto: Rto,
    /// Min RTT of segments, s.
    pub min: f64,
    /// Whether segments carry time stamps.
    stamps: bool,
    /// Number of the first segment of which samples are taken; above all numbers if samples are by time stamps.
    sampled_from: u64,
    /// Whether the first segment gives the sample, time stamps or not, if sent once (Linux, `tcp_ack_update_rtt`).
    by_segments: bool,
    /// Whether congestion control takes RTT samples from SACKed segments, or from time stamps in whole milliseconds.
    coarse: bool,
}

impl Rtt {
    /// The estimates before the first sample; `by_model`: the congestion control models the path.
    pub fn new(settings: &Settings, by_model: bool) -> Self {
        let by_segments = settings.control == ControlKind::Prague;
        Rtt {
            rto: Rto::new(settings.rto.min, settings.rto.min_for_variation),
            min: f64::INFINITY,
            stamps: settings.timestamps,
            sampled_from: if by_segments { 0 } else { u64::MAX },
            by_segments,
            coarse: settings.controls.bbr.millisecond_stamps && by_model,
        }
    }

    /// Whether the newest segment that an ACK covers suffices for its sample.
    pub fn allows_fast_path(&self) -> bool {
        self.sampled_from == u64::MAX
    }

    /// Smoothed round-trip time, s; 0 before the first sample.
    #[inline(always)]
    pub fn smoothed(&self) -> f64 {
        self.rto.srtt().unwrap_or(0.0)
    }

    /// An RTT sample, s.
    #[inline(always)]
    pub fn sample(&mut self, rtt: f64) {
        self.rto.sample(rtt);
        self.min = earlier(self.min, rtt);
    }

    /// The RTT of the last segment that an ACK covers, if it gives one, s.
    #[inline(always)]
    pub fn latest(&mut self, latest: Option<f64>) {
        self.min = earlier(self.min, latest.unwrap_or(f64::INFINITY));
    }

    /// The timer has expired with `next` the next number to send: segments sent before give no sample.
    pub fn timed_out(&mut self, next: u64) {
        if self.sampled_from < u64::MAX {
            self.sampled_from = next;
        }
    }

    /// Collects the segments that an ACK covers.
    #[inline(always)]
    pub fn measure(&self) -> Measured {
        Measured {
            newest: None,
            first: self.sampled_from,
            of_first: None,
            coarse: self.coarse,
            sacked: f64::NEG_INFINITY,
            acked: f64::NEG_INFINITY,
            retransmitted: false,
        }
    }

    /// An ACK's RTT sample for the timer, s (RFC 6298, section 3: Karn's algorithm; RFC 7323, 4.1: with time stamps
    /// every ACK that advances the window gives one).
    #[inline(always)]
    pub fn of_ack(&self, measured: &Measured, advances: bool, now: f64, feedback: &Feedback) -> Option<f64> {
        let of_first = measured.of_first.map(|sent| now - sent);
        match (advances, self.stamps) {
            (false, _) => None,
            (true, true) => of_first.filter(|_| self.by_segments).or(Some(now - feedback.stamp)),
            (true, false) if self.sampled_from < u64::MAX => of_first,
            (true, false) => measured.newest.map(|sent| now - sent),
        }
    }

    /// An ACK's RTT sample for congestion control, s: of the last segment, without the delay of its ACK (Linux,
    /// `ca_rtt_us`). `rtt` is the sample for the timer.
    #[inline(always)]
    pub fn of_last_segment(&self, measured: &Measured, rtt: Option<f64>, now: f64, feedback: &Feedback) -> Option<f64> {
        if !self.coarse {
            return measured.newest.map(|sent| now - sent).or(rtt);
        }
        let by_stamps = rtt.filter(|_| self.stamps).map(|_| whole_milliseconds(feedback.stamp, now));
        let known = |sent: f64| (sent > f64::NEG_INFINITY).then_some(now - sent);
        known(measured.sacked).or(known(measured.acked).filter(|_| !measured.retransmitted)).or(by_stamps)
    }
}

/// Departure times, s, of the segments that an ACK covers.
pub(super) struct Measured {
    /// The latest departure of segments that were sent once.
    newest: Option<f64>,
    /// The first segment from this number on, if it was sent once.
    first: u64,
    of_first: Option<f64>,
    /// By SACK: the latest that was SACKed and sent once, the last that was acknowledged and sent once, and whether a
    /// retransmitted segment was acknowledged.
    coarse: bool,
    sacked: f64,
    acked: f64,
    retransmitted: bool,
}

impl Measured {
    /// A segment is newly delivered.
    #[inline(always)]
    pub fn add(&mut self, delivered: &Delivered) {
        let record = &delivered.record;
        let once = !record.is_retransmitted();
        if record.start >= self.first {
            self.first = u64::MAX;
            self.of_first = once.then_some(record.sent);
        }
        if once {
            self.newest = Some(self.newest.map_or(record.sent, |sent: f64| sent.max(record.sent)));
        }
        if self.coarse {
            match (once, delivered.by_sack) {
                (true, true) => self.sacked = record.sent.max(self.sacked),
                (true, false) => self.acked = record.sent,
                (false, by_sack) => self.retransmitted |= !by_sack,
            }
        }
    }
}
