//! # WRR
//!
//! ## What it does
//! Weighted round robin over the eight traffic classes of the packets. Classes with packets take turns; class i sends
//! up to `weight_i` packets in a turn, or, with `unit = "byte"`, earns `weight_i * quantum` bytes per turn as in DRR. A
//! class without packets is passed over and loses its credit. Backlogged classes share the link by their weights, in
//! packets or in bytes.
//!
//! ## Source
//! M. Katevenis, S. Sidiropoulos, C. Courcoubetis, "Weighted round-robin cell multiplexing in a general-purpose ATM
//! switch chip", IEEE JSAC 9(8), 1991, for packets of one size (no copy was at hand); bytes: deficit round robin, see
//! `drr`.
//!
//! ## Differences
//! The source fixes the share of a class and no more. The rest is our choice:
//! 1. A class sends the packets of its turn one after another; the cell multiplexer spreads them over the round.
//! 2. A class that becomes active joins the end, as in DRR, whatever its number.
//! 3. All classes share the queue's limit. When the buffer is full, the class with the most bytes loses a packet at its
//!    head (`victim = "longest_head"`, as in DRR) or its tail, or the arrival is dropped.
//!
//! ## Example
//! ```
//! use earlydrop_aqm::{catalogue, params::{Value, Values}, policy::Limit, random::Generator, Packet, Time};
//!
//! let link = catalogue::Link { rate_bps: 10e6, delay_s: 0.01 };
//! let mut values = Values::new();
//! values.set("weight_0", Value::Whole(1)).set("weight_5", Value::Whole(3));
//! let catalogue::Built::Discipline(finish) = (catalogue::find("wrr").unwrap().build)(&values, &link, Limit::Packets(50)).unwrap()
//!     else { unreachable!() };
//! let mut queue = finish(false, Generator::stream(1, "queue"));
//! for class in [0, 5] {
//!     for _ in 0..8 {
//!         queue.enqueue(Packet { class, ..Packet::new(1, 1000) }, Time::ZERO, &mut |_, _| {});
//!     }
//! }
//! let order: Vec<u8> = (0..8).filter_map(|_| queue.dequeue(Time::ZERO, &mut |_, _| {})).map(|p| p.class).collect();
//! assert_eq!(order, [0, 5, 5, 5, 0, 5, 5, 5]);
//! ```

use crate::catalogue::{AqmSpec, Built};
use crate::params::{words, Param, Unit, Values, Word};
use crate::parts::class_fifos::End;
use crate::parts::class_weights::{self, class_of, CLASSES};
use crate::parts::classful::Classful;
use crate::parts::deficit_round::{DeficitRound, Place, Price, Rounds, Victim};
use crate::policy::Limit;
use crate::Packet;

const WEIGHTS: [Param; CLASSES] =
    class_weights::params("Packets that this class sends in a turn, or quanta that it earns.");

words! {
    /// What the weights count.
    enum WeightsIn {
        Packets = "packet",
        /// Quanta of bytes.
        Bytes = "byte",
    }
}

words! {
    /// What is dropped when there is no space.
    enum Dropped {
        /// The oldest packet of the class with the most bytes.
        LongestHead = "longest_head",
        /// The newest packet of the class with the most bytes.
        LongestTail = "longest_tail",
        /// The arrival.
        Arrival = "arrival",
    }
}

const PARAMS: [Param; 3] = [
    Param::word("unit", WeightsIn::WORDS, "packet").says(
        "Katevenis, Sidiropoulos, Courcoubetis 1991; byte: deficit round robin",
        "Whether the weights are packets or quanta of bytes.",
    ),
    Param::whole("quantum", Unit::Bytes, (1, 1_000_000), 1500).symbol("Q").says(
        "Ethernet; Shreedhar & Varghese 1996: at least the largest packet",
        "Bytes that a weight of 1 earns in a turn (byte).",
    ),
    Param::word("victim", Dropped::WORDS, "longest_head").says(
        "as DRR in ns-2.35",
        "What is dropped when the buffer is full: a packet of the class with the most bytes, or the arrival.",
    ),
];

/// The declaration.
pub const SPEC: AqmSpec = AqmSpec {
    summary: "Weighted round robin over the packets' classes",
    source: "Katevenis, Sidiropoulos, Courcoubetis: Weighted round-robin cell multiplexing, JSAC 9(8), 1991",
    params: &[&WEIGHTS, &PARAMS],
    build: &|values, _, limit| {
        let wrr = Classful::new(wrr(values, limit));
        Ok(Built::Discipline(Box::new(|_, _| Box::new(wrr))))
    },
    ..AqmSpec::named("wrr", "WRR", "several queues", 1991)
};

/// WRR: a round over classes.
type Wrr = Rounds<ByClass>;

fn wrr(values: &Values, limit: Limit) -> Wrr {
    let (price, quantum) = match values.choice(&PARAMS, "unit") {
        WeightsIn::Packets => (Price::Packets, 1),
        WeightsIn::Bytes => (Price::Bytes, values.whole(&PARAMS, "quantum") as u64),
    };
    let victim = match values.choice(&PARAMS, "victim") {
        Dropped::LongestHead => Victim::Longest(End::Head),
        Dropped::LongestTail => Victim::Longest(End::Tail),
        Dropped::Arrival => Victim::Arrival,
    };
    let quanta = class_weights::read(values, &WEIGHTS).map(|weight| weight * quantum);
    Rounds::new(DeficitRound::new(quanta, price, limit, victim), ByClass)
}

/// A packet's queue is its class.
struct ByClass;

impl Place for ByClass {
    fn place(&self, packet: &Packet) -> usize {
        class_of(packet)
    }

    fn is_class(&self) -> bool {
        true
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::parts::classful::Schedule as _;
    use crate::prelude::*;

    fn built(pairs: &[(&'static str, Value)], limit: Limit) -> Wrr {
        let values = Values::of(pairs);
        wrr(&values, limit)
    }

    fn arrive(queue: &mut Wrr, class: u8, size: u32, packets: u32) -> Vec<u8> {
        let mut lost = Vec::new();
        for _ in 0..packets {
            queue.arrive(Packet { class, ..Packet::new(9, size) }, Time::ZERO, &mut |victim| lost.push(victim.class));
        }
        lost
    }

    fn take(queue: &mut Wrr) -> Option<u8> {
        queue.take(Time::ZERO, &mut |_| {}).map(|p| p.class)
    }

    fn served(queue: &mut Wrr) -> Vec<u8> {
        std::iter::from_fn(|| take(queue)).collect()
    }

    #[test]
    fn weights_are_packets_a_turn() {
        let mut queue = built(&[("weight_1", Value::Whole(3)), ("weight_4", Value::Whole(2))], Limit::Packets(100));
        arrive(&mut queue, 7, 1500, 3);
        arrive(&mut queue, 1, 40, 5);
        arrive(&mut queue, 4, 700, 3);
        assert_eq!(served(&mut queue), [7, 1, 1, 1, 4, 4, 7, 1, 1, 4, 7]);
    }

    #[test]
    fn an_idle_class_is_passed_over_and_its_credit_is_lost() {
        let mut queue = built(&[("weight_2", Value::Whole(3))], Limit::Packets(100));
        arrive(&mut queue, 2, 1000, 1);
        arrive(&mut queue, 0, 1000, 5);
        assert_eq!((take(&mut queue), take(&mut queue)), (Some(2), Some(0)), "2 leaves two packets of its turn unused");
        arrive(&mut queue, 2, 1000, 7);
        // The turn of class 0 is over; class 2 may send three again, not five.
        assert_eq!(served(&mut queue), [2, 2, 2, 0, 2, 2, 2, 0, 2, 0, 0]);
    }

    #[test]
    fn shares_are_as_the_weights_by_packets_or_by_bytes() {
        let weights = [("weight_0", Value::Whole(1)), ("weight_1", Value::Whole(2)), ("weight_2", Value::Whole(5))];
        for unit in ["packet", "byte"] {
            let mut queue = built(&weights, Limit::Packets(100_000));
            if unit == "byte" {
                queue = built(&[&weights[..], &[("unit", Value::Choice("byte"))]].concat(), Limit::Packets(100_000));
            }
            for (class, size) in [(0, 1500), (1, 40), (2, 700)] {
                arrive(&mut queue, class, size, 20_000);
            }
            let mut sent = [0_f64; 3];
            for _ in 0..8000 {
                let packet = queue.take(Time::ZERO, &mut |_| {}).unwrap();
                sent[usize::from(packet.class)] += if unit == "byte" { f64::from(packet.size) } else { 1.0 };
            }
            for (class, weight) in [(1, 2.0), (2, 5.0)] {
                assert!((sent[class] / sent[0] / weight - 1.0).abs() < 0.02, "{unit}: {sent:?}");
            }
        }
    }

    #[test]
    fn without_room_the_longest_class_or_the_arrival_loses() {
        for (victim, lost) in [("longest_head", 0), ("longest_tail", 0), ("arrival", 6)] {
            let mut queue = built(&[("victim", Value::Choice(victim))], Limit::Packets(5));
            assert!(arrive(&mut queue, 0, 1000, 5).is_empty());
            assert_eq!(arrive(&mut queue, 6, 1000, 1), [lost], "{victim}");
            assert_eq!(queue.packets(), 5);
        }
    }

    #[test]
    fn a_class_that_does_not_exist_is_the_last() {
        let mut queue = built(&[("weight_7", Value::Whole(2))], Limit::Packets(9));
        arrive(&mut queue, 200, 100, 2);
        arrive(&mut queue, 0, 100, 2);
        assert_eq!(served(&mut queue), [200, 200, 0, 0]);
    }
}
