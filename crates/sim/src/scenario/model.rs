//! What a checked scenario consists of, except traffic: plain typed data in SI units (seconds, bit/s, bytes).

use std::borrow::Cow;
use std::fmt;

use super::fields::join;
pub use crate::topology::{Delays, InjectedRandom};
use crate::topology::{Dumbbell, Graph, LinkSpec, Pairs};
use earlydrop_aqm::catalogue::AqmSpec;
use earlydrop_aqm::markers::MarkerSpec;
use earlydrop_aqm::params::Values;
use earlydrop_aqm::parents::ParentSpec;
use earlydrop_aqm::policy::Limit;
use earlydrop_aqm::Link;

/// The network of a scenario.
#[derive(Clone, Debug, PartialEq)]
pub enum Topology {
    /// Pairs of hosts that share one bottleneck.
    Dumbbell(Box<Dumbbell>),
    /// Any other network, in full.
    Graph(Graph),
}

impl Topology {
    /// The network in full. Delays of a dumbbell that are drawn are drawn from `seed`.
    pub fn graph(&self, seed: u64) -> Cow<'_, Graph> {
        match self {
            Topology::Dumbbell(dumbbell) => Cow::Owned(dumbbell.graph(seed)),
            Topology::Graph(graph) => Cow::Borrowed(graph),
        }
    }

    /// The network in full, with every drawn delay drawn.
    pub fn drawn(&self, seed: u64) -> Cow<'_, Graph> {
        match self {
            Topology::Graph(graph) if !graph.draws() => Cow::Borrowed(graph),
            _ => Cow::Owned(self.graph(seed).into_owned().drawn(seed)),
        }
    }

    /// The part of the network that has all queues, with unchanged numbers: for a dumbbell what its pairs share.
    pub fn with_queues(&self) -> Cow<'_, Graph> {
        match self {
            Topology::Dumbbell(dumbbell) => Cow::Owned(dumbbell.shared()),
            Topology::Graph(graph) => Cow::Borrowed(graph),
        }
    }

    /// All links, to change them.
    pub(super) fn links_mut(&mut self) -> Box<dyn Iterator<Item = &mut LinkSpec> + '_> {
        match self {
            Topology::Dumbbell(dumbbell) => {
                let Dumbbell { senders, receivers, bottleneck, reverse, .. } = &mut **dumbbell;
                Box::new([senders, receivers, bottleneck, reverse].into_iter())
            }
            Topology::Graph(graph) => Box::new(graph.directions_mut().map(|direction| &mut direction.link)),
        }
    }

    /// The dumbbell, if it is one.
    pub fn dumbbell(&self) -> Option<&Dumbbell> {
        match self {
            Topology::Dumbbell(dumbbell) => Some(dumbbell),
            Topology::Graph(_) => None,
        }
    }

    /// Number of flows if there is one for each pair of hosts.
    pub fn pairs(&self) -> u32 {
        match self {
            Topology::Dumbbell(dumbbell) => dumbbell.pairs,
            Topology::Graph(graph) => match &graph.pairs {
                Pairs::Listed(pairs) => pairs.len() as u32,
                Pairs::Drawn => graph.hosts().len() as u32,
                Pairs::None => 1,
            },
        }
    }

    /// Whether routes must be searched to know that every flow has one; `named`: traffic names its ends.
    pub(super) fn needs_routes(&self, named: bool) -> bool {
        self.dumbbell().is_none() || named
    }
}

/// A table `[queue.KEY]`.
#[derive(Clone, Debug, PartialEq)]
pub struct Queue {
    /// The table's key.
    pub key: String,
    /// What the queue is; each of its links has one of its own.
    pub spec: QueueSpec,
}

impl Queue {
    /// The path of the discipline in a document: `queue.NAME`, or that of the child there.
    pub fn path(&self) -> String {
        join("queue", &self.key) + self.spec.inside()
    }
}

/// A queue at a link.
#[derive(Clone, Debug, PartialEq)]
pub struct PortAt {
    /// Name in results and of its random stream: the key if only one link has the queue, else the link's name.
    pub name: String,
    /// Number of the link.
    pub link: u32,
    /// Place among [`Scenario::queues`](super::Scenario::queues).
    pub queue: usize,
}

/// A queue at a link: its discipline with parameters, and its buffer.
#[derive(Clone)]
pub struct QueueSpec {
    /// The discipline.
    pub spec: &'static AqmSpec,
    /// The digest of the discipline's code, if the catalogue does not have it.
    pub own: Option<String>,
    /// The parameters that were given.
    pub values: Values,
    /// The buffer.
    pub limit: Limit,
    /// Whether packets are marked instead of dropped where they allow it.
    pub ecn: bool,
    /// Random numbers from elsewhere, to follow another simulator's run.
    pub random: Option<InjectedRandom>,
    /// The traffic conditioner that gives arrivals their class.
    pub marker: Option<Marker>,
    /// The shaper that has this queue as its child.
    pub parent: Option<Parent>,
}

/// A shaper with a queue as its child.
#[derive(Clone)]
pub struct Parent {
    /// The shaper.
    pub spec: &'static ParentSpec,
    /// The parameters that were given.
    pub values: Values,
}

/// A traffic conditioner in front of a queue.
#[derive(Clone)]
pub struct Marker {
    /// The marker.
    pub spec: &'static MarkerSpec,
    /// The parameters that were given.
    pub values: Values,
}

/// The parts of a [`QueueSpec`] that can be compared and printed.
type Parts<'a> = (
    (&'static str, Option<&'a str>, &'a Values, Limit, bool, Option<InjectedRandom>),
    [Option<(&'static str, &'a Values)>; 2],
);

impl QueueSpec {
    /// What follows the queue's name in the path of its discipline.
    pub fn inside(&self) -> &'static str {
        self.parent.as_ref().map_or("", |_| ".child")
    }

    /// The link as the discipline sees it: behind a parent, with the parent's rate.
    pub fn link(&self, link: &Link) -> Link {
        self.parent.as_ref().map_or(*link, |parent| parent.spec.link(&parent.values, link))
    }

    /// The parts that can be compared and printed; the discipline is its name.
    fn parts(&self) -> Parts<'_> {
        let own = (self.spec.name, self.own.as_deref(), &self.values, self.limit, self.ecn, self.random);
        let marker = self.marker.as_ref().map(|marker| (marker.spec.name, &marker.values));
        (own, [marker, self.parent.as_ref().map(|parent| (parent.spec.name, &parent.values))])
    }
}

impl PartialEq for QueueSpec {
    fn eq(&self, other: &Self) -> bool {
        self.parts() == other.parts()
    }
}

impl fmt::Debug for QueueSpec {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_tuple("QueueSpec").field(&self.parts()).finish()
    }
}

/// Congestion control of a TCP.
pub use earlydrop_net::tcp::Flavour as Tcp;

/// What a result says of each flow.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum FlowRecord {
    /// All that is measured.
    #[default]
    Each,
    /// Only how the flows of each traffic entry are distributed.
    Summary,
    /// Nothing.
    Nothing,
}

/// What is recorded besides the statistics.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Record {
    /// What the result says of each flow.
    pub flows: FlowRecord,
    /// Sampling interval of the series, in seconds; `None` records none.
    pub series: Option<f64>,
    /// Whether the series have the inner values of the disciplines.
    pub gauges: bool,
    /// Flows whose windows, RTTs and pacing rates are in the series, numbered from 1.
    pub cwnd_flows: Vec<u64>,
    /// Number of events to keep of each traced queue.
    pub trace: u64,
    /// Queues whose events are kept, by name; if empty, the first queue's are.
    pub trace_queues: Vec<String>,
    /// Whether traced events have the packets' ECN field and TCP flags.
    pub trace_headers: bool,
    /// Flow whose variables are traced.
    pub trace_flow: Option<u64>,
    /// Whether the time of every transfer is kept.
    pub transfers: bool,
    /// Whether the histogram of each queue's delays is kept.
    pub delay_histogram: bool,
    /// Whether every queue is counted by flow and by traffic entry, and round-trip times are measured.
    pub by_flow: bool,
    /// Length of the intervals over which rates are averaged, in seconds; `None` records none.
    pub rates: Option<f64>,
    /// Flows whose rates are recorded, numbered from 1.
    pub rate_flows: Vec<u64>,
    /// Queues at which rates are recorded, by name; if empty, at the first.
    pub rate_queues: Vec<String>,
    /// Whether the variation of the flows' delays is measured.
    pub jitter: bool,
    /// Flows of which every packet's delay is recorded, numbered from 1.
    pub delay_flows: Vec<u64>,
    /// Whether the times between losses are measured, and how many flows lose at once.
    pub losses: bool,
    /// Length of a loss event, in seconds; `None` takes the mean base RTT of the flows at a queue.
    pub loss_rtt: Option<f64>,
}
