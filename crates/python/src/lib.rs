//! Glue between the Rust engine and the Python package `earlydrop`: documents in, documents out. Decides nothing
//! itself.

#[cfg(target_os = "linux")]
mod link;

mod batch;
mod errors;
mod maths;
mod outcome;
mod path;
mod policy;
mod reference;
mod scenario;
mod simulation;

use batch::run_batch;
use earlydrop_sim::result;
use pyo3::prelude::*;
use reference::{catalogue, decision_vectors, drop_curve, schema, stacks, template, vector_names};
use scenario::Scenario;

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

#[pymodule]
fn _core(module: &Bound<'_, PyModule>) -> PyResult<()> {
    module.add_class::<Scenario>()?;
    module.add_class::<outcome::Outcome>()?;
    module.add_class::<simulation::Simulation>()?;
    module.add_class::<path::PathNetwork>()?;
    module.add_function(wrap_pyfunction!(simulation::seconds, module)?)?;
    module.add_class::<policy::Aqm>()?;
    module.add_class::<policy::PacketView>()?;
    module.add_class::<policy::QueueState>()?;
    module.add_class::<policy::Cx>()?;
    module.add("ScenarioError", module.py().get_type::<errors::error::ScenarioError>())?;
    module.add_function(wrap_pyfunction!(version, module)?)?;
    module.add_function(wrap_pyfunction!(build, module)?)?;
    module.add_function(wrap_pyfunction!(catalogue, module)?)?;
    module.add_function(wrap_pyfunction!(reference::folded, module)?)?;
    module.add_function(wrap_pyfunction!(stacks, module)?)?;
    module.add_function(wrap_pyfunction!(reference::markers, module)?)?;
    module.add_function(wrap_pyfunction!(reference::parents, module)?)?;
    module.add_function(wrap_pyfunction!(run_batch, module)?)?;
    module.add_function(wrap_pyfunction!(template, module)?)?;
    module.add_function(wrap_pyfunction!(schema, module)?)?;
    module.add_function(wrap_pyfunction!(reference::reference, module)?)?;
    module.add_function(wrap_pyfunction!(reference::quantity, module)?)?;
    module.add_function(wrap_pyfunction!(reference::queue_words, module)?)?;
    module.add_function(wrap_pyfunction!(reference::link_effects, module)?)?;
    module.add_function(wrap_pyfunction!(reference::link_options, module)?)?;
    module.add_function(wrap_pyfunction!(reference::link_models, module)?)?;
    module.add_function(wrap_pyfunction!(reference::model_series, module)?)?;
    module.add_function(wrap_pyfunction!(reference::model_ways, module)?)?;
    module.add_function(wrap_pyfunction!(reference::words, module)?)?;
    module.add_function(wrap_pyfunction!(reference::result_fields, module)?)?;
    module.add_function(wrap_pyfunction!(decision_vectors, module)?)?;
    module.add_function(wrap_pyfunction!(vector_names, module)?)?;
    module.add_function(wrap_pyfunction!(drop_curve, module)?)?;
    module.add_function(wrap_pyfunction!(maths::exp, module)?)?;
    module.add_function(wrap_pyfunction!(maths::log, module)?)?;
    module.add_function(wrap_pyfunction!(maths::log1p, module)?)?;
    module.add_function(wrap_pyfunction!(maths::pow, module)?)?;
    module.add_function(wrap_pyfunction!(maths::maths_at, module)?)?;
    #[cfg(target_os = "linux")]
    {
        module.add_class::<link::PyLink>()?;
        module.add_class::<link::Child>()?;
        module.add_function(wrap_pyfunction!(link::record::replay_link, module)?)?;
        module.add_function(wrap_pyfunction!(link::sweep_links, module)?)?;
        module.add_function(wrap_pyfunction!(link::forwards_ipv6, module)?)?;
        module.add_function(wrap_pyfunction!(link::has_tun, module)?)?;
    }
    Ok(())
}
