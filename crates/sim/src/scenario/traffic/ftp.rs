//! `kind = "ftp"`: endless files over TCP, one a flow.

use serde_json::{Map, Value as Json};

use super::super::bounds::{self, TIMES};
use super::super::fields::{Checked, Fields, Interval};
use super::super::forms::{about, reference};
use super::kind::Kind;
use super::model::{Ftp, Load};
use super::tcp;

pub(super) const KIND: Kind = Kind {
    name: "ftp",
    keys: &[tcp::KEYS, tcp::OPTIONS, &["lifetime"]],
    required: &[],
    flow_a_pair: true,
    read,
    schema,
};

fn read(fields: &Fields<'_>) -> Checked<Load> {
    let tcp = tcp::read(fields)?;
    let within = Interval { low: 0.001, ..bounds::START };
    let lifetime = fields.optional("lifetime").map(|field| field.measure(&TIMES, within)).transpose()?;
    Ok(Load::Ftp(Ftp { tcp, lifetime }))
}

pub(super) fn write(load: &Ftp, map: &mut Map<String, Json>) {
    tcp::write(&load.tcp, map);
    if let Some(lifetime) = load.lifetime {
        map.insert("lifetime".into(), format!("{lifetime} s").into());
    }
}

fn schema() -> Map<String, Json> {
    let mut map = Map::new();
    tcp::schema(&mut map);
    let what = "How long after its start a flow has data to send; by default for ever.";
    map.insert("lifetime".into(), about(reference("time"), what));
    map
}
