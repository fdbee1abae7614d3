//! One direction of a link: rate, delay, and what else happens to packets on it.

use crate::scenario::InjectedRandom;

/// Bytes that one delivery opportunity of a trace carries (Mahimahi's link emulation counts packets of 1504 B, 4 of
/// which are its tunnel's own header).
pub const OPPORTUNITY_BYTES: u32 = 1500;

/// One direction of a link.
#[derive(Clone, Debug, PartialEq)]
pub struct LinkSpec {
    /// How fast it sends.
    pub rate: Rate,
    /// Propagation delay, s.
    pub delay: Delays,
    /// Packets that are lost on the way.
    pub loss: Option<Loss>,
    /// Delay that differs from packet to packet.
    pub jitter: Option<Jitter>,
    /// Packets that come late.
    pub reorder: Option<Reorder>,
}

impl LinkSpec {
    /// A link of constant rate (bit/s) and delay (s) that loses nothing.
    pub fn constant(rate_bps: f64, delay_s: f64) -> Self {
        LinkSpec::new(Rate::Constant(rate_bps), Delays::Same(delay_s))
    }

    /// A link that loses nothing.
    pub fn new(rate: Rate, delay: Delays) -> Self {
        LinkSpec { rate, delay, loss: None, jitter: None, reorder: None }
    }

    /// Delay where it is one value, and otherwise the mean of what it is drawn from, s.
    pub fn mean_delay(&self) -> f64 {
        match &self.delay {
            Delays::Same(delay) => *delay,
            Delays::List(delays) => delays.iter().sum::<f64>() / delays.len() as f64,
            Delays::Uniform(low, high) => 0.5 * (low + high),
        }
    }

    /// The least that the delay can be, s.
    pub fn least_delay(&self) -> f64 {
        match &self.delay {
            Delays::Same(delay) => *delay,
            Delays::List(delays) => delays.iter().copied().fold(f64::INFINITY, f64::min),
            Delays::Uniform(low, _) => *low,
        }
    }

    /// Whether packets take no other way through it than first come, first served at one rate.
    pub fn is_plain(&self) -> bool {
        matches!(self.rate, Rate::Constant(_)) && self.loss.is_none() && self.jitter.is_none() && self.reorder.is_none()
    }
}

/// Times, one for each link, pair or flow, in seconds.
#[derive(Clone, Debug, PartialEq)]
pub enum Delays {
    /// All the same.
    Same(f64),
    /// One after the other, from the start again when the list is used up. Never empty.
    List(Vec<f64>),
    /// Drawn between the two.
    Uniform(f64, f64),
}

/// The rate of a link over time.
#[derive(Clone, Debug, PartialEq)]
pub enum Rate {
    /// Always the same, bit/s.
    Constant(f64),
    /// Piecewise constant.
    Schedule {
        /// From when on (s; the first is 0, and they rise) at which rate (bit/s; 0 is a link that is down).
        steps: Vec<(f64, f64)>,
        /// After how many seconds it begins anew; `None` keeps the last rate for ever.
        repeat: Option<f64>,
    },
    /// Delivery opportunities of [`OPPORTUNITY_BYTES`] each, as Mahimahi's traces list them.
    Opportunities {
        /// When each comes, ms, not falling; the last is the period after which they come again.
        at_ms: Vec<u64>,
    },
}

impl Rate {
    /// The one rate that disciplines are told and pictures show, bit/s: a schedule's mean over its period, or over its
    /// steps and as long again at its last rate; a trace's mean.
    pub fn nominal(&self) -> f64 {
        match self {
            Rate::Constant(rate) => *rate,
            Rate::Schedule { steps, repeat } => {
                let last = steps.last().map_or(0.0, |&(from, _)| from);
                let end = repeat.unwrap_or(if last > 0.0 { 2.0 * last } else { 1.0 });
                let ends = steps.iter().skip(1).map(|&(from, _)| from).chain([end]);
                steps.iter().zip(ends).map(|(&(from, rate), to)| rate * (to - from)).sum::<f64>() / end
            }
            Rate::Opportunities { at_ms } => {
                let period = at_ms.last().map_or(1.0, |&last| last as f64 * 1e-3);
                8.0 * f64::from(OPPORTUNITY_BYTES) * at_ms.len() as f64 / period
            }
        }
    }
}

/// Loss on the wire: the packet is sent and never arrives.
#[derive(Clone, Debug, PartialEq)]
pub struct Loss {
    /// Which packets.
    pub pattern: LossPattern,
    /// Random numbers from elsewhere, to follow another simulator's run.
    pub random: Option<InjectedRandom>,
}

/// Which packets are lost.
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum LossPattern {
    /// Each with this probability, whatever happened to the others.
    Random(f64),
    /// Each so-many-th.
    Every(u64),
}

/// An extra delay for each packet, drawn evenly between two times.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Jitter {
    /// Least, s.
    pub low: f64,
    /// Most, s.
    pub high: f64,
    /// Whether a packet waits for the one before it to arrive, so that none overtakes another.
    pub keeps_order: bool,
}

/// Some packets come later than the others, so that those behind them overtake.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Reorder {
    /// Share of the packets.
    pub probability: f64,
    /// How much later, s.
    pub delay: f64,
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn nominal_rates_are_means() {
        assert_eq!(Rate::Constant(5e6).nominal(), 5e6);
        let steps = vec![(0.0, 100e6), (20.0, 10e6)];
        assert_eq!(Rate::Schedule { steps: steps.clone(), repeat: Some(40.0) }.nominal(), 55e6);
        assert_eq!(Rate::Schedule { steps: steps.clone(), repeat: None }.nominal(), 55e6);
        assert_eq!(Rate::Schedule { steps, repeat: Some(80.0) }.nominal(), 32.5e6);
        assert_eq!(Rate::Schedule { steps: vec![(0.0, 3e6)], repeat: None }.nominal(), 3e6);
        // Two opportunities in 3 ms: 24,000 bit.
        assert_eq!(Rate::Opportunities { at_ms: vec![1, 3] }.nominal().round(), 8e6);
    }
}
