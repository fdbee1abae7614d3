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
use crate::params::{Kind, Param, Unit, Value};
use crate::policy::{Context, Limit, Policy, QueueView, Room, Verdict};
use crate::Packet;

const PARAMS: [Param; 1] = [Param {
    name: "capacity_rule",
    symbol: "",
    unit: Unit::None,
    kind: Kind::Choice(&["n", "n_minus_1"]),
    default: Value::Choice("n"),
    source: "ns-3, Linux; n_minus_1: ns-2.35",
    doc: "How many packets a limit of N holds: N, or N - 1 as in ns-2.",
}];

/// The declaration.
pub const SPEC: AqmSpec = AqmSpec {
    name: "droptail",
    title: "DropTail",
    family: "plain queues",
    year: 1980,
    summary: "Rejects arrivals when the queue is full, and only then",
    source: "Folklore; ns-2.35 queue/drop-tail.cc, ns-3 DropTailQueue",
    file: include_str!("droptail.rs"),
    params: &[&PARAMS],
    check: |_, _| Ok(()),
    build: |values, _, _| {
        Ok(Built::Policy(Box::new(DropTail { n_minus_1: values.get(&PARAMS[0]) == Value::Choice("n_minus_1") })))
    },
    curve: None,
};

/// The policy: never says anything; the port's limit does the work.
pub struct DropTail {
    n_minus_1: bool,
}

impl Policy for DropTail {
    fn room(&self, limit: Limit) -> Room {
        match (limit, self.n_minus_1) {
            (Limit::Packets(n), true) => Room::PacketsBelow(n.saturating_sub(1)),
            (Limit::Bytes(n), true) => Room::BytesWithArrivalBelow(n),
            (limit, false) => Room::holding(limit),
        }
    }

    fn on_enqueue(&mut self, _packet: &Packet, _queue: &QueueView<'_>, _cx: &mut Context<'_>) -> Verdict {
        Verdict::Pass
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn holds(n_minus_1: bool, limit: Limit, size: u32) -> u64 {
        let room = DropTail { n_minus_1 }.room(limit);
        let packet = Packet::new(0, size);
        (0..).take_while(|&n| room.admits(&packet, n, n * u64::from(size))).count() as u64
    }

    #[test]
    fn a_limit_of_n_holds_n_or_n_minus_1() {
        assert_eq!(holds(false, Limit::Packets(20), 1000), 20);
        assert_eq!(holds(true, Limit::Packets(20), 1000), 19);
        assert_eq!(holds(false, Limit::Bytes(20_000), 1000), 20);
        assert_eq!(holds(true, Limit::Bytes(20_000), 1000), 19);
        assert_eq!(holds(true, Limit::Packets(1), 1000), 0);
    }
}
