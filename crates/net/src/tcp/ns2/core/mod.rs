//! What ns-2's senders have in common: ns-2.35 `tcp/tcp.cc`, rule by rule.
//!
//! Names are those that the field uses; ns-2's are in brackets. Segments are numbered from 0, the SYN. The RTT estimate
//! and the retransmission timer are in `rtt`, the setters of traced variables in `variables`.

#[cfg(test)]
mod tests;
mod variables;

use super::ack::Ack;
use crate::segment::{CWR, ECE, ECT0, SYN};

pub use super::rtt::{INITIAL_RTO, MIN_RTO, MIN_RTO_MS};
use crate::tcp::output::{Output, Sent};

/// Length of a tick of the RTT clock, s (`tcpTick_`).
pub(super) const TICK: f64 = 0.01;
/// Congestion window once the SYN is acknowledged, segments (`windowInit_`).
const INITIAL_WINDOW: u8 = 2;
/// The limit of a sender with unlimited data.
const ENDLESS: i32 = i32::MAX - 1;

/// The last change of the window (`last_cwnd_action_`).
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Action {
    /// None yet.
    None,
    /// Reduced on duplicate ACKs; in recovery.
    Dupack,
    /// Reduced on a timeout.
    Timeout,
    /// Reduced on an ECN echo.
    Ecn,
    /// Left fast recovery.
    Exited,
}

/// State of a sender. Public fields are for congestion controls and observers.
#[derive(Clone, Debug)]
pub struct Core {
    /// Congestion window, segments.
    pub cwnd: f64,
    pub(super) timed_at: f64,
    /// Retransmission timeout before backoff, at least the minimum, s.
    pub(super) rto: f64,
    pub(super) clock_phase: f64,
    /// Slow start threshold, segments.
    pub ssthresh: i32,
    /// Receiver's window (rwnd), segments (`window_`).
    pub window: i32,
    /// Next segment to send (`t_seqno_`).
    pub next: i32,
    /// Last segment of the data that the application has written (`curseq_` - 1); -1 if none.
    pub limit: i32,
    /// Highest acknowledged segment (`highest_ack_`); -1 at first.
    pub ack: i32,
    /// Last ACK (`last_ack_`); differs from `ack` in SACK recovery only.
    pub last_ack: i32,
    /// Highest segment sent (`maxseq_`).
    pub max_sent: i32,
    /// Highest segment sent at the last reduction (`recover_`).
    pub recover: i32,
    /// Duplicate ACKs in a row.
    pub dupacks: i32,
    /// Inflation of the window by duplicate ACKs, segments (`dupwnd_`).
    pub dupwnd: i32,
    pub(super) timed_seq: i32,
    pub(super) srtt: i32,
    pub(super) rttvar: i32,
    pub(super) backoff: i32,
    /// Retransmitted segments (`nrexmitpack_`).
    pub retransmits: u32,
    /// Timeouts with segments in flight.
    pub timeouts: u32,
    /// Last action.
    pub action: Action,
    pub(super) timing: bool,
    pub(super) timer_pending: bool,
    initial_window: u8,
    /// The smallest retransmission timeout, see [`Core::set_min_rto`], ms.
    pub(super) min_rto_ms: u16,
    /// Whether changes of variables are added to [`Output::changes`].
    pub traced: bool,
    /// Whether the first two duplicate ACKs send a new segment each (`singledup_`, RFC 3042).
    pub limited_transmit: bool,
    /// Bits of the next segment: ECT(0) if the sender uses ECN (`ecn_`), CWR after a reduction (`cong_action_`).
    bits: u8,
    /// Whether the receiver has answered the SYN with an echo (`ect_`).
    pub(super) ecn_agreed: bool,
    /// Whether the last ECN echo found cwnd at 1 (`ecn_backoff_`).
    pub(super) ecn_backoff: bool,
}

impl Core {
    /// Phase of the RTT clock, s.
    pub fn clock_phase(&self) -> f64 {
        self.clock_phase
    }

    /// A sender that has sent nothing; cwnd is 1 for the SYN.
    pub fn new(window: i32, clock_phase: f64) -> Self {
        Core {
            cwnd: 1.0,
            timed_at: 0.0,
            rto: INITIAL_RTO,
            clock_phase,
            ssthresh: window,
            window,
            next: 0,
            limit: ENDLESS,
            ack: -1,
            last_ack: -1,
            max_sent: -1,
            recover: 0,
            dupacks: 0,
            dupwnd: 0,
            timed_seq: -1,
            srtt: 0,
            rttvar: 4800,
            backoff: 1,
            retransmits: 0,
            timeouts: 0,
            action: Action::None,
            timing: false,
            timer_pending: false,
            initial_window: INITIAL_WINDOW,
            traced: false,
            min_rto_ms: MIN_RTO_MS,
            limited_transmit: true,
            bits: 0,
            ecn_agreed: false,
            ecn_backoff: false,
        }
    }

    /// Switches ECN on: data are ECT(0), the SYN asks for ECN.
    pub fn use_ecn(&mut self) {
        self.bits |= ECT0;
    }

    /// Whether the sender uses ECN.
    #[inline(always)]
    pub fn uses_ecn(&self) -> bool {
        self.bits & ECT0 != 0
    }

    /// The application writes `segments` more after `given`; totals above 2^31 - 2 are unlimited.
    pub(super) fn extend(&mut self, given: i32, segments: u32) {
        let more = i32::try_from(segments).unwrap_or(i32::MAX);
        self.limit = given.saturating_add(more).min(ENDLESS);
    }

    /// Usable window, segments: cwnd plus its inflation, at most the receiver's window (`window()`).
    #[inline(always)]
    pub fn usable_window(&self) -> i32 {
        // In 64 bits, where no sum overflows.
        (i64::from(self.cwnd as i32) + i64::from(self.dupwnd)).min(i64::from(self.window)) as i32
    }

    /// [`Core::usable_window`] without rounding (`windowd()`).
    #[inline(always)]
    fn usable_window_exact(&self) -> f64 {
        (self.cwnd + f64::from(self.dupwnd)).min(f64::from(self.window))
    }

    /// Sends new segments while the window and the data allow (`send_much`), at most `burst` if that is not 0.
    #[inline(always)]
    pub fn send_much(&mut self, now: f64, burst: u32, out: &mut Output) {
        let last = (i64::from(self.ack) + i64::from(self.usable_window())).min(i64::from(self.limit)) as i32;
        let mut sent = 0;
        while self.next <= last {
            let seq = self.next;
            self.send(now, seq, out);
            self.next += 1;
            sent += 1;
            if sent == burst {
                break;
            }
        }
    }

    /// Sends one segment; arms the timer and starts timing as needed (`output`).
    #[inline(always)]
    pub fn send(&mut self, now: f64, seq: i32, out: &mut Output) {
        let nothing_in_flight = self.ack == self.max_sent;
        let bits = if seq == 0 { self.syn_bits() } else { self.bits };
        self.bits &= !CWR;
        self.put(now, seq, bits, out);
        if !self.timer_pending || nothing_in_flight {
            self.arm_timer(out);
        }
    }

    /// Sends one segment; the timer is the caller's.
    #[inline(always)]
    pub(super) fn put(&mut self, now: f64, seq: i32, bits: u8, out: &mut Output) {
        out.segments.push(Sent { seq: seq as u32, payload: 0, bits });
        if seq > self.max_sent {
            self.max_sent = seq;
            if !self.timing {
                self.timing = true;
                if seq > self.timed_seq {
                    self.timed_seq = seq;
                    self.timed_at = now;
                }
            }
        } else {
            self.retransmits += 1;
        }
    }

    /// The SYN itself is not ECN-capable; ECE in it asks for ECN.
    fn syn_bits(&self) -> u8 {
        let ask = if self.uses_ecn() { ECE } else { 0 };
        SYN | ask | self.bits & CWR
    }

    /// Limited transmit: a new segment on each of the first two duplicate ACKs (RFC 3042; `send_one`).
    pub fn limited_transmit(&mut self, now: f64, out: &mut Output) {
        let in_window = self.next <= self.ack.saturating_add(self.window).min(self.limit);
        let near = f64::from(self.next) <= f64::from(self.ack) + self.cwnd + f64::from(self.dupacks);
        if self.limited_transmit && in_window && near {
            let seq = self.next;
            self.send(now, seq, out);
            self.next += 1;
        }
    }

    /// An ACK of new data: sequence numbers, RTT sample, timer (`newack`).
    #[inline(always)]
    pub fn acknowledge(&mut self, now: f64, ack: Ack, out: &mut Output) {
        self.set_dupacks(0, out);
        self.last_ack = ack.number;
        self.set_ack(ack.number, out);
        if self.next < ack.number + 1 {
            self.next = ack.number + 1;
        }
        if self.timing && ack.number >= self.timed_seq {
            // While echoes find cwnd at 1, the backoff stays.
            if !(ack.echo && self.ecn_agreed && self.ecn_backoff) {
                self.set_backoff(1, out);
                self.ecn_backoff = false;
            }
            self.timing = false;
            self.sample_rtt(now, now - self.timed_at, out);
        }
        self.arm_timer(out);
    }

    /// A partial ACK in recovery: no RTT sample, no timer (`partialnewack`).
    pub fn acknowledge_partial(&mut self, ack: i32, out: &mut Output) {
        self.last_ack = ack;
        self.set_ack(ack, out);
        if self.next < ack + 1 {
            self.next = ack + 1;
        }
        if self.timing && ack >= self.timed_seq {
            self.timing = false;
            self.set_backoff(1, out);
        }
    }

    /// An ACK of new data that grows the window (`recv_newack_helper`). The ACK of the SYN sets the initial window
    /// instead.
    #[inline(always)]
    pub fn advance(&mut self, now: f64, ack: Ack, out: &mut Output) {
        self.acknowledge(now, ack, out);
        if !(ack.echo && self.ecn_agreed) {
            self.grow(out);
        }
        if self.uses_ecn() {
            if self.ecn_agreed {
                self.ecn_backoff &= ack.echo;
            } else {
                self.ecn_agreed = ack.echo;
            }
        }
        if self.last_ack == 0 {
            self.set_initial_window(out);
        }
    }

    /// Slow start or congestion avoidance, once per new ACK.
    #[inline(always)]
    fn grow(&mut self, out: &mut Output) {
        let grown = if self.cwnd < f64::from(self.ssthresh) { self.cwnd + 1.0 } else { self.cwnd + 1.0 / self.cwnd };
        self.set_cwnd(grown, out);
    }

    /// Sets the initial window, after the SYN.
    pub fn set_initial_window(&mut self, out: &mut Output) {
        self.set_cwnd(f64::from(self.initial_window), out);
    }

    /// Responds to an ECN echo, before anything else of the ACK: halves the window once per window (`ecn`).
    #[inline(always)]
    pub fn respond_to_echo(&mut self, ack: Ack, out: &mut Output) {
        if ack.echo && self.uses_ecn() {
            self.on_echo(ack.number, out);
        }
    }

    #[inline(never)]
    fn on_echo(&mut self, number: i32, out: &mut Output) {
        if number <= self.recover && self.action != Action::Timeout {
            return;
        }
        self.recover = self.max_sent;
        self.action = Action::Ecn;
        if self.cwnd > 1.0 {
            self.ecn_backoff = false;
        } else if self.ecn_backoff {
            self.back_off(out);
        } else {
            self.ecn_backoff = true;
        }
        self.reduce(true, out);
    }

    /// Whether the third duplicate ACK may start a new recovery (`bugFix_`): not twice in a window.
    #[inline(always)]
    pub fn may_retransmit(&self) -> bool {
        self.ack > self.recover || self.ack == 0
    }

    /// Halves ssthresh from the usable window; cwnd becomes that half or 1 (`slowdown`).
    pub fn reduce(&mut self, to_half: bool, out: &mut Output) {
        let half = self.usable_window_exact() / 2.0;
        self.set_ssthresh(half as i32, out);
        self.set_cwnd(if to_half { half } else { 1.0 }, out);
        self.after_reduction(out);
    }

    /// Sets cwnd to 1; ssthresh stays.
    pub fn reduce_to_one(&mut self, out: &mut Output) {
        self.set_cwnd(1.0, out);
        self.after_reduction(out);
    }

    fn after_reduction(&mut self, out: &mut Output) {
        if self.ssthresh < 2 {
            self.set_ssthresh(2, out);
        }
        if self.uses_ecn() {
            self.bits |= CWR;
        }
    }

    /// The common part of a timeout: cwnd to 1, backoff, go back to the first unacknowledged segment.
    pub fn time_out(&mut self, out: &mut Output) {
        self.timer_pending = false;
        if self.cwnd < 1.0 {
            self.set_cwnd(1.0, out);
        }
        self.recover = self.max_sent;
        if self.ack == -1 && self.initial_window > 1 {
            // A lost SYN reduces the initial window to 1 for good.
            self.initial_window = 1;
        }
        if self.ack == self.max_sent {
            // Idle (`restart_bugfix_`). ns-2 arms the timer again; here the next segment arms it.
            self.reduce_to_one(out);
        } else {
            self.timeouts += 1;
            if self.action == Action::Ecn {
                // In recovery from an echo: ssthresh has been reduced for this window.
                self.reduce_to_one(out);
            } else {
                self.reduce(false, out);
            }
            self.back_off(out);
            self.arm_timer(out);
        }
        self.next = self.ack + 1;
        self.timing = false;
        self.action = Action::Timeout;
    }
}
