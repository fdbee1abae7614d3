//! The last tag of each flow, a finish time or a bid in bytes of virtual time, and when it can be forgotten.

use crate::params::{words, Param, Word};
use crate::parts::class_weights::class_of;
use crate::parts::flow_table::FlowTable;
use crate::Packet;
use std::collections::VecDeque;

/// The last tag of each flow while it lies in the future: a tag that virtual time has reached has no effect.
///
/// Memory follows the packets whose tags lie in the future, since each tag is looked at once when time has passed it.
#[derive(Clone, Debug)]
pub struct FlowTags {
    /// The last tag of each flow, B.
    last: FlowTable<u64>,
    /// Flows and their tags, oldest first.
    order: VecDeque<(u64, u64)>,
}

impl Default for FlowTags {
    fn default() -> Self {
        Self::new()
    }
}

impl FlowTags {
    /// Tags of no flows.
    pub fn new() -> Self {
        FlowTags { last: FlowTable::new(), order: VecDeque::new() }
    }

    /// Where `flow` goes on at virtual time `now`: its last tag, or `now` if later.
    pub fn later_of(&self, flow: u64, now: u64) -> u64 {
        self.last.find(flow).map_or(now, |slot| now.max(*self.last.record(slot)))
    }

    /// Notes `tag` as the last tag of `flow`.
    pub fn set(&mut self, flow: u64, tag: u64) {
        match self.last.find(flow) {
            Some(slot) => *self.last.record_mut(slot) = tag,
            None => {
                self.last.insert(flow, tag);
            }
        }
        self.order.push_back((flow, tag));
    }

    /// Virtual time has become `now`: forgets the tags that it has reached.
    pub fn pass(&mut self, now: u64) {
        while let Some(&(flow, tag)) = self.order.front().filter(|&&(_, tag)| tag <= now) {
            self.order.pop_front();
            if let Some(slot) = self.last.find(flow).filter(|&slot| *self.last.record(slot) == tag) {
                self.last.remove(slot);
            }
        }
    }
}

words! {
    /// What the rank of a packet is.
    pub enum Rank {
        /// Start time of start-time fair queueing.
        StartTime = "start_time",
        /// Traffic class.
        Class = "class",
    }
}

/// The parameter `rank`, which says what ranks are; `source` names the program that has the default.
pub const fn rank(source: &'static str) -> Param {
    Param::word("rank", Rank::WORDS, "start_time").says(
        source,
        "Rank of a packet, the least first: its start time in fair queueing, or its traffic class, 0 to 7.",
    )
}

/// The ranks of packets: start times of fair queueing (Goyal, Vin, Cheng 1996) with equal weights, or classes.
#[derive(Clone, Debug)]
pub struct Ranks {
    /// The finish time of each flow's last packet; `None` if classes are ranks.
    finish: Option<FlowTags>,
    /// v, the virtual time, B: the largest rank that has been served, and after a busy period the largest finish time.
    now: u64,
    /// The largest finish time of a packet that was admitted, B.
    latest: u64,
}

impl Ranks {
    /// Ranks of the kind `rank`.
    pub fn new(rank: Rank) -> Self {
        Ranks { finish: (rank == Rank::StartTime).then(FlowTags::new), now: 0, latest: 0 }
    }

    /// The rank of `packet`, which arrives.
    pub fn of(&self, packet: &Packet) -> u64 {
        match &self.finish {
            Some(finish) => finish.later_of(packet.flow, self.now),
            None => class_of(packet) as u64,
        }
    }

    /// `packet` was admitted with this rank.
    pub fn admitted(&mut self, packet: &Packet, rank: u64) {
        if let Some(finish) = &mut self.finish {
            let tag = rank + u64::from(packet.size);
            finish.set(packet.flow, tag);
            self.latest = self.latest.max(tag);
        }
    }

    /// A packet of this rank leaves, the last one waiting if `last`.
    pub fn served(&mut self, rank: u64, last: bool) {
        if let Some(finish) = &mut self.finish {
            self.now = if last { self.latest } else { self.now.max(rank) };
            finish.pass(self.now);
        }
    }

    /// The virtual time, B.
    pub fn now(&self) -> u64 {
        self.now
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_tag_counts_until_time_has_reached_it() {
        let mut tags = FlowTags::new();
        tags.set(1, 500);
        assert_eq!([0, 499, 500, 501].map(|now| tags.later_of(1, now)), [500, 500, 500, 501]);
        assert_eq!(tags.later_of(2, 7), 7);
        tags.pass(499);
        assert_eq!(tags.last.len(), 1);
        tags.pass(500);
        assert_eq!(tags.last.len(), 0);
    }

    #[test]
    fn an_older_tag_does_not_take_a_newer_one_with_it() {
        let mut tags = FlowTags::new();
        tags.set(1, 100);
        tags.set(2, 900);
        tags.set(1, 300);
        tags.pass(200);
        assert_eq!((tags.later_of(1, 0), tags.last.len()), (300, 2));
        tags.pass(800);
        assert_eq!((tags.later_of(2, 0), tags.last.len()), (900, 2), "300 waits behind 900");
        tags.pass(900);
        assert_eq!((tags.last.len(), tags.order.len()), (0, 0));
    }

    fn admit(ranks: &mut Ranks, flow: u64, size: u32) -> u64 {
        let packet = Packet { class: 3, ..Packet::new(flow, size) };
        let rank = ranks.of(&packet);
        ranks.admitted(&packet, rank);
        rank
    }

    #[test]
    fn a_flow_goes_on_where_its_last_packet_ends_and_a_new_one_starts_now() {
        let mut ranks = Ranks::new(Rank::StartTime);
        assert_eq!([1, 1, 2, 1].map(|flow| admit(&mut ranks, flow, 100)), [0, 100, 0, 200]);
        ranks.served(100, false);
        assert_eq!((ranks.now(), admit(&mut ranks, 2, 100), admit(&mut ranks, 3, 50)), (100, 100, 100));
        ranks.served(0, false);
        assert_eq!(ranks.now(), 100, "it does not run back");
    }

    #[test]
    fn after_a_busy_period_all_flows_start_alike() {
        let mut ranks = Ranks::new(Rank::StartTime);
        admit(&mut ranks, 1, 700);
        admit(&mut ranks, 2, 300);
        ranks.served(0, false);
        ranks.served(0, true);
        assert_eq!((ranks.now(), ranks.finish.as_ref().unwrap().last.len()), (700, 0));
        assert_eq!([2, 1, 3].map(|flow| admit(&mut ranks, flow, 10)), [700; 3]);
    }

    #[test]
    fn classes_are_ranks_as_they_are() {
        let mut ranks = Ranks::new(Rank::Class);
        assert_eq!([1, 1, 2].map(|flow| admit(&mut ranks, flow, 100)), [3; 3]);
        ranks.served(3, true);
        assert_eq!(ranks.now(), 0);
    }
}
