//! The option of accurate ECN (RFC 9768, 3.2.3): up to three byte counters of 24 bits, in one of two orders.

use super::header::{SYN_OPTIONS, SYN_OPTIONS_WITH_STAMPS};
use crate::segment::{CE, ECT0, ECT1};

/// The byte counters at first, in the order of [`place`] (3.2.1).
pub(super) const FIRST_BYTES: [u64; 3] = [1, 1, 0];
/// The counters' places in order 0 (kind 172) and order 1 (kind 174).
pub(super) const ORDERS: [[usize; 3]; 2] =
    [[place(ECT0), place(CE), place(ECT1)], [place(ECT1), place(CE), place(ECT0)]];

/// The place of a byte counter among ECT(1), ECT(0), CE.
pub(super) const fn place(ecn: u8) -> usize {
    (ecn & CE) as usize - 1
}

/// The option of an ACK, or none.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct AccecnOption {
    /// 0 without the option, else one more than its number of fields.
    size: u8,
    order: u8,
    fields: [[u8; 3]; 3],
}

impl AccecnOption {
    /// No option.
    pub const NONE: AccecnOption = AccecnOption { size: 0, order: 0, fields: [[0; 3]; 3] };

    /// The option with these fields, at most three, of each of which the lower 24 bits are sent. Order 0 is ECT(0), CE,
    /// ECT(1), order 1 is ECT(1), CE, ECT(0).
    pub fn new(order: u8, values: &[u64]) -> Self {
        let mut option = AccecnOption { size: 1 + values.len().min(3) as u8, order: order & 1, ..AccecnOption::NONE };
        for (field, value) in option.fields.iter_mut().zip(values) {
            let [.., high, middle, low] = value.to_be_bytes();
            *field = [high, middle, low];
        }
        option
    }

    /// The option of a SYN-ACK: the counters' first values (3.2.3.2.1).
    pub fn first() -> Self {
        AccecnOption::new(0, &ORDERS[0].map(|at| FIRST_BYTES[at]))
    }

    /// Whether there is an option.
    pub fn is_present(&self) -> bool {
        self.size > 0
    }

    /// The order of the fields, 0 or 1.
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

    /// Bytes in an ACK; beside SACK blocks their two bytes of padding can be saved.
    pub fn bytes(&self, beside_blocks: bool) -> u16 {
        match self.size {
            0 => 0,
            size => padded(size - 1, beside_blocks),
        }
    }

    /// Bytes that it adds to a SYN-ACK, beside MSS, SACK permitted and window scale (9 bytes; 19 with time stamps).
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

/// Bytes of the option with its padding, as in Linux (`tcp_options_fit_accecn`).
pub(super) fn padded(fields: u8, beside_blocks: bool) -> u16 {
    let bytes = unpadded(fields);
    if beside_blocks && bytes % 4 <= 2 {
        bytes - bytes % 4
    } else {
        bytes.next_multiple_of(4)
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
        // Without padding 2, 5, 8, 11.
        assert_eq!(bytes(false), [4, 8, 8, 12]);
        assert_eq!(bytes(true), [0, 4, 8, 12]);
        let option = AccecnOption::new(0, &[1, 0, 1]);
        // 9 + 11 = 20 in place of 12; 19 + 11 = 30, padded to 32, in place of 20.
        assert_eq!([option.syn_bytes(false), option.syn_bytes(true)], [8, 12]);
        assert_eq!([AccecnOption::NONE.bytes(true), AccecnOption::NONE.syn_bytes(true)], [0, 0]);
    }
}
