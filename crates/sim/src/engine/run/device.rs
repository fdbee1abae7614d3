//! The queues of senders' own links, where a TCP bounds what it has there (TCP small queues).

use super::Engine;
use crate::engine::state::order::Key;
use crate::events::EventQueue;
use earlydrop_net::segment::SYN;
use earlydrop_net::tcp::Sender;
use earlydrop_net::Segment;

impl<Q: EventQueue> Engine<Q> {
    /// `segment` is on its sender's first link.
    fn is_at_sender(segment: &Segment) -> bool {
        segment.hop() == 0
    }

    /// The transmission of `segment` has started at `now`, by an event scheduled at `cause`: its sender hears when it
    /// will end.
    pub(super) fn note_departure(&mut self, link: u32, segment: &Segment, now: f64, cause: f64) {
        let end = self.net.links[link as usize].wire.free;
        if Self::is_at_sender(segment) && end < f64::INFINITY {
            self.tell_sender(segment, end, now, cause);
        }
    }

    /// `segment` was dropped; perhaps at its sender's own link.
    #[cold]
    pub(super) fn note_drop_at_sender(&mut self, segment: &Segment, now: f64) {
        if Self::is_at_sender(segment) {
            self.tell_sender(segment, now, now, now);
        }
    }

    fn tell_sender(&mut self, segment: &Segment, at: f64, now: f64, cause: f64) {
        let flow = segment.flow();
        let spec = self.specs.kind(flow);
        if !spec.options.has_small_queue() || segment.bits() & SYN != 0 {
            return;
        }
        let payload = match self.blocks.carried(segment) {
            Some(ack) => ack.carried,
            None => segment.size().saturating_sub(spec.wire - spec.payload),
        };
        let Sender::Rfc(connection) = &mut self.net.flows[flow as usize].sender else { return };
        connection.leaves(at, segment.seq() as u32, u32::from(payload));
        let release = connection.release_at();
        if release < self.net.flows[flow as usize].deadline {
            self.arm_rfc(flow, release.max(now), Key { now, scheduled: cause, number: 0 });
        }
    }

    /// The time of the sender's next call, which may be that of a departure that it did not know of.
    pub(super) fn or_release(&self, flow: u32, wake: f64) -> f64 {
        match &self.net.flows[flow as usize].sender {
            Sender::Rfc(connection) => wake.min(connection.release_at()),
            Sender::Ns2(_) => wake,
        }
    }
}
