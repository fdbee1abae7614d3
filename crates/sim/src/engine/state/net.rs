//! Links, routes and flows as the hot path needs them: the ends of each flow with their timers, and counts.

use super::link::Link;
use super::order::{Key, START};
use super::routes::{Route, Step, OWN, OWN_LINKS};
use crate::engine::network::FlowSpec;
use crate::events::{Event, Kind};
use crate::prefetch::prefetch;
use earlydrop_net::tcp::{Receiver, Sender};
use earlydrop_net::Segment;

/// Links, and what a flow has of its own.
pub struct Net {
    pub links: Vec<Link>,
    pub routes: Vec<Route>,
    pub steps: Vec<Step>,
    /// By flow: its packets' time to live at the sender, and at the receiver.
    pub times_to_live: Vec<(u8, u8)>,
    pub flows: Vec<Flow>,
    pub arrivals: Vec<Arrivals>,
    /// Where many queues are fetched ahead: by link its port, or [`NONE`], and by port the address of its discipline. These
    /// are few enough to stay in the cache.
    pub port_of: Vec<u32>,
    pub disciplines: Vec<usize>,
    /// In how many stages to fetch ahead what events need: none where everything is in the cache, one where there are many
    /// flows, [`STAGES`] where there are many queues.
    pub stages: usize,
}

/// Slots of the event queue ahead of which the fetching begins there.
pub const STAGES: usize = 2;

impl Net {
    /// A hop of a flow.
    #[inline(always)]
    pub fn step(&self, flow: u32, hop: usize) -> Step {
        self.step_of(self.routes[flow as usize], hop)
    }

    /// The same, where the route is known.
    #[inline(always)]
    pub fn step_of(&self, route: Route, hop: usize) -> Step {
        let step = self.steps[route.steps as usize + hop];
        let own = (step.link as i32 >> 31) as u32;
        Step { link: (step.link & !OWN) + (route.first & own), ..step }
    }

    /// Asks for all that is a flow's own. Its links lie beside one another if the network has been built so.
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
    /// When the timer really expires, and by what event that was scheduled.
    pub deadline: f64,
    pub armed_at: f64,
    pub armed_cause: f64,
    pub armed_number: u64,
    /// Time of the flow's entry in the event queue.
    pub entry: f64,
    /// ACKs that come by events, where the sender takes others ahead of them.
    pub acks_coming: u32,
    /// Sizes on the wire.
    pub wire: u16,
    pub syn: u16,
    /// Of it, what is not payload.
    pub header: u16,
}

impl Flow {
    /// The event of the timer as it stands, as the flow's entry in the event queue.
    pub fn timer_event(&mut self, flow: u32) -> Event {
        self.entry = self.deadline;
        let (at, cause, number) = (self.armed_at, self.armed_cause.to_bits(), self.armed_number);
        Event::new(self.deadline, at, cause, number, Kind::Timer, Segment::new(flow, 0, 0, 0))
    }
}

/// A flow's receiver, and what has arrived there within the window.
pub struct Arrivals {
    pub receiver: Receiver,
    pub in_order: u32,
    pub received: u32,
    pub delay_ticks: u64,
    /// What is not payload of a segment on the wire, bytes; profile `rfc`: the same of an ACK that has time stamps, else 0.
    pub header: u16,
    pub stamped_ack: u16,
}

/// Per-flow counts at ports and senders within the window.
#[derive(Clone, Copy, Debug, Default)]
pub struct Tally {
    pub drops: u32,
    pub marks: u32,
}

/// The same of what hardly ever happens: room for it is made when it first does.
#[derive(Clone, Copy, Debug, Default)]
pub struct Rare {
    /// Packets lost on links.
    pub lost: u32,
    /// Packets whose time to live was used up.
    pub expired: u32,
    /// Before the window began, or the present sender: segments sent again, and timeouts.
    pub retransmits_before: u32,
    pub timeouts_before: u32,
}

/// The timer of a receiver that delays ACKs. As with the sender's, there is one entry in the event queue, which is put
/// off when it comes up early.
pub struct AckTimer {
    /// The segment whose ACK waits, and when the wait is over; infinite if none waits.
    pub segment: Segment,
    pub deadline: f64,
    pub armed: Key,
    pub number: u64,
    /// Time of the entry in the event queue.
    pub entry: f64,
}

/// Timers for all flows, if any of them delays ACKs.
pub fn ack_timers(specs: &[FlowSpec]) -> Vec<AckTimer> {
    let count = if specs.iter().any(|spec| spec.options.ack_waits().next().is_some()) { specs.len() } else { 0 };
    let none = || AckTimer {
        segment: Segment::default(),
        deadline: f64::INFINITY,
        armed: START,
        number: 0,
        entry: f64::INFINITY,
    };
    (0..count).map(|_| none()).collect()
}

/// Payload received within the window by flows of this profile, bytes: in order, and all of it.
#[derive(Default)]
pub struct Payloads {
    pub of_flow: Vec<(u64, u64)>,
}

impl Payloads {
    pub fn new(specs: &[FlowSpec]) -> Self {
        let any = specs.iter().any(|spec| spec.options.rfc.is_some());
        Payloads { of_flow: if any { vec![(0, 0); specs.len()] } else { Vec::new() } }
    }

    /// What a flow of this profile has received.
    pub fn counted(&self, flow: usize, spec: &FlowSpec) -> Option<(u64, u64)> {
        spec.options.rfc.as_ref()?;
        self.of_flow.get(flow).copied()
    }

    /// The same in order, in full segments.
    pub fn segments(&self, flow: usize, spec: &FlowSpec) -> Option<u32> {
        Some((self.counted(flow, spec)?.0 / u64::from(spec.payload).max(1)) as u32)
    }
}
