//! A receive window that moves: its right edge, and probes while it is closed (RFC 9293, 3.8.6.1).

use super::Connection;
use crate::tcp::output::{Output, Sent};
use crate::tcp::rfc::wire::{wrap, Feedback, SAME_WINDOW};

impl Connection {
    /// The window of an ACK, whose right edge never moves back. Whether it is all that the ACK tells.
    pub(super) fn take_window(&mut self, now: f64, ack: u64, feedback: &Feedback, out: &mut Output) -> bool {
        let opened = self.move_edge(ack, feedback);
        let bare = ack <= self.una && feedback.count == 0;
        if !bare || !(opened || self.scoreboard.is_empty()) {
            return false;
        }
        if opened {
            self.rto_at = if self.scoreboard.is_empty() { f64::INFINITY } else { self.rto_at };
            self.transmit(now, out);
            self.plan_probe(now, false);
        }
        true
    }

    /// The right edge of an ACK's window, which the settings have from the first number on that is then not
    /// acknowledged. Whether it has moved.
    pub(super) fn move_edge(&mut self, ack: u64, feedback: &Feedback) -> bool {
        if feedback.window == SAME_WINDOW {
            return false;
        }
        let (before, edge) = (self.una + self.settings.receiver.window, ack + u64::from(feedback.window));
        self.settings.receiver.window = before.max(edge).saturating_sub(ack.max(self.una));
        if edge > before {
            self.window_probes = 0;
            self.largest_window = self.largest_window.max(u64::from(feedback.window));
        }
        edge > before
    }

    /// Starts the timer of a probe if data wait for the window with nothing outstanding.
    pub(super) fn plan_window_probe(&mut self, now: f64) {
        let waits = self.scoreboard.is_empty() && self.next < self.limit();
        if waits && self.rto_at == f64::INFINITY && self.pacer.next_at == f64::INFINITY {
            self.rto_at = now + self.window_probe_wait();
        }
    }

    /// A timeout, doubled for each probe before.
    fn window_probe_wait(&self) -> f64 {
        (self.rtt.rto.value() * f64::from(1 << self.window_probes.min(16))).min(self.rtt.rto.longest())
    }

    /// Sends an empty segment with an old number, which an ACK answers (Linux, `tcp_xmit_probe_skb`).
    pub(super) fn probe_window(&mut self, now: f64, out: &mut Output) {
        let bits = self.ecn.other_bits();
        out.segments.push(Sent { seq: wrap(self.una - 1, self.first), payload: 0, bits });
        self.window_probes += 1;
        self.rto_at = now + self.window_probe_wait();
    }
}
