//! Recording of single packets at a port, if asked for.

use super::packets::unpacked;
use crate::engine::packet_log::PacketLog;
use crate::engine::trace::{Header, QueueEvent, QueueTrace, Signal};
use crate::losses::Synchronisation;
use crate::rates::Rates;
use crate::shares::Shares;
use earlydrop_aqm::policy::Reason;
use earlydrop_aqm::{Packet, Time};
use earlydrop_net::record::Fate;
use earlydrop_net::segment::CE;
use earlydrop_net::tcp::rfc::Feedback;
use earlydrop_net::Segment;

/// A packet as it is recorded.
#[derive(Clone, Copy)]
pub struct Seen {
    /// With the sequence number to be shown.
    pub packet: Packet,
    /// Its headers, if they are traced.
    pub header: Option<Header>,
}

impl Seen {
    /// The segment that it carries. (A replay has its own flow keys and no trace.)
    pub fn segment(&self) -> Segment {
        unpacked(&self.packet, false).0
    }

    /// Where the queue that the packet leaves marked it, if headers are traced.
    fn mark(&self) -> Option<Signal> {
        let Packet { ecn, admitted_ecn, tag, note, .. } = self.packet;
        // What the packet carries is the segment as it arrived.
        let arrived = Segment::unpacked(0, 0, (tag, note)).0.bits() & CE;
        match self.header {
            Some(_) if ecn != admitted_ecn => Some(Signal::MarkedInQueue),
            Some(_) if ecn as u8 != arrived => Some(Signal::MarkedOnArrival),
            _ => None,
        }
    }
}

/// A port's trace, the flows' shares of the queue, their rates, and their simultaneous losses. Its methods are not
/// inlined, so that runs without a recorder do not load their code.
///
/// Packets carry the segment as [`unpacked`] reads it, with the sequence number to be shown; of one that departs
/// from an analytic port only flow, number and size are known.
#[derive(Default)]
pub struct Recorder {
    pub trace: Option<QueueTrace>,
    pub shares: Option<Shares>,
    pub rates: Option<Rates>,
    pub synchronisation: Option<Synchronisation>,
    /// Fates of recorded packets, by sequence number.
    pub fates: Option<Vec<Fate>>,
    /// The latest packet events, if somebody looks at them during the run.
    pub log: Option<Box<PacketLog>>,
    /// Packets dropped by the current call: they are recorded with the length of the queue after it.
    dropped: Vec<(Seen, Reason)>,
}

impl Recorder {
    /// With these recordings.
    pub fn new(trace: Option<QueueTrace>, shares: Option<Shares>, rates: Option<Rates>) -> Recorder {
        Recorder { trace, shares, rates, ..Recorder::default() }
    }

    /// The measured window starts.
    pub fn restart(&mut self) {
        if let Some(shares) = &mut self.shares {
            shares.restart();
        }
        if let Some(synchronisation) = &mut self.synchronisation {
            synchronisation.restart();
        }
    }

    /// The run ends.
    pub fn finish(&mut self) {
        if let Some(synchronisation) = &mut self.synchronisation {
            synchronisation.finish();
        }
    }

    /// `packet`, with its headers if they are traced; `ack` is its acknowledgement, if the contents are kept.
    pub fn seen<'a>(&self, packet: Packet, ack: impl FnOnce(&Segment) -> Option<&'a Feedback>) -> Seen {
        let plain = Seen { packet, header: None };
        match self.trace.as_ref().filter(|trace| trace.has_headers()) {
            Some(trace) => Seen { header: trace.header(plain.segment(), ack(&plain.segment())), ..plain },
            None => plain,
        }
    }

    fn trace(&mut self, now: Time, kind: char, seen: &Seen, length: u64, signal: Option<Signal>) {
        if let Some(trace) = &mut self.trace {
            let (segment, size, header) = (seen.segment(), seen.packet.size, seen.header);
            let (flow, seq) = (segment.flow() + 1, segment.seq());
            trace.record(QueueEvent { time: now.seconds(), kind, flow, seq, size, length, header, signal });
        }
    }
}

/// What happens to packets, as an [`Observer`](earlydrop_net::port::Observer) is told.
impl Recorder {
    #[cold]
    #[inline(never)]
    pub fn arrived(&mut self, seen: &Seen, now: Time, length: u64) {
        let packet = &seen.packet;
        // The trace counts the arrival as ns-2 does.
        self.trace(now, '+', seen, length + 1, None);
        if let Some(log) = &mut self.log {
            log.arrived(packet, now, length);
        }
        if let Some(shares) = &mut self.shares {
            shares.arrived(packet.flow as u32, packet.size);
        }
        if let Some(synchronisation) = &mut self.synchronisation {
            synchronisation.arrived(now.seconds(), packet.flow as u32, seen.segment().hop());
        }
    }

    #[cold]
    #[inline(never)]
    pub fn marked(&mut self, flow: u32) {
        if let Some(log) = &mut self.log {
            log.marked();
        }
        if let Some(shares) = &mut self.shares {
            shares.marked(flow);
        }
    }

    #[cold]
    #[inline(never)]
    pub fn dropped(&mut self, seen: &Seen, reason: Reason) {
        self.dropped.push((*seen, reason));
    }

    #[cold]
    #[inline(never)]
    pub fn remaining(&mut self, now: Time, length: u64) {
        let mut dropped = std::mem::take(&mut self.dropped);
        for (seen, reason) in dropped.drain(..) {
            let packet = &seen.packet;
            self.trace(now, 'd', &seen, length, Some(Signal::Dropped(reason)));
            if let Some(log) = &mut self.log {
                log.dropped(packet, now, reason, length);
            }
            if let Some(shares) = &mut self.shares {
                shares.dropped(packet.flow as u32, packet.size);
            }
            if let Some(synchronisation) = &mut self.synchronisation {
                synchronisation.lost(now.seconds(), packet.flow as u32, seen.segment().hop());
            }
            if let Some(fates) = &mut self.fates {
                fates[packet.tag as usize] = Fate::Dropped { at: now, reason };
            }
        }
        self.dropped = dropped;
        if let Some(log) = &mut self.log {
            log.settle();
        }
    }

    #[cold]
    #[inline(never)]
    pub fn departed(&mut self, seen: &Seen, now: Time, length: u64) {
        let packet = &seen.packet;
        self.trace(now, '-', seen, length, seen.mark());
        if let Some(log) = &mut self.log {
            log.departed(packet, now, length);
        }
        if let Some(shares) = &mut self.shares {
            shares.departed(packet.flow as u32, packet.size, now - packet.enqueued);
        }
        if let Some(rates) = &mut self.rates {
            rates.add(packet.flow as u32, now.seconds(), u64::from(packet.size));
        }
        if let Some(fates) = &mut self.fates {
            fates[packet.tag as usize] = Fate::Departed { at: now, ecn: packet.ecn, arrival: None };
        }
    }
}
