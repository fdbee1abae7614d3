//! Disciplines: the queues in front of a link, which own the packets that wait for it.

use crate::gate::{Counters, Fate, Gate};
use crate::header::Header;
use crate::policy::{Limit, Policy, QueueView, Reason, Room, Verdict};
use crate::random::Generator;
use crate::ring::Ring;
use crate::{Packet, Time};

/// Called for every packet that a queue drops, so that the driver can free or trace it.
pub type OnDrop<'a> = dyn FnMut(&Packet, Reason) + 'a;

/// One or more queues in front of a link: a plain FIFO with a policy is one; FQ-CoDel, DRR, DualPI2 own several.
pub trait Discipline: Send {
    /// The discipline that this one holds and only adds to: it answers for what this one does not say of itself
    /// (whether it reads headers, when it must be called, what it shows).
    fn inside(&self) -> Option<&dyn Discipline> {
        None
    }

    /// `packet` arrives at `now`, never earlier than any call before. It joins by [`Packet::admit`]. Every packet that
    /// is dropped, `packet` or another, is reported to `on_drop`; the result is `None` if it was `packet`. If the link
    /// is idle, the driver calls [`Discipline::dequeue`] right after, also when the arrival was dropped.
    fn enqueue(&mut self, packet: Packet, now: Time, on_drop: &mut OnDrop<'_>) -> Option<Admitted>;

    /// The link is ready to transmit at `now`: the next packet, perhaps marked (its ECN field). `None` starts an idle
    /// period, or a wait for [`Discipline::held_until`]. Packets that the discipline drops meanwhile are reported to
    /// `on_drop`.
    fn dequeue(&mut self, now: Time, on_drop: &mut OnDrop<'_>) -> Option<Packet>;

    /// If [`Discipline::dequeue`] gave nothing as a shaper holds what waits: the time at which the driver must call it
    /// again. An arrival that may leave earlier makes this `None`, and the driver calls it right after the arrival.
    fn held_until(&self) -> Option<Time> {
        self.inside()?.held_until()
    }

    /// Whether arrivals must come with their headers, by [`Discipline::enqueue_with`].
    fn reads_headers(&self) -> bool {
        self.inside().is_some_and(|inside| inside.reads_headers())
    }

    /// [`Discipline::enqueue`] of a packet whose header the driver knows.
    fn enqueue_with(
        &mut self,
        packet: Packet,
        _header: &Header,
        now: Time,
        on_drop: &mut OnDrop<'_>,
    ) -> Option<Admitted> {
        self.enqueue(packet, now, on_drop)
    }

    /// Whether a packet that arrives with `class` leaves with DSCP 0. A driver that has the packet's bytes clears it there.
    fn washes(&self, class: u8) -> bool {
        self.inside().is_some_and(|inside| inside.washes(class))
    }

    /// Packets waiting.
    fn packets(&self) -> u64;

    /// Bytes waiting.
    fn bytes(&self) -> u64;

    /// What happened so far.
    fn counters(&self) -> &Counters;

    /// Sets all counters to zero, at the start of the measured window. Packets stay.
    fn reset_counters(&mut self);

    /// Whether [`Discipline::dequeue`] must be called at the end of every transmission, even if nothing waits. A FIFO
    /// whose policy decides at enqueue only learns of the idle period early enough at the next arrival.
    fn watches_departures(&self) -> bool {
        self.inside().is_none_or(|inside| inside.watches_departures())
    }

    /// When [`Discipline::on_timer`] must run next.
    fn next_timer(&self) -> Option<Time> {
        self.inside()?.next_timer()
    }

    /// The timer of [`Discipline::next_timer`] has expired.
    fn on_timer(&mut self, _now: Time) {}

    /// Runs all timers before `until`, while nothing arrives or leaves: how many ran and the time of the last; `None`
    /// if none is due.
    fn on_timers(&mut self, until: Time) -> Option<(u64, Time)> {
        let mut ran = None;
        while let Some(next) = self.next_timer().filter(|&next| next < until) {
            self.on_timer(next);
            ran = Some((ran.map_or(1, |(count, _)| count + 1), next));
        }
        ran
    }

    /// The averaged queue in packets, where there is one.
    fn average(&self) -> Option<f64> {
        self.inside()?.average()
    }

    /// Calls `out` with the name and value of each gauge.
    fn gauges(&self, out: &mut dyn FnMut(&'static str, f64)) {
        if let Some(inside) = self.inside() {
            inside.gauges(out);
        }
    }

    /// Calls `out` with each packet that waits and the number of the queue that it is in, the oldest of a queue first: 0
    /// where there is one queue. A number stays with its queue while packets wait there.
    fn waiting(&self, out: &mut dyn FnMut(usize, &Packet)) {
        if let Some(inside) = self.inside() {
            inside.waiting(out);
        }
    }

    /// Statistics of groups of queues, as `tc -s qdisc` shows them, over the window of the counters: number of the
    /// group, name, value.
    fn groups(&self, out: &mut dyn FnMut(usize, &'static str, f64)) {
        if let Some(inside) = self.inside() {
            inside.groups(out);
        }
    }

    /// Statistics of a parent and its child, as `tc -s qdisc` shows them, over the window of the counters: number of
    /// the class (`None` for the whole), name, value.
    fn parent(&self, _out: &mut dyn FnMut(Option<usize>, &'static str, f64)) {}

    /// The names of its bands, where it has several: queues that differ in the packets they take and in how they are
    /// served, such as DualPI2's L and C. Queues of flows are none.
    fn bands(&self) -> &'static [&'static str] {
        self.inside().map_or(&[], |inside| inside.bands())
    }

    /// The band that an arrival like `packet`, with its DSCP, joins: its place in [`Discipline::bands`].
    fn band_of(&self, packet: &Packet, dscp: u8) -> usize {
        self.inside().map_or(0, |inside| inside.band_of(packet, dscp))
    }

    /// Takes over the parameters of `built`, the same discipline, and keeps its own packets and state; false, and no
    /// change, if it cannot. By default no parameter can change while the discipline runs.
    fn change(&mut self, _built: Built) -> bool {
        false
    }

    /// Memory outside the struct itself that the next arrival (`leaving`: the next departure) touches: first byte and
    /// length in bytes. A driver of thousands of queues prefetches it.
    fn memory(&self, _leaving: bool, _out: &mut dyn FnMut(*const u8, usize)) {}
}

/// The arrival was admitted; whether it was marked (CE) on the way in.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Admitted(pub bool);

/// A FIFO with a policy. In a network of thousands of queues few are in the cache: a `Fifo` lies in four cache lines,
/// of which most packets need three.
#[repr(C, align(64))]
pub struct Fifo {
    /// The packets that wait.
    ring: Ring,
    /// When the link became idle; `None` while it is busy.
    idle_since: Option<Time>,
    /// Policy, limit, ECN and counters.
    gate: Gate,
}

/// Packets that a new FIFO has memory for, unless its limit is lower. The memory lies right behind the FIFO, on the
/// same page.
const FIRST_PACKETS: u64 = 64;

impl Fifo {
    /// An empty FIFO whose link has been idle since time zero.
    pub fn new(gate: Gate) -> Self {
        let most = match gate.room() {
            Room::PacketsBelow(packets) => packets.min(FIRST_PACKETS),
            _ => FIRST_PACKETS,
        };
        Fifo { ring: Ring::with_room(most as usize), idle_since: Some(Time::ZERO), gate }
    }

    /// The gate.
    pub fn gate(&self) -> &Gate {
        &self.gate
    }

    /// The gate, without the packets.
    pub fn into_gate(self) -> Gate {
        self.gate
    }

    /// Whether [`Fifo::pass`] may be called: the policy neither acts at departures nor looks at queued packets.
    #[inline]
    pub fn may_pass(&self) -> bool {
        let needs = self.gate.needs();
        !needs.dequeue && !needs.contents
    }

    /// `packet` arrives at `now` at an idle link, and leaves at once unless it is dropped: [`Discipline::enqueue`] and
    /// [`Discipline::dequeue`] in one, without moving it into the ring and out again.
    #[inline]
    pub fn pass(&mut self, mut packet: Packet, now: Time, on_drop: &mut OnDrop<'_>) -> Option<Packet> {
        debug_assert!(self.may_pass() && self.ring.packets() == 0 && self.idle_since.is_some());
        let queue = QueueView { packets: 0, bytes: 0, idle_since: self.idle_since, contents: None };
        match self.gate.offer(&mut packet, queue, now) {
            Fate::Admitted => {}
            Fate::Dropped(reason) | Fate::Victims { reason, .. } => {
                on_drop(&packet, reason);
                return None;
            }
        }
        self.idle_since = None;
        packet.admit(now);
        self.gate.counters.depart(&packet);
        Some(packet)
    }

    /// Drops the packets that the policy named; with `signal`, marks those that can be marked instead. True if any was
    /// dropped.
    fn strike(&mut self, reason: Reason, signal: bool, on_drop: &mut OnDrop<'_>) -> bool {
        let mut removed = false;
        for i in 0..self.gate.victims().len() {
            let serial = self.gate.victims()[i];
            if signal && self.ring.get_mut(serial).is_some_and(|victim| self.gate.mark(victim)) {
                continue;
            }
            if let Some(victim) = self.ring.remove(serial) {
                self.gate.counters.drop(reason);
                on_drop(&victim, reason);
                removed = true;
            }
        }
        removed
    }
}

#[inline]
fn view<'a>(gate: &Gate, ring: &'a Ring, idle_since: Option<Time>) -> QueueView<'a> {
    let contents = gate.needs().contents.then_some(ring);
    QueueView { packets: ring.packets(), bytes: ring.bytes(), idle_since, contents }
}

impl Discipline for Fifo {
    #[inline]
    fn enqueue(&mut self, mut packet: Packet, now: Time, on_drop: &mut OnDrop<'_>) -> Option<Admitted> {
        let before = packet.ecn;
        let mut fate = self.gate.offer(&mut packet, view(&self.gate, &self.ring, self.idle_since), now);
        let reason = loop {
            match fate {
                Fate::Admitted => break None,
                Fate::Dropped(reason) => break Some(reason),
                Fate::Victims { reason, with_arrival, signal } => {
                    let removed = self.strike(reason, signal, on_drop);
                    if with_arrival {
                        break Some(reason);
                    }
                    let queue = view(&self.gate, &self.ring, self.idle_since);
                    fate = self.gate.offer_again(&mut packet, &queue, now, removed);
                }
            }
        };
        if let Some(reason) = reason {
            on_drop(&packet, reason);
            return None;
        }
        self.idle_since = None;
        packet.admit(now);
        let serial = self.ring.push(packet);
        self.gate.admitted(&packet, serial);
        Some(Admitted(packet.ecn != before))
    }

    #[inline]
    fn dequeue(&mut self, now: Time, on_drop: &mut OnDrop<'_>) -> Option<Packet> {
        loop {
            let packet = self.ring.pop();
            if packet.is_none() {
                self.idle_since.get_or_insert(now);
            }
            if self.gate.needs().dequeue {
                let queue = view(&self.gate, &self.ring, self.idle_since);
                let verdict = self.gate.dequeued(packet.as_ref(), &queue, now);
                let mut packet = packet?;
                let dropped = match verdict {
                    Verdict::Pass | Verdict::Victims { .. } => None,
                    Verdict::Mark => {
                        self.gate.mark(&mut packet);
                        None
                    }
                    Verdict::Signal(reason) => (!self.gate.mark(&mut packet)).then_some(reason),
                    Verdict::Drop(reason) => Some(reason),
                };
                if let Some(reason) = dropped {
                    self.gate.counters.drop(reason);
                    on_drop(&packet, reason);
                    continue;
                }
                self.gate.counters.depart(&packet);
                return Some(packet);
            }
            let packet = packet?;
            self.gate.counters.depart(&packet);
            return Some(packet);
        }
    }

    #[inline]
    fn packets(&self) -> u64 {
        self.ring.packets()
    }

    fn bytes(&self) -> u64 {
        self.ring.bytes()
    }

    fn counters(&self) -> &Counters {
        &self.gate.counters
    }

    fn reset_counters(&mut self) {
        self.gate.counters = Counters::default();
    }

    #[inline]
    fn watches_departures(&self) -> bool {
        self.gate.needs().dequeue
    }

    fn next_timer(&self) -> Option<Time> {
        self.gate.next_timer()
    }

    fn on_timer(&mut self, now: Time) {
        let queue = view(&self.gate, &self.ring, self.idle_since);
        self.gate.timer(&queue, now);
    }

    fn on_timers(&mut self, until: Time) -> Option<(u64, Time)> {
        let queue = view(&self.gate, &self.ring, self.idle_since);
        self.gate.timers(&queue, until)
    }

    #[inline]
    fn average(&self) -> Option<f64> {
        self.gate.average()
    }

    fn gauges(&self, out: &mut dyn FnMut(&'static str, f64)) {
        self.gate.gauges(out);
    }

    fn waiting(&self, out: &mut dyn FnMut(usize, &Packet)) {
        self.ring.iter().for_each(|(_, packet)| out(0, packet));
    }

    fn change(&mut self, built: Built) -> bool {
        match built {
            Built::Policy(policy) => self.gate.change(policy),
            Built::Discipline(_) => false,
        }
    }

    fn memory(&self, leaving: bool, out: &mut dyn FnMut(*const u8, usize)) {
        if !leaving || self.gate.needs().dequeue {
            self.gate.memory(out);
        }
        self.ring.memory(leaving, out);
    }
}

/// A discipline ready to run.
pub enum Built {
    /// A policy for one FIFO.
    Policy(Box<dyn Policy>),
    /// A function that makes a discipline with queues of its own, for a limit already given: whether to mark (ECN), and
    /// its random numbers.
    Discipline(Box<dyn FnOnce(bool, Generator) -> Box<dyn Discipline>>),
}

impl Built {
    /// The queue itself: with the `limit` it was built for, these random numbers, and `ecn`: whether it marks instead
    /// of dropping where the packet allows it.
    pub fn queue(self, limit: Limit, ecn: bool, random: Generator) -> Box<dyn Discipline> {
        match self {
            Built::Policy(policy) => Box::new(Fifo::new(Gate::new(policy, limit, ecn, random))),
            Built::Discipline(make) => make(ecn, random),
        }
    }
}
