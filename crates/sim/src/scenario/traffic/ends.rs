//! Where flows come from and go to: pairs of a dumbbell, or nodes by name.

use serde_json::{json, Map, Value as Json};

use super::super::document::Doc;
use super::super::error::{quoted_list, ScenarioError};
use super::super::fields::{Checked, Field, Fields};
use super::super::nearest::suggestion;
use super::model::{Direction, Ends};
use super::Place;

pub(super) fn read(fields: &Fields<'_>, place: &Place<'_>) -> Checked<Ends> {
    let Some(nodes) = place.nodes else { return pairs(fields, place.pairs) };
    for key in ["direction", "pairs"] {
        if let Some(field) = fields.optional(key) {
            return Err(field.error("is for a dumbbell").allowed("from and to, which name nodes"));
        }
    }
    let named = |key: &str| {
        let field = fields.required(key, "a node, or a list of nodes")?;
        let one = |field: &Field<'_>| {
            let name = field.text("a node")?;
            if nodes.contains(name) {
                return Ok(name.to_string());
            }
            let words = nodes.iter().map(String::as_str);
            Err(field
                .error(format!("is no node{}", suggestion(name, words.clone())))
                .allowed(quoted_list(words.take(20))))
        };
        match field.doc {
            Doc::Array(_) => field.items("a list of nodes")?.iter().map(one).collect(),
            _ => one(&field).map(|name| vec![name]),
        }
    };
    Ok(Ends::Nodes { from: named("from")?, to: named("to")? })
}

fn pairs(fields: &Fields<'_>, pairs: u32) -> Checked<Ends> {
    for key in ["from", "to"] {
        if let Some(field) = fields.optional(key) {
            return Err(ScenarioError::new(
                field.path,
                "names a node of a dumbbell, whose flows are dealt to its pairs",
            )
            .allowed("direction and pairs"));
        }
    }
    let direction = match fields.optional("direction") {
        None => Direction::Forward,
        Some(field) => {
            let name = field.word(Direction::ALL.iter().map(|direction| direction.name()))?;
            if name == Direction::Reverse.name() {
                Direction::Reverse
            } else {
                Direction::Forward
            }
        }
    };
    let one = |field: &Field<'_>| field.whole(1, pairs.into()).map(|pair| pair as u32 - 1);
    let chosen = match fields.optional("pairs") {
        None => None,
        Some(field) => Some(match field.doc {
            Doc::Array(_) => field.items("a list of pairs")?.iter().map(one).collect::<Checked<_>>()?,
            _ => vec![one(&field)?],
        }),
    };
    Ok(Ends::Pairs { direction, pairs: chosen })
}

pub(super) fn write(ends: &Ends, map: &mut Map<String, Json>) {
    match ends {
        Ends::Pairs { direction, pairs } => {
            if *direction != Direction::Forward {
                map.insert("direction".into(), direction.name().into());
            }
            if let Some(pairs) = pairs {
                map.insert("pairs".into(), pairs.iter().map(|pair| pair + 1).collect());
            }
        }
        Ends::Nodes { from, to } => {
            map.insert("from".into(), json!(from));
            map.insert("to".into(), json!(to));
        }
    }
}
