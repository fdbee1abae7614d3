//! The parameters that the family shares: their declaration, and the values given, each in its own type.

use super::tc::{Tc, TC};
use crate::params::{words, Kind, Param, ParamError, Unit, Value, Values, Word};

words! {
    /// Whose RED.
    pub enum Dialect {
        /// Floyd & Jacobson 1993, the pseudo-code.
        Paper = "paper",
        /// ns-2.35, `queue/red.cc`.
        Ns2 = "ns2",
        /// ns-3, `red-queue-disc.cc`.
        Ns3 = "ns3",
        /// Linux, `sch_red` and `red.h`.
        Linux = "linux",
    }
}

words! {
    /// In which unit the average and the thresholds are measured.
    pub(super) enum MeasuredIn {
        /// As the dialect has it.
        Auto = "auto",
        /// Packets.
        Packets = "packet",
        /// Bytes.
        Bytes = "byte",
    }
}

words! {
    /// Which gaps between drops the count makes.
    pub(super) enum CountBase {
        /// Uniform on 1..1/p_b - 1.
        Pseudocode = "pseudocode",
        /// Uniform on 1..1/p_b.
        Analysis = "analysis",
    }
}

words! {
    /// What to do when the average is past the end of the curve.
    pub(crate) enum OverMax {
        /// As the dialect has it.
        Auto = "auto",
        /// Drop.
        Drop = "drop",
        /// Mark if possible, else drop.
        Mark = "mark",
        /// ns-2: p_b = 1 goes through the spacing, and packets are marked only while p_b < mark_p.
        MarkBelowMarkP = "mark_below_mark_p",
    }
}

words! {
    /// Which packet is dropped when the buffer is full.
    pub(super) enum Victim {
        /// The arrival.
        Tail = "tail",
        /// The packet at the front.
        Front = "front",
        /// Any packet that waits.
        Random = "random",
    }
}

/// Defaults in which the disciplines of the family differ.
#[derive(Clone, Copy, Debug)]
pub struct Defaults {
    /// Lower threshold, packets.
    pub min_th: f64,
    /// Upper threshold, packets.
    pub max_th: f64,
    /// Probability at the upper threshold.
    pub max_p: f64,
    /// Where these defaults come from.
    pub source: &'static str,
}

/// Number of shared parameters.
pub const SHARED: usize = 14;

/// The shared parameters of the family.
pub const fn params(d: Defaults) -> [Param; SHARED] {
    [
        Param::real("min_th", Unit::QueueLength, Kind::real(0.0, f64::INFINITY).or_auto(), d.min_th)
            .symbol("min_{th}")
            .says(d.source, "Average queue below which nothing is dropped; \"auto\" is ns-2's max(5, 5 ms of packets / 2)."),
        Param::real("max_th", Unit::QueueLength, Kind::above(0.0, f64::INFINITY).or_auto(), d.max_th)
            .symbol("max_{th}")
            .says(d.source, "Average queue at which the drop probability reaches max_p; \"auto\" is three times min_th."),
        Param::real("max_p", Unit::None, Kind::above(0.0, 1.0), d.max_p)
            .symbol("max_p")
            .says(d.source, "Drop probability when the average reaches max_th."),
        Param::real("w_q", Unit::None, Kind::above(0.0, 1.0).or_auto(), 0.002)
            .symbol("w_q")
            .says(
                "Floyd & Jacobson 1993",
                "Weight of a new sample in the average; \"auto\" is ns-2's 1 - exp(-1/(10 rtt C)); linux rounds to a power of two.",
            ),
        Param::word("dialect", Dialect::WORDS, "paper")
            .says(
                "Floyd & Jacobson 1993",
                "Whose RED: the 1993 pseudo-code, ns-2.35, ns-3 or Linux sch_red; they differ in idle decay, spacing and forced drops.",
            ),
        Param::switch("wait")
            .says(
                "ns-2.35: on; the 1993 rule: off",
                "No drop before 1/p_b packets have passed since the last one (ns2 and ns3 only, where auto means on).",
            ),
        Param::word("unit", MeasuredIn::WORDS, "auto")
            .says(
                "Floyd & Jacobson 1993: packets; Linux: bytes",
                "Whether the average counts packets or bytes; auto is packet, and byte for linux.",
            ),
        Param::flag("byte_scaling", false)
            .says(
                "Floyd & Jacobson 1993; on by default in ns-2 since 2004",
                "Drop probability in proportion to the packet's size (ns-2's bytes_); not in linux.",
            ),
        Param::word("count_base", CountBase::WORDS, "pseudocode")
            .says(
                "Floyd & Jacobson 1993, Fig. 2 against section 4",
                "paper dialect: gaps uniform on 1..1/p_b - 1 as the pseudo-code has it, or on 1..1/p_b as the analysis says.",
            ),
        Param::word("ecn_over_max", OverMax::WORDS, "auto")
            .says(
                "auto: paper drop (RFC 3168, section 7; the 1993 figure: mark), ns3 drop, ns2 mark_below_mark_p (use_mark_p_), linux mark",
                "Past the end of the curve: drop, mark if possible, or (ns2) go through the spacing and mark only while p_b < mark_p.",
            ),
        Param::real("mark_p", Unit::None, Kind::real(0.0, 2.0), 0.1)
            .says(
                "ns-2.35",
                "With mark_below_mark_p: ECN marks only while p_b is below this, strictly; packets are dropped from it on.",
            ),
        Param::real("mean_packet", Unit::Bytes, Kind::real(1.0, 65535.0), 500.0)
            .symbol("L_m")
            .says(
                "ns-2.35, ns-3",
                "Mean packet size: sets the idle decay, and turns thresholds from packets into bytes.",
            ),
        Param::real("max_packet", Unit::Bytes, Kind::real(1.0, 65535.0), 1500.0)
            .symbol("L_{max}")
            .says("Ethernet", "Largest packet: byte_scaling in the paper dialect multiplies p_b by size/max_packet."),
        Param::word("overflow_victim", Victim::WORDS, "tail")
            .says(
                "ns-2.35 (drop_tail_)",
                "Which packet is dropped when the buffer is full: the arrival, the one at the front, or any queued one.",
            ),
    ]
}

/// `shared` with another parameter in the place of the one called `name`.
pub const fn replacing(mut shared: [Param; SHARED], name: &str, own: Param) -> [Param; SHARED] {
    shared[place(&shared, name)] = own;
    shared
}

/// Place of a parameter by name, while the program is compiled.
const fn place(all: &[Param; SHARED], name: &str) -> usize {
    let mut i = 0;
    while i < SHARED {
        let (one, other) = (all[i].name.as_bytes(), name.as_bytes());
        let mut same = 0;
        while same < one.len() && same < other.len() && one[same] == other[same] {
            same += 1;
        }
        if same == one.len() && same == other.len() {
            return i;
        }
        i += 1;
    }
    panic!("no such shared parameter")
}

/// `shared` for a discipline of which there is no version in Linux.
pub const fn without_linux(shared: [Param; SHARED]) -> [Param; SHARED] {
    let dialect = Param::word("dialect", &["paper", "ns2", "ns3"], "paper").says(
        "Floyd & Jacobson 1993",
        "Whose RED: the 1993 pseudo-code, ns-2.35 or ns-3; they differ in idle decay, spacing and forced drops.",
    );
    replacing(shared, "dialect", dialect)
}

/// The shared parameters called `names`, for a discipline that does not have all. [`super::Settings::read`] still takes
/// the whole list: parameters left out have their defaults.
pub const fn only<const N: usize>(all: &[Param; SHARED], names: [&str; N]) -> [Param; N] {
    let mut some = [all[0]; N];
    let mut n = 0;
    while n < N {
        some[n] = all[place(all, names[n])];
        n += 1;
    }
    some
}

/// The shared parameters as given or by default, each in its own type.
pub(super) struct Given {
    /// Lower threshold: a number in packets, a length in bytes, or `Auto`.
    pub min_th: Value,
    /// Upper threshold: a number in packets, a length in bytes, or `Auto`.
    pub max_th: Value,
    /// Probability at the upper threshold; 1 for a discipline that has no such parameter.
    pub max_p: f64,
    /// Weight of a new sample; `None` for `"auto"`.
    pub w_q: Option<f64>,
    /// Whose RED.
    pub dialect: Dialect,
    /// ns-2's and ns-3's `wait`; `None` for `"auto"`.
    pub wait: Option<bool>,
    /// In which unit the average is measured.
    pub unit: MeasuredIn,
    /// Whether the drop probability is in proportion to the packet's size.
    pub byte_scaling: bool,
    /// Which gaps between drops the count makes, in the paper dialect.
    pub count_base: CountBase,
    /// What to do past the end of the curve.
    pub ecn_over_max: OverMax,
    /// The p_b from which ns-2 drops instead of marking.
    pub mark_p: f64,
    /// Bytes of a mean packet.
    pub mean_packet: f64,
    /// Bytes of the largest packet.
    pub max_packet: f64,
    /// Which packet is dropped when the buffer is full.
    pub overflow_victim: Victim,
    /// Which version of tc makes the table for the idle decay, in linux.
    pub tc: Tc,
}

impl Given {
    /// `declared` is the discipline's [`params`]; only `max_p` may be missing.
    pub fn read(values: &Values, declared: &[Param]) -> Given {
        let length = |name: &str| values.get(declared.iter().find(|p| p.name == name).expect("declared"));
        let real = |name| values.real(declared, name);
        Given {
            min_th: length("min_th"),
            max_th: length("max_th"),
            max_p: if declared.iter().any(|p| p.name == "max_p") { real("max_p") } else { 1.0 },
            w_q: values.number(declared, "w_q"),
            dialect: values.choice(declared, "dialect"),
            wait: values.switch(declared, "wait"),
            unit: values.choice(declared, "unit"),
            byte_scaling: values.flag(declared, "byte_scaling"),
            count_base: values.choice(declared, "count_base"),
            ecn_over_max: values.choice(declared, "ecn_over_max"),
            mark_p: real("mark_p"),
            mean_packet: real("mean_packet"),
            max_packet: real("max_packet"),
            overflow_victim: values.choice(declared, "overflow_victim"),
            tc: values.choice(&TC, "tc"),
        }
    }

    /// Refuses `wait`, for dialects that do not have it.
    pub fn refuse_wait(&self) -> Result<(), ParamError> {
        if self.wait == Some(true) {
            return Err(ParamError::new("wait", true, "false or \"auto\" here: only the dialects ns2 and ns3 wait"));
        }
        Ok(())
    }

    /// `ecn_over_max` in the dialects without `mark_p`, where `"auto"` means `auto`.
    pub fn over_max_but_mark_p(&self, auto: OverMax) -> Result<OverMax, ParamError> {
        match self.ecn_over_max {
            OverMax::Auto => Ok(auto),
            OverMax::MarkBelowMarkP => Err(ParamError::new(
                "ecn_over_max",
                "mark_below_mark_p",
                "\"auto\", \"drop\" or \"mark\" unless dialect = \"ns2\"",
            )),
            given => Ok(given),
        }
    }
}
