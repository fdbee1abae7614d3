//! Scenarios: Python's data in, result documents out.

use crate::errors::{guarded, interruptible, raise};
use crate::outcome::Outcome;
use crate::policy;
use earlydrop_sim::run::{Events, Links};
use earlydrop_sim::scenario::{self, Doc, ScenarioError};
use earlydrop_sim::{engine, result, run};
use pyo3::exceptions::{PyRuntimeError, PyTypeError, PyValueError};
use pyo3::prelude::*;
use pyo3::types::{PyBool, PyDict, PyFloat, PyInt, PyList, PyString, PyTuple};
use serde_json::{json, Value};
use std::path::Path;
use std::sync::Arc;
use std::time::Instant;

/// A checked scenario.
#[pyclass(frozen, module = "earlydrop._core")]
pub struct Scenario {
    /// The engine's.
    pub checked: Arc<scenario::Scenario>,
}

#[pymethods]
impl Scenario {
    /// Reads, overrides and checks a TOML file.
    #[staticmethod]
    #[pyo3(signature = (path, sets=Vec::new()))]
    fn load(py: Python<'_>, path: &str, sets: Vec<(String, String)>) -> PyResult<Self> {
        let doc = scenario::load(Path::new(path)).map_err(raise)?;
        Self::from_doc(py, doc, sets, Some(path), true)
    }

    /// Overrides and checks a dict. `strict`: a parameter that is set must be the discipline's, also one that is set too;
    /// else, as at the points of a sweep over disciplines and parameters, those that it does not have are left out.
    #[staticmethod]
    #[pyo3(signature = (document, sets=Vec::new(), strict=false))]
    fn parse(document: &Bound<'_, PyAny>, sets: Vec<(String, String)>, strict: bool) -> PyResult<Self> {
        Self::from_doc(document.py(), doc_of(document, 0)?, sets, None, strict)
    }

    /// Its name.
    #[getter]
    fn name(&self) -> &str {
        &self.checked.name
    }

    /// Its seed.
    #[getter]
    fn seed(&self) -> u64 {
        self.checked.seed
    }

    /// The scenario with every default filled in, as JSON.
    fn to_json(&self) -> String {
        self.checked.to_json().to_string()
    }

    /// The same over links without a link layer, as those between TUN devices are.
    fn over_ip(&self) -> Scenario {
        Scenario { checked: Arc::new(self.checked.over_ip()) }
    }

    /// What the scenario says but its author may not have meant, one sentence each.
    fn warnings(&self, py: Python<'_>) -> PyResult<Vec<String>> {
        let checked = Arc::clone(&self.checked);
        interruptible(py, move || checked.warnings())
    }

    /// For each traffic entry with a TCP: its number, the TCP, its stack, and the options that differ from the stack,
    /// as JSON.
    fn stacks(&self) -> String {
        let entries = self.checked.traffic.iter().enumerate().filter_map(|(number, entry)| {
            let spec = entry.tcp_spec()?;
            let stack = spec.stack.name;
            Some(json!({ "traffic": number, "tcp": spec.tcp.name(), "stack": stack, "rules": spec.differing() }))
        });
        Value::from(entries.collect::<Vec<_>>()).to_string()
    }

    /// The flows that pass a queue: the nodes of its link (by index), and for each flow its sender, its receiver, and
    /// whether its ACKs pass rather than its data. None if there is no such queue.
    #[pyo3(signature = (queue, seed=None))]
    #[allow(clippy::type_complexity)]
    fn passing(&self, queue: &str, seed: Option<u64>) -> Option<((u32, u32), Vec<(u32, u32, bool)>)> {
        let found = run::passing(&self.checked, seed.unwrap_or(self.checked.seed), queue)?;
        Some((found.link, found.flows))
    }

    /// The network in full, as JSON: nodes, links, and the names of the queues at links. Other Python threads continue
    /// meanwhile.
    fn network(&self, py: Python<'_>) -> PyResult<String> {
        let checked = Arc::clone(&self.checked);
        interruptible(py, move || checked.network_text())
    }

    /// What the options of a command would say of the direction of a link that is called `name`: key and value of each.
    /// None if there is none of this name.
    fn link_words(&self, name: &str) -> Option<Vec<(&'static str, String)>> {
        let graph = self.checked.topology.graph(self.checked.seed);
        let found = graph.links().find(|(_, direction, ..)| direction.name == name);
        found.map(|(_, direction, ..)| scenario::link_words(&direction.link))
    }

    /// Runs it; returns the result document as JSON. Other Python threads continue meanwhile.
    #[pyo3(signature = (seed=None, links="auto", events="lanes"))]
    fn run(&self, py: Python<'_>, seed: Option<u64>, links: &str, events: &str) -> PyResult<String> {
        let links = match links {
            "auto" => Links::Auto,
            "stepped" => Links::Stepped,
            other => return Err(PyValueError::new_err(format!("links = {other:?}: \"auto\" or \"stepped\""))),
        };
        let events = match events {
            "lanes" => Events::Lanes,
            "heap" => Events::Heap,
            other => return Err(PyValueError::new_err(format!("events = {other:?}: \"lanes\" or \"heap\""))),
        };
        let seed = seed.unwrap_or(self.checked.seed);
        let (raw, wall_s) = self.outcome_of(py, seed, links, events)?;
        Ok(py.detach(|| result::parts(&self.checked, seed, &raw, wall_s, self.checked.record.flows).to_text()))
    }

    /// Runs it; returns what the run gave. Other Python threads continue meanwhile.
    #[pyo3(signature = (seed=None))]
    fn outcome(slf: Bound<'_, Self>, seed: Option<u64>) -> PyResult<Outcome> {
        let scenario = slf.get();
        let seed = seed.unwrap_or(scenario.checked.seed);
        let (raw, wall_s) = scenario.outcome_of(slf.py(), seed, Links::Auto, Events::Lanes)?;
        Ok(Outcome::new(slf.unbind(), seed, wall_s, raw))
    }
}

impl Scenario {
    /// The outcome of a run, and how long it took, s.
    fn outcome_of(&self, py: Python<'_>, seed: u64, links: Links, events: Events) -> PyResult<(engine::Outcome, f64)> {
        let made = py.detach(|| {
            let begin = Instant::now();
            let outcome = guarded(|| run::run(&self.checked, seed, links, events))?;
            Ok(outcome.map(|outcome| (outcome, begin.elapsed().as_secs_f64())))
        });
        made.map_err(|fault: String| PyRuntimeError::new_err(fault))?.map_err(raise)
    }

    fn from_doc(
        py: Python<'_>,
        mut doc: Doc,
        sets: Vec<(String, String)>,
        file: Option<&str>,
        strict: bool,
    ) -> PyResult<Self> {
        scenario::apply_sets(&mut doc, &sets).map_err(|e| raise(e.in_file(file)))?;
        let own = policy::named_in(&mut doc, file)?;
        let paths: Vec<&str> = sets.iter().map(|(path, _)| path.as_str()).collect();
        let meant = if strict { &paths[..] } else { &[] };
        for path in &paths {
            if let Some(queue) = path.strip_prefix("queue.").and_then(|rest| rest.strip_suffix(".aqm")) {
                scenario::retain_known_with(&mut doc, queue, &own, meant);
            }
        }
        let file = file.map(str::to_string);
        let checked = interruptible(py, move || scenario::check_with(&doc, file.as_deref(), &own))?.map_err(raise)?;
        Ok(Scenario { checked: Arc::new(checked) })
    }
}

/// Plain Python data as a document. The depth is bounded, so that a list that contains itself is an error.
pub fn doc_of(value: &Bound<'_, PyAny>, depth: usize) -> PyResult<Doc> {
    if depth > scenario::MAX_DEPTH {
        let e = ScenarioError::new("", format!("tables and lists nest deeper than {}", scenario::MAX_DEPTH));
        return Err(raise(e));
    }
    // bool before int, because a Python bool is an int.
    if let Ok(flag) = value.cast::<PyBool>() {
        return Ok(Doc::Bool(flag.is_true()));
    }
    if let Ok(number) = value.cast::<PyInt>() {
        return Ok(number
            .extract::<i64>()
            .map_or_else(|_| Doc::Float(number.extract().unwrap_or(f64::INFINITY)), Doc::Integer));
    }
    if let Ok(number) = value.cast::<PyFloat>() {
        return Ok(Doc::Float(number.extract()?));
    }
    if let Ok(text) = value.cast::<PyString>() {
        return Ok(Doc::String(text.extract()?));
    }
    if let Ok(table) = value.cast::<PyDict>() {
        let entries = table.iter().map(|(key, value)| {
            let key: String = key.extract().map_err(|_| raise(ScenarioError::new("", "a key is not text")))?;
            Ok((key, doc_of(&value, depth + 1)?))
        });
        return Ok(Doc::Table(entries.collect::<PyResult<_>>()?));
    }
    if value.is_instance_of::<PyList>() || value.is_instance_of::<PyTuple>() {
        let items = value.try_iter()?.map(|item| doc_of(&item?, depth + 1));
        return Ok(Doc::Array(items.collect::<PyResult<_>>()?));
    }
    // numpy's numbers and the like.
    if let Ok(number) = value.extract::<f64>() {
        return Ok(Doc::Float(number));
    }
    Err(PyTypeError::new_err(format!(
        "a scenario holds tables, lists, texts, numbers and flags, not {}",
        value.get_type()
    )))
}
