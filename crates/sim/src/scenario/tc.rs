//! Linux `tc`'s names that differ from those here, for error messages. `docs/coming-from.md` lists them too.

use earlydrop_aqm::catalogue::AqmSpec;
use std::collections::BTreeMap;

const RED: &[&str] = &["red", "linux_ared", "choke"];
const PIE: &[&str] = &["pie", "fq_pie"];

/// Options: the disciplines that have them, tc's name, the name here.
const OPTIONS: [(&[&str], &str, &str); 16] = [
    (RED, "min", "min_th"),
    (RED, "max", "max_th"),
    (RED, "probability", "max_p"),
    (RED, "avpkt", "mean_packet"),
    (&["fq_codel", "fq_pie"], "flows", "queues"),
    (PIE, "target", "qdelay_ref"),
    (PIE, "bytemode", "byte_scaling"),
    (&["fq_pie"], "ecn_prob", "mark_ecnth"),
    (&["dualpi2"], "coupling_factor", "k"),
    (&["dualpi2"], "step_thresh", "step_threshold"),
    (&["dualpi2"], "max_rtt", "rtt_max"),
    (&["fq_pacing"], "flow_limit", "flow_plimit"),
    (&["hhf"], "hh_limit", "flows_limit"),
    (&["sfb"], "target", "bin_size"),
    (&["sfb"], "increment", "d1"),
    (&["sfb"], "decrement", "d2"),
];

/// Qdiscs: tc's name, the name here.
const QDISCS: [(&str, &str); 8] = [
    ("pfifo", "droptail"),
    ("bfifo", "droptail"),
    ("pfifo_head_drop", "drop_front"),
    ("pfifo_fast", "prio"),
    ("skbprio", "prio"),
    ("gred", "wred"),
    ("ets", "wrr"),
    ("qfq", "fq"),
];

/// For an option of `spec` by tc's name: `; tc's NAME is NAME here`.
pub(super) fn option(spec: &AqmSpec, name: &str) -> Option<String> {
    let known = OPTIONS.iter().find(|(aqms, there, _)| aqms.contains(&spec.name) && *there == name);
    known.map(|(_, there, here)| format!("; tc's {there} is {here} here"))
}

/// For a qdisc by tc's name: `; tc's NAME is NAME here`.
pub(super) fn qdisc(name: &str) -> Option<String> {
    let known = QDISCS.iter().find(|(there, _)| *there == name);
    known.map(|(there, here)| format!("; tc's {there} is {here} here"))
}

/// tc's names for this discipline, if they differ, and for its options: tc's name and the name here.
pub(super) fn of(spec: &AqmSpec) -> (Vec<&'static str>, BTreeMap<&'static str, &'static str>) {
    let qdiscs = QDISCS.iter().filter(|(_, here)| *here == spec.name).map(|(there, _)| *there);
    let options = OPTIONS.iter().filter(|(aqms, ..)| aqms.contains(&spec.name)).map(|&(_, there, here)| (there, here));
    (qdiscs.collect(), options.collect())
}

#[cfg(test)]
mod tests {
    use super::*;
    use earlydrop_aqm::catalogue;

    #[test]
    fn what_they_are_called_here_exists_and_what_there_does_not() {
        for (aqms, there, here) in OPTIONS {
            for aqm in aqms {
                let spec = catalogue::find(aqm).unwrap();
                assert!(spec.param(here).is_some() && spec.param(there).is_none(), "{aqm}: {there}, {here}");
                assert_eq!(option(spec, there).unwrap(), format!("; tc's {there} is {here} here"));
            }
        }
        for (there, here) in QDISCS {
            assert!(catalogue::find(here).is_some() && catalogue::find(there).is_none(), "{there}, {here}");
        }
        let red = catalogue::find("red").unwrap();
        assert_eq!((option(red, "target"), qdisc("red")), (None, None));
    }
}
