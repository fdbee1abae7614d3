//! What theory says of a discipline, held against many decisions of it: distributions of gaps, shares of the link,
//! tables of `docs/algorithms`.

mod byte_mode;
mod choke;
mod definitions_of_red;
mod floadautored;
mod flows;
mod gaps;

#[path = "../common/mod.rs"]
mod common;
#[path = "../common/script.rs"]
mod script;
