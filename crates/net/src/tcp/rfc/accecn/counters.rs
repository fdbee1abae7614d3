//! The receiver's counters of accurate ECN (RFC 9768, 3.2), and which segments they acknowledge at once (3.2.2.5.1).

use super::{place, FIRST_BYTES, FIRST_CEP};
use crate::segment::CE;

/// Marked packets since the last ACK that are acknowledged at once ("n").
const MOST_UNTOLD: u8 = 2;

/// What has arrived, by ECN field.
#[derive(Clone, Debug)]
pub struct Counters {
    /// Marked packets (`r.cep`).
    cep: u64,
    /// Payload, bytes (`r.e1b`, `r.e0b`, `r.ceb`).
    pub(super) bytes: [u64; 3],
    /// Which of them have changed since the last option, and ever.
    pub(super) changed: [bool; 3],
    pub(super) ever: [bool; 3],
    /// The last packet was marked.
    marked: bool,
    /// Marked packets since the last ACK.
    untold: u8,
}

impl Counters {
    /// Nothing has arrived.
    pub fn new() -> Self {
        Counters { cep: FIRST_CEP, bytes: FIRST_BYTES, changed: [false; 3], ever: [false; 3], marked: false, untold: 0 }
    }

    /// A packet arrives with this ECN field and so many bytes of payload; not a SYN. Whether it is acknowledged at once
    /// if it has payload: marks begin, or two have not been told.
    pub fn count(&mut self, ecn: u8, payload: u32) -> bool {
        let marked = ecn == CE;
        if ecn != 0 && payload > 0 {
            let at = place(ecn);
            self.bytes[at] += u64::from(payload);
            (self.changed[at], self.ever[at]) = (true, true);
        }
        self.cep += u64::from(marked);
        self.untold = self.untold.saturating_add(u8::from(marked));
        let before = std::mem::replace(&mut self.marked, marked);
        marked && (!before || self.untold >= MOST_UNTOLD)
    }

    /// The three bits of an ACK that is sent now (ACE).
    pub fn ace(&mut self) -> u8 {
        self.untold = 0;
        (self.cep % 8) as u8
    }

    /// All of `r.cep`, and of `r.ceb`.
    #[cfg(test)]
    pub fn marks(&self) -> (u64, u64) {
        (self.cep, self.bytes[place(CE)])
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::segment::ECT1;

    #[test]
    fn an_ack_at_once_when_marks_begin_and_for_two_untold() {
        let mut counters = Counters::new();
        let mut at_once = |ecn, ack: bool| {
            let at_once = counters.count(ecn, 1000);
            if ack {
                counters.ace();
            }
            at_once
        };
        assert!(!at_once(ECT1, false));
        assert!(at_once(CE, true), "marks begin");
        assert!(!at_once(CE, false));
        assert!(at_once(CE, true), "the second that no ACK has told of");
        assert!(!at_once(ECT1, false));
        assert!(at_once(CE, true));
    }

    #[test]
    fn packets_without_payload_count_as_packets_only() {
        let mut counters = Counters::new();
        counters.count(CE, 0);
        counters.count(0, 500);
        assert_eq!((counters.ace(), counters.bytes, counters.changed), (6, FIRST_BYTES, [false; 3]));
    }
}
