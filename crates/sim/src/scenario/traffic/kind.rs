//! What a kind of traffic declares, and numbers that several kinds have.

use serde_json::{Map, Value as Json};

use super::super::bounds;
use super::super::document::Doc;
use super::super::fields::{whole_form, Checked, Fields};
use super::model::Load;

/// A kind of traffic: its name, its keys beside the common ones, how it is read, written and described.
pub(in crate::scenario) struct Kind {
    pub name: &'static str,
    /// Keys of its own.
    pub keys: &'static [&'static [&'static str]],
    /// Keys that must be given.
    pub required: &'static [&'static str],
    /// Whether an entry without a count has one flow a pair, else one flow.
    pub flow_a_pair: bool,
    pub read: fn(&Fields<'_>) -> Checked<Load>,
    /// Schema of its own keys.
    pub schema: fn() -> Map<String, Json>,
}

/// Keys of every kind.
pub(in crate::scenario) const COMMON: &[&str] =
    &["kind", "name", "count", "start", "class", "direction", "pairs", "random"];

impl Kind {
    /// All keys of an entry of this kind.
    pub fn all_keys(&self) -> Vec<&'static str> {
        COMMON.iter().chain(self.keys.iter().copied().flatten()).copied().collect()
    }
}

/// A whole number that fits 32 bits.
pub(super) fn whole_or(fields: &Fields<'_>, key: &str, low: u64, high: u64, default: u32) -> Checked<u32> {
    fields.optional(key).map_or(Ok(default), |field| field.whole(low, high).map(|x| x as u32))
}

/// A whole number from 1, or "endless".
pub(super) fn number_or(fields: &Fields<'_>, key: &str, default: Option<u64>) -> Checked<Option<u64>> {
    let Some(field) = fields.optional(key) else { return Ok(default) };
    match field.doc {
        Doc::String(word) if word == ENDLESS => Ok(None),
        Doc::String(_) => {
            Err(field.error("is no number").allowed(format!("{}, or \"{ENDLESS}\"", whole_form(1, bounds::TRANSFERS))))
        }
        _ => field.whole(1, bounds::TRANSFERS).map(Some),
    }
}

pub(super) fn write_number(number: Option<u64>) -> Json {
    number.map_or_else(|| ENDLESS.into(), Json::from)
}

/// A number of transfers without end.
pub(super) const ENDLESS: &str = "endless";
