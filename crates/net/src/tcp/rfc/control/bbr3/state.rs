//! BBRv3's parameters, state, and the gains of each state ("Summary of Control Behavior in the State Machine").

use super::signals::WindowedMax;

/// Pacing gain in Startup: the sending rate doubles in a round trip (4 ln 2).
const STARTUP_PACING_GAIN: f64 = 4.0 * std::f64::consts::LN_2;
const DRAIN_PACING_GAIN: f64 = 0.5;
const DOWN_PACING_GAIN: f64 = 0.9;
const UP_PACING_GAIN: f64 = 1.25;
/// Gains of cwnd.
const CWND_GAIN: f64 = 2.0;
const UP_CWND_GAIN: f64 = 2.25;
pub const PROBE_RTT_CWND_GAIN: f64 = 0.5;
/// Pacing rate as a part of the bandwidth, at a gain of 1.
pub const PACING_MARGIN: f64 = 0.99;
/// Smallest cwnd, segments.
pub const MIN_PIPE_CWND: f64 = 4.0;
/// RTT to start with if the handshake gave none, s (`InitPacingRate`).
pub const INITIAL_RTT: f64 = 1e-3;

/// A state of BBRv3.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum State {
    Startup,
    Drain,
    ProbeBwDown,
    ProbeBwCruise,
    ProbeBwRefill,
    ProbeBwUp,
    ProbeRtt,
}

/// What the first loss of a round trip may change (`undo_state` and others).
#[derive(Clone, Copy, Debug, Default)]
pub struct Saved {
    /// The state that losses have ended.
    pub state: Option<State>,
    pub(super) bw_shortterm: f64,
    pub(super) inflight_shortterm: f64,
    pub(super) inflight_longterm: f64,
}

impl State {
    /// `IsInAProbeBWState`.
    pub fn is_probe_bw(self) -> bool {
        matches!(self, State::ProbeBwDown | State::ProbeBwCruise | State::ProbeBwRefill | State::ProbeBwUp)
    }

    /// `IsProbingBW`.
    pub fn probes(self) -> bool {
        matches!(self, State::Startup | State::ProbeBwRefill | State::ProbeBwUp)
    }
}

/// What ACKs say of a bandwidth probe.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum AckPhase {
    Init,
    Refilling,
    ProbeStarting,
    ProbeFeedback,
    ProbeStopping,
}

/// The state of BBRv3; the names are the draft's.
#[derive(Clone, Debug)]
pub struct Bbr3 {
    pub(super) state: State,
    /// Segments that the host may hold back to send in bursts (`offload_budget`), and the initial window.
    pub(super) offload_budget: f64,
    pub(super) initial_cwnd: f64,
    /// Whether losses are known segment by segment.
    pub(super) has_sack: bool,
    pub(super) now: f64,
    pub(super) pacing_rate: Option<f64>,
    /// cwnd before a recovery or ProbeRTT, and whether the sender is in a recovery.
    pub(super) prior_cwnd: f64,
    pub(super) recovering: bool,
    /// Round trips.
    pub(super) round_count: u64,
    pub(super) next_round_delivered: f64,
    pub(super) round_start: bool,
    pub(super) delivered: f64,
    /// Whether cwnd was used up in this round trip, and in the one before.
    pub(super) limited: [bool; 2],
    /// Largest rate samples of the last ProbeBW cycle and of this one, segments/s.
    pub(super) max_bw: [f64; 2],
    /// Segments that ACKs deliver beyond the bandwidth.
    pub(super) extra_acked: WindowedMax,
    pub(super) extra_acked_start: f64,
    pub(super) extra_acked_delivered: f64,
    /// Whether the pipe is full.
    pub(super) full_bw_reached: bool,
    pub(super) full_bw_now: bool,
    pub(super) full_bw: f64,
    pub(super) full_bw_count: u32,
    pub(super) drain_start_round: u64,
    /// End of the round trip for congestion signals, and the most that was delivered in it.
    pub(super) loss_round_delivered: f64,
    pub(super) loss_round_start: bool,
    pub(super) is_loss_in_round: bool,
    pub(super) lost_ranges: u32,
    pub(super) last_lost: Option<u64>,
    pub(super) bw_latest: f64,
    pub(super) inflight_latest: f64,
    /// Bounds of the model.
    pub(super) bw_shortterm: f64,
    pub(super) inflight_shortterm: f64,
    pub(super) inflight_longterm: f64,
    /// State and bounds before losses, for an undo.
    pub(super) saved: Saved,
    /// The ProbeBW cycle.
    pub(super) ack_phase: AckPhase,
    pub(super) is_bw_probe_sample: bool,
    pub(super) bw_probe_up_acked: f64,
    pub(super) probe_up_acked_per_inc: f64,
    pub(super) bw_probe_up_rounds: u32,
    pub(super) rounds_since_probe_up: u64,
    pub(super) bw_probe_wait: f64,
    pub(super) cycle_stamp: f64,
    pub(super) prev_probe_too_high: bool,
    pub(super) prev_probe_precautionary: bool,
    /// min RTT and ProbeRTT, s.
    pub(super) min_rtt: f64,
    pub(super) min_rtt_stamp: f64,
    pub(super) probe_rtt_min_delay: f64,
    pub(super) probe_rtt_min_stamp: f64,
    pub(super) probe_rtt_expired: bool,
    pub(super) probe_rtt_done_stamp: Option<f64>,
    pub(super) probe_rtt_round_done: bool,
    pub(super) idle_restart: bool,
}

impl Bbr3 {
    /// BBRv3 before the first ACK (`OnInit`), with this offload budget, segments.
    pub fn new(offload_budget: f64, has_sack: bool) -> Self {
        Bbr3 {
            state: State::Startup,
            offload_budget,
            initial_cwnd: 10.0,
            has_sack,
            now: 0.0,
            pacing_rate: None,
            prior_cwnd: 0.0,
            recovering: false,
            round_count: 0,
            next_round_delivered: 0.0,
            round_start: false,
            delivered: 0.0,
            limited: [false; 2],
            max_bw: [0.0; 2],
            extra_acked: WindowedMax::default(),
            extra_acked_start: 0.0,
            extra_acked_delivered: 0.0,
            full_bw_reached: false,
            full_bw_now: false,
            full_bw: 0.0,
            full_bw_count: 0,
            drain_start_round: 0,
            loss_round_delivered: 0.0,
            loss_round_start: false,
            is_loss_in_round: false,
            lost_ranges: 0,
            last_lost: None,
            bw_latest: 0.0,
            inflight_latest: 0.0,
            bw_shortterm: f64::INFINITY,
            inflight_shortterm: f64::INFINITY,
            inflight_longterm: f64::INFINITY,
            saved: Saved::default(),
            ack_phase: AckPhase::Init,
            is_bw_probe_sample: false,
            bw_probe_up_acked: 0.0,
            probe_up_acked_per_inc: f64::INFINITY,
            bw_probe_up_rounds: 0,
            rounds_since_probe_up: 0,
            bw_probe_wait: 0.0,
            cycle_stamp: 0.0,
            prev_probe_too_high: false,
            prev_probe_precautionary: false,
            min_rtt: f64::INFINITY,
            min_rtt_stamp: 0.0,
            probe_rtt_min_delay: f64::INFINITY,
            probe_rtt_min_stamp: 0.0,
            probe_rtt_expired: false,
            probe_rtt_done_stamp: None,
            probe_rtt_round_done: false,
            idle_restart: false,
        }
    }

    /// The estimate of the bandwidth (`max_bw`), segments/s.
    pub fn max_bandwidth(&self) -> f64 {
        self.max_bw[0].max(self.max_bw[1])
    }

    /// The bandwidth, limited by the bounds (`BoundBWForModel`), segments/s.
    pub fn bw(&self) -> f64 {
        self.max_bandwidth().min(self.bw_shortterm)
    }

    /// The pacing gain of the state.
    pub(super) fn pacing_gain(&self) -> f64 {
        match self.state {
            State::Startup => STARTUP_PACING_GAIN,
            State::Drain => DRAIN_PACING_GAIN,
            State::ProbeBwDown => DOWN_PACING_GAIN,
            State::ProbeBwUp => UP_PACING_GAIN,
            State::ProbeBwCruise | State::ProbeBwRefill | State::ProbeRtt => 1.0,
        }
    }

    /// The cwnd gain of the state.
    pub(super) fn cwnd_gain(&self) -> f64 {
        match self.state {
            State::ProbeBwUp => UP_CWND_GAIN,
            State::ProbeRtt => PROBE_RTT_CWND_GAIN,
            _ => CWND_GAIN,
        }
    }

    /// Whether cwnd was used up in the last round trip (`C.is_cwnd_limited`).
    pub(super) fn is_cwnd_limited(&self) -> bool {
        self.limited[0] || self.limited[1]
    }
}
