//! Receivers: segments in, ACKs out, some of them late.

use super::Engine;
use crate::engine::state::order::Key;
use crate::events::{Event, EventQueue, Kind};
use earlydrop_net::segment::{ECE, SACK, SYN};
use earlydrop_net::tcp::ns2::{Answer, Reply};
use earlydrop_net::tcp::sizes::ACK_BYTES;
use earlydrop_net::tcp::Receiver;
use earlydrop_net::Segment;

impl<Q: EventQueue> Engine<Q> {
    /// Turns a segment that reaches its receiver into the ACK that leaves it, unless that waits.
    #[inline(always)]
    pub(super) fn receive(&mut self, segment: Segment, key: Key) -> Option<Segment> {
        match &mut self.net.arrivals[segment.flow() as usize].receiver {
            Receiver::Ns2(receiver) if segment.bits() == 0 && receiver.is_plain() => {
                let before = receiver.next();
                let number = receiver.receive(segment.seq());
                let in_order = (receiver.next() - before) as u32;
                self.count_arrival(&segment, in_order, key.now);
                Some(segment.answered(number, ACK_BYTES))
            }
            _ => self.receive_specially(segment, key),
        }
    }

    /// Counts a segment with payload that has reached its receiver, and the segments that are in order with it.
    #[inline(always)]
    fn count_arrival(&mut self, segment: &Segment, in_order: u32, now: f64) {
        if now >= self.settings.warmup && now < self.settings.duration {
            let arrivals = &mut self.net.arrivals[segment.flow() as usize];
            arrivals.received += 1;
            arrivals.in_order += in_order;
            let now = Segment::stamp(now, self.ticks_per_second);
            arrivals.delay_ticks += u64::from(segment.age_ticks(now));
        }
    }

    /// As [`Engine::receive`], where the receiver reports blocks or delays ACKs, or the segment is a SYN or has ECN bits.
    #[inline(never)]
    fn receive_specially(&mut self, segment: Segment, key: Key) -> Option<Segment> {
        match self.net.arrivals[segment.flow() as usize].receiver {
            Receiver::Rfc(_) => self.receive_rfc(segment, key),
            Receiver::Ns2(_) => self.receive_reporting(segment, key),
        }
    }

    #[inline(never)]
    fn receive_reporting(&mut self, segment: Segment, key: Key) -> Option<Segment> {
        let Receiver::Ns2(receiver) = &mut self.net.arrivals[segment.flow() as usize].receiver else { return None };
        let before = receiver.next();
        let reply = receiver.take(segment.seq(), segment.bits());
        let in_order = (receiver.next() - before) as u32;
        if segment.bits() & SYN != 0 {
            self.opening -= 1;
        } else {
            self.count_arrival(&segment, in_order, key.now);
            self.note_delivery(&segment, in_order, key.now);
            self.note_delay(segment, key.now);
        }
        match reply {
            Reply::Now(answer) => {
                if let Some(timer) = self.ack_timers.get_mut(segment.flow() as usize) {
                    timer.deadline = f64::INFINITY;
                }
                Some(self.acknowledgement(segment, &answer))
            }
            Reply::Later(delay) => {
                self.delay_ack(segment, delay, key);
                None
            }
        }
    }

    /// If rates are recorded: the payload that a segment made available in order.
    #[inline(never)]
    fn note_delivery(&mut self, segment: &Segment, in_order: u32, now: f64) {
        let Some(rates) = &mut self.rates else { return };
        if now < self.settings.duration {
            let flow = segment.flow();
            rates.add(flow, now, u64::from(in_order) * u64::from(self.specs.kind(flow).payload));
        }
    }

    fn acknowledgement(&mut self, segment: Segment, answer: &Answer) -> Segment {
        let blocks = answer.blocks.as_slice().len() as u16;
        let ack = segment.answered(answer.number, ACK_BYTES + 8 * blocks);
        let echo = if answer.echo { ECE } else { 0 };
        if blocks == 0 {
            return ack.with_bits(echo);
        }
        self.blocks.keep(ack.with_bits(echo | SACK), answer.blocks)
    }

    pub(super) fn delay_ack(&mut self, segment: Segment, delay: f64, key: Key) {
        self.counter += 1;
        let flow = segment.flow();
        let timer = &mut self.ack_timers[flow as usize];
        timer.segment = segment;
        timer.deadline = key.now + delay;
        timer.armed = key;
        timer.number = self.counter;
        if timer.entry > timer.deadline {
            self.push_ack_timer(flow);
        }
    }

    /// A flow's receiver has been replaced: nothing waits any more.
    pub(super) fn forget_ack(&mut self, flow: u32) {
        if let Some(timer) = self.ack_timers.get_mut(flow as usize) {
            timer.deadline = f64::INFINITY;
        }
    }

    fn push_ack_timer(&mut self, flow: u32) {
        let timer = &mut self.ack_timers[flow as usize];
        timer.entry = timer.deadline;
        let (at, cause) = (timer.armed.now, timer.armed.scheduled.to_bits());
        let event = Event::new(timer.deadline, at, cause, timer.number, Kind::AckTimer, Segment::new(flow, 0, 0, 0));
        self.queue.push(event, 3);
    }

    /// The entry of a receiver's timer comes up.
    pub(super) fn on_ack_timer(&mut self, flow: u32, key: Key) {
        let timer = &mut self.ack_timers[flow as usize];
        if timer.entry != key.now {
            // A shorter wait has begun since, and has an entry of its own.
            return;
        }
        timer.entry = f64::INFINITY;
        if timer.deadline == f64::INFINITY {
            return;
        }
        if timer.number != key.number {
            self.push_ack_timer(flow);
            return;
        }
        timer.deadline = f64::INFINITY;
        let segment = timer.segment;
        let Receiver::Ns2(receiver) = &mut self.net.arrivals[flow as usize].receiver else {
            return self.answer_late(segment, key);
        };
        if let Some(answer) = receiver.on_timer() {
            let ack = self.acknowledgement(segment, &answer);
            let ack = ack.with_seq(ack.seq() + self.applications.base(flow));
            self.set_out(ack, key);
        }
    }
}
