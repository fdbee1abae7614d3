//! The engine: the state of a running network and what each event does to it. Each part has a file with its methods.

mod ahead;
mod analytic;
mod both_ways;
mod device;
mod dispatch;
mod finish;
mod outside;
mod ports;
mod prefetching;
mod reading;
mod receivers;
mod replay;
mod rfc;
mod rtp;
mod sampling;
mod senders;
mod set_up;
mod sources;
mod stepped;
mod transfers;
mod web;

pub use reading::{FlowState, QueueState};
pub use set_up::is_large;

use crate::engine::network::{FlowSettings, WriterSpec};
use crate::engine::outcome::{PacketDelays, Series};
use crate::engine::settings::Settings;
use crate::engine::state::ahead::Hosts;
use crate::engine::state::applications::Applications;
use crate::engine::state::both_ways::BothWays;
use crate::engine::state::end_to_end::Losses;
use crate::engine::state::headers::Headers;
use crate::engine::state::hosts::BlockPool;
use crate::engine::state::net::{AckTimer, Net, Payloads, Rare};
use crate::engine::state::order::{AheadMerge, Instant, Key};
use crate::engine::state::outside::Outside;
use crate::engine::state::rtp::RtpFlows;
use crate::engine::state::sources::Sources;
use crate::engine::state::starts::Starts;
use crate::engine::trace::{TcpFlows, VariableChange};
use crate::events::{Event, EventQueue, Kind};
use crate::rates::Rates;
use crate::variation::Variation;
use earlydrop_net::medium::Medium;
use earlydrop_net::record::Arrivals;
use earlydrop_net::tcp::Output;
use earlydrop_net::Segment;
use hdrhistogram::Histogram;
use std::collections::BTreeMap;
use std::ops::Range;

/// A running network.
pub struct Engine<Q> {
    queue: Q,
    counter: u64,
    events: u64,
    instant: Instant,
    /// Some links are passed, or hosts run ahead: the place of events among others matters.
    watches: bool,
    /// Added to the numbers of what is scheduled ahead of time; 0 where no host runs ahead.
    mark: u64,
    /// Two events tied where hosts run ahead: only the other plans give the right order.
    contradicted: bool,
    /// Those that run ahead.
    hosts: Hosts,
    /// Up to which time it runs at present, s.
    end: f64,
    settings: Settings,
    net: Net,
    rare: Vec<Rare>,
    specs: FlowSettings,
    sources: Sources,
    rtp: RtpFlows,
    outside: Outside,
    both_ways: BothWays,
    applications: Applications,
    /// When flows start.
    starts: Starts,
    /// Flows whose data end at a time, s.
    stops: Vec<(u32, f64)>,
    /// Applications that write a segment at a time, by flow.
    writers: BTreeMap<u32, WriterSpec>,
    payloads: Payloads,
    merges: Box<[AheadMerge<Q>]>,
    /// Links with varying rate, loss, jitter or reordering, by rising row.
    media: Vec<(u32, Medium)>,
    losses_by_distance: Vec<u64>,
    /// Resolution of time stamps.
    ticks_per_second: f64,
    /// Connections without an answer to their SYN, and SYNs in flight.
    opening: u32,
    pool: Vec<(Segment, u32)>,
    free_slot: u32,
    out: Output,
    /// Packets dropped by one call; kept to reuse its memory.
    dropped: Vec<Segment>,
    /// SACK blocks of the ACKs in flight.
    blocks: BlockPool,
    /// For queues that read headers.
    headers: Headers,
    /// Some senders bound their own queues.
    small_queues: bool,
    /// Delayed-ACK timer by flow; empty if no flow delays ACKs.
    ack_timers: Vec<AckTimer>,
    series: Option<Series>,
    /// Payload available in order, if rates are recorded.
    rates: Option<Box<Rates>>,
    variables: Vec<VariableChange>,
    /// RTTs by traffic entry, microseconds; empty if not asked for.
    round_trips: Vec<Histogram<u32>>,
    /// Delay variation by flow; empty if not asked for.
    variations: Vec<Variation>,
    /// Where headers are traced.
    tcp_flows: Option<TcpFlows>,
    /// Delays of every packet, by recorded flow.
    packet_delays: Vec<PacketDelays>,
    losses: Option<Box<Losses>>,
    link_counts: (usize, usize),
    /// By port: the flows whose data pass it.
    passing: Vec<Vec<Range<u32>>>,
    /// Time before which senders process ACKs ahead of their arrival.
    answers_until: f64,
    /// Recorded packets that arrive at the port.
    replay: Arrivals,
}

impl<Q: EventQueue> Engine<Q> {
    /// Schedules an event from the event at `key`.
    pub(super) fn schedule(&mut self, time: f64, key: Key, kind: Kind, index: u32) {
        self.counter += 1;
        let segment = Segment::new(index, 0, 0, 0);
        self.queue.push(Event::new(time, key.now, key.scheduled.to_bits(), self.counter, kind, segment), 3);
    }
}
