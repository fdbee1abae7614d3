//! `[[traffic]]`: who sends what.

use std::collections::BTreeSet;

use super::bounds::{self, SECONDS, SIZES, TIMES};
use super::check::{delays, list, name};
use super::document::Doc;
use super::ends::with_ends;
use super::error::ScenarioError;
use super::fields::{Checked, Field, Fields, Interval};
use super::model::{Cbr, Delays, Ftp, Profile, Tcp, Traffic};
use super::units;

/// Kinds of traffic.
pub(super) const KINDS: &[&str] = &["ftp", "cbr"];
/// Keys of FTP traffic.
pub(super) const FTP: &[&str] =
    &["kind", "name", "count", "tcp", "profile", "segment", "header", "window", "start", "clock_phase"];
/// Keys of CBR traffic.
pub(super) const CBR: &[&str] = &["kind", "name", "count", "rate", "segment", "header", "start"];
/// Headers of a packet at a constant bit rate when none are given, in bytes: ns-2's agents count none.
pub(super) const DEFAULT_CBR_HEADER: u32 = 0;
/// Payload of a packet when none is given, in bytes.
pub(super) const DEFAULT_SEGMENT: u32 = 1000;
/// Headers of a packet when none are given, in bytes: TCP and IPv4 without options.
pub(super) const DEFAULT_HEADER: u32 = 40;
/// Window when none is given, in segments: no limit in practice.
pub(super) const DEFAULT_WINDOW: u32 = 1000;

/// Reads all traffic; an entry without a count has one flow a pair.
pub(super) fn read(field: &Field<'_>, pairs: u32) -> Checked<Vec<Traffic>> {
    if let Doc::Table(_) = field.doc {
        return Err(field.error("is a single table").allowed("a list of tables; write [[traffic]]"));
    }
    let mut names = BTreeSet::new();
    let mut flows = 0;
    let mut traffic = Vec::new();
    for entry in field.items("one or more tables [[traffic]]")? {
        let one = self::entry(&entry, pairs)?;
        flows += one.flows();
        if flows > bounds::FLOWS {
            return Err(ScenarioError::new(entry.path, "makes too many flows")
                .given(format!("{flows} flows so far"))
                .allowed(format!("{} flows in all", bounds::FLOWS)));
        }
        if let Some(name) = one.name().filter(|name| !names.insert(name.to_string())) {
            return Err(ScenarioError::new(format!("{}.name", entry.path), "is the name of another entry too")
                .given(format!("{name:?}"))
                .allowed("a name of its own for each entry, or none"));
        }
        traffic.push(one);
    }
    Ok(traffic)
}

fn entry(field: &Field<'_>, pairs: u32) -> Checked<Traffic> {
    let is_cbr = field.doc.get("kind").is_some_and(|kind| matches!(kind, Doc::String(word) if word == "cbr"));
    let fields = field.table(&with_ends(if is_cbr { CBR } else { FTP }))?;
    fields.required("kind", "\"ftp\" or \"cbr\"")?.word(KINDS.iter().copied())?;
    if is_cbr {
        cbr(&fields).map(Traffic::Cbr)
    } else {
        ftp(&fields, pairs).map(Traffic::Ftp)
    }
}

fn cbr(fields: &Fields<'_>) -> Checked<Cbr> {
    let (segment, header) = packet(fields, DEFAULT_CBR_HEADER)?;
    let rate = fields.required("rate", units::RATE_FORM)?;
    let cbr = Cbr {
        name: fields.optional("name").map(|field| name(&field)).transpose()?,
        count: whole_or(fields, "count", bounds::COUNT, 1)?,
        rate: rate.measure(&bounds::RATES, bounds::RATE)?,
        segment,
        header,
        start: fields.optional("start").map_or(Ok(Delays::Same(0.0)), |field| delays(&field, &TIMES, bounds::START))?,
    };
    let shortest = bounds::CBR_INTERVAL;
    if cbr.interval() < shortest {
        return Err(rate
            .error("sends packets too fast")
            .given(format!("{} bit/s in packets of {} B", cbr.rate, segment + header))
            .allowed(format!("a packet every {shortest} s at most")));
    }
    Ok(cbr)
}

fn ftp(fields: &Fields<'_>, pairs: u32) -> Checked<Ftp> {
    let (segment, header) = packet(fields, DEFAULT_HEADER)?;
    Ok(Ftp {
        name: fields.optional("name").map(|field| name(&field)).transpose()?,
        count: whole_or(fields, "count", bounds::COUNT, pairs)?,
        tcp: tcp(fields)?,
        profile: profile(fields)?,
        segment,
        header,
        window: whole_or(fields, "window", bounds::WINDOW, DEFAULT_WINDOW)?,
        start: fields.optional("start").map_or(Ok(Delays::Same(0.0)), |field| delays(&field, &TIMES, bounds::START))?,
        clock_phase: fields.optional("clock_phase").map(|field| phases(&field)).transpose()?,
    })
}

/// A whole number from 1 to `high`, which fits 32 bits.
fn whole_or(fields: &Fields<'_>, key: &str, high: u64, default: u32) -> Checked<u32> {
    fields.optional(key).map_or(Ok(default), |field| field.whole(1, high).map(|x| x as u32))
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

/// Payload and headers, in bytes, which together fit an IP packet.
fn packet(fields: &Fields<'_>, default_header: u32) -> Checked<(u32, u32)> {
    let segment = bytes_or(fields, "segment", 1, bounds::SEGMENT, DEFAULT_SEGMENT)?;
    let header = bytes_or(fields, "header", 0, bounds::PACKET, default_header)?;
    if segment + header <= bounds::PACKET {
        return Ok((segment, header));
    }
    let key = if fields.optional("header").is_some() { "header" } else { "segment" };
    Err(ScenarioError::new(format!("{}.{key}", fields.path), "makes too large a packet")
        .given(format!("{segment} B of payload and {header} B of headers"))
        .allowed(format!("{} B together", bounds::PACKET)))
}

fn bytes_or(fields: &Fields<'_>, key: &str, low: u32, high: u32, default: u32) -> Checked<u32> {
    let Some(field) = fields.optional(key) else { return Ok(default) };
    let within = Interval { low: low.into(), high: high.into(), open_low: false, open_high: false, unit: "B" };
    let bytes = field.measure(&SIZES, within)?;
    if bytes.fract() == 0.0 {
        Ok(bytes as u32)
    } else {
        Err(field.error("is not a whole number of bytes").allowed(within.to_string()))
    }
}

fn phases(field: &Field<'_>) -> Checked<Vec<f64>> {
    match field.doc {
        Doc::Array(_) => list(field, &SECONDS, bounds::PHASE),
        _ => field.measure(&SECONDS, bounds::PHASE).map(|phase| vec![phase]),
    }
}
