//! The latest packet events at a queue, for a display that follows a run.

use earlydrop_aqm::policy::Reason;
use earlydrop_aqm::{Packet, Time};
use std::collections::VecDeque;

/// What happened to a packet.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[repr(u8)]
pub enum Kind {
    /// It arrived and joined the queue (or went straight to the link).
    Passed = 0,
    /// The same, marked CE.
    Marked = 1,
    /// Dropped by chance.
    Early = 2,
    /// Dropped for certain by the policy.
    Forced = 3,
    /// Dropped because the buffer was full.
    Overflow = 4,
    /// Its transmission started.
    Departed = 5,
    /// The same, marked CE as it left.
    DepartedMarked = 6,
}

impl Kind {
    /// The kinds in the order of their numbers, with their names.
    pub const ALL: [(Kind, &'static str); 7] = [
        (Kind::Passed, "passed"),
        (Kind::Marked, "marked"),
        (Kind::Early, "early"),
        (Kind::Forced, "forced"),
        (Kind::Overflow, "overflow"),
        (Kind::Departed, "departed"),
        (Kind::DepartedMarked, "departed_marked"),
    ];
}

/// An event of a packet at a queue.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct PacketEvent {
    /// s.
    pub time: f64,
    /// What happened.
    pub kind: Kind,
    /// Flow, from 1.
    pub flow: u32,
    /// Bytes on the wire.
    pub size: u32,
    /// Packets that waited: those an arrival found, else those left after the event.
    pub length: u64,
    /// The packet, as the queue saw it last; one that leaves an analytic port has flow, size and tag alone.
    pub packet: Packet,
    /// How long it waited, s; `None` for an arrival, also one that was dropped.
    pub sojourn: Option<f64>,
}

/// The latest packet events at a queue. Each arrival has one event, which says what became of it there and then; a packet
/// that joined has another one when it leaves or is dropped while it waits.
#[derive(Clone, Debug)]
pub struct PacketLog {
    events: VecDeque<PacketEvent>,
    capacity: usize,
    /// Events that were overwritten since the last [`PacketLog::drain`].
    missed: u64,
    arrivals: u64,
    departed_bytes: Vec<u64>,
    /// An arrival whose fate is not known yet, with its event in case it joins.
    arriving: Option<(Packet, PacketEvent)>,
}

impl PacketLog {
    /// Keeps the latest `capacity` events of a run with `flows` flows.
    pub(super) fn new(capacity: usize, flows: usize) -> Self {
        PacketLog {
            events: VecDeque::with_capacity(capacity.min(4096)),
            capacity: capacity.max(1),
            missed: 0,
            arrivals: 0,
            departed_bytes: vec![0; flows],
            arriving: None,
        }
    }

    /// Takes the events since the last call, in the order of time, and how many before them were overwritten.
    pub fn drain(&mut self) -> (u64, impl Iterator<Item = PacketEvent> + '_) {
        self.settle();
        (std::mem::take(&mut self.missed), self.events.drain(..))
    }

    /// Arrivals since the queue is watched.
    pub fn arrivals(&self) -> u64 {
        self.arrivals
    }

    /// By flow: bytes that have left the queue since it is watched.
    pub fn departed_bytes(&self) -> &[u64] {
        &self.departed_bytes
    }

    fn push(&mut self, event: PacketEvent) {
        if self.events.len() == self.capacity {
            self.events.pop_front();
            self.missed += 1;
        }
        self.events.push_back(event);
    }

    /// `packet` arrives and finds `length` packets.
    pub(super) fn arrived(&mut self, packet: &Packet, now: Time, length: u64) {
        self.settle();
        self.arrivals += 1;
        self.arriving = Some((*packet, event(packet, now, Kind::Passed, length, None)));
    }

    /// The arrival, or the packet that has just departed, is marked.
    pub(super) fn marked(&mut self) {
        let latest = self.arriving.as_mut().map(|(_, event)| event).or(self.events.back_mut());
        if let Some(event) = latest {
            event.kind = match event.kind {
                Kind::Passed => Kind::Marked,
                Kind::Departed => Kind::DepartedMarked,
                other => other,
            };
        }
    }

    /// `packet` is dropped: the arrival, or one that waited; `length` packets are left.
    pub(super) fn dropped(&mut self, packet: &Packet, now: Time, reason: Reason, length: u64) {
        let kind = match reason {
            Reason::Early => Kind::Early,
            Reason::Forced => Kind::Forced,
            Reason::Overflow => Kind::Overflow,
        };
        let same = |of: &Packet| (of.flow, of.tag, of.note) == (packet.flow, packet.tag, packet.note);
        match self.arriving.take_if(|(arrival, _)| same(arrival)) {
            Some((_, arrival)) => self.push(PacketEvent { kind, ..arrival }),
            None => self.push(event(packet, now, kind, length, Some(now - packet.enqueued))),
        }
    }

    /// The drops of an arrival or departure are complete: an arrival that was not dropped has joined.
    pub(super) fn settle(&mut self) {
        if let Some((_, event)) = self.arriving.take() {
            self.push(event);
        }
    }

    /// The transmission of `packet` starts; `length` packets are left.
    pub(super) fn departed(&mut self, packet: &Packet, now: Time, length: u64) {
        self.settle();
        if let Some(bytes) = self.departed_bytes.get_mut(packet.flow as usize) {
            *bytes += u64::from(packet.size);
        }
        self.push(event(packet, now, Kind::Departed, length, Some(now - packet.enqueued)));
    }
}

fn event(packet: &Packet, now: Time, kind: Kind, length: u64, sojourn: Option<f64>) -> PacketEvent {
    let flow = packet.flow as u32 + 1;
    PacketEvent { time: now.seconds(), kind, flow, size: packet.size, length, packet: *packet, sojourn }
}
