//! The parameters of SFQ.

use crate::params::{words, Kind, Param, Unit, Value, Word};

words! {
    /// Whose SFQ.
    pub(super) enum Dialect {
        /// Linux, `sch_sfq.c`.
        Linux = "linux",
        /// ns-2.35, `queue/sfq.cc`.
        Ns2 = "ns2",
    }
}

pub(super) const PARAMS: [Param; 10] = [
    Param {
        name: "dialect",
        symbol: "",
        unit: Unit::None,
        kind: Kind::Choice(Dialect::WORDS),
        default: Value::Choice("linux"),
        source: "Linux sch_sfq: the nearer to McKenney 1990",
        doc: "Whose SFQ: Linux sch_sfq or ns-2.35.",
    },
    Param {
        name: "flows",
        symbol: "",
        unit: Unit::None,
        kind: Kind::Whole { low: 1, high: 65_408 },
        default: Value::Whole(128),
        source: "Linux sch_sfq",
        doc: "FIFOs (linux); arrivals of further flows are dropped.",
    },
    Param {
        name: "divisor",
        symbol: "",
        unit: Unit::None,
        kind: Kind::Whole { low: 1, high: 65_536 },
        default: Value::Whole(1024),
        source: "Linux sch_sfq",
        doc: "Entries of the hash table (linux).",
    },
    Param {
        name: "depth",
        symbol: "",
        unit: Unit::None,
        kind: Kind::Whole { low: 1, high: 65_535 },
        default: Value::Whole(127),
        source: "Linux sch_sfq, where it is also the most",
        doc: "Most packets of one flow (linux).",
    },
    Param {
        name: "quantum",
        symbol: "",
        unit: Unit::Bytes,
        kind: Kind::Whole { low: 1, high: 1_000_000 },
        default: Value::Whole(1514),
        source: "Linux sch_sfq: the MTU with its Ethernet header",
        doc: "About how many bytes a flow may send in a turn (linux).",
    },
    Param {
        name: "allot_unit",
        symbol: "",
        unit: Unit::Bytes,
        kind: Kind::Whole { low: 1, high: 64 },
        default: Value::Whole(8),
        source: "Linux sch_sfq before 6.13; 1 since",
        doc: "Unit in which packets and quantum are counted, rounded up (linux).",
    },
    Param {
        name: "perturb",
        symbol: "",
        unit: Unit::Seconds,
        kind: Kind::Real { low: 0.0, high: 1e6, open_low: false, open_high: false, auto: false },
        default: Value::Real(0.0),
        source: "Linux sch_sfq",
        doc: "Time between changes of the hash (linux): 0 for never, else at least 1 ms.",
    },
    Param {
        name: "headdrop",
        symbol: "",
        unit: Unit::None,
        kind: Kind::Flag { auto: false },
        default: Value::Flag(false),
        source: "Linux sch_sfq",
        doc: "Drop the oldest packet of a flow, not the newest (linux).",
    },
    Param {
        name: "buckets",
        symbol: "",
        unit: Unit::None,
        kind: Kind::Whole { low: 1, high: 65_536 },
        default: Value::Whole(16),
        source: "ns-2.35",
        doc: "FIFOs (ns2).",
    },
    Param {
        name: "mean_packet",
        symbol: "L_m",
        unit: Unit::Bytes,
        kind: Kind::Real { low: 1.0, high: 65535.0, open_low: false, open_high: false, auto: false },
        default: Value::Real(500.0),
        source: "ours, as RED's in ns-2.35",
        doc: "Size of a packet where ns2's rule for packets meets a limit in bytes.",
    },
];
