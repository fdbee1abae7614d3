//! A port without events for departures: their times are computed at arrival. It keeps the statistics of an event-driven
//! [`Port`](earlydrop_net::port::Port), and notifies the same observer.

use super::recorder::{Recorder, Seen};
use crate::fifo::Fifo;
use crate::measure::QueueStats;
use earlydrop_aqm::catalogue::Built;
use earlydrop_aqm::gate::{Counters, Fate, Gate};
use earlydrop_aqm::policy::{QueueView, Verdict};
use earlydrop_aqm::{Packet, Time};
use earlydrop_net::{Segment, Wire};

/// A packet that waits, in 18 bytes: a million may wait.
#[derive(Clone, Copy, Default)]
#[repr(Rust, packed(2))]
struct Waiting {
    arrived: f64,
    flow: u32,
    seq: i32,
    size: u16,
}

impl Waiting {
    /// As far as it is known here.
    fn packet(&self) -> Packet {
        Packet {
            tag: self.seq as u32,
            enqueued: Time::from_seconds(self.arrived),
            ..Packet::new(u64::from(self.flow), u32::from(self.size))
        }
    }

    #[cold]
    #[inline(never)]
    fn seen(&self) -> Seen {
        Seen { packet: self.packet(), header: None }
    }
}

/// The packets that wait.
struct WaitingQueue {
    queue: Fifo<Waiting>,
    bytes: u64,
    /// When the first one starts; the others follow one another.
    start: f64,
    /// Start of the packet before the first: when the end of transmission that starts the first was scheduled.
    scheduled: f64,
    /// Rate of the link, bit/s.
    rate_bps: f64,
}

impl WaitingQueue {
    /// Removes the first one, which starts; returns it and its start.
    #[inline(always)]
    fn start_first(&mut self) -> (Waiting, f64) {
        let (first, start) = (self.queue.pop_front(), self.start);
        self.scheduled = start;
        self.bytes -= u64::from(first.size);
        // As the link adds it up.
        self.start = start + Wire::new(self.rate_bps, 0.0).transmission(first.size);
        (first, start)
    }
}

/// The decision on an arrival.
pub enum Answer {
    /// Dropped.
    Dropped,
    /// Accepted; its transmission starts at this time.
    Leaves { start: f64, marked: bool },
}

/// A gate, and the packets that it has admitted until their transmission starts.
pub struct AnalyticPort {
    gate: Box<Gate>,
    waiting: Box<WaitingQueue>,
    stats: QueueStats,
    queued_at_start: u64,
}

impl AnalyticPort {
    /// A port whose link, of this rate in bit/s, has been idle since time zero.
    pub fn new(gate: Gate, rate_bps: f64) -> AnalyticPort {
        let waiting = WaitingQueue { queue: Fifo::new(), bytes: 0, start: 0.0, scheduled: 0.0, rate_bps };
        AnalyticPort { gate: Box::new(gate), waiting: Box::new(waiting), stats: QueueStats::new(), queued_at_start: 0 }
    }

    /// `packet`, the queue's view of `segment`, arrives by an event scheduled at `scheduled`.
    #[inline(always)]
    pub fn arrive(
        &mut self,
        wire: &Wire,
        segment: &Segment,
        packet: &mut Packet,
        now: f64,
        scheduled: f64,
        recorder: &mut Option<Box<Recorder>>,
    ) -> Answer {
        self.catch_up(now, scheduled, recorder);
        let length = self.packets();
        self.stats.observe(now, length, self.gate.average());
        let view = self.view(wire, now, scheduled);
        let idle = view.idle_since.is_some();
        let time = Time::from_seconds(now);
        if let Some(recorder) = recorder {
            recorder.arrived(&recorded(*segment, *packet, time), time, length);
        }
        let before = packet.ecn;
        match self.gate.offer(packet, view, time) {
            Fate::Admitted => {}
            Fate::Dropped(reason) | Fate::Victims { reason, .. } => {
                if let Some(recorder) = recorder {
                    recorder.dropped(&recorded(*segment, *packet, time), reason);
                    recorder.remaining(time, length);
                }
                return Answer::Dropped;
            }
        }
        let marked = packet.ecn != before;
        if marked {
            if let Some(recorder) = recorder {
                recorder.marked(segment.flow());
            }
        }
        if idle {
            if self.gate.needs().dequeue {
                packet.admit(time);
                observe_departure(&mut self.gate, *packet, (view.packets, view.bytes), time);
            }
            self.gate.counters.depart(packet);
            self.stats.departed(0.0);
            if let Some(recorder) = recorder {
                recorder.departed(&recorded(*segment, *packet, time), time, 0);
            }
            return Answer::Leaves { start: now, marked };
        }
        let start = wire.free;
        if length == 0 {
            (self.waiting.start, self.waiting.scheduled) = (start, wire.started);
        }
        self.waiting.bytes += u64::from(packet.size);
        self.waiting.queue.push_back(Waiting {
            arrived: now,
            flow: segment.flow(),
            seq: segment.seq(),
            size: segment.size(),
        });
        self.stats.grown(length + 1);
        Answer::Leaves { start, marked }
    }

    /// The queue at an event of this time, scheduled at `scheduled`, after [`AnalyticPort::catch_up`].
    #[inline(always)]
    fn view(&self, wire: &Wire, now: f64, scheduled: f64) -> QueueView<'static> {
        let packets = self.packets();
        let idle = packets == 0 && (wire.free < now || (wire.free == now && wire.started < scheduled));
        let idle_since = if idle { Some(Time::from_seconds(wire.free)) } else { None };
        QueueView { packets, bytes: self.waiting.bytes, idle_since, contents: None }
    }

    /// The policy's timer expires at `now`, by an event scheduled at `scheduled`.
    pub fn on_timer(&mut self, wire: &Wire, now: f64, scheduled: f64, recorder: &mut Option<Box<Recorder>>) {
        self.catch_up(now, scheduled, recorder);
        let view = self.view(wire, now, scheduled);
        self.gate.timer(&view, Time::from_seconds(now));
    }

    /// After a timer at `now`: runs all timers before `until`, up to which there is no event, and before the next
    /// departure. Their number, and the time of the last; `None` if none is due.
    pub fn on_timers(&mut self, wire: &Wire, now: f64, until: f64) -> Option<(u64, Time)> {
        let view = self.view(wire, now, now);
        let until = match view.idle_since {
            Some(_) => until,
            None if view.packets == 0 => until.min(wire.free),
            None => until.min(self.waiting.start),
        };
        self.gate.timers(&view, Time::from_seconds(until))
    }

    /// Time of the policy's timer.
    pub fn next_timer(&self) -> Option<Time> {
        self.gate.next_timer()
    }

    /// Removes every packet that has started before (`now`, scheduled at `scheduled`).
    #[inline(always)]
    pub fn catch_up(&mut self, now: f64, scheduled: f64, recorder: &mut Option<Box<Recorder>>) {
        let (gate, waiting, stats) = (&mut *self.gate, &mut *self.waiting, &mut self.stats);
        let observed = gate.needs().dequeue;
        while waiting.queue.len() > 0 {
            let start = waiting.start;
            if !(start < now || (start == now && waiting.scheduled < scheduled)) {
                break;
            }
            stats.advance(start, waiting.queue.len() as u64);
            let (first, start) = waiting.start_first();
            if observed {
                let left = (waiting.queue.len() as u64, waiting.bytes);
                observe_departure(gate, first.packet(), left, Time::from_seconds(start));
            }
            gate.counters.departures += 1;
            gate.counters.departed_bytes += u64::from(first.size);
            stats.departed(start - first.arrived);
            if let Some(recorder) = recorder {
                recorder.departed(&first.seen(), Time::from_seconds(start), waiting.queue.len() as u64);
            }
        }
    }

    /// The measured window starts; [`AnalyticPort::catch_up`] comes first.
    pub fn restart(&mut self, now: f64) {
        self.queued_at_start = self.packets();
        self.stats.restart(now, self.queued_at_start);
        self.gate.counters = Counters::default();
    }

    /// The run ends; [`AnalyticPort::catch_up`] comes first.
    pub fn finish(&mut self, now: f64) {
        self.stats.observe(now, self.packets(), self.average());
    }

    /// Packets that wait.
    #[inline(always)]
    pub fn packets(&self) -> u64 {
        self.waiting.queue.len() as u64
    }

    /// Bytes that wait.
    pub fn bytes(&self) -> u64 {
        self.waiting.bytes
    }

    /// The policy's inner values.
    pub fn gauges(&self, out: &mut dyn FnMut(&'static str, f64)) {
        self.gate.gauges(out);
    }

    /// The packets that wait, in one queue.
    pub fn waiting(&self, out: &mut dyn FnMut(usize, &Packet)) {
        let queue = &self.waiting.queue;
        (0..queue.len()).filter_map(|place| queue.get(place)).for_each(|waiting| out(0, &waiting.packet()));
    }

    /// The policy goes on as `built`, see [`Gate::change`].
    pub fn change(&mut self, built: Built) -> bool {
        match built {
            Built::Policy(policy) => self.gate.change(policy),
            Built::Discipline(_) => false,
        }
    }

    /// Statistics of the measured window.
    pub fn stats(&self) -> &QueueStats {
        &self.stats
    }

    /// The policy's averaged queue, packets.
    pub fn average(&self) -> Option<f64> {
        self.gate.average()
    }

    /// Counts of the measured window.
    pub fn counters(&self) -> &Counters {
        &self.gate.counters
    }

    /// Packets that waited when the measured window started.
    pub fn queued_at_start(&self) -> u64 {
        self.queued_at_start
    }

    /// The statistics, after [`AnalyticPort::finish`].
    pub fn into_stats(self) -> QueueStats {
        self.stats
    }
}

/// The policy sees `packet` leave, before which it decides nothing; so many packets and bytes still wait.
#[inline(never)]
fn observe_departure(gate: &mut Gate, packet: Packet, (packets, bytes): (u64, u64), now: Time) {
    let queue = QueueView { packets, bytes, idle_since: None, contents: None };
    let verdict = gate.dequeued(Some(&packet), &queue, now);
    debug_assert!(verdict == Verdict::Pass, "a policy that only observes departures");
}

/// `packet`, which arrives at `now`, with the rest of `segment`, as a recorder reads it. (With headers traced a port is
/// stepped.)
#[cold]
#[inline(never)]
fn recorded(segment: Segment, packet: Packet, now: Time) -> Seen {
    let (tag, note) = segment.packed(0);
    Seen { packet: Packet { tag, note, enqueued: now, ..packet }, header: None }
}
