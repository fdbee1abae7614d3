//! What a run measures and records.

use crate::rates::Rates;

/// What a run measures and records.
#[derive(Clone, Debug, Default)]
pub struct Settings {
    /// End of the run, s.
    pub duration: f64,
    /// Start of the measured window, s.
    pub warmup: f64,
    /// Interval of the sampled series, s.
    pub series: Option<f64>,
    /// Whether the disciplines' inner values are sampled with it.
    pub gauges: bool,
    /// Flows (from 0) whose cwnd is sampled.
    pub cwnd_flows: Vec<u32>,
    /// Queue events to keep of each traced port.
    pub trace: Option<usize>,
    /// Whether events have headers.
    pub trace_headers: bool,
    /// Traced ports; empty means port 0.
    pub trace_ports: Vec<u32>,
    /// Flow (from 0) whose variables are traced.
    pub trace_flow: Option<u32>,
    /// Traffic entry of each flow, to count queues by flow and RTTs by entry.
    pub entry_of: Option<Vec<u16>>,
    /// Intervals over which rates are averaged, s.
    pub rates: Option<f64>,
    /// Flows (from 0) whose rates are recorded.
    pub rate_flows: Vec<u32>,
    /// Ports whose rates are recorded too.
    pub rate_ports: Vec<u32>,
    /// Measure the delay variation of the flows.
    pub jitter: bool,
    /// Flows (from 0) of which every packet's delay is recorded.
    pub delay_flows: Vec<u32>,
    /// Measure the distances between losses, and how many flows lose packets in one loss event.
    pub losses: bool,
    /// Length of a loss event, s; by default the mean base RTT of the flows at a queue.
    pub loss_rtt: Option<f64>,
}

impl Settings {
    /// The recorder of rates, if any are recorded.
    pub(super) fn new_rates(&self) -> Option<Rates> {
        self.rates.map(|interval| Rates::new(interval, self.duration, &self.rate_flows))
    }
}
