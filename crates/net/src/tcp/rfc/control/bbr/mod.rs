//! BBR, version 1 (Cardwell et al. 2016; draft-cardwell-iccrg-bbr-congestion-control-00): paces at the bottleneck's
//! bandwidth, with a cwnd of twice the bandwidth-delay product.
//!
//! The draft is in [`state`], [`model`], [`states`] and [`cwnd`]; [`linux`] and [`aggregation`] have what Linux adds to it.

mod aggregation;
mod cwnd;
mod linux;
mod model;
mod recovery;
mod rules;
mod state;
mod states;
#[cfg(test)]
mod testing;

use super::{Acked, Control, Idle, Window};
use crate::tcp::output::Variable;
use crate::tcp::rfc::rate::Sample;
pub use rules::BbrRules;
pub use state::Bbr;
use state::{Mode, HIGH_GAIN, PACING_MARGIN};

impl Bbr {
    /// Counts rounds and takes in the rate sample.
    fn update_bandwidth(&mut self, ack: &Acked) {
        let Some(sample) = self.rounds.on_ack(ack) else { return };
        if self.rounds.started_by_ack {
            self.recovery.packet_conservation = false;
        }
        self.sample_long_term(ack, &sample);
        let Some(rate) = sample.rate else { return };
        if !sample.app_limited || rate >= self.btl_bw.get() {
            self.btl_bw.update(self.rounds.count, rate);
        }
    }

    fn set_pacing_rate(&mut self, window: &Window, ack: &Acked) {
        let (gain, _) = self.gains();
        let bandwidth = self.bandwidth();
        let rate = if bandwidth > 0.0 {
            gain * bandwidth * PACING_MARGIN
        } else {
            HIGH_GAIN * window.cwnd / if ack.srtt > 0.0 { ack.srtt } else { 1e-3 }
        };
        if self.full_pipe.filled || self.pacing_rate.is_none_or(|known| rate > known) {
            self.pacing_rate = Some(rate);
        }
    }
}

impl Control for Bbr {
    fn owns_window(&self) -> bool {
        true
    }

    fn is_app_limited(&self) -> bool {
        matches!(self.mode, Mode::ProbeRtt { .. })
    }

    fn pacing_rate(&self) -> Option<f64> {
        self.pacing_rate
    }

    fn gauges(&self, note: &mut dyn FnMut(Variable, f64)) {
        note(Variable::Bandwidth, self.bandwidth());
        note(Variable::MinRtt, self.min_rtt.rtt);
    }

    fn on_open(&mut self, _: f64, rtt: f64, now: f64) {
        if self.rules.handshake_rtt {
            (self.min_rtt.rtt, self.min_rtt.stamp) = (rtt, now);
        }
    }

    fn on_any_ack(&mut self, window: &mut Window, ack: &Acked) {
        if let Some(long_term) = &mut self.long_term {
            long_term.on_loss(ack.lost);
        }
        self.update_bandwidth(ack);
        self.aggregation.update(ack, self.rounds.round_start, self.bandwidth(), window.cwnd);
        self.update_cycle_phase(ack);
        self.check_full_pipe(ack);
        self.check_drain(ack);
        self.update_min_rtt(window, ack);
        self.set_pacing_rate(window, ack);
        self.set_cwnd(window, ack);
    }

    fn grow(&mut self, _: &mut Window, _: &Acked) {}

    fn on_loss(&mut self, window: &Window, _: f64, _: f64) -> f64 {
        self.save_cwnd(window);
        window.ssthresh
    }

    fn on_mark(&mut self, window: &Window, _: f64, _: f64) -> f64 {
        // BBR v1 does not react to marks.
        window.ssthresh
    }

    fn on_timeout(&mut self, window: &Window, _: f64, _: f64) -> f64 {
        self.save_cwnd(window);
        self.full_pipe.full_bw = 0.0;
        self.recovery.on_timeout();
        window.ssthresh
    }

    fn on_undo(&mut self, _: &mut Window, _: &Window) {
        // `bbr_undo_cwnd`: the slow-down was spurious. The end of the recovery restores cwnd.
        self.full_pipe.restart();
        if let Some(long_term) = &mut self.long_term {
            long_term.restart();
        }
    }

    fn on_idle_send(&mut self, window: &mut Window, idle: &Idle) {
        if idle.app_limited {
            self.restart_from_idle(window, idle.now);
        }
    }

    fn on_timer_loss(&mut self, lost: f64, expired: bool) {
        if self.rules.timer_losses {
            self.count_timer_losses(lost, expired);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::testing::{round, started, warm};
    use super::*;

    #[test]
    fn cwnd_and_pacing_rate_by_hand() {
        // 10 Mbit/s, 40 ms, 1500 B: 833.33 segments/s, a bandwidth-delay product of 33.3 segments.
        let mut bbr = warm(BbrRules::default());
        assert_eq!((bbr.bdp(1.0), bbr.bdp(2.0)), (34.0, 67.0));
        for (phase, mbps) in [(0, 12.375), (1, 7.425), (2, 9.9)] {
            bbr.mode = Mode::ProbeBw { phase, since: 0.0 };
            bbr.set_pacing_rate(&Window { cwnd: 67.0, ssthresh: 0.0 }, &testing::acked(1.0));
            assert!((bbr.pacing_rate.unwrap() * 12_000.0 / 1e6 - mbps).abs() < 1e-4);
        }
    }

    #[test]
    fn packet_conservation_lasts_for_a_round_trip_of_its_own() {
        let (mut bbr, mut window) = started(BbrRules::default());
        round(&mut bbr, &mut window, 0.0, 100.0);
        // A segment sent before the recovery, then one sent in it.
        for (prior_delivered, conserves) in [(50.0, true), (100.0, true), (150.0, false)] {
            let sample = Sample { rate: Some(100.0), prior_delivered, delivered: 150.0, app_limited: false };
            let ack = Acked { recovering: true, rate: Some(sample), ..testing::acked(1.0) };
            bbr.on_any_ack(&mut window, &ack);
            assert_eq!(bbr.recovery.packet_conservation, conserves, "{prior_delivered}");
        }
    }
}
