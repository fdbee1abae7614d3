//! What several disciplines share; a discipline is a short file that composes these. For the RED family: the average,
//! the drop curve, the spacing of drops, and the order in which a dialect applies them. For disciplines with several
//! queues: the FIFOs of the classes, whose turn it is, and which is longest.

pub mod average;
pub mod class_fifos;
pub mod class_weights;
pub mod classful;
pub mod curve;
pub mod deficit_round;
pub mod early_detection;
pub mod flow_index;
pub mod hash;
pub mod round;
pub mod slot_heap;
pub mod spacing;
