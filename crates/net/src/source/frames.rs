//! Video: frames at a constant rate, each sent in as many packets as it needs.

use super::distribution::Distribution;
use super::emission::Emission;
use earlydrop_aqm::random::Generator;

/// Frames of a video. The packets of a frame leave together; the last one has the remaining bytes.
///
/// Frame sizes come from one distribution, times a factor for the frame's position in the group of pictures (large for
/// intra-coded frames, small for predicted ones).
#[derive(Clone, Debug, PartialEq)]
pub struct Frames {
    /// Time between two frames, in seconds.
    pub interval: f64,
    /// Size of a frame, in bytes.
    pub size: Distribution,
    /// Factors of the frames of a group, repeated. Never empty.
    pub group: Vec<f64>,
    /// Largest payload of a packet, in bytes.
    pub payload: u32,
    /// Bytes of the current frame not sent yet.
    left: u64,
    /// Frames started.
    frames: u64,
}

impl Frames {
    /// A source that has sent nothing.
    pub fn new(interval: f64, size: Distribution, group: Vec<f64>, payload: u32) -> Self {
        Frames { interval, size, group, payload, left: 0, frames: 0 }
    }

    /// The next packet.
    pub fn next(&mut self, random: &mut Generator) -> Emission {
        let mut after = 0.0;
        if self.left == 0 {
            if self.frames > 0 {
                after = self.interval;
            }
            let factor = self.group[(self.frames % self.group.len() as u64) as usize];
            self.left = whole(self.size.draw(random) * factor);
            self.frames += 1;
        }
        let payload = self.left.min(u64::from(self.payload)) as u32;
        self.left -= u64::from(payload);
        Emission { after, payload }
    }

    /// Possible payloads, in bytes, if there are at most 16.
    pub fn payloads(&self) -> Option<Vec<u32>> {
        const FEW: usize = 16;
        let sizes = self.size.values()?;
        let mut payloads = vec![self.payload];
        for factor in &self.group {
            for size in &sizes {
                let rest = (whole(size * factor) % u64::from(self.payload)) as u32;
                if rest > 0 && !payloads.contains(&rest) {
                    payloads.push(rest);
                }
            }
        }
        (payloads.len() <= FEW).then_some(payloads)
    }
}

/// A frame size in whole bytes, at least one.
fn whole(bytes: f64) -> u64 {
    ((bytes + 0.5) as u64).max(1)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_frame_is_split_and_its_packets_leave_together() {
        let mut random = Generator::custom(|| panic!("drawn"));
        let mut source = Frames::new(0.04, Distribution::Fixed(3000.0), vec![1.0, 0.5], 1316);
        let packets: Vec<(f64, u32)> = (0..6)
            .map(|_| {
                let packet = source.next(&mut random);
                (packet.after, packet.payload)
            })
            .collect();
        assert_eq!(packets, [(0.0, 1316), (0.0, 1316), (0.0, 368), (0.04, 1316), (0.0, 184), (0.04, 1316)]);
        assert_eq!(source.payloads(), Some(vec![1316, 368, 184]));
    }

    #[test]
    fn random_frames_have_many_sizes() {
        let size = Distribution::Lognormal { median: 5000.0, sigma: 0.4, max: f64::INFINITY };
        assert_eq!(Frames::new(0.04, size, vec![1.0], 1316).payloads(), None);
    }
}
