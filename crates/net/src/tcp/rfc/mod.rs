//! TCP as in the RFCs: bytes, a handshake, RFC 6298's timer, SACK.
//!
//! A [`Connection`] is the sending end. Its parts are the handshake, RTT samples and the timeout ([`rto`]), the
//! scoreboard, loss detection, recovery with proportional rate reduction, ECN and pacing. Congestion control
//! ([`control`]) grows and reduces cwnd. The receiving end is [`Receiver`]; with data both ways an [`Endpoint`] is both. The TCPs differ in their [`Settings`].

mod accecn;
mod accecn_option;
mod clock;
mod connection;
pub mod control;
mod ecn;
mod endpoint;
mod header;
mod losses;
mod pacer;
mod prr;
mod quic;
mod rack;
mod rate;
mod reading;
mod receiver;
mod recovery;
mod resume;
pub mod rto;
mod rtt;
mod rules;
mod scoreboard;
mod settings;
mod small_queue;
mod tlp;
mod tso;
mod undo;
mod usage;
mod vars;
pub(super) mod wire;

pub use accecn_option::AccecnOption;
pub use clock::TICK;
pub use connection::Connection;
pub use control::{BbrRules, Counting, HyStart};
pub use endpoint::Endpoint;
pub use header::{block_bytes, HEADER_BYTES, STAMP_BYTES, SYN_OPTIONS, SYN_OPTIONS_WITH_STAMPS};
pub use prr::Bound;
pub use reading::Reading;
pub use receiver::{Next, Receiver, ReceiverSettings, Reply, SACK_WAIT};
pub use resume::Saved;
pub use rto::{GRANULARITY, INITIAL_RTO};
pub use rules::{
    Base, ControlRules, EcnRules, Feedbacks, GrowthRules, IdleRestart, PacingRules, RackRules, ReceiverRules,
    RecoveryRules, Restart, ResumeRules, RtoRules, ServerEcn, UndoRules,
};
pub use settings::{ControlKind, Settings};
pub use wire::Range;
pub use wire::SAME_WINDOW;
pub use wire::{unwrap, wrap, Arrived, Feedback, MOST_BLOCKS};
