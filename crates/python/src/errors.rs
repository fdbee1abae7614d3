//! The engine's errors as Python's.

use earlydrop_aqm::fault::Fault;
use earlydrop_sim::scenario::ScenarioError;
use pyo3::exceptions::PyRuntimeError;
use pyo3::prelude::*;
use std::panic::{catch_unwind, resume_unwind, AssertUnwindSafe};

pub mod error {
    use pyo3::exceptions::PyValueError;

    pyo3::create_exception!(
        earlydrop._core,
        ScenarioError,
        PyValueError,
        "A scenario is wrong: `file` and `path` say where, `given` is the value found, `allowed` what may be there."
    );
}

/// A Python `ScenarioError` with the same fields.
pub fn raise(e: ScenarioError) -> PyErr {
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

/// What `work` gives; a policy that cannot go on is an error.
///
/// # Errors
/// What the policy said.
pub fn guarded<T>(work: impl FnOnce() -> T) -> Result<T, String> {
    catch_unwind(AssertUnwindSafe(work)).map_err(|payload| match Fault::of(payload.as_ref()) {
        Some(fault) => fault.0.clone(),
        None => resume_unwind(payload),
    })
}

pub fn internal(e: impl std::fmt::Display) -> PyErr {
    PyRuntimeError::new_err(e.to_string())
}
