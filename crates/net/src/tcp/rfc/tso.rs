//! Segments that leave as one, as in Linux's TCP segmentation offload.
//!
//! Linux hands bursts of segments to the device. Two traces of that remain where every segment is sent by itself: a lone
//! segment may wait for a second one (`tcp_tso_should_defer`), and the last segment of a burst carries PSH, which the
//! receiver acknowledges at once (`__tcp_transmit_skb`, `tcp_cleanup_rbuf`).

use super::settings::Settings;
use super::wire::wrap;
use crate::segment::PSH;
use crate::tcp::Sent;

/// A segment waits for another only if the last one left so recently, s (Linux, `tcp_tso_should_defer`).
const RECENT: f64 = 1e-3;
/// A burst is what leaves in so many seconds (Linux, `sk_pacing_shift`).
const BURST_TIME: f64 = 1.0 / 1024.0;

/// Which of the two are done.
#[derive(Clone, Debug)]
pub(super) struct Tso {
    /// A lone new segment waits for the next ACK, to leave as one of two.
    pub pairs: bool,
    /// Only if that ACK is due within a millisecond (Linux since 6.18).
    only_if_due: bool,
    /// The last segment of a burst carries PSH.
    pub pushes: bool,
    /// New segments below have been looked at.
    pushed: u64,
}

/// What decides whether a lone segment waits.
pub(super) struct Lone {
    /// Of the congestion window, segments, and what of it is free.
    pub cwnd: f64,
    pub free: f64,
    /// When the last segment left, and the first of those in flight, s.
    pub last_sent: f64,
    pub first_sent: f64,
    pub srtt: f64,
}

impl Tso {
    pub fn new(settings: &Settings) -> Self {
        Tso {
            pairs: settings.send_pairs,
            only_if_due: settings.pair_wait_due,
            pushes: settings.push_ack_at_once,
            pushed: 0,
        }
    }

    /// Whether every segment leaves by itself, without PSH.
    pub fn allows_fast_path(&self) -> bool {
        !self.pairs && !self.pushes
    }

    /// Whether a lone segment waits until the window has space for two: one has just left, so that an ACK will come, and a
    /// segment is less than a third of the window.
    pub fn waits(&self, now: f64, lone: &Lone) -> bool {
        let Lone { cwnd, free, last_sent, first_sent, srtt } = *lone;
        let due = || first_sent + srtt - now <= RECENT;
        let recent = now - last_sent <= RECENT;
        free < 2.0 - 1e-9 && free < cwnd / 3.0 && recent && (!self.only_if_due || due())
    }

    /// Sets PSH in the last segment of each burst of new data among `sent`. `next` is the next sequence number to send,
    /// `first` the first on the wire, `burst` how many segments leave as one.
    #[inline(never)]
    pub fn push(&mut self, sent: &mut [Sent], next: u64, first: u32, mss: u32, burst: impl Fn() -> usize) {
        let before = std::mem::replace(&mut self.pushed, next);
        let new = usize::try_from((next - before).div_ceil(u64::from(mss))).unwrap_or(0);
        if new < 2 {
            return;
        }
        let burst = burst();
        let first = wrap(before, first);
        let fresh = sent.iter_mut().filter(|sent| sent.payload > 0 && sent.seq.wrapping_sub(first) < 1 << 31);
        for (number, sent) in fresh.enumerate() {
            let last = (number + 1) % burst == 0 || number + 1 == new;
            if last && number % burst > 0 {
                sent.bits |= PSH;
            }
        }
    }

    /// Segments of a burst at a pacing rate of `rate` segments/s that nothing is held to: two at least
    /// (`tcp_tso_autosize`).
    pub fn burst(rate: f64) -> usize {
        ((rate * BURST_TIME) as usize).max(2)
    }
}
