//! Congestion control of the RFC TCP: growth and reduction of cwnd, one file each.
//!
//! Loss detection and retransmission are the [connection's](super::Connection).

mod algorithm;
mod bbr;
mod bbr3;
mod classic_ecn;
mod cubic;
mod dctcp;
mod ledbat;
mod ledbat_plus_plus;
mod linux_cubic;
mod newreno;
mod prague;
mod search;
mod slow_start;

pub use super::rate::LostSegment;
use super::rate::Sample;
pub use algorithm::Algorithm;
pub use bbr::{Bbr, BbrRules};
pub use bbr3::Bbr3;
pub use cubic::Cubic;
pub use dctcp::Dctcp;
pub use ledbat::{Delays, Ledbat};
pub use ledbat_plus_plus::LedbatPlusPlus;
pub use linux_cubic::LinuxCubic;
pub use newreno::NewReno;
pub use prague::Prague;
pub use slow_start::{Kind as HyStart, SlowStart};

use crate::tcp::output::Variable;

/// Smallest ssthresh, segments (RFC 5681, equation 4).
pub const LEAST_SSTHRESH: f64 = 2.0;
/// Pacing rate over cwnd/SRTT below half of ssthresh, and above, so that pacing does not limit growth (Linux,
/// `tcp_pacing_ss_ratio` and `tcp_pacing_ca_ratio`).
const PACING_IN_SLOW_START: f64 = 2.0;
const PACING_IN_AVOIDANCE: f64 = 1.2;

/// What a congestion control sets, in segments of full size, with fractions.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Window {
    /// Congestion window.
    pub cwnd: f64,
    /// Slow start threshold; infinite at first (RFC 5681, 3.1: "arbitrarily high").
    pub ssthresh: f64,
}

impl Window {
    /// Whether the window is in slow start.
    pub fn slow_start(&self) -> bool {
        self.cwnd < self.ssthresh
    }

    /// The pacing rate for this window, segments/s. PRR may reduce cwnd to 0, which counts as one segment: else nothing
    /// would follow what a timer sends.
    pub fn pacing_rate(&self, srtt: f64) -> f64 {
        let factor = if self.cwnd < self.ssthresh / 2.0 { PACING_IN_SLOW_START } else { PACING_IN_AVOIDANCE };
        factor * self.cwnd.max(1.0) / srtt
    }
}

/// An ACK, and the state of the connection with it.
#[derive(Clone, Copy, Debug)]
pub struct Acked {
    /// When the ACK arrives, s.
    pub now: f64,
    /// Segments newly acknowledged by the cumulative ACK.
    pub segments: f64,
    /// Newly delivered segments, acknowledged cumulatively or by SACK.
    pub delivered: f64,
    /// RTT sample, s.
    pub rtt: Option<f64>,
    /// Smoothed RTT, s; 0 before the first sample.
    pub srtt: f64,
    /// Smallest RTT, s; infinite before the first sample.
    pub min_rtt: f64,
    /// Segments outstanding before the ACK.
    pub flight_before: f64,
    /// Segments in flight after the ACK.
    pub pipe: f64,
    /// First sequence number not acknowledged.
    pub una: u64,
    /// Next sequence number to send.
    pub next: u64,
    /// Newly acknowledged segments that count as marked.
    pub marked: f64,
    /// Whether cwnd limited sending.
    pub window_limited: bool,
    /// Whether the sender is in a recovery.
    pub recovering: bool,
    /// Whether the sender is in the recovery after a timeout.
    pub timed_out: bool,
    /// Whether sending is paced.
    pub paced: bool,
    /// Segments newly marked lost.
    pub lost: f64,
    /// In flight before this ACK, segments; 0 for controls without a model of the path ([`Control::owns_window`]).
    pub pipe_before: f64,
    /// Time until pacing lets the next segment depart, s; see [`Acked::pipe_before`].
    pub departs_in: f64,
    /// Sample of the delivery rate; see [`Acked::pipe_before`].
    pub rate: Option<Sample>,
    /// Segments in flight when the segment of the rate sample was sent, it included; see [`Acked::pipe_before`].
    pub tx_in_flight: f64,
    /// Segments lost since that segment was sent; see [`Acked::pipe_before`].
    pub lost_since_sent: f64,
    /// One-way delay of the acknowledged segment, s, with an unknown offset; needs time stamps.
    pub one_way: Option<f64>,
}

/// The state when a segment is about to be sent with nothing in flight.
#[derive(Clone, Copy, Debug)]
pub struct Idle {
    /// The present time, s.
    pub now: f64,
    /// Time since the last segment, s.
    pub time: f64,
    /// Whether sending was limited by the application before, not by the window.
    pub app_limited: bool,
}

/// A congestion control.
pub trait Control {
    /// Whether it models the path and sets cwnd on every ACK, even in a recovery, where no other rule then sets it.
    fn owns_window(&self) -> bool {
        false
    }

    /// The control's own pacing rate, segments/s.
    fn pacing_rate(&self) -> Option<f64> {
        None
    }

    /// Whether it keeps in flight low on purpose, so that rate samples are application-limited (BBR's ProbeRTT).
    fn is_app_limited(&self) -> bool {
        false
    }

    /// Whether ACKs that echo marks grow cwnd too.
    fn grows_with_marks(&self) -> bool {
        false
    }

    /// Whether a control that models the path reacts to marks.
    fn answers_marks(&self) -> bool {
        false
    }

    /// A segment is newly marked lost; for controls that react to marks and model the path, before [`on_any_ack`] or by
    /// a timer.
    ///
    /// [`on_any_ack`]: Control::on_any_ack
    fn on_lost(&mut self, _window: &Window, _lost: &LostSegment) {}

    /// The handshake has ended, with an RTT of `rtt` seconds and an initial window, segments.
    fn on_open(&mut self, _window: f64, _rtt: f64, _now: f64) {}

    /// Takes every ACK of the connection: after loss detection, before the reaction to marks and growth.
    fn on_any_ack(&mut self, _window: &mut Window, _ack: &Acked) {}

    /// Undoes the last reduction, before which the window was `before`: the losses were spurious.
    fn on_undo(&mut self, window: &mut Window, before: &Window) {
        window.cwnd = window.cwnd.max(before.cwnd);
        window.ssthresh = window.ssthresh.max(before.ssthresh);
    }

    /// A timer has marked `lost` segments lost; `expired`: the retransmission timer, after [`Control::on_timeout`].
    fn on_timer_loss(&mut self, _lost: f64, _expired: bool) {}

    /// A segment is about to be sent with nothing in flight.
    fn on_idle_send(&mut self, _window: &mut Window, _idle: &Idle) {}

    /// Calls `note` with the control's estimates, for traces.
    fn gauges(&self, _note: &mut dyn FnMut(Variable, f64)) {}

    /// Calls `out` with the name and value of each inner value, for series: rates in segments/s, windows in segments.
    fn inner(&self, _out: &mut dyn FnMut(&'static str, f64)) {}

    /// Grows cwnd by an ACK of new data: outside of recoveries, without a mark, with sending limited by cwnd.
    fn grow(&mut self, window: &mut Window, ack: &Acked);

    /// The new ssthresh after a loss, asked at most once in a window. `flight` is FlightSize, segments.
    fn on_loss(&mut self, window: &Window, flight: f64, now: f64) -> f64;

    /// The new ssthresh after an ECN echo, asked at most once in a window (RFC 3168, 6.1.2: as for a loss); cwnd
    /// becomes the same. Values below two segments are for cwnd alone.
    fn on_mark(&mut self, window: &Window, flight: f64, now: f64) -> f64 {
        self.on_loss(window, flight, now)
    }

    /// The new ssthresh after the retransmission timer has expired; cwnd becomes 1.
    fn on_timeout(&mut self, window: &Window, flight: f64, now: f64) -> f64 {
        self.on_loss(window, flight, now)
    }
}

/// Slow start (RFC 5681, 3.1), by up to `most` segments an ACK (RFC 3465, `L`). The acknowledged segments that remain
/// once cwnd has reached ssthresh.
pub fn slow_start(window: &mut Window, segments: f64, most: f64) -> f64 {
    let grown = segments.min(most);
    let space = window.ssthresh - window.cwnd;
    if grown <= space {
        window.cwnd += grown;
        return 0.0;
    }
    window.cwnd = window.ssthresh;
    segments - space
}

/// How congestion avoidance counts ACKs.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Counting {
    /// cwnd grows by one segment for each cwnd of acknowledged segments (RFC 5681's recommendation; RFC 3465, 2.1). A
    /// reduction resets the count, as in Linux.
    Window,
    /// Each ACK adds 1/cwnd (RFC 5681, equation 3).
    PerAck,
}

/// Congestion avoidance: one segment a round trip (RFC 5681, 3.1).
#[derive(Clone, Debug)]
pub struct Avoidance {
    counting: Counting,
    acked: f64,
}

impl Avoidance {
    /// Nothing has been acknowledged yet.
    pub fn new(counting: Counting) -> Self {
        Avoidance { counting, acked: 0.0 }
    }

    /// Grows cwnd by `segments` newly acknowledged segments.
    pub fn grow(&mut self, window: &mut Window, segments: f64) {
        let wanted = match self.counting {
            Counting::PerAck => {
                window.cwnd += 1.0 / window.cwnd;
                return;
            }
            Counting::Window => window.cwnd,
        };
        self.acked += segments;
        if self.acked >= wanted {
            self.acked -= wanted;
            window.cwnd += 1.0;
        }
    }

    /// Resets the count: cwnd has been reduced.
    pub fn reset(&mut self) {
        self.acked = 0.0;
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// An ACK of `segments` segments.
    pub fn acked(segments: f64) -> Acked {
        Acked {
            now: 0.0,
            segments,
            delivered: segments,
            rtt: None,
            srtt: 0.0,
            min_rtt: f64::INFINITY,
            flight_before: 0.0,
            pipe: 0.0,
            una: 0,
            next: 0,
            marked: 0.0,
            window_limited: true,
            recovering: false,
            timed_out: false,
            paced: false,
            lost: 0.0,
            pipe_before: 0.0,
            departs_in: 0.0,
            rate: None,
            tx_in_flight: 0.0,
            lost_since_sent: 0.0,
            one_way: None,
        }
    }

    #[test]
    fn slow_start_stops_at_ssthresh() {
        let mut window = Window { cwnd: 3.0, ssthresh: 4.5 };
        assert_eq!((slow_start(&mut window, 1.0, 1.0), window.cwnd), (0.0, 4.0));
        assert_eq!((slow_start(&mut window, 1.0, 1.0), window.cwnd), (0.5, 4.5));
        assert!(!window.slow_start());
        let mut window = Window { cwnd: 10.0, ssthresh: f64::INFINITY };
        slow_start(&mut window, 2.0, 1.0);
        assert_eq!(window.cwnd, 11.0, "a delayed ACK adds one segment (RFC 5681)");
        slow_start(&mut window, 2.0, 2.0);
        assert_eq!(window.cwnd, 13.0, "or two (RFC 3465, L = 2)");
    }

    #[test]
    fn avoidance_adds_one_a_window() {
        let (mut window, mut counted) = (Window { cwnd: 10.0, ssthresh: 5.0 }, Avoidance::new(Counting::Window));
        for _ in 0..4 {
            counted.grow(&mut window, 2.0);
        }
        assert_eq!(window.cwnd, 10.0);
        counted.grow(&mut window, 2.0);
        assert_eq!(window.cwnd, 11.0);
        for _ in 0..11 {
            counted.grow(&mut window, 1.0);
        }
        assert_eq!(window.cwnd, 12.0);
        let mut by_ack = Avoidance::new(Counting::PerAck);
        by_ack.grow(&mut window, 2.0);
        assert_eq!(window.cwnd, 12.0 + 1.0 / 12.0);
    }
}
