//! An encoder: frames at even intervals, whose sizes follow a target rate.

use earlydrop_aqm::random::Generator;

/// How an encoder makes frames.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Encoding {
    /// Time from frame to frame, s.
    pub interval: f64,
    /// Time constant with which the encoded rate follows the target, s.
    pub lag: f64,
    /// Mean absolute deviation of a frame's size from the expected size, relative to the latter.
    pub variation: f64,
    /// Frames of a group, which a key frame starts; 0: no key frames.
    pub group: u32,
    /// Size of a key frame, as a multiple of other frames.
    pub key_factor: f64,
}

/// An encoder.
#[derive(Clone, Debug)]
pub struct Encoder {
    encoding: Encoding,
    /// Encoded rate, bit/s; 0 before the first frame.
    rate: f64,
    frames: u64,
}

impl Encoder {
    /// An encoder that has encoded nothing.
    pub fn new(encoding: Encoding) -> Self {
        Encoder { encoding, rate: 0.0, frames: 0 }
    }

    /// Size of the next frame at this target rate, bytes, at least 1.
    pub fn frame(&mut self, target: f64, random: &mut Generator) -> f64 {
        let Encoding { interval, lag, variation, .. } = self.encoding;
        if self.frames == 0 || lag == 0.0 {
            self.rate = target;
        } else {
            self.rate += (target - self.rate) * (1.0 - libm::exp(-interval / lag));
        }
        let size = self.rate * interval / 8.0 * self.place();
        self.frames += 1;
        let factor = if variation > 0.0 { 1.0 + laplace(variation, random).clamp(-1.0, 1.0) } else { 1.0 };
        (size * factor).max(1.0)
    }

    /// Factor of the next frame for its place in the group; the mean of a group is 1.
    fn place(&self) -> f64 {
        let Encoding { group, key_factor, .. } = self.encoding;
        if group == 0 {
            return 1.0;
        }
        let other = f64::from(group) / (f64::from(group - 1) + key_factor);
        if self.frames.is_multiple_of(group.into()) {
            other * key_factor
        } else {
            other
        }
    }
}

/// A Laplace variate with mean 0 and this mean absolute value.
fn laplace(scale: f64, random: &mut Generator) -> f64 {
    let side = 2.0 * random.uniform() - 1.0;
    -scale * side.signum() * libm::log(1.0 - side.abs())
}

#[cfg(test)]
mod tests {
    use super::*;

    const STEADY: Encoding = Encoding { interval: 0.02, lag: 0.0, variation: 0.0, group: 0, key_factor: 1.0 };

    #[test]
    fn frames_follow_the_target_with_the_lag() {
        let mut none = Generator::custom(|| panic!("drawn"));
        let mut encoder = Encoder::new(Encoding { lag: 0.1, ..STEADY });
        assert_eq!(encoder.frame(1e6, &mut none), 2500.0);
        let sizes: Vec<f64> = (0..5).map(|_| encoder.frame(2e6, &mut none)).collect();
        // After one time constant the rate has made 63 % of the step.
        assert!((sizes[4] - 2500.0 * (2.0 - libm::exp(-1.0))).abs() < 1e-9, "{sizes:?}");
        assert!(sizes.windows(2).all(|two| two[0] < two[1]));
    }

    #[test]
    fn key_frames_are_larger_and_keep_the_rate() {
        let mut none = Generator::custom(|| panic!("drawn"));
        let mut encoder = Encoder::new(Encoding { group: 5, key_factor: 6.0, ..STEADY });
        let sizes: Vec<f64> = (0..10).map(|_| encoder.frame(1e6, &mut none)).collect();
        assert_eq!(sizes[0], 6.0 * sizes[1]);
        assert_eq!(sizes[0], sizes[5]);
        assert!((sizes.iter().sum::<f64>() - 25_000.0).abs() < 1e-6);
    }

    #[test]
    fn sizes_vary_about_the_expected_one() {
        let mut random = Generator::stream(1, "test.encoder");
        let mut encoder = Encoder::new(Encoding { variation: 0.15, ..STEADY });
        let sizes: Vec<f64> = (0..20_000).map(|_| encoder.frame(1e6, &mut random) / 2500.0).collect();
        let mean = sizes.iter().sum::<f64>() / 2e4;
        let deviation = sizes.iter().map(|size| (size - 1.0).abs()).sum::<f64>() / 2e4;
        // Four standard errors: one is 0.0015 for the mean, 0.0011 for the deviation.
        assert!((mean - 1.0).abs() < 0.006 && (deviation - 0.15).abs() < 0.0045, "{mean} {deviation}");
    }
}
