//! `kind = "pages"`: pages of objects over several TCP connections, the next after the last object of the one before.

use earlydrop_net::source::Distribution;
use serde_json::{json, Map, Value as Json};

use super::super::bounds::{self, TIMES};
use super::super::fields::{Checked, Fields, Interval};
use super::super::forms::{about, reference, whole, with_default};
use super::distribution::{self, COUNT, SIZE, TIME};
use super::kind::{number_or, whole_or, write_number, Kind, ENDLESS};
use super::model::{Connection, Load, Pages};
use super::requests::{DEFAULT_REQUEST, DEFAULT_RETRY, LARGEST_REQUEST};
use super::transfers::{connection, connection_schema, number_schema, size_schema, think_schema};
use super::{packets, tcp};

/// Connections of a browser, as browsers open to one server over HTTP/1.1.
const DEFAULT_CONNECTIONS: u32 = 6;
/// Objects of a page when nothing else is said.
const DEFAULT_OBJECTS: f64 = 50.0;

pub(super) const KIND: Kind = Kind {
    name: "pages",
    keys: &[
        tcp::KEYS,
        tcp::OPTIONS,
        &["connections", "objects", "size", "request", "number", "think", "retry", "connection"],
    ],
    required: &["size"],
    flow_a_pair: true,
    read,
    schema,
};

fn read(fields: &Fields<'_>) -> Checked<Load> {
    let tcp = tcp::read(fields)?;
    let within = Interval { low: 0.001, ..bounds::START };
    Ok(Load::Pages(Pages {
        connections: whole_or(fields, "connections", 1, bounds::COUNT, DEFAULT_CONNECTIONS)?,
        objects: distribution::read_or(
            fields,
            "objects",
            &COUNT,
            bounds::THINGS,
            Distribution::Fixed(DEFAULT_OBJECTS),
        )?,
        size: distribution::size_in_packets(fields, "size", tcp.segment)?,
        request: packets::bytes_or(fields, "request", 1, LARGEST_REQUEST, DEFAULT_REQUEST)?,
        think: distribution::read_or(fields, "think", &TIME, bounds::START, Distribution::Fixed(0.0))?,
        number: number_or(fields, "number", None)?,
        retry: fields.optional("retry").map_or(Ok(DEFAULT_RETRY), |field| field.measure(&TIMES, within))?,
        connection: connection(fields, Connection::Same)?,
        tcp,
    }))
}

pub(super) fn write(load: &Pages, map: &mut Map<String, Json>) {
    tcp::write(&load.tcp, map);
    map.insert("connections".into(), load.connections.into());
    map.insert("objects".into(), distribution::write(&load.objects, &COUNT));
    map.insert("size".into(), distribution::write(&load.size, &SIZE));
    map.insert("request".into(), format!("{} B", load.request).into());
    map.insert("number".into(), write_number(load.number));
    map.insert("think".into(), distribution::write(&load.think, &TIME));
    map.insert("retry".into(), format!("{} s", load.retry).into());
    map.insert("connection".into(), load.connection.name().into());
}

fn schema() -> Map<String, Json> {
    let mut map = Map::new();
    tcp::schema(&mut map);
    let connections = with_default(whole(1, bounds::COUNT), DEFAULT_CONNECTIONS);
    map.insert("connections".into(), about(connections, "Connections of each who loads pages."));
    let number = json!({ "type": "number", "minimum": bounds::THINGS.low });
    let objects = json!({ "anyOf": [number, reference("number_distribution")] });
    map.insert("objects".into(), about(with_default(objects, DEFAULT_OBJECTS), "Objects of a page."));
    map.insert("size".into(), size_schema("Size of an object."));
    let request = with_default(reference("size"), format!("{DEFAULT_REQUEST} B"));
    map.insert("request".into(), about(request, "A request on the wire: one packet."));
    map.insert("number".into(), number_schema(ENDLESS.into(), "Pages of each."));
    map.insert("think".into(), think_schema("From the end of a page to the begin of the next."));
    let retry = with_default(reference("time"), format!("{DEFAULT_RETRY} s"));
    map.insert("retry".into(), about(retry, "When an unanswered request is sent again; doubles each time."));
    map.insert("connection".into(), connection_schema(Connection::Same));
    map
}
