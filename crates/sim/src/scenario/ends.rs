//! Between which hosts traffic goes: `from`, `to` and `ttl` of a `[[traffic]]` entry.

use super::bounds;
use super::document::Doc;
use super::error::ScenarioError;
use super::fields::{Checked, Field};
use super::model::Scenario;
use super::nearest::suggestion;
use super::traffic::Direction;
use crate::engine::network::TtlOption;
use crate::topology::{Graph, Pairs, Routes};
use earlydrop_aqm::random::Generator;

/// Keys that every entry of `[[traffic]]` may have.
pub(super) const ENDS: &[&str] = &["from", "to", "ttl", "ttl_option"];
/// Time to live of a packet when none is given: ns-2's.
pub(super) const DEFAULT_TTL: u8 = 32;
/// How many pairs a message counts at most before it says "and more".
const WANTED: &str = "a node's name, a pattern such as \"s*\", or a list of these";

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

impl Scenario {
    /// Where each flow begins and ends: as its traffic says, else by the topology's pairs, dealt in turn.
    pub(crate) fn ends_of_flows(&self, graph: &Graph, seed: u64) -> Vec<(u32, u32)> {
        let mut ends = Vec::with_capacity(self.flows() as usize);
        let hosts = graph.hosts();
        let mut random = Generator::stream(seed, "topology.pairs");
        let mut below = |n: usize| ((random.uniform() * n as f64) as usize).min(n - 1);
        let mut dealt = 0;
        for (traffic, given) in self.traffic.iter().zip(&self.ends) {
            let count = traffic.flows() as usize;
            let turned = |(left, right)| match traffic.direction {
                Direction::Forward => (left, right),
                Direction::Reverse => (right, left),
            };
            match (given.nodes(graph), &graph.pairs, &traffic.pairs) {
                (Some((from, to)), ..) => ends.extend((0..count).map(|i| (from[i % from.len()], to[i % to.len()]))),
                (None, Pairs::Listed(pairs), Some(chosen)) => {
                    ends.extend((0..count).map(|i| turned(pairs[chosen[i % chosen.len()] as usize])));
                }
                (None, Pairs::Listed(pairs), None) => {
                    ends.extend((dealt..dealt + count).map(|i| turned(pairs[i % pairs.len()])));
                    dealt += count;
                }
                // The checker refuses traffic without ends where there are no pairs.
                (None, Pairs::Drawn | Pairs::None, _) => ends.extend((0..count).map(|_| {
                    let from = below(hosts.len());
                    let to = (from + 1 + below(hosts.len() - 1)) % hosts.len();
                    (hosts[from], hosts[to])
                })),
            }
        }
        ends
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

/// Whether every flow has two different ends and a way from the one to the other and back.
pub(super) fn check(
    field: &Field<'_>,
    graph: &Graph,
    ends: &[Ends],
    traffic: &[super::traffic::Traffic],
) -> Checked<()> {
    let routes = Routes::new(graph);
    let mut wanted = Vec::new();
    let entries = field.items("one or more tables [[traffic]]")?;
    for ((entry, ends), traffic) in entries.iter().zip(ends).zip(traffic) {
        let Some((from, to)) = &ends.between else {
            check_pairs(entry, graph, &routes, &mut wanted)?;
            continue;
        };
        for (key, patterns) in [("from", from), ("to", to)] {
            for pattern in patterns {
                if matching(graph, pattern).next().is_none() {
                    let names = || graph.nodes.iter().map(|node| node.name.as_str());
                    let message = format!("names no node{}", suggestion(pattern, names()));
                    return Err(ScenarioError::new(format!("{}.{key}", entry.path), message)
                        .given(format!("{pattern:?}"))
                        .allowed(some_of(names())));
                }
            }
        }
        let Some((from, to)) = ends.nodes(graph) else { continue };
        for flow in 0..(traffic.flows() as usize).min(from.len() * to.len()) {
            let pair = (from[flow % from.len()], to[flow % to.len()]);
            if pair.0 == pair.1 {
                return Err(ScenarioError::new(format!("{}.to", entry.path), "is where the flow begins too")
                    .given(format!("{:?} for flow {} of this entry", graph.nodes[pair.1 as usize].name, flow + 1))
                    .allowed("two different nodes"));
            }
            wanted.push((pair, entry.path.clone()));
        }
    }
    wanted.sort_unstable();
    wanted.dedup_by_key(|(pair, _)| *pair);
    let mut routes = routes;
    let mut ordered: Vec<_> = wanted.iter().flat_map(|((a, b), path)| [(*b, *a, path), (*a, *b, path)]).collect();
    // One search serves all that go to one node.
    ordered.sort_unstable();
    for (to, from, path) in ordered {
        let hops = routes.route(from, to).map(|route| route.len());
        let name = |node: u32| &graph.nodes[node as usize].name;
        let refuse =
            |message: &str| ScenarioError::new(path.clone(), format!("{message} {:?} to {:?}", name(from), name(to)));
        match hops {
            None => return Err(refuse("has no way from").allowed("links that join them, there and back")),
            Some(hops) if hops > bounds::HOPS => {
                return Err(refuse("has too long a way from")
                    .given(format!("{hops} links"))
                    .allowed(format!("{} links", bounds::HOPS)));
            }
            Some(_) => {}
        }
    }
    Ok(())
}

/// An entry that leaves its ends to the topology.
fn check_pairs(
    entry: &Field<'_>,
    graph: &Graph,
    routes: &Routes<'_>,
    wanted: &mut Vec<((u32, u32), String)>,
) -> Checked<()> {
    match &graph.pairs {
        Pairs::None => {
            Err(ScenarioError::new(format!("{}.from", entry.path), "is missing, and the topology has no pairs")
                .allowed(WANTED))
        }
        Pairs::Listed(pairs) => {
            wanted.extend(pairs.iter().map(|&pair| (pair, entry.path.clone())));
            Ok(())
        }
        Pairs::Drawn => {
            let hosts = graph.hosts();
            if hosts.len() < 2 {
                return Err(ScenarioError::new("topology", "has no two hosts to draw from")
                    .given(format!("{}", hosts.len()))
                    .allowed("2 hosts or more"));
            }
            match routes.first_apart(&hosts) {
                None => Ok(()),
                Some(apart) => {
                    let name = |node: u32| &graph.nodes[node as usize].name;
                    Err(ScenarioError::new("topology", "is not connected").given(format!(
                        "no way from {:?} to {:?}",
                        name(apart.from),
                        name(apart.to)
                    )))
                }
            }
        }
    }
}

/// The nodes that a name or a pattern with `*` means.
fn matching<'a>(graph: &'a Graph, pattern: &'a str) -> impl Iterator<Item = u32> + 'a {
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

/// The first few names.
pub(super) fn some_of<'a>(names: impl Iterator<Item = &'a str>) -> String {
    const SHOWN: usize = 8;
    let mut shown: Vec<&str> = names.take(SHOWN + 1).collect();
    let more = shown.len() > SHOWN;
    shown.truncate(SHOWN);
    let list = shown.iter().map(|name| format!("{name:?}")).collect::<Vec<_>>().join(", ");
    if more {
        list + ", ..."
    } else {
        list
    }
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
