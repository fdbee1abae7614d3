//! Packet-level simulation of queue disciplines.

pub mod engine;
pub mod events;
pub mod measure;
