//! Fields of result documents, each declared once as a row; kind `table` is for what is no value. From its row follow a
//! field's place in documents, its table columns and dictionary, its documentation line, its kind and margin.

use serde_json::{json, Map, Value};

/// What values a measure can take, and how small a difference counts as none: `python/earlydrop/analysis/measures.py`.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Kind {
    /// No value: a table or a list of tables.
    Table,
    /// A text, or a number of things that no other kind is for; without a margin.
    Number,
    /// Packets and bytes delivered, and their rates.
    Throughput,
    /// Utilisation of a link.
    Utilisation,
    /// Delays and times.
    Delay,
    /// Lengths of queues.
    Queue,
    /// Packets dropped, marked or lost.
    Loss,
    /// Packets dropped, marked or lost, as a fraction.
    LossRate,
    /// An index of fairness, or another share of a whole.
    Index,
    /// How much something varies.
    Spread,
}

impl Kind {
    const fn name(self) -> &'static str {
        match self {
            Kind::Table => "table",
            Kind::Number => "number",
            Kind::Throughput => "throughput",
            Kind::Utilisation => "utilisation",
            Kind::Delay => "delay",
            Kind::Queue => "queue",
            Kind::Loss => "loss",
            Kind::LossRate => "loss rate",
            Kind::Index => "index",
            Kind::Spread => "spread",
        }
    }
}

/// A field; `F` is the function that reads its value.
pub struct Field<F> {
    /// The field's name in documents, with its unit.
    pub name: &'static str,
    unit: &'static str,
    kind: Kind,
    about: &'static str,
    /// Reads the field's value.
    pub of: F,
}

/// The fields of a part of the document.
pub type Fields<F> = &'static [Field<F>];

/// A field that `of` reads.
pub const fn field<F>(name: &'static str, unit: &'static str, kind: Kind, about: &'static str, of: F) -> Field<F> {
    Field { name, unit, kind, about, of }
}

/// Rows of fields that other code writes, because they are tables or stand in lists: `fields.tsv`.
pub fn tables() -> Vec<Value> {
    let row = |line: &str| {
        let [part, name, unit, kind, about]: [&str; 5] = line.split('\t').collect::<Vec<_>>().try_into().ok()?;
        Some(json!({ "part": part, "name": name, "unit": unit, "kind": kind, "about": about }))
    };
    include_str!("fields.tsv").lines().filter_map(row).collect()
}

/// A table with these fields; `read` calls the function of a field.
pub fn table<F: Copy>(fields: &[Field<F>], read: impl Fn(F) -> Value) -> Value {
    fields.iter().map(|field| (field.name.to_string(), read(field.of))).collect::<Map<_, _>>().into()
}

/// Adds these fields to a table.
pub fn add<F: Copy>(to: &mut Value, fields: &[Field<F>], read: impl Fn(F) -> Value) {
    for field in fields {
        to[field.name] = read(field.of);
    }
}

/// Rows for documentation: `part` (of the document), `name`, `unit`, `kind` and `about`.
pub fn rows<F>(part: &str, fields: &[Field<F>]) -> Vec<Value> {
    let row = |one: &Field<F>| json!({ "part": part, "name": one.name, "unit": one.unit, "kind": one.kind.name(), "about": one.about });
    fields.iter().map(row).collect()
}
