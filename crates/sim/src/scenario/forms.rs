//! Forms that keys of several tables have: flags, numbers, words, names, lists.

use serde_json::Value as Json;

use super::bounds::{self, NUMBERS, RATES, SIZES, TIMES};
use super::error::quoted_list;
use super::fields::{whole_form, Checked, Field, Interval, Measure};
use super::keys::{Form, Read};
use super::schemas;
use super::units;

/// `true` or `false`.
pub(super) struct Flag;

impl Form for Flag {
    type Value = bool;

    fn write(&self, value: &bool) -> Json {
        (*value).into()
    }

    fn schema(&self) -> Json {
        serde_json::json!({ "type": "boolean" })
    }

    fn wanted(&self) -> String {
        "true, false".into()
    }

    fn kind(&self) -> String {
        "flag".into()
    }
}

impl Read for Flag {
    fn read(&self, field: &Field<'_>) -> Checked<bool> {
        field.flag()
    }
}

/// A whole number from `low` to `high`.
pub(super) struct Whole {
    pub low: u64,
    pub high: u64,
}

impl Form for Whole {
    type Value = u64;

    fn write(&self, value: &u64) -> Json {
        (*value).into()
    }

    fn schema(&self) -> Json {
        schemas::whole(self.low, self.high)
    }

    fn wanted(&self) -> String {
        whole_form(self.low, self.high)
    }

    fn kind(&self) -> String {
        "whole number".into()
    }

    fn range(&self) -> String {
        format!("{}..{}", self.low, self.high)
    }
}

impl Read for Whole {
    fn read(&self, field: &Field<'_>) -> Checked<u64> {
        field.whole(self.low, self.high)
    }
}

/// A whole number of bytes.
pub(super) struct Bytes {
    pub low: u32,
    pub high: u32,
}

impl Bytes {
    fn within(&self) -> Interval {
        Interval { low: self.low.into(), high: self.high.into(), open_low: false, open_high: false, unit: "B" }
    }
}

impl Form for Bytes {
    type Value = u32;

    fn write(&self, value: &u32) -> Json {
        format!("{value} B").into()
    }

    fn schema(&self) -> Json {
        schemas::reference("size")
    }

    fn wanted(&self) -> String {
        units::SIZE_FORM.into()
    }

    fn kind(&self) -> String {
        "size".into()
    }

    fn range(&self) -> String {
        self.within().to_string()
    }
}

impl Read for Bytes {
    fn read(&self, field: &Field<'_>) -> Checked<u32> {
        let bytes = field.measure(&SIZES, self.within())?;
        if bytes.fract() == 0.0 {
            Ok(bytes as u32)
        } else {
            Err(field.error("is not a whole number of bytes").allowed(self.range()))
        }
    }
}

/// A real number, perhaps with a unit.
pub(super) struct Quantity {
    measure: &'static Measure,
    within: Interval,
    /// What a message asks for if the key is missing.
    wanted: &'static str,
    /// What documentation calls it.
    kind: &'static str,
    /// Unit in which the value is written; empty for a plain number.
    unit: &'static str,
}

impl Quantity {
    /// A time, in seconds.
    pub const fn time(within: Interval) -> Self {
        Self { measure: &TIMES, within, wanted: units::TIME_FORM, kind: "time", unit: "s" }
    }

    /// A rate, in bit/s.
    pub const fn rate(within: Interval) -> Self {
        Self { measure: &RATES, within, wanted: units::RATE_FORM, kind: "rate", unit: "bit/s" }
    }

    /// A number without a unit.
    pub const fn number(within: Interval) -> Self {
        Self { measure: &NUMBERS, within, wanted: NUMBERS.form, kind: "number", unit: "" }
    }

    /// A number from 0 to 1, or a percentage.
    pub const fn probability(within: Interval) -> Self {
        let (measure, wanted) = (&bounds::PROBABILITIES, bounds::PROBABILITIES.form);
        Self { measure, within, wanted, kind: "number", unit: "" }
    }

    /// This form, asked for in other words if the key is missing.
    pub const fn wanted(self, wanted: &'static str) -> Self {
        Self { wanted, ..self }
    }

    /// This form, read in another way.
    pub const fn read_as(self, measure: &'static Measure) -> Self {
        Self { measure, ..self }
    }
}

impl Form for Quantity {
    type Value = f64;

    fn write(&self, value: &f64) -> Json {
        match self.unit {
            "" => (*value).into(),
            unit => format!("{value} {unit}").into(),
        }
    }

    fn schema(&self) -> Json {
        match self.unit {
            "" if std::ptr::eq(self.measure, &bounds::PROBABILITIES) => schemas::probability(self.within),
            "" => schemas::number(self.within),
            _ => schemas::reference(self.kind),
        }
    }

    fn wanted(&self) -> String {
        self.wanted.into()
    }

    fn kind(&self) -> String {
        self.kind.into()
    }

    fn range(&self) -> String {
        self.within.to_string()
    }
}

impl Read for Quantity {
    fn read(&self, field: &Field<'_>) -> Checked<f64> {
        field.measure(self.measure, self.within)
    }
}

/// One of some words, each of which stands for a value.
pub(super) struct OneOf<T: 'static> {
    pub all: &'static [T],
    pub name: fn(T) -> &'static str,
}

impl<T: Copy> OneOf<T> {
    fn names(&self) -> impl Iterator<Item = &'static str> + Clone + '_ {
        self.all.iter().map(|one| (self.name)(*one))
    }
}

impl<T: Copy + Sync> Form for OneOf<T> {
    type Value = T;

    fn write(&self, value: &T) -> Json {
        (self.name)(*value).into()
    }

    fn schema(&self) -> Json {
        serde_json::json!({ "enum": self.names().collect::<Vec<_>>() })
    }

    fn wanted(&self) -> String {
        quoted_list(self.names())
    }

    fn kind(&self) -> String {
        "text".into()
    }

    fn range(&self) -> String {
        self.wanted()
    }
}

impl<T: Copy + Sync> Read for OneOf<T> {
    fn read(&self, field: &Field<'_>) -> Checked<T> {
        let word = field.word(self.names())?;
        let found = self.all.iter().find(|one| (self.name)(**one) == word);
        found.copied().ok_or_else(|| field.error("is unknown").allowed(self.wanted()))
    }
}

/// A name; the text is what a message asks for if the key is missing.
pub(super) struct Name(pub &'static str);

impl Form for Name {
    type Value = String;

    fn write(&self, value: &String) -> Json {
        value.as_str().into()
    }

    fn schema(&self) -> Json {
        schemas::name()
    }

    fn wanted(&self) -> String {
        self.0.into()
    }

    fn kind(&self) -> String {
        "text".into()
    }

    fn range(&self) -> String {
        format!("1..{} characters", bounds::NAME)
    }
}

impl Read for Name {
    fn read(&self, field: &Field<'_>) -> Checked<String> {
        field.name()
    }
}

/// Reads a form of its own from the field alone.
pub(super) type Reader<T> = fn(&Field<'_>) -> Checked<T>;

/// The allowed values of a form of its own.
pub(super) enum Range {
    Within(Interval),
    Whole(u64, u64),
    Words(&'static str),
}

/// A form that only one key has. `R` is `()` if reading needs more than the field.
pub(super) struct Own<T, R = Reader<T>> {
    pub kind: &'static str,
    pub range: Range,
    pub wanted: &'static str,
    pub schema: fn() -> Json,
    pub write: fn(&T) -> Json,
    pub read: R,
}

impl<T, R: Sync> Form for Own<T, R> {
    type Value = T;

    fn write(&self, value: &T) -> Json {
        (self.write)(value)
    }

    fn schema(&self) -> Json {
        (self.schema)()
    }

    fn wanted(&self) -> String {
        self.wanted.into()
    }

    fn kind(&self) -> String {
        self.kind.into()
    }

    fn range(&self) -> String {
        match self.range {
            Range::Within(within) => within.to_string(),
            Range::Whole(low, high) => format!("{low}..{high}"),
            Range::Words(words) => words.into(),
        }
    }
}

impl<T> Read for Own<T> {
    fn read(&self, field: &Field<'_>) -> Checked<T> {
        (self.read)(field)
    }
}
