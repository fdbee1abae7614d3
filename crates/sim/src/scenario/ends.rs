//! The ends of a flow: `from`, `to`, `ttl` and `ttl_option` of a `[[traffic]]` entry.

use serde_json::{json, Map, Value as Json};

use super::bounds;
use super::document::Doc;
use super::fields::{Checked, Field};
use super::forms::{Own, Range, Whole};
use super::keys::{self, Key, Rows};
use super::schemas::reference;
use crate::topology::Graph;
use earlydrop_net::TtlOption;

static FROM: Key<Own<Vec<String>>> =
    Key::optional("from", NAMES, "the topology's pairs", "Senders: names or patterns such as `s*`; with `to`.");
static TO: Key<Own<Vec<String>>> = Key::optional("to", NAMES, "the topology's pairs", "Receivers; with `from`.");
// 32 is ns-2's default.
static TTL: Key<Whole> =
    Key::or("ttl", Whole { low: 1, high: bounds::TTL }, 32, "Time to live of packets and ACKs when they are sent.");
static TTL_OPTION: Key<Own<TtlOption>> = Key::or(
    "ttl_option",
    Own {
        kind: "flag or text",
        range: Range::Words("true, false, \"data\""),
        wanted: "true, false, \"data\"",
        schema: || json!({ "enum": [true, false, "data"] }),
        write: |option| match option {
            TtlOption::All => true.into(),
            TtlOption::Data => "data".into(),
            TtlOption::Nothing => false.into(),
        },
        read: option,
    },
    TtlOption::All,
    "Which packets carry the time to live that they were sent with, as DDRED needs it: all, none, or all but the ACKs.",
);
/// Keys that every entry of `[[traffic]]` may have.
pub(super) const ENDS: Rows = &[&FROM, &TO, &TTL, &TTL_OPTION];

const NAMES: Own<Vec<String>> = Own {
    kind: "name or list",
    range: Range::Words("names of nodes, or patterns"),
    wanted: WANTED,
    schema: || reference("name_or_names"),
    write: |names| names.as_slice().into(),
    read: names,
};
pub(super) const WANTED: &str = "a node's name, a pattern such as \"s*\", or a list of these";

/// The ends of the flows of one `[[traffic]]` entry.
#[derive(Clone, Debug, PartialEq)]
pub struct Ends {
    /// Names and patterns of the senders and of the receivers; `None` leaves it to the topology's pairs.
    pub between: Option<(Vec<String>, Vec<String>)>,
    /// Time to live that hosts give to their packets.
    pub ttl: u8,
    /// Which packets carry this time to live, and that at the destination once the sender knows it (for DDRED).
    pub ttl_option: TtlOption,
}

impl Ends {
    /// These ends in the other direction.
    fn reversed(&self) -> Ends {
        let between = self.between.clone().map(|(from, to)| (to, from));
        Ends { between, ..*self }
    }

    /// The nodes of `graph` that senders and receivers are, each list in the order of the names; matches of a pattern
    /// are in the order of the nodes.
    pub fn nodes(&self, graph: &Graph) -> Option<(Vec<u32>, Vec<u32>)> {
        let names = |patterns: &[String]| patterns.iter().flat_map(|pattern| matching(graph, pattern)).collect();
        self.between.as_ref().map(|(from, to)| (names(from), names(to)))
    }
}

/// The keys `others`, and those of the ends.
pub(super) fn with_ends(others: &[&'static str]) -> Vec<&'static str> {
    others.iter().copied().chain(keys::names(ENDS)).collect()
}

/// Reads the ends of each entry of `[[traffic]]`; `reverse_of` says of which entry, if any, it is the other way.
pub(super) fn read(field: &Field<'_>, reverse_of: &[Option<usize>]) -> Checked<Vec<Ends>> {
    let entries = field.items("one or more tables [[traffic]]")?;
    let mut all: Vec<Ends> = entries.iter().map(one).collect::<Checked<_>>()?;
    for (at, other) in reverse_of.iter().enumerate() {
        if let Some(other) = *other {
            let (own, these) = (&all[at], all[other].reversed());
            let fields = entries[at].any_table("a table [[traffic]]")?;
            let same = [
                (FROM.name, own.between == these.between),
                (TO.name, own.between == these.between),
                (TTL.name, own.ttl == these.ttl),
                (TTL_OPTION.name, own.ttl_option == these.ttl_option),
            ];
            if let Some(field) = same.into_iter().filter(|(_, same)| !same).find_map(|(key, _)| fields.optional(key)) {
                return Err(field
                    .error("is that of the entry that reverse_of names, the other way")
                    .allowed("no such key"));
            }
            all[at] = these;
        }
    }
    Ok(all)
}

fn one(entry: &Field<'_>) -> Checked<Ends> {
    let fields = entry.any_table("a table [[traffic]]")?;
    let missing = |key: &Key<Own<Vec<String>>>| Err(key.missing(&fields));
    let between = match (FROM.field(&fields), TO.field(&fields)) {
        (None, None) => None,
        (Some(from), Some(to)) => Some((names(&from)?, names(&to)?)),
        (Some(_), None) => return missing(&TO),
        (None, Some(_)) => return missing(&FROM),
    };
    Ok(Ends { between, ttl: TTL.read(&fields)? as u8, ttl_option: TTL_OPTION.read(&fields)? })
}

/// Adds the keys of the ends, as a document has them.
pub(super) fn write(ends: &Ends, map: &mut Map<String, Json>) {
    if let Some((from, to)) = &ends.between {
        FROM.write(from, map);
        TO.write(to, map);
    }
    TTL.write(&ends.ttl.into(), map);
    TTL_OPTION.write(&ends.ttl_option, map);
}

fn option(field: &Field<'_>) -> Checked<TtlOption> {
    match field.doc {
        Doc::Bool(true) => Ok(TtlOption::All),
        Doc::Bool(false) => Ok(TtlOption::Nothing),
        Doc::String(word) if word == "data" => Ok(TtlOption::Data),
        Doc::String(_) => Err(field.error("is unknown").allowed("true, false, \"data\"")),
        _ => Err(field.wrong_type("true, false, \"data\"")),
    }
}

fn names(field: &Field<'_>) -> Checked<Vec<String>> {
    match field.doc {
        Doc::String(name) => Ok(vec![name.clone()]),
        Doc::Array(items) if items.len() > bounds::LIST => {
            Err(field.error("is too long a list").allowed(format!("{} names", bounds::LIST)))
        }
        _ => field.items(WANTED)?.iter().map(|item| item.text(WANTED).map(str::to_string)).collect(),
    }
}

/// The nodes that a name or a pattern with `*` means.
pub(super) fn matching<'a>(graph: &'a Graph, pattern: &'a str) -> impl Iterator<Item = u32> + 'a {
    let plain = !pattern.contains('*');
    (graph.nodes.iter().zip(0..))
        .filter(move |(node, _)| if plain { node.name == pattern } else { glob(pattern, &node.name) })
        .map(|(_, at)| at)
}

/// Whether `name` is `pattern` with some text in place of each `*`.
fn glob(pattern: &str, name: &str) -> bool {
    let mut parts = pattern.split('*');
    let first = parts.next().unwrap_or("");
    let Some(mut rest) = name.strip_prefix(first) else { return false };
    let parts: Vec<&str> = parts.collect();
    let Some((last, between)) = parts.split_last() else { return rest.is_empty() };
    for part in between {
        match rest.find(part) {
            Some(at) => rest = &rest[at + part.len()..],
            None => return false,
        }
    }
    rest.ends_with(last)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn patterns_match_whole_names() {
        for (pattern, name, matches) in [
            ("s*", "s1", true),
            ("s*", "as1", false),
            ("*", "", true),
            ("c*.1", "c12.1", true),
            ("c*.1", "c12.11", false),
            ("a*b*c", "abbc", true),
            ("a*a", "a", false),
            ("**", "x", true),
        ] {
            assert_eq!(glob(pattern, name), matches, "{pattern} {name}");
        }
    }

    #[test]
    fn keys_are_added_once() {
        use crate::scenario::traffic;
        assert_eq!(with_ends(&["kind"]), ["kind", "from", "to", "ttl", "ttl_option"]);
        for kind in traffic::KINDS {
            assert!(kind.all_keys().iter().all(|key| keys::names(ENDS).all(|end| end != *key)));
        }
    }
}
