//! `kind = "pages"`: pages of objects over several TCP connections, the next after the last object of the one before.

use earlydrop_net::source::Distribution;
use serde_json::{Map, Value as Json};

use super::super::bounds;
use super::super::fields::{Checked, Fields};
use super::super::forms::{OneOf, Whole};
use super::super::keys::Key;
use super::distribution::{self, Data, Draw, COUNT};
use super::kind::{number, Kind, Number};
use super::model::{Connection, Load, Pages};
use super::requests::{REQUEST, RETRY};
use super::tcp;
use super::transfers::{connection, think};

// As many as browsers open to one server over HTTP/1.1.
static CONNECTIONS: Key<Whole> = Key::or(
    "connections",
    Whole { low: 1, high: bounds::COUNT },
    6,
    "Connections of each browser. The flows of the entry are assigned to browsers in order, so that `count = 36` \
     is six browsers; the last may have fewer.",
);
static OBJECTS: Key<Draw> =
    Key::or("objects", Draw { of: &COUNT, within: bounds::THINGS }, Distribution::Fixed(50.0), "Objects of a page.");
static SIZE: Key<Data> = Key::required("size", Data, "Size of an object.");
static NUMBER: Key<Number> = number(None, "Pages of each browser.");
static THINK: Key<Draw> = think("From the end of a page to the start of the next.");
static CONNECTION: Key<OneOf<Connection>> =
    connection(Connection::Same, "Whether each object opens a connection of its own.");

pub(super) const KIND: Kind = Kind {
    name: "pages",
    title: "Pages",
    about: "Pages of objects over several TCP connections, one page after the other",
    over_tcp: true,
    keys: &[&CONNECTIONS, &OBJECTS, &SIZE, &REQUEST, &NUMBER, &THINK, &RETRY, &CONNECTION],
    read,
};

fn read(fields: &Fields<'_>) -> Checked<Load> {
    let tcp = tcp::read(fields)?;
    Ok(Load::Pages(Pages {
        connections: CONNECTIONS.read(fields)? as u32,
        objects: OBJECTS.read(fields)?,
        size: distribution::read_data(fields, &SIZE, tcp.segment)?,
        request: REQUEST.read(fields)?,
        think: THINK.read(fields)?,
        number: NUMBER.read(fields)?,
        retry: RETRY.read(fields)?,
        connection: CONNECTION.read(fields)?,
        tcp,
    }))
}

pub(super) fn write(load: &Pages, map: &mut Map<String, Json>) {
    tcp::write(&load.tcp, map);
    CONNECTIONS.write(&load.connections.into(), map);
    OBJECTS.write(&load.objects, map);
    SIZE.write(&load.size, map);
    REQUEST.write(&load.request, map);
    NUMBER.write(&load.number, map);
    THINK.write(&load.think, map);
    RETRY.write(&load.retry, map);
    CONNECTION.write(&load.connection, map);
}
