//! TCP as the RFCs have it, the `rfc` profile: bytes, a handshake, RFC 6298's timer, SACK.
//!
//! A [`Connection`] is the sending end behind a [`Sender`](super::Sender), with that sender's [`Core`] for the congestion
//! window, the counts and the traced variables. It finds losses, sends again, keeps the timers and says when what may be
//! sent; how the window grows and shrinks is its congestion control's ([`control`]). The receiving end is [`Receiver`].
//!
//! The order in which an ACK is worked out is fixed: round-trip time, what has arrived, losses, marks, recovery or growth,
//! timers, sending.

mod board;
pub mod control;
mod prr;
mod rack;
mod rate;
mod receiver;
mod rto;
mod tlp;
mod wire;

use super::{Output, Sent, Timer, Variable};
use crate::segment::{AE, CWR, ECE, ECT0, ECT1, FIN, PSH, SYN};
use board::{Board, Delivered};
use control::{Acked, Algorithm, Avoidance, Bbr, Cubic, Dctcp, Ledbat, LinuxCubic, NewReno, Prague, SlowStart, Window};
use prr::Prr;
use rack::Rack;
use rate::Rate;
use rto::Rto;
use tlp::{Tlp, Verdict};

pub use board::Range;
pub use control::{BbrRules, Counting, CubicRules, HyStart};
pub use prr::Bound;
pub use receiver::{Receiver, ReceiverSettings, Reply, SACK_WAIT};
pub use rto::{GRANULARITY, INITIAL_RTO, MAX_RTO};
pub use wire::{
    block_bytes, unwrap, wrap, Arrived, Feedback, MOST_BLOCKS, STAMP_BYTES, SYN_OPTIONS, SYN_OPTIONS_WITH_STAMPS,
};

/// How data are told from data: more than a connection can ever carry.
const ENDLESS: u64 = u64::MAX / 4;
/// Window after a loss of the retransmission timer, segments (RFC 5681, 3.1: LW).
const LOSS_WINDOW: f64 = 1.0;

/// Pacing goes faster than the window by so much, below and above half of ssthresh, so that it does not hold the window
/// back (Linux, `tcp_pacing_ss_ratio` and `tcp_pacing_ca_ratio`).
const PACING_IN_SLOW_START: f64 = 2.0;
const PACING: f64 = 1.2;
/// A segment waits for another to go with it only if the last one was sent so recently, s (Linux, `tcp_tso_should_defer`).
const RECENT: f64 = 1e-3;
/// What Linux's clock of ticks (jiffies) counts with its usual `HZ` of 250, s.
pub const TICK: f64 = 4e-3;
/// How long RACK's timer waits beyond what it has to, before that is rounded up to ticks, s (Linux, `TCP_TIMEOUT_MIN_US`).
const RACK_MARGIN: f64 = 2e-3;
/// Times so near each other, s, are the same but for rounding.
const SAME_TIME: f64 = 1e-9;
/// What goes in so many seconds leaves as one (Linux, `sk_pacing_shift`).
const GROUP_TIME: f64 = 1.0 / 1024.0;
/// Below this rate, bytes/s, segments are paced one by one (Linux, `bbr_min_tso_rate`).
const SLOW: f64 = 1.2e6 / 8.0;

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
    fn marks_all(self) -> bool {
        matches!(self, Feedbacks::Dctcp | Feedbacks::Accurate)
    }

    /// The ECN field of what is ECN-capable.
    fn capable(self) -> u8 {
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
    pub lost_retransmit_cuts: bool,
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
            lost_retransmit_cuts: true,
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

    /// The receiver for such a sender, of a connection that begins with the number `first`.
    pub fn receiver(&self, first: u32) -> Receiver {
        let (blocks, delay, feedback) = (self.blocks(), self.delayed_ack, self.feedback);
        let (mark_ack_at_once, compressed) = (self.mark_ack_at_once, self.late_sack_compressed);
        Receiver::new(ReceiverSettings { first, blocks, delay, feedback, mark_ack_at_once, compressed })
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

    fn algorithm(&self) -> Algorithm {
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
            ControlKind::Bbr => Algorithm::Bbr(Box::new(Bbr::new(self.bbr, f64::from(self.mss)).with_sack(self.sack))),
            ControlKind::Ledbat { target, gain } => Algorithm::Ledbat(Ledbat::new(target, gain)),
            ControlKind::Prague => Algorithm::Prague(Prague::new(most, self.hystart)),
        }
    }
}

/// Where a connection stands.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum State {
    Closed,
    SynSent,
    Established,
}

/// What the sender is doing about losses.
#[derive(Clone, Debug)]
enum Phase {
    /// Nothing is known to be lost.
    Open,
    /// Fast recovery.
    Recovery(Recovery),
    /// After the retransmission timer has expired, until everything sent before is acknowledged.
    Loss,
}

#[derive(Clone, Debug)]
struct Recovery {
    prr: Option<Prr>,
    /// A partial ACK has come (RFC 6582, 3.2: only the first restarts the timer).
    partial: bool,
    /// A rescue retransmission may be made once the window has advanced beyond this (RFC 6675, `RescueRxt`).
    rescue_from: u64,
}

/// What statistics and traces see of a sender.
#[derive(Clone, Debug)]
struct Seen {
    /// Congestion window, segments.
    cwnd: f64,
    /// Duplicate ACKs as last noted.
    dupacks: u32,
    /// Segments sent again.
    retransmits: u32,
    timeouts: u32,
    /// Changes of variables go to [`Output::changes`].
    traced: bool,
}

impl Seen {
    #[inline(always)]
    fn note(&self, out: &mut Output, variable: Variable, value: f64) {
        if self.traced {
            out.changes.push((variable, value));
        }
    }

    #[inline(always)]
    fn set_cwnd(&mut self, value: f64, out: &mut Output) {
        if self.cwnd != value {
            self.cwnd = value;
            self.note(out, Variable::Cwnd, value);
        }
    }

    #[inline(always)]
    fn set_dupacks(&mut self, value: u32, out: &mut Output) {
        if self.dupacks != value {
            self.dupacks = value;
            self.note(out, Variable::Dupacks, f64::from(value));
        }
    }
}

/// The sending end of a connection.
#[derive(Clone, Debug)]
pub struct Connection {
    settings: Settings,
    seen: Seen,
    algorithm: Algorithm,
    state: State,
    phase: Phase,
    board: Board,
    rto: Rto,
    ssthresh: f64,
    /// First sequence number on the wire.
    first: u32,
    una: u64,
    next: u64,
    /// One behind the last byte that the application has given.
    limit: u64,
    /// With [`Settings::rtt_sample_first`] the first segment from here on that an ACK covers is a sample: what was sent before a timeout
    /// is none. Without it the end of all numbers.
    sampled_from: u64,
    /// With [`Settings::pushes`]: segments before have been looked at.
    pushed: u64,
    closing: bool,
    /// `next` at the last entry into recovery or timeout, and at the last reduction of any kind.
    recover: u64,
    reduced: u64,
    /// Reductions of any kind so far, whether a retransmission sent since the last of them is newly lost, and whether any is.
    reductions: u32,
    repeat_lost: bool,
    any_repeat_lost: bool,
    dupacks: u32,
    /// Bytes sent by limited transmit since the duplicate ACKs began.
    limited: u64,
    /// Segments that may be sent whatever the window.
    forced: u32,
    /// `una` at the last timeout.
    timed_out_at: u64,
    syn_timeouts: u32,
    syn_sent: f64,
    /// When the retransmission timer expires, and when the next segment may be sent; infinite if not.
    rto_at: f64,
    pace_at: f64,
    /// The earliest time of the next segment, if sending is paced; what the burst that has begun adds to it, s, and its
    /// segments.
    released: f64,
    owed: f64,
    together: u32,
    last_sent: f64,
    /// What kept the last ACK from sending more was the window, not a lack of data.
    window_limited: bool,
    ecn: bool,
    /// CWR goes with the next new segment.
    cwr: bool,
    /// What brings the window down after a mark, if that takes a round trip.
    mark_prr: Option<Prr>,
    /// An echo has found cwnd at 1: nothing is sent before the timer expires (RFC 3168, 6.1.2).
    halted: bool,
    min_rtt: f64,
    min_srtt: f64,
    /// RACK, with the time of its timer; infinite if it does not run.
    rack: Option<Box<Rack>>,
    reo_at: f64,
    tlp: Tlp,
    probe_at: f64,
    sent_new: bool,
    /// For those who ask for the rate of arrivals.
    rate: Option<Box<Rate>>,
    /// Nobody asks for it, and no setting asks for other samples or other room than the short ways know of.
    plain: bool,
    /// Marked packets that the receiver has told of (accurate ECN).
    marks: u64,
}

/// How many packets were marked if a sender that knows of `known` gets a counter's three bits `ace` with an ACK that newly
/// covers `packets`: the most that is consistent with both, if the counter may have gone round.
pub fn marked_packets(known: u64, ace: u8, packets: u64) -> u64 {
    let change = (u64::from(ace) + 8 - known % 8) % 8;
    if packets <= 7 {
        return change;
    }
    packets - (packets - change) % 8
}

/// The lesser of two times; neither is NaN, which `f64::min` would have to see to.
#[inline(always)]
fn earlier(one: f64, other: f64) -> f64 {
    if other < one {
        other
    } else {
        one
    }
}

/// The time from `then` to `now` by clocks of whole milliseconds, one at least, s.
fn whole_milliseconds(then: f64, now: f64) -> f64 {
    1e-3 * ((1e3 * now).floor() - (1e3 * then).floor()).max(1.0)
}

/// The counters of marked packets begin with this (accurate ECN).
const FIRST_COUNT: u64 = 5;

impl Connection {
    /// Closed, with nothing to send.
    pub fn new(settings: Settings, first: u32) -> Self {
        let algorithm = settings.algorithm();
        let models = algorithm.view().owns_window();
        Connection {
            algorithm,
            state: State::Closed,
            phase: Phase::Open,
            board: if settings.reported_repair_counts {
                Board::new(settings.mss).counting_repairs()
            } else {
                Board::new(settings.mss)
            },
            rto: Rto::new(settings.min_rto, settings.min_rto_for_variation),
            ssthresh: f64::INFINITY,
            first,
            una: 0,
            next: 0,
            limit: 1,
            sampled_from: if settings.rtt_sample_first { 0 } else { u64::MAX },
            pushed: 0,
            closing: false,
            recover: 0,
            reduced: 0,
            reductions: 0,
            repeat_lost: false,
            any_repeat_lost: false,
            dupacks: 0,
            limited: 0,
            forced: 0,
            timed_out_at: 0,
            syn_timeouts: 0,
            syn_sent: 0.0,
            rto_at: f64::INFINITY,
            pace_at: f64::INFINITY,
            released: 0.0,
            owed: 0.0,
            together: 0,
            last_sent: 0.0,
            window_limited: false,
            ecn: false,
            cwr: false,
            mark_prr: None,
            halted: false,
            min_rtt: f64::INFINITY,
            min_srtt: f64::INFINITY,
            rack: (settings.rack && settings.sack).then(|| Box::new(Rack::new(settings.rack_repeats_reported))),
            reo_at: f64::INFINITY,
            tlp: Tlp::default(),
            probe_at: f64::INFINITY,
            sent_new: false,
            rate: models.then(|| Box::new(Rate::new(settings.bbr.samples_held))),
            plain: !(models
                || settings.rtt_sample_first
                || settings.send_pairs
                || settings.dctcp_least_none
                || settings.push_ack_at_once
                || settings.idle_timer_runs),
            marks: FIRST_COUNT,
            seen: Seen { cwnd: 1.0, dupacks: 0, retransmits: 0, timeouts: 0, traced: false },
            settings,
        }
    }

    /// First sequence number on the wire, and the one behind all that have been used.
    pub fn numbers(&self) -> (u32, u32) {
        (self.first, wrap(self.next.max(1), self.first))
    }

    /// One behind the last sequence number that the application has given, the FIN included.
    pub fn limit(&self) -> u64 {
        self.limit + u64::from(self.closing)
    }

    /// Next sequence number to send; 0 is the SYN.
    pub fn next(&self) -> u64 {
        self.next
    }

    /// First sequence number not acknowledged.
    pub fn una(&self) -> u64 {
        self.una
    }

    /// Whether the SYN has been acknowledged.
    #[inline(always)]
    pub fn is_open(&self) -> bool {
        self.state == State::Established
    }

    /// Congestion window, segments.
    pub fn cwnd(&self) -> f64 {
        self.seen.cwnd
    }

    /// Segments sent again.
    pub fn retransmits(&self) -> u32 {
        self.seen.retransmits
    }

    /// Timeouts with segments outstanding.
    pub fn timeouts(&self) -> u32 {
        self.seen.timeouts
    }

    /// Whether changes of variables go to [`Output::changes`].
    pub fn is_traced(&self) -> bool {
        self.seen.traced
    }

    /// From now on they do, or do not.
    pub fn trace(&mut self, traced: bool) {
        self.seen.traced = traced;
    }

    /// Slow start threshold, segments.
    pub fn ssthresh(&self) -> f64 {
        self.ssthresh
    }

    /// The timeout as it stands, s.
    pub fn rto(&self) -> f64 {
        self.rto.value()
    }

    /// Smoothed round-trip time, s, once there is a sample.
    pub fn srtt(&self) -> Option<f64> {
        self.rto.srtt()
    }

    /// What is in the network, bytes (RFC 6675, `pipe`).
    pub fn pipe(&self) -> u64 {
        self.board.pipe()
    }

    /// What it is doing about losses: `closed`, `opening`, `open`, `recovery` or `loss`.
    pub fn standing(&self) -> &'static str {
        match (self.state, &self.phase) {
            (State::Closed, _) => "closed",
            (State::SynSent, _) => "opening",
            (State::Established, Phase::Open) => "open",
            (State::Established, Phase::Recovery(_)) => "recovery",
            (State::Established, Phase::Loss) => "loss",
        }
    }

    /// The congestion control.
    pub fn algorithm(&self) -> &Algorithm {
        &self.algorithm
    }

    /// Whether all that the application has given is acknowledged.
    pub fn finished(&self) -> bool {
        self.state == State::Closed || self.una >= self.limit()
    }

    /// The application gives `bytes` more (`None`: without end), and says whether they are the last.
    pub fn offer(&mut self, now: f64, bytes: Option<u64>, last: bool, out: &mut Output) {
        self.limit = match bytes {
            Some(bytes) => (self.limit + bytes).min(ENDLESS),
            None => ENDLESS,
        };
        self.closing |= last && self.settings.fin && bytes.is_some();
        match self.state {
            State::Closed => {
                self.seen.set_cwnd(1.0, out);
                self.state = State::SynSent;
                self.send_syn(now, out);
            }
            State::SynSent => {}
            State::Established => {
                self.transmit(now, out);
                self.plan_probe(now, false);
            }
        }
        self.end_event(out);
    }

    /// The application gives nothing more: what has not been sent is never sent.
    pub fn end(&mut self) {
        self.limit = self.limit.min(self.next.max(1));
    }

    fn send_syn(&mut self, now: f64, out: &mut Output) {
        // RFC 3168, 6.1.1: a SYN that asks for ECN has ECE and CWR and is not ECN-capable itself.
        let mut ask = if self.settings.feedback == Feedbacks::None { 0 } else { ECE | CWR };
        if self.settings.feedback.marks_all() {
            ask |= self.settings.feedback.capable();
        }
        if self.settings.feedback == Feedbacks::Accurate {
            ask |= AE;
        }
        out.segments.push(Sent { seq: self.first, payload: 0, bits: SYN | ask });
        self.seen.retransmits += u32::from(self.next > 0);
        self.next = 1;
        if self.syn_timeouts == 0 || !self.settings.syn_sample_always {
            self.syn_sent = now;
        }
        self.rto_at = now + self.rto.value();
    }

    /// What an event ends with: PSH in what it has sent, and when to wake up.
    fn end_event(&mut self, out: &mut Output) {
        if self.settings.push_ack_at_once {
            self.push(out);
        }
        let wake = earlier(earlier(self.rto_at, self.pace_at), earlier(self.reo_at, self.probe_at));
        debug_assert!(
            wake < f64::INFINITY
                || self.state != State::Established
                || (self.board.is_empty() && self.next >= self.limit()),
            "there is something to do, and no timer runs: nothing may ever happen again"
        );
        out.timer = Some(Timer::At(wake));
    }

    fn mss(&self) -> f64 {
        f64::from(self.settings.mss)
    }

    fn segments(&self, bytes: u64) -> f64 {
        // Of 63 bits the conversion is one instruction.
        bytes as i64 as f64 / self.mss()
    }

    fn set_ssthresh(&mut self, value: f64, out: &mut Output) {
        let value = if self.settings.ssthresh == Base::Cwnd { value.floor() } else { value };
        if self.ssthresh != value {
            self.ssthresh = value;
            self.seen.note(out, Variable::Ssthresh, value);
        }
    }

    fn window(&self) -> Window {
        Window { cwnd: self.seen.cwnd, ssthresh: self.ssthresh }
    }

    fn set_window(&mut self, window: Window, out: &mut Output) {
        self.seen.set_cwnd(window.cwnd, out);
        self.set_ssthresh(window.ssthresh, out);
    }

    /// An ACK arrives.
    pub fn on_feedback(&mut self, now: f64, feedback: &Feedback, out: &mut Output) {
        match self.state {
            State::Closed => return,
            State::SynSent => self.open(now, feedback, out),
            State::Established if feedback.syn => {
                // Our answer to the SYN's answer has been lost, or the SYN came twice.
                out.segments.push(Sent { seq: wrap(self.next, self.first), payload: 0, bits: 0 });
            }
            State::Established => self.on_ack(now, feedback, out),
        }
        self.end_event(out);
    }

    /// The answer to the SYN.
    fn open(&mut self, now: f64, feedback: &Feedback, out: &mut Output) {
        if !feedback.syn || feedback.ack != wrap(1, self.first) {
            return;
        }
        self.state = State::Established;
        self.una = 1;
        self.seen.note(out, Variable::Ack, 0.0);
        self.ecn = feedback.echo;
        self.rto_at = f64::INFINITY;
        if self.syn_timeouts == 0 || self.settings.timestamps || self.settings.syn_sample_always {
            let sent = if self.settings.timestamps { feedback.stamp } else { self.syn_sent };
            self.sample(now - sent, out);
            self.algorithm.control().on_open(self.settings.initial_window(), now - sent, now);
        }
        if self.syn_timeouts > 0 && !self.settings.syn_sample_always {
            self.rto.syn_was_lost();
        }
        // RFC 6928, 2: one lost SYN does not cost the initial window, more do (RFC 5681, 3.1).
        let initial = if self.syn_timeouts > 1 { LOSS_WINDOW } else { self.settings.initial_window() };
        self.seen.set_cwnd(initial, out);
        self.last_sent = now;
        let all = self.ecn && self.settings.feedback.marks_all();
        let bits = if all { self.settings.feedback.capable() } else { 0 };
        out.segments.push(Sent { seq: wrap(1, self.first), payload: 0, bits });
        self.transmit(now, out);
        self.plan_probe(now, true);
    }

    #[inline(always)]
    fn sample(&mut self, rtt: f64, out: &mut Output) {
        self.rto.sample(rtt);
        self.tlp.sampled();
        self.min_rtt = earlier(self.min_rtt, rtt);
        self.min_srtt = earlier(self.min_srtt, self.rto.srtt().unwrap_or(rtt));
        if self.seen.traced {
            self.seen.note(out, Variable::Srtt, self.rto.srtt().unwrap_or(0.0));
            self.seen.note(out, Variable::Rttvar, self.rto.rttvar());
        }
    }

    fn on_ack(&mut self, now: f64, feedback: &Feedback, out: &mut Output) {
        let Some(ack) = unwrap(feedback.ack, self.first, self.una) else { return };
        if ack > self.next {
            return;
        }
        if ack > self.una && self.is_quiet(feedback) {
            self.on_expected_ack(now, ack, feedback, out);
        } else {
            self.on_any_ack(now, ack, feedback, out);
        }
    }

    /// The same for an ACK that may say anything.
    #[inline(never)]
    fn on_any_ack(&mut self, now: f64, ack: u64, feedback: &Feedback, out: &mut Output) {
        let flight_before = self.board.outstanding();
        let pipe_before = if self.rate.is_some() { self.board.pipe() } else { 0 };
        let advanced = ack.saturating_sub(self.una);

        // What has arrived, and how long it took (RFC 6298, section 3: Karn's algorithm; RFC 7323, 4.1: with time stamps
        // every ACK that advances the window says).
        let mut newest: Option<f64> = None;
        let mut first = self.sampled_from;
        let timestamps = self.settings.timestamps;
        let echo = timestamps.then_some(feedback.stamp);
        let (mss, min_rtt, mut packets) = (self.mss(), self.min_rtt, 0);
        let (mut marks, mut restored) = (0, 0);
        let mut sampled = None;
        let (rack, rate) = (&mut self.rack, &mut self.rate);
        let coarse = self.settings.bbr.stamps_milliseconds;
        let (mut reported_sent, mut acked_sent, mut repeated) = (f64::NEG_INFINITY, f64::NEG_INFINITY, false);
        let mut note = |delivered: Delivered| {
            packets += 1;
            delivered.record.add_marks(&mut marks);
            let once = !delivered.record.is_repeated();
            if delivered.record.start >= first {
                first = u64::MAX;
                sampled = once.then_some(delivered.record.sent);
            }
            if once {
                newest = Some(newest.map_or(delivered.record.sent, |sent: f64| sent.max(delivered.record.sent)));
            }
            if let Some(rack) = rack {
                rack.delivered(&delivered, now, echo, min_rtt);
            }
            if let Some(rate) = rate {
                rate.arrived(&delivered, f64::from(delivered.record.len) / mss, now);
                restored += if delivered.record.is_lost() { u64::from(delivered.record.len) } else { 0 };
                if coarse {
                    let sent = delivered.record.sent;
                    match (delivered.record.is_repeated(), delivered.reported) {
                        (false, true) => reported_sent = sent.max(reported_sent),
                        (false, false) => acked_sent = sent,
                        (true, reported) => repeated |= !reported,
                    }
                }
            }
        };
        let mut arrived = 0;
        if advanced > 0 {
            let before = self.board.len();
            arrived += self.board.acknowledge(ack, &mut note);
            self.una = ack;
            if self.settings.guesses_kept && self.board.move_guesses(before) {
                self.board.lose_first();
            }
        }
        let mut reported = 0;
        let mut duplicate = None;
        if self.settings.sack && feedback.count > 0 {
            reported = match self.board.report_more(feedback, &mut note) {
                Some(reported) => reported,
                None => {
                    let (ranges, count) = feedback.ranges(self.first, self.una);
                    let skip = usize::from(feedback.duplicate);
                    duplicate = feedback.duplicate.then_some(ranges[0]);
                    let whole = (!feedback.duplicate).then_some(feedback);
                    self.board.report(&ranges[skip..count.max(skip)], whole, &mut note)
                }
            };
            arrived += reported;
        }
        let rtt = match (advanced > 0, timestamps) {
            (false, _) => None,
            (true, true) => Some(now - feedback.stamp),
            (true, false) if self.settings.rtt_sample_first => sampled.map(|sent: f64| now - sent),
            (true, false) => newest.map(|sent| now - sent),
        };
        if let Some(rtt) = rtt {
            self.sample(rtt, out);
        }
        self.count_duplicates(advanced, reported, ack, out);
        if advanced > 0 && self.settings.backoff_until_ack {
            self.rto.end_backoff();
        }
        // Congestion control wants to know how long the last segment took, without the delay of its ACK (Linux, `ca_rtt_us`).
        let latest = if coarse && self.rate.is_some() {
            let by_stamps = rtt.filter(|_| timestamps).map(|_| whole_milliseconds(feedback.stamp, now));
            let known = |sent: f64| (sent > f64::NEG_INFINITY).then_some(now - sent);
            known(reported_sent).or(known(acked_sent).filter(|_| !repeated)).or(by_stamps)
        } else {
            newest.map(|sent| now - sent).or(rtt)
        };
        self.min_rtt = earlier(self.min_rtt, latest.unwrap_or(f64::INFINITY));
        let mut info = self.acked(now, latest, advanced, arrived, flight_before, feedback);
        if self.settings.feedback == Feedbacks::Accurate && self.ecn {
            info.marked = self.count_marks(feedback.ace, packets);
        }
        if let Some(rate) = &mut self.rate {
            rate.forget_before(self.board.number(0));
            let least = if self.settings.bbr.rtt_smoothed { self.min_srtt } else { self.min_rtt };
            info.rate = rate.sample(least);
        }

        if self.owns_window() && self.settings.bbr.recovery_end_at_once {
            self.end_recovery();
        }
        // Losses.
        let lost = if self.rack.is_some() {
            self.find_losses(now, reported, advanced, duplicate.is_some())
        } else {
            self.find_losses_by_reports(reported)
        };
        info.lost = if lost > 0 { self.segments(lost) } else { 0.0 };
        let bare = advanced == 0 && feedback.count == 0;
        let probe = duplicate.is_some_and(|(_, end)| end == self.next);
        let repaired = self.tlp.on_ack(ack, probe, bare) == Verdict::Repaired;
        let mut entered = if self.may_enter() || (self.owns_window() && self.any_repeat_lost && self.recovers_again()) {
            self.enter_recovery(now, out);
            true
        } else {
            self.repeat_lost && self.cut_again(now, arrived, out)
        };
        if repaired && !entered && matches!(self.phase, Phase::Open) {
            // RFC 8985, 7.4.2: what the probe has repaired was a loss.
            self.react_to_probe(now, flight_before, out);
            entered = true;
        }
        info.recovering = !matches!(self.phase, Phase::Open);
        info.resent = board::Record::any_resent(marks);
        if self.rate.is_some() {
            // What only a model of the path asks for.
            info.timed_out = matches!(self.phase, Phase::Loss);
            info.repaired = self.segments(restored);
            info.pipe = self.segments(self.board.pipe());
            info.pipe_before = self.segments(pipe_before);
            info.ahead = (self.released - now).max(0.0);
        }
        let mut window = self.window();
        self.algorithm.on_any_ack(&mut window, &info);
        self.set_window(window, out);
        if let Some(rate) = self.rate.as_mut().filter(|_| self.algorithm.view().holds_back()) {
            rate.app_limited(info.pipe);
        }
        if self.seen.traced {
            let bits = 8.0 * self.mss();
            self.algorithm.control().gauges(&mut |variable, value| {
                // Congestion controls count segments.
                let unit = if variable == Variable::Bandwidth { bits } else { 1.0 };
                self.seen.note(out, variable, value * unit);
            });
        }
        // Marks, unless a reaction begins now.
        let echo =
            self.ecn && if self.settings.feedback == Feedbacks::Accurate { info.marked > 0.0 } else { feedback.echo };
        if echo && !entered {
            self.on_echo(now, flight_before, out);
        }
        // Recovery or growth.
        self.recover_or_grow(now, advanced, arrived, entered, echo, &info, out);
        // Timers (RFC 6298, 5.2 and 5.3).
        if self.halted {
            // It is the timer alone that lets the next segment go, also once nothing is outstanding any more.
        } else if self.board.is_empty() && !self.timer_runs_idle() {
            self.rto_at = f64::INFINITY;
        } else if advanced > 0 && self.restarts_timer() {
            self.rto_at = now + self.rto.value();
        }
        self.transmit(now, out);
        self.plan_probe(now, advanced > 0);
    }

    /// Whether an ACK that advances the window says nothing else, while nothing is or may be lost, nothing has been sent
    /// again, and the window is not on its way down.
    fn is_quiet(&self, feedback: &Feedback) -> bool {
        let unmarked = !self.ecn || (!feedback.echo && self.settings.feedback != Feedbacks::Accurate);
        matches!(self.phase, Phase::Open)
            && feedback.count == 0
            && unmarked
            && self.board.is_plain()
            && self.plain
            && self.mark_prr.is_none()
            && !self.halted
            && !self.seen.traced
            && !self.tlp.is_out()
            && self.rack.as_ref().is_none_or(|rack| rack.is_quiet(&self.board))
    }

    /// What [`on_any_ack`](Self::on_any_ack) does where [`is_quiet`](Self::is_quiet) holds: no loss can be found, none is repaired,
    /// and what is left are the round-trip time, growth, timers and sending, in the same order.
    fn on_expected_ack(&mut self, now: f64, ack: u64, feedback: &Feedback, out: &mut Output) {
        let flight_before = self.board.outstanding();
        let advanced = ack - self.una;
        let timestamps = self.settings.timestamps;
        let echo = timestamps.then_some(feedback.stamp);
        let (rack, min_rtt, mut newest) = (&mut self.rack, self.min_rtt, f64::NEG_INFINITY);
        let arrived = self.board.acknowledge(ack, |delivered| {
            // In the order of sending.
            newest = delivered.record.sent;
            if let Some(rack) = rack {
                rack.delivered(&delivered, now, echo, min_rtt);
            }
        });
        self.una = ack;
        let newest = (newest > f64::NEG_INFINITY).then_some(newest);
        let rtt = if timestamps { Some(now - feedback.stamp) } else { newest.map(|sent| now - sent) };
        if let Some(rtt) = rtt {
            self.sample(rtt, out);
        }
        (self.dupacks, self.limited) = (0, 0);
        self.seen.set_dupacks(0, out);
        if self.settings.backoff_until_ack {
            self.rto.end_backoff();
        }
        let latest = newest.map(|sent| now - sent).or(rtt);
        self.min_rtt = earlier(self.min_rtt, latest.unwrap_or(f64::INFINITY));
        let info = self.acked(now, latest, advanced, arrived, flight_before, feedback);
        self.repeat_lost = false;
        self.reo_at = f64::INFINITY;
        let mut window = self.window();
        self.algorithm.on_any_ack(&mut window, &info);
        self.set_window(window, out);
        if info.segments > 0.0 && info.window_limited {
            self.grow(&info, out);
        }
        self.rto_at = if self.board.is_empty() { f64::INFINITY } else { now + self.rto.value() };
        self.restart_when_idle(now, out);
        let nothing_else = self.forced == 0 && !self.closing;
        if !nothing_else || !self.transmit_new(now, out) {
            self.transmit(now, out);
        }
        self.plan_probe(now, true);
    }

    /// What is lost by what is known now: how many sequence numbers are newly so.
    fn find_losses(&mut self, now: f64, reported: u64, advanced: u64, duplicate: bool) -> u64 {
        let Some(rack) = &mut self.rack else { return self.find_losses_by_reports(reported) };
        (self.repeat_lost, self.any_repeat_lost) = (false, false);
        if duplicate {
            rack.duplicate(self.una, self.next);
        }
        if reported == 0 && advanced == 0 {
            return 0;
        }
        let recovering = !matches!(self.phase, Phase::Open);
        let reo_wnd = rack.reo_wnd(&self.board, recovering, self.min_rtt, self.rto.srtt().unwrap_or(0.0));
        let losses = rack.find_losses(&mut self.board, now, reo_wnd);
        self.reo_at = losses.again;
        if self.settings.rack_timer_ticks && losses.again < f64::INFINITY {
            let ticks = ((losses.again - now + RACK_MARGIN) / TICK).ceil();
            // The tick at hand has begun before: a timer never comes early.
            self.reo_at = ((now / TICK).floor() + 1.0 + ticks) * TICK;
        }
        self.repeat_lost = losses.repeat == Some(self.reductions);
        self.any_repeat_lost = losses.repeat.is_some();
        losses.lost
    }

    #[inline]
    fn find_losses_by_reports(&mut self, reported: u64) -> u64 {
        self.repeat_lost = false;
        if reported > 0 {
            self.board.find_losses()
        } else {
            0
        }
    }

    /// How many packets an ACK says were marked, by its counter's three bits; it newly covers so many packets.
    fn count_marks(&mut self, ace: u8, packets: u64) -> f64 {
        let marked = marked_packets(self.marks, ace, packets);
        self.marks += marked;
        marked as f64
    }

    /// The loss that a probe has repaired costs what any loss does.
    fn react_to_probe(&mut self, now: f64, flight: u64, out: &mut Output) {
        if !self.may_cut() || self.owns_window() {
            return;
        }
        let flight = if self.settings.ssthresh == Base::Cwnd { self.seen.cwnd } else { self.segments(flight) };
        let window = self.window();
        let ssthresh = self.algorithm.control().on_loss(&window, flight, now);
        self.set_ssthresh(ssthresh, out);
        self.note_reduction();
        self.cwr = self.ecn;
        self.seen.set_cwnd(ssthresh.min(self.seen.cwnd), out);
    }

    /// The window has been cut: not again for what has been sent.
    fn note_reduction(&mut self) {
        self.reduced = self.next;
        self.reductions += 1;
    }

    fn owns_window(&self) -> bool {
        self.rate.is_some()
    }

    /// Sets the time of a probe (RFC 8985, 7.2) after an ACK that `advanced` the window, or when new data have been sent.
    #[inline]
    fn plan_probe(&mut self, now: f64, advanced: bool) {
        let sent_new = std::mem::take(&mut self.sent_new);
        if self.rack.is_some() {
            self.set_probe_timer(now, advanced, sent_new);
        }
    }

    fn set_probe_timer(&mut self, now: f64, advanced: bool, sent_new: bool) {
        let open = matches!(self.phase, Phase::Open) && self.board.sacked() == 0;
        if self.board.is_empty() || !open || !self.tlp.may_probe() {
            self.probe_at = f64::INFINITY;
        } else if advanced || sent_new {
            let delay = self.settings.delayed_ack.unwrap_or(0.0);
            let timeout = tlp::timeout(self.rto.srtt(), self.board.len() == 1, delay);
            self.probe_at = earlier(now + timeout, self.rto_at);
        }
    }

    /// RFC 8985, 7.3: new data if there are any, else the last segment again; then the timer begins anew.
    fn probe(&mut self, now: f64, out: &mut Output) {
        self.probe_at = f64::INFINITY;
        if self.board.is_empty() || !self.tlp.may_probe() {
            return;
        }
        let new = self.send_new(now, out);
        if !new {
            self.send_again(now, self.board.len() - 1, false, out);
        }
        self.tlp.sent(self.next, !new);
        self.rto_at = now + self.rto.value();
        self.sent_new = false;
    }

    /// RACK's timer: what has not arrived by now is lost.
    fn on_reo_timer(&mut self, now: f64, out: &mut Output) {
        self.reo_at = f64::INFINITY;
        let lost = self.find_losses(now, 1, 0, false);
        let segments = self.segments(lost);
        self.algorithm.control().on_late(segments, false);
        let cut = if self.may_enter() || (lost > 0 && self.recovers_again()) {
            self.enter_recovery(now, out);
            true
        } else {
            self.cut_again(now, 0, out)
        };
        if cut {
            if let Phase::Recovery(Recovery { prr: Some(prr), .. }) = &mut self.phase {
                let pipe = self.board.pipe() as f64 / f64::from(self.settings.mss);
                let count = prr.on_ack(0.0, pipe, self.ssthresh, false);
                self.seen.set_cwnd(pipe + count, out);
            }
        }
        self.transmit(now, out);
    }

    #[inline(always)]
    fn acked(
        &self,
        now: f64,
        rtt: Option<f64>,
        advanced: u64,
        arrived: u64,
        flight_before: u64,
        feedback: &Feedback,
    ) -> Acked {
        Acked {
            now,
            segments: self.segments(if self.settings.growth_arrived { arrived } else { advanced }),
            delivered: self.segments(arrived),
            rtt,
            srtt: self.rto.srtt().unwrap_or(0.0),
            flight_before: self.segments(flight_before),
            pipe: 0.0,
            una: self.una,
            next: self.next,
            // RFC 8257, 3.3: what an ACK with ECE acknowledges counts as marked.
            marked: if feedback.echo && self.ecn { self.segments(advanced) } else { 0.0 },
            window_limited: self.window_limited,
            recovering: false,
            timed_out: false,
            paced: self.settings.pacing,
            lost: 0.0,
            pipe_before: 0.0,
            ahead: 0.0,
            rate: None,
            resent: false,
            repaired: 0.0,
            one_way: self.settings.timestamps.then_some(feedback.one_way),
        }
    }

    /// RFC 5681, section 2: a duplicate ACK; with SACK one that tells something new (RFC 6675, section 2).
    fn count_duplicates(&mut self, advanced: u64, reported: u64, ack: u64, out: &mut Output) {
        if advanced > 0 {
            self.dupacks = 0;
            self.limited = 0;
        } else if self.settings.sack {
            self.dupacks += u32::from(reported > 0);
        } else if ack == self.una && !self.board.is_empty() {
            self.dupacks += 1;
            self.guess_arrival();
        }
        self.seen.set_dupacks(self.dupacks, out);
    }

    /// A duplicate ACK: a segment has arrived, and which one is a guess, if such guesses are made. Outside of recoveries
    /// limited transmit makes them, and the one that begins a recovery.
    fn guess_arrival(&mut self) {
        let makes = match self.phase {
            Phase::Open => self.settings.limited_transmit || self.may_enter(),
            Phase::Recovery(_) => true,
            Phase::Loss => false,
        };
        if self.settings.guesses_kept && makes {
            self.board.guess();
        }
    }

    /// Whether losses that are known now begin a recovery.
    fn may_enter(&self) -> bool {
        if !matches!(self.phase, Phase::Open) || self.board.is_empty() {
            return false;
        }
        if self.rack.is_some() {
            return self.board.lost() > 0;
        }
        if self.settings.sack {
            if self.settings.recovery_start_second {
                let second = self.board.get(1).is_some_and(board::Record::is_lost);
                return self.dupacks >= board::DUP_THRESH || (self.dupacks > 0 && second);
            }
            // RFC 6675, section 5 (1) and (2).
            return self.board.sacked() > 0
                && (self.dupacks >= board::DUP_THRESH || self.board.front().is_some_and(board::Record::is_lost));
        }
        // RFC 6582, 3.2 (1): not again for what was sent before the last time.
        let beyond = self.una > self.recover || (self.settings.recovery_again_at_end && self.una == self.recover);
        self.dupacks == board::DUP_THRESH && (beyond || self.recover == 0)
    }

    /// Whether the window may be cut: once for what is outstanding at a time.
    fn may_cut(&self) -> bool {
        self.una >= self.reduced
    }

    /// Whether a loss that is found after a timeout begins a recovery.
    fn recovers_again(&self) -> bool {
        self.settings.bbr.lost_again_recovers && self.owns_window() && matches!(self.phase, Phase::Loss)
    }

    /// A model of the path hears that a recovery is over as soon as all is acknowledged that it was to repair.
    fn end_recovery(&mut self) {
        if self.una >= self.recover && !matches!(self.phase, Phase::Open) {
            if let Some(rack) = &mut self.rack {
                rack.recovered();
            }
            self.phase = Phase::Open;
        }
    }

    /// What a reaction to a loss takes as the flight, segments.
    fn flight(&self) -> f64 {
        match self.settings.ssthresh {
            Base::Flight => self.segments(self.board.outstanding() - self.limited),
            Base::Pipe => self.segments(self.board.pipe()),
            Base::Cwnd => self.seen.cwnd,
        }
    }

    /// A proportional rate reduction that begins now: of what is outstanding, or of cwnd as in Linux.
    fn reduction(&self, bound: Bound) -> Prr {
        let outstanding = self.segments(self.board.outstanding());
        let prr = Prr::new(if bound == Bound::SafeAck { self.seen.cwnd } else { outstanding }, bound);
        if self.settings.prr_part_bytes {
            prr.in_bytes(self.mss())
        } else {
            prr
        }
    }

    fn enter_recovery(&mut self, now: f64, out: &mut Output) {
        let cut = self.may_cut();
        // RFC 5681, 3.2 (2): without what limited transmit has sent.
        let flight = self.flight();
        if cut {
            let window = self.window();
            let ssthresh = self.algorithm.control().on_loss(&window, flight, now);
            self.set_ssthresh(ssthresh, out);
            self.note_reduction();
            self.cwr = self.ecn;
        }
        self.recover = self.next;
        self.mark_prr = None;
        let prr =
            self.settings.prr.filter(|_| self.settings.sack && !self.owns_window()).map(|bound| self.reduction(bound));
        self.phase = Phase::Recovery(Recovery { prr, partial: false, rescue_from: self.una });
        self.tlp.reset();
        if self.settings.sack {
            // RFC 6675, section 5 (4.1) to (4.3): the first one goes whatever the window.
            if self.rack.is_none() {
                self.board.mark_lost(0);
            }
            self.forced = 1;
            if !self.owns_window() {
                self.seen.set_cwnd(self.ssthresh, out);
            }
        } else if self.settings.guesses_kept {
            self.board.lose_first();
            self.seen.set_cwnd(self.ssthresh, out);
            self.send_again(now, 0, true, out);
        } else {
            // RFC 6582, 3.2 (2) and (3).
            self.seen.set_cwnd(self.ssthresh + f64::from(board::DUP_THRESH), out);
            self.send_again(now, 0, false, out);
        }
    }

    /// RFC 5681, 4.3: what was sent again and is lost again is a second sign of congestion. Only for what was sent since
    /// the last reduction, so once in a round trip. A recovery begins anew, up to what has been sent by now. The cut is of
    /// the window that it was to end with: the flight still has what has been reported, and less is in the network while
    /// losses are repaired. `arrived` bytes came with this ACK. Whether there was such a cut.
    fn cut_again(&mut self, now: f64, arrived: u64, out: &mut Output) -> bool {
        if !self.repeat_lost || !self.settings.lost_retransmit_cuts || self.owns_window() {
            return false;
        }
        let recovering = matches!(self.phase, Phase::Recovery(_));
        if !recovering && !matches!(self.phase, Phase::Loss) {
            return false;
        }
        // Slow start after a timeout may not have come so far.
        let cwnd = if recovering { self.ssthresh } else { self.seen.cwnd.min(self.ssthresh) };
        let ssthresh = self.algorithm.control().on_loss(&Window { cwnd, ssthresh: self.ssthresh }, cwnd, now);
        self.set_ssthresh(ssthresh.min(self.ssthresh), out);
        self.note_reduction();
        self.cwr = self.ecn;
        if recovering {
            self.recover = self.next;
            // RFC 9937: of what could arrive before this ACK (`RecoverFS`); Linux takes the window.
            let left = self.segments(self.board.outstanding() - self.board.sacked() + arrived);
            let prr = self.settings.prr.map(|bound| Prr::new(if bound == Bound::SafeAck { cwnd } else { left }, bound));
            self.phase = Phase::Recovery(Recovery { prr, partial: false, rescue_from: self.una });
            self.forced = 1;
            self.seen.set_cwnd(self.ssthresh, out);
        } else {
            self.seen.set_cwnd(self.seen.cwnd.min(self.ssthresh), out);
        }
        true
    }

    /// RFC 3168, 6.1.2: once in a window of data. `flight` was outstanding when the ACK came, bytes.
    fn on_echo(&mut self, now: f64, flight: u64, out: &mut Output) {
        if !matches!(self.phase, Phase::Open) || (self.una <= self.reduced && self.reduced > 0) {
            return;
        }
        if self.owns_window() {
            return;
        }
        self.end_mark_reduction(out);
        self.note_reduction();
        self.cwr = self.settings.feedback != Feedbacks::Accurate;
        if self.seen.cwnd <= 1.0 && !self.settings.dctcp_least_none {
            self.halted = true;
            self.rto_at = now + self.rto.value();
            return;
        }
        let flight = if self.settings.ssthresh == Base::Cwnd { self.seen.cwnd } else { self.segments(flight) };
        let window = self.window();
        let ssthresh = self.algorithm.control().on_mark(&window, flight, now);
        self.set_ssthresh(ssthresh, out);
        if self.settings.mark_cut_round_trip {
            let bound = self.settings.prr.unwrap_or(Bound::SlowStart);
            self.mark_prr = Some(self.reduction(bound));
        } else {
            self.seen.set_cwnd(ssthresh.min(self.seen.cwnd), out);
        }
    }

    /// The round trip is over in which a mark brings the window down.
    fn end_mark_reduction(&mut self, out: &mut Output) {
        if self.mark_prr.take().is_some() {
            self.seen.set_cwnd(self.ssthresh, out);
        }
    }

    #[allow(clippy::too_many_arguments)]
    fn recover_or_grow(
        &mut self,
        now: f64,
        advanced: u64,
        arrived: u64,
        entered: bool,
        echo: bool,
        info: &Acked,
        out: &mut Output,
    ) {
        let done = self.una >= self.recover;
        if self.owns_window() {
            if !entered {
                self.end_recovery();
            }
            // Unless the first outstanding is a repair on its way.
            let open = self.board.get(0).is_some_and(|first| !first.is_repeated() || first.is_sacked());
            let partial = advanced > 0 && !entered && matches!(self.phase, Phase::Recovery(_));
            if self.settings.bbr.partial_ack_sends && partial && open {
                self.forced = 1;
            }
            return;
        }
        if done && !entered && !matches!(self.phase, Phase::Open) {
            if let Some(rack) = &mut self.rack {
                rack.recovered();
            }
        }
        match &mut self.phase {
            Phase::Recovery(_) if done && !entered => {
                let cwnd = if self.settings.sack || self.settings.guesses_kept {
                    // RFC 6937: cwnd ends at ssthresh.
                    self.ssthresh
                } else {
                    // RFC 6582, 3.2 (3), the first choice.
                    let flight = self.segments(self.board.outstanding());
                    self.ssthresh.min(flight.max(1.0) + 1.0)
                };
                self.seen.set_cwnd(cwnd, out);
                self.phase = Phase::Open;
                if self.settings.exit_ack_grows && advanced > 0 {
                    self.grow(info, out);
                }
            }
            Phase::Recovery(recovery) if self.settings.sack => {
                if let Some(prr) = &mut recovery.prr {
                    let pipe = self.board.pipe() as f64 / f64::from(self.settings.mss);
                    let delivered = arrived as f64 / f64::from(self.settings.mss);
                    let safe = advanced > 0
                        && match self.settings.prr {
                            Some(Bound::RepairAck) => info.resent,
                            _ => info.lost == 0.0,
                        };
                    let count = prr.on_ack(delivered, pipe, self.ssthresh, safe);
                    self.seen.set_cwnd(pipe + count, out);
                }
            }
            Phase::Recovery(_) if entered => {}
            Phase::Recovery(_) if self.settings.guesses_kept => {
                if advanced > 0 {
                    self.board.lose_first();
                    self.send_again(now, 0, true, out);
                }
            }
            Phase::Recovery(_) if advanced > 0 => {
                // RFC 6582, 3.2 (3): a partial ACK.
                self.send_again(now, 0, false, out);
                let mut cwnd = self.seen.cwnd - self.segments(advanced);
                if advanced >= u64::from(self.settings.mss) {
                    cwnd += 1.0;
                }
                self.seen.set_cwnd(cwnd.max(1.0), out);
            }
            Phase::Recovery(_) => {
                // RFC 6582, 3.2 (2), further duplicates inflate.
                if info.segments == 0.0 {
                    self.seen.set_cwnd(self.seen.cwnd + 1.0, out);
                }
            }
            Phase::Open | Phase::Loss => {
                let repairing = matches!(self.phase, Phase::Loss);
                let (mut growth, less);
                growth = info;
                if repairing && done {
                    self.phase = Phase::Open;
                    if self.settings.timeout_end_new {
                        let segments = info.segments.min(self.segments(self.una - self.recover));
                        less = Acked { segments, ..*info };
                        growth = &less;
                    }
                }
                if let Some(prr) = &mut self.mark_prr {
                    if self.una > self.reduced {
                        self.end_mark_reduction(out);
                    } else if advanced > 0 {
                        let mss = f64::from(self.settings.mss);
                        let pipe = self.board.pipe() as f64 / mss;
                        let count = prr.on_ack(arrived as f64 / mss, pipe, self.ssthresh, false);
                        self.seen.set_cwnd(pipe + count.max(prr.least()), out);
                        return;
                    }
                }
                let cut = entered && repairing;
                let counts = !cut && (!echo || self.algorithm.view().grows_with_marks());
                if advanced > 0 && growth.segments > 0.0 && counts && info.window_limited {
                    self.grow(growth, out);
                }
            }
        }
    }

    #[inline]
    fn grow(&mut self, info: &Acked, out: &mut Output) {
        let mut window = self.window();
        self.algorithm.grow(&mut window, info);
        self.set_window(window, out);
    }

    /// Whether the timer runs though nothing is outstanding.
    fn timer_runs_idle(&self) -> bool {
        self.settings.idle_timer_runs && self.next < self.limit
    }

    /// Whether an ACK that advances the window restarts the timer: in a recovery of NewReno's only the first
    /// (RFC 6582, section 4, the impatient variant).
    fn restarts_timer(&mut self) -> bool {
        let default = if self.settings.sack { Restart::Every } else { Restart::First };
        match &mut self.phase {
            Phase::Recovery(recovery) if self.settings.rto_restart.unwrap_or(default) == Restart::First => {
                !std::mem::replace(&mut recovery.partial, true)
            }
            _ => true,
        }
    }

    /// The time of [`Output::wake`] has come.
    pub fn on_wake(&mut self, now: f64, out: &mut Output) {
        // ns-3: the pace comes first, and the timer then finds what that has sent. Where it expires for nothing at each second
        // segment both are due at once.
        let expired = now >= self.rto_at && now < self.probe_at;
        let paced_first = expired && self.settings.idle_timer_runs && self.pace_at <= self.rto_at + SAME_TIME;
        if expired && !paced_first {
            self.on_timeout(now, out);
        } else if now >= self.probe_at {
            self.probe(now, out);
        } else if now >= self.reo_at {
            self.on_reo_timer(now, out);
        } else if now >= self.pace_at || paced_first {
            let now = now.max(self.pace_at);
            self.pace_at = f64::INFINITY;
            self.transmit(now, out);
            self.plan_probe(now, false);
        }
        self.end_event(out);
    }

    fn on_timeout(&mut self, now: f64, out: &mut Output) {
        if self.state == State::SynSent {
            self.syn_timeouts += 1;
            self.seen.timeouts += 1;
            self.rto.back_off();
            return self.send_syn(now, out);
        }
        if self.halted {
            self.halted = false;
            self.rto_at = f64::INFINITY;
            self.forced = 1;
            if !self.board.is_empty() {
                self.rto_at = now + self.rto.value();
            }
            return self.transmit(now, out);
        }
        if self.board.is_empty() && !self.timer_runs_idle() {
            self.rto_at = f64::INFINITY;
            return;
        }
        self.seen.timeouts += 1;
        // RFC 5681, 3.1 (4): not when the same segment is lost again.
        let repeated = matches!(self.phase, Phase::Loss) && self.timed_out_at == self.una;
        if !repeated {
            let flight = self.flight();
            let window = self.window();
            let mut ssthresh = self.algorithm.control().on_timeout(&window, flight, now);
            if matches!(self.phase, Phase::Recovery(_)) {
                // "No more than" half the flight (RFC 5681, equation 4), which duplicate ACKs have inflated. In Linux the
                // window has been cut for this loss.
                let keeps = self.settings.timeout_cut_kept.unwrap_or(self.settings.ssthresh == Base::Cwnd);
                ssthresh = if keeps { self.ssthresh } else { ssthresh.min(self.ssthresh) };
            }
            self.set_ssthresh(ssthresh, out);
        }
        self.timed_out_at = self.una;
        self.seen.set_cwnd(LOSS_WINDOW, out);
        self.dupacks = 0;
        self.limited = 0;
        self.phase = Phase::Loss;
        self.mark_prr = None;
        self.recover = self.next;
        if self.settings.rtt_sample_first {
            self.sampled_from = self.next;
        }
        self.note_reduction();
        self.cwr = self.ecn;
        // RFC 8985, 6.3: only what is late by RACK's measure, and the first.
        let since = self.rack.as_ref().map_or(f64::INFINITY, |rack| {
            let srtt = self.rto.srtt().unwrap_or(0.0);
            now - rack.rtt() - rack.reo_wnd(&self.board, true, self.min_rtt, srtt)
        });
        let before = self.board.pipe();
        self.board.lose_all(since);
        let lost = self.segments(before.saturating_sub(self.board.pipe()));
        self.algorithm.control().on_late(lost, true);
        self.tlp.reset();
        (self.reo_at, self.probe_at) = (f64::INFINITY, f64::INFINITY);
        self.rto.back_off();
        self.rto_at = now + self.rto.value();
        self.forced = 1;
        if self.settings.bbr.repair_pace_at_once {
            self.released = now;
        }
        self.transmit(now, out);
    }

    /// Sends what the window, the receiver's window and the pace allow: what is lost first, then new data, then what may be
    /// lost (RFC 6675, section 4, `NextSeg`).
    fn transmit(&mut self, now: f64, out: &mut Output) {
        if self.state != State::Established || self.halted {
            return;
        }
        self.restart_when_idle(now, out);
        let quiet = matches!(self.phase, Phase::Open) && self.forced == 0 && self.dupacks == 0 && self.plain;
        let nothing_else = self.mark_prr.is_none() && !self.closing && self.board.is_whole();
        if quiet && nothing_else && self.transmit_new(now, out) {
            return;
        }
        if self.settings.bbr.empty_start_restarts {
            self.start_from_nothing(now, out);
        }
        let mut paired = false;
        loop {
            if self.paces() && !(self.forced > 0 && self.settings.bbr.repair_pace_at_once) && !self.may_release(now) {
                // The pace holds back what the window allows.
                return;
            }
            let index = self.board.next_lost();
            let wanted = match index {
                Some(index) => self.board.get(index).map_or(0, |record| u64::from(record.len)),
                None => u64::from(self.settings.mss),
            };
            if !self.has_room(wanted, index.is_none()) {
                self.window_limited = true;
                return;
            }
            if index.is_none() && self.settings.send_pairs {
                if !paired && self.waits_for_another(now) {
                    self.window_limited = true;
                    return;
                }
                paired = !paired;
            }
            let sent = match index {
                Some(index) => {
                    self.send_again(now, index, true, out);
                    true
                }
                None => self.send_new(now, out) || self.send_perhaps_lost(now, out),
            };
            if !sent {
                return;
            }
            self.forced = self.forced.saturating_sub(1);
        }
    }

    /// Tells the congestion control if something is to be sent now while nothing is in the network.
    #[inline(never)]
    fn start_from_nothing(&mut self, now: f64, out: &mut Output) {
        let goes = now >= self.released || (self.forced > 0 && self.settings.bbr.repair_pace_at_once);
        let some = self.next < self.limit() || !self.board.is_empty();
        if goes && some && self.board.pipe() == 0 {
            let mut window = self.window();
            self.algorithm.control().on_start(&mut window, now);
            self.seen.set_cwnd(window.cwnd, out);
        }
    }

    /// Sets PSH in the last of each group of new segments that this event has sent.
    #[inline(never)]
    fn push(&mut self, out: &mut Output) {
        let before = std::mem::replace(&mut self.pushed, self.next);
        let new = usize::try_from((self.next - before).div_ceil(u64::from(self.settings.mss))).unwrap_or(0);
        if new < 2 {
            return;
        }
        let group = self.group();
        let first = wrap(before, self.first);
        let fresh =
            out.segments.iter_mut().filter(|packet| packet.payload > 0 && packet.seq.wrapping_sub(first) < 1 << 31);
        for (number, packet) in fresh.enumerate() {
            let last = (number + 1) % group == 0 || number + 1 == new;
            if last && number % group > 0 {
                packet.bits |= PSH;
            }
        }
    }

    /// New segments that leave as one (Linux, `tcp_tso_autosize`): what goes in a millisecond at the pace that there is or would
    /// be, two at least; where sending is paced, as many as go at once.
    fn group(&self) -> usize {
        let Some(rate) = self.pacing_rate() else { return 2 };
        if self.paces() {
            return self.burst(rate) as usize;
        }
        ((rate * GROUP_TIME) as usize).max(2)
    }

    /// The same while nothing is lost and nothing is to be noted of what is sent, for full segments of new data. Whether
    /// nothing more may go; else what is left is not a full segment, or there is no room for it at the receiver.
    #[inline(always)]
    fn transmit_new(&mut self, now: f64, out: &mut Output) -> bool {
        let mss = u64::from(self.settings.mss);
        let end = self.limit.min(self.una + self.settings.window);
        let (pace, payload) = (self.settings.pacing, self.settings.mss as u16);
        let bits = if self.ecn { self.settings.feedback.capable() } else { 0 };
        while self.next + mss <= end {
            if pace && !self.may_release(now) {
                return true;
            }
            if self.segments(self.board.pipe() + mss) > self.seen.cwnd + 1e-9 {
                self.window_limited = true;
                return true;
            }
            let cwr = if self.ecn && std::mem::take(&mut self.cwr) { CWR } else { 0 };
            out.segments.push(Sent { seq: wrap(self.next, self.first), payload, bits: bits | cwr });
            self.board.sent(self.next, self.settings.mss, false, now);
            self.next += mss;
            self.sent_new = true;
            self.last_sent = now;
            if self.rto_at == f64::INFINITY {
                // RFC 6298, 5.1.
                self.rto_at = now + self.rto.value();
            }
            if pace {
                self.note_pace(now, 1.0);
            }
        }
        false
    }

    /// Whether a new segment should wait until there is room for two: something has been sent just before, so that an ACK
    /// will come, and one segment is less than a third of the window.
    fn waits_for_another(&self, now: f64) -> bool {
        let room = self.seen.cwnd - self.segments(self.board.pipe());
        let open = matches!(self.phase, Phase::Open) && self.forced == 0 && !self.board.is_empty();
        let due = || {
            let first = self.board.get(0).map_or(now, |record| record.sent);
            first + self.rto.srtt().unwrap_or(0.0) - now <= RECENT
        };
        let recent = now - self.last_sent <= RECENT;
        open && room < 2.0 - 1e-9 && room < self.seen.cwnd / 3.0 && recent && (!self.settings.pair_wait_due || due())
    }

    /// Whether the congestion window has room for so many bytes more.
    fn has_room(&self, bytes: u64, new: bool) -> bool {
        if self.forced > 0 {
            return true;
        }
        let mut window = self.seen.cwnd;
        if self.settings.dctcp_least_none && self.board.is_empty() {
            // No ACK would ever come.
            window = window.max(1.0);
        }
        // RFC 3042: one new segment on each of the first two duplicate ACKs.
        let duplicates = self.dupacks > 0 && matches!(self.phase, Phase::Open);
        if duplicates && new && !self.settings.guesses_kept {
            if !self.settings.limited_transmit {
                // With SACK `pipe` would allow it.
                return self.segments(self.board.outstanding() + bytes) <= window;
            }
            if !self.settings.sack {
                window += f64::from(self.dupacks.min(2));
            }
        }
        // A segment that is not full needs no more room than it has.
        let left = self.limit().saturating_sub(self.next).min(bytes);
        let bytes = if new && left > 0 { left } else { bytes };
        self.segments(self.board.pipe() + bytes) <= window + 1e-9
    }

    /// After a pause of more than a timeout the window begins anew (RFC 5681, 4.1).
    #[inline(always)]
    fn restart_when_idle(&mut self, now: f64, out: &mut Output) {
        if self.board.is_empty() && self.next < self.limit() && now - self.last_sent > self.rto.value() {
            self.seen.set_cwnd(self.seen.cwnd.min(self.settings.initial_window()), out);
            self.window_limited = true;
        }
    }

    fn send_new(&mut self, now: f64, out: &mut Output) -> bool {
        let left = self.limit.saturating_sub(self.next);
        let fin_due = self.closing && self.next <= self.limit;
        let room = (self.una + self.settings.window).saturating_sub(self.next);
        if left == 0 && !fin_due {
            self.window_limited = false;
            let pipe = self.segments(self.board.pipe());
            if let Some(rate) = &mut self.rate {
                rate.app_limited(pipe);
            }
            return false;
        }
        let payload = left.min(u64::from(self.settings.mss));
        if payload > room || (payload == 0 && room == 0) {
            // The receiver's window is full (RFC 9293, 3.8.6.2.1: no part of a segment to fill it up).
            self.window_limited = false;
            return false;
        }
        let fin = fin_due && payload == left;
        let mut bits = if fin { FIN } else { 0 };
        // RFC 3168, 6.1: new data are ECN-capable, and the first after a reduction says so.
        if self.ecn && payload > 0 {
            bits |= self.settings.feedback.capable();
            if std::mem::take(&mut self.cwr) {
                bits |= CWR;
            }
        }
        let len = payload as u32 + u32::from(fin);
        out.segments.push(Sent { seq: wrap(self.next, self.first), payload: payload as u16, bits });
        let in_flight = if self.rate.is_some() { self.in_flight() } else { 0.0 };
        if let Some(rate) = &mut self.rate {
            rate.sent(self.board.number(self.board.len()), now, in_flight);
        }
        self.board.sent(self.next, len, fin, now);
        self.sent_new = true;
        self.next += u64::from(len);
        if self.dupacks > 0 && matches!(self.phase, Phase::Open) {
            self.limited += u64::from(len);
        }
        self.after_send(now, len);
        true
    }

    /// `NextSeg` rules 3 and 4 of RFC 6675.
    fn send_perhaps_lost(&mut self, now: f64, out: &mut Output) -> bool {
        let Phase::Recovery(recovery) = &mut self.phase else { return false };
        if !self.settings.sack {
            return false;
        }
        if let Some(index) = self.board.next_hole() {
            self.send_again(now, index, true, out);
            return true;
        }
        if self.una <= recovery.rescue_from {
            return false;
        }
        recovery.rescue_from = u64::MAX;
        let Some(index) = self.board.last_hole() else { return false };
        if self.board.get(index).is_some_and(board::Record::is_resent) {
            return false;
        }
        self.send_again(now, index, true, out);
        true
    }

    fn send_again(&mut self, now: f64, index: usize, counts: bool, out: &mut Output) {
        let Some(&record) = self.board.get(index) else { return };
        if self.settings.repair_timer_restarts && index == 0 && self.reo_at == f64::INFINITY {
            self.rto_at = now + self.rto.value();
        }
        let mut bits = if record.is_fin() { FIN } else { 0 };
        // RFC 3168, 6.1.5: what is sent again is not ECN-capable.
        if self.ecn && self.settings.feedback.marks_all() {
            bits |= self.settings.feedback.capable();
        }
        out.segments.push(Sent { seq: wrap(record.start, self.first), payload: record.payload() as u16, bits });
        let in_flight = if self.rate.is_some() { self.in_flight() } else { 0.0 };
        if let Some(rate) = &mut self.rate {
            rate.sent(self.board.number(index), now, in_flight);
        }
        self.board.sent_again(index, now, counts);
        if let Some(rack) = &mut self.rack {
            rack.sent_again(record.start, now, self.reductions);
        }
        self.seen.retransmits += 1;
        self.after_send(now, record.len);
    }

    /// What samples of the rate take for in flight, segments: they begin anew with none.
    fn in_flight(&self) -> f64 {
        if self.settings.bbr.sample_start_outstanding {
            self.segments(self.board.outstanding())
        } else {
            self.segments(self.board.pipe())
        }
    }

    fn after_send(&mut self, now: f64, len: u32) {
        self.last_sent = now;
        if self.rto_at == f64::INFINITY {
            // RFC 6298, 5.1.
            self.rto_at = now + self.rto.value();
        }
        let segments = self.segments(u64::from(len));
        if let Phase::Recovery(Recovery { prr: Some(prr), .. }) = &mut self.phase {
            prr.sent(segments);
        } else if let Some(prr) = &mut self.mark_prr {
            prr.sent(segments);
        }
        if self.paces() {
            self.note_pace(now, segments);
        }
    }

    /// So many segments have been sent: when the next may go.
    fn note_pace(&mut self, now: f64, segments: f64) {
        let Some(rate) = self.pacing_rate() else { return };
        if self.settings.bbr.repair_pace_at_once && now < self.released {
            return;
        }
        self.owed += segments / rate;
        self.together += 1;
        if self.together >= self.burst(rate) {
            let late = (now - self.released).max(0.0);
            let credit = if self.settings.late_segment_made_up { late.min(self.owed / 2.0) } else { 0.0 };
            self.released = self.released.max(now) + self.owed - credit;
            (self.owed, self.together) = (0.0, 0);
        }
    }

    fn paces(&self) -> bool {
        self.settings.pacing || self.rate.is_some()
    }

    /// Segments that go at once at a rate of so many a second: one where that is slow (Linux, `bbr_min_tso_segs`).
    fn burst(&self, rate: f64) -> u32 {
        if rate * self.mss() < SLOW {
            1
        } else {
            self.settings.pacing_burst
        }
    }

    /// Segments a second. The first window goes as a burst, as there is no round-trip time of data yet. A window that
    /// proportional rate reduction has left nothing of counts as one segment: what a timer sends all the same would else
    /// have no next behind it, ever.
    fn pacing_rate(&self) -> Option<f64> {
        if let Some(rate) = self.algorithm.view().pacing_rate() {
            return Some(rate);
        }
        let srtt = self.rto.srtt().filter(|_| self.una > 1)?;
        let factor = if self.seen.cwnd < self.ssthresh / 2.0 { PACING_IN_SLOW_START } else { PACING };
        Some(factor * self.seen.cwnd.max(1.0) / srtt)
    }

    /// Whether the pace lets a segment go now; if not, says when.
    fn may_release(&mut self, now: f64) -> bool {
        if now >= self.released {
            return true;
        }
        self.pace_at = self.released;
        self.window_limited = true;
        false
    }
}

#[cfg(test)]
mod tests;
