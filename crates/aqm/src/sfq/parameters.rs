//! The parameters of SFQ.

use crate::params::{words, Kind, Param, Unit, Word};

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
    Param::word("dialect", Dialect::WORDS, "linux")
        .says("Linux sch_sfq: the nearer to McKenney 1990", "Whose SFQ: Linux sch_sfq or ns-2.35."),
    Param::whole("flows", Unit::None, (1, 65_408), 128)
        .says("Linux sch_sfq", "FIFOs (linux); arrivals of further flows are dropped."),
    Param::whole("divisor", Unit::None, (1, 65_536), 1024).says("Linux sch_sfq", "Entries of the hash table (linux)."),
    Param::whole("depth", Unit::None, (1, 65_535), 127)
        .says("Linux sch_sfq, where it is also the most", "Most packets of one flow (linux)."),
    Param::whole("quantum", Unit::Bytes, (1, 1_000_000), 1514).says(
        "Linux sch_sfq: the MTU with its Ethernet header",
        "About how many bytes a flow may send in a turn (linux).",
    ),
    Param::whole("allot_unit", Unit::Bytes, (1, 64), 8).says(
        "Linux sch_sfq before 6.13; 1 since",
        "Unit in which packets and quantum are counted, rounded up (linux).",
    ),
    Param::real("perturb", Unit::Seconds, Kind::real(0.0, 1e6), 0.0)
        .says("Linux sch_sfq", "Time between changes of the hash (linux): 0 for never, else at least 1 ms."),
    Param::flag("headdrop", false).says("Linux sch_sfq", "Drop the oldest packet of a flow, not the newest (linux)."),
    Param::whole("buckets", Unit::None, (1, 65_536), 16).says("ns-2.35", "FIFOs (ns2)."),
    Param::real("mean_packet", Unit::Bytes, Kind::real(1.0, 65535.0), 500.0)
        .symbol("L_m")
        .says("ours, as RED's in ns-2.35", "Size of a packet where ns2's rule for packets meets a limit in bytes."),
];
