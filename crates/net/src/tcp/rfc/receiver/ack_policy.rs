//! When an ACK goes: at once, or later together with others (RFC 5681, 4.2, and what Linux adds).

use super::ReceiverSettings;

/// So many ACKs of a loss go at once; then so many segments wait at most (Linux, `TCP_FASTRETRANS_THRESH`,
/// `tcp_comp_sack_nr`).
const FIRST_SACKS: u8 = 3;
const MOST_WAITING: u8 = 44;
/// How long they wait, s (Linux, `tcp_comp_sack_delay_ns`).
pub const SACK_WAIT: f64 = 1e-3;
/// Segments that are acknowledged at once when marks start (Linux, `tcp_enter_quickack_mode` in `tcp_ecn_check_ce`).
const QUICK: u8 = 2;

/// A segment whose ACK waits.
#[derive(Clone, Copy, Debug)]
pub(super) struct Held {
    /// How long it was on its way, s.
    pub one_way: f64,
    /// The next sequence number expected after it.
    pub next: u64,
}

/// What of a segment decides when its ACK goes.
pub(super) struct Came {
    /// It changes what is to be said of marks.
    pub news_of_marks: bool,
    /// It advances the cumulative ACK.
    pub in_order: bool,
    /// There was a gap before it came, and there is one now.
    pub had_gap: bool,
    pub has_gap: bool,
    /// It had arrived before.
    pub duplicate: bool,
    /// It ends the connection.
    pub fin: bool,
    /// It is in order and carries PSH.
    pub pushed: bool,
    /// Bytes.
    pub payload: u32,
    /// The next sequence number expected now, and how many below it have not been acknowledged.
    pub next: u64,
    pub unacknowledged: u64,
}

/// When its ACK goes.
pub(super) enum When {
    Now,
    /// So many seconds later, unless another goes before.
    After(f64),
    /// With one that waits already.
    WithAnother,
}

/// Delayed ACKs, quick ACKs and compressed SACKs.
#[derive(Clone, Debug)]
pub(super) struct AckPolicy {
    /// How long an ACK may wait for a second segment, s.
    delay: Option<f64>,
    /// The first mark, the segment behind it and each CWR are acknowledged at once.
    quick_marks: bool,
    /// From the fourth on, the SACKs of a loss wait.
    compressed: bool,
    held: Option<Held>,
    /// ACKs that go at once.
    quick: u8,
    /// The loss that SACKs tell of starts here; how many SACKs of it went at once, and segments whose SACK waits.
    gap_at: u64,
    told: u8,
    untold: u8,
}

impl AckPolicy {
    pub fn new(settings: &ReceiverSettings) -> Self {
        AckPolicy {
            delay: settings.delay,
            quick_marks: settings.mark_ack_at_once,
            compressed: settings.compressed && settings.blocks > 0,
            held: None,
            quick: 0,
            gap_at: 0,
            told: 0,
            untold: 0,
        }
    }

    /// Whether an ACK waits.
    pub fn holds_an_ack(&self) -> bool {
        self.held.is_some()
    }

    /// Whether none ever does.
    #[inline(always)]
    pub fn answers_all_at_once(&self) -> bool {
        self.delay.is_none() && !self.compressed
    }

    /// The ACK that waits goes now.
    pub fn release(&mut self) -> Option<Held> {
        self.held.take()
    }

    /// The ACK that has waited long enough, if none went since.
    pub fn on_timer(&mut self) -> Option<Held> {
        let held = self.held.take()?;
        self.untold = 0;
        Some(held)
    }

    /// A mark has come, the first since CWR.
    pub fn on_first_mark(&mut self) {
        if self.quick_marks {
            self.quick = QUICK;
        }
    }

    /// A segment has come that is to be acknowledged, `one_way` seconds after it was sent.
    pub fn on_segment(&mut self, came: &Came, one_way: f64) -> When {
        let quick = self.quick > 0;
        let held = Held { one_way, next: came.next };
        let may_compress = self.compressed && !came.news_of_marks && !quick && !came.duplicate && !came.pushed;
        if may_compress && self.sack_waits(came) {
            let waiting = self.held.replace(held).is_some();
            return if waiting { When::WithAnother } else { When::After(SACK_WAIT) };
        }
        self.untold = 0;
        // RFC 5681, 4.2: out of order, and what fills a gap, at once; every second segment; and what comes twice.
        let may_wait = !came.news_of_marks
            && !quick
            && came.in_order
            && !came.had_gap
            && !came.duplicate
            && self.held.is_none()
            && !came.fin
            && !came.pushed;
        match self.delay.filter(|_| may_wait) {
            Some(delay) => {
                self.held = Some(held);
                When::After(delay)
            }
            None => {
                self.held = None;
                self.quick = self.quick.saturating_sub(1);
                When::Now
            }
        }
    }

    /// Whether the ACK of a segment may wait since it tells of a loss that others have told of.
    fn sack_waits(&mut self, came: &Came) -> bool {
        if !came.has_gap || came.unacknowledged > u64::from(came.payload) || self.untold >= MOST_WAITING {
            return false;
        }
        if self.gap_at != came.next {
            (self.gap_at, self.told) = (came.next, 0);
        }
        if self.told < FIRST_SACKS {
            self.told += 1;
            return false;
        }
        self.untold += 1;
        true
    }
}
