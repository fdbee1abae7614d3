//! Many runs, packed into columns.

use crate::scenario::Scenario;
use earlydrop_sim::batch::{self, Column, Values};
use pyo3::prelude::*;
use pyo3::types::PyBytes;

/// Columns of a batch: path, kind, runs, lengths, values, texts. Numbers are bytes in native order.
pub type PackedColumn<'py> =
    (String, &'static str, Bound<'py, PyBytes>, Option<Bound<'py, PyBytes>>, Bound<'py, PyBytes>, Option<Vec<String>>);

/// Failed runs by position, with the error.
type Failures = Vec<(usize, String)>;

/// Makes many runs and packs their results into columns. Other Python threads continue meanwhile.
#[pyfunction]
#[allow(clippy::type_complexity)]
pub fn run_batch<'py>(
    py: Python<'py>,
    jobs: Vec<(Py<Scenario>, u64)>,
) -> (Vec<PackedColumn<'py>>, Bound<'py, PyBytes>, Failures) {
    let made = py.detach(|| {
        let jobs: Vec<_> = jobs.iter().map(|(scenario, seed)| (&*scenario.get().checked, *seed)).collect();
        batch::run(&jobs)
    });
    let columns = made.columns.into_iter().map(|(path, column)| packed(py, path, column));
    let wall_s = bytes(py, made.wall_s.iter().flat_map(|s| s.to_ne_bytes()));
    (columns.collect(), wall_s, made.failures)
}

/// A column called `path`.
pub fn packed(py: Python<'_>, path: String, column: Column) -> PackedColumn<'_> {
    let (kind, values, texts) = match column.values {
        Values::Whole(v) => ("whole", bytes(py, v.iter().flat_map(|n| n.to_ne_bytes())), None),
        Values::Real(v) => ("real", bytes(py, v.iter().flat_map(|x| x.to_ne_bytes())), None),
        Values::Text(v, texts) => ("text", bytes(py, v.iter().flat_map(|n| n.to_ne_bytes())), Some(texts)),
    };
    let whole = |list: &[u32]| bytes(py, list.iter().flat_map(|n| n.to_ne_bytes()));
    (path, kind, whole(&column.runs), column.lengths.as_deref().map(whole), values, texts)
}

fn bytes<'py>(py: Python<'py>, of: impl Iterator<Item = u8>) -> Bound<'py, PyBytes> {
    PyBytes::new(py, &of.collect::<Vec<u8>>())
}
