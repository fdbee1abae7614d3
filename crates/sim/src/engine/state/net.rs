//! Links, routes and flows in the form that every event needs: senders and receivers with their timers, counters.
#![allow(unsafe_code)]

use super::hosts::stamped_ack;
use super::link::{Alike, Fold, Link};
use super::order::{Key, START};
use super::port::Port;
use super::routes::{Lag, Route, Routes, Step, TimesToLive};
use crate::engine::network::{FlowSettings, FlowSpec};
use crate::events::{Event, Kind};
use crate::prefetch::{prefetch, prefetch_rows};
use earlydrop_net::tcp::{Receiver, Sender};
use earlydrop_net::{Segment, Wire};

/// Links, routes, flows and ports: what the event queue may look at ahead of time.
pub struct Net {
    /// Links with events.
    pub links: Box<[Link]>,
    /// Links without, and what they have in common.
    pub folds: Box<[Fold]>,
    pub alike: Box<[Alike]>,
    pub routes: Routes,
    pub steps: Box<[Step]>,
    /// By hop, as `steps`.
    pub lags: Box<[Lag]>,
    pub times_to_live: TimesToLive,
    pub flows: Box<[Flow]>,
    pub arrivals: Box<[Arrivals]>,
    pub ports: Box<[Port]>,
    /// For prefetching with many queues: port or `NONE` by link, and the address of its discipline by port. Small
    /// enough to stay in the cache.
    pub port_of: Vec<u32>,
    pub disciplines: Vec<usize>,
    /// End of the run, s.
    pub end: f64,
    /// In a large network, the number of prefetch stages: one with many flows, [`STAGES`] with many queues.
    pub stages: usize,
    /// Rows of a flow that are prefetched: links with events, and without.
    pub own_links: (u32, u32),
}

/// Slots of the event queue by which prefetching is ahead.
pub const STAGES: usize = 2;

impl Net {
    /// A hop of a flow; `large` as the event queue.
    #[inline(always)]
    pub fn step(&self, flow: u32, hop: usize, large: bool) -> Step {
        self.step_of(self.routes.of(flow, large), hop)
    }

    /// The same with a known route.
    #[inline(always)]
    pub fn step_of(&self, route: Route, hop: usize) -> Step {
        // SAFETY: a segment's hop is one of its flow's route, which ends at a host; `must_know` tests those from a queue.
        route.step(unsafe { *self.steps.get_unchecked(route.place(hop)) })
    }

    /// A queue, which may be another's code, gave `segment` back. Everything behind it takes the numbers in it as they
    /// are.
    ///
    /// # Panics
    /// If it is not a segment at a hop of a flow.
    #[inline(always)]
    pub fn must_know(&self, segment: Segment, large: bool) {
        let route = self.routes.of(segment.flow(), large);
        assert!(
            segment.kind().is_none()
                && (segment.flow() as usize) < self.flows.len()
                && route.place(segment.hop() + 1) < self.steps.len(),
            "a queue gave back a packet that it was not given"
        );
    }

    /// When a packet of `size` bytes that starts at `start` has passed the link of the hop at `place`, where it never
    /// waits.
    #[inline(always)]
    pub fn passed(&self, route: Route, place: usize, size: u16, start: f64) -> f64 {
        // SAFETY: `lags` is as long as `steps`, where the caller has found `place`.
        let lag = unsafe { *self.lags.get_unchecked(place) };
        if lag.size == size {
            return start + lag.seconds;
        }
        let alike = &self.alike[self.folds[route.fold(&self.steps[place]) as usize].alike as usize];
        Wire::new(alike.rate_bps, alike.delay_s).arrival(start, size)
    }

    /// A link with events, without comparing its row with their number.
    ///
    /// # Safety
    /// The row is that of a hop, or of a merge's origin.
    #[inline(always)]
    pub unsafe fn link_unchecked(&mut self, row: u32) -> &mut Link {
        // SAFETY: the plan has given it to a link.
        unsafe { self.links.get_unchecked_mut(row as usize) }
    }

    /// The same for a link without events.
    ///
    /// # Safety
    /// The row is that of a hop.
    #[inline(always)]
    pub unsafe fn fold_unchecked(&mut self, row: u32) -> (&mut Fold, &Alike) {
        // SAFETY: the plan has given it to a link, and each link a row of what it has in common with others.
        unsafe {
            let fold = self.folds.get_unchecked_mut(row as usize);
            let alike = self.alike.get_unchecked(fold.alike as usize);
            (fold, alike)
        }
    }

    /// The same for the state of a flow.
    ///
    /// # Safety
    /// There is such a flow.
    #[inline(always)]
    pub unsafe fn flow_unchecked(&mut self, flow: u32) -> &mut Flow {
        // SAFETY: the caller's.
        unsafe { self.flows.get_unchecked_mut(flow as usize) }
    }

    /// Prefetches all state of a flow, assuming that its own links are adjacent.
    #[inline(always)]
    pub fn prefetch(&self, flow: u32) {
        prefetch(&self.flows, flow as usize);
        prefetch(&self.arrivals, flow as usize);
        let route = self.routes.of(flow, true);
        for link in route.first as usize..(route.first + self.own_links.0) as usize {
            prefetch(&self.links, link);
        }
        prefetch_rows(&self.folds, route.first_fold as usize, self.own_links.1 as usize);
    }
}

/// A flow's sender with its timer, in whole cache lines.
#[repr(align(64))]
pub struct Flow {
    pub sender: Sender,
    /// When the timer expires, and the event that scheduled it.
    pub deadline: f64,
    pub armed_at: f64,
    pub armed_cause: f64,
    pub armed_number: u64,
    /// Time of the flow's entry in the event queue.
    pub entry: f64,
    /// ACKs in flight by events, where the sender processes others ahead of time.
    pub acks_coming: u32,
    /// Sizes on the wire, bytes: of a segment, and of one without payload.
    pub wire: u16,
    pub header: u16,
    /// At a link of its own without events, of the first transmission since that was idle: when the event that started it
    /// was scheduled, in ticks, and its number.
    pub chain_cause: u64,
    pub chain_number: u64,
}

impl Flow {
    /// The event of the timer's current time, as the flow's entry in the event queue.
    pub fn timer_event(&mut self, flow: u32) -> Event {
        self.entry = self.deadline;
        let (at, cause, number) = (self.armed_at, self.armed_cause.to_bits(), self.armed_number);
        Event::new(self.deadline, at, cause, number, Kind::Timer, Segment::new(flow, 0, 0, 0))
    }
}

/// A flow's receiver, and its counters, in one cache line.
#[repr(align(64))]
pub struct Arrivals {
    pub receiver: Receiver,
    pub in_order: u32,
    pub received: u32,
    pub delay_ticks: u64,
    /// At ports, within the window.
    pub drops: u32,
    pub marks: u32,
}

const _: () = assert!(std::mem::size_of::<Flow>() == 192 && std::mem::size_of::<Arrivals>() == 64);

/// Rarely used counters, allocated on first use.
#[derive(Clone, Copy, Debug, Default)]
pub struct Rare {
    /// Packets lost on links.
    pub lost: u32,
    /// Packets whose time to live expired.
    pub expired: u32,
    /// Before the window, or by previous senders: retransmitted segments and timeouts.
    pub retransmits_before: u32,
    pub timeouts_before: u32,
}

/// Delayed-ACK timer of a receiver. It has one entry in the event queue, which is postponed if it is due early.
pub struct AckTimer {
    /// The segment whose ACK is delayed, and until when; infinite if there is none.
    pub segment: Segment,
    pub deadline: f64,
    pub armed: Key,
    pub number: u64,
    /// Time of the entry in the event queue.
    pub entry: f64,
}

/// Timers for all flows, if any delays ACKs.
pub fn ack_timers(specs: &FlowSettings) -> Vec<AckTimer> {
    let waits = specs.kinds().iter().any(|spec| spec.options.ack_waits().next().is_some());
    let count = if waits { specs.len() } else { 0 };
    let none = || AckTimer {
        segment: Segment::default(),
        deadline: f64::INFINITY,
        armed: START,
        number: 0,
        entry: f64::INFINITY,
    };
    (0..count).map(|_| none()).collect()
}

/// A receiver of the RFC TCP: payload received within the window, bytes.
#[derive(Clone, Copy, Default)]
pub struct Payload {
    pub in_order: u64,
    pub total: u64,
    /// Size of a segment without its payload, bytes.
    pub header: u16,
    /// Size of an ACK without SACK blocks if it has time stamps, else 0.
    pub stamped_ack: u16,
}

/// Receivers of the RFC TCP; none if no flow has it.
#[derive(Default)]
pub struct Payloads {
    pub of_flow: Vec<Payload>,
}

impl Payloads {
    pub fn new(specs: &FlowSettings) -> Self {
        let any = specs.kinds().iter().any(|spec| spec.options.rfc.is_some());
        let payload = |flow| {
            let spec = specs.kind(flow);
            let header = spec.wire.saturating_sub(spec.payload);
            Payload { header, stamped_ack: stamped_ack(spec), ..Payload::default() }
        };
        Payloads { of_flow: if any { (0..specs.len() as u32).map(payload).collect() } else { Vec::new() } }
    }

    /// The payload that such a flow has received.
    pub fn counted(&self, flow: usize, spec: &FlowSpec) -> Option<(u64, u64)> {
        spec.options.rfc.as_ref()?;
        self.of_flow.get(flow).map(|payload| (payload.in_order, payload.total))
    }

    /// The same in order, in full segments.
    pub fn segments(&self, flow: usize, spec: &FlowSpec) -> Option<u32> {
        Some((self.counted(flow, spec)?.0 / u64::from(spec.payload).max(1)) as u32)
    }
}
