//! The run loop.

mod end_to_end;
mod hosts;
pub mod network;
mod observer;
pub mod plan;
mod port;
mod rfc;
mod sources;
mod specs;
pub mod trace;
mod transfers;

use crate::events::{Event, EventQueue, Kind, Watch};
use crate::losses::{FlowLosses, Synchronisation};
use crate::measure::QueueStats;
use crate::prefetch::{prefetch, prefetch_bytes, prefetch_lines};
use crate::rates::Rates;
use crate::shares::{self, Shares};
use crate::variation::Variation;
use earlydrop_aqm::gate::Counters;
use earlydrop_aqm::policy::Reason;
use earlydrop_aqm::{Ecn, Packet, Time};
use earlydrop_net::medium::Medium;
use earlydrop_net::record::Fate;
use earlydrop_net::segment::{CE, SACK, SYN};
use earlydrop_net::tcp::{Output, Receiver, Sender, Timer};
use earlydrop_net::{Segment, Wire};
use hdrhistogram::Histogram;
use hosts::{AckTimer, BlockPool};

use network::{FlowSpec, Network, TtlOption};
use observer::Observer;
use plan::{Early, Mode, Plan};
use port::{Answer, Port, Runner};
use rfc::Payloads;
use sources::Sources;
use specs::Specs;
use std::cmp::Ordering;
use std::collections::{BTreeMap, BinaryHeap};
use trace::{QueueTrace, VariableChange};
use transfers::Applications;
pub use transfers::{FlowTransfers, TransferOutcome};

/// Size of an acknowledgement on the wire, bytes (`tcpip_base_hdr_size_`).
pub const ACK_BYTES: u16 = 40;
/// Sizes of acknowledgements with 0 to 3 SACK blocks, bytes.
pub const ACK_SIZES: [u16; 4] = [ACK_BYTES, 48, 56, 64];
/// Size of the SYN on the wire, bytes.
pub const SYN_BYTES: u16 = 40;
const NONE: u32 = u32::MAX;
/// With more flows than this, the state of the flow of a coming event is fetched ahead.
const FLOWS_IN_CACHE: usize = 2000;
/// With more ports than this, the state of the port of a coming event is.
const PORTS_IN_CACHE: usize = 100;
/// Slots of the event queue ahead of which the fetching begins there.
const STAGES: usize = 2;
/// Cache lines of a port that every packet needs, and of a FIFO with its gate.
const PORT_LINES: usize = 3;
const DISCIPLINE_LINES: usize = 3;
/// Which of the next events of its kind is looked at for where it leads, and which for what is there.
const FAR: usize = 10;
const NEAR: usize = 3;
/// With many ports, where it leads and what is there, and last what its discipline has elsewhere.
const AHEAD_IN_LANE: [usize; STAGES + 1] = [2, 6, 10];
/// In the order of packets of senders' own links: it has waited. Then come its chain, 39 bits of the time, of which the
/// lower go into the number, and the number of the packet that began the chain.
const WAITED: u64 = 1 << 63;
const CHAIN_SHIFT: u32 = 31;
const LOW_BITS: u32 = 8;
/// Resolution of that time, ticks a second (2^26), and its last tick.
const TICKS: f64 = 67_108_864.0;
const LATEST: f64 = ((1_u64 << (CHAIN_SHIFT + LOW_BITS)) - 1) as f64;
/// The number of an event behind a slow fold: this bit, 32 bits of its chain, and the counter.
const BEHIND_SLOW_FOLD: u64 = 1 << 63;
const COUNTER_BITS: u32 = 31;
/// A flow's own links are looked for among so many from its first on.
const OWN_LINKS: usize = 4;

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
    /// Queue events to keep of each traced port.
    pub trace: Option<usize>,
    /// Ports that are traced; none means port 0.
    pub trace_ports: Vec<u32>,
    /// Flow (from 0) whose variables are traced.
    pub trace_flow: Option<u32>,
    /// Index of its traffic entry, by flow, to count every queue by flow and measure round-trip times by entry.
    pub entry_of: Option<Vec<u16>>,
    /// Length of the intervals over which rates are averaged, s.
    pub rates: Option<f64>,
    /// Flows (from 0) whose rates are recorded.
    pub rate_flows: Vec<u32>,
    /// Ports at which they are recorded too.
    pub rate_ports: Vec<u32>,
    /// Measure how the flows' delays vary.
    pub jitter: bool,
    /// Measure how far apart losses are, and how many flows lose at once.
    pub losses: bool,
    /// How long a loss event lasts, s; by default the mean base RTT of the flows at a queue.
    pub loss_rtt: Option<f64>,
}

/// Where a hop leads.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
enum Action {
    /// An arrival event at the link.
    AtEvent,
    /// Through the link in the same call; no packet can meet another there.
    Through,
    /// Through the link in the same call.
    Fold,
    /// The same, where packets may wait.
    SlowFold,
    /// The same, where they have several sizes.
    MixedFold,
    /// Through the link in the same call if nothing can come before, else as soon as nothing can.
    Ahead,
    /// The receiver takes the segment at an event.
    ReceiverAtEvent,
    /// The receiver takes it in the same call, at a time to come.
    Receiver,
    /// The sender takes the ACK at an event.
    Sender,
    /// The sender takes it in the same call if nothing can come before, else at an event.
    SenderAhead,
    /// The sender of finite transfers takes the ACK at an event.
    Server,
    /// The receiver of transfers over more than one connection takes the segment at an event.
    Client,
    /// The receiver of packets without feedback counts the packet in the same call; nothing follows.
    Sink,
    /// The packet's time to live is used up; it is counted in the same call.
    Expired,
    /// As a sink, and more is noted than counts.
    RecordedSink,
    /// The same at an event: packets may have overtaken one another on the last link.
    RecordedSinkAtEvent,
}

/// Where a flow's hops are: flows whose hops differ in their own links alone share them.
#[derive(Clone, Copy, Debug)]
struct Route {
    /// The first hop.
    steps: u32,
    /// The flow's first link.
    first: u32,
}

/// One hop, in eight bytes: thousands of flows have many of them, and each packet needs another.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
struct Step {
    /// The link, or [`NO_LINK`]; with [`OWN`], counted from the flow's first.
    link: u32,
    action: Action,
    ttl: u8,
    /// Links behind it.
    made: u8,
    /// Lane of its event (2 bits), what packets say there of their time to live ([`INITIAL`], [`LAST`]), class of the
    /// flow's packets (4 bits).
    rest: u8,
}

const OWN: u32 = 1 << 31;
/// Where a hop leads to a host.
const NO_LINK: u32 = OWN - 1;
const LANE: u8 = 3;
/// No lane: what a packet does next is to be looked up.
const UNKNOWN: u8 = 3;
/// Packets say with how much time to live they started; with how much they will arrive.
const INITIAL: u8 = 4;
const LAST: u8 = 8;
const CLASS_SHIFT: u32 = 4;

impl Step {
    #[inline(always)]
    fn lane(&self) -> u8 {
        self.rest & LANE
    }

    /// The lane of the event that it is, if it is nothing else, or [`UNKNOWN`].
    #[inline(always)]
    fn lane_of_event(&self) -> u8 {
        if matches!(self.action, Action::AtEvent | Action::ReceiverAtEvent | Action::Sender) {
            self.lane()
        } else {
            UNKNOWN
        }
    }
}

#[repr(align(64))]
struct Link {
    wire: Wire,
    /// When the event that began the present transmission was scheduled; for a sender's own link that needs no events,
    /// the first transmission since it was idle.
    cause: f64,
    /// Number of the end of the present transmission, taken when it began.
    reserved: u64,
    /// Packets that wait at a plain stepped link: a list in the pool. At a slow fold or a sender's own link `head` is
    /// the chain of the next packet, if it waits, and `tail` the size of a full segment (0: ACKs of several sizes pass).
    head: u32,
    tail: u32,
    mode: Mode,
    /// Whether it has a place in `Engine::media`.
    varies: bool,
    /// The port, or for a merge that packets may pass ahead of time its place in `Engine::merges`.
    port: u32,
}

/// Where a packet stands among those that started at the same time on links that are alike (`docs/engine.md`, rules 7
/// and 8): 0 if it has not waited, else the number of transmissions before it without a pause (23 bits), above them
/// whether a short segment was among these (a bit; then those since are counted, downwards), and what rounding has made
/// equal (8 bits). Where ACKs of several sizes pass, the sizes of the last six stand in place of a number, the last first and
/// the largest least. Less comes first.
type Chain = u32;
const AFTER_SHORT: Chain = 1 << 23;
const COUNT: Chain = AFTER_SHORT - 1;
const ROUNDING_SHIFT: u32 = 24;
const ORDER: Chain = (1 << ROUNDING_SHIFT) - 1;
/// Of a size: bits, and bytes from one to the next.
const SIZE_BITS: u32 = 4;
const SIZE_STEP: u32 = 4;
const SIZES: u32 = (1 << SIZE_BITS) - 1;

impl Link {
    /// A packet is ready for a slow fold or a sender's own link at `ready`, by an event that was scheduled at
    /// `scheduled`: its start, arrival and chain.
    ///
    /// `one_size`: all that pass have one size, but SYNs.
    #[inline(always)]
    fn pass(&mut self, segment: &Segment, ready: f64, scheduled: f64, one_size: bool) -> (f64, f64, Chain) {
        let (start, chain) = if self.wire.waits(ready, scheduled) { (self.wire.free, self.head) } else { (ready, 0) };
        let arrival = self.wire.send(start, segment.size());
        let next = chain + u32::from(chain & COUNT != COUNT);
        self.head = if one_size {
            if segment.bits() & SYN != 0 {
                next | AFTER_SHORT
            } else {
                next
            }
        } else if (u32::from(segment.size()) ^ self.tail) | (chain & AFTER_SHORT) == 0 {
            next
        } else {
            behind(chain, segment.size(), self.tail)
        };
        if (self.wire.free.to_bits() ^ start.to_bits()) >> 52 != 0 {
            self.note_rounding(segment.size());
        }
        (start, arrival, chain)
    }

    /// Doubles become coarser at every power of two, so that two packets that started one step apart can have
    /// followers that start at one time. The error of the sum tells which was the first.
    #[inline(never)]
    fn note_rounding(&mut self, bytes: u16) {
        let error = self.wire.transmission(bytes) - (self.wire.free - self.wire.started);
        let side = if error < 0.0 {
            0
        } else if error == 0.0 {
            1
        } else {
            2
        };
        let before = self.head >> ROUNDING_SHIFT;
        let rest = self.head & ((1 << ROUNDING_SHIFT) - 1);
        self.head = (side << 6 | before >> 2) << ROUNDING_SHIFT | rest;
    }
}

/// The chain of what waits behind a segment of so many bytes, which had the place `chain`, at a link where full segments
/// have `full` bytes (0: ACKs of several sizes pass), if that segment was not full or others before were not.
#[inline(never)]
fn behind(chain: Chain, bytes: u16, full: u32) -> Chain {
    if full == 0 {
        let size = SIZES - (u32::from(bytes.saturating_sub(ACK_BYTES)) / SIZE_STEP).min(SIZES - 1);
        chain & !ORDER | size << (ROUNDING_SHIFT - SIZE_BITS) | (chain & ORDER) >> SIZE_BITS
    } else if u32::from(bytes) < full {
        chain & !ORDER | AFTER_SHORT | COUNT
    } else {
        chain - u32::from(chain & COUNT != 0)
    }
}

/// A merge that packets may pass ahead of time.
struct AheadMerge {
    early: Early,
    /// Packets that something may still come before; the first is on top.
    pending: BinaryHeap<Pending>,
    /// When an event will look after them, if no other packet has until then.
    wake: f64,
}

/// A packet on its way to a merge; the number settles ties.
struct Pending {
    hop: Hop,
    number: u64,
    segment: Segment,
}

impl Pending {
    fn key(&self) -> (u64, u64, u64, u64, u64) {
        let Hop { arrival, start, cause, order } = self.hop;
        (arrival.to_bits(), start.to_bits(), cause.to_bits(), order, self.number)
    }
}

impl PartialEq for Pending {
    fn eq(&self, other: &Self) -> bool {
        self.key() == other.key()
    }
}

impl Eq for Pending {}

impl PartialOrd for Pending {
    fn partial_cmp(&self, other: &Self) -> Option<Ordering> {
        Some(self.cmp(other))
    }
}

impl Ord for Pending {
    fn cmp(&self, other: &Self) -> Ordering {
        other.key().cmp(&self.key())
    }
}

struct Flow {
    sender: Sender,
    /// When the timer really expires, and by what event that was scheduled.
    deadline: f64,
    armed_at: f64,
    armed_cause: f64,
    armed_number: u64,
    /// Time of the flow's entry in the event queue.
    entry: f64,
    /// ACKs that come by events, where the sender takes others ahead of them.
    acks_coming: u32,
    /// Sizes on the wire.
    wire: u16,
    syn: u16,
    /// Of it, what is not payload.
    header: u16,
}

impl Flow {
    /// The event of the timer as it stands, as the flow's entry in the event queue.
    fn timer_event(&mut self, flow: u32) -> Event {
        self.entry = self.deadline;
        let (at, cause, number) = (self.armed_at, self.armed_cause.to_bits(), self.armed_number);
        Event::new(self.deadline, at, cause, number, Kind::Timer, Segment::new(flow, 0, 0, 0))
    }
}

struct Arrivals {
    receiver: Receiver,
    in_order: u32,
    received: u32,
    delay_ticks: u64,
    /// What is not payload of a segment on the wire, bytes; profile `rfc`: the same of an ACK that has time stamps, else 0.
    header: u16,
    stamped_ack: u16,
}

/// Per-flow counts at ports and senders within the window.
#[derive(Clone, Copy, Debug, Default)]
struct Tally {
    drops: u32,
    marks: u32,
}

/// The same of what hardly ever happens: room for it is made when it first does.
#[derive(Clone, Copy, Debug, Default)]
struct Rare {
    /// Packets lost on links.
    lost: u32,
    /// Packets whose time to live was used up.
    expired: u32,
    /// Before the window began, or the present sender: segments sent again, and timeouts.
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
    pub trace: Option<QueueTrace>,
    /// Shares of the flows, if asked for.
    pub shares: Option<Shares>,
    /// What left for the link, by flow and over time, if asked for.
    pub rates: Option<Rates>,
    /// How many flows lose at once, if asked for.
    pub synchronisation: Option<Synchronisation>,
    /// What became of each recorded packet, in a replay.
    pub fates: Option<Vec<Fate>>,
}

/// What a run found of one flow, over the window.
#[derive(Clone, Debug)]
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
    /// Without feedback: packets sent, and payload received, bytes.
    pub unasked: Option<(u64, u64)>,
    /// TCP's `rfc` profile: payload received in order, and all of it, bytes.
    pub payloads: Option<(u64, u64)>,
    /// Its finite transfers, if it has such.
    pub transfers: Option<FlowTransfers>,
    /// Packets lost on links.
    pub lost: u32,
    /// Packets whose time to live was used up.
    pub expired: u32,
}

/// Everything a run found.
pub struct Outcome {
    /// By port.
    pub ports: Vec<PortOutcome>,
    /// By flow.
    pub flows: Vec<FlowOutcome>,
    /// By group of transfers.
    pub transfers: Vec<TransferOutcome>,
    /// Packets dropped at ports, by the links they had passed.
    pub losses_by_distance: Vec<u64>,
    /// Links that lose packets, by number, with how many they lost.
    pub lost: Vec<(u32, u64)>,
    /// Sampled series.
    pub series: Option<Series>,
    /// Payload available in order at the receivers, by flow and over time.
    pub rates: Option<Rates>,
    /// Changes of the traced flow's variables.
    pub variables: Vec<VariableChange>,
    /// Round-trip times by traffic entry, microseconds; empty if not asked for.
    pub round_trips: Vec<Histogram<u32>>,
    /// By flow: how its delays vary; empty if not asked for.
    pub variations: Vec<Variation>,
    /// By flow: what it sent and lost; empty if not asked for.
    pub flow_losses: Vec<FlowLosses>,
    /// Events run.
    pub events: u64,
    /// Links run by arithmetic, and by events.
    pub links: (usize, usize),
}

/// Links, and what a flow has of its own.
struct Net {
    links: Vec<Link>,
    routes: Vec<Route>,
    steps: Vec<Step>,
    /// By flow: its packets' time to live at the sender, and at the receiver.
    times_to_live: Vec<(u8, u8)>,
    flows: Vec<Flow>,
    arrivals: Vec<Arrivals>,
    /// Where many queues are fetched ahead: by link its port, or [`NONE`], and by port the address of its discipline. These
    /// are few enough to stay in the cache.
    port_of: Vec<u32>,
    disciplines: Vec<usize>,
    /// In how many stages to fetch ahead what events need: none where everything is in the cache, one where there are many
    /// flows, [`STAGES`] where there are many queues.
    stages: usize,
}

impl Net {
    #[inline(always)]
    fn step(&self, flow: u32, hop: usize) -> Step {
        self.step_of(self.routes[flow as usize], hop)
    }

    #[inline(always)]
    fn step_of(&self, route: Route, hop: usize) -> Step {
        let step = self.steps[route.steps as usize + hop];
        let own = (step.link as i32 >> 31) as u32;
        Step { link: (step.link & !OWN) + (route.first & own), ..step }
    }

    /// Asks for all that is a flow's own. Its links lie beside one another if the network has been built so.
    #[inline(always)]
    fn prefetch(&self, flow: u32) {
        prefetch(&self.flows, flow as usize);
        prefetch(&self.arrivals, flow as usize);
        let first = self.routes[flow as usize].first as usize;
        for link in first..first + OWN_LINKS {
            prefetch(&self.links, link);
        }
    }
}

/// What the queue of events may look at.
struct Eyes<'a> {
    net: &'a mut Net,
    ports: &'a [Port],
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
        if let Some(Runner::Stepped { discipline, .. }) = ports.get(port as usize).map(|port| &port.runner) {
            discipline.memory(leaving, &mut |first, bytes| prefetch_bytes(first, bytes));
        }
    } else if stage == 1 {
        prefetch(&net.links, link as usize);
        if let (Some(port), Some(&discipline)) = (ports.get(port as usize), net.disciplines.get(port as usize)) {
            prefetch_lines(std::ptr::from_ref(port).cast(), PORT_LINES);
            prefetch_lines(std::ptr::without_provenance(discipline), DISCIPLINE_LINES);
        }
    }
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

/// A network in motion.
pub struct Engine<Q> {
    queue: Q,
    counter: u64,
    events: u64,
    settings: Settings,
    net: Net,
    tallies: Vec<Tally>,
    rare: Vec<Rare>,
    specs: Specs,
    sources: Sources,
    applications: Applications,
    /// Flows whose data end at a time, s.
    stops: Vec<(u32, f64)>,
    payloads: Payloads,
    ports: Vec<Port>,
    merges: Vec<AheadMerge>,
    /// Links that are more than a rate and a delay, by rising number.
    media: Vec<(u32, Medium)>,
    losses_by_distance: Vec<u64>,
    /// Of the time stamps.
    ticks_per_second: f64,
    /// Connections without an answer to their SYN, and SYNs on their way.
    opening: u32,
    pool: Vec<(Segment, u32)>,
    free_slot: u32,
    out: Output,
    /// Room for the packets that one call drops.
    dropped: Vec<(Segment, Reason)>,
    /// SACK blocks of the ACKs that are on their way.
    blocks: BlockPool,
    /// By flow: the timer of a delayed ACK; none at all if no flow delays ACKs.
    ack_timers: Vec<AckTimer>,
    series: Option<Series>,
    /// Payload available in order, if rates are recorded.
    rates: Option<Box<Rates>>,
    variables: Vec<VariableChange>,
    /// Round-trip times by traffic entry, microseconds; empty if not asked for.
    round_trips: Vec<Histogram<u32>>,
    /// By flow: how its delays vary; empty if not asked for.
    variations: Vec<Variation>,
    losses: Option<Box<end_to_end::Losses>>,
    link_counts: (usize, usize),
    /// Before what time senders take ACKs ahead of it.
    answers_until: f64,
    /// Recorded packets that arrive at the port.
    replay: Vec<(Time, Packet)>,
}

/// Position of an event in the total order.
#[derive(Clone, Copy)]
struct Key {
    now: f64,
    scheduled: f64,
    number: u64,
}

/// The beginning of the run.
const START: Key = Key { now: 0.0, scheduled: 0.0, number: 0 };

/// A packet's last hop: when it is over, when it started, when the event that started it was scheduled.
#[derive(Clone, Copy)]
struct Hop {
    arrival: f64,
    start: f64,
    cause: f64,
    /// Behind a slow fold, its place among the packets that started there at the same time.
    order: u64,
}

impl<Q: EventQueue> Engine<Q> {
    /// Sets `network` up to run as `plan` says.
    pub fn new(network: Network, plan: &Plan, settings: Settings) -> Self {
        let (routes, steps) = routes(&network, plan, &settings);
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
                merges.push(AheadMerge { early, pending: BinaryHeap::new(), wake: f64::INFINITY });
            }
            let wire = Wire::new(link.rate_bps, link.delay_s);
            let varies = network.varies(index as u32);
            let tail = match mode {
                Mode::SlowFold | Mode::Own => u32::from(plan.full[index]),
                _ => NONE,
            };
            Link { wire, cause: 0.0, reserved: 0, head: NONE, tail, mode, varies, port: place }
        }));
        let link_counts = plan.count();
        let ticks_per_second = Segment::ticks_per_second(settings.duration);
        let variations = end_to_end::variations(&network, &settings, ticks_per_second);
        let losses = settings.losses.then(|| Box::new(end_to_end::Losses::new(&network)));
        let loss_rtts = end_to_end::loss_rtts(&network, &settings);
        let ideals = end_to_end::ideals(&network);
        let flow_count = network.flows();
        let times_to_live = (0..flow_count).map(|flow| network.time_to_live(flow));
        let times_to_live = times_to_live.map(|time| (time.initial, time.last)).collect();
        let timers = network.ports.len() as u64;
        let together: f64 = port_links.iter().map(|&link: &u32| network.links[link as usize].rate_bps).sum();
        let largest = network.sizes.iter().copied().max().unwrap_or(SYN_BYTES);
        let spacing = if together > 0.0 { 8.0 * f64::from(largest) / together } else { 1e-3 };
        let ports: Vec<Port> = (network.ports.into_iter().zip(port_links))
            .map(|(spec, link)| Port::new(spec, link, plan.modes[link as usize] == Mode::ArithmeticPort))
            .collect();
        let mut flows = Vec::with_capacity(flow_count);
        flows.extend(network.flow_specs.iter().map(|spec| Flow {
            sender: hosts::sender(spec, 0),
            deadline: f64::INFINITY,
            armed_at: 0.0,
            armed_cause: 0.0,
            armed_number: 0,
            entry: f64::INFINITY,
            acks_coming: 0,
            wire: spec.wire,
            syn: spec.syn(),
            header: spec.wire.saturating_sub(spec.payload),
        }));
        let mut arrivals = Vec::with_capacity(flow_count);
        arrivals.extend(network.flow_specs.iter().map(|spec| Arrivals {
            receiver: hosts::receiver(spec, 0),
            in_order: 0,
            received: 0,
            delay_ticks: 0,
            header: spec.wire.saturating_sub(spec.payload),
            stamped_ack: rfc::stamped_ack(spec),
        }));
        let stages = if ports.len() > PORTS_IN_CACHE { STAGES } else { usize::from(flow_count > FLOWS_IN_CACHE) };
        let (mut port_of, mut disciplines) = (Vec::new(), Vec::new());
        if stages == STAGES {
            port_of.extend(network.links.iter().map(|link| link.port.unwrap_or(NONE)));
            disciplines.extend(ports.iter().map(|port| match &port.runner {
                Runner::Stepped { discipline, .. } => std::ptr::from_ref(&**discipline).addr(),
                Runner::Arithmetic { .. } => 0,
            }));
        }
        let specs = network.flow_specs;
        let mut engine = Engine {
            queue: Q::new(spacing),
            // The numbers up to here are those of the policies' timers.
            counter: timers,
            events: 0,
            net: Net { links, steps, times_to_live, routes, flows, arrivals, port_of, disciplines, stages },
            sources: Sources::new(network.sources, flow_count),
            applications: Applications::new(network.transfers, &ideals, network.crowds, network.groups, flow_count),
            stops: network.stops,
            tallies: vec![Tally::default(); specs.len()],
            rare: Vec::new(),
            opening: specs.iter().filter(|spec| spec.interval.is_none()).count() as u32,
            ack_timers: hosts::ack_timers(&specs),
            payloads: Payloads::new(&specs),
            specs: Specs::new(&specs),
            ports,
            merges,
            media: network.media,
            losses_by_distance: Vec::new(),
            pool: Vec::new(),
            free_slot: NONE,
            out: Output::default(),
            dropped: Vec::new(),
            blocks: BlockPool::default(),
            series: settings.series.map(|_| Series::default()),
            rates: rates(&settings).map(Box::new),
            variables: Vec::new(),
            round_trips: Vec::new(),
            variations,
            losses,
            link_counts,
            ticks_per_second,
            answers_until: if settings.warmup > 0.0 {
                settings.warmup.min(settings.duration)
            } else {
                settings.duration
            },
            replay: Vec::new(),
            settings,
        };
        engine.schedule_beginnings();
        engine.watch_losses(&loss_rtts);
        engine
    }

    fn schedule_beginnings(&mut self) {
        if self.settings.warmup > 0.0 {
            self.schedule(self.settings.warmup, START, Kind::WindowStart, 0);
        }
        if let Some(series) = &mut self.series {
            let ports = self.ports.len();
            (series.packets, series.average, series.dropped) =
                (vec![vec![]; ports], vec![vec![]; ports], vec![vec![]; ports]);
            series.cwnd = vec![vec![]; self.settings.cwnd_flows.len()];
            self.schedule(0.0, START, Kind::Sample, 0);
        }
        let traced = match &self.settings.trace_ports[..] {
            [] => &[0][..],
            ports => ports,
        };
        for (index, port) in self.ports.iter_mut().enumerate() {
            let keep = self.settings.trace.filter(|_| traced.contains(&(index as u32)));
            let trace = keep.map(QueueTrace::new);
            let shares = self.settings.entry_of.as_deref().map(Shares::new);
            let recorded = self.settings.rate_ports.contains(&(index as u32));
            let rates = if recorded { rates(&self.settings) } else { None };
            if trace.is_some() || shares.is_some() || rates.is_some() {
                port.observer = Some(Box::new(Observer { trace, shares, rates, ..Observer::default() }));
            }
        }
        if self.watches_receivers() {
            self.net.arrivals.iter_mut().for_each(|arrivals| arrivals.receiver.watch());
        }
        if let Some(entry_of) = &self.settings.entry_of {
            let entries = entry_of.iter().map(|&entry| usize::from(entry) + 1).max().unwrap_or(0);
            self.round_trips = vec![shares::histogram(); entries];
        }
        if let Some(flow) = self.settings.trace_flow {
            self.net.flows[flow as usize].sender.trace(true);
        }
        for flow in 0..self.net.flows.len() as u32 {
            let start = self.specs.start(flow);
            // A flow of a crowd's pool waits until somebody needs it.
            if start < f64::INFINITY {
                self.schedule(start, START, Kind::Start, flow);
            }
        }
        for (flow, time) in std::mem::take(&mut self.stops) {
            self.schedule(time, START, Kind::Stop, flow);
        }
        self.schedule_crowds();
        for port in 0..self.ports.len() as u32 {
            self.schedule_policy_timer(port, START.now);
        }
    }

    /// Schedules an event, while the one at `key` runs.
    fn schedule(&mut self, time: f64, key: Key, kind: Kind, index: u32) {
        self.counter += 1;
        let segment = Segment::new(index, 0, 0, 0);
        self.queue.push(Event::new(time, key.now, key.scheduled.to_bits(), self.counter, kind, segment), 3);
    }

    /// A policy's timer does not take its number from the counter: among events of one time that were scheduled at one
    /// time it comes first. A fold gives an arrival its number ahead of time, so that the counter could not tell in all
    /// plans alike which of the two was scheduled first.
    fn schedule_policy_timer(&mut self, port: u32, now: f64) {
        if let Runner::Stepped { discipline, .. } = &self.ports[port as usize].runner {
            if let Some(time) = discipline.next_timer() {
                let segment = Segment::new(port, 0, 0, 0);
                let event = Event::new(time.seconds(), now, 0, u64::from(port), Kind::PolicyTimer, segment);
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
        let at = &self.net.links[port.link as usize];
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
        while let Some(event) = self.queue.pop(&mut Eyes { net: &mut self.net, ports: &self.ports }) {
            let now = f64::from_bits(event.time);
            if now >= end {
                break;
            }
            self.events += 1;
            if self.net.stages > 0 {
                self.prefetch();
            }
            let key = Key { now, scheduled: f64::from_bits(event.scheduled), number: event.number };
            let segment = event.segment;
            match event.kind() {
                Kind::Arrival => self.on_arrival(segment, key),
                Kind::TransmissionEnd => self.on_transmission_end(segment.flow() as usize, key),
                Kind::Timer => self.on_timer(segment.flow() as usize, key),
                Kind::AckTimer => self.on_ack_timer(segment.flow(), key),
                Kind::Start => self.on_start(segment, key),
                Kind::Retry => self.on_retry(segment, key),
                Kind::Crowd => self.on_crowd(segment.flow() as usize, key),
                Kind::Replay => self.on_replay(segment.seq() as usize, key),
                Kind::Stop => self.net.flows[segment.flow() as usize].sender.end(),
                Kind::PolicyTimer => self.on_policy_timer(segment.flow(), key),
                Kind::MergeTurn => self.on_merge_turn(segment.flow(), now),
                Kind::WindowStart => self.begin_window(now),
                Kind::Sample => self.sample(now, segment.seq()),
            }
        }
        self.finish()
    }

    /// Lets recorded packets, which carry on one after the other in time, arrive at the first port, whose traffic they
    /// alone are; what becomes of each is among its port's outcome.
    pub fn replay(mut self, arrivals: Vec<(Time, Packet)>) -> Self {
        if let Some(port) = self.ports.first_mut() {
            port.observer.get_or_insert_default().fates = Some(vec![Fate::Queued; arrivals.len()]);
        }
        self.replay = arrivals;
        self.schedule_replay(0);
        self
    }

    /// An arrival comes after everything else of its time, as if it had been scheduled then.
    fn schedule_replay(&mut self, index: usize) {
        if let Some(&(time, _)) = self.replay.get(index) {
            self.counter += 1;
            let segment = Segment::new(0, index as i32, 0, 0);
            let event = Event::new(time.seconds(), time.seconds(), u64::MAX, self.counter, Kind::Replay, segment);
            self.queue.push(event, 3);
        }
    }

    fn on_replay(&mut self, index: usize, key: Key) {
        self.schedule_replay(index + 1);
        let (_, packet) = self.replay[index];
        let size = packet.size.min(u32::from(u16::MAX)) as u16;
        let segment = Segment::with(0, index as i32, 0, size, packet.ecn as u8);
        self.offer(self.ports[0].link, segment, packet, UNKNOWN, key);
    }

    /// An application starts.
    fn on_start(&mut self, event: Segment, key: Key) {
        let flow = event.flow();
        if self.specs.kind(flow).interval.is_some() {
            return self.on_source(event, key);
        }
        if self.applications.has(flow) {
            return self.begin_transfer(flow, key);
        }
        self.net.flows[flow as usize].sender.start(key.now, &mut self.out);
        self.flush(flow, key);
    }

    /// Asks for the memory that the next events of this kind will need: first for where to find it, then for what is
    /// there.
    #[inline(always)]
    fn prefetch(&self) {
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

    #[inline(always)]
    fn step(&self, segment: &Segment) -> Step {
        self.net.step(segment.flow(), segment.hop())
    }

    #[inline(always)]
    fn on_arrival(&mut self, segment: Segment, key: Key) {
        let route = self.net.routes[segment.flow() as usize];
        let step = self.net.step_of(route, segment.hop());
        match step.action {
            Action::AtEvent | Action::Through | Action::Fold | Action::SlowFold | Action::MixedFold | Action::Ahead => {
                self.arrive(route, step, segment, key)
            }
            Action::Sender => self.answer(segment, key),
            Action::SenderAhead => {
                self.net.flows[segment.flow() as usize].acks_coming -= 1;
                self.answer(segment, key);
            }
            Action::ReceiverAtEvent | Action::Receiver => {
                let Some(ack) = self.receive(segment, key) else { return };
                self.arrive(route, self.net.step_of(route, ack.hop()), ack, key);
            }
            Action::Sink => self.sink(segment, key.now),
            Action::Server => self.answer_server(segment, key),
            Action::Client => {
                let Some(ack) = self.receive_client(segment, key) else { return };
                self.set_out(ack, key);
            }
            Action::Expired => self.expired(segment, key.now),
            Action::RecordedSink | Action::RecordedSinkAtEvent => self.recorded_sink(segment, key.now),
        }
    }

    /// The counts of a flow that are seldom needed.
    fn rare(&mut self, flow: u32) -> &mut Rare {
        if self.rare.is_empty() {
            self.rare = vec![Rare::default(); self.specs.len()];
        }
        &mut self.rare[flow as usize]
    }

    /// A packet's time to live is used up at `now`.
    #[inline(never)]
    fn expired(&mut self, segment: Segment, now: f64) {
        self.opening -= u32::from(segment.bits() & SYN != 0);
        if segment.bits() & SACK != 0 {
            self.blocks.free(segment);
        }
        if now >= self.settings.warmup && now < self.settings.duration {
            self.rare(segment.flow()).expired += 1;
        }
    }

    /// The sender takes an ACK, at an event or ahead of its time.
    #[inline(never)]
    fn answer(&mut self, segment: Segment, key: Key) {
        let Sender::Ns2(sender) = &mut self.net.flows[segment.flow() as usize].sender else {
            return self.answer_rfc(segment, key);
        };
        let opening = sender.core.ack < 0;
        let (ack, segment) = self.blocks.open(segment, segment.seq());
        sender.on_ack(key.now, ack, &mut self.out);
        self.opening -= u32::from(opening && sender.core.ack >= 0);
        if !self.round_trips.is_empty() {
            self.note_round_trip(segment, key.now);
        }
        self.flush(segment.flow(), key);
    }

    /// An ACK arrives at `now`: the time since the segment that it answers was sent.
    #[inline(never)]
    fn note_round_trip(&mut self, ack: Segment, now: f64) {
        let Some(entry_of) = &self.settings.entry_of else { return };
        if now >= self.settings.warmup {
            let ticks = ack.age_ticks(Segment::stamp(now, self.ticks_per_second));
            let entry = entry_of[ack.flow() as usize];
            shares::record(&mut self.round_trips[usize::from(entry)], f64::from(ticks) / self.ticks_per_second);
        }
    }

    /// Whether the sender may take an ACK ahead of its time, `arrival`: no other comes before it, and the timer
    /// does not expire before it. While a connection opens, the others must
    /// not know of it before the time.
    #[inline(always)]
    fn may_answer(&self, segment: &Segment, hop: Hop) -> bool {
        let flow = &self.net.flows[segment.flow() as usize];
        hop.order & !BEHIND_SLOW_FOLD == 0
            && flow.acks_coming == 0
            && hop.arrival < flow.deadline
            && hop.arrival < self.answers_until
            && flow.sender.is_open()
    }

    /// Turns a segment that reaches its receiver into the ACK that leaves it, unless that waits.
    #[inline(always)]
    fn receive(&mut self, segment: Segment, key: Key) -> Option<Segment> {
        match &mut self.net.arrivals[segment.flow() as usize].receiver {
            Receiver::Ns2(receiver) if segment.bits() == 0 && receiver.is_plain() => {
                let before = receiver.next();
                let number = receiver.receive(segment.seq());
                let in_order = (receiver.next() - before) as u32;
                self.count_arrival(&segment, in_order, key.now);
                Some(segment.answered(number, ACK_BYTES))
            }
            _ => self.receive_specially(segment, key),
        }
    }

    /// Counts a segment with payload that has reached its receiver, and the segments that are in order with it.
    #[inline(always)]
    fn count_arrival(&mut self, segment: &Segment, in_order: u32, now: f64) {
        if now >= self.settings.warmup && now < self.settings.duration {
            let arrivals = &mut self.net.arrivals[segment.flow() as usize];
            arrivals.received += 1;
            arrivals.in_order += in_order;
            let now = Segment::stamp(now, self.ticks_per_second);
            arrivals.delay_ticks += u64::from(segment.age_ticks(now));
        }
    }

    /// A segment stands at the near end of the link that its next hop leads over, at the event `key`.
    fn set_out(&mut self, segment: Segment, key: Key) {
        let route = self.net.routes[segment.flow() as usize];
        self.arrive(route, self.net.step_of(route, segment.hop()), segment, key);
    }

    /// The same, where its route and hop are known.
    #[inline(never)]
    fn arrive(&mut self, route: Route, step: Step, mut segment: Segment, key: Key) {
        let link = step.link;
        let at = &mut self.net.links[link as usize];
        match at.mode {
            Mode::Merge | Mode::Fold | Mode::SlowFold => {
                let (start, arrival, cause) = at.wire.relay(key.now, key.scheduled, segment.size());
                segment = segment.at_next_hop();
                self.forward(route, segment, Hop { arrival, start, cause, order: 0 });
            }
            Mode::Stepped => {
                let idle = at.head == NONE
                    && (at.wire.free, at.wire.started, at.reserved) < (key.now, key.scheduled, key.number);
                if idle {
                    self.transmit(link, segment, UNKNOWN, key.now, key.scheduled);
                } else {
                    self.wait(link, segment);
                }
            }
            Mode::ArithmeticPort => {
                let port = &mut self.ports[at.port as usize];
                let mut packet = packet(&self.net.times_to_live, &segment, &step);
                match port.arithmetic_arrival(&at.wire, &segment, &mut packet, key.now, key.scheduled) {
                    Answer::Dropped => self.dropped(segment, key.now),
                    Answer::Leaves { start, marked } => {
                        if marked {
                            self.tallies[segment.flow() as usize].marks += 1;
                            segment = segment.with_bits(segment.bits() | CE);
                        }
                        let cause = if start > key.now { at.wire.started } else { key.scheduled };
                        let arrival = at.wire.send(start, segment.size());
                        segment = segment.at_next_hop();
                        self.forward(route, segment, Hop { arrival, start, cause, order: 0 });
                    }
                }
            }
            Mode::SteppedPort => {
                let lane = self.net.step_of(route, segment.hop() + 1).lane_of_event();
                self.offer(link, segment, packet(&self.net.times_to_live, &segment, &step), lane, key);
            }
            Mode::Own => debug_assert!(false, "senders alone send over their own links"),
        }
    }

    /// A sender sends over its own link, which needs no events.
    ///
    /// Two packets that start at one time on two such links come in the order of their chains, then of the events that
    /// began them (`docs/engine.md`, rule 7).
    #[inline(always)]
    fn send_over_own(&mut self, link: u32, lane: u8, segment: Segment, key: Key, one_size: bool) {
        let at = &mut self.net.links[link as usize];
        let (start, arrival, chain) = at.pass(&segment, key.now, key.scheduled, one_size);
        let (cause, number) = if chain > 0 {
            let begin = at.cause as u64;
            (WAITED | u64::from(chain) << CHAIN_SHIFT | begin >> LOW_BITS, begin << (64 - LOW_BITS) | at.reserved)
        } else {
            self.counter += 1;
            at.cause = (key.scheduled * TICKS).min(LATEST);
            at.reserved = self.counter;
            (key.scheduled.to_bits(), self.counter)
        };
        let segment = segment.at_next_hop();
        self.queue.push(Event::new(arrival, start, cause, number, Kind::Arrival, segment), lane);
    }

    /// A port dropped `segment` at `now`.
    #[inline(always)]
    fn dropped(&mut self, segment: Segment, now: f64) {
        if let Some(losses) = &mut self.losses {
            losses.lost(segment, now);
        }
        self.tallies[segment.flow() as usize].drops += 1;
        self.opening -= u32::from(segment.bits() & SYN != 0);
        if segment.bits() & SACK != 0 {
            self.blocks.free(segment);
        }
        let made = self.step(&segment).made;
        count_at(&mut self.losses_by_distance, made);
    }

    /// A segment that reaches its next hop: on through every hop that needs no event.
    #[inline(always)]
    fn forward(&mut self, route: Route, mut segment: Segment, mut hop: Hop) {
        loop {
            let step = self.net.step_of(route, segment.hop());
            match step.action {
                Action::Through => {
                    let (start, cause) = (hop.arrival, hop.start);
                    let arrival = self.net.links[step.link as usize].wire.arrival(start, segment.size());
                    hop = Hop { arrival, start, cause, order: hop.order };
                    segment = segment.at_next_hop();
                }
                Action::Fold => {
                    hop = self.relay(step.link, hop, segment.size());
                    segment = segment.at_next_hop();
                }
                Action::SlowFold => {
                    hop = self.relay_slowly(step.link, hop, &segment, true);
                    segment = segment.at_next_hop();
                }
                Action::MixedFold => {
                    hop = self.relay_mixed(step.link, hop, &segment);
                    segment = segment.at_next_hop();
                }
                Action::Receiver => {
                    let key = Key { now: hop.arrival, scheduled: hop.start, number: 0 };
                    let Some(ack) = self.receive(segment, key) else { return };
                    segment = ack;
                }
                Action::Sink => return self.sink(segment, hop.arrival),
                Action::Expired => return self.expired(segment, hop.arrival),
                Action::RecordedSink => return self.recorded_sink(segment, hop.arrival),
                Action::Ahead => {
                    if !self.may_pass(step.link, hop) {
                        return self.hold(step.link, hop, segment);
                    }
                    hop = self.relay(step.link, hop, segment.size());
                    hop.order = 0;
                    segment = segment.at_next_hop();
                }
                Action::SenderAhead if self.may_answer(&segment, hop) => {
                    self.counter += 1;
                    let key = Key { now: hop.arrival, scheduled: hop.start, number: self.counter };
                    return self.answer(segment, key);
                }
                _ => {
                    self.counter += 1;
                    let number = match hop.order {
                        0 => self.counter,
                        order => order | self.counter & ((1 << COUNTER_BITS) - 1),
                    };
                    if step.action == Action::SenderAhead {
                        self.net.flows[segment.flow() as usize].acks_coming += 1;
                    }
                    return self.push_arrival(segment, hop, number, step.lane());
                }
            }
        }
    }

    #[inline(always)]
    fn push_arrival(&mut self, segment: Segment, hop: Hop, number: u64, lane: u8) {
        let Hop { arrival, start, cause, .. } = hop;
        self.queue.push(Event::new(arrival, start, cause.to_bits(), number, Kind::Arrival, segment), lane);
    }

    /// A packet that comes by `hop` passes `link` by arithmetic.
    #[inline(always)]
    fn relay(&mut self, link: u32, hop: Hop, bytes: u16) -> Hop {
        let (start, arrival, cause) = self.net.links[link as usize].wire.relay(hop.arrival, hop.start, bytes);
        Hop { arrival, start, cause, order: hop.order }
    }

    /// The same where packets may wait.
    #[inline(always)]
    fn relay_slowly(&mut self, link: u32, hop: Hop, segment: &Segment, one_size: bool) -> Hop {
        let at = &mut self.net.links[link as usize];
        let before = at.wire.started;
        let (start, arrival, chain) = at.pass(segment, hop.arrival, hop.start, one_size);
        let cause = if chain > 0 { before } else { hop.start };
        Hop { arrival, start, cause, order: BEHIND_SLOW_FOLD | u64::from(chain) << COUNTER_BITS }
    }

    #[inline(never)]
    fn relay_mixed(&mut self, link: u32, hop: Hop, segment: &Segment) -> Hop {
        self.relay_slowly(link, hop, segment, false)
    }

    /// Before what time packets may pass a merge ahead of time: nothing that is still to leave the origin can arrive
    /// before.
    #[inline(always)]
    fn passes_until(&self, merge: &AheadMerge) -> f64 {
        let latency = if self.opening == 0 { merge.early.latency } else { merge.early.latency_of_syn };
        self.net.links[merge.early.origin as usize].wire.free + latency
    }

    /// Whether a packet that arrives at a merge by `hop` may pass at once.
    #[inline(always)]
    fn may_pass(&self, link: u32, hop: Hop) -> bool {
        let merge = &self.merges[self.net.links[link as usize].port as usize];
        hop.arrival < self.passes_until(merge) && merge.pending.is_empty()
    }

    /// A packet waits until nothing can come before it at a merge. Others may not have to wait any longer.
    #[inline(never)]
    fn hold(&mut self, link: u32, hop: Hop, segment: Segment) {
        self.counter += 1;
        let merge = self.net.links[link as usize].port as usize;
        self.merges[merge].pending.push(Pending { hop, number: self.counter, segment });
        self.pass_pending(link, hop.start, f64::NEG_INFINITY);
    }

    /// Lets all packets pass a merge that may, and all that arrive up to `now`: what is not known by then comes later.
    /// For the others sets an event, if there is none.
    #[inline(never)]
    fn pass_pending(&mut self, link: u32, scheduled: f64, now: f64) {
        let merge = self.net.links[link as usize].port as usize;
        let until = self.passes_until(&self.merges[merge]);
        while let Some(first) = self.merges[merge].pending.peek() {
            if first.hop.arrival > now && first.hop.arrival >= until {
                let wake = first.hop.arrival;
                if wake < self.merges[merge].wake {
                    self.merges[merge].wake = wake;
                    let key = Key { now: scheduled, scheduled, number: 0 };
                    self.schedule(wake, key, Kind::MergeTurn, link);
                }
                return;
            }
            let Some(first) = self.merges[merge].pending.pop() else { return };
            let hop = Hop { order: 0, ..self.relay(link, first.hop, first.segment.size()) };
            let route = self.net.routes[first.segment.flow() as usize];
            self.forward(route, first.segment.at_next_hop(), hop);
        }
    }

    /// An event that [`Engine::pass_pending`] has set. If an earlier one has been set since, it is one too many.
    fn on_merge_turn(&mut self, link: u32, now: f64) {
        let merge = &mut self.merges[self.net.links[link as usize].port as usize];
        if merge.wake == now {
            merge.wake = f64::INFINITY;
            self.pass_pending(link, now, now);
        }
    }

    /// A stepped link begins to send `segment`, at an event that was scheduled at `cause`. It takes two numbers: the
    /// arrival's and the end of transmission's. `lane` is that of the arrival, or [`UNKNOWN`].
    #[inline(always)]
    fn transmit(&mut self, link: u32, mut segment: Segment, lane: u8, now: f64, cause: f64) {
        self.counter += 2;
        let number = self.counter;
        let at = &mut self.net.links[link as usize];
        at.reserved = number;
        at.cause = cause;
        let arrival = if at.varies {
            let Some(arrival) = self.send_over_medium(link, &segment, now) else { return };
            arrival
        } else {
            at.wire.send(now, segment.size())
        };
        segment = segment.at_next_hop();
        let hop = Hop { arrival, start: now, cause, order: 0 };
        if lane != UNKNOWN {
            return self.push_arrival(segment, hop, number - 1, lane);
        }
        let route = self.net.routes[segment.flow() as usize];
        match self.net.step_of(route, segment.hop()).lane_of_event() {
            UNKNOWN => self.forward(route, segment, hop),
            lane => self.push_arrival(segment, hop, number - 1, lane),
        }
    }

    /// A link that is more than a rate and a delay begins to send `segment`: when it arrives, unless it is lost.
    #[inline(never)]
    fn send_over_medium(&mut self, link: u32, segment: &Segment, now: f64) -> Option<f64> {
        let at = self.media.binary_search_by_key(&link, |&(link, _)| link).ok()?;
        let wire = &mut self.net.links[link as usize].wire;
        let sent = self.media[at].1.send(wire, now, segment.size());
        wire.started = now;
        wire.free = sent.end;
        if sent.arrival.is_none() {
            if segment.bits() & SACK != 0 {
                self.blocks.free(*segment);
            }
            // In transit for ever, if the link has no rate left.
            self.rare(segment.flow()).lost += u32::from(sent.end.is_finite());
            if let Some(losses) = self.losses.as_mut().filter(|_| sent.end.is_finite()) {
                losses.lost(*segment, now);
            }
            self.opening -= u32::from(segment.bits() & SYN != 0);
        }
        sent.arrival
    }

    /// `segment` waits at a plain stepped link. The first to wait puts the end of transmission into the event queue.
    fn wait(&mut self, link: u32, segment: Segment) {
        let slot = self.store(segment);
        let at = &mut self.net.links[link as usize];
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
        let at = &self.net.links[link as usize];
        if at.wire.free == f64::INFINITY {
            // A link that is down for good.
            return;
        }
        let segment = Segment::new(link, 0, 0, 0);
        let event =
            Event::new(at.wire.free, at.wire.started, at.cause.to_bits(), at.reserved, Kind::TransmissionEnd, segment);
        self.queue.push(event, 0);
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

    fn on_transmission_end(&mut self, link: usize, key: Key) {
        if self.net.links[link].mode == Mode::SteppedPort {
            let port = self.net.links[link].port as usize;
            let port = &mut self.ports[port];
            if let Runner::Stepped { discipline, end_pending, .. } = &mut port.runner {
                *end_pending = false;
                port.stats.advance(key.now, discipline.packets());
            }
            self.pull(link as u32, key);
            return;
        }
        let slot = self.net.links[link].head;
        self.net.links[link].head = self.pool[slot as usize].1;
        let segment = self.release(slot);
        self.transmit(link as u32, segment, UNKNOWN, key.now, key.scheduled);
        if self.net.links[link].head != NONE {
            self.push_transmission_end(link as u32);
        }
    }

    /// `packet`, which is all that the queue sees of `segment`, arrives at the port of `link`. It carries the rest of the
    /// segment along, and the lane of the event that comes next: what leaves the queue needs nothing from elsewhere.
    fn offer(&mut self, link: u32, segment: Segment, mut packet: Packet, lane: u8, key: Key) {
        let port_index = self.net.links[link as usize].port as usize;
        self.notice_idle(port_index, key);
        let port = &mut self.ports[port_index];
        let Runner::Stepped { discipline, end_pending, idle } = &mut port.runner else { return };
        let length = discipline.packets();
        port.stats.advance(key.now, length);
        if let Some(average) = discipline.average() {
            port.stats.advance_average(key.now, average);
        }
        (packet.tag, packet.note) = segment.luggage(lane.into());
        let replay = !self.replay.is_empty();
        if let Some(observer) = &mut port.observer {
            observer.arrived(key.now, self.applications.who(&segment), segment.hop(), length + 1);
        }
        let mut dropped = std::mem::take(&mut self.dropped);
        let on_drop = &mut |victim: &Packet, why| dropped.push((unpacked(victim, replay).0, why));
        let admitted = discipline.enqueue(packet, Time::from_seconds(key.now), on_drop);
        let length = discipline.packets();
        if admitted.is_some_and(|marked| marked.0) {
            self.tallies[segment.flow() as usize].marks += 1;
            if let Some(observer) = &mut port.observer {
                observer.marked(segment.flow());
            }
        }
        for &(victim, reason) in &dropped {
            self.tallies[victim.flow() as usize].drops += 1;
            if let Some(losses) = &mut self.losses {
                losses.lost(victim, key.now);
            }
            self.opening -= u32::from(victim.bits() & SYN != 0);
            if victim.bits() & SACK != 0 {
                self.blocks.free(victim);
            }
            count_at(&mut self.losses_by_distance, self.net.step(victim.flow(), victim.hop()).made);
            if let Some(observer) = &mut port.observer {
                observer.dropped(key.now, self.applications.who(&victim), victim.hop(), length);
                observer.settle(&victim, Fate::Dropped { at: Time::from_seconds(key.now), reason });
            }
        }
        let pull_now = *idle;
        let needs_end = !*end_pending && !pull_now && length > 0;
        *end_pending |= needs_end;
        // A packet that goes to the link at once never counts as waiting.
        if !pull_now {
            port.stats.grown(length);
        }
        dropped.clear();
        self.dropped = dropped;
        if pull_now {
            self.pull(link, key);
        } else if needs_end {
            self.push_transmission_end(link);
        }
    }

    /// The link of a stepped port is free: it takes the next packet or becomes idle. The length up to `now` is counted.
    fn pull(&mut self, link: u32, key: Key) {
        let now = key.now;
        let port = &mut self.ports[self.net.links[link as usize].port as usize];
        let Runner::Stepped { discipline, .. } = &mut port.runner else { return };
        let replay = !self.replay.is_empty();
        let mut dropped = std::mem::take(&mut self.dropped);
        let on_drop = &mut |victim: &Packet, why| dropped.push((unpacked(victim, replay).0, why));
        let taken = discipline.dequeue(Time::from_seconds(now), on_drop);
        let length = discipline.packets() + u64::from(taken.is_some());
        for &(victim, reason) in &dropped {
            self.dropped(victim, now);
            let port = &mut self.ports[self.net.links[link as usize].port as usize];
            if let Some(observer) = &mut port.observer {
                observer.dropped(now, self.applications.who(&victim), victim.hop(), length);
                observer.settle(&victim, Fate::Dropped { at: Time::from_seconds(now), reason });
            }
        }
        dropped.clear();
        self.dropped = dropped;
        let port = &mut self.ports[self.net.links[link as usize].port as usize];
        let Runner::Stepped { discipline, end_pending, idle } = &mut port.runner else { return };
        let Some(packet) = taken else {
            *idle = true;
            return;
        };
        *idle = false;
        let waiting = discipline.packets();
        let waited = now - packet.enqueued.seconds();
        port.stats.departed(waited);
        *end_pending = waiting > 0 || discipline.watches_departures();
        let wants_end = *end_pending;
        let (segment, lane) = unpacked(&packet, replay);
        if let Some(observer) = &mut port.observer {
            observer.departed(now, self.applications.who(&segment), waited, waiting);
            observer.settle(&segment, Fate::Departed { at: Time::from_seconds(now), ecn: packet.ecn });
        }
        if packet.ecn != packet.admitted_ecn {
            // Marked since it was admitted.
            if let Some(observer) = &mut port.observer {
                observer.marked(segment.flow());
            }
            self.tallies[segment.flow() as usize].marks += 1;
        }
        self.transmit(link, segment, lane, now, key.scheduled);
        if wants_end {
            self.push_transmission_end(link);
        }
    }

    /// Carries out what the sender of `flow` has just asked for.
    #[inline(always)]
    fn flush(&mut self, flow: u32, key: Key) {
        if let Some(Timer::At(_)) = self.out.timer {
            return self.flush_rfc(flow, key);
        }
        if !self.out.segments.is_empty() {
            let born = Segment::stamp(key.now, self.ticks_per_second);
            let route = self.net.routes[flow as usize];
            let first = self.net.step_of(route, 0);
            let own = self.net.links[first.link as usize].mode == Mode::Own;
            let lane = self.net.step_of(route, 1).lane();
            let wire = self.net.flows[flow as usize].wire;
            for i in 0..self.out.segments.len() {
                let sent = self.out.segments[i];
                let mut size = wire;
                if sent.bits & SYN != 0 {
                    self.opening += 1;
                    size = self.net.flows[flow as usize].syn;
                }
                let segment = Segment::with(flow, sent.seq as i32, born, size, sent.bits);
                if own {
                    self.send_over_own(first.link, lane, segment, key, true);
                } else {
                    self.arrive(route, first, segment, key);
                }
            }
            self.out.segments.clear();
        }
        if let Some(delay) = self.out.take_after() {
            self.arm_timer(flow, key, delay);
        }
        if !self.out.changes.is_empty() {
            self.note_changes(key.now);
        }
    }

    /// Changes of the traced sender's variables.
    #[cold]
    fn note_changes(&mut self, time: f64) {
        let changes = self.out.changes.drain(..);
        self.variables.extend(changes.map(|(variable, value)| VariableChange { time, variable, value }));
    }

    /// One entry a flow in the event queue: a timer that moves to a later time is put off when its entry comes up.
    #[inline(always)]
    fn arm_timer(&mut self, flow: u32, key: Key, delay: f64) {
        self.counter += 1;
        let state = &mut self.net.flows[flow as usize];
        state.deadline = key.now + delay;
        state.armed_at = key.now;
        state.armed_cause = key.scheduled;
        state.armed_number = self.counter;
        if state.entry > state.deadline {
            self.push_timer(flow);
        }
    }

    fn push_timer(&mut self, flow: u32) {
        let event = self.net.flows[flow as usize].timer_event(flow);
        self.queue.push(event, 3);
    }

    fn on_timer(&mut self, flow: usize, key: Key) {
        let state = &mut self.net.flows[flow];
        if state.entry != key.now {
            return;
        }
        state.entry = f64::INFINITY;
        if state.armed_number != key.number {
            if state.deadline < f64::INFINITY {
                self.push_timer(flow as u32);
            }
            return;
        }
        state.deadline = f64::INFINITY;
        state.sender.on_timeout(key.now, &mut self.out);
        self.number_anew(flow as u32);
        self.flush(flow as u32, key);
    }

    fn begin_window(&mut self, now: f64) {
        self.answers_until = self.settings.duration;
        for port in &mut self.ports {
            port.restart(now);
        }
        self.losses_by_distance.clear();
        self.media.iter_mut().for_each(|(_, medium)| medium.lost = 0);
        self.tallies.fill(Tally::default());
        let before = self.net.flows.iter().map(|flow| Rare {
            retransmits_before: flow.sender.retransmits(),
            timeouts_before: flow.sender.timeouts(),
            ..Rare::default()
        });
        self.rare = before.collect();
        self.restart_losses();
        self.applications.restart();
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
            values.push(self.net.flows[flow as usize].sender.cwnd());
        }
        let interval = self.settings.series.unwrap_or(f64::INFINITY);
        self.counter += 1;
        let segment = Segment::new(0, index + 1, 0, 0);
        let next = f64::from(index + 1) * interval;
        self.queue.push(Event::new(next, 0.0, 0, self.counter, Kind::Sample, segment), 3);
    }

    fn finish(mut self) -> Outcome {
        let end = self.settings.duration;
        let rate = |link: u32| {
            let medium = self.media.iter().find(|&&(at, _)| at == link);
            let mean = medium.and_then(|(_, medium)| medium.mean_rate(self.settings.warmup, end));
            mean.unwrap_or(self.net.links[link as usize].wire.rate_bps)
        };
        let ports = std::mem::take(&mut self.ports).into_iter().map(|mut port| {
            port.finish(end);
            let Observer { trace, shares, rates, synchronisation, fates } = *port.observer.take().unwrap_or_default();
            PortOutcome {
                rate_bps: rate(port.link),
                counters: *port.counters(),
                has_average: port.average().is_some(),
                queued_at_start: port.queued_at_start,
                queued_at_end: port.packets(),
                trace,
                shares,
                rates,
                synchronisation,
                fates,
                name: port.name,
                aqm: port.aqm,
                stats: port.stats,
            }
        });
        let ports = ports.collect();
        let flow_losses = self.finish_losses();
        // With many flows, what is found of them needs as much room as what is no longer needed.
        (self.net.links, self.net.steps, self.pool) = (Vec::new(), Vec::new(), Vec::new());
        drop(self.queue);
        let flows = (self.net.flows.iter().zip(&self.net.arrivals).zip(&self.tallies).enumerate()).map(
            |(index, ((flow, arrivals), tally))| {
                let past = self.applications.past_connections(index as u32);
                let rare = self.rare.get(index).copied().unwrap_or_default();
                let segments = self.payloads.segments(index, self.specs.kind(index as u32));
                FlowOutcome {
                    spec: self.specs.whole(index as u32, flow.sender.clock_phase()),
                    in_order: segments.unwrap_or(arrivals.in_order),
                    received: arrivals.received,
                    delay_mean: arrivals.delay_ticks as f64
                        / self.ticks_per_second
                        / f64::from(arrivals.received.max(1)),
                    retransmits: flow.sender.retransmits() - rare.retransmits_before + past.0,
                    timeouts: flow.sender.timeouts() - rare.timeouts_before + past.1,
                    drops: tally.drops,
                    marks: tally.marks,
                    unasked: self.sources.counted(index),
                    payloads: self.payloads.counted(index, self.specs.kind(index as u32)),
                    transfers: self.applications.of_flow(index as u32),
                    lost: rare.lost,
                    expired: rare.expired,
                }
            },
        );
        Outcome {
            ports,
            flows: flows.collect(),
            transfers: self.applications.finish(),
            losses_by_distance: self.losses_by_distance,
            lost: self.media.iter().map(|(link, medium)| (*link, medium.lost)).collect(),
            series: self.series,
            rates: self.rates.map(|rates| *rates),
            variables: self.variables,
            round_trips: self.round_trips,
            variations: self.variations,
            flow_losses,
            events: self.events,
            links: self.link_counts,
        }
    }
}

/// Rates of the recorded flows, if any are.
fn rates(settings: &Settings) -> Option<Rates> {
    settings.rates.map(|interval| Rates::new(interval, settings.duration, &settings.rate_flows))
}

/// One more in the class of a distance.
#[inline(never)]
fn count_at(counts: &mut Vec<u64>, distance: u8) {
    let at = usize::from(distance);
    if counts.len() <= at {
        counts.resize(at + 1, 0);
    }
    counts[at] += 1;
}

/// What the queue sees of a segment.
#[inline(always)]
fn packet(times_to_live: &[(u8, u8)], segment: &Segment, step: &Step) -> Packet {
    let ecn = match segment.bits() & 3 {
        0 => Ecn::NotEct,
        1 => Ecn::Ect1,
        2 => Ecn::Ect0,
        _ => Ecn::Ce,
    };
    let mut packet = Packet {
        size: u32::from(segment.size()),
        ecn,
        class: step.rest >> CLASS_SHIFT,
        ttl: step.ttl,
        initial_ttl: 0,
        final_ttl: 0,
        rtt_hint_ms: 0,
        admitted_ecn: ecn,
        tag: 0,
        note: 0,
        flow: u64::from(segment.flow()),
        enqueued: Time::ZERO,
    };
    if step.rest & (INITIAL | LAST) != 0 {
        let (initial, last) = times_to_live[segment.flow() as usize];
        packet.initial_ttl = initial;
        // Whoever sends a SYN does not know it yet.
        packet.final_ttl = if step.rest & LAST != 0 && segment.bits() & SYN == 0 { last } else { 0 };
    }
    packet
}

/// The segment that a packet carries, with its packet's ECN field, and the lane of its next event. In a `replay` packets
/// have flows of their own.
#[inline(always)]
fn unpacked(packet: &Packet, replay: bool) -> (Segment, u8) {
    let flow = if replay { 0 } else { packet.flow as u32 };
    let size = packet.size.min(u32::from(u16::MAX)) as u16;
    let (segment, lane) = Segment::unpacked(flow, size, (packet.tag, packet.note));
    (segment.with_bits(segment.bits() & !CE | packet.ecn as u8), lane as u8)
}

/// The hops of every flow: links out, receiver, links back, sender.
fn routes(network: &Network, plan: &Plan, settings: &Settings) -> (Vec<Route>, Vec<Step>) {
    let (mut routes, mut all) = (Vec::with_capacity(network.flows()), Vec::new());
    let mut known: BTreeMap<Vec<Step>, u32> = BTreeMap::new();
    // Whether a flow has finite transfers, and whether over more than one connection.
    let mut applications = vec![(false, false); network.flows()];
    for (flow, spec) in &network.transfers {
        applications[*flow as usize] = (true, !spec.is_plain());
    }
    for (flow, &(transfers, reconnects)) in applications.iter().enumerate() {
        let (forward, reverse) = network.route(flow);
        let first = forward[0];
        let class = network.classes.get(flow).copied().unwrap_or(0);
        let time = network.time_to_live(flow);
        debug_assert!(class < 1 << (8 - CLASS_SHIFT));
        let hop = |made: usize, link: u32, tells: u8| {
            let own = (first..first.saturating_add(OWN_LINKS as u32)).contains(&link);
            let action = match plan.modes[link as usize] {
                Mode::Fold if plan.apart[link as usize] => Action::Through,
                Mode::Fold => Action::Fold,
                Mode::SlowFold if network.flow_specs[flow].options.rfc.is_some() => Action::MixedFold,
                Mode::SlowFold => Action::SlowFold,
                Mode::Merge if plan.early(link).is_some() => Action::Ahead,
                _ => Action::AtEvent,
            };
            Step {
                link: if own { OWN | (link - first) } else { link },
                action,
                ttl: time.initial - made as u8,
                made: made as u8,
                rest: class << CLASS_SHIFT | tells,
            }
        };
        let host = |action| Step { link: NO_LINK, action, ttl: 0, made: 0, rest: 0 };
        // The receiver never learns what is left of an ACK's time to live at the sender; nor does a constant bit rate.
        let tells = match time.option {
            TtlOption::Nothing => 0,
            _ if reverse.is_empty() => INITIAL,
            _ => INITIAL | LAST,
        };
        let mut steps: Vec<Step> = forward.iter().enumerate().map(|(made, &link)| hop(made, link, tells)).collect();
        if let Some(&back) = reverse.first() {
            let folded = plan.modes[back as usize] == Mode::Fold;
            // A window that is sampled must not be ahead of the time.
            let sampled = settings.series.is_some() && settings.cwnd_flows.contains(&(flow as u32));
            steps.push(host(match (reconnects, folded) {
                (true, _) => Action::Client,
                (false, true) => Action::Receiver,
                (false, false) => Action::ReceiverAtEvent,
            }));
            let tells = if time.option == TtlOption::All { INITIAL } else { 0 };
            steps.extend(reverse.iter().enumerate().map(|(made, &link)| hop(made, link, tells)));
            let ahead = plan.answers_ahead && !sampled;
            steps.push(host(match (time.expires, transfers, ahead) {
                (Some(_), ..) => Action::Expired,
                (None, true, _) => Action::Server,
                (None, false, true) => Action::SenderAhead,
                (None, false, false) => Action::Sender,
            }));
        } else {
            steps.push(host(match time.expires {
                Some(_) => Action::Expired,
                None if settings.jitter && network.varies(forward[forward.len() - 1]) => Action::RecordedSinkAtEvent,
                None if settings.rates.is_some() || settings.jitter => Action::RecordedSink,
                None => Action::Sink,
            }));
        }
        // Segments enter their first link without an event; the others share the lanes out in the order of the hops.
        let at_event = |step: &&mut Step| {
            use Action::{Ahead, Expired, Fold, MixedFold, Receiver, RecordedSink, Sink, SlowFold, Through};
            !matches!(
                step.action,
                Through | Fold | SlowFold | MixedFold | Ahead | Receiver | Sink | RecordedSink | Expired
            )
        };
        let events = steps[1..].iter_mut().filter(at_event).count();
        for (seen, step) in steps[1..].iter_mut().filter(at_event).enumerate() {
            step.rest |= (seen * 3 / events) as u8;
        }
        let at = *known.entry(steps).or_insert_with_key(|steps| {
            all.extend_from_slice(steps);
            (all.len() - steps.len()) as u32
        });
        routes.push(Route { steps: at, first });
    }
    (routes, all)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_waits_behind_packets_of_several_sizes() {
        // In the order in which the transmissions before them began: none, then by the last, the larger first, then by those
        // before it.
        let behind_acks = |sizes: &[u16]| sizes.iter().fold(0, |chain, &bytes| behind(chain, bytes, 0));
        let order: [&[u16]; 9] =
            [&[], &[76], &[76, 76], &[40, 76], &[68], &[76, 52], &[40], &[76, 40], &[40, 40, 40, 40, 40, 40]];
        assert!(order.is_sorted_by(|first, next| behind_acks(first) < behind_acks(next)));
        assert_eq!(behind(5 << ROUNDING_SHIFT, 40, 0) >> ROUNDING_SHIFT, 5, "what rounding has made equal goes before");
        // Behind a short segment last, and of these the longer chain first.
        let full = 1000;
        let first = behind(3, 40, full);
        let second = behind(first, 1000, full);
        assert!(COUNT < second && second < first && first <= ORDER);
    }
}
