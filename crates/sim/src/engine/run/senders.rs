//! Senders: the ACKs they process, at events or ahead of time, what they send, and their timers.
#![allow(unsafe_code)]

use super::Engine;
use crate::engine::state::order::{Hop, Key, BEHIND_SLOW_FOLD};
use crate::engine::state::routes::Action;
use crate::engine::trace::VariableChange;
use crate::events::EventQueue;
use crate::shares;
use earlydrop_net::segment::SYN;
use earlydrop_net::tcp::{Sender, Timer};
use earlydrop_net::Segment;

impl<Q: EventQueue> Engine<Q> {
    /// The sender processes an ACK, at an event or ahead of its arrival.
    #[inline(always)]
    pub(super) fn answer(&mut self, segment: Segment, key: Key) {
        self.answer_at(segment, key.now, key.scheduled, key.number);
    }

    /// The same with the parts of a [`Key`], which stay in registers.
    #[inline(never)]
    pub(super) fn answer_at(&mut self, segment: Segment, now: f64, scheduled: f64, number: u64) {
        let key = Key { now, scheduled, number };
        // SAFETY: a segment has the number of its flow.
        let Sender::Ns2(sender) = &mut unsafe { self.net.flow_unchecked(segment.flow()) }.sender else {
            return self.answer_rfc(segment, now, scheduled, number);
        };
        let opening = sender.core.ack < 0;
        let (ack, segment) = self.blocks.open(segment, segment.seq());
        sender.on_ack(key.now, ack, &mut self.out);
        self.opening -= u32::from(opening && sender.core.ack >= 0);
        if !self.round_trips.is_empty() {
            self.note_round_trip(segment, key.now);
        }
        self.flush(segment.flow(), key);
    }

    /// An ACK arrives at `now`: records the time since its segment was sent.
    #[inline(never)]
    pub(super) fn note_round_trip(&mut self, ack: Segment, now: f64) {
        let Some(entry_of) = &self.settings.entry_of else { return };
        if now >= self.settings.warmup {
            let ticks = ack.age_ticks(Segment::stamp(now, self.ticks_per_second));
            let entry = entry_of[ack.flow() as usize];
            shares::record(&mut self.round_trips[usize::from(entry)], f64::from(ticks) / self.ticks_per_second);
        }
    }

    /// Whether the sender may process an ACK ahead of its `arrival`: no other ACK comes before it, and the timer does
    /// not expire before. Never while a connection opens, which other flows must not see before its time.
    #[inline(always)]
    pub(super) fn may_answer(&self, segment: &Segment, hop: Hop) -> bool {
        // SAFETY: a segment has the number of its flow.
        let flow = unsafe { self.net.flows.get_unchecked(segment.flow() as usize) };
        hop.order & !BEHIND_SLOW_FOLD == 0
            && flow.acks_coming == 0
            && hop.arrival < flow.deadline
            && hop.arrival < self.answers_until
            && flow.sender.is_open()
    }

    /// Executes the output of the sender of `flow`.
    #[inline(always)]
    pub(super) fn flush(&mut self, flow: u32, key: Key) {
        if let Some(Timer::At(_)) = self.out.timer {
            return self.flush_rfc(flow, key.now, key.scheduled, key.number);
        }
        if !self.out.segments.is_empty() {
            let born = Segment::stamp(key.now, self.ticks_per_second);
            let route = self.net.routes.of(flow, Q::LARGE);
            // SAFETY: a flow has a route, which has a first hop.
            let (first, wire) =
                unsafe { (*self.net.steps.get_unchecked(route.place(0)), self.net.flow_unchecked(flow).wire) };
            let lane = self.net.step_of(route, 1).lane();
            for i in 0..self.out.segments.len() {
                let sent = self.out.segments[i];
                let mut size = wire;
                if sent.bits & SYN != 0 {
                    self.opening += 1;
                    size = self.specs.kind(flow).syn();
                }
                let segment = Segment::with(flow, sent.seq as i32, born, size, sent.bits);
                if first.action() == Action::Own {
                    self.send_over_own(route.fold(&first), lane, segment, key);
                } else {
                    self.arrive(route.step(first), segment, key);
                }
            }
            self.out.segments.clear();
        }
        if let Some(delay) = self.out.take_after() {
            self.arm_timer(flow, key, delay);
        }
        if !self.out.changes.is_empty() {
            self.note_changes(key.now);
        }
    }

    /// Records changes of the traced sender's variables.
    #[cold]
    pub(super) fn note_changes(&mut self, time: f64) {
        let changes = self.out.changes.drain(..);
        self.variables.extend(changes.map(|(variable, value)| VariableChange { time, variable, value }));
    }

    /// Arms the timer. Each flow has one entry in the event queue: a timer that moves to a later time is postponed when
    /// the entry is due, which saves a removal per ACK.
    #[inline(always)]
    fn arm_timer(&mut self, flow: u32, key: Key, delay: f64) {
        self.counter += 1;
        // SAFETY: the flow whose sender has answered.
        let state = unsafe { self.net.flow_unchecked(flow) };
        state.deadline = key.now + delay;
        state.armed_at = key.now;
        state.armed_cause = key.scheduled;
        state.armed_number = self.counter;
        if state.entry > state.deadline {
            self.push_timer(flow);
        }
    }

    /// Gives a timer its entry in the event queue, unless it expires after the end of the run.
    pub(super) fn push_timer(&mut self, flow: u32) {
        if self.net.flows[flow as usize].deadline >= self.net.end {
            return;
        }
        let event = self.net.flows[flow as usize].timer_event(flow);
        self.queue.push(event, 3);
    }

    pub(super) fn on_timer(&mut self, flow: usize, key: Key) {
        let state = &mut self.net.flows[flow];
        if state.entry != key.now {
            return;
        }
        state.entry = f64::INFINITY;
        if state.armed_number != key.number {
            return self.push_timer(flow as u32);
        }
        self.time_out(flow as u32, key);
    }

    /// The timer of a sender expires.
    #[inline(always)]
    pub(super) fn time_out(&mut self, flow: u32, key: Key) {
        let state = &mut self.net.flows[flow as usize];
        state.deadline = f64::INFINITY;
        if self.outside.has(flow) {
            return self.time_out_outside(flow, key);
        }
        state.sender.on_timeout(key.now, &mut self.out);
        self.renumber(flow);
        self.flush(flow, key);
    }
}
