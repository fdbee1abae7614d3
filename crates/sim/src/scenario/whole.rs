//! A checked scenario as a whole.

use std::collections::BTreeMap;

use super::ends::Ends;
use super::model::{PortAt, Queue, QueueSpec, Record, Topology};
use super::traffic::{Direction as Way, Traffic};
use crate::topology::{Direction, Dumbbell, Graph, Pairs};
use earlydrop_aqm::link_layer::LinkLayer;
use earlydrop_aqm::random::Generator;

/// A scenario that passed every check.
#[derive(Clone, Debug, PartialEq)]
pub struct Scenario {
    /// Name, for people.
    pub name: String,
    /// Simulated time, in seconds.
    pub duration: f64,
    /// Start of the measured window, in seconds.
    pub warmup: f64,
    /// Seed of all random streams.
    pub seed: u64,
    /// The network.
    pub topology: Topology,
    /// Queues, in the order of the document; a link without one has an unlimited buffer.
    pub queues: Vec<Queue>,
    /// What is sent, in the order of the document.
    pub traffic: Vec<Traffic>,
    /// The ends of the flows of each entry of [`Scenario::traffic`].
    pub ends: Vec<Ends>,
    /// What is recorded besides the statistics.
    pub record: Record,
}

impl Scenario {
    /// Number of flows of all traffic together.
    pub fn flows(&self) -> u64 {
        self.traffic.iter().map(Traffic::flows).sum()
    }

    /// The queue with that key.
    pub fn queue(&self, key: &str) -> Option<&QueueSpec> {
        self.queues.iter().find(|queue| queue.key == key).map(|queue| &queue.spec)
    }

    /// The scenario over links without a link layer, as between TUN devices.
    #[must_use]
    pub fn over_ip(&self) -> Scenario {
        let mut scenario = self.clone();
        scenario.topology.links_mut().for_each(|link| link.link_layer = LinkLayer::Ip);
        scenario
    }

    /// The queues at the links of `graph`, in the order of the links.
    pub fn ports(&self, graph: &Graph) -> Vec<PortAt> {
        let places: BTreeMap<&str, usize> =
            self.queues.iter().zip(0..).map(|(queue, at)| (&queue.key[..], at)).collect();
        let place = |direction: &Direction| places.get(direction.queue.as_deref()?).copied();
        let mut links = vec![0_u32; self.queues.len()];
        graph.links().filter_map(|(_, direction, ..)| place(direction)).for_each(|at| links[at] += 1);
        let port = |(link, direction, ..): (u32, &Direction, u32, u32)| {
            let queue = place(direction)?;
            let name = if links[queue] == 1 { &self.queues[queue].key } else { &direction.name };
            Some(PortAt { name: name.clone(), link, queue })
        };
        graph.links().filter_map(port).collect()
    }

    /// Largest packet other than ACKs that is certain in this direction between pairs, in bytes on the wire, and the key
    /// that makes it so large; 0 without one.
    pub fn largest_packet(&self, direction: Way) -> (u32, String) {
        let packet = |traffic: &Traffic| match traffic.direction == direction {
            true => (traffic.packet(), "segment"),
            false => (traffic.request(), "request"),
        };
        let entries = self.traffic.iter().map(packet).enumerate();
        let largest = entries.rev().max_by_key(|(_, (bytes, _))| *bytes);
        largest.map_or((0, String::new()), |(at, (bytes, key))| (bytes, format!("traffic[{at}].{key}")))
    }

    /// The dumbbell, if the topology is one and all flows go between its pairs.
    pub(crate) fn pairs_alone(&self) -> Option<&Dumbbell> {
        self.topology.dumbbell().filter(|_| self.ends.iter().all(|ends| ends.between.is_none()))
    }

    /// For each flow between `pairs` pairs of hosts (those of its traffic entry, or all in order) its traffic entry,
    /// its pair's number, and which way it sends.
    pub(crate) fn pairs_of_flows(&self, pairs: u32) -> impl Iterator<Item = (&Traffic, u32, Way)> {
        let (mut dealt, mut firsts) = (0, Vec::with_capacity(self.traffic.len()));
        self.traffic.iter().flat_map(move |traffic| {
            // Flows that go the other way in connections have the pairs of those.
            let before = traffic.reverse_of().map_or(dealt, |at| firsts[at]);
            firsts.push(before);
            dealt += if traffic.takes_pairs() { traffic.flows() } else { 0 };
            (0..traffic.flows()).map(move |flow| (traffic, traffic.pair(flow, before, pairs), traffic.direction))
        })
    }

    /// The ends of each flow: those of its traffic entry, else the topology's pairs, assigned in order.
    pub(crate) fn ends_of_flows(&self, graph: &Graph, seed: u64) -> Vec<(u32, u32)> {
        let mut ends = Vec::with_capacity(self.flows() as usize);
        let hosts = graph.hosts();
        let mut random = Generator::stream(seed, "topology.pairs");
        let mut below = |n: usize| ((random.uniform() * n as f64) as usize).min(n - 1);
        let mut dealt = 0;
        let mut firsts = Vec::with_capacity(self.traffic.len());
        for (traffic, given) in self.traffic.iter().zip(&self.ends) {
            let count = traffic.flows() as usize;
            firsts.push(ends.len());
            if let Some(at) = traffic.reverse_of() {
                ends.extend(
                    (firsts[at]..firsts[at] + count).map(|flow| ends[flow]).map(|(a, b)| (b, a)).collect::<Vec<_>>(),
                );
                continue;
            }
            match (given.nodes(graph), &graph.pairs) {
                (Some((from, to)), _) => ends.extend((0..count).map(|i| (from[i % from.len()], to[i % to.len()]))),
                (None, Pairs::Listed(pairs)) => {
                    let pair = |flow| pairs[traffic.pair(flow, dealt, pairs.len() as u32) as usize];
                    ends.extend((0..traffic.flows()).map(pair).map(|(left, right)| match traffic.direction {
                        Way::Forward => (left, right),
                        Way::Reverse => (right, left),
                    }));
                    dealt += if traffic.takes_pairs() { traffic.flows() } else { 0 };
                }
                // The checker refuses traffic without ends where there are no pairs.
                (None, Pairs::Drawn | Pairs::None) => ends.extend((0..count).map(|_| {
                    let from = below(hosts.len());
                    let to = (from + 1 + below(hosts.len() - 1)) % hosts.len();
                    (hosts[from], hosts[to])
                })),
            }
        }
        ends
    }
}
