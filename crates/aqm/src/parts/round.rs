//! The classes that take turns, as a ring; one of them has the turn.

const NOBODY: u32 = u32::MAX;

/// A ring of numbered classes. A class that joins comes last, right before the current one. Every change costs O(1).
#[derive(Debug)]
pub struct Round {
    /// The class after each class in the ring, or `NOBODY`.
    next: Vec<u32>,
    /// The class before each class in the ring, or `NOBODY`.
    previous: Vec<u32>,
    /// The class whose turn it is, or `NOBODY`.
    current: u32,
    /// Classes in the ring.
    classes: usize,
}

impl Round {
    /// An empty ring for classes below `classes`.
    pub fn new(classes: usize) -> Self {
        Round { next: vec![NOBODY; classes], previous: vec![NOBODY; classes], current: NOBODY, classes: 0 }
    }

    /// Classes in the ring.
    pub fn len(&self) -> usize {
        self.classes
    }

    /// Whether the ring is empty.
    pub fn is_empty(&self) -> bool {
        self.classes == 0
    }

    /// The class whose turn it is.
    pub fn current(&self) -> Option<usize> {
        (self.current != NOBODY).then_some(self.current as usize)
    }

    /// The classes in the order of their turns, the current one first.
    pub fn in_order(&self) -> impl Iterator<Item = usize> + '_ {
        std::iter::successors(self.current(), |&class| Some(self.next[class] as usize)).take(self.classes)
    }

    /// Puts `class`, which is not in the ring, at its end.
    pub fn join(&mut self, class: usize) {
        let number = class as u32;
        if self.current == NOBODY {
            (self.next[class], self.previous[class], self.current) = (number, number, number);
        } else {
            let (first, last) = (self.current as usize, self.previous[self.current as usize] as usize);
            (self.next[class], self.previous[class]) = (first as u32, last as u32);
            (self.next[last], self.previous[first]) = (number, number);
        }
        self.classes += 1;
    }

    /// Takes `class`, which is in the ring, out. If it is the current one, the next becomes current.
    pub fn leave(&mut self, class: usize) {
        let (next, previous) = (self.next[class], self.previous[class]);
        self.next[previous as usize] = next;
        self.previous[next as usize] = previous;
        if self.current == class as u32 {
            self.current = if next == class as u32 { NOBODY } else { next };
        }
        self.classes -= 1;
    }

    /// The turn of the current class ends.
    pub fn advance(&mut self) {
        if self.current != NOBODY {
            self.current = self.next[self.current as usize];
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_newest_comes_last() {
        let mut round = Round::new(5);
        for class in [3, 0, 4] {
            round.join(class);
        }
        assert_eq!(round.in_order().collect::<Vec<_>>(), [3, 0, 4]);
        round.advance();
        round.join(1);
        assert_eq!(round.in_order().collect::<Vec<_>>(), [0, 4, 3, 1]);
        round.leave(0);
        assert_eq!(round.in_order().collect::<Vec<_>>(), [4, 3, 1]);
        round.leave(3);
        round.advance();
        assert_eq!(round.in_order().collect::<Vec<_>>(), [1, 4]);
        round.leave(4);
        round.leave(1);
        assert!(round.is_empty() && round.current().is_none());
        round.advance();
        round.join(2);
        assert_eq!((round.current(), round.len()), (Some(2), 1));
    }
}
