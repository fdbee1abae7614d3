//! Random networks.

use super::builders::{nth, queues_at_routers, ROUTERS};
use super::graph::{Graph, Pairs};
use super::link::LinkSpec;
use earlydrop_aqm::random::Generator;
use std::collections::BTreeSet;
use std::f64::consts::TAU;

/// The parts of a random network.
#[derive(Clone, Debug)]
pub struct Random {
    /// Routers.
    pub routers: u32,
    /// Links between routers at each of them, on average; a connected network needs nearly 2.
    pub degree: f64,
    /// Hosts at each router.
    pub hosts: u32,
    /// Links between routers.
    pub core: LinkSpec,
    /// Links between a router and its hosts.
    pub access: LinkSpec,
    /// Seed of the graph; it does not depend on the run's seed.
    pub seed: u64,
}

/// Routers `r1`, `r2`, ... connected at random into one network, with hosts `h1`, `h2`, ... assigned to them in order
/// and a queue at every output of a router. Flows go between hosts drawn at random.
///
/// Each router but the first is joined to one drawn from the earlier routers; then pairs of routers are drawn and
/// joined until the degree is reached.
pub fn random(parts: &Random) -> Graph {
    let mut graph = Graph::default();
    let mut draw = Generator::stream(parts.seed, "topology.random");
    let mut below = |n: u32| ((draw.uniform() * f64::from(n)) as u32).min(n - 1);
    let circle = |i: u32, n: u32, radius: f64| {
        let angle = TAU * f64::from(i) / f64::from(n);
        [radius * angle.cos(), radius * angle.sin()]
    };
    for i in 0..parts.routers {
        graph.router(format!("r{}", i + 1), circle(i, parts.routers, 1.0));
    }
    let mut joined = BTreeSet::new();
    for i in 1..parts.routers {
        let other = below(i);
        joined.insert((other, i));
        graph.join(other, i, &parts.core);
    }
    let most = u64::from(parts.routers) * u64::from(parts.routers.saturating_sub(1)) / 2;
    let wanted = ((parts.degree * f64::from(parts.routers) / 2.0).round() as u64).min(most);
    while (joined.len() as u64) < wanted {
        let (a, b) = (below(parts.routers), below(parts.routers));
        if a != b && joined.insert((a.min(b), a.max(b))) {
            graph.join(a.min(b), a.max(b), &parts.core);
        }
    }
    for i in 0..parts.routers * parts.hosts {
        let router = i % parts.routers;
        let host =
            graph.host(format!("h{}", i + 1), circle(router, parts.routers, 1.2 + 0.1 * f64::from(i / parts.routers)));
        graph.join(host, router, &nth(&parts.access, i));
    }
    queues_at_routers(&mut graph, ROUTERS);
    graph.pairs = Pairs::Drawn;
    graph
}

#[cfg(test)]
mod tests {
    use super::super::Routes;
    use super::*;

    fn parts(routers: u32, degree: f64) -> Random {
        let link = LinkSpec::constant(1e6, 0.001);
        Random { routers, degree, hosts: 2, core: link.clone(), access: link, seed: 1 }
    }

    #[test]
    fn is_connected_and_as_dense_as_asked() {
        for (routers, degree, links) in [(1, 4.0, 0), (2, 4.0, 1), (10, 0.0, 9), (10, 4.0, 20), (10, 99.0, 45)] {
            let graph = random(&parts(routers, degree));
            assert_eq!(graph.edges.len(), links + 2 * routers as usize, "{routers} routers of degree {degree}");
            assert_eq!(Routes::new(&graph).first_apart(&graph.hosts()), None);
        }
    }

    #[test]
    fn its_seed_draws_it() {
        assert_eq!(random(&parts(20, 3.0)), random(&parts(20, 3.0)));
        assert_ne!(random(&parts(20, 3.0)), random(&Random { seed: 2, ..parts(20, 3.0) }));
    }

    #[test]
    fn a_thousand_routers_and_ten_thousand_flows_have_their_routes() {
        let graph = random(&parts(1000, 4.0));
        let hosts = graph.hosts();
        let mut draw = Generator::stream(1, "test.random");
        let mut host = || hosts[(draw.uniform() * hosts.len() as f64) as usize];
        let pairs: Vec<(u32, u32)> = (0..10_000).map(|_| (host(), host())).collect();
        let routes = Routes::between(&graph, &pairs).expect("connected");
        let hops: usize = routes.iter().map(Vec::len).sum();
        // log(1000)/log(3) = 6.3 links between routers, and one at either end.
        assert!((6.5..9.0).contains(&(hops as f64 / 1e4)), "{hops} hops");
    }
}
