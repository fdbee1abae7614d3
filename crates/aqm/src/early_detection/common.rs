//! Steps that several dialects take.

use super::given::OverMax;
use crate::policy::{Context, Reason, Verdict};
use crate::Packet;

/// Whether the random number `uniform` hits `probability`: `u <= p` as in ns-2, except that probability 0 never hits.
#[inline]
pub fn hit(uniform: f64, probability: f64) -> bool {
    probability > 0.0 && uniform <= probability
}

/// What `over_max` makes of an arrival past the end of the curve.
pub(super) fn past_the_end(over_max: OverMax) -> Verdict {
    match over_max {
        OverMax::Mark => Verdict::Signal(Reason::Forced),
        OverMax::Auto | OverMax::Drop | OverMax::MarkBelowMarkP => Verdict::Drop(Reason::Forced),
    }
}

/// Why `packet` is dropped where RED stands before a FIFO that has no room: an arrival that RED drops never gets as
/// far, one that it admits or marks is rejected by the FIFO.
pub(super) fn rejected_behind(earlier: Verdict, packet: &Packet, cx: &Context<'_>) -> Reason {
    match earlier {
        Verdict::Drop(reason) => reason,
        Verdict::Signal(reason) if !cx.can_mark(packet) => reason,
        _ => Reason::Overflow,
    }
}

/// `average` times (1 - `weight`)^`times` in closed form, with the same bits on every platform.
pub fn decay_at_once(average: f64, weight: f64, times: u64) -> f64 {
    // Weight 1 gives log 0 = -inf, and 0 times that is not a number.
    if times == 0 {
        return average;
    }
    average * libm::exp(times as f64 * libm::log1p(-weight))
}

/// How many packets the link could have sent in `idle` seconds, rounded down; every reference rounds down.
pub fn idle_packets(idle: f64, packets_per_second: f64) -> u64 {
    (packets_per_second * idle) as u64
}
