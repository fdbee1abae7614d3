//! Nodes and links.

use super::link::LinkSpec;
use std::collections::BTreeMap;

/// A host or a router.
#[derive(Clone, Debug, PartialEq)]
pub struct Node {
    /// Name, different from all others.
    pub name: String,
    /// Whether the node is a router; others are hosts. Traffic without ends of its own goes between hosts.
    pub router: bool,
    /// The node's place in a picture.
    pub place: Option<[f64; 2]>,
}

/// Two nodes and what joins them.
#[derive(Clone, Debug, PartialEq)]
pub struct Edge {
    /// One end, by index.
    pub from: u32,
    /// The other end.
    pub to: u32,
    /// The direction from `from` to `to`.
    pub there: Direction,
    /// The other direction; `None` for a link in one direction only.
    pub back: Option<Direction>,
}

/// One direction of an edge.
#[derive(Clone, Debug, PartialEq)]
pub struct Direction {
    /// Name, different from all others: `from>to` where none is given.
    pub name: String,
    /// Rate, delay and the rest.
    pub link: LinkSpec,
    /// The queue in front of the link, by the key of its `[queue.KEY]`; without one its buffer is unlimited.
    pub queue: Option<String>,
}

/// Between which hosts flows go if their traffic does not say.
#[derive(Clone, Debug, Default, PartialEq)]
pub enum Pairs {
    /// None: traffic must say.
    #[default]
    None,
    /// These pairs, assigned to flows in order.
    Listed(Vec<(u32, u32)>),
    /// For each flow two different hosts, drawn from all hosts alike with the run's seed.
    Drawn,
}

/// Nodes, links, and who sends to whom.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Graph {
    /// Nodes; their order breaks ties between routes.
    pub nodes: Vec<Node>,
    /// Links. A link in one direction is `2 * edge`, its other direction `2 * edge + 1`.
    pub edges: Vec<Edge>,
    /// Who sends to whom.
    pub pairs: Pairs,
}

impl Graph {
    /// Adds a host.
    pub fn host(&mut self, name: impl Into<String>, place: [f64; 2]) -> u32 {
        self.add(name.into(), false, place)
    }

    /// Adds a router.
    pub fn router(&mut self, name: impl Into<String>, place: [f64; 2]) -> u32 {
        self.add(name.into(), true, place)
    }

    fn add(&mut self, name: String, router: bool, place: [f64; 2]) -> u32 {
        self.nodes.push(Node { name, router, place: Some(place) });
        self.nodes.len() as u32 - 1
    }

    /// Joins two nodes by a link that is equal in both directions and has no queues; returns its index among the edges.
    pub fn join(&mut self, from: u32, to: u32, link: &LinkSpec) -> usize {
        let direction = |graph: &Graph, a: u32, b: u32| Direction {
            name: default_name(&graph.nodes[a as usize].name, &graph.nodes[b as usize].name),
            link: link.clone(),
            queue: None,
        };
        let (there, back) = (direction(self, from, to), direction(self, to, from));
        self.edges.push(Edge { from, to, there, back: Some(back) });
        self.edges.len() - 1
    }

    /// The index of the node with that name.
    pub fn node(&self, name: &str) -> Option<u32> {
        self.nodes.iter().position(|node| node.name == name).map(|at| at as u32)
    }

    /// All names with their indices, to look many up.
    pub fn names(&self) -> BTreeMap<&str, u32> {
        self.nodes.iter().zip(0..).map(|(node, at)| (node.name.as_str(), at)).collect()
    }

    /// The hosts, in order; all nodes if no node is a host.
    pub fn hosts(&self) -> Vec<u32> {
        let hosts: Vec<u32> = (0..self.nodes.len() as u32).filter(|&at| !self.nodes[at as usize].router).collect();
        if hosts.is_empty() {
            (0..self.nodes.len() as u32).collect()
        } else {
            hosts
        }
    }

    /// A link by its number: its direction and its two ends.
    pub fn link(&self, link: u32) -> Option<(&Direction, u32, u32)> {
        let edge = &self.edges[link as usize / 2];
        if link.is_multiple_of(2) {
            Some((&edge.there, edge.from, edge.to))
        } else {
            edge.back.as_ref().map(|back| (back, edge.to, edge.from))
        }
    }

    /// The name of a link.
    pub fn link_name(&self, link: u32) -> &str {
        self.link(link).map_or("", |(direction, ..)| &direction.name)
    }

    /// All links with their numbers: both directions of the first edge, then of the second, and so on.
    pub fn links(&self) -> impl Iterator<Item = (u32, &Direction, u32, u32)> + Clone {
        (0..2 * self.edges.len() as u32).filter_map(|number| {
            let (direction, from, to) = self.link(number)?;
            Some((number, direction, from, to))
        })
    }

    /// All directions, to change them.
    pub fn directions_mut(&mut self) -> impl Iterator<Item = &mut Direction> {
        self.edges.iter_mut().flat_map(|edge| std::iter::once(&mut edge.there).chain(edge.back.as_mut()))
    }
}

/// The name of a link between two nodes that was given none.
pub(crate) fn default_name(from: &str, to: &str) -> String {
    format!("{from}>{to}")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn links_are_numbered_by_edge_and_direction() {
        let mut graph = Graph::default();
        let (a, b) = (graph.host("a", [0.0, 0.0]), graph.router("b", [1.0, 0.0]));
        graph.join(a, b, &LinkSpec::constant(1e6, 0.0));
        graph.join(b, a, &LinkSpec::constant(1e6, 0.0));
        graph.edges[0].back = None;
        let links: Vec<_> = graph.links().map(|(number, link, from, to)| (number, &link.name[..], from, to)).collect();
        assert_eq!(links, [(0, "a>b", 0, 1), (2, "b>a", 1, 0), (3, "a>b", 0, 1)]);
        assert_eq!((graph.node("b"), graph.node("c"), graph.hosts()), (Some(1), None, vec![0]));
    }

    #[test]
    fn where_no_node_is_a_host_all_are() {
        let mut graph = Graph::default();
        graph.router("a", [0.0, 0.0]);
        graph.router("b", [0.0, 0.0]);
        assert_eq!(graph.hosts(), [0, 1]);
    }
}
