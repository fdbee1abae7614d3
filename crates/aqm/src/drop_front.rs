//! # Drop-front
//!
//! ## What it does
//! When the queue is full, the packet at its head is dropped and the arrival joins the tail. As much is lost as with
//! DropTail, but the sender is notified a queueing delay earlier, and the packets that stay are the newer ones.
//!
//! ## Source
//! T. V. Lakshman, A. Neidhardt, T. J. Ott, "The drop from front strategy in TCP and in TCP over ATM", INFOCOM 1996
//! (known from the literature, its text was not at hand). The rule is that of ns-2.35 `queue/drop-tail.cc` with
//! `drop_front_`: the arrival is appended, then the head is discarded.
//!
//! ## Differences
//! 1. A limit of N holds N packets, N - 1 in ns-2 (`capacity_rule = "n_minus_1"`), as in `droptail`.
//! 2. A limit in bytes: ns-2 discards one packet, however small, and may then hold more than its limit. Here as many
//!    are dropped as the arrival needs. (reconstruction)
//! 3. An arrival that would not fit into the empty queue is dropped itself, and no other packet is. (reconstruction)
//! 4. The head is the oldest packet that waits. The packet in transmission is beyond reach.
//!
//! ## Example
//! ```
//! use earlydrop_aqm::{catalogue, gate::Gate, params::Values, policy::Limit, random::Generator};
//! use earlydrop_aqm::{discipline::Fifo, Discipline, Packet, Time};
//!
//! let link = catalogue::Link { rate_bps: 10e6, delay_s: 0.01 };
//! let spec = catalogue::find("drop_front").unwrap();
//! let catalogue::Built::Policy(policy) = (spec.build)(&Values::new(), &link, Limit::Packets(2)).unwrap()
//!     else { unreachable!() };
//! let mut queue = Fifo::new(Gate::new(policy, Limit::Packets(2), false, Generator::stream(1, "queue")));
//! for flow in 1..=3 {
//!     queue.enqueue(Packet::new(flow, 1000), Time::ZERO, &mut |packet, _| assert_eq!(packet.flow, 1));
//! }
//! let left: Vec<u64> = std::iter::from_fn(|| queue.dequeue(Time::ZERO, &mut |_, _| {})).map(|p| p.flow).collect();
//! assert_eq!(left, [2, 3]);
//! ```

use crate::catalogue::{AqmSpec, Built};
use crate::params::Param;
use crate::parts::capacity;
use crate::policy::{Context, Limit, Needs, Policy, QueueView, Room, Verdict};
use crate::Packet;

const PARAMS: [Param; 1] = [capacity::CAPACITY_RULE];

/// The declaration.
pub const SPEC: AqmSpec = AqmSpec {
    summary: "When the queue is full, the packet at its head is dropped in favour of the arrival",
    source: "Lakshman, Neidhardt, Ott: The drop from front strategy in TCP and in TCP over ATM, INFOCOM 1996",
    params: &[&PARAMS],
    build: &|values, _, limit| Ok(Built::Policy(Box::new(DropFront { room: capacity::room(values, limit) }))),
    ..AqmSpec::named("drop_front", "Drop-front", "plain queues", 1996)
};

/// The policy: it acts only at a full buffer.
pub struct DropFront {
    /// When an arrival finds space in the buffer.
    room: Room,
}

impl Policy for DropFront {
    fn needs(&self) -> Needs {
        Needs { dequeue: false, contents: true }
    }

    fn room(&self, _limit: Limit) -> Room {
        self.room
    }

    fn on_enqueue(&mut self, _packet: &Packet, _queue: &QueueView<'_>, _cx: &mut Context<'_>) -> Verdict {
        Verdict::Pass
    }

    fn on_overflow(&mut self, _: Verdict, packet: &Packet, queue: &QueueView<'_>, cx: &mut Context<'_>) -> Verdict {
        capacity::oldest_gives_way(self.room, packet, queue, cx)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::prelude::*;

    /// Which packets die, by size, when packets of these sizes arrive and none leaves; and how many wait in the end.
    fn victims(rule: &'static str, limit: Limit, sizes: &[u32]) -> (Vec<u32>, u64) {
        let values = Values::of(&[("capacity_rule", Value::Choice(rule))]);
        let policy = DropFront { room: capacity::room(&values, limit) };
        let mut queue = Fifo::new(Gate::new(Box::new(policy), limit, false, Generator::stream(1, "queue")));
        let mut dead = Vec::new();
        for &size in sizes {
            queue.enqueue(Packet::new(1, size), Time::ZERO, &mut |packet, reason| {
                assert_eq!(reason, Reason::Overflow);
                dead.push(packet.size);
            });
        }
        (dead, queue.packets())
    }

    #[test]
    fn the_oldest_dies_from_the_arrival_after_the_limit_on() {
        assert_eq!(victims("n", Limit::Packets(3), &[1, 2, 3]), (vec![], 3));
        assert_eq!(victims("n", Limit::Packets(3), &[1, 2, 3, 4, 5]), (vec![1, 2], 3));
        assert_eq!(victims("n_minus_1", Limit::Packets(3), &[1, 2, 3, 4]), (vec![1, 2], 2));
    }

    #[test]
    fn an_arrival_without_a_predecessor_dies_itself() {
        assert_eq!(victims("n_minus_1", Limit::Packets(1), &[1, 2]), (vec![1, 2], 0));
        assert_eq!(victims("n", Limit::Packets(0), &[1]), (vec![1], 0));
    }

    #[test]
    fn as_many_die_as_a_large_arrival_needs_and_none_for_one_that_never_fits() {
        assert_eq!(victims("n", Limit::Bytes(1000), &[300, 300, 400]), (vec![], 3));
        assert_eq!(victims("n", Limit::Bytes(1000), &[300, 300, 400, 500]), (vec![300, 300], 2));
        assert_eq!(victims("n", Limit::Bytes(1000), &[300, 300, 400, 1000]), (vec![300, 300, 400], 1));
        assert_eq!(victims("n", Limit::Bytes(1000), &[300, 300, 400, 1001]), (vec![1001], 3));
        assert_eq!(victims("n_minus_1", Limit::Bytes(1000), &[300, 300, 400]), (vec![300], 2));
    }
}
