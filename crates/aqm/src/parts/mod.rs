//! What disciplines share. Of the RED family: the average, the drop curve, the spacing of drops, and the order in which
//! What several disciplines share. Of the RED family: the average, the drop curve, the spacing of drops, and the order in
//! What the RED family shares: the average, the drop curve, the spacing of drops, and the order in which a dialect
//! a dialect applies them. Of those that work on load and queue: how they measure, the controller, independent draws,
//! applies them; and for schemes that know flows: the hash, tables of flows, who loses a packet. A discipline is a short
//! file that composes these.
//! ticks. A discipline is a short file that composes these.
//! which a dialect applies them. A discipline is a short file that composes these.

pub mod arrival_rate;
pub mod auto_red;
pub mod auto_weight;
pub mod average;
pub mod capacity;
pub mod codel;
pub mod controller;
pub mod curve;
pub mod distance;
pub mod early_detection;
pub mod fair;
pub mod flow_match;
pub mod flow_table;
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
pub mod spacing;
pub mod ticks;
pub mod two_levels;
