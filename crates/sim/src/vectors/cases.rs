//! Which settings of a discipline the decision vectors record.

use super::script::Kind as Arrivals;
use super::LINK;
use earlydrop_aqm::catalogue::{self, AqmSpec};
use earlydrop_aqm::params::{Kind, Param, Value, Values};
use earlydrop_aqm::policy::Limit;

/// Thresholds of the RED family with which a few thousand packets cross the whole curve and early, forced and overflow
/// drops all occur; and 50 times the gains of PI and PID, whose defaults are for 15 Mbit/s.
const LIVELY: [(&str, f64); 6] =
    [("min_th", 10.0), ("max_th", 30.0), ("q_ref", 20.0), ("a", 9.11e-4), ("b", 9.08e-4), ("k_p", 9.08e-4)];
/// Arrivals of the first case, and of each other case.
const ARRIVALS: usize = 2500;
const FEWER_ARRIVALS: usize = 300;

/// One setting of a discipline.
#[derive(Clone)]
pub struct Case {
    /// Its name.
    pub name: String,
    /// Parameters that are given.
    pub values: Values,
    /// The buffer.
    pub limit: Limit,
    /// Whether signals mark.
    pub ecn: bool,
    /// What arrives.
    pub script: Arrivals,
    /// How many packets.
    pub arrivals: usize,
}

/// The cases: the default; signals as drops; a limit in bytes; and every other choice and flag of the discipline's own
/// parameters. Parameters common to the RED family are varied for RED only.
pub fn cases(spec: &'static AqmSpec) -> Vec<Case> {
    let mut lively = Values::new();
    for (name, value) in LIVELY {
        if let Some(param) = spec.param(name) {
            lively.set(param.name, Value::Real(value));
        }
    }
    if (spec.check)(&lively, &LINK).is_err() {
        lively = Values::new();
    }
    let packets = Limit::Packets(120);
    let case = |name: &str, values: &Values, limit, ecn, arrivals| Case {
        name: name.to_string(),
        values: values.clone(),
        limit,
        ecn,
        script: Arrivals::Plain,
        arrivals,
    };
    let mut cases = vec![
        case("default", &lively, packets, true, ARRIVALS),
        case("without ecn", &lively, packets, false, FEWER_ARRIVALS),
        case("limit in bytes", &lively, Limit::Bytes(40_000), true, FEWER_ARRIVALS),
    ];
    for param in spec.all_params().filter(|param| !is_shared(spec, param)) {
        let others: Vec<Value> = match param.kind {
            Kind::Choice(words) => words.iter().map(|&word| Value::Choice(word)).collect(),
            Kind::Flag { .. } => vec![Value::Flag(false), Value::Flag(true)],
            _ => continue,
        };
        for value in others.into_iter().filter(|&value| value != param.default) {
            let mut values = lively.clone();
            values.set(param.name, value);
            if (spec.check)(&values, &LINK).is_ok() {
                cases.push(case(&format!("{} = {value}", param.name), &values, packets, true, FEWER_ARRIVALS));
            }
        }
    }
    cases
}


/// Whether `param` is one of those that RED's family shares, which RED's own cases vary: they have its doc sentence.
pub fn is_shared(spec: &AqmSpec, param: &Param) -> bool {
    let of_red = catalogue::find("red").and_then(|red| red.param(param.name));
    spec.name != "red" && of_red.is_some_and(|other| other.doc == param.doc)
}
