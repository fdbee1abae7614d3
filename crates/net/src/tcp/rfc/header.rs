//! Bytes of headers and their options.

/// IPv4 and TCP headers without options.
pub const HEADER_BYTES: u16 = 40;
/// Options that both ends send in every segment: time stamps (RFC 7323, 3.2, padded to 12 bytes).
pub const STAMP_BYTES: u16 = 12;
/// Options of a SYN and its answer without time stamps: MSS, window scale, SACK permitted, padded.
pub const SYN_OPTIONS: u16 = 12;
/// Options of a SYN and its answer with time stamps, which share the padding.
pub const SYN_OPTIONS_WITH_STAMPS: u16 = 20;

/// Bytes of the options of an ACK with `count` SACK blocks (RFC 2018, section 3, padded).
pub const fn block_bytes(count: u8) -> u16 {
    if count == 0 {
        0
    } else {
        4 + 8 * count as u16
    }
}

#[cfg(test)]
mod tests {
    #[test]
    fn blocks_are_padded() {
        assert_eq!([0, 1, 3, 4].map(super::block_bytes), [0, 12, 28, 36]);
    }
}
