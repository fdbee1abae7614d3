//! AutoRED's weight: how much a sample counts in the average is worked out anew at each arrival, from how full the
//! buffer is and how much the queue has just changed.

use crate::params::{words, Kind, Param, ParamError, Unit, Values, Word};
use crate::policy::{Limit, QueueView};

/// How full a buffer is.
#[derive(Clone, Copy, Debug)]
pub struct Occupancy(Limit);

impl Occupancy {
    /// The occupancy of a buffer with this limit.
    pub fn new(limit: Limit) -> Self {
        Occupancy(limit)
    }

    /// p_t, the part of the buffer that an arrival finds taken, in [0, 1].
    #[inline]
    pub fn of(&self, queue: &QueueView<'_>) -> f64 {
        let (taken, limit) = match self.0 {
            Limit::Packets(n) => (queue.packets, n),
            Limit::Bytes(n) => (queue.bytes, n),
        };
        if taken < limit {
            taken as f64 / limit as f64
        } else {
            1.0
        }
    }

    /// The limit in packets of `mean_packet` bytes.
    pub fn limit_in_packets(&self, mean_packet: f64) -> f64 {
        match self.0 {
            Limit::Packets(n) => n as f64,
            Limit::Bytes(n) => n as f64 / mean_packet,
        }
    }
}

const fn number(name: &'static str, symbol: &'static str, default: f64, doc: &'static str) -> Param {
    Param::real(name, Unit::None, Kind::above(0.0, 1.0), default).symbol(symbol).says("our reconstruction", doc)
}

/// The parameters of the weight.
pub const PARAMS: [Param; 5] = [
    Param::word("weight", Rule::WORDS, "traffic").says(
        "our reconstruction",
        "The weight: p_t (1 - p_t) times the change of the queue; 4 w_0 p_t (1 - p_t); p_t (1 - p_t); w_q.",
    ),
    number("w_lo", "w_{lo}", 0.0005, "Smallest weight, and that of an arrival at an empty queue."),
    number("w_hi", "w_{hi}", 0.25, "Largest weight; with weight = \"scaled\" it is w_0."),
    number("w_0", "w_0", 0.02, "Weight at a buffer half full, with weight = \"scaled\"."),
    Param {
        source: "Floyd & Jacobson 1993",
        ..number("w_q", "w_q", 0.002, "The weight with weight = \"constant\", which is RED's.")
    },
];

words! {
    /// How the weight is computed from p_t, the part of the buffer taken.
    enum Rule {
        /// p_t (1 - p_t) times the change of the queue.
        Traffic = "traffic",
        /// 4 w_0 p_t (1 - p_t).
        Scaled = "scaled",
        /// p_t (1 - p_t).
        Plain = "plain",
        /// w_q, RED's.
        Constant = "constant",
    }
}

/// [`PARAMS`] after checking.
#[derive(Clone, Copy, Debug)]
pub struct Settings {
    /// How the weight is computed.
    rule: Rule,
    /// The smallest weight, in (0, 1].
    low: f64,
    /// The largest weight; with `scaled` the weight at a buffer half full.
    high: f64,
    /// The weight before the first arrival.
    first: f64,
}

/// The weight of the next sample.
#[derive(Clone, Debug)]
pub struct AutoWeight {
    /// The parameters.
    set: Settings,
    /// ln(Q + 1) at the arrival before.
    previous: f64,
    /// ln(Q + 1) for short queues, by Q.
    logarithms: Box<[f64]>,
    /// The last weight.
    weight: f64,
}

/// Queues up to this length have their logarithm in a table.
const SHORT: u64 = 512;

impl Settings {
    /// Reads [`PARAMS`].
    ///
    /// # Errors
    /// If the smallest weight is above the largest.
    pub fn read(values: &Values) -> Result<Self, ParamError> {
        let real = |name| values.real(&PARAMS, name);
        let rule = values.choice(&PARAMS, "weight");
        let (name, high) = if rule == Rule::Scaled { ("w_0", real("w_0")) } else { ("w_hi", real("w_hi")) };
        if real("w_lo") > high {
            return Err(ParamError::new("w_lo", real("w_lo"), format!("at most {name} ({high})")));
        }
        let first = if rule == Rule::Constant { real("w_q") } else { real("w_lo") };
        Ok(Settings { rule, low: real("w_lo"), high, first })
    }
}

impl AutoWeight {
    /// The weight before the first arrival.
    pub fn new(set: Settings) -> Self {
        let short = if set.rule == Rule::Traffic { SHORT } else { 0 };
        let logarithms = (0..short).map(|q| libm::log((q + 1) as f64)).collect();
        AutoWeight { set, previous: 0.0, logarithms, weight: set.first }
    }

    /// The weight for an arrival that finds `packets` waiting, which fill the part `occupancy` of the buffer.
    #[inline]
    pub fn next(&mut self, packets: u64, occupancy: f64) -> f64 {
        let spread = occupancy * (1.0 - occupancy);
        let weight = match self.set.rule {
            Rule::Constant => return self.weight,
            Rule::Plain => spread,
            Rule::Scaled => self.set.high * 4.0 * spread,
            Rule::Traffic => {
                let now = match self.logarithms.get(packets as usize) {
                    Some(&logarithm) => logarithm,
                    None => libm::log((packets + 1) as f64),
                };
                let change = (now - self.previous).abs().min(1.0);
                self.previous = now;
                0.5 * spread * change
            }
        };
        self.weight = weight.clamp(self.set.low, self.set.high);
        self.weight
    }

    /// Takes over the last weight and logarithm of `before`, which has other parameters.
    pub fn resume(&mut self, before: &AutoWeight) {
        self.previous = before.previous;
        if self.set.rule != Rule::Constant {
            self.weight = before.weight;
        }
    }

    /// The weight of the last sample.
    pub fn weight(&self) -> f64 {
        self.weight
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::params::Value;

    fn weights(rule: &'static str, lengths: &[u64]) -> Vec<f64> {
        let values = Values::of(&[("weight", Value::Choice(rule))]);
        let mut weight = AutoWeight::new(Settings::read(&values).unwrap());
        lengths.iter().map(|&q| weight.next(q, q as f64 / 100.0)).collect()
    }

    #[test]
    fn weight_is_largest_half_way_and_smallest_at_the_ends() {
        assert_eq!(weights("plain", &[0, 50, 100]), [0.0005, 0.25, 0.0005]);
        assert_eq!(weights("scaled", &[0, 50, 100]), [0.0005, 0.02, 0.0005]);
        assert!((weights("plain", &[20])[0] - 0.16).abs() < 1e-15);
        assert!((weights("scaled", &[20])[0] - 0.0128).abs() < 1e-15);
        assert_eq!(weights("constant", &[0, 50, 100]), [0.002; 3]);
    }

    #[test]
    fn traffic_weight_follows_the_change_of_the_queue() {
        let found = weights("traffic", &[0, 30, 31, 31, 24, 80]);
        // |ln| of 31/1 counts as 1; then of 32/31, of 1, of 25/32; and of 81/25, which counts as 1 too.
        let expected = [0.0005, 0.105, 0.10695 * (32.0_f64 / 31.0).ln(), 0.0005, 0.0912 * (32.0_f64 / 25.0).ln(), 0.08];
        for (w, want) in found.iter().zip(expected) {
            assert!((w - want).abs() < 1e-12, "{found:?}");
        }
    }

    #[test]
    fn long_queues_have_no_other_rule() {
        let mut weight = AutoWeight::new(Settings::read(&Values::new()).unwrap());
        weight.next(SHORT - 1, 0.5);
        let grown = weight.next(SHORT, 0.5);
        assert!((grown - 0.0005_f64.max(0.125 * (513.0_f64 / 512.0).ln())).abs() < 1e-15);
        assert!((weight.next(2 * SHORT, 0.5) - 0.125 * (1025.0_f64 / 513.0).ln()).abs() < 1e-12);
    }

    #[test]
    fn occupancy_is_of_the_limit_in_its_own_unit() {
        let queue = QueueView { packets: 3, bytes: 900, idle_since: None, contents: None };
        assert_eq!(Occupancy::new(Limit::Packets(4)).of(&queue), 0.75);
        assert_eq!(Occupancy::new(Limit::Bytes(1000)).of(&queue), 0.9);
        for full in [Limit::Packets(3), Limit::Packets(0), Limit::Bytes(899)] {
            assert_eq!(Occupancy::new(full).of(&queue), 1.0);
        }
    }

    #[test]
    fn smallest_weight_above_the_largest_is_refused() {
        let mut values = Values::of(&[("w_lo", Value::Real(0.03))]);
        assert!(Settings::read(&values).is_ok());
        values.set("weight", Value::Choice("scaled"));
        assert_eq!(Settings::read(&values).err().unwrap().name, "w_lo");
    }
}
