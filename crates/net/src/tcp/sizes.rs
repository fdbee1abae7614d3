//! Sizes of ACKs and SYNs on the wire, headers included.

use super::rfc;

/// An ACK without options, bytes (ns-2's `tcpip_base_hdr_size_`).
pub const ACK_BYTES: u16 = rfc::HEADER_BYTES;

/// ACKs of ns-2's SACK with 0 to 3 SACK blocks, bytes.
pub const ACK_SIZES: [u16; 4] = [ACK_BYTES, 48, 56, 64];

/// A SYN of ns-2, bytes.
pub const SYN_BYTES: u16 = 40;

/// A SYN of a connection with these settings, bytes.
pub fn syn_bytes(settings: &rfc::Settings) -> u16 {
    ACK_BYTES + if settings.timestamps { rfc::SYN_OPTIONS_WITH_STAMPS } else { rfc::SYN_OPTIONS }
}

/// The first SYN-ACK of a connection with these settings, bytes.
pub fn syn_ack_bytes(settings: &rfc::Settings) -> u16 {
    let accurate = settings.asks() == rfc::Feedbacks::Accecn && settings.ecn.server == rfc::ServerEcn::Same;
    let option = if accurate { rfc::AccecnOption::first() } else { rfc::AccecnOption::NONE };
    syn_bytes(settings) + option.syn_bytes(settings.timestamps)
}

/// An ACK or SYN-ACK with this contents, bytes.
#[inline(always)]
pub fn ack_bytes(settings: &rfc::Settings, ack: &rfc::Feedback) -> u16 {
    if ack.syn {
        return syn_bytes(settings) + ack.accecn.syn_bytes(settings.timestamps);
    }
    ACK_BYTES + if settings.timestamps { rfc::STAMP_BYTES } else { 0 } + ack.option_bytes()
}

/// ACKs of a connection with these settings, bytes: without SACK blocks, with one, and so on; with the option of
/// accurate ECN every multiple of four up to the largest header.
pub fn ack_sizes(settings: &rfc::Settings) -> &'static [u16] {
    if settings.asks() == rfc::Feedbacks::Accecn {
        const ALL: [u16; 11] = [40, 44, 48, 52, 56, 60, 64, 68, 72, 76, 80];
        return &ALL[if settings.timestamps { 3 } else { 0 }..];
    }
    const PLAIN: [u16; 5] = sizes(ACK_BYTES);
    const STAMPED: [u16; 5] = sizes(ACK_BYTES + rfc::STAMP_BYTES);
    let all = if settings.timestamps { &STAMPED } else { &PLAIN };
    &all[..=usize::from(settings.blocks())]
}

const fn sizes(bare: u16) -> [u16; 5] {
    use rfc::block_bytes as blocks;
    [bare, bare + blocks(1), bare + blocks(2), bare + blocks(3), bare + blocks(4)]
}
