//! The engine: a network, a plan of how to run its links, the run, and what it found.

pub mod network;
mod outcome;
pub mod plan;
mod run;
mod settings;
mod sizes;
mod state;
pub mod trace;

pub use outcome::{FlowOutcome, FlowTransfers, Outcome, PortOutcome, Series, TransferOutcome};
pub use run::Engine;
pub use settings::Settings;
pub use sizes::{ACK_BYTES, ACK_SIZES, SYN_BYTES};
