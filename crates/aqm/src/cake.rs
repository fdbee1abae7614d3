//! # CAKE
//!
//! ## What it does
//! Shaper, priorities, fair queueing and AQM in one, for the router of a home. Every part can be off.
//!
//! | part | what it does | in Linux |
//! |---|---|---|
//! | shaper | a packet leaves when the last one, with overhead and framing, is through at `bandwidth`; unlimited by default | `cake_advance_shaper`, `cake_calc_overhead` |
//! | tins | the DSCP leads to a tin; up to its threshold a higher tin goes first, above it the tins share | `cake_select_tin`, `cake_config_*`, `cake_dequeue` |
//! | queues | 1024 in each tin; a flow looks for its own among 8 places, then for a free one | `cake_hash` |
//! | hosts | a queue's turn is shorter, the more queues with a backlog its source or destination has | `cake_get_flow_quantum` |
//! | turns | DRR++: sparse queues first, those with a backlog in turn, empty ones while COBALT lowers its count | `cake_dequeue` |
//! | AQM | COBALT in each queue; the last packet of a queue is marked, never dropped | `cobalt_should_drop` |
//! | ACK filter | an ACK that later ones make redundant is dropped | `cake_ack_filter` |
//! | memory limit | the longest queue of all loses its head | `cake_drop` |
//! | `autorate_ingress` | the shaper follows the rate at which packets arrive | `cake_enqueue` |
//! | `ingress` | dropped packets count for shaper and turns too | `cake_dequeue` |
//!
//! A tin's threshold is its part of `bandwidth`. Without `bandwidth` the tins share with these parts as weights:
//!
//! | `diffserv` | tins, lowest priority first, and their parts of the rate |
//! |---|---|
//! | besteffort | 1 |
//! | diffserv3 | best effort 1, bulk 1/16, voice 1/4 |
//! | diffserv4 | best effort 1, bulk 1/16, video 1/2, voice 1/4 |
//! | precedence, diffserv8 | 1, 7/8, 49/64 and so on |
//!
//! ## Source
//! T. Hoeiland-Joergensen, D. Taht, J. Morton, "Piece of CAKE: A Comprehensive Queue Management Solution for Home
//! Gateways", IEEE LANMAN, 2018 (not read by us); rules from Linux 6.1.192, `net/sched/sch_cake.c`, and defaults from
//! iproute2's `tc cake`.
//!
//! ## Differences
//! 1. Times are whole nanoseconds and the arithmetic is Linux's, on a machine that has been up for an hour. Its oddities
//!    are kept: 1/sqrt(count) is 0 until a queue's first signal; `rtt` above 4.29 s wraps around; the heap that finds
//!    the longest queue lets an element sink one level only; nothing sets the time of the last `autorate_ingress`
//!    change, so that every new estimate counts.
//! 2. The hash of a flow and of a host is ours, salted from the run's seed. In a simulated network a host is known by
//!    the link over which its packets leave or reach it, on a real link by its address. On a real link no TCP header is
//!    seen in fragments and in IPv6 in IPv4, but it is seen behind IPv6 extension headers; Linux does the reverse.
//! 3. There is no option `split-gso`: every packet is one segment, as with Linux's default. Nor is there `nat`: nothing
//!    translates addresses between a simulated host and the queue, so the host is that before NAT. Filters of `tc` and
//!    `fwmark` are left out too.
//! 4. A limit in bytes is `memlimit`. One of N packets bounds the memory by N times `max_packet`, as Linux's 10240
//!    does, and also the queue to N packets. A scenario is refused if its largest packet takes more memory than that.
//! 5. `memory = "linux"` counts what a datagram of the packet's size takes in a Linux buffer. The kernel's own figure
//!    depends on the driver and on who allocated the packet.
//! 6. Linux's CAKE marks even where marking is off. Here as everywhere the port's `ecn` decides.
//! 7. Linux counts the 14 bytes of Ethernet's header, and so does CAKE here, unless the link has `link_layer = "ip"`.
//!    Fairness depends on them. From 50 Mbit/s on, or without a shaper, the quantum is 1514 B, which a full packet of
//!    1514 B uses up. Counted as 1500 B it leaves credit: a queue that it empties is sparse again at the next packet
//!    and goes before queues with a backlog. At 80 Mbit/s, four flows of 30 Mbit/s got 4.9 each, and four flows of 15
//!    got 14.7. With the header all get 9.8. `overhead` is that of an IP packet, as for `tc`: it replaces the header.
//!    A size below zero would be 4 GB in Linux, and is 0 here.
//! 8. `wash` sets the class of the packet; the next simulated queue takes class and DSCP from the flow again. On a real
//!    link the packet leaves with DSCP 0.
//!
//! ## Example
//! ```
//! use earlydrop_aqm::{catalogue, params::{Value, Values}, policy::Limit, random::Generator, Packet, Time};
//!
//! let link = catalogue::Link { rate_bps: 1e9, delay_s: 0.0 };
//! let mut values = Values::new();
//! values.set("bandwidth", Value::Real(8e6));
//! let built = (catalogue::find("cake").unwrap().build)(&values, &link, Limit::Packets(10240)).unwrap();
//! let mut queue = built.queue(Limit::Packets(10240), false, Generator::stream(1, "queue"));
//! for _ in 0..2 {
//!     queue.enqueue(Packet::new(1, 1000), Time::ZERO, &mut |_, _| {});
//! }
//! // The second packet must wait for 1000 B at 8 Mbit/s.
//! assert!(queue.dequeue(Time::ZERO, &mut |_, _| {}).is_some());
//! assert!(queue.dequeue(Time::ZERO, &mut |_, _| {}).is_none());
//! assert_eq!(queue.held_until().unwrap().seconds(), 1e-3);
//! ```

mod ack_filter;
mod cobalt;
mod flows;
mod heap;
mod parameters;
mod queue;
mod shaper;
mod tin;
mod tins;

use crate::catalogue::{AqmSpec, Built};
use crate::default_limit::DefaultLimit;
use crate::params::{ParamError, Values};
use crate::policy::Limit;
use crate::Discipline;
use parameters::{Settings, PARAMS};
use queue::Cake;

/// The declaration.
pub const SPEC: AqmSpec = AqmSpec {
    summary: "Shaper, tins by DSCP, fair queues of flows and hosts, COBALT and an ACK filter in one",
    source: "Hoeiland-Joergensen, Taht, Morton: Piece of CAKE, IEEE LANMAN, 2018; Linux sch_cake",
    params: &[&PARAMS],
    linux: true,
    limit: DefaultLimit::Packets { packets: 10_240, source: "Linux cake_init" },
    check: &|values, _| Settings::read(values, Limit::Packets(1)).map(|_| ()),
    build: &|values, _, limit| {
        let set = Settings::read(values, limit)?;
        Ok(Built::Discipline(Box::new(move |ecn, random| {
            Box::new(Cake::new(set, limit, ecn, random)) as Box<dyn Discipline>
        })))
    },
    ..AqmSpec::named("cake", "CAKE", "several queues", 2018)
};

/// Bytes of memory that an IP packet of `size` takes, and those that a queue with these values has.
///
/// # Errors
/// If the values do not fit.
pub fn memory(values: &Values, limit: Limit, size: u32) -> Result<[u64; 2], ParamError> {
    let set = Settings::read(values, limit)?;
    let has = if set.given_memory > 0 { set.given_memory } else { set.most_memory() };
    Ok([set.memory_of(size).into(), has])
}

#[cfg(test)]
mod tests;
