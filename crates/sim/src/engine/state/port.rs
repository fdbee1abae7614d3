//! Ports: measured queues. Analytic and stepped ones keep the same statistics and call observers alike.

use super::link::Link;
use super::observer::{Observer, Watched, Who};
use super::order::Key;
use super::packets::unpacked;
use crate::engine::network::{PortKind, PortSpec};
use crate::fifo::Fifo;
use crate::measure::QueueStats;
use earlydrop_aqm::gate::{Counters, Gate};
use earlydrop_aqm::policy::{QueueView, Reason};
use earlydrop_aqm::{gate, Discipline, Packet, Time};
use earlydrop_net::record::Fate;
use earlydrop_net::{Segment, Wire};

/// A packet that waits at an analytic port; its start is known already.
#[derive(Clone, Copy, Default)]
struct Waiting {
    start: f64,
    /// When the end of transmission that starts it was scheduled.
    scheduled: f64,
    arrived: f64,
    flow: u32,
    seq: i32,
    size: u32,
}

/// The two ways to run a port.
enum Runner {
    /// Departures are computed at arrival.
    Analytic { gate: Box<Gate>, waiting: Box<WaitingQueue> },
    /// Arrivals and departures are events.
    Stepped {
        discipline: Box<dyn Discipline>,
        /// The end of the current transmission is in the event queue.
        end_pending: bool,
        /// The discipline has been notified that the link found it empty.
        idle: bool,
    },
}

/// Packets with their start times.
#[derive(Default)]
struct WaitingQueue {
    queue: Fifo<Waiting>,
    bytes: u64,
}

/// A queue with its statistics. The fields that every packet needs are in the first two cache lines.
#[repr(C, align(64))]
pub struct Port {
    runner: Runner,
    pub watch: Watched,
    pub link: u32,
    pub stats: QueueStats,
    pub queued_at_start: u64,
    pub name: String,
    pub aqm: String,
}

/// The decision of an analytic port on an arrival.
pub enum Answer {
    /// Dropped.
    Dropped,
    /// Accepted; its transmission starts at this time.
    Leaves { start: f64, marked: bool },
}

/// The decision of a stepped port on an arrival.
pub struct Taken {
    /// It was marked on admission.
    pub marked: bool,
    pub then: Then,
}

/// What the caller must do after an arrival at a stepped port.
pub enum Then {
    /// The link is ready: dequeue a packet.
    Dequeue,
    /// Schedule the end of the current transmission.
    End,
    Nothing,
}

/// A packet that departs from a stepped port.
pub struct Departure {
    pub segment: Segment,
    /// Lane of its next event.
    pub lane: u8,
    /// It was marked at its departure.
    pub marked: bool,
    /// Schedule the end of its transmission.
    pub wants_end: bool,
}

/// Packets that a stepped port drops in one call.
pub type Dropped = Vec<(Segment, Reason)>;

impl Port {
    pub fn new(spec: PortSpec, link: u32, analytic: bool) -> Port {
        let runner = match (spec.kind, analytic) {
            (PortKind::Fifo(fifo), true) => {
                Runner::Analytic { gate: Box::new(fifo.into_gate()), waiting: Box::default() }
            }
            (kind, _) => Runner::Stepped { discipline: kind.into_discipline(), end_pending: false, idle: true },
        };
        Port {
            name: spec.name,
            aqm: spec.aqm,
            link,
            runner,
            stats: QueueStats::new(),
            queued_at_start: 0,
            watch: Watched::default(),
        }
    }

    /// Packets in the queue.
    pub fn packets(&self) -> u64 {
        match &self.runner {
            Runner::Analytic { waiting, .. } => waiting.queue.len() as u64,
            Runner::Stepped { discipline, .. } => discipline.packets(),
        }
    }

    /// The policy's averaged queue, packets.
    pub fn average(&self) -> Option<f64> {
        match &self.runner {
            Runner::Analytic { gate, .. } => gate.average(),
            Runner::Stepped { discipline, .. } => discipline.average(),
        }
    }

    /// Counters over the measured window.
    pub fn counters(&self) -> &Counters {
        match &self.runner {
            Runner::Analytic { gate, .. } => &gate.counters,
            Runner::Stepped { discipline, .. } => discipline.counters(),
        }
    }

    /// Removes every packet that has started before (`now`, scheduled at `scheduled`).
    pub fn catch_up(&mut self, now: f64, scheduled: f64) {
        if let Runner::Analytic { gate, waiting } = &mut self.runner {
            catch_up(gate, waiting, &mut self.stats, &mut self.watch, now, scheduled);
        }
    }

    /// The measured window starts.
    pub fn restart(&mut self, now: f64) {
        self.catch_up(now, 0.0);
        self.queued_at_start = self.packets();
        if let Some(average) = self.average() {
            self.stats.advance_average(now, average);
        }
        self.stats.restart(now, self.queued_at_start);
        self.watch.restart();
        match &mut self.runner {
            Runner::Analytic { gate, .. } => gate.counters = Counters::default(),
            Runner::Stepped { discipline, .. } => discipline.reset_counters(),
        }
    }

    /// The run ends; takes the observer.
    pub fn finish(&mut self, now: f64) -> Observer {
        self.catch_up(now, 0.0);
        let length = self.packets();
        self.stats.advance(now, length);
        if let Some(average) = self.average() {
            self.stats.advance_average(now, average);
        }
        self.watch.finish()
    }
}

/// Analytic ports: departures are computed at arrival.
impl Port {
    /// An arrival at an analytic port, by an event scheduled at `scheduled`.
    #[inline(always)]
    pub fn analytic_arrival(
        &mut self,
        wire: &Wire,
        segment: &Segment,
        packet: &mut Packet,
        now: f64,
        scheduled: f64,
    ) -> Answer {
        let Runner::Analytic { gate, waiting } = &mut self.runner else { return Answer::Dropped };
        catch_up(gate, waiting, &mut self.stats, &mut self.watch, now, scheduled);
        let length = waiting.queue.len() as u64;
        self.stats.advance(now, length);
        if let Some(average) = gate.average() {
            self.stats.advance_average(now, average);
        }
        let idle = length == 0 && (wire.free < now || (wire.free == now && wire.started < scheduled));
        let idle_since = if idle { Some(Time::from_seconds(wire.free)) } else { None };
        let view = QueueView { packets: length, bytes: waiting.bytes, idle_since, contents: None };
        let who = || Who::from(segment);
        self.watch.arrived(now, who, segment.hop(), length + 1);
        let before = packet.ecn;
        match gate.offer(packet, &view, Time::from_seconds(now)) {
            gate::Fate::Admitted => {}
            gate::Fate::Dropped(_) | gate::Fate::Victims { .. } => {
                self.watch.dropped(now, who, segment.hop(), length);
                return Answer::Dropped;
            }
        }
        let marked = packet.ecn != before;
        if marked {
            self.watch.marked(segment.flow());
        }
        if idle {
            gate.counters.depart(packet);
            self.stats.departed(0.0);
            self.watch.departed(now, who, 0.0, 0);
            return Answer::Leaves { start: now, marked };
        }
        let start = wire.free;
        waiting.bytes += u64::from(packet.size);
        waiting.queue.push_back(Waiting {
            start,
            scheduled: wire.started,
            arrived: now,
            flow: segment.flow(),
            seq: segment.seq(),
            size: packet.size,
        });
        self.stats.grown(length + 1);
        Answer::Leaves { start, marked }
    }
}

#[inline(always)]
fn catch_up(
    gate: &mut Gate,
    waiting: &mut WaitingQueue,
    stats: &mut QueueStats,
    watch: &mut Watched,
    now: f64,
    scheduled: f64,
) {
    while waiting.queue.len() > 0 {
        let first = *waiting.queue.front();
        if !(first.start < now || (first.start == now && first.scheduled < scheduled)) {
            break;
        }
        stats.advance(first.start, waiting.queue.len() as u64);
        waiting.queue.pop_front();
        waiting.bytes -= u64::from(first.size);
        gate.counters.departures += 1;
        gate.counters.departed_bytes += u64::from(first.size);
        let waited = first.start - first.arrived;
        stats.departed(waited);
        let who = || Who { flow: first.flow, seq: first.seq, size: first.size };
        watch.departed(first.start, who, waited, waiting.queue.len() as u64);
    }
}

/// Stepped ports: arrivals and departures by events. `who` gives the observers' view of a packet; in a `replay` packets
/// have their own flow keys.
impl Port {
    /// Before the event `key`: notifies the discipline if the link `at` has been ready since the end of its last
    /// transmission, found the queue empty, and no event has reported it.
    #[inline(always)]
    pub fn notice_idle(&mut self, at: &Link, key: Key) {
        if let Runner::Stepped { discipline, end_pending: false, idle } = &mut self.runner {
            if !*idle && at.is_free(key) {
                *idle = true;
                discipline.dequeue(Time::from_seconds(at.wire.free), &mut |_, _| {});
            }
        }
    }

    /// `packet`, the queue's view of `segment`, arrives. It carries the rest of the segment.
    #[inline(always)]
    pub fn enqueue(
        &mut self,
        segment: &Segment,
        packet: Packet,
        now: f64,
        dropped: &mut Dropped,
        replay: bool,
        who: impl Fn(&Segment) -> Who,
    ) -> Taken {
        let Runner::Stepped { discipline, end_pending, idle } = &mut self.runner else {
            return Taken { marked: false, then: Then::Nothing };
        };
        let length = discipline.packets();
        self.stats.advance(now, length);
        if let Some(average) = discipline.average() {
            self.stats.advance_average(now, average);
        }
        self.watch.arrived(now, || who(segment), segment.hop(), length + 1);
        let on_drop = &mut |victim: &Packet, why| dropped.push((unpacked(victim, replay).0, why));
        let admitted = discipline.enqueue(packet, Time::from_seconds(now), on_drop);
        let length = discipline.packets();
        let marked = admitted.is_some_and(|marked| marked.0);
        if marked {
            self.watch.marked(segment.flow());
        }
        self.watch.lost(now, dropped, who, length);
        let then = if *idle {
            Then::Dequeue
        } else {
            // A packet that is transmitted immediately never counts as queued.
            self.stats.grown(length);
            if !*end_pending && length > 0 {
                *end_pending = true;
                Then::End
            } else {
                Then::Nothing
            }
        };
        Taken { marked, then }
    }

    /// The link is ready: dequeues the next packet or becomes idle. The length up to `now` has been counted.
    #[inline(always)]
    pub fn dequeue(
        &mut self,
        now: f64,
        dropped: &mut Dropped,
        replay: bool,
        who: impl Fn(&Segment) -> Who,
    ) -> Option<Departure> {
        let Runner::Stepped { discipline, end_pending, idle } = &mut self.runner else { return None };
        let on_drop = &mut |victim: &Packet, why| dropped.push((unpacked(victim, replay).0, why));
        let taken = discipline.dequeue(Time::from_seconds(now), on_drop);
        let length = discipline.packets();
        self.watch.lost(now, dropped, &who, length + u64::from(taken.is_some()));
        let Some(packet) = taken else {
            *idle = true;
            return None;
        };
        *idle = false;
        let waited = now - packet.enqueued.seconds();
        self.stats.departed(waited);
        *end_pending = length > 0 || discipline.watches_departures();
        let (segment, lane) = unpacked(&packet, replay);
        self.watch.departed(now, || who(&segment), waited, length);
        self.watch.settled(&segment, Fate::Departed { at: Time::from_seconds(now), ecn: packet.ecn });
        let marked = packet.ecn != packet.admitted_ecn;
        if marked {
            self.watch.marked(segment.flow());
        }
        Some(Departure { segment, lane, marked, wants_end: *end_pending })
    }

    /// The event of the end of a transmission.
    #[inline(always)]
    pub fn on_transmission_end(&mut self, now: f64) {
        if let Runner::Stepped { discipline, end_pending, .. } = &mut self.runner {
            *end_pending = false;
            self.stats.advance(now, discipline.packets());
        }
    }

    /// Time of the policy's timer.
    pub fn next_timer(&self) -> Option<Time> {
        match &self.runner {
            Runner::Analytic { .. } => None,
            Runner::Stepped { discipline, .. } => discipline.next_timer(),
        }
    }

    /// The policy's timer expires at `now`.
    pub fn on_timer(&mut self, now: f64) {
        if let Runner::Stepped { discipline, .. } = &mut self.runner {
            discipline.on_timer(Time::from_seconds(now));
        }
    }
}

/// Memory addresses, for prefetching.
impl Port {
    /// Address of the discipline; 0 if the port is not stepped.
    pub fn discipline_address(&self) -> usize {
        match &self.runner {
            Runner::Analytic { .. } => 0,
            Runner::Stepped { discipline, .. } => std::ptr::from_ref(&**discipline).addr(),
        }
    }

    /// Visits the discipline's other memory that its next arrival or departure needs.
    #[inline(always)]
    pub fn memory(&self, leaving: bool, visit: &mut dyn FnMut(*const u8, usize)) {
        if let Runner::Stepped { discipline, .. } = &self.runner {
            discipline.memory(leaving, visit);
        }
    }
}
