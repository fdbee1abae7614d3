//! Linux's quick ACKs at the start of data, and its delay of ACKs that follows the time between segments
//! (`tcp_event_data_recv`, `tcp_send_delayed_ack`). Times are exact, not in ticks. With data both ways a
//! connection becomes interactive (pingpong mode) by data that leave soon after others came.

use super::segment::Came;
use super::settings::ReceiverSettings;
use crate::tcp::rfc::rto::Rto;

/// Most immediate ACKs in a row (Linux, `TCP_MAX_QUICKACKS`).
const MOST: u64 = 16;
/// The longest delay, s (Linux, `TCP_DELACK_MAX`).
const LONGEST: f64 = 0.2;

/// What a receiver notes of the times of its segments.
#[derive(Clone, Debug)]
pub(super) struct Quick {
    /// Number of immediate ACKs that a reason for them starts; 0: no reason counts.
    count: u8,
    /// The least delay of an ACK, s (Linux, `TCP_ATO_MIN`), and the delay now (`ato`), if it adapts.
    least: f64,
    ato: Option<f64>,
    /// When the last segment in order came, s.
    last: f64,
    /// RTT of the handshake, and the timeout by it, s.
    rtt: f64,
    rto: f64,
    /// The timeout without a sample.
    timer: Rto,
    /// Whether data leave soon after others have come (`pingpong`): then no reason makes ACKs immediate.
    pub interactive: bool,
    /// When the last SYN was answered, s; NaN once its ACK has come.
    answered: f64,
}

impl Quick {
    /// The state of a receiver whose ACKs wait for at least `least` seconds.
    pub fn new(settings: &ReceiverSettings, least: f64) -> Self {
        // tcp_incr_quickack.
        let count = match settings.rules.window / (2 * u64::from(settings.mss)) {
            _ if !settings.rules.first_ack_at_once => 0,
            0 => 2,
            half => half.min(MOST),
        };
        let timer = Rto::new(settings.min_rto, settings.min_rto_for_variation);
        Quick {
            count: count as u8,
            least,
            ato: settings.rules.ack_wait_adapts.then_some(least),
            last: f64::NAN,
            rtt: 0.0,
            rto: timer.value(),
            timer,
            interactive: false,
            answered: f64::NAN,
        }
    }

    /// Whether there is ever a reason for immediate ACKs.
    pub fn gives_quick_acks(&self) -> bool {
        self.count > 0
    }

    /// Notes that a SYN is answered.
    pub fn on_syn(&mut self, now: f64) {
        self.answered = now;
    }

    /// Notes that a segment after the SYN has arrived: the first gives the RTT.
    pub fn on_any(&mut self, now: f64) {
        if self.answered.is_nan() {
            return;
        }
        self.rtt = now - self.answered;
        self.answered = f64::NAN;
        self.rto = self.timer.clone().after(self.rtt);
    }

    /// Notes that a segment with data has arrived; returns how many immediate ACKs it starts.
    pub fn on_segment(&mut self, came: &Came) -> u8 {
        if came.old {
            // tcp_enter_quickack_mode.
            self.interactive = false;
            self.deflate();
            return self.count;
        }
        if !came.in_order {
            return 0;
        }
        let gap = came.now - std::mem::replace(&mut self.last, came.now);
        let (least, ato) = (self.least, self.ato.unwrap_or(self.least));
        if gap <= least / 2.0 {
            self.set(ato / 2.0 + least / 2.0);
        } else if gap < ato {
            self.set((ato / 2.0 + gap).min(self.rto).min(LONGEST.max(least)));
        } else if gap.is_nan() || gap > self.rto {
            // The first segment of all, or the first for a long time.
            return self.count;
        }
        0
    }

    /// Notes that data have been sent (`tcp_event_data_sent`).
    pub fn on_data_sent(&mut self, now: f64) {
        // Stays false before anything has come.
        self.interactive |= now - self.last < self.ato.unwrap_or(self.least);
    }

    /// Takes over RTT and timeout of the end's own data, s.
    pub fn follow(&mut self, rtt: f64, rto: f64) {
        (self.rtt, self.rto) = (rtt, rto);
    }

    /// Ends the immediate ACKs.
    pub fn deflate(&mut self) {
        self.set(self.least);
    }

    fn set(&mut self, ato: f64) {
        if let Some(now) = &mut self.ato {
            *now = ato;
        }
    }

    /// How long an ACK waits now, s.
    pub fn delay(&self) -> f64 {
        self.ato.unwrap_or(self.least).min(self.rtt.max(self.least))
    }
}
