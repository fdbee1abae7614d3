//! What coming events will need is fetched from memory ahead. No result depends on it.

use super::Engine;
use crate::engine::state::net::{Net, STAGES};
use crate::engine::state::port::Port;
use crate::events::{Event, EventQueue, Kind, Watch};
use crate::prefetch::{prefetch, prefetch_bytes, prefetch_lines};

/// Cache lines of a port that every packet needs, and of a FIFO with its gate.
const PORT_LINES: usize = 3;
const DISCIPLINE_LINES: usize = 3;
/// Which of the next events of its kind is looked at for where it leads, and which for what is there.
const FAR: usize = 10;
const NEAR: usize = 3;
/// With many ports, where it leads and what is there, and last what its discipline has elsewhere.
const AHEAD_IN_LANE: [usize; STAGES + 1] = [2, 6, 10];

/// What the queue of events may look at.
pub(super) struct Eyes<'a> {
    pub net: &'a mut Net,
    pub ports: &'a [Port],
}

impl Watch for Eyes<'_> {
    /// A timer that has moved since is put off. It is void if it has been stopped or has another entry.
    #[inline(always)]
    fn review(&mut self, event: &mut Event) -> bool {
        if event.kind() != Kind::Timer {
            return true;
        }
        let flow = event.segment.flow();
        let state = &mut self.net.flows[flow as usize];
        if state.entry.to_bits() != event.time {
            return false;
        }
        if state.armed_number != event.number {
            if state.deadline == f64::INFINITY {
                state.entry = f64::INFINITY;
                return false;
            }
            *event = state.timer_event(flow);
        }
        true
    }

    #[inline(always)]
    fn wants_to_know(&self) -> usize {
        self.net.stages
    }

    #[inline(always)]
    fn soon(&self, event: &Event, slots: usize) {
        if self.net.stages > 1 {
            return follow(self.net, self.ports, event, slots);
        }
        if slots == 0 {
            return;
        }
        match event.kind() {
            Kind::Arrival => self.net.prefetch(event.segment.flow()),
            Kind::Timer => prefetch(&self.net.flows, event.segment.flow() as usize),
            Kind::TransmissionEnd => prefetch(&self.net.links, event.segment.flow() as usize),
            _ => {}
        }
    }
}

impl<Q: EventQueue> Engine<Q> {
    /// Asks for the memory that the next events of this kind will need: first for where to find it, then for what is
    /// there.
    #[inline(always)]
    pub(super) fn prefetch(&self) {
        self.queue.prefetch();
        if self.net.stages > 1 {
            return self.prefetch_hops();
        }
        if let Some(far) = self.queue.upcoming(FAR) {
            prefetch(&self.net.routes, far.segment.flow() as usize);
        }
        let Some(near) = self.queue.upcoming(NEAR) else { return };
        match near.kind() {
            Kind::TransmissionEnd => prefetch(&self.net.links, near.segment.flow() as usize),
            Kind::Arrival => self.net.prefetch(near.segment.flow()),
            _ => {}
        }
    }

    /// The same where there are so many queues that their state is not in the cache.
    #[inline(never)]
    fn prefetch_hops(&self) {
        for (stage, ahead) in AHEAD_IN_LANE.into_iter().enumerate().rev() {
            if let Some(event) = self.queue.upcoming(ahead) {
                follow(&self.net, &self.ports, event, stage);
            }
        }
    }
}

/// Where every hop is an event: asks for what `event` needs step by step, from the flow to its hop (stage 2, [`STAGES`]), the
/// link, its port and discipline (1), and what that has elsewhere (0), each when the one before has come.
#[inline(always)]
fn follow(net: &Net, ports: &[Port], event: &Event, stage: usize) {
    let segment = &event.segment;
    let (link, leaving) = match event.kind() {
        Kind::Arrival if stage == STAGES => {
            let route = net.routes[segment.flow() as usize];
            return prefetch(&net.steps, route.steps as usize + segment.hop());
        }
        Kind::Arrival => (net.step(segment.flow(), segment.hop()).link, false),
        Kind::TransmissionEnd => (segment.flow(), true),
        _ => return,
    };
    let Some(&port) = net.port_of.get(link as usize) else {
        if stage == 1 {
            prefetch(&net.flows, segment.flow() as usize);
            prefetch(&net.arrivals, segment.flow() as usize);
        }
        return;
    };
    if stage == 0 {
        if let Some(port) = ports.get(port as usize) {
            port.memory(leaving, &mut |first, bytes| prefetch_bytes(first, bytes));
        }
    } else if stage == 1 {
        prefetch(&net.links, link as usize);
        if let (Some(port), Some(&discipline)) = (ports.get(port as usize), net.disciplines.get(port as usize)) {
            prefetch_lines(std::ptr::from_ref(port).cast(), PORT_LINES);
            prefetch_lines(std::ptr::without_provenance(discipline), DISCIPLINE_LINES);
        }
    }
}
