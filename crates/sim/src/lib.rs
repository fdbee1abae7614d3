//! Packet-level simulation of queue disciplines: scenario in, result document out.
//!
//! ```
//! use earlydrop_sim::{result, run, scenario};
//!
//! let mut doc = scenario::Doc::from_toml(&scenario::template("first"), None)?;
//! scenario::apply_sets(&mut doc, &[("duration".into(), "10 s".into()), ("warmup".into(), "2 s".into())])?;
//! let scenario = scenario::check(&doc, None)?;
//! let outcome = run::run(&scenario, 1, run::Links::Auto, run::Events::Lanes)?;
//! let document = result::document(&scenario, 1, &outcome, 0.0);
//! assert!(document["queues"]["bottleneck"]["utilisation"].as_f64().unwrap() > 0.9);
//! # Ok::<(), scenario::ScenarioError>(())
//! ```

pub mod batch;
pub mod engine;
pub mod events;
mod fifo;
pub mod losses;
mod prefetch;
pub mod rates;
pub mod replay;
pub mod result;
pub mod run;
pub mod scenario;
pub mod shares;
pub mod simulation;
pub mod topology;
pub mod variation;
pub mod vectors;

pub use earlydrop_net::measure;
