//! What a few queues read of a packet beyond [`Packet`]: hosts, all six DSCP bits, and the TCP header.
//!
//! A driver reads the header only for a discipline that asks for it ([`Discipline::reads_headers`]), so that a packet
//! stays small for all others.
//!
//! [`Discipline::reads_headers`]: crate::Discipline::reads_headers

use crate::Packet;

/// Largest number of SACK blocks in a TCP header without other options.
pub const MOST_BLOCKS: usize = 4;

/// The fields of the IP header that tell hosts and services apart, and those of the TCP header.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Header {
    /// The upper six bits of the traffic class, 0..=63 (RFC 2474).
    pub dscp: u8,
    /// Bytes of the packet's size before its IP header (Linux: `skb_network_offset`).
    pub offset: i32,
    /// The host that sends the packet: equal keys are one host.
    pub source: u64,
    /// The host that receives the packet: equal keys are one host.
    pub destination: u64,
    /// The TCP header, if the driver knows one.
    pub tcp: Option<TcpHeader>,
}

impl Header {
    /// The header of a packet of which nothing else is known: the class selector of its class, one pair of hosts.
    pub fn of(packet: &Packet) -> Self {
        Header { dscp: (packet.class & 7) << 3, ..Header::default() }
    }
}

/// The fields of a TCP header that an ACK filter compares.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct TcpHeader {
    /// ACK is set, and none of SYN, FIN, RST, PSH, URG nor a reserved bit.
    pub plain_ack: bool,
    /// ACK is set and SYN is not, whatever the other flags are.
    pub acknowledges: bool,
    /// ECE (bit 0) and CWR (bit 1).
    pub ecn_flags: u8,
    /// The segment carries data.
    pub data: bool,
    /// Options other than SACK and time stamps are present.
    pub other_options: bool,
    /// Acknowledgement number; wraps around 32 bits.
    pub ack: u32,
    /// TSval and TSecr, where the option is present.
    pub stamps: Option<(u32, u32)>,
    /// SACK blocks: the first number of each, and the one behind its last.
    pub blocks: [(u32, u32); MOST_BLOCKS],
    /// How many SACK blocks there are.
    pub block_count: u8,
}

impl TcpHeader {
    /// The SACK blocks.
    pub fn sacked(&self) -> &[(u32, u32)] {
        &self.blocks[..usize::from(self.block_count).min(MOST_BLOCKS)]
    }
}
