//! Pacing: when the next segment may leave.

use super::clock::SLOW;
use super::settings::Settings;

/// When segments depart.
#[derive(Clone, Debug)]
pub(super) struct Pacer {
    /// Whether departures are paced at all.
    pub on: bool,
    /// Segments of a burst, unless the rate is slow.
    burst: u32,
    /// Whether a late departure shortens the time to the next by its lateness, at most by half (Linux,
    /// `tcp_update_skb_after_send`).
    makes_up: bool,
    mss: f64,
    /// When the segment held back by pacing departs, s; infinite if none is held.
    pub next_at: f64,
    /// The earliest departure of the next segment, s.
    pub released: f64,
    /// The burst in progress: the time that its segments take, s, and their number.
    owed: f64,
    together: u32,
}

impl Pacer {
    /// A pacer; with `by_model` the congestion control sets the rate, so departures are always paced.
    pub fn new(settings: &Settings, by_model: bool) -> Self {
        Pacer {
            on: settings.pacing.on || by_model,
            burst: settings.pacing.burst,
            makes_up: settings.pacing.late_made_up,
            mss: f64::from(settings.mss),
            next_at: f64::INFINITY,
            released: 0.0,
            owed: 0.0,
            together: 0,
        }
    }

    /// Whether a segment may leave now; if not, it leaves at [`Pacer::next_at`].
    #[inline(always)]
    pub fn may_release(&mut self, now: f64) -> bool {
        if now >= self.released {
            return true;
        }
        self.next_at = self.released;
        false
    }

    /// Notes that `segments` have left; the pacing rate is `rate` segments/s, and a burst has `burst` segments.
    #[inline(always)]
    pub fn sent(&mut self, now: f64, segments: f64, rate: f64, burst: u32) {
        self.owed += segments / rate;
        self.together += 1;
        if self.together >= burst {
            self.end_burst(now);
        }
    }

    /// Ends the burst in progress: the next waits for as long as it takes at the pacing rate.
    #[inline(always)]
    pub fn end_burst(&mut self, now: f64) {
        let late = (now - self.released).max(0.0);
        let credit = if self.makes_up { late.min(self.owed / 2.0) } else { 0.0 };
        self.released = self.released.max(now) + self.owed - credit;
        (self.owed, self.together) = (0.0, 0);
    }

    /// Whether a burst is in progress.
    pub fn is_in_burst(&self) -> bool {
        self.together > 0
    }

    /// Segments of a burst at `rate` segments/s: one if that is slow (Linux, `bbr_min_tso_segs`).
    #[inline(always)]
    pub fn burst(&self, rate: f64) -> u32 {
        if rate * self.mss < SLOW {
            1
        } else {
            self.burst
        }
    }
}
