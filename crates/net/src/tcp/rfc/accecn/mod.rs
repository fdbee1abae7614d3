//! Accurate ECN (RFC 9768): the handshake's negotiation. [`counters`] are the receiver's, [`reading`] is what the sender
//! makes of them.

mod counters;
mod reading;

use super::rules::Feedbacks;
use crate::segment::{AE, CE, CWR, ECE, ECT0, ECT1};
pub(super) use counters::Counters;
pub(super) use reading::{Newly, Reading};

/// The counter of marked packets at first (3.2.1: `r.cep`, `s.cep`).
pub(super) const FIRST_CEP: u64 = 5;
/// Flags of a SYN-ACK that agrees on ECN as in RFC 3168: ECE.
pub(super) const CLASSIC_ANSWER: u8 = 0b001;

/// The flags of a SYN as a number: AE is 4, CWR 2, ECE 1.
pub(super) fn flags(bits: u8) -> u8 {
    u8::from(bits & AE != 0) << 2 | u8::from(bits & CWR != 0) << 1 | u8::from(bits & ECE != 0)
}

/// The feedback of a server that can give `able`, after a SYN with these flags (3.1.2, 3.1.3).
pub(super) fn served(able: Feedbacks, flags: u8) -> Feedbacks {
    match (able, flags) {
        (Feedbacks::None, _) | (_, 0) => Feedbacks::None,
        (Feedbacks::Accecn, 0b011) => Feedbacks::Classic,
        // Combinations that have no meaning yet are answered too.
        (Feedbacks::Accecn, _) => Feedbacks::Accecn,
        // Earlier servers ignore AE (RFC 3168, 6.1.1).
        (able, flags) if flags & 0b011 == 0b011 => able,
        _ => Feedbacks::None,
    }
}

/// The flags of the SYN-ACK of a server that gives this feedback, after a SYN that arrived with this ECN field.
pub(super) fn answered(feedback: Feedbacks, ecn: u8) -> u8 {
    match (feedback, ecn & CE) {
        (Feedbacks::None, _) => 0b000,
        (Feedbacks::Classic | Feedbacks::Dctcp, _) => CLASSIC_ANSWER,
        (_, ECT1) => 0b011,
        (_, ECT0) => 0b100,
        (_, CE) => 0b110,
        _ => 0b010,
    }
}

/// What a client that asked for accurate ECN makes of a SYN-ACK with these flags (3.1.2): the feedback it gets, and the
/// ECN field with which its SYN arrived, if it learns that.
pub(super) fn understood(flags: u8) -> (Feedbacks, Option<u8>) {
    match flags {
        0b010 => (Feedbacks::Accecn, Some(0)),
        0b011 => (Feedbacks::Accecn, Some(ECT1)),
        0b100 => (Feedbacks::Accecn, Some(ECT0)),
        0b110 => (Feedbacks::Accecn, Some(CE)),
        // Reserved, formerly for ECN nonces: counts as if the SYN's field had not changed (3.1.3).
        0b101 => (Feedbacks::Accecn, None),
        CLASSIC_ANSWER => (Feedbacks::Classic, None),
        // No ECN; or all flags reflected by a broken server.
        _ => (Feedbacks::None, None),
    }
}

/// Whether a network may change the ECN field from `sent` to `arrived` (3.2.2.3; RFC 3168, 18).
pub(super) fn is_valid(sent: u8, arrived: u8) -> bool {
    sent == arrived || (sent != 0 && sent != CE && arrived != 0)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn negotiation_as_in_table_2() {
        use Feedbacks::{Accecn, Classic, None};
        // Client, server, ECN field of the SYN as it arrives: flags of SYN and SYN-ACK, feedback of the client.
        for (asked, able, ecn, syn, syn_ack, feedback) in [
            (Accecn, Accecn, 0, 0b111, 0b010, Accecn),
            (Accecn, Accecn, ECT1, 0b111, 0b011, Accecn),
            (Accecn, Accecn, ECT0, 0b111, 0b100, Accecn),
            (Accecn, Accecn, CE, 0b111, 0b110, Accecn),
            (Accecn, Classic, 0, 0b111, 0b001, Classic),
            (Accecn, None, 0, 0b111, 0b000, None),
            (Classic, Accecn, 0, 0b011, 0b001, Classic),
            (None, Accecn, 0, 0b000, 0b000, None),
        ] {
            let served = served(able, syn);
            assert_eq!((answered(served, ecn), served), (syn_ack, feedback), "{asked:?} {able:?} {ecn}");
            if asked == Accecn {
                assert_eq!(understood(syn_ack).0, feedback, "{asked:?} {able:?} {ecn}");
            }
        }
        // Nonce, broken, and combinations of a SYN without meaning (3.1.3).
        assert_eq!(understood(0b101), (Accecn, Option::None));
        assert_eq!(understood(0b111), (None, Option::None));
        assert!([1, 2, 4, 5, 6].into_iter().all(|flags| served(Accecn, flags) == Accecn));
    }

    #[test]
    fn changes_of_the_ecn_field_as_in_rfc_3168_section_18() {
        let valid: Vec<(u8, u8)> = (0..4)
            .flat_map(|sent| (0..4).map(move |arrived| (sent, arrived)))
            .filter(|&(a, b)| is_valid(a, b))
            .collect();
        assert_eq!(valid, [(0, 0), (1, 1), (1, 2), (1, 3), (2, 1), (2, 2), (2, 3), (3, 3)]);
    }
}
