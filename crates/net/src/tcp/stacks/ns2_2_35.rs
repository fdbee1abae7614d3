//! `ns2-2.35`: ns-2's TCPs, event by event. Their code is [`crate::tcp::ns2`]; they have none of the options of
//! the RFC TCP but `window`, `ecn`, `delayed_ack`, `limited_transmit` and `min_rto`, with ranges of their own.

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
