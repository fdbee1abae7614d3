//! What ns-3.37's BBR (`tcp-bbr.cc`) does otherwise than the draft and Linux.

use crate::tcp::rfc::control::Acked;

/// Gain of pacing rate and cwnd in Startup.
pub const HIGH_GAIN: f64 = 2.89;
/// Headroom of cwnd, segments, and how many more in the ProbeBW phase that probes.
const QUANTA: f64 = 3.0;
const PROBING_QUANTA: f64 = 2.0;
/// The estimate of ACK aggregation starts again after so many bytes (`AckEpochAckedResetThresh`).
const ACK_EPOCH_BYTES: f64 = 4096.0;
/// A cwnd that limits nothing, segments: more than any receiver's window.
const UNLIMITED: f64 = 1e9;

/// ns-3's differences, each an option. All false: what Linux does, as far as the option concerns Linux, or the draft.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Ns3Rules {
    /// The min RTT is that of smoothed RTTs, not of samples.
    pub smoothed_rtt: bool,
    /// The pacing rate equals the bandwidth, not 1 % less.
    pub full_pacing_rate: bool,
    /// cwnd has headroom for three segments, five while probing, instead of Linux's quantization budget.
    pub quanta: bool,
    /// cwnd has headroom for aggregated ACKs, estimated by whole seconds instead of Linux's estimate.
    pub ack_aggregation: bool,
    /// Until there is a rate sample, the bandwidth is the initial window in the handshake's RTT, in whole milliseconds.
    /// cwnd grows until as much has been delivered. Startup's gain is 2.89.
    pub initial_bandwidth: bool,
    /// A round start persists until the next ACK that counts for rounds; a timeout is one too, and leaves the full
    /// pipe's bandwidth.
    pub round_start_persists: bool,
    /// Arrived retransmissions end the ProbeBW phase that probes, as losses do.
    pub retransmissions_end_probing: bool,
    /// The first segment of a recovery or after a timeout is not paced, and a timeout resets the pacer.
    pub unpaced_retransmission: bool,
    /// A partial ACK lets a segment go whatever cwnd and pacing rate are.
    pub partial_ack_sends: bool,
    /// Restarts from idle whenever nothing is in flight (draft, `HandleRestartFromIdle`, for a lack of data alone),
    /// from the first ProbeRTT on.
    pub idle_restart: bool,
    /// Rate samples of ProbeRTT are not application-limited.
    pub probe_rtt_samples_count: bool,
    /// A rate sample is held until a segment arrives that was sent when more had been delivered
    /// (`tcp-rate-ops.cc`).
    pub held_samples: bool,
    /// Recovery.
    pub recovery: Ns3Recovery,
}

/// What ns-3 does to cwnd in a recovery and after it.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Ns3Recovery {
    /// After a recovery cwnd is the bandwidth-delay product of Startup's end, which is ssthresh, and is not restored.
    pub exits_with_startup_bdp: bool,
    /// After a recovery within Startup cwnd is unlimited, as ssthresh is.
    pub unlimited_in_startup: bool,
    /// After a timeout cwnd is not restored.
    pub forgets_at_timeout: bool,
    /// Arrived retransmissions reduce cwnd as losses do.
    pub retransmissions_reduce: bool,
    /// Losses after a timeout do not reduce cwnd.
    pub timeout_losses_free: bool,
    /// Packet conservation lasts for the rest of the round trip, not for one of its own.
    pub conserves_rest_of_round: bool,
    /// A timeout ends packet conservation.
    pub grows_after_timeout: bool,
}

impl Ns3Recovery {
    /// Segments by which an ACK reduces cwnd.
    pub fn reduction(&self, ack: &Acked, after_timeout: bool) -> f64 {
        if self.timeout_losses_free && after_timeout {
            0.0
        } else if self.retransmissions_reduce && ack.recovering {
            (ack.lost - ack.lost_delivered).abs()
        } else {
            ack.lost
        }
    }

    /// cwnd after a recovery, if it is not restored. `startup_bdp` is known once Startup is over.
    pub fn exit_cwnd(&self, cwnd: f64, timed_out: bool, startup_bdp: Option<f64>) -> Option<f64> {
        match startup_bdp {
            _ if timed_out => self.forgets_at_timeout.then_some(cwnd),
            Some(bdp) => self.exits_with_startup_bdp.then_some(bdp),
            None => self.unlimited_in_startup.then_some(UNLIMITED),
        }
    }

    /// Whether cwnd wraps around to the smallest behind an unlimited Startup: ns-3 adds to the largest number of 32 bits.
    #[inline]
    pub fn cwnd_wraps(&self, cwnd: f64) -> bool {
        self.unlimited_in_startup && cwnd >= UNLIMITED
    }
}

/// A bandwidth-delay product with headroom, segments.
pub fn with_quanta(bdp: f64, probing: bool) -> f64 {
    let cwnd = bdp + QUANTA;
    if probing {
        cwnd + PROBING_QUANTA
    } else {
        cwnd
    }
}

/// Seconds of an ACK epoch for which delivery at the bandwidth is expected.
pub fn expected_time(epoch: f64) -> f64 {
    epoch.floor()
}

/// Whether an ACK epoch with so many bytes is over.
pub fn ends_ack_epoch(bytes: f64) -> bool {
    bytes >= ACK_EPOCH_BYTES
}

/// The bandwidth before the first sample, segments/s.
pub fn initial_bandwidth(initial_window: f64, rtt: f64) -> f64 {
    initial_window / ((rtt * 1e3).floor().max(1.0) / 1e3)
}

#[cfg(test)]
mod tests {
    use super::super::state::{Mode, MIN_CWND};
    use super::super::testing::{acked, fill, full, ns3, ns3_recovery, round, started};
    use super::super::{BbrRules, Control, Idle, Sample, Window};
    use super::*;

    #[test]
    fn samples_of_probe_rtt_are_not_app_limited() {
        for probe_rtt_samples_count in [false, true] {
            let rules = ns3(Ns3Rules { probe_rtt_samples_count, ..Ns3Rules::default() });
            let mut bbr = started(rules).0;
            assert!(!bbr.is_app_limited());
            bbr.mode = Mode::ProbeRtt { until: None, round_done: false };
            assert_eq!(bbr.is_app_limited(), !probe_rtt_samples_count);
        }
    }

    #[test]
    fn losses_after_a_timeout_are_free() {
        for (timeout_losses_free, cwnd) in [(false, 10.0), (true, 11.0)] {
            let recovery = Ns3Recovery { retransmissions_reduce: true, timeout_losses_free, ..Ns3Recovery::default() };
            let (mut bbr, mut window) = started(ns3_recovery(recovery));
            bbr.on_timeout(&window, 10.0, 0.0);
            bbr.set_cwnd(&mut window, &Acked { recovering: true, lost_delivered: 1.0, ..acked(1.0) });
            assert_eq!(window.cwnd, cwnd);
        }
    }

    #[test]
    fn packet_conservation_lasts_for_the_rest_of_the_round() {
        for (conserves_rest_of_round, conserves) in [(false, true), (true, false)] {
            let recovery = Ns3Recovery { conserves_rest_of_round, ..Ns3Recovery::default() };
            let (mut bbr, mut window) = started(ns3_recovery(recovery));
            round(&mut bbr, &mut window, 0.0, 100.0);
            // The round ends with what was sent at 100; the recovery starts at 150.
            let at = |prior_delivered, delivered| Acked {
                recovering: true,
                rate: Some(Sample { rate: Some(100.0), prior_delivered, delivered, app_limited: false }),
                ..acked(1.0)
            };
            bbr.on_any_ack(&mut window, &at(50.0, 150.0));
            assert!(bbr.recovery.packet_conservation);
            bbr.on_any_ack(&mut window, &at(100.0, 151.0));
            assert_eq!(bbr.recovery.packet_conservation, conserves);
        }
    }

    #[test]
    fn a_recovery_that_starts_with_a_round_does_not_conserve_packets() {
        // cwnd is what is in flight and delivered, less what is lost, and grows at once.
        for (conserves_rest_of_round, cwnd) in [(false, 1001.0), (true, 998.0)] {
            let recovery = Ns3Recovery { conserves_rest_of_round, ..Ns3Recovery::default() };
            let (mut bbr, mut window) = started(ns3_recovery(recovery));
            bbr.btl_bw.update(0, 1e6);
            (bbr.min_rtt.rtt, bbr.rounds.next_round_delivered, bbr.full_pipe.filled) = (1.0, 100.0, true);
            let sample = Sample { rate: Some(100.0), prior_delivered: 100.0, delivered: 150.0, app_limited: false };
            let ack = Acked { recovering: true, lost: 4.0, pipe: 1000.0, rate: Some(sample), srtt: 1.0, ..acked(1.0) };
            bbr.on_any_ack(&mut window, &ack);
            assert_eq!((bbr.recovery.packet_conservation, window.cwnd), (!conserves_rest_of_round, cwnd));
        }
    }

    #[test]
    fn a_timeout_leaves_the_bandwidth_of_the_full_pipe() {
        for (round_start_persists, full_bw) in [(false, 0.0), (true, 100.0)] {
            let (mut bbr, mut window) = started(ns3(Ns3Rules { round_start_persists, ..Ns3Rules::default() }));
            round(&mut bbr, &mut window, 0.0, 100.0);
            bbr.on_timeout(&window, 10.0, 0.0);
            assert_eq!((bbr.full_pipe.full_bw, bbr.rounds.round_start), (full_bw, true));
        }
    }

    #[test]
    fn a_restart_from_idle_is_paced_at_the_bandwidth() {
        for (idle_restart, probed, rate) in [(true, true, 99.0), (true, false, 124.0), (false, true, 124.0)] {
            let (mut bbr, mut window) = full(ns3(Ns3Rules { idle_restart, ..Ns3Rules::default() }));
            (window.cwnd, bbr.pacing_rate, bbr.has_probed_rtt) = (4.0, Some(124.0), probed);
            bbr.mode = Mode::ProbeBw { phase: 0, since: 5.0 };
            bbr.on_idle_send(&mut window, &Idle { now: 15.0, time: 1.0, app_limited: false });
            assert_eq!(bbr.pacing_rate, Some(rate));
            // Its ACK does not start ProbeRTT, though the min RTT has expired.
            bbr.update_min_rtt(&mut window, &Acked { now: 15.1, rtt: Some(0.2), ..acked(1.0) });
            let in_probe_rtt = matches!(bbr.mode, Mode::ProbeRtt { .. });
            assert_eq!((in_probe_rtt, bbr.min_rtt()), (!(idle_restart && probed), 0.2));
            // ProbeRTT ends if it is over.
            (bbr.mode, bbr.recovery.prior_cwnd) = (Mode::ProbeRtt { until: Some(14.0), round_done: true }, 20.0);
            bbr.on_idle_send(&mut window, &Idle { now: 15.2, time: 0.1, app_limited: false });
            let in_probe_bw = matches!(bbr.mode, Mode::ProbeBw { .. });
            assert_eq!((in_probe_bw, window.cwnd >= 20.0), (idle_restart, idle_restart));
        }
    }

    #[test]
    fn the_initial_bandwidth_is_the_initial_window_in_an_rtt() {
        let (mut bbr, mut window) = started(ns3(Ns3Rules { initial_bandwidth: true, ..Ns3Rules::default() }));
        // 40.9 ms count as 40.
        bbr.on_open(10.0, 0.0409, 0.0);
        assert_eq!((bbr.bandwidth(), bbr.pacing_rate()), (250.0, None));
        // A sample replaces the bandwidth, not a higher pacing rate; cwnd grows beyond its target for ten segments.
        let at = |delivered| Sample { rate: Some(10.0), prior_delivered: 0.0, delivered, app_limited: false };
        let ack = |delivered| Acked { rtt: Some(0.1), srtt: 0.1, rate: Some(at(delivered)), ..acked(1.0) };
        bbr.on_any_ack(&mut window, &ack(1.0));
        assert_eq!((bbr.bandwidth(), bbr.pacing_rate(), window.cwnd), (10.0, Some(2.89 * 250.0), 11.0));
        bbr.on_any_ack(&mut window, &ack(9.0));
        assert_eq!(window.cwnd, 12.0);
        bbr.on_any_ack(&mut window, &ack(10.0));
        assert_eq!(window.cwnd, 12.0);
    }

    #[test]
    fn a_round_start_persists_without_a_rate_sample() {
        for (round_start_persists, filled) in [(false, false), (true, true)] {
            let rules = ns3(Ns3Rules { round_start_persists, ..Ns3Rules::default() });
            let (mut bbr, mut window) = started(BbrRules { rounds_by_rate_samples: true, ..rules });
            round(&mut bbr, &mut window, 0.0, 100.0);
            // Three ACKs without a sample count as three rounds without growth.
            let sample = Sample { rate: None, prior_delivered: 0.0, delivered: 101.0, app_limited: false };
            for _ in 0..3 {
                assert!(!bbr.full_pipe.filled);
                bbr.on_any_ack(&mut window, &Acked { pipe: 1000.0, rate: Some(sample), ..acked(1.0) });
            }
            assert_eq!(bbr.full_pipe.filled, filled);
            bbr.rounds.round_start = false;
            bbr.on_timeout(&window, 10.0, 0.0);
            assert_eq!(bbr.rounds.round_start, round_start_persists);
        }
    }

    #[test]
    fn arrived_retransmissions_end_probing() {
        for (retransmissions_end_probing, lost, lost_delivered, next) in
            [(false, 0.0, 1.0, 0), (true, 0.0, 1.0, 1), (false, 1.0, 0.0, 1), (true, 0.0, 0.0, 0)]
        {
            let mut bbr = full(ns3(Ns3Rules { retransmissions_end_probing, ..Ns3Rules::default() })).0;
            bbr.mode = Mode::ProbeBw { phase: 0, since: 0.0 };
            bbr.update_cycle_phase(&Acked { now: 1.0, pipe: 5.0, lost, lost_delivered, ..acked(1.0) });
            assert!(matches!(bbr.mode, Mode::ProbeBw { phase, .. } if phase == next), "{:?}", bbr.mode);
        }
    }

    #[test]
    fn a_recovery_in_startup_leaves_cwnd_unlimited() {
        let recovery =
            Ns3Recovery { unlimited_in_startup: true, exits_with_startup_bdp: true, ..Ns3Recovery::default() };
        let (mut bbr, mut window) = started(ns3_recovery(recovery));
        bbr.set_cwnd(&mut window, &Acked { recovering: true, pipe: 5.0, ..acked(1.0) });
        bbr.set_cwnd(&mut window, &acked(1.0));
        assert!(window.cwnd >= UNLIMITED);
        // Four segments with the first ACK behind Startup.
        fill(&mut bbr);
        bbr.set_cwnd(&mut window, &acked(1.0));
        assert_eq!(window.cwnd, MIN_CWND);
        bbr.set_cwnd(&mut window, &acked(1.0));
        assert_eq!(window.cwnd, 5.0);
    }

    #[test]
    fn a_timeout_ends_packet_conservation() {
        for (grows_after_timeout, cwnd) in [(false, 4.0), (true, 5.0)] {
            let (mut bbr, _) = full(ns3_recovery(Ns3Recovery { grows_after_timeout, ..Ns3Recovery::default() }));
            let mut window = Window { cwnd: 10.0, ssthresh: f64::INFINITY };
            bbr.set_cwnd(&mut window, &Acked { recovering: true, pipe: 5.0, ..acked(1.0) });
            bbr.on_timeout(&window, 10.0, 0.0);
            window.cwnd = 4.0;
            bbr.set_cwnd(&mut window, &Acked { recovering: true, ..acked(1.0) });
            assert_eq!(window.cwnd, cwnd);
        }
    }
}
