//! Disciplines: what stands at a link and owns the packets that wait for it.

use crate::gate::{Counters, Fate, Gate};
use crate::policy::{QueueView, Reason, Verdict};
use crate::ring::Ring;
use crate::{Packet, Time};

/// Told of every packet that dies in a queue, so that the driver can free or trace it.
pub type OnDrop<'a> = dyn FnMut(&Packet, Reason) + 'a;

/// One or more queues in front of a link. The plain FIFO with a policy is one; FQ-CoDel, DRR, DualPI2 own several.
pub trait Discipline: Send {
    /// `packet` arrives. Every packet that is dropped, this one or another, is reported to `on_drop`.
    fn enqueue(&mut self, packet: Packet, now: Time, on_drop: &mut OnDrop<'_>) -> Option<Ecnmarked>;

    /// The link is free and asks for a packet.
    fn dequeue(&mut self, now: Time, on_drop: &mut OnDrop<'_>) -> Option<Packet>;

    /// Packets waiting.
    fn packets(&self) -> u64;

    /// Bytes waiting.
    fn bytes(&self) -> u64;

    /// What happened so far.
    fn counters(&self) -> &Counters;

    /// Starts counting anew.
    fn reset_counters(&mut self);

    /// Whether [`Discipline::dequeue`] must be called at the end of every transmission, even if nothing waits. A plain
    /// FIFO without dequeue logic can be told later that its link has been idle.
    fn watches_departures(&self) -> bool {
        true
    }

    /// When [`Discipline::on_timer`] must run next.
    fn next_timer(&self) -> Option<Time> {
        None
    }

    /// The time named by [`Discipline::next_timer`] has come.
    fn on_timer(&mut self, _now: Time) {}

    /// The averaged queue in packets, where there is one.
    fn average(&self) -> Option<f64> {
        None
    }

    /// Named inner values.
    fn gauges(&self, _out: &mut dyn FnMut(&'static str, f64)) {}
}

/// The arrival was admitted; whether it was marked on the way in.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Ecnmarked(pub bool);

/// A FIFO with a policy.
pub struct Fifo {
    gate: Gate,
    ring: Ring,
    idle_since: Option<Time>,
}

impl Fifo {
    /// An empty FIFO whose link has been idle since time zero.
    pub fn new(gate: Gate) -> Self {
        Fifo { gate, ring: Ring::new(), idle_since: Some(Time::ZERO) }
    }
}

impl Discipline for Fifo {
    fn enqueue(&mut self, mut packet: Packet, now: Time, on_drop: &mut OnDrop<'_>) -> Option<Ecnmarked> {
        let before = packet.ecn;
        let contents = self.gate.needs().contents.then_some(&self.ring);
        let view =
            QueueView { packets: self.ring.packets(), bytes: self.ring.bytes(), idle_since: self.idle_since, contents };
        let fate = self.gate.offer(&mut packet, &view, now);
        self.idle_since = None;
        let mut arrival_dropped = None;
        match fate {
            Fate::Admitted => {}
            Fate::Dropped(reason) => arrival_dropped = Some(reason),
            Fate::Victims { reason, with_arrival, signal } => {
                if with_arrival {
                    arrival_dropped = Some(reason);
                }
                let victims: Vec<u64> = self.gate.victims().to_vec();
                for serial in victims {
                    let marked = signal && self.ring.get_mut(serial).is_some_and(|victim| self.gate.mark(victim));
                    if marked {
                        continue;
                    }
                    if let Some(victim) = self.ring.remove(serial) {
                        self.gate.counters.drop(reason);
                        on_drop(&victim, reason);
                    }
                }
            }
        }
        if let Some(reason) = arrival_dropped {
            on_drop(&packet, reason);
            return None;
        }
        packet.enqueued = now;
        let serial = self.ring.push(packet);
        self.gate.admitted(&packet, serial);
        Some(Ecnmarked(packet.ecn != before))
    }

    fn dequeue(&mut self, now: Time, on_drop: &mut OnDrop<'_>) -> Option<Packet> {
        loop {
            let packet = self.ring.pop();
            if packet.is_none() {
                self.idle_since = Some(now);
            }
            if self.gate.needs().dequeue {
                let contents = self.gate.needs().contents.then_some(&self.ring);
                let view = QueueView {
                    packets: self.ring.packets(),
                    bytes: self.ring.bytes(),
                    idle_since: self.idle_since,
                    contents,
                };
                let verdict = self.gate.dequeued(packet.as_ref(), &view, now);
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

    fn watches_departures(&self) -> bool {
        self.gate.needs().dequeue
    }

    fn next_timer(&self) -> Option<Time> {
        self.gate.next_timer()
    }

    fn on_timer(&mut self, now: Time) {
        let contents = self.gate.needs().contents.then_some(&self.ring);
        let view =
            QueueView { packets: self.ring.packets(), bytes: self.ring.bytes(), idle_since: self.idle_since, contents };
        self.gate.timer(&view, now);
    }

    fn average(&self) -> Option<f64> {
        self.gate.average()
    }

    fn gauges(&self, out: &mut dyn FnMut(&'static str, f64)) {
        self.gate.gauges(out);
    }
}
