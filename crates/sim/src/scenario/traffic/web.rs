//! `kind = "web"`: web sessions that start as a Poisson process, over a pool of TCP connections.

use earlydrop_net::source::Distribution;
use serde_json::{Map, Value as Json};

use super::super::bounds;
use super::super::fields::{Checked, Fields, Interval};
use super::super::forms::Quantity;
use super::super::keys::{Default, Key};
use super::distribution::{self, Data, Draw, COUNT, TIME};
use super::kind::Kind;
use super::model::{Load, Web};
use super::tcp;
use super::transfers::COMPLETION;

static SESSION_GAP: Key<Quantity> = Key::required(
    "session_gap",
    Quantity::time(Interval { low: 1e-6, ..bounds::START }).wanted("a time such as \"500 ms\""),
    "Mean time from session to session.",
);
// Structure and sizes are those of ns-2's example of web traffic (12 packets on average, Pareto); pages and gaps are
// our choice.
static PAGES: Key<Draw> = count("pages", 5.0, "Pages of a session.");
static PAGE_GAP: Key<Draw> = gap("page_gap", 1.0, "From the last object of a page to the first of the next.");
static OBJECTS: Key<Draw> = count("objects", 4.0, "Objects of a page.");
static OBJECT_GAP: Key<Draw> = gap("object_gap", 0.05, "From object to object.");
static SIZE: Key<Data> = Key {
    name: "size",
    form: Data,
    default: Default::Is(default_size(super::packets::DEFAULT_SEGMENT)),
    about: "Size of an object; by default 12 segments on average.",
};

const fn count(name: &'static str, mean: f64, about: &'static str) -> Key<Draw> {
    Key::or(name, Draw { of: &COUNT, within: bounds::THINGS }, Distribution::Geometric { mean }, about)
}

const fn gap(name: &'static str, mean: f64, about: &'static str) -> Key<Draw> {
    Key::or(name, Draw { of: &TIME, within: bounds::START }, Distribution::Exponential { mean }, about)
}

const fn default_size(segment: u32) -> Distribution {
    Distribution::Pareto { mean: 12.0 * segment as f64, shape: 1.2, max: f64::INFINITY }
}

pub(super) const KIND: Kind = Kind {
    name: "web",
    title: "Web",
    about: "Web sessions that start as a Poisson process, over a pool of TCP connections",
    over_tcp: true,
    keys: &[&SESSION_GAP, &PAGES, &PAGE_GAP, &OBJECTS, &OBJECT_GAP, &SIZE, &COMPLETION],
    read,
};

fn read(fields: &Fields<'_>) -> Checked<Load> {
    let tcp = tcp::read(fields)?;
    Ok(Load::Web(Web {
        session_gap: SESSION_GAP.read(fields)?,
        pages: PAGES.read(fields)?,
        page_gap: PAGE_GAP.read(fields)?,
        objects: OBJECTS.read(fields)?,
        object_gap: OBJECT_GAP.read(fields)?,
        size: match SIZE.field(fields) {
            Some(_) => distribution::read_data(fields, &SIZE, tcp.segment)?,
            None => default_size(tcp.segment),
        },
        completion: COMPLETION.read(fields)?,
        tcp,
    }))
}

pub(super) fn write(load: &Web, map: &mut Map<String, Json>) {
    tcp::write(&load.tcp, map);
    SESSION_GAP.write(&load.session_gap, map);
    PAGES.write(&load.pages, map);
    PAGE_GAP.write(&load.page_gap, map);
    OBJECTS.write(&load.objects, map);
    OBJECT_GAP.write(&load.object_gap, map);
    SIZE.write(&load.size, map);
    COMPLETION.write(&load.completion, map);
}
