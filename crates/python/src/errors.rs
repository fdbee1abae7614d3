//! The engine's errors as Python's, and work that a signal interrupts.

use earlydrop_aqm::fault::Fault;
use earlydrop_sim::scenario::ScenarioError;
use pyo3::exceptions::PyRuntimeError;
use pyo3::prelude::*;
use std::panic::{catch_unwind, resume_unwind, AssertUnwindSafe};
use std::sync::mpsc::{sync_channel, RecvTimeoutError};
use std::thread;
use std::time::Duration;

/// Between two looks for a signal.
const LOOK: Duration = Duration::from_millis(50);

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

/// What `work` gives, done on a thread of its own, while other Python threads and handlers of signals run. Where a handler
/// raises, so does this, and what the work gives is lost.
///
/// # Errors
/// What the handler raised.
pub fn interruptible<T: Send + 'static>(py: Python<'_>, work: impl FnOnce() -> T + Send + 'static) -> PyResult<T> {
    let (give, mut given) = sync_channel(1);
    let worker = move || drop(give.send(catch_unwind(AssertUnwindSafe(work))));
    thread::Builder::new().name("check".to_string()).spawn(worker)?;
    loop {
        let looked = py.detach(move || (given.recv_timeout(LOOK), given));
        given = looked.1;
        match looked.0 {
            Ok(made) => return Ok(made.unwrap_or_else(|panic| resume_unwind(panic))),
            Err(RecvTimeoutError::Timeout) => py.check_signals()?,
            Err(RecvTimeoutError::Disconnected) => return Err(internal("a thread has ended")),
        }
    }
}

pub fn internal(e: impl std::fmt::Display) -> PyErr {
    PyRuntimeError::new_err(e.to_string())
}
