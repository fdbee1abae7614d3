//! Start times: a value, a list, or a distribution.

use serde_json::{json, Value as Json};

use super::super::bounds::{self, TIMES};
use super::super::document::Doc;
use super::super::fields::{Checked, Field, Fields, Interval};
use super::super::forms::{Own, Range};
use super::super::keys::Key;
use super::super::model::Delays;
use super::super::schemas::{object, reference};
use super::super::units;
use super::super::values::delays;
use super::distribution::{self, TIME};
use super::model::Starts;

/// Keys of starts at regular intervals.
const EVERY: &[&str] = &["every", "from"];
/// Keys of starts at the times of a Poisson process.
const POISSON: &[&str] = &["poisson", "from"];

pub(super) static START: Key<Own<Starts>> = Key::or(
    "start",
    Own {
        kind: "time, list or distribution",
        range: Range::Within(bounds::START),
        wanted: units::TIME_FORM,
        schema: || reference("starts"),
        write,
        read,
    },
    Starts::Times(Delays::Same(0.0)),
    "Start times of the entry's flows. A list is used in turn; `{ every = \"1 s\" }` starts them one after the other, \
     `{ poisson = \"1 s\" }` at the times of a Poisson process.",
);

fn read(field: &Field<'_>) -> Checked<Starts> {
    let has = |key: &str| field.doc.get(key).is_some();
    if has("every") {
        let fields = field.table(EVERY)?;
        let gap = fields.required("every", "")?.measure(&TIMES, bounds::START)?;
        return Ok(Starts::Every { gap, from: from(&fields)? });
    }
    if has("poisson") {
        let fields = field.table(POISSON)?;
        let gap = fields.required("poisson", "")?.measure(&TIMES, Interval { open_low: true, ..bounds::START })?;
        return Ok(Starts::Poisson { gap, from: from(&fields)? });
    }
    if matches!(field.doc, Doc::Table(_)) && !has("uniform") {
        return drawn(field);
    }
    delays(field, &TIMES, bounds::START).map(Starts::Times)
}

fn from(fields: &Fields<'_>) -> Checked<f64> {
    fields.optional("from").map_or(Ok(0.0), |field| field.measure(&TIMES, bounds::START))
}

fn drawn(field: &Field<'_>) -> Checked<Starts> {
    const LAWS: [&str; 6] = ["exponential", "pareto", "lognormal", "sample", "mix", "cdf"];
    if !LAWS.iter().any(|law| field.doc.get(law).is_some()) {
        return Err(field
            .error("names no law")
            .allowed("uniform, every, poisson, exponential, pareto, lognormal, sample, mix, cdf"));
    }
    distribution::read(field, &TIME, bounds::START).map(Starts::Drawn)
}

fn seconds(x: f64) -> Json {
    format!("{x} s").into()
}

fn write(starts: &Starts) -> Json {
    match starts {
        Starts::Times(delays) => super::super::values::delays_json(delays),
        Starts::Every { gap, from } => json!({ "every": seconds(*gap), "from": seconds(*from) }),
        Starts::Poisson { gap, from } => json!({ "poisson": seconds(*gap), "from": seconds(*from) }),
        Starts::Drawn(law) => distribution::write(law, &TIME),
    }
}

/// The schema of start times.
pub(in super::super) fn schema() -> Json {
    let time = || reference("time");
    json!({ "anyOf": [
        reference("delays"),
        object(&["every"], json!({ "every": time(), "from": time() })),
        object(&["poisson"], json!({ "poisson": time(), "from": time() })),
        reference("time_distribution"),
    ] })
}
