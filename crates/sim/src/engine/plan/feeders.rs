//! The source of each link's packets, and the packet sizes.

use super::super::network::{FlowSpec, PortKind};
use super::sketch::Sketch;
use earlydrop_net::tcp::ns2::core::INITIAL_RTO;

/// The source of a link's packets.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum Feeder {
    Nobody,
    Link(u32),
    Sender,
    /// Receivers only, all of them behind this link.
    ReceiverBehind(u32),
    Several,
}

/// Calls `visit(feeder, link)` for every hop of every route.
pub fn each_hop(network: &Sketch, mut visit: impl FnMut(Feeder, usize)) {
    for flow in 0..network.flows() {
        let (forward, reverse) = network.route(flow);
        let mut feeder = Feeder::Sender;
        for &link in forward {
            visit(feeder, link as usize);
            feeder = Feeder::Link(link);
        }
        feeder = forward.last().map_or(Feeder::Several, |&last| Feeder::ReceiverBehind(last));
        for &link in reverse {
            visit(feeder, link as usize);
            feeder = Feeder::Link(link);
        }
    }
}

pub fn feeders(network: &Sketch) -> Vec<Feeder> {
    let mut feeders = vec![Feeder::Nobody; network.links.len()];
    each_hop(network, |feeder, link| {
        feeders[link] = match feeders[link] {
            Feeder::Nobody => feeder,
            known if known == feeder => known,
            _ => Feeder::Several,
        };
    });
    feeders
}

/// The packets on their way from the source to a link: sizes at both, bytes.
#[derive(Clone, Copy)]
pub struct Neighbour {
    pub flows: u32,
    /// Sizes of the only flow, at the source (the smallest) and at the link (the largest).
    pub data: (u16, u16),
    pub syn: (u16, u16),
    pub smallest_at_source: u16,
    pub largest_here: u16,
    /// All packets of a flow but SYNs have one size here.
    pub one_size: bool,
    /// SYNs pass here, not only their ACKs.
    pub carries_syns: bool,
    /// A SYN is retransmitted after a timeout: whether the first has certainly left this link by then.
    pub syns_apart: bool,
    /// Segments without payload of the only flow, at the source and here; they may come between data.
    pub bare: Option<(u16, u16)>,
    /// Only receivers follow it.
    pub ends: bool,
}

pub fn neighbours(network: &Sketch) -> Vec<Neighbour> {
    let nobody = Neighbour {
        flows: 0,
        data: (0, 0),
        syn: (0, 0),
        smallest_at_source: u16::MAX,
        largest_here: 0,
        one_size: true,
        carries_syns: false,
        syns_apart: true,
        bare: None,
        ends: true,
    };
    let mut neighbours = vec![nobody; network.links.len()];
    for flow in 0..network.flows() {
        let (forward, reverse) = network.route(flow);
        for (hop, &link) in forward.iter().chain(reverse).enumerate() {
            let spec = network.spec(flow);
            let size = |of: u16, hop: usize, ack: u16| if hop < forward.len() { of } else { ack };
            let source = hop.saturating_sub(1);
            let at = &mut neighbours[link as usize];
            at.flows += 1;
            at.data = (size(spec.wire, source, spec.acks()[0]), size(spec.wire, hop, largest_ack(spec)));
            // The answer to a SYN has no SACK blocks.
            at.syn = (size(spec.syn(), source, spec.syn_answer()), size(spec.syn(), hop, spec.syn_answer()));
            at.bare = spec.bare().filter(|_| hop < forward.len()).map(|bytes| (bytes, bytes));
            at.one_size &= spec.options.rfc.is_none() && (hop < forward.len() || spec.acks().len() == 1);
            at.carries_syns |= spec.interval.is_none() && spec.flavour.has_bare_syn() && hop < forward.len();
            at.ends &= hop + 1 == forward.len();
            for (source, here) in [at.data, at.syn].into_iter().chain(at.bare) {
                at.smallest_at_source = at.smallest_at_source.min(source);
                at.largest_here = at.largest_here.max(here);
            }
        }
    }
    for flow in 0..network.flows() {
        let (forward, reverse) = network.route(flow);
        let mut wait = 0.0;
        for &link in forward.iter().chain(reverse) {
            wait += longest_wait(network, link as usize, neighbours[link as usize].flows);
            neighbours[link as usize].syns_apart &= wait < INITIAL_RTO / 2.0;
        }
    }
    neighbours
}

/// Sizes of a flow's packets and of their ACKs, bytes.
pub fn sizes(spec: &FlowSpec) -> (Vec<u16>, Vec<u16>) {
    let data = [spec.wire, spec.syn()].into_iter().chain(spec.bare()).collect();
    (data, spec.acks().iter().copied().chain([spec.syn_answer()]).collect())
}

fn largest_ack(spec: &FlowSpec) -> u16 {
    spec.acks()[spec.acks().len() - 1]
}

/// Longest wait of a SYN at `link`, s. Where its flow is alone, no other packet of it is in flight while it opens.
fn longest_wait(network: &Sketch, link: usize, flows: u32) -> f64 {
    let spec = &network.links[link];
    match spec.port.map(|port| &network.ports[port as usize].kind) {
        None if flows == 1 => 0.0,
        Some(PortKind::Fifo(fifo)) => {
            let largest = network.sizes.iter().copied().max().unwrap_or(0);
            8.0 * fifo.gate().room().most_bytes(u32::from(largest)) as f64 / spec.rate_bps
        }
        _ => f64::INFINITY,
    }
}
