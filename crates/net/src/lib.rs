//! Links, TCP senders and receivers, and traffic sources as state machines on simulated time.
//!
//! Nothing here schedules events or knows a topology: a sender answers an ACK with segments to send and a timer
//! deadline, a wire answers a packet with the instants at which it starts and arrives, a source says what it sends and
//! when, a medium what becomes of packets on a link. The run loop is `earlydrop-sim`'s.

#![forbid(unsafe_code)]

pub mod framing;
pub mod measure;
pub mod medium;
pub mod port;
pub mod record;
pub mod segment;
pub mod sojourns;
pub mod source;
pub mod tcp;
pub mod ttl;
pub mod wire;

pub use segment::Segment;
pub use ttl::TtlOption;
pub use wire::Wire;
