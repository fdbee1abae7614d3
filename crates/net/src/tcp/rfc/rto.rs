//! The retransmission timeout of RFC 6298.

/// The first timeout, without any sample, s (RFC 6298, 2.1).
pub const INITIAL_RTO: f64 = 1.0;
/// The timeout of data after a timeout of the SYN, s (RFC 6298, 5.7).
pub const RTO_AFTER_LOST_SYN: f64 = 3.0;
/// The longest timeout, s (RFC 6298, 2.5: at least 60 s); below, Linux's (`TCP_RTO_MAX`).
const LONGEST: f64 = 60.0;
const LONGEST_IN_LINUX: f64 = 120.0;
/// Clock granularity, s: a lower bound of what RTTVAR adds (RFC 6298, 2.3, `G`).
pub const GRANULARITY: f64 = 1e-3;

/// SRTT, RTTVAR and the timeout.
#[derive(Clone, Debug)]
pub struct Rto {
    srtt: f64,
    rttvar: f64,
    value: f64,
    least: f64,
    longest: f64,
    /// Lower bound of what RTTVAR adds, s.
    granularity: f64,
    sampled: bool,
}

impl Rto {
    /// The timer before the first sample. `least` is the smallest timeout, s (RFC 6298, 2.4: 1 s); with `linux`, the
    /// least that RTTVAR adds to SRTT (`tcp_rto_min`), and timeouts may be longer.
    pub fn new(least: f64, linux: bool) -> Self {
        let (granularity, longest) = match linux {
            true => (least.max(GRANULARITY), LONGEST_IN_LINUX),
            false => (GRANULARITY, LONGEST),
        };
        Rto { srtt: 0.0, rttvar: 0.0, value: INITIAL_RTO, least, longest, granularity, sampled: false }
    }

    /// The timeout after a first sample, s.
    pub fn after(mut self, rtt: f64) -> f64 {
        self.sample(rtt);
        self.value
    }

    fn estimate(&self) -> f64 {
        // Neither is NaN, for which `f64::max` would have to test.
        let larger = |one: f64, other: f64| if other > one { other } else { one };
        let value = larger(self.srtt + larger(self.granularity, 4.0 * self.rttvar), self.least);
        if value > self.longest {
            self.longest
        } else {
            value
        }
    }

    /// An RTT sample, s (RFC 6298, 2.2 and 2.3). It ends the backoff (section 5, after 5.7).
    pub fn sample(&mut self, rtt: f64) {
        if self.sampled {
            // In this order: RTTVAR uses the SRTT before this sample.
            self.rttvar = 0.75 * self.rttvar + 0.25 * (self.srtt - rtt).abs();
            self.srtt = 0.875 * self.srtt + 0.125 * rtt;
        } else {
            self.srtt = rtt;
            self.rttvar = rtt / 2.0;
            self.sampled = true;
        }
        self.value = self.estimate();
    }

    /// The timer has expired: the timeout doubles (RFC 6298, 5.5).
    pub fn back_off(&mut self) {
        self.value = (2.0 * self.value).min(self.longest);
    }

    /// The SYN's timer had expired when the connection opened (RFC 6298, 5.7).
    pub fn syn_was_lost(&mut self) {
        self.value = RTO_AFTER_LOST_SYN.max(self.least);
    }

    /// The timeout, s.
    pub fn value(&self) -> f64 {
        self.value
    }

    /// The longest timeout that doubling reaches, s.
    pub fn longest(&self) -> f64 {
        self.longest
    }

    /// SRTT, s; `None` before the first sample.
    pub fn srtt(&self) -> Option<f64> {
        self.sampled.then_some(self.srtt)
    }

    /// RTTVAR, s.
    pub fn rttvar(&self) -> f64 {
        self.rttvar
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn close(a: f64, b: f64) -> bool {
        (a - b).abs() < 5e-7
    }

    #[test]
    fn the_estimate_by_hand() {
        // Samples of 0.1, 0.2, 0.1, 0.1 s, by section 2.
        let mut rto = Rto::new(0.0, false);
        let mut step = |sample| {
            rto.sample(sample);
            (rto.srtt().unwrap(), rto.rttvar(), rto.value())
        };
        let expected = [
            (0.1, (0.1, 0.05, 0.3)),
            (0.2, (0.1125, 0.0625, 0.3625)),
            (0.1, (0.1109375, 0.05, 0.3109375)),
            (0.1, (0.109570, 0.040234, 0.270508)),
        ];
        for (sample, (srtt, rttvar, value)) in expected {
            let got = step(sample);
            assert!(close(got.0, srtt) && close(got.1, rttvar) && close(got.2, value), "{sample}: {got:?}");
        }
    }

    #[test]
    fn it_is_one_second_before_a_sample_and_at_least() {
        let mut rto = Rto::new(1.0, false);
        assert_eq!((rto.value(), rto.srtt()), (1.0, None));
        rto.sample(0.05);
        assert_eq!(rto.value(), 1.0);
        let mut linux = Rto::new(0.2, false);
        linux.sample(0.05);
        assert_eq!(linux.value(), 0.2);
        let mut linux = Rto::new(0.2, true);
        linux.sample(0.02);
        assert!(close(linux.value(), 0.22), "{}", linux.value());
    }

    #[test]
    fn a_constant_round_trip_leaves_the_granularity() {
        let mut rto = Rto::new(0.0, false);
        for _ in 0..200 {
            rto.sample(0.5);
        }
        assert!(close(rto.value(), 0.5 + GRANULARITY), "{}", rto.value());
    }

    #[test]
    fn it_doubles_up_to_a_minute_until_a_sample() {
        let mut rto = Rto::new(1.0, false);
        let values: Vec<f64> = (0..8)
            .map(|_| {
                rto.back_off();
                rto.value()
            })
            .collect();
        assert_eq!(values, [2.0, 4.0, 8.0, 16.0, 32.0, 60.0, 60.0, 60.0]);
        rto.sample(0.1);
        assert_eq!(rto.value(), 1.0);
        rto.syn_was_lost();
        assert_eq!(rto.value(), 3.0);
    }

    #[test]
    fn linux_doubles_up_to_two_minutes() {
        let mut rto = Rto::new(0.2, true);
        (0..6).for_each(|_| rto.back_off());
        assert_eq!(rto.value(), 64.0);
        rto.back_off();
        assert_eq!((rto.value(), rto.longest()), (120.0, 120.0));
        assert_eq!(Rto::new(0.2, true).after(50.0), 120.0, "50 s + 4 * 25 s");
        assert_eq!(Rto::new(0.2, false).after(50.0), 60.0);
    }
}
