//! Both ends of flows of the RFC TCP: sequence numbers in bytes, ACKs with more fields, timers at absolute times.

use super::Engine;
use crate::engine::state::net::Payload;
use crate::engine::state::order::Key;
use crate::events::EventQueue;
use earlydrop_net::segment::{ECE, SACK, SYN};
use earlydrop_net::tcp::rfc::{self, Arrived, Feedback, Next, Reply};
use earlydrop_net::tcp::sizes::{ack_bytes, ACK_BYTES};
use earlydrop_net::tcp::{Receiver, Sender};
use earlydrop_net::Segment;

/// In the number of a timer's event: among events with equal times and causes it comes last, also after those of slow
/// folds. So its place does not depend on how far ahead analytic links number their packets.
const LAST: u64 = 0b111 << 61;

impl<Q: EventQueue> Engine<Q> {
    /// Executes the output of such a sender.
    #[inline(never)]
    pub(super) fn flush_rfc(&mut self, flow: u32, now: f64, scheduled: f64, number: u64) {
        self.carry_out_rfc(flow, Key { now, scheduled, number });
    }

    #[inline(always)]
    fn carry_out_rfc(&mut self, flow: u32, key: Key) {
        if let Some(other) = self.both_ways.other(flow) {
            return self.sent_both_ways(flow, other, key);
        }
        if !self.out.segments.is_empty() {
            if let Some(losses) = &mut self.losses {
                losses.sent(flow, self.out.segments.len());
            }
            let born = Segment::stamp(key.now, self.ticks_per_second);
            let header = self.net.flows[flow as usize].header;
            let route = self.net.routes.of(flow, Q::LARGE);
            let first = self.net.steps[route.place(0)];
            for i in 0..self.out.segments.len() {
                let sent = self.out.segments[i];
                let mut size = header + sent.payload;
                if sent.bits & SYN != 0 {
                    self.opening += 1;
                    size = self.specs.kind(flow).syn();
                }
                let segment = Segment::with(flow, sent.seq as i32, born, size, sent.bits);
                self.arrive(route.step(first), segment, key);
            }
            self.out.segments.clear();
        }
        self.finish_rfc(flow, key);
    }

    /// After a sender's segments: its traced variables and its timer.
    #[inline(always)]
    pub(super) fn finish_rfc(&mut self, flow: u32, key: Key) {
        if !self.out.changes.is_empty() {
            self.note_changes(key.now);
        }
        let Some(mut wake) = self.out.take_at() else { return };
        if self.small_queues {
            wake = self.or_release(flow, wake);
        }
        if wake != self.net.flows[flow as usize].deadline {
            self.arm_rfc(flow, wake, key);
        }
    }

    /// The sender is called at `wake`, unless that is infinite.
    #[inline(always)]
    pub(super) fn arm_rfc(&mut self, flow: u32, wake: f64, key: Key) {
        let state = &mut self.net.flows[flow as usize];
        state.deadline = wake;
        if wake == f64::INFINITY {
            state.armed_number = 0;
            return;
        }
        self.counter += 1;
        state.armed_at = key.now;
        state.armed_cause = key.scheduled;
        state.armed_number = LAST | self.counter;
        if state.entry > wake {
            self.push_timer(flow);
        }
    }

    /// A segment at its receiver, with so much payload and the number that it acknowledges; and its age, ticks.
    #[inline]
    pub(super) fn arrival(&self, segment: &Segment, payload: u32, ack: u32, now: f64) -> (Arrived, u32) {
        let age = segment.age_ticks(Segment::stamp(now, self.ticks_per_second));
        let stamp = now - f64::from(age) / self.ticks_per_second;
        (Arrived { seq: segment.seq() as u32, payload, bits: segment.bits(), stamp, now, ack }, age)
    }

    /// A segment reaches its receiver; returns the immediate ACK, if there is one.
    pub(super) fn receive_rfc(&mut self, segment: Segment, key: Key) -> Option<Segment> {
        let flow = segment.flow();
        let syn = segment.bits() & SYN != 0;
        let Payload { header, stamped_ack, .. } = self.payloads.of_flow[flow as usize];
        let payload = if syn { 0 } else { u32::from(segment.size().saturating_sub(header)) };
        let (arrived, age) = self.arrival(&segment, payload, 0, key.now);
        let Receiver::Rfc(receiver) = &mut self.net.arrivals[flow as usize].receiver else { return None };
        let Some(next) = receiver.take_next(&arrived) else {
            return self.receive_rfc_slow_path(segment, &arrived, age, key);
        };
        self.count_payload(&segment, payload, u64::from(payload), age, key.now);
        if self.notes_delays() {
            self.note_delay(segment, key.now);
        }
        let feedback = match next {
            Next::Now(feedback) => feedback,
            Next::Later(delay) => {
                self.delay_ack(segment, delay, key);
                return None;
            }
        };
        self.cancel_delayed_ack(flow);
        let ack = feedback.ack as i32;
        if stamped_ack > 0 {
            return Some(
                self.blocks.rfc.keep(segment.answered(ack, stamped_ack).with_bits(kept_bits(&feedback)), &feedback),
            );
        }
        // The ACK has no fields but its number and an echo.
        Some(segment.answered(ack, ACK_BYTES).with_bits(if feedback.echo { ECE } else { 0 }))
    }

    /// Slow path of [`Engine::receive_rfc`].
    #[inline(never)]
    fn receive_rfc_slow_path(&mut self, segment: Segment, arrived: &Arrived, age: u32, key: Key) -> Option<Segment> {
        let (flow, payload) = (segment.flow(), arrived.payload);
        let stamped_ack = self.payloads.of_flow[flow as usize].stamped_ack;
        let Receiver::Rfc(receiver) = &mut self.net.arrivals[flow as usize].receiver else { return None };
        if let Some(feedback) = receiver.take_beyond(arrived) {
            self.count_payload(&segment, payload, 0, age, key.now);
            if self.notes_delays() {
                self.note_delay(segment, key.now);
            }
            let size = stamped_ack.max(ACK_BYTES) + rfc::block_bytes(feedback.count);
            let ack = segment.answered(feedback.ack as i32, size).with_bits(kept_bits(&feedback));
            return Some(self.blocks.rfc.keep(ack, &feedback));
        }
        if receiver.is_tuned() {
            let Sender::Rfc(connection) = &self.net.flows[flow as usize].sender else { return None };
            receiver.note_echo(connection.echo_at(arrived.stamp));
        }
        let before = receiver.bytes();
        let reply = receiver.take(arrived);
        let in_order = receiver.bytes() - before;
        self.opening -= u32::from(segment.bits() & SYN != 0);
        if payload > 0 {
            self.count_payload(&segment, payload, in_order, age, key.now);
            self.note_delay(segment, key.now);
        }
        match reply {
            Reply::Nothing => None,
            Reply::Now(feedback) => {
                self.cancel_delayed_ack(flow);
                Some(self.feedback(segment, &feedback))
            }
            Reply::Both(first, second, delay) => {
                self.cancel_delayed_ack(flow);
                if delay < f64::INFINITY {
                    self.delay_ack(segment, delay, key);
                }
                let first = self.feedback(segment, &first);
                self.set_out(first, key);
                Some(self.feedback(segment, &second))
            }
            Reply::Later(delay) => {
                self.delay_ack(segment, delay, key);
                None
            }
            Reply::NowAndLater(feedback, delay) => {
                self.delay_ack(segment, delay, key);
                Some(self.feedback(segment, &feedback))
            }
        }
    }

    pub(super) fn count_payload(&mut self, segment: &Segment, payload: u32, in_order: u64, age: u32, now: f64) {
        if now >= self.settings.duration {
            return;
        }
        let flow = segment.flow();
        if let Some(rates) = &mut self.rates {
            rates.add(flow, now, in_order);
        }
        if now < self.settings.warmup {
            return;
        }
        let arrivals = &mut self.net.arrivals[flow as usize];
        arrivals.received += 1;
        arrivals.delay_ticks += u64::from(age);
        let counted = &mut self.payloads.of_flow[flow as usize];
        counted.in_order += in_order;
        counted.total += u64::from(payload);
    }

    /// The ACK with this `feedback` in response to `segment`.
    fn feedback(&mut self, segment: Segment, feedback: &Feedback) -> Segment {
        let Some(settings) = &self.specs.kind(segment.flow()).options.rfc else { return segment };
        let size = ack_bytes(settings, feedback);
        let ack = segment.answered(feedback.ack as i32, size).with_bits(kept_bits(feedback));
        self.blocks.rfc.keep(ack, feedback)
    }

    /// The delayed-ACK timer expires.
    pub(super) fn send_delayed_ack(&mut self, segment: Segment, key: Key) {
        if let Some(other) = self.both_ways.other(segment.flow()) {
            return self.delayed_ack_both_ways(segment.flow(), other, key);
        }
        let Receiver::Rfc(receiver) = &mut self.net.arrivals[segment.flow() as usize].receiver else { return };
        let (feedback, later) = match receiver.on_timer(key.now) {
            Reply::Now(feedback) => (Some(feedback), None),
            Reply::NowAndLater(feedback, delay) => (Some(feedback), Some(delay)),
            Reply::Later(delay) => (None, Some(delay)),
            Reply::Nothing | Reply::Both(..) => (None, None),
        };
        if let Some(delay) = later {
            self.delay_ack(segment, delay, key);
        }
        if let Some(feedback) = feedback {
            let ack = self.feedback(segment, &feedback);
            self.set_out(ack, key);
        }
    }

    /// The sender processes an ACK.
    pub(super) fn answer_rfc(&mut self, segment: Segment, now: f64, scheduled: f64, number: u64) {
        let key = Key { now, scheduled, number };
        let Sender::Rfc(connection) = &mut self.net.flows[segment.flow() as usize].sender else { return };
        let opening = !connection.is_open();
        let stamp = if segment.bits() & SACK != 0 {
            let (feedback, stamp) = self.blocks.rfc.open(segment.note());
            connection.on_feedback(key.now, feedback, &mut self.out);
            *stamp
        } else {
            let mut feedback = Feedback::new(segment.seq() as u32, 0.0);
            feedback.echo = segment.bits() & ECE != 0;
            connection.on_feedback(key.now, &feedback, &mut self.out);
            segment.note()
        };
        self.opening -= u32::from(opening && connection.is_open());
        if !self.round_trips.is_empty() {
            self.note_round_trip(segment.with_note(stamp), key.now);
        }
        self.carry_out_rfc(segment.flow(), key);
    }
}

/// Bits of an ACK whose contents are kept. The sender reads the echo there; in the bits it is for traces.
#[inline(always)]
fn kept_bits(feedback: &Feedback) -> u8 {
    SACK | if feedback.echo { ECE } else { 0 }
}
