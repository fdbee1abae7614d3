//! Round robin in HTB.

/// Classes of one priority that take turns. They are bits by number.
#[derive(Clone, Copy, Debug, Default)]
pub(super) struct Turn {
    pub(super) members: u8,
    /// Whose turn it is; `None`: the first number's.
    pub(super) next: Option<usize>,
    /// Who was next and left, so that its place is kept (`last_ptr_id`).
    pub(super) left: Option<usize>,
}

impl Turn {
    /// The first member from `number` on.
    fn from(&self, number: usize) -> Option<usize> {
        let rest = u32::from(self.members) >> number;
        (rest != 0).then(|| number + rest.trailing_zeros() as usize)
    }

    /// The member whose turn it is (`htb_lookup_leaf`).
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
