//! State of a running network. Nothing here depends on what events do.

pub mod ahead;
pub mod analytic_port;
pub mod applications;
pub mod both_ways;
pub mod end_to_end;
pub mod headers;
pub mod hosts;
pub mod link;
pub mod net;
pub mod order;
pub mod outside;
pub mod packets;
pub mod port;
pub mod recorder;
pub mod routes;
pub mod rows;
pub mod rtp;
pub mod sources;
pub mod starts;
