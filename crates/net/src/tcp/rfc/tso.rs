//! TCP segmentation offload (TSO) as in Linux, which hands bursts of segments to the device.
//!
//! Segments are simulated one by one, with these effects of TSO: bursts have a size (`tcp_tso_autosize`); a part
//! may wait for the rest of its burst (`tcp_tso_should_defer`); a burst's last segment carries PSH, which gets an ACK
//! at once (`__tcp_transmit_skb`, `tcp_cleanup_rbuf`). What leaves at one time enters the first queue back to back.

use super::clock::LARGEST_BURST;
use super::settings::Settings;
use crate::segment::PSH;
use crate::tcp::output::Sent;

/// A segment waits for another only if the last one left within this time, s (Linux, `tcp_tso_should_defer`).
const RECENT: f64 = 1e-3;
/// A burst is what leaves within this time, s (Linux, `sk_pacing_shift`).
const BURST_TIME: f64 = 1.0 / 1024.0;
/// Segments of a burst with [`Tso::autosized`] off.
pub(super) const PAIR: u32 = 2;
/// Each doubling of the RTT beyond this, s, halves the largest burst's part in a burst (`tcp_tso_rtt_log`).
const HALVES: f64 = 512e-6;

/// Which of the effects are on.
#[derive(Clone, Debug)]
pub(super) struct Tso {
    /// Whether less than a burst of new segments waits for the next ACK.
    pub pairs: bool,
    /// Whether bursts have Linux's size; else they are pairs.
    pub autosized: bool,
    /// Whether it waits only if that ACK is due within a millisecond (Linux since 6.18).
    only_if_due: bool,
    /// Whether the last segment of a burst carries PSH.
    pub pushes: bool,
    /// Number below which new segments have been considered for PSH.
    pushed: u64,
}

/// State that decides whether less than a burst waits.
pub(super) struct Lone {
    /// Segments of a burst.
    pub burst: f64,
    /// cwnd and its free part, segments.
    pub cwnd: f64,
    pub free: f64,
    /// When the last segment left; below, when the first of those in flight left, s.
    pub last_sent: f64,
    pub first_sent: f64,
    pub srtt: f64,
}

impl Tso {
    pub fn new(settings: &Settings) -> Self {
        Tso {
            pairs: settings.pacing.pairs,
            autosized: settings.pacing.autosized,
            only_if_due: settings.pacing.pair_wait_due,
            pushes: settings.receiver.push_ack_at_once,
            pushed: 0,
        }
    }

    /// Whether every segment leaves on its own, without PSH.
    pub fn allows_fast_path(&self) -> bool {
        !self.pairs && !self.pushes && !self.autosized
    }

    /// Whether less than a burst waits until cwnd has space for a whole burst: a segment has just left, so an ACK will
    /// come, and there is space for less than a third of cwnd.
    pub fn waits(&self, now: f64, lone: &Lone) -> bool {
        let Lone { burst, cwnd, free, last_sent, first_sent, srtt } = *lone;
        let soon = if self.autosized { RECENT.min(srtt / 2.0) } else { RECENT };
        let due = || first_sent + srtt - now <= soon;
        let recent = now - last_sent <= RECENT;
        free < burst - 1e-9 && free < cwnd / 3.0 && recent && (!self.only_if_due || due())
    }

    /// The new data, up to the number `next`, not yet considered for PSH: the first number and the number of segments,
    /// if at least two.
    #[inline(always)]
    pub fn unpushed(&mut self, next: u64, mss: u32) -> Option<(u64, usize)> {
        let before = std::mem::replace(&mut self.pushed, next);
        (next - before > u64::from(mss)).then(|| (before, (next - before).div_ceil(u64::from(mss)) as usize))
    }

    /// Sets PSH in the last segment of each burst among the `new` ones of `sent`, which start with the number `first`
    /// on the wire; `burst` segments leave as one.
    #[inline(never)]
    pub fn push(sent: &mut [Sent], first: u32, new: usize, burst: usize) {
        let fresh = sent.iter_mut().filter(|sent| sent.payload > 0 && sent.seq.wrapping_sub(first) < 1 << 31);
        for (number, sent) in fresh.enumerate() {
            let last = (number + 1) % burst == 0 || number + 1 == new;
            if last && number % burst > 0 {
                sent.bits |= PSH;
            }
        }
    }

    /// Segments of a burst at `rate` segments/s where sending is not paced, at least two (`tcp_tso_autosize`).
    pub fn burst(rate: f64) -> usize {
        ((rate * BURST_TIME) as usize).max(2)
    }

    /// Segments of a burst, `least` at least, at `rate` segments/s of `mss` bytes and with this min RTT, s: what leaves
    /// in a little less than 1 ms, and half of 64 kB for an RTT from 0.5 ms on, a quarter from 1 ms on and so forth
    /// (`tcp_tso_autosize`); at most half of cwnd (`tcp_cwnd_test`).
    #[inline(never)]
    pub fn autosize(rate: f64, mss: f64, min_rtt: f64, cwnd: f64, least: u32) -> u32 {
        let near = LARGEST_BURST.checked_shr((min_rtt / HALVES) as u32).unwrap_or(0);
        let bytes = (rate * BURST_TIME * mss + f64::from(near)).min(f64::from(LARGEST_BURST));
        let half = (cwnd / 2.0) as u32;
        ((bytes / mss) as u32).max(least).min(half.max(1))
    }
}

#[cfg(test)]
mod tests {
    use super::Tso;

    #[test]
    fn bursts_grow_with_the_rate_and_at_short_round_trip_times() {
        let segments = |mbit: f64, ms: f64, cwnd| Tso::autosize(mbit * 1e6 / 8.0 / 1448.0, 1448.0, ms / 1e3, cwnd, 2);
        assert_eq!([1.0, 20.0, 100.0, 1e5].map(|mbit| segments(mbit, 20.0, 1e3)), [2, 2, 8, 45]);
        assert_eq!([0.3, 0.6, 1.1, 2.1, 20.0].map(|ms| segments(1.0, ms, 1e3)), [45, 22, 11, 2, 2]);
        assert_eq!(segments(1e5, 0.3, 10.0), 5, "half of cwnd");
        assert_eq!(segments(1.0, f64::INFINITY, 1e3), 2, "no RTT yet");
    }
}
