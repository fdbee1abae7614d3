//! Round-trip times: which of them an ACK measures, and what is kept of them.

use super::rto::Rto;
use super::scoreboard::Delivered;
use super::settings::Settings;
use super::wire::Feedback;

/// The time from `then` to `now` by clocks of whole milliseconds, one at least, s.
fn whole_milliseconds(then: f64, now: f64) -> f64 {
    1e-3 * ((1e3 * now).floor() - (1e3 * then).floor()).max(1.0)
}

/// The lesser of two times; neither is NaN, which `f64::min` would have to see to.
#[inline(always)]
pub(super) fn earlier(one: f64, other: f64) -> f64 {
    if other < one {
        other
    } else {
        one
    }
}

/// What is known of the round-trip time.
#[derive(Clone, Debug)]
pub(super) struct Rtt {
    /// SRTT, RTTVAR and the timeout.
    pub rto: Rto,
    /// Smallest of a segment, and smallest SRTT, s.
    pub min: f64,
    pub min_smoothed: f64,
    /// Segments carry time stamps.
    stamps: bool,
    /// The first segment from here on that an ACK covers is a sample (`rtt_sample = "first"`); else beyond all numbers.
    sampled_from: u64,
    /// Congestion control takes an ACK's time from what SACK tells, or from time stamps of whole milliseconds.
    coarse: bool,
}

impl Rtt {
    /// `by_model`: the congestion control models the path.
    pub fn new(settings: &Settings, by_model: bool) -> Self {
        Rtt {
            rto: Rto::new(settings.min_rto, settings.min_rto_for_variation),
            min: f64::INFINITY,
            min_smoothed: f64::INFINITY,
            stamps: settings.timestamps,
            sampled_from: if settings.rtt_sample_first { 0 } else { u64::MAX },
            coarse: settings.bbr.linux.millisecond_stamps && by_model,
        }
    }

    /// Whether the newest segment that an ACK covers says all.
    pub fn allows_fast_path(&self) -> bool {
        self.sampled_from == u64::MAX
    }

    /// Smoothed round-trip time, s; 0 before the first sample.
    #[inline(always)]
    pub fn smoothed(&self) -> f64 {
        self.rto.srtt().unwrap_or(0.0)
    }

    /// A round-trip time of the connection, s.
    #[inline(always)]
    pub fn sample(&mut self, rtt: f64) {
        self.rto.sample(rtt);
        self.min = earlier(self.min, rtt);
        self.min_smoothed = earlier(self.min_smoothed, self.rto.srtt().unwrap_or(rtt));
    }

    /// How long the last segment took that an ACK covers, if it says so.
    #[inline(always)]
    pub fn latest(&mut self, latest: Option<f64>) {
        self.min = earlier(self.min, latest.unwrap_or(f64::INFINITY));
    }

    /// The timer has expired with `next` the next number to send: what was sent before is no sample.
    pub fn timed_out(&mut self, next: u64) {
        if self.sampled_from < u64::MAX {
            self.sampled_from = next;
        }
    }

    /// To be told of the segments that an ACK covers.
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

    /// What an ACK that advances the window, or does not, measures for the timer, s (RFC 6298, section 3: Karn's
    /// algorithm; RFC 7323, 4.1: with time stamps every ACK that advances the window says).
    #[inline(always)]
    pub fn of_ack(&self, measured: &Measured, advances: bool, now: f64, feedback: &Feedback) -> Option<f64> {
        match (advances, self.stamps) {
            (false, _) => None,
            (true, true) => Some(now - feedback.stamp),
            (true, false) if self.sampled_from < u64::MAX => measured.of_first.map(|sent| now - sent),
            (true, false) => measured.newest.map(|sent| now - sent),
        }
    }

    /// What it says to the congestion control, s: how long the last segment took, without the delay of its ACK (Linux,
    /// `ca_rtt_us`). `rtt` is what it measures for the timer.
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

/// When the segments were sent that an ACK covers, as far as round-trip times follow from that.
pub(super) struct Measured {
    /// The latest of those that were sent once.
    newest: Option<f64>,
    /// The first from this number on, if it was sent once.
    first: u64,
    of_first: Option<f64>,
    /// With the rule of that name: the latest that was SACKed and sent once, the last that was acknowledged and sent once,
    /// and whether any was acknowledged that was retransmitted.
    coarse: bool,
    sacked: f64,
    acked: f64,
    retransmitted: bool,
}

impl Measured {
    /// A segment has arrived.
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
