//! The recovery state of a sender.

use super::prr::Prr;

/// Recovery state.
#[derive(Clone, Debug)]
pub(super) enum Phase {
    /// No loss is known.
    Open,
    /// Fast recovery.
    Fast(FastRecovery),
    /// After the retransmission timer has expired, until everything sent before is acknowledged.
    Loss,
}

/// State of a fast recovery.
#[derive(Clone, Debug)]
pub(super) struct FastRecovery {
    pub prr: Option<Prr>,
    /// Whether a partial ACK has come (RFC 6582, 3.2: only the first restarts the timer).
    pub partial: bool,
    /// A rescue retransmission may be made once the window has advanced beyond this (RFC 6675, `RescueRxt`).
    pub rescue_from: u64,
}

/// Recovery from losses. Sequence numbers are counted from the SYN.
#[derive(Clone, Debug)]
pub(super) struct Recovery {
    pub phase: Phase,
    /// Next number to send when the last recovery started, or the timer last expired: once all below is acknowledged,
    /// the recovery is over (RFC 6582, `recover`; RFC 6675, `RecoveryPoint`).
    pub point: u64,
    /// Next number to send at the last reduction of cwnd of any kind, and how many reductions there were.
    pub reduced: u64,
    pub reductions: u32,
    /// First number not acknowledged at the last timeout.
    pub timed_out_at: u64,
    /// Duplicate ACKs in a row.
    pub dupacks: u32,
    /// Bytes sent by limited transmit since they started.
    pub limited: u64,
    /// Segments that may be sent whatever cwnd is.
    pub forced: u32,
    /// Whether this ACK sends no retransmissions.
    pub new_only: bool,
}

impl Recovery {
    pub fn new() -> Self {
        Recovery {
            phase: Phase::Open,
            point: 0,
            reduced: 0,
            reductions: 0,
            timed_out_at: 0,
            dupacks: 0,
            limited: 0,
            forced: 0,
            new_only: false,
        }
    }

    /// Whether no loss is known.
    #[inline(always)]
    pub fn is_open(&self) -> bool {
        matches!(self.phase, Phase::Open)
    }

    /// Whether the sender is in a fast recovery.
    #[inline(always)]
    pub fn is_fast(&self) -> bool {
        matches!(self.phase, Phase::Fast(_))
    }

    /// Whether the sender is in the recovery after a timeout.
    #[inline(always)]
    pub fn is_loss(&self) -> bool {
        matches!(self.phase, Phase::Loss)
    }

    /// A fast recovery starts with everything below `una` acknowledged.
    pub fn enter_fast(&mut self, prr: Option<Prr>, una: u64) {
        self.phase = Phase::Fast(FastRecovery { prr, partial: false, rescue_from: una });
    }

    /// The current proportional rate reduction.
    #[inline(always)]
    pub fn prr(&mut self) -> Option<&mut Prr> {
        match &mut self.phase {
            Phase::Fast(FastRecovery { prr, .. }) => prr.as_mut(),
            _ => None,
        }
    }

    /// cwnd has been reduced when `next` was the next number to send: not again for segments sent before.
    pub fn note_reduction(&mut self, next: u64) {
        self.reduced = next;
        self.reductions += 1;
    }

    /// An ACK advances the window.
    #[inline(always)]
    pub fn clear_duplicates(&mut self) {
        (self.dupacks, self.limited) = (0, 0);
    }
}
