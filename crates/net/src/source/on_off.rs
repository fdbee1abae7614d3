//! Bursts and pauses (ns-2.35 `tools/expoo.cc`, `tools/pareto.cc`).

use super::distribution::Distribution;
use super::emission::Emission;
use earlydrop_aqm::random::Generator;

/// Packets at a constant rate during a burst, nothing during a pause.
///
/// As in ns-2, a source starts with a pause, a burst is a whole number of packets (the drawn number rounded, at least
/// one), each packet comes an interval after what precedes it, and the size of a burst is drawn before its pause.
#[derive(Clone, Debug, PartialEq)]
pub struct OnOff {
    /// Time between two packets of a burst, in seconds.
    pub interval: f64,
    /// Payload, in bytes.
    pub payload: u32,
    /// Packets of a burst.
    pub burst: Distribution,
    /// Length of a pause, in seconds.
    pub pause: Distribution,
    /// Packets left in this burst.
    left: u64,
}

impl OnOff {
    /// A source that has sent nothing.
    pub fn new(interval: f64, payload: u32, burst: Distribution, pause: Distribution) -> Self {
        OnOff { interval, payload, burst, pause, left: 0 }
    }

    /// Bursts and pauses with exponential lengths of these means, in seconds.
    pub fn exponential(interval: f64, payload: u32, on: f64, off: f64) -> Self {
        let burst = Distribution::Exponential { mean: on / interval };
        Self::new(interval, payload, burst, Distribution::Exponential { mean: off })
    }

    /// Bursts and pauses with Pareto lengths of these means, in seconds.
    pub fn pareto(interval: f64, payload: u32, on: f64, off: f64, shape: f64) -> Self {
        let of = |mean| Distribution::Pareto { mean, shape, max: f64::INFINITY };
        Self::new(interval, payload, of(on / interval), of(off))
    }

    /// Bursts and pauses of these lengths, in seconds.
    pub fn constant(interval: f64, payload: u32, on: f64, off: f64) -> Self {
        Self::new(interval, payload, Distribution::Fixed(on / interval), Distribution::Fixed(off))
    }

    /// The next packet.
    pub fn next(&mut self, random: &mut Generator) -> Emission {
        let mut after = self.interval;
        if self.left == 0 {
            self.left = ((self.burst.draw(random) + 0.5) as u64).max(1);
            after += self.pause.draw(random);
        }
        self.left -= 1;
        Emission { after, payload: self.payload }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_burst_is_drawn_before_its_pause_and_is_one_packet_at_least() {
        // -ln(exp(-2)) = 2: two packets of mean 1, then a pause of 0.5 times 1.
        let mut numbers = [(-2.0_f64).exp(), (-1.0_f64).exp(), 0.999_999, (-3.0_f64).exp()].into_iter();
        let mut random = Generator::custom(move || numbers.next().expect("four numbers"));
        let mut source = OnOff::exponential(0.1, 210, 0.1, 0.5);
        let after: Vec<f64> = (0..3).map(|_| source.next(&mut random).after).collect();
        for (got, want) in after.iter().zip([0.6, 0.1, 1.6]) {
            assert!((got - want).abs() < 1e-9, "{after:?}");
        }
    }

    #[test]
    fn a_constant_burst_has_its_whole_number_of_packets() {
        let mut random = Generator::custom(|| panic!("nothing is drawn"));
        let mut source = OnOff::constant(0.1, 210, 0.3, 0.5);
        let after: Vec<f64> = (0..7).map(|_| source.next(&mut random).after).collect();
        assert_eq!(after, [0.6, 0.1, 0.1, 0.6, 0.1, 0.1, 0.6]);
    }

    #[test]
    fn the_mean_rate_is_on_over_on_and_off() {
        // 20,000 bursts: standard errors are 0.7 % of a mean and 1 % of the ratio; false alarm beyond 4 %: 1e-4.
        for mut source in [OnOff::exponential(0.02, 200, 1.0, 1.35), OnOff::pareto(0.02, 200, 1.0, 1.35, 4.0)] {
            let mut random = Generator::stream(2, "test.on_off");
            let (mut time, mut packets, mut bursts) = (0.0, 0.0, 0);
            while bursts < 20_000 {
                let packet = source.next(&mut random);
                bursts += usize::from(packet.after > source.interval);
                time += packet.after;
                packets += 1.0;
            }
            let share = packets * 0.02 / time;
            assert!((share / (1.0 / 2.35) - 1.0).abs() < 0.04, "{share}");
        }
    }
}
