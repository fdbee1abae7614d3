//! The steps of Careful Resume (RFC 9959), by the names of its paragraphs.

use super::Connection;
use crate::tcp::output::Output;
use crate::tcp::rfc::control::{Acked, Window};
use crate::tcp::rfc::resume::{Saved, Stage};

impl Connection {
    /// What an earlier connection between the same hosts has shown.
    pub fn remember(&mut self, saved: Saved) {
        if let Some(resume) = &mut self.resume {
            resume.remember(saved);
        }
    }

    /// What the next connection may know of this one.
    pub fn saved(&self) -> Option<Saved> {
        self.resume.as_ref()?.saved(self.rtt.min)
    }

    /// The phase of Careful Resume, if it is used.
    pub fn resume_phase(&self) -> Option<&'static str> {
        Some(match self.resume.as_ref()?.stage {
            Stage::Reconnaissance => "reconnaissance",
            Stage::Unvalidated => "unvalidated",
            Stage::Validating => "validating",
            Stage::SafeRetreat => "retreat",
            Stage::Normal => "normal",
        })
    }

    /// An ACK has delivered so many bytes; losses and growth come later.
    pub(super) fn resume_before(&mut self, now: f64, arrived: u64, info: &mut Acked, out: &mut Output) {
        let (segments, rtt) = (self.segments(arrived), self.rtt.min);
        let (una, next) = (self.una, self.next);
        let Some(resume) = &mut self.resume else { return };
        resume.observe(una, next, segments);
        if resume.stage == Stage::Reconnaissance || resume.stage == Stage::Normal {
            return;
        }
        resume.pipe_size += segments;
        let all = una >= resume.last;
        match resume.stage {
            // "Receiving acknowledgements for an unvalidated packet", or a round trip has passed.
            Stage::Unvalidated => {
                info.window_limited = false;
                if una > resume.first || now - resume.since > rtt {
                    self.validate(out);
                }
            }
            Stage::Validating if all => resume.stage = Stage::Normal,
            // "Receiving acknowledgement for all unvalidated packets": cwnd has not grown until then.
            Stage::SafeRetreat => {
                info.window_limited = false;
                if all {
                    resume.stage = Stage::Normal;
                    let ssthresh = resume.pipe_size * resume.beta;
                    self.vars.set_ssthresh(ssthresh, out);
                }
            }
            _ => {}
        }
    }

    /// The ACK has grown cwnd: the jump, once all of the initial window is acknowledged, the path is the saved one, and
    /// there is more to send than cwnd allows.
    pub(super) fn resume_after(&mut self, now: f64, out: &mut Output) {
        let initial = (self.settings.initial_window() * self.mss()) as u64;
        let (rtt, cwnd, next) = (self.rtt.min, self.vars.cwnd, self.next);
        let (pipe, flight) = (self.segments(self.scoreboard.pipe()), self.segments(self.scoreboard.outstanding()));
        let left = self.segments(self.limit().saturating_sub(next));
        let Some(resume) = &mut self.resume else { return };
        if resume.stage != Stage::Reconnaissance || self.una <= initial || pipe + left <= cwnd {
            return;
        }
        let Some(jump) = resume.jump(rtt).filter(|&jump| jump > cwnd) else {
            resume.stage = Stage::Normal;
            return;
        };
        resume.stage = Stage::Unvalidated;
        (resume.pipe_size, resume.first, resume.since) = (flight, next, now);
        resume.rate = jump / rtt;
        self.vars.set_cwnd(jump, out);
        self.pacer.on = true;
        self.pacer.released = now;
    }

    /// Sending has come to its end: in the Unvalidated Phase perhaps all that the jump allows is in flight.
    pub(super) fn note_jump_sent(&mut self, out: &mut Output) {
        let unvalidated = self.resume.as_ref().is_some_and(|resume| resume.stage == Stage::Unvalidated);
        let full = self.segments(self.scoreboard.pipe()) + 1.0 > self.vars.cwnd;
        if unvalidated && full {
            self.validate(out);
        }
    }

    /// "Limiting CWND on entry" to the Validating Phase. What the jump was not used for is no part of cwnd.
    fn validate(&mut self, out: &mut Output) {
        let (flight, next) = (self.segments(self.scoreboard.outstanding()), self.next);
        let Some(resume) = &mut self.resume else { return };
        let used = flight > resume.pipe_size;
        resume.stage = if used { Stage::Validating } else { Stage::Normal };
        resume.last = next;
        let cwnd = flight.max(resume.pipe_size);
        self.vars.set_cwnd(cwnd, out);
        self.end_jump();
    }

    fn end_jump(&mut self) {
        self.pacer.on = self.settings.pacing.on;
        self.pacer.next_at = f64::INFINITY;
    }

    /// What congestion reduces: cwnd and this flight, or PipeSize if what was sent beyond has not been validated.
    pub(super) fn congested(&self, flight: f64) -> (Window, f64) {
        let window = self.window();
        match self.resume.as_ref().filter(|resume| resume.is_at_risk()) {
            Some(resume) => (Window { cwnd: resume.pipe_size, ..window }, resume.pipe_size),
            None => (window, flight),
        }
    }

    /// Congestion has set this ssthresh. The cwnd of a retreat, if it starts one.
    pub(super) fn note_retreat(&mut self, ssthresh: f64) -> Option<f64> {
        let next = self.next;
        let retreat = self.resume.as_mut()?.retreat(ssthresh, next)?;
        self.end_jump();
        Some(retreat)
    }
}
