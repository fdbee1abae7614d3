//! A link that sends packets in aggregates, as Wi-Fi (A-MPDUs) and DOCSIS (grants) do: each aggregate waits for access
//! to the medium; its packets follow without a gap. So packets that come at an even pace leave in bursts, and ACKs that
//! cross such a link are compressed.

/// Two times that are equal on a clock of nanoseconds, s.
const EQUAL: f64 = 2e-9;

/// How packets are aggregated.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Aggregation {
    /// Time without transmission before each aggregate, s.
    pub access: f64,
    /// Most packets of an aggregate.
    pub packets: Option<u64>,
    /// Most bytes of an aggregate, as they are on the link; a longer packet is an aggregate of its own.
    pub bytes: Option<u32>,
    /// Longest transmission of an aggregate, s; a packet that takes longer is an aggregate of its own.
    pub time: Option<f64>,
}

/// The aggregate in progress.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Aggregate {
    of: Aggregation,
    /// When the aggregate ends unless another packet follows, and by when it must end, s.
    end: f64,
    until: f64,
    packets: u64,
    bytes: u64,
}

impl Aggregate {
    /// No aggregate is in progress.
    pub fn new(of: Aggregation) -> Self {
        Aggregate { of, end: f64::NEG_INFINITY, until: 0.0, packets: 0, bytes: 0 }
    }

    /// Sends a packet of `bytes` that is ready at `ready`. `transmit` gives end and arrival of a transmission by its
    /// start.
    pub fn send(&mut self, ready: f64, bytes: u32, mut transmit: impl FnMut(f64) -> (f64, f64)) -> (f64, f64) {
        let (packets, total) = (self.packets + 1, self.bytes + u64::from(bytes));
        let fits = self.of.packets.is_none_or(|most| packets <= most)
            && self.of.bytes.is_none_or(|most| total <= u64::from(most));
        if fits && ready <= self.end + EQUAL {
            let sent = transmit(ready);
            if sent.0 <= self.until {
                (self.end, self.packets, self.bytes) = (sent.0, packets, total);
                return sent;
            }
        }
        let start = ready + self.of.access;
        let sent = transmit(start);
        self.until = start + self.of.time.unwrap_or(f64::INFINITY) + EQUAL;
        (self.end, self.packets, self.bytes) = (sent.0, 1, bytes.into());
        sent
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Ends of transmissions of 1000 B at 8 Mbit/s; packets are ready at these times, or when the link is.
    fn ends(of: Aggregation, ready: &[f64]) -> Vec<f64> {
        let (mut aggregate, mut free) = (Aggregate::new(of), 0.0_f64);
        let mut send = |ready: f64| {
            free = aggregate.send(ready.max(free), 1000, |start| (start + 0.001, start + 0.001)).0;
            (free * 1e6).round() / 1e6
        };
        ready.iter().map(|&ready| send(ready)).collect()
    }

    #[test]
    fn packets_that_wait_leave_together_up_to_each_limit() {
        let of = Aggregation { access: 0.01, packets: None, bytes: None, time: None };
        let full = [0.011, 0.012, 0.013, 0.024, 0.025];
        assert_eq!(ends(Aggregation { packets: Some(3), ..of }, &[0.0; 5]), full);
        assert_eq!(ends(Aggregation { bytes: Some(3999), ..of }, &[0.0; 5]), full);
        assert_eq!(ends(Aggregation { time: Some(0.003), ..of }, &[0.0; 5]), full);
        assert_eq!(ends(Aggregation { bytes: Some(10), ..of }, &[0.0; 2]), [0.011, 0.022], "too long for any");
        assert_eq!(ends(Aggregation { time: Some(1e-6), ..of }, &[0.0; 2]), [0.011, 0.022]);
    }

    #[test]
    fn who_comes_during_the_access_or_the_aggregate_joins_and_who_comes_later_waits() {
        let of = Aggregation { access: 0.01, packets: Some(3), bytes: None, time: None };
        assert_eq!(ends(of, &[0.0, 0.005, 0.0115]), [0.011, 0.012, 0.013]);
        assert_eq!(ends(of, &[0.0, 0.0111]), [0.011, 0.0221]);
    }
}
