//! Loss on the wire: which packets of those that are sent never arrive.

use earlydrop_aqm::random::Generator;

/// Pattern of losses.
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum LossPattern {
    /// Each packet independently with this probability.
    Random(f64),
    /// Every n-th packet.
    Every(u64),
    /// In bursts.
    Bursts(Bursts),
}

/// Losses in bursts, by the model of Gilbert (Bell System Technical Journal 39, 1960) as Elliott (42, 1963) has it: a
/// Markov chain of two states steps once for each packet, which is lost with a probability of the state.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Bursts {
    /// Mean fraction of packets that are lost.
    pub probability: f64,
    /// Mean stay in the bad state, packets. With the default probabilities of loss this is the mean number of packets
    /// lost one after the other.
    pub burst: f64,
    /// Probability of loss in the bad state (netem's 1-h); Gilbert's first model has 1.
    pub bad: f64,
    /// Probability of loss in the good state (netem's 1-k); Gilbert's models have 0.
    pub good: f64,
}

impl Bursts {
    /// The fraction of packets in the bad state; it lies from 0 to below 1 if `good` <= `probability` < `bad`.
    pub fn in_bad(&self) -> f64 {
        (self.probability - self.good) / (self.bad - self.good)
    }

    /// The probability that a packet in the bad state is the last one (r in netem).
    pub fn leaves(&self) -> f64 {
        1.0 / self.burst
    }

    /// The probability that a packet in the good state is the last one (p in netem): as many stays begin as end.
    pub fn enters(&self) -> f64 {
        let bad = self.in_bad();
        self.leaves() * bad / (1.0 - bad)
    }
}

/// The losses of a link.
pub(crate) struct Losses {
    pattern: LossPattern,
    random: Generator,
    /// Packets so far.
    count: u64,
    /// Whether the packet before was in the bad state.
    was_bad: bool,
}

impl Losses {
    pub(crate) fn new(pattern: LossPattern, random: Generator) -> Losses {
        Losses { pattern, random, count: 0, was_bad: false }
    }

    /// Whether the next packet is lost.
    pub(crate) fn next(&mut self) -> bool {
        self.count += 1;
        match self.pattern {
            LossPattern::Random(probability) => self.random.uniform() < probability,
            LossPattern::Every(every) => self.count.is_multiple_of(every),
            LossPattern::Bursts(bursts) => {
                // The chain begins in its stationary distribution. A packet has two draws in either state, so that the
                // states are the same whatever the probabilities of loss.
                let turns = if self.count == 1 {
                    bursts.in_bad()
                } else if self.was_bad {
                    bursts.leaves()
                } else {
                    bursts.enters()
                };
                self.was_bad ^= self.random.uniform() < turns;
                self.random.uniform() < if self.was_bad { bursts.bad } else { bursts.good }
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn lost(bursts: Bursts, seed: u64, packets: usize) -> Vec<bool> {
        let mut losses = Losses::new(LossPattern::Bursts(bursts), Generator::stream(seed, "loss"));
        (0..packets).map(|_| losses.next()).collect()
    }

    const BURSTS: Bursts = Bursts { probability: 0.05, burst: 4.0, bad: 1.0, good: 0.0 };

    #[test]
    fn the_parameters_of_the_chain_follow_from_mean_and_burst() {
        assert_eq!((BURSTS.in_bad(), BURSTS.leaves()), (0.05, 0.25));
        assert!((BURSTS.enters() - 0.25 * 0.05 / 0.95).abs() < 1e-15);
        let elliott = Bursts { probability: 0.1, burst: 10.0, bad: 0.5, good: 0.01 };
        let (p, r) = (elliott.enters(), elliott.leaves());
        assert!(((p * elliott.bad + r * elliott.good) / (p + r) - 0.1).abs() < 1e-15);
    }

    /// The ends of the parameters: no losses, all lost alternately, and a stay of one packet without memory.
    #[test]
    fn ends_are_exact() {
        assert!(lost(Bursts { probability: 0.0, ..BURSTS }, 1, 1000).iter().all(|lost| !lost));
        let every_second = lost(Bursts { probability: 0.5, burst: 1.0, ..BURSTS }, 1, 100);
        assert!(every_second.windows(2).all(|two| two[0] != two[1]), "{every_second:?}");
        let rare = lost(Bursts { probability: 0.2, burst: 1.0, ..BURSTS }, 1, 1000);
        assert!(rare.contains(&true) && !rare.windows(2).any(|two| two[0] && two[1]));
    }

    #[test]
    fn the_states_do_not_depend_on_what_is_lost_in_them() {
        let whole = lost(BURSTS, 3, 10_000);
        let half = lost(Bursts { probability: 0.025, bad: 0.5, ..BURSTS }, 3, 10_000);
        assert!(half.iter().zip(&whole).all(|(half, whole)| *whole || !half));
    }
}
