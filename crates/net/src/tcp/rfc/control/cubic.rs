//! CUBIC (RFC 9438): cwnd is a cubic function of the time since the last reduction.

use super::slow_start::SlowStart;
use super::{Acked, Control, Idle, Window, LEAST_SSTHRESH};

/// `C`, segments/s^3 (RFC 9438, 5.1).
const C: f64 = 0.4;
/// Multiplicative decrease for a loss (4.6).
const BETA: f64 = 0.7;
/// Multiplicative decrease for a mark with ABE (RFC 8511, section 3).
const ABE_BETA: f64 = 0.85;
/// Growth of the Reno-friendly window, segments per cwnd (4.3): 3 (1 - beta) / (1 + beta).
const ALPHA: f64 = 3.0 * (1.0 - BETA) / (1.0 + BETA);
/// Least cwnd after a mark (4.6, figure 5); ssthresh is at least two segments.
const LEAST_AFTER_MARK: f64 = 1.0;
/// Largest target, as a multiple of cwnd (4.2).
const MOST: f64 = 1.5;

/// A congestion avoidance epoch, from its first ACK on.
#[derive(Clone, Debug)]
struct Epoch {
    begun: f64,
    k: f64,
    w_est: f64,
}

/// The state of CUBIC; the names are those of RFC 9438, 4.1.2.
#[derive(Clone, Debug)]
pub struct Cubic {
    slow_start: SlowStart,
    epoch: Option<Epoch>,
    w_max: f64,
    cwnd_prior: f64,
    abe: bool,
    last_ack: f64,
    /// Epoch, `w_max` and `cwnd_prior` before the last reduction, for an undo (4.9).
    before: Option<(Option<Epoch>, f64, f64)>,
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
    /// CUBIC before any reduction.
    pub fn new(slow_start: SlowStart, abe: bool) -> Self {
        Cubic { slow_start, epoch: None, w_max: 0.0, cwnd_prior: 0.0, abe, last_ack: 0.0, before: None }
    }

    /// Reduces the window by `beta`, to at least `least` segments.
    fn reduce(&mut self, window: &Window, flight: f64, beta: f64, least: f64) -> f64 {
        self.slow_start.end();
        self.before = Some((self.epoch.take(), self.w_max, self.cwnd_prior));
        let cwnd = window.cwnd;
        // Fast convergence (4.7).
        self.w_max = if cwnd < self.w_max { cwnd * (1.0 + BETA) / 2.0 } else { cwnd };
        self.cwnd_prior = cwnd;
        (flight * beta).max(least)
    }
}

impl Control for Cubic {
    fn on_any_ack(&mut self, _: &mut Window, ack: &Acked) {
        // Application-limited time does not count (4.2; 5.8 says why).
        if let Some(epoch) = self.epoch.as_mut().filter(|_| !ack.window_limited) {
            epoch.begun += ack.now - self.last_ack;
        }
        self.last_ack = ack.now;
    }

    fn on_idle_send(&mut self, _: &mut Window, idle: &Idle) {
        if !idle.app_limited {
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
        let epoch = self.epoch.get_or_insert_with(|| {
            // 4.2: after a timeout (4.8), or slow start without a loss, `w_max` is not above cwnd.
            if self.w_max <= window.cwnd {
                self.w_max = window.cwnd;
            }
            if self.cwnd_prior == 0.0 {
                self.cwnd_prior = window.cwnd;
            }
            Epoch { begun: ack.now, k: k(self.w_max, window.cwnd), w_est: window.cwnd }
        });
        let t = ack.now - epoch.begun;
        // 4.3: as fast as Reno once cwnd has reached `cwnd_prior`.
        let alpha = if epoch.w_est >= self.cwnd_prior { 1.0 } else { ALPHA };
        let friendly = w_cubic(t, epoch.k, self.w_max) < epoch.w_est;
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
        self.reduce(window, flight, beta, LEAST_AFTER_MARK)
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
        Cubic::new(SlowStart::new(1.0, HyStart::Off), abe)
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
            // W_cubic a round trip earlier and a round trip later.
            let (low, high) = (w_cubic(t - 0.1, k, 100.0), w_cubic(t + 0.1, k, 100.0));
            assert!(cwnd >= low - 0.5 && cwnd <= high + 0.5, "{cwnd} after {t} s, between {low} and {high}");
        }
    }

    #[test]
    fn a_short_round_trip_is_friendly_to_reno() {
        // W_est grows by 0.5294 a round trip from 70: it reaches 100 after 56.7 of them, and then grows by 1.
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
