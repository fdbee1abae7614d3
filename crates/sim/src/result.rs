//! The result document of one run.

use crate::engine::trace::{QueueEvent, QueueTrace};
use crate::engine::{
    FlowOutcome, MediaOutcome, Outcome, PacketDelays, PortOutcome, SenderSeries, Series, TransferOutcome,
};
use crate::fields::{add, field, rows, table, tables, Fields, Kind::*};
use crate::flow_table::{self, goodput, throughput, FlowTable};
use crate::losses::{FlowLosses, GapsTogether, Synchronisation};
use crate::measure::{coefficient_of_variation, jain, variance, QueueStats};
use crate::rates::Rates;
use crate::scenario::{FlowRecord, Load, Scenario, Tcp, Traffic};
use crate::shares::{self, Share, Shares};
use crate::silent::Silent;
use crate::variation::{Spread as DelaySpread, Variation};
use earlydrop_aqm::gate::Counters;
use earlydrop_net::bands::Band;
use earlydrop_net::tcp::Variable;
use hdrhistogram::Histogram;
use serde_json::{json, Map, Value};

/// A JSON value.
pub use serde_json::Value as Json;

/// The version in every result.
pub const VERSION: &str = env!("CARGO_PKG_VERSION");

/// A result document whose flows are not yet written out: with many, a tree of values takes more memory than the run.
pub struct Document<'a> {
    fields: Map<String, Value>,
    /// The flows, to be written in the place of the empty field `flows`.
    table: Option<FlowTable<'a>>,
}

impl<'a> Document<'a> {
    /// The fields in order.
    pub fn fields(&self) -> &Map<String, Value> {
        &self.fields
    }

    /// The flows, to be written in the place of the empty field `flows`.
    pub fn table(&self) -> Option<FlowTable<'a>> {
        self.table
    }

    /// The document without some of its fields.
    pub fn without(mut self, names: &[String]) -> Self {
        self.fields.retain(|name, _| !names.contains(name));
        self
    }

    /// The document as a tree of values.
    pub fn into_value(mut self) -> Value {
        if let Some(table) = self.table {
            self.fields["flows"] = table.values().into();
        }
        self.fields.into()
    }

    /// The document as JSON.
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

/// The document in parts, with `flows` in place of what the scenario says of flows.
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
    let flow_table = FlowTable::new(scenario, outcome);
    let mut rows = Value::Null;
    let lists = flows == FlowRecord::Each;
    let more = !outcome.variations.is_empty() || !outcome.flow_losses.is_empty();
    if lists && more {
        let mut flows = flow_table.values();
        for (flow, variation) in flows.iter_mut().zip(&outcome.variations) {
            let alone = DelaySpread::of(std::iter::once(variation));
            add(flow, SPREAD, |of| of(&alone));
            add(flow, LAST_JITTER, |of| of(variation));
        }
        for (flow, losses) in flows.iter_mut().zip(&outcome.flow_losses) {
            add_losses(flow, std::slice::from_ref(losses));
        }
        rows = flows.into();
    }
    let all = Totals::of(outcome.flows.iter(), width, silent.without(0, &outcome.flows));
    let mut document = json!({
        "scenario": scenario.name,
        "seed": seed,
        "version": VERSION,
        "duration_s": scenario.duration,
        "warmup_s": scenario.warmup,
        "cost": { "wall_s": wall_s, "events": outcome.events, "arithmetic_links": outcome.links.0, "stepped_links": outcome.links.1 },
        "queues": queues,
        "flows": rows,
        "losses": table(LOSSES, |of| of(outcome)),
        "traffic": traffic(scenario, outcome, &silent),
    });
    add(&mut document, TOTALS, |of| of(&all));
    if let Some(table) = silent.table() {
        document["cannot_send"] = table;
    }
    if flows == FlowRecord::Summary {
        for (entry, summary) in document["traffic"].as_array_mut().into_iter().flatten().zip(flow_table.summaries()) {
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
    Document { fields, table: (lists && !more).then_some(flow_table) }
}

/// Totals of some flows.
struct Totals {
    /// Goodput, Mbit/s.
    goodput: f64,
    /// Throughput, Mbit/s.
    throughput: f64,
    /// Mean one-way delay of all segments received, s; `None` without any.
    delay: Option<f64>,
    /// Goodputs of the flows that can send, Mbit/s.
    shares: Vec<f64>,
}

impl Totals {
    fn of<'a>(
        flows: impl Iterator<Item = &'a FlowOutcome> + Clone,
        width: f64,
        able: impl Iterator<Item = &'a FlowOutcome>,
    ) -> Self {
        let received: u64 = flows.clone().map(|f| u64::from(f.received)).sum();
        let delay: f64 = flows.clone().map(|f| f.delay_mean * f64::from(f.received)).sum();
        Totals {
            goodput: flows.clone().map(|f| goodput(f, width)).sum(),
            throughput: flows.map(|f| throughput(f, width)).sum(),
            delay: (received > 0).then(|| delay / received as f64),
            shares: able.map(|flow| goodput(flow, width)).collect(),
        }
    }

    fn jain(&self) -> Value {
        jain(self.shares.iter().copied()).into()
    }

    fn cov(&self) -> Value {
        coefficient_of_variation(self.shares.iter().copied()).into()
    }
}

fn in_ms(seconds: f64) -> Value {
    (seconds * 1e3).into()
}

/// A time in ms; null for `None`.
fn given_ms(seconds: Option<f64>) -> Value {
    seconds.map(|seconds| seconds * 1e3).into()
}

/// Fields of the result as a whole, over all flows.
const TOTALS: Fields<fn(&Totals) -> Value> = &[
    field("jain", "0..1", Index, "Jain's index of the `goodput_mbps` of the flows that can send in the window; 0 if all are zero", Totals::jain),
    field("cov", "", Spread, "coefficient of variation of the `goodput_mbps` of the flows that can send in the window: population standard deviation over mean. `jain` is 1 / (1 + `cov` squared). Null if all goodputs are zero", Totals::cov),
    field("goodput_total_mbps", "Mbit/s", Throughput, "sum over the flows", |all| all.goodput.into()),
    field("throughput_total_mbps", "Mbit/s", Throughput, "sum over the flows", |all| all.throughput.into()),
    field("delay_mean_ms", "ms", Delay, "mean one-way delay of all segments received, all flows together", |all| given_ms(all.delay)),
    field("power", "Mbit/s per s", Number, "`throughput_total_mbps` over the mean one-way delay in seconds (the \"global power\" of the AQM-QOS paper)", |all| all.delay.map(|seconds| all.throughput / seconds).into()),
];

/// Fields of a queue that only some flows pass: totals of these flows.
const PASSING: Fields<fn(&Totals) -> Value> = &[
    field("goodput_mbps", "Mbit/s", Throughput, "sum over the flows", |some| some.goodput.into()),
    field("throughput_mbps", "Mbit/s", Throughput, "sum over the flows", |some| some.throughput.into()),
    field("delay_mean_ms", "ms", Delay, "mean one-way delay of all segments received", |some| given_ms(some.delay)),
    field("jain", "0..1", Index, "as at the top level, of these flows", Totals::jain),
];

/// Every field of result documents: `part` (where it stands), `name`, `unit`, `kind` (of measure) and `about`.
pub fn reference() -> Vec<Value> {
    let flows: Vec<Value> =
        flow_table::COLUMNS.iter().flat_map(|column| rows("flows[i]", std::slice::from_ref(&column.field))).collect();
    [
        rows("top level", TOTALS),
        rows("queues.NAME", QUEUE),
        rows("queues.NAME.passing", PASSING),
        rows("queues.NAME with `record.by_flow`", CLASSES),
        rows("share of a queue", SHARE),
        rows("share of a traffic entry, class or band", SOJOURN),
        rows("queues.NAME with `record.losses`", LOSS_EVENTS),
        flows,
        rows("flows[i], traffic[i] with `record.jitter`", SPREAD),
        rows("flows[i] with `record.jitter`", LAST_JITTER),
        rows("flows[i], traffic[i] with `record.losses`", LOST),
        rows("losses", LOSSES),
        rows("traffic[i]", TRAFFIC),
        rows("traffic[i] of `media`", CALLS),
        rows("traffic[i] with `record.by_flow`", ROUND_TRIPS),
        rows("traffic[i].transfers", TRANSFERS),
        tables(),
    ]
    .concat()
}

/// For each recorded flow, when its packets were sent and how long they took, in the order of arrival.
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
const LOSSES: Fields<fn(&Outcome) -> Value> = &[
    field("by_distance", "", Loss, "packets dropped by queues, by the number of links passed before: distance 0 (the sender's own queue), 1, and so on; DDRED's L_d", |outcome| json!(outcome.losses_by_distance)),
    field("weighted", "", Loss, "S = sum of d L_d", |outcome| {
        outcome.losses_by_distance.iter().zip(0..).map(|(&losses, distance)| losses * distance).sum::<u64>().into()
    }),
    field("on_links", "", Loss, "packets lost on links (`loss`)", |outcome| sum(&outcome.flows, |flow| flow.lost).into()),
    field("expired", "", Loss, "packets whose TTL expired", |outcome| sum(&outcome.flows, |flow| flow.expired).into()),
];

fn sum(flows: &[FlowOutcome], of: fn(&FlowOutcome) -> u32) -> u64 {
    flows.iter().map(|flow| u64::from(of(flow))).sum()
}

fn queue(scenario: &Scenario, outcome: &Outcome, silent: &Silent, port: &PortOutcome, flows: FlowRecord) -> Value {
    let width = scenario.duration - scenario.warmup;
    let mut queue = QueueRow {
        aqm: &port.aqm,
        rate_bps: port.rate_bps,
        width,
        counters: &port.counters,
        stats: &port.stats,
        has_average: port.has_average,
        queued: (port.queued_at_start, port.queued_at_end),
    }
    .entry();
    let passing: usize = port.passing.iter().map(|flows| flows.len()).sum();
    if (1..outcome.flows.len()).contains(&passing) {
        let ranges = port.passing.iter().map(|flows| flows.start as usize..flows.end as usize);
        let able = ranges.clone().flat_map(|range| silent.without(range.start, &outcome.flows[range]));
        let some = Totals::of(ranges.flat_map(|range| &outcome.flows[range]), width, able);
        queue["passing"] = json!({ "flows": passing });
        add(&mut queue["passing"], PASSING, |of| of(&some));
    }
    if !port.bands.is_empty() {
        queue["bands"] = bands(&port.bands, port.rate_bps, width);
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
        add(&mut queue, LOSS_EVENTS, |of| of(synchronisation));
    }
    queue
}

/// Fields of a queue with `record.losses`.
const LOSS_EVENTS: Fields<fn(&Synchronisation) -> Value> = &[
    field("loss_events", "", Number, "number of loss events", |of| of.events().into()),
    field(
        "loss_synchronisation",
        "fraction",
        Index,
        "losing flows over active flows, mean over the loss events",
        |of| of.mean().into(),
    ),
    field("flows_losing_mean", "flows", Number, "losing flows, mean over the loss events", |of| {
        of.mean_losing().into()
    }),
    field("loss_rtt_ms", "ms", Delay, "length of a loss event", |of| in_ms(of.rtt())),
];

/// What is known of one queue, simulated or real.
pub struct QueueRow<'a> {
    /// The queue's discipline.
    pub aqm: &'a str,
    /// Rate of the link, bit/s.
    pub rate_bps: f64,
    /// Width of the window, s.
    pub width: f64,
    /// Packets by what happened to them.
    pub counters: &'a Counters,
    /// Lengths and sojourn times.
    pub stats: &'a QueueStats,
    /// Whether the policy has an average.
    pub has_average: bool,
    /// Packets in the queue at the start and the end of the window.
    pub queued: (u64, u64),
}

impl QueueRow<'_> {
    /// The queue's entry in the document.
    pub fn entry(&self) -> Value {
        let quantiles = self.stats.sojourn_quantiles(QUANTILES);
        table(QUEUE, |of| of(self, &quantiles))
    }

    fn throughput(&self) -> f64 {
        self.counters.departed_bytes as f64 * 8.0 / self.width
    }

    fn of_arrivals(&self, count: u64) -> Value {
        (count as f64 / self.counters.arrivals.max(1) as f64).into()
    }
}

const QUANTILES: [f64; 3] = [0.5, 0.95, 0.99];

/// Fields of a queue, simulated or real, from its row and its sojourn times' quantiles.
const QUEUE: Fields<fn(&QueueRow<'_>, &[f64; 3]) -> Value> = &[
    field("aqm", "", Number, "the discipline", |row, _| row.aqm.into()),
    field("throughput_mbps", "Mbit/s", Throughput, "bits that left the queue for the link, headers included, over the width of the window", |row, _| (row.throughput() / 1e6).into()),
    field("utilisation", "fraction", Utilisation, "`throughput_mbps` over the link's rate. A packet counts when its transmission starts, so the value can exceed 1 by a fraction of a packet", |row, _| (row.throughput() / row.rate_bps).into()),
    field("queue_mean_packets", "packets", Queue, "time-weighted mean length", |row, _| row.stats.mean().into()),
    field("queue_std_packets", "packets", Spread, "time-weighted standard deviation of the length", |row, _| row.stats.standard_deviation().into()),
    field("queue_max_packets", "packets", Queue, "largest length in the window, its start included", |row, _| row.stats.longest().into()),
    field("average_mean_packets", "packets", Queue, "time-weighted mean of the policy's average (RED's `avg`, constant between arrivals); null for disciplines without one. In byte mode bytes are divided by `mean_packet`", |row, _| {
        row.has_average.then(|| row.stats.mean_average()).into()
    }),
    field("delay_mean_ms", "ms", Delay, "mean sojourn time of the packets that left within the window; 0 if none did", |row, _| in_ms(row.stats.mean_sojourn())),
    field("delay_p50_ms", "ms", Delay, "median of the sojourn time", |_, quantiles| in_ms(quantiles[0])),
    field("delay_p95_ms", "ms", Delay, "95 % quantile of the sojourn time", |_, quantiles| in_ms(quantiles[1])),
    field("delay_p99_ms", "ms", Delay, "99 % quantile of the sojourn time", |_, quantiles| in_ms(quantiles[2])),
    field("arrivals", "packets", Number, "packets that arrived, dropped ones included", |row, _| row.counters.arrivals.into()),
    field("arrived_bytes", "B", Number, "their bytes", |row, _| row.counters.arrived_bytes.into()),
    field("departures", "packets", Throughput, "packets whose transmission started", |row, _| row.counters.departures.into()),
    field("departed_bytes", "B", Throughput, "their bytes", |row, _| row.counters.departed_bytes.into()),
    field("early_drops", "packets", Loss, "dropped at random, with a probability below 1", |row, _| row.counters.early_drops.into()),
    field("forced_drops", "packets", Loss, "dropped with certainty by the policy", |row, _| row.counters.forced_drops.into()),
    field("overflow_drops", "packets", Loss, "dropped because the buffer was full", |row, _| row.counters.overflow_drops.into()),
    field("marks", "packets", Loss, "marked CE by this queue", |row, _| row.counters.marks.into()),
    field("drop_rate", "fraction", LossRate, "all drops over `arrivals` (0 without arrivals); marks are not drops", |row, _| row.of_arrivals(row.counters.drops())),
    field("mark_rate", "fraction", LossRate, "`marks` over `arrivals`", |row, _| row.of_arrivals(row.counters.marks)),
    field("queued_at_start", "packets", Number, "length at the start of the window", |row, _| row.queued.0.into()),
    field("queued_at_end", "packets", Number, "length at its end", |row, _| row.queued.1.into()),
];

/// What passed each band of a queue, simulated or real, by the band's name.
pub fn bands(bands: &[Band], rate_bps: f64, width: f64) -> Value {
    let entry = |band: &Band| {
        let mut one = table(SHARE, |of| of(&band.share, rate_bps, width));
        let quantiles = band.sojourns.quantiles(QUANTILES).map(|microseconds| microseconds as f64 / 1e3);
        add(&mut one, SOJOURN, |of| of(&quantiles.map(|ms| (band.share.departures > 0).then_some(ms))));
        (band.name.to_string(), one)
    };
    bands.iter().map(entry).collect::<Map<_, _>>().into()
}

/// The share of each flow.
fn shares_of_flows(shares: &Shares, rate_bps: f64, width: f64) -> Value {
    let numbered = |(share, id): (&Share, usize)| {
        let mut one = json!({ "id": id });
        add(&mut one, SHARE, |of| of(share, rate_bps, width));
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
        add(&mut one, SHARE, |of| of(&share, rate_bps, width));
        add(&mut one, SOJOURN, |of| of(&quantiles_of(&shares.sojourn[entry])));
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
        let mut one = table(SHARE, |of| of(&share, rate_bps, width));
        add(&mut one, SOJOURN, |of| of(&quantiles_of(&sojourn)));
        utilisations.push(utilisation(&share, rate_bps, width));
        by_class.insert(name.into(), one);
    }
    queue["classes"] = by_class.into();
    add(queue, CLASSES, |of| of(&utilisations, shares));
}

/// Fields of a queue with `record.by_flow`, from the classes' utilisations and the flows' shares.
const CLASSES: Fields<fn(&[f64], &Shares) -> Value> = &[
    field("class_jain", "0..1", Index, "Jain's index of the utilisation of TCP and UDP", |classes, _| {
        jain(classes.iter().copied()).into()
    }),
    field("class_variance", "", Spread, "population variance of the utilisation of TCP and UDP", |classes, _| {
        variance(classes).into()
    }),
    field("dropped_bytes", "B", Loss, "bytes of all packets dropped", |_, shares| {
        shares.flows.iter().map(|share| share.dropped_bytes).sum::<u64>().into()
    }),
];

fn utilisation(share: &Share, rate_bps: f64, width: f64) -> f64 {
    share.departed_bytes as f64 * 8.0 / width / rate_bps
}

/// Fields of a share of a queue, from the share, the link's rate (bit/s) and the width of the window (s).
const SHARE: Fields<fn(&Share, f64, f64) -> Value> = &[
    field("throughput_mbps", "Mbit/s", Throughput, "bits that left for the link", |of, _, width| {
        (of.departed_bytes as f64 * 8.0 / width / 1e6).into()
    }),
    field("utilisation", "fraction", Utilisation, "the same over the link's rate", |of, rate_bps, width| {
        utilisation(of, rate_bps, width).into()
    }),
    field("arrivals", "packets", Number, "packets that arrived", |of, _, _| of.arrivals.into()),
    field("arrived_bytes", "B", Number, "their bytes", |of, _, _| of.arrived_bytes.into()),
    field("departures", "packets", Throughput, "packets whose transmission started", |of, _, _| of.departures.into()),
    field("departed_bytes", "B", Throughput, "their bytes", |of, _, _| of.departed_bytes.into()),
    field("drops", "packets", Loss, "packets dropped", |of, _, _| of.drops.into()),
    field("dropped_bytes", "B", Loss, "their bytes", |of, _, _| of.dropped_bytes.into()),
    field("marks", "packets", Loss, "packets marked", |of, _, _| of.marks.into()),
    field("drop_rate", "fraction", LossRate, "`drops` over `arrivals`", |of, _, _| {
        (of.drops as f64 / of.arrivals.max(1) as f64).into()
    }),
    field("mark_rate", "fraction", LossRate, "`marks` over `arrivals`", |of, _, _| {
        (of.marks as f64 / of.arrivals.max(1) as f64).into()
    }),
    field("delay_mean_ms", "ms", Delay, "mean sojourn time of the packets that left", |of, _, _| {
        given_ms(of.mean_sojourn())
    }),
    field("delay_max_ms", "ms", Delay, "longest of these", |of, _, _| {
        (of.departures > 0).then_some(of.sojourn_max * 1e3).into()
    }),
];

/// Quantiles of sojourn times, ms; none without packets.
type Quantiles = [Option<f64>; 3];

/// Fields of the share of a traffic entry, class or band, from its sojourn times.
const SOJOURN: Fields<fn(&Quantiles) -> Value> = &[
    field("delay_p50_ms", "ms", Delay, "median of the sojourn time", |of| of[0].into()),
    field("delay_p95_ms", "ms", Delay, "95 % quantile of the sojourn time", |of| of[1].into()),
    field("delay_p99_ms", "ms", Delay, "99 % quantile of the sojourn time", |of| of[2].into()),
];

/// Quantiles of a histogram of microseconds, in ms; none if the histogram is empty.
fn quantiles_of(histogram: &Histogram<u32>) -> Quantiles {
    QUANTILES.map(|q| (!histogram.is_empty()).then(|| histogram.value_at_quantile(q) as f64 / 1e3))
}

/// A quantile of a histogram of microseconds, in ms; null if the histogram is empty.
fn quantile_of(histogram: &Histogram<u32>, q: f64) -> Value {
    (!histogram.is_empty()).then(|| histogram.value_at_quantile(q) as f64 / 1e3).into()
}

/// A value of how delays vary; null without packets.
fn spread(of: &Option<DelaySpread>, value: fn(&DelaySpread) -> f64) -> Value {
    given_ms(of.as_ref().map(value))
}

/// Fields of flows and traffic entries with `record.jitter`.
const SPREAD: Fields<fn(&Option<DelaySpread>) -> Value> = &[
    field("delay_min_ms", "ms", Delay, "smallest one-way delay", |of| spread(of, |of| of.least)),
    field("delay_std_ms", "ms", Spread, "population standard deviation of the one-way delay", |of| {
        spread(of, |of| of.deviation)
    }),
    field(
        "pdv_mean_ms",
        "ms",
        Delay,
        "mean packet delay variation (RFC 5481; RFC 7928, 2.6): a packet's delay minus the smallest of its flow",
        |of| spread(of, |of| of.pdv_mean),
    ),
    field("pdv_p50_ms", "ms", Delay, "median of the packet delay variation", |of| pdv(of, 0.5)),
    field("pdv_p95_ms", "ms", Delay, "95 % quantile of the packet delay variation", |of| pdv(of, 0.95)),
    field("pdv_p99_ms", "ms", Delay, "99 % quantile of the packet delay variation", |of| pdv(of, 0.99)),
    field(
        "interarrival_jitter_mean_ms",
        "ms",
        Spread,
        "mean of the interarrival jitter J (RFC 3550, 6.4.1) over all packets but the first",
        |of| given_ms(of.as_ref().and_then(|of| of.jitter_mean)),
    ),
];

fn pdv(of: &Option<DelaySpread>, q: f64) -> Value {
    of.as_ref().map_or(Value::Null, |of| quantile_of(&of.pdv, q))
}

/// Fields of flows only, with `record.jitter`.
const LAST_JITTER: Fields<fn(&Variation) -> Value> =
    &[field("interarrival_jitter_ms", "ms", Spread, "J after the last packet; in `flows` only", |of| {
        given_ms(of.interarrival_jitter())
    })];

/// Packets that some flows sent and lost, and the times between losses, if any flow lost two.
struct Lost {
    sent: i64,
    lost: u64,
    together: Option<GapsTogether>,
}

/// Fields of flows and traffic entries with `record.losses`.
const LOST: Fields<fn(&Lost) -> Value> = &[
    field("data_sent", "packets", Number, "packets sent by the flow's sender within the window, SYNs and retransmissions included", |of| of.sent.into()),
    field("data_lost", "packets", Loss, "packets of `data_sent` that a queue dropped or a link lost within the window; no ACKs, requests or expired packets", |of| of.lost.into()),
    field("loss_ratio", "fraction", LossRate, "`data_lost` over `data_sent`; null if nothing was sent (RFC 7928, 2.3)", |of| (of.sent > 0).then(|| of.lost as f64 / of.sent as f64).into()),
    field("loss_gap_mean_ms", "ms", Delay, "mean time between two consecutive losses of a flow; null with fewer than two", |of| given_ms(of.together.as_ref().map(|of| of.mean))),
    field("loss_gap_p50_ms", "ms", Delay, "median of the times between two consecutive losses of a flow", |of| gap(of, 0.5)),
    field("loss_gap_p95_ms", "ms", Delay, "95 % quantile of these times", |of| gap(of, 0.95)),
    field("loss_gap_p99_ms", "ms", Delay, "99 % quantile of these times", |of| gap(of, 0.99)),
];

fn gap(of: &Lost, q: f64) -> Value {
    of.together.as_ref().map_or(Value::Null, |of| quantile_of(&of.gaps, q))
}

/// Adds the fields of what these flows sent and lost.
fn add_losses(to: &mut Value, flows: &[FlowLosses]) {
    let sent: i64 = flows.iter().map(|flow| flow.sent).sum();
    let lost: u64 = flows.iter().map(|flow| flow.gaps.count()).sum();
    let lost = Lost { sent, lost, together: GapsTogether::of(flows.iter().map(|flow| &flow.gaps)) };
    add(to, LOST, |of| of(&lost));
}

/// The flows of a traffic entry.
struct Entry<'a> {
    number: usize,
    traffic: &'a Traffic,
    own: &'a [FlowOutcome],
    all: Totals,
}

/// Fields of a traffic entry: totals over its flows.
const TRAFFIC: Fields<fn(&Entry<'_>) -> Value> = &[
    field("entry", "", Number, "number of the entry, from 1", |of| of.number.into()),
    field("name", "", Number, "its name", |of| json!(of.traffic.name)),
    field("kind", "", Number, "its kind", |of| of.traffic.kind().into()),
    field("tcp", "", Number, "its TCP", |of| of.traffic.tcp().map(Tcp::name).into()),
    field("flows", "", Number, "how many flows it has", |of| of.own.len().into()),
    field("goodput_mbps", "Mbit/s", Throughput, "sum over the flows", |of| of.all.goodput.into()),
    field("throughput_mbps", "Mbit/s", Throughput, "sum over the flows", |of| of.all.throughput.into()),
    field("jain", "0..1", Index, "of the goodput of the flows", |of| of.all.jain()),
    field("cov", "", Spread, "of the goodput of the flows", |of| of.all.cov()),
    field("delivered_packets", "packets", Throughput, "sum over the flows", |of| {
        sum(of.own, |flow| flow.in_order).into()
    }),
    field("received_packets", "packets", Throughput, "sum over the flows", |of| {
        sum(of.own, |flow| flow.received).into()
    }),
    field("delay_mean_ms", "ms", Delay, "mean over all segments of the flows", |of| given_ms(of.all.delay)),
    field("retransmits", "segments", Loss, "sum over the flows", |of| sum(of.own, |flow| flow.retransmits).into()),
    field("timeouts", "", Loss, "sum over the flows", |of| sum(of.own, |flow| flow.timeouts).into()),
    field("drops", "packets", Loss, "sum over the flows", |of| sum(of.own, |flow| flow.drops).into()),
    field("marks", "packets", Loss, "sum over the flows", |of| sum(of.own, |flow| flow.marks).into()),
];

/// The calls of a traffic entry of the kind `media`.
type Calls<'a> = Vec<&'a MediaOutcome>;

/// Fields of a traffic entry of the kind `media`: of all frames and packets of its calls. The second argument is the
/// width of the window, s.
const CALLS: Fields<fn(&Calls<'_>, f64) -> Value> = &[
    field("target_mbps", "Mbit/s", Throughput, "sum over the flows", |of, _| {
        of.iter()
            .map(|call| call.target)
            .filter(|rate| rate.is_finite())
            .reduce(|a, b| a + b)
            .map(|sum| sum / 1e6)
            .into()
    }),
    field("encoded_mbps", "Mbit/s", Throughput, "sum over the flows", |of, width| {
        (of.iter().map(|call| call.encoded_bytes).sum::<u64>() as f64 * 8.0 / width / 1e6).into()
    }),
    field("delay_p95_ms", "ms", Delay, "95 % quantile of the one-way delay of all packets of the flows", |of, _| {
        packets(of, 0.95)
    }),
    field("delay_p99_ms", "ms", Delay, "the same, 99 %", |of, _| packets(of, 0.99)),
    field("frames_sent", "frames", Throughput, "sum over the flows", |of, _| {
        frames(of, |call| call.frames_sent).into()
    }),
    field("frames_complete", "frames", Throughput, "sum over the flows", |of, _| {
        frames(of, |call| call.frames_complete).into()
    }),
    field("frames_lost", "frames", Loss, "sum over the flows", |of, _| frames(of, |call| call.frames_lost).into()),
    field("frame_delay_mean_ms", "ms", Delay, "mean over all complete frames of the flows", |of, _| {
        let complete = frames(of, |call| call.frames_complete);
        let with = of.iter().filter(|call| call.frames_complete > 0);
        let total: f64 = with.map(|call| call.frame_delays.0 * f64::from(call.frames_complete)).sum();
        given_ms((complete > 0).then(|| total / complete as f64))
    }),
    field("frame_delay_p95_ms", "ms", Delay, "95 % quantile over all complete frames of the flows", |of, _| {
        quantile_together(of.iter().map(|call| &call.frame_times), 0.95)
    }),
    field("frame_delay_p99_ms", "ms", Delay, "the same, 99 %", |of, _| {
        quantile_together(of.iter().map(|call| &call.frame_times), 0.99)
    }),
    field("freezes", "", Loss, "sum over the flows", |of, _| frames(of, |call| call.freezes).into()),
    field("freeze_s", "s", Delay, "sum over the flows", |of, _| of.iter().map(|call| call.frozen).sum::<f64>().into()),
];

fn frames(calls: &Calls<'_>, of: fn(&MediaOutcome) -> u32) -> u64 {
    calls.iter().map(|call| u64::from(of(call))).sum()
}

fn packets(calls: &Calls<'_>, q: f64) -> Value {
    quantile_together(calls.iter().map(|call| &call.packet_times), q)
}

/// A quantile, in ms, over what is in several histograms of microseconds; null if all are empty.
fn quantile_together<'a>(histograms: impl Iterator<Item = &'a Vec<(u64, u64)>>, q: f64) -> Value {
    let mut groups: Vec<(u64, u64)> = histograms.flatten().copied().collect();
    groups.sort_unstable();
    let total: u64 = groups.iter().map(|&(_, count)| count).sum();
    let rank = ((q * total as f64).ceil() as u64).max(1);
    let mut up_to = 0;
    let reached = groups.iter().find(|&&(_, count)| {
        up_to += count;
        up_to >= rank
    });
    // In s first, as the same quantile of a flow: the same number to the last bit.
    given_ms(reached.map(|&(longest, _)| longest as f64 / 1e6))
}

/// Fields of a traffic entry over TCP with `record.by_flow`, from its round-trip times.
const ROUND_TRIPS: Fields<fn(&Histogram<u32>) -> Value> = &[
    field("rtt_min_ms", "ms", Delay, "shortest round-trip time over all ACKs, from the transmission of a segment to the arrival of the ACK that its reception caused", |of| {
        (!of.is_empty()).then(|| of.min() as f64 / 1e3).into()
    }),
    field("rtt_mean_ms", "ms", Delay, "mean of these times", |of| (!of.is_empty()).then(|| of.mean() / 1e3).into()),
    field("rtt_p50_ms", "ms", Delay, "median of these times", |of| quantile_of(of, 0.5)),
    field("rtt_p95_ms", "ms", Delay, "95 % quantile of these times", |of| quantile_of(of, 0.95)),
    field("rtt_p99_ms", "ms", Delay, "99 % quantile of these times", |of| quantile_of(of, 0.99)),
];

/// The totals of the flows of each traffic entry.
fn traffic(scenario: &Scenario, outcome: &Outcome, silent: &Silent) -> Value {
    let width = scenario.duration - scenario.warmup;
    let mut flows = outcome.flows.as_slice();
    let (mut variations, mut losses) = (outcome.variations.as_slice(), outcome.flow_losses.as_slice());
    let entries = scenario.traffic.iter().enumerate().map(|(at, traffic)| {
        let first = outcome.flows.len() - flows.len();
        let (own, rest) = flows.split_at(traffic.flows() as usize);
        flows = rest;
        let all = Totals::of(own.iter(), width, silent.without(first, own));
        let entry = Entry { number: at + 1, traffic, own, all };
        let mut one = table(TRAFFIC, |of| of(&entry));
        let calls: Calls = own.iter().filter_map(|flow| flow.media.as_deref()).collect();
        if !calls.is_empty() {
            add(&mut one, CALLS, |of| of(&calls, width));
        }
        if let Some(outcome) = outcome.transfers.get(at).filter(|_| traffic.is_finite()) {
            one["transfers"] = transfers(traffic, outcome, scenario.record.transfers);
        }
        if let Some(histogram) = outcome.round_trips.get(at).filter(|_| traffic.tcp().is_some()) {
            add(&mut one, ROUND_TRIPS, |of| of(histogram));
        }
        if !outcome.variations.is_empty() {
            let own_variations;
            (own_variations, variations) = variations.split_at(own.len());
            let of_all = DelaySpread::of(own_variations.iter());
            add(&mut one, SPREAD, |of| of(&of_all));
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

/// Finite transfers of a traffic entry, their times and slowdowns (completion time over ideal time) sorted.
struct Finite<'a> {
    outcome: &'a TransferOutcome,
    times: Vec<f64>,
    slowdowns: Vec<f64>,
}

impl Finite<'_> {
    fn total(&self) -> f64 {
        self.times.iter().sum()
    }

    fn mean(&self) -> f64 {
        self.total() / self.times.len() as f64
    }

    fn deviation(&self) -> f64 {
        let mean = self.mean();
        let squares = self.times.iter().map(|x| (x - mean) * (x - mean)).sum::<f64>();
        (squares / (self.times.len() as f64 - 1.0)).sqrt()
    }
}

const TRANSFERS: Fields<fn(&Finite<'_>) -> Value> = &[
    field("begun", "", Number, "transfers started within the window", |of| of.outcome.begun.into()),
    field("completed", "", Number, "transfers completed within the window", |of| of.times.len().into()),
    field("completed_bytes", "B", Throughput, "data of the completed transfers", |of| of.outcome.bytes.into()),
    field("time_sum_s", "s", Delay, "sum of the completion times: from the start (request or SYN; for `web`, when the object was requested) to the completion as the entry defines it", |of| of.total().into()),
    field("time_mean_s", "s", Delay, "their mean", |of| of.mean().into()),
    field("time_std_s", "s", Spread, "their standard deviation", |of| of.deviation().into()),
    field("time_min_s", "s", Delay, "the smallest", |of| of.times.first().copied().into()),
    field("time_p50_s", "s", Delay, "the smallest time that half of them did not exceed", |of| quantile(&of.times, 0.5).into()),
    field("time_p95_s", "s", Delay, "the smallest time that 95 % of them did not exceed", |of| quantile(&of.times, 0.95).into()),
    field("time_p99_s", "s", Delay, "the smallest time that 99 % of them did not exceed", |of| quantile(&of.times, 0.99).into()),
    field("time_max_s", "s", Delay, "the largest", |of| of.times.last().copied().into()),
    field("slowdown_mean", "", Delay, "mean of completion time over ideal time; transfers without data and pages are left out", |of| {
        (of.slowdowns.iter().sum::<f64>() / of.slowdowns.len() as f64).into()
    }),
    field("slowdown_p50", "", Delay, "median of these ratios", |of| quantile(&of.slowdowns, 0.5).into()),
    field("slowdown_p95", "", Delay, "95 % quantile of these ratios", |of| quantile(&of.slowdowns, 0.95).into()),
    field("slowdown_p99", "", Delay, "99 % quantile of these ratios", |of| quantile(&of.slowdowns, 0.99).into()),
    field("slowdown_max", "", Delay, "the largest of these ratios", |of| of.slowdowns.last().copied().into()),
    field("start_up_mean_s", "s", Delay, "mean time from the start to the first segment with data", |of| {
        (of.outcome.start_up.0 / of.outcome.start_up.1 as f64).into()
    }),
];

/// The finite transfers of a traffic entry.
fn transfers(traffic: &Traffic, outcome: &TransferOutcome, lists_times: bool) -> Value {
    let sorted = |values: &[f64]| {
        let mut values = values.to_vec();
        values.sort_unstable_by(f64::total_cmp);
        values
    };
    let finite = Finite { outcome, times: sorted(&outcome.times), slowdowns: sorted(&outcome.slowdowns) };
    let mut value = table(TRANSFERS, |of| of(&finite));
    if matches!(traffic.load, Load::Web(_)) {
        value["waited"] = json!(outcome.waited);
    }
    if lists_times {
        value["times_s"] = json!(finite.times);
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
    let scaled = |values: &[f64], by: f64| match values.iter().all(|value| value.is_nan()) {
        true => Value::Null,
        false => values.iter().map(|value| json!(value * by)).collect(),
    };
    let sender = |(id, of): (&u64, &SenderSeries)| {
        let (srtt, pacing) = (scaled(&of.srtt, 1e3), scaled(&of.pacing, 1e-6));
        let mut sender = json!({ "id": id, "cwnd": of.cwnd, "srtt_ms": srtt, "pacing_mbps": pacing });
        if !of.gauges.is_empty() {
            let gauges = of.gauges.iter().map(|(name, values)| ((*name).into(), json!(values)));
            sender["gauges"] = gauges.collect::<Map<String, Value>>().into();
        }
        sender
    };
    let flows: Vec<Value> = scenario.record.cwnd_flows.iter().zip(&series.senders).map(sender).collect();
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

#[cfg(test)]
mod tests {
    use super::*;
    use std::collections::BTreeMap;

    #[test]
    fn a_name_has_one_kind_wherever_it_stands() {
        assert_eq!(tables().len(), include_str!("fields.tsv").lines().count(), "five columns each");
        let mut kinds = BTreeMap::new();
        for row in reference().iter().filter(|row| row["kind"] != "table") {
            let kind = kinds.entry(row["name"].to_string()).or_insert_with(|| row["kind"].clone());
            assert_eq!(*kind, row["kind"], "{row}");
            assert!(!row["about"].to_string().is_empty());
        }
    }
}
