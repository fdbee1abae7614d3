//! Simulations in steps.

use crate::errors::{guarded, interruptible, raise};
use crate::scenario::{doc_of, Scenario};
use earlydrop_sim::run::Links;
use earlydrop_sim::scenario::{units, ScenarioError};
use earlydrop_sim::simulation;
use pyo3::exceptions::{PyRuntimeError, PyValueError};
use pyo3::prelude::*;
use pyo3::types::PyDict;
use std::sync::{Arc, Mutex, PoisonError};
use std::time::Instant;

/// Events between which a signal such as Ctrl-C is noticed, about: less than half a second of computing.
const EVENTS: u64 = 1_000_000;

/// A scenario that runs in steps.
#[pyclass(frozen, module = "earlydrop._core")]
pub struct Simulation {
    /// Taken out while it runs; gone once it has finished or failed.
    running: Mutex<Option<Running>>,
}

struct Running {
    simulation: simulation::Simulation,
    wall_s: f64,
}

#[pymethods]
impl Simulation {
    #[new]
    #[pyo3(signature = (scenario, seed=None))]
    fn new(py: Python<'_>, scenario: &Scenario, seed: Option<u64>) -> PyResult<Self> {
        let seed = seed.unwrap_or(scenario.checked.seed);
        let checked = Arc::clone(&scenario.checked);
        let build = move || guarded(|| simulation::Simulation::new(&checked, seed, Links::Stepped));
        let simulation = interruptible(py, build)?.map_err(PyRuntimeError::new_err)?.map_err(raise)?;
        Ok(Simulation { running: Mutex::new(Some(Running { simulation, wall_s: 0.0 })) })
    }

    /// The time up to which it has run, s.
    #[getter]
    fn now(&self) -> PyResult<f64> {
        self.with(|running| Ok(running.simulation.now()))
    }

    /// When it ends, s.
    #[getter]
    fn duration(&self) -> PyResult<f64> {
        self.with(|running| Ok(running.simulation.scenario().duration))
    }

    /// Names of the queues.
    fn queues(&self) -> PyResult<Vec<String>> {
        self.with(|running| Ok(running.simulation.queues().map(str::to_string).collect()))
    }

    /// Runs every event before `time`, a number in s or a text such as "10 s".
    fn run_until(&self, py: Python<'_>, time: &Bound<'_, PyAny>) -> PyResult<()> {
        let time = time_of("time", time)?;
        self.advance(py, |now| {
            if time < now {
                return Err(PyValueError::new_err(format!("time = {time} s: the simulation is at {now} s already")));
            }
            Ok(time)
        })
    }

    /// Runs for so long, a number in s or a text such as "15 ms".
    fn step(&self, py: Python<'_>, interval: &Bound<'_, PyAny>) -> PyResult<()> {
        let interval = time_of("interval", interval)?;
        self.advance(py, |now| Ok(now + interval))
    }

    /// A queue now.
    fn queue<'py>(&self, py: Python<'py>, name: &str) -> PyResult<Bound<'py, PyDict>> {
        let (state, link) = self.with(|running| {
            let state = guarded(|| running.simulation.queue(name)).map_err(PyRuntimeError::new_err)?;
            let found = state.zip(running.simulation.link(name));
            found.ok_or_else(|| {
                let names: Vec<_> = running.simulation.queues().map(|name| format!("{name:?}")).collect();
                raise(
                    ScenarioError::new("queue", "there is no such queue")
                        .given(format!("{name:?}"))
                        .allowed(names.join(", ")),
                )
            })
        })?;
        let (made, gauges, counters) = (PyDict::new(py), PyDict::new(py), PyDict::new(py));
        for (name, value) in state.gauges {
            gauges.set_item(name, value)?;
        }
        let counts = state.counters;
        for (name, count) in [
            ("arrivals", counts.arrivals),
            ("arrived_bytes", counts.arrived_bytes),
            ("departures", counts.departures),
            ("departed_bytes", counts.departed_bytes),
            ("early_drops", counts.early_drops),
            ("forced_drops", counts.forced_drops),
            ("overflow_drops", counts.overflow_drops),
            ("marks", counts.marks),
        ] {
            counters.set_item(name, count)?;
        }
        made.set_item("packets", state.packets)?;
        made.set_item("bytes", state.bytes)?;
        made.set_item("average", state.average)?;
        made.set_item("gauges", gauges)?;
        made.set_item("counters", counters)?;
        made.set_item("mean_packets", state.mean_packets)?;
        made.set_item("mean_delay_s", state.mean_sojourn)?;
        made.set_item("link_rate_bps", link.rate_bps)?;
        Ok(made)
    }

    /// A flow now, from 1.
    fn flow<'py>(&self, py: Python<'py>, number: usize) -> PyResult<Bound<'py, PyDict>> {
        let state = self.with(|running| {
            let most = running.simulation.scenario().flows();
            let missing = || PyValueError::new_err(format!("flow {number}: the flows are 1 to {most}"));
            running.simulation.flow(number).ok_or_else(missing)
        })?;
        let made = PyDict::new(py);
        made.set_item("cwnd", state.cwnd)?;
        made.set_item("received", state.received)?;
        made.set_item("in_order", state.in_order)?;
        made.set_item("retransmits", state.retransmits)?;
        made.set_item("timeouts", state.timeouts)?;
        made.set_item("drops", state.drops)?;
        made.set_item("marks", state.marks)?;
        Ok(made)
    }

    /// Sets a parameter of a queue's discipline.
    fn set(&self, queue: &str, parameter: &str, value: &Bound<'_, PyAny>) -> PyResult<()> {
        let value = doc_of(value, 0)?;
        self.with(|running| {
            let set = guarded(|| running.simulation.set(queue, parameter, &value));
            set.map_err(PyRuntimeError::new_err)?.map_err(raise)
        })
    }

    /// Runs to the end; the result document as JSON.
    fn finish(&self, py: Python<'_>) -> PyResult<String> {
        self.advance(py, |_| Ok(f64::INFINITY))?;
        let running = self.take()?;
        Ok(py.detach(|| running.simulation.finish(running.wall_s)).to_string())
    }
}

impl Simulation {
    fn take(&self) -> PyResult<Running> {
        let running = self.running.lock().unwrap_or_else(PoisonError::into_inner).take();
        running.ok_or_else(|| PyRuntimeError::new_err("the simulation has finished, has failed or is running"))
    }

    fn put_back(&self, running: Running) {
        *self.running.lock().unwrap_or_else(PoisonError::into_inner) = Some(running);
    }

    fn with<T>(&self, work: impl FnOnce(&mut Running) -> PyResult<T>) -> PyResult<T> {
        let mut running = self.take()?;
        let made = work(&mut running);
        self.put_back(running);
        made
    }

    /// Runs to the time that `until` makes of the present one. Other Python threads continue meanwhile.
    fn advance(&self, py: Python<'_>, until: impl FnOnce(f64) -> PyResult<f64>) -> PyResult<()> {
        let mut running = self.take()?;
        let end = running.simulation.scenario().duration;
        let mut made = until(running.simulation.now()).map(|time| time.min(end));
        while let Ok(time) = made {
            if running.simulation.now() >= time {
                break;
            }
            let begin = Instant::now();
            let stepped = py.detach(|| {
                guarded(move || {
                    running.simulation.run_some(time, EVENTS);
                    running
                })
            });
            // A simulation whose discipline broke is gone.
            running = stepped.map_err(PyRuntimeError::new_err)?;
            running.wall_s += begin.elapsed().as_secs_f64();
            if let Err(signal) = py.check_signals() {
                made = Err(signal);
            }
        }
        self.put_back(running);
        made.map(|_| ())
    }
}

/// A length of time in s: a number, or a text such as "15 ms".
#[pyfunction]
pub fn seconds(time: &Bound<'_, PyAny>) -> PyResult<f64> {
    time_of("time", time)
}

fn time_of(name: &str, given: &Bound<'_, PyAny>) -> PyResult<f64> {
    let wrong = |said: String| PyValueError::new_err(format!("{name} = {given}: {said}"));
    let time = match given.extract::<String>() {
        Ok(text) => units::time(&text).map_err(|said| wrong(said.to_string()))?,
        Err(_) => given.extract::<f64>()?,
    };
    if time.is_finite() && time >= 0.0 {
        Ok(time)
    } else {
        Err(wrong("a time is a number of seconds from 0, or a text such as \"15 ms\"".to_string()))
    }
}
