//! The dumbbell: pairs of hosts that share one bottleneck.

use super::graph::{Graph, Pairs};
use super::link::{Delays, LinkSpec};
use earlydrop_aqm::random::Generator;

/// Pairs of senders and receivers that share one bottleneck.
#[derive(Clone, Debug, PartialEq)]
pub struct Dumbbell {
    /// Number of sender-receiver pairs.
    pub pairs: u32,
    /// Links between senders and bottleneck.
    pub senders: Access,
    /// Links between bottleneck and receivers.
    pub receivers: Access,
    /// The bottleneck, towards the receivers.
    pub bottleneck: LinkSpec,
    /// The bottleneck's other direction.
    pub reverse: LinkSpec,
}

/// The access links of one side, the same in both directions.
pub type Access = LinkSpec;

impl Dumbbell {
    /// The network: `s1`, `s2`, ... at router `r1`, `d1`, `d2`, ... at router `r2`. Delays that are drawn come from
    /// `seed`; senders' and receivers' delays each have a stream of their own.
    pub fn graph(&self, seed: u64) -> Graph {
        let mut graph = self.shared();
        let with_delay = |link: &LinkSpec, delay: f64| LinkSpec { delay: Delays::Same(delay), ..link.clone() };
        let mut pairs = Vec::with_capacity(self.pairs as usize);
        for (pair, delays) in (0..self.pairs).zip(self.access_delays(seed)) {
            let (number, place) = (pair + 1, -f64::from(pair) - 1.0);
            let sender = graph.host(format!("s{number}"), [0.0, place]);
            let receiver = graph.host(format!("d{number}"), [3.0, place]);
            graph.join(sender, 0, &with_delay(&self.senders, delays[0]));
            graph.join(1, receiver, &with_delay(&self.receivers, delays[1]));
            pairs.push((sender, receiver));
        }
        graph.pairs = Pairs::Listed(pairs);
        graph
    }

    /// What all pairs share: the routers and the bottleneck. Its nodes and links have the numbers of the whole network.
    pub fn shared(&self) -> Graph {
        let mut graph = Graph::default();
        let middle = 0.5 * (f64::from(self.pairs) + 1.0);
        let routers = [graph.router("r1", [1.0, -middle]), graph.router("r2", [2.0, -middle])];
        let bottleneck = graph.join(routers[0], routers[1], &self.bottleneck);
        let edge = &mut graph.edges[bottleneck];
        edge.there.name = "bottleneck".into();
        edge.there.queue = Some("bottleneck".into());
        if let Some(back) = &mut edge.back {
            back.name = "reverse".into();
            back.link = self.reverse.clone();
            back.queue = Some("reverse".into());
        }
        graph
    }

    /// The delays of each pair's links, the sender's and the receiver's, s.
    pub(crate) fn access_delays(&self, seed: u64) -> impl Iterator<Item = [f64; 2]> + '_ {
        let mut senders = Times::new(&self.senders.delay, seed, "topology.senders.delay");
        let mut receivers = Times::new(&self.receivers.delay, seed, "topology.receivers.delay");
        (0..self.pairs as usize).map(move |pair| [senders.get(pair), receivers.get(pair)])
    }
}

/// The numbers of a pair's links in a dumbbell: from the sender to the router and back, from the router to the receiver
/// and back.
pub(crate) fn access_links(pair: u32) -> [u32; 4] {
    let first = 2 + 4 * pair;
    [first, first + 1, first + 2, first + 3]
}

/// Values of a distribution, one after the other, from a stream of its own.
pub(crate) struct Times<'a> {
    of: &'a Delays,
    random: Generator,
}

impl<'a> Times<'a> {
    /// Values of `of`, drawn from the stream `name` of `seed`.
    pub fn new(of: &'a Delays, seed: u64, name: &str) -> Self {
        Times { of, random: Generator::stream(seed, name) }
    }

    /// The value for place `index`; drawn values come in the order of the calls.
    pub fn get(&mut self, index: usize) -> f64 {
        match self.of {
            Delays::Same(value) => *value,
            Delays::List(values) => values[index % values.len()],
            Delays::Uniform(low, high) => low + (high - low) * self.random.uniform(),
        }
    }
}

impl Graph {
    /// Whether any delay is drawn.
    pub fn draws(&self) -> bool {
        self.links().any(|(_, direction, ..)| matches!(direction.link.delay, Delays::Uniform(..)))
    }

    /// The graph with every drawn delay drawn, from the stream `link.NAME.delay` of `seed`: once for both directions of
    /// a link if they have equal times.
    pub fn drawn(mut self, seed: u64) -> Graph {
        for edge in &mut self.edges {
            let Delays::Uniform(..) = edge.there.link.delay else { continue };
            let drawn = Times::new(&edge.there.link.delay, seed, &format!("link.{}.delay", edge.there.name)).get(0);
            if let Some(back) = edge.back.as_mut().filter(|back| back.link.delay == edge.there.link.delay) {
                back.link.delay = Delays::Same(drawn);
            }
            edge.there.link.delay = Delays::Same(drawn);
        }
        for direction in self.directions_mut() {
            if let Delays::Uniform(..) = direction.link.delay {
                let name = format!("link.{}.delay", direction.name);
                direction.link.delay = Delays::Same(Times::new(&direction.link.delay, seed, &name).get(0));
            }
        }
        self
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn has_its_hosts_on_either_side() {
        let dumbbell = Dumbbell {
            pairs: 3,
            senders: LinkSpec::new(super::super::Rate::Constant(1e6), Delays::List(vec![0.1, 0.2])),
            receivers: LinkSpec::new(super::super::Rate::Constant(2e6), Delays::Uniform(0.0, 1.0)),
            bottleneck: LinkSpec::constant(3e6, 0.01),
            reverse: LinkSpec::constant(4e6, 0.02),
        };
        let graph = dumbbell.graph(1);
        let names: Vec<&str> = graph.links().map(|(_, link, ..)| &link.name[..]).collect();
        assert_eq!(names[..6], ["bottleneck", "reverse", "s1>r1", "r1>s1", "r2>d1", "d1>r2"]);
        let delay = |link: u32| graph.link(link).expect("a link").0.link.delay.clone();
        assert_eq!([delay(2), delay(6), delay(10)], [0.1, 0.2, 0.1].map(Delays::Same));
        assert_eq!(delay(4), delay(5), "both directions");
        assert_ne!(delay(4), delay(8), "drawn anew");
        assert_ne!(dumbbell.graph(2), graph, "by the seed");
        assert_eq!(dumbbell.graph(1), graph);
    }

    #[test]
    fn a_drawn_delay_is_the_same_both_ways() {
        let mut graph = Graph::default();
        let (a, b) = (graph.host("a", [0.0, 0.0]), graph.host("b", [1.0, 0.0]));
        let link = LinkSpec::new(super::super::Rate::Constant(1e6), Delays::Uniform(1.0, 2.0));
        graph.join(a, b, &link);
        graph.join(b, a, &link);
        graph.edges[1].back.as_mut().expect("two ways").link.delay = Delays::Uniform(3.0, 4.0);
        let drawn = graph.drawn(1);
        let delay = |link: u32| drawn.link(link).expect("a link").0.link.mean_delay();
        assert_eq!(delay(0), delay(1));
        assert!((1.0..2.0).contains(&delay(2)) && (3.0..4.0).contains(&delay(3)));
        assert_ne!(delay(0), delay(2));
    }
}
