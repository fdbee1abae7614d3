//! # AFQ
//!
//! ## What it does
//! Fair queueing with a ring of FIFOs instead of a sorted queue. Time goes in rounds, in each of which every flow may
//! send `bytes_per_round` (BpR) bytes; a FIFO holds what is sent in one round. An arrival of `L` bytes in round `R`:
//!
//! | | |
//! |---|---|
//! | bid | `max(last bid of its flow, R BpR) + L` |
//! | round of the packet | `r = bid/BpR`, rounded down |
//! | too far ahead | `r - R >= queues`: dropped |
//! | else | it joins the FIFO of round `r`, and its bid is the flow's last one |
//!
//! The link takes from the FIFO of round `R`; when that is empty and packets wait, `R` goes up by one. A flow can have
//! about `queues * bytes_per_round` bytes waiting: its backlog is bounded, not its delay. No random number.
//!
//! A switch keeps the bids in a count-min sketch (`bids = "sketch"`): a bid is written into one cell of each row,
//! unless the cell holds a larger bid; the least of a flow's cells is taken as its last bid. Flows that share all
//! cells are served as one.
//!
//! ## Source
//! N. K. Sharma, M. Liu, K. Atreya, A. Krishnamurthy, "Approximating fair queueing on reconfigurable switches", USENIX
//! NSDI, 2018. Its text was not at hand; the rules are those of `AFQQueue.java` in the simulator of SP-PIFO
//! (<https://github.com/nsg-ethz/SP-PIFO>), the sketch is that of Cormode and Muthukrishnan, 2005, with maxima.
//!
//! ## Differences
//! 1. There a packet is dropped if `r - R > queues`. A packet with `r - R = queues` then joins the FIFO that is being
//!    served, and overtakes the packets of its own flow. Here it is dropped.
//! 2. There each FIFO has a buffer of its own, 320 packets. Here all share the limit.
//! 3. There every flow keeps a bid (`bids = "exact"`); here a bid is forgotten once its round has passed. The sketch's
//!    numbers of rows and columns are ours.
//! 4. A drop for being too far ahead counts as forced.
//!
//! ## Example
//! ```
//! use earlydrop_aqm::{catalogue, params::Values, policy::Limit, random::Generator, Packet, Time};
//!
//! let link = catalogue::Link { rate_bps: 10e6, delay_s: 0.01 };
//! let build = catalogue::find("afq").unwrap().build;
//! let limit = Limit::Packets(100);
//! let catalogue::Built::Discipline(finish) = build(&Values::new(), &link, limit).unwrap() else { unreachable!() };
//! let mut queue = finish(false, Generator::stream(1, "queue"));
//! // Flow 1 sends forty packets of 1500 B; 31 fit, one for each round after this one.
//! let mut fits = |flow| queue.enqueue(Packet::new(flow, 1500), Time::ZERO, &mut |_, _| {}).is_some();
//! let admitted = (0..40).filter(|_| fits(1)).count();
//! assert_eq!(admitted, 31);
//! // Flow 2 sends three; the flows take turns.
//! assert!((0..3).all(|_| fits(2)));
//! let order: Vec<u64> = (0..7).filter_map(|_| queue.dequeue(Time::ZERO, &mut |_, _| {})).map(|p| p.flow).collect();
//! assert_eq!(order, [1, 2, 1, 2, 1, 2, 1]);
//! ```

use crate::catalogue::{AqmSpec, Built};
use crate::discipline::{Admitted, OnDrop};
use crate::gate::Counters;
use crate::params::{words, Param, ParamError, Unit, Values, Word};
use crate::parts::class_fifos::{ClassFifos, End};
use crate::parts::flow_tags::FlowTags;
use crate::parts::hash;
use crate::policy::{Limit, Reason, Room};
use crate::{Discipline, Packet, Time};

words! {
    /// Where bids are kept.
    enum BidsWord {
        /// A bid for each flow.
        Exact = "exact",
        /// The bids of all flows in a count-min sketch.
        Sketch = "sketch",
    }
}

const PARAMS: [Param; 5] = [
    Param::whole("queues", Unit::None, (1, 4096), 32)
        .says("runs of SP-PIFO's and AIFO's authors: AFQ_32.properties", "Number of FIFOs, one for each round."),
    Param::whole("bytes_per_round", Unit::Bytes, (1, 1_000_000_000), 1500)
        .symbol("BpR")
        .says("ours: a packet of Ethernet", "Bytes that a flow may send in a round."),
    Param::word("bids", BidsWord::WORDS, "exact").says(
        "AFQQueue.java; sketch: Sharma et al. 2018",
        "Whether the last bids are kept flow by flow, or in a count-min sketch.",
    ),
    Param::whole("rows", Unit::None, (1, 16), 2).says("ours", "Rows of the sketch."),
    Param::whole("columns", Unit::None, (1, 65_536), 1024).says("ours", "Cells in a row of the sketch."),
];

/// The declaration.
pub const SPEC: AqmSpec = AqmSpec {
    summary: "Fair queueing approximated by a ring of FIFOs, each for a round in which every flow may send a quota",
    source: "Sharma, Liu, Atreya, Krishnamurthy: Approximating fair queueing on reconfigurable switches, NSDI 2018",
    params: &[&PARAMS],
    check: &|values, _| Afq::new(values, Limit::Packets(1)).map(|_| ()),
    build: &|values, _, limit| {
        let afq = Afq::new(values, limit)?;
        Ok(Built::Discipline(Box::new(|_, _| Box::new(afq))))
    },
    ..AqmSpec::named("afq", "AFQ", "several queues", 2018)
};

/// A packet of this size must fit into the rounds, or a link would send nothing.
const LARGEST: u64 = 1514;

/// The last bids of the flows, bytes.
enum Bids {
    /// A bid for each flow.
    Exact(FlowTags),
    /// The bids in rows of cells.
    Sketch { cells: Vec<u64>, columns: usize },
}

impl Bids {
    /// The cells of `flow`, one in each row.
    fn cells(cells: &[u64], columns: usize, flow: u64) -> impl Iterator<Item = usize> {
        let rows = cells.len() / columns;
        (0..rows).map(move |row| row * columns + hash::bucket(flow, row as u64, columns))
    }

    /// The last bid of `flow`, or `start`, where the round begins, if that is larger.
    fn later_of(&self, flow: u64, start: u64) -> u64 {
        match self {
            Bids::Exact(tags) => tags.later_of(flow, start),
            Bids::Sketch { cells, columns } => {
                let least = Bids::cells(cells, *columns, flow).map(|cell| cells[cell]).min();
                start.max(least.unwrap_or(0))
            }
        }
    }

    /// The last bid of `flow` is `bid`.
    fn set(&mut self, flow: u64, bid: u64) {
        match self {
            Bids::Exact(tags) => tags.set(flow, bid),
            Bids::Sketch { cells, columns } => {
                for cell in Bids::cells(cells, *columns, flow) {
                    cells[cell] = cells[cell].max(bid);
                }
            }
        }
    }

    /// A round begins whose first byte is `start`: older bids are forgotten.
    fn pass(&mut self, start: u64) {
        if let Bids::Exact(tags) = self {
            tags.pass(start);
        }
    }
}

/// The ring of FIFOs.
struct Afq {
    /// The packets; round r uses FIFO r modulo `queues`.
    fifos: ClassFifos,
    /// How many FIFOs there are.
    queues: u64,
    /// BpR, bytes.
    bytes_per_round: u64,
    /// R, the round that is served.
    round: u64,
    /// The last bids of the flows.
    bids: Bids,
    /// When an arrival fits into the buffer.
    room: Room,
    /// Counts since the last reset.
    counters: Counters,
}

impl Afq {
    fn new(values: &Values, limit: Limit) -> Result<Self, ParamError> {
        let number = |name| values.whole(&PARAMS, name) as u64;
        let (queues, bytes_per_round) = (number("queues"), number("bytes_per_round"));
        if queues * bytes_per_round <= LARGEST {
            let allowed = format!("more than {LARGEST}/queues, so that a packet of {LARGEST} B fits into the rounds");
            return Err(ParamError::new("bytes_per_round", bytes_per_round, allowed));
        }
        let bids = match values.choice(&PARAMS, "bids") {
            BidsWord::Exact => Bids::Exact(FlowTags::new()),
            BidsWord::Sketch => {
                let [rows, columns] = ["rows", "columns"].map(|name| number(name) as usize);
                Bids::Sketch { cells: vec![0; rows * columns], columns }
            }
        };
        let (fifos, room) = (ClassFifos::new(queues as usize), Room::holding(limit));
        Ok(Afq { fifos, queues, bytes_per_round, round: 0, bids, room, counters: Counters::default() })
    }
}

impl Discipline for Afq {
    fn enqueue(&mut self, mut packet: Packet, now: Time, on_drop: &mut OnDrop<'_>) -> Option<Admitted> {
        self.counters.arrivals += 1;
        self.counters.arrived_bytes += u64::from(packet.size);
        let start = self.round * self.bytes_per_round;
        let bid = self.bids.later_of(packet.flow, start) + u64::from(packet.size);
        let round = bid / self.bytes_per_round;
        let refused = if round - self.round >= self.queues {
            Some(Reason::Forced)
        } else if self.room.admits(&packet, self.fifos.packets(), self.fifos.bytes()) {
            None
        } else {
            Some(Reason::Overflow)
        };
        if let Some(reason) = refused {
            self.counters.drop(reason);
            on_drop(&packet, reason);
            return None;
        }
        packet.admit(now);
        self.bids.set(packet.flow, bid);
        self.fifos.push((round % self.queues) as usize, packet);
        Some(Admitted(false))
    }

    fn dequeue(&mut self, _now: Time, _on_drop: &mut OnDrop<'_>) -> Option<Packet> {
        if self.fifos.packets() == 0 {
            return None;
        }
        let fifo = |round| (round % self.queues) as usize;
        let ahead = (0..self.queues).find(|ahead| self.fifos.packets_of(fifo(self.round + ahead)) > 0)?;
        if ahead > 0 {
            self.round += ahead;
            self.bids.pass(self.round * self.bytes_per_round);
        }
        let packet = self.fifos.take((self.round % self.queues) as usize, End::Head)?;
        self.counters.depart(&packet);
        Some(packet)
    }

    fn packets(&self) -> u64 {
        self.fifos.packets()
    }

    fn bytes(&self) -> u64 {
        self.fifos.bytes()
    }

    fn counters(&self) -> &Counters {
        &self.counters
    }

    fn reset_counters(&mut self) {
        self.counters = Counters::default();
    }

    fn watches_departures(&self) -> bool {
        false
    }

    fn gauges(&self, out: &mut dyn FnMut(&'static str, f64)) {
        out("round", self.round as f64);
    }

    fn waiting(&self, out: &mut dyn FnMut(usize, &Packet)) {
        self.fifos.each(out);
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::params::Value;

    fn queue(pairs: &[(&'static str, Value)], limit: Limit) -> Afq {
        let values = Values::of(pairs);
        Afq::new(&values, limit).unwrap()
    }

    const FOUR: [(&str, Value); 2] = [("queues", Value::Whole(4)), ("bytes_per_round", Value::Whole(1000))];

    fn arrive(queue: &mut Afq, flow: u64, size: u32) -> bool {
        queue.enqueue(Packet::new(flow, size), Time::ZERO, &mut |_, _| {}).is_some()
    }

    fn leave(queue: &mut Afq) -> Option<(u64, u32)> {
        let packet = queue.dequeue(Time::ZERO, &mut |_, _| panic!("a departure drops nothing"))?;
        Some((packet.flow, packet.size))
    }

    #[test]
    fn a_packet_of_1514_bytes_must_fit_into_the_rounds() {
        for (bytes, fits) in [(757, false), (758, true)] {
            let values = Values::of(&[("queues", Value::Whole(2)), ("bytes_per_round", Value::Whole(bytes))]);
            assert_eq!(Afq::new(&values, Limit::Packets(50)).is_ok(), fits, "2 rounds of {bytes}");
        }
    }

    #[test]
    fn a_bid_that_ends_with_a_round_is_the_next_ones() {
        let mut queue = queue(&FOUR, Limit::Packets(50));
        assert!(arrive(&mut queue, 1, 999) && arrive(&mut queue, 2, 1000) && arrive(&mut queue, 3, 500));
        assert_eq!([0, 1].map(|fifo| queue.fifos.packets_of(fifo)), [2, 1]);
        assert_eq!([leave(&mut queue), leave(&mut queue)], [Some((1, 999)), Some((3, 500))]);
        assert_eq!((leave(&mut queue), queue.round), (Some((2, 1000)), 1));
    }

    #[test]
    fn a_flow_has_as_many_bytes_as_there_are_rounds() {
        let mut queue = queue(&FOUR, Limit::Packets(50));
        assert_eq!((0..50).filter(|_| arrive(&mut queue, 1, 100)).count(), 39, "3900 B end in round 3, 4000 in 4");
        assert!(arrive(&mut queue, 1, 99) && !arrive(&mut queue, 1, 1), "3999 too");
        assert!(arrive(&mut queue, 2, 3999) && !arrive(&mut queue, 3, 4000), "one packet of that size");
        assert_eq!((queue.counters.forced_drops, queue.counters.overflow_drops), (13, 0));
    }

    #[test]
    fn flows_take_turns_by_the_round() {
        let mut queue = queue(&FOUR, Limit::Packets(50));
        for flow in [1, 2] {
            for _ in 0..7 {
                assert!(arrive(&mut queue, flow, 500));
            }
        }
        let order: Vec<u64> = std::iter::from_fn(|| leave(&mut queue)).map(|(flow, _)| flow).collect();
        assert_eq!(order, [1, 2, 1, 1, 2, 2, 1, 1, 2, 2, 1, 1, 2, 2]);
    }

    #[test]
    fn rounds_stand_while_nothing_waits_and_bids_of_the_past_are_nothing() {
        let mut queue = queue(&FOUR, Limit::Packets(50));
        (0..3).for_each(|_| assert!(arrive(&mut queue, 1, 1000)));
        while leave(&mut queue).is_some() {}
        assert_eq!((queue.round, leave(&mut queue), queue.round), (3, None, 3));
        let Bids::Exact(tags) = &queue.bids else { panic!("exact") };
        assert_eq!(tags.later_of(1, 0), 0, "3000 B are where round 3 begins");
        assert!(arrive(&mut queue, 1, 999) && arrive(&mut queue, 2, 999));
        assert_eq!(queue.fifos.packets_of(3), 2, "both in this round");
    }

    #[test]
    fn the_buffer_is_shared_and_drops_cost_no_bid() {
        let mut queue = queue(&FOUR, Limit::Packets(2));
        assert!(arrive(&mut queue, 1, 500) && arrive(&mut queue, 2, 500) && !arrive(&mut queue, 1, 400));
        assert_eq!(queue.bids.later_of(1, 0), 500);
        assert_eq!((queue.counters.forced_drops, queue.counters.overflow_drops), (0, 1));
        let mut bytes = self::queue(&FOUR, Limit::Bytes(1000));
        assert!(arrive(&mut bytes, 1, 600) && !arrive(&mut bytes, 2, 401) && arrive(&mut bytes, 2, 400));
    }

    #[test]
    fn a_sketch_takes_the_least_of_a_flows_cells() {
        let given = [("bids", Value::Choice("sketch")), ("columns", Value::Whole(8)), ("rows", Value::Whole(3))];
        let mut queue = queue(&given, Limit::Packets(50));
        let cells = |flow| (0..3).map(|row| hash::bucket(flow, row, 8)).collect::<Vec<_>>();
        let shared = |other| cells(1).iter().zip(cells(other)).filter(|(a, b)| *a == b).count();
        let [apart, touching] = [0, 1].map(|count| (2..).find(|&flow| shared(flow) == count).unwrap());
        let twin = (2..).find(|&flow| shared(flow) == 3).unwrap();
        assert!(arrive(&mut queue, 1, 700));
        assert_eq!([1, twin, touching, apart].map(|flow| queue.bids.later_of(flow, 0)), [700, 700, 0, 0]);
        assert_eq!(queue.bids.later_of(1, 900), 900, "the round is further");
        queue.bids.set(touching, 500);
        assert_eq!(queue.bids.later_of(1, 0), 700, "a lower bid does not take its cell");
    }

    #[test]
    fn a_link_that_could_send_nothing_is_refused() {
        for (queues, refused) in [(15, true), (16, false)] {
            let values = Values::of(&[("bytes_per_round", Value::Whole(100)), ("queues", Value::Whole(queues))]);
            assert_eq!(
                Afq::new(&values, Limit::Packets(1)).err().map(|error| error.name),
                refused.then_some("bytes_per_round")
            );
        }
    }
}
