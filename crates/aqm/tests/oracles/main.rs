//! Disciplines against a second, slow implementation of their source, decision by decision. An oracle shares no code
//! with the crate, and each of its rules is broken in turn: the comparison must notice.

mod choke;
mod codel;
mod ddred;
mod dualpi2;
mod ecn_sharp;
mod fq_cobalt;
mod fq_codel;
mod fq_pacing;
mod htb;
mod markers;
mod pi2;
mod pie;
mod published_red;
mod ranked;
mod red;
mod round_robin;
mod sfred;
mod tbf;
mod wifi;

#[path = "../common/mod.rs"]
mod common;
#[path = "../common/script.rs"]
mod script;
