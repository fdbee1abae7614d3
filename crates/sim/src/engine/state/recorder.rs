//! Recording of single packets at a port, if asked for.

use super::packets::unpacked;
use crate::engine::packet_log::PacketLog;
use crate::engine::trace::QueueTrace;
use crate::losses::Synchronisation;
use crate::rates::Rates;
use crate::shares::Shares;
use earlydrop_aqm::policy::Reason;
use earlydrop_aqm::{Packet, Time};
use earlydrop_net::port::Observer;
use earlydrop_net::record::Fate;

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
    dropped: Vec<(Packet, Reason)>,
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

    fn trace(&mut self, now: Time, kind: char, packet: &Packet, length: u64) {
        if let Some(trace) = &mut self.trace {
            // A replay has its own flow keys and no trace.
            trace.record(now.seconds(), kind, unpacked(packet, false).0, packet.size, length);
        }
    }
}

/// Index of the hop on the flow's route at which `packet` is.
fn hop(packet: &Packet) -> usize {
    unpacked(packet, false).0.hop()
}

impl Observer for Recorder {
    #[cold]
    #[inline(never)]
    fn arrived(&mut self, packet: &Packet, now: Time, length: u64) {
        // The trace counts the arrival as ns-2 does.
        self.trace(now, '+', packet, length + 1);
        if let Some(log) = &mut self.log {
            log.arrived(packet, now, length);
        }
        if let Some(shares) = &mut self.shares {
            shares.arrived(packet.flow as u32, packet.size);
        }
        if let Some(synchronisation) = &mut self.synchronisation {
            synchronisation.arrived(now.seconds(), packet.flow as u32, hop(packet));
        }
    }

    #[cold]
    #[inline(never)]
    fn marked(&mut self, packet: &Packet, _now: Time) {
        if let Some(log) = &mut self.log {
            log.marked();
        }
        if let Some(shares) = &mut self.shares {
            shares.marked(packet.flow as u32);
        }
    }

    #[cold]
    #[inline(never)]
    fn dropped(&mut self, packet: &Packet, _now: Time, reason: Reason) {
        self.dropped.push((*packet, reason));
    }

    #[cold]
    #[inline(never)]
    fn remaining(&mut self, now: Time, length: u64) {
        let mut dropped = std::mem::take(&mut self.dropped);
        for (packet, reason) in dropped.drain(..) {
            self.trace(now, 'd', &packet, length);
            if let Some(log) = &mut self.log {
                log.dropped(&packet, now, reason, length);
            }
            if let Some(shares) = &mut self.shares {
                shares.dropped(packet.flow as u32, packet.size);
            }
            if let Some(synchronisation) = &mut self.synchronisation {
                synchronisation.lost(now.seconds(), packet.flow as u32, hop(&packet));
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
    fn departed(&mut self, packet: &Packet, now: Time, length: u64) {
        self.trace(now, '-', packet, length);
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
            fates[packet.tag as usize] = Fate::Departed { at: now, ecn: packet.ecn };
        }
    }
}
