//! When ACKs are sent: immediate, delayed or compressed (RFC 5681, 4.2, and what Linux adds).

use super::quick::Quick;
use super::segment::Came;
use super::settings::ReceiverSettings;

/// Number of immediate ACKs of a loss; below, the most segments whose SACK is compressed (Linux,
/// `TCP_FASTRETRANS_THRESH`, `tcp_comp_sack_nr`).
const FIRST_SACKS: u8 = 3;
const MOST_WAITING: u8 = 44;
/// Delay of compressed SACKs, s (Linux, `tcp_comp_sack_delay_ns`).
pub const SACK_WAIT: f64 = 1e-3;
/// Number of immediate ACKs when marks start (Linux, `tcp_enter_quickack_mode` in `tcp_ecn_check_ce`).
const QUICK: u8 = 2;

/// A segment whose ACK is delayed.
#[derive(Clone, Copy, Debug)]
pub(super) struct Held {
    /// The segment's one-way delay, s.
    pub one_way: f64,
    /// The next sequence number expected after the segment.
    pub next: u64,
}

/// When the ACK of a segment is sent.
pub(super) enum When {
    Now,
    /// After so many seconds, unless another ACK is sent before.
    After(f64),
    /// With an ACK that is delayed already.
    WithAnother,
}

/// Delayed ACKs, quick ACKs and compressed SACKs.
#[derive(Clone, Debug)]
pub(super) struct AckPolicy {
    /// How long an ACK may be delayed, s.
    delay: Option<f64>,
    /// Whether the first mark, the segment after it and each CWR get an immediate ACK.
    quick_marks: bool,
    /// Whether SACKs of a loss are compressed from the fourth on.
    compressed: bool,
    /// Whether every segment has its own immediate ACK, and the window never changes.
    single: bool,
    plain: bool,
    /// Quick ACKs at the start, and the delay that follows the segments.
    linux: Option<Box<Quick>>,
    held: Option<Held>,
    /// Immediate ACKs left (quickack).
    quick: u8,
    /// Start of the loss that SACKs report; its immediate SACKs, and segments whose SACK is compressed.
    gap_at: u64,
    told: u8,
    untold: u8,
}

impl AckPolicy {
    pub fn new(settings: &ReceiverSettings) -> Self {
        let compressed = settings.rules.compressed && settings.blocks > 0;
        let linux = settings.rules.delay.filter(|_| settings.rules.first_ack_at_once || settings.rules.ack_wait_adapts);
        let single = settings.rules.gro == 0.0
            && settings.rules.reading.is_none()
            && !settings.rules.window_tuned
            && !settings.quic;
        AckPolicy {
            delay: settings.rules.delay,
            quick_marks: settings.rules.mark_ack_at_once,
            compressed,
            single,
            plain: single && settings.rules.delay.is_none() && !compressed,
            linux: linux.map(|delay| Box::new(Quick::new(settings, delay))),
            held: None,
            quick: 0,
            gap_at: 0,
            told: 0,
            untold: 0,
        }
    }

    /// Whether an ACK is delayed.
    pub fn holds_an_ack(&self) -> bool {
        self.held.is_some()
    }

    /// Whether no ACK is ever delayed.
    #[inline(always)]
    pub fn answers_all_at_once(&self) -> bool {
        self.plain
    }

    /// Whether every segment has its own immediate ACK, and the window never changes.
    #[inline(always)]
    pub fn answers_single_segments(&self) -> bool {
        self.single
    }

    /// The delayed ACK, which is sent now.
    pub fn release(&mut self) -> Option<Held> {
        self.held.take()
    }

    /// The delayed ACK whose timer has expired, if it was not sent before.
    pub fn on_timer(&mut self) -> Option<Held> {
        let held = self.held.take()?;
        self.untold = 0;
        if let Some(linux) = self.linux.as_mut().filter(|linux| linux.interactive) {
            // tcp_delack_timer_handler.
            linux.interactive = false;
            linux.deflate();
        }
        Some(held)
    }

    /// The first mark since CWR has arrived.
    pub fn on_first_mark(&mut self) {
        if self.quick_marks {
            self.quick = self.quick.max(QUICK);
            if let Some(linux) = &mut self.linux {
                linux.interactive = false;
            }
            self.deflate();
        }
    }

    /// Notes that a SYN is answered.
    pub fn on_syn(&mut self, now: f64) {
        if let Some(linux) = &mut self.linux {
            linux.on_syn(now);
        }
    }

    /// Notes that a segment after the SYN has arrived.
    pub fn on_any(&mut self, now: f64) {
        if let Some(linux) = &mut self.linux {
            linux.on_any(now);
        }
    }

    /// An autotuned window opens: with quick ACKs the next one is immediate (Linux, `tcp_grow_window`).
    pub fn on_window_opened(&mut self) {
        if self.linux.as_ref().is_some_and(|linux| linux.gives_quick_acks()) {
            self.quick |= 1;
        }
    }

    /// Data that leave carry the delayed ACK, if there is one (Linux, `tcp_dec_quickack_mode`).
    pub fn on_carried(&mut self) {
        self.untold = 0;
        if self.held.take().is_some() && self.quick > 0 {
            self.use_quick();
        }
    }

    /// Notes that data have been sent.
    pub fn on_data_sent(&mut self, now: f64) {
        if let Some(linux) = &mut self.linux {
            linux.on_data_sent(now);
        }
    }

    /// Takes over RTT and timeout of the end's own data, s.
    pub fn follow(&mut self, rtt: f64, rto: f64) {
        if let Some(linux) = &mut self.linux {
            linux.follow(rtt, rto);
        }
    }

    /// Whether data leave soon after others have come, so that ACKs can wait for them.
    pub fn is_interactive(&self) -> bool {
        self.linux.as_ref().is_some_and(|linux| linux.interactive)
    }

    fn use_quick(&mut self) {
        self.quick -= 1;
        if self.quick == 0 {
            self.deflate();
        }
    }

    fn deflate(&mut self) {
        if let Some(linux) = &mut self.linux {
            linux.deflate();
        }
    }

    /// A segment to be acknowledged has arrived.
    pub fn on_segment(&mut self, came: &Came) -> When {
        if let Some(linux) = &mut self.linux {
            self.quick = self.quick.max(linux.on_segment(came));
        }
        let quick = self.quick > 0 && !self.is_interactive();
        let held = Held { one_way: came.one_way, next: came.next };
        let may_compress = self.compressed && !came.news_of_marks && !quick && !came.duplicate && !came.pushed;
        if may_compress && self.sack_waits(came) {
            let waiting = self.held.replace(held).is_some();
            return if waiting { When::WithAnother } else { When::After(SACK_WAIT) };
        }
        self.untold = 0;
        // RFC 5681, 4.2: immediate for segments out of order or in a gap, duplicates, and every second segment.
        let may_wait = !came.news_of_marks
            && !quick
            && !came.several
            && came.in_order
            && !came.had_gap
            && !came.duplicate
            && self.held.is_none()
            && !came.fin
            && !came.pushed;
        match self.delay.filter(|_| may_wait) {
            Some(delay) => {
                self.held = Some(held);
                When::After(self.linux.as_ref().map_or(delay, |linux| linux.delay()))
            }
            None => {
                self.held = None;
                if quick {
                    self.use_quick();
                }
                When::Now
            }
        }
    }

    /// Whether the ACK of a segment may be compressed, as others have reported the same loss.
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
