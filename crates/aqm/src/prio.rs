//! # Strict priority
//!
//! ## What it does
//! A FIFO for each of the eight traffic classes of the packets. The link takes from the first class that has packets,
//! so that a class waits until all before it are empty, for ever if need be. By default class 0 is first, all classes
//! share the buffer, and a full buffer drops the arrival. With `buffer = "each"` every class has an eighth of the limit
//! for itself, as bands have buffers of their own in Linux's `prio` and `pfifo_fast`. With `first = "high"` and `victim
//! = "last"` it is `skbprio`: a full buffer drops the newest packet of the class served last, if that class is behind
//! the arrival's.
//!
//! ## Source
//! Linux 6.1: `net/sched/sch_prio.c` (with `pfifo` below), `pfifo_fast` of `sch_generic.c`, `sch_skbprio.c` (N. Kumar,
//! M. Machado, C. Doucette, G. Vannucci, 2018). They are the strict priorities of RFC 1046 and of routers before it.
//!
//! ## Differences
//! 1. Linux maps a packet's priority or TOS to one of up to 16 bands (`pfifo_fast`: 3; `skbprio`: 64 priorities); here
//!    the class, 0 to 7, is the band.
//! 2. Below `prio` each band can be any discipline. Here it is a FIFO.
//! 3. Linux's limit holds for each band of `prio`. Here it is the whole queue's: with `buffer = "each"`, `limit` is
//!    eight times Linux's.
//! 4. With a limit in bytes `victim = "last"` drops until the arrival fits. Linux counts packets.
//!
//! ## Example
//! ```
//! use earlydrop_aqm::{catalogue, params::Values, policy::Limit, random::Generator, Packet, Time};
//!
//! let link = catalogue::Link { rate_bps: 10e6, delay_s: 0.01 };
//! let catalogue::Built::Discipline(finish) =
//!     (catalogue::find("prio").unwrap().build)(&Values::new(), &link, Limit::Packets(50)).unwrap() else { unreachable!() };
//! let mut queue = finish(false, Generator::stream(1, "queue"));
//! for class in [2, 0, 2, 1, 0] {
//!     queue.enqueue(Packet { class, ..Packet::new(1, 1000) }, Time::ZERO, &mut |_, _| {});
//! }
//! let order: Vec<u8> = std::iter::from_fn(|| queue.dequeue(Time::ZERO, &mut |_, _| {})).map(|p| p.class).collect();
//! assert_eq!(order, [0, 0, 1, 2, 2]);
//! ```

use crate::catalogue::{AqmSpec, Built};
use crate::params::{words, Param, ParamError, Values, Word};
use crate::parts::class_fifos::{ClassFifos, End};
use crate::parts::class_weights::{class_of, CLASSES};
use crate::parts::classful::{Classful, Schedule};
use crate::policy::{Limit, Room};
use crate::{Packet, Time};

words! {
    /// Which class is served first.
    enum First {
        /// Class 0.
        Low = "low",
        /// Class 7.
        High = "high",
    }
}

words! {
    /// What the limit bounds.
    enum Buffer {
        /// Each class by itself.
        Each = "each",
        /// All classes together.
        Shared = "shared",
    }
}

words! {
    /// What a full buffer drops.
    enum Dropped {
        /// The arrival.
        Arrival = "arrival",
        /// The newest packet of the class that is served last.
        Last = "last",
    }
}

const PARAMS: [Param; 3] = [
    Param::word("first", First::WORDS, "low")
        .says("Linux prio, pfifo_fast; high: skbprio", "Which class is served first: low, 0; high, 7."),
    Param::word("buffer", Buffer::WORDS, "shared").says(
        "Linux skbprio; each: prio, pfifo_fast",
        "Whether all classes share the limit, or each has an eighth of it, rounded up.",
    ),
    Param::word("victim", Dropped::WORDS, "arrival").says(
        "Linux prio, pfifo_fast; last: skbprio",
        "What a full buffer drops: the arrival, or, if shared, the newest packet of the class served last.",
    ),
];

/// The declaration.
pub const SPEC: AqmSpec = AqmSpec {
    summary: "A FIFO for each class, the first that has packets is served",
    source: "Linux net/sched: sch_prio.c, pfifo_fast of sch_generic.c, sch_skbprio.c; Prue, Postel: RFC 1046, 1988",
    params: &[&PARAMS],
    check: &|values, _| Prio::new(values, Limit::Packets(1)).map(|_| ()),
    build: &|values, _, limit| {
        let prio = Classful::new(Prio::new(values, limit)?);
        Ok(Built::Discipline(Box::new(|_, _| Box::new(prio))))
    },
    ..AqmSpec::named("prio", "Strict priority", "several queues", 1988)
};

/// The classes and their order.
struct Prio {
    /// The packets of each class.
    fifos: ClassFifos,
    /// Which class is served first.
    first: First,
    /// What a full buffer drops.
    victim: Dropped,
    /// When an arrival fits into the queue.
    room: Room,
    /// When an arrival fits into its class.
    room_of_class: Room,
}

impl Prio {
    fn new(values: &Values, limit: Limit) -> Result<Self, ParamError> {
        let (buffer, victim) = (values.choice(&PARAMS, "buffer"), values.choice(&PARAMS, "victim"));
        if victim == Dropped::Last && buffer == Buffer::Each {
            return Err(ParamError::new("victim", "\"last\"", "arrival, or last with buffer = \"shared\""));
        }
        let first = values.choice(&PARAMS, "first");
        let share = match (buffer, limit) {
            (Buffer::Shared, limit) => limit,
            (Buffer::Each, Limit::Packets(n)) => Limit::Packets(n.div_ceil(CLASSES as u64)),
            (Buffer::Each, Limit::Bytes(n)) => Limit::Bytes(n.div_ceil(CLASSES as u64)),
        };
        let (room, room_of_class) = (Room::holding(limit), Room::holding(share));
        Ok(Prio { fifos: ClassFifos::new(CLASSES), first, victim, room, room_of_class })
    }

    /// The classes, in the order in which they are served.
    fn order(&self) -> impl DoubleEndedIterator<Item = usize> {
        let first = self.first;
        (0..CLASSES).map(move |k| if first == First::Low { k } else { CLASSES - 1 - k })
    }

    /// Whether `packet` of `class` fits.
    fn has_room(&self, packet: &Packet, class: usize) -> bool {
        self.room.admits(packet, self.fifos.packets(), self.fifos.bytes())
            && self.room_of_class.admits(packet, self.fifos.packets_of(class), self.fifos.bytes_of(class))
    }
}

impl Schedule for Prio {
    fn arrive(&mut self, packet: Packet, _now: Time, dropped: &mut dyn FnMut(&Packet)) -> bool {
        let class = class_of(&packet);
        // A packet that never fits displaces no other.
        let may_displace = self.victim == Dropped::Last && self.room.admits(&packet, 0, 0);
        while !self.has_room(&packet, class) {
            let mut behind = self.order().rev().take_while(|&other| other != class);
            let loser = behind.find(|&other| may_displace && self.fifos.packets_of(other) > 0);
            let Some(victim) = loser.and_then(|other| self.fifos.take(other, End::Tail)) else {
                dropped(&packet);
                return false;
            };
            dropped(&victim);
        }
        self.fifos.push(class, packet);
        true
    }

    fn take(&mut self, _now: Time, _dropped: &mut dyn FnMut(&Packet)) -> Option<Packet> {
        let class = self.order().find(|&class| self.fifos.packets_of(class) > 0)?;
        self.fifos.take(class, End::Head)
    }

    fn fifos(&self) -> &ClassFifos {
        &self.fifos
    }

    fn is_by_class(&self) -> bool {
        true
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::params::Value;

    fn prio(words: &[(&'static str, &'static str)], limit: Limit) -> Prio {
        let mut values = Values::new();
        for &(name, word) in words {
            values.set(name, Value::Choice(word));
        }
        Prio::new(&values, limit).unwrap()
    }

    /// Which of these packets, by class and size, are dropped, in order, and the classes served.
    fn run(queue: &mut Prio, packets: &[(u8, u32)]) -> (Vec<(u8, u32)>, Vec<u8>) {
        let mut lost = Vec::new();
        for &(class, size) in packets {
            let packet = Packet { class, ..Packet::new(1, size) };
            queue.arrive(packet, Time::ZERO, &mut |victim| lost.push((victim.class, victim.size)));
        }
        (lost, std::iter::from_fn(|| queue.take(Time::ZERO, &mut |_| {})).map(|packet| packet.class).collect())
    }

    #[test]
    fn each_class_can_have_an_eighth_of_the_buffer() {
        let packets = [(0, 1), (0, 2), (0, 3), (7, 4), (3, 5), (7, 6), (7, 7)];
        let each = ("buffer", "each");
        let (lost, served) = run(&mut prio(&[each], Limit::Packets(16)), &packets);
        assert_eq!((lost, served), (vec![(0, 3), (7, 7)], vec![0, 0, 3, 7, 7]));
        let (_, served) = run(&mut prio(&[each, ("first", "high")], Limit::Packets(16)), &packets);
        assert_eq!(served, [7, 7, 3, 0, 0]);
    }

    #[test]
    fn a_shared_buffer_drops_the_arrival_whatever_its_class() {
        let (lost, served) = run(&mut prio(&[("buffer", "shared")], Limit::Packets(2)), &[(5, 1), (5, 2), (0, 3)]);
        assert_eq!((lost, served), (vec![(0, 3)], vec![5, 5]));
    }

    const SKBPRIO: [(&str, &str); 3] = [("first", "high"), ("buffer", "shared"), ("victim", "last")];

    /// Linux, `skbprio_enqueue`: drops the newest packet of the lowest priority, unless the arrival's is no higher.
    #[test]
    fn as_skbprio_it_drops_the_newest_of_the_lowest_priority() {
        let packets = [(1, 1), (1, 2), (4, 3), (1, 4), (2, 5), (6, 6), (6, 7), (4, 8)];
        let (lost, served) = run(&mut prio(&SKBPRIO, Limit::Packets(3)), &packets);
        assert_eq!(lost, [(1, 4), (1, 2), (1, 1), (2, 5), (4, 8)]);
        assert_eq!(served, [6, 6, 4]);
    }

    #[test]
    fn in_bytes_as_many_go_as_the_arrival_needs_and_none_for_one_that_never_fits() {
        let mut queue = prio(&SKBPRIO, Limit::Bytes(1000));
        let (lost, served) = run(&mut queue, &[(1, 300), (1, 300), (2, 300), (7, 1001), (5, 600), (0, 1)]);
        assert_eq!(lost, [(7, 1001), (1, 300), (1, 300)]);
        assert_eq!(served, [5, 2, 0]);
        let (lost, _) = run(&mut queue, &[(3, 900), (3, 100), (2, 1), (4, 150)]);
        assert_eq!(lost, [(2, 1), (3, 100), (3, 900)]);
    }

    #[test]
    fn the_last_goes_only_from_a_shared_buffer() {
        let values = Values::of(&[("victim", Value::Choice("last")), ("buffer", Value::Choice("each"))]);
        assert!(Prio::new(&values, Limit::Packets(1)).is_err());
    }
}
