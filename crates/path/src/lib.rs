#![doc = include_str!("../README.md")]
#![forbid(unsafe_code)]

mod captures;
mod clock;
pub mod conform;
mod endpoint;
mod error;
mod network;
mod path;

pub use clock::Clock;
pub use earlydrop_aqm::Ecn;
pub use endpoint::{run, Drive, Endpoint, Stop, Transmit};
pub use error::Error;
pub use network::{Counts, Delivery, Finished, Host, Network};
pub use path::Path;
