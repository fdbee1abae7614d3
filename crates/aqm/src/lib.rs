//! Active queue management as pure state machines.
//!
//! A queue discipline here is a small machine: packets and time come in, verdicts go out. It knows no simulator,
//! socket, clock or global state, so the same code runs in a simulator, on a real link, and as the oracle for
//! someone else's implementation.
//!
//! - A [`policy::Policy`] rules one FIFO: it decides at arrival (and, if it declares so, at departure and on a timer)
//!   and may name victims already queued.
//! - A [`Discipline`] owns one or more queues; [`discipline::Fifo`] is the plain one, a FIFO with a policy.
//! - A [`gate::Gate`] holds what no policy should write twice: the limit, ECN, the counters by reason.
//! - The [`catalogue`] lists every discipline with its parameters.
//!
//! ```
//! use earlydrop_aqm::{catalogue, discipline::Fifo, gate::Gate, params::{Value, Values}, policy::Limit, random::Generator};
//! use earlydrop_aqm::{Discipline, Packet, Time};
//!
//! let link = catalogue::Link { rate_bps: 10e6, delay_s: 0.02 };
//! let mut values = Values::new();
//! values.set("min_th", Value::Real(5.0)).set("max_th", Value::Real(15.0)).set("max_p", Value::Real(0.1)).set("w_q", Value::Real(0.02));
//! let catalogue::Built::Policy(red) = (catalogue::find("red").unwrap().build)(&values, &link, Limit::Packets(50)).unwrap()
//!     else { unreachable!() };
//! let mut queue = Fifo::new(Gate::new(red, Limit::Packets(50), true, Generator::stream(1, "uplink")));
//!
//! // Packets arrive every 0.5 ms, the link takes one every 0.8 ms (1000 B at 10 Mbit/s).
//! for i in 0..2000_u32 {
//!     let now = Time::from_seconds(f64::from(i) * 0.5e-3);
//!     queue.enqueue(Packet::new(1, 1000), now, &mut |_packet, _reason| {});
//!     if i % 8 < 5 {
//!         queue.dequeue(now, &mut |_, _| {});
//!     }
//! }
//! let seen = queue.counters();
//! assert!(seen.early_drops > 0 && seen.overflow_drops == 0);
//! assert_eq!(seen.arrivals, seen.departures + seen.drops() + queue.packets());
//! ```

#![forbid(unsafe_code)]

pub mod abi;
pub mod catalogue;
pub mod default_limit;
pub mod discipline;
pub mod early_detection;
pub mod fault;
pub mod gate;
mod packet;
pub mod params;
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
        pub(crate) const DISCIPLINES: &[&catalogue::AqmSpec] = &[$(&$name::SPEC),*];
    };
}

// One line adds a discipline; people see them in this order.
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
    autored,
    autoredwithred,
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
    fautoredwithred,
    floadautored,
    // A price or probability from load and queue length.
    blue,
    rem,
    pi,
    avq,
    pid,
    yellow,
    // Sojourn time.
    codel,
    pie,
    cobalt,
    step,
    // Several queues.
    fq,
    sfq,
    drr,
    wrr,
    fq_codel,
    fq_pie,
    dualpi2,
    // Classes.
    wred,
    rio,
}

pub use catalogue::Link;
pub use discipline::Discipline;
pub use packet::{Ecn, Packet};
pub use time::Time;
