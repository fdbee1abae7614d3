//! The mathematics of the engine, for policies in Python.

use std::collections::BTreeMap;

use earlydrop_plugin::maths;
use pyo3::prelude::*;

/// e to the power x.
#[pyfunction]
pub fn exp(x: f64) -> f64 {
    maths::exp(x)
}

/// Natural logarithm of x.
#[pyfunction]
pub fn log(x: f64) -> f64 {
    maths::log(x)
}

/// Natural logarithm of 1 + x.
#[pyfunction]
pub fn log1p(x: f64) -> f64 {
    maths::log1p(x)
}

/// x to the power y.
#[pyfunction]
pub fn pow(x: f64, y: f64) -> f64 {
    maths::pow(x, y)
}

/// Addresses of the functions above, for compiled code.
#[pyfunction]
pub fn maths_at() -> BTreeMap<&'static str, usize> {
    BTreeMap::from([
        ("exp", maths::exp as *const () as usize),
        ("log", maths::log as *const () as usize),
        ("log1p", maths::log1p as *const () as usize),
        ("pow", maths::pow as *const () as usize),
    ])
}
