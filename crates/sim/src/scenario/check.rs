//! From a document to a checked scenario; the first fault ends it.

use std::collections::BTreeSet;
use std::path::Path;

use serde_json::json;

use super::bounds::{self, TIMES};
use super::document::Doc;
use super::error::ScenarioError;
use super::fields::{Checked, Field, Fields};
use super::forms::{Own, Range};
use super::keys::Key;
use super::link::Links;
use super::model::{FlowRecord, Record, Topology};
use super::nearest::{some_of, suggestion};
use super::own::{Aqms, OwnAqm};
use super::whole::Scenario;
use super::{amounts, bdp, buffers, ends, own, reachable, topology, traffic, units};
use crate::topology::{Dumbbell, LinkSpec, Rate, Routes};
use earlydrop_net::tcp::sizes::ACK_BYTES;

/// Keys of the document itself.
pub(super) const SCENARIO: &[&str] =
    &["name", "duration", "warmup", "seed", "topology", "node", "link", "aqms", "queue", "traffic", "record"];
/// Keys of `[record]`.
pub(super) const RECORD: &[&str] = &[
    "flows",
    "series",
    "gauges",
    "cwnd_flows",
    "trace",
    "trace_queues",
    "trace_headers",
    "trace_flow",
    "delay_histogram",
    "by_flow",
    "transfers",
    "rates",
    "rate_flows",
    "rate_queues",
    "jitter",
    "delay_flows",
    "losses",
    "loss_rtt",
];

/// What results say of each flow.
pub(super) static FLOWS: Key<Own<FlowRecord>> = Key::or(
    "flows",
    Own {
        kind: "flag or text",
        range: Range::Words(FLOW_RECORDS),
        wanted: FLOW_RECORDS,
        schema: || json!({ "enum": [true, false, "summary"] }),
        write: |flows| match flows {
            FlowRecord::Each => true.into(),
            FlowRecord::Summary => "summary".into(),
            FlowRecord::Nothing => false.into(),
        },
        read: |field| match field.doc {
            Doc::Bool(true) => Ok(FlowRecord::Each),
            Doc::Bool(false) => Ok(FlowRecord::Nothing),
            Doc::String(word) if word == "summary" => Ok(FlowRecord::Summary),
            Doc::String(_) => Err(field.error("is unknown").allowed(FLOW_RECORDS)),
            _ => Err(field.wrong_type(FLOW_RECORDS)),
        },
    },
    FlowRecord::Each,
    "Whether results list every flow, or say how the flows of each traffic entry are distributed, or neither.",
);
const FLOW_RECORDS: &str = "true, false, \"summary\"";

const FLOW_NUMBERS: &str = "a list of flow numbers, such as [1, 2]";

/// Checks a document; `file` is named in errors.
///
/// # Errors
/// The first fault found, with the path of its field, what was given and what is allowed.
pub fn check(doc: &Doc, file: Option<&str>) -> Result<Scenario, ScenarioError> {
    check_with(doc, file, &[])
}

/// [`check`], where queues can have the disciplines `own` beside the catalogue's.
///
/// # Errors
/// As [`check`].
pub fn check_with(doc: &Doc, file: Option<&str>, own: &[OwnAqm]) -> Result<Scenario, ScenarioError> {
    let folder = file.and_then(|file| Path::new(file).parent());
    scenario(doc, folder, Aqms { loaded: own, listed: doc.get("aqms") }).map_err(|error| error.in_file(file))
}

fn scenario(doc: &Doc, folder: Option<&Path>, aqms: Aqms<'_>) -> Checked<Scenario> {
    let fields = Field::root(doc).table(SCENARIO)?;
    let name = fields.required("name", "a text")?.name()?;
    let duration = fields.required("duration", units::TIME_FORM)?.measure(&TIMES, bounds::DURATION)?;
    let warmup = warmup(&fields, duration)?;
    let seed = fields.optional("seed").map_or(Ok(1), |field| field.whole(0, bounds::SEED))?;
    let mut topology = topology::read(&fields, Links { folder, duration })?;
    let written = fields.optional("link").is_some();
    if let Some(field) = fields.optional("aqms") {
        own::check(&field, doc.get("queue"), aqms)?;
    }
    let (queues, products) = topology::queues(fields.optional("queue"), &mut topology, written, aqms)?;
    let traffic_field = fields.required("traffic", "one or more tables [[traffic]]")?;
    let traffic = traffic::read(&traffic_field, &topology, folder)?;
    let ends = ends::read(&traffic_field, &traffic.iter().map(|entry| entry.reverse_of()).collect::<Vec<_>>())?;
    if topology.needs_routes(ends.iter().any(|ends| ends.between.is_some())) {
        reachable::check(&traffic_field, &topology.graph(seed), &ends, &traffic)?;
    }
    let nothing = Record::default();
    let mut scenario = Scenario { name, duration, warmup, seed, topology, queues, traffic, ends, record: nothing };
    round_trips_take_time(&scenario)?;
    amounts::check(&scenario.traffic, scenario.duration)?;
    bdp::fill_in(&mut scenario, &products)?;
    buffers::check(&scenario)?;
    if let Some(field) = fields.optional("record") {
        scenario.record = record(&field, &scenario)?;
    }
    Ok(scenario)
}

fn warmup(fields: &Fields<'_>, duration: f64) -> Checked<f64> {
    let Some(field) = fields.optional("warmup") else { return Ok(0.0) };
    let warmup = field.measure(&TIMES, bounds::START)?;
    if warmup < duration {
        Ok(warmup)
    } else {
        Err(field.error("leaves nothing to measure").allowed(format!("below the duration, {duration} s")))
    }
}

/// Refuses TCP over a round trip of almost no time: over fast links without delay a run would have too many packets to
/// simulate, or events that the clock cannot separate.
fn round_trips_take_time(scenario: &Scenario) -> Checked<()> {
    let least = scenario.duration / bounds::ROUNDS;
    let fast = |link: &LinkSpec| least_time(link) < least;
    let suspicious = match &scenario.topology {
        Topology::Dumbbell(dumbbell) => {
            let Dumbbell { senders, receivers, bottleneck, reverse, .. } = dumbbell.as_ref();
            [senders, receivers, bottleneck, reverse].into_iter().all(fast)
        }
        Topology::Graph(graph) => {
            let links = graph.links().filter(|(_, direction, ..)| fast(&direction.link));
            let ends: Vec<(u32, u32)> = links.map(|(_, _, from, to)| (from, to)).collect();
            has_cycle(graph.nodes.len(), &ends)
        }
    };
    if !suspicious {
        return Ok(());
    }
    // The two directions of a link are a cycle, but only a flow between its ends uses no other links.
    let graph = scenario.topology.drawn(scenario.seed);
    let mut routes = Routes::new(&graph);
    let mut time = |from: u32, to: u32| -> f64 {
        let links = routes.route(from, to).unwrap_or_default();
        links.iter().filter_map(|&link| graph.link(link)).map(|(direction, ..)| least_time(&direction.link)).sum()
    };
    let entries = scenario.traffic.iter().enumerate();
    let entries = entries.flat_map(|(entry, traffic)| std::iter::repeat_n((entry, traffic), traffic.flows() as usize));
    let mut known = BTreeSet::new();
    for ((entry, traffic), (from, to)) in entries.zip(scenario.ends_of_flows(&graph, scenario.seed)) {
        if traffic.tcp().is_none() || !known.insert((from, to)) {
            continue;
        }
        let round = time(from, to) + time(to, from);
        if round < least {
            let name = |node: u32| &graph.nodes[node as usize].name;
            let message = format!("goes from {:?} to {:?} and back in next to no time", name(from), name(to));
            return Err(ScenarioError::new(format!("traffic[{entry}]"), message)
                .given(format!("{round:e} s for a packet of {ACK_BYTES} B, in a run of {} s", scenario.duration))
                .allowed(format!("at least {least:e} s: a delay, or slower links")));
        }
    }
    Ok(())
}

/// The least time that a packet of 40 B takes over a link, s.
fn least_time(link: &LinkSpec) -> f64 {
    let fastest = match &link.rate {
        Rate::Constant(rate) => *rate,
        Rate::Schedule { steps, .. } => steps.iter().map(|&(_, rate)| rate).fold(0.0, f64::max),
        Rate::OfModel { most, .. } => *most,
        // The trace lists how many packets a millisecond has.
        Rate::Opportunities { .. } => return f64::INFINITY,
    };
    8.0 * f64::from(ACK_BYTES) / fastest
        + link.least_delay()
        + link.effects.model.as_ref().map_or(0.0, |model| model.parts().least_delay())
}

/// Whether links make a cycle: nodes remain after repeatedly removing those without an incoming link (Kahn).
fn has_cycle(nodes: usize, links: &[(u32, u32)]) -> bool {
    let mut into = vec![0_u32; nodes];
    let mut out = vec![Vec::new(); nodes];
    for &(from, to) in links {
        into[to as usize] += 1;
        out[from as usize].push(to);
    }
    let mut free: Vec<u32> = (0..nodes as u32).filter(|&node| into[node as usize] == 0).collect();
    while let Some(node) = free.pop() {
        for &to in &out[node as usize] {
            into[to as usize] -= 1;
            if into[to as usize] == 0 {
                free.push(to);
            }
        }
    }
    into.iter().any(|&links| links > 0)
}

fn record(field: &Field<'_>, scenario: &Scenario) -> Checked<Record> {
    let fields = field.table(RECORD)?;
    let cwnd_flows =
        fields.optional("cwnd_flows").map_or(Ok(Vec::new()), |field| flow_list(&field, scenario, tcp_flow))?;
    let gauges = gauges(&fields, scenario, cwnd_flows.len())?;
    let rates = rates(&fields, scenario)?;
    let trace = fields.optional("trace").map_or(Ok(0), |field| field.whole(0, bounds::TRACE))?;
    if let (0, Some(field)) = (trace, fields.optional("trace_queues").or(fields.optional("trace_headers"))) {
        return Err(field.error("has no effect without record.trace").allowed("no such key, or record.trace = 100000"));
    }
    Ok(Record {
        flows: FLOWS.read(&fields)?,
        series: series(&fields, scenario.duration, cwnd_flows.len() + gauges.unwrap_or(0))?,
        gauges: gauges.is_some(),
        cwnd_flows,
        trace,
        trace_queues: fields.optional("trace_queues").map_or(Ok(Vec::new()), |field| queue_list(&field, scenario))?,
        trace_headers: fields.optional("trace_headers").map_or(Ok(false), |field| field.flag())?,
        trace_flow: fields.optional("trace_flow").map(|field| tcp_flow(&field, scenario)).transpose()?,
        transfers: fields.optional("transfers").map_or(Ok(false), |field| field.flag())?,
        delay_histogram: fields.optional("delay_histogram").map_or(Ok(false), |field| field.flag())?,
        by_flow: by_flow(&fields, scenario)?,
        jitter: end_to_end(&fields, "jitter", scenario)?,
        delay_flows: delay_flows(&fields, scenario)?,
        losses: end_to_end(&fields, "losses", scenario)?,
        loss_rtt: loss_rtt(&fields)?,
        ..rates
    })
}

fn by_flow(fields: &Fields<'_>, scenario: &Scenario) -> Checked<bool> {
    let Some(field) = fields.optional("by_flow") else { return Ok(false) };
    let wanted = field.flag()?;
    if wanted && scenario.traffic.len() > bounds::ENTRIES_BY_FLOW {
        return Err(field
            .error("makes too large a result")
            .given(format!("{} traffic entries", scenario.traffic.len()))
            .allowed(format!("{} traffic entries", bounds::ENTRIES_BY_FLOW)));
    }
    Ok(wanted)
}

/// A flag for what is measured of each flow, `jitter` or `losses`.
fn end_to_end(fields: &Fields<'_>, key: &str, scenario: &Scenario) -> Checked<bool> {
    let Some(field) = fields.optional(key) else { return Ok(false) };
    let wanted = field.flag()?;
    if wanted && scenario.flows() > bounds::FLOWS_END_TO_END {
        return Err(field
            .error("keeps a histogram for each flow")
            .given(format!("{} flows", scenario.flows()))
            .allowed(format!("at most {} flows", bounds::FLOWS_END_TO_END)));
    }
    Ok(wanted)
}

/// Reads the flows of which every packet's delay is recorded.
fn delay_flows(fields: &Fields<'_>, scenario: &Scenario) -> Checked<Vec<u64>> {
    let Some(field) = fields.optional("delay_flows") else { return Ok(Vec::new()) };
    let flows = flow_list(&field, scenario, any_flow)?;
    if flows.len() > bounds::DELAY_FLOWS {
        return Err(field
            .error("keeps every packet's delay")
            .given(format!("{} flows", flows.len()))
            .allowed(format!("at most {} flows", bounds::DELAY_FLOWS)));
    }
    Ok(flows)
}

fn loss_rtt(fields: &Fields<'_>) -> Checked<Option<f64>> {
    let Some(field) = fields.optional("loss_rtt") else { return Ok(None) };
    let rtt = field.measure(&TIMES, bounds::SERIES)?;
    match fields.optional("losses").map(|losses| losses.flag()) {
        Some(Ok(true)) => Ok(Some(rtt)),
        _ => Err(field.error("says how long a loss event lasts, but losses are not measured").allowed("losses = true")),
    }
}

/// Reads queues by their names in results, or "all".
fn queue_list(field: &Field<'_>, scenario: &Scenario) -> Checked<Vec<String>> {
    const WANTED: &str = "\"all\", or a list of queues by their names in results";
    let graph = scenario.topology.with_queues();
    let ports = scenario.ports(&graph);
    if let Doc::String(_) = field.doc {
        field.word(["all"].into_iter())?;
        return Ok(ports.into_iter().map(|port| port.name).collect());
    }
    let names = || ports.iter().map(|port| port.name.as_str());
    let one = |item: &Field<'_>| {
        let name = item.text(WANTED)?;
        if names().any(|known| known == name) {
            return Ok(name.to_string());
        }
        Err(item.error(format!("names no queue{}", suggestion(name, names()))).allowed(some_of(names())))
    };
    field.items(WANTED)?.iter().map(one).collect()
}

fn series(fields: &Fields<'_>, duration: f64, rows: usize) -> Checked<Option<f64>> {
    let Some(field) = fields.optional("series") else {
        return match rows {
            0 => Ok(None),
            _ => Err(fields.missing("series").allowed("a sampling interval for cwnd_flows, such as \"10 ms\"")),
        };
    };
    let interval = field.measure(&TIMES, bounds::SERIES)?;
    let largest = bounds::SAMPLES / rows.max(1) as f64;
    if duration / interval > largest {
        let least = duration / largest;
        return Err(field.error("makes too long a series").allowed(format!("at least {least:?} s")));
    }
    Ok(Some(interval))
}

/// Number of inner values of disciplines and of sampled senders that the series may have; `None` if they are not recorded.
fn gauges(fields: &Fields<'_>, scenario: &Scenario, senders: usize) -> Checked<Option<usize>> {
    if !fields.optional("gauges").map_or(Ok(false), |field| field.flag())? {
        return Ok(None);
    }
    if fields.optional("series").is_none() {
        return Err(fields.missing("series").allowed("a sampling interval for gauges, such as \"10 ms\""));
    }
    let ports = scenario.ports(&scenario.topology.with_queues()).len();
    Ok(Some(bounds::GAUGES.saturating_mul(ports + senders)))
}

/// Reads the fields of a record that are about rates; the others are at their defaults.
fn rates(fields: &Fields<'_>, scenario: &Scenario) -> Checked<Record> {
    const WANTED: &str = "the length of the intervals, such as \"10 s\"";
    let (flows, queues) = (fields.optional("rate_flows"), fields.optional("rate_queues"));
    let Some(field) = fields.optional("rates") else {
        return match (flows, queues) {
            (None, None) => Ok(Record::default()),
            _ => Err(fields.missing("rates").allowed(WANTED)),
        };
    };
    let interval = field.measure(&TIMES, bounds::SERIES)?;
    let rate_flows = match flows {
        Some(field) => {
            field.items(FLOW_NUMBERS)?;
            flow_list(&field, scenario, any_flow)?
        }
        None if scenario.flows() <= bounds::RATE_FLOWS => (1..=scenario.flows()).collect(),
        None => {
            let (flows, most) = (scenario.flows(), bounds::RATE_FLOWS);
            let wanted =
                format!("{FLOW_NUMBERS}: the scenario has {flows} flows, and only up to {most} are all recorded");
            return Err(fields.missing("rate_flows").allowed(wanted));
        }
    };
    let rate_queues = queues.map_or(Ok(Vec::new()), |field| queue_list(&field, scenario))?;
    let rows = (rate_flows.len() * (1 + rate_queues.len().max(1))) as f64;
    if scenario.duration / interval * rows > bounds::SAMPLES {
        let least = scenario.duration * rows / bounds::SAMPLES;
        return Err(field.error("makes too long a record").allowed(format!("at least {least:?} s")));
    }
    Ok(Record { rates: Some(interval), rate_flows, rate_queues, ..Record::default() })
}

/// A flow, by its number from 1.
fn any_flow(field: &Field<'_>, scenario: &Scenario) -> Checked<u64> {
    field.whole(1, scenario.flows())
}

/// A flow with a window, by its number from 1.
fn tcp_flow(field: &Field<'_>, scenario: &Scenario) -> Checked<u64> {
    let id = any_flow(field, scenario)?;
    let mut last = 0;
    let traffic = scenario.traffic.iter().find(|traffic| {
        last += traffic.flows();
        id <= last
    });
    match traffic {
        Some(traffic) if traffic.tcp().is_none() => {
            Err(field.error("has no window").allowed(format!("a flow over TCP; flow {id} is {}", traffic.kind())))
        }
        _ => Ok(id),
    }
}

/// Different flows, each by its number from 1.
fn flow_list(
    field: &Field<'_>,
    scenario: &Scenario,
    read: fn(&Field<'_>, &Scenario) -> Checked<u64>,
) -> Checked<Vec<u64>> {
    let mut seen = std::collections::BTreeSet::new();
    let one = |item: &Field<'_>| {
        let id = read(item, scenario)?;
        if seen.insert(id) {
            Ok(id)
        } else {
            Err(item.error("is listed twice"))
        }
    };
    match field.doc {
        Doc::Array(items) if items.is_empty() => Ok(Vec::new()),
        _ => field.items(FLOW_NUMBERS)?.iter().map(one).collect(),
    }
}
