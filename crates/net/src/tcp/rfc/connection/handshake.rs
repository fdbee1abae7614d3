//! The handshake: SYN, SYN-ACK, its RTT sample and the agreement on ECN.

use super::state::State;
use super::Connection;
use crate::segment::SYN;
use crate::tcp::output::{Output, Sent, Variable};
use crate::tcp::rfc::wire::{wrap, Feedback};

/// Window after a timeout, segments (RFC 5681, 3.1: LW).
pub(super) const LOSS_WINDOW: f64 = 1.0;

impl Connection {
    pub(super) fn send_syn(&mut self, now: f64, out: &mut Output) {
        let bits = match self.handshake.state {
            // Not ECN-capable (RFC 3168, 6.1.1).
            State::SynReceived => SYN,
            _ => SYN | self.ecn.syn_bits(self.handshake.timeouts),
        };
        out.segments.push(Sent { seq: self.first, payload: 0, bits });
        self.vars.retransmits += u32::from(self.next > 0);
        self.next = 1;
        self.handshake.sent = now;
        self.rto_at = now + self.rtt.rto.value();
    }

    /// The timer of the SYN has expired.
    pub(super) fn on_syn_timeout(&mut self, now: f64, out: &mut Output) {
        self.handshake.timeouts += 1;
        self.vars.timeouts += 1;
        // Linux, tcp_retransmit_timer.
        if self.handshake.timeouts > self.settings.rto.syn_linear_timeouts {
            self.rtt.rto.back_off();
        }
        self.send_syn(now, out);
    }

    /// The SYN-ACK.
    pub(super) fn open(&mut self, now: f64, feedback: &Feedback, out: &mut Output) {
        if !feedback.syn || feedback.ack != wrap(1, self.first) {
            return;
        }
        let marked = self.ecn.on_syn_ack(feedback, self.handshake.timeouts);
        self.establish(now, feedback, marked, out);
        let bits = self.ecn.other_bits();
        out.segments.push(Sent { seq: wrap(1, self.first), payload: 0, bits });
        self.start_sending(now, out);
    }

    /// The SYN has been acknowledged. `marked`: it had arrived marked.
    pub(super) fn establish(&mut self, now: f64, feedback: &Feedback, marked: bool, out: &mut Output) {
        self.handshake.state = State::Established;
        self.una = 1;
        if self.settings.receiver.window_tuned {
            self.settings.receiver.window = u64::from(feedback.window);
            self.largest_window = self.settings.receiver.window;
            self.note_ack_stamp(now, feedback);
        } else if self.settings.receiver.reading.is_some() {
            self.move_edge(1, feedback);
        }
        self.vars.note(out, Variable::Ack, 0.0);
        self.rto_at = f64::INFINITY;
        let timeouts = self.handshake.timeouts;
        let stamps = self.settings.timestamps;
        if timeouts == 0 || stamps {
            let sent = if stamps { feedback.stamp } else { self.handshake.sent };
            self.sample(now - sent, out);
            if let Some(quic) = &mut self.quic {
                quic.handshake_sample(now, now - sent);
            }
            self.control.control().on_open(self.settings.initial_window(), now - sent, now);
        }
        // Linux, tcp_init_metrics: only without a sample.
        let sampled = self.settings.rto.lost_syn_sampled && stamps;
        if timeouts > 0 && !sampled {
            self.rtt.rto.syn_was_lost();
        }
        // RFC 6928, 2: the initial window survives one lost SYN, not more (RFC 5681, 3.1), nor a marked one (ECN++,
        // draft-ietf-tcpm-generalized-ecn).
        let initial = if timeouts > 1 || marked { LOSS_WINDOW } else { self.settings.initial_window() };
        self.vars.set_cwnd(initial, out);
        self.last_sent = now;
    }

    pub(super) fn start_sending(&mut self, now: f64, out: &mut Output) {
        self.note_write(0);
        self.transmit(now, out);
        self.plan_probe(now, true);
    }
}
