//! `rfc`: the RFCs, with their recommended options.

use super::options::Value;
use super::stack::{Row, Stack};

/// The RFCs.
pub const STACK: Stack = Stack {
    name: "rfc",
    about: "What the RFCs say, option by option.",
    tcps: &["reno", "newreno", "sack", "cubic", "dctcp", "bbr", "bbr3", "ledbat", "ledbatpp", "prague"],
    is_ns2: false,
    rows: &[
        Row { key: "sack", value: Value::Flag(false), only: &["newreno"], source: "RFC 6582" },
        Row { key: "window", value: Value::Whole(1000), only: &[], source: "no limit in practice" },
        Row {
            key: "rack",
            value: Value::Flag(true),
            only: &["cubic", "dctcp", "bbr", "bbr3", "prague"],
            source: "RFC 8985, 1: TCPs that have come since",
        },
        Row {
            key: "frto",
            value: Value::Word("on"),
            only: &["cubic", "dctcp", "bbr", "bbr3", "prague"],
            source: "RFC 5682; RFC 9438, 4.9.1",
        },
        Row { key: "hystart", value: Value::Flag(true), only: &["cubic"], source: "RFC 9438, 4.10" },
        Row {
            key: "lost_retransmit_cut",
            value: Value::Word("none"),
            only: &["prague"],
            source: "TCP Prague (Linux, tcp_fastretrans_alert)",
        },
        Row { key: "feedback", value: Value::Word("accecn"), only: &["prague"], source: "RFC 9331, 4.2" },
        Row {
            key: "pacing",
            value: Value::Flag(true),
            only: &["bbr", "bbr3", "prague"],
            source: "BBR drafts; RFC 9331, 4.3",
        },
        Row {
            key: "abc_limit",
            value: Value::Whole(1000),
            only: &["prague"],
            source: "TCP Prague 0.6, prague_update_cwnd (tcp_slow_start)",
        },
        Row {
            key: "idle_restart",
            value: Value::Word("none"),
            only: &["bbr", "bbr3", "prague"],
            source: "BBR drafts, restarting from idle; TCP Prague (Linux, cong_control)",
        },
    ],
};
