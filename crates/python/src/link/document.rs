//! The result document of a link, and the state that it shows while it runs (docs/results.md, docs/link.md).

use super::PyLink;
use earlydrop_aqm::gate::Counters;
use earlydrop_link::flows::Flow;
use earlydrop_link::link::Outcome;
use earlydrop_link::roles::{roles, Role};
use earlydrop_link::run::{PathOutcome, Series, View};
use earlydrop_net::measure::{coefficient_of_variation, jain};
use earlydrop_sim::fields::{self, add, field, rows, Fields, Kind::*};
use earlydrop_sim::result;
use serde_json::{json, Map, Value};

/// The result document of a link.
pub fn document(link: &PyLink, outcome: &Outcome) -> Value {
    let [there, back] = &outcome.paths;
    let width = (there.window.1 - there.window.0).max(f64::MIN_POSITIVE);
    let mut queues = Map::new();
    let (mut flows, mut reasons) = (Vec::new(), Vec::new());
    let roles = roles([&there.flows, &back.flows]);
    for (at, ((name, aqm), path)) in link.about.iter().zip(&outcome.paths).enumerate() {
        let mut entry = entry(aqm, path, width);
        let way = ["sent", "received"][at];
        entry["carried"] = json!(way);
        entry["device_overruns"] = json!(outcome.overruns[at]);
        reasons.extend(path.signs.reasons(outcome.overruns[at]).into_iter().map(|why| format!("{way}: {why}")));
        queues.insert(name.clone(), entry);
        let of_path = path.flows.iter().zip(&roles[at]);
        flows.extend(of_path.map(|(flow, role)| flow_entry(name, flow, *role, width)));
    }
    for (flow, id) in flows.iter_mut().zip(1..) {
        flow["id"] = json!(id);
    }
    // A download is what the command received, with only ACKs the other way.
    let main = usize::from(back.delivered.1 > there.delivered.1);
    let of_main = &outcome.paths[main].flows;
    let data = of_main.iter().zip(&roles[main]).filter(|(flow, role)| **role == Role::Data && flow.delivered > 0);
    let rates = || data.clone().map(|(flow, _)| mbps(flow.delivered_bytes, width));
    let mut document = json!({
        "scenario": link.scenario,
        "seed": link.seed,
        "version": result::VERSION,
        "kind": "link",
        "duration_s": there.window.1,
        "warmup_s": there.window.0,
        "real_time": outcome.real_time,
        "trustworthy": reasons.is_empty(),
        "reasons": reasons,
        "cost": { "wall_s": link.start.elapsed().as_secs_f64() },
        "queues": queues,
        "flows": flows,
        "main_queue": link.about[main].0,
        "jain": rates().next().map(|_| jain(rates())),
        "cov": coefficient_of_variation(rates()),
        "throughput_total_mbps": mbps(outcome.paths[main].delivered.1, width),
    });
    if let (Some(first), Some(second)) = (&there.series, &back.series) {
        let parts = [(&link.about[0].0, first, there), (&link.about[1].0, second, back)];
        document["series"] = series(&parts);
    }
    document
}

fn mbps(bytes: u64, width: f64) -> f64 {
    bytes as f64 * 8.0 / width / 1e6
}

/// Fields of a queue of a real link, beside those of any queue, from its path and the width of the window in s.
const QUEUE: Fields<fn(&PathOutcome, f64) -> Value> = &[
    field("rate_mbps", "Mbit/s", Throughput, "the link's rate; the mean over the window where it changes", |path, _| {
        (path.rate_bps / 1e6).into()
    }),
    field("delivered", "packets", Number, "packets written to the other device", |path, _| path.delivered.0.into()),
    field("delivered_bytes", "B", Number, "their bytes", |path, _| path.delivered.1.into()),
    field("delivered_mbps", "Mbit/s", Throughput, "their bits over the width of the window", |path, width| {
        mbps(path.delivered.1, width).into()
    }),
    field(
        "ce_set",
        "packets",
        Number,
        "delivered with CE that arrived without it. `marks` counts all that the discipline marked, also packets that were CE already",
        |path, _| path.ce_set.into(),
    ),
    field("read_in_bursts", "packets", Number, "packets read from the device in bursts, several in one system call", |path, _| path.in_bursts.0.into()),
    field("written_in_bursts", "packets", Number, "packets written to the device in bursts", |path, _| path.in_bursts.1.into()),
    field("lost", "packets", Loss, "packets lost by the loss model, `--loss`", |path, _| path.lost.into()),
    field("in_flight_at_end", "packets", Number, "on the delay line when the link ended", |path, _| path.in_flight.into()),
    field("malformed", "packets", Number, "packets without a usable IP header, which were dropped, never in the queue", |path, _| {
        path.device_losses.all_malformed().into()
    }),
    field("malformed_by_kind", "packets", Table, "the same by what was wrong", |path, _| {
        let kinds = ["empty", "version", "header_length", "truncated_header", "truncated"];
        kinds.iter().zip(path.device_losses.malformed).map(|(kind, count)| (kind.to_string(), json!(count))).collect()
    }),
    field("refused", "packets", Number, "packets that the other device refused", |path, _| path.device_losses.refused.into()),
    field("over_memory", "packets", Number, "dropped before the queue because the memory was full", |path, _| path.device_losses.over_memory.into()),
    field("lateness", "us", Table, "mean, quantiles and maximum of how late deliveries were written", |path, _| {
        let late = |q: f64| path.lateness.value_at_quantile(q) as f64 / 1e3;
        (!path.lateness.is_empty()).then(|| {
            json!({
                "mean_us": path.lateness.mean() / 1e3,
                "p50_us": late(0.5), "p90_us": late(0.9), "p99_us": late(0.99), "p999_us": late(0.999),
                "max_us": path.lateness.max() as f64 / 1e3,
            })
        }).into()
    }),
    field("backlogged", "", Table, "whole seconds with packets waiting throughout, in the queue or for the link to read them: their number, and the rate in them (mean, min, max)", |path, _| {
        path.busy.map(|busy| {
            json!({
                "seconds": busy.seconds, "mean_mbps": busy.mean_bps / 1e6,
                "min_mbps": busy.least_bps / 1e6, "max_mbps": busy.most_bps / 1e6,
            })
        }).into()
    }),
];

/// Every field that only documents of links have, as of [`result::reference`].
pub fn reference() -> Vec<Value> {
    [rows("queues.NAME of a real link", QUEUE), rows("flows[i] of a real link", FLOW)].concat()
}

fn entry(aqm: &str, path: &PathOutcome, width: f64) -> Value {
    let mut entry = result::QueueRow {
        aqm,
        rate_bps: path.rate_bps,
        width,
        counters: &path.counters,
        stats: &path.stats,
        has_average: path.has_average,
        queued: path.queued,
    }
    .entry();
    if !path.bands.is_empty() {
        entry["bands"] = result::bands(&path.bands, path.rate_bps, width);
    }
    add(&mut entry, QUEUE, |of| of(path, width));
    entry
}

/// A flow of a real link.
struct FlowRow<'a> {
    queue: &'a str,
    flow: &'a Flow,
    role: Role,
    width: f64,
}

fn end(address: std::net::IpAddr, port: u16) -> Value {
    json!({ "address": address.to_string(), "port": port })
}

const FLOW: Fields<fn(&FlowRow<'_>) -> Value> = &[
    field("id", "", Number, "1, 2, ...", |_| 0.into()),
    field("kind", "", Number, "the protocol", |row| {
        row.flow
            .endpoints
            .map_or("others".to_string(), |e| match e.protocol {
                6 => "tcp".to_string(),
                17 => "udp".to_string(),
                1 | 58 => "icmp".to_string(),
                other => format!("protocol {other}"),
            })
            .into()
    }),
    field("role", "", Number, "what it is for: data, acks, control, icmp, dns or others", |row| row.role.name().into()),
    field("queue", "", Number, "queue of the real link that the flow passes", |row| row.queue.into()),
    field("name", "", Number, "addresses, ports and protocol of a real flow", |row| {
        row.flow.endpoints.map_or_else(|| "others".to_string(), |e| e.to_string()).into()
    }),
    field("source", "", Table, "address and port", |row| row.flow.endpoints.map(|e| end(e.source, e.ports.0)).into()),
    field("destination", "", Table, "address and port", |row| {
        row.flow.endpoints.map(|e| end(e.destination, e.ports.1)).into()
    }),
    field("goodput_mbps", "Mbit/s", Throughput, "null: a link does not know what arrived in order", |_| Value::Null),
    field("throughput_mbps", "Mbit/s", Throughput, "all bytes delivered", |row| {
        mbps(row.flow.delivered_bytes, row.width).into()
    }),
    field("arrivals", "packets", Number, "packets of the real flow that arrived at the queue", |row| {
        row.flow.arrivals.into()
    }),
    field("arrived_bytes", "B", Number, "their bytes", |row| row.flow.arrived_bytes.into()),
    field("delivered", "packets", Number, "packets of the real flow that were delivered", |row| {
        row.flow.delivered.into()
    }),
    field("delivered_bytes", "B", Number, "their bytes", |row| row.flow.delivered_bytes.into()),
    field("drops", "packets", Loss, "packets dropped by the queue", |row| row.flow.drops.into()),
    field("marks", "packets", Loss, "packets marked by the queue", |row| row.flow.marks.into()),
    field("lost", "packets", Loss, "packets lost by the loss model", |row| row.flow.lost.into()),
    field("first_s", "s", Delay, "arrival of the real flow's first packet", |row| row.flow.first.into()),
    field("last_s", "s", Delay, "arrival of its last packet", |row| row.flow.last.into()),
];

fn flow_entry(queue: &str, flow: &Flow, role: Role, width: f64) -> Value {
    let row = FlowRow { queue, flow, role, width };
    fields::table(FLOW, |of| of(&row))
}

fn series(parts: &[(&String, &Series, &PathOutcome)]) -> Value {
    let rows = parts.iter().map(|(_, series, _)| series.time.len()).min().unwrap_or(0);
    let queues: Map<String, Value> = parts
        .iter()
        .map(|(name, series, path)| {
            let average = if path.has_average { json!(series.average[..rows]) } else { Value::Null };
            let entry = json!({
                "packets": series.packets[..rows], "average": average, "dropped": series.dropped[..rows],
            });
            ((*name).clone(), entry)
        })
        .collect();
    let times = &parts[0].1.time[..rows];
    let interval = if rows > 1 { (times[rows - 1] - times[0]) / (rows - 1) as f64 } else { 0.0 };
    json!({ "interval_s": interval, "time_s": times, "queues": queues, "flows": [] })
}

/// The state of one direction, in front of which the kernel has dropped `overruns` packets.
pub fn view(aqm: &str, view: &View, overruns: Option<u64>) -> Value {
    let reasons = view.signs.reasons(overruns);
    let Counters { arrivals, departures, departed_bytes, early_drops, forced_drops, overflow_drops, marks, .. } =
        view.counters;
    let gauges: Map<String, Value> =
        view.gauges.iter().map(|&(name, value)| (name.to_string(), json!(value))).collect();
    let flows: Vec<Value> = view
        .flows
        .iter()
        .map(|(number, flow)| {
            json!({
                "number": number,
                "name": flow.endpoints.map_or_else(|| "others".to_string(), |e| e.to_string()),
                "delivered_bytes": flow.delivered_bytes, "drops": flow.drops, "marks": flow.marks,
            })
        })
        .collect();
    json!({
        "aqm": aqm, "time_s": view.time, "packets": view.packets, "bytes": view.bytes, "average": view.average,
        "sojourn_mean_s": view.sojourn_mean, "arrivals": arrivals, "departures": departures,
        "departed_bytes": departed_bytes, "early_drops": early_drops, "forced_drops": forced_drops,
        "overflow_drops": overflow_drops, "marks": marks, "gauges": gauges, "flows": flows,
        "trustworthy": reasons.is_empty(), "reasons": reasons,
    })
}
