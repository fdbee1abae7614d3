//! What several disciplines share: a discipline is a short file that composes these parts.
//!
//! - The RED family: the drop curve, the formulas of spacing, and what moves max_p, the weight or a threshold. The rest
//!   of the family is in [`crate::early_detection`].
//! - Schemes that know flows: the hash, tables of flows, who loses a packet, which waiting packet is drawn or nearest.
//! - Schemes of load and queue length: how they measure, the controller, independent draws, ticks, arithmetic of one's
//!   own.
//! - Sojourn time: the decisions of CoDel and PIE.
//! - Several queues: the FIFOs, whose turn it is, which is longest.

pub mod arithmetic;
pub mod arrival_rate;
pub mod auto_red;
pub mod auto_weight;
pub mod capacity;
pub mod class_fifos;
pub mod class_weights;
pub mod classful;
pub mod codel;
pub mod controller;
pub mod curve;
pub mod deficit_round;
pub mod distance;
pub mod fair;
pub mod flow_aqm;
pub mod flow_index;
pub mod flow_match;
pub mod flow_table;
pub mod flow_tags;
pub mod halving;
pub mod hash;
pub mod independent;
pub mod losses;
pub mod measure;
pub mod moving_max_p;
pub mod pick;
pub mod pie;
pub mod rank_index;
pub mod recent_flows;
pub mod round;
pub mod selector;
pub mod slot_heap;
pub mod spacing;
pub mod ticks;
pub mod two_levels;
