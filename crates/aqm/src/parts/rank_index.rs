//! Which of the queued packets has the least rank? An index of a FIFO's packets by a small whole number, in constant
//! time per packet however long the queue is.
//!
//! Packets of one rank form a list in the order of their arrival; a bitmap of bitmaps finds the least rank in use.
//! Departures cost nothing: an entry whose serial number shows that its packet has left is passed over when it is met
//! or when its place is needed again. The index has no more places than the queue had slots.

use crate::params::words;

const NONE: u64 = u64::MAX;

words! {
    /// Which of several packets of the same rank comes first.
    pub enum Tie {
        /// The packet that joined the queue last.
        Newest = "newest",
        /// The packet that joined the queue first.
        Oldest = "oldest",
    }
}

/// A packet's place in the list of its rank.
#[derive(Clone, Copy, Debug, Default)]
struct Node {
    /// How far away the serial number of the next packet in the list is; 0 for the last.
    next: u32,
    /// The packet's rank.
    rank: u16,
}

/// The list of a rank: its first packet and, if that is the oldest, its newest.
#[derive(Clone, Copy, Debug)]
struct List {
    /// Serial number of the packet that comes first, or `NONE`.
    first: u64,
    /// Serial number of the packet that comes last, or `NONE`.
    last: u64,
}

const EMPTY: List = List { first: NONE, last: NONE };

/// The packets of a FIFO by rank.
#[derive(Debug)]
pub struct RankIndex {
    /// Which packet of a rank comes first.
    tie: Tie,
    /// The places: the packet with serial number s has place s modulo their number, a power of two.
    nodes: Vec<Node>,
    /// Packets below this serial number have left.
    start: u64,
    /// The list of each rank.
    lists: Vec<List>,
    /// The ranks whose list is not empty.
    used: Bits,
}

impl RankIndex {
    /// An empty index for ranks below `ranks`, at most 65,536.
    pub fn new(ranks: usize, tie: Tie) -> Self {
        let lists = vec![EMPTY; ranks];
        RankIndex { tie, nodes: vec![Node::default(); 16], start: 0, lists, used: Bits::new(ranks) }
    }

    /// Every packet with a serial number below `oldest` has left the queue at its head.
    #[inline]
    pub fn advance(&mut self, oldest: u64) {
        self.start = oldest;
    }

    /// Adds the newest packet of the queue. Serial numbers may be left out; numbers of packets removed at the tail may
    /// come again.
    #[inline]
    pub fn insert(&mut self, serial: u64, rank: u32) {
        if serial - self.start >= self.nodes.len() as u64 {
            self.grow(serial);
        }
        let place = self.place(serial);
        if self.tie == Tie::Oldest {
            // The packet that had this place has left, but its list may still lead here.
            self.settle(usize::from(self.nodes[place].rank));
        }
        let list = &mut self.lists[rank as usize];
        let mut next = 0;
        if self.tie == Tie::Newest {
            if list.first != NONE && list.first >= self.start {
                next = (serial - list.first) as u32;
            }
            list.first = serial;
        } else {
            let last = std::mem::replace(&mut list.last, serial);
            if list.first == NONE || last < self.start {
                list.first = serial;
            } else {
                let last_place = self.place(last);
                self.nodes[last_place].next = (serial - last) as u32;
            }
        }
        self.nodes[place] = Node { next, rank: rank as u16 };
        self.used.set(rank as usize);
    }

    /// The packet that comes first, and its rank.
    #[inline]
    pub fn least(&mut self) -> Option<(u32, u64)> {
        loop {
            let rank = self.used.first()?;
            self.settle(rank);
            let first = self.lists[rank].first;
            if first != NONE {
                return Some((rank as u32, first));
            }
        }
    }

    /// Takes a packet out if it comes first in its rank.
    #[inline]
    pub fn remove_first(&mut self, serial: u64, rank: u32) {
        let rank = rank as usize;
        self.settle(rank);
        if self.lists[rank].first == serial {
            self.step(rank);
            self.settle(rank);
        }
    }

    #[inline]
    fn place(&self, serial: u64) -> usize {
        serial as usize & (self.nodes.len() - 1)
    }

    /// Takes packets that have left the queue off the front of a list.
    #[inline]
    fn settle(&mut self, rank: usize) {
        while self.lists[rank].first < self.start {
            if self.tie == Tie::Newest {
                // The packets after it are older still, and have left too.
                self.lists[rank] = EMPTY;
                self.used.clear(rank);
            } else {
                self.step(rank);
            }
        }
    }

    /// Takes the first packet off a list.
    #[inline]
    fn step(&mut self, rank: usize) {
        let first = self.lists[rank].first;
        let next = u64::from(self.nodes[self.place(first)].next);
        if next == 0 {
            self.lists[rank] = EMPTY;
            self.used.clear(rank);
        } else {
            self.lists[rank].first = if self.tie == Tie::Newest { first - next } else { first + next };
        }
    }

    #[cold]
    fn grow(&mut self, serial: u64) {
        for rank in 0..self.lists.len() {
            self.settle(rank);
        }
        let places = (serial - self.start + 1).next_power_of_two() as usize;
        let mut nodes = vec![Node::default(); places];
        for old in self.start..self.start + self.nodes.len() as u64 {
            nodes[old as usize & (places - 1)] = self.nodes[self.place(old)];
        }
        self.nodes = nodes;
    }
}

/// A set of small numbers that finds its least: a bit for each number, above them a bit for each 64 that are not all 0,
/// and so on.
#[derive(Debug)]
struct Bits {
    /// The bits by level: the numbers themselves first, the top level last.
    levels: Vec<Vec<u64>>,
}

impl Bits {
    fn new(numbers: usize) -> Self {
        let mut levels = Vec::new();
        let mut words = numbers;
        loop {
            words = words.div_ceil(64).max(1);
            levels.push(vec![0; words]);
            if words == 1 {
                return Bits { levels };
            }
        }
    }

    #[inline]
    fn set(&mut self, mut number: usize) {
        for level in &mut self.levels {
            let word = &mut level[number / 64];
            let before = *word;
            *word |= 1 << (number % 64);
            if before != 0 {
                return;
            }
            number /= 64;
        }
    }

    #[inline]
    fn clear(&mut self, mut number: usize) {
        for level in &mut self.levels {
            let word = &mut level[number / 64];
            *word &= !(1 << (number % 64));
            if *word != 0 {
                return;
            }
            number /= 64;
        }
    }

    #[inline]
    fn first(&self) -> Option<usize> {
        let mut number = 0;
        for level in self.levels.iter().rev() {
            let word = level[number];
            if word == 0 {
                return None;
            }
            number = number * 64 + word.trailing_zeros() as usize;
        }
        Some(number)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::collections::BTreeMap;

    /// Arrivals, departures at the head and removals of the first packet of a rank, held against a sorted map.
    #[test]
    fn agrees_with_a_sorted_map() {
        for (ranks, tie, every) in [
            (1, Tie::Newest, 1),
            (1, Tie::Oldest, 1),
            (3, Tie::Newest, 1),
            (3, Tie::Oldest, 3),
            (65, Tie::Newest, 3),
            (65, Tie::Oldest, 1),
            (5000, Tie::Newest, 1),
            (5000, Tie::Oldest, 1),
        ] {
            let mut index = RankIndex::new(ranks, tie);
            let mut waiting: BTreeMap<u64, Option<u32>> = BTreeMap::new();
            let (mut end, mut state) = (10_u64, 7_u64);
            let mut any = |below: u64| {
                state = state.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
                (state >> 33) % below
            };
            let (mut longest, mut removed) = (0, 0);
            for i in 0..40_000 {
                // Short queues first, then queues for which the index must grow.
                let most = if i < 20_000 { 10 } else { 400 };
                let start = waiting.first_key_value().map_or(end, |(&serial, _)| serial);
                index.advance(start);
                let listed = waiting.iter().filter_map(|(&serial, &rank)| Some((rank?, serial)));
                let want = match tie {
                    Tie::Newest => listed.min_by_key(|&(rank, serial)| (rank, u64::MAX - serial)),
                    Tie::Oldest => listed.min(),
                };
                assert_eq!(index.least(), want);
                match any(10) {
                    0..=5 if waiting.len() < most => {
                        // As in the ring, the number of a packet removed at the tail is given again.
                        end = waiting.last_key_value().map_or(end, |(&serial, _)| serial + 1);
                        let rank = (any(every) == 0).then(|| any(ranks as u64) as u32);
                        if let Some(rank) = rank {
                            index.insert(end, rank);
                        }
                        waiting.insert(end, rank);
                        end += 1;
                        longest = longest.max(end - start);
                    }
                    0..=7 => drop(waiting.pop_first()),
                    _ => {
                        if let Some((rank, serial)) = want {
                            index.remove_first(serial, rank);
                            index.remove_first(serial, rank);
                            waiting.remove(&serial);
                            removed += 1;
                        }
                    }
                }
                assert!(
                    index.nodes.len() as u64 <= 2 * longest.max(16),
                    "no more places than slots, to a power of two"
                );
            }
            assert!(longest > 100 && removed > 5000, "{longest} {removed}");
        }
    }
}
