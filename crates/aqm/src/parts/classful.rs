//! What disciplines that only schedule and drop packets share: counters, and the interface to the link.

use crate::discipline::{Admitted, OnDrop};
use crate::gate::Counters;
use crate::parts::class_fifos::ClassFifos;
use crate::parts::class_weights::{class_of, NAMES};
use crate::policy::Reason;
use crate::{Discipline, Packet, Time};

/// Where arrivals go, and which packet is next. Packets are dropped only when the buffer is full.
pub trait Schedule: Send {
    /// `packet` arrives, its time of admission set to `now`; true if it stays. Every dropped packet, `packet` or
    /// another, is reported to `dropped`.
    fn arrive(&mut self, packet: Packet, now: Time, dropped: &mut dyn FnMut(&Packet)) -> bool;

    /// The next packet for the link.
    fn take(&mut self, now: Time, dropped: &mut dyn FnMut(&Packet)) -> Option<Packet>;

    /// The packets that wait.
    fn fifos(&self) -> &ClassFifos;

    /// Packets waiting.
    fn packets(&self) -> u64 {
        self.fifos().packets()
    }

    /// Bytes waiting.
    fn bytes(&self) -> u64 {
        self.fifos().bytes()
    }

    /// Whether [`Schedule::take`] must be called at the end of every transmission, even if nothing waits.
    fn watches_departures(&self) -> bool {
        false
    }

    /// Whether it has a queue for each class of the packets.
    fn is_by_class(&self) -> bool {
        false
    }

    /// Calls `out` with the name and value of each gauge.
    fn gauges(&self, _out: &mut dyn FnMut(&'static str, f64)) {}
}

/// A discipline that is a schedule and nothing else.
pub struct Classful<S> {
    /// The queues.
    schedule: S,
    /// Counts since the last reset.
    counters: Counters,
}

impl<S: Schedule> Classful<S> {
    /// The discipline that `schedule` makes.
    pub fn new(schedule: S) -> Self {
        Classful { schedule, counters: Counters::default() }
    }
}

impl<S: Schedule> Discipline for Classful<S> {
    fn enqueue(&mut self, mut packet: Packet, now: Time, on_drop: &mut OnDrop<'_>) -> Option<Admitted> {
        let counters = &mut self.counters;
        counters.arrivals += 1;
        counters.arrived_bytes += u64::from(packet.size);
        packet.admit(now);
        let admitted = self.schedule.arrive(packet, now, &mut |victim| {
            counters.drop(Reason::Overflow);
            on_drop(victim, Reason::Overflow);
        });
        admitted.then_some(Admitted(false))
    }

    fn dequeue(&mut self, now: Time, on_drop: &mut OnDrop<'_>) -> Option<Packet> {
        let counters = &mut self.counters;
        let packet = self.schedule.take(now, &mut |victim| {
            counters.drop(Reason::Overflow);
            on_drop(victim, Reason::Overflow);
        })?;
        self.counters.depart(&packet);
        Some(packet)
    }

    fn packets(&self) -> u64 {
        self.schedule.packets()
    }

    fn bytes(&self) -> u64 {
        self.schedule.bytes()
    }

    fn counters(&self) -> &Counters {
        &self.counters
    }

    fn reset_counters(&mut self) {
        self.counters = Counters::default();
    }

    fn watches_departures(&self) -> bool {
        self.schedule.watches_departures()
    }

    fn bands(&self) -> &'static [&'static str] {
        if self.schedule.is_by_class() {
            &NAMES
        } else {
            &[]
        }
    }

    fn band_of(&self, packet: &Packet, _dscp: u8) -> usize {
        class_of(packet)
    }

    fn gauges(&self, out: &mut dyn FnMut(&'static str, f64)) {
        self.schedule.gauges(out);
    }

    fn waiting(&self, out: &mut dyn FnMut(usize, &Packet)) {
        self.schedule.fifos().each(out);
    }
}
