//! Analytic links: a segment goes on to its next hop in the same call, through merges also ahead of time.
#![allow(unsafe_code)]

use super::prefetching::{FAR, NEAR};
use super::Engine;
use crate::engine::state::link::NONE;
use crate::engine::state::order::{AheadMerge, Hop, Key, BEHIND_SLOW_FOLD, COUNTER_BITS};
use crate::engine::state::routes::{Action, Route};
use crate::events::{Event, EventQueue, Kind};
use earlydrop_net::Segment;

/// Order of the packets of senders' own links: this bit if the packet has waited, its chain, 39 bits of the time whose
/// lower ones are in the number, and the number of the packet that started the chain.
const WAITED: u64 = 1 << 63;
const CHAIN_SHIFT: u32 = 31;
const LOW_BITS: u32 = 8;
/// Resolution of that time, ticks per second (2^26), and its last tick.
const TICKS: f64 = 67_108_864.0;
const LATEST: f64 = ((1_u64 << (CHAIN_SHIFT + LOW_BITS)) - 1) as f64;

/// The event of a segment's arrival by `hop`.
#[inline(always)]
pub(super) fn arrival(segment: Segment, hop: Hop, number: u64) -> Event {
    Event::new(hop.arrival, hop.start, hop.cause.to_bits(), number, Kind::Arrival, segment)
}

impl<Q: EventQueue> Engine<Q> {
    /// Forwards a segment through every hop that needs no event.
    #[inline(always)]
    pub(super) fn forward(&mut self, route: Route, segment: Segment, hop: Hop) {
        match self.watches {
            true => self.forward_watched(route, segment, hop),
            false => self.forward_by::<false>(route, segment, hop),
        }
    }

    /// The same past links that are passed, and to hosts ahead of time, with numbers that say so.
    #[inline(never)]
    fn forward_watched(&mut self, route: Route, segment: Segment, hop: Hop) {
        let mark = self.mark & !self.counter;
        self.counter += mark;
        self.forward_by::<true>(route, segment, hop);
        self.counter -= mark;
    }

    #[inline(always)]
    fn forward_by<const WATCHED: bool>(&mut self, route: Route, mut segment: Segment, mut hop: Hop) {
        let mut place = route.place(segment.hop());
        loop {
            // SAFETY: `place` is a hop of the route, and the last one of a route leads to a host, where this returns.
            let step = unsafe { *self.net.steps.get_unchecked(place) };
            match step.action() {
                Action::Through => {
                    let (start, cause) = (hop.arrival, hop.start);
                    let arrival = self.net.passed(route, place, segment.size(), start);
                    hop = Hop { arrival, start, cause, order: hop.order };
                }
                Action::Fold => hop = self.relay_fold(route.fold(&step), hop, segment.size()),
                Action::SlowFold => hop = self.relay_slow_fold(route.fold(&step), hop, &segment),
                Action::Receiver if WATCHED && step.passes() && !self.reaches(segment, false, hop) => return,
                Action::Receiver => {
                    let Some(ack) = self.receive(segment, hop.arrival, hop.start, 0) else { return };
                    segment = ack;
                    place = route.place(ack.hop());
                    continue;
                }
                Action::Sink => return self.sink(segment, hop.arrival),
                Action::Expired => return self.expired(segment, hop.arrival),
                Action::RecordedSink => return self.recorded_sink(segment, hop.arrival),
                Action::Ahead => {
                    let link = route.link(&step);
                    if !self.may_pass(link, hop) {
                        return self.hold(link, hop, segment);
                    }
                    hop = Hop { order: 0, ..self.relay(link, hop, segment.size()) };
                }
                Action::SenderAhead if WATCHED && self.mark > 0 => {
                    if !self.reaches(segment, true, hop) {
                        return;
                    }
                    self.counter += 1;
                    let key = Key { now: hop.arrival, scheduled: hop.start, number: self.counter };
                    return self.answer(segment, key);
                }
                Action::SenderAhead if self.may_answer(&segment, hop) => {
                    self.counter += 1;
                    let key = Key { now: hop.arrival, scheduled: hop.start, number: self.counter };
                    return self.answer(segment, key);
                }
                Action::AtEvent if WATCHED && step.passes() => {
                    let link = route.link(&step);
                    let Some(passed) = self.pass(link, hop, segment.size()) else {
                        self.counter += 1;
                        self.net.links[link as usize].port += 1;
                        return self.push_arrival(segment, hop, self.counter, step.lane());
                    };
                    hop = passed;
                }
                _ => {
                    self.counter += 1;
                    let number = hop.number(self.counter);
                    if step.action() == Action::SenderAhead {
                        self.net.flows[segment.flow() as usize].acks_coming += 1;
                    }
                    return self.push_arrival(segment, hop, number, step.lane());
                }
            }
            segment = segment.at_next_hop();
            place += 1;
        }
    }

    #[inline(always)]
    pub(super) fn push_arrival(&mut self, segment: Segment, hop: Hop, number: u64, lane: u8) {
        self.queue.push(arrival(segment, hop, number), lane);
    }

    /// A packet that will come by `hop` passes `link` already now, if the link is idle then and nothing that is ordered by
    /// number can come between (`docs/engine.md`, "Passed links").
    #[inline(always)]
    fn pass(&mut self, link: u32, hop: Hop, bytes: u16) -> Option<Hop> {
        let at = &mut self.net.links[link as usize];
        let idle = at.head == NONE && at.port == 0 && at.wire.free < hop.arrival;
        if !idle || !(self.mark > 0 || self.instant.passes(hop, self.counter)) {
            return None;
        }
        self.counter += 1;
        at.reserved = self.counter;
        at.cause = hop.start;
        let arrival = at.wire.send(hop.arrival, bytes);
        Some(Hop { arrival, start: hop.arrival, cause: hop.start, order: 0 })
    }

    /// A packet that comes by `hop` passes the analytic `link`.
    #[inline(always)]
    pub(super) fn relay(&mut self, link: u32, hop: Hop, bytes: u16) -> Hop {
        // SAFETY: of a hop.
        let at = unsafe { self.net.link_unchecked(link) };
        let (start, arrival, cause) = at.wire.relay(hop.arrival, hop.start, bytes);
        Hop { arrival, start, cause, order: hop.order }
    }

    /// The same over a fold.
    #[inline(always)]
    fn relay_fold(&mut self, fold: u32, hop: Hop, bytes: u16) -> Hop {
        // SAFETY: of a hop.
        let (at, alike) = unsafe { self.net.fold_unchecked(fold) };
        let (start, arrival, cause) = at.relay(alike, hop.arrival, hop.start, bytes);
        Hop { arrival, start, cause, order: hop.order }
    }

    /// The same over a slow fold, where packets may wait.
    #[inline(always)]
    fn relay_slow_fold(&mut self, fold: u32, hop: Hop, segment: &Segment) -> Hop {
        // SAFETY: of a hop.
        let (at, alike) = unsafe { self.net.fold_unchecked(fold) };
        let before = at.started;
        let (start, arrival, chain) = at.pass(alike, segment, hop.arrival, hop.start);
        let cause = if chain > 0 { before } else { hop.start };
        Hop { arrival, start, cause, order: BEHIND_SLOW_FOLD | u64::from(chain) << COUNTER_BITS }
    }

    /// A sender transmits over its own link, which needs no events.
    ///
    /// Two packets that start simultaneously on two such links are ordered by their chains, then by the events that
    /// started these (`docs/engine.md`, rule 7).
    #[inline(always)]
    pub(super) fn send_over_own(&mut self, fold: u32, lane: u8, segment: Segment, key: Key) {
        // SAFETY: of a hop.
        let (at, alike) = unsafe { self.net.fold_unchecked(fold) };
        let (start, arrival, chain) = at.pass(alike, &segment, key.now, key.scheduled);
        // SAFETY: the segment's flow, which sends it.
        let flow = unsafe { self.net.flow_unchecked(segment.flow()) };
        let (cause, number) = if chain > 0 {
            let begin = flow.chain_cause;
            (WAITED | u64::from(chain) << CHAIN_SHIFT | begin >> LOW_BITS, begin << (64 - LOW_BITS) | flow.chain_number)
        } else {
            self.counter += 1;
            flow.chain_cause = (key.scheduled * TICKS).min(LATEST) as i64 as u64;
            flow.chain_number = self.counter;
            (key.scheduled.to_bits(), self.counter)
        };
        let segment = segment.at_next_hop();
        self.queue.push(Event::new(arrival, start, cause, number, Kind::Arrival, segment), lane);
    }
}

/// Merges that packets pass ahead of time.
impl<Q: EventQueue> Engine<Q> {
    /// The merge at the row of a link, and the time before which packets may pass it: nothing still to leave the origin
    /// can arrive earlier.
    ///
    /// # Safety
    /// The row is that of a hop that leads to such a merge.
    #[inline(always)]
    unsafe fn merge_unchecked(&mut self, link: u32) -> (&mut AheadMerge<Q>, f64) {
        // SAFETY: the caller's; the link has the number of its merge, and the merge the row of its origin.
        let merge = unsafe {
            let number = self.net.link_unchecked(link).port;
            self.merges.get_unchecked_mut(number as usize)
        };
        let latency = if self.opening == 0 { merge.early.latency } else { merge.early.latency_of_syn };
        // SAFETY: as above.
        let until = unsafe { self.net.link_unchecked(merge.early.origin) }.wire.free + latency;
        (merge, until)
    }

    /// Whether a packet that arrives at a merge by `hop` may pass immediately.
    #[inline(always)]
    pub(super) fn may_pass(&mut self, link: u32, hop: Hop) -> bool {
        // SAFETY: of a hop whose action is `Ahead`.
        let (merge, until) = unsafe { self.merge_unchecked(link) };
        hop.arrival < until && merge.first == f64::INFINITY
    }

    /// Holds a packet until none can arrive before it at a merge. That may release others.
    #[inline(never)]
    pub(super) fn hold(&mut self, link: u32, hop: Hop, segment: Segment) {
        self.counter += 1;
        let event = arrival(segment, hop, hop.number(self.counter));
        // SAFETY: as in `may_pass`.
        unsafe { self.merge_unchecked(link) }.0.hold(event);
        self.pass_pending(link, hop.start, f64::NEG_INFINITY);
    }

    /// Passes all held packets of a merge that may pass, and all that arrive up to `now`, since unknown ones arrive
    /// later. For the others schedules an event, unless there is one.
    #[inline(never)]
    fn pass_pending(&mut self, link: u32, scheduled: f64, now: f64) {
        // SAFETY: as in `may_pass`; this and an event of this come from `hold`.
        let (merge, until) = unsafe { (self.net.link_unchecked(link).port as usize, self.merge_unchecked(link).1) };
        loop {
            // SAFETY: as above.
            let held = unsafe { self.merges.get_unchecked_mut(merge) };
            let first = held.first;
            if first > now && first >= until {
                if first < held.wake {
                    held.wake = first;
                    let key = Key { now: scheduled, scheduled, number: 0 };
                    self.schedule(first, key, Kind::MergeTurn, link);
                }
                return;
            }
            let Some(event) = held.release(&mut self.net) else { return };
            if Q::LARGE {
                self.net.prefetch_for(held.upcoming(FAR), held.upcoming(NEAR));
            }
            let (segment, order) = (event.segment, 0);
            let hop =
                Hop { arrival: f64::from_bits(event.time), start: f64::from_bits(event.scheduled), cause: 0.0, order };
            let hop = self.relay(link, hop, segment.size());
            let route = self.net.routes.of(segment.flow(), Q::LARGE);
            self.forward(route, segment.at_next_hop(), hop);
        }
    }

    /// An event of [`Engine::pass_pending`]; void if an earlier one has been scheduled since.
    pub(super) fn on_merge_turn(&mut self, link: u32, now: f64) {
        let merge = &mut self.merges[self.net.links[link as usize].port as usize];
        if merge.wake == now {
            merge.wake = f64::INFINITY;
            self.pass_pending(link, now, now);
        }
    }
}
