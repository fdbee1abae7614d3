//! One direction of a link: rate, delay, and what else happens to packets on it.

use earlydrop_aqm::link_layer::LinkLayer;
use earlydrop_aqm::random::Generator;
use earlydrop_net::aggregation::Aggregation;
use earlydrop_net::framing::Framing;
use earlydrop_net::medium::{Jitter, LossPattern, Medium, Rate, Reorder};
use earlydrop_net::model::{self, Model};

/// A stream of random numbers that replaces the component's own.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum InjectedRandom {
    /// ns-2's default generator; all six words of its state are the seed.
    Mrg32k3a {
        /// The seed.
        seed: u32,
        /// How many numbers others have drawn before.
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
    /// The link layer, whose header Linux's queues count with each packet.
    pub link_layer: LinkLayer,
    /// What else happens to packets on the link.
    pub effects: Effects,
}

/// The random streams of a link in a run.
struct Streams<'a> {
    seed: u64,
    /// The link's name, which theirs begin with.
    link: &'a str,
}

impl Streams<'_> {
    fn of(&self, what: &str) -> Generator {
        Generator::stream(self.seed, &format!("link.{}.{what}", self.link))
    }
}

/// Declares what may happen to packets on a link, and how its medium does it. The key in scenarios has the same name.
macro_rules! effects {
    ($($(#[$about:meta])* $name:ident: $kind:ty = $apply:expr;)*) => {
        /// What happens to packets on a link, besides rate and delay.
        #[derive(Clone, Debug, PartialEq)]
        pub struct Effects { $($(#[$about])* pub $name: Option<$kind>,)* }

        impl Effects {
            /// No effects.
            pub const NONE: Effects = Effects { $($name: None,)* };

            fn apply(&self, mut medium: Medium, streams: &Streams<'_>) -> Medium {
                $(if let Some(given) = &self.$name {
                    const APPLY: fn(Medium, &$kind, &Streams<'_>) -> Medium = $apply;
                    medium = APPLY(medium, given, streams);
                })*
                medium
            }
        }
    };
}

effects! {
    /// How the link behaves, by name. The keys below replace what it says.
    model: Model = |medium, model, streams| medium.with_model(model, streams.seed, &model::stream(streams.link));
    /// What is sent of each packet.
    framing: Framing = |medium, framing, _| medium.with_framing(*framing);
    /// Packets that are sent together.
    aggregation: Aggregation = |medium, aggregation, _| medium.with_aggregation(*aggregation);
    /// Packets that are lost on the wire.
    loss: Loss = |medium, loss, streams| {
        let random = match loss.random {
            None => streams.of("loss"),
            Some(InjectedRandom::Mrg32k3a { seed, skip }) => Generator::ns2(seed, skip),
        };
        medium.with_loss(loss.pattern, random)
    };
    /// Extra delay, drawn for each packet.
    jitter: Jitter = |medium, jitter, streams| medium.with_jitter(*jitter, streams.of("jitter"));
    /// Packets that others overtake.
    reorder: Reorder = |medium, reorder, streams| medium.with_reorder(*reorder, streams.of("reorder"));
}

impl LinkSpec {
    /// A link of constant rate (bit/s) and delay (s) that loses nothing.
    pub const fn constant(rate_bps: f64, delay_s: f64) -> Self {
        LinkSpec::new(Rate::Constant(rate_bps), Delays::Same(delay_s))
    }

    /// A link that loses nothing.
    pub const fn new(rate: Rate, delay: Delays) -> Self {
        LinkSpec { rate, delay, link_layer: LinkLayer::Ethernet, effects: Effects::NONE }
    }

    /// This link with a model, and the model's rate if that has one.
    pub fn with_model(self, model: Model) -> Self {
        let rate = match model.parts().rate {
            Some(process) => Rate::OfModel { mean: process.mean(), most: process.largest() },
            None => self.rate,
        };
        LinkSpec { rate, effects: Effects { model: Some(model), ..self.effects }, ..self }
    }

    /// The delay if it is one value; else the mean of what it is drawn from, s.
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

    /// The mean delay, with what the link's model adds to it, s.
    pub fn usual_delay(&self) -> f64 {
        self.mean_delay() + self.effects.model.as_ref().map_or(0.0, |model| model.parts().mean_delay())
    }

    /// The link's changing rate and effects, with random streams named after the link; `None` for a plain link.
    pub fn medium(&self, name: &str, seed: u64) -> Option<Medium> {
        let streams = Streams { seed, link: name };
        (!self.is_plain()).then(|| self.effects.apply(Medium::new(&self.rate), &streams))
    }

    /// Whether the link sends packets as they are, at one rate, in order of arrival, without loss.
    pub fn is_plain(&self) -> bool {
        matches!(self.rate, Rate::Constant(_)) && self.effects == Effects::NONE
    }
}

/// Times in seconds, one for each link, pair or flow.
#[derive(Clone, Debug, PartialEq)]
pub enum Delays {
    /// One time for all.
    Same(f64),
    /// Times used in order, starting again at the end of the list. Never empty.
    List(Vec<f64>),
    /// Drawn uniformly between the two.
    Uniform(f64, f64),
}

/// Loss on the wire: the packet is sent and never arrives.
#[derive(Clone, Debug, PartialEq)]
pub struct Loss {
    /// Which packets are lost.
    pub pattern: LossPattern,
    /// Random numbers from elsewhere, to follow another simulator's run.
    pub random: Option<InjectedRandom>,
}
