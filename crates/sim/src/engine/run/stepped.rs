//! Stepped links: arrivals and ends of transmission are events.

use super::ports::RELEASE;
use super::Engine;
use crate::engine::plan::Mode;
use crate::engine::state::link::NONE;
use crate::engine::state::order::Hop;
use crate::engine::state::outside::Ending;
use crate::engine::state::routes::UNKNOWN;
use crate::events::{Event, EventQueue, Kind};
use earlydrop_net::Segment;

impl<Q: EventQueue> Engine<Q> {
    /// A link ends a transmission while packets wait, or its discipline needs to know.
    #[inline(always)]
    pub(super) fn on_transmission_end(&mut self, event: Segment, now: f64, scheduled: f64) {
        let link = event.flow() as usize;
        if self.net.links[link].mode == Mode::SteppedPort {
            return self.on_port_transmission_end(link as u32, event.seq() == RELEASE, now, scheduled);
        }
        let slot = self.net.links[link].head;
        self.net.links[link].head = self.pool[slot as usize].1;
        let segment = self.release(slot);
        let lane = self.net.step(segment.flow(), segment.hop(), Q::LARGE).next_lane();
        self.transmit(link as u32, segment, lane, now, scheduled);
        if self.net.links[link].head != NONE {
            self.push_transmission_end(link as u32);
        }
    }

    /// A stepped link starts to transmit `segment`, at an event scheduled at `cause`. Takes two numbers, of the arrival
    /// and of the end of transmission. `lane` is that of the arrival, or [`UNKNOWN`].
    #[inline(always)]
    pub(super) fn transmit(&mut self, link: u32, mut segment: Segment, lane: u8, now: f64, cause: f64) {
        self.counter += 2;
        let number = self.counter;
        let at = &mut self.net.links[link as usize];
        at.reserved = number;
        at.cause = cause;
        let arrival = if at.varies {
            let Some(arrival) = self.send_watched(link, &segment, now, cause) else { return };
            arrival
        } else {
            at.wire.send(now, segment.size())
        };
        segment = segment.at_next_hop();
        if lane != UNKNOWN {
            return self.push_arrival(segment, Hop { arrival, start: now, cause, order: 0 }, number - 1, lane);
        }
        self.forward_from(segment, arrival, now, cause);
    }

    /// The next hop has more than an event, or none. The parts of a [`Hop`] stay in registers.
    #[inline(never)]
    pub(super) fn forward_from(&mut self, segment: Segment, arrival: f64, start: f64, cause: f64) {
        let route = self.net.routes.of(segment.flow(), Q::LARGE);
        self.forward(route, segment, Hop { arrival, start, cause, order: 0 });
    }

    /// A link with a medium starts to transmit `segment`, or one whose senders want to know what has left; returns its
    /// arrival, unless it is lost.
    #[inline(never)]
    fn send_watched(&mut self, link: u32, segment: &Segment, now: f64, cause: f64) -> Option<f64> {
        let medium = self.media.binary_search_by_key(&link, |&(link, _)| link).is_ok();
        let arrival = match medium {
            true => self.send_over_medium(link, segment, now),
            false => Some(self.net.links[link as usize].wire.send(now, segment.size())),
        };
        self.note_departure(link, segment, now, cause);
        arrival
    }

    fn send_over_medium(&mut self, link: u32, segment: &Segment, now: f64) -> Option<f64> {
        let at = self.media.binary_search_by_key(&link, |&(link, _)| link).ok()?;
        let wire = &mut self.net.links[link as usize].wire;
        let sent = self.media[at].1.send(wire, now, segment.size());
        wire.started = now;
        wire.free = sent.end;
        if !self.replay.packets.is_empty() {
            self.note_replayed(segment, sent.arrival);
        }
        if sent.arrival.is_none() {
            self.forget(segment, Ending::Lost, now);
            // In flight for ever, if the rate of the link stays 0.
            self.rare(segment.flow()).lost += u32::from(sent.end.is_finite());
            if sent.end.is_finite() {
                self.note_loss(*segment, now);
            }
        }
        sent.arrival
    }

    /// `segment` waits at a stepped link without a port. The first to wait schedules the end of transmission.
    pub(super) fn wait(&mut self, link: u32, segment: Segment) {
        let slot = self.store(segment);
        let at = &mut self.net.links[link as usize];
        if at.head == NONE {
            at.head = slot;
            at.tail = slot;
            self.push_transmission_end(link);
        } else {
            self.pool[at.tail as usize].1 = slot;
            at.tail = slot;
        }
    }

    pub(super) fn push_transmission_end(&mut self, link: u32) {
        let at = &self.net.links[link as usize];
        if at.wire.free == f64::INFINITY {
            // A link that stays down.
            return;
        }
        let segment = Segment::new(link, 0, 0, 0);
        let event =
            Event::new(at.wire.free, at.wire.started, at.cause.to_bits(), at.reserved, Kind::TransmissionEnd, segment);
        self.queue.push(event, 0);
    }

    fn store(&mut self, segment: Segment) -> u32 {
        let slot = self.free_slot;
        if slot == NONE {
            self.pool.push((segment, NONE));
            return self.pool.len() as u32 - 1;
        }
        self.free_slot = self.pool[slot as usize].1;
        self.pool[slot as usize] = (segment, NONE);
        slot
    }

    fn release(&mut self, slot: u32) -> Segment {
        let (segment, _) = self.pool[slot as usize];
        self.pool[slot as usize].1 = self.free_slot;
        self.free_slot = slot;
        segment
    }
}
