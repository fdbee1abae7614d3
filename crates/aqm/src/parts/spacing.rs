//! Spacing turns the base probability p_b into the probability p_a of this packet, so that drops come neither in clumps
//! nor far apart. The gap laws are derived in `docs/algorithms/spacing.md`.

/// p_b/(1 - count p_b), or 1 where the denominator is not positive (Floyd & Jacobson 1993, section 4).
///
/// p_b may rise between two drops, so count * p_b can pass 1; p_a is then 1, not negative.
#[inline]
pub fn uniform(p_b: f64, count: f64) -> f64 {
    if count * p_b < 1.0 {
        (p_b / (1.0 - count * p_b)).min(1.0)
    } else {
        1.0
    }
}

/// ns-2's `wait_`: no drop before 1/p_b packets have passed, then a certain one within the next 1/p_b.
#[inline]
pub fn uniform_after_wait(p_b: f64, count: f64) -> f64 {
    let progress = count * p_b;
    if progress < 1.0 {
        0.0
    } else if progress < 2.0 {
        (p_b / (2.0 - progress)).min(1.0)
    } else {
        1.0
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn both_rules_reach_one_and_stay_there() {
        assert_eq!(uniform(0.1, 10.0), 1.0);
        assert_eq!(uniform(0.1, 25.0), 1.0);
        assert_eq!(uniform_after_wait(0.1, 9.0), 0.0);
        assert_eq!(uniform_after_wait(0.1, 20.0), 1.0);
        assert!((uniform(0.1, 5.0) - 0.2).abs() < 1e-15);
        assert!((uniform_after_wait(0.1, 15.0) - 0.2).abs() < 1e-15);
    }
}
