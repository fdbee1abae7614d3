//! Whether the flows of a scenario have two different ends, and routes between them in both directions.

use super::bounds;
use super::ends::{matching, Ends, WANTED};
use super::error::ScenarioError;
use super::fields::{Checked, Field};
use super::nearest::{some_of, suggestion};
use super::traffic::Traffic;
use crate::topology::{Graph, Pairs, Routes};

/// Refuses flows without two different ends or without routes between them in both directions.
pub(super) fn check(field: &Field<'_>, graph: &Graph, ends: &[Ends], traffic: &[Traffic]) -> Checked<()> {
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
    // One search serves all flows to a node.
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

/// Checks an entry that leaves its ends to the topology.
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
