//! Scenarios: what the checker accepts, what it makes of it, and what it refuses with which message.

mod bad;
mod own;
mod properties;
mod reference;
mod stacks;
mod valid;
