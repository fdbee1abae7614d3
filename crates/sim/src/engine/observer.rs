//! What is noted of single packets at a port, if asked for.

use super::trace::QueueTrace;
use crate::losses::Synchronisation;
use crate::rates::Rates;
use crate::shares::Shares;
use earlydrop_net::record::Fate;
use earlydrop_net::Segment;

/// A packet, as far as observers look at it.
#[derive(Clone, Copy)]
pub struct Who {
    /// Index of its flow.
    pub flow: u32,
    /// Sequence number.
    pub seq: i32,
    /// Bytes on the wire.
    pub size: u32,
}

impl From<&Segment> for Who {
    fn from(segment: &Segment) -> Self {
        Who { flow: segment.flow(), seq: segment.seq(), size: u32::from(segment.size()) }
    }
}

/// A port's trace, what each flow had of the queue, in all and over time, and how many lose at once. Its methods stay out of the way of runs
/// without one.
#[derive(Default)]
pub struct Observer {
    pub trace: Option<QueueTrace>,
    pub shares: Option<Shares>,
    pub rates: Option<Rates>,
    pub synchronisation: Option<Synchronisation>,
    /// What became of recorded packets, by sequence number.
    pub fates: Option<Vec<Fate>>,
}

impl Observer {
    /// A packet arrived at `now`, `hop` being its place on its flow's way; the queue has `length` packets with it.
    #[cold]
    #[inline(never)]
    pub fn arrived(&mut self, now: f64, who: Who, hop: usize, length: u64) {
        if let Some(trace) = &mut self.trace {
            trace.record(now, '+', who.flow, who.seq, who.size, length);
        }
        if let Some(shares) = &mut self.shares {
            shares.arrived(who.flow, who.size);
        }
        if let Some(synchronisation) = &mut self.synchronisation {
            synchronisation.arrived(now, who.flow, hop);
        }
    }

    /// A packet was dropped; `length` packets are left.
    #[cold]
    #[inline(never)]
    pub fn dropped(&mut self, now: f64, who: Who, hop: usize, length: u64) {
        if let Some(trace) = &mut self.trace {
            trace.record(now, 'd', who.flow, who.seq, who.size, length);
        }
        if let Some(shares) = &mut self.shares {
            shares.dropped(who.flow, who.size);
        }
        if let Some(synchronisation) = &mut self.synchronisation {
            synchronisation.lost(now, who.flow, hop);
        }
    }

    /// A packet left at `now`, having waited so many seconds; `length` packets are left.
    #[cold]
    #[inline(never)]
    pub fn departed(&mut self, now: f64, who: Who, waited: f64, length: u64) {
        if let Some(trace) = &mut self.trace {
            trace.record(now, '-', who.flow, who.seq, who.size, length);
        }
        if let Some(shares) = &mut self.shares {
            shares.departed(who.flow, who.size, waited);
        }
        if let Some(rates) = &mut self.rates {
            rates.add(who.flow, now, u64::from(who.size));
        }
    }

    /// It is settled what becomes of a recorded packet.
    #[cold]
    #[inline(never)]
    pub fn settle(&mut self, segment: &Segment, fate: Fate) {
        if let Some(fates) = &mut self.fates {
            fates[segment.seq() as usize] = fate;
        }
    }

    /// A packet of `flow` was marked.
    #[cold]
    #[inline(never)]
    pub fn marked(&mut self, flow: u32) {
        if let Some(shares) = &mut self.shares {
            shares.marked(flow);
        }
    }
}
