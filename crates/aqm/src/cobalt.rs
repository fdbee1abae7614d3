//! # COBALT
//!
//! ## What it does
//! CoDel and BLUE in one: CoDel against standing queues, BLUE against unresponsive senders. It decides
//! at departure, over one packet at a time.
//!
//! | | |
//! |---|---|
//! | late | `sojourn > target` |
//! | first late packet | the next signal is due after `interval/sqrt(count)` |
//! | due, and the packet is late | it is marked if it can be, else dropped; `count` grows by 1 |
//! | due, and it is not late | `count` shrinks by 1; each step is one more `interval/sqrt(count)` |
//! | overflow | `p_blue` grows by `increment`, at most once per `target`; the next late packet is due |
//! | queue found empty | `p_blue` shrinks by `decrement`, at most once per `target` |
//! | every departure | dropped with probability `p_blue`, marked or not |
//!
//! Unlike CoDel it needs no re-entry rule: `count` is the memory, and it decays automatically.
//!
//! ## Source
//! J. Morton, in CAKE: T. Hoeiland-Joergensen, D. Taht, J. Morton, "Piece of CAKE: A Comprehensive Queue Management
//! Solution for Home Gateways", IEEE LANMAN, 2018 (not read by us); rules from Linux `net/sched/sch_cake.c` and ns-3
//! `cobalt-queue-disc.cc`.
//!
//! ## Differences
//! 1. `dialect` chooses among rules on which the two sources differ:
//!
//!    | | linux | ns3 |
//!    |---|---|---|
//!    | late | above `target` and above 4 packets of `max_packet` on this link | above `target` |
//!    | `target` | at least 1.5 such packets | as given |
//!    | `interval` | longer by what `target` was raised, at least twice `target` | as given |
//!    | last packet of the queue | never dropped | may be |
//!    | `overflow`, auto | the head is dropped | the arrival is dropped |
//!    | `blue_threshold`, auto | none | 400 ms |
//!    | `ce_threshold`, `l4s` | not in Linux, but work here | yes |
//!
//! 2. In Linux a fresh queue's memory is zeroed: 1/sqrt(count) is 0 until its first signal, so its second late packet
//!    is signalled at once. Linux's comments and ns-3 say 1, so the first signal comes after `interval`; so here (a
//!    reconstruction: the published intent). `linux_r0` is Linux as it runs. After more than an `interval` without
//!    a late packet both signal the second one: `drop_next` lies in the past and is set to now.
//! 3. 1/sqrt(count) is computed as both sources do: a table below 16, one Newton step in 32 bits for each change above.
//! 4. Clocks: Linux and ns-3 count ns. Here seconds, without rounding. ns-3 (3.37) keeps in 32 bits when BLUE last
//!    moved: after 4.3 s of a run that always seems longer ago than `target`, and BLUE moves at every event. This
//!    oversight costs packets under overload. `ns3_clock`, off by default in the dialect ns3 too, repeats it; the
//!    counts then agree with ns-3's under fixed arrivals.
//! 5. CAKE's other parts (1024 queues with hosts, shaper, overhead, ACK filter, ingress mode with its rule for many
//!    flows) are not here: this is one queue with one COBALT.
//! 6. Linux's CAKE marks even where marking is off. Here as everywhere the port decides.
//! 7. The dialect is linux by default, as there is no RFC.
//!
//! ## Example
//! ```
//! use earlydrop_aqm::{catalogue, gate::Gate, params::Values, policy::Limit, random::Generator};
//! use earlydrop_aqm::{discipline::Fifo, Discipline, Packet, Time};
//!
//! let link = catalogue::Link { rate_bps: 12e6, delay_s: 0.02 };
//! let catalogue::Built::Policy(policy) = (catalogue::find("cobalt").unwrap().build)(&Values::new(), &link, Limit::Packets(1000)).unwrap()
//!     else { unreachable!() };
//! let mut queue = Fifo::new(Gate::new(policy, Limit::Packets(1000), false, Generator::stream(1, "queue")));
//! for _ in 0..500 {
//!     queue.enqueue(Packet::new(1, 1500), Time::ZERO, &mut |_, _| {});
//! }
//! let mut drops = Vec::new();
//! for ms in 0..320 {
//!     queue.dequeue(Time::from_seconds(f64::from(ms) * 1e-3), &mut |_, _| drops.push(ms));
//! }
//! // Late since 6 ms: a drop 100 ms later, the next after 70.7 ms, 57.7 ms, 50 ms.
//! assert_eq!(drops, [106, 177, 235, 285]);
//! ```

mod parameters;

pub(crate) use parameters::{Settings, NS3_PARAMS};

use crate::catalogue::{AqmSpec, Built};
use crate::default_limit::{self, DefaultLimit};
use crate::policy::{Context, Needs, Policy, QueueView, Reason, Verdict};
use crate::{Ecn, Packet};
use parameters::{Dialect, PARAMS};

/// Bounds of CAKE's buffer, bytes: at least 4 MiB, at most 10240 packets of an MTU.
const LEAST_MEMORY: f64 = 4_194_304.0;
const MOST_MEMORY: f64 = 10_240.0 * 1514.0;

/// The declaration.
pub const SPEC: AqmSpec = AqmSpec {
    summary: "CoDel whose count decays automatically, with BLUE for unresponsive senders",
    source:
        "Hoeiland-Joergensen, Taht, Morton: Piece of CAKE, IEEE LANMAN, 2018; Linux sch_cake; ns-3 cobalt-queue-disc",
    params: &[&PARAMS],
    limit: DefaultLimit::Rule {
        rule: "what the link sends in 4 interval, 4 MiB to 15.5 MB",
        source: "Linux sch_cake",
        of: |_, values, link| {
            let in_four = 4.0 * values.real(&PARAMS, "interval") * link.rate_bps / 8.0;
            default_limit::bytes(in_four.clamp(LEAST_MEMORY, MOST_MEMORY))
        },
    },
    check: &|values, link| Settings::read(values, link).map(|_| ()),
    build: &|values, link, _| Ok(Built::Policy(Box::new(Cobalt::new(Settings::read(values, link)?)))),
    ..AqmSpec::named("cobalt", "COBALT", "sojourn time", 2018)
};

/// 1/sqrt(count) as 32-bit fractions for counts below 16, as the sources fill their table.
pub(crate) const TABLE: [u32; 16] = {
    let mut table = [u32::MAX; 16];
    let (mut count, mut root) = (1, u32::MAX);
    while count < 16 {
        let mut steps = 0;
        while steps < 4 {
            root = newton_step(root, count as u32);
            steps += 1;
        }
        table[count] = root;
        count += 1;
    }
    table
};

/// One Newton step towards 1/sqrt(`count`).
pub(crate) const fn newton_step(root: u32, count: u32) -> u32 {
    let root = root as u64;
    let square = (root * root) >> 32;
    let factor = (3_u64 << 32).wrapping_sub(count as u64 * square) >> 2;
    (factor.wrapping_mul(root) >> 31) as u32
}

/// The policy.
#[derive(Clone)]
pub struct Cobalt {
    /// The parameters.
    set: Settings,
    /// count: the signals that the drop rate stands for.
    count: u32,
    /// rec_inv_sqrt: 1/sqrt(count) as a 32-bit fraction.
    root: u32,
    /// drop_next: time of the next signal, s.
    drop_next: f64,
    /// dropping: whether packets are late.
    dropping: bool,
    /// p_drop, BLUE's probability.
    p_blue: f64,
    /// blue_timer: when `p_blue` last changed, s.
    blue_moved: f64,
}

impl Cobalt {
    /// A queue at the start.
    pub(crate) fn new(set: Settings) -> Self {
        let root = if set.r0 { 0 } else { u32::MAX };
        Cobalt { set, count: 0, root, drop_next: 0.0, dropping: false, p_blue: 0.0, blue_moved: 0.0 }
    }

    /// cobalt_control: `from` + interval/sqrt(count).
    fn control_law(&self, from: f64) -> f64 {
        from + self.set.interval * f64::from(self.root) / 4_294_967_296.0
    }

    /// The count has changed: moves `drop_next` on by interval/sqrt(count).
    fn reschedule(&mut self) {
        self.root = TABLE.get(self.count as usize).copied().unwrap_or_else(|| newton_step(self.root, self.count));
        self.drop_next = self.control_law(self.drop_next);
    }

    /// Whether the time of the next signal has come.
    fn is_due(&self, now: f64) -> bool {
        self.count > 0 && now >= self.drop_next
    }

    /// Whether `target` has passed since BLUE last moved; if so, notes that it moves now.
    fn blue_moves(&mut self, now: f64) -> bool {
        let moves = now - self.blue_moved > self.set.target;
        if moves {
            let low_bits = (now * 1e9) as u64 as u32;
            self.blue_moved = if self.set.short_clock { f64::from(low_bits) * 1e-9 } else { now };
        }
        moves
    }

    /// cobalt_queue_full.
    pub(crate) fn full(&mut self, now: f64) {
        if self.blue_moves(now) {
            self.p_blue = (self.p_blue + self.set.increment).min(1.0);
        }
        self.dropping = true;
        self.drop_next = now;
        self.count = self.count.max(1);
    }

    /// cobalt_queue_empty.
    pub(crate) fn empty(&mut self, now: f64) {
        if self.p_blue > 0.0 && self.blue_moves(now) {
            self.p_blue = (self.p_blue - self.set.decrement).max(0.0);
        }
        self.dropping = false;
        if self.is_due(now) {
            self.count -= 1;
            self.reschedule();
        }
    }

    /// cobalt_should_drop: decides over `packet`, which has just left the queue; `last`: no packet waits behind it.
    pub(crate) fn decide(&mut self, packet: &Packet, last: bool, cx: &mut Context<'_>) -> Verdict {
        let (now, sojourn) = (cx.now.seconds(), cx.now - packet.enqueued);
        if self.set.l4s && matches!(packet.ecn, Ecn::Ect1 | Ecn::Ce) {
            return if sojourn > self.set.ce_threshold { Verdict::Mark } else { Verdict::Pass };
        }
        // Tested before the state moves: the packet that starts the dropping state is never hit.
        let due = self.is_due(now);
        let mut behind = now - self.drop_next;
        if sojourn > self.set.target && sojourn > self.set.floor {
            if !self.dropping {
                self.dropping = true;
                self.drop_next = self.control_law(now);
            }
            self.count = self.count.max(1);
        } else {
            self.dropping = false;
        }
        let signal = due && self.dropping;
        if signal {
            self.count = self.count.saturating_add(1);
            self.reschedule();
            behind = now - self.drop_next;
        } else if due {
            self.fade(now);
            behind = now - self.drop_next;
        }
        if sojourn > self.set.blue_threshold && self.blue_moves(now) {
            self.p_blue = (self.p_blue + self.set.increment).min(1.0);
        }
        let blue = self.p_blue > 0.0 && cx.random.uniform() < self.p_blue;
        let dropped = blue || signal && !cx.can_mark(packet);
        if self.count == 0 {
            self.drop_next = now + self.set.interval;
        } else if behind > 0.0 && !dropped {
            self.drop_next = now;
        }
        if dropped {
            // Linux spares the last packet of a queue, though the state has counted it.
            let spared = last && self.set.dialect == Dialect::Linux;
            let by_chance = !signal && self.p_blue < 1.0;
            let reason = if by_chance { Reason::Early } else { Reason::Forced };
            return match (spared, signal && cx.can_mark(packet)) {
                (true, true) => Verdict::Mark,
                (true, false) => Verdict::Pass,
                (false, _) => Verdict::Drop(reason),
            };
        }
        if signal {
            return Verdict::Signal(Reason::Forced);
        }
        if sojourn > self.set.ce_threshold && !self.set.l4s {
            return Verdict::Mark;
        }
        Verdict::Pass
    }

    /// Lowers the count by one for each due time that has passed until `now`.
    fn fade(&mut self, now: f64) {
        while self.is_due(now) {
            self.count -= 1;
            self.reschedule();
        }
    }
}

impl Policy for Cobalt {
    fn needs(&self) -> Needs {
        Needs { dequeue: true, contents: self.set.head_dropped }
    }

    fn on_enqueue(&mut self, _packet: &Packet, _queue: &QueueView<'_>, _cx: &mut Context<'_>) -> Verdict {
        Verdict::Pass
    }

    fn on_overflow(&mut self, _: Verdict, _packet: &Packet, queue: &QueueView<'_>, cx: &mut Context<'_>) -> Verdict {
        self.full(cx.now.seconds());
        match queue.contents.filter(|ring| self.set.head_dropped && ring.packets() > 0) {
            Some(ring) => {
                cx.victims.push(ring.serials().start);
                Verdict::Victims { reason: Reason::Overflow, with_arrival: false, signal: false }
            }
            None => Verdict::Drop(Reason::Overflow),
        }
    }

    fn on_dequeue(&mut self, packet: Option<&Packet>, queue: &QueueView<'_>, cx: &mut Context<'_>) -> Verdict {
        match packet {
            Some(packet) => self.decide(packet, queue.packets == 0, cx),
            None => {
                self.empty(cx.now.seconds());
                Verdict::Pass
            }
        }
    }

    fn gauges(&self, out: &mut dyn FnMut(&'static str, f64)) {
        out("count", f64::from(self.count));
        out("dropping", f64::from(u8::from(self.dropping)));
        out("drop_next", self.drop_next);
        out("p_blue", self.p_blue);
    }
}

#[cfg(test)]
mod tests;
