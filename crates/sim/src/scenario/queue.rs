//! `[queue.NAME]`: one discipline of the catalogue with its parameters, and the buffer.

use std::collections::BTreeSet;

use earlydrop_aqm::catalogue::AqmSpec;
use earlydrop_aqm::folded;
use earlydrop_aqm::markers::{self, MarkerSpec};
use earlydrop_aqm::params::{Kind, Param, ParamError, Text, Unit, Value, Values};
use earlydrop_aqm::parents;
use earlydrop_aqm::policy::Limit;
use earlydrop_aqm::Link;

use super::bounds;
use super::document::Doc;
use super::error::{quoted_list, ScenarioError};
use super::fields::{as_whole, join, whole_form, Checked, Field, Fields};
use super::model::{Marker, Parent, QueueSpec};
use super::nearest::suggestion;
use super::own::{Aqms, OwnAqm};
use super::tc;
use super::units::{self, QueueLength};
use super::values::RANDOM;

/// Keys of every queue; all others are parameters of its discipline.
pub(super) const COMMON: &[&str] = &["aqm", "limit", "ecn", "random", "marker"];
/// What a limit may look like.
pub(super) const LIMIT_FORM: &str =
    "packets, bytes or bandwidth-delay products, such as \"120 packets\", \"120p\", \"15 kB\" or \"2 bdp\"";

/// A queue, and the number of bandwidth-delay products of its limit, which are known only with the traffic.
pub(super) type Read = (QueueSpec, Option<f64>);

/// Reads a queue in front of each of `links`: a discipline, or a parent with a discipline as its child.
pub(super) fn read(field: &Field<'_>, links: &[Link], aqms: Aqms<'_>) -> Checked<Read> {
    let Some(doc) = field.doc.get("parent") else { return only(field, links, aqms) };
    let word = Field { doc, path: join(&field.path, "parent") }.word(parents::all().iter().map(|spec| spec.name))?;
    let Some(spec) = parents::find(word) else { return only(field, links, aqms) };
    let keys: Vec<_> = ["parent", "child"].into_iter().chain(spec.params.iter().map(|param| param.name)).collect();
    let fields = field.table(&keys)?;
    let bare = spec.params.iter().all(|param| fields.optional(param.name).is_some());
    let values = values_of(&fields, spec.params, bare)?;
    for link in links {
        (spec.check)(&values, link).map_err(|error| misfit(&fields.path, error))?;
    }
    let Some(child) = fields.optional("child") else {
        return Err(fields.missing("child").allowed("a table with the discipline of the child (aqm)"));
    };
    if child.doc.get("parent").is_some() {
        let path = join(&child.path, "parent");
        return Err(ScenarioError::new(path, "cannot be the child of another").allowed("a discipline (aqm)"));
    }
    let inside: Vec<Link> = links.iter().map(|link| spec.link(&values, link)).collect();
    let (queue, products) = only(&child, &inside, aqms)?;
    Ok((QueueSpec { parent: Some(Parent { spec, values }), ..queue }, products))
}

/// The values of those `params` that a table has.
fn values_of(fields: &Fields<'_>, params: &'static [Param], bare: bool) -> Checked<Values> {
    let mut values = Values::new();
    for (key, field) in fields.iter() {
        if let Some(param) = params.iter().find(|param| param.name == key) {
            values.set(param.name, value(param, &field, bare)?);
        }
    }
    Ok(values)
}

/// Reads a discipline.
fn only(field: &Field<'_>, links: &[Link], aqms: Aqms<'_>) -> Checked<Read> {
    let found = discipline(field, aqms)?;
    if let Some((spec, _)) = found {
        refuse_others_parameters(field, spec, aqms)?;
    }
    let fields = field.table(&known_keys(found.map(|(spec, _)| spec), aqms))?;
    let names = || aqms.all().map(|spec| spec.name);
    let (spec, own) = found.ok_or_else(|| fields.missing("aqm").allowed(quoted_list(names())))?;
    let bare = is_complete(&fields, spec);
    let mut values = Values::new();
    for (key, field) in fields.iter() {
        if let Some(param) = spec.param(key) {
            values.set(param.name, value(param, &field, bare)?);
        }
    }
    for link in links {
        (spec.check)(&values, link).map_err(|error| misfit(&fields.path, error))?;
    }
    let (limit, products) = match fields.optional("limit") {
        None => (default_limit(spec, &values, links), None),
        Some(field) => match products(&field)? {
            None => (limit(&field)?, None),
            Some(products) => (Limit::Bytes(1), Some(products)),
        },
    };
    let queue = QueueSpec {
        spec,
        own: own.map(str::to_string),
        values,
        limit,
        ecn: fields.optional("ecn").map_or(Ok(false), |field| field.flag())?,
        random: RANDOM.given(&fields)?,
        marker: fields.optional("marker").map(|field| marker(&field)).transpose()?,
        parent: None,
    };
    Ok((queue, products))
}

/// `[queue.NAME.marker]`: a traffic conditioner with its parameters.
fn marker(field: &Field<'_>) -> Checked<Marker> {
    let names = || markers::all().iter().map(|spec| spec.name);
    let found = match field.doc.get("kind") {
        Some(doc) => markers::find(Field { doc, path: join(&field.path, "kind") }.word(names())?),
        None => None,
    };
    let params = || found.into_iter().flat_map(|spec: &MarkerSpec| spec.all_params());
    let keys: Vec<_> = std::iter::once("kind").chain(params().map(|param| param.name)).collect();
    let Some(spec) = found else {
        // Without a kind, that is the error, whatever else is wrong.
        let Doc::Table(_) = field.doc else { return Err(field.wrong_type("a table with a kind")) };
        return Err(ScenarioError::new(join(&field.path, "kind"), "is missing").allowed(quoted_list(names())));
    };
    let fields = field.table(&keys)?;
    let bare = params().all(|param| fields.optional(param.name).is_some());
    let mut values = Values::new();
    for (key, field) in fields.iter() {
        if let Some(param) = spec.param(key) {
            values.set(param.name, value(param, &field, bare)?);
        }
    }
    (spec.check)(&values).map_err(|error| misfit(&fields.path, error))?;
    Ok(Marker { spec, values })
}

/// The discipline's own limit: the largest over the links.
fn default_limit(spec: &AqmSpec, values: &Values, links: &[Link]) -> Limit {
    let limits = links.iter().map(|link| spec.default_limit(values, link));
    let largest = limits.max_by_key(|limit| match limit {
        Limit::Packets(x) | Limit::Bytes(x) => *x,
    });
    match largest.unwrap_or(Limit::Packets(1)) {
        Limit::Packets(x) => Limit::Packets(x.min(bounds::LIMIT_PACKETS)),
        Limit::Bytes(x) => Limit::Bytes(x.min(bounds::LIMIT_BYTES)),
    }
}

/// The N of `"N bdp"`.
fn products(field: &Field<'_>) -> Checked<Option<f64>> {
    let Doc::String(text) = field.doc else { return Ok(None) };
    let Some(number) = text.trim_end().strip_suffix("bdp") else { return Ok(None) };
    match number.trim().parse::<f64>() {
        Ok(x) if bounds::PRODUCTS.contains(x) => Ok(Some(x)),
        Ok(_) => Err(field.error("is out of range").allowed(bounds::PRODUCTS.to_string())),
        Err(_) => Err(field.error("does not start with a number").allowed(LIMIT_FORM)),
    }
}

/// Removes the parameters of other disciplines from `queue.NAME`, or from a child (`NAME.child`), so that one scenario serves many disciplines.
///
/// Keys that no discipline knows stay, and the checker refuses them. Nothing happens if the queue or its discipline is
/// missing or unknown.
pub fn retain_known(doc: &mut Doc, queue: &str) {
    retain_known_with(doc, queue, &[], &[]);
}

/// [`retain_known`], with disciplines beside the catalogue's. `sets` are the paths that were set together with the
/// discipline: they were meant for it, and stay for the checker to refuse.
pub fn retain_known_with(doc: &mut Doc, queue: &str, own: &[OwnAqm], sets: &[&str]) {
    let aqms = Aqms { loaded: own, listed: None };
    let Some(queues) = doc.get_mut("queue") else { return };
    let table = match queue.strip_suffix(".child") {
        Some(parent) if queues.get(queue).is_none() => queues.get_mut(parent).and_then(|table| table.get_mut("child")),
        _ => queues.get_mut(queue),
    };
    let Some(table) = table else { return };
    let Some(Doc::String(name)) = table.get("aqm") else { return };
    let Some((spec, _)) = aqms.find(name) else { return };
    let Doc::Table(entries) = table else { return };
    let own = known_keys(Some(spec), aqms);
    let all = known_keys(None, aqms);
    let meant = |key: &str| sets.iter().any(|path| path.strip_suffix(key) == Some(&format!("queue.{queue}.")));
    entries.retain(|(key, _)| own.contains(&key.as_str()) || !all.contains(&key.as_str()) || meant(key));
}

fn discipline<'a>(field: &Field<'_>, aqms: Aqms<'a>) -> Checked<Option<(&'static AqmSpec, Option<&'a str>)>> {
    let Some(doc) = field.doc.get("aqm") else { return Ok(None) };
    if let Doc::String(name) = doc {
        if let Some(found) = aqms.find(name) {
            return Ok(Some(found));
        }
        let field = Field { doc, path: join(&field.path, "aqm") };
        if let Some(folded) = folded::meant(name) {
            let (name, of) = (folded.name, folded.of);
            let said = format!("is a setting of {of} (`earlydrop show {name}`); write {}", folded.setting());
            return Err(field.error(said));
        }
        let hint = tc::qdisc(name).map_or_else(|| suggestion(name, aqms.names(name)), Into::into);
        return Err(field.error(format!("is unknown{hint}")).allowed(quoted_list(aqms.names(name))));
    }
    let wrong = Field { doc, path: join(&field.path, "aqm") };
    Err(wrong.wrong_type(quoted_list(aqms.all().map(|spec| spec.name))))
}

/// All keys of a queue with this discipline, or with any.
fn known_keys(spec: Option<&'static AqmSpec>, aqms: Aqms<'_>) -> Vec<&'static str> {
    let mut keys = COMMON.to_vec();
    match spec {
        Some(spec) => keys.extend(spec.all_params().map(|param| param.name)),
        None => {
            let all: BTreeSet<_> = aqms.all().flat_map(|spec| spec.all_params()).map(|param| param.name).collect();
            keys.extend(all);
        }
    }
    keys
}

/// A key that is spelt right but belongs to another discipline, or to `tc`, gets a better message than "unknown".
fn refuse_others_parameters(field: &Field<'_>, spec: &'static AqmSpec, aqms: Aqms<'_>) -> Checked<()> {
    let Doc::Table(entries) = field.doc else { return Ok(()) };
    let own = known_keys(Some(spec), aqms);
    for (key, _) in entries.iter().filter(|(key, _)| !own.contains(&key.as_str())) {
        if let Some(hint) = tc::option(spec, key) {
            let message = format!("{} has no such parameter{hint}", spec.name);
            return Err(ScenarioError::new(join(&field.path, key), message).allowed(own.join(", ")));
        }
        if let Some(other) = aqms.all().find(|other| other.param(key).is_some()) {
            let message = format!("is no parameter of {}, but of {}", spec.name, other.name);
            return Err(ScenarioError::new(join(&field.path, key), message).allowed(own.join(", ")));
        }
    }
    Ok(())
}

/// The parameter of `spec` called `name`, given as `doc` at `path`: its name in the catalogue, and its value.
///
/// # Errors
/// If there is no parameter of that name, or it does not take the value.
pub(crate) fn parameter_of(
    spec: &'static AqmSpec,
    path: &str,
    name: &str,
    doc: &Doc,
) -> Checked<(&'static str, Value)> {
    let Some(param) = spec.param(name) else {
        let names: Vec<_> = spec.all_params().map(|param| param.name).collect();
        let hint = tc::option(spec, name).unwrap_or_else(|| suggestion(name, names.iter().copied()));
        return Err(
            ScenarioError::new(path, format!("{} has no such parameter{hint}", spec.name)).allowed(names.join(", "))
        );
    };
    Ok((param.name, value(param, &Field { doc, path: path.to_string() }, false)?))
}

/// Whether a table has every key, as a completed scenario has: then numbers without a unit are in base units.
fn is_complete(fields: &Fields<'_>, spec: &AqmSpec) -> bool {
    let infinite = |param: &&Param| matches!(param.default, Value::Real(x) if !x.is_finite());
    let names = spec.all_params().filter(|param| !infinite(param)).map(|param| param.name);
    names.chain(["limit", "ecn"]).all(|name| fields.optional(name).is_some())
}

/// A parameter's value: of the right type and unit, in range. `bare`: times and rates may be without a unit.
pub(super) fn value(param: &Param, field: &Field<'_>, bare: bool) -> Checked<Value> {
    if !bare {
        needs_unit(param, field)?;
    }
    let value = match (param.kind, field.doc) {
        (Kind::Choice(words), _) => Value::Choice(choice(words, field)?),
        // A text such as `rule=0.5` on a command line is read as a number.
        (Kind::Text, Doc::Integer(x)) => as_text(param, field, &x.to_string())?,
        (Kind::Text, Doc::Float(x)) if x.is_finite() => as_text(param, field, &x.to_string())?,
        (Kind::Text, Doc::String(text)) => as_text(param, field, text)?,
        (Kind::Real { auto: true, .. } | Kind::Flag { auto: true }, Doc::String(text)) if text == "auto" => Value::Auto,
        (Kind::Flag { .. }, Doc::Bool(flag)) => Value::Flag(*flag),
        (Kind::Whole { .. }, _) => Value::Whole(whole(param, field)?),
        (Kind::Real { .. }, Doc::Integer(x)) => Value::Real(*x as f64),
        (Kind::Real { .. }, Doc::Float(x)) if x.is_finite() => Value::Real(*x),
        (Kind::Real { .. }, Doc::String(text)) => from_text(param, field, text)?,
        _ => return Err(field.wrong_type(allowed(param))),
    };
    if param.allows(value) {
        Ok(value)
    } else {
        Err(field.error("is out of range").allowed(allowed(param)))
    }
}

/// Refuses a time or rate without a unit: 15 was hardly meant as 15 s. Zero needs no unit.
fn needs_unit(param: &Param, field: &Field<'_>) -> Checked<()> {
    let x = match field.doc {
        Doc::Integer(x) => *x as f64,
        Doc::Float(x) if x.is_finite() => *x,
        _ => return Ok(()),
    };
    let (units, usual): (&[_], f64) = match param.unit {
        Unit::Seconds => (&[("us", 1e-6), ("ms", 1e-3), ("s", 1.0)], 0.02),
        Unit::Rate => (&[("bit/s", 1.0), ("kbit/s", 1e3), ("Mbit/s", 1e6)], 10e6),
        Unit::None | Unit::QueueLength | Unit::Bytes => return Ok(()),
    };
    if x == 0.0 {
        return Ok(());
    }
    // The unit meant is probably that with which the value is nearest to the default.
    let usual = match param.default {
        Value::Real(default) if default > 0.0 && default.is_finite() => default,
        _ => usual,
    };
    let far = |factor: f64| libm::log(x * factor / usual).abs();
    let fitting = units.iter().filter(|(_, factor)| param.allows(Value::Real(x * factor)));
    let probable = fitting.min_by(|(_, one), (_, other)| far(*one).total_cmp(&far(*other)));
    let hint = probable.map_or(String::new(), |(unit, _)| format!("; did you mean \"{x} {unit}\"?"));
    Err(field.error(format!("has no unit{hint}")).allowed(allowed(param)))
}

/// The range of a parameter, with its unit.
fn allowed(param: &Param) -> String {
    let (unit, text) = match (param.kind, param.unit) {
        (Kind::Flag { .. } | Kind::Choice(_) | Kind::Text, _) | (_, Unit::None) => return param.range(),
        (_, Unit::QueueLength) => ("packets", "a size such as \"15 kB\""),
        (_, Unit::Bytes) => ("bytes", "a size such as \"1 kB\""),
        (_, Unit::Seconds) => return format!("a time such as \"20 ms\", in seconds {}", param.range()),
        (_, Unit::Rate) => return format!("a rate such as \"10 Mbit/s\", in bit/s {}", param.range()),
    };
    format!("{unit}: {}; or {text}", param.range())
}

fn choice(words: &'static [&'static str], field: &Field<'_>) -> Checked<&'static str> {
    field.word(words.iter().copied())
}

fn whole(param: &Param, field: &Field<'_>) -> Checked<i64> {
    let x = match field.doc {
        Doc::Integer(x) => return Ok(*x),
        Doc::Float(x) if x.is_finite() => *x,
        Doc::String(text) => match from_text(param, field, text)? {
            Value::Real(x) => x,
            _ => return Err(field.wrong_type(allowed(param))),
        },
        _ => return Err(field.wrong_type(allowed(param))),
    };
    as_whole(x).ok_or_else(|| field.error("is not a whole number").allowed(allowed(param)))
}

fn as_text(param: &Param, field: &Field<'_>, text: &str) -> Checked<Value> {
    Text::read(text).map(Value::Text).map_err(|complaint| field.error(complaint).allowed(param.range()))
}

/// A text with a unit, in the parameter's own unit.
fn from_text(param: &Param, field: &Field<'_>, text: &str) -> Checked<Value> {
    let read = match param.unit {
        Unit::None => {
            return Err(field.error(format!("cannot be a text{}", bare_hint(param, text))).allowed(allowed(param)))
        }
        Unit::Seconds => units::time(text).map(Value::Real),
        Unit::Rate => units::rate(text).map(Value::Real),
        Unit::Bytes => units::size(text).map(Value::Real),
        Unit::QueueLength => units::queue_length(text).map(|length| match length {
            QueueLength::Packets(x) => Value::Real(x),
            QueueLength::Bytes(x) => Value::QueueBytes(x),
        }),
    };
    read.map_err(|complaint| field.error(complaint).allowed(allowed(param)))
}

fn bare_hint(param: &Param, text: &str) -> String {
    match param.kind {
        _ if text.trim().parse::<f64>().is_ok() => "; write the number without quotes".to_string(),
        Kind::Real { auto: true, .. } => suggestion(text, ["auto"]),
        _ => String::new(),
    }
}

pub(super) fn misfit(path: &str, error: ParamError) -> ScenarioError {
    ScenarioError::new(join(path, error.name), "does not fit").given(error.given).allowed(error.allowed)
}

fn limit(field: &Field<'_>) -> Checked<Limit> {
    let length = match field.doc {
        Doc::String(text) => {
            units::queue_length(text).map_err(|complaint| field.error(complaint).allowed(LIMIT_FORM))?
        }
        Doc::Integer(x) => QueueLength::Packets(*x as f64),
        Doc::Float(x) if x.is_finite() => QueueLength::Packets(*x),
        _ => return Err(field.wrong_type(LIMIT_FORM)),
    };
    let (x, most) = match length {
        QueueLength::Packets(x) => (x, bounds::LIMIT_PACKETS),
        QueueLength::Bytes(x) => (x, bounds::LIMIT_BYTES),
    };
    if x.fract() != 0.0 {
        return Err(field.error("is not a whole number").allowed(LIMIT_FORM));
    }
    if !(1.0..=most as f64).contains(&x) {
        return Err(field.error("is out of range").allowed(whole_form(1, most)));
    }
    Ok(match length {
        QueueLength::Packets(_) => Limit::Packets(x as u64),
        QueueLength::Bytes(_) => Limit::Bytes(x as u64),
    })
}

#[cfg(test)]
mod tests {
    use crate::result::document;
    use crate::run::{run, Events, Links};
    use crate::scenario::{check, Doc, Scenario};

    /// One scenario's flows at a queue of these tables.
    fn at_queue(tables: &str) -> Result<Scenario, String> {
        let head = "[queue.bottleneck]\naqm = \"rio\"\n";
        let text = text("").replace("            ", "").replace(head, tables);
        let doc = Doc::from_toml(&text, None).map_err(|error| error.to_string())?;
        check(&doc, None).map_err(|error| error.to_string())
    }

    fn queue_of(scenario: &Scenario, links: Links, events: Events) -> serde_json::Value {
        let outcome = run(scenario, 1, links, events).unwrap();
        document(scenario, 1, &outcome, 0.0)["queues"]["bottleneck"].clone()
    }

    const TBF: &str = "[queue.bottleneck]\nparent = \"tbf\"\nrate = \"1 Mbit/s\"\nburst = \"3 kB\"\n";

    #[test]
    fn a_parent_shapes_its_child_and_both_are_counted() {
        let scenario =
            at_queue(&format!("{TBF}[queue.bottleneck.child]\naqm = \"codel\"\nlimit = \"1 bdp\"\n")).unwrap_err();
        assert!(scenario.starts_with("queue.bottleneck.child.limit: has no round-trip time"), "{scenario}");
        let child = "[queue.bottleneck.child]\naqm = \"pie\"\nlimit = \"50 packets\"\n";
        let scenario = at_queue(&format!("{TBF}{child}")).unwrap();
        let json = scenario.to_json();
        assert_eq!(json["queue"]["bottleneck"]["child"]["limit"], "50 packets");
        assert_eq!(json["queue"]["bottleneck"]["burst"], 3000);
        assert_eq!(check(&Doc::from_json(&json).unwrap(), None).unwrap().to_json(), json);
        let queue = queue_of(&scenario, Links::Auto, Events::Lanes);
        assert_eq!(queue, queue_of(&scenario, Links::Auto, Events::Heap));
        assert_eq!(queue["aqm"], "pie");
        // 20 s of 1 Mbit/s, and a burst, in packets that count 14 bytes more.
        let sent = queue["departed_bytes"].as_f64().expect("bytes");
        assert!((sent - 2.5e6 * 1000.0 / 1014.0).abs() <= 3000.0, "{sent}");
        let number = |of: &serde_json::Value| of.as_f64().expect("a number");
        let parent = |name: &str| number(&queue["parent"][name]);
        assert_eq!([parent("sent_bytes"), parent("sent_packets")], [sent, number(&queue["departures"])]);
        let drops = ["early_drops", "forced_drops", "overflow_drops"].map(|reason| number(&queue[reason]));
        assert_eq!((parent("child_drops"), parent("too_large")), (drops.iter().sum(), 0.0));
        assert!(parent("overlimits") > 2000.0 && drops[0] > 100.0);
    }

    /// Two flows of 2 Mbit/s at 3 Mbit/s, each held to 0.5 Mbit/s: arrivals of one flow need not wait for the other.
    #[test]
    fn flows_that_are_paced_share_a_link_that_is_not_full() {
        let paced = "[queue.bottleneck]\naqm = \"fq_pacing\"\nmaxrate = \"500 kbit/s\"\n";
        let scenario = at_queue(paced).unwrap();
        let queue = queue_of(&scenario, Links::Auto, Events::Lanes);
        assert_eq!(queue, queue_of(&scenario, Links::Auto, Events::Heap));
        let rate = queue["throughput_mbps"].as_f64().unwrap();
        assert!((rate - 1000.0 / 1014.0).abs() < 0.01, "{rate}");
    }

    #[test]
    fn errors_of_a_parent_name_their_place() {
        let child = "[queue.bottleneck.child]\naqm = \"codel\"\n";
        for (tables, parts) in [
            (TBF.to_string(), ["queue.bottleneck.child", "is missing", "aqm"]),
            (TBF.replace("tbf", "tbff") + child, ["queue.bottleneck.parent", "did you mean \"tbf\"", ""]),
            (format!("{TBF}{child}target = 3\n"), ["queue.bottleneck.child.target", "has no unit", "\"3 ms\""]),
            (format!("{TBF}{child}alpha = 3\n"), ["queue.bottleneck.child.alpha", "is no parameter of codel", ""]),
            (format!("{TBF}target = \"5 ms\"\n{child}"), ["queue.bottleneck.target", "unknown key", "peakrate"]),
            (format!("{TBF}aqm = \"red\"\n{child}"), ["queue.bottleneck.aqm", "unknown key", "child"]),
            (format!("{TBF}peakrate = \"1 Mbit/s\"\n{child}"), ["queue.bottleneck.peakrate", "1000000", "above rate"]),
            (TBF.replace("3 kB", "900 B") + child, ["queue.bottleneck.burst", "900 B", "at least 1014 B"]),
            (TBF.replace("1 Mbit/s", "9") + child, ["queue.bottleneck.rate", "no unit", ""]),
            (
                "[queue.bottleneck]\nparent = \"htb\"\nclasses = 2\nrate_2 = \"1 Mbit/s\"\n".to_string() + child,
                ["queue.bottleneck.rate_2", "does not fit", "classes below 2"],
            ),
            (
                format!("{TBF}[queue.bottleneck.child]\nparent = \"tbf\"\n"),
                ["queue.bottleneck.child.parent", "cannot be the child", "aqm"],
            ),
            ("[queue.bottleneck]\naqm = \"red\"\nchild = {}\n".into(), ["queue.bottleneck.child", "unknown key", ""]),
        ] {
            let said = at_queue(&tables).expect_err("an error");
            assert!(parts.iter().all(|part| said.contains(part)), "{tables}: {said}");
        }
    }

    #[test]
    fn a_child_takes_its_parents_rate_for_the_links() {
        let child = "[queue.bottleneck.child]\naqm = \"ared\"\nmean_packet = \"100 B\"\n";
        let slow = at_queue(&format!("{TBF}{child}")).unwrap().queues[0].spec.limit;
        let fast = at_queue(&format!("{}{child}", TBF.replace("1 Mbit/s", "9 Mbit/s"))).unwrap().queues[0].spec.limit;
        let alone = at_queue(&child.replace(".child", "")).unwrap().queues[0].spec.limit;
        assert_eq!(fast, alone, "3 Mbit/s are the link's");
        assert_ne!(slow, alone);
    }

    /// A scenario of two UDP flows of 2 Mbit/s each over 3 Mbit/s, with this marker in front of its queue.
    fn scenario(marker: &str) -> Result<Scenario, String> {
        let doc = Doc::from_toml(&text(marker), None).map_err(|error| error.to_string())?;
        check(&doc, None).map_err(|error| error.to_string())
    }

    fn text(marker: &str) -> String {
        format!(
            r#"
            name = "marked"
            duration = "20 s"
            [topology]
            kind = "dumbbell"
            pairs = 2
            access = {{ rate = "100 Mbit/s", delay = "1 ms" }}
            bottleneck = {{ rate = "3 Mbit/s", delay = "10 ms" }}
            [queue.bottleneck]
            aqm = "rio"
            {marker}
            [[traffic]]
            kind = "cbr"
            count = 2
            rate = "2 Mbit/s"
            "#
        )
    }

    #[test]
    fn a_policer_that_no_packet_passes_is_refused() {
        let found = scenario(r#"marker = { kind = "token_bucket", cbs = "100 B", police = true }"#).unwrap_err();
        assert!(found.contains("queue.bottleneck.marker: drops every packet of this scenario"), "{found}");
        assert!(scenario(r#"marker = { kind = "token_bucket", cbs = "100 B" }"#).is_ok());
        assert!(scenario(r#"marker = { kind = "token_bucket", police = true }"#).is_ok());
    }

    #[test]
    fn a_marker_is_read_checked_and_written() {
        let marked = scenario(r#"marker = { kind = "trtcm", cir = "1 Mbit/s", cbs = "10 kB", green = 7 }"#).unwrap();
        let marker = marked.queues[0].spec.marker.as_ref().expect("a marker");
        assert_eq!(marker.spec.name, "trtcm");
        let json = marked.to_json();
        assert_eq!(json["queue"]["bottleneck"]["marker"]["green"], 7);
        assert_eq!(json["queue"]["bottleneck"]["marker"]["pir"], 2e6);
        let again = check(&Doc::from_json(&json).unwrap(), None).unwrap();
        assert_eq!(again.to_json(), json, "a completed scenario is the same one");
        let error = |marker| scenario(marker).expect_err("an error");
        for (marker, parts) in [
            ("marker = {}", ["queue.bottleneck.marker.kind", "is missing", "tsw3cm"]),
            (r#"marker = { kind = "srtcn" }"#, ["queue.bottleneck.marker.kind", "srtcn", "srtcm"]),
            (r#"marker = { kind = "srtcm", pir = "1 Mbit/s" }"#, ["queue.bottleneck.marker.pir", "pir", "cir"]),
            (r#"marker = { kind = "srtcm", cir = 5 }"#, ["queue.bottleneck.marker.cir", "no unit", "bit/s"]),
            (
                r#"marker = { kind = "trtcm", pir = "1 kbit/s" }"#,
                ["queue.bottleneck.marker.pir", "1000", "at least cir"],
            ),
            (r#"marker = "srtcm""#, ["queue.bottleneck.marker", "", ""]),
        ] {
            let said = error(marker);
            assert!(parts.iter().all(|part| said.contains(part)), "{marker}: {said}");
        }
    }

    /// RIO behind a profile of 1 Mbit/s for each flow: fewer drops than with every packet Out, and a repeatable run.
    #[test]
    fn rio_behind_a_marker_drops_out_packets() {
        let drops = |marker: &str| {
            let scenario = scenario(marker).unwrap();
            let outcome = run(&scenario, 1, Links::Auto, Events::Lanes).unwrap();
            document(&scenario, 1, &outcome, 0.0)["queues"]["bottleneck"].to_string()
        };
        let marked = r#"marker = { kind = "srtcm", cir = "1 Mbit/s" }"#;
        assert_eq!(drops(marked), drops(marked));
        assert_ne!(drops(marked), drops(""));
    }
}
