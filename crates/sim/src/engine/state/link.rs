//! State of a link, and the order of packets that wait without events.

use super::order::Key;
use crate::engine::network::LinkSpec;
use crate::engine::plan::Mode;
use earlydrop_aqm::Time;
use earlydrop_net::segment::SYN;
use earlydrop_net::{Segment, Wire};

/// Index of no port, slot or application.
pub const NONE: u32 = u32::MAX;

/// State of one direction of a link.
#[repr(align(64))]
pub struct Link {
    pub wire: Wire,
    /// When the event that started the current transmission was scheduled.
    pub cause: f64,
    /// Number of the end of the current transmission, taken at its start.
    pub reserved: u64,
    /// Waiting packets of a stepped link without a port: a list in the pool.
    pub head: u32,
    pub tail: u32,
    pub mode: Mode,
    /// Whether it has an entry in `Engine::media`, or its senders want to know what has left.
    pub varies: bool,
    /// The port; for a merge that packets may pass ahead of time its index in `Engine::merges`; for a link that packets
    /// pass, how many are on their way to it by events.
    pub port: u32,
}

/// State of one direction of a link that packets pass without events, though they may wait: a fold or a sender's own
/// link. A million flows have two or three each, so that what many have in common is in [`Alike`].
#[derive(Clone, Copy, Debug)]
pub struct Fold {
    /// End and start of the last transmission, s.
    pub free: f64,
    pub started: f64,
    /// The chain of the next packet, if it waits.
    chain: Chain,
    /// Row of its [`Alike`].
    pub alike: u32,
}

/// What links without events have in common.
#[derive(Clone, Copy, Debug)]
pub struct Alike {
    /// Rate, bit/s.
    pub rate_bps: f64,
    /// Propagation delay, s.
    pub delay_s: f64,
}

/// The chain: the order of a packet among those that start simultaneously on links that are alike (`docs/engine.md`,
/// rules 7 and 8), lower first. It is 0 if the packet has not waited. Else it is the number of transmissions before it
/// without a pause (23 bits); above these a bit if a SYN was among them; and above it 8 bits for what rounding has made
/// equal, all set behind a SYN.
pub type Chain = u32;
const COUNT: Chain = (1 << 23) - 1;
const BEHIND_SYN: Chain = !COUNT;
const ROUNDING_SHIFT: u32 = 24;

impl Link {
    /// Whether a port is in front of it.
    pub fn has_port(&self) -> bool {
        matches!(self.mode, Mode::AnalyticPort | Mode::SteppedPort)
    }

    /// Whether the last transmission has ended before the event `key`.
    #[inline(always)]
    pub fn is_free(&self, key: Key) -> bool {
        (self.wire.free, self.wire.started, self.reserved) < (key.now, key.scheduled, key.number)
    }

    /// End of the last transmission, if it is before the event `key`.
    #[inline(always)]
    pub fn free_since(&self, key: Key) -> Option<Time> {
        self.is_free(key).then(|| Time::from_seconds(self.wire.free))
    }
}

impl Alike {
    /// Of this link.
    pub fn of(link: &LinkSpec) -> Self {
        Alike { rate_bps: link.rate_bps, delay_s: link.delay_s }
    }
}

impl Fold {
    /// A link that has sent nothing.
    pub fn new(alike: u32) -> Self {
        Fold { free: 0.0, started: 0.0, chain: 0, alike }
    }

    #[inline(always)]
    fn wire(&self, alike: &Alike) -> Wire {
        Wire { rate_bps: alike.rate_bps, delay_s: alike.delay_s, free: self.free, started: self.started }
    }

    /// As [`Wire::relay`].
    #[inline(always)]
    pub fn relay(&mut self, alike: &Alike, ready: f64, scheduled: f64, bytes: u16) -> (f64, f64, f64) {
        let mut wire = self.wire(alike);
        let relayed = wire.relay(ready, scheduled, bytes);
        (self.free, self.started) = (wire.free, wire.started);
        relayed
    }

    /// A packet is ready for a slow fold or own link at `ready`, by an event scheduled at `scheduled`; returns its
    /// start, arrival and chain.
    #[inline(always)]
    pub fn pass(&mut self, alike: &Alike, segment: &Segment, ready: f64, scheduled: f64) -> (f64, f64, Chain) {
        let mut wire = self.wire(alike);
        let (start, chain) = if wire.waits(ready, scheduled) { (wire.free, self.chain) } else { (ready, 0) };
        let arrival = wire.send(start, segment.size());
        (self.free, self.started) = (wire.free, wire.started);
        let next = chain + u32::from(chain & COUNT != COUNT);
        self.chain = if segment.bits() & SYN != 0 { next | BEHIND_SYN } else { next };
        if (wire.free.to_bits() ^ start.to_bits()) >> 52 != 0 {
            self.note_rounding(wire.transmission(segment.size()));
        }
        (start, arrival, chain)
    }

    /// Records rounding. Doubles become coarser at every power of two, so the followers of two packets that started one
    /// step apart may start simultaneously. The rounding error of the sum tells which was first.
    #[inline(never)]
    fn note_rounding(&mut self, transmission: f64) {
        let error = transmission - (self.free - self.started);
        let side = if error < 0.0 {
            0
        } else if error == 0.0 {
            1
        } else {
            2
        };
        let before = self.chain >> ROUNDING_SHIFT;
        let rest = self.chain & ((1 << ROUNDING_SHIFT) - 1);
        self.chain = (side << 6 | before >> 2) << ROUNDING_SHIFT | rest;
    }
}
