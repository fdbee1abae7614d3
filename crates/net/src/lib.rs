#![doc = include_str!("../README.md")]
#![forbid(unsafe_code)]

pub mod aggregation;
pub mod bands;
pub mod framing;
mod loss;
pub mod measure;
pub mod media;
pub mod medium;
pub mod model;
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
