//! The interface of a policy: what it sees, and its verdicts.

use crate::random::Generator;
use crate::ring::Ring;
use crate::{Packet, Time};
use std::any::Any;

/// Why a packet was dropped or marked.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Reason {
    /// By chance, with a probability below 1.
    Early,
    /// For certain, by the policy: the average above its upper threshold, an unresponsive flow.
    Forced,
    /// The buffer was full.
    Overflow,
}

/// A policy's answer. `Signal` is not `Drop`: the policy says "tell the sender", and the port marks the packet if
/// ECN is on and the packet is ECN-capable, else drops it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Verdict {
    /// The packet passes.
    Pass,
    /// Mark the packet if possible, else drop it.
    Signal(Reason),
    /// Mark the packet if possible, else let it pass (REM's marking at dequeue).
    Mark,
    /// Drop the packet.
    Drop(Reason),
    /// Act on the queued packets whose serial numbers the policy put into [`Context::victims`]: CHOKe's match,
    /// DDRED's nearest source, drop-front.
    Victims {
        /// Reason to count the victims under.
        reason: Reason,
        /// The arrival is dropped too (CHOKe).
        with_arrival: bool,
        /// Mark the victims if possible instead of dropping them.
        signal: bool,
    },
}

/// The hard bound of a queue, as the user gave it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Limit {
    /// At most so many packets.
    Packets(u64),
    /// At most so many bytes.
    Bytes(u64),
}

/// When an arrival fits into the buffer. Programs differ here by one packet, so the rule is data.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Room {
    /// The arrival fits while fewer packets than this wait.
    PacketsBelow(u64),
    /// The arrival fits while the waiting bytes and its own are at most this.
    BytesWithArrivalUpTo(u64),
    /// The arrival fits while the waiting bytes and its own are fewer than this.
    BytesWithArrivalBelow(u64),
    /// The arrival fits while the waiting bytes, without its own, are fewer than this.
    BytesBelow(u64),
}

impl Room {
    /// The plain rule: a limit of N holds N packets or bytes.
    pub fn holding(limit: Limit) -> Self {
        match limit {
            Limit::Packets(n) => Room::PacketsBelow(n),
            Limit::Bytes(n) => Room::BytesWithArrivalUpTo(n),
        }
    }

    /// The most bytes that can wait, if no packet is larger than `largest`.
    pub fn most_bytes(self, largest: u32) -> u64 {
        match self {
            Room::PacketsBelow(n) => n.saturating_mul(u64::from(largest)),
            Room::BytesWithArrivalUpTo(n) | Room::BytesWithArrivalBelow(n) => n,
            Room::BytesBelow(n) => n.saturating_add(u64::from(largest)),
        }
    }

    /// Whether `packet` fits into a queue in which `packets` and `bytes` wait.
    #[inline]
    pub fn admits(self, packet: &Packet, packets: u64, bytes: u64) -> bool {
        match self {
            Room::PacketsBelow(n) => packets < n,
            _ => self.admits_bytes(packet.size, bytes),
        }
    }

    #[inline(never)]
    fn admits_bytes(self, size: u32, bytes: u64) -> bool {
        match self {
            Room::PacketsBelow(_) => true,
            Room::BytesWithArrivalUpTo(n) => bytes + u64::from(size) <= n,
            Room::BytesWithArrivalBelow(n) => bytes + u64::from(size) < n,
            Room::BytesBelow(n) => bytes < n,
        }
    }
}

/// The queue an arrival finds: without the arrival, and without the packet in transmission.
#[derive(Clone, Copy)]
pub struct QueueView<'a> {
    /// Packets waiting.
    pub packets: u64,
    /// Bytes waiting.
    pub bytes: u64,
    /// When the link became idle: the time of the dequeue that found no packet; `None` while it is busy.
    pub idle_since: Option<Time>,
    /// The packets waiting, for policies that declare [`Needs::contents`].
    pub contents: Option<&'a Ring>,
}

/// What a policy is given besides the packet and the queue.
pub struct Context<'a> {
    /// The present time.
    pub now: Time,
    /// Whether marking is on.
    pub ecn: bool,
    /// Whether the arrival fits into the buffer. PIE, PI and REM must not draw or count for one that does not fit; RED
    /// ignores this. True if there is no arrival.
    pub has_room: bool,
    /// The policy's own random numbers.
    pub random: &'a mut Generator,
    /// Serial numbers of queued packets to act on, see [`Verdict::Victims`].
    pub victims: &'a mut Vec<u64>,
}

impl Context<'_> {
    /// Whether a signal on `packet` would be a mark.
    pub fn can_mark(&self, packet: &Packet) -> bool {
        self.ecn && packet.ecn.is_capable()
    }
}

/// What a policy needs from its queue. A policy that decides at enqueue and never touches queued packets needs
/// nothing, and the simulator may then compute departures without events.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Default)]
pub struct Needs {
    /// [`Policy::on_dequeue`] must be called, at the moment the link takes a packet or finds none.
    pub dequeue: bool,
    /// [`QueueView::contents`] must be there, and [`Policy::on_admitted`] must be called.
    pub contents: bool,
}

/// The policy of one FIFO. It sees and decides; it never stores packets, reads a clock or draws from a global source.
pub trait Policy: Any + Send {
    /// What the policy needs; constant over its life.
    fn needs(&self) -> Needs {
        Needs::default()
    }

    /// When an arrival fits under `limit`.
    fn room(&self, limit: Limit) -> Room {
        Room::holding(limit)
    }

    /// `packet` arrives at `queue`, which does not hold it yet.
    fn on_enqueue(&mut self, packet: &Packet, queue: &QueueView<'_>, cx: &mut Context<'_>) -> Verdict;

    /// The buffer is full for `packet`; `earlier` is the verdict of [`Policy::on_enqueue`] on it, or [`Verdict::Pass`]
    /// after victims that freed too few bytes. The answer is a drop, or victims; while they free too few bytes, this is
    /// called again.
    fn on_overflow(
        &mut self,
        earlier: Verdict,
        packet: &Packet,
        _queue: &QueueView<'_>,
        cx: &mut Context<'_>,
    ) -> Verdict {
        match earlier {
            Verdict::Drop(_) => earlier,
            // The packet would have been dropped before the limit is tested.
            Verdict::Signal(reason) if !cx.can_mark(packet) => Verdict::Drop(reason),
            _ => Verdict::Drop(Reason::Overflow),
        }
    }

    /// `packet` was admitted under the serial number `serial` (only with [`Needs::contents`]).
    fn on_admitted(&mut self, _packet: &Packet, _serial: u64) {}

    /// The link dequeues: `packet` has just left the head of `queue`, or is `None` if there was none, which
    /// starts an idle period (only with [`Needs::dequeue`]). Its sojourn time is `cx.now - packet.enqueued`.
    ///
    /// After a verdict that drops the packet, this is called again at the same instant, with the next packet or none: a
    /// scheme that drops several packets in one dequeue (CoDel) can rely on it. There are no victims here:
    /// [`Verdict::Victims`] means [`Verdict::Pass`].
    fn on_dequeue(&mut self, _packet: Option<&Packet>, _queue: &QueueView<'_>, _cx: &mut Context<'_>) -> Verdict {
        Verdict::Pass
    }

    /// Whether [`Policy::on_dequeue`] only observes: its verdict is always to pass, it reads nothing of a packet but size
    /// and arrival, and it ignores an empty queue. The simulator may then compute departures without events.
    fn only_observes_departures(&self) -> bool {
        false
    }

    /// When [`Policy::on_timer`] must run next; called after each timer and at the start.
    fn next_timer(&self) -> Option<Time> {
        None
    }

    /// The timer of [`Policy::next_timer`] has expired.
    fn on_timer(&mut self, _queue: &QueueView<'_>, _cx: &mut Context<'_>) {}

    /// Runs the timers due before `until`, while nothing arrives or leaves, as [`Policy::on_timer`] one after the other
    /// would; a policy can have a faster way to the same bits. Returns their number and the time of the last; `None` if
    /// none is due.
    fn on_timers(&mut self, queue: &QueueView<'_>, until: Time, cx: &mut Context<'_>) -> Option<(u64, Time)> {
        let mut ran = None;
        while let Some(next) = self.next_timer().filter(|&next| next < until) {
            cx.now = next;
            self.on_timer(queue, cx);
            ran = Some((ran.map_or(1, |(count, _)| count + 1), next));
        }
        ran
    }

    /// The averaged queue in packets, where the policy keeps one.
    fn average(&self) -> Option<f64> {
        None
    }

    /// Calls `out` with the name and value of each gauge, for traces and plots: `avg`, `p_b`, `count`.
    fn gauges(&self, _out: &mut dyn FnMut(&'static str, f64)) {}

    /// Takes over the state of `before`, the same policy with other parameters, and its pending timer; false if it
    /// cannot. By default no parameter can change while the policy runs.
    fn resume(&mut self, _before: &dyn Any) -> bool {
        false
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn room_ends_at_a_byte() {
        let admits = |room: Room| [998, 999, 1000, 1001, 1500].map(|bytes| room.admits_bytes(500, bytes));
        assert_eq!(admits(Room::BytesWithArrivalUpTo(1500)), [true, true, true, false, false]);
        assert_eq!(admits(Room::BytesWithArrivalBelow(1500)), [true, true, false, false, false]);
        assert_eq!(admits(Room::BytesBelow(1000)), [true, true, false, false, false]);
        assert_eq!(admits(Room::PacketsBelow(0)), [true; 5]);
    }
}
