//! The receiver of a connection with data both ways: segments that leave carry its ACKs
//! ([`Endpoint`](crate::tcp::rfc::Endpoint)).

use super::Receiver;
use crate::segment::CE;
use crate::tcp::rfc::accecn::Counters;
use crate::tcp::rfc::header::block_bytes;
use crate::tcp::rfc::rules::Feedbacks;
use crate::tcp::rfc::wire::{unwrap, Arrived, Feedback, ROUNDED};

impl Receiver {
    /// For the end that sent the first SYN: the answer has come, and agrees on this feedback.
    pub fn opened(&mut self, syn_ack: &Arrived, feedback: Feedbacks) {
        (self.next, self.acked, self.recent) = (1, 1, syn_ack.stamp);
        self.settings.feedback = feedback;
        self.ecn = feedback != Feedbacks::None;
        if feedback == Feedbacks::Accecn {
            let mut counters = Box::new(Counters::new());
            counters.count(syn_ack.bits & CE, 0);
            self.counters = Some(counters);
        }
        if let Some(reader) = &mut self.reader {
            reader.open(syn_ack.now);
        }
    }

    /// The feedback on which the handshake has agreed.
    pub fn agreed(&self) -> Feedbacks {
        self.settings.feedback
    }

    /// An empty segment comes: its time stamp (RFC 7323, 4.3 (2)), rounded down, so that data of the same time are not older.
    pub fn note_stamp(&mut self, arrived: &Arrived) {
        let start = unwrap(arrived.seq, self.settings.first, self.next);
        let stamp = arrived.stamp - ROUNDED;
        if start.is_some_and(|start| start <= self.acked) && stamp >= self.recent {
            self.recent = stamp;
        }
    }

    /// Takes over RTT and timeout of the end's own data, s, as far as they are known.
    pub fn follow(&mut self, rtt: Option<f64>, rto: f64) {
        if let Some(rtt) = rtt {
            self.policy.follow(rtt, rto);
        }
    }

    /// The SYN-ACK once more; `None` before the SYN.
    pub fn syn_answer(&mut self, now: f64) -> Option<Feedback> {
        self.read(now);
        (self.next > 0).then(|| self.answer_syn())
    }

    /// Bytes of the options of an ACK that is sent now, beside time stamps.
    pub fn option_bytes(&self) -> u16 {
        let count = self.beyond.len().min(usize::from(self.settings.blocks)) as u8;
        let Some(counters) = &self.counters else { return block_bytes(count) };
        let mut ack = Feedback { count, ..Feedback::new(0, 0.0) };
        counters.clone().add_option(&mut ack, self.settings.timestamps);
        ack.option_bytes()
    }

    /// The ACK that data leaving now carry.
    pub fn carried(&mut self, now: f64) -> Feedback {
        self.read(now);
        // Segments that came as one are acknowledged with it.
        self.flush(now);
        self.note_ack_at(f64::INFINITY);
        self.policy.on_carried();
        self.answer(self.one_way, None, (self.next, self.next))
    }

    /// Data have been sent.
    pub fn note_data_sent(&mut self, now: f64) {
        self.policy.on_data_sent(now);
    }

    /// After how many seconds the timer expires; infinite: never.
    pub fn wait(&self, now: f64) -> f64 {
        self.reply(now, None, None).parts().1.unwrap_or(f64::INFINITY)
    }
}
