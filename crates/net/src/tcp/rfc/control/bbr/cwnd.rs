//! BBR's cwnd: the bandwidth-delay product times a gain, with headroom; packet conservation in a recovery, after which
//! cwnd is restored (Linux, `bbr_set_cwnd`).

use super::state::{Mode, MIN_CWND};
use super::{linux, Acked, Bbr, Window};

impl Bbr {
    /// Segments in flight when the next one departs, in `departs_in` seconds, with `pipe` in flight now (Linux,
    /// `bbr_packets_in_net_at_edt`).
    pub(super) fn in_flight_at_departure(&self, pipe: f64, departs_in: f64) -> f64 {
        let delivered = (self.bandwidth() * departs_in).floor();
        let (pacing_gain, _) = self.gains();
        let sent = if pacing_gain > 1.0 { self.tso_burst() } else { 0.0 };
        (pipe + sent - delivered).max(0.0)
    }

    fn tso_burst(&self) -> f64 {
        linux::tso_burst(self.pacing_rate.unwrap_or(0.0), self.mss)
    }

    /// The bandwidth-delay product times a gain, segments; infinite without an RTT.
    pub(super) fn bdp(&self, gain: f64) -> f64 {
        if self.min_rtt.rtt == f64::INFINITY {
            return f64::INFINITY;
        }
        (gain * self.bandwidth() * self.min_rtt.rtt).ceil()
    }

    /// `cwnd` with Linux's headroom, if the rules have it.
    fn with_headroom(&self, cwnd: f64) -> f64 {
        if self.rules.quantization_budget && cwnd < f64::INFINITY {
            linux::with_quantization_budget(cwnd, self.tso_burst(), self.is_probing())
        } else {
            cwnd
        }
    }

    /// Segments in flight at which a phase with this gain ends.
    pub(super) fn in_flight_target(&self, gain: f64) -> f64 {
        self.with_headroom(self.bdp(gain))
    }

    /// cwnd at which growth ends, segments.
    fn target_cwnd(&self) -> f64 {
        let (_, gain) = self.gains();
        let aggregation = if self.full_pipe.filled { self.aggregation.headroom(self.bandwidth()) } else { 0.0 };
        self.with_headroom(self.bdp(gain) + aggregation)
    }

    /// Saves cwnd before a recovery or ProbeRTT.
    pub(super) fn save_cwnd(&mut self, window: &Window) {
        let inside = self.recovery.active || matches!(self.mode, Mode::ProbeRtt { .. });
        self.recovery.prior_cwnd = if inside { self.recovery.prior_cwnd.max(window.cwnd) } else { window.cwnd };
    }

    pub(super) fn set_cwnd(&mut self, window: &mut Window, ack: &Acked) {
        // An ACK that delivers nothing changes nothing (Linux, `bbr_set_cwnd`). Without SACK a duplicate ACK does
        // not say what it delivers.
        if ack.delivered > 0.0 || !self.sack {
            self.follow_ack(window, ack);
        }
        if matches!(self.mode, Mode::ProbeRtt { .. }) {
            window.cwnd = window.cwnd.min(MIN_CWND);
        }
    }

    fn follow_ack(&mut self, window: &mut Window, ack: &Acked) {
        if ack.lost > 0.0 {
            window.cwnd = (window.cwnd - ack.lost).max(1.0);
        }
        if self.recovery.starts(ack) {
            self.start_recovery(window, ack);
        } else if !ack.recovering && self.recovery.active {
            window.cwnd = self.recovery.exit(window.cwnd);
        }
        let target = self.target_cwnd();
        if self.recovery.packet_conservation {
            window.cwnd = window.cwnd.max(ack.pipe + ack.delivered);
        } else if !self.full_pipe.filled {
            if window.cwnd < target {
                window.cwnd += ack.delivered;
            }
        } else {
            window.cwnd = (window.cwnd + ack.delivered).min(target);
        }
        if !(self.recovery.packet_conservation && self.recovery.small_conserving_cwnd) {
            window.cwnd = window.cwnd.max(MIN_CWND);
        }
    }

    /// Starts packet conservation for a round trip.
    fn start_recovery(&mut self, window: &mut Window, ack: &Acked) {
        self.recovery.after_timeout &= !self.recovery.restarts(ack);
        self.recovery.active = true;
        window.cwnd = ack.pipe + ack.delivered;
        self.recovery.packet_conservation = true;
        self.rounds.restart(ack);
    }
}

#[cfg(test)]
mod tests {
    use super::super::testing::acked;
    use super::super::BbrRules;
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
