//! Choices made by the bytes of an input. After its end every choice is the first one.

use arbitrary::Unstructured;

/// The bytes of an input, consumed choice by choice.
pub struct Input<'a>(Unstructured<'a>);

impl<'a> Input<'a> {
    /// All of `bytes`.
    pub fn new(bytes: &'a [u8]) -> Self {
        Input(Unstructured::new(bytes))
    }

    /// Whether all bytes are consumed.
    pub fn is_empty(&self) -> bool {
        self.0.is_empty()
    }

    /// The bytes that are left.
    pub fn rest(self) -> &'a [u8] {
        self.0.take_rest()
    }

    /// Up to `most` bytes.
    pub fn bytes(&mut self, most: usize) -> &'a [u8] {
        let most = most.min(self.0.len());
        let length = self.below(most + 1);
        self.0.bytes(length.min(self.0.len())).unwrap_or_default()
    }

    /// A whole number below `n`.
    pub fn below(&mut self, n: usize) -> usize {
        self.0.int_in_range(0..=n.max(1) - 1).unwrap_or(0)
    }

    /// Any whole number.
    pub fn whole(&mut self) -> u64 {
        self.0.arbitrary().unwrap_or(0)
    }

    /// True once in `n` times.
    pub fn one_in(&mut self, n: usize) -> bool {
        self.below(n) == n - 1
    }

    /// One of `items`.
    pub fn of<T: Copy>(&mut self, items: &[T]) -> T {
        items[self.below(items.len())]
    }

    /// A number from 0 to 1, of 65,536.
    pub fn fraction(&mut self) -> f64 {
        self.below(1 << 16) as f64 / 65_535.0
    }
}
