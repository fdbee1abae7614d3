//! Links, routes and flows in the form that every event needs: senders and receivers with their timers, counters.

use super::link::Link;
use super::order::{Key, START};
use super::port::Port;
use super::routes::{Lag, Route, Step, OWN_LINKS};
use crate::engine::network::{FlowSettings, FlowSpec};
use crate::events::{Event, Kind};
use crate::prefetch::prefetch;
use crate::table::Table;
use earlydrop_net::tcp::{Receiver, Sender};
use earlydrop_net::Segment;

/// Links, routes, flows and ports: what the event queue may look at ahead of time.
pub struct Net {
    pub links: Table<Link>,
    pub routes: Table<Route>,
    pub steps: Table<Step>,
    /// By hop, as `steps`.
    pub lags: Table<Lag>,
    /// By flow: time to live at the sender, and at the receiver.
    pub times_to_live: Table<(u8, u8)>,
    pub flows: Table<Flow>,
    pub arrivals: Table<Arrivals>,
    pub ports: Table<Port>,
    /// For prefetching with many queues: port or `NONE` by link, and the address of its discipline by port. Small
    /// enough to stay in the cache.
    pub port_of: Vec<u32>,
    pub disciplines: Vec<usize>,
    /// Number of prefetch stages: none if everything fits into the cache, one with many flows, [`STAGES`] with many
    /// queues.
    pub stages: usize,
}

/// Slots of the event queue by which prefetching is ahead.
pub const STAGES: usize = 2;

impl Net {
    /// A hop of a flow.
    #[inline(always)]
    pub fn step(&self, flow: u32, hop: usize) -> Step {
        self.step_of(self.routes[flow as usize], hop)
    }

    /// The same with a known route.
    #[inline(always)]
    pub fn step_of(&self, route: Route, hop: usize) -> Step {
        route.step(self.steps[route.place(hop)])
    }

    /// A queue, which may be another's code, gave `segment` back. Everything behind it takes the numbers in it as they
    /// are.
    ///
    /// # Panics
    /// If it is not a segment at a hop of a flow.
    #[inline(always)]
    pub fn must_know(&self, segment: Segment) {
        let route = self.routes.rows()[segment.flow() as usize];
        assert!(
            segment.kind().is_none() && route.place(segment.hop() + 1) < self.steps.len(),
            "a queue gave back a packet that it was not given"
        );
    }

    /// When a packet of `size` bytes that starts at `start` has passed the link of the hop at `place`, where it never
    /// waits.
    #[inline(always)]
    pub fn passed(&self, route: Route, place: usize, size: u16, start: f64) -> f64 {
        let lag = self.lags[place];
        if lag.size == size {
            return start + lag.seconds;
        }
        self.links[route.link(&self.steps[place]) as usize].wire.arrival(start, size)
    }

    /// Prefetches all state of a flow. Its own links are adjacent if the network was built that way.
    #[inline(always)]
    pub fn prefetch(&self, flow: u32) {
        prefetch(&self.flows, flow as usize);
        prefetch(&self.arrivals, flow as usize);
        let first = self.routes[flow as usize].first as usize;
        for link in first..first + OWN_LINKS {
            prefetch(&self.links, link);
        }
    }
}

/// A flow's sender with its timer.
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
    /// Sizes on the wire.
    pub wire: u16,
    pub syn: u16,
    /// Size of a segment without its payload, bytes.
    pub header: u16,
}

impl Flow {
    /// The event of the timer's current time, as the flow's entry in the event queue.
    pub fn timer_event(&mut self, flow: u32) -> Event {
        self.entry = self.deadline;
        let (at, cause, number) = (self.armed_at, self.armed_cause.to_bits(), self.armed_number);
        Event::new(self.deadline, at, cause, number, Kind::Timer, Segment::new(flow, 0, 0, 0))
    }
}

/// A flow's receiver, and its counters.
pub struct Arrivals {
    pub receiver: Receiver,
    pub in_order: u32,
    pub received: u32,
    pub delay_ticks: u64,
    /// Size of a segment without its payload, bytes; profile `rfc`: size of an ACK without payload if it has time
    /// stamps, else 0.
    pub header: u16,
    pub stamped_ack: u16,
}

/// Counters of a flow at ports and senders, within the window.
#[derive(Clone, Copy, Debug, Default)]
pub struct Tally {
    pub drops: u32,
    pub marks: u32,
}

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

/// Payload received by flows of the `rfc` profile within the window, bytes: in order, and in total.
#[derive(Default)]
pub struct Payloads {
    pub of_flow: Vec<(u64, u64)>,
}

impl Payloads {
    pub fn new(specs: &FlowSettings) -> Self {
        let any = specs.kinds().iter().any(|spec| spec.options.rfc.is_some());
        Payloads { of_flow: if any { vec![(0, 0); specs.len()] } else { Vec::new() } }
    }

    /// The payload that a flow of this profile has received.
    pub fn counted(&self, flow: usize, spec: &FlowSpec) -> Option<(u64, u64)> {
        spec.options.rfc.as_ref()?;
        self.of_flow.get(flow).copied()
    }

    /// The same in order, in full segments.
    pub fn segments(&self, flow: usize, spec: &FlowSpec) -> Option<u32> {
        Some((self.counted(flow, spec)?.0 / u64::from(spec.payload).max(1)) as u32)
    }
}
