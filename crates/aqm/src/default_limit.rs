//! The buffer of a queue that gives no `limit`: each discipline has the buffer of its source, Linux or an RFC.

use crate::params::{Link, Param, Value, Values};
use crate::policy::Limit;

/// The limit of a queue that gives none.
#[derive(Clone, Copy, Debug)]
pub enum DefaultLimit {
    /// The same number of packets on every link.
    Packets {
        /// How many packets.
        packets: u64,
        /// Where the number comes from.
        source: &'static str,
    },
    /// Worked out from the parameters and the link.
    Rule {
        /// The rule in words, as `4 max_th`.
        rule: &'static str,
        /// Where the rule comes from.
        source: &'static str,
        /// Works out the limit from checked values.
        of: fn(&[&'static [Param]], &Values, &Link) -> Limit,
    },
}

impl DefaultLimit {
    /// The transmit queue of an Ethernet device, for disciplines that Linux lacks or that give no limit of their own.
    pub const DEVICE: DefaultLimit =
        DefaultLimit::Packets { packets: 1000, source: "Linux: txqueuelen of an Ethernet device, as pfifo has it" };

    /// RED's buffer: where max_th is not given, iproute2 takes a quarter of the limit for it.
    pub const RED: DefaultLimit = DefaultLimit::Rule {
        rule: "4 max_th",
        source: "iproute2 tc red: max is a quarter of limit, after Floyd",
        of: four_max_th,
    };

    /// The value or the rule in words.
    pub fn text(&self) -> String {
        match self {
            DefaultLimit::Packets { packets, .. } => format!("{packets} packets"),
            DefaultLimit::Rule { rule, .. } => (*rule).to_string(),
        }
    }

    /// Where the number or the rule comes from.
    pub fn source(&self) -> &'static str {
        match self {
            DefaultLimit::Packets { source, .. } | DefaultLimit::Rule { source, .. } => source,
        }
    }
}

/// A limit of `count` packets, rounded up, at least one.
pub fn packets(count: f64) -> Limit {
    Limit::Packets((count.ceil() as u64).max(1))
}

/// A limit of `count` bytes, rounded up, at least one.
pub fn bytes(count: f64) -> Limit {
    Limit::Bytes((count.ceil() as u64).max(1))
}

/// Four times the largest `max_th` of the discipline, or of its classes. `"auto"` is ns-2's, as in
/// [`crate::early_detection`].
fn four_max_th(params: &[&'static [Param]], values: &Values, link: &Link) -> Limit {
    let all = || params.iter().copied().flatten();
    let value = |name: &str| all().find(|param| param.name == name).map(|param| values.get(param));
    let mut largest = Limit::Packets(0);
    for param in all().filter(|param| param.name.starts_with("max_th")) {
        let limit = match values.get(param) {
            Value::Real(x) => packets(4.0 * x),
            Value::QueueBytes(x) => bytes(4.0 * x),
            _ => match value("min_th") {
                Some(Value::Real(x)) => packets(12.0 * x),
                Some(Value::QueueBytes(x)) => bytes(12.0 * x),
                _ => {
                    let Some(Value::Real(mean_packet)) = value("mean_packet") else { continue };
                    let per_second = link.rate_bps / (8.0 * mean_packet);
                    packets(12.0 * automatic_threshold(per_second))
                }
            },
        };
        let larger = match (limit, largest) {
            (Limit::Packets(x), Limit::Packets(y)) | (Limit::Bytes(x), Limit::Bytes(y)) => x > y,
            (Limit::Bytes(_), Limit::Packets(_)) => true,
            (Limit::Packets(_), Limit::Bytes(_)) => false,
        };
        if larger {
            largest = limit;
        }
    }
    largest
}

/// ns-2's `thresh_` where ns-2 chooses it, packets, with `ptc` packets per second: 5 ms of packets, halved, at least 5.
pub(crate) fn automatic_threshold(ptc: f64) -> f64 {
    (ptc * 0.005 / 2.0).max(5.0)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::catalogue;

    const LINK: Link = Link { rate_bps: 10e6, delay_s: 0.01 };

    fn limit(aqm: &str, values: &[(&'static str, Value)]) -> Limit {
        let mut all = Values::new();
        for &(name, value) in values {
            all.set(name, value);
        }
        catalogue::find(aqm).unwrap().default_limit(&all, &LINK)
    }

    #[test]
    fn linux_and_the_rfcs_have_their_own() {
        for (aqm, packets) in
            [("droptail", 1000), ("codel", 1000), ("pie", 1000), ("fq_codel", 10_240), ("fq_pie", 10_240), ("sfq", 127)]
        {
            assert_eq!(limit(aqm, &[]), Limit::Packets(packets), "{aqm}");
        }
        assert_eq!(limit("sfq", &[("dialect", Value::Choice("ns2"))]), Limit::Packets(40));
        assert_eq!(limit("dualpi2", &[("dialect", Value::Choice("linux"))]), Limit::Packets(10_000));
        // 250 ms at 10 Mbit/s.
        assert_eq!(limit("dualpi2", &[("dialect", Value::Choice("rfc"))]), Limit::Bytes(312_500));
        assert_eq!(limit("cobalt", &[]), Limit::Bytes(4 << 20));
        let fast = Link { rate_bps: 200e6, delay_s: 0.01 };
        let cobalt = catalogue::find("cobalt").unwrap();
        assert_eq!(cobalt.default_limit(&Values::new(), &fast), Limit::Bytes(10_000_000));
        let faster = Link { rate_bps: 10e9, delay_s: 0.01 };
        assert_eq!(cobalt.default_limit(&Values::new(), &faster), Limit::Bytes(10_240 * 1514));
    }

    #[test]
    fn red_has_four_times_its_upper_threshold() {
        assert_eq!(limit("red", &[]), Limit::Packets(60));
        assert_eq!(limit("tred", &[]), Limit::Packets(288));
        assert_eq!(limit("red", &[("max_th", Value::Real(7.6))]), Limit::Packets(31));
        let in_bytes = [("unit", Value::Choice("byte")), ("max_th", Value::QueueBytes(15e3))];
        assert_eq!(limit("red", &in_bytes), Limit::Bytes(60_000));
        let from_min_th = [in_bytes[0], ("min_th", Value::QueueBytes(5e3)), ("max_th", Value::Auto)];
        assert_eq!(limit("red", &from_min_th), Limit::Bytes(60_000));
        // Automatic: max(5, half of 5 ms) = 6.25 packets of 500 B, three times that, four times that.
        let auto = [("min_th", Value::Auto), ("max_th", Value::Auto)];
        assert_eq!(limit("red", &auto), Limit::Packets(75));
        assert_eq!(limit("red", &[("min_th", Value::Real(20.0)), ("max_th", Value::Auto)]), Limit::Packets(240));
        // ARED's limit depends on `target_delay`: 5 ms, or another.
        assert_eq!(limit("ared", &[]), Limit::Packets(75));
        assert_eq!(limit("ared", &[("target_delay", Value::Real(0.01))]), Limit::Packets(150));
        // The largest max_th of the classes counts.
        assert_eq!(limit("rio", &[]), Limit::Packets(120));
        assert_eq!(limit("wred", &[]), Limit::Packets(160));
    }

    #[test]
    fn holds_more_than_the_thresholds_of_every_discipline() {
        for spec in catalogue::all() {
            for rate_bps in [1e5, 10e6, 1e9] {
                let link = Link { rate_bps, delay_s: 0.01 };
                let limit = spec.default_limit(&Values::new(), &link);
                let room = match limit {
                    Limit::Packets(packets) => packets,
                    Limit::Bytes(bytes) => bytes / 60,
                };
                assert!(room >= 25, "{} at {rate_bps} bit/s: {limit:?}", spec.name);
                assert!((spec.build)(&Values::new(), &link, limit).is_ok(), "{}", spec.name);
            }
        }
    }
}
