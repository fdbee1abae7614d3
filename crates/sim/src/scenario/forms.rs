//! What JSON schemas of scenarios are made of.

use serde_json::{json, Value as Json};

use super::bounds;
use super::values::GENERATORS;

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

/// Random numbers from elsewhere.
pub(super) fn random() -> Json {
    let random = json!({
        "generator": { "enum": GENERATORS },
        "seed": whole(1, bounds::MRG_SEED),
        "skip": with_default(whole(0, bounds::SKIP), 0),
    });
    about(object(&["generator", "seed"], random), "Another simulator's random numbers, to follow its run.")
}
