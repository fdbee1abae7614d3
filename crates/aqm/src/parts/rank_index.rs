//! Which of the queued packets has the least rank? An index of a FIFO's packets by a small whole number, kept up to date
//! in constant time per packet, however long the queue is.
//!
//! Packets of one rank form a list in the order of their arrival; a bitmap of bitmaps finds the least rank in use.
//! Departures are not announced: [`RankIndex::advance`] catches up with them, each packet once, so that the index
//! never holds more than the queue's own slots.

use std::collections::VecDeque;

const NONE: u64 = u64::MAX;
const NO_RANK: u32 = u32::MAX;

/// A packet's place in the list of its rank; `older` and `newer` are serial numbers.
#[derive(Clone, Copy, Debug)]
struct Node {
    rank: u32,
    older: u64,
    newer: u64,
}

const ABSENT: Node = Node { rank: NO_RANK, older: NONE, newer: NONE };

/// The packets of a FIFO by rank.
#[derive(Debug)]
pub struct RankIndex {
    /// One for each serial number from `first` on, also for packets that are not in the index.
    nodes: VecDeque<Node>,
    first: u64,
    /// Oldest and newest packet of each rank.
    ends: Vec<(u64, u64)>,
    used: Bits,
}

impl RankIndex {
    /// An empty index for ranks below `ranks`.
    pub fn new(ranks: usize) -> Self {
        RankIndex { nodes: VecDeque::new(), first: 0, ends: vec![(NONE, NONE); ranks], used: Bits::new(ranks) }
    }

    /// Forgets every packet with a serial number below `oldest`: they have left the queue at its head.
    #[inline]
    pub fn advance(&mut self, oldest: u64) {
        while self.first < oldest {
            let Some(node) = self.nodes.pop_front() else {
                self.first = oldest;
                return;
            };
            self.first += 1;
            if node.rank != NO_RANK {
                self.unlink(node);
            }
        }
    }

    /// Adds the newest packet of the queue. Serial numbers may be left out, and those of packets that were removed at
    /// the tail may come again.
    #[inline]
    pub fn insert(&mut self, serial: u64, rank: u32) {
        if self.nodes.is_empty() {
            self.first = serial;
        }
        let place = (serial - self.first) as usize;
        debug_assert!(self.nodes.range(place.min(self.nodes.len())..).all(|node| node.rank == NO_RANK));
        self.nodes.resize(place, ABSENT);
        let older = self.ends[rank as usize].1;
        self.nodes.push_back(Node { rank, older, newer: NONE });
        if older == NONE {
            self.ends[rank as usize] = (serial, serial);
            self.used.set(rank as usize);
        } else {
            self.ends[rank as usize].1 = serial;
            self.node(older).newer = serial;
        }
    }

    /// Takes a packet out, if it is there.
    pub fn remove(&mut self, serial: u64) {
        let place = serial.checked_sub(self.first).map(|place| place as usize);
        if let Some(node) = place.and_then(|place| self.nodes.get_mut(place)).filter(|node| node.rank != NO_RANK) {
            let removed = std::mem::replace(node, ABSENT);
            self.unlink(removed);
        }
    }

    /// The least rank in use.
    #[inline]
    pub fn least(&self) -> Option<u32> {
        self.used.first().map(|rank| rank as u32)
    }

    /// The oldest packet of a rank in use.
    pub fn oldest(&self, rank: u32) -> u64 {
        self.ends[rank as usize].0
    }

    /// The newest packet of a rank in use.
    pub fn newest(&self, rank: u32) -> u64 {
        self.ends[rank as usize].1
    }

    fn node(&mut self, serial: u64) -> &mut Node {
        let place = (serial - self.first) as usize;
        &mut self.nodes[place]
    }

    #[inline]
    fn unlink(&mut self, Node { rank, older, newer }: Node) {
        let rank = rank as usize;
        match older {
            NONE => self.ends[rank].0 = newer,
            older => self.node(older).newer = newer,
        }
        match newer {
            NONE => self.ends[rank].1 = older,
            newer => self.node(newer).older = older,
        }
        if (older, newer) == (NONE, NONE) {
            self.used.clear(rank);
        }
    }
}

/// A set of small numbers that knows its least one: a bit for each, and above them a bit for each 64 that are not empty.
#[derive(Debug)]
struct Bits {
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

    /// Arrivals, departures at the head and removals anywhere, against a sorted map.
    #[test]
    fn agrees_with_a_sorted_map() {
        for ranks in [1, 3, 64, 65, 5000] {
            let mut index = RankIndex::new(ranks);
            let mut waiting: BTreeMap<u64, u32> = BTreeMap::new();
            let (mut next, mut state) = (10_u64, 7_u64);
            let mut any = |below: u64| {
                state = state.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
                (state >> 33) % below
            };
            let mut longest = 0;
            for _ in 0..20_000 {
                match any(5) {
                    0..=2 if waiting.len() < 40 => {
                        // Like the ring: a number whose packet was removed at the tail is given again.
                        next = waiting.last_key_value().map_or(next, |(&serial, _)| serial + 1);
                        let rank = any(ranks as u64) as u32;
                        index.insert(next, rank);
                        waiting.insert(next, rank);
                        next += 1;
                    }
                    0..=3 => drop(waiting.pop_first()),
                    _ => {
                        if let Some(&serial) = waiting.keys().nth(any(waiting.len().max(1) as u64) as usize) {
                            waiting.remove(&serial);
                            index.remove(serial);
                            index.remove(serial);
                        }
                    }
                }
                index.advance(waiting.first_key_value().map_or(next, |(&serial, _)| serial));
                let least = waiting.values().min().copied();
                assert_eq!(index.least(), least);
                if let Some(least) = least {
                    let mut equal = waiting.iter().filter(|(_, &rank)| rank == least).map(|(&serial, _)| serial);
                    let oldest = equal.next().unwrap();
                    assert_eq!(index.oldest(least), oldest);
                    assert_eq!(index.newest(least), equal.last().unwrap_or(oldest));
                }
                let span = waiting.last_key_value().map_or(0, |(&last, _)| last + 1 - *waiting.keys().next().unwrap());
                longest = longest.max(span);
                assert!(index.nodes.len() as u64 <= longest, "no more than the slots of the queue");
            }
            assert!(longest > 40);
        }
    }
}
