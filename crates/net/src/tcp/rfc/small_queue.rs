//! TCP small queues (TSQ) as in Linux: how much of a connection may wait in its host's own queue.

use std::collections::VecDeque;

/// Most bytes (Linux, `tcp_limit_output_bytes`); below, the seconds in which at most that much leaves at the pacing
/// rate (`sk_pacing_shift`).
const MOST: f64 = 4_194_304.0;
const TIME: f64 = 1.0 / 1024.0;
/// Number of packets that may always wait.
const PACKETS: f64 = 2.0;

/// What waits or is being sent at the sender's first link.
#[derive(Clone, Debug, Default)]
pub(super) struct SmallQueue {
    /// Payload, bytes (`sk_wmem_alloc`).
    queued: u64,
    /// For packets whose transmission has started: its end, s, and the payload.
    leaving: VecDeque<(f64, u64)>,
    /// Whether more is sent once some has left (`TSQ_THROTTLED`).
    throttled: bool,
}

impl SmallQueue {
    /// Notes `payload` bytes handed to the link.
    pub fn add(&mut self, payload: u64) {
        self.queued += payload;
    }

    /// Notes `payload` bytes that leave at this time, s.
    pub fn leaves(&mut self, at: f64, payload: u64) {
        match self.leaving.front() {
            // These are dropped while others are still sent.
            Some(&(first, _)) if at < first => self.leaving.push_front((at, payload)),
            _ => self.leaving.push_back((at, payload)),
        }
    }

    /// Bytes that wait or are being sent at `now`.
    pub fn queued(&mut self, now: f64) -> u64 {
        while let Some(&(_, payload)) = self.leaving.front().filter(|&&(at, _)| at <= now) {
            self.leaving.pop_front();
            self.queued = self.queued.saturating_sub(payload);
        }
        self.queued
    }

    /// Notes whether more was to be sent than may wait.
    pub fn throttle(&mut self, full: bool) {
        self.throttled = full;
    }

    /// When sending may be tried again, s; infinite if nothing waits, or nothing is known to leave.
    pub fn release_at(&self) -> f64 {
        self.leaving.front().map_or(f64::INFINITY, |&(at, _)| if self.throttled { at } else { f64::INFINITY })
    }

    /// Whether that time has come; then nothing is held back any more.
    pub fn take_release(&mut self, now: f64) -> bool {
        let due = self.release_at() <= now;
        self.throttled &= !due;
        due
    }

    /// Bytes that may wait: two packets of `packet` bytes, or what leaves in a millisecond at `rate` bytes/s (without a
    /// rate any number); twice as many for retransmissions (`tcp_small_queue_check`).
    pub fn limit(packet: f64, rate: Option<f64>, repeats: bool) -> f64 {
        let limit = (PACKETS * packet).max(rate.map_or(f64::INFINITY, |rate| (rate * TIME).floor())).min(MOST);
        if repeats {
            2.0 * limit
        } else {
            limit
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn two_packets_or_a_millisecond() {
        let limit = |mbit: f64| SmallQueue::limit(1448.0, Some(mbit * 1e6 / 8.0), false);
        assert_eq!([1.0, 20.0, 100.0, 1e3, 1e5].map(limit), [2896.0, 2896.0, 12_207.0, 122_070.0, MOST]);
        assert_eq!(SmallQueue::limit(1448.0, None, false), MOST);
        assert_eq!(SmallQueue::limit(1448.0, Some(1e5), true), 4.0 * 1448.0);
    }
}
