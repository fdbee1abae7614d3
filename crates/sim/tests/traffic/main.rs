//! Traffic in simulated networks: what each kind sends, and what holds for all kinds.

mod invariants;
mod kinds;
