//! A checked scenario as JSON: every default filled in, every value in its base unit.

use earlydrop_aqm::params::Value;
use earlydrop_aqm::policy::Limit;
use serde_json::{json, Map, Value as Json};

use super::model::{QueueSpec, Record, Topology};
use super::traffic;
use super::values::{delays_json, random_json, seconds};
use super::whole::Scenario;
use crate::topology::{Direction, Dumbbell, Graph, LinkSpec, LossPattern, Pairs, Rate};

impl Scenario {
    /// The scenario in full. It is itself a scenario: reading and checking it gives an equal one.
    pub fn to_json(&self) -> Json {
        let mut map = Map::new();
        map.insert("name".into(), self.name.clone().into());
        map.insert("duration".into(), seconds(self.duration).into());
        map.insert("warmup".into(), seconds(self.warmup).into());
        map.insert("seed".into(), self.seed.into());
        match &self.topology {
            Topology::Dumbbell(one) => {
                map.insert("topology".into(), dumbbell(one));
            }
            Topology::Graph(graph) => {
                map.insert("topology".into(), topology(graph));
                map.insert("node".into(), nodes(graph));
                map.insert("link".into(), graph.edges.iter().map(|edge| joined(graph, edge)).collect());
            }
        }
        let own = self.queues.iter().filter_map(|one| Some((one.spec.spec.name, one.spec.own.as_deref()?)));
        let own: Map<String, Json> =
            own.map(|(name, digest)| (name.to_string(), json!({ "digest": digest }))).collect();
        insert(&mut map, "aqms", (!own.is_empty()).then(|| own.into()));
        let queues: Map<String, Json> = self.queues.iter().map(|one| (one.key.clone(), queue(&one.spec))).collect();
        map.insert("queue".into(), queues.into());
        let entries = self.traffic.iter().zip(&self.ends).map(|(one, ends)| traffic::write(one, ends));
        map.insert("traffic".into(), entries.collect());
        map.insert("record".into(), record(&self.record));
        map.into()
    }
}

impl Scenario {
    /// The network in full, whatever its kind: `node` and `link` as a scenario has them, and under `queue` the names that
    /// the queues at links have in results, by the links' names. Drawn delays are those of the scenario's seed.
    pub fn network_json(&self) -> Json {
        let graph = self.topology.graph(self.seed).into_owned().drawn(self.seed);
        let ports = self.ports(&graph);
        let queues = ports.iter().map(|port| (graph.link_name(port.link).to_string(), Json::from(port.name.clone())));
        json!({
            "node": nodes(&graph),
            "link": graph.edges.iter().map(|edge| joined(&graph, edge)).collect::<Vec<_>>(),
            "queue": queues.collect::<Map<String, Json>>(),
        })
    }
}

fn insert(map: &mut Map<String, Json>, key: &str, value: Option<Json>) {
    if let Some(value) = value {
        map.insert(key.to_string(), value);
    }
}

fn rate(x: f64) -> String {
    format!("{x} bit/s")
}

fn dumbbell(dumbbell: &Dumbbell) -> Json {
    json!({
        "kind": "dumbbell",
        "pairs": dumbbell.pairs,
        "senders": link(&dumbbell.senders),
        "receivers": link(&dumbbell.receivers),
        "bottleneck": link(&dumbbell.bottleneck),
        "reverse": link(&dumbbell.reverse),
    })
}

fn topology(graph: &Graph) -> Json {
    let name = |&node: &u32| graph.nodes[node as usize].name.clone();
    let pairs: Json = match &graph.pairs {
        Pairs::None => return json!({ "kind": "graph" }),
        Pairs::Drawn => "random".into(),
        Pairs::Listed(pairs) => pairs.iter().map(|(from, to)| json!([name(from), name(to)])).collect(),
    };
    json!({ "kind": "graph", "pairs": pairs })
}

fn nodes(graph: &Graph) -> Json {
    let node = |node: &crate::topology::Node| {
        let mut map = Map::new();
        map.insert("name".into(), node.name.clone().into());
        map.insert("router".into(), node.router.into());
        insert(&mut map, "place", node.place.map(|place| json!(place)));
        Json::from(map)
    };
    graph.nodes.iter().map(node).collect()
}

/// A link between two nodes, with its other direction.
fn joined(graph: &Graph, edge: &crate::topology::Edge) -> Json {
    let mut map = Map::new();
    map.insert("from".into(), graph.nodes[edge.from as usize].name.clone().into());
    map.insert("to".into(), graph.nodes[edge.to as usize].name.clone().into());
    direction(&mut map, &edge.there);
    let back = edge.back.as_ref().map_or(Json::Bool(false), |back| {
        let mut map = Map::new();
        direction(&mut map, back);
        map.into()
    });
    map.insert("reverse".into(), back);
    map.into()
}

fn direction(map: &mut Map<String, Json>, direction: &Direction) {
    map.insert("name".into(), direction.name.clone().into());
    if let Json::Object(fields) = link(&direction.link) {
        map.extend(fields);
    }
    insert(map, "queue", direction.queue.clone().map(Json::from));
}

fn link(link: &LinkSpec) -> Json {
    let mut map = Map::new();
    map.insert("rate".into(), varying(&link.rate));
    map.insert("delay".into(), delays_json(&link.delay));
    let loss = link.loss.as_ref().map(|loss| {
        let mut map = Map::new();
        match loss.pattern {
            LossPattern::Random(probability) => map.insert("probability".into(), probability.into()),
            LossPattern::Every(count) => map.insert("every".into(), count.into()),
        };
        insert(&mut map, "random", loss.random.map(random_json));
        map.into()
    });
    insert(&mut map, "loss", loss);
    let jitter = link.jitter.map(
        |jitter| json!({ "uniform": [seconds(jitter.low), seconds(jitter.high)], "keep_order": jitter.keeps_order }),
    );
    insert(&mut map, "jitter", jitter);
    let reorder = link.reorder.map(|late| json!({ "probability": late.probability, "delay": seconds(late.delay) }));
    insert(&mut map, "reorder", reorder);
    map.into()
}

fn varying(over_time: &Rate) -> Json {
    match over_time {
        Rate::Constant(x) => rate(*x).into(),
        Rate::Schedule { steps, repeat } => {
            let steps: Vec<[String; 2]> = steps.iter().map(|&(from, x)| [seconds(from), rate(x)]).collect();
            let mut map = Map::new();
            map.insert("schedule".into(), json!(steps));
            insert(&mut map, "repeat", repeat.map(|x| seconds(x).into()));
            map.into()
        }
        Rate::Opportunities { at_ms } => json!({ "trace": at_ms }),
    }
}

fn queue(queue: &QueueSpec) -> Json {
    let mut map = Map::new();
    map.insert("aqm".into(), queue.spec.name.into());
    map.insert("limit".into(), limit(queue.limit).into());
    map.insert("ecn".into(), queue.ecn.into());
    insert(&mut map, "random", queue.random.map(random_json));
    for param in queue.spec.all_params() {
        insert(&mut map, param.name, parameter(queue.values.get(param)));
    }
    map.into()
}

fn limit(limit: Limit) -> String {
    match limit {
        Limit::Packets(x) => format!("{x} packets"),
        Limit::Bytes(x) => format!("{x} B"),
    }
}

/// A parameter; a default that JSON cannot write (infinity) is left out and stays the default.
fn parameter(value: Value) -> Option<Json> {
    Some(match value {
        Value::Real(x) if !x.is_finite() => return None,
        Value::Real(x) => x.into(),
        Value::Whole(x) => x.into(),
        Value::Flag(x) => x.into(),
        Value::QueueBytes(_) | Value::Choice(_) | Value::Auto => value.to_string().into(),
    })
}

fn record(record: &Record) -> Json {
    let mut map = Map::new();
    insert(&mut map, "series", record.series.map(|x| seconds(x).into()));
    map.insert("cwnd_flows".into(), json!(record.cwnd_flows));
    map.insert("trace".into(), record.trace.into());
    insert(&mut map, "trace_queues", (!record.trace_queues.is_empty()).then(|| json!(record.trace_queues)));
    insert(&mut map, "trace_flow", record.trace_flow.map(Json::from));
    insert(&mut map, "transfers", record.transfers.then_some(true.into()));
    map.insert("by_flow".into(), record.by_flow.into());
    insert(&mut map, "rates", record.rates.map(|x| seconds(x).into()));
    insert(&mut map, "rate_flows", record.rates.map(|_| json!(record.rate_flows)));
    insert(&mut map, "rate_queues", (!record.rate_queues.is_empty()).then(|| json!(record.rate_queues)));
    insert(&mut map, "jitter", record.jitter.then_some(true.into()));
    insert(&mut map, "losses", record.losses.then_some(true.into()));
    insert(&mut map, "loss_rtt", record.loss_rtt.map(|x| seconds(x).into()));
    map.into()
}
