//! Finite transfers, one after the other.

use super::distribution::Distribution;
use earlydrop_aqm::random::Generator;

/// A finite transfer.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Transfer {
    /// Time since the end of the previous transfer, or since the start for the first, in seconds.
    pub after: f64,
    /// Data, in bytes; 0 only opens the connection.
    pub bytes: u64,
}

/// The transfers of one flow: their size, the think time between them, their number.
#[derive(Clone, Debug, PartialEq)]
pub struct Transfers {
    /// Size of a transfer, in bytes.
    pub size: Distribution,
    /// Time from the end of a transfer to the start of the next, in seconds.
    pub think: Distribution,
    /// Transfers left; `None` for infinitely many.
    left: Option<u64>,
    first: bool,
}

impl Transfers {
    /// `number` transfers; `None` for infinitely many.
    pub fn new(size: Distribution, think: Distribution, number: Option<u64>) -> Self {
        Transfers { size, think, left: number, first: true }
    }

    /// Transfers left; `None` for infinitely many.
    pub fn left(&self) -> Option<u64> {
        self.left
    }

    /// The next transfer, if there is one. The size is drawn before the think time; the first starts immediately.
    pub fn next(&mut self, random: &mut Generator) -> Option<Transfer> {
        if let Some(left) = &mut self.left {
            *left = left.checked_sub(1)?;
        }
        let bytes = (self.size.draw(random) + 0.5) as u64;
        let after = if self.first { 0.0 } else { self.think.draw(random) };
        self.first = false;
        Some(Transfer { after, bytes })
    }
}

/// Number of segments for `bytes` in payloads of `segment` bytes; the last may be partly filled. The result is at most
/// what a sender can number.
pub fn segments(bytes: u64, segment: u32) -> i32 {
    bytes.div_ceil(u64::from(segment)).min(i32::MAX as u64 - 2) as i32
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn as_many_as_asked_for_and_the_first_at_once() {
        let mut random = Generator::stream(1, "test.transfers");
        let mut transfers = Transfers::new(Distribution::Fixed(10_000.0), Distribution::Fixed(1.5), Some(3));
        let all: Vec<_> = std::iter::from_fn(|| transfers.next(&mut random)).collect();
        assert_eq!(all.iter().map(|t| t.after).collect::<Vec<_>>(), [0.0, 1.5, 1.5]);
        assert!(all.iter().all(|t| t.bytes == 10_000));
        let mut none = Transfers::new(Distribution::Fixed(0.0), Distribution::Fixed(0.0), Some(0));
        assert_eq!(none.next(&mut random), None);
    }

    #[test]
    fn without_a_number_there_is_no_end() {
        let mut random = Generator::stream(1, "test.transfers");
        let size = Distribution::Pareto { mean: 12_000.0, shape: 1.2, max: f64::INFINITY };
        let mut transfers = Transfers::new(size, Distribution::Exponential { mean: 1.0 }, None);
        assert!((0..1000).all(|_| transfers.next(&mut random).is_some_and(|t| t.bytes >= 2000)));
    }

    #[test]
    fn the_last_segment_may_be_filled_in_part() {
        for (bytes, want) in [(0, 0), (1, 1), (1000, 1), (1001, 2), (u64::MAX, i32::MAX - 2)] {
            assert_eq!(segments(bytes, 1000), want);
        }
    }
}
