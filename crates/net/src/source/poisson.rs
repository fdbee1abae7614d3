//! Packets at the times of a Poisson process.

use super::distribution::Distribution;
use super::emission::{as_payload, Emission};
use earlydrop_aqm::random::Generator;

/// Packets with exponential interarrival times. Sizes are drawn independently, after the times.
#[derive(Clone, Debug, PartialEq)]
pub struct Poisson {
    gap: Distribution,
    /// Payload, in bytes.
    pub payload: Distribution,
}

impl Poisson {
    /// A source with this mean rate, packets per second.
    pub fn new(packets_per_second: f64, payload: Distribution) -> Self {
        Poisson { gap: Distribution::Exponential { mean: 1.0 / packets_per_second }, payload }
    }

    /// The next packet.
    pub fn next(&mut self, random: &mut Generator) -> Emission {
        let after = self.gap.draw(random);
        Emission { after, payload: as_payload(self.payload.draw(random)) }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn counts_in_a_second_have_the_mean_and_variance_of_poisson() {
        let mut source = Poisson::new(20.0, Distribution::Fixed(1000.0));
        let mut random = Generator::stream(3, "test.poisson");
        let seconds = 5_000;
        let mut counts = vec![0.0; seconds];
        let mut time = 0.0;
        loop {
            time += source.next(&mut random).after;
            match counts.get_mut(time as usize) {
                Some(count) => *count += 1.0,
                None => break,
            }
        }
        let n = seconds as f64;
        let mean = counts.iter().sum::<f64>() / n;
        let variance = counts.iter().map(|x| (x - mean) * (x - mean)).sum::<f64>() / (n - 1.0);
        // Standard errors: sqrt(20 / n) of the mean, about 20 sqrt(2 / n) of the variance; 3.5 of each are allowed.
        assert!((mean - 20.0).abs() < 3.5 * (20.0 / n).sqrt(), "{mean}");
        assert!((variance - 20.0).abs() < 3.5 * 20.0 * (2.0 / n).sqrt(), "{variance}");
    }

    #[test]
    fn a_packet_has_one_byte_at_least() {
        let mut source = Poisson::new(1.0, Distribution::Exponential { mean: 0.1 });
        let mut random = Generator::stream(1, "test.sizes");
        assert!((0..100).all(|_| source.next(&mut random).payload >= 1));
    }
}
