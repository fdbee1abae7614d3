//! What models consist of.

use super::grants::Grants;
use super::process::Process;
use crate::aggregation::Aggregation;
use crate::framing::Framing;

/// What a link does beside sending at a rate.
#[derive(Clone, Debug, Default)]
pub struct Parts {
    /// The rate, if the model has one, bit/s.
    pub rate: Option<Process>,
    /// Delay of every packet, s.
    pub delay_s: f64,
    /// Extra delays, which are added, s.
    pub delays: Vec<Process>,
    /// What happens at regular times.
    pub change: Option<Change>,
    /// What is sent of each packet.
    pub framing: Option<Framing>,
    /// Packets that are sent together.
    pub aggregation: Option<Aggregation>,
    /// Grants of an upstream.
    pub grants: Option<Grants>,
}

impl Parts {
    /// Mean of the delays that are added to each packet's, without those just after a change, s.
    pub fn mean_delay(&self) -> f64 {
        self.delay_s + self.delays.iter().map(Process::mean).sum::<f64>()
    }

    /// The least that is added, s.
    pub fn least_delay(&self) -> f64 {
        self.delay_s
    }
}

/// A change of the path at regular times: packets sent just after it come later, or not at all.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Change {
    /// Time from one change to the next, s; there is none at 0.
    pub every: f64,
    /// For how long packets are late, s.
    pub lasts: f64,
    /// How late, s.
    pub extra: f64,
    /// Probability that one of them is lost.
    pub loss: f64,
}
