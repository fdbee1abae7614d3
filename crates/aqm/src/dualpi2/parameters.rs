//! DualPI2's parameters: their declaration, and the settings that follow from the values given.

use crate::params::{words, Kind, Param, ParamError, Unit, Value, Values, Word};
use crate::policy::Limit;

/// The shortest time between two updates, s.
pub(super) const LEAST_TUPDATE: f64 = 1e-4;

words! {
    /// Whose DualPI2.
    pub(super) enum Dialect {
        /// Linux, `sch_dualpi2.c`.
        Linux = "linux",
        /// RFC 9332, appendix A.
        Rfc = "rfc",
    }
}

words! {
    /// L's own AQM, as a parameter.
    enum LAqmWord {
        /// As the dialect has it.
        Auto = "auto",
        Step = "step",
        StepPackets = "step_packets",
        Ramp = "ramp",
        None = "none",
    }
}

words! {
    /// How L's own AQM and the coupled probability combine.
    enum LCombine {
        /// As the dialect has it.
        Auto = "auto",
        /// L's own AQM and the coupling decide apart.
        Separate = "separate",
        /// The larger of the two probabilities decides.
        Max = "max",
    }
}

words! {
    /// Which queue sends next, as a parameter.
    enum SchedulerWord {
        Wrr = "wrr",
        TsFifo = "tsfifo",
    }
}

pub(super) const PARAMS: [Param; 23] = [
    Param::word("dialect", Dialect::WORDS, "linux").says(
        "Linux sch_dualpi2; rfc: RFC 9332, appendix A",
        "Whose DualPI2: it gives every parameter that is \"auto\" its value.",
    ),
    Param::real("target", Unit::Seconds, Kind::real(0.0, 100.0), 0.015)
        .says("RFC 9332, Linux", "Queueing delay that the controller steers towards."),
    Param::new("tupdate", Unit::Seconds, Kind::real(LEAST_TUPDATE, 100.0).or_auto(), Value::Auto)
        .symbol("T_{update}")
        .says("Linux: 16 ms; RFC 9332: min(target, rtt_max/3)", "Time between two updates of the probability."),
    Param::real("rtt_max", Unit::Seconds, Kind::real(1e-3, 100.0), 0.1)
        .symbol("RTT_{max}")
        .says("RFC 9332", "Largest round-trip time the controller is tuned for (rfc: sets tupdate and the gains)."),
    Param::new("alpha", Unit::None, Kind::real(0.0, 1e6).or_auto(), Value::Auto)
        .symbol("\\alpha")
        .says("Linux: 0.160071; RFC 9332: 0.1 tupdate/rtt_max^2", "Integral gain, Hz."),
    Param::new("beta", Unit::None, Kind::real(0.0, 1e6).or_auto(), Value::Auto)
        .symbol("\\beta")
        .says("Linux: 3.197783; RFC 9332: 0.3/rtt_max", "Proportional gain, Hz."),
    Param::real("k", Unit::None, Kind::above(0.0, 255.0), 2.0)
        .symbol("k")
        .says("RFC 9332, Linux", "Coupling factor: p_CL = k p'."),
    Param::word("l_aqm", LAqmWord::WORDS, "auto").says(
        "Linux: step; RFC 9332: ramp",
        "L's own AQM: a step in sojourn time or packets, a ramp in sojourn time, or none.",
    ),
    Param::word("l_combine", LCombine::WORDS, "auto").says(
        "Linux: separate; RFC 9332: max",
        "L's own AQM and the coupled probability decide apart, or the larger probability decides.",
    ),
    Param::real("step_threshold", Unit::Seconds, Kind::real(0.0, 100.0), 0.001)
        .says("Linux", "Sojourn time above which the step marks."),
    Param::whole("step_length", Unit::None, (0, 1_000_000), 1)
        .says("ours: Linux has no default", "Packets left in L above which the step marks (step_packets)."),
    Param::whole("min_qlen_step", Unit::None, (0, 1_000_000), 0)
        .says("Linux", "The step spares packets that found fewer packets than this in L."),
    Param::real("ramp_start", Unit::Seconds, Kind::real(0.0, 100.0), 0.0008)
        .symbol("minTh")
        .says("RFC 9332", "Sojourn time at which the ramp starts."),
    Param::real("ramp_range", Unit::Seconds, Kind::above(0.0, 100.0), 0.0004)
        .symbol("range")
        .says("RFC 9332", "Sojourn time over which the ramp rises from 0 to 1."),
    Param::whole("th_len", Unit::None, (0, 1_000_000), 1)
        .symbol("Th_{len}")
        .says("RFC 9332", "Packets left in L up to which the ramp marks nothing."),
    Param::switch("derandomise").says(
        "Linux: off; RFC 9332: on (recur)",
        "Spread drops and marks evenly by a counter for each queue instead of drawing random numbers.",
    ),
    Param::word("scheduler", SchedulerWord::WORDS, "wrr").says(
        "Linux; RFC 9332 recommends it",
        "Weighted round robin, or the queue whose head is older, with tshift added to L's age.",
    ),
    Param::new("classic_protection", Unit::None, Kind::real(0.0, 100.0).or_auto(), Value::Auto)
        .symbol("w_C")
        .says("Linux: 10; RFC 9332: about 1/16, 6.25", "Weight of C in per cent (wrr)."),
    Param::real("tshift", Unit::Seconds, Kind::real(0.0, 100.0), 0.05)
        .symbol("tshift")
        .says("RFC 9332", "Time by which L packets count as older (tsfifo)."),
    Param::new("min_backlog", Unit::Bytes, Kind::real(0.0, 1e9).or_auto(), Value::Auto).says(
        "Linux: 2 mtu; RFC 9332: 0",
        "No coupled drop or mark while fewer bytes than this, beside the packet, wait in both queues together.",
    ),
    Param::whole("mtu", Unit::Bytes, (64, 65_535), 1514).symbol("MTU").says(
        "Linux: Ethernet with its header",
        "Largest packet: sets the initial credit, min_backlog, and the space that rfc keeps free.",
    ),
    Param::flag("drop_early", false)
        .says("Linux, RFC 9332", "The coupled decision is taken when a packet arrives, not when it leaves."),
    Param::flag("drop_overload", true)
        .says("Linux, RFC 9332", "Past saturation ECN-capable packets are dropped too; else p' stops at 1/k."),
];

/// L's own AQM (RFC 9332: the native AQM).
#[derive(Clone, Copy, Debug, PartialEq)]
pub(super) enum LAqm {
    /// Marks above this sojourn time, s.
    Step { threshold: f64 },
    /// Marks above this many packets left in L.
    StepPackets { threshold: u64 },
    /// Marks with a probability that rises from 0 at the sojourn time `start`, s, to 1 `range` seconds later, while
    /// more than `th_len` packets are left in L.
    Ramp { start: f64, range: f64, th_len: u64 },
    /// Marks nothing.
    None,
}

/// Which queue sends next.
#[derive(Clone, Copy, Debug)]
pub(super) enum Scheduler {
    /// Weighted round robin.
    Wrr,
    /// The queue whose head is older, with `tshift` seconds added to the age of L's.
    TsFifo { tshift: f64 },
}

/// The parameters after checking.
#[derive(Clone, Copy, Debug)]
pub(super) struct Settings {
    /// Whose DualPI2.
    pub dialect: Dialect,
    /// Delay that the controller aims at, s.
    pub target: f64,
    /// Tupdate, the time between updates of p', s.
    pub tupdate: f64,
    /// Integral gain, Hz.
    pub alpha: f64,
    /// Proportional gain, Hz.
    pub beta: f64,
    /// Coupling factor.
    pub k: f64,
    /// L's own AQM.
    pub l_aqm: LAqm,
    /// Whether one decision over an L packet takes the larger of the coupled probability and L's own.
    pub combined: bool,
    /// Packets that an arrival must find in L for the step to apply to it.
    pub min_qlen_step: u64,
    /// Hits are spread evenly by recur() instead of drawn.
    pub derandomise: bool,
    /// Which queue sends next.
    pub scheduler: Scheduler,
    /// Weight of C, per cent.
    pub w_c: f64,
    /// Backlog from which the coupled decision is taken, bytes.
    pub min_backlog: f64,
    /// Largest packet, bytes.
    pub mtu: u32,
    /// The coupled decision is taken at the arrival.
    pub drop_early: bool,
    /// Past saturation ECN-capable packets are dropped too.
    pub drop_overload: bool,
    /// Packets or bytes of both queues.
    pub limit: Limit,
}

/// A gain that Linux takes in 1/256 Hz and rounds to its integers: nanoseconds of delay times the integer, by 64, are a
/// probability in units of 1/(2^32 - 1).
fn linux_gain(per_256_hz: f64) -> f64 {
    const ONE: f64 = u32::MAX as f64;
    ((per_256_hz * ONE / 4.0).floor() / 1e9).floor() / 64.0 * 1e9 / ONE
}

impl Settings {
    /// The settings among `values`, for queues that share `limit`.
    pub fn read(values: &Values, limit: Limit) -> Result<Self, ParamError> {
        let real = |name| values.real(&PARAMS, name);
        let whole = |name| values.whole(&PARAMS, name) as u64;
        let dialect = values.choice(&PARAMS, "dialect");
        let auto = |name, linux: f64, rfc: f64| {
            values.number(&PARAMS, name).unwrap_or(match dialect {
                Dialect::Linux => linux,
                Dialect::Rfc => rfc,
            })
        };
        let (target, rtt_max) = (real("target"), real("rtt_max"));
        let tupdate = auto("tupdate", 0.016, target.min(rtt_max / 3.0).max(LEAST_TUPDATE));
        let step = LAqm::Step { threshold: real("step_threshold") };
        let ramp = LAqm::Ramp { start: real("ramp_start"), range: real("ramp_range"), th_len: whole("th_len") };
        let l_aqm = match (values.choice(&PARAMS, "l_aqm"), dialect) {
            (LAqmWord::Step, _) | (LAqmWord::Auto, Dialect::Linux) => step,
            (LAqmWord::Ramp, _) | (LAqmWord::Auto, Dialect::Rfc) => ramp,
            (LAqmWord::StepPackets, _) => LAqm::StepPackets { threshold: whole("step_length") },
            (LAqmWord::None, _) => LAqm::None,
        };
        let drop_early = values.flag(&PARAMS, "drop_early");
        let combined = match values.choice(&PARAMS, "l_combine") {
            LCombine::Auto => dialect == Dialect::Rfc && !drop_early,
            LCombine::Separate => false,
            LCombine::Max if drop_early => {
                return Err(ParamError::new(
                    "l_combine",
                    "max",
                    "\"separate\" or \"auto\" with drop_early: the decisions are taken at different times",
                ));
            }
            LCombine::Max => true,
        };
        let mtu = whole("mtu") as u32;
        Ok(Settings {
            dialect,
            target,
            tupdate,
            alpha: auto("alpha", linux_gain(41.0), 0.1 * tupdate / (rtt_max * rtt_max)),
            beta: auto("beta", linux_gain(819.0), 0.3 / rtt_max),
            k: real("k"),
            l_aqm,
            combined,
            min_qlen_step: whole("min_qlen_step"),
            derandomise: values.switch(&PARAMS, "derandomise").unwrap_or(dialect == Dialect::Rfc),
            scheduler: match values.choice(&PARAMS, "scheduler") {
                SchedulerWord::Wrr => Scheduler::Wrr,
                SchedulerWord::TsFifo => Scheduler::TsFifo { tshift: real("tshift") },
            },
            w_c: auto("classic_protection", 10.0, 6.25),
            min_backlog: auto("min_backlog", 2.0 * f64::from(mtu), 0.0),
            mtu,
            drop_early,
            drop_overload: values.flag(&PARAMS, "drop_overload"),
            limit,
        })
    }
}
