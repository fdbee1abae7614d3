//! # DualPI2
//!
//! ## What it does
//! Two queues on one link: L for traffic of scalable congestion controls (ECN field ECT(1) or CE), C for the rest. A PI
//! controller moves one probability `p'` every `tupdate`, by the age q of the older of the two heads:
//!
//! ```text
//! p' = p' + alpha (q - target) + beta (q - q before), cut off to [0, 1]
//! ```
//!
//! C packets are dropped (ECT(0): marked) with `p_C = p'^2`, L packets marked with `p_CL = k p'`: a classic flow's rate
//! falls with the root of its losses, a scalable flow's with its marks, so both get equal shares. L also has
//! a shallow threshold of its own. Past saturation (`k p'` reaches 1) L packets are dropped with `p_C` too, and ECT
//! does not save C packets. A scheduler that prefers L chooses the queue.
//!
//! ## Source
//! K. De Schepper, B. Briscoe, G. White, "Dual-queue coupled active queue management (AQM) for low latency, low loss,
//! and scalable throughput (L4S)", RFC 9332, appendix A. Linux `net/sched/sch_dualpi2.c` (6.17).
//!
//! ## Differences
//! The dialects, and the parameter, if any, that sets this one rule:
//!
//! | | linux (default) | rfc | parameter |
//! |---|---|---|---|
//! | `tupdate` | 16 ms | min(`target`, `rtt_max`/3) = 15 ms | `tupdate` |
//! | alpha | 41/256 in integers: 0.160071 Hz | 0.1 `tupdate`/`rtt_max`^2 = 0.15 Hz | `alpha` |
//! | beta | 819/256 in integers: 3.197783 Hz | 0.3/`rtt_max` = 3 Hz | `beta` |
//! | L's own AQM | step: sojourn > 1 ms | ramp: probability 0 at 0.8 ms, 1 at 1.2 ms | `l_aqm` |
//! | L's own AQM and `p_CL` | two decisions, the coupled one first | one decision with the larger probability | `l_combine` |
//! | chance | random | recur(): a counter for each queue | `derandomise` |
//! | weight of C | 10 % | 1/16 (suggested) | `classic_protection` |
//! | no coupled drop or mark | below 2 MTU of backlog | - | `min_backlog` |
//! | overload | `k p' > 1` | C: `p_C >= min(1/k^2, 1)`, L: `p_CL >= 1` | - |
//! | limit in bytes: admitted | if the packet fits | if one more MTU fits | - |
//!
//! 1. recur() adds the probability to a counter and hits when the counter exceeds 1, which is then subtracted. So the
//!    first packet of a saturated ramp is not hit, and binary rounding decides where a sum is exactly 1 (0.4: packets
//!    3, 5, 8 where exact arithmetic gives 3, 6, 8).
//! 2. Random: for p_C two numbers are drawn against `p'`, the second only if the first hits, as in Linux; for p_CL and
//!    p_L (L's own) one number each. Linux draws integers and tests `<=`, so that it hits once in 2^32 at probability
//!    0; here 0 never hits.
//! 3. The ramp sees the sojourn time of the packet taken. The RFC asks for L's time after that packet has left, to the
//!    letter the next packet's. `th_len` is compared with what L holds after the packet has left, as in the RFC.
//! 4. Overload in L: what is not dropped is marked for certain, with recur() too. `p_CL` is cut off at 1.
//! 5. Where a mark is due and the packet cannot be marked, it is dropped, as Linux does with Not-ECT in L. In L a
//!    packet cannot be marked only with `ecn = false`: packets that are not ECN-capable are in C.
//! 6. The RFC leaves the scheduler open. `wrr` is Linux', for both dialects; the RFC recommends weighted round robin
//!    with about 1/16 for C and mentions `tsfifo`. The credit counts bytes times per cent, so that whole weights are
//!    exact.
//! 7. `drop_early` (Linux) moves the coupled decision to the arrival, before admission; only L's own stays at
//!    departure.
//! 8. `drop_overload = false` (Linux) holds `p'` at 1/k and drops nothing that can be marked.
//! 9. A limit in packets holds in both dialects; the RFC wants 250 ms at the link's highest rate. Linux' memory limit,
//!    its classes by filter, and GSO splitting are left out.
//! 10. A packet that both decisions mark counts once.
//! 11. `tupdate` is at least 0.1 ms, even if rfc derives less from a small `target`. (ours)
//!
//! ## Example
//! ```
//! use earlydrop_aqm::{catalogue, params::Values, policy::Limit, random::Generator, Ecn, Packet, Time};
//!
//! let link = catalogue::Link { rate_bps: 10e6, delay_s: 0.01 };
//! let catalogue::Built::Discipline(finish) = (catalogue::find("dualpi2").unwrap().build)(&Values::new(), &link, Limit::Packets(100)).unwrap()
//!     else { unreachable!() };
//! let mut queue = finish(true, Generator::stream(1, "queue"));
//! for i in 0..40 {
//!     let ecn = if i % 2 == 0 { Ecn::Ect1 } else { Ecn::NotEct };
//!     queue.enqueue(Packet { ecn, ..Packet::new(1, 1500) }, Time::ZERO, &mut |_, _| {});
//! }
//! // After 2 ms L goes first, and its packet is marked, since it has waited for more than 1 ms.
//! let first = queue.dequeue(Time::from_seconds(0.002), &mut |_, _| {}).unwrap();
//! assert_eq!(first.ecn, Ecn::Ce);
//! let rest: Vec<_> = (0..10).filter_map(|_| queue.dequeue(Time::from_seconds(0.002), &mut |_, _| {})).collect();
//! assert_eq!(rest.iter().filter(|p| p.ecn == Ecn::NotEct).count(), 1, "C has one in ten");
//! ```

mod parameters;

use crate::catalogue::{AqmSpec, Built};
use crate::default_limit::{self, DefaultLimit};
use crate::discipline::{Admitted, OnDrop};
use crate::gate::Counters;
use crate::policy::{Limit, Reason};
use crate::random::Generator;
use crate::ring::Ring;
use crate::{Discipline, Packet, Time};
use parameters::{Dialect, LAqm, Scheduler, Settings, PARAMS};
use std::collections::VecDeque;

/// The declaration.
pub const SPEC: AqmSpec = AqmSpec {
    summary: "Coupled dual queue for L4S and classic traffic with a PI2 controller",
    source:
        "De Schepper, Briscoe, White: Dual-queue coupled AQM for L4S, RFC 9332, 2023; Linux net/sched/sch_dualpi2.c",
    params: &[&PARAMS],
    limit: DefaultLimit::Rule {
        rule: "10000 packets; rfc: 250 ms at the link's rate",
        source: "Linux sch_dualpi2; RFC 9332, appendix A.1",
        of: |_, values, link| match values.choice(&PARAMS, "dialect") {
            Dialect::Linux => Limit::Packets(10_000),
            // At least two packets: a slow link needs room too.
            Dialect::Rfc => default_limit::bytes((0.25 * link.rate_bps / 8.0).max(3000.0)),
        },
    },
    // No check of the values depends on the limit.
    check: &|values, _| Settings::read(values, Limit::Packets(1)).map(|_| ()),
    build: &|values, _, limit| {
        let set = Settings::read(values, limit)?;
        Ok(Built::Discipline(Box::new(move |ecn, random| Box::new(DualPi2::new(set, ecn, random)))))
    },
    ..AqmSpec::named("dualpi2", "DualPI2", "several queues", 2023)
};

/// The two queues.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Queue {
    /// Low latency: ECT(1) and CE.
    L,
    /// Classic.
    C,
}

impl Queue {
    /// The queue of an arrival.
    fn of(packet: &Packet) -> Self {
        if packet.ecn as u8 & 1 == 1 {
            Queue::L
        } else {
            Queue::C
        }
    }
}

/// What is remembered of a packet in L until it leaves.
#[derive(Clone, Copy, Debug)]
struct Note {
    /// The step applies to the packet.
    step: bool,
    /// The packet has been marked here.
    marked: bool,
}

/// The two queues and their controller.
pub struct DualPi2 {
    /// The parameters.
    set: Settings,
    /// The packets of L.
    l: Ring,
    /// The packets of C.
    c: Ring,
    /// The note of each packet of L, oldest first.
    notes: VecDeque<Note>,
    /// p', the controller's probability.
    p: f64,
    /// prevq: the delay at the last update, s.
    last_delay: f64,
    /// When p' is updated next.
    next_update: Time,
    /// Credit of weighted round robin, bytes times per cent; L's turn while it is not positive.
    credit: f64,
    /// recur()'s counter of L, a sum of probabilities.
    l_count: f64,
    /// recur()'s counter of C, a sum of probabilities.
    c_count: f64,
    /// Whether packets are marked.
    ecn: bool,
    /// Random numbers.
    random: Generator,
    /// Counts since the last reset.
    counters: Counters,
}

/// What a decision says about a packet.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Fate {
    Pass,
    /// The packet is marked if it can be, else dropped.
    Mark(Reason),
    Drop(Reason),
}

impl DualPi2 {
    fn new(set: Settings, ecn: bool, random: Generator) -> Self {
        let mut new = DualPi2 {
            set,
            l: Ring::new(),
            c: Ring::new(),
            notes: VecDeque::new(),
            p: 0.0,
            last_delay: 0.0,
            next_update: Time::from_seconds(set.tupdate),
            credit: 0.0,
            l_count: 0.0,
            c_count: 0.0,
            ecn,
            random,
            counters: Counters::default(),
        };
        new.reset_credit();
        new
    }

    /// p_C = p'^2 (RFC 9332, appendix A).
    fn p_c(&self) -> f64 {
        self.p * self.p
    }

    /// p_CL = k p', at most 1 (RFC 9332, appendix A).
    fn p_cl(&self) -> f64 {
        (self.set.k * self.p).min(1.0)
    }

    /// Whether p' is past saturation, so that ECT saves no packet of `queue` (RFC 9332, appendix A; Linux: `must_drop`).
    fn overloaded(&self, queue: Queue) -> bool {
        let k = self.set.k;
        self.set.drop_overload
            && match (self.set.dialect, queue) {
                (Dialect::Rfc, Queue::C) => self.p_c() >= (1.0 / (k * k)).min(1.0),
                (Dialect::Rfc, Queue::L) => self.p_cl() >= 1.0,
                (Dialect::Linux, _) => k * self.p > 1.0,
            }
    }

    /// Whether enough waits for the coupled decision (Linux: two MTUs).
    fn acts(&self) -> bool {
        self.bytes() as f64 >= self.set.min_backlog
    }

    /// Whether an event of this `probability` happens; derandomised by recur() of RFC 9332, appendix A.
    fn hit(&mut self, queue: Queue, probability: f64) -> bool {
        if self.set.derandomise {
            let count = if queue == Queue::L { &mut self.l_count } else { &mut self.c_count };
            *count += probability;
            if *count > 1.0 {
                *count -= 1.0;
                return true;
            }
            return false;
        }
        let uniform = self.random.uniform();
        probability > 0.0 && uniform <= probability
    }

    /// Whether an event of probability p_C happens: in Linux two draws against p'.
    fn hit_squared(&mut self, queue: Queue) -> bool {
        if self.set.derandomise {
            self.hit(queue, self.p_c())
        } else {
            self.hit(queue, self.p) && self.hit(queue, self.p)
        }
    }

    /// The coupled decision over a packet of `queue`; in L it takes in `native`, L's own, if the two are combined.
    fn coupled(&mut self, queue: Queue, native: f64) -> Fate {
        let overloaded = self.overloaded(queue);
        if queue == Queue::C {
            let (hit, reason) = (self.hit_squared(Queue::C), reason(self.p));
            return match (hit, overloaded) {
                (false, _) => Fate::Pass,
                (true, false) => Fate::Mark(reason),
                (true, true) => Fate::Drop(reason),
            };
        }
        if overloaded {
            let (hit, reason) = (self.hit_squared(Queue::L), reason(self.p));
            return if hit { Fate::Drop(reason) } else { Fate::Mark(Reason::Forced) };
        }
        let p_l = self.p_cl().max(native);
        if self.hit(Queue::L, p_l) {
            Fate::Mark(reason(p_l))
        } else {
            Fate::Pass
        }
    }

    /// The probability of L's own AQM for a packet that has just left L.
    fn native(&self, packet: &Packet, note: Note, now: Time) -> f64 {
        let sojourn = now - packet.enqueued;
        match self.set.l_aqm {
            LAqm::Step { threshold } => f64::from(note.step && sojourn > threshold),
            LAqm::StepPackets { threshold } => f64::from(note.step && self.l.packets() > threshold),
            LAqm::Ramp { th_len, .. } if self.l.packets() <= th_len => 0.0,
            LAqm::Ramp { start, range, .. } => ((sojourn - start) / range).clamp(0.0, 1.0),
            LAqm::None => 0.0,
        }
    }

    /// The decision of L's own AQM alone.
    fn native_alone(&mut self, native: f64) -> Fate {
        let certain = matches!(self.set.l_aqm, LAqm::Step { .. } | LAqm::StepPackets { .. });
        let hit = match self.set.l_aqm {
            LAqm::None => false,
            _ if certain => native > 0.0,
            _ => self.hit(Queue::L, native),
        };
        if hit {
            Fate::Mark(reason(native))
        } else {
            Fate::Pass
        }
    }

    /// Carries `fate` out on `packet`; the reason if `packet` is dropped.
    fn carry_out(&mut self, fate: Fate, packet: &mut Packet, marked: &mut bool) -> Option<Reason> {
        match fate {
            Fate::Pass => None,
            Fate::Mark(_) if *marked => None,
            Fate::Mark(reason) => {
                *marked = self.counters.mark(packet, self.ecn);
                (!*marked).then_some(reason)
            }
            Fate::Drop(reason) => Some(reason),
        }
    }

    /// The queue that sends next, and what the credit changes by if it does.
    fn schedule(&self, now: Time) -> Option<(Queue, f64)> {
        let (l, c) = match (head(&self.l), head(&self.c)) {
            (None, None) => return None,
            (Some(_), None) => return Some((Queue::L, 0.0)),
            (None, Some(_)) => return Some((Queue::C, 0.0)),
            (Some(l), Some(c)) => (l, c),
        };
        let l_first = match self.set.scheduler {
            Scheduler::Wrr => self.credit <= 0.0,
            Scheduler::TsFifo { tshift } => (now - l.enqueued) + tshift >= now - c.enqueued,
        };
        Some(if l_first {
            (Queue::L, self.set.w_c * f64::from(l.size))
        } else {
            (Queue::C, -(100.0 - self.set.w_c) * f64::from(c.size))
        })
    }

    /// Sets the credit to that of empty queues (Linux: `dualpi2_reset_c_protection`).
    fn reset_credit(&mut self) {
        self.credit = f64::from(self.set.mtu) * (self.set.w_c - (100.0 - self.set.w_c));
    }

    /// Whether `packet` fits into the buffer.
    fn has_room(&self, packet: &Packet) -> bool {
        let (packets, bytes) = (self.packets(), self.bytes());
        match self.set.limit {
            Limit::Packets(n) => packets < n,
            // A packet larger than the MTU must fit itself.
            Limit::Bytes(n) if self.set.dialect == Dialect::Rfc => {
                bytes + u64::from(self.set.mtu.max(packet.size)) <= n
            }
            Limit::Bytes(n) => bytes + u64::from(packet.size) <= n,
        }
    }
}

/// A certain drop is forced, any other is early.
fn reason(probability: f64) -> Reason {
    if probability < 1.0 {
        Reason::Early
    } else {
        Reason::Forced
    }
}

fn head(ring: &Ring) -> Option<&Packet> {
    ring.get(ring.serials().start)
}

impl Discipline for DualPi2 {
    fn enqueue(&mut self, mut packet: Packet, now: Time, on_drop: &mut OnDrop<'_>) -> Option<Admitted> {
        self.counters.arrivals += 1;
        self.counters.arrived_bytes += u64::from(packet.size);
        let queue = Queue::of(&packet);
        let before = packet.ecn;
        let mut marked = false;
        let mut refused = (!self.has_room(&packet)).then_some(Reason::Overflow);
        if refused.is_none() && self.set.drop_early && self.acts() {
            let fate = self.coupled(queue, 0.0);
            refused = self.carry_out(fate, &mut packet, &mut marked);
        }
        if let Some(reason) = refused {
            self.counters.drop(reason);
            on_drop(&packet, reason);
            return None;
        }
        packet.admit(now);
        if queue == Queue::L {
            self.notes.push_back(Note { step: self.l.packets() >= self.set.min_qlen_step, marked });
            self.l.push(packet);
        } else {
            self.c.push(packet);
        }
        Some(Admitted(packet.ecn != before))
    }

    fn dequeue(&mut self, now: Time, on_drop: &mut OnDrop<'_>) -> Option<Packet> {
        loop {
            let Some((queue, credit)) = self.schedule(now) else {
                self.reset_credit();
                return None;
            };
            let (mut packet, mut note) = match queue {
                Queue::L => (self.l.pop()?, self.notes.pop_front()?),
                Queue::C => (self.c.pop()?, Note { step: false, marked: false }),
            };
            let native = if queue == Queue::L { self.native(&packet, note, now) } else { 0.0 };
            let mut dropped = None;
            let coupled = !self.set.drop_early && self.acts();
            if coupled {
                let fate = self.coupled(queue, if self.set.combined { native } else { 0.0 });
                dropped = self.carry_out(fate, &mut packet, &mut note.marked);
            }
            if dropped.is_none() && queue == Queue::L && !(coupled && self.set.combined) {
                let fate = self.native_alone(native);
                dropped = self.carry_out(fate, &mut packet, &mut note.marked);
            }
            if let Some(reason) = dropped {
                self.counters.drop(reason);
                on_drop(&packet, reason);
                continue;
            }
            self.credit += credit;
            self.counters.depart(&packet);
            return Some(packet);
        }
    }

    fn packets(&self) -> u64 {
        self.l.packets() + self.c.packets()
    }

    fn bytes(&self) -> u64 {
        self.l.bytes() + self.c.bytes()
    }

    fn counters(&self) -> &Counters {
        &self.counters
    }

    fn reset_counters(&mut self) {
        self.counters = Counters::default();
    }

    fn bands(&self) -> &'static [&'static str] {
        &["L", "C"]
    }

    fn band_of(&self, packet: &Packet, _dscp: u8) -> usize {
        Queue::of(packet) as usize
    }

    fn next_timer(&self) -> Option<Time> {
        Some(self.next_update)
    }

    /// dualpi2_update() of RFC 9332, appendix A: the PI controller.
    fn on_timer(&mut self, now: Time) {
        let age = |ring: &Ring| head(ring).map_or(0.0, |packet| now - packet.enqueued);
        let delay = age(&self.c).max(age(&self.l));
        let change = self.set.alpha * (delay - self.set.target) + self.set.beta * (delay - self.last_delay);
        let most = if self.set.drop_overload { 1.0 } else { (1.0 / self.set.k).min(1.0) };
        self.p = (self.p + change).clamp(0.0, most);
        self.last_delay = delay;
        self.next_update = self.next_update + self.set.tupdate;
    }

    /// `p` (p'), p_C, p_CL, the packets in each queue, and the credit (bytes times per cent).
    fn gauges(&self, out: &mut dyn FnMut(&'static str, f64)) {
        out("p", self.p);
        out("p_c", self.p_c());
        out("p_cl", self.p_cl());
        out("l_packets", self.l.packets() as f64);
        out("c_packets", self.c.packets() as f64);
        out("credit", self.credit);
    }

    /// 0 is L, 1 is C.
    fn waiting(&self, out: &mut dyn FnMut(usize, &Packet)) {
        for (number, queue) in [&self.l, &self.c].into_iter().enumerate() {
            queue.iter().for_each(|(_, packet)| out(number, packet));
        }
    }
}

#[cfg(test)]
mod tests;
