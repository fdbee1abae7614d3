//! Constants of Linux's clock, pacing and bursts.

/// A tick (jiffy) of Linux's clock with its usual `HZ` of 250, s.
pub const TICK: f64 = 4e-3;
/// Below this rate, bytes/s, segments leave one by one (Linux, `bbr_min_tso_rate`).
pub(super) const SLOW: f64 = 1.2e6 / 8.0;
/// The largest burst, bytes (Linux, `sk_gso_max_size`).
pub(super) const LARGEST_BURST: u32 = 65_536;
