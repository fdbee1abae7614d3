//! `kind = "cbr"`: packets at a constant bit rate over UDP.

use serde_json::{json, Map, Value as Json};

use super::super::bounds;
use super::super::fields::{Checked, Fields};
use super::super::forms::{about, reference, with_default};
use super::super::units;
use super::kind::Kind;
use super::model::{Cbr, Load};
use super::packets;

pub(super) const KIND: Kind = Kind {
    name: "cbr",
    keys: &[&["rate", "segment", "header", "stop", "jitter"]],
    required: &["rate"],
    flow_a_pair: false,
    read,
    schema,
};

fn read(fields: &Fields<'_>) -> Checked<Load> {
    let packets = packets::read(fields)?;
    let rate = fields.required("rate", units::RATE_FORM)?.measure(&bounds::RATES, bounds::RATE)?;
    packets::not_too_fast(fields, "rate", rate, packets.segment.range().0.max(1.0) + f64::from(packets.header))?;
    let jitter = fields.optional("jitter").map_or(Ok(false), |field| field.flag())?;
    Ok(Load::Cbr(Cbr { rate, packets, jitter }))
}

pub(super) fn write(load: &Cbr, map: &mut Map<String, Json>) {
    map.insert("rate".into(), format!("{} bit/s", load.rate).into());
    packets::write(&load.packets, map);
    map.insert("jitter".into(), load.jitter.into());
}

fn schema() -> Map<String, Json> {
    let mut map = Map::new();
    map.insert("rate".into(), about(reference("rate"), "Rate of each flow, headers included."));
    packets::schema(&mut map);
    let jitter = with_default(json!({ "type": "boolean" }), false);
    map.insert("jitter".into(), about(jitter, "Stretch or shorten every interval by up to a half, at random."));
    map
}
