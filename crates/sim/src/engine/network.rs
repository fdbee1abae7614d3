//! A network as the engine takes it: links, ports, routes, flows.

use super::medium::Medium;
use earlydrop_aqm::catalogue::Built;
use earlydrop_aqm::gate::Gate;
use earlydrop_aqm::policy::Limit;
use earlydrop_aqm::random::Generator;
use earlydrop_aqm::Discipline;
use earlydrop_net::tcp::Flavour;

/// A link in one direction.
#[derive(Clone, Copy, Debug)]
pub struct LinkSpec {
    /// bit/s.
    pub rate_bps: f64,
    /// Propagation delay, s.
    pub delay_s: f64,
    /// Index of the port in front of it; without one it has room for everything.
    pub port: Option<u32>,
}

/// A queue that is watched, with a discipline.
pub struct PortSpec {
    /// Name in results.
    pub name: String,
    /// Name of the discipline.
    pub aqm: String,
    /// The discipline.
    pub kind: PortKind,
}

/// What stands at a port.
pub enum PortKind {
    /// A policy behind its gate, on one FIFO.
    Gate(Box<Gate>),
    /// A discipline with queues of its own.
    Discipline(Box<dyn Discipline>),
}

impl PortKind {
    /// From what the catalogue built.
    pub fn new(built: Built, limit: Limit, ecn: bool, random: Generator) -> Self {
        match built {
            Built::Policy(policy) => PortKind::Gate(Box::new(Gate::new(policy, limit, ecn, random))),
            Built::Discipline(finish) => PortKind::Discipline(finish(ecn, random)),
        }
    }

    /// Whether departures follow from arrivals: nothing is decided at dequeue, by a timer, or on queued packets.
    pub fn decides_at_enqueue(&self) -> bool {
        match self {
            PortKind::Gate(gate) => gate.needs() == Default::default() && gate.next_timer().is_none(),
            PortKind::Discipline(_) => false,
        }
    }
}

/// A flow: a bulk transfer, or packets at a constant rate.
#[derive(Clone, Copy, Debug)]
pub struct FlowSpec {
    /// Congestion control.
    pub flavour: Flavour,
    /// A constant bit rate: a packet every so many seconds, without feedback. `None`: a bulk transfer over TCP.
    pub interval: Option<f64>,
    /// When it starts, s.
    pub start: f64,
    /// Phase of its RTT clock, s.
    pub clock_phase: f64,
    /// Receiver's window, segments.
    pub window: i32,
    /// Payload of a segment, bytes.
    pub payload: u16,
    /// A segment on the wire, bytes.
    pub wire: u16,
}

/// Links, ports, flows and their routes.
#[derive(Default)]
pub struct Network {
    /// Links.
    pub links: Vec<LinkSpec>,
    /// Ports.
    pub ports: Vec<PortSpec>,
    /// Flows.
    pub flow_specs: Vec<FlowSpec>,
    /// Packet sizes that occur, bytes.
    pub sizes: Vec<u16>,
    /// Links that are more than a rate and a delay, by rising number.
    pub media: Vec<(u32, Medium)>,
    hops: Vec<u32>,
    routes: Vec<(u32, u8, u8)>,
    times_to_live: Vec<TimeToLive>,
}

/// What hosts write into the packets of a flow and into their ACKs.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct TimeToLive {
    /// Time to live.
    pub initial: u8,
    /// Whether packets carry it, and the time to live at the destination once it is known, for routers to read.
    pub option: bool,
    /// Whether it is used up on the way out, or back.
    pub expires: Option<Way>,
    /// What is left of it at the receiver.
    pub last: u8,
}

/// A direction of a flow's way.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Way {
    /// From the sender to the receiver.
    Out,
    /// From the receiver to the sender.
    Back,
}

/// Longest way of a flow, out and back, links.
pub const MOST_HOPS: usize = 250;
/// Time to live of ns-2's packets (`ttl_`).
pub const NS2_TTL: u8 = 32;

impl Network {
    /// An empty network.
    pub fn new() -> Self {
        Self::default()
    }

    /// Adds a link; its index.
    pub fn link(&mut self, rate_bps: f64, delay_s: f64, port: Option<u32>) -> u32 {
        self.links.push(LinkSpec { rate_bps, delay_s, port });
        self.links.len() as u32 - 1
    }

    /// Adds a port; its index.
    pub fn port(&mut self, port: PortSpec) -> u32 {
        self.ports.push(port);
        self.ports.len() as u32 - 1
    }

    /// Adds a flow that goes out over `forward` and whose ACKs come back over `reverse`, which is empty for a constant
    /// bit rate.
    ///
    /// # Panics
    /// If a direction that is used has no link, or the whole way more than 250.
    pub fn flow(&mut self, flow: FlowSpec, forward: &[u32], reverse: &[u32]) {
        assert!(
            !forward.is_empty()
                && reverse.is_empty() == flow.interval.is_some()
                && forward.len() + reverse.len() <= MOST_HOPS,
            "a route has 1 to {MOST_HOPS} links"
        );
        self.flow_with_ttl(flow, forward, reverse, NS2_TTL, true);
    }

    /// The same with a time to live of the packets when they are sent. As in ns-2, each link takes one off, and a packet with
    /// none left is dropped at its other end, be it the destination.
    pub fn flow_with_ttl(&mut self, flow: FlowSpec, forward: &[u32], reverse: &[u32], initial: u8, option: bool) {
        let initial_hops = usize::from(initial);
        let expires = match (forward.len() >= initial_hops, reverse.len() >= initial_hops) {
            (true, _) => Some(Way::Out),
            (false, true) => Some(Way::Back),
            (false, false) => None,
        };
        let forward = &forward[..forward.len().min(initial_hops)];
        let reverse = if expires == Some(Way::Out) { &[] } else { &reverse[..reverse.len().min(initial_hops)] };
        let last = initial.saturating_sub(forward.len() as u8);
        self.times_to_live.push(TimeToLive { initial, option, expires, last });
        self.routes.push((self.hops.len() as u32, forward.len() as u8, reverse.len() as u8));
        self.hops.extend_from_slice(forward);
        self.hops.extend_from_slice(reverse);
        self.flow_specs.push(flow);
        let sizes =
            if flow.interval.is_some() { [flow.wire; 3] } else { [flow.wire, super::ACK_BYTES, super::SYN_BYTES] };
        for size in sizes {
            if !self.sizes.contains(&size) {
                self.sizes.push(size);
            }
        }
    }

    /// Says what `link` does beside sending at its rate.
    pub fn medium(&mut self, link: u32, medium: Medium) {
        self.media.push((link, medium));
        self.media.sort_by_key(|&(link, _)| link);
    }

    /// A flow's time to live.
    pub fn time_to_live(&self, flow: usize) -> TimeToLive {
        self.times_to_live[flow]
    }

    /// Number of flows.
    pub fn flows(&self) -> usize {
        self.routes.len()
    }

    /// A flow's links, out and back.
    pub fn route(&self, flow: usize) -> (&[u32], &[u32]) {
        let (at, forward, reverse) = self.routes[flow];
        let (at, forward, reverse) = (at as usize, forward as usize, reverse as usize);
        (&self.hops[at..at + forward], &self.hops[at + forward..at + forward + reverse])
    }
}
