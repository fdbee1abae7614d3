//! `kind = "graph"`: any network, from `[[node]]` and `[[link]]`.

use std::collections::{BTreeMap, BTreeSet};

use serde_json::{json, Map, Value as Json};

use super::super::bounds;
use super::super::document::Doc;
use super::super::error::ScenarioError;
use super::super::fields::{join, Checked, Field, Fields};
use super::super::forms::{Flag, Name, Own, Range};
use super::super::keys::{self, Key, Rows};
use super::super::link::{self, Links, DRAWN_DELAY, LINK_LAYER};
use super::super::nearest::{some_of, suggestion};
use super::super::schemas::{self, list, pair};
use super::plain;
use crate::topology::{Direction, Edge, Graph, LinkSpec, Node, Pairs};

pub(super) static PAIRS: Key<Own<Pairs, ()>> = Key::optional(
    "pairs",
    Own {
        kind: "text or list",
        range: Range::Words("`\"random\"`, or pairs of names such as `[[\"a\", \"b\"]]`"),
        wanted: PAIRS_WANTED,
        schema: || json!({ "anyOf": [{ "const": "random" }, list(pair(schemas::name()))] }),
        write: |_| Json::Null,
        read: (),
    },
    "none",
    "Who sends to whom where traffic does not say.",
);
const PAIRS_WANTED: &str = "\"random\", or a list of pairs of names such as [[\"a\", \"b\"]]";

static NODE_NAME: Key<Name> = Key::required("name", Name("a text"), "Its name, different from all others.");
static ROUTER: Key<Flag> = Key::optional(
    "router",
    Flag,
    "whether it has two neighbours or more",
    "A router is drawn as one, and is no host for `pairs = \"random\"`.",
);
static PLACE: Key<Own<[f64; 2]>> = Key::optional(
    "place",
    Own {
        kind: "list",
        range: Range::Words("two numbers `[x, y]`"),
        wanted: "two numbers [x, y]",
        schema: || pair(schemas::number(bounds::PLACE)),
        write: |place| json!(place),
        read: place,
    },
    "where the layout puts it",
    "Where it is drawn.",
);
/// Keys of a node.
pub(in crate::scenario) const NODE: Rows = &[&NODE_NAME, &ROUTER, &PLACE];

static FROM: Key<Name> = Key::required("from", Name("a node's name"), "The node where it begins.");
static TO: Key<Name> = Key::required("to", Name("a node's name"), "The node where it ends.");
static LINK_NAME: Key<Name> =
    Key::optional("name", Name("a text"), "`FROM>TO`", "Its name, different from those of all other links.");
static QUEUE: Key<Name> = Key::optional(
    "queue",
    Name("a text"),
    "none",
    "The KEY of its `[queue.KEY]`; without one its buffer is unlimited.",
);
static OTHER_WAY: Key<Own<Direction, ()>> = Key::optional(
    "reverse",
    Own {
        kind: "table or `false`",
        range: Range::Words("`name`, `queue` and the keys of a link"),
        wanted: "a table, or false for a one-way link",
        schema: || json!({ "anyOf": [{ "const": false }, back_schema()] }),
        write: |way| {
            let mut map = Map::new();
            write_direction(way, &mut map);
            map.into()
        },
        read: (),
    },
    "the same rate, delay and link layer",
    "The other direction; `false` for a link in one direction alone.",
);
/// Keys of a link between two nodes, without those of every link.
pub(in crate::scenario) const JOINS: Rows = &[&FROM, &TO, &LINK_NAME, &QUEUE, &OTHER_WAY];
/// Keys of a link's other direction, without those of every link.
const BACK: Rows = &[&LINK_NAME, &QUEUE];

/// Any graph, from `[[node]]` and `[[link]]`.
pub(super) fn read(scenario: &Fields<'_>, topology: &Fields<'_>, links: Links<'_>) -> Checked<Graph> {
    const LINKS: &str = "one or more tables [[link]]";
    let mut nodes = Nodes::default();
    if let Some(field) = scenario.optional("node") {
        for entry in field.items("tables [[node]]")? {
            nodes.add(&entry)?;
        }
        nodes.listed = true;
    }
    let mut graph = Graph::default();
    let (mut names, mut joined) = (BTreeSet::new(), BTreeSet::new());
    for entry in scenario.required("link", LINKS)?.items(LINKS)? {
        let fields = entry.rows(&[JOINS, &link::rows(&DRAWN_DELAY)].concat())?;
        let from = nodes.end(&fields, &FROM)?;
        let to = nodes.end(&fields, &TO)?;
        if from == to {
            return Err(ScenarioError::new(join(&fields.path, "to"), "is where the link begins")
                .given(format!("{:?}", nodes.nodes[to as usize].name))
                .allowed("another node"));
        }
        let there = direction(&fields, links, None, || nodes.link_name(from, to))?;
        let back = match OTHER_WAY.field(&fields) {
            Some(field) if matches!(field.doc, Doc::Bool(false)) => None,
            None => Some(Direction { name: nodes.link_name(to, from), link: plain(&there.link), queue: None }),
            Some(field) => {
                let Doc::Table(_) = field.doc else { return Err(field.wrong_type(OTHER_WAY.form.wanted)) };
                let fields = field.rows(&[BACK, &link::rows(&DRAWN_DELAY)].concat())?;
                Some(direction(&fields, links, Some(&plain(&there.link)), || nodes.link_name(to, from))?)
            }
        };
        for (way, pair) in [(Some(&there), (from, to)), (back.as_ref(), (to, from))] {
            let Some(way) = way else { continue };
            if !joined.insert(pair) {
                return Err(ScenarioError::new(entry.path, "joins two nodes that are joined already")
                    .given(nodes.link_name(pair.0, pair.1))
                    .allowed("one link in each direction"));
            }
            if !names.insert(way.name.clone()) {
                return Err(ScenarioError::new(join(&entry.path, "name"), "is the name of another link too")
                    .given(format!("{:?}", way.name))
                    .allowed("a name of its own for each direction of each link"));
            }
        }
        if joined.len() > 2 * bounds::ROUTERS as usize {
            return Err(ScenarioError::new("link", "makes too many links").allowed(bounds::ROUTERS.to_string()));
        }
        graph.edges.push(Edge { from, to, there, back });
    }
    graph.nodes = nodes.finish(&graph.edges);
    graph.pairs = pairs(topology, &graph)?;
    Ok(graph)
}

fn direction(
    fields: &Fields<'_>,
    links: Links<'_>,
    default: Option<&LinkSpec>,
    default_name: impl Fn() -> String,
) -> Checked<Direction> {
    Ok(Direction {
        name: LINK_NAME.given(fields)?.unwrap_or_else(default_name),
        link: links.spec(fields, &DRAWN_DELAY, default)?,
        queue: QUEUE.given(fields)?,
    })
}

/// A link between two nodes as a document has it.
pub(in crate::scenario) fn write_edge(graph: &Graph, edge: &Edge) -> Json {
    let mut map = Map::new();
    FROM.write(&graph.nodes[edge.from as usize].name, &mut map);
    TO.write(&graph.nodes[edge.to as usize].name, &mut map);
    write_direction(&edge.there, &mut map);
    match &edge.back {
        Some(back) => OTHER_WAY.write(back, &mut map),
        None => drop(map.insert(OTHER_WAY.name.into(), false.into())),
    }
    if let (Some(back), Some(Json::Object(way))) = (&edge.back, map.get_mut(OTHER_WAY.name)) {
        // The other direction has this link layer unless it says otherwise.
        if back.link.link_layer != edge.there.link.link_layer {
            LINK_LAYER.write(&back.link.link_layer, way);
        }
    }
    map.into()
}

fn write_direction(direction: &Direction, map: &mut Map<String, Json>) {
    LINK_NAME.write(&direction.name, map);
    link::write(&direction.link, map);
    QUEUE.write_given(direction.queue.as_ref(), map);
}

/// A node as a document has it.
pub(in crate::scenario) fn write_node(node: &Node) -> Json {
    let mut map = Map::new();
    NODE_NAME.write(&node.name, &mut map);
    ROUTER.write(&node.router, &mut map);
    PLACE.write_given(node.place.as_ref(), &mut map);
    map.into()
}

/// A graph's table as a document has it, without its nodes and links.
pub(in crate::scenario) fn write_graph(graph: &Graph) -> Json {
    let name = |&node: &u32| graph.nodes[node as usize].name.clone();
    let mut map = Map::new();
    map.insert("kind".into(), "graph".into());
    let pairs: Option<Json> = match &graph.pairs {
        Pairs::None => None,
        Pairs::Drawn => Some("random".into()),
        Pairs::Listed(pairs) => Some(pairs.iter().map(|(from, to)| json!([name(from), name(to)])).collect()),
    };
    map.extend(pairs.map(|pairs| (PAIRS.name.to_string(), pairs)));
    map.into()
}

/// The schema of a `[[link]]`.
pub(in crate::scenario) fn edge_schema() -> Json {
    keys::table(&[JOINS, &link::rows(&DRAWN_DELAY)].concat())
}

/// The schema of a link's other direction, in which no key is required.
fn back_schema() -> Json {
    let mut schema = keys::table(&[BACK, &link::rows(&DRAWN_DELAY)].concat());
    schema["required"] = json!([]);
    schema
}

/// The nodes so far.
#[derive(Default)]
struct Nodes {
    nodes: Vec<Node>,
    at: BTreeMap<String, u32>,
    /// Whether each node is a router, as given in `[[node]]`.
    said: Vec<Option<bool>>,
    /// Whether links may name only nodes that are listed.
    listed: bool,
}

impl Nodes {
    fn add(&mut self, entry: &Field<'_>) -> Checked<()> {
        let fields = entry.rows(NODE)?;
        let name = NODE_NAME.read(&fields)?;
        let (router, place) = (ROUTER.given(&fields)?, PLACE.given(&fields)?);
        if self.at.contains_key(&name) {
            let field = fields.required(NODE_NAME.name, "")?;
            return Err(field.error("is the name of another node too").allowed("a name of its own for each node"));
        }
        self.push(name, router, place);
        Ok(())
    }

    fn push(&mut self, name: String, router: Option<bool>, place: Option<[f64; 2]>) -> u32 {
        let index = self.nodes.len() as u32;
        self.at.insert(name.clone(), index);
        self.nodes.push(Node { name, router: false, place });
        self.said.push(router);
        index
    }

    /// The node at one end of a link.
    fn end(&mut self, fields: &Fields<'_>, key: &Key<Name>) -> Checked<u32> {
        let name = key.read(fields)?;
        if let Some(&at) = self.at.get(&name) {
            return Ok(at);
        }
        if self.listed {
            let names = || self.nodes.iter().map(|node| node.name.as_str());
            let message = format!("names no node{}", suggestion(&name, names()));
            let field = fields.required(key.name, "")?;
            return Err(field.error(message).allowed(some_of(names())));
        }
        Ok(self.push(name, None, None))
    }

    fn link_name(&self, from: u32, to: u32) -> String {
        crate::topology::default_name(&self.nodes[from as usize].name, &self.nodes[to as usize].name)
    }

    /// The nodes; by default those with two or more neighbours are routers.
    fn finish(mut self, edges: &[Edge]) -> Vec<Node> {
        let mut neighbours = vec![BTreeSet::new(); self.nodes.len()];
        for edge in edges {
            neighbours[edge.from as usize].insert(edge.to);
            neighbours[edge.to as usize].insert(edge.from);
        }
        for (at, node) in self.nodes.iter_mut().enumerate() {
            node.router = self.said[at].unwrap_or(neighbours[at].len() > 1);
        }
        self.nodes
    }
}

fn place(field: &Field<'_>) -> Checked<[f64; 2]> {
    const WANTED: &str = "two numbers [x, y]";
    let items = field.items(WANTED)?;
    let place: Vec<f64> =
        items.iter().map(|item| item.measure(&bounds::NUMBERS, bounds::PLACE)).collect::<Checked<_>>()?;
    place.try_into().map_err(|_| field.error("is no place").allowed(WANTED))
}

/// Reads `pairs = "random"` or a list of `[from, to]`.
fn pairs(fields: &Fields<'_>, graph: &Graph) -> Checked<Pairs> {
    const WANTED: &str = PAIRS_WANTED;
    let Some(field) = PAIRS.field(fields) else { return Ok(Pairs::None) };
    if let Doc::String(_) = field.doc {
        field.word(["random"].into_iter())?;
        return Ok(Pairs::Drawn);
    }
    let names = graph.names();
    let mut pairs = Vec::new();
    for item in field.items(WANTED)? {
        let pair = item.items(WANTED)?;
        let [from, to] = &pair[..] else { return Err(item.error("is no pair").allowed(WANTED)) };
        let node = |end: &Field<'_>| {
            let name = end.text(WANTED)?;
            names.get(name).copied().ok_or_else(|| {
                let message = format!("names no node{}", suggestion(name, names.keys().copied()));
                end.error(message).allowed(some_of(names.keys().copied()))
            })
        };
        let (from_node, to_node) = (node(from)?, node(to)?);
        if from_node == to_node {
            return Err(item.error("begins where it ends").allowed("two different nodes"));
        }
        pairs.push((from_node, to_node));
    }
    Ok(Pairs::Listed(pairs))
}
