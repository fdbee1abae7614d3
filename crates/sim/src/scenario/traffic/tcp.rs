//! The keys of TCP, common to all kinds that use it.

use serde_json::{json, Map, Value as Json};

use super::super::bounds::{self, SECONDS};
use super::super::document::Doc;
use super::super::error::quoted_list;
use super::super::fields::{Checked, Field, Fields};
use super::super::forms::{Bytes, Flag, OneOf, Own, Quantity, Range};
use super::super::keys::{self, Key, Rows};
use super::super::model::{Profile, Tcp};
use super::super::schemas::{self, reference};
use super::super::values::list;
use super::model::TcpSpec;
use super::{ns2, packets, rfc};
use earlydrop_net::tcp::ns2::core::MIN_RTO_MS;
use earlydrop_net::tcp::rfc::Reading;
use earlydrop_net::tcp::stacks::{self, options, Stack, STACKS};
use earlydrop_net::tcp::TcpOptions;
use std::sync::Arc;

static TCP: Key<OneOf<Tcp>> =
    Key::or("tcp", OneOf { all: &Tcp::ALL, name: Tcp::name }, Tcp::Reno, "Congestion control.");
static PROFILE: Key<OneOf<Profile>> = Key::optional(
    "profile",
    OneOf { all: Profile::ALL, name: Profile::name },
    "`\"ns2\"` for the TCPs of ns-2, else `\"rfc\"`",
    "`ns2`: segments, clock ticks of 10 ms, no handshake beyond one SYN, as ns-2.35; `rfc`: as in the RFCs.",
);
static STACK: Key<OneOf<&Stack>> = Key::optional(
    "stack",
    OneOf { all: &STACKS, name: |stack| stack.name },
    "none",
    "A TCP stack by name, in place of `profile` and single options; `rules` overrides its options.",
);
static SEGMENT: Key<Bytes> = packets::segment(packets::DEFAULT_SEGMENT);
static HEADER: Key<Bytes> = Key::or(
    "header",
    Bytes { low: 0, high: bounds::PACKET },
    DEFAULT_HEADER,
    "Headers of a packet, at most 65,535 B with the payload. By default 0 B with vegas, and 12 B more with time \
     stamps.",
);
static CLOCK_PHASE: Key<Own<Vec<f64>>> = Key::optional(
    "clock_phase",
    Own {
        kind: "seconds, time or list",
        range: Range::Within(bounds::PHASE),
        wanted: "seconds, or a time such as \"2.5 ms\"",
        schema: phases_schema,
        write: |phases| json!(phases),
        read: phases,
    },
    "drawn",
    "Phases of the senders' clock ticks, in seconds (ns-2's `boot_time_`).",
);
static ECN: Key<Flag> = Key::or(
    "ecn",
    Flag,
    false,
    "Send ECN-capable data and answer marks; not with vegas. The queue needs `ecn = true` too.",
);
static RULES: Key<Own<(), ()>> = Key::optional(
    "rules",
    Own {
        kind: "table",
        range: Range::Words(""),
        wanted: "a table",
        schema: rfc::rules_schema,
        write: |()| Json::Null,
        read: (),
    },
    "none",
    "Single options that differ from the stack. With profile only those that have no key of their own.",
);
static READING: Key<Own<Reading>> = Key::optional(
    "reading",
    Own {
        kind: "table",
        range: Range::Words(""),
        wanted: "a table",
        schema: || keys::table(READING_KEYS),
        write: |of| {
            let mut map = Map::new();
            READ_RATE.write_given(Some(8.0 * of.rate).filter(|rate| rate.is_finite()).as_ref(), &mut map);
            PAUSE.write_given(Some(of.pause).filter(|pause| *pause > 0.0).as_ref(), &mut map);
            EVERY.write_given(Some(of.every).filter(|every| every.is_finite()).as_ref(), &mut map);
            map.into()
        },
        read: reading,
    },
    "at once",
    "`{ rate = \"5 Mbit/s\" }`, `{ pause = \"2 s\", every = \"10 s\" }`, or both: how the application reads, with the \
     window as its buffer. Not with ns-2's TCPs.",
);
static READ_RATE: Key<Quantity> = Key::optional("rate", Quantity::rate(bounds::RATE), "at once", "");
static PAUSE: Key<Quantity> = Key::optional("pause", Quantity::time(bounds::REPEAT), "none", "");
static EVERY: Key<Quantity> = Key::optional("every", Quantity::time(bounds::REPEAT), "with pause", "");
const READING_KEYS: Rows = &[&READ_RATE, &PAUSE, &EVERY];
/// Keys, beside those of options.
pub(super) const KEYS: Rows = &[&TCP, &PROFILE, &STACK, &SEGMENT, &HEADER, &CLOCK_PHASE, &ECN, &READING, &RULES];

/// Headers of a packet when none are given, in bytes: TCP and IPv4 without options. ns-2's Vegas counts none.
const DEFAULT_HEADER: u32 = 40;
const DEFAULT_VEGAS_HEADER: u32 = 0;

/// All keys of TCP.
pub(super) fn all_keys() -> Vec<&'static str> {
    keys::names(KEYS).chain(options::ENTRY_KEYS.iter().copied()).collect()
}

pub(super) fn read(fields: &Fields<'_>) -> Checked<TcpSpec> {
    let tcp = TCP.read(fields)?;
    let named = stack(fields, tcp)?;
    match (named, PROFILE.field(fields)) {
        (Some(stack), Some(field)) => {
            // In full, as `earlydrop check --json` writes it: the stack follows from the options.
            let spec = read_as(fields, tcp, profile(fields, tcp)?, None)?;
            if spec.shortest().0 != stack.name {
                return Err(field.error("stands beside stack, which says it").allowed("the one or the other"));
            }
            Ok(TcpSpec { stack: named, ..spec })
        }
        (Some(stack), None) => read_as(fields, tcp, [Profile::Rfc, Profile::Ns2][usize::from(stack.is_ns2)], named),
        (None, _) => read_as(fields, tcp, profile(fields, tcp)?, None),
    }
}

fn read_as(fields: &Fields<'_>, tcp: Tcp, profile: Profile, named: Option<&'static Stack>) -> Checked<TcpSpec> {
    if profile == Profile::Rfc {
        return read_rfc(fields, tcp, named);
    }
    rfc::refuse(fields, named.is_some())?;
    let header = if tcp == Tcp::Vegas { DEFAULT_VEGAS_HEADER } else { DEFAULT_HEADER };
    let (segment, header) = segment_and_header(fields, header)?;
    Ok(TcpSpec {
        tcp,
        profile,
        stack: named,
        segment,
        header,
        window: ns2::WINDOW.read(fields)? as u32,
        clock_phase: CLOCK_PHASE.given(fields)?,
        options: TcpOptions {
            ecn: ecn(fields, tcp)?,
            delayed_ack: ns2::DELAYED_ACK.read(fields)?,
            limited_transmit: ns2::LIMITED_TRANSMIT.read(fields)?,
            min_rto_ms: ns2::MIN_RTO.read(fields)?,
            rfc: None,
        },
    })
}

fn read_rfc(fields: &Fields<'_>, tcp: Tcp, named: Option<&'static Stack>) -> Checked<TcpSpec> {
    rfc::refuse_others(fields)?;
    let header = DEFAULT_HEADER + if rfc::timestamps(fields, named, tcp)? { rfc::STAMPS } else { 0 };
    let (segment, header) = segment_and_header(fields, header)?;
    let ecn = ECN.read_or(fields, rfc::wants_ecn(tcp))?;
    let mut settings = rfc::read(fields, named.unwrap_or(&stacks::rfc::STACK), named.is_some(), tcp, segment, ecn)?;
    settings.receiver.reading = READING.given(fields)?;
    Ok(TcpSpec {
        tcp,
        profile: Profile::Rfc,
        stack: named,
        segment,
        header,
        window: (settings.receiver.window / u64::from(segment)).min(u64::from(u32::MAX)) as u32,
        clock_phase: None,
        options: TcpOptions {
            delayed_ack: settings.receiver.delay,
            rfc: Some(Arc::new(settings)),
            ..TcpOptions::default()
        },
    })
}

fn ecn(fields: &Fields<'_>, tcp: Tcp) -> Checked<bool> {
    let wanted = ECN.read(fields)?;
    if let (Some(field), true) = (ECN.field(fields), wanted && !tcp.knows_ecn()) {
        let able = Tcp::NS2.iter().filter(|tcp| tcp.knows_ecn()).map(|tcp| tcp.name());
        return Err(field
            .error("is for TCPs that answer marks; in ns-2 this one sends packets without ECN")
            .given(format!("tcp = {:?}", tcp.name()))
            .allowed(quoted_list(able)));
    }
    Ok(wanted)
}

/// The stack, if one is named.
fn stack(fields: &Fields<'_>, tcp: Tcp) -> Checked<Option<&'static Stack>> {
    let (Some(field), Some(stack)) = (STACK.field(fields), STACK.given(fields)?) else { return Ok(None) };
    if !stack.tcps.contains(&tcp.name()) {
        return Err(field
            .error("does not have this TCP")
            .given(format!("tcp = {:?}", tcp.name()))
            .allowed(format!("with it tcp = {}", quoted_list(stack.tcps.iter().copied()))));
    }
    Ok(Some(stack))
}

/// By default that of ns-2, where it has this TCP.
fn profile(fields: &Fields<'_>, tcp: Tcp) -> Checked<Profile> {
    let default = if Tcp::NS2.contains(&tcp) { Profile::Ns2 } else { Profile::Rfc };
    let (Some(field), profile) = (PROFILE.field(fields), PROFILE.read_or(fields, default)?) else { return Ok(default) };
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

/// Reads for `every - pause`, then pauses.
fn reading(field: &Field<'_>) -> Checked<Reading> {
    let fields = field.rows(READING_KEYS)?;
    let rate = READ_RATE.given(&fields)?.map_or(f64::INFINITY, |rate| rate / 8.0);
    let (every, pause) = match (EVERY.given(&fields)?, PAUSE.given(&fields)?) {
        (None, None) if rate < f64::INFINITY => (f64::INFINITY, 0.0),
        (Some(every), Some(pause)) if pause < every => (every, pause),
        (Some(_), Some(_)) => return Err(field.error("never reads").allowed("a pause shorter than every")),
        _ => return Err(field.error("is not whole").allowed("rate, or pause and every")),
    };
    Ok(Reading { rate, every, pause })
}

fn phases(field: &Field<'_>) -> Checked<Vec<f64>> {
    match field.doc {
        Doc::Array(_) => list(field, &SECONDS, bounds::PHASE),
        _ => field.measure(&SECONDS, bounds::PHASE).map(|phase| vec![phase]),
    }
}

fn segment_and_header(fields: &Fields<'_>, default_header: u32) -> Checked<(u32, u32)> {
    let (segment, header) = (SEGMENT.read(fields)?, HEADER.read_or(fields, default_header)?);
    packets::fits(fields, f64::from(segment), header)?;
    Ok((segment, header))
}

/// Every key that matters to this TCP; of ns-2's options those that differ from their defaults.
pub(super) fn write(spec: &TcpSpec, map: &mut Map<String, Json>) {
    TCP.write(&spec.tcp, map);
    PROFILE.write(&spec.profile, map);
    SEGMENT.write(&spec.segment, map);
    HEADER.write(&spec.header, map);
    if let Some(settings) = &spec.options.rfc {
        rfc::write(settings, spec.tcp, map);
        return READING.write_given(settings.receiver.reading.as_ref(), map);
    }
    ns2::WINDOW.write(&spec.window.into(), map);
    CLOCK_PHASE.write_given(spec.clock_phase.as_ref(), map);
    ECN.write_given(Some(&spec.options.ecn).filter(|on| **on), map);
    ns2::DELAYED_ACK.write_given(Some(&spec.options.delayed_ack).filter(|delay| delay.is_some()), map);
    ns2::LIMITED_TRANSMIT.write_given(Some(&spec.options.limited_transmit).filter(|on| !**on), map);
    ns2::MIN_RTO.write_given(Some(&spec.options.min_rto_ms).filter(|ms| **ms != MIN_RTO_MS), map);
}

/// Adds the schemas of all keys of TCP.
pub(super) fn schema(map: &mut Map<String, Json>) {
    keys::properties(KEYS, map);
    keys::properties(ns2::OPTIONS, map);
    rfc::schema(map);
}

fn phases_schema() -> Json {
    let phase = json!({ "anyOf": [schemas::number(bounds::PHASE), reference("time")] });
    json!({ "anyOf": [phase.clone(), schemas::list(phase)] })
}
