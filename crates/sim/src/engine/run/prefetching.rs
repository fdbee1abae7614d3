//! Prefetches the state that coming events need, in networks whose state exceeds the caches. No result depends on it.

use super::Engine;
use crate::engine::state::net::{Net, STAGES};
use crate::events::{Event, EventQueue, Kind, Upcoming};
use crate::prefetch::{prefetch, prefetch_bytes, prefetch_lines};

/// Cache lines of a port that every packet needs, and of a FIFO with its gate.
const PORT_LINES: usize = 3;
const DISCIPLINE_LINES: usize = 3;
/// How many events ahead the address is prefetched, and the state at it.
pub(super) const FAR: usize = 10;
pub(super) const NEAR: usize = 3;
/// Stages with many ports: the address, the state at it, and then the discipline's other memory.
const AHEAD_IN_LANE: [usize; STAGES + 1] = [2, 6, 10];

impl Upcoming for Net {
    /// Postpones a timer that has moved since. It is void if it was stopped, has moved beyond the end of the run or has
    /// another entry.
    #[inline(always)]
    fn revise(&mut self, event: &mut Event) -> bool {
        if event.kind() != Kind::Timer {
            return true;
        }
        let flow = event.segment.flow();
        let state = &mut self.flows[flow as usize];
        if state.entry.to_bits() != event.time {
            return false;
        }
        if state.armed_number != event.number {
            if state.deadline >= self.end {
                state.entry = f64::INFINITY;
                return false;
            }
            *event = state.timer_event(flow);
        }
        true
    }

    #[inline(always)]
    fn horizon(&self) -> usize {
        if self.stages == 1 && self.routes.follow() {
            1
        } else {
            STAGES
        }
    }

    /// With many queues what is prefetched is too little to be spread.
    #[inline(always)]
    fn one_by_one(&self) -> bool {
        self.stages == 1
    }

    #[inline(always)]
    fn due_in(&self, event: &Event, slots: usize) {
        if self.stages > 1 {
            return follow(self, event, slots);
        }
        match event.kind() {
            Kind::Arrival | Kind::Start if slots == STAGES => self.routes.prefetch(event.segment.flow()),
            Kind::Arrival | Kind::Start => self.prefetch(event.segment.flow()),
            _ if slots == STAGES => {}
            Kind::Timer => prefetch(&self.flows, event.segment.flow() as usize),
            Kind::TransmissionEnd => prefetch(&self.links, event.segment.flow() as usize),
            _ => {}
        }
    }
}

impl Net {
    /// Prefetches where the state for a far event is, and the state for a near one.
    #[inline(always)]
    pub(super) fn prefetch_for(&self, far: Option<&Event>, near: Option<&Event>) {
        if let Some(far) = far {
            self.routes.prefetch(far.segment.flow());
        }
        let Some(near) = near else { return };
        match near.kind() {
            Kind::TransmissionEnd => prefetch(&self.links, near.segment.flow() as usize),
            Kind::Arrival => self.prefetch(near.segment.flow()),
            _ => {}
        }
    }
}

impl<Q: EventQueue> Engine<Q> {
    /// Prefetches for the next events outside of the wheel: first the address, then the state at it.
    #[inline(always)]
    pub(super) fn prefetch(&self) {
        self.queue.prefetch();
        if self.net.stages > 1 {
            return self.prefetch_hops();
        }
        self.net.prefetch_for(self.queue.upcoming(FAR), self.queue.upcoming(NEAR));
    }

    /// The same with so many queues that their state exceeds the caches.
    #[inline(never)]
    fn prefetch_hops(&self) {
        for (stage, ahead) in AHEAD_IN_LANE.into_iter().enumerate().rev() {
            if let Some(event) = self.queue.upcoming(ahead) {
                follow(&self.net, event, stage);
            }
        }
    }
}

/// Prefetches for `event` where every hop is an event, step by step: from the flow to its hop (stage 2, [`STAGES`]),
/// the link, its port and discipline (1), and the discipline's other memory (0), each when the one before has arrived.
#[inline(always)]
fn follow(net: &Net, event: &Event, stage: usize) {
    let segment = &event.segment;
    let (link, leaving) = match event.kind() {
        Kind::Arrival if stage == STAGES => {
            let route = net.routes.of(segment.flow(), true);
            return prefetch(&net.steps, route.place(segment.hop()));
        }
        Kind::Arrival => (net.step(segment.flow(), segment.hop(), true).link, false),
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
        if let Some(port) = net.ports.get(port as usize) {
            port.memory(leaving, &mut |first, bytes| prefetch_bytes(first, bytes));
        }
    } else if stage == 1 {
        prefetch(&net.links, link as usize);
        if let (Some(port), Some(&discipline)) = (net.ports.get(port as usize), net.disciplines.get(port as usize)) {
            prefetch_lines(std::ptr::from_ref(port).cast(), PORT_LINES);
            prefetch_lines(std::ptr::without_provenance(discipline), DISCIPLINE_LINES);
        }
    }
}
