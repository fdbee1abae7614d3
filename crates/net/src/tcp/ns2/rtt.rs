//! The RTT estimate and the retransmission timer of ns-2 (ns-2.35 `tcp.cc`: `rtt_update`, `rtt_timeout`,
//! `rtt_backoff`).

use super::core::{Core, TICK};
use crate::tcp::output::{Output, Timer};

/// Default of the smallest retransmission timeout before backoff, ms (`minrto_`).
pub const MIN_RTO_MS: u16 = 200;
/// [`MIN_RTO_MS`] in seconds.
pub const MIN_RTO: f64 = MIN_RTO_MS as f64 / 1000.0;
/// Largest retransmission timeout, s (`maxrto_`).
const MAX_RTO: f64 = 60.0;
/// Retransmission timeout before the first sample, s (`rtxcur_init_`).
pub const INITIAL_RTO: f64 = 3.0;

/// The upper 33 bits of a tick, and the rest: products of either with whole numbers below 2^20 are exact.
const TICK_HIGH: f64 = f64::from_bits(TICK.to_bits() & !0xf_ffff);
const TICK_LOW: f64 = TICK - TICK_HIGH;

/// `time % TICK`, exactly, without the long division of `fmod`, which computes the quotient bit by bit.
///
/// It is exact because all three terms are multiples of 2^-59 and both differences are below 2^-6. The quotient may be
/// one off; the last step corrects that.
#[inline]
fn into_tick(time: f64) -> f64 {
    let ticks = f64::from((time / TICK) as i32);
    if !(time >= TICK && ticks < 1_048_576.0) {
        return time % TICK;
    }
    let rest = (time - ticks * TICK_HIGH) - ticks * TICK_LOW;
    if rest < 0.0 {
        rest + TICK
    } else if rest >= TICK {
        rest - TICK
    } else {
        rest
    }
}

impl Core {
    /// (Re)arms the retransmission timer.
    #[inline(always)]
    pub fn arm_timer(&mut self, out: &mut Output) {
        out.timer = Some(Timer::After(self.timeout()));
        self.timer_pending = true;
    }

    /// Length of the timer, s.
    #[inline(always)]
    fn timeout(&self) -> f64 {
        (self.rto * f64::from(self.backoff)).clamp(2.0 * TICK, MAX_RTO)
    }

    /// `rto`, s, but at least the minimum, which applies before the backoff (`rfc2988_`).
    fn at_least(&self, rto: f64) -> f64 {
        rto.max(f64::from(self.min_rto_ms) / 1000.0)
    }

    /// Sets the smallest retransmission timeout before backoff, ms (`minrto_`); not below [`MIN_RTO`].
    pub fn set_min_rto(&mut self, ms: u16) {
        self.min_rto_ms = ms;
        self.rto = self.at_least(self.rto);
    }

    /// Stops timing the current segment.
    pub fn stop_timing(&mut self) {
        self.timing = false;
    }

    /// Takes an RTT sample of `rtt` seconds, in ticks of the sender's own clock (`rtt_update`).
    pub(super) fn sample_rtt(&mut self, now: f64, rtt: f64, out: &mut Output) {
        let sent = now - rtt + self.clock_phase;
        let ticks = (((rtt + into_tick(sent)) / TICK) as i32).max(1);
        if self.srtt == 0 {
            self.set_srtt(ticks << 3, out);
            self.set_rttvar(ticks << 1, out);
        } else {
            let error = ticks - (self.srtt >> 3);
            let srtt = self.srtt + error;
            self.set_srtt(srtt, out);
            if srtt <= 0 {
                self.set_srtt(1, out);
            }
            let rttvar = self.rttvar + error.abs() - (self.rttvar >> 2);
            self.set_rttvar(rttvar, out);
            if rttvar <= 0 {
                self.set_rttvar(1, out);
            }
        }
        // rttvar has two fraction bits and counts four times: rto is srtt + 4 rttvar in whole ticks.
        self.rto = self.at_least(f64::from(((self.rttvar << 3) + self.srtt) >> 3) * TICK);
    }

    /// Doubles the timeout (`rtt_backoff`).
    pub(super) fn back_off(&mut self, out: &mut Output) {
        if self.backoff < 64 || self.timeout() < MAX_RTO {
            self.set_backoff(self.backoff << 1, out);
        }
        if self.backoff > 8 {
            // The estimate is discarded; rto itself stays until the next sample.
            self.set_rttvar(self.rttvar + (self.srtt >> 3), out);
            self.set_srtt(0, out);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn rtt_estimate_follows_the_integer_rules() {
        // From a run of transport: samples 0.1, 0.2, 0.1, 0.1 s at phase 0 give these (srtt, rttvar, rto) in ticks.
        let mut core = Core::new(20, 0.0);
        let mut out = Output::default();
        for (rtt, want) in [(0.1, (80, 20, 30)), (0.2, (90, 25, 36)), (0.1, (89, 20, 31)), (0.1, (88, 16, 27))] {
            // The segment was sent at time zero, so that the clock's phase adds nothing.
            core.sample_rtt(rtt, rtt + 1e-12, &mut out);
            assert_eq!((core.srtt, core.rttvar, (core.rto / TICK).round() as i32), want);
        }
    }

    #[test]
    fn time_into_a_tick_is_the_remainder_of_the_division() {
        let mut random = earlydrop_aqm::random::Generator::stream(1, "times");
        let mut check = |time: f64| assert_eq!(into_tick(time).to_bits(), (time % TICK).to_bits(), "{time:e}");
        for whole in 0..200_000 {
            let near = f64::from(whole) * TICK;
            [near.next_down().max(0.0), near, near.next_up()].into_iter().for_each(&mut check);
        }
        for _ in 0..200_000 {
            let part = random.uniform();
            [part, part * 0.02, part * 200.0, part * 10_400.0, part * 1e6].into_iter().for_each(&mut check);
        }
        [0.0, 5e-324, 1e-300, 1e12, f64::MAX].into_iter().for_each(check);
    }

    #[test]
    fn the_shortest_timer_holds_before_the_backoff() {
        let mut core = Core::new(20, 0.0);
        let mut out = Output::default();
        core.sample_rtt(0.05, 0.05 + 1e-12, &mut out);
        assert_eq!(core.timeout(), 0.2);
        core.set_min_rto(1000);
        assert_eq!(core.timeout(), 1.0);
        core.back_off(&mut out);
        assert_eq!(core.timeout(), 2.0);
        // A longer rto stays.
        core.sample_rtt(3.0, 3.0 + 1e-12, &mut out);
        let estimate = core.rto;
        assert!(estimate > 1.0);
        assert_eq!(core.timeout(), 2.0 * estimate);
    }

    #[test]
    fn timeout_doubles_up_to_a_minute() {
        let mut core = Core::new(20, 0.0);
        let mut out = Output::default();
        let mut lengths = vec![];
        for _ in 0..8 {
            core.back_off(&mut out);
            lengths.push(core.timeout());
        }
        assert_eq!(lengths[..5], [6.0, 12.0, 24.0, 48.0, 60.0]);
        assert_eq!(lengths[7], 60.0);
    }
}
