//! RED as ns-2.35 runs it, `queue/red.cc`. The order is that of `REDQueue::enque`:
//!
//! ```text
//! estimator: avg, decayed for the idle time           Average::observe
//! ++count, count_bytes += size                        Spacing::decide
//! if avg >= th_min and qlen > 1
//!     if !use_mark_p and avg is past the curve        a forced drop
//!     else if old == 0                                the first one above th_min is admitted
//!         count = 1, count_bytes = size, old = 1
//!     else drop_early                                 Spacing::drop_early, Spacing::modify_p
//! else old = 0
//! if there is no room: a forced drop, count = 0       Spacing::on_overflow
//! ```
//!
//! th_min, th_max, max_p and `gentle_` (`calculate_p_new`) are the curve's. A forced drop of the average hits the
//! arrival (`drop_tail_`). `cautious_`, `ns1_compat_`, priorities and the drop queue are not here.

use super::common::{decay_at_once, hit, idle_packets, past_the_end};
use super::given::{Given, OverMax};
use crate::params::Link;
use crate::parts::curve::Curve;
use crate::parts::spacing;
use crate::policy::{Limit, Reason, Room, Verdict};
use crate::random::Generator;
use crate::Time;

/// `edv_.v_ave` and what it is worked out from.
#[derive(Clone, Debug)]
pub struct Average {
    /// `v_ave`: the averaged queue, packets or bytes.
    v_ave: f64,
    /// `q_w`: the weight of a new sample, in (0, 1].
    q_w: f64,
    /// `ptc`: packets of the mean size that the link can send in a second.
    ptc: f64,
}

impl Average {
    /// An average that has seen nothing.
    pub fn new(q_w: f64, ptc: f64) -> Self {
        Average { v_ave: 0.0, q_w, ptc }
    }

    /// The average after an arrival at `now` that finds `length` (packets or bytes) waiting: one step of decay for each
    /// of the m packets that the link could have sent while it was idle, one step for this arrival, then the sample.
    #[inline(always)]
    pub fn observe(&mut self, length: f64, idle_since: Option<Time>, now: Time) -> f64 {
        let m = match idle_since {
            None => 0,
            Some(since) => idle_packets(now - since, self.ptc),
        };
        self.v_ave = estimator(self.v_ave, self.q_w, m, length);
        self.v_ave
    }

    /// Takes over the value of `before`, which has another weight.
    pub(super) fn resume(&mut self, before: &Average) {
        self.v_ave = before.v_ave;
    }

    /// `v_ave`, packets or bytes.
    #[inline]
    pub fn value(&self) -> f64 {
        self.v_ave
    }

    /// The average after the idle time from `since` to `now`, without an arrival.
    pub fn decayed(&self, since: Time, now: Time) -> f64 {
        decay_at_once(self.v_ave, self.q_w, idle_packets(now - since, self.ptc))
    }

    /// Gives the next samples the weight `q_w`.
    pub fn set_weight(&mut self, q_w: f64) {
        self.q_w = q_w;
    }
}

/// `m` decays for the idle time and one more for this arrival, then the new sample `queue`.
#[inline]
pub fn estimator(v_ave: f64, q_w: f64, m: u64, queue: f64) -> f64 {
    let decayed = if m == 0 { v_ave } else { decay_repeatedly(v_ave, q_w, m) };
    decayed * (1.0 - q_w) + q_w * queue
}

/// Most multiplications of one arrival, a third of a millisecond of computing; the rest is done by one power.
const MULTIPLICATIONS: u64 = 1 << 18;

/// Multiplies `average` by (1 - `weight`) `times` times, one multiplication after the other for the first 2^18.
///
/// ns-2 multiplies one by one throughout; a power differs in the last bits. The loop ends where a product changes
/// nothing any more: at 0, or at the smallest positive number, which never becomes 0.
pub fn decay_repeatedly(mut average: f64, weight: f64, times: u64) -> f64 {
    let keep = 1.0 - weight;
    for _ in 0..times.min(MULTIPLICATIONS) {
        let next = average * keep;
        if next == average {
            return average;
        }
        average = next;
    }
    decay_at_once(average, weight, times.saturating_sub(MULTIPLICATIONS))
}

/// `q_weight_` where ns-2 chooses it (`initParams`): 1 - exp(-1/(10 rtt C)), where `rtt` is three times the link's
/// delay plus a packet's time, at least 100 ms, and C = `ptc` packets per second.
pub(super) fn automatic_weight(link: &Link, ptc: f64) -> f64 {
    let rtt = (3.0 * (link.delay_s + 1.0 / ptc)).max(0.1);
    1.0 - libm::exp(-1.0 / (10.0 * rtt * ptc))
}

/// When an arrival finds room: in byte mode a limit in packets is multiplied by the mean packet size in bytes, and ns-2
/// tests before it adds the arrival.
pub(super) fn room(limit: Limit, byte_mode: bool, mean_pktsize: f64) -> Room {
    match limit {
        Limit::Packets(n) if byte_mode => Room::BytesBelow((n as f64 * mean_pktsize) as u64),
        Limit::Packets(_) => Room::holding(limit),
        Limit::Bytes(n) => Room::BytesBelow(n),
    }
}

/// `edp_`: what a user can choose in this dialect beside the curve.
#[derive(Clone, Copy, Debug)]
pub struct Rules {
    /// `mean_pktsize_`: bytes of a mean packet.
    mean_pktsize: f64,
    /// `mark_p_`: with `use_mark_p`, packets are marked only while p_b is below this probability.
    mark_p: f64,
    /// `wait_`: no drop before 1/p_b packets have passed since the last one.
    wait: bool,
    /// `bytes_`: the drop probability is in proportion to the packet's size.
    bytes: bool,
    /// `use_mark_p_`: past the curve p_b = 1 goes through the spacing; without it every arrival there is hit.
    use_mark_p: bool,
    /// What becomes of an arrival past the curve without `use_mark_p`.
    forced: Verdict,
    /// Whether a forced drop past the curve starts the count again; not in ns-3.
    forced_restarts: bool,
    /// Whether p_a is p_b, without spacing; not in ns-2.
    pub(super) independent: bool,
}

impl Rules {
    /// The rules that `given` describes.
    pub(super) fn read(given: &Given) -> Self {
        let over_max = match given.ecn_over_max {
            OverMax::Auto => OverMax::MarkBelowMarkP,
            given => given,
        };
        Rules {
            mean_pktsize: given.mean_packet,
            mark_p: given.mark_p,
            wait: given.wait.unwrap_or(true),
            bytes: given.byte_scaling,
            use_mark_p: over_max == OverMax::MarkBelowMarkP,
            forced: past_the_end(over_max),
            forced_restarts: true,
            independent: false,
        }
    }

    /// The rules that `given` describes in ns-3; `forced` is what becomes of an arrival past the curve.
    pub(super) fn of_ns3(given: &Given, forced: Verdict) -> Self {
        Rules { use_mark_p: false, forced, forced_restarts: false, ..Rules::read(given) }
    }
}

/// `edv_`: what ns-2 remembers beside the average.
#[derive(Clone, Debug)]
pub struct Spacing {
    /// What the user chose.
    rules: Rules,
    /// `count`: packets since the last drop.
    pub(super) count: i64,
    /// `count_bytes`: bytes since the last drop.
    count_bytes: u64,
    /// `v_prob1`: p_b of the last arrival that was tested, a probability.
    pub(super) v_prob1: f64,
    /// `old`: whether an earlier arrival has found the average above th_min.
    old: bool,
}

impl Spacing {
    /// Nothing has arrived.
    pub(super) fn new(rules: Rules) -> Self {
        Spacing { rules, count: 0, count_bytes: 0, v_prob1: 0.0, old: false }
    }

    /// Takes over the state of `before`, which has other rules.
    pub(super) fn resume(&mut self, before: &Spacing) {
        *self = Spacing { rules: self.rules, ..before.clone() };
    }

    /// `enque`: decides over a packet of `size` bytes that has found `qlen` (packets or bytes) waiting and moved the
    /// average to `qavg`.
    #[inline(always)]
    pub(super) fn decide(
        &mut self,
        curve: &impl Curve,
        qavg: f64,
        size: u32,
        qlen: f64,
        random: &mut Generator,
    ) -> Verdict {
        self.count += 1;
        self.count_bytes += u64::from(size);
        if qavg >= curve.start() && qlen > 1.0 {
            if !self.rules.use_mark_p && qavg >= curve.end() {
                if self.rules.forced_restarts {
                    self.count = 0;
                    self.count_bytes = 0;
                }
                return self.rules.forced;
            }
            if !self.old {
                self.count = 1;
                self.count_bytes = u64::from(size);
                self.old = true;
                return Verdict::Pass;
            }
            return self.drop_early(curve, qavg, size, random);
        }
        self.old = false;
        Verdict::Pass
    }

    /// `drop_early`: one number against the probability of this packet.
    #[inline(always)]
    fn drop_early(&mut self, curve: &impl Curve, qavg: f64, size: u32, random: &mut Generator) -> Verdict {
        self.v_prob1 = curve.base_probability(qavg);
        let v_prob = self.modify_p(size);
        if !hit(random.uniform(), curve.final_probability(v_prob)) {
            return Verdict::Pass;
        }
        self.count = 0;
        self.count_bytes = 0;
        let reason = if self.v_prob1 >= 1.0 { Reason::Forced } else { Reason::Early };
        if self.rules.use_mark_p && self.v_prob1 >= self.rules.mark_p {
            Verdict::Drop(reason)
        } else {
            Verdict::Signal(reason)
        }
    }

    /// `modify_p`: p_a from p_b and the count.
    #[inline(always)]
    fn modify_p(&self, size: u32) -> f64 {
        let rules = &self.rules;
        let count1 = if rules.bytes {
            // A division of integers: bytes since the last drop in whole mean packets.
            (self.count_bytes / rules.mean_pktsize as u64) as f64
        } else {
            self.count as f64
        };
        let mut p = if rules.independent {
            self.v_prob1
        } else if rules.wait {
            spacing::uniform_after_wait(self.v_prob1, count1)
        } else {
            spacing::uniform(self.v_prob1, count1)
        };
        if rules.bytes && p < 1.0 {
            p = (p * f64::from(size) / rules.mean_pktsize).min(1.0);
        }
        p
    }

    /// The buffer has no room: that overrides the early test and starts the count again.
    pub(super) fn on_overflow(&mut self) -> Reason {
        self.count = 0;
        self.count_bytes = 0;
        Reason::Overflow
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn probability(v_prob1: f64, size: u32) -> f64 {
        let (wait, bytes, independent, forced) = (false, true, true, Verdict::Drop(Reason::Forced));
        let (mean_pktsize, mark_p, use_mark_p) = (1000.0, 0.1, false);
        let rules = Rules { mean_pktsize, mark_p, wait, bytes, use_mark_p, forced, forced_restarts: true, independent };
        Spacing { v_prob1, ..Spacing::new(rules) }.modify_p(size)
    }

    /// A probability below 1 grows with the packet's size, up to 1.
    #[test]
    fn small_packets_are_spared_unless_a_drop_is_certain() {
        assert_eq!([100, 1000, 3000].map(|size| probability(0.5, size)), [0.05, 0.5, 1.0]);
        assert_eq!(probability(1.0, 100), 1.0);
    }
}
