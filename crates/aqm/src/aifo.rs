//! # AIFO
//!
//! ## What it does
//! One FIFO that admits about the packets that a queue sorted by rank (PIFO) would send. The ranks of the last arrivals
//! are kept in a window. An arrival is admitted if
//!
//! `quantile <= (C - c)/((1 - k) C)`
//!
//! where `C` is the limit, `c` what waits, and `quantile` the share of the window with ranks below the arrival's. Up to
//! `k C` everything is admitted; beyond, the rank must be lower the fuller the queue. All else is dropped. No packet
//! overtakes another.
//!
//! Ranks are the packets' classes, or start times of start-time fair queueing over the flows (`rank = "start_time"`),
//! so that a flow that sends more than its share loses the surplus. No random number.
//!
//! Start times grow as flows are served. While all flows have had equal service, each arrival has the highest rank of
//! the window, and little more than `k C` is ever used: a short queue, which can cost throughput.
//!
//! ## Source
//! Z. Yu, C. Hu, J. Wu, X. Sun, V. Braverman, M. Chowdhury, Z. Liu, X. Jin, "Programmable packet scheduling with a
//! single queue", ACM SIGCOMM 2021. Its text was not at hand; the rules are those of the authors' simulator,
//! `AIFOQueue.java` (<https://github.com/netx-repo/AIFO>).
//!
//! ## Differences
//! 1. There the rank is the packet's finish time, here its start time, as `start_time` says and as in `sp_pifo`: of two
//!    flows with equal service, the one with smaller packets is not preferred.
//! 2. There virtual time is the rank of the packet that left last. Here it does not run back, and at the end of a busy
//!    period it is the largest finish time, as in start-time fair queueing.
//! 3. There SYNs and ACKs pass unless the buffer is full, and enter no window. Here all packets are alike.
//! 4. There `C` and `c` are bytes. Here they are in the limit's unit, packets or bytes.
//! 5. `sampling`: the paper's switch keeps the ranks of a share of the arrivals, the simulator all ranks. Here every
//!    n-th is kept, by count (ours).
//! 6. A drop by the rule counts as forced. Packets are dropped, never marked.
//!
//! ## Example
//! ```
//! use earlydrop_aqm::{catalogue, gate::Gate, params::{Value, Values}, policy::Limit, random::Generator};
//! use earlydrop_aqm::{discipline::Fifo, Discipline, Packet, Time};
//!
//! let link = catalogue::Link { rate_bps: 10e6, delay_s: 0.01 };
//! let limit = Limit::Packets(20);
//! let mut values = Values::new();
//! values.set("rank", Value::Choice("class"));
//! let catalogue::Built::Policy(policy) = (catalogue::find("aifo").unwrap().build)(&values, &link, limit).unwrap()
//!     else { unreachable!() };
//! let mut queue = Fifo::new(Gate::new(policy, limit, false, Generator::stream(1, "queue")));
//! // Classes 0 and 5 by turns: for class 5 the quantile is 1/2 or more; with 11 waiting packets (20 - c)/18 is less.
//! let mut admitted = [0, 0];
//! for step in 0..60 {
//!     let class = if step % 2 == 0 { 0 } else { 5 };
//!     let packet = Packet { class, ..Packet::new(1, 1000) };
//!     admitted[step % 2] += u32::from(queue.enqueue(packet, Time::ZERO, &mut |_, _| {}).is_some());
//! }
//! assert_eq!(admitted, [15, 5]);
//! ```

use crate::catalogue::{AqmSpec, Built};
use crate::params::{Kind, Param, Unit, Values};
use crate::parts::flow_tags::{self, Ranks};
use crate::policy::{Context, Limit, Needs, Policy, QueueView, Reason, Verdict};
use crate::Packet;
use std::collections::VecDeque;

const PARAMS: [Param; 4] = [
    flow_tags::rank("AIFOQueue.java, with finish times; class: ranks of the senders"),
    Param::real(
        "k",
        Unit::None,
        Kind::Real { low: 0.0, high: 1.0, open_low: false, open_high: true, auto: false },
        0.1,
    )
    .symbol("k")
    .says("AIFOQueue.java", "Share of the buffer up to which everything is admitted."),
    Param::whole("window", Unit::None, (1, 1024), 20).says("AIFOQueue.java", "Number of ranks that are kept."),
    Param::whole("sampling", Unit::None, (1, 10_000), 1)
        .says("AIFOQueue.java", "Arrivals for each one that enters the window."),
];

/// The declaration.
pub const SPEC: AqmSpec = AqmSpec {
    summary: "One FIFO that admits an arrival if its rank is low enough among the last ones for the space that is left",
    source: "Yu, Hu, Wu, Sun, Braverman et al.: Programmable packet scheduling with a single queue, SIGCOMM 2021",
    params: &[&PARAMS],
    build: &|values, _, limit| Ok(Built::Policy(Box::new(Aifo::new(values, limit)))),
    ..AqmSpec::named("aifo", "AIFO", "load and queue control", 2021)
};

/// The policy.
pub struct Aifo {
    /// k, the share of the buffer up to which everything is admitted.
    k: f64,
    /// C, packets or bytes.
    capacity: f64,
    /// Whether C is bytes.
    bytes: bool,
    /// The ranks of arrivals.
    ranks: Ranks,
    /// Ranks of the last arrivals, oldest first.
    window: VecDeque<u64>,
    /// How many ranks are kept.
    length: usize,
    /// n: every n-th arrival enters the window.
    sampling: u64,
    /// Arrivals since the last that entered the window.
    since: u64,
    /// Ranks of the packets that wait, oldest first.
    waiting: VecDeque<u64>,
    /// The quantile of the last arrival.
    quantile: f64,
}

impl Aifo {
    fn new(values: &Values, limit: Limit) -> Self {
        let (capacity, bytes) = match limit {
            Limit::Packets(n) => (n as f64, false),
            Limit::Bytes(n) => (n as f64, true),
        };
        Aifo {
            k: values.real(&PARAMS, "k"),
            capacity,
            bytes,
            ranks: Ranks::new(values.choice(&PARAMS, "rank")),
            window: VecDeque::new(),
            length: values.whole(&PARAMS, "window") as usize,
            sampling: values.whole(&PARAMS, "sampling") as u64,
            since: 0,
            waiting: VecDeque::new(),
            quantile: 0.0,
        }
    }

    /// The share of the window with ranks below `rank`; 0 while it is empty.
    fn quantile_of(&self, rank: u64) -> f64 {
        let below = self.window.iter().filter(|&&other| other < rank).count();
        below as f64 / self.window.len().max(1) as f64
    }

    /// The rank of an arrival enters the window, if it is the n-th.
    fn enter(&mut self, rank: u64) {
        self.since += 1;
        if self.since < self.sampling {
            return;
        }
        self.since = 0;
        if self.window.len() == self.length {
            self.window.pop_front();
        }
        self.window.push_back(rank);
    }
}

impl Policy for Aifo {
    fn needs(&self) -> Needs {
        Needs { dequeue: true, contents: false }
    }

    fn on_enqueue(&mut self, packet: &Packet, queue: &QueueView<'_>, cx: &mut Context<'_>) -> Verdict {
        let rank = self.ranks.of(packet);
        self.quantile = self.quantile_of(rank);
        self.enter(rank);
        let occupied = if self.bytes { queue.bytes } else { queue.packets } as f64;
        let threshold = (self.capacity - occupied) / ((1.0 - self.k) * self.capacity);
        // Up to k C the threshold is 1 or more, but rounding could make it less.
        if occupied > self.k * self.capacity && self.quantile > threshold {
            return Verdict::Drop(Reason::Forced);
        }
        if cx.has_room {
            self.ranks.admitted(packet, rank);
            self.waiting.push_back(rank);
        }
        Verdict::Pass
    }

    fn on_dequeue(&mut self, packet: Option<&Packet>, _queue: &QueueView<'_>, _cx: &mut Context<'_>) -> Verdict {
        if let (Some(_), Some(rank)) = (packet, self.waiting.pop_front()) {
            self.ranks.served(rank, self.waiting.is_empty());
        }
        Verdict::Pass
    }

    fn gauges(&self, out: &mut dyn FnMut(&'static str, f64)) {
        out("quantile", self.quantile);
        out("virtual_time", self.ranks.now() as f64);
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::prelude::*;

    const CLASS: (&str, Value) = ("rank", Value::Choice("class"));

    fn aifo(pairs: &[(&'static str, Value)], limit: Limit) -> Aifo {
        let values = Values::of(pairs);
        Aifo::new(&values, limit)
    }

    fn fifo(pairs: &[(&'static str, Value)], limit: Limit) -> Fifo {
        let random = Generator::custom(|| panic!("AIFO draws no random number"));
        Fifo::new(Gate::new(Box::new(aifo(pairs, limit)), limit, true, random))
    }

    /// Whether an arrival of this class is admitted while `waiting` of 100 packets wait, after ranks as in `window`.
    fn admitted(class: u8, waiting: u64, window: &[u64]) -> bool {
        let mut policy = aifo(&[CLASS], Limit::Packets(100));
        policy.window = window.iter().copied().collect();
        let queue = QueueView { packets: waiting, bytes: 1000 * waiting, idle_since: None, contents: None };
        let mut random = Generator::custom(|| panic!("no random number"));
        let victims = &mut Vec::new();
        let mut cx = Context { now: Time::ZERO, ecn: false, has_room: waiting < 100, random: &mut random, victims };
        let packet = Packet { class, ..Packet::new(1, 1000) };
        policy.on_enqueue(&packet, &queue, &mut cx) == Verdict::Pass
    }

    #[test]
    fn up_to_k_everything_is_admitted() {
        let low = [0; 20];
        assert!(admitted(7, 10, &low), "10 of 100");
        // With 11 packets waiting a quantile of 1 is too much: (100 - 11)/90 < 1.
        assert!(!admitted(7, 11, &low));
    }

    #[test]
    fn the_quantile_must_fit_the_space_that_is_left() {
        // Half of the window's ranks are below 5: (100 - c)/90 >= 0.5 up to c = 55.
        let half = [0, 0, 0, 0, 5, 5, 6, 7];
        assert!(admitted(5, 55, &half) && !admitted(5, 56, &half));
        // Equal ranks do not count as below.
        assert!(admitted(0, 99, &half));
        assert!(admitted(7, 100 - 79, &half) && !admitted(7, 22, &half), "seven eighths: 78.75 must be free");
        assert!(admitted(7, 99, &[]), "an empty window holds nothing against anyone");
    }

    #[test]
    fn the_window_has_the_last_arrivals_admitted_or_not() {
        let mut policy = aifo(&[CLASS, ("window", Value::Whole(3))], Limit::Packets(100));
        (1..=5).for_each(|rank| policy.enter(rank));
        assert_eq!(policy.window, [3, 4, 5]);
        assert_eq!([3, 4, 5, 6].map(|rank| policy.quantile_of(rank)), [0.0, 1.0 / 3.0, 2.0 / 3.0, 1.0]);
        let mut sampled = aifo(&[("sampling", Value::Whole(3))], Limit::Packets(100));
        (1..=10).for_each(|rank| sampled.enter(rank));
        assert_eq!(sampled.window, [3, 6, 9]);
        let mut queue = fifo(&[CLASS], Limit::Packets(2));
        for _ in 0..9 {
            queue.enqueue(Packet { class: 1, ..Packet::new(1, 100) }, Time::ZERO, &mut |_, _| {});
        }
        let mut quantile = f64::NAN;
        queue.enqueue(Packet { class: 2, ..Packet::new(1, 100) }, Time::ZERO, &mut |_, _| {});
        queue.gauges(&mut |name, value| quantile = if name == "quantile" { value } else { quantile });
        assert_eq!((queue.packets(), quantile), (2, 1.0), "nine arrivals, of which two were admitted");
    }

    #[test]
    fn a_full_buffer_is_an_overflow_and_counts_for_no_flow() {
        let mut queue = fifo(&[("k", Value::Real(0.9))], Limit::Packets(10));
        let mut reasons = Vec::new();
        for flow in 0..12 {
            queue.enqueue(Packet::new(flow, 100), Time::ZERO, &mut |_, reason| reasons.push(reason));
        }
        assert_eq!(reasons, [Reason::Overflow; 2], "all have rank 0");
        queue.enqueue(Packet::new(0, 100), Time::ZERO, &mut |_, reason| reasons.push(reason));
        assert_eq!(reasons[2..], [Reason::Forced], "its second packet has rank 100, all others are below");
    }

    #[test]
    fn in_bytes_the_space_is_in_bytes() {
        for (bytes, verdict) in [(1000, Verdict::Pass), (1001, Verdict::Drop(Reason::Forced))] {
            let mut policy = aifo(&[CLASS], Limit::Bytes(10_000));
            policy.window = [0; 20].into();
            let queue = QueueView { packets: 90, bytes, idle_since: None, contents: None };
            let mut random = Generator::custom(|| panic!("no random number"));
            let victims = &mut Vec::new();
            let mut cx = Context { now: Time::ZERO, ecn: false, has_room: true, random: &mut random, victims };
            assert_eq!(policy.on_enqueue(&Packet { class: 7, ..Packet::new(1, 100) }, &queue, &mut cx), verdict);
        }
    }

    #[test]
    fn a_flow_above_its_share_loses_the_surplus() {
        let mut queue = fifo(&[], Limit::Packets(60));
        let mut left = [0; 3];
        // The link takes one packet a step; in each step flow 1 sends two packets, flow 2 half a packet.
        for step in 0..20_000 {
            for flow in [1, 1, 2] {
                if flow == 1 || step % 2 == 0 {
                    queue.enqueue(Packet::new(flow, 1000), Time::ZERO, &mut |_, _| {});
                }
            }
            left[queue.dequeue(Time::ZERO, &mut |_, _| {}).map_or(0, |packet| packet.flow as usize)] += 1;
        }
        assert_eq!(left[0], 0);
        assert!((9_500..=10_500).contains(&left[2]), "{left:?}: half of the link is its share, and what it sends");
    }
}
