//! The JSON schema of a scenario, for editors and forms.
//!
//! It is made from the tables that the checker reads: bounds, units and the catalogue's declarations. What a schema
//! cannot say (`min_th` below `max_th`, the flows' sum, different names) only the checker knows.

use earlydrop_aqm::catalogue::{self, AqmSpec};
use earlydrop_aqm::default_limit::DefaultLimit;
use earlydrop_aqm::markers::{self, MarkerSpec};
use earlydrop_aqm::parents::{self, ParentSpec};
use serde_json::{json, Map, Value as Json};

use super::bounds;
use super::check::FLOWS;
use super::ends::ENDS;
use super::keys::{self, Row};
use super::parameters::{schema as parameter, text};
use super::schemas::{about, name, object, reference, whole, with_default};
use super::units::{PACKETS, RATE, SIZE, TIME};
use super::values::RANDOM;
use super::{link, topology, traffic};

/// The schema (JSON Schema, draft 2020-12).
pub fn schema() -> Json {
    let topologies: Vec<Json> = topology::KINDS.iter().map(topology::Kind::schema).collect();
    let entries: Vec<Json> = traffic::KINDS.iter().map(|kind| kind.schema(ENDS)).collect();
    let mut schema = object(
        &["name", "duration", "topology", "traffic"],
        json!({
            "name": name(),
            "duration": about(reference("time"), "Simulated time."),
            "warmup": about(with_default(reference("time"), "0 s"), "Start of the measured window."),
            "seed": about(with_default(whole(0, bounds::SEED), 1), "Seed of all random streams."),
            "topology": { "oneOf": topologies },
            "node": { "type": "array", "minItems": 1, "items": keys::table(topology::NODE) },
            "link": { "type": "array", "minItems": 1, "items": topology::edge_schema() },
            "aqms": about(
                json!({ "type": "object", "additionalProperties": { "anyOf": [name(), {
                    "type": "object", "additionalProperties": false,
                    "properties": { "source": name(), "digest": name() },
                }] } }),
                "Disciplines of one's own, by name: where their code is (\"mine.py:MyRed\", \"libmine.so\").",
            ),
            "queue": about(
                json!({ "type": "object", "additionalProperties": reference("queue") }),
                "Queues, by the names that the topology gives them or links call them by.",
            ),
            "traffic": { "type": "array", "minItems": 1, "items": { "oneOf": entries } },
            "record": record(),
        }),
    );
    schema["$schema"] = "https://json-schema.org/draft/2020-12/schema".into();
    schema["title"] = "earlydrop scenario".into();
    schema["$defs"] = definitions();
    schema
}

fn definitions() -> Json {
    json!({
        "rate": text(&[RATE], "A rate, such as \"10 Mbit/s\"."),
        "time": text(&[TIME], "A time, such as \"20 ms\"."),
        "size": { "anyOf": [{ "type": "number" }, text(&[SIZE], "A size, such as \"1000 B\".")] },
        "queue_length": {
            "anyOf": [{ "type": "number" }, text(&[PACKETS, SIZE], "A queue length, such as \"120 packets\".")]
        },
        "delays": { "anyOf": [reference("time"), { "type": "array", "items": reference("time"), "minItems": 1 },
            object(&["uniform"], json!({ "uniform": { "type": "array", "items": reference("time"), "minItems": 2, "maxItems": 2 } }))] },
        "starts": traffic::starts_schema(),
        "size_distribution": traffic::size_schema(),
        "time_distribution": traffic::time_schema(),
        "number_distribution": traffic::count_schema(),
        "link": keys::table(&link::rows(&link::DELAY)),
        "access": keys::table(&link::rows(&link::DELAYS)),
        "varying_rate": link::rate_schema(),
        "name_or_names": { "anyOf": [name(), { "type": "array", "items": name(), "minItems": 1 }] },
        "marker": { "oneOf": markers::all().iter().map(marker).collect::<Vec<_>>() },
        "discipline": {
            "oneOf": catalogue::all().iter().map(|spec| queue(spec)).chain([own_queue()]).collect::<Vec<_>>()
        },
        "queue": {
            "oneOf": std::iter::once(reference("discipline")).chain(parents::all().iter().map(parent)).collect::<Vec<_>>()
        },
    })
}

/// A traffic conditioner in front of a queue.
fn marker(spec: &MarkerSpec) -> Json {
    let kind = ("kind".to_string(), json!({ "const": spec.name }));
    let params = spec.all_params().map(|param| (param.name.to_string(), parameter(param)));
    about(object(&["kind"], std::iter::once(kind).chain(params).collect::<Map<_, _>>().into()), spec.title)
}

/// A shaper with a discipline as its child.
fn parent(spec: &ParentSpec) -> Json {
    let own = [("parent".to_string(), json!({ "const": spec.name })), ("child".to_string(), reference("discipline"))];
    let params = spec.params.iter().map(|param| (param.name.to_string(), parameter(param)));
    about(object(&["parent", "child"], own.into_iter().chain(params).collect::<Map<_, _>>().into()), spec.title)
}

/// A queue with a discipline that the catalogue does not have.
fn own_queue() -> Json {
    let known: Vec<&str> = catalogue::all().iter().map(|spec| spec.name).collect();
    json!({
        "type": "object", "required": ["aqm"],
        "properties": { "aqm": { "type": "string", "not": { "enum": known } } },
    })
}

fn queue(spec: &AqmSpec) -> Json {
    let mut fields = Map::new();
    fields.insert("aqm".into(), json!({ "const": spec.name }));
    fields.insert("limit".into(), limit(spec));
    fields.insert("ecn".into(), json!({ "type": "boolean", "default": false }));
    fields.insert(RANDOM.name.into(), RANDOM.schema());
    fields.insert("marker".into(), reference("marker"));
    for param in spec.all_params() {
        fields.insert(param.name.into(), parameter(param));
    }
    about(object(&["aqm"], fields.into()), spec.title)
}

fn limit(spec: &AqmSpec) -> Json {
    let products = json!({ "type": "string", "pattern": r"^\s*[+-]?[0-9.]+([eE][+-]?[0-9]+)?\s*bdp\s*$" });
    let schema = json!({ "anyOf": [reference("queue_length"), products] });
    let text = format!("The buffer; by default {} ({}).", spec.limit.text(), spec.limit.source());
    let schema = about(schema, &text);
    match spec.limit {
        DefaultLimit::Packets { packets, .. } => with_default(schema, format!("{packets} packets")),
        DefaultLimit::Rule { .. } => schema,
    }
}

fn record() -> Json {
    let flow = json!({ "type": "integer", "minimum": 1 });
    let flag = json!({ "type": "boolean", "default": false });
    let flows = json!({ "type": "array", "items": flow.clone(), "uniqueItems": true });
    let queues = json!({ "anyOf": [{ "const": "all" }, { "type": "array", "items": name(), "minItems": 1 }] });
    object(
        &[],
        json!({
            "flows": FLOWS.schema(),
            "series": about(reference("time"), "Sampling interval of the series."),
            "gauges": about(flag.clone(), "The series have the inner values of the disciplines, too."),
            "cwnd_flows": about(flows.clone(), "Flows whose windows, RTTs and pacing rates are in the series."),
            "delay_flows": about(flows.clone(), "Flows of which every packet's delay is recorded."),
            "trace": about(with_default(whole(0, bounds::TRACE), 0), "Number of events to keep of each traced queue."),
            "trace_queues": about(queues.clone(), "Queues whose events are kept; by default the first."),
            "trace_headers": about(flag.clone(), "Traced events have the packets' ECN field and TCP flags; with data both ways acknowledgement number and payload."),
            "trace_flow": about(flow, "Flow whose variables are traced."),
            "transfers": about(with_default(json!({ "type": "boolean" }), false), "Keep the time of every transfer."),
            "delay_histogram": about(flag.clone(), "Keeps the histogram of each queue's delays."),
            "by_flow": about(flag.clone(), "Counts every queue by flow and by traffic entry."),
            "rates": about(reference("time"), "Interval over which the flows' rates are averaged."),
            "rate_flows": about(flows, "Flows whose rates are recorded; by default all, if they are few."),
            "rate_queues": about(queues, "Queues at which they are recorded too; by default the first."),
            "jitter": about(flag.clone(), "Measures how the flows' delays vary."),
            "losses": about(flag, "Measures how far apart losses are, and how many flows lose at once."),
            "loss_rtt": about(reference("time"), "How long a loss event lasts; by default the flows' mean base RTT."),
        }),
    )
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::scenario::{check, ends, queue};

    fn keys(schema: &Json) -> Vec<&str> {
        let properties = schema["properties"].as_object().expect("properties");
        sorted(&properties.keys().map(String::as_str).collect::<Vec<_>>())
    }

    fn sorted<'a>(keys: &[&'a str]) -> Vec<&'a str> {
        let mut keys = keys.to_vec();
        keys.sort_unstable();
        keys
    }

    #[test]
    fn has_the_keys_the_checker_reads() {
        let schema = schema();
        assert_eq!(keys(&schema), sorted(check::SCENARIO));
        assert_eq!(keys(&schema["properties"]["record"]), sorted(check::RECORD));
        let topologies = schema["properties"]["topology"]["oneOf"].as_array().expect("list");
        assert_eq!(topologies.len(), topology::KINDS.len());
        for (schema, kind) in topologies.iter().zip(topology::KINDS) {
            assert_eq!(schema["properties"]["kind"]["const"], kind.name);
            assert_eq!(keys(schema), sorted(&kind.all_keys()), "{}", kind.name);
        }
        let entries = schema["properties"]["traffic"]["items"]["oneOf"].as_array().expect("list");
        assert_eq!(entries.len(), traffic::KINDS.len());
        for (schema, kind) in entries.iter().zip(traffic::KINDS) {
            assert_eq!(schema["properties"]["kind"]["const"], kind.name);
            assert_eq!(keys(schema), sorted(&ends::with_ends(&kind.all_keys())), "{}", kind.name);
        }
    }

    #[test]
    fn has_every_discipline_with_every_parameter() {
        let schema = schema();
        let queues = schema["$defs"]["discipline"]["oneOf"].as_array().expect("list");
        assert_eq!(queues.len(), catalogue::all().len() + 1, "one's own is the last");
        for (schema, spec) in queues.iter().zip(catalogue::all()) {
            let mut expected: Vec<_> = queue::COMMON.to_vec();
            expected.extend(spec.all_params().map(|param| param.name));
            assert_eq!(keys(schema), sorted(&expected));
            assert_eq!(schema["properties"]["aqm"]["const"], spec.name);
        }
        let parents = schema["$defs"]["queue"]["oneOf"].as_array().expect("list");
        assert_eq!(parents.len(), 1 + parents::all().len(), "a discipline, or a parent");
        for (schema, spec) in parents[1..].iter().zip(parents::all()) {
            let params = spec.params.iter().map(|param| param.name);
            assert_eq!(keys(schema), sorted(&["parent", "child"].into_iter().chain(params).collect::<Vec<_>>()));
        }
    }
}
