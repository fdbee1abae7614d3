//! What a run gave, before it is a document: with many flows, their table is made only where it is wanted.

use crate::batch::{packed, PackedColumn};
use crate::scenario::Scenario;
use earlydrop_sim::scenario::FlowRecord;
use earlydrop_sim::{batch, engine, flow_table, result};
use pyo3::prelude::*;

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
}
