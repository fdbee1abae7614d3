//! How iproute2's tc, which sets up Linux's RED, rounds the time of a packet.

use crate::params::{words, Param, Word};

/// Ticks of the packet scheduler's clock in a microsecond (`tick_in_usec`); tc makes the table for ticks.
const TICKS: f64 = 15.625;

words! {
    /// Which version of iproute2's tc makes the table for the idle decay.
    pub enum Tc {
        /// From 6.15 (2025) on, the time of a packet is rounded up to whole ticks.
        Since615 = "iproute2-6.15",
        /// Up to 6.14 it is cut off to whole microseconds, and then to whole ticks.
        Until614 = "iproute2-6.14",
    }
}

impl Tc {
    /// `tc_calc_xmittime`: ticks in which a link of `rate_bps` sends `size` bytes.
    pub(super) fn transmission(self, size: f64, rate_bps: f64) -> f64 {
        let microseconds = 1e6 * (size / (rate_bps / 8.0));
        match self {
            Tc::Since615 => libm::ceil(microseconds * TICKS),
            Tc::Until614 => libm::floor(libm::floor(microseconds) * TICKS),
        }
    }
}

/// The parameter `tc`, for disciplines that tc sets up.
pub const TC: [Param; 1] = [Param::word("tc", Tc::WORDS, "iproute2-6.15").says(
    "iproute2, tc_calc_xmittime",
    "linux: whose table for the idle decay; iproute2 up to 6.14 cuts a packet's time off to whole microseconds.",
)];
