//! Steps that several dialects share.

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

/// Why `packet` is dropped where RED stands before a FIFO without room: the FIFO rejects only what RED admits or marks.
pub(super) fn rejected_behind(earlier: Verdict, packet: &Packet, cx: &Context<'_>) -> Reason {
    match earlier {
        Verdict::Drop(reason) => reason,
        Verdict::Signal(reason) if !cx.can_mark(packet) => reason,
        _ => Reason::Overflow,
    }
}

/// `average` times (1 - `weight`)^`times` in closed form, with the same bits on every platform.
pub fn decay_at_once(average: f64, weight: f64, times: u64) -> f64 {
    // With weight 1 the logarithm is -inf, and 0 times -inf is not a number.
    if times == 0 {
        return average;
    }
    average * libm::exp(times as f64 * libm::log1p(-weight))
}

/// [`decay_at_once`], but the logarithm is computed only for a new weight and the power only for new `times`: packets
/// often come to an idle link at the pace of the slower link before it.
#[derive(Clone, Debug)]
pub struct Decay {
    weight: f64,
    /// log(1 - weight).
    log: f64,
    times: u64,
    /// (1 - weight)^times.
    factor: f64,
}

impl Decay {
    pub fn new(weight: f64) -> Self {
        Decay { weight, log: libm::log1p(-weight), times: 0, factor: 1.0 }
    }

    /// `average` times (1 - `weight`)^`times`.
    pub fn of(&mut self, average: f64, weight: f64, times: u64) -> f64 {
        if weight != self.weight {
            *self = Decay::new(weight);
        }
        if times != self.times {
            self.times = times;
            self.factor = if times == 0 { 1.0 } else { libm::exp(times as f64 * self.log) };
        }
        average * self.factor
    }
}

/// How many packets the link could have sent in `idle` seconds, rounded down; every reference rounds down.
pub fn idle_packets(idle: f64, packets_per_second: f64) -> u64 {
    (packets_per_second * idle) as u64
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_decay_that_remembers_has_the_bits_of_one_that_does_not() {
        let mut random = crate::random::Generator::stream(1, "decay");
        let mut decay = Decay::new(0.002);
        let mut repeated = 0;
        let mut last = (0.0, 0);
        for _ in 0..20_000 {
            let weight = [0.002, 0.002, 0.02, 1.0][(random.uniform() * 4.0) as usize];
            let times = (random.uniform() * random.uniform() * 8.0) as u64;
            let average = random.uniform() * 100.0;
            assert_eq!(decay.of(average, weight, times).to_bits(), decay_at_once(average, weight, times).to_bits());
            repeated += u32::from(last == (weight, times));
            last = (weight, times);
        }
        assert!(repeated > 1000, "{repeated}");
    }
}
