//! Between which hosts traffic goes: `from`, `to` and `ttl` of a `[[traffic]]` entry.

use super::bounds;
use super::document::Doc;
use super::error::ScenarioError;
use super::fields::{Checked, Field};
use crate::topology::Graph;
use earlydrop_net::TtlOption;

/// Keys that every entry of `[[traffic]]` may have.
pub(super) const ENDS: &[&str] = &["from", "to", "ttl", "ttl_option"];
/// Time to live of a packet when none is given: ns-2's.
pub(super) const DEFAULT_TTL: u8 = 32;
/// How many pairs a message counts at most before it says "and more".
pub(super) const WANTED: &str = "a node's name, a pattern such as \"s*\", or a list of these";

/// Where the flows of one `[[traffic]]` entry begin and end.
#[derive(Clone, Debug, PartialEq)]
pub struct Ends {
    /// Names and patterns of the senders and of the receivers; `None` leaves it to the topology's pairs.
    pub between: Option<(Vec<String>, Vec<String>)>,
    /// Time to live that hosts give their packets.
    pub ttl: u8,
    /// Whether hosts write it into packets, and the time to live at the destination once they know it, as DDRED needs
    /// it.
    pub ttl_option: TtlOption,
}

impl Ends {
    /// The nodes of `graph` that senders and receivers are, each list in the order of the names, a pattern's in the
    /// order of the nodes.
    pub fn nodes(&self, graph: &Graph) -> Option<(Vec<u32>, Vec<u32>)> {
        let names = |patterns: &[String]| patterns.iter().flat_map(|pattern| matching(graph, pattern)).collect();
        self.between.as_ref().map(|(from, to)| (names(from), names(to)))
    }
}

/// `keys` and those of the ends.
pub(super) fn with_ends(keys: &[&'static str]) -> Vec<&'static str> {
    [keys, ENDS].concat()
}

/// Reads the ends of each entry of `[[traffic]]`, whose other keys `traffic` has checked.
pub(super) fn read(field: &Field<'_>) -> Checked<Vec<Ends>> {
    field.items("one or more tables [[traffic]]")?.iter().map(one).collect()
}

fn one(entry: &Field<'_>) -> Checked<Ends> {
    let Doc::Table(_) = entry.doc else { return Err(entry.wrong_type("a table [[traffic]]")) };
    let field = |key: &str| entry.doc.get(key).map(|doc| Field { doc, path: format!("{}.{key}", entry.path) });
    let between = match (field("from"), field("to")) {
        (None, None) => None,
        (Some(from), Some(to)) => Some((names(&from)?, names(&to)?)),
        (Some(_), None) => return Err(ScenarioError::new(format!("{}.to", entry.path), "is missing").allowed(WANTED)),
        (None, Some(_)) => {
            return Err(ScenarioError::new(format!("{}.from", entry.path), "is missing").allowed(WANTED));
        }
    };
    Ok(Ends {
        between,
        ttl: field("ttl").map_or(Ok(u64::from(DEFAULT_TTL)), |field| field.whole(1, bounds::TTL))? as u8,
        ttl_option: field("ttl_option").map_or(Ok(TtlOption::All), |field| option(&field))?,
    })
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

/// Whether `name` is `pattern` with any text in the place of each `*`.
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
            assert!(kind.all_keys().iter().all(|key| !ENDS.contains(key)));
        }
    }
}
