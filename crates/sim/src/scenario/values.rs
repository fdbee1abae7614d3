//! Values that several tables of a scenario have, read and written: names, times that differ, random numbers from elsewhere.

use serde_json::{json, Value as Json};

use super::bounds;
use super::document::Doc;
use super::error::quoted_list;
use super::fields::{whole_form, Checked, Field, Interval, Measure};
use super::model::{Delays, InjectedRandom};

/// Keys of `random`.
pub(super) const RANDOM: &[&str] = &["generator", "seed", "skip"];

/// Names of the generators that can be injected.
pub(super) const GENERATORS: &[&str] = &["mrg32k3a"];
pub(super) const DELAYS_FORM: &str =
    "a time such as \"20 ms\", a list of times, or { uniform = [\"1 ms\", \"10 ms\"] }";

/// A name that can be printed on one line.
pub(super) fn name(field: &Field<'_>) -> Checked<String> {
    let wanted = format!("a text of 1..{} characters", bounds::NAME);
    let text = field.text(&wanted)?;
    if text.is_empty() || text.chars().count() > bounds::NAME {
        return Err(field.error("has the wrong length").allowed(wanted));
    }
    if text.chars().any(char::is_control) {
        return Err(field.error("has control characters").allowed(wanted));
    }
    Ok(text.to_string())
}

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

/// Random numbers from elsewhere.
pub(super) fn random(field: &Field<'_>) -> Checked<InjectedRandom> {
    let fields = field.table(RANDOM)?;
    fields.required("generator", quoted_list(GENERATORS.iter().copied()))?.word(GENERATORS.iter().copied())?;
    let seed = fields.required("seed", whole_form(1, bounds::MRG_SEED))?.whole(1, bounds::MRG_SEED)?;
    let skip = fields.optional("skip").map_or(Ok(0), |field| field.whole(0, bounds::SKIP))?;
    Ok(InjectedRandom::Mrg32k3a { seed: seed as u32, skip })
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

/// Random numbers from elsewhere as a document has them.
pub(super) fn random_json(random: InjectedRandom) -> Json {
    match random {
        InjectedRandom::Mrg32k3a { seed, skip } => {
            json!({ "generator": "mrg32k3a", "seed": seed, "skip": skip })
        }
    }
}
