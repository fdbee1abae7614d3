//! `kind = "onoff"`: bursts and pauses over UDP.

use serde_json::{json, Map, Value as Json};

use super::super::bounds::{self, TIMES};
use super::super::fields::{Checked, Fields, Interval, Measure};
use super::super::forms::{about, reference, with_default};
use super::kind::Kind;
use super::model::{Law, Load, OnOff};
use super::packets;

/// ns-2's defaults.
const DEFAULT_RATE: f64 = 64e3;
const DEFAULT_SEGMENT: u32 = 210;
const DEFAULT_PERIOD: f64 = 0.5;
const DEFAULT_SHAPE: f64 = 1.5;
const SHAPE: Interval = Interval { low: 1.0, high: 100.0, open_low: true, open_high: false, unit: "" };
const NUMBER: Measure = Measure { read: |_| Err("is not a number".to_string()), form: "a number", bare: true };

pub(super) const KIND: Kind = Kind {
    name: "onoff",
    keys: &[&["rate", "segment", "header", "on", "off", "law", "shape", "stop"]],
    required: &[],
    flow_a_pair: false,
    read,
    schema,
};

fn read(fields: &Fields<'_>) -> Checked<Load> {
    let (segment, header) = packets::segment_and_header(fields, DEFAULT_SEGMENT, packets::DEFAULT_UDP_HEADER)?;
    let rate = fields.optional("rate").map_or(Ok(DEFAULT_RATE), |field| field.measure(&bounds::RATES, bounds::RATE))?;
    packets::not_too_fast(fields, "rate", rate, f64::from(segment + header))?;
    let (on, off) = periods(fields, DEFAULT_PERIOD, DEFAULT_PERIOD)?;
    Ok(Load::OnOff(OnOff { rate, segment, header, on, off, law: law(fields)?, stop: packets::stop(fields)? }))
}

/// Mean lengths of bursts and pauses.
pub(super) fn periods(fields: &Fields<'_>, on: f64, off: f64) -> Checked<(f64, f64)> {
    let period =
        |key: &str, default, within| fields.optional(key).map_or(Ok(default), |field| field.measure(&TIMES, within));
    Ok((period("on", on, Interval { open_low: true, ..bounds::START })?, period("off", off, bounds::START)?))
}

fn law(fields: &Fields<'_>) -> Checked<Law> {
    let word =
        fields.optional("law").map_or(Ok("exponential"), |field| field.word(["exponential", "pareto"].into_iter()))?;
    let shape = fields.optional("shape");
    if word == "pareto" {
        return shape.map_or(Ok(DEFAULT_SHAPE), |field| field.measure(&NUMBER, SHAPE)).map(Law::Pareto);
    }
    match shape {
        Some(field) => Err(field.error("goes with law = \"pareto\"")),
        None => Ok(Law::Exponential),
    }
}

pub(super) fn write(load: &OnOff, map: &mut Map<String, Json>) {
    map.insert("rate".into(), format!("{} bit/s", load.rate).into());
    packets::write_sizes(load.segment, load.header, map);
    map.insert("on".into(), format!("{} s", load.on).into());
    map.insert("off".into(), format!("{} s", load.off).into());
    match load.law {
        Law::Exponential => map.insert("law".into(), "exponential".into()),
        Law::Pareto(shape) => {
            map.insert("law".into(), "pareto".into());
            map.insert("shape".into(), shape.into())
        }
    };
    packets::write_stop(load.stop, map);
}

fn schema() -> Map<String, Json> {
    let mut map = Map::new();
    let rate = with_default(reference("rate"), format!("{DEFAULT_RATE} bit/s"));
    map.insert("rate".into(), about(rate, "Rate in a burst, headers included."));
    packets::size_schema(DEFAULT_SEGMENT, packets::DEFAULT_UDP_HEADER, &mut map);
    period_schema(DEFAULT_PERIOD, DEFAULT_PERIOD, &mut map);
    let law = with_default(json!({ "enum": ["exponential", "pareto"] }), "exponential");
    map.insert("law".into(), about(law, "Law of both lengths."));
    let shape = json!({ "type": "number", "exclusiveMinimum": SHAPE.low, "maximum": SHAPE.high });
    map.insert("shape".into(), about(with_default(shape, DEFAULT_SHAPE), "Shape of Pareto's law."));
    packets::stop_schema(&mut map);
    map
}

pub(super) fn period_schema(on: f64, off: f64, map: &mut Map<String, Json>) {
    let time = |x: f64| with_default(reference("time"), format!("{x} s"));
    map.insert("on".into(), about(time(on), "Mean length of a burst."));
    map.insert("off".into(), about(time(off), "Mean length of a pause."));
}
