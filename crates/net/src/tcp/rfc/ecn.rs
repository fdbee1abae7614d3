//! ECN at the sender: header bits of its segments, and the state of its reaction to marks.

use super::prr::Prr;
use super::settings::Feedbacks;
use crate::segment::{AE, CWR, ECE};

/// The counters of marked packets start with this (RFC 9768).
pub(super) const FIRST_COUNT: u64 = 5;

/// Newly marked packets of an ACK with the three counter bits `ace` that newly covers `packets`, after `known` marked
/// ones: the largest consistent number, as the counter may have wrapped around.
pub fn marked_packets(known: u64, ace: u8, packets: u64) -> u64 {
    let change = (u64::from(ace) + 8 - known % 8) % 8;
    if packets <= 7 {
        return change;
    }
    packets - (packets - change) % 8
}

/// The sender's side of ECN.
#[derive(Clone, Debug)]
pub(super) struct Ecn {
    feedback: Feedbacks,
    /// Retransmissions are ECN-capable with any feedback.
    plus: bool,
    /// The handshake has agreed on ECN.
    pub agreed: bool,
    /// The next new segment carries CWR.
    cwr: bool,
    /// Marked packets that the receiver has counted (RFC 9768).
    marks: u64,
    /// The reduction of the CWR state, if a mark reduces cwnd over a round trip.
    pub reduction: Option<Prr>,
    /// A mark was echoed at a cwnd of 1: nothing is sent before the timer expires (RFC 3168, 6.1.2).
    pub halted: bool,
}

impl Ecn {
    pub fn new(feedback: Feedbacks, plus: bool) -> Self {
        Ecn { feedback, plus, agreed: false, cwr: false, marks: FIRST_COUNT, reduction: None, halted: false }
    }

    /// Bits of a SYN. RFC 3168, 6.1.1: one that asks for ECN has ECE and CWR and is not ECN-capable itself.
    pub fn syn_bits(&self) -> u8 {
        let mut ask = if self.feedback == Feedbacks::None { 0 } else { ECE | CWR };
        if self.feedback.marks_all() {
            ask |= self.feedback.capable();
        }
        if self.accurate() {
            ask |= AE;
        }
        ask
    }

    /// Bits of a retransmission: of an empty segment, unless retransmissions are ECN-capable (ECN++).
    #[inline(always)]
    pub fn repeat_bits(&self) -> u8 {
        if self.plus {
            self.capable()
        } else {
            self.other_bits()
        }
    }

    /// Bits of an empty or a retransmitted segment: not ECN-capable (RFC 3168, 6.1.5), unless all segments are.
    #[inline(always)]
    pub fn other_bits(&self) -> u8 {
        if self.agreed && self.feedback.marks_all() {
            self.feedback.capable()
        } else {
            0
        }
    }

    /// ECN field of new data.
    #[inline(always)]
    pub fn capable(&self) -> u8 {
        if self.agreed {
            self.feedback.capable()
        } else {
            0
        }
    }

    /// CWR in the first new segment after a reduction (RFC 3168, 6.1).
    #[inline(always)]
    pub fn take_cwr(&mut self) -> u8 {
        if self.agreed && std::mem::take(&mut self.cwr) {
            CWR
        } else {
            0
        }
    }

    /// cwnd has been reduced for a loss: the receiver need not echo earlier marks.
    pub fn reduced_for_loss(&mut self) {
        self.cwr = self.agreed;
    }

    /// cwnd has been reduced for a mark.
    pub fn reduced_for_mark(&mut self) {
        self.cwr = !self.accurate();
    }

    /// The last reduction is undone.
    pub fn withdraw_cwr(&mut self) {
        self.cwr = false;
    }

    /// Whether marks are counted by the receiver.
    pub fn accurate(&self) -> bool {
        self.feedback == Feedbacks::Accurate
    }

    /// Newly marked packets by the three counter bits of an ACK that newly covers `packets`.
    pub fn count(&mut self, ace: u8, packets: u64) -> f64 {
        let marked = marked_packets(self.marks, ace, packets);
        self.marks += marked;
        marked as f64
    }

    /// Whether an ACK with this echo may take the fast path.
    #[inline(always)]
    pub fn allows_fast_path(&self, echo: bool) -> bool {
        (!self.agreed || (!echo && !self.accurate())) && self.reduction.is_none() && !self.halted
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn three_bits_of_a_counter() {
        // (ACE, newly covered) -> marked, in sequence from 5 on, by hand.
        let mut known = FIRST_COUNT;
        for ((ace, packets), marked) in
            [((5, 2), 0), ((6, 2), 1), ((0, 4), 2), ((7, 8), 7), ((7, 20), 16), ((1, 20), 18)]
        {
            assert_eq!(marked_packets(known, ace, packets), marked, "{ace} {packets}");
            known += marked;
        }
    }
}
