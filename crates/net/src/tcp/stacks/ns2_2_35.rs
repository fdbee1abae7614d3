//! `ns2-2.35`: ns-2's TCPs ([`crate::tcp::ns2`]), equal in every event. Of the RFC TCP's options they have `window`,
//! `ecn`, `delayed_ack`, `limited_transmit` and `min_rto`, with ranges of their own.

use super::stack::Stack;

/// ns-2.35.
pub const STACK: Stack = Stack {
    name: "ns2-2.35",
    about:
        "ns-2.35's one-way TCPs, equal to them in every event: segments instead of bytes, coarse clocks, no handshake.",
    tcps: &["tahoe", "reno", "newreno", "sack", "vegas"],
    is_ns2: true,
    rows: &[],
};
