//! The usual networks, and those of the papers. Hosts and routers are named by a letter and a number from 1.

use super::graph::{Graph, Pairs};
use super::link::{Delays, LinkSpec};
use std::f64::consts::TAU;

/// The key of the queues at every output of every router, in the networks where all routers run the policy.
pub const ROUTERS: &str = "routers";
/// The key of the queues towards the receivers.
pub const BOTTLENECK: &str = "bottleneck";
/// The key of the queues in the other direction.
pub const REVERSE: &str = "reverse";

/// `link` for host number `index`: with the host's own delay if delays are listed.
pub(super) fn nth(link: &LinkSpec, index: u32) -> LinkSpec {
    match &link.delay {
        Delays::List(delays) => LinkSpec { delay: Delays::Same(delays[index as usize % delays.len()]), ..link.clone() },
        _ => link.clone(),
    }
}

/// Puts a queue named after the link at every output of a router.
pub(super) fn queues_at_routers(graph: &mut Graph, key: &str) {
    for edge in &mut graph.edges {
        let (from, to) = (&graph.nodes[edge.from as usize], &graph.nodes[edge.to as usize]);
        edge.there.queue = from.router.then(|| key.to_string());
        if let Some(back) = &mut edge.back {
            back.queue = to.router.then(|| key.to_string());
        }
    }
}

/// Names an edge's directions and the keys of their queues.
fn name_edge(graph: &mut Graph, edge: usize, names: [String; 2], queues: [Option<&str>; 2]) {
    let edge = &mut graph.edges[edge];
    let [there, back] = names;
    edge.there.name = there;
    edge.there.queue = queues[0].map(str::to_string);
    if let Some(direction) = &mut edge.back {
        direction.name = back;
        direction.queue = queues[1].map(str::to_string);
    }
}

/// The parts of a parking lot.
#[derive(Clone, Debug)]
pub struct ParkingLot {
    /// Bottlenecks in a row.
    pub bottlenecks: u32,
    /// Pairs of hosts whose flows pass all bottlenecks.
    pub pairs: u32,
    /// Pairs of hosts at each bottleneck whose flows pass only that one.
    pub cross: u32,
    /// The link of every host.
    pub access: LinkSpec,
    /// The link of each bottleneck.
    pub bottleneck: LinkSpec,
    /// The other direction of each bottleneck.
    pub reverse: LinkSpec,
}

/// Routers `r1`, `r2`, ... in a row with a bottleneck after each: `bottleneck1`, ..., and back `reverse1`, .... Hosts
/// `s1`, ... and `d1`, ... are at the ends of the row; `c1.1`, ... and `e1.1`, ... on either side of bottleneck 1, and
/// so on. The flows that pass all bottlenecks come first.
pub fn parking_lot(parts: &ParkingLot) -> Graph {
    let mut graph = Graph::default();
    let routers: Vec<u32> =
        (0..=parts.bottlenecks).map(|i| graph.router(format!("r{}", i + 1), [1.0 + 2.0 * f64::from(i), 0.0])).collect();
    for (i, ends) in routers.windows(2).enumerate() {
        let edge = graph.join(ends[0], ends[1], &parts.bottleneck);
        if let Some(back) = &mut graph.edges[edge].back {
            back.link = parts.reverse.clone();
        }
        let names = [format!("bottleneck{}", i + 1), format!("reverse{}", i + 1)];
        name_edge(&mut graph, edge, names, [Some(BOTTLENECK), Some(REVERSE)]);
    }
    let end = 2.0 + 2.0 * f64::from(parts.bottlenecks);
    let middle = 0.5 * (f64::from(parts.pairs) - 1.0);
    let mut pairs = Vec::new();
    let mut host = 0;
    let mut pair = |graph: &mut Graph, names: [String; 2], at: [u32; 2], places: [[f64; 2]; 2]| {
        let [from, to] = names;
        let (sender, receiver) = (graph.host(from, places[0]), graph.host(to, places[1]));
        graph.join(sender, at[0], &nth(&parts.access, host));
        graph.join(at[1], receiver, &nth(&parts.access, host));
        host += 1;
        pairs.push((sender, receiver));
    };
    let ends = [routers[0], routers[parts.bottlenecks as usize]];
    for i in 0..parts.pairs {
        let height = 0.6 * (middle - f64::from(i));
        let names = [format!("s{}", i + 1), format!("d{}", i + 1)];
        pair(&mut graph, names, ends, [[0.0, height], [end, height]]);
    }
    for at in 0..parts.bottlenecks {
        for i in 0..parts.cross {
            let names = [format!("c{}.{}", at + 1, i + 1), format!("e{}.{}", at + 1, i + 1)];
            let here = [routers[at as usize], routers[at as usize + 1]];
            // Side by side under their routers, senders before them and receivers behind them.
            let aside = 0.15 + 0.7 * (f64::from(i) + 0.5) / f64::from(parts.cross.max(1));
            let left = 1.0 + 2.0 * f64::from(at);
            let places = [[left + aside, -1.5], [left + 1.0 + aside, -1.5]];
            pair(&mut graph, names, here, places);
        }
    }
    graph.pairs = Pairs::Listed(pairs);
    graph
}

/// Hosts `h1`, `h2`, ... round one router. All others send to the first. Every link from the router has a queue.
pub fn star(hosts: u32, access: &LinkSpec) -> Graph {
    let mut graph = Graph::default();
    let router = graph.router("r1", [0.0, 0.0]);
    for i in 0..hosts {
        let angle = TAU * f64::from(i) / f64::from(hosts);
        let host = graph.host(format!("h{}", i + 1), [angle.cos(), angle.sin()]);
        graph.join(router, host, &nth(access, i));
    }
    queues_at_routers(&mut graph, BOTTLENECK);
    graph.pairs = Pairs::Listed((2..=hosts).map(|host| (host, 1)).collect());
    graph
}

/// Senders `s1`, `s2`, ... at router `r1`, a bottleneck to router `r2`, and one receiver `d` for all: the network of
/// the SFRED and NLRED papers (their G0, G1 and R, or A, B and sink).
pub fn many_to_one(count: u32, senders: &LinkSpec, bottleneck: &LinkSpec, receiver: &LinkSpec) -> Graph {
    let mut graph = Graph::default();
    let middle = -0.5 * (f64::from(count) + 1.0);
    let routers = [graph.router("r1", [1.0, middle]), graph.router("r2", [2.0, middle])];
    let edge = graph.join(routers[0], routers[1], bottleneck);
    name_edge(&mut graph, edge, [BOTTLENECK.into(), REVERSE.into()], [Some(BOTTLENECK), Some(REVERSE)]);
    let sink = graph.host("d", [3.0, middle]);
    graph.join(routers[1], sink, receiver);
    let mut pairs = Vec::new();
    for i in 0..count {
        let sender = graph.host(format!("s{}", i + 1), [0.0, -f64::from(i) - 1.0]);
        graph.join(sender, routers[0], &nth(senders, i));
        pairs.push((sender, sink));
    }
    graph.pairs = Pairs::Listed(pairs);
    graph
}

/// DDRED's bus: routers `r1`, `r2`, ... in a line, each with a workstation `h1`, `h2`, ..., a queue at every output of a
/// router. Flows go between workstations drawn at random.
pub fn bus(routers: u32, core: &LinkSpec, access: &LinkSpec) -> Graph {
    let mut graph = Graph::default();
    for i in 0..routers {
        graph.router(format!("r{}", i + 1), [f64::from(i), 0.0]);
    }
    for i in 1..routers {
        graph.join(i - 1, i, core);
    }
    for i in 0..routers {
        let host = graph.host(format!("h{}", i + 1), [f64::from(i), -1.0]);
        graph.join(host, i, &nth(access, i));
    }
    queues_at_routers(&mut graph, ROUTERS);
    graph.pairs = Pairs::Drawn;
    graph
}

/// DDRED's flower: `petals` core routers in a ring, and at each of them a loop of `petal` more routers, both ends of
/// which are joined to it; each router has a workstation. Core routers come first: `r1`, ..., then loop after loop.
pub fn flower(petals: u32, petal: u32, core: &LinkSpec, access: &LinkSpec) -> Graph {
    let mut graph = Graph::default();
    let heart = 1.0 + 0.25 * f64::from(petals);
    let at = |radius: f64, angle: f64| [radius * angle.cos(), radius * angle.sin()];
    let direction = |i: u32| TAU * (0.25 + f64::from(i) / f64::from(petals));
    let mut places: Vec<[f64; 2]> = (0..petals).map(|i| at(heart, direction(i))).collect();
    let width = 0.12 * f64::from(petal + 1);
    for i in 0..petals {
        let out = direction(i);
        let middle = at(heart + 2.0 * width, out);
        for j in 1..=petal {
            // From the core router round the loop and back to it.
            let [x, y] = at(1.0, out + TAU * (0.5 + f64::from(j) / f64::from(petal + 1)));
            let (along, across) = (x * out.cos() + y * out.sin(), y * out.cos() - x * out.sin());
            let (along, across) = (2.0 * width * along, 1.3 * width * across);
            let place = [along * out.cos() - across * out.sin(), along * out.sin() + across * out.cos()];
            places.push([middle[0] + place[0], middle[1] + place[1]]);
        }
    }
    for (i, &place) in places.iter().enumerate() {
        graph.router(format!("r{}", i + 1), place);
    }
    // A ring of two routers is one link; a ring of one is none.
    let ring = if petals == 2 { 1 } else { petals };
    for i in (0..ring).filter(|_| petals > 1) {
        graph.join(i, (i + 1) % petals, core);
    }
    for i in (0..petals).filter(|_| petal > 0) {
        let first = petals + i * petal;
        graph.join(i, first, core);
        for j in 1..petal {
            graph.join(first + j - 1, first + j, core);
        }
        if petal > 1 {
            graph.join(first + petal - 1, i, core);
        }
    }
    for (i, &[x, y]) in places.iter().enumerate() {
        // Workstations of core routers are inside the ring, the others outside their loop.
        let (cx, cy, step) = if i < petals as usize {
            (0.0, 0.0, -0.45)
        } else {
            let [cx, cy] = at(heart + 2.0 * width, direction((i as u32 - petals) / petal));
            (cx, cy, 0.45)
        };
        let (dx, dy) = (x - cx, y - cy);
        let length = dx.hypot(dy).max(1e-9);
        let host = graph.host(format!("h{}", i + 1), [x + step * dx / length, y + step * dy / length]);
        graph.join(host, i as u32, &nth(access, i as u32));
    }
    queues_at_routers(&mut graph, ROUTERS);
    graph.pairs = Pairs::Drawn;
    graph
}

/// DDRED's two flows: `s1` - `r1` - `r2` - `d` and `s2` - `r2`. `first` is the link of `s1`, `link` is every other
/// link; the queue is at `r2` towards `d`.
pub fn two_flow(first: &LinkSpec, link: &LinkSpec) -> Graph {
    let mut graph = Graph::default();
    let [s1, r1, r2, d, s2] = [
        graph.host("s1", [0.0, 0.0]),
        graph.router("r1", [1.0, 0.0]),
        graph.router("r2", [2.0, 0.0]),
        graph.host("d", [3.0, 0.0]),
        graph.host("s2", [2.0, -1.0]),
    ];
    graph.join(s1, r1, first);
    graph.join(r1, r2, link);
    let last = graph.join(r2, d, link);
    graph.join(s2, r2, link);
    name_edge(&mut graph, last, [BOTTLENECK.into(), REVERSE.into()], [Some(BOTTLENECK), Some(REVERSE)]);
    graph.pairs = Pairs::Listed(vec![(s1, d), (s2, d)]);
    graph
}

#[cfg(test)]
mod tests {
    use super::super::Routes;
    use super::*;

    fn link() -> LinkSpec {
        LinkSpec::constant(1e6, 0.001)
    }

    fn way(graph: &Graph, from: &str, to: &str) -> String {
        let pair = (graph.node(from).expect("a node"), graph.node(to).expect("a node"));
        let routes = Routes::between(graph, &[pair]).expect("joined");
        routes[0].iter().map(|&link| graph.link_name(link)).collect::<Vec<_>>().join(" ")
    }

    fn queues(graph: &Graph, key: &str) -> usize {
        graph.links().filter(|(_, link, ..)| link.queue.as_deref() == Some(key)).count()
    }

    #[test]
    fn a_parking_lot_has_long_and_cross_traffic() {
        let access = LinkSpec { delay: Delays::List(vec![1.0, 2.0, 3.0]), ..link() };
        let parts = ParkingLot { bottlenecks: 2, pairs: 2, cross: 1, access, bottleneck: link(), reverse: link() };
        let graph = parking_lot(&parts);
        let Pairs::Listed(pairs) = &graph.pairs else { panic!("pairs are listed") };
        let names = |&(a, b): &(u32, u32)| [a, b].map(|node| graph.nodes[node as usize].name.clone()).join("-");
        assert_eq!(pairs.iter().map(names).collect::<Vec<_>>(), ["s1-d1", "s2-d2", "c1.1-e1.1", "c2.1-e2.1"]);
        assert_eq!(way(&graph, "s2", "d1"), "s2>r1 bottleneck1 bottleneck2 r3>d1");
        assert_eq!(way(&graph, "c2.1", "e2.1"), "c2.1>r2 bottleneck2 r3>e2.1");
        assert_eq!(way(&graph, "e2.1", "s1"), "e2.1>r3 reverse2 reverse1 r1>s1");
        assert_eq!((queues(&graph, BOTTLENECK), queues(&graph, REVERSE)), (2, 2));
        let delay = |name: &str| graph.links().find(|(_, l, ..)| l.name == name).expect("a link").1.link.mean_delay();
        assert_eq!([delay("s1>r1"), delay("r3>d2"), delay("c1.1>r1"), delay("c2.1>r2")], [1.0, 2.0, 3.0, 1.0]);
    }

    #[test]
    fn a_star_sends_to_its_first_host() {
        let graph = star(4, &link());
        assert_eq!(graph.pairs, Pairs::Listed(vec![(2, 1), (3, 1), (4, 1)]));
        assert_eq!(way(&graph, "h4", "h1"), "h4>r1 r1>h1");
        assert_eq!(queues(&graph, BOTTLENECK), 4);
    }

    #[test]
    fn all_senders_share_one_receiver() {
        let graph = many_to_one(30, &link(), &link(), &link());
        assert_eq!(way(&graph, "s30", "d"), "s30>r1 bottleneck r2>d");
        assert_eq!(way(&graph, "d", "s7"), "d>r2 reverse r1>s7");
    }

    #[test]
    fn the_bus_of_ten_routers() {
        let graph = bus(10, &link(), &link());
        assert_eq!((graph.nodes.len(), graph.edges.len(), graph.hosts().len()), (20, 19, 10));
        assert_eq!(way(&graph, "h9", "h10"), "h9>r9 r9>r10 r10>h10");
        assert_eq!(queues(&graph, ROUTERS), 9 * 2 + 10, "every output of every router");
        assert_eq!(bus(1, &link(), &link()).edges.len(), 1);
    }

    #[test]
    fn the_flower_of_five_petals() {
        let graph = flower(5, 8, &link(), &link());
        assert_eq!(graph.hosts().len(), 45);
        assert_eq!(graph.edges.len(), 5 + 5 * 9 + 45);
        // Out of the first petal over the ring into the third, by the shorter way.
        assert_eq!(
            way(&graph, "h7", "h28"),
            "h7>r7 r7>r6 r6>r1 r1>r2 r2>r3 r3>r29 r29>r28 r28>h28",
            "r6..r13 are the first petal, r22..r29 the third"
        );
        assert_eq!(way(&graph, "h13", "h1"), "h13>r13 r13>r1 r1>h1", "the loop's other end");
        assert_eq!(way(&graph, "h1", "h3"), "h1>r1 r1>r2 r2>r3 r3>h3");
        assert_eq!(Routes::new(&graph).first_apart(&graph.hosts()), None);
        for (petals, petal) in [(1, 3), (2, 2), (3, 1), (4, 0), (1, 1)] {
            let graph = flower(petals, petal, &link(), &link());
            assert_eq!(Routes::new(&graph).first_apart(&graph.hosts()), None, "{petals} {petal}");
            let mut ends: Vec<_> = graph.edges.iter().map(|e| (e.from.min(e.to), e.from.max(e.to))).collect();
            ends.sort_unstable();
            ends.dedup();
            assert_eq!(ends.len(), graph.edges.len(), "no two links join the same nodes: {petals} {petal}");
        }
    }

    #[test]
    fn two_flows_meet_at_the_second_router() {
        let graph = two_flow(&LinkSpec::constant(1e6, 0.2), &link());
        assert_eq!(way(&graph, "s1", "d"), "s1>r1 r1>r2 bottleneck");
        assert_eq!(way(&graph, "s2", "d"), "s2>r2 bottleneck");
        assert_eq!(way(&graph, "d", "s1"), "reverse r2>r1 r1>s1");
        assert_eq!((queues(&graph, BOTTLENECK), graph.edges[0].there.link.mean_delay()), (1, 0.2));
    }
}
