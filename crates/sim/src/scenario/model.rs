//! A checked scenario: plain typed data in SI units (seconds, bits per second, bytes).

use std::fmt;

use earlydrop_aqm::catalogue::AqmSpec;
use earlydrop_aqm::params::Values;
use earlydrop_aqm::policy::Limit;

use super::traffic::{Direction, Ends, Traffic};

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
    pub topology: Dumbbell,
    /// Queue at the bottleneck, towards the receivers.
    pub bottleneck_queue: QueueSpec,
    /// Queue at the bottleneck's other direction, where the acknowledgements go; `None` leaves it ample.
    pub reverse_queue: Option<QueueSpec>,
    /// What is sent, in the order of the document.
    pub traffic: Vec<Traffic>,
    /// What is recorded besides the statistics.
    pub record: Record,
}

impl Scenario {
    /// Number of flows of all traffic together.
    pub fn flows(&self) -> u64 {
        self.traffic.iter().map(Traffic::flows).sum()
    }

    /// Largest packet, ACKs apart, that surely occurs in this direction of a dumbbell, in bytes on the wire.
    pub fn largest_packet(&self, direction: Direction) -> u32 {
        let packet = |traffic: &Traffic| match traffic.ends {
            Ends::Pairs { direction: its, .. } if its != direction => traffic.request(),
            _ => traffic.packet(),
        };
        self.traffic.iter().map(packet).max().unwrap_or(0)
    }
}

/// Pairs of senders and receivers round one bottleneck.
#[derive(Clone, Debug, PartialEq)]
pub struct Dumbbell {
    /// Number of sender-receiver pairs.
    pub pairs: u32,
    /// Links between senders and bottleneck.
    pub senders: Access,
    /// Links between bottleneck and receivers.
    pub receivers: Access,
    /// The bottleneck, towards the receivers.
    pub bottleneck: LinkSpec,
    /// The bottleneck's other direction.
    pub reverse: LinkSpec,
}

/// The access links of one side, the same in both directions.
#[derive(Clone, Debug, PartialEq)]
pub struct Access {
    /// Rate of each, in bit/s.
    pub rate: f64,
    /// Propagation delays, in seconds.
    pub delay: Delays,
}

/// One link.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct LinkSpec {
    /// Rate, in bit/s.
    pub rate: f64,
    /// Propagation delay, in seconds.
    pub delay: f64,
}

/// Times, one for each pair or flow, in seconds.
#[derive(Clone, Debug, PartialEq)]
pub enum Delays {
    /// All the same.
    Same(f64),
    /// One after the other, from the start again when the list is used up. Never empty.
    List(Vec<f64>),
    /// Drawn between the two.
    Uniform(f64, f64),
}

/// A queue at a link: its discipline with parameters, and its buffer.
#[derive(Clone)]
pub struct QueueSpec {
    /// The discipline.
    pub spec: &'static AqmSpec,
    /// Its parameters, as far as they were given.
    pub values: Values,
    /// The buffer.
    pub limit: Limit,
    /// Marks instead of dropping where the packet allows it.
    pub ecn: bool,
    /// Random numbers from elsewhere, to follow another simulator's run.
    pub random: Option<InjectedRandom>,
}

impl QueueSpec {
    /// What can be compared and printed; a discipline is its name.
    fn parts(&self) -> (&'static str, &Values, Limit, bool, Option<InjectedRandom>) {
        (self.spec.name, &self.values, self.limit, self.ecn, self.random)
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

/// A stream of random numbers that replaces the component's own.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum InjectedRandom {
    /// ns-2's default generator; all six words of its state are the seed.
    Mrg32k3a {
        /// The seed.
        seed: u32,
        /// Numbers that others have drawn before.
        skip: u64,
    },
}

/// Congestion control of a TCP.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Tcp {
    /// Fast retransmit and fast recovery.
    Reno,
}

impl Tcp {
    /// All there are.
    pub const ALL: &'static [Tcp] = &[Tcp::Reno];

    /// Name in scenarios.
    pub fn name(self) -> &'static str {
        match self {
            Tcp::Reno => "reno",
        }
    }
}

/// Which world's rules TCP follows.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Profile {
    /// Segments, coarse clock ticks, no handshake, as in ns-2.
    Ns2,
}

impl Profile {
    /// All there are.
    pub const ALL: &'static [Profile] = &[Profile::Ns2];

    /// Name in scenarios.
    pub fn name(self) -> &'static str {
        match self {
            Profile::Ns2 => "ns2",
        }
    }
}

/// What is recorded besides the statistics.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Record {
    /// Sampling interval of the series, in seconds; `None` records none.
    pub series: Option<f64>,
    /// Flows whose windows are in the series, numbered from 1.
    pub cwnd_flows: Vec<u64>,
    /// Number of bottleneck events to keep.
    pub trace: u64,
    /// Flow whose variables are traced.
    pub trace_flow: Option<u64>,
    /// Whether the time of every transfer is kept.
    pub transfers: bool,
}
