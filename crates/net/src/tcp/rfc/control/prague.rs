//! TCP Prague: a scalable control for L4S (RFC 9331, section 4), as in its reference code, version 0.6 (`tcp_prague.c`,
//! of which functions are named), with the fractional window of the draft
//! (draft-briscoe-iccrg-prague-congestion-control).
//!
//! Its segments are ECT(1), marks are counted by accurate ECN, sending is paced at a window of packets per SRTT. Marks
//! reduce cwnd by half of their average fraction, a loss halves it; an ACK grows it by its unmarked segments. An old
//! flow whose RTT is below 25 ms (`rtt_target`) acts as if it were 25 ms. Reductions take effect by one segment an ACK.

use super::classic_ecn::ClassicEcn;
use super::slow_start::SlowStart;
use super::{Acked, Control, Window, LEAST_SSTHRESH};
use crate::tcp::output::Variable;

/// Gain of the marked fraction's average (`PRAGUE_SHIFT_G`).
const G: f64 = 1.0 / 16.0;
/// Multiplicative decrease for a loss (`prague_enter_loss`).
const LOSS_BETA: f64 = 0.5;
/// Round trips after slow start from which on a flow is independent of the RTT (`prague_rtt_transition`).
const TRANSITION_ROUNDS: u32 = 500;
/// Smallest cwnd, segments (`MIN_CWND`). Below it only the pacing rate falls, to the next, bytes/s (ours: 100 kbit/s).
const LEAST_CWND: f64 = 2.0;
const LEAST_RATE: f64 = 12_500.0;
/// Pacing rate over that of a window per SRTT: below half of ssthresh, and above (`prague_update_pacing_rate`).
const PACING_IN_SLOW_START: f64 = 2.0;
const PACING: f64 = 1.0;

/// A round trip that has ended: when, s, and the next sequence number to send then.
#[derive(Clone, Copy, Debug)]
struct Round {
    at: f64,
    next: u64,
}

/// The state of Prague.
#[derive(Clone, Debug)]
pub struct Prague {
    /// Bytes of a segment, and of its packet.
    mss: f64,
    mtu: f64,
    slow_start: SlowStart,
    /// Shorter RTTs count as this, s.
    rtt_target: f64,
    /// Average of the marked fraction; 1 until a first mark shows that there is an AQM on the path (`saw_ce`).
    alpha: f64,
    saw_mark: bool,
    /// Segments delivered and marked in this round trip, and its end.
    delivered: f64,
    marked: f64,
    round_end: u64,
    /// The round that the last ACK has ended. It is processed with the next ACK, as reductions come first.
    ended: Option<Round>,
    alpha_stamp: f64,
    /// Round trips since the end of slow start.
    rounds: u32,
    last_cut: f64,
    srtt: f64,
    /// The window with fractions, segments: cwnd is that, at least two. `cwnd` is its last setting.
    window: f64,
    cwnd: f64,
    ssthresh: f64,
    /// Segments in flight.
    in_flight: f64,
    /// Segments by which the window is still to be reduced (`cwnd_cnt`).
    owed: f64,
    classic: Option<ClassicEcn>,
}

impl Prague {
    /// Shorter RTTs count as this by default, s (`prague_rtt_target`).
    pub const RTT_TARGET: f64 = 0.025;

    /// Prague before any mark; segments have `mss` bytes, their packets `mtu`, RTTs below `rtt_target` s count as that.
    /// With `fallback` it reduces as CUBIC would if marks seem to come from a classic queue.
    pub fn new(mss: f64, mtu: f64, slow_start: SlowStart, rtt_target: f64, fallback: bool) -> Self {
        Prague {
            mss,
            mtu,
            slow_start,
            rtt_target,
            alpha: 1.0,
            saw_mark: false,
            delivered: 0.0,
            marked: 0.0,
            round_end: 0,
            ended: None,
            alpha_stamp: 0.0,
            rounds: 0,
            last_cut: f64::NEG_INFINITY,
            srtt: 0.0,
            window: 0.0,
            cwnd: 0.0,
            ssthresh: f64::INFINITY,
            in_flight: 0.0,
            owed: 0.0,
            classic: fallback.then(ClassicEcn::default),
        }
    }

    /// Whether the flow acts as if its RTT were at least the target (`prague_is_rtt_indep`).
    fn is_rtt_independent(&self) -> bool {
        self.cwnd >= self.ssthresh && self.rounds >= TRANSITION_ROUNDS
    }

    /// Takes over a window that others have set: at the start, in a recovery, after a timeout.
    fn follow(&mut self, window: &Window) {
        if window.cwnd != self.cwnd && (window.cwnd > LEAST_CWND || self.window > LEAST_CWND || self.window == 0.0) {
            self.window = window.cwnd;
        }
        (self.cwnd, self.ssthresh) = (window.cwnd, window.ssthresh);
    }

    /// Sets cwnd from the window with fractions.
    fn set(&mut self, window: &mut Window) {
        let least = (LEAST_RATE * self.srtt / self.mtu).min(LEAST_CWND);
        self.window = self.window.max(least);
        self.cwnd = self.window.max(LEAST_CWND);
        window.cwnd = self.cwnd;
    }

    /// Reduces the window by one segment of what is owed, at most.
    fn pay(&mut self) {
        let part = self.owed.min(1.0);
        self.window -= part;
        self.owed -= part;
    }

    /// A round trip has ended (`prague_update_alpha`, `prague_new_round`).
    fn end_round(&mut self, round: Round, min_rtt: f64) {
        if self.saw_mark {
            if let Some(classic) = &mut self.classic {
                classic.on_round(min_rtt);
            }
            let fraction = if self.delivered > 0.0 { (self.marked / self.delivered).min(1.0) } else { 0.0 };
            self.alpha = ((1.0 - G) * self.alpha + G * fraction).min(1.0);
            self.alpha_stamp = round.at;
        }
        (self.delivered, self.marked, self.round_end) = (0.0, 0.0, round.next);
        self.rounds = self.rounds.saturating_add(u32::from(self.cwnd >= self.ssthresh));
    }

    /// Growth by a segment per cwnd, or per `rtt_target` and as fast as at that RTT (`prague_rate_scaled_ai_ack_increase`).
    fn increase(&self) -> f64 {
        if self.rounds < TRANSITION_ROUNDS || self.srtt <= 0.0 || self.srtt >= self.rtt_target {
            1.0
        } else {
            let ratio = self.srtt / self.rtt_target;
            ratio * ratio
        }
    }
}

impl Control for Prague {
    fn pacing_rate(&self) -> Option<f64> {
        let factor = if self.cwnd < self.ssthresh / 2.0 { PACING_IN_SLOW_START } else { PACING };
        // Below the least cwnd only the rate falls.
        let window = if self.window < LEAST_CWND { self.window } else { self.window.max(self.in_flight) };
        // The rate counts packets, by which payload is paced (`tcp_update_skb_after_send`). Without an ACK of data the
        // first window is a burst.
        (self.srtt > 0.0 && self.window > 0.0).then(|| factor * self.mtu / self.mss * window / self.srtt)
    }

    fn on_any_ack(&mut self, window: &mut Window, ack: &Acked) {
        self.follow(window);
        if let Some(round) = self.ended.take() {
            self.end_round(round, ack.min_rtt);
        }
        (self.srtt, self.in_flight) = (ack.srtt, ack.pipe);
        if let (Some(classic), Some(rtt)) = (&mut self.classic, ack.rtt) {
            classic.on_rtt(rtt, self.ssthresh);
        }
        self.delivered += ack.delivered;
        self.marked += ack.marked;
        self.saw_mark |= ack.marked > 0.0;
        let due = !self.is_rtt_independent() || ack.now - self.alpha_stamp >= self.rtt_target;
        if ack.una >= self.round_end && due {
            self.ended = Some(Round { at: ack.now, next: ack.next });
        }
        if self.owed > 0.0 && !ack.recovering {
            self.pay();
            self.set(window);
            // A larger ssthresh would make the reduction lead into slow start.
            self.ssthresh = self.cwnd;
            window.ssthresh = self.cwnd;
        }
    }

    fn gauges(&self, note: &mut dyn FnMut(Variable, f64)) {
        note(Variable::Alpha, self.alpha);
    }

    fn grows_with_marks(&self) -> bool {
        true
    }

    fn grow(&mut self, window: &mut Window, ack: &Acked) {
        self.follow(window);
        let mut segments = (ack.delivered - ack.marked).max(0.0);
        if window.slow_start() {
            let unmarked = Acked { segments, ..*ack };
            segments = self.slow_start.grow(window, &unmarked);
            self.follow(window);
        }
        let grown = self.increase() * segments / self.window.max(1.0);
        let kept = (grown - self.owed).max(0.0);
        self.owed = (self.owed - grown).max(0.0);
        self.window += kept;
        self.set(window);
    }

    fn on_loss(&mut self, window: &Window, _: f64, _: f64) -> f64 {
        self.follow(window);
        self.slow_start.end();
        self.owed = 0.0;
        if self.window < LEAST_CWND {
            self.window *= LOSS_BETA;
        }
        (LOSS_BETA * window.cwnd).max(LEAST_SSTHRESH)
    }

    fn on_mark(&mut self, window: &Window, _: f64, now: f64) -> f64 {
        self.follow(window);
        self.slow_start.end();
        if self.is_rtt_independent() && now - self.last_cut < self.rtt_target {
            return window.cwnd;
        }
        self.last_cut = now;
        let alpha = self.classic.as_ref().map_or(self.alpha, |classic| classic.at_least(self.alpha));
        self.owed += alpha * self.window / 2.0;
        self.pay();
        let mut reduced = *window;
        self.set(&mut reduced);
        reduced.cwnd
    }
}

#[cfg(test)]
mod tests {
    use super::super::tests::acked;
    use super::super::HyStart;
    use super::*;

    fn prague(cwnd: f64, ssthresh: f64) -> (Prague, Window) {
        (
            Prague::new(1448.0, 1500.0, SlowStart::new(f64::INFINITY, HyStart::Off), Prague::RTT_TARGET, false),
            Window { cwnd, ssthresh },
        )
    }

    /// An ACK of one segment, `number` of the flow, with 40 outstanding and an RTT of `srtt` seconds.
    fn ack(number: u64, now: f64, srtt: f64, marked: bool) -> Acked {
        Acked { now, una: number, next: number + 40, srtt, marked: f64::from(u8::from(marked)), ..acked(1.0) }
    }

    /// `rounds` round trips of 40 unmarked segments, from segment `first` and time `from` on; returns the next of both.
    fn rounds(prague: &mut Prague, window: &mut Window, rounds: u64, first: u64, from: f64, srtt: f64) -> (u64, f64) {
        let mut now = from;
        for number in first..first + 40 * rounds {
            now += srtt / 40.0;
            prague.on_any_ack(window, &ack(number, now, srtt, false));
        }
        (first + 40 * rounds, now)
    }

    #[test]
    fn the_first_mark_halves_by_a_segment_an_ack() {
        let (mut prague, mut window) = prague(40.0, 20.0);
        let (number, now) = rounds(&mut prague, &mut window, 10, 1, 0.0, 0.1);
        assert_eq!((prague.alpha, window.cwnd), (1.0, 40.0), "no mark, no average");
        prague.on_any_ack(&mut window, &ack(number, now, 0.1, true));
        window.cwnd = prague.on_mark(&window, 40.0, now);
        assert_eq!(window.cwnd, 39.0);
        for k in 1..30 {
            prague.on_any_ack(&mut window, &ack(number + k, now, 0.1, false));
        }
        assert_eq!(window.cwnd, 20.0);
        // That round trip has one mark among 40 segments, the two after it have none.
        rounds(&mut prague, &mut window, 2, number + 30, now, 0.1);
        assert!((prague.alpha - (15.0 / 16.0 + 1.0 / 640.0) * (15.0_f64 / 16.0).powi(2)).abs() < 1e-9);
    }

    #[test]
    fn slow_start_grows_by_all_unmarked_segments_and_ends_with_a_mark() {
        let (mut prague, mut window) = prague(10.0, f64::INFINITY);
        prague.grow(&mut window, &Acked { srtt: 0.1, marked: 1.0, ..acked(5.0) });
        assert_eq!(window.cwnd, 14.0);
        assert!(prague.on_mark(&window, 14.0, 1.0) < 14.0);
    }

    #[test]
    fn unmarked_segments_grow_cwnd() {
        let (mut prague, mut window) = prague(20.0, 10.0);
        prague.grow(&mut window, &Acked { marked: 1.0, srtt: 0.1, ..acked(3.0) });
        assert_eq!(window.cwnd, 20.1);
    }

    #[test]
    fn a_short_round_trip_counts_as_25_ms_after_500_of_them() {
        let (mut prague, mut window) = prague(40.0, 20.0);
        let (number, now) = rounds(&mut prague, &mut window, 450, 1, 0.0, 0.0125);
        prague.grow(&mut window, &ack(number, now, 0.0125, false));
        assert_eq!(window.cwnd, 40.025, "young: a segment per cwnd");
        window.cwnd = 40.0;
        let (number, now) = rounds(&mut prague, &mut window, 150, number, now, 0.0125);
        prague.grow(&mut window, &ack(number, now, 0.0125, false));
        assert_eq!(window.cwnd, 40.0 + 0.25 / 40.0);
        // Neither average nor window moves twice in 25 ms.
        let stamp = prague.alpha_stamp;
        prague.on_any_ack(&mut window, &ack(number, now, 0.0125, true));
        assert!(prague.on_mark(&window, 40.0, now) < window.cwnd);
        assert_eq!(prague.on_mark(&window, 40.0, now + 0.02), window.cwnd);
        assert!(prague.on_mark(&window, 40.0, now + 0.026) < window.cwnd);
        let (number, now) = rounds(&mut prague, &mut window, 4, number, now, 0.0125);
        let first = prague.alpha_stamp;
        assert!(first > stamp);
        let mut stamps = vec![first];
        for k in 0..160 {
            prague.on_any_ack(&mut window, &ack(number + k, now + k as f64 * 0.0125 / 40.0, 0.0125, false));
            if stamps.last() != Some(&prague.alpha_stamp) {
                stamps.push(prague.alpha_stamp);
            }
        }
        assert!(stamps.len() >= 2 && stamps.windows(2).all(|two| two[1] - two[0] >= Prague::RTT_TARGET), "{stamps:?}");
    }

    #[test]
    fn with_a_target_of_nothing_an_old_flow_grows_as_a_young_one() {
        let (mut prague, mut window) = prague(40.0, 20.0);
        prague.rtt_target = 0.0;
        let (number, now) = rounds(&mut prague, &mut window, 600, 1, 0.0, 0.0125);
        prague.grow(&mut window, &ack(number, now, 0.0125, false));
        assert_eq!(window.cwnd, 40.025);
        prague.on_any_ack(&mut window, &ack(number, now, 0.0125, true));
        window.cwnd = prague.on_mark(&window, 40.0, now);
        assert!(prague.on_mark(&window, 40.0, now + 0.0126) < window.cwnd, "reduced again a round trip later");
    }

    #[test]
    fn a_loss_halves() {
        let (mut prague, window) = prague(40.0, 20.0);
        assert_eq!(prague.on_loss(&window, 60.0, 1.0), 20.0);
        assert_eq!(prague.on_loss(&Window { cwnd: 3.0, ssthresh: 2.0 }, 3.0, 1.0), 2.0);
    }

    #[test]
    fn it_is_paced_at_its_window_of_packets_per_round_trip_and_in_slow_start_at_twice_that() {
        let (mut first, mut window) = prague(10.0, f64::INFINITY);
        assert_eq!(first.pacing_rate(), None);
        first.on_any_ack(&mut window, &ack(1, 0.1, 0.1, false));
        assert_eq!(first.pacing_rate(), Some(2.0 * 1500.0 / 1448.0 * 10.0 / 0.1));
        let (mut later, mut window) = prague(10.0, 10.0);
        later.on_any_ack(&mut window, &ack(1, 0.1, 0.1, false));
        assert_eq!(later.pacing_rate(), Some(1500.0 / 1448.0 * 10.0 / 0.1));
        later.on_any_ack(&mut window, &Acked { pipe: 14.0, ..ack(2, 0.1, 0.1, false) });
        assert_eq!(later.pacing_rate(), Some(1500.0 / 1448.0 * 14.0 / 0.1), "more is in flight than cwnd");
    }

    #[test]
    fn below_two_segments_only_the_pacing_rate_falls() {
        let (mut prague, mut window) = prague(2.0, 2.0);
        prague.on_any_ack(&mut window, &ack(1, 0.1, 0.1, true));
        window.cwnd = prague.on_mark(&window, 2.0, 0.1);
        assert_eq!((window.cwnd, prague.pacing_rate()), (2.0, Some(1500.0 / 1448.0 * 1.0 / 0.1)));
        for k in 1..60_u32 {
            let now = 0.1 + f64::from(k);
            prague.on_any_ack(&mut window, &ack(1 + 40 * u64::from(k), now, 0.1, true));
            window.cwnd = prague.on_mark(&window, 2.0, now);
        }
        let least = LEAST_RATE / 1448.0;
        assert!(window.cwnd == 2.0 && (prague.pacing_rate().unwrap() - least).abs() < 1e-9, "100 kbit/s");
        // A recovery that ends at two segments does not raise the window.
        window.ssthresh = prague.on_loss(&window, 2.0, 70.0);
        window.cwnd = window.ssthresh;
        prague.on_any_ack(&mut window, &ack(4000, 70.0, 0.1, false));
        assert!(prague.pacing_rate().unwrap() < 20.0);
    }

    #[test]
    fn the_balance_of_growth_and_marks() {
        // Two marks a round trip balance growth by one segment: alpha W / 2 (RFC 9331, B.1, with 2/p).
        let (mut prague, mut window) = prague(40.0, 10.0);
        let (mut una, mut sum) = (1_u64, 0.0);
        for round in 0..400 {
            for i in 0..40 {
                una += 1;
                let marked = if i < 2 { 1.0 } else { 0.0 };
                let ack = Acked { una, next: una + 40, marked, srtt: 0.1, ..acked(1.0) };
                prague.on_any_ack(&mut window, &ack);
                if i == 0 {
                    window.cwnd = prague.on_mark(&window, window.cwnd, f64::from(round));
                }
                prague.grow(&mut window, &ack);
            }
            if round >= 200 {
                sum += window.cwnd;
            }
        }
        let mean = sum / 200.0;
        assert!((mean - 39.0).abs() < 2.5, "{mean}");
    }
}
