//! A checked scenario as JSON: every default filled in, every value in its base unit.

use earlydrop_aqm::params::Value;
use earlydrop_aqm::policy::Limit;
use serde_json::{json, Map, Value as Json};

use super::model::{Access, Delays, Dumbbell, InjectedRandom, LinkSpec, QueueSpec, Record, Scenario};
use super::traffic;

impl Scenario {
    /// The scenario in full. It is itself a scenario: reading and checking it gives an equal one.
    pub fn to_json(&self) -> Json {
        let mut queues = Map::new();
        queues.insert("bottleneck".into(), queue(&self.bottleneck_queue));
        insert(&mut queues, "reverse", self.reverse_queue.as_ref().map(queue));
        json!({
            "name": self.name,
            "duration": seconds(self.duration),
            "warmup": seconds(self.warmup),
            "seed": self.seed,
            "topology": dumbbell(&self.topology),
            "queue": queues,
            "traffic": self.traffic.iter().map(traffic::write).collect::<Vec<_>>(),
            "record": record(&self.record),
        })
    }
}

fn insert(map: &mut Map<String, Json>, key: &str, value: Option<Json>) {
    if let Some(value) = value {
        map.insert(key.to_string(), value);
    }
}

fn seconds(x: f64) -> String {
    format!("{x} s")
}

fn rate(x: f64) -> String {
    format!("{x} bit/s")
}

pub(super) fn delays(delays: &Delays) -> Json {
    match delays {
        Delays::Same(x) => seconds(*x).into(),
        Delays::List(list) => list.iter().copied().map(seconds).collect(),
        Delays::Uniform(low, high) => json!({ "uniform": [seconds(*low), seconds(*high)] }),
    }
}

fn dumbbell(dumbbell: &Dumbbell) -> Json {
    json!({
        "kind": "dumbbell",
        "pairs": dumbbell.pairs,
        "senders": access(&dumbbell.senders),
        "receivers": access(&dumbbell.receivers),
        "bottleneck": link(&dumbbell.bottleneck),
        "reverse": link(&dumbbell.reverse),
    })
}

fn access(access: &Access) -> Json {
    json!({ "rate": rate(access.rate), "delay": delays(&access.delay) })
}

fn link(link: &LinkSpec) -> Json {
    json!({ "rate": rate(link.rate), "delay": seconds(link.delay) })
}

fn queue(queue: &QueueSpec) -> Json {
    let mut map = Map::new();
    map.insert("aqm".into(), queue.spec.name.into());
    map.insert("limit".into(), limit(queue.limit).into());
    map.insert("ecn".into(), queue.ecn.into());
    insert(&mut map, "random", queue.random.map(random));
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

fn random(random: InjectedRandom) -> Json {
    match random {
        InjectedRandom::Mrg32k3a { seed, skip } => {
            json!({ "generator": "mrg32k3a", "seed": seed, "skip": skip })
        }
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
    insert(&mut map, "trace_flow", record.trace_flow.map(Json::from));
    insert(&mut map, "transfers", record.transfers.then_some(true.into()));
    map.into()
}
