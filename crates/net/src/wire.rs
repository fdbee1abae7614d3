//! The timing of a link: store and forward, one packet at a time.

/// A link's rate and delay, and when it will be free.
///
/// The order of the additions is ns-2's and part of the results: transmission time = 8.0 * bytes / rate; arrival =
/// start + (transmission time + delay); end of transmission = start + transmission time.
#[derive(Clone, Copy, Debug)]
pub struct Wire {
    /// bit/s.
    pub rate_bps: f64,
    /// Propagation delay, s.
    pub delay_s: f64,
    /// End of the last transmission begun.
    pub free: f64,
    /// Start of that transmission.
    pub started: f64,
}

impl Wire {
    /// A link that has never sent.
    pub fn new(rate_bps: f64, delay_s: f64) -> Self {
        Wire { rate_bps, delay_s, free: 0.0, started: 0.0 }
    }

    /// Transmission time of `bytes`, s.
    #[inline(always)]
    pub fn transmission(&self, bytes: u16) -> f64 {
        8.0 * f64::from(bytes) / self.rate_bps
    }

    /// When `bytes` sent at `start` arrive at the other end.
    #[inline(always)]
    pub fn arrival(&self, start: f64, bytes: u16) -> f64 {
        start + (self.transmission(bytes) + self.delay_s)
    }

    /// Begins to send `bytes` at `start`; when they arrive at the other end.
    #[inline(always)]
    pub fn send(&mut self, start: f64, bytes: u16) -> f64 {
        let transmission = self.transmission(bytes);
        self.started = start;
        self.free = start + transmission;
        start + (transmission + self.delay_s)
    }

    /// Whether a packet that is ready at `ready`, by an event that was scheduled at `scheduled`, waits for the one
    /// before it: that is still being sent, or the event of its end comes later among those of the same time.
    #[inline(always)]
    pub fn waits(&self, ready: f64, scheduled: f64) -> bool {
        self.free > ready || (self.free == ready && self.started > scheduled)
    }

    /// Passes a packet that is ready at `ready`, by an event that was scheduled at `scheduled`: at once, or when the
    /// one before it has left. Start, arrival, and when the event that starts it was scheduled: its own, or the end of the
    /// transmission before.
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
