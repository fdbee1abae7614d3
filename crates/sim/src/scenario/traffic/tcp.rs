//! The keys of TCP, common to all kinds that use it.

use serde_json::{json, Map, Value as Json};

use super::super::bounds;
use super::super::document::Doc;
use super::super::error::quoted_list;
use super::super::fields::{join, Checked, Field, Fields};
use super::super::forms::{Bytes, Flag, OneOf, Own, Quantity, Range};
use super::super::keys::{self, Key, Rows};
use super::super::model::Tcp;
use super::super::schemas;
use super::model::TcpSpec;
use super::{ns2, packets, rfc};
use earlydrop_net::tcp::rfc::Reading;
use earlydrop_net::tcp::stacks::{self, options, Stack, STACKS};
use earlydrop_net::tcp::TcpOptions;
use std::sync::Arc;

static TCP: Key<OneOf<Tcp>> =
    Key::or("tcp", OneOf { all: &Tcp::ALL, name: Tcp::name }, Tcp::Reno, "Congestion control.");
static STACK: Key<OneOf<&Stack>> = Key::optional(
    "stack",
    OneOf { all: &STACKS, name: |stack| stack.name },
    "`\"ns2-2.35\"` for the TCPs of ns-2, else `\"rfc\"`",
    "The TCP stack. `ns2-2.35`: segments, clock ticks of 10 ms, no handshake beyond one SYN; the others: as in the RFCs, \
     in Linux, in QUIC.",
);
static SEGMENT: Key<Bytes> = packets::segment(packets::DEFAULT_SEGMENT);
static HEADER: Key<Bytes> = Key::or(
    "header",
    Bytes { low: 0, high: bounds::PACKET },
    DEFAULT_HEADER,
    "Headers of a packet, at most 65,535 B with the payload. By default 0 B with vegas, and 12 B more with time \
     stamps.",
);
static WINDOW: Key<Own<u64>> = Key::or(
    "window",
    Own {
        kind: "whole number",
        range: Range::Whole(1, bounds::WINDOW),
        wanted: "a whole number",
        schema: || schemas::window(schemas::whole(1, bounds::WINDOW)),
        write: |window| (*window).into(),
        read: |field| field.whole(1, bounds::WINDOW),
    },
    // No limit in practice.
    1000,
    "Receiver's window in segments, with ns-2's TCPs also the initial ssthresh; with others also in bytes.",
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
    "Single options that differ from the stack.",
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
/// All keys of TCP.
pub(super) const KEYS: Rows = &[&TCP, &STACK, &SEGMENT, &HEADER, &WINDOW, &ECN, &READING, &RULES];

/// Headers of a packet when none are given, in bytes: TCP and IPv4 without options. ns-2's Vegas counts none.
const DEFAULT_HEADER: u32 = 40;
const DEFAULT_VEGAS_HEADER: u32 = 0;

/// Refuses options of TCP that stand in an entry itself, which has the keys `own`, and the key `profile`, which is
/// `stack` now. The error has the lines to write.
pub(super) fn refuse_in_entry(entry: &Field<'_>, own: &[&str]) -> Checked<()> {
    const PROFILE: &str = "profile";
    let Doc::Table(given) = entry.doc else { return Ok(()) };
    let is_ns2 = |key: &str| keys::names(ns2::OPTIONS).any(|name| name == key);
    let option = |key: &str| !own.contains(&key) && (is_ns2(key) || options::named(key).is_some());
    let options: Vec<_> = given.iter().filter(|(key, _)| option(key)).collect();
    let profile = given.iter().find(|(key, _)| key == PROFILE);
    let Some((key, doc)) = profile.or(options.first().copied()) else { return Ok(()) };
    let word = |key: &str| match entry.doc.get(key) {
        Some(Doc::String(word)) => Some(word.as_str()),
        _ => None,
    };
    let has_ns2 = Tcp::NS2.iter().any(|tcp| tcp.name() == word(TCP.name).unwrap_or(Tcp::Reno.name()));
    let stack = match word(PROFILE) {
        Some("ns2") => Some(stacks::ns2_2_35::STACK.name),
        // Without a stack they would be refused as unknown to ns-2.
        None if !has_ns2 || options.iter().all(|(key, _)| is_ns2(key)) => None,
        _ => Some(stacks::rfc::STACK.name),
    };
    let stack = stack.filter(|_| entry.doc.get(STACK.name).is_none());
    let mut lines: Vec<String> = stack.map(|name| format!("{} = {name:?}", STACK.name)).into_iter().collect();
    if !options.is_empty() {
        let rules = match entry.doc.get(RULES.name) {
            Some(Doc::Table(rules)) => rules.as_slice(),
            _ => &[],
        };
        let kept = rules.iter().filter(|(key, _)| !option(key) || entry.doc.get(key).is_none());
        lines.push(format!("{} = {}", RULES.name, inline(kept.chain(options))));
    }
    let now = if lines.is_empty() { "nothing".into() } else { lines.join(" and ") };
    let what = if key == PROFILE { "is said by stack" } else { "stands in rules" };
    Err(Field { doc, path: join(&entry.path, key) }.error(format!("{what}; write {now}")))
}

/// A table as TOML on one line.
fn inline<'a>(entries: impl IntoIterator<Item = &'a (String, Doc)>) -> String {
    fn value(doc: &Doc) -> String {
        match doc {
            Doc::Table(entries) => inline(entries),
            Doc::Array(items) => format!("[{}]", items.iter().map(value).collect::<Vec<_>>().join(", ")),
            Doc::String(text) => json!(text).to_string(),
            Doc::Float(x) => format!("{x:?}"),
            Doc::Integer(x) => x.to_string(),
            Doc::Bool(x) => x.to_string(),
        }
    }
    let pairs: Vec<_> = entries.into_iter().map(|(key, doc)| format!("{} = {}", join("", key), value(doc))).collect();
    format!("{{ {} }}", pairs.join(", "))
}

pub(super) fn read(fields: &Fields<'_>) -> Checked<TcpSpec> {
    let tcp = TCP.read(fields)?;
    let stack = stack(fields, tcp)?;
    if !stack.is_ns2 {
        return read_rfc(fields, tcp, stack);
    }
    if let Some(field) = READING.field(fields) {
        return Err(rfc::not_in_ns2(&field));
    }
    let segment = SEGMENT.read(fields)?;
    let header = header(fields, segment, if tcp == Tcp::Vegas { DEFAULT_VEGAS_HEADER } else { DEFAULT_HEADER })?;
    let rules = rfc::rules(fields, stack)?;
    Ok(TcpSpec {
        tcp,
        stack,
        segment,
        header,
        window: WINDOW.read(fields)? as u32,
        clock_phase: ns2::CLOCK_PHASE.given(&rules)?,
        options: TcpOptions {
            ecn: ecn(fields, tcp)?,
            delayed_ack: ns2::DELAYED_ACK.read(&rules)?,
            limited_transmit: ns2::LIMITED_TRANSMIT.read(&rules)?,
            min_rto_ms: ns2::MIN_RTO.read(&rules)?,
            rfc: None,
        },
    })
}

fn read_rfc(fields: &Fields<'_>, tcp: Tcp, stack: &'static Stack) -> Checked<TcpSpec> {
    let segment = SEGMENT.read(fields)?;
    let ecn = ECN.read_or(fields, rfc::wants_ecn(tcp))?;
    let mut settings = rfc::read(fields, stack, tcp, segment, ecn)?;
    let header = header(fields, segment, DEFAULT_HEADER + if settings.timestamps { rfc::STAMPS } else { 0 })?;
    settings.receiver.reading = READING.given(fields)?;
    Ok(TcpSpec {
        tcp,
        stack,
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

/// The stack, by default that of ns-2 where it has this TCP.
fn stack(fields: &Fields<'_>, tcp: Tcp) -> Checked<&'static Stack> {
    let default = if Tcp::NS2.contains(&tcp) { &stacks::ns2_2_35::STACK } else { &stacks::rfc::STACK };
    let (Some(field), stack) = (STACK.field(fields), STACK.read_or(fields, default)?) else { return Ok(default) };
    if !stack.tcps.contains(&tcp.name()) {
        return Err(field
            .error("does not have this TCP")
            .given(format!("tcp = {:?}", tcp.name()))
            .allowed(format!("with it tcp = {}", quoted_list(stack.tcps.iter().copied()))));
    }
    Ok(stack)
}

/// A reader that reads for `every - pause` and then pauses.
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

fn header(fields: &Fields<'_>, segment: u32, default: u32) -> Checked<u32> {
    let header = HEADER.read_or(fields, default)?;
    packets::fits(fields, f64::from(segment), header)?;
    Ok(header)
}

/// Every key with its value. All stacks but ns-2's are written as [`stacks::rfc`] with all options, so that a scenario
/// is the same text whichever of them it names.
pub(super) fn write(spec: &TcpSpec, map: &mut Map<String, Json>) {
    let rfc = spec.options.rfc.as_ref();
    TCP.write(&spec.tcp, map);
    STACK.write(&rfc.map_or(&stacks::ns2_2_35::STACK, |_| &stacks::rfc::STACK), map);
    SEGMENT.write(&spec.segment, map);
    HEADER.write(&spec.header, map);
    let window = rfc.map_or_else(|| spec.window.into(), |settings| rfc::window(settings));
    map.insert(WINDOW.name.into(), window);
    ECN.write(&spec.sends_ecn(), map);
    READING.write_given(rfc.and_then(|settings| settings.receiver.reading.as_ref()), map);
    map.insert(RULES.name.into(), rules(spec).into());
}

/// All options of a sender, by their values.
pub(super) fn rules(spec: &TcpSpec) -> Map<String, Json> {
    spec.options.rfc.as_ref().map_or_else(|| ns2::write(spec), |settings| rfc::write(settings, spec.tcp))
}
