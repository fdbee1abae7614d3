//! # DD tail drop
//!
//! ## What it does
//! DropTail that chooses: when the queue is full, the arrival is compared with the last `scan` packets of the queue
//! (all of them by default), and the one that has come the shortest way is dropped. If that is a queued packet, the
//! arrival joins the tail. Distance is DDRED's: hops made (`method` 1), or their share of the route (2).
//!
//! ## Source
//! E. Dedu, S. Linck, F. Spies, "Distance-dependent RED policy (DDRED)", 2007, section IV.B, "tail drop queue type".
//! The paper describes it in two sentences and simulates DDRED only.
//!
//! ## Differences
//! 1. The paper compares with "the last N packets of the queue" and does not say how many. Here N is the whole buffer,
//!    `scan = 0`, or any other number (reconstruction). `scan` packets are compared one by one; the whole buffer costs
//!    the same at any length.
//! 2. Ties (reconstruction): of equally near packets the newest is dropped, so the arrival before a queued packet; `tie
//!    = "oldest"` is the other rule.
//! 3. Method 2, and packets without the option: as in `ddred`. (reconstruction)
//! 4. A limit in bytes: the nearest packet is dropped until the arrival fits or is the nearest itself. An arrival that
//!    would not fit into the empty queue is dropped alone. (reconstruction)
//! 5. A limit of N holds N packets; in ns-2's DropTail N - 1 (`capacity_rule = "n_minus_1"`).
//! 6. ECN plays no part: there is no early test, and an overflow is always a drop.
//!
//! Rules beside the paper's words, and tests: `docs/algorithms/ddred.md`.
//!
//! ## Example
//! ```
//! use earlydrop_aqm::{catalogue, gate::Gate, params::{Value, Values}, policy::Limit, random::Generator};
//! use earlydrop_aqm::{discipline::Fifo, Discipline, Packet, Time};
//!
//! let link = catalogue::Link { rate_bps: 10e6, delay_s: 0.01 };
//! let limit = Limit::Packets(3);
//! let mut values = Values::new();
//! values.set("scan", Value::Whole(1));
//! let catalogue::Built::Policy(policy) = (catalogue::find("ddtail").unwrap().build)(&values, &link, limit).unwrap()
//!     else { unreachable!() };
//! let mut queue = Fifo::new(Gate::new(policy, limit, false, Generator::stream(1, "queue")));
//! // From 2, 7, 5 and 6 hops away: only the last packet of the queue is compared, so 5 is dropped and 2 stays.
//! for hops in [2, 7, 5, 6] {
//!     let packet = Packet { initial_ttl: 32, ttl: 32 - hops, ..Packet::new(u64::from(hops), 1000) };
//!     queue.enqueue(packet, Time::ZERO, &mut |victim, _| assert_eq!(victim.flow, 5));
//! }
//! assert_eq!(queue.packets(), 3);
//! ```

use crate::catalogue::{AqmSpec, Built};
use crate::params::{Param, Unit, Values};
use crate::parts::capacity;
use crate::parts::distance::{self, Nearest};
use crate::policy::{Context, Limit, Needs, Policy, QueueView, Reason, Room, Verdict};
use crate::ring::Ring;
use crate::Packet;

const OWN: [Param; 2] = [
    Param::whole("scan", Unit::None, (0, 1_000_000), 0).symbol("N").says(
        "our choice; Dedu, Linck & Spies 2007, section IV.B leave N open",
        "How many packets of the queue, counted from its tail, are compared with the arrival; 0: all of them.",
    ),
    capacity::CAPACITY_RULE,
];

/// The declaration.
pub const SPEC: AqmSpec = AqmSpec {
    summary:
        "When the queue is full, the packet that has come the shortest way is dropped: the arrival, or one of the queue",
    source: "Dedu, Linck, Spies: Distance-dependent RED policy (DDRED), 2007, section IV.B",
    params: &[&OWN, &distance::PARAMS],
    build: &|values, _, limit| Ok(Built::Policy(Box::new(DdTail::new(values, limit)))),
    ..AqmSpec::named("ddtail", "DD tail drop", "plain queues", 2007)
};

/// The policy: it acts only at a full buffer.
pub struct DdTail {
    /// When an arrival finds space in the buffer.
    room: Room,
    /// How many packets are compared; `None` for all.
    scan: Option<u64>,
    /// Every packet of the queue, by distance.
    waiting: Nearest,
}

impl DdTail {
    fn new(values: &Values, limit: Limit) -> Self {
        let scan = Some(values.whole(&OWN, "scan") as u64).filter(|&n| n > 0);
        DdTail { room: capacity::room(values, limit), scan, waiting: Nearest::new(values) }
    }

    /// The packet that gives way to `arrival`, if one does.
    fn loser(&mut self, arrival: &Packet, ring: &Ring) -> Option<u64> {
        let Some(n) = self.scan else { return self.waiting.nearer_than(arrival) };
        let waiting = ring.iter().rev();
        self.waiting.nearest_of(waiting.take(n as usize), arrival)
    }
}

impl Policy for DdTail {
    fn needs(&self) -> Needs {
        Needs { dequeue: false, contents: true }
    }

    fn room(&self, _limit: Limit) -> Room {
        self.room
    }

    fn on_enqueue(&mut self, _packet: &Packet, queue: &QueueView<'_>, _cx: &mut Context<'_>) -> Verdict {
        if let Some(ring) = queue.contents {
            self.waiting.advance(ring);
        }
        Verdict::Pass
    }

    fn on_overflow(&mut self, _: Verdict, packet: &Packet, queue: &QueueView<'_>, cx: &mut Context<'_>) -> Verdict {
        let ring = queue.contents.filter(|_| self.room.admits(packet, 0, 0));
        let Some(serial) = ring.and_then(|ring| self.loser(packet, ring)) else {
            return Verdict::Drop(Reason::Overflow);
        };
        if let Some(loser) = ring.and_then(|ring| ring.get(serial)) {
            self.waiting.remove(loser, serial);
        }
        cx.victims.push(serial);
        Verdict::Victims { reason: Reason::Overflow, with_arrival: false, signal: false }
    }

    fn on_admitted(&mut self, packet: &Packet, serial: u64) {
        if self.scan.is_none() {
            self.waiting.insert(packet, serial);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::prelude::*;

    /// Distances of the packets that are dropped, 0 for the arrival, when `packets` arrive and none leaves.
    fn dead(limit: Limit, more: &[(&'static str, Value)], packets: &[(u8, u32)]) -> Vec<u8> {
        let values = Values::of(more);
        let policy = DdTail::new(&values, limit);
        let random = Generator::custom(|| panic!("nothing is drawn"));
        let mut queue = Fifo::new(Gate::new(Box::new(policy), limit, true, random));
        let mut dead = Vec::new();
        for (tag, &(hops, size)) in packets.iter().enumerate() {
            let packet = Packet { initial_ttl: 64, ttl: 64 - hops, tag: tag as u32, ..Packet::new(1, size) };
            queue.enqueue(packet, Time::ZERO, &mut |victim, reason| {
                assert_eq!(reason, Reason::Overflow);
                dead.push(if victim.tag == packet.tag { 0 } else { victim.initial_ttl - victim.ttl });
            });
        }
        dead
    }

    fn small(hops: &[u8]) -> Vec<(u8, u32)> {
        hops.iter().map(|&hops| (hops, 100)).collect()
    }

    #[test]
    fn the_nearer_of_arrival_and_queue_dies_when_the_queue_is_full() {
        let limit = Limit::Packets(3);
        assert_eq!(dead(limit, &[], &small(&[5, 3, 7])), []);
        assert_eq!(dead(limit, &[], &small(&[5, 3, 7, 2])), [0]);
        assert_eq!(dead(limit, &[], &small(&[5, 3, 7, 3])), [0], "a tie");
        assert_eq!(dead(limit, &[], &small(&[5, 3, 7, 4])), [3]);
        assert_eq!(dead(limit, &[("tie", Value::Choice("oldest"))], &small(&[5, 3, 7, 3])), [3]);
        assert_eq!(dead(limit, &[("capacity_rule", Value::Choice("n_minus_1"))], &small(&[5, 3, 7])), [3]);
    }

    #[test]
    fn only_the_last_n_are_compared() {
        let scan = |n, hops: &[u8]| dead(Limit::Packets(4), &[("scan", Value::Whole(n))], &small(hops));
        assert_eq!(scan(1, &[2, 3, 4, 5, 6]), [5]);
        assert_eq!(scan(3, &[2, 3, 4, 5, 6]), [3]);
        assert_eq!(scan(4, &[2, 3, 4, 5, 6]), [2]);
        assert_eq!(scan(5, &[2, 3, 4, 5, 6]), [2], "more than there are");
        assert_eq!(scan(0, &[2, 3, 4, 5, 6]), [2]);
        // The drop of 5 has left a hole at the tail; the last two packets are now 4 and 6.
        assert_eq!(scan(2, &[2, 3, 4, 5, 6, 7]), [4, 5]);
    }

    #[test]
    fn a_large_arrival_pushes_out_several_until_it_is_the_nearest_itself() {
        let limit = Limit::Bytes(1000);
        let full = [(5, 400), (3, 300), (8, 300)];
        let then = |arrival| [&full[..], &[arrival]].concat();
        assert_eq!(dead(limit, &[], &then((9, 600))), [3, 5]);
        assert_eq!(dead(limit, &[], &then((4, 600))), [3, 0]);
        assert_eq!(dead(limit, &[], &then((9, 1001))), [0]);
        assert_eq!(dead(limit, &[], &then((9, 1000))), [3, 5, 8]);
    }
}
