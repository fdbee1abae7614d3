//! A max_p that moves: what ARED, Feng's RED and PD-RED share beside early detection.

use crate::early_detection::{Dialect, Settings};
use crate::params::{Param, Values};
use crate::parts::curve::Linear;

/// The switches of the gentle line above max_th; `on` is the default, and `source` says where it comes from.
pub const fn gentle_params(on: bool, source: &'static str) -> [Param; 2] {
    [
        Param::flag("gentle", on).says(source, "Between max_th and twice max_th the probability rises from max_p to 1 instead of jumping."),
        Param::switch("gentle_tracks_maxp")
            .says(
                "auto: ns-2, ns-3 off; paper on (our reading)",
                "The line above max_th moves with max_p, so that the curve stays in one piece; off, it keeps its first slope.",
            ),
    ]
}

/// The straight line of `set`, and the gentle line if `values` ask for it; `declared` holds [`gentle_params`].
pub fn line(set: &Settings, values: &Values, declared: &[Param]) -> Linear {
    let line = Linear::new(set.min_th, set.max_th, set.max_p, values.flag(declared, "gentle"));
    let tracks = values.switch(declared, "gentle_tracks_maxp");
    if tracks.unwrap_or(set.dialect() == Dialect::Paper) {
        line
    } else {
        line.with_gentle_fixed()
    }
}
