//! Undo of a loss recovery that was spurious ("Updating the Model Upon Detecting a Spurious Loss Recovery").

use super::state::{Saved, State};
use super::{Bbr3, Window};

impl Bbr3 {
    /// `SaveStateUponLoss`, without cwnd.
    pub(super) fn save_state_upon_loss(&mut self) {
        self.saved = Saved {
            state: None,
            bw_shortterm: self.bw_shortterm,
            inflight_shortterm: self.inflight_shortterm,
            inflight_longterm: self.inflight_longterm,
        };
    }

    /// `HandleSpuriousLossDetection`.
    pub(super) fn handle_spurious_loss_detection(&mut self, window: &mut Window) {
        self.recovering = false;
        self.restore_cwnd(window);
        self.is_loss_in_round = false;
        self.reset_full_bw(0.0);
        let saved = std::mem::take(&mut self.saved);
        self.bw_shortterm = self.bw_shortterm.max(saved.bw_shortterm);
        self.inflight_shortterm = self.inflight_shortterm.max(saved.inflight_shortterm);
        self.inflight_longterm = self.inflight_longterm.max(saved.inflight_longterm);
        match saved.state {
            Some(State::Startup) if self.state != State::Startup => {
                self.full_bw_reached = false;
                if self.state != State::ProbeRtt {
                    self.state = State::Startup;
                }
            }
            Some(State::ProbeBwUp) if self.state != State::ProbeBwUp && self.state != State::ProbeRtt => {
                self.start_probe_bw_refill();
            }
            _ => {}
        }
    }
}
