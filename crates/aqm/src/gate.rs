//! The gate of a FIFO: policy, limit, ECN and counters.

use crate::early_detection::Red;
use crate::policy::{Context, Limit, Needs, Policy, QueueView, Reason, Room, Verdict};
use crate::random::Generator;
use crate::{Ecn, Packet, Time};
use std::any::Any;

/// What happened at a queue, by reason. All counts are packets unless they say bytes.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
#[repr(C)]
pub struct Counters {
    /// Packets that arrived, dropped ones included.
    pub arrivals: u64,
    /// Bytes of the packets that arrived.
    pub arrived_bytes: u64,
    /// Packets that left for the link.
    pub departures: u64,
    /// Bytes of the packets that left.
    pub departed_bytes: u64,
    /// Packets dropped by chance.
    pub early_drops: u64,
    /// Packets dropped for certain by the policy.
    pub forced_drops: u64,
    /// Packets dropped because the buffer was full.
    pub overflow_drops: u64,
    /// Packets marked CE by this queue.
    pub marks: u64,
}

impl Counters {
    /// All drops.
    pub fn drops(&self) -> u64 {
        self.early_drops + self.forced_drops + self.overflow_drops
    }

    /// Counts one drop.
    #[inline]
    pub fn drop(&mut self, reason: Reason) {
        match reason {
            Reason::Early => self.early_drops += 1,
            Reason::Forced => self.forced_drops += 1,
            Reason::Overflow => self.overflow_drops += 1,
        }
    }

    /// Counts one departure.
    #[inline]
    pub fn depart(&mut self, packet: &Packet) {
        self.departures += 1;
        self.departed_bytes += u64::from(packet.size);
    }

    /// Sets CE if marking is on (`ecn`) and the packet is ECN-capable, and counts the mark; true if so. A packet that
    /// carries CE already counts too: the receiver sees a mark either way (RFC 3168).
    #[inline]
    pub fn mark(&mut self, packet: &mut Packet, ecn: bool) -> bool {
        if !(ecn && packet.ecn.is_capable()) {
            return false;
        }
        packet.ecn = Ecn::Ce;
        self.marks += 1;
        true
    }
}

/// What becomes of an arrival.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Fate {
    /// The arrival joins the queue (perhaps marked: see its ECN field).
    Admitted,
    /// The arrival is dropped.
    Dropped(Reason),
    /// Queued packets are dropped or marked, see [`Gate::victims`]. With `with_arrival` the arrival is dropped; else,
    /// once the victims are removed, [`Gate::offer_again`] says if it joins.
    Victims {
        /// Reason to count for each drop.
        reason: Reason,
        /// The arrival is dropped too.
        with_arrival: bool,
        /// Victims are marked instead of dropped where possible.
        signal: bool,
    },
}

/// The policy of a gate. RED's per-packet methods are called directly, so that they become part of the queue's code;
/// those of every other policy by the table of methods.
enum Held {
    Red(Box<Red>),
    Other(Box<dyn Policy>),
}

// So that the policy stays in the gate's first cache line.
const _: () = assert!(size_of::<Held>() == size_of::<Box<dyn Policy>>());

impl Held {
    fn new(policy: Box<dyn Policy>) -> Self {
        let any: &dyn Any = &*policy;
        if !any.is::<Red>() {
            return Held::Other(policy);
        }
        let any: Box<dyn Any> = policy;
        Held::Red(any.downcast().expect("it is RED"))
    }

    fn get(&self) -> &dyn Policy {
        match self {
            Held::Red(red) => &**red,
            Held::Other(policy) => &**policy,
        }
    }

    fn get_mut(&mut self) -> &mut dyn Policy {
        match self {
            Held::Red(red) => &mut **red,
            Held::Other(policy) => &mut **policy,
        }
    }

    #[inline(always)]
    fn on_enqueue(&mut self, packet: &Packet, queue: &QueueView<'_>, cx: &mut Context<'_>) -> Verdict {
        match self {
            Held::Red(red) => red.on_enqueue(packet, queue, cx),
            Held::Other(policy) => {
                // Copies, for the reason given at [`Gate::offer`].
                let (packet, queue) = (*packet, *queue);
                let Context { now, ecn, has_room, .. } = *cx;
                let mut cx = Context { now, ecn, has_room, random: cx.random, victims: cx.victims };
                policy.on_enqueue(&packet, &queue, &mut cx)
            }
        }
    }

    #[inline(always)]
    fn average(&self) -> Option<f64> {
        match self {
            Held::Red(red) => red.average(),
            Held::Other(policy) => policy.average(),
        }
    }
}

/// Everything a queue does except storing packets and keeping time: it calls the policy, holds the limit, marks, and
/// counts. [`crate::discipline::Fifo`] and the simulator's analytic port both use it.
#[repr(C)]
pub struct Gate {
    /// The policy.
    policy: Held,
    /// When a packet last arrived.
    last_offer: Time,
    /// When an arrival finds space in the buffer.
    room: Room,
    /// Whether packets are marked.
    ecn: bool,
    /// What the policy needs.
    needs: Needs,
    /// Serial numbers of the packets that the policy named last.
    // Boxed: the gate is smaller, and few policies ever name victims.
    #[allow(clippy::box_collection)]
    victims: Box<Vec<u64>>,
    /// Counts since the last reset.
    pub counters: Counters,
    /// The policy's random numbers.
    random: Generator,
}

impl Gate {
    /// A gate for `policy` under `limit`; with `ecn`, signals mark ECN-capable packets.
    pub fn new(policy: Box<dyn Policy>, limit: Limit, ecn: bool, random: Generator) -> Self {
        let (room, needs) = (policy.room(limit), policy.needs());
        let (policy, last_offer, counters) = (Held::new(policy), Time::ZERO, Counters::default());
        Gate { policy, last_offer, room, ecn, needs, counters, victims: Box::default(), random }
    }

    /// What the policy needs.
    pub fn needs(&self) -> Needs {
        self.needs
    }

    /// When an arrival finds room.
    pub fn room(&self) -> Room {
        self.room
    }

    /// Decides over `packet`, which arrives at `queue` at `now`, and counts it.
    ///
    /// An arrival that is dropped at an idle link leaves the link idle. The policy has decayed its average for that
    /// time, so for the next arrival the idle time starts at this one.
    // What is passed by reference to a function that is not inlined lies in memory from the start. So the usual path
    // passes no packet, view or context on; the other paths get copies.
    #[inline(always)]
    pub fn offer(&mut self, packet: &mut Packet, mut queue: QueueView<'_>, now: Time) -> Fate {
        self.counters.arrivals += 1;
        self.counters.arrived_bytes += u64::from(packet.size);
        self.forget_victims();
        queue.idle_since = queue.idle_since.map(|since| since.max(self.last_offer));
        self.last_offer = now;
        let has_room = self.room.admits(packet, queue.packets, queue.bytes);
        let mut cx = Context { now, ecn: self.ecn, has_room, random: &mut self.random, victims: &mut self.victims };
        let verdict = self.policy.on_enqueue(packet, &queue, &mut cx);
        if has_room && matches!(verdict, Verdict::Pass) {
            return Fate::Admitted;
        }
        let mut copy = *packet;
        let fate = self.settle(verdict, has_room, &mut copy, queue, now);
        packet.ecn = copy.ecn;
        fate
    }

    /// The rest of [`Gate::offer`] where `packet` does not simply join the queue.
    #[inline(never)]
    fn settle(
        &mut self,
        mut verdict: Verdict,
        has_room: bool,
        packet: &mut Packet,
        queue: QueueView<'_>,
        now: Time,
    ) -> Fate {
        if !has_room && !matches!(verdict, Verdict::Victims { .. }) {
            let mut cx = Context { now, ecn: self.ecn, has_room, random: &mut self.random, victims: &mut self.victims };
            verdict = self.policy.get_mut().on_overflow(verdict, packet, &queue, &mut cx);
        }
        self.carry_out(verdict, packet)
    }

    /// The victims of the last fate have been removed or marked; the new fate of `packet`. If it does not fit, the
    /// policy may name more victims; if no packet was `removed` since its last call, the arrival is dropped.
    pub fn offer_again(&mut self, packet: &mut Packet, queue: &QueueView<'_>, now: Time, removed: bool) -> Fate {
        if self.room.admits(packet, queue.packets, queue.bytes) {
            return Fate::Admitted;
        }
        let verdict = if removed {
            self.victims.clear();
            let mut cx =
                Context { now, ecn: self.ecn, has_room: false, random: &mut self.random, victims: &mut self.victims };
            self.policy.get_mut().on_overflow(Verdict::Pass, packet, queue, &mut cx)
        } else {
            Verdict::Drop(Reason::Overflow)
        };
        self.carry_out(verdict, packet)
    }

    fn carry_out(&mut self, verdict: Verdict, packet: &mut Packet) -> Fate {
        match verdict {
            Verdict::Pass => Fate::Admitted,
            Verdict::Signal(reason) => {
                if self.mark(packet) {
                    Fate::Admitted
                } else {
                    self.counters.drop(reason);
                    Fate::Dropped(reason)
                }
            }
            Verdict::Mark => {
                self.mark(packet);
                Fate::Admitted
            }
            Verdict::Drop(reason) => {
                self.counters.drop(reason);
                Fate::Dropped(reason)
            }
            Verdict::Victims { reason, with_arrival, signal } => {
                if with_arrival {
                    self.counters.drop(reason);
                }
                Fate::Victims { reason, with_arrival, signal }
            }
        }
    }

    /// Skips policies that never look at the queue, so name no victims: that spares a cache line.
    #[inline]
    fn forget_victims(&mut self) {
        if self.needs.contents {
            self.victims.clear();
        }
    }

    /// Serial numbers of the packets of the last [`Fate::Victims`].
    pub fn victims(&self) -> &[u64] {
        &self.victims
    }

    /// [`Counters::mark`] with this gate's `ecn`; true if it marked `packet`.
    #[inline]
    pub fn mark(&mut self, packet: &mut Packet) -> bool {
        self.counters.mark(packet, self.ecn)
    }

    /// Tells the policy that `packet` was admitted.
    pub fn admitted(&mut self, packet: &Packet, serial: u64) {
        if self.needs.contents {
            self.policy.get_mut().on_admitted(packet, serial);
        }
    }

    /// The policy's verdict on `packet`, which the link has dequeued, or on an empty queue.
    pub fn dequeued(&mut self, packet: Option<&Packet>, queue: &QueueView<'_>, now: Time) -> Verdict {
        self.forget_victims();
        let mut cx =
            Context { now, ecn: self.ecn, has_room: true, random: &mut self.random, victims: &mut self.victims };
        self.policy.get_mut().on_dequeue(packet, queue, &mut cx)
    }

    /// Goes on with `next`, the same policy with other parameters, from the present policy's state; false, and no
    /// change, if it cannot.
    pub fn change(&mut self, mut next: Box<dyn Policy>) -> bool {
        let present = self.policy.get();
        let can = next.needs() == self.needs && next.resume(present) && next.next_timer() == present.next_timer();
        if can {
            self.policy = Held::new(next);
        }
        can
    }

    /// Whether departures follow from arrivals alone: the policy decides nothing at dequeue, nor on queued packets.
    pub fn decides_at_arrivals(&self) -> bool {
        !self.needs.contents && (!self.needs.dequeue || self.policy.get().only_observes_departures())
    }

    /// When [`Gate::timer`] must be called next.
    pub fn next_timer(&self) -> Option<Time> {
        self.policy.get().next_timer()
    }

    /// Runs the policy's timer. The idle time starts at the last arrival dropped at an idle link, as in
    /// [`Gate::offer`].
    pub fn timer(&mut self, queue: &QueueView<'_>, now: Time) {
        let idle_since = queue.idle_since.map(|since| since.max(self.last_offer));
        let queue = &QueueView { idle_since, ..*queue };
        let mut cx =
            Context { now, ecn: self.ecn, has_room: true, random: &mut self.random, victims: &mut self.victims };
        self.policy.get_mut().on_timer(queue, &mut cx);
    }

    /// Runs all timers before `until`, see [`Policy::on_timers`].
    pub fn timers(&mut self, queue: &QueueView<'_>, until: Time) -> Option<(u64, Time)> {
        let idle_since = queue.idle_since.map(|since| since.max(self.last_offer));
        let queue = &QueueView { idle_since, ..*queue };
        let (ecn, now) = (self.ecn, Time::ZERO);
        let mut cx = Context { now, ecn, has_room: true, random: &mut self.random, victims: &mut self.victims };
        self.policy.get_mut().on_timers(queue, until, &mut cx)
    }

    /// The policy's averaged queue, packets.
    #[inline(always)]
    pub fn average(&self) -> Option<f64> {
        self.policy.average()
    }

    /// Where the policy's state lies: its first byte and its length in bytes.
    pub fn memory(&self, out: &mut dyn FnMut(*const u8, usize)) {
        let policy = self.policy.get();
        out(std::ptr::from_ref(policy).cast(), size_of_val(policy));
    }

    /// The policy's inner values.
    pub fn gauges(&self, out: &mut dyn FnMut(&'static str, f64)) {
        self.policy.get().gauges(out);
    }
}
