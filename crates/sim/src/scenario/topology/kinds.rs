//! Kinds of topologies: their keys, and how each is built.

use super::super::bounds;
use super::super::document::Doc;
use super::super::error::{quoted_list, ScenarioError};
use super::super::fields::{join, Checked, Field, Fields};
use super::super::forms::{Quantity, Whole};
use super::super::keys::{self, Form, Key, Rows};
use super::super::link::{self, Links};
use super::super::model::Topology;
use super::super::schemas::{about, reference};
use super::{graph, plain};
use crate::topology::builders::{self, ParkingLot};
use crate::topology::random::{random, Random};
use crate::topology::{Dumbbell, Graph, LinkSpec};
use serde_json::{json, Map, Value as Json};

/// A kind of topology.
pub(in crate::scenario) struct Kind {
    /// The kind's name in scenarios.
    pub name: &'static str,
    /// The kind's name for people.
    pub title: &'static str,
    /// What the kind is.
    pub about: &'static str,
    /// The kind's keys, without `kind`.
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

/// A link in one table: a single link, or one for each of many hosts.
pub(in crate::scenario) struct Link {
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

/// The number of hosts whose links have no queues, from `low` on.
const fn hosts(low: u64) -> Whole {
    Whole { low, high: bounds::HOSTS }
}

/// The number of routers, or of hosts behind a queue each, from `low` on.
const fn routers(low: u64) -> Whole {
    Whole { low, high: bounds::ROUTERS }
}

static PAIRS: Key<Whole> = Key::required("pairs", hosts(1), "Number of sender-receiver pairs.");
static BOTTLENECK: Key<Link> = Key::required("bottleneck", ONE, "The bottleneck.");
static REVERSE: Key<Link> =
    Key::optional("reverse", ONE, "rate and delay of `bottleneck`", "The bottleneck's other direction.");
static BOTH_SIDES: Key<Link> =
    Key::optional("access", MANY, "`senders` and `receivers`", "Access links of both sides.");
static LEFT: Key<Link> = Key::optional("senders", MANY, "as `access`", "Links between senders and bottleneck.");
static RIGHT: Key<Link> = Key::optional("receivers", MANY, "as `access`", "Links between bottleneck and receivers.");
static ACCESS: Key<Link> = Key::required("access", MANY, "Links of hosts.");
static BOTTLENECKS: Key<Whole> = Key::or("bottlenecks", routers(1), 2, "Bottlenecks in a row.");
static LONG_PAIRS: Key<Whole> = Key::or("pairs", hosts(0), 1, "Pairs of hosts whose flows pass all bottlenecks.");
static CROSS: Key<Whole> =
    Key::or("cross", hosts(0), 1, "Pairs of hosts at each bottleneck whose flows pass that one alone.");
static EACH_REVERSE: Key<Link> =
    Key::optional("reverse", ONE, "rate and delay of `bottleneck`", "Each bottleneck's other direction.");
static STAR_HOSTS: Key<Whole> = Key::required("hosts", routers(2), "Number of hosts.");
static SENDERS: Key<Whole> = Key::required("pairs", hosts(1), "Number of senders.");
static SFRED: [Key<Link>; 3] = many_to_one([(10e6, 0.01), (1.5e6, 0.01), (10e6, 0.005)]);
static NLRED: [Key<Link>; 3] = many_to_one([(100e6, 0.005), (10e6, 0.02), (100e6, 0.005)]);
// DDRED's networks: 10 Mbit/s. The paper gives no delays; 5 ms between routers and 1 ms to hosts are our choice.
static CORE: Key<Link> = Key::or("core", ONE, LinkSpec::constant(10e6, 0.005), "Links between routers.");
static CORE_ACCESS: Key<Link> = Key::or("access", MANY, LinkSpec::constant(10e6, 0.001), "Links of hosts.");
static ROUTERS_IN_LINE: Key<Whole> = Key::or("routers", routers(2), 10, "Routers in a line, each with a workstation.");
static PETALS: Key<Whole> = Key::or("petals", routers(1), 5, "Routers in the ring, each with a loop.");
static PETAL: Key<Whole> = Key::or("petal", routers(0), 8, "Routers in a loop.");
static FIRST: Key<Link> = Key::optional("first", MANY, "as `link`", "The link of `s1`.");
static LINK: Key<Link> = Key::or("link", MANY, LinkSpec::constant(10e6, 0.001), "Every other link.");
static ROUTERS: Key<Whole> = Key::required("routers", routers(1), "Number of routers.");
static DEGREE: Key<Quantity> =
    Key::or("degree", Quantity::number(bounds::DEGREE), 4.0, "Links to other routers at each router, on average.");
static ROUTER_HOSTS: Key<Whole> = Key::or("hosts", hosts(1), 1, "Hosts at each router.");
static GRAPH_SEED: Key<Whole> =
    Key::or("graph_seed", Whole { low: 0, high: bounds::SEED }, 1, "Seed from which the graph is drawn.");
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
pub(in crate::scenario) const KINDS: &[Kind] = &[
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
            build.at_most("petal", u64::from(petals) * (u64::from(petal) + 1), bounds::ROUTERS, "routers")?;
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
        keys: &[&graph::PAIRS],
        build: |build| graph::read(build.scenario, &build.fields, build.links).map(Topology::Graph),
    },
];

/// Reads the topology of the scenario whose fields are `scenario`.
pub(in crate::scenario) fn read(scenario: &Fields<'_>, links: Links<'_>) -> Checked<Topology> {
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
        return Err(fields.missing("kind").allowed(quoted_list(names())));
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

    fn at_most(&self, key: &str, count: u64, most: u64, what: &str) -> Checked<()> {
        if count <= most {
            return Ok(());
        }
        Err(ScenarioError::new(join(&self.fields.path, key), format!("makes too many {what}"))
            .given(count.to_string())
            .allowed(most.to_string()))
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

    /// `access` for both sides, or `senders` and `receivers`.
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
        self.at_most(CROSS.name, hosts + u64::from(parts.bottlenecks), bounds::HOSTS, "hosts and routers")?;
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
        let nodes = u64::from(routers) * (1 + u64::from(hosts));
        self.at_most(ROUTER_HOSTS.name, nodes, bounds::ROUTERS, "hosts and routers")?;
        self.at_most(DEGREE.name, (0.5 * degree * f64::from(routers)) as u64, bounds::ROUTERS, "links")?;
        let seed = GRAPH_SEED.read(&self.fields)?;
        Ok(random(&Random { routers, degree, hosts, core, access, seed }))
    }
}

/// A dumbbell's table as a document has it.
pub(in crate::scenario) fn write_dumbbell(dumbbell: &Dumbbell) -> Json {
    let mut map = Map::new();
    map.insert("kind".into(), "dumbbell".into());
    PAIRS.write(&dumbbell.pairs.into(), &mut map);
    LEFT.write(&dumbbell.senders, &mut map);
    RIGHT.write(&dumbbell.receivers, &mut map);
    BOTTLENECK.write(&dumbbell.bottleneck, &mut map);
    REVERSE.write(&dumbbell.reverse, &mut map);
    map.into()
}
