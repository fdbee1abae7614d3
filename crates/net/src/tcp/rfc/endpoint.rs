//! One end of a connection with data both ways (RFC 9293): its sender and its receiver.
//!
//! Every segment but the first SYN acknowledges what has come the other way. At an arrival the order is Linux's
//! (`tcp_rcv_established`): the data are taken in, then the acknowledgement, then new data are sent; only if there are
//! none, an ACK without data is sent or delayed.

use super::accecn::answered;
use super::connection::Connection;
use super::receiver::{Receiver, Reply};
use super::rules::Feedbacks;
use super::wire::{Arrived, Feedback};
use crate::segment::SYN;
use crate::tcp::output::Output;

/// One end of a connection with data both ways. Its calls, and [`carry`](Self::carry) after each call of the sender,
/// fill [`Output::acks`]. They return after how many seconds the timer of a delayed ACK expires (infinite: never);
/// `None` if it goes on.
pub struct Endpoint<'a> {
    /// Sender of the data that leave.
    pub sender: &'a mut Connection,
    /// Receiver of the data that come.
    pub receiver: &'a mut Receiver,
}

impl Endpoint<'_> {
    /// A segment arrives, with its acknowledgement unless it is the first SYN.
    pub fn take(&mut self, arrived: &Arrived, ack: Option<&Feedback>, out: &mut Output) -> Option<f64> {
        match ack {
            Some(ack) if ack.syn => self.take_syn_ack(arrived, ack, out),
            Some(ack) => {
                self.receiver.follow(self.sender.srtt(), self.sender.rto());
                self.receiver.note_echo(Some(ack.stamp));
                if arrived.payload == 0 {
                    self.receiver.note_stamp(arrived);
                }
                let reply = self.receiver.take(arrived);
                let told = reply.parts().0.into_iter().flatten().map(|ack| ack.option_bytes()).max();
                self.sender.leave_room(told.unwrap_or(0).max(self.receiver.option_bytes()));
                self.sender.on_feedback(arrived.now, ack, out);
                self.carry_out(arrived.now, reply, out)
            }
            None if arrived.bits & SYN != 0 => self.take_syn(arrived, out),
            None => None,
        }
    }

    /// The passive end answers a SYN; an end that is open repeats its acknowledgement (RFC 9293, 3.10.7.4).
    fn take_syn(&mut self, arrived: &Arrived, out: &mut Output) -> Option<f64> {
        if self.sender.is_open() {
            out.segments.push(self.sender.pure_ack(arrived.now));
            return self.carry(arrived.now, out);
        }
        let Reply::Now(answer) = self.receiver.take(arrived) else { return None };
        self.sender.accept(arrived.now, self.receiver.agreed(), out);
        if !out.segments.is_empty() {
            out.acks.push(Some(answer));
        }
        None
    }

    /// The active end gets the answer to its SYN.
    fn take_syn_ack(&mut self, arrived: &Arrived, ack: &Feedback, out: &mut Output) -> Option<f64> {
        let opens = !self.sender.is_open();
        self.sender.on_feedback(arrived.now, ack, out);
        if !self.sender.is_open() {
            return None;
        }
        if opens {
            self.receiver.opened(arrived, self.sender.agreed());
        }
        let timer = self.carry(arrived.now, out);
        if let (true, Feedbacks::Accecn, Some(Some(third))) = (opens, self.sender.agreed(), out.acks.first_mut()) {
            // RFC 9768, 3.2.2.1: the last ACK of the handshake tells of the SYN-ACK's ECN field.
            third.ace = answered(Feedbacks::Accecn, arrived.bits);
        }
        timer
    }

    /// The timer of a delayed ACK has expired.
    pub fn on_ack_timer(&mut self, now: f64, out: &mut Output) -> Option<f64> {
        let reply = self.receiver.on_timer(now);
        self.carry_out(now, reply, out)
    }

    /// The sender has been called: what it sends acknowledges what has arrived.
    pub fn carry(&mut self, now: f64, out: &mut Output) -> Option<f64> {
        self.carry_out(now, Reply::Nothing, out)
    }

    /// Gives the segments their acknowledgements; without segments the reply becomes pure ACKs.
    fn carry_out(&mut self, now: f64, reply: Reply, out: &mut Output) -> Option<f64> {
        if out.segments.is_empty() {
            let (acks, timer) = reply.parts();
            for ack in acks.into_iter().flatten() {
                out.segments.push(self.sender.pure_ack(now));
                out.acks.push(Some(ack));
            }
            self.sender.leave_room(self.receiver.option_bytes());
            return timer;
        }
        let mut carried = self.receiver.carried(now);
        for ack in reply.parts().0.into_iter().flatten() {
            if ack.echo != carried.echo {
                // RFC 8257, 3.2: what came before the state of marks changed has an ACK of its own, ahead of the data.
                out.segments.insert(0, self.sender.pure_ack(now));
                out.acks.push(Some(ack));
            } else if ack.duplicate {
                carried = ack;
            } else if ack.accecn.is_present() {
                carried.accecn = ack.accecn;
            }
        }
        for sent in &out.segments[out.acks.len()..] {
            out.acks.push(match sent.bits & SYN {
                0 => {
                    let ack = carried.within(self.sender.room_beside(sent.payload));
                    Some(Feedback { carried: sent.payload, ..ack })
                }
                _ => self.receiver.syn_answer(now),
            });
            if sent.payload > 0 {
                self.receiver.note_data_sent(now);
            }
            carried = carried.again();
        }
        self.sender.leave_room(self.receiver.option_bytes());
        Some(self.receiver.wait(now))
    }
}
