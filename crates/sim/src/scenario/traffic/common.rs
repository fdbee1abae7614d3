//! Keys of every kind of traffic.

use serde_json::json;

use super::super::bounds;
use super::super::forms::{Name, OneOf, Own, Range, Whole};
use super::super::keys::{Key, Rows};
use super::super::model::InjectedRandom;
use super::super::schemas;
use super::super::values::INJECTED;
use super::model::Direction;
use super::starts::START;

pub(super) static NAME: Key<Name> =
    Key::optional("name", Name("a text"), "none", "For people; different from all others.");
pub(super) static COUNT: Key<Whole> = Key::or("count", COUNTS, 1, "Number of flows.");
pub(super) static COUNT_PAIRS: Key<Whole> =
    Key::optional("count", COUNTS, "one a pair of the topology over TCP, 1 over UDP", "Number of flows.");
const COUNTS: Whole = Whole { low: 1, high: bounds::COUNT };
pub(super) static CLASS: Key<Whole> = Key::or(
    "class",
    Whole { low: 0, high: bounds::CLASS },
    0,
    "Class of the packets, for disciplines that tell classes apart (WRR, WRED, RIO...).",
);
pub(super) static DSCP: Key<Whole> = Key::optional(
    "dscp",
    Whole { low: 0, high: 63 },
    "8 class",
    "DSCP of the packets and of their ACKs, for CAKE's tins: 8 is CS1, 46 is EF, 56 is CS7.",
);
pub(super) static DIRECTION: Key<OneOf<Direction>> = Key::or(
    "direction",
    OneOf { all: &Direction::ALL, name: Direction::name },
    Direction::Forward,
    "Which way data go between the pairs of a topology; over a dumbbell `reverse` sends them through the queue \
     `reverse`, and their ACKs through `bottleneck`.",
);
pub(super) static PAIRS: Key<Own<Vec<u32>, ()>> = Key::optional(
    "pairs",
    Own {
        kind: "whole number or list",
        range: Range::Words("pairs, by number from 1"),
        wanted: "a list of pairs",
        schema: || {
            let pair = json!({ "type": "integer", "minimum": 1 });
            json!({ "anyOf": [pair.clone(), schemas::list(pair)] })
        },
        write: |pairs| pairs.iter().map(|pair| pair + 1).collect(),
        read: (),
    },
    "all",
    "Pairs of a topology that the flows are assigned to in order.",
);
pub(super) static RANDOM: Key<Own<InjectedRandom>> = Key::optional(
    "random",
    INJECTED,
    "none",
    "Another simulator's random numbers, to follow its run; only with `count = 1`.",
);
/// Keys of every entry over UDP, without `kind`.
const COMMON: Rows = &[&NAME, &COUNT, &START, &CLASS, &DSCP, &DIRECTION, &PAIRS, &RANDOM];
/// Keys of every entry over TCP, without `kind` and the keys of TCP.
const COMMON_TCP: Rows = &[&NAME, &COUNT_PAIRS, &START, &CLASS, &DSCP, &DIRECTION, &PAIRS, &RANDOM];

/// Keys of every entry over TCP, or of every entry over UDP.
pub(in crate::scenario) fn keys(over_tcp: bool) -> Rows {
    if over_tcp {
        COMMON_TCP
    } else {
        COMMON
    }
}
