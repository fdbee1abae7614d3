//! Sizes of packets, and what sources without feedback have in common.

use earlydrop_net::source::Distribution;
use serde_json::{Map, Value as Json};

use super::super::bounds;
use super::super::document::Doc;
use super::super::error::ScenarioError;
use super::super::fields::{Checked, Field, Fields};
use super::super::forms::{Bytes, Quantity};
use super::super::keys::{Form, Key, Read};
use super::distribution::{Draw, SIZE};
use super::model::Packets;

/// Payload of a packet when none is given, in bytes.
pub(super) const DEFAULT_SEGMENT: u32 = 1000;
/// Headers of a packet over UDP when none are given, in bytes: ns-2's agents count none.
pub(super) const DEFAULT_UDP_HEADER: u32 = 0;

/// Payload of a packet, with this default.
pub(super) const fn segment(default: u32) -> Key<Bytes> {
    Key::or("segment", Bytes { low: 1, high: bounds::SEGMENT }, default, "Payload of a packet.")
}

/// Headers of a packet, with this default.
pub(super) const fn header(default: u32) -> Key<Bytes> {
    Key::or(
        "header",
        Bytes { low: 0, high: bounds::PACKET },
        default,
        "Headers of a packet, at most 65,535 B with the payload.",
    )
}

/// Payload of packets whose sizes may differ.
pub(super) static SEGMENT: Key<Payload> = Key::or(
    "segment",
    Payload,
    Distribution::Fixed(DEFAULT_SEGMENT as f64),
    "Payload of a packet; with `mix` a mix of sizes.",
);
/// Headers of packets whose sizes may differ.
pub(super) static HEADER: Key<Bytes> = Key::or(
    "header",
    Bytes { low: 0, high: bounds::PACKET },
    DEFAULT_UDP_HEADER,
    "Headers of a packet, at most 65,535 B with the payload. ns-2 counts none; UDP over IPv4 has 28 B.",
);
/// When a source falls silent.
pub(super) static STOP: Key<Quantity> =
    Key::optional("stop", Quantity::time(bounds::START), "never", "When the source falls silent.");

/// A whole number of bytes, or a distribution of sizes.
pub(super) struct Payload;

const SIZES: Draw = Draw { of: &SIZE, within: bounds::PAYLOAD };
const BYTES: Bytes = Bytes { low: 1, high: bounds::SEGMENT };

impl Form for Payload {
    type Value = Distribution;

    fn write(&self, value: &Distribution) -> Json {
        SIZES.write(value)
    }

    fn schema(&self) -> Json {
        SIZES.schema()
    }

    fn wanted(&self) -> String {
        SIZES.wanted()
    }

    fn kind(&self) -> String {
        SIZES.kind()
    }

    fn range(&self) -> String {
        SIZES.range()
    }
}

impl Read for Payload {
    fn read(&self, field: &Field<'_>) -> Checked<Distribution> {
        match field.doc {
            Doc::Table(_) => SIZES.read(field),
            _ => BYTES.read(field).map(|bytes| Distribution::Fixed(bytes.into())),
        }
    }
}

/// Payload and headers, in bytes, which together fit an IP packet.
pub(super) fn segment_and_header(
    fields: &Fields<'_>,
    segment: &Key<Bytes>,
    header: &Key<Bytes>,
) -> Checked<(u32, u32)> {
    let (segment, header) = (segment.read(fields)?, header.read(fields)?);
    fits(fields, f64::from(segment), header)?;
    Ok((segment, header))
}

/// Refuses payload and headers that do not fit an IP packet.
pub(super) fn fits(fields: &Fields<'_>, segment: f64, header: u32) -> Checked<()> {
    if segment + f64::from(header) <= f64::from(bounds::PACKET) {
        return Ok(());
    }
    let key = if fields.optional("header").is_some() { "header" } else { "segment" };
    Err(ScenarioError::new(format!("{}.{key}", fields.path), "makes too large a packet")
        .given(format!("{segment} B of payload and {header} B of headers"))
        .allowed(format!("{} B together", bounds::PACKET)))
}

/// Reads payloads, headers, and an end.
pub(super) fn read(fields: &Fields<'_>) -> Checked<Packets> {
    let header = HEADER.read(fields)?;
    let segment = SEGMENT.read(fields)?;
    // Larger sizes from an unbounded distribution are limited to the largest packet.
    let largest = if segment.values().is_some() { segment.range().1 } else { segment.range().0 };
    fits(fields, largest, header)?;
    Ok(Packets { segment, header, stop: STOP.given(fields)? })
}

/// Refuses intervals from packet to packet that are too short for the engine's clock.
pub(super) fn not_too_fast(fields: &Fields<'_>, key: &Key<Quantity>, rate: f64, bytes: f64) -> Checked<()> {
    let shortest = bounds::CBR_INTERVAL;
    if 8.0 * bytes / rate >= shortest {
        return Ok(());
    }
    let field = fields.required(key.name, "")?;
    Err(field
        .error("sends packets too fast")
        .given(format!("{rate} bit/s in packets of {bytes} B"))
        .allowed(format!("a packet every {shortest} s at most")))
}

pub(super) fn write(packets: &Packets, map: &mut Map<String, Json>) {
    SEGMENT.write(&packets.segment, map);
    HEADER.write(&packets.header, map);
    STOP.write_given(packets.stop.as_ref(), map);
}
