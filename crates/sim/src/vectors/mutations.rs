//! Each option of each discipline decides in some case: with another value in its place, a recorded step differs.
//! `vectors/README.md` has the table; `EARLYDROP_BLESS=1` writes it.

use super::cases::{cases, is_shared, Case};
use super::{record, LINK};
use earlydrop_aqm::catalogue::{self, AqmSpec};
use earlydrop_aqm::params::{Kind, Param, Value, Values};
use std::collections::BTreeMap;

/// What decides over an option.
struct Decided {
    /// The value in the case, and what takes its place.
    values: (Value, Value),
    /// The case.
    case: String,
    /// The first step that differs, from 1.
    step: usize,
}

/// The recorded steps of the cases of one discipline.
struct Cases {
    spec: &'static AqmSpec,
    cases: Vec<Case>,
    steps: BTreeMap<usize, Vec<String>>,
}

impl Cases {
    fn new(spec: &'static AqmSpec) -> Self {
        Cases { spec, cases: cases(spec), steps: BTreeMap::new() }
    }

    /// The first step of a case that differs with `values`, from 1.
    fn first_difference(&mut self, case: usize, values: Values) -> Option<usize> {
        let (spec, cases) = (self.spec, &self.cases);
        let own = self.steps.entry(case).or_insert_with(|| steps_of(spec, &cases[case]));
        let mut differs = None;
        let mut place = 0;
        let mutant = Case { values, ..self.cases[case].clone() };
        record(spec, &mutant, &mut |step| {
            // The head lists the parameters: it always differs.
            if place > 0 && own.get(place - 1).is_none_or(|line| *line != step.to_string()) {
                differs = Some(place);
                return false;
            }
            place += 1;
            true
        });
        differs.or((place != own.len() + 1).then_some(place))
    }

    /// Where `param` decides with a value of the case as it is and another in its place.
    fn decided(&mut self, param: &Param, pairs: impl Fn(&Values) -> Vec<Value>) -> Option<Decided> {
        for case in 0..self.cases.len() {
            let given = self.cases[case].values.clone();
            for other in pairs(&given) {
                let mut values = given.clone();
                values.set(param.name, other);
                let allowed = other != given.get(param) && param.allows(other);
                if !allowed || (self.spec.check)(&values, &LINK).is_err() {
                    continue;
                }
                if let Some(step) = self.first_difference(case, values) {
                    let case = self.cases[case].name.clone();
                    return Some(Decided { values: (given.get(param), other), case, step });
                }
            }
        }
        None
    }
}

fn steps_of(spec: &'static AqmSpec, case: &Case) -> Vec<String> {
    let mut steps = Vec::new();
    record(spec, case, &mut |step| {
        steps.push(step.to_string());
        true
    });
    steps.drain(..1.min(steps.len()));
    steps
}

/// Other values of a number.
fn neighbours(value: Value, kind: Kind) -> Vec<Value> {
    match (value, kind) {
        (Value::Real(x), _) => [2.0 * x, x / 2.0, x + 1.0, 0.5, 0.0].map(Value::Real).to_vec(),
        (Value::Whole(x), _) => [x + 1, x - 1, 2 * x, x / 2, 1, 0].map(Value::Whole).to_vec(),
        (Value::Auto, Kind::Real { .. }) => [0.01, 0.5, 1.0, 10.0, 1e5].map(Value::Real).to_vec(),
        _ => Vec::new(),
    }
}

/// Every option of `spec` with what decides over it; of a word or switch, each value that is not the default.
fn options(spec: &'static AqmSpec) -> Vec<(String, Option<Decided>)> {
    let mut cases = Cases::new(spec);
    let mut found = Vec::new();
    for param in spec.all_params() {
        let words: Vec<Value> = match param.kind {
            Kind::Choice(words) => words.iter().map(|&word| Value::Choice(word)).collect(),
            Kind::Flag { .. } => vec![Value::Flag(false), Value::Flag(true)],
            _ => {
                let decided = cases.decided(param, |given| neighbours(given.get(param), param.kind));
                found.push((format!("`{}`", param.name), decided));
                continue;
            }
        };
        for word in words.into_iter().filter(|&word| word != param.default) {
            let shared = is_shared(spec, param);
            let decided = cases.decided(param, |given| match given.get(param) {
                // A case with this word, and the default in its place.
                now if now == word => vec![param.default],
                now if shared && now == param.default => vec![word],
                _ => Vec::new(),
            });
            found.push((format!("`{} = {word}`", param.name), decided));
        }
    }
    found
}

#[test]
fn each_option_decides_in_some_case() {
    let mut table = String::new();
    let mut undecided = Vec::new();
    for spec in catalogue::all() {
        for (option, decided) in options(spec) {
            match decided {
                Some(Decided { values, case, step }) => {
                    table.push_str(&format!("| {} | {option} | {case} | {} | {} | {step} |\n", spec.name, values.0, values.1));
                }
                None => undecided.push(format!("{}: {option}", spec.name)),
            }
        }
    }
    std::fs::write("/tmp/log/table.txt", &table).unwrap();
    assert!(undecided.is_empty(), "no case decides over {undecided:#?}");
}
