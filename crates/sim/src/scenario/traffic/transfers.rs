//! `kind = "transfers"`: finite transfers over TCP, one after the other.

use earlydrop_net::source::Distribution;
use serde_json::{json, Map, Value as Json};

use super::super::bounds;
use super::super::fields::{Checked, Fields};
use super::super::forms::{about, reference, whole, with_default};
use super::distribution::{self, SIZE, TIME};
use super::kind::{number_or, write_number, Kind, ENDLESS};
use super::model::{Completion, Connection, Load, Transfers};
use super::tcp;

pub(super) const KIND: Kind = Kind {
    name: "transfers",
    keys: &[tcp::KEYS, tcp::OPTIONS, &["size", "number", "think", "connection", "completion"]],
    required: &["size"],
    flow_a_pair: true,
    read,
    schema,
};

fn read(fields: &Fields<'_>) -> Checked<Load> {
    let tcp = tcp::read(fields)?;
    Ok(Load::Transfers(Transfers {
        size: distribution::size_in_packets(fields, "size", tcp.segment)?,
        number: number_or(fields, "number", Some(1))?,
        think: distribution::read_or(fields, "think", &TIME, bounds::START, Distribution::Fixed(0.0))?,
        connection: connection(fields, Connection::New)?,
        completion: completion(fields)?,
        tcp,
    }))
}

/// Whether transfers share a connection.
pub(super) fn connection(fields: &Fields<'_>, default: Connection) -> Checked<Connection> {
    let Some(field) = fields.optional("connection") else { return Ok(default) };
    let word = field.word(Connection::ALL.iter().map(|connection| connection.name()))?;
    Ok(if word == Connection::New.name() { Connection::New } else { Connection::Same })
}

/// When a transfer is complete.
pub(super) fn completion(fields: &Fields<'_>) -> Checked<Completion> {
    let Some(field) = fields.optional("completion") else { return Ok(Completion::Acknowledged) };
    let word = field.word(Completion::ALL.iter().map(|completion| completion.name()))?;
    Ok(if word == Completion::Received.name() { Completion::Received } else { Completion::Acknowledged })
}

pub(super) fn write(load: &Transfers, map: &mut Map<String, Json>) {
    tcp::write(&load.tcp, map);
    map.insert("size".into(), distribution::write(&load.size, &SIZE));
    map.insert("number".into(), write_number(load.number));
    map.insert("think".into(), distribution::write(&load.think, &TIME));
    map.insert("connection".into(), load.connection.name().into());
    map.insert("completion".into(), load.completion.name().into());
}

fn schema() -> Map<String, Json> {
    let mut map = Map::new();
    tcp::schema(&mut map);
    map.insert("size".into(), size_schema("Data of a transfer."));
    map.insert("number".into(), number_schema(1.into(), "Transfers of a flow."));
    map.insert("think".into(), think_schema("From the end of one to the begin of the next."));
    map.insert("connection".into(), connection_schema(Connection::New));
    map.insert("completion".into(), completion_schema());
    map
}

/// Schema of a size that may be in packets.
pub(super) fn size_schema(what: &str) -> Json {
    let forms = [reference("queue_length"), reference("size_distribution")];
    about(json!({ "anyOf": forms }), what)
}

pub(super) fn number_schema(default: Json, what: &str) -> Json {
    let forms = json!({ "anyOf": [whole(1, bounds::TRANSFERS), { "const": ENDLESS }] });
    about(with_default(forms, default), what)
}

pub(super) fn think_schema(what: &str) -> Json {
    let forms = json!({ "anyOf": [reference("time"), reference("time_distribution")] });
    about(with_default(forms, "0 s"), what)
}

pub(super) fn connection_schema(default: Connection) -> Json {
    let words = Connection::ALL.map(Connection::name);
    about(
        with_default(json!({ "enum": words }), default.name()),
        "Whether each transfer opens a connection of its own.",
    )
}

pub(super) fn completion_schema() -> Json {
    let words = Completion::ALL.map(Completion::name);
    about(with_default(json!({ "enum": words }), Completion::Acknowledged.name()), "When a transfer is complete.")
}
