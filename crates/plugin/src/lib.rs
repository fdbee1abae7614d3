//! Queue disciplines from outside: a policy that speaks the C ABI of `earlydrop_aqm::abi` runs like one of the catalogue.
//!
//! This crate is the only door for foreign code. [`library::load`] opens a shared library, [`describe`] takes a
//! description that lies in memory already (compiled by Python's numba, say); both give an [`AqmSpec`] that scenarios,
//! links and vectors use like any other. What the foreign code answers is checked; what it writes outside its own block
//! of state cannot be checked.
#![allow(unsafe_code)]

pub mod conformance;
mod elf;
pub mod library;
pub mod maths;
mod policy;
mod spec;
pub mod timers;

pub use earlydrop_aqm::catalogue::AqmSpec;
pub use spec::{describe, numbers, Declaration};
