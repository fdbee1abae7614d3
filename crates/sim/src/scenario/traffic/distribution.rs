//! Distributions: `"10 kB"`, `{ uniform = ["1 kB", "1 MB"] }`, `{ pareto = "12 kB", shape = 1.2 }` and so on.

use std::path::Path;

use earlydrop_net::source::Distribution;
use serde_json::{json, Value as Json};

use super::super::bounds;
use super::super::document::Doc;
use super::super::error::{quoted, ScenarioError};
use super::super::fields::{Checked, Field, Fields, Interval, Measure};
use super::super::keys::{Form, Key, Read};
use super::super::schemas::{object, reference};
use super::super::units;

/// What a distribution is of, as its values are read and written.
pub(super) struct Of {
    measure: &'static Measure,
    /// A value with its unit.
    write: fn(f64) -> Json,
    form: &'static str,
    /// Names of the schemas of a value, and of the distribution.
    pub value: &'static str,
}

/// Sizes in bytes.
pub(super) const SIZE: Of = Of {
    measure: &bounds::SIZES,
    write: |bytes| format!("{bytes} B").into(),
    form: "a size such as \"10 kB\", or a table with one of uniform, exponential, pareto, lognormal, sample, mix, cdf, cdf_file",
    value: "size",
};
/// Times in seconds.
pub(super) const TIME: Of = Of {
    measure: &bounds::TIMES,
    write: |seconds| format!("{seconds} s").into(),
    form: "a time such as \"1 s\", or a table with one of uniform, exponential, pareto, lognormal, sample, mix, cdf, cdf_file",
    value: "time",
};
/// Whole numbers of things.
pub(super) const COUNT: Of = Of {
    measure: &Measure { read: |_| Err("is not a number".to_string()), form: "a number", bare: true },
    write: |count| count.into(),
    form: "a number, or a table with one of geometric, uniform, exponential, pareto, lognormal, sample, mix, cdf",
    value: "number",
};

/// Keys that name a distribution, and the keys that may go with each.
const NAMES: &[(&str, &[&str])] = &[
    ("uniform", &[]),
    ("exponential", &[]),
    ("pareto", &["shape", "max"]),
    ("lognormal", &["sigma", "max"]),
    ("geometric", &[]),
    ("sample", &[]),
    ("mix", &[]),
    ("cdf", &[]),
    ("cdf_file", &[]),
];
const KEYS: &[&str] = &[
    "uniform",
    "exponential",
    "pareto",
    "lognormal",
    "geometric",
    "sample",
    "mix",
    "cdf",
    "cdf_file",
    "shape",
    "sigma",
    "max",
];
/// Shapes of a Pareto distribution: at 1 and below it has no mean.
const SHAPE: Interval = Interval { low: 1.0, high: 100.0, open_low: true, open_high: false, unit: "" };
/// Standard deviations of a logarithm.
const SIGMA: Interval = Interval { low: 0.0, high: 10.0, open_low: false, open_high: false, unit: "" };
/// Probabilities and weights.
const CHANCE: Interval = Interval { low: 0.0, high: 1.0, open_low: false, open_high: false, unit: "" };
const WEIGHT: Interval = Interval { low: 0.0, high: 1e9, open_low: false, open_high: false, unit: "" };
const NUMBER: Measure = Measure { read: |_| Err("is not a number".to_string()), form: "a number", bare: true };

/// The document with the paths of its distributions' files starting from this folder.
pub(super) fn with_files_in(doc: &Doc, folder: Option<&Path>) -> Doc {
    match (doc, folder) {
        (Doc::Table(entries), Some(_)) => {
            let one = |(key, value): &(String, Doc)| {
                (
                    key.clone(),
                    match (key.as_str(), value, folder) {
                        ("cdf_file", Doc::String(name), Some(folder)) => {
                            Doc::String(folder.join(name).display().to_string())
                        }
                        _ => with_files_in(value, folder),
                    },
                )
            };
            Doc::Table(entries.iter().map(one).collect())
        }
        _ => doc.clone(),
    }
}

/// Reads a distribution of values within an interval.
pub(super) fn read(field: &Field<'_>, of: &Of, within: Interval) -> Checked<Distribution> {
    if !matches!(field.doc, Doc::Table(_)) {
        if matches!(field.doc, Doc::Array(_) | Doc::Bool(_)) {
            return Err(field.wrong_type(of.form));
        }
        return field.measure(of.measure, within).map(Distribution::Fixed);
    }
    let fields = field.table(KEYS)?;
    let mut given = NAMES.iter().filter_map(|(law, extra)| fields.optional(law).map(|field| (*law, *extra, field)));
    let Some((law, extra, first)) = given.next() else {
        return Err(field.error("names no distribution").allowed(of.form));
    };
    if let Some((other, _, second)) = given.next() {
        return Err(
            ScenarioError::new(second.path, format!("stands beside {law}")).allowed(format!("{law} or {other}"))
        );
    }
    if let Some(key) =
        ["shape", "sigma", "max"].iter().find(|key| fields.optional(key).is_some() && !extra.contains(key))
    {
        return Err(ScenarioError::new(format!("{}.{key}", fields.path), format!("does not go with {law}")));
    }
    let mean = |field: &Field<'_>| field.measure(of.measure, Interval { open_low: true, low: 0.0, ..within });
    let max = || fields.optional("max").map_or(Ok(f64::INFINITY), |field| field.measure(of.measure, within));
    match law {
        "uniform" => ends(&first, of, within),
        "exponential" => mean(&first).map(|mean| Distribution::Exponential { mean }),
        "pareto" => {
            let shape = fields.required("shape", SHAPE.to_string())?.measure(&NUMBER, SHAPE)?;
            Ok(Distribution::Pareto { mean: mean(&first)?, shape, max: max()? })
        }
        "lognormal" => {
            let sigma = fields.required("sigma", SIGMA.to_string())?.measure(&NUMBER, SIGMA)?;
            Ok(Distribution::Lognormal { median: mean(&first)?, sigma, max: max()? })
        }
        "geometric" => {
            let within = Interval { low: 1.0, high: 1e6, open_low: false, open_high: false, unit: "" };
            first.measure(&NUMBER, within).map(|mean| Distribution::Geometric { mean })
        }
        "sample" => sample(&first, of, within),
        "mix" => mix(&first, of, within),
        "cdf" => cdf(&first, of, within),
        _ => cdf_file(&first, within),
    }
}

fn ends(field: &Field<'_>, of: &Of, within: Interval) -> Checked<Distribution> {
    const WANTED: &str = "a list of two values, the smaller first";
    match field.items(WANTED)?.as_slice() {
        [low, high] => {
            let (low, high) = (low.measure(of.measure, within)?, high.measure(of.measure, within)?);
            if low <= high {
                Ok(Distribution::Uniform { low, high })
            } else {
                Err(field.error("runs backwards").allowed(WANTED))
            }
        }
        _ => Err(field.error("is not an interval").allowed(WANTED)),
    }
}

fn items<'a>(field: &Field<'a>, wanted: &str) -> Checked<Vec<Field<'a>>> {
    let items = field.items(wanted)?;
    if items.len() > bounds::POINTS {
        return Err(field.error("is too long a list").allowed(format!("{} values", bounds::POINTS)));
    }
    Ok(items)
}

fn sample(field: &Field<'_>, of: &Of, within: Interval) -> Checked<Distribution> {
    let values = items(field, "a list of values")?;
    values.iter().map(|item| item.measure(of.measure, within)).collect::<Checked<_>>().map(Distribution::Sample)
}

/// A list of pairs: a value, and a number within `second`.
fn pairs(field: &Field<'_>, of: &Of, within: Interval, second: Interval, wanted: &str) -> Checked<Vec<(f64, f64)>> {
    let pair = |item: &Field<'_>| match item.items(wanted)?.as_slice() {
        [value, number] => Ok((value.measure(of.measure, within)?, number.measure(&NUMBER, second)?)),
        _ => Err(item.error("is not a pair").allowed(wanted)),
    };
    items(field, wanted)?.iter().map(pair).collect()
}

fn mix(field: &Field<'_>, of: &Of, within: Interval) -> Checked<Distribution> {
    const WANTED: &str = "pairs of a value and its weight";
    let parts = pairs(field, of, within, WEIGHT, WANTED)?;
    if parts.iter().map(|part| part.1).sum::<f64>() > 0.0 {
        Ok(Distribution::Mix(parts))
    } else {
        Err(field.error("has no weight").allowed("at least one weight above 0"))
    }
}

const CDF_WANTED: &str = "pairs of a value and the probability up to it, both rising, the last probability 1";

fn cdf(field: &Field<'_>, of: &Of, within: Interval) -> Checked<Distribution> {
    rising(pairs(field, of, within, CHANCE, CDF_WANTED)?)
        .ok_or_else(|| field.error("is no distribution function").allowed(CDF_WANTED))
}

fn rising(points: Vec<(f64, f64)>) -> Option<Distribution> {
    let rises = points.windows(2).all(|two| two[0].0 <= two[1].0 && two[0].1 <= two[1].1);
    (rises && points.last().is_some_and(|last| last.1 == 1.0)).then_some(Distribution::Cdf(points))
}

/// A file of lines with a value in base units and the probability up to it; a `#` begins a comment. The file's path
/// starts from the scenario's folder.
fn cdf_file(field: &Field<'_>, within: Interval) -> Checked<Distribution> {
    const WANTED: &str = "a text file, each line a value and the probability up to it, both rising, the last 1";
    let name = field.text(WANTED)?;
    let path = Path::new(name);
    let shown = path.file_name().map_or(name.into(), |last| last.to_string_lossy());
    let fail = |message: &str| field.error(message).given(quoted(&shown)).allowed(WANTED);
    let about = std::fs::metadata(path).map_err(|_| fail("is no file that can be read"))?;
    if !about.is_file() || about.len() > super::super::document::MAX_FILE_BYTES {
        return Err(fail("is no text file of at most 1 MiB"));
    }
    let text = std::fs::read_to_string(path).map_err(|_| fail("is no file that can be read"))?;
    let mut points = Vec::new();
    for (number, line) in text.lines().enumerate() {
        let line = line.split('#').next().unwrap_or_default();
        let numbers: Vec<f64> = line.split_whitespace().map(|word| word.parse().unwrap_or(f64::NAN)).collect();
        match numbers[..] {
            [] => {}
            [value, chance] if within.contains(value) && CHANCE.contains(chance) => points.push((value, chance)),
            // The file may be another user's: none of its text goes into a message.
            _ => return Err(fail("has a line that is no pair").given(format!("line {}", number + 1))),
        }
    }
    if points.len() > bounds::POINTS {
        return Err(fail("has too many lines"));
    }
    rising(points).ok_or_else(|| fail("is no distribution function"))
}

/// The distribution as a scenario writes it.
pub(super) fn write(distribution: &Distribution, of: &Of) -> Json {
    let one = |x: &f64| (of.write)(*x);
    let two = |parts: &[(f64, f64)]| parts.iter().map(|(x, p)| json!([one(x), p])).collect::<Json>();
    let cut = |mut table: Json, max: f64| {
        if max.is_finite() {
            table["max"] = (of.write)(max);
        }
        table
    };
    match distribution {
        Distribution::Fixed(x) => one(x),
        Distribution::Uniform { low, high } => json!({ "uniform": [one(low), one(high)] }),
        Distribution::Exponential { mean } => json!({ "exponential": one(mean) }),
        Distribution::Pareto { mean, shape, max } => cut(json!({ "pareto": one(mean), "shape": shape }), *max),
        Distribution::Lognormal { median, sigma, max } => {
            cut(json!({ "lognormal": one(median), "sigma": sigma }), *max)
        }
        Distribution::Geometric { mean } => json!({ "geometric": mean }),
        Distribution::Sample(values) => json!({ "sample": values.iter().map(one).collect::<Vec<_>>() }),
        Distribution::Mix(parts) => json!({ "mix": two(parts) }),
        Distribution::Cdf(points) => json!({ "cdf": two(points) }),
    }
}

/// The schema of a distribution written as a table.
pub(super) fn schema(of: &Of) -> Json {
    let value = || if of.value == "number" { json!({ "type": "number" }) } else { reference(of.value) };
    let number = json!({ "type": "number", "minimum": 0 });
    let list = |item: Json| json!({ "type": "array", "items": item, "minItems": 1 });
    let pair = json!({ "type": "array", "prefixItems": [value(), number.clone()], "minItems": 2, "maxItems": 2 });
    let shape = json!({ "type": "number", "exclusiveMinimum": SHAPE.low, "maximum": SHAPE.high });
    let sigma = json!({ "type": "number", "minimum": SIGMA.low, "maximum": SIGMA.high });
    let laws = [
        object(&["uniform"], json!({ "uniform": { "type": "array", "items": value(), "minItems": 2, "maxItems": 2 } })),
        object(&["exponential"], json!({ "exponential": value() })),
        object(&["pareto", "shape"], json!({ "pareto": value(), "shape": shape, "max": value() })),
        object(&["lognormal", "sigma"], json!({ "lognormal": value(), "sigma": sigma, "max": value() })),
        object(&["geometric"], json!({ "geometric": { "type": "number", "minimum": 1 } })),
        object(&["sample"], json!({ "sample": list(value()) })),
        object(&["mix"], json!({ "mix": list(pair.clone()) })),
        object(&["cdf"], json!({ "cdf": list(pair) })),
        object(&["cdf_file"], json!({ "cdf_file": { "type": "string" } })),
    ];
    json!({ "oneOf": laws })
}

/// A value or a distribution.
pub(super) struct Draw {
    pub of: &'static Of,
    pub within: Interval,
}

impl Form for Draw {
    type Value = Distribution;

    fn write(&self, value: &Distribution) -> Json {
        write(value, self.of)
    }

    fn schema(&self) -> Json {
        let value = match self.of.value {
            "number" => json!({ "type": "number", "minimum": self.within.low }),
            name => reference(name),
        };
        json!({ "anyOf": [value, reference(&format!("{}_distribution", self.of.value))] })
    }

    fn wanted(&self) -> String {
        self.of.form.into()
    }

    fn kind(&self) -> String {
        format!("{} or distribution", self.of.value)
    }

    fn range(&self) -> String {
        self.within.to_string()
    }
}

impl Read for Draw {
    fn read(&self, field: &Field<'_>) -> Checked<Distribution> {
        read(field, self.of, self.within)
    }
}

/// An amount of data: a size, a number of packets, or a distribution of sizes.
pub(super) struct Data;

impl Form for Data {
    type Value = Distribution;

    fn write(&self, value: &Distribution) -> Json {
        write(value, &SIZE)
    }

    fn schema(&self) -> Json {
        json!({ "anyOf": [reference("queue_length"), reference("size_distribution")] })
    }

    fn wanted(&self) -> String {
        SIZE.form.into()
    }

    fn kind(&self) -> String {
        "size, packets or distribution".into()
    }

    fn range(&self) -> String {
        bounds::TRANSFER.to_string()
    }
}

/// Reads an amount of data; a packet holds `segment` bytes.
pub(super) fn read_data(fields: &Fields<'_>, key: &Key<Data>, segment: u32) -> Checked<Distribution> {
    let field = fields.required(key.name, key.form.wanted())?;
    if let Doc::String(text) = field.doc {
        if let Ok(units::QueueLength::Packets(packets)) = units::queue_length(text) {
            let bytes = packets * f64::from(segment);
            return if packets.fract() == 0.0 && bounds::TRANSFER.contains(bytes) {
                Ok(Distribution::Fixed(bytes))
            } else {
                Err(field.error("is out of range").allowed(bounds::TRANSFER.to_string()))
            };
        }
    }
    read(&field, &SIZE, bounds::TRANSFER)
}
