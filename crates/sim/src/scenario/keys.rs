//! Keys of a scenario's tables. Each is declared once, as a [`Key`]; from it come the keys that a table may have,
//! reading and writing, the JSON schema, and the tables of the documentation.

use serde_json::{json, Map, Value as Json};

use super::error::ScenarioError;
use super::fields::{Checked, Field, Fields};
use super::schemas::{about, object, with_default};

/// What a key's value looks like: how it is written and described.
pub(super) trait Form: Sync {
    /// The value in memory.
    type Value;

    /// The value as a document has it.
    fn write(&self, value: &Self::Value) -> Json;

    /// The form's JSON schema.
    fn schema(&self) -> Json;

    /// What belongs there, for the message that the key is missing.
    fn wanted(&self) -> String;

    /// The type, for documentation: "time".
    fn kind(&self) -> String;

    /// The allowed values, for documentation; empty where the type is enough.
    fn range(&self) -> String {
        String::new()
    }
}

/// A form that is read from the field alone.
pub(super) trait Read: Form {
    /// The value of a field.
    fn read(&self, field: &Field<'_>) -> Checked<Self::Value>;
}

/// What holds where a key is not given.
pub(super) enum Default<T> {
    /// The key must be given.
    Required,
    /// This value is the default.
    Is(T),
    /// The default is what this makes, if it is no constant.
    Made(fn() -> T),
    /// What these words say after "by default"; the code that reads the key decides.
    Else(&'static str),
}

/// A key of a table.
pub(super) struct Key<F: Form> {
    /// The key's name in scenarios.
    pub name: &'static str,
    /// What the key's value looks like.
    pub form: F,
    /// What holds without the key.
    pub default: Default<F::Value>,
    /// What the key means: a sentence, or more.
    pub about: &'static str,
}

impl<F: Form> Key<F> {
    /// A key that must be given.
    pub const fn required(name: &'static str, form: F, about: &'static str) -> Self {
        Self { name, form, default: Default::Required, about }
    }

    /// A key with a default.
    pub const fn or(name: &'static str, form: F, default: F::Value, about: &'static str) -> Self {
        Self { name, form, default: Default::Is(default), about }
    }

    /// A key without which the words of `otherwise` hold.
    pub const fn optional(name: &'static str, form: F, otherwise: &'static str, about: &'static str) -> Self {
        Self { name, form, default: Default::Else(otherwise), about }
    }

    /// The key's field, if given.
    pub fn field<'a>(&self, fields: &Fields<'a>) -> Option<Field<'a>> {
        fields.optional(self.name)
    }

    /// The error that the key is missing.
    pub fn missing(&self, fields: &Fields<'_>) -> ScenarioError {
        fields.missing(self.name).allowed(self.form.wanted())
    }

    /// The key's field, or what holds without it.
    pub fn field_or_default<'a>(&self, fields: &Fields<'a>) -> Checked<Result<Field<'a>, F::Value>>
    where
        F::Value: Clone,
    {
        match (self.field(fields), &self.default) {
            (Some(field), _) => Ok(Ok(field)),
            (None, Default::Is(value)) => Ok(Err(value.clone())),
            (None, Default::Made(make)) => Ok(Err(make())),
            (None, _) => Err(self.missing(fields)),
        }
    }

    /// The key's default as a document has it.
    fn written_default(&self) -> Option<Json> {
        match &self.default {
            Default::Is(value) => Some(self.form.write(value)),
            Default::Made(make) => Some(self.form.write(&make())),
            Default::Required | Default::Else(_) => None,
        }
    }

    /// Writes the value.
    pub fn write(&self, value: &F::Value, map: &mut Map<String, Json>) {
        map.insert(self.name.into(), self.form.write(value));
    }

    /// Writes the value, if there is one.
    pub fn write_given(&self, value: Option<&F::Value>, map: &mut Map<String, Json>) {
        if let Some(value) = value {
            self.write(value, map);
        }
    }
}

impl<F: Read> Key<F> {
    /// The key's value, if given.
    pub fn given(&self, fields: &Fields<'_>) -> Checked<Option<F::Value>> {
        self.field(fields).map(|field| self.form.read(&field)).transpose()
    }

    /// The key's value, or `default` in place of the declared default.
    pub fn read_or(&self, fields: &Fields<'_>, default: F::Value) -> Checked<F::Value> {
        Ok(self.given(fields)?.unwrap_or(default))
    }

    /// The key's value, or its default.
    pub fn read(&self, fields: &Fields<'_>) -> Checked<F::Value>
    where
        F::Value: Clone,
    {
        match self.field_or_default(fields)? {
            Ok(field) => self.form.read(&field),
            Err(default) => Ok(default),
        }
    }
}

/// A key of any form, as tables list it.
pub(super) trait Row: Sync {
    /// The key's name in scenarios.
    fn name(&self) -> &'static str;

    /// Whether the key must be given.
    fn is_required(&self) -> bool;

    /// The key's JSON schema, with default and description.
    fn schema(&self) -> Json;

    /// What the key means.
    fn about(&self) -> &'static str;

    /// The key's row in the documentation: `key`, `type`, `default` (a value), `otherwise` (words in its place),
    /// `allowed` and `about`.
    fn doc(&self) -> Json;
}

impl<F: Form> Row for Key<F>
where
    F::Value: Sync,
{
    fn name(&self) -> &'static str {
        self.name
    }

    fn is_required(&self) -> bool {
        matches!(self.default, Default::Required)
    }

    fn about(&self) -> &'static str {
        self.about
    }

    fn schema(&self) -> Json {
        let mut schema = self.form.schema();
        if let Some(default) = self.written_default() {
            schema = with_default(schema, default);
        }
        match &self.default {
            _ if self.about.is_empty() => schema,
            Default::Else(words) if *words != "none" => about(schema, &format!("{} By default {words}.", self.about)),
            _ => about(schema, self.about),
        }
    }

    fn doc(&self) -> Json {
        let (default, otherwise) = match &self.default {
            Default::Required => (Json::Null, "required"),
            Default::Else(words) => (Json::Null, *words),
            Default::Is(_) | Default::Made(_) => (self.written_default().unwrap_or_default(), ""),
        };
        json!({
            "key": self.name,
            "type": self.form.kind(),
            "default": default,
            "otherwise": otherwise,
            "allowed": self.form.range(),
            "about": self.about,
        })
    }
}

/// Keys of one table.
pub(super) type Rows = &'static [&'static dyn Row];

/// The names of the keys.
pub(super) fn names<'a>(rows: &'a [&'static dyn Row]) -> impl Iterator<Item = &'static str> + 'a {
    rows.iter().map(|row| row.name())
}

/// The keys' rows in the documentation.
pub(super) fn docs(rows: &[&'static dyn Row]) -> Json {
    rows.iter().map(|row| row.doc()).collect()
}

/// Adds the keys' schemas to those of a table.
pub(super) fn properties(rows: &[&'static dyn Row], map: &mut Map<String, Json>) {
    map.extend(rows.iter().map(|row| (row.name().to_string(), row.schema())));
}

/// The schema of a table with these keys and no others.
pub(super) fn table(rows: &[&'static dyn Row]) -> Json {
    let mut map = Map::new();
    properties(rows, &mut map);
    let required: Vec<&str> = rows.iter().filter(|row| row.is_required()).map(|row| row.name()).collect();
    object(&required, map.into())
}

impl<'a> Field<'a> {
    /// The value as a table with no other keys than these.
    pub fn rows(&self, rows: &[&'static dyn Row]) -> Checked<Fields<'a>> {
        self.table(&names(rows).collect::<Vec<_>>())
    }
}

#[cfg(test)]
mod tests {
    use crate::scenario::{check, ends, reference, traffic, Doc};

    /// Every table of keys: what has it, and its keys.
    fn tables() -> Vec<(String, Vec<serde_json::Value>)> {
        let tables = reference();
        let list = |keys: &serde_json::Value| keys.as_array().cloned().unwrap_or_default();
        let kinds = ["topologies", "traffic"].iter().flat_map(|part| list(&tables[part]));
        let kinds = kinds.map(|kind| (kind["name"].to_string(), list(&kind["keys"])));
        let others = ["links", "node", "link", "entry", "tcp"].map(|name| (name.to_string(), list(&tables[name])));
        kinds.chain(others).collect()
    }

    #[test]
    fn every_key_is_there_once_and_described_by_sentences() {
        for (table, keys) in tables() {
            let names: std::collections::BTreeSet<_> = keys.iter().map(|key| key["key"].to_string()).collect();
            assert_eq!(names.len(), keys.len(), "{table}");
            for key in &keys {
                let about = key["about"].as_str().unwrap_or_default();
                assert!(about.ends_with('.'), "{table}: {key}");
                assert_eq!(key["otherwise"] == "", !key["default"].is_null(), "{table}: {key}");
            }
        }
    }

    /// Every default in the documentation may be given, and makes no difference.
    #[test]
    fn defaults_can_be_given() {
        let check = |doc: &serde_json::Value| {
            let doc = Doc::from_json(doc).expect("a document");
            check(&doc, None).map(|scenario| scenario.to_json()).expect("a sound scenario")
        };
        for kind in traffic::KINDS {
            let mut entry = serde_json::json!({ "kind": kind.name });
            for (key, value) in [("size", "10 kB"), ("rate", "1 Mbit/s"), ("session_gap", "1 s")] {
                if kind.keys.iter().any(|row| row.name() == key && row.is_required()) {
                    entry[key] = value.into();
                }
            }
            let link = serde_json::json!({ "rate": "1 Mbit/s", "delay": "1 ms" });
            let mut doc = serde_json::json!({
                "name": "a", "duration": "1 s", "traffic": [entry], "queue": { "bottleneck": { "aqm": "droptail" } },
                "topology": { "kind": "dumbbell", "pairs": 1, "access": link.clone(), "bottleneck": link },
            });
            let plain = check(&doc);
            for row in kind.keys.iter().chain(ends::ENDS).chain(traffic::common::keys(true)) {
                let default = row.doc()["default"].clone();
                // The shape goes with another distribution than the default.
                if !default.is_null() && row.name() != "shape" {
                    doc["traffic"][0][row.name()] = default;
                    assert_eq!(check(&doc), plain, "{}: {}", kind.name, row.name());
                    let left_out = ["class", "direction"].contains(&row.name());
                    let written = plain["traffic"][0].get(row.name()).is_some();
                    assert!(written || left_out, "{}: {} is not written", kind.name, row.name());
                }
            }
        }
    }
}
