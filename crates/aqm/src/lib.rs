#![doc = include_str!("../README.md")]
//!
//! ## Where to start
//!
//! - A [`Discipline`] owns one or more queues in front of a link; [`discipline::Fifo`] is the plain one, a FIFO with a
//!   policy.
//! - A [`policy::Policy`] rules one FIFO: it decides at arrival (and, if it declares so, at departure and on a timer)
//!   and may name victims already queued.
//! - A [`gate::Gate`] holds what no policy should write twice: the limit, ECN, the counters by reason.
//! - The [`catalogue`] lists every discipline with its parameters.

#![forbid(unsafe_code)]

pub mod abi;
pub mod agent;
pub mod catalogue;
pub mod changeable;
pub mod default_limit;
pub mod discipline;
pub mod early_detection;
pub mod fault;
pub mod folded;
pub mod gate;
pub mod gauges;
pub mod header;
pub mod link_layer;
pub mod markers;
mod packet;
pub mod params;
pub mod parents;
pub mod parts;
pub mod policy;
pub mod random;
pub mod ring;
mod slots;
mod time;

/// The ordered list of disciplines: each name is a module with a `SPEC`. A discipline is one file; a long one has its
/// parameters and tests in a folder of the same name.
macro_rules! disciplines {
    ($($name:ident),* $(,)?) => {
        $(pub mod $name;)*
        pub(crate) const DISCIPLINES: &[&catalogue::AqmSpec] = &[$(&{
            // Programs hold only the opening comment, which people read.
            const FILE: &str = include_str!(concat!(stringify!($name), ".rs"));
            const TEXT: [u8; catalogue::opening(FILE)] = catalogue::copied(FILE);
            assert!(!$name::SPEC.summary.is_empty() && !$name::SPEC.source.is_empty());
            catalogue::AqmSpec { file: catalogue::text(&TEXT), ..$name::SPEC }
        }),*];
    };
}

// The line of a discipline is all that adds it; people see the disciplines in this order.
disciplines! {
    // Plain queues.
    droptail,
    drop_front,
    drop_random,
    ddtail,
    // RED and other drop curves.
    red,
    gentle_red,
    nlred,
    tred,
    dsred,
    hred,
    mred,
    // RED that adapts itself.
    feng_red,
    ared,
    linux_ared,
    pd_red,
    // RED that knows flows.
    fred,
    sred,
    choke,
    lru_red,
    red_pd,
    sfb,
    aecn,
    sfred,
    ddred,
    floadautored,
    // A price or probability from load and queue length.
    blue,
    rem,
    pi,
    avq,
    gk,
    yellow,
    aifo,
    expression,
    // Sojourn time.
    codel,
    pie,
    pi2,
    cobalt,
    step,
    ecn_sharp,
    // Several queues.
    fq,
    fq_pacing,
    sfq,
    drr,
    wrr,
    fq_codel,
    fq_pie,
    fq_cobalt,
    cake,
    dualpi2,
    hhf,
    prio,
    afq,
    sp_pifo,
    // Classes.
    wred,
    rio,
}

/// What code needs that builds a queue and sends packets through it.
pub mod prelude {
    pub use crate::catalogue::{self, Link};
    pub use crate::discipline::{Discipline, Fifo};
    pub use crate::gate::Gate;
    pub use crate::packet::{Ecn, Packet};
    pub use crate::params::{Value, Values};
    pub use crate::policy::{Limit, Reason};
    pub use crate::random::Generator;
    pub use crate::time::Time;
}

pub use catalogue::Link;
pub use discipline::Discipline;
pub use header::Header;
pub use packet::{Ecn, Packet};
pub use time::Time;
