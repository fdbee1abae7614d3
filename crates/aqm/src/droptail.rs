//! # DropTail
//!
//! ## What it does
//! Rejects an arrival if and only if the queue is full. No average, no early drop, no random number.
//!
//! ## Source
//! Folklore; ns-2.35 `queue/drop-tail.cc` and ns-3 `DropTailQueue` for the two capacity rules.
//!
//! ## Differences
//! 1. A limit of N holds N packets in ns-3 and Linux, N - 1 in ns-2 (which tests `length + 1 >= limit`). Here N by
//!    default; `capacity_rule = "n_minus_1"` is ns-2's.
//!
//! ## Example
//! ```
//! use earlydrop_aqm::{catalogue, gate::Gate, params::Values, policy::Limit, random::Generator};
//! use earlydrop_aqm::{discipline::Fifo, Discipline, Packet, Time};
//!
//! let link = catalogue::Link { rate_bps: 10e6, delay_s: 0.01 };
//! let catalogue::Built::Policy(policy) = (catalogue::find("droptail").unwrap().build)(&Values::new(), &link, Limit::Packets(2)).unwrap()
//!     else { unreachable!() };
//! let mut queue = Fifo::new(Gate::new(policy, Limit::Packets(2), false, Generator::stream(1, "queue")));
//! for _ in 0..3 {
//!     queue.enqueue(Packet::new(1, 1000), Time::ZERO, &mut |_, _| {});
//! }
//! assert_eq!((queue.packets(), queue.counters().overflow_drops), (2, 1));
//! ```

use crate::catalogue::{AqmSpec, Built};
use crate::params::Param;
use crate::parts::capacity;
use crate::policy::{Context, Limit, Policy, QueueView, Room, Verdict};
use crate::Packet;

const PARAMS: [Param; 1] = [capacity::CAPACITY_RULE];

/// The declaration.
pub const SPEC: AqmSpec = AqmSpec {
    summary: "Rejects arrivals when the queue is full, and only then",
    source: "Folklore; ns-2.35 queue/drop-tail.cc, ns-3 DropTailQueue",
    params: &[&PARAMS],
    build: &|values, _, limit| Ok(Built::Policy(Box::new(DropTail { room: capacity::room(values, limit) }))),
    ..AqmSpec::named("droptail", "DropTail", "plain queues", 1980)
};

/// The policy: never says anything; the port's limit does the work.
pub struct DropTail {
    /// When an arrival finds space in the buffer.
    room: Room,
}

impl Policy for DropTail {
    fn room(&self, _limit: Limit) -> Room {
        self.room
    }

    fn on_enqueue(&mut self, _packet: &Packet, _queue: &QueueView<'_>, _cx: &mut Context<'_>) -> Verdict {
        Verdict::Pass
    }
}
