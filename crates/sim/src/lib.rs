#![doc = include_str!("../README.md")]

pub mod batch;
pub mod capture;
#[cfg(test)]
mod complexity;
pub mod engine;
pub mod events;
pub mod fields;
mod fifo;
pub mod flow_table;
pub mod losses;
mod pages;
mod prefetch;
pub mod rates;
pub mod replay;
pub mod result;
pub mod run;
pub mod scenario;
pub mod shares;
mod silent;
pub mod simulation;
pub mod topology;
pub mod variation;
pub mod vectors;

pub use earlydrop_net::measure;
