//! A checked scenario as JSON: every default filled in, every value in its base unit.

use earlydrop_aqm::policy::Limit;
use serde_json::{json, Map, Value as Json};

use super::check::FLOWS;
use super::model::{FlowRecord, Marker, Parent, QueueSpec, Record, Topology};
use super::parameters::written as parameter;
use super::values::{seconds, RANDOM};
use super::whole::Scenario;
use super::{topology, traffic};

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
                map.insert("topology".into(), topology::write_dumbbell(one));
            }
            Topology::Graph(graph) => {
                map.insert("topology".into(), topology::write_graph(graph));
                map.insert("node".into(), graph.nodes.iter().map(topology::write_node).collect());
                map.insert("link".into(), graph.edges.iter().map(|edge| topology::write_edge(graph, edge)).collect());
            }
        }
        let own = self.queues.iter().filter_map(|one| Some((one.spec.spec.name, one.spec.own.as_deref()?)));
        let own: Map<String, Json> =
            own.map(|(name, digest)| (name.to_string(), json!({ "digest": digest }))).collect();
        insert(&mut map, "aqms", (!own.is_empty()).then(|| own.into()));
        let queues: Map<String, Json> = self.queues.iter().map(|one| (one.key.clone(), queue(&one.spec))).collect();
        map.insert("queue".into(), queues.into());
        let entries = self.traffic.iter().zip(&self.ends).map(|(one, ends)| traffic::write(one, ends, &self.traffic));
        map.insert("traffic".into(), entries.collect());
        map.insert("record".into(), record(&self.record));
        map.into()
    }
}

impl Scenario {
    /// The network in full, whatever its kind: `node` and `link` as a scenario has them, and under `queue` the names
    /// that queues have in results, by the names of their links. Drawn delays are those of the scenario's seed.
    ///
    /// It is text, written item by item: as a tree of values, 200,000 pairs of hosts take gigabytes.
    pub fn network_text(&self) -> String {
        let graph = self.topology.drawn(self.seed);
        let ports = self.ports(&graph);
        let queues = ports.iter().map(|port| (graph.link_name(port.link).to_string(), Json::from(port.name.clone())));
        let mut text = String::new();
        write_list(&mut text, "{\"node\":", graph.nodes.iter().map(topology::write_node));
        write_list(&mut text, ",\"link\":", graph.edges.iter().map(|edge| topology::write_edge(&graph, edge)));
        text.push_str(",\"queue\":");
        text.push_str(&Json::from(queues.collect::<Map<String, Json>>()).to_string());
        text.push('}');
        text
    }
}

fn write_list(text: &mut String, head: &str, items: impl Iterator<Item = Json>) {
    text.push_str(head);
    let mut mark = '[';
    for item in items {
        text.push(mark);
        text.push_str(&item.to_string());
        mark = ',';
    }
    text.push_str(if mark == '[' { "[]" } else { "]" });
}

fn insert(map: &mut Map<String, Json>, key: &str, value: Option<Json>) {
    if let Some(value) = value {
        map.insert(key.to_string(), value);
    }
}

fn queue(queue: &QueueSpec) -> Json {
    let child = discipline(queue);
    let Some(Parent { spec, values }) = &queue.parent else { return child };
    let params = spec.params.iter().filter_map(|param| Some((param.name.to_string(), parameter(values.get(param))?)));
    let parent = std::iter::once(("parent".to_string(), spec.name.into())).chain(params);
    parent.chain([("child".to_string(), child)]).collect::<Map<_, _>>().into()
}

fn discipline(queue: &QueueSpec) -> Json {
    let mut map = Map::new();
    map.insert("aqm".into(), queue.spec.name.into());
    map.insert("limit".into(), limit(queue.limit).into());
    map.insert("ecn".into(), queue.ecn.into());
    RANDOM.write_given(queue.random.as_ref(), &mut map);
    for param in queue.spec.all_params() {
        insert(&mut map, param.name, parameter(queue.values.get(param)));
    }
    if let Some(Marker { spec, values }) = &queue.marker {
        let params =
            spec.all_params().filter_map(|param| Some((param.name.to_string(), parameter(values.get(param))?)));
        let marker = std::iter::once(("kind".to_string(), spec.name.into())).chain(params);
        map.insert("marker".into(), marker.collect::<Map<_, _>>().into());
    }
    map.into()
}

fn limit(limit: Limit) -> String {
    match limit {
        Limit::Packets(x) => format!("{x} packets"),
        Limit::Bytes(x) => format!("{x} B"),
    }
}

fn record(record: &Record) -> Json {
    let mut map = Map::new();
    FLOWS.write_given(Some(&record.flows).filter(|flows| **flows != FlowRecord::default()), &mut map);
    insert(&mut map, "series", record.series.map(|x| seconds(x).into()));
    insert(&mut map, "gauges", record.gauges.then_some(true.into()));
    map.insert("cwnd_flows".into(), json!(record.cwnd_flows));
    map.insert("trace".into(), record.trace.into());
    insert(&mut map, "trace_queues", (!record.trace_queues.is_empty()).then(|| json!(record.trace_queues)));
    insert(&mut map, "trace_headers", record.trace_headers.then_some(true.into()));
    insert(&mut map, "trace_flow", record.trace_flow.map(Json::from));
    insert(&mut map, "transfers", record.transfers.then_some(true.into()));
    insert(&mut map, "delay_histogram", record.delay_histogram.then_some(true.into()));
    map.insert("by_flow".into(), record.by_flow.into());
    insert(&mut map, "rates", record.rates.map(|x| seconds(x).into()));
    insert(&mut map, "rate_flows", record.rates.map(|_| json!(record.rate_flows)));
    insert(&mut map, "rate_queues", (!record.rate_queues.is_empty()).then(|| json!(record.rate_queues)));
    insert(&mut map, "jitter", record.jitter.then_some(true.into()));
    insert(&mut map, "delay_flows", (!record.delay_flows.is_empty()).then(|| json!(record.delay_flows)));
    insert(&mut map, "losses", record.losses.then_some(true.into()));
    insert(&mut map, "loss_rtt", record.loss_rtt.map(|x| seconds(x).into()));
    map.into()
}
