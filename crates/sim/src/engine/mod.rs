//! The engine: a network, a plan of how to run its links, the run, and what it found.

pub mod network;
mod outcome;
pub mod packet_log;
pub mod plan;
mod run;
mod settings;
mod state;
pub mod trace;

pub use earlydrop_net::tcp::sizes::{ACK_BYTES, ACK_SIZES, SYN_BYTES};
pub use outcome::{
    FlowOutcome, FlowTransfers, MediaOutcome, Outcome, PacketDelays, PortOutcome, SenderSeries, Series, TransferOutcome,
};
pub use run::{is_large, Engine, FlowState, QueueState};
pub use settings::Settings;
pub use state::outside::{Delivery, Ending, Happening, Told};
