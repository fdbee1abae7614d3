//! Static shortest-path routes.
//!
//! The metric is the number of links (hops), as in ns-2's static routing. Of several next hops that are equally far from
//! the destination, the node that is listed first is taken. Routes do not change in a run. The route back is found
//! independently and may differ from the route out.

use super::graph::Graph;
use std::collections::VecDeque;

const NONE: u32 = u32::MAX;

/// Two nodes without a route from one to the other.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Unreachable {
    /// The node where the route should begin.
    pub from: u32,
    /// The node where it should end.
    pub to: u32,
}

/// Finds routes.
///
/// A node with one neighbour is on no route but its own. Such leaves (hosts, most of them) are left out of the search,
/// so that its cost depends on routers, not on hosts.
pub struct Routes<'a> {
    graph: &'a Graph,
    /// By node: its links in both directions, and the nodes at their other ends.
    out: Lists,
    into: Lists,
    /// The links in between nodes that are no leaves: a search goes along these only.
    trunk: Lists,
    /// By leaf: its link out and its link in, of which one may be missing.
    leaf: Vec<Option<Leaf>>,
    /// By node: the link to take towards `towards`, and the hops to it.
    next: Vec<u32>,
    hops: Vec<u32>,
    towards: u32,
    /// The nodes that the last search reached.
    reached: Vec<u32>,
    waiting: VecDeque<u32>,
}

#[derive(Clone, Copy)]
struct Leaf {
    neighbour: u32,
    out: u32,
    into: u32,
}

impl<'a> Routes<'a> {
    /// Prepares the search of routes through `graph`.
    pub fn new(graph: &'a Graph) -> Self {
        let nodes = graph.nodes.len();
        let out = Lists::new(nodes, graph.links().map(|(link, _, from, to)| (from, link, to)));
        let into = Lists::new(nodes, graph.links().map(|(link, _, from, to)| (to, link, from)));
        let leaf = |node: usize| {
            let ends = || out.of(node).iter().chain(into.of(node)).map(|&(_, other)| other);
            let neighbour = ends().next()?;
            let only = |list: &[(u32, u32)]| list.first().map_or(NONE, |&(link, _)| link);
            ends().all(|other| other == neighbour).then(|| Leaf {
                neighbour,
                out: only(out.of(node)),
                into: only(into.of(node)),
            })
        };
        let mut leaves: Vec<Option<Leaf>> = (0..nodes).map(leaf).collect();
        // Of two nodes that have only each other, one must be the node of which the other is a leaf.
        for node in 0..nodes {
            if let Some(Leaf { neighbour, .. }) = leaves[node] {
                if leaves[neighbour as usize].is_some() {
                    leaves[node] = None;
                }
            }
        }
        let inner = |node: u32| leaves[node as usize].is_none();
        let links = graph.links().filter(|&(_, _, from, to)| inner(from) && inner(to));
        let trunk = Lists::new(nodes, links.map(|(link, _, from, to)| (to, link, from)));
        Routes {
            graph,
            out,
            into,
            trunk,
            leaf: leaves,
            next: vec![NONE; nodes],
            hops: vec![NONE; nodes],
            towards: NONE,
            reached: Vec::new(),
            waiting: VecDeque::new(),
        }
    }

    /// The links of each pair's route, in the order of the pairs.
    ///
    /// # Errors
    /// The first pair, in this order, that no route joins.
    pub fn between(graph: &'a Graph, pairs: &[(u32, u32)]) -> Result<Vec<Vec<u32>>, Unreachable> {
        let mut routes = Routes::new(graph);
        let mut order: Vec<usize> = (0..pairs.len()).collect();
        // One search serves all flows to a destination.
        order.sort_by_key(|&at| routes.core(pairs[at].1));
        let mut found = vec![None; pairs.len()];
        for at in order {
            found[at] = routes.route(pairs[at].0, pairs[at].1);
        }
        let unreachable = |at: usize| Unreachable { from: pairs[at].0, to: pairs[at].1 };
        found.into_iter().enumerate().map(|(at, route)| route.ok_or_else(|| unreachable(at))).collect()
    }

    /// The node itself, or for a leaf its neighbour.
    fn core(&self, node: u32) -> u32 {
        self.leaf[node as usize].map_or(node, |leaf| leaf.neighbour)
    }

    /// The links from `from` to `to`, none if they are the same; `None` without a route.
    pub fn route(&mut self, from: u32, to: u32) -> Option<Vec<u32>> {
        let mut route = Vec::new();
        if from == to {
            return Some(route);
        }
        let mut at = from;
        if let Some(leaf) = self.leaf[from as usize] {
            if leaf.out == NONE {
                return None;
            }
            route.push(leaf.out);
            at = leaf.neighbour;
            if at == to {
                return Some(route);
            }
        }
        let target = self.core(to);
        if at != target {
            self.search(target);
            while at != target {
                let link = self.next[at as usize];
                if link == NONE {
                    return None;
                }
                route.push(link);
                at = self.graph.link(link)?.2;
            }
        }
        if target != to {
            let leaf = self.leaf[to as usize]?;
            if leaf.into == NONE {
                return None;
            }
            route.push(leaf.into);
        }
        Some(route)
    }

    /// Breadth first from `target` against the direction of the links.
    fn search(&mut self, target: u32) {
        if self.towards == target {
            return;
        }
        self.towards = target;
        for node in self.reached.drain(..) {
            (self.next[node as usize], self.hops[node as usize]) = (NONE, NONE);
        }
        self.hops[target as usize] = 0;
        self.reached.push(target);
        self.waiting.push_back(target);
        while let Some(node) = self.waiting.pop_front() {
            let hops = self.hops[node as usize] + 1;
            for &(link, before) in self.trunk.of(node as usize) {
                let before = before as usize;
                if self.hops[before] == NONE {
                    self.hops[before] = hops;
                    self.next[before] = link;
                    self.reached.push(before as u32);
                    self.waiting.push_back(before as u32);
                } else if self.hops[before] == hops && self.end(self.next[before]) > node {
                    self.next[before] = link;
                }
            }
        }
    }

    fn end(&self, link: u32) -> u32 {
        self.graph.link(link).map_or(NONE, |(_, _, to)| to)
    }

    /// The first two of `nodes` without a route from one to the other, if any.
    pub fn first_apart(&self, nodes: &[u32]) -> Option<Unreachable> {
        let &root = nodes.first()?;
        let from_root = self.reached(root, &self.out);
        let to_root = self.reached(root, &self.into);
        nodes.iter().find_map(|&node| {
            if !from_root[node as usize] {
                Some(Unreachable { from: root, to: node })
            } else if !to_root[node as usize] {
                Some(Unreachable { from: node, to: root })
            } else {
                None
            }
        })
    }

    fn reached(&self, root: u32, along: &Lists) -> Vec<bool> {
        let mut reached = vec![false; self.graph.nodes.len()];
        let mut waiting = vec![root];
        reached[root as usize] = true;
        while let Some(node) = waiting.pop() {
            for &(_, other) in along.of(node as usize) {
                if !std::mem::replace(&mut reached[other as usize], true) {
                    waiting.push(other);
                }
            }
        }
        reached
    }
}

/// For each node a list of (link, other end), all in one piece of memory.
struct Lists {
    begins: Vec<u32>,
    entries: Vec<(u32, u32)>,
}

impl Lists {
    /// From (node, link, other end) in the order in which the lists shall have them.
    fn new(nodes: usize, entries: impl Iterator<Item = (u32, u32, u32)> + Clone) -> Self {
        let mut begins = vec![0; nodes + 1];
        for (node, ..) in entries.clone() {
            begins[node as usize + 1] += 1;
        }
        for node in 0..nodes {
            begins[node + 1] += begins[node];
        }
        let mut at = begins.clone();
        let mut list = vec![(NONE, NONE); begins[nodes] as usize];
        for (node, link, other) in entries {
            list[at[node as usize] as usize] = (link, other);
            at[node as usize] += 1;
        }
        Lists { begins, entries: list }
    }

    fn of(&self, node: usize) -> &[(u32, u32)] {
        &self.entries[self.begins[node] as usize..self.begins[node + 1] as usize]
    }
}

#[cfg(test)]
mod tests {
    use super::super::link::LinkSpec;
    use super::*;

    /// Nodes `a`, `b`, ... in order, joined as the pairs of letters say.
    fn graph(nodes: usize, joined: &[&str]) -> Graph {
        let mut graph = Graph::default();
        for name in (b'a'..).take(nodes) {
            graph.router(char::from(name), [0.0, 0.0]);
        }
        for pair in joined {
            let [a, b] = [0, 1].map(|i| u32::from(pair.as_bytes()[i] - b'a'));
            graph.join(a, b, &LinkSpec::constant(1e6, 0.0));
        }
        graph
    }

    fn path(graph: &Graph, from: char, to: char) -> Option<String> {
        let node = |name: char| graph.node(&name.to_string()).expect("a node");
        let links = Routes::new(graph).route(node(from), node(to))?;
        let ends = links.iter().map(|&link| graph.nodes[graph.link(link).expect("a link").2 as usize].name.clone());
        Some(std::iter::once(from.to_string()).chain(ends).collect())
    }

    #[test]
    fn the_fewest_hops_win_whatever_the_order_of_links() {
        let graph = graph(5, &["ab", "bc", "cd", "de", "ad"]);
        assert_eq!(path(&graph, 'a', 'e').as_deref(), Some("ade"));
        assert_eq!(path(&graph, 'c', 'e').as_deref(), Some("cde"));
        assert_eq!(path(&graph, 'a', 'a').as_deref(), Some("a"));
    }

    #[test]
    fn of_equal_next_hops_the_node_listed_first_is_taken() {
        for joined in [["ac", "ab", "bd", "cd"], ["cd", "bd", "ab", "ac"], ["ab", "cd", "ac", "bd"]] {
            let graph = graph(4, &joined);
            assert_eq!(path(&graph, 'a', 'd').as_deref(), Some("abd"), "{joined:?}");
            assert_eq!(path(&graph, 'd', 'a').as_deref(), Some("dba"), "{joined:?}");
        }
    }

    #[test]
    fn leaves_are_reached_and_passed_by_no_one() {
        let graph = graph(6, &["ab", "bc", "cd", "be", "cf"]);
        for (from, to, way) in
            [('a', 'd', "abcd"), ('a', 'b', "ab"), ('b', 'a', "ba"), ('e', 'a', "eba"), ('a', 'f', "abcf")]
        {
            assert_eq!(path(&graph, from, to).as_deref(), Some(way));
        }
        assert_eq!(path(&self::graph(2, &["ab"]), 'a', 'b').as_deref(), Some("ab"));
        assert_eq!(path(&self::graph(2, &["ab"]), 'b', 'a').as_deref(), Some("ba"));
    }

    #[test]
    fn one_way_links_lead_one_way() {
        let mut ring = graph(4, &["ab", "bc", "cd", "da"]);
        for edge in &mut ring.edges {
            edge.back = None;
        }
        assert_eq!(path(&ring, 'a', 'd').as_deref(), Some("abcd"));
        assert_eq!(path(&ring, 'd', 'a').as_deref(), Some("da"));
        ring.edges.pop();
        assert_eq!(path(&ring, 'd', 'a'), None);
        assert_eq!(path(&ring, 'a', 'd').as_deref(), Some("abcd"));
        let apart = Routes::new(&ring).first_apart(&[0, 1, 2, 3]);
        assert_eq!(apart, Some(Unreachable { from: 1, to: 0 }));
    }

    #[test]
    fn what_is_not_joined_is_named() {
        let graph = graph(5, &["ab", "bc", "de"]);
        assert_eq!(Routes::between(&graph, &[(0, 2), (0, 4), (3, 1)]), Err(Unreachable { from: 0, to: 4 }));
        assert_eq!(Routes::new(&graph).first_apart(&[0, 2, 3]), Some(Unreachable { from: 0, to: 3 }));
        assert_eq!(Routes::new(&graph).first_apart(&[3, 4]), None);
    }

    /// All pairs of a random graph against distances by relaxing until nothing changes.
    #[test]
    fn every_route_is_a_shortest_one() {
        let mut random = earlydrop_aqm::random::Generator::stream(1, "test.routes");
        for _ in 0..20 {
            let nodes = 3 + (random.uniform() * 12.0) as u32;
            let mut graph = graph(nodes as usize, &[]);
            for a in 0..nodes {
                for b in 0..a {
                    if random.uniform() < 0.25 {
                        graph.join(a, b, &LinkSpec::constant(1e6, 0.0));
                        if random.uniform() < 0.3 {
                            graph.edges.last_mut().expect("just added").back = None;
                        }
                    }
                }
            }
            let count = nodes as usize;
            let mut hops = vec![vec![u32::MAX / 2; count]; count];
            (0..count).for_each(|node| hops[node][node] = 0);
            for _ in 0..count {
                for (_, _, from, to) in graph.links() {
                    let beyond = hops[to as usize].clone();
                    hops[from as usize].iter_mut().zip(beyond).for_each(|(here, there)| *here = (*here).min(1 + there));
                }
            }
            let mut routes = Routes::new(&graph);
            for from in 0..nodes {
                for to in 0..nodes {
                    let want = hops[from as usize][to as usize];
                    let route = routes.route(from, to);
                    assert_eq!(route.as_ref().map(|links| links.len() as u32), (want < u32::MAX / 2).then_some(want));
                    let mut at = from;
                    for &link in route.iter().flatten() {
                        let (_, begin, end) = graph.link(link).expect("a link");
                        assert_eq!(begin, at);
                        at = end;
                    }
                }
            }
        }
    }
}
