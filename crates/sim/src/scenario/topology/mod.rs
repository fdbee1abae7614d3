//! `[topology]`, `[[node]]`, `[[link]]`, and the queue of each link.

mod graph;
mod kinds;
mod queues;

pub(super) use graph::{edge_schema, write_edge, write_graph, write_node, JOINS, NODE};
pub(super) use kinds::{read, write_dumbbell, Kind, KINDS};
pub(super) use queues::queues;

use crate::topology::LinkSpec;

/// The other direction of a link: rate, delay, link layer and model, not loss, jitter or reordering.
fn plain(link: &LinkSpec) -> LinkSpec {
    let plain = LinkSpec { link_layer: link.link_layer, ..LinkSpec::new(link.rate.clone(), link.delay.clone()) };
    match &link.effects.model {
        Some(model) => plain.with_model(model.reversed()),
        None => plain,
    }
}
