//! Scenarios: what the checker accepts, what it makes of it, and what it refuses with which message.

#[path = "../ns3_rules/mod.rs"]
mod ns3_rules;

mod bad;
mod properties;
mod stacks;
mod valid;
