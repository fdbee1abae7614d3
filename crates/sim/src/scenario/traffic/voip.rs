//! `kind = "voip"`: speech over UDP, packets at even intervals while somebody talks.

use serde_json::{Map, Value as Json};

use super::super::bounds::TIMES;
use super::super::fields::{Checked, Fields, Interval};
use super::super::forms::{about, reference, with_default};
use super::kind::Kind;
use super::model::{Load, Voip};
use super::onoff::{period_schema, periods};
use super::packets;

/// G.711 in packets of 20 ms over RTP, UDP and IPv4.
const DEFAULT_SEGMENT: u32 = 160;
const DEFAULT_HEADER: u32 = 40;
const DEFAULT_INTERVAL: f64 = 0.02;
/// Talking and silence of about the lengths of ITU-T P.59.
const DEFAULT_ON: f64 = 1.0;
const DEFAULT_OFF: f64 = 1.35;
const INTERVAL: Interval = Interval { low: 1e-6, high: 10.0, open_low: false, open_high: false, unit: "s" };

pub(super) const KIND: Kind = Kind {
    name: "voip",
    keys: &[&["interval", "segment", "header", "on", "off", "stop"]],
    required: &[],
    flow_a_pair: false,
    read,
    schema,
};

/// Time from packet to packet, or from frame to frame.
pub(super) fn interval_or(fields: &Fields<'_>, default: f64) -> Checked<f64> {
    fields.optional("interval").map_or(Ok(default), |field| field.measure(&TIMES, INTERVAL))
}

fn read(fields: &Fields<'_>) -> Checked<Load> {
    let (segment, header) = packets::segment_and_header(fields, DEFAULT_SEGMENT, DEFAULT_HEADER)?;
    let (on, off) = periods(fields, DEFAULT_ON, DEFAULT_OFF)?;
    let interval = interval_or(fields, DEFAULT_INTERVAL)?;
    Ok(Load::Voip(Voip { interval, segment, header, on, off, stop: packets::stop(fields)? }))
}

pub(super) fn write(load: &Voip, map: &mut Map<String, Json>) {
    map.insert("interval".into(), format!("{} s", load.interval).into());
    packets::write_sizes(load.segment, load.header, map);
    map.insert("on".into(), format!("{} s", load.on).into());
    map.insert("off".into(), format!("{} s", load.off).into());
    packets::write_stop(load.stop, map);
}

fn schema() -> Map<String, Json> {
    let mut map = Map::new();
    let interval = with_default(reference("time"), format!("{DEFAULT_INTERVAL} s"));
    map.insert("interval".into(), about(interval, "From packet to packet."));
    packets::size_schema(DEFAULT_SEGMENT, DEFAULT_HEADER, &mut map);
    period_schema(DEFAULT_ON, DEFAULT_OFF, &mut map);
    packets::stop_schema(&mut map);
    map
}
