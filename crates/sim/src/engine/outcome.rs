//! The raw results of a run.

use super::trace::{QueueTrace, VariableChange};
use crate::losses::{FlowLosses, Synchronisation};
use crate::measure::QueueStats;
use crate::rates::Rates;
use crate::shares::Shares;
use crate::variation::Variation;
use earlydrop_aqm::gate::Counters;
use earlydrop_net::bands::Band;
use earlydrop_net::record::Fate;
use hdrhistogram::Histogram;
use std::ops::Range;

/// When packets were sent, and their one-way delays, s; in the order of arrival.
pub type PacketDelays = Vec<(f64, f64)>;

/// The raw results of a run.
pub struct Outcome {
    /// By port.
    pub ports: Vec<PortOutcome>,
    /// By flow.
    pub flows: Vec<FlowOutcome>,
    /// By group of transfers.
    pub transfers: Vec<TransferOutcome>,
    /// Packets dropped at ports, by the number of links that they had passed.
    pub losses_by_distance: Vec<u64>,
    /// Packets lost on links with a medium, by rising row of the link.
    pub lost: Vec<(u32, u64)>,
    /// Sampled series.
    pub series: Option<Series>,
    /// Payload that became available in order at the receivers, by flow and over time.
    pub rates: Option<Rates>,
    /// Changes of the traced flow's variables.
    pub variables: Vec<VariableChange>,
    /// RTTs by traffic entry, microseconds; empty if not asked for.
    pub round_trips: Vec<Histogram<u32>>,
    /// Delay variation by flow; empty if not asked for.
    pub variations: Vec<Variation>,
    /// By recorded flow: every packet received with its delay.
    pub packet_delays: Vec<PacketDelays>,
    /// Packets sent and lost by flow; empty if not asked for.
    pub flow_losses: Vec<FlowLosses>,
    /// Number of events processed.
    pub events: u64,
    /// Number of analytic and of stepped links.
    pub links: (usize, usize),
}

/// Samples of a discipline's inner values, by name. All have one number a sample: NaN where a value was not there.
pub type Gauges = Vec<(&'static str, Vec<f64>)>;

/// Results of one port.
pub struct PortOutcome {
    /// Name.
    pub name: String,
    /// Discipline.
    pub aqm: String,
    /// Rate of its link, bit/s.
    pub rate_bps: f64,
    /// Counters.
    pub counters: Counters,
    /// Statistics.
    pub stats: QueueStats,
    /// Whether the policy keeps an average.
    pub has_average: bool,
    /// The flows whose data pass it, as ranges of indices.
    pub passing: Vec<Range<u32>>,
    /// Packets in the queue at the start of the window.
    pub queued_at_start: u64,
    /// Packets in the queue at the end.
    pub queued_at_end: u64,
    /// Event trace, if asked for.
    pub trace: Option<QueueTrace>,
    /// Shares of the flows in the queue, if asked for.
    pub shares: Option<Shares>,
    /// Bytes departed, by flow and over time, if asked for.
    pub rates: Option<Rates>,
    /// Number of flows that lose packets in one loss event, if asked for.
    pub synchronisation: Option<Synchronisation>,
    /// What passed the discipline's bands; mostly none.
    pub bands: Vec<Band>,
    /// Statistics of the discipline's groups of queues (CAKE's tins); mostly none.
    pub groups: Vec<Vec<(&'static str, f64)>>,
    /// Statistics of the parent of the discipline, by class or of the whole; mostly none.
    pub parent: Vec<(Option<usize>, &'static str, f64)>,
    /// Fates of the recorded packets, in a replay.
    pub fates: Option<Vec<Fate>>,
}

/// Results of one flow, over the window.
#[derive(Clone, Debug)]
pub struct FlowOutcome {
    /// When it starts, s.
    pub start: f64,
    /// Payload of a segment, bytes.
    pub payload: u16,
    /// Segments delivered in order (without the SYN).
    pub in_order: u32,
    /// Segments received, duplicates included (without the SYN).
    pub received: u32,
    /// Mean one-way delay, s.
    pub delay_mean: f64,
    /// Retransmitted segments.
    pub retransmits: u32,
    /// Timeouts.
    pub timeouts: u32,
    /// Drops at ports.
    pub drops: u32,
    /// Marks at ports.
    pub marks: u32,
    /// Over UDP: packets sent, and payload received, bytes.
    pub datagrams: Option<(u64, u64)>,
    /// Real-time media with feedback.
    pub media: Option<Box<MediaOutcome>>,
    /// RFC TCP, and stacks from outside that tell: payload received in order, and in total, bytes.
    pub payloads: Option<(u64, u64)>,
    /// Its finite transfers, if it has any.
    pub transfers: Option<FlowTransfers>,
    /// Packets lost on links.
    pub lost: u32,
    /// Packets whose time to live expired.
    pub expired: u32,
}

/// Results of a flow of real-time media, over the window. Times in s; NaN without frames.
#[derive(Clone, Debug, PartialEq)]
pub struct MediaOutcome {
    /// Mean target rate, headers included, bit/s.
    pub target: f64,
    /// Payload of the frames captured, bytes.
    pub encoded_bytes: u64,
    /// One-way delay of packets: 95 % and 99 % quantiles.
    pub packet_delays: (f64, f64),
    /// The histogram of these delays: the longest time of each group, microseconds, and its packets.
    pub packet_times: Vec<(u64, u64)>,
    /// Frames captured.
    pub frames_sent: u32,
    /// Frames of which every packet was received.
    pub frames_complete: u32,
    /// Frames of which a packet was lost.
    pub frames_lost: u32,
    /// From the capture of a complete frame to the arrival of its last packet: mean, 95 % and 99 % quantiles.
    pub frame_delays: (f64, f64, f64),
    /// The histogram of these delays: the longest time of each group, microseconds, and its frames.
    pub frame_times: Vec<(u64, u64)>,
    /// Freezes, and the time in them.
    pub freezes: u32,
    /// See [`freezes`](Self::freezes).
    pub frozen: f64,
}

/// Finite transfers of a flow.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct FlowTransfers {
    /// Completed within the window.
    pub completed: u32,
    /// Completed from the start of the run.
    pub ever_completed: u32,
    /// Duration of the only transfer ever completed, s.
    pub time: Option<f64>,
    /// That duration divided by the shortest possible, if there were data.
    pub slowdown: Option<f64>,
}

/// Finite transfers of a group, over the window.
#[derive(Clone, Debug, Default)]
pub struct TransferOutcome {
    /// Transfers started.
    pub begun: u64,
    /// Bytes of the completed transfers.
    pub bytes: u64,
    /// Durations of the completed transfers, s, in the order of their ends.
    pub times: Vec<f64>,
    /// Slowdowns of transfers with data (duration over the shortest possible), in the order of their ends.
    pub slowdowns: Vec<f64>,
    /// Objects that waited for an idle flow.
    pub waited: u64,
    /// Sum of the times from the start to the first data segment, s, and their number.
    pub start_up: (f64, u64),
}

/// Samples of a sender; NaN where there was no value.
#[derive(Clone, Debug, Default)]
pub struct SenderSeries {
    /// Congestion window, segments.
    pub cwnd: Vec<f64>,
    /// Smoothed round-trip time, s.
    pub srtt: Vec<f64>,
    /// Pacing rate, bits of payload per second.
    pub pacing: Vec<f64>,
    /// The congestion control's inner values by name, in its order; empty unless they are sampled.
    pub gauges: Gauges,
}

/// Sampled series.
#[derive(Clone, Debug, Default)]
pub struct Series {
    /// s.
    pub time: Vec<f64>,
    /// By port: packets in the queue.
    pub packets: Vec<Vec<u64>>,
    /// By port: the policy's averaged queue, packets; NaN if it has none.
    pub average: Vec<Vec<f64>>,
    /// By port: drops since the start of the window.
    pub dropped: Vec<Vec<u64>>,
    /// By port: the discipline's inner values by name, in its order; empty unless they are sampled.
    pub gauges: Vec<Gauges>,
    /// By sampled flow: its sender.
    pub senders: Vec<SenderSeries>,
}
