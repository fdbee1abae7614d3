//! Spurious losses: detection on each ACK, and undo of the reduction (Linux, `tcp_fastretrans_alert`; RFC 3522, RFC
//! 3708, RFC 5682).

use super::ack::Arrived;
use super::Connection;
use crate::tcp::output::Output;
use crate::tcp::rfc::control::Window;
use crate::tcp::rfc::recovery::Phase;
use crate::tcp::rfc::undo::Sends;
use crate::tcp::rfc::wire::Feedback;

/// Part of cwnd that ssthresh is at least after an undo (Linux, `tcp_current_ssthresh`).
const REMEMBERED: f64 = 0.75;

impl Connection {
    /// An episode of losses starts. `reduces`: it reduces cwnd, which is still as before.
    pub(super) fn start_episode(&mut self, reduces: bool) {
        let Some(undo) = &mut self.undo else { return };
        let in_flight = self.scoreboard.in_flight_again();
        let mut repeats = in_flight.div_ceil(u64::from(self.settings.mss));
        repeats += u64::from(self.detection.by_time().is_some_and(|time| time.tlp.has_repeated()));
        let before = reduces.then(|| {
            let Window { cwnd, ssthresh } = self.vars.window();
            Window { cwnd, ssthresh: ssthresh.max(REMEMBERED * cwnd) }
        });
        undo.start(self.una, repeats, before);
        if in_flight == 0 && self.scoreboard.front().is_none_or(|front| !front.is_retransmitted()) {
            undo.nothing_repeated();
        }
    }

    /// An ACK, before it shows losses: undoes what it proves spurious. `echo`: it echoes a mark.
    #[inline(never)]
    pub(super) fn undo_spurious(
        &mut self,
        advanced: u64,
        arrived: &Arrived,
        feedback: &Feedback,
        echo: bool,
        out: &mut Output,
    ) -> Sends {
        let Some(undo) = &mut self.undo else { return Sends::All };
        if echo {
            undo.prohibit();
        }
        if let Some((start, end)) = arrived.duplicate {
            let segments = (end - start).div_ceil(u64::from(self.settings.mss)).max(1);
            undo.duplicated(end, segments, u64::from(self.vars.retransmits));
        }
        let reported = undo.all_reported();
        let late = advanced > 0 && undo.original_arrived(feedback.stamp);
        let recovered = self.una >= self.recovery.point;
        match self.recovery.phase {
            // `tcp_try_undo_dsack`
            Phase::Open if reported => self.undo_reduction(false, out),
            Phase::Open => {}
            // `tcp_try_undo_recovery`
            Phase::Fast(_) if recovered && (reported || late) => self.undo_reduction(false, out),
            Phase::Fast(_) if recovered => {}
            // `tcp_try_undo_partial`
            Phase::Fast(_) if late => {
                if let Some(time) = self.detection.by_time_mut() {
                    time.rack.reordered(self.una - advanced);
                }
                if self.scoreboard.in_flight_again() > 0 {
                    return Sends::NewOnly;
                }
                self.undo_reduction(true, out);
            }
            Phase::Fast(_) if reported => self.undo_reduction(false, out),
            Phase::Fast(_) => {}
            // `tcp_try_undo_loss`
            Phase::Loss if advanced > 0 && (reported || late) => self.undo_reduction(true, out),
            Phase::Loss => {
                let bare = advanced == 0 && feedback.count == 0 && feedback.carried == 0;
                return self.undo_by_frto(advanced, arrived, bare, recovered, out);
            }
        }
        Sends::All
    }

    /// F-RTO with SACK (RFC 5682, 3.1; Linux, `tcp_process_loss`). `bare`: a duplicate ACK without SACK blocks.
    fn undo_by_frto(
        &mut self,
        advanced: u64,
        arrived: &Arrived,
        bare: bool,
        recovered: bool,
        out: &mut Output,
    ) -> Sends {
        let more = self.next < self.limit() && self.next < self.una + self.settings.receiver.window;
        let Some(undo) = self.undo.as_mut().filter(|undo| undo.frto) else { return Sends::All };
        if arrived.original {
            // Step 3b: data arrive that were not retransmitted.
            self.undo_reduction(true, out);
        } else if self.next > self.recovery.point {
            // Step 3a: the loss was real.
            undo.frto = arrived.sacked == 0 && !bare;
        } else if advanced > 0 && !recovered {
            if more {
                return Sends::Probe;
            }
            undo.frto = false;
        }
        Sends::All
    }

    /// The losses were spurious: cwnd and ssthresh are as before (RFC 9438, 4.9; Linux, `tcp_undo_cwnd_reduction`).
    /// `unmark`: no segment counts as lost.
    fn undo_reduction(&mut self, unmark: bool, out: &mut Output) {
        let timed_out = self.recovery.is_loss();
        if unmark {
            self.scoreboard.forget_losses(timed_out);
        }
        if let Some(before) = self.undo.as_mut().and_then(|undo| undo.take()) {
            let mut window = self.window();
            self.control.control().on_undo(&mut window, &before);
            self.vars.set_window(window, out);
            self.ecn.withdraw_cwr();
            // A loss or a mark may reduce cwnd again.
            self.recovery.reduced = self.una.saturating_sub(1);
        } else {
            // Nothing was reduced, but RACK's timer may have found all that was in flight lost, and cwnd follows pipe.
            self.vars.set_cwnd(self.vars.cwnd.max(1.0), out);
        }
        self.vars.undos += 1;
        self.recovery.phase = Phase::Open;
    }
}
