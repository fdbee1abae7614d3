//! What the RED family shares: the average, the drop curve, the spacing of drops, and the order in which a dialect
//! applies them. A discipline is a short file that composes these.

pub mod average;
pub mod capacity;
pub mod curve;
pub mod distance;
pub mod early_detection;
pub mod hash;
pub mod pick;
pub mod rank_index;
pub mod spacing;
