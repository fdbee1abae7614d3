//! `[topology]`, `[[node]]`, `[[link]]` and which `[queue.NAME]` stands where.

use std::collections::{BTreeMap, BTreeSet};

use super::bounds;
use super::document::Doc;
use super::error::ScenarioError;
use super::fields::{join, Checked, Field, Fields};
use super::link::{Delay, Links, LINK};
use super::model::{Queue, Topology};
use super::nearest::{some_of, suggestion};
use super::own::Aqms;
use super::queue;
use super::values::name;
use crate::topology::builders::{self, ParkingLot};
use crate::topology::random::{random, Random};
use crate::topology::{Direction, Dumbbell, Edge, Graph, LinkSpec, Node, Pairs};
use earlydrop_aqm::Link;

/// Kinds of topologies with the keys of each, `kind` left out.
pub(super) const KINDS: &[(&str, &[&str])] = &[
    ("dumbbell", &["pairs", "access", "senders", "receivers", "bottleneck", "reverse"]),
    ("parking_lot", &["bottlenecks", "pairs", "cross", "access", "bottleneck", "reverse"]),
    ("star", &["hosts", "access"]),
    ("sfred", &["pairs", "senders", "bottleneck", "receiver"]),
    ("nlred", &["pairs", "senders", "bottleneck", "receiver"]),
    ("bus", &["routers", "core", "access"]),
    ("flower", &["petals", "petal", "core", "access"]),
    ("two_flow", &["first", "link"]),
    ("random", &["routers", "degree", "hosts", "core", "access", "graph_seed"]),
    ("graph", &["pairs"]),
];
/// Keys of a node.
pub(super) const NODE: &[&str] = &["name", "router", "place"];
/// Keys of a link between two nodes, those of every link left out.
pub(super) const JOINS: &[&str] = &["from", "to", "name", "queue", "reverse"];
/// Keys of a link's other direction, those of every link left out.
pub(super) const BACK: &[&str] = &["name", "queue"];

/// Reads the topology of the scenario whose fields are `scenario`.
pub(super) fn read(scenario: &Fields<'_>, links: Links<'_>) -> Checked<Topology> {
    let field = scenario.required("topology", "a table [topology]")?;
    let kinds = || KINDS.iter().map(|(kind, _)| *kind);
    let Doc::Table(_) = field.doc else { return Err(field.wrong_type("a table [topology]")) };
    let kind = match field.doc.get("kind") {
        Some(doc) => Field { doc, path: join(&field.path, "kind") }.word(kinds())?,
        None => "dumbbell",
    };
    let keys = KINDS.iter().find(|(name, _)| *name == kind).map_or(&[][..], |(_, keys)| keys);
    let fields = field.table(&[&["kind"], keys].concat())?;
    if fields.optional("kind").is_none() {
        return Err(fields.missing("kind").allowed(super::error::quoted_list(kinds())));
    }
    for key in ["node", "link"] {
        if let Some(field) = scenario.optional(key).filter(|_| kind != "graph") {
            let message = format!("belongs to a topology of the kind \"graph\", not \"{kind}\"");
            return Err(ScenarioError::new(field.path, message));
        }
    }
    let build = Build { fields, links };
    Ok(match kind {
        "dumbbell" => Topology::Dumbbell(Box::new(build.dumbbell()?)),
        "graph" => Topology::Graph(graph(scenario, &build)?),
        "parking_lot" => Topology::Graph(build.parking_lot()?),
        "star" => Topology::Graph(builders::star(build.whole("hosts", 2, None)?, &build.link("access", None)?)),
        "sfred" => Topology::Graph(build.many_to_one([(10e6, 0.01), (1.5e6, 0.01), (10e6, 0.005)])?),
        "nlred" => Topology::Graph(build.many_to_one([(100e6, 0.005), (10e6, 0.02), (100e6, 0.005)])?),
        "bus" => {
            let [core, access] = build.core_and_access()?;
            Topology::Graph(builders::bus(build.whole("routers", 2, Some(10))?, &core, &access))
        }
        "flower" => {
            let [core, access] = build.core_and_access()?;
            let (petals, petal) = (build.whole("petals", 1, Some(5))?, build.whole("petal", 0, Some(8))?);
            build.at_most("petal", u64::from(petals) * (u64::from(petal) + 1), "routers")?;
            Topology::Graph(builders::flower(petals, petal, &core, &access))
        }
        "two_flow" => {
            let all = build.link("link", Some(LinkSpec::constant(10e6, 0.001)))?;
            Topology::Graph(builders::two_flow(&build.link("first", Some(all.clone()))?, &all))
        }
        _ => Topology::Graph(build.random()?),
    })
}

/// The fields of `[topology]`.
struct Build<'a> {
    fields: Fields<'a>,
    links: Links<'a>,
}

impl Build<'_> {
    fn whole(&self, key: &str, low: u64, default: Option<u32>) -> Checked<u32> {
        match (self.fields.optional(key), default) {
            (None, Some(default)) => Ok(default),
            (None, None) => Err(self.fields.missing(key).allowed(super::fields::whole_form(low, bounds::PAIRS))),
            (Some(field), _) => field.whole(low, bounds::PAIRS).map(|x| x as u32),
        }
    }

    fn at_most(&self, key: &str, count: u64, what: &str) -> Checked<()> {
        if count <= bounds::PAIRS {
            return Ok(());
        }
        Err(ScenarioError::new(join(&self.fields.path, key), format!("makes too many {what}"))
            .given(count.to_string())
            .allowed(bounds::PAIRS.to_string()))
    }

    /// A link of many hosts, or the default.
    fn link(&self, key: &str, default: Option<LinkSpec>) -> Checked<LinkSpec> {
        match (self.fields.optional(key), default) {
            (Some(field), _) => self.links.many(&field),
            (None, Some(default)) => Ok(default),
            (None, None) => Err(self.fields.missing(key).allowed("{ rate = ..., delay = ... }")),
        }
    }

    /// A link of which there is one.
    fn one(&self, key: &str, default: Option<LinkSpec>) -> Checked<LinkSpec> {
        match (self.fields.optional(key), default) {
            (Some(field), _) => self.links.one(&field),
            (None, Some(default)) => Ok(default),
            (None, None) => Err(self.fields.missing(key).allowed("{ rate = ..., delay = ... }")),
        }
    }

    fn dumbbell(&self) -> Checked<Dumbbell> {
        let pairs = self.whole("pairs", 1, None)?;
        let (senders, receivers) = self.both_sides()?;
        let bottleneck = self.one("bottleneck", None)?;
        let reverse = self.one("reverse", Some(plain(&bottleneck)))?;
        Ok(Dumbbell { pairs, senders, receivers, bottleneck, reverse })
    }

    /// `access` for both sides, or `senders` and `receivers` apart.
    fn both_sides(&self) -> Checked<(LinkSpec, LinkSpec)> {
        const WANTED: &str = "access for both sides, or senders and receivers apart";
        let fields = &self.fields;
        let Some(field) = fields.optional("access") else {
            if fields.optional("senders").is_none() && fields.optional("receivers").is_none() {
                return Err(fields.missing("access").allowed(WANTED));
            }
            let side = |key: &str| self.links.many(&fields.required(key, WANTED)?);
            return Ok((side("senders")?, side("receivers")?));
        };
        match fields.optional("senders").or(fields.optional("receivers")) {
            Some(side) => Err(ScenarioError::new(side.path, "is given twice, here and by access").allowed(WANTED)),
            None => self.links.many(&field).map(|both| (both.clone(), both)),
        }
    }

    fn parking_lot(&self) -> Checked<Graph> {
        let bottleneck = self.one("bottleneck", None)?;
        let parts = ParkingLot {
            bottlenecks: self.whole("bottlenecks", 1, Some(2))?,
            pairs: self.whole("pairs", 0, Some(1))?,
            cross: self.whole("cross", 0, Some(1))?,
            access: self.link("access", None)?,
            reverse: self.one("reverse", Some(plain(&bottleneck)))?,
            bottleneck,
        };
        let hosts = u64::from(parts.pairs) + u64::from(parts.bottlenecks) * u64::from(parts.cross);
        if hosts == 0 {
            return Err(self.fields.missing("pairs").allowed("a pair of hosts, all the way or across a bottleneck"));
        }
        self.at_most("cross", hosts + u64::from(parts.bottlenecks), "hosts and routers")?;
        Ok(builders::parking_lot(&parts))
    }

    /// Rates and delays of senders, bottleneck and receiver where they are not given.
    fn many_to_one(&self, defaults: [(f64, f64); 3]) -> Checked<Graph> {
        let [senders, bottleneck, receiver] = defaults.map(|(rate, delay)| Some(LinkSpec::constant(rate, delay)));
        let senders = self.link("senders", senders)?;
        let (bottleneck, receiver) = (self.one("bottleneck", bottleneck)?, self.one("receiver", receiver)?);
        Ok(builders::many_to_one(self.whole("pairs", 1, None)?, &senders, &bottleneck, &receiver))
    }

    /// Of DDRED's networks: 10 Mbit/s, 5 ms between routers and 1 ms to hosts (our choice; the paper gives no delays).
    fn core_and_access(&self) -> Checked<[LinkSpec; 2]> {
        let core = self.one("core", Some(LinkSpec::constant(10e6, 0.005)))?;
        Ok([core, self.link("access", Some(LinkSpec::constant(10e6, 0.001)))?])
    }

    fn random(&self) -> Checked<Graph> {
        let degree = match self.fields.optional("degree") {
            None => 4.0,
            Some(field) => field.measure(&bounds::NUMBERS, bounds::DEGREE)?,
        };
        let [core, access] = self.core_and_access()?;
        let routers = self.whole("routers", 1, None)?;
        let hosts = self.whole("hosts", 1, Some(1))?;
        self.at_most("hosts", u64::from(routers) * (1 + u64::from(hosts)), "hosts and routers")?;
        self.at_most("degree", (0.5 * degree * f64::from(routers)) as u64, "links")?;
        let seed = self.fields.optional("graph_seed").map_or(Ok(1), |field| field.whole(0, bounds::SEED))?;
        Ok(random(&Random { routers, degree, hosts, core, access, seed }))
    }
}

/// The other direction of a link: what happens to packets on the way is not doubled.
fn plain(link: &LinkSpec) -> LinkSpec {
    LinkSpec::new(link.rate.clone(), link.delay.clone())
}

/// Any graph, from `[[node]]` and `[[link]]`.
fn graph(scenario: &Fields<'_>, build: &Build<'_>) -> Checked<Graph> {
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
        let fields = entry.table(&[JOINS, LINK].concat())?;
        let from = nodes.end(&fields, "from")?;
        let to = nodes.end(&fields, "to")?;
        if from == to {
            return Err(ScenarioError::new(join(&fields.path, "to"), "is where the link begins")
                .given(format!("{:?}", nodes.nodes[to as usize].name))
                .allowed("another node"));
        }
        let there = direction(&fields, build.links, None, || nodes.link_name(from, to))?;
        let back = match fields.optional("reverse") {
            Some(field) if matches!(field.doc, Doc::Bool(false)) => None,
            None => Some(Direction { name: nodes.link_name(to, from), link: plain(&there.link), queue: None }),
            Some(field) => {
                let Doc::Table(_) = field.doc else {
                    return Err(field.wrong_type("a table, or false for a one-way link"));
                };
                let fields = field.table(&[BACK, LINK].concat())?;
                Some(direction(&fields, build.links, Some(&plain(&there.link)), || nodes.link_name(to, from))?)
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
        if joined.len() > 2 * bounds::PAIRS as usize {
            return Err(ScenarioError::new("link", "makes too many links").allowed(bounds::PAIRS.to_string()));
        }
        graph.edges.push(Edge { from, to, there, back });
    }
    graph.nodes = nodes.finish(&graph.edges);
    graph.pairs = pairs(&build.fields, &graph)?;
    Ok(graph)
}

fn direction(
    fields: &Fields<'_>,
    links: Links<'_>,
    default: Option<&LinkSpec>,
    default_name: impl Fn() -> String,
) -> Checked<Direction> {
    Ok(Direction {
        name: fields.optional("name").map_or_else(|| Ok(default_name()), |field| name(&field))?,
        link: links.spec(fields, Delay::Drawn, default)?,
        queue: fields.optional("queue").map(|field| name(&field)).transpose()?,
    })
}

/// The nodes so far.
#[derive(Default)]
struct Nodes {
    nodes: Vec<Node>,
    at: BTreeMap<String, u32>,
    /// Whether each is a router, where `[[node]]` says so.
    said: Vec<Option<bool>>,
    /// Links may name no others.
    listed: bool,
}

impl Nodes {
    fn add(&mut self, entry: &Field<'_>) -> Checked<()> {
        let fields = entry.table(NODE)?;
        let field = fields.required("name", "a text")?;
        let name = name(&field)?;
        let router = fields.optional("router").map(|field| field.flag()).transpose()?;
        let place = fields.optional("place").map(|field| place(&field)).transpose()?;
        if self.at.contains_key(&name) {
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
    fn end(&mut self, fields: &Fields<'_>, key: &str) -> Checked<u32> {
        let field = fields.required(key, "a node's name")?;
        let name = name(&field)?;
        if let Some(&at) = self.at.get(&name) {
            return Ok(at);
        }
        if self.listed {
            let names = || self.nodes.iter().map(|node| node.name.as_str());
            let message = format!("names no node{}", suggestion(&name, names()));
            return Err(field.error(message).allowed(some_of(names())));
        }
        Ok(self.push(name, None, None))
    }

    fn link_name(&self, from: u32, to: u32) -> String {
        crate::topology::default_name(&self.nodes[from as usize].name, &self.nodes[to as usize].name)
    }

    /// Where nothing is said, a node with two neighbours or more is a router.
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

/// `pairs = "random"` or a list of `[from, to]`.
fn pairs(fields: &Fields<'_>, graph: &Graph) -> Checked<Pairs> {
    const WANTED: &str = "\"random\", or a list of pairs of names such as [[\"a\", \"b\"]]";
    let Some(field) = fields.optional("pairs") else { return Ok(Pairs::None) };
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

/// Reads `[queue.NAME]` and settles which queue stands before which link of `topology`: that of the link's own name, else
/// that of its key. `written`: links name their queues in the document.
pub(super) fn queues(
    field: Option<Field<'_>>,
    topology: &mut Topology,
    written: bool,
    aqms: Aqms<'_>,
) -> Checked<Vec<Queue>> {
    let sites: Vec<Site> = match topology {
        Topology::Dumbbell(dumbbell) => {
            let site = |key: &str, link: &LinkSpec| Site {
                name: key.into(),
                key: Some(key.into()),
                link: at(link),
                path: String::new(),
            };
            vec![site("bottleneck", &dumbbell.bottleneck), site("reverse", &dumbbell.reverse)]
        }
        Topology::Graph(graph) => graph
            .links()
            .map(|(number, direction, ..)| Site {
                name: direction.name.clone(),
                key: direction.queue.clone(),
                link: at(&direction.link),
                path: format!("link[{}]{}", number / 2, if number % 2 == 0 { "" } else { ".reverse" }),
            })
            .collect(),
    };
    let mut keys: Vec<&str> = Vec::new();
    let mut seen = BTreeSet::new();
    keys.extend(sites.iter().filter_map(|site| site.key.as_deref()).filter(|&key| seen.insert(key)));
    let main = keys.first().copied().unwrap_or("NAME");
    let wanted = format!("a table [queue.{main}]");
    let is_dumbbell = matches!(topology, Topology::Dumbbell(_));
    let Some(field) = field else {
        if keys.is_empty() {
            return Ok(Vec::new());
        }
        return Err(ScenarioError::new("queue", "is missing").allowed(wanted));
    };
    let Doc::Table(entries) = field.doc else { return Err(field.wrong_type(wanted)) };
    let known: BTreeSet<&str> = sites.iter().map(|site| site.name.as_str()).chain(keys.iter().copied()).collect();
    for (key, _) in entries {
        if !known.contains(key.as_str()) {
            let allowed = match keys.is_empty() {
                true => some_of(known.iter().copied()),
                false => keys.join(", ") + if is_dumbbell { "" } else { ", or a link's name" },
            };
            let message = match is_dumbbell {
                true => format!("unknown key{}", suggestion(key, keys.iter().copied())),
                false => format!("is the queue of no link{}", suggestion(key, known.iter().copied())),
            };
            return Err(ScenarioError::new(join(&field.path, key), message).allowed(allowed));
        }
    }
    let all: Vec<&str> = entries.iter().map(|(key, _)| key.as_str()).collect();
    let fields = field.table(&all)?;
    // The queue that each link has.
    let chosen: Vec<Option<String>> = sites
        .iter()
        .map(|site| {
            let given = |name: &str| fields.optional(name).map(|_| name.to_string());
            given(&site.name).or_else(|| site.key.as_deref().and_then(given))
        })
        .collect();
    let without = |wanted: &str| {
        let with_key = sites.iter().zip(&chosen).filter(move |(site, _)| site.key.as_deref() == Some(wanted));
        with_key.clone().all(|(_, chosen)| chosen.is_none()).then(|| with_key.map(|(site, _)| site).next()).flatten()
    };
    // Where the topology puts its queues, its main one must be there; where links name queues, all of them.
    for key in &keys[..if written { keys.len() } else { keys.len().min(1) }] {
        let Some(site) = without(key) else { continue };
        if !written {
            return Err(fields.missing(key).allowed(wanted));
        }
        return Err(ScenarioError::new(join(&site.path, "queue"), "names no queue")
            .given(format!("{key:?}"))
            .allowed(format!("a table [queue.{key}]{}", suggestion(key, all.iter().copied()))));
    }
    let mut queues = Vec::new();
    for (key, field) in fields.iter() {
        let mut links: Vec<Link> = Vec::new();
        for (site, chosen) in sites.iter().zip(&chosen) {
            if chosen.as_deref() == Some(key) && !links.contains(&site.link) {
                links.push(site.link);
            }
        }
        if links.is_empty() {
            return Err(ScenarioError::new(field.path, "is the queue of no link")
                .allowed("a queue that a link has, or none: each of its links has one of its own"));
        }
        queues.push(Queue { key: key.to_string(), spec: queue::read(&field, &links, aqms)? });
    }
    if let Topology::Graph(graph) = topology {
        for (direction, chosen) in graph.directions_mut().zip(chosen) {
            direction.queue = chosen;
        }
    }
    Ok(queues)
}

/// A link that may have a queue.
struct Site {
    name: String,
    key: Option<String>,
    link: Link,
    /// In the document, where it is written there.
    path: String,
}

/// What a discipline is told of its link.
fn at(link: &LinkSpec) -> Link {
    Link { rate_bps: link.rate.nominal(), delay_s: link.mean_delay() }
}
