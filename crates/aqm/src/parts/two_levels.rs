//! An upper threshold with two levels, Cur_maxth in the FLoadAutoRED chapter (Table 6.1): it is raised while the queue
//! stands above it in a buffer that is fairly full, and falls back when the queue is short again.

use crate::early_detection::Settings;
use crate::params::{words, Param, Values, Word};
use crate::parts::auto_weight::Occupancy;

/// Below this part of the buffer the queue counts as calm (Table 6.1).
const CALM: f64 = 0.550;
/// From this part of the buffer on the threshold is not raised (Table 6.1).
const NEARLY_FULL: f64 = 0.880;

/// The parameter of the threshold.
pub const PARAMS: [Param; 1] = [Param::word("raising", Raising::WORDS, "one").says(
    "our reconstruction; the chapter says \"increment\"",
    "How far max_th is raised: by one packet, or to 0.88 of the buffer, rounded down.",
)];

words! {
    /// How far max_th is raised.
    enum Raising {
        /// By one packet.
        One = "one",
        /// To 0.88 of the buffer.
        Band = "band",
    }
}

/// The threshold.
#[derive(Clone, Debug)]
pub struct TwoLevels {
    /// max_th as given, in the unit of the average.
    initial: f64,
    /// The raised level, in the unit of the average.
    raised: f64,
    /// max_th now, in the unit of the average.
    current: f64,
}

impl TwoLevels {
    /// A threshold at `max_th` of `set`, with the raised level of [`PARAMS`]. Lengths are in the unit of `set`.
    pub fn new(values: &Values, set: &Settings, occupancy: &Occupancy, mean_packet: f64) -> Self {
        let raised = match values.choice(&PARAMS, "raising") {
            Raising::One => set.max_th + set.in_unit(1.0),
            Raising::Band => {
                set.in_unit((NEARLY_FULL * occupancy.limit_in_packets(mean_packet)).floor()).max(set.max_th)
            }
        };
        TwoLevels { initial: set.max_th, raised, current: set.max_th }
    }

    /// An arrival finds a queue of `length`, which fills the part `occupancy` of the buffer. Returns the threshold if
    /// it moves.
    #[inline]
    pub fn update(&mut self, occupancy: f64, length: f64) -> Option<f64> {
        let next = if occupancy < CALM && length < self.initial {
            self.initial
        } else if occupancy > CALM && occupancy < NEARLY_FULL && length >= self.initial {
            self.raised
        } else {
            return None;
        };
        let moved = next != self.current;
        self.current = next;
        moved.then_some(next)
    }

    /// The threshold now.
    pub fn current(&self) -> f64 {
        self.current
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::early_detection::{params, Defaults};
    use crate::prelude::*;

    fn levels(raise: &'static str, unit: &'static str, limit: Limit) -> TwoLevels {
        let all = params(Defaults { min_th: 100.0, max_th: 200.0, max_p: 0.02, source: "" });
        let values = Values::of(&[("raising", Value::Choice(raise)), ("unit", Value::Choice(unit))]);
        let set = Settings::read(&values, &all, &Link { rate_bps: 1e6, delay_s: 0.0 }).unwrap();
        TwoLevels::new(&values, &set, &Occupancy::new(limit), 500.0)
    }

    /// Table 6.1 with its B = 300: 0.55 B = 165, 0.88 B = 264.
    #[test]
    fn is_raised_once_and_falls_back() {
        let mut max_th = levels("one", "packet", Limit::Packets(300));
        let mut moves = |q: f64| max_th.update(q / 300.0, q);
        for q in [0.0, 164.0, 165.0, 166.0, 199.0, 264.0, 265.0, 300.0] {
            assert_eq!(moves(q), None, "at {q}");
        }
        assert_eq!(moves(200.0), Some(201.0));
        for q in [200.0, 263.0, 300.0, 199.0, 166.0, 165.0] {
            assert_eq!(moves(q), None, "raised once only, and not calm at {q}");
        }
        assert_eq!(moves(164.0), Some(200.0));
        assert_eq!(moves(263.9), Some(201.0));
        assert_eq!(max_th.current(), 201.0);
    }

    #[test]
    fn levels_by_unit_and_limit() {
        let raised = |raise, unit, limit| levels(raise, unit, limit).raised;
        assert_eq!(raised("band", "packet", Limit::Packets(300)), 264.0);
        assert_eq!(raised("band", "packet", Limit::Bytes(150_000)), 264.0);
        assert_eq!(raised("band", "byte", Limit::Packets(300)), 132_000.0);
        assert_eq!(raised("one", "byte", Limit::Packets(300)), 100_500.0);
        assert_eq!(raised("band", "packet", Limit::Packets(150)), 200.0, "never lowered");
    }
}
