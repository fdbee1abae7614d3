//! CUBIC (RFC 9438): cwnd is a cubic function of the time since the last reduction.

use super::slow_start::SlowStart;
use super::{Acked, Control, Idle, Window, LEAST_SSTHRESH};

/// `C`, segments/s^3 (RFC 9438, 5.1).
const C: f64 = 0.4;
/// Multiplicative decrease for a loss (4.6).
const BETA: f64 = 0.7;
/// The same for a mark with ABE (RFC 8511, section 3).
const ABE_BETA: f64 = 0.85;
/// Growth of the Reno-friendly window, segments per cwnd (4.3): 3 (1 - beta) / (1 + beta).
const ALPHA: f64 = 3.0 * (1.0 - BETA) / (1.0 + BETA);
/// cwnd that a mark leaves at least (4.6, figure 5); ssthresh is two segments at least.
const LEAST_AFTER_MARK: f64 = 1.0;
/// The target is at most so many times cwnd (4.2).
const MOST: f64 = 1.5;

/// A congestion avoidance epoch, from its first ACK on.
#[derive(Clone, Debug)]
struct Epoch {
    begun: f64,
    k: f64,
    w_est: f64,
    /// Where the function is flat, segments; with whole segments it does not move with the window.
    origin: f64,
}

/// Options of RFC 9438's CUBIC.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct CubicRules {
    /// Has a Reno-friendly region (4.3).
    pub friendly: bool,
    /// Counts ACKs towards a target in whole segments, as ns-3 does (`grow_whole`), instead of adding a
    /// fraction of a segment with each (4.4).
    pub whole: bool,
    /// A mark may leave a cwnd of one segment (4.6), not two.
    pub marks_leave_one: bool,
}

impl Default for CubicRules {
    fn default() -> Self {
        CubicRules { friendly: true, whole: false, marks_leave_one: true }
    }
}

/// With whole segments: ACKs per segment of cwnd while the target is not above it, and at most before the first loss;
/// ACKs per segment of growth at least.
const IDLE_ACKS: f64 = 100.0;
const MOST_ACKS_BEFORE_A_LOSS: f64 = 20.0;
const LEAST_ACKS: f64 = 2.0;

/// Its state; the names are those of RFC 9438, 4.1.2.
#[derive(Clone, Debug)]
pub struct Cubic {
    slow_start: SlowStart,
    rules: CubicRules,
    epoch: Option<Epoch>,
    w_max: f64,
    cwnd_prior: f64,
    abe: bool,
    last_ack: f64,
    /// Epoch, `w_max` and `cwnd_prior` before the last reduction, for an undo (4.9).
    before: Option<(Option<Epoch>, f64, f64)>,
    /// With whole segments: ACKs counted, and the smallest smoothed round-trip time since the last timeout, s.
    counted: f64,
    least_srtt: f64,
}

/// `K`: how long the function takes from `cwnd` to `w_max`, s (RFC 9438, 4.2, figure 2).
fn k(w_max: f64, cwnd: f64) -> f64 {
    if w_max <= cwnd {
        0.0
    } else {
        libm::cbrt((w_max - cwnd) / C)
    }
}

/// `W_cubic(t)` (4.2, figure 1).
fn w_cubic(t: f64, k: f64, w_max: f64) -> f64 {
    let x = t - k;
    C * x * x * x + w_max
}

impl Cubic {
    /// No reduction yet.
    pub fn new(slow_start: SlowStart, rules: CubicRules, abe: bool) -> Self {
        Cubic {
            slow_start,
            rules,
            epoch: None,
            w_max: 0.0,
            cwnd_prior: 0.0,
            abe,
            last_ack: 0.0,
            before: None,
            counted: 0.0,
            least_srtt: f64::INFINITY,
        }
    }

    /// `least`: segments that are left at least.
    fn reduce(&mut self, window: &Window, flight: f64, beta: f64, least: f64) -> f64 {
        self.slow_start.end();
        self.before = Some((self.epoch.take(), self.w_max, self.cwnd_prior));
        let whole = |segments: f64| if self.rules.whole { segments.floor() } else { segments };
        let cwnd = whole(window.cwnd);
        // Fast convergence (4.7).
        self.w_max = if cwnd < self.w_max { whole(cwnd * (1.0 + BETA) / 2.0) } else { cwnd };
        self.cwnd_prior = cwnd;
        whole(whole(flight) * beta).max(least)
    }

    /// Growth as in ns-3: the target is in whole segments, one min RTT ahead; `cwnd` / (target - `cwnd`) ACKs, two at
    /// least, add a segment. The count is kept when that number falls and over reductions, so ACKs that came while the
    /// target was not above cwnd count later.
    fn grow_whole(&mut self, window: &mut Window, segments: f64, now: f64) {
        let cwnd = window.cwnd.floor();
        self.counted += segments.floor();
        let (origin, k) = (self.w_max.max(cwnd), k(self.w_max, cwnd));
        let epoch = self.epoch.get_or_insert(Epoch { begun: now, k, w_est: cwnd, origin });
        let ahead = if self.least_srtt.is_finite() { self.least_srtt } else { 0.0 };
        let x = now + ahead - epoch.begun - epoch.k;
        let step = (C * x.abs() * x * x).floor();
        let mut target = if x < 0.0 { epoch.origin - step } else { epoch.origin + step };
        if self.rules.friendly {
            let alpha = if epoch.w_est >= self.cwnd_prior { 1.0 } else { ALPHA };
            epoch.w_est += alpha * segments / window.cwnd;
            target = target.max(epoch.w_est.floor());
        }
        let mut needed = if target > cwnd { (cwnd / (target - cwnd)).floor() } else { IDLE_ACKS * cwnd };
        if self.w_max == 0.0 {
            needed = needed.min(MOST_ACKS_BEFORE_A_LOSS);
        }
        needed = needed.max(LEAST_ACKS);
        if self.counted >= needed {
            self.counted -= needed;
            window.cwnd += 1.0;
        }
    }
}

impl Control for Cubic {
    fn on_any_ack(&mut self, _: &mut Window, ack: &Acked) {
        // Application-limited time does not count (4.2; 5.8 says why).
        if let Some(epoch) = self.epoch.as_mut().filter(|_| !ack.window_limited) {
            epoch.begun += ack.now - self.last_ack;
        }
        self.last_ack = ack.now;
        if ack.srtt > 0.0 {
            self.least_srtt = self.least_srtt.min(ack.srtt);
        }
    }

    fn on_idle_send(&mut self, _: &mut Window, idle: &Idle) {
        if self.rules.whole || !idle.app_limited {
            return;
        }
        if let Some(epoch) = &mut self.epoch {
            epoch.begun += idle.now - self.last_ack;
        }
        self.last_ack = idle.now;
    }

    fn grow(&mut self, window: &mut Window, ack: &Acked) {
        let mut segments = ack.segments;
        if window.slow_start() {
            segments = self.slow_start.grow(window, ack);
            if segments <= 0.0 {
                return;
            }
        }
        if self.rules.whole {
            return self.grow_whole(window, segments, ack.now);
        }
        let epoch = self.epoch.get_or_insert_with(|| {
            // 4.2. After a timeout (4.8) and after slow start without a loss `w_max` is not above cwnd.
            if self.w_max <= window.cwnd {
                self.w_max = window.cwnd;
            }
            if self.cwnd_prior == 0.0 {
                self.cwnd_prior = window.cwnd;
            }
            Epoch { begun: ack.now, k: k(self.w_max, window.cwnd), w_est: window.cwnd, origin: self.w_max }
        });
        let t = ack.now - epoch.begun;
        // 4.3: as fast as Reno once cwnd has reached `cwnd_prior`.
        let alpha = if epoch.w_est >= self.cwnd_prior { 1.0 } else { ALPHA };
        let friendly = self.rules.friendly && w_cubic(t, epoch.k, self.w_max) < epoch.w_est;
        epoch.w_est += alpha * segments / window.cwnd;
        if friendly {
            window.cwnd = window.cwnd.max(epoch.w_est);
            return;
        }
        let target = w_cubic(t + ack.srtt, epoch.k, self.w_max).clamp(window.cwnd, MOST * window.cwnd);
        window.cwnd += segments * (target - window.cwnd) / window.cwnd;
    }

    fn on_loss(&mut self, window: &Window, flight: f64, _: f64) -> f64 {
        self.reduce(window, flight, BETA, LEAST_SSTHRESH)
    }

    fn on_mark(&mut self, window: &Window, flight: f64, _: f64) -> f64 {
        let beta = if self.abe && !window.slow_start() { ABE_BETA } else { BETA };
        self.reduce(window, flight, beta, if self.rules.marks_leave_one { LEAST_AFTER_MARK } else { LEAST_SSTHRESH })
    }

    fn on_undo(&mut self, window: &mut Window, before: &Window) {
        // 4.9.1 and 4.9.2: cwnd, ssthresh and the epoch return.
        window.cwnd = window.cwnd.max(before.cwnd);
        window.ssthresh = window.ssthresh.max(before.ssthresh);
        if let Some((epoch, w_max, cwnd_prior)) = self.before.take() {
            (self.epoch, self.w_max, self.cwnd_prior) = (epoch, w_max, cwnd_prior);
        }
    }

    fn on_timeout(&mut self, window: &Window, flight: f64, _: f64) -> f64 {
        let ssthresh = self.reduce(window, flight, BETA, LEAST_SSTHRESH);
        // 4.8: the next epoch starts with K = 0 and W_max = cwnd.
        self.w_max = 0.0;
        self.cwnd_prior = 0.0;
        self.least_srtt = f64::INFINITY;
        ssthresh
    }
}

#[cfg(test)]
mod tests {
    use super::super::tests::acked;
    use super::super::HyStart;
    use super::*;

    #[test]
    fn a_mark_costs_less_than_a_loss_but_not_in_slow_start() {
        let after = |abe: bool, ssthresh: f64| first(abe).on_mark(&Window { cwnd: 100.0, ssthresh }, 100.0, 0.0);
        assert_eq!((after(true, 50.0), after(true, f64::INFINITY)), (100.0 * ABE_BETA, 100.0 * BETA));
        assert_eq!((after(false, 50.0), after(false, f64::INFINITY)), (100.0 * BETA, 100.0 * BETA));
    }

    fn first(abe: bool) -> Cubic {
        Cubic::new(SlowStart::new(1.0, HyStart::Off), CubicRules::default(), abe)
    }

    fn close(a: f64, b: f64, within: f64) -> bool {
        (a - b).abs() <= within
    }

    #[test]
    fn the_function_by_hand() {
        // W_max 100, cwnd 70: K = cbrt(30 / 0.4) = 4.2172 s.
        let k = k(100.0, 70.0);
        assert!(close(k, 4.2172, 5e-5), "{k}");
        let expected = [70.0, 86.681, 95.640, 99.279, 99.996, 100.192, 102.267];
        for (t, w) in expected.into_iter().enumerate() {
            let value = w_cubic(t as f64, k, 100.0);
            assert!(close(value, w, 1e-3), "W({t}) = {value}, not {w}");
        }
    }

    fn reduced(cwnd: f64) -> (Cubic, Window) {
        let mut cubic = first(false);
        let ssthresh = cubic.on_loss(&Window { cwnd, ssthresh: 10.0 }, cwnd, 0.0);
        (cubic, Window { cwnd: ssthresh, ssthresh })
    }

    #[test]
    fn a_mark_leaves_one_segment_at_least_and_a_loss_two() {
        let window = Window { cwnd: 1.2, ssthresh: 2.0 };
        assert_eq!((first(false).on_mark(&window, 1.0, 0.0), first(false).on_loss(&window, 1.0, 0.0)), (1.0, 2.0));
        let rules = CubicRules { marks_leave_one: false, ..CubicRules::default() };
        let mut two = Cubic::new(SlowStart::new(1.0, HyStart::Off), rules, false);
        assert_eq!(two.on_mark(&window, 1.0, 0.0), 2.0);
    }

    #[test]
    fn the_first_ack_of_an_epoch() {
        let (mut cubic, mut window) = reduced(100.0);
        assert!(close(window.cwnd, 70.0, 1e-12));
        cubic.grow(&mut window, &Acked { now: 5.0, srtt: 0.1, ..acked(1.0) });
        // Target W(0.1) = 72.084: 2.084 / 70.
        assert!(close(window.cwnd - 70.0, 0.029770, 1e-6), "{}", window.cwnd);
    }

    /// The windows at the end of each round trip of 0.1 s, with an update for every ACK.
    fn trajectory(rounds: usize) -> Vec<f64> {
        let (mut cubic, mut window) = reduced(100.0);
        let mut now = 0.0;
        (0..rounds)
            .map(|_| {
                let acks = window.cwnd as usize;
                for _ in 0..acks {
                    cubic.grow(&mut window, &Acked { now, srtt: 0.1, ..acked(1.0) });
                    now += 0.1 / acks as f64;
                }
                window.cwnd
            })
            .collect()
    }

    #[test]
    fn over_an_epoch_it_follows_the_function_within_rounding() {
        let windows = trajectory(40);
        let k = k(100.0, 70.0);
        for (round, &cwnd) in windows.iter().enumerate() {
            let t = 0.1 * (round + 1) as f64;
            // A round trip ahead, and as far behind.
            let (low, high) = (w_cubic(t - 0.1, k, 100.0), w_cubic(t + 0.1, k, 100.0));
            assert!(cwnd >= low - 0.5 && cwnd <= high + 0.5, "{cwnd} after {t} s, between {low} and {high}");
        }
    }

    #[test]
    fn a_short_round_trip_is_friendly_to_reno() {
        // W_est grows by 0.5294 a round trip from 70, so reaches 100 after 56.7 of them and goes on by 1.
        let windows = trajectory(70);
        let reno = |round: f64| if round <= 56.67 { 70.0 + ALPHA * round } else { 100.0 + (round - 56.67) };
        for round in [57, 60, 65, 69] {
            let expected = reno(round as f64 + 1.0);
            assert!(
                close(windows[round], expected, 0.8),
                "{} after {round} round trips, not {expected}",
                windows[round]
            );
        }
    }

    #[test]
    fn fast_convergence() {
        let mut cubic = first(false);
        cubic.on_loss(&Window { cwnd: 100.0, ssthresh: 10.0 }, 100.0, 0.0);
        cubic.on_loss(&Window { cwnd: 80.0, ssthresh: 70.0 }, 80.0, 1.0);
        assert!(close(cubic.w_max, 68.0, 1e-9), "{}", cubic.w_max);
        assert_eq!(cubic.cwnd_prior, 80.0);
    }

    #[test]
    fn whole_segments_by_counting() {
        let rules = CubicRules { friendly: false, whole: true, ..CubicRules::default() };
        let mut cubic = Cubic::new(SlowStart::new(1.0, HyStart::Off), rules, false);
        // Of 100.9 segments 100 count: 70 are left. K = 4.2172 s.
        let ssthresh = cubic.on_loss(&Window { cwnd: 100.9, ssthresh: 10.0 }, 100.9, 0.0);
        let mut window = Window { cwnd: ssthresh, ssthresh };
        assert_eq!((window.cwnd, cubic.w_max), (70.0, 100.0));
        let mut at = |now: f64, segments: f64, window: &mut Window| {
            let ack = Acked { now, srtt: 0.1, ..acked(segments) };
            cubic.on_any_ack(window, &ack);
            cubic.grow(window, &ack);
            cubic.counted
        };
        // W(0.1) = 72.08, so 100 - floor(27.92) = 73: floor(70 / 3) = 23 ACKs for a segment.
        assert_eq!((at(0.0, 10.0, &mut window), window.cwnd), (10.0, 70.0));
        // W(1.1) = 87.88, so 88: floor(70 / 18) = 3 ACKs, and 11 have been counted; then floor(71 / 17) = 4.
        assert_eq!((at(1.0, 1.0, &mut window), window.cwnd), (8.0, 71.0));
        assert_eq!((at(1.0, 1.0, &mut window), window.cwnd), (5.0, 72.0));
    }

    #[test]
    fn friendly_or_not() {
        // After 60 round trips of 0.1 s the function is at 102.3, and Reno beyond.
        let grown = |friendly: bool| {
            let rules = CubicRules { friendly, whole: false, ..CubicRules::default() };
            let mut cubic = Cubic::new(SlowStart::new(1.0, HyStart::Off), rules, false);
            let ssthresh = cubic.on_loss(&Window { cwnd: 20.0, ssthresh: 10.0 }, 20.0, 0.0);
            let mut window = Window { cwnd: ssthresh, ssthresh };
            for step in 0..800 {
                cubic.grow(&mut window, &Acked { now: 0.1 * f64::from(step) / 20.0, srtt: 0.1, ..acked(1.0) });
            }
            window.cwnd
        };
        assert!(grown(true) > grown(false) + 5.0, "{} {}", grown(true), grown(false));
    }

    #[test]
    fn marks_and_timeouts() {
        let window = Window { cwnd: 20.0, ssthresh: 10.0 };
        let mut cubic = first(true);
        assert!(close(cubic.on_mark(&window, 20.0, 0.0), 17.0, 1e-12), "ABE");
        assert!(close(first(false).on_mark(&window, 20.0, 0.0), 14.0, 1e-12));
        let ssthresh = cubic.on_timeout(&window, 20.0, 0.0);
        let mut window = Window { cwnd: ssthresh, ssthresh };
        cubic.grow(&mut window, &Acked { now: 3.0, srtt: 0.1, ..acked(1.0) });
        let epoch = cubic.epoch.as_ref().unwrap();
        assert_eq!((epoch.k, cubic.w_max), (0.0, 14.0), "4.8");
    }

    #[test]
    fn time_without_data_does_not_count() {
        let (mut cubic, mut window) = reduced(100.0);
        let step = |cubic: &mut Cubic, window: &mut Window, now: f64, window_limited: bool| {
            let ack = Acked { now, srtt: 0.1, window_limited, ..acked(1.0) };
            cubic.on_any_ack(window, &ack);
            if window_limited {
                cubic.grow(window, &ack);
            }
        };
        step(&mut cubic, &mut window, 1.0, true);
        step(&mut cubic, &mut window, 1.1, true);
        let before = window.cwnd;
        step(&mut cubic, &mut window, 9.0, false);
        step(&mut cubic, &mut window, 9.0, true);
        assert!(window.cwnd - before < 0.1, "{before} {}", window.cwnd);
    }
}
