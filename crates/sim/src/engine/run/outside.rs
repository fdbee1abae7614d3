//! Hosts outside of the engine: their datagrams and timers, and a run that stops when they are concerned.

use super::Engine;
use crate::engine::state::order::Key;
use crate::engine::state::outside::{Ending, Happening, Told};
use crate::engine::state::packets::unpacked;
use crate::events::EventQueue;
use earlydrop_aqm::{Ecn, Packet};
use earlydrop_net::Segment;

/// Flow, number in the flow, and place.
fn ids(segment: &Segment) -> (u32, u32, u32) {
    (segment.flow(), segment.seq() as u32, segment.note())
}

impl<Q: EventQueue> Engine<Q> {
    /// Runs events before `time`, s, until a host outside is concerned; `None` if none is.
    pub fn run_to_happening(&mut self, time: f64) -> Option<Happening> {
        if let Some(happening) = self.outside.take() {
            return Some(happening);
        }
        let end = time.min(self.settings.duration);
        self.end = end;
        let until = end.max(0.0).to_bits();
        while let Some(event) = self.queue.pop_before(until, &mut self.net) {
            self.carry_out(event);
            if self.outside.is_ready() {
                return self.outside.take();
            }
        }
        self.outside.key.now = f64::NAN;
        None
    }

    /// A host outside sends a datagram of `flow` at `now`, s: in the call of the last happening, if that is of this time
    /// and the run has not gone on, else after all events at `now`.
    pub fn send_from_outside(&mut self, flow: u32, payload: Vec<u8>, ecn: Ecn, now: f64) {
        let key = self.key_outside(now);
        let size = (payload.len() as u32 + self.outside.header(flow)).min(u32::from(u16::MAX)) as u16;
        let (number, place) = self.outside.send(flow, payload, ecn, now, now >= self.settings.warmup);
        self.set_out(Segment::with(flow, number as i32, place, size, ecn as u8), key);
    }

    /// What the stacks at both ends say of `flow` at `now`, s, beyond what they have said before.
    pub fn tell_outside(&mut self, flow: u32, more: Told, now: f64) {
        self.outside.tell(flow, more, now >= self.settings.warmup);
    }

    /// Headers of a flow's datagrams, bytes; `None` if they do not come from outside.
    pub fn outside_header(&self, flow: u32) -> Option<u32> {
        self.outside.has(flow).then(|| self.outside.header(flow))
    }

    /// The sender of `flow`, outside, is to be told at `time`, s, unless that is infinite; a time before replaces it.
    pub fn wake_outside(&mut self, flow: u32, time: f64, now: f64) {
        let key = self.key_outside(now);
        if self.net.flows[flow as usize].deadline != time {
            self.arm_rfc(flow, time, key);
        }
    }

    /// The event to which something outside at `now` belongs: that of the last happening, or one after all others.
    fn key_outside(&mut self, now: f64) -> Key {
        if self.outside.key.now != now {
            self.outside.key = Key { now, scheduled: now, number: u64::MAX >> 1 };
        }
        self.outside.key
    }

    /// A datagram reaches its host outside.
    pub(super) fn leave(&mut self, segment: Segment, key: Key) {
        let (flow, now) = (segment.flow(), key.now);
        let in_window = now >= self.settings.warmup && now < self.settings.duration;
        let sent = self.outside.deliver(ids(&segment), segment.size(), Ecn::from_bits(segment.bits()), key, in_window);
        let segment = segment.with_note(Segment::stamp(sent, self.ticks_per_second));
        if in_window {
            let arrivals = &mut self.net.arrivals[flow as usize];
            arrivals.received += 1;
            arrivals.in_order += 1;
            arrivals.delay_ticks += u64::from(segment.age_ticks(Segment::stamp(now, self.ticks_per_second)));
        }
        if let Some(rates) = self.rates.as_mut().filter(|_| now < self.settings.duration) {
            let header = self.outside.header(flow);
            rates.add(flow, now, u64::from(u32::from(segment.size()).saturating_sub(header)));
        }
        if self.notes_delays() {
            self.note_delay(segment, now);
        }
    }

    /// A datagram from outside does not reach its host.
    #[inline(never)]
    pub(super) fn end_outside(&mut self, segment: &Segment, ending: Ending, now: f64) {
        self.outside.end(ids(segment), segment.size(), Ecn::from_bits(segment.bits()), ending, now);
    }

    /// The timer of a sender outside expires.
    #[inline(never)]
    pub(super) fn time_out_outside(&mut self, flow: u32, key: Key) {
        self.outside.happens(Happening::Timer(flow, key.now), key);
    }

    /// The payload of a datagram under way, or gone since the last [`settle_outside`](Self::settle_outside), from the
    /// packet that carries it; `None` if it is not from outside.
    pub fn payload_outside(&self, packet: &Packet) -> Option<(u32, &[u8])> {
        let (segment, _) = unpacked(packet, false);
        self.outside.has(segment.flow()).then(|| (segment.seq() as u32, self.outside.payload(segment.note())))
    }

    /// From now on payloads stay until [`settle_outside`](Self::settle_outside), also of datagrams that are gone.
    pub fn keep_outside(&mut self) {
        self.outside.keep();
    }

    /// Nobody looks at the payloads of datagrams that are gone any more.
    pub fn settle_outside(&mut self) {
        self.outside.settle();
    }

    /// The run ends at `time`, s, instead of later.
    pub fn end_at(&mut self, time: f64) {
        self.settings.duration = self.settings.duration.min(time);
        self.net.end = self.settings.duration;
    }

    /// See [`Outside::digest`](crate::engine::state::outside::Outside::digest).
    pub fn outside_digest(&self) -> u64 {
        self.outside.digest()
    }

    /// The digest starts anew.
    pub fn restart_outside_digest(&mut self) {
        self.outside.restart_digest();
    }
}
