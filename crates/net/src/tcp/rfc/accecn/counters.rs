//! The receiver's counters of accurate ECN (RFC 9768, 3.2), which segments they acknowledge at once (3.2.2.5.1), and the
//! option in ACKs (3.2.3.3).

use super::FIRST_CEP;
use crate::segment::{CE, ECT1};
use crate::tcp::rfc::accecn_option::{padded, place, AccecnOption, FIRST_BYTES, ORDERS};
use crate::tcp::rfc::header::{block_bytes, STAMP_BYTES};
use crate::tcp::rfc::wire::Feedback;

/// Marked packets since the last ACK with which the next one is sent at once ("n").
const MOST_UNTOLD: u8 = 2;

/// Most bytes of a TCP header's options.
const OPTION_SPACE: u16 = 40;
/// Blocks that the option may not displace (3.2.3.3: it leaves room for two SACK blocks).
const BLOCKS_KEPT: u8 = 2;

/// What has arrived, by ECN field.
#[derive(Clone, Debug)]
pub struct Counters {
    /// Marked packets (`r.cep`).
    cep: u64,
    /// Payload, bytes (`r.e1b`, `r.e0b`, `r.ceb`).
    bytes: [u64; 3],
    /// Which of these have changed since the last option, and which ever.
    changed: [bool; 3],
    ever: [bool; 3],
    /// Whether the last packet was marked.
    marked: bool,
    /// Marked packets since the last ACK.
    untold: u8,
}

impl Counters {
    pub fn new() -> Self {
        Counters { cep: FIRST_CEP, bytes: FIRST_BYTES, changed: [false; 3], ever: [false; 3], marked: false, untold: 0 }
    }

    /// Counts a packet, not a SYN, with this ECN field and `payload` bytes. Returns whether a packet with payload is
    /// acknowledged at once: marks begin, or two have not been told.
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

    /// Adds the option to an ACK, if a counter has changed since the last option and there is room, for which the last
    /// SACK blocks may give way (3.2.3.3). Counters that have changed since are sent in any case, those that ever
    /// changed if they fit.
    pub fn add_option(&mut self, ack: &mut Feedback, timestamps: bool) {
        if !self.changed.contains(&true) {
            return;
        }
        let space = OPTION_SPACE - if timestamps { STAMP_BYTES } else { 0 };
        let order = usize::from(self.ever[place(ECT1)]);
        let counters = ORDERS[order];
        let upto = |flags: &[bool; 3]| counters.iter().rposition(|&at| flags[at]).map_or(0, |last| last as u8 + 1);
        let (least, most) = (upto(&self.changed), upto(&self.ever));
        let fewest = ack.count.min(BLOCKS_KEPT);
        let fits = |&(blocks, fields): &(u8, u8)| block_bytes(blocks) + padded(fields, blocks > 0) <= space;
        let mut choices =
            (fewest..=ack.count).rev().flat_map(|blocks| (least..=most).rev().map(move |fields| (blocks, fields)));
        let Some((blocks, fields)) = choices.find(fits) else { return };
        ack.count = blocks;
        let values = counters.map(|at| self.bytes[at]);
        ack.accecn = AccecnOption::new(order as u8, &values[..usize::from(fields)]);
        self.changed = [false; 3];
    }

    /// The whole of `r.cep`, and of `r.ceb`.
    #[cfg(test)]
    pub fn marks(&self) -> (u64, u64) {
        (self.cep, self.bytes[place(CE)])
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::segment::ECT0;

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

    /// SACK blocks and fields of an ACK that has `blocks` to send, after these bytes of ECT(1), ECT(0) and CE.
    fn sent(timestamps: bool, blocks: u8, arrived: [u32; 3]) -> (u8, Vec<u32>) {
        let mut counters = Counters::new();
        for (ecn, bytes) in [ECT1, ECT0, CE].into_iter().zip(arrived) {
            if bytes > 0 {
                counters.count(ecn, bytes);
            }
        }
        let mut ack = Feedback { count: blocks, ..Feedback::new(1, 0.0) };
        counters.add_option(&mut ack, timestamps);
        let stamps = if timestamps { STAMP_BYTES } else { 0 };
        assert!(stamps + ack.option_bytes() <= OPTION_SPACE);
        (ack.count, ack.accecn.values().collect())
    }

    #[test]
    fn room_beside_sack() {
        assert_eq!(sent(true, 0, [100, 0, 0]), (0, vec![101]));
        assert_eq!(sent(true, 0, [100, 0, 7]), (0, vec![101, 7]));
        assert_eq!(sent(true, 0, [0, 100, 7]), (0, vec![101, 7]), "order 0");
        assert_eq!(sent(true, 1, [100, 50, 7]), (1, vec![101, 7, 51]));
        // Three blocks and time stamps fill all 40 bytes: one block gives way, never more.
        assert_eq!(sent(true, 3, [100, 0, 7]), (2, vec![101, 7]));
        assert_eq!(sent(true, 3, [100, 50, 7]), (3, vec![]), "three fields would leave one block");
        assert_eq!(sent(false, 4, [100, 0, 0]), (4, vec![101]));
        assert_eq!(sent(false, 4, [100, 0, 7]), (3, vec![101, 7]));
    }
}
