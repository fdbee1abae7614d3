//! A port: a measured queue in front of a link. Simulated and real links run on the same one.
//!
//! A port knows neither its link nor the event queue. Its driver calls it in the order of events: [`Port::arrive`] for
//! each packet, [`Port::on_timer`], and [`Port::on_transmission_end`] with [`Port::dequeue`] at the ends of
//! transmissions that the port asks for. The port asks for no end while nothing waits, unless the discipline acts at
//! departures; before an arrival or a timer the driver therefore calls [`Port::note_idle`].

use crate::bands::{self, Band, Watch};
use crate::measure::QueueStats;
use crate::sojourns::Sojourns;
use earlydrop_aqm::catalogue::Built;
use earlydrop_aqm::discipline::Fifo;
use earlydrop_aqm::gate::Counters;
use earlydrop_aqm::policy::Reason;
use earlydrop_aqm::{Discipline, Header, Packet, Time};

/// Is told what happens to the packets of a queue, with the times of the events, not of the calls.
pub trait Observer {
    /// The header of an arrival, for disciplines that read it.
    fn header(&self, packet: &Packet) -> Header {
        Header::of(packet)
    }
    /// `packet` arrives; `length` packets wait, without it.
    fn arrived(&mut self, _packet: &Packet, _now: Time, _length: u64) {}
    /// `packet` is marked, as it is admitted or as it departs.
    fn marked(&mut self, _packet: &Packet, _now: Time) {}
    /// `packet`, an arrival or one that waited, is dropped.
    fn dropped(&mut self, packet: &Packet, now: Time, reason: Reason);
    /// The drops of an arrival or departure, if any, are complete: `length` packets are left, the departing one too.
    fn remaining(&mut self, _now: Time, _length: u64) {}
    /// The transmission of `packet` starts; its ECN field is final. `length` packets still wait.
    fn departed(&mut self, _packet: &Packet, _now: Time, _length: u64) {}
}

/// What the driver must do after an arrival.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Next {
    /// The link is ready: dequeue a packet.
    Dequeue,
    /// Schedule the end of the current transmission.
    ScheduleEnd,
    /// The driver has nothing to do.
    Nothing,
}

/// A packet that departs.
pub struct Departure {
    /// The packet.
    pub packet: Packet,
    /// Whether the driver must schedule the end of the transmission.
    pub wants_end: bool,
}

/// The discipline of a port. A FIFO's per-packet methods are called directly, so that they become part of the port's
/// code; those of every other discipline by the table of methods.
pub enum Queue {
    /// One FIFO with a policy.
    Fifo(Box<Fifo>),
    /// Any discipline.
    Other(Box<dyn Discipline>),
}

impl From<Box<dyn Discipline>> for Queue {
    fn from(discipline: Box<dyn Discipline>) -> Self {
        Queue::Other(discipline)
    }
}

impl Queue {
    #[inline(always)]
    fn get(&self) -> &dyn Discipline {
        match self {
            Queue::Fifo(fifo) => &**fifo,
            Queue::Other(discipline) => &**discipline,
        }
    }

    #[inline(always)]
    fn get_mut(&mut self) -> &mut dyn Discipline {
        match self {
            Queue::Fifo(fifo) => &mut **fifo,
            Queue::Other(discipline) => &mut **discipline,
        }
    }
}

/// A discipline, the state of the link as far as the discipline must know it, and statistics. Fields that every packet
/// needs come first.
#[repr(C)]
pub struct Port {
    queue: Queue,
    state: State,
    /// The discipline's bands, if it has some.
    bands: Option<Box<[Band]>>,
}

/// All of a port but its discipline.
#[repr(C)]
struct State {
    /// Whether the end of the current transmission is scheduled.
    end_pending: bool,
    /// Whether the discipline has been told that the link found it empty.
    idle: bool,
    /// Until when a shaper holds the packets that wait.
    held: Option<Time>,
    /// Whether the discipline reads headers.
    reads_headers: bool,
    stats: QueueStats,
    queued_at_start: u64,
}

impl State {
    #[inline(always)]
    fn arrive<D: Discipline + ?Sized, B: Watch + ?Sized>(
        &mut self,
        discipline: &mut D,
        bands: &mut B,
        mut packet: Packet,
        now: Time,
        observer: &mut impl Observer,
    ) -> Next {
        let length = discipline.packets();
        self.stats.observe(now.seconds(), length, discipline.average());
        observer.arrived(&packet, now, length);
        let admitted = if self.reads_headers {
            let header = observer.header(&packet);
            bands.arrives(&mut packet, |_| header.dscp, discipline);
            let on_drop = &mut |victim: &Packet, reason| {
                bands.dropped(victim);
                observer.dropped(victim, now, reason);
            };
            discipline.enqueue_with(packet, &header, now, on_drop)
        } else {
            bands.arrives(&mut packet, |packet| Header::of(packet).dscp, discipline);
            let on_drop = &mut |victim: &Packet, reason| {
                bands.dropped(victim);
                observer.dropped(victim, now, reason);
            };
            discipline.enqueue(packet, now, on_drop)
        };
        let length = discipline.packets();
        if admitted.is_some_and(|marked| marked.0) {
            bands.marked(&packet);
            observer.marked(&packet, now);
        }
        observer.remaining(now, length);
        if self.idle {
            return Next::Dequeue;
        }
        if self.held.is_some() && discipline.held_until().is_none() {
            return Next::Dequeue;
        }
        // A packet that is transmitted immediately never counts as queued.
        self.stats.grown(length);
        if self.end_pending || length == 0 {
            return Next::Nothing;
        }
        self.end_pending = true;
        Next::ScheduleEnd
    }

    /// [`State::arrive`] at an idle link and [`State::dequeue`] in one call.
    #[inline(always)]
    fn pass(&mut self, fifo: &mut Fifo, packet: Packet, now: Time, observer: &mut impl Observer) -> Option<Packet> {
        self.stats.observe(now.seconds(), 0, fifo.average());
        observer.arrived(&packet, now, 0);
        let left = fifo.pass(packet, now, &mut |victim, reason| observer.dropped(victim, now, reason));
        if left.is_some_and(|left| left.ecn != packet.ecn) {
            observer.marked(&packet, now);
        }
        let length = u64::from(left.is_some());
        observer.remaining(now, length);
        observer.remaining(now, length);
        if let Some(packet) = &left {
            self.idle = false;
            self.stats.departed(0.0);
            observer.departed(packet, now, 0);
        }
        left
    }

    #[inline(always)]
    fn dequeue<D: Discipline + ?Sized, B: Watch + ?Sized>(
        &mut self,
        discipline: &mut D,
        bands: &mut B,
        now: Time,
        observer: &mut impl Observer,
    ) -> Option<Departure> {
        let taken = discipline.dequeue(now, &mut |victim, reason| {
            bands.dropped(victim);
            observer.dropped(victim, now, reason);
        });
        let length = discipline.packets();
        observer.remaining(now, length + u64::from(taken.is_some()));
        let Some(packet) = taken else {
            if self.held.is_some() {
                // The arrival waits with the others, and the drops come later.
                self.stats.grown(length);
            }
            self.held = discipline.held_until();
            self.end_pending = self.held.is_some();
            self.idle = !self.end_pending;
            return None;
        };
        (self.idle, self.held) = (false, None);
        let sojourn = now - packet.enqueued;
        if B::KEEPS {
            self.stats.departed_of_band(sojourn);
            bands.departed(&packet, sojourn);
        } else {
            self.stats.departed(sojourn);
        }
        self.end_pending = length > 0 || discipline.watches_departures();
        observer.departed(&packet, now, length);
        if packet.ecn != packet.admitted_ecn {
            bands.marked(&packet);
            observer.marked(&packet, now);
        }
        Some(Departure { packet, wants_end: self.end_pending })
    }
}

impl Port {
    /// A port whose link has been idle since time zero.
    pub fn new(queue: impl Into<Queue>) -> Port {
        let queue = queue.into();
        let reads_headers = queue.get().reads_headers();
        let (stats, bands) = (QueueStats::new(), bands::of(queue.get()));
        Port {
            queue,
            bands,
            state: State { end_pending: false, idle: true, held: None, reads_headers, stats, queued_at_start: 0 },
        }
    }

    /// Call it before an event: it tells the discipline of an idle link that no event has reported. `free_since` is the
    /// end of the last transmission, if it comes before the event.
    #[inline(always)]
    pub fn note_idle(&mut self, free_since: impl FnOnce() -> Option<Time>) {
        if self.state.end_pending || self.state.idle {
            return;
        }
        if let Some(since) = free_since() {
            self.state.idle = true;
            match &mut self.queue {
                Queue::Fifo(fifo) => fifo.dequeue(since, &mut |_, _| {}),
                Queue::Other(discipline) => discipline.dequeue(since, &mut |_, _| {}),
            };
        }
    }

    /// `packet` arrives at `now`, after [`Port::note_idle`].
    #[inline(always)]
    pub fn arrive(&mut self, packet: Packet, now: Time, observer: &mut impl Observer) -> Next {
        match &mut self.queue {
            Queue::Fifo(fifo) => self.state.arrive(&mut **fifo, &mut (), packet, now, observer),
            Queue::Other(discipline) => match &mut self.bands {
                None => self.state.arrive(&mut **discipline, &mut (), packet, now, observer),
                Some(bands) => self.state.arrive(&mut **discipline, &mut **bands, packet, now, observer),
            },
        }
    }

    /// Whether an arrival may leave at once by [`Port::pass`]: the link is idle, and the queue a FIFO that allows it.
    #[inline(always)]
    pub fn may_pass(&self) -> bool {
        self.state.idle && matches!(&self.queue, Queue::Fifo(fifo) if fifo.may_pass())
    }

    /// `packet` arrives at `now`, after [`Port::note_idle`], and leaves at once unless it is dropped, as by
    /// [`Port::arrive`] and [`Port::dequeue`]. Only after [`Port::may_pass`].
    #[inline(always)]
    pub fn pass(&mut self, packet: Packet, now: Time, observer: &mut impl Observer) -> Option<Packet> {
        match &mut self.queue {
            Queue::Fifo(fifo) => self.state.pass(fifo, packet, now, observer),
            Queue::Other(_) => unreachable!("`may_pass` allows it for a FIFO alone"),
        }
    }

    /// The link is ready: dequeues the next packet, or becomes idle. At the end of a transmission
    /// [`Port::on_transmission_end`] comes first. After `None` the driver asks for [`Port::held_until`].
    #[inline(always)]
    pub fn dequeue(&mut self, now: Time, observer: &mut impl Observer) -> Option<Departure> {
        match &mut self.queue {
            Queue::Fifo(fifo) => self.state.dequeue(&mut **fifo, &mut (), now, observer),
            Queue::Other(discipline) => match &mut self.bands {
                None => self.state.dequeue(&mut **discipline, &mut (), now, observer),
                Some(bands) => self.state.dequeue(&mut **discipline, &mut **bands, now, observer),
            },
        }
    }

    /// A transmission ends whose end the port has asked for.
    #[inline(always)]
    pub fn on_transmission_end(&mut self, now: Time) {
        (self.state.end_pending, self.state.held) = (false, None);
        self.state.stats.advance(now.seconds(), self.packets());
    }

    /// When [`Port::dequeue`] gave no packet: a shaper lets none leave before this time. The link counts as busy until
    /// then, and the driver calls [`Port::on_transmission_end`] and [`Port::dequeue`], unless an arrival has made it
    /// dequeue before.
    pub fn held_until(&self) -> Option<Time> {
        self.state.held
    }

    /// When [`Port::on_timer`] must run next.
    pub fn next_timer(&self) -> Option<Time> {
        self.queue.get().next_timer()
    }

    /// The discipline's timer expires at `now`, after [`Port::note_idle`].
    pub fn on_timer(&mut self, now: Time) {
        self.queue.get_mut().on_timer(now);
    }
}

/// Headers: what the discipline reads of a packet, and writes.
impl Port {
    /// Whether arrivals must come with their headers, by [`Observer::header`].
    pub fn reads_headers(&self) -> bool {
        self.state.reads_headers
    }

    /// Whether a packet that arrives with `class` leaves with DSCP 0.
    pub fn washes(&self, class: u8) -> bool {
        self.queue.get().washes(class)
    }
}

/// Timers while nothing arrives or leaves.
impl Port {
    /// Whether nothing changes before the next event: the discipline knows that the link is idle, or the end of the
    /// transmission is an event.
    pub fn is_steady(&self) -> bool {
        self.state.idle || self.state.end_pending
    }

    /// Runs all timers of a steady port that are due before `until`, up to which there is no event: their number and
    /// the time of the last; `None` if none is due.
    pub fn on_timers(&mut self, until: Time) -> Option<(u64, Time)> {
        self.queue.get_mut().on_timers(until)
    }
}

/// Measurement.
impl Port {
    /// The measured window starts: resets the counters. Packets stay.
    pub fn restart(&mut self, now: Time) {
        self.state.queued_at_start = self.packets();
        self.state.stats.restart(now.seconds(), self.state.queued_at_start);
        self.queue.get_mut().reset_counters();
        self.bands.as_deref_mut().into_iter().for_each(bands::restart);
    }

    /// The measured window ends.
    pub fn finish(&mut self, now: Time) {
        self.state.stats.observe(now.seconds(), self.packets(), self.average());
        self.bands.iter().flatten().for_each(|band| self.state.stats.absorb(&band.sojourns));
    }

    /// Packets that wait.
    #[inline(always)]
    pub fn packets(&self) -> u64 {
        match &self.queue {
            Queue::Fifo(fifo) => fifo.packets(),
            Queue::Other(discipline) => discipline.packets(),
        }
    }

    /// Bytes that wait.
    pub fn bytes(&self) -> u64 {
        self.queue.get().bytes()
    }

    /// The discipline's averaged queue, packets.
    pub fn average(&self) -> Option<f64> {
        self.queue.get().average()
    }

    /// The discipline's internal values.
    pub fn gauges(&self, out: &mut dyn FnMut(&'static str, f64)) {
        self.queue.get().gauges(out);
    }

    /// The packets that wait, see [`Discipline::waiting`].
    pub fn waiting(&self, out: &mut dyn FnMut(usize, &Packet)) {
        self.queue.get().waiting(out);
    }

    /// Gives the discipline the parameters of `built`, see [`Discipline::change`].
    pub fn change(&mut self, built: Built) -> bool {
        self.queue.get_mut().change(built)
    }

    /// Statistics of the discipline's groups of queues, see [`Discipline::groups`].
    pub fn groups(&self, out: &mut dyn FnMut(usize, &'static str, f64)) {
        self.queue.get().groups(out);
    }

    /// Statistics of a parent and its child, see [`Discipline::parent`].
    pub fn parent(&self, out: &mut dyn FnMut(Option<usize>, &'static str, f64)) {
        self.queue.get().parent(out);
    }

    /// What passed the discipline's bands within the measured window; none if it has none.
    pub fn bands(&self) -> &[Band] {
        self.bands.as_deref().unwrap_or_default()
    }

    /// Counts of the measured window.
    pub fn counters(&self) -> &Counters {
        self.queue.get().counters()
    }

    /// Statistics of the measured window.
    pub fn stats(&self) -> &QueueStats {
        &self.state.stats
    }

    /// Histogram of the sojourn times before [`Port::finish`], see [`QueueStats::sojourn_histogram`].
    pub fn sojourn_histogram(&self) -> Vec<(u64, u64)> {
        let Some(bands) = &self.bands else { return self.state.stats.sojourn_histogram() };
        let mut all = Sojourns::default();
        bands.iter().for_each(|band| all.absorb(&band.sojourns));
        all.buckets()
    }

    /// The statistics, after [`Port::finish`].
    pub fn into_stats(self) -> QueueStats {
        self.state.stats
    }

    /// Packets that waited when the measured window started.
    pub fn queued_at_start(&self) -> u64 {
        self.state.queued_at_start
    }
}

/// Memory addresses, for prefetching.
impl Port {
    /// Address of the discipline.
    pub fn discipline_address(&self) -> usize {
        std::ptr::from_ref(self.queue.get()).addr()
    }

    /// Visits the memory that the discipline's next arrival or departure needs besides itself.
    #[inline(always)]
    pub fn memory(&self, leaving: bool, visit: &mut dyn FnMut(*const u8, usize)) {
        self.queue.get().memory(leaving, visit);
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::Wire;
    use earlydrop_aqm::gate::Gate;
    use earlydrop_aqm::policy::{Context, Limit, Policy, QueueView, Verdict};
    use earlydrop_aqm::random::Generator;
    use earlydrop_aqm::Ecn;

    /// Signals every third packet.
    struct EveryThird(u32);

    impl Policy for EveryThird {
        fn on_enqueue(&mut self, _: &Packet, _: &QueueView<'_>, _: &mut Context<'_>) -> Verdict {
            self.0 += 1;
            if self.0.is_multiple_of(3) {
                Verdict::Signal(Reason::Early)
            } else {
                Verdict::Pass
            }
        }
    }

    /// Events: what happened, to which packet, when, and how many packets waited.
    #[derive(Default)]
    struct Log(Vec<(&'static str, u32, f64, u64)>);

    impl Observer for Log {
        fn arrived(&mut self, packet: &Packet, now: Time, length: u64) {
            self.0.push(("arrived", packet.tag, now.seconds(), length));
        }
        fn marked(&mut self, packet: &Packet, now: Time) {
            self.0.push(("marked", packet.tag, now.seconds(), 0));
        }
        fn dropped(&mut self, packet: &Packet, now: Time, _: Reason) {
            self.0.push(("dropped", packet.tag, now.seconds(), 0));
        }
        fn remaining(&mut self, now: Time, length: u64) {
            self.0.push(("remaining", 0, now.seconds(), length));
        }
        fn departed(&mut self, packet: &Packet, now: Time, length: u64) {
            self.0.push(("departed", packet.tag, now.seconds(), length));
        }
    }

    /// Sends 20,000 packets to a link that can just carry them; how many went by [`Port::pass`], the log, the counts.
    fn run(passing: bool) -> (u32, Log, Counters, [f64; 3]) {
        let random = Generator::stream(1, "queue");
        let gate = Gate::new(Box::new(EveryThird(0)), Limit::Packets(5), true, random);
        let mut port = Port::new(Queue::Fifo(Box::new(Fifo::new(gate))));
        let (mut arrivals, mut wire) = (Generator::stream(2, "arrivals"), Wire::new(8e6, 0.0));
        let (mut log, mut passed, mut now, mut end) = (Log::default(), 0, 0.0, None::<f64>);
        for number in 0..20_000 {
            now += 0.002 * arrivals.uniform();
            while let Some(at) = end.take_if(|at| *at <= now) {
                port.on_transmission_end(Time::from_seconds(at));
                if let Some(departure) = port.dequeue(Time::from_seconds(at), &mut log) {
                    wire.send(at, 1000);
                    end = departure.wants_end.then_some(wire.free);
                }
            }
            let mut packet = Packet { tag: number, ..Packet::new(1, 1000) };
            packet.ecn = if number % 2 == 0 { Ecn::Ect0 } else { Ecn::NotEct };
            let time = Time::from_seconds(now);
            port.note_idle(|| (wire.free <= now).then(|| Time::from_seconds(wire.free)));
            if passing && port.may_pass() {
                passed += 1;
                if port.pass(packet, time, &mut log).is_some() {
                    wire.send(now, 1000);
                }
                continue;
            }
            match port.arrive(packet, time, &mut log) {
                Next::Dequeue => {
                    if let Some(departure) = port.dequeue(time, &mut log) {
                        wire.send(now, 1000);
                        end = departure.wants_end.then_some(wire.free);
                    }
                }
                Next::ScheduleEnd => end = Some(wire.free),
                Next::Nothing => {}
            }
        }
        port.finish(Time::from_seconds(now));
        let stats = [port.stats().mean(), port.stats().mean_sojourn(), port.stats().mean_at(now, port.packets())];
        (passed, log, *port.counters(), stats)
    }

    #[test]
    fn a_packet_that_passes_an_idle_queue_is_one_that_enters_and_leaves_it() {
        let (none, expected, expected_counts, expected_stats) = run(false);
        let (passed, log, counts, stats) = run(true);
        assert!(none == 0 && passed > 2000 && passed < 18_000, "{passed}");
        assert!(counts.marks > 1000 && counts.early_drops > 1000, "{counts:?}");
        assert_eq!((counts, stats), (expected_counts, expected_stats));
        assert!(log.0 == expected.0, "the same happens in the same order");
    }
    #[test]
    #[should_panic(expected = "for a FIFO alone")]
    fn a_packet_that_may_not_pass_does_not_vanish() {
        let random = Generator::stream(1, "queue");
        let gate = Gate::new(Box::new(EveryThird(0)), Limit::Packets(5), true, random);
        let mut port = Port::new(Queue::Other(Box::new(Fifo::new(gate))));
        assert!(!port.may_pass());
        port.pass(Packet::new(1, 1000), Time::ZERO, &mut Log::default());
    }
}
