//! A link's table: rate, delay, and what else happens to packets on it.

use std::path::Path;

use earlydrop_aqm::link_layer::LinkLayer;
use serde_json::{json, Map, Value as Json};

use super::bounds::{self, TIMES};
use super::document::{contents, Contents, Doc, NOT_REGULAR};
use super::error::ScenarioError;
use super::fields::{join, whole_form, Checked, Field, Fields};
use super::forms::{Bytes, Flag, OneOf, Own, Quantity, Range, Whole};
use super::keys::{self, Form, Key, Read, Row, Rows};
use super::link_model::{self, NONE};
use super::schemas::{self, about, list, object, pair, reference, text};
use super::units;
use super::values::{delays, delays_json, seconds, DELAYS_FORM, RANDOM};
use super::words::{unfolded, words};
use crate::topology::{
    Aggregation, Bursts, Delays, Effects, Encoding, Framing, Jitter, LinkSpec, Loss, LossPattern, Rate, Reorder,
};

static RATE: Key<Own<Rate, ()>> = Key::required(
    "rate",
    Own {
        kind: "rate or table",
        range: Range::Within(bounds::RATE),
        wanted: units::RATE_FORM,
        schema: || reference("varying_rate"),
        write: write_rate,
        read: (),
    },
    "A rate, `20 Mbit/s`; `trace=FILE` for a trace in Mahimahi's format; or `schedule=[[time, rate], ...] repeat=time` \
     for one that changes.",
);
/// The delay of a single link.
pub(super) static DELAY: Key<Delay> = Key::required("delay", Delay::One, "Propagation delay.");
/// The delay of a link between two nodes.
pub(super) static DRAWN_DELAY: Key<Delay> = Key::required(
    "delay",
    Delay::Drawn,
    "Propagation delay; `{ uniform = [time, time] }` draws it with the run's seed.",
);
/// The delay of links of many hosts.
pub(super) static DELAYS: Key<Delay> = Key::required(
    "delay",
    Delay::Listed,
    "Propagation delay; a list is used in turn, one for each host, and `{ uniform = [time, time] }` draws each \
     with the run's seed.",
);
/// What Linux's queues count beside the IP packet.
pub(super) static LINK_LAYER: Key<OneOf<LinkLayer>> = Key::or(
    "link_layer",
    OneOf { all: &LinkLayer::ALL, name: LinkLayer::name },
    LinkLayer::Ethernet,
    "With `ethernet`, queues that follow Linux count the 14 bytes of its header with each packet; with `ip`, for PPP and TUN devices, they do not.",
);

/// A key for an effect on packets on a link.
struct Effect {
    row: &'static dyn Row,
    read: fn(&Fields<'_>, Links<'_>, &mut Effects) -> Checked<()>,
    write: fn(&Effects, &mut Map<String, Json>),
    /// The value in one line, as a command's option has it.
    text: fn(&Effects) -> Option<String>,
}

/// Declares keys for effects on packets on a link, each with the field of [`Effects`] that it gives, and the value that
/// stands for the whole table, if one does. In place of a table there may be a text of words.
macro_rules! effects {
    ($($name:ident: $kind:ty = $key:expr, $alone:expr;)*) => {
        static EFFECTS: &[Effect] = &[OF_MODEL, $({
            static KEY: Key<Own<$kind>> = $key;
            const ALONE: fn(&$kind) -> Option<Json> = $alone;
            Effect {
                row: &KEY,
                read: |fields, _, effects| {
                    let field = KEY.field(fields).filter(|field| !matches!(field.doc, Doc::String(text) if text == NONE));
                    effects.$name = field.map(|field| with_words(&field, KEY.form.read)).transpose()?;
                    Ok(())
                },
                write: |effects, map| KEY.write_given(effects.$name.as_ref(), map),
                text: |effects| {
                    effects.$name.as_ref().map(|one| words(&ALONE(one).unwrap_or_else(|| KEY.form.write(one))).join(" "))
                },
            }
        }),*];
    };
}

/// The model, which needs the scenario's folder.
const OF_MODEL: Effect = Effect {
    row: &link_model::MODEL,
    read: |fields, links, effects| {
        effects.model = link_model::read(fields, links)?;
        Ok(())
    },
    write: |effects, map| link_model::MODEL.write_given(effects.model.as_ref(), map),
    text: |effects| effects.model.as_ref().map(link_model::text),
};

/// Reads a field that may be a text of words in place of a table.
fn with_words<T>(field: &Field<'_>, read: impl FnOnce(&Field<'_>) -> Checked<T>) -> Checked<T> {
    match unfolded(field)? {
        Some(table) => read(&Field { doc: &table, path: field.path.clone() }),
        None => read(field),
    }
}

effects! {
    framing: Framing = Key::optional(
        "framing",
        Own {
            kind: "table",
            range: Range::Words(""),
            wanted: "a table",
            schema: || or_words(None, FRAMING_KEYS),
            write: |framing| {
                let mut map = Map::new();
                OVERHEAD.write(&framing.overhead, &mut map);
                MPU.write(&framing.mpu, &mut map);
                ENCODING.write(&framing.encoding, &mut map);
                map.into()
            },
            read: framing,
        },
        "none",
        "What the link layer adds to each packet, as `tc` counts it: `overhead=40B mpu=64B encoding=atm`.",
    ), |_| None;
    aggregation: Aggregation = Key::optional(
        "aggregation",
        Own {
            kind: "table",
            range: Range::Words(""),
            wanted: "a table",
            schema: || or_words(None, AGGREGATION_KEYS),
            write: |of| {
                let mut map = Map::new();
                ACCESS_TIME.write(&of.access, &mut map);
                MOST_PACKETS.write_given(of.packets.as_ref(), &mut map);
                MOST_BYTES.write_given(of.bytes.as_ref(), &mut map);
                MOST_TIME.write_given(of.time.as_ref(), &mut map);
                map.into()
            },
            read: aggregation,
        },
        "none",
        "Packets that wait leave together, up to the limits given, after a time without transmission for access to the \
         medium: `access=1ms packets=32 bytes=64kB time=4ms`.",
    ), |_| None;
    loss: Loss = Key::optional(
        "loss",
        Own {
            kind: "number or table",
            range: Range::Within(bounds::PROBABILITY),
            wanted: bounds::PROBABILITIES.form,
            schema: || or_words(Some(PROBABILITY.form.schema()), LOSS_KEYS),
            write: write_loss,
            read: loss,
        },
        "none",
        "Probability that a packet is lost on the wire, `1%`; in bursts, `probability=1% burst=4`; or each so-many-th \
         packet, `every=100`.",
    ), |loss| match (loss.pattern, loss.random) {
        (LossPattern::Random(probability), None) => Some(probability.into()),
        (LossPattern::Bursts(Bursts { probability, burst, bad: 1.0, good: 0.0 }), None) => {
            Some(json!({ "probability": probability, "burst": burst }))
        }
        _ => None,
    };
    jitter: Jitter = Key::optional(
        "jitter",
        Own {
            kind: "time or table",
            range: Range::Within(bounds::DELAY),
            wanted: units::TIME_FORM,
            schema: || or_words(Some(reference("time")), JITTER_KEYS),
            write: |jitter| {
                let ends = [seconds(jitter.low), seconds(jitter.high)];
                json!({ "uniform": ends, "keep_order": jitter.keeps_order })
            },
            read: jitter,
        },
        "none",
        "Longest extra delay, drawn for each packet from 0 on, in order, `5ms`; or `uniform=[time, time] \
         keep_order=false`, where packets overtake each other.",
    ), |jitter| (jitter.low == 0.0 && jitter.keeps_order).then(|| seconds(jitter.high).into());
    reorder: Reorder = Key::optional(
        "reorder",
        Own {
            kind: "table",
            range: Range::Words(""),
            wanted: "a table",
            schema: || or_words(None, REORDER_KEYS),
            write: |late| json!({ "probability": late.probability, "delay": seconds(late.delay) }),
            read: reorder,
        },
        "none",
        "The fraction of packets that arrive this much later, so that others overtake them: `probability=1% delay=5ms`.",
    ), |_| None;
}

/// Names of the keys for effects on packets on a link, besides rate and delay.
pub fn effects() -> Vec<&'static str> {
    EFFECTS.iter().map(|effect| effect.row.name()).collect()
}

/// What may be said of a link in a command's options: each key, and what it means.
pub fn link_options() -> Vec<(&'static str, &'static str)> {
    let all: [(&str, &str); 2] = [(RATE.name, RATE.about), (DELAY.name, DELAY.about)];
    all.into_iter().chain(EFFECTS.iter().map(|effect| (effect.row.name(), effect.row.about()))).collect()
}

/// Each key of a checked link, and its value as [`link_options`] has it, in one line.
pub fn link_words(link: &LinkSpec) -> Vec<(&'static str, String)> {
    let line = |value: Json| words(&value).join(" ");
    let rate = (!of_model(&link.rate)).then(|| (RATE.name, line(RATE.form.write(&link.rate))));
    let own = rate.into_iter().chain([(DELAY.name, line(DELAY.form.write(&link.delay)))]);
    let effects = EFFECTS.iter().filter_map(|effect| Some((effect.row.name(), (effect.text)(&link.effects)?)));
    own.chain(effects).collect()
}

/// Keys of a link, with one of the three delays.
pub(super) fn rows(delay: &'static Key<Delay>) -> Vec<&'static dyn Row> {
    let plain: [&dyn Row; 3] = [&RATE, delay, &LINK_LAYER];
    plain.into_iter().chain(EFFECTS.iter().map(|effect| effect.row)).collect()
}

/// Keys of a rate that changes.
const RATE_KEYS: &[&str] = &["schedule", "repeat", "trace"];
static REPEAT: Key<Quantity> = Key::optional(
    "repeat",
    Quantity::time(bounds::REPEAT),
    "the last rate stays",
    "The schedule starts again after this time; without it the last rate stays.",
);

static OVERHEAD: Key<Bytes> = Key::or("overhead", Bytes { low: 0, high: bounds::OVERHEAD }, 0, "");
static MPU: Key<Bytes> = Key::or("mpu", Bytes { low: 0, high: bounds::OVERHEAD }, 0, "");
static ENCODING: Key<OneOf<Encoding>> =
    Key::or("encoding", OneOf { all: &Encoding::ALL, name: Encoding::name }, Encoding::Plain, "");
const FRAMING_KEYS: Rows = &[&OVERHEAD, &MPU, &ENCODING];

static ACCESS_TIME: Key<Quantity> = Key::required("access", Quantity::time(bounds::ACCESS), "");
static MOST_PACKETS: Key<Whole> =
    Key::optional("packets", Whole { low: 1, high: bounds::AGGREGATE as u64 }, "no limit", "");
static MOST_BYTES: Key<Bytes> = Key::optional("bytes", Bytes { low: 1, high: bounds::AGGREGATE }, "no limit", "");
static MOST_TIME: Key<Quantity> = Key::optional("time", Quantity::time(bounds::ACCESS), "no limit", "");
const AGGREGATION_KEYS: Rows = &[&ACCESS_TIME, &MOST_PACKETS, &MOST_BYTES, &MOST_TIME];

/// A probability, also as a percentage.
const CHANCE: Quantity = Quantity::probability(bounds::PROBABILITY);
static PROBABILITY: Key<Quantity> = Key::required("probability", CHANCE, "");
/// The probability of a loss, given in place of [`EVERY`].
static LOSS_PROBABILITY: Key<Quantity> = Key::optional("probability", CHANCE, "or `every`", "");
static EVERY: Key<Whole> = Key::optional("every", Whole { low: 1, high: bounds::LOSS_EVERY }, "or `probability`", "");
/// Mean stay in the bad state, and the probabilities of loss in the states.
static BURST: Key<Quantity> = Key::optional("burst", Quantity::number(bounds::BURST), "no bursts", "");
static BAD: Key<Quantity> = Key::or("bad", CHANCE, 1.0, "");
static GOOD: Key<Quantity> = Key::or("good", CHANCE, 0.0, "");
const LOSS_KEYS: Rows = &[&LOSS_PROBABILITY, &EVERY, &BURST, &BAD, &GOOD, &RANDOM];

static UNIFORM: Key<Own<[f64; 2]>> = Key::required(
    "uniform",
    Own {
        kind: "list of two times",
        range: Range::Within(bounds::DELAY),
        wanted: TWO_TIMES,
        schema: || pair(reference("time")),
        write: |ends| json!(ends.map(seconds)),
        read: two_times,
    },
    "",
);
static KEEP_ORDER: Key<Flag> = Key::or("keep_order", Flag, true, "");
const JITTER_KEYS: Rows = &[&UNIFORM, &KEEP_ORDER];
const TWO_TIMES: &str = "a list of two times, the smaller first";

static LATE: Key<Quantity> = Key::required("delay", Quantity::time(bounds::DELAY), "");
const REORDER_KEYS: Rows = &[&PROBABILITY, &LATE];

const RATE_FORM: &str =
    "a rate such as \"10 Mbit/s\", { schedule = [[\"0 s\", \"10 Mbit/s\"], ...] } or { trace = \"FILE\" }";

/// The schema of a table, of a text of words in its place, and of another form that stands for the table.
fn or_words(other: Option<Json>, rows: Rows) -> Json {
    let forms: Vec<Json> = other.into_iter().chain([text("="), keys::table(rows)]).collect();
    json!({ "anyOf": forms })
}

pub(super) use super::link_model::Links;

impl Links<'_> {
    /// A single link.
    pub fn one(&self, field: &Field<'_>) -> Checked<LinkSpec> {
        self.spec(&field.rows(&rows(&DELAY))?, &DELAY, None)
    }

    /// A link for each of many hosts: its delay may be a list or drawn.
    pub fn many(&self, field: &Field<'_>) -> Checked<LinkSpec> {
        self.spec(&field.rows(&rows(&DELAYS))?, &DELAYS, None)
    }

    /// A link for each of many hosts, or one.
    pub fn read(&self, field: &Field<'_>, many: bool) -> Checked<LinkSpec> {
        if many {
            self.many(field)
        } else {
            self.one(field)
        }
    }

    /// The link of a table that may have other keys too; missing keys are taken from `default`.
    pub fn spec(&self, fields: &Fields<'_>, delay: &Key<Delay>, default: Option<&LinkSpec>) -> Checked<LinkSpec> {
        let mut effects = Effects::NONE;
        for effect in EFFECTS {
            (effect.read)(fields, *self, &mut effects)?;
        }
        // The model of the default, unless a rate replaces that of the model.
        if let (Some(default), None) = (default, link_model::MODEL.field(fields)) {
            if !of_model(&default.rate) || RATE.field(fields).is_none() {
                effects.model.clone_from(&default.effects.model);
            }
        }
        let own = effects.model.as_ref().and_then(|model| model.parts().rate);
        let rate = match (RATE.field(fields), own, default) {
            (Some(field), Some(_), _) => {
                let message = "is given beside a model that has a rate";
                return Err(ScenarioError::new(field.path, message).allowed("one of the two"));
            }
            (None, Some(process), _) => Rate::OfModel { mean: process.mean(), most: process.largest() },
            (Some(field), None, _) => with_words(&field, |field| self.rate(field))?,
            (None, None, Some(default)) if !of_model(&default.rate) => default.rate.clone(),
            (None, None, _) => return Err(RATE.missing(fields)),
        };
        let delay = match (default, &effects.model) {
            (Some(default), _) => delay.read_or(fields, default.delay.clone())?,
            (None, Some(_)) => delay.read_or(fields, Delays::Same(0.0))?,
            (None, None) => delay.read(fields)?,
        };
        link_model::fits(fields, &effects, &rate)?;
        if let (Some(field), Rate::Opportunities { .. }) = (fields.optional("aggregation"), &rate) {
            return Err(field
                .error("contradicts a trace, which has the times of all deliveries")
                .allowed("no such key"));
        }
        Ok(LinkSpec {
            rate,
            delay,
            link_layer: LINK_LAYER.read_or(fields, default.map_or(LinkLayer::Ethernet, |link| link.link_layer))?,
            effects,
        })
    }

    fn rate(&self, field: &Field<'_>) -> Checked<Rate> {
        let Doc::Table(_) = field.doc else {
            return field.measure(&bounds::RATES, bounds::RATE).map(Rate::Constant);
        };
        let fields = field.table(RATE_KEYS)?;
        match (fields.optional("schedule"), fields.optional("trace")) {
            (Some(steps), None) => schedule(&fields, &steps, self.duration),
            (None, Some(trace)) => {
                if let Some(repeat) = fields.optional("repeat") {
                    return Err(repeat.error("belongs to a schedule; a trace always repeats").allowed("nothing here"));
                }
                self.trace(&trace).map(|at_ms| Rate::Opportunities { at_ms })
            }
            (Some(_), Some(trace)) => {
                Err(ScenarioError::new(trace.path, "is given beside a schedule").allowed("one of the two"))
            }
            (None, None) => Err(fields.missing("schedule").allowed(RATE_FORM)),
        }
    }

    /// A trace: a list of milliseconds, or a file with one on each line, as Mahimahi's `mm-link` reads it.
    fn trace(&self, field: &Field<'_>) -> Checked<Vec<u64>> {
        const WANTED: &str = "whole milliseconds that never fall and end above 0";
        let at_ms = match field.doc {
            Doc::String(name) => self.trace_file(field, name)?,
            _ => {
                let items = field.items("a file's name, or a list of milliseconds")?;
                items.iter().map(|item| item.whole(0, bounds::TRACE_MS)).collect::<Checked<_>>()?
            }
        };
        let refused = |message: &str| Err(ScenarioError::new(field.path.clone(), message).allowed(WANTED));
        if at_ms.len() > bounds::LIST {
            return refused("has too many lines");
        }
        if let Some(at) = at_ms.windows(2).position(|pair| pair[1] < pair[0]) {
            return refused(&format!("runs backwards at its entry {}", at + 2));
        }
        match at_ms.last() {
            None => refused("has no line"),
            Some(0) => refused("ends at 0 ms"),
            Some(_) => Ok(at_ms),
        }
    }

    fn trace_file(&self, field: &Field<'_>, name: &str) -> Checked<Vec<u64>> {
        let path = self.folder.map_or_else(|| Path::new(name).to_path_buf(), |folder| folder.join(name));
        let refuse =
            |message: String| field.error(message).allowed("a file with one whole number of milliseconds a line");
        let bytes = match contents(&path, bounds::TRACE_BYTES) {
            Ok(Contents::Whole(bytes)) => bytes,
            Ok(Contents::Special) => return Err(refuse(NOT_REGULAR.to_string())),
            Ok(Contents::Larger(_)) => {
                return Err(field.error("is too large a file").allowed(format!("{} bytes", bounds::TRACE_BYTES)))
            }
            Err(error) => {
                return Err(refuse(match error.kind() {
                    std::io::ErrorKind::NotFound => "no such file".to_string(),
                    kind => format!("cannot be read ({kind})"),
                }))
            }
        };
        let text = String::from_utf8(bytes).map_err(|_| refuse("is not a text file".to_string()))?;
        let mut at_ms = Vec::new();
        for (number, line) in text.lines().enumerate() {
            let line = line.trim();
            if line.is_empty() {
                continue;
            }
            let Some(ms) = line.parse().ok().filter(|&ms: &u64| ms <= bounds::TRACE_MS) else {
                return Err(field
                    .error(format!("has no number of milliseconds in line {}", number + 1))
                    .allowed(whole_form(0, bounds::TRACE_MS)));
            };
            at_ms.push(ms);
        }
        Ok(at_ms)
    }
}

/// What a delay may be.
pub(super) enum Delay {
    /// One time only.
    One,
    /// One time, or a drawn one.
    Drawn,
    /// One time, a list, or drawn times.
    Listed,
}

impl Form for Delay {
    type Value = Delays;

    fn write(&self, value: &Delays) -> Json {
        delays_json(value)
    }

    fn schema(&self) -> Json {
        reference(if matches!(self, Delay::One) { "time" } else { "delays" })
    }

    fn wanted(&self) -> String {
        if matches!(self, Delay::One) { units::TIME_FORM } else { DELAYS_FORM }.into()
    }

    fn kind(&self) -> String {
        match self {
            Delay::One => "time",
            Delay::Drawn => "time or table",
            Delay::Listed => "time, list or table",
        }
        .into()
    }

    fn range(&self) -> String {
        bounds::DELAY.to_string()
    }
}

impl Read for Delay {
    fn read(&self, field: &Field<'_>) -> Checked<Delays> {
        match (self, field.doc) {
            (Delay::One, _) | (Delay::Drawn, Doc::Array(_)) => field.measure(&TIMES, bounds::DELAY).map(Delays::Same),
            _ => delays(field, &TIMES, bounds::DELAY),
        }
    }
}

/// Reads `[["0 s", "100 Mbit/s"], ["20 s", "10 Mbit/s"]]`, perhaps repeated.
fn schedule(fields: &Fields<'_>, field: &Field<'_>, duration: f64) -> Checked<Rate> {
    const WANTED: &str =
        "a list of [time, rate] from \"0 s\" on, such as [[\"0 s\", \"10 Mbit/s\"], [\"20 s\", \"1 Mbit/s\"]]";
    let items = field.items(WANTED)?;
    if items.len() > bounds::LIST {
        return Err(field.error("is too long a list").allowed(format!("{} steps", bounds::LIST)));
    }
    let mut steps: Vec<(f64, f64)> = Vec::with_capacity(items.len());
    for item in &items {
        let pair = item.items(WANTED)?;
        let [time, rate] = &pair[..] else { return Err(item.error("is no pair").allowed(WANTED)) };
        let from = time.measure(&TIMES, bounds::START)?;
        match steps.last() {
            None if from != 0.0 => return Err(time.error("leaves the beginning without a rate").allowed("\"0 s\"")),
            Some(&(before, _)) if from <= before => {
                return Err(time.error("does not come after the one before").allowed(format!("above {before} s")));
            }
            _ => steps.push((from, rate.measure(&bounds::RATES, bounds::RATE_OR_DOWN)?)),
        }
    }
    let last = steps[steps.len() - 1].0;
    let repeat = REPEAT.given(fields)?;
    if let (Some(field), true) = (REPEAT.field(fields), repeat.is_some_and(|repeat| repeat <= last)) {
        return Err(field.error("ends the schedule before its last step").allowed(format!("above {last} s")));
    }
    if let (Some(field), Some(repeat)) = (REPEAT.field(fields), repeat) {
        let least = duration * steps.len() as f64 / bounds::CHANGES;
        if repeat < least {
            let message = "changes the rate too often";
            return Err(field.error(message).allowed(format!(
                "at least {least:e} s: {:.0e} changes in a run, of {} a period in {duration} s",
                bounds::CHANGES,
                steps.len()
            )));
        }
    }
    if steps.iter().all(|&(_, rate)| rate == 0.0) {
        return Err(field.error("never sends").allowed("a rate above 0 in one step at least"));
    }
    Ok(Rate::Schedule { steps, repeat })
}

/// Reads `0.01`, or a table with a probability, bursts too, or with `every`.
fn loss(field: &Field<'_>) -> Checked<Loss> {
    let Doc::Table(_) = field.doc else {
        return Ok(Loss { pattern: LossPattern::Random(PROBABILITY.form.read(field)?), random: None });
    };
    const WANTED: &str = "probability or every";
    let fields = field.rows(LOSS_KEYS)?;
    let random = RANDOM.given(&fields)?;
    let pattern = match (LOSS_PROBABILITY.field(&fields), EVERY.field(&fields)) {
        (Some(field), None) => {
            let probability = PROBABILITY.form.read(&field)?;
            if BURST.field(&fields).is_some() {
                LossPattern::Bursts(bursts(probability, &fields)?)
            } else {
                LossPattern::Random(probability)
            }
        }
        (None, Some(field)) => LossPattern::Every(EVERY.form.read(&field)?),
        (None, None) => return Err(fields.missing(LOSS_PROBABILITY.name).allowed(WANTED)),
        (Some(_), Some(every)) => {
            return Err(ScenarioError::new(every.path, "is given beside a probability").allowed(WANTED));
        }
    };
    if let (LossPattern::Every(_), Some(field)) = (pattern, RANDOM.field(&fields)) {
        return Err(ScenarioError::new(field.path, "is of no use where each so-many-th packet is lost"));
    }
    for key in [&BURST, &BAD, &GOOD] {
        match (key.field(&fields), pattern) {
            (None, _) | (_, LossPattern::Bursts(_)) => {}
            (Some(field), LossPattern::Random(_)) => {
                return Err(ScenarioError::new(field.path, "belongs to losses in bursts").allowed("beside burst"));
            }
            (Some(field), LossPattern::Every(_)) => {
                let message = "is of no use where each so-many-th packet is lost";
                return Err(ScenarioError::new(field.path, message));
            }
        }
    }
    Ok(Loss { pattern, random })
}

/// The model of losses in bursts; its chain must exist.
fn bursts(probability: f64, fields: &Fields<'_>) -> Checked<Bursts> {
    let burst = BURST.read(fields)?;
    let bursts = Bursts { probability, burst, bad: BAD.read(fields)?, good: GOOD.read(fields)? };
    let misfit = |key: &str, given: f64, allowed: String| {
        ScenarioError::new(join(&fields.path, key), "does not fit").given(given.to_string()).allowed(allowed)
    };
    if bursts.good > probability || (bursts.good == bursts.bad) {
        let allowed = format!("at most the mean, {probability}, and below bad, {}", bursts.bad);
        return Err(misfit(GOOD.name, bursts.good, allowed));
    }
    if probability >= bursts.bad {
        return Err(misfit(LOSS_PROBABILITY.name, probability, format!("below that in the bad state, {}", bursts.bad)));
    }
    // Up to the rounding of a bound that was copied from the message.
    if bursts.enters() > 1.0 + 1e-6 {
        let least = bursts.in_bad() / (1.0 - bursts.in_bad());
        let allowed = format!("at least {least:.6}, as a packet at least lies between two bursts");
        return Err(misfit(BURST.name, burst, allowed));
    }
    Ok(bursts)
}

fn two_times(field: &Field<'_>) -> Checked<[f64; 2]> {
    let items = field.items(TWO_TIMES)?;
    let ends: Vec<f64> = items.iter().map(|item| item.measure(&TIMES, bounds::DELAY)).collect::<Checked<_>>()?;
    let &[low, high] = &ends[..] else { return Err(field.error("is not an interval").allowed(TWO_TIMES)) };
    if low > high {
        return Err(field.error("runs backwards").allowed(TWO_TIMES));
    }
    Ok([low, high])
}

/// Reads `"5 ms"` (up to that much) or `{ uniform = ["1 ms", "5 ms"], keep_order = false }`; by default packets keep their order.
fn jitter(field: &Field<'_>) -> Checked<Jitter> {
    let Doc::Table(_) = field.doc else {
        return Ok(Jitter { low: 0.0, high: field.measure(&TIMES, bounds::DELAY)?, keeps_order: true });
    };
    let fields = field.rows(JITTER_KEYS)?;
    let [low, high] = UNIFORM.read(&fields)?;
    Ok(Jitter { low, high, keeps_order: KEEP_ORDER.read(&fields)? })
}

/// The table of a key that is nothing else.
fn settings<'a>(field: &Field<'a>, rows: Rows) -> Checked<Fields<'a>> {
    match field.doc {
        Doc::String(_) => {
            let keys = keys::names(rows).collect::<Vec<_>>().join(", ");
            Err(field.error("has no setting").allowed(format!("KEY=VALUE, with the keys {keys}")))
        }
        _ => field.rows(rows),
    }
}

fn framing(field: &Field<'_>) -> Checked<Framing> {
    let fields = settings(field, FRAMING_KEYS)?;
    Ok(Framing { overhead: OVERHEAD.read(&fields)?, mpu: MPU.read(&fields)?, encoding: ENCODING.read(&fields)? })
}

fn aggregation(field: &Field<'_>) -> Checked<Aggregation> {
    let fields = settings(field, AGGREGATION_KEYS)?;
    let of = Aggregation {
        access: ACCESS_TIME.read(&fields)?,
        packets: MOST_PACKETS.given(&fields)?,
        bytes: MOST_BYTES.given(&fields)?,
        time: MOST_TIME.given(&fields)?,
    };
    if of.packets.is_none() && of.bytes.is_none() && of.time.is_none() {
        return Err(field.error("has no limit").allowed("packets, bytes or time beside access"));
    }
    Ok(of)
}

fn reorder(field: &Field<'_>) -> Checked<Reorder> {
    let fields = settings(field, REORDER_KEYS)?;
    Ok(Reorder { probability: PROBABILITY.read(&fields)?, delay: LATE.read(&fields)? })
}

/// The link as a document has it.
pub(super) fn write(link: &LinkSpec, map: &mut Map<String, Json>) {
    if !of_model(&link.rate) {
        RATE.write(&link.rate, map);
    }
    DELAY.write(&link.delay, map);
    if link.link_layer != LinkLayer::Ethernet {
        LINK_LAYER.write(&link.link_layer, map);
    }
    for effect in EFFECTS {
        (effect.write)(&link.effects, map);
    }
}

/// Whether the rate is that of the link's model.
fn of_model(rate: &Rate) -> bool {
    matches!(rate, Rate::OfModel { .. })
}

fn write_rate(over_time: &Rate) -> Json {
    let rate = |x: f64| format!("{x} bit/s");
    match over_time {
        Rate::Constant(x) => rate(*x).into(),
        Rate::Schedule { steps, repeat } => {
            let steps: Vec<[String; 2]> = steps.iter().map(|&(from, x)| [seconds(from), rate(x)]).collect();
            let mut map = Map::new();
            map.insert("schedule".into(), json!(steps));
            REPEAT.write_given(repeat.as_ref(), &mut map);
            map.into()
        }
        Rate::Opportunities { at_ms } => json!({ "trace": at_ms }),
        // Not written: the model is.
        Rate::OfModel { mean, .. } => rate(*mean).into(),
    }
}

fn write_loss(loss: &Loss) -> Json {
    let mut map = Map::new();
    match &loss.pattern {
        LossPattern::Random(probability) => LOSS_PROBABILITY.write(probability, &mut map),
        LossPattern::Every(count) => EVERY.write(count, &mut map),
        LossPattern::Bursts(bursts) => {
            LOSS_PROBABILITY.write(&bursts.probability, &mut map);
            BURST.write(&bursts.burst, &mut map);
            BAD.write(&bursts.bad, &mut map);
            GOOD.write(&bursts.good, &mut map);
        }
    }
    RANDOM.write_given(loss.random.as_ref(), &mut map);
    map.into()
}

/// Schema of a rate that may change.
pub(super) fn rate_schema() -> Json {
    json!({ "anyOf": [reference("rate"), text("="), schedule_schema(), trace_schema()] })
}

fn schedule_schema() -> Json {
    let step =
        json!({ "type": "array", "prefixItems": [reference("time"), reference("rate")], "minItems": 2, "maxItems": 2 });
    let fields = json!({ "schedule": list(step), "repeat": REPEAT.schema() });
    about(object(&["schedule"], fields), "A rate that changes at given times.")
}

fn trace_schema() -> Json {
    let milliseconds = list(schemas::whole(0, bounds::TRACE_MS));
    let fields = json!({ "trace": { "anyOf": [json!({ "type": "string" }), milliseconds] } });
    let text = "Milliseconds at which 1500 bytes may pass, in a file as Mahimahi has them or listed.";
    about(object(&["trace"], fields), text)
}
