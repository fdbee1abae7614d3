//! End-to-end measurement, if asked for: losses, delay variation, the shortest possible durations of transfers.

use crate::engine::network::{Network, TransferSpec};
use crate::engine::settings::Settings;
use crate::engine::trace::{TcpFlow, TcpFlows};
use crate::losses::FlowLosses;
use crate::variation::Variation;
use earlydrop_net::tcp::sizes::ACK_BYTES;
use earlydrop_net::tcp::Sender;
use earlydrop_net::Segment;
use std::sync::Arc;

/// Packets sent and lost by flow. Queues drop at events, and links with loss start packets at events, so that the
/// losses of all flows come in order of time.
pub struct Losses {
    /// By flow: links of its forward path.
    pub out: Arc<[u8]>,
    pub flows: Vec<FlowLosses>,
}

impl Losses {
    pub fn new(network: &Network) -> Self {
        let out: Arc<[u8]> = (0..network.flows()).map(|flow| network.route(flow).0.len() as u8).collect();
        Losses { flows: vec![FlowLosses::default(); out.len()], out }
    }

    /// A packet is lost at `now`, s; ACKs and requests do not count.
    #[cold]
    #[inline(never)]
    pub fn lost(&mut self, segment: Segment, now: f64) {
        let flow = segment.flow() as usize;
        if segment.hop() < usize::from(self.out[flow]) {
            self.flows[flow].gaps.lost(now);
        }
    }

    /// A flow's sender is replaced.
    pub fn replaced(&mut self, flow: u32, sender: &Sender) {
        self.flows[flow as usize].sent += sent(sender);
    }

    /// A sender of the RFC TCP sends `packets`.
    pub fn sent(&mut self, flow: u32, packets: usize) {
        self.flows[flow as usize].sent += packets as i64;
    }
}

/// Segments sent by a sender of ns-2. Those of others are counted when they leave.
pub fn sent(sender: &Sender) -> i64 {
    match sender {
        Sender::Ns2(sender) => i64::from(sender.core.max_sent) + 1 + i64::from(sender.core.retransmits),
        Sender::Rfc(_) => 0,
    }
}

/// What the headers of each flow depend on.
pub fn tcp_flows(network: &Network) -> TcpFlows {
    let pairs = network.flows_both_ways();
    let of_flow = |flow| {
        let spec = network.spec(flow);
        let counts_marks = spec.options.rfc.as_ref().is_some_and(|rfc| rfc.counts_marks());
        let links = network.route(flow).0.len() as u8;
        spec.interval.is_none().then(|| TcpFlow { links, counts_marks, both_ways: pairs.contains(&(flow as u32)) })
    };
    (0..network.flows()).map(of_flow).collect()
}

/// Delay variation by flow, with the propagation delays as lower bound. The delay of a medium is not included in it.
pub fn variations(network: &Network, settings: &Settings, ticks_per_second: f64) -> Vec<Variation> {
    let count = if settings.jitter { network.flows() } else { 0 };
    let floor = |flow: usize| -> f64 {
        let links = network.route(flow).0.iter().filter(|&&link| !network.varies(link));
        links.map(|&link| network.links[link as usize].delay_s).sum()
    };
    (0..count).map(|flow| Variation::new(floor(flow), ticks_per_second)).collect()
}

/// Length of a loss event by port, s; empty if losses are not measured.
pub fn loss_rtts(network: &Network, settings: &Settings) -> Vec<f64> {
    if !settings.losses {
        return Vec::new();
    }
    let mut of_port = vec![(0.0, 0_u32); network.ports.len()];
    for flow in 0..network.flows() {
        let Some(rtt) = network.base_rtt_s(flow) else { continue };
        for port in network.route(flow).0.iter().filter_map(|&link| network.links[link as usize].port) {
            let (sum, count) = &mut of_port[port as usize];
            (*sum, *count) = (*sum + rtt, *count + 1);
        }
    }
    let mean = |(sum, count): (f64, u32)| if count > 0 { sum / f64::from(count) } else { USUAL_RTT };
    of_port.into_iter().map(|sums| settings.loss_rtt.unwrap_or_else(|| mean(sums))).collect()
}

/// Length of a loss event at a queue without flows with feedback, s: the RTT that RFC 7928, 3.2 assumes.
const USUAL_RTT: f64 = 0.1;

/// Duration of a transfer whose segments all leave at once over the empty path, once its connection is open.
#[derive(Clone, Copy, Default)]
pub struct Ideal {
    /// With one segment, s.
    first: f64,
    /// Each further one, s: its transmission on the slowest link of the forward path.
    next: f64,
    /// Saved per byte missing in the last segment, s: its transmissions on all links of the forward path.
    byte: f64,
}

impl Ideal {
    /// Duration with this number of `segments`, of which the last lacks `missing` bytes, s.
    pub fn time(self, segments: u32, missing: u32) -> f64 {
        self.first + f64::from(segments.saturating_sub(1)) * self.next - f64::from(missing) * self.byte
    }

    fn new(network: &Network, flow: u32, transfer: &TransferSpec) -> Self {
        let flow = flow as usize;
        let bytes = network.spec(flow).wire;
        let back = match (transfer.request, transfer.received) {
            (Some((request, _)), _) => network.reverse_time_s(flow, request),
            (None, true) => 0.0,
            (None, false) => network.reverse_time_s(flow, ACK_BYTES),
        };
        let out = network.route(flow).0.iter().map(|&link| network.links[link as usize].rate_bps);
        let slowest = out.clone().fold(f64::INFINITY, f64::min);
        let byte = out.map(|rate| 8.0 / rate).sum();
        Ideal { first: network.forward_time_s(flow, bytes) + back, next: 8.0 * f64::from(bytes) / slowest, byte }
    }
}

/// For each flow with finite transfers, in the order of the network.
pub fn ideals(network: &Network) -> Vec<Ideal> {
    network.transfers.iter().map(|(flow, transfer)| Ideal::new(network, *flow, transfer)).collect()
}
