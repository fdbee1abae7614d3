//! How far a packet has come, and which candidate has come the shortest way: what DDRED and its tail-drop form share.

use crate::params::{words, Param, Unit, Values, Word};
use crate::parts::rank_index::{RankIndex, Tie};
use crate::ring::Ring;
use crate::Packet;
use std::sync::OnceLock;

/// The parameters.
pub const PARAMS: [Param; 3] = [
    Param::whole("method", Unit::None, (1, 2), 1)
        .says(
            "Dedu, Linck & Spies 2007, section IV.A (its simulations use 1)",
            "What distance means: 1, the hops made, TTL_i - TTL; 2, their share of the route, (TTL_i - TTL)/(TTL_i - TTL_f).",
        ),
    Param::word("tie", Tie::WORDS, "newest")
        .says(
            "our reading; section VI: packets are marked from up to bottom",
            "Which of several packets of equal distance is dropped: the newest, which is the arrival if it is one of them, or the oldest.",
        ),
    Param::word("no_option", NoOption::WORDS, "nearest")
        .says(
            "our choice; the paper's packets all carry the option",
            "A packet without TTL_i: as if just sent, as if from farthest away, or from the next of 32, 64, 128, 255 above its TTL.",
        ),
];

words! {
    /// What a packet without TTL_i counts as.
    enum NoOption {
        /// As just sent.
        Nearest = "nearest",
        /// As sent from farthest away.
        Farthest = "farthest",
        /// As sent with the next of 32, 64, 128 and 255 above its TTL.
        Guess = "guess",
    }
}

/// How distances are measured.
#[derive(Clone, Copy, Debug)]
pub struct Distance {
    /// Whether distance is the share of the route (method 2), not the hops.
    share: bool,
    /// What a packet without TTL_i counts as.
    no_option: NoOption,
}

/// Values of a hop count, 0..=255.
const HOPS: usize = 256;

impl Distance {
    /// Reads the parameters.
    pub fn read(values: &Values) -> Self {
        Distance { share: values.whole(&PARAMS, "method") == 2, no_option: values.choice(&PARAMS, "no_option") }
    }

    /// Distance as a fraction: hops over 1, or hops over the hops of the whole route.
    #[inline]
    fn fraction(self, packet: &Packet) -> (u8, u8) {
        let initial = match (packet.initial_ttl, self.no_option) {
            (0, NoOption::Nearest) => return (0, 1),
            (0, NoOption::Farthest) => return (u8::MAX, 1),
            (0, NoOption::Guess) => [32, 64, 128].into_iter().find(|&start| packet.ttl <= start).unwrap_or(255),
            (written, _) => written,
        };
        let hops = initial.saturating_sub(packet.ttl);
        match (self.share, packet.final_ttl) {
            (false, _) => (hops, 1),
            // A SYN's sender does not know the route yet, and the loss of a SYN costs a whole timeout.
            (true, 0) => (1, 1),
            (true, last) if last >= initial => (hops, 1),
            (true, last) => (hops, initial - last),
        }
    }

    /// The distance: hops, or the share of the route.
    pub fn value(self, packet: &Packet) -> f64 {
        let (hops, route) = self.fraction(packet);
        f64::from(hops) / f64::from(route)
    }

    /// The rank of the packet's distance among all distances: lower for a shorter way, equal for an equal one.
    #[inline]
    pub fn rank(self, packet: &Packet) -> u32 {
        let (hops, route) = self.fraction(packet);
        if self.share {
            u32::from(shares().ranks[usize::from(hops) * HOPS + usize::from(route)])
        } else {
            u32::from(hops)
        }
    }

    /// How many ranks there are.
    pub fn ranks(self) -> usize {
        if self.share {
            shares().count
        } else {
            HOPS
        }
    }
}

/// Whether the packet of rank `older` is dropped rather than the one of rank `newer`.
#[inline]
fn gives_way(older: u32, newer: u32, tie: Tie) -> bool {
    older < newer || older == newer && tie == Tie::Oldest
}

/// The order of all fractions hops/route of two bytes.
struct Shares {
    /// The rank of hops over route, at hops * 256 + route.
    ranks: Box<[u16]>,
    /// How many ranks there are.
    count: usize,
}

fn shares() -> &'static Shares {
    static SHARES: OnceLock<Shares> = OnceLock::new();
    SHARES.get_or_init(|| {
        // Two different fractions with denominators up to 255 differ by at least 1/255^2, more than 2^-16: cut off to
        // 17 binary places they still differ, and equal fractions stay equal.
        let key = |i: usize| ((i / HOPS) << 17) / (i % HOPS);
        let is_fraction = |i: &usize| !i.is_multiple_of(HOPS);
        let mut keys: Vec<usize> = (0..HOPS * HOPS).filter(is_fraction).map(key).collect();
        keys.sort_unstable();
        keys.dedup();
        let rank = |i: usize| keys.binary_search(&key(i)).expect("every key is there") as u16;
        let ranks = (0..HOPS * HOPS).map(|i| if is_fraction(&i) { rank(i) } else { 0 }).collect();
        Shares { ranks, count: keys.len() }
    })
}

/// Some of a FIFO's packets, by distance. Constant time per packet, however many wait.
pub struct Nearest {
    /// How distances are measured.
    distance: Distance,
    /// Which of several nearest packets is dropped.
    tie: Tie,
    /// The packets by the rank of their distance.
    index: RankIndex,
}

impl Nearest {
    /// An index of no packets.
    pub fn new(values: &Values) -> Self {
        let distance = Distance::read(values);
        let tie = values.choice(&PARAMS, "tie");
        Nearest { distance, tie, index: RankIndex::new(distance.ranks(), tie) }
    }

    /// How distances are measured.
    pub fn distance(&self) -> Distance {
        self.distance
    }

    /// Forgets the packets that have left `ring` at its head.
    #[inline]
    pub fn advance(&mut self, ring: &Ring) {
        self.index.advance(ring.serials().start);
    }

    /// `packet` has joined the tail with the serial number `serial`.
    #[inline]
    pub fn insert(&mut self, packet: &Packet, serial: u64) {
        self.index.insert(serial, self.distance.rank(packet));
    }

    /// The packet `serial`, the nearest of those that wait, is no candidate any more.
    pub fn remove(&mut self, packet: &Packet, serial: u64) {
        self.index.remove_first(serial, self.distance.rank(packet));
    }

    /// The packet that has come the shortest way, by the rule for ties.
    pub fn least(&mut self) -> Option<u64> {
        self.index.least().map(|(_, serial)| serial)
    }

    /// The packet that is dropped instead of `arrival`, the newest of all; `None` if the arrival itself is nearest.
    pub fn nearer_than(&mut self, arrival: &Packet) -> Option<u64> {
        let (rank, serial) = self.index.least()?;
        gives_way(rank, self.distance.rank(arrival), self.tie).then_some(serial)
    }

    /// [`Nearest::nearer_than`] among the packets of `some` only, newest first, compared one by one.
    pub fn nearest_of<'a>(&self, some: impl Iterator<Item = (u64, &'a Packet)>, arrival: &Packet) -> Option<u64> {
        let (mut least, mut nearest) = (self.distance.rank(arrival), None);
        for (serial, packet) in some {
            let rank = self.distance.rank(packet);
            if gives_way(rank, least, self.tie) {
                (least, nearest) = (rank, Some(serial));
            }
        }
        nearest
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::params::Value;

    fn distance(method: i64, no_option: &'static str) -> Distance {
        let values = Values::of(&[("method", Value::Whole(method)), ("no_option", Value::Choice(no_option))]);
        Distance::read(&values)
    }

    fn packet(initial_ttl: u8, ttl: u8, final_ttl: u8) -> Packet {
        Packet { initial_ttl, ttl, final_ttl, ..Packet::new(1, 1000) }
    }

    #[test]
    fn hops_are_counted_from_what_the_sender_wrote() {
        let hops = |initial, ttl| distance(1, "nearest").value(&packet(initial, ttl, 0));
        assert_eq!([hops(32, 32), hops(32, 31), hops(255, 0), hops(64, 52)], [0.0, 1.0, 255.0, 12.0]);
        assert_eq!(hops(32, 40), 0.0, "a TTL above the one written");
    }

    #[test]
    fn share_of_the_route() {
        let share = |initial, ttl, last| distance(2, "nearest").value(&packet(initial, ttl, last));
        assert_eq!(share(32, 29, 22), 0.3);
        assert_eq!(share(32, 22, 22), 1.0);
        assert_eq!(share(32, 20, 22), 1.2, "a longer way than the one before");
        assert_eq!(share(32, 29, 0), 1.0, "the first packet does not know its route");
        assert_eq!((share(32, 29, 32), share(32, 29, 40)), (3.0, 3.0), "no route at all: hops");
        assert_eq!((share(32, 29, 31), share(32, 32, 32)), (3.0, 0.0));
    }

    #[test]
    fn packets_without_the_option() {
        let bare = |ttl| packet(0, ttl, 0);
        assert_eq!(distance(1, "nearest").value(&bare(50)), 0.0);
        assert_eq!(distance(1, "farthest").value(&bare(50)), 255.0);
        let guess = |ttl| distance(1, "guess").value(&bare(ttl));
        assert_eq!(
            [0, 32, 33, 50, 64, 65, 128, 129, 255].map(guess),
            [32.0, 0.0, 31.0, 14.0, 0.0, 63.0, 0.0, 126.0, 0.0]
        );
        assert_eq!(distance(2, "nearest").value(&packet(0, 50, 20)), 0.0);
        assert_eq!(distance(2, "guess").value(&packet(0, 50, 24)), 0.35);
    }

    /// Every pair of neighbours in the order, and every fraction against a few, cross-multiplied in whole numbers.
    #[test]
    fn ranks_are_the_order_of_the_fractions() {
        let rank = |(a, b): (usize, usize)| shares().ranks[a * HOPS + b];
        let all: Vec<(usize, usize)> = (0..HOPS).flat_map(|a| (1..HOPS).map(move |b| (a, b))).collect();
        let mut sorted = all.clone();
        sorted.sort_by(|&(a, b), &(c, d)| (a * d).cmp(&(c * b)));
        for pair in sorted.windows(2) {
            let ((a, b), (c, d)) = (pair[0], pair[1]);
            assert_eq!(rank((a, b)).cmp(&rank((c, d))), (a * d).cmp(&(c * b)), "{a}/{b} and {c}/{d}");
        }
        assert_eq!(usize::from(rank(*sorted.last().unwrap())) + 1, shares().count);
        for (a, b) in all {
            for (c, d) in [(0, 1), (1, 255), (1, 254), (127, 254), (127, 255), (1, 1), (254, 255), (255, 1)] {
                assert_eq!(rank((a, b)).cmp(&rank((c, d))), (a * d).cmp(&(c * b)), "{a}/{b} and {c}/{d}");
            }
        }
    }
}
