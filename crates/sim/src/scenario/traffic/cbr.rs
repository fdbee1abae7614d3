//! `kind = "cbr"`: packets at a constant bit rate over UDP.

use serde_json::{Map, Value as Json};

use super::super::bounds;
use super::super::fields::{Checked, Fields};
use super::super::forms::{Flag, Quantity};
use super::super::keys::Key;
use super::kind::Kind;
use super::model::{Cbr, Load};
use super::packets::{self, HEADER, SEGMENT, STOP};

static RATE: Key<Quantity> =
    Key::required("rate", Quantity::rate(bounds::RATE), "Rate of each flow, headers included.");
static JITTER: Key<Flag> = Key::or(
    "jitter",
    Flag,
    false,
    "Each interval is stretched or shortened by up to a half, uniformly (ns-2's `random_`).",
);

pub(super) const KIND: Kind = Kind {
    name: "cbr",
    title: "CBR",
    about: "Packets at a constant bit rate over UDP, which never slow down",
    over_tcp: false,
    keys: &[&RATE, &SEGMENT, &HEADER, &STOP, &JITTER],
    read,
};

fn read(fields: &Fields<'_>) -> Checked<Load> {
    let packets = packets::read(fields)?;
    let rate = RATE.read(fields)?;
    packets::not_too_fast(fields, &RATE, rate, packets.segment.range().0.max(1.0) + f64::from(packets.header))?;
    Ok(Load::Cbr(Cbr { rate, packets, jitter: JITTER.read(fields)? }))
}

pub(super) fn write(load: &Cbr, map: &mut Map<String, Json>) {
    RATE.write(&load.rate, map);
    packets::write(&load.packets, map);
    JITTER.write(&load.jitter, map);
}
