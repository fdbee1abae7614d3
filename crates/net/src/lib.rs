//! Links, TCP senders and receivers as state machines on simulated time.
//!
//! Nothing here schedules events or knows a topology: a sender answers an ACK with segments to send and a timer
//! deadline, a wire answers a packet with the instants at which it starts and arrives. The run loop is
//! `earlydrop-sim`'s.

pub mod segment;
pub mod tcp;
pub mod wire;

pub use segment::Segment;
pub use wire::Wire;
