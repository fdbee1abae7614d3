//! A link's table: rate, delay, and what else happens to packets on it.

use std::fs::File;
use std::io::Read;
use std::path::Path;

use super::bounds::{self, TIMES};
use super::document::Doc;
use super::error::ScenarioError;
use super::fields::{whole_form, Checked, Field, Fields};
use super::units;
use super::values::{delays, random, DELAYS_FORM};
use crate::topology::{Delays, Jitter, LinkSpec, Loss, LossPattern, Rate, Reorder};

/// Keys of a link.
pub(super) const LINK: &[&str] = &["rate", "delay", "loss", "jitter", "reorder"];
/// Keys of a rate that changes.
pub(super) const RATE: &[&str] = &["schedule", "repeat", "trace"];
/// Keys of `loss`.
pub(super) const LOSS: &[&str] = &["probability", "every", "random"];
/// Keys of `jitter`.
pub(super) const JITTER: &[&str] = &["uniform", "keep_order"];
/// Keys of `reorder`.
pub(super) const REORDER: &[&str] = &["probability", "delay"];

const RATE_FORM: &str =
    "a rate such as \"10 Mbit/s\", { schedule = [[\"0 s\", \"10 Mbit/s\"], ...] } or { trace = \"FILE\" }";

/// Reads links; knows in which folder traces are.
#[derive(Clone, Copy)]
pub(super) struct Links<'a> {
    /// The folder of the scenario's file.
    pub folder: Option<&'a Path>,
}

impl Links<'_> {
    /// A link with one delay.
    pub fn one(&self, field: &Field<'_>) -> Checked<LinkSpec> {
        self.spec(&field.table(LINK)?, Delay::One, None)
    }

    /// A link for each of many hosts: its delay may be a list or drawn.
    pub fn many(&self, field: &Field<'_>) -> Checked<LinkSpec> {
        self.spec(&field.table(LINK)?, Delay::Listed, None)
    }

    /// The link of a table that may have other keys too; what it leaves out is taken from `default`.
    pub fn spec(&self, fields: &Fields<'_>, delay: Delay, default: Option<&LinkSpec>) -> Checked<LinkSpec> {
        let rate = match (fields.optional("rate"), default) {
            (Some(field), _) => self.rate(&field)?,
            (None, Some(default)) => default.rate.clone(),
            (None, None) => return Err(fields.missing("rate").allowed(units::RATE_FORM)),
        };
        let delay = match (fields.optional("delay"), default) {
            (Some(field), _) => delay.read(&field)?,
            (None, Some(default)) => default.delay.clone(),
            (None, None) => return Err(fields.missing("delay").allowed(delay.form())),
        };
        let link = LinkSpec {
            rate,
            delay,
            loss: fields.optional("loss").map(|field| loss(&field)).transpose()?,
            jitter: fields.optional("jitter").map(|field| jitter(&field)).transpose()?,
            reorder: fields.optional("reorder").map(|field| reorder(&field)).transpose()?,
        };
        Ok(link)
    }

    fn rate(&self, field: &Field<'_>) -> Checked<Rate> {
        let Doc::Table(_) = field.doc else {
            return field.measure(&bounds::RATES, bounds::RATE).map(Rate::Constant);
        };
        let fields = field.table(RATE)?;
        match (fields.optional("schedule"), fields.optional("trace")) {
            (Some(steps), None) => schedule(&fields, &steps),
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

    /// A list of milliseconds, or a file with one a line, as Mahimahi's `mm-link` reads it.
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
        let mut text = String::new();
        let read = File::open(&path).and_then(|file| file.take(bounds::TRACE_BYTES + 1).read_to_string(&mut text));
        if let Err(error) = read {
            let message = match error.kind() {
                std::io::ErrorKind::NotFound => "no such file".to_string(),
                kind => format!("cannot be read ({kind})"),
            };
            return Err(field.error(message).allowed("a file with one whole number of milliseconds a line"));
        }
        if text.len() as u64 > bounds::TRACE_BYTES {
            return Err(field.error("is too large a file").allowed(format!("{} bytes", bounds::TRACE_BYTES)));
        }
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
#[derive(Clone, Copy)]
pub(super) enum Delay {
    /// One time.
    One,
    /// One time, or drawn.
    Drawn,
    /// One time, a list, or drawn.
    Listed,
}

impl Delay {
    fn read(self, field: &Field<'_>) -> Checked<Delays> {
        match (self, field.doc) {
            (Delay::One, _) | (Delay::Drawn, Doc::Array(_)) => field.measure(&TIMES, bounds::DELAY).map(Delays::Same),
            _ => delays(field, &TIMES, bounds::DELAY),
        }
    }

    fn form(self) -> &'static str {
        match self {
            Delay::One => units::TIME_FORM,
            _ => DELAYS_FORM,
        }
    }
}

/// `[["0 s", "100 Mbit/s"], ["20 s", "10 Mbit/s"]]`, perhaps repeated.
fn schedule(fields: &Fields<'_>, field: &Field<'_>) -> Checked<Rate> {
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
            None if from != 0.0 => return Err(time.error("leaves the begin without a rate").allowed("\"0 s\"")),
            Some(&(before, _)) if from <= before => {
                return Err(time.error("does not come after the one before").allowed(format!("above {before} s")));
            }
            _ => steps.push((from, rate.measure(&bounds::RATES, bounds::RATE_OR_DOWN)?)),
        }
    }
    let last = steps[steps.len() - 1].0;
    let repeat = match fields.optional("repeat") {
        None => None,
        Some(field) => {
            let repeat = field.measure(&TIMES, bounds::REPEAT)?;
            if repeat <= last {
                return Err(field.error("ends the schedule before its last step").allowed(format!("above {last} s")));
            }
            Some(repeat)
        }
    };
    if steps.iter().all(|&(_, rate)| rate == 0.0) {
        return Err(field.error("never sends").allowed("a rate above 0 in one step at least"));
    }
    Ok(Rate::Schedule { steps, repeat })
}

/// `0.01`, `{ probability = 0.01 }` or `{ every = 100 }`.
fn loss(field: &Field<'_>) -> Checked<Loss> {
    let Doc::Table(_) = field.doc else {
        return Ok(Loss { pattern: LossPattern::Random(probability(field)?), random: None });
    };
    const WANTED: &str = "probability or every";
    let fields = field.table(LOSS)?;
    let random = fields.optional("random").map(|field| random(&field)).transpose()?;
    let pattern = match (fields.optional("probability"), fields.optional("every")) {
        (Some(field), None) => LossPattern::Random(probability(&field)?),
        (None, Some(field)) => LossPattern::Every(field.whole(1, bounds::LOSS_EVERY)?),
        (None, None) => return Err(fields.missing("probability").allowed(WANTED)),
        (Some(_), Some(every)) => {
            return Err(ScenarioError::new(every.path, "is given beside a probability").allowed(WANTED));
        }
    };
    if let (LossPattern::Every(_), Some(field)) = (pattern, fields.optional("random")) {
        return Err(ScenarioError::new(field.path, "is of no use where each so-many-th packet is lost"));
    }
    Ok(Loss { pattern, random })
}

fn probability(field: &Field<'_>) -> Checked<f64> {
    field.measure(&bounds::PROBABILITIES, bounds::PROBABILITY)
}

/// `"5 ms"` for up to that much, or `{ uniform = ["1 ms", "5 ms"], keep_order = true }`.
fn jitter(field: &Field<'_>) -> Checked<Jitter> {
    let Doc::Table(_) = field.doc else {
        return Ok(Jitter { low: 0.0, high: field.measure(&TIMES, bounds::DELAY)?, keeps_order: false });
    };
    const WANTED: &str = "a list of two times, the smaller first";
    let fields = field.table(JITTER)?;
    let uniform = fields.required("uniform", WANTED)?;
    let items = uniform.items(WANTED)?;
    let ends: Vec<f64> = items.iter().map(|item| item.measure(&TIMES, bounds::DELAY)).collect::<Checked<_>>()?;
    let &[low, high] = &ends[..] else { return Err(uniform.error("is not an interval").allowed(WANTED)) };
    if low > high {
        return Err(uniform.error("runs backwards").allowed(WANTED));
    }
    let keeps_order = fields.optional("keep_order").map_or(Ok(false), |field| field.flag())?;
    Ok(Jitter { low, high, keeps_order })
}

fn reorder(field: &Field<'_>) -> Checked<Reorder> {
    let fields = field.table(REORDER)?;
    Ok(Reorder {
        probability: probability(&fields.required("probability", "a number from 0 to 1")?)?,
        delay: fields.required("delay", units::TIME_FORM)?.measure(&TIMES, bounds::DELAY)?,
    })
}
