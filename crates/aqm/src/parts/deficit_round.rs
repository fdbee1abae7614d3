//! Deficit round robin: classes take turns, each earning a quantum a turn and paying for what it sends.
//!
//! M. Shreedhar, G. Varghese, "Efficient fair queuing using deficit round robin", IEEE/ACM Transactions on Networking
//! 4(3), 1996, in the form of ns-2.35's `queue/drr.cc`: a class that becomes active goes last; a drop hits the class
//! with the most bytes, of equal classes the one whose turn is first.

use crate::parts::class_fifos::{ClassFifos, End};
use crate::parts::classful::Schedule;
use crate::parts::round::Round;
use crate::parts::slot_heap::SlotHeap;
use crate::policy::{Limit, Room};
use crate::{Packet, Time};
use std::cmp::Reverse;

/// What a class pays for a packet.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Price {
    /// The packet's size, bytes.
    Bytes,
    /// 1 for each packet.
    Packets,
}

/// Which packet is dropped when the buffer is full.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Victim {
    /// The arrival.
    Arrival,
    /// A packet of the class with the most bytes, which the arrival is counted in.
    Longest(End),
}

/// What one class may spend.
#[derive(Clone, Copy, Debug)]
struct Turn {
    /// What the class earns in a turn, bytes or packets.
    quantum: u64,
    /// What the class has left to spend, bytes or packets.
    deficit: u64,
    /// Whether the quantum of this turn has been added.
    credited: bool,
}

/// The classes, their packets and their turns.
#[derive(Debug)]
pub struct DeficitRound {
    /// The packets of each class.
    fifos: ClassFifos,
    /// The classes with packets, in the order of their turns.
    round: Round,
    /// What each class may spend.
    turns: Vec<Turn>,
    /// The classes with packets, the longest in bytes first.
    longest: SlotHeap<Reverse<u64>>,
    /// What a packet costs.
    price: Price,
    /// Packets or bytes of all classes.
    limit: Limit,
    /// Which packet is dropped when there is no space.
    victim: Victim,
}

impl DeficitRound {
    /// One empty class for each of `quanta` (in the unit of `price`, at least 1).
    pub fn new(quanta: impl IntoIterator<Item = u64>, price: Price, limit: Limit, victim: Victim) -> Self {
        let turns: Vec<Turn> =
            quanta.into_iter().map(|quantum| Turn { quantum: quantum.max(1), deficit: 0, credited: false }).collect();
        let (fifos, round) = (ClassFifos::new(turns.len()), Round::new(turns.len()));
        DeficitRound { fifos, round, turns, longest: SlotHeap::new(), price, limit, victim }
    }

    /// The packets.
    pub fn fifos(&self) -> &ClassFifos {
        &self.fifos
    }

    /// Classes with packets.
    pub fn active(&self) -> usize {
        self.round.len()
    }

    /// `packet` of `class` arrives; true if it stays.
    pub fn arrive(&mut self, class: usize, packet: Packet, dropped: &mut dyn FnMut(&Packet)) -> bool {
        if self.victim == Victim::Arrival
            && !Room::holding(self.limit).admits(&packet, self.fifos.packets(), self.fifos.bytes())
        {
            dropped(&packet);
            return false;
        }
        self.fifos.push(class, packet);
        if self.fifos.packets_of(class) == 1 {
            self.round.join(class);
            self.turns[class].deficit = 0;
        }
        self.weigh(class);
        let mut admitted = true;
        while let (true, Victim::Longest(end)) = (self.fifos.exceeds(self.limit), self.victim) {
            let Some(loser) = self.longest() else { break };
            let Some(victim) = self.fifos.take(loser, end) else { break };
            dropped(&victim);
            let emptied = self.fifos.packets_of(loser) == 0;
            if emptied {
                // ns-2 leaves `credited` as it is: a class emptied by drops in its turn earns nothing in its next turn.
                self.round.leave(loser);
            }
            self.weigh(loser);
            // The arrival is its class's newest packet: from the tail it is dropped first, from the head last.
            admitted &= loser != class || (end == End::Head && !emptied);
        }
        admitted
    }

    /// Takes the next packet.
    pub fn take(&mut self) -> Option<Packet> {
        let mut passed = 0;
        loop {
            let class = self.round.current()?;
            let price = self.price_of(class);
            let turn = &mut self.turns[class];
            if !turn.credited {
                turn.deficit += turn.quantum;
                turn.credited = true;
            }
            if turn.deficit >= price {
                turn.deficit -= price;
                let packet = self.fifos.take(class, End::Head);
                if self.fifos.packets_of(class) == 0 {
                    turn.credited = false;
                    self.round.leave(class);
                }
                self.weigh(class);
                return packet;
            }
            turn.credited = false;
            self.round.advance();
            passed += 1;
            if passed == self.round.len() {
                self.skip_rounds();
                passed = 0;
            }
        }
    }

    /// A whole round has passed without a packet. Adds the quanta of all further such rounds in one step, so that a
    /// packet costs O(active classes) however small the quantum.
    fn skip_rounds(&mut self) {
        let rounds = |class: usize| {
            let turn = &self.turns[class];
            (self.price_of(class) - turn.deficit).div_ceil(turn.quantum)
        };
        let idle = self.round.in_order().map(rounds).min().unwrap_or(1) - 1;
        for class in self.round.in_order() {
            let turn = &mut self.turns[class];
            turn.deficit += idle * turn.quantum;
        }
    }

    fn price_of(&self, class: usize) -> u64 {
        match self.price {
            Price::Bytes => self.fifos.head(class).map_or(0, |packet| u64::from(packet.size)),
            Price::Packets => 1,
        }
    }

    /// Keeps `longest` in order after a change in `class`.
    fn weigh(&mut self, class: usize) {
        if matches!(self.victim, Victim::Longest(_)) {
            match self.fifos.packets_of(class) {
                0 => self.longest.remove(class),
                _ => self.longest.set(class, Reverse(self.fifos.bytes_of(class))),
            }
        }
    }

    fn longest(&self) -> Option<usize> {
        let (most, class) = self.longest.first()?;
        if self.longest.second_key() != Some(most) {
            return Some(class);
        }
        self.round.in_order().find(|&class| self.fifos.bytes_of(class) == most.0)
    }
}

/// The rule that says which queue of a [`Rounds`] a packet joins.
pub trait Place: Send {
    /// The number of the packet's queue.
    fn place(&self, packet: &Packet) -> usize;

    /// Whether that is the packet's class.
    fn is_class(&self) -> bool {
        false
    }
}

/// Queues that take turns, as a whole discipline: DRR by flow, WRR by class.
pub struct Rounds<P> {
    /// The queues.
    round: DeficitRound,
    /// The queue of a packet.
    place: P,
}

impl<P: Place> Rounds<P> {
    /// `round` over the queues that `place` numbers.
    pub fn new(round: DeficitRound, place: P) -> Self {
        Rounds { round, place }
    }
}

impl<P: Place> Schedule for Rounds<P> {
    fn arrive(&mut self, packet: Packet, _now: Time, dropped: &mut dyn FnMut(&Packet)) -> bool {
        self.round.arrive(self.place.place(&packet), packet, dropped)
    }

    fn take(&mut self, _now: Time, _dropped: &mut dyn FnMut(&Packet)) -> Option<Packet> {
        self.round.take()
    }

    fn fifos(&self) -> &ClassFifos {
        self.round.fifos()
    }

    fn is_by_class(&self) -> bool {
        self.place.is_class()
    }

    fn gauges(&self, out: &mut dyn FnMut(&'static str, f64)) {
        out("active", self.round.active() as f64);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn served(round: &mut DeficitRound) -> String {
        std::iter::from_fn(|| round.take()).map(|p| char::from(b'A' + p.flow as u8)).collect()
    }

    fn fill(round: &mut DeficitRound, packets: &[(usize, u32, usize)]) {
        for &(class, size, times) in packets {
            for _ in 0..times {
                assert!(round.arrive(class, Packet::new(class as u64, size), &mut |_| panic!("there is room")));
            }
        }
    }

    fn round(quanta: &[u64], price: Price) -> DeficitRound {
        DeficitRound::new(quanta.iter().copied(), price, Limit::Packets(100), Victim::Longest(End::Head))
    }

    #[test]
    fn many_empty_rounds_are_skipped_without_changing_the_order() {
        let classes = [(0, 500, 3), (1, 200, 5), (2, 1000, 1), (3, 40, 4)];
        // Quanta of one to three bytes take hundreds of rounds for a packet.
        let mut small = round(&[1, 2, 1, 3], Price::Bytes);
        fill(&mut small, &classes);
        let mut by_hand = String::new();
        let mut deficits = [0_u64; 4];
        let mut left = classes.map(|(_, size, times)| vec![u64::from(size); times]);
        while left.iter().any(|sizes| !sizes.is_empty()) {
            for (i, quantum) in [1, 2, 1, 3].into_iter().enumerate() {
                if left[i].is_empty() {
                    continue;
                }
                deficits[i] += quantum;
                while left[i].last().is_some_and(|&size| size <= deficits[i]) {
                    deficits[i] -= left[i].pop().unwrap();
                    by_hand.push(char::from(b'A' + i as u8));
                }
                if left[i].is_empty() {
                    deficits[i] = 0;
                }
            }
        }
        assert_eq!(served(&mut small), by_hand);
    }

    #[test]
    fn by_packets_a_quantum_is_packets_a_turn() {
        let mut round = round(&[3, 1, 2], Price::Packets);
        fill(&mut round, &[(0, 40, 5), (1, 1500, 3), (2, 700, 3)]);
        assert_eq!(served(&mut round), "AAABCCAABCB");
    }

    #[test]
    fn of_equally_long_classes_the_one_whose_turn_comes_first_loses() {
        let mut round = DeficitRound::new([500; 3], Price::Bytes, Limit::Bytes(1500), Victim::Longest(End::Head));
        fill(&mut round, &[(2, 500, 1), (0, 250, 2), (1, 500, 1)]);
        let mut lost = Vec::new();
        assert!(!round.arrive(1, Packet::new(9, 5000), &mut |p| lost.push((p.flow, p.size))));
        assert_eq!(lost, [(1, 500), (9, 5000)], "the longest from its head, down to the arrival");
        assert!(round.arrive(1, Packet::new(1, 500), &mut |_| panic!("there is room")));
        lost.clear();
        assert!(round.arrive(0, Packet::new(0, 1), &mut |p| lost.push((p.flow, p.size))));
        assert_eq!(lost, [(0, 250)], "501 B is the most");
        assert!(round.arrive(0, Packet::new(0, 249), &mut |p| lost.push((p.flow, p.size))));
        assert_eq!(round.take().map(|p| p.flow), Some(2), "2 is first in the ring");
        assert_eq!(round.fifos().bytes_of(0), 500);
        fill(&mut round, &[(2, 500, 1)]);
        lost.clear();
        // All classes have 500 B but the arrival's; the turn is at class 0.
        assert!(round.arrive(2, Packet::new(2, 0), &mut |_| panic!("there is room")));
        assert!(round.arrive(1, Packet::new(1, 0), &mut |_| panic!("there is room")));
        round.limit = Limit::Bytes(1499);
        assert!(round.arrive(2, Packet::new(2, 0), &mut |p| lost.push((p.flow, p.size))));
        assert_eq!(lost, [(0, 250)]);
    }

    #[test]
    fn the_arrival_is_the_first_of_its_class_to_go_from_the_tail_and_the_last_from_the_head() {
        for (end, left) in [(End::Head, [3, 4]), (End::Tail, [1, 2])] {
            let mut round = DeficitRound::new([500; 2], Price::Bytes, Limit::Packets(2), Victim::Longest(end));
            let mut admitted = Vec::new();
            for tag in 1..=4 {
                admitted.push(round.arrive(0, Packet { tag, ..Packet::new(0, 100) }, &mut |_| {}));
            }
            assert_eq!(admitted, [true, true, end == End::Head, end == End::Head]);
            let order: Vec<u32> = std::iter::from_fn(|| round.take()).map(|p| p.tag).collect();
            assert_eq!(order, left);
        }
    }

    #[test]
    fn the_arrival_can_be_the_victim() {
        let mut round = DeficitRound::new([500; 2], Price::Bytes, Limit::Bytes(1000), Victim::Arrival);
        fill(&mut round, &[(0, 400, 2)]);
        let mut lost = 0;
        assert!(!round.arrive(1, Packet::new(1, 201), &mut |_| lost += 1));
        assert!(round.arrive(1, Packet::new(1, 200), &mut |_| lost += 1));
        assert_eq!((lost, round.fifos().bytes()), (1, 1000));
    }
}
