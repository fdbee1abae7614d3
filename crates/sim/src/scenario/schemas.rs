//! Parts of JSON schemas.

use serde_json::{json, Value as Json};

use super::bounds;
use super::fields::Interval;

pub(super) fn object(required: &[&str], properties: Json) -> Json {
    json!({ "type": "object", "required": required, "properties": properties, "additionalProperties": false })
}

pub(super) fn reference(name: &str) -> Json {
    json!({ "$ref": format!("#/$defs/{name}") })
}

pub(super) fn name() -> Json {
    json!({ "type": "string", "minLength": 1, "maxLength": bounds::NAME })
}

pub(super) fn whole(low: u64, high: u64) -> Json {
    json!({ "type": "integer", "minimum": low, "maximum": high })
}

pub(super) fn about(mut schema: Json, description: &str) -> Json {
    schema["description"] = description.into();
    schema
}

pub(super) fn with_default(mut schema: Json, default: impl Into<Json>) -> Json {
    schema["default"] = default.into();
    schema
}

/// A number within an interval.
pub(super) fn number(within: Interval) -> Json {
    let mut schema = json!({ "type": "number" });
    schema[if within.open_low { "exclusiveMinimum" } else { "minimum" }] = within.low.into();
    schema[if within.open_high { "exclusiveMaximum" } else { "maximum" }] = within.high.into();
    schema
}

/// A probability: a number, or a text that is a percentage.
pub(super) fn probability(within: Interval) -> Json {
    json!({ "anyOf": [number(within), text(r"^\s*[0-9.]+(e-?[0-9]+)?\s*%?\s*$")] })
}

/// A text in which a regular expression is found.
pub(super) fn text(pattern: &str) -> Json {
    json!({ "type": "string", "pattern": pattern })
}

/// A list of at least one item.
pub(super) fn list(items: Json) -> Json {
    json!({ "type": "array", "items": items, "minItems": 1 })
}

/// A list of two items of one kind.
pub(super) fn pair(items: Json) -> Json {
    json!({ "type": "array", "items": items, "minItems": 2, "maxItems": 2 })
}

/// A window in segments or in bytes.
pub(super) fn window(segments: Json) -> Json {
    json!({ "anyOf": [segments, reference("size")] })
}
