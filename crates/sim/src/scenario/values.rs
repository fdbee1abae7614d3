//! Values that several tables of a scenario have: times that differ, random numbers from elsewhere.

use serde_json::{json, Value as Json};

use super::bounds;
use super::document::Doc;
use super::fields::{Checked, Field, Interval, Measure};
use super::forms::{OneOf, Own, Range, Whole};
use super::keys::{self, Key, Rows};
use super::model::{Delays, InjectedRandom};

/// Names of the generators that can be injected.
const GENERATORS: &[&str] = &["mrg32k3a"];
static GENERATOR: Key<OneOf<&str>> = Key::required("generator", OneOf { all: GENERATORS, name: |name| name }, "");
static SEED: Key<Whole> = Key::required("seed", Whole { low: 1, high: bounds::MRG_SEED }, "");
static SKIP: Key<Whole> = Key::or("skip", Whole { low: 0, high: bounds::SKIP }, 0, "");
/// Keys of `random`.
const RANDOM_KEYS: Rows = &[&GENERATOR, &SEED, &SKIP];

/// Random numbers from elsewhere.
pub(super) static RANDOM: Key<Own<InjectedRandom>> =
    Key::optional("random", INJECTED, "none", "Another simulator's random numbers, to follow its run.");

/// The form of injected random numbers.
pub(super) const INJECTED: Own<InjectedRandom> = Own {
    kind: "table",
    range: Range::Words("`{ generator, seed, skip }`"),
    wanted: "a table",
    schema: || keys::table(RANDOM_KEYS),
    write: |random| match random {
        InjectedRandom::Mrg32k3a { seed, skip } => json!({ "generator": "mrg32k3a", "seed": seed, "skip": skip }),
    },
    read: |field| {
        let fields = field.rows(RANDOM_KEYS)?;
        GENERATOR.read(&fields)?;
        Ok(InjectedRandom::Mrg32k3a { seed: SEED.read(&fields)? as u32, skip: SKIP.read(&fields)? })
    },
};
pub(super) const DELAYS_FORM: &str =
    "a time such as \"20 ms\", a list of times, or { uniform = [\"1 ms\", \"10 ms\"] }";

/// A time, a list of times, or the ends of an interval to draw from.
pub(super) fn delays(field: &Field<'_>, measure: &Measure, within: Interval) -> Checked<Delays> {
    match field.doc {
        Doc::Array(_) => list(field, measure, within).map(Delays::List),
        Doc::Table(_) => uniform(field, measure, within),
        Doc::Bool(_) => Err(field.wrong_type(DELAYS_FORM)),
        _ => field.measure(measure, within).map(Delays::Same),
    }
}

/// A list of values, not empty.
pub(super) fn list(field: &Field<'_>, measure: &Measure, within: Interval) -> Checked<Vec<f64>> {
    let items = field.items(DELAYS_FORM)?;
    if items.len() > bounds::LIST {
        return Err(field.error("is too long a list").allowed(format!("{} values", bounds::LIST)));
    }
    items.iter().map(|item| item.measure(measure, within)).collect()
}

fn uniform(field: &Field<'_>, measure: &Measure, within: Interval) -> Checked<Delays> {
    const WANTED: &str = "a list of two times, the smaller first";
    let ends = field.table(&["uniform"])?.required("uniform", WANTED)?;
    let values = list(&ends, measure, within)?;
    match values[..] {
        [low, high] if low <= high => Ok(Delays::Uniform(low, high)),
        [_, _] => Err(ends.error("runs backwards").allowed(WANTED)),
        _ => Err(ends.error("is not an interval").allowed(WANTED)),
    }
}

/// A time as a document has it.
pub(super) fn seconds(x: f64) -> String {
    format!("{x} s")
}

/// Delays as a document has them.
pub(super) fn delays_json(delays: &Delays) -> Json {
    match delays {
        Delays::Same(x) => seconds(*x).into(),
        Delays::List(list) => list.iter().copied().map(seconds).collect(),
        Delays::Uniform(low, high) => json!({ "uniform": [seconds(*low), seconds(*high)] }),
    }
}
