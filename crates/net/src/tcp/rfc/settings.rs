//! Settings of a connection's ends. A field has the name of its key in scenarios, BBR's are grouped; `stacks::options`
//! has the values, the TCPs that have them, and their sources.

use super::clock::LARGEST_BURST;
use super::control::{
    Algorithm, Avoidance, Bbr, Bbr3, BbrRules, Counting, Cubic, Dctcp, HyStart, Ledbat, LedbatPlusPlus, LinuxCubic,
    NewReno, Prague, SlowStart,
};
use super::prr::Bound;
use super::receiver::Reading;
use super::wire::{HEADER_BYTES, STAMP_BYTES};
use crate::segment::{ECT0, ECT1};

/// Which congestion control.
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum ControlKind {
    /// RFC 5681.
    NewReno,
    /// RFC 9438.
    Cubic,
    /// RFC 8257.
    Dctcp,
    /// BBR, version 1.
    Bbr,
    /// BBR, version 3.
    Bbr3,
    /// RFC 6817, with its target, s, and gain.
    Ledbat {
        /// Queueing delay that it keeps, s.
        target: f64,
        /// Segments a round trip at most.
        gain: f64,
    },
    /// LEDBAT++, with its target.
    LedbatPlusPlus {
        /// Queueing delay that it keeps, s.
        target: f64,
    },
    /// Scalable, for L4S.
    Prague,
}

/// What a loss reduces.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Base {
    /// FlightSize (RFC 5681, equation 4).
    Flight,
    /// cwnd, and ssthresh is a whole number, as in Linux (RFC 9438, 4.6 allows it).
    Cwnd,
}

/// Which ACKs of new data restart the retransmission timer during a fast recovery.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Restart {
    /// Every one (RFC 6298, 5.3).
    Every,
    /// The first alone (RFC 6582, section 4, the impatient variant).
    First,
}

/// What an idle time longer than the retransmission timeout does to cwnd.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum IdleRestart {
    /// cwnd restarts from the initial window (RFC 5681, 4.1).
    Initial,
    /// It is halved once for each timeout, down to the initial window (RFC 2861; Linux, `tcp_cwnd_restart`).
    Halved,
    /// Nothing: a model of the path sets the window and the pacing rate.
    None,
}

/// How a receiver echoes CE marks.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Feedbacks {
    /// Not at all: data are not ECN-capable.
    None,
    /// ECE until CWR (RFC 3168).
    Classic,
    /// ECE says whether the last segment was marked (RFC 8257, 3.2).
    Dctcp,
    /// A counter of marked packets, modulo 8, and nothing else of accurate ECN; data are ECT(1).
    Counter,
    /// Accurate ECN (RFC 9768).
    Accecn,
}

/// What ECN the receiver's end is able to give.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum ServerEcn {
    /// What the sender asks for.
    Same,
    /// RFC 3168's.
    Classic,
    /// None.
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

/// Settings of a connection. Sizes are in bytes, times in seconds.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Settings {
    /// Congestion control.
    pub control: ControlKind,
    /// Payload of a full segment (SMSS).
    pub mss: u32,
    /// The receiver's window; the largest if it is autotuned.
    pub window: u64,
    /// It is autotuned (Linux, `tcp_rcv_space_adjust`).
    pub window_tuned: bool,
    /// The first one then (half of Linux's `tcp_rmem[1]` of 128 kB).
    pub first_window: u64,
    /// The window's share of the buffer once a full segment has come (`scaling_ratio`).
    pub window_share: f64,
    /// Selective acknowledgements (RFC 2018, 6675); without them NewReno's recovery (RFC 6582).
    pub sack: bool,
    /// Time stamps in every segment (RFC 7323).
    pub timestamps: bool,
    /// How marks are echoed, as the congestion control has it.
    pub feedback: Feedbacks,
    /// With ECN: by accurate ECN instead.
    pub accecn: bool,
    /// What the receiver can do of that.
    pub server_ecn: ServerEcn,
    /// Smallest retransmission timeout (RFC 6298, 2.4: 1 s).
    pub min_rto: f64,
    /// Initial window, segments; `None` is RFC 6928's.
    pub initial_window: Option<u32>,
    /// What an idle time does to cwnd.
    pub idle_restart: IdleRestart,
    /// Whether cwnd limits sending is known for a window of data, and cwnd shrinks while it does not (Linux,
    /// `tcp_cwnd_validate`); else the last ACK or segment tells.
    pub cwnd_use_window: bool,
    /// Segments that an ACK adds to the window in slow start, at most (RFC 3465, `L`).
    pub abc_limit: f64,
    /// How ACKs are counted in congestion avoidance.
    pub avoidance: Counting,
    /// What a loss reduces.
    pub ssthresh: Base,
    /// Which ACKs restart the timer during a recovery; `None`: every one with SACK, the first without.
    pub rto_restart: Option<Restart>,
    /// The ACK that ends a fast recovery grows the window as well.
    pub exit_ack_grows: bool,
    /// A mark reduces cwnd over one round trip by proportional rate reduction (CWR state), not at once.
    pub mark_cut_round_trip: bool,
    /// The first timeout of data after a lost SYN follows from a sample by time stamps, if there is one, as in Linux; it is
    /// not 3 s.
    pub lost_syn_rto_sampled: bool,
    /// So many timeouts of the SYN do not double the next one (Linux, `tcp_syn_linear_timeouts`).
    pub syn_linear_timeouts: u32,
    /// A tail loss probe waits for two RTTs and `min_rto` with one segment in flight, 2 ms with more (Linux).
    pub probe_wait_min_rto: bool,
    /// DCTCP's segments are ECT(1), for L4S queues.
    pub dctcp_ect1: bool,
    /// DCTCP in integers, as Linux computes it (`dctcp_update_alpha`, `dctcp_ssthresh`).
    pub dctcp_linux: bool,
    /// The receiver immediately acknowledges the first mark, the segment behind it and each CWR, as Linux does.
    pub mark_ack_at_once: bool,
    /// cwnd grows by all newly delivered segments, SACKed ones too, as in Linux, not by the cumulative ACK up to a
    /// limit.
    pub growth_arrived: bool,
    /// `min_rto` bounds what the RTT variation adds to SRTT, as in Linux, not the timeout.
    pub min_rto_for_variation: bool,
    /// CUBIC is computed as in Linux, not as in RFC 9438.
    pub cubic_linux: bool,
    /// BBR's mechanisms, the draft's or Linux's.
    pub bbr: BbrRules,
    /// Segments of a burst where sending is paced.
    pub pacing_burst: u32,
    /// A late departure shortens the inter-departure time behind it by its lateness, to half at least (Linux,
    /// `tcp_update_skb_after_send`).
    pub late_segment_made_up: bool,
    /// A lone new segment waits for the next ACK, to leave in a burst of two (Linux, `tcp_tso_should_defer`).
    pub send_pairs: bool,
    /// Bursts have as many segments as leave in a little less than 1 ms, and more at short RTTs (Linux,
    /// `tcp_tso_autosize`).
    pub burst_autosized: bool,
    /// With [`Settings::send_pairs`]: only if that ACK is due within a millisecond (Linux since 6.18).
    pub pair_wait_due: bool,
    /// New segments on the first two duplicate ACKs (RFC 3042).
    pub limited_transmit: bool,
    /// Proportional rate reduction with this bound (RFC 9937); `None` is RFC 6675's own rule.
    pub prr: Option<Bound>,
    /// It reduces cwnd, as in Linux, not the flight.
    pub prr_base_cwnd: bool,
    /// RACK and tail loss probes (RFC 8985); needs SACK.
    pub rack: bool,
    /// RACK's timer runs a little longer, in whole ticks ([`TICK`](super::TICK); Linux, `tcp_rack_mark_lost`).
    pub rack_timer_ticks: bool,
    /// RACK takes a SACKed retransmission as delivered, whatever time stamp is echoed (Linux).
    pub rack_repeats_reported: bool,
    /// Retransmitting the first outstanding segment restarts the retransmission timer (Linux,
    /// `tcp_xmit_retransmit_queue`), unless RACK's timer runs.
    pub repair_timer_restarts: bool,
    /// A timeout leaves a cwnd of one segment more than what is in flight, and RACK's reordering window does not count
    /// for what is late then (Linux, `tcp_enter_loss`, `tcp_timeout_mark_lost`).
    pub timeout_window_in_flight: bool,
    /// F-RTO detects spurious timeouts (RFC 5682).
    pub frto: bool,
    /// Echoed time stamps detect spurious losses (RFC 3522); needs time stamps.
    pub eifel: bool,
    /// DSACKs of all retransmissions detect spurious losses (RFC 3708).
    pub dsack_undo: bool,
    /// The tolerance of reordering adapts as in Linux: a DSACK enlarges RACK's window only where reordering was seen, and
    /// cwnd grows with SACKs too once segments have been overtaken by more than three.
    pub reordering_adapts: bool,
    /// A lost retransmission that RACK detects does not reduce cwnd once more, as RFC 5681, 4.3, has it for those sent
    /// since the last reduction.
    pub lost_retransmit_cut_none: bool,
    /// A lost retransmission after a timeout starts a fast recovery (Linux, `tcp_fastretrans_alert`).
    pub lost_retransmission_recovers: bool,
    /// HyStart++ (RFC 9406), or classic HyStart.
    pub hystart: HyStart,
    /// ABE: a smaller reduction for marks (RFC 8511).
    pub abe: bool,
    /// Prague competes as CUBIC would where marks seem to come from a classic queue.
    pub prague_fallback: bool,
    /// The RTT that shorter ones count as in an old flow of Prague, s.
    pub prague_rtt_target: f64,
    /// With [`Feedbacks::Classic`] or accurate ECN: retransmissions are ECN-capable too, and with accurate ECN also SYNs
    /// (ECN++).
    pub ecn_plus: bool,
    /// Pacing over the RTT.
    pub pacing: bool,
    /// Finite data end with a FIN.
    pub fin: bool,
    /// How long the receiver delays an ACK; `None`: not at all.
    pub delayed_ack: Option<f64>,
    /// The last segment of a burst gets an immediate ACK (Linux: `__tcp_transmit_skb` sets PSH in it, to which
    /// `tcp_cleanup_rbuf` replies when the application reads).
    pub push_ack_at_once: bool,
    /// SACK compression: from the fourth SACK of a loss on, the receiver delays them by 1 ms (Linux,
    /// `tcp_comp_sack_delay_ns`).
    pub late_sack_compressed: bool,
    /// The receiver's first ACKs, and those after a pause or old data, are immediate (Linux, `tcp_event_data_recv`).
    pub first_ack_at_once: bool,
    /// The delay of ACKs follows the time between segments (Linux, `tcp_event_data_recv`, `tcp_send_delayed_ack`).
    pub ack_wait_adapts: bool,
    /// The sender's own queue is bounded (Linux, `tcp_small_queue_check`).
    pub small_queue: bool,
    /// A connection resumes at half of what an earlier one used (RFC 9959, Careful Resume); with those parameters of an
    /// earlier one, or of the flow's last.
    pub careful_resume: bool,
    /// Its RTT, s; 0: not known.
    pub saved_rtt: f64,
    /// Its cwnd, segments.
    pub saved_cwnd: Option<u32>,
    /// Packet numbers, loss detection and recovery of QUIC (RFC 9002) in place of TCP's.
    pub quic: bool,
    /// With it: packets that may wait for an ACK, and how many packets later a missing one is reported at once; 0:
    /// never (draft-ietf-quic-ack-frequency).
    pub ack_threshold: u32,
    /// See above.
    pub reordering_threshold: u32,
    /// How the receiver's application reads; `None`: immediately.
    pub reading: Option<Reading>,
    /// The receiver takes segments that come within this time of each other as one (GRO), s; 0: not at all.
    pub gro: f64,
}

impl Default for Settings {
    fn default() -> Self {
        Settings {
            control: ControlKind::NewReno,
            mss: 1448,
            window: 1 << 30,
            window_tuned: false,
            first_window: 65_535,
            window_share: 0.5,
            sack: true,
            timestamps: true,
            feedback: Feedbacks::None,
            accecn: false,
            server_ecn: ServerEcn::Same,
            min_rto: 1.0,
            initial_window: None,
            idle_restart: IdleRestart::Initial,
            cwnd_use_window: false,
            abc_limit: 1.0,
            avoidance: Counting::Window,
            ssthresh: Base::Flight,
            rto_restart: None,
            exit_ack_grows: false,
            mark_cut_round_trip: false,
            lost_syn_rto_sampled: false,
            syn_linear_timeouts: 0,
            probe_wait_min_rto: false,
            dctcp_linux: false,
            dctcp_ect1: false,
            mark_ack_at_once: false,
            growth_arrived: false,
            min_rto_for_variation: false,
            cubic_linux: false,
            bbr: BbrRules::default(),
            pacing_burst: 1,
            late_segment_made_up: false,
            send_pairs: false,
            burst_autosized: false,
            pair_wait_due: false,
            limited_transmit: true,
            prr: Some(Bound::SafeAck),
            prr_base_cwnd: false,
            rack: false,
            rack_timer_ticks: false,
            rack_repeats_reported: false,
            repair_timer_restarts: false,
            timeout_window_in_flight: false,
            frto: false,
            eifel: false,
            dsack_undo: false,
            reordering_adapts: false,
            lost_retransmit_cut_none: false,
            lost_retransmission_recovers: false,
            hystart: HyStart::Off,
            abe: false,
            prague_fallback: false,
            prague_rtt_target: Prague::RTT_TARGET,
            ecn_plus: false,
            pacing: false,
            fin: false,
            delayed_ack: Some(0.2),
            push_ack_at_once: false,
            late_sack_compressed: false,
            first_ack_at_once: false,
            ack_wait_adapts: false,
            gro: 0.0,
            small_queue: false,
            careful_resume: false,
            saved_rtt: 0.0,
            saved_cwnd: None,
            quic: false,
            ack_threshold: 1,
            reordering_threshold: 1,
            reading: None,
        }
    }
}

impl Settings {
    /// Whether ACKs tell of a window that moves.
    pub fn window_moves(&self) -> bool {
        self.reading.is_some() || self.window_tuned
    }

    /// The feedback that the SYN asks for.
    pub fn asks(&self) -> Feedbacks {
        match self.feedback {
            Feedbacks::None => Feedbacks::None,
            _ if self.accecn => Feedbacks::Accecn,
            own => own,
        }
    }

    /// The feedback that the receiver is able to give.
    pub(super) fn serves(&self) -> Feedbacks {
        match (self.asks(), self.server_ecn) {
            (_, ServerEcn::None) | (Feedbacks::None, _) => Feedbacks::None,
            (_, ServerEcn::Classic) => Feedbacks::Classic,
            (own, ServerEcn::Same) => own,
        }
    }

    /// Whether ACKs count marked packets in three header bits, if the receiver agrees.
    pub fn counts_marks(&self) -> bool {
        matches!(self.asks(), Feedbacks::Counter | Feedbacks::Accecn)
    }

    /// SACK blocks in an ACK, at most (RFC 2018, section 3).
    pub fn blocks(&self) -> u8 {
        match (self.sack, self.timestamps) {
            (false, _) => 0,
            (true, true) => 3,
            (true, false) => 4,
        }
    }

    /// The initial window, segments (RFC 6928, 2: min(10 MSS, max(2 MSS, 14600 B))).
    pub fn initial_window(&self) -> f64 {
        let mss = f64::from(self.mss);
        match self.initial_window {
            Some(segments) => f64::from(segments),
            // RFC 6817, 2.4.2; LEDBAT++, 4.1.
            None if matches!(self.control, ControlKind::Ledbat { .. } | ControlKind::LedbatPlusPlus { .. }) => 2.0,
            None => (10.0 * mss).min((2.0 * mss).max(14_600.0)) / mss,
        }
    }

    pub(super) fn algorithm(&self) -> Algorithm {
        let most = if self.growth_arrived { f64::INFINITY } else { self.abc_limit };
        let (mss, largest_burst) = (f64::from(self.mss), f64::from(LARGEST_BURST));
        let start = |most| SlowStart::new(most, self.hystart).in_bursts_of(largest_burst / mss);
        match self.control {
            ControlKind::NewReno => {
                Algorithm::NewReno(NewReno::new(start(most), Avoidance::new(self.avoidance), self.abe))
            }
            ControlKind::Cubic if self.cubic_linux => Algorithm::LinuxCubic(LinuxCubic::new(start(f64::INFINITY))),
            ControlKind::Cubic => Algorithm::Cubic(Cubic::new(start(most), self.abe)),
            ControlKind::Dctcp => {
                let dctcp = Dctcp::new(start(most), Avoidance::new(self.avoidance));
                Algorithm::Dctcp(dctcp.in_integers(self.dctcp_linux))
            }
            ControlKind::Bbr => {
                let bbr = Bbr::new(self.bbr, mss, self.sack);
                Algorithm::Bbr(Box::new(bbr.recovering_again(self.lost_retransmission_recovers)))
            }
            ControlKind::Bbr3 => {
                // "Offload Budget": three quanta where hosts offload segmentation and receive offload joins segments.
                let quanta = if self.quic { 1 } else { 3 };
                Algorithm::Bbr3(Box::new(Bbr3::new(f64::from(quanta * self.pacing_burst), self.sack)))
            }
            ControlKind::Ledbat { target, gain } => Algorithm::Ledbat(Ledbat::new(target, gain)),
            ControlKind::LedbatPlusPlus { target } => Algorithm::LedbatPlusPlus(LedbatPlusPlus::new(target)),
            ControlKind::Prague => {
                let (target, fallback) = (self.prague_rtt_target, self.prague_fallback);
                let headers = HEADER_BYTES + if self.timestamps { STAMP_BYTES } else { 0 };
                let prague = Prague::new(mss, mss + f64::from(headers), start(most), target, fallback);
                Algorithm::Prague(Box::new(prague))
            }
        }
    }
}
