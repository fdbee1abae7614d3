//! A run in steps: run up to a time, look at queues and flows or set a parameter, and go on.

mod outside;

use crate::engine::packet_log::PacketLog;
use crate::engine::{Engine, FlowState, Outcome, QueueState, Series};
use crate::events::Lanes;
use crate::result;
use crate::run::{self, Links};
use crate::scenario::{parameter_json, parameter_of, Doc, Queue, QueueSpec, Scenario, ScenarioError};
use earlydrop_aqm::catalogue::Link;
use earlydrop_aqm::changeable::changeable;
use earlydrop_aqm::params::Value;
use serde_json::json;

/// A scenario that runs in steps.
///
/// The steps change nothing: whatever the times, [`Simulation::finish`] gives what [`run::run`] gives, unless a parameter
/// was set. A step up to a time runs the events before it, and not those at it, as samples of a series do.
///
/// ```
/// use earlydrop_sim::{run::Links, scenario, simulation::Simulation};
///
/// let mut doc = scenario::Doc::from_toml(&scenario::template("first"), None)?;
/// let sets = [("duration", "10 s"), ("warmup", "2 s"), ("queue.bottleneck.aqm", "red")];
/// scenario::apply_sets(&mut doc, &sets.map(|(key, value)| (key.into(), value.into())))?;
/// let mut simulation = Simulation::new(&scenario::check(&doc, None)?, 1, Links::Stepped)?;
/// simulation.run_until(5.0);
/// let name = simulation.queues().next().unwrap().to_string();
/// assert!(simulation.queue(&name).unwrap().counters.arrivals > 1000);
/// simulation.set(&name, "max_p", &scenario::Doc::Float(0.5))?;
/// let document = simulation.finish(0.0);
/// assert_eq!(document["changes"][0]["value"], 0.5);
/// # Ok::<(), scenario::ScenarioError>(())
/// ```
///
/// A discipline that breaks ([`earlydrop_aqm::fault::Fault`]) unwinds out of a step, and ends the simulation.
pub struct Simulation {
    scenario: Scenario,
    seed: u64,
    engine: Engine<Lanes>,
    now: f64,
    /// How far [`Simulation::run_some`] runs between two checks of the number of events, s.
    slice: f64,
    ports: Vec<At>,
    changes: Vec<Change>,
}

/// Shortest slice of [`Simulation::run_some`], s.
const SHORTEST_SLICE: f64 = 1e-6;

/// The queue in front of a link.
struct At {
    name: String,
    queue: Queue,
    link: Link,
}

/// A parameter that was set.
struct Change {
    time: f64,
    port: usize,
    parameter: &'static str,
    value: Value,
}

impl Simulation {
    /// `scenario` with `seed`, at time zero. With [`Links::Stepped`] all that can be read is exact. With
    /// [`Links::Auto`], which is faster, queues are exact, but flows may be ahead of the time by what their links hold.
    ///
    /// # Errors
    /// As [`run::run`].
    pub fn new(scenario: &Scenario, seed: u64, links: Links) -> Result<Self, ScenarioError> {
        let network = run::build(scenario, seed)?;
        let plan = run::plan(scenario, &network, links);
        let settings = run::settings(scenario, &network);
        let graph = scenario.topology.with_queues().into_owned().drawn(seed);
        let ports = scenario.ports(&graph).into_iter().filter_map(|port| {
            let (direction, ..) = graph.link(port.link)?;
            let spec = &direction.link;
            let link = Link { rate_bps: spec.rate.nominal(), delay_s: spec.mean_delay() };
            Some(At { name: port.name, queue: scenario.queues[port.queue].clone(), link })
        });
        let ports = ports.collect();
        let engine = Engine::new(network, plan, settings);
        let (scenario, slice) = (scenario.clone(), (scenario.duration * 1e-6).max(SHORTEST_SLICE));
        Ok(Simulation { scenario, seed, engine, now: 0.0, slice, ports, changes: Vec::new() })
    }

    /// The time up to which the simulation has run, s.
    pub fn now(&self) -> f64 {
        self.now
    }

    /// The scenario.
    pub fn scenario(&self) -> &Scenario {
        &self.scenario
    }

    /// Runs every event before `time`, s, or before the end of the run. Nothing happens if that is past.
    pub fn run_until(&mut self, time: f64) {
        if time > self.now {
            self.engine.run_until(time);
            self.now = time.min(self.scenario.duration);
        }
    }

    /// [`Simulation::run_until`], but stops earlier once about `events` events have run; true if it reached the time.
    pub fn run_some(&mut self, time: f64, events: u64) -> bool {
        let time = time.min(self.scenario.duration);
        let mut left = events;
        while self.now < time {
            if left == 0 {
                return false;
            }
            let before = self.engine.events();
            self.run_until((self.now + self.slice).min(time));
            let ran = self.engine.events() - before;
            left = left.saturating_sub(ran);
            if ran > events / 4 {
                self.slice = (self.slice / 2.0).max(SHORTEST_SLICE);
            } else if ran < events / 16 {
                self.slice = (self.slice * 2.0).min(self.scenario.duration / 64.0).max(SHORTEST_SLICE);
            }
        }
        true
    }

    /// Runs the next event, and others at the same time; true if there was one.
    pub fn run_next(&mut self) -> bool {
        let next = self.engine.next_time();
        // The first time after it.
        self.run_until(next.map_or(self.scenario.duration, f64::next_up));
        next.is_some()
    }

    /// The time of the next event, s; `None` after the last.
    pub fn next_time(&mut self) -> Option<f64> {
        self.engine.next_time()
    }

    /// Number of events so far. Links run by arithmetic have none.
    pub fn events(&self) -> u64 {
        self.engine.events()
    }

    /// The names of the queues, in the order of results.
    pub fn queues(&self) -> impl Iterator<Item = &str> {
        self.ports.iter().map(|port| port.name.as_str())
    }

    /// The queue called `name` now; `None` if there is no such queue.
    pub fn queue(&mut self, name: &str) -> Option<QueueState> {
        let port = self.port(name)?;
        Some(self.engine.queue_state(port, self.now))
    }

    /// The packets that wait at the queue called `name`: of each the number of the queue within the discipline that it
    /// is in, its flow (from 1) and its bytes; the oldest of a queue first. `None` if there is no such queue.
    pub fn waiting(&mut self, name: &str) -> Option<Vec<(usize, u64, u32)>> {
        let port = self.port(name)?;
        let found = self.engine.waiting(port, self.now);
        Some(found.into_iter().map(|(queue, flow, size)| (queue, flow + 1, size)).collect())
    }

    /// The link behind the queue called `name`.
    pub fn link(&self, name: &str) -> Option<Link> {
        self.port(name).map(|port| self.ports[port].link)
    }

    /// The discipline of the queue called `name`, with its parameters as they are now.
    pub fn spec(&self, name: &str) -> Option<&QueueSpec> {
        self.port(name).map(|port| &self.ports[port].queue.spec)
    }

    /// p_b at an averaged queue in packets, by the present parameters of the queue called `name`; `None` without a drop
    /// curve.
    pub fn curve(&self, name: &str, average: f64) -> Option<f64> {
        let At { queue, link, .. } = &self.ports[self.port(name)?];
        queue.spec.spec.curve.map(|curve| curve(&queue.spec.values, &queue.spec.link(link), average))
    }

    /// The parameters of the queue called `name` that [`Simulation::set`] can change.
    pub fn changeable(&self, name: &str) -> Vec<&'static str> {
        let Some(port) = self.port(name) else { return Vec::new() };
        let At { queue, link, .. } = &self.ports[port];
        changeable(queue.spec.spec, &queue.spec.values, &queue.spec.link(link), queue.spec.limit)
    }

    /// Histogram of the sojourn times at the queue called `name`, see
    /// [`QueueStats::sojourn_histogram`](crate::measure::QueueStats::sojourn_histogram).
    pub fn sojourns(&mut self, name: &str) -> Option<Vec<(u64, u64)>> {
        let port = self.port(name)?;
        Some(self.engine.sojourns(port, self.now))
    }

    /// From now on keeps the latest `capacity` packet events at the queue called `name`; false if there is none.
    pub fn watch(&mut self, name: &str, capacity: usize) -> bool {
        let port = self.port(name);
        port.inspect(|&port| self.engine.watch(port, capacity)).is_some()
    }

    /// The packet events at the queue called `name`; `None` if it is not watched.
    pub fn packets(&mut self, name: &str) -> Option<&mut PacketLog> {
        let port = self.port(name)?;
        self.engine.packets(port, self.now)
    }

    /// The present state of flow number `flow`, from 1; `None` if there is no such flow.
    pub fn flow(&self, flow: usize) -> Option<FlowState> {
        let flow = flow.checked_sub(1)?;
        (flow < self.engine.flows()).then(|| self.engine.flow_state(flow))
    }

    /// The series sampled so far, with the queues in the order of [`Simulation::queues`]; `None` if the scenario records
    /// none.
    pub fn series(&self) -> Option<&Series> {
        self.engine.series()
    }

    /// Sets a parameter of the discipline of `queue`, which goes on from its present state: averages, probabilities,
    /// timers and packets stay. So do the buffer, ECN and the link.
    ///
    /// # Errors
    /// If there is no such queue or parameter, the value is out of range or does not fit the others, or the discipline
    /// cannot change it while it runs. Nothing has changed then.
    pub fn set(&mut self, queue: &str, name: &str, value: &Doc) -> Result<(), ScenarioError> {
        let Some(port) = self.port(queue) else {
            let names: Vec<_> = self.queues().map(|name| format!("{name:?}")).collect();
            return Err(ScenarioError::new("queue", "there is no such queue")
                .given(format!("{queue:?}"))
                .allowed(names.join(", ")));
        };
        let At { queue: spec, link, name: queue } = &self.ports[port];
        let (here, link) = (format!("queue.{queue}{}", spec.spec.inside()), &spec.spec.link(link));
        let path = format!("{here}.{name}");
        let (name, value) = parameter_of(spec.spec.spec, &path, name, value)?;
        let spec = &spec.spec;
        let mut values = spec.values.clone();
        values.set(name, value);
        let built = (spec.spec.check)(&values, link).and_then(|()| (spec.spec.build)(&values, link, spec.limit));
        let built = built.map_err(|e| {
            ScenarioError::new(format!("{here}.{}", e.name), "does not fit").given(e.given).allowed(e.allowed)
        })?;
        if !self.engine.change(port, self.now, built) {
            return Err(ScenarioError::new(path, format!("{} cannot change it while it runs", spec.spec.name)));
        }
        self.ports[port].queue.spec.values = values;
        self.changes.push(Change { time: self.now, port, parameter: name, value });
        Ok(())
    }

    /// Runs to the end and returns the result document, with `wall_s` in its cost. If parameters were set, its
    /// `changes` say when and to what.
    pub fn finish(self, wall_s: f64) -> serde_json::Value {
        let Simulation { scenario, seed, mut engine, ports, changes, .. } = self;
        engine.run_until(scenario.duration);
        let outcome: Outcome = engine.finish();
        let mut document = result::document(&scenario, seed, &outcome, wall_s);
        if !changes.is_empty() {
            let rows = changes.iter().map(|change| {
                let value = parameter_json(change.value);
                let queue = &ports[change.port].name;
                json!({ "time_s": change.time, "queue": queue, "parameter": change.parameter, "value": value })
            });
            document["changes"] = rows.collect();
        }
        document
    }

    fn port(&self, name: &str) -> Option<usize> {
        self.ports.iter().position(|port| port.name == name)
    }
}
