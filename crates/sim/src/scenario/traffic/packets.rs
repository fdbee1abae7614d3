//! Sizes of packets, and what sources without feedback have in common.

use earlydrop_net::source::Distribution;
use serde_json::{json, Map, Value as Json};

use super::super::bounds::{self, SIZES, TIMES};
use super::super::error::ScenarioError;
use super::super::fields::{Checked, Fields, Interval};
use super::super::forms::{about, reference, with_default};
use super::distribution::{self, SIZE};
use super::model::Packets;

/// Payload of a packet when none is given, in bytes.
pub(super) const DEFAULT_SEGMENT: u32 = 1000;
/// Headers of a packet over UDP when none are given, in bytes: ns-2's agents count none.
pub(super) const DEFAULT_UDP_HEADER: u32 = 0;

/// Payload and headers, in bytes, which together fit an IP packet.
pub(super) fn segment_and_header(fields: &Fields<'_>, segment: u32, header: u32) -> Checked<(u32, u32)> {
    let segment = bytes_or(fields, "segment", 1, bounds::SEGMENT, segment)?;
    let header = bytes_or(fields, "header", 0, bounds::PACKET, header)?;
    fits(fields, f64::from(segment), header)?;
    Ok((segment, header))
}

/// An IP packet holds payload and headers.
fn fits(fields: &Fields<'_>, segment: f64, header: u32) -> Checked<()> {
    if segment + f64::from(header) <= f64::from(bounds::PACKET) {
        return Ok(());
    }
    let key = if fields.optional("header").is_some() { "header" } else { "segment" };
    Err(ScenarioError::new(format!("{}.{key}", fields.path), "makes too large a packet")
        .given(format!("{segment} B of payload and {header} B of headers"))
        .allowed(format!("{} B together", bounds::PACKET)))
}

/// A whole number of bytes.
pub(super) fn bytes_or(fields: &Fields<'_>, key: &str, low: u32, high: u32, default: u32) -> Checked<u32> {
    let Some(field) = fields.optional(key) else { return Ok(default) };
    let within = Interval { low: low.into(), high: high.into(), open_low: false, open_high: false, unit: "B" };
    let bytes = field.measure(&SIZES, within)?;
    if bytes.fract() == 0.0 {
        Ok(bytes as u32)
    } else {
        Err(field.error("is not a whole number of bytes").allowed(within.to_string()))
    }
}

/// Payloads from a distribution, headers, and an end. A single size is a whole number of bytes.
pub(super) fn read(fields: &Fields<'_>) -> Checked<Packets> {
    let header = bytes_or(fields, "header", 0, bounds::PACKET, DEFAULT_UDP_HEADER)?;
    let segment = match fields.optional("segment") {
        Some(field) if matches!(field.doc, super::super::document::Doc::Table(_)) => {
            distribution::read(&field, &SIZE, bounds::PAYLOAD)?
        }
        _ => Distribution::Fixed(bytes_or(fields, "segment", 1, bounds::SEGMENT, DEFAULT_SEGMENT)?.into()),
    };
    // What is drawn above the largest packet is cut to it.
    let largest = if segment.values().is_some() { segment.range().1 } else { segment.range().0 };
    fits(fields, largest, header)?;
    Ok(Packets { segment, header, stop: stop(fields)? })
}

/// When a source falls silent.
pub(super) fn stop(fields: &Fields<'_>) -> Checked<Option<f64>> {
    fields.optional("stop").map(|field| field.measure(&TIMES, bounds::START)).transpose()
}

/// The interval from packet to packet must be long enough for the engine's clock.
pub(super) fn not_too_fast(fields: &Fields<'_>, key: &str, rate: f64, bytes: f64) -> Checked<()> {
    let shortest = bounds::CBR_INTERVAL;
    if 8.0 * bytes / rate >= shortest {
        return Ok(());
    }
    let field = fields.required(key, "")?;
    Err(field
        .error("sends packets too fast")
        .given(format!("{rate} bit/s in packets of {bytes} B"))
        .allowed(format!("a packet every {shortest} s at most")))
}

pub(super) fn write(packets: &Packets, map: &mut Map<String, Json>) {
    map.insert("segment".into(), distribution::write(&packets.segment, &SIZE));
    map.insert("header".into(), format!("{} B", packets.header).into());
    write_stop(packets.stop, map);
}

pub(super) fn write_sizes(segment: u32, header: u32, map: &mut Map<String, Json>) {
    map.insert("segment".into(), format!("{segment} B").into());
    map.insert("header".into(), format!("{header} B").into());
}

pub(super) fn write_stop(stop: Option<f64>, map: &mut Map<String, Json>) {
    if let Some(stop) = stop {
        map.insert("stop".into(), format!("{stop} s").into());
    }
}

pub(super) fn size_schema(segment: u32, header: u32, map: &mut Map<String, Json>) {
    let of = |bytes: u32| with_default(reference("size"), format!("{bytes} B"));
    map.insert("segment".into(), about(of(segment), "Payload of a packet."));
    map.insert("header".into(), about(of(header), "Headers of a packet."));
}

pub(super) fn stop_schema(map: &mut Map<String, Json>) {
    map.insert("stop".into(), about(reference("time"), "When the source falls silent; by default never."));
}

pub(super) fn schema(map: &mut Map<String, Json>) {
    let segment = json!({ "anyOf": [reference("size"), reference("size_distribution")] });
    map.insert(
        "segment".into(),
        about(with_default(segment, format!("{DEFAULT_SEGMENT} B")), "Payload of a packet, or a mix of sizes."),
    );
    map.insert(
        "header".into(),
        about(
            with_default(reference("size"), format!("{DEFAULT_UDP_HEADER} B")),
            "Headers of a packet; 28 B for UDP over IPv4.",
        ),
    );
    stop_schema(map);
}
