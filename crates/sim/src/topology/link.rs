//! One direction of a link: rate, delay, and what else happens to packets on it.

use earlydrop_aqm::link_layer::LinkLayer;
use earlydrop_aqm::random::Generator;
use earlydrop_net::aggregation::Aggregation;
use earlydrop_net::framing::Framing;
use earlydrop_net::medium::{Jitter, LossPattern, Medium, Rate, Reorder};

/// A stream of random numbers that replaces the component's own.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum InjectedRandom {
    /// ns-2's default generator; all six words of its state are the seed.
    Mrg32k3a {
        /// The seed.
        seed: u32,
        /// Numbers that others have drawn before.
        skip: u64,
    },
}

/// One direction of a link.
#[derive(Clone, Debug, PartialEq)]
pub struct LinkSpec {
    /// How fast it sends.
    pub rate: Rate,
    /// Propagation delay, s.
    pub delay: Delays,
    /// What Linux's queues count of each packet.
    pub link_layer: LinkLayer,
    /// What is sent of each packet.
    pub framing: Option<Framing>,
    /// Packets that are sent together.
    pub aggregation: Option<Aggregation>,
    /// Packets that are lost on the wire.
    pub loss: Option<Loss>,
    /// Extra delay, drawn for each packet.
    pub jitter: Option<Jitter>,
    /// Packets that others overtake.
    pub reorder: Option<Reorder>,
}

impl LinkSpec {
    /// A link of constant rate (bit/s) and delay (s) that loses nothing.
    pub const fn constant(rate_bps: f64, delay_s: f64) -> Self {
        LinkSpec::new(Rate::Constant(rate_bps), Delays::Same(delay_s))
    }

    /// A link that loses nothing.
    pub const fn new(rate: Rate, delay: Delays) -> Self {
        let link_layer = LinkLayer::Ethernet;
        LinkSpec { rate, delay, link_layer, framing: None, aggregation: None, loss: None, jitter: None, reorder: None }
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

    /// Its changing rate, framing, aggregation, loss, jitter and reordering, with random streams named after it; `None` for a plain
    /// link.
    pub fn medium(&self, name: &str, seed: u64) -> Option<Medium> {
        if self.is_plain() {
            return None;
        }
        let stream = |what: &str| Generator::stream(seed, &format!("link.{name}.{what}"));
        let mut medium = Medium::new(&self.rate).with_framing(self.framing.unwrap_or_default());
        if let Some(aggregation) = self.aggregation {
            medium = medium.with_aggregation(aggregation);
        }
        if let Some(loss) = &self.loss {
            let random = match loss.random {
                None => stream("loss"),
                Some(InjectedRandom::Mrg32k3a { seed, skip }) => Generator::ns2(seed, skip),
            };
            medium = medium.with_loss(loss.pattern, random);
        }
        if let Some(jitter) = self.jitter {
            medium = medium.with_jitter(jitter, stream("jitter"));
        }
        if let Some(reorder) = self.reorder {
            medium = medium.with_reorder(reorder, stream("reorder"));
        }
        Some(medium)
    }

    /// Whether it sends packets as they are, at one rate, in order of arrival, without loss.
    pub fn is_plain(&self) -> bool {
        matches!(self.rate, Rate::Constant(_))
            && self.framing.is_none()
            && self.aggregation.is_none()
            && self.loss.is_none()
            && self.jitter.is_none()
            && self.reorder.is_none()
    }
}

/// Times in seconds, one for each link, pair or flow.
#[derive(Clone, Debug, PartialEq)]
pub enum Delays {
    /// All the same.
    Same(f64),
    /// Used in order, starting again at the end of the list. Never empty.
    List(Vec<f64>),
    /// Drawn uniformly between the two.
    Uniform(f64, f64),
}

/// Loss on the wire: the packet is sent and never arrives.
#[derive(Clone, Debug, PartialEq)]
pub struct Loss {
    /// Which packets.
    pub pattern: LossPattern,
    /// Random numbers from elsewhere, to follow another simulator's run.
    pub random: Option<InjectedRandom>,
}
