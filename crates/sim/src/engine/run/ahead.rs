//! Hosts ahead of time: what reaches a host of one flow, and its timers before that, it processes as soon as the arrival
//! is known (`docs/engine.md`, "Hosts ahead of time").

use super::analytic::arrival;
use super::Engine;
use crate::engine::state::order::{Hop, Key};
use crate::events::EventQueue;
use earlydrop_net::Segment;

/// What waits for its time: at the receiver, and at the sender.
pub(super) const DATA: usize = 0;
pub(super) const ACKS: usize = 1;

impl<Q: EventQueue> Engine<Q> {
    /// Whether the receiver of `flow` may process a segment now that arrives by `hop`: nothing waits before it, and the
    /// measured window starts or ends on the same side of both times. Its timer runs first if it expires before.
    #[inline(always)]
    pub(super) fn receiver_reaches(&mut self, flow: u32, hop: Hop) -> bool {
        self.waiting[flow as usize][DATA].is_empty() && self.receiver_may(flow, hop)
    }

    #[inline(always)]
    fn receiver_may(&mut self, flow: u32, hop: Hop) -> bool {
        if hop.arrival >= self.answers_until {
            return false;
        }
        while let Some(timer) = self.ack_timers.get(flow as usize) {
            if hop.arrival <= timer.deadline {
                return hop.arrival < timer.deadline;
            }
            self.expire_ack_timer(flow);
        }
        true
    }

    /// The delayed-ACK timer of a receiver expires ahead of time. Its entry in the event queue stays, and finds it moved.
    #[inline(never)]
    fn expire_ack_timer(&mut self, flow: u32) {
        let timer = &mut self.ack_timers[flow as usize];
        let key = Key { now: timer.deadline, scheduled: timer.armed.now, number: timer.number };
        timer.deadline = f64::INFINITY;
        let segment = timer.segment;
        self.delayed_ack(segment, key);
    }

    /// The same for the sender and an ACK.
    #[inline(always)]
    pub(super) fn sender_reaches(&mut self, flow: u32, hop: Hop) -> bool {
        self.waiting[flow as usize][ACKS].is_empty() && self.sender_may(flow, hop)
    }

    #[inline(always)]
    fn sender_may(&mut self, flow: u32, hop: Hop) -> bool {
        if hop.arrival >= self.answers_until || !self.net.flows[flow as usize].sender.is_open() {
            return false;
        }
        while self.net.flows[flow as usize].deadline < hop.arrival {
            self.expire_timer(flow);
        }
        hop.arrival < self.net.flows[flow as usize].deadline
    }

    /// The timer of a sender expires ahead of time.
    #[inline(never)]
    fn expire_timer(&mut self, flow: u32) {
        let state = &self.net.flows[flow as usize];
        let key = Key { now: state.deadline, scheduled: state.armed_at, number: state.armed_number };
        self.time_out(flow, key);
    }

    /// A segment waits for its time of arrival. One event, of the first that waits, is enough.
    #[inline(never)]
    pub(super) fn keep_waiting(&mut self, segment: Segment, hop: Hop, side: usize) {
        self.counter += 1;
        let event = arrival(segment, hop, self.counter);
        let waiting = &mut self.waiting[segment.flow() as usize][side];
        waiting.push_back(event);
        if waiting.len() == 1 {
            self.queue.push(event, 3);
        }
    }

    /// The first that waits has come: it is processed, and those behind it that need not wait any longer.
    #[inline(never)]
    pub(super) fn catch_up(&mut self, flow: u32, side: usize) {
        let mark = self.mark & !self.counter;
        self.counter += mark;
        let mut comes = true;
        while let Some(&event) = self.waiting[flow as usize][side].front() {
            let (arrival, start) = (f64::from_bits(event.time), f64::from_bits(event.scheduled));
            let hop = Hop { arrival, start, cause: f64::from_bits(event.cause), order: 0 };
            let may = comes || if side == DATA { self.receiver_may(flow, hop) } else { self.sender_may(flow, hop) };
            if !may {
                self.queue.push(event, 3);
                break;
            }
            comes = false;
            self.waiting[flow as usize][side].pop_front();
            if side == ACKS {
                self.answer(event.segment, Key { now: arrival, scheduled: start, number: event.number });
            } else if let Some(ack) = self.receive(event.segment, arrival, start, event.number) {
                self.forward_from(ack, arrival, start, 0.0);
            }
        }
        self.counter -= mark;
    }
}
