//! Start times of the flows of a traffic entry.

use crate::scenario::Starts as Spec;
use crate::topology::Times;
use earlydrop_aqm::random::Generator;
use earlydrop_net::source::Distribution;

/// Start times in the order of the flows, from a random stream of their own.
pub(super) enum Starts<'a> {
    Times(Times<'a>),
    Every { gap: f64, from: f64 },
    Poisson { gap: Distribution, last: f64, random: Generator },
    Drawn { law: &'a Distribution, random: Generator },
}

impl<'a> Starts<'a> {
    pub fn new(spec: &'a Spec, seed: u64, stream: &str) -> Self {
        let random = || Generator::stream(seed, stream);
        match spec {
            Spec::Times(times) => Starts::Times(Times::new(times, seed, stream)),
            Spec::Every { gap, from } => Starts::Every { gap: *gap, from: *from },
            Spec::Poisson { gap, from } => {
                Starts::Poisson { gap: Distribution::Exponential { mean: *gap }, last: *from, random: random() }
            }
            Spec::Drawn(law) => Starts::Drawn { law, random: random() },
        }
    }

    /// Start of flow `i`, in seconds; must be called in the order of the flows.
    pub fn next(&mut self, i: usize) -> f64 {
        match self {
            Starts::Times(times) => times.get(i),
            Starts::Every { gap, from } => *from + *gap * i as f64,
            Starts::Poisson { gap, last, random } => {
                *last += gap.draw(random);
                *last
            }
            Starts::Drawn { law, random } => law.draw(random),
        }
    }
}
