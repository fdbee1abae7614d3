//! What several disciplines share. Of the RED family: the average, the drop curve, the spacing of drops, and the order
//! in which a dialect applies them. A discipline is a short file that composes these.

pub mod average;
pub mod codel;
pub mod curve;
pub mod early_detection;
pub mod fair;
pub mod hash;
pub mod pie;
pub mod spacing;
