//! `[[traffic]]`: who sends what. One file a kind; what kinds have in common stands here.

use std::collections::BTreeSet;
use std::path::Path;

use serde_json::{Map, Value as Json};

use super::bounds;
use super::document::Doc;
use super::ends::{with_ends, Ends};
use super::error::ScenarioError;
use super::fields::{Checked, Field, Fields};
use super::model::{InjectedRandom, Topology};
use super::values::name;
use crate::topology::Pairs;
use earlydrop_net::TtlOption;

mod cbr;
mod distribution;
mod ftp;
mod kind;
mod model;
mod onoff;
mod packets;
mod pages;
mod poisson;
mod requests;
mod rfc;
pub mod stacks;
mod starts;
mod tcp;
mod transfers;
mod video;
mod voip;
mod web;

use kind::whole_or;
pub(super) use kind::Kind;
pub use model::{
    Cbr, Completion, Connection, Direction, Ftp, Law, Load, OnOff, Packets, Pages, Poisson, Requests, Starts, TcpSpec,
    Traffic, Transfers, Video, Voip, Web,
};

/// All kinds, in the order in which people see them.
pub(super) const KINDS: &[&Kind] = &[
    &ftp::KIND,
    &transfers::KIND,
    &requests::KIND,
    &web::KIND,
    &pages::KIND,
    &cbr::KIND,
    &onoff::KIND,
    &poisson::KIND,
    &voip::KIND,
    &video::KIND,
];
/// Reads all traffic.
pub(super) fn read(field: &Field<'_>, topology: &Topology, folder: Option<&Path>) -> Checked<Vec<Traffic>> {
    if let Doc::Table(_) = field.doc {
        return Err(field.error("is a single table").allowed("a list of tables; write [[traffic]]"));
    }
    let mut names = BTreeSet::new();
    let mut flows = 0;
    let mut traffic = Vec::new();
    for entry in field.items("one or more tables [[traffic]]")? {
        let one = self::entry(&entry, topology, folder)?;
        flows += one.flows();
        if flows > bounds::FLOWS {
            return Err(ScenarioError::new(entry.path, "makes too many flows")
                .given(format!("{flows} flows so far"))
                .allowed(format!("{} flows in all", bounds::FLOWS)));
        }
        if let Some(name) = one.name.as_deref().filter(|name| !names.insert(name.to_string())) {
            return Err(ScenarioError::new(format!("{}.name", entry.path), "is the name of another entry too")
                .given(format!("{name:?}"))
                .allowed("a name of its own for each entry, or none"));
        }
        traffic.push(one);
    }
    Ok(traffic)
}

fn entry(field: &Field<'_>, topology: &Topology, folder: Option<&Path>) -> Checked<Traffic> {
    let doc = distribution::with_files_in(field.doc, folder);
    let field = &Field { doc: &doc, path: field.path.clone() };
    let named = |kind: &&&Kind| matches!(field.doc.get("kind"), Some(Doc::String(word)) if word == kind.name);
    // Keys are checked by the kind; one that is missing or wrong is told before any other fault.
    let kind: &Kind = match KINDS.iter().find(named) {
        Some(kind) => kind,
        None => {
            let all: BTreeSet<&str> = KINDS.iter().flat_map(|kind| kind.all_keys()).collect();
            let fields = field.table(&with_ends(&all.into_iter().collect::<Vec<_>>()))?;
            let wanted = super::error::quoted_list(KINDS.iter().map(|kind| kind.name));
            let found = fields.required("kind", wanted)?.word(KINDS.iter().map(|kind| kind.name))?;
            KINDS.iter().find(|kind| kind.name == found).unwrap_or(&KINDS[0])
        }
    };
    let fields = field.table(&with_ends(&kind.all_keys()))?;
    let load = (kind.read)(&fields)?;
    let random = random(&fields, kind)?;
    let default = if kind.flow_a_pair { topology.pairs() } else { 1 };
    Ok(Traffic {
        name: fields.optional("name").map(|field| name(&field)).transpose()?,
        count: whole_or(&fields, "count", 1, bounds::COUNT, default)?,
        start: starts::read(&fields)?,
        class: whole_or(&fields, "class", 0, bounds::CLASS, 0)? as u8,
        direction: direction(&fields, topology)?,
        pairs: pairs(&fields, topology)?,
        random,
        load,
    })
}

/// The entry in full, as it would be written.
pub(super) fn write(traffic: &Traffic, ends: &Ends) -> Json {
    let mut map = Map::new();
    map.insert("kind".into(), traffic.kind().into());
    if let Some(name) = &traffic.name {
        map.insert("name".into(), name.as_str().into());
    }
    map.insert("count".into(), traffic.count.into());
    match &traffic.load {
        Load::Ftp(load) => ftp::write(load, &mut map),
        Load::Transfers(load) => transfers::write(load, &mut map),
        Load::Requests(load) => requests::write(load, &mut map),
        Load::Web(load) => web::write(load, &mut map),
        Load::Pages(load) => pages::write(load, &mut map),
        Load::Cbr(load) => cbr::write(load, &mut map),
        Load::OnOff(load) => onoff::write(load, &mut map),
        Load::Poisson(load) => poisson::write(load, &mut map),
        Load::Voip(load) => voip::write(load, &mut map),
        Load::Video(load) => video::write(load, &mut map),
    }
    map.insert("start".into(), starts::write(&traffic.start));
    if traffic.class != 0 {
        map.insert("class".into(), traffic.class.into());
    }
    if let Some(random) = traffic.random {
        map.insert("random".into(), super::values::random_json(random));
    }
    if traffic.direction != Direction::Forward {
        map.insert("direction".into(), traffic.direction.name().into());
    }
    if let Some(pairs) = &traffic.pairs {
        map.insert("pairs".into(), pairs.iter().map(|pair| pair + 1).collect());
    }
    if let Some((from, to)) = &ends.between {
        map.insert("from".into(), from.as_slice().into());
        map.insert("to".into(), to.as_slice().into());
    }
    map.insert("ttl".into(), ends.ttl.into());
    let told = match ends.ttl_option {
        TtlOption::All => true.into(),
        TtlOption::Data => "data".into(),
        TtlOption::Nothing => false.into(),
    };
    map.insert("ttl_option".into(), told);
    map.into()
}

/// Schemas of the common keys.
pub(super) fn common_schema(kind: &Kind) -> Map<String, Json> {
    use super::forms::{about, name, reference, whole, with_default};
    use serde_json::json;
    let pair = json!({ "type": "integer", "minimum": 1 });
    let mut map = Map::new();
    map.insert("kind".into(), json!({ "const": kind.name }));
    map.insert("name".into(), name());
    let count = whole(1, bounds::COUNT);
    map.insert(
        "count".into(),
        if kind.flow_a_pair {
            about(count, "Number of flows; by default one a pair.")
        } else {
            about(with_default(count, 1), "Number of flows.")
        },
    );
    map.insert("start".into(), about(with_default(reference("starts"), "0 s"), "Start times."));
    map.insert(
        "class".into(),
        about(
            with_default(whole(0, bounds::CLASS), 0),
            "Class of the packets, for disciplines that tell classes apart.",
        ),
    );
    map.insert(
        "direction".into(),
        about(
            with_default(json!({ "enum": Direction::ALL.map(Direction::name) }), Direction::Forward.name()),
            "Which way data go between the pairs of a topology.",
        ),
    );
    map.insert("random".into(), super::forms::random());
    map.insert(
        "pairs".into(),
        about(
            json!({ "anyOf": [pair.clone(), { "type": "array", "items": pair, "minItems": 1 }] }),
            "Pairs of a topology, by number from 1, that the flows are dealt to.",
        ),
    );
    map
}

/// Random numbers from elsewhere, for one flow.
fn random(fields: &Fields<'_>, kind: &Kind) -> Checked<Option<InjectedRandom>> {
    let Some(field) = fields.optional("random") else { return Ok(None) };
    let one_flow = match fields.optional("count") {
        Some(count) => matches!(count.doc, Doc::Integer(1)),
        None => !kind.flow_a_pair,
    };
    if !one_flow {
        return Err(field.error("is for one flow").allowed("count = 1"));
    }
    super::values::random(&field).map(Some)
}

/// Which way data go between pairs.
fn direction(fields: &Fields<'_>, topology: &Topology) -> Checked<Direction> {
    let Some(field) = between_pairs(fields, "direction", topology)? else { return Ok(Direction::Forward) };
    let word = field.word(Direction::ALL.iter().map(|direction| direction.name()))?;
    Ok(if word == Direction::Reverse.name() { Direction::Reverse } else { Direction::Forward })
}

/// The pairs that flows are dealt to.
fn pairs(fields: &Fields<'_>, topology: &Topology) -> Checked<Option<Vec<u32>>> {
    let Some(field) = between_pairs(fields, "pairs", topology)? else { return Ok(None) };
    let one = |field: &Field<'_>| field.whole(1, topology.pairs().into()).map(|pair| pair as u32 - 1);
    match field.doc {
        Doc::Array(_) => field.items("a list of pairs")?.iter().map(one).collect::<Checked<_>>().map(Some),
        _ => one(&field).map(|pair| Some(vec![pair])),
    }
}

/// A key that only goes with the listed pairs of a topology.
fn between_pairs<'a>(fields: &Fields<'a>, key: &str, topology: &Topology) -> Checked<Option<Field<'a>>> {
    let Some(field) = fields.optional(key) else { return Ok(None) };
    if fields.optional("from").is_some() || fields.optional("to").is_some() {
        return Err(field.error("stands beside from and to, which name both ends").allowed("the one or the other"));
    }
    let listed = match topology {
        Topology::Dumbbell(_) => true,
        Topology::Graph(graph) => matches!(graph.pairs, Pairs::Listed(_)),
    };
    if listed {
        Ok(Some(field))
    } else {
        Err(field.error("is for a topology with pairs").allowed("from and to, which name nodes"))
    }
}

/// Schema of start times.
pub(super) fn starts_schema() -> Json {
    starts::schema()
}

/// Schemas of distributions of sizes, times and counts.
pub(super) fn size_schema() -> Json {
    distribution::schema(&distribution::SIZE)
}

/// See [`size_schema`].
pub(super) fn time_schema() -> Json {
    distribution::schema(&distribution::TIME)
}

/// See [`size_schema`].
pub(super) fn count_schema() -> Json {
    distribution::schema(&distribution::COUNT)
}
