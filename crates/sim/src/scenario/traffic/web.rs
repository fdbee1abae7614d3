//! `kind = "web"`: a crowd whose sessions are a Poisson process, over a pool of TCP connections.

use earlydrop_net::source::Distribution;
use serde_json::{json, Map, Value as Json};

use super::super::bounds::{self, TIMES};
use super::super::fields::{Checked, Fields, Interval};
use super::super::forms::{about, reference, with_default};
use super::distribution::{self, COUNT, SIZE, TIME};
use super::kind::Kind;
use super::model::{Load, Web};
use super::tcp;
use super::transfers::{completion, completion_schema};

pub(super) const KIND: Kind = Kind {
    name: "web",
    keys: &[
        tcp::KEYS,
        tcp::OPTIONS,
        &["session_gap", "pages", "page_gap", "objects", "object_gap", "size", "completion"],
    ],
    required: &["session_gap"],
    flow_a_pair: true,
    read,
    schema,
};

/// What people are like when nothing else is said: ns-2's example of a web crowd in structure and sizes (12 packets in the
/// mean, Pareto), pages and their gaps our own.
fn default_of(key: &str, segment: u32) -> Distribution {
    match key {
        "pages" => Distribution::Geometric { mean: 5.0 },
        "page_gap" => Distribution::Exponential { mean: 1.0 },
        "objects" => Distribution::Geometric { mean: 4.0 },
        "object_gap" => Distribution::Exponential { mean: 0.05 },
        _ => Distribution::Pareto { mean: 12.0 * f64::from(segment), shape: 1.2, max: f64::INFINITY },
    }
}

fn read(fields: &Fields<'_>) -> Checked<Load> {
    let tcp = tcp::read(fields)?;
    let segment = tcp.segment;
    let gap = fields.required("session_gap", "a time such as \"500 ms\"")?;
    let count = |key: &str| distribution::read_or(fields, key, &COUNT, bounds::THINGS, default_of(key, segment));
    let time = |key: &str| distribution::read_or(fields, key, &TIME, bounds::START, default_of(key, segment));
    Ok(Load::Web(Web {
        session_gap: gap.measure(&TIMES, Interval { low: 1e-6, ..bounds::START })?,
        pages: count("pages")?,
        page_gap: time("page_gap")?,
        objects: count("objects")?,
        object_gap: time("object_gap")?,
        size: match fields.optional("size") {
            Some(_) => distribution::size_in_packets(fields, "size", segment)?,
            None => default_of("size", segment),
        },
        completion: completion(fields)?,
        tcp,
    }))
}

pub(super) fn write(load: &Web, map: &mut Map<String, Json>) {
    tcp::write(&load.tcp, map);
    map.insert("session_gap".into(), format!("{} s", load.session_gap).into());
    map.insert("pages".into(), distribution::write(&load.pages, &COUNT));
    map.insert("page_gap".into(), distribution::write(&load.page_gap, &TIME));
    map.insert("objects".into(), distribution::write(&load.objects, &COUNT));
    map.insert("object_gap".into(), distribution::write(&load.object_gap, &TIME));
    map.insert("size".into(), distribution::write(&load.size, &SIZE));
    map.insert("completion".into(), load.completion.name().into());
}

fn schema() -> Map<String, Json> {
    let mut map = Map::new();
    tcp::schema(&mut map);
    map.insert("session_gap".into(), about(reference("time"), "Mean time from session to session."));
    let mut add = |key: &str, value: Json, table: &str, of, what: &str| {
        let default = distribution::write(&default_of(key, super::packets::DEFAULT_SEGMENT), of);
        let forms = json!({ "anyOf": [value, reference(table)] });
        map.insert(key.into(), about(with_default(forms, default), what));
    };
    let number = || json!({ "type": "number", "minimum": bounds::THINGS.low });
    add("pages", number(), "number_distribution", &COUNT, "Pages of a session.");
    add("page_gap", reference("time"), "time_distribution", &TIME, "From page to page.");
    add("objects", number(), "number_distribution", &COUNT, "Objects of a page.");
    add("object_gap", reference("time"), "time_distribution", &TIME, "From object to object.");
    add("size", reference("queue_length"), "size_distribution", &SIZE, "Size of an object.");
    map.insert("completion".into(), completion_schema());
    map
}
