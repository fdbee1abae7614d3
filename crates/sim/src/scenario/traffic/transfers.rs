//! `kind = "transfers"`: finite transfers over TCP, one after the other.

use earlydrop_net::source::Distribution;
use serde_json::{Map, Value as Json};

use super::super::bounds;
use super::super::fields::{Checked, Fields};
use super::super::forms::OneOf;
use super::super::keys::Key;
use super::distribution::{self, Data, Draw, TIME};
use super::kind::{number, Kind, Number};
use super::model::{Completion, Connection, Load, Transfers};
use super::tcp;

static SIZE: Key<Data> =
    Key::required("size", Data, "Data of a transfer; its last segment may be shorter than the others.");
static NUMBER: Key<Number> = number(Some(1), "Transfers of a flow.");
static THINK: Key<Draw> = think("From the end of a transfer to the start of the next.");
static CONNECTION: Key<OneOf<Connection>> =
    connection(Connection::New, "Whether each transfer opens a connection of its own.");
pub(super) static COMPLETION: Key<OneOf<Completion>> = Key::or(
    "completion",
    OneOf { all: &Completion::ALL, name: Completion::name },
    Completion::Acknowledged,
    "When a transfer is complete: when the sender has its last ACK, or when the receiver has all of it. The next one \
     waits for the ACK in both cases.",
);

/// A pause between transfers, requests or pages.
pub(super) const fn think(about: &'static str) -> Key<Draw> {
    Key::or("think", Draw { of: &TIME, within: bounds::START }, Distribution::Fixed(0.0), about)
}

/// Whether transfers share a connection.
pub(super) const fn connection(default: Connection, about: &'static str) -> Key<OneOf<Connection>> {
    Key::or("connection", OneOf { all: &Connection::ALL, name: Connection::name }, default, about)
}

pub(super) const KIND: Kind = Kind {
    name: "transfers",
    title: "Transfers",
    about: "Finite transfers over TCP, one after the other, and how long each takes",
    over_tcp: true,
    keys: &[&SIZE, &NUMBER, &THINK, &CONNECTION, &COMPLETION],
    read,
};

fn read(fields: &Fields<'_>) -> Checked<Load> {
    let tcp = tcp::read(fields)?;
    Ok(Load::Transfers(Transfers {
        size: distribution::read_data(fields, &SIZE, tcp.segment)?,
        number: NUMBER.read(fields)?,
        think: THINK.read(fields)?,
        connection: CONNECTION.read(fields)?,
        completion: COMPLETION.read(fields)?,
        tcp,
    }))
}

pub(super) fn write(load: &Transfers, map: &mut Map<String, Json>) {
    tcp::write(&load.tcp, map);
    SIZE.write(&load.size, map);
    NUMBER.write(&load.number, map);
    THINK.write(&load.think, map);
    CONNECTION.write(&load.connection, map);
    COMPLETION.write(&load.completion, map);
}
