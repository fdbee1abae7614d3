//! Recording of single packets at a port, if asked for.

use crate::engine::trace::QueueTrace;
use crate::losses::Synchronisation;
use crate::rates::Rates;
use crate::shares::Shares;
use earlydrop_aqm::policy::Reason;
use earlydrop_aqm::Time;
use earlydrop_net::record::Fate;
use earlydrop_net::Segment;

/// A packet as observers see it.
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

/// A port's trace, the flows' shares of the queue, their rates, and their simultaneous losses. Its methods are not
/// inlined, so that runs without an observer do not load their code.
#[derive(Default)]
pub struct Observer {
    pub trace: Option<QueueTrace>,
    pub shares: Option<Shares>,
    pub rates: Option<Rates>,
    pub synchronisation: Option<Synchronisation>,
    /// Fates of recorded packets, by sequence number.
    pub fates: Option<Vec<Fate>>,
}

impl Observer {
    /// A packet arrived at `now`, at `hop` of its flow's route; the queue holds `length` packets including it.
    #[cold]
    #[inline(never)]
    fn arrived(&mut self, now: f64, who: Who, hop: usize, length: u64) {
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
    fn dropped(&mut self, now: f64, who: Who, hop: usize, length: u64) {
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

    /// A packet departed at `now` after `waited` seconds; `length` packets are left.
    #[cold]
    #[inline(never)]
    fn departed(&mut self, now: f64, who: Who, waited: f64, length: u64) {
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

    /// The fate of a recorded packet.
    #[cold]
    #[inline(never)]
    fn settled(&mut self, segment: &Segment, fate: Fate) {
        if let Some(fates) = &mut self.fates {
            fates[segment.seq() as usize] = fate;
        }
    }

    /// A packet of `flow` was marked.
    #[cold]
    #[inline(never)]
    fn marked(&mut self, flow: u32) {
        if let Some(shares) = &mut self.shares {
            shares.marked(flow);
        }
    }
}
/// A port's observer, if it has one; analytic and stepped ports call it alike. `who` is evaluated only if there is one.
#[derive(Default)]
pub struct Watched(Option<Box<Observer>>);

impl Watched {
    /// The observer; creates it if necessary.
    pub fn observer(&mut self) -> &mut Observer {
        self.0.get_or_insert_default()
    }

    /// A packet arrived at `now`, at `hop` of its flow's route; the queue holds `length` packets including it.
    #[inline(always)]
    pub fn arrived(&mut self, now: f64, who: impl FnOnce() -> Who, hop: usize, length: u64) {
        if let Some(observer) = &mut self.0 {
            observer.arrived(now, who(), hop, length);
        }
    }

    /// A packet was dropped; `length` packets are left.
    #[inline(always)]
    pub fn dropped(&mut self, now: f64, who: impl FnOnce() -> Who, hop: usize, length: u64) {
        if let Some(observer) = &mut self.0 {
            observer.dropped(now, who(), hop, length);
        }
    }

    /// Packets dropped by one call, with reasons; `length` packets are left.
    #[inline(always)]
    pub fn lost(&mut self, now: f64, victims: &[(Segment, Reason)], who: impl Fn(&Segment) -> Who, length: u64) {
        let Some(observer) = &mut self.0 else { return };
        for &(victim, reason) in victims {
            observer.dropped(now, who(&victim), victim.hop(), length);
            observer.settled(&victim, Fate::Dropped { at: Time::from_seconds(now), reason });
        }
    }

    /// A packet departed at `now` after `waited` seconds; `length` packets are left.
    #[inline(always)]
    pub fn departed(&mut self, now: f64, who: impl FnOnce() -> Who, waited: f64, length: u64) {
        if let Some(observer) = &mut self.0 {
            observer.departed(now, who(), waited, length);
        }
    }

    /// The fate of a recorded packet.
    #[inline(always)]
    pub fn settled(&mut self, segment: &Segment, fate: Fate) {
        if let Some(observer) = &mut self.0 {
            observer.settled(segment, fate);
        }
    }

    /// A packet of `flow` was marked.
    #[inline(always)]
    pub fn marked(&mut self, flow: u32) {
        if let Some(observer) = &mut self.0 {
            observer.marked(flow);
        }
    }

    /// The measured window starts.
    pub fn restart(&mut self) {
        let Some(observer) = &mut self.0 else { return };
        if let Some(shares) = &mut observer.shares {
            shares.restart();
        }
        if let Some(synchronisation) = &mut observer.synchronisation {
            synchronisation.restart();
        }
    }

    /// The run ends; takes the observer.
    pub fn finish(&mut self) -> Observer {
        let mut observer = *self.0.take().unwrap_or_default();
        if let Some(synchronisation) = &mut observer.synchronisation {
            synchronisation.finish();
        }
        observer
    }
}
