//! Arrivals at a path, and what became of each: made in a real run, run again in virtual time.

use earlydrop_aqm::policy::Reason;
use earlydrop_aqm::{Packet, Time};
use earlydrop_net::record::Fate;

use crate::path::{Path, Watch};

/// Arrivals in the order in which they came, with their fates.
#[derive(Clone, Debug, Default)]
pub struct Record {
    /// When, and what the queue saw.
    pub arrivals: Vec<(Time, Packet)>,
    /// What became of each.
    pub fates: Vec<Fate>,
}

impl Record {
    /// An arrival; its number.
    pub fn arrived(&mut self, packet: Packet, now: Time) -> usize {
        self.arrivals.push((now, packet));
        self.fates.push(Fate::Queued);
        self.arrivals.len() - 1
    }

    /// It is settled what becomes of an arrival.
    pub fn settle(&mut self, number: usize, fate: Fate) {
        self.fates[number] = fate;
    }
}

/// Settles the fates of packets whose tag is their number.
struct ByTag<'a>(&'a mut Vec<Fate>);

impl Watch for ByTag<'_> {
    fn dropped(&mut self, packet: &Packet, now: Time, reason: Reason) {
        self.0[packet.tag as usize] = Fate::Dropped { at: now, reason };
    }

    fn departed(&mut self, packet: &Packet, now: Time) {
        self.0[packet.tag as usize] = Fate::Departed { at: now, ecn: packet.ecn };
    }

    fn lost(&mut self, _packet: &Packet, _now: Time) {}
}

/// Lets `arrivals` come to `path` and stops at `until`; what became of each.
pub fn replay(path: &mut Path, arrivals: &[(Time, Packet)], until: Time) -> Vec<Fate> {
    let mut fates = vec![Fate::Queued; arrivals.len()];
    for (&(time, packet), tag) in arrivals.iter().zip(0..) {
        path.arrive(Packet { tag, ..packet }, time, &mut ByTag(&mut fates));
        while path.deliver(time).is_some() {}
    }
    path.finish(until, &mut ByTag(&mut fates));
    fates
}
