//! Each option of each discipline decides in some case: with another value in its place, a recorded step differs.
//! `vectors/options.csv` is the table; `EARLYDROP_BLESS=1` writes it, `EARLYDROP_BLESS=add` only rows of what has none.

use super::cases::{cases, read};
use super::record;
use super::subject::{Case, Subject};
use earlydrop_aqm::params::{Kind, Param, Text, Value, Values};
use std::collections::BTreeMap;
use std::fmt::Write as _;
use std::path::{Path, PathBuf};

/// Where an option decides.
#[derive(Clone)]
struct Decided {
    /// The value in the case, and the value that takes its place.
    values: (Value, Value),
    /// The case.
    case: String,
    /// The first step that differs, from 1.
    step: usize,
}

/// The recorded steps of the cases of one discipline.
struct Cases {
    spec: Subject,
    cases: Vec<Case>,
    steps: BTreeMap<usize, Vec<String>>,
}

impl Cases {
    fn new(spec: Subject) -> Self {
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
            if place > 0 && own.get(place - 1) != Some(&step.to_string()) {
                differs = Some(place);
                return false;
            }
            place += 1;
            true
        });
        differs.or((place != own.len() + 1).then_some(place))
    }

    /// Where `param` decides, with a value of the case and another in its place.
    fn decided(&mut self, param: &Param, pairs: impl Fn(&Values) -> Vec<Value>) -> Option<Decided> {
        for case in 0..self.cases.len() {
            let given = self.cases[case].values.clone();
            for other in pairs(&given) {
                let mut values = given.clone();
                values.set(param.name, other);
                let allowed = other != given.get(param) && param.allows(other);
                if !allowed || !self.spec.takes(&values) {
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

fn steps_of(spec: Subject, case: &Case) -> Vec<String> {
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
        (Value::Text(_), _) => ["0.5", "p"].map(|text| Value::Text(Text::new(text))).to_vec(),
        (Value::Auto, Kind::Real { .. }) => [0.01, 0.5, 1.0, 10.0, 1e5].map(Value::Real).to_vec(),
        _ => Vec::new(),
    }
}

/// The options that `param` stands for, each with its value: for a word or switch of the discipline's own every value
/// but the default, else the parameter.
fn options_of(spec: Subject, param: &Param) -> Vec<(String, Option<Value>)> {
    let words = param.kind.listed();
    if words.is_empty() || spec.shares(param) {
        return vec![(param.name.to_string(), None)];
    }
    let words = words.into_iter().filter(|&word| word != param.default);
    words.map(|word| (format!("{} = {word}", param.name), Some(word))).collect()
}

/// Every option of `spec`, with where it decides.
fn options(spec: Subject) -> Vec<(String, Option<Decided>)> {
    let mut cases = Cases::new(spec);
    let mut found = Vec::new();
    for param in spec.params() {
        let words = param.kind.listed();
        for (option, word) in options_of(spec, param) {
            let others = |given: &Values| match (given.get(param), word) {
                (now, None) if words.is_empty() => neighbours(now, param.kind),
                (_, None) => words.clone(),
                // A case with this word; in its place the default, or what "auto" may stand for.
                (now, Some(word)) if now != word => Vec::new(),
                _ if matches!(param.default, Value::Auto | Value::Choice("auto")) => {
                    [&[param.default], &words[..]].concat()
                }
                _ => vec![param.default],
            };
            found.push((option, cases.decided(param, others)));
        }
    }
    found
}

/// The rows of these subjects, and options that decide in no case. Two threads: it is the crate's longest test.
fn rows(all: &[Subject]) -> (String, Vec<String>) {
    let of = |all: &[Subject]| all.iter().map(|&subject| (subject.name(), options(subject))).collect::<Vec<_>>();
    let (first, second) = all.split_at(all.len() / 2);
    let found = std::thread::scope(|scope| {
        let first = scope.spawn(|| of(first));
        let second = of(second);
        [first.join().expect("no panic"), second].concat()
    });
    let (mut table, mut undecided) = (String::new(), Vec::new());
    for (aqm, options) in found {
        for (option, decided) in options {
            let Some(Decided { values: (given, other), case, step }) = decided else {
                undecided.push(format!("{aqm}: {option}"));
                continue;
            };
            let _ = writeln!(table, "{aqm},{option},{case},{given},{other},{step}");
        }
    }
    (table, undecided)
}

/// The table's head. No name and no value has a comma.
const HEAD: &str = "discipline,option,case,there,replaced by,first step\n";

fn table() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("../../vectors/options.csv")
}

fn stored() -> String {
    std::fs::read_to_string(table()).expect("vectors/options.csv")
}

/// Every case for every option: `make test-more SUITE=vectors`, or with `EARLYDROP_BLESS=1` the table anew.
#[test]
#[ignore = "a minute: make test-more SUITE=vectors"]
fn the_table_is_what_a_search_finds() {
    let bless = std::env::var_os("EARLYDROP_BLESS");
    let (stored, mut all) = (stored(), Subject::all());
    let has = |subject: &Subject| stored.contains(&format!("\n{},", subject.name()));
    let kept = if bless.as_ref().is_some_and(|word| word == "add") {
        all.retain(|subject| !has(subject));
        stored.clone()
    } else {
        HEAD.to_string()
    };
    let (rows, undecided) = rows(&all);
    assert!(undecided.is_empty(), "no case decides over {undecided:#?}");
    let found = in_order(&(kept + &rows));
    if bless.is_some() {
        std::fs::write(table(), found).expect("vectors/options.csv can be written");
        return;
    }
    assert_eq!(stored, found, "EARLYDROP_BLESS=1 make test-more SUITE=vectors writes it");
}

/// The table with its rows in the order of their subjects.
fn in_order(text: &str) -> String {
    let order: Vec<&str> = Subject::all().iter().map(Subject::name).collect();
    let mut lines: Vec<&str> = text.lines().skip(1).collect();
    lines.sort_by_key(|line| order.iter().position(|name| line.split(',').next() == Some(name)));
    std::iter::once(HEAD.trim_end()).chain(lines).map(|line| format!("{line}\n")).collect()
}

/// The rows of the table one by one: none is missing, and the step in it is the first that differs.
#[test]
fn each_option_decides_in_some_case() {
    let text = stored();
    let rows = text.strip_prefix(HEAD).expect("the table's head");
    let rows: Vec<Vec<&str>> = rows.lines().map(|line| line.split(',').collect()).collect();
    for spec in Subject::all() {
        let mut all = Cases::new(spec);
        let mut rows: Vec<_> = rows.iter().filter(|row| row[0] == spec.name()).collect();
        for param in spec.params() {
            for (option, _) in options_of(spec, param) {
                let place = rows.iter().position(|row| row[1] == option);
                let row = rows.remove(place.unwrap_or_else(|| panic!("{}: no row for {option}", spec.name())));
                let case = all.cases.iter().position(|case| case.name == row[2]).expect("a case of this name");
                let mut values = all.cases[case].values.clone();
                assert_eq!(values.get(param).to_string(), row[3], "{} {option}", spec.name());
                let number = row[4].parse().unwrap_or(f64::NAN);
                values.set(param.name, read(param, row[4], number).expect("a value of the option"));
                let step = all.first_difference(case, values).expect("a difference");
                assert_eq!(step.to_string(), row[5], "{} {option}", spec.name());
            }
        }
        assert!(rows.is_empty(), "rows of options that are not: {rows:?}");
    }
}

/// Names and values in the table of settings are those of the disciplines: a refused case would be left out.
#[test]
fn every_setting_is_a_case() {
    for (of, text) in super::cases::MORE {
        let all = Subject::all();
        let (aqm, setting) =
            of.split_once(' ').map_or((*of, String::new()), |(aqm, set)| (aqm, format!(" with {set}")));
        let &spec = all.iter().find(|subject| subject.name() == aqm).expect("a discipline, parent or marker");
        assert!(cases(spec).iter().any(|case| case.name == format!("hostile {text}{setting}")), "{aqm}: {text}");
        for (name, _) in text.split_whitespace().filter_map(|word| word.split_once('=')) {
            assert!(spec.param(name).is_some() || ["limit", "bytes", "silence", "arrivals"].contains(&name), "{name}");
        }
    }
}
