//! Independent draws: every arrival is hit with the probability in force, whatever became of earlier arrivals.

use crate::policy::{Context, Reason, Verdict};

/// Draws one number, always, and signals with probability `p`; the reason is chance if `p` is below 1, else certain.
#[inline]
pub fn draw(p: f64, cx: &mut Context<'_>) -> Verdict {
    if hit(p, cx) {
        Verdict::Signal(reason(p))
    } else {
        Verdict::Pass
    }
}

/// Draws one number, always; true if it hits. The comparison is ns-2's, `u <= p`, but probability 0 never hits.
#[inline]
pub fn hit(p: f64, cx: &mut Context<'_>) -> bool {
    let u = cx.random.uniform();
    p > 0.0 && u <= p
}

/// Why a packet that was hit with probability `p` is dropped.
#[inline]
pub fn reason(p: f64) -> Reason {
    if p < 1.0 {
        Reason::Early
    } else {
        Reason::Forced
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::prelude::*;

    fn drawn(p: f64, u: f64) -> (Verdict, u32) {
        let draws = std::sync::Arc::new(std::sync::atomic::AtomicU32::new(0));
        let counted = std::sync::Arc::clone(&draws);
        let mut random = Generator::custom(move || {
            counted.fetch_add(1, std::sync::atomic::Ordering::Relaxed);
            u
        });
        let mut victims = Vec::new();
        let mut cx =
            Context { now: Time::ZERO, ecn: false, has_room: true, random: &mut random, victims: &mut victims };
        let verdict = draw(p, &mut cx);
        (verdict, draws.load(std::sync::atomic::Ordering::Relaxed))
    }

    #[test]
    fn one_number_whatever_the_probability() {
        assert_eq!(drawn(0.0, 0.0), (Verdict::Pass, 1), "probability 0 never hits");
        assert_eq!(drawn(0.3, 0.3), (Verdict::Signal(Reason::Early), 1));
        assert_eq!(drawn(0.3, 0.300_000_1), (Verdict::Pass, 1));
        assert_eq!(drawn(1.0, 1.0), (Verdict::Signal(Reason::Forced), 1));
    }
}
