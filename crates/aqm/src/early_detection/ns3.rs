//! RED as ns-3 runs it, `src/traffic-control/model/red-queue-disc.cc`. The order is that of `RedQueueDisc::DoEnqueue`:
//!
//! ```text
//! Estimator: m_qAvg, decayed for the idle time        Average::observe
//! m_count++, m_countBytes += size                     Spacing::decide
//! if m_qAvg >= m_minTh and nQueued > 1
//!     if m_qAvg is past the curve                     a forced drop
//!     else if m_old == 0                              the first one above m_minTh is admitted
//!         m_count = 1, m_countBytes = size, m_old = 1
//!     else DropEarly                                  Spacing::drop_early, Spacing::modify_p
//! else m_old = 0
//! Enqueue: the inner queue has room or not            Spacing::on_overflow
//! ```
//!
//! m_minTh, m_maxTh, m_curMaxP and `Gentle` (`CalculatePNew`) are the curve's; `ARED`, `FengAdaptive` and `NLRED` are
//! other disciplines here. A forced drop leaves the count alone; `Ns1Compat`, which restarts it, is not here.

use super::common::{hit, past_the_end, rejected_behind};
use super::given::{Given, OverMax};
use crate::params::ParamError;
use crate::parts::curve::Curve;
use crate::parts::spacing;
use crate::policy::{Context, Reason, Verdict};
use crate::random::Generator;
use crate::Packet;

/// `Estimator` is ns-2's.
pub use super::ns2::Average;

/// What a user can choose in this dialect beside the curve.
#[derive(Clone, Copy, Debug)]
pub struct Rules {
    /// `MeanPktSize`: bytes of a mean packet.
    mean_pkt_size: f64,
    /// `Wait`: no drop before 1/p_b packets have passed since the last one.
    is_wait: bool,
    /// Whether the drop probability goes with the size of the packet, as it does in ns-3 where the limit is in bytes.
    bytes: bool,
    /// What becomes of an arrival past the curve: a drop with `UseHardDrop`.
    forced: Verdict,
    /// Whether p_a is p_b, without spacing; not in ns-3.
    pub(super) independent: bool,
}

impl Rules {
    /// What `given` says.
    ///
    /// # Errors
    /// Where it asks for what this dialect does not have.
    pub(super) fn read(given: &Given) -> Result<Self, ParamError> {
        Ok(Rules {
            mean_pkt_size: given.mean_packet,
            is_wait: given.wait.unwrap_or(true),
            bytes: given.byte_scaling,
            forced: past_the_end(given.over_max_but_mark_p(OverMax::Drop)?),
            independent: false,
        })
    }
}

/// What ns-3 remembers beside the average.
#[derive(Clone, Debug)]
pub struct Spacing {
    /// What the user chose.
    rules: Rules,
    /// `m_count`: packets since the last drop by chance.
    pub(super) count: i64,
    /// `m_countBytes`: bytes since the last drop by chance.
    count_bytes: u64,
    /// `m_vProb1`: p_b of the last arrival that was tested, a probability.
    pub(super) v_prob1: f64,
    /// `m_old`: an earlier arrival has already found the average above m_minTh.
    old: bool,
}

impl Spacing {
    /// Nothing has arrived.
    pub(super) fn new(rules: Rules) -> Self {
        Spacing { rules, count: 0, count_bytes: 0, v_prob1: 0.0, old: false }
    }

    /// Takes over the state of `before`, whose rules are others.
    pub(super) fn resume(&mut self, before: &Spacing) {
        *self = Spacing { rules: self.rules, ..before.clone() };
    }

    /// `DoEnqueue`: decides over a packet of `size` bytes, which finds `n_queued` (packets or bytes) waiting, with the
    /// average `q_avg` that it has just made.
    #[inline]
    pub(super) fn decide(
        &mut self,
        curve: &impl Curve,
        q_avg: f64,
        size: u32,
        n_queued: f64,
        random: &mut Generator,
    ) -> Verdict {
        self.count += 1;
        self.count_bytes += u64::from(size);
        if q_avg >= curve.start() && n_queued > 1.0 {
            if q_avg >= curve.end() {
                return self.rules.forced;
            }
            if !self.old {
                self.count = 1;
                self.count_bytes = u64::from(size);
                self.old = true;
                return Verdict::Pass;
            }
            return self.drop_early(curve, q_avg, size, random);
        }
        self.old = false;
        Verdict::Pass
    }

    /// `DropEarly`: one number against the probability of this packet.
    #[inline]
    fn drop_early(&mut self, curve: &impl Curve, q_avg: f64, size: u32, random: &mut Generator) -> Verdict {
        self.v_prob1 = curve.base_probability(q_avg);
        let v_prob = self.modify_p(size);
        if !hit(random.uniform(), curve.final_probability(v_prob)) {
            return Verdict::Pass;
        }
        self.count = 0;
        self.count_bytes = 0;
        Verdict::Signal(if self.v_prob1 >= 1.0 { Reason::Forced } else { Reason::Early })
    }

    /// `ModifyP`: p_a from p_b and the count.
    #[inline]
    fn modify_p(&self, size: u32) -> f64 {
        let rules = &self.rules;
        let count1 = if rules.bytes {
            // A division of integers: bytes since the last drop in whole mean packets.
            (self.count_bytes / rules.mean_pkt_size as u64) as f64
        } else {
            self.count as f64
        };
        let mut p = if rules.independent {
            self.v_prob1
        } else if rules.is_wait {
            spacing::uniform_after_wait(self.v_prob1, count1)
        } else {
            spacing::uniform(self.v_prob1, count1)
        };
        if rules.bytes && p < 1.0 {
            p = (p * f64::from(size) / rules.mean_pkt_size).min(1.0);
        }
        p
    }

    /// No room in the inner queue for `packet`, of which the decision was `earlier`; why it is dropped. That leaves
    /// RED's state alone.
    pub(super) fn on_overflow(&self, earlier: Verdict, packet: &Packet, cx: &Context<'_>) -> Reason {
        rejected_behind(earlier, packet, cx)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn probability(v_prob1: f64, size: u32) -> f64 {
        let forced = Verdict::Drop(Reason::Forced);
        let rules = Rules { mean_pkt_size: 1000.0, is_wait: false, bytes: true, forced, independent: true };
        Spacing { v_prob1, ..Spacing::new(rules) }.modify_p(size)
    }

    /// A probability that is not certain goes with the packet's size, up to certainty.
    #[test]
    fn small_packets_are_spared_unless_a_drop_is_certain() {
        assert_eq!([100, 1000, 3000].map(|size| probability(0.5, size)), [0.05, 0.5, 1.0]);
        assert_eq!(probability(1.0, 100), 1.0);
    }
}
