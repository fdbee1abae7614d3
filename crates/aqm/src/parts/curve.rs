//! Drop curves: the base probability p_b as a function of the averaged queue. Formulas, derivations and misprints:
//! `docs/algorithms/curves.md`.

/// A drop curve, over averages in the unit of its thresholds (packets, or bytes in byte mode).
pub trait Curve: Send {
    /// The average below which nothing is dropped; [`Curve::base_probability`] is not called there.
    fn start(&self) -> f64;

    /// p_b at `average`, in [0, 1], for `average` at or above [`Curve::start`].
    fn base_probability(&self, average: f64) -> f64;

    /// The average from which every packet is dropped.
    fn end(&self) -> f64;

    /// What becomes of p_a, the spaced probability of one packet, before the draw: FLoadAutoRED's load stage moves p_a.
    /// The dialect linux, which has no p_a, does not call this.
    #[inline]
    fn final_probability(&self, p_a: f64) -> f64 {
        p_a
    }
}

/// p_b at any average: 0 below the start of `curve`.
pub fn probability(curve: &impl Curve, average: f64) -> f64 {
    if average < curve.start() {
        0.0
    } else {
        curve.base_probability(average)
    }
}

/// RED's straight line from 0 at `min_th` to `max_p` at `max_th`; with `gentle`, a second line to 1 at twice `max_th`.
///
/// The arithmetic is ns-2's (`red.cc`, `calculate_p_new`): slope and offset are formed once.
#[derive(Clone, Debug)]
#[repr(C)]
pub struct Linear {
    /// Lower threshold, packets or bytes.
    min_th: f64,
    /// Upper threshold, packets or bytes.
    max_th: f64,
    /// `v_a`: slope of p_b/max_p between the thresholds, per packet or byte.
    slope: f64,
    /// `v_b`: p_b/max_p at an average of 0.
    offset: f64,
    /// Probability at the upper threshold.
    max_p: f64,
    /// `v_c` and `v_d`: slope and offset of p_b from max_th to twice max_th; `None` if p_b jumps to 1.
    gentle: Option<(f64, f64)>,
    /// Whether the gentle line moves with max_p.
    gentle_tracks: bool,
}

/// Slope and offset of the gentle line: `max_p` at `max_th`, 1 at twice `max_th`.
fn gentle_line(max_th: f64, max_p: f64) -> (f64, f64) {
    ((1.0 - max_p) / max_th, 2.0 * max_p - 1.0)
}

impl Linear {
    /// A line between the thresholds. With `min_th` = `max_th` its width counts as 1, as in ns-2 and ns-3.
    pub fn new(min_th: f64, max_th: f64, max_p: f64, gentle: bool) -> Self {
        let width = if max_th > min_th { max_th - min_th } else { 1.0 };
        Linear {
            slope: 1.0 / width,
            offset: -min_th / width,
            max_p,
            min_th,
            max_th,
            gentle: gentle.then(|| gentle_line(max_th, max_p)),
            gentle_tracks: true,
        }
    }

    /// This line, with a gentle line that stays when max_p moves: ns-2 and ns-3 form it once.
    pub fn with_gentle_fixed(self) -> Self {
        Linear { gentle_tracks: false, ..self }
    }

    /// The probability at `max_th`.
    #[inline]
    pub fn max_p(&self) -> f64 {
        self.max_p
    }

    /// Moves the probability at `max_th`.
    pub fn set_max_p(&mut self, max_p: f64) {
        self.max_p = max_p;
        if self.gentle.is_some() && self.gentle_tracks {
            self.gentle = Some(gentle_line(self.max_th, max_p));
        }
    }
}

/// A curve whose upper threshold moves (AutoREDwithRED).
pub trait Movable: Curve {
    /// Moves the end of the curve to `max_th`.
    fn set_max_th(&mut self, max_th: f64);
}

impl Movable for Linear {
    fn set_max_th(&mut self, max_th: f64) {
        *self = Linear::new(self.min_th, max_th, self.max_p, self.gentle.is_some());
    }
}

impl Curve for Linear {
    #[inline]
    fn start(&self) -> f64 {
        self.min_th
    }

    #[inline]
    fn base_probability(&self, average: f64) -> f64 {
        let p = match self.gentle {
            Some((slope, offset)) if average >= self.max_th => slope * average + offset,
            None if average >= self.max_th => 1.0,
            _ => (self.slope * average + self.offset) * self.max_p,
        };
        p.clamp(0.0, 1.0)
    }

    #[inline]
    fn end(&self) -> f64 {
        if self.gentle.is_some() {
            2.0 * self.max_th
        } else {
            self.max_th
        }
    }
}

/// A curve given as a function of x = (average - min_th)/(max_th - min_th) on [0, 1).
#[derive(Clone, Debug)]
pub struct Shaped<F> {
    /// Lower threshold, packets or bytes.
    min_th: f64,
    /// Upper threshold, packets or bytes.
    max_th: f64,
    /// p_b between the thresholds, by x.
    shape: F,
}

impl<F: Fn(f64) -> f64 + Send> Shaped<F> {
    /// The curve with `shape` between the thresholds and 1 from `max_th` on.
    pub fn new(min_th: f64, max_th: f64, shape: F) -> Self {
        Shaped { min_th, max_th, shape }
    }
}

impl<F: Fn(f64) -> f64 + Send> Curve for Shaped<F> {
    #[inline]
    fn start(&self) -> f64 {
        self.min_th
    }

    #[inline]
    fn base_probability(&self, average: f64) -> f64 {
        if average >= self.max_th {
            return 1.0;
        }
        (self.shape)((average - self.min_th) / (self.max_th - self.min_th)).clamp(0.0, 1.0)
    }

    #[inline]
    fn end(&self) -> f64 {
        self.max_th
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn gentle_line_is_max_p_at_max_th_and_one_at_twice_max_th() {
        let line = Linear::new(24.0, 72.0, 0.1, true);
        assert!((line.base_probability(71.999_999) - 0.1).abs() < 1e-6);
        assert!((line.base_probability(72.0) - 0.1).abs() < 1e-12);
        assert!((line.base_probability(108.0) - 0.55).abs() < 1e-12);
        assert!((line.base_probability(144.0) - 1.0).abs() < 1e-12);
    }

    #[test]
    fn gentle_part_follows_max_p_unless_it_is_fixed() {
        let mut line = Linear::new(24.0, 72.0, 0.1, true);
        line.set_max_p(0.3);
        assert!((line.base_probability(48.0) - 0.15).abs() < 1e-12);
        assert!((line.base_probability(72.0) - 0.3).abs() < 1e-12);
        assert!((line.base_probability(108.0) - 0.65).abs() < 1e-12);
        let mut line = Linear::new(24.0, 72.0, 0.1, true).with_gentle_fixed();
        line.set_max_p(0.3);
        assert!((line.base_probability(48.0) - 0.15).abs() < 1e-12);
        assert!((line.base_probability(72.0) - 0.1).abs() < 1e-12, "a jump down from 0.3");
        assert!((line.base_probability(108.0) - 0.55).abs() < 1e-12);
    }

    #[test]
    fn plain_line_jumps_to_one_at_max_th() {
        let line = Linear::new(24.0, 72.0, 0.1, false);
        assert!(line.base_probability(24.0).abs() < 1e-15);
        assert!((line.base_probability(48.0) - 0.05).abs() < 1e-15);
        assert_eq!(line.base_probability(72.0), 1.0);
    }
}
