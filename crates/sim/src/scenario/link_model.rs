//! The key `model` of a link: a model by name with its parameters, or a process that was fitted.

use std::path::Path;

use earlydrop_aqm::params::{Param, Unit, Value, Values};
use earlydrop_net::model::{self, Model, ModelSpec, Process, MODELS, PROCESS};
use serde_json::{json, Map, Value as Json};

use super::bounds::{self, NUMBERS, TIMES};
use super::document::{contents, Contents, Doc, NOT_REGULAR};
use super::error::{quoted_list, ScenarioError};
use super::fields::{join, Checked, Field, Fields};
use super::forms::{Own, Range};
use super::keys::Key;
use super::parameters;
use super::queue::value;
use super::queue_text::queue_text;
use super::schemas::{about, list, object, reference as refer};
use super::values::seconds;
use super::words::{self, words};
use crate::topology::{Effects, LinkSpec, Rate as Over};

/// Reads links, with the folder of traces and models and the duration of a run.
#[derive(Clone, Copy)]
pub(super) struct Links<'a> {
    /// The folder of the scenario's file.
    pub folder: Option<&'a Path>,
    /// The duration of a run, s.
    pub duration: f64,
}

/// The text that stands for no model and no other effect of a link.
pub(super) const NONE: &str = "none";

/// A model, by name or fitted.
pub(super) static MODEL: Key<Own<Model, ()>> = Key::optional(
    "model",
    Own {
        kind: "text or table",
        range: Range::Words("`earlydrop list models`"),
        wanted: "a model such as \"lte-drive\", with its parameters as KEY=VALUE, or file=FILE",
        schema: whole_schema,
        write,
        read: (),
    },
    "none",
    "How the link behaves, by name, with parameters: `lte-drive direction=up`; or `file=FILE` for a fitted one. A model with \
     a rate of its own has no `rate` beside it; `delay`, by default 0, is added to the model's.",
);

/// Keys of a fitted process, after its name.
const STEP: &str = "step";
const RATE: &str = "rate";
const MEMORY: &str = "memory";
const DELAY_STEP: &str = "delay_step";
const DELAY: &str = "delay";
const DELAY_MEMORY: &str = "delay_memory";
const PROCESS_KEYS: &[&str] = &["name", STEP, RATE, MEMORY, DELAY_STEP, DELAY, DELAY_MEMORY];

/// Bits of the largest packet, and the most steps that it may take in the mean: each step is walked.
const LARGEST_PACKET: f64 = 8.0 * 65_535.0;
const PACKET_STEPS: f64 = 1e5;
/// Most quantiles, and most time constants.
const QUANTILES: usize = 64;
const CONSTANTS: usize = 8;
/// Least difference of two probabilities of quantiles, besides rounding.
const LEAST_GAP: f64 = 1e-6;

const QUANTILES_FORM: &str =
    "2 to 64 pairs [probability, value], such as [[0.05, \"0 Mbit/s\"], [0.5, \"5 Mbit/s\"]]: \
                              probabilities from 0.0001 to 0.9999 that rise, values that do not fall and end above 0";
/// The discipline that stands for what the device has.
const DEFAULT_QUEUE: &str = "default";

const MEMORY_FORM: &str =
    "at most 8 pairs [time constant, weight], such as [[\"4 s\", 0.3], [\"60 s\", 0.6]], with weights above 0 that sum to 1 at most";

/// The model of a link that has one.
pub(super) fn read(fields: &Fields<'_>, links: Links<'_>) -> Checked<Option<Model>> {
    let Some(field) = MODEL.field(fields) else { return Ok(None) };
    if matches!(field.doc, Doc::String(text) if text == NONE) {
        return Ok(None);
    }
    let table = words::unfolded_with_name(&field)?;
    let doc = table.as_ref().unwrap_or(field.doc);
    let field = Field { doc, path: field.path.clone() };
    if let Some(Doc::String(name)) = doc.get("file") {
        field.table(&["file"])?;
        let inner = file(&Field { doc, path: join(&field.path, "file") }, name, links)?;
        return of_table(&Field { doc: &inner, path: join(&field.path, "file") }, links).map(Some);
    }
    of_table(&field, links).map(Some)
}

fn of_table(field: &Field<'_>, links: Links<'_>) -> Checked<Model> {
    let Doc::Table(_) = field.doc else { return Err(field.wrong_type(MODEL.form.wanted)) };
    let names = || MODELS.iter().map(|spec| spec.name).chain([PROCESS]);
    let Some(doc) = field.doc.get("name") else {
        return Err(ScenarioError::new(join(&field.path, "name"), "is missing").allowed(quoted_list(names())));
    };
    let name = Field { doc, path: join(&field.path, "name") }.word(names())?;
    match model::find(name) {
        None => process(field, links),
        Some(spec) => {
            let keys: Vec<&str> = std::iter::once("name").chain(spec.params.iter().map(|param| param.name)).collect();
            let fields = field.table(&keys)?;
            let mut values = Values::new();
            for param in spec.params {
                if let Some(field) = fields.optional(param.name) {
                    values.set(param.name, value(param, &field, false)?);
                }
            }
            (spec.check)(&values).map_err(|(key, allowed)| {
                let given =
                    spec.params.iter().find(|param| param.name == key).map(|param| values.get(param).to_string());
                ScenarioError::new(join(&field.path, key), "does not fit")
                    .given(given.unwrap_or_default())
                    .allowed(allowed)
            })?;
            Ok(Model::Named { spec, values })
        }
    }
}

/// Whether the model goes with what else the link has.
pub(super) fn fits(fields: &Fields<'_>, effects: &Effects, rate: &Over) -> Checked<()> {
    let Some(model) = &effects.model else { return Ok(()) };
    let parts = model.parts();
    let at = |key: &str| join(&fields.path, key);
    if parts.grants.is_some() && effects.aggregation.is_some() {
        return Err(
            ScenarioError::new(at("aggregation"), "is given beside a model that has grants").allowed("one of the two")
        );
    }
    if let (Some(_), Over::Opportunities { .. }) = (&parts.aggregation, rate) {
        let message = "aggregates, and contradicts a trace, which has the times of all deliveries";
        return Err(ScenarioError::new(at(MODEL.name), message).given(model.name()).allowed("another model"));
    }
    if let Some(grants) = &parts.grants {
        let Over::Constant(rate) = rate else {
            let message = "changes, but the model grants a constant one";
            return Err(ScenarioError::new(at("rate"), message).allowed("a rate such as \"10 Mbit/s\""));
        };
        if *rate > grants.most() {
            return Err(ScenarioError::new(
                at("rate"),
                "is more than the model's channel carries in packets of any size",
            )
            .given(format!("{rate} bit/s"))
            .allowed(format!("at most {} bit/s", grants.most())));
        }
    }
    Ok(())
}

/// The document of a model's file.
fn file(field: &Field<'_>, name: &str, links: Links<'_>) -> Checked<Doc> {
    const WANTED: &str = "a TOML file as link-model writes it";
    let path = links.folder.map_or_else(|| Path::new(name).to_path_buf(), |folder| folder.join(name));
    let refuse =
        |message: String| ScenarioError::new(field.path.clone(), message).given(format!("{name:?}")).allowed(WANTED);
    let bytes = match contents(&path, bounds::MODEL_BYTES) {
        Ok(Contents::Whole(bytes)) => bytes,
        Ok(Contents::Special) => return Err(refuse(NOT_REGULAR.to_string())),
        Ok(Contents::Larger(_)) => {
            return Err(refuse("is too large a file".into()).allowed(format!("{} bytes", bounds::MODEL_BYTES)))
        }
        Err(error) => {
            return Err(refuse(match error.kind() {
                std::io::ErrorKind::NotFound => "no such file".to_string(),
                kind => format!("cannot be read ({kind})"),
            }))
        }
    };
    let text = String::from_utf8(bytes).map_err(|_| refuse("is not a text file".to_string()))?;
    Doc::from_toml(&text, None).map_err(|error| refuse(format!("is no TOML: {}", error.message)))
}

/// A process as a fit writes it.
fn process(field: &Field<'_>, links: Links<'_>) -> Checked<Model> {
    let fields = field.table(PROCESS_KEYS)?;
    let rates = |field: &Field<'_>| field.measure(&bounds::RATES, bounds::RATE_OR_DOWN);
    let times = |field: &Field<'_>| field.measure(&TIMES, bounds::DELAY);
    let rate = one(&fields, [STEP, RATE, MEMORY], &rates, links)?;
    // Half of all steps at least send something, so that no packet waits for ever.
    if let (Some(field), true) = (fields.optional(RATE), rate.zero_share() > 0.5) {
        return Err(field.error("sends nothing most of the time").allowed("a median above 0"));
    }
    let least = LARGEST_PACKET / (PACKET_STEPS * rate.step);
    if let (Some(field), true) = (fields.optional(RATE), rate.mean() < least) {
        let said = format!("a mean of at least {least:.3e} bit/s: {PACKET_STEPS:.0e} steps for a packet of 65535 B");
        return Err(field.error("is too slow for its step").allowed(said));
    }
    let delay = match fields.optional(DELAY) {
        Some(_) => Some(one(&fields, [DELAY_STEP, DELAY, DELAY_MEMORY], &times, links)?),
        None => None,
    };
    if let (None, Some(field)) = (&delay, fields.optional(DELAY_STEP).or_else(|| fields.optional(DELAY_MEMORY))) {
        return Err(field.error("belongs to a delay").allowed("beside delay"));
    }
    Ok(Model::Process { rate, delay })
}

fn one(
    fields: &Fields<'_>,
    [step, values, memory]: [&str; 3],
    measure: &dyn Fn(&Field<'_>) -> Checked<f64>,
    links: Links<'_>,
) -> Checked<Process> {
    let field = fields.required(step, "a time such as \"100 ms\"")?;
    let length = field.measure(&TIMES, bounds::STEP)?;
    if links.duration > length * bounds::CHANGES {
        let least = links.duration / bounds::CHANGES;
        let said = format!("at least {least:e} s: {:.0e} steps in a run of {} s", bounds::CHANGES, links.duration);
        return Err(field.error("changes too often").allowed(said));
    }
    let field = fields.required(values, QUANTILES_FORM)?;
    let mut quantiles: Vec<(f64, f64)> = Vec::new();
    for item in bounded(&field, 2, QUANTILES, QUANTILES_FORM)? {
        let pair = item.items(QUANTILES_FORM)?;
        let [p, value] = &pair[..] else { return Err(item.error("is no pair").allowed(QUANTILES_FORM)) };
        let p = p.measure(&NUMBERS, bounds::QUANTILE)?;
        let value = measure(value)?;
        if quantiles.last().is_some_and(|last| p < last.0 + LEAST_GAP || value < last.1) {
            return Err(item.error("does not come after the one before").allowed(QUANTILES_FORM));
        }
        quantiles.push((p, value));
    }
    if quantiles.last().is_none_or(|last| last.1 <= 0.0) {
        return Err(field.error("is 0 everywhere").allowed(QUANTILES_FORM));
    }
    let mut constants = Vec::new();
    if let Some(field) = fields.optional(memory) {
        let mut sum = 0.0;
        for item in bounded(&field, 0, CONSTANTS, MEMORY_FORM)? {
            let pair = item.items(MEMORY_FORM)?;
            let [time, weight] = &pair[..] else { return Err(item.error("is no pair").allowed(MEMORY_FORM)) };
            let (time, weight) =
                (time.measure(&TIMES, bounds::TIME_CONSTANT)?, weight.measure(&NUMBERS, bounds::WEIGHT)?);
            sum += weight;
            constants.push((time, weight));
        }
        if sum > 1.0 + 1e-9 {
            return Err(field.error("has too much weight").given(sum.to_string()).allowed(MEMORY_FORM));
        }
    }
    Ok(Process { step: length, quantiles, memory: constants })
}

/// The items of a list with a bounded number of them.
fn bounded<'a>(field: &Field<'a>, least: usize, most: usize, wanted: &str) -> Checked<Vec<Field<'a>>> {
    let items = match field.doc {
        Doc::Array(items) if items.is_empty() => Vec::new(),
        _ => field.items(wanted)?,
    };
    if (least..=most).contains(&items.len()) {
        Ok(items)
    } else {
        Err(field.error("has a wrong number of pairs").given(items.len().to_string()).allowed(wanted))
    }
}

/// The model as a document has it, with all its parameters.
fn write(model: &Model) -> Json {
    match model {
        Model::Named { spec, values } => table(spec, values, |_| true),
        Model::Process { rate, delay } => {
            let mut map = Map::new();
            map.insert("name".into(), PROCESS.into());
            put(&mut map, [STEP, RATE, MEMORY], rate, |x| format!("{x} bit/s"));
            if let Some(delay) = delay {
                put(&mut map, [DELAY_STEP, DELAY, DELAY_MEMORY], delay, seconds);
            }
            map.into()
        }
    }
}

fn put(
    map: &mut Map<String, Json>,
    [step, values, memory]: [&str; 3],
    process: &Process,
    unit: impl Fn(f64) -> String,
) {
    map.insert(step.into(), seconds(process.step).into());
    map.insert(values.into(), process.quantiles.iter().map(|&(p, x)| json!([p, unit(x)])).collect());
    map.insert(memory.into(), process.memory.iter().map(|&(time, x)| json!([seconds(time), x])).collect());
}

fn table(spec: &ModelSpec, values: &Values, which: impl Fn(&Param) -> bool) -> Json {
    let mut map = Map::new();
    map.insert("name".into(), spec.name.into());
    for param in spec.params.iter().filter(|param| which(param)) {
        let written = match (param.unit, values.get(param)) {
            (Unit::Seconds, Value::Real(x)) => Some(seconds(x).into()),
            (Unit::Rate, Value::Real(x)) => Some(format!("{x} bit/s").into()),
            (_, value) => parameters::written(value),
        };
        map.extend(written.map(|written| (param.name.to_string(), written)));
    }
    map.into()
}

/// The model in one line, as a command's option has it: without the parameters that are as by default.
pub(super) fn text(model: &Model) -> String {
    let mut json = match model {
        Model::Named { spec, values } => table(spec, values, |param| values.get(param) != param.default),
        Model::Process { .. } => write(model),
    };
    let name = json.as_object_mut().and_then(|map| map.remove("name"));
    let name = name.as_ref().and_then(Json::as_str).unwrap_or_default().to_string();
    std::iter::once(name).chain(words(&json)).collect::<Vec<_>>().join(" ")
}

fn whole_schema() -> Json {
    let text = json!({ "type": "string", "minLength": 1 });
    let file = object(&["file"], json!({ "file": { "type": "string" } }));
    let named = MODELS.iter().map(|spec| {
        let name = std::iter::once(("name".to_string(), json!({ "const": spec.name })));
        let params = spec.params.iter().map(|param| (param.name.to_string(), parameters::schema(param)));
        about(object(&["name"], name.chain(params).collect::<Map<_, _>>().into()), spec.title)
    });
    let pairs = || list(json!({ "type": "array", "minItems": 2, "maxItems": 2 }));
    let memory = || json!({ "type": "array", "items": { "type": "array", "minItems": 2, "maxItems": 2 } });
    let process = object(
        &["name", STEP, RATE],
        json!({
            "name": { "const": PROCESS }, STEP: refer("time"), RATE: pairs(), MEMORY: memory(),
            DELAY_STEP: refer("time"), DELAY: pairs(), DELAY_MEMORY: memory(),
        }),
    );
    let forms: Vec<Json> = [text, file].into_iter().chain(named).chain([process]).collect();
    json!({ "anyOf": forms })
}

/// All models, as JSON: `name`, `title`, `summary`, `parameters`, `figures` (`what`, `value`, `source`, and whether a test
/// compares it), `missing` (what is not modelled), `rate` (whether it has one of its own), and `queue`, what
/// `aqm = "default"` stands for, with `depth` (its limit, s at the link's mean rate) and `queue_source`.
pub fn models() -> Json {
    let one = |spec: &ModelSpec| {
        let figure = |figure: &model::Figure| json!({ "what": figure.what, "value": figure.value, "source": figure.source, "tested": figure.tested });
        json!({
            "name": spec.name,
            "title": spec.title,
            "summary": spec.summary,
            "parameters": spec.params.iter().map(parameters::reference).collect::<Vec<_>>(),
            "figures": spec.figures.iter().map(figure).collect::<Vec<_>>(),
            "missing": spec.missing,
            "rate": spec.has_rate,
            "queue": spec.queue,
            "depth": spec.depth,
            "queue_source": spec.queue_source,
        })
    };
    MODELS.iter().map(one).collect()
}

/// The table of a queue with `aqm = "default"` in front of `link`: what the device of the link's model has. Other keys of
/// the table stay. `None` if the queue has another discipline.
pub(super) fn default_queue(field: &Field<'_>, links: &[&LinkSpec]) -> Checked<Option<Doc>> {
    let Doc::Table(entries) = field.doc else { return Ok(None) };
    let Some(Doc::String(name)) = field.doc.get("aqm") else { return Ok(None) };
    if name != DEFAULT_QUEUE {
        return Ok(None);
    }
    let refuse = |message: &str| {
        let at = Field { doc: field.doc, path: join(&field.path, "aqm") };
        ScenarioError::new(at.path, message).given(format!("{DEFAULT_QUEUE:?}"))
    };
    let mut found: Option<(&'static ModelSpec, f64)> = None;
    for link in links {
        let Some(Model::Named { spec, .. }) = &link.effects.model else {
            let names = quoted_list(MODELS.iter().map(|spec| spec.name));
            return Err(refuse("is the queue of the device at a link with a model by name, and this link has none")
                .allowed(format!("a discipline, or model = one of {names} at the link")));
        };
        match found {
            Some((other, _)) if other.name != spec.name => {
                return Err(refuse("is at links of different models").allowed("a queue for each"));
            }
            Some((spec, rate)) => found = Some((spec, rate.max(link.rate.nominal()))),
            None => found = Some((spec, link.rate.nominal())),
        }
    }
    let Some((spec, rate)) = found else { return Ok(None) };
    let Doc::Table(mut table) = queue_text(spec.queue)? else { return Ok(None) };
    if let Some(depth) = spec.depth {
        // Two packets at least.
        let bytes = (rate * depth / 8.0).round().max(3000.0);
        table.push(("limit".to_string(), Doc::String(format!("{bytes} B"))));
    }
    for (key, value) in entries.iter().filter(|(key, _)| key != "aqm") {
        table.retain(|(known, _)| known != key);
        table.push((key.clone(), value.clone()));
    }
    Ok(Some(Doc::Table(table)))
}

/// The models of both directions of a link, as texts: what its user sends, and receives. A model that has both directions
/// and says nothing of them is the upstream of what is sent.
///
/// # Errors
/// As [`model_of`].
pub fn model_ways(doc: &Doc) -> Checked<[String; 2]> {
    let mut model = model_of(doc)?;
    if let Model::Named { spec, values } = &mut model {
        let directed = spec.params.iter().find(|param| param.name == "direction");
        if let (Some(param), None) = (directed, values.given("direction")) {
            values.set(param.name, Value::Choice("up"));
            // What has no upstream of its own sends over another's.
            if (spec.check)(values).is_err() {
                values.set(param.name, Value::Choice("down"));
                return Ok([text(&model.reversed()), text(&model)]);
            }
        }
    }
    Ok([text(&model), text(&model.reversed())])
}

/// A model from a text, as an option has it, or from a table.
///
/// # Errors
/// As of the key `model` of a scenario; a file is relative to the working directory.
pub fn model_of(doc: &Doc) -> Checked<Model> {
    let table = Doc::Table(vec![("model".to_string(), doc.clone())]);
    let field = Field { doc: &table, path: String::new() };
    let fields = field.table(&["model"])?;
    let links = Links { folder: None, duration: 0.0 };
    read(&fields, links)?.ok_or_else(|| ScenarioError::new("model", "is none").allowed(MODEL.form.wanted))
}
