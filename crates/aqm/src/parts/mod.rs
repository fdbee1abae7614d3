//! What the RED family shares: the average, the drop curve, the spacing of drops, and the order in which a dialect
//! applies them. A discipline is a short file that composes these.

pub mod arrival_rate;
pub mod auto_red;
pub mod auto_weight;
pub mod average;
pub mod curve;
pub mod early_detection;
pub mod flow_match;
pub mod hash;
pub mod moving_max_p;
pub mod pick;
pub mod spacing;
pub mod two_levels;
