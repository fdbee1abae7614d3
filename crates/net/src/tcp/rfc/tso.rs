//! TCP segmentation offload (TSO) as in Linux, which hands bursts of segments to the device.
//!
//! Segments are simulated one by one, with two effects of TSO: a lone segment may wait for a second one
//! (`tcp_tso_should_defer`), and the last segment of a burst carries PSH, which gets an immediate ACK
//! (`__tcp_transmit_skb`, `tcp_cleanup_rbuf`).

use super::settings::Settings;
use super::wire::wrap;
use crate::segment::PSH;
use crate::tcp::Sent;

/// A segment waits for another only if the last one left so recently, s (Linux, `tcp_tso_should_defer`).
const RECENT: f64 = 1e-3;
/// A burst is what leaves in so many seconds (Linux, `sk_pacing_shift`).
const BURST_TIME: f64 = 1.0 / 1024.0;

/// Which of the two effects are on.
#[derive(Clone, Debug)]
pub(super) struct Tso {
    /// A lone new segment waits for the next ACK, to leave in a burst of two.
    pub pairs: bool,
    /// Only if that ACK is due within a millisecond (Linux since 6.18).
    only_if_due: bool,
    /// The last segment of a burst carries PSH.
    pub pushes: bool,
    /// New segments below this number are done.
    pushed: u64,
}

/// State that decides whether a lone segment waits.
pub(super) struct Lone {
    /// cwnd and its free part, segments.
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

    /// Whether every segment leaves on its own, without PSH.
    pub fn allows_fast_path(&self) -> bool {
        !self.pairs && !self.pushes
    }

    /// Whether a lone segment waits until cwnd has space for two: one has just left, so an ACK will come, and cwnd is
    /// more than three segments.
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

    /// Segments of a burst at `rate` segments/s where sending is not paced: two at least (`tcp_tso_autosize`).
    pub fn burst(rate: f64) -> usize {
        ((rate * BURST_TIME) as usize).max(2)
    }
}
