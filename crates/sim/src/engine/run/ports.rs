//! Stepped ports: arrivals, departures, drops, and the policy's timer.

use super::Engine;
use crate::engine::state::net::Rare;
use crate::engine::state::order::Key;
use crate::engine::state::port::{Departure, Dropped, Then};
use crate::events::{Event, EventQueue, Kind};
use earlydrop_aqm::Packet;
use earlydrop_net::segment::{SACK, SYN};
use earlydrop_net::Segment;

impl<Q: EventQueue> Engine<Q> {
    /// `packet`, the queue's view of `segment`, arrives at the port of `link`. It carries the rest of the segment and
    /// the `lane` of its next event, so that a departure reads no other memory.
    pub(super) fn offer(&mut self, link: u32, segment: Segment, mut packet: Packet, lane: u8, key: Key) {
        let at = &self.net.links[link as usize];
        let port = &mut self.ports[at.port as usize];
        port.notice_idle(at, key);
        (packet.tag, packet.note) = segment.packed(lane.into());
        let mut dropped = std::mem::take(&mut self.dropped);
        let who = |segment: &Segment| self.applications.who(segment);
        let replay = !self.replay.is_empty();
        let taken = port.enqueue(&segment, packet, key.now, &mut dropped, replay, who);
        if taken.marked {
            self.tallies[segment.flow() as usize].marks += 1;
        }
        self.drop_all(dropped, key.now);
        match taken.then {
            Then::Dequeue => self.dequeue(link, key),
            Then::End => self.push_transmission_end(link),
            Then::Nothing => {}
        }
    }

    /// The link of a stepped port is ready: it dequeues a packet or becomes idle.
    pub(super) fn dequeue(&mut self, link: u32, key: Key) {
        let port = &mut self.ports[self.net.links[link as usize].port as usize];
        let mut dropped = std::mem::take(&mut self.dropped);
        let who = |segment: &Segment| self.applications.who(segment);
        let departure = port.dequeue(key.now, &mut dropped, !self.replay.is_empty(), who);
        self.drop_all(dropped, key.now);
        let Some(Departure { segment, lane, marked, wants_end }) = departure else { return };
        if marked {
            self.tallies[segment.flow() as usize].marks += 1;
        }
        self.transmit(link, segment, lane, key.now, key.scheduled);
        if wants_end {
            self.push_transmission_end(link);
        }
    }

    /// Counts the packets that a port dropped in one call; their memory is reused.
    #[inline(always)]
    fn drop_all(&mut self, mut victims: Dropped, now: f64) {
        for &(victim, _) in &victims {
            self.dropped(victim, now);
        }
        victims.clear();
        self.dropped = victims;
    }

    /// A port dropped `segment` at `now`.
    #[inline(always)]
    pub(super) fn dropped(&mut self, segment: Segment, now: f64) {
        if let Some(losses) = &mut self.losses {
            losses.lost(segment, now);
        }
        self.tallies[segment.flow() as usize].drops += 1;
        self.forget(&segment);
        let made = self.net.step(segment.flow(), segment.hop()).made;
        count_at(&mut self.losses_by_distance, made);
    }

    /// A packet's time to live expires at `now`.
    #[inline(never)]
    pub(super) fn expired(&mut self, segment: Segment, now: f64) {
        self.forget(&segment);
        if now >= self.settings.warmup && now < self.settings.duration {
            self.rare(segment.flow()).expired += 1;
        }
    }

    /// A segment disappears before its arrival: frees what was kept for it.
    #[inline(always)]
    pub(super) fn forget(&mut self, segment: &Segment) {
        self.opening -= u32::from(segment.bits() & SYN != 0);
        if segment.bits() & SACK != 0 {
            self.blocks.free(*segment);
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
        if let Some(time) = self.ports[port as usize].next_timer() {
            let segment = Segment::new(port, 0, 0, 0);
            let event = Event::new(time.seconds(), now, 0, u64::from(port), Kind::PolicyTimer, segment);
            self.queue.push(event, 3);
        }
    }

    /// The timer of a port's policy expires.
    pub(super) fn on_policy_timer(&mut self, port: u32, key: Key) {
        let at = &mut self.ports[port as usize];
        at.notice_idle(&self.net.links[at.link as usize], key);
        at.on_timer(key.now);
        self.schedule_policy_timer(port, key.now);
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
