//! What a run gave, before it is a document: with many flows, their table is made only where it is wanted.

use crate::batch::{packed, PackedColumn};
use crate::scenario::Scenario;
use earlydrop_sim::capture::traced::TracedQueues;
use earlydrop_sim::scenario::FlowRecord;
use earlydrop_sim::{batch, engine, flow_table, result};
use pyo3::exceptions::PyValueError;
use pyo3::prelude::*;
use pyo3::types::PyBytes;
use std::io::{self, BufWriter, Write};

/// What a run gave.
#[pyclass(frozen, module = "earlydrop._core")]
pub struct Outcome {
    scenario: Py<Scenario>,
    seed: u64,
    wall_s: f64,
    raw: engine::Outcome,
}

impl Outcome {
    /// Of a run of `scenario` with `seed`, which took `wall_s`.
    pub fn new(scenario: Py<Scenario>, seed: u64, wall_s: f64, raw: engine::Outcome) -> Self {
        Outcome { scenario, seed, wall_s, raw }
    }

    fn document(&self, py: Python<'_>, flows: FlowRecord, without: &[String]) -> String {
        let scenario = &self.scenario.get().checked;
        py.detach(|| result::parts(scenario, self.seed, &self.raw, self.wall_s, flows).without(without).to_text())
    }
}

#[pymethods]
impl Outcome {
    /// The result document as JSON, without these fields. Other Python threads continue meanwhile.
    #[pyo3(signature = (without=Vec::new()))]
    fn text(&self, py: Python<'_>, without: Vec<String>) -> String {
        self.document(py, self.scenario.get().checked.record.flows, &without)
    }

    /// The same with a summary of the flows, whatever the scenario records of them.
    fn summary(&self, py: Python<'_>) -> String {
        self.document(py, FlowRecord::Summary, &[])
    }

    /// The flows, packed into columns.
    fn flows<'py>(&self, py: Python<'py>) -> Vec<PackedColumn<'py>> {
        let scenario = &self.scenario.get().checked;
        let columns = py.detach(|| batch::flows(flow_table::FlowTable::new(scenario, &self.raw)));
        columns.into_iter().map(|(name, column)| packed(py, name.to_string(), column)).collect()
    }

    /// Writes a packet capture of the queues that were traced with headers into `file`, a binary stream; returns the
    /// number of events that were kept of them, and of all. Raises ValueError, before anything is written, if the
    /// queues cannot be in one capture.
    fn capture(&self, file: Bound<'_, PyAny>) -> PyResult<(u64, u64)> {
        let traced = TracedQueues::new(&self.scenario.get().checked, self.seed, &self.raw);
        let traced = traced.map_err(PyValueError::new_err)?;
        traced.write(BufWriter::with_capacity(1 << 20, Stream(file)))?;
        Ok(traced.events())
    }
}

/// A binary stream of Python's. What it raises comes out of [`io::Error`] again.
pub struct Stream<'py>(pub Bound<'py, PyAny>);

impl Write for Stream<'_> {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        let written = self.0.call_method1("write", (PyBytes::new(self.0.py(), bytes),))?;
        Ok(written.extract()?)
    }

    fn flush(&mut self) -> io::Result<()> {
        self.0.call_method0("flush")?;
        Ok(())
    }
}
