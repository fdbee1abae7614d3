//! What a call of a sender asks for.

/// A traced variable of a sender, with ns-2's name where ns-2 has it.
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
    /// `srtt_`, s, without its fraction bits.
    Srtt,
    /// `rttvar_`, s.
    Rttvar,
    /// The fraction of marked segments as DCTCP estimates it.
    Alpha,
    /// The bottleneck's bandwidth as BBR estimates it, bit/s of payload.
    Bandwidth,
    /// The round-trip time without queues as BBR estimates it, s.
    MinRtt,
}

/// A segment that a sender wants to be sent.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Sent {
    /// Sequence number: of the segment with [`ns2`](super::ns2), of its first byte on the wire with [`rfc`](super::rfc).
    pub seq: u32,
    /// Payload, bytes; 0 with [`ns2`](super::ns2), where all segments are of one size.
    pub payload: u16,
    /// Its [`Segment::bits`](crate::Segment::bits): ECN field, SYN, ECE, CWR...
    pub bits: u8,
}

/// When a sender wants to be called next, unless an ACK comes before.
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum Timer {
    /// The retransmission timer is (re)armed: seconds from now.
    After(f64),
    /// All timers together: seconds from the start of the run; infinite if none runs.
    At(f64),
}

/// A sender's answer, filled by one call and emptied by the caller.
#[derive(Debug, Default)]
pub struct Output {
    /// Segments to send, in order.
    pub segments: Vec<Sent>,
    /// The timer, if it has been set.
    pub timer: Option<Timer>,
    /// Changes of variables, if the sender is traced.
    pub changes: Vec<(Variable, f64)>,
}

impl Output {
    /// The retransmission timer, if it has been (re)armed: seconds from now. Taken out.
    #[inline(always)]
    pub fn take_after(&mut self) -> Option<f64> {
        match self.timer.take() {
            Some(Timer::After(seconds)) => Some(seconds),
            _ => None,
        }
    }

    /// When the sender wants to be called next, if it has said so: seconds from the start of the run. Taken out.
    #[inline(always)]
    pub fn take_at(&mut self) -> Option<f64> {
        match self.timer.take() {
            Some(Timer::At(time)) => Some(time),
            _ => None,
        }
    }
}
