//! Links as they are, by name: rates and delays that change, grants, outages, geometry.
//!
//! A [`Model`] is data: a row of [`MODELS`] with its parameters, or a [`Process`] that somebody has fitted. Its [`Parts`]
//! are what a [`Medium`](crate::medium::Medium) is built from. All random numbers come from the run's seed and the link's
//! name, and no part knows a simulator or a clock.

mod grants;
mod parts;
mod process;
mod table;

pub use grants::Grants;
pub use parts::{Change, Parts};
pub use process::Process;
pub use table::{Figure, ModelSpec, MODELS};

pub(crate) use grants::Upstream;
pub(crate) use process::{Rates, Walk};

use earlydrop_aqm::params::Values;
use earlydrop_aqm::random::Generator;

/// The name of a model that is a process of its own, as a fit writes it.
pub const PROCESS: &str = "process";

/// How a link behaves.
#[derive(Clone, Debug)]
pub enum Model {
    /// One of [`MODELS`].
    Named {
        /// Which.
        spec: &'static ModelSpec,
        /// Its parameters.
        values: Values,
    },
    /// A process for the rate, and one for the extra delay.
    Process {
        /// The rate, bit/s.
        rate: Process,
        /// The extra delay, s.
        delay: Option<Process>,
    },
}

impl PartialEq for Model {
    fn eq(&self, other: &Model) -> bool {
        match (self, other) {
            (Model::Named { spec, values }, Model::Named { spec: other, values: others }) => {
                spec.name == other.name && values == others
            }
            (Model::Process { rate, delay }, Model::Process { rate: other, delay: others }) => {
                rate == other && delay == others
            }
            _ => false,
        }
    }
}

/// The row of [`MODELS`] called `name`.
pub fn find(name: &str) -> Option<&'static ModelSpec> {
    MODELS.iter().find(|spec| spec.name == name)
}

impl Model {
    /// What the link does.
    pub fn parts(&self) -> Parts {
        match self {
            Model::Named { spec, values } => (spec.parts)(values),
            Model::Process { rate, delay } => {
                Parts { rate: Some(rate.clone()), delays: delay.iter().cloned().collect(), ..Parts::default() }
            }
        }
    }

    /// The model of the other direction.
    pub fn reversed(&self) -> Model {
        match self {
            Model::Named { spec, values } => {
                let (name, values) = (spec.reversed)(spec.name, values);
                Model::Named { spec: find(name).unwrap_or(spec), values }
            }
            Model::Process { .. } => self.clone(),
        }
    }

    /// The model's name.
    pub fn name(&self) -> &'static str {
        match self {
            Model::Named { spec, .. } => spec.name,
            Model::Process { .. } => PROCESS,
        }
    }
}

/// The delay that a model adds to the packets of a link, in order.
pub(crate) struct Lag {
    fixed: f64,
    walks: Vec<Walk>,
    change: Option<(Change, Generator)>,
    latest: f64,
}

impl Lag {
    /// For the link whose random streams begin with `name`; `None` if nothing is added.
    pub fn new(parts: &Parts, seed: u64, name: &str) -> Option<Lag> {
        let walk = |(number, process): (usize, &Process)| Walk::new(process, seed, format!("{name}.delay.{number}"));
        let lag = Lag {
            fixed: parts.delay_s,
            walks: parts.delays.iter().enumerate().map(walk).collect(),
            change: parts.change.map(|change| (change, Generator::stream(seed, &format!("{name}.loss")))),
            latest: 0.0,
        };
        (lag.fixed > 0.0 || !lag.walks.is_empty() || lag.change.is_some()).then_some(lag)
    }

    /// The delay of what is sent at `time`, not before any earlier one, s.
    pub fn at(&mut self, time: f64) -> f64 {
        let late = self.change.as_ref().is_some_and(|(change, _)| late(change, time));
        let extra = self.change.as_ref().filter(|_| late).map_or(0.0, |(change, _)| change.extra);
        self.walks.iter_mut().map(|walk| walk.at(time)).sum::<f64>() + self.fixed + extra
    }

    /// The arrival of a packet whose transmission ends at `end`, and which would arrive at `arrival`; `None` if it is
    /// lost. No packet overtakes another.
    pub fn arrival(&mut self, end: f64, arrival: f64) -> Option<f64> {
        if !end.is_finite() {
            return Some(arrival);
        }
        let arrival = arrival + self.at(end);
        if let Some((change, random)) = &mut self.change {
            if late(change, end) && random.uniform() < change.loss {
                return None;
            }
        }
        self.latest = self.latest.max(arrival);
        Some(self.latest)
    }
}

/// Whether `time` is just after a change.
fn late(change: &Change, time: f64) -> bool {
    let number = (time / change.every).floor();
    number > 0.0 && time - number * change.every < change.lasts
}

/// The rate and the extra delay of a link in each of their steps, without packets.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Series {
    /// Length of a step of the rate, s; 0 if the model has no rate.
    pub rate_step: f64,
    /// Rates, bit/s.
    pub rate: Vec<f64>,
    /// Length of the shortest step of the delay, s; 0 if the model has no delay that changes.
    pub delay_step: f64,
    /// Delays, s.
    pub delay: Vec<f64>,
}

impl Model {
    /// The first `seconds` of the link called `link` in the run with `seed`.
    pub fn series(&self, link: &str, seed: u64, seconds: f64) -> Series {
        let delay_step = self.delay_step().unwrap_or(0.0);
        // Just within each step, so that a rounded product is in its own.
        let times = steps(seconds, delay_step).map(|index| (index as f64 + 1e-6) * delay_step);
        let delay = self.delays(link, seed, times);
        let (rate_step, rate) = self.rates(link, seed, seconds).unwrap_or_default();
        Series { rate_step, rate, delay_step, delay }
    }

    /// The length of the steps of the rate, s, and the rates of the first `seconds`, bit/s, if the model has a rate.
    pub fn rates(&self, link: &str, seed: u64, seconds: f64) -> Option<(f64, Vec<f64>)> {
        let process = self.parts().rate?;
        let mut walk = Walk::new(&process, seed, format!("{}.rate", stream(link)));
        Some((process.step, steps(seconds, process.step).map(|index| walk.value(index)).collect()))
    }

    /// The extra delays at times that do not fall, s; zeros if the model has none.
    pub fn delays(&self, link: &str, seed: u64, times: impl Iterator<Item = f64>) -> Vec<f64> {
        let mut lag = Lag::new(&self.parts(), seed, &stream(link));
        times.map(|time| lag.as_mut().map_or(0.0, |lag| lag.at(time))).collect()
    }

    /// The shortest step of rate and delay, s; a second if the model has none.
    pub fn least_step(&self) -> f64 {
        let rate = self.parts().rate.map(|process| process.step);
        self.delay_step().into_iter().chain(rate).reduce(f64::min).unwrap_or(1.0)
    }

    /// The shortest time in which the delay stays, s, if it changes at all.
    pub fn delay_step(&self) -> Option<f64> {
        self.parts().delays.iter().map(|process| process.step).reduce(f64::min)
    }
}

/// Number of the steps in `seconds`; none of length 0.
fn steps(seconds: f64, step: f64) -> std::ops::Range<u64> {
    0..if step > 0.0 { (seconds / step).ceil().max(0.0) as u64 } else { 0 }
}

/// With what the names of the random streams of the model of a link begin.
pub fn stream(link: &str) -> String {
    format!("link.{link}.model")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_other_direction_and_back_is_the_same_link() {
        for spec in MODELS {
            let model = Model::Named { spec, values: Values::new() };
            let back = model.reversed().reversed();
            assert_eq!(back.name(), spec.name);
            let (name, _) = (spec.reversed)(spec.name, &Values::new());
            assert!(find(name).is_some());
        }
    }
}
