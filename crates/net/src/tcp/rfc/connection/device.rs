//! The sender's own queue, at its first link, and its bound ([`SmallQueue`]).

use super::Connection;
use crate::tcp::rfc::small_queue::SmallQueue;
use crate::tcp::rfc::tso::PAIR;
use crate::tcp::rfc::wire::unwrap;

impl Connection {
    /// Payload in the sender's own queue, bytes, if that is bounded.
    pub fn queued(&mut self, now: f64) -> Option<u64> {
        self.small_queue.as_mut().map(|queue| queue.queued(now))
    }

    /// The segment with the number `seq` on the wire leaves the first link at this time, or was dropped there. One of an
    /// earlier connection does not count.
    pub fn leaves(&mut self, at: f64, seq: u32, payload: u32) {
        let known = unwrap(seq, self.first, self.una).is_some_and(|number| number < self.next);
        if let Some(queue) = self.small_queue.as_mut().filter(|_| known) {
            queue.leaves(at, u64::from(payload));
        }
    }

    /// When something leaves for which new segments wait: a time for [`on_wake`](Self::on_wake), s.
    pub fn release_at(&self) -> f64 {
        self.small_queue.as_ref().map_or(f64::INFINITY, |queue| queue.release_at())
    }

    pub(super) fn note_queued(&mut self, payload: u64) {
        if let Some(queue) = &mut self.small_queue {
            queue.add(payload);
        }
    }

    /// Whether the next segment waits until some have left. The first and the second packet in flight never do, as
    /// nothing would tell of their departure (`tcp_rtx_queue_empty_or_single_skb`).
    pub(super) fn device_is_full(&mut self, now: f64, repeats: bool) -> bool {
        let least = 2 * u64::from(self.settings.mss);
        let Some(queued) = self.queued(now) else { return false };
        let full = queued > least && self.is_above_limit(queued, repeats);
        if let Some(queue) = &mut self.small_queue {
            queue.throttle(full);
        }
        full
    }

    fn is_above_limit(&self, queued: u64, repeats: bool) -> bool {
        let rate = self.pacing_rate();
        let burst = match rate {
            _ if self.tso.autosized => self.burst(rate),
            _ if self.tso.pairs => PAIR,
            Some(rate) if self.pacer.on => self.pacer.burst(rate),
            _ => 1,
        };
        let packet = f64::from(burst) * self.mss();
        let limit = SmallQueue::limit(packet, rate.map(|rate| rate * self.mss()), repeats);
        queued as f64 > limit && self.scoreboard.len() > burst as usize
    }
}
