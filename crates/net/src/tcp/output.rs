//! The answer of a sender: segments to send, a timer, traced variables.

use super::rfc::wire::Feedback;

/// A traced variable of a sender; ns-2's names are in backquotes.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Variable {
    /// `cwnd_`, segments.
    Cwnd,
    /// `ssthresh_`, segments.
    Ssthresh,
    /// `ack_`, highest acknowledged segment.
    Ack,
    /// `dupacks_`.
    Dupacks,
    /// `backoff_`.
    Backoff,
    /// `srtt_`, s, in whole ticks.
    Srtt,
    /// `rttvar_`, s.
    Rttvar,
    /// DCTCP's estimate of the fraction of marked segments.
    Alpha,
    /// BBR's estimate of the bottleneck bandwidth, bit/s of payload.
    Bandwidth,
    /// BBR's estimate of the min RTT, s.
    MinRtt,
}

/// A segment to send.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Sent {
    /// Number of the segment with [`ns2`](super::ns2), of its first byte with [`rfc`](super::rfc).
    pub seq: u32,
    /// Payload, bytes; 0 with [`ns2`](super::ns2), whose segments have one size.
    pub payload: u16,
    /// The segment's [`Segment::bits`](crate::Segment::bits): ECN field, SYN, ECE, CWR...
    pub bits: u8,
}

/// When a sender must be called again, unless an ACK arrives before.
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum Timer {
    /// The retransmission timer is (re)armed for this many seconds from now.
    After(f64),
    /// The earliest of all timers, in seconds since the start of the run; infinite if none runs.
    At(f64),
}

/// A sender's answer, filled by one call and emptied by the caller.
#[derive(Debug, Default)]
pub struct Output {
    /// Segments to send, in order.
    pub segments: Vec<Sent>,
    /// With data both ways: the acknowledgement of each segment, in the same order; `None` for the first SYN.
    pub acks: Vec<Option<Feedback>>,
    /// The timer, if it was set.
    pub timer: Option<Timer>,
    /// Changes of variables, if the sender is traced.
    pub changes: Vec<(Variable, f64)>,
}

impl Output {
    /// Takes the retransmission timer, if it was (re)armed: seconds from now.
    #[inline(always)]
    pub fn take_after(&mut self) -> Option<f64> {
        match self.timer.take() {
            Some(Timer::After(seconds)) => Some(seconds),
            _ => None,
        }
    }

    /// Takes the time of the next call, if it was set: seconds since the start of the run.
    #[inline(always)]
    pub fn take_at(&mut self) -> Option<f64> {
        match self.timer.take() {
            Some(Timer::At(time)) => Some(time),
            _ => None,
        }
    }
}
