//! Parameters of disciplines, markers, parents and models as JSON: their values, their schema, all that is said of them.

use earlydrop_aqm::params::{Kind, Param, Text, Unit, Value};
use serde_json::{json, Value as Json};

use super::schemas::with_default;
use super::units::{Factors, PACKETS, RATE, SIZE, TIME};

/// A parameter; a default that JSON cannot write (infinity) is left out and stays the default.
pub(crate) fn written(value: Value) -> Option<Json> {
    Some(match value {
        Value::Real(x) if !x.is_finite() => return None,
        Value::Real(x) => x.into(),
        Value::Whole(x) => x.into(),
        Value::Flag(x) => x.into(),
        Value::QueueBytes(_) | Value::Choice(_) | Value::Text(_) | Value::Auto => value.to_string().into(),
    })
}

/// The JSON schema of a parameter.
pub(super) fn schema(param: &Param) -> Json {
    let mut schema = match param.kind {
        Kind::Choice(words) => json!({ "enum": words }),
        Kind::Flag { auto: false } => json!({ "type": "boolean" }),
        Kind::Flag { auto: true } => json!({ "enum": [true, false, "auto"] }),
        Kind::Whole { low, high } => {
            with_text(json!({ "type": "integer", "minimum": low, "maximum": high }), param.unit, false)
        }
        Kind::Text => json!({ "type": "string", "pattern": "^[ -~]*$", "maxLength": Text::MOST }),
        Kind::Real { auto, .. } => with_text(real(param.kind), param.unit, auto),
    };
    schema["description"] = param.doc.into();
    let default = match param.default {
        Value::Real(x) if !x.is_finite() => return schema,
        Value::Real(x) => json!(x),
        Value::Whole(x) => json!(x),
        Value::Flag(x) => json!(x),
        Value::QueueBytes(_) | Value::Choice(_) | Value::Text(_) | Value::Auto => param.default.to_string().into(),
    };
    with_default(schema, default)
}

fn real(kind: Kind) -> Json {
    let mut schema = json!({ "type": "number" });
    if let Kind::Real { low, high, open_low, open_high, .. } = kind {
        if low.is_finite() {
            schema[if open_low { "exclusiveMinimum" } else { "minimum" }] = low.into();
        }
        if high.is_finite() {
            schema[if open_high { "exclusiveMaximum" } else { "maximum" }] = high.into();
        }
    }
    schema
}

/// The schema of a number, or a text with its unit, or "auto".
fn with_text(number: Json, unit: Unit, auto: bool) -> Json {
    let mut forms = vec![number];
    match unit {
        Unit::None => {}
        Unit::QueueLength => forms.push(text(&[PACKETS, SIZE], "A queue length.")),
        Unit::Seconds => forms.push(text(&[TIME], "A time.")),
        Unit::Bytes => forms.push(text(&[SIZE], "A size.")),
        Unit::Rate => forms.push(text(&[RATE], "A rate.")),
    }
    if auto {
        forms.push(json!({ "const": "auto" }));
    }
    match forms.len() {
        1 => forms.remove(0),
        _ => json!({ "anyOf": forms }),
    }
}

/// The schema of a text with one of these units.
pub(super) fn text(units: &[&Factors], description: &str) -> Json {
    let names: Vec<_> = units.iter().flat_map(|table| table.iter()).map(|(name, _)| *name).collect();
    let number = r"[+-]?([0-9]+\.?[0-9]*|\.[0-9]+)([eE][+-]?[0-9]+)?";
    json!({
        "type": "string",
        "pattern": format!(r"^\s*{number}\s*({})\s*$", names.join("|")),
        "description": description,
    })
}

/// All that is declared of a parameter, as JSON.
pub(super) fn reference(param: &Param) -> Json {
    let (kind, choices) = match param.kind {
        Kind::Real { .. } => ("real", Json::Null),
        Kind::Whole { .. } => ("whole", Json::Null),
        Kind::Flag { .. } => ("flag", Json::Null),
        Kind::Choice(words) => ("choice", json!(words)),
        Kind::Text => ("text", Json::Null),
    };
    json!({
        "name": param.name,
        "symbol": param.symbol,
        "unit": param.unit.name(),
        "kind": kind,
        "range": param.range(),
        "choices": choices,
        "default": param.default.to_string(),
        "source": param.source,
        "doc": param.doc,
    })
}
