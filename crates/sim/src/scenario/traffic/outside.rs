//! `kind = "outside"`: datagrams of a protocol stack that a program brings.

use serde_json::{Map, Value as Json};

use super::super::fields::{Checked, Fields};
use super::super::forms::Bytes;
use super::super::keys::Key;
use super::kind::Kind;
use super::model::{Load, Outside};
use super::packets;

// UDP over IPv4.
static HEADER: Key<Bytes> = packets::header(28);

pub(super) const KIND: Kind = Kind {
    name: "outside",
    title: "Outside",
    about:
        "Datagrams one way of a protocol stack that a program brings (`earlydrop-path`); elsewhere nobody sends them",
    over_tcp: false,
    keys: &[&HEADER],
    read,
};

fn read(fields: &Fields<'_>) -> Checked<Load> {
    Ok(Load::Outside(Outside { header: HEADER.read(fields)? }))
}

pub(super) fn write(load: &Outside, map: &mut Map<String, Json>) {
    HEADER.write(&load.header, map);
}
