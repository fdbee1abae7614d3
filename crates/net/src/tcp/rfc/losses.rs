//! Loss detection: by duplicate ACKs (RFC 6582), by SACK (RFC 6675), or by time (RACK-TLP, RFC 8985).

use super::clock::TICK;
use super::rack::Rack;
use super::rtt::Rtt;
use super::scoreboard::Scoreboard;
use super::settings::Settings;
use super::tlp::Tlp;

/// Added to RACK's timer before it is rounded up to ticks, s (Linux, `TCP_TIMEOUT_MIN_US`).
const RACK_MARGIN: f64 = 2e-3;

/// The method of a connection, one of three.
#[derive(Clone, Debug)]
pub(super) enum LossDetection {
    /// Three duplicate ACKs: the first segment is lost (RFC 6582).
    DupAcks,
    /// `IsLost` (RFC 6675).
    Sack,
    /// RACK-TLP (RFC 8985).
    Time(Box<RackTlp>),
}

impl LossDetection {
    pub fn new(settings: &Settings) -> Self {
        match (settings.sack, settings.rack.on) {
            (false, _) => LossDetection::DupAcks,
            (true, false) => LossDetection::Sack,
            (true, true) => LossDetection::Time(Box::new(RackTlp::new(settings))),
        }
    }

    /// The state of RACK-TLP, if that is the method.
    #[inline(always)]
    pub fn by_time(&self) -> Option<&RackTlp> {
        match self {
            LossDetection::Time(rack) => Some(rack),
            _ => None,
        }
    }

    /// The state of RACK-TLP, to be changed, if that is the method.
    #[inline(always)]
    pub fn by_time_mut(&mut self) -> Option<&mut RackTlp> {
        match self {
            LossDetection::Time(rack) => Some(rack),
            _ => None,
        }
    }

    /// Whether an ACK of the first outstanding segment detects no loss.
    #[inline(always)]
    pub fn allows_fast_path(&self, scoreboard: &Scoreboard) -> bool {
        self.by_time().is_none_or(|time| !time.tlp.is_out() && time.rack.allows_fast_path(scoreboard))
    }

    /// Marks segments lost by SACK, after an ACK that newly SACKs `sacked` sequence numbers. Returns the number newly
    /// lost.
    #[inline]
    pub fn find_by_sack(scoreboard: &mut Scoreboard, sacked: u64) -> u64 {
        if sacked > 0 {
            scoreboard.find_losses()
        } else {
            0
        }
    }
}

/// RACK and tail loss probes, with their timers.
#[derive(Clone, Debug)]
pub(super) struct RackTlp {
    pub rack: Rack,
    pub tlp: Tlp,
    /// When RACK's reordering timer expires, s; infinite if it does not run.
    pub reorder_at: f64,
    /// When a probe is due, s; infinite if none is.
    pub probe_at: f64,
    /// Whether RACK's timer runs a little longer, in whole ticks.
    ticks: bool,
    /// If a lost retransmission was detected last: after how many reductions of cwnd it had been sent.
    pub lost_retransmission: Option<u32>,
}

impl RackTlp {
    fn new(settings: &Settings) -> Self {
        RackTlp {
            rack: Rack::new(settings),
            tlp: Tlp::default(),
            reorder_at: f64::INFINITY,
            probe_at: f64::INFINITY,
            ticks: settings.rack.timer_ticks,
            lost_retransmission: None,
        }
    }

    /// Marks late segments lost and sets the reordering timer. Returns how many sequence numbers are newly lost.
    pub fn find(&mut self, scoreboard: &mut Scoreboard, now: f64, recovering: bool, rtt: &Rtt) -> u64 {
        let reo_wnd = self.rack.reo_wnd(scoreboard, recovering, rtt.min, rtt.smoothed());
        let losses = self.rack.find_losses(scoreboard, now, reo_wnd);
        self.reorder_at = losses.again;
        if self.ticks && losses.again < f64::INFINITY {
            let ticks = ((losses.again - now + RACK_MARGIN) / TICK).ceil();
            // The current tick started earlier: a timer never expires early.
            self.reorder_at = ((now / TICK).floor() + 1.0 + ticks) * TICK;
        }
        self.lost_retransmission = losses.lost_retransmission;
        losses.lost
    }

    /// At a timeout, segments that were sent longer ago than this, s, are lost (RFC 8985, 6.3).
    pub fn late_after(&self, scoreboard: &Scoreboard, rtt: &Rtt) -> f64 {
        self.rack.rtt() + self.rack.reo_wnd(scoreboard, true, rtt.min, rtt.smoothed())
    }

    /// Stops the timers and cancels the probe.
    pub fn reset(&mut self) {
        self.tlp.reset();
        (self.reorder_at, self.probe_at) = (f64::INFINITY, f64::INFINITY);
    }
}
