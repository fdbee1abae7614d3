//! ECN at the sender: header bits of its segments, and the state of its reaction to marks.

use super::accecn::{is_valid, understood, Newly, Reading, CLASSIC_ANSWER, FIRST_CEP};
use super::accecn_option::AccecnOption;
use super::prr::Prr;
use super::rules::Feedbacks;
use super::settings::Settings;
use super::wire::Feedback;
use crate::segment::{AE, CE, CWR, ECE, ECT0, ECT1};

/// The sender's side of ECN.
#[derive(Clone, Debug)]
pub(super) struct Ecn {
    /// What the SYN asks for, and what the SYN-ACK has agreed on.
    asks: Feedbacks,
    feedback: Feedbacks,
    /// Whether the congestion control is scalable: all its segments are ECN-capable.
    scalable: bool,
    /// The ECN field of ECN-capable segments.
    ect: u8,
    /// Whether retransmissions are ECN-capable with any feedback, and SYNs with accurate ECN.
    plus: bool,
    /// Whether the handshake has agreed on ECN.
    pub agreed: bool,
    /// Whether the next new segment carries CWR.
    cwr: bool,
    /// The reading of accurate ECN, or of its three bits alone ([`Feedbacks::Counter`]).
    reading: Option<Box<Reading>>,
    /// The reduction of the CWR state, if a mark reduces cwnd over a round trip.
    pub reduction: Option<Prr>,
    /// Whether a mark was echoed at a cwnd of 1: nothing is sent before the timer expires (RFC 3168, 6.1.2).
    pub halted: bool,
}

impl Ecn {
    pub fn new(settings: &Settings) -> Self {
        Ecn {
            asks: settings.asks(),
            feedback: Feedbacks::None,
            scalable: settings.ecn.feedback.marks_all(),
            ect: if settings.controls.dctcp_ect1 { ECT1 } else { settings.ecn.feedback.capable() },
            plus: settings.ecn.plus,
            agreed: false,
            cwr: false,
            reading: None,
            reduction: None,
            halted: false,
        }
    }

    /// Bits of a SYN after `timeouts` timeouts. RFC 3168, 6.1.1: a SYN that asks for ECN has ECE and CWR and is not
    /// ECN-capable itself.
    pub fn syn_bits(&self, timeouts: u32) -> u8 {
        let accurate = self.asks == Feedbacks::Accecn;
        let ask = match self.asks {
            Feedbacks::None => return 0,
            // RFC 9768, 3.1.4.1: the second SYN asks again, the third does not.
            Feedbacks::Accecn if timeouts > 1 => return 0,
            Feedbacks::Accecn | Feedbacks::Counter => ECE | CWR | AE,
            Feedbacks::Classic | Feedbacks::Dctcp => ECE | CWR,
        };
        let first = timeouts == 0 || !accurate;
        ask | if first && (self.scalable || (accurate && self.plus)) { self.ect } else { 0 }
    }

    /// Takes the SYN-ACK, after `timeouts` timeouts. Returns whether it reports that the SYN was marked.
    pub fn on_syn_ack(&mut self, syn_ack: &Feedback, timeouts: u32) -> bool {
        let mut arrived = None;
        self.feedback = match self.asks {
            _ if self.asks != Feedbacks::Accecn && !syn_ack.echo => Feedbacks::None,
            Feedbacks::Counter if syn_ack.ace == CLASSIC_ANSWER => Feedbacks::Classic,
            Feedbacks::Accecn => {
                let feedback;
                (feedback, arrived) = understood(syn_ack.ace);
                feedback
            }
            asked => asked,
        };
        self.agreed = self.feedback != Feedbacks::None;
        match self.feedback {
            // Not ECT(1), which promises a scalable response (RFC 9331, 4.3).
            Feedbacks::Classic => self.ect = ECT0,
            Feedbacks::Accecn => {
                // After several SYNs the answer does not say which of them it answers.
                let sent = (timeouts == 0).then(|| self.syn_bits(0) & CE);
                let reading = Reading::new(sent.zip(arrived), &syn_ack.accecn);
                if !reading.sends_capable {
                    self.ect = 0;
                }
                self.reading = Some(Box::new(reading));
            }
            Feedbacks::Counter => self.read_without_handshake(),
            _ => {}
        }
        self.feedback == Feedbacks::Accecn && arrived == Some(CE)
    }

    /// The passive end has agreed on this feedback.
    pub fn accept(&mut self, feedback: Feedbacks) {
        self.feedback = feedback;
        self.agreed = feedback != Feedbacks::None;
        match feedback {
            Feedbacks::Classic => self.ect = ECT0,
            Feedbacks::Accecn | Feedbacks::Counter => self.read_without_handshake(),
            _ => {}
        }
    }

    /// Starts to read accurate ECN without knowing how the SYN arrived.
    fn read_without_handshake(&mut self) {
        self.reading = Some(Box::new(Reading::new(None, &AccecnOption::NONE)));
    }

    /// The passive end: the last ACK of the handshake, without data, reports how the SYN-ACK arrived (RFC 9768,
    /// 3.2.2.1; Linux, `tcp_accecn_third_ack`). The SYN-ACK was not ECN-capable: any other field is a network's change
    /// of the field, a zeroed counter one of flags.
    pub fn on_third_ack(&mut self, ack: &Feedback) {
        let changed = matches!(understood(ack.ace), (Feedbacks::Accecn, Some(arrived)) if !is_valid(0, arrived));
        if self.feedback == Feedbacks::Accecn && (changed || ack.ace == 0) {
            self.ect = 0;
        }
    }

    /// The feedback on which the handshake has agreed.
    pub fn feedback(&self) -> Feedbacks {
        self.feedback
    }

    /// Whether an ACK counts marks that are not known yet, or has the option of accurate ECN.
    pub fn is_behind(&self, ack: &Feedback) -> bool {
        self.reading
            .as_ref()
            .is_some_and(|reading| u64::from(ack.ace) != reading.marks().0 % 8 || ack.accecn.is_present())
    }

    /// Bits of a retransmission: as those of an empty segment, unless retransmissions are ECN-capable (ECN++).
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
        if self.agreed && self.scalable && self.feedback != Feedbacks::Classic {
            self.ect
        } else {
            0
        }
    }

    /// ECN field of new data.
    #[inline(always)]
    pub fn capable(&self) -> u8 {
        if self.agreed {
            self.ect
        } else {
            0
        }
    }

    /// CWR for the first new segment after a reduction (RFC 3168, 6.1).
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
        // RFC 9768, 3.1.5: with accurate ECN the flag is part of a counter.
        self.cwr = self.agreed && self.feedback != Feedbacks::Accecn;
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
    #[inline(always)]
    pub fn accurate(&self) -> bool {
        matches!(self.feedback, Feedbacks::Counter | Feedbacks::Accecn)
    }

    /// Whether a scalable control gets classic feedback, so that a mark reduces cwnd as a loss (RFC 3168, 6.1.2).
    pub fn fell_back(&self) -> bool {
        self.scalable && self.feedback == Feedbacks::Classic
    }

    /// Packets that an ACK newly reports as marked; segments have `mss` bytes.
    pub fn count(&mut self, ack: &Feedback, newly: &Newly, mss: u32) -> f64 {
        let Some(reading) = &mut self.reading else { return 0.0 };
        let marked = reading.on_ack(ack.ace, &ack.accecn, newly, mss);
        if !reading.sends_capable {
            self.ect = 0;
        }
        marked as f64
    }

    /// Packets that the receiver has counted as marked.
    pub fn counted(&self) -> u64 {
        self.reading.as_ref().map_or(0, |reading| reading.marks().0 - FIRST_CEP)
    }

    /// Whether an ACK with this echo may take the fast path.
    #[inline(always)]
    pub fn allows_fast_path(&self, echo: bool) -> bool {
        (!self.agreed || (!echo && !self.accurate())) && self.reduction.is_none() && !self.halted
    }
}
