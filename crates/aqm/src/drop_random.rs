//! # Drop-random
//!
//! ## What it does
//! When the queue is full, a packet of the queue drawn at random is dropped and the arrival joins the tail. A flow
//! loses in proportion to its share of the queue, instead of in proportion to how badly its arrivals are timed.
//!
//! ## Source
//! "Random drop on full" in B. Braden et al., RFC 2309, section 2 (after T. V. Lakshman, A. Neidhardt, T. J. Ott,
//! INFOCOM 1996, known from the literature). ns-2.35 has the rule as `drop_rand_` of its RED.
//!
//! ## Differences
//! 1. By the words of RFC 2309 a packet "from the queue" is drawn. ns-2 appends the arrival first, so the arrival can
//!    be drawn too: `candidates = "with_arrival"`. With B packets waiting, one draw in B + 1 hits it.
//! 2. A limit of N holds N packets, N - 1 in ns-2's DropTail (`capacity_rule = "n_minus_1"`), as in `droptail`.
//! 3. A limit in bytes: as many packets are dropped as the arrival needs; an arrival too large for the empty queue is
//!    itself dropped, and no other packet is. (reconstruction)
//! 4. Draws: none while the buffer has space; then one random number per packet dropped, and another for each draw that
//!    hits the hole of a removed packet.
//!
//! ## Example
//! ```
//! use earlydrop_aqm::{catalogue, gate::Gate, params::Values, policy::Limit, random::Generator};
//! use earlydrop_aqm::{discipline::Fifo, Discipline, Packet, Time};
//!
//! let link = catalogue::Link { rate_bps: 10e6, delay_s: 0.01 };
//! let spec = catalogue::find("drop_random").unwrap();
//! let catalogue::Built::Policy(policy) = (spec.build)(&Values::new(), &link, Limit::Packets(4)).unwrap()
//!     else { unreachable!() };
//! // 0.6 of four packets is the third.
//! let mut queue = Fifo::new(Gate::new(policy, Limit::Packets(4), false, Generator::custom(|| 0.6)));
//! for flow in 1..=5 {
//!     queue.enqueue(Packet::new(flow, 1000), Time::ZERO, &mut |packet, _| assert_eq!(packet.flow, 3));
//! }
//! assert_eq!((queue.packets(), queue.counters().overflow_drops), (4, 1));
//! ```

use crate::catalogue::{AqmSpec, Built};
use crate::params::{words, Param, Values, Word};
use crate::parts::{capacity, pick};
use crate::policy::{Context, Limit, Needs, Policy, QueueView, Reason, Room, Verdict};
use crate::Packet;

words! {
    /// Which packets the victim is drawn from.
    enum Candidates {
        /// Those that wait.
        Queue = "queue",
        /// Those that wait and the arrival.
        WithArrival = "with_arrival",
    }
}

const PARAMS: [Param; 2] = [
    capacity::CAPACITY_RULE,
    Param::word("candidates", Candidates::WORDS, "queue").says(
        "RFC 2309, section 2; with_arrival: ns-2.35 (drop_rand_)",
        "Which packets the victim is drawn from: those that wait, or those and the arrival.",
    ),
];

/// The declaration.
pub const SPEC: AqmSpec = AqmSpec {
    summary: "When the queue is full, a packet of the queue drawn at random is dropped in favour of the arrival",
    source: "RFC 2309, section 2: random drop on full; ns-2.35 drop_rand_",
    params: &[&PARAMS],
    build: &|values, _, limit| Ok(Built::Policy(Box::new(DropRandom::new(values, limit)))),
    ..AqmSpec::named("drop_random", "Drop-random", "plain queues", 1996)
};

/// The policy: it acts only at a full buffer.
pub struct DropRandom {
    /// When an arrival finds space in the buffer.
    room: Room,
    /// Which packets the victim is drawn from.
    candidates: Candidates,
}

impl DropRandom {
    fn new(values: &Values, limit: Limit) -> Self {
        DropRandom { room: capacity::room(values, limit), candidates: values.choice(&PARAMS, "candidates") }
    }
}

impl Policy for DropRandom {
    fn needs(&self) -> Needs {
        Needs { dequeue: false, contents: true }
    }

    fn room(&self, _limit: Limit) -> Room {
        self.room
    }

    fn on_enqueue(&mut self, _packet: &Packet, _queue: &QueueView<'_>, _cx: &mut Context<'_>) -> Verdict {
        Verdict::Pass
    }

    fn on_overflow(&mut self, _: Verdict, packet: &Packet, queue: &QueueView<'_>, cx: &mut Context<'_>) -> Verdict {
        let arrival = Verdict::Drop(Reason::Overflow);
        let Some(ring) = queue.contents.filter(|_| self.room.admits(packet, 0, 0)) else { return arrival };
        // The arrival would be the last of packets + 1.
        match self.candidates {
            Candidates::WithArrival if cx.random.uniform() * (ring.packets() + 1) as f64 >= ring.packets() as f64 => {
                return arrival;
            }
            Candidates::WithArrival | Candidates::Queue => {}
        }
        let Some((serial, _)) = pick::any(ring, cx.random) else { return arrival };
        cx.victims.push(serial);
        Verdict::Victims { reason: Reason::Overflow, with_arrival: false, signal: false }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::prelude::*;
    use std::sync::atomic::{AtomicU64, Ordering};
    use std::sync::Arc;

    fn queue(candidates: &'static str, limit: Limit, random: Generator) -> Fifo {
        let values = Values::of(&[("candidates", Value::Choice(candidates))]);
        Fifo::new(Gate::new(Box::new(DropRandom::new(&values, limit)), limit, false, random))
    }

    /// How often the i-th of five packets is dropped when the fifth finds four waiting.
    fn hits(candidates: &'static str) -> [f64; 5] {
        let mut hits = [0.0; 5];
        for seed in 0..20_000 {
            let mut queue = queue(candidates, Limit::Packets(4), Generator::stream(seed, "queue"));
            for flow in 0..5 {
                queue.enqueue(Packet::new(flow, 1000), Time::ZERO, &mut |packet, _| hits[packet.flow as usize] += 1.0);
            }
        }
        hits
    }

    #[test]
    fn each_candidate_dies_equally_often() {
        // Chi-square with three and four degrees of freedom; false-alarm rates 2.5e-5 above 24, 3.2e-5 above 26.
        let found = hits("queue");
        let square: f64 = found[..4].iter().map(|n| (n - 5000.0_f64).powi(2) / 5000.0).sum();
        assert!(square < 24.0 && found[4] == 0.0, "{found:?}");
        let found = hits("with_arrival");
        let square: f64 = found.iter().map(|n| (n - 4000.0_f64).powi(2) / 4000.0).sum();
        assert!(square < 26.0, "{found:?}");
    }

    #[test]
    fn nothing_is_drawn_while_there_is_room() {
        let drawn = Arc::new(AtomicU64::new(0));
        let count = drawn.clone();
        let random = Generator::custom(move || {
            count.fetch_add(1, Ordering::Relaxed);
            0.0
        });
        let mut queue = queue("queue", Limit::Packets(3), random);
        for flow in 0..3 {
            assert!(queue.enqueue(Packet::new(flow, 1000), Time::ZERO, &mut |_, _| {}).is_some());
        }
        assert_eq!(drawn.load(Ordering::Relaxed), 0);
        assert!(queue.enqueue(Packet::new(3, 1000), Time::ZERO, &mut |_, _| {}).is_some());
        assert_eq!(drawn.load(Ordering::Relaxed), 1);
    }

    #[test]
    fn an_arrival_that_never_fits_dies_alone() {
        let mut queue = queue("queue", Limit::Bytes(1000), Generator::stream(1, "queue"));
        let mut dead = Vec::new();
        for size in [500, 500, 1001, 1000] {
            queue.enqueue(Packet::new(1, size), Time::ZERO, &mut |packet, _| dead.push(packet.size));
        }
        assert_eq!(dead, [1001, 500, 500]);
        assert_eq!(queue.bytes(), 1000);
    }
}
