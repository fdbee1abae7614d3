//! BBRv3 by the draft's rules: states and their exits, gains, bounds, ProbeRTT. Numbers are segments and seconds.

use super::super::tests::acked;
use super::super::Algorithm;
use super::state::{AckPhase, State};
use super::*;
use crate::tcp::rfc::rate::Sample;
use crate::tcp::rfc::rules::PacingRules;
use crate::tcp::rfc::settings::{ControlKind, Settings};

/// A path of 1000 segments/s and 0.1 s, whose bandwidth-delay product is 100 segments.
const RATE: f64 = 1000.0;
const RTT: f64 = 0.1;

/// A flow and its window, with a count of what is delivered and the time.
struct Flow {
    bbr: Bbr3,
    window: Window,
    delivered: f64,
    now: f64,
}

impl Flow {
    fn new() -> Self {
        let mut bbr = Bbr3::new(3.0, true);
        bbr.on_open(10.0, RTT, 0.0);
        Flow { bbr, window: Window { cwnd: 10.0, ssthresh: f64::INFINITY }, delivered: 0.0, now: 0.0 }
    }

    /// An ACK that ends a round trip, with this rate sample and `pipe` segments in flight.
    fn round(&mut self, rate: f64, pipe: f64) {
        let prior_delivered = self.delivered;
        self.delivered += 100.0;
        self.now += RTT;
        self.ack(prior_delivered, Some(rate), pipe, 1.0, &acked(1.0));
    }

    /// An ACK with these values, and the rest as in `like`.
    fn ack(&mut self, prior_delivered: f64, rate: Option<f64>, pipe: f64, delivered: f64, like: &Acked) {
        let sample = Sample { rate, prior_delivered, delivered: self.delivered, app_limited: false };
        let ack = Acked {
            now: self.now,
            rtt: Some(like.rtt.unwrap_or(RTT)),
            srtt: RTT,
            pipe,
            pipe_before: pipe + delivered,
            delivered,
            rate: Some(sample),
            tx_in_flight: if like.tx_in_flight > 0.0 { like.tx_in_flight } else { pipe },
            ..*like
        };
        self.bbr.on_any_ack(&mut self.window, &ack);
    }

    /// A flow that has passed Startup and Drain and is in ProbeBW_DOWN.
    fn full() -> Self {
        let mut flow = Flow::new();
        flow.round(RATE, 400.0);
        for _ in 0..3 {
            flow.round(RATE, 400.0);
        }
        assert_eq!(flow.bbr.state, State::Drain);
        for _ in 0..4 {
            flow.round(RATE, 300.0);
        }
        assert_eq!(flow.bbr.state, State::ProbeBwDown);
        flow.window.cwnd = 200.0;
        flow
    }

    /// A flow in ProbeBW_UP, with 95 segments in flight.
    fn up() -> Self {
        let mut flow = Flow::full();
        flow.now += 3.1;
        flow.round(RATE, 95.0);
        assert_eq!(flow.bbr.state, State::ProbeBwRefill);
        flow.round(RATE, 95.0);
        assert_eq!(flow.bbr.state, State::ProbeBwUp);
        flow
    }

    fn lose(&mut self, number: u64, tx_in_flight: f64, lost_since_sent: f64) {
        let lost = LostSegment {
            now: self.now,
            number,
            tx_in_flight,
            lost_since_sent,
            app_limited: false,
            delivered: self.delivered,
        };
        self.bbr.on_lost(&self.window, &lost);
    }
}

#[test]
fn gains_of_each_state() {
    let mut flow = Flow::new();
    for (state, pacing, cwnd) in [
        (State::Startup, 2.7726, 2.0),
        (State::Drain, 0.5, 2.0),
        (State::ProbeBwDown, 0.9, 2.0),
        (State::ProbeBwCruise, 1.0, 2.0),
        (State::ProbeBwRefill, 1.0, 2.0),
        (State::ProbeBwUp, 1.25, 2.25),
        (State::ProbeRtt, 1.0, 0.5),
    ] {
        flow.bbr.state = state;
        assert!((flow.bbr.pacing_gain() - pacing).abs() < 1e-4, "{state:?}");
        assert_eq!(flow.bbr.cwnd_gain(), cwnd, "{state:?}");
    }
}

#[test]
fn startup_ends_after_three_round_trips_without_growth_by_a_quarter() {
    let mut flow = Flow::new();
    assert!((flow.bbr.pacing_rate().unwrap() - 277.26).abs() < 0.01, "2.77 initial windows in the handshake's RTT");
    for rate in [200.0, 400.0, 800.0, RATE, 1100.0, 1100.0] {
        flow.round(rate, 400.0);
        assert_eq!(flow.bbr.state, State::Startup);
    }
    // The rate last grew by a quarter at 1000; this is the third round trip after that.
    flow.round(1100.0, 400.0);
    assert_eq!((flow.bbr.state, flow.bbr.full_bw_reached), (State::Drain, true));
}

#[test]
fn application_limited_samples_neither_fill_the_pipe_nor_lower_the_bandwidth() {
    let mut flow = Flow::new();
    flow.round(RATE, 400.0);
    for _ in 0..6 {
        let prior = flow.delivered;
        flow.delivered += 10.0;
        flow.now += RTT;
        let sample = Sample { rate: Some(50.0), prior_delivered: prior, delivered: flow.delivered, app_limited: true };
        flow.bbr.on_any_ack(&mut flow.window, &Acked { now: flow.now, rate: Some(sample), ..acked(1.0) });
    }
    assert_eq!((flow.bbr.state, flow.bbr.bw()), (State::Startup, RATE));
}

/// A flow after `ranges` separate losses, each at this rate, in a round trip of a recovery in Startup.
fn lossy_startup(lost: f64, ranges: u64) -> Flow {
    let mut flow = Flow::new();
    flow.round(RATE, 200.0);
    flow.bbr.on_loss(&flow.window, 0.0, 0.0);
    for k in 0..ranges {
        flow.lose(10 * k, 200.0, lost);
    }
    let prior = flow.delivered;
    flow.delivered += 150.0;
    flow.now += RTT;
    let like = Acked { recovering: true, lost_since_sent: lost, tx_in_flight: 200.0, ..acked(1.0) };
    flow.ack(prior, Some(RATE), 200.0, 1.0, &like);
    flow
}

#[test]
fn startup_ends_with_six_losses_in_a_round_trip_above_two_percent() {
    let flow = lossy_startup(6.0, 6);
    assert_eq!((flow.bbr.state, flow.bbr.inflight_longterm), (State::Drain, 150.0), "what was delivered in it");
    assert_eq!(lossy_startup(6.0, 5).bbr.state, State::Startup, "five ranges");
    assert_eq!(lossy_startup(4.0, 6).bbr.state, State::Startup, "two percent");
}

#[test]
fn drain_ends_with_a_bandwidth_delay_product_in_flight_or_after_three_round_trips() {
    let mut flow = Flow::full();
    assert!((flow.bbr.pacing_rate().unwrap() - 0.9 * 0.99 * RATE).abs() < 1e-9, "ProbeBW_DOWN follows");
    flow.bbr.state = State::Drain;
    flow.bbr.drain_start_round = flow.bbr.round_count;
    for _ in 0..3 {
        flow.round(RATE, 300.0);
        assert_eq!(flow.bbr.state, State::Drain);
    }
    flow.round(RATE, 300.0);
    assert_eq!(flow.bbr.state, State::ProbeBwDown);
}

#[test]
fn the_cycle_by_wall_clock() {
    let mut flow = Flow::full();
    let wait = flow.bbr.bw_probe_wait;
    assert!((2.0..3.0).contains(&wait), "{wait}");
    // DOWN lasts until in flight is below the bandwidth-delay product; then comes CRUISE.
    flow.round(RATE, 101.0);
    assert_eq!(flow.bbr.state, State::ProbeBwDown);
    flow.round(RATE, 100.0);
    assert_eq!(flow.bbr.state, State::ProbeBwCruise);
    let start = flow.bbr.cycle_stamp;
    flow.bbr.rounds_since_probe_up = 0;
    while flow.bbr.state == State::ProbeBwCruise {
        assert!(flow.now < start + wait + RTT);
        flow.round(RATE, 100.0);
    }
    assert!(flow.bbr.state == State::ProbeBwRefill && flow.now > start + wait);
    // A round trip later comes UP, which lasts until three round trips have not raised the rate.
    flow.round(RATE, 100.0);
    assert_eq!(flow.bbr.state, State::ProbeBwUp);
    for _ in 0..2 {
        flow.round(RATE, 150.0);
        assert_eq!(flow.bbr.state, State::ProbeBwUp);
    }
    flow.round(RATE, 150.0);
    assert_eq!((flow.bbr.state, flow.bbr.prev_probe_too_high), (State::ProbeBwDown, false));
}

#[test]
fn a_flow_with_a_small_window_probes_as_often_as_reno_would() {
    let mut flow = Flow::full();
    flow.bbr.max_bw = [0.0, 80.0];
    flow.bbr.bw_probe_wait = f64::INFINITY;
    // A window of 8 segments gives 8 round trips, of which 0 or 1 has passed.
    flow.bbr.rounds_since_probe_up = 0;
    for _ in 0..7 {
        flow.round(80.0, 6.0);
        assert_ne!(flow.bbr.state, State::ProbeBwRefill);
    }
    flow.round(80.0, 6.0);
    assert_eq!(flow.bbr.state, State::ProbeBwRefill);
}

#[test]
fn the_bandwidth_is_that_of_the_last_two_cycles() {
    let mut flow = Flow::full();
    // The ACK that starts DOWN also starts a round trip, and advances the filter.
    assert_eq!(flow.bbr.max_bw, [RATE, 0.0]);
    flow.round(700.0, 95.0);
    assert_eq!((flow.bbr.max_bw, flow.bbr.max_bandwidth()), ([RATE, 700.0], RATE));
    flow.bbr.advance_max_bw_filter();
    assert_eq!(flow.bbr.max_bandwidth(), 700.0);
    flow.bbr.advance_max_bw_filter();
    assert_eq!(flow.bbr.max_bandwidth(), 700.0, "a cycle without a sample");
}

#[test]
fn losses_above_two_percent_end_a_probe_and_set_the_long_term_bound() {
    let mut flow = Flow::up();
    flow.lose(500, 200.0, 4.0);
    assert_eq!(flow.bbr.state, State::ProbeBwUp, "two percent of 200");
    flow.lose(501, 200.0, 5.0);
    assert_eq!((flow.bbr.state, flow.bbr.prev_probe_too_high), (State::ProbeBwDown, true));
    // Before it 199 were in flight and 4 lost: (0.02 199 - 4) / 0.98 = -0.02 more.
    assert!((flow.bbr.inflight_longterm - 198.98).abs() < 0.01, "{}", flow.bbr.inflight_longterm);
    let bound = flow.bbr.inflight_longterm;
    flow.lose(502, 100.0, 50.0);
    assert_eq!(flow.bbr.inflight_longterm, bound, "once in a probe");
    // CRUISE leaves 15 % of the bound to others.
    assert!((flow.bbr.inflight_with_headroom() - 0.85 * bound).abs() < 1e-9);
    let mut flow = Flow::up();
    flow.lose(500, 30.0, 5.0);
    assert_eq!(flow.bbr.inflight_longterm, 0.7 * 100.0, "not below 0.7 of what it wants in flight");
}

#[test]
fn after_a_probe_that_went_too_high_the_next_stops_at_the_bound_and_then_goes_on() {
    let mut flow = Flow::up();
    flow.lose(500, 150.0, 10.0);
    let bound = flow.bbr.inflight_longterm;
    flow.now += 3.1;
    flow.bbr.probe_rtt_min_stamp = flow.now;
    flow.round(RATE, 90.0);
    assert_eq!(flow.bbr.state, State::ProbeBwRefill);
    flow.round(RATE, 90.0);
    assert_eq!(flow.bbr.state, State::ProbeBwUp);
    flow.round(RATE, bound);
    assert_eq!((flow.bbr.state, flow.bbr.prev_probe_precautionary), (State::ProbeBwDown, true));
    // After a round trip without too many losses it probes at once again.
    flow.round(RATE, 90.0);
    assert_eq!((flow.bbr.state, flow.bbr.prev_probe_precautionary), (State::ProbeBwRefill, false));
}

#[test]
fn the_long_term_bound_grows_while_it_limits_by_one_two_four_segments_a_cwnd() {
    let mut flow = Flow::up();
    flow.bbr.inflight_longterm = 100.0;
    flow.window.cwnd = 100.0;
    // bw_probe_up_rounds is 1 by now: ACKs for a whole cwnd raise the bound by a segment.
    flow.bbr.probe_up_acked_per_inc = 100.0;
    for _ in 0..99 {
        flow.ack(flow.delivered - 200.0, None, 99.0, 1.0, &acked(1.0));
    }
    assert_eq!(flow.bbr.inflight_longterm, 100.0);
    flow.ack(flow.delivered - 200.0, None, 99.0, 1.0, &acked(1.0));
    assert_eq!(flow.bbr.inflight_longterm, 101.0);
    flow.round(RATE, 100.0);
    assert!(
        (flow.bbr.probe_up_acked_per_inc - flow.window.cwnd / 2.0).abs() < 1.0,
        "{}",
        flow.bbr.probe_up_acked_per_inc
    );
}

#[test]
fn losses_outside_of_probes_lower_the_short_term_bounds_once_in_a_round_trip() {
    let mut flow = Flow::full();
    flow.round(RATE, 95.0);
    flow.round(RATE, 95.0);
    assert_eq!(flow.bbr.state, State::ProbeBwCruise);
    flow.window.cwnd = 200.0;
    flow.lose(900, 100.0, 1.0);
    flow.round(850.0, 95.0);
    // The loss starts a round; the bounds follow at the round's end.
    assert_eq!(flow.bbr.bw(), RATE);
    flow.round(850.0, 95.0);
    assert!((flow.bbr.bw() - RATE).abs() < 1e-9 || flow.bbr.bw() >= 850.0, "{}", flow.bbr.bw());
    for _ in 0..2 {
        flow.lose(901, 100.0, 1.0);
        flow.round(500.0, 95.0);
        flow.round(500.0, 95.0);
    }
    assert!(flow.bbr.bw_shortterm < RATE && flow.bbr.bw_shortterm >= 0.7 * 0.7 * RATE, "{}", flow.bbr.bw_shortterm);
    assert!(flow.bbr.inflight_shortterm < 200.0 && flow.window.cwnd <= flow.bbr.inflight_shortterm);
    // REFILL forgets the short-term bounds.
    flow.now += 3.1;
    flow.round(500.0, 95.0);
    assert_eq!((flow.bbr.state, flow.bbr.bw_shortterm), (State::ProbeBwRefill, f64::INFINITY));
}

#[test]
fn probe_rtt_every_five_seconds_with_half_the_product_for_200_ms_and_a_round_trip() {
    let mut flow = Flow::full();
    flow.bbr.probe_rtt_min_stamp = flow.now - 4.85;
    flow.bbr.probe_rtt_min_delay = RTT;
    flow.round(RATE, 95.0);
    assert_ne!(flow.bbr.state, State::ProbeRtt, "5 s are not over");
    let before = flow.window.cwnd;
    flow.round(RATE, 95.0);
    assert_eq!((flow.bbr.state, flow.window.cwnd), (State::ProbeRtt, 50.0));
    assert!(flow.bbr.is_app_limited());
    // ProbeRTT's clock starts only when half the product is in flight.
    flow.round(RATE, 50.0);
    let done = flow.bbr.probe_rtt_done_stamp.expect("started");
    assert!((done - flow.now - 0.2).abs() < 1e-9);
    flow.round(RATE, 50.0);
    assert_eq!(flow.bbr.state, State::ProbeRtt);
    flow.round(RATE, 50.0);
    flow.round(RATE, 50.0);
    assert_eq!(flow.bbr.state, State::ProbeBwCruise);
    assert!(flow.window.cwnd >= before.min(200.0), "cwnd is restored: {}", flow.window.cwnd);
}

#[test]
fn the_min_rtt_is_valid_for_ten_seconds() {
    let mut flow = Flow::full();
    flow.bbr.min_rtt_stamp = flow.now - 9.0;
    flow.ack(flow.delivered - 1.0, Some(RATE), 95.0, 1.0, &Acked { rtt: Some(0.2), ..acked(1.0) });
    assert_eq!(flow.bbr.min_rtt, RTT);
    flow.now += 2.0;
    flow.bbr.probe_rtt_min_stamp = flow.now - 6.0;
    flow.ack(flow.delivered - 1.0, Some(RATE), 95.0, 1.0, &Acked { rtt: Some(0.2), ..acked(1.0) });
    assert_eq!(flow.bbr.min_rtt, 0.2);
}

#[test]
fn a_restart_from_idle_keeps_cwnd_and_is_paced_at_the_bandwidth() {
    let mut flow = Flow::up();
    let cwnd = flow.window.cwnd;
    let idle = |now, app_limited| Idle { now, time: 7.0, app_limited };
    flow.bbr.on_idle_send(&mut flow.window, &idle(flow.now + 7.0, false));
    assert!(flow.bbr.pacing_rate().unwrap() > RATE, "not application-limited");
    flow.bbr.on_idle_send(&mut flow.window, &idle(flow.now + 7.0, true));
    assert!((flow.bbr.pacing_rate().unwrap() - 0.99 * RATE).abs() < 1e-9 && flow.window.cwnd == cwnd);
    // The min RTT has expired, but the queue was empty: no ProbeRTT.
    flow.now += 7.0;
    flow.round(RATE, 95.0);
    assert_ne!(flow.bbr.state, State::ProbeRtt);
}

#[test]
fn a_mark_counts_as_losses_above_the_threshold() {
    let mut flow = Flow::up();
    flow.bbr.on_mark(&flow.window, 0.0, flow.now);
    assert_eq!((flow.bbr.state, flow.bbr.prev_probe_too_high), (State::ProbeBwDown, true));
    assert!(flow.bbr.inflight_longterm < f64::INFINITY);
    let mut flow = Flow::new();
    flow.round(RATE, 200.0);
    flow.bbr.on_mark(&flow.window, 0.0, flow.now);
    flow.round(RATE, 200.0);
    assert_eq!(flow.bbr.state, State::Drain);
}

#[test]
fn a_recovery_restores_cwnd_and_a_timeout_too() {
    let mut flow = Flow::full();
    flow.window.cwnd = 150.0;
    flow.bbr.on_timeout(&flow.window, 0.0, flow.now);
    flow.window.cwnd = 1.0;
    flow.ack(flow.delivered - 1.0, Some(RATE), 3.0, 1.0, &Acked { recovering: true, ..acked(1.0) });
    assert_eq!(flow.window.cwnd, 4.0, "MinPipeCwnd");
    flow.ack(flow.delivered - 1.0, Some(RATE), 3.0, 1.0, &acked(1.0));
    assert_eq!(flow.window.cwnd, 151.0);
}

#[test]
fn the_offload_budget_is_three_quanta_and_one_under_quic() {
    for (quic, budget) in [(false, 12.0), (true, 4.0)] {
        let settings = Settings {
            control: ControlKind::Bbr3,
            quic,
            pacing: PacingRules { burst: 4, ..PacingRules::default() },
            ..Settings::default()
        };
        let Algorithm::Bbr3(bbr) = settings.algorithm() else { panic!("not BBRv3") };
        assert_eq!(bbr.offload_budget, budget);
        // The bandwidth-delay product is below the budget.
        assert_eq!(bbr.quantization_budget(2.0), budget);
    }
}

#[test]
fn a_spurious_recovery_returns_to_the_state_that_losses_ended() {
    use State::{Drain, ProbeBwDown, ProbeBwRefill, ProbeBwUp, ProbeRtt, Startup};
    for (ended, now, then) in [
        (Some(Startup), Drain, Startup),
        (Some(Startup), Startup, Startup),
        (Some(Startup), ProbeRtt, ProbeRtt),
        (Some(ProbeBwUp), ProbeBwDown, ProbeBwRefill),
        (Some(ProbeBwUp), ProbeBwUp, ProbeBwUp),
        (Some(ProbeBwUp), ProbeRtt, ProbeRtt),
        (None, ProbeBwDown, ProbeBwDown),
    ] {
        let mut flow = Flow::full();
        flow.bbr.save_state_upon_loss();
        flow.bbr.saved.state = ended;
        flow.bbr.state = now;
        flow.bbr.handle_spurious_loss_detection(&mut flow.window);
        assert_eq!(flow.bbr.state, then, "{ended:?} {now:?}");
        assert_eq!(flow.bbr.saved.state, None);
    }
}

#[test]
fn a_probe_gets_feedback_from_the_next_round_on() {
    let mut flow = Flow::full();
    flow.bbr.ack_phase = AckPhase::ProbeStarting;
    for (round_start, phase) in [(false, AckPhase::ProbeStarting), (true, AckPhase::ProbeFeedback)] {
        flow.bbr.round_start = round_start;
        flow.bbr.adapt_long_term_model(&flow.window, &acked(1.0));
        assert_eq!(flow.bbr.ack_phase, phase);
    }
}
