//! BBR's cwnd: the bandwidth-delay product times a gain, with headroom; packet conservation in a recovery, after which
//! cwnd is restored (Linux, `bbr_set_cwnd`).

use super::{ns3, Acked, Bbr, BbrRules, Mode, Ns3Recovery, Window, MIN_CWND};

/// Headroom for hosts that process segments in batches.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Headroom {
    None,
    /// Linux's quantization budget.
    Budget,
    /// ns-3's.
    Quanta,
}

impl Headroom {
    pub fn new(rules: &BbrRules) -> Self {
        match rules {
            _ if rules.ns3.quanta => Headroom::Quanta,
            _ if rules.linux.quantization_budget => Headroom::Budget,
            _ => Headroom::None,
        }
    }
}

/// A recovery, fast or after a timeout.
#[derive(Clone, Debug)]
pub struct Recovery {
    ns3: Ns3Recovery,
    /// Linux: four segments are the least outside of packet conservation alone.
    small_conserving_cwnd: bool,
    /// Linux: after a timeout a lost retransmission starts a fast recovery.
    lost_retransmission_recovers: bool,
    active: bool,
    after_timeout: bool,
    pub packet_conservation: bool,
    /// cwnd before the recovery or ProbeRTT, segments.
    pub prior_cwnd: f64,
    /// The bandwidth-delay product with headroom when Startup ended, segments.
    pub startup_bdp: Option<f64>,
}

impl Recovery {
    pub fn new(rules: &BbrRules) -> Self {
        Recovery {
            ns3: rules.ns3.recovery,
            small_conserving_cwnd: rules.linux.small_conserving_cwnd,
            lost_retransmission_recovers: rules.linux.lost_retransmission_recovers,
            active: false,
            after_timeout: false,
            packet_conservation: false,
            prior_cwnd: 0.0,
            startup_bdp: None,
        }
    }

    /// The retransmission timer has expired.
    pub fn on_timeout(&mut self) {
        (self.active, self.after_timeout) = (true, true);
    }

    /// A fast recovery starts, maybe within one after a timeout.
    fn starts(&self, ack: &Acked) -> bool {
        ack.recovering && (!self.active || self.restarts(ack))
    }

    fn restarts(&self, ack: &Acked) -> bool {
        self.lost_retransmission_recovers && self.after_timeout && !ack.timed_out
    }

    /// cwnd after the recovery.
    fn exit(&mut self, cwnd: f64) -> f64 {
        (self.active, self.packet_conservation) = (false, false);
        let timed_out = std::mem::take(&mut self.after_timeout);
        let own = self.ns3.exit_cwnd(cwnd, timed_out, self.startup_bdp);
        own.unwrap_or(cwnd.max(self.prior_cwnd))
    }

    /// Whether packet conservation sets cwnd to the packets in flight.
    fn conserves_packets(&self) -> bool {
        self.packet_conservation && !(self.after_timeout && self.ns3.grows_after_timeout)
    }
}

impl Bbr {
    /// The bandwidth-delay product times a gain, segments; infinite without an RTT.
    pub(super) fn bdp(&self, gain: f64) -> f64 {
        if self.min_rtt.rtt == f64::INFINITY {
            return f64::INFINITY;
        }
        let bdp = gain * self.bandwidth() * self.min_rtt.rtt;
        match self.headroom {
            Headroom::Quanta => ns3::with_quanta(bdp, self.is_probing()),
            _ => bdp.ceil(),
        }
    }

    /// `cwnd` with Linux's headroom, if that is what there is.
    fn with_headroom(&self, cwnd: f64) -> f64 {
        if self.headroom == Headroom::Budget && cwnd < f64::INFINITY {
            self.with_quantization_budget(cwnd)
        } else {
            cwnd
        }
    }

    /// What is in flight where a phase with this gain ends, segments.
    pub(super) fn in_flight_target(&self, gain: f64) -> f64 {
        self.with_headroom(self.bdp(gain))
    }

    /// cwnd at which growth ends, segments.
    fn target_cwnd(&self) -> f64 {
        let (_, gain) = self.gains();
        let aggregation = if self.full_pipe.filled { self.aggregation.headroom(self.bandwidth()) } else { 0.0 };
        self.with_headroom(self.bdp(gain) + aggregation)
    }

    /// Before a recovery or ProbeRTT.
    pub(super) fn save_cwnd(&mut self, window: &Window) {
        let inside = self.recovery.active || matches!(self.mode, Mode::ProbeRtt { .. });
        self.recovery.prior_cwnd = if inside { self.recovery.prior_cwnd.max(window.cwnd) } else { window.cwnd };
    }

    pub(super) fn set_cwnd(&mut self, window: &mut Window, ack: &Acked) {
        // An ACK that delivers nothing changes nothing (Linux, `bbr_set_cwnd`; ns-3). Without SACK a duplicate ACK does
        // not say what it delivers.
        if ack.delivered > 0.0 || !self.sack {
            self.follow_ack(window, ack);
        }
        if matches!(self.mode, Mode::ProbeRtt { .. }) {
            window.cwnd = window.cwnd.min(MIN_CWND);
        }
    }

    fn follow_ack(&mut self, window: &mut Window, ack: &Acked) {
        let lost = self.recovery.ns3.reduction(ack, self.recovery.after_timeout);
        if lost > 0.0 {
            window.cwnd = (window.cwnd - lost).max(1.0);
        }
        if self.recovery.starts(ack) {
            self.start_recovery(window, ack, lost);
        } else if !ack.recovering && self.recovery.active {
            window.cwnd = self.recovery.exit(window.cwnd);
        }
        let target = self.target_cwnd();
        if self.recovery.conserves_packets() {
            window.cwnd = window.cwnd.max(ack.pipe + ack.delivered);
        } else if !self.full_pipe.filled {
            let initial = ack.rate.is_some_and(|sample| sample.delivered < self.initial_window);
            if window.cwnd < target || initial {
                window.cwnd += ack.delivered;
            }
        } else if let Some(cwnd) = self.recovery.ns3.wrapped_cwnd(window.cwnd) {
            window.cwnd = cwnd;
        } else {
            window.cwnd = (window.cwnd + ack.delivered).min(target);
        }
        if !(self.recovery.packet_conservation && self.recovery.small_conserving_cwnd) {
            window.cwnd = window.cwnd.max(MIN_CWND);
        }
    }

    /// Packet conservation for a round trip; in ns-3 for the rest of the current one, which may be nothing.
    fn start_recovery(&mut self, window: &mut Window, ack: &Acked, lost: f64) {
        self.recovery.after_timeout &= !self.recovery.restarts(ack);
        self.recovery.active = true;
        window.cwnd = ack.pipe + ack.delivered;
        if self.recovery.ns3.conserves_rest_of_round {
            self.recovery.packet_conservation = !self.rounds.started_by_ack;
            window.cwnd = (window.cwnd - lost).max(1.0);
        } else {
            self.recovery.packet_conservation = true;
            self.rounds.restart(ack);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::super::testing::acked;
    use super::*;

    #[test]
    fn an_ack_that_delivers_nothing_leaves_cwnd_alone() {
        for (sack, cwnd) in [(true, 1.0), (false, MIN_CWND)] {
            let mut bbr = Bbr::new(BbrRules::default(), 1448.0, sack);
            let mut window = Window { cwnd: 1.0, ssthresh: f64::INFINITY };
            bbr.set_cwnd(&mut window, &acked(0.0));
            assert_eq!(window.cwnd, cwnd);
        }
    }
}
