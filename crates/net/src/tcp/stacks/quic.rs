//! `quic`: loss recovery and congestion control of QUIC (RFC 9002), over the segments of this simulator.

use super::options::Value;
use super::stack::{Row, Stack};

/// QUIC.
pub const STACK: Stack = Stack {
    name: "quic",
    about: "QUIC's loss recovery, congestion control and ACKs (RFC 9002, RFC 9000).",
    tcps: &["reno", "cubic", "bbr", "bbr3"],
    is_ns2: false,
    rows: &[
        Row { key: "loss_recovery", value: Value::Word("rfc9002"), only: &[], source: "RFC 9002" },
        Row { key: "delayed_ack", value: Value::Seconds(0.025), only: &[], source: "RFC 9000, 18.2: max_ack_delay" },
        Row { key: "pacing", value: Value::Flag(true), only: &["reno", "cubic"], source: "RFC 9002, 7.7" },
        Row { key: "abc_limit", value: Value::Whole(1000), only: &[], source: "RFC 9002, 7.3.1" },
        Row { key: "idle_restart", value: Value::Word("none"), only: &["reno", "cubic"], source: "RFC 9002, 7.8" },
        Row { key: "feedback", value: Value::Word("accecn"), only: &[], source: "RFC 9000, 19.3.2: ECN counts" },
        Row { key: "ecn_plus", value: Value::Word("on"), only: &[], source: "RFC 9000, 13.4: all packets" },
    ],
};
