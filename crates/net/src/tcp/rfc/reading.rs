//! How an application reads what arrives.

/// How an application reads.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Reading {
    /// How fast the application reads, bytes/s; infinite: at once.
    pub rate: f64,
    /// The period of pauses, s; infinite without pauses.
    pub every: f64,
    /// How long it pauses at the end of each period, s.
    pub pause: f64,
}

impl Reading {
    /// The application reads immediately.
    pub const AT_ONCE: Reading = Reading { rate: f64::INFINITY, every: f64::INFINITY, pause: 0.0 };

    /// Seconds of reading up to `time`, s since the start.
    pub(super) fn active(&self, time: f64) -> f64 {
        if self.every == f64::INFINITY {
            return time;
        }
        let (reads, periods) = (self.every - self.pause, (time / self.every).floor());
        periods * reads + (time - periods * self.every).min(reads)
    }

    /// The time at which the application has read for `active` seconds.
    pub(super) fn after(&self, active: f64) -> f64 {
        if self.every == f64::INFINITY {
            return active;
        }
        let reads = self.every - self.pause;
        let periods = (active / reads).floor();
        periods * self.every + (active - periods * reads)
    }
}
