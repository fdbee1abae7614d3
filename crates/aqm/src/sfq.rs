//! # SFQ
//!
//! ## What it does
//! Stochastic fairness queueing. Flows are hashed into FIFOs that are served in turn, so that a flow gets its share as
//! long as few others have the same hash. It has two dialects:
//!
//! | | linux | ns2 |
//! |---|---|---|
//! | FIFOs | `flows`, found by a hash table of `divisor` entries | `buckets` |
//! | turn | while its allotment is positive; a turn adds `quantum` bytes | one packet |
//! | bound for a flow | `depth` packets | see below |
//! | buffer full | a packet of the flow with the most packets is dropped | the arrival is dropped |
//! | hash | salted, changed every `perturb` seconds | fixed |
//!
//! In ns2 an arrival that finds `used` packets in its bucket and `left` places in the buffer of `limit` is dropped if
//! `used >= floor(left/2)`, or if `left < buckets` and `used > floor(limit/buckets)`, or if `left <= 0`.
//!
//! ## Source
//! P. E. McKenney, "Stochastic fairness queueing", IEEE INFOCOM 1990 (no copy was at hand: rules by the two programs).
//! Linux `net/sched/sch_sfq.c`; ns-2.35 `queue/sfq.cc`.
//!
//! ## Differences
//! 1. The default is linux: it perturbs the hash and drops from the longest queue, as the paper; ns-2 does neither.
//! 2. Kernels before 6.13 count what a packet pays in units of 8 B, rounded up, and the quantum likewise; later kernels
//!    count bytes. `allot_unit` is 8 or 1.
//! 3. linux: RED inside each flow (`redflowlimit`) is left out. It is off there by default, neither the paper
//!    nor ns-2 has it, and it is no rule of fairness: a flow's queue has an average and a curve of its own, in bytes.
//! 4. linux: of flows with equally many packets, the one whose number changed last loses a packet; if all have one
//!    packet, the one whose turn it is. As in the kernel, its newest packet is dropped, with `headdrop` its oldest.
//! 5. linux: the limit is at most `depth * flows`, and `flows` at most the limit and `divisor`, as in the kernel. The
//!    kernel needs a power of two as `divisor`; here any number does.
//! 6. linux: a new salt moves the packets to their new queues in the kernel's order, and drops those that find their
//!    queue at `depth`. Here a new salt comes at the first arrival or departure after it is due, and once even if it
//!    was due several times. `perturb` is any time here, whole seconds there.
//! 7. ns2 hashes source and destination address, here the flow key. Without a salt, the same flows collide in every
//!    run.
//! 8. A limit in bytes is ours. linux: while more bytes wait, a packet of the flow with the most packets is dropped.
//!    ns2: `used`, `left` and the limit are bytes, `buckets` counts as that many packets of `mean_packet`, and the
//!    arrival must not exceed `left`.
//!
//! ## Example
//! ```
//! use earlydrop_aqm::{catalogue, params::{Value, Values}, policy::Limit, random::Generator, Packet, Time};
//!
//! let link = catalogue::Link { rate_bps: 10e6, delay_s: 0.01 };
//! let mut values = Values::new();
//! values.set("dialect", Value::Choice("ns2"));
//! let catalogue::Built::Discipline(finish) = (catalogue::find("sfq").unwrap().build)(&values, &link, Limit::Packets(40)).unwrap()
//!     else { unreachable!() };
//! let mut queue = finish(false, Generator::stream(1, "queue"));
//! // One flow alone gets a third of the buffer: it is refused once it has half of the places that are left.
//! let admitted = (0..40).filter(|_| queue.enqueue(Packet::new(1, 1000), Time::ZERO, &mut |_, _| {}).is_some()).count();
//! assert_eq!(admitted, 13);
//! ```

mod linux;
mod ns2;
mod parameters;

use crate::catalogue::{AqmSpec, Built};
use crate::default_limit::DefaultLimit;
use crate::params::{ParamError, Values};
use crate::parts::classful::Classful;
use crate::policy::Limit;
use crate::Discipline;
use linux::Linux;
use ns2::Ns2;
use parameters::{Dialect, PARAMS};

/// The declaration.
pub const SPEC: AqmSpec = AqmSpec {
    summary: "Stochastic fairness queueing: hashed flows in turn, drops from the longest",
    source: "McKenney: Stochastic fairness queueing, INFOCOM 1990; Linux net/sched/sch_sfq.c; ns-2.35 queue/sfq.cc",
    params: &[&PARAMS],
    limit: DefaultLimit::Rule {
        rule: "127 packets; ns2: 40",
        source: "Linux sch_sfq; ns-2.35 (maxqueue_)",
        of: |_, values, _| match values.choice(&PARAMS, "dialect") {
            Dialect::Linux => Limit::Packets(127),
            Dialect::Ns2 => Limit::Packets(40),
        },
    },
    check: &|values, _| Rules::read(values).map(|_| ()),
    build: &|values, _, limit| {
        let rules = Rules::read(values)?;
        Ok(Built::Discipline(Box::new(move |_, random| -> Box<dyn Discipline> {
            match rules {
                Rules::Linux(rules) => Box::new(Classful::new(Linux::new(&rules, limit, random))),
                Rules::Ns2(rules) => Box::new(Classful::new(Ns2::new(&rules, limit))),
            }
        })))
    },
    ..AqmSpec::named("sfq", "SFQ", "several queues", 1990)
};

enum Rules {
    Linux(linux::Rules),
    Ns2(ns2::Rules),
}

impl Rules {
    fn read(values: &Values) -> Result<Rules, ParamError> {
        let perturb = values.real(&PARAMS, "perturb");
        if perturb > 0.0 && perturb < 1e-3 {
            return Err(ParamError::new("perturb", perturb, "0 (never) or at least 0.001 s"));
        }
        Ok(match values.choice(&PARAMS, "dialect") {
            Dialect::Linux => Rules::Linux(linux::Rules::read(values)),
            Dialect::Ns2 => Rules::Ns2(ns2::Rules::read(values)),
        })
    }
}

#[cfg(test)]
mod tests;
