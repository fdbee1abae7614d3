//! A network as the engine takes it: links, ports, routes, flows.

use earlydrop_aqm::catalogue::Built;
use earlydrop_aqm::discipline::Fifo;
use earlydrop_aqm::gate::Gate;
use earlydrop_aqm::policy::Limit;
use earlydrop_aqm::random::Generator;
use earlydrop_aqm::Discipline;
use earlydrop_net::medium::Medium;
use earlydrop_net::source::{Distribution, Habits, Source, Transfers};
use earlydrop_net::tcp::sizes::{ack_sizes, syn_bytes, ACK_BYTES, ACK_SIZES, SYN_BYTES};
use earlydrop_net::tcp::Flavour;

pub use earlydrop_net::tcp::TcpOptions;
pub use earlydrop_net::TtlOption;

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
    /// A policy on one FIFO.
    Fifo(Box<Fifo>),
    /// A discipline with queues of its own.
    Discipline(Box<dyn Discipline>),
}

impl PortKind {
    /// From what the catalogue built.
    pub fn new(built: Built, limit: Limit, ecn: bool, random: Generator) -> Self {
        match built {
            // With thousands of ports: in the memory right behind its policy, so that both are on one page.
            Built::Policy(policy) => PortKind::Fifo(Box::new(Fifo::new(Gate::new(policy, limit, ecn, random)))),
            Built::Discipline(finish) => PortKind::Discipline(finish(ecn, random)),
        }
    }

    /// As a discipline, whichever it is.
    pub fn into_discipline(self) -> Box<dyn Discipline> {
        match self {
            PortKind::Fifo(fifo) => fifo,
            PortKind::Discipline(discipline) => discipline,
        }
    }

    /// Whether departures follow from arrivals: nothing is decided at dequeue, by a timer, or on queued packets.
    pub fn decides_at_enqueue(&self) -> bool {
        match self {
            PortKind::Fifo(fifo) => fifo.gate().needs() == Default::default() && fifo.next_timer().is_none(),
            PortKind::Discipline(_) => false,
        }
    }
}

/// Packets without feedback: their source, and when it is at work.
pub struct SourceSpec {
    /// What is sent.
    pub source: Source,
    /// Headers of a packet, bytes.
    pub header: u32,
    /// When it starts, s.
    pub start: f64,
    /// When it falls silent, s.
    pub stop: f64,
    /// Its random numbers.
    pub random: Generator,
}

/// What a TCP flow transfers, one thing after the other.
pub struct TransferSpec {
    /// What and when; `None` leaves it to a crowd.
    pub transfers: Option<Transfers>,
    /// Its random numbers.
    pub random: Generator,
    /// Each transfer has a sender and a receiver of its own.
    pub fresh: bool,
    /// A transfer is complete when the receiver has all of it, not when the sender knows.
    pub received: bool,
    /// The receiver asks for each transfer: bytes of the request on the wire, and when it asks again, s.
    pub request: Option<(u16, f64)>,
    /// Where its transfers are counted.
    pub group: u32,
}

impl TransferSpec {
    /// Whether there is one transfer, which begins at the flow's start and ends at its sender.
    pub(super) fn is_plain(&self) -> bool {
        let once = self.transfers.as_ref().is_some_and(|transfers| transfers.left() == Some(1));
        once && !self.received && self.request.is_none()
    }
}

/// What a crowd asks for, and when.
pub enum Asks {
    /// Objects of sessions that come and go.
    Sessions(Habits),
    /// Pages, one after the other.
    Pages(PageHabits),
}

/// Somebody who loads pages: the next one after the last object of the one before.
pub struct PageHabits {
    /// Objects of a page.
    pub objects: Distribution,
    /// Size of an object, bytes.
    pub size: Distribution,
    /// From the end of a page to the begin of the next, s.
    pub think: Distribution,
    /// Pages; `None` without end.
    pub number: Option<u64>,
}

/// People who ask for objects over a pool of flows.
pub struct CrowdSpec {
    /// What they are like.
    pub asks: Asks,
    /// Their random numbers.
    pub random: Generator,
    /// When they begin, s.
    pub start: f64,
    /// The pool.
    pub flows: Vec<u32>,
}

/// A flow: a bulk transfer, or packets without feedback.
#[derive(Clone, Debug, PartialEq)]
pub struct FlowSpec {
    /// Congestion control.
    pub flavour: Flavour,
    /// Packets without feedback: the time between two of them that recurs, s; infinite if none does. `None`: TCP.
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

impl FlowSpec {
    /// Size of its first packet on the wire, bytes.
    pub fn syn(&self) -> u16 {
        if let Some(settings) = &self.options.rfc {
            return syn_bytes(settings);
        }
        if self.interval.is_none() && self.flavour.has_bare_syn() {
            SYN_BYTES
        } else {
            self.wire
        }
    }

    /// Size of a segment without payload, which profile `rfc` sends when a connection opens, bytes.
    pub fn bare(&self) -> Option<u16> {
        self.options.rfc.is_some().then_some(self.wire.saturating_sub(self.payload))
    }

    /// Size of the answer to a SYN, bytes.
    pub fn syn_answer(&self) -> u16 {
        self.options.rfc.as_ref().map_or(self.acks()[0], |settings| syn_bytes(settings))
    }

    /// Sizes of its ACKs of data on the wire, bytes, the smallest first.
    pub fn acks(&self) -> &'static [u16] {
        if let Some(settings) = &self.options.rfc {
            ack_sizes(settings)
        } else if self.flavour.uses_sack() {
            &ACK_SIZES
        } else {
            &ACK_SIZES[..1]
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
    /// Sources of packets without feedback, with their flows.
    pub sources: Vec<(u32, SourceSpec)>,
    /// Finite transfers, with their flows.
    pub transfers: Vec<(u32, TransferSpec)>,
    /// Crowds on the web.
    pub crowds: Vec<CrowdSpec>,
    /// Flows whose data end at a time, s.
    pub stops: Vec<(u32, f64)>,
    /// Groups in which transfers are counted.
    pub groups: u32,
    /// Classes of the flows' packets; none at all if all are 0.
    pub classes: Vec<u8>,
    /// What happens here is beyond what is proven of links without events: every hop is stepped.
    pub needs_events: bool,
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
    /// Which packets carry it, and the time to live at the destination once it is known, for routers to read.
    pub option: TtlOption,
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

    /// Adds a flow of packets without feedback over these links, with a time to live as in
    /// [`flow_with_ttl`](Self::flow_with_ttl); its index.
    pub fn source(&mut self, spec: SourceSpec, forward: &[u32], initial: u8, option: TtlOption) -> u32 {
        let wire = |payload: u32| (payload + spec.header).min(u32::from(u16::MAX)) as u16;
        let payloads = spec.source.payloads();
        let largest = payloads.as_ref().and_then(|sizes| sizes.iter().copied().max());
        let flow = FlowSpec {
            flavour: Flavour::Reno,
            interval: Some(spec.source.interval().unwrap_or(f64::INFINITY)),
            start: spec.start,
            clock_phase: 0.0,
            window: 1,
            payload: largest.map_or(0, |size| size.min(u32::from(u16::MAX)) as u16),
            wire: largest.map_or(u16::MAX, wire),
            options: TcpOptions::default(),
        };
        // The plan knows one size a flow.
        self.needs_events |= payloads.is_none_or(|sizes| sizes.len() > 1);
        let index = self.flow_with_ttl(flow, forward, &[], initial, option);
        self.sources.push((index, spec));
        index
    }

    /// Gives a TCP flow finite transfers in place of endless data.
    pub fn transfer(&mut self, flow: u32, spec: TransferSpec) {
        // In the profile `rfc` its last segment is of any size.
        self.needs_events |= !spec.is_plain() || self.flow_specs[flow as usize].options.rfc.is_some();
        self.groups = self.groups.max(spec.group + 1);
        self.transfers.push((flow, spec));
    }

    /// Ends the data of a TCP flow at a time, s.
    pub fn stop(&mut self, flow: u32, time: f64) {
        self.needs_events = true;
        self.stops.push((flow, time));
    }

    /// Gives a flow's packets a class.
    pub fn classify(&mut self, flow: u32, class: u8) {
        if class != 0 || !self.classes.is_empty() {
            self.classes.resize(self.flows().max(self.classes.len()), 0);
            self.classes[flow as usize] = class;
        }
    }

    /// Adds a flow that goes out over `forward` and whose ACKs come back over `reverse`, which is empty without
    /// feedback; its index.
    ///
    /// # Panics
    /// If a direction that is used has no link, or the whole way more than 250.
    pub fn flow(&mut self, flow: FlowSpec, forward: &[u32], reverse: &[u32]) -> u32 {
        assert!(
            !forward.is_empty()
                && reverse.is_empty() == flow.interval.is_some()
                && forward.len() + reverse.len() <= MOST_HOPS,
            "a route has 1 to {MOST_HOPS} links"
        );
        self.flow_with_ttl(flow, forward, reverse, NS2_TTL, TtlOption::All)
    }

    /// The same with a time to live of the packets when they are sent. As in ns-2, each link takes one off, and a packet with
    /// none left is dropped at its other end, be it the destination.
    pub fn flow_with_ttl(
        &mut self,
        flow: FlowSpec,
        forward: &[u32],
        reverse: &[u32],
        initial: u8,
        option: TtlOption,
    ) -> u32 {
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
        // What has no size takes no time.
        self.needs_events |= flow.bare() == Some(0);
        let (acks, answer) =
            if flow.interval.is_some() { (&[][..], None) } else { (flow.acks(), Some(flow.syn_answer())) };
        let sizes = [flow.wire, flow.syn()].into_iter().chain(flow.bare()).chain(acks.iter().copied()).chain(answer);
        for size in sizes {
            if !self.sizes.contains(&size) {
                self.sizes.push(size);
            }
        }
        self.flow_specs.push(flow);
        self.routes.len() as u32 - 1
    }

    /// Says what `link` does beside sending at its rate.
    pub fn medium(&mut self, link: u32, medium: Medium) {
        self.media.push((link, medium));
        self.media.sort_by_key(|&(link, _)| link);
    }

    /// Whether `link` is more than a rate and a delay.
    pub fn varies(&self, link: u32) -> bool {
        self.media.binary_search_by_key(&link, |&(link, _)| link).is_ok()
    }

    /// A flow's time to live.
    pub fn time_to_live(&self, flow: usize) -> TimeToLive {
        self.times_to_live[flow]
    }

    /// Number of flows.
    pub fn flows(&self) -> usize {
        self.routes.len()
    }

    /// What a packet of so many bytes takes over the empty links of a flow's way out, s.
    pub fn way_out_s(&self, flow: usize, bytes: u16) -> f64 {
        self.empty_way_s(self.route(flow).0, bytes)
    }

    /// The same of its way back; 0 without feedback.
    pub fn way_back_s(&self, flow: usize, bytes: u16) -> f64 {
        self.empty_way_s(self.route(flow).1, bytes)
    }

    fn empty_way_s(&self, links: &[u32], bytes: u16) -> f64 {
        let links = links.iter().map(|&link| &self.links[link as usize]);
        links.map(|link| 8.0 * f64::from(bytes) / link.rate_bps + link.delay_s).sum()
    }

    /// Base round-trip time of a flow, s: what a full segment takes to its receiver and its ACK back, over empty links. None
    /// without feedback.
    pub fn base_rtt_s(&self, flow: usize) -> Option<f64> {
        let spec = &self.flow_specs[flow];
        let with_feedback = spec.interval.is_none();
        with_feedback.then(|| self.way_out_s(flow, spec.wire) + self.way_back_s(flow, ACK_BYTES))
    }

    /// A flow's links, out and back.
    pub fn route(&self, flow: usize) -> (&[u32], &[u32]) {
        let (at, forward, reverse) = self.routes[flow];
        let (at, forward, reverse) = (at as usize, forward as usize, reverse as usize);
        (&self.hops[at..at + forward], &self.hops[at + forward..at + forward + reverse])
    }
}
