//! What a source sends.

use super::distribution::Distribution;

/// One packet of a source.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Emission {
    /// Time since the previous packet, or since the source's start for the first, in seconds.
    pub after: f64,
    /// Payload, in bytes.
    pub payload: u32,
}

/// Largest payload of a packet, in bytes, given IPv4's 16-bit length.
pub const LARGEST_PAYLOAD: u32 = 65_535;

/// A drawn size as a payload: a whole number of bytes, at least one.
pub(super) fn as_payload(bytes: f64) -> u32 {
    (bytes + 0.5).clamp(1.0, f64::from(LARGEST_PAYLOAD)) as u32
}

pub(super) fn payloads(of: &Distribution) -> Option<Vec<u32>> {
    of.values().map(|values| values.into_iter().map(as_payload).collect())
}
