//! The sender of a connection with data both ways: the passive end of the handshake, and room for the options of the
//! acknowledgements that data carry ([`Endpoint`](crate::tcp::rfc::Endpoint)).

use super::state::State;
use super::Connection;
use crate::segment::SYN;
use crate::tcp::output::{Output, Sent};
use crate::tcp::rfc::rules::Feedbacks;
use crate::tcp::rfc::wire::{unwrap, wrap, Feedback};

impl Connection {
    /// Its data carry acknowledgements. The passive end waits for a SYN.
    pub fn make_both_ways(&mut self, passive: bool) {
        (self.fast_acks, self.fast_sending) = (false, false);
        if passive {
            self.handshake.state = State::Listen;
        }
    }

    /// A SYN has come, which agrees on this feedback of marks: answers it.
    pub fn accept(&mut self, now: f64, feedback: Feedbacks, out: &mut Output) {
        if !matches!(self.handshake.state, State::Listen | State::SynReceived) {
            return;
        }
        self.handshake.state = State::SynReceived;
        self.ecn.accept(feedback);
        self.send_syn(now, out);
        self.end_event(out);
    }

    /// The passive end: the first acknowledgement opens the connection.
    pub(super) fn open_passively(&mut self, now: f64, feedback: &Feedback, out: &mut Output) {
        if feedback.syn || unwrap(feedback.ack, self.first, 1) != Some(1) {
            return;
        }
        if feedback.carried == 0 {
            self.ecn.on_third_ack(feedback);
        }
        self.establish(now, feedback, false, out);
        self.start_sending(now, out);
    }

    /// The feedback of marks on which the handshake has agreed.
    pub fn agreed(&self) -> Feedbacks {
        self.ecn.feedback()
    }

    /// The options of acknowledgements take so many bytes of a segment's payload (Linux, `tcp_current_mss`).
    pub fn leave_room(&mut self, bytes: u16) {
        self.room = bytes;
    }

    /// Payload of a full segment that leaves now, bytes.
    pub(super) fn current_mss(&self) -> u64 {
        u64::from(self.settings.mss.saturating_sub(u32::from(self.room)).max(1))
    }

    /// Bytes for the options of the acknowledgement that a segment with this payload carries: that of accurate ECN may be
    /// longer than when the segment was made.
    pub fn room_beside(&self, payload: u16) -> u16 {
        match payload {
            0 => u16::MAX,
            _ => (self.settings.mss as u16).saturating_sub(payload),
        }
    }

    /// A pure ACK, without data, which leaves now.
    pub fn pure_ack(&mut self, now: f64) -> Sent {
        debug_assert!(self.next > 0, "after the SYN");
        self.last_pure_ack = now;
        Sent { seq: wrap(self.next, self.first), payload: 0, bits: self.ecn.other_bits() & !SYN }
    }

    /// Whether an acknowledgement that came with data tells of nothing that is not known.
    pub(super) fn is_old_news(&self, ack: u64, feedback: &Feedback) -> bool {
        feedback.carried > 0
            && ack <= self.una
            && !feedback.echo
            && !self.ecn.is_behind(feedback)
            && (feedback.count == 0 || self.scoreboard.knows(feedback))
    }
}
