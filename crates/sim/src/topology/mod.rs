//! Networks as graphs: nodes, links, the routes between hosts, and builders for the usual shapes.
//!
//! A [`Graph`] has nodes and links, and nothing of a run: no packet, no discipline, no random number. The scenario
//! describes one, [`Routes`] finds the route of each flow, and `run.rs` builds the engine's network from it.
//!
//! ```
//! use earlydrop_sim::topology::{builders, LinkSpec, Routes};
//!
//! let graph = builders::bus(4, &LinkSpec::constant(10e6, 0.005), &LinkSpec::constant(10e6, 0.001));
//! let (first, last) = (graph.node("h1").unwrap(), graph.node("h4").unwrap());
//! let routes = Routes::between(&graph, &[(first, last)]).unwrap();
//! let names: Vec<&str> = routes[0].iter().map(|&link| graph.link_name(link)).collect();
//! assert_eq!(names, ["h1>r1", "r1>r2", "r2>r3", "r3>r4", "r4>h4"]);
//! ```

pub mod builders;
mod dumbbell;
mod graph;
mod link;
pub mod random;
mod routes;

pub(crate) use dumbbell::{access_links, Times};
pub use dumbbell::{Access, Dumbbell};
pub use earlydrop_net::aggregation::Aggregation;
pub use earlydrop_net::framing::{Encoding, Framing};
pub use earlydrop_net::medium::{Bursts, Jitter, LossPattern, Rate, Reorder, OPPORTUNITY_BYTES};
pub(crate) use graph::default_name;
pub use graph::{Direction, Edge, Graph, Node, Pairs};
pub use link::{Delays, Effects, InjectedRandom, LinkSpec, Loss};
pub use routes::{Routes, Unreachable};
