//! What each mechanism does where there is a choice. A field has nearly the name of its key in scenarios;
//! `stacks::options` has the values, the TCPs that have them, and their sources.

use super::control::{BbrRules, Counting, HyStart, Prague};
use super::prr::Bound;
use super::reading::Reading;
use crate::segment::{ECT0, ECT1};

/// What a loss reduces.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Base {
    /// The FlightSize (RFC 5681, equation 4).
    Flight,
    /// cwnd, and ssthresh is a whole number, as in Linux (RFC 9438, 4.6 allows it).
    Cwnd,
}

/// Which ACKs of new data restart the retransmission timer during a fast recovery.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Restart {
    /// Every ACK (RFC 6298, 5.3).
    Every,
    /// Only the first (RFC 6582, section 4, the impatient variant).
    First,
}

/// What an idle time longer than the retransmission timeout does to cwnd.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum IdleRestart {
    /// cwnd restarts from the initial window (RFC 5681, 4.1).
    Initial,
    /// cwnd is halved once for each timeout, down to the initial window (RFC 2861; Linux, `tcp_cwnd_restart`).
    Halved,
    /// cwnd stays: a model of the path sets the window and the pacing rate.
    None,
}

/// How a receiver echoes CE marks.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Feedbacks {
    /// It does not echo them: data are not ECN-capable.
    None,
    /// By ECE until CWR (RFC 3168).
    Classic,
    /// By ECE as the mark of the last segment (RFC 8257, 3.2).
    Dctcp,
    /// By a counter of marked packets, modulo 8, without the rest of accurate ECN; data are ECT(1).
    Counter,
    /// By accurate ECN (RFC 9768).
    Accecn,
}

/// Which ECN the receiver's end is able to give.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum ServerEcn {
    /// What the sender asks for.
    Same,
    /// The ECN of RFC 3168.
    Classic,
    /// No ECN.
    None,
}

impl Feedbacks {
    /// Whether all segments are ECN-capable, retransmissions too: queues for such congestion controls mark so early
    /// that they would drop others (RFC 8257, 3.5; Linux, `tcp_ca_needs_ecn`).
    pub(super) fn marks_all(self) -> bool {
        matches!(self, Feedbacks::Dctcp | Feedbacks::Counter)
    }

    /// The ECN field of ECN-capable segments.
    pub(super) fn capable(self) -> u8 {
        match self {
            Feedbacks::None => 0,
            Feedbacks::Counter => ECT1,
            _ => ECT0,
        }
    }
}

/// The retransmission timeout.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct RtoRules {
    /// Smallest retransmission timeout, s (RFC 6298, 2.4: 1 s).
    pub min: f64,
    /// Whether `min` bounds what the RTT variation adds to SRTT, as in Linux, not the timeout.
    pub min_for_variation: bool,
    /// Which ACKs restart the timer during a recovery; `None`: every one with SACK, the first without.
    pub restart: Option<Restart>,
    /// Whether the first timeout of data after a lost SYN follows from a sample by time stamps, if there is one, as in
    /// Linux, and is not 3 s.
    pub lost_syn_sampled: bool,
    /// Number of timeouts of the SYN that do not double the next one (Linux, `tcp_syn_linear_timeouts`).
    pub syn_linear_timeouts: u32,
    /// Whether retransmitting the first outstanding segment restarts the retransmission timer (Linux,
    /// `tcp_xmit_retransmit_queue`), unless RACK's timer runs.
    pub repair_restarts: bool,
}

impl Default for RtoRules {
    fn default() -> Self {
        RtoRules {
            min: 1.0,
            min_for_variation: false,
            restart: None,
            lost_syn_sampled: false,
            syn_linear_timeouts: 0,
            repair_restarts: false,
        }
    }
}

/// RACK and tail loss probes.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub struct RackRules {
    /// Whether RACK and tail loss probes are on (RFC 8985); needs SACK.
    pub on: bool,
    /// Whether RACK's timer runs a little longer, in whole ticks ([`TICK`](super::TICK); Linux, `tcp_rack_mark_lost`).
    pub timer_ticks: bool,
    /// Whether RACK takes a SACKed retransmission as delivered, whatever time stamp is echoed (Linux).
    pub repeats_reported: bool,
    /// A tail loss probe waits for two RTTs and the least timeout with one segment in flight, 2 ms with more (Linux).
    pub probe_waits_min_rto: bool,
    /// Whether the tolerance of reordering adapts as in Linux: a DSACK enlarges RACK's window only where reordering was
    /// seen, and cwnd grows with SACKs too once segments have been overtaken by more than three.
    pub reordering_adapts: bool,
}

/// Detection of spurious losses.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub struct UndoRules {
    /// Whether F-RTO detects spurious timeouts (RFC 5682).
    pub frto: bool,
    /// Whether echoed time stamps detect spurious losses (RFC 3522); needs time stamps.
    pub eifel: bool,
    /// Whether DSACKs of all retransmissions detect spurious losses (RFC 3708).
    pub dsack: bool,
}

/// Reductions and recoveries.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct RecoveryRules {
    /// Whether the first two duplicate ACKs send new segments (RFC 3042).
    pub limited_transmit: bool,
    /// What a loss reduces.
    pub ssthresh: Base,
    /// Proportional rate reduction with this bound (RFC 9937); `None` is RFC 6675's own rule.
    pub prr: Option<Bound>,
    /// Whether proportional rate reduction reduces cwnd, as in Linux, not the flight.
    pub prr_base_cwnd: bool,
    /// Whether the ACK that ends a fast recovery grows the window as well.
    pub exit_ack_grows: bool,
    /// Whether a timeout leaves a cwnd of one segment more than is in flight, without RACK's reordering window for what
    /// is late then (Linux, `tcp_enter_loss`, `tcp_timeout_mark_lost`).
    pub timeout_window_in_flight: bool,
    /// Whether a lost retransmission that RACK detects does not reduce cwnd again; by RFC 5681, 4.3, it does if it was
    /// sent since the last reduction.
    pub lost_retransmit_cut_none: bool,
    /// Whether a lost retransmission after a timeout starts a fast recovery (Linux, `tcp_fastretrans_alert`).
    pub lost_retransmission_recovers: bool,
}

impl Default for RecoveryRules {
    fn default() -> Self {
        RecoveryRules {
            limited_transmit: true,
            ssthresh: Base::Flight,
            prr: Some(Bound::SafeAck),
            prr_base_cwnd: false,
            exit_ack_grows: false,
            timeout_window_in_flight: false,
            lost_retransmit_cut_none: false,
            lost_retransmission_recovers: false,
        }
    }
}

/// Growth of cwnd.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct GrowthRules {
    /// Initial window, segments; `None` is RFC 6928's.
    pub initial_window: Option<u32>,
    /// HyStart++ (RFC 9406), or classic HyStart.
    pub hystart: HyStart,
    /// Most segments that an ACK adds to the window in slow start (RFC 3465, `L`).
    pub abc_limit: f64,
    /// Whether cwnd grows by all newly delivered segments, SACKed ones too, as in Linux, not by the cumulative ACK up
    /// to a limit.
    pub arrived: bool,
    /// How ACKs are counted in congestion avoidance.
    pub avoidance: Counting,
    /// What an idle time does to cwnd.
    pub idle_restart: IdleRestart,
    /// Whether cwnd limits sending is known for a window of data, and cwnd shrinks while it does not (Linux,
    /// `tcp_cwnd_validate`); else the last ACK or segment tells.
    pub use_window: bool,
}

impl Default for GrowthRules {
    fn default() -> Self {
        GrowthRules {
            initial_window: None,
            hystart: HyStart::Off,
            abc_limit: 1.0,
            arrived: false,
            avoidance: Counting::Window,
            idle_restart: IdleRestart::Initial,
            use_window: false,
        }
    }
}

/// Explicit congestion notification.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct EcnRules {
    /// How marks are echoed, as the congestion control has it.
    pub feedback: Feedbacks,
    /// Whether ECN, if it is on, is accurate ECN.
    pub accecn: bool,
    /// Which ECN the receiver's end is able to give.
    pub server: ServerEcn,
    /// Whether retransmissions are ECN-capable too, with [`Feedbacks::Classic`] or accurate ECN, and with the latter
    /// SYNs (ECN++).
    pub plus: bool,
    /// Whether marks reduce cwnd less than losses (ABE, RFC 8511).
    pub abe: bool,
    /// Whether a mark reduces cwnd over one round trip by proportional rate reduction (CWR state), not at once.
    pub mark_cut_round_trip: bool,
}

impl Default for EcnRules {
    fn default() -> Self {
        EcnRules {
            feedback: Feedbacks::None,
            accecn: false,
            server: ServerEcn::Same,
            plus: false,
            abe: false,
            mark_cut_round_trip: false,
        }
    }
}

/// Departure times and bursts.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct PacingRules {
    /// Whether sending is paced over the RTT.
    pub on: bool,
    /// Segments of a burst where sending is paced.
    pub burst: u32,
    /// Whether a late departure shortens the next inter-departure time by its lateness, at most by half (Linux,
    /// `tcp_update_skb_after_send`).
    pub late_made_up: bool,
    /// Whether a lone new segment waits for the next ACK, to leave in a burst of two (Linux, `tcp_tso_should_defer`).
    pub pairs: bool,
    /// With [`PacingRules::pairs`]: whether it waits only if that ACK is due within a millisecond (Linux since 6.18).
    pub pair_wait_due: bool,
    /// Whether bursts have as many segments as leave in a little less than 1 ms, and more at short RTTs (Linux,
    /// `tcp_tso_autosize`).
    pub autosized: bool,
    /// Whether the sender's own queue is bounded (Linux, `tcp_small_queue_check`).
    pub small_queue: bool,
}

impl Default for PacingRules {
    fn default() -> Self {
        PacingRules {
            on: false,
            burst: 1,
            late_made_up: false,
            pairs: false,
            pair_wait_due: false,
            autosized: false,
            small_queue: false,
        }
    }
}

/// Single congestion controls.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct ControlRules {
    /// Whether CUBIC is computed as in Linux, not as in RFC 9438.
    pub cubic_linux: bool,
    /// BBR's mechanisms, the draft's or Linux's.
    pub bbr: BbrRules,
    /// Whether DCTCP is computed in integers, as in Linux (`dctcp_update_alpha`, `dctcp_ssthresh`).
    pub dctcp_linux: bool,
    /// Whether DCTCP's segments are ECT(1), for L4S queues.
    pub dctcp_ect1: bool,
    /// Whether Prague reduces as CUBIC would if marks seem to come from a classic queue.
    pub prague_fallback: bool,
    /// The RTT that shorter RTTs count as in an old flow of Prague, s.
    pub prague_rtt_target: f64,
}

impl Default for ControlRules {
    fn default() -> Self {
        ControlRules {
            cubic_linux: false,
            bbr: BbrRules::default(),
            dctcp_linux: false,
            dctcp_ect1: false,
            prague_fallback: false,
            prague_rtt_target: Prague::RTT_TARGET,
        }
    }
}

/// Careful Resume (RFC 9959).
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub struct ResumeRules {
    /// Whether a connection resumes at half of what an earlier one used: with the parameters below, or those of the
    /// flow's last connection.
    pub on: bool,
    /// RTT of the earlier connection, s; 0: not known.
    pub saved_rtt: f64,
    /// cwnd of the earlier connection, segments.
    pub saved_cwnd: Option<u32>,
}

/// The receiver.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct ReceiverRules {
    /// The receiver's window; the largest if it is autotuned.
    pub window: u64,
    /// Whether the window is autotuned (Linux, `tcp_rcv_space_adjust`).
    pub window_tuned: bool,
    /// The first window if it is autotuned (half of Linux's `tcp_rmem[1]` of 128 kB).
    pub first_window: u64,
    /// The window's share of the buffer once a full segment has come (`scaling_ratio`).
    pub window_share: f64,
    /// How long the receiver delays an ACK, s; `None`: not at all.
    pub delay: Option<f64>,
    /// Whether the receiver immediately acknowledges the first mark, the segment after it and each CWR, as Linux does.
    pub mark_ack_at_once: bool,
    /// Whether SACKs are compressed: from the fourth of a loss on the receiver delays them by 1 ms (Linux,
    /// `tcp_comp_sack_delay_ns`).
    pub compressed: bool,
    /// Whether the last segment of a burst gets an immediate ACK (Linux: `__tcp_transmit_skb` sets PSH in it, to which
    /// `tcp_cleanup_rbuf` replies when the application reads).
    pub push_ack_at_once: bool,
    /// Whether the first ACKs, and those after a pause or old data, are immediate (Linux, `tcp_event_data_recv`).
    pub first_ack_at_once: bool,
    /// Whether ACKs are delayed by the time between segments (Linux, `tcp_event_data_recv`, `tcp_send_delayed_ack`).
    pub ack_wait_adapts: bool,
    /// The receiver takes segments that come within this time of each other as one (GRO), s; 0: not at all.
    pub gro: f64,
    /// How the receiver's application reads; `None`: immediately.
    pub reading: Option<Reading>,
    /// With QUIC: packets that may wait for an ACK (draft-ietf-quic-ack-frequency).
    pub ack_threshold: u32,
    /// With QUIC: after how many later packets a missing one is reported at once; 0: never.
    pub reordering_threshold: u32,
}

impl Default for ReceiverRules {
    fn default() -> Self {
        ReceiverRules {
            window: 1 << 30,
            window_tuned: false,
            first_window: 65_535,
            window_share: 0.5,
            delay: Some(0.2),
            mark_ack_at_once: false,
            compressed: false,
            push_ack_at_once: false,
            first_ack_at_once: false,
            ack_wait_adapts: false,
            gro: 0.0,
            reading: None,
            ack_threshold: 1,
            reordering_threshold: 1,
        }
    }
}
