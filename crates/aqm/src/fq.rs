//! # FQ
//!
//! ## What it does
//! Fair queueing: every flow has a FIFO, and packets leave in the order in which a fluid, a link that serves all flows
//! at once bit by bit, would finish them. A packet of L bytes that arrives at time a gets the tags
//!
//! ```text
//! S = max(F of the flow's packet before, V(a))        F = S + L/w
//! ```
//!
//! and the packet with the smallest F is sent first. V is the number of the round: it rises at the link's rate divided
//! by the sum of the weights w of the flows whose last F is still above V. The weight of a flow is that of its class, 1
//! by default. When the buffer is full, the newest packet of the flow with the most bytes is dropped.
//!
//! ## Source
//! A. Demers, S. Keshav, S. Shenker, "Analysis and simulation of a fair queueing algorithm", ACM SIGCOMM 1989. Weights:
//! A. K. Parekh, R. G. Gallager, "A generalized processor sharing approach to flow control in integrated services
//! networks", IEEE/ACM Transactions on Networking 1(3), 1993. `self_clocked`: S. J. Golestani, "A self-clocked fair
//! queueing scheme for broadband applications", IEEE INFOCOM 1994. No copies were at hand; the rules are as the field
//! quotes them.
//!
//! ## Differences
//! 1. V needs the link's rate. `virtual_time = "self_clocked"` takes the F of the packet sent last as V, which costs
//!    less and needs no rate; a flow can then lag behind the fluid by a packet of every other flow.
//! 2. Demers et al. let a flow that was idle for long bid a little earlier than V (their delta). Here delta is 0, as in
//!    most later work.
//! 3. Equal F: the first arrival leaves first. Equally long flows: the longest backlogged loses a packet. (ours)
//! 4. A dropped packet leaves the fluid too: its flow's last F is taken back. (ours)
//! 5. The packet in transmission is not interrupted, so a packet ends at most one largest packet's time later than in
//!    the fluid (Parekh & Gallager, theorem 1).
//! 6. A flow keeps the weight of the class that its first packet had, until it is neither in the queue nor in the
//!    fluid.
//!
//! ## Example
//! ```
//! use earlydrop_aqm::{catalogue, params::Values, policy::Limit, random::Generator, Packet, Time};
//!
//! let link = catalogue::Link { rate_bps: 10e6, delay_s: 0.01 };
//! let catalogue::Built::Discipline(finish) = (catalogue::find("fq").unwrap().build)(&Values::new(), &link, Limit::Packets(50)).unwrap()
//!     else { unreachable!() };
//! let mut queue = finish(false, Generator::stream(1, "queue"));
//! for (flow, size, packets) in [(1, 1500, 3), (2, 400, 6)] {
//!     for _ in 0..packets {
//!         queue.enqueue(Packet::new(flow, size), Time::ZERO, &mut |_, _| {});
//!     }
//! }
//! let order: Vec<u64> = std::iter::from_fn(|| queue.dequeue(Time::ZERO, &mut |_, _| {})).map(|p| p.flow).collect();
//! assert_eq!(order, [2, 2, 2, 1, 2, 2, 2, 1, 1]);
//! ```

use crate::catalogue::{AqmSpec, Built, Link};
use crate::params::{words, Param, Values, Word};
use crate::parts::class_fifos::{ClassFifos, End};
use crate::parts::class_weights::{self, class_of, CLASSES};
use crate::parts::classful::{Classful, Schedule};
use crate::parts::flow_index::FlowIndex;
use crate::parts::slot_heap::SlotHeap;
use crate::policy::Limit;
use crate::{Packet, Time};
use std::cmp::Reverse;
use std::collections::VecDeque;

const WEIGHTS: [Param; CLASSES] = class_weights::params("Share of a flow of this class, against that of others.");

words! {
    /// How virtual time advances.
    enum VirtualTime {
        /// By the round number of the fluid model (Demers, Keshav, Shenker 1989).
        Fluid = "fluid",
        /// To the finish tag of the packet sent last (Golestani 1994).
        SelfClocked = "self_clocked",
    }
}

const PARAMS: [Param; 1] = [Param::word("virtual_time", VirtualTime::WORDS, "fluid").symbol("V").says(
    "Demers, Keshav, Shenker 1989; self_clocked: Golestani 1994",
    "The round number of the fluid model, or the finish tag of the packet sent last.",
)];

/// The declaration.
pub const SPEC: AqmSpec = AqmSpec {
    summary: "Fair queueing by virtual finish times, drops from the longest",
    source: "Demers, Keshav, Shenker: Analysis and simulation of a fair queueing algorithm, SIGCOMM 1989",
    params: &[&WEIGHTS, &PARAMS],
    build: &|values, link, limit| {
        let fq = Fq::new(values, link, limit);
        Ok(Built::Discipline(Box::new(|_, _| Box::new(Classful::new(fq)))))
    },
    ..AqmSpec::named("fq", "FQ", "several queues", 1989)
};

/// Tags of a waiting packet: the instants of virtual time at which its service begins and ends, and its number.
#[derive(Clone, Copy, Debug)]
struct Tag {
    /// S, virtual time, bytes per unit of weight.
    start: f64,
    /// F, virtual time.
    finish: f64,
    /// The packet's number among all arrivals.
    number: u64,
}

/// A flow that has packets, in the queue or in the fluid.
#[derive(Debug, Default)]
struct Flow {
    /// Tags of the flow's packets, oldest first.
    tags: VecDeque<Tag>,
    /// Finish tag of the flow's last packet, virtual time.
    last_finish: f64,
    /// Its weight.
    weight: f64,
    /// Number of the arrival since which the flow has had packets.
    backlogged_since: u64,
}

/// The flows and the virtual time.
pub struct Fq {
    /// The slot of each flow.
    known: FlowIndex,
    /// The flows by slot.
    flows: Vec<Flow>,
    /// The packets of the flows, by slot.
    fifos: ClassFifos,
    /// Flows with packets, by the finish tag of the oldest; tags are not negative, so their bits sort as they do.
    heads: SlotHeap<(u64, u64)>,
    /// Flows with packets, the longest first.
    longest: SlotHeap<(Reverse<u64>, u64)>,
    /// Flows that the fluid still serves, by their last finish tag.
    fluid: SlotHeap<(u64, usize)>,
    /// Sum of the weights of the flows that the fluid serves.
    fluid_weight: f64,
    /// V, bytes per unit of weight.
    virtual_time: f64,
    /// Until when virtual time has been worked out.
    advanced_to: Time,
    /// The link's rate, bytes/s; `None` if virtual time is self-clocked.
    bytes_per_second: Option<f64>,
    /// Arrivals so far.
    arrivals: u64,
    /// The weight of a flow in each class.
    weights: [f64; CLASSES],
    /// Packets or bytes of all flows.
    limit: Limit,
}

impl Fq {
    fn new(values: &Values, link: &Link, limit: Limit) -> Self {
        Fq {
            known: FlowIndex::new(),
            flows: Vec::new(),
            fifos: ClassFifos::new(0),
            heads: SlotHeap::new(),
            longest: SlotHeap::new(),
            fluid: SlotHeap::new(),
            fluid_weight: 0.0,
            virtual_time: 0.0,
            advanced_to: Time::ZERO,
            bytes_per_second: match values.choice(&PARAMS, "virtual_time") {
                VirtualTime::Fluid => Some(link.rate_bps / 8.0),
                VirtualTime::SelfClocked => None,
            },
            arrivals: 0,
            weights: class_weights::read(values, &WEIGHTS).map(|weight| weight as f64),
            limit,
        }
    }

    /// Advances virtual time to `now`.
    fn advance(&mut self, now: Time) {
        let Some(rate) = self.bytes_per_second else { return };
        let mut seconds = now - self.advanced_to;
        self.advanced_to = now;
        while let Some(((finish, _), slot)) = self.fluid.first() {
            let until = (f64::from_bits(finish) - self.virtual_time).max(0.0) * self.fluid_weight / rate;
            if until > seconds {
                self.virtual_time += seconds * rate / self.fluid_weight;
                return;
            }
            seconds -= until;
            self.virtual_time = self.virtual_time.max(f64::from_bits(finish));
            self.leave_fluid(slot);
        }
    }

    fn leave_fluid(&mut self, slot: usize) {
        self.fluid.remove(slot);
        self.fluid_weight -= self.flows[slot].weight;
        self.forget_if_done(slot);
    }

    /// Forgets a flow that is neither in the queue nor in the fluid: its next packet starts at V.
    fn forget_if_done(&mut self, slot: usize) {
        if self.flows[slot].tags.is_empty() && !self.fluid.contains(slot) {
            self.known.forget(slot);
        }
    }

    /// Drops the newest packet of the longest flow; the slot of the flow.
    fn drop_one(&mut self, dropped: &mut dyn FnMut(&Packet)) -> Option<usize> {
        let (_, slot) = self.longest.first()?;
        let victim = self.fifos.take(slot, End::Tail)?;
        dropped(&victim);
        let flow = &mut self.flows[slot];
        let tag = flow.tags.pop_back()?;
        flow.last_finish = flow.tags.back().map_or(tag.start, |before| before.finish);
        let last_finish = flow.last_finish;
        self.sort_in(slot);
        if self.fluid.contains(slot) {
            if last_finish > self.virtual_time {
                self.fluid.set(slot, (last_finish.to_bits(), slot));
            } else {
                self.leave_fluid(slot);
                return Some(slot);
            }
        }
        self.forget_if_done(slot);
        Some(slot)
    }

    /// Keeps both heaps of waiting flows in order after a change in `slot`.
    fn sort_in(&mut self, slot: usize) {
        let flow = &self.flows[slot];
        if let Some(head) = flow.tags.front() {
            self.heads.set(slot, (head.finish.to_bits(), head.number));
            self.longest.set(slot, (Reverse(self.fifos.bytes_of(slot)), flow.backlogged_since));
        } else {
            self.heads.remove(slot);
            self.longest.remove(slot);
        }
    }
}

impl Schedule for Fq {
    fn arrive(&mut self, packet: Packet, now: Time, dropped: &mut dyn FnMut(&Packet)) -> bool {
        self.advance(now);
        if self.known.is_empty() {
            self.virtual_time = 0.0;
        }
        let (slot, new) = self.known.slot(packet.flow);
        if slot == self.flows.len() {
            self.flows.push(Flow::default());
        }
        let flow = &mut self.flows[slot];
        if new {
            (flow.last_finish, flow.weight) = (0.0, self.weights[class_of(&packet)]);
        }
        if flow.tags.is_empty() {
            flow.backlogged_since = self.arrivals;
        }
        let start = flow.last_finish.max(self.virtual_time);
        flow.last_finish = start + f64::from(packet.size) / flow.weight;
        flow.tags.push_back(Tag { start, finish: flow.last_finish, number: self.arrivals });
        self.arrivals += 1;
        if self.bytes_per_second.is_some() {
            if !self.fluid.contains(slot) {
                self.fluid_weight += flow.weight;
            }
            self.fluid.set(slot, (flow.last_finish.to_bits(), slot));
        }
        self.fifos.push(slot, packet);
        self.sort_in(slot);
        let mut admitted = true;
        while self.fifos.exceeds(self.limit) {
            // The newest packet of the arrival's flow is the arrival.
            admitted &= self.drop_one(dropped) != Some(slot);
        }
        admitted
    }

    fn take(&mut self, now: Time, _dropped: &mut dyn FnMut(&Packet)) -> Option<Packet> {
        self.advance(now);
        let (_, slot) = self.heads.first()?;
        let packet = self.fifos.take(slot, End::Head)?;
        let tag = self.flows[slot].tags.pop_front()?;
        if self.bytes_per_second.is_none() {
            self.virtual_time = tag.finish;
        }
        self.sort_in(slot);
        self.forget_if_done(slot);
        Some(packet)
    }

    fn fifos(&self) -> &ClassFifos {
        &self.fifos
    }

    fn gauges(&self, out: &mut dyn FnMut(&'static str, f64)) {
        out("virtual_time", self.virtual_time);
        out("active", self.heads.len() as f64);
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::prelude::*;

    fn fq(pairs: &[(&'static str, Value)], bytes_per_second: f64, limit: Limit) -> Fq {
        let values = Values::of(pairs);
        Fq::new(&values, &Link { rate_bps: 8.0 * bytes_per_second, delay_s: 0.0 }, limit)
    }

    fn at(seconds: f64) -> Time {
        Time::from_seconds(seconds)
    }

    fn arrive(queue: &mut Fq, flow: u64, size: u32, now: f64) -> Vec<u64> {
        let mut lost = Vec::new();
        let admitted = queue.arrive(Packet::new(flow, size), at(now), &mut |victim| lost.push(victim.flow));
        assert!(admitted || lost.contains(&flow));
        lost
    }

    fn take(queue: &mut Fq, now: f64) -> Option<u64> {
        queue.take(at(now), &mut |_| {}).map(|p| p.flow)
    }

    /// 1 B/s. A 20 B and B 10 B at 0: V rises by 1/2. C 8 B at 10 s finds V = 5: F = 13. D 11 B at 18 s finds V = 5 +
    /// 8/3: F = 18.67, before A's 20. The finish tag of the packet sent last would be 10 and 18: D would come after A.
    #[test]
    fn worked_by_hand() {
        for (virtual_time, last_two) in [("fluid", [3, 0]), ("self_clocked", [0, 3])] {
            let mut queue = fq(&[("virtual_time", Value::Choice(virtual_time))], 1.0, Limit::Packets(9));
            let [a, b, c, d] = [0, 1, 2, 3];
            arrive(&mut queue, a, 20, 0.0);
            arrive(&mut queue, b, 10, 0.0);
            assert_eq!(take(&mut queue, 0.0), Some(b));
            arrive(&mut queue, c, 8, 10.0);
            assert_eq!(take(&mut queue, 10.0), Some(c));
            arrive(&mut queue, d, 11, 18.0);
            let v = if virtual_time == "fluid" { 5.0 + 8.0 / 3.0 } else { 18.0 };
            assert!((queue.virtual_time - v).abs() < 1e-12, "{virtual_time}: {}", queue.virtual_time);
            assert_eq!([take(&mut queue, 18.0), take(&mut queue, 29.0)], last_two.map(Some), "{virtual_time}");
        }
    }

    #[test]
    fn equal_finish_times_are_served_as_they_came() {
        let mut queue = fq(&[], 1e6, Limit::Packets(99));
        for flow in [5, 3, 9, 1] {
            arrive(&mut queue, flow, 700, 0.0);
        }
        assert_eq!([0; 4].map(|_| take(&mut queue, 0.0).unwrap()), [5, 3, 9, 1]);
    }

    #[test]
    fn a_flow_is_not_paid_for_the_time_it_was_away() {
        let mut queue = fq(&[], 1000.0, Limit::Packets(99));
        for _ in 0..20 {
            arrive(&mut queue, 1, 1000, 0.0);
        }
        for second in 0..5 {
            assert_eq!(take(&mut queue, f64::from(second)), Some(1));
        }
        for _ in 0..3 {
            arrive(&mut queue, 2, 1000, 5.0);
        }
        // At 5 s V is 5000; flow 1's sixth packet ends at 6000, as flow 2's first, and came earlier.
        let order: Vec<u64> = (5..11).map(|second| take(&mut queue, f64::from(second)).unwrap()).collect();
        assert_eq!(order, [1, 2, 1, 2, 1, 2]);
    }

    /// The longest flow loses its newest packet; of equally long flows the longest backlogged does.
    #[test]
    fn drops_from_the_longest_flow() {
        let mut queue = fq(&[], 1e6, Limit::Bytes(3000));
        for (flow, size) in [(1, 500), (2, 1000), (1, 500), (3, 1000)] {
            assert!(arrive(&mut queue, flow, size, 0.0).is_empty());
        }
        assert_eq!(arrive(&mut queue, 4, 1, 0.0), [1], "1, 2 and 3 have 1000 B; 1 was first");
        assert_eq!(arrive(&mut queue, 3, 500, 0.0), [3], "its own newest is the arrival");
        assert_eq!(queue.bytes(), 2501);
        assert_eq!(arrive(&mut queue, 5, 3001, 0.0), [5]);
        let order: Vec<u64> = std::iter::from_fn(|| take(&mut queue, 0.0)).collect();
        assert_eq!(order, [4, 1, 2, 3]);
    }

    #[test]
    fn a_dropped_packet_does_not_count_against_its_flow() {
        let mut queue = fq(&[], 1.0, Limit::Packets(3));
        arrive(&mut queue, 1, 100, 0.0);
        for _ in 0..50 {
            arrive(&mut queue, 1, 100, 0.0);
        }
        assert_eq!(queue.packets(), 3);
        assert_eq!(queue.flows[0].last_finish, 300.0);
        assert_eq!(queue.fluid.first().map(|((finish, _), _)| f64::from_bits(finish)), Some(300.0));
    }

    #[test]
    fn flows_are_forgotten_when_the_fluid_has_done_with_them() {
        for (virtual_time, while_busy) in [("fluid", 2), ("self_clocked", 1)] {
            let mut queue = fq(&[("virtual_time", Value::Choice(virtual_time))], 1000.0, Limit::Packets(99));
            arrive(&mut queue, 1, 1000, 0.0);
            arrive(&mut queue, 2, 5000, 0.0);
            assert_eq!(take(&mut queue, 0.0), Some(1));
            assert_eq!(queue.known.len(), while_busy, "the fluid serves flow 1 until 2 s");
            assert_eq!(take(&mut queue, 1.0), Some(2));
            assert_eq!(take(&mut queue, 6.0), None);
            assert!(queue.known.is_empty());
            arrive(&mut queue, 3, 1000, 7.0);
            assert_eq!((queue.virtual_time, queue.known.len(), queue.flows.len()), (0.0, 1, 2));
        }
    }

    /// When each packet of each flow ends in the fluid, by its definition: between events every flow with a backlog
    /// gets its weight's share of the rate.
    fn fluid_ends(arrivals: &[(f64, usize, f64)], weights: &[f64], rate: f64) -> Vec<f64> {
        let mut ends = vec![f64::NAN; arrivals.len()];
        let mut waiting: Vec<Vec<(usize, f64)>> = vec![Vec::new(); weights.len()];
        let (mut now, mut next) = (0.0, 0);
        loop {
            let total: f64 = (0..weights.len()).filter(|&i| !waiting[i].is_empty()).map(|i| weights[i]).sum();
            let first_end = (0..weights.len())
                .filter(|&i| !waiting[i].is_empty())
                .map(|i| (waiting[i][0].1 * total / (rate * weights[i]), i))
                .min_by(|a, b| a.0.total_cmp(&b.0));
            let until = arrivals.get(next).map_or(f64::INFINITY, |&(time, _, _)| time - now);
            let step = first_end.map_or(until, |(end, _)| end.min(until));
            if step.is_infinite() {
                return ends;
            }
            for (queue, weight) in waiting.iter_mut().zip(weights) {
                if let Some((_, bytes)) = queue.first_mut() {
                    *bytes -= step * rate * weight / total;
                }
            }
            now += step;
            match first_end {
                Some((end, flow)) if end <= until => ends[waiting[flow].remove(0).0] = now,
                _ => {
                    let (_, flow, bytes) = arrivals[next];
                    waiting[flow].push((next, bytes));
                    next += 1;
                }
            }
        }
    }

    /// Parekh & Gallager 1993, theorem 1: no packet leaves later than the fluid by more than the time of the largest
    /// packet.
    #[test]
    fn no_packet_is_later_than_the_fluid_by_more_than_the_largest_packet() {
        const RATE: f64 = 125_000.0;
        let weights = [1.0, 1.0, 3.0, 2.0, 7.0];
        let given: Vec<_> = ["weight_0", "weight_1", "weight_2", "weight_3", "weight_4"]
            .into_iter()
            .zip(weights.map(|w| Value::Whole(w as i64)))
            .collect();
        let mut random = Generator::stream(7, "arrivals");
        let (mut tightest, mut worst_clocked) = (f64::INFINITY, 0.0_f64);
        for run in 0..40 {
            let mut now = 0.0;
            let mut arrivals = Vec::new();
            for _ in 0..300 {
                // A load near 1, in bursts.
                now += if random.uniform() < 0.3 { 0.0 } else { random.uniform() * 0.0155 };
                let flow = (random.uniform() * 5.0) as usize;
                arrivals.push((now, flow, (40.0 + random.uniform() * 1460.0).floor()));
            }
            let ends = fluid_ends(&arrivals, &weights, RATE);
            for clocked in [false, true] {
                let mut queue = fq(&given, RATE, Limit::Packets(100_000));
                if clocked {
                    queue.bytes_per_second = None;
                }
                let (mut free, mut next) = (0.0_f64, 0);
                while next < arrivals.len() || queue.packets() > 0 {
                    while let Some(&(time, flow, bytes)) =
                        arrivals.get(next).filter(|a| a.0 <= free || queue.packets() == 0)
                    {
                        free = free.max(time);
                        let packet =
                            Packet { class: flow as u8, tag: next as u32, ..Packet::new(flow as u64, bytes as u32) };
                        queue.arrive(packet, at(time), &mut |_| panic!("there is room"));
                        next += 1;
                    }
                    let packet = queue.take(at(free), &mut |_| {}).expect("a packet");
                    free += f64::from(packet.size) / RATE;
                    let late = free - ends[packet.tag as usize];
                    if clocked {
                        worst_clocked = worst_clocked.max(late);
                    } else {
                        assert!(late <= 1500.0 / RATE + 1e-9, "run {run}: {late} s late");
                        tightest = tightest.min(1500.0 / RATE - late);
                    }
                }
            }
        }
        assert!(tightest < 2e-3, "the bound is nearly met: {tightest}");
        assert!(worst_clocked > 1500.0 / RATE, "self-clocked breaks it: {worst_clocked}");
    }
}
