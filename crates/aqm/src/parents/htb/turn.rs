//! Round robin in HTB.

/// Classes of one priority that take turns, as a set of bits by class number.
#[derive(Clone, Copy, Debug, Default)]
pub(super) struct Turn {
    pub(super) members: u8,
    /// The class whose turn it is; `None`: the lowest number.
    pub(super) next: Option<usize>,
    /// The class that had the turn and left: its place is kept (`last_ptr_id`).
    pub(super) left: Option<usize>,
}

impl Turn {
    /// The first class of the turn from `number` on.
    fn from(&self, number: usize) -> Option<usize> {
        let rest = u32::from(self.members) >> number;
        (rest != 0).then(|| number + rest.trailing_zeros() as usize)
    }

    /// The class whose turn it is (`htb_lookup_leaf`).
    pub(super) fn current(&mut self) -> Option<usize> {
        if self.members == 0 {
            return None;
        }
        let left = self.left.take();
        let place = self.next.or_else(|| self.from(left?));
        self.next = place.or_else(|| self.from(0));
        self.next
    }

    pub(super) fn pass_on(&mut self) {
        self.next = self.next.and_then(|number| self.from(number + 1));
    }
}
