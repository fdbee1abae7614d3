//! TCP stacks other than ns-2's: their options as keys of a traffic entry and of its table `rules`, read, written and
//! described from the one table ([`earlydrop_net::tcp::stacks::options`]).

use serde_json::{json, Map, Value as Json};

use super::super::bounds::{NUMBERS, SIZES, TIMES};
use super::super::document::Doc;
use super::super::error::quoted_list;
use super::super::fields::{Checked, Field, Fields, Interval};
use super::super::keys;
use super::super::model::Tcp;
use super::super::schemas::{self, about, object, reference, whole, with_default};
use super::ns2;
use earlydrop_net::tcp::rfc::{Feedbacks, RecoveryRules, Settings};
use earlydrop_net::tcp::stacks::options::{self, Opt, Part, Place, Value, Values};
use earlydrop_net::tcp::stacks::{self, Stack};

/// Options of time stamps in every segment, bytes (RFC 7323, appendix A).
pub(super) const STAMPS: u32 = earlydrop_net::tcp::rfc::STAMP_BYTES as u32;
/// The order in which a scenario is written in full. Stores are keyed by that text.
const ORDER: [&str; 25] = [
    "window",
    "delayed_ack",
    "limited_transmit",
    "min_rto",
    "sack",
    "timestamps",
    "initial_window",
    "abc_limit",
    "avoidance",
    "ssthresh",
    "growth",
    "min_rto_for",
    "cubic",
    "bbr",
    "pacing_burst",
    "send_pairs",
    "prr",
    "rack",
    "ledbat_target",
    "ledbat_gain",
    "prague_fallback",
    "prague_rtt_target",
    "hystart",
    "abe",
    "pacing",
];

/// Whether ns-2's TCPs have this key too, with a range and a default of their own.
fn is_ns2(key: &str) -> bool {
    keys::names(ns2::OPTIONS).any(|name| name == key)
}

/// Refuses keys that only ns-2's TCPs have.
pub(super) fn refuse_others(fields: &Fields<'_>) -> Checked<()> {
    match fields.optional("clock_phase") {
        Some(field) => {
            Err(field.error("is for profile = \"ns2\", whose senders have coarse clocks").allowed("no such key"))
        }
        None => Ok(()),
    }
}

/// Refuses keys that ns-2's TCPs do not have. `named`: the scenario names a `stack`.
pub(super) fn refuse(fields: &Fields<'_>, named: bool) -> Checked<()> {
    let others = options::ENTRY_KEYS.iter().copied().filter(|key| !is_ns2(key)).chain(["rules", "reading"]);
    let Some(field) = others.into_iter().find_map(|key| fields.optional(key)) else { return Ok(()) };
    let other = if named { "another stack" } else { "profile = \"rfc\"" };
    Err(field.error(format!("is for {other}")).allowed(format!("no such key, or {other}")))
}

/// Whether segments carry time stamps.
pub(super) fn timestamps(fields: &Fields<'_>, named: Option<&'static Stack>, tcp: Tcp) -> Checked<bool> {
    let rules = rules(fields, named.is_some())?;
    // QUIC has none.
    let recovery = rules.as_ref().and_then(|rules| rules.optional("loss_recovery"));
    let quic = match recovery {
        Some(field) => matches!(field.doc, Doc::String(word) if word == "rfc9002"),
        None => named.is_some_and(|stack| stack.row("loss_recovery", tcp.name()).is_some()),
    };
    if quic {
        return Ok(false);
    }
    let field = fields.optional("timestamps").or_else(|| rules.and_then(|rules| rules.optional("timestamps")));
    field.map_or(Ok(true), |field| field.flag())
}

/// The table `rules`. Where a stack is named it may have any option.
fn rules<'a>(fields: &Fields<'a>, named: bool) -> Checked<Option<Fields<'a>>> {
    let keys: Vec<&str> = options::all().filter(|opt| named || opt.place == Place::Rules).map(|opt| opt.key).collect();
    fields.optional("rules").map(|field| field.table(&keys)).transpose()
}

/// The settings of `tcp` with segments of `mss` bytes of payload. With `named` the scenario names the stack, and what has
/// no effect is refused.
pub(super) fn read(
    fields: &Fields<'_>,
    stack: &'static Stack,
    named: bool,
    tcp: Tcp,
    mss: u32,
    ecn: bool,
) -> Checked<Settings> {
    let rules = rules(fields, named)?;
    let find = |key: &str| {
        let (entry, rule) = (fields.optional(key), rules.as_ref().and_then(|rules| rules.optional(key)));
        match (entry, rule) {
            (Some(_), Some(rule)) => Err(rule.error("is given twice, here and beside").allowed("one of them")),
            (entry, rule) => Ok(entry.or(rule)),
        }
    };
    for opt in options::all().filter(|opt| !opt.is_for(tcp.name())) {
        if let Some(field) = find(opt.key)? {
            let names = quoted_list(opt.controls.iter().copied());
            return Err(field.error(format!("is for tcp = {names}")).allowed("no such key"));
        }
    }
    stack.settings(tcp.name(), mss, ecn, |opt, so_far| {
        let Some(field) = find(opt.key)? else { return Ok(None) };
        let value = parse(&opt.values, &field, mss)?;
        refuse_contradictions(opt, &field, value, tcp)?;
        let lack = opt.lacks(so_far).filter(|need| named || need.always);
        if let Some(need) = lack.filter(|_| opt.get(so_far) != Some(value)) {
            let message = format!("has no effect: it needs {}", need.says);
            return Err(field.error(message).allowed(format!("no such key, or {}", need.says)));
        }
        Ok(Some(value))
    })
}

/// Refuses options that contradict the TCP's name.
fn refuse_contradictions(opt: &Opt, field: &Field<'_>, value: Value, tcp: Tcp) -> Checked<()> {
    let (message, allowed) = match (opt.key, value, tcp) {
        ("sack", Value::Flag(true), Tcp::NewReno) => {
            ("makes another TCP of newreno, which recovers without it", "false, or tcp = \"reno\"")
        }
        ("sack", Value::Flag(false), Tcp::Sack) => ("makes another TCP of sack", "true, or tcp = \"newreno\""),
        ("pacing", Value::Flag(false), Tcp::Bbr) => ("is what bbr is", "true"),
        ("timestamps", Value::Flag(false), Tcp::Ledbat) => ("leaves ledbat without delays", "true"),
        _ => return Ok(()),
    };
    Err(field.error(message).allowed(allowed))
}

/// The value of an option, or of a part of one.
fn parse(values: &'static Values, field: &Field<'_>, mss: u32) -> Checked<Value> {
    let words = || field.word(values.words().iter().copied()).map(Value::Word);
    match (values, field.doc) {
        (Values::Table(_, _, parts), Doc::Table(_)) => parse_table(parts, field, mss),
        (Values::Flag(_), _) => field.flag().map(Value::Flag),
        (Values::WordsOrFlag(..) | Values::Switch(..) | Values::Wait(..), Doc::Bool(on)) => Ok(Value::Flag(*on)),
        (
            Values::Either(..) | Values::Words(..) | Values::WordsOrFlag(..) | Values::Switch(..) | Values::Table(..),
            _,
        ) => words(),
        (Values::Whole(low, high, ..), _) => field.whole(*low, *high).map(Value::Whole),
        (Values::Seconds(low, high, ..), _) => field.measure(&TIMES, closed(*low, *high, "s")).map(Value::Seconds),
        (Values::Number(low, high, ..), _) => field.measure(&NUMBERS, closed(*low, *high, "")).map(Value::Number),
        (Values::Wait(high, ..), _) => {
            let within = Interval { open_low: true, ..closed(0.0, *high, "s") };
            field.measure(&TIMES, within).map(Value::Seconds)
        }
        (Values::Window(_, bytes, ..), Doc::String(_)) => {
            field.measure(&SIZES, closed(1.0, *bytes, "B")).map(|bytes| Value::Whole(bytes as u64))
        }
        (Values::Window(segments, ..), _) => {
            field.whole(1, *segments).map(|segments| Value::Whole(segments * u64::from(mss)))
        }
    }
}

fn parse_table(parts: &'static [Part; 2], field: &Field<'_>, mss: u32) -> Checked<Value> {
    let fields = field.table(&parts.each_ref().map(|part| part.key))?;
    let mut numbers = [None; 2];
    for (part, number) in parts.iter().zip(&mut numbers) {
        let value = match (fields.optional(part.key), part.needed) {
            (Some(field), _) => parse(&part.values, &field, mss)?,
            (None, true) => return Err(fields.missing(part.key).allowed(part.values.allowed())),
            (None, false) => continue,
        };
        *number = value.number();
    }
    Ok(Value::Table(numbers))
}

const fn closed(low: f64, high: f64, unit: &'static str) -> Interval {
    Interval { low, high, open_low: false, open_high: false, unit }
}

/// TCPs that have a stack of this kind.
pub(super) fn has(tcp: Tcp) -> bool {
    stacks::rfc::STACK.tcps.contains(&tcp.name())
}

/// Whether a TCP needs ECN, which is then on by default.
pub(super) fn wants_ecn(tcp: Tcp) -> bool {
    matches!(tcp, Tcp::Dctcp | Tcp::Prague)
}

/// Whether data are ECN-capable.
pub(super) fn ecn(settings: &Settings) -> bool {
    settings.ecn.feedback != Feedbacks::None
}

/// The names of the TCPs that have a stack of this kind.
pub(super) fn names() -> String {
    quoted_list(stacks::rfc::STACK.tcps.iter().copied())
}

/// A value as a scenario has it.
pub(super) fn written(values: &Values, value: Value, mss: u32) -> Json {
    match value {
        Value::Flag(on) => on.into(),
        Value::Word(word) => word.into(),
        Value::Whole(number) => match values {
            Values::Window(most, ..) => {
                let (segments, rest) = (number / u64::from(mss), number % u64::from(mss));
                if rest == 0 && segments <= *most {
                    segments.into()
                } else {
                    format!("{number} B").into()
                }
            }
            _ => number.into(),
        },
        Value::Seconds(time) => format!("{time} s").into(),
        Value::Number(number) => number.into(),
        Value::Table(numbers) => {
            let Values::Table(_, _, parts) = values else { return Json::Null };
            let given = parts.iter().zip(numbers).filter_map(|(part, number)| Some((part, number?)));
            let written = given.map(|(Part { key, values, .. }, number)| {
                (key.to_string(), written(values, values.of_number(number), mss))
            });
            Json::Object(written.collect())
        }
    }
}

/// Everything but the name, segment and header, as it would be written in full.
pub(super) fn write(settings: &Settings, tcp: Tcp, map: &mut Map<String, Json>) {
    for key in ORDER {
        let Some(opt) = options::named(key).filter(|opt| opt.is_for(tcp.name())) else { continue };
        if let Some(value) = opt.get(settings) {
            map.insert(key.into(), written(&opt.values, value, settings.mss));
        }
        match key {
            "window" => drop(map.insert("ecn".into(), ecn(settings).into())),
            "prr" => write_rules(settings, tcp, map),
            _ => {}
        }
    }
    map.insert("fin".into(), settings.fin.into());
}

/// The rules that are not as the stack `rfc` has them for this TCP; nothing if all are.
fn write_rules(settings: &Settings, tcp: Tcp, map: &mut Map<String, Json>) {
    let plain = stacks::rfc::STACK.plain(tcp.name(), settings.mss, ecn(settings));
    let default = Settings {
        sack: settings.sack,
        recovery: RecoveryRules { ssthresh: settings.recovery.ssthresh, ..plain.recovery },
        ..plain
    };
    let other: Map<String, Json> = options::all()
        .filter(|opt| opt.place == Place::Rules && opt.get(settings) != opt.get(&default))
        .filter_map(|opt| Some((opt.key.to_string(), written(&opt.values, opt.get(settings)?, settings.mss))))
        .collect();
    if !other.is_empty() {
        map.insert("rules".into(), other.into());
    }
}

/// Options without effect, and what each would need. Those of its stack are left out.
pub(super) fn idle(settings: &Settings, tcp: Tcp, stack: Option<&'static Stack>) -> Vec<(&'static str, &'static str)> {
    let stack = stack.unwrap_or_else(|| stacks::nearest(settings, tcp.name()).0);
    let ecn = ecn(settings);
    let known = [stack, &stacks::rfc::STACK].map(|stack| stack.plain(tcp.name(), settings.mss, ecn));
    options::all()
        .filter(|opt| opt.is_for(tcp.name()) && known.iter().all(|plain| opt.get(plain) != opt.get(settings)))
        .filter_map(|opt| opt.lacks(settings).map(|need| (opt.key, need.says)))
        .collect()
}

/// The schema of an option, with its default.
fn form(opt: &'static Opt) -> Json {
    let plain = stacks::rfc::STACK.plain("ledbat", 1000, false);
    match opt.get(&plain) {
        Some(value) => with_default(form_of(&opt.values), written(&opt.values, value, plain.mss)),
        None => form_of(&opt.values),
    }
}

fn form_of(values: &'static Values) -> Json {
    let words = json!({ "enum": values.words() });
    let flag = json!({ "type": "boolean" });
    match values {
        Values::Flag(_) => flag,
        Values::Either(..) | Values::Words(..) => words,
        Values::WordsOrFlag(..) => json!({ "anyOf": [words, flag] }),
        Values::Switch(..) => json!({ "anyOf": [flag, words] }),
        Values::Whole(low, high, ..) => whole(*low, *high),
        Values::Seconds(..) => reference("time"),
        Values::Number(..) => json!({ "type": "number" }),
        Values::Wait(..) => json!({ "anyOf": [flag, reference("time")] }),
        Values::Window(segments, ..) => schemas::window(whole(1, *segments)),
        Values::Table(_, _, parts) => {
            let needed: Vec<&str> = parts.iter().filter(|part| part.needed).map(|part| part.key).collect();
            let forms: Map<String, Json> =
                parts.iter().map(|part| (part.key.to_string(), form_of(&part.values))).collect();
            json!({ "anyOf": [words, object(&needed, forms.into())] })
        }
    }
}

/// Adds the schemas of the options that have a key of their own, but those that ns-2's TCPs have too.
pub(super) fn schema(map: &mut Map<String, Json>) {
    for opt in options::all().filter(|opt| opt.place == Place::Entry && !is_ns2(opt.key)) {
        map.insert(opt.key.into(), about(form(opt), &format!("{} Profile rfc.", opt.about)));
    }
}

/// The schema of `rules`. Where a stack is named, any option may be there.
pub(super) fn rules_schema() -> Json {
    let of = |place: Place| options::all().filter(move |opt| opt.place == place);
    let mut rules = Map::new();
    for opt in of(Place::Rules) {
        rules.insert(opt.key.into(), about(form(opt), opt.about));
    }
    for opt in of(Place::Entry) {
        rules.insert(opt.key.into(), about(form(opt), &format!("{} With stack.", opt.about)));
    }
    object(&[], rules.into())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_key_of_an_entry_is_written() {
        let keys: Vec<&str> = ORDER.into_iter().chain(["fin"]).collect();
        for key in options::ENTRY_KEYS {
            assert!(keys.contains(key), "{key}");
        }
        assert_eq!(keys.len(), options::ENTRY_KEYS.len());
    }
}
