//! BBR, version 1 (Cardwell et al. 2016; Linux `tcp_bbr.c`): sends at the bottleneck's bandwidth, with twice what that holds
//! in the network.
//!
//! The names are those of the draft (draft-cardwell-iccrg-bbr-congestion-control-00). What Linux adds to it, and
//! what ns-3 does otherwise, comes by [`BbrRules`], each by itself.

use super::{Acked, Control, Window};
use crate::tcp::Variable;
use std::collections::VecDeque;

/// Startup: 2 / ln 2, so that the rate doubles in a round trip.
const HIGH_GAIN: f64 = 2.0 / std::f64::consts::LN_2;
/// Gains of the phases of ProbeBW.
const CYCLE: [f64; 8] = [1.25, 0.75, 1.0, 1.0, 1.0, 1.0, 1.0, 1.0];
/// Gain of the window in ProbeBW.
const CWND_GAIN: f64 = 2.0;
/// Rounds over which the bandwidth is a maximum.
const BW_ROUNDS: u64 = 10;
/// How long a round-trip time counts as the smallest, s, and how long ProbeRTT lasts.
const MIN_RTT_FILTER: f64 = 10.0;
const PROBE_RTT_TIME: f64 = 0.2;
/// Smallest window, segments.
const LEAST: f64 = 4.0;
/// A pipe is full if three rounds in a row do not bring a quarter more.
const FULL_GROWTH: f64 = 1.25;
const FULL_ROUNDS: u32 = 3;
/// A little slower than the estimate, so that queues drain (Linux, `bbr_pacing_margin_percent`).
const MARGIN: f64 = 0.99;

/// Allowance for bursts in the hosts: so many times what goes at once, which is a millisecond at the pacing rate, at least
/// two segments (one below [`super::super::clock::SLOW`]), at most 127 (Linux, `bbr_quantization_budget`, `bbr_tso_segs_goal`).
const BURSTS: f64 = 3.0;
const BURST_TIME: f64 = 1.0 / 1024.0;
const MOST_AT_ONCE: f64 = 127.0;
/// Aggregated ACKs: rounds for which the largest excess counts, and how much time it may be worth, s (Linux,
/// `bbr_extra_acked_win_rtts`, `bbr_extra_acked_max_us`).
const EXCESS_ROUNDS: u32 = 5;
const MOST_EXCESS: f64 = 0.1;
/// After so many bytes [`BbrRules::excess_coarse`] begins to count anew (ns-3, `AckEpochAckedResetThresh`).
const COARSE_BYTES: f64 = 4096.0;
/// Policers: rounds in an interval, lost segments for a delivered one, how alike two intervals are (of the rate, or in bytes a
/// second), rounds for which the rate is believed (Linux, `bbr_lt_*`).
const POLICER_ROUNDS: u32 = 4;
const POLICER_LOSSES: f64 = 50.0 / 256.0;
const POLICER_RATIO: f64 = 1.0 / 8.0;
const POLICER_DIFFERENCE: f64 = 500.0;
const POLICED_ROUNDS: u32 = 48;

/// Segments of `quanta`, and how many more while it probes for bandwidth.
const QUANTA: f64 = 3.0;
const PROBING_QUANTA: f64 = 2.0;

/// Startup's gain in ns-3.
const OTHER_HIGH_GAIN: f64 = 2.89;
/// A window that holds nothing back, segments: beyond all that receivers offer.
const UNLIMITED: f64 = 1e9;

/// Rules in which BBRs differ.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct BbrRules {
    /// Windows have room for bursts in the hosts, by the rate, are even, and larger by 2 in the phase that probes (Linux).
    pub budget: bool,
    /// Windows have room for three segments more, at any rate, and for five in the phase that probes (ns-3); not with `budget`.
    pub room_quanta: bool,
    /// Windows have room for what ACKs have brought at once beyond the estimated rate (Linux).
    pub aggregation: bool,
    /// What the pace holds back counts as sent, and what arrives until it goes as arrived (Linux,
    /// `bbr_packets_in_net_at_edt`).
    pub inflight_at_departure: bool,
    /// A rate that many losses hold steady is a policer's, and is kept to (Linux).
    pub policer: bool,
    /// The handshake's round-trip time is the first one (Linux, `bbr_init`), and not that of the first data.
    pub first_rtt_handshake: bool,
    /// The round-trip time is the smoothed one (ns-3), and not that of each segment.
    pub rtt_smoothed: bool,
    /// Sends at the estimated bandwidth (ns-3), and not 1 % below.
    pub rate_full: bool,
    /// After a recovery the window is what the bottleneck held when Startup ended (ns-3: ssthresh), and not that of before.
    pub exit_drain: bool,
    /// After a timeout the window of before does not come back (ns-3).
    pub timeout_forgets: bool,
    /// In a recovery what has been repaired is taken off the window like what has been lost (ns-3).
    pub repairs_cut: bool,
    /// Windows have room for what ACKs have brought at once, where the estimated rate counts by whole seconds and the count
    /// begins anew after [`COARSE_BYTES`] (ns-3): up to so many bytes more; not with `aggregation`.
    pub excess_coarse: bool,
    /// A round begins with an ACK that measures a rate (Linux, `bbr_update_bw`; ns-3), and not with those whose interval is too
    /// short for that: after a timeout for nothing they come in a row, and the largest rate of ten such rounds is soon forgotten.
    pub rounds_valid: bool,
    /// After a timeout neither losses nor repairs are taken off the window (ns-3), only in a fast recovery.
    pub timeout_losses_free: bool,
    /// A recovery conserves packets until the round ends that it has begun in (ns-3), and not for a round of its own (Linux).
    pub conservation_rest: bool,
    /// Before a rate has been measured the bandwidth is the initial window in the handshake's round-trip time, in whole
    /// milliseconds; the window grows until so much has arrived, and Startup's gain is 2.89 (ns-3).
    pub first_rate_window: bool,
    /// That a round begins stays true until the next ACK that measures a rate, and a timeout is such a begin (ns-3).
    pub round_start_lasts: bool,
    /// The phase that probes for bandwidth ends with what is repaired as well as with what is lost (ns-3).
    pub probing_repairs: bool,
    /// A recovery in Startup leaves no window but the receiver's, until Startup is over (ns-3, whose ssthresh is infinite then).
    pub startup_exit_unlimited: bool,
    /// The window grows after a timeout as always, also if it was conserving packets before (ns-3).
    pub timeout_window_grows: bool,
    /// What a recovery or a timeout sends at once does not wait for the pace, and a timeout ends the wait for it (ns-3).
    pub repair_pace_at_once: bool,
    /// Each ACK that advances the window within a recovery lets a segment go at once, whatever window and pace (ns-3).
    pub partial_ack_sends: bool,
    /// The largest rate of ten rounds is kept by three estimates, as in Linux (`minmax_running_max`) and ns-3.
    pub rates_three: bool,
    /// What is sent while nothing is in the network goes at the estimated bandwidth, whatever the phase, counts arrivals anew, ends
    /// ProbeRTT if that is due, and keeps the next ACK from beginning it (draft, `HandleRestartFromIdle`); in ns-3 this holds from
    /// the first ProbeRTT on, and not only where the application has had too little to send.
    pub empty_start_restarts: bool,
    /// Samples of ProbeRTT count like all others (ns-3), and not only if they are larger.
    pub probe_rtt_counts: bool,
    /// A sample of the rate stays until a segment arrives that was sent after more had been delivered (ns-3), see
    /// [`super::super::rate`].
    pub samples_held: bool,
    /// Samples of the rate begin anew when nothing is outstanding (Linux, `tcp_rate_skb_sent`), and not already when all
    /// that is has been reported or is lost.
    pub sample_start_outstanding: bool,
    /// While it conserves packets the window may be below [`LEAST`] (Linux, `bbr_set_cwnd`).
    pub least_unless_conserving: bool,
    /// The ACK that ends a recovery is the first outside of it (Linux, `tcp_fastretrans_alert`): it brings the window of before
    /// back, and what it tells to be lost begins another.
    pub recovery_end_at_once: bool,
    /// What was sent again after a timeout and is lost again begins a recovery (Linux, `FLAG_LOST_RETRANS`).
    pub lost_again_recovers: bool,
    /// The search for policers counts what timers find lost, and a timeout as a round with a loss (Linux, `bbr_set_state`).
    pub timers_count: bool,
    /// A round-trip time as small as the smallest does not make that last longer (Linux, `bbr_update_min_rtt`).
    pub same_rtt_changes_nothing: bool,
    /// An ACK that covers something sent again measures by time stamps, which count whole milliseconds (Linux,
    /// `tcp_ack_update_rtt`).
    pub stamps_milliseconds: bool,
}

/// The largest excess of ACKs over the estimated rate.
#[derive(Clone, Debug, Default)]
struct Excess {
    since: f64,
    acked: f64,
    most: [f64; 2],
    at: usize,
    rounds: u32,
}

/// The search for a policer.
#[derive(Clone, Debug, Default)]
struct Policer {
    sampling: bool,
    believed: bool,
    rate: f64,
    rounds: u32,
    since: f64,
    delivered: f64,
    lost: f64,
}

/// What an ACK, or a timeout, says to the search for a policer.
#[derive(Clone, Copy, Debug, Default)]
struct Hint {
    /// When something has arrived last, s, and how many segments had by then.
    now: f64,
    delivered: f64,
    app_limited: bool,
    lossy: bool,
}

#[derive(Clone, Copy, Debug, PartialEq)]
enum Mode {
    Startup,
    Drain,
    ProbeBw { phase: usize, since: f64 },
    ProbeRtt { until: Option<f64>, round_done: bool },
}

/// Its state.
#[derive(Clone, Debug)]
pub struct Bbr {
    rules: BbrRules,
    mode: Mode,
    /// Largest rates of the last rounds, segments/s, falling.
    rates: VecDeque<(u64, f64)>,
    round: u64,
    next_round: f64,
    round_start: bool,
    /// The last ACK has begun a round.
    began: bool,
    min_rtt: f64,
    min_rtt_at: f64,
    full_bw: f64,
    full_rounds: u32,
    filled: bool,
    rate: Option<f64>,
    prior_cwnd: f64,
    conserving: bool,
    recovering: bool,
    /// The recovery began with a timeout.
    timed_out: bool,
    /// What the bottleneck held when Startup ended, segments.
    drained_to: Option<f64>,
    /// Bytes of a segment.
    mss: f64,
    excess: Excess,
    policer: Policer,
    hint: Hint,
    /// Segments lost so far.
    lost: f64,
    /// The bandwidth until one is measured, segments/s, and the initial window; 0 without the rule.
    first_rate: f64,
    first_window: f64,
    /// There has been a ProbeRTT, and with [`BbrRules::restarts`] a start with nothing in the network since the last ACK.
    probed: bool,
    restarted: bool,
    /// SACK reports what has arrived.
    reported: bool,
}

impl Default for Bbr {
    fn default() -> Self {
        Self::new(BbrRules::default(), 1448.0)
    }
}

impl Bbr {
    /// Before the first ACK; segments have `mss` bytes.
    pub fn new(rules: BbrRules, mss: f64) -> Self {
        Bbr {
            rules,
            mode: Mode::Startup,
            rates: VecDeque::new(),
            round: 0,
            next_round: 0.0,
            round_start: false,
            began: false,
            min_rtt: f64::INFINITY,
            min_rtt_at: 0.0,
            full_bw: 0.0,
            full_rounds: 0,
            filled: false,
            rate: None,
            prior_cwnd: 0.0,
            conserving: false,
            recovering: false,
            timed_out: false,
            drained_to: None,
            mss,
            excess: Excess::default(),
            policer: Policer::default(),
            hint: Hint::default(),
            lost: 0.0,
            first_rate: 0.0,
            first_window: 0.0,
            probed: false,
            restarted: false,
            reported: true,
        }
    }

    /// The same, told by SACK of what has arrived or not.
    pub fn with_sack(self, sack: bool) -> Self {
        Bbr { reported: sack, ..self }
    }

    /// The largest rate of the last rounds, segments/s.
    fn largest(&self) -> f64 {
        self.rates.front().map_or(self.first_rate, |&(_, rate)| rate)
    }

    /// The bandwidth, segments/s.
    pub fn bandwidth(&self) -> f64 {
        if self.policer.believed {
            self.policer.rate
        } else {
            self.largest()
        }
    }

    /// The round-trip time without queues, s.
    pub fn min_rtt(&self) -> f64 {
        self.min_rtt
    }

    /// What the bottleneck holds without a queue, times a gain, in whole segments.
    fn target(&self, gain: f64) -> f64 {
        if self.min_rtt == f64::INFINITY {
            return f64::INFINITY;
        }
        let mut segments = gain * self.bandwidth() * self.min_rtt;
        if self.rules.room_quanta {
            segments += QUANTA;
            if matches!(self.mode, Mode::ProbeBw { phase: 0, .. }) {
                segments += PROBING_QUANTA;
            }
            return segments;
        }
        segments.ceil()
    }

    /// Segments that go at once.
    fn at_once(&self) -> f64 {
        let rate = self.rate.unwrap_or(0.0);
        let least = if rate * self.mss < super::super::clock::SLOW { 1.0 } else { 2.0 };
        (rate * BURST_TIME).floor().max(least).min(MOST_AT_ONCE)
    }

    /// A window with the allowance for bursts.
    fn budgeted(&self, window: f64) -> f64 {
        if !self.rules.budget || window == f64::INFINITY {
            return window;
        }
        let even = 2.0 * ((window + BURSTS * self.at_once()) / 2.0).ceil();
        even + if matches!(self.mode, Mode::ProbeBw { phase: 0, .. }) { 2.0 } else { 0.0 }
    }

    fn inflight(&self, gain: f64) -> f64 {
        self.budgeted(self.target(gain))
    }

    /// Linux, `bbr_update_ack_aggregation`.
    fn update_excess(&mut self, window: &Window, ack: &Acked) {
        let coarse = self.rules.excess_coarse;
        if !(self.rules.aggregation || coarse) || ack.delivered <= 0.0 || ack.rate.is_none() {
            return;
        }
        let bandwidth = self.bandwidth();
        let excess = &mut self.excess;
        if self.round_start {
            excess.rounds += 1;
            if excess.rounds >= EXCESS_ROUNDS {
                excess.rounds = 0;
                excess.at = 1 - excess.at;
                excess.most[excess.at] = 0.0;
            }
        }
        let elapsed = ack.now - excess.since;
        let mut expected = (bandwidth * if coarse { elapsed.floor() } else { elapsed }).floor();
        let full = coarse && (excess.acked + ack.delivered) * self.mss >= COARSE_BYTES;
        if excess.acked <= expected || full {
            excess.acked = 0.0;
            excess.since = ack.now;
            expected = 0.0;
        }
        excess.acked += ack.delivered;
        let extra = (excess.acked - expected).min(window.cwnd);
        excess.most[excess.at] = excess.most[excess.at].max(extra);
    }

    /// What aggregated ACKs add to the window.
    fn excess(&self) -> f64 {
        if !(self.rules.aggregation || self.rules.excess_coarse) || !self.filled {
            return 0.0;
        }
        let most = self.bandwidth() * MOST_EXCESS;
        let most = if self.rules.excess_coarse { most } else { most.floor() };
        self.excess.most[0].max(self.excess.most[1]).min(most)
    }

    fn begin_interval(&mut self, now: f64, delivered: f64) {
        let policer = &mut self.policer;
        (policer.since, policer.delivered, policer.lost, policer.rounds) = (now, delivered, self.lost, 0);
    }

    fn forget_policer(&mut self, now: f64, delivered: f64) {
        self.policer = Policer::default();
        self.begin_interval(now, delivered);
    }

    /// Linux, `bbr_lt_bw_sampling`.
    fn look_for_policer(&mut self, hint: Hint) {
        if !self.rules.policer {
            return;
        }
        let Hint { now, delivered, app_limited, lossy } = hint;
        if self.policer.believed {
            if matches!(self.mode, Mode::ProbeBw { .. }) && self.round_start {
                self.policer.rounds += 1;
                if self.policer.rounds >= POLICED_ROUNDS {
                    self.forget_policer(now, delivered);
                    self.probe_bandwidth(now);
                }
            }
            return;
        }
        if !self.policer.sampling {
            if !lossy {
                return;
            }
            self.begin_interval(now, delivered);
            self.policer.sampling = true;
        }
        if app_limited {
            return self.forget_policer(now, delivered);
        }
        self.policer.rounds += u32::from(self.round_start);
        if self.policer.rounds < POLICER_ROUNDS {
            return;
        }
        if self.policer.rounds > 4 * POLICER_ROUNDS {
            return self.forget_policer(now, delivered);
        }
        let (arrived, lost) = (delivered - self.policer.delivered, self.lost - self.policer.lost);
        let took = now - self.policer.since;
        if !lossy || arrived <= 0.0 || lost < POLICER_LOSSES * arrived || took < 1e-3 {
            return;
        }
        let rate = arrived / took;
        let known = self.policer.rate;
        let difference = (rate - known).abs();
        if known > 0.0 && (difference <= POLICER_RATIO * known || difference * self.mss <= POLICER_DIFFERENCE) {
            self.policer.rate = 0.5 * (rate + known);
            self.policer.believed = true;
            self.policer.rounds = 0;
            return;
        }
        self.policer.rate = rate;
        self.begin_interval(now, delivered);
    }

    fn high_gain(&self) -> f64 {
        if self.rules.first_rate_window {
            OTHER_HIGH_GAIN
        } else {
            HIGH_GAIN
        }
    }

    fn gains(&self) -> (f64, f64) {
        let high = self.high_gain();
        match self.mode {
            Mode::Startup => (high, high),
            Mode::Drain => (1.0 / high, high),
            Mode::ProbeBw { .. } if self.policer.believed => (1.0, CWND_GAIN),
            Mode::ProbeBw { phase, .. } => (CYCLE[phase], CWND_GAIN),
            Mode::ProbeRtt { .. } => (1.0, 1.0),
        }
    }

    fn update_bandwidth(&mut self, ack: &Acked) {
        self.round_start &= self.rules.round_start_lasts;
        self.began = false;
        let Some(sample) = ack.rate else { return };
        if self.rules.rounds_valid && sample.rate.is_none() {
            return;
        }
        self.round_start = false;
        if sample.prior_delivered >= self.next_round {
            self.next_round = sample.delivered;
            self.round += 1;
            self.round_start = true;
            self.began = true;
            self.conserving = false;
        }
        let (now, lossy) = (ack.now, ack.lost > 0.0);
        self.hint = Hint { now, delivered: sample.delivered, app_limited: sample.app_limited, lossy };
        self.look_for_policer(self.hint);
        let Some(rate) = sample.rate else { return };
        if sample.app_limited && rate < self.largest() {
            return;
        }
        if self.rules.rates_three {
            return self.keep_three(rate);
        }
        while self.rates.back().is_some_and(|&(_, known)| known <= rate) {
            self.rates.pop_back();
        }
        self.rates.push_back((self.round, rate));
        while self.rates.front().is_some_and(|&(round, _)| round + BW_ROUNDS <= self.round) {
            self.rates.pop_front();
        }
    }

    /// The largest rate, the largest since, and the largest since that one; the first is forgotten after ten rounds, the second is
    /// looked for anew after a quarter of them, the third after a half. Rates between are not kept, so that the largest of the last
    /// ten rounds may be larger (Linux, `lib/win_minmax.c`).
    fn keep_three(&mut self, rate: f64) {
        let (now, window) = (self.round, BW_ROUNDS);
        let new = (now, rate);
        if self.rates.is_empty() || rate >= self.rates[0].1 || now - self.rates[2].0 > window {
            self.rates = [new, new, new].into();
            return;
        }
        if rate >= self.rates[1].1 {
            (self.rates[1], self.rates[2]) = (new, new);
        } else if rate >= self.rates[2].1 {
            self.rates[2] = new;
        }
        if now - self.rates[0].0 > window {
            self.rates.pop_front();
            self.rates.push_back(new);
            if now - self.rates[0].0 > window {
                self.rates[0] = self.rates[1];
                self.rates[1] = self.rates[2];
            }
            return;
        }
        if self.rates[1].1 == self.rates[0].1 && now - self.rates[1].0 > window / 4 {
            (self.rates[1], self.rates[2]) = (new, new);
            return;
        }
        if self.rates[2].1 == self.rates[1].1 && now - self.rates[2].0 > window / 2 {
            self.rates[2] = new;
        }
    }

    /// What will be in the network when the next segment goes, in so many seconds, with `pipe` segments in it now.
    fn at_departure(&self, pipe: f64, ahead: f64) -> f64 {
        let arriving = (self.bandwidth() * ahead).floor();
        let (gain, _) = self.gains();
        let leaving = if gain > 1.0 { self.at_once() } else { 0.0 };
        (pipe + leaving - arriving).max(0.0)
    }

    fn update_cycle(&mut self, ack: &Acked) {
        let Mode::ProbeBw { phase, since } = self.mode else { return };
        let full = ack.now - since > self.min_rtt;
        // What was in the network before this ACK, as Linux has it.
        let inflight = if self.rules.inflight_at_departure {
            self.at_departure(ack.pipe_before, ack.ahead)
        } else {
            ack.pipe + ack.delivered
        };
        let next = match CYCLE[phase] {
            _ if self.policer.believed => full,
            gain if gain > 1.0 => {
                full && (ack.lost > 0.0
                    || (self.rules.probing_repairs && ack.repaired > 0.0)
                    || inflight >= self.inflight(gain))
            }
            gain if gain < 1.0 => full || inflight <= self.inflight(1.0),
            _ => full,
        };
        if next {
            self.mode = Mode::ProbeBw { phase: (phase + 1) % CYCLE.len(), since: ack.now };
        }
    }

    fn check_full(&mut self, ack: &Acked) {
        if self.filled || !self.round_start || ack.rate.is_some_and(|sample| sample.app_limited) {
            return;
        }
        if self.largest() >= FULL_GROWTH * self.full_bw {
            self.full_bw = self.largest();
            self.full_rounds = 0;
            return;
        }
        self.full_rounds += 1;
        self.filled = self.full_rounds >= FULL_ROUNDS;
    }

    fn probe_bandwidth(&mut self, now: f64) {
        // Any phase but the one that drains. Flows that are here at different times begin in different ones.
        let draw = now.to_bits().wrapping_mul(0x9e37_79b9_7f4a_7c15) >> 32;
        let phase = [0, 2, 3, 4, 5, 6, 7][(draw % 7) as usize];
        self.mode = Mode::ProbeBw { phase, since: now };
    }

    fn check_drain(&mut self, ack: &Acked) {
        if self.mode == Mode::Startup && self.filled {
            self.mode = Mode::Drain;
            self.drained_to = Some(self.inflight(1.0));
        }
        let pipe = if self.rules.inflight_at_departure { self.at_departure(ack.pipe, ack.ahead) } else { ack.pipe };
        if self.mode == Mode::Drain && pipe <= self.inflight(1.0) {
            self.probe_bandwidth(ack.now);
        }
    }

    fn update_min_rtt(&mut self, window: &mut Window, ack: &Acked) {
        let expired = ack.now > self.min_rtt_at + MIN_RTT_FILTER;
        let rtt = if self.rules.rtt_smoothed { Some(ack.srtt).filter(|&srtt| srtt > 0.0) } else { ack.rtt };
        if let Some(rtt) = rtt {
            if rtt < self.min_rtt || (rtt == self.min_rtt && !self.rules.same_rtt_changes_nothing) || expired {
                self.min_rtt = rtt;
                self.min_rtt_at = ack.now;
            }
        }
        let restarted = std::mem::take(&mut self.restarted);
        if expired && !restarted && !matches!(self.mode, Mode::ProbeRtt { .. }) && self.min_rtt < f64::INFINITY {
            self.save(window);
            self.probed = true;
            self.mode = Mode::ProbeRtt { until: None, round_done: false };
        }
        if let Mode::ProbeRtt { until, round_done } = &mut self.mode {
            match *until {
                None if ack.pipe <= LEAST => {
                    *until = Some(ack.now + PROBE_RTT_TIME);
                    self.next_round = ack.rate.map_or(self.next_round, |sample| sample.delivered);
                }
                None => {}
                Some(until) => {
                    *round_done |= self.round_start;
                    if *round_done && ack.now > until {
                        self.end_probe_rtt(window, ack.now);
                    }
                }
            }
        }
    }

    fn end_probe_rtt(&mut self, window: &mut Window, now: f64) {
        self.min_rtt_at = now;
        window.cwnd = window.cwnd.max(self.prior_cwnd);
        if self.filled {
            self.probe_bandwidth(now);
        } else {
            self.mode = Mode::Startup;
        }
    }

    fn save(&mut self, window: &Window) {
        let inside = self.recovering || matches!(self.mode, Mode::ProbeRtt { .. });
        self.prior_cwnd = if inside { self.prior_cwnd.max(window.cwnd) } else { window.cwnd };
    }

    fn set_rate(&mut self, window: &Window, ack: &Acked) {
        let (gain, _) = self.gains();
        let margin = if self.rules.rate_full { 1.0 } else { MARGIN };
        let rate = match self.bandwidth() {
            bandwidth if bandwidth > 0.0 => gain * bandwidth * margin,
            _ => HIGH_GAIN * window.cwnd / if ack.srtt > 0.0 { ack.srtt } else { 1e-3 },
        };
        if self.rate.is_none() && self.first_rate > 0.0 {
            self.rate = Some(self.high_gain() * self.first_rate);
        }
        if self.filled || self.rate.is_none_or(|known| rate > known) {
            self.rate = Some(rate);
        }
    }

    fn set_window(&mut self, window: &mut Window, ack: &Acked) {
        // What brings nothing changes nothing (Linux, `bbr_set_cwnd`; ns-3). Without SACK nobody knows what a duplicate ACK brings.
        if ack.delivered > 0.0 || !self.reported {
            self.follow(window, ack);
        }
        if matches!(self.mode, Mode::ProbeRtt { .. }) {
            window.cwnd = window.cwnd.min(LEAST);
        }
    }

    fn follow(&mut self, window: &mut Window, ack: &Acked) {
        let mut lost = ack.lost;
        if self.rules.repairs_cut && ack.recovering {
            lost = (ack.lost - ack.repaired).abs();
        }
        if self.rules.timeout_losses_free && self.timed_out {
            lost = 0.0;
        }
        if lost > 0.0 {
            window.cwnd = (window.cwnd - lost).max(1.0);
        }
        let again = self.rules.lost_again_recovers && self.timed_out && !ack.timed_out;
        if ack.recovering && (!self.recovering || again) {
            // Packet conservation for a round, or for what is left of it, which may be nothing.
            self.timed_out &= !again;
            self.recovering = true;
            window.cwnd = ack.pipe + ack.delivered;
            if self.rules.conservation_rest {
                self.conserving = !self.began;
                window.cwnd = (window.cwnd - lost).max(1.0);
            } else {
                self.conserving = true;
                self.next_round = ack.rate.map_or(self.next_round, |sample| sample.delivered);
            }
        } else if !ack.recovering && self.recovering {
            self.recovering = false;
            self.conserving = false;
            let timed_out = std::mem::take(&mut self.timed_out);
            window.cwnd = match self.drained_to {
                _ if timed_out && self.rules.timeout_forgets => window.cwnd,
                Some(segments) if !timed_out && self.rules.exit_drain => segments,
                None if !timed_out && self.rules.startup_exit_unlimited => UNLIMITED,
                _ => window.cwnd.max(self.prior_cwnd),
            };
        }
        let (_, gain) = self.gains();
        let target = self.budgeted(self.target(gain) + self.excess());
        if self.conserving && !(self.timed_out && self.rules.timeout_window_grows) {
            window.cwnd = window.cwnd.max(ack.pipe + ack.delivered);
        } else if self.filled && self.rules.startup_exit_unlimited && window.cwnd >= UNLIMITED {
            // ns-3 adds what has arrived to the largest number of 32 bits.
            window.cwnd = LEAST;
        } else if self.filled {
            window.cwnd = (window.cwnd + ack.delivered).min(target);
        } else if window.cwnd < target || ack.rate.is_some_and(|sample| sample.delivered < self.first_window) {
            window.cwnd += ack.delivered;
        }
        if !(self.conserving && self.rules.least_unless_conserving) {
            window.cwnd = window.cwnd.max(LEAST);
        }
    }
}

impl Control for Bbr {
    fn owns_window(&self) -> bool {
        true
    }

    fn holds_back(&self) -> bool {
        matches!(self.mode, Mode::ProbeRtt { .. }) && !self.rules.probe_rtt_counts
    }

    fn pacing_rate(&self) -> Option<f64> {
        self.rate
    }

    fn gauges(&self, note: &mut dyn FnMut(Variable, f64)) {
        note(Variable::Bandwidth, self.bandwidth());
        note(Variable::MinRtt, self.min_rtt);
    }

    fn on_open(&mut self, window: f64, rtt: f64, now: f64) {
        if self.rules.first_rate_window {
            self.first_window = window;
            self.first_rate = window / ((rtt * 1e3).floor().max(1.0) / 1e3);
        }
        if self.rules.first_rtt_handshake {
            (self.min_rtt, self.min_rtt_at) = (rtt, now);
        }
    }

    fn on_any_ack(&mut self, window: &mut Window, ack: &Acked) {
        self.lost += ack.lost;
        self.update_bandwidth(ack);
        self.update_excess(window, ack);
        self.update_cycle(ack);
        self.check_full(ack);
        self.check_drain(ack);
        self.update_min_rtt(window, ack);
        self.set_rate(window, ack);
        self.set_window(window, ack);
    }

    fn grow(&mut self, _: &mut Window, _: &Acked) {}

    fn on_loss(&mut self, window: &Window, _: f64, _: f64) -> f64 {
        self.save(window);
        window.ssthresh
    }

    fn on_mark(&mut self, window: &Window, _: f64, _: f64) -> f64 {
        // Marks are ignored.
        window.ssthresh
    }

    fn on_timeout(&mut self, window: &Window, _: f64, _: f64) -> f64 {
        self.save(window);
        if !self.rules.round_start_lasts {
            self.full_bw = 0.0;
        }
        self.round_start |= self.rules.round_start_lasts;
        self.recovering = true;
        self.timed_out = true;
        window.ssthresh
    }

    fn on_start(&mut self, window: &mut Window, now: f64) {
        if !self.rules.empty_start_restarts || !self.probed {
            return;
        }
        self.restarted = true;
        (self.excess.since, self.excess.acked) = (now, 0.0);
        match self.mode {
            Mode::ProbeBw { .. } => {
                let margin = if self.rules.rate_full { 1.0 } else { MARGIN };
                self.rate = Some(self.bandwidth() * margin);
            }
            Mode::ProbeRtt { until: Some(until), round_done: true } if now > until => self.end_probe_rtt(window, now),
            _ => {}
        }
    }

    fn on_late(&mut self, lost: f64, expired: bool) {
        if !self.rules.timers_count {
            return;
        }
        self.lost += lost;
        if expired {
            self.round_start = true;
            self.look_for_policer(Hint { app_limited: false, lossy: true, ..self.hint });
        }
    }
}

#[cfg(test)]
mod tests {
    use super::super::super::rate::Sample;
    use super::super::tests::acked;
    use super::*;

    /// An ACK that begins a round and says this rate.
    fn round(bbr: &mut Bbr, window: &mut Window, number: f64, rate: f64) {
        let sample = Sample {
            rate: Some(rate),
            prior_delivered: 100.0 * number,
            delivered: 100.0 * (number + 1.0),
            app_limited: false,
        };
        let ack =
            Acked { now: 0.1 * number, rtt: Some(0.1), srtt: 0.1, pipe: 1000.0, rate: Some(sample), ..acked(1.0) };
        bbr.on_any_ack(window, &ack);
    }

    #[test]
    fn three_rounds_without_a_quarter_more_fill_the_pipe() {
        let (mut bbr, mut window) = (Bbr::default(), Window { cwnd: 10.0, ssthresh: f64::INFINITY });
        for (i, rate) in [1.0, 2.0, 4.0, 8.0, 9.0, 9.0].into_iter().enumerate() {
            round(&mut bbr, &mut window, i as f64, rate);
            assert_eq!(bbr.mode, Mode::Startup);
        }
        round(&mut bbr, &mut window, 6.0, 9.0);
        assert_eq!((bbr.mode, bbr.full_bw), (Mode::Drain, 8.0));
    }

    #[test]
    fn the_handshake_may_give_the_first_round_trip_time() {
        for (first_rtt_handshake, expected) in [(true, 0.04), (false, 0.1)] {
            let mut bbr = Bbr::new(BbrRules { first_rtt_handshake, ..BbrRules::default() }, 1448.0);
            let mut window = Window { cwnd: 10.0, ssthresh: f64::INFINITY };
            bbr.on_open(10.0, 0.04, 0.0);
            round(&mut bbr, &mut window, 1.0, 50.0);
            assert_eq!(bbr.min_rtt(), expected);
            // It is forgotten after ten seconds, as any.
            round(&mut bbr, &mut window, 101.5, 50.0);
            assert_eq!(bbr.min_rtt(), 0.1);
        }
    }

    #[test]
    fn what_is_in_the_network_when_the_next_segment_goes() {
        let rules = BbrRules { inflight_at_departure: true, budget: true, ..BbrRules::default() };
        let (mut bbr, mut window) = (Bbr::new(rules, 1448.0), Window { cwnd: 10.0, ssthresh: f64::INFINITY });
        for i in 0..20 {
            round(&mut bbr, &mut window, f64::from(i), 833.333_333);
        }
        bbr.min_rtt = 0.04;
        // Of 833 segments/s 2 arrive in 3 ms, and where it probes 2 go.
        bbr.mode = Mode::ProbeBw { phase: 1, since: 0.0 };
        assert_eq!(
            (bbr.at_departure(40.0, 0.0), bbr.at_departure(40.0, 3e-3), bbr.at_departure(1.0, 3e-3)),
            (40.0, 38.0, 0.0)
        );
        bbr.mode = Mode::ProbeBw { phase: 0, since: 0.0 };
        assert_eq!(bbr.at_departure(40.0, 3e-3), 40.0);
        // The phase that probes ends at 42 segments, 6 for the hosts, 2 more: two of them are those that go.
        for (at_departure, expected) in [(false, [0, 1]), (true, [1, 1])] {
            let next = [48.0, 50.0].map(|pipe| {
                let mut bbr =
                    Bbr { rules: BbrRules { inflight_at_departure: at_departure, ..bbr.rules }, ..bbr.clone() };
                bbr.update_cycle(&Acked { now: 1.0, pipe: pipe - 1.0, pipe_before: pipe, ..acked(1.0) });
                let Mode::ProbeBw { phase, .. } = bbr.mode else { panic!("{:?}", bbr.mode) };
                phase
            });
            assert_eq!(next, expected, "{at_departure}");
        }
    }

    #[test]
    fn windows_and_rates_by_hand() {
        // 10 Mbit/s, 40 ms, 1500 B: 833.33 segments/s, 33.3 of them in the pipe.
        let (mut bbr, mut window) = (Bbr::default(), Window { cwnd: 10.0, ssthresh: f64::INFINITY });
        for i in 0..20 {
            round(&mut bbr, &mut window, f64::from(i), 833.333_333);
        }
        bbr.min_rtt = 0.04;
        assert_eq!((bbr.target(1.0), bbr.target(2.0)), (34.0, 67.0));
        let rate = |bbr: &mut Bbr, phase: usize| {
            bbr.mode = Mode::ProbeBw { phase, since: 0.0 };
            bbr.set_rate(&Window { cwnd: 67.0, ssthresh: 0.0 }, &acked(1.0));
            bbr.rate.unwrap() * 12_000.0 / 1e6
        };
        for (phase, mbps) in [(0, 12.375), (1, 7.425), (2, 9.9)] {
            assert!((rate(&mut bbr, phase) - mbps).abs() < 1e-4);
        }
    }

    #[test]
    fn coarse_room_by_hand() {
        // One segment of 960 B after the other: 4 before 4096 B are reached; of three segments at once the first three. Not
        // more than a tenth of a second brings.
        for (segments, bandwidth, room) in [(1.0, 100.0, 4.0), (3.0, 100.0, 3.0), (1.0, 16.0, 1.6)] {
            let mut bbr = Bbr::new(BbrRules { excess_coarse: true, ..BbrRules::default() }, 960.0);
            (bbr.filled, bbr.rates) = (true, [(0, bandwidth)].into());
            let sample = Sample { rate: None, prior_delivered: 0.0, delivered: 0.0, app_limited: false };
            for i in 0..20 {
                let now = 5.0 + 0.01 * f64::from(i);
                let ack = Acked { now, rate: Some(sample), ..acked(segments) };
                bbr.update_excess(&Window { cwnd: 30.0, ssthresh: 0.0 }, &ack);
            }
            assert!((bbr.excess() - room).abs() < 1e-9, "{segments} {bandwidth}: {}", bbr.excess());
        }
    }

    #[test]
    fn what_is_measured_in_probe_rtt_counts_or_is_limited() {
        for probe_rtt_counts in [false, true] {
            let mut bbr = Bbr::new(BbrRules { probe_rtt_counts, ..BbrRules::default() }, 960.0);
            assert!(!bbr.holds_back());
            bbr.mode = Mode::ProbeRtt { until: None, round_done: false };
            assert_eq!(bbr.holds_back(), !probe_rtt_counts);
        }
    }

    #[test]
    fn the_bandwidth_is_the_largest_of_ten_rounds() {
        let (mut bbr, mut window) = (Bbr::default(), Window { cwnd: 10.0, ssthresh: f64::INFINITY });
        round(&mut bbr, &mut window, 0.0, 100.0);
        for i in 1..10 {
            round(&mut bbr, &mut window, f64::from(i), 50.0);
            assert_eq!(bbr.bandwidth(), 100.0, "round {i}");
        }
        round(&mut bbr, &mut window, 10.0, 50.0);
        assert_eq!(bbr.bandwidth(), 50.0);
    }

    #[test]
    fn rounds_without_a_rate_count_or_not() {
        for (rounds_valid, left) in [(false, 50.0), (true, 100.0)] {
            let rules = BbrRules { rounds_valid, ..BbrRules::default() };
            let (mut bbr, mut window) = (Bbr::new(rules, 960.0), Window { cwnd: 10.0, ssthresh: f64::INFINITY });
            round(&mut bbr, &mut window, 0.0, 100.0);
            for i in 1..10 {
                let (prior_delivered, delivered) = (100.0 * f64::from(i), 100.0 * f64::from(i + 1));
                let sample = Sample { rate: None, prior_delivered, delivered, app_limited: false };
                bbr.on_any_ack(&mut window, &Acked { rate: Some(sample), ..acked(1.0) });
            }
            round(&mut bbr, &mut window, 10.0, 50.0);
            assert_eq!(bbr.bandwidth(), left);
        }
    }

    #[test]
    fn after_a_timeout_repairs_may_be_free() {
        for (timeout_losses_free, cwnd) in [(false, 10.0), (true, 11.0)] {
            let rules = BbrRules { repairs_cut: true, timeout_losses_free, ..BbrRules::default() };
            let (mut bbr, mut window) = (Bbr::new(rules, 960.0), Window { cwnd: 10.0, ssthresh: f64::INFINITY });
            bbr.on_timeout(&window, 10.0, 0.0);
            bbr.set_window(&mut window, &Acked { recovering: true, repaired: 1.0, ..acked(1.0) });
            assert_eq!(window.cwnd, cwnd);
        }
    }

    #[test]
    fn a_recovery_conserves_for_a_round_or_to_its_end() {
        for (conservation_rest, conserves) in [(false, true), (true, false)] {
            let rules = BbrRules { conservation_rest, ..BbrRules::default() };
            let (mut bbr, mut window) = (Bbr::new(rules, 960.0), Window { cwnd: 10.0, ssthresh: f64::INFINITY });
            round(&mut bbr, &mut window, 0.0, 100.0);
            // What is acknowledged next was sent within the round that is over at 100, and before the recovery began at 150.
            let at = |prior_delivered, delivered| Acked {
                recovering: true,
                rate: Some(Sample { rate: Some(100.0), prior_delivered, delivered, app_limited: false }),
                ..acked(1.0)
            };
            bbr.on_any_ack(&mut window, &at(50.0, 150.0));
            assert!(bbr.conserving);
            bbr.on_any_ack(&mut window, &at(100.0, 151.0));
            assert_eq!(bbr.conserving, conserves);
        }
    }

    #[test]
    fn a_recovery_that_begins_with_a_round_conserves_nothing_of_it() {
        // The window is what is in the network and what has come, less what is lost, and grows at once.
        for (conservation_rest, cwnd) in [(false, 1001.0), (true, 998.0)] {
            let rules = BbrRules { conservation_rest, ..BbrRules::default() };
            let (mut bbr, mut window) = (Bbr::new(rules, 960.0), Window { cwnd: 10.0, ssthresh: f64::INFINITY });
            bbr.first_rate = 1e6;
            (bbr.min_rtt, bbr.next_round) = (1.0, 100.0);
            let sample = Sample { rate: Some(100.0), prior_delivered: 100.0, delivered: 150.0, app_limited: false };
            let ack = Acked { recovering: true, lost: 4.0, pipe: 1000.0, rate: Some(sample), srtt: 1.0, ..acked(1.0) };
            (bbr.rates, bbr.filled) = ([(0, 1e6)].into(), true);
            bbr.on_any_ack(&mut window, &ack);
            assert_eq!((bbr.conserving, window.cwnd), (!conservation_rest, cwnd));
        }
    }

    #[test]
    fn an_ack_that_brings_nothing_leaves_the_window() {
        for (sack, cwnd) in [(true, 1.0), (false, LEAST)] {
            let mut bbr = Bbr::default().with_sack(sack);
            let mut window = Window { cwnd: 1.0, ssthresh: f64::INFINITY };
            bbr.set_window(&mut window, &acked(0.0));
            assert_eq!(window.cwnd, cwnd);
        }
    }

    #[test]
    fn a_timeout_forgets_how_full_the_pipe_was_or_does_not() {
        for (round_start_lasts, full_bw) in [(false, 0.0), (true, 100.0)] {
            let rules = BbrRules { round_start_lasts, ..BbrRules::default() };
            let (mut bbr, mut window) = (Bbr::new(rules, 960.0), Window { cwnd: 10.0, ssthresh: f64::INFINITY });
            round(&mut bbr, &mut window, 0.0, 100.0);
            bbr.on_timeout(&window, 10.0, 0.0);
            assert_eq!((bbr.full_bw, bbr.round_start), (full_bw, true));
        }
    }

    #[test]
    fn what_is_sent_into_an_empty_network_goes_at_the_estimate() {
        for (restarts, probed, rate) in [(true, true, 99.0), (true, false, 124.0), (false, true, 124.0)] {
            let mut bbr = Bbr::new(BbrRules { empty_start_restarts: restarts, ..BbrRules::default() }, 960.0);
            let mut window = Window { cwnd: 4.0, ssthresh: f64::INFINITY };
            (bbr.rates, bbr.rate, bbr.filled, bbr.probed) = ([(0, 100.0)].into(), Some(124.0), true, probed);
            (bbr.min_rtt, bbr.min_rtt_at) = (0.1, 0.0);
            bbr.mode = Mode::ProbeBw { phase: 0, since: 5.0 };
            bbr.on_start(&mut window, 15.0);
            assert_eq!(bbr.rate, Some(rate));
            // Its ACK does not begin ProbeRTT, though the smallest round-trip time has expired.
            bbr.update_min_rtt(&mut window, &Acked { now: 15.1, rtt: Some(0.2), ..acked(1.0) });
            let begins = matches!(bbr.mode, Mode::ProbeRtt { .. });
            assert_eq!((begins, bbr.min_rtt), (!(restarts && probed), 0.2));
            // And one that is over ends without waiting for an ACK.
            (bbr.mode, bbr.prior_cwnd) = (Mode::ProbeRtt { until: Some(14.0), round_done: true }, 20.0);
            bbr.on_start(&mut window, 15.2);
            assert_eq!((matches!(bbr.mode, Mode::ProbeBw { .. }), window.cwnd >= 20.0), (restarts, restarts));
        }
    }

    /// With rates of rounds one after the other: the bandwidth at the end.
    fn bandwidth_of(rules: BbrRules, rates: &[f64]) -> f64 {
        let (mut bbr, mut window) = (Bbr::new(rules, 960.0), Window { cwnd: 10.0, ssthresh: f64::INFINITY });
        for (i, &rate) in rates.iter().enumerate() {
            round(&mut bbr, &mut window, i as f64, rate);
        }
        bbr.bandwidth()
    }

    #[test]
    fn three_estimates_keep_what_they_keep() {
        // 100 in round 1 counts up to round 11. Of what came less than a quarter of ten rounds later, 90 in round 3, nothing is kept:
        // the second is that of round 4.
        let rates = [100.0, 60.0, 90.0, 70.0, 60.0, 60.0, 60.0, 60.0, 60.0, 60.0, 60.0, 60.0];
        let three = BbrRules { rates_three: true, ..BbrRules::default() };
        let found = |rules, rounds: usize| bandwidth_of(rules, &rates[..rounds]);
        assert_eq!([10, 11, 12].map(|rounds| found(BbrRules::default(), rounds)), [100.0, 90.0, 90.0]);
        assert_eq!([10, 11, 12].map(|rounds| found(three, rounds)), [100.0, 100.0, 70.0]);
    }

    #[test]
    fn the_first_rate_is_that_of_the_initial_window() {
        let rules = BbrRules { first_rate_window: true, ..BbrRules::default() };
        let (mut bbr, mut window) = (Bbr::new(rules, 960.0), Window { cwnd: 10.0, ssthresh: f64::INFINITY });
        // 40.9 ms are 40.
        bbr.on_open(10.0, 0.0409, 0.0);
        assert_eq!((bbr.bandwidth(), bbr.pacing_rate()), (250.0, None));
        // A rate that is measured replaces it, but not a larger pace; and ten segments grow the window beyond what the rate needs.
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
    fn the_begin_of_a_round_may_last() {
        for (round_start_lasts, filled) in [(false, false), (true, true)] {
            let rules = BbrRules { rounds_valid: true, round_start_lasts, ..BbrRules::default() };
            let (mut bbr, mut window) = (Bbr::new(rules, 960.0), Window { cwnd: 10.0, ssthresh: f64::INFINITY });
            round(&mut bbr, &mut window, 0.0, 100.0);
            // Three ACKs without a rate are three rounds without growth.
            let sample = Sample { rate: None, prior_delivered: 0.0, delivered: 101.0, app_limited: false };
            for _ in 0..3 {
                assert!(!bbr.filled);
                bbr.on_any_ack(&mut window, &Acked { pipe: 1000.0, rate: Some(sample), ..acked(1.0) });
            }
            assert_eq!(bbr.filled, filled);
            bbr.round_start = false;
            bbr.on_timeout(&window, 10.0, 0.0);
            assert_eq!(bbr.round_start, round_start_lasts);
        }
    }

    #[test]
    fn probing_ends_with_losses_and_perhaps_with_repairs() {
        for (probing_repairs, lost, repaired, next) in
            [(false, 0.0, 1.0, 0), (true, 0.0, 1.0, 1), (false, 1.0, 0.0, 1), (true, 0.0, 0.0, 0)]
        {
            let rules = BbrRules { probing_repairs, ..BbrRules::default() };
            let mut bbr = Bbr::new(rules, 960.0);
            (bbr.rates, bbr.min_rtt) = ([(0, 100.0)].into(), 0.1);
            bbr.mode = Mode::ProbeBw { phase: 0, since: 0.0 };
            bbr.update_cycle(&Acked { now: 1.0, pipe: 5.0, lost, repaired, ..acked(1.0) });
            assert!(matches!(bbr.mode, Mode::ProbeBw { phase, .. } if phase == next), "{:?}", bbr.mode);
        }
    }

    #[test]
    fn a_recovery_in_startup_may_leave_no_window() {
        let rules = BbrRules { startup_exit_unlimited: true, exit_drain: true, ..BbrRules::default() };
        let (mut bbr, mut window) = (Bbr::new(rules, 960.0), Window { cwnd: 10.0, ssthresh: f64::INFINITY });
        bbr.set_window(&mut window, &Acked { recovering: true, pipe: 5.0, ..acked(1.0) });
        bbr.set_window(&mut window, &acked(1.0));
        assert!(window.cwnd >= UNLIMITED);
        // The first ACK behind Startup leaves the least.
        (bbr.filled, bbr.rates, bbr.min_rtt) = (true, [(0, 100.0)].into(), 0.1);
        bbr.set_window(&mut window, &acked(1.0));
        assert_eq!(window.cwnd, 4.0);
        bbr.set_window(&mut window, &acked(1.0));
        assert_eq!(window.cwnd, 5.0);
    }

    #[test]
    fn a_window_that_conserved_may_grow_after_a_timeout() {
        for (timeout_window_grows, cwnd) in [(false, 4.0), (true, 5.0)] {
            let rules = BbrRules { timeout_window_grows, ..BbrRules::default() };
            let (mut bbr, mut window) = (Bbr::new(rules, 960.0), Window { cwnd: 10.0, ssthresh: f64::INFINITY });
            (bbr.filled, bbr.rates, bbr.min_rtt) = (true, [(0, 100.0)].into(), 0.1);
            bbr.set_window(&mut window, &Acked { recovering: true, pipe: 5.0, ..acked(1.0) });
            bbr.on_timeout(&window, 10.0, 0.0);
            window.cwnd = 4.0;
            bbr.set_window(&mut window, &Acked { recovering: true, ..acked(1.0) });
            assert_eq!(window.cwnd, cwnd);
        }
    }

    #[test]
    fn while_it_conserves_packets_the_window_may_be_small() {
        for (least_unless_conserving, cwnd) in [(false, 4.0), (true, 2.0)] {
            let rules = BbrRules { least_unless_conserving, ..BbrRules::default() };
            let (mut bbr, mut window) = (Bbr::new(rules, 960.0), Window { cwnd: 10.0, ssthresh: f64::INFINITY });
            bbr.set_window(&mut window, &Acked { recovering: true, pipe: 1.0, ..acked(1.0) });
            assert_eq!((bbr.conserving, window.cwnd), (true, cwnd));
            // Not longer than that.
            bbr.conserving = false;
            bbr.set_window(&mut window, &Acked { recovering: true, pipe: 1.0, lost: 2.0, ..acked(1.0) });
            assert_eq!(window.cwnd, 4.0);
        }
    }

    #[test]
    fn a_recovery_after_a_timeout_conserves_packets_too() {
        for lost_again in [false, true] {
            let rules = BbrRules { lost_again_recovers: lost_again, ..BbrRules::default() };
            let (mut bbr, mut window) = (Bbr::new(rules, 960.0), Window { cwnd: 10.0, ssthresh: f64::INFINITY });
            bbr.on_timeout(&window, 10.0, 0.0);
            window.cwnd = 1.0;
            bbr.set_window(&mut window, &Acked { recovering: true, timed_out: true, pipe: 5.0, ..acked(1.0) });
            assert!(!bbr.conserving);
            bbr.set_window(&mut window, &Acked { recovering: true, pipe: 5.0, ..acked(1.0) });
            assert_eq!((bbr.conserving, window.cwnd), (lost_again, if lost_again { 6.0 } else { 5.0 }));
            bbr.set_window(&mut window, &acked(1.0));
            assert_eq!((bbr.conserving, window.cwnd), (false, 11.0), "and then the window of before comes back");
        }
    }

    #[test]
    fn timers_count_where_it_looks_for_policers_or_not() {
        for (timers_count, rounds, lost) in [(false, 0, 1.0), (true, 2, 6.0)] {
            let rules = BbrRules { policer: true, timers_count, ..BbrRules::default() };
            let (mut bbr, mut window) = (Bbr::new(rules, 960.0), Window { cwnd: 10.0, ssthresh: f64::INFINITY });
            round(&mut bbr, &mut window, 0.0, 100.0);
            let sample = Sample { rate: Some(100.0), prior_delivered: 50.0, delivered: 150.0, app_limited: false };
            bbr.on_any_ack(&mut window, &Acked { lost: 1.0, rate: Some(sample), ..acked(1.0) });
            assert!(bbr.policer.sampling);
            bbr.on_late(1.0, false);
            for _ in 0..2 {
                bbr.on_timeout(&window, 10.0, 0.0);
                bbr.on_late(2.0, true);
            }
            assert_eq!((bbr.policer.rounds, bbr.lost), (rounds, lost));
        }
    }

    #[test]
    fn an_equal_round_trip_time_renews_the_smallest_or_not() {
        for (same_rtt_changes_nothing, at) in [(false, 0.5), (true, 0.0)] {
            let rules = BbrRules { same_rtt_changes_nothing, ..BbrRules::default() };
            let (mut bbr, mut window) = (Bbr::new(rules, 960.0), Window { cwnd: 10.0, ssthresh: f64::INFINITY });
            round(&mut bbr, &mut window, 0.0, 100.0);
            round(&mut bbr, &mut window, 5.0, 100.0);
            assert_eq!((bbr.min_rtt, bbr.min_rtt_at), (0.1, at));
        }
    }

    #[test]
    fn an_old_round_trip_time_is_probed() {
        let (mut bbr, mut window) = (Bbr::default(), Window { cwnd: 10.0, ssthresh: f64::INFINITY });
        for i in 0..10 {
            round(&mut bbr, &mut window, f64::from(i), 833.0);
        }
        let ack = Acked { now: 20.0, rtt: Some(0.15), srtt: 0.1, pipe: 60.0, ..acked(1.0) };
        bbr.min_rtt_at = 9.0;
        bbr.on_any_ack(&mut window, &ack);
        assert!(matches!(bbr.mode, Mode::ProbeRtt { .. }));
        assert_eq!((window.cwnd, bbr.min_rtt), (4.0, 0.15));
    }
}
