//! Records of arrivals and their fates: taken on a real link, replayed in virtual time.

use earlydrop_aqm::policy::Reason;
use earlydrop_aqm::{Packet, Time};
use earlydrop_net::port::Observer;
use earlydrop_net::record::Fate;

use crate::path::{Path, PathObserver};

/// Arrivals in order, with their fates.
#[derive(Clone, Debug, Default)]
pub struct Record {
    /// Arrival time, and the packet as the queue saw it.
    pub arrivals: Vec<(Time, Packet)>,
    /// Fate of each.
    pub fates: Vec<Fate>,
}

impl Record {
    /// Adds an arrival; returns its number.
    pub fn arrived(&mut self, packet: Packet, now: Time) -> usize {
        self.arrivals.push((now, packet));
        self.fates.push(Fate::Queued);
        self.arrivals.len() - 1
    }

    /// Sets the fate of an arrival.
    pub fn settle(&mut self, number: usize, fate: Fate) {
        self.fates[number] = fate;
    }
}

/// The fates of packets whose tag is their number.
struct ByTag<'a>(&'a mut Vec<Fate>);

impl Observer for ByTag<'_> {
    fn dropped(&mut self, packet: &Packet, now: Time, reason: Reason) {
        self.0[packet.tag as usize] = Fate::Dropped { at: now, reason };
    }

    fn departed(&mut self, packet: &Packet, now: Time, _length: u64) {
        self.0[packet.tag as usize] = Fate::Departed { at: now, ecn: packet.ecn };
    }
}

impl PathObserver for ByTag<'_> {}

/// Replays `arrivals` through `path` until the time `until`; returns the fate of each.
pub fn replay(path: &mut Path, arrivals: &[(Time, Packet)], until: Time) -> Vec<Fate> {
    let mut fates = vec![Fate::Queued; arrivals.len()];
    for (&(time, packet), tag) in arrivals.iter().zip(0..) {
        path.arrive(Packet { tag, ..packet }, time, &mut ByTag(&mut fates));
        while path.deliver(time).is_some() {}
    }
    path.finish(until, &mut ByTag(&mut fates));
    fates
}
