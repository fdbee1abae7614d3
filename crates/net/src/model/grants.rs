//! DOCSIS's upstream: a modem asks for what it wants to send, and sends in grants, one in each MAP interval at most.

use super::process::LAST;
use earlydrop_aqm::random::Generator;

/// Two times that are equal on a clock of nanoseconds, s.
const EQUAL: f64 = 2e-9;
/// Most grants of a packet whose times are drawn.
const DRAWN: f64 = 1e4;

/// How an upstream channel is granted.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Grants {
    /// Time between two MAPs, s.
    pub map: f64,
    /// Length of an OFDMA frame, s.
    pub frame: f64,
    /// From the making of a MAP to the start of what it grants, s.
    pub lead: f64,
    /// Propagation delay from the modem to the CMTS, s.
    pub propagation: f64,
    /// Rate of the channel during a grant, bit/s.
    pub channel_bps: f64,
    /// Bytes before each frame, which the line's rate does not count.
    pub header: u32,
    /// Bytes before each segment, the part of a grant that is sent at once.
    pub segment: u32,
}

impl Grants {
    /// From the sending of a request to its arrival at the scheduler, s: propagation and three frames, for burst
    /// preparation, the burst, and decoding.
    pub fn request(&self) -> f64 {
        self.propagation + 3.0 * self.frame
    }

    /// The largest rate of a line whose grants end within their interval, in frames of 64 B too, bit/s.
    pub fn most(&self) -> f64 {
        let of_frames = 1.0 + f64::from(self.header) / 64.0;
        ((self.channel_bps - 8.0 * f64::from(self.segment) / self.map) / of_frames).max(0.0)
    }
}

/// The upstream of one modem.
pub(crate) struct Upstream {
    of: Grants,
    random: Generator,
    /// The MAP interval of the current grant, from where on its channel is free, and bits of the line's rate left in it.
    interval: f64,
    at: f64,
    left: f64,
    /// End of the last transmission.
    end: f64,
}

impl Upstream {
    pub fn new(of: Grants, random: Generator) -> Upstream {
        Upstream { of, random, interval: -1.0, at: f64::NEG_INFINITY, left: 0.0, end: f64::NEG_INFINITY }
    }

    /// Sends a packet of `bytes` that is ready at `ready`, on a line of `rate_bps`: end of the transmission, and its
    /// arrival at the other end of the cable.
    pub fn send(&mut self, rate_bps: f64, ready: f64, bytes: u32) -> (f64, f64) {
        let Grants { map, frame, channel_bps, header, .. } = self.of;
        if ready.max(self.end) > LAST * map {
            return (f64::INFINITY, f64::INFINITY);
        }
        if ready > self.end + EQUAL {
            self.ask(rate_bps, ready);
        }
        let (all, mut bits) = (8.0 * f64::from(bytes), 8.0 * f64::from(bytes));
        self.at = self.at.max(ready);
        // The bits on the channel for a bit of the line.
        let more = (all + 8.0 * f64::from(header)) / all;
        // What is left below a thousandth of a bit is a rounding error.
        while bits > self.left + 1e-3 {
            // Of a packet that takes more grants than [`DRAWN`], the others pass at once.
            let each = rate_bps * map;
            let passed = (((bits - self.left) / each).floor() - DRAWN).max(0.0);
            if self.interval + passed > LAST {
                self.end = f64::INFINITY;
                return (f64::INFINITY, f64::INFINITY);
            }
            self.at += self.left * more / channel_bps;
            bits = (bits - self.left - passed * each).max(0.0);
            self.grant(rate_bps, self.interval + 1.0 + passed);
        }
        self.at += bits * more / channel_bps;
        self.left -= bits;
        self.end = self.at;
        // Received by whole frames, and decoded in one more.
        let frames = ((self.at - self.interval * map) / frame - 1e-6).ceil();
        (self.at, self.interval * map + (frames + 1.0) * frame + self.of.propagation)
    }

    /// A packet comes to an idle modem: it asks at a random time of a MAP interval, and has a grant in the first
    /// interval whose MAP is made after the request has come.
    fn ask(&mut self, rate_bps: f64, ready: f64) {
        let map = self.of.map;
        let now = (ready / map).floor();
        let chance = (now + self.random.uniform()) * map;
        let asked = if chance >= ready { chance } else { (now + 1.0 + self.random.uniform()) * map };
        let first = ((asked + self.of.request() + self.of.lead) / map).ceil();
        self.grant(rate_bps, first.max(self.interval + 1.0));
    }

    /// A grant of what the line's rate allows in a MAP interval, at a random time within it.
    fn grant(&mut self, rate_bps: f64, interval: f64) {
        let Grants { map, channel_bps, header, segment, .. } = self.of;
        self.left = rate_bps * map;
        // Headers of the smallest frames at most.
        let headers = 8.0 * f64::from(segment) + self.left * f64::from(header) / 64.0;
        let length = ((self.left + headers) / channel_bps).min(map);
        self.interval = interval;
        self.at = interval * map + self.random.uniform() * (map - length) + 8.0 * f64::from(segment) / channel_bps;
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const OF: Grants = Grants {
        map: 0.002,
        frame: 135e-6,
        lead: 0.0011,
        propagation: 40e-6,
        channel_bps: 800e6,
        header: 10,
        segment: 8,
    };

    fn upstream() -> Upstream {
        Upstream::new(OF, Generator::stream(1, "grants"))
    }

    #[test]
    fn a_full_line_has_its_rate() {
        let mut upstream = upstream();
        let mut ready = 0.0;
        for _ in 0..100_000 {
            ready = upstream.send(20e6, ready, 1500).0;
        }
        let rate = 8.0 * 1500.0 * 100_000.0 / ready;
        assert!((rate / 20e6 - 1.0).abs() < 1e-3, "{rate}");
    }

    #[test]
    fn a_lone_packet_waits_for_request_map_and_grant() {
        let mut upstream = upstream();
        let least = OF.request() + OF.lead;
        let waits: Vec<f64> =
            (0..20_000).map(|i| f64::from(i) * 0.0501).map(|t| upstream.send(20e6, t, 100).0 - t).collect();
        let mean = waits.iter().sum::<f64>() / waits.len() as f64;
        assert!(waits.iter().all(|wait| (least..least + 4.0 * OF.map).contains(wait)));
        // In MAP intervals: 7/12 until the request (1/6 if its time is yet to come, 5/12 if it is in the next interval), 1/2
        // until a MAP is made, 1/2 within the grant's.
        let (first, until, within) = (OF.map * 7.0 / 12.0, OF.map / 2.0, OF.map / 2.0);
        assert!((mean - (least + first + until + within)).abs() < 5e-5, "{mean}");
    }

    #[test]
    fn grants_do_not_pass_their_interval_and_packets_keep_their_order() {
        let mut upstream = upstream();
        let (mut ready, mut last) = (0.0_f64, 0.0);
        for i in 0..20_000_u32 {
            if i % 37 == 0 {
                ready += 0.0123;
            }
            let (end, arrival) = upstream.send(700e6, ready, 64 + i * 7 % 1400);
            assert!(end >= ready && arrival >= last, "{i}");
            let within = end / OF.map - upstream.interval;
            assert!((0.0..1.0 + 1e-9).contains(&within), "{i}: {within}");
            // A frame to decode in, after the end of the frame in which the packet ended.
            let behind = arrival - OF.propagation - end;
            assert!((OF.frame - 1e-9..2.0 * OF.frame + 1e-9).contains(&behind), "{i}: {behind}");
            (ready, last) = (end, arrival);
        }
    }

    #[test]
    fn no_time_is_too_late() {
        assert_eq!(upstream().send(1e6, 1e300, 100).0, f64::INFINITY);
    }

    #[test]
    fn a_line_may_be_as_slow_as_it_likes() {
        // 8,000 bits, a tenth of a bit in each grant.
        let end = upstream().send(50.0, 0.0, 1000).0;
        assert!((end - 160.0).abs() < 0.1, "{end}");
        let mut slowest = upstream();
        assert_eq!(slowest.send(2e-11, 0.0, 1000).0, f64::INFINITY);
        assert_eq!(slowest.send(2e-11, 1.0, 1000).0, f64::INFINITY, "those behind it, too");
    }
}
