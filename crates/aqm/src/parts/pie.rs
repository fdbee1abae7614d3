//! PIE's three functions (RFC 8033): what the timer does, what an arrival does, what a departure does. PIE's single
//! queue and every queue of FQ-PIE have such a state.

use crate::params::{words, Kind, Param, Unit, Value, Values, Word};
use crate::policy::{Context, Limit, Reason, Verdict};
use crate::{Packet, Time};

words! {
    /// Whose PIE.
    pub enum Dialect {
        /// RFC 8033, section 4 and appendix A.
        Rfc = "rfc",
        /// Linux = "linux", `sch_pie.c`.
        Linux = "linux",
        /// ns-3, `pie-queue-disc.cc`.
        Ns3 = "ns3",
        /// RFC 8034, appendix A: DOCSIS-PIE.
        Docsis = "docsis",
    }
}

words! {
    /// How the delay is measured.
    enum Latency {
        /// How long the last packet waited (RFC 8033, 4.2).
        Timestamp = "timestamp",
        /// The backlog over a measured rate of departures (RFC 8033, 5.2).
        Rate = "rate",
    }
}

words! {
    /// After which two delays the probability decays.
    enum DecayWhen {
        /// After two of zero (RFC 8033, 4.2).
        Zero = "zero",
        /// After two below half of qdelay_ref (RFC 8033, appendix B).
        BelowHalf = "below_half",
    }
}

words! {
    /// When PIE is active.
    enum ActiveWhen {
        Always = "always",
        /// Once a third of the limit has waited (RFC 8033, appendix B).
        Backlog = "backlog",
        /// Once the delay has reached `active_threshold` (ns-3 `ActiveThreshold`).
        Delay = "delay",
    }
}

/// The parameters of one PIE, without its dialect.
pub const PARAMS: [Param; 19] = [
    Param::real("qdelay_ref", Unit::Seconds, Kind::above(0.0, 1e6), 0.015).says("RFC 8033, 4.2", "Queueing delay that the control aims at."),
    Param::real("tupdate", Unit::Seconds, Kind::real(0.001, 1e6), 0.015).says("RFC 8033, 4.2", "Time from one update of the probability to the next."),
    Param::real("alpha", Unit::None, Kind::real(0.0, 1e6), 0.125)
        .symbol("\\alpha")
        .says("RFC 8033, 4.2; Linux: 2/16; ns-3", "Gain on the deviation of the delay from qdelay_ref, 1/s."),
    Param::real("beta", Unit::None, Kind::real(0.0, 1e6), 1.25)
        .symbol("\\beta")
        .says("RFC 8033, 4.2; Linux: 20/16; ns-3", "Gain on the change of the delay since the last update, 1/s."),
    Param::real("max_burst", Unit::Seconds, Kind::real(0.0, f64::INFINITY), 0.15).says("RFC 8033, 4.4", "A burst of this length passes before anything is dropped."),
    Param::new("mean_packet", Unit::Bytes, Kind::real(1.0, f64::INFINITY).or_auto(), Value::Auto)
        .says(
            "RFC 8033, 4.1 without a figure; ns-3: 1000 B; Linux: psched_mtu, 1514 B",
            "Nothing is dropped while at most two such packets wait; auto is 1000 B, for linux 1514 B, for docsis 1024 B.",
        ),
    Param::real("mark_ecnth", Unit::None, Kind::real(0.0, 1.0), 0.1)
        .says(
            "RFC 8033, 5.1",
            "Packets are marked while the probability is below this (linux: or equal), and dropped above.",
        ),
    Param::word("latency", Latency::WORDS, "timestamp")
        .says(
            "RFC 8033, 4.2 and 5.2; Linux, ns-3: timestamp",
            "The delay: how long the last packet waited, or the backlog over a measured rate of departures (docsis: over the link's rate).",
        ),
    Param::real("dq_threshold", Unit::Bytes, Kind::real(1.0, 65_536.0), 16_384.0)
        .says(
            "RFC 8033, 5.2; ns-3; Linux",
            "The rate of departures is measured over this many bytes, and only when as many wait.",
        ),
    Param::flag("zero_when_empty", true).says("Linux, ns-3", "A departure that leaves the queue empty counts as no delay, lest the last delay stands on an idle link."),
    Param::switch("cap_adjustment").says("RFC 8033, 5.5; Linux, ns-3: on", "From p = 0.1 on, one update adds 0.02 at most; auto is on."),
    Param::switch("derandomise").says("RFC 8033, 5.4 and appendix B; Linux: on; ns-3: off", "No drop until the probabilities since the last add up to 0.85, one for certain at 8.5; auto is on for linux and docsis only."),
    Param::switch("fast_growth").says("Linux, RFC 8034: on", "Each update adds 0.02 while the delay is above 250 ms (docsis: 200 ms); auto is on for linux and docsis only."),
    Param::word("decay_when", DecayWhen::WORDS, "zero")
        .says(
            "RFC 8033, 4.2: zero; appendix B: below_half",
            "The probability decays after two updates with no delay, or with less than half of qdelay_ref.",
        ),
    Param::switch("byte_scaling").says("RFC 8033, 4.1: may; Linux bytemode: off; ns-3: with a limit in bytes", "Probability in proportion to the size; auto is on for docsis, and for ns3 with a limit in bytes, only."),
    Param::word("activity", ActiveWhen::WORDS, "always")
        .says(
            "RFC 8033, appendix B: backlog; ns-3 ActiveThreshold: delay; both: off by default here",
            "When PIE is active: always; once a third of the limit waits; or once the delay reaches active_threshold.",
        ),
    Param::real("active_threshold", Unit::Seconds, Kind::real(0.0, f64::INFINITY), 0.015).says("ours: qdelay_ref; ns-3 has none", "Delay at which PIE becomes active, with activity = \"delay\"."),
    Param::new("first_update", Unit::Seconds, Kind::real(0.0, f64::INFINITY).or_auto(), Value::Auto).says("ours: tupdate; Linux: 0.5 s; ns-3: 0", "When the timer runs first; auto is one tupdate, 0.5 s for linux, 0 for ns3."),
    Param::real("burst_reset", Unit::Seconds, Kind::real(0.0, 1e6), 1.5)
        .says(
            "ns-3 BURST_RESET_TIMEOUT",
            "How long the queue must be quiet before a burst is allowed again (ns3 and docsis only).",
        ),
];

/// The settings of one PIE.
#[derive(Clone, Debug)]
pub struct Settings {
    /// Whose PIE.
    dialect: Dialect,
    /// QDELAY_REF, s.
    qdelay_ref: f64,
    /// T_UPDATE, the time between updates, s.
    pub tupdate: f64,
    /// Time of the first update.
    pub first_update: Time,
    /// Gain on the deviation of the delay from `qdelay_ref`, 1/s.
    alpha: f64,
    /// Gain on the change of the delay since the last update, 1/s.
    beta: f64,
    /// MAX_BURST, s.
    max_burst: f64,
    /// MEAN_PKTSIZE, bytes.
    mean_packet: f64,
    /// mark_ecnth, the probability up to which packets are marked.
    mark_ecnth: f64,
    /// How the delay is measured.
    latency: Latency,
    /// DQ_THRESHOLD, bytes.
    dq_threshold: f64,
    /// Whether a departure that leaves the queue empty counts as no delay.
    zero_when_empty: bool,
    /// Whether from p = 0.1 on one update adds 0.02 at most (RFC 8033, 5.5).
    cap: bool,
    /// Whether drops are spread evenly (RFC 8033, 5.4).
    derandomise: bool,
    /// Whether each update adds 0.02 while the delay is above 250 ms.
    fast_growth: bool,
    /// The delay, s, below which two delays let the probability decay; 0: delays of zero.
    decay_below: f64,
    /// Whether the probability is in proportion to the packet's size.
    byte_scaling: bool,
    /// When PIE is active.
    activity: Activity,
    /// Quiet updates after which a burst is allowed again (ns-3).
    resets_after: u32,
    /// Packets or bytes.
    limit: Limit,
    /// The link's rate, bytes/s (docsis).
    rate: f64,
}

/// When PIE is active.
#[derive(Clone, Copy, Debug, PartialEq)]
enum Activity {
    Always,
    /// Once a third of the limit has waited.
    Backlog,
    /// Once the delay has reached this, s.
    Delay(f64),
}

impl Settings {
    /// The settings among `values`, declared as [`PARAMS`], for a queue with `limit`.
    pub fn read(values: &Values, dialect: Dialect, limit: Limit) -> Self {
        Settings::at(values, dialect, limit, f64::NAN)
    }

    /// The same at a link of `rate_bps`, which docsis needs.
    pub fn at(values: &Values, dialect: Dialect, limit: Limit, rate_bps: f64) -> Self {
        let number = |name| values.real(&PARAMS, name);
        let or = |name, auto| values.number(&PARAMS, name).unwrap_or(auto);
        let switch = |name, auto| values.switch(&PARAMS, name).unwrap_or(auto);
        let first_update = match dialect {
            Dialect::Rfc | Dialect::Docsis => number("tupdate"),
            Dialect::Linux => 0.5,
            Dialect::Ns3 => 0.0,
        };
        let (linux, tupdate) = (dialect == Dialect::Linux, number("tupdate"));
        let docsis = dialect == Dialect::Docsis;
        let in_bytes = matches!(limit, Limit::Bytes(_));
        Settings {
            dialect,
            qdelay_ref: number("qdelay_ref"),
            tupdate,
            first_update: Time::from_seconds(or("first_update", first_update)),
            alpha: number("alpha"),
            beta: number("beta"),
            max_burst: number("max_burst"),
            mean_packet: or(
                "mean_packet",
                match dialect {
                    Dialect::Linux => 1514.0,
                    Dialect::Docsis => 1024.0,
                    Dialect::Rfc | Dialect::Ns3 => 1000.0,
                },
            ),
            mark_ecnth: number("mark_ecnth"),
            latency: values.choice(&PARAMS, "latency"),
            dq_threshold: number("dq_threshold"),
            zero_when_empty: values.flag(&PARAMS, "zero_when_empty"),
            cap: switch("cap_adjustment", true),
            derandomise: switch("derandomise", linux || docsis),
            fast_growth: switch("fast_growth", linux || docsis),
            decay_below: match values.choice(&PARAMS, "decay_when") {
                DecayWhen::Zero => 0.0,
                DecayWhen::BelowHalf => number("qdelay_ref") / 2.0,
            },
            byte_scaling: switch("byte_scaling", docsis || dialect == Dialect::Ns3 && in_bytes),
            activity: match values.choice(&PARAMS, "activity") {
                ActiveWhen::Always => Activity::Always,
                ActiveWhen::Backlog => Activity::Backlog,
                ActiveWhen::Delay => Activity::Delay(number("active_threshold")),
            },
            resets_after: (number("burst_reset") / tupdate) as u32,
            limit,
            rate: rate_bps / 8.0,
        }
    }

    /// Whether a state kept with `other` means the same with these settings.
    pub fn same_states(&self, other: &Settings) -> bool {
        let same_activity = match (self.activity, other.activity) {
            (Activity::Delay(_), Activity::Delay(_)) => true,
            (here, there) => here == there,
        };
        self.dialect == other.dialect && self.latency == other.latency && same_activity
    }

    /// Whose PIE this is.
    pub fn dialect(&self) -> Dialect {
        self.dialect
    }

    fn low(&self, delay: f64) -> bool {
        delay < self.qdelay_ref / 2.0
    }

    /// Whether so little waits that nothing may be dropped.
    fn small(&self, packets: u64, bytes: u64) -> bool {
        match (self.dialect, self.limit) {
            (Dialect::Linux, _) => (bytes as f64) < 2.0 * self.mean_packet,
            (Dialect::Ns3, Limit::Packets(_)) => packets <= 2,
            _ => bytes as f64 <= 2.0 * self.mean_packet,
        }
    }

    /// Whether a third of the limit is in use, with an arrival.
    fn in_use(&self, packet: &Packet, packets: u64, bytes: u64) -> bool {
        match self.limit {
            Limit::Packets(n) => 3 * (packets + 1) >= n,
            Limit::Bytes(n) => 3 * (bytes + u64::from(packet.size)) >= n,
        }
    }

    /// `p` scaled for a packet of `size` bytes; Linux does not scale for packets above its MTU.
    fn scaled(&self, p: f64, size: u32) -> f64 {
        let factor = f64::from(size) / self.mean_packet;
        if self.dialect == Dialect::Docsis {
            return (if self.byte_scaling { p * factor } else { p }).min(0.85);
        }
        if !self.byte_scaling || self.dialect == Dialect::Linux && factor > 1.0 {
            p
        } else {
            p * factor
        }
    }
}

/// Sums of binary fractions fall a little short of 0.85 and 8.5.
const SLACK: f64 = 1e-9;

/// The divisor of an update at probability `p` (RFC 8033, 4.2): small steps at small `p`.
fn tuning(p: f64) -> f64 {
    const STEPS: [(f64, f64); 6] =
        [(0.1, 1.0), (0.01, 2.0), (0.001, 8.0), (0.0001, 32.0), (0.00001, 128.0), (0.000_001, 512.0)];
    STEPS.iter().find(|&&(from, _)| p >= from).map_or(2048.0, |&(_, divisor)| divisor)
}

/// The divisor where the probability may be above 1, as a small packet's is scaled down (RFC 8034, appendix A).
fn tuning_docsis(p: f64) -> f64 {
    match p {
        p if p >= 10.0 => 0.031_25,
        p if p >= 1.0 => 0.125,
        p if p >= 0.1 => 0.5,
        p => tuning(p),
    }
}

/// Bytes of the smallest packet (RFC 8034: MIN_PKTSIZE).
const SMALLEST: f64 = 64.0;

/// ns-3's three states of the burst allowance.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Burst {
    /// NO_BURST: no burst is allowed.
    None,
    /// IN_BURST_PROTECTING: a burst passes.
    Protecting,
    /// IN_BURST: the allowance has run out.
    Over,
}

/// The state of PIE in one queue.
#[derive(Clone, Debug, PartialEq)]
pub struct PieState {
    /// PIE->drop_prob_.
    p: f64,
    /// current_qdelay, the last sample of the delay, s.
    qdelay: f64,
    /// PIE->qdelay_old_, the delay at the last update, s.
    qdelay_old: f64,
    /// PIE->burst_allowance_, s.
    burst_allowance: f64,
    /// ns-3's state of the burst allowance.
    burst: Burst,
    /// Quiet updates since a burst (ns-3).
    quiet_updates: u32,
    /// PIE->accu_prob_, the sum of the probabilities since the last drop.
    accu: f64,
    /// PIE->active_.
    active: bool,
    /// When a packet last left.
    last_departure: Option<Time>,
    /// Start of the present measurement of the departures, and bytes so far.
    measuring: Option<(Time, f64)>,
    /// The measured departures: for rfc the time that dq_threshold bytes take, s, else the rate, bytes/s; 0 if unknown.
    measured: f64,
}

impl PieState {
    /// A queue at the start.
    pub fn new(set: &Settings) -> Self {
        PieState {
            p: 0.0,
            qdelay: 0.0,
            qdelay_old: 0.0,
            burst_allowance: if matches!(set.dialect, Dialect::Ns3 | Dialect::Docsis) { 0.0 } else { set.max_burst },
            burst: Burst::None,
            quiet_updates: 0,
            accu: 0.0,
            active: set.activity == Activity::Always,
            last_departure: None,
            measuring: None,
            measured: 0.0,
        }
    }

    /// The timer (RFC 8033, 4.2; Linux: `pie_calculate_probability`) moves the probability, while `bytes` wait here.
    pub fn update(&mut self, set: &Settings, bytes: u64) {
        if set.latency == Latency::Rate {
            self.qdelay = match set.dialect {
                Dialect::Docsis => bytes as f64 / set.rate,
                _ if self.measured == 0.0 => 0.0,
                Dialect::Rfc => bytes as f64 * self.measured / set.dq_threshold,
                _ => bytes as f64 / self.measured,
            };
        }
        if !self.active && set.activity == Activity::Backlog {
            return;
        }
        let (qdelay, old) = (self.qdelay, self.qdelay_old);
        let mut p = self.p;
        if matches!(set.dialect, Dialect::Ns3 | Dialect::Docsis) && self.burst_allowance > 0.0 {
            p = 0.0;
        } else {
            let mut change = set.alpha * (qdelay - set.qdelay_ref) + set.beta * (qdelay - old);
            change /= if set.dialect == Dialect::Docsis { tuning_docsis(p) } else { tuning(p) };
            if set.cap && p >= 0.1 && change > 0.02 {
                change = 0.02;
            }
            if set.fast_growth && qdelay > if set.dialect == Dialect::Docsis { 0.2 } else { 0.25 } {
                change += 0.02;
            }
            p += change;
        }
        let quiet = |delay: f64| delay == 0.0 || delay < set.decay_below;
        if quiet(qdelay) && quiet(old) {
            match set.dialect {
                // No delay though packets wait: the sample is too small to go by.
                Dialect::Linux if qdelay == 0.0 && bytes != 0 => {}
                Dialect::Linux => p -= p / 64.0,
                _ => p *= 0.98,
            }
        }
        let most = if set.dialect == Dialect::Docsis { (0.85 * set.mean_packet / SMALLEST).max(1.0) } else { 1.0 };
        self.p = p.clamp(0.0, most);
        let at_rest = self.p == 0.0 && set.low(qdelay) && set.low(old);
        match set.dialect {
            Dialect::Rfc => self.pass(set.tupdate),
            Dialect::Linux => {
                if at_rest && (set.latency == Latency::Timestamp || self.measured > 0.0) {
                    self.burst_allowance = set.max_burst;
                    self.accu = 0.0;
                    self.last_departure = None;
                    (self.measuring, self.measured) = (None, 0.0);
                }
            }
            Dialect::Ns3 => self.pass_ns3(set, at_rest),
            Dialect::Docsis => self.pass_docsis(set, at_rest),
        }
        self.qdelay_old = qdelay;
    }

    /// Uses up `seconds` of the burst allowance. A remainder below a nanosecond is a rounding error.
    fn pass(&mut self, seconds: f64) {
        self.burst_allowance -= seconds;
        if self.burst_allowance < 1e-9 {
            self.burst_allowance = 0.0;
        }
    }

    fn pass_ns3(&mut self, set: &Settings, at_rest: bool) {
        self.pass(set.tupdate);
        if at_rest && (set.latency == Latency::Timestamp || self.measured > 0.0) {
            (self.measuring, self.measured) = (None, 0.0);
        }
        match self.burst {
            Burst::Protecting if at_rest && self.burst_allowance == 0.0 => {
                (self.burst, self.quiet_updates) = (Burst::Over, 0);
            }
            Burst::Over if at_rest && self.burst_allowance == 0.0 => {
                self.quiet_updates += 1;
                if self.quiet_updates > set.resets_after {
                    (self.burst, self.quiet_updates) = (Burst::None, 0);
                }
            }
            Burst::Over => self.quiet_updates = 0,
            _ => {}
        }
    }

    /// RFC 8034, appendix A: after a burst, once all is quiet, it waits for the next one, and after `burst_reset` sleeps.
    fn pass_docsis(&mut self, set: &Settings, at_rest: bool) {
        let quiet = at_rest && self.burst_allowance == 0.0;
        self.pass(set.tupdate);
        match self.burst {
            Burst::Protecting if quiet => (self.burst, self.quiet_updates) = (Burst::Over, 0),
            Burst::Over if quiet => {
                self.quiet_updates += 1;
                if self.quiet_updates > set.resets_after && set.activity != Activity::Always {
                    (self.active, self.quiet_updates) = (false, 0);
                }
            }
            Burst::Over => self.quiet_updates = 0,
            _ => {}
        }
    }

    /// Decides over an arrival that finds `packets` and `bytes` here; [`Verdict::Signal`] only if it can be marked.
    pub fn arrive(
        &mut self,
        set: &Settings,
        packet: &Packet,
        packets: u64,
        bytes: u64,
        cx: &mut Context<'_>,
    ) -> Verdict {
        if !cx.has_room {
            self.accu = 0.0;
            return Verdict::Drop(Reason::Overflow);
        }
        let verdict = if self.active { self.decide(set, packet, packets, bytes, cx) } else { Verdict::Pass };
        // If PIE is asleep, or p is 0 so that it may fall asleep, this arrival was not dropped.
        match set.activity {
            Activity::Always => {}
            // docsis sleeps by its timer.
            Activity::Backlog | Activity::Delay(_) if set.dialect == Dialect::Docsis => {
                if !self.active && set.in_use(packet, packets, bytes) {
                    (self.active, self.burst, self.quiet_updates) = (true, Burst::Over, 0);
                    (self.p, self.qdelay_old, self.accu) = (0.0, 0.0, 0.0);
                }
            }
            Activity::Backlog => {
                let third = set.in_use(packet, packets, bytes);
                self.wake_or_sleep(set, third, cx.now, |delay| delay == 0.0);
            }
            // ns-3 cuts delays off to whole milliseconds: below 1 ms they are 0.
            Activity::Delay(threshold) => {
                self.wake_or_sleep(set, self.qdelay >= threshold, cx.now, |delay| delay < 0.001);
            }
        }
        verdict
    }

    /// RFC 8033, appendix B: PIE wakes up when it is `needed`, and sleeps when p and the last two delays are 0.
    fn wake_or_sleep(&mut self, set: &Settings, needed: bool, now: Time, none: impl Fn(f64) -> bool) {
        if !self.active && needed {
            self.active = true;
            (self.p, self.qdelay_old, self.accu) = (0.0, 0.0, 0.0);
            self.burst_allowance = set.max_burst;
            (self.measuring, self.measured) = (Some((now, 0.0)), 0.0);
        }
        if self.p == 0.0 && none(self.qdelay_old) && none(self.qdelay) {
            self.active = false;
            self.measuring = None;
        }
    }

    /// RFC 8033, 4.1 (Linux: `pie_drop_early`): the decision while PIE is active.
    fn decide(&mut self, set: &Settings, packet: &Packet, packets: u64, bytes: u64, cx: &mut Context<'_>) -> Verdict {
        if set.dialect == Dialect::Rfc && self.p == 0.0 && set.low(self.qdelay) && set.low(self.qdelay_old) {
            self.burst_allowance = set.max_burst;
        }
        if self.burst_allowance > 0.0 {
            return Verdict::Pass;
        }
        if set.dialect == Dialect::Ns3 && self.burst == Burst::None {
            // The allowance starts with the next arrival: this one is still decided.
            self.burst = Burst::Protecting;
            self.burst_allowance = set.max_burst;
        }
        let delay = if set.dialect == Dialect::Linux { self.qdelay } else { self.qdelay_old };
        if set.low(delay) && self.p < 0.2 || set.small(packets, bytes) {
            return Verdict::Pass;
        }
        let p = set.scaled(self.p, packet.size);
        let mut forced = false;
        if set.derandomise {
            let added = if matches!(set.dialect, Dialect::Linux | Dialect::Docsis) { p } else { self.p };
            self.accu = if added == 0.0 { 0.0 } else { self.accu + added };
            if self.accu < 0.85 - SLACK {
                return Verdict::Pass;
            }
            forced = self.accu >= 8.5 - SLACK;
        }
        if !forced {
            let u = cx.random.uniform();
            let hit = if matches!(set.dialect, Dialect::Ns3 | Dialect::Docsis) { p > 0.0 && u <= p } else { u < p };
            if !hit {
                return Verdict::Pass;
            }
            if set.dialect != Dialect::Ns3 {
                self.accu = 0.0;
            }
        }
        if set.dialect == Dialect::Docsis && self.burst != Burst::Protecting {
            // The first drop after quiet starts the allowance.
            (self.burst, self.burst_allowance) = (Burst::Protecting, set.max_burst);
        }
        let below = if set.dialect == Dialect::Linux { self.p <= set.mark_ecnth } else { self.p < set.mark_ecnth };
        let reason = if forced || p >= 1.0 { Reason::Forced } else { Reason::Early };
        if below && cx.can_mark(packet) {
            return Verdict::Signal(reason);
        }
        self.accu = 0.0;
        Verdict::Drop(reason)
    }

    /// `packet` has left the queue, in which `bytes` remain.
    pub fn depart(&mut self, set: &Settings, packet: &Packet, bytes: u64, now: Time) {
        let elapsed = if set.latency == Latency::Rate {
            self.measure(set, packet, bytes, now)
        } else {
            self.qdelay = now - packet.enqueued;
            if bytes == 0 && set.zero_when_empty {
                self.qdelay = 0.0;
            }
            self.last_departure.replace(now).map_or(0.0, |last| now - last)
        };
        if set.dialect == Dialect::Linux && elapsed > 0.0 {
            self.pass(elapsed);
        }
    }

    /// RFC 8033, 5.2: measures how long dq_threshold bytes take to leave, while that many wait; the seconds of a
    /// measurement that has just ended, else 0.
    fn measure(&mut self, set: &Settings, packet: &Packet, bytes: u64, now: Time) -> f64 {
        let many = bytes as f64 >= set.dq_threshold;
        if self.measuring.is_none() && many {
            self.measuring = Some((now, 0.0));
        }
        let Some((start, count)) = &mut self.measuring else { return 0.0 };
        *count += f64::from(packet.size);
        if *count < set.dq_threshold {
            return 0.0;
        }
        let (elapsed, rate) = (now - *start, *count / (now - *start));
        let first = self.measured == 0.0;
        match set.dialect {
            Dialect::Rfc | Dialect::Docsis => {
                let weight = set.dq_threshold / 65_536.0;
                self.measured = if first { elapsed } else { weight * elapsed + (1.0 - weight) * self.measured };
                self.measuring = None;
            }
            // With no time elapsed Linux continues the measurement, and ns-3 starts a new one.
            Dialect::Linux if elapsed <= 0.0 => return 0.0,
            Dialect::Linux => {
                self.measured = if first { rate } else { self.measured - self.measured / 8.0 + rate / 8.0 };
                self.measuring = many.then_some((now, 0.0));
            }
            Dialect::Ns3 => {
                if elapsed > 0.0 {
                    self.measured = if first { rate } else { 0.5 * self.measured + 0.5 * rate };
                }
                self.measuring = (bytes as f64 > set.dq_threshold).then_some((now, 0.0));
            }
        }
        elapsed
    }

    /// The drop probability.
    pub fn probability(&self) -> f64 {
        self.p
    }

    /// Inner values: `p`, `qdelay` (s, the last sample), `burst_allowance` (s), `accu`.
    pub fn gauges(&self, out: &mut dyn FnMut(&'static str, f64)) {
        out("p", self.p);
        out("qdelay", self.qdelay);
        out("burst_allowance", self.burst_allowance);
        out("accu", self.accu);
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::random::Generator;

    #[test]
    fn the_state_fits_other_numbers_but_no_other_rules() {
        let read = |dialect, pairs: &[(&'static str, Value)]| {
            let values = Values::of(pairs);
            Settings::read(&values, dialect, Limit::Packets(100))
        };
        let word = |name, word| (name, Value::Choice(word));
        let (rate, backlog, delay) = (word("latency", "rate"), word("activity", "backlog"), word("activity", "delay"));
        let one = read(Dialect::Rfc, &[delay]);
        for (other, same) in [
            (read(Dialect::Rfc, &[delay, ("active_threshold", Value::Real(0.1))]), true),
            (read(Dialect::Rfc, &[delay, ("alpha", Value::Real(0.5))]), true),
            (read(Dialect::Linux, &[delay]), false),
            (read(Dialect::Rfc, &[delay, rate]), false),
            (read(Dialect::Rfc, &[backlog]), false),
            (read(Dialect::Rfc, &[]), false),
        ] {
            assert_eq!(one.same_states(&other), same, "{other:?}");
        }
        assert!(read(Dialect::Ns3, &[backlog]).same_states(&read(Dialect::Ns3, &[backlog])));
    }

    /// RFC 8033, appendix B: PIE wakes up when queue and arrival are a third of the buffer, in packets or bytes.
    #[test]
    fn it_wakes_at_a_third_of_the_buffer() {
        let values = Values::of(&[("activity", Value::Choice("backlog"))]);
        let wakes = |limit: Limit, packets: u64, bytes: u64| {
            let set = Settings::read(&values, Dialect::Rfc, limit);
            let (mut random, mut victims) = (Generator::custom(|| 1.0), Vec::new());
            let mut cx =
                Context { now: Time::ZERO, ecn: false, has_room: true, random: &mut random, victims: &mut victims };
            // A delay keeps PIE awake.
            let mut pie = PieState { qdelay: 0.1, ..PieState::new(&set) };
            pie.arrive(&set, &Packet::new(1, 1000), packets, bytes, &mut cx);
            pie.active
        };
        for (n, awake) in [(5999, true), (6000, true), (6001, false)] {
            assert_eq!(wakes(Limit::Bytes(n), 1, 1000), awake, "{n}");
        }
        for (n, awake) in [(29, true), (30, true), (31, false)] {
            assert_eq!(wakes(Limit::Packets(n), 9, 9000), awake, "{n}");
        }
    }

    #[test]
    fn the_probability_is_tuned_in_seven_steps() {
        let at =
            [0.0, 0.999e-6, 1e-6, 0.999e-5, 1e-5, 0.999e-4, 1e-4, 0.999e-3, 1e-3, 0.999e-2, 1e-2, 0.0999, 0.1, 1.0];
        let want = [2048., 2048., 512., 512., 128., 128., 32., 32., 8., 8., 2., 2., 1., 1.];
        assert_eq!(at.map(tuning), want);
    }
}
