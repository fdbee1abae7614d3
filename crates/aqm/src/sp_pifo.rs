//! # SP-PIFO
//!
//! ## What it does
//! Comes near a queue sorted by rank (PIFO) with a few FIFOs of strict priority, as switches have them. Each FIFO has a
//! bound, 0 at first. An arrival looks for its FIFO from the one served last to the one served first:
//!
//! | | |
//! |---|---|
//! | its FIFO | the first whose bound is at most the arrival's rank, else the FIFO served first |
//! | push-up | the bound of that FIFO becomes the arrival's rank |
//! | push-down | if that lowers the bound (of the FIFO served first only), all other bounds go down by as much |
//!
//! A packet behind one of higher rank in its FIFO is an inversion: push-up keeps the ranks of a FIFO in order,
//! push-down makes room for low ranks where an inversion has just occurred.
//!
//! Ranks are the packets' classes, or (`rank = "start_time"`) start times of start-time fair queueing over the flows,
//! so that the whole is a fair queue. The link takes from the first FIFO that has packets. No random number.
//!
//! A flow's packets can overtake each other: when other flows have pushed up the bound of the FIFO in which one
//! waits, the next goes to a FIFO that is served earlier. TCP takes that for a loss, unless it tolerates reordering.
//!
//! ## Source
//! A. Gran Alcoz, A. Dietmueller, L. Vanbever, "SP-PIFO: Approximating push-in first-out behaviors using
//! strict-priority queues", USENIX NSDI 2020. Its text was not at hand; the rules are those of the authors' simulator,
//! `SPPIFOQueue.java` and `WFQSPPIFOQueue.java` (<https://github.com/nsg-ethz/SP-PIFO>). Start-time fair queueing: P.
//! Goyal, H. Vin, H. Cheng, ACM SIGCOMM 1996.
//!
//! ## Differences
//! 1. There each FIFO has a buffer of its own, 10 packets (`buffer = "each"`: an equal share of the limit, rounded up).
//!    Here all share the limit: the packets of a single long flow, whose ranks only rise, all lie in one FIFO.
//! 2. There virtual time is the rank of the packet that left last, and runs back at an inversion. Here it does not run
//!    back, and at the end of a busy period it is the largest finish time, as Goyal has it; so a flow can be forgotten
//!    when time has passed its last packet.
//! 3. An arrival that does not fit is dropped and moves no bound, as in the simulator. Weights are equal.
//! 4. Nothing is marked or dropped early: it is a scheduler.
//!
//! ## Example
//! ```
//! use earlydrop_aqm::{catalogue, params::{Value, Values}, policy::Limit, random::Generator, Packet, Time};
//!
//! let link = catalogue::Link { rate_bps: 10e6, delay_s: 0.01 };
//! let mut values = Values::new();
//! values.set("rank", Value::Choice("class")).set("queues", Value::Whole(2));
//! let build = catalogue::find("sp_pifo").unwrap().build;
//! let limit = Limit::Packets(50);
//! let catalogue::Built::Discipline(finish) = build(&values, &link, limit).unwrap() else { unreachable!() };
//! let mut queue = finish(false, Generator::stream(1, "queue"));
//! // Rank 4 goes to the last FIFO, whose bound is then 4; 1, 2, 3 to the first, bound 3; 5 behind 4, bound 5; 0 is 3
//! // below the first's bound, so that the last's falls to 5 - 3.
//! for class in [4, 1, 2, 3, 5, 0, 2] {
//!     queue.enqueue(Packet { class, ..Packet::new(1, 1000) }, Time::ZERO, &mut |_, _| {});
//! }
//! let order: Vec<u8> = std::iter::from_fn(|| queue.dequeue(Time::ZERO, &mut |_, _| {})).map(|p| p.class).collect();
//! assert_eq!(order, [1, 2, 3, 0, 4, 5, 2]);
//! ```

use crate::catalogue::{AqmSpec, Built};
use crate::params::{words, Param, Unit, Values, Word};
use crate::parts::class_fifos::{ClassFifos, End};
use crate::parts::classful::{Classful, Schedule};
use crate::parts::flow_tags::{self, Ranks};
use crate::policy::{Limit, Room};
use crate::{Packet, Time};
use std::collections::VecDeque;

words! {
    /// What the limit bounds.
    enum Buffer {
        /// All FIFOs together.
        Shared = "shared",
        /// Each FIFO by itself.
        Each = "each",
    }
}

const PARAMS: [Param; 3] = [
    flow_tags::rank("SP-PIFO: WFQSPPIFOQueue.java; class: SPPIFOQueue.java, ranks of the senders"),
    Param::whole("queues", Unit::None, (1, 1024), 8).says("SP-PIFO: 8 priorities of a switch", "Number of FIFOs."),
    Param::word("buffer", Buffer::WORDS, "shared").says(
        "ours; each: SPPIFOQueue.java",
        "Whether all FIFOs share the limit, or each has an equal part of it, rounded up.",
    ),
];

/// The declaration.
pub const SPEC: AqmSpec = AqmSpec {
    summary: "A sorted queue approximated by FIFOs of strict priority whose bounds follow the ranks",
    source: "Gran Alcoz, Dietmueller, Vanbever: SP-PIFO: Approximating push-in first-out behaviors, NSDI 2020",
    params: &[&PARAMS],
    build: &|values, _, limit| {
        let pifo = Classful::new(SpPifo::new(values, limit));
        Ok(Built::Discipline(Box::new(|_, _| Box::new(pifo))))
    },
    ..AqmSpec::named("sp_pifo", "SP-PIFO", "several queues", 2020)
};

/// The FIFOs, from the one that is served first to the one that is served last.
struct SpPifo {
    /// The packets of each FIFO.
    fifos: ClassFifos,
    /// The rank of each waiting packet, by FIFO.
    waiting: Vec<VecDeque<u64>>,
    /// The bound of each FIFO.
    bounds: Vec<i64>,
    /// The ranks of arrivals.
    ranks: Ranks,
    /// When an arrival fits into the queue.
    room: Room,
    /// When an arrival fits into its FIFO.
    room_of_fifo: Room,
}

impl SpPifo {
    fn new(values: &Values, limit: Limit) -> Self {
        let queues = values.whole(&PARAMS, "queues") as usize;
        let share = match (values.choice(&PARAMS, "buffer"), limit) {
            (Buffer::Shared, limit) => limit,
            (Buffer::Each, Limit::Packets(n)) => Limit::Packets(n.div_ceil(queues as u64)),
            (Buffer::Each, Limit::Bytes(n)) => Limit::Bytes(n.div_ceil(queues as u64)),
        };
        SpPifo {
            fifos: ClassFifos::new(queues),
            waiting: vec![VecDeque::new(); queues],
            bounds: vec![0; queues],
            ranks: Ranks::new(values.choice(&PARAMS, "rank")),
            room: Room::holding(limit),
            room_of_fifo: Room::holding(share),
        }
    }

    /// The FIFO of a packet of `rank`.
    fn fifo_of(&self, rank: i64) -> usize {
        (1..self.bounds.len()).rev().find(|&fifo| self.bounds[fifo] <= rank).unwrap_or(0)
    }

    /// Whether `packet` fits into the queue and into `fifo`.
    fn has_room(&self, packet: &Packet, fifo: usize) -> bool {
        self.room.admits(packet, self.fifos.packets(), self.fifos.bytes())
            && self.room_of_fifo.admits(packet, self.fifos.packets_of(fifo), self.fifos.bytes_of(fifo))
    }
}

impl Schedule for SpPifo {
    fn arrive(&mut self, packet: Packet, _now: Time, dropped: &mut dyn FnMut(&Packet)) -> bool {
        let rank = self.ranks.of(&packet);
        let fifo = self.fifo_of(rank as i64);
        if !self.has_room(&packet, fifo) {
            dropped(&packet);
            return false;
        }
        let cost = self.bounds[fifo] - rank as i64;
        self.bounds[fifo] = rank as i64;
        if cost > 0 {
            self.bounds[fifo + 1..].iter_mut().for_each(|bound| *bound -= cost);
        }
        self.ranks.admitted(&packet, rank);
        self.waiting[fifo].push_back(rank);
        self.fifos.push(fifo, packet);
        true
    }

    fn take(&mut self, _now: Time, _dropped: &mut dyn FnMut(&Packet)) -> Option<Packet> {
        let fifo = (0..self.bounds.len()).find(|&fifo| self.fifos.packets_of(fifo) > 0)?;
        let rank = self.waiting[fifo].pop_front()?;
        let packet = self.fifos.take(fifo, End::Head);
        self.ranks.served(rank, self.fifos.packets() == 0);
        packet
    }

    fn fifos(&self) -> &ClassFifos {
        &self.fifos
    }

    fn gauges(&self, out: &mut dyn FnMut(&'static str, f64)) {
        out("virtual_time", self.ranks.now() as f64);
        out("bound", self.bounds.last().map_or(f64::NAN, |&bound| bound as f64));
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::params::Value;

    const CLASS: (&str, Value) = ("rank", Value::Choice("class"));

    fn queue(pairs: &[(&'static str, Value)], limit: Limit) -> SpPifo {
        let values = Values::of(pairs);
        SpPifo::new(&values, limit)
    }

    fn arrive(queue: &mut SpPifo, flow: u64, class: u8, size: u32) -> bool {
        queue.arrive(Packet { class, ..Packet::new(flow, size) }, Time::ZERO, &mut |_| {})
    }

    fn leave(queue: &mut SpPifo) -> Option<Packet> {
        queue.take(Time::ZERO, &mut |_| panic!("a departure drops nothing"))
    }

    #[test]
    fn an_arrival_goes_to_the_last_fifo_whose_bound_is_at_most_its_rank() {
        let mut queue = queue(&[CLASS, ("queues", Value::Whole(3))], Limit::Packets(50));
        queue.bounds = vec![1, 3, 5];
        assert_eq!([0, 1, 2, 3, 4, 5, 7].map(|rank| queue.fifo_of(rank)), [0, 0, 0, 1, 1, 2, 2]);
    }

    #[test]
    fn bounds_are_pushed_up_by_every_packet_and_down_by_an_inversion_at_the_first() {
        let mut queue = queue(&[CLASS, ("queues", Value::Whole(3))], Limit::Packets(50));
        let mut after = |class| {
            assert!(arrive(&mut queue, 1, class, 100));
            queue.bounds.clone()
        };
        assert_eq!(after(5), [0, 0, 5], "up");
        assert_eq!(after(3), [0, 3, 5]);
        assert_eq!(after(2), [2, 3, 5], "up in the first too");
        assert_eq!(after(2), [2, 3, 5], "equal: nothing");
        assert_eq!(after(1), [1, 2, 4], "down by 1");
        assert_eq!(after(0), [0, 1, 3]);
        assert_eq!(after(2), [0, 2, 3], "up in the middle costs nothing");
        assert_eq!(after(7), [0, 2, 7]);
    }

    #[test]
    fn a_packet_that_does_not_fit_moves_nothing() {
        let mut queue = queue(&[CLASS, ("queues", Value::Whole(2))], Limit::Packets(1));
        assert!(arrive(&mut queue, 1, 3, 100));
        let bounds = queue.bounds.clone();
        assert!(!arrive(&mut queue, 1, 7, 100) && !arrive(&mut queue, 1, 0, 100));
        assert_eq!((queue.bounds.clone(), queue.packets()), (bounds, 1));
    }

    #[test]
    fn each_fifo_can_have_its_share_of_the_buffer() {
        let given = [CLASS, ("queues", Value::Whole(2)), ("buffer", Value::Choice("each"))];
        let mut each = queue(&given, Limit::Packets(5));
        assert_eq!((0..4).filter(|_| arrive(&mut each, 1, 1, 100)).count(), 3, "half of 5, rounded up");
        assert_eq!((0..4).filter(|_| arrive(&mut each, 1, 0, 100)).count(), 2, "and the whole has 5");
        let mut shared = queue(&given[..2], Limit::Packets(5));
        assert_eq!((0..9).filter(|_| arrive(&mut shared, 1, 1, 100)).count(), 5);
        let mut bytes = queue(&given, Limit::Bytes(999));
        assert_eq!((0..9).filter(|_| arrive(&mut bytes, 1, 1, 100)).count(), 5, "half of 999 B, rounded up");
    }

    #[test]
    fn start_times_share_the_link_evenly() {
        let mut queue = queue(&[], Limit::Packets(1000));
        // Flow 1 has sent 100 packets when the others begin.
        (0..100).for_each(|_| assert!(arrive(&mut queue, 1, 0, 500)));
        let mut left = [0; 4];
        for step in 0..300 {
            if step % 3 == 0 {
                assert!(arrive(&mut queue, 2, 0, 500) && arrive(&mut queue, 3, 0, 500));
            }
            left[leave(&mut queue).map_or(0, |packet| packet.flow as usize)] += 1;
        }
        assert!(left[0] == 0 && left[1..].iter().all(|n| (95..=105).contains(n)), "{left:?}");
    }

    #[test]
    fn dropped_packets_do_not_count_for_their_flow() {
        let mut queue = queue(&[], Limit::Packets(2));
        assert!(arrive(&mut queue, 1, 0, 100) && arrive(&mut queue, 2, 0, 100));
        assert!(!arrive(&mut queue, 1, 0, 900));
        leave(&mut queue);
        arrive(&mut queue, 1, 0, 100);
        let mut ranks: Vec<u64> = queue.waiting.iter().flatten().copied().collect();
        ranks.sort_unstable();
        assert_eq!(ranks, [0, 100]);
    }
}
