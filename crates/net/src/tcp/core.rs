//! What the senders of the `ns2` profile share: ns-2.35 `tcp/tcp.cc`, rule for rule.
//!
//! Names follow the field; in brackets ns-2's own. Segments are numbered from 0, the SYN.

/// Length of a tick of the RTT clock, s (`tcpTick_`).
const TICK: f64 = 0.01;
/// Smallest retransmission timeout before backoff, s (`minrto_`).
pub const MIN_RTO: f64 = 0.2;
/// Largest retransmission timeout, s (`maxrto_`).
const MAX_RTO: f64 = 60.0;
/// Retransmission timeout before the first sample, s (`rtxcur_init_`).
pub const INITIAL_RTO: f64 = 3.0;
/// Congestion window once the SYN is acknowledged, segments (`windowInit_`).
const INITIAL_WINDOW: u8 = 2;

/// What the sender did last to its window (`last_cwnd_action_`).
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Action {
    /// Nothing yet.
    None,
    /// Cut it on duplicate ACKs, and recovers.
    Dupack,
    /// Cut it on a timeout.
    Timeout,
    /// Left fast recovery.
    Exited,
}

/// A traced variable of a sender, with ns-2's name.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Variable {
    /// `cwnd_`, segments.
    Cwnd,
    /// `ssthresh_`, segments.
    Ssthresh,
    /// `ack_`, highest acknowledged segment.
    Ack,
    /// `dupacks_`.
    Dupacks,
    /// `backoff_`.
    Backoff,
    /// `srtt_`, s, without its fraction bits.
    Srtt,
    /// `rttvar_`, s.
    Rttvar,
}

/// A sender's answer, filled by one call and emptied by the caller.
#[derive(Debug, Default)]
pub struct Output {
    /// Segments to send, in order.
    pub segments: Vec<i32>,
    /// The retransmission timer is (re)armed: seconds from now.
    pub timer: Option<f64>,
    /// Changes of variables, if the sender is traced.
    pub changes: Vec<(Variable, f64)>,
}

/// A sender's state. Public fields are for congestion controls and observers.
#[derive(Clone, Debug)]
pub struct Core {
    /// Congestion window, segments.
    pub cwnd: f64,
    timed_at: f64,
    rto: f64,
    clock_phase: f64,
    /// Slow start threshold, segments.
    pub ssthresh: i32,
    /// Receiver's window, segments (`window_`).
    pub window: i32,
    /// Next segment to send (`t_seqno_`).
    pub next: i32,
    /// Highest acknowledged segment (`highest_ack_`); -1 at first.
    pub ack: i32,
    /// Last ACK (`last_ack_`); differs from `ack` in SACK recovery only.
    pub last_ack: i32,
    /// Highest segment sent (`maxseq_`).
    pub max_sent: i32,
    /// Highest segment sent at the last cut.
    pub recover: i32,
    /// Duplicate ACKs in a row.
    pub dupacks: i32,
    /// Inflation of the window by duplicate ACKs (`dupwnd_`).
    pub dupwnd: i32,
    timed_seq: i32,
    srtt: i32,
    rttvar: i32,
    backoff: i32,
    /// Segments sent again (`nrexmitpack_`).
    pub retransmits: u32,
    /// Cuts of the window (`ncwndcuts_`).
    pub cuts: u32,
    /// Timeouts.
    pub timeouts: u32,
    /// Last action.
    pub action: Action,
    timing: bool,
    timer_pending: bool,
    initial_window: u8,
    /// Whether changes of variables go to [`Output::changes`].
    pub traced: bool,
}

impl Core {
    /// Nothing sent; cwnd 1 for the SYN.
    pub fn new(window: i32, clock_phase: f64) -> Self {
        Core {
            cwnd: 1.0,
            timed_at: 0.0,
            rto: INITIAL_RTO,
            clock_phase,
            ssthresh: window,
            window,
            next: 0,
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
            cuts: 0,
            timeouts: 0,
            action: Action::None,
            timing: false,
            timer_pending: false,
            initial_window: INITIAL_WINDOW,
            traced: false,
        }
    }

    #[inline(always)]
    fn note(&self, out: &mut Output, variable: Variable, value: f64) {
        if self.traced {
            out.changes.push((variable, value));
        }
    }

    /// Sets cwnd.
    #[inline(always)]
    pub fn set_cwnd(&mut self, value: f64, out: &mut Output) {
        if self.cwnd != value {
            self.cwnd = value;
            self.note(out, Variable::Cwnd, value);
        }
    }

    /// Sets ssthresh.
    #[inline(always)]
    pub fn set_ssthresh(&mut self, value: i32, out: &mut Output) {
        if self.ssthresh != value {
            self.ssthresh = value;
            self.note(out, Variable::Ssthresh, f64::from(value));
        }
    }

    /// Sets the count of duplicate ACKs.
    #[inline(always)]
    pub fn set_dupacks(&mut self, value: i32, out: &mut Output) {
        if self.dupacks != value {
            self.dupacks = value;
            self.note(out, Variable::Dupacks, f64::from(value));
        }
    }

    #[inline(always)]
    fn set_ack(&mut self, value: i32, out: &mut Output) {
        if self.ack != value {
            self.ack = value;
            self.note(out, Variable::Ack, f64::from(value));
        }
    }

    #[inline(always)]
    fn set_backoff(&mut self, value: i32, out: &mut Output) {
        if self.backoff != value {
            self.backoff = value;
            self.note(out, Variable::Backoff, f64::from(value));
        }
    }

    #[inline(always)]
    fn set_srtt(&mut self, value: i32, out: &mut Output) {
        if self.srtt != value {
            self.srtt = value;
            self.note(out, Variable::Srtt, f64::from(value >> 3) * TICK);
        }
    }

    #[inline(always)]
    fn set_rttvar(&mut self, value: i32, out: &mut Output) {
        if self.rttvar != value {
            self.rttvar = value;
            self.note(out, Variable::Rttvar, f64::from(value) * TICK / 4.0);
        }
    }

    /// Segments that may be outstanding: congestion window and its inflation, up to the receiver's window.
    #[inline(always)]
    pub fn usable_window(&self) -> i32 {
        (self.cwnd as i32).saturating_add(self.dupwnd).min(self.window)
    }

    /// The same without rounding (`windowd()`).
    #[inline(always)]
    fn usable_window_exact(&self) -> f64 {
        (self.cwnd + f64::from(self.dupwnd)).min(f64::from(self.window))
    }

    /// Sends while `usable` allows (`send_much` without a burst limit), up to segment 2^31 - 2, where a sender ends.
    #[inline(always)]
    pub fn send_much(&mut self, now: f64, usable: i32, out: &mut Output) {
        let last = self.ack.saturating_add(usable);
        while self.next <= last && self.next < i32::MAX {
            let seq = self.next;
            self.send(now, seq, out);
            self.next += 1;
        }
    }

    /// Sends one segment and minds the timer and the RTT clock (`output`).
    #[inline(always)]
    pub fn send(&mut self, now: f64, seq: i32, out: &mut Output) {
        let nothing_outstanding = self.ack == self.max_sent;
        out.segments.push(seq);
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
        if !self.timer_pending || nothing_outstanding {
            self.arm_timer(out);
        }
    }

    /// One new segment on each of the first two duplicate ACKs (RFC 3042; `send_one`).
    pub fn limited_transmit(&mut self, now: f64, out: &mut Output) {
        let in_window = self.next <= self.ack.saturating_add(self.window) && self.next < i32::MAX;
        if in_window && f64::from(self.next) <= f64::from(self.ack) + self.cwnd + f64::from(self.dupacks) {
            let seq = self.next;
            self.send(now, seq, out);
            self.next += 1;
        }
    }

    /// (Re)arms the retransmission timer.
    #[inline(always)]
    pub fn arm_timer(&mut self, out: &mut Output) {
        out.timer = Some(self.timeout());
        self.timer_pending = true;
    }

    /// Length of the timer, s. The minimum applies before the backoff (`rfc2988_`).
    #[inline(always)]
    fn timeout(&self) -> f64 {
        let base = if self.rto < MIN_RTO { MIN_RTO } else { self.rto };
        (base * f64::from(self.backoff)).clamp(2.0 * TICK, MAX_RTO)
    }

    /// Forgets the segment that is being timed.
    pub fn stop_timing(&mut self) {
        self.timing = false;
    }

    /// An ACK of new data: bookkeeping, RTT sample, timer (`newack`).
    #[inline(always)]
    pub fn acknowledge(&mut self, now: f64, ack: i32, out: &mut Output) {
        self.set_dupacks(0, out);
        self.last_ack = ack;
        self.set_ack(ack, out);
        if self.next < ack + 1 {
            self.next = ack + 1;
        }
        if self.timing && ack >= self.timed_seq {
            self.set_backoff(1, out);
            self.timing = false;
            self.sample_rtt(now, now - self.timed_at, out);
        }
        self.arm_timer(out);
    }

    /// Slow start or congestion avoidance, once for each new ACK; the SYN's ACK sets the initial window instead.
    #[inline(always)]
    pub fn grow(&mut self, out: &mut Output) {
        let grown = if self.cwnd < f64::from(self.ssthresh) { self.cwnd + 1.0 } else { self.cwnd + 1.0 / self.cwnd };
        self.set_cwnd(grown, out);
        if self.last_ack == 0 {
            self.set_cwnd(f64::from(self.initial_window), out);
        }
    }

    /// An RTT sample of `rtt` seconds, in ticks of the sender's own clock (`rtt_update`).
    fn sample_rtt(&mut self, now: f64, rtt: f64, out: &mut Output) {
        let sent = now - rtt + self.clock_phase;
        let ticks = (((rtt + sent % TICK) / TICK) as i32).max(1);
        if self.srtt == 0 {
            self.set_srtt(ticks << 3, out);
            self.set_rttvar(ticks << 1, out);
        } else {
            let error = ticks - (self.srtt >> 3);
            let srtt = self.srtt + error;
            self.set_srtt(srtt, out);
            if srtt <= 0 {
                self.set_srtt(1, out);
            }
            let rttvar = self.rttvar + error.abs() - (self.rttvar >> 2);
            self.set_rttvar(rttvar, out);
            if rttvar <= 0 {
                self.set_rttvar(1, out);
            }
        }
        // rttvar has two fraction bits and counts four times: srtt + 4 rttvar in whole ticks.
        self.rto = f64::from(((self.rttvar << 3) + self.srtt) >> 3) * TICK;
    }

    /// Halves ssthresh with the window in use; cwnd becomes that half or 1 (`slowdown`).
    pub fn cut(&mut self, to_half: bool, out: &mut Output) {
        self.cuts += 1;
        let half = self.usable_window_exact() / 2.0;
        self.set_ssthresh(half as i32, out);
        self.set_cwnd(if to_half { half } else { 1.0 }, out);
        if self.ssthresh < 2 {
            self.set_ssthresh(2, out);
        }
    }

    /// Doubles the timeout (`rtt_backoff`).
    fn back_off(&mut self, out: &mut Output) {
        if self.backoff < 64 || self.timeout() < MAX_RTO {
            self.set_backoff(self.backoff << 1, out);
        }
        if self.backoff > 8 {
            // The estimate is no longer trusted; rto itself stays until the next sample.
            self.set_rttvar(self.rttvar + (self.srtt >> 3), out);
            self.set_srtt(0, out);
        }
    }

    /// What every sender does on a timeout: cut to 1, back off, go back to the first unacknowledged segment.
    pub fn time_out(&mut self, now: f64, out: &mut Output) {
        self.timer_pending = false;
        self.timeouts += 1;
        if self.cwnd < 1.0 {
            self.set_cwnd(1.0, out);
        }
        self.recover = self.max_sent;
        if self.ack == -1 && self.initial_window > 1 {
            // A lost SYN leaves an initial window of 1 for good.
            self.initial_window = 1;
        }
        let outstanding = self.ack != self.max_sent;
        if outstanding {
            self.cut(false, out);
            self.back_off(out);
        } else {
            self.cuts += 1;
            self.set_cwnd(1.0, out);
        }
        self.arm_timer(out);
        self.next = self.ack + 1;
        self.timing = false;
        self.action = Action::Timeout;
        self.send_much(now, self.usable_window(), out);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn rtt_estimate_follows_the_integer_rules() {
        // transport: samples 0.1, 0.2, 0.1, 0.1 s at phase 0 give these (srtt, rttvar, rto) in ticks.
        let mut core = Core::new(20, 0.0);
        let mut out = Output::default();
        for (rtt, want) in [(0.1, (80, 20, 30)), (0.2, (90, 25, 36)), (0.1, (89, 20, 31)), (0.1, (88, 16, 27))] {
            // Sent at time zero, so that the clock's phase adds nothing.
            core.sample_rtt(rtt, rtt + 1e-12, &mut out);
            assert_eq!((core.srtt, core.rttvar, (core.rto / TICK).round() as i32), want);
        }
    }

    #[test]
    fn timeout_doubles_up_to_a_minute() {
        let mut core = Core::new(20, 0.0);
        let mut out = Output::default();
        let mut lengths = vec![];
        for _ in 0..8 {
            core.back_off(&mut out);
            lengths.push(core.timeout());
        }
        assert_eq!(lengths[..5], [6.0, 12.0, 24.0, 48.0, 60.0]);
        assert_eq!(lengths[7], 60.0);
    }
}
