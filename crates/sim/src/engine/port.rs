//! Ports: queues that are watched.

use super::network::{PortKind, PortSpec};
use super::observer::{Observer, Who};
use crate::fifo::Fifo;
use crate::measure::QueueStats;
use earlydrop_aqm::gate::{Counters, Fate, Gate};
use earlydrop_aqm::policy::QueueView;
use earlydrop_aqm::{Discipline, Packet, Time};
use earlydrop_net::{Segment, Wire};

/// A packet that waits at an arithmetic port: when it will start is known already.
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
pub enum Runner {
    /// Departures worked out at arrival.
    Arithmetic { gate: Box<Gate>, waiting: Box<WaitingRoom> },
    /// Arrivals and departures are events.
    Stepped {
        discipline: Box<dyn Discipline>,
        /// The end of the present transmission is in the event queue.
        end_pending: bool,
        /// The discipline has been told that the link found nothing.
        idle: bool,
    },
}

/// Packets with their starting times.
#[derive(Default)]
pub struct WaitingRoom {
    queue: Fifo<Waiting>,
    bytes: u64,
}

/// A queue with its statistics. What every packet needs lies in the first two cache lines.
#[repr(C, align(64))]
pub struct Port {
    pub runner: Runner,
    pub observer: Option<Box<Observer>>,
    pub link: u32,
    pub stats: QueueStats,
    pub queued_at_start: u64,
    pub name: String,
    pub aqm: String,
}

/// What an arithmetic port says to an arrival.
pub enum Answer {
    Dropped,
    Leaves { start: f64, marked: bool },
}

impl Port {
    pub fn new(spec: PortSpec, link: u32, arithmetic: bool) -> Port {
        let runner = match (spec.kind, arithmetic) {
            (PortKind::Fifo(fifo), true) => {
                Runner::Arithmetic { gate: Box::new(fifo.into_gate()), waiting: Box::default() }
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
            observer: None,
        }
    }

    /// Packets waiting.
    pub fn packets(&self) -> u64 {
        match &self.runner {
            Runner::Arithmetic { waiting, .. } => waiting.queue.len() as u64,
            Runner::Stepped { discipline, .. } => discipline.packets(),
        }
    }

    /// The policy's average, packets.
    pub fn average(&self) -> Option<f64> {
        match &self.runner {
            Runner::Arithmetic { gate, .. } => gate.average(),
            Runner::Stepped { discipline, .. } => discipline.average(),
        }
    }

    /// Counts over the measured window.
    pub fn counters(&self) -> &Counters {
        match &self.runner {
            Runner::Arithmetic { gate, .. } => &gate.counters,
            Runner::Stepped { discipline, .. } => discipline.counters(),
        }
    }

    /// Lets every packet go that has started before (`now`, scheduled at `scheduled`).
    pub fn catch_up(&mut self, now: f64, scheduled: f64) {
        if let Runner::Arithmetic { gate, waiting } = &mut self.runner {
            catch_up(gate, waiting, &mut self.stats, &mut self.observer, now, scheduled);
        }
    }

    /// The measured window begins.
    pub fn restart(&mut self, now: f64) {
        self.catch_up(now, 0.0);
        self.queued_at_start = self.packets();
        if let Some(average) = self.average() {
            self.stats.advance_average(now, average);
        }
        self.stats.restart(now, self.queued_at_start);
        if let Some(observer) = &mut self.observer {
            if let Some(shares) = &mut observer.shares {
                shares.restart();
            }
            if let Some(synchronisation) = &mut observer.synchronisation {
                synchronisation.restart();
            }
        }
        match &mut self.runner {
            Runner::Arithmetic { gate, .. } => gate.counters = Counters::default(),
            Runner::Stepped { discipline, .. } => discipline.reset_counters(),
        }
    }

    /// The run ends.
    pub fn finish(&mut self, now: f64) {
        self.catch_up(now, 0.0);
        let length = self.packets();
        self.stats.advance(now, length);
        if let Some(synchronisation) = self.observer.as_mut().and_then(|observer| observer.synchronisation.as_mut()) {
            synchronisation.finish();
        }
        if let Some(average) = self.average() {
            self.stats.advance_average(now, average);
        }
    }

    /// An arrival at an arithmetic port, at an event that was scheduled at `scheduled`.
    #[inline(always)]
    pub fn arithmetic_arrival(
        &mut self,
        wire: &Wire,
        segment: &Segment,
        packet: &mut Packet,
        now: f64,
        scheduled: f64,
    ) -> Answer {
        let Runner::Arithmetic { gate, waiting } = &mut self.runner else { return Answer::Dropped };
        catch_up(gate, waiting, &mut self.stats, &mut self.observer, now, scheduled);
        let length = waiting.queue.len() as u64;
        self.stats.advance(now, length);
        if let Some(average) = gate.average() {
            self.stats.advance_average(now, average);
        }
        let idle = length == 0 && (wire.free < now || (wire.free == now && wire.started < scheduled));
        let idle_since = if idle { Some(Time::from_seconds(wire.free)) } else { None };
        let view = QueueView { packets: length, bytes: waiting.bytes, idle_since, contents: None };
        if let Some(observer) = &mut self.observer {
            observer.arrived(now, Who::from(segment), segment.hop(), length + 1);
        }
        let before = packet.ecn;
        match gate.offer(packet, &view, Time::from_seconds(now)) {
            Fate::Admitted => {}
            Fate::Dropped(_) | Fate::Victims { .. } => {
                if let Some(observer) = &mut self.observer {
                    observer.dropped(now, Who::from(segment), segment.hop(), length);
                }
                return Answer::Dropped;
            }
        }
        let marked = packet.ecn != before;
        if let (true, Some(observer)) = (marked, &mut self.observer) {
            observer.marked(segment.flow());
        }
        if idle {
            gate.counters.depart(packet);
            self.stats.departed(0.0);
            if let Some(observer) = &mut self.observer {
                observer.departed(now, Who::from(segment), 0.0, 0);
            }
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
    waiting: &mut WaitingRoom,
    stats: &mut QueueStats,
    observer: &mut Option<Box<Observer>>,
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
        if let Some(observer) = observer {
            let who = Who { flow: first.flow, seq: first.seq, size: first.size };
            observer.departed(first.start, who, waited, waiting.queue.len() as u64);
        }
    }
}
