//! The keys of TCP, common to all kinds that use it.

use serde_json::{json, Map, Value as Json};

use super::super::bounds::{self, SECONDS};
use super::super::check::list;
use super::super::document::Doc;
use super::super::fields::{Checked, Field, Fields};
use super::super::model::{Profile, Tcp};
use super::super::schema::{about, reference, whole, with_default};
use super::model::TcpSpec;
use super::{packets, whole_or};

/// Keys.
pub(super) const KEYS: &[&str] = &["tcp", "profile", "segment", "header", "window", "clock_phase"];
/// Headers of a packet when none are given, in bytes: TCP and IPv4 without options.
const DEFAULT_HEADER: u32 = 40;
/// Window when none is given, in segments: no limit in practice.
const DEFAULT_WINDOW: u32 = 1000;

pub(super) fn read(fields: &Fields<'_>) -> Checked<TcpSpec> {
    let (segment, header) = packets::segment_and_header(fields, packets::DEFAULT_SEGMENT, DEFAULT_HEADER)?;
    Ok(TcpSpec {
        tcp: tcp(fields)?,
        profile: profile(fields)?,
        segment,
        header,
        window: whole_or(fields, "window", 1, bounds::WINDOW, DEFAULT_WINDOW)?,
        clock_phase: fields.optional("clock_phase").map(|field| phases(&field)).transpose()?,
    })
}

fn tcp(fields: &Fields<'_>) -> Checked<Tcp> {
    let Some(field) = fields.optional("tcp") else { return Ok(Tcp::Reno) };
    let name = field.word(Tcp::ALL.iter().map(|tcp| tcp.name()))?;
    Ok(Tcp::ALL.iter().copied().find(|tcp| tcp.name() == name).unwrap_or(Tcp::Reno))
}

fn profile(fields: &Fields<'_>) -> Checked<Profile> {
    let Some(field) = fields.optional("profile") else { return Ok(Profile::Ns2) };
    let name = field.word(Profile::ALL.iter().map(|profile| profile.name()))?;
    Ok(Profile::ALL.iter().copied().find(|profile| profile.name() == name).unwrap_or(Profile::Ns2))
}

fn phases(field: &Field<'_>) -> Checked<Vec<f64>> {
    match field.doc {
        Doc::Array(_) => list(field, &SECONDS, bounds::PHASE),
        _ => field.measure(&SECONDS, bounds::PHASE).map(|phase| vec![phase]),
    }
}

pub(super) fn write(spec: &TcpSpec, map: &mut Map<String, Json>) {
    map.insert("tcp".into(), spec.tcp.name().into());
    map.insert("profile".into(), spec.profile.name().into());
    packets::write_sizes(spec.segment, spec.header, map);
    map.insert("window".into(), spec.window.into());
    if let Some(phases) = &spec.clock_phase {
        map.insert("clock_phase".into(), json!(phases));
    }
}

pub(super) fn schema(map: &mut Map<String, Json>) {
    let tcps: Vec<_> = Tcp::ALL.iter().map(|tcp| tcp.name()).collect();
    map.insert("tcp".into(), with_default(json!({ "enum": tcps }), Tcp::Reno.name()));
    let profiles: Vec<_> = Profile::ALL.iter().map(|profile| profile.name()).collect();
    map.insert("profile".into(), with_default(json!({ "enum": profiles }), Profile::Ns2.name()));
    packets::size_schema(packets::DEFAULT_SEGMENT, DEFAULT_HEADER, map);
    let window = with_default(whole(1, bounds::WINDOW), DEFAULT_WINDOW);
    map.insert("window".into(), about(window, "Largest window, in segments."));
    let number = json!({ "type": "number", "minimum": bounds::PHASE.low, "exclusiveMaximum": bounds::PHASE.high });
    let phase = json!({ "anyOf": [number, reference("time")] });
    let list = json!({ "type": "array", "items": phase.clone(), "minItems": 1 });
    let phases = about(json!({ "anyOf": [phase, list] }), "Phases of the senders' clock ticks, in seconds.");
    map.insert("clock_phase".into(), phases);
}
