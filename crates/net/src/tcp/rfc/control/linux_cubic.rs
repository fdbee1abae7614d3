//! CUBIC as Linux computes it (`tcp_cubic.c`): in whole segments, and otherwise than RFC 9438 in these points.
//!
//! - The acknowledged segments after which cwnd grows by one (`cnt`) are a whole number, at least 2.
//! - The Reno-friendly window grows by 8/15 of a segment per cwnd, also beyond the cwnd before the loss. Where it is
//!   ahead, cwnd reaches it within a round trip.
//! - The cubic function is evaluated one min RTT ahead, not one smoothed RTT.
//! - The clock counts ticks ([`TICK`]), and `cnt` is updated once in each.
//! - Before the first loss a cwnd of ACKs adds at least a twentieth of it.

use super::super::clock::TICK;
use super::{slow_start::SlowStart, Acked, Control, Idle, Window, LEAST_SSTHRESH};

/// `C`, segments/s^3 (`bic_scale` of 41, in units of 10/1024).
const C: f64 = 410.0 / 1024.0;
/// Multiplicative decrease (`beta`).
const BETA: f64 = 717.0 / 1024.0;
/// Acknowledged segments per segment of Reno-friendly growth, over cwnd (`beta_scale` over 8).
const FRIENDLY: f64 = 15.0 / 8.0;
/// `cnt` is at most the first before the first loss, and never below the second.
const MOST_BEFORE_LOSS: f64 = 20.0;
const LEAST: f64 = 2.0;
/// While cwnd is unchanged, `cnt` is not updated again within this time, s (`HZ / 32`).
const PAUSE: f64 = 1.0 / 32.0;
/// RTTs within this time after the start of an epoch do not count for the min RTT, s.
const UNTRUSTED: f64 = 1.0;

#[derive(Clone, Debug)]
struct Epoch {
    begun: f64,
    k: f64,
    origin: f64,
    acked: f64,
    friendly: f64,
}

/// The state of Linux's CUBIC.
#[derive(Clone, Debug)]
pub struct LinuxCubic {
    slow_start: SlowStart,
    epoch: Option<Epoch>,
    last_max: f64,
    min_rtt: f64,
    cnt: f64,
    credit: f64,
    looked_at: (f64, f64),
}

impl LinuxCubic {
    /// CUBIC before any reduction.
    pub fn new(slow_start: SlowStart) -> Self {
        LinuxCubic {
            slow_start,
            epoch: None,
            last_max: 0.0,
            min_rtt: f64::INFINITY,
            cnt: 0.0,
            credit: 0.0,
            looked_at: (0.0, f64::NEG_INFINITY),
        }
    }

    /// `bictcp_update`.
    fn update(&mut self, cwnd: f64, segments: f64, now: f64) {
        let (last_cwnd, last_time) = self.looked_at;
        let now = (now / TICK).floor() * TICK;
        // Half a tick more, as sums of ticks are not exact.
        let pause = ((PAUSE / TICK).floor() + 0.5) * TICK;
        let same = last_cwnd == cwnd && now - last_time <= pause;
        if let Some(epoch) = &mut self.epoch {
            epoch.acked += segments;
        }
        if same {
            return;
        }
        let looked = now == last_time && self.epoch.is_some();
        if !looked {
            self.looked_at = (cwnd, now);
        }
        let last_max = self.last_max;
        let epoch = self.epoch.get_or_insert_with(|| {
            let (k, origin) =
                if last_max <= cwnd { (0.0, cwnd) } else { (libm::cbrt((last_max - cwnd) / C), last_max) };
            Epoch { begun: now, k, origin, acked: segments, friendly: cwnd }
        });
        if !looked {
            let ahead = if self.min_rtt.is_finite() { (self.min_rtt / TICK).ceil() * TICK } else { 0.0 };
            let x = now - epoch.begun + ahead - epoch.k;
            let change = (C * (x * x * x).abs()).floor();
            let target = if x < 0.0 { epoch.origin - change } else { epoch.origin + change };
            self.cnt = if target > cwnd { (cwnd / (target - cwnd)).floor() } else { 100.0 * cwnd };
            if last_max == 0.0 {
                self.cnt = self.cnt.min(MOST_BEFORE_LOSS);
            }
        }
        let step = (cwnd * FRIENDLY).floor();
        while epoch.acked > step {
            epoch.acked -= step;
            epoch.friendly += 1.0;
        }
        if epoch.friendly > cwnd {
            self.cnt = self.cnt.min((cwnd / (epoch.friendly - cwnd)).floor());
        }
        self.cnt = self.cnt.max(LEAST);
    }

    fn reduce(&mut self, cwnd: f64) -> f64 {
        self.slow_start.end();
        self.epoch = None;
        self.credit = 0.0;
        // Fast convergence.
        self.last_max = if cwnd < self.last_max { (cwnd * (1.0 + BETA) / 2.0).floor() } else { cwnd };
        (cwnd * BETA).floor().max(LEAST_SSTHRESH)
    }
}

impl Control for LinuxCubic {
    fn on_any_ack(&mut self, _: &mut Window, ack: &Acked) {
        let trusted = self.epoch.as_ref().is_none_or(|epoch| ack.now - epoch.begun >= UNTRUSTED);
        if let Some(rtt) = ack.rtt.filter(|_| trusted) {
            self.min_rtt = self.min_rtt.min(rtt);
        }
    }

    fn grow(&mut self, window: &mut Window, ack: &Acked) {
        let mut segments = ack.segments;
        if window.slow_start() {
            segments = self.slow_start.grow(window, ack);
            if segments <= 0.0 {
                return;
            }
        }
        self.update(window.cwnd, segments, ack.now);
        // `tcp_cong_avoid_ai`.
        if self.credit >= self.cnt {
            self.credit = 0.0;
            window.cwnd += 1.0;
        }
        self.credit += segments;
        if self.credit >= self.cnt {
            let more = (self.credit / self.cnt).floor();
            self.credit -= more * self.cnt;
            window.cwnd += more;
        }
    }

    fn on_idle_send(&mut self, _: &mut Window, idle: &Idle) {
        // `cubictcp_cwnd_event`: idle time does not count.
        if let Some(epoch) = &mut self.epoch {
            epoch.begun = (epoch.begun + (idle.time / TICK).round() * TICK).min(idle.now);
        }
    }

    fn on_loss(&mut self, window: &Window, _: f64, _: f64) -> f64 {
        self.reduce(window.cwnd)
    }

    fn on_timeout(&mut self, window: &Window, _: f64, _: f64) -> f64 {
        let ssthresh = self.reduce(window.cwnd);
        // `bictcp_reset`.
        self.last_max = 0.0;
        self.min_rtt = f64::INFINITY;
        self.slow_start.restart();
        ssthresh
    }
}

#[cfg(test)]
mod tests {
    use super::super::tests::acked;
    use super::super::HyStart;
    use super::*;

    fn reduced(cwnd: f64) -> (LinuxCubic, Window) {
        let mut cubic = LinuxCubic::new(SlowStart::new(f64::INFINITY, HyStart::Off));
        let ssthresh = cubic.on_loss(&Window { cwnd, ssthresh: 10.0 }, 0.0, 0.0);
        (cubic, Window { cwnd: ssthresh, ssthresh })
    }

    #[test]
    fn a_loss_leaves_717_of_1024_in_whole_segments() {
        let (cubic, window) = reduced(100.0);
        assert_eq!((window.cwnd, cubic.last_max), (70.0, 100.0));
        let (mut cubic, _) = reduced(100.0);
        // Fast convergence: 1741/2048 of 80.
        assert_eq!((cubic.on_loss(&Window { cwnd: 80.0, ssthresh: 70.0 }, 0.0, 1.0), cubic.last_max), (56.0, 68.0));
    }

    #[test]
    fn the_first_counts_by_hand() {
        let (mut cubic, mut window) = reduced(100.0);
        cubic.min_rtt = 0.1;
        // K = cbrt(30 / 0.40039) = 4.2158 s; the function at 0.1 s is 100 - floor(27.91) = 73: 70 / 3 segments for one.
        cubic.grow(&mut window, &Acked { now: 5.0, ..acked(1.0) });
        assert_eq!(cubic.cnt, 23.0);
        for _ in 0..21 {
            cubic.grow(&mut window, &Acked { now: 5.0, ..acked(1.0) });
        }
        assert_eq!(window.cwnd, 70.0);
        cubic.grow(&mut window, &Acked { now: 5.0, ..acked(1.0) });
        assert_eq!(window.cwnd, 71.0);
    }

    #[test]
    fn the_count_is_updated_once_a_tick() {
        let (mut cubic, mut window) = reduced(100.0);
        cubic.min_rtt = 0.0981;
        let mut at = |now: f64, segments: f64, window: &mut Window| {
            cubic.grow(window, &Acked { now, ..acked(segments) });
            (window.cwnd, cubic.cnt)
        };
        // 98.1 ms are 25 ticks, as 0.1 s above; 5.003 s lies in the tick that starts at 5 s.
        assert_eq!(at(5.003, 23.0, &mut window), (71.0, 23.0));
        // A cwnd of 71 would give 71/2, but not in the same tick.
        assert_eq!(at(5.0035, 1.0, &mut window), (71.0, 23.0));
        assert_eq!(at(5.0045, 1.0, &mut window), (71.0, 35.0));
    }

    #[test]
    fn above_the_function_a_hundred_windows_are_a_segment() {
        let (mut cubic, mut window) = reduced(100.0);
        cubic.grow(&mut window, &acked(1.0));
        window.cwnd = 99.0;
        // Near the end of the plateau, at K = 4.2158 s, the function is 100; with a round trip before it, 99 or less.
        cubic.last_max = 100.0;
        cubic.grow(&mut window, &Acked { now: 1.0, ..acked(1.0) });
        assert_eq!(cubic.cnt, 9900.0);
    }

    #[test]
    fn idle_time_moves_the_epoch_up_to_now_in_whole_ticks() {
        for (time, begun) in [(2.5, 3.5), (20.0, 10.0), (2.5019, 3.5), (2.5021, 3.504)] {
            let (mut cubic, mut window) = reduced(100.0);
            cubic.grow(&mut window, &Acked { now: 1.0, ..acked(1.0) });
            cubic.on_idle_send(&mut window, &Idle { now: 10.0, time, app_limited: true });
            let epoch = cubic.epoch.as_ref().expect("begun");
            assert!((epoch.begun - begun).abs() < 1e-9, "{time}: {}", epoch.begun);
        }
    }

    #[test]
    fn round_trips_of_the_first_second_after_a_reduction_do_not_count() {
        let (mut cubic, mut window) = reduced(100.0);
        cubic.min_rtt = 0.2;
        cubic.grow(&mut window, &Acked { now: 3.0, ..acked(1.0) });
        for (now, least) in [(3.5, 0.2), (3.999, 0.2), (4.0, 0.1)] {
            cubic.on_any_ack(&mut window, &Acked { now, rtt: Some(0.1), ..acked(1.0) });
            assert_eq!(cubic.min_rtt, least, "{now}");
        }
    }

    #[test]
    fn short_round_trips_follow_the_reno_friendly_window_and_never_faster() {
        let (mut cubic, mut window) = reduced(20.0);
        let mut now = 0.0;
        for _ in 0..40 {
            let acks = window.cwnd as usize;
            for _ in 0..acks {
                cubic.grow(&mut window, &Acked { now, rtt: Some(0.01), ..acked(1.0) });
                now += 0.01 / acks as f64;
            }
        }
        // From 14 the window grows by 8/15 a round trip: 21.3 in 40, even beyond 20, where RFC 9438 goes on by 1.
        assert!((window.cwnd - (14.0 + 40.0 * 8.0 / 15.0)).abs() <= 3.0, "{}", window.cwnd);
    }

    #[test]
    fn after_a_timeout_cwnd_grows_by_a_twentieth() {
        let (mut cubic, _) = reduced(100.0);
        let ssthresh = cubic.on_timeout(&Window { cwnd: 40.0, ssthresh: 30.0 }, 0.0, 1.0);
        let mut window = Window { cwnd: ssthresh, ssthresh };
        cubic.grow(&mut window, &Acked { now: 2.0, rtt: Some(0.1), ..acked(1.0) });
        assert_eq!((cubic.last_max, cubic.cnt), (0.0, 20.0));
    }
}
