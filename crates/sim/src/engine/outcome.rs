//! What a run found.

use super::network::FlowSpec;
use super::trace::{QueueTrace, VariableChange};
use crate::losses::{FlowLosses, Synchronisation};
use crate::measure::QueueStats;
use crate::rates::Rates;
use crate::shares::Shares;
use crate::variation::Variation;
use earlydrop_aqm::gate::Counters;
use earlydrop_net::record::Fate;
use hdrhistogram::Histogram;

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

/// A flow's transfers.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct FlowTransfers {
    /// Completed within the window.
    pub completed: u32,
    /// Time of the only one that was ever completed, s.
    pub time: Option<f64>,
    /// That time by what it would have been at best, if there were data.
    pub slowdown: Option<f64>,
}

/// The transfers of a group within the window.
#[derive(Clone, Debug, Default)]
pub struct TransferOutcome {
    /// Transfers that began.
    pub begun: u64,
    /// Bytes of the transfers that were completed.
    pub bytes: u64,
    /// Times of the transfers that were completed, s, in the order of their ends.
    pub times: Vec<f64>,
    /// Times of those that had data, by what they would have been at best, in the order of their ends.
    pub slowdowns: Vec<f64>,
    /// Objects that had to wait for a flow.
    pub waited: u64,
    /// Sum of the times from the begin to the first segment with data, s, and how many.
    pub start_up: (f64, u64),
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
