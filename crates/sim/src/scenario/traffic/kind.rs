//! What a kind of traffic declares, and forms that several kinds have.

use serde_json::{json, Map, Value as Json};

use super::super::bounds;
use super::super::document::Doc;
use super::super::fields::{whole_form, Checked, Field, Fields, Interval};
use super::super::forms::Quantity;
use super::super::keys::{self, Form, Key, Read, Rows};
use super::super::schemas::{self, about};
use super::model::Load;
use super::{common, tcp};

/// A kind of traffic.
pub(in crate::scenario) struct Kind {
    /// The kind's name in scenarios.
    pub name: &'static str,
    /// The kind's name for people.
    pub title: &'static str,
    /// What the kind sends.
    pub about: &'static str,
    /// Whether it is over TCP: then an entry has the keys of TCP, and without a count one flow a pair; else one flow.
    pub over_tcp: bool,
    /// The kind's own keys.
    pub keys: Rows,
    pub read: fn(&Fields<'_>) -> Checked<Load>,
}

impl Kind {
    /// All keys of an entry of this kind, without those of its ends.
    pub fn all_keys(&self) -> Vec<&'static str> {
        let common = std::iter::once("kind").chain(keys::names(common::keys(self.over_tcp)));
        common.chain(keys::names(self.tcp())).chain(keys::names(self.keys)).collect()
    }

    /// The keys of TCP, if the kind is over TCP.
    fn tcp(&self) -> Rows {
        if self.over_tcp {
            tcp::KEYS
        } else {
            &[]
        }
    }

    /// The schema of an entry of this kind, with the keys `ends`.
    pub fn schema(&self, ends: Rows) -> Json {
        let mut map = Map::new();
        map.insert("kind".into(), json!({ "const": self.name }));
        keys::properties(common::keys(self.over_tcp), &mut map);
        keys::properties(self.tcp(), &mut map);
        keys::properties(self.keys, &mut map);
        keys::properties(ends, &mut map);
        let required = self.keys.iter().filter(|row| row.is_required()).map(|row| row.name());
        let required: Vec<&str> = std::iter::once("kind").chain(required).collect();
        let mut schema = about(schemas::object(&required, map.into()), self.about);
        schema["title"] = self.title.into();
        schema
    }
}

/// The word for a number of transfers without end.
pub(super) const ENDLESS: &str = "endless";

/// A whole number from 1, or `"endless"`: `None`.
pub(super) struct Number;

impl Form for Number {
    type Value = Option<u64>;

    fn write(&self, value: &Option<u64>) -> Json {
        value.map_or_else(|| ENDLESS.into(), Json::from)
    }

    fn schema(&self) -> Json {
        json!({ "anyOf": [schemas::whole(1, bounds::TRANSFERS), { "const": ENDLESS }] })
    }

    fn wanted(&self) -> String {
        format!("{}, or \"{ENDLESS}\"", whole_form(1, bounds::TRANSFERS))
    }

    fn kind(&self) -> String {
        "whole number or text".into()
    }

    fn range(&self) -> String {
        format!("1..{}, \"{ENDLESS}\"", bounds::TRANSFERS)
    }
}

impl Read for Number {
    fn read(&self, field: &Field<'_>) -> Checked<Option<u64>> {
        match field.doc {
            Doc::String(word) if word == ENDLESS => Ok(None),
            Doc::String(_) => Err(field.error("is no number").allowed(self.wanted())),
            _ => field.whole(1, bounds::TRANSFERS).map(Some),
        }
    }
}

/// A number of transfers, requests or pages.
pub(super) const fn number(default: Option<u64>, about: &'static str) -> Key<Number> {
    Key::or("number", Number, default, about)
}

/// A mean length of bursts or pauses, exponentially distributed unless the kind says otherwise.
pub(super) const fn period(name: &'static str, within: Interval, default: f64, about: &'static str) -> Key<Quantity> {
    Key::or(name, Quantity::time(within), default, about)
}

/// How long a burst may be.
pub(super) const ON: Interval = Interval { open_low: true, ..bounds::START };
/// How long a pause may be.
pub(super) const OFF: Interval = bounds::START;

/// Time from packet to packet, or from frame to frame.
pub(super) const fn interval(default: f64, about: &'static str) -> Key<Quantity> {
    const WITHIN: Interval = Interval { low: 1e-6, high: 10.0, open_low: false, open_high: false, unit: "s" };
    Key::or("interval", Quantity::time(WITHIN), default, about)
}
