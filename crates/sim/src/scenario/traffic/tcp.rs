//! The keys of TCP, common to all kinds that use it.

use serde_json::{json, Map, Value as Json};

use super::super::bounds::{self, SECONDS, TIMES};
use super::super::document::Doc;
use super::super::error::quoted_list;
use super::super::fields::{Checked, Field, Fields};
use super::super::forms::{about, reference, whole, with_default};
use super::super::model::{Profile, Tcp};
use super::super::values::list;
use super::kind::whole_or;
use super::model::TcpSpec;
use super::{packets, rfc};
use earlydrop_net::tcp::ns2::core::{MIN_RTO, MIN_RTO_MS};
use earlydrop_net::tcp::stacks::{self, Stack, STACKS};
use earlydrop_net::tcp::TcpOptions;
use std::sync::Arc;

/// Keys, beside those of the [`OPTIONS`].
pub(super) const KEYS: &[&str] = &["tcp", "profile", "stack", "segment", "header", "clock_phase", "ecn", "rules"];
/// Keys of options.
pub(super) const OPTIONS: &[&str] = earlydrop_net::tcp::stacks::options::ENTRY_KEYS;
/// Headers of a packet when none are given, in bytes: TCP and IPv4 without options. ns-2's Vegas counts none.
const DEFAULT_HEADER: u32 = 40;
const DEFAULT_VEGAS_HEADER: u32 = 0;
/// How long an ACK waits where it is only said that it does, s (ns-2's `interval_`).
const DEFAULT_ACK_DELAY: f64 = 0.1;
/// Window when none is given, in segments: no limit in practice.
pub(super) const DEFAULT_WINDOW: u32 = 1000;

pub(super) fn read(fields: &Fields<'_>) -> Checked<TcpSpec> {
    let tcp = tcp(fields)?;
    let named = stack(fields, tcp)?;
    let profile = match named {
        Some(stack) => [Profile::Rfc, Profile::Ns2][usize::from(stack.is_ns2)],
        None => profile(fields, tcp)?,
    };
    if profile == Profile::Rfc {
        return read_rfc(fields, tcp, named);
    }
    rfc::refuse(fields, named.is_some())?;
    let header = if tcp == Tcp::Vegas { DEFAULT_VEGAS_HEADER } else { DEFAULT_HEADER };
    let (segment, header) = packets::segment_and_header(fields, packets::DEFAULT_SEGMENT, header)?;
    Ok(TcpSpec {
        tcp,
        profile,
        stack: named,
        segment,
        header,
        window: whole_or(fields, "window", 1, bounds::WINDOW, DEFAULT_WINDOW)?,
        clock_phase: fields.optional("clock_phase").map(|field| phases(&field)).transpose()?,
        options: TcpOptions {
            ecn: ecn(fields, tcp)?,
            delayed_ack: fields.optional("delayed_ack").map_or(Ok(None), |field| delayed_ack(&field))?,
            limited_transmit: fields.optional("limited_transmit").map_or(Ok(true), |field| field.flag())?,
            min_rto_ms: fields.optional("min_rto").map_or(Ok(MIN_RTO_MS), |field| min_rto(&field))?,
            rfc: None,
        },
    })
}

fn read_rfc(fields: &Fields<'_>, tcp: Tcp, named: Option<&'static Stack>) -> Checked<TcpSpec> {
    rfc::refuse_others(fields)?;
    let header = DEFAULT_HEADER + if rfc::timestamps(fields, named.is_some())? { rfc::STAMPS } else { 0 };
    let (segment, header) = packets::segment_and_header(fields, packets::DEFAULT_SEGMENT, header)?;
    let ecn = fields.optional("ecn").map_or(Ok(rfc::wants_ecn(tcp)), |field| field.flag())?;
    let settings = rfc::read(fields, named.unwrap_or(&stacks::rfc::STACK), named.is_some(), tcp, segment, ecn)?;
    Ok(TcpSpec {
        tcp,
        profile: Profile::Rfc,
        stack: named,
        segment,
        header,
        window: (settings.window / u64::from(segment)).min(u64::from(u32::MAX)) as u32,
        clock_phase: None,
        options: TcpOptions {
            delayed_ack: settings.delayed_ack,
            rfc: Some(Arc::new(settings)),
            ..TcpOptions::default()
        },
    })
}

fn ecn(fields: &Fields<'_>, tcp: Tcp) -> Checked<bool> {
    let Some(field) = fields.optional("ecn") else { return Ok(false) };
    let wanted = field.flag()?;
    if wanted && !tcp.knows_ecn() {
        let able = Tcp::NS2.iter().filter(|tcp| tcp.knows_ecn()).map(|tcp| tcp.name());
        return Err(field
            .error("is for TCPs that answer marks; in ns-2 this one sends packets without ECN")
            .given(format!("tcp = {:?}", tcp.name()))
            .allowed(quoted_list(able)));
    }
    Ok(wanted)
}

/// `true`, `false`, or how long an ACK may wait.
fn delayed_ack(field: &Field<'_>) -> Checked<Option<f64>> {
    match field.doc {
        Doc::Bool(false) => Ok(None),
        Doc::Bool(true) => Ok(Some(DEFAULT_ACK_DELAY)),
        _ => field.measure(&TIMES, bounds::ACK_DELAY).map(Some),
    }
}

/// In whole milliseconds, as the sender keeps it.
fn min_rto(field: &Field<'_>) -> Checked<u16> {
    let seconds = field.measure(&TIMES, bounds::SHORTEST_RTO)?;
    Ok((seconds * 1000.0).round() as u16)
}

fn tcp(fields: &Fields<'_>) -> Checked<Tcp> {
    let Some(field) = fields.optional("tcp") else { return Ok(Tcp::Reno) };
    let name = field.word(Tcp::ALL.iter().map(|tcp| tcp.name()))?;
    Ok(Tcp::ALL.iter().copied().find(|tcp| tcp.name() == name).unwrap_or(Tcp::Reno))
}

/// The stack, if one is named.
fn stack(fields: &Fields<'_>, tcp: Tcp) -> Checked<Option<&'static Stack>> {
    let Some(field) = fields.optional("stack") else { return Ok(None) };
    let name = field.word(STACKS.into_iter().map(|stack| stack.name))?;
    if let Some(profile) = fields.optional("profile") {
        return Err(profile.error("stands beside stack, which says it").allowed("the one or the other"));
    }
    let found = stacks::named(name);
    if let Some(stack) = found.filter(|stack| !stack.tcps.contains(&tcp.name())) {
        return Err(field
            .error("does not have this TCP")
            .given(format!("tcp = {:?}", tcp.name()))
            .allowed(format!("with it tcp = {}", quoted_list(stack.tcps.iter().copied()))));
    }
    Ok(found)
}

/// By default that of ns-2, where it has this TCP.
fn profile(fields: &Fields<'_>, tcp: Tcp) -> Checked<Profile> {
    let default = if Tcp::NS2.contains(&tcp) { Profile::Ns2 } else { Profile::Rfc };
    let Some(field) = fields.optional("profile") else { return Ok(default) };
    let name = field.word(Profile::ALL.iter().map(|profile| profile.name()))?;
    let profile = Profile::ALL.iter().copied().find(|profile| profile.name() == name).unwrap_or(default);
    let (known, names) = match profile {
        Profile::Ns2 => (Tcp::NS2.contains(&tcp), quoted_list(Tcp::NS2.iter().map(|tcp| tcp.name()))),
        Profile::Rfc => (rfc::has(tcp), rfc::names()),
    };
    if !known {
        return Err(field
            .error("does not have this TCP")
            .given(format!("tcp = {:?}", tcp.name()))
            .allowed(format!("with it tcp = {names}")));
    }
    Ok(profile)
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
    if let Some(settings) = &spec.options.rfc {
        return rfc::write(settings, spec.tcp, map);
    }
    map.insert("window".into(), spec.window.into());
    if let Some(phases) = &spec.clock_phase {
        map.insert("clock_phase".into(), json!(phases));
    }
    if spec.options.ecn {
        map.insert("ecn".into(), true.into());
    }
    if let Some(delay) = spec.options.delayed_ack {
        map.insert("delayed_ack".into(), format!("{delay} s").into());
    }
    if !spec.options.limited_transmit {
        map.insert("limited_transmit".into(), false.into());
    }
    if spec.options.min_rto_ms != MIN_RTO_MS {
        map.insert("min_rto".into(), format!("{} ms", spec.options.min_rto_ms).into());
    }
}

pub(super) fn schema(map: &mut Map<String, Json>) {
    let tcps: Vec<_> = Tcp::ALL.iter().map(|tcp| tcp.name()).collect();
    map.insert("tcp".into(), with_default(json!({ "enum": tcps }), Tcp::Reno.name()));
    let profiles: Vec<_> = Profile::ALL.iter().map(|profile| profile.name()).collect();
    map.insert("profile".into(), about(json!({ "enum": profiles }), "By default ns2 for the TCPs of ns-2, else rfc."));
    let names = STACKS.map(|stack| stack.name);
    let text = "A TCP stack by name, in place of profile and single options; rules overrides those.";
    map.insert("stack".into(), about(json!({ "enum": names }), text));
    packets::size_schema(packets::DEFAULT_SEGMENT, DEFAULT_HEADER, map);
    let window = with_default(rfc::window_schema(whole(1, bounds::WINDOW)), DEFAULT_WINDOW);
    map.insert("window".into(), about(window, "Largest window, in segments; in the profile rfc also in bytes."));
    rfc::schema(map);
    let number = json!({ "type": "number", "minimum": bounds::PHASE.low, "exclusiveMaximum": bounds::PHASE.high });
    let phase = json!({ "anyOf": [number, reference("time")] });
    let list = json!({ "type": "array", "items": phase.clone(), "minItems": 1 });
    let phases = about(json!({ "anyOf": [phase, list] }), "Phases of the senders' clock ticks, in seconds.");
    map.insert("clock_phase".into(), phases);
    let flag = |default: bool| with_default(json!({ "type": "boolean" }), default);
    map.insert("ecn".into(), about(flag(false), "Send ECN-capable data and answer marks; not with vegas."));
    let delay = with_default(json!({ "anyOf": [{ "type": "boolean" }, reference("time")] }), false);
    let text = "Acknowledge every second segment, or after this time; true means 100 ms.";
    map.insert("delayed_ack".into(), about(delay, text));
    let text = "Send a new segment on each of the first two duplicate acknowledgements (RFC 3042).";
    map.insert("limited_transmit".into(), about(flag(true), text));
    let text = "The shortest retransmission timeout, before it is doubled; at least 0.2 s.";
    map.insert("min_rto".into(), about(with_default(reference("time"), format!("{MIN_RTO} s")), text));
}
