//! What the ends of a connection do: every option has the name of its key in scenarios (`stacks::options` says which
//! values there are, who has them and where they come from).

use super::control::{
    Algorithm, Avoidance, Bbr, BbrRules, Counting, Cubic, CubicRules, Dctcp, HyStart, Ledbat, LinuxCubic, NewReno,
    Prague, SlowStart,
};
use super::prr::Bound;
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
    /// RFC 6817, with its target, s, and gain.
    Ledbat {
        /// Queueing delay that it keeps, s.
        target: f64,
        /// Segments a round trip at most.
        gain: f64,
    },
    /// Scalable, for L4S.
    Prague,
}

/// What a reaction to a loss leaves a part of.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Base {
    /// What is outstanding (RFC 5681, equation 4).
    Flight,
    /// What is in the network (`pipe`), as ns-3's NewReno does.
    Pipe,
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

/// How a receiver tells of marks.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Feedbacks {
    /// Not at all: data are not ECN-capable.
    None,
    /// ECE until CWR (RFC 3168).
    Classic,
    /// ECE says whether the last segment was marked (RFC 8257, 3.2).
    Dctcp,
    /// A counter of marked packets, modulo 8 (accurate ECN); data are ECT(1).
    Accurate,
}

impl Feedbacks {
    /// Whether everything that a sender sends is ECN-capable: such congestion controls are for queues that mark so early that
    /// what is not would be dropped (RFC 8257, 3.5; Linux, `tcp_ca_needs_ecn`).
    pub(super) fn marks_all(self) -> bool {
        matches!(self, Feedbacks::Dctcp | Feedbacks::Accurate)
    }

    /// The ECN field of what is ECN-capable.
    pub(super) fn capable(self) -> u8 {
        match self {
            Feedbacks::None => 0,
            Feedbacks::Accurate => ECT1,
            _ => ECT0,
        }
    }
}

/// What the ends of a connection do. Sizes are in bytes, times in seconds.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Settings {
    /// Congestion control.
    pub control: ControlKind,
    /// Payload of a full segment (SMSS).
    pub mss: u32,
    /// The receiver's window.
    pub window: u64,
    /// Selective acknowledgements (RFC 2018, 6675); without them NewReno's recovery (RFC 6582).
    pub sack: bool,
    /// Time stamps in every segment (RFC 7323).
    pub timestamps: bool,
    /// Marks.
    pub feedback: Feedbacks,
    /// Smallest retransmission timeout (RFC 6298, 2.4: 1 s).
    pub min_rto: f64,
    /// Initial window, segments; `None` is RFC 6928's.
    pub initial_window: Option<u32>,
    /// Segments that an ACK adds to the window in slow start, at most (RFC 3465, `L`).
    pub abc_limit: f64,
    /// How the window grows in avoidance.
    pub avoidance: Counting,
    /// What a loss leaves a part of.
    pub ssthresh: Base,
    /// Whether a timeout in a recovery leaves ssthresh as the recovery has set it; `None`: with [`Base::Cwnd`], as in Linux.
    pub timeout_cut_kept: Option<bool>,
    /// Which ACKs restart the timer during a recovery; `None`: every one with SACK, the first without.
    pub rto_restart: Option<Restart>,
    /// The ACK that ends a fast recovery grows the window as well.
    pub exit_ack_grows: bool,
    /// Without SACK: a duplicate ACK says that the segment behind those that are known to be so has arrived, and this
    /// guess stays until an ACK or a timeout proves it wrong, as in ns-3 ([`Board::move_guesses`]). What is in the network is
    /// less by it, and the window is not inflated.
    pub guesses_kept: bool,
    /// Without SACK: duplicate ACKs begin a recovery again where the one before ended, and not only beyond (RFC 6582, 3.2).
    pub recovery_again_at_end: bool,
    /// Without time stamps: the round-trip time is that of the first segment that an ACK covers, if that was sent once (Karn), and
    /// not that of the last of those that were.
    pub rtt_sample_first: bool,
    /// The ACK that ends the repair after a timeout grows the window by what it covers beyond that alone.
    pub timeout_end_new: bool,
    /// The last ACK of slow start may bring the window beyond ssthresh.
    pub slow_start_end_beyond: bool,
    /// A mark brings the window down over a round trip by proportional rate reduction, and not at once.
    pub mark_cut_round_trip: bool,
    /// The handshake's round-trip time is a sample though the SYN was sent again, from the first time on (ns-3), and the timer
    /// follows from it.
    pub syn_sample_always: bool,
    /// DCTCP's window may fall below two segments, and goes on with one (ns-3).
    pub dctcp_least_none: bool,
    /// The receiver acknowledges the first mark, the segment behind it and each CWR at once, as Linux does.
    pub mark_ack_at_once: bool,
    /// The window grows by all that an ACK says has arrived, as in Linux, and not by what it acknowledges up to a limit.
    pub growth_arrived: bool,
    /// `min_rto` is the least that the variation adds, as in Linux, and not the least of the whole timeout.
    pub min_rto_for_variation: bool,
    /// What CUBIC does with RFC 9438's arithmetic.
    pub cubic: CubicRules,
    /// CUBIC's arithmetic is that of Linux, not that of RFC 9438.
    pub cubic_linux: bool,
    /// Its clock ticks (see [`TICK`]), and it computes in whole numbers.
    pub cubic_clock_ticks: bool,
    /// What BBR does.
    pub bbr: BbrRules,
    /// Segments that go at once where sending is paced.
    pub pacing_burst: u32,
    /// What goes later than the pace allows takes its lateness off the gap behind it, half of the gap at most (Linux,
    /// `tcp_update_skb_after_send`).
    pub late_segment_made_up: bool,
    /// A single new segment waits for the next ACK, to go as one of a pair (Linux, `tcp_tso_should_defer`).
    pub send_pairs: bool,
    /// With [`Settings::pairs`]: only if that ACK is due within a millisecond (Linux since 6.18).
    pub pair_wait_due: bool,
    /// Every ACK of new data ends the timer's backoff, as in ns-3, and not a round-trip time alone (RFC 6298, section 5).
    pub backoff_until_ack: bool,
    /// What was sent again and is reported by SACK counts as in the network until it is acknowledged (ns-3).
    pub reported_repair_counts: bool,
    /// The retransmission timer runs on from the last ACK while nothing is outstanding, if there is more to send, and what is
    /// sent does not restart it (ns-3): where the pace is slow it expires for nothing.
    pub idle_timer_runs: bool,
    /// With SACK and without RACK: what begins a recovery before the third duplicate ACK is that the second segment outstanding is lost (ns-3), and
    /// not the first (RFC 6675, section 5); only a duplicate ACK does.
    pub recovery_start_second: bool,
    /// New segments on the first two duplicate ACKs (RFC 3042).
    pub limited_transmit: bool,
    /// Proportional rate reduction with this bound (RFC 6937); `None` is RFC 6675's own rule.
    pub prr: Option<Bound>,
    /// Its proportional part is in bytes, so that a segment goes once a whole one is due (ns-3), and not once a part of it is.
    pub prr_part_bytes: bool,
    /// Losses by time, and probes at the end of what was sent (RFC 8985); needs SACK.
    pub rack: bool,
    /// RACK's timer runs for a little longer, in whole ticks (Linux, `tcp_rack_mark_lost`), see [`TICK`].
    pub rack_timer_ticks: bool,
    /// What was sent again and is reported by SACK has arrived for RACK (Linux), see [`Rack::new`].
    pub rack_repeats_reported: bool,
    /// The retransmission timer begins anew when the first segment outstanding is sent again (Linux,
    /// `tcp_xmit_retransmit_queue`), unless RACK's runs.
    pub repair_timer_restarts: bool,
    /// A retransmission that RACK finds lost cuts the window once more (RFC 5681, 4.3), unless it was sent before the
    /// last reduction.
    pub lost_retransmit_cut_none: bool,
    /// HyStart++ (RFC 9406), or what came before it.
    pub hystart: HyStart,
    /// A lesser reaction to marks (RFC 8511).
    pub abe: bool,
    /// Sends at the rate of the window (section on pacing in the documentation), not in bursts.
    pub pacing: bool,
    /// Finite data end with a FIN.
    pub fin: bool,
    /// How long the receiver lets an ACK wait; `None`: it does not.
    pub delayed_ack: Option<f64>,
    /// The last of several new segments that go at once is acknowledged at once (Linux: `__tcp_transmit_skb` sets PSH in it, and
    /// `tcp_cleanup_rbuf` answers that when the application reads).
    pub push_ack_at_once: bool,
    /// The receiver holds SACKs of a loss back for a millisecond, from the fourth on (Linux, `tcp_comp_sack_delay_ns`).
    pub late_sack_compressed: bool,
}

impl Default for Settings {
    fn default() -> Self {
        Settings {
            control: ControlKind::NewReno,
            mss: 1448,
            window: 1 << 30,
            sack: true,
            timestamps: true,
            feedback: Feedbacks::None,
            min_rto: 1.0,
            initial_window: None,
            abc_limit: 1.0,
            avoidance: Counting::Window,
            ssthresh: Base::Flight,
            timeout_cut_kept: None,
            rto_restart: None,
            exit_ack_grows: false,
            guesses_kept: false,
            recovery_again_at_end: false,
            rtt_sample_first: false,
            timeout_end_new: false,
            slow_start_end_beyond: false,
            mark_cut_round_trip: false,
            syn_sample_always: false,
            dctcp_least_none: false,
            mark_ack_at_once: false,
            growth_arrived: false,
            min_rto_for_variation: false,
            cubic: CubicRules::default(),
            cubic_linux: false,
            cubic_clock_ticks: false,
            bbr: BbrRules::default(),
            pacing_burst: 1,
            late_segment_made_up: false,
            send_pairs: false,
            pair_wait_due: false,
            backoff_until_ack: false,
            reported_repair_counts: false,
            idle_timer_runs: false,
            recovery_start_second: false,
            limited_transmit: true,
            prr: Some(Bound::SlowStart),
            prr_part_bytes: false,
            rack: false,
            rack_timer_ticks: false,
            rack_repeats_reported: false,
            repair_timer_restarts: false,
            lost_retransmit_cut_none: false,
            hystart: HyStart::Off,
            abe: false,
            pacing: false,
            fin: false,
            delayed_ack: Some(0.2),
            push_ack_at_once: false,
            late_sack_compressed: false,
        }
    }
}

impl Settings {
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
            // RFC 6817, 2.4.2.
            None if matches!(self.control, ControlKind::Ledbat { .. }) => 2.0,
            None => (10.0 * mss).min((2.0 * mss).max(14_600.0)) / mss,
        }
    }

    pub(super) fn algorithm(&self) -> Algorithm {
        let most = if self.growth_arrived { f64::INFINITY } else { self.abc_limit };
        let start = |most| SlowStart::new(most, self.hystart).passing(self.slow_start_end_beyond);
        match self.control {
            ControlKind::NewReno => {
                Algorithm::NewReno(NewReno::new(start(most), Avoidance::new(self.avoidance), self.abe))
            }
            ControlKind::Cubic if self.cubic_linux => {
                Algorithm::LinuxCubic(LinuxCubic::new(start(f64::INFINITY), self.cubic_clock_ticks))
            }
            ControlKind::Cubic => Algorithm::Cubic(Cubic::new(start(most), self.cubic, self.abe)),
            ControlKind::Dctcp => {
                let dctcp = Dctcp::new(start(most), Avoidance::new(self.avoidance));
                Algorithm::Dctcp(dctcp.leaving(self.dctcp_least_none))
            }
            ControlKind::Bbr => Algorithm::Bbr(Box::new(Bbr::new(self.bbr, f64::from(self.mss), self.sack))),
            ControlKind::Ledbat { target, gain } => Algorithm::Ledbat(Ledbat::new(target, gain)),
            ControlKind::Prague => Algorithm::Prague(Prague::new(most, self.hystart)),
        }
    }
}
