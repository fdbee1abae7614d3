//! Connections with data both ways. Each is two flows: everything that one host sends is of one of them, pure ACKs
//! too. So a host has the sender of one flow and the receiver of the other.

use super::Engine;
use crate::engine::state::both_ways::endpoint;
use crate::engine::state::order::Key;
use crate::events::EventQueue;
use earlydrop_net::segment::{SACK, SYN};
use earlydrop_net::tcp::rfc::Feedback;
use earlydrop_net::tcp::sizes::ack_bytes;
use earlydrop_net::Segment;

impl<Q: EventQueue> Engine<Q> {
    /// A segment reaches its receiver, at whose host `other` has its sender.
    pub(super) fn receive_both_ways(&mut self, mut segment: Segment, other: u32, key: Key) {
        let flow = segment.flow();
        let mut ack = None;
        if segment.bits() & SACK != 0 {
            let &(feedback, born) = self.blocks.rfc.open(segment.note());
            (ack, segment) = (Some(feedback), segment.with_note(born));
        }
        let (payload, number) = ack.map_or((0, 0), |ack| (u32::from(ack.carried), ack.ack));
        let (arrived, age) = self.arrival(&segment, payload, number, key.now);
        let (sender, receiver) = (&mut self.net.flows[other as usize], &mut self.net.arrivals[flow as usize]);
        let Some(mut end) = endpoint(sender, receiver) else { return };
        let (was_open, una, bytes) = (end.sender.is_open(), end.sender.una(), end.receiver.bytes());
        let timer = end.take(&arrived, ack.as_ref(), &mut self.out);
        let in_order = end.receiver.bytes() - bytes;
        let (opens, advances) = (!was_open && end.sender.is_open(), end.sender.una() > una.max(1));
        self.opening -= u32::from(segment.bits() & SYN != 0) + u32::from(opens);
        if payload > 0 {
            self.count_payload(&segment, payload, in_order, age, key.now);
            self.note_delay(segment, key.now);
        }
        if let (Some(ack), true) = (ack.filter(|_| advances), !self.round_trips.is_empty()) {
            let echo = Segment::stamp(ack.stamp, self.ticks_per_second);
            self.note_round_trip(Segment::new(other, 0, echo, 0), key.now);
        }
        self.carry_out_both_ways(other, flow, timer, key);
    }

    /// The timer of the delayed ACK of `flow` has expired, at whose receiver's host `other` has its sender.
    pub(super) fn delayed_ack_both_ways(&mut self, flow: u32, other: u32, key: Key) {
        let (sender, receiver) = (&mut self.net.flows[other as usize], &mut self.net.arrivals[flow as usize]);
        let Some(mut end) = endpoint(sender, receiver) else { return };
        let timer = end.on_ack_timer(key.now, &mut self.out);
        self.carry_out_both_ways(other, flow, timer, key);
    }

    /// The sender of `flow` has been called, at whose host `other` has its receiver.
    pub(super) fn sent_both_ways(&mut self, flow: u32, other: u32, key: Key) {
        let (sender, receiver) = (&mut self.net.flows[flow as usize], &mut self.net.arrivals[other as usize]);
        let Some(mut end) = endpoint(sender, receiver) else { return };
        let timer = end.carry(key.now, &mut self.out);
        self.carry_out_both_ways(flow, other, timer, key);
    }

    /// Executes what the end has filled in at which `flow` has its sender and `other` its receiver. `timer`: of the
    /// delayed ACK.
    fn carry_out_both_ways(&mut self, flow: u32, other: u32, timer: Option<f64>, key: Key) {
        match timer {
            Some(wait) if wait < f64::INFINITY => self.delay_ack(Segment::new(other, 0, 0, 0), wait, key),
            Some(_) => self.cancel_delayed_ack(other),
            None => {}
        }
        let born = Segment::stamp(key.now, self.ticks_per_second);
        let acks = std::mem::take(&mut self.out.acks);
        for (i, ack) in acks.iter().enumerate() {
            let sent = self.out.segments[i];
            let syn = sent.bits & SYN != 0;
            self.opening += u32::from(syn);
            if let Some(losses) = self.losses.as_mut().filter(|_| syn || sent.payload > 0) {
                losses.sent(flow, 1);
            }
            let size = self.size_both_ways(flow, sent.payload, ack.as_ref());
            let mut segment = Segment::with(flow, sent.seq as i32, born, size, sent.bits);
            if let Some(ack) = ack {
                segment = self.blocks.rfc.keep(segment.with_bits(sent.bits | SACK), ack);
            }
            self.set_out(segment, key);
        }
        self.out.segments.clear();
        self.out.acks = acks;
        self.out.acks.clear();
        self.finish_rfc(flow, key);
    }

    /// Bytes on the wire of a segment with so much payload and this acknowledgement; without one it is the first SYN.
    fn size_both_ways(&self, flow: u32, payload: u16, ack: Option<&Feedback>) -> u16 {
        let spec = self.specs.kind(flow);
        match (ack, &spec.options.rfc) {
            (Some(ack), Some(settings)) if payload == 0 => ack_bytes(settings, ack),
            (Some(ack), _) => spec.wire - spec.payload + payload + ack.option_bytes(),
            (None, _) => spec.syn(),
        }
    }
}
