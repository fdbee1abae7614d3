//! A network as the engine runs it: links, ports, flows and their routes.

mod flow_settings;
mod links;
mod specs;

use crate::pages::keep_apart;
use earlydrop_net::medium::Medium;
use earlydrop_net::tcp::sizes::ACK_BYTES;
use earlydrop_net::tcp::Flavour;
pub use earlydrop_net::tcp::TcpOptions;
pub use earlydrop_net::TtlOption;
pub use flow_settings::FlowSettings;
pub use links::Links;
pub use specs::{
    FlowSpec, LinkSpec, MediaSpec, PagePattern, PortKind, PortSpec, SourceSpec, TimeToLive, TransferSpec, Way,
    WebRequests, WebSpec, WriterSpec,
};
use std::collections::BTreeSet;
use std::ops::Range;

/// A network: links, ports, flows and their routes.
#[derive(Default)]
pub struct Network {
    /// Links.
    pub links: Links,
    /// Ports.
    pub ports: Vec<PortSpec>,
    /// Flows.
    pub specs: FlowSettings,
    /// Packet sizes that occur on the wire, bytes.
    pub sizes: Vec<u16>,
    /// Sources without feedback, each with its flow.
    pub sources: Vec<(u32, SourceSpec)>,
    /// Real-time media with feedback, each with its flow.
    pub media_flows: Vec<(u32, MediaSpec)>,
    /// Datagrams from outside of the engine: each flow, and the headers of its packets, bytes.
    pub outside: Vec<(u32, u32)>,
    /// Finite transfers, each with its flow.
    pub transfers: Vec<(u32, TransferSpec)>,
    /// Web clients.
    pub web_clients: Vec<WebSpec>,
    /// Flows whose data end at a time, s.
    pub stops: Vec<(u32, f64)>,
    /// Flows whose application writes a segment at a time.
    pub writers: Vec<(u32, WriterSpec)>,
    /// Pairs of flows that are the two ways of one connection; the first sends the SYN.
    pub both_ways: Vec<(u32, u32)>,
    /// Number of groups of transfers.
    pub groups: u32,
    /// Class of each flow's packets; empty if all are 0.
    pub classes: Vec<u8>,
    /// DSCP of each flow's packets where it is not that of its class; may be shorter than the list of flows.
    pub dscps: Vec<Option<u8>>,
    /// The proof for analytic links does not cover this network: every link is stepped.
    pub needs_events: bool,
    /// Links with varying rate, loss, jitter or reordering, by rising number.
    pub media: Vec<(u32, Medium)>,
    hops: Vec<u32>,
    routes: Vec<(u32, u8, u8)>,
    times_to_live: Vec<TimeToLive>,
}

/// Longest route of a flow in both directions, links.
pub const MOST_HOPS: usize = 250;
/// The usual size of a datagram from outside, bytes: the event queue is laid out for it.
const OUTSIDE_BYTES: u16 = 1500;
/// With more flows their state exceeds the caches.
pub const FLOWS_IN_CACHE: usize = 2000;
/// Time to live of ns-2's packets (`ttl_`).
pub const NS2_TTL: u8 = 32;

impl Network {
    /// An empty network.
    pub fn new() -> Self {
        Self::default()
    }

    /// Makes room for so many links, and for flows with so many links each, there and back.
    pub fn reserve(&mut self, links: usize, flows: usize, hops: usize) {
        if flows > FLOWS_IN_CACHE {
            keep_apart();
        }
        self.links.reserve(links);
        self.hops.reserve_exact(flows * hops);
        self.routes.reserve_exact(flows);
        self.times_to_live.reserve_exact(flows);
        self.specs.reserve(flows);
    }

    /// Adds a link; returns its index.
    pub fn link(&mut self, rate_bps: f64, delay_s: f64, port: Option<u32>) -> u32 {
        self.links.push(LinkSpec { rate_bps, delay_s, port });
        self.links.len() as u32 - 1
    }

    /// Adds a port; returns its index.
    pub fn port(&mut self, port: PortSpec) -> u32 {
        self.ports.push(port);
        self.ports.len() as u32 - 1
    }

    /// Adds a flow without feedback over these links, with a time to live as in [`flow_with_ttl`](Self::flow_with_ttl);
    /// returns its index.
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
        // The plan assumes one packet size per flow.
        self.needs_events |= payloads.is_none_or(|sizes| sizes.len() > 1);
        let index = self.flow_with_ttl(flow, forward, &[], initial, option);
        self.sources.push((index, spec));
        index
    }

    /// Adds a flow of real-time media over `forward`, whose feedback returns over `reverse`; see
    /// [`flow_with_ttl`](Self::flow_with_ttl). Returns its index.
    pub fn media_flow(
        &mut self,
        spec: MediaSpec,
        forward: &[u32],
        reverse: &[u32],
        initial: u8,
        option: TtlOption,
    ) -> u32 {
        let flow = FlowSpec {
            flavour: Flavour::Reno,
            interval: Some(f64::INFINITY),
            start: spec.start,
            clock_phase: 0.0,
            window: 1,
            payload: spec.settings.segment as u16,
            wire: (spec.settings.segment + spec.settings.header) as u16,
            options: TcpOptions::default(),
        };
        // Packets and feedback have any size, and the pacer needs events.
        self.needs_events = true;
        let index = self.flow_with_ttl(flow, forward, reverse, initial, option);
        self.media_flows.push((index, spec));
        index
    }

    /// Adds a flow over `forward` whose datagrams come from outside of the engine, with headers of so many bytes; see
    /// [`flow_with_ttl`](Self::flow_with_ttl). Returns its index.
    pub fn outside_flow(&mut self, header: u32, forward: &[u32], initial: u8, option: TtlOption) -> u32 {
        let flow = FlowSpec {
            flavour: Flavour::Reno,
            interval: Some(f64::INFINITY),
            start: 0.0,
            clock_phase: 0.0,
            window: 1,
            payload: 0,
            wire: OUTSIDE_BYTES,
            options: TcpOptions::default(),
        };
        self.needs_events = true;
        let index = self.flow_with_ttl(flow, forward, &[], initial, option);
        self.outside.push((index, header));
        index
    }

    /// Replaces the unlimited data of a TCP flow by finite transfers.
    pub fn transfer(&mut self, flow: u32, spec: TransferSpec) {
        // In the RFC TCP the last segment has any size.
        self.needs_events |= !spec.is_plain() || self.spec(flow as usize).options.rfc.is_some();
        self.groups = self.groups.max(spec.group + 1);
        self.transfers.push((flow, spec));
    }

    /// `back` sends the other way in the connection of `flow`, over the same links: its data, and nothing else, acknowledge
    /// those of `flow`.
    pub fn both_ways(&mut self, flow: u32, back: u32) {
        self.needs_events = true;
        self.both_ways.push((flow, back));
    }

    /// Ends the data of a TCP flow at a time, s.
    pub fn stop(&mut self, flow: u32, time: f64) {
        self.needs_events = true;
        self.stops.push((flow, time));
    }

    /// Replaces the unlimited data of a TCP flow by what an application writes.
    pub fn write(&mut self, flow: u32, spec: WriterSpec) {
        self.needs_events = true;
        self.writers.push((flow, spec));
    }

    /// Sets the class of a flow's packets.
    pub fn classify(&mut self, flow: u32, class: u8) {
        if class != 0 || !self.classes.is_empty() {
            self.classes.resize(self.flows().max(self.classes.len()), 0);
            self.classes[flow as usize] = class;
        }
    }

    /// Sets the DSCP of a flow's packets.
    pub fn set_dscp(&mut self, flow: u32, dscp: u8) {
        self.dscps.resize(self.flows().max(self.dscps.len()), None);
        self.dscps[flow as usize] = Some(dscp);
    }

    /// The DSCP of a flow's packets: the class selector of its class unless it was set.
    pub fn dscp(&self, flow: usize) -> u8 {
        let class = || self.classes.get(flow).copied().unwrap_or(0) << 3;
        self.dscps.get(flow).copied().flatten().unwrap_or_else(class)
    }

    /// Adds a flow over `forward`, whose ACKs return over `reverse` (empty without feedback); returns its index.
    ///
    /// # Panics
    /// If a direction in use has no link, or the whole route has more than 250.
    pub fn flow(&mut self, flow: FlowSpec, forward: &[u32], reverse: &[u32]) -> u32 {
        assert!(
            !forward.is_empty()
                && reverse.is_empty() == flow.interval.is_some()
                && forward.len() + reverse.len() <= MOST_HOPS,
            "a route has 1 to {MOST_HOPS} links"
        );
        self.flow_with_ttl(flow, forward, reverse, NS2_TTL, TtlOption::All)
    }

    /// The same with an initial time to live. As in ns-2, each link subtracts one, and a packet with 0 left is dropped
    /// at the other end, even if that is its destination.
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
            (true, _) => Some(Way::Forward),
            (false, true) => Some(Way::Reverse),
            (false, false) => None,
        };
        let forward = &forward[..forward.len().min(initial_hops)];
        let reverse = if expires == Some(Way::Forward) { &[] } else { &reverse[..reverse.len().min(initial_hops)] };
        let last = initial.saturating_sub(forward.len() as u8);
        self.times_to_live.push(TimeToLive { initial, option, expires, last });
        self.routes.push((self.hops.len() as u32, forward.len() as u8, reverse.len() as u8));
        self.hops.extend_from_slice(forward);
        self.hops.extend_from_slice(reverse);
        // A segment of 0 bytes takes no time, which the plan does not cover.
        self.needs_events |= flow.bare() == Some(0);
        let (acks, answer) =
            if flow.interval.is_some() { (&[][..], None) } else { (flow.acks(), Some(flow.syn_answer())) };
        let sizes = [flow.wire, flow.syn()].into_iter().chain(flow.bare()).chain(acks.iter().copied()).chain(answer);
        for size in sizes {
            if !self.sizes.contains(&size) {
                self.sizes.push(size);
            }
        }
        self.specs.push(flow);
        self.routes.len() as u32 - 1
    }

    /// Sets the varying rate, loss, jitter or reordering of `link`.
    pub fn medium(&mut self, link: u32, medium: Medium) {
        let sorted = self.media.last().is_none_or(|&(last, _)| last <= link);
        self.media.push((link, medium));
        if !sorted {
            self.media.sort_by_key(|&(link, _)| link);
        }
    }

    /// Whether `link` has a [`Medium`].
    pub fn varies(&self, link: u32) -> bool {
        self.media.binary_search_by_key(&link, |&(link, _)| link).is_ok()
    }

    /// Whether packets leave a link in the order in which they came.
    pub fn keeps_order(&self, link: u32) -> bool {
        let at = self.media.binary_search_by_key(&link, |&(link, _)| link);
        at.is_err() || at.is_ok_and(|at| self.media[at].1.keeps_order())
    }

    /// A flow's time to live.
    pub fn time_to_live(&self, flow: usize) -> TimeToLive {
        self.times_to_live[flow]
    }

    /// The settings of a flow, without its start and clock phase.
    pub fn spec(&self, flow: usize) -> &FlowSpec {
        self.specs.kind(flow as u32)
    }

    /// The flows of connections with data both ways.
    pub fn flows_both_ways(&self) -> BTreeSet<u32> {
        self.both_ways.iter().flat_map(|&(flow, back)| [flow, back]).collect()
    }

    /// Number of flows.
    pub fn flows(&self) -> usize {
        self.routes.len()
    }

    /// Time of a packet over the empty links of a flow's forward path, s.
    pub fn forward_time_s(&self, flow: usize, bytes: u16) -> f64 {
        self.empty_route_s(self.route(flow).0, bytes)
    }

    /// The same for its reverse path; 0 without feedback.
    pub fn reverse_time_s(&self, flow: usize, bytes: u16) -> f64 {
        self.empty_route_s(self.route(flow).1, bytes)
    }

    fn empty_route_s(&self, links: &[u32], bytes: u16) -> f64 {
        let links = links.iter().map(|&link| &self.links[link as usize]);
        links.map(|link| 8.0 * f64::from(bytes) / link.rate_bps + link.delay_s).sum()
    }

    /// Base RTT of a flow, s: a full segment to the receiver and its ACK back, over empty links. `None` without
    /// feedback.
    pub fn base_rtt_s(&self, flow: usize) -> Option<f64> {
        let spec = self.spec(flow);
        let with_feedback = spec.interval.is_none();
        with_feedback.then(|| self.forward_time_s(flow, spec.wire) + self.reverse_time_s(flow, ACK_BYTES))
    }

    /// The links of a flow, forward and reverse.
    pub fn route(&self, flow: usize) -> (&[u32], &[u32]) {
        let (at, forward, reverse) = self.routes[flow];
        let (at, forward, reverse) = (at as usize, forward as usize, reverse as usize);
        (&self.hops[at..at + forward], &self.hops[at + forward..at + forward + reverse])
    }

    /// Frees what the engine has in a form of its own.
    pub(super) fn forget_routes(&mut self) {
        (self.hops, self.routes, self.times_to_live) = (Vec::new(), Vec::new(), Vec::new());
    }

    /// By port: the flows whose data pass it, as ranges of indices.
    pub fn passing(&self) -> Vec<Vec<Range<u32>>> {
        let mut passing: Vec<Vec<Range<u32>>> = vec![Vec::new(); self.ports.len()];
        for flow in 0..self.flows() as u32 {
            let links = self.route(flow as usize).0.iter().map(|&link| &self.links[link as usize]);
            for port in links.filter_map(|link| link.port) {
                match passing[port as usize].last_mut() {
                    Some(last) if last.end > flow => {}
                    Some(last) if last.end == flow => last.end = flow + 1,
                    _ => passing[port as usize].push(flow..flow + 1),
                }
            }
        }
        passing
    }
}
