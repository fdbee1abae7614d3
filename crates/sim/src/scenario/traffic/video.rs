//! `kind = "video"`: frames at even intervals over UDP, each in as many packets as it needs.

use earlydrop_net::source::Distribution;
use serde_json::{json, Map, Value as Json};

use super::super::bounds;
use super::super::fields::{Checked, Fields, Interval, Measure};
use super::super::forms::{about, reference, with_default};
use super::distribution::{self, SIZE};
use super::kind::Kind;
use super::model::{Load, Video};
use super::packets;
use super::voip::interval_or;

/// 1.5 Mbit/s in 25 frames a second, in packets of seven MPEG-2 transport cells over UDP and IPv4.
const DEFAULT_FRAME: f64 = 7500.0;
const DEFAULT_INTERVAL: f64 = 0.04;
const DEFAULT_SEGMENT: u32 = 1316;
const DEFAULT_HEADER: u32 = 28;
const FACTOR: Interval = Interval { low: 0.0, high: 1000.0, open_low: true, open_high: false, unit: "" };
const NUMBER: Measure = Measure { read: |_| Err("is not a number".to_string()), form: "a number", bare: true };

pub(super) const KIND: Kind = Kind {
    name: "video",
    keys: &[&["interval", "frame", "group", "segment", "header", "stop"]],
    required: &[],
    flow_a_pair: false,
    read,
    schema,
};

fn read(fields: &Fields<'_>) -> Checked<Load> {
    let (segment, header) = packets::segment_and_header(fields, DEFAULT_SEGMENT, DEFAULT_HEADER)?;
    let group = match fields.optional("group") {
        None => vec![1.0],
        Some(field) => {
            let factors = field.items("a list of factors, one a frame")?;
            factors.iter().map(|factor| factor.measure(&NUMBER, FACTOR)).collect::<Checked<_>>()?
        }
    };
    Ok(Load::Video(Video {
        interval: interval_or(fields, DEFAULT_INTERVAL)?,
        frame: distribution::read_or(fields, "frame", &SIZE, bounds::FRAME, Distribution::Fixed(DEFAULT_FRAME))?,
        group,
        segment,
        header,
        stop: packets::stop(fields)?,
    }))
}

pub(super) fn write(load: &Video, map: &mut Map<String, Json>) {
    map.insert("interval".into(), format!("{} s", load.interval).into());
    map.insert("frame".into(), distribution::write(&load.frame, &SIZE));
    map.insert("group".into(), json!(load.group));
    packets::write_sizes(load.segment, load.header, map);
    packets::write_stop(load.stop, map);
}

fn schema() -> Map<String, Json> {
    let mut map = Map::new();
    let interval = with_default(reference("time"), format!("{DEFAULT_INTERVAL} s"));
    map.insert("interval".into(), about(interval, "From frame to frame."));
    let frame = json!({ "anyOf": [reference("size"), reference("size_distribution")] });
    map.insert("frame".into(), about(with_default(frame, format!("{DEFAULT_FRAME} B")), "Payload of a frame."));
    let factors = json!({ "type": "array", "items": { "type": "number", "exclusiveMinimum": 0 }, "minItems": 1 });
    map.insert(
        "group".into(),
        about(with_default(factors, json!([1.0])), "Factors of the frames of a group, in turn."),
    );
    packets::size_schema(DEFAULT_SEGMENT, DEFAULT_HEADER, &mut map);
    packets::stop_schema(&mut map);
    map
}
