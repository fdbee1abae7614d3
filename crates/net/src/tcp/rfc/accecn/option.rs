//! The AccECN option of an ACK (RFC 9768, 3.2.3): up to three byte counters of 24 bits, in one of two orders.

use super::{place, Counters, FIRST_BYTES};
use crate::segment::{CE, ECT0, ECT1};
use crate::tcp::rfc::wire::{block_bytes, Feedback, STAMP_BYTES, SYN_OPTIONS, SYN_OPTIONS_WITH_STAMPS};

/// Counters in order 0 (kind 172) and order 1 (kind 174).
const ORDERS: [[usize; 3]; 2] = [[place(ECT0), place(CE), place(ECT1)], [place(ECT1), place(CE), place(ECT0)]];
/// Most bytes of a TCP header's options.
const OPTION_SPACE: u16 = 40;
/// Blocks that the option may not displace (3.2.3.3: room for two SACK blocks).
const BLOCKS_KEPT: u8 = 2;

/// The option, or none.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct AccecnOption {
    /// 0 without the option, else one more than the fields.
    size: u8,
    order: u8,
    fields: [[u8; 3]; 3],
}

impl AccecnOption {
    /// No option.
    pub const NONE: AccecnOption = AccecnOption { size: 0, order: 0, fields: [[0; 3]; 3] };

    /// The option with these fields, at most three, of which the lower 24 bits are sent. `order`: 0 is ECT(0), CE,
    /// ECT(1), and 1 is ECT(1), CE, ECT(0).
    pub fn new(order: u8, values: &[u64]) -> Self {
        let mut option = AccecnOption { size: 1 + values.len().min(3) as u8, order: order & 1, ..AccecnOption::NONE };
        for (field, value) in option.fields.iter_mut().zip(values) {
            let [.., high, middle, low] = value.to_be_bytes();
            *field = [high, middle, low];
        }
        option
    }

    /// That of a SYN-ACK: the counters at first (3.2.3.2.1).
    pub fn first() -> Self {
        AccecnOption::new(0, &ORDERS[0].map(|at| FIRST_BYTES[at]))
    }

    /// Whether there is one.
    pub fn is_present(&self) -> bool {
        self.size > 0
    }

    /// 0 or 1.
    pub fn order(&self) -> u8 {
        self.order
    }

    /// The fields, in their order.
    pub fn values(&self) -> impl Iterator<Item = u32> + '_ {
        let sent = usize::from(self.size.saturating_sub(1));
        self.fields[..sent].iter().map(|&[high, middle, low]| u32::from_be_bytes([0, high, middle, low]))
    }

    /// The fields, each with the place of its counter.
    pub(super) fn counters(&self) -> impl Iterator<Item = (usize, u32)> + '_ {
        ORDERS[usize::from(self.order)].into_iter().zip(self.values())
    }

    /// Bytes in an ACK, beside SACK blocks or not: their two bytes of padding can be saved.
    pub fn bytes(&self, beside_blocks: bool) -> u16 {
        match self.size {
            0 => 0,
            size => padded(size - 1, beside_blocks),
        }
    }

    /// Bytes by which it lengthens a SYN-ACK, beside MSS, SACK permitted and window scale (9 bytes; 19 with time stamps).
    pub fn syn_bytes(&self, timestamps: bool) -> u16 {
        let (others, alone) = if timestamps { (19, SYN_OPTIONS_WITH_STAMPS) } else { (9, SYN_OPTIONS) };
        match self.size {
            0 => 0,
            size => (others + unpadded(size - 1)).next_multiple_of(4) - alone,
        }
    }
}

fn unpadded(fields: u8) -> u16 {
    2 + 3 * u16::from(fields)
}

/// As in Linux (`tcp_options_fit_accecn`).
fn padded(fields: u8, beside_blocks: bool) -> u16 {
    let bytes = unpadded(fields);
    if beside_blocks && bytes % 4 <= 2 {
        bytes - bytes % 4
    } else {
        bytes.next_multiple_of(4)
    }
}

impl Counters {
    /// Adds the option to an ACK, if a counter has changed since the last one and there is room, for which the last
    /// SACK blocks may give way (3.2.3.3). All counters that have ever changed are sent if they fit, those that have
    /// changed since in any case.
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
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn fields_have_24_bits() {
        let option = AccecnOption::new(1, &[1, 0x0123_4567, 0xff_ffff]);
        assert_eq!(option.values().collect::<Vec<_>>(), [1, 0x23_4567, 0xff_ffff]);
        let places: Vec<usize> = option.counters().map(|(at, _)| at).collect();
        assert_eq!(places, [0, 2, 1]);
        assert_eq!(AccecnOption::NONE.values().count(), 0);
        assert!(AccecnOption::new(0, &[]).is_present());
    }

    #[test]
    fn bytes_with_padding() {
        let bytes = |beside| [0, 1, 2, 3].map(|fields| AccecnOption::new(0, &[0; 3][..fields]).bytes(beside));
        // Unpadded 2, 5, 8, 11.
        assert_eq!(bytes(false), [4, 8, 8, 12]);
        assert_eq!(bytes(true), [0, 4, 8, 12]);
        let option = AccecnOption::new(0, &[1, 0, 1]);
        // 9 + 11 = 20 in place of 12; 19 + 11 = 30, padded 32, in place of 20.
        assert_eq!([option.syn_bytes(false), option.syn_bytes(true)], [8, 12]);
        assert_eq!([AccecnOption::NONE.bytes(true), AccecnOption::NONE.syn_bytes(true)], [0, 0]);
    }

    /// SACK blocks and fields of an ACK with so many blocks to send, after these bytes of ECT(1), ECT(0) and CE.
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
