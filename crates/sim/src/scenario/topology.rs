//! `[topology]`, `[[node]]`, `[[link]]` and which `[queue.NAME]` stands where.

use std::collections::{BTreeMap, BTreeSet};

use super::bounds;
use super::document::Doc;
use super::error::ScenarioError;
use super::fields::{join, Checked, Field, Fields};
use super::forms::{Flag, Name, Own, Quantity, Range, Whole};
use super::keys::{self, Form, Key, Rows};
use super::link::{self, Links, DRAWN_DELAY, DRAWN_LINK};
use super::model::{Queue, Topology};
use super::nearest::{some_of, suggestion};
use super::queue;
use super::schemas::{self, about, list, pair, reference};
use crate::topology::builders::{self, ParkingLot};
use crate::topology::random::{random, Random};
use crate::topology::{Direction, Dumbbell, Edge, Graph, LinkSpec, Node, Pairs};
use serde_json::{json, Map, Value as Json};

/// A kind of topology.
pub(super) struct Kind {
    /// Its name in scenarios.
    pub name: &'static str,
    /// Its name for people.
    pub title: &'static str,
    /// What it is.
    pub about: &'static str,
    /// Its keys, `kind` left out.
    pub keys: Rows,
    build: fn(&Build<'_>) -> Checked<Topology>,
}

impl Kind {
    /// All keys of a table of this kind.
    pub fn all_keys(&self) -> Vec<&'static str> {
        std::iter::once("kind").chain(keys::names(self.keys)).collect()
    }

    /// The schema of a table of this kind.
    pub fn schema(&self) -> Json {
        let mut schema = about(keys::table(self.keys), self.about);
        schema["title"] = self.title.into();
        schema["properties"]["kind"] = json!({ "const": self.name });
        let required: Vec<Json> = schema["required"].as_array().into_iter().flatten().cloned().collect();
        schema["required"] = std::iter::once(Json::from("kind")).chain(required).collect();
        if self.name == "dumbbell" {
            schema["oneOf"] = json!([{ "required": ["access"] }, { "required": ["senders", "receivers"] }]);
        }
        schema
    }
}

/// A link in one table: a link of which there is one, or one for each of many hosts.
pub(super) struct Link {
    many: bool,
}

const ONE: Link = Link { many: false };
const MANY: Link = Link { many: true };

impl Form for Link {
    type Value = LinkSpec;

    fn write(&self, value: &LinkSpec) -> Json {
        let mut map = Map::new();
        link::write(value, &mut map);
        map.into()
    }

    fn schema(&self) -> Json {
        reference(if self.many { "access" } else { "link" })
    }

    fn wanted(&self) -> String {
        "{ rate = ..., delay = ... }".into()
    }

    fn kind(&self) -> String {
        if self.many { "links" } else { "link" }.into()
    }
}

/// How many there are of something, from `low` on.
const fn number(low: u64) -> Whole {
    Whole { low, high: bounds::PAIRS }
}

static PAIRS: Key<Whole> = Key::required("pairs", number(1), "Number of sender-receiver pairs.");
static BOTTLENECK: Key<Link> = Key::required("bottleneck", ONE, "The bottleneck.");
static REVERSE: Key<Link> =
    Key::optional("reverse", ONE, "rate and delay of `bottleneck`", "The bottleneck's other direction.");
static BOTH_SIDES: Key<Link> =
    Key::optional("access", MANY, "`senders` and `receivers`", "Access links of both sides.");
static LEFT: Key<Link> = Key::optional("senders", MANY, "as `access`", "Links between senders and bottleneck.");
static RIGHT: Key<Link> = Key::optional("receivers", MANY, "as `access`", "Links between bottleneck and receivers.");
static ACCESS: Key<Link> = Key::required("access", MANY, "Links of hosts.");
static BOTTLENECKS: Key<Whole> = Key::or("bottlenecks", number(1), 2, "Bottlenecks in a row.");
static LONG_PAIRS: Key<Whole> = Key::or("pairs", number(0), 1, "Pairs of hosts whose flows pass all bottlenecks.");
static CROSS: Key<Whole> =
    Key::or("cross", number(0), 1, "Pairs of hosts at each bottleneck whose flows pass that one alone.");
static EACH_REVERSE: Key<Link> =
    Key::optional("reverse", ONE, "rate and delay of `bottleneck`", "Each bottleneck's other direction.");
static STAR_HOSTS: Key<Whole> = Key::required("hosts", number(2), "Number of hosts.");
static SENDERS: Key<Whole> = Key::required("pairs", number(1), "Number of senders.");
static SFRED: [Key<Link>; 3] = many_to_one([(10e6, 0.01), (1.5e6, 0.01), (10e6, 0.005)]);
static NLRED: [Key<Link>; 3] = many_to_one([(100e6, 0.005), (10e6, 0.02), (100e6, 0.005)]);
// DDRED's networks: 10 Mbit/s. The paper gives no delays; 5 ms between routers and 1 ms to hosts are our choice.
static CORE: Key<Link> = Key::or("core", ONE, LinkSpec::constant(10e6, 0.005), "Links between routers.");
static CORE_ACCESS: Key<Link> = Key::or("access", MANY, LinkSpec::constant(10e6, 0.001), "Links of hosts.");
static ROUTERS_IN_LINE: Key<Whole> = Key::or("routers", number(2), 10, "Routers in a line, each with a workstation.");
static PETALS: Key<Whole> = Key::or("petals", number(1), 5, "Routers in the ring, each with a loop.");
static PETAL: Key<Whole> = Key::or("petal", number(0), 8, "Routers in a loop.");
static FIRST: Key<Link> = Key::optional("first", MANY, "as `link`", "The link of `s1`.");
static LINK: Key<Link> = Key::or("link", MANY, LinkSpec::constant(10e6, 0.001), "Every other link.");
static ROUTERS: Key<Whole> = Key::required("routers", number(1), "Number of routers.");
static DEGREE: Key<Quantity> =
    Key::or("degree", Quantity::number(bounds::DEGREE), 4.0, "Links to other routers at each router, on average.");
static ROUTER_HOSTS: Key<Whole> = Key::or("hosts", number(1), 1, "Hosts at each router.");
static GRAPH_SEED: Key<Whole> =
    Key::or("graph_seed", Whole { low: 0, high: bounds::SEED }, 1, "Seed from which the graph is drawn.");
static GRAPH_PAIRS: Key<Own<Pairs, ()>> = Key::optional(
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

const fn many_to_one([senders, bottleneck, receiver]: [(f64, f64); 3]) -> [Key<Link>; 3] {
    const fn link((rate_bps, delay_s): (f64, f64)) -> LinkSpec {
        LinkSpec::constant(rate_bps, delay_s)
    }
    [
        Key::or("senders", MANY, link(senders), "Links between senders and bottleneck."),
        Key::or("bottleneck", ONE, link(bottleneck), "The bottleneck."),
        Key::or("receiver", ONE, link(receiver), "Link between bottleneck and the one receiver."),
    ]
}

/// All kinds, in the order in which people see them.
pub(super) const KINDS: &[Kind] = &[
    Kind {
        name: "dumbbell",
        title: "Dumbbell",
        about: "Pairs of senders and receivers on either side of one bottleneck",
        keys: &[&PAIRS, &BOTH_SIDES, &LEFT, &RIGHT, &BOTTLENECK, &REVERSE],
        build: |build| Ok(Topology::Dumbbell(Box::new(build.dumbbell()?))),
    },
    Kind {
        name: "parking_lot",
        title: "Parking lot",
        about: "Bottlenecks in a row, with flows over all of them and over each",
        keys: &[&BOTTLENECKS, &LONG_PAIRS, &CROSS, &ACCESS, &BOTTLENECK, &EACH_REVERSE],
        build: |build| build.parking_lot().map(Topology::Graph),
    },
    Kind {
        name: "star",
        title: "Star",
        about: "Hosts round one router; all others send to the first",
        keys: &[&STAR_HOSTS, &ACCESS],
        build: |build| Ok(Topology::Graph(builders::star(build.whole(&STAR_HOSTS)?, &build.link(&ACCESS)?))),
    },
    Kind {
        name: "sfred",
        title: "SFRED's network",
        about: "Senders, a bottleneck of 1.5 Mbit/s, one receiver",
        keys: &[&SENDERS, &SFRED[0], &SFRED[1], &SFRED[2]],
        build: |build| build.many_to_one(&SFRED).map(Topology::Graph),
    },
    Kind {
        name: "nlred",
        title: "NLRED's network",
        about: "Senders, a bottleneck of 10 Mbit/s, one receiver",
        keys: &[&SENDERS, &NLRED[0], &NLRED[1], &NLRED[2]],
        build: |build| build.many_to_one(&NLRED).map(Topology::Graph),
    },
    Kind {
        name: "bus",
        title: "DDRED's bus",
        about: "Routers in a line, each with a workstation",
        keys: &[&ROUTERS_IN_LINE, &CORE, &CORE_ACCESS],
        build: |build| {
            let [core, access] = build.core_and_access()?;
            Ok(Topology::Graph(builders::bus(build.whole(&ROUTERS_IN_LINE)?, &core, &access)))
        },
    },
    Kind {
        name: "flower",
        title: "DDRED's flower",
        about: "A ring of routers, each with a loop of more",
        keys: &[&PETALS, &PETAL, &CORE, &CORE_ACCESS],
        build: |build| {
            let [core, access] = build.core_and_access()?;
            let (petals, petal) = (build.whole(&PETALS)?, build.whole(&PETAL)?);
            build.at_most("petal", u64::from(petals) * (u64::from(petal) + 1), "routers")?;
            Ok(Topology::Graph(builders::flower(petals, petal, &core, &access)))
        },
    },
    Kind {
        name: "two_flow",
        title: "DDRED's two flows",
        about: "A flow over two routers and one over the second of them",
        keys: &[&FIRST, &LINK],
        build: |build| {
            let all = build.link(&LINK)?;
            Ok(Topology::Graph(builders::two_flow(&build.link_or(&FIRST, &all)?, &all)))
        },
    },
    Kind {
        name: "random",
        title: "Random network",
        about: "Routers joined at random, each with hosts",
        keys: &[&ROUTERS, &DEGREE, &ROUTER_HOSTS, &CORE, &CORE_ACCESS, &GRAPH_SEED],
        build: |build| build.random().map(Topology::Graph),
    },
    Kind {
        name: "graph",
        title: "Any graph",
        about: "Nodes and links as [[node]] and [[link]] list them",
        keys: &[&GRAPH_PAIRS],
        build: |build| graph(build).map(Topology::Graph),
    },
];

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
pub(super) const NODE: Rows = &[&NODE_NAME, &ROUTER, &PLACE];

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
    "the same rate and delay",
    "The other direction; `false` for a link in one direction alone.",
);
/// Keys of a link between two nodes, those of every link left out.
pub(super) const JOINS: Rows = &[&FROM, &TO, &LINK_NAME, &QUEUE, &OTHER_WAY];
/// Keys of a link's other direction, those of every link left out.
pub(super) const BACK: Rows = &[&LINK_NAME, &QUEUE];

/// Reads the topology of the scenario whose fields are `scenario`.
pub(super) fn read(scenario: &Fields<'_>, links: Links<'_>) -> Checked<Topology> {
    let field = scenario.required("topology", "a table [topology]")?;
    let names = || KINDS.iter().map(|kind| kind.name);
    let Doc::Table(_) = field.doc else { return Err(field.wrong_type("a table [topology]")) };
    let name = match field.doc.get("kind") {
        Some(doc) => Field { doc, path: join(&field.path, "kind") }.word(names())?,
        None => "dumbbell",
    };
    let kind = KINDS.iter().find(|kind| kind.name == name).unwrap_or(&KINDS[0]);
    let fields = field.table(&kind.all_keys())?;
    if fields.optional("kind").is_none() {
        return Err(fields.missing("kind").allowed(super::error::quoted_list(names())));
    }
    for key in ["node", "link"] {
        if let Some(field) = scenario.optional(key).filter(|_| name != "graph") {
            let message = format!("belongs to a topology of the kind \"graph\", not \"{name}\"");
            return Err(ScenarioError::new(field.path, message));
        }
    }
    (kind.build)(&Build { scenario, fields, links })
}

/// What topologies are built from.
struct Build<'a> {
    /// The scenario's own fields.
    scenario: &'a Fields<'a>,
    /// The fields of `[topology]`.
    fields: Fields<'a>,
    links: Links<'a>,
}

impl Build<'_> {
    fn whole(&self, key: &Key<Whole>) -> Checked<u32> {
        key.read(&self.fields).map(|x| x as u32)
    }

    fn at_most(&self, key: &str, count: u64, what: &str) -> Checked<()> {
        if count <= bounds::PAIRS {
            return Ok(());
        }
        Err(ScenarioError::new(join(&self.fields.path, key), format!("makes too many {what}"))
            .given(count.to_string())
            .allowed(bounds::PAIRS.to_string()))
    }

    fn link(&self, key: &Key<Link>) -> Checked<LinkSpec> {
        match key.field_or_default(&self.fields)? {
            Ok(field) => self.links.read(&field, key.form.many),
            Err(default) => Ok(default),
        }
    }

    fn link_or(&self, key: &Key<Link>, default: &LinkSpec) -> Checked<LinkSpec> {
        let field = key.field(&self.fields);
        field.map_or_else(|| Ok(default.clone()), |field| self.links.read(&field, key.form.many))
    }

    fn dumbbell(&self) -> Checked<Dumbbell> {
        let pairs = self.whole(&PAIRS)?;
        let (senders, receivers) = self.both_sides()?;
        let bottleneck = self.link(&BOTTLENECK)?;
        let reverse = self.link_or(&REVERSE, &plain(&bottleneck))?;
        Ok(Dumbbell { pairs, senders, receivers, bottleneck, reverse })
    }

    /// `access` for both sides, or `senders` and `receivers` apart.
    fn both_sides(&self) -> Checked<(LinkSpec, LinkSpec)> {
        const WANTED: &str = "access for both sides, or senders and receivers apart";
        let fields = &self.fields;
        let sides = [LEFT.field(fields), RIGHT.field(fields)];
        match (BOTH_SIDES.field(fields), sides) {
            (None, [None, None]) => Err(fields.missing(BOTH_SIDES.name).allowed(WANTED)),
            (None, _) => {
                let side = |key: &Key<Link>| self.links.many(&fields.required(key.name, WANTED)?);
                Ok((side(&LEFT)?, side(&RIGHT)?))
            }
            (Some(field), [None, None]) => self.links.many(&field).map(|both| (both.clone(), both)),
            (Some(_), [Some(side), _] | [None, Some(side)]) => {
                Err(ScenarioError::new(side.path, "is given twice, here and by access").allowed(WANTED))
            }
        }
    }

    fn parking_lot(&self) -> Checked<Graph> {
        let bottleneck = self.link(&BOTTLENECK)?;
        let parts = ParkingLot {
            bottlenecks: self.whole(&BOTTLENECKS)?,
            pairs: self.whole(&LONG_PAIRS)?,
            cross: self.whole(&CROSS)?,
            access: self.link(&ACCESS)?,
            reverse: self.link_or(&EACH_REVERSE, &plain(&bottleneck))?,
            bottleneck,
        };
        let hosts = u64::from(parts.pairs) + u64::from(parts.bottlenecks) * u64::from(parts.cross);
        if hosts == 0 {
            let wanted = "a pair of hosts, all the way or across a bottleneck";
            return Err(self.fields.missing(LONG_PAIRS.name).allowed(wanted));
        }
        self.at_most(CROSS.name, hosts + u64::from(parts.bottlenecks), "hosts and routers")?;
        Ok(builders::parking_lot(&parts))
    }

    fn many_to_one(&self, links: &[Key<Link>; 3]) -> Checked<Graph> {
        let [senders, bottleneck, receiver] = [self.link(&links[0])?, self.link(&links[1])?, self.link(&links[2])?];
        Ok(builders::many_to_one(self.whole(&SENDERS)?, &senders, &bottleneck, &receiver))
    }

    fn core_and_access(&self) -> Checked<[LinkSpec; 2]> {
        Ok([self.link(&CORE)?, self.link(&CORE_ACCESS)?])
    }

    fn random(&self) -> Checked<Graph> {
        let degree = DEGREE.read(&self.fields)?;
        let [core, access] = self.core_and_access()?;
        let routers = self.whole(&ROUTERS)?;
        let hosts = self.whole(&ROUTER_HOSTS)?;
        self.at_most(ROUTER_HOSTS.name, u64::from(routers) * (1 + u64::from(hosts)), "hosts and routers")?;
        self.at_most(DEGREE.name, (0.5 * degree * f64::from(routers)) as u64, "links")?;
        let seed = GRAPH_SEED.read(&self.fields)?;
        Ok(random(&Random { routers, degree, hosts, core, access, seed }))
    }
}

/// The other direction of a link: rate and delay, not loss, jitter or reordering.
fn plain(link: &LinkSpec) -> LinkSpec {
    LinkSpec::new(link.rate.clone(), link.delay.clone())
}

/// Any graph, from `[[node]]` and `[[link]]`.
fn graph(build: &Build<'_>) -> Checked<Graph> {
    const LINKS: &str = "one or more tables [[link]]";
    let mut nodes = Nodes::default();
    if let Some(field) = build.scenario.optional("node") {
        for entry in field.items("tables [[node]]")? {
            nodes.add(&entry)?;
        }
        nodes.listed = true;
    }
    let mut graph = Graph::default();
    let (mut names, mut joined) = (BTreeSet::new(), BTreeSet::new());
    for entry in build.scenario.required("link", LINKS)?.items(LINKS)? {
        let fields = entry.rows(&[JOINS, DRAWN_LINK].concat())?;
        let from = nodes.end(&fields, &FROM)?;
        let to = nodes.end(&fields, &TO)?;
        if from == to {
            return Err(ScenarioError::new(join(&fields.path, "to"), "is where the link begins")
                .given(format!("{:?}", nodes.nodes[to as usize].name))
                .allowed("another node"));
        }
        let there = direction(&fields, build.links, None, || nodes.link_name(from, to))?;
        let back = match OTHER_WAY.field(&fields) {
            Some(field) if matches!(field.doc, Doc::Bool(false)) => None,
            None => Some(Direction { name: nodes.link_name(to, from), link: plain(&there.link), queue: None }),
            Some(field) => {
                let Doc::Table(_) = field.doc else { return Err(field.wrong_type(OTHER_WAY.form.wanted)) };
                let fields = field.rows(&[BACK, DRAWN_LINK].concat())?;
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
        name: LINK_NAME.given(fields)?.unwrap_or_else(default_name),
        link: links.spec(fields, &DRAWN_DELAY, default)?,
        queue: QUEUE.given(fields)?,
    })
}

/// A link between two nodes as a document has it.
pub(super) fn write_edge(graph: &Graph, edge: &Edge) -> Json {
    let mut map = Map::new();
    FROM.write(&graph.nodes[edge.from as usize].name, &mut map);
    TO.write(&graph.nodes[edge.to as usize].name, &mut map);
    write_direction(&edge.there, &mut map);
    match &edge.back {
        Some(back) => OTHER_WAY.write(back, &mut map),
        None => drop(map.insert(OTHER_WAY.name.into(), false.into())),
    }
    map.into()
}

fn write_direction(direction: &Direction, map: &mut Map<String, Json>) {
    LINK_NAME.write(&direction.name, map);
    link::write(&direction.link, map);
    QUEUE.write_given(direction.queue.as_ref(), map);
}

/// A node as a document has it.
pub(super) fn write_node(node: &Node) -> Json {
    let mut map = Map::new();
    NODE_NAME.write(&node.name, &mut map);
    ROUTER.write(&node.router, &mut map);
    PLACE.write_given(node.place.as_ref(), &mut map);
    map.into()
}

/// A dumbbell's table as a document has it.
pub(super) fn write_dumbbell(dumbbell: &Dumbbell) -> Json {
    let mut map = Map::new();
    map.insert("kind".into(), "dumbbell".into());
    PAIRS.write(&dumbbell.pairs.into(), &mut map);
    LEFT.write(&dumbbell.senders, &mut map);
    RIGHT.write(&dumbbell.receivers, &mut map);
    BOTTLENECK.write(&dumbbell.bottleneck, &mut map);
    REVERSE.write(&dumbbell.reverse, &mut map);
    map.into()
}

/// A graph's table as a document has it, without its nodes and links.
pub(super) fn write_graph(graph: &Graph) -> Json {
    let name = |&node: &u32| graph.nodes[node as usize].name.clone();
    let mut map = Map::new();
    map.insert("kind".into(), "graph".into());
    let pairs: Option<Json> = match &graph.pairs {
        Pairs::None => None,
        Pairs::Drawn => Some("random".into()),
        Pairs::Listed(pairs) => Some(pairs.iter().map(|(from, to)| json!([name(from), name(to)])).collect()),
    };
    map.extend(pairs.map(|pairs| (GRAPH_PAIRS.name.to_string(), pairs)));
    map.into()
}

/// The schema of a `[[link]]`.
pub(super) fn edge_schema() -> Json {
    keys::table(&[JOINS, DRAWN_LINK].concat())
}

/// The schema of its other direction, in which nothing must be given.
fn back_schema() -> Json {
    let mut schema = keys::table(&[BACK, DRAWN_LINK].concat());
    schema["required"] = json!([]);
    schema
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
    const WANTED: &str = PAIRS_WANTED;
    let Some(field) = GRAPH_PAIRS.field(fields) else { return Ok(Pairs::None) };
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
pub(super) fn queues(field: Option<Field<'_>>, topology: &mut Topology, written: bool) -> Checked<Vec<Queue>> {
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
        let mut links: Vec<earlydrop_aqm::Link> = Vec::new();
        for (site, chosen) in sites.iter().zip(&chosen) {
            if chosen.as_deref() == Some(key) && !links.contains(&site.link) {
                links.push(site.link);
            }
        }
        if links.is_empty() {
            return Err(ScenarioError::new(field.path, "is the queue of no link")
                .allowed("a queue that a link has, or none: each of its links has one of its own"));
        }
        queues.push(Queue { key: key.to_string(), spec: queue::read(&field, &links)? });
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
    link: earlydrop_aqm::Link,
    /// In the document, where it is written there.
    path: String,
}

/// What a discipline is told of its link.
fn at(link: &LinkSpec) -> earlydrop_aqm::Link {
    earlydrop_aqm::Link { rate_bps: link.rate.nominal(), delay_s: link.mean_delay() }
}
