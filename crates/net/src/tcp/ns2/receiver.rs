//! The receiver: acknowledges segments with the number of the highest one received in order (ns-2.35 `tcp-sink.cc`).
//!
//! A plain one answers every segment immediately ([`Receiver::receive`]); SACK, delayed ACKs and ECN are in
//! [`Receiver::take`].

use super::ack::Block;

/// State of receivers with SACK or delayed ACKs.
#[derive(Clone, Debug)]
pub(super) struct Extra {
    pub(super) sack: bool,
    /// Longest delay of an ACK, s (`interval_`).
    pub(super) delay: Option<f64>,
    /// Highest segment received; 0 at first.
    pub(super) highest: i32,
    /// Recently sent SACK blocks, the newest first.
    pub(super) recent: Vec<Block>,
    /// The segment whose ACK is delayed, and its bits.
    pub(super) held: Option<(i32, u8)>,
}

impl Extra {
    pub(super) fn new(sack: bool, delay: Option<f64>) -> Self {
        Extra { sack, delay, highest: 0, recent: Vec::new(), held: None }
    }
}

/// Bits for segments farther apart than a word has bits; the number of words is a power of two.
#[derive(Clone, Debug)]
struct Far(Vec<u64>);

/// The segments received.
#[derive(Clone, Debug, Default)]
pub struct Receiver {
    next: i32,
    pending: u32,
    /// Segments received above `next`, one bit each: at `seq` modulo 64, or with `far` there, modulo its length.
    near: u64,
    far: Option<Box<Far>>,
    pub(super) extra: Option<Box<Extra>>,
    /// A mark has arrived, and no CWR since (`ecn_unacked_`).
    pub(super) unanswered_mark: bool,
}

impl Receiver {
    /// A receiver that has received nothing and acknowledges every segment immediately.
    pub fn new() -> Self {
        Self::default()
    }

    /// A receiver with SACK (`TCPSink/Sack1`), with ACKs delayed by `delay` seconds (`TCPSink/DelAck`), or both.
    pub fn with(sack: bool, delay: Option<f64>) -> Self {
        let extra = (sack || delay.is_some()).then(|| Box::new(Extra::new(sack, delay)));
        Receiver { extra, ..Self::default() }
    }

    /// From now on segments pass [`Receiver::take`], so that observers see them; the ACKs stay the same.
    pub fn watch(&mut self) {
        self.extra.get_or_insert_with(|| Box::new(Extra::new(false, None)));
    }

    /// Whether [`Receiver::receive`] suffices: immediate ACKs, no SACK, no observer.
    #[inline(always)]
    pub fn is_plain(&self) -> bool {
        self.extra.is_none()
    }

    /// The next segment expected.
    #[inline(always)]
    pub fn next(&self) -> i32 {
        self.next
    }

    /// Receives segment `seq`; returns the number of the ACK. `i32` as in segments: -1 before the SYN.
    #[inline(always)]
    pub fn receive(&mut self, seq: i32) -> i32 {
        if seq == self.next && self.pending == 0 {
            self.next += 1;
        } else {
            self.receive_out_of_order(seq);
        }
        self.next - 1
    }

    #[inline(never)]
    fn receive_out_of_order(&mut self, seq: i32) {
        if seq < self.next {
            return;
        }
        if seq == self.next {
            self.next += 1;
            while self.pending > 0 && self.take_bit(self.next) {
                self.pending -= 1;
                self.next += 1;
            }
            return;
        }
        self.grow_map((seq - self.next) as usize);
        let (word, bit) = self.place(seq);
        if *word & bit == 0 {
            *word |= bit;
            self.pending += 1;
        }
    }

    /// Whether segment `seq`, not above the highest received, has arrived.
    pub(super) fn has(&self, seq: i32) -> bool {
        seq < self.next
            || (self.pending > 0 && seq > self.next && {
                let (word, bit) = match &self.far {
                    None => (self.near, 1 << (seq % 64)),
                    Some(far) => (far.0[far.word(seq)], 1 << (seq % 64)),
                };
                word & bit != 0
            })
    }

    fn place(&mut self, seq: i32) -> (&mut u64, u64) {
        let word = match &mut self.far {
            None => &mut self.near,
            Some(far) => {
                let word = far.word(seq);
                &mut far.0[word]
            }
        };
        (word, 1 << (seq % 64))
    }

    /// Whether `seq` has arrived; clears its bit.
    fn take_bit(&mut self, seq: i32) -> bool {
        let (word, bit) = self.place(seq);
        let there = *word & bit != 0;
        *word &= !bit;
        there
    }

    /// Grows the bit map to hold segments up to `distance` above `next`.
    fn grow_map(&mut self, distance: usize) {
        let bits = self.far.as_ref().map_or(64, |far| far.0.len() * 64);
        if distance < bits {
            return;
        }
        let next = self.next;
        let there: Vec<i32> = (0..bits as i32).map(|offset| next + offset).filter(|&seq| self.take_bit(seq)).collect();
        self.far = Some(Box::new(Far(vec![0; (distance / 64 + 1).next_power_of_two()])));
        for seq in there {
            let (word, bit) = self.place(seq);
            *word |= bit;
        }
    }
}

impl Far {
    fn word(&self, seq: i32) -> usize {
        (seq as usize / 64) & (self.0.len() - 1)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn acknowledges_the_highest_in_order() {
        let mut receiver = Receiver::new();
        let acks: Vec<i32> = [0, 1, 3, 4, 3, 2, 2, 6, 5].iter().map(|&seq| receiver.receive(seq)).collect();
        assert_eq!(acks, [0, 1, 1, 1, 1, 4, 4, 4, 6]);
    }

    #[test]
    fn agrees_with_a_set_on_shuffled_segments() {
        let mut state = 12345_u64;
        let mut draw = move |n: u64| {
            state = state.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
            (state >> 33) % n
        };
        let mut receiver = Receiver::new();
        let mut seen = std::collections::BTreeSet::new();
        let mut next = 0;
        for _ in 0..20_000 {
            let seq = next + draw(300) as i32 - 20;
            if seq < 0 {
                continue;
            }
            let ack = receiver.receive(seq);
            seen.insert(seq);
            while seen.contains(&next) {
                next += 1;
            }
            assert_eq!(ack, next - 1);
        }
        assert!(next > 1000);
    }
}
