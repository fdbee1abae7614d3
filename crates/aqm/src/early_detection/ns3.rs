//! RED as ns-3 runs it, `src/traffic-control/model/red-queue-disc.cc`, which was written after ns-2's. The order is
//! that of `RedQueueDisc::DoEnqueue`, and the code is [`super::ns2`]'s:
//!
//! ```text
//! Estimator: m_qAvg, decayed for the idle time        Average::observe
//! m_count++, m_countBytes += size                     Spacing::decide
//! if m_qAvg >= m_minTh and nQueued > 1
//!     if m_qAvg is past the curve                     a forced drop, which leaves the count alone
//!     else if m_old == 0                              the first one above m_minTh is admitted
//!         m_count = 1, m_countBytes = size, m_old = 1
//!     else DropEarly                                  Spacing::drop_early, Spacing::modify_p
//! else m_old = 0
//! Enqueue: the inner queue has room or not            rejected_behind: that leaves RED's state alone
//! ```
//!
//! m_minTh, m_maxTh, m_curMaxP and `Gentle` (`CalculatePNew`) are the curve's; `ARED`, `FengAdaptive` and `NLRED` are
//! other disciplines here. `Ns1Compat`, with which the count starts again after a forced drop, is not here.

use super::common::past_the_end;
use super::given::{Given, OverMax};
use super::ns2::{Rules, Spacing};
use crate::params::ParamError;
use crate::parts::curve::Curve;
use crate::policy::Verdict;
use crate::random::Generator;

/// What a user can choose: `UseHardDrop`, `Wait` and `MeanPktSize`.
///
/// # Errors
/// If `given` asks for what this dialect does not have.
pub(super) fn rules(given: &Given) -> Result<Rules, ParamError> {
    Ok(Rules::of_ns3(given, past_the_end(given.over_max_but_mark_p(OverMax::Drop)?)))
}

/// `DoEnqueue`: [`Spacing::decide`], without being part of each discipline's own code.
#[inline]
pub(super) fn decide(
    red: &mut Spacing,
    curve: &impl Curve,
    q_avg: f64,
    size: u32,
    n_queued: f64,
    random: &mut Generator,
) -> Verdict {
    red.decide(curve, q_avg, size, n_queued, random)
}
