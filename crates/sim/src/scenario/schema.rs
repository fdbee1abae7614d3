//! The JSON schema of a scenario, for editors and forms.
//!
//! It is made from the tables the checker reads: bounds, units and the catalogue's declarations. What a schema
//! cannot say (`min_th` below `max_th`, the flows' sum, different names) only the checker knows.

use earlydrop_aqm::catalogue::{self, AqmSpec};
use earlydrop_aqm::params::{Kind, Param, Unit, Value};
use serde_json::{json, Map, Value as Json};

use super::bounds;
use super::ends::DEFAULT_TTL;
use super::forms::{about, name, object, random, reference, whole, with_default};
use super::queue::DEFAULT_LIMIT;
use super::traffic;
use super::units::{Factors, PACKETS, RATE, SIZE, TIME};

/// The schema (JSON Schema, draft 2020-12).
pub fn schema() -> Json {
    let mut schema = object(
        &["name", "duration", "topology", "traffic"],
        json!({
            "name": name(),
            "duration": about(reference("time"), "Simulated time."),
            "warmup": about(with_default(reference("time"), "0 s"), "Start of the measured window."),
            "seed": about(with_default(whole(0, bounds::SEED), 1), "Seed of all random streams."),
            "topology": { "oneOf": topologies() },
            "node": { "type": "array", "minItems": 1, "items": node() },
            "link": { "type": "array", "minItems": 1, "items": joined() },
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
            "traffic": { "type": "array", "minItems": 1, "items": { "oneOf": traffic::KINDS.iter().map(|kind| with_ends(traffic(kind))).collect::<Vec<_>>() } },
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
        "link": object(&["rate", "delay"], link_fields(reference("time"))),
        "access": object(&["rate", "delay"], link_fields(reference("delays"))),
        "varying_rate": { "anyOf": [reference("rate"), schedule(), trace()] },
        "name_or_names": { "anyOf": [name(), { "type": "array", "items": name(), "minItems": 1 }] },
        "queue": { "oneOf": catalogue::all().iter().map(|spec| queue(spec)).chain([own_queue()]).collect::<Vec<_>>() },
    })
}

/// A queue whose discipline the catalogue does not have.
fn own_queue() -> Json {
    let known: Vec<&str> = catalogue::all().iter().map(|spec| spec.name).collect();
    json!({
        "type": "object", "required": ["aqm"],
        "properties": { "aqm": { "type": "string", "not": { "enum": known } } },
    })
}

fn topologies() -> Vec<Json> {
    let of = |kind: &str, required: &[&str], mut properties: Json| {
        properties["kind"] = json!({ "const": kind });
        object(&[&["kind"], required].concat(), properties)
    };
    let (core, access) =
        (about(reference("link"), "Links between routers."), about(reference("access"), "Links of hosts."));
    let many_to_one = || {
        json!({
            "pairs": about(whole(1, bounds::PAIRS), "Number of senders."),
            "senders": about(reference("access"), "Links between senders and bottleneck."),
            "bottleneck": reference("link"),
            "receiver": about(reference("link"), "Link between bottleneck and the one receiver."),
        })
    };
    let hosts = |low: u64, default: u64| with_default(whole(low, bounds::PAIRS), default);
    let dumbbell = json!({
        "pairs": about(whole(1, bounds::PAIRS), "Number of sender-receiver pairs."),
        "access": about(reference("access"), "Access links of both sides."),
        "senders": about(reference("access"), "Links between senders and bottleneck."),
        "receivers": about(reference("access"), "Links between bottleneck and receivers."),
        "bottleneck": reference("link"),
        "reverse": about(reference("link"), "The bottleneck's other direction; by default the same."),
    });
    let mut dumbbell = of("dumbbell", &["pairs", "bottleneck"], dumbbell);
    dumbbell["oneOf"] = json!([{ "required": ["access"] }, { "required": ["senders", "receivers"] }]);
    let parking_lot = json!({
        "bottlenecks": about(hosts(1, 2), "Bottlenecks in a row."),
        "pairs": about(hosts(0, 1), "Pairs of hosts whose flows pass all of them."),
        "cross": about(hosts(0, 1), "Pairs of hosts at each bottleneck whose flows pass it alone."),
        "access": access.clone(),
        "bottleneck": reference("link"),
        "reverse": about(reference("link"), "Each bottleneck's other direction; by default the same."),
    });
    let random = json!({
        "routers": whole(1, bounds::PAIRS),
        "degree": about(
            json!({ "type": "number", "minimum": bounds::DEGREE.low, "maximum": bounds::DEGREE.high, "default": 4 }),
            "Links between routers at each of them, on average.",
        ),
        "hosts": about(hosts(1, 1), "Hosts at each router."),
        "core": core.clone(),
        "access": access.clone(),
        "graph_seed": about(with_default(whole(0, bounds::SEED), 1), "Draws the network."),
    });
    let petals = json!({
        "petals": about(hosts(1, 5), "Routers in the ring, each with a loop."),
        "petal": about(hosts(0, 8), "Routers in a loop."),
        "core": core.clone(),
        "access": access.clone(),
    });
    let two_flow = json!({
        "first": about(reference("access"), "The link of s1."),
        "link": about(reference("access"), "Every other link."),
    });
    let pair = json!({ "type": "array", "items": name(), "minItems": 2, "maxItems": 2 });
    let pairs = json!({ "anyOf": [{ "const": "random" }, { "type": "array", "items": pair, "minItems": 1 }] });
    vec![
        dumbbell,
        of("parking_lot", &["access", "bottleneck"], parking_lot),
        of("star", &["hosts", "access"], json!({ "hosts": whole(2, bounds::PAIRS), "access": access.clone() })),
        of("sfred", &["pairs"], many_to_one()),
        of("nlred", &["pairs"], many_to_one()),
        of("bus", &[], json!({ "routers": hosts(2, 10), "core": core, "access": access })),
        of("flower", &[], petals),
        of("two_flow", &[], two_flow),
        of("random", &["routers"], random),
        of("graph", &[], json!({ "pairs": about(pairs, "Who sends to whom where traffic does not say.") })),
    ]
}

fn node() -> Json {
    let number = json!({ "type": "number", "minimum": bounds::PLACE.low, "maximum": bounds::PLACE.high });
    object(
        &["name"],
        json!({
            "name": name(),
            "router": about(json!({ "type": "boolean" }), "By default, whether it has two neighbours or more."),
            "place": about(json!({ "type": "array", "items": number, "minItems": 2, "maxItems": 2 }), "Where it is drawn."),
        }),
    )
}

fn joined() -> Json {
    let mut back = link_fields(reference("delays"));
    back["name"] = about(name(), "By default FROM>TO.");
    back["queue"] = about(name(), "The key of its [queue.KEY]; without one there is room for everything.");
    let mut there = back.clone();
    there["from"] = name();
    there["to"] = name();
    let reverse = json!({ "anyOf": [{ "const": false }, object(&[], back)] });
    there["reverse"] = about(reverse, "The other direction: by default the same rate and delay; false for none.");
    object(&["from", "to", "rate", "delay"], there)
}

fn link_fields(delay: Json) -> Json {
    json!({ "rate": reference("varying_rate"), "delay": delay, "loss": loss(), "jitter": jitter(), "reorder": reorder() })
}

fn probability() -> Json {
    json!({ "type": "number", "minimum": 0, "maximum": 1 })
}

fn loss() -> Json {
    let fields = json!({ "probability": probability(), "every": whole(1, bounds::LOSS_EVERY), "random": random() });
    about(json!({ "anyOf": [probability(), object(&[], fields)] }), "Packets lost on the wire.")
}

fn jitter() -> Json {
    let interval = json!({ "type": "array", "items": reference("time"), "minItems": 2, "maxItems": 2 });
    let fields = json!({ "uniform": interval, "keep_order": with_default(json!({ "type": "boolean" }), false) });
    about(
        json!({ "anyOf": [reference("time"), object(&["uniform"], fields)] }),
        "An extra delay, drawn for each packet.",
    )
}

fn reorder() -> Json {
    let fields = json!({ "probability": probability(), "delay": reference("time") });
    about(object(&["probability", "delay"], fields), "Packets that come later, so that others overtake them.")
}

fn schedule() -> Json {
    let step =
        json!({ "type": "array", "prefixItems": [reference("time"), reference("rate")], "minItems": 2, "maxItems": 2 });
    let fields = json!({
        "schedule": { "type": "array", "items": step, "minItems": 1 },
        "repeat": about(reference("time"), "Begins anew after this time; else the last rate stays."),
    });
    about(object(&["schedule"], fields), "A rate that changes at given times.")
}

fn trace() -> Json {
    let list = json!({ "type": "array", "items": whole(0, bounds::TRACE_MS), "minItems": 1 });
    let fields = json!({ "trace": { "anyOf": [json!({ "type": "string" }), list] } });
    about(
        object(&["trace"], fields),
        "Milliseconds at which 1500 bytes may pass, in a file as Mahimahi has them or listed.",
    )
}

/// What every entry of `[[traffic]]` may say.
fn with_ends(mut traffic: Json) -> Json {
    let fields = &mut traffic["properties"];
    fields["from"] = about(reference("name_or_names"), "Senders: names or patterns such as s*.");
    fields["to"] = about(reference("name_or_names"), "Receivers.");
    fields["ttl"] = about(with_default(whole(1, bounds::TTL), DEFAULT_TTL), "Time to live that hosts give packets.");
    fields["ttl_option"] = about(
        with_default(json!({ "enum": [true, false, "data"] }), true),
        "Which packets tell it, as DDRED needs it.",
    );
    traffic
}

fn queue(spec: &AqmSpec) -> Json {
    let mut fields = Map::new();
    fields.insert("aqm".into(), json!({ "const": spec.name }));
    fields.insert("limit".into(), with_default(reference("queue_length"), format!("{DEFAULT_LIMIT} packets")));
    fields.insert("ecn".into(), json!({ "type": "boolean", "default": false }));
    fields.insert("random".into(), random());
    for param in spec.all_params() {
        fields.insert(param.name.into(), parameter(param));
    }
    about(object(&["aqm"], fields.into()), spec.title)
}

fn parameter(param: &Param) -> Json {
    let mut schema = match param.kind {
        Kind::Choice(words) => json!({ "enum": words }),
        Kind::Flag { auto: false } => json!({ "type": "boolean" }),
        Kind::Flag { auto: true } => json!({ "enum": [true, false, "auto"] }),
        Kind::Whole { low, high } => {
            with_text(json!({ "type": "integer", "minimum": low, "maximum": high }), param.unit, false)
        }
        Kind::Real { auto, .. } => with_text(real(param.kind), param.unit, auto),
    };
    schema["description"] = param.doc.into();
    let default = match param.default {
        Value::Real(x) if !x.is_finite() => return schema,
        Value::Real(x) => json!(x),
        Value::Whole(x) => json!(x),
        Value::Flag(x) => json!(x),
        Value::QueueBytes(_) | Value::Choice(_) | Value::Auto => param.default.to_string().into(),
    };
    with_default(schema, default)
}

fn real(kind: Kind) -> Json {
    let mut schema = json!({ "type": "number" });
    if let Kind::Real { low, high, open_low, open_high, .. } = kind {
        if low.is_finite() {
            schema[if open_low { "exclusiveMinimum" } else { "minimum" }] = low.into();
        }
        if high.is_finite() {
            schema[if open_high { "exclusiveMaximum" } else { "maximum" }] = high.into();
        }
    }
    schema
}

/// The number, or a text with its unit, or "auto".
fn with_text(number: Json, unit: Unit, auto: bool) -> Json {
    let mut forms = vec![number];
    match unit {
        Unit::None => {}
        Unit::QueueLength => forms.push(text(&[PACKETS, SIZE], "A queue length.")),
        Unit::Seconds => forms.push(text(&[TIME], "A time.")),
        Unit::Bytes => forms.push(text(&[SIZE], "A size.")),
    }
    if auto {
        forms.push(json!({ "const": "auto" }));
    }
    match forms.len() {
        1 => forms.remove(0),
        _ => json!({ "anyOf": forms }),
    }
}

/// One kind of traffic.
fn traffic(kind: &traffic::Kind) -> Json {
    let mut fields = traffic::common_schema(kind);
    fields.extend((kind.schema)());
    let required: Vec<&str> = std::iter::once("kind").chain(kind.required.iter().copied()).collect();
    object(&required, fields.into())
}

fn record() -> Json {
    let flow = json!({ "type": "integer", "minimum": 1 });
    let flag = json!({ "type": "boolean", "default": false });
    let flows = json!({ "type": "array", "items": flow.clone(), "uniqueItems": true });
    let queues = json!({ "anyOf": [{ "const": "all" }, { "type": "array", "items": name(), "minItems": 1 }] });
    object(
        &[],
        json!({
            "series": about(reference("time"), "Sampling interval of the series."),
            "cwnd_flows": about(flows.clone(), "Flows whose windows are in the series."),
            "trace": about(with_default(whole(0, bounds::TRACE), 0), "Number of events to keep of each traced queue."),
            "trace_queues": about(queues.clone(), "Queues whose events are kept; by default the first."),
            "trace_flow": about(flow, "Flow whose variables are traced."),
            "transfers": about(with_default(json!({ "type": "boolean" }), false), "Keep the time of every transfer."),
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

fn text(units: &[&Factors], description: &str) -> Json {
    let names: Vec<_> = units.iter().flat_map(|table| table.iter()).map(|(name, _)| *name).collect();
    let number = r"[+-]?([0-9]+\.?[0-9]*|\.[0-9]+)([eE][+-]?[0-9]+)?";
    json!({
        "type": "string",
        "pattern": format!(r"^\s*{number}\s*({})\s*$", names.join("|")),
        "description": description,
    })
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::scenario::{check, ends, link, queue, topology};

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
        for (schema, (kind, keys)) in
            schema["properties"]["topology"]["oneOf"].as_array().expect("list").iter().zip(topology::KINDS)
        {
            assert_eq!(schema["properties"]["kind"]["const"], *kind);
            assert_eq!(self::keys(schema), sorted(&[&["kind"], *keys].concat()), "{kind}");
        }
        let kinds = schema["properties"]["topology"]["oneOf"].as_array().expect("list").len();
        assert_eq!(kinds, topology::KINDS.len());
        assert_eq!(keys(&schema["properties"]["node"]["items"]), sorted(topology::NODE));
        let joined = &schema["properties"]["link"]["items"];
        assert_eq!(keys(joined), sorted(&[topology::JOINS, link::LINK].concat()));
        assert_eq!(keys(&joined["properties"]["reverse"]["anyOf"][1]), sorted(&[topology::BACK, link::LINK].concat()));
        assert_eq!(keys(&schema["properties"]["record"]), sorted(check::RECORD));
        let entries = &schema["properties"]["traffic"]["items"]["oneOf"];
        for (schema, kind) in entries.as_array().expect("list").iter().zip(traffic::KINDS) {
            assert_eq!(keys(schema), sorted(&ends::with_ends(&kind.all_keys())), "{}", kind.name);
            assert_eq!(schema["properties"]["kind"]["const"], kind.name);
        }
        assert_eq!(entries.as_array().map(Vec::len), Some(traffic::KINDS.len()));
        let fields = &schema["$defs"]["link"]["properties"];
        assert_eq!(keys(&schema["$defs"]["link"]), sorted(link::LINK));
        assert_eq!(keys(&fields["loss"]["anyOf"][1]), sorted(link::LOSS));
        assert_eq!(keys(&fields["jitter"]["anyOf"][1]), sorted(link::JITTER));
        assert_eq!(keys(&fields["reorder"]), sorted(link::REORDER));
    }

    #[test]
    fn has_every_discipline_with_every_parameter() {
        let schema = schema();
        let queues = schema["$defs"]["queue"]["oneOf"].as_array().expect("list");
        assert_eq!(queues.len(), catalogue::all().len() + 1, "one's own is the last");
        for (schema, spec) in queues.iter().zip(catalogue::all()) {
            let mut expected: Vec<_> = queue::COMMON.to_vec();
            expected.extend(spec.all_params().map(|param| param.name));
            assert_eq!(keys(schema), sorted(&expected));
            assert_eq!(schema["properties"]["aqm"]["const"], spec.name);
        }
    }
}
