//! What to measure and record.

use crate::rates::Rates;

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

impl Settings {
    /// Rates of the recorded flows, if any are.
    pub(super) fn new_rates(&self) -> Option<Rates> {
        self.rates.map(|interval| Rates::new(interval, self.duration, &self.rate_flows))
    }
}
