//! Sizes of ACKs and SYNs on the wire.

use earlydrop_net::tcp::rfc;

/// Size of an ACK on the wire, bytes (`tcpip_base_hdr_size_`).
pub const ACK_BYTES: u16 = 40;

/// Sizes of ACKs with 0 to 3 SACK blocks, bytes.
pub const ACK_SIZES: [u16; 4] = [ACK_BYTES, 48, 56, 64];

/// Size of the SYN on the wire, bytes.
pub const SYN_BYTES: u16 = 40;

/// Size of a SYN on the wire with these settings, bytes.
pub fn syn_bytes(settings: &rfc::Settings) -> u16 {
    ACK_BYTES + if settings.timestamps { rfc::SYN_OPTIONS_WITH_STAMPS } else { rfc::SYN_OPTIONS }
}

/// Sizes of ACKs on the wire with 0, 1, ... SACK blocks, bytes.
pub fn ack_sizes(settings: &rfc::Settings) -> &'static [u16] {
    const PLAIN: [u16; 5] = sizes(ACK_BYTES);
    const STAMPED: [u16; 5] = sizes(ACK_BYTES + rfc::STAMP_BYTES);
    let all = if settings.timestamps { &STAMPED } else { &PLAIN };
    &all[..=usize::from(settings.blocks())]
}

const fn sizes(bare: u16) -> [u16; 5] {
    use rfc::block_bytes as blocks;
    [bare, bare + blocks(1), bare + blocks(2), bare + blocks(3), bare + blocks(4)]
}
