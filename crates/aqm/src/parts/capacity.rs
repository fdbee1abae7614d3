//! How many packets a limit holds: the rule that plain queues choose.

use crate::params::{words, Param, Values, Word};
use crate::policy::{Context, Limit, QueueView, Reason, Room, Verdict};
use crate::Packet;

words! {
    /// How many packets a limit of N holds.
    enum Capacity {
        /// N packets.
        N = "n",
        /// N - 1 packets, as ns-2.35 tests it.
        NMinus1 = "n_minus_1",
    }
}

/// The parameter `capacity_rule`.
pub const CAPACITY_RULE: Param = Param::word("capacity_rule", Capacity::WORDS, "n")
    .says("ns-3, Linux; n_minus_1: ns-2.35", "How many packets a limit of N holds: N, or N - 1 as in ns-2.");

/// When an arrival finds space under `limit`, by the rule in `values`.
pub fn room(values: &Values, limit: Limit) -> Room {
    match values.choice(&[CAPACITY_RULE], CAPACITY_RULE.name) {
        Capacity::N => Room::holding(limit),
        Capacity::NMinus1 => n_minus_1(limit),
    }
}

/// ns-2's rule: a limit of N holds N - 1, since ns-2 tests with the arrival included.
pub fn n_minus_1(limit: Limit) -> Room {
    match limit {
        Limit::Packets(n) => Room::PacketsBelow(n.saturating_sub(1)),
        Limit::Bytes(n) => Room::BytesWithArrivalBelow(n),
    }
}

/// A full buffer drops its oldest packet for an arrival that can ever fit, else the arrival (ns-2's `drop_front_`).
pub fn oldest_gives_way(room: Room, packet: &Packet, queue: &QueueView<'_>, cx: &mut Context<'_>) -> Verdict {
    match queue.contents.and_then(|ring| ring.at(0)) {
        Some((serial, _)) if room.admits(packet, 0, 0) => {
            cx.victims.push(serial);
            Verdict::Victims { reason: Reason::Overflow, with_arrival: false, signal: false }
        }
        _ => Verdict::Drop(Reason::Overflow),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::params::Value;

    fn holds(rule: &'static str, limit: Limit, size: u32) -> u64 {
        let values = Values::of(&[("capacity_rule", Value::Choice(rule))]);
        let room = room(&values, limit);
        let packet = Packet::new(0, size);
        (0..).take_while(|&n| room.admits(&packet, n, n * u64::from(size))).count() as u64
    }

    #[test]
    fn a_limit_of_n_holds_n_or_n_minus_1() {
        assert_eq!(holds("n", Limit::Packets(20), 1000), 20);
        assert_eq!(holds("n_minus_1", Limit::Packets(20), 1000), 19);
        assert_eq!(holds("n", Limit::Bytes(20_000), 1000), 20);
        assert_eq!(holds("n_minus_1", Limit::Bytes(20_000), 1000), 19);
        assert_eq!(holds("n_minus_1", Limit::Packets(1), 1000), 0);
    }
}
