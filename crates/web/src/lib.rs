//! The engine for WebAssembly. A host calls the exports of `exports.rs`, described in `docs/web.md`; everything else here
//! is safe code that they call.
//!
//! Requests come as JSON through one input buffer; answers leave as one text and as arrays of `f64`. Nothing traps on
//! what a host may send: what is wrong is an answer too.

mod answer;
mod catalogue;
mod exports;
mod limits;
mod request;
mod run;
mod series;
mod session;
