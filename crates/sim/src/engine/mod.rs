//! The run loop.

pub mod network;
pub mod plan;
mod port;
pub mod trace;

use crate::events::{Event, EventQueue, Kind};
use crate::measure::QueueStats;
use crate::prefetch::prefetch;
use earlydrop_aqm::gate::Counters;
use earlydrop_aqm::{Ecn, Packet, Time};
use earlydrop_net::tcp::{Output, Receiver, Sender};
use earlydrop_net::{Segment, Wire};
use network::{FlowSpec, Network};
use plan::{Early, Mode, Plan};
use port::{Answer, Port, Runner};
use std::collections::VecDeque;
use trace::{QueueTrace, VariableChange};

/// Size of an acknowledgement on the wire, bytes (`tcpip_base_hdr_size_`).
pub const ACK_BYTES: u16 = 40;
/// Size of the SYN on the wire, bytes.
pub const SYN_BYTES: u16 = 40;
const NONE: u32 = u32::MAX;
/// With more flows than this, the state of the flow of a coming event is fetched ahead.
const FLOWS_IN_CACHE: usize = 2000;
/// Which of the next events of its kind is looked at for where it leads, and which for what is there.
const FAR: usize = 8;
const NEAR: usize = 3;
/// Among a segment's bits: it is a SYN.
const SYN: u8 = 4;

/// What to measure and record.
#[derive(Clone, Debug, Default)]
pub struct Settings {
    /// End of the run, s.
    pub duration: f64,
    /// Begin of the measured window, s.
    pub warmup: f64,
    /// Interval of the sampled series, s.
    pub series: Option<f64>,
    /// Flows (from 0) whose windows are sampled.
    pub cwnd_flows: Vec<u32>,
    /// Queue events to keep, at port 0.
    pub trace: Option<usize>,
    /// Flow (from 0) whose variables are traced.
    pub trace_flow: Option<u32>,
}

/// Where a hop leads.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Action {
    /// An arrival event at the link.
    AtEvent,
    /// Through the link in the same call.
    Fold,
    /// Through the link in the same call if nothing can come before, else by an arrival event.
    Ahead,
    /// The receiver takes the segment at an event.
    ReceiverAtEvent,
    /// The receiver takes it in the same call, at a time to come.
    Receiver,
    /// The sender takes the ACK at an event.
    Sender,
    /// The receiver of a constant bit rate counts the packet in the same call; nothing follows.
    Sink,
}

#[derive(Clone, Copy, Debug)]
struct Step {
    link: u32,
    action: Action,
    lane: u8,
}

struct Link {
    wire: Wire,
    /// Number of the end of the present transmission, taken when it began.
    reserved: u64,
    /// Packets that wait at a plain stepped link: a list in the pool.
    head: u32,
    tail: u32,
    mode: Mode,
    /// The port, or for a merge that packets may pass ahead of time its place in `Engine::merges`.
    port: u32,
}

/// A merge that packets may pass ahead of time.
struct AheadMerge {
    early: Early,
    /// Packets on their way here by events, in the order of arrival.
    pending: VecDeque<Pending>,
}

/// A packet on its way to a merge: when it arrives, when it started, the number of its event.
struct Pending {
    arrival: f64,
    start: f64,
    number: u64,
    segment: Segment,
}

struct Flow {
    sender: Sender,
    /// When the timer really expires, and when and as what number that was scheduled.
    deadline: f64,
    armed_at: f64,
    armed_number: u64,
    /// Time of the flow's entry in the event queue.
    entry: f64,
    wire: u16,
}

struct Arrivals {
    receiver: Receiver,
    in_order: u32,
    received: u32,
    delay_ticks: u64,
}

/// Per-flow counts at ports and senders within the window.
#[derive(Clone, Copy, Debug, Default)]
struct Tally {
    drops: u32,
    marks: u32,
    retransmits_before: u32,
    timeouts_before: u32,
}

/// Sampled series.
#[derive(Clone, Debug, Default)]
pub struct Series {
    /// s.
    pub time: Vec<f64>,
    /// By port: packets waiting.
    pub packets: Vec<Vec<u64>>,
    /// By port: the policy's average, packets; NaN where it has none.
    pub average: Vec<Vec<f64>>,
    /// By port: drops since the window began.
    pub dropped: Vec<Vec<u64>>,
    /// By sampled flow: cwnd, segments.
    pub cwnd: Vec<Vec<f64>>,
}

/// What a run found at one port.
pub struct PortOutcome {
    /// Name.
    pub name: String,
    /// Discipline.
    pub aqm: String,
    /// Rate of its link, bit/s.
    pub rate_bps: f64,
    /// Counts.
    pub counters: Counters,
    /// Statistics.
    pub stats: QueueStats,
    /// Whether the policy keeps an average.
    pub has_average: bool,
    /// Packets waiting when the window began.
    pub queued_at_start: u64,
    /// Packets waiting at the end.
    pub queued_at_end: u64,
    /// Event trace, if asked for.
    pub trace: Option<Box<QueueTrace>>,
}

/// What a run found of one flow, over the window.
#[derive(Clone, Copy, Debug)]
pub struct FlowOutcome {
    /// Its settings.
    pub spec: FlowSpec,
    /// Segments delivered in order (without the SYN).
    pub in_order: u32,
    /// Segments received, duplicates included (without the SYN).
    pub received: u32,
    /// Mean time from sending to receiving, s.
    pub delay_mean: f64,
    /// Segments sent again.
    pub retransmits: u32,
    /// Timeouts.
    pub timeouts: u32,
    /// Drops at ports.
    pub drops: u32,
    /// Marks at ports.
    pub marks: u32,
}

/// Everything a run found.
pub struct Outcome {
    /// By port.
    pub ports: Vec<PortOutcome>,
    /// By flow.
    pub flows: Vec<FlowOutcome>,
    /// Sampled series.
    pub series: Option<Series>,
    /// Changes of the traced flow's variables.
    pub variables: Vec<VariableChange>,
    /// Events run.
    pub events: u64,
    /// Links run by arithmetic, and by events.
    pub links: (usize, usize),
}

/// A network in motion.
pub struct Engine<Q> {
    queue: Q,
    counter: u64,
    events: u64,
    settings: Settings,
    links: Vec<Link>,
    steps: Vec<Step>,
    /// Steps of a flow.
    stride: usize,
    flows: Vec<Flow>,
    arrivals: Vec<Arrivals>,
    tallies: Vec<Tally>,
    specs: Vec<FlowSpec>,
    ports: Vec<Port>,
    merges: Vec<AheadMerge>,
    /// Of the time stamps.
    ticks_per_second: f64,
    /// Connections without an answer to their SYN, and SYNs on their way.
    opening: u32,
    pool: Vec<(Segment, u32)>,
    free_slot: u32,
    out: Output,
    /// Room for the slots of the packets that one call drops.
    dropped_slots: Vec<u32>,
    series: Option<Series>,
    variables: Vec<VariableChange>,
    link_counts: (usize, usize),
    /// Whether there are so many flows that their state is not in the cache.
    prefetches: bool,
}

/// Position of an event in the total order.
#[derive(Clone, Copy)]
struct Key {
    now: f64,
    scheduled: f64,
    number: u64,
}

impl<Q: EventQueue> Engine<Q> {
    /// Sets `network` up to run as `plan` says.
    pub fn new(network: Network, plan: &Plan, settings: Settings) -> Self {
        let (steps, stride) = steps(&network, plan);
        let mut port_links = vec![0; network.ports.len()];
        let mut merges = Vec::new();
        let mut links = Vec::with_capacity(network.links.len());
        links.extend((network.links.iter().zip(&plan.modes).enumerate()).map(|(index, (link, &mode))| {
            let mut place = NONE;
            if let Some(port) = link.port {
                port_links[port as usize] = index as u32;
                place = port;
            } else if let Some(early) = plan.early(index as u32) {
                place = merges.len() as u32;
                merges.push(AheadMerge { early, pending: VecDeque::new() });
            }
            let wire = Wire::new(link.rate_bps, link.delay_s);
            Link { wire, reserved: 0, head: NONE, tail: NONE, mode, port: place }
        }));
        let link_counts = plan.count();
        let flow_count = network.flows();
        let timers = network.ports.len() as u64;
        let ports: Vec<Port> = (network.ports.into_iter().zip(port_links))
            .map(|(spec, link)| Port::new(spec, link, plan.modes[link as usize] == Mode::ArithmeticPort))
            .collect();
        let mut flows = Vec::with_capacity(flow_count);
        flows.extend(network.flow_specs.iter().map(|spec| Flow {
            sender: Sender::new(spec.flavour, spec.window, spec.clock_phase),
            deadline: f64::INFINITY,
            armed_at: 0.0,
            armed_number: 0,
            entry: f64::INFINITY,
            wire: spec.wire,
        }));
        let mut arrivals = Vec::with_capacity(flow_count);
        arrivals.extend(network.flow_specs.iter().map(|_| Arrivals {
            receiver: Receiver::new(),
            in_order: 0,
            received: 0,
            delay_ticks: 0,
        }));
        let mut engine = Engine {
            queue: Q::new(),
            // The numbers up to here are those of the policies' timers.
            counter: timers,
            events: 0,
            links,
            steps,
            stride,
            flows,
            arrivals,
            tallies: vec![Tally::default(); network.flow_specs.len()],
            opening: network.flow_specs.iter().filter(|spec| spec.interval.is_none()).count() as u32,
            specs: network.flow_specs,
            ports,
            merges,
            pool: Vec::new(),
            free_slot: NONE,
            out: Output::default(),
            dropped_slots: Vec::new(),
            series: settings.series.map(|_| Series::default()),
            variables: Vec::new(),
            link_counts,
            ticks_per_second: Segment::ticks_per_second(settings.duration),
            prefetches: flow_count > FLOWS_IN_CACHE,
            settings,
        };
        engine.schedule_beginnings();
        engine
    }

    fn schedule_beginnings(&mut self) {
        if self.settings.warmup > 0.0 {
            self.schedule(self.settings.warmup, 0.0, Kind::WindowStart, 0);
        }
        if let Some(series) = &mut self.series {
            let ports = self.ports.len();
            (series.packets, series.average, series.dropped) =
                (vec![vec![]; ports], vec![vec![]; ports], vec![vec![]; ports]);
            series.cwnd = vec![vec![]; self.settings.cwnd_flows.len()];
            self.schedule(0.0, 0.0, Kind::Sample, 0);
        }
        if let (Some(keep), Some(port)) = (self.settings.trace, self.ports.first_mut()) {
            port.trace = Some(Box::new(QueueTrace::new(keep)));
        }
        if let Some(flow) = self.settings.trace_flow {
            self.flows[flow as usize].sender.core.traced = true;
        }
        for flow in 0..self.flows.len() as u32 {
            self.schedule(self.specs[flow as usize].start, 0.0, Kind::Start, flow);
        }
        for port in 0..self.ports.len() as u32 {
            self.schedule_policy_timer(port, 0.0);
        }
    }

    fn schedule(&mut self, time: f64, now: f64, kind: Kind, index: u32) {
        self.counter += 1;
        let segment = Segment::new(index, 0, 0, 0);
        self.queue.push(Event::new(time, now, self.counter, kind, segment), 3);
    }

    /// A policy's timer does not take its number from the counter: among events of one time that were scheduled at one
    /// time it comes first. A fold gives an arrival its number ahead of time, so that the counter could not tell in all
    /// plans alike which of the two was scheduled first.
    fn schedule_policy_timer(&mut self, port: u32, now: f64) {
        if let Runner::Stepped { discipline, .. } = &self.ports[port as usize].runner {
            if let Some(time) = discipline.next_timer() {
                let segment = Segment::new(port, 0, 0, 0);
                let event = Event::new(time.seconds(), now, u64::from(port), Kind::PolicyTimer, segment);
                self.queue.push(event, 3);
            }
        }
    }

    /// The policy of a port has set its timer to this event.
    fn on_policy_timer(&mut self, port: u32, key: Key) {
        self.notice_idle(port as usize, key);
        if let Runner::Stepped { discipline, .. } = &mut self.ports[port as usize].runner {
            discipline.on_timer(Time::from_seconds(key.now));
        }
        self.schedule_policy_timer(port, key.now);
    }

    /// Before the event `key` at a stepped port: tells its discipline if the link has been free since the end of its last
    /// transmission, found nothing then, and no event said so.
    #[inline(always)]
    fn notice_idle(&mut self, port: usize, key: Key) {
        let port = &mut self.ports[port];
        let at = &self.links[port.link as usize];
        if let Runner::Stepped { discipline, end_pending: false, idle } = &mut port.runner {
            if !*idle && (at.wire.free, at.wire.started, at.reserved) < (key.now, key.scheduled, key.number) {
                *idle = true;
                discipline.dequeue(Time::from_seconds(at.wire.free), &mut |_, _| {});
            }
        }
    }

    /// Runs to the end.
    pub fn run(mut self) -> Outcome {
        let end = self.settings.duration;
        while let Some(event) = self.queue.pop() {
            let now = f64::from_bits(event.time);
            if now >= end {
                break;
            }
            self.events += 1;
            if self.prefetches {
                self.prefetch();
            }
            let key = Key { now, scheduled: f64::from_bits(event.scheduled), number: event.number };
            let segment = event.segment;
            match event.kind() {
                Kind::Arrival => self.on_arrival(segment, key),
                Kind::TransmissionEnd => self.on_transmission_end(segment.flow() as usize, now),
                Kind::Timer => self.on_timer(segment.flow() as usize, key),
                Kind::Start => self.on_start(segment, key),
                Kind::PolicyTimer => self.on_policy_timer(segment.flow(), key),
                Kind::WindowStart => self.begin_window(now),
                Kind::Sample => self.sample(now, segment.seq()),
            }
        }
        self.finish()
    }

    /// An application starts; at a constant bit rate, it sends its next packet.
    fn on_start(&mut self, event: Segment, key: Key) {
        let flow = event.flow();
        let Some(interval) = self.specs[flow as usize].interval else {
            self.flows[flow as usize].sender.start(key.now, &mut self.out);
            self.flush(flow, key);
            return;
        };
        let born = Segment::stamp(key.now, self.ticks_per_second);
        let link = self.steps[flow as usize * self.stride].link;
        self.arrive(link, Segment::new(flow, event.seq(), born, self.flows[flow as usize].wire), key);
        self.counter += 1;
        let next = Segment::new(flow, event.seq().wrapping_add(1) & i32::MAX, 0, 0);
        self.queue.push(Event::new(key.now + interval, key.now, self.counter, Kind::Start, next), 3);
    }

    /// Asks for the memory that the next events of this kind will need: first for where they lead, then, when that
    /// has come, for what is there.
    #[inline(always)]
    fn prefetch(&self) {
        self.queue.prefetch();
        if let Some(far) = self.queue.upcoming(FAR) {
            prefetch(&self.steps, far.segment.flow() as usize * self.stride + far.segment.hop());
        }
        let Some(near) = self.queue.upcoming(NEAR) else { return };
        let index = near.segment.flow() as usize;
        match near.kind() {
            Kind::TransmissionEnd => prefetch(&self.links, index),
            Kind::Arrival => {
                let step = self.step(&near.segment);
                if step.action == Action::Sender {
                    prefetch(&self.flows, index);
                    prefetch(&self.links, self.steps[index * self.stride].link as usize);
                } else {
                    prefetch(&self.links, step.link as usize);
                    prefetch(&self.arrivals, index);
                }
            }
            _ => {}
        }
    }

    #[inline(always)]
    fn step(&self, segment: &Segment) -> Step {
        self.steps[segment.flow() as usize * self.stride + segment.hop()]
    }

    #[inline(always)]
    fn on_arrival(&mut self, mut segment: Segment, key: Key) {
        let step = self.step(&segment);
        match step.action {
            Action::AtEvent | Action::Fold => self.arrive(step.link, segment, key),
            Action::Ahead => {
                // Unless the packet has passed since its event was pushed.
                let pending = &mut self.merges[self.links[step.link as usize].port as usize].pending;
                if pending.front().is_some_and(|first| first.number == key.number) {
                    pending.pop_front();
                    self.arrive(step.link, segment, key);
                }
            }
            Action::Sender => {
                let sender = &mut self.flows[segment.flow() as usize].sender;
                let opening = sender.core.ack < 0;
                sender.on_ack(key.now, segment.seq(), &mut self.out);
                self.opening -= u32::from(opening && sender.core.ack >= 0);
                self.flush(segment.flow(), key);
            }
            Action::ReceiverAtEvent | Action::Receiver => {
                segment = self.receive(segment, key.now);
                let link = self.step(&segment).link;
                self.arrive(link, segment, key);
            }
            Action::Sink => self.sink(segment, key.now),
        }
    }

    /// A packet of a constant bit rate reaches its receiver at `now`.
    fn sink(&mut self, segment: Segment, now: f64) {
        if now >= self.settings.warmup && now < self.settings.duration {
            let arrivals = &mut self.arrivals[segment.flow() as usize];
            arrivals.received += 1;
            arrivals.in_order += 1;
            let now = Segment::stamp(now, self.ticks_per_second);
            arrivals.delay_ticks += u64::from(segment.age_ticks(now));
        }
    }

    /// Turns a segment that reaches its receiver at `now` into the ACK that leaves it.
    #[inline(always)]
    fn receive(&mut self, segment: Segment, now: f64) -> Segment {
        let arrivals = &mut self.arrivals[segment.flow() as usize];
        let before = arrivals.receiver.next();
        let ack = arrivals.receiver.receive(segment.seq());
        if segment.seq() == 0 {
            self.opening -= 1;
        } else if now >= self.settings.warmup && now < self.settings.duration {
            arrivals.received += 1;
            arrivals.in_order += (arrivals.receiver.next() - before) as u32;
            let now = Segment::stamp(now, self.ticks_per_second);
            arrivals.delay_ticks += u64::from(segment.age_ticks(now));
        }
        segment.answered(ack, ACK_BYTES)
    }

    /// A segment stands at the near end of `link`, at the event `key`.
    #[inline(never)]
    fn arrive(&mut self, link: u32, mut segment: Segment, key: Key) {
        let at = &mut self.links[link as usize];
        match at.mode {
            Mode::Merge | Mode::Fold => {
                let (start, arrival) = at.wire.relay(key.now, segment.size());
                segment = segment.at_next_hop();
                self.forward(segment, arrival, start, None);
            }
            Mode::Stepped => {
                let idle = at.head == NONE
                    && (at.wire.free, at.wire.started, at.reserved) < (key.now, key.scheduled, key.number);
                if idle {
                    self.transmit(link, segment, key.now);
                } else {
                    self.wait(link, segment);
                }
            }
            Mode::ArithmeticPort => {
                let port = &mut self.ports[at.port as usize];
                let mut packet = packet(&segment);
                match port.arithmetic_arrival(&at.wire, &segment, &mut packet, key.now, key.scheduled) {
                    Answer::Dropped => self.dropped(segment),
                    Answer::Leaves { start, marked } => {
                        if marked {
                            self.tallies[segment.flow() as usize].marks += 1;
                            segment = segment.with_bits(packet.ecn as u8);
                        }
                        let arrival = at.wire.send(start, segment.size());
                        segment = segment.at_next_hop();
                        self.forward(segment, arrival, start, None);
                    }
                }
            }
            Mode::SteppedPort => self.arrive_at_port(link, segment, key),
        }
    }

    /// A port dropped `segment`.
    #[inline(always)]
    fn dropped(&mut self, segment: Segment) {
        self.tallies[segment.flow() as usize].drops += 1;
        self.opening -= u32::from(segment.bits() & SYN != 0);
    }

    /// A segment that reaches its next hop at `arrival`, having been sent at `start`: on through every hop that needs
    /// no event.
    #[inline(always)]
    fn forward(&mut self, mut segment: Segment, mut arrival: f64, mut start: f64, mut number: Option<u64>) {
        loop {
            let step = self.step(&segment);
            match step.action {
                Action::Fold => {
                    (start, arrival) = self.links[step.link as usize].wire.relay(arrival, segment.size());
                    segment = segment.at_next_hop();
                    number = None;
                }
                Action::Receiver => {
                    segment = self.receive(segment, arrival);
                    number = None;
                }
                Action::Sink => {
                    self.sink(segment, arrival);
                    return;
                }
                Action::Ahead if self.may_pass(step.link, arrival, start) => {
                    (start, arrival) = self.links[step.link as usize].wire.relay(arrival, segment.size());
                    segment = segment.at_next_hop();
                    number = None;
                }
                _ => {
                    let number = number.unwrap_or_else(|| {
                        self.counter += 1;
                        self.counter
                    });
                    if step.action == Action::Ahead {
                        self.note_pending(step.link, Pending { arrival, start, number, segment });
                    }
                    self.queue.push(Event::new(arrival, start, number, Kind::Arrival, segment), step.lane);
                    return;
                }
            }
        }
    }

    /// Whether a packet that arrives at a merge at `arrival`, having been sent at `start`, may pass ahead of time:
    /// nothing that is still to leave the origin can come before it, and what is on its way has passed.
    #[inline(always)]
    fn may_pass(&mut self, link: u32, arrival: f64, start: f64) -> bool {
        let merge = &self.merges[self.links[link as usize].port as usize];
        let latency = if self.opening == 0 { merge.early.latency } else { merge.early.latency_of_syn };
        if arrival >= self.links[merge.early.origin as usize].wire.free + latency {
            return false;
        }
        merge.pending.is_empty() || self.pass_pending(link, arrival, start)
    }

    /// Lets the packets pass a merge that are on their way by events and come before (`arrival`, `start`), for which
    /// [`Engine::may_pass`] holds; whether these were all.
    #[inline(never)]
    fn pass_pending(&mut self, link: u32, arrival: f64, start: f64) -> bool {
        let merge = self.links[link as usize].port as usize;
        while let Some(first) = self.merges[merge].pending.front() {
            if (first.arrival, first.start) > (arrival, start) {
                return false;
            }
            let Some(first) = self.merges[merge].pending.pop_front() else { break };
            let (start, arrival) = self.links[link as usize].wire.relay(first.arrival, first.segment.size());
            self.forward(first.segment.at_next_hop(), arrival, start, None);
        }
        true
    }

    /// A packet goes to a merge by an event, and may pass before it.
    #[inline(never)]
    fn note_pending(&mut self, link: u32, packet: Pending) {
        let pending = &mut self.merges[self.links[link as usize].port as usize].pending;
        let key = |p: &Pending| (p.arrival.to_bits(), p.start.to_bits(), p.number);
        let at = pending.partition_point(|other| key(other) < key(&packet));
        pending.insert(at, packet);
    }

    /// A stepped link begins to send `segment`. It takes two numbers: the arrival's and the end of transmission's.
    #[inline(always)]
    fn transmit(&mut self, link: u32, mut segment: Segment, now: f64) {
        self.counter += 2;
        let number = self.counter;
        let at = &mut self.links[link as usize];
        at.reserved = number;
        let arrival = at.wire.send(now, segment.size());
        segment = segment.at_next_hop();
        self.forward(segment, arrival, now, Some(number - 1));
    }

    /// `segment` waits at a plain stepped link. The first to wait puts the end of transmission into the event queue.
    fn wait(&mut self, link: u32, segment: Segment) {
        let slot = self.store(segment);
        let at = &mut self.links[link as usize];
        if at.head == NONE {
            at.head = slot;
            at.tail = slot;
            self.push_transmission_end(link);
        } else {
            self.pool[at.tail as usize].1 = slot;
            at.tail = slot;
        }
    }

    fn push_transmission_end(&mut self, link: u32) {
        let at = &self.links[link as usize];
        let segment = Segment::new(link, 0, 0, 0);
        self.queue.push(Event::new(at.wire.free, at.wire.started, at.reserved, Kind::TransmissionEnd, segment), 0);
    }

    fn store(&mut self, segment: Segment) -> u32 {
        let slot = self.free_slot;
        if slot == NONE {
            self.pool.push((segment, NONE));
            return self.pool.len() as u32 - 1;
        }
        self.free_slot = self.pool[slot as usize].1;
        self.pool[slot as usize] = (segment, NONE);
        slot
    }

    fn release(&mut self, slot: u32) -> Segment {
        let (segment, _) = self.pool[slot as usize];
        self.pool[slot as usize].1 = self.free_slot;
        self.free_slot = slot;
        segment
    }

    fn on_transmission_end(&mut self, link: usize, now: f64) {
        if self.links[link].mode == Mode::SteppedPort {
            let port = self.links[link].port as usize;
            let port = &mut self.ports[port];
            if let Runner::Stepped { discipline, end_pending, .. } = &mut port.runner {
                *end_pending = false;
                port.stats.advance(now, discipline.packets());
            }
            self.pull(link as u32, now);
            return;
        }
        let slot = self.links[link].head;
        self.links[link].head = self.pool[slot as usize].1;
        let segment = self.release(slot);
        self.transmit(link as u32, segment, now);
        if self.links[link].head != NONE {
            self.push_transmission_end(link as u32);
        }
    }

    fn arrive_at_port(&mut self, link: u32, segment: Segment, key: Key) {
        let slot = self.store(segment);
        let port_index = self.links[link as usize].port as usize;
        self.notice_idle(port_index, key);
        let port = &mut self.ports[port_index];
        let Runner::Stepped { discipline, end_pending, idle } = &mut port.runner else { return };
        let length = discipline.packets();
        port.stats.advance(key.now, length);
        if let Some(average) = discipline.average() {
            port.stats.advance_average(key.now, average);
        }
        let mut packet = packet(&segment);
        packet.tag = slot;
        if let Some(trace) = &mut port.trace {
            trace.record(key.now, '+', segment.flow(), segment.seq(), packet.size, length + 1);
        }
        let mut dropped = std::mem::take(&mut self.dropped_slots);
        let admitted =
            discipline.enqueue(packet, Time::from_seconds(key.now), &mut |victim, _| dropped.push(victim.tag));
        let length = discipline.packets();
        if admitted.is_some_and(|marked| marked.0) {
            self.tallies[segment.flow() as usize].marks += 1;
            self.pool[slot as usize].0 = segment.with_bits(Ecn::Ce as u8);
        }
        for &slot in &dropped {
            let victim = self.pool[slot as usize].0;
            self.tallies[victim.flow() as usize].drops += 1;
            self.opening -= u32::from(victim.bits() & SYN != 0);
            if let Some(trace) = &mut port.trace {
                trace.record(key.now, 'd', victim.flow(), victim.seq(), u32::from(victim.size()), length);
            }
        }
        let pull_now = *idle;
        let needs_end = !*end_pending && !pull_now && length > 0;
        *end_pending |= needs_end;
        // A packet that goes to the link at once never counts as waiting.
        if !pull_now {
            port.stats.grown(length);
        }
        for &slot in &dropped {
            self.release(slot);
        }
        dropped.clear();
        self.dropped_slots = dropped;
        if pull_now {
            self.pull(link, key.now);
        } else if needs_end {
            self.push_transmission_end(link);
        }
    }

    /// The link of a stepped port is free: it takes the next packet or becomes idle. The length up to `now` is counted.
    fn pull(&mut self, link: u32, now: f64) {
        let port = &mut self.ports[self.links[link as usize].port as usize];
        let Runner::Stepped { discipline, .. } = &mut port.runner else { return };
        let mut dropped = std::mem::take(&mut self.dropped_slots);
        let taken = discipline.dequeue(Time::from_seconds(now), &mut |victim, _| dropped.push(victim.tag));
        let length = discipline.packets() + u64::from(taken.is_some());
        for &slot in &dropped {
            let victim = self.release(slot);
            self.dropped(victim);
            let port = &mut self.ports[self.links[link as usize].port as usize];
            if let Some(trace) = &mut port.trace {
                trace.record(now, 'd', victim.flow(), victim.seq(), u32::from(victim.size()), length);
            }
        }
        dropped.clear();
        self.dropped_slots = dropped;
        let port = &mut self.ports[self.links[link as usize].port as usize];
        let Runner::Stepped { discipline, end_pending, idle } = &mut port.runner else { return };
        let Some(packet) = taken else {
            *idle = true;
            return;
        };
        *idle = false;
        let waiting = discipline.packets();
        port.stats.departed(now - packet.enqueued.seconds());
        *end_pending = waiting > 0 || discipline.watches_departures();
        let wants_end = *end_pending;
        let slot = packet.tag;
        let mut segment = self.pool[slot as usize].0;
        if let Some(trace) = &mut port.trace {
            trace.record(now, '-', segment.flow(), segment.seq(), packet.size, waiting);
        }
        if packet.ecn as u8 != segment.bits() & 3 {
            // Marked since it was admitted.
            self.tallies[segment.flow() as usize].marks += 1;
            segment = segment.with_bits(packet.ecn as u8);
        }
        self.release(slot);
        self.transmit(link, segment, now);
        if wants_end {
            self.push_transmission_end(link);
        }
    }

    /// Carries out what the sender of `flow` has just asked for.
    #[inline(always)]
    fn flush(&mut self, flow: u32, key: Key) {
        if !self.out.segments.is_empty() {
            let born = Segment::stamp(key.now, self.ticks_per_second);
            let link = self.steps[flow as usize * self.stride].link;
            let wire = self.flows[flow as usize].wire;
            for i in 0..self.out.segments.len() {
                let seq = self.out.segments[i];
                let segment = if seq == 0 {
                    self.opening += 1;
                    Segment::new(flow, seq, born, SYN_BYTES).with_bits(SYN)
                } else {
                    Segment::new(flow, seq, born, wire)
                };
                self.arrive(link, segment, key);
            }
            self.out.segments.clear();
        }
        if let Some(delay) = self.out.timer.take() {
            self.arm_timer(flow, key.now, delay);
        }
        if !self.out.changes.is_empty() {
            self.variables.extend(self.out.changes.drain(..).map(|(variable, value)| VariableChange {
                time: key.now,
                variable,
                value,
            }));
        }
    }

    /// One entry a flow in the event queue: a timer that moves to a later time is put off when its entry comes up.
    #[inline(always)]
    fn arm_timer(&mut self, flow: u32, now: f64, delay: f64) {
        self.counter += 1;
        let state = &mut self.flows[flow as usize];
        state.deadline = now + delay;
        state.armed_at = now;
        state.armed_number = self.counter;
        if state.entry > state.deadline {
            self.push_timer(flow);
        }
    }

    fn push_timer(&mut self, flow: u32) {
        let state = &mut self.flows[flow as usize];
        state.entry = state.deadline;
        let segment = Segment::new(flow, 0, 0, 0);
        self.queue.push(Event::new(state.deadline, state.armed_at, state.armed_number, Kind::Timer, segment), 3);
    }

    fn on_timer(&mut self, flow: usize, key: Key) {
        let state = &mut self.flows[flow];
        if state.entry != key.now {
            return;
        }
        state.entry = f64::INFINITY;
        if state.deadline > key.now {
            if state.deadline < f64::INFINITY {
                self.push_timer(flow as u32);
            }
            return;
        }
        state.deadline = f64::INFINITY;
        state.sender.on_timeout(key.now, &mut self.out);
        self.flush(flow as u32, key);
    }

    fn begin_window(&mut self, now: f64) {
        for port in &mut self.ports {
            port.restart(now);
        }
        for (tally, flow) in self.tallies.iter_mut().zip(&self.flows) {
            let core = &flow.sender.core;
            *tally = Tally { retransmits_before: core.retransmits, timeouts_before: core.timeouts, ..Tally::default() };
        }
    }

    fn sample(&mut self, now: f64, index: i32) {
        let Some(series) = &mut self.series else { return };
        series.time.push(now);
        for (i, port) in self.ports.iter_mut().enumerate() {
            port.catch_up(now, 0.0);
            series.packets[i].push(port.packets());
            series.average[i].push(port.average().unwrap_or(f64::NAN));
            series.dropped[i].push(port.counters().drops());
        }
        for (values, &flow) in series.cwnd.iter_mut().zip(&self.settings.cwnd_flows) {
            values.push(self.flows[flow as usize].sender.core.cwnd);
        }
        let interval = self.settings.series.unwrap_or(f64::INFINITY);
        self.counter += 1;
        let segment = Segment::new(0, index + 1, 0, 0);
        let next = f64::from(index + 1) * interval;
        self.queue.push(Event::new(next, 0.0, self.counter, Kind::Sample, segment), 3);
    }

    fn finish(mut self) -> Outcome {
        let end = self.settings.duration;
        let ports = std::mem::take(&mut self.ports).into_iter().map(|mut port| {
            port.finish(end);
            PortOutcome {
                rate_bps: self.links[port.link as usize].wire.rate_bps,
                counters: *port.counters(),
                has_average: port.average().is_some(),
                queued_at_start: port.queued_at_start,
                queued_at_end: port.packets(),
                trace: port.trace.take(),
                name: port.name,
                aqm: port.aqm,
                stats: port.stats,
            }
        });
        let ports = ports.collect();
        let flows = (self.flows.iter().zip(&self.arrivals).zip(&self.tallies).zip(&self.specs)).map(
            |(((flow, arrivals), tally), &spec)| {
                let core = &flow.sender.core;
                FlowOutcome {
                    spec,
                    in_order: arrivals.in_order,
                    received: arrivals.received,
                    delay_mean: arrivals.delay_ticks as f64
                        / self.ticks_per_second
                        / f64::from(arrivals.received.max(1)),
                    retransmits: core.retransmits - tally.retransmits_before,
                    timeouts: core.timeouts - tally.timeouts_before,
                    drops: tally.drops,
                    marks: tally.marks,
                }
            },
        );
        Outcome {
            ports,
            flows: flows.collect(),
            series: self.series,
            variables: self.variables,
            events: self.events,
            links: self.link_counts,
        }
    }
}

/// What the queue sees of a segment.
#[inline(always)]
fn packet(segment: &Segment) -> Packet {
    let ecn = match segment.bits() & 3 {
        0 => Ecn::NotEct,
        1 => Ecn::Ect1,
        2 => Ecn::Ect0,
        _ => Ecn::Ce,
    };
    Packet {
        size: u32::from(segment.size()),
        ecn,
        class: 0,
        ttl: 32 - segment.hop().min(31) as u8,
        initial_ttl: 32,
        final_ttl: 0,
        rtt_hint_ms: 0,
        tag: 0,
        flow: u64::from(segment.flow()),
        enqueued: Time::ZERO,
    }
}

/// The hops of every flow: links out, receiver, links back, sender. As many for each as the longest has.
fn steps(network: &Network, plan: &Plan) -> (Vec<Step>, usize) {
    let length = |flow: usize| {
        let (forward, reverse) = network.route(flow);
        forward.len() + reverse.len() + 2
    };
    let stride = (0..network.flows()).map(length).max().unwrap_or(0);
    let mut steps = Vec::with_capacity(stride * network.flows());
    for flow in 0..network.flows() {
        let begin = steps.len();
        let (forward, reverse) = network.route(flow);
        let hop = |&link: &u32| Step {
            link,
            action: match plan.modes[link as usize] {
                Mode::Fold => Action::Fold,
                Mode::Merge if plan.early(link).is_some() => Action::Ahead,
                _ => Action::AtEvent,
            },
            lane: 0,
        };
        steps.extend(forward.iter().map(hop));
        if let Some(&first) = reverse.first() {
            let folded = plan.modes[first as usize] == Mode::Fold;
            let action = if folded { Action::Receiver } else { Action::ReceiverAtEvent };
            steps.push(Step { link: NONE, action, lane: 0 });
            steps.extend(reverse.iter().map(hop));
            steps.push(Step { link: NONE, action: Action::Sender, lane: 0 });
        } else {
            steps.push(Step { link: NONE, action: Action::Sink, lane: 0 });
        }
        // Segments enter their first link without an event; the others share the lanes out in the order of the hops.
        let by_event = |step: &Step| !matches!(step.action, Action::Fold | Action::Receiver | Action::Sink);
        let events = steps[begin + 1..].iter().filter(|step| by_event(step)).count();
        let mut seen = 0;
        for step in &mut steps[begin + 1..] {
            if by_event(step) {
                step.lane = (seen * 3 / events) as u8;
                seen += 1;
            }
        }
        let last = steps[steps.len() - 1];
        steps.resize(begin + stride, last);
    }
    (steps, stride)
}
