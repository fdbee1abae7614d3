//! TCP stacks other than ns-2's: their options as keys of the table `rules` of a traffic entry, read, written and
//! described from the one table ([`earlydrop_net::tcp::stacks::options`]).

use serde_json::{json, Map, Value as Json};

use super::super::bounds::{NUMBERS, SIZES, TIMES};
use super::super::document::Doc;
use super::super::error::{quoted_list, ScenarioError};
use super::super::fields::{join, Checked, Field, Fields, Interval};
use super::super::keys;
use super::super::model::Tcp;
use super::super::schemas::{self, about, object, reference, whole, with_default};
use super::model::TcpSpec;
use super::ns2;
use earlydrop_net::tcp::rfc::{Feedbacks, Settings};
use earlydrop_net::tcp::stacks::options::{self, Opt, Part, Value, Values};
use earlydrop_net::tcp::stacks::{self, Stack};

/// Options of time stamps in every segment, bytes (RFC 7323, appendix A).
pub(super) const STAMPS: u32 = earlydrop_net::tcp::rfc::STAMP_BYTES as u32;
/// The only option that stands in the entry itself.
const WINDOW: &str = "window";

/// The error for a key that ns-2's TCPs do not have.
pub(super) fn not_in_ns2(field: &Field<'_>) -> ScenarioError {
    let (ns2, rfc) = (stacks::ns2_2_35::STACK.name, stacks::rfc::STACK.name);
    field.error(format!("is no option of stack = {ns2:?}")).allowed(format!("no such key, or stack = {rfc:?}"))
}

/// The table `rules`, with options that the stack has.
pub(super) fn rules<'a>(fields: &Fields<'a>, stack: &Stack) -> Checked<Fields<'a>> {
    static NONE: Doc = Doc::Table(Vec::new());
    let field = fields.optional("rules").unwrap_or(Field { doc: &NONE, path: String::new() });
    let rfc: Vec<&str> = options::all().map(|opt| opt.key).filter(|key| *key != WINDOW).collect();
    let ns2: Vec<&str> = keys::names(ns2::OPTIONS).collect();
    let (known, others) = if stack.is_ns2 { (ns2, rfc) } else { (rfc, ns2) };
    let given = |key: &str| Some(Field { doc: field.doc.get(key)?, path: join(&field.path, key) });
    if let Some(window) = given(WINDOW) {
        return Err(window.error(format!("stands in the entry; write {WINDOW} there")));
    }
    if let Some(other) = others.into_iter().filter(|key| !known.contains(key)).find_map(given) {
        let of_ns2 =
            || other.error(format!("is for stack = {:?}", stacks::ns2_2_35::STACK.name)).allowed("no such key");
        return Err(if stack.is_ns2 { not_in_ns2(&other) } else { of_ns2() });
    }
    field.table(&known)
}

/// The settings of `tcp` with segments of `mss` bytes of payload. Options without effect are refused.
pub(super) fn read(fields: &Fields<'_>, stack: &'static Stack, tcp: Tcp, mss: u32, ecn: bool) -> Checked<Settings> {
    let rules = rules(fields, stack)?;
    for opt in options::all().filter(|opt| !opt.is_for(tcp.name())) {
        if let Some(field) = rules.optional(opt.key) {
            let names = quoted_list(opt.controls.iter().copied());
            return Err(field.error(format!("is for tcp = {names}")).allowed("no such key"));
        }
    }
    stack.settings(tcp.name(), mss, ecn, |opt, so_far| {
        let table = if opt.key == WINDOW { fields } else { &rules };
        let Some(field) = table.optional(opt.key) else { return Ok(None) };
        let value = parse(&opt.values, &field, mss)?;
        refuse_contradictions(opt, &field, value, tcp)?;
        if let Some(need) = opt.lacks(so_far).filter(|_| opt.get(so_far) != Some(value)) {
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

/// Whether a TCP needs ECN, which is then on by default.
pub(super) fn wants_ecn(tcp: Tcp) -> bool {
    matches!(tcp, Tcp::Dctcp | Tcp::Prague)
}

/// Whether data are ECN-capable with these settings.
pub(super) fn ecn(settings: &Settings) -> bool {
    settings.ecn.feedback != Feedbacks::None
}

impl TcpSpec {
    /// Whether the data of this TCP are ECN-capable.
    pub fn sends_ecn(&self) -> bool {
        self.options.rfc.as_ref().map_or(self.options.ecn, |settings| ecn(settings))
    }

    /// Whether the data of this TCP are for the L queue of a coupled pair (RFC 9331).
    pub fn is_scalable(&self) -> bool {
        wants_ecn(self.tcp)
    }
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

/// All options but the window, in the table's order, by their values.
pub(super) fn write(settings: &Settings, tcp: Tcp) -> Map<String, Json> {
    options::all()
        .filter(|opt| opt.is_for(tcp.name()) && opt.key != WINDOW)
        .filter_map(|opt| Some((opt.key.to_string(), written(&opt.values, opt.get(settings)?, settings.mss))))
        .collect()
}

/// The window, as a scenario has it.
pub(super) fn window(settings: &Settings) -> Json {
    let opt = options::named(WINDOW).and_then(|opt| Some(written(&opt.values, opt.get(settings)?, settings.mss)));
    opt.unwrap_or_default()
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

/// The schema of `rules`.
pub(super) fn rules_schema() -> Json {
    let options = options::all().filter(|opt| opt.key != WINDOW);
    let mut rules: Map<String, Json> = options.map(|opt| (opt.key.into(), about(form(opt), opt.about))).collect();
    keys::properties(&[&ns2::CLOCK_PHASE], &mut rules);
    object(&[], rules.into())
}
