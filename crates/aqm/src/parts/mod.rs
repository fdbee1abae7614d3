//! What disciplines share. Of the RED family: the average, the drop curve, the spacing of drops, and the order in which
//! a dialect applies them. Of those that work on load and queue: how they measure, the controller, independent draws,
//! ticks. A discipline is a short file that composes these.

pub mod average;
pub mod controller;
pub mod curve;
pub mod early_detection;
pub mod hash;
pub mod independent;
pub mod measure;
pub mod spacing;
pub mod ticks;
