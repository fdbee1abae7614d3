//! `[topology]`, `[[node]]`, `[[link]]`, and the queue of each link.

mod graph;
mod kinds;
mod queues;

pub(super) use graph::{edge_schema, write_edge, write_graph, write_node, JOINS, NODE};
pub(super) use kinds::{read, write_dumbbell, Kind, KINDS};
pub(super) use queues::queues;

use crate::topology::LinkSpec;

/// The other direction of a link: rate, delay and link layer, not loss, jitter or reordering.
fn plain(link: &LinkSpec) -> LinkSpec {
    LinkSpec { link_layer: link.link_layer, ..LinkSpec::new(link.rate.clone(), link.delay.clone()) }
}
