//! The timing of a link: store and forward, one packet at a time.

/// A link's rate and delay, and when it is ready again.
///
/// The order of the additions is ns-2's and part of the results: transmission time = 8.0 * bytes / rate; arrival =
/// start + (transmission time + delay); end of transmission = start + transmission time.
#[derive(Clone, Copy, Debug)]
pub struct Wire {
    /// Rate, bit/s.
    pub rate_bps: f64,
    /// Propagation delay, s.
    pub delay_s: f64,
    /// End of the last transmission, s.
    pub free: f64,
    /// Start of the last transmission, s; before the first, a time before all others.
    pub started: f64,
}

impl Wire {
    /// A link that has sent nothing.
    pub fn new(rate_bps: f64, delay_s: f64) -> Self {
        Wire { rate_bps, delay_s, free: 0.0, started: f64::NEG_INFINITY }
    }

    /// Transmission time of `bytes`, s.
    #[inline(always)]
    pub fn transmission(&self, bytes: u16) -> f64 {
        8.0 * f64::from(bytes) / self.rate_bps
    }

    /// Transmission time of `bytes` and delay together, s.
    #[inline(always)]
    pub fn lag(&self, bytes: u16) -> f64 {
        self.transmission(bytes) + self.delay_s
    }

    /// Arrival at the other end of `bytes` whose transmission starts at `start`.
    #[inline(always)]
    pub fn arrival(&self, start: f64, bytes: u16) -> f64 {
        start + self.lag(bytes)
    }

    /// Starts the transmission of `bytes` at `start`; returns the arrival at the other end.
    #[inline(always)]
    pub fn send(&mut self, start: f64, bytes: u16) -> f64 {
        let transmission = self.transmission(bytes);
        self.started = start;
        self.free = start + transmission;
        start + (transmission + self.delay_s)
    }

    /// Whether a packet that is ready at `ready`, by an event scheduled at `scheduled`, waits for the packet before it:
    /// that packet is still in transmission, or its end is a later event of the same time.
    #[inline(always)]
    pub fn waits(&self, ready: f64, scheduled: f64) -> bool {
        self.free > ready || (self.free == ready && self.started > scheduled)
    }

    /// Transmits a packet that is ready at `ready`, by an event scheduled at `scheduled`: at once, or when the packet
    /// before it has left. Returns start, arrival, and when the event that starts it was scheduled: its own event, or
    /// the end of the earlier transmission.
    #[inline(always)]
    pub fn relay(&mut self, ready: f64, scheduled: f64, bytes: u16) -> (f64, f64, f64) {
        let (start, cause) = if self.waits(ready, scheduled) { (self.free, self.started) } else { (ready, scheduled) };
        let arrival = self.send(start, bytes);
        (start, arrival, cause)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn packets_follow_one_another() {
        let mut wire = Wire::new(8e6, 0.01);
        assert_eq!(wire.relay(1.0, 0.5, 1000), (1.0, 1.0 + (0.001 + 0.01), 0.5));
        assert_eq!(wire.relay(1.0, 0.5, 1000), (1.001, 1.001 + (0.001 + 0.01), 1.0), "waits for the first");
        assert_eq!(wire.relay(2.0, 0.5, 500).0, 2.0, "idle again");
    }
}
