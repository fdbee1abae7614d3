//! The structs of `earlydrop_queue.h`, field by field, where each field is explained; and packets of either side.

use earlydrop_aqm::header::{TcpHeader, MOST_BLOCKS};
use earlydrop_aqm::policy::Reason;
use earlydrop_aqm::{abi, Ecn, Header, Packet};

use crate::error::{Checked, Failed};

/// `ed_tcp`
#[repr(C)]
#[derive(Clone, Copy, Debug, Default)]
pub struct Tcp {
    /// Acknowledgement number.
    pub ack: u32,
    /// TSval and TSecr.
    pub stamps: [u32; 2],
    /// SACK blocks.
    pub blocks: [[u32; 2]; MOST_BLOCKS],
    /// How many blocks.
    pub block_count: u8,
    /// Whether there are time stamps.
    pub has_stamps: u8,
    /// A plain ACK.
    pub plain_ack: u8,
    /// ACK without SYN.
    pub acknowledges: u8,
    /// ECE and CWR.
    pub ecn_flags: u8,
    /// Carries data.
    pub data: u8,
    /// Other options are present.
    pub other_options: u8,
    /// Zero.
    pub reserved: u8,
}

/// `ed_header`
#[repr(C)]
#[derive(Clone, Copy, Debug)]
pub struct CHeader {
    /// The sending host.
    pub source: u64,
    /// The receiving host.
    pub destination: u64,
    /// The TCP header, or null.
    pub tcp: *const Tcp,
    /// Bytes before the IP header.
    pub offset: i32,
    /// Code point.
    pub dscp: u8,
    /// Zero.
    pub reserved: [u8; 3],
}

/// What a queue takes of an arrival.
///
/// # Errors
/// A field has a value that it cannot have.
#[inline]
pub fn arrival(given: &abi::Packet, tag: u64) -> Checked<Packet> {
    if given.ecn > 3 {
        return Err(Failed::new(format_args!("packet: ecn is out of range: given {}; allowed 0..3", given.ecn)));
    }
    if given.priority > 7 {
        return Err(Failed::new(format_args!(
            "packet: priority is out of range: given {}; allowed 0..7",
            given.priority
        )));
    }
    if given.size == 0 {
        return Err(Failed::new("packet: size is 0; allowed at least 1 byte"));
    }
    Ok(Packet {
        ecn: Ecn::from_bits(given.ecn),
        class: given.priority,
        ttl: given.ttl,
        initial_ttl: given.initial_ttl,
        final_ttl: given.final_ttl,
        rtt_hint_ms: given.rtt_hint_ms,
        note: tag,
        ..Packet::new(given.flow, given.size)
    })
}

/// The header of an arrival, and its TCP header if it has one.
///
/// # Errors
/// A field has a value that it cannot have.
#[inline]
pub fn header(given: &CHeader, tcp: Option<&Tcp>) -> Checked<Header> {
    if given.dscp > 63 {
        return Err(Failed::new(format_args!("header: dscp is out of range: given {}; allowed 0..63", given.dscp)));
    }
    if let Some(tcp) = tcp {
        if usize::from(tcp.block_count) > MOST_BLOCKS {
            let count = tcp.block_count;
            return Err(Failed::new(format_args!(
                "header: tcp: block_count is out of range: given {count}; allowed 0..{MOST_BLOCKS}"
            )));
        }
    }
    let tcp = tcp.map(|tcp| TcpHeader {
        plain_ack: tcp.plain_ack != 0,
        acknowledges: tcp.acknowledges != 0,
        ecn_flags: tcp.ecn_flags & 3,
        data: tcp.data != 0,
        other_options: tcp.other_options != 0,
        ack: tcp.ack,
        stamps: (tcp.has_stamps != 0).then_some((tcp.stamps[0], tcp.stamps[1])),
        blocks: tcp.blocks.map(|[first, end]| (first, end)),
        block_count: tcp.block_count,
    });
    let CHeader { source, destination, offset, dscp, .. } = *given;
    Ok(Header { dscp, offset, source, destination, tcp })
}

/// `ED_DROP_EARLY` and others.
pub fn reason(of: Reason) -> u32 {
    match of {
        Reason::Early => 0,
        Reason::Forced => 1,
        Reason::Overflow => 2,
    }
}
