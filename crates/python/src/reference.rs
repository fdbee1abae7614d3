//! What there is to choose from: disciplines, TCP stacks, keys of a scenario.

use crate::errors::{internal, interruptible, raise};
use earlydrop_aqm::catalogue::{all, Link};
use earlydrop_sim::scenario::{self, stack_catalogue, Doc};
use earlydrop_sim::vectors;
use pyo3::exceptions::{PyTypeError, PyValueError};
use pyo3::prelude::*;
use pyo3::types::PyDict;
use serde_json::{json, Value};

/// The TCP stacks and their options, as JSON.
#[pyfunction]
pub fn stacks() -> String {
    stack_catalogue().to_string()
}

/// Every discipline with its parameters, as JSON.
#[pyfunction]
pub fn catalogue() -> String {
    let entries: Vec<Value> = all().iter().map(|spec| scenario::discipline_reference(spec)).collect();
    Value::from(entries).to_string()
}

/// The schemes that are a setting of a discipline, as JSON.
#[pyfunction]
pub fn folded() -> String {
    scenario::folded_reference().to_string()
}

/// Every traffic conditioner with its parameters, and what its rules are, as JSON.
#[pyfunction]
pub fn markers() -> String {
    scenario::marker_reference().to_string()
}

/// Every parent with its parameters, and what its rules are, as JSON.
#[pyfunction]
pub fn parents() -> String {
    scenario::parent_reference().to_string()
}

/// A commented scenario to start from, with a topology of this kind, as TOML.
#[pyfunction]
#[pyo3(signature = (name, topology="dumbbell"))]
pub fn template(name: &str, topology: &str) -> PyResult<String> {
    scenario::template_of(name, topology).map_err(raise)
}

/// The decision vectors of a discipline, parent or marker, as JSON lines; None if there is none of this name.
#[pyfunction(name = "vectors")]
pub fn decision_vectors(py: Python<'_>, name: &str) -> Option<String> {
    py.detach(|| vectors::vectors(name))
}

/// What has decision vectors.
#[pyfunction]
pub fn vector_names() -> Vec<&'static str> {
    vectors::names()
}

/// JSON schema of a scenario.
#[pyfunction]
pub fn schema() -> String {
    scenario::schema().to_string()
}

/// The number of a text with a unit, such as "4 ms", its unit, the unit's factor, and the base unit of its dimension;
/// None for another text.
#[pyfunction]
pub fn quantity(text: &str) -> Option<(f64, &'static str, f64, &'static str)> {
    scenario::quantity(text)
}

/// The discipline of a text such as `red limit=120p`, and its settings as `--set` takes them.
#[pyfunction]
pub fn queue_words(text: &str) -> PyResult<scenario::QueueWords> {
    scenario::queue_words(text).map_err(raise)
}

/// The kinds of topologies and of traffic with their keys, as JSON.
#[pyfunction]
pub fn reference() -> String {
    scenario::reference().to_string()
}

/// Names of the keys for what happens to packets on a link, besides rate and delay.
#[pyfunction]
pub fn link_effects() -> Vec<&'static str> {
    scenario::link_effects()
}

/// What a command's options say of a link: key and meaning.
#[pyfunction]
pub fn link_options() -> Vec<(&'static str, &'static str)> {
    scenario::link_options()
}

/// The models of links, as JSON.
#[pyfunction]
pub fn link_models() -> String {
    scenario::models().to_string()
}

/// The models of both directions of a link by a text or the JSON of a table, as texts: of what its user sends, and
/// receives.
#[pyfunction]
pub fn model_ways(model: &str) -> PyResult<[String; 2]> {
    document(model).and_then(|doc| scenario::model_ways(&doc)).map_err(raise)
}

/// A text, or the table that it has as JSON.
fn document(text: &str) -> Result<Doc, scenario::ScenarioError> {
    match serde_json::from_str::<Value>(text) {
        Ok(table @ Value::Object(_)) => Doc::from_json(&table),
        _ => Ok(Doc::String(text.to_string())),
    }
}

/// A model's rate and extra delay in each of their steps, without packets, from its text or the JSON of its table:
/// `rate_step`, `rate` (bit/s), `delay_step`, `delay` (s). What the model does not have is of no step and empty.
#[pyfunction]
#[pyo3(signature = (model, seed=1, seconds=60.0, link="bottleneck"))]
pub fn model_series<'py>(
    py: Python<'py>,
    model: &str,
    seed: u64,
    seconds: f64,
    link: &str,
) -> PyResult<Bound<'py, PyDict>> {
    const MOST: f64 = 1e8;
    let model = document(model).and_then(|doc| scenario::model_of(&doc)).map_err(raise)?;
    if !(0.0..=MOST).contains(&(seconds / model.least_step())) {
        return Err(PyValueError::new_err(format!(
            "seconds: given {seconds}; allowed 0 to {}",
            MOST * model.least_step()
        )));
    }
    let link = link.to_string();
    let series = interruptible(py, move || model.series(&link, seed, seconds))?;
    let found = PyDict::new(py);
    found.set_item("rate_step", series.rate_step)?;
    found.set_item("rate", series.rate)?;
    found.set_item("delay_step", series.delay_step)?;
    found.set_item("delay", series.delay)?;
    Ok(found)
}

/// The words of a value of a document, given as JSON, in one line: `5ms`, or the settings `KEY=VALUE` of a table.
#[pyfunction]
pub fn words(value_json: &str) -> PyResult<Vec<String>> {
    Ok(scenario::words(&serde_json::from_str(value_json).map_err(internal)?))
}

/// Every field of result documents, as JSON.
#[pyfunction]
pub fn result_fields() -> String {
    #[cfg(target_os = "linux")]
    let of_links = crate::link::document::reference();
    #[cfg(not(target_os = "linux"))]
    let of_links = Vec::new();
    Value::from([earlydrop_sim::result::reference(), of_links].concat()).to_string()
}

/// p_b at each averaged queue (packets), or None where the discipline has no drop curve. `parameters_json`: a JSON
/// object as in a scenario's queue table, without `aqm` and `limit`.
#[pyfunction]
#[pyo3(signature = (aqm, parameters_json, averages, rate_bps=10e6, delay_s=0.01))]
pub fn drop_curve(
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
    let link = queue.link(&Link { rate_bps, delay_s });
    let curve = queue.spec.curve.map(|curve| averages.iter().map(|&a| curve(&queue.values, &link, a)).collect());
    Ok(curve)
}
