//! `kind = "poisson"`: packets at the times of a Poisson process, over UDP.

use serde_json::{Map, Value as Json};

use super::super::bounds;
use super::super::fields::{Checked, Fields};
use super::super::forms::Quantity;
use super::super::keys::Key;
use super::kind::Kind;
use super::model::{Load, Poisson};
use super::packets::{self, HEADER, SEGMENT, STOP};

static RATE: Key<Quantity> =
    Key::required("rate", Quantity::rate(bounds::RATE), "Mean rate of each flow, headers included.");

pub(super) const KIND: Kind = Kind {
    name: "poisson",
    title: "Poisson",
    about: "Packets at the times of a Poisson process, over UDP",
    over_tcp: false,
    keys: &[&RATE, &SEGMENT, &HEADER, &STOP],
    read,
};

fn read(fields: &Fields<'_>) -> Checked<Load> {
    let packets = packets::read(fields)?;
    let rate = RATE.read(fields)?;
    packets::not_too_fast(fields, &RATE, rate, packets.segment.mean() + f64::from(packets.header))?;
    Ok(Load::Poisson(Poisson { rate, packets }))
}

pub(super) fn write(load: &Poisson, map: &mut Map<String, Json>) {
    RATE.write(&load.rate, map);
    packets::write(&load.packets, map);
}
