//! `kind = "onoff"`: bursts and pauses over UDP.

use serde_json::{Map, Value as Json};

use super::super::bounds;
use super::super::fields::{Checked, Fields, Interval, Measure};
use super::super::forms::{Bytes, OneOf, Quantity};
use super::super::keys::Key;
use super::kind::{period, Kind, OFF as MAY_PAUSE, ON as MAY_LAST};
use super::model::{Law, Load, OnOff};
use super::packets::{self, STOP};

const SHAPES: Interval = Interval { low: 1.0, high: 100.0, open_low: true, open_high: false, unit: "" };
const NUMBER: Measure = Measure { read: |_| Err("is not a number".to_string()), form: "a number", bare: true };

// The defaults are ns-2's.
static RATE: Key<Quantity> = Key::or("rate", Quantity::rate(bounds::RATE), 64e3, "Rate in a burst, headers included.");
static SEGMENT: Key<Bytes> = packets::segment(210);
static UDP_HEADER: Key<Bytes> = packets::header(packets::DEFAULT_UDP_HEADER);
static ON: Key<Quantity> = period("on", MAY_LAST, 0.5, "Mean length of a burst.");
static OFF: Key<Quantity> = period("off", MAY_PAUSE, 0.5, "Mean length of a pause.");
static LAW: Key<OneOf<&str>> = Key::or(
    "law",
    OneOf { all: &["exponential", "pareto", "constant"], name: |word| word },
    "exponential",
    "Distribution of both lengths; `\"constant\"`: each has its mean.",
);
static SHAPE: Key<Quantity> = Key::or(
    "shape",
    Quantity::number(SHAPES).read_as(&NUMBER),
    1.5,
    "Shape of the Pareto distribution; only with `law = \"pareto\"`.",
);

pub(super) const KIND: Kind = Kind {
    name: "onoff",
    title: "On/off",
    about: "Bursts and pauses over UDP, exponential, Pareto or constant",
    over_tcp: false,
    keys: &[&RATE, &SEGMENT, &UDP_HEADER, &ON, &OFF, &LAW, &SHAPE, &STOP],
    read,
};

fn read(fields: &Fields<'_>) -> Checked<Load> {
    let (segment, header) = packets::segment_and_header(fields, &SEGMENT, &UDP_HEADER)?;
    let rate = RATE.read(fields)?;
    packets::not_too_fast(fields, &RATE, rate, f64::from(segment + header))?;
    let (on, off) = (ON.read(fields)?, OFF.read(fields)?);
    Ok(Load::OnOff(OnOff { rate, segment, header, on, off, law: law(fields)?, stop: STOP.given(fields)? }))
}

fn law(fields: &Fields<'_>) -> Checked<Law> {
    let law = LAW.read(fields)?;
    if law == "pareto" {
        return SHAPE.read(fields).map(Law::Pareto);
    }
    match SHAPE.field(fields) {
        Some(field) => Err(field.error("goes with law = \"pareto\"")),
        None => Ok(if law == "constant" { Law::Constant } else { Law::Exponential }),
    }
}

pub(super) fn write(load: &OnOff, map: &mut Map<String, Json>) {
    RATE.write(&load.rate, map);
    SEGMENT.write(&load.segment, map);
    UDP_HEADER.write(&load.header, map);
    ON.write(&load.on, map);
    OFF.write(&load.off, map);
    match &load.law {
        Law::Exponential => LAW.write(&"exponential", map),
        Law::Constant => LAW.write(&"constant", map),
        Law::Pareto(shape) => {
            LAW.write(&"pareto", map);
            SHAPE.write(shape, map);
        }
    }
    STOP.write_given(load.stop.as_ref(), map);
}
