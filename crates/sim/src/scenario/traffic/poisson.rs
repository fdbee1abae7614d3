//! `kind = "poisson"`: packets at the times of a Poisson process, over UDP.

use serde_json::{Map, Value as Json};

use super::super::bounds;
use super::super::fields::{Checked, Fields};
use super::super::forms::{about, reference};
use super::super::units;
use super::kind::Kind;
use super::model::{Load, Poisson};
use super::packets;

pub(super) const KIND: Kind = Kind {
    name: "poisson",
    keys: &[&["rate", "segment", "header", "stop"]],
    required: &["rate"],
    flow_a_pair: false,
    read,
    schema,
};

fn read(fields: &Fields<'_>) -> Checked<Load> {
    let packets = packets::read(fields)?;
    let rate = fields.required("rate", units::RATE_FORM)?.measure(&bounds::RATES, bounds::RATE)?;
    packets::not_too_fast(fields, "rate", rate, packets.segment.mean() + f64::from(packets.header))?;
    Ok(Load::Poisson(Poisson { rate, packets }))
}

pub(super) fn write(load: &Poisson, map: &mut Map<String, Json>) {
    map.insert("rate".into(), format!("{} bit/s", load.rate).into());
    packets::write(&load.packets, map);
}

fn schema() -> Map<String, Json> {
    let mut map = Map::new();
    map.insert("rate".into(), about(reference("rate"), "Mean rate of each flow, headers included."));
    packets::schema(&mut map);
    map
}
