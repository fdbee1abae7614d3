//! COBALT's parameters: their declaration, and the settings that follow from the values given.

use crate::catalogue::Link;
use crate::params::{words, Kind, Param, ParamError, Unit, Value, Values, Word};

words! {
    /// Whose COBALT.
    pub(super) enum Dialect {
        /// Linux, `sch_cake.c`.
        Linux = "linux",
        /// ns-3, `cobalt-queue-disc.cc`.
        Ns3 = "ns3",
    }
}

words! {
    /// Which packet an overflow drops, as a parameter.
    enum Overflow {
        /// As the dialect has it.
        Auto = "auto",
        Head = "head",
        Arrival = "arrival",
    }
}

pub(super) const PARAMS: [Param; 12] = [
    Param::word("dialect", Dialect::WORDS, "linux")
        .says(
            "Linux sch_cake",
            "Whose COBALT: Linux's in CAKE or ns-3's; they differ in which packets are late, and in what an overflow drops.",
        ),
    Param::real("target", Unit::Seconds, Kind::above(0.0, 1e6), 0.005)
        .says("Linux, ns-3", "Acceptable standing queueing delay; packets that waited longer are late."),
    Param::real("interval", Unit::Seconds, Kind::real(1e-6, 1e6), 0.1)
        .says(
            "Linux, ns-3",
            "How long the sojourn time may stay above target before the first signal; about the largest round-trip time.",
        ),
    Param::real("increment", Unit::None, Kind::real(0.0, 1.0), 1.0 / 256.0)
        .says("Linux, ns-3", "What an overflow adds to p_blue."),
    Param::real("decrement", Unit::None, Kind::real(0.0, 1.0), 1.0 / 4096.0)
        .says("Linux, ns-3", "What an empty queue takes from p_blue."),
    Param::real("max_packet", Unit::Bytes, Kind::real(0.0, 1e9), 1514.0)
        .says(
            "Linux: psched_mtu",
            "Packet whose transmission time bounds target, interval and the sojourn time of a late packet (linux only).",
        ),
    Param::flag("linux_r0", false)
        .says(
            "ours: the published intent; Linux: true",
            "1/sqrt(count) is 0 until the first signal, so that the second late packet is signalled at once.",
        ),
    Param::word("overflow", Overflow::WORDS, "auto")
        .says(
            "Linux: head; ns-3: arrival",
            "Which packet is dropped at a full queue; auto is the head for linux, the arrival for ns3.",
        ),
    Param::new("blue_threshold", Unit::Seconds, Kind::real(0.0, f64::INFINITY).or_auto(), Value::Auto)
        .says(
            "ns-3: 400 ms; Linux: none",
            "A sojourn time above this counts for BLUE like an overflow; auto is 400 ms for ns3, none for linux.",
        ),
    Param::flag("ns3_clock", false)
        .says(
            "ns-3.37, m_lastUpdateTimeBlue; off is what its authors meant",
            "BLUE keeps the time of its last change in 32 bits of nanoseconds: after 4.3 s it changes at every event instead of once per target (ns3 only).",
        ),
    Param::new("ce_threshold", Unit::Seconds, Kind::real(0.0, f64::INFINITY).or_auto(), Value::Auto)
        .says("ns-3: off", "Every packet that waited longer than this is marked too; auto is off."),
    Param::flag("l4s", false)
        .says(
            "ns-3 UseL4s",
            "Packets with ECT(1) or CE are marked above ce_threshold and see nothing else; the others see no ce_threshold.",
        ),
];

/// The parameters of each queue in ns-3's FQ-COBALT.
pub(crate) const NS3_PARAMS: [Param; 8] =
    [PARAMS[1], PARAMS[2], PARAMS[3], PARAMS[4], PARAMS[8], PARAMS[9], PARAMS[10], PARAMS[11]];

/// The parameters after checking.
#[derive(Clone, Debug)]
pub(crate) struct Settings {
    /// Whose COBALT.
    pub(super) dialect: Dialect,
    /// Sojourn time above which a packet is late, s.
    pub target: f64,
    /// CoDel's interval, s.
    pub interval: f64,
    /// Sojourn time that a late packet must exceed too, s (Linux: four packets of `max_packet`).
    pub floor: f64,
    /// p_inc: what an overflow adds to `p_blue`.
    pub increment: f64,
    /// p_dec: what an empty queue takes off `p_blue`.
    pub decrement: f64,
    /// 1/sqrt(count) starts at 0, as in Linux' zeroed memory.
    pub r0: bool,
    /// An overflow drops the head of the queue, not the arrival.
    pub head_dropped: bool,
    /// Sojourn time that counts for BLUE like an overflow, s.
    pub blue_threshold: f64,
    /// BLUE's clock wraps at 32 bits of nanoseconds (ns-3).
    pub short_clock: bool,
    /// Sojourn time above which every packet is marked, s.
    pub ce_threshold: f64,
    /// L4S packets see `ce_threshold` alone.
    pub l4s: bool,
}

impl Settings {
    /// The settings among `values`, declared as [`NS3_PARAMS`], at `link`.
    pub(crate) fn of_ns3(values: &Values, link: &Link) -> Result<Self, ParamError> {
        let mut values = values.clone();
        values.set("dialect", Value::Choice("ns3"));
        Settings::read(&values, link)
    }

    /// The settings among `values`, at `link`.
    pub fn read(values: &Values, link: &Link) -> Result<Self, ParamError> {
        let number = |name| values.real(&PARAMS, name);
        let or = |name, auto| values.number(&PARAMS, name).unwrap_or(auto);
        let dialect = values.choice(&PARAMS, "dialect");
        let linux = dialect == Dialect::Linux;
        let packet = if linux { 8.0 * number("max_packet") / link.rate_bps } else { 0.0 };
        let target = f64::max(number("target"), 1.5 * packet);
        let raised = target - number("target");
        let interval = number("interval") + raised;
        let (l4s, ce_threshold) = (values.flag(&PARAMS, "l4s"), or("ce_threshold", f64::INFINITY));
        if l4s && ce_threshold.is_infinite() {
            return Err(ParamError::new(
                "l4s",
                true,
                "false, or with a ce_threshold: nothing else would act on L4S packets",
            ));
        }
        if linux && values.flag(&PARAMS, "ns3_clock") {
            return Err(ParamError::new("ns3_clock", true, "false: only ns-3 keeps this time in 32 bits"));
        }
        Ok(Settings {
            dialect,
            target,
            interval: if linux { interval.max(2.0 * target) } else { interval },
            floor: 4.0 * packet,
            increment: number("increment"),
            decrement: number("decrement"),
            r0: values.flag(&PARAMS, "linux_r0"),
            head_dropped: match values.choice(&PARAMS, "overflow") {
                Overflow::Auto => linux,
                Overflow::Head => true,
                Overflow::Arrival => false,
            },
            blue_threshold: or("blue_threshold", if linux { f64::INFINITY } else { 0.4 }),
            short_clock: values.flag(&PARAMS, "ns3_clock"),
            ce_threshold,
            l4s,
        })
    }
}
