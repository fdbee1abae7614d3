//! What queues that read headers see of a flow's packets: DSCP, the hosts at both ends, and the fields of an ACK.

use super::hosts::BlockPool;
use super::packets::unpacked;
use crate::engine::network::{Network, PortKind};
use earlydrop_aqm::header::{TcpHeader, MOST_BLOCKS};
use earlydrop_aqm::{Header, Packet};
use earlydrop_net::segment::{CWR, ECE, FIN, PSH, REQUEST, SACK, SYN};
use earlydrop_net::Segment;

/// What all packets of a flow have in common.
struct FlowHeader {
    /// Links by which its data leave the sender and reach the receiver; the same of its ACKs. A link of a host stands for
    /// the host.
    data: (u32, u32),
    acks: (u32, u32),
    /// Links of the data; an ACK is at a later hop.
    hops: usize,
    dscp: u8,
    tcp: bool,
    /// ACKs count marks (accurate ECN).
    counts_marks: bool,
    /// Its data acknowledge others.
    both_ways: bool,
}

/// The headers of every flow; empty if no queue reads them.
#[derive(Default)]
pub struct Headers {
    flows: Vec<FlowHeader>,
}

impl Headers {
    pub fn new(network: &Network) -> Self {
        let reads = |kind: &PortKind| matches!(kind, PortKind::Discipline(queue) if queue.reads_headers());
        if !network.ports.iter().any(|port| reads(&port.kind)) {
            return Headers::default();
        }
        let ends = |links: &[u32]| links.first().copied().zip(links.last().copied()).unwrap_or((0, 0));
        let pairs = network.flows_both_ways();
        let flows = (0..network.flows()).map(|flow| {
            let (forward, reverse) = network.route(flow);
            FlowHeader {
                data: ends(forward),
                acks: ends(reverse),
                hops: forward.len(),
                dscp: network.dscp(flow),
                tcp: network.spec(flow).interval.is_none(),
                both_ways: pairs.contains(&(flow as u32)),
                counts_marks: network.spec(flow).options.rfc.as_ref().is_some_and(|rfc| rfc.counts_marks()),
            }
        });
        Headers { flows: flows.collect() }
    }

    /// The header of a packet that is not from a replay.
    pub fn of(&self, packet: &Packet, blocks: &BlockPool) -> Header {
        let (segment, _) = unpacked(packet, false);
        let Some(flow) = self.flows.get(segment.flow() as usize) else { return Header::of(packet) };
        let is_data = segment.hop() < flow.hops;
        let (source, destination) = if is_data { flow.data } else { flow.acks };
        let tcp = flow.tcp.then(|| match (is_data, flow.both_ways) {
            (true, true) => both(&segment, flow.counts_marks, blocks),
            (true, false) => data(&segment),
            (false, _) => ack(&segment, flow.counts_marks, blocks),
        });
        Header { dscp: flow.dscp, offset: 0, source: source.into(), destination: destination.into(), tcp }
    }
}

/// The header of a data segment.
fn data(segment: &Segment) -> TcpHeader {
    let bits = segment.bits();
    TcpHeader {
        plain_ack: bits & (SYN | FIN | PSH) == 0,
        acknowledges: bits & SYN == 0,
        ecn_flags: u8::from(bits & CWR != 0) << 1,
        data: true,
        ..TcpHeader::default()
    }
}

/// The header of a segment of a connection with data both ways.
fn both(segment: &Segment, counts_marks: bool, blocks: &BlockPool) -> TcpHeader {
    let own = data(segment);
    let Some(feedback) = blocks.carried(segment) else { return own };
    let acknowledges = ack(&segment.with_bits(segment.bits() & (SYN | SACK)), counts_marks, blocks);
    TcpHeader {
        plain_ack: own.plain_ack && acknowledges.plain_ack,
        acknowledges: true,
        ecn_flags: own.ecn_flags | acknowledges.ecn_flags | u8::from(feedback.echo && !counts_marks),
        data: feedback.carried > 0,
        ..acknowledges
    }
}

/// The header of an ACK, or of a client's request on its way.
fn ack(segment: &Segment, counts_marks: bool, blocks: &BlockPool) -> TcpHeader {
    let bits = segment.bits();
    let mut header = TcpHeader {
        plain_ack: bits & SYN == 0,
        acknowledges: bits & SYN == 0,
        ecn_flags: u8::from(bits & ECE != 0),
        data: bits & REQUEST != 0,
        ack: segment.seq() as u32,
        ..TcpHeader::default()
    };
    if bits & SACK == 0 || header.data {
        return header;
    }
    match blocks.look(segment.note()) {
        (None, sacked) => {
            for (place, &block) in sacked.iter().take(MOST_BLOCKS).enumerate() {
                header.blocks[place] = block;
                header.block_count += 1;
            }
        }
        (Some(feedback), _) => {
            header.ack = feedback.ack;
            let count = usize::from(feedback.count).min(MOST_BLOCKS);
            header.blocks[..count].copy_from_slice(&feedback.blocks[..count]);
            header.block_count = count as u8;
            header.plain_ack &= !feedback.syn;
            header.acknowledges &= !feedback.syn;
            if counts_marks {
                // The counter is in AE, which was a reserved bit, CWR and ECE.
                header.plain_ack &= feedback.ace & 4 == 0;
                header.ecn_flags = feedback.ace & 3;
            }
            header.other_options = feedback.accecn.is_present();
            // ACKs are written in order; only the echoed times can be older, in ms as in Linux.
            header.stamps = Some((0, (feedback.stamp * 1e3) as u32));
        }
    }
    header
}
