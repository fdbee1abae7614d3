//! # DRR
//!
//! ## What it does
//! Deficit round robin. Flows are hashed into `buckets` FIFOs that take turns. A bucket's turn adds `quantum` bytes to
//! its deficit; it sends while the deficit covers the packet at its head, pays the packet's size, and keeps the rest
//! for its next turn. An empty bucket loses its deficit. A bucket that becomes active goes last. When more waits than
//! the limit allows, packets are dropped from the bucket with the most bytes.
//!
//! ## Source
//! M. Shreedhar, G. Varghese, "Efficient fair queuing using deficit round robin", IEEE/ACM Transactions on Networking
//! 4(3), 1996. The rules are those of ns-2.35, `queue/drr.cc`, where the paper leaves them open.
//!
//! ## Differences
//! 1. ns-2 hashes the source address (and prints a line for each collision). Here the flow key is hashed, in the same
//!    way on every machine; `classify = "modulo"` takes the key modulo `buckets`, so that flows numbered from 0 never
//!    collide while there are buckets for them.
//! 2. ns-2 drops the packet at the head of the longest bucket; `victim = "longest_tail"` drops its newest packet. Of
//!    buckets with equally many bytes the one whose turn comes first loses, as in ns-2.
//! 3. ns-2's limit (`blimit_`) is in bytes. Here it is the queue's limit: with a limit in packets, packets are counted,
//!    and the bucket with the most bytes still loses.
//! 4. In ns-2, and here, a bucket that a drop empties in its own turn keeps the flag that this turn's quantum was paid.
//!    If it becomes active again, its first turn earns nothing.
//! 5. Rounds in which no deficit suffices are added up in one step: the order of packets stays, and a small quantum
//!    costs no time. The paper wants a quantum of at least the largest packet; ns-2's 250 B is less.
//!
//! ## Example
//! ```
//! use earlydrop_aqm::{catalogue, params::{Value, Values}, policy::Limit, random::Generator, Packet, Time};
//!
//! let link = catalogue::Link { rate_bps: 10e6, delay_s: 0.01 };
//! let mut values = Values::new();
//! values.set("classify", Value::Choice("modulo"));
//! let catalogue::Built::Discipline(finish) = (catalogue::find("drr").unwrap().build)(&values, &link, Limit::Packets(50)).unwrap()
//!     else { unreachable!() };
//! let mut queue = finish(false, Generator::stream(1, "queue"));
//! for (flow, size, packets) in [(0, 500, 3), (1, 200, 5), (2, 1000, 1)] {
//!     for _ in 0..packets {
//!         queue.enqueue(Packet::new(flow, size), Time::ZERO, &mut |_, _| {});
//!     }
//! }
//! let order: Vec<u64> = std::iter::from_fn(|| queue.dequeue(Time::ZERO, &mut |_, _| {})).map(|p| p.flow).collect();
//! assert_eq!(order, [1, 0, 1, 1, 0, 1, 1, 2, 0]);
//! ```

use crate::catalogue::{AqmSpec, Built};
use crate::params::{words, Param, Unit, Values, Word};
use crate::parts::class_fifos::End;
use crate::parts::classful::Classful;
use crate::parts::deficit_round::{DeficitRound, Place, Price, Rounds, Victim};
use crate::parts::hash;
use crate::policy::Limit;
use crate::Packet;

words! {
    /// How a flow finds its bucket.
    enum Classify {
        /// By a hash of its key.
        Hash = "hash",
        /// By its key modulo the number of buckets.
        Modulo = "modulo",
    }
}

words! {
    /// Which packet of the bucket with the most bytes is dropped when there is no space.
    enum Dropped {
        /// The oldest packet.
        LongestHead = "longest_head",
        /// The newest packet.
        LongestTail = "longest_tail",
    }
}

const PARAMS: [Param; 4] = [
    Param::whole("buckets", Unit::None, (1, 65_536), 10)
        .symbol("n")
        .says("ns-2.35, ns-default.tcl", "FIFOs among which flows are spread."),
    Param::whole("quantum", Unit::Bytes, (1, 1_000_000), 250)
        .symbol("Q")
        .says("ns-2.35", "Bytes that a bucket earns in each turn."),
    Param::word("classify", Classify::WORDS, "hash").says(
        "ns-2.35 hashes; modulo is ours",
        "How a flow finds its bucket: by a hash of its key, or by the key modulo the number of buckets.",
    ),
    Param::word("victim", Dropped::WORDS, "longest_head")
        .says("ns-2.35", "Which packet of the bucket with the most bytes is dropped when the buffer is full."),
];

/// The declaration.
pub const SPEC: AqmSpec = AqmSpec {
    summary: "Deficit round robin over hashed flows, drops from the longest",
    source:
        "Shreedhar, Varghese: Efficient fair queuing using deficit round robin, ToN 4(3), 1996; ns-2.35 queue/drr.cc",
    params: &[&PARAMS],
    build: &|values, _, limit| {
        let drr = Classful::new(drr(values, limit));
        Ok(Built::Discipline(Box::new(|_, _| Box::new(drr))))
    },
    ..AqmSpec::named("drr", "DRR", "several queues", 1996)
};

/// DRR: a round over hashed buckets.
type Drr = Rounds<Buckets>;

fn drr(values: &Values, limit: Limit) -> Drr {
    let (buckets, quantum) = (values.whole(&PARAMS, "buckets") as usize, values.whole(&PARAMS, "quantum") as u64);
    let end = match values.choice(&PARAMS, "victim") {
        Dropped::LongestHead => End::Head,
        Dropped::LongestTail => End::Tail,
    };
    let round = DeficitRound::new((0..buckets).map(|_| quantum), Price::Bytes, limit, Victim::Longest(end));
    Rounds::new(round, Buckets { buckets, classify: values.choice(&PARAMS, "classify") })
}

/// The hashed buckets, and how a flow finds its own.
struct Buckets {
    /// How many buckets there are.
    buckets: usize,
    /// Whether by hash or modulo.
    classify: Classify,
}

impl Place for Buckets {
    fn place(&self, packet: &Packet) -> usize {
        match self.classify {
            Classify::Hash => hash::bucket(packet.flow, 0, self.buckets),
            Classify::Modulo => (packet.flow % self.buckets as u64) as usize,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::parts::classful::Schedule as _;
    use crate::prelude::*;

    fn built(pairs: &[(&'static str, Value)], limit: Limit) -> Drr {
        let mut values = Values::of(&[("classify", Value::Choice("modulo"))]);
        for &(name, value) in pairs {
            values.set(name, value);
        }
        drr(&values, limit)
    }

    fn served(drr: &mut Drr, packets: &[(u64, u32, usize)]) -> String {
        for &(flow, size, times) in packets {
            for _ in 0..times {
                assert!(drr.arrive(Packet::new(flow, size), Time::ZERO, &mut |_| panic!("there is room")));
            }
        }
        std::iter::from_fn(|| drr.take(Time::ZERO, &mut |_| {})).map(|p| char::from(b'A' + p.flow as u8)).collect()
    }

    /// Worked by hand from ns-2's rules: flow A has 3 packets of 500 B, B 5 of 200 B, C 1 of 1000 B, all there at once.
    #[test]
    fn order_of_service_is_that_of_ns2() {
        let packets = [(0, 500, 3), (1, 200, 5), (2, 1000, 1)];
        assert_eq!(served(&mut built(&[], Limit::Packets(50)), &packets), "BABBABBCA");
        let mut larger = built(&[("quantum", Value::Whole(500))], Limit::Packets(50));
        assert_eq!(served(&mut larger, &packets), "ABBABBBCA");
    }

    #[test]
    fn a_deficit_of_exactly_the_size_suffices_and_one_byte_less_does_not() {
        for (size, order) in [(249, "AB"), (250, "AB"), (251, "BA")] {
            assert_eq!(served(&mut built(&[], Limit::Packets(9)), &[(0, size, 1), (1, 100, 1)]), order, "{size} B");
        }
    }

    #[test]
    fn a_bucket_that_drops_empty_in_its_turn_misses_one_when_it_comes_back() {
        let mut queue = built(&[("quantum", Value::Whole(500))], Limit::Bytes(850));
        let mut lost = Vec::new();
        let mut arrive = |queue: &mut Drr, flow, size| {
            queue.arrive(Packet::new(flow, size), Time::ZERO, &mut |victim| lost.push((victim.flow, victim.size)));
        };
        arrive(&mut queue, 0, 100);
        arrive(&mut queue, 0, 600);
        assert_eq!(queue.take(Time::ZERO, &mut |_| {}).map(|p| p.size), Some(100), "A has 400 B left of this turn");
        arrive(&mut queue, 1, 251);
        arrive(&mut queue, 0, 200);
        arrive(&mut queue, 2, 200);
        assert_eq!(lost, [(0, 600)]);
        assert_eq!(served(&mut queue, &[]), "BCA");
    }

    #[test]
    fn saturating_flows_get_equal_bytes_whatever_their_sizes() {
        let mut queue = built(&[("quantum", Value::Whole(1500))], Limit::Packets(4000));
        let mut bytes = [0_u64; 4];
        for (flow, size) in [(0, 1500), (1, 40), (2, 576), (3, 1499)] {
            for _ in 0..1000 {
                queue.arrive(Packet::new(flow, size), Time::ZERO, &mut |_| {});
            }
        }
        for _ in 0..1100 {
            let packet = queue.take(Time::ZERO, &mut |_| {}).unwrap();
            bytes[packet.flow as usize] += u64::from(packet.size);
        }
        // Shreedhar & Varghese, theorem: no two backlogged flows differ by more than a quantum and two packets.
        let (least, most) = (bytes.iter().min().unwrap(), bytes.iter().max().unwrap());
        assert!(most - least <= 1500 + 2 * 1500, "{bytes:?}");
    }

    #[test]
    fn the_flow_that_fills_the_buffer_pays_for_it() {
        let mut queue = built(&[], Limit::Bytes(25_000));
        let mut lost = [0; 2];
        for i in 0..200 {
            let flow = u64::from(i % 20 == 0);
            queue.arrive(Packet::new(flow, 1000), Time::ZERO, &mut |victim| lost[victim.flow as usize] += 1);
        }
        // Ten packets of flow 1 are less than half of the 25 that fit.
        assert_eq!(lost, [175, 0]);
        assert_eq!((queue.packets(), queue.bytes()), (25, 25_000));
    }

    #[test]
    fn buckets_hold_what_their_hash_gives_them() {
        let mut queue =
            built(&[("classify", Value::Choice("hash")), ("buckets", Value::Whole(2))], Limit::Packets(100));
        let rule = Buckets { buckets: 2, classify: Classify::Hash };
        let bucket = |flow| rule.place(&Packet::new(flow, 100));
        let same: Vec<u64> = (0..50).filter(|&flow| bucket(flow) == bucket(0)).collect();
        assert!((10..40).contains(&same.len()));
        for &flow in &same {
            queue.arrive(Packet::new(flow, 100), Time::ZERO, &mut |_| {});
        }
        let order: Vec<u64> = std::iter::from_fn(|| queue.take(Time::ZERO, &mut |_| {})).map(|p| p.flow).collect();
        assert_eq!(order, same, "one bucket, first in first out");
    }
}
