//! Fields of a document: values with their paths, read with checks.

use std::collections::BTreeSet;

use super::bounds;
use super::document::Doc;
use super::error::{quoted, quoted_list, ScenarioError};
use super::nearest::suggestion;

pub(super) use super::measures::{Interval, Measure};

/// Result of reading a field.
pub(super) type Checked<T> = Result<T, ScenarioError>;

/// A value and its path in the document.
#[derive(Clone)]
pub(super) struct Field<'a> {
    pub doc: &'a Doc,
    pub path: String,
}

impl<'a> Field<'a> {
    /// The whole document.
    pub fn root(doc: &'a Doc) -> Self {
        Self { doc, path: String::new() }
    }

    /// An error about this value; it repeats the value.
    pub fn error(&self, message: impl Into<String>) -> ScenarioError {
        ScenarioError::new(self.path.clone(), message).given(self.doc.describe())
    }

    /// The error for a value of the wrong type; `wanted` is what it should be.
    pub fn wrong_type(&self, wanted: impl Into<String>) -> ScenarioError {
        let message = match self.doc {
            Doc::Table(_) => "cannot be a table",
            Doc::Array(_) => "cannot be a list",
            Doc::String(_) => "cannot be a text",
            Doc::Float(x) if !x.is_finite() => "is not a finite number",
            Doc::Float(_) | Doc::Integer(_) => "cannot be this number",
            Doc::Bool(_) => "cannot be true or false",
        };
        self.error(message).allowed(wanted)
    }

    /// The value as a table that has no other keys than `keys`.
    pub fn table(&self, keys: &[&str]) -> Checked<Fields<'a>> {
        let Doc::Table(entries) = self.doc else {
            return Err(self.wrong_type(format!("a table with the keys {}", keys.join(", "))));
        };
        let fields = Fields { entries, path: self.path.clone() };
        fields.refuse_unknown(keys)?;
        Ok(fields)
    }

    /// The value as a table whose keys are checked elsewhere.
    pub fn any_table(&self, wanted: &str) -> Checked<Fields<'a>> {
        match self.doc {
            Doc::Table(entries) => Ok(Fields { entries, path: self.path.clone() }),
            _ => Err(self.wrong_type(wanted)),
        }
    }

    /// The items of the value, a list that is not empty.
    pub fn items(&self, wanted: &str) -> Checked<Vec<Field<'a>>> {
        match self.doc {
            Doc::Array(items) if items.is_empty() => Err(self.error("is an empty list").allowed(wanted)),
            Doc::Array(items) => Ok(items
                .iter()
                .enumerate()
                .map(|(i, doc)| Field { doc, path: format!("{}[{i}]", self.path) })
                .collect()),
            _ => Err(self.wrong_type(wanted)),
        }
    }

    /// The value as a text.
    pub fn text(&self, wanted: &str) -> Checked<&'a str> {
        match self.doc {
            Doc::String(text) => Ok(text),
            _ => Err(self.wrong_type(wanted)),
        }
    }

    /// The value as a name that can be printed on one line.
    pub fn name(&self) -> Checked<String> {
        let wanted = format!("a text of 1..{} characters", bounds::NAME);
        let text = self.text(&wanted)?;
        if text.is_empty() || text.chars().count() > bounds::NAME {
            return Err(self.error("has the wrong length").allowed(wanted));
        }
        if text.chars().any(char::is_control) {
            return Err(self.error("has control characters").allowed(wanted));
        }
        Ok(text.to_string())
    }

    /// The value as one of `words`; an error suggests the nearest.
    pub fn word<'w>(&self, words: impl Iterator<Item = &'w str> + Clone) -> Checked<&'w str> {
        let allowed = || quoted_list(words.clone());
        let Doc::String(text) = self.doc else {
            return Err(self.wrong_type(allowed()));
        };
        words
            .clone()
            .find(|word| word == text)
            .ok_or_else(|| self.error(format!("is unknown{}", suggestion(text, words.clone()))).allowed(allowed()))
    }

    /// The value as `true` or `false`.
    pub fn flag(&self) -> Checked<bool> {
        match self.doc {
            Doc::Bool(flag) => Ok(*flag),
            _ => Err(self.wrong_type("true, false")),
        }
    }

    /// The value as a whole number from `low` to `high`; `40.0` is one too.
    pub fn whole(&self, low: u64, high: u64) -> Checked<u64> {
        let wanted = || whole_form(low, high);
        let x = match self.doc {
            Doc::Integer(x) => u64::try_from(*x).ok(),
            Doc::Float(x) if x.is_finite() => match as_whole(*x) {
                Some(x) => u64::try_from(x).ok(),
                None if x.fract() != 0.0 => return Err(self.error("is not a whole number").allowed(wanted())),
                None => None,
            },
            _ => return Err(self.wrong_type(wanted())),
        };
        x.filter(|x| (low..=high).contains(x)).ok_or_else(|| self.error("is out of range").allowed(wanted()))
    }

    /// The value as a number with its unit, within an interval.
    pub fn measure(&self, measure: &Measure, within: Interval) -> Checked<f64> {
        let x = self.number(measure)?;
        if !within.contains(x) {
            return Err(self.error("is out of range").allowed(within.to_string()));
        }
        // -0.0 passes as 0, and must not differ from 0 later.
        Ok(if x == 0.0 { 0.0 } else { x })
    }

    fn number(&self, measure: &Measure) -> Checked<f64> {
        let bare = match self.doc {
            Doc::String(text) => {
                return (measure.read)(text).map_err(|complaint| self.error(complaint).allowed(measure.form));
            }
            Doc::Integer(x) => *x as f64,
            Doc::Float(x) if x.is_finite() => *x,
            _ => return Err(self.wrong_type(measure.form)),
        };
        if measure.bare {
            Ok(bare)
        } else {
            Err(self.error("has no unit").allowed(measure.form))
        }
    }
}

/// `x` as a whole number, if it is one and real numbers near it are exact.
pub(super) fn as_whole(x: f64) -> Option<i64> {
    (x.fract() == 0.0 && x.abs() <= 9_007_199_254_740_992.0).then_some(x as i64)
}

/// The form of a whole number in messages: `a whole number 1..200000`.
pub(super) fn whole_form(low: u64, high: u64) -> String {
    format!("a whole number {low}..{high}")
}

/// A table whose keys are all known.
pub(super) struct Fields<'a> {
    entries: &'a [(String, Doc)],
    pub path: String,
}

impl<'a> Fields<'a> {
    /// The field `key`, if given.
    pub fn optional(&self, key: &str) -> Option<Field<'a>> {
        let (_, doc) = self.entries.iter().find(|(name, _)| name == key)?;
        Some(Field { doc, path: join(&self.path, key) })
    }

    /// The field `key`, which must be given; `wanted` is the value to ask for.
    pub fn required(&self, key: &str, wanted: impl Into<String>) -> Checked<Field<'a>> {
        self.optional(key).ok_or_else(|| self.missing(key).allowed(wanted))
    }

    /// The error for a key that should be there.
    pub fn missing(&self, key: &str) -> ScenarioError {
        ScenarioError::new(join(&self.path, key), "is missing")
    }

    /// All fields, in order.
    pub fn iter(&self) -> impl Iterator<Item = (&'a str, Field<'a>)> + '_ {
        self.entries.iter().map(|(key, doc)| (key.as_str(), Field { doc, path: join(&self.path, key) }))
    }

    fn refuse_unknown(&self, keys: &[&str]) -> Checked<()> {
        let mut seen = BTreeSet::new();
        for (key, _) in self.entries {
            if !keys.contains(&key.as_str()) {
                let message = format!("unknown key{}", suggestion(key, keys.iter().copied()));
                return Err(ScenarioError::new(join(&self.path, key), message).allowed(keys.join(", ")));
            }
            if !seen.insert(key) {
                return Err(ScenarioError::new(join(&self.path, key), "is given twice"));
            }
        }
        Ok(())
    }
}

/// `path.key`, with quotes round a key that TOML would quote.
pub(super) fn join(path: &str, key: &str) -> String {
    let bare =
        !key.is_empty() && key.len() <= 60 && key.bytes().all(|b| b.is_ascii_alphanumeric() || b"_-".contains(&b));
    let key = if bare { key.to_string() } else { quoted(key) };
    if path.is_empty() {
        key
    } else {
        format!("{path}.{key}")
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::scenario::units;

    fn doc(text: &str) -> Doc {
        Doc::from_toml(text, None).expect("TOML")
    }

    #[test]
    fn unknown_keys_are_refused_with_a_suggestion() {
        let doc = doc("durration = 1");
        let error = Field::root(&doc).table(&["duration", "seed"]).err().expect("refused");
        assert_eq!(error.to_string(), "durration: unknown key; did you mean \"duration\"?\n  allowed duration, seed");
    }

    #[test]
    fn a_hand_made_table_may_not_repeat_a_key() {
        let twice = Doc::Table(vec![("a".into(), Doc::Bool(true)), ("a".into(), Doc::Bool(false))]);
        assert_eq!(Field::root(&twice).table(&["a"]).err().expect("refused").message, "is given twice");
    }

    #[test]
    fn paths_name_the_way() {
        assert_eq!(join("", "a"), "a");
        assert_eq!(join("traffic[0]", "start"), "traffic[0].start");
        assert_eq!(join("queue", "odd key\n"), "queue.\"odd key\\n\"");
    }

    #[test]
    fn whole_numbers_stay_in_range() {
        let read = |text: &str| {
            let doc = doc(text);
            let field = Field { doc: doc.get("x").expect("x"), path: "x".into() };
            field.whole(1, 10)
        };
        assert_eq!(read("x = 1"), Ok(1));
        assert_eq!(read("x = 10"), Ok(10));
        assert_eq!(read("x = 4.0"), Ok(4));
        for (text, message) in [
            ("x = 0", "is out of range"),
            ("x = 11", "is out of range"),
            ("x = -1", "is out of range"),
            ("x = 1e30", "is out of range"),
            ("x = 1.5", "is not a whole number"),
            ("x = nan", "is not a finite number"),
            ("x = '4'", "cannot be a text"),
        ] {
            assert_eq!(read(text).unwrap_err().message, message, "{text}");
        }
    }

    #[test]
    fn measures_need_their_unit_unless_bare() {
        let field = Field { doc: &Doc::Integer(5), path: "delay".into() };
        let within = Interval { low: 0.0, high: 10.0, open_low: true, open_high: false, unit: "s" };
        let mut measure = Measure { read: units::time, form: units::TIME_FORM, bare: false };
        assert_eq!(field.measure(&measure, within).unwrap_err().message, "has no unit");
        measure.bare = true;
        assert_eq!(field.measure(&measure, within), Ok(5.0));
        assert_eq!(within.to_string(), "(0, 10] s");
    }
}
