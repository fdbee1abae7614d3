//! A network in motion: what every event does. Each part of it has a file, which adds its methods to the engine.

mod arithmetic;
mod crowds;
mod dispatch;
mod fetching;
mod finish;
mod ports;
mod receivers;
mod replay;
mod rfc;
mod sampling;
mod senders;
mod set_up;
mod sources;
mod stepped;
mod transfers;

use crate::engine::outcome::Series;
use crate::engine::settings::Settings;
use crate::engine::state::applications::Applications;
use crate::engine::state::end_to_end::Losses;
use crate::engine::state::hosts::BlockPool;
use crate::engine::state::net::{AckTimer, Net, Payloads, Rare, Tally};
use crate::engine::state::order::{AheadMerge, Key};
use crate::engine::state::port::{Dropped, Port};
use crate::engine::state::sources::Sources;
use crate::engine::state::specs::Specs;
use crate::engine::trace::VariableChange;
use crate::events::{Event, EventQueue, Kind};
use crate::rates::Rates;
use crate::variation::Variation;
use earlydrop_aqm::{Packet, Time};
use earlydrop_net::medium::Medium;
use earlydrop_net::tcp::Output;
use earlydrop_net::Segment;
use hdrhistogram::Histogram;

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
    dropped: Dropped,
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
    losses: Option<Box<Losses>>,
    link_counts: (usize, usize),
    /// Before what time senders take ACKs ahead of it.
    answers_until: f64,
    /// Recorded packets that arrive at the port.
    replay: Vec<(Time, Packet)>,
}

impl<Q: EventQueue> Engine<Q> {
    /// Schedules an event, while the one at `key` runs.
    pub(super) fn schedule(&mut self, time: f64, key: Key, kind: Kind, index: u32) {
        self.counter += 1;
        let segment = Segment::new(index, 0, 0, 0);
        self.queue.push(Event::new(time, key.now, key.scheduled.to_bits(), self.counter, kind, segment), 3);
    }
}
