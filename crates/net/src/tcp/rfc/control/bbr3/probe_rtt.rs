//! BBRv3's min RTT, and the state ProbeRTT ("ProbeRTT Logic", "Exiting ProbeRTT").

use super::state::{AckPhase, State, MIN_PIPE_CWND, PROBE_RTT_CWND_GAIN};
use super::{Acked, Bbr3, Window};

/// How long a min RTT is valid, s; after how long without a new one ProbeRTT starts; how long that lasts.
const MIN_RTT_FILTER: f64 = 10.0;
const PROBE_RTT_INTERVAL: f64 = 5.0;
const PROBE_RTT_DURATION: f64 = 0.2;

impl Bbr3 {
    /// `UpdateMinRTT`.
    pub(super) fn update_min_rtt(&mut self, ack: &Acked) {
        self.probe_rtt_expired = ack.now > self.probe_rtt_min_stamp + PROBE_RTT_INTERVAL;
        if let Some(rtt) = ack.rtt {
            if rtt < self.probe_rtt_min_delay || self.probe_rtt_expired {
                (self.probe_rtt_min_delay, self.probe_rtt_min_stamp) = (rtt, ack.now);
            }
        }
        let expired = ack.now > self.min_rtt_stamp + MIN_RTT_FILTER;
        if self.probe_rtt_min_delay < self.min_rtt || expired {
            (self.min_rtt, self.min_rtt_stamp) = (self.probe_rtt_min_delay, self.probe_rtt_min_stamp);
        }
    }

    /// `CheckProbeRTT`.
    pub(super) fn check_probe_rtt(&mut self, window: &mut Window, ack: &Acked) {
        if self.state != State::ProbeRtt && self.probe_rtt_expired && !self.idle_restart {
            self.save_cwnd(window);
            self.state = State::ProbeRtt;
            self.probe_rtt_done_stamp = None;
            self.ack_phase = AckPhase::ProbeStopping;
            self.start_round();
        }
        if self.state == State::ProbeRtt {
            self.handle_probe_rtt(window, ack);
        }
        self.idle_restart &= ack.delivered <= 0.0;
    }

    /// `HandleProbeRTT`.
    fn handle_probe_rtt(&mut self, window: &mut Window, ack: &Acked) {
        if self.probe_rtt_done_stamp.is_none() {
            if ack.pipe <= self.probe_rtt_cwnd() {
                self.probe_rtt_done_stamp = Some(ack.now + PROBE_RTT_DURATION);
                self.probe_rtt_round_done = false;
                self.start_round();
            }
            return;
        }
        self.probe_rtt_round_done |= self.round_start;
        if self.probe_rtt_round_done {
            self.check_probe_rtt_done(window);
        }
    }

    /// `CheckProbeRTTDone`, and `ExitProbeRTT`.
    pub(super) fn check_probe_rtt_done(&mut self, window: &mut Window) {
        if self.probe_rtt_done_stamp.is_none_or(|stamp| self.now <= stamp) {
            return;
        }
        self.probe_rtt_min_stamp = self.now;
        self.restore_cwnd(window);
        self.reset_short_term_model();
        if self.full_bw_reached {
            self.start_probe_bw_down();
            self.state = State::ProbeBwCruise;
        } else {
            self.state = State::Startup;
        }
    }

    /// `ProbeRTTCwnd`.
    pub(super) fn probe_rtt_cwnd(&self) -> f64 {
        self.bdp_multiple(PROBE_RTT_CWND_GAIN).max(MIN_PIPE_CWND)
    }
}
