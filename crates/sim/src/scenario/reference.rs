//! The keys of topologies and of traffic, and the parameters of disciplines, as plain values, for documentation and for
//! listings.

use earlydrop_aqm::catalogue::AqmSpec;
use earlydrop_aqm::folded::{self, Folded};
use earlydrop_aqm::markers::{self, MarkerSpec};
use earlydrop_aqm::params::Value;
use earlydrop_aqm::parents::{self, ParentSpec};
use serde_json::{json, Map, Value as Json};

use super::ends::ENDS;
use super::keys::{docs, Rows};
use super::link::{self, DELAYS, DRAWN_DELAY};
use super::parameters::reference as parameter;
use super::{tc, topology, traffic};

/// Kinds of topologies (`topologies`) and of traffic (`traffic`): `name`, `title`, `about`, `keys`, and of traffic
/// `over_tcp`. Then the keys of other tables: `links` (of hosts), `node`, `link` (`[[link]]`), `entry` (every
/// `[[traffic]]`), `tcp`, and `ns2` (`rules` of ns-2's TCPs). A key has `key`, `type`, `default` (a value, or null), `otherwise` (words in its place),
/// `allowed` and `about`.
pub fn reference() -> Json {
    let kind = |name: &str, title: &str, about: &str, keys: Rows| json!({ "name": name, "title": title, "about": about, "keys": docs(keys) });
    let topologies = topology::KINDS.iter().map(|one| kind(one.name, one.title, one.about, one.keys));
    let traffic = traffic::KINDS.iter().map(|one| {
        let mut entry = kind(one.name, one.title, one.about, one.keys);
        entry["over_tcp"] = one.over_tcp.into();
        entry
    });
    json!({
        "topologies": topologies.collect::<Vec<_>>(),
        "traffic": traffic.collect::<Vec<_>>(),
        "links": docs(&link::rows(&DELAYS)),
        "node": docs(topology::NODE),
        "link": docs(&[topology::JOINS, &link::rows(&DRAWN_DELAY)].concat()),
        "entry": docs(&[traffic::common::keys(true), ENDS].concat()),
        "tcp": docs(traffic::TCP[0]),
        "ns2": docs(traffic::TCP[1]),
    })
}

/// A discipline of the catalogue with its parameters: `name`, `title`, `family`, `year`, `summary`, `source`, `doc`,
/// `limit`, `parameters`, and Linux `tc`'s other names for it (`tc_names`) and its parameters (`tc_options`). A
/// parameter has `name`, `symbol`, `unit`, `kind`, `range`, `choices`, `default`, `source` and `doc`.
pub fn discipline(spec: &AqmSpec) -> Json {
    let (names, options) = tc::of(spec);
    json!({
        "name": spec.name,
        "title": spec.title,
        "family": spec.family,
        "year": spec.year,
        "summary": spec.summary,
        "source": spec.source,
        "doc": spec.documentation(),
        "limit": { "default": spec.limit.text(), "source": spec.limit.source() },
        "parameters": spec.all_params().map(parameter).collect::<Vec<_>>(),
        "tc_names": names,
        "tc_options": options,
    })
}

/// The schemes that are a setting of a discipline: `name`, `title`, `year`, `summary`, `of` (the discipline), `values`
/// (its parameters) and `setting`, what a scenario's queue has to say.
pub fn folded() -> Json {
    let value = |value: &Value| match value {
        Value::Real(x) => Json::from(*x),
        value => Json::from(value.to_string()),
    };
    let one = |one: &Folded| {
        json!({
            "name": one.name,
            "title": one.title,
            "year": one.year,
            "summary": one.summary,
            "of": one.of,
            "values": one.values.iter().map(|(name, of)| (name.to_string(), value(of))).collect::<Map<_, _>>(),
            "setting": one.setting(),
        })
    };
    folded::ALL.iter().map(one).collect()
}

/// The traffic conditioners: `markers`, each with `name`, `title`, `year`, `summary`, `source` and `parameters` as of
/// [`discipline`], and `doc`, their rules.
pub fn markers() -> Json {
    let marker = |spec: &MarkerSpec| {
        json!({
            "name": spec.name,
            "title": spec.title,
            "year": spec.year,
            "summary": spec.summary,
            "source": spec.source,
            "parameters": spec.all_params().map(parameter).collect::<Vec<_>>(),
        })
    };
    json!({ "markers": markers::all().iter().map(marker).collect::<Vec<_>>(), "doc": markers::documentation() })
}

/// The parents, as [`markers()`]: `parents` and `doc`.
pub fn parents() -> Json {
    let parent = |spec: &ParentSpec| {
        json!({
            "name": spec.name,
            "title": spec.title,
            "year": spec.year,
            "summary": spec.summary,
            "source": spec.source,
            "parameters": spec.params.iter().map(parameter).collect::<Vec<_>>(),
        })
    };
    json!({ "parents": parents::all().iter().map(parent).collect::<Vec<_>>(), "doc": parents::documentation() })
}
