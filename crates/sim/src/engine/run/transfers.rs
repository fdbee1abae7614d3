//! Finite transfers: their start, new connections, their completion.
//!
//! A new connection of a flow has a fresh sender and receiver, which count segments from 0. In flight, segments and
//! ACKs carry their number plus the connection's base, one beyond all numbers of the previous connection. So late
//! packets of that one are recognised and ignored. ns-2 has no such rule: a reset agent accepts late packets as its
//! own.

use super::Engine;
use crate::engine::state::applications::{Behaviour, State};
use crate::engine::state::hosts;
use crate::engine::state::link::NONE;
use crate::engine::state::net::Rare;
use crate::engine::state::order::Key;
use crate::engine::state::routes::Action;
use crate::events::{Event, EventQueue, Kind};
use earlydrop_net::segment::{REQUEST, SACK, SYN};
use earlydrop_net::source::segments;
use earlydrop_net::tcp::{Receiver, Sender};
use earlydrop_net::Segment;

/// Length of a tick of the senders' clocks, s (ns-2's `tcpTick_`).
const TICK: f64 = 0.01;

impl<Q: EventQueue> Engine<Q> {
    /// A flow starts its next transfer.
    pub(super) fn start_transfer(&mut self, flow: u32, key: Key) {
        let application = self.applications.of(flow);
        if application.bytes.is_none() {
            // The first one; later ones are drawn at the end of the previous one.
            let Some(transfers) = &mut application.transfers else { return };
            let Some(transfer) = transfers.next(&mut application.random) else { return };
            application.bytes = Some(transfer.bytes);
        }
        application.started = key.now;
        application.received = false;
        let Behaviour { request, pages, .. } = application.spec;
        let group = application.spec.group as usize;
        self.applications.groups[group].begun += u64::from(!pages);
        match request {
            None => self.serve(flow, key),
            Some((_, retry)) => {
                let application = self.applications.of(flow);
                application.state = State::Requesting;
                application.requests = application.requests.wrapping_add(1) & i32::MAX;
                application.retry = retry;
                self.ask(flow, key);
            }
        }
    }

    /// The client sends its request, on the reverse path.
    fn ask(&mut self, flow: u32, key: Key) {
        let application = self.applications.of(flow);
        let Some((bytes, _)) = application.spec.request else { return };
        let (number, retry) = (application.requests, application.retry);
        application.retry = 2.0 * retry;
        let born = Segment::stamp(key.now, self.ticks_per_second);
        let Some(receiver) = self.hop_of_receiver(flow) else { return };
        let request = Segment::new(flow, number, born, bytes).with_bits(REQUEST).at_hop(receiver + 1);
        self.set_out(request, key);
        self.counter += 1;
        let event = Segment::new(flow, number, 0, 0);
        let (time, cause) = (key.now + retry, key.scheduled.to_bits());
        self.queue.push(Event::new(time, key.now, cause, self.counter, Kind::Retry, event), 3);
    }

    /// A request has been unanswered for its retry interval.
    pub(super) fn on_retry(&mut self, event: Segment, key: Key) {
        let application = self.applications.of(event.flow());
        if application.state == State::Requesting && application.requests == event.seq() {
            self.ask(event.flow(), key);
        }
    }

    /// The hop of a flow's receiver; `None` if the time to live of its packets expires before.
    pub(super) fn hop_of_receiver(&self, flow: u32) -> Option<u8> {
        use Action::{Client, Expired};
        (0..=u8::MAX).find_map(|hop| match self.net.step(flow, usize::from(hop), Q::LARGE).action() {
            Client => Some(Some(hop)),
            Expired => Some(None),
            _ => None,
        })?
    }

    /// The sender gets the transfer's data.
    fn serve(&mut self, flow: u32, key: Key) {
        let application = self.applications.of(flow);
        application.state = State::Sending;
        let again = application.used;
        application.used = true;
        let bytes = application.bytes.unwrap_or(0);
        if again && application.spec.fresh {
            self.reconnect(flow);
        }
        let (payload, last) = (u32::from(self.specs.kind(flow).payload), self.applications.of(flow).spec.fresh);
        let wanted = segments(bytes, payload) as u32;
        let whole = self.specs.kind(flow).options.rfc.is_none();
        let application = self.applications.of(flow);
        application.segments = wanted;
        // Segments of ns-2 have one size.
        application.missing =
            if whole { 0 } else { (u64::from(wanted) * u64::from(payload)).saturating_sub(bytes) as u32 };
        let sender = &mut self.net.flows[flow as usize].sender;
        let first = sender.offer_bytes(key.now, bytes, payload, last, &mut self.out);
        self.applications.of(flow).first = Some(first);
        self.note_start_up(flow, key.now);
        self.renumber(flow);
        self.flush(flow, key);
    }

    /// Creates a new sender and receiver, whose numbers start after all in flight.
    fn reconnect(&mut self, flow: u32) {
        let state = &mut self.net.flows[flow as usize];
        if self.rare.is_empty() {
            self.rare = vec![Rare::default(); self.specs.len()];
        }
        let rare = &mut self.rare[flow as usize];
        let application = &mut self.applications.all[self.applications.of_flow[flow as usize] as usize];
        application.past.0 += state.sender.retransmits() - rare.retransmits_before;
        application.past.1 += state.sender.timeouts() - rare.timeouts_before;
        (rare.retransmits_before, rare.timeouts_before) = (0, 0);
        self.opening += u32::from(state.sender.is_open());
        if let Some(losses) = &mut self.losses {
            losses.replaced(flow, &state.sender);
        }
        let mut first = 0;
        let traced_from = match &state.sender {
            Sender::Ns2(sender) => {
                let beyond = application.base.saturating_add(sender.core.max_sent).saturating_add(2);
                // Wraps around after 10^9 segments, when no packet of the first ones is in flight.
                application.base = if beyond > i32::MAX / 2 { 0 } else { beyond };
                application.base
            }
            Sender::Rfc(connection) => {
                // Late packets of the previous connection have lower numbers than all of this one. Traces show them
                // reduced by one.
                first = connection.numbers().1.wrapping_add(1);
                1
            }
        };
        if self.applications.traced {
            application.bases.push(traced_from);
        }
        // ns-2 draws a phase for each new agent.
        let clock_phase = TICK * application.random.uniform();
        let spec = self.specs.kind(flow);
        let traced = state.sender.is_traced();
        let saved = match &state.sender {
            Sender::Rfc(connection) => connection.saved(),
            Sender::Ns2(_) => None,
        };
        state.sender = hosts::sender(spec, clock_phase, first);
        if let (Some(saved), Sender::Rfc(connection)) = (saved, &mut state.sender) {
            connection.remember(saved);
        }
        if let Sender::Ns2(sender) = &mut state.sender {
            sender.wait_for_data();
        }
        state.sender.trace(traced);
        state.deadline = f64::INFINITY;
        state.armed_number = 0;
        let mut receiver = hosts::receiver(spec, first);
        if self.watches_receivers() {
            receiver.watch();
        }
        self.net.arrivals[flow as usize].receiver = receiver;
        self.cancel_delayed_ack(flow);
    }

    /// Adds the connection's base to the numbers of the segments just sent.
    pub(super) fn renumber(&mut self, flow: u32) {
        let base = self.applications.base(flow);
        if base != 0 {
            self.out.segments.iter_mut().for_each(|sent| sent.seq = sent.seq.wrapping_add_signed(base));
        }
    }

    /// Records the time to a transfer's first data segment, once that is sent.
    fn note_start_up(&mut self, flow: u32, now: f64) {
        let highest = self.net.flows[flow as usize].sender.highest_sent();
        let application = self.applications.of(flow);
        if application.first.is_some_and(|first| first <= highest) {
            application.first = None;
            let (time, group) = (now - application.started, application.spec.group as usize);
            let start_up = &mut self.applications.groups[group].start_up;
            *start_up = (start_up.0 + time, start_up.1 + 1);
        }
    }

    /// The sender of finite transfers processes an ACK, or a request; that of media feedback.
    pub(super) fn answer_server(&mut self, segment: Segment, key: Key) {
        let flow = segment.flow();
        if self.rtp.has(flow) {
            return self.on_feedback(segment, key);
        }
        let application = self.applications.of(flow);
        if segment.bits() & REQUEST != 0 {
            // A repeated request is answered once.
            if application.state == State::Requesting && application.requests == segment.seq() {
                self.serve(flow, key);
            }
            return;
        }
        let number = segment.seq() - application.base;
        let Sender::Ns2(sender) = &mut self.net.flows[flow as usize].sender else {
            return self.answer_server_rfc(segment, key);
        };
        if (number < 0 && application.base != 0) || number > sender.core.max_sent {
            if segment.bits() & SACK != 0 {
                self.blocks.free(segment);
            }
            return;
        }
        let opening = sender.core.ack < 0;
        let (ack, segment) = self.blocks.open(segment, number);
        sender.on_ack(key.now, ack, &mut self.out);
        self.opening -= u32::from(opening && sender.core.ack >= 0);
        let finished = sender.finished();
        if !self.round_trips.is_empty() {
            self.note_round_trip(segment, key.now);
        }
        if self.applications.of(flow).first.is_some() {
            self.note_start_up(flow, key.now);
        }
        self.renumber(flow);
        self.flush(flow, key);
        self.end_if_finished(flow, finished, key);
    }

    /// The same in the RFC TCP.
    fn answer_server_rfc(&mut self, segment: Segment, key: Key) {
        let flow = segment.flow();
        self.answer_rfc(segment, key.now, key.scheduled, key.number);
        if self.applications.of(flow).first.is_some() {
            self.note_start_up(flow, key.now);
        }
        let finished = self.net.flows[flow as usize].sender.finished();
        self.end_if_finished(flow, finished, key);
    }

    /// After an ACK: the transfer may be complete.
    fn end_if_finished(&mut self, flow: u32, finished: bool, key: Key) {
        let application = self.applications.of(flow);
        if finished && application.state == State::Sending && application.spec.request.is_none() {
            if !application.spec.received {
                self.applications.completed(flow, key.now);
            }
            self.end_transfer(flow, key);
        }
    }

    /// The receiver takes a segment of a transfer, or of media; returns the immediate ACK, if there is one.
    pub(super) fn receive_client(&mut self, segment: Segment, key: Key) -> Option<Segment> {
        let flow = segment.flow();
        if self.rtp.has(flow) {
            self.receive_rtp(segment, key);
            return None;
        }
        if self.outside.has(flow) {
            self.leave(segment, key);
            return None;
        }
        if let Some(other) = self.both_ways.other(flow) {
            self.receive_both_ways(segment, other, key);
            return None;
        }
        let (max_sent, limit) = match &self.net.flows[flow as usize].sender {
            Sender::Ns2(sender) => (sender.core.max_sent, sender.core.limit),
            Sender::Rfc(connection) => {
                let limit = connection.limit();
                let ack = self.receive(segment, key.now, key.scheduled, key.number);
                let receiver = &self.net.arrivals[flow as usize].receiver;
                let complete = matches!(receiver, Receiver::Rfc(receiver) if receiver.next() >= limit);
                return self.end_if_received(flow, complete, ack, key);
            }
        };
        let base = self.applications.base(flow);
        // From a previous connection; the second case after numbers have wrapped around.
        if segment.seq() < base || segment.seq() - base > max_sent {
            self.opening -= u32::from(segment.bits() & SYN != 0);
            return None;
        }
        let ack = self.receive(segment.with_seq(segment.seq() - base), key.now, key.scheduled, key.number);
        let receiver = &self.net.arrivals[flow as usize].receiver;
        let complete = matches!(receiver, Receiver::Ns2(receiver) if receiver.next() > limit);
        let ack = ack.map(|ack| ack.with_seq(ack.seq() + base));
        self.end_if_received(flow, complete, ack, key)
    }

    /// After a segment, whose immediate ACK is `ack`: the transfer may be complete. Returns the ACK if it is still to
    /// be sent.
    fn end_if_received(&mut self, flow: u32, has_all: bool, ack: Option<Segment>, key: Key) -> Option<Segment> {
        let application = self.applications.of(flow);
        let complete = has_all && application.state == State::Sending && !application.received;
        if !complete {
            return ack;
        }
        application.received = true;
        let asked = application.spec.request.is_some();
        if !asked {
            if application.spec.received {
                self.applications.completed(flow, key.now);
            }
            return ack;
        }
        // The client goes on; the ACK is sent before its next request.
        if let Some(ack) = ack {
            self.set_out(ack, key);
        }
        self.applications.completed(flow, key.now);
        self.end_transfer(flow, key);
        None
    }

    /// After a transfer: the next one, immediately or later, if there is one.
    fn end_transfer(&mut self, flow: u32, key: Key) {
        let application = self.applications.of(flow);
        application.state = State::Idle;
        application.bytes = None;
        let (clients, fresh, asked) =
            (application.spec.clients, application.spec.fresh, application.spec.request.is_some());
        if fresh && !asked {
            // The connection is closed; its timer must not expire.
            let state = &mut self.net.flows[flow as usize];
            state.deadline = f64::INFINITY;
            state.armed_number = 0;
        }
        if clients != NONE {
            let clients = &mut self.applications.web_clients[clients as usize];
            match clients.waiting.pop_front() {
                Some((since, bytes)) => self.start_object(flow, bytes, since, key),
                None => clients.idle.push_back(flow),
            }
            let Behaviour { clients, pages, .. } = self.applications.of(flow).spec;
            if pages {
                self.plan_page(clients as usize, key);
            }
            return;
        }
        let application = self.applications.of(flow);
        let Some(transfers) = &mut application.transfers else { return };
        let Some(transfer) = transfers.next(&mut application.random) else { return };
        application.bytes = Some(transfer.bytes);
        if transfer.after > 0.0 {
            self.schedule(key.now + transfer.after, key, Kind::Start, flow);
        } else {
            self.start_transfer(flow, key);
        }
    }
}
