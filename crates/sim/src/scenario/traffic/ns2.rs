//! Options of ns-2's TCPs in `rules`. Other stacks have all but `clock_phase` too, with ranges and defaults of their own.

use earlydrop_net::tcp::ns2::core::MIN_RTO_MS;
use serde_json::{json, Map, Value as Json};

use super::super::bounds::{self, SECONDS, TIMES};
use super::super::document::Doc;
use super::super::fields::{Checked, Field};
use super::super::forms::{Flag, Own, Range};
use super::super::keys::{Key, Rows};
use super::super::schemas::{self, reference};
use super::super::values::list;
use super::model::TcpSpec;

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
pub(super) static CLOCK_PHASE: Key<Own<Vec<f64>>> = Key::optional(
    "clock_phase",
    Own {
        kind: "seconds, time or list",
        range: Range::Within(bounds::PHASE),
        wanted: "seconds, or a time such as \"2.5 ms\"",
        schema: phases_schema,
        write: |phases| json!(phases),
        read: phases,
    },
    "drawn",
    "Phases of the senders' clock ticks, in seconds (ns-2's `boot_time_`).",
);
/// All options of ns-2's TCPs.
pub(super) const OPTIONS: Rows = &[&DELAYED_ACK, &LIMITED_TRANSMIT, &MIN_RTO, &CLOCK_PHASE];

/// Longest delay of an ACK with `delayed_ack = true`, s (ns-2's `interval_`).
const DEFAULT_ACK_DELAY: f64 = 0.1;

/// Reads `true`, `false`, or how long an ACK may wait.
fn delayed_ack(field: &Field<'_>) -> Checked<Option<f64>> {
    match field.doc {
        Doc::Bool(false) => Ok(None),
        Doc::Bool(true) => Ok(Some(DEFAULT_ACK_DELAY)),
        _ => field.measure(&TIMES, bounds::ACK_DELAY).map(Some),
    }
}

/// Reads the timeout in whole milliseconds, as the sender keeps it.
fn min_rto(field: &Field<'_>) -> Checked<u16> {
    let seconds = field.measure(&TIMES, bounds::SHORTEST_RTO)?;
    Ok((seconds * 1000.0).round() as u16)
}

fn phases(field: &Field<'_>) -> Checked<Vec<f64>> {
    match field.doc {
        Doc::Array(_) => list(field, &SECONDS, bounds::PHASE),
        _ => field.measure(&SECONDS, bounds::PHASE).map(|phase| vec![phase]),
    }
}

fn phases_schema() -> Json {
    let phase = json!({ "anyOf": [schemas::number(bounds::PHASE), reference("time")] });
    json!({ "anyOf": [phase.clone(), schemas::list(phase)] })
}

/// All options of a sender in full.
pub(super) fn write(spec: &TcpSpec) -> Map<String, Json> {
    let (options, mut map) = (&spec.options, Map::new());
    DELAYED_ACK.write(&options.delayed_ack, &mut map);
    LIMITED_TRANSMIT.write(&options.limited_transmit, &mut map);
    MIN_RTO.write(&options.min_rto_ms, &mut map);
    CLOCK_PHASE.write_given(spec.clock_phase.as_ref(), &mut map);
    map
}
