//! Which parameters of a discipline can change while it runs.

use crate::catalogue::{AqmSpec, Link};
use crate::params::{Kind, Param, Text, Value, Values};
use crate::policy::Limit;
use crate::random::Generator;

/// The parameters of `spec` of which [`Discipline::change`](crate::Discipline::change) takes any other value, from
/// `values`.
///
/// Tried with a queue that has just been built: the answer depends on the kind of a parameter and on the rest of `values`,
/// not on the state of the queue.
pub fn changeable(spec: &AqmSpec, values: &Values, link: &Link, limit: Limit) -> Vec<&'static str> {
    let build = |values: &Values| {
        (spec.check)(values, link).ok()?;
        (spec.build)(values, link, limit).ok()
    };
    let change = |param: &Param, other: Value| {
        let mut changed = values.clone();
        changed.set(param.name, other);
        let (present, next) = (build(values)?, build(&changed)?);
        Some(present.queue(limit, false, Generator::stream(1, "changeable")).change(next))
    };
    let changes = |param: &Param| {
        let mut tried =
            others(param, values.get(param)).into_iter().filter_map(|other| change(param, other)).peekable();
        tried.peek().is_some() && tried.all(|changed| changed)
    };
    spec.all_params().filter(|param| changes(param)).map(|param| param.name).collect()
}

/// Other values of `param` near `present`.
fn others(param: &Param, present: Value) -> Vec<Value> {
    let near = |x: f64| [x * 1.01, x * 0.99, x + 0.01, x * 2.0, 0.5, 1.0].map(Value::Real).to_vec();
    let found = match (param.kind, present) {
        (Kind::Real { .. }, Value::Real(x)) => near(x),
        (Kind::Real { .. }, Value::QueueBytes(x)) => vec![Value::QueueBytes(x * 1.01), Value::QueueBytes(x * 0.99)],
        (Kind::Real { low, .. }, _) => near(low),
        (Kind::Whole { .. }, Value::Whole(x)) => vec![Value::Whole(x.saturating_add(1)), Value::Whole(x - 1)],
        // Whatever its texts are, some of these ought to be one.
        (Kind::Text, _) => ["0", "1", "p"].map(|text| Value::Text(Text::new(text))).to_vec(),
        (kind, _) => kind.listed(),
    };
    found.into_iter().filter(|&value| value != present && param.allows(value)).collect()
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::catalogue::find;

    fn of(name: &str, given: &[(&'static str, Value)]) -> Vec<&'static str> {
        let mut values = Values::new();
        given.iter().for_each(|&(name, value)| {
            values.set(name, value);
        });
        let link = Link { rate_bps: 10e6, delay_s: 0.02 };
        changeable(find(name).expect("a discipline"), &values, &link, Limit::Packets(120))
    }

    #[test]
    fn thresholds_can_change_and_units_cannot() {
        let red = of("red", &[]);
        assert!(["min_th", "max_th", "max_p", "w_q"].iter().all(|name| red.contains(name)), "{red:?}");
        assert!(!red.contains(&"unit") && !red.contains(&"dialect"), "{red:?}");
        assert!(of("red", &[("dialect", Value::Choice("ns2"))]).contains(&"max_p"));
    }

    #[test]
    fn sojourn_targets_can_change_and_several_queues_cannot() {
        let codel = of("codel", &[]);
        assert!(codel.contains(&"target") && codel.contains(&"interval") && !codel.contains(&"dialect"), "{codel:?}");
        assert_eq!(of("fq_codel", &[]), [""; 0]);
        assert_eq!(of("droptail", &[]), [""; 0]);
    }
}
