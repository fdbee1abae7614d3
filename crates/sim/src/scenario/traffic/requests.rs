//! `kind = "requests"`: a client asks, a server answers over TCP.

use earlydrop_net::source::Distribution;
use serde_json::{Map, Value as Json};

use super::super::bounds::{self, TIMES};
use super::super::fields::{Checked, Fields, Interval};
use super::super::forms::{about, reference, with_default};
use super::distribution::{self, SIZE, TIME};
use super::kind::{number_or, write_number, Kind, ENDLESS};
use super::model::{Connection, Load, Requests};
use super::transfers::{connection, connection_schema, number_schema, size_schema, think_schema};
use super::{packets, tcp};

/// A request when none is given, in bytes on the wire.
pub(super) const DEFAULT_REQUEST: u32 = 400;
/// A request is sent again after this time when none is given, in seconds.
pub(super) const DEFAULT_RETRY: f64 = 1.0;
/// Largest request: one packet of an Ethernet.
pub(super) const LARGEST_REQUEST: u32 = 1500;

pub(super) const KIND: Kind = Kind {
    name: "requests",
    keys: &[tcp::KEYS, tcp::OPTIONS, &["size", "request", "number", "think", "retry", "connection"]],
    required: &["size"],
    flow_a_pair: true,
    read,
    schema,
};

fn read(fields: &Fields<'_>) -> Checked<Load> {
    let tcp = tcp::read(fields)?;
    let within = Interval { low: 0.001, ..bounds::START };
    Ok(Load::Requests(Requests {
        request: packets::bytes_or(fields, "request", 1, LARGEST_REQUEST, DEFAULT_REQUEST)?,
        size: distribution::size_in_packets(fields, "size", tcp.segment)?,
        number: number_or(fields, "number", None)?,
        think: distribution::read_or(fields, "think", &TIME, bounds::START, Distribution::Fixed(0.0))?,
        retry: fields.optional("retry").map_or(Ok(DEFAULT_RETRY), |field| field.measure(&TIMES, within))?,
        connection: connection(fields, Connection::Same)?,
        tcp,
    }))
}

pub(super) fn write(load: &Requests, map: &mut Map<String, Json>) {
    tcp::write(&load.tcp, map);
    map.insert("request".into(), format!("{} B", load.request).into());
    map.insert("size".into(), distribution::write(&load.size, &SIZE));
    map.insert("number".into(), write_number(load.number));
    map.insert("think".into(), distribution::write(&load.think, &TIME));
    map.insert("retry".into(), format!("{} s", load.retry).into());
    map.insert("connection".into(), load.connection.name().into());
}

fn schema() -> Map<String, Json> {
    let mut map = Map::new();
    tcp::schema(&mut map);
    let request = with_default(reference("size"), format!("{DEFAULT_REQUEST} B"));
    map.insert("request".into(), about(request, "A request on the wire: one packet."));
    map.insert("size".into(), size_schema("Data of an answer."));
    map.insert("number".into(), number_schema(ENDLESS.into(), "Requests of a flow."));
    map.insert("think".into(), think_schema("From the end of an answer to the next request."));
    let retry = with_default(reference("time"), format!("{DEFAULT_RETRY} s"));
    map.insert("retry".into(), about(retry, "When an unanswered request is sent again; doubles each time."));
    map.insert("connection".into(), connection_schema(Connection::Same));
    map
}
