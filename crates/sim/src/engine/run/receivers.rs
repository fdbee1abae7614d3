//! Receivers: segments in, immediate and delayed ACKs out.

use super::Engine;
use crate::engine::state::order::Key;
use crate::events::{Event, EventQueue, Kind};
use earlydrop_net::segment::{ECE, SACK, SYN};
use earlydrop_net::tcp::ns2::{Answer, Reply};
use earlydrop_net::tcp::sizes::ACK_BYTES;
use earlydrop_net::tcp::Receiver;
use earlydrop_net::Segment;

impl<Q: EventQueue> Engine<Q> {
    /// Turns a segment that reaches its receiver, at the event of this time and number, into its ACK, unless that is
    /// delayed. (A [`Key`] would be put together in memory for every segment.)
    #[inline(always)]
    pub(super) fn receive(&mut self, segment: Segment, now: f64, scheduled: f64, number: u64) -> Option<Segment> {
        match &mut self.net.arrivals[segment.flow() as usize].receiver {
            Receiver::Ns2(receiver) if segment.bits() == 0 && receiver.is_plain() => {
                let before = receiver.next();
                let number = receiver.receive(segment.seq());
                let in_order = (receiver.next() - before) as u32;
                self.count_arrival(&segment, in_order, now);
                Some(segment.answered(number, ACK_BYTES))
            }
            _ => self.receive_slow_path(segment, now, scheduled, number),
        }
    }

    /// Counts a data segment that has reached its receiver, and the segments that are now in order.
    #[inline(always)]
    fn count_arrival(&mut self, segment: &Segment, in_order: u32, now: f64) {
        if cfg!(no_statistics) {
            return;
        }
        if now >= self.settings.warmup && now < self.settings.duration {
            let arrivals = &mut self.net.arrivals[segment.flow() as usize];
            arrivals.received += 1;
            arrivals.in_order += in_order;
            let now = Segment::stamp(now, self.ticks_per_second);
            arrivals.delay_ticks += u64::from(segment.age_ticks(now));
        }
    }

    /// Slow path of [`Engine::receive`]: SACK, delayed ACKs, a SYN, or ECN bits.
    #[inline(never)]
    fn receive_slow_path(&mut self, segment: Segment, now: f64, scheduled: f64, number: u64) -> Option<Segment> {
        let key = Key { now, scheduled, number };
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

    /// Records the payload that a segment made available in order, if rates are recorded.
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

    /// Cancels a delayed ACK, since the flow's receiver is replaced.
    pub(super) fn cancel_delayed_ack(&mut self, flow: u32) {
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

    /// The queue entry of a delayed-ACK timer is due.
    pub(super) fn on_ack_timer(&mut self, flow: u32, key: Key) {
        let timer = &mut self.ack_timers[flow as usize];
        if timer.entry != key.now {
            // A shorter delay has started since, with its own entry.
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
        self.delayed_ack(segment, key);
    }

    /// A receiver acknowledges `segment`, which it has let wait.
    #[inline(always)]
    pub(super) fn delayed_ack(&mut self, segment: Segment, key: Key) {
        let flow = segment.flow();
        let Receiver::Ns2(receiver) = &mut self.net.arrivals[flow as usize].receiver else {
            return self.send_delayed_ack(segment, key);
        };
        if let Some(answer) = receiver.on_timer() {
            let ack = self.acknowledgement(segment, &answer);
            let ack = ack.with_seq(ack.seq() + self.applications.base(flow));
            self.set_out(ack, key);
        }
    }
}
