//! Fixed arrivals through the disciplines, against what ns-2.35 and ns-3.37 did with the same ones.

mod cake;
mod ns2;
mod ns3;

#[path = "../common/mod.rs"]
mod common;
