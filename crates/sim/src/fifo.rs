//! A FIFO in a ring buffer whose length is a power of two.
#![allow(unsafe_code)]

/// A FIFO.
pub struct Fifo<T> {
    slots: Box<[T]>,
    head: usize,
    len: usize,
}

impl<T: Copy + Default> Fifo<T> {
    /// An empty queue.
    pub fn new() -> Self {
        Fifo { slots: vec![T::default(); 16].into(), head: 0, len: 0 }
    }

    /// The place of an item in the ring, which is never empty.
    #[inline(always)]
    fn place_of(&self, index: usize) -> usize {
        index & self.slots.len().wrapping_sub(1)
    }

    /// Number of items.
    #[inline(always)]
    pub fn len(&self) -> usize {
        self.len
    }

    /// The last item.
    #[inline(always)]
    pub fn back(&self) -> Option<&T> {
        self.get(self.len.wrapping_sub(1))
    }

    /// The item `index` places after the first.
    #[inline(always)]
    pub fn get(&self, index: usize) -> Option<&T> {
        if index >= self.len {
            return None;
        }
        self.slots.get(self.place_of(self.head + index))
    }

    /// The first item if there is one; else an arbitrary earlier item.
    #[inline(always)]
    pub fn front(&self) -> &T {
        // SAFETY: `place_of` is less than the length of the ring, a power of two. The comparison costs 1 % of a run.
        unsafe { self.slots.get_unchecked(self.place_of(self.head)) }
    }

    /// The ring, and the place in it of the item `ahead` places after the first.
    pub fn place(&self, ahead: usize) -> (&[T], usize) {
        (&self.slots, self.place_of(self.head + ahead))
    }

    /// Appends an item.
    #[inline(always)]
    pub fn push_back(&mut self, item: T) {
        self.push_within(usize::MAX, item);
    }

    /// Appends an item unless there are `most` already, a power of two from 16 on; true if it did.
    #[inline(always)]
    pub fn push_within(&mut self, most: usize, item: T) -> bool {
        if self.len == self.slots.len() {
            if self.len >= most {
                return false;
            }
            self.grow();
        }
        let at = self.place_of(self.head + self.len);
        // SAFETY: as in `front`.
        *unsafe { self.slots.get_unchecked_mut(at) } = item;
        self.len += 1;
        true
    }

    /// Removes the first item of a non-empty FIFO.
    #[inline(always)]
    pub fn pop_front(&mut self) -> T {
        let item = *self.front();
        self.head += 1;
        self.len -= 1;
        item
    }

    #[inline(never)]
    fn grow(&mut self) {
        let n = self.slots.len();
        self.head &= n - 1;
        let mut slots = std::mem::take(&mut self.slots).into_vec();
        slots.resize(2 * n, T::default());
        slots.copy_within(..self.head, n);
        self.slots = slots.into();
    }
}

impl<T: Copy + Default> Default for Fifo<T> {
    fn default() -> Self {
        Self::new()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn keeps_the_order_while_it_grows_and_goes_round() {
        let (mut fifo, mut next) = (Fifo::new(), 0);
        for i in 0..1000 {
            fifo.push_back(i);
            if i % 3 == 0 {
                assert_eq!((*fifo.front(), fifo.pop_front()), (next, next));
                next += 1;
            }
        }
        assert_eq!((fifo.len(), fifo.get(1).copied(), fifo.get(fifo.len())), (1000 - next, Some(next + 1), None));
    }
}
