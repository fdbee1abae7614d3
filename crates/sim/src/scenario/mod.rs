//! Scenarios: what to simulate, read from TOML, JSON or Python, and checked once for all of them.
//!
//! A scenario is a [`Doc`] until [`check`] turns it into a [`Scenario`]: plain typed data in SI units that the
//! network is built from. Every fault is a [`ScenarioError`] that names file and field, what was given and what is
//! allowed. Parameters of disciplines are read by the declarations of the catalogue; nothing about them is
//! written here.
//!
//! ```
//! use earlydrop_sim::scenario::{check, template, Doc};
//!
//! let doc = Doc::from_toml(&template("first"), None)?;
//! let scenario = check(&doc, None)?;
//! assert_eq!(scenario.topology.pairs(), 10);
//! assert_eq!(scenario.topology.graph(scenario.seed).link_name(0), "bottleneck");
//! # Ok::<(), earlydrop_sim::scenario::ScenarioError>(())
//! ```

mod amounts;
mod bdp;
mod bounds;
mod buffers;
mod check;
pub mod control;
mod document;
mod ends;
mod error;
mod fields;
mod forms;
mod json;
mod keys;
mod link;
mod link_model;
mod measures;
mod model;
mod nearest;
mod nesting;
mod own;
mod parameters;
mod queue;
mod queue_text;
mod reachable;
mod reference;
mod schema;
mod schemas;
mod sets;
mod tc;
mod template;
mod topology;
mod traffic;
pub mod units;
mod values;
mod warnings;
mod whole;
mod words;

pub use earlydrop_aqm::policy::Limit;

pub use crate::topology::{Access, Dumbbell, LinkSpec};
pub use check::{check, check_with};
pub use document::{load, Doc, MAX_FILE_BYTES};
pub use ends::Ends;
pub use error::ScenarioError;
pub use link::{effects as link_effects, link_options, link_words};
pub use link_model::{model_of, model_ways, models};
pub use model::{Delays, FlowRecord, InjectedRandom, Marker, Parent, PortAt, Queue, QueueSpec, Record, Tcp, Topology};
pub use nesting::MAX_DEPTH;
pub use own::OwnAqm;
pub(crate) use parameters::written as parameter_json;
pub(crate) use queue::parameter_of;
pub use queue::{retain_known, retain_known_with};
pub use queue_text::{queue, queue_text, queue_words, QueueWords};
pub use reference::{
    discipline as discipline_reference, folded as folded_reference, markers as marker_reference,
    parents as parent_reference, reference,
};
pub use schema::schema;
pub use sets::apply_sets;
pub use template::{template, template_of};
pub use traffic::stacks::catalogue as stack_catalogue;
pub use traffic::{
    Cbr, Completion, Connection, Direction, Ftp, Law, Load, Media, OnOff, Outside, Packets, Pages, Poisson, Requests,
    Starts, TcpSpec, Traffic, Transfers, Video, Voip, Web, Writes,
};
pub use units::quantity;
pub use whole::Scenario;
pub use words::words;
