//! Options of ns-2's TCPs. Other stacks have the same keys, with ranges and defaults of their own.

use earlydrop_net::tcp::ns2::core::MIN_RTO_MS;
use serde_json::json;

use super::super::bounds::{self, TIMES};
use super::super::document::Doc;
use super::super::fields::{Checked, Field};
use super::super::forms::{Flag, Own, Range};
use super::super::keys::{Key, Rows};
use super::super::schemas::{self, reference};

pub(super) static WINDOW: Key<Own<u64>> = Key::or(
    "window",
    Own {
        kind: "whole number",
        range: Range::Whole(1, bounds::WINDOW),
        wanted: "a whole number",
        schema: || schemas::window(schemas::whole(1, bounds::WINDOW)),
        write: |window| (*window).into(),
        read: |field| field.whole(1, bounds::WINDOW),
    },
    // No limit in practice.
    1000,
    "Receiver's window in segments, and the initial ssthresh; in the profile rfc also in bytes.",
);
pub(super) static DELAYED_ACK: Key<Own<Option<f64>>> = Key::or(
    "delayed_ack",
    Own {
        kind: "flag or time",
        range: Range::Within(bounds::ACK_DELAY),
        wanted: "true, false",
        schema: || json!({ "anyOf": [{ "type": "boolean" }, reference("time")] }),
        write: |delay| delay.map_or(false.into(), |delay| format!("{delay} s").into()),
        read: delayed_ack,
    },
    None,
    "Acknowledge every second segment, or one segment after this time; true means 100 ms.",
);
pub(super) static LIMITED_TRANSMIT: Key<Flag> = Key::or(
    "limited_transmit",
    Flag,
    true,
    "Send a new segment on each of the first two duplicate acknowledgements (RFC 3042).",
);
pub(super) static MIN_RTO: Key<Own<u16>> = Key::or(
    "min_rto",
    Own {
        kind: "time",
        range: Range::Within(bounds::SHORTEST_RTO),
        wanted: "a time",
        schema: || reference("time"),
        write: |ms| format!("{ms} ms").into(),
        read: min_rto,
    },
    MIN_RTO_MS,
    "The shortest retransmission timeout before it is doubled, to the millisecond; at least 0.2 s. ns-2 had 1 s until \
     October 2004.",
);
/// All of them.
pub(super) const OPTIONS: Rows = &[&WINDOW, &DELAYED_ACK, &LIMITED_TRANSMIT, &MIN_RTO];

/// Longest delay of an ACK with `delayed_ack = true`, s (ns-2's `interval_`).
const DEFAULT_ACK_DELAY: f64 = 0.1;

/// `true`, `false`, or how long an ACK may wait.
fn delayed_ack(field: &Field<'_>) -> Checked<Option<f64>> {
    match field.doc {
        Doc::Bool(false) => Ok(None),
        Doc::Bool(true) => Ok(Some(DEFAULT_ACK_DELAY)),
        _ => field.measure(&TIMES, bounds::ACK_DELAY).map(Some),
    }
}

/// In whole milliseconds, as the sender keeps it.
fn min_rto(field: &Field<'_>) -> Checked<u16> {
    let seconds = field.measure(&TIMES, bounds::SHORTEST_RTO)?;
    Ok((seconds * 1000.0).round() as u16)
}
