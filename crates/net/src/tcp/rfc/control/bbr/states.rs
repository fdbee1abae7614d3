//! BBR's states: Startup, Drain, the ProbeBW cycle, ProbeRTT.

use super::state::{Mode, MIN_CWND, PACING_GAINS, PACING_MARGIN};
use super::{Acked, Bbr, Sample, Window};

/// How long ProbeRTT lasts, s.
const PROBE_RTT_TIME: f64 = 0.2;

impl Bbr {
    /// Starts ProbeBW, in any phase but the one that drains. Flows that arrive at different times start in different
    /// phases.
    pub(super) fn enter_probe_bw(&mut self, now: f64) {
        let draw = now.to_bits().wrapping_mul(0x9e37_79b9_7f4a_7c15) >> 32;
        let phase = [0, 2, 3, 4, 5, 6, 7][(draw % 7) as usize];
        self.mode = Mode::ProbeBw { phase, since: now };
    }

    /// Advances the ProbeBW cycle.
    pub(super) fn update_cycle_phase(&mut self, ack: &Acked) {
        let Mode::ProbeBw { phase, since } = self.mode else { return };
        let full_length = ack.now - since > self.min_rtt.rtt;
        // In flight before this ACK, as in Linux.
        let in_flight = if self.rules.in_flight_at_departure {
            self.in_flight_at_departure(ack.pipe_before, ack.departs_in)
        } else {
            ack.pipe + ack.delivered
        };
        let next = match PACING_GAINS[phase] {
            _ if self.keeps_long_term_bandwidth() => full_length,
            gain if gain > 1.0 => full_length && (ack.lost > 0.0 || in_flight >= self.in_flight_target(gain)),
            gain if gain < 1.0 => full_length || in_flight <= self.in_flight_target(1.0),
            _ => full_length,
        };
        if next {
            self.mode = Mode::ProbeBw { phase: (phase + 1) % PACING_GAINS.len(), since: ack.now };
        }
    }

    pub(super) fn check_full_pipe(&mut self, ack: &Acked) {
        let app_limited = ack.rate.is_some_and(|sample| sample.app_limited);
        if !self.full_pipe.filled && self.rounds.round_start && !app_limited {
            self.full_pipe.on_round(self.btl_bw.get());
        }
    }

    pub(super) fn check_drain(&mut self, ack: &Acked) {
        if self.mode == Mode::Startup && self.full_pipe.filled {
            self.mode = Mode::Drain;
        }
        if self.mode == Mode::Drain {
            let at_departure = self.rules.in_flight_at_departure;
            let pipe = if at_departure { self.in_flight_at_departure(ack.pipe, ack.departs_in) } else { ack.pipe };
            if pipe <= self.in_flight_target(1.0) {
                self.enter_probe_bw(ack.now);
            }
        }
    }

    /// Takes in the RTT. Starts ProbeRTT when the min RTT has expired, and ends it.
    pub(super) fn update_min_rtt(&mut self, window: &mut Window, ack: &Acked) {
        let expired = self.min_rtt.update(ack);
        let idle_restart = std::mem::take(&mut self.idle_restart);
        let in_probe_rtt = matches!(self.mode, Mode::ProbeRtt { .. });
        if expired && !idle_restart && !in_probe_rtt && self.min_rtt.rtt < f64::INFINITY {
            self.save_cwnd(window);
            self.mode = Mode::ProbeRtt { until: None, round_done: false };
        }
        let Mode::ProbeRtt { until, round_done } = &mut self.mode else { return };
        match *until {
            None if ack.pipe <= MIN_CWND => {
                *until = Some(ack.now + PROBE_RTT_TIME);
                self.rounds.restart(ack);
            }
            None => {}
            Some(until) => {
                *round_done |= self.rounds.round_start;
                if *round_done && ack.now > until {
                    self.exit_probe_rtt(window, ack.now);
                }
            }
        }
    }

    pub(super) fn exit_probe_rtt(&mut self, window: &mut Window, now: f64) {
        self.min_rtt.stamp = now;
        window.cwnd = window.cwnd.max(self.recovery.prior_cwnd);
        if self.full_pipe.filled {
            self.enter_probe_bw(now);
        } else {
            self.mode = Mode::Startup;
        }
    }

    /// Takes an ACK with a sample into Linux's long-term bandwidth.
    #[inline]
    pub(super) fn sample_long_term(&mut self, ack: &Acked, sample: &Sample) {
        let in_probe_bw = matches!(self.mode, Mode::ProbeBw { .. });
        if let Some(long_term) = &mut self.long_term {
            if long_term.on_sample(ack, sample, self.rounds.round_start, in_probe_bw) {
                self.enter_probe_bw(ack.now);
            }
        }
    }

    /// Takes losses that a timer detects, and a timeout, into Linux's long-term bandwidth.
    pub(super) fn count_timer_losses(&mut self, lost: f64, timeout: bool) {
        let in_probe_bw = matches!(self.mode, Mode::ProbeBw { .. });
        self.rounds.round_start |= timeout;
        let Some(long_term) = &mut self.long_term else { return };
        long_term.on_loss(lost);
        if timeout && long_term.on_timeout(in_probe_bw) {
            let now = long_term.last_sample();
            self.enter_probe_bw(now);
        }
    }

    /// Restarts from idle at the estimated bandwidth (draft 00, `BBRHandleRestartFromIdle`; Linux, `bbr_cwnd_event`).
    pub(super) fn restart_from_idle(&mut self, window: &mut Window, now: f64) {
        self.idle_restart = true;
        self.aggregation.restart(now);
        match self.mode {
            Mode::ProbeBw { .. } => {
                self.pacing_rate = Some(self.bandwidth() * PACING_MARGIN);
            }
            Mode::ProbeRtt { until: Some(until), .. } if now > until => self.exit_probe_rtt(window, now),
            _ => {}
        }
    }
}

#[cfg(test)]
mod tests {
    use super::super::testing::{acked, full, round, started};
    use super::super::{BbrRules, Control, Idle};
    use super::*;

    #[test]
    fn an_expired_min_rtt_is_probed() {
        let (mut bbr, mut window) = started(BbrRules::default());
        for i in 0..10 {
            round(&mut bbr, &mut window, f64::from(i), 833.0);
        }
        let ack = Acked { now: 20.0, rtt: Some(0.15), srtt: 0.1, pipe: 60.0, ..acked(1.0) };
        bbr.min_rtt.stamp = 9.0;
        bbr.on_any_ack(&mut window, &ack);
        assert!(matches!(bbr.mode, Mode::ProbeRtt { .. }));
        assert_eq!((window.cwnd, bbr.min_rtt()), (4.0, 0.15));
    }

    #[test]
    fn a_restart_from_idle_is_paced_at_the_bandwidth_if_the_application_was_idle() {
        for (app_limited, rate) in [(true, 99.0), (false, 124.0)] {
            let (mut bbr, mut window) = full(BbrRules::default());
            (window.cwnd, bbr.pacing_rate) = (50.0, Some(124.0));
            bbr.mode = Mode::ProbeBw { phase: 0, since: 5.0 };
            let idle = Idle { now: 25.0, time: 12.0, app_limited };
            bbr.on_idle_send(&mut window, &idle);
            assert_eq!((bbr.pacing_rate, window.cwnd), (Some(rate), 50.0));
            // The ACK renews the min RTT, which has expired; ProbeRTT is not due, since the queue was empty.
            bbr.on_any_ack(&mut window, &Acked { now: 25.1, rtt: Some(0.2), srtt: 0.1, pipe: 40.0, ..acked(1.0) });
            assert_eq!((matches!(bbr.mode, Mode::ProbeRtt { .. }), bbr.min_rtt()), (!app_limited, 0.2));
            // A ProbeRTT that is over ends.
            (bbr.mode, bbr.recovery.prior_cwnd) = (Mode::ProbeRtt { until: Some(24.0), round_done: false }, 70.0);
            window.cwnd = 4.0;
            bbr.on_idle_send(&mut window, &idle);
            let in_probe_bw = matches!(bbr.mode, Mode::ProbeBw { .. });
            assert_eq!((in_probe_bw, window.cwnd), (app_limited, if app_limited { 70.0 } else { 4.0 }));
        }
    }
}
