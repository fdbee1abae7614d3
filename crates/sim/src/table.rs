//! Rows that are found by the numbers given out when they were made: what a network has, slots of a ring.
//!
//! Links, hops, flows and ports are named by number in every packet and event, twenty times for each packet. The engine
//! alone writes these numbers, from rows that exist, and no row is removed before the end of a run. So a release build
//! does not compare each number with the length again; other builds (tests, fuzzing) do. Numbers from outside (of a
//! caller, of settings, in what a queue gives back) are for [`Table::rows`], which compares.
#![allow(unsafe_code)]

use std::ops::{Deref, DerefMut, Index, IndexMut};

/// Rows, as many as when it was made.
pub struct Table<T>(Box<[T]>);

impl<T> Table<T> {
    /// The rows, as a slice.
    #[inline(always)]
    pub fn rows(&self) -> &[T] {
        &self.0
    }

    /// The same, to change them.
    #[inline(always)]
    pub fn rows_mut(&mut self) -> &mut [T] {
        &mut self.0
    }

    /// The rows, as they were given.
    pub fn into_rows(self) -> Vec<T> {
        self.0.into_vec()
    }
}

impl<T> Default for Table<T> {
    fn default() -> Self {
        Table(Box::default())
    }
}

impl<T> From<Vec<T>> for Table<T> {
    fn from(rows: Vec<T>) -> Self {
        Table(rows.into())
    }
}

impl<T> Deref for Table<T> {
    type Target = [T];

    #[inline(always)]
    fn deref(&self) -> &[T] {
        &self.0
    }
}

impl<T> DerefMut for Table<T> {
    #[inline(always)]
    fn deref_mut(&mut self) -> &mut [T] {
        &mut self.0
    }
}

impl<T> Index<usize> for Table<T> {
    type Output = T;

    #[inline(always)]
    fn index(&self, row: usize) -> &T {
        debug_assert!(row < self.0.len(), "row {row} of {}", self.0.len());
        // SAFETY: `row` is the number of a row, see above.
        unsafe { self.0.get_unchecked(row) }
    }
}

impl<T> IndexMut<usize> for Table<T> {
    #[inline(always)]
    fn index_mut(&mut self, row: usize) -> &mut T {
        debug_assert!(row < self.0.len(), "row {row} of {}", self.0.len());
        // SAFETY: as above.
        unsafe { self.0.get_unchecked_mut(row) }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    #[should_panic(expected = "row 3 of 3")]
    fn tests_compare_the_number_of_a_row() {
        let table = Table::from(vec![1, 2, 3]);
        assert_eq!((table[2], table.rows().len()), (3, 3));
        assert_eq!(table[3], 0);
    }
}
