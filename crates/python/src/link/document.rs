//! The result document of a link, and the state that it shows while it runs (docs/results.md, docs/link.md).

use super::PyLink;
use earlydrop_aqm::gate::Counters;
use earlydrop_link::flows::Flow;
use earlydrop_link::link::Outcome;
use earlydrop_link::roles::{roles, Role};
use earlydrop_link::run::{PathOutcome, Series, View};
use earlydrop_net::measure::{coefficient_of_variation, jain};
use earlydrop_sim::result;
use serde_json::{json, Map, Value};

/// The result document of a link.
pub fn document(link: &PyLink, outcome: &Outcome) -> Value {
    let [there, back] = &outcome.paths;
    let width = (there.window.1 - there.window.0).max(f64::MIN_POSITIVE);
    let mut queues = Map::new();
    let mut flows = Vec::new();
    let roles = roles([&there.flows, &back.flows]);
    for (at, ((name, aqm), path)) in link.about.iter().zip(&outcome.paths).enumerate() {
        let mut entry = entry(aqm, path, width);
        entry["carried"] = json!(["sent", "received"][at]);
        let device = outcome.devices[at].map(|counts| json!(counts.overruns));
        entry["device_overruns"] = device.unwrap_or(Value::Null);
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

fn entry(aqm: &str, path: &PathOutcome, width: f64) -> Value {
    let mut entry =
        result::queue_entry(aqm, path.rate_bps, width, &path.counters, &path.stats, path.has_average, path.queued);
    let late = |q: f64| path.lateness.value_at_quantile(q) as f64 / 1e3;
    let lateness = (!path.lateness.is_empty()).then(|| {
        json!({
            "mean_us": path.lateness.mean() / 1e3,
            "p50_us": late(0.5), "p90_us": late(0.9), "p99_us": late(0.99), "p999_us": late(0.999),
            "max_us": path.lateness.max() as f64 / 1e3,
        })
    });
    let busy = path.busy.map(|busy| {
        json!({
            "seconds": busy.seconds, "mean_mbps": busy.mean_bps / 1e6,
            "min_mbps": busy.least_bps / 1e6, "max_mbps": busy.most_bps / 1e6,
        })
    });
    let device_losses = &path.device_losses;
    let kinds = ["empty", "version", "header_length", "truncated_header", "truncated"];
    let malformed: Map<String, Value> =
        kinds.iter().zip(device_losses.malformed).map(|(kind, count)| (kind.to_string(), json!(count))).collect();
    let more = json!({
        "rate_mbps": path.rate_bps / 1e6,
        "delivered": path.delivered.0,
        "delivered_bytes": path.delivered.1,
        "delivered_mbps": mbps(path.delivered.1, width),
        "ce_set": path.ce_set,
        "read_in_bursts": path.in_bursts.0,
        "written_in_bursts": path.in_bursts.1,
        "lost": path.lost,
        "in_flight_at_end": path.in_flight,
        "malformed": device_losses.all_malformed(),
        "malformed_by_kind": malformed,
        "refused": device_losses.refused,
        "over_memory": device_losses.over_memory,
        "lateness": lateness,
        "backlogged": busy,
    });
    if let (Value::Object(entry), Value::Object(more)) = (&mut entry, more) {
        entry.extend(more);
    }
    entry
}

fn flow_entry(queue: &str, flow: &Flow, role: Role, width: f64) -> Value {
    let protocol = flow.endpoints.map(|e| match e.protocol {
        6 => "tcp".to_string(),
        17 => "udp".to_string(),
        1 | 58 => "icmp".to_string(),
        other => format!("protocol {other}"),
    });
    let end = |address: std::net::IpAddr, port: u16| json!({ "address": address.to_string(), "port": port });
    json!({
        "id": 0,
        "kind": protocol.unwrap_or_else(|| "others".to_string()),
        "role": role.name(),
        "queue": queue,
        "name": flow.endpoints.map_or_else(|| "others".to_string(), |e| e.to_string()),
        "source": flow.endpoints.map(|e| end(e.source, e.ports.0)),
        "destination": flow.endpoints.map(|e| end(e.destination, e.ports.1)),
        "goodput_mbps": Value::Null,
        "throughput_mbps": mbps(flow.delivered_bytes, width),
        "arrivals": flow.arrivals,
        "arrived_bytes": flow.arrived_bytes,
        "delivered": flow.delivered,
        "delivered_bytes": flow.delivered_bytes,
        "drops": flow.drops,
        "marks": flow.marks,
        "lost": flow.lost,
        "first_s": flow.first,
        "last_s": flow.last,
    })
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

/// The state of one direction.
pub fn view(aqm: &str, view: &View) -> Value {
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
    })
}
