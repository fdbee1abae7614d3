//! What a link in operation shows, and what it reports when it stops. Counts are of the measured window.

use earlydrop_aqm::gate::Counters;
use earlydrop_net::bands::Band;
use earlydrop_net::measure::QueueStats;
use hdrhistogram::Histogram;

use crate::flows::Flow;
use crate::record::Record;
use crate::seconds::Busy;
use crate::trust::{DeviceLosses, Signs};

/// The state of one direction at a moment.
#[derive(Clone, Debug, Default)]
pub struct View {
    /// Time since the link started, s.
    pub time: f64,
    /// Packets in the queue.
    pub packets: u64,
    /// Bytes in the queue.
    pub bytes: u64,
    /// The discipline's averaged queue, packets.
    pub average: Option<f64>,
    /// Mean sojourn time of the departed packets, s.
    pub sojourn_mean: f64,
    /// Arrivals, departures, drops and marks.
    pub counters: Counters,
    /// Internal values of the discipline.
    pub gauges: Vec<(&'static str, f64)>,
    /// What tells whether this machine is fast enough.
    pub signs: Signs,
    /// The ten flows with the most delivered bytes, by number.
    pub flows: Vec<(usize, Flow)>,
}

/// The sampled series of one direction.
#[derive(Clone, Debug, Default)]
pub struct Series {
    /// Sample times, s.
    pub time: Vec<f64>,
    /// Packets in the queue.
    pub packets: Vec<u64>,
    /// The discipline's averaged queue, packets; NaN without one.
    pub average: Vec<f64>,
    /// Drops since the window started.
    pub dropped: Vec<u64>,
}

/// What one direction did in the measured window.
pub struct PathOutcome {
    /// Start and end of the window, s since the link started.
    pub window: (f64, f64),
    /// Rate of the link, bit/s: the mean over the window if it varies.
    pub rate_bps: f64,
    /// The queue's counters.
    pub counters: Counters,
    /// The queue's statistics.
    pub stats: QueueStats,
    /// Whether the discipline keeps an average.
    pub has_average: bool,
    /// What passed the discipline's bands; mostly none.
    pub bands: Vec<Band>,
    /// Packets in the queue at the start and at the end of the window.
    pub queued: (u64, u64),
    /// Packets lost by the loss model.
    pub lost: u64,
    /// Packets written to the receiving device, and their bytes.
    pub delivered: (u64, u64),
    /// Packets delivered with CE that arrived without.
    pub ce_set: u64,
    /// Packets read, and written, several in one system call.
    pub in_bursts: (u64, u64),
    /// Packets in transmission or on the delay line at the end.
    pub in_flight: u64,
    /// Rate over the seconds in which packets waited throughout, in the queue or in front of the link.
    pub busy: Option<Busy>,
    /// What tells whether this machine was fast enough.
    pub signs: Signs,
    /// Lateness of the deliveries, ns.
    pub lateness: Histogram<u64>,
    /// Flows in the order of their first packets.
    pub flows: Vec<Flow>,
    /// Packets lost at the devices.
    pub device_losses: DeviceLosses,
    /// Samples, if asked for.
    pub series: Option<Series>,
    /// Arrivals and their fates since the link started, if asked for.
    pub record: Option<Record>,
}
