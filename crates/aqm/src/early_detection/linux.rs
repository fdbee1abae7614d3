//! RED as Linux runs it, `include/net/red.h` with `net/sched/sch_red.c`, set up by iproute2's `tc`. The order is that
//! of `red_enqueue`:
//!
//! ```text
//! red_calc_qavg: decayed for the idle time or with     Average::observe
//!     the backlog as a sample
//! red_action                                           Spacing::decide
//!     below qth_min: qcount = -1
//!     between: if ++qcount
//!             if red_mark_probability: qcount = 0, draw qR, hit
//!         else draw qR
//!     above qth_max: qcount = -1, hit
//! qdisc_enqueue: the child has room or not             Spacing::on_overflow
//! ```
//!
//! qth_min, qth_max and max_P are the curve's. The curve is evaluated in floating point; the kernel compares the
//! integer (qavg - qth_min) qcount with an integer from [0, (qth_max - qth_min)/max_P), see
//! `docs/algorithms/dialects.md`. All lengths are bytes.

use super::common::{hit, past_the_end, rejected_behind};
use super::given::{Given, MeasuredIn, OverMax};
pub use super::tc::{Tc, TC};
use crate::params::ParamError;
use crate::parts::curve::Curve;
use crate::policy::{Context, Reason, Verdict};
use crate::random::Generator;
use crate::{Packet, Time};

/// The fixed-point average: 2^-Wlog as weight, with the decay during idle time read from a table of shifts.
///
/// tc makes the table for idle times in ticks of 64 ns. The kernel looks idle times up in microseconds since it keeps
/// them as `ktime`, so the average decays 15.625 times slower than tc meant. Here too. How tc rounds the time of a
/// packet depends on its version ([`Tc`]).
#[derive(Clone, Debug)]
pub struct Average {
    /// `qavg`: the averaged queue in units of 2^-Wlog bytes.
    qavg: i64,
    /// `Wlog`: the weight of a new sample is 2^-Wlog.
    wlog: u32,
    /// `Scell_log`: a cell of the table is 2^Scell_log microseconds of idle time.
    scell_log: u32,
    /// `Stab`: for each cell, by how many bits the average is shifted.
    stab: [u8; 256],
}

impl Average {
    /// The kernel looks idle times up in this unit, s.
    const MICROSECOND: f64 = 1e-6;

    /// An empty average for packets of `mean_packet` bytes on a link of `rate_bps` (`tc_red_eval_idle_damping`).
    pub fn new(wlog: u32, mean_packet: f64, rate_bps: f64, tc: Tc) -> Self {
        let ticks = tc.transmission(mean_packet, rate_bps).max(1.0);
        let per_tick = -libm::log1p(-libm::exp2(-f64::from(wlog))) / ticks;
        let longest = 31.0 / per_tick;
        let mut scell_log = 0;
        while scell_log < 32 && longest / f64::from(1_u32 << scell_log.min(31)) >= 512.0 {
            scell_log += 1;
        }
        let mut stab = [0_u8; 256];
        for (i, shift) in stab.iter_mut().enumerate().skip(1) {
            let value = (i as f64 * libm::exp2(f64::from(scell_log)) * per_tick) as u64;
            *shift = value.min(31) as u8;
        }
        stab[255] = 31;
        Average { qavg: 0, wlog, scell_log, stab }
    }

    /// The Wlog whose weight is nearest to `w_q`.
    pub fn wlog_near(w_q: f64) -> u32 {
        libm::round(-libm::log2(w_q)).clamp(1.0, 31.0) as u32
    }

    /// tc's choice of the weight (`tc_red_eval_ewma`): the smallest Wlog >= 1 that lets `burst` packets of
    /// `mean_packet` bytes pass before the average is at `min_bytes`. `None` if no weight does.
    pub fn wlog_for_burst(min_bytes: f64, burst: f64, mean_packet: f64) -> Option<u32> {
        let excess = burst + 1.0 - min_bytes / mean_packet;
        if excess < 1.0 {
            return None;
        }
        (1..32).find(|&n| {
            let w = libm::exp2(-f64::from(n));
            excess <= (1.0 - libm::pow(1.0 - w, burst)) / w
        })
    }

    /// `red_calc_qavg`: an arrival at `now` finds `backlog` bytes waiting. Returns the average after it, in whole
    /// bytes, as it is compared.
    #[inline]
    pub fn observe(&mut self, backlog: f64, idle_since: Option<Time>, now: Time) -> f64 {
        match idle_since {
            None => self.update(backlog as i64),
            Some(since) => self.decay(now - since),
        }
        self.whole_bytes() as f64
    }

    /// `red_calc_qavg_no_idle_time`: an arrival that found `backlog` bytes on a busy link.
    #[inline]
    pub fn update(&mut self, backlog: i64) {
        self.qavg += backlog - (self.qavg >> self.wlog);
    }

    /// `red_calc_qavg_from_idle_time`: an arrival after `idle` seconds of idle link. Decay only.
    pub fn decay(&mut self, idle: f64) {
        let us_idle = (idle / Self::MICROSECOND).min(255.0 * libm::exp2(f64::from(self.scell_log))) as u64;
        let shift = self.stab[((us_idle >> self.scell_log) as usize).min(255)];
        if shift > 0 {
            self.qavg >>= shift;
        } else {
            let half = self.qavg >> 1;
            let step = ((i128::from(self.qavg) * i128::from(us_idle)) >> self.scell_log) as i64;
            self.qavg = if step < half { self.qavg - step } else { half };
        }
    }

    /// Takes over the value of `before`, which has another weight: `qavg` has `wlog` bits after the point.
    pub(super) fn resume(&mut self, before: &Average) {
        self.qavg = (i128::from(before.qavg) << self.wlog >> before.wlog) as i64;
    }

    /// The average, bytes.
    pub fn bytes(&self) -> f64 {
        self.qavg as f64 * libm::exp2(-f64::from(self.wlog))
    }

    /// The integer part of the average, bytes, as the kernel compares it.
    #[inline]
    pub fn whole_bytes(&self) -> i64 {
        self.qavg >> self.wlog
    }

    /// The average as an arrival at `now` would compare it on a link idle since `since`, bytes.
    pub fn decayed(&self, since: Time, now: Time) -> f64 {
        let mut then = self.clone();
        then.decay(now - since);
        then.whole_bytes() as f64
    }
}

/// The weight that tc chooses: tc's default burst, which follows from the thresholds and the mean packet (all in
/// bytes), can pass.
///
/// # Errors
/// If no weight lets the burst pass.
pub(super) fn automatic_weight(min_th: f64, max_th: f64, mean_packet: f64) -> Result<f64, ParamError> {
    let burst = (2.0 * min_th + max_th) / (3.0 * mean_packet);
    let wlog = Average::wlog_for_burst(min_th, burst, mean_packet).ok_or_else(|| {
        ParamError::new("w_q", "auto", "a number: no weight lets tc's default burst pass with these thresholds")
    })?;
    Ok(libm::exp2(-f64::from(wlog)))
}

/// What a user can choose in this dialect beside the curve.
#[derive(Clone, Copy, Debug)]
pub struct Rules {
    /// What becomes of an arrival above qth_max: it is dropped with `harddrop`, else marked.
    forced: Verdict,
    /// Whether each packet is drawn independently, without spacing; not in Linux.
    pub(super) independent: bool,
    /// Which version of tc makes the table for the idle decay.
    pub(super) tc: Tc,
}

impl Rules {
    /// The rules that `given` describes.
    ///
    /// # Errors
    /// If `given` asks for what this dialect does not have.
    pub(super) fn read(given: &Given, rate_bps: f64) -> Result<Self, ParamError> {
        if given.unit == MeasuredIn::Packets {
            return Err(ParamError::new("unit", "packet", "\"byte\" or \"auto\": linux measures its queue in bytes"));
        }
        given.refuse_wait()?;
        if given.byte_scaling {
            return Err(ParamError::new("byte_scaling", true, "false: linux does not scale by size"));
        }
        let forced = past_the_end(given.over_max_but_mark_p(OverMax::Mark)?);
        if given.tc.transmission(given.mean_packet, rate_bps) < 1.0 {
            let allowed = "\"6.15\": at this rate a mean packet takes less than 1 us, which the older tc divides by";
            return Err(ParamError::new("tc", "iproute2-6.14", allowed));
        }
        Ok(Rules { forced, independent: false, tc: given.tc })
    }
}

/// `red_vars`: what Linux remembers beside the average.
#[derive(Clone, Debug)]
pub struct Spacing {
    /// What the user chose.
    rules: Rules,
    /// `qcount`: packets since the last hit; -1 while the average is not between the thresholds.
    pub(super) qcount: i64,
    /// `qR`: the random number for the next hit, as a probability in [0, 1).
    q_r: f64,
    /// max_P (qavg - qth_min)/(qth_max - qth_min) at the last arrival between the thresholds, a probability.
    pub(super) p_b: f64,
}

impl Spacing {
    /// Nothing has arrived.
    pub(super) fn new(rules: Rules) -> Self {
        Spacing { rules, qcount: -1, q_r: 0.0, p_b: 0.0 }
    }

    /// Takes over the state of `before`, which has other rules.
    pub(super) fn resume(&mut self, before: &Spacing) {
        *self = Spacing { rules: self.rules, ..before.clone() };
    }

    /// `red_action`: decides with `qavg`, the average after the arrival, bytes.
    #[inline]
    pub(super) fn decide(&mut self, curve: &impl Curve, qavg: f64, random: &mut Generator) -> Verdict {
        if qavg < curve.start() {
            self.qcount = -1;
            return Verdict::Pass;
        }
        if qavg < curve.end() {
            self.qcount += 1;
            self.p_b = curve.base_probability(qavg);
            if self.rules.independent {
                return if hit(random.uniform(), self.p_b) { Verdict::Signal(Reason::Early) } else { Verdict::Pass };
            }
            if self.qcount != 0 {
                if !self.mark_probability() {
                    return Verdict::Pass;
                }
                self.qcount = 0;
                self.q_r = random.uniform();
                return Verdict::Signal(Reason::Early);
            }
            self.q_r = random.uniform();
            return Verdict::Pass;
        }
        self.qcount = -1;
        self.p_b = 1.0;
        self.rules.forced
    }

    /// `red_mark_probability`: one number is drawn for each hit; each packet since then brings the hit nearer.
    #[inline]
    fn mark_probability(&self) -> bool {
        // As in the kernel: not below the number drawn.
        self.p_b * (self.qcount as f64) >= self.q_r
    }

    /// max_P has become `factor` times what it was. The kernel draws qR from [0, (qth_max - qth_min)/max_P) and keeps
    /// qR, so the probability that qR stands for changes by `factor` too.
    pub(super) fn max_p_moved(&mut self, factor: f64) {
        self.q_r *= factor;
    }

    /// Why `packet`, on which the decision was `earlier`, is dropped when the child has no room. RED's state stays as
    /// it is.
    pub(super) fn on_overflow(&self, earlier: Verdict, packet: &Packet, cx: &Context<'_>) -> Reason {
        rejected_behind(earlier, packet, cx)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn set_up_gives_the_numbers_of_tc() {
        assert_eq!(Average::wlog_for_burst(30000.0, 50.0, 1000.0), Some(5));
        let average = Average::new(5, 1000.0, 10e6, Tc::Since615);
        assert_eq!(average.scell_log, 15);
        assert_eq!(average.stab[254], 21);
        assert_eq!((average.stab[0], average.stab[255]), (0, 31));
    }

    /// Ticks of both versions: 1500 B at 1 Gbit/s are 12 us, at 10 Gbit/s 1.2 us.
    #[test]
    fn an_older_tc_cuts_off_to_microseconds() {
        let ticks = |size, rate| [Tc::Since615, Tc::Until614].map(|tc| tc.transmission(size, rate));
        assert_eq!(ticks(1000.0, 10e6), [12_500.0, 12_500.0]);
        assert_eq!(ticks(1500.0, 1e9), [188.0, 187.0]);
        assert_eq!(ticks(700.0, 1e9), [88.0, 78.0]);
        assert_eq!(ticks(1500.0, 10e9), [19.0, 15.0]);
        assert_eq!(ticks(500.0, 10e9), [7.0, 0.0]);
        // The weight 2^-9: per tick -ln(1 - 2^-9)/19 and /15 of the average.
        let shifts = |tc| Average::new(9, 1500.0, 10e9, tc);
        let (new, old) = (shifts(Tc::Since615), shifts(Tc::Until614));
        assert_eq!((new.scell_log, old.scell_log), (10, 9));
        assert_eq!((new.stab[200], old.stab[200]), (21, 13));
    }

    #[test]
    fn average_settles_at_the_backlog() {
        let mut average = Average::new(9, 1000.0, 10e6, Tc::Since615);
        for _ in 0..20_000 {
            average.update(30_000);
        }
        assert!((average.bytes() - 30_000.0).abs() < 2.0);
        average.decay(1e4);
        assert!(average.bytes() < 1.0, "hours of silence empty it");
    }
}
