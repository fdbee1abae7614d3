//! BBR's state, and the gains that follow from it.

use super::aggregation::AckAggregation;
use super::linux::LongTermBandwidth;
use super::model::{BtlBw, FullPipe, MinRtt, Rounds};
use super::recovery::Recovery;
use super::rules::BbrRules;

/// Gain of pacing rate and cwnd in Startup: 2 / ln 2, so that the rate doubles in a round trip.
pub const HIGH_GAIN: f64 = 2.0 / std::f64::consts::LN_2;
/// Smallest cwnd, segments.
pub const MIN_CWND: f64 = 4.0;
/// Pacing rate as a part of the bandwidth, so that queues drain (Linux, `bbr_pacing_margin_percent`).
pub const PACING_MARGIN: f64 = 0.99;
/// Pacing gains of the ProbeBW cycle, one for each phase; below, the cwnd gain in all phases.
pub const PACING_GAINS: [f64; 8] = [1.25, 0.75, 1.0, 1.0, 1.0, 1.0, 1.0, 1.0];
const CWND_GAIN: f64 = 2.0;

/// A state of BBR.
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum Mode {
    Startup,
    Drain,
    ProbeBw {
        phase: usize,
        /// Start of the phase, s.
        since: f64,
    },
    ProbeRtt {
        /// End of the time at the smallest cwnd, s, once so little is in flight.
        until: Option<f64>,
        round_done: bool,
    },
}

/// BBR's state.
#[derive(Clone, Debug)]
pub struct Bbr {
    pub(super) rules: BbrRules,
    /// Payload of a segment, bytes.
    pub(super) mss: f64,
    /// Whether ACKs carry SACK blocks.
    pub(super) sack: bool,
    pub(super) mode: Mode,
    pub(super) rounds: Rounds,
    pub(super) btl_bw: BtlBw,
    pub(super) min_rtt: MinRtt,
    pub(super) full_pipe: FullPipe,
    pub(super) long_term: Option<LongTermBandwidth>,
    pub(super) aggregation: AckAggregation,
    pub(super) recovery: Recovery,
    /// Pacing rate, segments/s.
    pub(super) pacing_rate: Option<f64>,
    /// Whether sending has restarted from idle since the last ACK.
    pub(super) idle_restart: bool,
}

impl Bbr {
    /// BBR before the first ACK; segments have `mss` bytes.
    pub fn new(rules: BbrRules, mss: f64, sack: bool) -> Self {
        Bbr {
            rules,
            mss,
            sack,
            mode: Mode::Startup,
            rounds: Rounds::new(&rules),
            btl_bw: BtlBw::new(rules.running_max),
            min_rtt: MinRtt::new(&rules),
            full_pipe: FullPipe::default(),
            long_term: rules.long_term_bandwidth.then(|| LongTermBandwidth::new(mss)),
            aggregation: AckAggregation::new(&rules),
            recovery: Recovery::new(&rules),
            pacing_rate: None,
            idle_restart: false,
        }
    }

    /// This BBR, in a connection where a lost retransmission after a timeout starts a fast recovery, or does not.
    pub fn recovering_again(mut self, recovers: bool) -> Self {
        self.recovery.lost_retransmission_recovers = recovers;
        self
    }

    /// The bandwidth, segments/s.
    pub fn bandwidth(&self) -> f64 {
        self.policed_rate().unwrap_or_else(|| self.btl_bw.get())
    }

    /// The min RTT, s.
    pub fn min_rtt(&self) -> f64 {
        self.min_rtt.rtt
    }

    /// The long-term bandwidth while it is used, segments/s.
    pub(super) fn policed_rate(&self) -> Option<f64> {
        self.long_term.as_ref().and_then(LongTermBandwidth::get)
    }

    pub(super) fn keeps_long_term_bandwidth(&self) -> bool {
        self.policed_rate().is_some()
    }

    /// Pacing gain and cwnd gain.
    pub(super) fn gains(&self) -> (f64, f64) {
        match self.mode {
            Mode::Startup => (HIGH_GAIN, HIGH_GAIN),
            Mode::Drain => (1.0 / HIGH_GAIN, HIGH_GAIN),
            Mode::ProbeBw { .. } if self.keeps_long_term_bandwidth() => (1.0, CWND_GAIN),
            Mode::ProbeBw { phase, .. } => (PACING_GAINS[phase], CWND_GAIN),
            Mode::ProbeRtt { .. } => (1.0, 1.0),
        }
    }

    /// Whether this is the ProbeBW phase that probes for bandwidth.
    pub(super) fn is_probing(&self) -> bool {
        matches!(self.mode, Mode::ProbeBw { phase: 0, .. })
    }
}
