//! `[[traffic]]`: who sends what. Each kind has a file; here is what they share.

use std::collections::BTreeSet;
use std::path::Path;

use serde_json::{Map, Value as Json};

use super::bounds;
use super::document::Doc;
use super::ends::{self, with_ends, Ends};
use super::error::ScenarioError;
use super::fields::{Checked, Field, Fields};
use super::keys::Rows;
use super::model::{InjectedRandom, Topology};
use crate::topology::Pairs;

mod cbr;
pub(super) mod common;
mod distribution;
mod ftp;
mod kind;
mod media;
mod model;
mod ns2;
mod onoff;
mod outside;
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

use common::{CLASS, COUNT, DIRECTION, DSCP, NAME, PAIRS, RANDOM};
pub(super) use kind::Kind;
pub use model::{
    Cbr, Completion, Connection, Direction, Ftp, Law, Load, Media, OnOff, Outside, Packets, Pages, Poisson, Requests,
    Starts, TcpSpec, Traffic, Transfers, Video, Voip, Web, Writes,
};
use starts::START;

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
    &media::KIND,
    &outside::KIND,
];

/// Keys of TCP, and the options of ns-2's TCPs.
pub(super) const TCP: [Rows; 2] = [tcp::KEYS, ns2::OPTIONS];

/// Reads all traffic.
pub(super) fn read(field: &Field<'_>, topology: &Topology, folder: Option<&Path>) -> Checked<Vec<Traffic>> {
    if let Doc::Table(_) = field.doc {
        return Err(field.error("is a single table").allowed("a list of tables; write [[traffic]]"));
    }
    let mut names = BTreeSet::new();
    let mut flows = 0;
    let mut traffic: Vec<Traffic> = Vec::new();
    for entry in field.items("one or more tables [[traffic]]")? {
        let one = self::entry(&entry, topology, folder, &traffic)?;
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

fn entry(field: &Field<'_>, topology: &Topology, folder: Option<&Path>, above: &[Traffic]) -> Checked<Traffic> {
    let doc = distribution::with_files_in(field.doc, folder);
    let field = &Field { doc: &doc, path: field.path.clone() };
    let named = |kind: &&&Kind| matches!(field.doc.get("kind"), Some(Doc::String(word)) if word == kind.name);
    // The kind decides which keys are allowed, so a missing or unknown kind is reported before any other fault.
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
    if let (false, Some(_)) = (kind.name == ftp::KIND.name, field.doc.get(ftp::REVERSE_OF.name)) {
        return Err(ScenarioError::new(format!("{}.{}", field.path, ftp::REVERSE_OF.name), "is for endless data")
            .given(format!("kind = {:?}", kind.name))
            .allowed(format!("no such key, or kind = {:?}", ftp::KIND.name)));
    }
    let own = with_ends(&kind.all_keys());
    if kind.over_tcp {
        tcp::refuse_in_entry(field, &own)?;
    }
    let fields = field.table(&own)?;
    let other_way = ftp::other_way(&fields, above)?;
    if other_way.is_some() {
        // Read here for its errors: what is wrong further down is a key of the named entry, read with other defaults.
        ftp::LIFETIME.given(&fields)?;
    }
    let others = |error| match other_way {
        Some(_) => of_the_named(ScenarioError { given: None, ..error }),
        None => error,
    };
    let load = (kind.read)(&fields).map_err(others)?;
    let random = random(&fields, kind).map_err(others)?;
    let default = if kind.over_tcp { topology.pairs() } else { 1 };
    let mut traffic = Traffic {
        name: NAME.given(&fields)?,
        count: COUNT.read_or(&fields, default.into())? as u32,
        start: START.read(&fields)?,
        class: CLASS.read(&fields)? as u8,
        dscp: DSCP.given(&fields)?.map(|dscp| dscp as u8),
        direction: direction(&fields, topology)?,
        pairs: pairs(&fields, topology)?,
        random,
        load,
    };
    if let Some(at) = other_way {
        let own = std::mem::replace(&mut traffic, above[at].clone());
        traffic.direction = traffic.direction.other();
        (traffic.name, traffic.start, traffic.class, traffic.dscp) =
            (own.name.clone(), own.start.clone(), own.class, own.dscp);
        if let (Load::Ftp(load), Load::Ftp(of)) = (&mut traffic.load, &own.load) {
            (load.writes, load.lifetime, load.reverse_of) = (None, of.lifetime, Some(at));
        }
        same_connections(&fields, &own, &traffic)?;
    }
    Ok(traffic)
}

/// Refuses keys with which an entry that is the other way of connections, read on its `own`, would have others than
/// `these`.
fn same_connections(fields: &Fields<'_>, own: &Traffic, these: &Traffic) -> Checked<()> {
    let written = [own, these].map(|traffic| write_own(traffic, &[]));
    let ends = super::keys::names(ends::ENDS).collect::<Vec<_>>();
    for (key, field) in fields.iter().filter(|(key, _)| !ends.contains(key) && *key != ftp::REVERSE_OF.name) {
        let [given, wanted] = written.each_ref().map(|map| map.get(key));
        let stack = |traffic: &Traffic| traffic.tcp_spec().map(|tcp| tcp.stack);
        if given != wanted || (key == "stack" && stack(own) != stack(these)) {
            let error = of_the_named(field.error(""));
            return Err(match wanted {
                Some(wanted) if !wanted.is_object() => error.allowed(format!("no such key, or {wanted}")),
                _ => error,
            });
        }
    }
    Ok(())
}

/// The error of a key that is not this entry's own, as its flows are in the connections of another.
fn of_the_named(error: ScenarioError) -> ScenarioError {
    let message = format!("is that of the entry that {} names", ftp::REVERSE_OF.name);
    ScenarioError { message, ..error }.allowed("no such key")
}

/// The entry in full, as a document writes it among `all`.
pub(super) fn write(traffic: &Traffic, ends: &Ends, all: &[Traffic]) -> Json {
    let mut map = write_own(traffic, all);
    if ends.between.is_some() || traffic.reverse_of().is_some() {
        // The ends say the direction, or the entry that this one names.
        map.shift_remove(DIRECTION.name);
    }
    ends::write(ends, &mut map);
    map.into()
}

/// The entry in full, without its ends.
fn write_own(traffic: &Traffic, all: &[Traffic]) -> Map<String, Json> {
    let mut map = Map::new();
    map.insert("kind".into(), traffic.kind().into());
    NAME.write_given(traffic.name.as_ref(), &mut map);
    ftp::REVERSE_OF.write_given(traffic.reverse_of().and_then(|at| all.get(at)?.name.as_ref()), &mut map);
    COUNT.write(&traffic.count.into(), &mut map);
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
        Load::Media(load) => media::write(load, &mut map),
        Load::Outside(load) => outside::write(load, &mut map),
    }
    START.write(&traffic.start, &mut map);
    if traffic.class != 0 {
        CLASS.write(&traffic.class.into(), &mut map);
    }
    DSCP.write_given(traffic.dscp.map(u64::from).as_ref(), &mut map);
    RANDOM.write_given(traffic.random.as_ref(), &mut map);
    if traffic.direction != Direction::Forward {
        DIRECTION.write(&traffic.direction, &mut map);
    }
    PAIRS.write_given(traffic.pairs.as_ref(), &mut map);
    map
}

/// Random numbers from elsewhere, for one flow.
fn random(fields: &Fields<'_>, kind: &Kind) -> Checked<Option<InjectedRandom>> {
    let Some(field) = RANDOM.field(fields) else { return Ok(None) };
    let one_flow = match COUNT.field(fields) {
        Some(count) => matches!(count.doc, Doc::Integer(1)),
        None => !kind.over_tcp,
    };
    if !one_flow {
        return Err(field.error("is for one flow").allowed("count = 1"));
    }
    RANDOM.given(fields)
}

/// Direction of the data between pairs.
fn direction(fields: &Fields<'_>, topology: &Topology) -> Checked<Direction> {
    between_pairs(fields, DIRECTION.name, topology)?;
    DIRECTION.read(fields)
}

/// The pairs that flows are assigned to.
fn pairs(fields: &Fields<'_>, topology: &Topology) -> Checked<Option<Vec<u32>>> {
    let Some(field) = between_pairs(fields, PAIRS.name, topology)? else { return Ok(None) };
    let one = |field: &Field<'_>| field.whole(1, topology.pairs().into()).map(|pair| pair as u32 - 1);
    match field.doc {
        Doc::Array(_) => field.items(PAIRS.form.wanted)?.iter().map(one).collect::<Checked<_>>().map(Some),
        _ => one(&field).map(|pair| Some(vec![pair])),
    }
}

/// A key that is allowed only if the topology lists pairs.
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

/// Schema of a distribution of times.
pub(super) fn time_schema() -> Json {
    distribution::schema(&distribution::TIME)
}

/// Schema of a distribution of counts.
pub(super) fn count_schema() -> Json {
    distribution::schema(&distribution::COUNT)
}
