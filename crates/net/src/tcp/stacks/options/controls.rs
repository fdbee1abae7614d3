//! Options of single congestion controls.

use super::option::{Group::*, Opt, Values::*, MARKS};
use crate::tcp::rfc::{BbrRules, ControlKind};

pub(super) const OPTIONS: &[Opt] = &[
    Opt::new("cubic", Cubic, Either(["rfc9438", "linux"], |s| &mut s.controls.cubic_linux))
        .only(&["cubic"])
        .source("RFC 9438; linux: Linux, bictcp_update, tcp_jiffies32")
        .about("CUBIC by RFC 9438, or in whole segments and ticks of 4 ms as Linux computes it."),
    Opt::new(
        "bbr",
        Bbr,
        Words(
            &["draft", "linux"],
            |s| usize::from(s.controls.bbr == BbrRules::LINUX),
            |s, k| s.controls.bbr = [BbrRules::default(), BbrRules::LINUX][k],
        ),
    )
    .only(&["bbr"])
    .source("draft-cardwell-iccrg-bbr-congestion-control-00, draft-cheng-iccrg-delivery-rate-estimation; linux: Linux, tcp_bbr.c, tcp_rate.c")
    .about("BBR by its first draft, or as Linux has it: with headroom for bursts and aggregated ACKs, detection of policers, and the rules of tcp-rfc, BBR."),
    Opt::new(
        "ledbat_target",
        Ledbat,
        Seconds(
            1e-4,
            10.0,
            |s| ledbat(s.control).0,
            |s, to| match &mut s.control {
                ControlKind::LedbatPlusPlus { target } => *target = to,
                other => *other = ControlKind::Ledbat { target: to, gain: ledbat(*other).1 },
            },
        ),
    )
    .only(&["ledbat", "ledbatpp"])
    .source("RFC 6817, 2.5; ledbatpp: draft-irtf-iccrg-ledbat-plus-plus, 4.5")
    .about("Queueing delay that LEDBAT maintains; 60 ms by default with ledbatpp."),
    Opt::new(
        "ledbat_gain",
        Ledbat,
        Number(
            0.01,
            100.0,
            |s| ledbat(s.control).1,
            |s, gain| s.control = ControlKind::Ledbat { target: ledbat(s.control).0, gain },
        ),
    )
    .only(&["ledbat"])
    .source("RFC 6817, 2.5")
    .about("Growth of LEDBAT's cwnd in a round trip at most, segments."),
    Opt::new("prague_fallback", Prague, Flag(|s| &mut s.controls.prague_fallback))
        .only(&["prague"])
        .needs(&[MARKS])
        .source("TCP Prague 0.6, prague_classic_ecn_detection (prague_ecn_fallback, off there too)")
        .about("Prague reduces as CUBIC would where marks seem to come from a classic queue."),
    Opt::new(
        "prague_rtt_target",
        Prague,
        Seconds(0.0, 0.1, |s| s.controls.prague_rtt_target, |s, time| s.controls.prague_rtt_target = time),
    )
    .only(&["prague"])
    .source("TCP Prague 0.6, prague_rtt_target; 0: prague_rtt_scaling = 0 (RTT_CONTROL_NONE)")
    .about("A flow of 500 round trips or more acts as if its RTT were this, if it is shorter."),
    Opt::new("dctcp_count", Dctcp, Either(["exact", "integers"], |s| &mut s.controls.dctcp_linux))
        .only(&["dctcp"])
        .source("RFC 8257, 3.3; integers: Linux, dctcp_update_alpha, dctcp_ssthresh")
        .about("DCTCP's fraction and cut are exact, or in 1/1024 and whole segments, both rounded down."),
    Opt::new("dctcp_ect", Dctcp, Either(["ect0", "ect1"], |s| &mut s.controls.dctcp_ect1))
        .only(&["dctcp"])
        .needs(&[MARKS])
        .source("RFC 8257, 3.1; ect1: RFC 9331, 4.1, as DCTCP is used in experiments with L4S queues")
        .about("DCTCP's segments are ECT(0), or ECT(1), which L4S queues take."),
];

/// The target, s, and the gain of a LEDBAT.
fn ledbat(control: ControlKind) -> (f64, f64) {
    match control {
        ControlKind::Ledbat { target, gain } => (target, gain),
        ControlKind::LedbatPlusPlus { target } => (target, 1.0),
        _ => (0.1, 1.0),
    }
}
