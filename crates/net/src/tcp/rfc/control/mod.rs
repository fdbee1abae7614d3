//! Congestion control of the `rfc` profile: how the window grows and what a reaction makes of it. One file each.
//!
//! Finding losses and sending again is not its concern; that is the [connection's](super::Connection).

mod bbr;
mod cubic;
mod dctcp;
mod ledbat;
mod linux_cubic;
mod newreno;
mod prague;
mod slow_start;

use super::rate::Sample;
pub use bbr::{Bbr, BbrRules, LinuxRules, Ns3Rules};
pub use cubic::{Cubic, CubicRules};
pub use dctcp::Dctcp;
pub use ledbat::Ledbat;
pub use linux_cubic::LinuxCubic;
pub use newreno::NewReno;
pub use prague::Prague;
pub use slow_start::{Kind as HyStart, SlowStart};

use crate::tcp::Variable;

/// Smallest ssthresh, segments (RFC 5681, equation 4).
pub const LEAST_SSTHRESH: f64 = 2.0;

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
}

/// What an ACK says, and what is known besides.
#[derive(Clone, Copy, Debug)]
pub struct Acked {
    /// s.
    pub now: f64,
    /// Segments newly acknowledged by the cumulative ACK.
    pub segments: f64,
    /// Segments that have arrived, by what this ACK says, cumulatively or by SACK.
    pub delivered: f64,
    /// The round-trip time that the ACK measures, s, if it does.
    pub rtt: Option<f64>,
    /// Smoothed round-trip time, s; 0 before the first sample.
    pub srtt: f64,
    /// Outstanding before the ACK, segments.
    pub flight_before: f64,
    /// In the network after it, segments; as all that follows from it, 0 for those who do not ask for a rate.
    pub pipe: f64,
    /// First sequence number not acknowledged.
    pub una: u64,
    /// Next sequence number to send.
    pub next: u64,
    /// Segments of those newly acknowledged that count as marked.
    pub marked: f64,
    /// Whether the window was the reason not to send more.
    pub window_limited: bool,
    /// Whether the sender recovers from a loss, and whether from a timeout.
    pub recovering: bool,
    /// See above.
    pub timed_out: bool,
    /// Whether sending is paced.
    pub paced: bool,
    /// Segments newly taken for lost.
    pub lost: f64,
    /// In the network before this ACK, segments; see [`Acked::pipe`].
    pub pipe_before: f64,
    /// How far ahead of now the pace has the next segment, s; see [`Acked::pipe`].
    pub ahead: f64,
    /// The rate of arrivals, for those who ask for it ([`Control::owns_window`]).
    pub rate: Option<Sample>,
    /// Whether something that was sent again has arrived.
    pub resent: bool,
    /// Segments that were taken for lost and have arrived; see [`Acked::pipe`].
    pub repaired: f64,
    /// One-way delay of the segment that the ACK answers, s, with an unknown offset, if the ACK carries time stamps.
    pub one_way: Option<f64>,
}

/// A congestion control.
pub trait Control {
    /// Whether it sets the window by itself on every ACK, in recovery too, and no rule for recoveries touches it.
    fn owns_window(&self) -> bool {
        false
    }

    /// Segments a second that it wants to send, if it says so.
    fn pacing_rate(&self) -> Option<f64> {
        None
    }

    /// Whether it sends less than it could for now, so that rates of arrival say little (BBR's ProbeRTT).
    fn holds_back(&self) -> bool {
        false
    }

    /// Whether ACKs that tell of marks grow the window as well.
    fn grows_with_marks(&self) -> bool {
        false
    }

    /// The handshake is over, and took `rtt`, s.
    fn on_open(&mut self, _window: f64, _rtt: f64, _now: f64) {}

    /// Every ACK of the connection, once its losses are known, and before a reaction to marks and any growth.
    fn on_any_ack(&mut self, _window: &mut Window, _ack: &Acked) {}

    /// A timer has found so many segments to be lost; `expired`: the retransmission timer, after [`Control::on_timeout`].
    fn on_late(&mut self, _lost: f64, _expired: bool) {}

    /// Something is about to be sent while nothing is in the network.
    fn on_start(&mut self, _window: &mut Window, _now: f64) {}

    /// What it has estimated, for traces.
    fn gauges(&self, _note: &mut dyn FnMut(Variable, f64)) {}

    /// An ACK of new data that may grow the window: no recovery, no mark, and the window was used.
    fn grow(&mut self, window: &mut Window, ack: &Acked);

    /// A loss, at most once in a window: the new ssthresh. `flight` is what was outstanding, segments (RFC 5681: FlightSize
    /// and not cwnd).
    fn on_loss(&mut self, window: &Window, flight: f64, now: f64) -> f64;

    /// An ECN echo, at most once in a window (RFC 3168, 6.1.2: as for a loss): the new ssthresh, which cwnd becomes too.
    fn on_mark(&mut self, window: &Window, flight: f64, now: f64) -> f64 {
        self.on_loss(window, flight, now)
    }

    /// The retransmission timer has expired: the new ssthresh; cwnd becomes 1.
    fn on_timeout(&mut self, window: &Window, flight: f64, now: f64) -> f64 {
        self.on_loss(window, flight, now)
    }
}

/// Slow start (RFC 5681, 3.1; RFC 3465 with its limit `most` an ACK): what is left of the acknowledged segments once cwnd
/// has reached ssthresh.
pub fn slow_start(window: &mut Window, segments: f64, most: f64) -> f64 {
    let grown = segments.min(most);
    let room = window.ssthresh - window.cwnd;
    if grown <= room {
        window.cwnd += grown;
        return 0.0;
    }
    window.cwnd = window.ssthresh;
    segments - room
}

/// How avoidance counts ACKs.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Counting {
    /// What is acknowledged is counted, and the window is one segment larger each time that a window has been (RFC 5681's
    /// recommendation; RFC 3465, 2.1). A reaction begins the count anew, as in Linux.
    Window,
    /// The same with whole segments of the window, and a reaction leaves the count as it is, as in ns-3.
    Kept,
    /// Each ACK adds 1/cwnd (RFC 5681, equation 3), which is a little less in a small window, as cwnd grows meanwhile.
    PerAck,
}

/// Congestion avoidance: one segment a round trip (RFC 5681, 3.1).
#[derive(Clone, Debug)]
pub struct Avoidance {
    counting: Counting,
    acked: f64,
}

impl Avoidance {
    /// Nothing acknowledged.
    pub fn new(counting: Counting) -> Self {
        Avoidance { counting, acked: 0.0 }
    }

    /// So many segments have been acknowledged.
    pub fn grow(&mut self, window: &mut Window, segments: f64) {
        let wanted = match self.counting {
            Counting::PerAck => {
                window.cwnd += 1.0 / window.cwnd;
                return;
            }
            Counting::Window => window.cwnd,
            Counting::Kept => window.cwnd.floor().max(1.0),
        };
        self.acked += segments;
        if self.acked >= wanted {
            self.acked -= wanted;
            window.cwnd += 1.0;
        }
    }

    /// A reaction begins the count anew.
    pub fn reset(&mut self) {
        if self.counting == Counting::Window {
            self.acked = 0.0;
        }
    }
}

/// The congestion control of a connection.
#[derive(Clone, Debug)]
pub enum Algorithm {
    /// RFC 5681.
    NewReno(NewReno),
    /// RFC 9438.
    Cubic(Cubic),
    /// CUBIC as Linux computes it.
    LinuxCubic(LinuxCubic),
    /// RFC 8257.
    Dctcp(Dctcp),
    /// BBR, version 1.
    Bbr(Box<Bbr>),
    /// RFC 6817.
    Ledbat(Ledbat),
    /// Scalable, for L4S.
    Prague(Prague),
}

impl Algorithm {
    /// [`Control::on_any_ack`], the standard's without a detour.
    #[inline(always)]
    pub fn on_any_ack(&mut self, window: &mut Window, ack: &Acked) {
        match self {
            Algorithm::NewReno(control) => control.on_any_ack(window, ack),
            other => other.control().on_any_ack(window, ack),
        }
    }

    /// [`Control::grow`], the standard's without a detour.
    #[inline(always)]
    pub fn grow(&mut self, window: &mut Window, ack: &Acked) {
        match self {
            Algorithm::NewReno(control) => control.grow(window, ack),
            other => other.control().grow(window, ack),
        }
    }

    /// As the interface that all have.
    #[inline]
    pub fn control(&mut self) -> &mut dyn Control {
        match self {
            Algorithm::NewReno(control) => control,
            Algorithm::Cubic(control) => control,
            Algorithm::LinuxCubic(control) => control,
            Algorithm::Dctcp(control) => control,
            Algorithm::Bbr(control) => &mut **control,
            Algorithm::Ledbat(control) => control,
            Algorithm::Prague(control) => control,
        }
    }

    /// The same to look at.
    #[inline]
    pub fn view(&self) -> &dyn Control {
        match self {
            Algorithm::NewReno(control) => control,
            Algorithm::Cubic(control) => control,
            Algorithm::LinuxCubic(control) => control,
            Algorithm::Dctcp(control) => control,
            Algorithm::Bbr(control) => &**control,
            Algorithm::Ledbat(control) => control,
            Algorithm::Prague(control) => control,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// An ACK of so many segments.
    pub fn acked(segments: f64) -> Acked {
        Acked {
            now: 0.0,
            segments,
            delivered: segments,
            rtt: None,
            srtt: 0.0,
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
            ahead: 0.0,
            rate: None,
            resent: false,
            repaired: 0.0,
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
        assert_eq!(window.cwnd, 11.0, "a delayed ACK counts once (RFC 5681)");
        slow_start(&mut window, 2.0, 2.0);
        assert_eq!(window.cwnd, 13.0, "or twice (RFC 3465, L = 2)");
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
        // Whole segments of the window, and the count outlives a reaction.
        let (mut cut, mut kept) = (Window { cwnd: 4.5, ssthresh: 2.0 }, Avoidance::new(Counting::Kept));
        kept.grow(&mut cut, 3.0);
        kept.reset();
        kept.grow(&mut cut, 1.0);
        assert_eq!(cut.cwnd, 5.5);
        let mut by_ack = Avoidance::new(Counting::PerAck);
        by_ack.grow(&mut window, 2.0);
        assert_eq!(window.cwnd, 12.0 + 1.0 / 12.0);
    }
}
