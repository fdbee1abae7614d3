//! The result document of one run.

use crate::engine::trace::{QueueEvent, QueueTrace};
use crate::engine::{FlowOutcome, Outcome, PacketDelays, PortOutcome, Series, TransferOutcome};
use crate::flow_table::{goodput, throughput, FlowTable};
use crate::losses::{FlowLosses, GapsTogether};
use crate::measure::{coefficient_of_variation, jain, variance, QueueStats};
use crate::rates::Rates;
use crate::scenario::{FlowRecord, Load, Scenario, Tcp, Traffic};
use crate::shares::{self, Share, Shares};
use crate::silent::Silent;
use crate::variation::{Spread, Variation};
use earlydrop_aqm::gate::Counters;
use earlydrop_net::tcp::Variable;
use hdrhistogram::Histogram;
use serde_json::{json, Map, Value};

/// The version in every result.
pub const VERSION: &str = env!("CARGO_PKG_VERSION");

/// A result document whose flows are not yet written out: with many, a tree of values takes more memory than their run.
pub struct Document<'a> {
    fields: Map<String, Value>,
    /// The flows in the place of the empty field `flows`.
    table: Option<FlowTable<'a>>,
}

impl<'a> Document<'a> {
    /// The fields in order.
    pub fn fields(&self) -> &Map<String, Value> {
        &self.fields
    }

    /// The flows that belong in the place of the empty field `flows`.
    pub fn table(&self) -> Option<FlowTable<'a>> {
        self.table
    }

    /// Without some of its fields.
    pub fn without(mut self, names: &[String]) -> Self {
        self.fields.retain(|name, _| !names.contains(name));
        self
    }

    /// As a tree of values.
    pub fn into_value(mut self) -> Value {
        if let Some(table) = self.table {
            self.fields["flows"] = table.values().into();
        }
        self.fields.into()
    }

    /// As JSON.
    pub fn to_text(&self) -> String {
        let mut text = Vec::new();
        for (name, value) in &self.fields {
            text.push(if text.is_empty() { b'{' } else { b',' });
            text.extend(Value::from(name.as_str()).to_string().into_bytes());
            text.push(b':');
            match self.table.filter(|_| name == "flows") {
                Some(table) => table.write(&mut text),
                None => text.extend(value.to_string().into_bytes()),
            }
        }
        text.push(b'}');
        String::from_utf8(text).expect("JSON is UTF-8")
    }
}

/// The result document of `outcome`; names and units as in `docs/results.md`. `wall_s` goes into `cost`, which is not
/// compared between results.
pub fn document(scenario: &Scenario, seed: u64, outcome: &Outcome, wall_s: f64) -> Value {
    parts(scenario, seed, outcome, wall_s, scenario.record.flows).into_value()
}

/// The same in parts, with `flows` in the place of what the scenario says.
pub fn parts<'a>(
    scenario: &'a Scenario,
    seed: u64,
    outcome: &'a Outcome,
    wall_s: f64,
    flows: FlowRecord,
) -> Document<'a> {
    let width = scenario.duration - scenario.warmup;
    let silent = Silent::of(scenario, outcome);
    let entry = |port: &PortOutcome| (port.name.clone(), queue(scenario, outcome, &silent, port, flows));
    let queues: Map<String, Value> = outcome.ports.iter().map(entry).collect();
    let table = FlowTable::new(scenario, outcome);
    let mut rows = Value::Null;
    let lists = flows == FlowRecord::Each;
    let more = !outcome.variations.is_empty() || !outcome.flow_losses.is_empty();
    if lists && more {
        let mut flows = table.values();
        for (flow, variation) in flows.iter_mut().zip(&outcome.variations) {
            add_spread(flow, std::iter::once(variation));
            flow["interarrival_jitter_ms"] = variation.interarrival_jitter().map(|seconds| seconds * 1e3).into();
        }
        for (flow, losses) in flows.iter_mut().zip(&outcome.flow_losses) {
            add_losses(flow, std::slice::from_ref(losses));
        }
        rows = flows.into();
    }
    let all = Totals::of(outcome.flows.iter(), width);
    let shares = || silent.without(0, &outcome.flows).map(|flow| goodput(flow, width));
    let mut document = json!({
        "scenario": scenario.name,
        "seed": seed,
        "version": VERSION,
        "duration_s": scenario.duration,
        "warmup_s": scenario.warmup,
        "cost": { "wall_s": wall_s, "events": outcome.events, "arithmetic_links": outcome.links.0, "stepped_links": outcome.links.1 },
        "queues": queues,
        "flows": rows,
        "losses": losses(outcome),
        "traffic": traffic(scenario, outcome, &silent),
        "jain": jain(shares()),
        "cov": coefficient_of_variation(shares()),
        "goodput_total_mbps": all.goodput,
        "throughput_total_mbps": all.throughput,
        "delay_mean_ms": all.delay.map(|seconds| seconds * 1e3),
        "power": all.delay.map(|seconds| all.throughput / seconds),
    });
    if let Some(table) = silent.table() {
        document["cannot_send"] = table;
    }
    if flows == FlowRecord::Summary {
        for (entry, summary) in document["traffic"].as_array_mut().into_iter().flatten().zip(table.summaries()) {
            entry["flow_summary"] = summary;
        }
    }
    if let Some(series) = &outcome.series {
        document["series"] = series_table(scenario, outcome, series);
    }
    if let Some(rates) = &outcome.rates {
        document["rates"] = rates_table(scenario, outcome, rates);
    }
    if !outcome.packet_delays.is_empty() {
        document["delays"] = delays(scenario, outcome);
    }
    let mut traces = outcome.ports.iter().filter_map(|port| Some((&port.name, port.trace.as_ref()?)));
    if !scenario.record.trace_queues.is_empty() {
        document["traces"] = traces.clone().map(|(name, trace)| (name.clone(), trace_table(trace))).collect();
    }
    if let Some((_, trace)) = traces.next() {
        document["trace"] = trace_table(trace);
    }
    if scenario.record.trace_flow.is_some() {
        let rows: Vec<Value> =
            outcome.variables.iter().map(|c| json!([c.time, variable_name(c.variable), c.value])).collect();
        document["variables"] = json!({ "columns": ["time_s", "variable", "value"], "changes": rows });
    }
    let Value::Object(mut fields) = document else { unreachable!("made as a table above") };
    if !lists {
        fields.shift_remove("flows");
    }
    Document { fields, table: (lists && !more).then_some(table) }
}

/// Totals of some flows.
struct Totals {
    /// Mbit/s.
    goodput: f64,
    /// Mbit/s.
    throughput: f64,
    /// Mean one-way delay of all segments received, s; `None` without any.
    delay: Option<f64>,
}

impl Totals {
    fn of<'a>(flows: impl Iterator<Item = &'a FlowOutcome> + Clone, width: f64) -> Self {
        let received: u64 = flows.clone().map(|f| u64::from(f.received)).sum();
        let delay: f64 = flows.clone().map(|f| f.delay_mean * f64::from(f.received)).sum();
        Totals {
            goodput: flows.clone().map(|f| goodput(f, width)).sum(),
            throughput: flows.map(|f| throughput(f, width)).sum(),
            delay: (received > 0).then(|| delay / received as f64),
        }
    }
}

/// Of each recorded flow, when its packets were sent and how long they took, in the order of arrival.
fn delays(scenario: &Scenario, outcome: &Outcome) -> Value {
    let of_flow = |(&flow, delays): (&u64, &PacketDelays)| {
        let (sent, took): (Vec<f64>, Vec<f64>) = delays.iter().map(|&(sent, took)| (sent, took * 1e3)).unzip();
        json!({ "id": flow, "sent_s": sent, "delay_ms": took })
    };
    scenario.record.delay_flows.iter().zip(&outcome.packet_delays).map(of_flow).collect()
}

fn trace_table(trace: &QueueTrace) -> Value {
    let row = |e: &QueueEvent| {
        let mut row = vec![json!(e.time), e.kind.to_string().into(), e.flow.into(), e.seq.into(), e.size.into()];
        row.push(e.length.into());
        if let Some(header) = e.header {
            let both_ways = header.both_ways;
            row.extend([header.ecn.into(), header.flags.into()]);
            row.extend([json!(both_ways.map(|said| said.ack)), json!(both_ways.map(|said| said.payload))]);
        }
        Value::from(row)
    };
    let mut columns = vec!["time_s", "event", "flow", "seq", "size", "queue_packets"];
    if trace.has_headers() {
        columns.extend(["ecn", "tcp_flags", "ack", "payload"]);
    }
    json!({
        "columns": columns,
        "events": trace.events.iter().map(row).collect::<Vec<_>>(),
        "total": trace.total,
        "digest": format!("{:016x}", trace.digest()),
    })
}

/// Packets that never arrived: dropped at queues by the links they had passed (L_d, and S = sum of d L_d), lost on
/// links, and expired by their time to live.
fn losses(outcome: &Outcome) -> Value {
    let weighted: u64 = outcome.losses_by_distance.iter().zip(0..).map(|(&losses, distance)| losses * distance).sum();
    let of = |count: fn(&FlowOutcome) -> u32| outcome.flows.iter().map(|flow| u64::from(count(flow))).sum::<u64>();
    json!({
        "by_distance": outcome.losses_by_distance,
        "weighted": weighted,
        "on_links": of(|flow| flow.lost),
        "expired": of(|flow| flow.expired),
    })
}

fn queue(scenario: &Scenario, outcome: &Outcome, silent: &Silent, port: &PortOutcome, flows: FlowRecord) -> Value {
    let width = scenario.duration - scenario.warmup;
    let queued = (port.queued_at_start, port.queued_at_end);
    let mut queue = queue_entry(&port.aqm, port.rate_bps, width, &port.counters, &port.stats, port.has_average, queued);
    let passing: usize = port.passing.iter().map(|flows| flows.len()).sum();
    if (1..outcome.flows.len()).contains(&passing) {
        let ranges = port.passing.iter().map(|flows| flows.start as usize..flows.end as usize);
        let some = Totals::of(ranges.clone().flat_map(|range| &outcome.flows[range]), width);
        let able = ranges.flat_map(|range| silent.without(range.start, &outcome.flows[range]));
        queue["passing"] = json!({
            "flows": passing,
            "goodput_mbps": some.goodput,
            "throughput_mbps": some.throughput,
            "delay_mean_ms": some.delay.map(|seconds| seconds * 1e3),
            "jain": jain(able.map(|flow| goodput(flow, width))),
        });
    }
    let object = |values: &Vec<(&str, f64)>| -> Value {
        values.iter().map(|&(name, value)| (name.to_string(), value.into())).collect::<Map<_, _>>().into()
    };
    if !port.groups.is_empty() {
        queue["tins"] = port.groups.iter().map(object).collect();
    }
    if !port.parent.is_empty() {
        let of = |class| port.parent.iter().filter(move |row| row.0 == class).map(|&(_, name, value)| (name, value));
        let classes = port.parent.iter().filter_map(|row| row.0).max().map_or(0, |last| last + 1);
        queue["parent"] = object(&of(None).collect());
        if classes > 0 {
            queue["parent"]["classes"] = (0..classes).map(|class| object(&of(Some(class)).collect())).collect();
        }
    }
    if let Some(shares) = &port.shares {
        if flows == FlowRecord::Each {
            queue["flows"] = shares_of_flows(shares, port.rate_bps, width);
        }
        shares_of_entries(&mut queue, scenario, shares, port.rate_bps, width);
    }
    if scenario.record.delay_histogram {
        let (delays, packets): (Vec<_>, Vec<_>) = port.stats.sojourn_histogram().into_iter().unzip();
        let delays: Vec<f64> = delays.into_iter().map(|microseconds| microseconds as f64 / 1e3).collect();
        queue["delay_histogram"] = json!({ "delay_ms": delays, "packets": packets });
    }
    if let Some(synchronisation) = &port.synchronisation {
        queue["loss_events"] = synchronisation.events().into();
        queue["loss_synchronisation"] = synchronisation.mean().into();
        queue["flows_losing_mean"] = synchronisation.mean_losing().into();
        queue["loss_rtt_ms"] = (synchronisation.rtt() * 1e3).into();
    }
    queue
}

/// The entry of one queue, simulated or real, over `width` seconds. `queued` are the packets in the queue at the start
/// and the end of the window.
pub fn queue_entry(
    aqm: &str,
    rate_bps: f64,
    width: f64,
    counters: &Counters,
    stats: &QueueStats,
    has_average: bool,
    queued: (u64, u64),
) -> Value {
    let throughput = counters.departed_bytes as f64 * 8.0 / width;
    let [p50, p95, p99] = stats.sojourn_quantiles([0.5, 0.95, 0.99]);
    json!({
        "aqm": aqm,
        "throughput_mbps": throughput / 1e6,
        "utilisation": throughput / rate_bps,
        "queue_mean_packets": stats.mean(),
        "queue_std_packets": stats.standard_deviation(),
        "queue_max_packets": stats.longest(),
        "average_mean_packets": if has_average { json!(stats.mean_average()) } else { Value::Null },
        "delay_mean_ms": stats.mean_sojourn() * 1e3,
        "delay_p50_ms": p50 * 1e3,
        "delay_p95_ms": p95 * 1e3,
        "delay_p99_ms": p99 * 1e3,
        "arrivals": counters.arrivals,
        "arrived_bytes": counters.arrived_bytes,
        "departures": counters.departures,
        "departed_bytes": counters.departed_bytes,
        "early_drops": counters.early_drops,
        "forced_drops": counters.forced_drops,
        "overflow_drops": counters.overflow_drops,
        "marks": counters.marks,
        "drop_rate": counters.drops() as f64 / counters.arrivals.max(1) as f64,
        "mark_rate": counters.marks as f64 / counters.arrivals.max(1) as f64,
        "queued_at_start": queued.0,
        "queued_at_end": queued.1,
    })
}

/// The share of each flow.
fn shares_of_flows(shares: &Shares, rate_bps: f64, width: f64) -> Value {
    let numbered = |(share, id): (&Share, usize)| {
        let mut one = json!({ "id": id });
        add_share(&mut one, share, rate_bps, width);
        one
    };
    shares.flows.iter().zip(1..).map(numbered).collect()
}

/// Adds the shares of each traffic entry and each class (TCP, UDP).
fn shares_of_entries(queue: &mut Value, scenario: &Scenario, shares: &Shares, rate_bps: f64, width: f64) {
    let mut classes = [("tcp", Vec::new()), ("udp", Vec::new())];
    let entries = scenario.traffic.iter().enumerate().map(|(entry, traffic)| {
        let share = shares.of_entry(entry);
        classes[usize::from(traffic.tcp().is_none())].1.push((share, &shares.sojourn[entry]));
        let mut one = json!({ "entry": entry + 1, "name": traffic.name, "kind": traffic.kind() });
        add_share(&mut one, &share, rate_bps, width);
        add_quantiles(&mut one, "delay", &shares.sojourn[entry]);
        one
    });
    queue["traffic"] = entries.collect();
    let mut utilisations = Vec::new();
    let mut by_class = Map::new();
    for (name, members) in classes {
        if members.is_empty() {
            continue;
        }
        let share = members.iter().fold(Share::default(), |sum, (share, _)| sum.and(share));
        let mut sojourn = shares::histogram();
        for (_, of_entry) in members {
            sojourn += of_entry;
        }
        let mut one = json!({});
        add_share(&mut one, &share, rate_bps, width);
        add_quantiles(&mut one, "delay", &sojourn);
        utilisations.push(utilisation(&share, rate_bps, width));
        by_class.insert(name.into(), one);
    }
    queue["classes"] = by_class.into();
    queue["class_jain"] = jain(utilisations.iter().copied()).into();
    queue["class_variance"] = variance(&utilisations).into();
    queue["dropped_bytes"] = shares.flows.iter().map(|share| share.dropped_bytes).sum::<u64>().into();
}

fn utilisation(share: &Share, rate_bps: f64, width: f64) -> f64 {
    share.departed_bytes as f64 * 8.0 / width / rate_bps
}

fn add_share(to: &mut Value, share: &Share, rate_bps: f64, width: f64) {
    let all = json!({
        "throughput_mbps": share.departed_bytes as f64 * 8.0 / width / 1e6,
        "utilisation": utilisation(share, rate_bps, width),
        "arrivals": share.arrivals,
        "arrived_bytes": share.arrived_bytes,
        "departures": share.departures,
        "departed_bytes": share.departed_bytes,
        "drops": share.drops,
        "dropped_bytes": share.dropped_bytes,
        "marks": share.marks,
        "drop_rate": share.drops as f64 / share.arrivals.max(1) as f64,
        "mark_rate": share.marks as f64 / share.arrivals.max(1) as f64,
        "delay_mean_ms": share.mean_sojourn().map(|seconds| seconds * 1e3),
        "delay_max_ms": (share.departures > 0).then_some(share.sojourn_max * 1e3),
    });
    if let (Value::Object(to), Value::Object(all)) = (to, all) {
        to.extend(all);
    }
}

/// Adds quantiles of a histogram of microseconds, in ms; null if it is empty.
fn add_quantiles(to: &mut Value, of: &str, histogram: &Histogram<u32>) {
    for (name, q) in [("p50", 0.5), ("p95", 0.95), ("p99", 0.99)] {
        let value = (!histogram.is_empty()).then(|| histogram.value_at_quantile(q) as f64 / 1e3);
        to[format!("{of}_{name}_ms")] = value.into();
    }
}

/// Adds the delay variation of these flows; null without packets.
fn add_spread<'a>(to: &mut Value, flows: impl Iterator<Item = &'a Variation>) {
    let spread = Spread::of(flows);
    let spread = spread.as_ref();
    to["delay_min_ms"] = spread.map(|spread| spread.least * 1e3).into();
    to["delay_std_ms"] = spread.map(|spread| spread.deviation * 1e3).into();
    to["pdv_mean_ms"] = spread.map(|spread| spread.pdv_mean * 1e3).into();
    match spread {
        Some(spread) => add_quantiles(to, "pdv", &spread.pdv),
        None => add_quantiles(to, "pdv", &crate::variation::histogram()),
    }
    to["interarrival_jitter_mean_ms"] = spread.and_then(|spread| spread.jitter_mean).map(|mean| mean * 1e3).into();
}

/// Adds the packets that these flows sent and lost, and the distance between losses.
fn add_losses(to: &mut Value, flows: &[FlowLosses]) {
    let sent: i64 = flows.iter().map(|flow| flow.sent).sum();
    let lost: u64 = flows.iter().map(|flow| flow.gaps.count()).sum();
    to["data_sent"] = sent.into();
    to["data_lost"] = lost.into();
    to["loss_ratio"] = (sent > 0).then(|| lost as f64 / sent as f64).into();
    let together = GapsTogether::of(flows.iter().map(|flow| &flow.gaps));
    to["loss_gap_mean_ms"] = together.as_ref().map(|together| together.mean * 1e3).into();
    let gaps = together.map_or_else(crate::variation::histogram, |together| together.gaps);
    add_quantiles(to, "loss_gap", &gaps);
}

/// The totals of the flows of each traffic entry.
fn traffic(scenario: &Scenario, outcome: &Outcome, silent: &Silent) -> Value {
    let width = scenario.duration - scenario.warmup;
    let mut flows = outcome.flows.as_slice();
    let (mut variations, mut losses) = (outcome.variations.as_slice(), outcome.flow_losses.as_slice());
    let entries = scenario.traffic.iter().enumerate().map(|(entry, traffic)| {
        let first = outcome.flows.len() - flows.len();
        let (own, rest) = flows.split_at(traffic.flows() as usize);
        flows = rest;
        let shares = || silent.without(first, own).map(|flow| goodput(flow, width));
        let sum = |of: fn(&FlowOutcome) -> u32| own.iter().map(|flow| u64::from(of(flow))).sum::<u64>();
        let received = sum(|flow| flow.received);
        let delay: f64 = own.iter().map(|flow| flow.delay_mean * f64::from(flow.received)).sum();
        let mut one = json!({
            "entry": entry + 1,
            "name": traffic.name,
            "kind": traffic.kind(),
            "tcp": traffic.tcp().map(Tcp::name),
            "flows": own.len(),
            "goodput_mbps": own.iter().map(|flow| goodput(flow, width)).sum::<f64>(),
            "throughput_mbps": own.iter().map(|flow| throughput(flow, width)).sum::<f64>(),
            "jain": jain(shares()),
            "cov": coefficient_of_variation(shares()),
            "delivered_packets": sum(|flow| flow.in_order),
            "received_packets": received,
            "delay_mean_ms": (received > 0).then(|| delay / received as f64 * 1e3),
            "retransmits": sum(|flow| flow.retransmits),
            "timeouts": sum(|flow| flow.timeouts),
            "drops": sum(|flow| flow.drops),
            "marks": sum(|flow| flow.marks),
        });
        if let Some(outcome) = outcome.transfers.get(entry).filter(|_| traffic.is_finite()) {
            one["transfers"] = transfers(traffic, outcome, scenario.record.transfers);
        }
        if let Some(histogram) = outcome.round_trips.get(entry).filter(|_| traffic.tcp().is_some()) {
            one["rtt_min_ms"] = (!histogram.is_empty()).then(|| histogram.min() as f64 / 1e3).into();
            one["rtt_mean_ms"] = (!histogram.is_empty()).then(|| histogram.mean() / 1e3).into();
            add_quantiles(&mut one, "rtt", histogram);
        }
        if !outcome.variations.is_empty() {
            let own_variations;
            (own_variations, variations) = variations.split_at(own.len());
            add_spread(&mut one, own_variations.iter());
        }
        if !outcome.flow_losses.is_empty() {
            let own_losses;
            (own_losses, losses) = losses.split_at(own.len());
            add_losses(&mut one, own_losses);
        }
        one
    });
    entries.collect()
}

/// The quantile of `sorted` values at the fraction `q`.
fn quantile(sorted: &[f64], q: f64) -> Option<f64> {
    sorted.get(((q * sorted.len() as f64).ceil() as usize).max(1) - 1).copied()
}

/// The finite transfers of a traffic entry.
fn transfers(traffic: &Traffic, outcome: &TransferOutcome, lists_times: bool) -> Value {
    let mut times = outcome.times.clone();
    times.sort_unstable_by(f64::total_cmp);
    let n = times.len() as f64;
    let sum: f64 = times.iter().sum();
    let mean = sum / n;
    let variance = times.iter().map(|x| (x - mean) * (x - mean)).sum::<f64>() / (n - 1.0);
    let mut slowdowns = outcome.slowdowns.clone();
    slowdowns.sort_unstable_by(f64::total_cmp);
    let slowdown_mean = slowdowns.iter().sum::<f64>() / slowdowns.len() as f64;
    let known = |x: f64| if x.is_finite() { json!(x) } else { Value::Null };
    let mut value = json!({
        "begun": outcome.begun,
        "completed": times.len(),
        "completed_bytes": outcome.bytes,
        "time_sum_s": sum,
        "time_mean_s": known(mean),
        "time_std_s": known(variance.sqrt()),
        "time_min_s": times.first(),
        "time_p50_s": quantile(&times, 0.5),
        "time_p95_s": quantile(&times, 0.95),
        "time_p99_s": quantile(&times, 0.99),
        "time_max_s": times.last(),
        "slowdown_mean": known(slowdown_mean),
        "slowdown_p50": quantile(&slowdowns, 0.5),
        "slowdown_p95": quantile(&slowdowns, 0.95),
        "slowdown_p99": quantile(&slowdowns, 0.99),
        "slowdown_max": slowdowns.last(),
        "start_up_mean_s": known(outcome.start_up.0 / outcome.start_up.1 as f64),
    });
    if matches!(traffic.load, Load::Web(_)) {
        value["waited"] = json!(outcome.waited);
    }
    if lists_times {
        value["times_s"] = json!(times);
    }
    value
}

fn series_table(scenario: &Scenario, outcome: &Outcome, series: &Series) -> Value {
    let queues: Map<String, Value> = outcome
        .ports
        .iter()
        .enumerate()
        .map(|(i, port)| {
            let average = if port.has_average { json!(series.average[i]) } else { Value::Null };
            let mut queue = json!({ "packets": series.packets[i], "average": average, "dropped": series.dropped[i] });
            if let Some(gauges) = series.gauges.get(i) {
                let gauges = gauges.iter().map(|(name, values)| ((*name).into(), json!(values)));
                queue["gauges"] = gauges.collect::<Map<String, Value>>().into();
            }
            (port.name.clone(), queue)
        })
        .collect();
    let flows: Vec<Value> = (scenario.record.cwnd_flows.iter().zip(&series.cwnd))
        .map(|(id, cwnd)| json!({ "id": id, "cwnd": cwnd }))
        .collect();
    json!({ "interval_s": scenario.record.series, "time_s": series.time, "queues": queues, "flows": flows })
}

/// Average rates over intervals: payload available in order at the receivers, and departures of the queues.
fn rates_table(scenario: &Scenario, outcome: &Outcome, rates: &Rates) -> Value {
    let flows = |rates: &Rates, field: &str| -> Value {
        let ids = scenario.record.rate_flows.iter();
        ids.zip(rates.mbps()).map(|(id, values)| json!({ "id": id, field: values })).collect()
    };
    let of_port = |port: &PortOutcome| {
        let rates = port.rates.as_ref()?;
        Some((port.name.clone(), json!({ "flows": flows(rates, "throughput_mbps") })))
    };
    json!({
        "interval_s": scenario.record.rates,
        "time_s": rates.starts(),
        "flows": flows(rates, "goodput_mbps"),
        "queues": outcome.ports.iter().filter_map(of_port).collect::<Map<String, Value>>(),
    })
}

/// ns-2's name of a sender's variable.
fn variable_name(variable: Variable) -> &'static str {
    match variable {
        Variable::Cwnd => "cwnd_",
        Variable::Ssthresh => "ssthresh_",
        Variable::Ack => "ack_",
        Variable::Dupacks => "dupacks_",
        Variable::Backoff => "backoff_",
        Variable::Srtt => "srtt_",
        Variable::Rttvar => "rttvar_",
        Variable::Alpha => "alpha",
        Variable::Bandwidth => "bandwidth",
        Variable::MinRtt => "min_rtt",
    }
}
