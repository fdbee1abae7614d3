//! How many packets a limit holds: the rule that plain queues choose.

use crate::params::{words, Kind, Param, Unit, Value, Values, Word};
use crate::policy::{Limit, Room};

words! {
    /// How many packets a limit of N holds.
    enum Capacity {
        /// N.
        N = "n",
        /// N - 1, as ns-2.35 tests it.
        NMinus1 = "n_minus_1",
    }
}

/// The parameter.
pub const CAPACITY_RULE: Param = Param {
    name: "capacity_rule",
    symbol: "",
    unit: Unit::None,
    kind: Kind::Choice(Capacity::WORDS),
    default: Value::Choice("n"),
    source: "ns-3, Linux; n_minus_1: ns-2.35",
    doc: "How many packets a limit of N holds: N, or N - 1 as in ns-2.",
};

/// When an arrival finds room under `limit`, by the rule in `values`.
pub fn room(values: &Values, limit: Limit) -> Room {
    match (values.choice(&[CAPACITY_RULE], CAPACITY_RULE.name), limit) {
        (Capacity::N, limit) => Room::holding(limit),
        (Capacity::NMinus1, Limit::Packets(n)) => Room::PacketsBelow(n.saturating_sub(1)),
        (Capacity::NMinus1, Limit::Bytes(n)) => Room::BytesWithArrivalBelow(n),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::Packet;

    fn holds(rule: &'static str, limit: Limit, size: u32) -> u64 {
        let mut values = Values::new();
        values.set("capacity_rule", Value::Choice(rule));
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
