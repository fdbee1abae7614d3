//! Constant bit rate (ns-2.35 `tools/cbr_traffic.cc`).

use super::distribution::Distribution;
use super::emission::{as_payload, payloads, Emission};
use earlydrop_aqm::random::Generator;

/// Packets at a constant bit rate: the first at the start, each later one after the last one's transmission time at
/// that rate.
///
/// With `jitter` (ns-2's `random_`) every interval changes by up to half of itself either way, uniformly; the random
/// number is drawn after the packet has been sent.
#[derive(Clone, Debug, PartialEq)]
pub struct Cbr {
    /// Rate, headers included, in bit/s.
    pub rate_bps: f64,
    /// Payload, in bytes.
    pub payload: Distribution,
    /// Headers of a packet, in bytes.
    pub header: u32,
    /// Whether the intervals are random.
    pub jitter: bool,
    /// Interval since the last packet; `None` before the first.
    interval: Option<f64>,
}

impl Cbr {
    /// A source that has sent nothing.
    pub fn new(rate_bps: f64, payload: Distribution, header: u32, jitter: bool) -> Self {
        Cbr { rate_bps, payload, header, jitter, interval: None }
    }

    /// The next packet.
    #[inline]
    pub fn next(&mut self, random: &mut Generator) -> Emission {
        let after = match self.interval {
            None => 0.0,
            Some(interval) if self.jitter => interval + interval * (-0.5 + random.uniform()),
            Some(interval) => interval,
        };
        let payload = as_payload(self.payload.draw(random));
        self.interval = Some(self.time_of(payload));
        Emission { after, payload }
    }

    fn time_of(&self, payload: u32) -> f64 {
        8.0 * f64::from(payload + self.header) / self.rate_bps
    }

    /// The interval, in seconds; `None` if it is random.
    pub fn interval(&self) -> Option<f64> {
        let sizes = payloads(&self.payload)?;
        (sizes.len() == 1 && !self.jitter).then(|| self.time_of(sizes[0]))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn fixed(jitter: bool) -> Cbr {
        Cbr::new(800_000.0, Distribution::Fixed(1000.0), 0, jitter)
    }

    #[test]
    fn the_first_packet_comes_at_once_and_the_others_evenly() {
        let mut random = Generator::custom(|| panic!("drawn"));
        let mut source = fixed(false);
        let packets: Vec<Emission> = (0..3).map(|_| source.next(&mut random)).collect();
        assert_eq!(packets.iter().map(|p| p.after).collect::<Vec<_>>(), [0.0, 0.01, 0.01]);
        assert!(packets.iter().all(|p| p.payload == 1000));
        assert_eq!(source.interval(), Some(0.01));
    }

    #[test]
    fn jitter_is_half_an_interval_either_way() {
        let mut numbers = [0.0, 0.25, 1.0].into_iter();
        let mut random = Generator::custom(move || numbers.next().expect("three numbers"));
        let mut source = fixed(true);
        let after: Vec<f64> = (0..4).map(|_| source.next(&mut random).after).collect();
        assert_eq!(after, [0.0, 0.005, 0.0075, 0.015]);
        assert_eq!(source.interval(), None);
    }

    #[test]
    fn packets_of_several_sizes_keep_the_rate() {
        let mut random = Generator::stream(1, "test.cbr");
        let sizes = Distribution::Mix(vec![(40.0, 5.0), (576.0, 3.0), (1472.0, 2.0)]);
        let mut source = Cbr::new(1e6, sizes, 28, false);
        let (mut time, mut bits) = (0.0, 0.0);
        for _ in 0..1000 {
            let packet = source.next(&mut random);
            time += packet.after;
            assert!((time * 1e6 - bits).abs() < 1e-3, "{bits} bits by {time} s");
            bits += 8.0 * f64::from(packet.payload + 28);
        }
    }
}
