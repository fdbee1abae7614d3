//! Glue between the Rust engine and the Python package `earlydrop`: documents in, documents out. Decides nothing
//! itself.

#[cfg(target_os = "linux")]
mod link;

use earlydrop_aqm::catalogue::{all, AqmSpec, Link};
use earlydrop_aqm::params::{Kind, Param};
use earlydrop_sim::batch::{self, Values};
use earlydrop_sim::run::{Events, Links};
use earlydrop_sim::scenario::{self, stack_catalogue, Doc, ScenarioError};
use earlydrop_sim::{result, run, vectors};
use pyo3::exceptions::{PyRuntimeError, PyTypeError, PyValueError};
use pyo3::prelude::*;
use pyo3::types::{PyBool, PyBytes, PyDict, PyFloat, PyInt, PyList, PyString, PyTuple};
use serde_json::{json, Value};
use std::path::Path;
use std::time::Instant;

mod error {
    use pyo3::exceptions::PyValueError;

    pyo3::create_exception!(
        earlydrop._core,
        ScenarioError,
        PyValueError,
        "A scenario is wrong: `file` and `path` say where, `given` is the value found, `allowed` what may be there."
    );
}

/// A Python `ScenarioError` with the same fields.
fn raise(e: ScenarioError) -> PyErr {
    let raised = error::ScenarioError::new_err(e.to_string());
    Python::attach(|py| {
        let value = raised.value(py);
        let path = (!e.path.is_empty()).then_some(e.path);
        let fields = [
            ("file", e.file),
            ("path", path),
            ("given", e.given),
            ("allowed", e.allowed),
            ("message", Some(e.message)),
        ];
        for (name, field) in fields {
            // Setting an attribute of a fresh exception fails only if memory runs out.
            let _ = value.setattr(name, field);
        }
    });
    raised
}

fn internal(e: impl std::fmt::Display) -> PyErr {
    PyRuntimeError::new_err(e.to_string())
}

/// A checked scenario.
#[pyclass(frozen, module = "earlydrop._core")]
struct Scenario {
    checked: scenario::Scenario,
}

#[pymethods]
impl Scenario {
    /// Reads, overrides and checks a TOML file.
    #[staticmethod]
    #[pyo3(signature = (path, sets=Vec::new()))]
    fn load(path: &str, sets: Vec<(String, String)>) -> PyResult<Self> {
        let doc = scenario::load(Path::new(path)).map_err(raise)?;
        Self::from_doc(doc, sets, Some(path))
    }

    /// Overrides and checks a dict.
    #[staticmethod]
    #[pyo3(signature = (document, sets=Vec::new()))]
    fn parse(document: &Bound<'_, PyAny>, sets: Vec<(String, String)>) -> PyResult<Self> {
        Self::from_doc(doc_of(document, 0)?, sets, None)
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

    /// What the scenario says but its author may not have meant, one sentence each.
    fn warnings(&self) -> Vec<String> {
        self.checked.warnings()
    }

    /// For each traffic entry with a TCP: its number, the TCP, its stack, and the options that differ from the stack,
    /// as JSON.
    fn stacks(&self) -> String {
        let entries = self.checked.traffic.iter().enumerate().filter_map(|(number, entry)| {
            let spec = entry.tcp_spec()?;
            let (stack, rules) = spec.shortest();
            Some(json!({ "traffic": number, "tcp": spec.tcp.name(), "stack": stack, "rules": rules }))
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

    /// The network in full, as JSON: nodes, links, and the names of the queues at links.
    fn network(&self) -> String {
        self.checked.network_json().to_string()
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
        py.detach(|| {
            let start = Instant::now();
            let outcome = run::run(&self.checked, seed, links, events)?;
            Ok(result::document(&self.checked, seed, &outcome, start.elapsed().as_secs_f64()).to_string())
        })
        .map_err(raise)
    }
}

impl Scenario {
    fn from_doc(mut doc: Doc, sets: Vec<(String, String)>, file: Option<&str>) -> PyResult<Self> {
        scenario::apply_sets(&mut doc, &sets).map_err(|e| raise(e.in_file(file)))?;
        for (path, _) in &sets {
            if let Some(queue) = path.strip_prefix("queue.").and_then(|rest| rest.strip_suffix(".aqm")) {
                scenario::retain_known(&mut doc, queue);
            }
        }
        let checked = scenario::check(&doc, file).map_err(raise)?;
        Ok(Scenario { checked })
    }
}

/// Plain Python data as a document. The depth is bounded, so that a list that contains itself is an error.
fn doc_of(value: &Bound<'_, PyAny>, depth: usize) -> PyResult<Doc> {
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

/// Columns of a batch: path, kind, runs, lengths, values, texts. Numbers are bytes in native order.
type PackedColumn<'py> =
    (String, &'static str, Bound<'py, PyBytes>, Option<Bound<'py, PyBytes>>, Bound<'py, PyBytes>, Option<Vec<String>>);

/// Failed runs by position, with the error.
type Failures = Vec<(usize, String)>;

/// Makes many runs and packs their results into columns. Other Python threads continue meanwhile.
#[pyfunction]
#[allow(clippy::type_complexity)]
fn run_batch<'py>(
    py: Python<'py>,
    jobs: Vec<(Py<Scenario>, u64)>,
) -> (Vec<PackedColumn<'py>>, Bound<'py, PyBytes>, Failures) {
    let made = py.detach(|| {
        let jobs: Vec<_> = jobs.iter().map(|(scenario, seed)| (&scenario.get().checked, *seed)).collect();
        batch::run(&jobs)
    });
    let columns = made.columns.into_iter().map(|(path, column)| {
        let (kind, values, texts) = match column.values {
            Values::Whole(v) => ("whole", bytes(py, v.iter().flat_map(|n| n.to_ne_bytes())), None),
            Values::Real(v) => ("real", bytes(py, v.iter().flat_map(|x| x.to_ne_bytes())), None),
            Values::Text(v, texts) => ("text", bytes(py, v.iter().flat_map(|n| n.to_ne_bytes())), Some(texts)),
        };
        let whole = |list: &[u32]| bytes(py, list.iter().flat_map(|n| n.to_ne_bytes()));
        (path, kind, whole(&column.runs), column.lengths.as_deref().map(whole), values, texts)
    });
    let wall_s = bytes(py, made.wall_s.iter().flat_map(|s| s.to_ne_bytes()));
    (columns.collect(), wall_s, made.failures)
}

fn bytes<'py>(py: Python<'py>, of: impl Iterator<Item = u8>) -> Bound<'py, PyBytes> {
    PyBytes::new(py, &of.collect::<Vec<u8>>())
}

/// Version of the engine.
#[pyfunction]
fn version() -> &'static str {
    result::VERSION
}

/// Digest of the engine's sources: sixteen hexadecimal digits.
#[pyfunction]
fn build() -> &'static str {
    env!("EARLYDROP_BUILD")
}

/// The TCP stacks and their options, as JSON.
#[pyfunction]
fn stacks() -> String {
    stack_catalogue().to_string()
}

/// Every discipline with its parameters, as JSON.
#[pyfunction]
fn catalogue() -> String {
    let entries: Vec<Value> = all().iter().map(|spec| entry(spec)).collect();
    Value::from(entries).to_string()
}

fn entry(spec: &AqmSpec) -> Value {
    json!({
        "name": spec.name,
        "title": spec.title,
        "family": spec.family,
        "year": spec.year,
        "summary": spec.summary,
        "source": spec.source,
        "doc": spec.documentation(),
        "parameters": spec.all_params().map(parameter).collect::<Vec<_>>(),
    })
}

fn parameter(param: &Param) -> Value {
    let (kind, choices) = match param.kind {
        Kind::Real { .. } => ("real", Value::Null),
        Kind::Whole { .. } => ("whole", Value::Null),
        Kind::Flag { .. } => ("flag", Value::Null),
        Kind::Choice(words) => ("choice", json!(words)),
    };
    json!({
        "name": param.name,
        "symbol": param.symbol,
        "unit": param.unit.name(),
        "kind": kind,
        "range": param.range(),
        "choices": choices,
        "default": param.default.to_string(),
        "source": param.source,
        "doc": param.doc,
    })
}

/// A commented scenario to start from, with a topology of this kind, as TOML.
#[pyfunction]
#[pyo3(signature = (name, topology="dumbbell"))]
fn template(name: &str, topology: &str) -> PyResult<String> {
    scenario::template_of(name, topology).map_err(raise)
}

/// The decision vectors of a discipline, as JSON lines; None if there is no such discipline.
#[pyfunction(name = "vectors")]
fn decision_vectors(py: Python<'_>, aqm: &str) -> Option<String> {
    py.detach(|| vectors::vectors(aqm))
}

/// JSON schema of a scenario.
#[pyfunction]
fn schema() -> String {
    scenario::schema().to_string()
}

/// The kinds of topologies and of traffic with their keys, as JSON.
#[pyfunction]
fn reference() -> String {
    scenario::reference().to_string()
}

/// p_b at each averaged queue (packets), or None where the discipline has no drop curve. `parameters_json`: a JSON
/// object as in a scenario's queue table, without `aqm` and `limit`.
#[pyfunction]
#[pyo3(signature = (aqm, parameters_json, averages, rate_bps=10e6, delay_s=0.01))]
fn drop_curve(
    aqm: &str,
    parameters_json: &str,
    averages: Vec<f64>,
    rate_bps: f64,
    delay_s: f64,
) -> PyResult<Option<Vec<f64>>> {
    let Value::Object(mut queue) = serde_json::from_str(parameters_json).map_err(internal)? else {
        return Err(PyTypeError::new_err("parameters_json must be a JSON object"));
    };
    queue.insert("aqm".into(), json!(aqm));
    let link = json!({ "rate": format!("{rate_bps} bit/s"), "delay": format!("{delay_s} s") });
    let document = json!({
        "name": "curve", "duration": "1 s",
        "topology": { "kind": "dumbbell", "pairs": 1, "access": link, "bottleneck": link },
        "queue": { "bottleneck": queue },
        "traffic": [{ "kind": "ftp" }],
    });
    let doc = Doc::from_json(&document).map_err(raise)?;
    let checked = scenario::check(&doc, None).map_err(raise)?;
    let queue = &checked.queues[0].spec;
    let link = Link { rate_bps, delay_s };
    let curve = queue.spec.curve.map(|curve| averages.iter().map(|&a| curve(&queue.values, &link, a)).collect());
    Ok(curve)
}

#[pymodule]
fn _core(module: &Bound<'_, PyModule>) -> PyResult<()> {
    module.add_class::<Scenario>()?;
    module.add("ScenarioError", module.py().get_type::<error::ScenarioError>())?;
    module.add_function(wrap_pyfunction!(version, module)?)?;
    module.add_function(wrap_pyfunction!(build, module)?)?;
    module.add_function(wrap_pyfunction!(catalogue, module)?)?;
    module.add_function(wrap_pyfunction!(stacks, module)?)?;
    module.add_function(wrap_pyfunction!(run_batch, module)?)?;
    module.add_function(wrap_pyfunction!(template, module)?)?;
    module.add_function(wrap_pyfunction!(schema, module)?)?;
    module.add_function(wrap_pyfunction!(reference, module)?)?;
    module.add_function(wrap_pyfunction!(decision_vectors, module)?)?;
    module.add_function(wrap_pyfunction!(drop_curve, module)?)?;
    #[cfg(target_os = "linux")]
    {
        module.add_class::<link::PyLink>()?;
        module.add_class::<link::Child>()?;
        module.add_function(wrap_pyfunction!(link::record::replay_link, module)?)?;
        module.add_function(wrap_pyfunction!(link::sweep_links, module)?)?;
        module.add_function(wrap_pyfunction!(link::has_tun, module)?)?;
    }
    Ok(())
}
