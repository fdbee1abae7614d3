//! Stepped ports: arrivals, departures, drops, and the policy's timer.

use super::Engine;
use crate::engine::state::applications::Applications;
use crate::engine::state::headers::Headers;
use crate::engine::state::hosts::BlockPool;
use crate::engine::state::net::{Arrivals, Rare};
use crate::engine::state::order::Key;
use crate::engine::state::outside::Ending;
use crate::engine::state::packets::unpacked;
use crate::engine::state::recorder::{Recorder, Seen};
use crate::events::{Event, EventQueue, Kind};
use earlydrop_aqm::policy::Reason;
use earlydrop_aqm::{Header, Packet, Time};
use earlydrop_net::port::{Departure, Next, Observer};
use earlydrop_net::record;
use earlydrop_net::segment::{CE, SACK, SYN};
use earlydrop_net::Segment;

/// The number of the segment in the event of a shaper, which lets a packet go.
pub(super) const RELEASE: i32 = 1;

/// Counts marks, collects drops, and passes everything on to the port's recorder, if it has one.
struct Counting<'a> {
    recorder: Option<&'a mut Recorder>,
    arrivals: &'a mut [Arrivals],
    dropped: &'a mut Vec<Segment>,
    applications: &'a Applications,
    headers: &'a Headers,
    blocks: &'a BlockPool,
    /// A replay: packets have their own flow keys, and the recorded headers.
    replay: Option<&'a record::Arrivals>,
}

impl Counting<'_> {
    /// Tells the recorder, if there is one, with `packet` as it is recorded: with the number within its connection.
    #[inline(always)]
    fn record(&mut self, packet: &Packet, tell: impl FnOnce(&mut Recorder, &Seen)) {
        if let Some(recorder) = &mut self.recorder {
            let tag = self.applications.shown(&unpacked(packet, self.replay.is_some()).0) as u32;
            let seen = recorder.seen(Packet { tag, ..*packet }, |segment| self.blocks.carried(segment));
            tell(recorder, &seen);
        }
    }
}

impl Observer for Counting<'_> {
    fn header(&self, packet: &Packet) -> Header {
        match self.replay {
            Some(arrivals) => arrivals.header(unpacked(packet, true).0.seq() as usize),
            None => self.headers.of(packet, self.blocks),
        }
    }

    #[inline(always)]
    fn arrived(&mut self, packet: &Packet, now: Time, length: u64) {
        self.record(packet, |recorder, seen| recorder.arrived(seen, now, length));
    }

    #[inline(always)]
    fn marked(&mut self, packet: &Packet, _now: Time) {
        let (segment, _) = unpacked(packet, self.replay.is_some());
        self.arrivals[segment.flow() as usize].marks += 1;
        self.recorder.iter_mut().for_each(|recorder| recorder.marked(packet.flow as u32));
    }

    #[inline(always)]
    fn dropped(&mut self, packet: &Packet, _now: Time, reason: Reason) {
        self.dropped.push(unpacked(packet, self.replay.is_some()).0);
        self.record(packet, |recorder, seen| recorder.dropped(seen, reason));
    }

    #[inline(always)]
    fn remaining(&mut self, now: Time, length: u64) {
        self.recorder.iter_mut().for_each(|recorder| recorder.remaining(now, length));
    }

    #[inline(always)]
    fn departed(&mut self, packet: &Packet, now: Time, length: u64) {
        self.record(packet, |recorder, seen| recorder.departed(seen, now, length));
    }
}

/// The arrivals of a replay, if there are any.
#[inline(always)]
fn replayed(arrivals: &record::Arrivals) -> Option<&record::Arrivals> {
    (!arrivals.packets.is_empty()).then_some(arrivals)
}

impl<Q: EventQueue> Engine<Q> {
    /// `packet`, the queue's view of `segment`, arrives at the port of `link`. It carries the rest of the segment and
    /// the `lane` of its next event, so that a departure reads no other memory.
    #[inline(always)]
    pub(super) fn offer(&mut self, link: u32, segment: Segment, packet: Packet, lane: u8, key: Key) {
        self.offer_at(link, segment, packet, lane, key.now, key.scheduled, key.number);
    }

    /// The same with the parts of a [`Key`], which stay in registers.
    #[inline(never)]
    #[allow(clippy::too_many_arguments)]
    pub(super) fn offer_at(
        &mut self,
        link: u32,
        segment: Segment,
        mut packet: Packet,
        lane: u8,
        now: f64,
        scheduled: f64,
        number: u64,
    ) {
        let key = Key { now, scheduled, number };
        let at = &self.net.links[link as usize];
        let Some((port, recorder)) = self.net.ports[at.port as usize].stepped() else { return };
        port.note_idle(|| at.free_since(key));
        (packet.tag, packet.note) = segment.packed(lane.into());
        let mut observer = Counting {
            recorder,
            arrivals: &mut self.net.arrivals,
            dropped: &mut self.dropped,
            applications: &self.applications,
            headers: &self.headers,
            blocks: &self.blocks,
            replay: replayed(&self.replay),
        };
        let now = Time::from_seconds(key.now);
        if port.may_pass() {
            let left = port.pass(packet, now, &mut observer);
            self.settle_drops(key.now);
            if let Some(packet) = left {
                let segment = segment.with_bits(segment.bits() & !CE | packet.ecn as u8);
                self.transmit(link, segment, lane, key.now, key.scheduled);
            }
            return;
        }
        let next = port.arrive(packet, now, &mut observer);
        self.settle_drops(key.now);
        match next {
            Next::Dequeue => self.dequeue(link, key.now, key.scheduled),
            Next::ScheduleEnd => self.push_transmission_end(link),
            Next::Nothing => {}
        }
    }

    /// A transmission from a port ends, or (`release`) a shaper lets its next packet go, if it still holds it until now.
    #[inline(always)]
    pub(super) fn on_port_transmission_end(&mut self, link: u32, release: bool, now: f64, scheduled: f64) {
        let at = &self.net.links[link as usize];
        let Some((port, _)) = self.net.ports[at.port as usize].stepped() else { return };
        if release && port.held_until().map(Time::seconds) != Some(now) {
            return;
        }
        port.on_transmission_end(Time::from_seconds(now));
        self.dequeue(link, now, scheduled);
    }

    /// The link of a stepped port is ready: it dequeues a packet or becomes idle.
    pub(super) fn dequeue(&mut self, link: u32, now: f64, scheduled: f64) {
        let at = &self.net.links[link as usize];
        let Some((port, recorder)) = self.net.ports[at.port as usize].stepped() else { return };
        let mut observer = Counting {
            recorder,
            arrivals: &mut self.net.arrivals,
            dropped: &mut self.dropped,
            applications: &self.applications,
            headers: &self.headers,
            blocks: &self.blocks,
            replay: replayed(&self.replay),
        };
        let before = port.held_until();
        let departure = port.dequeue(Time::from_seconds(now), &mut observer);
        let held = port.held_until().filter(|_| port.held_until() != before);
        self.settle_drops(now);
        let Some(Departure { packet, wants_end }) = departure else {
            if let Some(until) = held {
                self.schedule_release(link, until.seconds(), now);
            }
            return;
        };
        let (segment, lane) = unpacked(&packet, !self.replay.packets.is_empty());
        self.net.must_know(segment, Q::LARGE);
        self.transmit(link, segment, lane, now, scheduled);
        if wants_end {
            self.push_transmission_end(link);
        }
    }

    /// A shaper lets the next packet of a port's queue go at `until`. The event has the number of the port's timer, for
    /// the same reason.
    fn schedule_release(&mut self, link: u32, until: f64, now: f64) {
        let number = u64::from(self.net.links[link as usize].port);
        let segment = Segment::new(link, RELEASE, 0, 0);
        self.queue.push(Event::new(until, now, 0, number, Kind::TransmissionEnd, segment), 3);
    }

    /// Counts the packets that a port dropped in one call; their memory is reused.
    #[inline(always)]
    fn settle_drops(&mut self, now: f64) {
        if self.dropped.is_empty() {
            return;
        }
        let mut victims = std::mem::take(&mut self.dropped);
        for &victim in &victims {
            self.net.must_know(victim, Q::LARGE);
            self.dropped(victim, now);
        }
        victims.clear();
        self.dropped = victims;
    }

    /// A port dropped `segment` at `now`.
    #[inline(always)]
    pub(super) fn dropped(&mut self, segment: Segment, now: f64) {
        self.note_loss(segment, now);
        self.net.arrivals[segment.flow() as usize].drops += 1;
        if self.small_queues {
            self.note_drop_at_sender(&segment, now);
        }
        self.forget(&segment, Ending::Dropped, now);
        let made = self.net.step(segment.flow(), segment.hop(), Q::LARGE).made();
        count_at(&mut self.losses_by_distance, made);
    }

    /// Counts a lost packet, but no ACK.
    #[inline(always)]
    pub(super) fn note_loss(&mut self, segment: Segment, now: f64) {
        if let Some(losses) = self.losses.as_mut().filter(|_| !self.blocks.is_pure_ack(&segment)) {
            losses.lost(segment, now);
        }
    }

    /// A packet's time to live expires at `now`.
    #[inline(never)]
    pub(super) fn expired(&mut self, segment: Segment, now: f64) {
        self.forget(&segment, Ending::Expired, now);
        if now >= self.settings.warmup && now < self.settings.duration {
            self.rare(segment.flow()).expired += 1;
        }
    }

    /// A segment disappears before its arrival: frees what was kept for it.
    #[inline(always)]
    pub(super) fn forget(&mut self, segment: &Segment, ending: Ending, now: f64) {
        self.opening -= u32::from(segment.bits() & SYN != 0);
        if segment.bits() & SACK != 0 {
            self.blocks.free(*segment);
        }
        if self.rtp.has(segment.flow()) {
            self.lost_rtp(segment);
        }
        if self.outside.has(segment.flow()) {
            self.end_outside(segment, ending, now);
        }
    }

    /// The rarely used counters of a flow.
    pub(super) fn rare(&mut self, flow: u32) -> &mut Rare {
        if self.rare.is_empty() {
            self.rare = vec![Rare::default(); self.specs.len()];
        }
        &mut self.rare[flow as usize]
    }

    /// Schedules a policy's timer, first among the events of its time that were scheduled simultaneously. It takes no
    /// number from the counter, since folds give arrivals their numbers ahead of time: the counter would order the two
    /// differently in different plans.
    pub(super) fn schedule_policy_timer(&mut self, port: u32, now: f64) {
        if let Some(time) = self.net.ports[port as usize].next_timer() {
            let segment = Segment::new(port, 0, 0, 0);
            let event = Event::new(time.seconds(), now, 0, u64::from(port), Kind::PolicyTimer, segment);
            self.queue.push(event, 3);
        }
    }

    /// The timer of a port's policy expires. Those after it, as long as nothing else happens, need no events of their own.
    pub(super) fn on_policy_timer(&mut self, port: u32, key: Key) {
        let next = self.queue.next_time(&mut self.net);
        let until = if next < f64::INFINITY.to_bits() { f64::from_bits(next).min(self.end) } else { self.end };
        let at = &mut self.net.ports[port as usize];
        let link = &self.net.links[at.link as usize];
        at.on_timer(link, key);
        let mut last = key.now;
        if let Some((count, time)) = at.on_timers(link, key.now, until) {
            self.events += count;
            last = time.seconds();
        }
        self.schedule_policy_timer(port, last);
    }
}

/// Increments the count of a distance.
#[inline(never)]
fn count_at(counts: &mut Vec<u64>, distance: u8) {
    let at = usize::from(distance);
    if counts.len() <= at {
        counts.resize(at + 1, 0);
    }
    counts[at] += 1;
}
