//! A network as the engine takes it: links, ports, routes, flows.

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
    /// What the ends of a TCP connection can do.
    pub options: TcpOptions,
}

/// Options of a TCP connection.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct TcpOptions {
    /// Data are sent as ECT(0) and marks are answered, if the congestion control knows ECN.
    pub ecn: bool,
    /// How long an ACK may wait for a second segment, s. `None`: every segment is acknowledged at once.
    pub delayed_ack: Option<f64>,
    /// A new segment on each of the first two duplicate ACKs (RFC 3042).
    pub limited_transmit: bool,
}

impl Default for TcpOptions {
    fn default() -> Self {
        TcpOptions { ecn: false, delayed_ack: None, limited_transmit: true }
    }
}

impl FlowSpec {
    /// Size of its first packet on the wire, bytes.
    pub fn syn(&self) -> u16 {
        if self.interval.is_none() && self.flavour.has_bare_syn() {
            super::SYN_BYTES
        } else {
            self.wire
        }
    }

    /// Sizes of its ACKs on the wire, bytes, the smallest first.
    pub fn acks(&self) -> &'static [u16] {
        if self.flavour.uses_sack() {
            &super::ACK_SIZES
        } else {
            &super::ACK_SIZES[..1]
        }
    }
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
    hops: Vec<u32>,
    routes: Vec<(u32, u8, u8)>,
}

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
                && forward.len() + reverse.len() <= 250,
            "a route has 1 to 250 links"
        );
        self.routes.push((self.hops.len() as u32, forward.len() as u8, reverse.len() as u8));
        self.hops.extend_from_slice(forward);
        self.hops.extend_from_slice(reverse);
        self.flow_specs.push(flow);
        let acks = if flow.interval.is_some() { &[] } else { flow.acks() };
        for &size in [flow.wire, flow.syn()].iter().chain(acks) {
            if !self.sizes.contains(&size) {
                self.sizes.push(size);
            }
        }
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
