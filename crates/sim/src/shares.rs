//! Shares of a queue: counters and sojourn times by flow, and their distribution by traffic entry.

pub use crate::measure::Share;
use hdrhistogram::Histogram;

/// Upper bound of the histograms, microseconds (one hour).
const LONGEST_US: u64 = 3_600_000_000;

/// A histogram of times in microseconds, to 0.1 %.
pub fn histogram() -> Histogram<u32> {
    Histogram::new_with_bounds(1, LONGEST_US, 3).expect("bounds are valid")
}

/// Adds a time in seconds to a histogram of microseconds.
#[inline]
pub fn record(histogram: &mut Histogram<u32>, seconds: f64) {
    histogram.saturating_record((seconds * 1e6 + 0.5) as i64 as u64);
}

/// Shares of all flows in one queue.
#[derive(Clone, Debug)]
pub struct Shares {
    /// The share of each flow.
    pub flows: Vec<Share>,
    /// The traffic entry of each flow.
    pub entry_of: Vec<u16>,
    /// Sojourn times by traffic entry, microseconds.
    pub sojourn: Vec<Histogram<u32>>,
}

impl Shares {
    /// Shares before any packet. `entry_of` is the traffic entry of each flow.
    pub fn new(entry_of: &[u16]) -> Self {
        let entries = entry_of.iter().map(|&entry| usize::from(entry) + 1).max().unwrap_or(0);
        Shares {
            flows: vec![Share::default(); entry_of.len()],
            entry_of: entry_of.to_vec(),
            sojourn: vec![histogram(); entries],
        }
    }

    /// The measured window starts.
    pub fn restart(&mut self) {
        self.flows.fill(Share::default());
        self.sojourn.iter_mut().for_each(Histogram::reset);
    }

    /// A packet arrived.
    #[inline]
    pub fn arrived(&mut self, flow: u32, bytes: u32) {
        self.flows[flow as usize].arrived(bytes);
    }

    /// A packet was dropped.
    #[inline]
    pub fn dropped(&mut self, flow: u32, bytes: u32) {
        self.flows[flow as usize].dropped(bytes);
    }

    /// A packet was marked.
    #[inline]
    pub fn marked(&mut self, flow: u32) {
        self.flows[flow as usize].marks += 1;
    }

    /// A packet departed after a sojourn of `seconds`.
    #[inline]
    pub fn departed(&mut self, flow: u32, bytes: u32, seconds: f64) {
        self.flows[flow as usize].departed(bytes, seconds);
        record(&mut self.sojourn[usize::from(self.entry_of[flow as usize])], seconds);
    }

    /// The share of all flows of a traffic entry.
    pub fn of_entry(&self, entry: usize) -> Share {
        self.flows
            .iter()
            .zip(&self.entry_of)
            .filter(|(_, &of)| usize::from(of) == entry)
            .fold(Share::default(), |sum, (share, _)| sum.and(share))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn shares_add_up() {
        let mut shares = Shares::new(&[0, 1, 1]);
        for (flow, bytes) in [(0, 1000), (1, 500), (2, 500), (2, 40)] {
            shares.arrived(flow, bytes);
        }
        shares.dropped(0, 1000);
        shares.departed(1, 500, 0.002);
        shares.departed(2, 500, 0.004);
        shares.departed(2, 40, 0.0);
        let entry = shares.of_entry(1);
        assert_eq!((entry.arrivals, entry.arrived_bytes, entry.departures, entry.drops), (3, 1040, 3, 0));
        assert_eq!((entry.mean_sojourn(), entry.sojourn_max), (Some(0.002), 0.004));
        assert_eq!((shares.of_entry(0).dropped_bytes, shares.of_entry(0).mean_sojourn()), (1000, None));
        assert_eq!(shares.sojourn[1].value_at_quantile(0.5), 2000);
        shares.restart();
        assert_eq!(shares.of_entry(1), Share::default());
        assert_eq!(shares.sojourn[1].len(), 0);
    }
}
