//! RED-PD's parameters: their declaration, and the rules that follow from the values given.

use crate::early_detection::{params, Defaults, SHARED};
use crate::params::{Kind, Param, ParamError, Unit, Value, Values};

pub(super) const COMMON: [Param; SHARED] =
    params(Defaults { min_th: 5.0, max_th: 15.0, max_p: 0.1, source: "ns-2 before 2001-12-29" });

const NS2: &str = "ns-2.35 (tcl/ex/red-pd)";

/// Most epochs that can be remembered.
pub(super) const EPOCHS: usize = 16;

const fn number(name: &'static str, unit: Unit, range: (f64, f64), default: f64, doc: &'static str) -> Param {
    Param::real(
        name,
        unit,
        Kind::Real { low: range.0, high: range.1, open_low: false, open_high: range.1.is_infinite(), auto: false },
        default,
    )
    .says(NS2, doc)
}

const fn count(name: &'static str, symbol: &'static str, high: i64, default: i64, doc: &'static str) -> Param {
    Param::whole(name, Unit::None, (1, high), default).symbol(symbol).says(NS2, doc)
}

pub(super) const OWN: [Param; 14] = [
    number(
        "target_rtt",
        Unit::Seconds,
        (1e-3, 10.0),
        0.04,
        "R: flows faster than a TCP flow of this round-trip time are high-bandwidth.",
    ),
    count("regular", "X", EPOCHS as i64, 3, "Epochs with drops that make a flow high-bandwidth."),
    count("epochs", "Y", EPOCHS as i64, 5, "Epochs that are remembered."),
    count("list_size", "", 65_536, 50, "Most flows that one epoch notes, those with the most dropped bytes."),
    Param::whole("flows", Unit::None, (1, 65_536), 1024)
        .says("our choice", "Flows with a drop history: those that lost a packet most recently."),
    number("drop_weight", Unit::None, (0.0, 1.0), 0.5, "Weight of an epoch in the average drop rate."),
    number("min_drop_rate", Unit::None, (0.0, 1.0), 0.001, "Drop rate of an epoch above which flows are punished."),
    number("most_at_first", Unit::None, (0.0, 1.0), 0.5, "Largest pre-filter probability that a flow starts with."),
    number(
        "release_at",
        Unit::None,
        (0.0, 1.0),
        0.005,
        "Probability from which a flow is released (half of it if unresponsive).",
    ),
    number("most_decrease", Unit::None, (0.0, 1.0), 0.05, "Most by which a probability falls in one step."),
    number(
        "change_interval",
        Unit::Seconds,
        (0.0, 1e6),
        0.4,
        "Least time between two changes of a flow's probability.",
    ),
    Param::new("first_epoch", Unit::Seconds, Kind::above(0.0, 1e9).or_auto(), Value::Auto)
        .says("our choice; ns-2's scripts: 10.1 s", "End of the first epoch; \"auto\" is 10 target_rtt."),
    Param::flag("unresponsive_test", true).says(NS2, "Whether flows are tested for not responding."),
    Param::flag("noidle", false)
        .says("ns-2.35", "Spare packets of unresponsive flows too while no more than one packet waits."),
];

pub(super) const COUNT_MARKS: [Param; 1] = [Param::flag("count_marks", true)
    .says("our choice (ns-2: drops only)", "Whether a mark counts as a drop in the history.")];

/// The parameters after checking.
#[derive(Clone, Copy, Debug)]
pub(super) struct Rules {
    /// R, the round-trip time, s, of the TCP flow whose rate others may not exceed.
    pub target_rtt: f64,
    /// X, epochs with drops that make a flow high-bandwidth.
    pub regular: usize,
    /// Y, epochs that are remembered.
    pub epochs: usize,
    /// Most flows that one epoch notes.
    pub list_size: usize,
    /// Most flows with a drop history.
    pub flows: usize,
    /// Weight of an epoch in the average drop rate.
    pub drop_weight: f64,
    /// Drop rate of an epoch above which flows are punished.
    pub min_drop_rate: f64,
    /// Largest pre-filter probability a flow starts with.
    pub most_at_first: f64,
    /// Probability at which a flow is released.
    pub release_at: f64,
    /// Most by which a probability falls in one step.
    pub most_decrease: f64,
    /// Least time between two changes of a flow's probability, s.
    pub change_interval: f64,
    /// End of the first epoch, s.
    pub first_epoch: f64,
    /// Whether flows are tested for not responding.
    pub unresponsive_test: bool,
    /// Whether packets of unresponsive flows pass too while no more than one packet waits.
    pub noidle: bool,
    /// Whether a mark counts as a drop.
    pub count_marks: bool,
}

impl Rules {
    /// The rules among `values`.
    pub fn read(values: &Values) -> Result<Self, ParamError> {
        let real = |name| values.real(&OWN, name);
        let whole = |name| values.whole(&OWN, name) as usize;
        let rules = Rules {
            target_rtt: real("target_rtt"),
            regular: whole("regular"),
            epochs: whole("epochs"),
            list_size: whole("list_size"),
            flows: whole("flows"),
            drop_weight: real("drop_weight"),
            min_drop_rate: real("min_drop_rate"),
            most_at_first: real("most_at_first"),
            release_at: real("release_at"),
            most_decrease: real("most_decrease"),
            change_interval: real("change_interval"),
            first_epoch: values.number(&OWN, "first_epoch").unwrap_or(10.0 * real("target_rtt")),
            unresponsive_test: values.flag(&OWN, "unresponsive_test"),
            noidle: values.flag(&OWN, "noidle"),
            count_marks: values.flag(&COUNT_MARKS, "count_marks"),
        };
        if rules.regular > rules.epochs {
            let allowed = format!("at most epochs ({})", rules.epochs);
            return Err(ParamError::new("regular", rules.regular, allowed));
        }
        Ok(rules)
    }
}
