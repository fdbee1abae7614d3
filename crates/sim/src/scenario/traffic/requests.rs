//! `kind = "requests"`: a client asks, a server answers over TCP.

use serde_json::{Map, Value as Json};

use super::super::bounds;
use super::super::fields::{Checked, Fields, Interval};
use super::super::forms::{Bytes, OneOf, Quantity};
use super::super::keys::Key;
use super::distribution::{self, Data, Draw};
use super::kind::{number, Kind, Number};
use super::model::{Connection, Load, Requests};
use super::tcp;
use super::transfers::{connection, think};

static SIZE: Key<Data> = Key::required("size", Data, "Data of an answer.");
/// At most one packet of an Ethernet.
pub(super) static REQUEST: Key<Bytes> =
    Key::or("request", Bytes { low: 1, high: 1500 }, 400, "A request on the wire, headers included: one packet.");
static NUMBER: Key<Number> = number(None, "Requests of a flow.");
static THINK: Key<Draw> = think("From the end of an answer to the next request.");
pub(super) static RETRY: Key<Quantity> = Key::or(
    "retry",
    Quantity::time(Interval { low: 0.001, ..bounds::START }),
    1.0,
    "When an unanswered request is retransmitted; the time doubles with each retransmission.",
);
static CONNECTION: Key<OneOf<Connection>> =
    connection(Connection::Same, "Whether each answer opens a connection of its own.");

pub(super) const KIND: Kind = Kind {
    name: "requests",
    title: "Requests",
    about: "A client asks, a server answers over TCP",
    over_tcp: true,
    keys: &[&SIZE, &REQUEST, &NUMBER, &THINK, &RETRY, &CONNECTION],
    read,
};

fn read(fields: &Fields<'_>) -> Checked<Load> {
    let tcp = tcp::read(fields)?;
    Ok(Load::Requests(Requests {
        request: REQUEST.read(fields)?,
        size: distribution::read_data(fields, &SIZE, tcp.segment)?,
        number: NUMBER.read(fields)?,
        think: THINK.read(fields)?,
        retry: RETRY.read(fields)?,
        connection: CONNECTION.read(fields)?,
        tcp,
    }))
}

pub(super) fn write(load: &Requests, map: &mut Map<String, Json>) {
    tcp::write(&load.tcp, map);
    REQUEST.write(&load.request, map);
    SIZE.write(&load.size, map);
    NUMBER.write(&load.number, map);
    THINK.write(&load.think, map);
    RETRY.write(&load.retry, map);
    CONNECTION.write(&load.connection, map);
}
