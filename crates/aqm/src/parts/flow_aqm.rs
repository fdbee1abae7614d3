//! An AQM in every queue of [`FairQueues`]: all of FQ-CoDel, FQ-PIE and FQ-COBALT but that AQM.

use super::fair::{self, FairQueues};
use crate::discipline::{Admitted, Built, OnDrop};
use crate::gate::Counters;
use crate::policy::{Limit, Reason};
use crate::random::Generator;
use crate::{Discipline, Header, Packet, Time};

/// What the AQM sees of the discipline.
pub struct Queues {
    /// The queues and their scheduler.
    pub fair: FairQueues,
    /// Packets or bytes of all queues.
    pub limit: Limit,
    /// Whether packets are marked.
    pub ecn: bool,
    /// Random numbers.
    pub random: Generator,
    /// Counts since the last reset.
    pub counters: Counters,
}

impl Queues {
    /// Whether `packet` fits into `queue`, which becomes active either way, as in ns-3.
    pub fn activates_and_fits(&mut self, queue: usize, packet: &Packet) -> bool {
        self.fair.activate(queue);
        self.fair.fits(queue, packet, self.limit)
    }
}

/// The AQM.
pub trait FlowAqm: Send {
    /// What the AQM remembers of a queue.
    type State: Clone + Send;

    /// The state of a queue without a past.
    fn fresh(&self) -> Self::State;

    /// `packet`, with this DSCP, arrives at `queue`: the note on it ([`FairQueues::note`]), or why it is dropped.
    fn arrive(
        &mut self,
        state: &mut Self::State,
        queue: usize,
        packet: &mut Packet,
        dscp: u8,
        now: Time,
        queues: &mut Queues,
    ) -> Result<bool, Reason>;

    /// Takes the next packet of `queue`, perhaps marked, and the reason if it is dropped instead of sent.
    fn leave(
        &mut self,
        state: &mut Self::State,
        queue: usize,
        now: Time,
        queues: &mut Queues,
    ) -> Option<(Packet, Option<Reason>)>;

    /// Whether the limit is passed, so that the fattest queue must lose packets.
    fn over(&self, queues: &Queues) -> bool {
        queues.fair.exceeds(queues.limit)
    }

    /// The fattest queue has lost `dropped` packets.
    fn overflowed(&self, _state: &mut Self::State, _dropped: u32) {}

    /// Whether the AQM must know the DSCP of arrivals.
    fn reads_dscp(&self) -> bool {
        false
    }

    /// When the AQM's timer must run next.
    fn next_timer(&self) -> Option<Time> {
        None
    }

    /// The timer has expired.
    fn on_timer(&mut self, _states: &mut [Self::State], _fair: &FairQueues) {}

    /// Calls `out` with the name and value of each gauge.
    fn gauges(&self, _states: &[Self::State], _out: &mut dyn FnMut(&'static str, f64)) {}
}

/// The discipline.
pub struct FlowQueues<A: FlowAqm> {
    /// The AQM.
    pub aqm: A,
    /// What the AQM remembers of each queue.
    pub states: Vec<A::State>,
    /// The queues and what they share.
    pub queues: Queues,
}

impl<A: FlowAqm + 'static> FlowQueues<A> {
    /// Empty queues.
    pub fn new(aqm: A, fair: fair::Settings, limit: Limit, ecn: bool, mut random: Generator) -> Self {
        let fair = FairQueues::new(fair, &mut random);
        let states = vec![aqm.fresh(); fair.len()];
        FlowQueues { aqm, states, queues: Queues { fair, limit, ecn, random, counters: Counters::default() } }
    }

    /// [`FlowQueues::new`], ready to run.
    pub fn built(aqm: A, fair: fair::Settings, limit: Limit) -> Built {
        Built::Discipline(Box::new(move |ecn, random| Box::new(Self::new(aqm, fair, limit, ecn, random))))
    }

    /// RFC 8290, 4.1.
    #[inline(always)]
    fn take(&mut self, mut packet: Packet, dscp: u8, now: Time, on_drop: &mut OnDrop<'_>) -> Option<Admitted> {
        let FlowQueues { aqm, states, queues } = self;
        queues.counters.arrivals += 1;
        queues.counters.arrived_bytes += u64::from(packet.size);
        let (queue, fresh) = queues.fair.classify(packet.flow);
        if fresh {
            states[queue] = aqm.fresh();
        }
        let before = packet.ecn;
        let note = match aqm.arrive(&mut states[queue], queue, &mut packet, dscp, now, queues) {
            Ok(note) => note,
            Err(reason) => {
                queues.counters.drop(reason);
                on_drop(&packet, reason);
                return None;
            }
        };
        packet.admit(now);
        queues.fair.push_noted(queue, packet, note);
        while aqm.over(queues) {
            let batch = queues.fair.drop_batch(&mut queues.counters, on_drop);
            let Some((fattest, dropped)) = batch else { break };
            aqm.overflowed(&mut states[fattest], dropped);
        }
        // The arrival was the last packet of its queue: if it is gone, the queue is empty.
        (queues.fair.packets_in(queue) > 0).then_some(Admitted(packet.ecn != before))
    }
}

impl<A: FlowAqm + 'static> Discipline for FlowQueues<A> {
    fn enqueue(&mut self, packet: Packet, now: Time, on_drop: &mut OnDrop<'_>) -> Option<Admitted> {
        self.take(packet, (packet.class & 7) << 3, now, on_drop)
    }

    fn enqueue_with(
        &mut self,
        packet: Packet,
        header: &Header,
        now: Time,
        on_drop: &mut OnDrop<'_>,
    ) -> Option<Admitted> {
        self.take(packet, header.dscp, now, on_drop)
    }

    fn reads_headers(&self) -> bool {
        self.aqm.reads_dscp()
    }

    /// RFC 8290, 4.2.
    fn dequeue(&mut self, now: Time, on_drop: &mut OnDrop<'_>) -> Option<Packet> {
        let FlowQueues { aqm, states, queues } = self;
        while let Some(queue) = queues.fair.turn() {
            while let Some((packet, dropped)) = aqm.leave(&mut states[queue], queue, now, queues) {
                if let Some(reason) = dropped {
                    queues.counters.drop(reason);
                    on_drop(&packet, reason);
                    continue;
                }
                queues.fair.charge(queue, packet.size);
                queues.counters.depart(&packet);
                return Some(packet);
            }
            queues.fair.emptied(queue);
        }
        None
    }

    fn packets(&self) -> u64 {
        self.queues.fair.packets()
    }

    fn bytes(&self) -> u64 {
        self.queues.fair.bytes()
    }

    fn counters(&self) -> &Counters {
        &self.queues.counters
    }

    fn reset_counters(&mut self) {
        self.queues.counters = Counters::default();
    }

    fn next_timer(&self) -> Option<Time> {
        self.aqm.next_timer()
    }

    fn on_timer(&mut self, _now: Time) {
        self.aqm.on_timer(&mut self.states, &self.queues.fair);
    }

    fn gauges(&self, out: &mut dyn FnMut(&'static str, f64)) {
        self.queues.fair.gauges(out);
        self.aqm.gauges(&self.states, out);
    }

    fn waiting(&self, out: &mut dyn FnMut(usize, &Packet)) {
        self.queues.fair.each(out);
    }
}
