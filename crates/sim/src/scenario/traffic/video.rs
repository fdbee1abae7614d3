//! `kind = "video"`: frames at even intervals over UDP, each in as many packets as it needs.

use earlydrop_net::source::Distribution;
use serde_json::{json, Map, Value as Json};

use super::super::bounds;
use super::super::fields::{Checked, Fields, Interval, Measure};
use super::super::forms::{Bytes, Own, Quantity, Range};
use super::super::keys::{Default, Key};
use super::super::schemas::list;
use super::distribution::{Draw, SIZE};
use super::kind::{interval, Kind};
use super::model::{Load, Video};
use super::packets::{self, STOP};

const FACTOR: Interval = Interval { low: 0.0, high: 1000.0, open_low: true, open_high: false, unit: "" };
const NUMBER: Measure = Measure { read: |_| Err("is not a number".to_string()), form: "a number", bare: true };

// 1.5 Mbit/s in 25 frames a second, in packets of seven MPEG-2 transport cells over UDP and IPv4.
static INTERVAL: Key<Quantity> = interval(0.04, "From frame to frame.");
static FRAME: Key<Draw> = Key::or(
    "frame",
    Draw { of: &SIZE, within: bounds::FRAME },
    Distribution::Fixed(7500.0),
    "Payload of a frame, drawn for each; the last packet has what is left.",
);
static GROUP: Key<Own<Vec<f64>>> = Key {
    name: "group",
    form: Own {
        kind: "list of numbers",
        range: Range::Within(FACTOR),
        wanted: "a list of factors, one a frame",
        schema: || list(json!({ "type": "number", "exclusiveMinimum": FACTOR.low })),
        write: |factors| json!(factors),
        read: |field| {
            let factors = field.items("a list of factors, one a frame")?;
            factors.iter().map(|factor| factor.measure(&NUMBER, FACTOR)).collect()
        },
    },
    default: Default::Made(|| vec![1.0]),
    about: "Factors by which the frames of a group are multiplied, in turn.",
};
static SEGMENT: Key<Bytes> = packets::segment(1316);
static HEADER: Key<Bytes> = packets::header(28);

pub(super) const KIND: Kind = Kind {
    name: "video",
    title: "Video",
    about: "Frames at even intervals over UDP, each in as many packets as it needs",
    over_tcp: false,
    keys: &[&INTERVAL, &FRAME, &GROUP, &SEGMENT, &HEADER, &STOP],
    read,
};

fn read(fields: &Fields<'_>) -> Checked<Load> {
    let (segment, header) = packets::segment_and_header(fields, &SEGMENT, &HEADER)?;
    let group = GROUP.read(fields)?;
    Ok(Load::Video(Video {
        interval: INTERVAL.read(fields)?,
        frame: FRAME.read(fields)?,
        group,
        segment,
        header,
        stop: STOP.given(fields)?,
    }))
}

pub(super) fn write(load: &Video, map: &mut Map<String, Json>) {
    INTERVAL.write(&load.interval, map);
    FRAME.write(&load.frame, map);
    GROUP.write(&load.group, map);
    SEGMENT.write(&load.segment, map);
    HEADER.write(&load.header, map);
    STOP.write_given(load.stop.as_ref(), map);
}
