//! A run that a host drives.

use crate::answer::{give, say, show, Wrong};
use crate::series::{gauges, Queue, Series};
use crate::{catalogue, limits};
use earlydrop_aqm::gauges::about;
use earlydrop_aqm::params::Unit;
use earlydrop_aqm::policy::Limit;
use earlydrop_sim::engine::packet_log::Kind;
use earlydrop_sim::measure::jain;
use earlydrop_sim::run::{passing, Links};
use earlydrop_sim::scenario::{Doc, Scenario, ScenarioError};
use earlydrop_sim::simulation::Simulation;
use serde_json::{json, Map, Value};

/// Events between two looks at the memory.
const CHUNK: u64 = 200_000;
/// Most points of a drop curve.
const POINTS: u32 = 10_000;

/// Columns of `ed_queue` before the gauges.
const QUEUE: [&str; 13] = [
    "packets",
    "bytes",
    "average",
    "arrivals",
    "arrived_bytes",
    "departures",
    "departed_bytes",
    "early_drops",
    "forced_drops",
    "overflow_drops",
    "marks",
    "mean_packets",
    "mean_sojourn_s",
];
/// Columns of `ed_flows`.
const FLOW: [&str; 11] = [
    "cwnd",
    "ssthresh",
    "srtt_s",
    "delivered_bytes",
    "received",
    "in_order",
    "retransmits",
    "timeouts",
    "drops",
    "marks",
    "passed_bytes",
];
/// Columns of `ed_packets`.
const PACKET: [&str; 6] = ["time_s", "kind", "flow", "size_bytes", "queue_packets", "sojourn_s"];

/// A run.
pub struct Run {
    /// Gone once it has finished.
    simulation: Option<Simulation>,
    scenario: Scenario,
    queues: Vec<Queue>,
    /// The queue whose packet events are kept.
    watched: Option<usize>,
    series: Option<Series>,
}

impl Run {
    /// Starts `scenario` as `request` says: `links`, `packets` and `queue`, `sample_s`, `sample_queues` and `cwnd_flows`.
    pub fn new(scenario: Scenario, request: &Value) -> Result<Self, Wrong> {
        let links = match &request["links"] {
            Value::Null => Links::Auto,
            given => match given.as_str() {
                Some("auto") => Links::Auto,
                Some("stepped") => Links::Stepped,
                _ => return Err(field("links", "is unknown", given, "\"auto\", \"stepped\"")),
            },
        };
        let seed = scenario.seed;
        let mut simulation = Simulation::new(&scenario, seed, links)?;
        let names: Vec<String> = simulation.queues().map(str::to_string).collect();
        let mut queues = Vec::new();
        for name in names {
            let found = simulation.queue(&name).map(|state| state.gauges).unwrap_or_default();
            queues.push(Queue { name, gauges: found.into_iter().map(|(name, _)| name).collect() });
        }
        let mut run = Run { simulation: None, scenario, queues, watched: None, series: None };
        let first = match &request["queue"] {
            Value::Null => 0,
            name => run.named("queue", name)?,
        };
        if let Some(capacity) = whole(request, "packets", limits::EVENTS)?.filter(|&capacity| capacity > 0) {
            let Some(queue) = run.queues.get(first) else { return Err(Wrong::new("the scenario has no queue")) };
            simulation.watch(&queue.name, capacity as usize);
            run.watched = Some(first);
        }
        if !request["sample_s"].is_null() {
            let interval = request["sample_s"].as_f64().unwrap_or(f64::NAN);
            let sampled = match &request["sample_queues"] {
                Value::Null => run.queues.get(first).into_iter().collect(),
                names => list("sample_queues", names)?
                    .iter()
                    .map(|name| Ok(&run.queues[run.named("sample_queues", name)?]))
                    .collect::<Result<Vec<_>, Wrong>>()?,
            };
            let flows = flows(&request["cwnd_flows"], run.scenario.flows())?;
            let mut series = Series::new(interval, run.scenario.duration, &sampled, flows)?;
            series.sample(&mut simulation);
            run.series = Some(series);
        }
        run.simulation = Some(simulation);
        Ok(run)
    }

    /// What the host must know to read arrays.
    pub fn described(&self, mut answer: Value) -> Value {
        answer["queues"] = self.queues.iter().filter_map(|queue| self.queue_entry(queue)).collect();
        answer["watched"] = json!(self.watched);
        answer["queue_columns"] = json!(QUEUE);
        answer["flow_columns"] = json!(FLOW);
        answer["packet_columns"] = json!(PACKET);
        answer["packet_kinds"] = Kind::ALL.iter().map(|(_, name)| *name).collect();
        answer["series"] = self.series.as_ref().map_or(Value::Null, |series| json!(series.names()));
        answer
    }

    fn queue_entry(&self, queue: &Queue) -> Option<Value> {
        let simulation = self.simulation.as_ref()?;
        let (spec, link) = (simulation.spec(&queue.name)?, simulation.link(&queue.name)?);
        let values =
            spec.spec.all_params().map(|param| (param.name.to_string(), catalogue::value(spec.values.get(param))));
        let gauge = |name: &&'static str| about(spec.spec.name, name).map(|found| catalogue::gauge(&found));
        Some(json!({
            "name": queue.name,
            "aqm": spec.spec.name,
            "ecn": spec.ecn,
            "limit": match spec.limit {
                Limit::Packets(packets) => json!({ "packets": packets }),
                Limit::Bytes(bytes) => json!({ "bytes": bytes }),
            },
            "rate_bps": link.rate_bps,
            "delay_s": link.delay_s,
            "parameters": values.collect::<Map<_, _>>(),
            "live": simulation.changeable(&queue.name),
            "has_curve": spec.spec.curve.is_some(),
            "gauges": queue.gauges.iter().filter_map(gauge).collect::<Vec<_>>(),
        }))
    }

    fn named(&self, key: &str, name: &Value) -> Result<usize, Wrong> {
        let found = name.as_str().and_then(|name| self.queues.iter().position(|queue| queue.name == name));
        let names = || self.queues.iter().map(|queue| format!("{:?}", queue.name)).collect::<Vec<_>>().join(", ");
        found.ok_or_else(|| field(key, "there is no such queue", name, &names()))
    }

    /// The simulation, and the name of queue number `queue`.
    fn at(&mut self, queue: u32) -> Result<(&mut Simulation, &Queue), Wrong> {
        let count = self.queues.len();
        let simulation = self.simulation.as_mut().ok_or_else(finished)?;
        let queue = self.queues.get(queue as usize);
        Ok((simulation, queue.ok_or_else(|| Wrong::new(format!("there are {count} queues, from 0")))?))
    }

    /// The time, s.
    pub fn now(&self) -> f64 {
        self.simulation.as_ref().map_or(self.scenario.duration, Simulation::now)
    }

    /// Runs up to `until` s, or until about `events` events have run (0 for any number): 0 at that time, 1 before.
    pub fn advance(&mut self, until: f64, events: f64) -> Result<i32, Wrong> {
        if until.is_nan() {
            return Err(Wrong::new("the time to run up to is not a number"));
        }
        let until = until.min(self.scenario.duration);
        let mut left = if events > 0.0 { events.ceil() as u64 } else { u64::MAX };
        let simulation = self.simulation.as_mut().ok_or_else(finished)?;
        loop {
            let due = self.series.as_ref().map_or(f64::INFINITY, Series::due);
            let before = simulation.events();
            let reached = simulation.run_some(due.min(until), left.min(CHUNK));
            limits::memory()?;
            left = left.saturating_sub(simulation.events() - before);
            match &mut self.series {
                Some(series) if reached && due <= until => series.sample(simulation),
                _ if reached => return Ok(0),
                _ if left == 0 => return Ok(1),
                _ => {}
            }
        }
    }

    /// Runs until `arrivals` more packets have arrived at the watched queue, but not beyond `until` s: 0 if they have, 1
    /// if the time came first.
    pub fn step(&mut self, arrivals: u32, until: f64) -> Result<i32, Wrong> {
        let until = if until.is_nan() { f64::INFINITY } else { until };
        let watched = self.watched_queue()?.to_string();
        let simulation = self.simulation.as_mut().ok_or_else(finished)?;
        let counted = |simulation: &mut Simulation| simulation.packets(&watched).map_or(0, |log| log.arrivals());
        let wanted = counted(simulation) + u64::from(arrivals);
        while counted(simulation) < wanted {
            let next = simulation.next_time().unwrap_or(f64::INFINITY);
            let due = self.series.as_ref().map_or(f64::INFINITY, Series::due);
            if due <= next.min(until) && due <= self.scenario.duration {
                simulation.run_until(due);
                self.series.iter_mut().for_each(|series| series.sample(simulation));
            } else if next >= until.min(self.scenario.duration) {
                simulation.run_until(until);
                return Ok(1);
            } else {
                simulation.run_next();
            }
        }
        Ok(0)
    }

    fn watched_queue(&self) -> Result<&str, Wrong> {
        let watched = self.watched.and_then(|at| self.queues.get(at));
        watched.map(|queue| queue.name.as_str()).ok_or_else(|| Wrong::new("no queue is watched: load with \"packets\""))
    }

    /// Sets `parameter` of `queue` to `value`; a number is in the parameter's unit.
    pub fn set(&mut self, input: &Value) -> Result<i32, Wrong> {
        let simulation = self.simulation.as_mut().ok_or_else(finished)?;
        let (Some(queue), Some(parameter)) = (input["queue"].as_str(), input["parameter"].as_str()) else {
            return Err(Wrong::new("the input has \"queue\", \"parameter\" and \"value\""));
        };
        let unit = simulation.spec(queue).and_then(|spec| spec.spec.param(parameter)).map(|param| param.unit);
        let value = match (unit, input["value"].as_f64()) {
            (Some(Unit::Seconds), Some(x)) => Doc::String(format!("{x} s")),
            (Some(Unit::Rate), Some(x)) => Doc::String(format!("{x} bit/s")),
            _ => Doc::from_json(&input["value"])?,
        };
        simulation.set(queue, parameter, &value)?;
        Ok(0)
    }

    /// Queue number `queue` now: the columns, then its gauges.
    pub fn queue(&mut self, queue: u32) -> Result<i32, Wrong> {
        let (simulation, queue) = self.at(queue)?;
        let Some(state) = simulation.queue(&queue.name) else { return Err(Wrong::new("there is no such queue")) };
        let counters = state.counters;
        let counts = [
            counters.arrivals,
            counters.arrived_bytes,
            counters.departures,
            counters.departed_bytes,
            counters.early_drops,
            counters.forced_drops,
            counters.overflow_drops,
            counters.marks,
        ];
        let mut row = vec![state.packets as f64, state.bytes as f64, state.average.unwrap_or(f64::NAN)];
        row.extend(counts.map(|count| count as f64));
        row.extend([state.mean_packets, state.mean_sojourn]);
        row.extend(gauges(&queue.gauges, &state.gauges));
        give(row);
        Ok(0)
    }

    /// The packets that wait at queue number `queue`, one row after the other.
    pub fn waiting(&mut self, queue: u32) -> Result<i32, Wrong> {
        let (simulation, queue) = self.at(queue)?;
        let found = simulation.waiting(&queue.name).unwrap_or_default();
        give(found.into_iter().flat_map(|(queue, flow, size)| [queue as f64, flow as f64, f64::from(size)]).collect());
        Ok(0)
    }

    /// All flows now, one row after the other.
    pub fn flows(&mut self) -> Result<i32, Wrong> {
        let watched = self.watched_queue().map(str::to_string).ok();
        let simulation = self.simulation.as_mut().ok_or_else(finished)?;
        let log = watched.and_then(|name| simulation.packets(&name));
        let passed = log.map(|log| log.departed_bytes().to_vec()).unwrap_or_default();
        let mut rows = Vec::new();
        for number in 1..=self.scenario.flows() as usize {
            let Some(flow) = simulation.flow(number) else { continue };
            rows.extend([
                flow.cwnd,
                flow.ssthresh,
                flow.srtt.unwrap_or(f64::NAN),
                flow.delivered_bytes as f64,
                flow.received as f64,
                flow.in_order as f64,
                f64::from(flow.retransmits),
                f64::from(flow.timeouts),
                f64::from(flow.drops),
                f64::from(flow.marks),
                passed.get(number - 1).map_or(f64::NAN, |&bytes| bytes as f64),
            ]);
        }
        give(rows);
        Ok(0)
    }

    /// Jain's index of the flows' payload since the start of the measured window; NaN once the run has finished.
    pub fn jain(&self) -> f64 {
        let Some(simulation) = &self.simulation else { return f64::NAN };
        let flows = (1..=self.scenario.flows() as usize).filter_map(|number| simulation.flow(number));
        jain(flows.map(|flow| flow.delivered_bytes as f64))
    }

    /// A column of the series.
    pub fn series(&self, column: u32) -> Result<i32, Wrong> {
        let Some(series) = &self.series else { return Err(Wrong::new("there is no series: load with \"sample_s\"")) };
        let columns = series.names().len();
        let found = series.column(column as usize);
        show(found.ok_or_else(|| Wrong::new(format!("the series has {columns} columns, from 0")))?);
        Ok(0)
    }

    /// The packet events since the last call, one row after the other; returns how many were lost before them.
    pub fn packets(&mut self) -> Result<i32, Wrong> {
        let watched = self.watched_queue()?.to_string();
        let simulation = self.simulation.as_mut().ok_or_else(finished)?;
        let Some(log) = simulation.packets(&watched) else { return Err(Wrong::new("no queue is watched")) };
        let (missed, events) = log.drain();
        let row = events.flat_map(|event| {
            let sojourn = event.sojourn.unwrap_or(f64::NAN);
            let (kind, flow) = (f64::from(event.kind as u8), f64::from(event.flow));
            [event.time, kind, flow, f64::from(event.size), event.length as f64, sojourn]
        });
        give(row.collect());
        Ok(missed.min(i32::MAX as u64) as i32)
    }

    /// Histogram of the sojourn times at queue number `queue`: pairs of a time in s and a number of packets.
    pub fn sojourns(&mut self, queue: u32) -> Result<i32, Wrong> {
        let (simulation, queue) = self.at(queue)?;
        let found = simulation.sojourns(&queue.name).unwrap_or_default();
        give(found.into_iter().flat_map(|(time_us, packets)| [time_us as f64 / 1e6, packets as f64]).collect());
        Ok(0)
    }

    /// p_b of queue number `queue` at `points` averages from `low` to `high` packets; nothing without a drop curve.
    pub fn curve(&mut self, queue: u32, low: f64, high: f64, points: u32) -> Result<i32, Wrong> {
        let (simulation, queue) = self.at(queue)?;
        if !(low.is_finite() && high.is_finite() && low >= 0.0 && low <= high && (1..=POINTS).contains(&points)) {
            return Err(Wrong::new(format!("a drop curve is read from 0 packets up, at 1 to {POINTS} points")));
        }
        let step = (high - low) / f64::from(points.max(2) - 1);
        let at = |point: u32| simulation.curve(&queue.name, low + f64::from(point) * step);
        give((0..points).filter_map(at).collect());
        Ok(0)
    }

    /// The network in full, and the hosts of each flow that passes queue number `queue`.
    pub fn network(&self, queue: u32) -> Result<i32, Wrong> {
        let Some(queue) = self.queues.get(queue as usize) else { return Err(Wrong::new("there is no such queue")) };
        let text = self.scenario.network_text();
        let mut network: Value = serde_json::from_str(&text).map_err(|e| Wrong::new(e.to_string()))?;
        if let Some(found) = passing(&self.scenario, self.scenario.seed, &queue.name) {
            network["at"] = json!([found.link.0, found.link.1]);
            network["flow"] = found.flows.iter().map(|&(from, to, reverse)| json!([from, to, reverse])).collect();
        }
        say(network.to_string());
        Ok(0)
    }

    /// Runs to the end; the result document.
    pub fn finish(&mut self, wall_s: f64) -> Result<i32, Wrong> {
        self.advance(f64::INFINITY, 0.0)?;
        let simulation = self.simulation.take().ok_or_else(finished)?;
        say(simulation.finish(if wall_s.is_finite() { wall_s } else { 0.0 }).to_string());
        Ok(0)
    }
}

fn finished() -> Wrong {
    Wrong::new("the run has finished: only its series can be read")
}

fn field(key: &str, message: &str, given: &Value, allowed: &str) -> Wrong {
    ScenarioError::new(key, message).given(given.to_string()).allowed(allowed).into()
}

fn list<'a>(key: &str, given: &'a Value) -> Result<&'a [Value], Wrong> {
    given.as_array().map(Vec::as_slice).ok_or_else(|| field(key, "is not a list", given, "a list"))
}

fn whole(request: &Value, key: &str, most: u64) -> Result<Option<u64>, Wrong> {
    let given = &request[key];
    if given.is_null() {
        return Ok(None);
    }
    let found = given.as_u64().filter(|&number| number <= most);
    found.map(Some).ok_or_else(|| field(key, "is out of range", given, &format!("whole number 0..{most}")))
}

/// Numbers of flows, from 1.
fn flows(given: &Value, most: u64) -> Result<Vec<usize>, Wrong> {
    if given.is_null() {
        return Ok(Vec::new());
    }
    let number = |flow: &Value| {
        let found = flow.as_u64().filter(|flow| (1..=most).contains(flow));
        let wrong = || field("cwnd_flows", "there is no such flow", flow, &format!("whole number 1..{most}"));
        found.map(|flow| flow as usize).ok_or_else(wrong)
    };
    list("cwnd_flows", given)?.iter().map(number).collect()
}
